/* SPDX-License-Identifier: ISC */
/* From elements to sort keys and back. The key of a float is its bits, with the sign bit
 * inverted if it is positive and all bits inverted if it is negative. Both zeros have the same
 * key, and all NaNs have the highest. Comparisons are written as shifts and subtractions of
 * bits, and chunks have a fixed size, so that compilers vectorise the loops. */
#include <string.h>

#include "ir/dtype.h"
#include "core.h"

enum { CHUNK = 16 };

void nxi_sort_keys_init(nxi_sort_keys *keys, nx_dtype part, bool descending) {
  const int bits = 8 * (int)nxi_dtype_size(part); /* a nibble is a byte here */
  const uint64_t all = UINT64_MAX >> (64 - bits);
  *keys = (nxi_sort_keys){.floats = nxi_is_float(part),
                          .descending = descending,
                          .bytes = (uint8_t)(bits / 8),
                          .magnitude = all >> 1,
                          .nan = all};
  if (keys->floats || nxi_is_signed(part)) keys->sign = all ^ all >> 1;
  switch (part) { /* infinity; e4m3 has none */
    case NX_F8E4M3: keys->largest = 0x7e; break;
    case NX_F8E5M2: keys->largest = 0x7c; break;
    case NX_F16: keys->largest = 0x7c00; break;
    case NX_BF16: keys->largest = 0x7f80; break;
    case NX_F32: keys->largest = 0x7f800000; break;
    default: keys->largest = 0x7ff0000000000000; break;
  }
  keys->flip = (descending ? all : 0) ^ (keys->floats ? 0 : keys->sign);
}

/* What a number of N bits has for a key. */
#define NUMBERS(N)                                                                           \
  typedef uint##N##_t __attribute__((may_alias)) number_##N;                                 \
  /* All ones for a NaN; for a zero of either sign. */                                       \
  static SORT_INLINE uint##N##_t is_nan_##N(const nxi_sort_keys *k, uint##N##_t magnitude) { \
    return (uint##N##_t) -                                                                   \
           (uint##N##_t)((uint##N##_t)((uint##N##_t)k->largest - magnitude) >> (N - 1));     \
  }                                                                                          \
  static SORT_INLINE uint##N##_t is_zero_##N(uint##N##_t magnitude) {                        \
    return (uint##N##_t) - (uint##N##_t)((uint##N##_t)(magnitude - 1) >> (N - 1));           \
  }                                                                                          \
  static SORT_INLINE uint##N##_t float_key_##N(const nxi_sort_keys *k, uint##N##_t x,        \
                                               uint##N##_t *found) {                         \
    const uint##N##_t sign = (uint##N##_t)k->sign, flip = (uint##N##_t)k->flip;              \
    const uint##N##_t magnitude = x & (uint##N##_t)k->magnitude;                             \
    const uint##N##_t nan = is_nan_##N(k, magnitude), zero = is_zero_##N(magnitude);         \
    const uint##N##_t negative = (uint##N##_t) - (uint##N##_t)(x >> (N - 1));                \
    const uint##N##_t key = (x ^ (negative | sign)) & (uint##N##_t) ~zero;                   \
    *found |= (nan & SORT_HAS_NAN) | (zero & negative & SORT_HAS_MINUS_ZERO);                \
    return (uint##N##_t)((key | (sign & zero)) ^ flip) | nan;                                \
  }                                                                                          \
  static SORT_INLINE uint##N##_t float_of_key_##N(const nxi_sort_keys *k, uint##N##_t key) { \
    key ^= (uint##N##_t)k->flip;                                                             \
    const uint##N##_t negative = (uint##N##_t)((uint##N##_t)(key >> (N - 1)) - 1);           \
    return key ^ (negative | (uint##N##_t)k->sign);                                          \
  }
NUMBERS(8)
NUMBERS(16)
NUMBERS(32)
NUMBERS(64)

/* Numbers of N bits to elements: `element` says how, from `key` and `index`. A chunk is made in
 * memory of its own, so that it need not be asked whether operand and elements overlap. */
#define ENCODE_CHUNK(N, element, key_of)           \
  for (int i = 0; i < CHUNK; i++) {                \
    const uint##N##_t x = from[i];                 \
    const uint##N##_t key = (uint##N##_t)(key_of); \
    const uint64_t index = first + (uint64_t)i;    \
    (void)index;                                   \
    made[i] = element;                             \
  }
#define ENCODER(name, N, type, element)                                                            \
  static SORT_INLINE void encode_chunk_##name(const nxi_sort_keys *k, const number_##N *from,      \
                                              uint64_t first, type *made, uint##N##_t *found) {    \
    if (k->floats) {                                                                               \
      ENCODE_CHUNK(N, element, float_key_##N(k, x, &found[i]))                                     \
    } else {                                                                                       \
      ENCODE_CHUNK(N, element, x ^ k->flip)                                                        \
    }                                                                                              \
  }                                                                                                \
  static SORT_INLINE void encode_any_##name(const nxi_sort_keys *keys,                             \
                                            const nxi_sort_stretch *row, int64_t begin, int64_t n, \
                                            void *elements, unsigned *found) {                     \
    const nxi_sort_keys k = *keys;                                                                 \
    const int64_t stride = row->from_stride;                                                       \
    const char *from = row->from + begin * stride;                                                 \
    type *to = elements, made[CHUNK];                                                              \
    uint##N##_t some[CHUNK] = {0};                                                                 \
    int64_t i = 0;                                                                                 \
    for (; stride == N / 8 && i + CHUNK <= n; i += CHUNK) {                                        \
      encode_chunk_##name(&k, (const void *)(from + i * (N / 8)), (uint64_t)(begin + i), made,     \
                          some);                                                                   \
      memcpy(to + i, made, sizeof made);                                                           \
    }                                                                                              \
    for (; i < n; i += CHUNK) {                                                                    \
      const int64_t m = n - i < CHUNK ? n - i : CHUNK;                                             \
      number_##N chunk[CHUNK] = {0};                                                               \
      for (int64_t j = 0; j < m; j++) memcpy(&chunk[j], from + (i + j) * stride, N / 8);           \
      encode_chunk_##name(&k, chunk, (uint64_t)(begin + i), made, some);                           \
      memcpy(to + i, made, (size_t)m * sizeof *made);                                              \
    }                                                                                              \
    for (int j = 0; j < CHUNK; j++) *found |= some[j];                                             \
  }                                                                                                \
  SORT_BOTH(encode_##name, encode_any_##name,                                                      \
            (const nxi_sort_keys *k, const nxi_sort_stretch *row, int64_t begin, int64_t n,        \
             void *e, unsigned *found),                                                            \
            (k, row, begin, n, e, found))
ENCODER(8, 8, uint32_t, key)
ENCODER(16, 16, uint32_t, key)
ENCODER(32, 32, uint32_t, key)
ENCODER(64, 64, uint64_t, key)
ENCODER(short_8, 8, uint16_t, key)
ENCODER(short_16, 16, uint16_t, key)
ENCODER(packed_8, 8, uint64_t, (uint64_t)key << 32 | index)
ENCODER(packed_16, 16, uint64_t, (uint64_t)key << 32 | index)
ENCODER(packed_32, 32, uint64_t, (uint64_t)key << 32 | index)
ENCODER(pairs_64, 64, nxi_sort_pair, ((nxi_sort_pair){key, index}))

/* Sorted keys to numbers. */
#define EMITTER(name, N, type)                                                                    \
  static SORT_INLINE void emit_chunk_##name(const nxi_sort_keys *k, const type *from,             \
                                            uint##N##_t *made) {                                  \
    if (k->floats)                                                                                \
      for (int i = 0; i < CHUNK; i++) made[i] = float_of_key_##N(k, (uint##N##_t)from[i]);        \
    else                                                                                          \
      for (int i = 0; i < CHUNK; i++) made[i] = (uint##N##_t)(from[i] ^ k->flip);                 \
  }                                                                                               \
  static SORT_INLINE void emit_any_##name(const nxi_sort_keys *keys, const nxi_sort_stretch *row, \
                                          int64_t begin, int64_t n, const void *elements) {       \
    const nxi_sort_keys k = *keys;                                                                \
    const int64_t stride = row->to_stride;                                                        \
    char *to = row->to + begin * stride;                                                          \
    const type *from = elements;                                                                  \
    uint##N##_t made[CHUNK];                                                                      \
    int64_t i = 0;                                                                                \
    for (; stride == N / 8 && i + CHUNK <= n; i += CHUNK) {                                       \
      emit_chunk_##name(&k, from + i, made);                                                      \
      memcpy(to + i * (N / 8), made, sizeof made);                                                \
    }                                                                                             \
    for (; i < n; i += CHUNK) {                                                                   \
      const int64_t m = n - i < CHUNK ? n - i : CHUNK;                                            \
      type chunk[CHUNK] = {0};                                                                    \
      memcpy(chunk, from + i, (size_t)m * sizeof *chunk);                                         \
      emit_chunk_##name(&k, chunk, made);                                                         \
      for (int64_t j = 0; j < m; j++) memcpy(to + (i + j) * stride, &made[j], N / 8);             \
    }                                                                                             \
  }                                                                                               \
  SORT_BOTH(emit_##name, emit_any_##name,                                                         \
            (const nxi_sort_keys *k, const nxi_sort_stretch *row, int64_t begin, int64_t n,       \
             const void *e),                                                                      \
            (k, row, begin, n, e))
EMITTER(8, 8, uint32_t)
EMITTER(16, 16, uint32_t)
EMITTER(32, 32, uint32_t)
EMITTER(64, 64, uint64_t)
EMITTER(short_8, 8, uint16_t)
EMITTER(short_16, 16, uint16_t)

/* ---- numbers that lie one after the other, and their keys, by vectors
 *
 * Written for a width and its instructions at once: compilers take vectors apart before functions
 * are inlined. The rest of a row goes to the loops above. */

#if defined(__x86_64__)
#define LINES(N, width, name, isa)                                                               \
  typedef uint##N##_t name##_##N __attribute__((vector_size(width), aligned(N / 8), may_alias)); \
  typedef int##N##_t name##_signed_##N __attribute__((vector_size(width)));                      \
  __attribute__((target(isa))) static void encode_##name##_##N(                                  \
      const nxi_sort_keys *k, const nxi_sort_stretch *row, int64_t begin, int64_t n,             \
      void *elements, unsigned *found) {                                                         \
    enum { LANES = 8 * width / N };                                                              \
    const uint##N##_t sign = (uint##N##_t)k->sign, flip = (uint##N##_t)k->flip;                  \
    const int##N##_t magnitude = (int##N##_t)k->magnitude, largest = (int##N##_t)k->largest;     \
    const char *from = row->from + begin * row->from_stride;                                     \
    char *to = elements;                                                                         \
    name##_signed_##N nans = {0}, zeros = {0};                                                   \
    const int64_t lines = row->from_stride == N / 8 ? n / LANES : 0,                             \
                  floats = k->floats ? lines : 0;                                                \
    for (int64_t i = 0; i < floats; i++, from += width, to += width) {                           \
      const name##_##N x = *(const name##_##N *)(const void *)from;                              \
      const name##_signed_##N bits = (name##_signed_##N)x, nan = (bits & magnitude) > largest,   \
                              zero = x == sign;                                                  \
      const name##_##N minus = (name##_##N)zero, key = x ^ ((name##_##N)(bits < 0) | sign);      \
      *(name##_##N *)(void *)to = (((key & ~minus) | (minus & sign)) ^ flip) | (name##_##N)nan;  \
      nans |= nan;                                                                               \
      zeros |= zero;                                                                             \
    }                                                                                            \
    for (int64_t i = floats; i < lines; i++, from += width, to += width)                         \
      *(name##_##N *)(void *)to = *(const name##_##N *)(const void *)from ^ flip;                \
    for (int j = 0; j < LANES; j++)                                                              \
      *found |= (nans[j] ? SORT_HAS_NAN : 0u) | (zeros[j] ? SORT_HAS_MINUS_ZERO : 0u);           \
    if (lines * LANES < n)                                                                       \
      encode_##N##_wide(k, row, begin + lines * LANES, n - lines * LANES, to, found);            \
  }                                                                                              \
  __attribute__((target(isa))) static void emit_##name##_##N(                                    \
      const nxi_sort_keys *k, const nxi_sort_stretch *row, int64_t begin, int64_t n,             \
      const void *elements) {                                                                    \
    enum { LANES = 8 * width / N };                                                              \
    const uint##N##_t sign = (uint##N##_t)k->sign, flip = (uint##N##_t)k->flip;                  \
    const char *from = elements;                                                                 \
    char *to = row->to + begin * row->to_stride;                                                 \
    const int64_t lines = row->to_stride == N / 8 ? n / LANES : 0;                               \
    for (int64_t i = 0; i < lines; i++, from += width, to += width) {                            \
      name##_##N x = *(const name##_##N *)(const void *)from ^ flip;                             \
      if (k->floats) x ^= ~(name##_##N)((name##_signed_##N)x < 0) | sign;                        \
      *(name##_##N *)(void *)to = x;                                                             \
    }                                                                                            \
    if (lines * LANES < n)                                                                       \
      emit_##N##_wide(k, row, begin + lines * LANES, n - lines * LANES, from);                   \
  }
#define LINES_WIDER "avx512f,avx512bw,avx512dq,avx512vl"
LINES(32, 32, wide, "avx2")
LINES(64, 32, wide, "avx2")
LINES(32, 64, wider, LINES_WIDER)
LINES(64, 64, wider, LINES_WIDER)
#define LINES_OF(N, what) \
  (!nxi_sort_wide() ? what##_##N : nxi_sort_wider() ? what##_wider_##N : what##_wide_##N)
#else
#define LINES_OF(N, what) what##_##N
#endif

static void emit_packed_index(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                              int64_t n, const void *elements) {
  const uint64_t *from = elements;
  char *to = row->to + begin * row->to_stride;
  (void)keys;
  for (int64_t i = 0; i < n; i++) {
    const int32_t index = (int32_t)((uint32_t)from[i] - (uint32_t)row->base);
    memcpy(to + i * row->to_stride, &index, sizeof index);
  }
}

static void emit_index(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                       int64_t n, const void *elements) {
  const nxi_sort_pair *from = elements;
  char *to = row->to + begin * row->to_stride;
  (void)keys;
  for (int64_t i = 0; i < n; i++) {
    const int32_t index = (int32_t)(from[i].index - (uint64_t)row->base);
    memcpy(to + i * row->to_stride, &index, sizeof index);
  }
}

/* ---- complex numbers: keys of both parts, all ones if either is NaN. Results are moved from the
 * operand. */

static SORT_INLINE uint64_t c64_key(const nxi_sort_keys *keys, const char *number) {
  uint32_t part[2], found = 0;
  memcpy(part, number, sizeof part);
  const uint64_t re = float_key_32(keys, part[0], &found);
  const uint64_t im = float_key_32(keys, part[1], &found);
  return found & SORT_HAS_NAN ? UINT64_MAX : re << 32 | im;
}

/* 0: of the real part; 1: of the imaginary one. */
static SORT_INLINE uint64_t c128_key(const nxi_sort_keys *keys, const char *number, int which) {
  uint64_t part[2], found = 0, key[2];
  memcpy(part, number, sizeof part);
  for (int i = 0; i < 2; i++) key[i] = float_key_64(keys, part[i], &found);
  return found & SORT_HAS_NAN ? UINT64_MAX : key[which];
}

static void encode_c64(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                       int64_t n, void *elements, unsigned *found) {
  nxi_sort_pair *to = elements;
  (void)found;
  for (int64_t i = begin; i < begin + n; i++)
    *to++ = (nxi_sort_pair){c64_key(keys, row->from + i * row->from_stride), (uint64_t)i};
}

static void encode_c128(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                        int64_t n, void *elements, unsigned *found) {
  nxi_sort_pair *to = elements;
  (void)found;
  for (int64_t i = begin; i < begin + n; i++)
    *to++ = (nxi_sort_pair){c128_key(keys, row->from + i * row->from_stride, 0), (uint64_t)i};
}

static void rekey_c128(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t n,
                       nxi_sort_pair *elements) {
  for (int64_t i = 0; i < n; i++)
    elements[i].key = c128_key(keys, row->from + (int64_t)elements[i].index * row->from_stride, 1);
}

#define MOVER(name, bytes)                                                                       \
  static void emit_##name(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin, \
                          int64_t n, const void *elements) {                                     \
    const nxi_sort_pair *from = elements;                                                        \
    (void)keys;                                                                                  \
    for (int64_t i = 0; i < n; i++)                                                              \
      memcpy(row->to + (begin + i) * row->to_stride,                                             \
             row->from + (int64_t)from[i].index * row->from_stride, bytes);                      \
  }
MOVER(c64, 8)
MOVER(c128, 16)

static void complex_form(nxi_sort_form *form, int bits, bool indices) {
  form->encode = bits == 64 ? encode_c64 : encode_c128;
  form->rekey = bits == 64 ? NULL : rekey_c128;
  form->emit = indices ? emit_index : bits == 64 ? emit_c64 : emit_c128;
  form->element = SORT_PAIRS;
}

static void index_form(nxi_sort_form *form, int bits) {
  const bool wide = nxi_sort_wide();
  form->element = bits == 64 ? SORT_PAIRS : SORT_PACKED;
  form->emit = bits == 64 ? emit_index : emit_packed_index;
  switch (bits) {
    case 8: form->encode = SORT_WIDER(wide, encode_packed_8); break;
    case 16: form->encode = SORT_WIDER(wide, encode_packed_16); break;
    case 32: form->encode = SORT_WIDER(wide, encode_packed_32); break;
    default: form->encode = SORT_WIDER(wide, encode_pairs_64); break;
  }
}

static void number_form(nxi_sort_form *form, int bits) {
  const bool wide = nxi_sort_wide();
  form->element = bits == 64 ? SORT_64 : SORT_32;
  form->in_place = bits >= 32;
  switch (bits) {
    case 8:
      form->encode = SORT_WIDER(wide, encode_8);
      form->emit = SORT_WIDER(wide, emit_8);
      break;
    case 16:
      form->encode = SORT_WIDER(wide, encode_16);
      form->emit = SORT_WIDER(wide, emit_16);
      break;
    case 32:
      form->encode = LINES_OF(32, encode);
      form->emit = LINES_OF(32, emit);
      break;
    default:
      form->encode = LINES_OF(64, encode);
      form->emit = LINES_OF(64, emit);
      break;
  }
}

void nxi_sort_form_of(nxi_sort_form *form, nx_dtype dtype, bool indices) {
  const int bits = 8 * (int)nxi_dtype_size(dtype);
  *form = (nxi_sort_form){0};
  if (nxi_dtype_class(dtype) == NXI_COMPLEX) complex_form(form, bits, indices);
  else if (indices) index_form(form, bits);
  else number_form(form, bits);
  form->engine = nxi_sort_engine_of(form->element);
  if (dtype == NX_F64 && !indices) form->engine = nxi_sort_engine_of_doubles();
  form->size = form->engine->size;
}

void nxi_sort_lanes_form_of(nxi_sort_form *form, nx_dtype dtype, bool indices) {
  const int bits = 8 * (int)nxi_dtype_size(dtype);
  nxi_sort_form_of(form, dtype, indices);
  if (indices || bits > 16 || nxi_dtype_class(dtype) == NXI_COMPLEX) return;
  const bool wide = nxi_sort_wide();
  form->encode = bits == 8 ? SORT_WIDER(wide, encode_short_8) : SORT_WIDER(wide, encode_short_16);
  form->emit = bits == 8 ? SORT_WIDER(wide, emit_short_8) : SORT_WIDER(wide, emit_short_16);
  form->element = SORT_16;
  form->engine = NULL;
  form->size = sizeof(uint16_t);
  form->in_place = bits == 16;
}

/* ---- zeros and NaNs of a sort of floats, of which the keys did not keep the bits */

#define SPECIAL(N)                                                                           \
  static void count_special_##N(const nxi_sort_keys *keys, const char *from, int64_t stride, \
                                int64_t n, int64_t *zeros, int64_t *nans) {                  \
    for (int64_t i = 0; i < n; i++) {                                                        \
      uint##N##_t x;                                                                         \
      memcpy(&x, from + i * stride, sizeof x);                                               \
      x &= (uint##N##_t)keys->magnitude;                                                     \
      *zeros += x == 0;                                                                      \
      *nans += x > (uint##N##_t)keys->largest;                                               \
    }                                                                                        \
  }                                                                                          \
  static void write_special_##N(const nxi_sort_keys *keys, const nxi_sort_stretch *row,      \
                                int64_t begin, int64_t n, int64_t zero, int64_t nan) {       \
    for (int64_t i = begin; i < begin + n; i++) {                                            \
      uint##N##_t x;                                                                         \
      memcpy(&x, row->from + i * row->from_stride, sizeof x);                                \
      const uint##N##_t magnitude = x & (uint##N##_t)keys->magnitude;                        \
      if (magnitude == 0) memcpy(row->to + row->to_stride * zero++, &x, sizeof x);           \
      if (magnitude > (uint##N##_t)keys->largest)                                            \
        memcpy(row->to + row->to_stride * nan++, &x, sizeof x);                              \
    }                                                                                        \
  }                                                                                          \
  static uint64_t key_at_##N(const nxi_sort_keys *keys, const char *number) {                \
    uint##N##_t x, found = 0;                                                                \
    memcpy(&x, number, sizeof x);                                                            \
    return float_key_##N(keys, x, &found);                                                   \
  }
SPECIAL(8)
SPECIAL(16)
SPECIAL(32)
SPECIAL(64)

void nxi_sort_count_special(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                            int64_t n, int64_t *zeros, int64_t *nans) {
  const char *from = row->from + begin * row->from_stride;
  *zeros = *nans = 0;
  switch (keys->bytes) {
    case 1: count_special_8(keys, from, row->from_stride, n, zeros, nans); break;
    case 2: count_special_16(keys, from, row->from_stride, n, zeros, nans); break;
    case 4: count_special_32(keys, from, row->from_stride, n, zeros, nans); break;
    default: count_special_64(keys, from, row->from_stride, n, zeros, nans); break;
  }
}

void nxi_sort_write_special(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t begin,
                            int64_t n, int64_t zero, int64_t nan) {
  switch (keys->bytes) {
    case 1: write_special_8(keys, row, begin, n, zero, nan); break;
    case 2: write_special_16(keys, row, begin, n, zero, nan); break;
    case 4: write_special_32(keys, row, begin, n, zero, nan); break;
    default: write_special_64(keys, row, begin, n, zero, nan); break;
  }
}

static uint64_t key_at(const nxi_sort_keys *keys, const char *number) {
  switch (keys->bytes) {
    case 1: return key_at_8(keys, number);
    case 2: return key_at_16(keys, number);
    case 4: return key_at_32(keys, number);
    default: return key_at_64(keys, number);
  }
}

int64_t nxi_sort_first_zero(const nxi_sort_keys *keys, const nxi_sort_stretch *row, int64_t n) {
  const uint64_t zero = keys->sign ^ keys->flip;
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (key_at(keys, row->to + middle * row->to_stride) < zero) low = middle + 1;
    else high = middle;
  }
  return low;
}

void nxi_sort_mend(const nxi_sort *s, const nxi_sort_stretch *row) {
  int64_t zeros, nans;
  nxi_sort_count_special(&s->keys, row, 0, s->length, &zeros, &nans);
  nxi_sort_write_special(&s->keys, row, 0, s->length, nxi_sort_first_zero(&s->keys, row, s->length),
                         s->length - nans);
}
