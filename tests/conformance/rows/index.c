/* SPDX-License-Identifier: ISC */
/* Elements by number: gather, scatter, windows, indices of what is true, one-hot rows; sorting. */
#include "elements.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t data_shape[] = {5, 7, 3};

/* ---- gather and scatter */

/* Indices from -extent on, of i32 or i64 by turns; many meet. */
static array *some_indices(trial *t, int32_t axis, int64_t count) {
  int64_t shape[] = {5, 6, 3};
  shape[axis] = count;
  array *a = new_array(t, axis % 2 ? NX_I32 : NX_I64, 3, shape);
  uint64_t state = 7;
  for (size_t i = 0; i < a->n; i++) {
    int64_t extent = data_shape[axis],
            index = (int64_t)(random_word(&state) % (uint64_t)(2 * extent)) - extent;
    a->at[i] = (bits){a->dtype == NX_I32 ? (uint32_t)index : (uint64_t)index, 0};
  }
  return a;
}

/* The position in the data that element i of the indices names. */
static size_t place_of(const array *indices, size_t i, int32_t axis) {
  int64_t index[3];
  unravel(i, 3, indices->shape, index);
  int64_t n = (int64_t)decode(indices->dtype, indices->at[i]).re;
  index[axis] = n < 0 ? n + data_shape[axis] : n;
  return ravel(3, data_shape, index);
}

static void check_gather(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++) {
      if (!is_due(t, (l + (layout)axis) % LAYOUTS, LAYOUTS)) continue;
      array *a = some_values(t, t->dtype, 3, data_shape, 1), *indices = some_indices(t, axis, 4);
      nx_tensor *x = laid_out(t, a, l), *i = laid_out(t, indices, (l + 1) % LAYOUTS);
      array *want = new_array(t, t->dtype, 3, indices->shape);
      for (size_t k = 0; k < want->n; k++) want->at[k] = a->at[place_of(indices, k, axis)];
      expect(t, nx_gather(x, i, axis - (l % 2 ? 3 : 0)), want, SAME_BITS, layout_names[l]);
    }
}

/* Refusals and failures of both: `record` makes one of data and indices along axis 1. */
static void check_bad_indices(trial *t, nx_tensor *(*record)(trial *t, nx_tensor *x,
                                                             nx_tensor *indices, int32_t axis)) {
  static const int64_t wide[] = {6, 2, 3}, flat[] = {5, 2};
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 3, data_shape, 1));
  array *indices = some_indices(t, 1, 4);
  nx_tensor *i = tensor_of(t, indices);
  expect_refusal(t, record(t, NULL, i, 1), NX_INVALID_ARGUMENT, "null data");
  expect_refusal(t, record(t, x, NULL, 1), NX_INVALID_ARGUMENT, "null indices");
  expect_refusal(t, record(t, x, i, 3), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, record(t, x, tensor_of(t, new_array(t, NX_I32, 3, wide)), 1),
                 NX_INVALID_ARGUMENT, "indices longer than the data beside the axis");
  expect_refusal(t, record(t, x, tensor_of(t, new_array(t, NX_I32, 2, flat)), 1),
                 NX_INVALID_ARGUMENT, "another rank");
  expect_refusal(t, record(t, x, tensor_of(t, new_array(t, NX_I16, 3, data_shape)), 1),
                 NX_UNSUPPORTED_DTYPE, "indices of i16");
  indices->at[17].low = 7;
  indices->at[30].low = (uint32_t)-8;
  expect_failure(t, record(t, x, tensor_of(t, indices), 1), NX_INDEX_OUT_OF_RANGE, 17,
                 "an index past the end");
  indices->at[17].low = 0;
  expect_failure(t, record(t, x, tensor_of(t, indices), 1), NX_INDEX_OUT_OF_RANGE, 30,
                 "an index before the start");
}

static nx_tensor *make_gather(trial *t, nx_tensor *x, nx_tensor *indices, int32_t axis) {
  (void)t;
  return nx_gather(x, indices, axis);
}
static void check_gather_all(trial *t) {
  check_gather(t);
  check_bad_indices(t, make_gather);
}
static nx_tensor *record_gather(trial *t, nx_dtype dtype) {
  return nx_gather(tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)),
                   tensor_of(t, some_indices(t, 1, 4)), 1);
}

/* Indices in and out of range. */
static array *far_indices(trial *t, int32_t axis) {
  array *a = some_indices(t, axis, 4);
  uint64_t state = 9;
  for (size_t i = 0; i < a->n; i++) {
    int64_t index =
        (int64_t)(random_word(&state) % (uint64_t)(4 * data_shape[axis])) - 2 * data_shape[axis];
    a->at[i].low = a->dtype == NX_I32 ? (uint32_t)index : (uint64_t)index;
  }
  return a;
}

static bool fills(const trial *t) { return !strcmp(t->op->name, "gather_filled"); }

static nx_tensor *make_total(trial *t, nx_tensor *x, nx_tensor *indices, int32_t axis) {
  return fills(t) ? nx_gather_filled(x, indices, axis, NX_NUMBER(1))
                  : nx_gather_clamped(x, indices, axis);
}

static void check_total(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++) {
      if (!is_due(t, (l + (layout)axis) % LAYOUTS, LAYOUTS)) continue;
      array *a = some_values(t, t->dtype, 3, data_shape, 1), *indices = far_indices(t, axis);
      nx_tensor *x = laid_out(t, a, l), *i = laid_out(t, indices, (l + 1) % LAYOUTS);
      array *want = new_array(t, t->dtype, 3, indices->shape);
      for (size_t k = 0; k < want->n; k++) {
        int64_t n = data_shape[axis], at = (int64_t)decode(indices->dtype, indices->at[k]).re, p[3];
        bool inside = at >= -n && at < n;
        if (fills(t)) at = at < 0 ? at + n : at;
        else at = at < 0 ? 0 : at >= n ? n - 1 : at;
        unravel(k, 3, indices->shape, p);
        p[axis] = inside || !fills(t) ? at : 0;
        want->at[k] =
            inside || !fills(t) ? a->at[ravel(3, data_shape, p)] : encode(t->dtype, (value){1, 0});
      }
      expect(t, make_total(t, x, i, axis), want, SAME_BITS, layout_names[l]);
    }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 3, data_shape, 1));
  expect_refusal(t, make_total(t, x, x, 3),
                 t->dtype == NX_I32 || t->dtype == NX_I64 ? NX_INVALID_ARGUMENT
                                                          : NX_UNSUPPORTED_DTYPE,
                 "axis 3, or indices that are data");
  expect_refusal(t, make_total(t, NULL, x, 0), NX_INVALID_ARGUMENT, "null data");
}
static nx_tensor *record_total(trial *t, nx_dtype dtype) {
  return make_total(t, tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)),
                    tensor_of(t, some_indices(t, 1, 4)), 1);
}

/* The modes as rows are named. */
static const char *const modes[] = {
    [NX_SCATTER_SET] = "set", [NX_SCATTER_ADD] = "add", [NX_SCATTER_MUL] = "mul",
    [NX_SCATTER_MIN] = "min", [NX_SCATTER_MAX] = "max", [NX_SCATTER_AND] = "and",
    [NX_SCATTER_OR] = "or",   [NX_SCATTER_XOR] = "xor"};
static nx_scatter_mode mode_of(const trial *t) {
  int mode = 0;
  while (strcmp(t->op->name + strlen("scatter, "), modes[mode])) mode++;
  return (nx_scatter_mode)mode;
}

static value combined(const trial *t, value a, value b) {
  switch (mode_of(t)) {
    case NX_SCATTER_ADD: return sum_of(t->dtype, a, b);
    case NX_SCATTER_MUL: return product_of(t->dtype, a, b);
    case NX_SCATTER_MIN: return complex_min(a, b);
    case NX_SCATTER_MAX: return complex_max(a, b);
    default: return b;
  }
}

static bits combined_bits(const trial *t, bits a, bits b) {
  switch (mode_of(t)) {
    case NX_SCATTER_AND: return (bits){a.low & b.low, 0};
    case NX_SCATTER_OR: return (bits){a.low | b.low, 0};
    case NX_SCATTER_XOR: return (bits){a.low ^ b.low, 0};
    default: return b;
  }
}

static nx_tensor *make_scatter(trial *t, nx_tensor *x, nx_tensor *indices, int32_t axis) {
  nx_tensor_info info = {.size = sizeof info};
  if (indices) nx_tensor_describe(indices, &info);
  nx_tensor *updates = tensor_of(t, tame_values(t, t->dtype, info.rank, info.shape, 2));
  return nx_scatter(x, indices, updates, axis, mode_of(t), 0);
}

/* Small floats are combined in f32: tame numbers exactly, and are rounded once. With
 * NX_DROP_OUT_OF_RANGE every third update is of no element. */
static void expect_scatter(trial *t, layout l, int32_t axis, uint32_t flags) {
  nx_scatter_mode mode = mode_of(t);
  bool computes = mode >= NX_SCATTER_ADD && mode <= NX_SCATTER_MAX;
  array *a = mode ? tame_values(t, t->dtype, 3, data_shape, 1)
                  : some_values(t, t->dtype, 3, data_shape, 1);
  array *indices = some_indices(t, axis, 6), *want = new_array(t, t->dtype, 3, data_shape);
  array *updates = mode ? tame_values(t, t->dtype, 3, indices->shape, 2)
                        : some_values(t, t->dtype, 3, indices->shape, 2);
  value *sums = room(t, (a->n + 1) * sizeof *sums);
  for (size_t k = 0; flags & NX_DROP_OUT_OF_RANGE && k < indices->n; k += 3) {
    int64_t out = k % 2 ? data_shape[axis] : -1 - data_shape[axis];
    indices->at[k].low = indices->dtype == NX_I32 ? (uint32_t)out : (uint64_t)out;
  }
  nx_tensor *x = laid_out(t, a, l), *i = laid_out(t, indices, (l + 1) % LAYOUTS),
            *u = laid_out(t, updates, (l + 2) % LAYOUTS);
  for (size_t k = 0; k < a->n; k++) {
    want->at[k] = a->at[k];
    sums[k] = decode(t->dtype, a->at[k]);
  }
  for (size_t k = 0; k < updates->n; k++) {
    int64_t index = (int64_t)decode(indices->dtype, indices->at[k]).re;
    if (index < -data_shape[axis] || index >= data_shape[axis]) continue;
    size_t place = place_of(indices, k, axis);
    sums[place] = combined(t, sums[place], decode(t->dtype, updates->at[k]));
    want->at[place] = computes ? encode(t->dtype, sums[place])
                               : combined_bits(t, want->at[place], updates->at[k]);
  }
  expect(t, nx_scatter(x, i, u, axis, mode, flags), want, mode ? SAME : SAME_BITS, layout_names[l]);
}

static void check_scatter(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++)
      if (is_due(t, (l + (layout)axis) % LAYOUTS, LAYOUTS))
        expect_scatter(t, l, axis, l % 2 ? NX_DROP_OUT_OF_RANGE : 0);
  check_bad_indices(t, make_scatter);
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 3, data_shape, 1)),
            *i = tensor_of(t, some_indices(t, 1, 4));
  expect_refusal(t, nx_scatter(x, i, x, 1, NX_SCATTER_SET, 0), NX_INVALID_ARGUMENT,
                 "updates of another shape");
  expect_refusal(t, nx_scatter(x, i, NULL, 1, NX_SCATTER_SET, 0), NX_INVALID_ARGUMENT,
                 "null updates");
  expect_refusal(
      t,
      nx_scatter(x, i, tensor_of(t, tame_values(t, t->dtype, 3, some_indices(t, 1, 4)->shape, 1)),
                 1, (nx_scatter_mode)8, 0),
      NX_INVALID_ARGUMENT, "no such mode");
}
static nx_tensor *record_scatter(trial *t, nx_dtype dtype) {
  nx_dtype own = t->dtype;
  t->dtype = dtype;
  nx_tensor *y = make_scatter(t, tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)),
                              tensor_of(t, some_indices(t, 1, 4)), 1);
  t->dtype = own;
  return y;
}

/* ---- windows: two axes of an image */

static const int64_t kernel[] = {3, 2}, stride[] = {2, 1}, dilation[] = {1, 2}, before[] = {1, 0},
                     after[] = {0, 3};
static const nx_window window = {sizeof window, 2, kernel, stride, dilation, before, after};
enum { LEAD = 2, HEIGHT = 6, WIDTH = 5, TALL = 3, WIDE = 6, KERNEL = 6, WINDOWS = TALL * WIDE };
static const int64_t image[] = {LEAD, HEIGHT, WIDTH}, columns[] = {LEAD, KERNEL, WINDOWS};

/* Where element k of window w lies in an image; false: among the zeros. */
static bool in_image(int64_t k, int64_t w, int64_t *place) {
  int64_t row = w / WIDE * stride[0] + k / kernel[1] * dilation[0] - before[0];
  int64_t column = w % WIDE * stride[1] + k % kernel[1] * dilation[1] - before[1];
  *place = row * WIDTH + column;
  return row >= 0 && row < HEIGHT && column >= 0 && column < WIDTH;
}

static void check_unfold(trial *t) {
  nx_tensor *x = NULL;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 3, image, 1), *want = new_array(t, t->dtype, 3, columns);
    x = laid_out(t, a, l);
    for (int64_t i = 0, place; i < (int64_t)want->n; i++)
      want->at[i] = in_image(i / WINDOWS % KERNEL, i % WINDOWS, &place)
                        ? a->at[i / (KERNEL * WINDOWS) * HEIGHT * WIDTH + place]
                        : encode_real(t->dtype, 0);
    expect(t, nx_unfold(x, &window), want, SAME_BITS, layout_names[l]);
  }
  nx_window bad = {.size = sizeof bad, .n = 4, .kernel = (const int64_t[]){1, 1, 1, 1}};
  expect_refusal(t, nx_unfold(x, &bad), NX_INVALID_ARGUMENT, "more axes than the operand has");
  bad = window;
  bad.stride = (const int64_t[]){0, 1};
  expect_refusal(t, nx_unfold(x, &bad), NX_INVALID_ARGUMENT, "a stride of 0");
  expect_refusal(t, nx_unfold(x, NULL), NX_INVALID_ARGUMENT, "no window");
  expect_refusal(t, nx_unfold(NULL, &window), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_unfold(trial *t, nx_dtype dtype) {
  return nx_unfold(tensor_of(t, tame_values(t, dtype, 3, image, 1)), &window);
}

static void check_fold(trial *t) {
  nx_tensor *x = NULL;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = tame_values(t, t->dtype, 3, columns, 1), *want = new_array(t, t->dtype, 3, image);
    x = laid_out(t, a, l);
    value *sums = room(t, want->n * sizeof *sums);
    for (int64_t i = 0, place; i < (int64_t)a->n; i++) {
      if (!in_image(i / WINDOWS % KERNEL, i % WINDOWS, &place)) continue;
      value *to = &sums[i / (KERNEL * WINDOWS) * HEIGHT * WIDTH + place],
            v = decode(t->dtype, a->at[i]);
      *to = sum_of(t->dtype, *to, v);
    }
    for (size_t i = 0; i < want->n; i++) want->at[i] = encode(t->dtype, sums[i]);
    expect(t, nx_fold(x, image + 1, 2, &window), want, SAME_BITS, layout_names[l]);
  }
  expect_refusal(t, nx_fold(x, (const int64_t[]){9, 9}, 2, &window), NX_INVALID_ARGUMENT,
                 "another number of windows");
  expect_refusal(t, nx_fold(x, NULL, 2, &window), NX_INVALID_ARGUMENT, "no size");
  expect_refusal(t, nx_fold(NULL, image + 1, 2, &window), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_fold(trial *t, nx_dtype dtype) {
  return nx_fold(tensor_of(t, tame_values(t, dtype, 3, columns, 1)), image + 1, 2, &window);
}

/* ---- what is true, and one-hot rows */

static void check_true(trial *t) {
  static const int64_t counts[] = {0, 5, 200};
  for (layout l = 0; l < LAYOUTS; l++)
    for (int k = 0; k < 3; k++) {
      if (!is_due(t, (l + (layout)k) % LAYOUTS, LAYOUTS)) continue;
      array *a = some_values(t, NX_BOOL, 3, data_shape, 1),
            *want = new_array(t, NX_I64, 1, &counts[k]);
      nx_tensor *x = laid_out(t, a, l);
      size_t used = 0;
      for (size_t i = 0; i < a->n && used < want->n; i++)
        if (a->at[i].low) want->at[used++].low = i;
      while (used < want->n) want->at[used++].low = UINT64_MAX;
      expect(t, nx_true_indices(x, counts[k]), want, SAME, layout_names[l]);
    }
  expect_refusal(t, nx_true_indices(NULL, 1), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, nx_true_indices(tensor_of(t, some_values(t, NX_BOOL, 3, data_shape, 1)), -1),
                 NX_INVALID_ARGUMENT, "-1 of them");
}
static nx_tensor *record_true(trial *t, nx_dtype dtype) {
  return nx_true_indices(tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)), 4);
}

/* The row's type is that of the ones. */
static void check_one_hot(trial *t) {
  static const int64_t shape[] = {4, 5}, result[] = {4, 5, 6};
  for (nx_dtype from = NX_I4; from <= NX_U64; from++) {
    if (!is_due(t, (size_t)from % 5, 5)) continue;
    array *a = some_values(t, from, 2, shape, 1), *want = new_array(t, t->dtype, 3, result);
    for (size_t i = 0; i < a->n; i += 2) a->at[i].low = i % 7;
    for (size_t i = 0; i < want->n; i++)
      want->at[i] = encode_real(t->dtype, decode(from, a->at[i / 6]).re == (long double)(i % 6));
    expect(t, nx_one_hot(laid_out(t, a, TRANSPOSED), 6, t->dtype), want, SAME, nx_dtype_name(from));
  }
  nx_tensor *x = tensor_of(t, new_array(t, NX_F32, 2, shape)),
            *i = tensor_of(t, new_array(t, NX_I32, 2, shape));
  expect_refusal(t, nx_one_hot(x, 6, t->dtype), NX_UNSUPPORTED_DTYPE, "indices of f32");
  expect_refusal(t, nx_one_hot(i, -1, t->dtype), NX_INVALID_ARGUMENT, "rows of -1");
}
static nx_tensor *record_one_hot(trial *t, nx_dtype dtype) {
  return nx_one_hot(tensor_of(t, new_array(t, NX_I32, 1, (const int64_t[]){3})), 6, dtype);
}

/* ---- order */

static bool has_nan(value v) { return isnan(v.re) || isnan(v.im); }

/* Whether a comes before b: NaNs last either way; equal ones, zeros of both signs too, keep their
 * order. */
static bool comes_before(value a, value b, bool descending) {
  if (has_nan(a) || has_nan(b)) return !has_nan(a) && has_nan(b);
  return descending ? is_less(b, a) : is_less(a, b);
}

/* Places on the axis, sorted by insertion. */
static void sort_line(const array *a, size_t first, size_t step, int64_t n, bool descending,
                      int64_t *order) {
  for (int64_t i = 0; i < n; i++) {
    int64_t k = i;
    value v = decode(a->dtype, a->at[first + (size_t)i * step]);
    for (; k > 0 && comes_before(v, decode(a->dtype, a->at[first + (size_t)order[k - 1] * step]),
                                 descending);
         k--)
      order[k] = order[k - 1];
    order[k] = i;
  }
}

static void expect_sorted(trial *t, array *a, layout l, int32_t axis, bool descending) {
  nx_tensor *x = laid_out(t, a, l);
  bool places = !strcmp(t->op->name, "argsort");
  nx_dtype wide = (l + (layout)axis) % 2 ? NX_I64 : NX_I32;
  array *want = new_array(t, places ? wide : t->dtype, a->rank, a->shape);
  int64_t strides[NX_MAX_RANK], index[NX_MAX_RANK],
      n = a->shape[axis], *order = room(t, (size_t)(n + 1) * sizeof *order);
  strides_of(a->rank, a->shape, strides);
  size_t step = (size_t)strides[axis];
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    if (index[axis]) continue;
    sort_line(a, i, step, n, descending, order);
    for (int64_t k = 0; k < n; k++)
      want->at[i + (size_t)k * step] =
          places ? (bits){(uint64_t)order[k], 0} : a->at[i + (size_t)order[k] * step];
  }
  char what[80];
  snprintf(what, sizeof what, "axis %d, %s, %s", axis, descending ? "descending" : "ascending",
           layout_names[l]);
  int32_t from = axis - (l % 2 ? a->rank : 0);
  expect(t,
         places ? nx_argsort(x, from, descending ? NX_DESCENDING : 0, wide)
                : nx_sort(x, from, descending ? NX_DESCENDING : 0),
         want, computed_moves(t->dtype), what);
}

/* The first k of them and their places. */
static void expect_top(trial *t, array *a, layout l, int32_t axis, bool smallest, int64_t k) {
  nx_tensor *x = laid_out(t, a, l), *is[2] = {NULL};
  int64_t strides[NX_MAX_RANK], index[NX_MAX_RANK], shape[NX_MAX_RANK],
      n = a->shape[axis], *order = room(t, (size_t)(n + 1) * sizeof *order);
  memcpy(shape, a->shape, (size_t)a->rank * sizeof *shape);
  shape[axis] = k;
  array *values = new_array(t, t->dtype, a->rank, shape),
        *places = new_array(t, l % 2 ? NX_I64 : NX_I32, a->rank, shape);
  strides_of(a->rank, a->shape, strides);
  for (size_t i = 0; i < values->n; i++) {
    unravel(i, a->rank, shape, index);
    const int64_t at = index[axis];
    size_t first = 0;
    for (int32_t d = 0; d < a->rank; d++)
      if (d != axis) first += (size_t)(index[d] * strides[d]);
    sort_line(a, first, (size_t)strides[axis], n, !smallest, order);
    places->at[i] = (bits){(uint64_t)order[at], 0};
    values->at[i] = a->at[first + (size_t)(order[at] * strides[axis])];
  }
  char what[80];
  snprintf(what, sizeof what, "axis %d, the %s %d, %s", axis, smallest ? "smallest" : "largest",
           (int)k, layout_names[l]);
  if (nx_top_k(x, k, axis, smallest ? NX_SMALLEST : 0, places->dtype, &is[0], &is[1]) != NX_OK)
    is[0] = is[1] = NULL;
  expect(t, is[0], values, computed_moves(t->dtype), what);
  expect(t, is[1], places, SAME_BITS, what);
}

static nx_tensor *record_top(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)), *values = NULL;
  return nx_top_k(x, 1, 0, 0, NX_I32, &values, NULL) == NX_OK ? values : NULL;
}

static nx_tensor *top_or_null(nx_tensor *x, int64_t k, int32_t axis, nx_dtype places) {
  return nx_top_k(x, k, axis, 0, places, NULL, NULL) == NX_OK ? x : NULL;
}

static void check_top(trial *t) {
  static const int64_t rows[] = {3, 300}, none[] = {2, 0, 3};
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++) {
      if (!is_due(t, (l + (layout)axis) % LAYOUTS, LAYOUTS)) continue;
      const int64_t k = (data_shape[axis] + 1) / 2;
      expect_top(t, some_values(t, t->dtype, 3, data_shape, 1), l, axis, (l + (layout)axis) % 2, k);
      expect_top(t, tame_values(t, t->dtype, 3, data_shape, 1), l, axis, l % 2, k);
    }
  expect_top(t, some_values(t, t->dtype, 2, rows, 1), CONTIGUOUS, 1, true, 7);
  expect_top(t, some_values(t, t->dtype, 2, rows, 2), CONTIGUOUS, 1, false, 0);
  expect_top(t, new_array(t, t->dtype, 3, none), CONTIGUOUS, 1, false, 0);
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none));
  expect_refusal(t, top_or_null(NULL, 0, 0, NX_I32), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, top_or_null(x, 0, 3, NX_I32), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, top_or_null(x, 3, 0, NX_I32), NX_INVALID_ARGUMENT, "more than there are");
  expect_refusal(t, top_or_null(x, 1, 0, NX_U32), NX_UNSUPPORTED_DTYPE, "places that are u32");
}

static nx_tensor *record_sort(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 3, data_shape, 1));
  return strcmp(t->op->name, "argsort") ? nx_sort(x, 0, 0) : nx_argsort(x, 0, 0, NX_I32);
}

static void check_sort(trial *t) {
  static const int64_t rows[] = {3, 300}, none[] = {2, 0, 3};
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++) {
      if (!is_due(t, (l + (layout)axis) % LAYOUTS, LAYOUTS)) continue;
      expect_sorted(t, some_values(t, t->dtype, 3, data_shape, 1), l, axis, (l + (layout)axis) % 2);
      expect_sorted(t, tame_values(t, t->dtype, 3, data_shape, 1), l, axis, l % 2);
    }
  expect_sorted(t, some_values(t, t->dtype, 2, rows, 1), CONTIGUOUS, 1, true);
  expect_sorted(t, some_values(t, t->dtype, 2, rows, 2), CONTIGUOUS, 1, false);
  expect_sorted(t, new_array(t, t->dtype, 3, none), CONTIGUOUS, 1, false);
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none));
  bool places = !strcmp(t->op->name, "argsort");
  expect_refusal(t, places ? nx_argsort(NULL, 0, 0, NX_I32) : nx_sort(NULL, 0, 0),
                 NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, places ? nx_argsort(x, 3, 0, NX_I32) : nx_sort(x, 3, 0), NX_INVALID_ARGUMENT,
                 "axis 3 of rank 3");
  if (places)
    expect_refusal(t, nx_argsort(x, 0, 0, NX_U32), NX_UNSUPPORTED_DTYPE, "places that are u32");
  else expect_refusal(t, nx_sort(x, 0, 2), NX_INVALID_ARGUMENT, "a flag that is unknown");
}

/* ---- places in sorted lines */

/* How many of the n sorted elements come before x, or are equal to it; NaNs are last and equal. */
static uint64_t count_before(nx_dtype dtype, const bits *line, int64_t n, bits x, bool equal) {
  uint64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    value a = decode(dtype, line[i]), b = decode(dtype, x);
    count += equal ? !comes_before(b, a, false) : comes_before(a, b, false);
  }
  return count;
}

static void search_one(trial *t, int64_t lines, int64_t n, layout l, bool flat) {
  int64_t shape[] = {lines, n}, values_shape[] = {lines, 6};
  array *a = some_values(t, t->dtype, 2, shape, 3),
        *v = some_values(t, t->dtype, 2, values_shape, 4),
        *want = new_array(t, l % 2 ? NX_I32 : NX_I64, 2, values_shape);
  for (int64_t i = 0; i < lines; i++) { /* by insertion */
    bits *line = a->at + i * n;
    for (int64_t k = 1; k < n; k++)
      for (int64_t j = k;
           j && comes_before(decode(t->dtype, line[j]), decode(t->dtype, line[j - 1]), false);
           j--) {
        bits swap = line[j];
        line[j] = line[j - 1];
        line[j - 1] = swap;
      }
  }
  for (size_t i = 0; i < v->n && n; i += 3) v->at[i] = a->at[i % (size_t)n];
  nx_tensor *values = laid_out(t, v, l), *sorted = tensor_of(t, a);
  bool right = l % 3;
  for (size_t i = 0; i < want->n; i++)
    want->at[i].low =
        count_before(t->dtype, a->at + (flat ? 0 : (int64_t)i / 6 * n), n, v->at[i], right);
  if (flat) sorted = nx_reshape(sorted, &n, 1, 0);
  expect(t, nx_searchsorted(sorted, values, NULL, right ? NX_AFTER_EQUAL : 0, want->dtype), want,
         SAME, layout_names[l]);
}

static void check_search(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (is_due(t, l, LAYOUTS)) search_one(t, 3, 8 + (int64_t)l * 3, l, false);
    if (is_due(t, (l + 3) % LAYOUTS, LAYOUTS)) search_one(t, 1, 5 + (int64_t)l * 3, l, true);
  }
  search_one(t, 2, 0, CONTIGUOUS, false);
  search_one(t, 2, 1, CONTIGUOUS, false);
  const int64_t shape[] = {2, 3};
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 2, shape)),
            *line = tensor_of(t, new_array(t, t->dtype, 1, shape)),
            *place = tensor_of(t, new_array(t, NX_I64, 1, shape));
  expect_refusal(t, nx_searchsorted(NULL, x, NULL, 0, NX_I32), NX_INVALID_ARGUMENT, "null");
  expect_refusal(t, nx_searchsorted(x, line, NULL, 0, NX_I32), NX_INVALID_ARGUMENT, "ranks");
  expect_refusal(t, nx_searchsorted(x, x, place, 0, NX_I32), NX_INVALID_ARGUMENT, "a short sorter");
  expect_refusal(t, nx_searchsorted(x, x, NULL, 2, NX_I32), NX_INVALID_ARGUMENT, "a flag");
  expect_refusal(t, nx_searchsorted(x, x, NULL, 0, NX_F32), NX_UNSUPPORTED_DTYPE, "f32 places");
}
static nx_tensor *record_search(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {3};
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 1, shape, 1));
  return nx_searchsorted(x, x, NULL, 0, NX_I32);
}

static const operation index_table[] = {
    {"gather", ALL, check_gather_all, record_gather, NULL, 0, NULL},
    {"gather_clamped", ALL, check_total, record_total, NULL, 0, NULL},
    {"gather_filled", ALL, check_total, record_total, NULL, 0, NULL},
    {"scatter, set", ALL, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, add", B | I | F | C, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, mul", B | I | F | C, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, min", B | I | F | C, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, max", B | I | F | C, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, and", B | I, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, or", B | I, check_scatter, record_scatter, NULL, 0, NULL},
    {"scatter, xor", B | I, check_scatter, record_scatter, NULL, 0, NULL},
    {"unfold", ALL, check_unfold, record_unfold, NULL, 0, NULL},
    {"fold", I | F | C, check_fold, record_fold, NULL, 0, NULL},
    {"true_indices", B, check_true, record_true, NULL, 0, NULL},
    {"one_hot", B | I | F | C, check_one_hot, record_one_hot, NULL, 0, NULL},
    {"sort", B | I | F | C, check_sort, record_sort, NULL, 0, NULL},
    {"argsort", B | I | F | C, check_sort, record_sort, NULL, 0, NULL},
    {"searchsorted", B | I | F, check_search, record_search, NULL, 0, NULL},
    {"top_k", I | F | C, check_top, record_top, NULL, 0, NULL},
};
const family index_family = {"Indices and order", index_table,
                             sizeof index_table / sizeof *index_table};
