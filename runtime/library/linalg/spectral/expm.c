/* SPDX-License-Identifier: ISC */
/* expm by scaling and squaring: exp(A) = r(A / 2^s)^(2^s), r a Pade approximant, s the least number
 * that makes the norm of the scaled matrix at most the bound for which the approximant's backward
 * error is below the rounding unit. Higham, "The scaling and squaring method for the matrix
 * exponential revisited", SIAM J. Matrix Anal. Appl. 26 (2005): degree 13 up to 5.37 in f64, degree
 * 7 up to 3.92 in f32. The transposed matrix has the transposed exponential, so matrices in C order
 * are given to BLAS as they are. */
#include <math.h>
#include <string.h>

#include "runtime/library/linalg/columns.h"
#include "runtime/library/linalg/factors/lu.h"
#include "runtime/library/linalg/rescale.h"
#include "runtime/library/blas/level3.h"

typedef void (*getrf_fn)(const int *m, const int *n, void *a, const int *lda, int *pivots,
                         int *info);

static const double wide[] = {64764752532480000,
                              32382376266240000,
                              7771770303897600,
                              1187353796428800,
                              129060195264000,
                              10559470521600,
                              670442572800,
                              33522128640,
                              1323241920,
                              40840800,
                              960960,
                              16380,
                              182,
                              1};
static const double narrow[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
static const double wide_bound = 5.371920351148152, narrow_bound = 3.925724783138660;

/* Matrices of scratch memory: powers of A, and sums. */
enum { A1, A2, A4, A6, U, V, SUM, MATRICES };
enum { ROOM, PIVOTS };

typedef struct job {
  const nxg_call_part *part;
  nx_dtype t;
  int n;
  void *at[MATRICES];
} job;

static void multiply(const job *j, int a, int b, int to) {
  const nxi_factor x = {"N", j->at[a], j->n}, y = {"N", j->at[b], j->n};
  if (!nxi_told_to_stop(j->part)) nxi_product(j->t, j->n, j->n, j->n, x, y, j->at[to], j->n);
}

/* to = b6 A6 + b4 A4 + b2 A2 + b0 I, of every other coefficient, the first of all being made 1:
 * then the exponential of 0 is exact. The sums of powers that A6 is multiplied by afterwards have
 * no b0: `one` is false for them. */
static void combine(const job *j, int to, int first, bool one) {
  const double *b = nxi_lapack_single(j->t) ? narrow : wide;
  const double p = b[first + 6] / b[0], q = b[first + 4] / b[0], r = b[first + 2] / b[0],
               s = one ? b[first] / b[0] : 0;
  const int64_t parts = nxi_lapack_complex(j->t) ? 2 : 1, n = j->n, all = n * n * parts;
#define COMBINE(T)                                                                       \
  do {                                                                                   \
    const T *a2 = j->at[A2], *a4 = j->at[A4], *a6 = j->at[A6];                           \
    T *x = j->at[to];                                                                    \
    for (int64_t i = 0; i < all; i++) x[i] = (T)p * a6[i] + (T)q * a4[i] + (T)r * a2[i]; \
    for (int64_t i = 0; i < n; i++) x[i * (n + 1) * parts] += (T)s;                      \
  } while (0)
  if (nxi_lapack_single(j->t)) COMBINE(float);
  else COMBINE(double);
#undef COMBINE
}

/* x = x + I. */
static void add_one(const job *j, int x) {
  const int64_t step = (j->n + 1) * (nxi_lapack_complex(j->t) ? 2 : 1);
  for (int64_t i = 0; i < j->n; i++)
    if (nxi_lapack_single(j->t)) ((float *)j->at[x])[i * step] += 1;
    else ((double *)j->at[x])[i * step] += 1;
}

/* to = x + sign y. */
static void add(const job *j, int to, int x, double sign, int y) {
  const int64_t all = (int64_t)j->n * j->n * (nxi_lapack_complex(j->t) ? 2 : 1);
#define ADD(T)                                                      \
  do {                                                              \
    const T *a = j->at[x], *b = j->at[y];                           \
    T *c = j->at[to];                                               \
    for (int64_t i = 0; i < all; i++) c[i] = a[i] + (T)sign * b[i]; \
  } while (0)
  if (nxi_lapack_single(j->t)) ADD(float);
  else ADD(double);
#undef ADD
}

/* The odd part U and the even part V of the approximant's numerator. */
static void numerators(const job *j) {
  const bool single = nxi_lapack_single(j->t);
  multiply(j, A1, A1, A2);
  multiply(j, A2, A2, A4);
  multiply(j, A4, A2, A6);
  combine(j, V, 1, true);
  if (!single) {
    combine(j, SUM, 7, false);
    multiply(j, A6, SUM, U);
    add(j, V, V, 1, U);
  }
  multiply(j, A1, V, U);
  combine(j, V, 0, true);
  if (!single) {
    combine(j, SUM, 6, false);
    multiply(j, A6, SUM, A1);
    add(j, V, V, 1, A1);
  }
}

/* The largest sum of magnitudes of a row, which for A in C order is its 1-norm transposed: any
 * consistent norm will do. */
static double norm_of(nx_dtype t, int n, const void *a) {
  const int64_t parts = nxi_lapack_complex(t) ? 2 : 1;
  const float *f = a;
  const double *g = a;
  double most = 0;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t k = i * n * parts; k < (i + 1) * n * parts; k += parts) {
      const double re = nxi_lapack_single(t) ? (double)f[k] : g[k],
                   im = nxi_lapack_single(t) ? (double)f[k + parts - 1] : g[k + parts - 1];
      sum += parts == 2 ? hypot(re, im) : fabs(re);
    }
    if (!(sum <= most)) most = sum; /* NaN, too */
    if (isnan(most)) return most;
  }
  return most;
}

/* How often a matrix of this norm is halved. */
static int halvings(double norm, double bound) {
  int exponent;
  const double fraction = frexp(norm / bound, &exponent);
  if (!(norm > bound)) return 0;
  return exponent - (fraction == 0.5);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const nx_dtype t = a->dtype;
  const int64_t bytes = (int64_t)nxi_rows(a) * nxi_rows(a) * nxi_dtype_size(t);
  job j = {.part = part, .t = t, .n = nxi_rows(a)};
  void *result = nxi_item(a, part->results[0], 2, index);
  const void *from = nxi_item(a, part->operands[0], 2, index);
  int *pivots = nxi_work_array(part, PIVOTS, NULL), info = 0;
  const double norm = norm_of(t, j.n, from);
  if (!isfinite(norm)) {
    nxi_store_nans(part, index);
    return NX_OK;
  }
  for (int i = 0; i < MATRICES; i++) j.at[i] = (char *)nxi_work_array(part, ROOM, NULL) + i * bytes;
  const int s = halvings(norm, nxi_lapack_single(t) ? narrow_bound : wide_bound);
  memcpy(j.at[A1], from, (size_t)bytes);
  nxi_scale(t, (int64_t)j.n * j.n, j.at[A1], -s);
  numerators(&j);
  /* r = (V + U) (V - U)^-1 = I + 2 U (V - U)^-1, as these are polynomials of A and commute: what is
   * rounded is no larger than A. */
  add(&j, SUM, V, -1, U);
  add(&j, A2, U, 1, U);
  nxi_lapack_enter();
  ((getrf_fn)nxi_lapack(NXI_LAPACK_getrf, t))(&j.n, &j.n, j.at[SUM], &j.n, pivots, &info);
  nxi_lapack_leave();
  nxi_lu_solve(part, t, j.n, j.n, j.at[SUM], pivots, NULL, j.at[A2], j.n);
  add_one(&j, A2);
  for (int i = 0; i < s; i++) multiply(&j, i % 2 ? A4 : A2, i % 2 ? A4 : A2, i % 2 ? A2 : A4);
  memcpy(result, j.at[s % 2 ? A4 : A2], (size_t)bytes);
  return NX_OK;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double n = nxi_rows(a);
  nx_status status = nxi_lapack_ready("expm", d);
  if (status) return status;
  nxi_batch_work(work, n > 0 ? nxi_batches(a, 2) : 0, 30 * n * n * n, 20 * n * n);
  const double lengths[] = {MATRICES * n * n, n};
  return nxi_work_state(call, work, a->dtype, lengths, 2, d);
}

static nx_status run(nxg_call_part *part) { return nxi_each_item(part, one); }

const nxg_functions nxi_expm_functions = {prepare, run, nxi_work_release};
