/* SPDX-License-Identifier: ISC */
/* zeta(x, q), the sum of (q + k)^-x over k >= 0, by the formula of Euler and Maclaurin after TERMS
 * terms; polygamma by it. */
#include "incomplete.h"

enum { TERMS = 10 };

/* B_2j / (2j)!, from j = 1. */
static const double bernoulli[] = {
    0x1.5555555555555p-4,  -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15, -0x1.bbd779334ef0bp-21,
    0x1.66a8f2bf70ebep-26, -0x1.22805d644267fp-31, 0x1.d6db2c4e09162p-37, -0x1.7da4e1f79955cp-42,
    0x1.355871d652e9ep-47, -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58, -0x1.497d9033a2b5cp-63};
enum { LAST = sizeof bernoulli / sizeof *bernoulli - 1 };

/* What the sum from w on is of w^-x: w / (x - 1) + 1/2 + the sum of B_2j / (2j)! x (x + 1) .. (x +
 * 2j - 2) / w^(2j - 1). Beyond x = 1000 it is nothing beside the terms before. */
static nxk_value rest_of_sum(const expand *e, nxk_value x, nxk_value w) {
  nxk_value one = x_f(e, 1), inverse = x_div(e, one, w), square = x_mul(e, inverse, inverse);
  nxk_value sum = x_f(e, bernoulli[LAST]);
  for (int j = LAST; j > 0; j--) {
    nxk_value first = x_add(e, x, x_f(e, 2 * j - 1)), second = x_add(e, x, x_f(e, 2 * j));
    nxk_value factor = x_mul(e, x_mul(e, first, second), square);
    sum = x_fma(e, sum, factor, x_f(e, bernoulli[j - 1]));
  }
  sum = x_fma(e, sum, x_mul(e, x, inverse), x_f(e, 0.5));
  return x_add(e, sum, x_div(e, w, x_sub(e, x, one)));
}

/* The sum for q > 0 and x > 1. The terms fall, so what each addition rounds away is known. */
static nxk_value positive(const expand *e, nxk_value x, nxk_value q) {
  nxk_value zero = nxi_loop_constant(e, 0, x), minus = x_neg(e, x), one = x_f(e, 1);
  nxk_begin_range(e->k, NXK_SEQ, TERMS);
  nxk_value sum = nxk_carry(e->k, zero), low = nxk_carry(e->k, zero), w = nxk_carry(e->k, q);
  expand_pair more = nxi_expand_sum(e, sum, nxi_expand_pow(e, w, minus));
  nxk_value finite = x_lt(e, more.high, x_f(e, INFINITY)), lost = x_add(e, low, more.low);
  nxk_value next = x_add(e, w, one), kept = x_select(e, finite, lost, low);
  nxk_next(e->k, sum, more.high);
  nxk_next(e->k, low, kept);
  nxk_next(e->k, w, next);
  nxk_end(e->k);
  nxk_value rest = x_mul(e, nxi_expand_pow(e, w, minus), rest_of_sum(e, x, w));
  rest = x_select(e, x_lt(e, x, x_f(e, 1000)), rest, x_f(e, 0));
  return x_add(e, sum, x_add(e, low, rest));
}

/* Of the sum at a large q the integral is left, and may be normal where q^-x underflows. */
static nxk_value for_large(const expand *e, nxk_value x, nxk_value q, nxk_value y) {
  nxk_value one = x_f(e, 1), cold = nxk_begin_cold(e->k, x_lt(e, x_f(e, 0x1p400), q));
  nxk_value integral = nxi_expand_pow(e, q, x_sub(e, one, x));
  integral = x_div(e, integral, x_sub(e, x, one));
  nxk_end(e->k);
  return nxk_blend(e->k, cold, integral, y);
}

/* Where q = f - m is negative, f its fraction, the terms at f - 1 .. f - m are those of a sum at
 * 1 - f without those of one at 1 - q, with the sign of (-1)^x, an integer. */
static nxk_value zeta_of(const expand *e, nxk_value x, nxk_value q) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1), negative = x_lt(e, q, zero), floor = x_floor(e, q);
  nxk_value fraction = x_sub(e, q, floor), base = x_select(e, negative, fraction, q);
  nxk_value y = positive(e, x, base), half = x_mul(e, x, x_f(e, 0.5));
  nxk_value even = x_eq(e, x_floor(e, half), half), whole = x_eq(e, x_floor(e, x), x);
  nxk_value cold = nxk_begin_cold(e->k, negative);
  nxk_value near = positive(e, x, x_sub(e, one, fraction)), odd = x_sub(e, y, near);
  nxk_value far = positive(e, x, x_sub(e, one, q)), inside = x_sub(e, x_add(e, y, near), far);
  inside = x_select(e, even, inside, x_add(e, odd, far)); /* y and near may be equal */
  inside = x_select(e, whole, inside, x_f(e, NAN));
  nxk_end(e->k);
  y = nxk_blend(e->k, cold, inside, y);
  y = for_large(e, x, q, y);
  nxk_value pole = x_and(e, x_le(e, q, zero), x_eq(e, floor, q));
  y = x_select(e, pole, x_select(e, even, x_f(e, INFINITY), x_f(e, NAN)), y);
  y = x_select(e, x_eq(e, q, x_f(e, INFINITY)), zero, y);
  y = x_select(e, x_eq(e, x, one), x_f(e, INFINITY), y);
  y = x_select(e, x_le(e, one, x), y, x_f(e, NAN));
  return x_select(e, x_eq(e, q, q), y, q);
}

nxk_value nxi_expand_zeta(const expand *e, const nxk_value *args) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  nxk_value v[2] = {NXK_NONE, NXK_NONE};
  nxi_loop_operands(d, args, 2, v);
  nxk_value y = zeta_of(d, v[0], v[1]);
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, y);
}

/* n! zeta(n + 1, x) with the sign of (-1)^(n + 1), and digamma for n = 0. n! is that of Stirling's
 * formula with what it lacks, by halves, so that it does not overflow before the product does. */
nxk_value nxi_expand_polygamma(const expand *e, const nxk_value *args) {
  const expand wide = expand_as(e->k, NX_F64), *d = &wide;
  nxk_value v[2] = {NXK_NONE, NXK_NONE}, zero = x_f(d, 0), one = x_f(d, 1);
  nxi_loop_operands(d, args, 2, v);
  nxk_value n = v[0], usual = x_select(d, x_le(d, one, n), n, one), b = x_add(d, usual, one);
  expand_pair log = nxi_pair_times_log(d, b, b, NXK_NONE), more = {nxi_stirling_rest(d, b), zero};
  nxk_value minus = x_neg(d, b);
  more = nxi_pair_sum(d, more, nxi_expand_sum(d, minus, zero));
  nxk_value half = nxi_half_exp(d, nxi_pair_sum(d, log, more));
  nxk_value root = x_sqrt(d, x_div(d, x_f(d, 0x1.921fb54442d18p+2), b)); /* 2 pi / b */
  nxk_value y = x_mul(d, x_mul(d, x_mul(d, zeta_of(d, b, v[1]), root), half), half);
  nxk_value less = x_mul(d, n, x_f(d, 0.5)), even = x_eq(d, x_floor(d, less), less);
  y = x_select(d, even, x_neg(d, y), y);
  y = x_select(d, x_eq(d, n, zero), nxi_expand_digamma(d, v[1]), y);
  nxk_value good = x_and(d, x_le(d, zero, n), x_eq(d, x_floor(d, n), n));
  y = x_select(d, good, y, x_f(d, NAN));
  return e->k->failed ? NXK_NONE : x_cast(d, e->f, y);
}
