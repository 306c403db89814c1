/* SPDX-License-Identifier: ISC */
/* The door to the compiler: makes plans, describes them, frees them. */
#include "passes/graph/passes.h"
#include "passes/pipeline.h"
#include "runtime/library/libraries.h"

#include <string.h>
#include <time.h>

/* ---- the node-by-node executor: one program, no steps */

static nx_status find_alias_ranges(nxp_plan *p, const nxg_graph *g, nxi_diag *d) {
  bool any = false;
  p->n_inputs = g->n_inputs;
  p->alias_range_of = nxi_arena_alloc(&p->arena, (g->n_inputs + 1) * sizeof *p->alias_range_of);
  p->element_bytes = nxi_arena_alloc(&p->arena, (g->n_inputs + 1) * sizeof *p->element_bytes);
  if (p->alias_range_of == NULL || p->element_bytes == NULL) return nxi_oom(d);
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    p->alias_range_of[i] = i;
    p->element_bytes[i] = nxi_dtype_size(nxi_part_dtype(g->nodes[g->inputs[i].node].dtype));
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op != NXG_update || n->n_args < 3) continue;
    const nxg_node *start = n;
    while (start->op == NXG_update) start = &g->nodes[start->args[0]];
    if (start->op != NXG_input) continue;
    p->alias_range_of[g->nodes[n->args[2]].attrs[0]] = (uint32_t)start->attrs[0];
    any = true;
  }
  if (!any) p->alias_range_of = NULL;
  return NX_OK;
}

static nx_status create_program(nxp_plan *p, const nxg_graph *g, nxi_diag *d) {
  nxp_use_blas();
  nx_status status = nxp_check_graph(g, "recording", d);
  if (status == NX_OK) status = nxp_program_create(g, &p->program, d);
  if (status != NX_OK) return status;
  p->work = nxg_program_work(p->program);
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    const nxg_node *n = &g->nodes[g->outputs[i].node];
    p->outputs[i] = (nxp_output){-1, nxi_dtype_bytes(n->dtype, nxg_node_elements(n)), NULL};
  }
  if (!nxp_note_interpreted(p, g)) return nxi_oom(d);
  return find_alias_ranges(p, g, d);
}

/* ---- the compiled executors */

enum { THREEFRY_COST = 100 }; /* instructions */

static double work_of(const nxg_graph *g, const nxg_node *n) {
  const nxg_node *x = n->n_args > 0 ? &g->nodes[n->args[0]] : n;
  double elements = (double)nxg_node_elements(n);
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_MAP: return elements * nxk_scalars[nxg_ops[n->op].scalar].cost;
    case NXG_KIND_MOVE:
    case NXG_KIND_STORE: return elements;
    case NXG_KIND_FOLD: return (double)nxg_node_elements(x);
    case NXG_KIND_CALL: return 0; /* the step says it */
    case NXG_KIND_LIBRARY:
      return elements * (n->op == NXG_matmul ? (double)x->shape[x->rank - 1] : THREEFRY_COST);
    default: return 0;
  }
}

void nxp_more_work(nxp_plan *p, double work) {
  work += (double)p->work;
  p->work = work < 1e18 ? (int64_t)work : INT64_MAX;
}

static void count_work(nxp_plan *p, const nxg_graph *g) {
  p->work = 0;
  double work = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) work += work_of(g, &g->nodes[i]);
  nxp_more_work(p, work);
}

static nx_status show_clusters(const nxg_graph *g, const nxp_clusters *c, nxi_diag *d) {
  nxi_text text = {0};
  if (!nxp_wanted("clusters")) return NX_OK;
  nxg_print(g, &text); /* the remarks that follow name its nodes */
  nxp_clusters_print(g, c, &text);
  return nxp_show("clusters", g->name, &text, d);
}

static nx_status show_plan(const nxp_plan *p, const char *name, nxi_diag *d) {
  nxi_text text = {0};
  if (!nxp_wanted("plan")) return NX_OK;
  nxp_plan_print(p, &text);
  return nxp_show("plan", name, &text, d);
}

static nx_status build_from(nxp_plan_builder *b, const nxi_poll *poll) {
  size_t n = (size_t)b->g->n_nodes + 1;
  b->where = nxi_calloc(n, sizeof *b->where);
  b->output_of = nxi_calloc(n, sizeof *b->output_of);
  b->nontemporal = nxi_calloc(n, sizeof *b->nontemporal);
  if (b->where == NULL || b->output_of == NULL || b->nontemporal == NULL) return nxi_oom(b->d);
  for (uint32_t i = b->g->n_outputs; i-- > 0;) b->output_of[b->g->outputs[i].node] = i + 1;
  for (size_t i = 0; i < n; i++) b->where[i].alias_range = NXP_NO_ALIAS_RANGE;
  nxp_lower_options lower = {&b->plan->target, b->plan->options.fuse, b->nontemporal};
  nx_status status = nxp_lowering_create(b->g, b->clusters, &lower, &b->lowering, b->d);
  return status == NX_OK ? nxp_build_steps(b, poll) : status;
}

/* Of a GPU that is not here: as if it had all libraries. */
static bool is_imagined(const nxp_options *o) {
  return nxp_options_for_gpu(o) && o->printed && o->gpu == NULL;
}

nxp_products nxp_products_for(const nxp_options *o) {
  if (!nxp_options_for_gpu(o)) return nxi_blas_get(NULL) != NULL ? NXP_PRODUCTS_OF_BLAS : 0;
  bool there = is_imagined(o) || nxi_gpu_blas_missing() == NULL;
  return NXP_ON_GPU | (there ? nxi_gpu_blas_dtypes(o->target->isa) : 0);
}

/* How many products are generated code for no other reason than that a library is missing, and that
 * reason. */
static void count_missing(nxp_plan_builder *b, nxp_products products) {
  const nxp_options *o = &b->plan->options;
  bool gpu = nxp_options_for_gpu(o);
  nxp_products all = gpu ? NXP_ON_GPU | nxi_gpu_blas_dtypes(o->target->isa) : NXP_PRODUCTS_OF_BLAS;
  if ((products & ~NXP_ON_GPU) != 0 || is_imagined(o)) return;
  for (uint32_t i = 0; i < b->g->n_nodes; i++)
    b->plan->generated_products +=
        b->g->nodes[i].op == NXG_matmul && !nxp_matmul_generated(b->g, &b->g->nodes[i], all);
  if (b->plan->generated_products == 0) return;
  b->plan->no_library = gpu ? nxi_gpu_blas_missing() : nxi_blas_missing();
  nxp_count_missing(b, b->plan->generated_products, b->plan->no_library);
}

/* A plan that is made while there is no memory to load the library would be without it for ever. */
static nx_status find_products(const nxp_options *o, const nxg_graph *g, nxi_diag *d) {
  bool multiplies = false;
  nxi_diag why;
  nxi_diag_clear(&why);
  for (uint32_t i = 0; i < g->n_nodes && !multiplies; i++)
    multiplies = g->nodes[i].op == NXG_matmul;
  if (!multiplies || nxp_options_for_gpu(o) || nxi_blas_get(&why)) return NX_OK;
  return why.status == NX_OUT_OF_MEMORY ? nxi_oom_during(d, nxi_oom(d), "loading OpenBLAS") : NX_OK;
}

static nx_status create_steps(nxp_plan *p, const nxg_graph *recorded, const nxi_poll *poll,
                              nxp_compile_report *report, nxi_diag *d) {
  nx_status status = find_products(&p->options, recorded, d);
  if (status != NX_OK) return status;
  nxp_products products = nxp_products_for(&p->options);
  nxg_graph *g = NULL;
  nxp_clusters *clusters = NULL;
  nxp_cluster_options cluster = {p->options.fuse, products, &p->target};
  status = nxp_run_graph_passes(recorded, p->options.fuse, products, poll, &g, d);
  if (status == NX_OK) status = nxp_cluster(g, &cluster, &clusters, d);
  if (status == NX_OK) status = show_clusters(g, clusters, d);
  if (status == NX_OK) {
    nxp_plan_builder b = {
        .plan = p, .g = g, .recorded = recorded, .clusters = clusters, .report = report, .d = d};
    count_work(p, g);
    count_missing(&b, products);
    status = build_from(&b, poll);
    nxp_lowering_destroy(b.lowering);
    nxi_free(b.where);
    nxi_free(b.output_of);
    nxi_free(b.nontemporal);
  }
  nxp_clusters_destroy(clusters);
  if (g != recorded) nxg_destroy(g);
  return status;
}

static double milliseconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

nx_status nxp_plan_create(const nxg_graph *g, const nxp_options *o, int32_t (*poll)(void *),
                          void *poll_user, nxp_plan **out, nxp_compile_report *report,
                          nxi_diag *d) {
  nxi_diag own;
  if (d == NULL) {
    nxi_diag_clear(&own);
    d = &own;
  }
  nxi_use_libraries();
  nxp_plan *p = nxi_calloc(1, sizeof *p);
  if (p == NULL) return nxi_oom(d);
  p->options = *o;
  p->target = *o->target;
  p->options.target = &p->target;
  p->threads = o->threads > 0 ? o->threads : 1;
  p->n_outputs = g->n_outputs;
  p->outputs = nxi_arena_alloc(&p->arena, (g->n_outputs + 1) * sizeof *p->outputs);
  if (report != NULL) report->nodes = g->n_nodes;
  double start = report != NULL ? milliseconds() : 0,
         compile = report != NULL ? report->compile_ms : 0;
  nx_status status = NX_OK;
  if (p->outputs == NULL) status = nxi_oom(d);
  else if (o->executor == NXP_GRAPH_INTERP) status = create_program(p, g, d);
  else status = create_steps(p, g, &(nxi_poll){poll, poll_user}, report, d);
  if (status == NX_OK && !nxp_graphs_create(p)) status = nxi_oom(d);
  if (status == NX_OK) status = show_plan(p, g->name, d);
  if (report != NULL) /* what is not compiling */
    report->pass_ms += milliseconds() - start - (report->compile_ms - compile);
  if (status != NX_OK) {
    nxp_plan_destroy(p);
    return nxi_oom_during(d, status, "planning");
  }
  *out = p;
  return NX_OK;
}

static void release_code(nxp_step *step) {
  nxp_call *call = step->call;
  if (call != NULL && call->functions != NULL && call->functions->release != NULL)
    call->functions->release(call->work.state);
  if (call != NULL && call->gpu_functions != NULL && call->gpu_functions->release != NULL)
    call->gpu_functions->release(call->gpu_work.state);
  nxi_gpu_scatter_destroy(step->gpu_scatter);
  nxi_kernel_release(step->code);
  nxk_destroy(step->ir);
}

void nxp_plan_destroy(nxp_plan *p) {
  if (p == NULL) return;
  nxp_graphs_destroy(p->graphs);
  for (uint32_t i = 0; i < p->n_steps; i++) {
    release_code(&p->steps[i]);
    if (p->steps[i].epilogue != NULL) release_code(p->steps[i].epilogue);
    const nxp_staging *staging = p->steps[i].staging;
    for (int32_t k = 0; staging != NULL && k < staging->n_parts; k++)
      release_code(staging->parts[k].kernel);
  }
  nxg_program_destroy(p->program);
  nxi_free(p->steps);
  nxi_arena_destroy(&p->arena);
  nxi_free(p);
}

const nxp_output *nxp_plan_outputs(const nxp_plan *p, uint32_t *n) {
  *n = p->n_outputs;
  return p->outputs;
}

const uint32_t *nxp_plan_stored(const nxp_plan *p, uint32_t *n) {
  *n = p->n_stored;
  return p->stored;
}

int64_t nxp_plan_temporary_bytes(const nxp_plan *p) { return p->temporary_bytes; }
bool nxp_plan_cannot_fail(const nxp_plan *p) {
  bool cannot_fail = p->options.executor == NXP_LLVM && !p->checks;
  for (uint32_t i = 0; cannot_fail && i < p->n_steps; i++)
    cannot_fail = p->steps[i].kind != NXP_STEP_CALL;
  return cannot_fail;
}
int64_t nxp_plan_work(const nxp_plan *p) { return p->work; }
