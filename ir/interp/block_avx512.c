/* SPDX-License-Identifier: ISC */
/* The loops over blocks, sums of products, and lanes of reductions, for AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "beside.h"
#include "block.h"
#include "dots.h"

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512bw,avx512dq,prefer-vector-width=512")
#pragma GCC optimize("no-trapping-math") /* comparisons become masks */
/* and selections stay selections: no copies of what follows, one for each outcome */
#pragma GCC optimize("no-thread-jumps", "no-tree-pre")
#endif

#define NXG_LOOPS        nxg_block_avx512
#define NXG_REPEATS      nxg_repeats_avx512
#define NXG_FUNCTIONS    nxg_functions_avx512
#define NXG_VECTOR_BYTES 64
#include "block_functions.h"
#include "block_loops.h"

#define NXG_DOTS nxg_dots_avx512
#include "dot_loops.h"

#define NXG_BESIDES nxg_besides_avx512
#include "beside_loops.h"

#define NXG_LARGER_f32(a, b)  ((nxg_i32s)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define NXG_SMALLER_f32(a, b) ((nxg_i32s)_mm512_min_epi32((__m512i)(a), (__m512i)(b)))
#define NXG_LARGER_f64(a, b)  ((nxg_i64s)_mm512_max_epi64((__m512i)(a), (__m512i)(b)))
#define NXG_SMALLER_f64(a, b) ((nxg_i64s)_mm512_min_epi64((__m512i)(a), (__m512i)(b)))
#define NXG_ROUNDS            nxg_rounds_avx512
#include "round_loops.h"

#define MASK_f32(has)                  _mm512_movepi32_mask((__m512i)(has))
#define MASK_f64(has)                  _mm512_movepi64_mask((__m512i)(has))
#define NXG_SOME_f32(at, has)          ((nxg_f32s)_mm512_maskz_loadu_ps(MASK_f32(has), at))
#define NXG_SOME_f64(at, has)          ((nxg_f64s)_mm512_maskz_loadu_pd(MASK_f64(has), at))
#define NXG_STORE_SOME_f32(at, has, x) _mm512_mask_storeu_ps(at, MASK_f32(has), (__m512)(x))
#define NXG_STORE_SOME_f64(at, has, x) _mm512_mask_storeu_pd(at, MASK_f64(has), (__m512d)(x))
#define NXG_ALL_f32(x)                 ((nxg_f32s)_mm512_set1_ps(x))
#define NXG_ALL_f64(x)                 ((nxg_f64s)_mm512_set1_pd(x))
#define NXG_HALVES_f32(JOIN)                                       \
  JOIN((nxg_f32s)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0x4e)) \
  JOIN((nxg_f32s)_mm512_shuffle_f32x4((__m512)x, (__m512)x, 0xb1)) \
  JOIN((nxg_f32s)_mm512_permute_ps((__m512)x, 0x4e))               \
  JOIN((nxg_f32s)_mm512_movehdup_ps((__m512)x))
#define NXG_HALVES_f64(JOIN)                                         \
  JOIN((nxg_f64s)_mm512_shuffle_f64x2((__m512d)x, (__m512d)x, 0x4e)) \
  JOIN((nxg_f64s)_mm512_shuffle_f64x2((__m512d)x, (__m512d)x, 0xb1)) \
  JOIN((nxg_f64s)_mm512_permute_pd((__m512d)x, 0x55))
#define NXG_ABOVE_f32(x, y) ((nxg_f32s)_mm512_max_ps((__m512)(x), (__m512)(y)))
#define NXG_BELOW_f32(x, y) ((nxg_f32s)_mm512_min_ps((__m512)(x), (__m512)(y)))
#define NXG_ABOVE_f64(x, y) ((nxg_f64s)_mm512_max_pd((__m512d)(x), (__m512d)(y)))
#define NXG_BELOW_f64(x, y) ((nxg_f64s)_mm512_min_pd((__m512d)(x), (__m512d)(y)))
typedef unsigned nxg_odd_f32, nxg_odd_f64;
#define NXG_NOTE_ODD_f32(odd, x, y) \
  odd |= _mm512_cmp_ps_mask((__m512)(x), (__m512)(y), _CMP_UNORD_Q)
#define NXG_NOTE_ODD_f64(odd, x, y) \
  odd |= _mm512_cmp_pd_mask((__m512d)(x), (__m512d)(y), _CMP_UNORD_Q)
#define NXG_IS_ODD_f32(odd) ((odd) != 0)
#define NXG_IS_ODD_f64(odd) ((odd) != 0)
#define NXG_RUNS            nxg_runs_avx512
#define NXG_PRODUCTS        nxg_products_avx512
#define NXG_ROW_MAPS        nxg_row_maps_avx512
#include "lane_loops.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxg_block_no_avx512; /* a file is never empty */
#endif
