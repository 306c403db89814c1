/* SPDX-License-Identifier: ISC */
/* igamma and igammac: the regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P. Which
 * of the two is computed follows from where (a, x) is; it is the small one, or as large as the
 * other:
 *   a >= 20, |x - a| < 0.4 a   Temme's expansion: a complementary error function and a series in
 *                              1 / a whose coefficients are series in eta, eta^2 / 2 = x / a - 1 -
 *                              log(x / a)
 *   else x <= 1, P > 1/2       Q by the series of its difference from 1, without cancellation
 *   else x < a, or x <= 1      P by its power series
 *   else                       Q by Legendre's continued fraction, from a fixed term backwards
 * All but the second are the power x^b e^-x / gamma(b + 1) times something moderate. Its logarithm
 * is found as a pair, of which the large terms cancel exactly. */
#include "incomplete.h"
#include "temme_coefficients.h"

enum { CHUNKS = 5, CHUNK = 16, SMALL_TERMS = 18, TERMS = 64, MORE_TERMS = 48, NARROW_TERMS = 36 };

gamma_case nxi_gamma_case(const expand *e, nxk_value a, nxk_value x, bool narrow) {
  gamma_case c = {.a = a, .x = x, .narrow = narrow};
  nxk_value one = x_f(e, 1), zero = x_f(e, 0);
  c.b = x_select(e, x_lt(e, a, one), x_add(e, a, one), a);
  expand_pair apart = nxi_expand_sum(e, x, x_neg(e, c.b)), whole = {x, zero};
  expand_pair ratio = nxi_pair_quotient(e, whole, c.b);
  expand_pair log = nxi_pair_times_log(e, c.b, ratio.high, ratio.low);
  expand_pair energy = nxi_pair_sum(e, apart, nxi_pair_negative(e, log));
  nxk_value large = x_le(e, x_f(e, 20), a), at_most_one = x_le(e, x, one);
  c.below = x_lt(e, x, a);
  c.temme = x_lt(e, x_abs(e, apart.high), x_mul(e, a, x_f(e, 0.4)));
  c.temme = x_and(e, c.temme, large);
  nxk_value power = x_mul(e, a, nxi_expand_log(e, x)); /* P is about e^power */
  c.small = x_or(e, x_lt(e, a, x), x_and(e, x_lt(e, x_f(e, -0.6), power), x_lt(e, a, one)));
  c.small = x_and(e, c.small, at_most_one);
  c.series = x_and(e, x_or(e, c.below, at_most_one), x_not(e, x_or(e, c.temme, c.small)));
  c.fraction = x_not(e, x_or(e, c.series, x_or(e, c.temme, c.small)));
  nxk_value rest = x_select(e, c.temme, zero, nxi_stirling_rest(e, c.b));
  expand_pair all = {rest, zero};
  c.y = nxi_half_exp(e, nxi_pair_negative(e, nxi_pair_sum(e, energy, all)));
  c.energy = x_op2(e, NXK_max, energy.high, zero);
  c.log = log.high;
  return c;
}

nxk_value nxi_gamma_over_root(const expand *e, nxk_value x, nxk_value b) {
  return x_div(e, x, x_sqrt(e, x_mul(e, b, x_f(e, 0x1.921fb54442d18p+2)))); /* 2 pi b */
}

static nxk_value temme_tail(const expand *e, const gamma_case *c) {
  nxk_value y = x_sqrt(e, c->energy), inverse = x_div(e, x_f(e, 1), c->a);
  nxk_value eta = x_sqrt(e, x_mul(e, x_add(e, c->energy, c->energy), inverse));
  const int last = (int)(sizeof nxi_temme / sizeof nxi_temme[0]) - 1;
  eta = x_select(e, c->below, x_neg(e, eta), eta);
  nxk_value sum = nxi_expand_poly(e, eta, nxi_temme[last].c, nxi_temme[last].count);
  for (int k = last - 1; k >= 0; k--)
    sum = x_fma(e, sum, inverse, nxi_expand_poly(e, eta, nxi_temme[k].c, nxi_temme[k].count));
  sum = nxi_gamma_over_root(e, sum, c->a);
  sum = x_select(e, c->below, x_neg(e, sum), sum);
  nxk_value tail = x_fma(e, nxi_expand_erfcx(e, y), x_f(e, 0.5), sum);
  return x_mul(e, x_mul(e, tail, c->y), c->y);
}

nxk_value nxi_gamma_times_power(const expand *e, const gamma_case *c, nxk_value factor) {
  nxk_value shifted = x_lt(e, c->a, x_f(e, 1)),
            p = nxi_gamma_over_root(e, x_mul(e, c->y, factor), c->b);
  p = x_select(e, shifted, x_mul(e, x_div(e, p, c->x), c->b), p);
  return x_mul(e, p, c->y);
}

/* One term more: of a sum whose terms have the ratios x / (a + n). */
typedef struct terms {
  nxk_value term, sum, n;
} terms;

static terms carried(const expand *e, terms t) {
  terms out;
  out.term = nxk_carry(e->k, t.term);
  out.sum = nxk_carry(e->k, t.sum);
  out.n = nxk_carry(e->k, t.n);
  return out;
}

static void next_terms(const expand *e, terms t, terms next) {
  nxk_next(e->k, t.term, next.term);
  nxk_next(e->k, t.sum, next.sum);
  nxk_next(e->k, t.n, next.n);
}

/* 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + .., as long as somebody needs more of it. */
static nxk_value series_sum(const expand *e, const gamma_case *c) {
  nxk_value one = nxi_loop_constant(e, 1, c->x), step = x_f(e, 1);
  terms start = {one, one, c->a}, next;
  nxk_begin_range(e->k, NXK_SEQ, CHUNKS);
  terms t = carried(e, start);
  nxk_value least = x_mul(e, t.sum, x_f(e, c->narrow ? 0x1p-34 : 0x1p-56));
  nxk_value more = x_and(e, c->series, x_lt(e, least, t.term));
  nxk_value cold = nxk_begin_cold(e->k, more);
  nxk_begin_range(e->k, NXK_SEQ, CHUNK);
  terms u = carried(e, t);
  next.n = x_add(e, u.n, step);
  next.term = x_div(e, x_mul(e, u.term, c->x), next.n);
  next.sum = x_add(e, u.sum, next.term);
  next_terms(e, u, next);
  nxk_end(e->k);
  nxk_end(e->k);
  next.term = nxk_blend(e->k, cold, u.term, t.term);
  next.sum = nxk_blend(e->k, cold, u.sum, t.sum);
  next.n = nxk_blend(e->k, cold, u.n, t.n);
  next_terms(e, t, next);
  nxk_end(e->k);
  return t.sum;
}

/* Q = 1 - x^a / gamma(1 + a) (1 + a S), S the sum of (-x)^n / ((a + n) n!). */
static nxk_value small_tail(const expand *e, const gamma_case *c) {
  nxk_value zero = nxi_loop_constant(e, 0, c->x), one = nxi_loop_constant(e, 1, c->x);
  terms start = {one, zero, zero}, next;
  nxk_begin_range(e->k, NXK_SEQ, c->narrow ? SMALL_TERMS / 2 + 2 : SMALL_TERMS);
  terms t = carried(e, start);
  next.n = x_add(e, t.n, x_f(e, 1));
  next.term = x_div(e, x_mul(e, t.term, x_neg(e, c->x)), next.n);
  next.sum = x_add(e, t.sum, x_div(e, next.term, x_add(e, c->a, next.n)));
  next_terms(e, t, next);
  nxk_end(e->k);
  nxk_value usual = x_select(e, c->small, c->a, one), log = nxi_expand_log(e, c->x);
  nxk_value power = x_fma(e, c->a, log, x_neg(e, nxi_lgamma_beyond_one(e, usual)));
  power = nxi_expand_expm1(e, power);
  nxk_value sum = x_mul(e, c->a, t.sum);
  return x_neg(e, x_add(e, power, x_fma(e, power, sum, sum)));
}

/* The denominator f = x + 2n + 1 - a of the fraction at its term n. */
typedef struct fraction {
  nxk_value f, n;
} fraction;

static fraction fraction_from(const expand *e, const gamma_case *c, int n) {
  nxk_value apart = x_sub(e, c->x, c->a), whole = nxi_loop_constant(e, n, c->x);
  fraction t = {x_add(e, apart, x_f(e, 2 * n + 1)), whole};
  return t;
}

/* x + 2n - 1 - a - n (n - a) / f, `count` times, with n one less each time. */
static fraction fraction_terms(const expand *e, const gamma_case *c, fraction start, int count) {
  nxk_value apart = x_sub(e, c->x, c->a), one = x_f(e, 1);
  fraction t;
  nxk_begin_range(e->k, NXK_SEQ, count);
  t.f = nxk_carry(e->k, start.f);
  t.n = nxk_carry(e->k, start.n);
  nxk_value over = x_mul(e, t.n, x_sub(e, t.n, c->a)), odd = x_sub(e, x_add(e, t.n, t.n), one);
  nxk_value f = x_sub(e, x_add(e, apart, odd), x_div(e, over, t.f)), n = x_sub(e, t.n, one);
  nxk_next(e->k, t.f, f);
  nxk_next(e->k, t.n, n);
  nxk_end(e->k);
  return t;
}

/* x^a e^-x / gamma(a) over the continued fraction; below 2 with more terms. */
static nxk_value fraction_tail(const expand *e, const gamma_case *c) {
  const int n = c->narrow ? NARROW_TERMS : TERMS;
  fraction t = fraction_from(e, c, n);
  if (!c->narrow) {
    nxk_value slow = x_and(e, c->fraction, x_lt(e, c->x, x_f(e, 2)));
    nxk_value cold = nxk_begin_cold(e->k, slow);
    fraction far = fraction_terms(e, c, fraction_from(e, c, n + MORE_TERMS), MORE_TERMS);
    nxk_end(e->k);
    t.f = nxk_blend(e->k, cold, far.f, t.f);
  }
  t = fraction_terms(e, c, t, n);
  return nxi_gamma_times_power(e, c, x_div(e, c->a, t.f));
}

/* ---- all */

static nxk_value series_tail(const expand *e, const gamma_case *c) {
  return nxi_gamma_times_power(e, c, series_sum(e, c));
}

nxk_value nxi_gamma_where(const expand *e, const gamma_case *c, nxk_value when, gamma_tail *f,
                          nxk_value otherwise) {
  nxk_value cold = nxk_begin_cold(e->k, when), inside = f(e, c);
  nxk_end(e->k);
  return nxk_blend(e->k, cold, inside, otherwise);
}

/* At the ends P is 0 at x = 0 and for a = infinity, 1 for a = 0 and at infinity; NaN where these
 * contradict each other. From 2^900 on it is a step. low, high: 0 and 1, for Q 1 and 0. */
static nxk_value at_the_ends(const expand *e, const gamma_case *c, nxk_value y, nxk_value low,
                             nxk_value high) {
  nxk_value zero = x_f(e, 0), infinity = x_f(e, INFINITY), step = x_select(e, c->below, low, high);
  y = x_select(e, x_lt(e, x_f(e, 0x1p900), c->a), step, y);
  nxk_value none = x_or(e, x_eq(e, c->x, zero), x_eq(e, c->a, infinity));
  nxk_value all = x_or(e, x_eq(e, c->x, infinity), x_eq(e, c->a, zero));
  nxk_value good = x_and(e, x_le(e, zero, c->a), x_le(e, zero, c->x));
  good = x_and(e, good, x_not(e, x_and(e, none, all)));
  y = x_select(e, none, low, x_select(e, all, high, y));
  return x_select(e, good, y, x_f(e, NAN));
}

nxk_value nxi_expand_incomplete_gamma(const expand *e, bool upper, const nxk_value *args) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  nxk_value v[2] = {NXK_NONE, NXK_NONE}, zero = x_f(d, 0), one = x_f(d, 1);
  nxi_loop_operands(d, args, 2, v);
  gamma_case c = nxi_gamma_case(d, v[0], v[1], !e->wide);
  nxk_value t = nxi_loop_constant(d, 0, c.y);
  t = nxi_gamma_where(d, &c, c.temme, temme_tail, t);
  t = nxi_gamma_where(d, &c, c.series, series_tail, t);
  t = nxi_gamma_where(d, &c, c.small, small_tail, t);
  t = nxi_gamma_where(d, &c, c.fraction, fraction_tail, t);
  nxk_value lower = x_or(d, c.series, x_and(d, c.temme, c.below)), rest = x_sub(d, one, t);
  nxk_value y = upper ? x_select(d, lower, rest, t) : x_select(d, lower, t, rest);
  y = at_the_ends(d, &c, y, upper ? one : zero, upper ? zero : one);
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, y);
}
