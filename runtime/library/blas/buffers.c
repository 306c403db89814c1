/* SPDX-License-Identifier: ISC */
/* Work memory of OpenBLAS. Each call takes a buffer of the library's, which has as many as calls
 * were ever under way at once and keeps them; where it finds no memory for another one it tries
 * again for ever. So buffers are made here, while no call is under way and after the system has
 * shown that it has the addresses, and no more calls run at once than there are buffers: with
 * little memory products wait for each other. */
#include "buffers.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "ir/platform/pages.h"
#include "ir/platform/thread.h"

enum { MOST_BUFFERS = 64, RETRY_NS = 100 * 1000 * 1000 };
/* The address space for one buffer. It is 128 MiB on x86-64 and AArch64, of which a call touches
 * little. */
static const size_t buffer_bytes = (size_t)160 << 20;

static struct {
  void *(*take)(int);
  void (*give)(void *);
  nxi_mutex lock;    /* held while more buffers are made */
  int64_t failed_ns; /* when making more failed last */
  /* lasting: those of the calls under way that more buffers do not wait for */
  _Atomic uint32_t calls, lasting, buffers;
} b = {.lock = NXI_MUTEX_INITIALIZER, .buffers = UINT32_MAX};

bool nxi_blas_addresses_left(size_t bytes) {
  return nxi_addresses_left(bytes) || nxi_alloc_refuse(bytes) != NULL;
}

static _Thread_local bool lasts; /* the calls of this thread */

void nxi_blas_buffers_last(void) { lasts = true; }

/* Makes buffers until there are n. Only calls that last may be running. Such a call gives its
 * buffer back and takes another one many times, so each of them may make one here, too. */
static bool make_buffers(uint32_t n) {
  void *taken[MOST_BUFFERS];
  uint32_t had = atomic_load(&b.buffers), more = n - had + 2 * atomic_load(&b.lasting);
  if (!nxi_blas_addresses_left(more * buffer_bytes)) return false;
  for (uint32_t i = 0; i < n; i++) taken[i] = b.take(0);
  for (uint32_t i = 0; i < n; i++) b.give(taken[i]);
  atomic_store(&b.buffers, n);
  return true;
}

void nxi_blas_buffers_in_child(void) {
  uint32_t had = atomic_load(&b.buffers), lost = atomic_exchange(&b.calls, 0);
  atomic_store(&b.lasting, 0);
  if (b.take) atomic_store(&b.buffers, had > lost ? had - lost : 1);
  nxi_mutex_init(&b.lock);
}

bool nxi_blas_buffers_init(void *take, void *give) {
  memcpy(&b.take, &take, sizeof take);
  memcpy(&b.give, &give, sizeof give);
  if (!take || !give) return true; /* another library: the number of calls is not limited */
  atomic_store(&b.buffers, 0);
  return make_buffers(1);
}

/* ---- calls */

static bool enter_at_once(void) {
  uint32_t calls = atomic_load_explicit(&b.calls, memory_order_relaxed);
  while (calls < atomic_load_explicit(&b.buffers, memory_order_acquire))
    if (atomic_compare_exchange_weak_explicit(&b.calls, &calls, calls + 1, memory_order_acquire,
                                              memory_order_relaxed)) {
      if (lasts) atomic_fetch_add(&b.lasting, 1);
      return true;
    }
  return false;
}

static void pause_briefly(void) { nxi_pause_ns(50000); }

static bool failed_lately(void) { return b.failed_ns && nxi_now_ns() - b.failed_ns < RETRY_NS; }

/* Doubles the number of buffers: waits until running calls that do not last have ended, and lets
 * none begin meanwhile. The lock is held. */
static void grow(void) {
  uint32_t had = atomic_load(&b.buffers), n = had < MOST_BUFFERS / 2 ? 2 * had : MOST_BUFFERS;
  if (n == had || failed_lately()) return;
  atomic_store(&b.buffers, 0);
  while (atomic_load(&b.calls) > atomic_load(&b.lasting)) pause_briefly();
  atomic_store(&b.buffers, had);
  if (!make_buffers(n)) b.failed_ns = nxi_now_ns();
}

void nxi_blas_buffers_enter(void) {
  if (enter_at_once()) return;
  nxi_mutex_lock(&b.lock);
  while (!enter_at_once()) {
    grow();
    if (enter_at_once()) break;
    pause_briefly();
  }
  nxi_mutex_unlock(&b.lock);
}

void nxi_blas_buffers_leave(void) {
  if (lasts) atomic_fetch_sub(&b.lasting, 1);
  atomic_fetch_sub_explicit(&b.calls, 1, memory_order_release);
}

void *nxi_blas_buffer_take(void) { return b.take && b.give ? b.take(0) : NULL; }
void nxi_blas_buffer_give(void *buffer) {
  if (buffer) b.give(buffer);
}
