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

/* ---- stores past the caches, of whole lines; what is before and after them is copied */
static INLINE void stream_line(char *to, const char *from) {
#if FFT_FMA && FFT_BYTES == 64
  _mm512_stream_si512((void *)to, _mm512_loadu_si512(from));
#elif FFT_FMA && FFT_BYTES == 32
  for (int i = 0; i < 64; i += 32)
    _mm256_stream_si256((void *)(to + i), _mm256_loadu_si256((const void *)(from + i)));
#else
  memcpy(to, from, 64);
#endif
}

static void stream(const nxi_fft_streamed *s) {
  for (int64_t row = 0; row < s->rows; row++) {
    char *to = (char *)s->to + row * s->to_pitch;
    const char *from = (const char *)s->from + row * s->from_pitch;
    int64_t at = (int64_t)(-(uintptr_t)to % 64);
    if (at > s->bytes) at = s->bytes;
    memcpy(to, from, (size_t)at);
    for (; at + 64 <= s->bytes; at += 64) stream_line(to + at, from + at);
    memcpy(to + at, from + at, (size_t)(s->bytes - at));
  }
}

static void stream_end(void) {
#if FFT_FMA && FFT_BYTES >= 32
  _mm_sfence();
#endif
}

/* ---- what is moved meanwhile; gives the vectors until the next time */
static INLINE int64_t move_some(nxi_fft_ahead *a) {
  if (a->bytes > 0) {
    const int64_t bytes = a->each < a->bytes ? a->each : a->bytes;
    char *to = a->to;
    const char *from = a->results;
    a->to = to + bytes;
    a->results = from + bytes;
    a->bytes -= bytes;
    for (const char *end = from + bytes; from != end; from += 64, to += 64) stream_line(to, from);
  }
  for (int i = 0; i < 2; i++) {
    const char *from = a->from[i];
    int64_t lines = a->left[i] < a->lines[i] ? a->left[i] : a->lines[i];
    a->left[i] -= lines;
    a->from[i] = from + 64 * lines;
    for (; lines > 0; lines--, from += 64) __builtin_prefetch(from);
  }
  return a->every;
}

/* A function of its own where nothing is kept in registers between vectors. */
static __attribute__((noinline)) int64_t fetch_some(nxi_fft_ahead *a) { return move_some(a); }

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
#include "ends.h"
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
#include "ends.h"
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
#define ENTER(b, w)    \
  {NULL,               \
   enter_2_##b##x##w,  \
   enter_3_##b##x##w,  \
   enter_4_##b##x##w,  \
   enter_5_##b##x##w,  \
   enter_7_##b##x##w,  \
   enter_8_##b##x##w,  \
   enter_9_##b##x##w,  \
   enter_16_##b##x##w, \
   NULL}
#define LEAVE_32 {[2] = leave_3_32x8, [3] = leave_4_32x8, [4] = leave_5_32x8}
#define LEAVE_64                                                                   \
  {[2] = leave_3_64x4, [3] = leave_4_64x4, [4] = leave_5_64x4, [5] = leave_7_64x4, \
   [6] = leave_8_64x4, [7] = leave_9_64x4, [8] = leave_16_64x4}
#define ENDS(b, w, turns)                                                                        \
  .end_width = (turns) ? (w) : 0, .enter_least = unit_##b##x##w, .leave_least = block_##b##x##w, \
  .enter = ENTER(b, w), .leave = LEAVE_##b, .leave_split = leave_split_##b##x##w,                \
  .enter_join = enter_join_##b##x##w
#define TABLE_(isa, type) nxi_fft_##isa##_##type
#define TABLE(isa, type)  TABLE_(isa, type)

/* Steps that transpose have vectors of 32 bytes, of which others than Zen 4 prefer wider ones. */
#if FFT_BYTES == 64
#define TABLE_F32(cost)                                                                       \
  {                                                                                           \
    .widths = 3, .width = {16, 8, 4}, .widest_cost = cost,                                    \
    .wide = {WIDE(32, 16), WIDE(32, 8), WIDE(32, 4)},                                         \
    .last = {LAST_TO_8(32, 16), LAST_TO_4(32, 8), LAST_TO_4(32, 4)}, .narrow = NARROW(32, 4), \
    MOVES(32, 16), ENDS(32, 8, cost > 4),                                                     \
    .split_lanes = {split_lanes_32x16, split_lanes_32x8, split_lanes_32x4}, .join_lanes = {   \
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
    MOVES(64, 8), ENDS(64, 4, cost > 4),                                                     \
    .split_lanes = {split_lanes_64x8, split_lanes_64x4, split_lanes_64x2}, .join_lanes = {   \
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
    ENDS(32, 8, true),
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
    ENDS(64, 4, true),
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
