/* SPDX-License-Identifier: ISC */
/* Loops of a few steps become these steps, one after the other: what is constant in a step folds,
 * and steps fuse with each other and with what is around the loop. No bit changes: a loop is
 * defined as its steps. Left alone are bodies that can fail, because the failure would not say its
 * step, that write in place or call what the user gave, and loops of much code. */
#include "passes.h"
#include "rewrite.h"

#include <string.h>

#include "ir/graph/control.h"

/* The most steps, of bodies that are elementwise and of others; and the most operations of all
 * steps together: see docs/decisions/lowering.md. */
enum { MOST_STEPS = 8, MOST_OF_OTHERS = 4, MOST_OPERATIONS = 64 };

typedef struct unrolled {
  uint32_t node;
  uint32_t *results;
} unrolled;

typedef struct unrolling {
  nxg_rewrite r;
  nxg_control c;
  const nxg_graph *body;
  uint32_t node;     /* the first result of the loop */
  uint32_t *values;  /* of the body's nodes in the current step */
  uint32_t *carried; /* new nodes */
  uint32_t *slices;  /* of stacked result k in step s: slices[k * count + s] */
  /* of the loops that were unrolled: their first results, and the new nodes of all results */
  unrolled *done;
  uint32_t n_done, cap_done;
} unrolling;

/* ---- what is taken */

/* How many steps of a body may stand one after the other. */
static int64_t most_steps(const nxg_graph *g) {
  int64_t n = 1, most = MOST_STEPS;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    uint32_t op = g->nodes[i].op;
    uint8_t kind = nxg_ops[op].kind;
    bool taken = kind == NXG_KIND_LEAF || kind == NXG_KIND_VIEW || kind == NXG_KIND_MAP ||
                 kind == NXG_KIND_REDUCE || kind == NXG_KIND_LIBRARY || kind == NXG_KIND_MOVE;
    if (!taken || op == NXG_gather) return 0;
    n += kind != NXG_KIND_LEAF && kind != NXG_KIND_VIEW;
    if (kind == NXG_KIND_REDUCE || kind == NXG_KIND_LIBRARY || nxg_is_scan(op))
      most = MOST_OF_OTHERS;
  }
  return most < MOST_OPERATIONS / n ? most : MOST_OPERATIONS / n;
}

static bool is_short(const nxg_node *n) {
  nxg_control c;
  if (n->op != NXG_for && n->op != NXG_scan) return false;
  nxg_control_of_node(n, &c);
  if (c.count < 1 || c.count > MOST_STEPS || (c.limit > 0 && c.count > c.limit)) return false;
  return c.count <= most_steps(nxg_body_find(c.bodies[0])->graph);
}

/* ---- the nodes of a step. They have the tag and the origin of the loop. */

static uint32_t add_view(unrolling *u, uint32_t of, nx_dtype dtype, int32_t rank,
                         const int64_t *shape, int64_t offset) {
  int64_t attrs[1 + NXG_MAX_RANK] = {offset};
  nxg_contiguous_strides(rank, shape, attrs + 1);
  return nxg_rewrite_add(&u->r, u->node, NXG_view, 1, &of, attrs, 1 + (uint32_t)rank, dtype, rank,
                         shape);
}

/* The value of input k of the body. */
static uint32_t input_of(unrolling *u, uint32_t k, int64_t at) {
  const nxg_control *c = &u->c;
  const nxg_node *n = &u->r.from->nodes[u->node];
  if (c->indexed && k == 0) {
    int64_t attrs[2] = {at, -1};
    return nxg_rewrite_add(&u->r, u->node, NXG_full, 0, NULL, attrs, 2, NX_I64, 0, NULL);
  }
  k -= c->indexed;
  if (k < c->n_carried) return u->carried[k];
  uint32_t operand = c->first + k, whole = c->n_carried + c->n_passed;
  if (k < whole) return u->r.map[n->args[operand]];
  const nxg_node *x = &u->r.from->nodes[n->args[operand]];
  return add_view(u, u->r.map[n->args[operand]], (nx_dtype)x->dtype, x->rank - 1, x->shape + 1,
                  at * nxg_elements(x->rank - 1, x->shape + 1));
}

static bool copy_body(unrolling *u, int64_t at) {
  const nxg_graph *g = u->body;
  uint32_t *args = NULL, cap = 0;
  for (uint32_t k = 0; k < g->n_inputs; k++) u->values[g->inputs[k].node] = input_of(u, k, at);
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&u->r); i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op == NXG_input) continue;
    if (!nxi_grow(&args, &cap, n->n_args + 1, sizeof *args)) u->r.failed = true;
    for (uint32_t a = 0; a < n->n_args && !u->r.failed; a++) args[a] = u->values[n->args[a]];
    if (!u->r.failed)
      u->values[i] = nxg_rewrite_add(&u->r, u->node, (nxg_op)n->op, n->n_args, args, n->attrs,
                                     n->n_attrs, (nx_dtype)n->dtype, n->rank, n->shape);
  }
  nxi_free(args);
  return !nxg_rewrite_failed(&u->r);
}

static bool take_step(unrolling *u, int64_t step) {
  const nxg_control *c = &u->c;
  int64_t at = c->reverse ? c->count - 1 - step : step;
  if (!copy_body(u, at)) return false;
  for (uint32_t k = 0; k < c->n_results; k++) {
    uint32_t value = u->values[u->body->outputs[k].node];
    if (k < c->n_carried) u->carried[k] = value;
    else u->slices[(k - c->n_carried) * c->count + at] = value;
  }
  return true;
}

/* ---- results */

static uint32_t stack_of(unrolling *u, uint32_t k) {
  const nxg_control *c = &u->c;
  const nxg_node *x = &u->body->nodes[u->body->outputs[k].node];
  int64_t shape[NXG_MAX_RANK] = {1}, axis = 0;
  for (int32_t i = 0; i < x->rank; i++) shape[1 + i] = x->shape[i];
  uint32_t *slices = u->slices + (k - c->n_carried) * c->count;
  for (int64_t s = 0; s < c->count; s++)
    slices[s] = add_view(u, slices[s], (nx_dtype)x->dtype, x->rank + 1, shape, 0);
  shape[0] = c->count;
  return nxg_rewrite_add(&u->r, u->node, NXG_cat, (uint32_t)c->count, slices, &axis, 1,
                         (nx_dtype)x->dtype, x->rank + 1, shape);
}

/* The new nodes of all results; NULL: memory is exhausted. */
static uint32_t *unroll(unrolling *u) {
  const nxg_control *c = &u->c;
  uint32_t *results = nxi_malloc(((size_t)c->n_results + 1) * sizeof *results);
  u->values = nxi_malloc(((size_t)u->body->n_nodes + 1) * sizeof *u->values);
  u->carried = nxi_malloc(((size_t)c->n_carried + 1) * sizeof *u->carried);
  u->slices = nxi_malloc((size_t)(c->n_results * c->count + 1) * sizeof *u->slices);
  bool ok = results && u->values && u->carried && u->slices;
  const nxg_node *n = &u->r.from->nodes[u->node];
  for (uint32_t k = 0; ok && k < c->n_carried; k++) u->carried[k] = u->r.map[n->args[c->first + k]];
  for (int64_t step = 0; ok && step < c->count; step++) ok = take_step(u, step);
  for (uint32_t k = 0; ok && k < c->n_results; k++)
    results[k] = k < c->n_carried ? u->carried[k] : stack_of(u, k);
  nxi_free(u->values);
  nxi_free(u->carried);
  nxi_free(u->slices);
  if (ok) return results;
  nxi_free(results);
  u->r.failed = true;
  return NULL;
}

static const unrolled *find(const unrolling *u, uint32_t i) {
  for (uint32_t k = 0; k < u->n_done; k++)
    if (nxg_same_control(&u->r.from->nodes[u->done[k].node], &u->r.from->nodes[i]))
      return &u->done[k];
  return NULL;
}

/* All results of a loop come of one unrolling. */
static void replace(unrolling *u, uint32_t i) {
  const unrolled *done = find(u, i);
  if (done == NULL) {
    nxg_rewrite_own(&u->r);
    nxg_control_of_node(&u->r.from->nodes[i], &u->c);
    u->body = nxg_body_find(u->c.bodies[0])->graph;
    u->node = i;
    bool room = nxi_grow(&u->done, &u->cap_done, u->n_done + 1, sizeof *u->done);
    uint32_t *results = room ? unroll(u) : NULL;
    if (results == NULL) {
      u->r.failed = true;
      return;
    }
    u->done[u->n_done] = (unrolled){i, results};
    done = &u->done[u->n_done++];
  }
  nxg_rewrite_map(&u->r, i, done->results[u->r.from->nodes[i].attrs[0]]);
  u->r.changed = true;
}

nx_status nxg_pass_unroll_loops(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  unrolling u = {.n_done = 0};
  nx_status status = nxg_rewrite_begin(&u.r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&u.r); i++) {
    if (is_short(&g->nodes[i])) replace(&u, i);
    else nxg_rewrite_copy(&u.r, i);
  }
  for (uint32_t k = 0; k < u.n_done; k++) nxi_free(u.done[k].results);
  nxi_free(u.done);
  return nxg_rewrite_end(&u.r, out, changed);
}
