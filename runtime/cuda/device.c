/* SPDX-License-Identifier: ISC */
/* The row of the device "cuda": what the table of devices asks, in words of gpu.h. */
#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "launch.h"
#include "library/blas.h"
#include "library/calls.h"
#include "maker.h"
#include "nccl.h"
#include "sass.h"
#include "shown.h"
#include "ir/platform/thread.h"
#include "runtime/debug.h"

static nxi_gpu *gpu_of(nxi_device *v) { return (nxi_gpu *)v; }

/* ---- what there is */

static int32_t count(const nxi_device_setup *s) {
  const char *why;
  (void)s;
  int32_t n = nxi_gpu_count(&why);
  return n < 1 ? 1 : n < NXI_MOST_OF_A_KIND ? n : NXI_MOST_OF_A_KIND - 1;
}

static const char *missing(int32_t number) {
  const char *why = NULL;
  nxi_gpu_info info;
  if (!nxi_gpu_describe(number, &info, &why)) return why;
  return nxu_unavailable_for(info.arch);
}

static uint64_t memory(int32_t number) {
  const char *why;
  nxi_gpu_info info;
  return nxi_gpu_describe(number, &info, &why) ? info.memory : 0;
}

/* ---- life */

static void keep_refused(void) { nxu_refused = nxi_debug_keep_refused; }

static void close_gpu(nxi_device *v) {
  nxi_kernel_cache_destroy(nxi_gpu_kernels(gpu_of(v)));
  nxi_gpu_close(gpu_of(v));
}

static nx_status open_gpu(int32_t number, const nxi_device_setup *s, nxi_device **out,
                          nxi_diag *d) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_gpu *gpu = NULL;
  nxi_kernel_cache *kernels = NULL;
  nxi_once_run(&once, keep_refused);
  nx_status status = nxi_gpu_open(number, s->memory_limit, &gpu, d);
  if (status != NX_OK) return status;
  status = nxi_kernel_cache_create_for(&nxi_gpu_maker, gpu, s->cache_dir, &kernels, d);
  if (status != NX_OK) {
    nxi_gpu_close(gpu);
    return status;
  }
  nxi_gpu_set_kernels(gpu, kernels);
  *out = (nxi_device *)gpu;
  return NX_OK;
}

static nx_status wait_for(nxi_device *v, uint64_t mark, const nxi_poll *poll, nxi_diag *d) {
  return nxi_gpu_wait(gpu_of(v), mark, poll, d);
}

/* ---- memory */

static nx_status allocate(nxi_device *v, int64_t bytes, uint64_t *at, nxi_diag *d) {
  return nxi_gpu_alloc(gpu_of(v), bytes, at, d);
}
static nx_status alloc_after(nxi_device *v, int64_t bytes, uint64_t *at, uint64_t *after,
                             nxi_diag *d) {
  return nxi_gpu_alloc_after(gpu_of(v), bytes, at, after, d);
}
static void free_after(nxi_device *v, uint64_t at, int64_t bytes, uint64_t after) {
  nxi_gpu_free_after(gpu_of(v), at, bytes, after);
}
static nx_status trim(nxi_device *v, nxi_diag *d) { return nxi_gpu_trim(gpu_of(v), d); }
static uint64_t mark(nxi_device *v) { return nxi_gpu_mark(gpu_of(v)); }
static void statistics(nxi_device *v, nxi_device_stats *out) {
  nxi_gpu_stats s;
  nxi_gpu_statistics(gpu_of(v), &s);
  *out = (nxi_device_stats){s.live, s.peak, s.cached, s.allocations};
}
static nx_status upload(nxi_device *v, uint64_t to, const void *from, int64_t bytes, uint64_t after,
                        nxi_diag *d) {
  return nxi_gpu_upload(gpu_of(v), to, from, bytes, after, d);
}
static nx_status download(nxi_device *v, void *to, uint64_t from, int64_t bytes, uint64_t after,
                          const nxi_poll *poll, nxi_diag *d) {
  return nxi_gpu_download(gpu_of(v), to, from, bytes, after, poll, d);
}

static nx_status copy_from(nxi_device *v, uint64_t to, nxi_device *other, uint64_t from,
                           int64_t bytes, nxi_diag *d) {
  return nxi_gpu_copy_from(gpu_of(v), to, gpu_of(other), from, bytes, d);
}

static nx_status take(nxi_device *v, uint64_t to, uint64_t from, int64_t bytes, nxi_diag *d) {
  return nxi_gpu_copy_of_others(gpu_of(v), to, from, bytes, d);
}
static nx_status order(nxi_device *v, int64_t stream, nxi_diag *d) {
  return nxi_gpu_order(gpu_of(v), stream, d);
}
static void settle(nxi_device *v) { nxi_gpu_settle(gpu_of(v)); }
static int64_t stream_of(nxi_device *v) { return nxi_gpu_stream_number(gpu_of(v)); }
static const nxi_sharing sharing = {take, order, settle, stream_of};

/* ---- code */

static void configure(const nxi_device *v, nxi_executable_options *out) {
  const nxi_gpu *gpu = (const nxi_gpu *)v;
  out->executor = NXI_COMPILED;
  out->target = nxi_gpu_target(gpu);
  out->kernels = nxi_gpu_kernels(gpu);
}

static const char *interpreted(const nxi_device *v) {
  (void)v;
  return NULL; /* its graphs are always compiled */
}

static bool runs(const nxi_target *t) { return t->block_threads > 0; }

static nx_status print_cuda(const nxk_kernel *bound, const nxi_target *t, bool whole, nxi_text *out,
                            nxi_diag *d) {
  nxu_launch launch;
  if (whole) nxi_text_add(out, "%s", nxu_prelude());
  return nxu_print(bound, t->shared_bytes, out, &launch, d);
}

static nx_status translate_ptx(const char *source, const char *name, const nxi_target *t,
                               nxi_text *out, nxi_diag *d) {
  void *ptx = NULL;
  size_t size = 0;
  nx_status status = nxu_compile(source, name, t->isa, NXU_PTX, &ptx, &size, d);
  if (status == NX_OK) nxi_text_put(out, ptx, (uint32_t)strnlen(ptx, size));
  nxi_free(ptx);
  return status;
}

/* The source comes first: it is shown before the compiler may refuse it. */
static const nxi_device_stage stages[] = {
    {.name = "cuda", .print = print_cuda},
    {.name = "ptx", .source = &stages[0], .translate = translate_ptx},
    {.name = "sass", .source = &stages[0], .translate = nxi_cuda_sass, .dumped_alone = true},
    {.name = NULL}};

/* ---- plans */

static bool multiplies(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_matmul) return true;
  return false;
}

/* Loading cuBLASLt takes a tenth of a second, so only a product asks whether it is there. */
static void plan_for(const nxi_executable_options *o, const nxg_graph *g, nxp_options *out) {
  bool imagined = o->device == NULL; /* only printed: as if it had all libraries */
  const char *why = imagined || !multiplies(g) ? NULL : nxi_gpu_blas_missing();
  out->on_gpu = true;
  const nxp_products own = NXP_ON_GPU | nxi_gpu_own_products(o->target->isa);
  out->all_products = own | nxi_gpu_blas_dtypes(o->target->isa) | NXP_OF_HALVES;
  out->products = why == NULL ? out->all_products : own;
  out->no_library = why;
}

static nx_status load(nxi_executable *e, const nxg_graph *g, const nxp_options *o,
                      const nxi_poll *poll, nxi_compile_report *report, nxi_diag *d) {
  bool here = e->options.device != NULL;
  nx_status status = nxi_load_plan(e, g, o, poll, report, d);
  if (status == NX_OK) status = nxi_gpu_plan_create(e, d);
  if (status == NX_OK) status = nxi_load_calls(e, poll, d);
  if (status == NX_OK) status = nxi_load_controls(e, poll, report, d);
  if (status == NX_OK) status = nxi_gpu_plan_controls(e, d);
  if (status == NX_OK) status = nxi_gpu_plan_tracks(e, d);
  if (status == NX_OK) status = nxp_plan_pack(e->plan, d);
  return status == NX_OK && here ? nxi_gpu_plan_capture(e, d) : status;
}

const nxi_device_kind nxi_cuda_device = {.name = "cuda",
                                         .dlpack_type = 2,
                                         .own_memory = true,
                                         .count = count,
                                         .missing = missing,
                                         .memory = memory,
                                         .open = open_gpu,
                                         .close = close_gpu,
                                         .wait = wait_for,
                                         .alloc = allocate,
                                         .free_after = free_after,
                                         .trim = trim,
                                         .statistics = statistics,
                                         .mark = mark,
                                         .alloc_after = alloc_after,
                                         .upload = upload,
                                         .download = download,
                                         .copy_from = copy_from,
                                         .configure = configure,
                                         .interpreted = interpreted,
                                         .runs = runs,
                                         .usual_isa = "sm_90",
                                         .stages = stages,
                                         .show_step = nxi_gpu_show_step,
                                         .plan_for = plan_for,
                                         .load = load,
                                         .unload = nxi_gpu_plan_destroy,
                                         .launch = nxi_gpu_plan_launch,
                                         .sharing = &sharing,
                                         .links = &nxi_nccl_links};
