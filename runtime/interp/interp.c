/* SPDX-License-Identifier: ISC */
/* The device "interp", which interprets graphs node by node. Other devices have tiny graphs, and
 * those that cannot be compiled, carried out by it. */
#include "interp.h"

#include "passes/graph/passes.h"
#include "runtime/host.h"
#include "runtime/launch/internal.h"

typedef struct interp {
  nxi_host_device host;
  nxi_target target;
} interp;

static nx_status open_interp(int32_t number, const nxi_device_setup *s, nxi_device **out,
                             nxi_diag *d) {
  interp *v = nxi_calloc(1, sizeof *v);
  (void)number;
  if (v == NULL) return nxi_oom(d);
  v->host = (nxi_host_device){{0}, s->allocator};
  v->host.base.kind = &nxi_interp_device;
  v->host.base.pool = s->pool;
  v->target = *nxi_target_host();
  nxi_target_use(&v->target, nxi_pool_size(s->pool));
  *out = &v->host.base;
  return NX_OK;
}

static void close_interp(nxi_device *v) { nxi_free(v); }

static void configure(const nxi_device *v, nxi_executable_options *out) {
  out->executor = NXI_GRAPH_INTERP;
  out->target = &((const interp *)v)->target;
}

static const char *interpreted(const nxi_device *v) {
  (void)v;
  return NULL; /* nothing was to be compiled */
}

static bool runs(const nxi_target *t) {
  (void)t;
  return false; /* it has no kernels */
}

/* ---- plans */

static void plan_for(const nxi_executable_options *o, const nxg_graph *g, nxp_options *out) {
  (void)o, (void)g, (void)out;
}

static nx_status load(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                      const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d) {
  nxg_program *program = NULL;
  (void)poll, (void)report;
  nxi_interpret_with_blas();
  nx_status status = nxp_plan_create_interpreted(g, o, &e->plan, d);
  if (status == NX_OK) status = nxp_program_create(g, &program, d);
  if (status != NX_OK) return status;
  e->own = program;
  e->plan->work = nxg_program_work(program);
  return NX_OK;
}

static void unload(nxi_executable *e) { nxg_program_destroy(e->own); }

enum { LONG_STEP = 1 << 17 }; /* elements of a basic operation: about 20 us */

static nx_status run_loop(void *pool, nxg_loop_body *body, void *arg, int64_t n, int64_t grain,
                          int32_t (*poll)(void *user), void *user) {
  return nxi_pool_run_polled(pool, &(nxi_poll){poll, user}, body, arg, n, grain);
}

static nx_status interpret(const nxi_executable *e, const nxi_launch *l, nxi_diag *d) {
  const nxp_plan *p = e->plan;
  const nxg_parallel_loop parallel = {run_loop, l->pool, LONG_STEP};
  int64_t offsets[64], *alias_offsets = NULL, *heap = NULL;
  if (p->alias_range_of != NULL) {
    alias_offsets = offsets;
    if (p->n_inputs > 64 && (alias_offsets = heap = nxi_malloc(p->n_inputs * sizeof *heap)) == NULL)
      return nxi_oom(d);
    for (uint32_t i = 0; i < p->n_inputs; i++)
      alias_offsets[i] =
          ((char *)l->inputs[i] - (char *)l->inputs[p->alias_range_of[i]]) / p->element_bytes[i];
  }
  nx_status status =
      nxg_program_run_polled(e->own, l->inputs, l->params, alias_offsets, l->outputs, l->poll,
                             l->poll_user, nxi_pool_size(l->pool) > 1 ? &parallel : NULL, d);
  nxi_free(heap);
  return status;
}

static nx_status launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d) {
  nxi_fp saved = nxi_fp_enter();
  nx_status status = interpret(e, l, d);
  nxi_fp_leave(saved);
  return status;
}

static const nxi_device_stage stages[] = {{.name = NULL}};

const nxi_device_kind nxi_interp_device = {.name = "interp",
                                           .dlpack_type = 1,
                                           .count = nxi_host_count,
                                           .missing = nxi_host_missing,
                                           .memory = nxi_host_memory,
                                           .open = open_interp,
                                           .close = close_interp,
                                           .wait = nxi_host_wait,
                                           .alloc = nxi_host_alloc,
                                           .free_after = nxi_host_free_after,
                                           .trim = nxi_host_trim,
                                           .statistics = nxi_host_statistics,
                                           .mark = nxi_host_mark,
                                           .configure = configure,
                                           .interpreted = interpreted,
                                           .runs = runs,
                                           .stages = stages,
                                           .plan_for = plan_for,
                                           .load = load,
                                           .unload = unload,
                                           .launch = launch};
