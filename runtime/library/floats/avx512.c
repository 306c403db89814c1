/* SPDX-License-Identifier: ISC */
/* Products of f32 and f64 for AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#endif
#include "vectors.h"

#define TABLE(name)            name##_avx512_f32
#define REAL                   float
#define ROWS                   8
#define VECTOR                 __m512
#define LANES                  16
#define MASK                   __mmask16
#define MASK_OF(n)             (__mmask16)((1u << (n)) - 1)
#define LOAD(p)                _mm512_loadu_ps(p)
#define STORE(p, v)            _mm512_storeu_ps(p, v)
#define LOAD_SOME(p, mask)     _mm512_maskz_loadu_ps(mask, p)
#define STORE_SOME(p, mask, v) _mm512_mask_storeu_ps(p, mask, v)
#define ZERO                   _mm512_setzero_ps()
#define SPREAD(x)              _mm512_set1_ps(x)
#define ADD(x, y)              _mm512_add_ps(x, y)
#define FMA(a, b, sum)         _mm512_fmadd_ps(a, b, sum)
#define TILE                   8
#define TRANSPOSE              transpose_f32
#include "engine.h"

#define TABLE(name)            name##_avx512_f64
#define REAL                   double
#define ROWS                   8
#define VECTOR                 __m512d
#define LANES                  8
#define MASK                   __mmask8
#define MASK_OF(n)             (__mmask8)((1u << (n)) - 1)
#define LOAD(p)                _mm512_loadu_pd(p)
#define STORE(p, v)            _mm512_storeu_pd(p, v)
#define LOAD_SOME(p, mask)     _mm512_maskz_loadu_pd(mask, p)
#define STORE_SOME(p, mask, v) _mm512_mask_storeu_pd(p, mask, v)
#define ZERO                   _mm512_setzero_pd()
#define SPREAD(x)              _mm512_set1_pd(x)
#define ADD(x, y)              _mm512_add_pd(x, y)
#define FMA(a, b, sum)         _mm512_fmadd_pd(a, b, sum)
#define TILE                   4
#define TRANSPOSE              transpose_f64
#include "engine.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_floats_avx512_absent; /* a file is never empty */
#endif
