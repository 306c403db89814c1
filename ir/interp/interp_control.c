/* SPDX-License-Identifier: ISC */
/* Control flow in the graph interpreter: a step with a program for each body. All results of a run
 * are computed by the step of the first node that is one of them. */
#include <string.h>

#include "interp_plan.h"

/* ---- planning */

static nxg_program_control *new_control(nxg_planner *b, uint32_t node) {
  const nxg_node *n = &b->g->nodes[node];
  nxg_program *p = b->p;
  nxg_program_control *k = nxi_arena_alloc(&p->arena, sizeof *k);
  if (!k) return NULL;
  int64_t *attrs = nxi_arena_copy(&p->arena, n->attrs, n->n_attrs * sizeof *attrs);
  if (!attrs) return NULL;
  nxg_node own = *n; /* with attributes that live as long as the program */
  own.attrs = attrs;
  nxg_control_of_node(&own, &k->c);
  k->origin = n->origin;
  k->index_dtype = n->n_args ? (nx_dtype)b->g->nodes[n->args[0]].dtype : NX_I64;
  k->next = p->controls; /* from now on the program owns it */
  p->controls = k;
  size_t places = (size_t)n->n_args + k->c.n_results + k->c.n_carried + 1,
         numbers = (size_t)k->c.n_results + k->c.n_stacked + 1;
  k->operands = nxi_arena_alloc(&p->arena, places * sizeof *k->operands);
  k->bytes = nxi_arena_alloc(&p->arena, numbers * sizeof *k->bytes);
  if (!k->operands || !k->bytes) return NULL;
  k->results = k->operands + n->n_args;
  k->spares = k->results + k->c.n_results;
  k->strides = k->bytes + k->c.n_results;
  return k;
}

/* Without a count or a limit of steps there is no saying. */
static int64_t work_of(const nxg_program_control *k) {
  int64_t work = 0, steps = k->c.op == NXG_case ? 1 : k->c.count < 0 ? k->c.limit : k->c.count;
  if (steps == 0 && k->c.count < 0) return INT64_MAX;
  for (uint32_t i = 0; i < k->c.n_bodies; i++)
    if (__builtin_add_overflow(work, nxg_program_work(k->bodies[i]), &work) ||
        __builtin_add_overflow(work, 1, &work))
      return INT64_MAX;
  return __builtin_mul_overflow(work, steps, &work) ? INT64_MAX : work;
}

static nx_status make_bodies(nxg_planner *b, nxg_program_control *k) {
  for (uint32_t i = 0; i < k->c.n_bodies; i++) {
    nx_status status =
        nxg_program_create(nxg_body_find(k->c.bodies[i])->graph, &k->bodies[i], b->d);
    if (status) return status;
  }
  nxg_plan_add_work(b, work_of(k));
  return NX_OK;
}

/* The memory of results: that of their nodes, or some for as long as the step runs. */
static nx_status place_results(nxg_planner *b, uint32_t node, nxg_program_control *k,
                               nxg_held *held, uint32_t *n_held) {
  const nxg_node *n = &b->g->nodes[node];
  uint8_t *wanted = nxi_calloc(k->c.n_results, 1);
  nx_status status = wanted ? NX_OK : nxi_oom(b->d);
  for (uint32_t i = node; i < b->g->n_nodes && !status; i++) {
    const nxg_node *x = &b->g->nodes[i];
    if (!b->values[i].needed || !nxg_is_control(x->op) || !nxg_same_control(n, x)) continue;
    uint32_t result = (uint32_t)x->attrs[0];
    if (wanted[result]) continue; /* equal nodes run it again */
    wanted[result] = 1;
    status = nxg_plan_place(b, i);
    k->results[result] = b->values[i].place;
    b->values[i].made = true;
  }
  for (uint32_t i = 0; i < k->c.n_results && !status; i++) {
    nx_dtype t;
    int32_t rank;
    int64_t shape[NXG_MAX_RANK];
    nxg_control_result(&k->c, i, &t, &rank, shape);
    bool stacked = k->c.counted && i >= k->c.n_carried;
    int64_t bytes = nxg_elements(rank, shape) * nxi_dtype_size(t);
    k->bytes[i] = nxg_elements(rank - stacked, shape + stacked) * nxi_dtype_size(t);
    if (wanted[i]) continue;
    status = nxg_plan_temporary(b, bytes, &k->results[i]);
    if (!status) held[(*n_held)++] = (nxg_held){k->results[i], bytes};
  }
  nxi_free(wanted);
  return status;
}

static nx_status hold(nxg_planner *b, int64_t bytes, nxg_place *place, nxg_held *held,
                      uint32_t *n_held) {
  nx_status status = nxg_plan_temporary(b, bytes, place);
  if (!status) held[(*n_held)++] = (nxg_held){*place, bytes};
  return status;
}

/* Everything else that a frame needs. */
static nx_status place_rest(nxg_planner *b, uint32_t node, nxg_program_control *k, nxg_held *held,
                            uint32_t *n_held) {
  const nxg_node *n = &b->g->nodes[node];
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < n->n_args && !status; i++)
    status = nxg_plan_dense(b, n->args[i], &k->operands[i], held, n_held);
  for (uint32_t i = 0; i < k->c.n_carried && !status; i++)
    status = hold(b, k->bytes[i], &k->spares[i], held, n_held);
  for (uint32_t i = 0; i < k->c.n_stacked && !status; i++) {
    const nxg_node *x = &b->g->nodes[n->args[n->n_args - k->c.n_stacked + i]];
    k->strides[i] = nxg_elements(x->rank - 1, x->shape + 1) * nxi_dtype_size(x->dtype);
  }
  if (!status) status = hold(b, 8, &k->index, held, n_held);
  if (!status) status = hold(b, 8, &k->holds, held, n_held);
  int64_t room = (int64_t)nxg_control_room(&k->c) + n->n_args + k->c.n_results + k->c.n_carried;
  return status ? status : hold(b, room * (int64_t)sizeof(void *), &k->pointers, held, n_held);
}

nx_status nxg_plan_control(nxg_planner *b, uint32_t node) {
  nxg_program_control *k = new_control(b, node);
  if (!k) return nxi_oom(b->d);
  uint32_t n_held = 0;
  size_t most = (size_t)b->g->nodes[node].n_args + k->c.n_results + k->c.n_carried + 3;
  nxg_held *held = nxi_malloc(most * sizeof *held);
  nx_status status = held ? make_bodies(b, k) : nxi_oom(b->d);
  if (!status) status = place_results(b, node, k, held, &n_held);
  if (!status) status = place_rest(b, node, k, held, &n_held);
  nxg_step *s = status ? NULL : nxg_plan_step(b, nxg_step_control, 0, 0, 0);
  if (!status && !s) status = NX_OUT_OF_MEMORY;
  if (s) s->control = k;
  for (uint32_t i = 0; i < n_held && !status; i++)
    status = nxg_plan_done_with(b, held[i].place, held[i].bytes);
  nxi_free(held);
  return status;
}

void nxg_release_controls(nxg_program *p) {
  for (nxg_program_control *k = p->controls; k; k = k->next)
    for (uint32_t i = 0; i < k->c.n_bodies; i++) nxg_program_destroy(k->bodies[i]);
}

/* ---- running */

typedef struct running {
  const nxg_program_control *k;
  nxg_run_state *r;
} running;

static nx_status run_body(void *user, uint32_t body, void *const *inputs, void *const *outputs,
                          nxi_diag *d) {
  running *x = user;
  return nxg_program_run_polled(x->k->bodies[body], inputs, NULL, NULL, outputs, x->r->poll,
                                x->r->user, x->r->parallel, d);
}

static nx_status copy(void *user, void *to, const void *from, int64_t bytes, nxi_diag *d) {
  (void)user, (void)d;
  if (bytes) memcpy(to, from, (size_t)bytes);
  return NX_OK;
}

static nx_status ask(void *user, nxi_diag *d) {
  running *x = user;
  (void)d;
  return nxg_stopped(x->r) ? x->r->status : NX_OK;
}

static void **addresses(const nxg_run_state *r, const nxg_place *places, uint32_t n, void **room) {
  for (uint32_t i = 0; i < n; i++) room[i] = nxg_address(r, places[i]);
  return room + n;
}

void nxg_step_control(const nxg_step *s, nxg_run_state *r) {
  const nxg_program_control *k = s->control;
  const nxg_control *c = &k->c;
  running x = {k, r};
  uint32_t n_operands = c->first + c->n_carried + c->n_passed + c->n_stacked;
  void **operands = (void **)(void *)nxg_address(r, k->pointers),
       **results = addresses(r, k->operands, n_operands, operands),
       **spares = addresses(r, k->results, c->n_results, results),
       **room = addresses(r, k->spares, c->n_carried, spares);
  nxg_control_frame f = {.c = c,
                         .operands = operands,
                         .results = results,
                         .spares = spares,
                         .index = nxg_address(r, k->index),
                         .holds = nxg_address(r, k->holds),
                         .bytes = k->bytes,
                         .strides = k->strides,
                         .room = room,
                         .run = run_body,
                         .copy = copy,
                         .fetch = copy,
                         .put = copy,
                         .ask = ask,
                         .user = &x,
                         .index_dtype = k->index_dtype};
  nx_status status = nxg_control_run(&f, r->d);
  if (status && !r->status) r->status = status;
  if (status && r->d && r->d->node < 0) r->d->node = (int32_t)k->origin;
}
