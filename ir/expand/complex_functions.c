/* SPDX-License-Identifier: ISC */
/* Functions of complex numbers, one part of the result at a time, in f64: exp, log, sqrt, pow, the
 * hyperbolic functions and the inverse ones. The trigonometric functions are computed by the
 * hyperbolic ones (passes/graph/types.c). Special values and branch cuts are those of C99, Annex G;
 * the forms of asin, acos, tanh are Kahan's (Branch cuts for complex elementary functions,
 * 1987). */
#include "complex.h"

static nxk_value half(const expand *e, nxk_value x) { return x_mul(e, x, x_f(e, 0.5)); }

/* ---- square root: one part is a root of |x| and the modulus, the other follows by division */

static nxk_value expand_sqrt(const expand *e, bool real, complex_value z, bool narrow) {
  nxk_value zero = x_f(e, 0), infinity = x_f(e, INFINITY), root;
  complex_scale s = {z, NXK_NONE};
  if (!narrow) s = nxi_expand_scaled(e, z, true);
  nxk_value size = x_abs(e, s.z.re);
  root = x_sqrt(e, half(e, x_add(e, size, nxi_expand_modulus(e, s.z, true))));
  if (!narrow) root = nxi_expand_times_power(e, root, x_shr(e, s.k, x_i(e, 1)));
  nxk_value positive = x_le(e, zero, z.re), magnitude = x_abs(e, z.im);
  nxk_value other = x_div(e, magnitude, x_add(e, root, root));
  other = x_select(e, x_eq(e, root, zero), zero, other);
  nxk_value backward = x_eq(e, z.re, x_f(e, -INFINITY));
  nxk_value y;
  if (real) {
    y = x_select(e, positive, root, other);
    y = x_select(e, x_and(e, backward, x_lt(e, magnitude, infinity)), zero, y);
    return x_select(e, x_eq(e, magnitude, infinity), infinity, y);
  }
  nxk_value forward = x_eq(e, z.re, infinity);
  y = x_select(e, positive, other, root);
  y = x_select(e, x_and(e, forward, x_lt(e, magnitude, infinity)), zero, y);
  y = x_select(e, x_and(e, forward, x_is_nan(e, z.im)), z.im, y);
  y = x_select(e, x_or(e, backward, x_eq(e, magnitude, infinity)), infinity, y);
  return x_signed(e, y, z.im);
}

/* ---- exponential */

/* If e^x could overflow although its product with a sine does not, 700 is subtracted from x, and
 * the factor e^700 is multiplied in last. */
typedef struct grown {
  nxk_value x, factor;
} grown;

static grown taken_off(const expand *e, nxk_value x) {
  nxk_value most = x_f(e, 700), large = x_lt(e, most, x);
  grown g;
  g.x = x_select(e, large, x_sub(e, x, most), x);
  g.factor = x_select(e, large, x_f(e, 0x1.d945df4f8ec8ep1009), x_f(e, 1));
  return g;
}

static nxk_value wave(const expand *e, bool cosine, nxk_value y) {
  return nxi_expand_trig(e, cosine ? NXK_cos : NXK_sin, y);
}

static nxk_value expand_exp(const expand *e, bool real, complex_value z) {
  grown g = taken_off(e, z.re);
  nxk_value size = nxi_expand_exp(e, g.x);
  nxk_value y = x_mul(e, x_mul(e, size, wave(e, real, z.im)), g.factor);
  nxk_value turns = x_is_finite(e, z.im), zero = x_f(e, 0);
  nxk_value vanishes = x_eq(e, z.re, x_f(e, -INFINITY));
  y = x_select(e, turns, y, x_select(e, vanishes, zero, y));
  if (!real) return x_select(e, x_eq(e, z.im, zero), z.im, y);
  nxk_value endless = x_eq(e, z.re, x_f(e, INFINITY));
  return x_select(e, turns, y, x_select(e, endless, z.re, y));
}

/* ---- logarithm of the modulus */

/* x^2 + y^2 - 1 with the rounding errors of the squares, for moduli near 1. */
static nxk_value squares_less_one(const expand *e, nxk_value large, nxk_value small) {
  expand_pair p = nxi_expand_product(e, large, large), q = nxi_expand_product(e, small, small);
  expand_pair less = nxi_expand_fast_sum(e, x_f(e, -1), p.high); /* exact enough: p.high <= 4 */
  nxk_value first = less.high, sum = x_add(e, first, q.high), back = x_sub(e, sum, first);
  nxk_value lost = x_add(e, less.low, x_sub(e, first, x_sub(e, sum, back)));
  lost = x_add(e, lost, x_sub(e, q.high, back));
  return x_add(e, sum, x_add(e, lost, x_add(e, p.low, q.low)));
}

static nxk_value log_modulus(const expand *e, complex_value z, bool narrow) {
  nxk_value large = x_largest(e, z), first = x_abs(e, z.re);
  nxk_value small = x_op2(e, NXK_min, first, x_abs(e, z.im));
  nxk_value close = half(e, nxi_expand_log1p(e, squares_less_one(e, large, small)));
  nxk_value factor = x_f(e, 1), more = x_f(e, 0);
  if (!narrow) { /* scaled away from overflow and underflow */
    nxk_value huge = x_lt(e, x_f(e, 0x1p1000), large), tiny = x_lt(e, large, x_f(e, 0x1p-900));
    factor = x_select(e, huge, x_f(e, 0x1p-4), x_select(e, tiny, x_f(e, 0x1p600), factor));
    more = x_select(e, huge, x_f(e, 0x1.62e42fefa39efp1),
                    x_select(e, tiny, x_f(e, -0x1.9fe3682cd3be4p8), more));
  }
  complex_value scaled;
  scaled.re = x_mul(e, z.re, factor);
  scaled.im = x_mul(e, z.im, factor);
  nxk_value far = x_add(e, nxi_expand_log(e, nxi_expand_modulus(e, scaled, narrow)), more);
  nxk_value near = x_lt(e, x_f(e, 0.5), large);
  near = x_and(e, near, x_lt(e, large, x_f(e, 2)));
  return x_select(e, near, close, far);
}

/* ---- log1p and expm1 */

/* Adds a number to a sum that is a pair; neither need be the larger one. */
static expand_pair add_to_pair(const expand *e, expand_pair sum, nxk_value x) {
  nxk_value high = x_add(e, sum.high, x), back = x_sub(e, high, sum.high);
  nxk_value lost = x_sub(e, sum.high, x_sub(e, high, back));
  lost = x_add(e, lost, x_sub(e, x, back));
  return nxi_expand_fast_sum(e, high, x_add(e, sum.low, lost));
}

/* |1 + z|^2 - 1 = 2x + x^2 + y^2, of which little may be left near the unit circle. */
static nxk_value squares_beyond_one(const expand *e, complex_value z) {
  expand_pair p = nxi_expand_product(e, z.re, z.re), q = nxi_expand_product(e, z.im, z.im);
  expand_pair sum = {x_add(e, z.re, z.re), x_f(e, 0)};
  sum = add_to_pair(e, sum, q.high);
  sum = add_to_pair(e, sum, p.high);
  sum = add_to_pair(e, sum, q.low);
  sum = add_to_pair(e, sum, p.low);
  return x_add(e, sum.high, sum.low);
}

/* log(1 + z). Its modulus is found of the sum 1 + x if it is far from 1: then the sum is exact, or
 * what it loses is little beside the logarithm. The angle takes what the sum lost into account. */
static nxk_value expand_log1p(const expand *e, bool real, complex_value z, bool narrow) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), u = x_add(e, z.re, one);
  if (real) {
    complex_value sum = {u, z.im};
    nxk_value close = half(e, nxi_expand_log1p(e, squares_beyond_one(e, z)));
    nxk_value size = nxi_expand_modulus(e, sum, narrow), far = log_modulus(e, sum, narrow);
    nxk_value near = x_lt(e, x_f(e, 0.5), size);
    near = x_and(e, near, x_lt(e, size, x_f(e, 2)));
    nxk_value at_zero = x_eq(e, x_largest(e, z), zero);
    return x_select(e, at_zero, z.re, x_select(e, near, close, far));
  }
  nxk_value lost = x_sub(e, z.re, x_sub(e, u, one)), angle = nxi_expand_atan2(e, z.im, u);
  if (narrow) return angle;
  nxk_value square = x_mul(e, z.im, z.im), over = x_fma(e, u, u, square);
  nxk_value more = x_mul(e, x_div(e, z.im, over), lost), counts = x_lt(e, zero, x_abs(e, more));
  counts = x_and(e, counts, x_lt(e, over, x_f(e, 0x1p120)));
  return x_select(e, counts, x_sub(e, angle, more), angle); /* keeps -0 */
}

/* The real part of e^z - 1: (e^x - 1) cos y - 2 sin^2(y / 2), and where e^x is below 1/2 e^x cos y
 * - 1. The imaginary part is that of the exponential. */
static nxk_value expand_expm1(const expand *e, complex_value z) {
  nxk_value one = x_f(e, 1), less = nxi_expand_expm1(e, z.re), cosine = wave(e, true, z.im);
  nxk_value sine = wave(e, false, half(e, z.im)), square = x_mul(e, sine, sine);
  nxk_value near = nxi_expand_dot(e, less, cosine, x_f(e, -2), square);
  nxk_value left = x_fma(e, x_add(e, less, one), cosine, x_f(e, -1));
  nxk_value y = x_select(e, x_lt(e, z.re, x_f(e, -0.7)), left, near);
  nxk_value usual = x_le(e, z.re, x_f(e, 700));
  usual = x_and(e, usual, x_is_finite(e, z.im));
  return x_select(e, usual, y, x_sub(e, expand_exp(e, true, z), one));
}

/* ---- sinh, cosh, tanh */

/* sinh and cosh of x; for large |x| divided by *factor. */
static complex_value both_hyperbolic(const expand *e, nxk_value x, bool narrow, nxk_value *factor) {
  complex_value h;
  *factor = x_f(e, 1);
  h.re = nxi_expand_sinh(e, x);
  h.im = nxi_expand_cosh(e, x);
  if (narrow) return h;
  grown g = taken_off(e, x_abs(e, x));
  nxk_value large = x_lt(e, x_f(e, 700), x_abs(e, x)), power = half(e, nxi_expand_exp(e, g.x));
  h.re = x_select(e, large, x_copysign(e, power, x), h.re);
  h.im = x_select(e, large, power, h.im);
  *factor = g.factor;
  return h;
}

/* (sinh x cos y, cosh x sin y) or (cosh x cos y, sinh x sin y). */
static nxk_value expand_sinh_cosh(const expand *e, bool sine, bool real, complex_value z,
                                  bool narrow) {
  nxk_value factor, zero = x_f(e, 0), y;
  complex_value h = both_hyperbolic(e, z.re, narrow, &factor);
  nxk_value part = sine == real ? h.re : h.im, turns = x_is_finite(e, z.im);
  y = x_mul(e, x_mul(e, part, wave(e, real, z.im)), factor);
  nxk_value at_zero = x_eq(e, z.re, zero);
  if (real) {
    nxk_value limit = sine ? z.re : x_abs(e, z.re), endless = x_is_infinite(e, z.re);
    if (sine) endless = x_or(e, endless, at_zero);
    return x_select(e, turns, y, x_select(e, endless, limit, y));
  }
  nxk_value sign = sine ? z.im : x_mul(e, x_signed(e, x_f(e, 1), z.re), z.im);
  y = x_select(e, x_eq(e, z.im, zero), sign, y);
  return sine ? y : x_select(e, turns, y, x_select(e, at_zero, zero, y));
}

static nxk_value expand_tanh(const expand *e, bool real, complex_value z) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), size = x_abs(e, z.re);
  nxk_value large = x_lt(e, x_f(e, 22), size), y, edge;
  nxk_value t = nxi_expand_trig(e, NXK_tan, z.im), s = nxi_expand_sinh(e, z.re);
  nxk_value beta = x_fma(e, t, t, one), square = x_mul(e, s, s);
  nxk_value over = x_fma(e, beta, square, one);
  if (real) {
    nxk_value rho = x_sqrt(e, x_add(e, square, one));
    y = x_div(e, x_mul(e, x_mul(e, beta, rho), s), over);
    edge = x_copysign(e, one, z.re);
    y = x_select(e, large, edge, y);
    nxk_value lost = x_not(e, x_is_finite(e, z.im)), endless = x_is_infinite(e, z.re);
    y = x_select(e, x_and(e, lost, x_not(e, endless)), x_f(e, NAN), y);
    return x_select(e, x_eq(e, z.re, zero), z.re, y);
  }
  nxk_value power = nxi_expand_exp(e, x_mul(e, size, x_f(e, -2)));
  nxk_value waves = x_mul(e, wave(e, false, z.im), wave(e, true, z.im));
  edge = x_mul(e, x_mul(e, waves, x_f(e, 4)), power);
  y = x_select(e, large, edge, x_div(e, t, over));
  nxk_value limit = x_and(e, x_is_infinite(e, z.re), x_not(e, x_is_finite(e, z.im)));
  y = x_select(e, limit, x_signed(e, zero, z.im), y);
  return x_select(e, x_eq(e, z.im, zero), z.im, y);
}

/* ---- inverse ones */

static complex_value root(const expand *e, complex_value z, bool narrow) {
  complex_value out;
  out.re = expand_sqrt(e, true, z, narrow);
  out.im = expand_sqrt(e, false, z, narrow);
  return out;
}

/* asin or acos by the roots of 1 - z and 1 + z; for large |z| by the angle and the logarithm of 2
 * |z|. */
static nxk_value expand_asin_acos(const expand *e, bool sine, bool real, complex_value z,
                                  bool narrow) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), y, edge;
  nxk_value size = x_largest(e, z), near = x_lt(e, size, x_f(e, 0x1p100));
  nxk_value infinite = x_either_infinite(e, z), nan = x_is_nan(e, size);
  nxk_value distant = x_or(e, infinite, x_not(e, x_or(e, near, nan)));
  complex_value less = {x_sub(e, one, z.re), NXK_NONE}, more = {x_add(e, one, z.re), z.im};
  less.im = x_neg(e, z.im);
  complex_value s1 = root(e, less, narrow), s2 = root(e, more, narrow);
  if (!real) {
    nxk_value across = nxi_expand_dot(e, s1.re, s2.im, x_neg(e, s1.im), s2.re);
    edge = x_add(e, log_modulus(e, z, narrow), x_f(e, 0x1.62e42fefa39efp-1));
    y = x_select(e, distant, edge, x_abs(e, nxi_expand_asinh(e, across)));
    return x_signed(e, y, sine ? z.im : x_neg(e, z.im));
  }
  nxk_value magnitude = x_abs(e, z.im), at_zero = x_eq(e, z.re, zero);
  if (sine) {
    nxk_value along = nxi_expand_dot(e, s1.re, s2.re, x_neg(e, s1.im), s2.im);
    edge = nxi_expand_atan2(e, z.re, magnitude);
    y = x_select(e, distant, edge, nxi_expand_atan2(e, z.re, along));
    return x_select(e, at_zero, z.re, y);
  }
  edge = nxi_expand_atan2(e, magnitude, z.re);
  nxk_value angle = nxi_expand_atan2(e, s1.re, s2.re);
  y = x_select(e, distant, edge, x_add(e, angle, angle));
  return x_select(e, at_zero, x_f(e, 0x1.921fb54442d18p0), y);
}

/* acosh is acos turned by 90 degrees, to where its real part is not negative. */
static nxk_value expand_acosh(const expand *e, bool real, complex_value z, bool narrow) {
  nxk_value turned = expand_asin_acos(e, false, !real, z, narrow);
  return real ? x_abs(e, turned) : x_signed(e, turned, z.im);
}

static nxk_value expand_atanh(const expand *e, bool real, complex_value z, bool narrow) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), x = x_abs(e, z.re), magnitude = x_abs(e, z.im);
  nxk_value size = x_largest(e, z), nan = x_is_nan(e, size), infinite = x_either_infinite(e, z);
  nxk_value near = x_lt(e, size, x_f(e, 0x1p100)), y;
  nxk_value distant = x_or(e, infinite, x_not(e, x_or(e, near, nan)));
  nxk_value less = x_sub(e, one, x), square = x_mul(e, magnitude, magnitude);
  if (real) {
    nxk_value over = x_fma(e, less, less, square);
    nxk_value ratio = x_div(e, x_mul(e, x, x_f(e, 4)), over);
    y = x_mul(e, nxi_expand_log1p(e, ratio), x_f(e, 0.25));
    nxk_value pole = x_sub(e, x_f(e, 0x1.62e42fefa39efp-1), nxi_expand_log(e, magnitude));
    nxk_value at_pole = x_and(e, x_eq(e, x, one), x_lt(e, magnitude, x_f(e, 0x1p-60)));
    y = x_select(e, at_pole, half(e, pole), y);
    nxk_value modulus = nxi_expand_modulus(e, z, narrow);
    nxk_value far = x_div(e, x_div(e, x, modulus), modulus);
    y = x_select(e, distant, x_select(e, infinite, zero, far), y);
    y = x_select(e, x_and(e, x_eq(e, x, zero), x_is_nan(e, z.im)), zero, y);
    return x_signed(e, y, z.re);
  }
  nxk_value below = x_sub(e, x_mul(e, less, x_add(e, one, x)), square);
  y = half(e, nxi_expand_atan2(e, x_add(e, z.im, z.im), below));
  nxk_value edge = x_copysign(e, x_f(e, 0x1.921fb54442d18p0), z.im);
  edge = x_select(e, x_is_nan(e, z.im), z.im, edge); /* no sign of a NaN is used */
  return x_select(e, distant, edge, y);
}

/* ---- powers: exp(w log z), with 1 for w = 0, and 0 for z = 0 where w has a positive real part */

static nxk_value expand_pow(const expand *e, bool real, complex_value z, complex_value w,
                            bool narrow) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1);
  complex_value log, power;
  log.re = log_modulus(e, z, narrow);
  log.im = nxi_expand_atan2(e, z.im, z.re);
  power.re = nxi_expand_dot(e, w.re, log.re, x_neg(e, w.im), log.im);
  power.im = nxi_expand_dot(e, w.re, log.im, w.im, log.re);
  nxk_value y = expand_exp(e, real, power);
  nxk_value z_zero = x_eq(e, z.re, zero), w_zero = x_eq(e, w.re, zero);
  z_zero = x_and(e, z_zero, x_eq(e, z.im, zero));
  w_zero = x_and(e, w_zero, x_eq(e, w.im, zero));
  y = x_select(e, x_and(e, z_zero, x_lt(e, zero, w.re)), zero, y);
  return x_select(e, w_zero, real ? one : zero, y);
}

nxk_value nxi_expand_complex_function(const expand *e, nxk_op op, complex_value z, complex_value w,
                                      bool narrow) {
  switch (op) {
    case NXK_sqrt_real: return expand_sqrt(e, true, z, narrow);
    case NXK_sqrt_imag: return expand_sqrt(e, false, z, narrow);
    case NXK_exp_real: return expand_exp(e, true, z);
    case NXK_exp_imag: return expand_exp(e, false, z);
    case NXK_log_real: return log_modulus(e, z, narrow);
    case NXK_sinh_real: return expand_sinh_cosh(e, true, true, z, narrow);
    case NXK_sinh_imag: return expand_sinh_cosh(e, true, false, z, narrow);
    case NXK_cosh_real: return expand_sinh_cosh(e, false, true, z, narrow);
    case NXK_cosh_imag: return expand_sinh_cosh(e, false, false, z, narrow);
    case NXK_tanh_real: return expand_tanh(e, true, z);
    case NXK_tanh_imag: return expand_tanh(e, false, z);
    case NXK_asin_real: return expand_asin_acos(e, true, true, z, narrow);
    case NXK_asin_imag: return expand_asin_acos(e, true, false, z, narrow);
    case NXK_acos_real: return expand_asin_acos(e, false, true, z, narrow);
    case NXK_acos_imag: return expand_asin_acos(e, false, false, z, narrow);
    case NXK_acosh_real: return expand_acosh(e, true, z, narrow);
    case NXK_acosh_imag: return expand_acosh(e, false, z, narrow);
    case NXK_log1p_real: return expand_log1p(e, true, z, narrow);
    case NXK_log1p_imag: return expand_log1p(e, false, z, narrow);
    case NXK_expm1_real: return expand_expm1(e, z);
    case NXK_atanh_real: return expand_atanh(e, true, z, narrow);
    case NXK_atanh_imag: return expand_atanh(e, false, z, narrow);
    case NXK_pow_real: return expand_pow(e, true, z, w, narrow);
    case NXK_pow_imag: return expand_pow(e, false, z, w, narrow);
    default: return NXK_NONE;
  }
}
