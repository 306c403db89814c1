/* SPDX-License-Identifier: ISC */
/* The operation qr; small and large matrices in files of their own. LAPACK expects columns, so a
 * matrix A in C order is A^T to it. It computes LQ factors of that, A^T = L Q', which are the
 * transposes of ours: L = R^T and Q' = Q^T for A = Q R. In memory they are R and Q in C order, so
 * nothing is transposed: the operand is copied to the memory of a result and factored there.
 * Householder reflections cannot fail; values that are not finite propagate. */
#include <string.h>

#include "runtime/library/linalg/lapack.h"
#include "qr_blocked.h"
#include "qr_small.h"

typedef void (*gelqf_fn)(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                         const int *lwork, int *info);
typedef void (*orglq_fn)(const int *m, const int *n, const int *k, void *a, const int *lda,
                         const void *tau, void *work, const int *lwork, int *info);

/* A is m x n, Q m x inner, R inner x n. */
typedef struct shape {
  nx_dtype t;
  int m, n, inner, least; /* least: the smaller of m and n */
} shape;

static shape shape_of(const nxg_call *call) {
  const nxg_array *a = &call->operands[0], *q = &call->results[0];
  shape s = {a->dtype, (int)a->shape[a->rank - 2], (int)a->shape[a->rank - 1],
             (int)q->shape[q->rank - 1], 0};
  s.least = s.m < s.n ? s.m : s.n;
  return s;
}

/* The distance between the rows of A where it is factored, in elements. */
static int stride_of(const shape *s) { return s->m >= s->n ? s->inner : s->n; }

/* Complex matrices are factored in separate memory, not in a result: the library's matrix-vector
 * products read one element beyond the last of a row, a whole column further, and there must be
 * memory at that address. */
enum { APART, TAU, WORK };
static double elements_apart(const shape *s) {
  return nxi_lapack_complex(s->t) ? (s->m + 1.0) * stride_of(s) : 0;
}

/* The longest work array that either routine asks for. */
static double query(const shape *s) {
  int all = -1, info = 0, ld = stride_of(s);
  _Alignas(16) char first[2][16] = {{0}};
  ((gelqf_fn)nxi_lapack(NXI_LAPACK_gelqf, s->t))(&s->n, &s->m, first[0], &ld, first[0], first[0],
                                                 &all, &info);
  ((orglq_fn)nxi_lapack(NXI_LAPACK_orglq, s->t))(&s->inner, &s->m, &s->least, first[1], &s->inner,
                                                 first[1], first[1], &all, &info);
  double a = nxi_work_length(s->t, first[0]), b = nxi_work_length(s->t, first[1]);
  return a > b ? a : b;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  shape s = shape_of(call);
  nx_status status = nxi_lapack_ready("qr", d);
  double m = s.m, n = s.n, k = s.least, q = m * s.inner;
  if (status) return status;
  if (nxi_qr_is_blocked(call)) return nxi_qr_blocked_prepare(call, work, d);
  nxi_batch_work(work, s.m ? nxi_batches(&call->operands[0], 2) : 0, 4 * m * n * k + 2 * q * k,
                 m * n + q);
  if (s.least == 0) return status;
  if (nxi_qr_is_small(call)) return nxi_qr_small_prepare(call, work, d);
  const double lengths[] = {elements_apart(&s), k, query(&s)};
  return nxi_work_state(call, work, s.t, lengths, 3, d);
}

static void copy_rows(const shape *s, int rows, int columns, const char *from, int from_ld,
                      char *to, int to_ld) {
  size_t size = (size_t)nxi_dtype_size(s->t);
  for (int i = 0; i < rows; i++)
    memcpy(to + (size_t)i * (size_t)to_ld * size, from + (size_t)i * (size_t)from_ld * size,
           (size_t)columns * size);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  shape s = shape_of(part->call);
  const char *a = nxi_item(&part->call->operands[0], part->operands[0], 2, index);
  char *q = nxi_item(&part->call->results[0], part->results[0], 2, index),
       *r = nxi_item(&part->call->results[1], part->results[1], 2, index);
  size_t size = (size_t)nxi_dtype_size(s.t);
  if (s.least == 0) {
    nxi_identity(s.t, s.m, s.inner, q); /* no reflection */
    return NX_OK;
  }
  if (nxi_qr_is_small(part->call)) {
    nxi_qr_small(part, index);
    return NX_OK;
  }
  bool tall = s.m >= s.n, apart = nxi_lapack_complex(s.t);
  char *own_q = apart ? nxi_work_array(part, APART, NULL) : q;
  char *at = apart ? own_q : tall ? q : r;
  int ld = stride_of(&s), info = 0, lwork;
  void *tau = nxi_work_array(part, TAU, NULL), *work = nxi_work_array(part, WORK, &lwork);
  copy_rows(&s, s.m, s.n, a, s.n, at, ld);
  nxi_lapack_enter();
  ((gelqf_fn)nxi_lapack(NXI_LAPACK_gelqf, s.t))(&s.n, &s.m, at, &ld, tau, work, &lwork, &info);
  nxi_lapack_leave();
  if (tall) {
    copy_rows(&s, s.n, s.n, at, ld, r, s.n);
    memset(r + (size_t)s.n * (size_t)s.n * size, 0, (size_t)(s.inner - s.n) * (size_t)s.n * size);
  } else {
    if (apart) copy_rows(&s, s.m, s.n, at, ld, r, ld);
    copy_rows(&s, s.m, s.m, r, ld, own_q, s.m);
  }
  nxi_zero_triangle(s.t, s.inner, s.n, r, true);
  nxi_lapack_enter();
  ((orglq_fn)nxi_lapack(NXI_LAPACK_orglq, s.t))(&s.inner, &s.m, &s.least, own_q, &s.inner, tau,
                                                work, &lwork, &info);
  nxi_lapack_leave();
  if (apart) copy_rows(&s, s.m, s.inner, own_q, s.inner, q, s.inner);
  return NX_OK;
}

static nx_status run(nxg_call_part *part) {
  if (nxi_qr_is_blocked(part->call)) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one);
}

const nxg_functions nxi_qr_functions = {prepare, run, nxi_work_release};
