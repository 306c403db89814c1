/* SPDX-License-Identifier: ISC */
/* Lists the values of the recorded graph that a launch leaves complete in a temporary of their
 * own. If somebody holds such a value, the runtime may ask for it as an output, and the plan
 * stores nothing that it would not have stored anyway.
 *
 * A node that passes made from a recorded node has that node's number in `origin`; the last node
 * with that origin has its value. If its dtype or number of elements differs it is another form
 * of the value, and is not listed. A mistake here could cost an unnecessary store but never a
 * wrong value, because what is asked for is an ordinary output of the next plan. */
#include "build.h"

/* Tables by origin, and by number of a temporary. */
typedef struct tables {
  uint32_t *recorded; /* origin -> node of the recorded graph; NXP_NONE */
  uint32_t *made;     /* origin -> last node of the graph that was planned; NXP_NONE */
  uint32_t *holder;   /* temporary -> last node that lies there; NXP_NONE */
  uint32_t origins;
} tables;

/* Views that only give another shape have no memory of their own. */
static uint32_t through_shapes(const nxg_graph *g, uint32_t node) {
  while (g->nodes[node].op == NXG_view) {
    nxg_view v;
    uint32_t base = g->nodes[node].args[0];
    nxg_node_view(g, node, &v);
    if (v.offset != 0 || !nxg_view_is_contiguous(&v) ||
        nxg_node_elements(&g->nodes[base]) != nxg_node_elements(&g->nodes[node]))
      return node;
    node = base;
  }
  return node;
}

static void fill(const nxp_step_builder *s, tables *t) {
  const nxg_graph *g = s->b->g, *recorded = s->b->recorded;
  for (uint32_t i = 0; i < t->origins; i++) t->recorded[i] = t->made[i] = NXP_NONE;
  for (uint32_t i = 0; i < s->n_temporaries; i++) t->holder[i] = NXP_NONE;
  for (uint32_t i = 0; i < recorded->n_nodes; i++) {
    const nxg_node *n = &recorded->nodes[i];
    if (n->op != NXG_input && n->origin < t->origins) t->recorded[n->origin] = i;
  }
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    nxp_location where = s->b->where[i];
    if (n->op != NXG_input && n->origin < t->origins) t->made[n->origin] = i;
    if (where.kind == NXP_TEMPORARY) t->holder[where.number] = i;
  }
  /* A product that something follows row panel by row panel would be made for itself if it were an
   * output. */
  for (uint32_t i = 0; i < s->b->plan->n_steps; i++) {
    const nxp_step *step = &s->b->plan->steps[i];
    nxp_location where = s->b->where[step->tag_node];
    bool followed = step->kind == NXP_STEP_MATMUL && step->epilogue != NULL;
    if (followed && where.kind == NXP_TEMPORARY && t->holder[where.number] == step->tag_node)
      t->holder[where.number] = NXP_NONE;
  }
}

static bool is_stored(const nxp_step_builder *s, const tables *t, uint32_t origin) {
  if (t->recorded[origin] == NXP_NONE || t->made[origin] == NXP_NONE) return false;
  const nxg_node *was = &s->b->recorded->nodes[t->recorded[origin]];
  uint32_t node = through_shapes(s->b->g, t->made[origin]);
  const nxg_node *n = &s->b->g->nodes[node];
  nxp_location where = s->b->where[node];
  if (where.kind != NXP_TEMPORARY || where.offset != 0 || where.alias_range != NXP_NO_ALIAS_RANGE)
    return false;
  return n->dtype == was->dtype && nxg_node_elements(n) == nxg_node_elements(was) &&
         nxg_node_elements(n) > 0 && t->holder[where.number] == node;
}

bool nxp_note_stored(nxp_step_builder *s) {
  nxp_plan *p = s->b->plan;
  tables t = {.origins = s->b->recorded->n_nodes};
  size_t n = t.origins, words = 2 * n + s->n_temporaries + 1;
  if (s->n_temporaries == 0) return true;
  uint32_t *room = nxi_malloc(words * sizeof *room);
  if (room == NULL) return false;
  t.recorded = room;
  t.made = room + n;
  t.holder = room + 2 * n;
  fill(s, &t);
  uint32_t found = 0;
  for (uint32_t i = 0; i < t.origins; i++)
    if (is_stored(s, &t, i)) t.recorded[found++] = i; /* what is before i has been looked at */
  if (found > 0) p->stored = nxi_arena_copy(&p->arena, t.recorded, found * sizeof *p->stored);
  p->n_stored = p->stored != NULL ? found : 0;
  nxi_free(room);
  return found == 0 || p->stored != NULL;
}

/* The interpreter stores all values, one after the other. What counts is what a compiled plan would
 * store in any case. */
bool nxp_note_interpreted(nxp_plan *p, const nxg_graph *g) {
  uint32_t n = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = n = 0; i < g->n_nodes; i++) {
      uint32_t op = g->nodes[i].op;
      bool stored = op == NXG_matmul || nxg_ops[op].kind == NXG_KIND_CALL || nxg_is_control(op);
      if (!stored) continue;
      if (pass == 1) p->stored[n] = g->nodes[i].origin;
      n++;
    }
    if (n == 0) return true;
    if (pass == 0) p->stored = nxi_arena_alloc(&p->arena, n * sizeof *p->stored);
    if (p->stored == NULL) return false;
  }
  p->n_stored = n;
  return true;
}
