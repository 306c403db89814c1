/* SPDX-License-Identifier: ISC */
/* Arithmetic of complex numbers, one part of the result at a time. If the parts are f32 it is
 * computed in f64 and rounded once. Infinities, NaNs and signs of zeros follow Annex G of C99. Cold
 * cases are computed in cold blocks. The builder merges the instructions that the two parts of a
 * result share. */
#include "complex.h"

/* ---- pieces */

/* 2^k from an i64, |k| < 1023. */
static nxk_value power(const expand *e, nxk_value k) {
  nxk_value field = x_add(e, k, x_i(e, 1023));
  return x_bits(e, e->f, x_shl(e, field, x_i(e, 52)));
}

complex_scale nxi_expand_scaled(const expand *e, complex_value z, bool even) {
  nxk_value tiny = x_lt(e, x_largest(e, z), x_f(e, 0x1p-960)); /* normalises subnormal numbers */
  nxk_value lift = x_select(e, tiny, x_f(e, 0x1p60), x_f(e, 1));
  z.re = x_mul(e, z.re, lift);
  z.im = x_mul(e, z.im, lift);
  nxk_value bits = x_bits(e, e->i, x_largest(e, z));
  nxk_value field = x_shr(e, x_and(e, bits, x_i(e, INT64_MAX)), x_i(e, 52));
  field = x_op2(e, NXK_min, field, x_i(e, 2045)); /* infinities are not scaled */
  nxk_value k = x_sub(e, field, x_i(e, 1023));
  if (even) k = x_and(e, k, x_i(e, -2));
  k = x_op2(e, NXK_max, k, x_i(e, -1022));
  nxk_value factor = power(e, x_op1(e, NXK_neg, k));
  complex_scale s = {.k = x_sub(e, k, x_select(e, tiny, x_i(e, 60), x_i(e, 0)))};
  s.z.re = x_mul(e, z.re, factor);
  s.z.im = x_mul(e, z.im, factor);
  return s;
}

nxk_value nxi_expand_times_power(const expand *e, nxk_value x, nxk_value k) {
  nxk_value quarter = x_shr(e, k, x_i(e, 2)), factor = power(e, quarter);
  nxk_value rest = x_sub(e, k, x_mul(e, quarter, x_i(e, 3)));
  for (int i = 0; i < 3; i++) x = x_mul(e, x, factor);
  return x_mul(e, x, power(e, rest));
}

nxk_value nxi_expand_dot(const expand *e, nxk_value a, nxk_value c, nxk_value b, nxk_value d) {
  nxk_value product = x_mul(e, b, d), lost = x_fma(e, b, d, x_neg(e, product));
  nxk_value sum = x_fma(e, a, c, product);
  nxk_value size = x_abs(e, lost), counts = x_lt(e, x_f(e, 0), size);
  counts = x_and(e, counts, x_lt(e, size, x_f(e, INFINITY)));
  return x_select(e, counts, x_add(e, sum, lost), sum); /* keeps -0 and infinities */
}

/* ---- products */

static nxk_value product_real(const expand *e, complex_value z, complex_value w) {
  nxk_value first = x_mul(e, z.re, w.re);
  return x_sub(e, first, x_mul(e, z.im, w.im));
}

static nxk_value product_imag(const expand *e, complex_value z, complex_value w) {
  nxk_value first = x_mul(e, z.re, w.im);
  return x_add(e, first, x_mul(e, z.im, w.re));
}

/* Where `when` holds: 1 if x is infinite, else 0, with the sign of x. Elsewhere x. */
static nxk_value boxed(const expand *e, nxk_value when, nxk_value x) {
  nxk_value unit = x_select(e, x_is_infinite(e, x), x_f(e, 1), x_f(e, 0));
  unit = x_signed(e, unit, x);
  return x_select(e, when, unit, x);
}

static complex_value both_boxed(const expand *e, nxk_value when, complex_value z) {
  complex_value out;
  out.re = boxed(e, when, z.re);
  out.im = boxed(e, when, z.im);
  return out;
}

/* x with a NaN replaced by 0 where `when` holds. */
static nxk_value without_nan(const expand *e, nxk_value when, nxk_value x) {
  return x_select(e, x_and(e, when, x_is_nan(e, x)), x_f(e, 0), x);
}

/* The part of a product whose parts both came out as NaN. It is infinite if a factor is infinite,
 * or if a product of two parts overflowed. */
static nxk_value recover_product(const expand *e, bool real, complex_value z, complex_value w,
                                 nxk_value plain) {
  nxk_value z_infinite = x_either_infinite(e, z), w_infinite = x_either_infinite(e, w);
  complex_value products, crossed;
  products.re = x_mul(e, z.re, w.re);
  products.im = x_mul(e, z.im, w.im);
  crossed.re = x_mul(e, z.re, w.im);
  crossed.im = x_mul(e, z.im, w.re);
  nxk_value overflow = x_either_infinite(e, products);
  overflow = x_or(e, overflow, x_either_infinite(e, crossed));
  nxk_value any = x_or(e, overflow, x_or(e, z_infinite, w_infinite));
  z = both_boxed(e, z_infinite, z);
  w = both_boxed(e, w_infinite, w);
  z.re = without_nan(e, any, z.re);
  z.im = without_nan(e, any, z.im);
  w.re = without_nan(e, any, w.re);
  w.im = without_nan(e, any, w.im);
  nxk_value sign = real ? product_real(e, z, w) : product_imag(e, z, w);
  return x_select(e, any, x_mul(e, x_f(e, INFINITY), sign), plain);
}

/* ---- quotients */

/* One part of z times the conjugate of w, the numerator of z / w. */
static nxk_value numerator(const expand *e, bool real, complex_value z, complex_value w) {
  if (real) return nxi_expand_dot(e, z.re, w.re, z.im, w.im);
  nxk_value minus = x_neg(e, z.re);
  return nxi_expand_dot(e, z.im, w.re, minus, w.im);
}

/* The usual case. Both operands are scaled by powers of two, so that only the quotient itself can
 * overflow or underflow. */
static nxk_value quotient(const expand *e, bool real, complex_value z, complex_value w,
                          bool narrow) {
  complex_scale s = {z, NXK_NONE}, t = {w, NXK_NONE};
  if (!narrow) {
    s = nxi_expand_scaled(e, z, false);
    t = nxi_expand_scaled(e, w, false);
  }
  nxk_value square = x_mul(e, t.z.im, t.z.im);
  nxk_value over = x_fma(e, t.z.re, t.z.re, square);
  nxk_value q = x_div(e, numerator(e, real, s.z, t.z), over);
  return narrow ? q : nxi_expand_times_power(e, q, x_sub(e, s.k, t.k));
}

/* A quotient of which both parts came out as NaN. */
static nxk_value recover_quotient(const expand *e, bool real, complex_value z, complex_value w,
                                  nxk_value plain) {
  nxk_value z_infinite = x_either_infinite(e, z), w_infinite = x_either_infinite(e, w);
  nxk_value z_finite = x_is_finite(e, z.re), w_finite = x_is_finite(e, w.re);
  z_finite = x_and(e, z_finite, x_is_finite(e, z.im));
  w_finite = x_and(e, w_finite, x_is_finite(e, w.im));
  nxk_value zero = x_f(e, 0),
            pole = x_copysign(e, x_f(e, INFINITY), w.re); /* used only where w.re is 0 */
  nxk_value w_zero = x_eq(e, w.re, zero);
  w_zero = x_and(e, w_zero, x_eq(e, w.im, zero));
  complex_value unit = both_boxed(e, z_infinite, z), far = both_boxed(e, w_infinite, w);
  nxk_value grown = x_mul(e, x_f(e, INFINITY), numerator(e, real, unit, w));
  nxk_value shrunk = x_mul(e, zero, numerator(e, real, z, far));
  nxk_value y = x_select(e, x_and(e, w_infinite, z_finite), shrunk, plain);
  y = x_select(e, x_and(e, z_infinite, w_finite), grown, y);
  return x_select(e, w_zero, x_mul(e, pole, real ? z.re : z.im), y);
}

/* ---- both parts */

/* The wanted parts of a product or a quotient. They share the test for two NaNs and what follows
 * from it. */
static void expand_parts(const expand *e, bool product, complex_value z, complex_value w,
                         bool narrow, const bool *wanted, nxk_value *out) {
  nxk_value plain[2], inside[2] = {NXK_NONE, NXK_NONE};
  plain[0] = product ? product_real(e, z, w) : quotient(e, true, z, w, narrow);
  plain[1] = product ? product_imag(e, z, w) : quotient(e, false, z, w, narrow);
  nxk_value lost = x_is_nan(e, plain[0]);
  lost = x_and(e, lost, x_is_nan(e, plain[1]));
  nxk_value cold = nxk_begin_cold(e->k, lost);
  for (int i = 0; i < 2; i++)
    if (wanted[i])
      inside[i] = product ? recover_product(e, i == 0, z, w, plain[i])
                          : recover_quotient(e, i == 0, z, w, plain[i]);
  nxk_end(e->k);
  for (int i = 0; i < 2; i++)
    if (wanted[i]) out[i] = nxk_blend(e->k, cold, inside[i], plain[i]);
}

void nxk_expand_parts(nxk_kernel *k, bool product, const nxk_value *args, nxk_value *out) {
  if (k->failed) return;
  const nx_dtype t = nxk_dtype(k, args[0]);
  const expand wide = expand_as(k, NX_F64), *d = &wide;
  const bool both[2] = {true, true};
  nxk_value x[4];
  for (int i = 0; i < 4; i++) x[i] = x_cast(d, NX_F64, args[i]);
  complex_value z = {x[0], x[1]}, w = {x[2], x[3]};
  expand_parts(d, product, z, w, t != NX_F64, both, out);
  for (int i = 0; i < 2 && !k->failed; i++) out[i] = x_cast(d, t, out[i]);
}

/* ---- modulus and direction */

static nxk_value root_of_squares(const expand *e, complex_value z) {
  nxk_value square = x_mul(e, z.im, z.im);
  return x_sqrt(e, x_fma(e, z.re, z.re, square));
}

/* The modulus. It is infinite if one part is, even if the other is NaN. */
nxk_value nxi_expand_modulus(const expand *e, complex_value z, bool narrow) {
  nxk_value infinite = x_either_infinite(e, z), y;
  if (narrow) {
    y = root_of_squares(e, z);
  } else {
    complex_scale s = nxi_expand_scaled(e, z, false);
    y = nxi_expand_times_power(e, root_of_squares(e, s.z), s.k);
  }
  return x_select(e, infinite, x_f(e, INFINITY), y);
}

/* One part of z / |z|. For an infinite z it is the direction of its infinite parts, and for 0 it is
 * +0. */
static nxk_value expand_direction(const expand *e, complex_value z, bool narrow) {
  z = both_boxed(e, x_either_infinite(e, z), z);
  if (!narrow) z = nxi_expand_scaled(e, z, false).z;
  nxk_value over = root_of_squares(e, z), zero = x_f(e, 0);
  return x_select(e, x_eq(e, over, zero), zero, x_div(e, z.re, over));
}

/* ---- all */

static nxk_value expand_part(const expand *e, nxk_op op, complex_value z, complex_value w,
                             bool narrow) {
  const bool real = op == NXK_mul_real || op == NXK_div_real, wanted[2] = {real, !real};
  nxk_value out[2] = {NXK_NONE, NXK_NONE};
  expand_parts(e, op == NXK_mul_real || op == NXK_mul_imag, z, w, narrow, wanted, out);
  return out[real ? 0 : 1];
}

nxk_value nxi_expand_complex(const expand *e, nxk_op op, const nxk_value *args) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  const bool narrow = !e->wide;
  nxk_value x[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE}, y;
  for (int i = 0; i < nxk_scalars[op].arity; i++) x[i] = x_cast(d, NX_F64, args[i]);
  complex_value z = {x[0], x[1]}, w = {x[2], x[3]};
  switch (op) {
    case NXK_mul_real:
    case NXK_mul_imag:
    case NXK_div_real:
    case NXK_div_imag: y = expand_part(d, op, z, w, narrow); break;
    case NXK_hypot: y = nxi_expand_modulus(d, z, narrow); break;
    case NXK_sign_real: y = expand_direction(d, z, narrow); break;
    default: y = nxi_expand_complex_function(d, op, z, w, narrow); break;
  }
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, y);
}
