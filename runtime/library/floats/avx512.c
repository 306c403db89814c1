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

/* A vector of what is there of `left` numbers; lanes that others of `lanes` have keep them. */
static inline __m512 load_left(__m512 others, uint32_t lanes, const float *x, int64_t left) {
  const int64_t n = left < 0 ? 0 : left > 16 ? 16 : left;
  return _mm512_mask_loadu_ps(others, (__mmask16)(lanes & ((1u << n) - 1)), x);
}

/* Of three vectors, 16 numbers that are 3 apart have lanes of their own, so that they become one
 * vector by loads; of two, those that are 2 apart do not. `left`: what is there. */
static inline __m512 picked(const float *x, int64_t step, int64_t left) {
  static const int32_t by_2[16] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
                       by_3[16] = {0, 3, 6, 9, 12, 15, 2, 5, 8, 11, 14, 1, 4, 7, 10, 13};
  const __m512 none = _mm512_setzero_ps(), a = load_left(none, 0xffff, x, left);
  if (step == 2)
    return _mm512_permutex2var_ps(a, _mm512_loadu_si512(by_2),
                                  load_left(none, 0x7fff, x + 16, left - 16));
  const __m512 both = load_left(a, 0x4924, x + 16, left - 16);
  return _mm512_permutexvar_ps(_mm512_loadu_si512(by_3),
                               load_left(both, 0x2492, x + 32, left - 32));
}

static inline int64_t pick_f32(const float *x, int64_t step, int64_t n, float *y) {
  int64_t i = 0;
  if (step != 2 && step != 3) return 0;
  for (; i + 16 <= n; i += 16) _mm512_storeu_ps(y + i, picked(x + i * step, step, 48));
  if (i < n && n > 16) {
    i = n - 16;
    _mm512_storeu_ps(y + i, picked(x + i * step, step, 48));
  } else if (i < n) {
    _mm512_mask_storeu_ps(y, (__mmask16)((1u << n) - 1), picked(x, step, (n - 1) * step + 1));
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
