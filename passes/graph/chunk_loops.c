/* SPDX-License-Identifier: ISC */
/* Loops of elementwise or small steps whose number is not known, or is very large, become loops in
 * loops: the inner one takes NXG_LOOP_CHUNK steps at most and is a kernel (plan/loop.c,
 * plan/joined.c), the outer one is run by the host, which asks the poll between its steps. So no
 * task runs for long, whatever the number turns out to be.
 *
 *   for n, carried, captured body=@step     becomes
 *
 *   for (n + 1023) / 1024, carried, captured, n body=@steps
 *   @steps(k, carried, captured, n): for min(1024, n - k * 1024), carried, captured, k * 1024
 *
 * where the number of the step, if the body reads it, is that of the inner loop and k * 1024. */
#include "passes.h"
#include "rewrite.h"

#include <string.h>

#include "ir/graph/control.h"
#include "loops.h"

enum {
  MOST_NODES = 512,         /* of a body */
  MOST_OPERATIONS = 1000000 /* of all steps of a point: so many are not cut */
};

bool nxg_is_elementwise(const nxg_graph *g) {
  if (g->n_nodes > MOST_NODES) return false;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    uint32_t op = g->nodes[i].op;
    uint8_t kind = nxg_ops[op].kind;
    bool moves = kind == NXG_KIND_MOVE && !nxg_is_scan(op) && op != NXG_gather;
    if (kind != NXG_KIND_LEAF && kind != NXG_KIND_MAP && kind != NXG_KIND_VIEW && !moves)
      return false;
  }
  return true;
}

int64_t nxg_most_of(const nxg_graph *g, uint32_t node) {
  const nxg_node *n = &g->nodes[node];
  for (uint32_t a = 0; n->op == NXG_min && a < 2; a++) {
    const nxg_node *x = &g->nodes[n->args[a]];
    if (x->op == NXG_full && x->attrs[1] < 0)
      return x->dtype == NX_I32 ? (int32_t)x->attrs[0] : x->attrs[0];
  }
  return -1;
}

/* ---- what is cut */

static bool is_long(const nxg_graph *g, const nxg_node *n, nxg_control *c) {
  if (n->op != NXG_for && n->op != NXG_scan) return false;
  nxg_control_of_node(n, c);
  if (c->limit != 0 || c->reverse || c->n_stacked > 0 || c->n_carried == 0 ||
      c->n_results != c->n_carried)
    return false;
  const nxg_graph *body = nxg_body_find(c->bodies[0])->graph;
  if (!nxg_is_elementwise(body)) {
    double work = (double)nxg_step_work(body, NULL);
    if (work < 0 || work * NXG_LOOP_CHUNK > NXG_LOOP_WORK) return false;
    if (c->count >= 0) return work * (double)c->count > NXG_LOOP_WORK;
  } else if (c->count >= 0) {
    return c->count > MOST_OPERATIONS / (int64_t)(body->n_nodes + 1);
  }
  int64_t most = nxg_most_of(g, n->args[0]);
  return most < 0 || most > NXG_LOOP_CHUNK;
}

/* Whether the body reads the number of its step. */
static bool reads_number(const nxg_control *c) {
  const nxg_graph *g = nxg_body_find(c->bodies[0])->graph;
  uint32_t number = c->indexed ? g->inputs[0].node : UINT32_MAX;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++)
      if (g->nodes[i].args[a] == number) return true;
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (g->outputs[i].node == number) return true;
  return false;
}

/* ---- graphs of bodies */

static uint32_t number(nxg_graph *g, int64_t x) {
  int64_t attrs[2] = {x, -1};
  return nxg_add(g, NXG_full, 0, NULL, attrs, 2, NX_I64, 0, NULL);
}

static uint32_t add_i64(nxg_graph *g, nxg_op op, uint32_t a, uint32_t b) {
  uint32_t args[2] = {a, b};
  if (a == UINT32_MAX || b == UINT32_MAX) return UINT32_MAX;
  return nxg_add(g, op, 2, args, NULL, 0, NX_I64, 0, NULL);
}

static uint32_t input_like(nxg_graph *g, const nxg_node *n) {
  return nxg_add_input(g, (nx_dtype)n->dtype, n->rank, n->shape, 0, -1, NULL);
}

/* The body with one more input at its end, which is added to the number of the step. */
static nxg_graph *shifted_body(const nxg_graph *from) {
  nxg_graph *g = nxg_create(from->name);
  uint32_t most = 1;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    most = from->nodes[i].n_args > most ? from->nodes[i].n_args : most;
  uint32_t *map = nxi_calloc((size_t)from->n_nodes + most, sizeof *map),
           *args = map + from->n_nodes;
  bool ok = g != NULL && map != NULL;
  for (uint32_t i = 0; ok && i < from->n_inputs; i++)
    map[from->inputs[i].node] = input_like(g, &from->nodes[from->inputs[i].node]);
  if (ok) {
    uint32_t *step = &map[from->inputs[0].node];
    *step = add_i64(g, NXG_add, *step, nxg_add_input(g, NX_I64, 0, NULL, 0, -1, NULL));
  }
  for (uint32_t i = 0; ok && i < from->n_nodes && !g->failed; i++) {
    const nxg_node *n = &from->nodes[i];
    if (n->op == NXG_input) continue;
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
    map[i] = nxg_add(g, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, (nx_dtype)n->dtype,
                     n->rank, n->shape);
  }
  for (uint32_t i = 0; ok && i < from->n_outputs && !g->failed; i++)
    nxg_add_output(g, map[from->outputs[i].node], NULL);
  nxi_free(map);
  if (ok && !g->failed) return g;
  nxg_destroy(g);
  return NULL;
}

/* Fills the graph of the steps that are taken at once; inner: the number of their body. */
static bool fill_steps(nxg_graph *g, const nxg_control *c, bool shifts, int64_t inner) {
  const nxg_graph *body = nxg_body_find(c->bodies[0])->graph;
  uint32_t n = c->n_carried + c->n_passed, *args = nxi_malloc(((size_t)n + 2) * sizeof *args);
  if (args == NULL) return false;
  uint32_t k = nxg_add_input(g, NX_I64, 0, NULL, 0, -1, NULL);
  for (uint32_t i = 0; i < n; i++)
    args[1 + i] = input_like(g, &body->nodes[body->inputs[c->indexed + i].node]);
  uint32_t all = nxg_add_input(g, NX_I64, 0, NULL, 0, -1, NULL), chunk = number(g, NXG_LOOP_CHUNK);
  uint32_t base = add_i64(g, NXG_mul, k, chunk), left = add_i64(g, NXG_sub, all, base);
  args[0] = add_i64(g, NXG_min, left, chunk);
  args[1 + n] = base;
  for (uint32_t i = 0; i < c->n_carried && !g->failed; i++) {
    const nxg_node *x = &body->nodes[body->outputs[i].node];
    int64_t attrs[NXG_FOR_ATTRS] = {i, 0, -1, c->n_carried, 0, 0, inner};
    nxg_add_output(g,
                   nxg_add(g, c->op, 1 + n + shifts, args, attrs, NXG_FOR_ATTRS, (nx_dtype)x->dtype,
                           x->rank, x->shape),
                   NULL);
  }
  nxi_free(args);
  return !g->failed;
}

/* The number of the body that takes a chunk of steps, with a reference. */
static nx_status make_steps(const nxg_control *c, int64_t *number_of, nxi_diag *d) {
  const nxg_graph *body = nxg_body_find(c->bodies[0])->graph;
  bool shifts = reads_number(c);
  int64_t inner = c->bodies[0];
  if (shifts) {
    nxg_graph *shifted = shifted_body(body);
    nx_status status = shifted != NULL ? nxg_body_take(shifted, &inner, d) : nxi_oom(d);
    if (status != NX_OK) return status;
  }
  nxg_graph *steps = nxg_create(body->name);
  bool ok = steps != NULL && fill_steps(steps, c, shifts, inner);
  if (!ok) nxg_destroy(steps);
  nx_status status = ok ? nxg_body_take(steps, number_of, d) : nxi_oom(d);
  if (shifts) nxg_body_release(inner);
  return status;
}

/* ---- the graph */

static uint32_t add_here(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t a, uint32_t b,
                         nx_dtype t) {
  uint32_t args[2] = {a, b};
  return nxg_rewrite_add(r, i, op, 2, args, NULL, 0, t, 0, NULL);
}

static uint32_t number_here(nxg_rewrite *r, uint32_t i, int64_t x) {
  int64_t attrs[2] = {x, -1};
  return nxg_rewrite_add(r, i, NXG_full, 0, NULL, attrs, 2, NX_I64, 0, NULL);
}

/* The number of all steps. */
static uint32_t count_of(nxg_rewrite *r, uint32_t i, const nxg_control *c) {
  const nxg_node *n = &r->from->nodes[i];
  if (c->count >= 0) return number_here(r, i, c->count);
  uint32_t count = r->map[n->args[0]];
  if (r->from->nodes[n->args[0]].dtype == NX_I64) return count;
  return nxg_rewrite_add(r, i, NXG_cast, 1, &count, NULL, 0, NX_I64, 0, NULL);
}

/* count / chunk, and one more if something is left; not above 0 if the count is not. */
static uint32_t chunks_of(nxg_rewrite *r, uint32_t i, uint32_t count) {
  uint32_t chunk = number_here(r, i, NXG_LOOP_CHUNK), zero = number_here(r, i, 0);
  uint32_t whole = add_here(r, i, NXG_div, count, chunk, NX_I64);
  uint32_t left = add_here(r, i, NXG_mod, count, chunk, NX_I64);
  uint32_t more = add_here(r, i, NXG_cmplt, zero, left, NX_BOOL);
  more = nxg_rewrite_add(r, i, NXG_cast, 1, &more, NULL, 0, NX_I64, 0, NULL);
  return add_here(r, i, NXG_add, whole, more, NX_I64);
}

static nx_status replace(nxg_rewrite *r, uint32_t i, const nxg_control *c) {
  const nxg_node *n = &r->from->nodes[i];
  uint32_t carried = c->n_carried + c->n_passed;
  uint32_t *args = nxi_malloc(((size_t)carried + 2) * sizeof *args);
  int64_t attrs[NXG_FOR_ATTRS] = {n->attrs[0], 0, -1, c->n_carried, 0, 0, 0};
  if (args == NULL || !nxg_rewrite_own(r)) {
    nxi_free(args);
    return nxi_oom(r->d);
  }
  nx_status status = make_steps(c, &attrs[NXG_FOR_BODY], r->d);
  if (status == NX_OK) {
    uint32_t count = count_of(r, i, c);
    args[0] = chunks_of(r, i, count);
    for (uint32_t a = 0; a < carried; a++) args[1 + a] = r->map[n->args[c->first + a]];
    args[1 + carried] = count;
    nxg_rewrite_map(r, i,
                    nxg_rewrite_add(r, i, NXG_for, carried + 2, args, attrs, NXG_FOR_ATTRS,
                                    (nx_dtype)n->dtype, n->rank, n->shape));
    r->changed = true;
    nxg_body_release(attrs[NXG_FOR_BODY]);
  }
  nxi_free(args);
  return status;
}

nx_status nxg_pass_chunk_loops(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && status == NX_OK && !nxg_rewrite_failed(&r); i++) {
    nxg_control c;
    if (is_long(g, &g->nodes[i], &c)) status = replace(&r, i, &c);
    else nxg_rewrite_copy(&r, i);
  }
  if (status != NX_OK) r.failed = true;
  nx_status ended = nxg_rewrite_end(&r, out, changed);
  return status != NX_OK ? status : ended;
}
