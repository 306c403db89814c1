/* SPDX-License-Identifier: ISC */
/* The context: its two locks, and all that they guard.
 *
 * Two locks a context, always in this order:
 *  run_lock     what is acquired, running, realised: node state, buffer and operands change under
 *               both locks and may be read under either; buffers' readers and writers.
 *  record_lock  everything else: the table of nodes, reference counts of nodes and storages,
 *               storages' values, pins, lists, the object pool. Held for short stretches only.
 * No lock is held while anything compiles, runs, allocates tensor memory or calls back. References
 * of tensors, mappings, functions, contexts and buffers are atomic; the release that drops the last
 * one of a handle pushes it on a stack that any later call drains, a bounded piece at a time. */
#ifndef NXI_CONTEXT_H
#define NXI_CONTEXT_H

#include "ir/platform/thread.h"
#include <stdatomic.h>

#include "ir/alloc.h"
#include "node.h"
#include "ir/platform/fork.h"
#include "ir/platform/lock.h"
#include "runtime/threads.h"

/* A list of dynamic size. */
typedef struct nxi_list {
  void **items;
  uint32_t n, capacity;
} nxi_list;
static inline bool nxi_list_add(nxi_list *l, void *item) {
  if (!nxi_grow(&l->items, &l->capacity, l->n + 1, sizeof *l->items)) return false;
  l->items[l->n++] = item;
  return true;
}

/* A deferred value (nx_has_deferred), and the storage that it was recorded for, NULL if that has
 * moved on: a reference of each. */
typedef struct nxi_deferred {
  nxi_storage *storage;
  nxi_node *node;
} nxi_deferred;

typedef struct nxi_run nxi_run;

/* Blocks of the object pool: sizes in steps of 32 bytes; larger ones come from nxi_malloc. */
enum { NXI_POOL_STEP = 32, NXI_POOL_CLASSES = 17 };

/* The table of nodes by hash, in two parts; both hold 32 bits of each hash (0: free), so that a
 * look-up that finds nothing, the usual one, touches no node.
 *
 * What is recorded together is looked up together: an operation lives in the set that its newest
 * operand's number says, so recording walks through the table instead of jumping in it. Operations
 * without operands, and those for which the set has no room, are in an open-addressed table by
 * hash. (If a place in a set becomes free after an equal operation had to go elsewhere, the two are
 * not merged; nothing else depends on it.) */
enum { NXI_SET = 8 };
typedef struct nxi_table {
  uint32_t *tags;
  nxi_node **nodes;
  uint32_t mask; /* capacity - 1 */
  uint32_t used;
  uint32_t *set_tags; /* NXI_SET a set */
  nxi_node **set_nodes;
  uint32_t set_mask; /* number of sets - 1 */
  uint32_t set_used; /* operations in sets */
} nxi_table;

/* Sizes of spare buffers, in steps of the allocator's 64 bytes; how many bytes of each are kept,
 * since a collector frees thousands at a time; and how many are looked at for the exact size. */
enum { NXI_SPARE_SIZES = 16, NXI_SPARE_BYTES = 1 << 18, NXI_SPARE_LOOK = 4 };

/* The first of devices.def. */
enum { NXI_DEVICE_CPU = 0 };

/* Numbers as operands that a context remembers. */
enum { NXI_NUMBERS = 16 };

struct nx_context {
  /* the user's, one for each mapping, function and action, and one for all tensors together */
  _Atomic uint32_t refs;
  uint32_t flags;
  int32_t threads;
  nxi_lock run_lock;
  nxi_condition changed; /* with run_lock: a run or a compile ended */
  nxi_run *runs;         /* that have acquired something; run_lock */
  uint64_t epoch;        /* run_lock */
  struct nxi_plan_cache *plans;
  struct nxi_background *background; /* makes code of plans that are interpreted meanwhile */
  double unstarted_ms;               /* interpreted because the compiler was not loaded; run_lock */
  struct nxi_devices *devices;       /* device.c */
  _Atomic(nxi_run *) spare_run;      /* a workspace for the next run; no lock */
  nxi_run *brief_run;                /* that of brief ones; run_lock */
  uint64_t brief_runs;               /* so far, for tests; run_lock */
  uint32_t brief_misses;             /* since the last one; run_lock */
  _Atomic uintptr_t run_holder; /* the thread that has run_lock; 0: none, or one that only waits */
  nxi_buffer *dead_in_run;      /* freed when run_lock is let go; run_lock */

  nxi_lock record_lock;
  nxi_table table;
  uint64_t next_id;
  void *free_blocks[NXI_POOL_CLASSES];
  struct nxi_slab *slabs;
  char *slab_next;
  size_t slab_left;
  nxi_buffer *shown;    /* memory that host code knows */
  uint32_t unexposed;   /* how many of these count as unchanged until host code says otherwise */
  nxi_storage *pending; /* the list of storages whose value may be pending; pending.c */
  nxi_node *garbage;    /* nodes without references, operands not yet dropped */
  nxi_storage *garbage_storages;
  nxi_head *dying;          /* handles taken from the stack below */
  nxi_buffer *dead_buffers; /* freed when the lock is let go */
  /* small buffers that nobody uses, by size, for the next that are made: the allocator counts them
   * as live, unless there is a limit to that, or somebody asks (nxi_buffers_drop_spare) */
  nxi_buffer *spare_buffers[NXI_SPARE_SIZES];
  uint32_t n_spare[NXI_SPARE_SIZES];
  bool spares;
  nxi_session *sessions;
  _Atomic uint32_t capturing; /* sessions */
  uint64_t live_nodes, live_storages, live_tensors, live_mappings;
  nxi_node *numbers[NXI_NUMBERS]; /* of the last numbers that were operands, or NULL */
  uint32_t numbers_kept;          /* those of them of which the context has a reference */
  /* pending.c: changed under record_lock, read without */
  _Atomic uint64_t pending_nodes, record_bytes, pinned_bytes;
  nxi_deferred *deferred; /* deferred work */
  uint32_t deferred_used, deferred_capacity;
  _Atomic uint32_t deferred_count;

  _Atomic(nxi_head *) dead;        /* handles whose last reference is gone */
  _Atomic(nxi_buffer *) callbacks; /* foreign buffers whose release is to be called */
  nxi_allocator *allocator;
  _Atomic uint64_t kernels_compiled, kernels_generic, kernels_shared;
  _Atomic uint64_t peak_bytes; /* before the allocator's peak was last started anew */
  nxi_pool *pool;
  struct nxi_offload *offload;
  /* Do asynchronous work, one for each device: so a collective on one waits for none on another
   * that is behind it. Those of further devices than the processors are made when first used. */
  struct nxi_runner *_Atomic *runners;
  nxi_fork_entry fork_entry;
  bool fork_registered, watched;
};

static inline void nxi_run_lock(nx_context *c) {
  NXI_NOT_HELD(&c->record_lock); /* the order of the two */
  nxi_lock_take(&c->run_lock);
  atomic_store_explicit(&c->run_holder, nxi_thread_self(), memory_order_relaxed);
}
/* Takes it if it is free, whatever else is held: nobody waits. */
static inline bool nxi_run_try(nx_context *c) {
  if (!nxi_lock_try(&c->run_lock)) return false;
  atomic_store_explicit(&c->run_holder, nxi_thread_self(), memory_order_relaxed);
  return true;
}
static inline void nxi_record_lock(nx_context *c) { nxi_lock_take(&c->record_lock); }
/* Both also free the buffers that died under the lock. What dies under both is freed when the outer
 * one, run_lock, is let go: giving memory back to the system takes long. */
void nxi_record_unlock_dead(nx_context *c); /* where some died */
static inline void nxi_record_unlock(nx_context *c) {
  if (c->dead_buffers) nxi_record_unlock_dead(c);
  else nxi_lock_give(&c->record_lock);
}
void nxi_run_unlock(nx_context *c);
static inline void nxi_context_ref(nx_context *c) {
  atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}
void nxi_context_unref(nx_context *c); /* no lock; may destroy the context */

#endif
