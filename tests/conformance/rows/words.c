/* SPDX-License-Identifier: ISC */
/* Operations on the bits of floats, and bits as elements of another size. References look at bits,
 * since a NaN has a sign too. */
#include "elements.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t plane[] = {SOME / 32, 32};

static uint64_t sign_of(nx_dtype dtype) { return (uint64_t)1 << (format_of(dtype)->bits - 1); }

/* ---- copysign, signbit, nextafter */

static bits copysign_bits(nx_dtype dtype, bits a, bits b) {
  uint64_t sign = sign_of(dtype);
  return (bits){(a.low & ~sign) | (b.low & sign), 0};
}

/* Of all numbers of the type the nearest one beyond a, tried one after the other. */
static bits beyond(nx_dtype dtype, long double a, bool upward) {
  bits best = {0, 0};
  long double at = upward ? (long double)INFINITY : -(long double)INFINITY;
  bool found = false;
  for (uint64_t b = 0; b < (uint64_t)1 << format_of(dtype)->bits; b++) {
    long double x = decode(dtype, (bits){b, 0}).re;
    bool good = upward ? x > a && x <= at : x < a && x >= at;
    if (!good || (found && x == at && x != 0)) continue;
    if (x == 0 && (b != 0) != (a < 0)) continue; /* zeros have the sign of a */
    best = (bits){b, 0};
    at = x;
    found = true;
  }
  return best;
}

static bits next_bits(nx_dtype dtype, bits a, bits b) {
  long double x = decode(dtype, a).re, y = decode(dtype, b).re;
  if (isnan(x) || isnan(y)) return isnan(x) ? a : b;
  if (x == y) return b;
  if (dtype == NX_F64) return encode_real(dtype, nextafter((double)x, (double)y));
  if (dtype == NX_F32) return encode_real(dtype, nextafterf((float)x, (float)y));
  return beyond(dtype, x, x < y);
}

typedef struct of_pairs {
  nx_tensor *(*record)(nx_tensor *, nx_tensor *);
  bits (*want)(nx_dtype dtype, bits a, bits b);
} of_pairs;
static const of_pairs copysigns = {nx_copysign, copysign_bits}, nexts = {nx_nextafter, next_bits};

static void check_pairs(trial *t) {
  const of_pairs *p = t->op->detail;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 2, plane, 1), *b = some_values(t, t->dtype, 2, plane, 5);
    nx_tensor *x = laid_out(t, a, l), *y = laid_out(t, b, (l + 1) % LAYOUTS);
    array *want = new_array(t, t->dtype, 2, plane);
    for (size_t i = 0; i < a->n; i++) want->at[i] = p->want(t->dtype, a->at[i], b->at[i]);
    expect(t, p->record(x, y), want, SAME, layout_names[l]);
  }
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 2, plane, 1)),
            *other = nx_cast(x, t->dtype == NX_F32 ? NX_F64 : NX_F32);
  expect_refusal(t, p->record(x, other), NX_INVALID_ARGUMENT, "two types");
  expect_refusal(t, p->record(x, NULL), NX_INVALID_ARGUMENT, "a null operand");
  const int64_t three[] = {3};
  expect_refusal(t, p->record(x, tensor_of(t, tame_values(t, t->dtype, 1, three, 1))),
                 NX_INVALID_ARGUMENT, "shapes");
}
static nx_tensor *record_pairs(trial *t, nx_dtype dtype) {
  const of_pairs *p = t->op->detail;
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, plane, 1));
  return p->record(x, x);
}

static void check_signbit(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 2, plane, 2), *want = new_array(t, NX_BOOL, 2, plane);
    nx_tensor *x = laid_out(t, a, l);
    for (size_t i = 0; i < a->n; i++) want->at[i].low = (a->at[i].low & sign_of(t->dtype)) != 0;
    expect(t, nx_signbit(x), want, SAME, layout_names[l]);
  }
}
static nx_tensor *record_signbit(trial *t, nx_dtype dtype) {
  return nx_signbit(tensor_of(t, tame_values(t, dtype, 2, plane, 1)));
}

/* ---- reduce_precision: rounded as a number */

static bits reduced(nx_dtype dtype, bits b, int exponent_bits, int mantissa_bits) {
  const format *f = format_of(dtype);
  int own = f->bits - f->precision, exponent;
  long double x = decode(dtype, b).re;
  if (!isfinite(x) || x == 0) return b;
  if (mantissa_bits < f->precision - 1) {
    frexpl(x, &exponent);
    if (exponent <= f->least_exponent) exponent = f->least_exponent + 1; /* subnormal */
    long double unit = ldexpl(1, exponent - 1 - mantissa_bits), steps = fabsl(x) / unit;
    /* Without a fraction the last bit of a number is that of its exponent. */
    bool up = mantissa_bits == 0 && steps == 1.5L && (exponent - 1 - f->least_exponent) % 2 == 0;
    long double whole = mantissa_bits == 0 && steps == 1.5L ? 1 + up : rintl(steps);
    x = copysignl(whole * unit, x);
  }
  if (exponent_bits < own) {
    int most = (1 << (exponent_bits - 1)) - 1;
    if (fabsl(x) >= ldexpl(1, most + 1)) x = copysignl((long double)INFINITY, x);
    else if (fabsl(x) < ldexpl(1, 1 - most)) x = copysignl(0, x);
  }
  return encode_real(dtype, x);
}

static void check_reduce_precision(trial *t) {
  static const int counts[][2] = {{8, 7}, {5, 10}, {11, 52}, {4, 3}, {8, 23},
                                  {2, 1}, {5, 0},  {1, 4},   {3, 60}};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    array *a = some_values(t, t->dtype, 2, plane, 3), *want = new_array(t, t->dtype, 2, plane);
    nx_tensor *x = laid_out(t, a, (layout)(i % LAYOUTS));
    for (size_t k = 0; k < a->n; k++)
      want->at[k] = reduced(t->dtype, a->at[k], counts[i][0], counts[i][1]);
    char what[40];
    snprintf(what, sizeof what, "%d and %d bits", counts[i][0], counts[i][1]);
    expect(t, nx_reduce_precision(x, counts[i][0], counts[i][1]), want, SAME, what);
  }
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 2, plane, 1));
  expect_refusal(t, nx_reduce_precision(x, 0, 3), NX_INVALID_ARGUMENT, "no exponent");
  expect_refusal(t, nx_reduce_precision(x, 3, -1), NX_INVALID_ARGUMENT, "less than no fraction");
}
static nx_tensor *record_reduce_precision(trial *t, nx_dtype dtype) {
  return nx_reduce_precision(tensor_of(t, tame_values(t, dtype, 2, plane, 1)), 5, 2);
}

/* ---- clamp */

/* Of two numbers; -0 is below +0. */
static bits better(nx_dtype dtype, bits a, bits b, bool most) {
  if (format_of(dtype)->kind == KIND_COMPLEX)
    return encode(dtype, (most ? complex_max : complex_min)(decode(dtype, a), decode(dtype, b)));
  long double x = decode(dtype, a).re, y = decode(dtype, b).re;
  if (isnan(x) || isnan(y)) return isnan(x) ? a : b;
  bool above = x > y || (x == y && !signbit(x));
  return above == most ? a : b;
}

static void check_clamp(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *a = some_values(t, t->dtype, 2, plane, 1), *low = some_values(t, t->dtype, 2, plane, 2),
          *high = some_values(t, t->dtype, 1, plane + 1, 3);
    nx_tensor *x = laid_out(t, a, l), *from = laid_out(t, low, (l + 1) % LAYOUTS),
              *to = tensor_of(t, high);
    array *want = new_array(t, t->dtype, 2, plane);
    for (size_t i = 0; i < a->n; i++)
      want->at[i] = better(t->dtype, better(t->dtype, a->at[i], low->at[i], true),
                           high->at[i % high->n], false);
    expect(t, nx_clamp(from, x, to), want, SAME, layout_names[l]);
  }
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 2, plane, 1));
  expect_refusal(t, nx_clamp(NULL, x, x), NX_INVALID_ARGUMENT, "no lower bound");
  expect_refusal(t, nx_clamp(x, x, NULL), NX_INVALID_ARGUMENT, "no upper bound");
}
static nx_tensor *record_clamp(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, plane, 1));
  return nx_clamp(x, x, x);
}

/* ---- bitcast_convert: memory of one type read as another */

/* The elements of `to` that are in the same memory; NaNs count as one, so of floats they are tame
 * numbers that are no NaN in either type. */
static void expect_words(trial *t, array *a, nx_dtype to, int32_t rank, const int64_t *shape,
                         layout l) {
  size_t bytes;
  char what[60];
  nx_tensor *x = laid_out(t, a, l);
  unsigned char *memory = packed(t, a, &bytes);
  array *want = new_array(t, to, rank, shape);
  for (size_t i = 0; i < want->n; i++) {
    want->at[i] = bits_at(to, memory, i);
    if (to == NX_BOOL) want->at[i].low = want->at[i].low != 0;
  }
  snprintf(what, sizeof what, "to %s, %s", format_of(to)->name, layout_names[l]);
  expect(t, nx_bitcast_convert(x, to), want, SAME, what);
}

static void check_to(trial *t, nx_dtype to, size_t turn) {
  int from_bits = (int)nx_dtype_bits(t->dtype), to_bits = (int)nx_dtype_bits(to);
  int64_t split[] = {3, 4, from_bits > to_bits ? from_bits / to_bits : 1},
          joined[] = {3, 4, to_bits > from_bits ? to_bits / from_bits : 1};
  layout l = (layout)((t->turn + turn) % LAYOUTS);
  if (from_bits == to_bits) {
    expect_words(t, some_values(t, t->dtype, 2, split, 1), to, 2, split, l);
  } else if (from_bits > to_bits) {
    expect_words(t, some_values(t, t->dtype, 2, split, 1), to, 3, split, l);
  } else {
    expect_words(t, some_values(t, t->dtype, 3, joined, 1), to, 2, joined, l);
    joined[2]++;
    nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 3, joined, 1));
    expect_refusal(t, nx_bitcast_convert(x, to), NX_INVALID_ARGUMENT, "another last axis");
  }
}

static void check_bitcast_convert(trial *t) {
  for (size_t i = 0; i < FORMATS; i++) {
    nx_dtype to = formats[i].dtype;
    if (to == NX_C128) continue;
    if (t->dtype == NX_BOOL && to == NX_BOOL) continue;
    check_to(t, to, i);
  }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, plane, 1));
  expect_refusal(t, nx_bitcast_convert(x, (nx_dtype)77), NX_INVALID_ARGUMENT, "no type");
  expect_refusal(t, nx_bitcast_convert(x, NX_C128), NX_UNSUPPORTED_DTYPE, "c128");
}
static nx_tensor *record_bitcast_convert(trial *t, nx_dtype dtype) {
  return nx_bitcast_convert(tensor_of(t, tame_values(t, dtype, 2, plane, 1)), NX_U8);
}

static const operation words_table[] = {
    {"copysign", F, check_pairs, record_pairs, &copysigns, 0, NULL},
    {"nextafter", F, check_pairs, record_pairs, &nexts, 0, NULL},
    {"signbit", F, check_signbit, record_signbit, NULL, 0, NULL},
    {"reduce_precision", F, check_reduce_precision, record_reduce_precision, NULL, 0, NULL},
    {"clamp", B | I | F | C, check_clamp, record_clamp, NULL, 0, NULL},
    {"bitcast_convert", B | I | F | STORED | TYPE(NX_C32) | TYPE(NX_C64), check_bitcast_convert,
     record_bitcast_convert, NULL, 0, NULL},
};
const family words_family = {"Bits", words_table, sizeof words_table / sizeof *words_table};
