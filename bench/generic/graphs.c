/* SPDX-License-Identifier: ISC */
/* One line a graph: elementwise code, broadcasts, reductions, softmax and the like, transposes,
 * slices, joined arrays, scans, windows, and elements by number. */
#include "graphs.h"

#include "../expressions.h"

#define GRAPH(name, result) \
  static nx_tensor *name(const bench_lab *lab, nx_tensor **x) { return (void)lab, result; }

static nx_tensor *mean(const bench_lab *lab, nx_tensor *x, int axis) {
  nx_tensor *n = bench_number(lab, x, (double)nx_shape(x)[axis]);
  return nx_div(nx_reduce_sum(x, NX_AXES(axis), NX_KEEPDIMS), n);
}

/* ---- elementwise, and of rows and columns */

GRAPH(product_and_sum, nx_add(nx_mul(x[0], x[1]), x[0]))
GRAPH(tangent, nx_tanh(x[0]))
GRAPH(logarithm, nx_log(nx_abs(x[0])))
GRAPH(error_function, nx_erf(x[0]))
GRAPH(chosen, nx_where(nx_cmplt(x[0], x[1]), x[0], nx_mul(x[0], x[1])))
GRAPH(cast, nx_cast(x[0], nx_dtype_of(x[0]) == NX_F32 ? NX_BF16 : NX_F32))
GRAPH(sum_of_two, nx_add(x[0], x[1]))
GRAPH(outer_product, nx_mul(x[0], x[1]))

/* ---- reductions */

GRAPH(sum_all, nx_reduce_sum(x[0], NX_AXES(0, 1), 0))
GRAPH(max_0, nx_reduce_max(x[0], NX_AXES(0), 0))
GRAPH(dot_of_rows, nx_reduce_sum(nx_mul(x[0], x[1]), NX_AXES(1), 0))

/* The matrix as 8 x k x n, of whole rows. */
static nx_tensor *cube(nx_tensor *x) {
  const int64_t *shape = nx_shape(x), k = shape[0] / 8 > 0 ? shape[0] / 8 : 1,
                n = shape[0] < 8 ? 1 : 8;
  return nx_reshape(bench_range(x, 0, 0, n * k), NX_SHAPE(n, k, shape[1]), 0);
}
GRAPH(sum_middle, nx_reduce_sum(cube(x[0]), NX_AXES(1), 0))

static nx_tensor *variance(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *d = nx_sub(x[0], mean(lab, x[0], 1));
  return mean(lab, nx_mul(d, d), 1);
}
static nx_tensor *softmax_0(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *e = nx_exp(nx_sub(x[0], nx_reduce_max(x[0], NX_AXES(0), NX_KEEPDIMS)));
  return (void)lab, nx_div(e, nx_reduce_sum(e, NX_AXES(0), NX_KEEPDIMS));
}
static nx_tensor *layer_norm(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *d = nx_sub(x[0], mean(lab, x[0], 1)), *v = mean(lab, nx_mul(d, d), 1);
  return nx_div(d, nx_sqrt(nx_add(v, bench_number(lab, v, 1e-5))));
}
static nx_tensor *centred_columns(const bench_lab *lab, nx_tensor **x) {
  return nx_sub(x[0], mean(lab, x[0], 0));
}

/* ---- moves */

GRAPH(turned_021, nx_contiguous(nx_permute(cube(x[0]), NX_AXES(0, 2, 1))))
GRAPH(turned_102, nx_contiguous(nx_permute(cube(x[0]), NX_AXES(1, 0, 2))))
GRAPH(plus_turned, nx_add(x[0], bench_transposed_view(x[1])))
GRAPH(third_columns, nx_contiguous(bench_each(x[0], 1, 0, 3)))
GRAPH(second_rows, nx_contiguous(bench_each(x[0], 0, 0, 2)))
GRAPH(flipped_0, nx_contiguous(nx_flip(x[0], NX_AXES(0))))
GRAPH(flipped_1, nx_contiguous(nx_flip(x[0], NX_AXES(1))))
GRAPH(joined_0, nx_cat(x, 2, 0))
GRAPH(joined_1, nx_cat(x, 2, 1))

/* A part that is moved by up to one element along both axes, inside of a border of one. */
static nx_tensor *inside(nx_tensor *x, int64_t row, int64_t column) {
  const int64_t *shape = nx_shape(x);
  return bench_range(bench_range(x, 0, 1 + row, shape[0] - 2), 1, 1 + column, shape[1] - 2);
}
GRAPH(inside_of_border, nx_contiguous(inside(x[0], 0, 0)))

static nx_tensor *with_border(const bench_lab *lab, nx_tensor **x) {
  const int64_t one[] = {1, 1};
  const nx_scalar *zero = nx_dtype_of(x[0]) == NX_U8 ? NX_INTEGER(0) : NX_NUMBER(0);
  return (void)lab, nx_pad(x[0], one, one, sizeof one / sizeof *one, zero);
}
static nx_tensor *rolled_1(const bench_lab *lab, nx_tensor **x) {
  const int64_t n = nx_shape(x[0])[1];
  nx_tensor *parts[] = {bench_range(x[0], 1, n - 3, 3), bench_range(x[0], 1, 0, n - 3)};
  return (void)lab, nx_cat(parts, sizeof parts / sizeof *parts, 1);
}

/* ---- windows, and elements by number */

static nx_tensor *five_points(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *sides = nx_add(inside(x[0], 0, -1), inside(x[0], 0, 1)),
            *ends = nx_add(inside(x[0], -1, 0), inside(x[0], 1, 0));
  return (void)lab, nx_add(inside(x[0], 0, 0), nx_add(sides, ends));
}
static nx_tensor *largest_of_four(const bench_lab *lab, nx_tensor **x) {
  const int64_t *shape = nx_shape(x[0]), m = shape[0] / 2, n = shape[1] / 2;
  nx_tensor *even = bench_range(bench_range(x[0], 0, 0, 2 * m), 1, 0, 2 * n);
  return (void)lab, nx_reduce_max(nx_reshape(even, NX_SHAPE(m, 2, n, 2), 0), NX_AXES(1, 3), 0);
}
static nx_tensor *rows_by_number(const bench_lab *lab, nx_tensor **x) {
  const int64_t *shape = nx_shape(x[0]);
  return (void)lab, nx_gather(x[0], nx_expand(x[1], NX_SHAPE(shape[0], shape[1])), 0);
}
GRAPH(elements_by_number, nx_gather(nx_reshape(x[0], NX_SHAPE(nx_elements(x[0])), 0), x[1], 0))

#define M GENERIC_MATRIX
#define T GENERIC_TURNED
#define R GENERIC_ROW
#define C GENERIC_COLUMN

const generic_graph generic_graphs[] = {
    {"a b + a", product_and_sum, {M, M}, GENERIC_ALL},
    {"20 operations", bench_chain, {M}, GENERIC_FLOATS},
    {"exp", bench_exponential, {M}, GENERIC_FLOATS},
    {"tanh", tangent, {M}, GENERIC_FLOATS},
    {"log", logarithm, {M}, GENERIC_FLOATS},
    {"erf", error_function, {M}, GENERIC_FLOATS},
    {"gelu", bench_gelu, {M}, GENERIC_FLOATS},
    {"where", chosen, {M, R}, GENERIC_ALL},
    {"cast", cast, {M}, GENERIC_ALL},
    {"plus a row", sum_of_two, {M, R}, GENERIC_ALL},
    {"plus a column", sum_of_two, {M, C}, GENERIC_ALL},
    {"outer product", outer_product, {C, R}, GENERIC_ALL},
    {"sums of rows", bench_sum_1, {M}, GENERIC_ALL},
    {"sums of columns", bench_sum_0, {M}, GENERIC_ALL},
    {"sum", sum_all, {M}, GENERIC_ALL},
    {"sums of the middle axis", sum_middle, {M}, GENERIC_ALL},
    {"maxima of rows", bench_max_1, {M}, GENERIC_ALL},
    {"maxima of columns", max_0, {M}, GENERIC_ALL},
    {"argmax of rows", bench_argmax_1, {M}, GENERIC_ALL},
    {"dot of rows", dot_of_rows, {M, R}, GENERIC_ALL},
    {"variance of rows", variance, {M}, GENERIC_FLOATS},
    {"softmax of rows", bench_softmax, {M}, GENERIC_FLOATS},
    {"softmax of columns", softmax_0, {M}, GENERIC_FLOATS},
    {"layer norm", layer_norm, {M}, GENERIC_FLOATS},
    {"centred columns", centred_columns, {M}, GENERIC_FLOATS},
    {"transpose", bench_transposed, {M}, GENERIC_ALL},
    {"plus a transpose", plus_turned, {M, T}, GENERIC_ALL},
    {"transpose 0 2 1", turned_021, {M}, GENERIC_ALL},
    {"transpose 1 0 2", turned_102, {M}, GENERIC_ALL},
    {"inside of a border", inside_of_border, {M}, GENERIC_ALL},
    {"each third column", third_columns, {M}, GENERIC_ALL},
    {"each second row", second_rows, {M}, GENERIC_ALL},
    {"columns turned round", flipped_1, {M}, GENERIC_ALL},
    {"rows turned round", flipped_0, {M}, GENERIC_ALL},
    {"joined rows", joined_0, {M, M}, GENERIC_ALL},
    {"joined columns", joined_1, {M, M}, GENERIC_ALL},
    {"with a border", with_border, {M}, GENERIC_ALL},
    {"rolled columns", rolled_1, {M}, GENERIC_ALL},
    {"cumulative sums of rows", bench_cumsum_1, {M}, GENERIC_ALL},
    {"cumulative sums of columns", bench_cumsum_0, {M}, GENERIC_ALL},
    {"five points", five_points, {M}, GENERIC_ALL},
    {"largest of four", largest_of_four, {M}, GENERIC_ALL},
    {"rows by number", rows_by_number, {M, GENERIC_ROWS_AT}, GENERIC_ALL},
    {"elements by number", elements_by_number, {M, GENERIC_AT}, GENERIC_ALL},
};
const size_t n_generic_graphs = sizeof generic_graphs / sizeof *generic_graphs;
