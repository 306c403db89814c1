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
    case NXG_KIND_REDUCE: return true;
    case NXG_KIND_MOVE: return n->op != NXG_gather;
    default: return false;
  }
}

int64_t nxg_step_work(const nxg_graph *g) {
  double work = 0;
  if (g->n_nodes > MOST_NODES) return -1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    const nxg_node *x = n->n_args > 0 ? &g->nodes[n->args[0]] : n;
    uint8_t kind = nxg_ops[n->op].kind;
    bool view = kind == NXG_KIND_VIEW || kind == NXG_KIND_LEAF;
    if (!is_plain(n) || (!view && nxg_node_elements(n) > MOST_ELEMENTS)) return -1;
    if (kind == NXG_KIND_MAP)
      work += (double)nxg_node_elements(n) * nxk_scalars[nxg_ops[n->op].scalar].cost;
    if (kind == NXG_KIND_MOVE) work += (double)nxg_node_elements(n);
    if (kind == NXG_KIND_REDUCE) work += (double)nxg_node_elements(x);
  }
  return work < 1e15 ? (int64_t)work : -1;
}
