/* SPDX-License-Identifier: ISC */
/* What the functions that are computed by loops share: sums and logarithms of pairs, and pieces of
 * gamma. */
#include "incomplete.h"

void nxi_loop_operands(const expand *e, const nxk_value *args, int n, nxk_value *out) {
  uint16_t lanes = 1;
  for (int i = 0; i < n && !e->k->failed; i++) {
    out[i] = nxk_cast_to(e->k, NX_F64, args[i]);
    if (!e->k->failed && e->k->instrs[out[i]].lanes > lanes) lanes = e->k->instrs[out[i]].lanes;
  }
  for (int i = 0; i < n && !e->k->failed; i++)
    if (e->k->instrs[out[i]].lanes < lanes) out[i] = nxk_splat(e->k, out[i], lanes);
}

nxk_value nxi_loop_constant(const expand *e, double x, nxk_value like) {
  return x_like(e, x_f(e, x), like);
}

/* ---- pairs */

expand_pair nxi_expand_sum(const expand *e, nxk_value a, nxk_value b) {
  nxk_value high = x_add(e, a, b), back = x_sub(e, high, a);
  nxk_value lost = x_sub(e, a, x_sub(e, high, back));
  expand_pair s = {high, x_add(e, lost, x_sub(e, b, back))};
  return s;
}

expand_pair nxi_pair_sum(const expand *e, expand_pair a, expand_pair b) {
  expand_pair high = nxi_expand_sum(e, a.high, b.high);
  nxk_value low = x_add(e, high.low, x_add(e, a.low, b.low));
  return nxi_expand_fast_sum(e, high.high, low);
}

expand_pair nxi_pair_negative(const expand *e, expand_pair a) {
  expand_pair out = {x_neg(e, a.high), x_neg(e, a.low)};
  return out;
}

expand_pair nxi_pair_times_log(const expand *e, nxk_value a, nxk_value u, nxk_value low) {
  const special whole = {*e, false};
  expand_pair log = nxi_special_log(&whole, u, low), p = nxi_expand_product(e, a, log.high);
  expand_pair rest = {x_mul(e, a, log.low), x_f(e, 0)};
  return nxi_pair_sum(e, p, rest);
}

expand_pair nxi_pair_quotient(const expand *e, expand_pair x, nxk_value a) {
  nxk_value q = x_div(e, x.high, a), rest = x_add(e, x_fnma(e, q, a, x.high), x.low);
  expand_pair out = {q, x_div(e, rest, a)};
  return out;
}

nxk_value nxi_half_exp(const expand *e, expand_pair p) {
  const special whole = {*e, false};
  nxk_value half = x_f(e, 0.5), high = x_mul(e, p.high, half), low = x_mul(e, p.low, half);
  /* Of a number that is beyond the range of the exponential the low part may be large. */
  low = x_select(e, x_lt(e, high, x_f(e, -0x1p10)), x_f(e, 0), low);
  return nxi_special_times_exp(&whole, nxi_special_single(x_f(e, 1)), high, low);
}

/* ---- gamma, erfc */

nxk_value nxi_stirling_rest(const expand *e, nxk_value a) {
  nxk_value t = x_div(e, x_f(e, 1), x_add(e, a, x_f(e, 0.5)));
  t = x_sub(e, t, x_f(e, 1.0 / 3));
  return x_div(e, X_POLY_OF(e, t, nxi_stirling_all_f64), a);
}

nxk_value nxi_expand_erfcx(const expand *e, nxk_value a) {
  nxk_value three = x_f(e, 3), two = x_f(e, 2), one = x_f(e, 1), square = x_mul(e, a, a);
  nxk_value t = x_div(e, x_sub(e, a, three), x_add(e, a, three));
  nxk_value upper = x_div(e, X_POLY_OF(e, t, nxi_erfcx_f64), x_fma(e, a, two, one));
  nxk_value lower = x_fnma(e, X_POLY_OF(e, square, nxi_small_erf_f64), a, x_sub(e, one, a));
  lower = x_mul(e, lower, nxi_expand_exp(e, square));
  return x_select(e, x_lt(e, a, x_f(e, 0.75)), lower, upper);
}

/* 2 + d Q(d) is the polynomial of lgamma near 2. */
nxk_value nxi_lgamma_beyond_one(const expand *e, nxk_value a) {
  nxk_value low = x_le(e, a, x_f(e, 0.2)), one = x_f(e, 1), zero = x_f(e, 0);
  nxk_value d = x_select(e, low, a, x_sub(e, a, one));
  nxk_value near = x_mul(e, d, X_POLY_OF(e, x_add(e, d, x_f(e, 0.3125)), nxi_lgamma_near_f64));
  nxk_value less = x_select(e, low, nxi_expand_log1p(e, x_select(e, low, a, zero)), zero);
  return x_sub(e, near, less);
}
