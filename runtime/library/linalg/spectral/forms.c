/* SPDX-License-Identifier: ISC */
/* sytrd, gehrd and schur: similar matrices of simpler forms, by LAPACK on copies by columns. What
 * is not finite spreads in the first two, and does not converge in the third. */
#include <string.h>

#include "runtime/library/linalg/columns.h"
#include "forms.h"

typedef void (*sytrd_fn)(const char *uplo, const int *n, void *a, const int *lda, void *d, void *e,
                         void *tau, void *work, const int *lwork, int *info, size_t);
typedef void (*gehrd_fn)(const int *n, const int *low, const int *high, void *a, const int *lda,
                         void *tau, void *work, const int *lwork, int *info);
typedef void (*real_gees_fn)(const char *jobvs, const char *sort, void *select, const int *n,
                             void *a, const int *lda, int *sdim, void *re, void *im, void *vs,
                             const int *ldvs, void *work, const int *lwork, int *bwork, int *info,
                             size_t, size_t);
typedef void (*complex_gees_fn)(const char *jobvs, const char *sort, void *select, const int *n,
                                void *a, const int *lda, int *sdim, void *w, void *vs,
                                const int *ldvs, void *work, const int *lwork, void *rwork,
                                int *bwork, int *info, size_t, size_t);

enum { MATRIX, WORK, OTHER, VALUES, REAL };

/* ---- the routines; lwork -1 asks for its length */

static void sytrd(nx_dtype t, bool upper, int n, void *a, void *d, void *e, void *tau, void *work,
                  int lwork) {
  int info = 0, ld = nxi_ld(n);
  nxi_lapack_enter();
  ((sytrd_fn)nxi_lapack(NXI_LAPACK_sytrd, t))(upper ? "U" : "L", &n, a, &ld, d, e, tau, work,
                                              &lwork, &info, 1);
  nxi_lapack_leave();
}

static void gehrd(nx_dtype t, int n, void *a, void *tau, void *work, int lwork) {
  int info = 0, ld = nxi_ld(n), low = 1;
  nxi_lapack_enter();
  ((gehrd_fn)nxi_lapack(NXI_LAPACK_gehrd, t))(&n, &low, &n, a, &ld, tau, work, &lwork, &info);
  nxi_lapack_leave();
}

int nxi_gees(nx_dtype t, int n, void *a, void *values, void *vectors, void *work, int lwork,
             void *rwork) {
  const nxi_lapack_fn f = nxi_lapack(NXI_LAPACK_gees, t);
  int info = 0, ld = nxi_ld(n), sdim = 0, none = 0;
  nxi_lapack_enter();
  if (nxi_lapack_complex(t))
    ((complex_gees_fn)f)("V", "N", NULL, &n, a, &ld, &sdim, values, vectors, &ld, work, &lwork,
                         rwork, &none, &info, 1, 1);
  else
    ((real_gees_fn)f)("V", "N", NULL, &n, a, &ld, &sdim, values,
                      (char *)values + (int64_t)n * nxi_dtype_size(t), vectors, &ld, work, &lwork,
                      &none, &info, 1, 1);
  nxi_lapack_leave();
  return info;
}

/* ---- preparation */

static double query(nxg_op op, nx_dtype t, int n) {
  _Alignas(16) char first[16] = {0}, other[64] = {0};
  switch (op) {
    case NXG_sytrd: sytrd(t, false, n, other, other, other, other, first, -1); break;
    case NXG_gehrd: gehrd(t, n, other, other, first, -1); break;
    default: nxi_gees(t, n, other, other, other, first, -1, other);
  }
  return nxi_work_length(t, first);
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const double n = nxi_rows(a);
  const bool schur = call->op == NXG_schur;
  nx_status status = nxi_lapack_ready(nxg_ops[call->op].name, d);
  if (status) return status;
  nxi_batch_work(work, n > 0 ? nxi_batches(a, 2) : 0, (schur ? 25 : 10.0 / 3) * n * n * n,
                 2 * n * n);
  const double lengths[] = {nxi_columns_room(n, n),
                            n > 0 ? query(call->op, a->dtype, nxi_rows(a)) + 1 : 1,
                            schur ? nxi_columns_room(n, n) : 1, schur ? 2 * n : n, n};
  return nxi_work_state(call, work, a->dtype, lengths, 5, d);
}

/* ---- the calls */

static nx_status one_sytrd(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const nxg_array *a = &call->operands[0];
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *work = nxi_work_array(part, WORK, &lwork);
  nxi_take_columns(part, 0, index, matrix);
  sytrd(a->dtype, call->attrs[0] != 0, nxi_rows(a), matrix,
        nxi_item(&call->results[1], part->results[1], 1, index),
        nxi_item(&call->results[2], part->results[2], 1, index),
        nxi_item(&call->results[3], part->results[3], 1, index), work, lwork);
  nxi_give_columns(part, 0, index, matrix);
  return NX_OK;
}

static nx_status one_gehrd(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0], *taus = &part->call->results[1];
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *work = nxi_work_array(part, WORK, &lwork);
  nxi_take_columns(part, 0, index, matrix);
  gehrd(a->dtype, nxi_rows(a), matrix, nxi_item(taus, part->results[1], 1, index), work, lwork);
  nxi_give_columns(part, 0, index, matrix);
  return NX_OK;
}

static nx_status one_schur(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0];
  const int n = nxi_rows(a);
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *vectors = nxi_work_array(part, OTHER, NULL),
       *work = nxi_work_array(part, WORK, &lwork);
  if (!nxi_all_finite(a->dtype, (int64_t)n * n, nxi_item(a, part->operands[0], 2, index)))
    return NX_NO_CONVERGENCE;
  nxi_take_columns(part, 0, index, matrix);
  if (nxi_gees(a->dtype, n, matrix, nxi_work_array(part, VALUES, NULL), vectors, work, lwork,
               nxi_work_array(part, REAL, NULL)) != 0)
    return NX_NO_CONVERGENCE;
  nxi_give_columns(part, 0, index, matrix);
  nxi_give_columns(part, 1, index, vectors);
  return NX_OK;
}

static nx_status run(nxg_call_part *part) {
  switch (part->call->op) {
    case NXG_sytrd: return nxi_each_item(part, one_sytrd);
    case NXG_gehrd: return nxi_each_item(part, one_gehrd);
    default: return nxi_each_item(part, one_schur);
  }
}

const nxg_functions nxi_form_functions = {prepare, run, nxi_work_release};
