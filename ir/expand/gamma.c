/* SPDX-License-Identifier: ISC */
/* lgamma and digamma. */
#include "special.h"

/* ---- lgamma of x >= 0. Up to 7.2 x = n + d, n integral, -0.8 <= d <= 0.2, and the logarithm of
 * gamma is d Q(d), that of 2 + d, and the logarithm of a product of n - 2 factors, or less that of
 * x or of x (1 + x): so the least of its values, at 1.46, is d Q(d) alone. Beyond it is Stirling's
 * series. There is one logarithm. */

typedef struct product {
  nxk_value d, high, low, inverted;
} product;

static product product_of(const special *s, const expand *e, nxk_value x) {
  nxk_value n = x_rint(e, x_add(e, x, x_f(e, 0.3))), one = x_f(e, 1);
  product p = {.d = x_sub(e, x, n), .high = one, .low = NXK_NONE};
  for (int j = 2; j < 7; j++) {
    nxk_value more = x_mul(e, p.high, x_add(e, p.d, x_f(e, j)));
    p.high = x_select(e, x_lt(e, x_f(e, j), n), more, p.high);
  }
  nxk_value next = x_add(e, x, one), none = x_lt(e, n, x_f(e, 0.5));
  expand_pair both = nxi_expand_product(e, x, next);
  p.inverted = x_lt(e, n, x_f(e, 1.5));
  p.high = x_select(e, p.inverted, x_select(e, none, both.high, x), p.high);
  if (s->narrow) return p;
  nxk_value lost = x_sub(e, x, x_sub(e, next, one));
  p.low = x_select(e, none, x_fma(e, x, lost, both.low), x_f(e, 0));
  return p;
}

/* (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + S(1 / x^2) / x. Beyond 2^1000 the first product
 * alone counts, which may be infinite. */
static nxk_value stirling(const special *s, const expand *e, nxk_value x, expand_pair log) {
  nxk_value inverse = x_div(e, x_f(e, 1), x), shifted = x_sub(e, x, x_f(e, 0.5));
  nxk_value rest = X_TABLE(s, x_mul(e, inverse, inverse), stirling);
  rest = x_fma(e, rest, inverse, x_f(e, 0x1.acfe390c97d69p-2));
  if (s->narrow) return x_fma(e, shifted, x_sub(e, log.high, x_f(e, 1)), rest);
  log = nxi_expand_fast_sum(e, log.high, log.low);
  expand_pair p = nxi_expand_product(e, shifted, x_sub(e, log.high, x_f(e, 1)));
  rest = x_fma(e, shifted, log.low, x_add(e, rest, p.low));
  return x_select(e, x_lt(e, x, x_f(e, 0x1p1000)), x_add(e, p.high, rest), p.high);
}

static nxk_value lgamma_positive(const special *s, const expand *e, nxk_value x) {
  nxk_value border = x_f(e, 7.2), large = x_le(e, border, x), zero = x_f(e, 0);
  product p = product_of(s, e, x_select(e, large, border, x));
  nxk_value u = x_select(e, large, x, p.high);
  expand_pair log = nxi_special_log(s, u, s->narrow ? NXK_NONE : x_select(e, large, zero, p.low));
  expand_pair q = X_PAIR(s, x_add(e, p.d, x_f(e, 0.3125)), lgamma_near);
  nxk_value high = x_select(e, p.inverted, x_neg(e, log.high), log.high), lower;
  if (s->narrow) {
    lower = x_add(e, x_mul(e, p.d, q.high), high);
  } else {
    expand_pair near = nxi_expand_product(e, p.d, q.high);
    expand_pair sum = nxi_expand_fast_sum(e, high, near.high);
    nxk_value low = x_select(e, p.inverted, x_neg(e, log.low), log.low);
    low = x_add(e, low, x_fma(e, p.d, q.low, near.low));
    lower = x_add(e, sum.high, x_add(e, sum.low, low));
  }
  nxk_value y = x_select(e, large, stirling(s, e, x, log), lower);
  nxk_value end = x_or(e, x_eq(e, x, zero), x_eq(e, x, x_f(e, INFINITY)));
  return x_select(e, end, x_f(e, INFINITY), y);
}

/* Below 0: log(pi / |sin pi x|) - lgamma(1 - x); below -1/2, where 1 - x would be rounded, log(pi /
 * |x sin pi x|) - lgamma(-x). */
static nxk_value lgamma_of(const special *s, const expand *e, nxk_value x) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1), negative = x_lt(e, x, zero), a = x_abs(e, x);
  nxk_value near = x_and(e, negative, x_lt(e, x_f(e, -0.5), x));
  nxk_value y = lgamma_positive(s, e, x_select(e, near, x_sub(e, one, x), a));
  nxk_value cold = nxk_begin_cold(e->k, negative);
  nxk_value tiny = x_lt(e, a, x_f(e, 0x1p-500)); /* there the sine is pi a */
  nxk_value sine = x_abs(e, nxi_expand_sine(e, nxi_special_half_turns(s, x)));
  sine = x_mul(e, sine, x_select(e, near, one, a));
  nxk_value log_pi = x_select(e, tiny, zero, x_f(e, 0x1.250d048e7a1bdp+0));
  nxk_value pole = x_eq(e, x_trunc(e, x), x); /* and infinity */
  sine = x_select(e, tiny, a, sine);
  expand_pair log = nxi_special_log(s, sine, NXK_NONE);
  nxk_value inside = x_sub(e, x_sub(e, log_pi, y), nxi_special_sum(s, log));
  inside = x_select(e, pole, x_f(e, INFINITY), inside);
  nxk_end(e->k);
  return nxk_blend(e->k, cold, inside, y);
}

nxk_value nxi_expand_lgamma(const expand *e, nxk_value x) { return nxi_special(e, x, lgamma_of); }

/* ---- digamma of x >= 0. Below 4 it is that of 1 + b, 0 <= b < 1, which is (1 + b - root) R(b),
 * and -1/x or 1/(x - 1) or 1/(x - 1) + 1/(x - 2), as one quotient. From 4 on it is an asymptotic
 * series, which has the logarithm and 1/x. */

/* The quotient, and b. */
typedef struct steps {
  nxk_value top, bottom, bottom_low, b;
} steps;

static steps steps_of(const expand *e, nxk_value x, nxk_value large) {
  nxk_value one = x_f(e, 1), two = x_f(e, 2), three = x_f(e, 3), zero = x_f(e, 0);
  nxk_value from1 = x_le(e, one, x), from2 = x_le(e, two, x), from3 = x_le(e, three, x);
  nxk_value less = x_sub(e, x, one), less2 = x_sub(e, x, two);
  expand_pair both = nxi_expand_product(e, less, less2);
  steps t = {x_f(e, -1), x, zero, x};
  t.top = x_select(e, from1, x_select(e, from2, one, zero), t.top);
  t.top = x_select(e, from3, x_sub(e, x_add(e, x, x), three), t.top);
  t.top = x_select(e, large, one, t.top);
  t.bottom = x_select(e, from2, less, x);
  t.bottom = x_select(e, from3, both.high, t.bottom);
  t.bottom = x_select(e, large, x, t.bottom);
  t.bottom_low = x_select(e, large, zero, x_select(e, from3, both.low, zero));
  t.b = x_select(e, from1, less, t.b);
  t.b = x_select(e, from2, less2, t.b);
  t.b = x_select(e, from3, x_sub(e, x, three), t.b);
  return t;
}

/* q + w R - ..: the root less 1 is a pair, and so is the quotient. */
static nxk_value digamma_near(const special *s, const expand *e, steps t, nxk_value inverse) {
  nxk_value q = x_mul(e, t.top, inverse), w = x_sub(e, t.b, x_f(e, 0x1.d8b618d5af8fep-2));
  expand_pair r = X_PAIR(s, x_sub(e, t.b, x_f(e, 0.5)), digamma_near);
  nxk_value low_root = x_f(e, 0x1.1e563779a1f5bp-56);
  if (s->narrow) return x_add(e, q, x_fma(e, w, r.high, x_mul(e, r.high, low_root)));
  expand_pair near = nxi_expand_product(e, w, r.high), sum = nxi_expand_fast_sum(e, q, near.high);
  near.low = x_fma(e, w, r.low, near.low);
  nxk_value low = x_add(e, sum.low, x_fma(e, r.high, low_root, near.low));
  nxk_value rest = x_fnma(e, q, t.bottom_low, x_fnma(e, q, t.bottom, t.top));
  nxk_value y = x_add(e, sum.high, x_fma(e, rest, inverse, low));
  return x_select(e, x_lt(e, t.bottom, x_f(e, 0x1p-60)), q, y); /* where q may be infinite */
}

static nxk_value digamma_positive(const special *s, const expand *e, nxk_value x) {
  nxk_value large = x_le(e, x_f(e, 4), x), one = x_f(e, 1);
  steps t = steps_of(e, x, large);
  nxk_value inverse = x_div(e, one, t.bottom), square = x_mul(e, inverse, inverse);
  expand_pair log = nxi_special_log(s, x_select(e, large, x, one), NXK_NONE);
  nxk_value tail =
      x_fma(e, X_TABLE(s, square, digamma_far), x_neg(e, square), x_mul(e, inverse, x_f(e, -0.5)));
  if (!s->narrow) tail = x_add(e, log.low, tail);
  nxk_value far = x_add(e, log.high, tail);
  nxk_value y = x_select(e, large, far, digamma_near(s, e, t, inverse));
  return x_select(e, x_eq(e, x, x_f(e, INFINITY)), x, y);
}

/* y - pi cot(pi x). The quotient of cosine and sine is a pair: a tangent that is rounded, times pi,
 * would be off by more than 2 ulp. */
static nxk_value less_cotangent(const special *s, const expand *e, nxk_value x, nxk_value y) {
  expand_quadrant a = nxi_special_half_turns(s, x);
  expand_pair sine = nxi_expand_sine_parts(e, a);
  a.q = x_add(e, a.q, x_u(e, 1));
  expand_pair cosine = nxi_expand_sine_parts(e, a);
  sine = nxi_expand_fast_sum(e, sine.high, sine.low);
  cosine = nxi_expand_fast_sum(e, cosine.high, cosine.low);
  nxk_value q = x_div(e, cosine.high, sine.high);
  nxk_value rest = x_add(e, x_fnma(e, q, sine.high, cosine.high), cosine.low);
  rest = x_div(e, x_fnma(e, q, sine.low, rest), sine.high);
  rest = x_fma(e, rest, x_f(e, 0x1.921fb54442d18p+1), x_mul(e, q, x_f(e, 0x1.1a62633145c07p-53)));
  return x_fnma(e, q, x_f(e, 0x1.921fb54442d18p+1), x_sub(e, y, rest));
}

/* Below 0: digamma(1 - x) - pi cot(pi x). */
static nxk_value digamma_of(const special *s, const expand *e, nxk_value x) {
  nxk_value zero = x_f(e, 0), negative = x_lt(e, x, zero);
  nxk_value y = digamma_positive(s, e, x_select(e, negative, x_sub(e, x_f(e, 1), x), x));
  nxk_value cold = nxk_begin_cold(e->k, negative);
  nxk_value inside = less_cotangent(s, e, x, y);
  nxk_value tiny = x_lt(e, x_f(e, -0x1p-500), x); /* there it is -1/x */
  inside = x_select(e, tiny, x_div(e, x_f(e, -1), x), inside);
  nxk_value pole = x_eq(e, x_trunc(e, x), x);
  inside = x_select(e, pole, x_f(e, NAN), inside);
  nxk_end(e->k);
  return nxk_blend(e->k, cold, inside, y);
}

nxk_value nxi_expand_digamma(const expand *e, nxk_value x) { return nxi_special(e, x, digamma_of); }
