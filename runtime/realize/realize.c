/* SPDX-License-Identifier: ISC */
/* Realising. A realise acquires all that it computes in one step. If another run is computing
 * something that it needs, it acquires nothing, waits for a change, and tries again. */
#include <stdio.h>

#include "ir/platform/clock.h"
#include "ir/platform/lock.h"
#include "run.h"
#include "ir/platform/thread.h"
#include "runtime/record/custom.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"

/* ---- workspaces: one is kept for the next run */

nxi_run *nxi_run_take(nx_context *c, nxi_diag *d) {
  nxi_run *run = atomic_exchange_explicit(&c->spare_run, NULL, memory_order_acquire);
  if (!run) run = nxi_calloc(1, sizeof *run);
  if (!run) nxi_oom(d);
  else run->context = c;
  return run;
}

enum { SPARE_WORDS = 1 << 20 }; /* a workspace that grew beyond this is not kept */

void nxi_run_give(nxi_run *run) {
  if (!run) return;
  nx_context *c = run->context;
  nxi_run *spare = run;
  nxi_run_drop_tags(run);
  nxi_run_drop_siblings(run);
  run->tagged = run->everywhere = false;
  if (run->cap_key <= SPARE_WORDS)
    spare = atomic_exchange_explicit(&c->spare_run, run, memory_order_acq_rel);
  nxi_run_free(spare);
}

/* ---- realising nodes */

/* Whether n depends on culprit. Nodes of this epoch are known not to. False also if memory is
 * exhausted. Both locks. */
static bool needs(nx_context *c, nxi_node *n, const nxi_node *culprit) {
  nxi_list stack = {0};
  bool found = false, good = nxi_list_add(&stack, n);
  while (good && !found && stack.n) {
    n = stack.items[--stack.n];
    found = n == culprit;
    if (n->epoch == c->epoch || n->state == NXI_REALIZED) continue;
    n->epoch = c->epoch;
    for (uint32_t i = 0; good && i < n->n_args; i++)
      good = nxi_list_add(&stack, nxi_node_args(n)[i]);
  }
  nxi_free(stack.items);
  return found;
}

/* The first of the nodes that is not realised and depends on the culprit, or else the first that is
 * not realised; -1: all are realised. run_lock. */
static int32_t first_to_fail(nx_context *c, nxi_node *const *nodes, uint32_t n,
                             const nxi_node *culprit) {
  NXI_HELD(&c->run_lock);
  int32_t missing = -1, failed = -1;
  nxi_record_lock(c);
  c->epoch++;
  for (uint32_t i = 0; failed < 0 && i < n; i++) {
    if (nodes[i]->state == NXI_REALIZED) continue;
    if (missing < 0) missing = (int32_t)i;
    if (culprit && needs(c, nodes[i], culprit)) failed = (int32_t)i;
  }
  nxi_record_unlock(c);
  return failed < 0 ? missing : failed;
}

/* Records the operation that caused a failure, and the first of the nodes that fails because of it.
 * run_lock. */
static void blame(nxi_action *a, const nxi_run *run, nxi_node *const *nodes, uint32_t n) {
  NXI_HELD(&a->context->run_lock);
  nxi_node *culprit = run->culprit;
  for (uint32_t i = 0; !culprit && a->diag.node >= 0 && i < run->n_order; i++)
    if (run->slots[i] == (uint32_t)a->diag.node) culprit = run->order[i];
  a->output = first_to_fail(a->context, nodes, n, culprit);
  if (!culprit && a->output >= 0) culprit = nodes[a->output];
  a->blamed = culprit != NULL;
  if (!culprit) return;
  nxi_oom_in(&a->diag, a->diag.status, nxi_op_name(culprit->op));
  nxi_called_diag(&a->diag, culprit->called);
  const char *text = nxi_tag_text(culprit->tag);
  a->tag = nxi_tag_number(culprit->tag);
  snprintf(a->tag_text, sizeof a->tag_text, "%s", text ? text : "");
}

/* One attempt for the nodes of one device. NX_OK with *acquired false: nothing is left to do.
 * run_lock. */
static nx_status attempt(nxi_run *run, nxi_node *const *nodes, uint32_t n, nxi_node **roots,
                         uint32_t *n_roots, bool *acquired, nxi_diag *d) {
  NXI_HELD(&run->context->run_lock);
  uint32_t wanted = 0;
  *acquired = false;
  for (uint32_t i = 0; i < n; i++)
    if (nodes[i]->state != NXI_REALIZED && nodes[i]->device == run->device)
      roots[wanted++] = nodes[i];
  *n_roots = wanted;
  if (!wanted) return NX_OK;
  nx_status status = nxi_extract(run, roots, wanted, d);
  if (!status) status = nxi_acquire(run, d);
  *acquired = !status;
  return nxi_oom_during(d, status, "planning");
}

/* Whether a custom operation, which this thread is in, waits for the run that called it, or for one
 * around that: there is no other run. run_lock. */
static bool waits_for_itself(const nx_context *c) {
  NXI_HELD(&c->run_lock);
  if (nxi_custom_depth() == 0) return false;
  for (const nxi_run *run = c->runs; run; run = run->next)
    if (atomic_load_explicit(&run->launcher, memory_order_relaxed) != nxi_thread_self())
      return false;
  return c->runs != NULL;
}

static nx_status fail_waiting(nxi_diag *d) {
  return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                  "custom: the function waits for what the run that called it computes");
}

/* Undoes acquiring. run_lock, which is released meanwhile. */
static void release(nxi_run *run, nx_status failure, const char *why) {
  nxi_run_unlock(run->context);
  nxi_release(run, failure, why);
  nxi_run_lock(run->context);
}

/* Realises what the nodes need of other devices. run_lock, which is released meanwhile. */
static nx_status go_elsewhere(nxi_action *a, nxi_node *const *nodes, uint32_t n,
                              nxi_node *const *roots, uint32_t wanted) {
  nxi_node *failed = NULL;
  nx_status status = nxi_realize_crossings(a, roots, wanted, &failed);
  if (status) a->output = first_to_fail(a->context, nodes, n, failed);
  return status;
}

/* run_lock, which is released while the device works. */
static nx_status run_device(nxi_action *a, nxi_run *run, nxi_node *const *nodes, uint32_t n,
                            nxi_node **roots) {
  nx_context *c = a->context;
  for (;;) {
    bool acquired;
    uint32_t wanted;
    double began = a->filled.report ? nxi_now_ms() : 0;
    nx_status status = attempt(run, nodes, n, roots, &wanted, &acquired, &a->diag);
    if (status == NXI_ELSEWHERE) {
      status = go_elsewhere(a, nodes, n, roots, wanted);
      if (status) return status;
      continue;
    }
    if (status == NXI_WAIT && waits_for_itself(c)) status = fail_waiting(&a->diag);
    if (status == NXI_WAIT) status = nxi_wait_change(c, a->options, &a->diag);
    else if (!status && !acquired) return NX_OK;
    if (status) return blame(a, run, nodes, n), status;
    if (!acquired) continue;
    if (a->filled.report) a->report.record_ms += nxi_now_ms() - began;
    status = nxi_execute(run, a);
    if (status == NXI_AGAIN) {
      release(run, status, NULL);
      continue;
    }
    /* memory may suffice for the requested values alone */
    if (status == NX_OUT_OF_MEMORY && run->n_kept && !run->effects) {
      release(run, status, NULL);
      nxi_diag_clear(&a->diag);
      run->frugal = true;
      continue;
    }
    if (status) {
      blame(a, run, nodes, n); /* the run's outputs still keep its nodes alive */
      release(run, status, a->diag.message);
      return status;
    }
    nxi_attach(run);
  }
}

typedef struct wanted {
  nxi_action *a;
  nxi_node *const *nodes;
  uint32_t n;
} wanted;

nx_status nxi_realize_on(nxi_action *a, int32_t device, nxi_node *const *nodes, uint32_t n) {
  nx_context *c = a->context;
  nx_status status = NX_OK;
  nxi_run *run = nxi_run_take(c, &a->diag);
  nxi_node *few[16], **roots = n <= 16 ? few : nxi_malloc(n * sizeof *roots);
  if (!run || !roots) status = nxi_oom_during(&a->diag, NX_OUT_OF_MEMORY, "planning");
  if (!status) {
    run->device = device;
    run->frugal = false;
    run->options = a->options;
    run->stopped = a->stopped;
    run->report = &a->report;
    nxi_run_lock(c);
    status = run_device(a, run, nodes, n, roots);
    nxi_run_unlock(c);
  }
  if (roots != few) nxi_free(roots);
  nxi_run_give(run);
  return status;
}

nx_status nxi_realize_here(nxi_action *a, nxi_node *const *nodes, uint32_t n) {
  for (uint32_t i = 1; i < n; i++)
    if (nodes[i]->device != nodes[0]->device) return nxi_realize_on_each(a, nodes, n);
  return n ? nxi_realize_on(a, nodes[0]->device, nodes, n) : NX_OK;
}

static nx_status realize_nodes(void *arg) {
  const wanted *w = arg;
  return nxi_realize_here(w->a, w->nodes, w->n);
}

enum { FEW_NODES = 1 << 14 }; /* are extracted in a millisecond or two */

bool nxi_may_last(nx_context *c) {
  if (!nxi_lock_try(&c->run_lock)) return true;
  nxi_lock_give(&c->run_lock);
  return nx_pending(c, NULL) > FEW_NODES;
}

nx_status nxi_realize_nodes(nxi_action *a, nxi_node *const *nodes, uint32_t n) {
  wanted w = {a, nodes, n};
  nx_status status = nxi_action_stopped(a);
  if (status) return status;
  bool lasts = a->asked.fn && !a->offloaded && nxi_may_last(a->context);
  return lasts ? nxi_action_work(a, realize_nodes, &w) : realize_nodes(&w);
}

nx_status nxi_realize_storage(nxi_action *a, nxi_storage *s, nxi_node **node) {
  nx_context *c = a->context;
  nx_status status = nxi_action_stopped(a); /* called even if the value is realised */
  if (status) return status;
  nxi_record_lock(c);
  nxi_node *value = s->value;
  value->refs++;
  bool done = value->state == NXI_REALIZED;
  nxi_record_unlock(c);
  if (!done) status = nxi_realize_nodes(a, &value, 1);
  if (!status && node) {
    *node = value;
    return NX_OK;
  }
  nxi_record_lock(c);
  nxi_node_unref(c, value);
  nxi_record_unlock(c);
  return status;
}

/* ---- nx_realize */

nx_status nx_realize(nx_context *c, nx_tensor *const *t, size_t n, const nx_run_options *o) {
  if (!nxi_have_context("realize", 0, c)) return NX_INVALID_ARGUMENT;
  for (size_t i = 0; i < n; i++) {
    const nx_tensor *x = t ? t[i] : NULL;
    if (!nxi_have_tensor("realize", (int32_t)i, x) || !x) return NX_INVALID_ARGUMENT;
    if (x->context == c) continue;
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, "realize", "realize: tensor %zu belongs to another context",
             i);
    return nxi_error_report(&d);
  }
  nxi_brief now = NXI_BRIEF_NOT;
  const bool only = nxi_brief_only(o), tried = n == 1 && (!o || only) && !nxi_callbacks_wait(c);
  if (tried) now = nxi_brief_lock(c, t[0]->storage, false, !o);
  if (now) return nxi_brief_unlock(c, now), NX_OK;
  if (only) return nxi_brief_refused("realize");
  nxi_action a;
  nxi_action_begin(&a, c, o);
  a.tried = tried;
  return nxi_action_end(&a, nxi_oom_in(&a.diag, nxi_realize_tensors(&a, t, n), "realize"));
}
