/* SPDX-License-Identifier: ISC */
/* The functions of rounds.h, compiled for one instruction set by each file that includes this.
 * NXG_ROUNDS: the name of the function that gives them. */
#include <string.h>

#include "rounds.h"
#include "vector.h"

/* Which lanes have one of the elements after the last whole round, of which there are r: r words of
 * ones begin at 16 - r. */
static const uint32_t round_has_f32[2 * NXG_ROUND] = {-1U, -1U, -1U, -1U, -1U, -1U, -1U, -1U,
                                                      -1U, -1U, -1U, -1U, -1U, -1U, -1U, -1U};
static const uint64_t round_has_f64[2 * NXG_ROUND] = {
    -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL, -1UL};

#define ROUNDS(kind, name, T, V, W, combination)                                               \
  static void rounds_##kind##_##name(void *part, const void *from, int64_t n) {                \
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
#define FLOAT_ROUNDS(name, T, V, W, top)               \
  ROUNDS(sum, name, T, V, W, x + y)                    \
  ROUNDS(prod, name, T, V, W, x *y)                    \
  ROUNDS(max, name, T, V, W, NXG_MAX(V, W, top, x, y)) \
  ROUNDS(min, name, T, V, W, NXG_MIN(V, W, top, x, y))

FLOAT_ROUNDS(f32, float, nxg_f32s, nxg_u32s, 31)
FLOAT_ROUNDS(f64, double, nxg_f64s, nxg_u64s, 63)

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
