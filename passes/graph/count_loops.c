/* SPDX-License-Identifier: ISC */
/* A `while` that counts becomes a loop of a known number of steps, which can be one kernel
 * (plan/loop.c): its condition is that a carried integer is below a limit that does not change, and
 * the body adds 1 to it. With steps of 1 the integer meets the limit before it can wrap. The
 * counter stays carried; no bit changes. Bodies are elementwise, so that none can fail: a failure
 * says what kind of loop it comes from. */
#include "passes.h"
#include "rewrite.h"

#include "ir/graph/control.h"
#include "loops.h"

enum { MOST_TERMS = 16 }; /* of a condition, within each other */

typedef struct counter {
  const nxg_graph *g; /* of the loop */
  nxg_control c;
  uint32_t carried; /* its number among the carried values */
  const nxg_node *n, *limit;
  uint32_t input; /* `limit` is this input of the condition; UINT32_MAX: a constant */
} counter;

/* ---- what counts */

static bool is_whole(const nxg_node *n) {
  return n->rank == 0 && (n->dtype == NX_I32 || n->dtype == NX_I64);
}

static bool is_constant(const nxg_node *n) { return n->op == NXG_full && n->attrs[1] < 0; }

/* What an operand of the loop is: a number that is only stored for it is a number. */
static const nxg_node *operand_of(const counter *k, uint32_t i) {
  const nxg_node *n = &k->g->nodes[k->n->args[i]];
  return n->op == NXG_copy ? &k->g->nodes[n->args[0]] : n;
}

/* What a node of a body is: of a captured operand, the operand, if that is a constant. */
static const nxg_node *known_as(const counter *k, const nxg_node *n) {
  if (n->op != NXG_input || n->attrs[0] < k->c.n_carried) return n;
  const nxg_node *operand = operand_of(k, (uint32_t)n->attrs[0]);
  return is_constant(operand) ? operand : n;
}

/* Whether `p`, of the condition, is that a carried integer is below what does not change. */
static bool compares(counter *k, const nxg_node *p) {
  const nxg_graph *g = nxg_body_find(k->c.bodies[0])->graph;
  if (p->op != NXG_cmplt) return false;
  const nxg_node *a = &g->nodes[p->args[0]], *b = known_as(k, &g->nodes[p->args[1]]);
  if (a->op != NXG_input || a->attrs[0] >= k->c.n_carried || !is_whole(a)) return false;
  bool captured = b->op == NXG_input && b->attrs[0] >= k->c.n_carried;
  k->carried = (uint32_t)a->attrs[0];
  k->limit = b;
  k->input = captured ? (uint32_t)b->attrs[0] : UINT32_MAX;
  return captured || is_constant(b);
}

static bool adds_one(const counter *k) {
  const nxg_graph *g = nxg_body_find(k->c.bodies[1])->graph;
  const nxg_node *sum = &g->nodes[g->outputs[k->carried].node];
  for (uint32_t a = 0; sum->op == NXG_add && a < 2; a++) {
    const nxg_node *x = &g->nodes[sum->args[a]], *y = known_as(k, &g->nodes[sum->args[1 - a]]);
    if (x->op == NXG_input && x->attrs[0] == k->carried && is_constant(y) && y->attrs[0] == 1)
      return true;
  }
  return false;
}

static bool counts(const nxg_node *n, counter *k) {
  if (n->op != NXG_while) return false;
  k->n = n;
  nxg_control_of_node(n, &k->c);
  const nxg_graph *g = nxg_body_find(k->c.bodies[0])->graph;
  return k->c.limit == 0 && compares(k, &g->nodes[g->outputs[0].node]) && adds_one(k) &&
         nxg_is_elementwise(nxg_body_find(k->c.bodies[1])->graph);
}

/* ---- the number of steps */

static uint32_t add_i64(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args,
                        const uint32_t *args, nx_dtype t) {
  return nxg_rewrite_add(r, i, op, n_args, args, NULL, 0, t, 0, NULL);
}

static uint32_t number(nxg_rewrite *r, uint32_t i, int64_t x) {
  int64_t attrs[2] = {x, -1};
  return nxg_rewrite_add(r, i, NXG_full, 0, NULL, attrs, 2, NX_I64, 0, NULL);
}

static uint32_t wide(nxg_rewrite *r, uint32_t i, uint32_t node, nx_dtype t) {
  return t == NX_I64 ? node : add_i64(r, i, NXG_cast, 1, &node, NX_I64);
}

/* limit - first, if that is above 0; a difference beyond 63 bits is a loop without end. */
static uint32_t add_count(nxg_rewrite *r, uint32_t i, uint32_t first, uint32_t limit) {
  uint32_t zero = number(r, i, 0), most = number(r, i, INT64_MAX);
  uint32_t below = add_i64(r, i, NXG_cmplt, 2, (uint32_t[]){first, limit}, NX_BOOL);
  uint32_t steps = add_i64(r, i, NXG_sub, 2, (uint32_t[]){limit, first}, NX_I64);
  uint32_t wraps = add_i64(r, i, NXG_cmplt, 2, (uint32_t[]){steps, zero}, NX_BOOL);
  steps = add_i64(r, i, NXG_where, 3, (uint32_t[]){wraps, most, steps}, NX_I64);
  return add_i64(r, i, NXG_where, 3, (uint32_t[]){below, steps, zero}, NX_I64);
}

/* The bits of a constant as a number. */
static int64_t constant_of(const nxg_node *n) {
  return n->dtype == NX_I32 ? (int32_t)n->attrs[0] : n->attrs[0];
}

static int64_t known_count(int64_t first, int64_t limit) {
  int64_t steps;
  if (first >= limit) return 0;
  return __builtin_sub_overflow(limit, first, &steps) ? INT64_MAX : steps;
}

static bool is_false(const nxg_node *n) { return is_constant(n) && n->attrs[0] == 0; }

/* What says the same as `p`, a bool, in fewer operations; NULL: nothing. Frontends write conditions
 * with comparisons to false and reductions of no axes in them. */
static const nxg_node *same_truth(const nxg_graph *g, const nxg_node *p) {
  if (p->n_args == 0 || p->rank != 0) return NULL;
  const nxg_node *x = &g->nodes[p->args[0]], *y = &g->nodes[p->args[p->n_args - 1]];
  if (x->dtype != NX_BOOL || x->rank != 0) return NULL;
  switch (p->op) {
    case NXG_cast: return x;
    case NXG_reduce_max:
    case NXG_reduce_min: return p->attrs[0] == 0 ? x : NULL;
    case NXG_or:
    case NXG_cmpne: return is_false(y) ? x : is_false(x) ? y : NULL;
    default: return NULL;
  }
}

/* The most steps if `p` has to hold for each; -1: not known. */
static int64_t most_while(counter *k, const nxg_node *p, int depth) {
  const nxg_graph *g = nxg_body_find(k->c.bodies[0])->graph;
  const nxg_node *same;
  while ((same = same_truth(g, p)) != NULL) p = same;
  if (p->op == NXG_and && depth < MOST_TERMS) {
    int64_t a = most_while(k, &g->nodes[p->args[0]], depth + 1),
            b = most_while(k, &g->nodes[p->args[1]], depth + 1);
    return a < 0 || (b >= 0 && b < a) ? b : a;
  }
  if (!compares(k, p) || k->input != UINT32_MAX || !adds_one(k)) return -1;
  const nxg_node *first = operand_of(k, k->carried);
  return is_constant(first) ? known_count(constant_of(first), constant_of(k->limit)) : -1;
}

int64_t nxg_most_steps(const nxg_graph *g, const nxg_node *n) {
  counter k = {.g = g, .n = n};
  nxg_control_of_node(n, &k.c);
  const nxg_graph *test = nxg_body_find(k.c.bodies[0])->graph;
  return most_while(&k, &test->nodes[test->outputs[0].node], 0);
}

static void replace(nxg_rewrite *r, uint32_t i, const counter *k) {
  const nxg_node *n = k->n, *first = &r->from->nodes[n->args[k->carried]];
  uint32_t *args = nxi_malloc(((size_t)n->n_args + 1) * sizeof *args), n_args = 0;
  bool known = is_constant(first) && k->input == UINT32_MAX;
  int64_t attrs[NXG_FOR_ATTRS] = {n->attrs[0], 0, -1, k->c.n_carried, 0, 0, k->c.bodies[1]};
  if (args == NULL || !nxg_rewrite_own(r)) {
    r->failed = true;
    nxi_free(args);
    return;
  }
  if (known) {
    attrs[NXG_FOR_COUNT] = known_count(constant_of(first), constant_of(k->limit));
  } else {
    nx_dtype t = (nx_dtype)k->limit->dtype;
    uint32_t limit = k->input == UINT32_MAX ? number(r, i, constant_of(k->limit))
                                            : wide(r, i, r->map[n->args[k->input]], t);
    args[n_args++] = add_count(r, i, wide(r, i, r->map[n->args[k->carried]], t), limit);
  }
  for (uint32_t a = 0; a < n->n_args; a++) args[n_args++] = r->map[n->args[a]];
  nxg_rewrite_map(r, i,
                  nxg_rewrite_add(r, i, NXG_scan, n_args, args, attrs, NXG_FOR_ATTRS,
                                  (nx_dtype)n->dtype, n->rank, n->shape));
  r->changed = true;
  nxi_free(args);
}

nx_status nxg_pass_count_loops(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    counter k = {.g = g};
    if (counts(&g->nodes[i], &k)) replace(&r, i, &k);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
