/* SPDX-License-Identifier: ISC */
/* Windows that begin where values say: slices and their updates, gather and scatter with dimension
 * numbers; on every type. tests/api/test_dimension_numbers.c has the numbers at random. */
#include "../conformance.h"

#include <string.h>

static const int64_t data_shape[] = {5, 7, 3};

/* ---- slices */

static bool is_checked(const trial *t) { return strstr(t->op->name, "checked") != NULL; }
static bool updates(const trial *t) { return strstr(t->op->name, "update") != NULL; }

static nx_tensor *starts_at(trial *t, const int64_t *at, nx_tensor **starts) {
  for (int i = 0; i < 3; i++) {
    array *a = new_array(t, i % 2 ? NX_I32 : NX_I64, 0, NULL);
    a->at[0].low = i % 2 ? (uint32_t)at[i] : (uint64_t)at[i];
    if (!(starts[i] = tensor_of(t, a))) return NULL;
  }
  return starts[0];
}

static nx_tensor *make_slice(trial *t, nx_tensor *x, nx_tensor *update, nx_tensor *const *starts,
                             const int64_t *sizes) {
  if (updates(t))
    return is_checked(t) ? nx_dynamic_update_slice_checked(x, update, starts, 3)
                         : nx_dynamic_update_slice(x, update, starts, 3);
  return is_checked(t) ? nx_dynamic_slice_checked(x, starts, sizes, 3)
                       : nx_dynamic_slice(x, starts, sizes, 3);
}

/* A part of these sizes at these starts, which are cut. */
static void check_part(trial *t, layout l, const int64_t *sizes, const int64_t *at) {
  nx_tensor *starts[3];
  array *a = some_values(t, t->dtype, 3, data_shape, 1), *u = some_values(t, t->dtype, 3, sizes, 2),
        *part = new_array(t, t->dtype, 3, sizes), *whole = new_array(t, t->dtype, 3, data_shape);
  nx_tensor *x = laid_out(t, a, l), *update = laid_out(t, u, (l + 1) % LAYOUTS);
  if (!starts_at(t, at, starts)) return;
  memcpy(whole->at, a->at, a->n * sizeof *a->at);
  for (size_t i = 0; i < part->n; i++) {
    int64_t p[3];
    unravel(i, 3, sizes, p);
    for (int k = 0; k < 3; k++) {
      int64_t last = data_shape[k] - sizes[k];
      p[k] += at[k] < 0 ? 0 : at[k] > last ? last : at[k];
    }
    part->at[i] = a->at[ravel(3, data_shape, p)];
    whole->at[ravel(3, data_shape, p)] = u->at[i];
  }
  expect(t, make_slice(t, x, update, starts, sizes), updates(t) ? whole : part, SAME_BITS,
         layout_names[l]);
}

static void check_slices(trial *t) {
  static const int64_t sizes[][3] = {{2, 7, 3}, {5, 1, 3}, {2, 3, 3}, {1, 7, 1}, {5, 7, 2}},
                       inside[][3] = {{3, 0, 0}, {0, 6, 0}, {1, 4, 0}, {4, 0, 2}, {0, 0, 1}},
                       far[][3] = {{9, 1, -1}, {-3, 7, 2}, {1, -4, 0}, {-1, 0, 5}, {0, 0, 8}};
  for (layout l = 0; l < LAYOUTS; l++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      if (is_due(t, (l + k) % LAYOUTS, LAYOUTS))
        check_part(t, l, sizes[k], is_checked(t) || l % 2 ? inside[k] : far[k]);
  nx_tensor *starts[3], *x = tensor_of(t, some_values(t, t->dtype, 3, data_shape, 1)),
                        *update = tensor_of(t, some_values(t, t->dtype, 3, sizes[2], 1));
  if (!starts_at(t, far[2], starts)) return;
  if (is_checked(t))
    expect_failure(t, make_slice(t, x, update, starts, sizes[2]), NX_INDEX_OUT_OF_RANGE, 0,
                   "a start below 0");
  expect_refusal(t, make_slice(t, NULL, update, starts, sizes[2]), NX_INVALID_ARGUMENT, "null");
  starts[1] = x;
  expect_refusal(t, make_slice(t, x, update, starts, sizes[2]),
                 t->dtype == NX_I32 || t->dtype == NX_I64 ? NX_INVALID_ARGUMENT
                                                          : NX_UNSUPPORTED_DTYPE,
                 "a start that is no number, or of rank 3");
}
static nx_tensor *record_slice(trial *t, nx_dtype dtype) {
  static const int64_t sizes[] = {2, 7, 1}, at[] = {1, 0, 2};
  nx_tensor *starts[3];
  if (!starts_at(t, at, starts)) return NULL;
  return make_slice(t, tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)),
                    tensor_of(t, tame_values(t, dtype, 3, sizes, 1)), starts, sizes);
}

/* ---- dimension numbers: four windows of [2, 3] of the axes 1 and 2, along axis 0 the element that
 * component 1 is a start of; dims: [2, 4, 3] with the windows' axes 0 and 2 */

enum { WINDOWS = 4 };
static const int64_t dims[] = {2, WINDOWS, 3}, window[] = {1, 2, 3};
static const int32_t window_dims[] = {0, 2}, left_out[] = {0}, map[] = {1, 0};

static array *some_starts(trial *t, layout l) {
  static const int64_t at[WINDOWS][2] = {{5, 0}, {4, 3}, {9, 1}, {0, -1}};
  static const int64_t shape[] = {WINDOWS, 2};
  array *a = new_array(t, l % 2 ? NX_I32 : NX_I64, 2, shape);
  for (size_t i = 0; i < a->n; i++)
    a->at[i].low = l % 2 ? (uint32_t)at[i / 2][i % 2] : (uint64_t)at[i / 2][i % 2];
  return a;
}

static bool scatters(const trial *t) { return !strncmp(t->op->name, "scatter", 7); }

static nx_tensor *make_general(trial *t, nx_tensor *x, nx_tensor *starts, nx_tensor *u,
                               int32_t vector_dim, nx_bounds bounds) {
  const nx_gather_numbers g = {.size = sizeof g,
                               .n_offset_dims = 2,
                               .n_collapsed_dims = 1,
                               .n_start_index_map = 2,
                               .offset_dims = window_dims,
                               .collapsed_slice_dims = left_out,
                               .start_index_map = map,
                               .slice_sizes = window,
                               .index_vector_dim = vector_dim,
                               .bounds = bounds,
                               .fill = NX_NUMBER(1)};
  const nx_scatter_numbers s = {.size = sizeof s,
                                .n_update_window_dims = 2,
                                .n_inserted_window_dims = 1,
                                .n_scatter_dims_to_operand_dims = 2,
                                .update_window_dims = window_dims,
                                .inserted_window_dims = left_out,
                                .scatter_dims_to_operand_dims = map,
                                .index_vector_dim = vector_dim,
                                .bounds = bounds};
  return scatters(t) ? nx_scatter_general(x, starts, u, &s, NX_SCATTER_SET, 0)
                     : nx_gather_general(x, starts, &g);
}

/* Where element i of the dims lies; false: its window does not fit, and the place is cut. */
static bool place_of(const array *starts, size_t i, size_t *place) {
  int64_t p[3], at[3];
  unravel(i, 3, dims, p);
  int64_t s1 = (int64_t)decode(starts->dtype, starts->at[2 * p[1]]).re,
          s0 = (int64_t)decode(starts->dtype, starts->at[2 * p[1] + 1]).re;
  at[0] = s0 < 0 ? 0 : s0 > 4 ? 4 : s0;
  at[1] = p[0] + (s1 < 0 ? 0 : s1 > 5 ? 5 : s1);
  at[2] = p[2];
  *place = ravel(3, data_shape, at);
  return s0 >= 0 && s0 <= 4 && s1 >= 0 && s1 <= 5;
}

static void check_general(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    nx_bounds bounds = l / 2 % 2 ? NX_BOUNDS_DROP : NX_BOUNDS_CLAMP;
    array *a = some_values(t, t->dtype, 3, data_shape, 1), *starts = some_starts(t, l),
          *u = some_values(t, t->dtype, 3, dims, 2),
          *want = new_array(t, t->dtype, 3, scatters(t) ? data_shape : dims);
    nx_tensor *x = laid_out(t, a, l), *i = laid_out(t, starts, (l + 1) % 5),
              *v = laid_out(t, u, (l + 2) % LAYOUTS);
    if (scatters(t)) memcpy(want->at, a->at, a->n * sizeof *a->at);
    for (size_t k = 0; k < u->n; k++) {
      size_t place;
      bool fits = place_of(starts, k, &place) || bounds == NX_BOUNDS_CLAMP;
      if (!scatters(t)) want->at[k] = fits ? a->at[place] : encode_real(t->dtype, 1);
      else if (fits) want->at[place] = u->at[k];
    }
    expect(t, make_general(t, x, i, v, 1, bounds), want, SAME_BITS, layout_names[l]);
  }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 3, data_shape, 1)),
            *i = tensor_of(t, some_starts(t, 0)),
            *v = tensor_of(t, some_values(t, t->dtype, 3, dims, 2));
  expect_failure(t, make_general(t, x, i, v, 1, NX_BOUNDS_CHECK), NX_INDEX_OUT_OF_RANGE, -1,
                 "windows that do not fit");
  expect_refusal(t, make_general(t, x, i, v, 0, 0), NX_INVALID_ARGUMENT, "four components");
  expect_refusal(t, make_general(t, x, i, v, 3, 0), NX_INVALID_ARGUMENT, "no such axis");
  expect_refusal(t, make_general(t, i, x, v, 1, 0),
                 t->dtype >= NX_I4 && t->dtype <= NX_U64 ? NX_INVALID_ARGUMENT
                                                         : NX_UNSUPPORTED_DTYPE,
                 "operands the other way round");
  expect_refusal(t, make_general(t, x, NULL, v, 1, 0), NX_INVALID_ARGUMENT, "no starts");
}
static nx_tensor *record_general(trial *t, nx_dtype dtype) {
  return make_general(t, tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)),
                      tensor_of(t, some_starts(t, 0)),
                      tensor_of(t, tame_values(t, dtype, 3, dims, 1)), 1, NX_BOUNDS_DEFAULT);
}

/* ---- by a function: the first value that is not 0 stays, so the order shows on every type */

static nx_function *of_two(trial *t, nx_dtype dtype, bool compares) {
  nx_function *f = NULL;
  nx_scope *scope = nx_scope_begin(t->context);
  nx_tensor *a = nx_placeholder(t->context, t->device, dtype, NULL, 0),
            *b = nx_placeholder(t->context, t->device, dtype, NULL, 0), *in[2] = {a, b},
            *out = NULL;
  if (compares) {
    out = nx_cmpge(a, b);
  } else {
    nx_tensor *zero = nx_full_i64(t->context, t->device, dtype, NULL, 0, 0),
              *keep = zero ? nx_cmpne(a, zero) : NULL;
    out = keep ? nx_where(keep, a, b) : NULL;
  }
  if (out) nx_function_create(t->context, in, 2, &out, 1, NULL, &f);
  nx_scope_end(scope);
  return f;
}

static bool is_zero(nx_dtype dtype, bits b) {
  value v = decode(dtype, b);
  return v.re == 0 && v.im == 0;
}

/* Three of four are 0. */
static array *sparse(trial *t, int32_t rank, const int64_t *shape, unsigned seed) {
  array *a = some_values(t, t->dtype, rank, shape, seed);
  uint64_t state = seed;
  for (size_t i = 0; i < a->n; i++)
    if (random_word(&state) % 4) a->at[i] = (bits){0, 0};
  return a;
}

static nx_tensor *make_by(nx_function *f, nx_tensor *x, nx_tensor *starts, nx_tensor *u) {
  const nx_scatter_numbers s = {.size = sizeof s,
                                .n_update_window_dims = 2,
                                .n_inserted_window_dims = 1,
                                .n_scatter_dims_to_operand_dims = 2,
                                .update_window_dims = window_dims,
                                .inserted_window_dims = left_out,
                                .scatter_dims_to_operand_dims = map,
                                .index_vector_dim = 1};
  nx_tensor *y = NULL;
  nx_scatter_by(f, &x, &u, 1, starts, &s, &y, 1);
  return y;
}

static void check_by(trial *t) {
  nx_function *f = of_two(t, t->dtype, false);
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = sparse(t, 3, data_shape, 3), *starts = some_starts(t, l), *u = sparse(t, 3, dims, 4),
          *want = new_array(t, t->dtype, 3, data_shape);
    nx_tensor *x = laid_out(t, a, l), *i = laid_out(t, starts, (l + 1) % 5),
              *v = laid_out(t, u, (l + 2) % LAYOUTS);
    memcpy(want->at, a->at, a->n * sizeof *a->at);
    for (size_t k = 0; k < u->n; k++) {
      size_t place;
      if (place_of(starts, k, &place) && is_zero(t->dtype, want->at[place]))
        want->at[place] = u->at[k];
    }
    expect(t, make_by(f, x, i, v), want, computed_moves(t->dtype), layout_names[l]);
  }
  expect_refusal(t, make_by(f, NULL, tensor_of(t, some_starts(t, 0)), NULL), NX_INVALID_ARGUMENT,
                 "null");
  nx_function_release(f);
}
static nx_tensor *record_by(trial *t, nx_dtype dtype) {
  nx_function *f = of_two(t, dtype, false);
  nx_tensor *y =
      f ? make_by(f, tensor_of(t, tame_values(t, dtype, 3, data_shape, 1)),
                  tensor_of(t, some_starts(t, 0)), tensor_of(t, tame_values(t, dtype, 3, dims, 1)))
        : NULL;
  nx_function_release(f);
  return y;
}

/* Windows of 2 x 2, two apart along the first axis, with an element around. */
static const int64_t image[] = {5, 7}, two[] = {2, 2}, apart[] = {2, 1}, around[] = {1, 1},
                     found[] = {3, 8};
static const nx_sliding_window sliding = {.size = sizeof sliding,
                                          .n = 2,
                                          .kernel = two,
                                          .stride = apart,
                                          .before = around,
                                          .after = around};

static nx_tensor *make_selected(trial *t, nx_dtype dtype, nx_tensor *x, nx_tensor *source) {
  nx_function *select = of_two(t, dtype, true), *f = select ? of_two(t, dtype, false) : NULL;
  nx_tensor *zero = nx_full_i64(t->context, t->device, dtype, NULL, 0, 0),
            *y = f && zero ? nx_select_and_scatter(select, f, x, source, zero, &sliding) : NULL;
  nx_function_release(select);
  nx_function_release(f);
  return y;
}

static void check_selected(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = tame_values(t, t->dtype, 2, image, 3), *source = sparse(t, 2, found, 5),
          *want = new_array(t, t->dtype, 2, image);
    nx_tensor *x = laid_out(t, a, l), *s = laid_out(t, source, (l + 1) % 5);
    for (int64_t w = 0; w < 24; w++) {
      int64_t best = -1;
      for (int64_t k = 0; k < 4; k++) {
        int64_t i = w / 8 * 2 + k / 2 - 1, j = w % 8 + k % 2 - 1, at = i * 7 + j;
        if (i < 0 || i >= 5 || j < 0 || j >= 7) continue;
        if (best < 0 || is_less(decode(t->dtype, a->at[best]), decode(t->dtype, a->at[at])))
          best = at;
      }
      if (is_zero(t->dtype, want->at[best])) want->at[best] = source->at[w];
    }
    expect(t, make_selected(t, t->dtype, x, s), want, SAME_BITS, layout_names[l]);
  }
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 2, image, 3));
  expect_refusal(t, make_selected(t, t->dtype, x, x), NX_INVALID_ARGUMENT, "as many windows");
}
static nx_tensor *record_selected(trial *t, nx_dtype dtype) {
  return make_selected(t, dtype, tensor_of(t, tame_values(t, dtype, 2, image, 1)),
                       tensor_of(t, tame_values(t, dtype, 2, found, 1)));
}

static const operation window_table[] = {
    {"dynamic_slice", ALL, check_slices, record_slice, NULL, 0, NULL},
    {"dynamic_slice_checked", ALL, check_slices, record_slice, NULL, 0, NULL},
    {"dynamic_update_slice", ALL, check_slices, record_slice, NULL, 0, NULL},
    {"dynamic_update_slice_checked", ALL, check_slices, record_slice, NULL, 0, NULL},
    {"gather_general", ALL, check_general, record_general, NULL, 0, NULL},
    {"scatter_general, set", ALL, check_general, record_general, NULL, 0, NULL},
    {"scatter_by", B | I | F | C, check_by, record_by, NULL, 0, NULL},
    {"select_and_scatter", B | I | F | C, check_selected, record_selected, NULL, 0, NULL},
};
const family window_family = {"Windows at values", window_table,
                              sizeof window_table / sizeof *window_table};
