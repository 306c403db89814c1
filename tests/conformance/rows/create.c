/* SPDX-License-Identifier: ISC */
/* Creation: full, arange, eye, empty, imports, bytes, and single elements as scalars. */
#include "../conformance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- scalars: each kind becomes the type as by a cast, integers wrap, floats round once */

static const nx_scalar scalars[] = {
    {NX_SCALAR_I64, {.i = 3}},          {NX_SCALAR_I64, {.i = -1}},
    {NX_SCALAR_I64, {.i = INT64_MIN}},  {NX_SCALAR_I64, {.i = 4311744513}},
    {NX_SCALAR_I64, {.i = 2049}},       {NX_SCALAR_U64, {.u = UINT64_MAX}},
    {NX_SCALAR_U64, {.u = 200}},        {NX_SCALAR_F64, {.f = {-2.5, 0}}},
    {NX_SCALAR_F64, {.f = {1e10, 0}}},  {NX_SCALAR_F64, {.f = {0.1, 0}}},
    {NX_SCALAR_F64, {.f = {-0.0, 0}}},  {NX_SCALAR_F64, {.f = {465, 0}}},
    {NX_SCALAR_F64, {.f = {1e-45, 0}}}, {NX_SCALAR_F64, {.f = {INFINITY, 0}}},
    {NX_SCALAR_F64, {.f = {NAN, 0}}},   {NX_SCALAR_C128, {.f = {3.7, -2}}},
    {NX_SCALAR_C128, {.f = {0, 1}}}};
enum { SCALARS = sizeof scalars / sizeof *scalars };

static bits of_scalar(nx_dtype dtype, const nx_scalar *s) {
  bits b = {s->v.u, 0};
  if (s->kind == NX_SCALAR_I64) return converted(NX_I64, b, dtype);
  if (s->kind == NX_SCALAR_U64) return converted(NX_U64, b, dtype);
  nx_dtype from = s->kind == NX_SCALAR_F64 ? NX_F64 : NX_C128;
  value v = {s->v.f[0], from == NX_C128 ? s->v.f[1] : 0};
  return converted(from, encode(from, v), dtype);
}

static void check_full(trial *t) {
  const int64_t shape[] = {3, 5}, none[] = {2, 0}, vast[] = {(int64_t)1 << 40, (int64_t)1 << 40},
                less[] = {-1};
  for (int i = 0; i < SCALARS; i++) {
    char what[40];
    snprintf(what, sizeof what, "scalar %d", i);
    array *want = new_array(t, t->dtype, i % 4 ? 2 : 0, i % 4 == 1 ? none : shape);
    for (size_t k = 0; k < want->n; k++) want->at[k] = of_scalar(t->dtype, &scalars[i]);
    expect(t, nx_full(t->context, t->device, t->dtype, want->shape, want->rank, &scalars[i]), want,
           SAME, what);
  }
  int64_t many[NX_MAX_RANK + 1];
  for (int i = 0; i <= NX_MAX_RANK; i++) many[i] = 1;
  const nx_scalar *one = &scalars[0];
  expect_refusal(t, nx_full(t->context, t->device, t->dtype, vast, 2, one), NX_INVALID_ARGUMENT,
                 "beyond 63 bits");
  expect_refusal(t, nx_full(t->context, t->device, t->dtype, less, 1, one), NX_INVALID_ARGUMENT,
                 "a negative extent");
  expect_refusal(t, nx_full(t->context, t->device, t->dtype, many, 33, one), NX_INVALID_ARGUMENT,
                 "rank 33");
  expect_refusal(t, nx_full(t->context, t->device, t->dtype, many, -1, one), NX_INVALID_ARGUMENT,
                 "rank -1");
  expect_refusal(t, nx_full(t->context, t->device, t->dtype, shape, 1, NULL), NX_INVALID_ARGUMENT,
                 "no value");
  expect_refusal(t, nx_full(t->context, 99, t->dtype, shape, 1, one), NX_INVALID_ARGUMENT,
                 "device 99");
  expect_refusal(t, nx_full(t->context, t->device, 0, shape, 1, one), NX_INVALID_ARGUMENT,
                 "no such type");
}
static nx_tensor *record_full(trial *t, nx_dtype dtype) {
  return nx_full(t->context, t->device, dtype, NULL, 0, &scalars[0]);
}

/* ---- empty, and what is written to it: vast ones take no memory until they are touched */

static void check_empty(trial *t) {
  for (size_t i = 0; i < n_shapes; i++) {
    array *a = some_values(t, t->dtype, shapes[i].rank, shapes[i].shape, 1);
    expect(t, tensor_of(t, a), a, t->dtype == NX_BOOL ? SAME : SAME_BITS, "what was written");
  }
  const int64_t large[] = {(int64_t)1 << 45}, vast[] = {INT64_MAX, 3}, shape[] = {3};
  nx_tensor *x = nx_empty(t->context, t->device, t->dtype, large, 1);
  expect_status(t, x ? NX_OK : NX_INTERNAL, NX_OK, "2^45 elements that nobody touches");
  expect_refusal(t, nx_empty(t->context, t->device, t->dtype, vast, 2), NX_INVALID_ARGUMENT,
                 "beyond 63 bits");
  x = nx_empty(t->context, t->device, t->dtype, shape, 1);
  unsigned char memory[64] = {0};
  expect_status(t, nx_read(x, memory, 1000, NULL), NX_INVALID_ARGUMENT,
                "reading another number of bytes");
  expect_status(t, nx_write(x, memory, 1000, NULL), NX_INVALID_ARGUMENT,
                "writing another number of bytes");
}

/* ---- imports: strides of every sign over the host's memory. They are the CPU's; other devices get
 * copies */

static void check_import(trial *t) {
  static const int64_t base_shape[] = {24}, shape[] = {2, 3, 2}, strides[] = {-12, 2, 0};
  array *base = some_values(t, t->dtype, 1, base_shape, 1),
        *want = new_array(t, t->dtype, 3, shape);
  int64_t index[3];
  for (size_t i = 0; i < want->n; i++) {
    unravel(i, 3, shape, index);
    want->at[i] = base->at[15 - 12 * index[0] + 2 * index[1]];
  }
  for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    nx_import_desc d = {
        .size = sizeof d, .mode = mode, .dtype = t->dtype, .rank = 3, .shape = shape};
    d.strides = strides;
    d.offset = 15;
    d.base = packed(t, base, &d.bytes);
    nx_tensor *x = NULL;
    expect_status(t, nx_import(t->context, &d, &x), NX_OK, "importing");
    expect(t, nx_to_device(nx_copy(x), t->device), want, SAME_BITS, "what was imported");
    d.offset = 30;
    expect_status(t, nx_import(t->context, &d, &x), NX_INVALID_ARGUMENT,
                  "elements outside the memory");
    if (mode != NX_IMPORT_IMMUTABLE || !x) continue;
    nx_tensor *part = nx_as_strided(x, base_shape, (const int64_t[]){1}, 1, 0);
    expect_status(t, nx_assign(part, part), NX_NOT_WRITABLE, "assigning to an immutable import");
  }
}

/* ---- arange and eye */

/* Computed in the type: small floats in f32, whose products and sums round; bool from integers. */
static bits element_of_range(nx_dtype dtype, const nx_scalar *start, const nx_scalar *step,
                             int64_t i) {
  const format *f = format_of(dtype);
  value a = decode(dtype, of_scalar(dtype, start)), b = decode(dtype, of_scalar(dtype, step));
  if (f->kind < KIND_FLOAT) {
    whole sum = (whole)a.re + (whole)b.re * (whole)i,
          x = f->kind == KIND_BOOL ? sum : wrapped(dtype, sum);
    return encode_real(dtype, (long double)x);
  }
  if (f->precision == 53)
    return encode(dtype, (value){(double)a.re + (double)b.re * (double)i,
                                 (double)a.im + (double)b.im * (double)i});
  float re = (float)b.re * (float)i, im = (float)b.im * (float)i;
  return encode(dtype, (value){(float)a.re + re, (float)a.im + im});
}

static void check_arange(trial *t) {
  static const int pairs[][2] = {{0, 1}, {7, 0}, {8, 9}, {15, 9}, {4, 16}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    const nx_scalar *start = &scalars[pairs[i][0]], *step = &scalars[pairs[i][1]];
    const int64_t n = 40;
    array *want = new_array(t, t->dtype, 1, &n);
    for (int64_t k = 0; k < n; k++) want->at[k] = element_of_range(t->dtype, start, step, k);
    char what[40];
    snprintf(what, sizeof what, "pair %zu", i);
    expect(t, nx_arange(t->context, t->device, t->dtype, start, step, n), want, SAME, what);
  }
  expect_refusal(t, nx_arange(t->context, t->device, t->dtype, &scalars[0], &scalars[0], -1),
                 NX_INVALID_ARGUMENT, "-1 elements");
  expect_refusal(t, nx_arange(t->context, t->device, t->dtype, NULL, &scalars[0], 3),
                 NX_INVALID_ARGUMENT, "no start");
}
static nx_tensor *record_arange(trial *t, nx_dtype dtype) {
  return nx_arange(t->context, t->device, dtype, &scalars[0], &scalars[0], 3);
}

static void check_eye(trial *t) {
  const int64_t shape[] = {3, 5};
  for (int64_t k = -3; k < 6; k += 2) {
    array *want = new_array(t, t->dtype, 2, shape);
    for (int64_t i = 0; i < 15; i++) want->at[i] = encode_real(t->dtype, i % 5 - i / 5 == k);
    expect(t, nx_eye(t->context, t->device, t->dtype, 3, 5, k), want, SAME, "3 rows, 5 columns");
  }
  expect_refusal(t, nx_eye(t->context, t->device, t->dtype, -1, 2, 0), NX_INVALID_ARGUMENT,
                 "-1 rows");
}
static nx_tensor *record_eye(trial *t, nx_dtype dtype) {
  return nx_eye(t->context, t->device, dtype, 2, 2, 0);
}

/* ---- item */

static void check_item(trial *t) {
  const int64_t shape[] = {4, 16}, past[] = {4, 0}, below[] = {0, -17};
  array *a = some_values(t, t->dtype, 2, shape, 1);
  nx_tensor *x = laid_out(t, a, TRANSPOSED);
  for (size_t i = 0; i < a->n; i += 3) {
    int64_t index[2];
    unravel(i, 2, shape, index);
    if (i % 2) index[1] -= 16;
    nx_scalar s;
    expect_status(t, nx_item(x, index, 2, &s, NULL), NX_OK, "an element");
    bits b = of_scalar(t->dtype, &s), want = a->at[i];
    value is = decode(t->dtype, b), v = decode(t->dtype, want);
    bool same = (is.re == v.re || (isnan(is.re) && isnan(v.re))) &&
                (is.im == v.im || (isnan(is.im) && isnan(v.im)));
    if (!same) fault(t, "element %zu is (%Lg, %Lg), not (%Lg, %Lg)", i, is.re, is.im, v.re, v.im);
  }
  nx_scalar s;
  expect_status(t, nx_item(x, past, 2, &s, NULL), NX_INDEX_OUT_OF_RANGE, "past the end");
  expect_status(t, nx_item(x, below, 2, &s, NULL), NX_INDEX_OUT_OF_RANGE, "before the start");
}

/* ---- tensors of the host's bytes, which need no alignment */

static void check_from_data(trial *t) {
  size_t bytes;
  for (size_t i = 0; i < n_shapes; i++) {
    array *a = some_values(t, t->dtype, shapes[i].rank, shapes[i].shape, 1);
    unsigned char *memory = packed(t, a, &bytes), *beside = room(t, bytes + 1);
    memcpy(beside + 1, memory, bytes);
    expect(t, nx_from_data(t->context, t->device, t->dtype, a->shape, a->rank, beside + 1, bytes),
           a, t->dtype == NX_BOOL ? SAME : SAME_BITS, "what the bytes say");
    memset(beside, 0x5a, bytes + 1); /* it was copied */
  }
  const int64_t shape[] = {3};
  unsigned char memory[64] = {0};
  expect_refusal(t, nx_from_data(t->context, t->device, t->dtype, shape, 1, memory, 1000),
                 NX_INVALID_ARGUMENT, "another number of bytes");
  expect_refusal(t, nx_from_data(t->context, t->device, t->dtype, shape, 1, NULL, sizeof memory),
                 NX_INVALID_ARGUMENT, "no bytes");
}

static const operation create_table[] = {
    {"empty, read, write", ALL, check_empty, NULL, NULL, 0, NULL},
    {"import", ALL, check_import, NULL, NULL, 0, NULL},
    {"from_data", ALL, check_from_data, NULL, NULL, 0, NULL},
    {"full", ALL, check_full, record_full, NULL, 0, NULL},
    {"arange", B | I | F | C, check_arange, record_arange, NULL, 0, NULL},
    {"eye", B | I | F | C, check_eye, record_eye, NULL, 0, NULL},
    {"item", ALL, check_item, NULL, NULL, 0, NULL},
};
const family create_family = {"Creation", create_table, sizeof create_table / sizeof *create_table};
