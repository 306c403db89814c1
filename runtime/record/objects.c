/* SPDX-License-Identifier: ISC */
/* The object pool of a context, and teardown: handles, storages, nodes and buffers whose last
 * reference is gone. Teardown walks lists, never the graph by recursion, and does a bounded piece
 * at each call. */
#include "objects.h"

#include <string.h>

#include "capture.h"
#include "custom.h"
#include "error.h"
#include "pending.h"
#include "ir/platform/lock.h"
#include "ir/platform/thread.h"
#include "nx/async.h"
#include "nx/group.h"
#include "record.h"
#include "runtime/realize/residency.h"

/* ---- pool: blocks of a few sizes, cut from slabs, reused, returned when the context ends */

/* Slabs grow: a small context stays small, and a recording of a million nodes gets memory in pages
 * of 2 MiB, which saves it a fault and a translation miss for every few nodes. */
enum { FIRST_SLAB = 1 << 16, LAST_SLAB = 1 << 23 };
typedef struct nxi_slab {
  struct nxi_slab *next;
  size_t bytes;
} nxi_slab;

bool nxi_slab_each;

static void *cut_block(nx_context *c, size_t bytes) {
  if (c->slab_left < bytes) {
    size_t size = c->slabs ? c->slabs->bytes * 2 : FIRST_SLAB;
    if (size > LAST_SLAB) size = LAST_SLAB;
    if (nxi_slab_each) size = sizeof(nxi_slab) + bytes;
    nxi_slab *slab = nxi_malloc(size);
    if (!slab) return NULL;
    slab->next = c->slabs;
    slab->bytes = size;
    c->slabs = slab;
    c->slab_next = (char *)(slab + 1);
    c->slab_left = size - sizeof *slab;
  }
  void *block = c->slab_next;
  c->slab_next += bytes;
  c->slab_left -= bytes;
  return block;
}

void *nxi_block_cut(nx_context *c, size_t bytes) {
  NXI_HELD(&c->record_lock);
  size_t steps = (bytes + NXI_POOL_STEP - 1) / NXI_POOL_STEP;
  return steps < NXI_POOL_CLASSES ? cut_block(c, steps * NXI_POOL_STEP) : nxi_malloc(bytes);
}

void nxi_slabs_free(nx_context *c) {
  for (nxi_slab *s = c->slabs, *next; s; s = next) {
    next = s->next;
    nxi_free(s);
  }
  c->slabs = NULL;
}

/* ---- buffers */

/* The memory of a buffer goes back, or its callback is queued; no lock. */
static void buffer_free(nx_context *c, nxi_buffer *b) {
  nxi_buffer_leave_device(b);
  if (b->release) {
    b->next = atomic_load_explicit(&c->callbacks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&c->callbacks, &b->next, b)) {}
    return;
  }
  if (b->allocator && b->data) nxi_buffer_free(b->allocator, b->data, b->bytes);
  if (!b->small) {
    nxi_free(b);
    return;
  }
  nxi_record_lock(c);
  nxi_block_give(c, b, sizeof *b);
  nxi_record_unlock(c);
}

static void free_small(nx_context *c, nxi_buffer *b) {
  nxi_buffer_free_small(b->allocator, b->data, b->bytes);
  nxi_block_give(c, b, sizeof *b);
}

/* Keeps a small buffer for the next one; false: there are enough. */
static bool spare(nx_context *c, nxi_buffer *b) {
  const uint32_t size = nxi_spare_size(c, b->bytes);
  if (!size || c->n_spare[size] >= NXI_SPARE_BYTES / (64 * size)) return false;
  nxi_buffer_unused(b->data, b->bytes);
  b->next = c->spare_buffers[size];
  c->spare_buffers[size] = b;
  c->n_spare[size]++;
  return true;
}

void nxi_buffers_drop_spare(nx_context *c) {
  nxi_record_lock(c);
  for (int i = 0; i < NXI_SPARE_SIZES; i++) {
    for (nxi_buffer *b; (b = c->spare_buffers[i]);) {
      c->spare_buffers[i] = b->next;
      free_small(c, b);
    }
    c->n_spare[i] = 0;
  }
  nxi_record_unlock(c);
}

/* Who has the only reference has the buffer alone. */
static inline bool last_use(nxi_buffer *b) {
  if (atomic_load_explicit(&b->refs, memory_order_acquire) != 1)
    return atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1;
  atomic_store_explicit(&b->refs, 0, memory_order_relaxed);
  return true;
}

void nxi_buffer_unref(nx_context *c, nxi_buffer *b) {
  if (!b || !last_use(b)) return;
  if (b->shown) {
    b->shown = 1;
    nxi_buffer_hide(c, b);
  }
  if (b->small && b->bytes <= NXI_SMALL_BUFFER && !b->device && !b->formers) {
    if (!spare(c, b)) free_small(c, b);
    return;
  }
  b->next = c->dead_buffers;
  c->dead_buffers = b;
}

static void free_dead(nx_context *c, nxi_buffer *dead) {
  for (nxi_buffer *next; dead; dead = next) {
    next = dead->next;
    buffer_free(c, dead);
  }
}

/* Whether this thread has run_lock too. */
static bool has_run_lock(nx_context *c) {
  uintptr_t holder = atomic_load_explicit(&c->run_holder, memory_order_relaxed);
  return holder == nxi_thread_self();
}

void nxi_record_unlock_dead(nx_context *c) {
  nxi_buffer *dead = c->dead_buffers;
  c->dead_buffers = NULL;
  nxi_lock_give(&c->record_lock);
  if (!has_run_lock(c)) {
    free_dead(c, dead);
    return;
  }
  nxi_buffer **end = &dead->next;
  while (*end) end = &(*end)->next;
  *end = c->dead_in_run;
  c->dead_in_run = dead;
}

void nxi_run_unlock(nx_context *c) {
  nxi_buffer *dead = c->dead_in_run;
  c->dead_in_run = NULL;
  atomic_store_explicit(&c->run_holder, 0, memory_order_relaxed);
  nxi_lock_give(&c->run_lock);
  free_dead(c, dead);
}

/* ---- callbacks of contexts that are gone wait here: the first for any later action, the second,
 * of contexts that were told NX_MANUAL_COLLECT, for nx_context_collect */
static _Atomic(nxi_buffer *) orphans[2];

static void run_list(nxi_buffer *list) {
  for (nxi_buffer *next; list; list = next) {
    next = list->next;
    list->release(list->user);
    nxi_free(list);
  }
}

static void run_queue(_Atomic(nxi_buffer *) *queue) {
  if (atomic_load_explicit(queue, memory_order_relaxed)) run_list(atomic_exchange(queue, NULL));
}

bool nxi_callbacks_wait(const nx_context *c) {
  return atomic_load_explicit(&orphans[0], memory_order_relaxed) ||
         atomic_load_explicit(&((nx_context *)c)->callbacks, memory_order_relaxed);
}

void nxi_run_callbacks(nx_context *c, bool collecting) {
  NXI_NO_LOCK();
  uint16_t outer = nxi_called_pause();
  run_queue(&orphans[0]);
  if (collecting) run_queue(&orphans[1]);
  if (c) run_queue(&c->callbacks);
  nxi_called_end(outer);
}

void nxi_callbacks_orphan(nx_context *c) {
  nxi_buffer *list = atomic_exchange(&c->callbacks, NULL);
  _Atomic(nxi_buffer *) *queue = &orphans[(c->flags & NX_MANUAL_COLLECT) != 0];
  for (nxi_buffer *next; list; list = next) {
    next = list->next;
    list->next = atomic_load(queue);
    while (!atomic_compare_exchange_weak(queue, &list->next, list)) {}
  }
}

/* ---- references of nodes and storages */

void nxi_node_unref(nx_context *c, nxi_node *n) {
  NXI_HELD(&c->record_lock);
  if (n->refs > 1) {
    n->refs--;
    return;
  }
  nxi_pinned_out(c, n);
  n->refs = 0;
  nxi_table_remove(c, n);
  n->next = c->garbage;
  c->garbage = n;
}

void nxi_storage_unref(nx_context *c, nxi_storage *s) {
  NXI_HELD(&c->record_lock);
  if (--s->refs) return;
  nxi_storage_unname(s, s->value);
  nxi_storage_unlist(s);
  s->next = c->garbage_storages;
  c->garbage_storages = s;
}

void nxi_storage_set(nx_context *c, nxi_storage *s, nxi_node *value) {
  NXI_HELD(&c->record_lock);
  nxi_node *old = s->value;
  if (old && old->home == s) old->home = NULL;
  if (old) nxi_storage_unname(s, old);
  nxi_storage_name(s, value);
  s->value = value;
  if (s->flags & NXI_STORAGE_HOLD) nxi_node_mark(value, NXI_NODE_HOLD);
  if (old) nxi_node_unref(c, old);
}

static inline void storage_teardown(nx_context *c, nxi_storage *s) {
  if (s->session) nxi_capture_forget(c, s);
  if (s->pinned) { /* a shared import */
    s->pins = 1;
    nxi_storage_unpin(c, s, false);
  }
  if (s->value->home == s) s->value->home = NULL;
  nxi_node_unref(c, s->value);
  c->live_storages--;
  nxi_block_give(c, s, sizeof *s);
}

void nxi_node_bodies(nx_context *c, nxi_node *n, bool hold) {
  uint32_t first, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
  const int64_t *attrs = nxi_node_attrs(n) + first;
  for (uint32_t i = 0; i < bodies; i++) {
    nxi_customs_of_body(c, attrs[i], hold);
    if (hold) nxg_body_hold(attrs[i]);
    else nxg_body_release(attrs[i]);
  }
}

static void node_teardown(nx_context *c, nxi_node *n) {
  nxi_node **args = nxi_node_args(n);
  for (uint32_t i = 0; i < n->n_args; i++) nxi_node_unref(c, args[i]);
  if (n->buffer) {
    if (n->buffer->value == n) n->buffer->value = NULL;
    nxi_buffer_unref(c, n->buffer);
  }
  if (n->op == NXG_custom) nxi_custom_unref(c, nxi_node_attrs(n));
  nxi_tag_release(n->tag);
  if (nxi_node_controls(n)) nxi_node_bodies(c, n, false);
  if (n->state == NXI_PENDING) nxi_pending_end(c, n);
  c->live_nodes -= !(atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_KEPT);
  nxi_block_give(c, n, n->size);
}

void nxi_node_discard(nx_context *c, nxi_node *n) {
  NXI_HELD(&c->record_lock);
  node_teardown(c, n);
}

/* ---- handles */

void nxi_mapping_teardown(nx_context *c, nx_mapping *m);   /* mapping.c */
void nxi_function_teardown(nx_context *c, nx_function *f); /* function.c */
void nxi_custom_teardown(nx_context *c, nx_custom *f);     /* custom.c */
void nxi_event_teardown(nx_event *e);                      /* runner.c */
void nxi_group_teardown(nx_group *g);                      /* group.c */

/* A storage that nothing else refers to goes with its tensor. */
static inline void tensor_drops(nx_context *c, nxi_storage *s) {
  if (--s->refs) return;
  nxi_storage_unname(s, s->value);
  nxi_storage_unlist(s);
  storage_teardown(c, s);
}

static void head_teardown(nx_context *c, nxi_head *h) {
  switch ((nxi_kind)h->kind) {
    case NXI_TENSOR: {
      nx_tensor *t = (nx_tensor *)h;
      tensor_drops(c, t->storage);
      if (t->watched) nxi_handle_free(t, true);
      else nxi_block_give(c, t, sizeof *t + 2 * (size_t)t->rank * sizeof(int64_t));
      if (--c->live_tensors) return;
      break;
    }
    case NXI_MAPPING:
      nxi_mapping_teardown(c, (nx_mapping *)h);
      if (--c->live_mappings) return;
      break;
    case NXI_FUNCTION: nxi_function_teardown(c, (nx_function *)h); break;
    case NXI_CUSTOM: nxi_custom_teardown(c, (nx_custom *)h); break;
    case NXI_EVENT: nxi_event_teardown((nx_event *)h); break;
    case NXI_GROUP: nxi_group_teardown((nx_group *)h); break;
    default: break; /* the other kinds have no such head */
  }
  atomic_fetch_sub_explicit(&c->refs, 1,
                            memory_order_acq_rel); /* not the last: the caller has one */
}

static void take_dead(nx_context *c) {
  if (!atomic_load_explicit(&c->dead, memory_order_relaxed)) return;
  nxi_head *h = atomic_exchange_explicit(&c->dead, NULL, memory_order_acquire);
  for (nxi_head *next; h; h = next) {
    next = h->next;
    h->next = c->dying;
    c->dying = h;
  }
}

void nxi_drain(nx_context *c, uint32_t budget) {
  NXI_HELD(&c->record_lock);
  take_dead(c);
  while (budget--) {
    if (c->dying) {
      nxi_head *h = c->dying;
      c->dying = h->next;
      head_teardown(c, h);
    } else if (c->garbage_storages) {
      nxi_storage *s = c->garbage_storages;
      c->garbage_storages = s->next;
      storage_teardown(c, s);
    } else if (c->garbage) {
      nxi_node *n = c->garbage;
      c->garbage = n->next;
      node_teardown(c, n);
    } else {
      return;
    }
  }
}

void nxi_drain_all(nx_context *c) {
  for (bool more = true; more;) {
    nxi_record_lock(c);
    nxi_drain(c, 4096);
    more = c->dying || c->garbage || c->garbage_storages || atomic_load(&c->dead);
    nxi_record_unlock(c);
  }
}

/* Each call tears down a little more than one release can add, so that what is put off does not
 * pile up. A thread that finds the lock taken leaves the work to the next call; the lock is tried
 * again if something was pushed while it was held. */
enum { DRAIN_PIECE = 32 };

/* Who has the only reference has the handle alone: nobody can take another one meanwhile. */
static bool last_reference(nxi_head *h) {
  if (atomic_load_explicit(&h->refs, memory_order_acquire) != 1)
    return atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1;
  atomic_store_explicit(&h->refs, 0, memory_order_relaxed);
  return true;
}

static void push_dead(nx_context *c, nxi_head *h) {
  h->next = atomic_load_explicit(&c->dead, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&c->dead, &h->next, h, memory_order_release,
                                                memory_order_relaxed)) {}
}

/* Tears down a little more than eight handles can add. Whoever holds the lock, which is tried here,
 * has to bury afterwards what others have pushed meanwhile. */
static void drain_piece(nx_context *c) {
  nxi_drain(c, DRAIN_PIECE);
  nxi_record_unlock(c);
}

static void bury(nx_context *c) {
  for (int tries = 0; tries < 4 && atomic_load_explicit(&c->dead, memory_order_seq_cst); tries++) {
    if (!nxi_lock_try(&c->record_lock)) break;
    drain_piece(c);
  }
}

static void die(nx_context *c, nxi_head *h) {
  NXI_HELD(&c->record_lock);
  h->next = c->dying;
  c->dying = h;
}

void nxi_heads_release(nx_context *c, nxi_head *const *heads, uint32_t n) {
  bool locked = nxi_lock_try(&c->record_lock);
  for (uint32_t i = 0; i < n; i++) {
    if (!last_reference(heads[i])) continue;
    if (nxi_watch_on()) nxi_watch_released(heads[i], true);
    if (locked) head_teardown(c, heads[i]);
    else push_dead(c, heads[i]);
  }
  if (locked) drain_piece(c);
  bury(c);
}

/* Apart, so that the usual way saves no registers for it. */
__attribute__((noinline)) static void release_last(nx_context *c, nxi_head *h) {
  if (h->kind == NXI_TENSOR) nxi_scope_forget((nx_tensor *)h);
  if (nxi_watch_on()) nxi_watch_released(h, false);
  nxi_context_ref(c); /* the teardown below gives up the one that h holds */
  if (nxi_lock_try(&c->record_lock)) {
    die(c, h);
    drain_piece(c);
  } else {
    push_dead(c, h);
  }
  bury(c);
  nxi_context_unref(c);
}

void nxi_head_release(nx_context *c, nxi_head *h) {
  if (last_reference(h)) release_last(c, h);
}
