/* SPDX-License-Identifier: ISC */
/* Sorts many short rows of one length at once. A vector holds one element of each of several
 * rows, and a sorting network of vector minima and maxima sorts all these rows without a branch.
 * Rows are transposed to columns of vectors before, and back afterwards. The network is not
 * stable, but either equal elements have equal bits or no elements are equal, so the result is
 * that of a stable sort.
 *
 * The transposition works within each 16 bytes of the vectors: interleaving the words of the
 * first half of the vectors with those of the second half, log2(words) times, transposes each
 * block of 16 bytes. */
#include <string.h>

#include "core.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Rows are read and written a few bytes of each at a time, a pattern that hardware prefetchers do
 * not recognise. So the next rows and the places of the results are prefetched explicitly. */
static NXI_INLINE void fetch_ahead(const char *next, char *to, int64_t at, int64_t bytes) {
  enum { LINE = 64 };
  for (int64_t i = 0; i < bytes; i += LINE) {
    __builtin_prefetch((const void *)((uintptr_t)next + (uintptr_t)(at + i)), 0);
    __builtin_prefetch((const void *)((uintptr_t)to + (uintptr_t)(at + i)), 1);
  }
}

/* ---- AVX2 */

#define AVX2           __attribute__((target("avx2")))
#define COLUMNS_TARGET AVX2
#define VECTOR         __m256i
#define VECTOR_BYTES   32

#define LOAD_16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define PARTS(row, words, at)                                               \
  _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD_16((row)[0] + (at))), \
                          LOAD_16((row)[words] + (at)), 1)
/* Stores part i in row i * words; rows are `apart` bytes from each other, and `count` rows
 * exist. */
#define STORE_PARTS(v, to, apart, count, words)                                                  \
  do {                                                                                           \
    char *store_to = (to);                                                                       \
    if ((count) > 0) _mm_storeu_si128((__m128i *)(void *)store_to, _mm256_castsi256_si128(v));   \
    if ((count) > (words))                                                                       \
      _mm_storeu_si128((__m128i *)(void *)(store_to + (apart)), _mm256_extracti128_si256(v, 1)); \
  } while (0)

#define PLAIN_EXCHANGE(name, bits)                                   \
  COLUMNS_TARGET static NXI_INLINE void name(VECTOR *a, VECTOR *b) { \
    const VECTOR x = *a, y = *b;                                     \
    *a = MINIMUM(bits)(x, y);                                        \
    *b = MAXIMUM(bits)(x, y);                                        \
  }
#define MINIMUM(bits) _mm256_min_epu##bits
#define MAXIMUM(bits) _mm256_max_epu##bits
PLAIN_EXCHANGE(exchange_16_avx2, 16)
PLAIN_EXCHANGE(exchange_32_avx2, 32)
#undef MINIMUM
#undef MAXIMUM

/* All ones where x > y. */
AVX2 static NXI_INLINE __m256i greater_64(__m256i x, __m256i y) {
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN);
  return _mm256_cmpgt_epi64(_mm256_xor_si256(x, sign), _mm256_xor_si256(y, sign));
}
AVX2 static NXI_INLINE void exchange_64_avx2(__m256i *a, __m256i *b) {
  const __m256i x = *a, y = *b, greater = greater_64(x, y);
  *a = _mm256_blendv_epi8(x, y, greater);
  *b = _mm256_blendv_epi8(y, x, greater);
}
/* Compares keys, then indices. Padding of columns has all bits set in both. */
AVX2 static NXI_INLINE void exchange_pairs_avx2(__m256i *a, __m256i *b) {
  const __m256i x = a[0], y = b[0], i = a[1], j = b[1];
  const __m256i greater = _mm256_or_si256(
      greater_64(x, y), _mm256_and_si256(_mm256_cmpeq_epi64(x, y), greater_64(i, j)));
  a[0] = _mm256_blendv_epi8(x, y, greater);
  b[0] = _mm256_blendv_epi8(y, x, greater);
  a[1] = _mm256_blendv_epi8(i, j, greater);
  b[1] = _mm256_blendv_epi8(j, i, greater);
}

#define WORD        uint16_t
#define SIGNED_WORD int16_t
#define WORD_BYTES  2
#define STEP        1
#define NAME(what)  what##_16_of_avx2
#define EXCHANGE    exchange_16_avx2
#define LOW         _mm256_unpacklo_epi16
#define HIGH        _mm256_unpackhi_epi16
#include "columns.h"
#define WORD        uint32_t
#define SIGNED_WORD int32_t
#define WORD_BYTES  4
#define STEP        1
#define NAME(what)  what##_32_of_avx2
#define EXCHANGE    exchange_32_avx2
#define LOW         _mm256_unpacklo_epi32
#define HIGH        _mm256_unpackhi_epi32
#include "columns.h"
#define WORD        uint64_t
#define SIGNED_WORD int64_t
#define WORD_BYTES  8
#define STEP        1
#define NAME(what)  what##_64_of_avx2
#define EXCHANGE    exchange_64_avx2
#define LOW         _mm256_unpacklo_epi64
#define HIGH        _mm256_unpackhi_epi64
#include "columns.h"
#define WORD        uint64_t
#define SIGNED_WORD int64_t
#define WORD_BYTES  8
#define STEP        2
#define NAME(what)  what##_pairs_of_avx2
#define EXCHANGE    exchange_pairs_avx2
#define LOW         _mm256_unpacklo_epi64
#define HIGH        _mm256_unpackhi_epi64
#include "columns.h"

#undef COLUMNS_TARGET
#undef VECTOR
#undef VECTOR_BYTES
#undef PARTS
#undef STORE_PARTS

/* ---- AVX-512 */

#define AVX512         __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define COLUMNS_TARGET AVX512
#define VECTOR         __m512i
#define VECTOR_BYTES   64

#define PARTS(row, words, at)                                                                 \
  _mm512_inserti32x4(                                                                         \
      _mm512_inserti32x4(_mm512_inserti32x4(_mm512_castsi128_si512(LOAD_16((row)[0] + (at))), \
                                            LOAD_16((row)[words] + (at)), 1),                 \
                         LOAD_16((row)[2 * (words)] + (at)), 2),                              \
      LOAD_16((row)[3 * (words)] + (at)), 3)
#define STORE_PART(v, i, to, apart, count, words) \
  if ((count) > (i) * (words))                    \
    _mm_storeu_si128((__m128i *)(void *)((to) + (i) * (apart)), _mm512_extracti32x4_epi32(v, i));
#define STORE_PARTS(v, to, apart, count, words)     \
  do {                                              \
    char *store_to = (to);                          \
    STORE_PART(v, 0, store_to, apart, count, words) \
    STORE_PART(v, 1, store_to, apart, count, words) \
    STORE_PART(v, 2, store_to, apart, count, words) \
    STORE_PART(v, 3, store_to, apart, count, words) \
  } while (0)

#define MINIMUM(bits) _mm512_min_epu##bits
#define MAXIMUM(bits) _mm512_max_epu##bits
PLAIN_EXCHANGE(exchange_16_avx512, 16)
PLAIN_EXCHANGE(exchange_32_avx512, 32)
PLAIN_EXCHANGE(exchange_64_avx512, 64)
#undef MINIMUM
#undef MAXIMUM

AVX512 static NXI_INLINE void exchange_pairs_avx512(__m512i *a, __m512i *b) {
  const __m512i x = a[0], y = b[0], i = a[1], j = b[1];
  const __mmask8 greater =
      (__mmask8)(_mm512_cmpgt_epu64_mask(x, y) |
                 _mm512_mask_cmpgt_epu64_mask(_mm512_cmpeq_epu64_mask(x, y), i, j));
  a[0] = _mm512_min_epu64(x, y);
  b[0] = _mm512_max_epu64(x, y);
  a[1] = _mm512_mask_blend_epi64(greater, i, j);
  b[1] = _mm512_mask_blend_epi64(greater, j, i);
}

#define WORD        uint16_t
#define SIGNED_WORD int16_t
#define WORD_BYTES  2
#define STEP        1
#define NAME(what)  what##_16_of_avx512
#define EXCHANGE    exchange_16_avx512
#define LOW         _mm512_unpacklo_epi16
#define HIGH        _mm512_unpackhi_epi16
#include "columns.h"
#define WORD        uint32_t
#define SIGNED_WORD int32_t
#define WORD_BYTES  4
#define STEP        1
#define NAME(what)  what##_32_of_avx512
#define EXCHANGE    exchange_32_avx512
#define LOW         _mm512_unpacklo_epi32
#define HIGH        _mm512_unpackhi_epi32
#include "columns.h"
#define WORD        uint64_t
#define SIGNED_WORD int64_t
#define WORD_BYTES  8
#define STEP        1
#define NAME(what)  what##_64_of_avx512
#define EXCHANGE    exchange_64_avx512
#define LOW         _mm512_unpacklo_epi64
#define HIGH        _mm512_unpackhi_epi64
#include "columns.h"
#define WORD        uint64_t
#define SIGNED_WORD int64_t
#define WORD_BYTES  8
#define STEP        2
#define NAME(what)  what##_pairs_of_avx512
#define EXCHANGE    exchange_pairs_avx512
#define LOW         _mm512_unpacklo_epi64
#define HIGH        _mm512_unpackhi_epi64
#include "columns.h"

/* Packed elements are compared as integers: no two are equal. */
const nxi_sort_columns *nxi_sort_columns_of(nxi_sort_element element) {
  static const nxi_sort_columns *const avx2[] = {&columns_32_of_avx2, &columns_64_of_avx2,
                                                 &columns_64_of_avx2, &columns_pairs_of_avx2,
                                                 &columns_16_of_avx2};
  static const nxi_sort_columns *const avx512[] = {&columns_32_of_avx512, &columns_64_of_avx512,
                                                   &columns_64_of_avx512, &columns_pairs_of_avx512,
                                                   &columns_16_of_avx512};
  if (!nxi_sort_wide()) return NULL;
  return nxi_sort_wider() ? avx512[element] : avx2[element];
}

#else

const nxi_sort_columns *nxi_sort_columns_of(nxi_sort_element element) {
  (void)element;
  return NULL;
}

#endif
