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

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxg_block_no_avx2; /* a file is never empty */
#endif
