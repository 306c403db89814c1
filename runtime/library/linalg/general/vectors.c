/* SPDX-License-Identifier: ISC */
/* Vectors of a panel are found together, from the last row on, each from (T - w) x = 0: rows of a
 * block on the diagonal one after the other, and what those above lack is a product. A difference
 * of values that is too small is replaced, as LAPACK's trevc does it. A vector that grows is scaled
 * by a power of two, so that nothing overflows. */
#include "vectors.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/library/blas/level3.h"

enum { BLOCK = 32, ROW = NXI_VECTORS_ROW };
static const double least_difference = 0x1p-400, largest_element = 0x1p200;

_Static_assert((int)NXI_VECTORS_PANEL % (int)BLOCK == 0, "a panel is whole blocks");

static double element(const nxi_triangle *t, int row, int column) {
  return t->t[row + (int64_t)column * t->ld];
}

/* The first row of a block; a block of two rows on the diagonal is not divided. */
static int block_begin(const nxi_triangle *t, int block) {
  const int row = block * BLOCK;
  if (row >= t->n) return t->n;
  return row > 0 && element(t, row, row - 1) != 0 ? row + 1 : row;
}

int nxi_vectors_panels(int n) { return (n + NXI_VECTORS_PANEL - 1) / NXI_VECTORS_PANEL; }

nxi_vectors nxi_vectors_panel(const nxi_triangle *t, int panel) {
  const int blocks = NXI_VECTORS_PANEL / BLOCK;
  nxi_vectors v = {.first = block_begin(t, panel * blocks),
                   .end = block_begin(t, (panel + 1) * blocks)};
  for (int k = v.first; k < v.end; k++)
    if (t->im[k] > 0) v.columns[v.pairs++] = k++;
  for (int k = v.first; k < v.end; k++) {
    if (t->im[k] == 0) v.columns[v.pairs + v.reals++] = k;
    else k++;
  }
  return v;
}

/* ---- one row, or two, of all vectors */

typedef struct values {
  double re[ROW], im[ROW], least[ROW]; /* of pairs, then of real ones; least differences */
} values;

static void take_values(const nxi_triangle *t, const nxi_vectors *v, values *w) {
  for (int i = 0; i < v->pairs + v->reals; i++) {
    const int k = v->columns[i];
    const double size = DBL_EPSILON * (fabs(t->re[k]) + fabs(t->im[k]));
    w->re[i] = t->re[k];
    w->im[i] = t->im[k];
    w->least[i] = size > least_difference ? size : least_difference;
  }
}

static void solve_one(const nxi_vectors *v, const values *w, double d, double *x) {
  double *re = x, *im = x + v->pairs, *real = im + v->pairs;
  for (int i = 0; i < v->pairs; i++) {
    const double a = d - w->re[i], b = -w->im[i];
    const bool small = fabs(a) + fabs(b) < w->least[i];
    const double p = small ? w->least[i] : a, q = small ? 0 : b, by = 1 / (p * p + q * q),
                 old = re[i];
    re[i] = (old * p + im[i] * q) * by;
    im[i] = (im[i] * p - old * q) * by;
  }
  for (int i = 0; i < v->reals; i++) {
    const double a = d - w->re[v->pairs + i], least = w->least[v->pairs + i];
    real[i] /= fabs(a) < least ? least : a;
  }
}

/* Of two rows, a b and c d, the one with the larger first element is eliminated with. */
static void solve_pairs(const nxi_vectors *v, const values *w, const double *m, double *x,
                        double *y) {
  double *restrict xr = x, *restrict xi = x + v->pairs, *restrict yr = y,
                   *restrict yi = y + v->pairs;
  for (int i = 0; i < v->pairs; i++) {
    const double ar = m[0] - w->re[i], dr = m[3] - w->re[i], wi = -w->im[i], least = w->least[i];
    const bool first = fabs(ar) + fabs(wi) >= fabs(m[2]);
    /* the row that stays: p, q | s; the other: k, l | v */
    double pr = first ? ar : m[2], pi = first ? wi : 0;
    const bool none = fabs(pr) + fabs(pi) < least;
    pr = none ? least : pr;
    pi = none ? 0 : pi;
    const double qr = first ? m[1] : dr, qi = first ? 0 : wi, kr = first ? m[2] : ar,
                 ki = first ? 0 : wi, lr = first ? dr : m[1], li = first ? wi : 0,
                 sr = first ? xr[i] : yr[i], si = first ? xi[i] : yi[i], vr = first ? yr[i] : xr[i],
                 vi = first ? yi[i] : xi[i];
    const double by = 1 / (pr * pr + pi * pi), fr = (kr * pr + ki * pi) * by,
                 fi = (ki * pr - kr * pi) * by;
    double ur = lr - (fr * qr - fi * qi), ui = li - (fr * qi + fi * qr);
    const bool small = fabs(ur) + fabs(ui) < least;
    ur = small ? least : ur;
    ui = small ? 0 : ui;
    const double gr = vr - (fr * sr - fi * si), gi = vi - (fr * si + fi * sr),
                 with = 1 / (ur * ur + ui * ui);
    const double zr = (gr * ur + gi * ui) * with, zi = (gi * ur - gr * ui) * with,
                 hr = sr - (qr * zr - qi * zi), hi = si - (qr * zi + qi * zr);
    yr[i] = zr;
    yi[i] = zi;
    xr[i] = (hr * pr + hi * pi) * by;
    xi[i] = (hi * pr - hr * pi) * by;
  }
}

static void solve_reals(const nxi_vectors *v, const values *w, const double *m, double *x,
                        double *y) {
  x += 2 * v->pairs;
  y += 2 * v->pairs;
  for (int i = 0; i < v->reals; i++) {
    const double a = m[0] - w->re[v->pairs + i], d = m[3] - w->re[v->pairs + i],
                 least = w->least[v->pairs + i];
    const bool first = fabs(a) >= fabs(m[2]);
    const double pivot = first ? a : m[2], p = fabs(pivot) < least ? least : pivot,
                 q = first ? m[1] : d, f = (first ? m[2] : a) / p, u = (first ? d : m[1]) - f * q,
                 s = first ? x[i] : y[i], o = first ? y[i] : x[i],
                 z = (o - f * s) / (fabs(u) < least ? least : u);
    y[i] = z;
    x[i] = (s - q * z) / p;
  }
}

/* ---- growth */

static double largest_of(int n, const double *x) {
  double largest = 0;
  for (int i = 0; i < n; i++) largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
  return largest;
}

/* Scales one vector in rows 0 .. end - 1. */
static void scale_vector(const nxi_vectors *v, int i, int end, double largest, double *x) {
  const bool pair = i < v->pairs;
  const int column = pair ? i : i + v->pairs;
  int power;
  frexp(largest, &power);
  for (int row = 0; row < end; row++, x += ROW) {
    x[column] = ldexp(x[column], -power);
    if (pair) x[column + v->pairs] = ldexp(x[column + v->pairs], -power);
  }
}

/* Scales the vectors that have a large element in the row. */
static void look_at(const nxi_vectors *v, int row, double *x) {
  const double *own = x + (int64_t)row * ROW;
  if (!(largest_of(v->end - v->first, own) > largest_element)) return;
  for (int i = 0; i < v->pairs + v->reals; i++) {
    const bool pair = i < v->pairs;
    const double one = fabs(own[pair ? i : i + v->pairs]),
                 other = pair ? fabs(own[i + v->pairs]) : 0, largest = one > other ? one : other;
    if (largest > largest_element) scale_vector(v, i, v->end, largest, x);
  }
}

/* ---- a panel */

/* Begins the vectors that have their values in row k, and k + 1. */
static void begin(const nxi_triangle *t, const nxi_vectors *v, int k, double *x) {
  double *row = x + (int64_t)k * ROW, *next = row + ROW;
  for (int i = 0; i < v->pairs + v->reals; i++) {
    if (v->columns[i] != k) continue;
    if (i >= v->pairs) {
      row[i + v->pairs] = 1;
      continue;
    }
    const double above = element(t, k, k + 1), below = element(t, k + 1, k);
    const bool first = fabs(above) >= fabs(below);
    row[i] = first ? 1 : -t->im[k] / below;
    next[i] = 0;
    row[i + v->pairs] = 0;
    next[i + v->pairs] = first ? t->im[k] / above : 1;
  }
}

/* Rows k, and k + 1 if `width` is 2, are solved; those above, from `begins` on, lack less. */
static void solve_rows(const nxi_triangle *t, const nxi_vectors *v, const values *w, int k,
                       int width, int begins, double *x) {
  double *row = x + (int64_t)k * ROW, *next = row + ROW;
  const int n = v->pairs * 2 + v->reals;
  if (width == 1) {
    solve_one(v, w, element(t, k, k), row);
  } else {
    const double m[4] = {element(t, k, k), element(t, k, k + 1), element(t, k + 1, k),
                         element(t, k + 1, k + 1)};
    solve_pairs(v, w, m, row, next);
    solve_reals(v, w, m, row, next);
  }
  if (k >= v->first) begin(t, v, k, x);
  look_at(v, k, x);
  if (width == 2) look_at(v, k + 1, x);
  for (int i = begins; i < k; i++) {
    double *restrict to = x + (int64_t)i * ROW;
    const double a = element(t, i, k), b = width == 2 ? element(t, i, k + 1) : 0;
    const double *from = row, *other = width == 2 ? next : row;
    for (int j = 0; j < n; j++) to[j] -= a * from[j] + b * other[j];
  }
}

void nxi_vectors_solve(const nxi_triangle *t, const nxi_vectors *v, double *x) {
  values w = {0};
  const int n = v->pairs * 2 + v->reals;
  take_values(t, v, &w);
  memset(x, 0, (size_t)v->end * ROW * sizeof *x);
  for (int block = (v->end + BLOCK - 1) / BLOCK; block >= 0; block--) {
    const int first = block_begin(t, block), next = block_begin(t, block + 1),
              end = next < v->end ? next : v->end;
    for (int k = end - 1; k >= first; k--) {
      const int width = k > first && element(t, k, k - 1) != 0 ? 2 : 1;
      k -= width - 1;
      solve_rows(t, v, &w, k, width, first, x);
    }
    if (end <= first) continue;
    nxi_subtract_product(NULL, NX_F64, n, first, end - first,
                         (nxi_factor){"N", x + (int64_t)first * ROW, ROW},
                         (nxi_factor){"T", t->t + (int64_t)first * t->ld, t->ld}, x, ROW);
  }
}
