/* SPDX-License-Identifier: ISC */
/* Products of small integers for AVX-512 without VNNI: pairs of words, whose sums cannot
 * saturate. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl")
#endif
#include "pack.h"

#define TABLE(name)  name##_avx512
#define OF_BYTES     0
#define DOT(s, a, b) _mm512_add_epi32(s, _mm512_madd_epi16(a, b))
#include "vectors_512.h"
#include "engine.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_integers_avx512_absent; /* a file is never empty */
#endif
