/* SPDX-License-Identifier: ISC */
/* Early deflation: of the Schur form of a block at the end of a matrix, values whose element of the
 * spike, which stands beside the block then, is small are values of the matrix. Others are moved
 * to the front, and become a Hessenberg matrix again, with one element beside it. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bulges.h"
#include "runtime/library/blas/level2.h"

typedef void (*trexc_fn)(const char *compq, const int *n, double *t, const int *ldt, double *q,
                         const int *ldq, int *from, int *to, double *work, int *info, size_t);
typedef void (*gehrd_fn)(const int *n, const int *low, const int *high, void *a, const int *lda,
                         void *tau, void *work, const int *lwork, int *info);
typedef void (*ormhr_fn)(const char *side, const char *trans, const int *m, const int *n,
                         const int *low, const int *high, const void *a, const int *lda,
                         const void *tau, void *c, const int *ldc, void *work, const int *lwork,
                         int *info, size_t, size_t);

enum { BLOCK = 32, LAPACK_WORK = 65 * 64 };

int nxi_early_work(int rows) { return rows * (BLOCK + 4) + LAPACK_WORK; }

static double *t_at(const nxi_early *d, int row, int column) {
  return d->t + row + (int64_t)column * d->ld;
}

/* Moves the block that begins with row `from`, to row `to`. */
static void move_block(const nxi_early *d, int from, int to) {
  int info, first = from + 1, other = to + 1;
  ((trexc_fn)nxi_lapack(NXI_LAPACK_trexc, NX_F64))("V", &d->rows, d->t, &d->ld, d->v, &d->ld,
                                                   &first, &other, d->work, &info, 1);
}

/* Whether the spike's elements at the last block of what is left are small. */
static bool is_small(const nxi_early *d, int last, bool pair) {
  const double *corner = t_at(d, last, last), *spike = d->v + (int64_t)last * d->ld,
               least = DBL_MIN * (d->rows / DBL_EPSILON);
  double size = fabs(corner[0]), element = fabs(d->beside * spike[0]);
  if (pair) {
    const double other = fabs(d->beside * spike[-(int64_t)d->ld]);
    size += sqrt(fabs(corner[-(int64_t)d->ld])) * sqrt(fabs(corner[-1]));
    element = element > other ? element : other;
  }
  if (size == 0) size = fabs(d->beside);
  const double limit = DBL_EPSILON * size;
  return element <= (limit > least ? limit : least);
}

/* Gives how many rows are left. */
static int look(const nxi_early *d) {
  int left = d->rows;
  for (int kept = 0; kept < left;) {
    const bool pair = left > 1 && *t_at(d, left - 1, left - 2) != 0;
    const int width = pair ? 2 : 1;
    if (is_small(d, left - 1, pair)) {
      left -= width;
      continue;
    }
    if (kept < left - width) move_block(d, left - width, kept);
    kept += width;
  }
  return left;
}

/* x -= tau (x w) w^T, of so many rows and n columns. */
static void reflect_columns(int rows, int n, double *x, int64_t ld, const double *w, double tau,
                            double *sums) {
  memset(sums, 0, (size_t)rows * sizeof *sums);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < rows; i++) sums[i] += x[i + j * ld] * w[j];
  for (int j = 0; j < n; j++)
    for (int i = 0; i < rows; i++) x[i + j * ld] -= tau * w[j] * sums[i];
}

/* Reflects what is left of the spike to its first element. */
static void reflect_spike(const nxi_early *d, int left) {
  double *w = d->work, *sums = w + d->rows, tau;
  for (int i = 0; i < left; i++) w[i] = d->v[(int64_t)i * d->ld];
  nxi_reflection(NX_F64, left, w, (nxi_vector){w + 1, 1}, &tau);
  w[0] = 1;
  for (int j = 0; j < d->rows; j++) {
    double *column = t_at(d, 0, j), sum = 0;
    for (int i = j + 2; i < d->rows; i++) column[i] = 0;
    for (int i = 0; i < left; i++) sum += w[i] * column[i];
    for (int i = 0; i < left; i++) column[i] -= tau * sum * w[i];
  }
  reflect_columns(left, left, d->t, d->ld, w, tau, sums);
  reflect_columns(d->rows, left, d->v, d->ld, w, tau, sums);
}

/* A Hessenberg matrix again of the first `left` rows. */
static void reduce(const nxi_early *d, int left) {
  const int one = 1, lwork = d->rows * BLOCK + LAPACK_WORK;
  double *tau = d->work, *work = tau + d->rows;
  int info;
  ((gehrd_fn)nxi_lapack(NXI_LAPACK_gehrd, NX_F64))(&d->rows, &one, &left, d->t, &d->ld, tau, work,
                                                   &lwork, &info);
  ((ormhr_fn)nxi_lapack(NXI_LAPACK_ormhr, NX_F64))("R", "N", &d->rows, &left, &one, &left, d->t,
                                                   &d->ld, tau, d->v, &d->ld, work, &lwork, &info,
                                                   1, 1);
  for (int j = 0; j < d->rows; j++)
    for (int i = j + 2; i < d->rows; i++) *t_at(d, i, j) = 0;
}

bool nxi_deflate_early(nxi_early *d) {
  const int n = d->rows;
  for (int j = 0; j < n; j++) {
    memset(d->v + (int64_t)j * d->ld, 0, (size_t)n * sizeof *d->v);
    d->v[j + (int64_t)j * d->ld] = 1;
  }
  if (!nxi_block_schur(n, d->t, d->ld, d->v, n, d->ld)) return false;
  const int left = d->beside == 0 ? 0 : look(d);
  nxi_block_values(n, d->t, d->ld, d->re, d->im);
  d->left = left;
  d->deflated = n - left;
  d->changed = left < n;
  if (!d->changed) return true;
  if (left > 1) {
    reflect_spike(d, left);
    d->beside *= d->v[0];
    reduce(d, left);
  } else {
    d->beside = left == 0 ? 0 : d->beside * d->v[0];
  }
  return true;
}
