/* SPDX-License-Identifier: ISC */
/* A matrix is balanced; vectors of the balanced one become those of the matrix. */
#include <math.h>

#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/rescale.h"
#include "vectors.h"

typedef void (*gebal_fn)(const char *job, const int *n, void *a, const int *lda, int *low,
                         int *high, void *scale, int *info, size_t);

/* ---- the matrix */

/* Multiplies it by a power of two so that its largest element is about 1, if that is far from it.
 */
static int bring_matrix_near_one(int n, double *a, int ld, double limit) {
  double largest = 0;
  int exponent;
  for (int j = 0; j < n; j++) {
    const double one = nxi_largest(NX_F64, n, a + (int64_t)j * ld);
    largest = one > largest ? one : largest;
  }
  if (largest == 0 || (largest <= limit && largest >= 1 / limit)) return 0;
  frexp(largest, &exponent);
  for (int j = 0; j < n; j++) nxi_scale(NX_F64, n, a + (int64_t)j * ld, -exponent);
  return -exponent;
}

int nxi_balance_matrix(int n, double *a, int ld, int *low, int *high, double *scale) {
  const int power = bring_matrix_near_one(n, a, ld, 0x1p480);
  int info;
  nxi_lapack_enter();
  ((gebal_fn)nxi_lapack(NXI_LAPACK_gebal, NX_F64))("B", &n, a, &ld, low, high, scale, &info, 1);
  nxi_lapack_leave();
  --*low;
  return power + bring_matrix_near_one(n, a, ld, 0x1p50);
}

void nxi_values_write(int n, const double *values, int power, double *to) {
  for (int i = 0; i < n; i++) {
    to[2 * i] = power ? ldexp(values[i], power) : values[i];
    to[2 * i + 1] = power ? ldexp(values[n + i], power) : values[n + i];
  }
}

/* ---- the flipped matrix. Vectors of the transposed matrix are left ones; with rows and columns in
 * the opposite order it is a Schur form, too. */

void nxi_vectors_flip(int n, int ld, const double *t, int first, double *to) {
  for (int j = first; j < n && j < first + NXI_VECTORS_PANEL; j++)
    for (int i = 0; i < n; i++) to[i + (int64_t)j * ld] = t[n - 1 - j + (int64_t)(n - 1 - i) * ld];
}

void nxi_values_flip(int n, double *values) {
  for (int i = 0; i < n; i++) {
    values[2 * n + i] = values[n - 1 - i];
    values[3 * n + i] = -values[2 * n - 1 - i];
  }
}

static void reverse_rows(int rows, double *x) {
  for (int i = 0, k = rows - 1; i < k; i++, k--)
    for (int j = 0; j < NXI_VECTORS_ROW; j++) {
      const double old = x[(int64_t)i * NXI_VECTORS_ROW + j];
      x[(int64_t)i * NXI_VECTORS_ROW + j] = x[(int64_t)k * NXI_VECTORS_ROW + j];
      x[(int64_t)k * NXI_VECTORS_ROW + j] = old;
    }
}

/* ---- vectors */

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

static void write_all(const nxi_balance *b, const nxi_vectors *v, bool left, double *x,
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

void nxi_vectors_panel_of(const nxi_triangle *t, int panel, bool left, const double *z, int ld,
                          const nxi_balance *balance, double *own, double *to) {
  const nxi_vectors v = nxi_vectors_panel(t, panel);
  const int n = t->n;
  double *x = own, *product = x + (int64_t)n * NXI_VECTORS_ROW;
  nxi_vectors_solve(t, &v, x);
  if (left) reverse_rows(v.end, x);
  nxi_product(NX_F64, n, v.end - v.first, v.end,
              (nxi_factor){"N", left ? z + (int64_t)(n - v.end) * ld : z, ld},
              (nxi_factor){"T", x, NXI_VECTORS_ROW}, product, n);
  write_all(balance, &v, left, product, to);
}
