/* SPDX-License-Identifier: ISC */
/* Custom operations with a function for devices: it starts work on the GPU's stream, and is given
 * addresses there. */
#include "ir/library/custom.h"
#include "calls.h"
#include "runtime/cuda/internal.h"

static bool takes(nxi_gpu *g, const nxg_call *call) {
  (void)g;
  return call->op == NXG_custom && nxg_custom_of(call->attrs)->on_device;
}

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d) {
  (void)g, (void)call, (void)work, (void)d;
  return NX_OK;
}

static bool stopped(void *user) {
  const nxi_poll *poll = user;
  return poll->fn != NULL && poll->fn(poll->user) != 0;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const nxg_custom *f = nxg_custom_of(r->call->attrs);
  void *operands[NXG_CALL_OPERANDS], *results[NXG_CALL_RESULTS];
  for (uint32_t i = 0; i < f->n_operands; i++) operands[i] = (void *)(uintptr_t)r->operands[i];
  for (uint32_t i = 0; i < f->n_results; i++) results[i] = (void *)(uintptr_t)r->results[i];
  const nxg_call_part part = {.call = r->call,
                              .end = 1,
                              .operands = operands,
                              .results = results,
                              .stopped = stopped,
                              .user = (void *)r->poll};
  nx_status status = nxi_gpu_enter(r->gpu, d);
  if (status != NX_OK) return status;
  r->why = f->run(f, &part, nxi_gpu_stream(r->gpu), r->said, sizeof r->said);
  if (r->why == NX_OK && f->ordered)
    status = nxi_gpu_fill(r->gpu, r->results[f->n_results - 1], 1, 1, d); /* the next token */
  nxi_gpu_leave(r->gpu);
  return status;
}

const nxi_gpu_functions nxi_gpu_custom_functions = {
    .by = "its own function", .takes = takes, .prepare = prepare, .run = run};
