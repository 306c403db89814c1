/* SPDX-License-Identifier: ISC */
/* Packing of bytes for VNNI. */
#include "pack.h"

static void move_bytes(const nxi_integers_source *s, int32_t width, int64_t w, int64_t begin,
                       int64_t end, int32_t flip, uint8_t *panel) {
  for (int64_t k = begin; k < end; k++)
    panel[(k / 4 * width + w) * 4 + k % 4] =
        (uint8_t)(w < s->width && k < s->depth ? element(s, w, k) ^ flip : 0);
}

static int64_t transpose_bytes(const nxi_integers_source *s, int32_t width, int64_t w, int32_t flip,
                               uint8_t *panel) {
  const __m128i flips = _mm_set1_epi8((char)flip);
  const char *base = (const char *)s->base + w * s->across;
  int64_t k = 0;
  for (; k + 16 <= s->depth; k += 16) {
    __m128i row[4];
    UNROLL
    for (int i = 0; i < 4; i++)
      row[i] = _mm_xor_si128(_mm_loadu_si128((const void *)(base + i * s->across + k)), flips);
    transpose(row, width, (char *)panel + (k / 4 * width + w) * 4);
  }
  return k;
}

/* Four times 32 bytes, of neighbouring rows of the operand, become 32 groups. */
static inline void interleave_32(const char *base, int64_t along, __m512i flips, void *to) {
  __m256i row[4];
  UNROLL
  for (int i = 0; i < 4; i++) row[i] = _mm256_loadu_si256((const void *)(base + i * along));
  const __m256i a = _mm256_unpacklo_epi8(row[0], row[1]), b = _mm256_unpackhi_epi8(row[0], row[1]),
                c = _mm256_unpacklo_epi8(row[2], row[3]), d = _mm256_unpackhi_epi8(row[2], row[3]);
  /* each half of them has four groups, and they are eight groups apart */
  const __m512i low = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_unpacklo_epi16(a, c)),
                                         _mm256_unpackhi_epi16(a, c), 1),
                high = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_unpacklo_epi16(b, d)),
                                          _mm256_unpackhi_epi16(b, d), 1);
  _mm512_storeu_si512(to, _mm512_xor_si512(_mm512_shuffle_i64x2(low, high, 0x88), flips));
  _mm512_storeu_si512((char *)to + 64,
                      _mm512_xor_si512(_mm512_shuffle_i64x2(low, high, 0xdd), flips));
}

static inline void interleave_8(const char *base, int64_t along, __m128i flips, char *to) {
  __m128i row[4];
  UNROLL
  for (int i = 0; i < 4; i++) row[i] = _mm_loadl_epi64((const void *)(base + i * along));
  const __m128i a = _mm_xor_si128(_mm_unpacklo_epi8(row[0], row[1]), flips),
                b = _mm_xor_si128(_mm_unpacklo_epi8(row[2], row[3]), flips);
  _mm_storeu_si128((void *)to, _mm_unpacklo_epi16(a, b));
  _mm_storeu_si128((void *)(to + 16), _mm_unpackhi_epi16(a, b));
}

/* The first `rows`, which are whole vectors. */
static int64_t interleave_bytes(const nxi_integers_source *s, int32_t width, int64_t rows,
                                int32_t flip, uint8_t *panel) {
  const char *base = s->base;
  const __m512i flips = _mm512_set1_epi8((char)flip);
  int64_t k = 0;
  for (; k + 4 <= s->depth; k += 4) {
    int64_t w = 0;
    char *to = (char *)panel + k * width;
    for (; w + 32 <= rows; w += 32)
      interleave_32(base + k * s->along + w, s->along, flips, to + w * 4);
    for (; w < rows; w += 8)
      interleave_8(base + k * s->along + w, s->along, _mm512_castsi512_si128(flips), to + w * 4);
  }
  return k;
}

static void pack_bytes(const nxi_integers_source *s, int32_t width, int32_t flip, void *panel) {
  const int64_t padded = (s->depth + 3) / 4 * 4;
  for (int64_t w = 0, rows; w < width; w += rows) {
    int64_t k = 0;
    rows = rows_together(s, w);
    if (rows > 0 && s->along == 1) k = transpose_bytes(s, width, w, flip, panel);
    else if (rows > 0) k = interleave_bytes(s, width, rows, flip, panel);
    if (rows == 0) rows = 1;
    for (int64_t i = w; i < w + rows; i++) move_bytes(s, width, i, k, padded, flip, panel);
  }
}

/* The sum of each row of a panel of bytes with a sign, times a factor; and of each column of one
 * without, to which a number is added. */
static void sum_rows(const void *panel, int32_t factor, int64_t groups, int32_t *terms) {
  const __m256i *at = panel, ones = _mm256_set1_epi8(1);
  __m256i sum = _mm256_setzero_si256();
  for (int64_t g = 0; g < groups; g++)
    sum = _mm256_dpbusd_epi32(sum, ones, _mm256_loadu_si256(at + g));
  _mm256_storeu_si256((__m256i *)(void *)terms, _mm256_mullo_epi32(sum, _mm256_set1_epi32(factor)));
}

static void sum_columns(const void *panel, int32_t factor, int32_t number, int64_t groups,
                        int32_t *terms) {
  const __m512i *at = panel, ones = _mm512_set1_epi8(1);
  __m512i sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  for (int64_t g = 0; g < 2 * groups; g++)
    sum[g % 2] = _mm512_dpbusd_epi32(sum[g % 2], _mm512_loadu_si512(at + g), ones);
  for (int j = 0; j < 2; j++)
    _mm512_storeu_si512(terms + 16 * j,
                        _mm512_add_epi32(_mm512_mullo_epi32(sum[j], _mm512_set1_epi32(factor)),
                                         _mm512_set1_epi32(number)));
}
