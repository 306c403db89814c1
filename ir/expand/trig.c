/* SPDX-License-Identifier: ISC */
/* sin, cos, tan. Arguments of ordinary size are reduced with three constants. Larger ones are
 * reduced exactly, with as many bits of 2/pi as needed (the method of Payne and Hanek), in a cold
 * block. */
#include "expand.h"

#include "coefficients.h"

typedef expand_quadrant quadrant;

/* The fraction of 2/pi after the binary point, 64 bits a word, behind a word of zeros: 1,216 bits
 * suffice for the largest f64. */
static const uint64_t two_over_pi[20] = {
    0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u,
    0xfe5163abdebbc561u, 0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu,
    0xe88235f52ebb4484u, 0xe99c7026b45f7e41u, 0x3991d639835339f4u, 0x9c845f8bbdf9283bu,
    0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u, 0x4f463f669e5fea2du,
    0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu};

/* Below this the count of quadrants has at most 16 (21) bits. */
static double large(const expand *e) { return e->wide ? 3e6 : 1e5; }

/* pi/2 in three parts. The first difference is exact because its result is small. In f64 the second
 * part has 32 bits, so its product is exact; in f32 what the product lost is added. `low` is what
 * the difference r lost (first is a multiple of part's last place, so it is found exactly) and the
 * third part. */
static quadrant reduce_small(const expand *e, nxk_value x) {
  nxk_value magic = x_f2(e, 0x1.8p23, 0x1.8p52);
  nxk_value shifted = x_fma(e, x, x_f2(e, 0x1.45f306p-1, 0x1.45f306dc9c883p-1), magic);
  nxk_value n = x_sub(e, shifted, magic), minus = x_neg(e, n);
  nxk_value first = x_fma(e, minus, x_f2(e, 0x1.921fb6p+0, 0x1.921fb54442d18p+0), x);
  nxk_value second = x_f2(e, -0x1.777a5cp-25, 0x1.1a626332p-54), part = x_mul(e, n, second);
  nxk_value r = x_sub(e, first, part);
  nxk_value low = x_sub(e, x_sub(e, first, r), part);
  if (!e->wide) low = x_add(e, low, x_fma(e, minus, second, part));
  low = x_fma(e, minus, x_f2(e, -0x1.ee59dap-50, -0x1.747f23e32ed7p-87), low);
  quadrant out = {x_bits(e, e->u, shifted), r, low};
  return out;
}

/* `count` 64-bit words of 2/pi from bit `position` (u64) on. The shift by whole words is done in
 * steps, one for each binary digit of the number of words; then follows a shift by bits. */
static void window(const expand *e, nxk_value position, int words, int top_digit, int count,
                   nxk_value *out) {
  nxk_value w[20];
  for (int j = 0; j < words; j++) w[j] = nxk_const(e->k, NX_U64, two_over_pi[j]);
  nxk_value index = x_shr(e, position, nxk_const(e->k, NX_U64, 6)),
            zero = nxk_const(e->k, NX_U64, 0);
  for (int digit = top_digit; digit; digit /= 2) {
    nxk_value set = x_ne(e, x_and(e, index, nxk_const(e->k, NX_U64, (uint64_t)digit)), zero);
    for (int j = 0; j < count + digit && j + digit < words; j++)
      w[j] = x_select(e, set, w[j + digit], w[j]);
  }
  nxk_value left = x_and(e, position, nxk_const(e->k, NX_U64, 63));
  nxk_value right = x_sub(e, nxk_const(e->k, NX_U64, 64), left); /* 64 shifts everything out */
  for (int j = 0; j < count; j++) out[j] = x_or(e, x_shl(e, w[j], left), x_shr(e, w[j + 1], right));
}

/* The mantissa of |x| as u64. *position: the first bit of 2/pi that matters, so that the product
 * stays below 4 quadrants. */
static nxk_value mantissa(const expand *e, nxk_value x, nxk_value *position) {
  nxk_value bits = x_cast(e, NX_U64, x_bits(e, e->u, x_abs(e, x)));
  uint64_t width = e->wide ? 52 : 23, hidden = UINT64_C(1) << width, last = e->wide ? 1075 : 150;
  nxk_value exponent = x_shr(e, bits, nxk_const(e->k, NX_U64, width));
  *position = x_sub(e, exponent, nxk_const(e->k, NX_U64, last + 2 - 64));
  return x_or(e, x_and(e, bits, nxk_const(e->k, NX_U64, hidden - 1)),
              nxk_const(e->k, NX_U64, hidden));
}

/* Splits the fixed-point number of quadrants `high` (2 bits before the point): the nearest integer,
 * and the rest as i64. */
static nxk_value nearest(const expand *e, nxk_value high, nxk_value *rest) {
  nxk_value places = nxk_const(e->k, NX_U64, 62);
  nxk_value q = x_shr(e, x_add(e, high, nxk_const(e->k, NX_U64, UINT64_C(1) << 61)), places);
  *rest = x_bits(e, NX_I64, x_sub(e, high, x_shl(e, q, places)));
  return q;
}

static quadrant reduce_large_f32(const expand *e, nxk_value x) {
  nxk_value position, word[2], rest;
  nxk_value m = mantissa(e, x, &position);
  window(e, position, 5, 2, 2, word);
  nxk_value half = nxk_const(e->k, NX_U64, 32);
  nxk_value below = x_shr(e, x_mul(e, m, x_shr(e, word[1], half)), half);
  nxk_value q = x_cast(e, NX_U32, nearest(e, x_add(e, x_mul(e, m, word[0]), below), &rest));
  nxk_value angle =
      x_mul(e, x_cast(e, NX_F64, rest), nxk_const_f(e->k, NX_F64, 0x1.921fb54442d18p-62));
  quadrant out = {q, x_cast(e, NX_F32, angle), NXK_NONE};
  out.low = x_cast(e, NX_F32, x_sub(e, angle, x_cast(e, NX_F64, out.r)));
  return out;
}

static quadrant reduce_large_f64(const expand *e, nxk_value x) {
  nxk_value position, word[3], rest;
  nxk_value m = mantissa(e, x, &position);
  window(e, position, 20, 16, 3, word);
  nxk_value middle = x_mul(e, m, word[1]);
  nxk_value low = x_add(e, middle, x_umulh(e, m, word[2]));
  nxk_value carry = x_cast(e, NX_U64, x_lt(e, low, middle));
  nxk_value high = x_add(e, x_add(e, x_mul(e, m, word[0]), x_umulh(e, m, word[1])), carry);
  nxk_value q = nearest(e, high, &rest);
  /* rest + low / 2^64 as a pair: each conversion but the first is exact */
  nxk_value first = x_cast(e, NX_F64, rest);
  nxk_value second = x_cast(e, NX_F64, x_sub(e, rest, x_cast(e, NX_I64, first)));
  nxk_value half = nxk_const(e->k, NX_U64, 32);
  nxk_value third = x_cast(e, NX_F64, x_shr(e, low, half));
  nxk_value fourth = x_cast(e, NX_F64, x_and(e, low, nxk_const(e->k, NX_U64, UINT32_MAX)));
  second = x_fma(e, third, x_f(e, 0x1p-32), second);
  second = x_fma(e, fourth, x_f(e, 0x1p-64), second);
  expand_pair t = nxi_expand_fast_sum(e, first, second);
  nxk_value quarter = x_f(e, 0x1.921fb54442d18p-62);
  expand_pair r = nxi_expand_product(e, t.high, quarter);
  nxk_value tail =
      x_fma(e, t.high, x_f(e, 0x1.1a62633145c07p-116), x_fma(e, t.low, quarter, r.low));
  r = nxi_expand_fast_sum(e, r.high, tail);
  quadrant out = {q, r.high, r.low};
  return out;
}

/* The exact reduction, for large |x|; infinity gives NaN. */
static quadrant reduce_large(const expand *e, nxk_value x) {
  quadrant a = e->wide ? reduce_large_f64(e, x) : reduce_large_f32(e, x);
  nxk_value negative = x_lt(e, x, x_f(e, 0));
  a.q = x_select(e, negative, x_neg(e, a.q), a.q);
  a.r = x_select(e, negative, x_neg(e, a.r), a.r);
  a.low = x_select(e, negative, x_neg(e, a.low), a.low);
  a.r = x_select(e, x_lt(e, x_abs(e, x), x_f(e, INFINITY)), a.r, x_f(e, NAN));
  return a;
}

quadrant nxi_expand_quadrant(const expand *e, nxk_value x) {
  quadrant usual = reduce_small(e, x);
  nxk_value cold = nxk_begin_cold_apart(e->k, x_le(e, x_f(e, large(e)), x_abs(e, x)));
  quadrant huge = reduce_large(e, x);
  nxk_end(e->k);
  usual.q = nxk_blend(e->k, cold, huge.q, usual.q);
  usual.r = nxk_blend(e->k, cold, huge.r, usual.r);
  usual.low = nxk_blend(e->k, cold, huge.low, usual.low);
  return usual;
}

/* sin is r + (r^3 P(r^2) + low): the last addition alone rounds at the result's size. */
static nxk_value sin_tail(const expand *e, quadrant a, nxk_value square) {
  return x_fma(e, x_mul(e, a.r, square), X_POLY(e, square, sin), a.low);
}

/* 1 - r^2/2 + r^4 P(r^2) - r low, with the square of the second term unrounded. */
static nxk_value cos_tail(const expand *e, quadrant a, nxk_value square) {
  nxk_value tail =
      x_fma(e, x_mul(e, square, square), X_POLY(e, square, cos), x_neg(e, x_mul(e, a.r, a.low)));
  return x_fma(e, x_mul(e, a.r, x_f(e, -0.5)), a.r, tail);
}

/* (top + top_low) / (bottom + bottom_low). */
static nxk_value divide_pairs(const expand *e, expand_pair top, expand_pair bottom) {
  nxk_value inverse = x_div(e, x_f(e, 1), bottom.high), q = x_mul(e, top.high, inverse);
  nxk_value rest = x_fnma(e, q, bottom.low, x_add(e, x_fnma(e, q, bottom.high, top.high), top.low));
  return x_fma(e, rest, inverse, q);
}

/* sin / cos or -cos / sin. */
nxk_value nxi_expand_tangent(const expand *e, quadrant a) {
  nxk_value square = x_mul(e, a.r, a.r), one = x_f(e, 1);
  nxk_value s = sin_tail(e, a, square), c = cos_tail(e, a, square);
  nxk_value odd = x_ne(e, x_and(e, a.q, x_u(e, 1)), x_u(e, 0));
  expand_pair sine = nxi_expand_fast_sum(e, a.r, s), cosine = nxi_expand_fast_sum(e, one, c);
  expand_pair top, bottom;
  top.high = x_select(e, odd, x_neg(e, cosine.high), sine.high);
  top.low = x_select(e, odd, x_neg(e, cosine.low), sine.low);
  bottom.high = x_select(e, odd, sine.high, cosine.high);
  bottom.low = x_select(e, odd, sine.low, cosine.low);
  return divide_pairs(e, top, bottom);
}

nxk_value nxi_expand_sine(const expand *e, quadrant a) {
  nxk_value square = x_mul(e, a.r, a.r), one = x_u(e, 1);
  nxk_value s = x_add(e, a.r, sin_tail(e, a, square)),
            c = x_add(e, x_f(e, 1), cos_tail(e, a, square));
  nxk_value odd = x_ne(e, x_and(e, a.q, one), x_u(e, 0));
  nxk_value sign = x_shl(e, x_and(e, a.q, x_u(e, 2)), x_u(e, e->wide ? 62 : 30));
  return x_bits(e, e->f, x_xor(e, x_bits(e, e->u, x_select(e, odd, c, s)), sign));
}

static nxk_value with_sign(const expand *e, nxk_value sign, nxk_value x) {
  return x_bits(e, e->f, x_xor(e, x_bits(e, e->u, x), sign));
}

expand_pair nxi_expand_sine_parts(const expand *e, quadrant a) {
  nxk_value square = x_mul(e, a.r, a.r), one = x_u(e, 1);
  nxk_value s = sin_tail(e, a, square), c = cos_tail(e, a, square);
  nxk_value odd = x_ne(e, x_and(e, a.q, one), x_u(e, 0));
  nxk_value sign = x_shl(e, x_and(e, a.q, x_u(e, 2)), x_u(e, e->wide ? 62 : 30));
  expand_pair p = {with_sign(e, sign, x_select(e, odd, x_f(e, 1), a.r)), NXK_NONE};
  p.low = with_sign(e, sign, x_select(e, odd, c, s));
  return p;
}

nxk_value nxi_expand_trig(const expand *e, nxk_op op, nxk_value x) {
  quadrant a = nxi_expand_quadrant(e, x);
  nxk_value at_zero = x_eq(e, x, x_f(e, 0)); /* keeps -0 */
  if (op == NXK_tan) return x_select(e, at_zero, x, nxi_expand_tangent(e, a));
  if (op == NXK_cos) a.q = x_add(e, a.q, x_u(e, 1));
  nxk_value y = nxi_expand_sine(e, a);
  return op == NXK_cos ? y : x_select(e, at_zero, x, y);
}
