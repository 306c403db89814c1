/* SPDX-License-Identifier: ISC */
/* cbrt, and two functions by exponentials: logistic, logaddexp. */
#include "expand.h"

#include "coefficients.h"

/* |x| = 2^3q a with 0.7 <= a < 5.7; y is nearly the inverse of the root of a, a polynomial for the
 * mantissa and a step of Newton's method, or of Halley's, that needs no division. */
typedef struct cube {
  nxk_value q, a, y;
} cube;

static cube split_cube(const expand *e, nxk_value size) {
  nxk_value tiny = x_lt(e, size, x_f2(e, 0x1p-126, 0x1p-1022)), one = x_f(e, 1);
  expand_split s =
      nxi_expand_split(e, x_select(e, tiny, x_mul(e, size, x_f2(e, 0x1p24, 0x1p54)), size));
  nxk_value third = x_f(e, 1.0 / 3);
  cube c = {.q = x_rint(e, x_mul(e, x_sub(e, s.k, one), third))};
  nxk_value rest = x_sub(e, s.k, x_mul(e, c.q, x_f(e, 3))); /* 0, 1 or 2 */
  nxk_value is_one = x_eq(e, rest, one), is_two = x_lt(e, one, rest);
  nxk_value factor = x_select(e, is_one, x_f(e, 2), x_select(e, is_two, x_f(e, 4), one));
  nxk_value inverse = x_select(e, is_two, x_f2(e, 0x1.428a3p-1, 0x1.428a2f98d728bp-1), one);
  inverse = x_select(e, is_one, x_f2(e, 0x1.965feap-1, 0x1.965fea53d6e3dp-1), inverse);
  c.a = x_mul(e, s.m, factor);
  c.y = x_mul(e, X_POLY(e, x_sub(e, s.m, one), cbrt), inverse);
  nxk_value wrong = x_fnma(e, x_mul(e, x_mul(e, c.a, c.y), c.y), c.y, one);
  nxk_value step = e->wide ? x_fma(e, wrong, x_f(e, 2.0 / 9), third) : third;
  c.y = x_fma(e, x_mul(e, c.y, wrong), step, c.y);
  c.q = x_sub(e, c.q, x_select(e, tiny, x_f2(e, 8, 18), x_f(e, 0)));
  return c;
}

/* The root is a y^2; what its cube lacks of a, exactly, gives the last correction. */
nxk_value nxi_expand_cbrt(const expand *e, nxk_value x) {
  nxk_value size = x_abs(e, x), third = x_f(e, 1.0 / 3);
  cube c = split_cube(e, size);
  nxk_value square = x_mul(e, c.y, c.y), root = x_mul(e, c.a, square);
  expand_pair p = nxi_expand_product(e, root, root);
  nxk_value lack = x_fnma(e, p.low, root, x_fnma(e, p.high, root, c.a));
  root = x_fma(e, x_mul(e, lack, square), third, root);
  root = x_copysign(e, x_ldexp(e, root, c.q), x);
  nxk_value usual = x_and(e, x_lt(e, x_f(e, 0), size), x_lt(e, size, x_f(e, INFINITY)));
  return x_select(e, usual, root, x);
}

/* 1 / (1 + t), or t / (1 + t) for negative x, with t = e^-|x| = 2^n (h + l). The sum and the
 * quotient are corrected by what they round away. */
nxk_value nxi_expand_logistic(const expand *e, nxk_value x) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), below = x_lt(e, x, zero);
  nxk_value t = nxi_expand_clamp(e, x_neg(e, x_abs(e, x)), x_least_exp(e), 0);
  expand_reduced red = nxi_expand_reduce_ln2(e, t);
  nxk_value rest =
      x_fma(e, X_POLY(e, red.r, exp), x_mul(e, red.r, red.r), nxi_expand_reduced_low(e, red));
  nxk_value less = x_add(e, red.high, rest), h = x_add(e, less, one);
  nxk_value l = x_sub(e, less, x_sub(e, h, one)), scale = x_ldexp(e, one, red.n);
  nxk_value d = x_fma(e, scale, h, one);
  nxk_value d_low = x_fma(e, scale, l, x_fma(e, scale, h, x_sub(e, one, d)));
  nxk_value over = x_select(e, below, h, one), over_low = x_select(e, below, l, zero);
  nxk_value inverse = x_div(e, one, d), y = x_mul(e, over, inverse);
  nxk_value lost = x_fnma(e, y, d_low, x_add(e, x_fnma(e, y, d, over), over_low));
  y = x_fma(e, lost, inverse, y);
  return x_ldexp(e, y, x_select(e, below, red.n, zero));
}

/* What x - y = `apart` rounds away. */
static nxk_value lost_between(const expand *e, nxk_value x, nxk_value y, nxk_value apart) {
  nxk_value back = x_sub(e, apart, x), of_y = x_add(e, y, back);
  nxk_value lost = x_sub(e, x_sub(e, x, x_sub(e, apart, back)), of_y);
  return x_select(e, x_eq(e, lost, lost), lost, x_f(e, 0)); /* not of infinities */
}

/* The larger one and log(1 + e^-d), where d is how far they are apart; f32 in f64. */
nxk_value nxi_expand_logaddexp(const expand *e, nxk_value a, nxk_value b) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  nxk_value x = x_cast(e, NX_F64, a), y = x_cast(e, NX_F64, b), zero = x_f(d, 0);
  nxk_value apart = x_sub(d, x, y), same = x_eq(d, x, y); /* infinities too */
  nxk_value size = x_select(d, same, zero, x_neg(d, x_abs(d, apart)));
  nxk_value power = nxi_expand_exp(d, size);
  if (e->wide) { /* e^d as precise as d before it was rounded */
    nxk_value lost = lost_between(d, x, y, apart);
    lost = x_select(d, x_lt(d, apart, zero), lost, x_neg(d, lost));
    power = x_fma(d, power, lost, power);
  }
  nxk_value sum = x_add(d, x_op2(d, NXK_max, x, y), nxi_expand_log1p(d, power));
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, sum);
}
