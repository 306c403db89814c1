/* SPDX-License-Identifier: ISC */
/* Gives large arrays their pages before a step writes them. The system makes a page, of 2 MiB where
 * it can, when it is first written, which takes up to 20 ms in a virtual machine. Steps that go
 * through an array in pieces of rows, as products and transforms do, write first to hundreds of
 * pages in one task, during which no poll is asked. Here one is asked between pages. */
#include <stdatomic.h>

#include "cpu.h"

enum { PAGE = 2 << 20, LEAST = 8 * PAGE };

typedef struct touching {
  char *base;
  int64_t bytes;
} touching;

/* Writes what is there. Volatile, or compilers make a load of it. */
static void touch_pages(void *arg, int worker, int64_t begin, int64_t end) {
  const touching *t = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    int64_t at = i * PAGE < t->bytes ? i * PAGE : t->bytes - 1;
    volatile _Atomic uint8_t *byte = (void *)(t->base + at);
    atomic_fetch_or_explicit(byte, 0, memory_order_relaxed);
  }
}

nx_status nxi_touch_run(nxi_pool *pool, const nxi_poll *poll, void *base, int64_t bytes) {
  touching t = {base, bytes};
  if (poll->fn == NULL || bytes < LEAST) return NX_OK;
  return nxi_pool_run_polled(pool, poll, touch_pages, &t, bytes / PAGE + 1, 1);
}
