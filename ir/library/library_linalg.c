/* SPDX-License-Identifier: ISC */
/* Types of linear algebra: matrices in the last two dimensions, all others are the batch. */
#include <string.h>

#include "library_matrices.h"

static const char *name_of(const nxg_call *call) { return nxg_ops[call->op].name; }

nx_status nxg_fail_matrix(const nxg_call *call, int32_t operand, const char *why, nxi_diag *d) {
  const nxg_array *a = &call->operands[operand];
  char shape[NXG_SHAPE_TEXT];
  nxi_fail(d, NX_INVALID_ARGUMENT, name_of(call), "%s: operand %d of shape %s %s", name_of(call),
           operand, nxg_format_shape(shape, a->rank, a->shape), why);
  if (d && d->operand < 0) d->operand = operand;
  return NX_INVALID_ARGUMENT;
}

/* LAPACK has f32, f64, c64 and c128; smaller floats are cast to f32 when the operation is
 * recorded. */
static nx_status check_dtype(const nxg_call *call, nxi_diag *d) {
  nx_dtype t = call->operands[0].dtype;
  if (t == NX_F32 || t == NX_F64 || t == NX_C64 || t == NX_C128) return NX_OK;
  nxi_fail(d, NX_UNSUPPORTED_DTYPE, name_of(call), "%s: it takes f32, f64, c64 and c128, not %s",
           name_of(call), nxi_dtypes[t].name);
  if (d && d->operand < 0) d->operand = 0;
  return NX_UNSUPPORTED_DTYPE;
}

/* Sizes must fit LAPACK's 32-bit integers, work arrays of a few times n*n elements included. */
nx_status nxg_check_matrix(const nxg_call *call, int32_t operand, bool square, nxi_diag *d) {
  const nxg_array *a = &call->operands[operand];
  if (a->rank < 2) return nxg_fail_matrix(call, operand, "is no matrix", d);
  int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
  if (square && m != n) return nxg_fail_matrix(call, operand, "is not square", d);
  if (m > INT32_MAX || n > INT32_MAX)
    return nxg_fail_matrix(call, operand, "is larger than LAPACK can take", d);
  return NX_OK;
}

static nx_status check_flags(const nxg_call *call, nxi_diag *d) {
  for (uint32_t i = 0; i < call->n_attrs; i++) {
    size_t length;
    const char *key = nxg_call_key(call->op, i, &length);
    if (call->op == NXG_banded_solve && i < 2) continue; /* numbers of diagonals */
    if (call->attrs[i] != 0 && call->attrs[i] != 1)
      return nxi_fail(d, NX_INVALID_ARGUMENT, name_of(call),
                      "%s: its attribute %.*s is %lld, neither 0 nor 1", name_of(call), (int)length,
                      key, (long long)call->attrs[i]);
  }
  return NX_OK;
}

nx_status nxg_check_linalg(const nxg_call *call, bool square, nxi_diag *d) {
  nx_status status = check_dtype(call, d);
  if (!status) status = check_flags(call, d);
  return status ? status : nxg_check_matrix(call, 0, square, d);
}

/* The last dimensions of a result, after the batch of operand 0. */
void nxg_set_matrix(nxg_call *call, uint32_t result, nx_dtype t, int32_t rank, int64_t rows,
                    int64_t columns) {
  nxg_array *r = &call->results[result];
  *r = call->operands[0];
  r->dtype = t;
  r->rank += rank - 2;
  if (rank == 2) r->shape[r->rank - 2] = rows;
  if (rank > 0) r->shape[r->rank - 1] = rank == 2 ? columns : rows;
}

nx_status nxg_types_cholesky(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, true, d);
  if (!status) call->results[0] = call->operands[0];
  return status;
}

nx_status nxg_types_inv(nxg_call *call, nxi_diag *d) { return nxg_types_cholesky(call, d); }

/* And a number for each matrix. */
nx_status nxg_types_cholesky_info(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_types_cholesky(call, d);
  if (!status) nxg_set_matrix(call, 1, NX_I32, 0, 0, 0);
  return status;
}
nx_status nxg_types_inv_info(nxg_call *call, nxi_diag *d) {
  return nxg_types_cholesky_info(call, d);
}

nx_status nxg_types_qr(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, false, d);
  if (status) return status;
  const nxg_array *a = &call->operands[0];
  int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1], inner = m < n ? m : n;
  if (!call->attrs[0]) inner = m;
  nxg_set_matrix(call, 0, a->dtype, 2, m, inner);
  nxg_set_matrix(call, 1, a->dtype, 2, inner, n);
  return NX_OK;
}

nx_status nxg_types_svd(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, false, d);
  if (status) return status;
  const nxg_array *a = &call->operands[0];
  int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1], inner = m < n ? m : n;
  bool full = call->attrs[0];
  nxg_set_matrix(call, 0, a->dtype, 2, m, full ? m : inner);
  nxg_set_matrix(call, 1, NX_F64, 1, inner, 0);
  nxg_set_matrix(call, 2, a->dtype, 2, full ? n : inner, n);
  return NX_OK;
}

/* The results of an eigenvalue problem: values, and vectors if the operation has them. */
static nx_status eigen(nxg_call *call, nx_dtype values, nx_dtype vectors, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, true, d);
  if (status) return status;
  int64_t n = call->operands[0].shape[call->operands[0].rank - 1];
  nxg_set_matrix(call, 0, values, 1, n, 0);
  if (call->n_results > 1) nxg_set_matrix(call, 1, vectors, 2, n, n);
  return NX_OK;
}

nx_status nxg_types_eigh(nxg_call *call, nxi_diag *d) {
  return eigen(call, NX_F64, call->operands[0].dtype, d);
}
nx_status nxg_types_eigvalsh(nxg_call *call, nxi_diag *d) {
  return eigen(call, NX_F64, call->operands[0].dtype, d);
}

/* The result is c128, because it is computed in f64 and c128 only. */
nx_status nxg_types_eig(nxg_call *call, nxi_diag *d) {
  nx_dtype t = call->operands[0].dtype;
  if (t == NX_F64 || t == NX_C128) return eigen(call, NX_C128, NX_C128, d);
  nxi_fail(d, NX_UNSUPPORTED_DTYPE, name_of(call), "%s: it takes f64 and c128, not %s",
           name_of(call), nxi_dtypes[t].name);
  if (d && d->operand < 0) d->operand = 0;
  return NX_UNSUPPORTED_DTYPE;
}
/* The vectors of the left, too: each result but the values is (n, n). */
nx_status nxg_types_eig_left(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_types_eig(call, d);
  if (!status) call->results[2] = call->results[1];
  return status;
}
nx_status nxg_types_eigvals(nxg_call *call, nxi_diag *d) { return nxg_types_eig(call, d); }

/* A x = b, both with the same batch. */
static nx_status solve(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, true, d);
  if (!status) status = nxg_check_matrix(call, 1, false, d);
  if (status) return status;
  const nxg_array *a = &call->operands[0], *b = &call->operands[1];
  if (a->rank != b->rank || memcmp(a->shape, b->shape, (size_t)(a->rank - 1) * sizeof *a->shape))
    return nxg_fail_matrix(call, 1, "has not the leading extents and the rows of operand 0", d);
  call->results[0] = *b;
  return NX_OK;
}

nx_status nxg_types_triangular_solve(nxg_call *call, nxi_diag *d) { return solve(call, d); }
nx_status nxg_types_solve(nxg_call *call, nxi_diag *d) { return solve(call, d); }

nx_status nxg_types_det(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, true, d);
  if (!status) nxg_set_matrix(call, 0, call->operands[0].dtype, 0, 0, 0);
  return status;
}

nx_status nxg_types_slogdet(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_types_det(call, d);
  nx_dtype t = call->operands[0].dtype;
  if (!status) nxg_set_matrix(call, 1, t == NX_C64 ? NX_F32 : t == NX_C128 ? NX_F64 : t, 0, 0, 0);
  return status;
}
