/* SPDX-License-Identifier: ISC */
/* What the types of linear algebra share: matrices are in the last two dimensions, all others are
 * the batch. */
#ifndef NXG_LIBRARY_MATRICES_H
#define NXG_LIBRARY_MATRICES_H

#include "library_types.h"

/* NX_INVALID_ARGUMENT: "operand 0 of shape [..] <why>". */
nx_status nxg_fail_matrix(const nxg_call *call, int32_t operand, const char *why, nxi_diag *d);
/* Whether the operand is a matrix, square if asked, of a size that LAPACK takes. */
nx_status nxg_check_matrix(const nxg_call *call, int32_t operand, bool square, nxi_diag *d);
/* The same of operand 0, whose dtype LAPACK must have, and whether all attributes are 0 or 1. */
nx_status nxg_check_linalg(const nxg_call *call, bool square, nxi_diag *d);
/* Whether the operand has the leading extents of operand 0, and then `rank` dimensions. */
nx_status nxg_check_batch(const nxg_call *call, int32_t operand, int32_t rank, nxi_diag *d);
/* A result with the batch of operand 0, and then `rank` dimensions: (rows, columns), (rows), (). */
void nxg_set_matrix(nxg_call *call, uint32_t result, nx_dtype t, int32_t rank, int64_t rows,
                    int64_t columns);

static inline int64_t nxg_matrix_rows(const nxg_array *a) { return a->shape[a->rank - 2]; }
static inline int64_t nxg_matrix_columns(const nxg_array *a) { return a->shape[a->rank - 1]; }
static inline int64_t nxg_matrix_least(const nxg_array *a) {
  const int64_t m = nxg_matrix_rows(a), n = nxg_matrix_columns(a);
  return m < n ? m : n;
}

#endif
