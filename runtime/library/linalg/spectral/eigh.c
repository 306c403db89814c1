/* SPDX-License-Identifier: ISC */
/* eigh, eigvalsh, by divide and conquer; small and large matrices in files of their own. LAPACK
 * stores matrices by columns, so the lower triangle in C order is an upper triangle to it, of the
 * conjugate matrix, which has the same values and conjugate vectors. A lower triangle that is not
 * finite does not converge. */
#include <string.h>

#include "eigh_blocked.h"
#include "eigh_small.h"
#include "runtime/library/linalg/lapack.h"

typedef void (*real_fn)(const char *jobz, const char *uplo, const int *n, void *a, const int *lda,
                        void *w, void *work, const int *lwork, int *iwork, const int *liwork,
                        int *info, size_t jobz_length, size_t uplo_length);
typedef void (*complex_fn)(const char *jobz, const char *uplo, const int *n, void *a,
                           const int *lda, void *w, void *work, const int *lwork, void *rwork,
                           const int *lrwork, int *iwork, const int *liwork, int *info,
                           size_t jobz_length, size_t uplo_length);

enum { MATRIX, VALUES, WORK, REAL_WORK, INTEGERS };

typedef struct lengths {
  int work, real, integers; /* lengths of work arrays; -1: asks the routine for them */
} lengths;

static int syevd(nx_dtype t, bool vectors, int n, void *a, void *values, void *work, void *rwork,
                 int *iwork, const lengths *l) {
  const char *job = vectors ? "V" : "N";
  int info = 0;
  nxi_lapack_fn f = nxi_lapack(NXI_LAPACK_syevd, t);
  nxi_lapack_enter();
  if (nxi_lapack_complex(t))
    ((complex_fn)f)(job, "U", &n, a, &n, values, work, &l->work, rwork, &l->real, iwork,
                    &l->integers, &info, 1, 1);
  else ((real_fn)f)(job, "U", &n, a, &n, values, work, &l->work, iwork, &l->integers, &info, 1, 1);
  nxi_lapack_leave();
  return info;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  nx_dtype t = a->dtype, real = nxi_lapack_single(t) ? NX_F32 : NX_F64;
  int rank = a->rank, size = (int)a->shape[rank - 1], iwork = 0;
  bool vectors = call->n_results > 1;
  nx_status status = nxi_lapack_ready(nxg_ops[call->op].name, d);
  double n = size;
  if (status) return status;
  if (nxi_eigh_is_blocked(call)) return nxi_eigh_blocked_prepare(call, work, d);
  nxi_batch_work(work, size ? nxi_batches(a, 2) : 0, (vectors ? 9 : 4.0 / 3) * n * n * n,
                 2 * n * n);
  if (!size) return status;
  if (nxi_eigh_is_small(call)) return nxi_eigh_small_prepare(call, work, d);
  _Alignas(16) char first[16] = {0}, values[16], rwork[16] = {0};
  syevd(t, vectors, size, values, values, first, rwork, &iwork, &(lengths){-1, -1, -1});
  const double all[] = {n * n, n, nxi_work_length(t, first),
                        nxi_lapack_complex(t) ? nxi_work_length(real, rwork) : 0, iwork};
  return nxi_work_state(call, work, t, all, 5, d);
}

static nx_status one(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const nxg_array *array = &call->operands[0];
  nx_dtype t = array->dtype;
  int n = (int)array->shape[array->rank - 1];
  const char *a = nxi_item(array, part->operands[0], 2, index);
  double *values = nxi_item(&call->results[0], part->results[0], 1, index);
  lengths l;
  void *copy = nxi_work_array(part, MATRIX, NULL), *single = nxi_work_array(part, VALUES, NULL),
       *work = nxi_work_array(part, WORK, &l.work),
       *real = nxi_work_array(part, REAL_WORK, &l.real),
       *integers = nxi_work_array(part, INTEGERS, &l.integers);
  if (!nxi_lower_is_finite(t, n, a)) return NX_NO_CONVERGENCE;
  memcpy(copy, a, (size_t)n * (size_t)n * (size_t)nxi_dtype_size(t));
  bool narrow = nxi_lapack_single(t);
  int info =
      syevd(t, call->n_results > 1, n, copy, narrow ? single : values, work, real, integers, &l);
  for (int i = 0; narrow && i < n; i++) values[i] = ((const float *)single)[i];
  if (call->n_results > 1)
    nxi_transpose(t, n, n, copy, n, nxi_item(&call->results[1], part->results[1], 2, index), n,
                  true);
  return info == 0 ? NX_OK : NX_NO_CONVERGENCE;
}

static nx_status run(nxg_call_part *part) {
  if (nxi_eigh_is_blocked(part->call)) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, nxi_eigh_is_small(part->call) ? nxi_eigh_small : one);
}

const nxg_functions nxi_eigh_functions = {prepare, run, nxi_work_release};
