/* SPDX-License-Identifier: ISC */
/* Values that a plan stores anyway, for example the result of a product that a reduction reads. If
 * a tensor or a pending operation needs such a value after the run, it becomes an output too.
 * Otherwise the next realise would compute it again.
 *
 * Only the plan tells which values these are. So the plan for the requested values is made first,
 * and the values that it stores are remembered under the hash of its key. If one of them is needed
 * later, the run is extracted again with these values as outputs. So values that are held become
 * part of a key only if keeping them costs nothing, and equal runs have equal keys. A value that
 * the plan does not store stays fused, even if it is held.
 *
 * Values of storages that are assigned are left to extract_states.c, which keeps one of each
 * storage. */
#include "runtime/realize/plans/plan_cache.h"
#include "ir/platform/lock.h"
#include "runtime/record/objects.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool may_be_kept(const nxi_run *run, const nxi_node *n) {
  uint8_t flags = atomic_load_explicit(&n->flags, memory_order_relaxed);
  return n->state == NXI_PENDING && !nxi_node_lineage(n) && n->op < NXG_OP_COUNT &&
         n->op != NXG_view && n->device == run->device && !(flags & NXI_NODE_TRACED) &&
         !nxi_node_is_cheap(n);
}

static bool has(const nxi_stored *s, uint32_t slot) {
  uint32_t low = 0, high = s->n;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (s->slots[middle] < slot) low = middle + 1;
    else high = middle;
  }
  return low < s->n && s->slots[low] == slot;
}

/* Goes from users to operands. A value that is kept releases its operands; one that is only marked
 * does not. */
static bool keep(nxi_run *run, const nxi_stored *known) {
  for (uint32_t i = run->n_order; i-- > 0;) {
    nxi_node *n = run->order[i];
    bool goes = run->stored[i] || n->refs == run->edges[i];
    if (!goes && may_be_kept(run, n)) {
      if (!known) {
        run->stored[i] |= NXI_RUN_HELD;
        run->n_held++;
      } else if (has(known, run->slots[i])) {
        if (!nxi_run_add_output(run, n)) return false;
        run->n_kept++;
        goes = true;
      }
    }
    if (goes) nxi_run_let_go(run, i);
  }
  return true;
}

bool nxi_run_keep_stored(nxi_run *run, bool *more) {
  nx_context *c = run->context;
  uint32_t outputs = run->n_outputs;
  if (run->frugal || run->n_order <= run->n_outputs) return true;
  XXH128_hash_t hash = XXH3_128bits(run->key, run->n_key * sizeof *run->key);
  run->bare[0] = hash.low64;
  run->bare[1] = hash.high64;
  const nxi_stored *known = nxi_plan_stored(c->plans, run->bare);
  run->weighed = !known;
  run->hashed = true;
  if (known && !known->n) return true;
  if (!nxi_run_clear_edges(run)) return false;
  nxi_record_lock(c);
  nxi_drain(c, 1024); /* dead nodes must not count as users */
  bool good = keep(run, known);
  nxi_record_unlock(c);
  *more = run->n_outputs > outputs;
  run->hashed = !*more;
  return good;
}

bool nxi_run_reconsider(nxi_run *run, const nxp_plan *plan) {
  NXI_HELD(&run->context->run_lock);
  if (!run->weighed) return false;
  run->weighed = false;
  if (!nxi_plan_note_stored(run->context->plans, run->bare, plan->stored, plan->n_stored) ||
      !plan->n_stored)
    return false;
  const nxi_stored *known = nxi_plan_stored(run->context->plans, run->bare);
  for (uint32_t i = 0; run->n_held && i < run->n_order; i++)
    if (run->stored[i] & NXI_RUN_HELD && has(known, run->slots[i])) return true;
  return false;
}
