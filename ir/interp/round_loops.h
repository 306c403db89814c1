/* SPDX-License-Identifier: ISC */
/* The functions of rounds.h, compiled for one instruction set by each file that includes this.
 * NXG_ROUNDS: the name of the function that gives them. NXG_LARGER_f32, NXG_SMALLER_f64 and the
 * like: the better ones of vectors of signed integers of that width. */
#include <string.h>

#include "rounds.h"
#include "vector.h"

/* Which lanes have one of the elements after the last whole round, of which there are r: r words of
 * ones begin at 16 - r. */
static const uint32_t round_has_f32[2 * NXG_ROUND] = {-1U, -1U, -1U, -1U, -1U, -1U, -1U, -1U,
                                                      -1U, -1U, -1U, -1U, -1U, -1U, -1U, -1U};
static const uint64_t round_has_f64[2 * NXG_ROUND] = {
    -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL};

#define ROUNDS(prefix, kind, name, T, V, W, combination)                                       \
  static void prefix##_##kind##_##name(void *part, const void *from, int64_t n) {              \
    enum { COUNT = NXG_ROUND * sizeof(T) / sizeof(V) };                                        \
    const T *next = from;                                                                      \
    V all[COUNT];                                                                              \
    memcpy(all, next, sizeof all);                                                             \
    for (next += NXG_ROUND, n -= NXG_ROUND; n >= NXG_ROUND; next += NXG_ROUND, n -= NXG_ROUND) \
      for (int l = 0; l < COUNT; l++) {                                                        \
        const V x = all[l], y = ((const V *)(const void *)next)[l];                            \
        all[l] = (combination);                                                                \
      }                                                                                        \
    if (n > 0) {                                                                               \
      T rest[NXG_ROUND] = {0};                                                                 \
      const W *has = (const W *)(const void *)(round_has_##name + NXG_ROUND - n);              \
      for (int64_t i = 0; i < n; i++) rest[i] = next[i];                                       \
      for (int l = 0; l < COUNT; l++) {                                                        \
        const V x = all[l], y = ((const V *)(const void *)rest)[l];                            \
        all[l] = NXG_PICK(V, W, has[l], combination, x);                                       \
      }                                                                                        \
    }                                                                                          \
    memcpy(part, all, sizeof all);                                                             \
  }

/* The order of floats is that of integers, -0 below +0, once all bits of negative ones but the sign
 * are turned, and the larger one of integers is found in an instruction. NaN has no place in it. */
#define IN_ORDER(bits, top, rest) ((bits) ^ ((bits) >> (top) & (rest)))
/* Maxima, minima: by the order, and once more by comparisons where there is a NaN. */
#define BEST_ROUNDS(kind, name, T, V, S, top, rest, best)                            \
  static void rounds_##kind##_##name(void *part, const void *from, int64_t n) {      \
    enum { COUNT = NXG_ROUND * sizeof(T) / sizeof(V) };                              \
    const T *next = from;                                                            \
    const int64_t rounds = n / NXG_ROUND, left = n % NXG_ROUND;                      \
    S all[COUNT], odd[COUNT];                                                        \
    for (int l = 0; l < COUNT; l++) {                                                \
      const V x = ((const V *)(const void *)next)[l];                                \
      all[l] = IN_ORDER((S)x, top, rest);                                            \
      odd[l] = (S)(x != x);                                                          \
    }                                                                                \
    for (int64_t i = 1; i < rounds; i++) {                                           \
      next += NXG_ROUND;                                                             \
      for (int l = 0; l < COUNT; l++) {                                              \
        const V x = ((const V *)(const void *)next)[l];                              \
        const S y = IN_ORDER((S)x, top, rest);                                       \
        all[l] = best(all[l], y);                                                    \
        odd[l] |= (S)(x != x);                                                       \
      }                                                                              \
    }                                                                                \
    if (left > 0) {                                                                  \
      T few[NXG_ROUND] = {0};                                                        \
      const S *has = (const S *)(const void *)(round_has_##name + NXG_ROUND - left); \
      for (int64_t i = 0; i < left; i++) few[i] = next[NXG_ROUND + i];               \
      for (int l = 0; l < COUNT; l++) {                                              \
        const V x = ((const V *)(const void *)few)[l];                               \
        const S y = IN_ORDER((S)x, top, rest), joined = best(all[l], y);             \
        all[l] = (joined & has[l]) | (all[l] & ~has[l]);                             \
        odd[l] |= (S)(x != x);                                                       \
      }                                                                              \
    }                                                                                \
    uint64_t any = 0, words[sizeof odd / 8];                                         \
    memcpy(words, odd, sizeof odd);                                                  \
    for (size_t i = 0; i < sizeof odd / 8; i++) any |= words[i];                     \
    if (any) {                                                                       \
      exact_##kind##_##name(part, from, n);                                          \
      return;                                                                        \
    }                                                                                \
    for (int l = 0; l < COUNT; l++) all[l] = IN_ORDER(all[l], top, rest);            \
    memcpy(part, all, sizeof all);                                                   \
  }
#define FLOAT_ROUNDS(name, T, V, W, S, top, rest)               \
  ROUNDS(rounds, sum, name, T, V, W, x + y)                     \
  ROUNDS(rounds, prod, name, T, V, W, x *y)                     \
  ROUNDS(exact, max, name, T, V, W, NXG_MAX(V, W, top, x, y))   \
  ROUNDS(exact, min, name, T, V, W, NXG_MIN(V, W, top, x, y))   \
  BEST_ROUNDS(max, name, T, V, S, top, rest, NXG_LARGER_##name) \
  BEST_ROUNDS(min, name, T, V, S, top, rest, NXG_SMALLER_##name)

FLOAT_ROUNDS(f32, float, nxg_f32s, nxg_u32s, nxg_i32s, 31, INT32_MAX)
FLOAT_ROUNDS(f64, double, nxg_f64s, nxg_u64s, nxg_i64s, 63, INT64_MAX)

nxg_rounds *NXG_ROUNDS(nxk_reduce_kind kind, nx_dtype t) {
  static nxg_rounds *const f32[NXK_KINDS] = {[NXK_SUM] = rounds_sum_f32,
                                             [NXK_PROD] = rounds_prod_f32,
                                             [NXK_MAX] = rounds_max_f32,
                                             [NXK_MIN] = rounds_min_f32},
                           *const f64[NXK_KINDS] = {[NXK_SUM] = rounds_sum_f64,
                                                    [NXK_PROD] = rounds_prod_f64,
                                                    [NXK_MAX] = rounds_max_f64,
                                                    [NXK_MIN] = rounds_min_f64};
  return t == NX_F32 ? f32[kind] : t == NX_F64 ? f64[kind] : NULL;
}
