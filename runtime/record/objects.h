/* SPDX-License-Identifier: ISC */
/* How objects of the recording are made, shared and torn down: nodes, storages, tensors and buffers
 * begin in storage.c and end in objects.c. A count of references that reaches zero only queues an
 * object. What tears it down holds record_lock and takes a bounded number of objects at a time, so
 * nobody waits for the end of a long chain. Every function names the lock that its caller holds. */
#ifndef NXI_OBJECTS_H
#define NXI_OBJECTS_H

#include <string.h>

#include "context.h"

/* ---- objects.c: memory of objects, and the end of each */
/* A block of new memory; nxi_malloc's, if it is larger than the classes of the pool. */
void *nxi_block_cut(nx_context *c, size_t bytes);
/* record_lock; contents arbitrary */
static inline void *nxi_block_take(nx_context *c, size_t bytes) {
  NXI_HELD(&c->record_lock);
  size_t steps = (bytes + NXI_POOL_STEP - 1) / NXI_POOL_STEP;
  void *block = steps < NXI_POOL_CLASSES ? c->free_blocks[steps] : NULL;
  if (!block) return nxi_block_cut(c, bytes);
  memcpy(&c->free_blocks[steps], block, sizeof(void *));
  return block;
}
/* record_lock */
static inline void nxi_block_give(nx_context *c, void *p, size_t bytes) {
  NXI_HELD(&c->record_lock);
  size_t steps = (bytes + NXI_POOL_STEP - 1) / NXI_POOL_STEP;
  if (steps >= NXI_POOL_CLASSES) {
    nxi_free(p);
    return;
  }
  memcpy(p, &c->free_blocks[steps], sizeof(void *));
  c->free_blocks[steps] = p;
}
/* Tests: blocks are allocated one by one, so that each may fail for want of memory. */
extern bool nxi_slab_each;
/* Drops one reference of a handle; the last one puts it on the stack of the dead. No lock, does not
 * wait. */
void nxi_head_release(nx_context *c, nxi_head *h);
/* The same of up to NXI_RELEASED_AT_ONCE handles that a scope has forgotten, by one that keeps the
 * context alive: what that adds is torn down too, unless another thread has the lock. */
enum { NXI_RELEASED_AT_ONCE = 8 };
void nxi_heads_release(nx_context *c, nxi_head *const *heads, uint32_t n);
/* Tears down at most `budget` dead objects. record_lock; the caller holds a reference of the
 * context. */
void nxi_drain(nx_context *c, uint32_t budget);
/* The same where mostly nothing is dead. */
static inline void nxi_drain_some(nx_context *c, uint32_t budget) {
  if (c->dying || c->garbage_storages || c->garbage ||
      atomic_load_explicit(&c->dead, memory_order_relaxed))
    nxi_drain(c, budget);
}
/* All of what is dead, in pieces, so that nobody waits for long. No lock. */
void nxi_drain_all(nx_context *c);
void nxi_node_unref(nx_context *c, nxi_node *n);       /* record_lock */
void nxi_node_discard(nx_context *c, nxi_node *n);     /* one that nothing refers to; record_lock */
void nxi_storage_unref(nx_context *c, nxi_storage *s); /* record_lock */
void nxi_storage_set(nx_context *c, nxi_storage *s,
                     nxi_node *value);               /* record_lock; takes the reference */
void nxi_buffer_unref(nx_context *c, nxi_buffer *b); /* record_lock */
/* number.c: the context forgets its numbers, and gives up those that it keeps. record_lock */
void nxi_numbers_drop(nx_context *c);
/* Queued release callbacks; no lock; c may be NULL. collecting: in nx_context_collect, not in an
 * action. */
void nxi_run_callbacks(nx_context *c, bool collecting);
bool nxi_callbacks_wait(const nx_context *c); /* those of an action */

/* Which spare buffers are of so many bytes; 0: none are kept. */
static inline uint32_t nxi_spare_size(const nx_context *c, int64_t bytes) {
  uint64_t size = ((uint64_t)bytes + 63) / 64;
  return c->spares && size < NXI_SPARE_SIZES ? (uint32_t)size : 0;
}

static inline void nxi_buffer_ref(nxi_buffer *b) {
  atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

/* ---- sharing.c: memory that host code knows; record_lock */
void nxi_buffer_show(nx_context *c, nxi_buffer *b);
void nxi_buffer_hide(nx_context *c, nxi_buffer *b);
/* Says of an import, and of all that lies in the same memory, that writes of one show in others. */
void nxi_buffer_cross(const nx_context *c, nxi_buffer *b);
/* Host code sees it, may write it, or may have imported it twice. */
static inline bool nxi_buffer_is_hosts(const nxi_buffer *b) {
  return b->pinner ||
         (!b->allocator && !b->immutable && !atomic_load_explicit(&b->given, memory_order_relaxed));
}
/* Host code may be writing it now, or may have since anybody has looked. No lock. */
static inline bool nxi_buffer_host_writes(const nxi_buffer *b) {
  if (atomic_load_explicit(&b->writers, memory_order_relaxed) ||
      atomic_load_explicit(&b->crossed, memory_order_relaxed))
    return true;
  return !b->allocator && !b->immutable && !b->announced &&
         !atomic_load_explicit(&b->given, memory_order_relaxed);
}
/* A storage without pins keeps this memory in its place from here on, for one that shows it; and
 * takes one pin back. */
/* both: run_lock is held, too. */
void nxi_storage_pin(nx_context *c, nxi_storage *s, nxi_buffer *b, bool write, bool both);
void nxi_storage_unpin(nx_context *c, nxi_storage *s, bool write);

/* ---- storage.c: making what objects.c tears down */
/* One that has no memory yet. NULL: there is none for it. */
nxi_buffer *nxi_buffer_without_memory(nx_context *c, int64_t bytes);
nx_status nxi_buffer_create(nx_context *c, int64_t bytes, nxi_buffer **out,
                            nxi_diag *d); /* no lock */
/* One of at most NXI_QUICK_BUFFER bytes, which is had in constant time; NULL: not now. Both it and
 * its memory go back under the lock, if it has at most NXI_SMALL_BUFFER. record_lock. */
nxi_buffer *nxi_buffer_create_small(nx_context *c, int64_t bytes);
/* Gives back what is kept for such buffers, so that the allocator counts what is live. No lock. */
void nxi_buffers_drop_spare(nx_context *c);
/* The rest with record_lock; NULL without memory. A reference to b, value or s goes to the result,
 * also on failure. */
nxi_node *nxi_leaf_create(nx_context *c, uint16_t op, int32_t device, nx_dtype dtype, int32_t rank,
                          const int64_t *shape, nxi_buffer *b);
nxi_storage *nxi_storage_create(nx_context *c, nxi_node *value);
nx_tensor *nxi_tensor_create(nx_context *c, nxi_storage *s, int32_t rank, const int64_t *shape,
                             const int64_t *strides, int64_t offset);
/* A tensor that is the whole of a new storage of this value. */
nx_tensor *nxi_tensor_of_node(nx_context *c, nxi_node *value);
/* The same, in few steps, where `like` is the whole of its storage and has the value's shape. */
nx_tensor *nxi_tensor_like(nx_context *c, nxi_node *value, const nx_tensor *like);

/* ---- scope.c */
bool nxi_scope_add(nx_tensor *t);    /* false without memory */
void nxi_scope_forget(nx_tensor *t); /* t dies */

#endif
