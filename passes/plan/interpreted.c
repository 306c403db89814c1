/* SPDX-License-Identifier: ISC */
/* Plans of graphs that are interpreted node by node: no steps, and what a launch has to know of
 * inputs and outputs. */
#include "internal.h"
#include "passes/pipeline.h"

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

nx_status nxp_plan_create_interpreted(const nxg_graph *g, const nxp_options *o, nxp_plan **out,
                                      nxi_diag *d) {
  nx_status status = nxp_check_graph(g, "recording", d);
  if (status != NX_OK) return status;
  nxp_plan *p = nxp_new_plan(g, o);
  if (p == NULL) return nxi_oom(d);
  p->interpreted = true;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    const nxg_node *n = &g->nodes[g->outputs[i].node];
    p->outputs[i] = (nxp_output){-1, nxi_dtype_bytes(n->dtype, nxg_node_elements(n)), NULL};
  }
  status = nxp_note_interpreted(p, g) ? find_alias_ranges(p, g, d) : nxi_oom(d);
  if (status == NX_OK) *out = p;
  else nxp_plan_destroy(p);
  return status;
}
