/* SPDX-License-Identifier: ISC */
/* erfc and the inverse of erf. */
#include "special.h"

/* erfc a = e^-a^2 R(t) / (1 + 2a), t = (a - 3) / (a + 3), where the square is a pair. R is between
 * 1 and 1.3. What the quotient lost is found with the inverse 0.8 q of its divisor. */
static nxk_value erfc_upper(const special *s, const expand *e, nxk_value a) {
  nxk_value three = x_f(e, 3), two = x_f(e, 2), one = x_f(e, 1);
  nxk_value t = x_div(e, x_sub(e, a, three), x_add(e, a, three));
  nxk_value r = X_TABLE(s, t, erfcx), under = x_fma(e, a, two, one), q = x_div(e, r, under);
  expand_pair square = nxi_expand_product(e, a, a);
  if (s->narrow)
    return nxi_special_times_exp(s, nxi_special_single(q), x_neg(e, square.high), NXK_NONE);
  nxk_value lost = x_fma(e, a, two, x_sub(e, one, under));
  nxk_value rest = x_fnma(e, q, lost, x_fnma(e, q, under, r));
  /* relative to q: rest / r, r about 1.2 */
  nxk_value low = x_fma(e, rest, x_f(e, 0.83), x_neg(e, square.low));
  return nxi_special_times_exp(s, nxi_special_single(q), x_neg(e, square.high), low);
}

static nxk_value erfc_of(const special *s, const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), square = x_mul(e, x, x), highest = x_f(e, 27.4), one = x_f(e, 1);
  nxk_value lower = x_fnma(e, X_TABLE(s, square, small_erf), x, x_sub(e, one, x));
  nxk_value c = erfc_upper(s, e, x_select(e, x_lt(e, highest, a), highest, a));
  nxk_value upper = x_select(e, x_lt(e, x, x_f(e, 0)), x_sub(e, x_f(e, 2), c), c);
  return x_select(e, x_lt(e, a, x_f(e, 0.75)), lower, upper);
}

nxk_value nxi_expand_erfc(const expand *e, nxk_value x) { return nxi_special(e, x, erfc_of); }

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
