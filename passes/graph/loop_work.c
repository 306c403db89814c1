/* SPDX-License-Identifier: ISC */
/* How much a step of a loop works, for those who decide what a task takes at once. */
#include "loops.h"

enum {
  MOST_NODES = 512,        /* of a body */
  MOST_ELEMENTS = 1 << 17, /* of a value: half a megabyte of f32 is no small one */
};

static bool is_plain(const nxg_node *n) {
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF:
    case NXG_KIND_MAP:
    case NXG_KIND_VIEW:
    case NXG_KIND_MOVE:
    case NXG_KIND_LIBRARY:
    case NXG_KIND_REDUCE: return true;
    case NXG_KIND_STORE: return n->op == NXG_scatter;
    default: return false;
  }
}

static int64_t most_steps(const nxg_graph *g, const nxg_node *n, const nxg_control *c) {
  if (c->op == NXG_case) return 1;
  if (!c->counted) return nxg_most_steps(g, n);
  return c->count >= 0 ? c->count : nxg_most_of(g, n->args[0]);
}

/* All steps that a loop takes in a body, or the branches of a case; -1. */
static double work_of_control(const nxg_graph *g, const nxg_node *n, bool *endless) {
  nxg_control c;
  double work = 1;
  nxg_control_of_node(n, &c);
  int64_t steps = most_steps(g, n, &c);
  if ((steps < 0 && endless == NULL) || c.limit > 0) return -1;
  if (steps < 0) *endless = true;
  for (uint32_t i = 0; i < c.n_bodies; i++) {
    int64_t body = nxg_step_work(nxg_body_find(c.bodies[i])->graph, endless);
    if (body < 0) return -1;
    work += (double)body + 1;
  }
  return work * (double)(steps < 0 ? 1 : steps);
}

static double work_of_product(const nxg_graph *g, const nxg_node *n) {
  const nxg_node *a = &g->nodes[n->args[0]];
  return 2.0 * (double)nxg_node_elements(n) * (double)a->shape[a->rank - 1];
}

int64_t nxg_step_work(const nxg_graph *g, bool *endless) {
  double work = 0;
  if (g->n_nodes > MOST_NODES) return -1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    const nxg_node *x = n->n_args > 0 ? &g->nodes[n->args[0]] : n;
    uint8_t kind = nxg_ops[n->op].kind;
    bool view = kind == NXG_KIND_VIEW || kind == NXG_KIND_LEAF;
    if (nxg_is_control(n->op)) {
      double steps = work_of_control(g, n, endless);
      if (steps < 0) return -1;
      work += n->attrs[0] == 0 ? steps : 0; /* results of one run are nodes each */
      continue;
    }
    if (!is_plain(n) || (!view && nxg_node_elements(n) > MOST_ELEMENTS)) return -1;
    if (n->op == NXG_matmul) work += work_of_product(g, n);
    if (n->op == NXG_threefry) work += 100.0 * (double)nxg_node_elements(n);
    if (n->op == NXG_scatter) work += 4.0 * (double)nxg_node_elements(&g->nodes[n->args[1]]);
    if (kind == NXG_KIND_MAP)
      work += (double)nxg_node_elements(n) * nxk_scalars[nxg_ops[n->op].scalar].cost;
    if (kind == NXG_KIND_MOVE) work += (double)nxg_node_elements(n);
    if (kind == NXG_KIND_REDUCE) work += (double)nxg_node_elements(x);
  }
  return work < 1e15 && nxg_indices_are_good(g) ? (int64_t)work : -1;
}
