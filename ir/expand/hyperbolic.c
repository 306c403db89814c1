/* SPDX-License-Identifier: ISC */
/* sinh, cosh, tanh and erf. */
#include "expand.h"

#include "coefficients.h"

/* |x| = n ln2 + r and small = 2^-2n:
 *   2 sinh |x| = 2^n ((1 - small) cosh r + (1 + small) sinh r)
 *   2 cosh |x| = 2^n ((1 + small) cosh r + (1 - small) sinh r)
 * without a division, and exact where it matters near 0, since small = 1 there. */
typedef struct hyperbolic {
  nxk_value n, high, low, less, more, cosh_tail, sinh_tail;
} hyperbolic;

static hyperbolic split(const expand *e, nxk_value x, double limit) {
  nxk_value a = x_abs(e, x), highest = x_f(e, limit), one = x_f(e, 1);
  expand_reduced red = nxi_expand_reduce_ln2(e, x_select(e, x_lt(e, highest, a), highest, a));
  nxk_value small = x_ldexp(e, one, x_mul(e, red.n, x_f(e, -2))), square = x_mul(e, red.r, red.r);
  hyperbolic h = {.n = red.n, .high = red.high};
  h.low = nxi_expand_reduced_low(e, red);
  h.less = x_sub(e, one, small);
  h.more = x_add(e, one, small);
  h.cosh_tail = x_mul(e, square, X_POLY(e, square, cosh));                  /* cosh r - 1 */
  h.sinh_tail = x_mul(e, x_mul(e, square, red.r), X_POLY(e, square, sinh)); /* sinh r - r */
  return h;
}

/* p cosh r + q sinh r: p + q r, what that sum lost, and the small terms. */
static nxk_value combine(const expand *e, const hyperbolic *h, nxk_value p, nxk_value q) {
  nxk_value sum = x_fma(e, q, h->high, p), lost = x_fma(e, q, h->high, x_sub(e, p, sum));
  nxk_value tail = x_fma(e, q, x_add(e, h->low, h->sinh_tail), x_fma(e, p, h->cosh_tail, lost));
  return x_add(e, sum, tail);
}

nxk_value nxi_expand_sinh(const expand *e, nxk_value x) {
  hyperbolic h = split(e, x, e->wide ? 712 : 91);
  nxk_value y = x_ldexp(e, combine(e, &h, h.less, h.more), x_sub(e, h.n, x_f(e, 1)));
  return x_copysign(e, y, x);
}

nxk_value nxi_expand_cosh(const expand *e, nxk_value x) {
  hyperbolic h = split(e, x, e->wide ? 712 : 91);
  return x_ldexp(e, combine(e, &h, h.more, h.less), x_sub(e, h.n, x_f(e, 1)));
}

/* A polynomial by pairs of coefficients: a chain half as long as Horner's. */
static nxk_value poly_by_pairs(const expand *e, nxk_value x, nxk_value square, const double *c,
                               int last) {
  nxk_value p = x_f(e, c[last]);
  if (last % 2 == 1) p = x_fma(e, p, x, x_f(e, c[last - 1]));
#pragma GCC unroll 16
  for (int j = last - 1 - last % 2; j > 0; j -= 2)
    p = x_fma(e, p, square, x_fma(e, x_f(e, c[j]), x, x_f(e, c[j - 1])));
  return p;
}

#define X_PAIRS(e, x, square, name)                                                  \
  poly_by_pairs((e), (x), (square), (e)->wide ? nxi_##name##_f64 : nxi_##name##_f32, \
                (int)((e)->wide ? sizeof nxi_##name##_f64 / sizeof(double)           \
                                : sizeof nxi_##name##_f32 / sizeof(double)) -        \
                    1)

/* q = m / (m + 1), m = (e^2|x| - 1) / 2, is tanh |x|, but up to 2.6 ulp off where m and m + 1 are
 * rounded just above a power of two and q lies just below one. m (1 - q) is the same number, in
 * which an error of q counts m times: taken below m = 1/2. With 2|x| = n ln2 + 2r, m is
 * 2^n (r + r^2 P(r)) + (2^n - 1) / 2. In f32 r is hardly rounded: the high part of ln2 is short. */
nxk_value nxi_expand_tanh(const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), one = x_f(e, 1), half = x_f(e, 0.5), highest = x_f2(e, 10, 22);
  nxk_value t = x_select(e, x_lt(e, highest, a), highest, a);
  nxk_value n = x_rint(e, x_mul(e, t, x_f2(e, 0x1.715476p+1, 0x1.71547652b82fep+1)));
  nxk_value high = x_fma(e, n, x_f2(e, -0x1.62e43p-2, -0x1.62e42fefa39efp-2), t);
  nxk_value ln2_low = x_f2(e, 0x1.05c61p-30, -0x1.abc9e3b39803fp-57);
  nxk_value r = x_fma(e, n, ln2_low, high), square = x_mul(e, r, r);
  nxk_value p = X_PAIRS(e, r, square, expm1_2), scale = x_ldexp(e, one, n);
  nxk_value tail = e->wide ? x_fma(e, p, square, x_mul(e, n, ln2_low)) : x_mul(e, p, square);
  nxk_value first = x_fma(e, scale, e->wide ? high : r, x_fma(e, scale, half, x_neg(e, half)));
  nxk_value m = x_fma(e, scale, tail, first), q = x_div(e, m, x_add(e, m, one));
  nxk_value lower = x_fnma(e, m, q, m);
  return x_copysign(e, x_select(e, x_lt(e, m, half), lower, q), x); /* keeps -0 */
}

/* f32: w = 2 - 2 sqrt(erfc |x|) is nearly a polynomial, and erf |x| = w - w^2 / 4. The first
 * coefficient is applied last, so that w is rounded once. Beyond 4, as from 3.93 on, erf is 1. */
static nxk_value erf_narrow(const expand *e, nxk_value x) {
  const int last = (int)(sizeof nxi_erf_f32 / sizeof(double)) - 1;
  nxk_value a = x_abs(e, x), highest = x_f(e, 4);
  nxk_value t = x_select(e, x_lt(e, highest, a), highest, a), square = x_mul(e, t, t);
  nxk_value rest = x_mul(e, t, poly_by_pairs(e, t, square, nxi_erf_f32, last));
  nxk_value w = x_fma(e, t, x_f(e, 0x1.20dd76p+0), rest);
  return x_copysign(e, x_fma(e, x_mul(e, w, x_f(e, -0.25)), w, w), x);
}

/* f64: w = 4 - 4 erfc(|x|)^(1/4) = c |x| + x^2 P(|x|) is nearly a polynomial; v = w - w^2 / 8 is
 * 2 - 2 sqrt(erfc |x|), and erf |x| = v - v^2 / 4. Each of the two takes off its part of what was
 * rounded before it. Below 1/2, where that is little, c |x| is added last, and all else is rounded
 * far below it. From 5.93 on erf is 1. */
static nxk_value erf_wide(const expand *e, nxk_value x) {
  const int last = (int)(sizeof nxi_erf_f64 / sizeof(double)) - 1;
  nxk_value a = x_abs(e, x), highest = x_f(e, 6), first = x_f(e, 0x1.20dd750429b6dp+0);
  nxk_value t = x_select(e, x_lt(e, highest, a), highest, a), square = x_mul(e, t, t);
  nxk_value rest = x_mul(e, square, poly_by_pairs(e, t, square, nxi_erf_f64, last));
  nxk_value w = x_fma(e, t, first, rest);
  nxk_value less = x_fma(e, x_mul(e, w, x_f(e, -0.125)), w, rest), v = x_fma(e, t, first, less);
  nxk_value part = x_mul(e, v, x_f(e, -0.25)), upper = x_fma(e, part, v, v);
  nxk_value lower = x_fma(e, t, first, x_fma(e, part, v, less));
  return x_copysign(e, x_select(e, x_lt(e, a, x_f(e, 0.5)), lower, upper), x);
}

nxk_value nxi_expand_erf(const expand *e, nxk_value x) {
  return e->wide ? erf_wide(e, x) : erf_narrow(e, x);
}
