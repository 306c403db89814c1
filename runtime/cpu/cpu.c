/* SPDX-License-Identifier: ISC */
/* The device "cpu": kernels compiled by LLVM or, where that is not there, graphs interpreted; steps
 * of a plan on the threads of the pool. Where the processor is divided into several devices, each
 * has a pool of its own, so that one that waits for another takes none of its threads; compiled
 * kernels are shared. */
#include "cpu.h"

#include "codegen_llvm/codegen_llvm.h"
#include "ir/platform/exit.h"
#include "runtime/debug.h"

typedef struct cpu {
  nxi_host_device host;
  nxi_executor_kind executor;
  nxi_kernel_cache *kernels; /* NULL unless it is NXI_COMPILED */
  bool shares_kernels;       /* they are the first device's */
  bool own_pool;
  nxi_target target;
  /* why kernels are interpreted that LLVM was to compile, since the beginning; else NULL */
  const char *missing;
} cpu;

/* LLVM is loaded when something is compiled first, unless nothing else will do. A lack of memory
 * passes; whatever else is missing does so for good. */
static nx_status find_llvm(cpu *v, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  if (nxi_debug_llvm_wanted() && nxl_start(&own) == NX_OUT_OF_MEMORY) return nxi_oom(d);
  v->missing = nxl_refused();
  if (v->missing == NULL) return NX_OK;
  v->executor = NXI_GRAPH_INTERP;
  if (!nxi_debug_llvm_wanted()) return NX_OK;
  return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "context", "NX_EXECUTOR: llvm is not there: %s",
                  v->missing);
}

static int32_t count(const nxi_device_setup *s) { return s->cpu_devices; }

static void close_cpu(nxi_device *device) {
  cpu *v = (cpu *)device;
  if (!v->shares_kernels) nxi_kernel_cache_destroy(v->kernels);
  if (v->own_pool) nxi_pool_destroy(v->host.base.pool);
  nxi_free(v);
}

/* The device's part of the context's threads: at least the one that calls. */
static nx_status take_threads(cpu *v, int32_t number, const nxi_device_setup *s, nxi_diag *d) {
  int32_t all = nxi_pool_size(s->pool), n = s->cpu_devices;
  int32_t threads = all / n + (number < all % n);
  nxi_pool_options o = {.threads = threads > 0 ? threads : 1, .no_pinning = true};
  nx_status status = NX_OK;
  v->host.base.pool = s->pool;
  if (n > 1) {
    status = nxi_pool_create(&o, &v->host.base.pool, d);
    v->own_pool = status == NX_OK;
  }
  nxi_target_use(&v->target, nxi_pool_size(v->host.base.pool));
  return status;
}

static nx_status take_kernels(cpu *v, const nxi_device_setup *s, nxi_diag *d) {
  const cpu *first = (const cpu *)s->first;
  v->shares_kernels = first != NULL && first->kernels != NULL;
  if (!v->shares_kernels) return nxi_kernel_cache_create(s->cache_dir, &v->kernels, d);
  v->kernels = first->kernels;
  return NX_OK;
}

static nx_status open_cpu(int32_t number, const nxi_device_setup *s, nxi_device **out,
                          nxi_diag *d) {
  cpu *v = nxi_calloc(1, sizeof *v);
  if (v == NULL) return nxi_oom(d);
  v->host = (nxi_host_device){{0}, s->allocator};
  v->host.base.kind = &nxi_cpu_device;
  v->target = *nxi_target_host();
  v->executor = nxi_debug_executor();
  nx_status status = take_threads(v, number, s, d);
  if (status == NX_OK && v->executor == NXI_COMPILED) status = find_llvm(v, d);
  if (status == NX_OK && v->executor == NXI_COMPILED) status = take_kernels(v, s, d);
  if (status == NX_OK) *out = &v->host.base;
  else close_cpu(&v->host.base);
  return status;
}

/* Nothing is compiled once the process ends, or once LLVM cannot be used any more: unless nothing
 * else will do. */
static nxi_executor_kind executor_of(const cpu *v) {
  bool over = v->executor == NXI_COMPILED &&
              (nxi_exit_begun() || (nxl_lost() != NULL && !nxi_debug_llvm_wanted()));
  return over ? NXI_GRAPH_INTERP : v->executor;
}

static void configure(const nxi_device *device, nxi_executable_options *out) {
  const cpu *v = (const cpu *)device;
  out->executor = executor_of(v);
  out->target = &v->target;
  out->kernels = out->executor == NXI_COMPILED ? v->kernels : NULL;
  out->unstarted = out->executor == NXI_COMPILED && !nxl_is_open();
}

static const char *interpreted(const nxi_device *device) {
  const cpu *v = (const cpu *)device;
  return v->executor == NXI_COMPILED ? nxl_lost() : v->missing;
}

static bool runs(const nxi_target *t) { return t->block_threads == 0; }

static bool calls_may_fail(const nxp_plan *p) {
  for (uint32_t i = 0; i < p->n_steps; i++) {
    if (p->steps[i].kind == NXP_STEP_CONTROL || p->steps[i].stops) return true;
    if (p->steps[i].kind != NXP_STEP_CALL) continue;
    if (!p->steps[i].call->work.cannot_fail) return true;
  }
  return false;
}

/* Instructions, each on one element, that take a few microseconds at most: for each byte of the
 * result, which is of vectors, unless those are of 16 bytes, where a product with a sum may be
 * twenty; and in any case. */
enum { BRIEF_WORK_OF_BYTE = 16, BRIEF_WORK = 1 << 13 };

static int64_t brief_work(const nxi_executable *e) {
  const int64_t bytes = e->plan->outputs[0].bytes;
  const int64_t work =
      BRIEF_WORK_OF_BYTE * (bytes < NXI_SMALL_BUFFER ? bytes : (int64_t)NXI_SMALL_BUFFER);
  return e->options.target->vector_bytes < 32 || work < BRIEF_WORK ? BRIEF_WORK : work;
}

static bool is_brief(const nxi_executable *e) {
  const nxp_plan *p = e->plan;
  if (!e->cannot_fail || e->code == NULL || p->n_steps != 1 || p->n_outputs != 1 ||
      p->steps[0].kind != NXP_STEP_KERNEL || p->temporary_bytes > 0 || p->n_stored > 0 ||
      p->outputs[0].in_place_of >= 0 || p->outputs[0].bytes > NXI_QUICK_BUFFER)
    return false;
  const nxp_kernel *k = &p->kernels[p->steps[0].kernel];
  return k->tasks_param < 0 && k->tasks <= 1 && p->work <= brief_work(e);
}

/* Locks are held meanwhile: this is 40 us at most, where nothing is a vector, and mostly 5. */
enum { QUICK_WORK = 1 << 17, QUICK_STEPS = 4 };

static bool is_quick_step(const nxp_plan *p, const nxp_step *s) {
  if (s->kind == NXP_STEP_KERNEL) {
    const nxp_kernel *k = &p->kernels[s->kernel];
    return k->tasks_param < 0 && k->tasks <= 1;
  }
  return s->kind == NXP_STEP_CALL && nxi_call_is_of_one_task(&s->call->work);
}

static bool is_quick(const nxi_executable *e) {
  const nxp_plan *p = e->plan;
  if (!e->cannot_fail || p->n_steps > QUICK_STEPS || p->work > QUICK_WORK ||
      p->temporary_bytes > NXI_QUICK_BYTES)
    return false;
  for (uint32_t i = 0; i < p->n_outputs; i++)
    if (p->outputs[i].in_place_of >= 0) return false;
  for (uint32_t i = 0; i < p->n_steps; i++)
    if (!is_quick_step(p, &p->steps[i])) return false;
  return true;
}

static nx_status load(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                      const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d) {
  nx_status status = nxi_cpu_find_blas(g, d);
  if (status == NX_OK) status = nxi_load_plan(e, g, o, poll, report, d);
  if (status == NX_OK) status = nxi_load_calls(e, poll, d);
  if (status == NX_OK) status = nxi_load_controls(e, poll, report, d);
  if (status == NX_OK) status = nxp_plan_pack(e->plan, d);
  if (status != NX_OK) return status;
  e->cannot_fail = e->options.executor == NXI_COMPILED && !e->lacks && !e->plan->checks &&
                   !calls_may_fail(e->plan);
  e->brief = is_brief(e);
  e->quick = is_quick(e);
  return NX_OK;
}

static void unload(nxi_executable *e) { (void)e; }

const nxi_device_kind nxi_cpu_device = {.name = "cpu",
                                        .dlpack_type = 1,
                                        .count = count,
                                        .missing = nxi_host_missing,
                                        .memory = nxi_host_memory,
                                        .open = open_cpu,
                                        .close = close_cpu,
                                        .wait = nxi_host_wait,
                                        .alloc = nxi_host_alloc,
                                        .free_after = nxi_host_free_after,
                                        .trim = nxi_host_trim,
                                        .statistics = nxi_host_statistics,
                                        .mark = nxi_host_mark,
                                        .configure = configure,
                                        .interpreted = interpreted,
                                        .runs = runs,
                                        .stages = nxi_cpu_stages,
                                        .plan_for = nxi_cpu_plan_for,
                                        .load = load,
                                        .unload = unload,
                                        .launch = nxi_cpu_launch};
