/* SPDX-License-Identifier: ISC */
/* Brief runs. A frontend that reads each result at once asks for small graphs that it has asked for
 * before, whose plan is one short kernel. Such a value is computed with both locks held, by the
 * thread that wants it: nobody can see it half done, so nothing has to be acquired, published, or
 * waited for, and the locks are taken once. Nothing here can fail and nobody is called.
 *
 * The key is the same that the general way makes of the graph (extract.c), so a value has the same
 * bits either way. Whatever is unusual goes the general way: plans that are not made yet, more than
 * one result, values that others hold or that host code must see, failures, reports, traces. */
#include <string.h>

#include "runtime/debug.h"
#include "runtime/device.h"
#include "runtime/realize/plans/plan_cache.h"
#include "runtime/realize/residency.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/trace.h"

enum {
  MOST_NODES = 32,
  MOST_ELEMENTS = 1 << 12, /* of the result, which has NXI_QUICK_BUFFER bytes at most */
  FEW_POINTERS = 2 * MOST_NODES
};

nxi_run *nxi_brief_workspace(nx_context *c) {
  NXI_HELD(&c->run_lock);
  if (!c->brief_run) c->brief_run = nxi_calloc(1, sizeof *c->brief_run);
  if (c->brief_run) c->brief_run->context = c;
  return c->brief_run;
}

/* Addresses of inputs; false: one is in memory of a device. */
static bool find_inputs(const nxi_run *run, void **at) {
  if (run->n_inputs >= FEW_POINTERS) return false;
  for (uint32_t i = 0; i < run->n_inputs; i++) {
    const nxi_buffer *b = run->inputs[i].buffer;
    if (b->device) return false;
    at[i] = (char *)b->data + run->inputs[i].offset;
  }
  return true;
}

/* Whether the value of n may be made here: in few steps, what is usual. */
static bool is_usual(const nx_context *c, const nxi_node *n) {
  if (n->state != NXI_PENDING || n->elements > MOST_ELEMENTS || n->op >= NXG_OP_COUNT ||
      n->op == NXG_view || n->device != NXI_DEVICE_CPU || n->home || c->deferred_used)
    return false;
  nxg_kind kind = nxg_ops[n->op].kind;
  if (kind == NXG_KIND_CALL || n->op == NXG_matmul || n->op == NXG_custom) return false;
  int64_t bytes = nxi_dtype_bytes(n->dtype, n->elements);
  return bytes <= NXI_SMALL_BUFFER || nxi_buffer_ready(c->allocator, bytes);
}

bool nxi_brief_run(nx_context *c, nxi_node *n) {
  NXI_HELD(&c->run_lock);
  NXI_HELD(&c->record_lock);
  if (!is_usual(c, n)) return false;
  nxi_run *run = nxi_brief_workspace(c);
  if (!run) return false;
  run->device = n->device;
  void *at[FEW_POINTERS + 1];
  const bool found = nxi_extract_brief(run, n, MOST_NODES) && find_inputs(run, at);
  const nxi_executable *executable = found ? nxi_plan_brief(c->plans, run->key, run->n_key) : NULL;
  if (!executable) return c->brief_misses += c->brief_misses < UINT32_MAX / 2, false;
  nxi_buffer *b = nxi_buffer_create_small(c, nxi_executable_plan(executable)->outputs[0].bytes);
  if (!b) return false; /* the general way may find memory, and has words for the want of it */
  nxi_launch l = {.inputs = at, .params = run->params, .outputs = at + run->n_inputs};
  l.pool = c->pool;
  at[run->n_inputs] = b->data;
  nxi_executable_launch(executable, &l, NULL);
  nxi_attach_unacquired(run, b);
  c->brief_runs++;
  c->brief_misses = 0;
  nxi_drain_some(c, 16);
  return true;
}

bool nxi_brief_watched(void) {
  return nxi_debug_flags() & (NXI_DEBUG_time | NXI_DEBUG_nan) || nxi_trace_is_on();
}

/* Takes run_lock where record_lock is held, which comes after it: at once if it is free. False: it
 * is not, and the caller may not wait; then record_lock is free, too. */
static bool take_run_lock(nx_context *c, bool may_wait) {
  if (nxi_run_try(c)) return true;
  nxi_record_unlock(c);
  if (!may_wait) return false;
  nxi_run_lock(c);
  nxi_record_lock(c);
  return true;
}

/* Where each graph is new, making its key in vain is a twentieth of a small run: after a while only
 * each fourth graph is looked up, unless the caller needs its value at once. */
static bool is_worth_a_look(nx_context *c, bool may_wait) {
  enum { MANY = 8, FOURTH = 4 };
  NXI_HELD(&c->run_lock);
  if (!may_wait || c->brief_misses < MANY) return true;
  return c->brief_misses++ % FOURTH == 0;
}

nxi_brief nxi_brief_lock(nx_context *c, const nxi_storage *s, bool both, bool may_wait) {
  if (nxi_brief_watched()) return NXI_BRIEF_NOT;
  nxi_record_lock(c);
  if (!both && s->value->state == NXI_REALIZED) return NXI_BRIEF_RECORD;
  if (!take_run_lock(c, may_wait)) return NXI_BRIEF_NOT;
  if (s->value->state == NXI_REALIZED) return NXI_BRIEF_BOTH;
  if (is_worth_a_look(c, may_wait) && nxi_brief_run(c, s->value)) return NXI_BRIEF_BOTH;
  nxi_brief_unlock(c, NXI_BRIEF_BOTH);
  return NXI_BRIEF_NOT;
}

void nxi_brief_unlock(nx_context *c, nxi_brief locked) {
  nxi_record_unlock(c);
  if (locked == NXI_BRIEF_BOTH) nxi_run_unlock(c);
}

/* Most who ask ask again without the flag, so nothing is formatted. */
nx_status nxi_brief_refused(const char *op) {
  static const char sentence[] = "it is not there at once (NX_AT_ONCE)";
  nxi_diag d;
  nxi_diag_clear(&d);
  d.status = NX_INTERRUPTED;
  size_t n = strnlen(op, sizeof d.op - 1);
  memcpy(d.op, op, n);
  d.op[n] = 0;
  memcpy(d.message, sentence, sizeof sentence);
  return nxi_error_report(&d);
}
