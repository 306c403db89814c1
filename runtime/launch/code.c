/* SPDX-License-Identifier: ISC */
/* Loads the code of a plan's kernels: machine code from the cache, which binds and compiles kernels
 * that it does not have; or the form that an interpreter runs. */
#include "internal.h"

#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "codegen_llvm/codegen_llvm.h"
#include "passes/pipeline.h"

/* ---- showing stages */

static nx_status show_machine_code(const nxk_kernel *bound, const nxi_target *t, nxi_diag *d) {
  static const struct {
    const char *stage;
    nxl_form form;
  } stages[] = {{"llvm", NXL_IR_OPTIMIZED}, {"asm", NXL_ASM}};
  nxl_target target = {0};
  nx_status status = NX_OK;
  memcpy(target.isa, t->isa, sizeof target.isa);
  for (int i = 0; i < 2 && status == NX_OK; i++) {
    void *data = NULL;
    size_t size = 0;
    if (!nxp_wanted(stages[i].stage)) continue;
    status = nxl_compile(bound, &target, stages[i].form, &data, &size, d);
    if (status != NX_OK) return status;
    nxi_text text = {0};
    nxi_text_put(&text, data, (uint32_t)size);
    nxi_free(data);
    status = nxp_show(stages[i].stage, bound->name, &text, d);
  }
  return status;
}

static nx_status show_cuda(const nxk_kernel *bound, const nxi_target *t, nxi_diag *d) {
  nxi_text source = {0}, shown = {0}, text = {0};
  nxu_launch launch;
  void *ptx = NULL;
  size_t size = 0;
  nxi_text_add(&source, "%s", nxu_prelude());
  nx_status status = nxu_print(bound, t->shared_bytes, &source, &launch, d);
  if (status == NX_OK && source.failed) status = nxi_oom(d);
  if (status == NX_OK && nxp_wanted("cuda")) { /* shown before a refusal is possible */
    nxi_text_put(&text, source.data, source.size);
    status = nxp_show("cuda", bound->name, &text, d);
  }
  if (status == NX_OK && nxp_wanted("ptx"))
    status = nxu_compile(source.data, bound->name, t->isa, NXU_PTX, &ptx, &size, d);
  nxi_text_free(&source);
  if (status != NX_OK || ptx == NULL) return status;
  nxi_text_put(&shown, ptx, (uint32_t)size);
  nxi_free(ptx);
  return nxp_show("ptx", bound->name, &shown, d);
}

/* Shows the stages of a kernel even if its code will come from a cache. Code in a cache was made
 * from the same text by the same passes, so the stages are made once more and are the same as those
 * of the code that runs. */
static nx_status show_code(const nxi_executable *e, const nxk_kernel *k, nxi_diag *d) {
  const nxi_target *target = &e->plan->target;
  bool compiled = e->options.executor == NXI_COMPILED, gpu = compiled && e->options.gpu != NULL,
       code = compiled && !gpu && (nxp_wanted("llvm") || nxp_wanted("asm")),
       cuda = gpu && (nxp_wanted("cuda") || nxp_wanted("ptx"));
  nxk_kernel *bound = NULL;
  if (!code && !cuda && !nxp_wanted("bound")) return NX_OK;
  nx_status status = nxp_bind_kernel(k, target, &bound, d);
  if (status == NX_OK) status = nxp_show_kernel("bound", bound, d);
  if (status == NX_OK && cuda) status = show_cuda(bound, target, d);
  if (status == NX_OK && code) status = show_machine_code(bound, target, d);
  nxk_destroy(bound);
  return status;
}

/* ---- code */

typedef struct production {
  const nxk_kernel *logical;
  const nxi_target *target;
} production;

static nx_status produce(void *user, nxk_kernel **bound, nxi_diag *d) {
  const production *p = user;
  return nxp_bind_kernel(p->logical, p->target, bound, d);
}

static void count_outcome(nxi_compile_report *report, nxi_kernel_outcome how, double ms) {
  report->kernel_hits += how == NXI_KERNEL_HIT;
  report->kernel_disk_hits += how == NXI_KERNEL_DISK_HIT;
  report->kernel_misses += how == NXI_KERNEL_COMPILED;
  report->compile_ms += how == NXI_KERNEL_COMPILED ? ms : 0;
}

/* Loads the machine code of a kernel, which replaces the IR. */
static nx_status load(nxi_executable *e, uint32_t number, nxi_compile_report *report, nxi_diag *d) {
  nxp_plan *p = e->plan;
  nxp_kernel *k = &p->kernels[number];
  nxi_text key = {0};
  nxi_kernel_outcome how = NXI_KERNEL_HIT;
  production what = {k->ir, &p->target};
  nxp_put_bind_key(k->ir, &p->target, &key);
  nx_status status = key.failed
                         ? nxi_oom(d)
                         : nxi_kernel_get(e->options.kernels, p->target.isa, key.data, key.size,
                                          produce, &what, &e->code[number], &how, d);
  nxi_text_free(&key);
  if (status != NX_OK) return status;
  const nxi_kernel_info *info = nxi_kernel_describe(e->code[number]);
  /* on a GPU it belongs to the blocks */
  k->scratch_bytes = e->options.gpu == NULL ? info->scratch_bytes : 0;
  k->tasks = info->tasks;
  k->tasks_param = info->tasks_param;
  k->tasks_divisor = info->tasks_divisor;
  if (k->scratch_bytes > p->scratch_bytes) p->scratch_bytes = k->scratch_bytes;
  nxk_destroy(k->ir);
  k->ir = NULL;
  count_outcome(report, how, info->compile_ms);
  return NX_OK;
}

static nx_status bind(nxi_executable *e, nxp_kernel *k, nxi_diag *d) {
  nxk_kernel *bound = NULL;
  nx_status status = nxp_bind_kernel(k->ir, &e->plan->target, &bound, d);
  if (status != NX_OK) return status;
  nxk_destroy(k->ir);
  k->ir = bound;
  return NX_OK;
}

nx_status nxi_load_kernels(nxi_executable *e, const nxi_poll *poll, nxi_compile_report *report,
                           nxi_diag *d) {
  nxp_plan *p = e->plan;
  bool compiled = e->options.executor == NXI_COMPILED;
  if (compiled && (e->code = nxi_calloc((size_t)p->n_kernels + 1, sizeof(void *))) == NULL)
    return nxi_oom(d);
  for (uint32_t i = 0; i < p->n_kernels; i++) {
    nxp_kernel *k = &p->kernels[i];
    nx_status status = nxp_ask(poll, d);
    if (status == NX_OK) status = show_code(e, k->ir, d);
    if (status == NX_OK && compiled) status = load(e, i, report, d);
    else if (status == NX_OK && e->options.bound_interp) status = bind(e, k, d);
    nxi_oom_during(d, status, "compiling kernel %.64s", k->name);
    if (status != NX_OK) return status;
  }
  return NX_OK;
}
