/* SPDX-License-Identifier: ISC */
/* Movement, views and memory: which element goes where. A row has a function that says, for a
 * position of the result, which position of the operand it shows; bits are compared, those of NaNs
 * too. */
#include "../conformance.h"

#include <stdio.h>
#include <string.h>

static const int64_t cube[] = {3, 4, 6};

/* ---- views and copies of a cube */

typedef struct movement {
  nx_tensor *(*record)(nx_tensor *x);
  extent result;
  /* From an index of the result to one of the cube. */
  void (*source)(const int64_t *index, int64_t *from);
  bool (*bad)(trial *t, nx_tensor *x); /* further refusals */
} movement;

static nx_tensor *do_expand(nx_tensor *x) {
  nx_tensor *last = nx_shrink(x, (const int64_t[]){0, 1, 0}, (const int64_t[]){3, 2, 6}, 3);
  return nx_expand(last, NX_SHAPE(2, 3, 5, 6));
}
static void from_expand(const int64_t *i, int64_t *from) {
  from[0] = i[1], from[1] = 1, from[2] = i[3];
}
static nx_tensor *do_reshape(nx_tensor *x) {
  nx_tensor *y = nx_reshape(x, NX_SHAPE(2, 6, 6), 0);
  if (y) return y;
  nx_error_take(NULL); /* strides that cannot express it */
  return nx_reshape(nx_contiguous(x), NX_SHAPE(2, 6, 6), 0);
}
static void from_reshape(const int64_t *i, int64_t *from) {
  int64_t position = (i[0] * 6 + i[1]) * 6 + i[2];
  from[0] = position / 24, from[1] = position / 6 % 4, from[2] = position % 6;
}
static nx_tensor *do_permute(nx_tensor *x) { return nx_permute(x, NX_AXES(2, 0, -2)); }
static void from_permute(const int64_t *i, int64_t *from) {
  from[2] = i[0], from[0] = i[1], from[1] = i[2];
}
static nx_tensor *do_shrink(nx_tensor *x) {
  return nx_shrink(x, (const int64_t[]){1, 0, 2}, (const int64_t[]){3, 3, 6}, 3);
}
static void from_shrink(const int64_t *i, int64_t *from) {
  from[0] = i[0] + 1, from[1] = i[1], from[2] = i[2] + 2;
}
static nx_tensor *do_flip(nx_tensor *x) { return nx_flip(x, NX_AXES(0, -1)); }
static void from_flip(const int64_t *i, int64_t *from) {
  from[0] = 2 - i[0], from[1] = i[1], from[2] = 5 - i[2];
}
static nx_tensor *do_slice(nx_tensor *x) {
  return nx_slice(x, (const int64_t[]){2, 0, 1}, (const int64_t[]){3, 2, 2},
                  (const int64_t[]){-1, 2, 3}, 3);
}
static void from_slice(const int64_t *i, int64_t *from) {
  from[0] = 2 - i[0], from[1] = 2 * i[1], from[2] = 1 + 3 * i[2];
}
/* Of the whole storage, so of a copy: anti-diagonals that overlap. */
static nx_tensor *do_as_strided(nx_tensor *x) {
  return nx_as_strided(nx_copy(x), (const int64_t[]){4, 5}, (const int64_t[]){-2, 7}, 2, 11);
}
static void from_as_strided(const int64_t *i, int64_t *from) {
  int64_t position = 11 - 2 * i[0] + 7 * i[1];
  from[0] = position / 24, from[1] = position / 6 % 4, from[2] = position % 6;
}
static nx_tensor *do_get(nx_tensor *x) {
  const nx_range ranges[] = {{NX_OPEN, NX_OPEN, -2}, {-3, 99, 1}};
  return nx_get(x, ranges, 2);
}
static void from_get(const int64_t *i, int64_t *from) {
  from[0] = 2 - 2 * i[0], from[1] = 1 + i[1], from[2] = i[2];
}
static void from_same(const int64_t *i, int64_t *from) { memcpy(from, i, 3 * sizeof *i); }
static nx_tensor *do_to_device(nx_tensor *x) {
  nx_tensor_info info = {.size = sizeof info};
  if (x) nx_tensor_describe(x, &info);
  return nx_to_device(x, x ? info.device : 0);
}

static bool bad_expand(trial *t, nx_tensor *x) {
  expect_refusal(t, nx_expand(x, NX_SHAPE(3, 4, 7)), NX_INVALID_ARGUMENT, "6 elements to 7");
  expect_refusal(t, nx_expand(x, NX_SHAPE(4, 6)), NX_INVALID_ARGUMENT, "to a lower rank");
  expect_refusal(t, nx_expand(x, NX_SHAPE((int64_t)1 << 62, 3, 4, 6)), NX_INVALID_ARGUMENT,
                 "beyond 63 bits");
  return true;
}
static bool bad_reshape(trial *t, nx_tensor *x) {
  expect_refusal(t, nx_reshape(x, NX_SHAPE(3, 25), 0), NX_INVALID_ARGUMENT, "72 elements to 75");
  expect_refusal(t, nx_reshape(x, NX_SHAPE(-3, -24), 0), NX_INVALID_ARGUMENT, "negative extents");
  nx_tensor *turned = nx_permute(nx_copy(x), NX_AXES(2, 1, 0));
  expect_refusal(t, nx_reshape(turned, NX_SHAPE(72), 0), NX_NEEDS_COPY,
                 "strides that cannot express it");
  return true;
}
static bool bad_permute(trial *t, nx_tensor *x) {
  expect_refusal(t, nx_permute(x, NX_AXES(0, 1)), NX_INVALID_ARGUMENT, "too few axes");
  expect_refusal(t, nx_permute(x, NX_AXES(0, 1, 1)), NX_INVALID_ARGUMENT, "an axis twice");
  expect_refusal(t, nx_permute(x, NX_AXES(0, 1, 3)), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  return true;
}
static bool bad_shrink(trial *t, nx_tensor *x) {
  const int64_t zero[] = {0, 0, 0}, three[] = {3, 3, 3}, past[] = {3, 4, 7}, below[] = {0, -1, 0};
  expect_refusal(t, nx_shrink(x, zero, past, 3), NX_INDEX_OUT_OF_RANGE, "past the end");
  expect_refusal(t, nx_shrink(x, below, three, 3), NX_INDEX_OUT_OF_RANGE, "before the start");
  expect_refusal(t, nx_shrink(x, NULL, three, 3), NX_INVALID_ARGUMENT, "no list");
  return true;
}
static bool bad_flip(trial *t, nx_tensor *x) {
  expect_refusal(t, nx_flip(x, NX_AXES(3)), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, nx_flip(x, NX_AXES(1, -2)), NX_INVALID_ARGUMENT, "an axis twice");
  return true;
}
static bool bad_slice(trial *t, nx_tensor *x) {
  const int64_t zero[] = {0, 0, 0}, one[] = {1, 1, 1}, many[] = {3, 4, 7};
  expect_refusal(t, nx_slice(x, zero, one, zero, 3), NX_INVALID_ARGUMENT, "a step of 0");
  expect_refusal(t, nx_slice(x, zero, many, one, 3), NX_INDEX_OUT_OF_RANGE, "past the end");
  return true;
}
static bool bad_as_strided(trial *t, nx_tensor *x) {
  nx_tensor *whole = nx_copy(x);
  const int64_t n[] = {4}, far[] = {30}, back[] = {-1};
  expect_refusal(t, nx_as_strided(whole, n, far, 1, 0), NX_INVALID_ARGUMENT, "past the end");
  expect_refusal(t, nx_as_strided(whole, n, back, 1, 2), NX_INVALID_ARGUMENT, "before the start");
  return true;
}
static bool bad_get(trial *t, nx_tensor *x) {
  const nx_range still = {0, 2, 0};
  expect_refusal(t, nx_get(x, &still, 1), NX_INVALID_ARGUMENT, "a step of 0");
  expect_refusal(t, nx_get(x, NULL, 4), NX_INVALID_ARGUMENT, "more ranges than axes");
  return true;
}

static void expect_moved(trial *t, const movement *m, array *a, layout l) {
  nx_tensor *x = laid_out(t, a, l);
  array *want = new_array(t, t->dtype, m->result.rank, m->result.shape);
  int64_t index[NX_MAX_RANK], from[NX_MAX_RANK];
  for (size_t i = 0; i < want->n; i++) {
    unravel(i, want->rank, want->shape, index);
    m->source(index, from);
    want->at[i] = a->at[ravel(3, cube, from)];
  }
  expect(t, m->record(x), want, SAME_BITS, layout_names[l]);
}

static void check_movement(trial *t) {
  const movement *m = t->op->detail;
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) expect_moved(t, m, some_values(t, t->dtype, 3, cube, 1), l);
  expect_refusal(t, m->record(NULL), NX_INVALID_ARGUMENT, "a null operand");
  if (m->bad) m->bad(t, tensor_of(t, some_values(t, t->dtype, 3, cube, 1)));
}

/* ---- copies of every rank */

static void check_copies(trial *t) {
  const movement *m = t->op->detail;
  check_movement(t);
  for (size_t i = 0; i < n_shapes; i++) {
    if (!is_due(t, i, n_shapes)) continue;
    array *a = some_values(t, t->dtype, shapes[i].rank, shapes[i].shape, 2);
    nx_tensor *x = laid_out(t, a, (layout)(t->turn % LAYOUTS));
    expect(t, m->record(x), a, SAME_BITS, "every rank");
  }
}

/* ---- pad and cat */

static void check_pad(trial *t) {
  static const int64_t before[] = {1, 0, 2}, after[] = {0, 3, 1}, shape[] = {4, 7, 9},
                       less[] = {-1, 0, 0};
  const nx_scalar value = {NX_SCALAR_C128, {.f = {3, -1}}};
  nx_tensor *x = NULL;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 3, cube, 1), *want = new_array(t, t->dtype, 3, shape);
    x = laid_out(t, a, l);
    int64_t index[3];
    for (size_t i = 0; i < want->n; i++) want->at[i] = encode(t->dtype, (struct value){3, -1});
    for (size_t i = 0; i < a->n; i++) {
      unravel(i, 3, cube, index);
      for (int k = 0; k < 3; k++) index[k] += before[k];
      want->at[ravel(3, shape, index)] = a->at[i];
    }
    expect(t, nx_pad(x, before, after, 3, &value), want, SAME_BITS, layout_names[l]);
  }
  expect_refusal(t, nx_pad(x, less, after, 3, &value), NX_INVALID_ARGUMENT, "negative amounts");
  expect_refusal(t, nx_pad(x, before, after, 3, NULL), NX_INVALID_ARGUMENT, "no value");
  expect_refusal(t, nx_pad(NULL, before, after, 3, &value), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_pad(trial *t, nx_dtype dtype) {
  static const int64_t one[] = {1, 1, 1};
  return nx_pad(tensor_of(t, tame_values(t, dtype, 3, cube, 1)), one, one, 3, NX_INTEGER(1));
}

/* Along each axis: a cube, an empty one, a slab in another layout. */
static void expect_cat(trial *t, layout l, int32_t axis) {
  int64_t slab[3], empty[3], shape[3], index[3];
  for (int k = 0; k < 3; k++) {
    slab[k] = k == axis ? 2 : cube[k];
    empty[k] = k == axis ? 0 : cube[k];
    shape[k] = k == axis ? cube[k] + 2 : cube[k];
  }
  array *a = some_values(t, t->dtype, 3, cube, 1), *b = some_values(t, t->dtype, 3, slab, 2);
  nx_tensor *list[3];
  list[0] = laid_out(t, a, l);
  list[1] = tensor_of(t, new_array(t, t->dtype, 3, empty));
  list[2] = laid_out(t, b, (l + 1) % LAYOUTS);
  array *want = new_array(t, t->dtype, 3, shape);
  for (size_t i = 0; i < want->n; i++) {
    unravel(i, 3, shape, index);
    bool first = index[axis] < cube[axis];
    if (!first) index[axis] -= cube[axis];
    want->at[i] = first ? a->at[ravel(3, cube, index)] : b->at[ravel(3, slab, index)];
  }
  expect(t, nx_cat(list, 3, axis - (l % 2 ? 3 : 0)), want, SAME_BITS, layout_names[l]);
}

static void check_cat(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++)
      if (is_due(t, (l + (layout)axis) % LAYOUTS, LAYOUTS)) expect_cat(t, l, axis);
  static const int64_t other_shape[] = {3, 5, 6};
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 3, cube, 1));
  nx_tensor *wide = tensor_of(t, some_values(t, t->dtype, 3, other_shape, 1));
  nx_tensor *type = tensor_of(t, some_values(t, t->dtype == NX_I16 ? NX_I32 : NX_I16, 3, cube, 1));
  nx_tensor *scalar = tensor_of(t, some_values(t, t->dtype, 0, NULL, 1));
  expect_refusal(t, nx_cat((nx_tensor *const[]){x, wide}, 2, 0), NX_INVALID_ARGUMENT,
                 "other extents");
  expect_refusal(t, nx_cat((nx_tensor *const[]){x, type}, 2, 0), NX_INVALID_ARGUMENT, "two types");
  expect_refusal(t, nx_cat((nx_tensor *const[]){x, x}, 2, 3), NX_INVALID_ARGUMENT,
                 "axis 3 of rank 3");
  expect_refusal(t, nx_cat((nx_tensor *const[]){scalar, scalar}, 2, 0), NX_INVALID_ARGUMENT,
                 "rank 0");
  expect_refusal(t, nx_cat((nx_tensor *const[]){x, NULL}, 2, 0), NX_INVALID_ARGUMENT,
                 "a null operand");
  expect_refusal(t, nx_cat(NULL, 0, 0), NX_INVALID_ARGUMENT, "no tensors");
}
static nx_tensor *record_cat(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 3, cube, 1));
  return nx_cat((nx_tensor *const[]){x, x}, 2, 0);
}

/* ---- assign and set, through views of every layout */

/* Writes a row, broadcast, over a view of copied memory, and looks at all of the memory and at a
 * value recorded before. */
static void check_assign(trial *t) {
  static const int64_t base_shape[] = {5, 11}, start[] = {4, 1}, count[] = {2, 5}, step[] = {-3, 2},
                       row[] = {1, 5};
  static const nx_range ranges[] = {{4, NX_OPEN, -3}, {1, NX_OPEN, 2}};
  bool by_range = !strcmp(t->op->name, "set");
  array *base = some_values(t, t->dtype, 2, base_shape, 1),
        *src = some_values(t, t->dtype, 2, row, 2);
  array *want = new_array(t, t->dtype, 2, base_shape);
  memcpy(want->at, base->at, base->n * sizeof *base->at);
  for (int64_t i = 0; i < 2; i++)
    for (int64_t k = 0; k < 5; k++) want->at[(4 - 3 * i) * 11 + 1 + 2 * k] = src->at[k];
  nx_tensor *x = tensor_of(t, base), *y = laid_out(t, src, (layout)(t->turn % BROADCAST));
  nx_tensor *old = nx_copy(x), *view = nx_slice(x, start, count, step, 2);
  nx_status status = by_range ? nx_set(x, ranges, 2, y) : nx_assign(view, y);
  expect_status(t, status, NX_OK, "assigning through a view");
  expect(t, x, want, SAME_BITS, "all of the memory");
  expect(t, old, base, SAME_BITS, "what was recorded before");
  nx_tensor *type = tensor_of(t, some_values(t, t->dtype == NX_I16 ? NX_I32 : NX_I16, 2, row, 1));
  if (by_range) {
    expect_status(t, nx_set(x, ranges, 2, type), NX_INVALID_ARGUMENT, "another type");
    return;
  }
  static const int64_t twice[] = {2, 2, 5};
  expect_status(t, nx_assign(view, type), NX_INVALID_ARGUMENT, "another type");
  expect_status(t, nx_assign(view, x), NX_INVALID_ARGUMENT, "another shape");
  expect_status(t, nx_assign(nx_expand(view, twice, 3), y), NX_INVALID_ARGUMENT,
                "a view that repeats elements");
  expect_status(t, nx_assign(NULL, y), NX_INVALID_ARGUMENT, "a null operand");
}

#define VIEW(name, types, ...)                                           \
  {#name,                                                                \
   types,                                                                \
   check_movement,                                                       \
   NULL,                                                                 \
   &(const movement){do_##name, {__VA_ARGS__}, from_##name, bad_##name}, \
   0,                                                                    \
   NULL}
#define COPY(name, recorder)                                                                     \
  {#name, ALL, check_copies, NULL, &(const movement){recorder, {3, {3, 4, 6}}, from_same, NULL}, \
   0,     NULL}

static const operation move_table[] = {
    VIEW(expand, ALL, 4, {2, 3, 5, 6}),
    VIEW(reshape, ALL, 3, {2, 6, 6}),
    VIEW(permute, ALL, 3, {6, 3, 4}),
    VIEW(shrink, ALL, 3, {2, 3, 4}),
    VIEW(flip, ALL, 3, {3, 4, 6}),
    VIEW(slice, ALL, 3, {3, 2, 2}),
    VIEW(as_strided, ALL, 2, {4, 5}),
    VIEW(get, ALL, 3, {2, 3, 6}),
    COPY(contiguous, nx_contiguous),
    COPY(copy, nx_copy),
    COPY(to_device, do_to_device),
    {"pad", ALL, check_pad, record_pad, NULL, 0, NULL},
    {"cat", ALL, check_cat, record_cat, NULL, 0, NULL},
    {"assign", ALL, check_assign, NULL, NULL, 0, NULL},
    {"set", ALL, check_assign, NULL, NULL, 0, NULL},
};
const family move_family = {"Movement and memory", move_table,
                            sizeof move_table / sizeof *move_table};
