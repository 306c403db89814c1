/* SPDX-License-Identifier: ISC */
/* What mutexes and conditions do when a thread has to sleep or to be woken. */
#include <limits.h>

#include "clock.h"
#include "futex.h"
#include "thread.h"

enum { SPINS = 64 }; /* a microsecond: most are held for less */

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Who has slept leaves the mark that others may sleep, too. */
void nxi_mutex_wait_for(nxi_mutex *m) {
  for (int i = 0; i < SPINS; i++) {
    relax();
    if (!atomic_load_explicit(&m->state, memory_order_relaxed) && nxi_mutex_try(m)) return;
  }
  while (atomic_exchange_explicit(&m->state, 2, memory_order_acquire))
    nxi_futex_wait(&m->state, 2, -1);
}

void nxi_mutex_wake_next(nxi_mutex *m) { nxi_futex_wake(&m->state, 1); }

void nxi_condition_wake(nxi_condition *c) {
  atomic_fetch_add_explicit(&c->turn, 1, memory_order_seq_cst);
  nxi_futex_wake(&c->turn, INT32_MAX);
}

void nxi_condition_wait_until(nxi_condition *c, nxi_mutex *m, int64_t ns) {
  const int64_t most = 500000000; /* of one sleep */
  int64_t left = ns < 0 ? -1 : ns - nxi_now_ns();
  uint32_t turn = atomic_load_explicit(&c->turn, memory_order_seq_cst);
  atomic_fetch_add_explicit(&c->waiting, 1, memory_order_seq_cst);
  nxi_mutex_unlock(m);
  if (ns < 0 || left > 0) nxi_futex_wait(&c->turn, turn, left > most ? most : left);
  atomic_fetch_sub_explicit(&c->waiting, 1, memory_order_seq_cst);
  nxi_mutex_lock(m);
}
