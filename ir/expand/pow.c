/* SPDX-License-Identifier: ISC */
/* pow on floats and integers. */
#include "expand.h"

#include "coefficients.h"

/* The values of C's pow outside 0 < x < infinity. `power` is |x|^y for finite x other than 0. */
static nxk_value pow_special(const expand *e, nxk_value x, nxk_value y, nxk_value power) {
  nxk_value zero = x_f(e, 0), one = x_f(e, 1), infinity = x_f(e, INFINITY), a = x_abs(e, x);
  nxk_value endless = x_eq(e, a, infinity);
  nxk_value end = x_select(e, x_ne(e, x_lt(e, y, zero), endless), infinity, zero);
  power = x_select(e, x_or(e, endless, x_eq(e, a, zero)), end, power);
  nxk_value half = x_mul(e, y, x_f(e, 0.5));
  nxk_value integral = x_eq(e, x_trunc(e, y), y);
  nxk_value odd = x_and(e, integral, x_ne(e, x_trunc(e, half), half));
  power = x_copysign(e, power, x_select(e, odd, x, one));
  nxk_value negative = x_and(e, x_lt(e, x, zero), x_not(e, endless));
  nxk_value wrong = x_and(e, negative, x_not(e, integral));
  wrong = x_or(e, wrong, x_or(e, x_ne(e, x, x), x_ne(e, y, y)));
  power = x_select(e, wrong, x_f(e, NAN), power);
  return x_select(e, x_or(e, x_eq(e, y, zero), x_eq(e, x, one)), one, power);
}

/* f32: 2^(y log2 |x|) in f64, which has bits to spare; subnormal results are rounded once, at the
 * end. */
static nxk_value pow_f32(const expand *e, nxk_value x, nxk_value y) {
  const expand d = expand_as(e->k, NX_F64);
  nxk_value a = x_cast(e, NX_F64, x_abs(e, x)), one = x_f(&d, 1);
  expand_split s = nxi_expand_split(&d, a);
  nxk_value f = x_sub(&d, s.m, one);
  nxk_value log2 = x_fma(&d, X_POLY_OF(&d, f, nxi_log2_wide), f, s.k);
  nxk_value bounded = nxi_expand_clamp(&d, x_cast(e, NX_F64, y), -0x1p64, 0x1p64);
  nxk_value t = nxi_expand_clamp(&d, x_mul(&d, bounded, log2), -160, 130);
  nxk_value magic = x_f(&d, 0x1.8p52), shifted = x_add(&d, t, magic),
            r = x_sub(&d, t, x_sub(&d, shifted, magic));
  nxk_value p = x_fma(&d, X_POLY_OF(&d, r, nxi_exp2_wide), r, one);
  nxk_value exponent = x_shl(&d, x_bits(&d, NX_I64, shifted), x_i(&d, 52));
  nxk_value scaled = x_bits(&d, NX_F64, x_add(&d, x_bits(&d, NX_I64, p), exponent));
  return pow_special(e, x, y, x_cast(&d, NX_F32, scaled));
}

/* log2 |x| as a pair, relative error below 2^-64: |x| = 2^k m, s = (m - 1) / (m + 1) as a pair,
 * log2 m = s C (1 + z/3 + z^2 ...), z = s^2, C = 2 / ln2. */
static expand_pair log2_pair(const expand *e, nxk_value a) {
  nxk_value one = x_f(e, 1), tiny = x_lt(e, a, x_f(e, 0x1p-1022));
  expand_split split = nxi_expand_split(e, x_select(e, tiny, x_mul(e, a, x_f(e, 0x1p54)), a));
  nxk_value k = x_sub(e, split.k, x_select(e, tiny, x_f(e, 54), x_f(e, 0)));
  nxk_value f = x_sub(e, split.m, one), sum = x_add(e, split.m, one);
  nxk_value lost = x_sub(e, split.m, x_sub(e, sum, one));
  nxk_value inverse = x_div(e, one, sum), s = x_mul(e, f, inverse);
  nxk_value s_low = x_mul(e, x_fnma(e, s, lost, x_fnma(e, s, sum, f)), inverse);
  expand_pair z = nxi_expand_product(e, s, s);
  z.low = x_fma(e, x_add(e, s, s), s_low, z.low);
  /* C/3 + z ..., then times z, then + C, then times s; low parts alongside */
  nxk_value third = x_f(e, 0x1.ec709dc3a03fdp-1);
  expand_pair w =
      nxi_expand_fast_sum(e, third, x_mul(e, z.high, X_POLY_OF(e, z.high, nxi_log2_ratio_f64)));
  w.low = x_add(e, w.low, x_f(e, 0x1.d27f05548af0cp-55));
  expand_pair v = nxi_expand_product(e, z.high, w.high);
  v.low = x_fma(e, z.high, w.low, x_fma(e, z.low, w.high, v.low));
  expand_pair u = nxi_expand_fast_sum(e, x_f(e, 0x1.71547652b82fep+1), v.high);
  u.low = x_add(e, u.low, x_add(e, v.low, x_f(e, 0x1.777d0ffda0d24p-55)));
  expand_pair m = nxi_expand_product(e, s, u.high);
  m.low = x_fma(e, s, u.low, x_fma(e, s_low, u.high, m.low));
  expand_pair out = nxi_expand_fast_sum(e, k, m.high);
  out.low = x_add(e, out.low, m.low);
  return out;
}

static nxk_value pow_f64(const expand *e, nxk_value x, nxk_value y) {
  expand_pair log2 = log2_pair(e, x_abs(e, x));
  nxk_value bounded = nxi_expand_clamp(e, y, -0x1p70, 0x1p70);
  nxk_value high = x_mul(e, bounded, log2.high);
  nxk_value low = x_fma(e, bounded, log2.low, x_fma(e, bounded, log2.high, x_neg(e, high)));
  nxk_value limit = x_f(e, 1100), within = x_lt(e, x_abs(e, high), limit);
  high = x_select(e, within, high, x_copysign(e, limit, high));
  low = x_select(e, within, low, x_f(e, 0));
  nxk_value n = x_rint(e, high), r = x_add(e, x_sub(e, high, n), low);
  r = x_mul(e, r, x_f(e, 0x1.62e42fefa39efp-1));
  nxk_value p = x_fma(e, X_POLY_OF(e, r, nxi_exp_f64), x_mul(e, r, r), r);
  return pow_special(e, x, y, x_ldexp(e, x_add(e, p, x_f(e, 1)), n));
}

/* ---- exponents that have a formula of their own: -1, -0.5, 0.5, 1, 2, 3 */

/* x^0.5 is the square root, but 0 for -0 and infinity for -infinity. */
static nxk_value root(const expand *e, nxk_value x) {
  nxk_value least = x_eq(e, x, x_f(e, -INFINITY));
  return x_sqrt(e, x_select(e, least, x_f(e, INFINITY), x_add(e, x, x_f(e, 0))));
}

/* The power of an exponent that is known; NXK_NONE if the exponent has no formula. */
static nxk_value known_power(const expand *e, nxk_value x, double y) {
  nxk_value one = x_f(e, 1);
  if (y == 0) return one;
  if (y == 1) return x;
  if (y == 2) return x_mul(e, x, x);
  if (y == 3) return x_mul(e, x_mul(e, x, x), x);
  if (y == 0.5) return root(e, x);
  if (y == -0.5) return x_div(e, one, root(e, x));
  return y == -1 ? x_div(e, one, x) : NXK_NONE;
}

/* The same if the exponent is not known, and `usual` for exponents without a formula. */
static nxk_value formula(const expand *e, nxk_value x, nxk_value y, nxk_value usual) {
  nxk_value size = x_abs(e, y), one = x_f(e, 1), square = x_mul(e, x, x);
  nxk_value halved = x_eq(e, size, x_f(e, 0.5)), single = x_eq(e, size, one);
  nxk_value base = x_select(e, halved, root(e, x), x);
  nxk_value signed_base = x_select(e, x_lt(e, y, x_f(e, 0)), x_div(e, one, base), base);
  nxk_value power = x_select(e, x_or(e, halved, single), signed_base, usual);
  power = x_select(e, x_eq(e, y, x_f(e, 2)), square, power);
  return x_select(e, x_eq(e, y, x_f(e, 3)), x_mul(e, square, x), power);
}

/* Whether a value is a constant, and which. */
static bool constant(const expand *e, nxk_value v, double *x) {
  const nxk_instr *in = &e->k->instrs[v];
  if (e->k->failed || in->op != NXK_const) return false;
  *x = nxi_f64_bits(nxi_cast_bits(in->imm, (nx_dtype)in->dtype, NX_F64));
  return true;
}

/* Whether the exponent is known does not change the result. If it is not, exponents but the
 * multiples of 1/2 up to 3 pass by the block. */
nxk_value nxi_expand_pow(const expand *e, nxk_value x, nxk_value y) {
  double exponent;
  const bool is_constant = constant(e, y, &exponent);
  nxk_value known = is_constant ? known_power(e, x, exponent) : NXK_NONE;
  if (known != NXK_NONE) return known;
  nxk_value usual = e->wide ? pow_f64(e, x, y) : pow_f32(e, x, y);
  if (is_constant) return usual;
  nxk_value twice = x_add(e, y, y), small = x_le(e, x_abs(e, y), x_f(e, 3));
  nxk_value cold = nxk_begin_cold(e->k, x_and(e, small, x_eq(e, x_trunc(e, twice), twice)));
  nxk_value inside = formula(e, x, y, usual);
  nxk_end(e->k);
  return nxk_blend(e->k, cold, inside, usual);
}

/* Squares and multiplies for bits first .. last of the exponent; *square is x^(2^first) at
 * entry. */
static nxk_value multiply_bits(const expand *e, nxk_value product, nxk_value *square, nxk_value y,
                               int first, int last) {
  const nx_dtype t = e->f;
  for (int bit = first; bit <= last; bit++) {
    nxk_value chosen =
        x_ne(e, x_and(e, y, nxk_const(e->k, t, UINT64_C(1) << bit)), nxk_const(e->k, t, 0));
    product = x_select(e, chosen, x_mul(e, product, *square), product);
    *square = x_mul(e, *square, *square);
  }
  return product;
}

/* Integer power, which wraps. The lowest 3 bits of the exponent are handled in line; larger and
 * negative exponents in a cold block. */
nxk_value nxi_expand_pow_integer(nxk_kernel *k, nx_dtype t, nxk_value x, nxk_value y) {
  const int width = nxi_dtypes[t].bits;
  const expand d = {k, t, t, t, false}, *e = &d;
  nxk_value one = nxk_const_i(k, t, 1), zero = nxk_const_i(k, t, 0), seven = nxk_const_i(k, t, 7),
            square = x;
  nxk_value product = multiply_bits(e, one, &square, y, 0, 2);
  nxk_value high = x_and(e, y, x_not(e, seven));
  nxk_value cold = nxk_begin_cold(k, x_ne(e, high, zero));
  nxk_value whole =
      multiply_bits(e, product, &square, y, 3, nxi_is_signed(t) ? width - 2 : width - 1);
  if (nxi_is_signed(t)) {
    nxk_value minus = nxk_const_i(k, t, -1), odd = x_ne(e, x_and(e, y, one), zero);
    nxk_value inverse = x_select(e, x_and(e, x_eq(e, x, minus), odd), minus,
                                 x_select(e, x_eq(e, x_abs(e, x), one), one, zero));
    whole = x_select(e, x_lt(e, y, zero), inverse, whole);
  }
  nxk_end(k);
  return nxk_blend(k, cold, whole, product);
}
