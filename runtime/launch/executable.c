/* SPDX-License-Identifier: ISC */
/* Makes executables: plans the graph, loads the code and the functions that the steps of the plan
 * call, and adds the memory that these need to the plan. */
#include "internal.h"

#include "ir/platform/clock.h"
#include "runtime/library/libraries.h"
#include "runtime/trace.h"

/* ---- calls */

/* The number of threads that may run the call at once, each of which needs separate scratch
 * memory. */
static int32_t workers(const nxp_plan *p, const nxg_call_work *work) {
  return nxi_call_is_of_one_task(work) ? 1 : p->threads;
}

/* Reserves scratch memory for the call and for its threads. Calls that the host executes for a GPU
 * have their own scratch memory. */
static void reserve_scratch(nxp_plan *p, const nxp_step *step) {
  const nxg_call_work *work = &step->call->work;
  int64_t own;
  if (p->options.on_gpu) return;
  if (__builtin_mul_overflow((work->own_bytes + 63) & ~(int64_t)63, workers(p, work), &own))
    own = INT64_MAX; /* too much for any launch, which then fails for lack of memory */
  nxp_plan_set_scratch(p, step, step->n_buffers - 2, work->shared_bytes);
  nxp_plan_set_scratch(p, step, step->n_buffers - 1, own);
}

static nx_status load_call(nxi_executable *e, uint32_t number, const nxi_poll *poll, nxi_diag *d) {
  const nxp_step *step = &e->plan->steps[number];
  nxp_call *call = step->call;
  if (nxg_is_scan(call->call->op)) return NX_OK; /* a plan that is only printed */
  nx_status status = nxg_call_prepare(call->call, &e->functions[number], &call->work,
                                      e->plan->options.threads, poll, d);
  if (status != NX_OK) return status;
  reserve_scratch(e->plan, step);
  nxp_more_work(e->plan, call->work.cost);
  return NX_OK;
}

nx_status nxi_load_calls(nxi_executable *e, const nxi_poll *poll, nxi_diag *d) {
  nxp_plan *p = e->plan;
  nx_status status = NX_OK;
  e->functions = nxi_calloc((size_t)p->n_steps + 1, sizeof(void *));
  if (e->functions == NULL) return nxi_oom(d);
  for (uint32_t i = 0; i < p->n_steps && status == NX_OK; i++)
    if (p->steps[i].kind == NXP_STEP_CALL && p->steps[i].call->by == NULL)
      status = load_call(e, i, poll, d);
  return status;
}

static void release_call(const nxi_executable *e, uint32_t step) {
  const nxg_functions *f = e->functions[step];
  if (f != NULL && f->release != NULL) f->release(e->plan->steps[step].call->work.state);
}

/* ---- the whole */

const nxi_device_kind *nxi_kind_for(const nxi_executable_options *o) {
  if (o->executor == NXI_GRAPH_INTERP) return &nxi_interp_device;
  if (o->executor == NXI_COMPILED && o->device != NULL) return o->device->kind;
  for (int i = 0; o->printed && nxi_device_kinds[i] != NULL; i++)
    if (nxi_device_kinds[i]->runs(o->target)) return nxi_device_kinds[i];
  return &nxi_cpu_device;
}

nx_status nxi_load_plan(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                        const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d) {
  nx_status status = nxp_plan_create(g, o, poll, &e->plan, d);
  return status == NX_OK ? nxi_load_kernels(e, poll, report, d) : status;
}

/* Counts for the report the calls of the plan, and the work that is done in another way because a
 * library is missing. */
static void count_steps(const nxp_plan *p, nxi_compile_report *report) {
  report->kernels += p->n_kernels;
  report->without_library += p->generated_products;
  if (p->generated_products > 0) report->missing_library = p->no_library;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_step *s = &p->steps[i];
    bool call = s->kind == NXP_STEP_CALL, scatter = s->kind == NXP_STEP_SCATTER;
    const char *by = call ? s->call->by : s->scatter_by;
    report->library_calls += call || scatter || s->kind == NXP_STEP_MATMUL;
    report->host_calls += (call || scatter) && p->options.on_gpu && by == NULL;
    if (!call || s->call->missing == NULL) continue;
    report->without_library++;
    report->missing_library = s->call->missing;
  }
}

static nx_status create(nxi_executable *e, const nxg_graph *g, const nxi_poll *poll,
                        nxi_compile_report *report, nxi_diag *d) {
  const nxi_executable_options *o = &e->options;
  nxp_options plan = {.fuse = o->fuse,
                      .whole = o->whole,
                      .tight = o->tight,
                      .at_first = o->at_first,
                      .in_body = o->in_body,
                      .target = o->target,
                      .threads = o->threads};
  e->kind->plan_for(o, g, &plan);
  nx_status status = e->kind->load(e, g, &plan, poll, report, d);
  if (status != NX_OK) return status;
  e->options.target = &e->plan->target;
  e->lacks = e->lacks || e->plan->put_off;
  count_steps(e->plan, report);
  return nxp_plan_show(e->plan, g->name, d);
}

nx_status nxi_executable_create(const nxg_graph *g, const nxi_executable_options *o,
                                int32_t (*poll)(void *), void *poll_user, nxi_executable **out,
                                nxi_compile_report *report, nxi_diag *d) {
  nxi_diag own;
  nxi_compile_report nobody = {0};
  if (d == NULL) {
    nxi_diag_clear(&own);
    d = &own;
  }
  if (report == NULL) report = &nobody;
  nxi_use_libraries();
  nxi_executable *e = nxi_calloc(1, sizeof *e);
  if (e == NULL) return nxi_oom(d);
  e->options = *o;
  e->kind = nxi_kind_for(o);
  report->nodes = g->n_nodes;
  const bool traced = nxi_trace_is_on();
  int64_t began = traced ? nxi_now_ns() : 0;
  double start = nxi_now_ms(), compile = report->compile_ms;
  nx_status status = create(e, g, &(nxi_poll){poll, poll_user}, report, d);
  /* what is not compiling */
  report->pass_ms += nxi_now_ms() - start - (report->compile_ms - compile);
  if (traced) nxi_trace_add("plan", g->name[0] != 0 ? g->name : "graph", began);
  if (status != NX_OK) {
    nxi_executable_destroy(e);
    return nxi_oom_during(d, status, "planning");
  }
  *out = e;
  return NX_OK;
}

void nxi_executable_destroy(nxi_executable *e) {
  if (e == NULL) return;
  e->kind->unload(e);
  for (uint32_t i = 0; e->functions != NULL && i < e->plan->n_steps; i++) release_call(e, i);
  for (uint32_t i = 0; e->code != NULL && i < e->plan->n_kernels; i++)
    nxi_kernel_release(e->code[i]);
  if (e->plan != NULL) nxi_release_controls(e);
  nxi_free(e->functions);
  nxi_free(e->code);
  nxp_plan_destroy(e->plan);
  nxi_free(e);
}

const nxp_plan *nxi_executable_plan(const nxi_executable *e) { return e->plan; }
bool nxi_executable_cannot_fail(const nxi_executable *e) { return e->cannot_fail; }
uint32_t nxi_executable_shares(const nxi_executable *e) { return e->shares; }
bool nxi_executable_lacks(const nxi_executable *e) { return e->lacks; }
bool nxi_executable_is_brief(const nxi_executable *e) { return e->brief; }
bool nxi_executable_is_quick(const nxi_executable *e) { return e->quick; }

nx_status nxi_executable_launch(const nxi_executable *e, const nxi_launch *l, nxi_diag *d) {
  if (!nxi_trace_is_on()) return e->kind->launch(e, l, d);
  nxi_trace_measure(l->pool);
  int64_t began = nxi_now_ns();
  nx_status status = e->kind->launch(e, l, d);
  nxi_trace_add("launch", e->kind->name, began);
  return status;
}
