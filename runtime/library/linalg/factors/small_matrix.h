/* SPDX-License-Identifier: ISC */
/* Factors of matrices so small that calling a library takes longer than the arithmetic: f32 and
 * f64, in C order, in place. The order of operations depends on the size only. */
#ifndef NXI_SMALL_MATRIX_H
#define NXI_SMALL_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/dtype.h"

enum {
  NXI_SMALL_MATRIX = 16
}; /* above, OpenBLAS is as fast or faster (n = 32: 4.2 and 2.2 us either way) */
/* Whether n x n matrices of this dtype are factored by these functions. */
static inline bool nxi_is_small_matrix(nx_dtype t, int64_t n) {
  return n <= NXI_SMALL_MATRIX && (t == NX_F32 || t == NX_F64);
}

/* The lower triangle becomes L; the other one is not touched. 0, or the number, counted from 1, of
 * the first pivot that is not positive. */
int nxi_small_cholesky(nx_dtype t, int n, void *a);
/* P A = L U, rows exchanged: pivots[i] >= i is the row that was exchanged with row i, counted from
 * 0. False if a pivot is zero; the factors are there all the same. */
bool nxi_small_lu(nx_dtype t, int n, void *a, int *pivots);
/* b (n x columns) becomes x with A x = b. */
void nxi_small_solve(nx_dtype t, int n, int columns, const void *lu, const int *pivots, void *b);

/* A triangular matrix, or its transpose. */
typedef struct nxi_small_triangle {
  const void *a;
  int n;
  bool upper, turned, unit;
} nxi_small_triangle;
/* b (n x columns, ld elements from row to row) becomes x with A x = b. */
void nxi_small_triangular(nx_dtype type, const nxi_small_triangle *t, int columns, void *b,
                          int64_t ld);

#endif
