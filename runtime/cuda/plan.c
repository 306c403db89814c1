/* SPDX-License-Identifier: ISC */
/* Decides which steps of a plan a GPU executes itself, and what they need; the host executes the
 * others. Of a plan that is only printed it decides the latter alone. */
#include "launch.h"

static nx_status take_call(nxi_executable *e, uint32_t number, nxi_diag *d) {
  nxp_plan *p = e->plan;
  const nxp_step *step = &p->steps[number];
  nxp_call *call = step->call;
  nxi_gpu_step *own = &nxi_gpu_plan_of(e)->calls[number];
  const nxi_gpu_functions *functions = nxi_gpu_call_functions(nxi_gpu_of(e), call->call);
  if (functions == NULL) {
    call->missing = nxg_is_scan(call->call->op) ? NULL : nxi_gpu_call_lacks(call->call);
    return NX_OK;
  }
  nx_status status = functions->prepare(nxi_gpu_of(e), call->call, &own->work, d);
  if (status != NX_OK) return status;
  own->functions = functions;
  call->by = functions->by;
  nxp_plan_set_scratch(p, step, step->n_buffers - 2, own->work.scratch_bytes);
  return NX_OK;
}

static nx_status take_scatter(nxi_executable *e, uint32_t number, nxi_diag *d) {
  nxp_step *step = &e->plan->steps[number];
  nxi_gpu_step *own = &nxi_gpu_plan_of(e)->calls[number];
  int64_t bytes = 0;
  nx_status status = nxi_gpu_scatter_create(nxi_gpu_of(e), step->scatter,
                                            e->options.sums_in_any_order, &own->scatter, &bytes, d);
  if (status != NX_OK || own->scatter == NULL) return status;
  step->scatter_by = "own kernels";
  nxp_plan_set_scratch(e->plan, step, 3, bytes);
  return NX_OK;
}

nx_status nxi_gpu_plan_create(nxi_executable *e, nxi_diag *d) {
  const nxp_plan *p = e->plan;
  bool here = e->options.device != NULL;
  nxi_gpu_plan *own = e->own = nxi_calloc(1, sizeof *own);
  if (own == NULL) return nxi_oom(d);
  own->calls = nxi_calloc((size_t)p->n_steps + 1, sizeof *own->calls);
  if (own->calls == NULL) return nxi_oom(d);
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < p->n_steps; i++) /* steps after a check come before it is looked at */
    if (p->steps[i].kind == NXP_STEP_CHECK) nxp_plan_keep(e->plan, &p->steps[i], 0);
  for (uint32_t i = 0; here && i < p->n_steps && status == NX_OK; i++) {
    if (p->steps[i].kind == NXP_STEP_CALL) status = take_call(e, i, d);
    else if (p->steps[i].kind == NXP_STEP_SCATTER) status = take_scatter(e, i, d);
  }
  return status;
}

nx_status nxi_gpu_plan_controls(nxi_executable *e, nxi_diag *d) {
  const nxp_plan *p = e->plan;
  bool imagined = e->options.device == NULL;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < p->n_steps && status == NX_OK; i++)
    if (p->steps[i].kind == NXP_STEP_CONTROL) status = nxi_gpu_control_create(e, i, imagined, d);
  return status;
}

void nxi_gpu_plan_destroy(nxi_executable *e) {
  nxi_gpu_plan *own = e->own;
  if (own == NULL) return;
  nxi_gpu_graphs_destroy(own->graphs);
  for (uint32_t i = 0; own->calls != NULL && i < e->plan->n_steps; i++) {
    const nxi_gpu_functions *f = own->calls[i].functions;
    if (f != NULL && f->release != NULL) f->release(own->calls[i].work.state);
    nxi_gpu_scatter_destroy(own->calls[i].scatter);
    nxi_gpu_control_destroy(own->calls[i].control);
  }
  nxi_free(own->calls);
  nxi_free(own);
  e->own = NULL;
}
