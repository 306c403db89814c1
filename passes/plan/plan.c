/* SPDX-License-Identifier: ISC */
/* The door to the compiler: from a graph to its plan. */
#include "internal.h"
#include "passes/pipeline.h"

enum { THREEFRY_COST = 100 }; /* instructions */

static double work_of(const nxg_graph *g, const nxg_node *n) {
  const nxg_node *x = n->n_args > 0 ? &g->nodes[n->args[0]] : n;
  double elements = (double)nxg_node_elements(n);
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_MAP: return elements * nxk_scalars[nxg_ops[n->op].scalar].cost;
    case NXG_KIND_MOVE:
    case NXG_KIND_STORE: return elements;
    case NXG_KIND_REDUCE: return (double)nxg_node_elements(x);
    case NXG_KIND_CALL:
    case NXG_KIND_CONTROL: return 0; /* the step says it */
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

nx_status nxp_plan_show(const nxp_plan *p, const char *name, nxi_diag *d) {
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

/* How many products are generated code for no other reason than that a library is missing. */
static void count_missing(nxp_plan *p, const nxg_graph *g) {
  const nxp_options *o = &p->options;
  if (o->no_library == NULL) return;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    p->generated_products +=
        g->nodes[i].op == NXG_matmul && !nxp_matmul_generated(g, &g->nodes[i], o->all_products);
  if (p->generated_products > 0) p->no_library = o->no_library;
}

static nx_status create_steps(nxp_plan *p, const nxg_graph *recorded, const nxi_poll *poll,
                              nxi_diag *d) {
  nxp_products products = p->options.products;
  nxg_graph *g = NULL;
  nxp_clusters *clusters = NULL;
  nxp_cluster_options cluster = {p->options.fuse, products, &p->target, p->options.tight};
  nx_status status = nxp_run_graph_passes(recorded, p->options.fuse, products, poll, &g, d);
  if (status == NX_OK) status = nxp_cluster(g, &cluster, &clusters, d);
  if (status == NX_OK && !nxp_order_groups(g, clusters, p->options.tight)) status = nxi_oom(d);
  if (status == NX_OK) status = show_clusters(g, clusters, d);
  if (status == NX_OK) {
    nxp_plan_builder b = {.plan = p, .g = g, .recorded = recorded, .clusters = clusters, .d = d};
    count_work(p, g);
    count_missing(p, g);
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

nxp_plan *nxp_new_plan(const nxg_graph *g, const nxp_options *o) {
  nxp_plan *p = nxi_calloc(1, sizeof *p);
  if (p == NULL) return NULL;
  p->options = *o;
  p->target = *o->target;
  p->options.target = &p->target;
  p->threads = o->threads > 0 ? o->threads : 1;
  p->n_outputs = g->n_outputs;
  p->outputs = nxi_arena_alloc(&p->arena, (g->n_outputs + 1) * sizeof *p->outputs);
  if (p->outputs != NULL && nxp_hold_bodies(p, g)) return p;
  nxp_plan_destroy(p);
  return NULL;
}

nx_status nxp_plan_create(const nxg_graph *g, const nxp_options *o, const nxi_poll *poll,
                          nxp_plan **out, nxi_diag *d) {
  nxp_plan *p = nxp_new_plan(g, o);
  if (p == NULL) return nxi_oom(d);
  nx_status status = create_steps(p, g, poll, d);
  if (status == NX_OK) *out = p;
  else nxp_plan_destroy(p);
  return status;
}

void nxp_plan_destroy(nxp_plan *p) {
  if (p == NULL) return;
  for (uint32_t i = 0; i < p->n_kernels; i++) nxk_destroy(p->kernels[i].ir);
  nxp_release_bodies(p);
  nxi_free(p->kernels);
  nxi_free(p->temporaries);
  nxi_free(p->steps);
  nxi_arena_destroy(&p->arena);
  nxi_free(p);
}
