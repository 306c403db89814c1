/* SPDX-License-Identifier: ISC */
/* What a GPU attaches to a plan, and running plans on it. */
#ifndef NXI_GPU_LAUNCH_H
#define NXI_GPU_LAUNCH_H

#include "conditions.h"
#include "gpu.h"
#include "library/calls.h"
#include "library/scatter.h"
#include "runtime/launch/internal.h"

/* The functions for a step that is a library call. All NULL: the host does it. */
typedef struct nxi_gpu_step {
  const nxi_gpu_functions *functions;
  nxi_gpu_call_work work;
  nxi_gpu_scatter *scatter;
  nxi_gpu_control *control; /* of a step of control flow */
} nxi_gpu_step;

typedef struct nxi_gpu_plan {
  nxi_gpu_step *calls;    /* by number of the step */
  nxi_gpu_graphs *graphs; /* graphs.c; NULL: there will be none */
} nxi_gpu_plan;

static inline nxi_gpu *nxi_gpu_of(const nxi_executable *e) { return (nxi_gpu *)e->options.device; }
static inline nxi_gpu_plan *nxi_gpu_plan_of(const nxi_executable *e) { return e->own; }

/* plan.c. Takes the steps that the GPU carries out itself, before the plan is packed. */
nx_status nxi_gpu_plan_create(nxi_executable *e, nxi_diag *d);
/* Decides how control flow is carried out, after the bodies are loaded. */
nx_status nxi_gpu_plan_controls(nxi_executable *e, nxi_diag *d);
/* tracks.c. Finds which steps may run side by side in a graph, before the plan is packed. */
nx_status nxi_gpu_plan_tracks(nxi_executable *e, nxi_diag *d);
void nxi_gpu_plan_destroy(nxi_executable *e); /* also for a plan that has nothing attached */
/* graphs.c. Makes room for graphs of launches, if the plan may have them. */
nx_status nxi_gpu_plan_capture(nxi_executable *e, nxi_diag *d);
/* *done: the launch was started as a graph. Otherwise the steps have to be started. */
nx_status nxi_gpu_launch_graph(const nxi_executable *e, const nxi_launch *l, bool *done,
                               nxi_diag *d);
/* launch.c */
nx_status nxi_gpu_plan_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d);
/* nesting: the control flow of which the plan is a body; NULL: of none, or the host runs that. */
nx_status nxi_gpu_start_steps(const nxi_executable *e, const nxi_launch *l, const nxi_poll *poll,
                              const struct nxi_gpu_nesting *nesting, nxi_diag *d);
/* Some of them. What checks find is looked at before the first step after them that must not be
 * started in vain; the others are left to nxi_gpu_look. */
typedef struct nxi_gpu_steps {
  uint32_t first, end;
  uint32_t looked; /* checks before this step have been looked at */
  uint64_t mark;   /* after the last check that was started */
} nxi_gpu_steps;
nx_status nxi_gpu_start_some(const nxi_executable *e, const nxi_launch *l, const nxi_poll *poll,
                             const struct nxi_gpu_nesting *nesting, nxi_gpu_steps *some,
                             nxi_diag *d);
/* Looks at the checks among the steps that were started: NX_INDEX_OUT_OF_RANGE. */
nx_status nxi_gpu_look(const nxi_executable *e, const nxi_launch *l, const nxi_poll *poll,
                       nxi_gpu_steps *some, nxi_diag *d);
/* Whether a step must not be started while a check may have found a bad index. */
bool nxi_gpu_is_final(const nxi_executable *e, const nxi_launch *l, uint32_t number);
/* product.c. at: the addresses of the operands, of the result, and of the addend. */
nx_status nxi_gpu_run_product(const nxp_step *s, nxi_gpu *gpu, const uint64_t at[4], nxi_diag *d);

#endif
