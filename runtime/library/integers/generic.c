/* SPDX-License-Identifier: ISC */
/* Products of small integers for processors of which nothing is known: pairs of words, by the
 * vectors that every x86-64 has, or one after the other. */
#if defined(__x86_64__)
#include <emmintrin.h>
#define VECTOR       __m128i
#define LANES        4
#define LOAD(p)      _mm_loadu_si128((const void *)(p))
#define STORE(p, v)  _mm_storeu_si128((void *)(p), v)
#define SPREAD(x)    _mm_set1_epi32(x)
#define ADD(x, y)    _mm_add_epi32(x, y)
#define DOT(s, a, b) _mm_add_epi32(s, _mm_madd_epi16(a, b))
#else
#include <stdint.h>
/* Both words of x and of y, each with its sign; the sum wraps. */
static inline uint32_t dot(uint32_t sum, uint32_t x, uint32_t y) {
  const int32_t low = (int16_t)x * (int16_t)y, high = (int16_t)(x >> 16) * (int16_t)(y >> 16);
  return sum + (uint32_t)low + (uint32_t)high;
}
#define VECTOR       uint32_t
#define LANES        1
#define LOAD(p)      ((uint32_t)*(p))
#define STORE(p, v)  (*(p) = (int32_t)(v))
#define SPREAD(x)    ((uint32_t)(x))
#define ADD(x, y)    ((x) + (y))
#define DOT(s, a, b) dot(s, a, b)
#endif
#include "pack.h"

#define TABLE(name) name##_generic
#define OF_BYTES    0
#define ROWS        4
#define VECTORS     2
#include "engine.h"
