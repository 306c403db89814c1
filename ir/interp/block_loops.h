/* SPDX-License-Identifier: ISC */
/* The loops of block.h, compiled for one instruction set by each file that includes this. Counts
 * are constant and results restricted, so that compilers make vectors of them. NXG_LOOPS,
 * NXG_REPEATS: the names of the tables. Where block_functions.h is included before, functions have
 * rows, too. */
#include <math.h>
#include <string.h>

#include "block.h"
#include "vector.h"

#define LOOP(name, T, R, expression)                                                     \
  static void name(void *restrict result, const void *a, const void *b, const void *c) { \
    const T *restrict p = a, *restrict q = b, *restrict s = c;                           \
    R *restrict out = result;                                                            \
    for (int i = 0; i < NXG_BLOCK; i++) {                                                \
      const T x = p[i], y = q[i], z = s[i];                                              \
      (void)y, (void)z;                                                                  \
      out[i] = (R)(expression);                                                          \
    }                                                                                    \
  }
#define SELECT(name, T)                                                                           \
  static void select_##name(void *restrict result, const void *a, const void *b, const void *c) { \
    const uint8_t *restrict p = a;                                                                \
    const T *restrict q = b, *restrict s = c;                                                     \
    T *restrict out = result;                                                                     \
    for (int i = 0; i < NXG_BLOCK; i++) {                                                         \
      const T x = q[i], y = s[i];                                                                 \
      out[i] = p[i] ? x : y;                                                                      \
    }                                                                                             \
  }
#define BITS(bytes)                                                                              \
  static void same_##bytes(void *restrict result, const void *a, const void *b, const void *c) { \
    (void)b, (void)c;                                                                            \
    memcpy(result, a, (size_t)NXG_BLOCK *(bytes));                                               \
  }

/* Integers wrap: U is the unsigned type of the same width. */
#define COMPARE(name, T)              \
  LOOP(eq_##name, T, uint8_t, x == y) \
  LOOP(ne_##name, T, uint8_t, x != y) \
  LOOP(lt_##name, T, uint8_t, x < y)  \
  LOOP(le_##name, T, uint8_t, x <= y) \
  SELECT(name, T)
#define INTEGER(name, T, U, bits)                                            \
  COMPARE(name, T)                                                           \
  LOOP(neg_##name, T, T, -(U)x)                                              \
  LOOP(abs_##name, T, T, x < (T)1 && x != 0 ? -(U)x : (U)x)                  \
  LOOP(not_##name, T, T, ~(U)x)                                              \
  LOOP(popcount_##name, T, T, __builtin_popcountll((U)x))                    \
  LOOP(add_##name, T, T, (U)x + (U)y)                                        \
  LOOP(sub_##name, T, T, (U)x - (U)y)                                        \
  LOOP(mul_##name, T, T, (U)x *(U)y)                                         \
  LOOP(div_##name, T, T, QUOTIENT(x, y, T, U))                               \
  LOOP(mod_##name, T, T, y == 0 ? 0 : (U)x - (U)QUOTIENT(x, y, T, U) * (U)y) \
  LOOP(and_##name, T, T, (U)x &(U)y)                                         \
  LOOP(or_##name, T, T, (U)x | (U)y)                                         \
  LOOP(xor_##name, T, T, (U)x ^ (U)y)                                        \
  LOOP(max_##name, T, T, x > y ? x : y)                                      \
  LOOP(min_##name, T, T, x < y ? x : y)                                      \
  LOOP(shl_##name, T, T, (U)y < (bits) ? (U)x << ((U)y & ((bits) - 1)) : 0)  \
  LOOP(shr_##name, T, T, SHIFTED(x, y, T, U, bits))
/* x / 0 = 0, MIN / -1 = MIN; and x % 0 = 0. */
#define QUOTIENT(x, y, T, U) \
  ((y) == 0 ? (T)0 : (T)(-1) < (T)(1) && (y) == (T)(-1) ? (T)(0 - (U)(x)) : (T)((x) / (y)))
/* Right by y: of signed numbers the sign remains, of others nothing. */
#define SHIFTED(x, y, T, U, bits)                           \
  ((U)(y) < (bits)    ? (T)((x) >> ((U)(y) & ((bits) - 1))) \
   : (T)(-1) < (T)(1) ? (T)((x) >> ((bits) - 1))            \
                      : (T)0)

/* NaN wins; of equal operands max takes the one without a sign and min the one with a sign. 2^n is
 * made of two factors, each about half of the exponent, however that is rounded: in the domain that
 * ir/scalar_ops.def gives the first product is exact, or the result is 0 or infinite anyway. */
#define FLOAT(name, T, U, V, W, F, digits, bias, limit)                                          \
  COMPARE(name, T)                                                                               \
  static void ldexp_##name(void *restrict result, const void *a, const void *b, const void *c) { \
    const V least = (V){0} - (limit), most = (V){0} + (limit);                                   \
    const T magic = (T)(3 * ((U)1 << ((digits) - 1)) + (bias));                                  \
    const V *x = a, *y = b;                                                                      \
    V *restrict out = result;                                                                    \
    (void)c;                                                                                     \
    for (int i = 0; i < NXG_BLOCK * (int)sizeof(T) / (int)sizeof(V); i++) {                      \
      V n = NXG_PICK(V, W, y[i] < least, least, y[i]);                                           \
      n = NXG_PICK(V, W, n > most, most, n);                                                     \
      const V half = n * (T)0.5 + magic, rest = n - (half - magic) + magic;                      \
      n = x[i] * (V)((W)half << (digits)) * (V)((W)rest << (digits));                            \
      out[i] = NXG_PICK(V, W, y[i] != y[i], y[i], n);                                            \
    }                                                                                            \
  }                                                                                              \
  LOOP(neg_##name, T, T, -x)                                                                     \
  LOOP(abs_##name, T, T, __builtin_fabs##F(x))                                                   \
  LOOP(rint_##name, T, T, __builtin_rint##F(x))                                                  \
  LOOP(trunc_##name, T, T, __builtin_trunc##F(x))                                                \
  LOOP(floor_##name, T, T, __builtin_floor##F(x))                                                \
  LOOP(mod_##name, T, T, __builtin_fmod##F(x, y))                                                \
  LOOP(sqrt_##name, T, T, __builtin_sqrt##F(x))                                                  \
  LOOP(add_##name, T, T, x + y)                                                                  \
  LOOP(sub_##name, T, T, x - y)                                                                  \
  LOOP(mul_##name, T, T, x *y)                                                                   \
  LOOP(div_##name, T, T, x / y)                                                                  \
  LOOP(copysign_##name, T, T, __builtin_copysign##F(x, y))                                       \
  LOOP(max_##name, T, T, x != x || x > y || (x == y && __builtin_signbit(y)) ? x : y)            \
  LOOP(min_##name, T, T, x != x || x < y || (x == y && __builtin_signbit(x)) ? x : y)            \
  LOOP(fma_##name, T, T, __builtin_fma##F(x, y, z))

INTEGER(i32, int32_t, uint32_t, 32)
INTEGER(u32, uint32_t, uint32_t, 32)
INTEGER(i64, int64_t, uint64_t, 64)
INTEGER(u64, uint64_t, uint64_t, 64)
FLOAT(f32, float, uint32_t, nxg_f32s, nxg_u32s, f, 23, 127, 252.0F)
FLOAT(f64, double, uint64_t, nxg_f64s, nxg_u64s, , 52, 1023, 2044.0)
BITS(4)
BITS(8)

__extension__ typedef unsigned __int128 wide_product;
LOOP(umulh_u64, uint64_t, uint64_t, (wide_product)x *y >> 64)
LOOP(not_bool, uint8_t, uint8_t, x ^ 1)
LOOP(and_bool, uint8_t, uint8_t, x &y)
LOOP(or_bool, uint8_t, uint8_t, x | y)
LOOP(ne_bool, uint8_t, uint8_t, x ^ y)

LOOP(bool_to_u64, uint8_t, uint64_t, x)
LOOP(f32_to_f64, float, double, x)
LOOP(f64_to_f32, double, float, x)
LOOP(i32_to_f32, int32_t, float, x)
LOOP(i64_to_f64, int64_t, double, x)
LOOP(u32_to_u64, uint32_t, uint64_t, x)
LOOP(u64_to_f64, uint64_t, double, x)
LOOP(u64_to_u32, uint64_t, uint32_t, x)
/* NaN gives 0, and what is out of range the nearest number. */
LOOP(f64_to_i64, double, int64_t,
     x != x         ? 0
     : x <= -0x1p63 ? INT64_MIN
     : x >= 0x1p63  ? INT64_MAX
                    : (int64_t)x)

/* clang-format off */
#define ROW(op, name, T) [NXK_##op][T] = op##_##name,
#define COMMON_ROWS(name, T) \
  ROW(eq, name, T) ROW(ne, name, T) ROW(lt, name, T) ROW(le, name, T) ROW(select, name, T) \
  ROW(neg, name, T) ROW(abs, name, T) ROW(add, name, T) ROW(sub, name, T) ROW(mul, name, T) \
  ROW(max, name, T) ROW(min, name, T)
#define INTEGER_ROWS(name, T) \
  COMMON_ROWS(name, T) ROW(popcount, name, T) ROW(div, name, T) ROW(mod, name, T) \
  ROW(not, name, T) ROW(and, name, T) \
  ROW(or, name, T) ROW(xor, name, T) \
  ROW(shl, name, T) ROW(shr, name, T)
#define FLOAT_ROWS(name, T) \
  COMMON_ROWS(name, T) ROW(rint, name, T) ROW(trunc, name, T) ROW(sqrt, name, T) \
  ROW(floor, name, T) ROW(mod, name, T) ROW(div, name, T) ROW(copysign, name, T) \
  ROW(fma, name, T) ROW(ldexp, name, T)

static nxg_block_loop *const loops[NXK_SCALAR_COUNT][NXI_DTYPE_COUNT] = {
  INTEGER_ROWS(i32, NX_I32) INTEGER_ROWS(u32, NX_U32)
  INTEGER_ROWS(i64, NX_I64) INTEGER_ROWS(u64, NX_U64)
  FLOAT_ROWS(f32, NX_F32)   FLOAT_ROWS(f64, NX_F64)
  ROW(umulh, u64, NX_U64)   ROW(not, bool, NX_BOOL) ROW(and, bool, NX_BOOL)
  ROW(or, bool, NX_BOOL)    ROW(ne, bool, NX_BOOL)
#ifdef FUNCTION_ROWS
  FUNCTION_ROWS
#endif
};

#define CAST(from, F, to, T) [F][T] = from##_to_##to,
static nxg_block_loop *const casts[NXI_DTYPE_COUNT][NXI_DTYPE_COUNT] = {
  CAST(bool, NX_BOOL, u64, NX_U64) CAST(f32, NX_F32, f64, NX_F64) CAST(f64, NX_F64, f32, NX_F32)
  CAST(i32, NX_I32, f32, NX_F32)   CAST(i64, NX_I64, f64, NX_F64) CAST(u32, NX_U32, u64, NX_U64)
  CAST(u64, NX_U64, f64, NX_F64)   CAST(u64, NX_U64, u32, NX_U32) CAST(f64, NX_F64, i64, NX_I64)
};
/* clang-format on */

/* The last vector may lie over the one before it. */
#define REPEATER(bytes, T, V)                                       \
  static void repeat_##bytes(void *to, const void *at, int64_t n) { \
    enum { MANY = sizeof(V) / sizeof(T) };                          \
    T *out = to, *const end = out + n;                              \
    const T x = *(const T *)at;                                     \
    const V all = (V){0} + x;                                       \
    for (; end - out >= 4 * MANY; out += 4 * MANY)                  \
      for (int k = 0; k < 4; k++) ((V *)(void *)out)[k] = all;      \
    for (; end - out >= MANY; out += MANY) *(V *)(void *)out = all; \
    if (out < end && n >= MANY) *(V *)(void *)(end - MANY) = all;   \
    for (; out < end && n < MANY; out++) *out = x;                  \
  }
REPEATER(4, uint32_t, nxg_u32s)
REPEATER(8, uint64_t, nxg_u64s)
nxg_repeat *NXG_REPEATS(int32_t bytes) { return bytes == 4 ? repeat_4 : repeat_8; }

nxg_block_loop *NXG_LOOPS(nxk_op op, nx_dtype from, nx_dtype to) {
  if (op == NXK_cast) return casts[from][to];
  if (op != NXK_bitcast) return loops[op][from];
  int64_t bytes = nxi_dtype_size(from);
  return bytes == 4 ? same_4 : bytes == 8 ? same_8 : NULL;
}
