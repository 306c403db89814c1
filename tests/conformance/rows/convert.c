/* SPDX-License-Identifier: ISC */
/* Conversion and choice: cast of every type to every type, bitcast, where, complex. The row's type
 * is the operand's. */
#include "../conformance.h"

#include <stdio.h>

static const int64_t plane[] = {SOME / 32, 32};

/* ---- cast */

/* The anchors of the contract: numbers halfway between two of a small float, and beyond its
 * largest. */
static array *anchors(trial *t) {
  static const double numbers[] = {2049,         2051,
                                   65519,        65520,
                                   65536,        257,
                                   259,          448,
                                   464,          465,
                                   57344,        61439,
                                   61440,        0x1p-24,
                                   0.1,          1e-9,
                                   -2.5,         3.5,
                                   -1e10,        127.9,
                                   -128.9,       255.5,
                                   -0.9,         1e19,
                                   1e300,        0x1p63,
                                   -0x1p63,      0x1.8p-25,
                                   0x1p-25,      0x1.000001p-10,
                                   4311744513.0, 0x1.fffffefp127,
                                   0x1p-149,     0x1.1p-134};
  const int64_t n = sizeof numbers / sizeof *numbers;
  array *a = new_array(t, t->dtype, 1, &n);
  for (int64_t i = 0; i < n; i++)
    a->at[i] = converted(NX_F64, encode_real(NX_F64, numbers[i]), t->dtype);
  return a;
}

static void expect_cast(trial *t, array *a, layout l) {
  nx_tensor *x = laid_out(t, a, l);
  t->operands[0] = a;
  for (size_t i = 0; i < FORMATS; i++) {
    char what[60];
    snprintf(what, sizeof what, "to %s, %s", formats[i].name, layout_names[l]);
    array *want = new_array(t, formats[i].dtype, a->rank, a->shape);
    for (size_t k = 0; k < a->n; k++) want->at[k] = converted(t->dtype, a->at[k], want->dtype);
    expect(t, nx_cast(x, formats[i].dtype), want, SAME, what);
  }
}

static void check_cast(trial *t) {
  expect_cast(t, anchors(t), CONTIGUOUS);
  for (size_t i = 0; i < LAYOUTS + n_shapes; i++) {
    if (!is_due(t, i, LAYOUTS + n_shapes)) continue;
    const extent *e = i < LAYOUTS ? NULL : &shapes[i - LAYOUTS];
    expect_cast(t, some_values(t, t->dtype, e ? e->rank : 2, e ? e->shape : plane, 3),
                e ? CONTIGUOUS : (layout)i);
  }
  nx_tensor *x = tensor_of(t, anchors(t));
  expect_refusal(t, nx_cast(NULL, NX_F32), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, nx_cast(x, 99), NX_INVALID_ARGUMENT, "a type that does not exist");
}

static nx_tensor *record_cast(trial *t, nx_dtype dtype) {
  return nx_cast(tensor_of(t, tame_values(t, dtype, 2, plane, 1)), NX_F32);
}

/* ---- bitcast */

static bits recast(nx_dtype from, bits b, nx_dtype to) {
  if (from == NX_C32) b = (bits){b.low | b.high << 16, 0};
  if (from == NX_C64) b = (bits){b.low | b.high << 32, 0};
  if (to == NX_BOOL) return (bits){b.low != 0, 0};
  if (to == NX_C32) return (bits){b.low & 0xffffu, b.low >> 16};
  if (to == NX_C64) return (bits){b.low & 0xffffffffu, b.low >> 32};
  return b;
}

static bool has_bitcast(nx_dtype from, nx_dtype to) {
  return nx_dtype_bits(from) == nx_dtype_bits(to);
}

static void expect_bitcast(trial *t, array *a, layout l) {
  nx_tensor *x = laid_out(t, a, l);
  for (size_t i = 0; i < FORMATS; i++) {
    nx_dtype to = formats[i].dtype;
    char what[60];
    snprintf(what, sizeof what, "to %s, %s", formats[i].name, layout_names[l]);
    if (!has_bitcast(t->dtype, to)) continue;
    array *want = new_array(t, to, a->rank, a->shape);
    bool moved = t->dtype == to;
    for (size_t k = 0; k < a->n; k++)
      want->at[k] = moved ? a->at[k] : recast(t->dtype, a->at[k], to);
    expect(t, nx_bitcast(x, to), want, SAME_BITS, what);
  }
}

static void check_bitcast(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) expect_bitcast(t, some_values(t, t->dtype, 2, plane, 3), l);
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 2, plane, 1));
  expect_refusal(t, nx_bitcast(x, nx_dtype_bits(t->dtype) == 16 ? NX_I8 : NX_I16),
                 NX_INVALID_ARGUMENT, "another size");
}

static nx_tensor *record_bitcast(trial *t, nx_dtype dtype) {
  return nx_bitcast(tensor_of(t, tame_values(t, dtype, 2, plane, 1)), dtype);
}

/* ---- where */

static array *chosen(trial *t, const array *mask, const array *a, const array *b) {
  array *want = new_array(t, a->dtype, a->rank, a->shape);
  for (size_t i = 0; i < a->n; i++) want->at[i] = mask->at[i].low ? a->at[i] : b->at[i];
  return want;
}

static void check_where(trial *t) {
  nx_tensor *x = NULL, *mask = NULL;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *m = some_values(t, NX_BOOL, 2, plane, 6), *a = some_values(t, t->dtype, 2, plane, 1);
    array *b = some_values(t, t->dtype, 2, plane, 2);
    mask = laid_out(t, m, l);
    x = laid_out(t, a, (l + 1) % LAYOUTS);
    nx_tensor *y = laid_out(t, b, (l + 2) % LAYOUTS);
    expect(t, nx_where(mask, x, y), chosen(t, m, a, b), SAME_BITS, layout_names[l]);
  }
  nx_tensor *other =
      tensor_of(t, tame_values(t, t->dtype == NX_I16 ? NX_I32 : NX_I16, 2, plane, 1));
  expect_refusal(t, nx_where(mask, x, other), NX_INVALID_ARGUMENT, "two types");
  expect_refusal(t, nx_where(other, x, x), NX_UNSUPPORTED_DTYPE, "a condition that is not bool");
  expect_refusal(t, nx_where(mask, NULL, x), NX_INVALID_ARGUMENT, "a null operand");
}

static nx_tensor *record_where(trial *t, nx_dtype dtype) {
  nx_tensor *mask = tensor_of(t, some_values(t, NX_BOOL, 2, plane, 1));
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, plane, 1));
  return nx_where(mask, x, x);
}

/* ---- complex numbers of two parts */

static void check_complex(trial *t) {
  nx_dtype to = t->dtype == NX_F16 ? NX_C32 : t->dtype == NX_F32 ? NX_C64 : NX_C128;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 2, plane, 1), *b = some_values(t, t->dtype, 2, plane, 2);
    nx_tensor *x = laid_out(t, a, l), *y = laid_out(t, b, (l + 1) % LAYOUTS);
    array *want = new_array(t, to, 2, plane);
    for (size_t i = 0; i < a->n; i++) want->at[i] = (bits){a->at[i].low, b->at[i].low};
    expect(t, nx_complex(x, y), want, SAME, layout_names[l]);
  }
}

static nx_tensor *record_complex(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, plane, 1));
  return nx_complex(x, x);
}

static const operation convert_table[] = {
    {"cast", ALL, check_cast, record_cast, NULL, 0, NULL},
    {"bitcast", ALL, check_bitcast, record_bitcast, NULL, 0, NULL},
    {"where", ALL, check_where, record_where, NULL, 0, NULL},
    {"complex", TYPE(NX_F16) | TYPE(NX_F32) | TYPE(NX_F64), check_complex, record_complex, NULL, 0,
     NULL},
};
const family convert_family = {"Conversion", convert_table,
                               sizeof convert_table / sizeof *convert_table};
