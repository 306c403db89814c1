/* SPDX-License-Identifier: ISC */
/* Expands functions into basic instructions. All executors run this one definition, so they give
 * the same bits. This file dispatches and has the short functions; the others are in the other
 * files of this folder. */
#include "expand.h"

/* +0 for zeros of either sign, NaN for NaN. */
static nxk_value expand_sign(const expand *e, nxk_value x) {
  nxk_value zero = x_f(e, 0), otherwise = x_add(e, x, zero);
  return x_select(e, x_ne(e, x, zero), x_select(e, x_eq(e, x, x), x_copysign(e, x_f(e, 1), x), x),
                  otherwise);
}

/* Rounds half away from zero; the fraction that is compared with 1/2 is exact. */
static nxk_value expand_round(const expand *e, nxk_value x) {
  nxk_value whole = x_trunc(e, x), fraction = x_abs(e, x_sub(e, x, whole));
  nxk_value away = x_add(e, whole, x_copysign(e, x_f(e, 1), x));
  return x_select(e, x_le(e, x_f(e, 0.5), fraction), away, whole);
}

static nxk_value expand_integer(nxk_kernel *k, nx_dtype t, nxk_op op, nxk_value x, nxk_value y) {
  const expand d = {k, t, t, t, false}, *e = &d;
  const bool is_signed = nxi_is_signed(t);
  nxk_value zero = nxk_const_i(k, t, 0), one = nxk_const_i(k, t, 1), minus = nxk_const_i(k, t, -1);
  switch (op) {
    case NXK_sign: {
      nxk_value y0 = x_select(e, x_eq(e, x, zero), zero, one);
      return is_signed ? x_select(e, x_lt(e, x, zero), minus, y0) : y0;
    }
    case NXK_recip: { /* truncated: 0 except for 1 and -1 */
      nxk_value unit = x_eq(e, x, one);
      if (is_signed) unit = x_or(e, unit, x_eq(e, x, minus));
      return x_select(e, unit, x, zero);
    }
    case NXK_round: return x;
    case NXK_ctz: /* the bits below the lowest 1 */
      return x_op1(e, NXK_popcount, x_and(e, x_not(e, x), x_sub(e, x, one)));
    case NXK_floor_div: return nxi_expand_floor_div(e, x, y);
    case NXK_floor_mod: return nxi_expand_floor_mod(e, x, y);
    case NXK_pow: return nxi_expand_pow_integer(k, t, x, y);
    default: return NXK_NONE;
  }
}

nxk_value nxk_expand_function(nxk_kernel *k, nxk_op op, const nxk_value *args) {
  nxk_value a = args[0], b = nxk_scalars[op].arity > 1 ? args[1] : NXK_NONE;
  if (k->failed || a >= k->n_instrs) return NXK_NONE;
  const nx_dtype t = nxk_dtype(k, a);
  if (nxi_is_integer(t)) return expand_integer(k, t, op, a, b);
  const expand d = expand_as(k, t), *e = &d;
  switch (op) {
    case NXK_sign: return expand_sign(e, a);
    case NXK_recip: return x_div(e, x_f(e, 1), a);
    case NXK_round: return expand_round(e, a);
    case NXK_exp: return nxi_expand_exp(e, a);
    case NXK_log: return nxi_expand_log(e, a);
    case NXK_sin:
    case NXK_cos:
    case NXK_tan: return nxi_expand_trig(e, op, a);
    case NXK_asin: return nxi_expand_asin(e, a);
    case NXK_acos: return nxi_expand_acos(e, a);
    case NXK_atan: return nxi_expand_atan(e, a);
    case NXK_sinh: return nxi_expand_sinh(e, a);
    case NXK_cosh: return nxi_expand_cosh(e, a);
    case NXK_tanh: return nxi_expand_tanh(e, a);
    case NXK_erf: return nxi_expand_erf(e, a);
    case NXK_erfc: return nxi_expand_erfc(e, a);
    case NXK_erfinv: return nxi_expand_erfinv(e, a);
    case NXK_lgamma: return nxi_expand_lgamma(e, a);
    case NXK_digamma: return nxi_expand_digamma(e, a);
    case NXK_i0e:
    case NXK_i1e:
    case NXK_j0:
    case NXK_j1: return nxi_expand_bessel(e, op, a);
    case NXK_log1p: return nxi_expand_log1p(e, a);
    case NXK_expm1: return nxi_expand_expm1(e, a);
    case NXK_asinh: return nxi_expand_asinh(e, a);
    case NXK_acosh: return nxi_expand_acosh(e, a);
    case NXK_atanh: return nxi_expand_atanh(e, a);
    case NXK_exp2: return nxi_expand_exp2(e, a);
    case NXK_log2: return nxi_expand_log2(e, a);
    case NXK_log10: return nxi_expand_log10(e, a);
    case NXK_cbrt: return nxi_expand_cbrt(e, a);
    case NXK_rsqrt: return x_div(e, x_f(e, 1), x_sqrt(e, a));
    case NXK_logistic: return nxi_expand_logistic(e, a);
    case NXK_floor_div: return nxi_expand_floor_div(e, a, b);
    case NXK_floor_mod: return nxi_expand_floor_mod(e, a, b);
    case NXK_logaddexp: return nxi_expand_logaddexp(e, a, b);
    case NXK_zeta: return nxi_expand_zeta(e, args);
    case NXK_polygamma: return nxi_expand_polygamma(e, args);
    case NXK_igamma: return nxi_expand_incomplete_gamma(e, false, args);
    case NXK_igammac: return nxi_expand_incomplete_gamma(e, true, args);
    case NXK_igamma_grad_a: return nxi_expand_gamma_gradient(e, false, args);
    case NXK_random_gamma_grad: return nxi_expand_gamma_gradient(e, true, args);
    case NXK_betainc: return nxi_expand_incomplete_beta(e, args);
    case NXK_pow: return nxi_expand_pow(e, a, b);
    case NXK_atan2: return nxi_expand_atan2(e, a, b);
    default: return nxi_expand_complex(e, op, args);
  }
}
