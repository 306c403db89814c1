/* SPDX-License-Identifier: ISC */
/* Reductions of floats across rows, in plain order (interp_reduce.c): columns that lie beside each
 * other are reduced at once. */
#ifndef NXG_INTERP_BESIDE_H
#define NXG_INTERP_BESIDE_H

#include <stdint.h>

#include "ir/op.h"

/* Columns that are reduced at once, the most rows, and what pays. */
enum { NXG_BESIDE = 64, NXG_BESIDE_MOST = 1 << 16, NXG_BESIDE_LEAST = 4 };

/* result[j] = row[0][j] .. row[n - 1][j] for 0 < width <= NXG_BESIDE columns and 0 < n <=
 * NXG_BESIDE_MOST rows, which lie row_bytes apart, their elements beside each other. */
typedef void nxg_beside(const void *rows, int64_t row_bytes, int64_t n, int width, void *result);

/* Of sums, products, maxima and minima of f32 and f64; else NULL. avx2, avx512: on x86-64 alone. */
nxg_beside *nxg_besides_generic(nxk_reduce_kind kind, nx_dtype t);
nxg_beside *nxg_besides_avx2(nxk_reduce_kind kind, nx_dtype t);
nxg_beside *nxg_besides_avx512(nxk_reduce_kind kind, nx_dtype t);
nxg_beside *nxg_besides_host(nxk_reduce_kind kind, nx_dtype t); /* the best of this processor */

#endif
