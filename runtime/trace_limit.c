/* SPDX-License-Identifier: ISC */
/* The limit that a trace compares with: how fast memcpy moves as many bytes, divided among the same
 * threads. Half of the bytes are read and half are written; memcpy writes around the caches where
 * that is quicker. Measured for powers of two, since caches are quicker than memory. */
#include <stdatomic.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "runtime/threads.h"
#include "runtime/trace.h"

enum { LOWEST = 14, SIZES = 13, KEPT = 8, PIECE = 1 << 17, ROUNDS = 3 };

typedef struct limit {
  int32_t threads;
  double speeds[SIZES]; /* GB/s of copies that move 1 << (LOWEST + i) bytes */
} limit;

static limit limits[KEPT];
static _Atomic uint32_t n_limits; /* those before it do not change any more */
static _Atomic bool measuring;    /* one thread at a time; others go on without */

typedef struct copy {
  char *to;
  const char *from;
  int64_t bytes;
} copy;

static void copy_pieces(void *arg, int worker, int64_t begin, int64_t end) {
  const copy *c = arg;
  int64_t first = begin * PIECE, last = end * PIECE < c->bytes ? end * PIECE : c->bytes;
  (void)worker;
  memcpy(c->to + first, c->from + first, (size_t)(last - first));
}

/* The quickest of some rounds, each long enough for the clock. */
static double measure(nxi_pool *pool, copy *c) {
  int64_t times = (1 << 20) / c->bytes + 1, best = INT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t began = nxi_now_ns();
    for (int64_t i = 0; i < times; i++)
      nxi_pool_run(pool, copy_pieces, c, (c->bytes + PIECE - 1) / PIECE, 1);
    int64_t took = nxi_now_ns() - began;
    best = took < best ? took : best;
  }
  return 2.0 * (double)c->bytes * (double)times / (double)(best > 0 ? best : 1);
}

static const limit *find(int32_t threads) {
  for (uint32_t i = 0; i < atomic_load_explicit(&n_limits, memory_order_acquire); i++)
    if (limits[i].threads == threads) return &limits[i];
  return NULL;
}

static void measure_all(nxi_pool *pool, limit *found) {
  const int64_t most = INT64_C(1) << (LOWEST + SIZES - 2);
  char *memory = nxi_malloc((size_t)most * 2);
  if (memory == NULL) return; /* shares of the limit are missing then */
  memset(memory, 1, (size_t)most * 2);
  for (int i = 0; i < SIZES; i++)
    found->speeds[i] =
        measure(pool, &(copy){memory, memory + most, INT64_C(1) << (LOWEST + i - 1)});
  nxi_free(memory);
}

void nxi_trace_measure(nxi_pool *pool) {
  const int32_t threads = nxi_pool_size(pool);
  if (find(threads) != NULL || atomic_exchange(&measuring, true)) return;
  uint32_t n = atomic_load(&n_limits);
  if (n < KEPT && find(threads) == NULL) {
    limits[n] = (limit){.threads = threads};
    measure_all(pool, &limits[n]);
    atomic_store_explicit(&n_limits, n + 1, memory_order_release);
  }
  atomic_store(&measuring, false);
}

double nxi_trace_limit(int64_t bytes, int32_t threads) {
  const limit *known = find(threads);
  int size = 0;
  while (size < SIZES - 1 && bytes > INT64_C(3) << (LOWEST + size - 1)) size++;
  return known != NULL ? known->speeds[size] : 0;
}
