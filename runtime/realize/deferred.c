/* SPDX-License-Identifier: ISC */
/* Deferred work: values of operations on exposed storage that were recorded under NX_DEFER_EXPOSED.
 * Each has to be computed before host code continues if anything reads it by then: a handle,
 * another storage, or just another recorded operation, which must not see later writes of the
 * host. */
#include <string.h>

#include "ir/platform/lock.h"
#include "run.h"
#include "runtime/record/assign.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"

/* Whether anything besides the list reads the value, or host memory has to show it. record_lock. */
static bool is_wanted(const nxi_deferred *e) {
  bool named = e->storage && e->storage->value == e->node;
  if (e->node->state == NXI_REALIZED) return false;
  return e->node->refs > 1 + (uint32_t)named ||
         (named && (e->storage->refs > 1 || e->storage->pins));
}

/* Drops the storages of the list that have another value by now. The list would otherwise keep the
 * new values alive, and all that they read. record_lock. */
static void leave_storages(nx_context *c) {
  for (uint32_t i = 0; i < c->deferred_used; i++) {
    nxi_storage *s = c->deferred[i].storage;
    if (!s || s->value == c->deferred[i].node) continue;
    c->deferred[i].storage = NULL;
    nxi_storage_unref(c, s);
  }
  nxi_drain(c, 64);
}

/* Goes from the newest to the oldest, because an entry that is dropped may have been the only
 * reader of an older one. */
void nxi_deferred_settle(nx_context *c) {
  NXI_HELD(&c->record_lock);
  uint32_t first = c->deferred_used;
  if (!first) return;
  leave_storages(c);
  for (uint32_t i = c->deferred_used; i-- > 0;) {
    nxi_deferred e = c->deferred[i];
    if (is_wanted(&e)) {
      c->deferred[--first] = e;
      continue;
    }
    nxi_node_unref(c, e.node);
    if (e.storage) nxi_storage_unref(c, e.storage);
    nxi_drain(c, 64);
  }
  c->deferred_used -= first;
  memmove(c->deferred, c->deferred + first, c->deferred_used * sizeof *c->deferred);
  atomic_store_explicit(&c->deferred_count, c->deferred_used, memory_order_release);
}

bool nxi_deferred_collect(nx_context *c, nxi_list *nodes) {
  NXI_HELD(&c->record_lock);
  for (uint32_t i = 0; i < c->deferred_used; i++) {
    if (!is_wanted(&c->deferred[i])) continue;
    if (!nxi_list_add(nodes, c->deferred[i].node)) return false;
    c->deferred[i].node->refs++;
  }
  return true;
}

static bool defer(nx_context *c, nxi_storage *s) {
  nxi_node *n = s->value;
  if (n->state == NXI_REALIZED || (c->deferred_used && c->deferred[c->deferred_used - 1].node == n))
    return true;
  if (c->deferred_used == c->deferred_capacity) nxi_deferred_settle(c);
  if (!nxi_grow(&c->deferred, &c->deferred_capacity, c->deferred_used + 1, sizeof *c->deferred))
    return false;
  c->deferred[c->deferred_used++] = (nxi_deferred){s, n};
  s->refs++;
  n->refs++;
  atomic_store_explicit(&c->deferred_count, c->deferred_used, memory_order_release);
  return true;
}

static bool defer_all(nx_context *c, nxi_storage *const *storages, uint32_t n) {
  bool kept = true;
  nxi_record_lock(c);
  for (uint32_t i = 0; kept && i < n; i++) kept = defer(c, storages[i]);
  nxi_record_unlock(c);
  return kept;
}

static nx_status realize(nxi_action *a, nxi_storage *const *storages, uint32_t n) {
  nx_context *c = a->context;
  nxi_node *few[16], **nodes = n <= 16 ? few : nxi_malloc(n * sizeof *nodes);
  if (!nodes) return nxi_oom(&a->diag);
  nxi_record_lock(c);
  for (uint32_t i = 0; i < n; i++) {
    nodes[i] = storages[i]->value;
    nodes[i]->refs++;
  }
  nxi_record_unlock(c);
  nx_status status = nxi_realize_nodes(a, nodes, n);
  nxi_record_lock(c);
  for (uint32_t i = 0; i < n; i++) nxi_node_unref(c, nodes[i]);
  nxi_record_unlock(c);
  if (nodes != few) nxi_free(nodes);
  return status;
}

nx_status nxi_carry_out(nx_context *c, nxi_storage *const *storages, uint32_t n, nxi_assigned *a,
                        uint32_t n_assigned) {
  NXI_NO_LOCK();
  if (c->flags & NX_DEFER_EXPOSED && defer_all(c, storages, n))
    return NX_OK; /* if memory is exhausted it is computed now */
  nxi_action action;
  nxi_action_begin(&action, c, NULL);
  nx_status status = realize(&action, storages, n);
  if (status && nxi_assigns_back(c, a, n_assigned)) status = NX_OK;
  nxi_oom_in(&action.diag, nxi_oom_during(&action.diag, status, "planning"), "realize");
  return nxi_action_end(&action, status);
}

bool nx_has_deferred(const nx_context *c) {
  if (c && !nxi_have_context("has_deferred", 0, c)) return false;
  return c && atomic_load_explicit(&((nx_context *)c)->deferred_count, memory_order_acquire) != 0;
}
