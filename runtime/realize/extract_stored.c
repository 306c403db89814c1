/* SPDX-License-Identifier: ISC */
/* Values that a plan stores for itself, as the result of a product that a reduction reads: if a
 * tensor, or an operation that waits, needs such a value when the run has ended, it is an output
 * too. The next realise would compute it again otherwise.
 *
 * Which values these are only the plan says. So the plan of what was asked for is made first, and
 * what it stores is remembered by the hash of its key. If somebody needs one of these values the
 * run is extracted once more, with them as outputs: of the values that somebody holds only those
 * are a part of a key that cost nothing to keep, and equal runs are the same key again. What a plan
 * does not store stays fused, whoever holds it.
 *
 * Values of storages that are assigned are left to extract_states.c, which keeps one of each
 * storage. */
#include "plan_cache.h"
#include "runtime/record/objects.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool may_be_kept(const nxi_run *run, const nxi_node *n) {
  uint8_t flags = atomic_load_explicit(&n->flags, memory_order_relaxed);
  return n->state == NXI_PENDING && !n->lineage && n->op < NXG_OP_COUNT && n->op != NXG_view &&
         n->device == run->device && !(flags & NXI_NODE_TRACED) && !nxi_node_is_cheap(n);
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

/* Users come before what they use. What is kept lets go of its operands; what is only marked may
 * not. */
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
  nxi_drain(c, 1024); /* what is dead already needs nothing */
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
