/* SPDX-License-Identifier: ISC */
/* Products of matrices and vectors of f32 or f64, and reflections, for reductions to condensed
 * forms: matrices are stored by columns, sizes are in elements, and the work is done on the calling
 * thread, at once, between nxi_lapack_enter and nxi_lapack_leave. */
#ifndef NXI_LEVEL2_H
#define NXI_LEVEL2_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_vector {
  void *at;
  int step;
} nxi_vector;

/* y = alpha op(a) x + beta y; alpha is 1 or -1, beta 1 or 0, and then y is written only. a: m x n;
 * nothing is done if one of them is 0. op: "N" or "T". */
void nxi_multiply_vector(nx_dtype t, const char *op, int m, int n, int alpha, const void *a, int ld,
                         nxi_vector x, int beta, nxi_vector y);
/* y += a x, of the symmetric n x n matrix of which a has the upper triangle. */
void nxi_multiply_symmetric(nx_dtype t, int n, const void *a, int ld, nxi_vector x, nxi_vector y);
/* The reflection that leaves of n elements, which are one and n - 1 others, only the first; the
 * others become those of its vector, which begins with 1. */
void nxi_reflection(nx_dtype t, int n, void *first, nxi_vector others, void *tau);
/* x = by x, of n elements beside each other. */
void nxi_scale_vector(nx_dtype t, int n, const void *by, void *x);

#endif
