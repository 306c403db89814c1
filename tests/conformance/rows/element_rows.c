/* SPDX-License-Identifier: ISC */
/* The elementwise operations and their references on integers and floats. Those on complex numbers
 * are in complex_reference.c. */
#include "elements.h"

#include <math.h>

/* ---- integers: in 128 bits, wrapped by the caller */

#define WHOLE(name, expression)                            \
  static whole integer_##name(whole a, whole b, width w) { \
    (void)a, (void)b, (void)w;                             \
    return expression;                                     \
  }
WHOLE(add, w.is_bool ? a | b : a + b)
WHOLE(sub, a - b)
WHOLE(mul, (whole)((natural)a *(natural)b)) /* the low bits count */
WHOLE(div, b ? a / b : 0)
WHOLE(mod, b ? a % b : 0)
WHOLE(max, a > b ? a : b)
WHOLE(min, a < b ? a : b)
WHOLE(and, (a) & (b))
WHOLE(or, a | b)
WHOLE(xor, a ^ b)
WHOLE(eq, a == b)
WHOLE(ne, a != b)
WHOLE(lt, a < b)
WHOLE(le, a <= b)
WHOLE(gt, a > b)
WHOLE(ge, a >= b)
WHOLE(neg, -a)
WHOLE(abs, a < 0 ? -a : a)
WHOLE(sign, (a > 0) - (a < 0))
WHOLE(recip, a ? 1 / a : 0)
WHOLE(same, a)
WHOLE(square, (whole)((natural)a *(natural)a))
WHOLE(never, 0)
WHOLE(always, 1)

static whole integer_shl(whole a, whole count, width w) {
  return count < 0 || count >= w.bits ? 0 : a * ((whole)1 << count);
}

static whole integer_shr(whole a, whole count, width w) {
  if (count < 0 || count >= w.bits) return a < 0 ? -1 : 0;
  whole divisor = (whole)1 << count, quotient = a / divisor;
  return quotient - (a % divisor < 0);
}

/* ---- bits of integers */

static bool bit(whole a, int i) { return (natural)a >> i & 1; }

static whole integer_popcount(whole a, whole b, width w) {
  (void)b;
  whole n = 0;
  for (int i = 0; i < w.bits; i++) n += bit(a, i);
  return n;
}

static whole integer_clz(whole a, whole b, width w) {
  (void)b;
  int n = 0;
  while (n < w.bits && !bit(a, w.bits - 1 - n)) n++;
  return n;
}

static whole integer_ctz(whole a, whole b, width w) {
  (void)b;
  int n = 0;
  while (n < w.bits && !bit(a, n)) n++;
  return n;
}

static whole integer_reverse_bits(whole a, whole b, width w) {
  (void)b;
  whole y = 0;
  for (int i = 0; i < w.bits; i++) y = 2 * y + bit(a, i);
  return y;
}

static whole integer_not(whole a, whole b, width w) {
  (void)b;
  return w.is_bool ? !a : -a - 1;
}

static whole integer_shr_logical(whole a, whole count, width w) {
  natural word = (natural)a & (((natural)1 << w.bits) - 1);
  return count < 0 || count >= w.bits ? 0 : (whole)(word >> count);
}

static whole integer_shr_arithmetic(whole a, whole count, width w) {
  natural all = ((natural)1 << w.bits) - 1, word = (natural)a & all;
  bool negative = bit(a, w.bits - 1);
  if (count < 0 || count >= w.bits) return negative ? (whole)all : 0;
  natural above = negative ? all & ~(all >> count) : 0;
  return (whole)(word >> count | above);
}

/* Python's // and %. */
static whole integer_floor_div(whole a, whole b, width w) {
  (void)w;
  return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
}
static whole integer_floor_mod(whole a, whole b, width w) {
  return b ? a - b * integer_floor_div(a, b, w) : 0;
}

static whole integer_pow(whole a, whole b, width w) {
  (void)w;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  natural power = 1, base = (natural)a;
  for (; b; b /= 2, base *= base)
    if (b % 2) power *= base;
  return (whole)power;
}

/* ---- floats that are rounded once: C's own arithmetic, in both widths */

#define ROUNDED(name, in_float, in_double)         \
  static float single_##name(float a, float b) {   \
    (void)b;                                       \
    return in_float;                               \
  }                                                \
  static double twice_##name(double a, double b) { \
    (void)b;                                       \
    return in_double;                              \
  }
ROUNDED(add, a + b, a + b)
ROUNDED(sub, a - b, a - b)
ROUNDED(mul, a *b, a *b)
ROUNDED(div, a / b, a / b)
ROUNDED(mod, fmodf(a, b), fmod(a, b))
ROUNDED(eq, a == b, a == b)
ROUNDED(ne, a != b, a != b)
ROUNDED(lt, a < b, a < b)
ROUNDED(le, a <= b, a <= b)
ROUNDED(gt, a > b, a > b)
ROUNDED(ge, a >= b, a >= b)
ROUNDED(neg, -a, -a)
ROUNDED(abs, fabsf(a), fabs(a))
ROUNDED(recip, 1 / a, 1 / a)
ROUNDED(sqrt, sqrtf(a), sqrt(a))
ROUNDED(rint, rintf(a), rint(a))
ROUNDED(trunc, truncf(a), trunc(a))
ROUNDED(ceil, ceilf(a), ceil(a))
ROUNDED(floor, floorf(a), floor(a))
ROUNDED(round, roundf(a), round(a))
ROUNDED(sign, isnan(a) ? a : (float)((a > 0) - (a < 0)), isnan(a) ? a : (double)((a > 0) - (a < 0)))
ROUNDED(same, a, a)
ROUNDED(square, a *a, a *a)
ROUNDED(isnan, isnan(a), isnan(a))
ROUNDED(isinf, isinf(a) != 0, isinf(a) != 0)
ROUNDED(isfinite, isfinite(a), isfinite(a))
/* The remainder with the sign of the divisor, and the whole number that it leaves. */
#define FLOOR_MOD(a, b, rest)                                     \
  ((rest) == 0                                 ? copysign(0.0, b) \
   : ((rest) < 0) != ((b) < 0) && !isnan(rest) ? (rest) + (b)     \
                                               : (rest))
static double floor_quotient(double a, double b, double rest, bool narrow) {
  double q = narrow ? (double)((float)(a - rest) / (float)b) : (a - rest) / b;
  if (b == 0 || isnan(q)) return a / b == a / b && b != 0 ? q : a / b;
  if (rest != 0 && (rest < 0) != (b < 0)) q = narrow ? (double)(float)(q - 1) : q - 1;
  if (q == 0) return copysign(0.0, a / b);
  double whole = floor(q);
  return q - whole > 0.5 ? whole + 1 : whole;
}
ROUNDED(floor_mod, (float)FLOOR_MOD(a, b, (double)fmodf(a, b)), FLOOR_MOD(a, b, fmod(a, b)))
ROUNDED(floor_div, (float)floor_quotient(a, b, (double)fmodf(a, b), true),
        floor_quotient(a, b, fmod(a, b), false))
ROUNDED(zero, a * 0 == 0 ? 0 : 0, a * 0 == 0 ? 0 : 0)
#define GREATER(a, b) \
  (isnan(a) || isnan(b) ? (a) + (b) : (a) > (b) || ((a) == (b) && !signbit(a)) ? (a) : (b))
#define LESS(a, b) \
  (isnan(a) || isnan(b) ? (a) + (b) : (a) < (b) || ((a) == (b) && signbit(a)) ? (a) : (b))
ROUNDED(max, GREATER(a, b), GREATER(a, b))
ROUNDED(min, LESS(a, b), LESS(a, b))

/* ---- functions, in long double */

#define FUNCTION(name, expression)              \
  static real function_##name(real a, real b) { \
    (void)b;                                    \
    return expression;                          \
  }
FUNCTION(pow, powl(a, b))
FUNCTION(atan2, atan2l(a, b))
FUNCTION(exp, expl(a))
FUNCTION(log, logl(a))
FUNCTION(sin, sinl(a))
FUNCTION(cos, cosl(a))
FUNCTION(tan, tanl(a))
FUNCTION(asin, asinl(a))
FUNCTION(acos, acosl(a))
FUNCTION(atan, atanl(a))
FUNCTION(sinh, sinhl(a))
FUNCTION(cosh, coshl(a))
FUNCTION(tanh, tanhl(a))
FUNCTION(erf, erfl(a))
FUNCTION(erfc, erfcl(a))
FUNCTION(erfinv, special_erfinv(a))
FUNCTION(lgamma, lgammal(a))
FUNCTION(digamma, special_digamma(a))
FUNCTION(i0e, special_modified(a, 0))
FUNCTION(i1e, special_modified(a, 1))
FUNCTION(j0, special_bessel(a, 0))
FUNCTION(j1, special_bessel(a, 1))
FUNCTION(log1p, log1pl(a))
FUNCTION(expm1, expm1l(a))
FUNCTION(asinh, asinhl(a))
FUNCTION(acosh, acoshl(a))
FUNCTION(atanh, atanhl(a))
FUNCTION(exp2, exp2l(a))
FUNCTION(log2, log2l(a))
FUNCTION(log10, log10l(a))
FUNCTION(cbrt, cbrtl(a))
FUNCTION(rsqrt, 1 / sqrtl(a))
FUNCTION(logistic, a < 0 ? expl(a) / (1 + expl(a)) : 1 / (1 + expl(-a)))
FUNCTION(hypot, hypotl(a, b))
FUNCTION(logaddexp, isnan(a) || isnan(b) ? a + b
                    : a == b             ? a + logl(2)
                                         : fmaxl(a, b) + log1pl(expl(-fabsl(a - b))))

/* The amplitude of j0 and j1; below 0 what lgamma and digamma are at 1 - x. */
static real least_wave(real a) { return fabsl(a) > 2.6L ? sqrtl(0.6366L / fabsl(a)) : 0; }
static real least_lgamma(real a) { return a < 0 && isfinite(a) ? fmaxl(4, lgammal(1 - a)) : 0; }
static real least_digamma(real a) { return a < 0 && isfinite(a) ? fmaxl(4, logl(1 - a)) : 0; }

/* ---- the rows: NAME(types, operands, what the classes have) */

#define ROW(name, types, ...) \
  {#name, types, check_element, record_element, &(const element){__VA_ARGS__}, 0, NULL}
#define UNARY(name)        .operands = 1, .unary = nx_##name
#define BINARY(name)       .operands = 2, .binary = nx_##name
#define INTEGERS(name)     .integer = integer_##name
#define FLOATS(name)       .single = single_##name, .twice = twice_##name
#define WITHIN(name, ulps) .function = function_##name, .bound = ulps
/* A complex result is each part rounded once; or has parts within a bound; or lies within a bound
 * of the modulus. */
#define PARTS(name) .complex_value = complex_##name, .complex_how = SAME
#define PARTS_WITHIN(name, ulps) \
  .complex_value = complex_##name, .complex_how = NEAR, .complex_bound = ulps
#define SIZE_WITHIN(name, ulps) \
  .complex_value = complex_##name, .complex_how = NEAR_SIZE, .complex_bound = ulps
#define BOOL .result = IS_BOOL
#define PART .result = IS_PART

static const operation element_table[] = {
    ROW(add, B | I | F | C, BINARY(add), INTEGERS(add), FLOATS(add), PARTS(add)),
    ROW(sub, I | F | C, BINARY(sub), INTEGERS(sub), FLOATS(sub), PARTS(sub)),
    ROW(mul, B | I | F | C, BINARY(mul), INTEGERS(mul), FLOATS(mul), SIZE_WITHIN(mul, 1.5)),
    ROW(div, I | F | C, BINARY(div), INTEGERS(div), FLOATS(div), SIZE_WITHIN(div, 4)),
    ROW(mod, I | F, BINARY(mod), INTEGERS(mod), FLOATS(mod)),
    ROW(pow, I | F | C, BINARY(pow), INTEGERS(pow), WITHIN(pow, 2), SIZE_WITHIN(pow, 4)),
    ROW(atan2, F, BINARY(atan2), WITHIN(atan2, 2)),
    ROW(cmpeq, B | I | F | C, BINARY(cmpeq), BOOL, INTEGERS(eq), FLOATS(eq), PARTS(eq)),
    ROW(cmpne, B | I | F | C, BINARY(cmpne), BOOL, INTEGERS(ne), FLOATS(ne), PARTS(ne)),
    ROW(cmplt, B | I | F | C, BINARY(cmplt), BOOL, INTEGERS(lt), FLOATS(lt), PARTS(lt)),
    ROW(cmple, B | I | F | C, BINARY(cmple), BOOL, INTEGERS(le), FLOATS(le), PARTS(le)),
    ROW(cmpgt, B | I | F | C, BINARY(cmpgt), BOOL, INTEGERS(gt), FLOATS(gt), PARTS(gt)),
    ROW(cmpge, B | I | F | C, BINARY(cmpge), BOOL, INTEGERS(ge), FLOATS(ge), PARTS(ge)),
    ROW(floor_div, I | F, BINARY(floor_div), INTEGERS(floor_div), FLOATS(floor_div)),
    ROW(floor_mod, I | F, BINARY(floor_mod), INTEGERS(floor_mod), FLOATS(floor_mod)),
    ROW(hypot, F, BINARY(hypot), WITHIN(hypot, 2)),
    ROW(logaddexp, F, BINARY(logaddexp), WITHIN(logaddexp, 4)),
    ROW(max, B | I | F | C, BINARY(max), INTEGERS(max), FLOATS(max), PARTS(max)),
    ROW(min, B | I | F | C, BINARY(min), INTEGERS(min), FLOATS(min), PARTS(min)),
    ROW(xor, B | I, BINARY(xor), INTEGERS(xor)),
    ROW(or, B | I, BINARY(or), INTEGERS(or)),
    ROW(and, B | I, BINARY(and), INTEGERS(and)),
    ROW(shl, I, BINARY(shl), INTEGERS(shl)),
    ROW(shr, I, BINARY(shr), INTEGERS(shr)),

    ROW(shr_logical, I, BINARY(shr_logical), INTEGERS(shr_logical)),
    ROW(shr_arithmetic, I, BINARY(shr_arithmetic), INTEGERS(shr_arithmetic)),

    ROW(not, B | I, UNARY(not), INTEGERS(not)),
    ROW(popcount, I, UNARY(popcount), INTEGERS(popcount)),
    ROW(clz, I, UNARY(clz), INTEGERS(clz)),
    ROW(ctz, I, UNARY(ctz), INTEGERS(ctz)),
    ROW(reverse_bits, I, UNARY(reverse_bits), INTEGERS(reverse_bits)),
    ROW(isnan, I | F | C, UNARY(isnan), BOOL, INTEGERS(never), FLOATS(isnan), PARTS(isnan)),
    ROW(isinf, I | F | C, UNARY(isinf), BOOL, INTEGERS(never), FLOATS(isinf), PARTS(isinf)),
    ROW(isfinite, I | F | C, UNARY(isfinite), BOOL, INTEGERS(always), FLOATS(isfinite),
        PARTS(isfinite)),
    ROW(neg, I | F | C, UNARY(neg), INTEGERS(neg), FLOATS(neg), PARTS(neg)),
    ROW(abs, I | F | C, UNARY(abs), INTEGERS(abs), FLOATS(abs), PARTS_WITHIN(abs, 1.5)),
    ROW(sign, I | F | C, UNARY(sign), INTEGERS(sign), FLOATS(sign), PARTS_WITHIN(sign, 2.5)),
    ROW(recip, I | F | C, UNARY(recip), INTEGERS(recip), FLOATS(recip), PARTS_WITHIN(recip, 4)),
    ROW(sqrt, F | C, UNARY(sqrt), FLOATS(sqrt), PARTS_WITHIN(sqrt, 2.5)),
    ROW(exp, F | C, UNARY(exp), WITHIN(exp, 1), PARTS_WITHIN(exp, 2.5)),
    ROW(log, F | C, UNARY(log), WITHIN(log, 1), PARTS_WITHIN(log, 4)),
    ROW(sin, F | C, UNARY(sin), WITHIN(sin, 1), PARTS_WITHIN(sin, 2.5)),
    ROW(cos, F | C, UNARY(cos), WITHIN(cos, 1), PARTS_WITHIN(cos, 2.5)),
    ROW(tan, F | C, UNARY(tan), WITHIN(tan, 2), PARTS_WITHIN(tan, 5)),
    ROW(asin, F | C, UNARY(asin), WITHIN(asin, 2), PARTS_WITHIN(asin, 4)),
    ROW(acos, F | C, UNARY(acos), WITHIN(acos, 2), PARTS_WITHIN(acos, 4)),
    ROW(atan, F | C, UNARY(atan), WITHIN(atan, 2), PARTS_WITHIN(atan, 4)),
    ROW(sinh, F | C, UNARY(sinh), WITHIN(sinh, 2), PARTS_WITHIN(sinh, 2.5)),
    ROW(cosh, F | C, UNARY(cosh), WITHIN(cosh, 2), PARTS_WITHIN(cosh, 2.5)),
    ROW(tanh, F | C, UNARY(tanh), WITHIN(tanh, 2), PARTS_WITHIN(tanh, 5)),
    ROW(erf, F, UNARY(erf), WITHIN(erf, 2)),
    ROW(erfc, F, UNARY(erfc), WITHIN(erfc, 2)),
    ROW(erfinv, F, UNARY(erfinv), WITHIN(erfinv, 2)),
    ROW(lgamma, F, UNARY(lgamma), WITHIN(lgamma, 2), .least = least_lgamma),
    ROW(digamma, F, UNARY(digamma), WITHIN(digamma, 2), .least = least_digamma),
    ROW(i0e, F, UNARY(i0e), WITHIN(i0e, 2)),
    ROW(i1e, F, UNARY(i1e), WITHIN(i1e, 2)),
    ROW(j0, F, UNARY(j0), WITHIN(j0, 2), .least = least_wave),
    ROW(j1, F, UNARY(j1), WITHIN(j1, 2), .least = least_wave),
    ROW(log1p, F | C, UNARY(log1p), WITHIN(log1p, 2), PARTS_WITHIN(log1p, 4)),
    ROW(expm1, F | C, UNARY(expm1), WITHIN(expm1, 2), SIZE_WITHIN(expm1, 2.5)),
    ROW(asinh, F | C, UNARY(asinh), WITHIN(asinh, 2), PARTS_WITHIN(asinh, 4)),
    ROW(acosh, F | C, UNARY(acosh), WITHIN(acosh, 2), PARTS_WITHIN(acosh, 4)),
    ROW(atanh, F | C, UNARY(atanh), WITHIN(atanh, 2), PARTS_WITHIN(atanh, 4)),
    ROW(exp2, F, UNARY(exp2), WITHIN(exp2, 1)),
    ROW(log2, F | C, UNARY(log2), WITHIN(log2, 2), PARTS_WITHIN(log2, 5)),
    ROW(log10, F | C, UNARY(log10), WITHIN(log10, 2), PARTS_WITHIN(log10, 5)),
    ROW(cbrt, F, UNARY(cbrt), WITHIN(cbrt, 1)),
    ROW(rsqrt, F | C, UNARY(rsqrt), WITHIN(rsqrt, 2), SIZE_WITHIN(rsqrt, 5)),
    ROW(logistic, F | C, UNARY(logistic), WITHIN(logistic, 1), SIZE_WITHIN(logistic, 5)),
    ROW(square, B | I | F | C, UNARY(square), INTEGERS(square), FLOATS(square),
        SIZE_WITHIN(square, 1.5)),
    ROW(rint, F, UNARY(rint), FLOATS(rint)),
    ROW(trunc, I | F, UNARY(trunc), INTEGERS(same), FLOATS(trunc)),
    ROW(ceil, I | F, UNARY(ceil), INTEGERS(same), FLOATS(ceil)),
    ROW(floor, I | F, UNARY(floor), INTEGERS(same), FLOATS(floor)),
    ROW(round, I | F, UNARY(round), INTEGERS(same), FLOATS(round)),
    ROW(real, F | C, UNARY(real), PART, FLOATS(same), PARTS(real)),
    ROW(imag, F | C, UNARY(imag), PART, FLOATS(zero), PARTS(imag)),
    ROW(conj, F | C, UNARY(conj), FLOATS(same), PARTS(conj)),
};
const family elements_family = {"Elementwise", element_table,
                                sizeof element_table / sizeof *element_table};
