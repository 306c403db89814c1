/* SPDX-License-Identifier: ISC */
/* CUDA graphs: all steps of a plan started by one call. A set of addresses and parameters is
 * captured when it is seen for the second time: launches that do not repeat cost nothing, and what
 * the first run prepares (loaded code, choices of libraries) is ready for the capture.
 *
 * Only plans whose steps do nothing but start work on the GPU have graphs: plans with checks of
 * indices, or with functions that run on the host, have none. Control flow that nobody has to wait
 * for is conditional nodes in such a graph (conditions.c). */
#include "graphs.h"

#include <string.h>

#include "conditions.h"
#include "launch.h"
#include "passes/pipeline.h"
#include "runtime/debug.h"

enum { FEWEST_STEPS = 3 }; /* a graph costs about as much as two launches */

static bool may_be_captured(const nxi_gpu_plan *own, const nxp_step *s, uint32_t number) {
  const nxi_gpu_functions *functions = own->calls[number].functions;
  if (s->kind == NXP_STEP_CALL) return functions != NULL && functions->captured;
  if (s->kind == NXP_STEP_SCATTER) return own->calls[number].scatter != NULL;
  if (s->kind == NXP_STEP_CONTROL) return nxi_gpu_control_is_closed(own->calls[number].control);
  return s->kind == NXP_STEP_KERNEL || s->kind == NXP_STEP_COPY || s->kind == NXP_STEP_MATMUL;
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
  if (p->n_steps < FEWEST_STEPS) return NX_OK;
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

/* Captures a launch. NULL: there is no graph; the steps are then started one by one and report a
 * failure, if there is one. */
static nxi_gpu_kept *capture(const nxi_executable *e, const nxi_launch *l) {
  nxi_poll nobody = {NULL, NULL};
  nxi_diag ignored;
  nxi_diag_clear(&ignored);
  if (!nxi_gpu_capture_begin(nxi_gpu_of(e))) return NULL;
  nx_status status = nxi_gpu_start_steps(e, l, &nobody, NULL, &ignored);
  nxi_gpu_graph *graph = nxi_gpu_capture_end(nxi_gpu_of(e), status == NX_OK);
  return nxi_gpu_graphs_keep(nxi_gpu_plan_of(e)->graphs, graph);
}

/* Lock. */
static nx_status launch(const nxi_executable *e, const nxi_launch *l, bool *done, nxi_diag *d) {
  nxi_gpu_graphs *all = nxi_gpu_plan_of(e)->graphs;
  nxi_poll poll = {l->poll, l->poll_user};
  make_key(l, all);
  nxi_gpu_kept *k = nxi_gpu_graphs_find(all);
  if (k == NULL && nxi_gpu_graphs_know(all)) k = capture(e, l);
  if (k == NULL) return NX_OK;
  nx_status status = nxp_ask(&poll, d);
  if (status != NX_OK) return status;
  nxi_diag own;
  nxi_diag_clear(&own);
  if (nxi_gpu_graph_launch(k->graph, &own) != NX_OK) {
    nxi_gpu_graphs_forget(all, k); /* the steps are started one by one, and report a failure */
    return NX_OK;
  }
  nxi_gpu_graphs_count(all, k, 1);
  *done = true;
  if (l->graph_launches != NULL) ++*l->graph_launches;
  return NX_OK;
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
