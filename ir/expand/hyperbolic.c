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

/* Near 0 a polynomial; beyond, 1 - 2 / (e^2|x| + 1), whose second term is below 1/2. e^2|x| + 1 is
 * 2^n (e^r - 1) + (2^n + 1), so that it is rounded once. */
nxk_value nxi_expand_tanh(const expand *e, nxk_value x) {
  nxk_value a = x_abs(e, x), square = x_mul(e, x, x), one = x_f(e, 1), highest = x_f2(e, 10, 22);
  nxk_value lower = x_fma(e, x_mul(e, x, square), X_POLY(e, square, tanh), x);
  nxk_value t = x_select(e, x_lt(e, highest, a), highest, a);
  expand_reduced red = nxi_expand_reduce_ln2(e, x_add(e, t, t));
  nxk_value power = x_fma(e, X_POLY(e, red.r, exp), x_mul(e, red.r, red.r), red.r),
            scale = x_ldexp(e, one, red.n);
  nxk_value upper =
      x_sub(e, one, x_div(e, x_f(e, 2), x_fma(e, scale, power, x_add(e, scale, one))));
  return x_copysign(e, x_select(e, x_lt(e, a, x_f(e, 0.6)), lower, upper), x); /* keeps -0 */
}

/* A polynomial of odd degree by pairs of coefficients: a chain half as long as Horner's. */
static nxk_value poly_by_pairs(const expand *e, nxk_value x, nxk_value square, const double *c,
                               int last) {
  nxk_value p = x_fma(e, x_f(e, c[last]), x, x_f(e, c[last - 1]));
  for (int j = last - 2; j > 0; j -= 2)
    p = x_fma(e, p, square, x_fma(e, x_f(e, c[j]), x, x_f(e, c[j - 1])));
  return p;
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
