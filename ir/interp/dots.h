/* SPDX-License-Identifier: ISC */
/* Sums of products of floats, in the order of a reduction over the last axis (interp_reduce.c):
 * products of a matrix with a vector, which programs of one row at a time are made of. */
#ifndef NXG_INTERP_DOTS_H
#define NXG_INTERP_DOTS_H

#include <stdint.h>

#include "ir/dtype.h"

/* Sums that are computed beside each other, and the most products of each of them. */
enum { NXG_DOT_COLUMNS = 32, NXG_DOT_MOST = 1 << 16 };

typedef struct nxg_dots {
  /* The sum of x[k] * y[k], n > 0; both dense. */
  void (*one)(const void *x, const void *y, int64_t n, void *result);
  /* NXG_DOT_COLUMNS sums of x[k] * row[k][j], 0 < n <= NXG_DOT_MOST; rows lie row_bytes apart, and
   * their elements beside each other. */
  void (*many)(const void *x, const void *rows, int64_t row_bytes, int64_t n, void *result);
} nxg_dots;

/* Of f32 and f64; NULL of other types. avx2, avx512: on x86-64 alone. */
const nxg_dots *nxg_dots_generic(nx_dtype t);
const nxg_dots *nxg_dots_avx2(nx_dtype t);
const nxg_dots *nxg_dots_avx512(nx_dtype t);
const nxg_dots *nxg_dots_host(nx_dtype t); /* the best that this processor has */

#endif
