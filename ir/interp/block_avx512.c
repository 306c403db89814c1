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

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxg_block_no_avx512; /* a file is never empty */
#endif
