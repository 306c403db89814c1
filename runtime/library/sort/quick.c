/* SPDX-License-Identifier: ISC */
/* The two steps of the quicksort in sort/engine.h, by vector instructions.
 *
 * Partitions: a vector of keys is compared with the bound at once; those up to the bound are moved
 * to its front and stored, then the others likewise. Both stores are whole vectors, whatever they
 * hold: the lanes beyond the wanted ones are written over by the next store, or lie where nothing
 * is yet. One of the two places may be the keys' own, since nothing is stored beyond what was read.
 * So there are no branches that depend on keys.
 *
 * Networks (sort/network.h) sort what is left of eight or sixteen vectors at most. */
#include "core.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Where both stores will be soon is fetched, since hardware follows loads alone. It is a store's
 * place for as long as the other part grows, so most lines are asked for several times. */
enum { AHEAD_BYTES = 512 };
#define FETCH_AHEAD(to) __builtin_prefetch((const char *)(to) + AHEAD_BYTES, 1, 3)

/* What is left when vectors are done: one key at a time. */
#define REST(KEY)            \
  for (; i < n; i++) {       \
    const KEY key = from[i]; \
    to[low] = key;           \
    others[i - low] = key;   \
    low += key <= limit;     \
  }                          \
  return low;

/* ---- AVX2: a table says which lanes come first */

#define AVX2        __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define AVX2_INLINE AVX2 static SORT_INLINE

/* The lane to which lane `b` of 8 moves if the lanes in m come first; and the whole permutation, a
 * byte for each lane of the result. */
#define BELOW(b)    ((1u << (b)) - 1)
#define LANES_IN(m) __builtin_popcount((m) & 0xffu)
#define PLACE(m, b) \
  ((m) >> (b) & 1 ? LANES_IN((m) & BELOW(b)) : LANES_IN(m) + LANES_IN(~(m) & BELOW(b)))
#define MOVED(m, b) ((uint64_t)(b) << 8 * PLACE(m, b))
#define FRONT(m) \
  (MOVED(m, 1) | MOVED(m, 2) | MOVED(m, 3) | MOVED(m, 4) | MOVED(m, 5) | MOVED(m, 6) | MOVED(m, 7)),
#define FRONT_4(m)  FRONT(m) FRONT(m + 1u) FRONT(m + 2u) FRONT(m + 3u)
#define FRONT_16(m) FRONT_4(m) FRONT_4(m + 4u) FRONT_4(m + 8u) FRONT_4(m + 12u)
#define FRONT_64(m) FRONT_16(m) FRONT_16(m + 16u) FRONT_16(m + 32u) FRONT_16(m + 48u)
static const uint64_t fronts[] = {FRONT_64(0u) FRONT_64(64u) FRONT_64(128u) FRONT_64(192u)};

AVX2_INLINE __m256i front_of(__m256i keys, unsigned lanes) {
  const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)&fronts[lanes]);
  return _mm256_permutevar8x32_epi32(keys, _mm256_cvtepu8_epi32(bytes));
}

AVX2_INLINE __m256i load(const void *from) { return _mm256_loadu_si256(from); }
AVX2_INLINE void store(void *to, __m256i v) { _mm256_storeu_si256(to, v); }

AVX2 static int64_t split_32_avx2(const void *keys, int64_t n, uint64_t bound, void *lower,
                                  void *higher) {
  const uint32_t *from = keys, limit = (uint32_t)bound;
  uint32_t *to = lower, *others = higher;
  const __m256i most = _mm256_set1_epi32((int32_t)limit);
  int64_t low = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i v = load(from + i), within = _mm256_cmpeq_epi32(_mm256_min_epu32(v, most), v);
    const unsigned lanes = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(within));
    FETCH_AHEAD(to + low);
    FETCH_AHEAD(others + i - low);
    store(to + low, front_of(v, lanes));
    store(others + i - low, front_of(v, lanes ^ 0xff));
    low += __builtin_popcount(lanes);
  }
  REST(uint32_t)
}

/* A key of 64 bits is two neighbouring lanes of the table. */
AVX2 static int64_t split_64_avx2(const void *keys, int64_t n, uint64_t bound, void *lower,
                                  void *higher) {
  const uint64_t *from = keys, limit = bound;
  uint64_t *to = lower, *others = higher;
  const __m256i sign = _mm256_set1_epi64x(INT64_MIN),
                most = _mm256_xor_si256(_mm256_set1_epi64x((int64_t)limit), sign);
  int64_t low = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    const __m256i v = load(from + i), above = _mm256_cmpgt_epi64(_mm256_xor_si256(v, sign), most);
    const unsigned lanes = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(above));
    FETCH_AHEAD(to + low);
    FETCH_AHEAD(others + i - low);
    store(to + low, front_of(v, lanes ^ 0xff));
    store(others + i - low, front_of(v, lanes));
    low += 4 - __builtin_popcount(lanes) / 2;
  }
  REST(uint64_t)
}

typedef uint32_t words_avx2 __attribute__((vector_size(32)));

/* All ones in the first n lanes. */
AVX2_INLINE __m256i first_avx2(int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)(n > 8 ? 8 : n)), lane);
}
AVX2_INLINE words_avx2 load_32_avx2(const uint32_t *from, int64_t n) {
  const __m256i first = first_avx2(n), all = _mm256_set1_epi32(-1);
  if (n >= 8) return (words_avx2)load(from);
  return (words_avx2)_mm256_or_si256(_mm256_maskload_epi32((const int *)from, first),
                                     _mm256_andnot_si256(first, all));
}
AVX2_INLINE void store_32_avx2(uint32_t *to, words_avx2 v, int64_t n) {
  if (n >= 8) store(to, (__m256i)v);
  else if (n > 0) _mm256_maskstore_epi32((int *)to, first_avx2(n), (__m256i)v);
}
#define X8(x) 0 ^ (x), 1 ^ (x), 2 ^ (x), 3 ^ (x), 4 ^ (x), 5 ^ (x), 6 ^ (x), 7 ^ (x)
AVX2_INLINE words_avx2 mirrored_32_avx2(words_avx2 v, int x) {
  switch (x) {
    case 1: return __builtin_shufflevector(v, v, X8(1));
    case 2: return __builtin_shufflevector(v, v, X8(2));
    case 3: return __builtin_shufflevector(v, v, X8(3));
    case 4: return __builtin_shufflevector(v, v, X8(4));
    default: return __builtin_shufflevector(v, v, X8(7));
  }
}
AVX2_INLINE words_avx2 blended_32_avx2(words_avx2 a, words_avx2 b, int bit) {
  switch (bit) {
    case 1: return (words_avx2)_mm256_blend_epi32((__m256i)a, (__m256i)b, 0xaa);
    case 2: return (words_avx2)_mm256_blend_epi32((__m256i)a, (__m256i)b, 0xcc);
    default: return (words_avx2)_mm256_blend_epi32((__m256i)a, (__m256i)b, 0xf0);
  }
}
AVX2_INLINE words_avx2 ordered_32_avx2(words_avx2 a, words_avx2 b, int bit) {
  return blended_32_avx2((words_avx2)_mm256_min_epu32((__m256i)a, (__m256i)b),
                         (words_avx2)_mm256_max_epu32((__m256i)a, (__m256i)b), bit);
}
#define NETWORK_TARGET AVX2
#define KEY            uint32_t
#define LANES          8
#define VECTOR         words_avx2
#define NAME(what)     what##_32_avx2
#define LEAST(a, b)    (words_avx2) _mm256_min_epu32((__m256i)(a), (__m256i)(b))
#define MOST(a, b)     (words_avx2) _mm256_max_epu32((__m256i)(a), (__m256i)(b))
#define ORDERED        ordered_32_avx2
#define BLENDED        blended_32_avx2
#define MIRRORED       mirrored_32_avx2
#define LOW(a, b)      __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b)     __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOAD           load_32_avx2
#define STORE          store_32_avx2
#include "network.h"
#undef NETWORK_TARGET

/* ---- AVX-512: compressed in a register, since compressing to memory is microcode on AMD. There a
 * table is quicker even so (0.11 and 0.16 ns an element of 32 bits on Zen 5), elsewhere it is not:
 * 16 lanes take as many shuffles as 8 by the table. */

#define AVX512        __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt")))
#define AVX512_INLINE AVX512 static SORT_INLINE
#define SPLIT_AVX512(KEY, bits, LANES, mask)                                                    \
  AVX512 static int64_t split_##bits##_avx512(const void *keys, int64_t n, uint64_t bound,      \
                                              void *lower, void *higher) {                      \
    const KEY *from = keys, limit = (KEY)bound;                                                 \
    KEY *to = lower, *others = higher;                                                          \
    const __m512i most = _mm512_set1_epi##bits((int##bits##_t)limit);                           \
    int64_t low = 0, i = 0;                                                                     \
    for (; i + (LANES) <= n; i += (LANES)) {                                                    \
      const __m512i v = _mm512_loadu_si512(from + i);                                           \
      const mask within = _mm512_cmple_epu##bits##_mask(v, most);                               \
      FETCH_AHEAD(to + low);                                                                    \
      FETCH_AHEAD(others + i - low);                                                            \
      _mm512_storeu_si512(to + low, _mm512_maskz_compress_epi##bits(within, v));                \
      _mm512_storeu_si512(others + i - low, _mm512_maskz_compress_epi##bits((mask)~within, v)); \
      low += __builtin_popcount(within);                                                        \
    }                                                                                           \
    REST(KEY)                                                                                   \
  }
SPLIT_AVX512(uint32_t, 32, 16, __mmask16)
SPLIT_AVX512(uint64_t, 64, 8, __mmask8)

#define SCAN_AVX512(KEY, bits, LANES, mask)                                                     \
  AVX512 static void scan_##bits##_avx512(const void *keys, int64_t n, nxi_sort_range *range) { \
    const KEY *a = keys;                                                                        \
    const __m512i one = _mm512_set1_epi##bits(1);                                               \
    __m512i least = _mm512_set1_epi##bits((int##bits##_t)a[0]), most = least, lower = {0};      \
    for (int64_t i = 1; i < n; i += (LANES)) {                                                  \
      const mask all = (mask)(n - i < (LANES) ? (1u << (n - i)) - 1 : (1u << (LANES)) - 1);     \
      const __m512i v = _mm512_maskz_loadu_epi##bits(all, a + i),                               \
                    before = _mm512_maskz_loadu_epi##bits(all, a + i - 1);                      \
      const mask below = _mm512_cmplt_epu##bits##_mask(v, before);                              \
      least = _mm512_mask_min_epu##bits(least, all, least, v);                                  \
      most = _mm512_max_epu##bits(most, v);                                                     \
      lower = _mm512_mask_add_epi##bits(lower, below, lower, one);                              \
    }                                                                                           \
    *range = (nxi_sort_range){.least = (KEY)_mm512_reduce_min_epu##bits(least),                 \
                              .most = (KEY)_mm512_reduce_max_epu##bits(most),                   \
                              .first = a[0],                                                    \
                              .last = a[n - 1],                                                 \
                              .descents = (KEY)_mm512_reduce_add_epi##bits(lower)};             \
  }
SCAN_AVX512(uint32_t, 32, 16, __mmask16)
SCAN_AVX512(uint64_t, 64, 8, __mmask8)

#undef X8
#define X8(x, at)                                                                             \
  (at) ^ (x), (at + 1) ^ (x), (at + 2) ^ (x), (at + 3) ^ (x), (at + 4) ^ (x), (at + 5) ^ (x), \
      (at + 6) ^ (x), (at + 7) ^ (x)
#define X16(x) X8(x, 0), X8(x, 8)
/* LANES_WITH(bit): those whose numbers have the bit, as a mask. */
#define LANES_WITH(bit) ((bit) == 1 ? 0xaaaa : (bit) == 2 ? 0xcccc : (bit) == 4 ? 0xf0f0 : 0xff00)
#define VECTORS_AVX512(vector, KEY, bits, LANES, mask)                                             \
  typedef KEY vector __attribute__((vector_size(64)));                                             \
  AVX512_INLINE mask first_##vector(int64_t n) {                                                   \
    return (mask)(n >= (LANES) ? (1u << (LANES)) - 1 : n > 0 ? (1u << n) - 1 : 0);                 \
  }                                                                                                \
  AVX512_INLINE vector load_##vector(const KEY *from, int64_t n) {                                 \
    return (vector)_mm512_mask_loadu_epi##bits(_mm512_set1_epi32(-1), first_##vector(n), from);    \
  }                                                                                                \
  AVX512_INLINE void store_##vector(KEY *to, vector v, int64_t n) {                                \
    _mm512_mask_storeu_epi##bits(to, first_##vector(n), (__m512i)v);                               \
  }                                                                                                \
  AVX512_INLINE vector blended_##vector(vector a, vector b, int bit) {                             \
    return (vector)_mm512_mask_blend_epi##bits((mask)LANES_WITH(bit), (__m512i)a, (__m512i)b);     \
  }                                                                                                \
  /* Intel's processors find the least and the most of 64 bytes in one of two pipes alone. */      \
  AVX512_INLINE void exchange_##vector(vector *a, vector *b) {                                     \
    const __m512i x = (__m512i)(*a), y = (__m512i)(*b);                                            \
    const mask ordered = _mm512_cmple_epu##bits##_mask(x, y);                                      \
    *a = (vector)_mm512_mask_blend_epi##bits(ordered, y, x);                                       \
    *b = (vector)_mm512_mask_blend_epi##bits(ordered, x, y);                                       \
  }                                                                                                \
  AVX512_INLINE vector ordered_##vector(vector a, vector b, int bit) {                             \
    const __m512i x = (__m512i)a, y = (__m512i)b;                                                  \
    return (vector)_mm512_mask_max_epu##bits(_mm512_min_epu##bits(x, y), (mask)LANES_WITH(bit), x, \
                                             y);                                                   \
  }
VECTORS_AVX512(words_avx512, uint32_t, 32, 16, __mmask16)
VECTORS_AVX512(longs_avx512, uint64_t, 64, 8, __mmask8)

AVX512_INLINE words_avx512 mirrored_words_avx512(words_avx512 v, int x) {
  switch (x) {
    case 1: return __builtin_shufflevector(v, v, X16(1));
    case 2: return __builtin_shufflevector(v, v, X16(2));
    case 3: return __builtin_shufflevector(v, v, X16(3));
    case 4: return __builtin_shufflevector(v, v, X16(4));
    case 7: return __builtin_shufflevector(v, v, X16(7));
    case 8: return __builtin_shufflevector(v, v, X16(8));
    default: return __builtin_shufflevector(v, v, X16(15));
  }
}
AVX512_INLINE longs_avx512 mirrored_longs_avx512(longs_avx512 v, int x) {
  switch (x) {
    case 1: return __builtin_shufflevector(v, v, X8(1, 0));
    case 2: return __builtin_shufflevector(v, v, X8(2, 0));
    case 3: return __builtin_shufflevector(v, v, X8(3, 0));
    case 4: return __builtin_shufflevector(v, v, X8(4, 0));
    default: return __builtin_shufflevector(v, v, X8(7, 0));
  }
}

#define NETWORK_TARGET AVX512
#define KEY            uint32_t
#define LANES          16
#define VECTOR         words_avx512
#define NAME(what)     what##_32_avx512
#define LEAST(a, b)    (words_avx512) _mm512_min_epu32((__m512i)(a), (__m512i)(b))
#define MOST(a, b)     (words_avx512) _mm512_max_epu32((__m512i)(a), (__m512i)(b))
#define ORDERED        ordered_words_avx512
#define BLENDED        blended_words_avx512
#define EXCHANGE_TOO   exchange_words_avx512
#define MIRRORED       mirrored_words_avx512
#define LOW(a, b) \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOAD  load_words_avx512
#define STORE store_words_avx512
#include "network.h"

#define KEY          uint64_t
#define LANES        8
#define VECTOR       longs_avx512
#define NAME(what)   what##_64_avx512
#define LEAST(a, b)  (longs_avx512) _mm512_min_epu64((__m512i)(a), (__m512i)(b))
#define MOST(a, b)   (longs_avx512) _mm512_max_epu64((__m512i)(a), (__m512i)(b))
#define ORDERED      ordered_longs_avx512
#define BLENDED      blended_longs_avx512
#define EXCHANGE_TOO exchange_longs_avx512
#define MIRRORED     mirrored_longs_avx512
#define LOW(a, b)    __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b)   __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOAD         load_longs_avx512
#define STORE        store_longs_avx512
#include "network.h"

/* ---- keys of f64 as the numbers themselves, of which processors find the least and the most in
 * half the time. No key is that of -0; NaNs become infinite, since they could not be compared. */

typedef double doubles_avx512 __attribute__((vector_size(64)));

AVX512_INLINE doubles_avx512 load_doubles_avx512(const uint64_t *from, int64_t n) {
  const __m512i sign = _mm512_set1_epi64(INT64_MIN), infinity = _mm512_set1_epi64(-(1ll << 52)),
                keys = _mm512_min_epu64((__m512i)load_longs_avx512(from, n), infinity);
  return (doubles_avx512)(keys ^ (~_mm512_srai_epi64(keys, 63) | sign));
}
AVX512_INLINE void store_doubles_avx512(uint64_t *to, doubles_avx512 v, int64_t n) {
  const __m512i sign = _mm512_set1_epi64(INT64_MIN), bits = (__m512i)v;
  store_longs_avx512(to, (longs_avx512)(bits ^ (_mm512_srai_epi64(bits, 63) | sign)), n);
}
AVX512_INLINE doubles_avx512 blended_doubles_avx512(doubles_avx512 a, doubles_avx512 b, int bit) {
  return (doubles_avx512)blended_longs_avx512((longs_avx512)a, (longs_avx512)b, bit);
}
AVX512_INLINE doubles_avx512 ordered_doubles_avx512(doubles_avx512 a, doubles_avx512 b, int bit) {
  const __m512d x = (__m512d)a, y = (__m512d)b;
  return (doubles_avx512)_mm512_mask_max_pd(_mm512_min_pd(x, y), (__mmask8)LANES_WITH(bit), x, y);
}
AVX512_INLINE doubles_avx512 mirrored_doubles_avx512(doubles_avx512 v, int x) {
  return (doubles_avx512)mirrored_longs_avx512((longs_avx512)v, x);
}
#define KEY          uint64_t
#define LANES        8
#define VECTOR       doubles_avx512
#define NAME(what)   what##_doubles_avx512
#define LEAST(a, b)  (doubles_avx512) _mm512_min_pd((__m512d)(a), (__m512d)(b))
#define MOST(a, b)   (doubles_avx512) _mm512_max_pd((__m512d)(a), (__m512d)(b))
#define ORDERED      ordered_doubles_avx512
#define BLENDED      blended_doubles_avx512
#define EXCHANGE_TOO NAME(exchange)
#define MIRRORED     mirrored_doubles_avx512
#define LOW(a, b)    __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH(a, b)   __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOAD         load_doubles_avx512
#define STORE        store_doubles_avx512
#include "network.h"
#undef NETWORK_TARGET

const nxi_sort_quick *nxi_sort_quick_of_doubles(void) {
  static const nxi_sort_quick wider = {split_64_avx512, wide_network_doubles_avx512, scan_64_avx512,
                                       128, INT64_MAX};
  const bool has = nxi_sort_wide() && nxi_sort_wider() && nxi_sort_compresses() == SORT_COMPRESSES;
  return has ? &wider : nxi_sort_quick_of(64);
}

const nxi_sort_quick *nxi_sort_quick_of(int bits) {
  static const nxi_sort_quick
      words = {split_32_avx2, network_32_avx2, NULL, 64, INT64_MAX},
      table_words = {split_32_avx2, network_32_avx512, scan_32_avx512, 128, INT64_MAX},
      table_longs = {split_64_avx2, network_64_avx512, scan_64_avx512, 64, 1 << 11},
      wider_words = {split_32_avx512, wide_network_32_avx512, scan_32_avx512, 256, INT64_MAX},
      wider_longs = {split_64_avx512, wide_network_64_avx512, scan_64_avx512, 128, INT64_MAX},
      few_longs = {split_64_avx512, wide_network_64_avx512, scan_64_avx512, 128, 1 << 11};
  if (!nxi_sort_wide()) return NULL;
  if (!nxi_sort_wider()) return bits == 32 ? &words : NULL;
  const nxi_sort_compressing how = nxi_sort_compresses();
  if (how == SORT_TABLE) return bits == 32 ? &table_words : &table_longs;
  return bits == 32 ? &wider_words : how == SORT_COMPRESSES ? &wider_longs : &few_longs;
}

#else

const nxi_sort_quick *nxi_sort_quick_of(int bits) { return (void)bits, NULL; }
const nxi_sort_quick *nxi_sort_quick_of_doubles(void) { return NULL; }

#endif
