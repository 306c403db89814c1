/* SPDX-License-Identifier: ISC */
/* Library calls in the graph interpreter. Operands that are not dense are copied, and tasks run
 * one after the other. If a call has several results, each result's node makes a call of its own
 * and writes the other results to scratch memory. */
#include <string.h>

#include "interp_plan.h"

/* ---- planning */

static nxg_program_call *new_call(nxg_planner *b, uint32_t node) {
  nxg_program *p = b->p;
  nxg_program_call *c = nxi_arena_alloc(&p->arena, sizeof *c);
  if (c == NULL) {
    nxi_oom(b->d);
    return NULL;
  }
  c->node = node;
  c->origin = b->g->nodes[node].origin;
  if (nxg_call_of_node(b->g, node, &c->call, b->d) != NX_OK ||
      nxg_call_prepare(&c->call, &c->functions, &c->work, 0, NULL, b->d) != NX_OK)
    return NULL;
  c->next = p->calls; /* from now on the program owns it */
  p->calls = c;
  nxg_plan_add_work(b, c->work.cost < 1e18 ? (int64_t)c->work.cost : INT64_MAX);
  return c;
}

static int64_t bytes_of(const nxg_array *a) {
  return nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype);
}

/* Memory that is allocated only during the call: copies of operands that are not dense, results
 * that no node uses, scratch. */
static nx_status hold(nxg_planner *b, int64_t bytes, nxg_place *place, nxg_held *h, uint32_t *n) {
  nx_status status = nxg_plan_temporary(b, bytes, place);
  if (!status) h[(*n)++] = (nxg_held){*place, bytes};
  return status;
}

nx_status nxg_plan_dense(nxg_planner *b, uint32_t node, nxg_place *place, nxg_held *h,
                         uint32_t *n) {
  const nxg_node *x = &b->g->nodes[node];
  nxg_view v;
  nxg_plan_view(b, node, &v, place);
  v.offset = 0; /* the address already includes it */
  if (nxg_view_is_contiguous(&v)) return NX_OK;
  nx_status status = hold(b, nxg_elements(v.rank, v.shape) * nxi_dtype_size(x->dtype), place, h, n);
  return status ? status : nxg_plan_move(b, node, *place, x->rank, x->shape, NULL);
}

/* A custom operation is called once for all its results, as in a plan: the places of the others are
 * chosen when the first one is planned. */
static nx_status place_siblings(nxg_planner *b, uint32_t node, nxg_program_call *c) {
  for (uint32_t i = node + 1; i < b->g->n_nodes; i++) {
    const nxg_node *n = &b->g->nodes[i];
    nxg_planned *x = &b->values[i];
    if (!x->needed || !nxg_same_call(n, &b->g->nodes[node])) continue;
    uint32_t number = nxg_result_number(NXG_custom, n->attrs);
    if (number == nxg_result_number(NXG_custom, b->g->nodes[node].attrs) || c->taken >> number & 1)
      continue; /* equal nodes that nothing has merged: each makes a call */
    nx_status status = nxg_plan_place(b, i);
    if (status) return status;
    c->results[number] = x->place;
    c->taken |= 1u << number;
  }
  return NX_OK;
}

/* Whether an earlier node has planned the call that this one is a result of. */
static bool planned_before(const nxg_planner *b, const nxg_node *n) {
  uint32_t result = nxg_result_number(NXG_custom, n->attrs);
  for (const nxg_program_call *c = b->p->calls; c != NULL; c = c->next)
    if (c->taken >> result & 1 && nxg_same_call(&b->g->nodes[c->node], n)) return true;
  return false;
}

nx_status nxg_plan_call(nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  if (n->op == NXG_custom && planned_before(b, n)) return NX_OK;
  nxg_held h[NXG_CALL_OPERANDS + NXG_CALL_RESULTS + 2];
  uint32_t n_held = 0, wanted = nxg_result_number((nxg_op)n->op, n->attrs);
  nxg_program_call *c = new_call(b, node);
  if (c == NULL) return b->d ? b->d->status : NX_OUT_OF_MEMORY;
  nx_status status = NX_OK;
  for (uint32_t i = 0; !status && i < n->n_args; i++)
    status = nxg_plan_dense(b, n->args[i], &c->operands[i], h, &n_held);
  if (!status && n->op == NXG_custom) status = place_siblings(b, node, c);
  for (uint32_t i = 0; !status && i < c->call.n_results; i++) {
    if (c->taken >> i & 1) continue;
    if (i == wanted) c->results[i] = b->values[node].place;
    else status = hold(b, bytes_of(&c->call.results[i]), &c->results[i], h, &n_held);
  }
  if (!status) status = hold(b, c->work.shared_bytes, &c->shared, h, &n_held);
  if (!status) status = hold(b, c->work.own_bytes, &c->own, h, &n_held);
  if (status) return status;
  nxg_step *s = nxg_plan_step(b, nxg_step_call, nxg_node_elements(n), 0, 0);
  if (s == NULL) return NX_OUT_OF_MEMORY;
  s->call = c;
  for (uint32_t i = 0; !status && i < n_held; i++)
    status = nxg_plan_done_with(b, h[i].place, h[i].bytes);
  return status;
}

void nxg_release_calls(nxg_program *p) {
  for (nxg_program_call *c = p->calls; c != NULL; c = c->next)
    if (c->functions->release != NULL) c->functions->release(c->work.state);
}

/* ---- running */

static bool stopped(void *user) { return nxg_stopped(user); }

void nxg_step_call(const nxg_step *s, nxg_run_state *r) {
  const nxg_program_call *c = s->call;
  void *operands[NXG_CALL_OPERANDS], *results[NXG_CALL_RESULTS];
  char sentence[NXG_CALL_SENTENCE] = "";
  for (uint32_t i = 0; i < c->call.n_operands; i++) operands[i] = nxg_address(r, c->operands[i]);
  for (uint32_t i = 0; i < c->call.n_results; i++) results[i] = nxg_address(r, c->results[i]);
  nxg_call_part part = {.call = &c->call,
                        .state = c->work.state,
                        .operands = operands,
                        .results = results,
                        .shared = nxg_address(r, c->shared),
                        .own = nxg_address(r, c->own),
                        .stopped = stopped,
                        .user = r,
                        .unpolled = r->poll == NULL,
                        .sentence = sentence,
                        .room = sizeof sentence};
  for (; part.phase < c->work.n_phases; part.phase++) {
    int64_t tasks, grain;
    nxg_call_phase(&c->work, part.phase, &tasks, &grain);
    for (part.begin = 0; part.begin < tasks; part.begin = part.end) {
      if (nxg_stopped(r)) return;
      part.end = tasks - part.begin < grain ? tasks : part.begin + grain;
      part.failed = part.begin;
      nx_status status = c->functions->run(&part);
      if (status == NX_OK || r->status) continue;
      r->status = nxg_call_failed(&c->call, &c->work, status, part.failed, sentence, r->d);
      if (r->d) r->d->node = (int32_t)c->origin;
      return;
    }
  }
}
