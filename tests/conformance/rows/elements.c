/* SPDX-License-Identifier: ISC */
/* How an elementwise operation is checked: all pairs of corner values, broadcast against each
 * other; every layout; every rank; no elements. */
#include "elements.h"

#include <math.h>
#include <stdio.h>

static const element *element_of(const trial *t) { return t->op->detail; }

static nx_dtype result_dtype(const element *e, nx_dtype dtype) {
  if (e->result == IS_BOOL) return NX_BOOL;
  return e->result == IS_PART ? format_of(dtype)->part : dtype;
}

static nx_tensor *apply(const element *e, nx_tensor *a, nx_tensor *b) {
  return e->operands == 1 ? e->unary(a) : e->binary(a, b);
}

nx_tensor *record_element(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {3};
  array *a = tame_values(t, dtype, 1, shape, 1);
  return apply(element_of(t), tensor_of(t, a), tensor_of(t, a));
}

/* ---- what must come */

/* Exact, or rounded once: integers, bool, basic operations on floats, parts of complex numbers. */
static bits exact_bits(const element *e, nx_dtype dtype, bits a, bits b) {
  const format *f = format_of(dtype);
  nx_dtype to = result_dtype(e, dtype);
  value x = decode(dtype, a), y = decode(dtype, b);
  if (f->kind == KIND_COMPLEX) return encode(to, e->complex_value(x, y));
  if (f->kind < KIND_FLOAT) {
    width w = {f->bits, f->kind == KIND_SIGNED, f->kind == KIND_BOOL};
    whole z = e->integer((whole)x.re, (whole)y.re, w);
    return encode_real(to, (real)wrapped(to, z));
  }
  if (f->precision == 53) return encode_real(to, e->twice((double)x.re, (double)y.re));
  return encode_real(to, e->single((float)x.re, (float)y.re));
}

static bool is_rounded(const element *e, nx_dtype dtype) {
  const format *f = format_of(dtype);
  if (f->kind == KIND_COMPLEX) return e->complex_how == SAME;
  return f->kind < KIND_FLOAT || e->single;
}

/* Small floats have the bound in f32, and are rounded then; so have c64 in f64. */
static double bound_of(const element *e, nx_dtype dtype) {
  const format *f = format_of(dtype);
  if (f->kind == KIND_COMPLEX) return f->precision == 53 ? e->complex_bound : 0.51;
  return f->precision < 24 ? 0.5 + ldexp(e->bound, f->precision - 24) : e->bound;
}

static bool is_power(const element *e) { return e->binary == nx_pow; }

/* Where operands are larger than the result it may be what is left of them. */
static real larger_operand(value a, value b) {
  real x = isfinite(a.re) ? fabsl(a.re) : 0, y = isfinite(b.re) ? fabsl(b.re) : 0;
  return a.re > b.re ? x : y;
}

/* What bounds the error of a power, which grows with the exponent that is rounded before it is one.
 * Infinite: C leaves open what comes of NaNs, and of infinite exponents. */
static real power_size(value a, value b, value power) {
  bool is_nan = isnan(a.re) || isnan(a.im) || isnan(b.re) || isnan(b.im);
  bool is_zero = b.re == 0 && b.im == 0;
  if (!is_zero && (is_nan || isinf(b.re) || isinf(b.im))) return (real)INFINITY;
  real size = hypotl(power.re, power.im),
       log = hypotl(logl(hypotl(a.re, a.im)), atan2l(a.im, a.re));
  real exponent = hypotl(b.re, b.im) * log;
  return isfinite(exponent) && isfinite(size) ? size * (1 + exponent / 2) : 0;
}

static void expect_function(trial *t, nx_tensor *result, const array *a, const array *b,
                            array *want, const char *what) {
  const element *e = element_of(t);
  bool is_complex = t->format->kind == KIND_COMPLEX, sums = e->binary == nx_logaddexp;
  const agreement how = is_complex ? e->complex_how : sums || e->least ? NEAR_SIZE : NEAR;
  value *exact = room(t, (a->n + 1) * sizeof *exact);
  real *size = room(t, (a->n + 1) * sizeof *size);
  bool *open = room(t, a->n + 1);
  for (size_t i = 0; i < a->n; i++) {
    value x = decode(t->dtype, a->at[i]), y = decode(t->dtype, b->at[i]);
    if (!is_complex) {
      exact[i] = (value){e->function(x.re, y.re), 0};
      if (sums) size[i] = larger_operand(x, y);
      if (e->least) size[i] = e->least(x.re);
      continue;
    }
    exact[i] = e->complex_value(x, y);
    open[i] = signs_are_open(x) || (e->operands == 2 && signs_are_open(y));
    size[i] = is_power(e) ? power_size(x, y, exact[i]) : 0;
  }
  expect_near(t, result, want, exact, how, bound_of(e, t->dtype), size, open, what);
}

static void expect_element(trial *t, nx_tensor *result, const array *a, const array *b,
                           const char *what) {
  const element *e = element_of(t);
  array *want = new_array(t, result_dtype(e, t->dtype), a->rank, a->shape);
  t->operands[0] = a;
  t->operands[1] = e->operands == 2 ? b : NULL;
  if (!is_rounded(e, t->dtype)) {
    expect_function(t, result, a, b, want, what);
    return;
  }
  for (size_t i = 0; i < a->n; i++) want->at[i] = exact_bits(e, t->dtype, a->at[i], b->at[i]);
  expect(t, result, want, SAME, what);
}

/* ---- cases */

/* All pairs of corner values: a column against a row. */
static void check_pairs(trial *t) {
  bits corner[CORNERS];
  int64_t n = (int64_t)corners(t->dtype, corner), both[] = {n, n}, column[] = {n, 1},
          row[] = {1, n};
  array *down = new_array(t, t->dtype, 2, column), *across = new_array(t, t->dtype, 2, row);
  array *a = new_array(t, t->dtype, 2, both), *b = new_array(t, t->dtype, 2, both);
  for (size_t i = 0; i < a->n; i++) {
    a->at[i] = down->at[i / (size_t)n] = corner[i / (size_t)n];
    b->at[i] = across->at[i % (size_t)n] = corner[i % (size_t)n];
  }
  nx_tensor *x = tensor_of(t, down), *y = tensor_of(t, across);
  expect_element(t, apply(element_of(t), x, y), a, b, "pairs of corner values");
}

static void check_shape(trial *t, int32_t rank, const int64_t *shape, layout l) {
  char what[80];
  snprintf(what, sizeof what, "rank %d, %s", rank, layout_names[l]);
  array *a = some_values(t, t->dtype, rank, shape, 1),
        *b = some_values(t, t->dtype, rank, shape, 4);
  nx_tensor *x = laid_out(t, a, l), *y = laid_out(t, b, (l + 1) % LAYOUTS);
  expect_element(t, apply(element_of(t), x, y), a, b, what);
}

static void check_refusals(trial *t) {
  const element *e = element_of(t);
  const int64_t three[] = {3}, four[] = {4};
  nx_tensor *a = tensor_of(t, tame_values(t, t->dtype, 1, three, 1));
  nx_tensor *b = tensor_of(t, tame_values(t, t->dtype, 1, four, 1));
  expect_refusal(t, apply(e, NULL, a), NX_INVALID_ARGUMENT, "a null operand");
  if (e->operands == 1) return;
  expect_refusal(t, apply(e, a, NULL), NX_INVALID_ARGUMENT, "a second operand that is null");
  expect_refusal(t, apply(e, a, b), NX_INVALID_ARGUMENT, "shapes [3] and [4]");
  nx_dtype other = NX_BOOL; /* admitted too, so that the pair is to blame */
  for (nx_dtype d = NX_BOOL; d <= NX_C128; d++)
    if (d != t->dtype && t->op->admits & TYPE(d)) other = d;
  b = tensor_of(t, tame_values(t, other, 1, three, 1));
  expect_refusal(t, apply(e, a, b), NX_INVALID_ARGUMENT, "operands of two types");
}

void check_element(trial *t) {
  static const int64_t plane[] = {SOME / 32, 32};
  if (element_of(t)->operands == 2) check_pairs(t);
  for (size_t i = 0; i < LAYOUTS + n_shapes; i++) {
    if (!is_due(t, i, LAYOUTS + n_shapes)) continue;
    const extent *e = i < LAYOUTS ? NULL : &shapes[i - LAYOUTS];
    check_shape(t, e ? e->rank : 2, e ? e->shape : plane,
                e ? (layout)(t->turn / 3 % LAYOUTS) : (layout)i);
  }
  check_refusals(t);
}
