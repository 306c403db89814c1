/* SPDX-License-Identifier: ISC */
/* Which results of bodies are updates of their inputs: such a value may lie in one memory while the
 * body, or whatever is around it, runs. */
#include "plan.h"

static uint32_t root_of_branches(const nxg_control *c, uint32_t i);

/* The operand of which a node is an update, all of it or as another shape; NXP_NONE. */
static uint32_t updated(const nxg_graph *g, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  nxg_control c;
  if (n->op == NXG_update || n->op == NXG_scatter) return n->args[0];
  if (n->op == NXG_view && nxg_node_elements(n) == nxg_node_elements(&g->nodes[n->args[0]]))
    return n->args[0];
  if (!nxg_is_control(n->op)) return NXP_NONE;
  nxg_control_of_node(n, &c);
  if (n->op != NXG_case) return c.result < c.n_carried ? n->args[c.first + c.result] : NXP_NONE;
  uint32_t input = root_of_branches(&c, c.result);
  return input == NXP_NONE ? NXP_NONE : n->args[c.first + input];
}

bool nxp_gives_input(const nxg_graph *g, uint32_t o, uint32_t input) {
  return g->outputs[o].node == g->inputs[input].node;
}

bool nxp_is_update_of(const nxg_graph *g, uint32_t o, uint32_t input) {
  uint32_t node = g->outputs[o].node;
  if (nxp_gives_input(g, o, input)) return false;
  while (node != NXP_NONE && node != g->inputs[input].node) node = updated(g, node);
  return node != NXP_NONE;
}

nx_status nxp_allow_updates(const nxg_control *c, const nxg_graph *g, nxg_graph **out,
                            nxi_diag *d) {
  *out = NULL;
  for (uint32_t i = 0; i < c->n_carried; i++) {
    uint32_t input = c->indexed + i;
    if (!nxp_is_update_of(g, i, input)) continue;
    if (*out == NULL && (*out = nxg_copy(g)) == NULL) return nxi_oom(d);
    (*out)->inputs[input].flags = NXG_INPUT_OVERWRITE | NXG_INPUT_SPENT | NXG_INPUT_ALIGNED;
  }
  return NX_OK;
}

/* The input that output o is an update of, or is; NXP_NONE. */
static uint32_t root_of(const nxg_graph *g, uint32_t o) {
  uint32_t node = g->outputs[o].node;
  while (node != NXP_NONE && g->nodes[node].op != NXG_input) node = updated(g, node);
  return node == NXP_NONE ? NXP_NONE : (uint32_t)g->nodes[node].attrs[0];
}

/* The input that result i is an update of, or is, in all branches; NXP_NONE. */
static uint32_t root_of_branches(const nxg_control *c, uint32_t i) {
  uint32_t root = root_of(nxg_body_find(c->bodies[0])->graph, i);
  for (uint32_t b = 1; b < c->n_bodies && root != NXP_NONE; b++)
    if (root_of(nxg_body_find(c->bodies[b])->graph, i) != root) return NXP_NONE;
  return root;
}

int32_t nxp_case_updates(const nxg_control *c, uint32_t i) {
  uint32_t root = root_of_branches(c, i), stays = 0;
  if (root == NXP_NONE) return -1;
  for (uint32_t b = 0; b < c->n_bodies; b++)
    stays += nxp_gives_input(nxg_body_find(c->bodies[b])->graph, i, root);
  for (uint32_t other = 0; other < c->n_results; other++)
    if (other != i && root_of_branches(c, other) == root) return -1;
  return stays < c->n_bodies ? (int32_t)root : -1;
}
