/* SPDX-License-Identifier: ISC */
/* Vectors of the balanced matrix become those of the matrix. */
#include <math.h>

#include "vectors.h"

/* The parts of a vector; im is NULL if it is real. */
typedef struct parts {
  int n;
  double *re, *im;
} parts;

static double largest_in(const parts *p) {
  double largest = 0;
  for (int i = 0; i < p->n; i++) {
    const double re = fabs(p->re[i]), im = p->im ? fabs(p->im[i]) : 0, one = re > im ? re : im;
    largest = one > largest ? one : largest;
  }
  return largest;
}

/* Scales it so that its largest part is about 1. */
static void bring_near_one(const parts *p) {
  const double largest = largest_in(p);
  int power;
  frexp(largest, &power);
  for (int i = 0; i < p->n && power != 0; i++) {
    p->re[i] = ldexp(p->re[i], -power);
    if (p->im) p->im[i] = ldexp(p->im[i], -power);
  }
}

static void exchange(double *x, int i, int k) {
  const double old = x[i];
  x[i] = x[k];
  x[k] = old;
}

static void undo_balance(const nxi_balance *b, bool left, const parts *p) {
  for (int i = b->low; i < b->high; i++) {
    const double by = left ? 1 / b->scale[i] : b->scale[i];
    p->re[i] *= by;
    if (p->im) p->im[i] *= by;
  }
  for (int j = 0; j < b->n; j++) {
    const int i = j < b->low ? b->low - 1 - j : j, k = (int)b->scale[i] - 1;
    if (i >= b->low && i < b->high) continue;
    if (i == k) continue;
    exchange(p->re, i, k);
    if (p->im) exchange(p->im, i, k);
  }
}

/* Makes the length 1, and the largest element real. */
static void normalise(const parts *p) {
  double sum = 0, most = 0;
  int largest = 0;
  for (int i = 0; i < p->n; i++) {
    const double size = p->re[i] * p->re[i] + (p->im ? p->im[i] * p->im[i] : 0);
    sum += size;
    if (size <= most) continue;
    most = size;
    largest = i;
  }
  const double by = 1 / sqrt(sum);
  if (!p->im) {
    for (int i = 0; i < p->n; i++) p->re[i] *= by;
    return;
  }
  const double size = sqrt(most), c = p->re[largest] / size * by, s = p->im[largest] / size * by;
  for (int i = 0; i < p->n; i++) {
    const double re = p->re[i], im = p->im[i];
    p->re[i] = c * re + s * im;
    p->im[i] = c * im - s * re;
  }
  p->im[largest] = 0;
}

/* Vector i of a row of the panel, of which the imaginary part is not stored. */
static void write(const nxi_balance *b, const nxi_vectors *v, int i, bool left, const parts *p,
                  double *to) {
  const int n = b->n, column = v->columns[i], first = left ? n - 2 - column : column,
            sign = left ? -1 : 1;
  if (!p->im) {
    to += 2 * (left ? n - 1 - column : column);
    for (int k = 0; k < n; k++, to += 2 * n) {
      to[0] = p->re[k];
      to[1] = 0;
    }
    return;
  }
  to += 2 * first;
  for (int k = 0; k < n; k++, to += 2 * n) {
    to[0] = to[2] = p->re[k];
    to[1] = sign * p->im[k];
    to[3] = -sign * p->im[k];
  }
}

void nxi_vectors_write(const nxi_balance *b, const nxi_vectors *v, bool left, double *x,
                       double *to) {
  for (int i = 0; i < v->pairs + v->reals; i++) {
    const bool pair = i < v->pairs;
    const int64_t n = b->n, column = pair ? i : i + v->pairs;
    const parts p = {b->n, x + column * n, pair ? x + (column + v->pairs) * n : NULL};
    bring_near_one(&p);
    undo_balance(b, left, &p);
    bring_near_one(&p);
    normalise(&p);
    write(b, v, i, left, &p, to);
  }
}
