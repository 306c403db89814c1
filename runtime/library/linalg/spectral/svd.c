/* SPDX-License-Identifier: ISC */
/* The operation svd, by divide and conquer. LAPACK expects columns, so a matrix A in C order is
 * A^T = (V^H)^T S U^T to it: its left vectors are V^H in C order in memory, and its right ones
 * U, so nothing is transposed. A matrix that is not finite does not converge. */
#include <string.h>

#include "runtime/library/linalg/lapack.h"
#include "svd_blocked.h"

typedef void (*real_fn)(const char *jobz, const int *m, const int *n, void *a, const int *lda,
                        void *s, void *u, const int *ldu, void *vt, const int *ldvt, void *work,
                        const int *lwork, int *iwork, int *info, size_t jobz_length);
typedef void (*complex_fn)(const char *jobz, const int *m, const int *n, void *a, const int *lda,
                           void *s, void *u, const int *ldu, void *vt, const int *ldvt, void *work,
                           const int *lwork, void *rwork, int *iwork, int *info,
                           size_t jobz_length);

/* A is m x n; U m x u, V^H v x n. */
typedef struct shape {
  nx_dtype t;
  bool full;
  int m, n, u, v, least;
} shape;

static shape shape_of(const nxg_call *call) {
  const nxg_array *a = &call->operands[0], *u = &call->results[0], *v = &call->results[2];
  shape s = {a->dtype,
             call->attrs[0] != 0,
             (int)a->shape[a->rank - 2],
             (int)a->shape[a->rank - 1],
             (int)u->shape[u->rank - 1],
             (int)v->shape[v->rank - 2],
             0};
  s.least = s.m < s.n ? s.m : s.n;
  return s;
}

/* lwork -1 asks for its length. */
static int gesdd(const shape *s, void *a, void *values, void *v, void *u, void *work, int lwork,
                 void *rwork, int *iwork) {
  const char *job = s->full ? "A" : "S";
  int info = 0;
  nxi_lapack_fn f = nxi_lapack(NXI_LAPACK_gesdd, s->t);
  nxi_lapack_enter();
  if (nxi_lapack_complex(s->t))
    ((complex_fn)f)(job, &s->n, &s->m, a, &s->n, values, v, &s->n, u, &s->u, work, &lwork, rwork,
                    iwork, &info, 1);
  else
    ((real_fn)f)(job, &s->n, &s->m, a, &s->n, values, v, &s->n, u, &s->u, work, &lwork, iwork,
                 &info, 1);
  nxi_lapack_leave();
  return info;
}

/* The right vectors of complex matrices are computed in separate memory, not in the result: the
 * library's matrix-vector products read one element beyond the last of a row, a whole column
 * further, and there must be memory at that address. Here it is the arrays that follow. */
enum { RIGHT, MATRIX, VALUES, WORK, REAL_WORK, INTEGERS };

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  shape s = shape_of(call);
  nx_status status = nxi_lapack_ready("svd", d);
  double m = s.m, n = s.n, k = s.least, q = m * s.u + n * (double)s.v;
  double longest = m > n ? m : n;
  if (status) return status;
  if (nxi_svd_is_blocked(call)) return nxi_svd_blocked_prepare(call, work, d);
  nxi_batch_work(work, s.m + s.n ? nxi_batches(&call->operands[0], 2) : 0,
                 4 * m * n * k + 22 * k * k * k + 2 * q * k, m * n + q);
  if (s.least == 0) return status;
  _Alignas(16) char first[16] = {0};
  int iwork;
  gesdd(&s, first, first, first, first, first, -1, first, &iwork);
  double rwork =
      0; /* as LAPACK's page says, the larger of what its versions say; in elements twice as long */
  if (nxi_lapack_complex(s.t)) {
    double first_form = 5 * k * k + 7 * k, second_form = 2 * longest * k + 2 * k * k + k;
    rwork = first_form > second_form ? first_form : second_form;
  }
  const double right = nxi_lapack_complex(s.t) ? m * s.u : 0;
  const double lengths[] = {right, m * n, k, nxi_work_length(s.t, first), rwork, 8 * k};
  return nxi_work_state(call, work, s.t, lengths, 6, d);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  shape s = shape_of(part->call);
  const nxg_call *call = part->call;
  const char *a = nxi_item(&call->operands[0], part->operands[0], 2, index);
  char *u = nxi_item(&call->results[0], part->results[0], 2, index),
       *v = nxi_item(&call->results[2], part->results[2], 2, index);
  double *values = (double *)(void *)nxi_item(&call->results[1], part->results[1], 1, index);
  int64_t count = (int64_t)s.m * s.n;
  if (s.least == 0) {
    nxi_identity(s.t, s.m, s.u, u); /* what they are for a zero matrix */
    nxi_identity(s.t, s.v, s.n, v);
    return NX_OK;
  }
  if (!nxi_all_finite(s.t, count, a)) return NX_NO_CONVERGENCE;
  int lwork;
  void *copy = nxi_work_array(part, MATRIX, NULL), *single = nxi_work_array(part, VALUES, NULL),
       *work = nxi_work_array(part, WORK, &lwork);
  memcpy(copy, a, (size_t)(count * nxi_dtype_size(s.t)));
  bool narrow = nxi_lapack_single(s.t), apart = nxi_lapack_complex(s.t);
  void *right = apart ? nxi_work_array(part, RIGHT, NULL) : u;
  int info = gesdd(&s, copy, narrow ? single : values, v, right, work, lwork,
                   nxi_work_array(part, REAL_WORK, NULL), nxi_work_array(part, INTEGERS, NULL));
  if (apart) memcpy(u, right, (size_t)s.m * (size_t)s.u * (size_t)nxi_dtype_size(s.t));
  for (int i = 0; narrow && i < s.least; i++) values[i] = ((const float *)single)[i];
  return info == 0 ? NX_OK : NX_NO_CONVERGENCE;
}

static nx_status run(nxg_call_part *part) {
  if (nxi_svd_is_blocked(part->call)) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one);
}

const nxg_functions nxi_svd_functions = {prepare, run, nxi_work_release};
