/* SPDX-License-Identifier: ISC */
/* Checks the facts that passes give according to pass_list.def, after the pass and after each later
 * one. */
#include "facts.h"

static bool has_one_run(const nxg_graph *g, const nxg_node *n) {
  nxg_run runs[NXG_MAX_RANK];
  if (nxg_ops[n->op].kind != NXG_KIND_REDUCE) return true;
  const nxg_node *x = &g->nodes[n->args[0]];
  if (nxg_node_elements(x) == 0) return true; /* it reduces nothing */
  return nxg_reduce_runs(x->rank, x->shape, nxg_reduce_mask(n), runs) <= 1;
}

static bool is_composed(const nxg_graph *g, const nxg_node *n) {
  return n->op != NXG_view || g->nodes[n->args[0]].op != NXG_view;
}

bool nxp_graph_has(const nxg_graph *g, uint32_t facts, nxi_text *faults) {
  bool all = true;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    const char *fault = NULL;
    if ((facts & NXP_FACT_real) && nxi_is_complex(n->dtype)) fault = "is complex";
    if ((facts & NXP_FACT_one_run) && !has_one_run(g, n)) fault = "reduces several runs";
    if ((facts & NXP_FACT_composed) && !is_composed(g, n)) fault = "is a view of a view";
    if (fault == NULL) continue;
    nxi_text_add(faults, "node %u (%s) %s\n", i, nxg_ops[n->op].name, fault);
    all = false;
  }
  return all;
}

bool nxp_kernel_has(const nxk_kernel *k, uint32_t facts, nxi_text *faults) {
  bool all = true;
  if ((facts & NXP_FACT_bound) && k->level != NXK_BOUND) {
    nxi_text_add(faults, "the kernel is not bound\n");
    all = false;
  }
  for (nxk_value v = 0; (facts & NXP_FACT_basic) && v < k->n_instrs; v++) {
    nxk_op op = (nxk_op)k->instrs[v].op;
    if (op >= NXK_SCALAR_COUNT || !(nxk_scalars[op].flags & NXK_FUNC)) continue;
    if (nxk_scalars[op].flags & NXK_LOOP && !(facts & NXP_FACT_expanded)) continue;
    nxi_text_add(faults, "%%%u: the function %s was not expanded\n", v, nxk_op_name(op));
    all = false;
  }
  return all;
}
