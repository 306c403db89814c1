/* SPDX-License-Identifier: ISC */
/* LU factors of rows of f32 or f64 on the calling thread, by loops of our own: A P = L U with
 * exchanged columns, U with ones on its diagonal. Of a matrix that is stored by columns these are
 * the factors of LAPACK, with exchanged rows and ones in L. */
#ifndef NXI_FLOATS_ELIMINATION_H
#define NXI_FLOATS_ELIMINATION_H

#include "triangle.h"

enum { NXI_FLOATS_FACTORED = 256 }; /* most rows */

/* Row-major, in place: rows of L and U. */
typedef struct nxi_floats_rows {
  int64_t rows, columns; /* NXI_FLOATS_FACTORED rows at most, and as many columns at least */
  void *a;
  int64_t ld;
} nxi_floats_rows;

/* Factors them. pivots[k] >= k, from 0: the column that was exchanged with column k. A zero pivot
 * is left as it is. Bits depend on the numbers alone. */
void nxi_floats_factor(const nxi_floats_kernels *f, const nxi_floats_rows *r, int32_t *pivots);

/* Brings rows below, of as many columns, which have been exchanged, up to date: their part of L is
 * written, and the product of it and U subtracted from what is right of it. */
void nxi_floats_reduce(const nxi_floats_kernels *f, const nxi_floats_rows *r, int64_t count,
                       void *below);

#endif
