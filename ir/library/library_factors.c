/* SPDX-License-Identifier: ISC */
/* Types of factors in LAPACK's packed forms, and of products with reflections. */
#include <string.h>

#include "library_matrices.h"

nx_status nxg_check_batch(const nxg_call *call, int32_t operand, int32_t rank, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *b = &call->operands[operand];
  const int32_t batch = a->rank - 2;
  if (b->rank != batch + rank || memcmp(a->shape, b->shape, (size_t)batch * sizeof *a->shape))
    return nxg_fail_matrix(call, operand, "has not the leading extents of operand 0, or their rank",
                           d);
  return rank == 2 ? nxg_check_matrix(call, operand, false, d) : NX_OK;
}

/* lu (m, n), pivots (k), permutation (m), info (). */
nx_status nxg_types_lu(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  nx_status status = nxg_check_linalg(call, false, d);
  if (status) return status;
  nxg_set_matrix(call, 0, a->dtype, 2, nxg_matrix_rows(a), nxg_matrix_columns(a));
  nxg_set_matrix(call, 1, NX_I32, 1, nxg_matrix_least(a), 0);
  nxg_set_matrix(call, 2, NX_I32, 1, nxg_matrix_rows(a), 0);
  nxg_set_matrix(call, 3, NX_I32, 0, 0, 0);
  return NX_OK;
}

/* packed (m, n), tau (k). */
nx_status nxg_types_geqrf(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  nx_status status = nxg_check_linalg(call, false, d);
  if (status) return status;
  nxg_set_matrix(call, 0, a->dtype, 2, nxg_matrix_rows(a), nxg_matrix_columns(a));
  nxg_set_matrix(call, 1, a->dtype, 1, nxg_matrix_least(a), 0);
  return NX_OK;
}

/* And a permutation of the columns (n). */
nx_status nxg_types_geqp3(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_types_geqrf(call, d);
  if (!status) nxg_set_matrix(call, 2, NX_I32, 1, nxg_matrix_columns(&call->operands[0]), 0);
  return status;
}

/* Reflections: operand 0 holds their vectors in its columns, operand 1 their factors. */
static nx_status check_reflections(const nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_check_linalg(call, false, d);
  if (!status) status = nxg_check_batch(call, 1, 1, d);
  if (status) return status;
  const nxg_array *tau = &call->operands[1];
  if (tau->shape[tau->rank - 1] > nxg_matrix_least(&call->operands[0]))
    return nxg_fail_matrix(call, 1, "has more reflections than operand 0 has rows or columns", d);
  return NX_OK;
}

nx_status nxg_types_householder_product(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  nx_status status = check_reflections(call, d);
  if (!status && nxg_matrix_columns(a) > nxg_matrix_rows(a))
    return nxg_fail_matrix(call, 0, "has more columns than rows", d);
  if (!status) call->results[0] = *a;
  return status;
}

enum { FROM_RIGHT = 1 }; /* attribute of ormqr */

nx_status nxg_types_ormqr(nxg_call *call, nxi_diag *d) {
  nx_status status = check_reflections(call, d);
  if (!status) status = nxg_check_batch(call, 2, 2, d);
  if (status) return status;
  const nxg_array *a = &call->operands[0], *c = &call->operands[2];
  const bool right = call->attrs[FROM_RIGHT];
  if (nxg_matrix_rows(a) != (right ? nxg_matrix_columns(c) : nxg_matrix_rows(c)))
    return nxg_fail_matrix(
        call, 2, right ? "has not a column a row of operand 0" : "has not the rows of operand 0",
        d);
  call->results[0] = *c;
  return NX_OK;
}

/* ---- bands, updates, other forms */

enum { BEFORE, AFTER }; /* attributes of banded_solve: diagonals below the main one, and above */

nx_status nxg_types_banded_solve(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *b = &call->operands[1];
  const int64_t below = call->attrs[BEFORE], above = call->attrs[AFTER];
  nx_status status = nxg_check_linalg(call, false, d);
  if (!status) status = nxg_check_batch(call, 1, 2, d);
  if (status) return status;
  if (below < 0 || above < 0 || below > INT32_MAX / 4 || above > INT32_MAX / 4)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "banded_solve",
                    "banded_solve: %lld diagonals below the main one and %lld above it",
                    (long long)below, (long long)above);
  if (nxg_matrix_rows(a) != below + above + 1)
    return nxg_fail_matrix(call, 0, "has not a row a diagonal", d);
  if (nxg_matrix_rows(b) != nxg_matrix_columns(a))
    return nxg_fail_matrix(call, 1, "has not a row a column of operand 0", d);
  call->results[0] = *b;
  return NX_OK;
}

nx_status nxg_types_cholesky_update(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *w = &call->operands[1];
  nx_status status = nxg_check_linalg(call, true, d);
  if (!status) status = nxg_check_batch(call, 1, 1, d);
  if (status) return status;
  if (w->shape[w->rank - 1] != nxg_matrix_rows(a))
    return nxg_fail_matrix(call, 1, "has not an element a row of operand 0", d);
  call->results[0] = *a;
  return NX_OK;
}

/* packed (n, n), tau (n - 1, or 0). */
nx_status nxg_types_gehrd(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  nx_status status = nxg_check_linalg(call, true, d);
  if (status) return status;
  const int64_t n = nxg_matrix_rows(a);
  nxg_set_matrix(call, 0, a->dtype, 2, n, n);
  nxg_set_matrix(call, 1, a->dtype, 1, n > 0 ? n - 1 : 0, 0);
  return NX_OK;
}

/* packed (n, n), the diagonal (n), the one beside it and tau (n - 1, or 0). */
nx_status nxg_types_sytrd(nxg_call *call, nxi_diag *d) {
  const nx_dtype t = call->operands[0].dtype;
  nx_status status = nxg_types_gehrd(call, d);
  if (status) return status;
  call->results[3] = call->results[2] = call->results[1];
  call->results[2].dtype = nxi_part_dtype(t);
  nxg_set_matrix(call, 1, nxi_part_dtype(t), 1, nxg_matrix_rows(&call->operands[0]), 0);
  return NX_OK;
}

nx_status nxg_types_schur(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  nx_status status = nxg_check_linalg(call, true, d);
  if (!status) call->results[0] = call->results[1] = *a;
  return status;
}

/* ---- functions of matrices */

nx_status nxg_types_expm(nxg_call *call, nxi_diag *d) { return nxg_types_cholesky(call, d); }
nx_status nxg_types_sqrtm(nxg_call *call, nxi_diag *d) { return nxg_types_cholesky(call, d); }
nx_status nxg_types_logm(nxg_call *call, nxi_diag *d) { return nxg_types_cholesky(call, d); }
