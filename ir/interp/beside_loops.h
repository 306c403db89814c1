/* SPDX-License-Identifier: ISC */
/* The functions of beside.h, compiled for one instruction set by each file that includes this.
 * NXG_BESIDES: the name of the function that gives them. */
#include <string.h>

#include "beside.h"
#include "vector.h"

enum { BESIDE_BLOCK = 16, BESIDE_LEVELS = 13 };
_Static_assert(NXG_BESIDE_MOST / BESIDE_BLOCK < 1 << BESIDE_LEVELS, "the tree is too low");

/* x joins y in all columns; without a loop that is left, they stay in registers. */
#define ALL_COLUMNS(to, first, second, combination)          \
  _Pragma("GCC unroll 32") for (int l = 0; l < COUNT; l++) { \
    x = (first)[l], y = (second)[l];                         \
    (to)[l] = (combination);                                 \
  }

/* Blocks of 16 rows in order, and then the tree, which is a binary counter of partial results
 * (interp_reduce.c). Of fewer columns than NXG_BESIDE a block is copied to rows that have all. */
#define BESIDE(kind, name, T, V, W, combination)                                                   \
  static void beside_##kind##_##name(const void *rows, int64_t row_bytes, int64_t n, int width,    \
                                     void *result) {                                               \
    enum { COUNT = NXG_BESIDE * sizeof(T) / sizeof(V) };                                           \
    V tree[BESIDE_LEVELS][COUNT], few[BESIDE_BLOCK][COUNT], part[COUNT], x, y;                     \
    const char *at = rows;                                                                         \
    int64_t blocks = 0;                                                                            \
    if (width < NXG_BESIDE) memset(few, 0, sizeof few);                                            \
    for (int64_t done = 0; done < n; done += BESIDE_BLOCK, blocks++) {                             \
      const int m = n - done < BESIDE_BLOCK ? (int)(n - done) : BESIDE_BLOCK;                      \
      const char *row = at;                                                                        \
      int64_t apart = row_bytes;                                                                   \
      if (width < NXG_BESIDE) {                                                                    \
        for (int k = 0; k < m; k++) memcpy(few[k], at + k * row_bytes, (size_t)width * sizeof(T)); \
        row = (const char *)few;                                                                   \
        apart = sizeof *few;                                                                       \
      }                                                                                            \
      at += m * row_bytes;                                                                         \
      memcpy(part, row, sizeof part);                                                              \
      for (int k = 1; k < m; k++) {                                                                \
        row += apart;                                                                              \
        ALL_COLUMNS(part, part, (const V *)(const void *)row, combination)                         \
      }                                                                                            \
      int level = 0;                                                                               \
      for (; blocks >> level & 1; level++) ALL_COLUMNS(part, tree[level], part, combination)       \
      memcpy(tree[level], part, sizeof part);                                                      \
    }                                                                                              \
    for (int level = __builtin_ctzll((uint64_t)blocks) + 1; blocks >> level; level++)              \
      if (blocks >> level & 1) ALL_COLUMNS(part, tree[level], part, combination)                   \
    memcpy(result, part, (size_t)width * sizeof(T));                                               \
  }
#define FLOATS_BESIDE(name, T, V, W, top)              \
  BESIDE(sum, name, T, V, W, x + y)                    \
  BESIDE(prod, name, T, V, W, x *y)                    \
  BESIDE(max, name, T, V, W, NXG_MAX(V, W, top, x, y)) \
  BESIDE(min, name, T, V, W, NXG_MIN(V, W, top, x, y))

/* Levels of the tree that the counter marks as full have been written; the analyser does not see
 * that. NOLINTBEGIN(clang-analyzer-core.*) */
FLOATS_BESIDE(f32, float, nxg_f32s, nxg_u32s, 31)
FLOATS_BESIDE(f64, double, nxg_f64s, nxg_u64s, 63)
/* NOLINTEND(clang-analyzer-core.*) */

nxg_beside *NXG_BESIDES(nxk_reduce_kind kind, nx_dtype t) {
  static nxg_beside *const f32[NXK_KINDS] = {[NXK_SUM] = beside_sum_f32,
                                             [NXK_PROD] = beside_prod_f32,
                                             [NXK_MAX] = beside_max_f32,
                                             [NXK_MIN] = beside_min_f32},
                           *const f64[NXK_KINDS] = {[NXK_SUM] = beside_sum_f64,
                                                    [NXK_PROD] = beside_prod_f64,
                                                    [NXK_MAX] = beside_max_f64,
                                                    [NXK_MIN] = beside_min_f64};
  return t == NX_F32 ? f32[kind] : t == NX_F64 ? f64[kind] : NULL;
}
