/* SPDX-License-Identifier: ISC */
/* What special functions share: exponentials and logarithms of pairs, angles in half turns. */
#include "special.h"

#include "coefficients.h"

#ifndef NXI_EXPAND_NUMBERS
nxk_value nxi_special(const expand *e, nxk_value x,
                      nxk_value (*f)(const special *s, const expand *d, nxk_value x)) {
  const special s = {expand_as(e->k, NX_F64), !e->wide};
  if (e->wide) return f(&s, &s.d, x);
  return x_cast(&s.d, NX_F32, f(&s, &s.d, x_cast(e, NX_F64, x)));
}
#endif

/* The order of sizes of the first coefficient and the rest is not known. */
expand_pair nxi_special_poly_pair(const expand *e, nxk_value x, const double *c, int count) {
  expand_pair p = nxi_expand_product(e, x, nxi_expand_poly(e, x, c + 1, count - 1));
  nxk_value first = x_f(e, c[0]), sum = x_add(e, p.high, first), back = x_sub(e, sum, p.high);
  nxk_value lost = x_add(e, x_sub(e, p.high, x_sub(e, sum, back)), x_sub(e, first, back));
  expand_pair out = {sum, x_add(e, lost, p.low)};
  return out;
}

/* The exponential to the third power, of which low is a multiple. */
static const double first_powers[] = {1, 1, 0.5, 1.0 / 6};

/* q + q (e^r - 1): only this sum rounds at the result's size. */
nxk_value nxi_special_times_exp(const special *s, expand_pair q, nxk_value high, nxk_value low) {
  const expand *e = &s->d;
  high = nxi_expand_clamp(e, high, -760, 720);
  expand_reduced a = nxi_expand_reduce_ln2(e, high);
  nxk_value square = x_mul(e, a.r, a.r), rest;
  if (s->narrow) {
    rest = x_fma(e, X_POLY_OF(e, a.r, nxi_small_exp_wide), square, a.r);
  } else {
    nxk_value lost = nxi_expand_reduced_low(e, a);
    if (x_is(low)) lost = x_fma(e, low, nxi_expand_poly(e, a.r, first_powers, 4), lost);
    rest = x_add(e, a.high, x_fma(e, X_POLY(e, a.r, exp), square, lost));
  }
  nxk_value more = x_is(q.low) ? x_add(e, q.high, x_fma(e, q.high, rest, q.low))
                               : x_fma(e, q.high, rest, q.high);
  return x_ldexp(e, more, a.n);
}

/* Subnormal numbers are scaled. (Narrow ones are normal in f64.) */
expand_pair nxi_special_log(const special *s, nxk_value u, nxk_value low) {
  const expand *e = &s->d;
  expand_pair out = {NXK_NONE, NXK_NONE};
  if (s->narrow) {
    out.high = nxi_expand_log_wide(e, u);
    return out;
  }
  nxk_value tiny = x_lt(e, u, x_f(e, 0x1p-1000)), zero = x_f(e, 0), one = x_f(e, 1);
  expand_split m = nxi_expand_split(e, x_select(e, tiny, x_mul(e, u, x_f(e, 0x1p100)), u));
  nxk_value k = x_sub(e, m.k, x_select(e, tiny, x_f(e, 100), zero));
  /* log(u + low) is log(u) + low / u; u is m 2^k */
  if (x_is(low)) low = x_select(e, tiny, zero, x_div(e, low, u));
  return nxi_expand_log_parts(e, k, x_sub(e, m.m, one), low);
}

nxk_value nxi_special_sum(const special *s, expand_pair p) {
  return x_is(p.low) ? x_add(&s->d, p.high, p.low) : p.high;
}

#ifndef NXI_EXPAND_NUMBERS
/* x = n / 2 + r exactly, n the nearest integer, of which q is what is left modulo 4; pi r as a
 * pair. */
expand_quadrant nxi_special_half_turns(const special *s, nxk_value x) {
  const expand *e = &s->d;
  nxk_value whole = x_rint(e, x_add(e, x, x)), r = x_fnma(e, whole, x_f(e, 0.5), x);
  nxk_value fours = x_mul(e, x_trunc(e, x_mul(e, whole, x_f(e, 0.25))), x_f(e, 4));
  nxk_value magic = x_f(e, 0x1.8p52), q = x_add(e, x_sub(e, whole, fours), magic);
  expand_pair angle = nxi_expand_product(e, r, x_f(e, 0x1.921fb54442d18p+1));
  nxk_value low = x_fma(e, r, x_f(e, 0x1.1a62633145c07p-53), angle.low);
  expand_quadrant out = {x_bits(e, e->u, q), angle.high, low};
  return out;
}
#endif
