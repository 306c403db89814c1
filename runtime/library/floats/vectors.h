/* SPDX-License-Identifier: ISC */
/* What both sets of kernels share, for the instruction set of the file that includes it: squares of
 * numbers transposed in registers of 256 bits. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kernels.h"
#include "runtime/library/unroll.h"

/* Eight rows of eight, of which each vector holds four of one row and four of the one that is four
 * further down. */
static inline __m256 halves(const float *upper, const float *lower) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(upper)), _mm_loadu_ps(lower), 1);
}

static inline void transpose_4(const float *x, int64_t ld, float *y, int64_t to) {
  const __m256 r0 = halves(x, x + 4 * ld), r1 = halves(x + ld, x + 5 * ld),
               r2 = halves(x + 2 * ld, x + 6 * ld), r3 = halves(x + 3 * ld, x + 7 * ld),
               a = _mm256_unpacklo_ps(r0, r1), b = _mm256_unpackhi_ps(r0, r1),
               c = _mm256_unpacklo_ps(r2, r3), d = _mm256_unpackhi_ps(r2, r3);
  _mm256_storeu_ps(y, _mm256_shuffle_ps(a, c, 0x44));
  _mm256_storeu_ps(y + to, _mm256_shuffle_ps(a, c, 0xee));
  _mm256_storeu_ps(y + 2 * to, _mm256_shuffle_ps(b, d, 0x44));
  _mm256_storeu_ps(y + 3 * to, _mm256_shuffle_ps(b, d, 0xee));
}

static inline void transpose_f32(const float *x, int64_t ld, float *y, int64_t to) {
  transpose_4(x, ld, y, to);
  transpose_4(x + 4, ld, y + 4 * to, to);
}

static inline void transpose_f64(const double *x, int64_t ld, double *y, int64_t to) {
  const __m256d r0 = _mm256_loadu_pd(x), r1 = _mm256_loadu_pd(x + ld),
                r2 = _mm256_loadu_pd(x + 2 * ld), r3 = _mm256_loadu_pd(x + 3 * ld),
                a = _mm256_unpacklo_pd(r0, r1), b = _mm256_unpackhi_pd(r0, r1),
                c = _mm256_unpacklo_pd(r2, r3), d = _mm256_unpackhi_pd(r2, r3);
  _mm256_storeu_pd(y, _mm256_permute2f128_pd(a, c, 0x20));
  _mm256_storeu_pd(y + to, _mm256_permute2f128_pd(b, d, 0x20));
  _mm256_storeu_pd(y + 2 * to, _mm256_permute2f128_pd(a, c, 0x31));
  _mm256_storeu_pd(y + 3 * to, _mm256_permute2f128_pd(b, d, 0x31));
}
