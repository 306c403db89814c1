/* SPDX-License-Identifier: ISC */
/* exp, exp2, expm1, log, log2, log10, log1p, and the pieces of them that other expansions build
 * on: argument reductions, pairs of floats, polynomials. */
#include "expand.h"

#include "coefficients.h"

#ifndef NXI_EXPAND_NUMBERS
nxk_value nxi_expand_poly(const expand *e, nxk_value x, const double *c, int count) {
  nxk_value p = x_f(e, c[count - 1]);
  for (int j = count - 2; j >= 0; j--) p = x_fma(e, p, x, x_f(e, c[j]));
  return p;
}
#endif

nxk_value nxi_expand_clamp(const expand *e, nxk_value x, double low, double high) {
  nxk_value lowest = x_f(e, low), highest = x_f(e, high);
  x = x_select(e, x_lt(e, x, lowest), lowest, x);
  return x_select(e, x_lt(e, highest, x), highest, x);
}

expand_pair nxi_expand_fast_sum(const expand *e, nxk_value a, nxk_value b) {
  nxk_value high = x_add(e, a, b);
  expand_pair s = {high, x_sub(e, b, x_sub(e, high, a))};
  return s;
}

expand_pair nxi_expand_product(const expand *e, nxk_value a, nxk_value b) {
  nxk_value high = x_mul(e, a, b);
  expand_pair p = {high, x_fma(e, a, b, x_neg(e, high))};
  return p;
}

/* Minus the low part of ln2. */
static nxk_value ln2_low(const expand *e) { return x_f2(e, 0x1.05c61p-29, -0x1.abc9e3b39803fp-56); }

/* n times the high part of ln2 is subtracted exactly (fma, and the difference is below 1/2). */
expand_reduced nxi_expand_reduce_ln2(const expand *e, nxk_value x) {
  nxk_value n = x_rint(e, x_mul(e, x, x_f2(e, 0x1.715476p+0, 0x1.71547652b82fep+0)));
  nxk_value high = x_fma(e, n, x_f2(e, -0x1.62e43p-1, -0x1.62e42fefa39efp-1), x);
  expand_reduced out = {n, x_fma(e, n, ln2_low(e), high), high};
  return out;
}

nxk_value nxi_expand_reduced_low(const expand *e, expand_reduced a) {
  return x_mul(e, a.n, ln2_low(e));
}

nxk_value nxi_expand_reduced_more(const expand *e, expand_reduced a, nxk_value low) {
  return x_fma(e, a.n, ln2_low(e), low);
}

/* e^r - 1 for |r| <= ln2 / 2, without the rounding of r. */
static nxk_value expm1_reduced(const expand *e, expand_reduced a) {
  return x_add(e, a.high,
               x_fma(e, X_POLY(e, a.r, exp), x_mul(e, a.r, a.r), nxi_expand_reduced_low(e, a)));
}

/* x is clamped to a range outside which the result is 0 or infinite, so that ldexp gives those. It
 * is 0 from -105 (-746) on, but where a product is rounded to 0 by less than many bits, Intel's
 * processors do so by microcode, in 160 ns a vector: VSCALEF down to 2^-511 (2^-4095). r is
 * positive at the bound, so that no factor of ldexp makes a subnormal number either.
 * e^r = 1 + r (1 + r p): the error of the inner sum is a third of half an ulp, as r is; that of 1 +
 * (r + r^2 p) would be more than an ulp in all. */
nxk_value nxi_expand_exp(const expand *e, nxk_value x) {
  x = nxi_expand_clamp(e, x, x_least_exp(e), e->wide ? 710 : 89);
  expand_reduced a = nxi_expand_reduce_ln2(e, x);
  nxk_value one = x_f(e, 1), p = X_POLY(e, a.r, exp);
  return x_ldexp(e, x_fma(e, x_fma(e, p, a.r, one), a.r, one), a.n);
}

/* 2^x = 2^n (1 + r q), n + r = x exactly. Of the lower bound see above. */
nxk_value nxi_expand_exp2(const expand *e, nxk_value x) {
  x = nxi_expand_clamp(e, x, e->wide ? -4100 : -520, e->wide ? 1025 : 129);
  nxk_value n = x_rint(e, x), r = x_sub(e, x, n);
  return x_ldexp(e, x_fma(e, X_POLY(e, r, exp2), r, x_f(e, 1)), n);
}

/* 2^n ((e^r - 1) + (1 - 2^-n)). The sum in brackets leaves the range of ldexp only for n = 0, where
 * ldexp is the identity. */
nxk_value nxi_expand_expm1(const expand *e, nxk_value x) {
  nxk_value c = nxi_expand_clamp(e, x, e->wide ? -40 : -19, e->wide ? 710 : 89), one = x_f(e, 1);
  expand_reduced a = nxi_expand_reduce_ln2(e, c);
  nxk_value rest = x_sub(e, one, x_ldexp(e, one, x_neg(e, a.n)));
  nxk_value y = x_ldexp(e, x_add(e, expm1_reduced(e, a), rest), a.n);
  return x_copysign(e, y, x);
}

/* Both forms add a bias to the exponent so that k comes from an unsigned shift; f64 turns k into a
 * float by placing it in the low bits of 2^52, since few machines convert 64-bit integers. */
static expand_split split_bits(const expand *e, nxk_value bits) {
  const uint64_t base = e->wide ? 0x3fe6a09e667f3bcdu : 0x3f3504f3u, bias = e->wide ? 1100 : 160;
  nxk_value width = x_u(e, e->wide ? 52 : 23);
  nxk_value fraction = x_u(e, e->wide ? 0xfffffffffffffu : 0x7fffffu);
  uint64_t shift = e->wide ? (bias << 52) - base : (uint32_t)((bias << 23) - base);
  nxk_value t = x_add(e, bits, x_u(e, shift));
  nxk_value biased = x_shr(e, t, width);
  nxk_value m = x_add(e, x_and(e, t, fraction), x_u(e, base));
  nxk_value two = x_u(e, e->wide ? 0x4330000000000000u : 0x4b000000u);
  nxk_value k = x_sub(e, x_bits(e, e->f, x_or(e, biased, two)),
                      x_f(e, (e->wide ? 0x1p52 : 0x1p23) + (double)bias));
  expand_split s = {k, x_bits(e, e->f, m)};
  return s;
}

expand_split nxi_expand_split(const expand *e, nxk_value x) {
  return split_bits(e, x_bits(e, e->u, x));
}

/* log(1 + f) - f + lost; lost may be NXK_NONE. f32: f^2 (-1/2 + f P(f)). f64: with s = f / (2 + f),
 * of which log(1 + f) = 2 atanh s, it is s (f^2 / 2 + s^2 P(s^2)) - f^2 / 2, where only a product
 * far below f is rounded before the last sum. A quotient and 7 coefficients instead of 20, since
 * divisions pass beside the other instructions. */
static nxk_value log_tail(const expand *e, nxk_value f, nxk_value lost) {
  if (!e->wide) {
    nxk_value square = x_mul(e, f, f),
              tail = x_fma(e, X_POLY_OF(e, f, nxi_log_f32), f, x_f(e, -0.5));
    return x_is(lost) ? x_fma(e, square, tail, lost) : x_mul(e, square, tail);
  }
  nxk_value s = x_div(e, f, x_add(e, f, x_f(e, 2))), square = x_mul(e, s, s);
  nxk_value half = x_mul(e, f, x_f(e, 0.5)), area = x_mul(e, half, f);
  nxk_value inner = x_fma(e, X_POLY_OF(e, square, nxi_log_f64), square, area);
  nxk_value tail = x_is(lost) ? x_fma(e, s, inner, lost) : x_mul(e, s, inner);
  return x_fnma(e, half, f, tail);
}

/* The low part of ln2. */
static nxk_value log_low(const expand *e) {
  return x_f2(e, 0x1.7f7d1cp-20, -0x1.718432a1b0e26p-35);
}

/* k times the high part of ln2 is exact; what its sum with f rounds away goes into the tail, so
 * that only the last addition rounds at the result's size. */
static expand_pair log_parts(const expand *e, nxk_value k, nxk_value f, nxk_value low,
                             nxk_value ln2_low) {
  nxk_value ln2 = x_f2(e, 0x1.62e4p-1, 0x1.62e42ffp-1);
  nxk_value high = x_fma(e, k, ln2, f);
  nxk_value lost = x_sub(e, f, x_fnma(e, k, ln2, high));
  if (x_is(low)) lost = x_add(e, lost, low);
  expand_pair out = {high, log_tail(e, f, x_fma(e, k, ln2_low, lost))};
  return out;
}

expand_pair nxi_expand_log_parts(const expand *e, nxk_value k, nxk_value f, nxk_value low) {
  return log_parts(e, k, f, low, log_low(e));
}

nxk_value nxi_expand_log_sum(const expand *e, nxk_value k, nxk_value f, nxk_value low) {
  expand_pair parts = nxi_expand_log_parts(e, k, f, low);
  return x_add(e, parts.high, parts.low);
}

/* 1 / log b and log 2 / log b in two parts each, for f32 and f64. The high part of the second has
 * so few bits that exponents times it are exact. */
typedef struct log_base {
  double scale[2], scale_low[2], two[2], two_low[2];
} log_base;
static const log_base base_2 = {
    {0x1.715476p+0, 0x1.71547652b82fep+0}, {0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56}, {1, 1}, {0, 0}};
static const log_base base_10 = {{0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2},
                                 {-0x1.5b235ep-27, 0x1.95355baaafad3p-57},
                                 {0x1.344p-2, 0x1.34413509f8p-2},
                                 {0x1.3509f8p-18, -0x1.80433b83b532ap-44}};

/* k log 2 + log(1 + f) to another base; two_low is that part of log 2. f / log b is a product and
 * what it rounds away. */
static nxk_value log_sum_to_base(const expand *e, nxk_value k, nxk_value f, const log_base *b,
                                 nxk_value two_low) {
  nxk_value scale = x_f2(e, b->scale[0], b->scale[1]), two = x_f2(e, b->two[0], b->two[1]);
  nxk_value tail = log_tail(e, f, NXK_NONE);
  expand_pair first = nxi_expand_product(e, f, scale);
  nxk_value high = x_fma(e, k, two, first.high);
  nxk_value lost = x_sub(e, first.high, x_fnma(e, k, two, high));
  lost = x_fma(e, f, x_f2(e, b->scale_low[0], b->scale_low[1]), x_add(e, lost, first.low));
  return x_add(e, high, x_fma(e, tail, scale, x_fma(e, k, two_low, lost)));
}

/* What a logarithm is computed of: the bits of a number that the split takes, and the low part of
 * the logarithm of 2, which gives numbers that have no logarithm their result. */
typedef struct log_operands {
  nxk_value bits, low;
} log_operands;

/* Of all but positive normal numbers. The scale of a subnormal one is taken back from the bits,
 * since the split has room for exponents that a float has not. Others are replaced by 2, k = 1 and
 * f = 0, with -infinity at zeros, NaN below, infinity and NaN as they are in place of `low`. */
static log_operands log_unusual(const expand *e, nxk_value x, nxk_value low, uint64_t exponents) {
  nxk_value zero = x_f(e, 0), above = x_lt(e, zero, x), finite = x_lt(e, x, x_f(e, INFINITY));
  nxk_value scaled = x_bits(e, e->u, x_mul(e, x, x_f2(e, 0x1p25, 0x1p54)));
  scaled = x_sub(e, scaled, x_u(e, exponents));
  nxk_value two = x_u(e, e->wide ? UINT64_C(1) << 62 : 1 << 30);
  nxk_value pole = x_select(e, x_eq(e, x, zero), x_f(e, -INFINITY), x_f(e, NAN));
  log_operands o = {.bits = x_select(e, x_and(e, above, finite), scaled, two)};
  o.low = x_select(e, finite, x_select(e, above, low, pole), x);
  return o;
}

/* Without b: to base e. */
static nxk_value log_to_base(const expand *e, nxk_value x, const log_base *b) {
  const uint64_t least = e->wide ? 0x0010000000000000u : 0x00800000u,
                 most = e->wide ? 0x7ff0000000000000u : 0x7f800000u, exponents = e->wide ? 54 : 25;
  nxk_value bits = x_bits(e, e->u, x), rank = x_sub(e, bits, x_u(e, least));
  nxk_value low = x_like(e, b ? x_f2(e, b->two_low[0], b->two_low[1]) : log_low(e), x);
  nxk_value cold = nxk_begin_cold(e->k, x_le(e, x_u(e, most - least), rank));
  log_operands o = log_unusual(e, x, low, exponents * least);
  nxk_end(e->k);
  bits = nxk_blend(e->k, cold, o.bits, bits);
  low = nxk_blend(e->k, cold, o.low, low);
  expand_split s = split_bits(e, bits);
  nxk_value f = x_sub(e, s.m, x_f(e, 1));
  if (b) return log_sum_to_base(e, s.k, f, b, low);
  expand_pair parts = log_parts(e, s.k, f, NXK_NONE, low);
  return x_add(e, parts.high, parts.low);
}

nxk_value nxi_expand_log(const expand *e, nxk_value x) { return log_to_base(e, x, NULL); }
nxk_value nxi_expand_log2(const expand *e, nxk_value x) { return log_to_base(e, x, &base_2); }
nxk_value nxi_expand_log10(const expand *e, nxk_value x) { return log_to_base(e, x, &base_10); }

/* u + c = 2^k (m + 2^-k c), so f = (m - 1) + 2^-k c, exact for k = 0 where it matters most. 2^-k
 * comes from the difference of the bits of u and m; k = 128 (1024), where c is 0, must not make it
 * infinite. */
nxk_value nxi_expand_log_pair(const expand *e, nxk_value u, nxk_value c, nxk_value low,
                              nxk_value more) {
  expand_split s = nxi_expand_split(e, u);
  nxk_value shifted = x_sub(e, x_bits(e, e->u, u), x_bits(e, e->u, s.m));
  nxk_value scale = x_sub(e, x_u(e, e->wide ? 0x3ff0000000000000u : 0x3f800000u), shifted);
  scale = x_bits(e, e->f,
                 x_op2(e, NXK_min, scale, x_u(e, e->wide ? 0x7fe0000000000000u : 0x7f000000u)));
  nxk_value f = x_fma(e, c, scale, x_sub(e, s.m, x_f(e, 1)));
  if (x_is(low)) low = x_mul(e, low, scale);
  return nxi_expand_log_sum(e, x_is(more) ? x_add(e, s.k, more) : s.k, f, low);
}

nxk_value nxi_expand_log1p(const expand *e, nxk_value x) {
  nxk_value one = x_f(e, 1), u = x_add(e, x, one);
  nxk_value lost = x_sub(e, x, x_sub(e, u, one));
  nxk_value y = nxi_expand_log_pair(e, u, lost, NXK_NONE, NXK_NONE);
  y = x_select(e, x_lt(e, x, x_f(e, INFINITY)), y, x);
  nxk_value pole = x_select(e, x_eq(e, u, x_f(e, 0)), x_f(e, INFINITY), x_f(e, NAN));
  y = x_select(e, x_le(e, u, x_f(e, 0)), pole, y);
  return x_copysign(e, y, x);
}

nxk_value nxi_expand_log_wide(const expand *e, nxk_value x) {
  expand_split s = nxi_expand_split(e, x);
  nxk_value f = x_sub(e, s.m, x_f(e, 1));
  nxk_value tail = x_fma(e, X_POLY_OF(e, f, nxi_log_wide), f, x_f(e, -0.5));
  return x_fma(e, s.k, x_f(e, 0x1.62e42fefa39efp-1), x_fma(e, x_mul(e, f, f), tail, f));
}
