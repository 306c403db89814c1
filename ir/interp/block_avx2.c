/* SPDX-License-Identifier: ISC */
/* The loops over blocks, sums of products, and lanes of reductions, for AVX2 and FMA. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "beside.h"
#include "block.h"
#include "dots.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#pragma GCC optimize("no-trapping-math") /* comparisons become masks */
/* and selections stay selections: no copies of what follows, one for each outcome */
#pragma GCC optimize("no-thread-jumps", "no-tree-pre")
#endif

#define NXG_LOOPS        nxg_block_avx2
#define NXG_REPEATS      nxg_repeats_avx2
#define NXG_FUNCTIONS    nxg_functions_avx2
#define NXG_VECTOR_BYTES 32
#include "block_functions.h"
#include "block_loops.h"

#define NXG_DOTS nxg_dots_avx2
#include "dot_loops.h"

#define NXG_BESIDES nxg_besides_avx2
#include "beside_loops.h"

#define NXG_LARGER_f32(a, b)  ((nxg_i32s)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define NXG_SMALLER_f32(a, b) ((nxg_i32s)_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define NXG_LARGER_f64(a, b)  NXG_PICK(nxg_i64s, nxg_i64s, (a) > (b), a, b)
#define NXG_SMALLER_f64(a, b) NXG_PICK(nxg_i64s, nxg_i64s, (a) < (b), a, b)
#define NXG_ROUNDS            nxg_rounds_avx2
#include "round_loops.h"

#define NXG_SOME_f32(at, has)          ((nxg_f32s)_mm256_maskload_ps(at, (__m256i)(has)))
#define NXG_SOME_f64(at, has)          ((nxg_f64s)_mm256_maskload_pd(at, (__m256i)(has)))
#define NXG_STORE_SOME_f32(at, has, x) _mm256_maskstore_ps(at, (__m256i)(has), (__m256)(x))
#define NXG_STORE_SOME_f64(at, has, x) _mm256_maskstore_pd(at, (__m256i)(has), (__m256d)(x))
#define NXG_ALL_f32(x)                 ((nxg_f32s)_mm256_set1_ps(x))
#define NXG_ALL_f64(x)                 ((nxg_f64s)_mm256_set1_pd(x))
#define NXG_HALVES_f32(JOIN)                                      \
  JOIN((nxg_f32s)_mm256_permute2f128_ps((__m256)x, (__m256)x, 1)) \
  JOIN((nxg_f32s)_mm256_permute_ps((__m256)x, 0x4e))              \
  JOIN((nxg_f32s)_mm256_movehdup_ps((__m256)x))
#define NXG_HALVES_f64(JOIN)                                        \
  JOIN((nxg_f64s)_mm256_permute2f128_pd((__m256d)x, (__m256d)x, 1)) \
  JOIN((nxg_f64s)_mm256_permute_pd((__m256d)x, 5))
#define NXG_ABOVE_f32(x, y) ((nxg_f32s)_mm256_max_ps((__m256)(x), (__m256)(y)))
#define NXG_BELOW_f32(x, y) ((nxg_f32s)_mm256_min_ps((__m256)(x), (__m256)(y)))
#define NXG_ABOVE_f64(x, y) ((nxg_f64s)_mm256_max_pd((__m256d)(x), (__m256d)(y)))
#define NXG_BELOW_f64(x, y) ((nxg_f64s)_mm256_min_pd((__m256d)(x), (__m256d)(y)))
typedef __m256 nxg_odd_f32;
typedef __m256d nxg_odd_f64;
#define NXG_NOTE_ODD_f32(odd, x, y) \
  odd = _mm256_or_ps(odd, _mm256_cmp_ps((__m256)(x), (__m256)(y), _CMP_UNORD_Q))
#define NXG_NOTE_ODD_f64(odd, x, y) \
  odd = _mm256_or_pd(odd, _mm256_cmp_pd((__m256d)(x), (__m256d)(y), _CMP_UNORD_Q))
#define NXG_IS_ODD_f32(odd) (_mm256_movemask_ps(odd) != 0)
#define NXG_IS_ODD_f64(odd) (_mm256_movemask_pd(odd) != 0)
#define NXG_RUNS            nxg_runs_avx2
#define NXG_PRODUCTS        nxg_products_avx2
#define NXG_ROW_MAPS        nxg_row_maps_avx2
#include "lane_loops.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxg_block_no_avx2; /* a file is never empty */
#endif
