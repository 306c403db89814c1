/* SPDX-License-Identifier: ISC */
/* Mutexes that lean towards one thread: what is not the usual case, and the barrier of all threads
 * that they need. */
#include "bias.h"

#include <linux/membarrier.h>

#include "clock.h"
#include "futex.h"

enum {
  FIRST_ROW = 256,
  LAST_ROW = 1 << 14,
  SPINS = 64,             /* as of a mutex */
  SLEEP_NS = 10000000,    /* of one sleep */
  DRAINED_NS = 100000000, /* after which every store of before is seen */
};

/* ---- the barrier */

static _Atomic bool ready;

static bool membarrier(int command) { return syscall(SYS_membarrier, command, 0) == 0; }

void nxi_bias_prepare(void) {
  if (atomic_load_explicit(&ready, memory_order_relaxed)) return;
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)) atomic_store(&ready, true);
}

/* Owners exist only where the first of these worked once. The others are for a process that has
 * forbidden itself the call since. */
static void barrier_of_all(void) {
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
      membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return;
  if (!membarrier(MEMBARRIER_CMD_GLOBAL)) nxi_pause_ns(DRAINED_NS);
}

/* ---- locks */

void nxi_bias_init(nxi_bias *l) {
  *l = (nxi_bias){.patience = FIRST_ROW};
  nxi_mutex_init(&l->mutex);
}

void nxi_bias_child(nxi_bias *l) {
  for (uint32_t i = 0; i < NXI_BIAS_SLOTS; i++)
    if (i + 1 != l->way) atomic_store_explicit(&l->held[i], 0, memory_order_relaxed);
  if (l->way) nxi_mutex_init(&l->mutex); /* of somebody who waited */
}

void nxi_bias_leave(nxi_bias *l, uint32_t slot) {
  atomic_store(&l->held[slot], 0);
  nxi_futex_wake(&l->held[slot], INT32_MAX);
}

static void wait_until_free(_Atomic uint32_t *held) {
  for (int i = 0; i < SPINS; i++) {
    if (!atomic_load_explicit(held, memory_order_acquire)) return;
    nxi_relax();
  }
  while (atomic_load_explicit(held, memory_order_acquire)) nxi_futex_wait(held, 1, SLEEP_NS);
}

/* Takes the lock from its owner, by the holder of the mutex. False: the owner holds it, and the
 * caller may not wait. */
static bool take_from_owner(nxi_bias *l, bool may_wait) {
  if (atomic_load_explicit(&l->owner, memory_order_relaxed)) {
    atomic_store(&l->owner, 0);
    barrier_of_all();
    if (l->patience < LAST_ROW) l->patience *= 4;
  }
  for (uint32_t i = 0; i < NXI_BIAS_SLOTS; i++) {
    if (!atomic_load_explicit(&l->held[i], memory_order_acquire)) continue;
    if (!may_wait) return false;
    wait_until_free(&l->held[i]);
  }
  return true;
}

static void taken(nxi_bias *l) {
  uint64_t self = nxi_thread_own_number();
  l->way = 0;
  l->row = l->last == self ? l->row + 1 : 0;
  l->last = self;
}

void nxi_bias_lock_other(nxi_bias *l) {
  nxi_mutex_lock(&l->mutex);
  take_from_owner(l, true);
  taken(l);
}

bool nxi_bias_try_other(nxi_bias *l) {
  if (!nxi_mutex_try(&l->mutex)) return false;
  bool free = take_from_owner(l, false);
  if (free) taken(l);
  else nxi_mutex_unlock(&l->mutex);
  return free;
}

/* The holder of the mutex becomes the owner, if it has a slot or one is free. */
static void become_owner(nxi_bias *l) {
  uint64_t self = nxi_thread_own_number();
  l->row = 0;
  for (uint64_t i = 0; i < NXI_BIAS_SLOTS; i++) {
    if (l->threads[i] && l->threads[i] != self) continue;
    l->threads[i] = self;
    atomic_store_explicit(&l->owner, self << NXI_BIAS_BITS | i, memory_order_release);
    return;
  }
}

void nxi_bias_unlock_other(nxi_bias *l) {
  if (l->row >= l->patience && l->patience && atomic_load_explicit(&ready, memory_order_relaxed))
    become_owner(l);
  nxi_mutex_unlock(&l->mutex);
}
