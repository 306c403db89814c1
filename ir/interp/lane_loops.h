/* SPDX-License-Identifier: ISC */
/* The functions of lanes.h, compiled for one instruction set by each file that includes this and
 * round_loops.h before it.
 * NXG_RUNS, NXG_PRODUCTS, NXG_ROW_MAPS: the names of the functions that give them. Of each type:
 * NXG_SOME_f32(at, has), NXG_STORE_SOME_f32(at, has, x): those elements of a vector at an address
 * for which a mask has ones. NXG_ALL_f32(x): a vector of one number. NXG_HALVES_f32(JOIN): JOIN of
 * the vector x with its lanes 4, 2 or so further in the first ones, until one is left.
 * NXG_ABOVE_f32(x, y), NXG_BELOW_f32: the better one of numbers, of which neither is NaN, of zeros
 * any. nxg_odd_f32 with NXG_NOTE_ODD_f32(odd, x, y) and NXG_IS_ODD_f32(odd): whether there was a
 * NaN. */
#include <string.h>

#include "lanes.h"
#include "vector.h"

enum { RUN_LANES = 16, RUN_BLOCK = 256, RUN_LEVELS = 9 };
_Static_assert((int)NXG_RUN_LEAST == (int)RUN_LANES, "fewer elements leave lanes empty");
_Static_assert(NXG_RUN_MOST / RUN_BLOCK < 1 << RUN_LEVELS, "the tree is too low");

/* Of the first r elements, the mask of the l-th vector (round_loops.h). */
#define HAS(W, name, r, l) (((const W *)(const void *)(round_has_##name + NXG_ROUND - (r)))[l])
#define EACH_VECTOR        for (int l = 0; l < COUNT; l++)

/* One run. ELEMENTS(at, l), SOME(at, l, has): those of the run, or products of two. The lanes of a
 * block in order, the blocks in a pairwise tree, which is a binary counter, and then the lanes. */
#define RUN(prefix, name, T, V, W, ELEMENTS, SOME, combination, JOIN_HALF)                \
  static inline void prefix##_block_##name(V *all, const T *p, const T *q, int64_t n) {   \
    enum { COUNT = RUN_LANES * sizeof(T) / sizeof(V), STEP = sizeof(V) / sizeof(T) };     \
    (void)q;                                                                              \
    EACH_VECTOR all[l] = ELEMENTS(V, p, q, l * STEP);                                     \
    for (p += RUN_LANES, q += RUN_LANES, n -= RUN_LANES; n >= RUN_LANES;                  \
         p += RUN_LANES, q += RUN_LANES, n -= RUN_LANES)                                  \
      EACH_VECTOR {                                                                       \
        const V x = all[l], y = ELEMENTS(V, p, q, l * STEP);                              \
        all[l] = (combination);                                                           \
      }                                                                                   \
    if (n > 0) EACH_VECTOR {                                                              \
        const W has = HAS(W, name, n, l);                                                 \
        const V x = all[l], y = SOME(name, p, q, l * STEP, has);                          \
        all[l] = NXG_PICK(V, W, has, combination, x);                                     \
      }                                                                                   \
  }                                                                                       \
  static void prefix##_blocks_##name(V *all, const T *p, const T *q, int64_t n) {         \
    enum { COUNT = RUN_LANES * sizeof(T) / sizeof(V), STEP = sizeof(V) / sizeof(T) };     \
    V tree[RUN_LEVELS][COUNT];                                                            \
    int64_t blocks = 0;                                                                   \
    int level;                                                                            \
    for (; n >= RUN_LANES; n -= RUN_BLOCK, p += RUN_BLOCK, q += RUN_BLOCK, blocks++) {    \
      prefix##_block_##name(all, p, q, n < RUN_BLOCK ? n : RUN_BLOCK);                    \
      for (level = 0; blocks >> level & 1; level++) EACH_VECTOR {                         \
          const V x = tree[level][l], y = all[l];                                         \
          all[l] = (combination);                                                         \
        }                                                                                 \
      memcpy(tree[level], all, sizeof *tree);                                             \
    }                                                                                     \
    level = __builtin_ctzll((uint64_t)blocks);                                            \
    if (n > 0) { /* the last block has not all lanes */                                   \
      for (level = 0; !(blocks >> level & 1);) level++;                                   \
      EACH_VECTOR {                                                                       \
        const W has = HAS(W, name, n, l);                                                 \
        const V x = tree[level][l], y = SOME(name, p, q, l * STEP, has);                  \
        all[l] = NXG_PICK(V, W, has, combination, x);                                     \
      }                                                                                   \
    }                                                                                     \
    for (level++; blocks >> level; level++)                                               \
      if (blocks >> level & 1) EACH_VECTOR {                                              \
          const V x = tree[level][l], y = all[l];                                         \
          all[l] = (combination);                                                         \
        }                                                                                 \
  }                                                                                       \
  static inline T prefix##_run_##name(const void *first, const void *second, int64_t n) { \
    enum { COUNT = RUN_LANES * sizeof(T) / sizeof(V) };                                   \
    V all[COUNT], x, y;                                                                   \
    if (n <= RUN_BLOCK) prefix##_block_##name(all, first, second, n);                     \
    else prefix##_blocks_##name(all, first, second, n);                                   \
    for (int half = COUNT / 2; half > 0; half /= 2)                                       \
      for (int l = 0; l < half; l++) {                                                    \
        x = all[l], y = all[l + half];                                                    \
        all[l] = (combination);                                                           \
      }                                                                                   \
    x = all[0];                                                                           \
    NXG_HALVES_##name(JOIN_HALF);                                                         \
    return x[0];                                                                          \
  }

#define AT(V, p, i)                    (*(const V *)(const void *)((p) + (i)))
#define PLAIN(V, p, q, i)              AT(V, p, i)
#define SOME_PLAIN(name, p, q, i, has) NXG_SOME_##name((p) + (i), has)
#define ADD_HALF(half)                 y = (half), x = x + y;
#define MUL_HALF(half)                 y = (half), x = x * y;

/* Many runs, of which each is ONE(at). */
#define RUNS(kind, name, T, ONE)                                                               \
  static void runs_##kind##_##name(const void *first, int64_t apart, int64_t count, int64_t n, \
                                   void *results) {                                            \
    const char *at = first;                                                                    \
    T *to = results;                                                                           \
    for (int64_t i = 0; i < count; i++, at += apart) to[i] = ONE;                              \
  }
#define FOLDS(kind, name, T, V, W, combination, JOIN_HALF)            \
  RUN(kind, name, T, V, W, PLAIN, SOME_PLAIN, combination, JOIN_HALF) \
  RUNS(kind, name, T, kind##_run_##name(at, at, n))

/* The best of numbers does not depend on the order in which they are compared: all vectors of a run
 * are, two at a time. A zero has the sign that is the better one of all elements' signs, since no
 * element is better than a zero then. A run with a NaN is done again in order. */
#define BEST_RUN(kind, name, T, V, W, U, BEST, SIGNS, JOIN_HALF)           \
  static inline T best_##kind##_##name(const void *first, int64_t n) {     \
    enum { STEP = sizeof(V) / sizeof(T) };                                 \
    const T *p = first;                                                    \
    V x = AT(V, p, 0), y = AT(V, p, n - STEP), one = x, two = y;           \
    W signs = SIGNS((W)x, (W)y);                                           \
    int64_t k = STEP;                                                      \
    nxg_odd_##name odd = {0};                                              \
    NXG_NOTE_ODD_##name(odd, x, y);                                        \
    for (; k + 2 * STEP <= n; k += 2 * STEP) {                             \
      x = AT(V, p, k), y = AT(V, p, k + STEP);                             \
      one = BEST(one, x), two = BEST(two, y);                              \
      signs = SIGNS(signs, SIGNS((W)x, (W)y));                             \
      NXG_NOTE_ODD_##name(odd, x, y);                                      \
    }                                                                      \
    if (k + STEP <= n) {                                                   \
      x = AT(V, p, k), one = BEST(one, x);                                 \
      signs = SIGNS(signs, (W)x);                                          \
      NXG_NOTE_ODD_##name(odd, x, x);                                      \
    }                                                                      \
    if (NXG_IS_ODD_##name(odd)) return kind##_run_##name(first, first, n); \
    x = BEST(one, two);                                                    \
    NXG_HALVES_##name(JOIN_HALF);                                          \
    if (x[0] != 0) return x[0];                                            \
    U sign = signs[0];                                                     \
    for (int l = 1; l < STEP; l++) sign = SIGNS(sign, signs[l]);           \
    return sign >> (8 * sizeof sign - 1) ? -(T)0 : (T)0;                   \
  }
#define BOTH(a, b)                         ((a) & (b))
#define EITHER(a, b)                       ((a) | (b))
#define ABOVE_HALF_f32(half)               y = (half), x = NXG_ABOVE_f32(x, y);
#define BELOW_HALF_f32(half)               y = (half), x = NXG_BELOW_f32(x, y);
#define ABOVE_HALF_f64(half)               y = (half), x = NXG_ABOVE_f64(x, y);
#define BELOW_HALF_f64(half)               y = (half), x = NXG_BELOW_f64(x, y);
#define EXACT_HALF(V, W, top, exact, half) y = (half), x = exact(V, W, top, x, y);
#define MAX_HALF_f32(half)                 EXACT_HALF(nxg_f32s, nxg_u32s, 31, NXG_MAX, half)
#define MIN_HALF_f32(half)                 EXACT_HALF(nxg_f32s, nxg_u32s, 31, NXG_MIN, half)
#define MAX_HALF_f64(half)                 EXACT_HALF(nxg_f64s, nxg_u64s, 63, NXG_MAX, half)
#define MIN_HALF_f64(half)                 EXACT_HALF(nxg_f64s, nxg_u64s, 63, NXG_MIN, half)

#define FLOAT_RUNS(name, T, V, W, U, top)                                               \
  FOLDS(sum, name, T, V, W, x + y, ADD_HALF)                                            \
  FOLDS(prod, name, T, V, W, x *y, MUL_HALF)                                            \
  RUN(max, name, T, V, W, PLAIN, SOME_PLAIN, NXG_MAX(V, W, top, x, y), MAX_HALF_##name) \
  RUN(min, name, T, V, W, PLAIN, SOME_PLAIN, NXG_MIN(V, W, top, x, y), MIN_HALF_##name) \
  BEST_RUN(max, name, T, V, W, U, NXG_ABOVE_##name, BOTH, ABOVE_HALF_##name)            \
  BEST_RUN(min, name, T, V, W, U, NXG_BELOW_##name, EITHER, BELOW_HALF_##name)          \
  RUNS(max, name, T, best_max_##name(at, n))                                            \
  RUNS(min, name, T, best_min_##name(at, n))

/* Levels of the tree that the counter marks as full have been written; the analyser does not see
 * that. NOLINTBEGIN(clang-analyzer-core.*) */
FLOAT_RUNS(f32, float, nxg_f32s, nxg_u32s, uint32_t, 31)
FLOAT_RUNS(f64, double, nxg_f64s, nxg_u64s, uint64_t, 63)
/* NOLINTEND(clang-analyzer-core.*) */

nxg_runs *NXG_RUNS(nxk_reduce_kind kind, nx_dtype t) {
  static nxg_runs *const f32[NXK_KINDS] = {[NXK_SUM] = runs_sum_f32,
                                           [NXK_PROD] = runs_prod_f32,
                                           [NXK_MAX] = runs_max_f32,
                                           [NXK_MIN] = runs_min_f32},
                         *const f64[NXK_KINDS] = {[NXK_SUM] = runs_sum_f64,
                                                  [NXK_PROD] = runs_prod_f64,
                                                  [NXK_MAX] = runs_max_f64,
                                                  [NXK_MIN] = runs_min_f64};
  return t == NX_F32 ? f32[kind] : t == NX_F64 ? f64[kind] : NULL;
}

/* ---- sums of products */

#define PRODUCT(V, p, q, i) (AT(V, p, i) * AT(V, q, i))
#define SOME_PRODUCT(name, p, q, i, has) \
  (NXG_SOME_##name((p) + (i), has) * NXG_SOME_##name((q) + (i), has))
#define PRODUCTS(name, T, V, W)                                                              \
  RUN(inner, name, T, V, W, PRODUCT, SOME_PRODUCT, x + y, ADD_HALF)                          \
  static void products_##name(const void *x, const void *rows, int64_t apart, int64_t count, \
                              int64_t n, void *results) {                                    \
    const char *at = rows;                                                                   \
    T *to = results;                                                                         \
    for (int64_t i = 0; i < count; i++, at += apart) to[i] = inner_run_##name(x, at, n);     \
  }
/* As above. NOLINTBEGIN(clang-analyzer-core.*) */
PRODUCTS(f32, float, nxg_f32s, nxg_u32s)
PRODUCTS(f64, double, nxg_f64s, nxg_u64s)
/* NOLINTEND(clang-analyzer-core.*) */

nxg_products *NXG_PRODUCTS(nx_dtype t) {
  return t == NX_F32 ? products_f32 : t == NX_F64 ? products_f64 : NULL;
}

/* ---- rows of elementwise operations. The last vector of a row lies over the one before it. */

#define ROW_FORM(op, form, name, T, V, W, FIRST, SECOND, FIRST_SOME, SECOND_SOME, expression)    \
  static void row_##op##_##form##_##name(void *to, const void *first, int64_t first_apart,       \
                                         const void *second, int64_t second_apart, int64_t rows, \
                                         int64_t n) {                                            \
    enum { STEP = sizeof(V) / sizeof(T) };                                                       \
    const char *p = first, *q = second;                                                          \
    T *out = to;                                                                                 \
    for (; rows > 0; rows--, p += first_apart, q += second_apart, out += n) {                    \
      const T *a = (const T *)(const void *)p, *b = (const T *)(const void *)q;                  \
      int64_t k = 0;                                                                             \
      for (; k + STEP <= n; k += STEP) {                                                         \
        const V x = FIRST(V, name, a, k), y = SECOND(V, name, b, k);                             \
        *(V *)(void *)(out + k) = (expression);                                                  \
      }                                                                                          \
      if (k == n) continue;                                                                      \
      if (n >= STEP) {                                                                           \
        k = n - STEP;                                                                            \
        const V x = FIRST(V, name, a, k), y = SECOND(V, name, b, k);                             \
        *(V *)(void *)(out + k) = (expression);                                                  \
      } else {                                                                                   \
        const W has = HAS(W, name, n, 0);                                                        \
        const V x = FIRST_SOME(V, name, a, has), y = SECOND_SOME(V, name, b, has);               \
        NXG_STORE_SOME_##name(out, has, (expression));                                           \
      }                                                                                          \
    }                                                                                            \
  }
#define EACH(V, name, p, i)        AT(V, p, i)
#define ONE(V, name, p, i)         NXG_ALL_##name(*(p))
#define SOME_EACH(V, name, p, has) NXG_SOME_##name(p, has)
#define SOME_ONE(V, name, p, has)  NXG_ALL_##name(*(p))
#define ROW_FORMS(op, name, T, V, W, expression)                                  \
  ROW_FORM(op, each, name, T, V, W, EACH, EACH, SOME_EACH, SOME_EACH, expression) \
  ROW_FORM(op, first, name, T, V, W, ONE, EACH, SOME_ONE, SOME_EACH, expression)  \
  ROW_FORM(op, second, name, T, V, W, EACH, ONE, SOME_EACH, SOME_ONE, expression)
#define ROW_MAPS(name, T, V, W, top)                      \
  ROW_FORMS(add, name, T, V, W, x + y)                    \
  ROW_FORMS(sub, name, T, V, W, x - y)                    \
  ROW_FORMS(mul, name, T, V, W, x *y)                     \
  ROW_FORMS(div, name, T, V, W, x / y)                    \
  ROW_FORMS(max, name, T, V, W, NXG_MAX(V, W, top, x, y)) \
  ROW_FORMS(min, name, T, V, W, NXG_MIN(V, W, top, x, y))
ROW_MAPS(f32, float, nxg_f32s, nxg_u32s, 31)
ROW_MAPS(f64, double, nxg_f64s, nxg_u64s, 63)

#define ROW_MAP_ROW(op, name)                                 \
  [NXK_##op] = {[NXG_NONE_SINGLE] = row_##op##_each_##name,   \
                [NXG_FIRST_SINGLE] = row_##op##_first_##name, \
                [NXG_SECOND_SINGLE] = row_##op##_second_##name},
#define ROW_MAP_TABLE(name)                                                                       \
  static nxg_row_map *const name[NXK_SCALAR_COUNT][3] = {                                         \
      ROW_MAP_ROW(add, name) ROW_MAP_ROW(sub, name) ROW_MAP_ROW(mul, name) ROW_MAP_ROW(div, name) \
          ROW_MAP_ROW(max, name) ROW_MAP_ROW(min, name)};

nxg_row_map *NXG_ROW_MAPS(nxk_op op, nx_dtype t, nxg_single single) {
  ROW_MAP_TABLE(f32)
  ROW_MAP_TABLE(f64)
  return t == NX_F32 ? f32[op][single] : t == NX_F64 ? f64[op][single] : NULL;
}
