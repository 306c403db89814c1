/* SPDX-License-Identifier: ISC */
/* What rows compute. */
#include "expressions.h"

nx_tensor *bench_replace(const bench_lab *lab, nx_tensor *old, nx_tensor *next) {
  bench_check(nx_realize(lab->context, &next, 1, NULL));
  nx_tensor_release(old);
  return next;
}

nx_tensor_info bench_info(const nx_tensor *x) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  return info;
}
nx_tensor *bench_number(const bench_lab *lab, const nx_tensor *x, double value) {
  return nx_full(lab->context, lab->device, bench_info(x).dtype, NULL, 0, NX_NUMBER(value));
}

nx_tensor *bench_polynomial(const bench_lab *lab, nx_tensor **x) {
  return nx_sub(
      nx_add(nx_mul(x[0], bench_number(lab, x[0], 2)), nx_mul(x[1], bench_number(lab, x[0], 3))),
      nx_mul(x[0], x[1]));
}
nx_tensor *bench_exponential(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_exp(x[0]);
}
nx_tensor *bench_tanh_of(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_tanh(nx_add(nx_mul(x[0], x[1]), x[2]));
}
nx_tensor *bench_gelu(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *e = nx_erf(nx_mul(x[0], bench_number(lab, x[0], 0.70710678118654752)));
  return nx_mul(nx_mul(x[0], bench_number(lab, x[0], 0.5)), nx_add(e, bench_number(lab, x[0], 1)));
}
nx_tensor *bench_each(nx_tensor *x, int32_t axis, int64_t start, int64_t step) {
  nx_range ranges[8];
  for (int32_t i = 0; i < axis; i++) ranges[i] = (nx_range){NX_OPEN, NX_OPEN, 1};
  ranges[axis] = (nx_range){start, NX_OPEN, step};
  return nx_get(x, ranges, (size_t)axis + 1);
}
nx_tensor *bench_transposed_view(nx_tensor *x) { return nx_permute(x, NX_AXES(1, 0)); }
nx_tensor *bench_softmax_of(nx_tensor *x) {
  nx_tensor *e = nx_exp(nx_sub(x, nx_reduce_max(x, NX_AXES(-1), NX_KEEPDIMS)));
  return nx_div(e, nx_reduce_sum(e, NX_AXES(-1), NX_KEEPDIMS));
}
nx_tensor *bench_softmax(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, bench_softmax_of(x[0]);
}
nx_tensor *bench_layer_norm(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *n = bench_number(lab, x[0], (double)bench_info(x[0]).shape[1]);
  nx_tensor *d = nx_sub(x[0], nx_div(nx_reduce_sum(x[0], NX_AXES(1), NX_KEEPDIMS), n));
  nx_tensor *v = nx_div(nx_reduce_sum(nx_mul(d, d), NX_AXES(1), NX_KEEPDIMS), n);
  return nx_div(d, nx_sqrt(nx_add(v, bench_number(lab, x[0], 1e-5))));
}
nx_tensor *bench_sum_0(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_sum(x[0], NX_AXES(0), 0);
}
nx_tensor *bench_sum_1(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_sum(x[0], NX_AXES(1), 0);
}
nx_tensor *bench_max_1(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_max(x[0], NX_AXES(1), 0);
}
nx_tensor *bench_argmax_1(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_argmax(x[0], 1, 0, NX_I32);
}
nx_tensor *bench_transposed(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_permute(x[0], NX_AXES(1, 0)));
}

nx_tensor *bench_cumsum_0(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_associative_scan(x[0], NX_SCAN_SUM, 0);
}
nx_tensor *bench_cumsum_1(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_associative_scan(x[0], NX_SCAN_SUM, 1);
}
nx_tensor *bench_cummax_0(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_associative_scan(x[0], NX_SCAN_MAX, 0);
}
nx_tensor *bench_cummax_1(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_associative_scan(x[0], NX_SCAN_MAX, 1);
}

/* Numbers of rows of a table, for each of its columns. */
static nx_tensor *row_numbers(const bench_lab *lab, const nx_tensor *table) {
  nx_tensor *key = nx_full(lab->context, lab->device, NX_U32, NX_SHAPE(2), NX_INTEGER(7));
  nx_tensor *at = nx_mul(nx_rand(key, NX_F32, NX_SHAPE(BENCH_TAKEN, 1)),
                         bench_number(lab, table, BENCH_TABLE - 1));
  return nx_expand(nx_cast(at, NX_I32), NX_SHAPE(BENCH_TAKEN, BENCH_WIDTH));
}
nx_tensor *bench_gather_rows(const bench_lab *lab, nx_tensor **x) {
  return nx_gather(x[0], row_numbers(lab, x[0]), 0);
}
nx_tensor *bench_scatter_rows(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *updates = nx_shrink(x[0], (int64_t[]){0, 0}, (int64_t[]){BENCH_TAKEN, BENCH_WIDTH}, 2);
  return nx_scatter(x[0], row_numbers(lab, x[0]), updates, 0, NX_SCATTER_ADD, 0);
}

/* 20 operations that no rewrite rule simplifies. */
nx_tensor *bench_chain(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *y = x[0], *half = bench_number(lab, x[0], 0.5), *tenth = bench_number(lab, x[0], 0.1);
  for (int i = 0; i < 5; i++) y = nx_add(nx_mul(nx_abs(nx_sub(y, half)), x[0]), tenth);
  return y;
}
nx_tensor *bench_rms_norm(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *n = bench_number(lab, x[0], (double)bench_info(x[0]).shape[1]);
  nx_tensor *s = nx_div(nx_reduce_sum(nx_mul(x[0], x[0]), NX_AXES(1), NX_KEEPDIMS), n);
  return nx_div(x[0], nx_sqrt(nx_add(s, bench_number(lab, x[0], 1e-5))));
}

/* ---- joined, rolled and padded arrays */

nx_tensor *bench_concat(const bench_lab *lab, nx_tensor **x) {
  return nx_mul(nx_cat(x, 4, 0), bench_number(lab, x[0], 2));
}
nx_tensor *bench_concat_inner(const bench_lab *lab, nx_tensor **x) {
  return nx_mul(nx_cat(x, 4, 1), bench_number(lab, x[0], 2));
}

nx_tensor *bench_range(nx_tensor *x, int32_t axis, int64_t start, int64_t count) {
  const nx_tensor_info info = bench_info(x);
  int64_t from[8] = {0}, to[8];
  for (int32_t i = 0; i < info.rank; i++) to[i] = info.shape[i];
  from[axis] = start;
  to[axis] = start + count;
  return nx_shrink(x, from, to, info.rank);
}

static nx_tensor *rolled(nx_tensor *x, int32_t axis, int64_t by) {
  int64_t n = bench_info(x).shape[axis], cut = by > 0 ? n - by : -by;
  if (by == 0) return x;
  nx_tensor *pieces[] = {bench_range(x, axis, cut, n - cut), bench_range(x, axis, 0, cut)};
  return nx_cat(pieces, 2, axis);
}

nx_tensor *bench_roll_add(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_add(x[0], rolled(x[0], 0, 1));
}
nx_tensor *bench_stack_mean(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *rows[4];
  int64_t n = bench_info(x[0]).shape[0];
  for (int i = 0; i < 4; i++) rows[i] = nx_reshape(x[i], NX_SHAPE(1, n), 0);
  return nx_mul(nx_reduce_sum(nx_cat(rows, 4, 0), NX_AXES(0), 0), bench_number(lab, x[0], 0.25));
}
nx_tensor *bench_neighbours(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *sum = NULL;
  (void)lab;
  for (int64_t i = -1; i <= 1; i++)
    for (int64_t j = -1; j <= 1; j++) {
      if (i == 0 && j == 0) continue;
      nx_tensor *y = rolled(rolled(x[0], 0, i), 1, j);
      sum = sum == NULL ? y : nx_add(sum, y);
    }
  return sum;
}
nx_tensor *bench_stencil_1(const bench_lab *lab, nx_tensor **x) {
  const int64_t n = bench_info(x[0]).shape[0], one[] = {1};
  nx_tensor *p = nx_pad(x[0], one, one, sizeof one / sizeof *one, NX_NUMBER(0));
  nx_tensor *sides = nx_add(bench_range(p, 0, 0, n), bench_range(p, 0, 2, n));
  return nx_sub(sides, nx_mul(x[0], bench_number(lab, x[0], 2)));
}
nx_tensor *bench_stencil_2(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info info = bench_info(x[0]);
  const int64_t one[] = {1, 1};
  nx_tensor *p = nx_pad(x[0], one, one, sizeof one / sizeof *one, NX_NUMBER(0)), *sum = NULL;
  for (int64_t i = 0; i < 3; i++)
    for (int64_t j = 0; j < 3; j++) {
      nx_tensor *y = bench_range(bench_range(p, 0, i, info.shape[0]), 1, j, info.shape[1]);
      sum = sum == NULL ? y : nx_add(sum, y);
    }
  return nx_mul(sum, bench_number(lab, x[0], 1.0 / 9));
}
