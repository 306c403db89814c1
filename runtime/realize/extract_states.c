/* SPDX-License-Identifier: ISC */
/* State that is assigned step after step, and read rarely: weights, moments, the key of a
 * generator. A realise that has to compute such a value on its way to something else stores it, if
 * what is recorded needs it further; otherwise the next realise would compute it again, and with it
 * all steps since the last value in memory.
 *
 * Of each storage the run keeps one value at most, the newest that it meets. The older ones are
 * needed by results of earlier steps alone, of which many may be waiting to be collected; each of
 * them kept would be a copy of the state. */
#include <string.h>

#include "run.h"
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
  return n->lineage && n->state == NXI_PENDING && n->device == run->device &&
         !(flags & NXI_NODE_TRACED) && !nxi_node_is_cheap(n);
}

/* The lineages that have been met: open addressing, at least half of the places free. */
static bool clear_lineages(nxi_run *run, uint32_t *mask) {
  uint32_t places = 4;
  while (places < 2 * run->n_states) places *= 2;
  if (!nxi_grow(&run->lineages, &run->cap_lineages, places, sizeof *run->lineages)) return false;
  memset(run->lineages, 0, places * sizeof *run->lineages);
  *mask = places - 1;
  return true;
}

/* True the first time. */
static bool meet(nxi_run *run, uint32_t lineage, uint32_t mask) {
  uint32_t at = lineage * 0x9e3779b1u >> 7 & mask;
  while (run->lineages[at] && run->lineages[at] != lineage) at = (at + 1) & mask;
  bool first = !run->lineages[at];
  run->lineages[at] = lineage;
  return first;
}

/* Users come before what they use. */
static bool keep(nxi_run *run, uint32_t mask) {
  for (uint32_t i = run->n_order; i-- > 0;) {
    nxi_node *n = run->order[i];
    bool goes = run->stored[i] || n->refs == run->edges[i];
    if (!goes && is_state(run, n) && meet(run, n->lineage, mask)) {
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
  if (!clear_lineages(run, &mask) || !nxi_run_clear_edges(run)) return false;
  nxi_record_lock(c);
  nxi_drain(c, 1024); /* what is dead already needs nothing */
  bool good = keep(run, mask);
  nxi_record_unlock(c);
  return good;
}
