/* SPDX-License-Identifier: ISC */
/* Whole runs of floats in lanes (interp_reduce.c), and rows of elementwise operations, whose
 * elements lie beside each other: rows of small arrays are too short to be looked at one by one. */
#ifndef NXG_INTERP_LANES_H
#define NXG_INTERP_LANES_H

#include "ir/op.h"

enum { NXG_RUN_LEAST = 16, NXG_RUN_MOST = 1 << 16 };

/* results[i] = the reduction of n elements that begin i * apart bytes from the first; NXG_RUN_LEAST
 * <= n <= NXG_RUN_MOST. */
typedef void nxg_runs(const void *first, int64_t apart, int64_t count, int64_t n, void *results);

/* Of sums, products, maxima and minima of f32 and f64; else NULL. On x86-64 alone. */
nxg_runs *nxg_runs_avx2(nxk_reduce_kind kind, nx_dtype t);
nxg_runs *nxg_runs_avx512(nxk_reduce_kind kind, nx_dtype t);
nxg_runs *nxg_runs_host(nxk_reduce_kind kind, nx_dtype t); /* NULL, too: this has no such */

/* results[i] = the sum of x[k] * rows[i][k], of f32 and f64; rows lie so many bytes apart. */
typedef void nxg_products(const void *x, const void *rows, int64_t apart, int64_t count, int64_t n,
                          void *results);
nxg_products *nxg_products_avx2(nx_dtype t);
nxg_products *nxg_products_avx512(nx_dtype t);
nxg_products *nxg_products_host(nx_dtype t);

/* An operation of two operands, row by row: n elements from `to` on, without a gap between rows, of
 * operands whose rows lie so many bytes apart. The result lies over none of them. */
typedef void nxg_row_map(void *to, const void *a, int64_t a_apart, const void *b, int64_t b_apart,
                         int64_t rows, int64_t n);

/* Which operands have an element for each row, instead of for each element. */
typedef enum nxg_single { NXG_NONE_SINGLE, NXG_FIRST_SINGLE, NXG_SECOND_SINGLE } nxg_single;

/* Of add, sub, mul, div, max and min of f32 and f64; else NULL. On x86-64 alone. */
nxg_row_map *nxg_row_maps_avx2(nxk_op op, nx_dtype t, nxg_single single);
nxg_row_map *nxg_row_maps_avx512(nxk_op op, nx_dtype t, nxg_single single);
nxg_row_map *nxg_row_maps_host(nxk_op op, nx_dtype t, nxg_single single);

#endif
