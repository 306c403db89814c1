/* SPDX-License-Identifier: ISC */
/* The expressions that the rows of several groups, or those of a GPU, share; recorded on the device
 * of the lab. */
#ifndef NX_BENCH_EXPRESSIONS_H
#define NX_BENCH_EXPRESSIONS_H

#include "bench.h"

/* Realises `next`, which is computed from `old`, and releases `old`. */
nx_tensor *bench_replace(const bench_lab *lab, nx_tensor *old, nx_tensor *next);

nx_tensor_info bench_info(const nx_tensor *x);
/* A number of the type of x. */
nx_tensor *bench_number(const bench_lab *lab, const nx_tensor *x, double value);
/* The elements from `start` on along an axis, `count` of them. */
nx_tensor *bench_range(nx_tensor *x, int32_t axis, int64_t start, int64_t count);
/* Each `step`-th element along an axis, from `start` on. */
nx_tensor *bench_each(nx_tensor *x, int32_t axis, int64_t start, int64_t step);
nx_tensor *bench_transposed_view(nx_tensor *x); /* of a matrix */
/* Of scores along the last axis. */
nx_tensor *bench_softmax_of(nx_tensor *x);

bench_expression bench_polynomial, bench_chain, bench_rms_norm, bench_exponential, bench_tanh_of,
    bench_gelu, bench_softmax, bench_layer_norm, bench_sum_0, bench_sum_1, bench_max_1,
    bench_argmax_1, bench_transposed, bench_cumsum_0, bench_cumsum_1, bench_cummax_0,
    bench_cummax_1, bench_gather_rows, bench_scatter_rows, bench_concat, bench_concat_inner,
    bench_roll_add, bench_stack_mean, bench_neighbours, bench_stencil_1, bench_stencil_2;

/* gather_rows and scatter_rows: BENCH_TAKEN of the BENCH_TABLE rows of a table, each BENCH_WIDTH
 * wide. */
enum { BENCH_TABLE = 50000, BENCH_TAKEN = 8192, BENCH_WIDTH = 512 };

#endif
