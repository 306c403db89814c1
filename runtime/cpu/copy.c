/* SPDX-License-Identifier: ISC */
/* Copies of whole arrays, a step of a plan: by all threads, and past the caches where an array does
 * not fit into them beside what it is copied from. Nobody will find its lines there, and a plain
 * store would read each from memory before it is written. */
#include <string.h>

#include "cpu.h"
#include "ir/target.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
  ALONE = 1 << 18, /* bytes that are not worth waking threads for */
  PIECE = 1 << 20, /* bytes of a task */
  LINE = 64
};

typedef struct copying {
  char *to;
  const char *from;
  int64_t bytes;
  bool past; /* the caches */
} copying;

#if defined(__x86_64__)
/* Whole lines of `to` past the caches, what is before and after them plainly. */
static void copy_past(char *to, const char *from, int64_t bytes) {
  int64_t at = (int64_t)(-(uintptr_t)to % LINE);
  memcpy(to, from, (size_t)at);
  for (; at + LINE <= bytes; at += LINE)
    for (int64_t i = at; i < at + LINE; i += 16)
      _mm_stream_si128((__m128i *)(void *)(to + i),
                       _mm_loadu_si128((const __m128i *)(const void *)(from + i)));
  memcpy(to + at, from + at, (size_t)(bytes - at));
  _mm_sfence();
}
#else
static void copy_past(char *to, const char *from, int64_t bytes) {
  memcpy(to, from, (size_t)bytes);
}
#endif

static void copy_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  const copying *c = arg;
  const int64_t first = begin * PIECE, last = end * PIECE < c->bytes ? end * PIECE : c->bytes;
  (void)worker;
  if (c->past) copy_past(c->to + first, c->from + first, last - first);
  else memcpy(c->to + first, c->from + first, (size_t)(last - first));
}

nx_status nxi_copy_run(nxi_pool *pool, const nxi_poll *poll, void *to, const void *from,
                       int64_t bytes) {
  copying c = {.to = to, .from = from, .bytes = bytes};
  const int64_t cache = nxi_target_host()->l3_bytes;
  const bool overlap = c.to < c.from + bytes && c.from < c.to + bytes;
  if (to == from) return NX_OK;
  if (bytes <= ALONE || overlap) return memmove(to, from, (size_t)bytes), NX_OK;
  c.past = cache > 0 && bytes >= cache / 8 * 3;
  return nxi_pool_run_polled(pool, poll, copy_pieces, &c, (bytes - 1) / PIECE + 1, 1);
}
