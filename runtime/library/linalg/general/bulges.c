/* SPDX-License-Identifier: ISC */
/* Chains of bulges that are as near to each other as can be (Karlsson, Kressner and Lang 2014): a
 * bulge is two columns behind the next one, as what its reflection does to the row below it waits
 * until the bulge moves on. In a step the last bulge of the chain moves first, and columns are
 * multiplied at once; rows are when all have moved. */
#include "bulges.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "runtime/library/floats/multiply.h"

static double *at(const nxi_bulges *b, int row, int column) {
  return b->h + row + (int64_t)column * b->ld;
}
static int smaller(int x, int y) { return x < y ? x : y; }
static int larger(int x, int y) { return x > y ? x : y; }

/* ---- reflections I - tau v v^T, as three numbers: tau, and the elements of v behind its 1 */

/* That of (alpha, x, y), of which alpha becomes the result, and the others zeros. */
static double reflect(double alpha, double x, double y, double *v) {
  const double beside = fabs(x) > fabs(y) ? fabs(x) : fabs(y),
               largest = fabs(alpha) > beside ? fabs(alpha) : beside;
  int power = 0;
  v[0] = v[1] = v[2] = 0;
  if (beside == 0) return alpha;
  if (!(largest > 0x1p-400 && largest < 0x1p500)) {
    frexp(largest, &power);
    alpha = ldexp(alpha, -power);
    x = ldexp(x, -power);
    y = ldexp(y, -power);
  }
  const double length = sqrt(alpha * alpha + x * x + y * y), beta = alpha >= 0 ? -length : length,
               inverse = 1 / (alpha - beta);
  v[0] = (beta - alpha) / beta;
  v[1] = x * inverse;
  v[2] = y * inverse;
  return power ? ldexp(beta, power) : beta;
}

static void three_columns(const nxi_bulges *b, int rows, double *restrict x, int64_t ld,
                          const double *v) {
  if (b->loops) {
    b->loops->reflect_columns(rows, x, ld, v);
    return;
  }
  double *restrict y = x + ld, *restrict z = y + ld;
  const double a = v[1], c = v[2], t = v[0], ta = t * a, tc = t * c;
  for (int i = 0; i < rows; i++) {
    const double sum = x[i] + a * y[i] + c * z[i];
    x[i] -= sum * t;
    y[i] -= sum * ta;
    z[i] -= sum * tc;
  }
}

static void two_columns(int rows, double *restrict x, double *restrict y, const double *v) {
  const double a = v[1], t = v[0], ta = t * a;
  for (int i = 0; i < rows; i++) {
    const double sum = x[i] + a * y[i];
    x[i] -= sum * t;
    y[i] -= sum * ta;
  }
}

static void three_rows(const nxi_bulges *b, int columns, double *x, const double *v) {
  if (b->loops) {
    b->loops->reflect_rows(columns, x, b->ld, v);
    return;
  }
  const double a = v[1], c = v[2], t = v[0], ta = t * a, tc = t * c;
  for (int j = 0; j < columns; j++, x += b->ld) {
    const double sum = x[0] + a * x[1] + c * x[2];
    x[0] -= sum * t;
    x[1] -= sum * ta;
    x[2] -= sum * tc;
  }
}

static void two_rows(int columns, double *x, int64_t ld, const double *v) {
  const double a = v[1], t = v[0], ta = t * a;
  for (int j = 0; j < columns; j++, x += ld) {
    const double sum = x[0] + a * x[1];
    x[0] -= sum * t;
    x[1] -= sum * ta;
  }
}

/* ---- one bulge */

/* A multiple of the first column of (H - s)(H - s') of the block that begins with row k. */
static void first_column(const nxi_bulges *b, int k, int rows, int m, double *x) {
  const double *h = at(b, k, k), *re = b->re + 2 * m, *im = b->im + 2 * m;
  const int64_t ld = b->ld;
  const double h31 = rows > 2 ? h[2] : 0,
               size = fabs(h[0] - re[1]) + fabs(im[1]) + fabs(h[1]) + fabs(h31);
  x[0] = x[1] = x[2] = 0;
  if (size == 0) return;
  const double a = h[1] / size, c = h31 / size;
  x[0] = (h[0] - re[0]) * ((h[0] - re[1]) / size) - im[0] * (im[1] / size) + h[ld] * a;
  x[1] = a * (h[0] + h[ld + 1] - re[0] - re[1]);
  if (rows < 3) return;
  x[0] += h[2 * ld] * c;
  x[1] += h[2 * ld + 1] * c;
  x[2] = c * (h[0] + h[2 * ld + 2] - re[0] - re[1]) + a * h[ld + 2];
}

bool nxi_is_negligible(const double *h, int ld, int k, int first, int last) {
  const double *own = h + k + (int64_t)k * ld, *next = own + ld, below = fabs(own[1]),
               beside = fabs(next[0]), here = fabs(own[0]), there = fabs(next[1]),
               apart = fabs(own[0] - next[1]), least = DBL_MIN * ((last - first + 1) / DBL_EPSILON);
  double size = here + there;
  if (below <= least) return true;
  if (size == 0) {
    if (k > first) size += fabs(own[-(int64_t)ld]);
    if (k + 2 <= last) size += fabs(next[2]);
  }
  if (below > DBL_EPSILON * size) return false;
  const double large = below > beside ? below : beside, small = below > beside ? beside : below,
               diagonal = there > apart ? there : apart, other = there > apart ? apart : there,
               sum = diagonal + large, rest = DBL_EPSILON * (other * (diagonal / sum));
  return small * (large / sum) <= (rest > least ? rest : least);
}

/* Makes what is small enough below the diagonal a zero, which divides the block. */
static void look_at(const nxi_bulges *b, int k) {
  if (k < b->top || *at(b, k + 1, k) == 0) return;
  if (nxi_is_negligible(b->h, b->ld, k, larger(b->top, 0), smaller(b->bottom, b->size - 1)))
    *at(b, k + 1, k) = 0;
}

/* A bulge of which nothing is left is begun anew, if what that leaves in column k is small. */
static void begin_again(const nxi_bulges *b, int m, int k, double beta, double *v) {
  double *column = at(b, k + 1, k), x[3], w[3];
  first_column(b, k + 1, 3, m, x);
  reflect(x[0], x[1], x[2], w);
  const double sum = w[0] * (column[0] + w[1] * column[1]),
               sizes = fabs(*at(b, k, k)) + fabs(*at(b, k + 1, k + 1)) + fabs(*at(b, k + 2, k + 2));
  const bool replaced = fabs(column[1] - sum * w[1]) + fabs(sum * w[2]) <= DBL_EPSILON * sizes;
  column[0] = replaced ? column[0] - sum : beta;
  for (int i = 0; replaced && i < 3; i++) v[i] = w[i];
}

/* Moves bulge m on from column k, but for the rows' columns behind the next one. */
static void move(const nxi_bulges *b, int m, int k) {
  double *v = b->v + 3 * m, x[3];
  if (k == b->top - 1) {
    first_column(b, b->top, 3, m, x);
    reflect(x[0], x[1], x[2], v);
  } else {
    double *column = at(b, k + 1, k), *row = at(b, k + 3, k);
    const int64_t ld = b->ld;
    const double sum = v[0] * v[2] * row[2 * ld];
    row[0] = -sum;
    row[ld] = -sum * v[1];
    row[2 * ld] -= sum * v[2];
    const double beta = reflect(column[0], column[1], column[2], v);
    if (row[0] != 0 || row[ld] != 0 || row[2 * ld] == 0) column[0] = beta;
    else begin_again(b, m, k, beta, v);
    column[1] = column[2] = 0;
  }
  three_columns(b, smaller(b->bottom, k + 3) + 1, at(b, 0, k + 1), b->ld, v);
  three_rows(b, 1, at(b, k + 1, k + 1), v);
  look_at(b, k);
}

/* The same of a bulge that has reached the last two rows. */
static void end(const nxi_bulges *b, int m, int k) {
  double *v = b->v + 3 * m, x[3];
  if (k == b->top - 1) {
    first_column(b, b->top, 2, m, x);
    reflect(x[0], x[1], 0, v);
  } else {
    double *column = at(b, k + 1, k);
    column[0] = reflect(column[0], column[1], 0, v);
    column[1] = 0;
  }
  two_columns(b->bottom + 1, at(b, 0, k + 1), at(b, 0, k + 2), v);
  two_rows(b->size - k - 1, at(b, k + 1, k + 1), b->ld, v);
  look_at(b, k);
  if (b->u)
    two_columns(b->u_rows, b->u + (int64_t)(k + 1 - b->u_first) * b->u_ld,
                b->u + (int64_t)(k + 2 - b->u_first) * b->u_ld, v);
}

/* Multiplies columns of u; those of a unit matrix have zeros above and below. */
static void gather(const nxi_bulges *b, int m, int k, int begin, int last) {
  const int first = b->u_begins ? larger(begin + 2 * m + 1 - b->u_first, 0) : 0,
            rows = b->u_begins ? smaller(last + 4 - b->u_first, b->u_rows) : b->u_rows;
  double *u = b->u + first + (int64_t)(k + 1 - b->u_first) * b->u_ld;
  three_columns(b, rows - first, u, b->u_ld, b->v + 3 * m);
}

void nxi_chase(const nxi_bulges *b, int begin, int stop) {
  for (int s = begin; s < stop; s++) {
    const int first = larger((b->top - s) / 2, 0),
              many = smaller(b->count, (b->bottom - s - 1) / 2);
    const bool ends = many >= 0 && many < b->count && s + 2 * many == b->bottom - 2;
    if (ends) end(b, many, s + 2 * many);
    for (int m = many - 1; m >= first; m--) move(b, m, s + 2 * m);
    for (int m = many - 1; m >= first; m--) {
      const int k = s + 2 * m;
      three_rows(b, b->size - k - 2, at(b, k + 1, k + 2), b->v + 3 * m);
    }
    const int last = ends ? b->bottom - 3 : s + 2 * (many - 1);
    for (int m = many - 1; b->u && m >= first; m--) gather(b, m, s + 2 * m, begin, last);
  }
}
