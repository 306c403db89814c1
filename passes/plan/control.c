/* SPDX-License-Identifier: ISC */
/* Control flow as a step of a plan: operands and results are memory, and so are the second places
 * of carried values, of what branches update, and of slices that do not begin at multiples of 64
 * bytes, as plans of bodies assume. Plans of bodies are made by whoever carries the step out; their
 * temporaries are scratch of the step. */
#include "build.h"

#include <string.h>

static nxp_control *new_control(nxp_plan_builder *b, uint32_t node) {
  nxi_arena *arena = &b->plan->arena;
  const nxg_node *n = &b->g->nodes[node];
  nxp_control *k = nxi_arena_alloc(arena, sizeof *k);
  if (k == NULL) return NULL;
  nxg_node own = *n; /* with attributes that live as long as the plan */
  own.attrs = nxi_arena_copy(arena, n->attrs, n->n_attrs * sizeof *n->attrs);
  if (own.attrs == NULL) return NULL;
  nxg_control_of_node(&own, &k->c);
  k->origin = n->origin;
  k->n_operands = n->n_args;
  k->index_dtype = (nx_dtype)b->g->nodes[n->args[0]].dtype;
  k->bytes =
      nxi_arena_alloc(arena, ((size_t)k->c.n_results + k->c.n_stacked + 1) * sizeof *k->bytes);
  k->strides = k->bytes + k->c.n_results;
  k->lies_in = nxi_arena_alloc(arena, ((size_t)k->c.n_results + 1) * sizeof *k->lies_in);
  return k->bytes != NULL && k->lies_in != NULL ? k : NULL;
}

/* The bodies live as long as the plan. */
static void hold_bodies(nxp_control *k) {
  for (; k->held < k->c.n_bodies; k->held++) nxg_body_hold(k->c.bodies[k->held]);
}

bool nxp_hold_bodies(nxp_plan *p, const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    nxg_control c;
    if (!nxg_is_control(g->nodes[i].op)) continue;
    nxg_control_of_node(&g->nodes[i], &c);
    if (!nxi_grow(&p->bodies, &p->cap_bodies, p->n_bodies + c.n_bodies, sizeof *p->bodies))
      return false;
    for (uint32_t b = 0; b < c.n_bodies; b++) nxg_body_hold(p->bodies[p->n_bodies++] = c.bodies[b]);
  }
  return true;
}

void nxp_release_bodies(nxp_plan *p) {
  for (uint32_t i = 0; i < p->n_bodies; i++) nxg_body_release(p->bodies[i]);
  nxi_free(p->bodies);
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_control *k = p->steps[i].control;
    for (uint32_t b = 0; k != NULL && b < k->held; b++) nxg_body_release(k->c.bodies[b]);
  }
}

static void measure(const nxp_step_builder *s, uint32_t node, nxp_control *k) {
  const nxg_node *n = node_of(s, node);
  for (uint32_t i = 0; i < k->c.n_results; i++) {
    k->lies_in[i] = -1;
    nx_dtype t;
    int32_t rank;
    int64_t shape[NXG_MAX_RANK];
    nxg_control_result(&k->c, i, &t, &rank, shape);
    bool stacked = k->c.counted && i >= k->c.n_carried;
    k->bytes[i] = nxg_elements(rank - stacked, shape + stacked) * nxi_dtype_size(t);
  }
  for (uint32_t i = 0; i < k->c.n_stacked; i++) {
    const nxg_node *x = node_of(s, n->args[n->n_args - k->c.n_stacked + i]);
    k->strides[i] = nxg_elements(x->rank - 1, x->shape + 1) * nxi_dtype_size(x->dtype);
  }
}

/* Where an operand's first element is. */
static nxp_location operand_location(const nxp_step_builder *s, uint32_t node) {
  nxg_view v;
  nxg_node_view(s->b->g, node, &v);
  uint32_t base = node_of(s, node)->op == NXG_view ? node_of(s, node)->args[0] : node;
  nxp_location where = s->b->where[base];
  where.offset += v.offset * nxi_dtype_size(node_of(s, node)->dtype);
  return where;
}

/* The operand, counted from the first carried one, or from the first that branches take, that
 * result i is a changed form of; -1. */
static int32_t changed_input(const nxp_control *k, uint32_t i) {
  if (k->c.op == NXG_case) return nxp_case_updates(&k->c, i);
  return i < k->c.n_carried ? (int32_t)i : -1;
}

/* That of the operand, if nobody needs it any more and no memory of a result of the run would have
 * to be filled from it: values that bodies update in place are then nowhere copied. */
static bool place_result(nxp_step_builder *s, uint32_t node, const nxp_control *k, uint32_t i) {
  int32_t input = changed_input(k, i);
  uint32_t operand = k->c.first + (uint32_t)input;
  if (input >= 0 && nxp_loop_takes_over(s, node, operand)) {
    uint32_t from = node_of(s, node)->args[operand];
    uint32_t base = node_of(s, from)->op == NXG_view ? node_of(s, from)->args[0] : from;
    bool is_input = node_of(s, base)->op == NXG_input;
    s->b->where[node] = operand_location(s, from);
    if (is_input || !s->b->output_of[node]) return true;
  }
  return nxp_new_memory(s, node, &s->b->where[node]);
}

/* Memory of the results: that of their nodes, or a temporary for what nobody reads. */
static bool place_results(nxp_step_builder *s, nxp_step *step, const nxp_group *group) {
  const nxp_control *k = step->control;
  for (uint32_t i = 0; i < k->c.n_results; i++) {
    uint32_t at = k->n_operands + i;
    bool wanted = false;
    for (uint32_t r = 0; r < group->n_roots; r++) {
      uint32_t node = group->roots[r].node;
      if ((uint32_t)node_of(s, node)->attrs[0] != i) continue;
      /* Equal nodes that nothing has merged are computed into one place. */
      if (!wanted && !place_result(s, node, k, i)) return false;
      if (wanted) s->b->where[node] = step->buffers[at];
      step->buffers[at] = s->b->where[node];
      step->stores = step->stores || s->b->where[node].kind == NXP_OUTPUT;
      wanted = true;
    }
    bool stacked = k->c.counted && i >= k->c.n_carried;
    int64_t bytes = stacked ? k->bytes[i] * k->c.count : k->bytes[i];
    step->writes[at] = true;
    if (!wanted && !nxp_new_temporary(s, bytes, &step->buffers[at])) return false;
  }
  return true;
}

/* Temporaries from *at on. */
static bool add_temporary(nxp_step_builder *s, nxp_step *step, uint32_t *at, int64_t bytes) {
  step->writes[*at] = true;
  return nxp_new_temporary(s, bytes, &step->buffers[(*at)++]);
}

static bool place_rest(nxp_step_builder *s, nxp_step *step) {
  const nxp_control *k = step->control;
  const nxg_control *c = &k->c;
  uint32_t at = k->n_operands + c->n_results;
  int64_t pointers = (int64_t)nxg_control_room(c) + nxp_control_buffers(k);
  bool ok = true;
  for (uint32_t i = 0; ok && i < c->n_carried; i++) ok = add_temporary(s, step, &at, k->bytes[i]);
  for (uint32_t i = 0; ok && c->op == NXG_case && i < c->n_results; i++)
    ok = add_temporary(s, step, &at, changed_input(k, i) < 0 ? 0 : k->bytes[i]);
  for (uint32_t i = c->n_carried; ok && c->counted && i < c->n_results; i++)
    ok = add_temporary(s, step, &at, k->bytes[i] % NXP_ALIGNMENT != 0 ? k->bytes[i] : 0);
  ok = ok && add_temporary(s, step, &at, (int64_t)2 * NXP_ALIGNMENT);
  ok = ok && add_temporary(s, step, &at, pointers * (int64_t)sizeof(void *));
  return ok && nxp_new_scratch(s, step, at);
}

uint32_t nxp_control_buffers(const nxp_control *k) {
  uint32_t slices = k->c.counted ? k->c.n_results - k->c.n_carried : 0;
  uint32_t spares = k->c.op == NXG_case ? k->c.n_results : k->c.n_carried;
  return k->n_operands + k->c.n_results + spares + slices + 3;
}

nx_status nxp_add_control_group(nxp_step_builder *s, uint32_t group) {
  nxp_plan_builder *b = s->b;
  const nxp_group *members = &b->clusters->groups[group];
  uint32_t node = members->roots[0].node;
  const nxg_node *n = node_of(s, node);
  bool done = false;
  nx_status status = nxp_add_loop_kernel(s, group, &done);
  if (status != NX_OK || done) return status;
  nxp_control *k = new_control(b, node);
  if (k == NULL) return nxi_oom(b->d);
  nxp_step *step = nxp_add_step(s, NXP_STEP_CONTROL, node, nxp_control_buffers(k));
  if (step == NULL) return nxi_oom(b->d);
  step->name = nxg_ops[n->op].name;
  step->control = k;
  hold_bodies(k);
  measure(s, node, k);
  for (uint32_t i = 0; i < n->n_args; i++) step->buffers[i] = nxp_operand(s, n->args[i], NULL);
  return place_results(s, step, members) && place_rest(s, step) ? NX_OK : nxi_oom(b->d);
}
