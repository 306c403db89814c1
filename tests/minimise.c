/* SPDX-License-Identifier: ISC */
/* Minimisation by two moves, tried until neither helps: keep one node as the only output; make a node an input. */
#include "minimise.h"

#include <stdlib.h>

enum { KEEP_OUTPUTS = -1 };

/* Copies what `output` (or all outputs) needs; node `cut` becomes an input. */
static nxg_graph *rebuild(const nxg_graph *g, int64_t output, int64_t cut) {
  nxg_graph *out = nxg_create("failing");
  uint8_t *live = calloc(g->n_nodes + 1, 1);
  uint32_t *map = calloc(g->n_nodes + 1, sizeof *map), args[64];
  if (out == NULL || live == NULL || map == NULL) abort();
  for (uint32_t i = 0; i < g->n_outputs; i++)
    live[output == KEEP_OUTPUTS ? g->outputs[i].node : (uint32_t)output] = 1;
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; live[i] && i != cut && a < g->nodes[i].n_args; a++)
      live[g->nodes[i].args[a]] = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!live[i]) continue;
    if (n->op == NXG_input || i == cut) {
      uint32_t flags = n->op == NXG_input ? g->inputs[n->attrs[0]].flags : 0;
      map[i] = nxg_add_input(out, n->dtype, n->rank, n->shape, flags, -1, NULL);
      continue;
    }
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
    map[i] = nxg_add(out, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype, n->rank,
                     n->shape);
  }
  if (output == KEEP_OUTPUTS)
    for (uint32_t i = 0; i < g->n_outputs; i++) nxg_add_output(out, map[g->outputs[i].node], NULL);
  else nxg_add_output(out, map[output], NULL);
  free(live);
  free(map);
  return out;
}

static bool fails(nxt_lab *lab, const nxg_graph *g, uint64_t seed, const nxt_config *config) {
  char why[600];
  return g->n_inputs <= 16 && !nxt_agrees(lab, g, seed, config, why, sizeof why);
}

static bool try_smaller(nxt_lab *lab, nxg_graph **g, nxg_graph *smaller, uint64_t seed,
                        const nxt_config *config) {
  if (smaller->n_nodes >= (*g)->n_nodes && smaller->n_outputs >= (*g)->n_outputs &&
      smaller->n_inputs <= (*g)->n_inputs) {
    nxg_destroy(smaller);
    return false;
  }
  if (!fails(lab, smaller, seed, config)) {
    nxg_destroy(smaller);
    return false;
  }
  nxg_destroy(*g);
  *g = smaller;
  return true;
}

nxg_graph *nxt_minimise(nxt_lab *lab, const nxg_graph *from, uint64_t seed,
                        const nxt_config *config) {
  nxg_graph *g = rebuild(from, KEEP_OUTPUTS, -1);
  if (!fails(lab, g, seed, config)) {
    nxg_destroy(g);
    return rebuild(from, KEEP_OUTPUTS, -1);
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (uint32_t i = 0; i < g->n_nodes && g->n_nodes > 1; i++)
      if (g->nodes[i].op != NXG_input && (g->n_outputs > 1 || g->outputs[0].node != i))
        progress = try_smaller(lab, &g, rebuild(g, i, -1), seed, config) || progress;
    for (uint32_t i = g->n_nodes; i-- > 0;)
      if (i < g->n_nodes && g->nodes[i].op != NXG_input && g->nodes[i].n_args > 0)
        progress = try_smaller(lab, &g, rebuild(g, KEEP_OUTPUTS, i), seed, config) || progress;
  }
  return g;
}
