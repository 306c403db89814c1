/* SPDX-License-Identifier: ISC */
/* The limits of rows that move bytes: copies and reads in vectors of each width, written in
 * intrinsics, since what a compiler makes of a loop depends on its flags. The width is that of the
 * library's kernels: of the processor, or of NX_ISA. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "ir/target.h"
#include "runtime/threads.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { PIECE = 1 << 14, HUGE = 2 << 20 }; /* bytes of a task, and of a large page */

/* Moves n bytes, a multiple of 256, between addresses that are multiples of 64. A read returns a
 * number that depends on every byte, so that no load is removed. */
typedef int64_t move_fn(char *to, const char *from, int64_t n);

/* Four vectors a turn: loads before stores, and four sums that do not wait for each other. */
#define MOVES(name, isa, vector, bytes, load, store, stream, zero, add, first)                     \
  __attribute__((target(isa))) static int64_t copy_##name(char *to, const char *from, int64_t n) { \
    for (int64_t k = 0; k < n; k += 4 * (bytes)) {                                                 \
      vector a = load((const void *)(from + k)), b = load((const void *)(from + k + (bytes))),     \
             c = load((const void *)(from + k + 2 * (bytes))),                                     \
             d = load((const void *)(from + k + 3 * (bytes)));                                     \
      store((void *)(to + k), a);                                                                  \
      store((void *)(to + k + (bytes)), b);                                                        \
      store((void *)(to + k + 2 * (bytes)), c);                                                    \
      store((void *)(to + k + 3 * (bytes)), d);                                                    \
    }                                                                                              \
    return 0;                                                                                      \
  }                                                                                                \
  __attribute__((target(isa))) static int64_t past_##name(char *to, const char *from, int64_t n) { \
    for (int64_t k = 0; k < n; k += 4 * (bytes)) {                                                 \
      vector a = load((const void *)(from + k)), b = load((const void *)(from + k + (bytes))),     \
             c = load((const void *)(from + k + 2 * (bytes))),                                     \
             d = load((const void *)(from + k + 3 * (bytes)));                                     \
      stream((void *)(to + k), a);                                                                 \
      stream((void *)(to + k + (bytes)), b);                                                       \
      stream((void *)(to + k + 2 * (bytes)), c);                                                   \
      stream((void *)(to + k + 3 * (bytes)), d);                                                   \
    }                                                                                              \
    _mm_sfence();                                                                                  \
    return 0;                                                                                      \
  }                                                                                                \
  __attribute__((target(isa))) static int64_t read_##name(char *to, const char *from, int64_t n) { \
    vector sum[4] = {zero(), zero(), zero(), zero()};                                              \
    (void)to;                                                                                      \
    for (int64_t k = 0; k < n; k += 4 * (bytes)) {                                                 \
      sum[0] = add(sum[0], load((const void *)(from + k)));                                        \
      sum[1] = add(sum[1], load((const void *)(from + k + (bytes))));                              \
      sum[2] = add(sum[2], load((const void *)(from + k + 2 * (bytes))));                          \
      sum[3] = add(sum[3], load((const void *)(from + k + 3 * (bytes))));                          \
    }                                                                                              \
    return first(add(add(sum[0], sum[1]), add(sum[2], sum[3])));                                   \
  }

#if defined(__x86_64__)
#define FIRST_256(v) _mm_cvtsi128_si64(_mm256_castsi256_si128(v))
#define FIRST_512(v) _mm_cvtsi128_si64(_mm512_castsi512_si128(v))
MOVES(generic, "sse2", __m128i, 16, _mm_load_si128, _mm_store_si128, _mm_stream_si128,
      _mm_setzero_si128, _mm_add_epi64, _mm_cvtsi128_si64)
MOVES(avx2, "avx2", __m256i, 32, _mm256_load_si256, _mm256_store_si256, _mm256_stream_si256,
      _mm256_setzero_si256, _mm256_add_epi64, FIRST_256)
MOVES(avx512, "avx512f", __m512i, 64, _mm512_load_si512, _mm512_store_si512, _mm512_stream_si512,
      _mm512_setzero_si512, _mm512_add_epi64, FIRST_512)
#else
/* Elsewhere the C library's copy, which the system's authors have made for the processor. */
static int64_t copy_generic(char *to, const char *from, int64_t n) {
  memcpy(to, from, (size_t)n);
  return 0;
}
static int64_t read_generic(char *to, const char *from, int64_t n) {
  int64_t sum[8] = {0};
  (void)to;
  for (int64_t k = 0; k < n; k += 64)
    for (int64_t i = 0; i < 8; i++) sum[i] += ((const int64_t *)(const void *)(from + k))[i];
  return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}
#define past_generic copy_generic
#endif

static const struct {
  const char *isa;
  move_fn *moves[3]; /* by bench_traffic_kind */
} widths[] = {
    {"generic", {copy_generic, past_generic, read_generic}},
#if defined(__x86_64__)
    {"avx2", {copy_avx2, past_avx2, read_avx2}},
    {"avx512", {copy_avx512, past_avx512, read_avx512}},
#endif
};

static move_fn *mover(bench_traffic_kind kind) {
  const char *isa = nxi_target_host()->isa;
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (strcmp(widths[i].isa, isa) == 0) return widths[i].moves[kind];
  return widths[0].moves[kind];
}

/* ---- on the threads of the context */

static size_t block_size(int64_t bytes) { return ((size_t)bytes + 2 * HUGE) / HUGE * HUGE; }

static char *big_block(int64_t bytes) {
  size_t size = block_size(bytes);
  char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  madvise(p, size, MADV_HUGEPAGE);
  memset(p, 1, size);
  return p;
}

void bench_traffic_init(bench_traffic *t, nxi_pool *pool, int64_t bytes, bench_traffic_kind kind) {
  *t = (bench_traffic){pool, big_block(bytes), NULL, bytes, kind};
  if (kind != BENCH_READ) t->to = big_block(bytes);
}

void bench_traffic_free(bench_traffic *t) {
  munmap(t->from, block_size(t->bytes));
  if (t->to != NULL) munmap(t->to, block_size(t->bytes));
}

static volatile int64_t sink;

static void move_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  const bench_traffic *t = arg;
  int64_t at = begin * PIECE, stop = end * PIECE < t->bytes ? end * PIECE : (t->bytes + 255) & ~255;
  (void)worker;
  sink = mover(t->kind)(t->to == NULL ? NULL : t->to + at, t->from + at, stop - at);
}

void bench_traffic_run(void *traffic) {
  bench_traffic *t = traffic;
  nxi_pool_run(t->pool, move_pieces, t, (t->bytes + PIECE - 1) / PIECE, 8);
}
