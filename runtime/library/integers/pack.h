/* SPDX-License-Identifier: ISC */
/* Packing for the kernels of products of small integers, for the instruction set of the file that
 * includes it. Operands are contiguous along the inner extent or across it as a rule: blocks of
 * these are transposed or interleaved by vectors. What is left, and any other stride, is moved
 * element by element. */
#include <string.h>

#include "kernels.h"
#include "runtime/library/unroll.h"

static inline int32_t element(const nxi_integers_source *s, int64_t across, int64_t along) {
  const int64_t at = across * s->across + along * s->along;
  if (s->dtype == NX_I8) return ((const int8_t *)s->base)[at];
  if (s->dtype == NX_U8) return ((const uint8_t *)s->base)[at];
  return ((const int16_t *)s->base)[at];
}

/* Elements begin .. end - 1 of row w; what the operand lacks is 0. */
static void move_words(const nxi_integers_source *s, int32_t width, int64_t w, int64_t begin,
                       int64_t end, int16_t *panel) {
  for (int64_t k = begin; k < end; k++)
    panel[(k / 2 * width + w) * 2 + k % 2] =
        (int16_t)(w < s->width && k < s->depth ? element(s, w, k) : 0);
}

#if defined(__x86_64__)
/* Four rows of four groups become four groups of four rows. */
static inline void transpose(const __m128i row[4], int32_t width, char *to) {
  const __m128i a = _mm_unpacklo_epi32(row[0], row[1]), b = _mm_unpackhi_epi32(row[0], row[1]),
                c = _mm_unpacklo_epi32(row[2], row[3]), d = _mm_unpackhi_epi32(row[2], row[3]);
  _mm_storeu_si128((__m128i *)to, _mm_unpacklo_epi64(a, c));
  _mm_storeu_si128((__m128i *)(to + (int64_t)width * 4), _mm_unpackhi_epi64(a, c));
  _mm_storeu_si128((__m128i *)(to + (int64_t)width * 8), _mm_unpacklo_epi64(b, d));
  _mm_storeu_si128((__m128i *)(to + (int64_t)width * 12), _mm_unpackhi_epi64(b, d));
}

/* Eight neighbouring elements as words. */
static inline __m128i eight_words(const nxi_integers_source *s, int64_t at) {
  if (s->dtype == NX_I16) return _mm_loadu_si128((const void *)((const int16_t *)s->base + at));
  const __m128i x = _mm_loadl_epi64((const void *)((const char *)s->base + at)),
                zero = _mm_setzero_si128();
  return _mm_unpacklo_epi8(x, s->dtype == NX_I8 ? _mm_cmpgt_epi8(zero, x) : zero);
}

/* Each packs some rows from w on, and returns how many elements of the inner extent. */
static int64_t transpose_words(const nxi_integers_source *s, int32_t width, int64_t w,
                               int16_t *panel) {
  int64_t k = 0;
  for (; k + 8 <= s->depth; k += 8) {
    __m128i row[4];
    UNROLL
    for (int i = 0; i < 4; i++) row[i] = eight_words(s, (w + i) * s->across + k);
    transpose(row, width, (char *)panel + (k / 2 * width + w) * 4);
  }
  return k;
}

/* The first `rows`, which are whole vectors. */
static int64_t interleave_words(const nxi_integers_source *s, int32_t width, int64_t rows,
                                int16_t *panel) {
  int64_t k = 0;
  for (; k + 2 <= s->depth; k += 2)
    for (int64_t w = 0; w < rows; w += 8) {
      const __m128i x = eight_words(s, w + k * s->along),
                    y = eight_words(s, w + (k + 1) * s->along);
      __m128i *to = (__m128i *)(void *)(panel + (k / 2 * width + w) * 2);
      _mm_storeu_si128(to, _mm_unpacklo_epi16(x, y));
      _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(x, y));
    }
  return k;
}
#endif

/* How many rows from w on are packed together by vectors, 0: none. */
static inline int64_t rows_together(const nxi_integers_source *s, int64_t w) {
#if defined(__x86_64__)
  if (s->along == 1 && w + 4 <= s->width) return 4;
  if (s->across == 1 && w == 0) return s->width / 8 * 8;
#endif
  return (void)s, (void)w, 0;
}

__attribute__((unused)) static void pack_words(const nxi_integers_source *s, int32_t width,
                                               void *panel) {
  const int64_t padded = (s->depth + 1) / 2 * 2;
  for (int64_t w = 0, rows; w < width; w += rows) {
    int64_t k = 0;
    rows = rows_together(s, w);
#if defined(__x86_64__)
    if (rows > 0 && s->along == 1) k = transpose_words(s, width, w, panel);
    else if (rows > 0) k = interleave_words(s, width, rows, panel);
#endif
    if (rows == 0) rows = 1;
    for (int64_t i = w; i < w + rows; i++) move_words(s, width, i, k, padded, panel);
  }
}
