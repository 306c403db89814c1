/* SPDX-License-Identifier: ISC */
/* Minimisation by three moves, tried until none helps: keep one node as the only output; leave an
 * output out; make a node an input. */
#include "minimise.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

/* What is left of a graph. */
typedef struct choice {
  int64_t only;  /* node that becomes the only output */
  int64_t drop;  /* number of the output that is left out */
  int64_t input; /* node that becomes an input */
} choice;

static void mark_live(const nxg_graph *g, const choice *c, uint8_t *live) {
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (c->only == NONE && i != c->drop) live[g->outputs[i].node] = 1;
  if (c->only != NONE) live[c->only] = 1;
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; live[i] && i != c->input && a < g->nodes[i].n_args; a++)
      live[g->nodes[i].args[a]] = 1;
}

static nxg_graph *rebuild(const nxg_graph *g, choice c) {
  nxg_graph *out = nxg_create("failing");
  uint8_t *live = calloc(g->n_nodes + 1, 1);
  uint32_t *map = calloc(g->n_nodes + 1, sizeof *map), args[64];
  if (out == NULL || live == NULL || map == NULL) abort();
  mark_live(g, &c, live);
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!live[i]) continue;
    if (n->op == NXG_input || i == c.input) {
      nxg_input as = n->op == NXG_input ? g->inputs[n->attrs[0]] : (nxg_input){0, 0, -1};
      map[i] = nxg_add_input(out, n->dtype, n->rank, n->shape, as.flags, as.alias, NULL);
      continue;
    }
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
    map[i] = nxg_add(out, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype, n->rank,
                     n->shape);
  }
  for (uint32_t i = 0; i < g->n_outputs && c.only == NONE; i++)
    if (i != c.drop) nxg_add_output(out, map[g->outputs[i].node], NULL);
  if (c.only != NONE) nxg_add_output(out, map[c.only], NULL);
  free(live);
  free(map);
  return out;
}

static bool fails(nxt_lab *lab, const nxg_graph *g, uint64_t seed, const nxt_config *config) {
  char why[600];
  if (g->n_inputs > NXT_MOST_INPUTS) return false;
  nxt_trial *t = nxt_trial_create(lab, g, seed);
  bool agrees = nxt_trial_agrees(t, config, why, sizeof why);
  nxt_trial_destroy(t);
  return !agrees;
}

/* *g becomes what the choice leaves of it if that is less and fails still. */
static bool try_smaller(nxt_lab *lab, nxg_graph **g, choice c, uint64_t seed,
                        const nxt_config *config) {
  nxg_graph *smaller = rebuild(*g, c);
  bool less = smaller->n_nodes < (*g)->n_nodes || smaller->n_outputs < (*g)->n_outputs ||
              smaller->n_inputs > (*g)->n_inputs;
  if (!less || !fails(lab, smaller, seed, config)) {
    nxg_destroy(smaller);
    return false;
  }
  nxg_destroy(*g);
  *g = smaller;
  return true;
}

/* Nodes that may become inputs: memory that an update reaches through an alias range has to stay
 * what it is. */
static bool may_be_input(const nxg_graph *g, uint32_t node) {
  if (g->nodes[node].op == NXG_input || g->nodes[node].n_args == 0) return false;
  for (uint32_t i = node + 1; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_update && g->nodes[i].n_args == 3 && g->nodes[i].args[0] == node)
      return false;
  return true;
}

static bool one_round(nxt_lab *lab, nxg_graph **g, uint64_t seed, const nxt_config *config) {
  bool progress = false;
  for (uint32_t i = 0; i < (*g)->n_nodes && (*g)->n_nodes > 1; i++)
    if ((*g)->nodes[i].op != NXG_input && ((*g)->n_outputs > 1 || (*g)->outputs[0].node != i))
      progress = try_smaller(lab, g, (choice){i, NONE, NONE}, seed, config) || progress;
  for (uint32_t i = (*g)->n_outputs; i-- > 0;)
    if ((*g)->n_outputs > 1 && i < (*g)->n_outputs)
      progress = try_smaller(lab, g, (choice){NONE, i, NONE}, seed, config) || progress;
  for (uint32_t i = (*g)->n_nodes; i-- > 0;)
    if (i < (*g)->n_nodes && may_be_input(*g, i))
      progress = try_smaller(lab, g, (choice){NONE, NONE, i}, seed, config) || progress;
  return progress;
}

nxg_graph *nxt_minimise(nxt_lab *lab, const nxg_graph *from, uint64_t seed,
                        const nxt_config *config) {
  nxg_graph *g = rebuild(from, (choice){NONE, NONE, NONE});
  while (fails(lab, g, seed, config) && one_round(lab, &g, seed, config)) continue;
  return g;
}
