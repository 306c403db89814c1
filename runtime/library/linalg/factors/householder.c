/* SPDX-License-Identifier: ISC */
/* geqrf, geqp3, householder_product and ormqr: Q R factors in packed form, and products with the
 * reflections of that form. Matrices are copied by columns, and results back. Reflections cannot
 * fail; what is not finite spreads. */
#include <string.h>

#include "runtime/library/linalg/columns.h"

typedef void (*geqrf_fn)(const int *m, const int *n, void *a, const int *lda, void *tau, void *work,
                         const int *lwork, int *info);
typedef void (*real_geqp3_fn)(const int *m, const int *n, void *a, const int *lda, int *columns,
                              void *tau, void *work, const int *lwork, int *info);
typedef void (*complex_geqp3_fn)(const int *m, const int *n, void *a, const int *lda, int *columns,
                                 void *tau, void *work, const int *lwork, void *rwork, int *info);
typedef void (*orgqr_fn)(const int *m, const int *n, const int *k, void *a, const int *lda,
                         const void *tau, void *work, const int *lwork, int *info);
typedef void (*ormqr_fn)(const char *side, const char *trans, const int *m, const int *n,
                         const int *k, const void *a, const int *lda, const void *tau, void *c,
                         const int *ldc, void *work, const int *lwork, int *info, size_t, size_t);

enum { MATRIX, WORK, OTHER }; /* OTHER: real work memory of geqp3, the other matrix of ormqr */
enum { TRANSPOSE, FROM_RIGHT };

/* ---- the routines; lwork -1 asks for its length */

static void geqrf(nx_dtype t, int m, int n, void *a, void *tau, void *work, int lwork) {
  int info = 0, ld = nxi_ld(m);
  ((geqrf_fn)nxi_lapack(NXI_LAPACK_geqrf, t))(&m, &n, a, &ld, tau, work, &lwork, &info);
}

static void geqp3(nx_dtype t, int m, int n, void *a, int *columns, void *tau, void *work, int lwork,
                  void *rwork) {
  const nxi_lapack_fn f = nxi_lapack(NXI_LAPACK_geqp3, t);
  int info = 0, ld = nxi_ld(m);
  if (nxi_lapack_complex(t))
    ((complex_geqp3_fn)f)(&m, &n, a, &ld, columns, tau, work, &lwork, rwork, &info);
  else ((real_geqp3_fn)f)(&m, &n, a, &ld, columns, tau, work, &lwork, &info);
}

static void orgqr(nx_dtype t, int m, int n, int k, void *a, const void *tau, void *work,
                  int lwork) {
  int info = 0, ld = nxi_ld(m);
  ((orgqr_fn)nxi_lapack(NXI_LAPACK_orgqr, t))(&m, &n, &k, a, &ld, tau, work, &lwork, &info);
}

typedef struct product {
  nx_dtype t;
  bool right, adjoint;
  int m, n, k, rows; /* C is m x n; the vectors have `rows` elements */
} product;

static product product_of(const nxg_call *call) {
  const nxg_array *a = &call->operands[0], *tau = &call->operands[1], *c = &call->operands[2];
  return (product){.t = a->dtype,
                   .right = call->attrs[FROM_RIGHT] != 0,
                   .adjoint = call->attrs[TRANSPOSE] != 0,
                   .m = nxi_rows(c),
                   .n = nxi_columns(c),
                   .k = nxi_columns(tau),
                   .rows = nxi_rows(a)};
}

static void ormqr(const product *p, const void *a, const void *tau, void *c, void *work,
                  int lwork) {
  const char *side = p->right ? "R" : "L";
  const char *trans = !p->adjoint ? "N" : nxi_lapack_complex(p->t) ? "C" : "T";
  int info = 0, lda = nxi_ld(p->rows), ldc = nxi_ld(p->m);
  ((ormqr_fn)nxi_lapack(NXI_LAPACK_ormqr, p->t))(side, trans, &p->m, &p->n, &p->k, a, &lda, tau, c,
                                                 &ldc, work, &lwork, &info, 1, 1);
}

/* ---- preparation */

/* The length of the work array that the call's routine asks for. */
static double query(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  const int m = nxi_rows(a), n = nxi_columns(a);
  _Alignas(16) char first[16] = {0}, other[16] = {0};
  int columns = 0;
  product p;
  nxi_lapack_enter();
  switch (call->op) {
    case NXG_geqrf: geqrf(a->dtype, m, n, other, other, first, -1); break;
    case NXG_geqp3: geqp3(a->dtype, m, n, other, &columns, other, first, -1, other); break;
    case NXG_householder_product:
      orgqr(a->dtype, m, n, nxi_columns(&call->operands[1]), other, other, first, -1);
      break;
    default: p = product_of(call), ormqr(&p, other, other, other, first, -1);
  }
  nxi_lapack_leave();
  return nxi_work_length(a->dtype, first);
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *r = &call->results[0];
  const double m = nxi_rows(a), n = nxi_columns(a), rows = nxi_rows(r), columns = nxi_columns(r);
  const bool multiplies = call->op == NXG_ormqr, pivots = call->op == NXG_geqp3;
  nx_status status = nxi_lapack_ready(nxg_ops[call->op].name, d);
  if (status) return status;
  nxi_batch_work(work, nxi_batches(a, 2), 4 * rows * columns * (m < n ? m : n), m * n);
  const double lengths[] = {nxi_columns_room(m, n), query(call) + 1,
                            multiplies ? nxi_columns_room(rows, columns)
                            : pivots   ? 2 * n
                                       : 1};
  return nxi_work_state(call, work, a->dtype, lengths, 3, d);
}

/* ---- the calls */

static nx_status one_geqrf(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0], *taus = &part->call->results[1];
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *work = nxi_work_array(part, WORK, &lwork),
       *tau = nxi_item(taus, part->results[1], 1, index);
  if (nxi_least(nxi_rows(a), nxi_columns(a)) == 0) return NX_OK;
  nxi_take_columns(part, 0, index, matrix);
  nxi_lapack_enter();
  geqrf(a->dtype, nxi_rows(a), nxi_columns(a), matrix, tau, work, lwork);
  nxi_lapack_leave();
  nxi_give_columns(part, 0, index, matrix);
  return NX_OK;
}

static nx_status one_geqp3(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const nxg_array *a = &call->operands[0];
  const int m = nxi_rows(a), n = nxi_columns(a);
  int lwork, *columns = nxi_item(&call->results[2], part->results[2], 1, index);
  void *matrix = nxi_work_array(part, MATRIX, NULL), *work = nxi_work_array(part, WORK, &lwork),
       *tau = nxi_item(&call->results[1], part->results[1], 1, index);
  if (nxi_least(m, n) > 0) {
    nxi_take_columns(part, 0, index, matrix);
    memset(columns, 0, (size_t)n * sizeof *columns); /* all are free */
    nxi_lapack_enter();
    geqp3(a->dtype, m, n, matrix, columns, tau, work, lwork, nxi_work_array(part, OTHER, NULL));
    nxi_lapack_leave();
    nxi_give_columns(part, 0, index, matrix);
    for (int i = 0; i < n; i++) columns[i]--;
    return NX_OK;
  }
  for (int i = 0; i < n; i++) columns[i] = i;
  return NX_OK;
}

static nx_status one_product(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0], *taus = &part->call->operands[1];
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *work = nxi_work_array(part, WORK, &lwork);
  const void *tau = nxi_item(taus, part->operands[1], 1, index);
  if (nxi_columns(a) == 0) return NX_OK;
  nxi_take_columns(part, 0, index, matrix);
  nxi_lapack_enter();
  orgqr(a->dtype, nxi_rows(a), nxi_columns(a), nxi_columns(taus), matrix, tau, work, lwork);
  nxi_lapack_leave();
  nxi_give_columns(part, 0, index, matrix);
  return NX_OK;
}

static nx_status one_ormqr(const nxg_call_part *part, int64_t index) {
  const nxg_call *call = part->call;
  const product p = product_of(call);
  int lwork;
  void *matrix = nxi_work_array(part, MATRIX, NULL), *work = nxi_work_array(part, WORK, &lwork),
       *c = nxi_work_array(part, OTHER, NULL);
  const void *tau = nxi_item(&call->operands[1], part->operands[1], 1, index);
  if (p.m == 0 || p.n == 0) return NX_OK;
  nxi_take_columns(part, 0, index, matrix);
  nxi_take_columns(part, 2, index, c);
  nxi_lapack_enter();
  if (p.k > 0) ormqr(&p, matrix, tau, c, work, lwork);
  nxi_lapack_leave();
  nxi_give_columns(part, 0, index, c);
  return NX_OK;
}

static nx_status run(nxg_call_part *part) {
  switch (part->call->op) {
    case NXG_geqrf: return nxi_each_item(part, one_geqrf);
    case NXG_geqp3: return nxi_each_item(part, one_geqp3);
    case NXG_householder_product: return nxi_each_item(part, one_product);
    default: return nxi_each_item(part, one_ormqr);
  }
}

const nxg_functions nxi_householder_functions = {prepare, run, nxi_work_release};
