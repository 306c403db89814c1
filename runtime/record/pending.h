/* SPDX-License-Identifier: ISC */
/* What is recorded and not computed yet: counters, the list of storages whose value may be pending,
 * and deferred work. Whoever changes a node's state, buffer or references tells it here. All with
 * record_lock but where a function says otherwise. */
#ifndef NXI_PENDING_H
#define NXI_PENDING_H

#include "assign.h"
#include "context.h"

/* ---- pending.c */

/* The counters change under record_lock alone. */
static inline void nxi_count(_Atomic uint64_t *counter, uint64_t n) {
  uint64_t before = atomic_load_explicit(counter, memory_order_relaxed);
  atomic_store_explicit(counter, before + n, memory_order_relaxed);
}
/* A node becomes pending, or is so no more. */
static inline void nxi_pending_begin(nx_context *c, const nxi_node *n) {
  nxi_count(&c->pending_nodes, 1);
  nxi_count(&c->record_bytes, n->size);
}
static inline void nxi_pending_end(nx_context *c, const nxi_node *n) {
  if (atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_KEPT) return;
  nxi_count(&c->pending_nodes, UINT64_MAX);
  nxi_count(&c->record_bytes, -(uint64_t)n->size);
}
/* Counts, or counts no more, the memory of a node that no storage names. Whoever changes what that
 * depends on (its buffer, `named`, whether it has references) takes it out before and puts it back
 * after. */
static inline bool nxi_pins(const nxi_node *n) {
  return n->buffer && n->buffer->allocator && n->refs && !n->named;
}
static inline void nxi_pinned_in(nx_context *c, const nxi_node *n) {
  if (nxi_pins(n)) nxi_count(&c->pinned_bytes, (uint64_t)n->buffer->bytes);
}
static inline void nxi_pinned_out(nx_context *c, const nxi_node *n) {
  if (nxi_pins(n)) nxi_count(&c->pinned_bytes, -(uint64_t)n->buffer->bytes);
}
/* Whether a node counts as waiting. Empty memory, and nodes that depend on placeholders, are never
 * computed for their own sake. */
static inline bool nxi_waits(const nxi_node *n) {
  if (n->state != NXI_PENDING && n->state != NXI_RUNNING) return false;
  bool traced = atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_TRACED;
  return n->op != NXI_OP_EMPTY && !traced;
}
/* Puts a storage into the list of pending ones if its value n is to be computed; takes one out that
 * is there. */
static inline void nxi_storage_list(nxi_storage *s, const nxi_node *n) {
  if (!nxi_waits(n)) return;
  nx_context *c = s->context;
  s->previous = NULL;
  s->next = c->pending;
  if (s->next) s->next->previous = s;
  c->pending = s;
  s->listed = true;
}
static inline void nxi_storage_unlist(nxi_storage *s) {
  if (!s->listed) return;
  if (s->previous) s->previous->next = s->next;
  else s->context->pending = s->next;
  if (s->next) s->next->previous = s->previous;
  s->listed = false;
}
/* number.c: the context keeps n, a number's node or its constant, no more: it is a value of the
 * caller's now, which counts, and has no other users than the caller's. */
void nxi_number_let_go(nx_context *c, const nxi_node *n);
/* A storage names n from here on; and no more. A node that a storage names is not counted as
 * pinned, so only the first and the last name change the counter. */
static inline void nxi_storage_name(nxi_storage *s, nxi_node *n) {
  if (atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_KEPT)
    nxi_number_let_go(s->context, n);
  nxi_pinned_out(s->context, n);
  n->named++;
  if (!s->listed) nxi_storage_list(s, n);
}
static inline void nxi_storage_unname(nxi_storage *s, nxi_node *n) {
  n->named--;
  nxi_pinned_in(s->context, n);
}
/* Live tensors that can be realised. Those that a recorded operation consumes, too: when that is
 * computed nothing consumes them any more, and they would be computed again from the start one by
 * one. A reference of each. False without memory; then some are there. */
bool nxi_pending_collect(nx_context *c, nxi_list *nodes);

/* ---- deferred.c */

/* Lets go of what is done or of no use; adds the rest, with references. */
void nxi_deferred_settle(nx_context *c);
bool nxi_deferred_collect(nx_context *c, nxi_list *nodes); /* false without memory */
/* After recording on exposed storage, no lock: carries out what these storages hold now, in one
 * run, or defers it. If it fails, the assigns are taken back. */
nx_status nxi_carry_out(nx_context *c, nxi_storage *const *storages, uint32_t n, nxi_assigned *a,
                        uint32_t n_assigned);

#endif
