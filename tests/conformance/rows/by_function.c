/* SPDX-License-Identifier: ISC */
/* Operations by a function. The combiner takes two operands, a value of the type and a place, and
 * keeps the first pair whose value is not 0: exact for every type, associative, and only right if
 * elements stay in order. */
#include "../conformance.h"

#include <math.h>
#include <stdio.h>

/* ---- the combiner */

static nx_tensor *scalar_input(trial *t, nx_dtype dtype) {
  return nx_placeholder(t->context, t->device, dtype, NULL, 0);
}

static nx_function *first_of(trial *t, nx_dtype dtype) {
  nx_function *f = NULL;
  nx_scope *scope = nx_scope_begin(t->context);
  nx_tensor *in[4] = {scalar_input(t, dtype), scalar_input(t, NX_I32), scalar_input(t, dtype),
                      scalar_input(t, NX_I32)},
            *zero = nx_full_i64(t->context, t->device, dtype, NULL, 0, 0),
            *keep = nx_cmpne(in[0], zero), *out[2] = {NULL, NULL};
  if (keep) {
    out[0] = nx_where(keep, in[0], in[2]);
    out[1] = nx_where(keep, in[1], in[3]);
  }
  if (out[0] && out[1]) nx_function_create(t->context, in, 4, out, 2, NULL, &f);
  nx_scope_end(scope);
  return f;
}

static bool is_zero(nx_dtype dtype, bits b) {
  value v = decode(dtype, b);
  return v.re == 0 && v.im == 0;
}

/* Mostly zeros. */
static array *sparse(trial *t, int32_t rank, const int64_t *shape) {
  array *a = some_values(t, t->dtype, rank, shape, 7);
  uint64_t state = 11;
  for (size_t i = 0; i < a->n; i++)
    if (random_word(&state) % 4) a->at[i] = (bits){0, 0};
  return a;
}

/* 0, 1, 2 .. of this shape. */
static array *places_of(trial *t, int32_t rank, const int64_t *shape) {
  array *p = new_array(t, NX_I32, rank, shape);
  for (size_t i = 0; i < p->n; i++) p->at[i].low = i;
  return p;
}

typedef struct pair {
  bits value, place;
} pair;
static const pair nothing = {{0, 0}, {77, 0}}; /* the initial values */

static pair joined_pair(const trial *t, pair a, pair b) {
  return is_zero(t->dtype, a.value) ? b : a;
}

static void initial(trial *t, nx_tensor **init) {
  array *v = new_array(t, t->dtype, 0, NULL), *p = new_array(t, NX_I32, 0, NULL);
  v->at[0] = nothing.value;
  p->at[0] = nothing.place;
  init[0] = tensor_of(t, v);
  init[1] = nx_full_i64(t->context, t->device, NX_I32, NULL, 0, (int64_t)nothing.place.low);
}

static void expect_pairs(trial *t, nx_status status, nx_tensor **out, const pair *want,
                         int32_t rank, const int64_t *shape, const char *what) {
  array *values = new_array(t, t->dtype, rank, shape), *places = new_array(t, NX_I32, rank, shape);
  for (size_t i = 0; i < values->n; i++) {
    values->at[i] = want[i].value;
    places->at[i] = want[i].place;
  }
  expect_status(t, status, NX_OK, what);
  expect(t, out[0], values, SAME_BITS, what);
  expect(t, out[1], places, SAME, what);
}

/* ---- reduce_by */

static void reduce_one(trial *t, array *a, layout l, uint32_t axes, bool keep) {
  nx_tensor *x[2] = {laid_out(t, a, l), NULL}, *init[2], *out[2] = {NULL, NULL};
  x[1] = tensor_of(t, places_of(t, a->rank, a->shape));
  initial(t, init);
  int64_t shape[NX_MAX_RANK], kept[NX_MAX_RANK], index[NX_MAX_RANK];
  int32_t list[NX_MAX_RANK], rank = 0;
  size_t n = 0, results = 1;
  for (int32_t i = 0; i < a->rank; i++) {
    bool gone = axes >> i & 1;
    kept[i] = gone ? 1 : a->shape[i];
    if (gone) list[n++] = i;
    if (!gone || keep) shape[rank++] = kept[i];
    results *= (size_t)kept[i];
  }
  pair *want = room(t, (results + 1) * sizeof *want);
  for (size_t i = 0; i < results; i++) want[i] = nothing;
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    for (int32_t k = 0; k < a->rank; k++)
      if (axes >> k & 1) index[k] = 0;
    pair *to = &want[ravel(a->rank, kept, index)];
    *to = joined_pair(t, *to, (pair){a->at[i], {i, 0}});
  }
  char what[80];
  snprintf(what, sizeof what, "rank %d, axes %x, %s", a->rank, axes, layout_names[l]);
  nx_function *f = first_of(t, t->dtype);
  nx_status status = nx_reduce_by(f, x, init, 2, list, n, keep ? NX_KEEPDIMS : 0, out, 2);
  expect_pairs(t, status, out, want, rank, shape, what);
  nx_function_release(f);
}

static void check_reduce_by(trial *t) {
  static const int64_t cube[] = {4, 5, 19}, none[] = {3, 0, 2}, line[] = {603};
  for (layout l = 0; l < LAYOUTS; l++)
    for (uint32_t axes = 0; axes < 8; axes++)
      if (is_due(t, (l * 8 + axes) % 23, 23))
        reduce_one(t, sparse(t, 3, cube), l, axes, (axes + l) % 2);
  for (uint32_t axes = 0; axes < 8; axes++)
    if (is_due(t, axes, 8)) reduce_one(t, sparse(t, 3, none), CONTIGUOUS, axes, axes % 2);
  reduce_one(t, sparse(t, 1, line), FLIPPED, 1, false);
  reduce_one(t, sparse(t, 0, line), CONTIGUOUS, 0, false);
  nx_tensor *x[1] = {tensor_of(t, sparse(t, 1, line))}, *out[1] = {x[0]};
  nx_function *f = first_of(t, t->dtype);
  nx_status status = nx_reduce_by(f, x, x, 1, NX_ALL_AXES, 0, out, 1);
  expect_refusal(t, NULL, status, "one operand of two");
  nx_function_release(f);
}

static nx_tensor *record_reduce_by(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  nx_tensor *x[2] = {tensor_of(t, tame_values(t, dtype, 2, shape, 1)),
                     tensor_of(t, places_of(t, 2, shape))},
            *init[2] = {tensor_of(t, new_array(t, dtype, 0, NULL)),
                        tensor_of(t, new_array(t, NX_I32, 0, NULL))},
            *out[2] = {NULL, NULL};
  nx_function *f = first_of(t, dtype);
  if (f) nx_reduce_by(f, x, init, 2, NX_AXES(1), 0, out, 2);
  nx_function_release(f);
  return out[0];
}

/* ---- scan_by */

static void scan_one(trial *t, array *a, layout l, int32_t axis, uint32_t flags) {
  nx_tensor *x[2] = {laid_out(t, a, l), NULL}, *init[2], *out[2] = {NULL, NULL};
  x[1] = tensor_of(t, places_of(t, a->rank, a->shape));
  initial(t, init);
  pair *want = room(t, (a->n + 1) * sizeof *want);
  int64_t strides[NX_MAX_RANK], index[NX_MAX_RANK];
  strides_of(a->rank, a->shape, strides);
  for (size_t i = 0; i < a->n; i++) {
    unravel(i, a->rank, a->shape, index);
    int64_t at = index[axis], last = a->shape[axis] - 1, step = strides[axis];
    bool back = flags & NX_REVERSE, without = flags & NX_EXCLUSIVE;
    int64_t first = (int64_t)i - at * step, count = (back ? last - at : at) + !without;
    want[i] = nothing;
    for (int64_t k = 0; k < count; k++) {
      size_t from = (size_t)(first + (back ? last - k : k) * step);
      want[i] = joined_pair(t, want[i], (pair){a->at[from], {from, 0}});
    }
  }
  char what[80];
  snprintf(what, sizeof what, "rank %d, axis %d, flags %u, %s", a->rank, axis, flags,
           layout_names[l]);
  nx_function *f = first_of(t, t->dtype);
  nx_status status = nx_scan_by(f, x, init, 2, axis, flags, out, 2);
  expect_pairs(t, status, out, want, a->rank, a->shape, what);
  nx_function_release(f);
}

static void check_scan_by(trial *t) {
  static const int64_t cube[] = {4, 5, 19}, none[] = {3, 0, 2}, line[] = {150};
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++)
      if (is_due(t, l * 3 + (layout)axis, 18))
        scan_one(t, sparse(t, 3, cube), l, axis, (l + (layout)axis) % 4);
  scan_one(t, sparse(t, 3, none), CONTIGUOUS, 1, NX_EXCLUSIVE);
  scan_one(t, sparse(t, 3, none), CONTIGUOUS, 0, 0);
  for (uint32_t flags = 0; flags < 4; flags++)
    if (is_due(t, flags, 4)) scan_one(t, sparse(t, 1, line), CONTIGUOUS, 0, flags);
}

static nx_tensor *record_scan_by(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  nx_tensor *x[2] = {tensor_of(t, tame_values(t, dtype, 2, shape, 1)),
                     tensor_of(t, places_of(t, 2, shape))},
            *out[2] = {NULL, NULL};
  nx_function *f = first_of(t, dtype);
  if (f) nx_scan_by(f, x, NULL, 2, 1, 0, out, 2);
  nx_function_release(f);
  return out[0];
}

/* ---- reduce_window, on a plane of 7 x 9 after an axis of 3 */

typedef struct window_case {
  int64_t kernel[2], stride[2], dilation[2], spread[2], before[2], after[2];
} window_case;
static const window_case window_cases[] = {
    {{2, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {{3, 2}, {2, 3}, {2, 1}, {1, 1}, {1, 0}, {2, 3}},
    {{2, 2}, {1, 2}, {1, 3}, {2, 3}, {1, 2}, {0, 1}},
    {{3, 3}, {1, 1}, {1, 1}, {1, 2}, {-2, 4}, {3, -1}},
    {{1, 9}, {1, 1}, {1, 1}, {1, 1}, {0, -9}, {0, 18}}, /* nothing but what is around */
    {{8, 9}, {1, 1}, {1, 1}, {1, 1}, {4, 2}, {1, 1}},   /* more than 64 elements */
    {{8, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},   /* no window */
};

/* The pair at a place of the plane with gaps and what is around it; false: no element is there. */
static bool window_element(const array *a, const window_case *w, int64_t image, int64_t row,
                           int64_t column, pair *element) {
  int64_t at[2] = {row - w->before[0], column - w->before[1]};
  for (int i = 0; i < 2; i++) {
    if (at[i] < 0 || at[i] % w->spread[i] || at[i] / w->spread[i] >= a->shape[1 + i]) return false;
    at[i] /= w->spread[i];
  }
  size_t from = (size_t)((image * a->shape[1] + at[0]) * a->shape[2] + at[1]);
  *element = (pair){a->at[from], {from, 0}};
  return true;
}

static int64_t windows_along(const array *a, const window_case *w, int i) {
  int64_t all = (a->shape[1 + i] - 1) * w->spread[i] + 1 + w->before[i] + w->after[i],
          reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
  return all < reach ? 0 : (all - reach) / w->stride[i] + 1;
}

static pair one_window(const trial *t, const array *a, const window_case *w, int64_t image,
                       int64_t row, int64_t column) {
  pair p = nothing, element;
  for (int64_t i = 0; i < w->kernel[0]; i++)
    for (int64_t j = 0; j < w->kernel[1]; j++)
      if (window_element(a, w, image, row * w->stride[0] + i * w->dilation[0],
                         column * w->stride[1] + j * w->dilation[1], &element))
        p = joined_pair(t, p, element);
  return p;
}

static void window_one(trial *t, array *a, layout l, const window_case *w) {
  nx_tensor *x[2] = {laid_out(t, a, l), NULL}, *init[2], *out[2] = {NULL, NULL};
  x[1] = tensor_of(t, places_of(t, a->rank, a->shape));
  initial(t, init);
  int64_t shape[3] = {a->shape[0], windows_along(a, w, 0), windows_along(a, w, 1)};
  int64_t n = shape[0] * shape[1] * shape[2];
  pair *want = room(t, ((size_t)n + 1) * sizeof *want);
  for (int64_t i = 0; i < n; i++)
    want[i] = one_window(t, a, w, i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]);
  nx_sliding_window window = {sizeof window, 2,         w->kernel, w->stride,
                              w->dilation,   w->spread, w->before, w->after};
  char what[80];
  snprintf(what, sizeof what, "window %d, %s", (int)(w - window_cases), layout_names[l]);
  nx_function *f = first_of(t, t->dtype);
  nx_status status = nx_reduce_window(f, x, init, 2, &window, out, 2);
  expect_pairs(t, status, out, want, 3, shape, what);
  nx_function_release(f);
}

static void check_reduce_window(trial *t) {
  static const int64_t planes[] = {3, 7, 9};
  enum { CASES = sizeof window_cases / sizeof *window_cases };
  for (size_t i = 0; i < CASES; i++)
    if (is_due(t, i, CASES))
      window_one(t, sparse(t, 3, planes), (layout)(i % LAYOUTS), &window_cases[i]);
}

static nx_tensor *record_reduce_window(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {5}, two[] = {2};
  nx_tensor *x[2] = {tensor_of(t, tame_values(t, dtype, 1, shape, 1)),
                     tensor_of(t, places_of(t, 1, shape))},
            *init[2] = {tensor_of(t, new_array(t, dtype, 0, NULL)),
                        tensor_of(t, new_array(t, NX_I32, 0, NULL))},
            *out[2] = {NULL, NULL};
  nx_sliding_window window = {.size = sizeof window, .n = 1, .kernel = two};
  nx_function *f = first_of(t, dtype);
  if (f) nx_reduce_window(f, x, init, 2, &window, out, 2);
  nx_function_release(f);
  return out[0];
}

/* ---- sort_by: values and their places, greatest first; by a key, or by a comparator without */

static bool has_key(const trial *t) { return t->op->detail != NULL; }

static nx_function *greater_first(trial *t, nx_dtype dtype) {
  nx_function *f = NULL;
  nx_scope *scope = nx_scope_begin(t->context);
  nx_tensor *in[4] = {scalar_input(t, dtype), scalar_input(t, dtype), scalar_input(t, NX_I32),
                      scalar_input(t, NX_I32)},
            *no = nx_full_i64(t->context, t->device, NX_BOOL, NULL, 0, 0),
            *out = has_key(t) ? nx_cmpgt(in[0], in[1]) : nx_cmple(in[0], in[1]);
  if (out && !has_key(t)) out = nx_cmpeq(out, no);
  if (out) nx_function_create(t->context, in, 4, &out, 1, NULL, &f);
  nx_scope_end(scope);
  return f;
}

/* The lines of a along axis, each sorted by insertion; places: where in all of a they come from. */
static pair *sorted_pairs(trial *t, const array *a, int32_t axis) {
  int64_t strides[NX_MAX_RANK], index[NX_MAX_RANK];
  pair *p = room(t, (a->n + 1) * sizeof *p);
  strides_of(a->rank, a->shape, strides);
  for (size_t i = 0; i < a->n; i++) {
    pair own = {a->at[i], {i, 0}};
    unravel(i, a->rank, a->shape, index);
    size_t at = i, step = (size_t)strides[axis];
    value key = decode(t->dtype, own.value);
    for (int64_t left = index[axis]; left; left--, at -= step) {
      if (!is_less(decode(t->dtype, p[at - step].value), key)) break;
      p[at] = p[at - step];
    }
    p[at] = own;
  }
  return p;
}

static void sort_one(trial *t, array *a, layout l, int32_t axis) {
  nx_tensor *x[2] = {laid_out(t, a, l), NULL}, *out[2] = {NULL, NULL};
  x[1] = tensor_of(t, places_of(t, a->rank, a->shape));
  nx_function *f = greater_first(t, t->dtype);
  nx_status status = nx_sort_by(f, x, 2, axis, out, 2);
  char what[60];
  snprintf(what, sizeof what, "rank %d, axis %d, %s", a->rank, axis, layout_names[l]);
  expect_pairs(t, status, out, sorted_pairs(t, a, axis), a->rank, a->shape, what);
  nx_function_release(f);
}

static void check_sort_by(trial *t) {
  static const int64_t cube[] = {4, 3, 9}, none[] = {3, 0, 2}, line[] = {21}, one[] = {2, 1};
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++)
      if (is_due(t, l * 3 + (layout)axis, 18))
        sort_one(t, tame_values(t, t->dtype, 3, cube, 5), l, axis);
  if (has_key(t) || is_due(t, 0, 4)) sort_one(t, tame_values(t, t->dtype, 1, line, 5), FLIPPED, 0);
  sort_one(t, tame_values(t, t->dtype, 2, one, 5), TRANSPOSED, 1);
  sort_one(t, new_array(t, t->dtype, 3, none), CONTIGUOUS, 1);
  sort_one(t, new_array(t, t->dtype, 3, none), CONTIGUOUS, 2);
}

static nx_tensor *record_sort_by(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {5};
  nx_tensor *x[2] = {tensor_of(t, tame_values(t, dtype, 1, shape, 1)),
                     tensor_of(t, places_of(t, 1, shape))},
            *out[2] = {NULL, NULL};
  nx_function *f = greater_first(t, dtype);
  if (f) nx_sort_by(f, x, 2, 0, out, 2);
  nx_function_release(f);
  return out[0];
}

/* ---- total_order */

static void check_total_order(trial *t) {
  static const int64_t shape[] = {3, 40};
  nx_dtype integer = t->format->bits == 8    ? NX_I8
                     : t->format->bits == 16 ? NX_I16
                     : t->format->bits == 32 ? NX_I32
                                             : NX_I64;
  uint64_t top = UINT64_C(1) << (t->format->bits - 1), all = top | (top - 1);
  for (layout l = 0; l < LAYOUTS; l++) {
    array *a = some_values(t, t->dtype, 2, shape, 3), *want = new_array(t, integer, 2, shape);
    nx_tensor *x = laid_out(t, a, l);
    for (size_t i = 0; i < a->n; i++)
      want->at[i].low = a->at[i].low & top ? (~a->at[i].low & all) ^ top : a->at[i].low;
    expect(t, nx_total_order(x), want, SAME_BITS, layout_names[l]);
  }
  expect_refusal(t, nx_total_order(NULL), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_total_order(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {5};
  return nx_total_order(tensor_of(t, tame_values(t, dtype, 1, shape, 1)));
}

static const operation by_function_table[] = {
    {"reduce_by", B | I | F | C, check_reduce_by, record_reduce_by, NULL, 0, NULL},
    {"scan_by", B | I | F | C, check_scan_by, record_scan_by, NULL, 0, NULL},
    {"reduce_window", B | I | F | C, check_reduce_window, record_reduce_window, NULL, 0, NULL},
    {"sort_by, keys", B | I | F | C, check_sort_by, record_sort_by, "keys", 0, NULL},
    {"sort_by, network", B | I | F | C, check_sort_by, record_sort_by, NULL, 0, NULL},
    {"total_order", F, check_total_order, record_total_order, NULL, 0, NULL},
};
const family by_function_family = {"By a function", by_function_table,
                                   sizeof by_function_table / sizeof *by_function_table};
