/* SPDX-License-Identifier: ISC */
/* Matrices of operands and results, which are in C order, as LAPACK has them: by columns. */
#ifndef NXI_COLUMNS_H
#define NXI_COLUMNS_H

#include "lapack.h"

/* The extents of the matrices of an array, as LAPACK counts. */
static inline int nxi_rows(const nxg_array *a) { return (int)a->shape[a->rank - 2]; }
static inline int nxi_columns(const nxg_array *a) { return (int)a->shape[a->rank - 1]; }
static inline int nxi_least(int m, int n) { return m < n ? m : n; }
static inline int nxi_ld(int rows) { return rows > 0 ? rows : 1; } /* as LAPACK wants it */

/* Writes matrix `index` of an operand by columns. */
void nxi_take_columns(const nxg_call_part *part, uint32_t operand, int64_t index, void *to);
/* Writes matrix `index` of a result, which is stored by columns at `from`. */
void nxi_give_columns(const nxg_call_part *part, uint32_t result, int64_t index, const void *from);
/* Elements of a matrix that a routine works on: a column more than it has, since matrix-vector
 * products of the library read (and do not use) what is beyond the last column. */
static inline double nxi_columns_room(double rows, double columns) {
  return rows * (columns + 1) + 1;
}

#endif
