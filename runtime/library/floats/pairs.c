/* SPDX-License-Identifier: ISC */
/* Products of f32 whose operands are numbers of bf16, by vdpbf16ps. That does two steps of a chain
 * of fma in each lane, first with the upper halves of 32 bits, then with the lower ones, rounds
 * each as fma does, and so gives the bits of the other loops: but for subnormal operands and sums,
 * which it takes for zero. With nonzero operands of at least 2^(s - 127) and 2^(t - 127) every
 * product and so every sum is a multiple of 2^(s + t - 268), and none is subnormal if s + t is 142
 * at least.
 *
 * Operands are read once before anything is written. Reading makes pairs of neighbours along the
 * inner extent, the first of them in the upper half, and finds what lies in the lower halves of the
 * numbers, and the least one. Afterwards a product of pairs is like one of floats, with half the
 * inner extent. A sum that begins at +0 is never -0, so a last number without a neighbour gets 0.
 */
#if defined(__x86_64__)
#include "pairs.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "ir/platform/clock.h"
#include "ir/platform/thread.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx2,fma")
#endif
#include "vectors.h"

/* The assembler knows the instruction wherever the compiler may not. */
static inline __m512 dot(__m512 x, __m512 y, __m512 sum) {
  __asm__("vdpbf16ps %1, %2, %0" : "+v"(sum) : "v"(y), "v"(x));
  return sum;
}

#define TABLE(name)            name##_pairs
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
#define FMA(a, b, sum)         dot(a, b, sum)
#define TILE                   8
#define TRANSPOSE              transpose_f32
#define PICK(x, step, n, y)    0 /* nothing is picked of pairs */
#define PRODUCTS_ALONE
#include "engine.h"

enum {
  SAMPLE = 16,         /* numbers that are looked at first */
  LEAST_DEPTH = 32,    /* of the inner extent: pairs have to be made */
  LEAST_OTHERS = 16,   /* rows, and columns, each of which reads every pair */
  LEAST_SUM = 142,     /* of two exponents, with which no sum is subnormal */
  WIDEST = 48,         /* columns of a strip */
  AHEAD = 8,           /* rows that are fetched before they are paired */
  CHECKED = 256,       /* sums with which the instruction is tried */
  TIMED = 150,         /* steps of chains with which it is timed, */
  TURNS = 5,           /* so often */
  ROOM_OF_A = 4 << 20, /* bytes of the pairs of A; the rest of the room is for those of B */
};

/* What has been seen of an operand, lane by lane. */
typedef struct seen {
  __m512i low, least; /* bits of lower halves; the least magnitude that is not 0 */
} seen;

static inline void look(seen *s, __m512i x) {
  const __m512i size = _mm512_and_si512(x, _mm512_set1_epi32(0x7fffffff));
  s->low = _mm512_or_si512(s->low, x);
  s->least = _mm512_mask_min_epu32(s->least, _mm512_test_epi32_mask(size, size), s->least, size);
}

static bool all_short(const seen *s) {
  return _mm512_test_epi32_mask(s->low, _mm512_set1_epi32(0xffff)) == 0;
}

static int32_t least_exponent(const seen *s) {
  return (int32_t)(_mm512_reduce_min_epu32(s->least) >> 23);
}

static inline __m512i halves_of(__m512i first, __m512i second) {
  const __m512i upper = _mm512_set1_epi32((int32_t)0xffff0000u);
  return _mm512_or_si512(_mm512_and_si512(first, upper), _mm512_srli_epi32(second, 16));
}

/* ---- making pairs */

/* Rows are often a page long, and hardware fetches ahead in a page only. What is behind the last
 * row is fetched in vain, or not at all. */
static inline void fetch(const float *x, int64_t at) {
  __builtin_prefetch((const void *)((uintptr_t)x + (uintptr_t)at * sizeof *x));
}

/* Pairs of neighbours in a row of `depth` numbers; the next row is `ld` apart. */
static NXI_INLINE void pair_along(seen *s, const float *x, int64_t ld, int64_t depth,
                                  uint32_t *to) {
  for (int64_t d = 0; d < depth; d += 16) {
    fetch(x, ld + d);
    const int64_t n = depth - d < 16 ? depth - d : 16;
    const __m512i y = _mm512_maskz_loadu_epi32((__mmask16)((1u << n) - 1), x + d),
                  z = halves_of(y, _mm512_srli_epi64(y, 32));
    look(s, y);
    _mm256_mask_storeu_epi32(to + d / 2, (__mmask8)((1u << (n + 1) / 2) - 1),
                             _mm512_cvtepi64_epi32(z));
  }
}

/* Pairs of two rows of numbers, `ld` apart; the second may be missing. */
static NXI_INLINE void pair_across(seen *s, const float *x, int64_t ld, bool both, int64_t length,
                                   uint32_t *to) {
  const float *y = both ? x + ld : NULL;
  for (int64_t i = 0; i < length; i += 16) {
    fetch(x, AHEAD * ld + i);
    fetch(x, (AHEAD + 1) * ld + i);
    const int64_t n = length - i < 16 ? length - i : 16;
    const __mmask16 mask = (__mmask16)((1u << n) - 1);
    const __m512i first = _mm512_maskz_loadu_epi32(mask, x + i),
                  second = y ? _mm512_maskz_loadu_epi32(mask, y + i) : _mm512_setzero_si512();
    look(s, first);
    look(s, second);
    _mm512_mask_storeu_epi32(to + i, mask, halves_of(first, second));
  }
}

/* A as rows of pairs, `ld` apart, or transposed as rows along A's rows. */
static bool pair_a(const nxi_floats_product *p, int64_t ld, uint32_t *to, seen *s) {
  const float *a = p->a;
  seen own = *s; /* in registers: `to` could be where *s is */
  bool good = true;
  if (p->a_transposed)
    for (int64_t d = 0; d < p->k && good; d += 2, good = all_short(&own))
      pair_across(&own, a + d * p->a_ld, p->a_ld, d + 1 < p->k, p->m, to + d / 2 * ld);
  else
    for (int64_t i = 0; i < p->m && good; i++, good = all_short(&own))
      pair_along(&own, a + i * p->a_ld, p->a_ld, p->k, to + i * ld);
  *s = own;
  return good;
}

/* B as strips of rows of pairs. */
static bool pair_b(const nxi_floats_product *p, int64_t depth, uint32_t *to, seen *s) {
  const float *b = p->b;
  seen own = *s;
  bool good = true;
  for (int64_t d = 0; d < p->k && good; d += 2, good = all_short(&own))
    for (int64_t j = 0, width; j < p->n; j += width) {
      width = nxi_floats_strip_width(&nxi_floats_pairs, p->n - j);
      pair_across(&own, b + d * p->b_ld + j, p->b_ld, d + 1 < p->k, width,
                  to + j * depth + d / 2 * width);
    }
  *s = own;
  return good;
}

/* The same of a B that is stored as columns; lines: room for those of a strip. */
static bool pair_columns(const nxi_floats_product *p, int64_t depth, uint32_t *lines, uint32_t *to,
                         seen *s) {
  const float *b = p->b;
  for (int64_t j = 0, width; j < p->n; j += width) {
    width = nxi_floats_strip_width(&nxi_floats_pairs, p->n - j);
    for (int64_t i = 0; i < width; i++)
      pair_along(s, b + (j + i) * p->b_ld, p->b_ld, p->k, lines + i * depth);
    if (!all_short(s)) return false;
    transpose_pairs(lines, depth, width, depth, to + j * depth);
  }
  return true;
}

/* ---- whether */

/* The chain that two steps of the instruction are, number by number. */
static bool try_instruction(void) {
  uint32_t state = 1, x[16], y[16];
  float sum[16], got[16];
  for (int n = 0; n < CHECKED; n += 16) {
    for (int i = 0; i < 16; i++) {
      uint32_t word[3];
      for (int k = 0; k < 3; k++) word[k] = state = state * 1664525u + 1013904223u;
      x[i] = (word[0] & 0x87ff87ffu) + 0x3c003c00u;
      y[i] = (word[1] & 0x87ff87ffu) + 0x3c003c00u;
      sum[i] = (float)(int32_t)word[2] * 0x1p-40F;
    }
    const __m512 z = dot(_mm512_loadu_ps(x), _mm512_loadu_ps(y), _mm512_loadu_ps(sum));
    _mm512_storeu_ps(got, z);
    for (int i = 0; i < 16; i++) {
      const uint32_t bits[4] = {x[i] & 0xffff0000u, y[i] & 0xffff0000u, x[i] << 16, y[i] << 16};
      float f[4], want;
      memcpy(f, bits, sizeof f);
      want = fmaf(f[2], f[3], fmaf(f[0], f[1], sum[i]));
      if (want != got[i]) return false;
    }
  }
  return true;
}

/* Eight chains that begin at 1 take a step each, in which 1 is added. */
#define STEP(name, i) name " %8, %8, %" #i "\n"
#define STEPS(name)                                                                         \
  __asm__ volatile(STEP(name, 0) STEP(name, 1) STEP(name, 2) STEP(name, 3) STEP(name, 4)    \
                       STEP(name, 5) STEP(name, 6) STEP(name, 7)                            \
                   : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h) \
                   : "v"(one))

/* Nanoseconds of TIMED of them, of pairs or of numbers. */
static int64_t time_of_steps(bool pairs) {
  const __m512 one = _mm512_set1_ps(1);
  __m512 a = one, b = one, c = one, d = one, e = one, f = one, g = one, h = one;
  const int64_t begin = nxi_now_ns();
  for (int i = 0; i < TIMED && pairs; i++) STEPS("vdpbf16ps");
  for (int i = 0; i < TIMED && !pairs; i++) STEPS("vfmadd231ps");
  return nxi_now_ns() - begin;
}
#undef STEP
#undef STEPS

#if defined(__clang__)
#pragma clang attribute pop
#endif

static bool has_instruction;
static void ask_processor(void) {
  __builtin_cpu_init();
  has_instruction = __builtin_cpu_supports("avx512bf16") && try_instruction();
}

static bool instruction_is_quick;
static void measure_instruction(void) {
  int64_t least[2] = {INT64_MAX, INT64_MAX};
  for (int turn = 0; turn < TURNS; turn++)
    for (int pairs = 0; pairs < 2; pairs++) {
      const int64_t time = time_of_steps(pairs);
      if (time < least[pairs]) least[pairs] = time;
    }
  instruction_is_quick = 2 * least[1] < 3 * least[0];
}

bool nxi_floats_pairs_are_quick(void) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_once_run(&once, measure_instruction);
  return instruction_is_quick;
}

/* Whether the first numbers of an operand have empty lower halves; it has so many in a row. */
static bool begins_short(const float *x) {
  uint32_t bits[SAMPLE], low = 0;
  memcpy(bits, x, sizeof bits);
  for (int i = 0; i < SAMPLE; i++) low |= bits[i];
  return (low & 0xffff) == 0;
}

bool nxi_floats_may_be_pairs(const nxi_floats_kernels *f, const nxi_floats_product *p) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  if (f != &nxi_floats_avx512_f32 || p->k < LEAST_DEPTH || p->m < LEAST_OTHERS ||
      p->n < LEAST_OTHERS || !begins_short(p->a) || !begins_short(p->b))
    return false;
  nxi_once_run(&once, ask_processor);
  return has_instruction;
}

/* ---- multiplying */

bool nxi_floats_multiply_pairs(const nxi_floats_product *p, void *room) {
  const int64_t depth = (p->k + 1) / 2, ld = p->a_transposed ? p->m : depth,
                bytes = (int64_t)sizeof(uint32_t);
  uint32_t *a = room, *b = a + ROOM_OF_A / bytes, *lines = b + p->n * depth;
  if ((p->a_transposed ? depth : p->m) * ld * bytes > ROOM_OF_A ||
      (p->n + (p->b_transposed ? WIDEST : 0)) * depth * bytes > NXI_FLOATS_ROOM - ROOM_OF_A)
    return false;
  seen x = {.low = {0}}, y = {.low = {0}};
  memset(&x.least, 0x7f, sizeof x.least);
  y.least = x.least;
  if (!pair_a(p, ld, a, &x) ||
      !(p->b_transposed ? pair_columns(p, depth, lines, b, &y) : pair_b(p, depth, b, &y)))
    return false;
  const int32_t s = least_exponent(&x), t = least_exponent(&y);
  if (s == 0 || t == 0 || s + t < LEAST_SUM) return false;
  nxi_floats_product pairs = *p;
  pairs.k = depth;
  pairs.a = a;
  pairs.a_ld = ld;
  pairs.b_transposed = false;
  nxi_floats_multiply_strips(&nxi_floats_pairs, &pairs, b);
  return true;
}
#else
typedef int nxi_floats_pairs_absent; /* a file is never empty */
#endif
