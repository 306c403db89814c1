/* SPDX-License-Identifier: ISC */
/* What is due: values that operations on exposed storage recorded under NX_MANUAL_DUE. They are to be computed before
 * host code goes on, whoever reads them by then: a handle, another storage, or only another recorded operation, which
 * must not see what the host writes later. */
#include "runtime/run.h"

/* Somebody reads the value besides the list, or host memory has to show it. record_lock. */
static bool is_wanted(const nxi_due *e) {
  bool named = e->storage->value == e->node;
  if (e->node->state == NXI_REALIZED) return false;
  return e->node->refs > 1 + (uint32_t)named ||
         (named && (e->storage->refs > 1 || e->storage->pins));
}

void nxi_due_settle(nx_context *c) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < c->due_used; i++) {
    nxi_due e = c->due[i];
    if (is_wanted(&e)) {
      c->due[left++] = e;
      continue;
    }
    nxi_node_unref(c, e.node);
    nxi_storage_unref(c, e.storage);
  }
  c->due_used = left;
  atomic_store_explicit(&c->due_count, left, memory_order_release);
}

bool nxi_due_collect(nx_context *c, nxi_list *nodes) {
  for (uint32_t i = 0; i < c->due_used; i++) {
    if (!is_wanted(&c->due[i])) continue;
    if (!nxi_list_add(nodes, c->due[i].node)) return false;
    c->due[i].node->refs++;
  }
  return true;
}

static bool make_due(nx_context *c, nxi_storage *s) {
  nxi_node *n = s->value;
  if (n->state == NXI_REALIZED || (c->due_used && c->due[c->due_used - 1].node == n)) return true;
  if (c->due_used == c->due_capacity) nxi_due_settle(c);
  if (!nxi_grow(&c->due, &c->due_capacity, c->due_used + 1, sizeof *c->due)) return false;
  c->due[c->due_used++] = (nxi_due){s, n};
  s->refs++;
  n->refs++;
  atomic_store_explicit(&c->due_count, c->due_used, memory_order_release);
  return true;
}

nx_status nxi_carry_out(nx_context *c, nxi_storage *s) {
  if (c->flags & NX_MANUAL_DUE) {
    nxi_record_lock(c);
    bool kept = make_due(c, s);
    nxi_record_unlock(c);
    if (kept) return NX_OK; /* without memory it is carried out now */
  }
  nxi_action a;
  nxi_action_begin(&a, c, NULL);
  return nxi_action_end(&a, nxi_realize_storage(&a, s, NULL));
}

bool nx_due(const nx_context *c) {
  return c && atomic_load_explicit(&((nx_context *)c)->due_count, memory_order_acquire) != 0;
}
