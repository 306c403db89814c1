/* SPDX-License-Identifier: ISC */
/* State that is assigned in every step and rarely read: weights, moments, the key of a generator.
 * If a realise computes such a value as an intermediate one, and recorded operations need it later,
 * the value is stored. Otherwise the next realise would compute it again, together with all steps
 * since the last value in memory.
 *
 * A run keeps at most one value of each storage, the newest. Older values are needed only by
 * results of earlier steps, of which there may be many, and each of them would be a copy of the
 * state. */
#include <string.h>

#include "runtime/realize/run.h"
#include "runtime/record/objects.h"

bool nxi_run_clear_edges(nxi_run *run) {
  uint32_t n = run->n_order;
  if (!nxi_grow(&run->edges, &run->cap_edges, n ? n : 1, sizeof *run->edges)) return false;
  memset(run->edges, 0, n * sizeof *run->edges);
  return true;
}

void nxi_run_let_go(nxi_run *run, uint32_t at) {
  nxi_node *n = run->order[at], **args = nxi_node_args(n);
  if (n->state == NXI_REALIZED) return;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (args[i]->epoch == run->context->epoch) run->edges[args[i]->index]++;
}

bool nxi_node_is_cheap(const nxi_node *n) {
  if (n->op == NXG_view) {
    if (nxi_leaf_under(n)) return true;
    n = nxi_node_args((nxi_node *)n)[0];
  }
  return n->op == NXG_full || n->op == NXI_OP_EMPTY || n->op == NXI_OP_CELL;
}

static bool is_state(const nxi_run *run, const nxi_node *n) {
  uint8_t flags = atomic_load_explicit(&n->flags, memory_order_relaxed);
  return nxi_node_lineage(n) && n->state == NXI_PENDING && n->device == run->device &&
         !(flags & NXI_NODE_TRACED) && !nxi_node_is_cheap(n);
}

/* Clears the set of lineages that were visited: open addressing, at least half of the slots
 * free. */
static bool clear_lineages(nxi_run *run, uint32_t *mask) {
  uint32_t places = 4;
  run->n_states = 0; /* counted again: until the lock was taken others could assign */
  for (uint32_t i = 0; i < run->n_order; i++) run->n_states += is_state(run, run->order[i]);
  while (places < 2 * run->n_states) places *= 2;
  if (!nxi_grow(&run->lineages, &run->cap_lineages, places, sizeof *run->lineages)) return false;
  memset(run->lineages, 0, places * sizeof *run->lineages);
  *mask = places - 1;
  return true;
}

/* Adds a lineage to the set; true if it was not in it. */
static bool meet(nxi_run *run, uint32_t lineage, uint32_t mask) {
  uint32_t at = lineage * 0x9e3779b1u >> 7 & mask;
  while (run->lineages[at] && run->lineages[at] != lineage) at = (at + 1) & mask;
  bool first = !run->lineages[at];
  run->lineages[at] = lineage;
  return first;
}

/* Goes from users to operands. */
static bool keep(nxi_run *run, uint32_t mask) {
  for (uint32_t i = run->n_order; i-- > 0;) {
    nxi_node *n = run->order[i];
    bool goes = run->stored[i] || n->refs == run->edges[i];
    if (!goes && is_state(run, n) && meet(run, nxi_node_lineage(n), mask)) {
      if (!nxi_run_add_output(run, n)) return false;
      run->n_kept++;
      goes = true;
    }
    if (goes) nxi_run_let_go(run, i);
  }
  return true;
}

bool nxi_run_keep_states(nxi_run *run) {
  nx_context *c = run->context;
  uint32_t mask;
  if (!nxi_run_clear_edges(run)) return false;
  nxi_record_lock(c);
  nxi_drain(c, 1024); /* dead nodes must not count as users */
  bool good = clear_lineages(run, &mask) && keep(run, mask);
  nxi_record_unlock(c);
  return good;
}
