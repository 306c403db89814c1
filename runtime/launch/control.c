/* SPDX-License-Identifier: ISC */
/* Control flow as steps of plans: bodies are executables of their own, which share the temporary
 * memory of the step. Bodies of very little work are interpreted, which costs less than launching a
 * plan. The order of what runs is that of ir/graph/control_run.c. */
#include "internal.h"

#include <string.h>

#include "ir/platform/clock.h"

enum { FEW_NODES = 8, FEW_ELEMENTS = 64 };
static const int64_t poll_ns = 10 * 1000 * 1000;

/* ---- executables of bodies */

/* Whether a body is done sooner by the interpreter than by kernels. */
static bool is_slight(const nxg_graph *g) {
  int64_t elements = 0, nodes = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    const nxg_node *x = n->n_args ? &g->nodes[n->args[0]] : n;
    uint8_t kind = nxg_ops[n->op].kind;
    if (n->op == NXG_input) continue;
    if (kind == NXG_KIND_CALL || kind == NXG_KIND_LIBRARY || kind == NXG_KIND_CONTROL) return false;
    if (kind != NXG_KIND_VIEW && n->op != NXG_full) nodes++;
    elements += nxg_node_elements(n) + nxg_node_elements(x);
    if (nodes > FEW_NODES || elements > FEW_ELEMENTS) return false;
  }
  return true;
}

static void add_report(nxi_compile_report *to, const nxi_compile_report *from) {
  to->kernels += from->kernels;
  to->library_calls += from->library_calls;
  to->host_calls += from->host_calls;
  to->kernel_hits += from->kernel_hits;
  to->kernel_disk_hits += from->kernel_disk_hits;
  to->kernel_misses += from->kernel_misses;
  to->generic_hits += from->generic_hits;
  to->generic_misses += from->generic_misses;
  to->without_library += from->without_library;
  if (from->missing_library != NULL) to->missing_library = from->missing_library;
  to->compile_ms += from->compile_ms;
}

/* ---- values that a body updates in place */

static bool is_in_place(const nxp_control *k, uint32_t i) {
  return k->lies_in[i] == (int32_t)(k->c.indexed + i);
}

/* Notes in which inputs the body leaves results. False: it may overwrite one whose new value is
 * elsewhere. */
static bool note_updates(nxp_control *k, const nxg_graph *g, const nxp_plan *p) {
  for (uint32_t i = 0; i < k->c.n_results; i++) k->lies_in[i] = p->outputs[i].in_place_of;
  for (uint32_t i = 0; i < k->c.n_carried; i++)
    if (g->inputs[k->c.indexed + i].flags != 0 && !is_in_place(k, i)) return false;
  return true;
}

static nx_status load_body(nxi_executable *e, const nxg_graph *g, const nxi_poll *poll,
                           nxi_executable **out, nxi_compile_report *report, nxi_diag *d) {
  nxi_executable_options o = e->options;
  nxi_compile_report own = {0};
  o.in_body = true;
  o.target = &e->plan->target;
  bool host = o.device == NULL || !o.device->kind->own_memory;
  if (o.executor == NXI_COMPILED && host && !o.printed && is_slight(g))
    o.executor = NXI_GRAPH_INTERP;
  nx_status status = nxi_executable_create(g, &o, poll->fn, poll->user, out, &own, d);
  if (status == NX_OK && (*out)->lacks) e->lacks = true;
  add_report(report, &own);
  return status;
}

/* The body of a loop. */
static nx_status load_step(nxi_executable *e, nxp_control *k, const nxg_graph *g,
                           const nxi_poll *poll, nxi_executable **out, nxi_compile_report *report,
                           nxi_diag *d) {
  nxg_graph *over = NULL;
  nx_status status = nxp_allow_updates(&k->c, g, &over, d);
  if (status == NX_OK) status = load_body(e, over != NULL ? over : g, poll, out, report, d);
  if (status == NX_OK && over != NULL && !note_updates(k, over, (*out)->plan)) {
    nxi_executable_destroy(*out);
    *out = NULL;
    for (uint32_t i = 0; i < k->c.n_results; i++) k->lies_in[i] = -1;
    status = load_body(e, g, poll, out, report, d);
  }
  nxg_destroy(over);
  return status;
}

/* A branch that may overwrite what results are updates of. A result that is such an input as it was
 * becomes an output of nothing. */
static nxg_graph *updating_branch(const nxp_control *k, const nxg_graph *from) {
  static const int64_t attrs[2] = {0, -1}, none[1] = {0};
  nxg_graph *g = nxg_copy(from);
  for (uint32_t i = 0; g != NULL && i < k->c.n_results; i++) {
    int32_t input = nxp_case_updates(&k->c, i);
    if (input < 0) continue;
    nx_dtype t = (nx_dtype)g->nodes[g->inputs[input].node].dtype;
    if (nxp_gives_input(g, i, (uint32_t)input))
      g->outputs[i].node = nxg_add(g, NXG_full, 0, NULL, attrs, 2, t, 1, none);
    else g->inputs[input].flags = NXG_INPUT_OVERWRITE | NXG_INPUT_SPENT | NXG_INPUT_ALIGNED;
  }
  if (g != NULL && !g->failed) return g;
  nxg_destroy(g);
  return NULL;
}

static void unload(nxi_executable **bodies, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    nxi_executable_destroy(bodies[i]);
    bodies[i] = NULL;
  }
}

/* Whether a branch leaves results in inputs where that is expected, and only there: a value may be
 * two results, of which one is no update in another branch. */
static bool lies_as_expected(const nxp_control *k, const nxg_graph *g, const nxp_plan *p) {
  for (uint32_t i = 0; i < k->c.n_results; i++) {
    int32_t input = p->outputs[i].in_place_of;
    bool empty = nxg_node_elements(&g->nodes[g->outputs[i].node]) == 0;
    if (input != k->lies_in[i] && (k->lies_in[i] < 0 || !empty)) return false;
  }
  return true;
}

/* Branches that update in place. *good: all do, where they update. */
static nx_status load_updating(nxi_executable *e, nxp_control *k, const nxi_poll *poll,
                               nxi_executable **bodies, nxi_compile_report *report, bool *good,
                               nxi_diag *d) {
  const nxg_control *c = &k->c;
  for (uint32_t i = 0; i < c->n_results; i++) {
    k->lies_in[i] = nxp_case_updates(c, i);
    *good = *good || k->lies_in[i] >= 0;
  }
  for (uint32_t b = 0; b < c->n_bodies && *good; b++) {
    nxg_graph *g = updating_branch(k, nxg_body_find(c->bodies[b])->graph);
    if (g == NULL) return nxi_oom(d);
    nx_status status = load_body(e, g, poll, &bodies[b], report, d);
    if (status == NX_OK && !lies_as_expected(k, g, bodies[b]->plan)) *good = false;
    nxg_destroy(g);
    if (status != NX_OK) return status;
  }
  return NX_OK;
}

static nx_status load_branches(nxi_executable *e, nxp_control *k, const nxi_poll *poll,
                               nxi_executable **bodies, nxi_compile_report *report, nxi_diag *d) {
  const nxg_control *c = &k->c;
  bool good = false;
  nx_status status = load_updating(e, k, poll, bodies, report, &good, d);
  if (status != NX_OK || good) return status;
  unload(bodies, c->n_bodies);
  for (uint32_t i = 0; i < c->n_results; i++) k->lies_in[i] = -1;
  for (uint32_t b = 0; b < c->n_bodies && status == NX_OK; b++)
    status = load_body(e, nxg_body_find(c->bodies[b])->graph, poll, &bodies[b], report, d);
  return status;
}

static nx_status load_loop(nxi_executable *e, nxp_control *k, const nxi_poll *poll,
                           nxi_executable **bodies, nxi_compile_report *report, nxi_diag *d) {
  const nxg_control *c = &k->c;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < c->n_bodies && status == NX_OK; i++) {
    const nxg_graph *g = nxg_body_find(c->bodies[i])->graph;
    status = i + 1 == c->n_bodies ? load_step(e, k, g, poll, &bodies[i], report, d)
                                  : load_body(e, g, poll, &bodies[i], report, d);
  }
  return status;
}

static nx_status load_control(nxi_executable *e, uint32_t number, const nxi_poll *poll,
                              nxi_compile_report *report, nxi_diag *d) {
  const nxp_step *step = &e->plan->steps[number];
  nxp_control *k = step->control;
  const nxg_control *c = &k->c;
  nxi_executable **bodies = nxi_calloc(c->n_bodies, sizeof(nxi_executable *));
  if (bodies == NULL) return nxi_oom(d);
  e->bodies[number] = bodies;
  bool branches = c->op == NXG_case;
  nx_status status = branches ? load_branches(e, k, poll, bodies, report, d)
                              : load_loop(e, k, poll, bodies, report, d);
  if (status != NX_OK) return status;
  int64_t most = 0, steps = branches ? 1 : c->count >= 0 ? c->count : 1 << 20;
  for (uint32_t i = 0; i < c->n_bodies; i++) {
    const nxp_plan *p = bodies[i]->plan;
    e->shares += bodies[i]->shares;
    if (p->temporary_bytes > most) most = p->temporary_bytes;
    nxp_more_work(e->plan, (double)steps * ((double)p->work + 1));
  }
  uint32_t spares = branches ? c->n_results : c->n_carried;
  for (uint32_t i = 0; i < spares; i++)
    if (branches ? k->lies_in[i] >= 0 : is_in_place(k, i))
      nxp_plan_set_scratch(e->plan, step, k->n_operands + c->n_results + i, 0);
  nxp_plan_set_scratch(e->plan, step, step->n_buffers - 1, most);
  return NX_OK;
}

nx_status nxi_load_controls(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                            nxi_diag *d) {
  const nxp_plan *p = e->plan;
  nx_status status = NX_OK;
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_steps; i++) n += p->steps[i].kind == NXP_STEP_CONTROL;
  if (n == 0) return NX_OK;
  e->bodies = nxi_calloc(p->n_steps, sizeof *e->bodies);
  if (e->bodies == NULL) return nxi_oom(d);
  for (uint32_t i = 0; i < p->n_steps && status == NX_OK; i++)
    if (p->steps[i].kind == NXP_STEP_CONTROL) status = load_control(e, i, poll, report, d);
  return status;
}

void nxi_release_controls(nxi_executable *e) {
  for (uint32_t i = 0; e->bodies != NULL && i < e->plan->n_steps; i++) {
    const nxp_control *k = e->plan->steps[i].control;
    for (uint32_t b = 0; e->bodies[i] != NULL && b < k->c.n_bodies; b++)
      nxi_executable_destroy(e->bodies[i][b]);
    nxi_free(e->bodies[i]);
  }
  nxi_free(e->bodies);
}

/* ---- running */

nx_status nxi_run_control(const nxp_step *s, void **at, nxi_control_device *v, nxi_diag *d) {
  const nxp_control *k = s->control;
  void **results = at + k->n_operands, **spares = results + k->c.n_results;
  char *values = at[s->n_buffers - 3];
  v->temporary = at[s->n_buffers - 1];
  nxg_control_frame f = {.c = &k->c,
                         .operands = at,
                         .results = results,
                         .spares = spares,
                         .lies_in = k->lies_in,
                         .index = values,
                         .holds = values + 64,
                         .numbers = v->numbers,
                         .slices = spares + k->c.n_carried,
                         .bytes = k->bytes,
                         .strides = k->strides,
                         .room = at + s->n_buffers,
                         .run = v->run,
                         .copy = v->copy,
                         .fetch = v->fetch,
                         .put = v->put,
                         .ask = v->ask,
                         .user = v,
                         .index_dtype = k->index_dtype};
  nx_status status = nxg_control_run(&f, d);
  if (status != NX_OK && d != NULL && d->node < 0) d->node = (int32_t)k->origin;
  return status;
}

/* The caller's poll, at most every 10 ms however short the steps of bodies are. */
int32_t nxi_control_poll(void *user) {
  nxi_control_device *v = user;
  int64_t now = nxi_now_ns();
  if (v->stopped || now - v->polled_ns < poll_ns) return v->stopped;
  v->stopped = v->poll->fn(v->poll->user) != 0;
  v->polled_ns = nxi_now_ns(); /* the function has taken time */
  return v->stopped;
}

nx_status nxi_control_ask(void *user, nxi_diag *d) {
  nxi_control_device *v = user;
  if (v->poll->fn == NULL || nxi_control_poll(v) == 0) return NX_OK;
  return nxi_fail(d, NX_INTERRUPTED, "", "the poll callback asked to stop");
}
