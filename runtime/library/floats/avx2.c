/* SPDX-License-Identifier: ISC */
/* Products of f32 and f64 for AVX2. */
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#include "vectors.h"

/* A mask begins among eight numbers with all bits set, and as many without. */
static inline __m256i lanes_of(int64_t n, int64_t lanes) {
  static const int32_t bits[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256((const __m256i *)(const void *)(bits + (lanes - n) * 8 / lanes));
}

/* Eight numbers that are 2 apart; or 3, which of three vectors have lanes of their own. */
static inline __m256 picked(const float *x, int64_t step) {
  const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8);
  if (step == 2)
    return _mm256_castpd_ps(
        _mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xd8));
  const __m256 all = _mm256_blend_ps(_mm256_blend_ps(a, b, 0x92), _mm256_loadu_ps(x + 16), 0x24);
  return _mm256_permutevar8x32_ps(all, _mm256_setr_epi32(0, 3, 6, 1, 4, 7, 2, 5));
}

/* Eight at a time, as long as a ninth is there behind what is read. */
static inline int64_t pick_f32(const float *x, int64_t step, int64_t n, float *y) {
  const bool picks = step == 2 || step == 3;
  int64_t i = 0;
  for (; picks && i + 8 < n; i += 8) _mm256_storeu_ps(y + i, picked(x + i * step, step));
  return i;
}

#define TABLE(name)            name##_avx2_f32
#define REAL                   float
#define ROWS                   4
#define VECTOR                 __m256
#define LANES                  8
#define MASK                   __m256i
#define MASK_OF(n)             lanes_of(n, 8)
#define LOAD(p)                _mm256_loadu_ps(p)
#define STORE(p, v)            _mm256_storeu_ps(p, v)
#define LOAD_SOME(p, mask)     _mm256_maskload_ps(p, mask)
#define STORE_SOME(p, mask, v) _mm256_maskstore_ps(p, mask, v)
#define ZERO                   _mm256_setzero_ps()
#define SPREAD(x)              _mm256_set1_ps(x)
#define ADD(x, y)              _mm256_add_ps(x, y)
#define MUL(x, y)              _mm256_mul_ps(x, y)
#define DIV(x, y)              _mm256_div_ps(x, y)
#define ROOT(x)                _mm256_sqrt_ps(x)
#define SIGNED(x, y)           _mm256_or_ps(x, _mm256_and_ps(_mm256_set1_ps(-0.0F), y))
#define MAX(x, y)              _mm256_max_ps(x, y)
#define ABS(x)                 _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x)
#define FMA(a, b, sum)         _mm256_fmadd_ps(a, b, sum)
#define TILE                   8
#define TRANSPOSE              transpose_f32
#define PICK                   pick_f32
#include "engine.h"

#define TABLE(name)            name##_avx2_f64
#define REAL                   double
#define ROWS                   4
#define VECTOR                 __m256d
#define LANES                  4
#define MASK                   __m256i
#define MASK_OF(n)             lanes_of(n, 4)
#define LOAD(p)                _mm256_loadu_pd(p)
#define STORE(p, v)            _mm256_storeu_pd(p, v)
#define LOAD_SOME(p, mask)     _mm256_maskload_pd(p, mask)
#define STORE_SOME(p, mask, v) _mm256_maskstore_pd(p, mask, v)
#define ZERO                   _mm256_setzero_pd()
#define SPREAD(x)              _mm256_set1_pd(x)
#define ADD(x, y)              _mm256_add_pd(x, y)
#define MUL(x, y)              _mm256_mul_pd(x, y)
#define DIV(x, y)              _mm256_div_pd(x, y)
#define ROOT(x)                _mm256_sqrt_pd(x)
#define SIGNED(x, y)           _mm256_or_pd(x, _mm256_and_pd(_mm256_set1_pd(-0.0), y))
#define MAX(x, y)              _mm256_max_pd(x, y)
#define ABS(x)                 _mm256_andnot_pd(_mm256_set1_pd(-0.0), x)
#define FMA(a, b, sum)         _mm256_fmadd_pd(a, b, sum)
#define TILE                   4
#define TRANSPOSE              transpose_f64
#define PICK(x, step, n, y)    0
#include "engine.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int nxi_floats_avx2_absent; /* a file is never empty */
#endif
