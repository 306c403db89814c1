/* SPDX-License-Identifier: ISC */
/* What mutexes and conditions do when a thread has to sleep or to be woken. */
#include <limits.h>

#include "clock.h"
#include "futex.h"
#include "thread.h"

enum { SPINS = 64 }; /* a microsecond: most are held for less */

/* Who has slept leaves the mark that others may sleep, too. */
void nxi_mutex_wait_for(nxi_mutex *m) {
  for (int i = 0; i < SPINS; i++) {
    nxi_relax();
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

uint32_t nxi_condition_begin(nxi_condition *c) {
  uint32_t turn = atomic_load_explicit(&c->turn, memory_order_seq_cst);
  atomic_fetch_add_explicit(&c->waiting, 1, memory_order_seq_cst);
  return turn;
}

void nxi_condition_sleep(nxi_condition *c, uint32_t turn, int64_t ns) {
  const int64_t most = 500000000; /* of one sleep */
  int64_t left = ns < 0 ? -1 : ns - nxi_now_ns();
  if (ns < 0 || left > 0) nxi_futex_wait(&c->turn, turn, left > most ? most : left);
}

void nxi_condition_end(nxi_condition *c) {
  atomic_fetch_sub_explicit(&c->waiting, 1, memory_order_seq_cst);
}

void nxi_condition_wait_until(nxi_condition *c, nxi_mutex *m, int64_t ns) {
  uint32_t turn = nxi_condition_begin(c);
  nxi_mutex_unlock(m);
  nxi_condition_sleep(c, turn, ns);
  nxi_mutex_lock(m);
  nxi_condition_end(c);
}
