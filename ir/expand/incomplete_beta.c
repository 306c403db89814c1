/* SPDX-License-Identifier: ISC */
/* betainc: the regularized incomplete beta function I_x(a, b), by the continued fraction DLMF
 * 8.17.22 of it or, for x beyond its mean, of 1 - I = I_1-x(b, a). What stands before the fraction
 * is x^a (1 - x)^b over beta: a logarithm that is found as a pair, in which the large terms cancel
 * exactly, and what gamma lacks of Stirling's formula. */
#include "incomplete.h"

enum { LEVELS = 4, CHUNK = 16, STATE = 6 };

/* a, b, x, y = 1 - x with the two sides exchanged where that converges sooner. big_a, big_b: a + 1
 * for an a below 1. */
typedef struct beta_case {
  nxk_value a, b, big_a, big_b;
  expand_pair x, y;
  nxk_value turned; /* bool */
  bool narrow;
} beta_case;

static nxk_value enlarged(const expand *e, nxk_value a) {
  nxk_value one = x_f(e, 1);
  return x_select(e, x_lt(e, a, one), x_add(e, a, one), a);
}

static beta_case look_at(const expand *e, const nxk_value *v, bool narrow) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), a = v[0], b = v[1], x = v[2];
  nxk_value mean = x_div(e, x_add(e, a, one), x_add(e, x_add(e, a, b), x_f(e, 2)));
  beta_case c = {.turned = x_lt(e, mean, x), .narrow = narrow};
  nxk_value slim = x_and(e, x_lt(e, b, one), x_lt(e, x, x_f(e, 0.99)));
  c.turned = x_and(e, c.turned, x_not(e, slim)); /* 1 - I is nearly 1 there */
  expand_pair y = nxi_expand_sum(e, one, x_neg(e, x));
  c.a = x_select(e, c.turned, b, a);
  c.b = x_select(e, c.turned, a, b);
  c.x.high = x_select(e, c.turned, y.high, x);
  c.x.low = x_select(e, c.turned, y.low, zero);
  c.y.high = x_select(e, c.turned, x, y.high);
  c.y.low = x_select(e, c.turned, zero, y.low);
  c.big_a = enlarged(e, c.a);
  c.big_b = enlarged(e, c.b);
  return c;
}

/* The pair times a number, over another one. */
static expand_pair scaled(const expand *e, expand_pair p, expand_pair n, nxk_value a) {
  expand_pair product = nxi_expand_product(e, n.high, p.high);
  nxk_value low = x_fma(e, n.high, p.low, x_fma(e, n.low, p.high, product.low));
  product.low = low;
  return nxi_pair_quotient(e, product, a);
}

/* x^a y^b / (a beta(a, b)). Of A and B, which are at least 1, beta is the exponential of A log(A /
 * n) + B log(B / n) and of what Stirling's formula lacks, over sqrt(A B / (2 pi n)), n = A + B. */
static nxk_value power_over_beta(const expand *e, const beta_case *c) {
  nxk_value one = x_f(e, 1), zero = x_f(e, 0), a = c->big_a, b = c->big_b;
  expand_pair n = nxi_expand_sum(e, a, b), p = scaled(e, c->x, n, a), q = scaled(e, c->y, n, b);
  p = nxi_pair_times_log(e, a, p.high, p.low);
  q = nxi_pair_times_log(e, b, q.high, q.low);
  expand_pair rest = {nxi_stirling_rest(e, n.high), zero};
  rest.high = x_sub(e, rest.high, nxi_stirling_rest(e, a));
  rest.high = x_sub(e, rest.high, nxi_stirling_rest(e, b));
  nxk_value half = nxi_half_exp(e, nxi_pair_sum(e, nxi_pair_sum(e, p, q), rest));
  nxk_value root = x_mul(e, x_div(e, a, n.high), b);
  root = x_sqrt(e, x_mul(e, root, x_f(e, 0x1.45f306dc9c883p-3))); /* 1 / (2 pi) */
  nxk_value value = x_mul(e, half, root), less_a = x_lt(e, c->a, one), less_b = x_lt(e, c->b, one);
  /* beta(a + 1, b) is beta(a, b) a / (a + b), and likewise for b */
  nxk_value factor = x_select(e, less_b, x_div(e, c->b, x_add(e, a, c->b)), one);
  factor = x_div(e, factor, x_select(e, less_a, x_add(e, c->a, c->b), c->a));
  value = x_select(e, less_a, x_div(e, value, c->x.high), value);
  value = x_select(e, less_b, x_div(e, value, c->y.high), value);
  return x_mul(e, x_mul(e, value, factor), half);
}

/* ---- the fraction, forwards: numerators and denominators of the last two convergents, where the
 * last denominator is 1 but at the beginning; the number of the term; what the last step changed */

enum { OVER_BEFORE, UNDER_BEFORE, OVER, UNDER, NUMBER, CHANGE };

static void fraction_step(const expand *e, const beta_case *c, const nxk_value *s,
                          nxk_value *next) {
  nxk_value one = x_f(e, 1), a = c->a, b = c->b, x = c->x.high, m = x_add(e, s[NUMBER], one);
  nxk_value base = x_add(e, a, x_add(e, m, m)), half = x_div(e, x, base);
  nxk_value even = x_div(e, x_mul(e, x_sub(e, b, m), m), x_sub(e, base, one));
  nxk_value odd = x_div(e, x_neg(e, x_add(e, x_add(e, a, b), m)), x_add(e, base, one));
  even = x_mul(e, even, half);
  odd = x_mul(e, x_mul(e, odd, half), x_add(e, a, m));
  nxk_value over = x_fma(e, even, s[OVER_BEFORE], s[OVER]);
  nxk_value under = x_fma(e, even, s[UNDER_BEFORE], s[UNDER]);
  nxk_value inverse = x_div(e, one, x_fma(e, odd, s[UNDER], under));
  next[OVER_BEFORE] = x_mul(e, over, inverse);
  next[UNDER_BEFORE] = x_mul(e, under, inverse);
  next[OVER] = x_mul(e, x_fma(e, odd, s[OVER], over), inverse);
  next[UNDER] = nxi_loop_constant(e, 1, x);
  next[NUMBER] = m;
  next[CHANGE] = x_abs(e, x_sub(e, next[OVER], s[OVER]));
}

/* CHUNK steps, or chunks of them, for those that have not converged. Recursion: LEVELS deep. */
static void fraction_steps(const expand *e, const beta_case *c, int level, nxk_value *state) {
  nxk_value s[STATE], next[STATE], old[STATE];
  nxk_begin_range(e->k, NXK_SEQ, CHUNK);
  for (int i = 0; i < STATE; i++) old[i] = s[i] = nxk_carry(e->k, state[i]);
  if (level == 0) {
    fraction_step(e, c, s, next);
  } else {
    nxk_value least = x_mul(e, s[OVER], x_f(e, c->narrow ? 0x1p-34 : 0x1p-55));
    nxk_value cold = nxk_begin_cold(e->k, x_lt(e, least, s[CHANGE]));
    fraction_steps(e, c, level - 1, s);
    nxk_end(e->k);
    for (int i = 0; i < STATE; i++) next[i] = nxk_blend(e->k, cold, s[i], old[i]);
  }
  for (int i = 0; i < STATE; i++) nxk_next(e->k, old[i], next[i]);
  nxk_end(e->k);
  for (int i = 0; i < STATE; i++) state[i] = old[i];
}

/* NaN if it has not converged. */
static nxk_value fraction_of(const expand *e, const beta_case *c) {
  nxk_value one = nxi_loop_constant(e, 1, c->x.high), zero = nxi_loop_constant(e, 0, c->x.high);
  nxk_value first = x_mul(e, x_add(e, c->a, c->b), c->x.high);
  first = x_sub(e, one, x_div(e, first, x_add(e, c->a, one)));
  nxk_value state[STATE] = {one, one, one, first, zero, one};
  fraction_steps(e, c, LEVELS - 1, state);
  nxk_value done =
      x_le(e, state[CHANGE], x_mul(e, state[OVER], x_f(e, c->narrow ? 0x1p-30 : 0x1p-44)));
  return x_select(e, done, state[OVER], x_f(e, NAN));
}

/* ---- all */

/* A step at the mean for a and b beyond 2^104. 0 at x = 0, and for b = 0 and infinite a; 1 at x =
 * 1, and for a = 0 and infinite b, unless these contradict each other; x counts more. */
static nxk_value at_the_ends(const expand *e, const nxk_value *v, nxk_value value) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1), infinity = x_f(e, INFINITY), a = v[0], b = v[1];
  nxk_value less = x_op2(e, NXK_min, a, b), mean = x_div(e, one, x_add(e, one, x_div(e, b, a)));
  nxk_value step = x_select(e, x_lt(e, v[2], mean), zero, one);
  step = x_select(e, x_eq(e, v[2], mean), x_f(e, 0.5), step);
  value = x_select(e, x_lt(e, x_f(e, 0x1p104), less), step, value);
  nxk_value none = x_or(e, x_eq(e, b, zero), x_eq(e, a, infinity));
  nxk_value all = x_or(e, x_eq(e, a, zero), x_eq(e, b, infinity));
  nxk_value good = x_and(e, x_le(e, zero, a), x_le(e, zero, b));
  good = x_and(e, good, x_not(e, x_and(e, none, all)));
  good = x_and(e, good, x_and(e, x_le(e, zero, v[2]), x_le(e, v[2], one)));
  value = x_select(e, none, zero, x_select(e, all, one, value));
  value = x_select(e, x_eq(e, v[2], zero), zero, x_select(e, x_eq(e, v[2], one), one, value));
  return x_select(e, good, value, x_f(e, NAN));
}

nxk_value nxi_expand_incomplete_beta(const expand *e, const nxk_value *args) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  nxk_value v[3] = {NXK_NONE, NXK_NONE, NXK_NONE};
  nxi_loop_operands(d, args, 3, v);
  beta_case c = look_at(d, v, !e->wide);
  nxk_value t = x_mul(d, power_over_beta(d, &c), fraction_of(d, &c));
  t = x_op2(d, NXK_min, t, x_f(d, 1)); /* what is beyond has been rounded there */
  t = x_select(d, c.turned, x_sub(d, x_f(d, 1), t), t);
  t = at_the_ends(d, v, t);
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, t);
}
