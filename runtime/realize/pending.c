/* SPDX-License-Identifier: ISC */
/* What is recorded and not computed: how much there is, and which storages wait for it.
 *
 * Two counters are updated with every change, so that a query costs nothing: the number of pending
 * operations with the memory of their records, and the tensor data of nodes that no storage names,
 * which only recorded operations can still need.
 *
 * Storages whose value is pending are in a list. When a value has been computed its storages are
 * still there, since a node does not know its storages; the next walk through the list takes them
 * out. So a walk costs what is pending, and a step for each storage that was computed since the
 * last one. */
#include "runtime/record/pending.h"

/* ---- storages */

bool nxi_pending_collect(nx_context *c, nxi_list *nodes) {
  for (nxi_storage *s = c->pending, *next; s; s = next) {
    nxi_node *n = s->value;
    next = s->next;
    if (!nxi_waits(n)) {
      nxi_storage_unlist(s);
      continue;
    }
    if (n->state != NXI_PENDING) continue;
    if (!nxi_list_add(nodes, n)) return false;
    n->refs++; /* several storages may have this value, and each adds it */
  }
  return true;
}

/* ---- for the caller */

uint64_t nx_pending(const nx_context *context, uint64_t *bytes) {
  nx_context *c = (nx_context *)context;
  if (bytes) *bytes = 0;
  if (!c || !nxi_have_context("pending", 0, c)) return 0;
  if (bytes)
    *bytes = atomic_load_explicit(&c->record_bytes, memory_order_relaxed) +
             atomic_load_explicit(&c->pinned_bytes, memory_order_relaxed);
  return atomic_load_explicit(&c->pending_nodes, memory_order_relaxed);
}
