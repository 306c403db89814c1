/* SPDX-License-Identifier: ISC */
/* CUDA graphs: all steps of a plan started by one call. A set of addresses and parameters is
 * captured when it is seen for the second time, of a plan of one or two steps for the twelfth:
 * launches that do not repeat cost nothing, and what the first run prepares (loaded code, choices
 * of libraries) is ready for the capture.
 *
 * Only plans whose steps do nothing but start work on the GPU have graphs: plans with functions
 * that run on the host have none. Control flow that nobody has to wait for is conditional nodes in
 * such a graph (conditions.c). A plan with checks of indices has one graph up to the last of them
 * and one after it, so that the host can look at what they found while the second one runs. */
#include "graphs.h"

#include <string.h>

#include "conditions.h"
#include "launch.h"
#include "passes/pipeline.h"
#include "runtime/debug.h"

/* On an H200 a launch takes the host 3.9 us, and that of a graph 1.8 us whatever is in it; a graph
 * takes 50 us to make, and 2 us more for each step. */
enum { FEW_STEPS = 3, SEEN_MANY = 2, SEEN_FEW = 12 };

static bool may_be_captured(const nxi_gpu_plan *own, const nxp_step *s, uint32_t number) {
  const nxi_gpu_functions *functions = own->calls[number].functions;
  if (s->kind == NXP_STEP_CALL) return functions != NULL && functions->captured;
  if (s->kind == NXP_STEP_SCATTER) return own->calls[number].scatter != NULL;
  if (s->kind == NXP_STEP_CONTROL) return nxi_gpu_control_is_closed(own->calls[number].control);
  return s->kind == NXP_STEP_KERNEL || s->kind == NXP_STEP_COPY || s->kind == NXP_STEP_MATMUL ||
         s->kind == NXP_STEP_CHECK;
}

/* The steps of a plan that one graph may start: up to its last check, and after it. */
typedef struct part {
  uint32_t first, end;
  bool graph; /* they are enough for one */
} part;

static void find_parts(const nxp_plan *p, part parts[2]) {
  uint32_t after = 0;
  for (uint32_t i = 0; i < p->n_steps; i++)
    if (p->steps[i].kind == NXP_STEP_CHECK) after = i + 1;
  parts[0] = (part){0, after, after > 0};
  parts[1] = (part){after, p->n_steps, p->n_steps > after};
}

static void at_least(uint32_t *n, uint32_t number) {
  if (*n <= number) *n = number + 1;
}

/* Counts the inputs, outputs and parameters that the steps of the plan use. */
static void measure(const nxp_plan *p, nxi_gpu_graphs *all) {
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_step *s = &p->steps[i];
    for (uint32_t b = 0; b < s->n_buffers; b++) {
      const nxp_location *l = &s->buffers[b];
      if (l->kind == NXP_INPUT) at_least(&all->inputs, l->number);
      if (l->kind == NXP_OUTPUT) at_least(&all->outputs, l->number);
      if (l->alias_range == NXP_NO_ALIAS_RANGE) continue;
      at_least(&all->inputs, l->alias_range);
      at_least(&all->inputs, l->alias_range_of);
    }
    for (uint32_t k = 0; k < s->n_params; k++) at_least(&all->params, s->params[k]);
  }
  all->words = all->inputs + all->outputs + all->params + 1;
}

nx_status nxi_gpu_plan_capture(nxi_executable *e, nxi_diag *d) {
  const nxp_plan *p = e->plan;
  nxi_gpu_graphs counts = {0};
  part parts[2];
  find_parts(p, parts);
  if (!parts[0].graph && !parts[1].graph) return NX_OK;
  for (uint32_t i = 0; i < p->n_steps; i++)
    if (!may_be_captured(nxi_gpu_plan_of(e), &p->steps[i], i)) return NX_OK;
  measure(p, &counts);
  nxi_gpu_graphs *all = NULL;
  nx_status status = nxi_gpu_graphs_create(counts.words, &all, d);
  if (status != NX_OK) return status;
  all->inputs = counts.inputs;
  all->outputs = counts.outputs;
  all->params = counts.params;
  nxi_gpu_plan_of(e)->graphs = all;
  return NX_OK;
}

static void make_key(const nxi_launch *l, const nxi_gpu_graphs *all) {
  uint64_t *word = all->key;
  for (uint32_t i = 0; i < all->inputs; i++) *word++ = (uint64_t)(uintptr_t)l->inputs[i];
  for (uint32_t i = 0; i < all->outputs; i++) *word++ = (uint64_t)(uintptr_t)l->outputs[i];
  *word++ = (uint64_t)(uintptr_t)l->temporary;
  if (all->params > 0) memcpy(word, l->params, all->params * sizeof *word);
}

/* Captures a part. NULL: there is no graph. */
static nxi_gpu_graph *capture_part(const nxi_executable *e, const nxi_launch *l, const part *p) {
  nxi_poll nobody = {NULL, NULL};
  nxi_gpu_steps some = {.first = p->first, .end = p->end};
  nxi_diag ignored;
  nxi_diag_clear(&ignored);
  if (!nxi_gpu_capture_begin(nxi_gpu_of(e))) return NULL;
  nx_status status = nxi_gpu_start_some(e, l, &nobody, NULL, &some, &ignored);
  return nxi_gpu_capture_end(nxi_gpu_of(e), status == NX_OK);
}

/* Captures a launch. NULL: there is no graph; the steps are then started one by one and report a
 * failure, if there is one. */
static nxi_gpu_kept *capture(const nxi_executable *e, const nxi_launch *l, const part parts[2]) {
  nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  bool both = parts[0].graph && parts[1].graph;
  nxi_gpu_graph *graph = capture_part(e, l, &parts[parts[0].graph ? 0 : 1]),
                *second = both && graph != NULL ? capture_part(e, l, &parts[1]) : NULL;
  if (both && second == NULL) {
    nxi_gpu_graph_destroy(graph);
    graph = NULL;
  }
  nxi_gpu_kept *k = nxi_gpu_graphs_keep(all, graph);
  if (k != NULL) k->second = second;
  return k;
}

static bool has_final(const nxi_executable *e, const nxi_launch *l, const part *p) {
  bool found = false;
  for (uint32_t i = p->first; i < p->end; i++) found = found || nxi_gpu_is_final(e, l, i);
  return found;
}

/* A launch under way. */
typedef struct started {
  const nxi_executable *executable;
  const nxi_launch *launch;
  nxi_poll poll;
  nxi_gpu_steps checks;
  bool refused; /* a graph was not started */
} started;

/* Starts a part as a graph, or its steps one by one. */
static nx_status start(started *s, const part *p, nxi_gpu_graph *graph, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  if (!p->graph) {
    nxi_gpu_steps some = {p->first, p->end, p->first, 0};
    return nxi_gpu_start_some(s->executable, s->launch, &s->poll, NULL, &some, d);
  }
  s->refused = nxi_gpu_graph_launch(graph, &own) != NX_OK;
  if (!s->refused && s->launch->graph_launches != NULL) ++*s->launch->graph_launches;
  return NX_OK;
}

static nx_status start_all(started *s, const nxi_gpu_kept *k, const part parts[2], nxi_diag *d) {
  nxi_gpu_graph *graphs[2] = {k->graph, parts[0].graph ? k->second : k->graph};
  nx_status status = parts[0].end > 0 ? start(s, &parts[0], graphs[0], d) : NX_OK;
  if (status != NX_OK || s->refused) return status;
  s->checks = (nxi_gpu_steps){.end = parts[0].end};
  if (parts[0].end > 0) s->checks.mark = nxi_gpu_mark(nxi_gpu_of(s->executable));
  if (has_final(s->executable, s->launch, &parts[1]))
    status = nxi_gpu_look(s->executable, s->launch, &s->poll, &s->checks, d);
  if (status == NX_OK) status = start(s, &parts[1], graphs[1], d);
  if (status != NX_OK || s->refused) return status;
  return nxi_gpu_look(s->executable, s->launch, &s->poll, &s->checks, d);
}

/* Lock. What a graph of few steps saves is not worth giving up another one: where more addresses
 * recur than there is room for, each would go before it is used again. */
static bool is_worth_a_graph(const nxi_executable *e, nxi_gpu_graphs *all) {
  const bool few = e->plan->n_steps < FEW_STEPS;
  if (few && !nxi_gpu_graphs_has_room(all)) return false;
  return nxi_gpu_graphs_seen(all) >= (few ? SEEN_FEW : SEEN_MANY);
}

/* Lock. */
static nx_status launch(const nxi_executable *e, const nxi_launch *l, bool *done, nxi_diag *d) {
  nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  started s = {.executable = e, .launch = l, .poll = {l->poll, l->poll_user}};
  part parts[2];
  find_parts(e->plan, parts);
  if (has_final(e, l, &parts[0])) return NX_OK;
  make_key(l, all);
  nxi_gpu_kept *k = nxi_gpu_graphs_find(all);
  if (k == NULL && is_worth_a_graph(e, all)) k = capture(e, l, parts);
  if (k == NULL) return NX_OK;
  nx_status status = nxp_ask(&s.poll, d);
  if (status != NX_OK) return status;
  status = start_all(&s, k, parts, d);
  if (s.refused) nxi_gpu_graphs_forget(all, k); /* the steps are started one by one, and report */
  else nxi_gpu_graphs_count(all, k, 1);
  *done = !s.refused;
  return status;
}

nx_status nxi_gpu_launch_graph(const nxi_executable *e, const nxi_launch *l, bool *done,
                               nxi_diag *d) {
  nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  if (all == NULL || (nxi_debug_flags() & NXI_DEBUG_nographs)) return NX_OK;
  if (!nxi_mutex_try(&all->lock)) return NX_OK; /* another thread is capturing or launching */
  nx_status status = nxi_gpu_graphs_pay(all) ? launch(e, l, done, d) : NX_OK;
  nxi_mutex_unlock(&all->lock);
  return status;
}
