/* SPDX-License-Identifier: ISC */
/* det, slogdet and inv, from LU factors. LAPACK stores matrices by columns, so it factors the
 * transposed matrix, which has the same determinant, and the transposed inverse. A singular matrix
 * has the determinant 0 and no inverse. */
#include <math.h>
#include <string.h>

#include "runtime/library/linalg/factors/lu.h"
#include "runtime/library/linalg/factors/small_matrix.h"

typedef void (*getri_fn)(const int *n, void *a, const int *lda, const int *pivots, void *work,
                         const int *lwork, int *info);

/* Factors a matrix; pivots count from 1. Returns a number that is not 0 if the matrix is
 * singular. */
static int factor(nx_dtype t, int n, void *a, int *pivots) {
  int info = 0;
  if (nxi_is_small_matrix(t, n)) {
    info = !nxi_small_lu(t, n, a, pivots);
    for (int i = 0; i < n; i++) pivots[i]++;
    return info;
  }
  nxi_lu_factor(t, n, n, a, n, pivots);
  return nxi_zero_on_diagonal(t, n, a);
}

typedef struct number {
  double re, im;
} number;

/* Element of the diagonal. */
static number diagonal(nx_dtype t, int n, const void *a, int i) {
  size_t at = (size_t)i * ((size_t)n + 1);
  switch (t) {
    case NX_F32: return (number){((const float *)a)[at], 0};
    case NX_F64: return (number){((const double *)a)[at], 0};
    case NX_C64: return (number){((const float *)a)[2 * at], ((const float *)a)[2 * at + 1]};
    default: return (number){((const double *)a)[2 * at], ((const double *)a)[2 * at + 1]};
  }
}

static void store(nx_dtype t, number x, void *to) {
  const double wide[2] = {x.re, x.im};
  const float narrow[2] = {(float)x.re, (float)x.im};
  const void *from = nxi_lapack_single(t) ? (const void *)narrow : (const void *)wide;
  memcpy(to, from, (size_t)nxi_dtype_size(t));
}

/* ---- det, slogdet */

enum { FACTORS, PIVOTS };

/* A product kept as mantissa and exponent, so that it neither overflows nor underflows in
 * between. */
typedef struct scaled {
  number mantissa;
  int64_t exponent;
} scaled;

static number times_power(number x, int64_t exponent) {
  if (exponent == 0) return x; /* nearly always */
  int e = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : (int)exponent;
  return (number){ldexp(x.re, e), ldexp(x.im, e)};
}

/* Moves the exponent of the larger part out of x, if a product with another such number could leave
 * the range. */
static number normal(number x, int64_t *exponent) {
  const double re = fabs(x.re), im = fabs(x.im), larger = re > im ? re : im;
  int e = 0;
  if (larger > 0x1p-400 && larger < 0x1p400) return x;
  if (larger == 0 || !isfinite(x.re) || !isfinite(x.im)) return x;
  frexp(larger, &e);
  *exponent += e;
  return times_power(x, -(int64_t)e);
}

static void multiply(bool pairs, scaled *p, number x) {
  number a = p->mantissa, b = normal(x, &p->exponent);
  /* for real numbers without the imaginary parts, where 0 times infinity would be NaN */
  number c = {a.re * b.re, 0};
  if (pairs) c = (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  p->mantissa = normal(c, &p->exponent);
}

static void write_slogdet(const nxg_call_part *part, int64_t index, number sign, double log_of) {
  const nxg_call *call = part->call;
  store(call->results[0].dtype, sign, nxi_item(&call->results[0], part->results[0], 0, index));
  store(call->results[1].dtype, (number){log_of, 0},
        nxi_item(&call->results[1], part->results[1], 0, index));
}

static void from_factors(const nxg_call_part *part, int64_t index, nx_dtype t, int n,
                         const void *factors, const int *pivots) {
  scaled p = {{1, 0}, 0};
  double log_of = 0;
  for (int i = 0; i < n; i++) {
    number x = diagonal(t, n, factors, i);
    if (pivots[i] != i + 1) x = (number){-x.re, -x.im};
    if (part->call->op == NXG_slogdet) { /* p is the sign alone */
      double size = hypot(x.re, x.im);
      log_of += log(size);
      x = size == 0 ? (number){0, 0} : (number){x.re / size, x.im / size};
    }
    multiply(nxi_lapack_complex(t), &p, x);
  }
  number product = times_power(p.mantissa, p.exponent);
  if (part->call->op == NXG_slogdet) write_slogdet(part, index, product, log_of);
  else store(t, product, nxi_item(&part->call->results[0], part->results[0], 0, index));
}

static nx_status one_det(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  nx_dtype t = a->dtype;
  int n = (int)a->shape[a->rank - 1], *pivots = nxi_work_array(part, PIVOTS, NULL);
  void *factors = nxi_work_array(part, FACTORS, NULL);
  memcpy(factors, nxi_item(a, part->operands[0], 2, index),
         (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  if (n > 0) factor(t, n, factors, pivots);
  from_factors(part, index, t, n, factors, pivots);
  return NX_OK;
}

static void finish_det(const nxi_stage_task *task, const nxi_lu *lu) {
  from_factors(task->part, task->index, lu->t, lu->n, task->memory,
               nxi_lu_pivots(lu, task->memory));
}

static nx_status prepare_det(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double n = (double)a->shape[a->rank - 1], flops = 2 * n * n * n / 3;
  nx_status status = nxi_lapack_ready(nxg_ops[call->op].name, d);
  if (status) return status;
  if (nxi_lu_is_blocked(a)) {
    const nxi_lu_call large = {.determinant = true, .tasks = 1, .finish = finish_det};
    return nxi_lu_prepare(call, work, &large, flops, d);
  }
  nxi_batch_work(work, nxi_batches(a, 2), flops, n * n);
  const double lengths[] = {n * n, n};
  return nxi_work_state(call, work, a->dtype, lengths, 2, d);
}

static nx_status run_det(nxg_call_part *part) {
  if (nxi_lu_is_blocked(&part->call->operands[0])) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one_det);
}

const nxg_functions nxi_det_functions = {prepare_det, run_det, nxi_work_release};

/* ---- inv */

enum { INVERSE_WORK, INVERSE_PIVOTS };
enum { PANEL = 96 }; /* columns of a large inverse that are computed together: whole strips */

static void finish_inv(const nxi_stage_task *task, const nxi_lu *lu) {
  const nxg_call_part *part = task->part;
  const int first = (int)task->task * PANEL, width = lu->n - first < PANEL ? lu->n - first : PANEL;
  char *to = nxi_item(&part->call->results[0], part->results[0], 2, task->index);
  nxi_lu_inverse(part, lu->t, lu->n, first, width, task->memory, nxi_lu_pivots(lu, task->memory),
                 to + first * nxi_dtype_size(lu->t), lu->n);
}

static nx_status prepare_inv(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  int size = (int)a->shape[a->rank - 1], all = -1, info = 0;
  const double n = size, flops = 2 * n * n * n;
  nx_status status = nxi_lapack_ready("inv", d);
  if (status) return status;
  if (nxi_lu_is_blocked(a)) {
    const nxi_lu_call large = {.tasks = (size + PANEL - 1) / PANEL, .finish = finish_inv};
    return nxi_lu_prepare(call, work, &large, flops, d);
  }
  nxi_batch_work(work, nxi_batches_to_do(call, size), flops, 2 * n * n);
  if (!size) return status;
  _Alignas(16) char first[16] = {0};
  ((getri_fn)nxi_lapack(NXI_LAPACK_getri, a->dtype))(&size, first, &size, &info, first, &all,
                                                     &info);
  const double lengths[] = {nxi_work_length(a->dtype, first), n};
  return nxi_work_state(call, work, a->dtype, lengths, 2, d);
}

/* 0, or the number of the pivot that is zero, as of the next function. */
static int invert_small(nx_dtype t, int n, const void *from, void *to, int *pivots) {
  _Alignas(16) char factors[NXI_SMALL_MATRIX * NXI_SMALL_MATRIX * sizeof(double)];
  memcpy(factors, from, (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  if (!nxi_small_lu(t, n, factors, pivots)) return nxi_zero_on_diagonal(t, n, factors);
  nxi_identity(t, n, n, to);
  nxi_small_solve(t, n, n, factors, pivots, to);
  return 0;
}

static int invert(const nxg_call_part *part, int n, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  nx_dtype t = a->dtype;
  int lwork, info, *pivots = nxi_work_array(part, INVERSE_PIVOTS, NULL);
  void *work = nxi_work_array(part, INVERSE_WORK, &lwork),
       *to = nxi_item(a, part->results[0], 2, index);
  const void *from = nxi_item(a, part->operands[0], 2, index);
  if (nxi_is_small_matrix(t, n)) return invert_small(t, n, from, to, pivots);
  memcpy(to, from, (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  info = factor(t, n, to, pivots);
  if (info != 0) return info;
  nxi_lapack_enter();
  ((getri_fn)nxi_lapack(NXI_LAPACK_getri, t))(&n, to, &n, pivots, work, &lwork, &info);
  nxi_lapack_leave();
  return info;
}

static nx_status one_inv(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const int n = (int)a->shape[a->rank - 1], info = n > 0 ? invert(part, n, index) : 0;
  nxi_store_info(part, index, info);
  return info ? NX_SINGULAR : NX_OK;
}

static nx_status run_inv(nxg_call_part *part) {
  if (nxi_lu_is_blocked(&part->call->operands[0])) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one_inv);
}

const nxg_functions nxi_inv_functions = {prepare_inv, run_inv, nxi_work_release};
