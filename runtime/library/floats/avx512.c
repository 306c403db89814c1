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

/* A vector of what is there of `left` numbers. */
static inline __m512 load_left(const float *x, int64_t left) {
  const int64_t n = left < 0 ? 0 : left > 16 ? 16 : left;
  return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), x);
}

static inline int64_t pick_f32(const float *x, int64_t step, int64_t n, float *y) {
  static const int32_t by_2[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
                       by_3[16] = {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0},
                       rest[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29};
  const __m512i two = _mm512_loadu_si512(by_2), three = _mm512_loadu_si512(by_3),
                more = _mm512_loadu_si512(rest);
  for (int64_t i = 0; i < n; i += 16, x += 16 * step, y += 16) {
    const int64_t left = (n - i - 1) * step + 1;
    const __mmask16 some = (__mmask16)((1u << (n - i < 16 ? n - i : 16)) - 1);
    const __m512 a = load_left(x, left), b = load_left(x + 16, left - 16);
    __m512 z = _mm512_permutex2var_ps(a, step == 2 ? two : three, b);
    if (step == 3) z = _mm512_permutex2var_ps(z, more, load_left(x + 32, left - 32));
    _mm512_mask_storeu_ps(y, some, z);
  }
  return n;
}

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
#define MUL(x, y)              _mm512_mul_ps(x, y)
#define DIV(x, y)              _mm512_div_ps(x, y)
#define ROOT(x)                _mm512_sqrt_ps(x)
#define SIGNED(x, y)           _mm512_or_ps(x, _mm512_and_ps(_mm512_set1_ps(-0.0F), y))
#define MAX(x, y)              _mm512_max_ps(x, y)
#define ABS(x)                 _mm512_abs_ps(x)
#define FMA(a, b, sum)         _mm512_fmadd_ps(a, b, sum)
#define TILE                   8
#define TRANSPOSE              transpose_f32
#define PICK                   pick_f32
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
#define MUL(x, y)              _mm512_mul_pd(x, y)
#define DIV(x, y)              _mm512_div_pd(x, y)
#define ROOT(x)                _mm512_sqrt_pd(x)
#define SIGNED(x, y)           _mm512_or_pd(x, _mm512_and_pd(_mm512_set1_pd(-0.0), y))
#define MAX(x, y)              _mm512_max_pd(x, y)
#define ABS(x)                 _mm512_abs_pd(x)
#define FMA(a, b, sum)         _mm512_fmadd_pd(a, b, sum)
#define TILE                   4
#define TRANSPOSE              transpose_f64
#define PICK(x, step, n, y)    0
#include "engine.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_floats_avx512_absent; /* a file is never empty */
#endif
