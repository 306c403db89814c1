/* SPDX-License-Identifier: ISC */
/* Bessel functions: e^-|x| times the modified ones of the first kind, and those of the first kind,
 * of orders 0 and 1. */
#include "special.h"

/* m / sqrt a as a pair. */
static expand_pair over_root(const expand *e, nxk_value m, nxk_value a) {
  nxk_value root = x_sqrt(e, a), inverse = x_div(e, x_f(e, 1), root), q = x_mul(e, m, inverse);
  nxk_value lost = x_fnma(e, root, root, a); /* of the root, times twice itself */
  nxk_value half = x_mul(e, x_mul(e, q, x_f(e, 0.5)), inverse);
  nxk_value rest = x_fnma(e, half, lost, x_fnma(e, q, root, m));
  expand_pair out = {q, x_mul(e, rest, inverse)};
  return out;
}

/* ---- i0e, i1e. Up to 8 a polynomial in x^2 times e^-|x|; what the square lost enters the exponent
 * times the logarithmic derivative of the polynomial, roughly. Beyond, a polynomial in 1/|x|, over
 * the square root. */

static nxk_value modified_lower(const special *s, const expand *e, nxk_value a, bool first) {
  static const double slope[2][4] = {{0.267, -0.0543, 0.00397, -4.76e-5},
                                     {0.1283, -0.00827, -0.00135, 1.51e-4}};
  expand_pair w = nxi_expand_product(e, a, a);
  expand_pair p = first ? X_PAIR(s, w.high, i1_small) : X_PAIR(s, w.high, i0_small);
  if (s->narrow) {
    if (first) p.high = x_mul(e, p.high, a);
    return nxi_special_times_exp(s, p, x_neg(e, a), NXK_NONE);
  }
  if (first) {
    nxk_value low = x_mul(e, p.low, a);
    p = nxi_expand_product(e, p.high, a);
    p.low = x_add(e, p.low, low);
  }
  nxk_value low = x_mul(e, w.low, nxi_expand_poly(e, a, slope[first], 4));
  return nxi_special_times_exp(s, p, x_neg(e, a), low);
}

static nxk_value modified(const special *s, const expand *e, nxk_value x, bool first) {
  nxk_value a = x_abs(e, x), eight = x_f(e, 8), large = x_lt(e, eight, a);
  nxk_value lower = modified_lower(s, e, x_select(e, large, eight, a), first);
  nxk_value z = x_sub(e, x_div(e, x_f(e, 16), a), x_f(e, 1));
  nxk_value upper = first ? X_TABLE(s, z, i1_large) : X_TABLE(s, z, i0_large);
  expand_pair y = over_root(e, upper, a);
  nxk_value sum = x_select(e, x_lt(e, a, x_f(e, INFINITY)), x_add(e, y.high, y.low), y.high);
  y.high = x_select(e, large, sum, lower);
  return first ? x_copysign(e, y.high, x) : y.high;
}

static nxk_value i0e(const special *s, const expand *e, nxk_value x) {
  return modified(s, e, x, false);
}
static nxk_value i1e(const special *s, const expand *e, nxk_value x) {
  return modified(s, e, x, true);
}

/* ---- j0, j1. Up to 2.6 R(x^2) (x^2 - z^2), z the first zero of j0, of which the second factor is
 * a pair; x R(x^2) for j1. */

/* What the square rounds away counts times the slope of R, roughly. */
static nxk_value j1_lower(const special *s, const expand *e, nxk_value a, nxk_value square_low,
                          nxk_value t) {
  expand_pair r = X_PAIR(s, t, j1_small);
  if (s->narrow) return x_mul(e, r.high, a);
  nxk_value slope = x_fma(e, t, x_f(e, 0.0041), x_f(e, -0.0473));
  expand_pair y = nxi_expand_product(e, r.high, a);
  nxk_value low = x_fma(e, square_low, slope, r.low);
  return x_add(e, y.high, x_fma(e, low, a, y.low));
}

static nxk_value j_lower(const special *s, const expand *e, nxk_value a, int n) {
  expand_pair w = nxi_expand_product(e, a, a);
  nxk_value t = x_sub(e, w.high, x_f(e, 3.4));
  if (n) return j1_lower(s, e, a, w.low, t);
  expand_pair r = X_PAIR(s, t, j0_small);
  nxk_value zero = x_f(e, 0x1.721fb80462bbbp+2);
  expand_pair less = nxi_expand_fast_sum(e, zero, x_neg(e, w.high)); /* its negative */
  nxk_value low = x_sub(e, x_add(e, less.low, x_f(e, 0x1.db60c816c15d3p-52)), w.low);
  low = x_mul(e, r.high, low);
  if (!s->narrow) low = x_fma(e, r.low, less.high, low);
  return x_neg(e, x_fma(e, r.high, less.high, low));
}

/* x + phase + pi/4 or - pi/4, of the sign that leaves it below pi/4. */
static expand_quadrant add_phase(const expand *e, expand_quadrant x, nxk_value phase) {
  nxk_value below = x_lt(e, x.r, x_f(e, 0)), quarter = x_f(e, 0x1.921fb54442d18p-1);
  nxk_value turn = x_select(e, below, quarter, x_neg(e, quarter)),
            low = x_copysign(e, x_f(e, 0x1.1a62633145c07p-55), turn);
  expand_pair sum = nxi_expand_fast_sum(e, turn, x.r);
  low = x_add(e, x_add(e, sum.low, x_add(e, x.low, low)), phase);
  expand_pair angle = nxi_expand_fast_sum(e, sum.high, low);
  nxk_value q = x_sub(e, x.q, x_select(e, below, x_u(e, 1), x_u(e, 0)));
  expand_quadrant out = {q, angle.high, angle.low};
  return out;
}

/* Beyond, M / sqrt x cos(x - pi/4 + P / x), for j1 the sine: modulus and phase are smooth in 1 / (x
 * + 2) all the way. The phase joins the reduced argument, by pairs. */
static nxk_value j_upper(const special *s, const expand *e, nxk_value a, int n) {
  nxk_value t = x_sub(e, x_f(e, 0.44), x_div(e, x_f(e, 4), x_add(e, a, x_f(e, 2))));
  nxk_value phase = n ? X_TABLE(s, t, j1_phase) : X_TABLE(s, t, j0_phase);
  nxk_value modulus = n ? X_TABLE(s, t, j1_modulus) : X_TABLE(s, t, j0_modulus);
  expand_quadrant x = add_phase(e, nxi_expand_quadrant(e, a), x_div(e, phase, a));
  if (n == 0) x.q = x_add(e, x.q, x_u(e, 1));
  expand_pair size = over_root(e, modulus, a), wave = nxi_expand_sine_parts(e, x);
  expand_pair y = nxi_expand_product(e, size.high, wave.high);
  nxk_value low = x_fma(e, size.high, wave.low, x_fma(e, size.low, wave.high, y.low));
  return x_select(e, x_eq(e, a, x_f(e, INFINITY)), x_f(e, 0), x_add(e, y.high, low));
}

static nxk_value ordinary(const special *s, const expand *e, nxk_value x, int n) {
  nxk_value a = x_abs(e, x), large = x_lt(e, x_f(e, 2.6), a);
  nxk_value y = x_select(e, large, j_upper(s, e, a, n), j_lower(s, e, a, n));
  if (n == 0) return y;
  return x_select(e, x_lt(e, x_bits(e, e->i, x), x_i(e, 0)), x_neg(e, y), y);
}

static nxk_value j0_of(const special *s, const expand *e, nxk_value x) {
  return ordinary(s, e, x, 0);
}
static nxk_value j1_of(const special *s, const expand *e, nxk_value x) {
  return ordinary(s, e, x, 1);
}

nxk_value nxi_expand_bessel(const expand *e, nxk_op op, nxk_value x) {
  switch (op) {
    case NXK_i0e: return nxi_special(e, x, i0e);
    case NXK_i1e: return nxi_special(e, x, i1e);
    case NXK_j0: return nxi_special(e, x, j0_of);
    default: return nxi_special(e, x, j1_of);
  }
}
