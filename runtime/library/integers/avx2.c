/* SPDX-License-Identifier: ISC */
/* Products of small integers for AVX2: pairs of words, whose sums cannot saturate. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#include "pack.h"

#define TABLE(name)  name##_avx2
#define OF_BYTES     0
#define ROWS         4
#define VECTORS      2
#define VECTOR       __m256i
#define LANES        8
#define LOAD(p)      _mm256_loadu_si256((const void *)(p))
#define STORE(p, v)  _mm256_storeu_si256((void *)(p), v)
#define SPREAD(x)    _mm256_set1_epi32(x)
#define ADD(x, y)    _mm256_add_epi32(x, y)
#define DOT(s, a, b) _mm256_add_epi32(s, _mm256_madd_epi16(a, b))
#include "engine.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_integers_avx2_absent; /* a file is never empty */
#endif
