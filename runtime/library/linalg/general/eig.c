/* SPDX-License-Identifier: ISC */
/* eig, eig_left and eigvals of f64 and c128; large real matrices in a file of their own. The
 * operand is transposed for LAPACK, and vectors are transposed back. For a real matrix LAPACK gives
 * the real and the imaginary parts of a vector in two columns, which are combined to complex
 * numbers. A matrix that is not finite does not converge. */
#include <string.h>

#include "eig_blocked.h"
#include "eig_small.h"
#include "runtime/library/linalg/lapack.h"

typedef void (*real_fn)(const char *left, const char *right, const int *n, void *a, const int *lda,
                        double *re, double *im, void *vl, const int *ldvl, void *vr,
                        const int *ldvr, void *work, const int *lwork, int *info, size_t, size_t);
typedef void (*complex_fn)(const char *left, const char *right, const int *n, void *a,
                           const int *lda, void *w, void *vl, const int *ldvl, void *vr,
                           const int *ldvr, void *work, const int *lwork, double *rwork, int *info,
                           size_t, size_t);

/* pieces of scratch memory. VALUES: the eigenvalues of a real matrix, or real work memory for a
 * complex one */
enum { MATRIX, VECTORS, WORK, VALUES, LEFT };

/* For a real matrix the eigenvalues are written to `values`, first all real parts, then all
 * imaginary parts; for a complex matrix they are written to w. */
static int geev(nx_dtype t, bool vectors, int n, void *a, double *values, void *w, void *left,
                void *v, void *work, int lwork) {
  const char *job = vectors ? "V" : "N", *other = left ? "V" : "N";
  int info = 0;
  nxi_lapack_fn f = nxi_lapack(NXI_LAPACK_geev, t);
  nxi_lapack_enter();
  if (t == NX_C128)
    ((complex_fn)f)(other, job, &n, a, &n, w, left ? left : v, &n, v, &n, work, &lwork, values,
                    &info, 1, 1);
  else
    ((real_fn)f)(other, job, &n, a, &n, values, values + n, left ? left : v, &n, v, &n, work,
                 &lwork, &info, 1, 1);
  nxi_lapack_leave();
  return info;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  int rank = a->rank, size = (int)a->shape[rank - 1];
  bool vectors = call->n_results > 1, left = call->op == NXG_eig_left;
  nx_status status = nxi_lapack_ready(nxg_ops[call->op].name, d);
  double n = size;
  if (!status && nxi_eig_is_blocked(call)) return nxi_eig_blocked_prepare(call, work, d);
  nxi_batch_work(work, size ? nxi_batches(a, 2) : 0, (vectors ? 26 : 10) * n * n * n, 4 * n * n);
  if (status || !size) return status;
  if (nxi_eig_is_small(call)) return nxi_eig_small_prepare(call, work, d);
  double first[2] = {0};
  geev(a->dtype, vectors, size, first, first, first, left ? first : NULL, first, first, -1);
  const double all[] = {n * n, vectors ? n * n : 1, nxi_work_length(a->dtype, first), 2 * n,
                        left ? n * n : 1};
  return nxi_work_state(call, work, a->dtype, all, 5, d);
}

/* Converts column j of the vectors, or columns j and j + 1 of a conjugate pair, to rows of complex
 * numbers. */
static void join_vectors(int n, const double *im, const double *v, double *to) {
  for (int j = 0; j < n; j++) {
    const double *re = v + (size_t)j * (size_t)n;
    bool pair = im[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; i++) {
      double *x = to + 2 * ((size_t)i * (size_t)n + (size_t)j);
      x[0] = re[i];
      x[1] = pair ? re[n + i] : 0;
      if (!pair) continue;
      x[2] = re[i];
      x[3] = -re[n + i];
    }
    j += pair;
  }
}

/* Writes the vectors as a result. */
static void write_vectors(const nxg_call_part *part, uint32_t result, int64_t index, int n,
                          const double *im, const void *v) {
  double *to = nxi_item(&part->call->results[result], part->results[result], 2, index);
  if (part->call->operands[0].dtype == NX_F64) join_vectors(n, im, v, to);
  else nxi_transpose(NX_C128, n, n, v, n, to, n, false);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const nxg_array *array = &call->operands[0];
  nx_dtype t = array->dtype;
  bool vectors = call->n_results > 1;
  int n = (int)array->shape[array->rank - 1], lwork;
  const char *a = nxi_item(array, part->operands[0], 2, index);
  double *w = nxi_item(&call->results[0], part->results[0], 1, index),
         *values = nxi_work_array(part, VALUES, NULL);
  void *copy = nxi_work_array(part, MATRIX, NULL), *v = nxi_work_array(part, VECTORS, NULL),
       *work = nxi_work_array(part, WORK, &lwork),
       *left = call->op == NXG_eig_left ? nxi_work_array(part, LEFT, NULL) : NULL;
  if (!nxi_all_finite(t, (int64_t)n * n, a)) return NX_NO_CONVERGENCE;
  nxi_transpose(t, n, n, a, n, copy, n, false);
  int info = geev(t, vectors, n, copy, values, w, left, v, work, lwork);
  if (info != 0) return NX_NO_CONVERGENCE;
  for (int i = 0; t == NX_F64 && i < n; i++) {
    w[2 * i] = values[i];
    w[2 * i + 1] = values[n + i];
  }
  if (left) write_vectors(part, 1, index, n, values + n, left);
  if (vectors) write_vectors(part, left ? 2 : 1, index, n, values + n, v);
  return NX_OK;
}

static nx_status run(nxg_call_part *part) {
  if (nxi_eig_is_blocked(part->call)) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, nxi_eig_is_small(part->call) ? nxi_eig_small : one);
}

const nxg_functions nxi_eig_functions = {prepare, run, nxi_work_release};
