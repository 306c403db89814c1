/* SPDX-License-Identifier: ISC */
/* Stages of the compiler as text. The forms of kernels come from a plan made for the interpreter, which goes
 * the same way as one that runs; nothing here is process wide, so any threads may dump at once. */
#include "pipeline.h"

#include <string.h>

#include "codegen_llvm/codegen_llvm.h"

typedef struct dump {
  const nxg_graph *g;
  const nxp_options *options;
  nxi_text *out;
  nxi_diag *d;
} dump;

typedef nx_status (*show_fn)(const dump *u);

static nx_status show_graph(const dump *u) {
  nxg_print(u->g, u->out);
  return NX_OK;
}

static nx_status show_dot(const dump *u) {
  nxg_print_dot(u->g, u->out);
  return NX_OK;
}

/* The graph after its passes, then the groups, as remarks: the text still parses. */
static nx_status show_clusters(const dump *u) {
  bool blas = nxi_blas_get(NULL) != NULL;
  nxp_cluster_options options = {u->options->fuse, blas, u->options->target};
  nxg_graph *g = NULL;
  nxp_clusters *clusters = NULL;
  nx_status status = nxp_run_graph_passes(u->g, u->options->fuse, blas, &g, u->d);
  if (status == NX_OK) status = nxp_cluster(g, &options, &clusters, u->d);
  if (status == NX_OK) {
    nxg_print(g, u->out);
    nxp_clusters_print(g, clusters, u->out);
  }
  nxp_clusters_destroy(clusters);
  nxg_destroy(g);
  return status;
}

/* ---- stages that need a plan */

static nx_status make_plan(const dump *u, bool bound, nxp_plan **plan) {
  nxp_options options = *u->options;
  options.executor = NXP_KERNEL_INTERP;
  options.bound_interp = bound;
  options.kernels = NULL;
  return nxp_plan_create(u->g, &options, NULL, NULL, plan, NULL, u->d);
}

static nx_status show_plan(const dump *u) {
  nxp_plan *plan = NULL;
  nx_status status = make_plan(u, true, &plan);
  if (status == NX_OK) nxp_plan_print(plan, u->out);
  nxp_plan_destroy(plan);
  return status;
}

typedef nx_status (*kernel_fn)(const dump *u, const nxk_kernel *k);

/* Calls show for the kernel of each step, with an empty line between two. */
static nx_status each_kernel(const dump *u, bool bound, kernel_fn show) {
  nxp_plan *plan = NULL;
  uint32_t shown = 0;
  nx_status status = make_plan(u, bound, &plan);
  for (uint32_t i = 0; status == NX_OK && i < plan->n_steps; i++) {
    if (plan->steps[i].kind != NXP_STEP_KERNEL) continue;
    if (shown++ > 0) nxi_text_add(u->out, "\n");
    status = show(u, plan->steps[i].ir);
  }
  nxp_plan_destroy(plan);
  return status;
}

static nx_status print_kernel(const dump *u, const nxk_kernel *k) {
  nxk_print(k, u->out);
  return NX_OK;
}

static nx_status print_code(const dump *u, const nxk_kernel *k, nxl_form form) {
  nxl_target target = {0};
  void *data = NULL;
  size_t size = 0;
  memcpy(target.isa, u->options->target->isa, sizeof target.isa);
  nx_status status = nxl_compile(k, &target, form, &data, &size, u->d);
  if (status != NX_OK) return status;
  nxi_text_put(u->out, data, (uint32_t)size);
  nxi_free(data);
  return NX_OK;
}

static nx_status print_llvm(const dump *u, const nxk_kernel *k) {
  return print_code(u, k, NXL_IR_OPTIMIZED);
}
static nx_status print_assembly(const dump *u, const nxk_kernel *k) {
  return print_code(u, k, NXL_ASM);
}

static nx_status show_kernels(const dump *u) { return each_kernel(u, false, print_kernel); }
static nx_status show_bound(const dump *u) { return each_kernel(u, true, print_kernel); }
static nx_status show_llvm(const dump *u) { return each_kernel(u, true, print_llvm); }
static nx_status show_assembly(const dump *u) { return each_kernel(u, true, print_assembly); }

static const struct {
  const char *name;
  show_fn show;
} stages[] = {
    {"graph", show_graph},  {"clusters", show_clusters}, {"kernels", show_kernels},
    {"bound", show_bound},  {"plan", show_plan},         {"llvm", show_llvm},
    {"asm", show_assembly}, {"dot", show_dot},
};

nx_status nxp_dump(const nxg_graph *g, const nxp_options *o, const char *stage, nxi_text *out,
                   nxi_diag *d) {
  nxi_diag own;
  if (d == NULL) {
    nxi_diag_clear(&own);
    d = &own;
  }
  dump u = {g, o, out, d};
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
    if (strcmp(stages[i].name, stage) != 0) continue;
    nx_status status = stages[i].show(&u);
    return status == NX_OK && out->failed ? nxi_oom(d) : status;
  }
  return nxi_fail(d, NX_INVALID_ARGUMENT, "dump",
                  "dump: there is no stage \"%.40s\"; it is one of graph, clusters, kernels, "
                  "bound, plan, llvm, asm, dot",
                  stage);
}
