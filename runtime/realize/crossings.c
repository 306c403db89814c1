/* SPDX-License-Identifier: ISC */
/* Values that were recorded on one device and go to another one before they are computed. Each is
 * computed and stored where it was recorded, before the run that reads it: a recording that is
 * realised late gives the bits of the devices that it names. Extraction finds that there are such
 * values (nxi_crosses); what is here finds all of them and realises them, those first that others
 * are made of. A value is realised as late as what needs it allows, so that devices that wait for
 * each other, as in a collective, have the same depth and work beside each other. */
#include <stdlib.h>

#include "ir/platform/lock.h"
#include "run.h"
#include "runtime/record/objects.h"

typedef struct entry {
  nxi_node *node;
  uint32_t next;  /* operand to visit */
  uint32_t depth; /* crossings between it and what is wanted, at most */
  bool crosses;
} entry;

typedef struct entries {
  entry *items;
  uint32_t n, capacity;
} entries;

static bool add(entries *list, nxi_node *n) {
  if (!nxi_grow(&list->items, &list->capacity, list->n + 1, sizeof *list->items)) return false;
  list->items[list->n++] = (entry){.node = n};
  return true;
}

/* Adds all pending nodes under the root, operands before users. False: out of memory. Both
 * locks. */
static bool walk(nx_context *c, nxi_node *root, entries *stack, entries *order) {
  bool good = add(stack, root);
  while (good && stack->n) {
    entry *top = &stack->items[stack->n - 1];
    nxi_node *n = top->node;
    if (n->epoch == c->epoch || n->state != NXI_PENDING) {
      stack->n--;
    } else if (top->next < n->n_args) {
      good = add(stack, nxi_node_args(n)[top->next++]);
    } else {
      stack->n--;
      n->epoch = c->epoch;
      n->index = order->n;
      good = add(order, n);
    }
  }
  return good;
}

/* Goes from users to operands. */
static void measure(const nx_context *c, entries *order) {
  for (uint32_t i = order->n; i-- > 0;) {
    nxi_node *n = order->items[i].node, **args = nxi_node_args(n);
    for (uint32_t k = 0; k < n->n_args; k++) {
      if (args[k]->epoch != c->epoch) continue; /* it is not pending */
      entry *a = &order->items[args[k]->index];
      const bool crosses = nxi_crosses(n, args[k]);
      const uint32_t depth = order->items[i].depth + crosses;
      a->crosses |= crosses;
      if (depth > a->depth) a->depth = depth;
    }
  }
}

/* The deepest first, and those of one depth in the order of the recording. */
static int compare(const void *x, const void *y) {
  const entry *a = x, *b = y;
  if (a->depth != b->depth) return a->depth > b->depth ? -1 : 1;
  return a->node->id < b->node->id ? -1 : a->node->id > b->node->id;
}

/* Leaves those that cross, with a reference of each. Both locks. */
static void choose(entries *order) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < order->n; i++)
    if (order->items[i].crosses) order->items[n++] = order->items[i];
  order->n = n;
  for (uint32_t i = 0; i < n; i++) order->items[i].node->refs++;
  if (n) qsort(order->items, n, sizeof *order->items, compare);
}

/* Realises those of one depth after another. No lock. *failed: the value that could not be. */
static nx_status realize(nxi_action *a, const entries *all, nxi_node **nodes, nxi_node **failed) {
  nx_status status = NX_OK;
  for (uint32_t i = 0, n; i < all->n && !status; i += n) {
    for (n = 0; i + n < all->n && all->items[i + n].depth == all->items[i].depth; n++)
      nodes[n] = all->items[i + n].node;
    status = nxi_realize_here(a, nodes, n);
    if (status && a->output >= 0 && (uint32_t)a->output < n) *failed = nodes[a->output];
  }
  return status;
}

nx_status nxi_realize_crossings(nxi_action *a, nxi_node *const *roots, uint32_t n,
                                nxi_node **failed) {
  nx_context *c = a->context;
  NXI_HELD(&c->run_lock);
  entries stack = {0}, all = {0};
  bool good = true;
  nxi_record_lock(c);
  c->epoch++;
  for (uint32_t i = 0; good && i < n; i++) good = walk(c, roots[i], &stack, &all);
  if (good) measure(c, &all);
  if (good) choose(&all);
  else all.n = 0;
  nxi_record_unlock(c);
  nxi_free(stack.items);
  nxi_node **nodes = all.n ? nxi_malloc(all.n * sizeof *nodes) : NULL;
  nx_status status = NX_OK;
  if (nodes) {
    nxi_run_unlock(c);
    status = realize(a, &all, nodes, failed);
    nxi_run_lock(c);
  } else {
    status = nxi_oom_during(&a->diag, NX_OUT_OF_MEMORY, "planning");
  }
  nxi_record_lock(c);
  for (uint32_t i = 0; i < all.n; i++) nxi_node_unref(c, all.items[i].node);
  nxi_record_unlock(c);
  nxi_free(all.items);
  nxi_free(nodes);
  return status;
}
