/* SPDX-License-Identifier: ISC */
/* Stages of the compiler as text, of a graph or of kernels. The kernels of a graph come from a plan
 * for the interpreter, which is made in the same way as a plan that runs. Nothing here is process
 * wide, so several threads may dump at once. */
#include "internal.h"

#include <string.h>

#include "codegen_cuda/codegen_cuda.h"
#include "codegen_llvm/codegen_llvm.h"
#include "dump_assembly.h"
#include "passes/kernel/passes.h"
#include "passes/pipeline.h"
#include "passes/read.h"

typedef struct dump {
  const nxg_graph *g;
  const nxi_executable_options *options;
  nxi_text *out;
  nxi_diag *d;
  nxi_assembly *assembly; /* the part that was printed so far */
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

/* Shows the graph after its passes, then the groups as comments, so that the text still parses. */
static nx_status show_clusters(const dump *u) {
  nxi_executable_options shown = *u->options;
  nxp_options planned = {0};
  shown.printed = true;
  nxi_find_products(&shown, &planned);
  const nxp_products products = planned.products;
  nxp_cluster_options options = {shown.fuse, products, shown.target};
  nxg_graph *g = NULL;
  nxp_clusters *clusters = NULL;
  nx_status status = nxp_run_graph_passes(u->g, shown.fuse, products, NULL, &g, u->d);
  if (status == NX_OK) status = nxp_cluster(g, &options, &clusters, u->d);
  if (status == NX_OK) {
    nxg_print(g, u->out);
    nxp_clusters_print(g, clusters, u->out);
  }
  nxp_clusters_destroy(clusters);
  if (g != u->g) nxg_destroy(g);
  return status;
}

/* ---- stages that need a plan */

static nx_status make(const dump *u, bool bound, nxi_executable **out) {
  nxi_executable_options options = *u->options;
  options.executor = NXI_KERNEL_INTERP;
  options.bound_interp = bound;
  options.kernels = NULL;
  options.printed = true;
  return nxi_executable_create(u->g, &options, NULL, NULL, out, NULL, u->d);
}

static nx_status show_plan(const dump *u) {
  nxi_executable *made = NULL;
  nx_status status = make(u, true, &made);
  if (status == NX_OK) nxp_plan_print(made->plan, u->out);
  nxi_executable_destroy(made);
  return status;
}

typedef nx_status (*kernel_fn)(const dump *u, const nxk_kernel *k);

/* Calls show for the kernel of each step, with an empty line between two. */
static nx_status each_kernel(const dump *u, bool bound, kernel_fn show) {
  nxi_executable *made = NULL;
  uint32_t shown = 0;
  nx_status status = make(u, bound, &made);
  for (uint32_t i = 0; status == NX_OK && i < made->plan->n_steps; i++) {
    const nxp_step *step = &made->plan->steps[i];
    if (step->kind != NXP_STEP_KERNEL) continue;
    if (shown++ > 0) nxi_text_add(u->out, "\n");
    status = show(u, made->plan->kernels[step->kernel].ir);
  }
  nxi_executable_destroy(made);
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
  nxl_target target = {0};
  memcpy(target.isa, u->options->target->isa, sizeof target.isa);
  return nxi_assembly_add(u->assembly, k, &target, u->out, u->d);
}

static nx_status print_cuda(const dump *u, const nxk_kernel *k) {
  nxu_launch launch;
  return nxu_print(k, u->options->target->shared_bytes, u->out, &launch, u->d);
}

/* The same dump for a GPU: for the target itself, if it is a GPU, else for the most common kind. */
static dump for_gpu(const dump *u, nxi_executable_options *options, nxi_target *target) {
  dump other = *u;
  *options = *u->options;
  if (u->options->target->block_threads == 0 && nxi_target_for_isa("sm_90", target))
    options->target = target;
  other.options = options;
  return other;
}

static nx_status show_gpu(const dump *u) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_gpu(u, &options, &target);
  return each_kernel(&other, true, print_kernel);
}

static nx_status show_cuda(const dump *u) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_gpu(u, &options, &target);
  return each_kernel(&other, true, print_cuda);
}

static nx_status show_kernels(const dump *u) { return each_kernel(u, false, print_kernel); }
static nx_status show_bound(const dump *u) { return each_kernel(u, true, print_kernel); }
static nx_status show_llvm(const dump *u) { return each_kernel(u, true, print_llvm); }
static nx_status show_assembly(const dump *u) { return each_kernel(u, true, print_assembly); }

/* ---- stages of kernels that were read from a text */

static nx_status show_logical(const dump *u, const nxk_kernel *k) {
  if (k->level == NXK_LOGICAL) return print_kernel(u, k);
  return nxi_fail(u->d, NX_INVALID_ARGUMENT, "dump",
                  "dump: the kernel %s is bound; the stage kernels comes before that", k->name);
}

/* Binds a logical kernel. A bound kernel is legalised for the target, which does not change one
 * that is legal. */
static nx_status bind_and(const dump *u, const nxk_kernel *k, kernel_fn show) {
  nxk_kernel *bound = NULL;
  nx_status status = NX_OK;
  if (k->level == NXK_LOGICAL) status = nxp_bind_kernel(k, u->options->target, &bound, u->d);
  else bound = nxk_pass_legalize(k, u->options->target, u->d);
  if (status == NX_OK && bound == NULL)
    status = u->d->status != NX_OK ? u->d->status : nxi_oom(u->d);
  if (status == NX_OK) status = show(u, bound);
  nxk_destroy(bound);
  return status;
}

static nx_status bind_and_print(const dump *u, const nxk_kernel *k) {
  return bind_and(u, k, print_kernel);
}
static nx_status bind_and_llvm(const dump *u, const nxk_kernel *k) {
  return bind_and(u, k, print_llvm);
}
static nx_status bind_and_assembly(const dump *u, const nxk_kernel *k) {
  return bind_and(u, k, print_assembly);
}

static nx_status bind_gpu_and(const dump *u, const nxk_kernel *k, kernel_fn show) {
  nxi_executable_options options;
  nxi_target target;
  dump other = for_gpu(u, &options, &target);
  return bind_and(&other, k, show);
}
static nx_status bind_gpu_and_print(const dump *u, const nxk_kernel *k) {
  return bind_gpu_and(u, k, print_kernel);
}
static nx_status bind_and_cuda(const dump *u, const nxk_kernel *k) {
  return bind_gpu_and(u, k, print_cuda);
}

/* ---- the table */

static const struct stage {
  const char *name;
  show_fn of_graph;
  kernel_fn of_kernel; /* NULL: a kernel has no such stage */
} stages[] = {
    {"graph", show_graph, NULL},
    {"clusters", show_clusters, NULL},
    {"kernels", show_kernels, show_logical},
    {"bound", show_bound, bind_and_print},
    {"plan", show_plan, NULL},
    {"llvm", show_llvm, bind_and_llvm},
    {"asm", show_assembly, bind_and_assembly},
    {"gpu", show_gpu, bind_gpu_and_print},
    {"cuda", show_cuda, bind_and_cuda},
    {"dot", show_dot, NULL},
};

/* NULL: no stage has that name; the failure lists all stages. */
static const struct stage *find_stage(const char *name, bool of_kernel, nxi_diag *d) {
  nxi_text known = {0};
  for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++) {
    if (of_kernel && stages[i].of_kernel == NULL) continue;
    if (strcmp(stages[i].name, name) == 0) return nxi_text_free(&known), &stages[i];
    nxi_text_add(&known, "%s%s", known.size > 0 ? ", " : "", stages[i].name);
  }
  if (known.failed) nxi_oom(d);
  else
    nxi_fail(d, NX_INVALID_ARGUMENT, "dump", "dump: %s no stage \"%.40s\"; it is one of %s",
             of_kernel ? "a kernel has" : "there is", name, known.data);
  nxi_text_free(&known);
  return NULL;
}

nx_status nxi_dump(const nxg_graph *g, const nxi_executable_options *o, const char *stage,
                   nxi_text *out, nxi_diag *d) {
  nxi_diag own;
  nxi_diag_clear(&own);
  nxi_assembly assembly = {0};
  dump u = {g, o, out, d != NULL ? d : &own, &assembly};
  const struct stage *s = find_stage(stage, false, u.d);
  if (s == NULL) return u.d->status;
  nx_status status = s->of_graph(&u);
  nxi_assembly_free(&assembly);
  return status == NX_OK && out->failed ? nxi_oom(u.d) : status;
}

nx_status nxi_dump_text(const char *text, size_t size, const nxi_executable_options *o,
                        const char *stage, nxi_text *out, nxi_diag *d) {
  nxp_ir ir = {0};
  nxi_assembly assembly = {0};
  dump u = {NULL, o, out, d, &assembly};
  nx_status status = nxp_ir_read(text, size, &ir, d);
  const struct stage *s = status == NX_OK && ir.g == NULL ? find_stage(stage, true, d) : NULL;
  if (status == NX_OK && ir.g != NULL) status = nxi_dump(ir.g, o, stage, out, d);
  else if (status == NX_OK && s == NULL) status = d->status;
  for (uint32_t i = 0; status == NX_OK && s != NULL && i < ir.n_kernels; i++) {
    if (i > 0) nxi_text_add(out, "\n");
    status = s->of_kernel(&u, ir.kernels[i]);
  }
  nxp_ir_free(&ir);
  nxi_assembly_free(&assembly);
  return status == NX_OK && out->failed ? nxi_oom(d) : status;
}
