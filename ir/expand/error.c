/* SPDX-License-Identifier: ISC */
/* erfc and the inverse of erf. */
#include "special.h"

#include "coefficients.h"

/* f64: erfc a = e^-a^2 R(t) / (1 + 2a), t = (a - 3) / (a + 3), where the square is a pair. R is
 * between 1 and 1.3. What the quotient lost is found with the inverse 0.8 q of its divisor. */
static nxk_value erfc_upper(const special *s, const expand *e, nxk_value a) {
  nxk_value three = x_f(e, 3), two = x_f(e, 2), one = x_f(e, 1);
  nxk_value t = x_div(e, x_sub(e, a, three), x_add(e, a, three));
  nxk_value r = X_POLY_OF(e, t, nxi_erfcx_f64), under = x_fma(e, a, two, one);
  nxk_value q = x_div(e, r, under), lost = x_fma(e, a, two, x_sub(e, one, under));
  nxk_value rest = x_fnma(e, q, lost, x_fnma(e, q, under, r));
  expand_pair square = nxi_expand_product(e, a, a);
  /* relative to q: rest / r, r about 1.2 */
  nxk_value low = x_fma(e, rest, x_f(e, 0.83), x_neg(e, square.low));
  return nxi_special_times_exp(s, nxi_special_single(q), x_neg(e, square.high), low);
}

static nxk_value erfc_wide(const special *s, const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), square = x_mul(e, x, x), highest = x_f(e, 27.4), one = x_f(e, 1);
  nxk_value small = X_POLY_OF(e, square, nxi_small_erf_f64);
  nxk_value lower = x_fnma(e, small, x, x_sub(e, one, x));
  nxk_value c = erfc_upper(s, e, x_select(e, x_lt(e, highest, a), highest, a));
  nxk_value upper = x_select(e, x_lt(e, x, x_f(e, 0)), x_sub(e, x_f(e, 2), c), c);
  return x_select(e, x_lt(e, a, x_f(e, 0.75)), lower, upper);
}

/* f32: erfc a = e^-a^2 G / (a + 5/4) for all a >= 0, G = c + v P(v) with v = 1 / (a + 5/4) - k,
 * between 0.63 and 1.25. The square, G and its product with the inverse are pairs. A relative error
 * of the inverse is one of 1.3 times its size (1.1 to 1.45) in the result, since G depends on it.
 * Thus only the last sum rounds at the result's size. Beyond 10.06 the result is 0, and is not
 * computed: some processors scale slowly where the product is rounded to 0. */
static nxk_value erfc_narrow(const expand *e, nxk_value x) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1), shift = x_f(e, 1.25), a = x_abs(e, x);
  nxk_value far = x_lt(e, x_f(e, 10.1), a);
  a = x_select(e, far, zero, a);
  nxk_value under = x_add(e, a, shift), inverse = x_div(e, one, under);
  nxk_value lost = x_sub(e, a, x_sub(e, under, shift)); /* by the sum, then by the quotient */
  lost = x_fnma(e, inverse, lost, x_fnma(e, inverse, under, one));
  nxk_value v = x_sub(e, inverse, x_f(e, 0x1.ff8p-3)), c = x_f(e, nxi_erfc_f32[0]);
  nxk_value p =
      nxi_expand_poly(e, v, nxi_erfc_f32 + 1, (int)(sizeof nxi_erfc_f32 / sizeof(double)) - 1);
  nxk_value g = x_fma(e, v, p, c), g_low = x_fma(e, v, p, x_sub(e, c, g));
  expand_pair q = nxi_expand_product(e, inverse, g), square = nxi_expand_product(e, a, a);
  q.low = x_fma(e, inverse, g_low, q.low);
  expand_reduced power = nxi_expand_reduce_ln2(e, x_neg(e, square.high));
  nxk_value low = nxi_expand_reduced_more(e, power, x_neg(e, square.low));
  low = x_fma(e, lost, x_f(e, 1.3), low);
  nxk_value r = x_add(e, power.high, low);
  nxk_value tail = x_fma(e, X_POLY_OF(e, r, nxi_exp_f32), x_mul(e, r, r), low);
  q.low = x_fma(e, q.high, power.high, x_fma(e, q.high, tail, q.low));
  nxk_value y = x_select(e, far, zero, x_ldexp(e, x_add(e, q.high, q.low), power.n));
  return x_select(e, x_lt(e, x, zero), x_sub(e, x_f(e, 2), y), y);
}

nxk_value nxi_expand_erfc(const expand *e, nxk_value x) {
  return e->wide ? nxi_special(e, x, erfc_wide) : erfc_narrow(e, x);
}

/* Beyond w = 5 the root of w is nearly the result: a polynomial in it up to 4, and (f64) one up to
 * 6.01, the end. What the root and w lost counts about as much in the result. */
static nxk_value erfinv_upper(const special *s, const expand *e, expand_pair w) {
  nxk_value root = x_sqrt(e, w.high), t = x_sub(e, root, x_f(e, 3.125));
  if (s->narrow) return X_TABLE(s, t, erfinv_middle);
  expand_pair middle = X_PAIR(s, t, erfinv_middle);
  nxk_value last = x_sub(e, root, x_f(e, 5));
  expand_pair far = nxi_special_poly_pair(e, last, nxi_erfinv_far_f64,
                                          (int)(sizeof nxi_erfinv_far_f64 / sizeof(double)));
  nxk_value near = x_lt(e, root, x_f(e, 4)), rest = x_add(e, x_fnma(e, root, root, w.high), w.low);
  rest = x_div(e, rest, x_mul(e, root, x_f(e, 1.9)));
  return x_add(e, x_select(e, near, middle.high, far.high),
               x_add(e, rest, x_select(e, near, middle.low, far.low)));
}

/* w = -log(1 - x^2): x P(w) up to w = 5; the rest in a cold block. */
static nxk_value erfinv_of(const special *s, const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), one = x_f(e, 1), rest = x_fnma(e, a, a, one);
  expand_pair log = nxi_special_log(s, rest, NXK_NONE);
  nxk_value w = x_neg(e, nxi_special_sum(s, log));
  expand_pair near = X_PAIR(s, x_sub(e, w, x_f(e, 2.5)), erfinv_near);
  nxk_value y = x_mul(e, x, near.high);
  if (!s->narrow) y = x_copysign(e, x_fma(e, x, near.high, x_mul(e, x, near.low)), x);
  nxk_value cold = nxk_begin_cold(e->k, x_not(e, x_lt(e, a, x_f(e, 0.9966))));
  expand_pair parts = {w, NXK_NONE};
  if (!s->narrow) parts.low = x_neg(e, x_add(e, x_add(e, log.high, w), log.low));
  nxk_value far = erfinv_upper(s, e, parts);
  nxk_value end = x_select(e, x_eq(e, a, one), x_f(e, INFINITY), x_f(e, NAN));
  nxk_value inside = x_copysign(e, x_select(e, x_lt(e, a, one), far, end), x);
  nxk_end(e->k);
  return nxk_blend(e->k, cold, inside, y);
}

nxk_value nxi_expand_erfinv(const expand *e, nxk_value x) { return nxi_special(e, x, erfinv_of); }
