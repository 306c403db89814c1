/* SPDX-License-Identifier: ISC */
/* Products of small integers for AVX-512 with VNNI: four bytes, or two words, are multiplied and
 * added to a sum of 32 bits by one instruction, modulo 2^32. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni")
#endif
#include "pack_bytes.h"

/* Some compilers copy the sums around the intrinsic, and spill them. */
static inline __m512i dot_bytes(__m512i sum, __m512i with_sign, __m512i without) {
  __asm__("vpdpbusd %1, %2, %0" : "+v"(sum) : "v"(with_sign), "v"(without));
  return sum;
}
static inline __m512i dot_words(__m512i sum, __m512i a, __m512i b) {
  __asm__("vpdpwssd %1, %2, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

#define TABLE(name)  name##_vnni
#define OF_BYTES     0
#define DOT(s, a, b) dot_words(s, a, b)
#include "vectors_512.h"
#include "engine.h"

#define TABLE(name)  name##_vnni_bytes
#define OF_BYTES     1
#define DOT(s, a, b) dot_bytes(s, a, b)
#include "vectors_512.h"
#include "engine.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_integers_vnni_absent; /* a file is never empty */
#endif
