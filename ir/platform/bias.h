/* SPDX-License-Identifier: ISC */
/* Mutexes that lean towards one thread. Nearly all locks of a context are taken by one thread,
 * again and again, and an atomic instruction waits for all stores before it, which is a quarter of
 * what recording an operation takes. So a thread that takes such a lock often in a row becomes its
 * owner, and from then on takes and gives it by plain stores:
 *
 *   the owner      writes into its slot that it holds the lock, then reads whether it still is the
 *                  owner;
 *   another thread takes the mutex, writes that there is no owner, has every thread of the process
 *                  pass a memory barrier (a system call), then waits until no slot says "held".
 *
 * The barrier makes up for the one that the owner leaves out: either the owner's store was before
 * it, and the other thread sees it, or the owner's read is after it, and the owner takes the mutex
 * like all others. A slot belongs to one thread for ever, so that a thread which was interrupted
 * between the two steps, long ago, writes where nobody else does. Each loss of an owner makes the
 * next one wait for a longer row. */
#ifndef NXI_PLATFORM_BIAS_H
#define NXI_PLATFORM_BIAS_H

#include "thread.h"

enum { NXI_BIAS_BITS = 2, NXI_BIAS_SLOTS = 1 << NXI_BIAS_BITS };

typedef struct nxi_bias {
  nxi_mutex mutex;
  uint32_t way;           /* how the holder took it: 0: by the mutex; else its slot, and one */
  _Atomic uint64_t owner; /* its number, then the bits of its slot; 0: none */
  _Atomic uint32_t held[NXI_BIAS_SLOTS];
  /* of who holds it */
  uint64_t threads[NXI_BIAS_SLOTS]; /* whose slot each is; 0: free */
  uint64_t last;                    /* the thread that had the mutex before */
  uint32_t row, patience;           /* how often in a row; how often for an owner, 0: none */
} nxi_bias;

void nxi_bias_init(nxi_bias *l);
/* In a child after fork, of the lock that its only thread holds: other threads have no part. */
void nxi_bias_child(nxi_bias *l);
/* Lets locks have owners, in this process from now on. In a process with several threads that takes
 * some milliseconds. */
void nxi_bias_prepare(void);

/* The rest of what follows. */
void nxi_bias_leave(nxi_bias *l, uint32_t slot); /* the owner is none any more */
void nxi_bias_lock_other(nxi_bias *l);
bool nxi_bias_try_other(nxi_bias *l);
void nxi_bias_unlock_other(nxi_bias *l);

static inline bool nxi_bias_quick(nxi_bias *l) {
  uint64_t owner = atomic_load_explicit(&l->owner, memory_order_relaxed);
  if (owner >> NXI_BIAS_BITS != nxi_thread_number) return false;
  uint32_t slot = (uint32_t)owner % NXI_BIAS_SLOTS;
  atomic_store_explicit(&l->held[slot], 1, memory_order_relaxed);
  atomic_signal_fence(memory_order_seq_cst);
  if (__builtin_expect(atomic_load_explicit(&l->owner, memory_order_acquire) != owner, 0)) {
    nxi_bias_leave(l, slot);
    return false;
  }
  l->way = slot + 1;
  return true;
}
static inline void nxi_bias_lock(nxi_bias *l) {
  if (!nxi_bias_quick(l)) nxi_bias_lock_other(l);
}
static inline bool nxi_bias_try(nxi_bias *l) { return nxi_bias_quick(l) || nxi_bias_try_other(l); }
static inline void nxi_bias_unlock(nxi_bias *l) {
  uint32_t way = l->way;
  if (way == 0) {
    nxi_bias_unlock_other(l);
    return;
  }
  atomic_store_explicit(&l->held[way - 1], 0, memory_order_release);
  atomic_signal_fence(memory_order_seq_cst);
  if (__builtin_expect(!atomic_load_explicit(&l->owner, memory_order_relaxed), 0))
    nxi_bias_leave(l, way - 1);
}

#endif
