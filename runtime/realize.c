/* SPDX-License-Identifier: ISC */
/* Realising. A realise claims what it computes in one step; if another run is computing something that it needs, it
 * claims nothing, waits for a change, and looks again. */
#include "runtime/run.h"

/* ---- workspaces: one is kept for the next run */

nxi_run *nxi_run_take(nx_context *c, nxi_diag *d) {
  nxi_run_lock(c);
  nxi_run *run = c->spare_run;
  c->spare_run = NULL;
  nxi_run_unlock(c);
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
  run->tagged = false;
  if (run->cap_key <= SPARE_WORDS) {
    nxi_run_lock(c);
    spare = c->spare_run;
    c->spare_run = run;
    nxi_run_unlock(c);
  }
  nxi_run_free(spare);
}

/* ---- realising nodes */

/* Whether n needs culprit. Nodes of this epoch do not. False without memory, too. Both locks. */
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

/* The first of the nodes that is not there and needs the culprit, or else is not there; -1: all are. run_lock. */
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

/* The operation to blame for a failure, and the first of the nodes that fails for it. run_lock. */
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
  const nxi_tag *tag = culprit->tag;
  a->tag = tag ? tag->number : 0;
  snprintf(a->tag_text, sizeof a->tag_text, "%s", tag ? tag->text : "");
}

/* One attempt for the nodes of one device. NX_OK with *claimed false: nothing is left to do. run_lock. */
static nx_status attempt(nxi_run *run, nxi_node *const *nodes, uint32_t n, nxi_node **roots,
                         bool *claimed, nxi_diag *d) {
  NXI_HELD(&run->context->run_lock);
  uint32_t wanted = 0;
  *claimed = false;
  for (uint32_t i = 0; i < n; i++)
    if (nodes[i]->state != NXI_REALIZED && nodes[i]->device == run->device)
      roots[wanted++] = nodes[i];
  if (!wanted) return NX_OK;
  nx_status status = nxi_extract(run, roots, wanted, d);
  if (!status) status = nxi_claim(run, d);
  *claimed = !status;
  return nxi_oom_during(d, status, "planning");
}

static nx_status run_device(nxi_action *a, nxi_run *run, nxi_node *const *nodes, uint32_t n,
                            nxi_node **roots) {
  nx_context *c = a->context;
  for (;;) {
    bool claimed;
    double began = a->filled.report ? nxi_now_ms() : 0;
    nxi_run_lock(c);
    nx_status status = attempt(run, nodes, n, roots, &claimed, &a->diag);
    if (status == NXI_WAIT) status = nxi_wait_change(c, a->options, &a->diag);
    else if (!status && !claimed) return nxi_run_unlock(c), NX_OK;
    if (status) blame(a, run, nodes, n);
    nxi_run_unlock(c);
    if (status) return status;
    if (!claimed) continue;
    if (a->filled.report) a->report.record_ms += nxi_now_ms() - began;
    status = nxi_execute(run, a);
    if (status) {
      nxi_run_lock(c);
      blame(a, run, nodes, n); /* while the run's outputs keep its nodes alive */
      nxi_run_unlock(c);
      nxi_abandon(run, status);
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

static nx_status realize_nodes(void *arg) {
  const wanted *w = arg;
  nxi_action *a = w->a;
  nxi_node *const *nodes = w->nodes;
  uint32_t n = w->n;
  nx_context *c = a->context;
  nx_status status = NX_OK;
  nxi_run *run = nxi_run_take(c, &a->diag);
  nxi_node *few[16], **roots = n <= 16 ? few : nxi_malloc(n * sizeof *roots);
  if (!run || !roots) status = nxi_oom_during(&a->diag, NX_OUT_OF_MEMORY, "planning");
  for (int32_t device = 0; !status && device < nx_device_count(c); device++) {
    run->device = device;
    run->options = a->options;
    run->report = &a->report;
    status = run_device(a, run, nodes, n, roots);
  }
  if (roots != few) nxi_free(roots);
  nxi_run_give(run);
  return status;
}

enum { FEW_NODES = 1 << 14 }; /* are extracted in a millisecond or two */

/* Whether even what surrounds compiling and running, or waiting for the lock, may last. */
static bool may_last(nx_context *c) {
  if (!nxi_lock_try(&c->run_lock)) return true;
  nxi_run_unlock(c);
  nxi_record_lock(c);
  bool many = c->pending_nodes > FEW_NODES || c->live_storages > FEW_NODES;
  nxi_record_unlock(c);
  return many;
}

nx_status nxi_realize_nodes(nxi_action *a, nxi_node *const *nodes, uint32_t n) {
  wanted w = {a, nodes, n};
  nx_status status = nxi_action_stopped(a);
  if (status) return status;
  bool lasts = a->asked.fn && !a->deputed && may_last(a->context);
  return lasts ? nxi_action_work(a, realize_nodes, &w) : realize_nodes(&w);
}

nx_status nxi_realize_storage(nxi_action *a, nxi_storage *s, nxi_node **node) {
  nx_context *c = a->context;
  nx_status status = nxi_action_stopped(a); /* also if the value is there */
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

static bool add_value(nxi_list *nodes, nxi_storage *s) {
  if (s->value->state == NXI_REALIZED) return true;
  if (!nxi_list_add(nodes, s->value)) return false;
  s->value->refs++;
  return true;
}

/* Live tensors that can be realised and that no recorded operation consumes: their node has no more references
 * than there are storages of it. The marks of extraction count those; both locks. */
static bool add_pending(nx_context *c, nxi_list *nodes) {
  c->epoch++;
  for (nxi_storage *s = c->storages; s; s = s->next) {
    if (s->value->epoch != c->epoch) s->value->index = 0;
    s->value->epoch = c->epoch;
    s->value->index++;
  }
  for (nxi_storage *s = c->storages; s; s = s->next) {
    nxi_node *n = s->value;
    bool traced = atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_TRACED;
    bool wanted =
        n->state == NXI_PENDING && n->op != NXI_OP_EMPTY && n->refs == n->index && !traced;
    if (n->index && wanted) {
      n->index = 0; /* once */
      if (!add_value(nodes, s)) return false;
    }
  }
  return true;
}

static nx_status collect_roots(nx_context *c, nx_tensor *const *t, size_t n, uint32_t flags,
                               nxi_list *nodes) {
  bool good = true;
  if (flags & NX_DO_PENDING) nxi_run_lock(c);
  nxi_record_lock(c);
  nxi_drain(c, 64);
  if (good && flags & NX_DO_PENDING) good = add_pending(c, nodes);
  for (size_t i = 0; good && i < n; i++) good = add_value(nodes, t[i]->storage);
  if (good && flags & (NX_DO_DUE | NX_DO_PENDING)) good = nxi_due_collect(c, nodes);
  nxi_record_unlock(c);
  if (flags & NX_DO_PENDING) nxi_run_unlock(c);
  return good ? NX_OK : NX_OUT_OF_MEMORY;
}

/* The number of the first tensor with a value; -1: none. record_lock. */
static int32_t number_of(const nxi_node *value, nx_tensor *const *t, size_t n) {
  for (size_t i = 0; i < n && i <= INT32_MAX; i++)
    if (t[i]->storage->value == value) return (int32_t)i;
  return -1;
}

typedef struct request {
  nxi_action *a;
  nx_tensor *const *tensors;
  size_t n;
} request;

static nx_status realize(void *arg) {
  const request *r = arg;
  nxi_action *a = r->a;
  nx_tensor *const *t = r->tensors;
  size_t n = r->n;
  nx_context *c = a->context;
  nxi_list nodes = {0};
  nx_status status = nxi_action_stopped(a);
  if (status) return status;
  status = collect_roots(c, t, n, a->filled.flags, &nodes);
  if (!status && nodes.n) status = nxi_realize_nodes(a, (nxi_node **)nodes.items, nodes.n);
  nxi_oom_in(&a->diag, nxi_oom_during(&a->diag, status, "planning"), "realize");
  nxi_record_lock(c);
  if (status && a->blamed && a->output >= 0) a->output = number_of(nodes.items[a->output], t, n);
  for (uint32_t i = 0; i < nodes.n; i++) nxi_node_unref(c, nodes.items[i]);
  if (c->due_used) nxi_due_settle(c);
  nxi_record_unlock(c);
  nxi_free(nodes.items);
  return status;
}

nx_status nx_realize(nx_context *c, nx_tensor *const *t, size_t n, const nx_run_options *o) {
  if (!nxi_have_context("realize", 0, c)) return NX_INVALID_ARGUMENT;
  for (size_t i = 0; i < n; i++) {
    if (!nxi_have_tensor("realize", (int32_t)i, t ? t[i] : NULL)) return NX_INVALID_ARGUMENT;
    if (t[i]->context == c) continue;
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, "realize", "realize: tensor %zu belongs to another context",
             i);
    return nxi_error_report(&d);
  }
  nxi_action a;
  nxi_action_begin(&a, c, o);
  request r = {&a, t, n};
  bool lasts = a.asked.fn && may_last(c);
  return nxi_action_end(&a, lasts ? nxi_action_work(&a, realize, &r) : realize(&r));
}
