/* SPDX-License-Identifier: ISC */
/* Shared by the stages of eigenvalues and singular values: the layout of their arrays, and scaling
 * by a power of two. Matrices are scaled if the squares of their elements would overflow or
 * underflow. */
#ifndef NXI_RESCALE_H
#define NXI_RESCALE_H

#include "lapack.h"
#include "runtime/library/stages.h"

typedef struct nxi_layout {
  int64_t at; /* bytes from the start of the matrix's memory */
} nxi_layout;

static inline int64_t nxi_layout_bytes(nx_dtype t, int64_t rows, int64_t columns) {
  return (rows * columns * nxi_dtype_size(t) + 63) & ~(int64_t)63;
}
/* Adds an array of n elements to a layout. */
static inline void nxi_lay_out(nxi_layout *array, int64_t *all, nx_dtype t, int64_t n) {
  array->at = *all;
  *all += nxi_layout_bytes(t, n, 1);
}

/* Of an array its first n elements. */
static inline nxi_stage_piece nxi_piece_of(const nxi_layout *array, nx_dtype t, int64_t n) {
  return (nxi_stage_piece){array->at, n * nxi_dtype_size(t)};
}

/* The largest magnitude of a real or imaginary part. */
double nxi_largest(nx_dtype t, int64_t n, const void *a);
/* The exponent of the power of two that scales such a largest part to about 1; 0 if no scaling is
 * needed. */
int nxi_scale_for(nx_dtype t, double largest);
void nxi_scale(nx_dtype t, int64_t n, void *a, int power);
/* f32 or f64 to f64; f32 or f64 to the dtype of that precision, which may be complex. */
void nxi_widen_values(nx_dtype real, int64_t n, const void *from, double *to);
void nxi_copy_real(nx_dtype t, int64_t n, const void *from, void *to);

#endif
