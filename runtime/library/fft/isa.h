/* SPDX-License-Identifier: ISC */
/* Makes the kernels of one instruction set: included by fft/generic.c, fft/avx2.c and fft/avx512.c,
 * which define ISA (a part of the tables' names), FFT_BYTES (of the widest vectors) and FFT_FMA. */
#include <math.h>
#include <string.h>

#include "kernels.h"
#include "runtime/library/unroll.h"

#define INLINE NXI_INLINE

/* Plain loops, one for all layouts, too where fma is a call: beside it the loops are nothing, and
 * unrolled they take as long to compile as those of AVX2 and of AVX-512 together. */
#if FFT_BYTES == 16 && defined(__x86_64__)
#undef UNROLL
#define UNROLL
#define FFT_PLAIN 1
#elif defined(NXI_PLAIN_LOOPS)
#define FFT_PLAIN 1
#endif
#define JOIN_(a, b, c) a##_##b##x##c
#define JOIN(a, b, c)  JOIN_(a, b, c)
#define NAME(name)     JOIN(name, BITS, WIDTH)

/* ---- stores past the caches, of whole vectors; what is before and after them is copied */
static INLINE void stream_row(char *to, const char *from, int64_t bytes) {
  int64_t at = 0;
#if FFT_FMA && FFT_BYTES >= 32
  at = (int64_t)(-(uintptr_t)to % FFT_BYTES);
  if (at > bytes) at = bytes;
  memcpy(to, from, (size_t)at);
  for (; at + FFT_BYTES <= bytes; at += FFT_BYTES) {
#if FFT_BYTES == 64
    _mm512_stream_si512((void *)(to + at), _mm512_loadu_si512(from + at));
#else
    _mm256_stream_si256((void *)(to + at), _mm256_loadu_si256((const void *)(from + at)));
#endif
  }
#endif
  memcpy(to + at, from + at, (size_t)(bytes - at));
}

static void stream(const nxi_fft_streamed *s) {
  for (int64_t row = 0; row < s->rows; row++)
    stream_row((char *)s->to + row * s->to_pitch, (const char *)s->from + row * s->from_pitch,
               s->bytes);
}

static void stream_end(void) {
#if FFT_FMA && FFT_BYTES >= 32
  _mm_sfence();
#endif
}

/* ---- what is moved meanwhile. A function of its own, since passes keep nothing in registers
 * between vectors; gives the vectors until the next time. */
static void stream_some(nxi_fft_ahead *a) {
  int64_t bytes = a->each - (int64_t)((uintptr_t)a->to % 64); /* ends with a whole line */
  if (bytes > a->bytes) bytes = a->bytes;
  stream_row(a->to, a->results, bytes);
  a->to += bytes;
  a->results += bytes;
  a->bytes -= bytes;
}

static __attribute__((noinline)) int64_t fetch_some(nxi_fft_ahead *a) {
  if (a->bytes) stream_some(a);
  for (int i = 0; i < 2; i++) {
    const char *from = a->from[i];
    int64_t lines = a->left[i] < a->lines[i] ? a->left[i] : a->lines[i];
    a->left[i] -= lines;
    a->from[i] = from + 64 * lines;
    for (; lines > 0; lines--, from += 64) __builtin_prefetch(from);
  }
  return a->every;
}

static INLINE int64_t due_of(const nxi_fft_ahead *a) { return a ? a->due : INT64_MAX; }
static INLINE void stay_due(nxi_fft_ahead *a, int64_t due) {
  if (a) a->due = due;
}

/* ---- f32 */
#define REAL  float
#define BITS  32
#define WIDTH 4
#include "vector.h"
#include "butterfly.h"
#include "pass.h"
#include "halves.h"
#include "narrow.h"
#if FFT_BYTES == 16
#include "move.h"
#endif
#undef WIDTH
#if FFT_BYTES >= 32
#define WIDTH 8
#include "vector.h"
#include "butterfly.h"
#include "pass.h"
#include "halves.h"
#if FFT_BYTES == 32
#include "move.h"
#endif
#undef WIDTH
#endif
#if FFT_BYTES >= 64
#define WIDTH 16
#include "vector.h"
#include "butterfly.h"
#include "pass.h"
#include "halves.h"
#include "move.h"
#undef WIDTH
#endif
#undef REAL
#undef BITS

/* ---- f64 */
#define REAL  double
#define BITS  64
#define WIDTH 2
#include "vector.h"
#include "butterfly.h"
#include "pass.h"
#include "halves.h"
#include "narrow.h"
#if FFT_BYTES == 16
#include "move.h"
#endif
#undef WIDTH
#if FFT_BYTES >= 32
#define WIDTH 4
#include "vector.h"
#include "butterfly.h"
#include "pass.h"
#include "halves.h"
#if FFT_BYTES == 32
#include "move.h"
#endif
#undef WIDTH
#endif
#if FFT_BYTES >= 64
#define WIDTH 8
#include "vector.h"
#include "butterfly.h"
#include "pass.h"
#include "halves.h"
#include "move.h"
#undef WIDTH
#endif

/* ---- the tables, in the order of nxi_fft_radices */
#define WIDE(b, w)                                                                            \
  {pass_1_##b##x##w, pass_2_##b##x##w, pass_3_##b##x##w, pass_4_##b##x##w,  pass_5_##b##x##w, \
   pass_7_##b##x##w, pass_8_##b##x##w, pass_9_##b##x##w, pass_16_##b##x##w, pass_0_##b##x##w}
#define LAST(b, w)                                                                                \
  [2] = last_3_##b##x##w, [4] = last_5_##b##x##w, [5] = last_7_##b##x##w, [6] = last_8_##b##x##w, \
  [7] = last_9_##b##x##w, [8] = last_16_##b##x##w
#define LAST_TO_8(b, w) {LAST(b, w)}
#define LAST_TO_4(b, w) {LAST(b, w), [3] = last_4_##b##x##w}
#define NARROW(b, w)    \
  {NULL,                \
   narrow_2_##b##x##w,  \
   narrow_3_##b##x##w,  \
   narrow_4_##b##x##w,  \
   narrow_5_##b##x##w,  \
   narrow_7_##b##x##w,  \
   narrow_8_##b##x##w,  \
   narrow_9_##b##x##w,  \
   narrow_16_##b##x##w, \
   narrow_0_##b##x##w}
#define MOVES(b, w)                                                                       \
  .stream = stream, .stream_end = stream_end, .gather = gather_##b##x##w,                 \
  .scatter = scatter_##b##x##w, .multiply = multiply_##b##x##w, .split = split_##b##x##w, \
  .join = join_##b##x##w
#define TABLE_(isa, type) nxi_fft_##isa##_##type
#define TABLE(isa, type)  TABLE_(isa, type)

#if FFT_BYTES == 64
#define TABLE_F32(cost)                                                                       \
  {                                                                                           \
    .widths = 3, .width = {16, 8, 4}, .widest_cost = cost,                                    \
    .wide = {WIDE(32, 16), WIDE(32, 8), WIDE(32, 4)},                                         \
    .last = {LAST_TO_8(32, 16), LAST_TO_4(32, 8), LAST_TO_4(32, 4)}, .narrow = NARROW(32, 4), \
    MOVES(32, 16), .split_lanes = {split_lanes_32x16, split_lanes_32x8, split_lanes_32x4},    \
    .join_lanes = {                                                                           \
      join_lanes_32x16,                                                                       \
      join_lanes_32x8,                                                                        \
      join_lanes_32x4                                                                         \
    }                                                                                         \
  }
#define TABLE_F64(cost)                                                                      \
  {                                                                                          \
    .widths = 3, .width = {8, 4, 2}, .widest_cost = cost,                                    \
    .wide = {WIDE(64, 8), WIDE(64, 4), WIDE(64, 2)},                                         \
    .last = {LAST_TO_4(64, 8), LAST_TO_4(64, 4), LAST_TO_4(64, 2)}, .narrow = NARROW(64, 2), \
    MOVES(64, 8), .split_lanes = {split_lanes_64x8, split_lanes_64x4, split_lanes_64x2},     \
    .join_lanes = {                                                                          \
      join_lanes_64x8,                                                                       \
      join_lanes_64x4,                                                                       \
      join_lanes_64x2                                                                        \
    }                                                                                        \
  }
const nxi_fft_kernels TABLE(ISA, f32) = TABLE_F32(4), TABLE(ISA, f64) = TABLE_F64(4),
                                 TABLE(ISA, halves_f32) = TABLE_F32(7),
                                 TABLE(ISA, halves_f64) = TABLE_F64(7);
#elif FFT_BYTES == 32
const nxi_fft_kernels TABLE(ISA, f32) = {
    .widths = 2,
    .width = {8, 4},
    .apart = 8,
    .wide = {WIDE(32, 8), WIDE(32, 4)},
    .last = {LAST_TO_4(32, 8), LAST_TO_4(32, 4)},
    .narrow = NARROW(32, 4),
    MOVES(32, 8),
    .split_lanes = {split_lanes_32x8, split_lanes_32x4},
    .join_lanes = {join_lanes_32x8, join_lanes_32x4},
};
const nxi_fft_kernels TABLE(ISA, f64) = {
    .widths = 2,
    .width = {4, 2},
    .apart = 4,
    .wide = {WIDE(64, 4), WIDE(64, 2)},
    .last = {LAST_TO_4(64, 4), LAST_TO_4(64, 2)},
    .narrow = NARROW(64, 2),
    MOVES(64, 4),
    .split_lanes = {split_lanes_64x4, split_lanes_64x2},
    .join_lanes = {join_lanes_64x4, join_lanes_64x2},
};
#else
const nxi_fft_kernels TABLE(ISA, f32) = {
    .widths = 1,
    .width = {4},
    .wide = {WIDE(32, 4)},
    .last = {LAST_TO_4(32, 4)},
    .narrow = NARROW(32, 4),
    MOVES(32, 4),
    .split_lanes = {split_lanes_32x4},
    .join_lanes = {join_lanes_32x4},
};
const nxi_fft_kernels TABLE(ISA, f64) = {
    .widths = 1,
    .width = {2},
    .wide = {WIDE(64, 2)},
    .last = {LAST_TO_4(64, 2)},
    .narrow = NARROW(64, 2),
    MOVES(64, 2),
    .split_lanes = {split_lanes_64x2},
    .join_lanes = {join_lanes_64x2},
};
#endif
