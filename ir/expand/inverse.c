/* SPDX-License-Identifier: ISC */
/* asin, acos, atan, atan2 and the inverse hyperbolic functions. */
#include "expand.h"

#include "coefficients.h"

/* pi/4 times 1, 2 and 4: high and low part. */
static nxk_value pi_high(const expand *e, double fours) {
  return x_f2(e, fours * 0x1.921fb6p-1, fours * 0x1.921fb54442d18p-1);
}
static nxk_value pi_low(const expand *e, double fours) {
  return x_f2(e, fours * -0x1.777a5cp-26, fours * 0x1.1a62633145c07p-55);
}

/* |x| <= 1/2: asin x = x + x z P(z), z = x^2. Above: asin x = pi/2 - 2 asin(sqrt z), z = (1 - x) /
 * 2, exact. `base` is |x| or the root, `tail` base z P(z); NaN for |x| > 1. */
typedef struct arc {
  nxk_value large, base, tail;
} arc;
static arc arc_of(const expand *e, nxk_value a) {
  nxk_value half = x_f(e, 0.5);
  arc out = {x_lt(e, half, a), NXK_NONE, NXK_NONE};
  nxk_value z = x_select(e, out.large, x_fnma(e, a, half, half), x_mul(e, a, a));
  out.base = x_select(e, out.large, x_sqrt(e, z), a);
  out.tail = x_mul(e, x_mul(e, out.base, z), X_POLY(e, z, asin));
  return out;
}

/* `fours` quarters of pi minus 2 (base + tail). */
static nxk_value reflect(const expand *e, arc a, double fours) {
  nxk_value minus_two = x_f(e, -2), high = pi_high(e, fours),
            first = x_fma(e, minus_two, a.base, high);
  nxk_value lost = x_add(e, x_fma(e, minus_two, a.base, x_sub(e, high, first)), pi_low(e, fours));
  return x_add(e, first, x_fma(e, minus_two, a.tail, lost));
}

nxk_value nxi_expand_asin(const expand *e, nxk_value x) {
  arc a = arc_of(e, x_abs(e, x));
  nxk_value sum = x_add(e, a.base, a.tail);
  nxk_value upper = reflect(e, a, 2);
  return x_copysign(e, x_select(e, a.large, upper, sum), x);
}

nxk_value nxi_expand_acos(const expand *e, nxk_value x) {
  arc a = arc_of(e, x_abs(e, x));
  nxk_value negative = x_lt(e, x, x_f(e, 0)), sum = x_add(e, a.base, a.tail), two = x_f(e, 2);
  nxk_value below = reflect(e, a, 4);   /* x < -1/2 */
  nxk_value above = x_mul(e, sum, two); /* x > 1/2 */
  nxk_value tail = x_sub(e, x_copysign(e, a.tail, x), pi_low(e, 2));
  nxk_value middle = x_sub(e, pi_high(e, 2), x_add(e, x, tail));
  return x_select(e, a.large, x_select(e, negative, below, above), middle);
}

/* Reduces the argument: to |x|, or -1/x, or in f64, where the polynomial is good up to 1/2 only, (x
 * - 1) / (x + 1). The result is the arc tangent of that plus a multiple of pi/4. */
nxk_value nxi_expand_atan(const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), one = x_f(e, 1), zero = x_f(e, 0);
  nxk_value large = x_lt(e, x_f2(e, 1, 2), a);
  nxk_value top = x_select(e, large, x_f(e, -1), a), bottom = x_select(e, large, a, one);
  nxk_value high = x_select(e, large, pi_high(e, 2), zero),
            low = x_select(e, large, pi_low(e, 2), zero);
  if (e->wide) {
    nxk_value middle = x_and(e, x_lt(e, x_f(e, 0.5), a), x_not(e, large));
    top = x_select(e, middle, x_sub(e, a, one), top);
    bottom = x_select(e, middle, x_add(e, a, one), bottom);
    high = x_select(e, middle, pi_high(e, 1), high);
    low = x_select(e, middle, pi_low(e, 1), low);
  }
  nxk_value t = x_div(e, top, bottom), z = x_mul(e, t, t);
  nxk_value tail = x_fma(e, x_mul(e, t, z), X_POLY(e, z, atan), low);
  return x_copysign(e, x_add(e, high, x_add(e, t, tail)), x);
}

/* The lesser over the greater of |y| and |x|; 0 for two zeros, 1 for two infinities, NaN with a
 * NaN. */
typedef struct ratio {
  nxk_value top, bottom, swapped;
} ratio;
static ratio ratio_of(const expand *e, nxk_value y, nxk_value x) {
  nxk_value swapped = x_lt(e, x, y), infinity = x_f(e, INFINITY), one = x_f(e, 1), zero = x_f(e, 0);
  nxk_value less = x_select(e, swapped, x, y), more = x_select(e, swapped, y, x);
  if (e->wide) { /* scaled so that their sum is finite */
    nxk_value scale = x_select(e, x_lt(e, x_f(e, 0x1p1000), more), x_f(e, 0x1p-200), one);
    less = x_mul(e, less, scale);
    more = x_mul(e, more, scale);
  }
  nxk_value endless = x_eq(e, more, infinity);
  nxk_value finite = x_select(e, x_eq(e, less, infinity), one, x_mul(e, less, zero));
  ratio r = {x_select(e, endless, finite, less), NXK_NONE, swapped};
  r.bottom = x_select(e, x_or(e, endless, x_eq(e, more, zero)), one, more);
  return r;
}

/* atan(less / more) is t away from 0 or (f64) pi/4; then reflected at pi/4 if |y| > |x|, at pi/2 if
 * x < 0. */
nxk_value nxi_expand_atan2(const expand *e, nxk_value y, nxk_value x) {
  nxk_value height = x_abs(e, y), width = x_abs(e, x);
  ratio r = ratio_of(e, height, width);
  nxk_value fours = x_f(e, 0), plus = x_f(e, 1), top = r.top, bottom = r.bottom;
  if (e->wide) {
    nxk_value middle = x_lt(e, bottom, x_add(e, top, top));
    top = x_select(e, middle, x_sub(e, r.top, r.bottom), r.top);
    bottom = x_select(e, middle, x_add(e, r.top, r.bottom), r.bottom);
    fours = x_select(e, middle, plus, fours);
  }
  nxk_value t = x_div(e, top, bottom);
  fours = x_select(e, r.swapped, x_sub(e, x_f(e, 2), fours), fours);
  t = x_select(e, r.swapped, x_neg(e, t), t);
  nxk_value negative = x_lt(e, x_bits(e, e->i, x), x_i(e, 0));
  fours = x_select(e, negative, x_sub(e, x_f(e, 4), fours), fours);
  t = x_select(e, negative, x_neg(e, t), t);
  expand_pair base = nxi_expand_product(e, fours, pi_high(e, 1));
  nxk_value z = x_mul(e, t, t), low = x_fma(e, fours, pi_low(e, 1), base.low);
  nxk_value tail = x_fma(e, x_mul(e, t, z), X_POLY(e, z, atan), low);
  return x_copysign(e, x_add(e, base.high, x_add(e, t, tail)), y);
}

/* a + sqrt(a^2 + 1) for a in [1/2, 2^30] as high + middle + low. */
static nxk_value asinh_upper(const expand *e, nxk_value a) {
  nxk_value one = x_f(e, 1), large = x_lt(e, x_f(e, 0x1p30), a);
  nxk_value b = x_select(e, large, one, a);
  expand_pair square = nxi_expand_product(e, b, b);
  nxk_value sum = x_add(e, square.high, one);
  /* what the sum lost: exact in this order for square >= 1, and sum - 1 is exact below */
  nxk_value lost = x_add(e, x_sub(e, square.high, x_sub(e, sum, one)), square.low);
  nxk_value root = x_sqrt(e, sum);
  nxk_value rest = x_div(e, x_add(e, x_fnma(e, root, root, sum), lost), x_add(e, root, root));
  expand_pair u = nxi_expand_fast_sum(e, root, b);
  nxk_value zero = x_f(e, 0);
  nxk_value high = x_select(e, large, a, u.high),
            low = x_select(e, large, zero, x_add(e, u.low, rest));
  return nxi_expand_log_pair(e, high, low, NXK_NONE, x_select(e, large, one, zero));
}

static nxk_value asinh_f64(const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), square = x_mul(e, a, a);
  nxk_value lower = x_fma(e, x_mul(e, a, square), X_POLY_OF(e, square, nxi_asinh_f64), a);
  nxk_value y = x_select(e, x_lt(e, a, x_f(e, 0.5)), lower, asinh_upper(e, a));
  return x_select(e, x_lt(e, a, x_f(e, INFINITY)), y, a);
}

/* In f64, where a + sqrt(a^2 + 1) has bits to spare; near 0 the series, whose next term is below
 * 2^-30. */
static nxk_value asinh_f32(const expand *e, nxk_value x) {
  nxk_value a = x_cast(e, NX_F64, x_abs(e, x));
  const expand d = expand_as(e->k, NX_F64);
  nxk_value square = x_mul(&d, a, a), u = x_add(&d, a, x_sqrt(&d, x_add(&d, square, x_f(&d, 1))));
  nxk_value lower = x_fma(&d, x_mul(&d, a, square), x_f(&d, -1.0 / 6), a);
  nxk_value y = x_select(&d, x_lt(&d, a, x_f(&d, 0x1p-7)), lower, nxi_expand_log_wide(&d, u));
  return x_cast(&d, NX_F32, x_select(&d, x_lt(&d, a, x_f(&d, INFINITY)), y, a));
}

nxk_value nxi_expand_asinh(const expand *e, nxk_value x) {
  return x_copysign(e, e->wide ? asinh_f64(e, x) : asinh_f32(e, x), x);
}

/* log(1 + (d + sqrt(d (d + 2)))), d = x - 1, the root corrected by what its argument and it
 * lost. */
static nxk_value acosh_f64(const expand *e, nxk_value x) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), large = x_lt(e, x_f(e, 0x1p30), x);
  nxk_value d = x_sub(e, x_select(e, large, one, x), one);
  expand_pair sum = nxi_expand_fast_sum(e, x_add(e, d, one), one); /* x + 1; d + 1 is x */
  expand_pair square = nxi_expand_product(e, d, sum.high);
  nxk_value root = x_sqrt(e, square.high);
  nxk_value rest = x_add(e, x_fnma(e, root, root, square.high), x_fma(e, d, sum.low, square.low));
  nxk_value twice = x_select(e, x_eq(e, root, zero), one, x_add(e, root, root));
  expand_pair t = nxi_expand_fast_sum(e, root, d);
  nxk_value low = x_add(e, t.low, x_div(e, rest, twice));
  nxk_value u = x_add(e, t.high, one), lost = x_sub(e, t.high, x_sub(e, u, one));
  u = x_select(e, large, x, u);
  lost = x_select(e, large, zero, lost);
  low = x_select(e, large, zero, low);
  nxk_value y = nxi_expand_log_pair(e, u, lost, low, x_select(e, large, one, zero));
  return x_select(e, x_lt(e, x, x_f(e, INFINITY)), y, x);
}

static nxk_value acosh_f32(const expand *e, nxk_value x) {
  const expand d = expand_as(e->k, NX_F64);
  nxk_value a = x_cast(e, NX_F64, x), less = x_sub(&d, a, x_f(&d, 1));
  nxk_value root = x_sqrt(&d, x_mul(&d, less, x_add(&d, a, x_f(&d, 1))));
  nxk_value y = nxi_expand_log_wide(&d, x_add(&d, a, root));
  return x_cast(&d, NX_F32, x_select(&d, x_lt(&d, a, x_f(&d, INFINITY)), y, a));
}

nxk_value nxi_expand_acosh(const expand *e, nxk_value x) {
  nxk_value y = e->wide ? acosh_f64(e, x) : acosh_f32(e, x);
  return x_select(e, x_lt(e, x, x_f(e, 1)), x_f(e, NAN), y);
}

/* (1 + x) / (1 - x) = 2^k m; then atanh x = k ln2 / 2 + atanh s, where s = (m - 1) / (m + 1) is ((1
 * + x) 2^-k - (1 - x)) / ((1 + x) 2^-k + (1 - x)): one division. k comes from the difference of the
 * bits of 1 + x and 1 - x, a logarithm to 0.09. For |x| < 1/3 it is 0 and s is x; |s| <= 1/3
 * everywhere, so k may stay small enough that 1 - 2^-k is exact. */
nxk_value nxi_expand_atanh(const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), one = x_f(e, 1), plus = x_add(e, one, a), minus = x_sub(e, one, a);
  nxk_value small = x_lt(e, a, x_f(e, 1.0 / 3)), width = x_i(e, e->wide ? 52 : 23);
  nxk_value rounding = x_i(e, INT64_C(1) << (e->wide ? 51 : 22));
  nxk_value k =
      x_shr(e, x_add(e, x_sub(e, x_bits(e, e->i, plus), x_bits(e, e->i, minus)), rounding), width);
  k = x_op2(e, NXK_min, k, x_i(e, e->wide ? 53 : 24));
  nxk_value scale = x_bits(e, e->f, x_sub(e, x_bits(e, e->i, one), x_shl(e, k, width)));
  nxk_value top = x_fma(e, a, scale, x_sub(e, a, x_sub(e, one, scale))),
            bottom = x_fma(e, scale, plus, minus);
  nxk_value s = x_select(e, small, a, x_div(e, top, bottom)), z = x_mul(e, s, s);
  k = x_select(e, small, x_f(e, 0), x_cast(e, e->f, k));
  nxk_value low = x_mul(e, k, x_f2(e, 0x1.7f7d1cp-21, -0x1.718432a1b0e26p-36));
  nxk_value tail = x_fma(e, x_mul(e, s, z), X_POLY(e, z, atanh), low);
  nxk_value y = x_fma(e, k, x_f2(e, 0x1.62e4p-2, 0x1.62e42ffp-2), x_add(e, s, tail));
  nxk_value outside = x_select(e, x_eq(e, a, one), x_f(e, INFINITY), x_f(e, NAN));
  return x_copysign(e, x_select(e, x_lt(e, a, one), y, outside), x);
}
