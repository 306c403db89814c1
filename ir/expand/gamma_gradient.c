/* SPDX-License-Identifier: ISC */
/* The derivative of the regularized incomplete gamma function P(a, x) by a, and that divided by its
 * derivative by x. Both are a power, x^a e^-x / gamma(a + 1), or x / a, times a moderate number t,
 * which is found by differentiating what incomplete_gamma.c computes, in the same ranges:
 *   a >= 20, |x - a| < 0.4 a   with Temme's series S in 1 / a and eta:
 *                              log(x / a) (1 / eta + S) - S / (2 a) + dS/da
 *   else x < a, or x <= 1      with the power series S: -dS/da - S (log x - digamma(a + 1))
 *   else                       with Legendre's fraction f: a (log x - digamma(a) - f' / f) / f
 * Terms of a sum have one sign, except near x = 1 for small a, where some two bits are lost. Here
 * log x - digamma is found without cancellation as log(x / m) and a series in 1 / m, m >= 4. */
#include "incomplete.h"
#include "temme_coefficients.h"

enum { CHUNKS = 6, CHUNK = 16, TERMS = 80, MORE_TERMS = 80, NARROW_TERMS = 44, MOST_TEMME = 18 };

/* ---- log x - digamma(c), less 1 / c where c < 4: `near` says so */

typedef struct log_difference {
  nxk_value rest, near;
} log_difference;

static nxk_value log_of_quotient(const expand *e, nxk_value x, nxk_value m) {
  nxk_value tiny = x_lt(e, x, x_f(e, 0x1p-900)), zero = x_f(e, 0);
  nxk_value u = x_select(e, tiny, x_mul(e, x, x_f(e, 0x1p200)), x);
  nxk_value q = x_op2(e, NXK_max, x_div(e, u, m), x_f(e, 0x1p-1022));
  nxk_value less = x_select(e, tiny, x_f(e, 0x1.1542457337d43p+7), zero); /* 200 log 2 */
  return x_sub(e, nxi_expand_log(e, q), less);
}

static log_difference log_less_digamma(const expand *e, bool narrow, nxk_value x, nxk_value c) {
  const special s = {*e, narrow};
  nxk_value one = x_f(e, 1), four = x_f(e, 4), near = x_lt(e, c, four);
  nxk_value m = x_select(e, near, x_add(e, c, four), c);
  nxk_value inverse = x_div(e, one, m), square = x_mul(e, inverse, inverse);
  nxk_value far =
      x_fma(e, X_TABLE(&s, square, digamma_far), square, x_mul(e, inverse, x_f(e, 0.5)));
  nxk_value c1 = x_add(e, c, one), c2 = x_add(e, c, x_f(e, 2)), c3 = x_add(e, c, x_f(e, 3));
  /* 1 / c1 + 1 / c2 + 1 / c3 */
  nxk_value top = x_fma(e, c2, x_add(e, c1, c3), x_mul(e, c1, c3));
  nxk_value steps = x_div(e, top, x_mul(e, x_mul(e, c1, c2), c3));
  nxk_value rest = x_add(e, log_of_quotient(e, x, m), far);
  log_difference out = {x_select(e, near, x_add(e, rest, steps), rest), near};
  return out;
}

/* ---- Temme's expansion */

static nxk_value slope_of(const expand *e, nxk_value eta, const double *c, int count) {
  double slopes[MOST_TEMME];
  for (int i = 1; i < count; i++) slopes[i - 1] = i * c[i];
  return nxi_expand_poly(e, eta, slopes, count - 1);
}

/* dS/da: of a^-k C(eta) it is -a^-(k + 1) (k C + C' mu / eta), mu = x / a - 1. */
static nxk_value temme_gradient(const expand *e, const gamma_case *c) {
  const int last = (int)(sizeof nxi_temme / sizeof nxi_temme[0]) - 1;
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), inverse = x_div(e, one, c->a);
  nxk_value eta = x_sqrt(e, x_mul(e, x_add(e, c->energy, c->energy), inverse));
  eta = x_select(e, c->below, x_neg(e, eta), eta);
  nxk_value middle = x_eq(e, eta, zero), divisor = x_select(e, middle, one, eta);
  nxk_value log = x_mul(e, c->log, inverse), mu = x_mul(e, x_sub(e, c->x, c->a), inverse);
  nxk_value log_ratio = x_select(e, middle, one, x_div(e, log, divisor));
  nxk_value mu_ratio = x_select(e, middle, one, x_div(e, mu, divisor));
  nxk_value sum = zero, slope = zero;
  for (int k = last; k >= 0; k--) {
    nxk_value term = nxi_expand_poly(e, eta, nxi_temme[k].c, nxi_temme[k].count);
    nxk_value tilt = slope_of(e, eta, nxi_temme[k].c, nxi_temme[k].count);
    tilt = x_fma(e, tilt, mu_ratio, x_mul(e, term, x_f(e, k)));
    sum = x_fma(e, sum, inverse, term);
    slope = x_fma(e, slope, inverse, tilt);
  }
  slope = x_fma(e, sum, x_f(e, 0.5), slope);
  return x_fnma(e, slope, inverse, x_fma(e, log, sum, log_ratio));
}

/* ---- the power series: terms x^n / ((a + 1) .. (a + n)), each times 1 / (a + 1) + .. + 1 / (a +
 * n) in its derivative */

typedef struct terms {
  nxk_value term, sum, weight, slope, n;
} terms;

static terms carried(const expand *e, terms t) {
  terms out;
  out.term = nxk_carry(e->k, t.term);
  out.sum = nxk_carry(e->k, t.sum);
  out.weight = nxk_carry(e->k, t.weight);
  out.slope = nxk_carry(e->k, t.slope);
  out.n = nxk_carry(e->k, t.n);
  return out;
}

static void next_terms(const expand *e, terms t, terms next) {
  nxk_next(e->k, t.term, next.term);
  nxk_next(e->k, t.sum, next.sum);
  nxk_next(e->k, t.weight, next.weight);
  nxk_next(e->k, t.slope, next.slope);
  nxk_next(e->k, t.n, next.n);
}

static terms blended(const expand *e, nxk_value cold, terms u, terms t) {
  terms out;
  out.term = nxk_blend(e->k, cold, u.term, t.term);
  out.sum = nxk_blend(e->k, cold, u.sum, t.sum);
  out.weight = nxk_blend(e->k, cold, u.weight, t.weight);
  out.slope = nxk_blend(e->k, cold, u.slope, t.slope);
  out.n = nxk_blend(e->k, cold, u.n, t.n);
  return out;
}

static terms one_more(const expand *e, const gamma_case *c, terms u) {
  terms next;
  next.n = x_add(e, u.n, x_f(e, 1));
  nxk_value inverse = x_div(e, x_f(e, 1), next.n);
  next.term = x_mul(e, u.term, x_mul(e, c->x, inverse));
  next.weight = x_add(e, u.weight, inverse);
  next.sum = x_add(e, u.sum, next.term);
  next.slope = x_fma(e, next.term, next.weight, u.slope);
  return next;
}

static terms series_sums(const expand *e, const gamma_case *c) {
  nxk_value one = nxi_loop_constant(e, 1, c->x), zero = nxi_loop_constant(e, 0, c->x);
  terms start = {one, one, zero, zero, c->a};
  nxk_begin_range(e->k, NXK_SEQ, CHUNKS);
  terms t = carried(e, start);
  nxk_value least = x_mul(e, t.sum, x_f(e, c->narrow ? 0x1p-36 : 0x1p-58));
  nxk_value more = x_and(e, c->series, x_lt(e, least, t.term));
  nxk_value cold = nxk_begin_cold(e->k, more);
  nxk_begin_range(e->k, NXK_SEQ, CHUNK);
  terms u = carried(e, t);
  next_terms(e, u, one_more(e, c, u));
  nxk_end(e->k);
  nxk_end(e->k);
  next_terms(e, t, blended(e, cold, u, t));
  nxk_end(e->k);
  return t;
}

static nxk_value series_gradient(const expand *e, const gamma_case *c) {
  terms t = series_sums(e, c);
  nxk_value next = x_add(e, c->a, x_f(e, 1)), zero = x_f(e, 0);
  log_difference l = log_less_digamma(e, c->narrow, c->x, next);
  nxk_value less = x_select(e, l.near, x_div(e, x_f(e, 1), next), zero);
  return x_fnma(e, t.sum, x_add(e, l.rest, less), t.slope);
}

/* ---- the fraction: its denominator f, and the derivative of that */

typedef struct fraction {
  nxk_value f, slope, n;
} fraction;

static fraction fraction_from(const expand *e, const gamma_case *c, int n) {
  nxk_value apart = x_sub(e, c->x, c->a);
  fraction t = {x_add(e, apart, x_f(e, 2 * n + 1)), nxi_loop_constant(e, -1, c->x),
                nxi_loop_constant(e, n, c->x)};
  return t;
}

/* f = x + 2n - 1 - a - n (n - a) / g, of the g before; f' = -1 + n / g + n (n - a) g' / g^2. */
static fraction fraction_terms(const expand *e, const gamma_case *c, fraction start, int count) {
  nxk_value apart = x_sub(e, c->x, c->a), one = x_f(e, 1);
  fraction t;
  nxk_begin_range(e->k, NXK_SEQ, count);
  t.f = nxk_carry(e->k, start.f);
  t.slope = nxk_carry(e->k, start.slope);
  t.n = nxk_carry(e->k, start.n);
  nxk_value part = x_div(e, t.n, t.f), over = x_mul(e, part, x_sub(e, t.n, c->a));
  nxk_value odd = x_sub(e, x_add(e, t.n, t.n), one);
  nxk_value slope = x_fma(e, over, x_div(e, t.slope, t.f), x_sub(e, part, one));
  nxk_value f = x_sub(e, x_add(e, apart, odd), over), n = x_sub(e, t.n, one);
  nxk_next(e->k, t.f, f);
  nxk_next(e->k, t.slope, slope);
  nxk_next(e->k, t.n, n);
  nxk_end(e->k);
  return t;
}

static fraction fraction_of(const expand *e, const gamma_case *c) {
  const int n = c->narrow ? NARROW_TERMS : TERMS;
  fraction t = fraction_from(e, c, n);
  if (!c->narrow) {
    nxk_value slow = x_and(e, c->fraction, x_lt(e, c->x, x_f(e, 2)));
    nxk_value cold = nxk_begin_cold(e->k, slow);
    fraction far = fraction_terms(e, c, fraction_from(e, c, n + MORE_TERMS), MORE_TERMS);
    nxk_end(e->k);
    t.f = nxk_blend(e->k, cold, far.f, t.f);
    t.slope = nxk_blend(e->k, cold, far.slope, t.slope);
  }
  return fraction_terms(e, c, t, n);
}

/* a (log x - digamma(a)) has 1 for the a / a of which a may be tiny. */
static nxk_value fraction_gradient(const expand *e, const gamma_case *c) {
  fraction t = fraction_of(e, c);
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), inverse = x_div(e, one, t.f);
  log_difference l = log_less_digamma(e, c->narrow, c->x, c->a);
  nxk_value rest = x_fnma(e, t.slope, inverse, l.rest);
  nxk_value all = x_fma(e, c->a, rest, x_select(e, l.near, one, zero));
  return x_mul(e, all, inverse);
}

/* ---- all */

static gamma_case case_of(const expand *e, nxk_value a, nxk_value x, bool narrow) {
  gamma_case c = nxi_gamma_case(e, a, x, narrow);
  c.series = x_or(e, c.series, c.small);
  return c;
}

/* t x / a, of which no part leaves the range of numbers unless all does. */
static nxk_value times_quotient(const expand *e, const gamma_case *c, nxk_value t) {
  nxk_value rest = x_select(e, c->temme, nxi_stirling_rest(e, c->b), x_f(e, 0));
  t = x_mul(e, t, nxi_expand_exp(e, rest));
  nxk_value low = x_mul(e, t, x_div(e, c->x, c->a)), high = x_div(e, x_mul(e, t, c->x), c->a);
  return x_select(e, x_le(e, c->x, x_f(e, 1)), low, high);
}

/* In Temme's range y has no gamma(a + 1), but its leading term alone. From 2^900 on the function is
 * a step (incomplete_gamma.c), whose sides are level. */
static nxk_value times_power(const expand *e, const gamma_case *c, nxk_value t) {
  nxk_value near = x_mul(e, nxi_gamma_over_root(e, x_mul(e, t, c->y), c->a), c->y);
  nxk_value y = x_select(e, c->temme, near, nxi_gamma_times_power(e, c, t));
  return x_neg(e, x_select(e, x_lt(e, x_f(e, 0x1p900), c->a), x_f(e, 0), y));
}

static nxk_value at_the_ends(const expand *e, const gamma_case *c, nxk_value y, nxk_value last) {
  nxk_value zero = x_f(e, 0), infinity = x_f(e, INFINITY);
  nxk_value low = x_or(e, x_eq(e, c->x, zero), x_eq(e, c->a, infinity));
  nxk_value high = x_eq(e, c->x, infinity), endless = x_and(e, high, x_eq(e, c->a, infinity));
  nxk_value good = x_and(e, x_lt(e, zero, c->a), x_le(e, zero, c->x));
  y = x_select(e, low, zero, x_select(e, high, last, y));
  return x_select(e, x_and(e, good, x_not(e, endless)), y, x_f(e, NAN));
}

nxk_value nxi_expand_gamma_gradient(const expand *e, bool of_sample, const nxk_value *args) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  nxk_value v[2] = {NXK_NONE, NXK_NONE};
  nxi_loop_operands(d, args, 2, v);
  gamma_case c = case_of(d, v[0], v[1], !e->wide);
  nxk_value t = nxi_loop_constant(d, 0, c.y);
  t = nxi_gamma_where(d, &c, c.temme, temme_gradient, t);
  t = nxi_gamma_where(d, &c, c.series, series_gradient, t);
  t = nxi_gamma_where(d, &c, c.fraction, fraction_gradient, t);
  nxk_value y = of_sample ? times_quotient(d, &c, t) : times_power(d, &c, t);
  y = at_the_ends(d, &c, y, x_f(d, of_sample ? INFINITY : 0));
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, y);
}
