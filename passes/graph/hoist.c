/* SPDX-License-Identifier: ISC */
/* What a body computes of captured values and constants alone is computed once, before the loop,
 * and is one more captured value. Bodies of bodies come first, so that a value goes out as far as
 * it can. Keeps: bits, and which runs fail.
 *
 * Nothing that can fail goes out, since a failure has a step, or may never come: checked indices,
 * calls that fail, functions of the caller, loops. The condition of a loop and the body of one that
 * is known to have a step run at least once. What another loop may never run is no more than a few
 * elements, or stands behind a guard, a `case` that gives zeros if the loop has no step:
 *
 *   while a, w cond=@c body=@b    becomes    %h = the condition for the initial values
 *                                            %v = case %h, w branches=@zeros,@values
 *                                            while a, w, %v cond=@c2 body=@b2
 *
 * Views and constants stay, and so does elementwise work that would only make more memory of less:
 * it is cheaper to compute where it is read. */
#include <string.h>

#include "rewrite.h"

#include "ir/graph/control.h"
#include "ir/library/library.h"

enum {
  FEW_BYTES = 4096, /* an array of as many is no burden */
  FEW_INDICES = 64,
  FEW_ELEMENTS = 1 << 14, /* that may be computed for nothing */
  DEAR = 16,              /* cost of a function (ir/scalar_ops.def) that is worth an array */
  MOST = 64               /* values that go out of one body */
};

/* What becomes of a node of a body. */
enum { OUTSIDE = 1, STAYS = 2, PASSED = 4, INDEX = 8 };

typedef struct body {
  const nxg_graph *g;
  nxg_graph *own;   /* it is freed; or NULL */
  uint8_t *fate;    /* of each node */
  int64_t *sources; /* bytes of memory that an elementwise node is made of */
  uint32_t out[MOST], n_out;
  bool guarded; /* these stand behind a guard */
} body;

/* A loop that has been rewritten: the results of one run have equal operands. */
typedef struct done {
  uint32_t node, *args, n_args;
  int64_t bodies[2], branches[2]; /* branches: of the guard; 0: none */
} done;

typedef struct hoisting {
  nxg_rewrite r;
  const nxg_graph *g;
  done *loops;
  uint32_t n_loops, cap_loops;
} hoisting;

static int64_t bytes_of(const nxg_node *n) {
  return nxi_dtype_bytes((nx_dtype)n->dtype, nxg_node_elements(n));
}

/* ---- which values go out */

static bool is_plain(nx_dtype t) {
  return !nxi_is_nibble(t) && !nxi_is_stored(t) && !nxi_is_complex(t);
}

/* Whether an operation fails for no operands. */
static bool cannot_fail(const nxg_node *n) {
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF: return n->op != NXG_input && !(n->op == NXG_full && n->attrs[1] >= 0);
    case NXG_KIND_CALL: return n->op != NXG_custom && !nxg_call_fails((nxg_op)n->op);
    case NXG_KIND_MOVE: return n->op != NXG_gather;
    case NXG_KIND_STORE: return n->op == NXG_update && n->n_args == 2;
    case NXG_KIND_CONTROL: return false;
    default: return true;
  }
}

/* Whether it is as good as nothing. */
static bool is_slight(const nxg_graph *g, const nxg_node *n) {
  uint8_t kind = nxg_ops[n->op].kind;
  if (kind == NXG_KIND_CALL || kind == NXG_KIND_LIBRARY) return false;
  for (uint32_t a = 0; a < n->n_args; a++)
    if (nxg_node_elements(&g->nodes[n->args[a]]) > FEW_ELEMENTS) return false;
  return nxg_node_elements(n) <= FEW_ELEMENTS;
}

/* Whether only elementwise work and moves lie between it and memory. */
static bool is_light(const nxg_node *n) {
  uint8_t kind = nxg_ops[n->op].kind;
  return kind == NXG_KIND_MAP || kind == NXG_KIND_VIEW || kind == NXG_KIND_LEAF ||
         (kind == NXG_KIND_MOVE && !nxg_is_scan(n->op));
}

static bool is_dear(const nxg_node *n) {
  int16_t scalar = nxg_ops[n->op].scalar;
  return scalar >= 0 && nxk_scalars[scalar].cost >= DEAR;
}

static void weigh(body *b, uint32_t i) {
  const nxg_node *n = &b->g->nodes[i];
  int64_t sum = 0;
  bool dear = is_dear(n);
  for (uint32_t a = 0; a < n->n_args; a++)
    if (__builtin_add_overflow(sum, b->sources[n->args[a]], &sum)) sum = INT64_MAX;
  b->sources[i] = is_light(n) && !dear && n->op != NXG_input ? sum : bytes_of(n);
}

/* ---- indices: what keeps a few of them in range stays in the body with them. Who reads them there
 * would have to look at each step whether they are, if that were not to be seen. */

static bool is_few_integers(const nxg_node *n) {
  return (n->dtype == NX_BOOL || nxi_is_integer((nx_dtype)n->dtype)) && is_light(n) &&
         n->op != NXG_input && nxg_node_elements(n) <= FEW_INDICES;
}

static bool is_bound(const nxg_node *n) { return n->op == NXG_min || n->op == NXG_max; }

static void find_indices(body *b) {
  const nxg_graph *g = b->g;
  for (uint32_t i = g->n_nodes; i-- > 0;) {
    const nxg_node *n = &g->nodes[i];
    bool indexes = n->op == NXG_gather || n->op == NXG_scatter, marked = b->fate[i] & INDEX;
    for (uint32_t a = 0; a < n->n_args && (indexes || marked); a++) {
      const nxg_node *x = &g->nodes[n->args[a]];
      bool leads = indexes ? a == 1 : !is_bound(n) || is_bound(x);
      if (leads && is_few_integers(x)) b->fate[n->args[a]] |= INDEX;
    }
  }
}

/* first .. last - 1: the inputs that are captured. rare: the body may never run. */
static void find_outside(body *b, uint32_t first, uint32_t last, bool rare) {
  const nxg_graph *g = b->g;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    bool out = n->op == NXG_input ? n->attrs[0] >= first && n->attrs[0] < last
                                  : cannot_fail(n) && (!rare || is_slight(g, n));
    for (uint32_t a = 0; a < n->n_args; a++) out = out && (b->fate[n->args[a]] & OUTSIDE);
    b->fate[i] = (b->fate[i] & INDEX) | (out ? OUTSIDE : 0);
    weigh(b, i);
  }
}

/* Whether a value is computed in the body though it could be outside. */
static bool is_better_inside(const body *b, uint32_t i) {
  const nxg_node *n = &b->g->nodes[i];
  uint8_t kind = nxg_ops[n->op].kind;
  if (b->fate[i] & INDEX) return true;
  if (n->op == NXG_input || kind == NXG_KIND_VIEW || kind == NXG_KIND_LEAF) return true;
  int64_t bytes = bytes_of(n);
  return !is_plain((nx_dtype)n->dtype) || (bytes > FEW_BYTES && bytes > b->sources[i]);
}

static void need(body *b, uint32_t i) {
  if (b->fate[i] & (STAYS | PASSED)) return;
  bool inside = !(b->fate[i] & OUTSIDE) || is_better_inside(b, i) || b->n_out == MOST;
  b->fate[i] |= inside ? STAYS : PASSED;
  if (!inside) b->out[b->n_out++] = i;
}

static void find_needed(body *b) {
  const nxg_graph *g = b->g;
  for (uint32_t i = 0; i < g->n_outputs; i++) need(b, g->outputs[i].node);
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; (b->fate[i] & STAYS) && a < g->nodes[i].n_args; a++)
      need(b, g->nodes[i].args[a]);
}

/* Whether all that goes out is as good as nothing. */
static bool is_slight_outside(const body *b) {
  for (uint32_t i = 0; i < b->g->n_nodes; i++)
    if ((b->fate[i] & OUTSIDE) && b->g->nodes[i].op != NXG_input &&
        !is_slight(b->g, &b->g->nodes[i]))
      return false;
  return true;
}

/* guard: it can be known before the loop whether it has a step. */
static bool examine(body *b, uint32_t first, uint32_t last, bool rare, bool guard) {
  b->fate = nxi_calloc((size_t)b->g->n_nodes + 1, 1);
  b->sources = nxi_calloc((size_t)b->g->n_nodes + 1, sizeof *b->sources);
  if (b->fate == NULL || b->sources == NULL) return false;
  find_indices(b);
  find_outside(b, first, last, rare && !guard);
  find_needed(b);
  b->guarded = rare && guard && b->n_out > 0 && !is_slight_outside(b);
  return true;
}

static void release(body *b) {
  nxi_free(b->fate);
  nxi_free(b->sources);
  nxg_destroy(b->own);
}

/* ---- the body without them */

static void add_captured(nxg_graph *to, const body *b, const body *all, uint32_t n, uint32_t *map) {
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t o = 0; o < all[k].n_out; o++) {
      const nxg_node *x = &all[k].g->nodes[all[k].out[o]];
      uint32_t made = nxg_add_input(to, x->dtype, x->rank, x->shape, 0, -1, NULL);
      if (&all[k] == b) map[b->out[o]] = made;
    }
}

/* Inputs of the new body: those of the old one, and before the stacked ones, of which there are
 * `stacked`, what has gone out of any of the bodies. */
static void add_inputs(nxg_graph *to, const body *b, const body *all, uint32_t n, uint32_t stacked,
                       uint32_t *map) {
  const nxg_graph *g = b->g;
  uint32_t last = g->n_inputs - stacked;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const nxg_node *x = &g->nodes[g->inputs[i].node];
    if (i == last) add_captured(to, b, all, n, map);
    map[g->inputs[i].node] = nxg_add_input(to, x->dtype, x->rank, x->shape, 0, -1, x->name);
  }
  if (stacked == 0) add_captured(to, b, all, n, map);
}

static void copy_node(nxg_graph *to, const nxg_graph *g, uint32_t i, uint32_t *map,
                      uint32_t *args) {
  const nxg_node *n = &g->nodes[i];
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
  map[i] = nxg_add(to, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype, n->rank,
                   n->shape);
  if (map[i] == UINT32_MAX) return;
  to->nodes[map[i]].called = n->called;
  if ((n->tag || n->tag_text) && !nxg_set_tag(to, map[i], n->tag, n->tag_text)) to->failed = true;
}

/* A reference to the new body. */
static nx_status make_body(const body *b, const body *all, uint32_t n, uint32_t stacked,
                           int64_t *number, nxi_diag *d) {
  const nxg_graph *g = b->g;
  uint32_t most = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    most = g->nodes[i].n_args > most ? g->nodes[i].n_args : most;
  uint32_t *map = nxi_malloc(((size_t)g->n_nodes + most) * sizeof *map);
  nxg_graph *to = nxg_create(g->name);
  if (map == NULL || to == NULL) {
    nxi_free(map);
    nxg_destroy(to);
    return nxi_oom(d);
  }
  add_inputs(to, b, all, n, stacked, map);
  for (uint32_t i = 0; i < g->n_nodes && !to->failed; i++)
    if ((b->fate[i] & STAYS) && g->nodes[i].op != NXG_input)
      copy_node(to, g, i, map, map + g->n_nodes);
  for (uint32_t i = 0; i < g->n_outputs && !to->failed; i++)
    nxg_add_output(to, map[g->outputs[i].node], g->outputs[i].name);
  nxi_free(map);
  return nxg_body_take(to, number, d);
}

/* ---- the graph with them */

static uint8_t *wanted_for(const nxg_graph *g, const uint32_t *roots, uint32_t n) {
  uint8_t *wanted = nxi_calloc((size_t)g->n_nodes + 1, 1);
  for (uint32_t o = 0; wanted != NULL && o < n; o++) wanted[roots[o]] = 1;
  for (uint32_t i = g->n_nodes; wanted != NULL && i-- > 0;)
    for (uint32_t a = 0; wanted[i] && a < g->nodes[i].n_args; a++) wanted[g->nodes[i].args[a]] = 1;
  return wanted;
}

/* A table of node of a body -> new node, and after it room for the operands of one. */
static uint32_t *new_values(const nxg_graph *g) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    most = g->nodes[i].n_args > most ? g->nodes[i].n_args : most;
  uint32_t *values = nxi_malloc(((size_t)g->n_nodes + most) * sizeof *values);
  if (values != NULL) memset(values, 0xff, g->n_nodes * sizeof *values);
  return values;
}

/* Appends what nodes of a body are computed of, for the loop that is old node `loop`. values: that
 * of its inputs is there. */
static void compute(hoisting *h, uint32_t loop, const nxg_graph *g, const uint32_t *roots,
                    uint32_t n_roots, uint32_t *values) {
  uint8_t *wanted = wanted_for(g, roots, n_roots);
  uint32_t *args = values + g->n_nodes;
  if (wanted == NULL) h->r.failed = true;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&h->r); i++) {
    const nxg_node *n = &g->nodes[i];
    if (!wanted[i] || n->op == NXG_input) continue;
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = values[n->args[a]];
    values[i] = nxg_rewrite_add(&h->r, loop, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs,
                                (nx_dtype)n->dtype, n->rank, n->shape);
  }
  nxi_free(wanted);
}

/* ---- guards */

/* The branch of a guard: what goes out of the body, or as many zeros. */
static nx_status make_branch(const nxg_control *c, const body *b, bool zeros, int64_t *number,
                             nxi_diag *d) {
  const nxg_graph *g = b->g;
  uint32_t first = c->indexed + c->n_carried;
  uint8_t *wanted = wanted_for(g, b->out, zeros ? 0 : b->n_out);
  uint32_t *map = new_values(g);
  nxg_graph *to = nxg_create(g->name);
  bool ok = wanted != NULL && map != NULL && to != NULL;
  for (uint32_t i = 0; ok && i < c->n_passed; i++) {
    uint32_t input = g->inputs[first + i].node;
    const nxg_node *x = &g->nodes[input];
    map[input] = nxg_add_input(to, x->dtype, x->rank, x->shape, 0, -1, NULL);
  }
  for (uint32_t i = 0; ok && i < g->n_nodes && !to->failed; i++)
    if (wanted[i] && g->nodes[i].op != NXG_input) copy_node(to, g, i, map, map + g->n_nodes);
  for (uint32_t o = 0; ok && o < b->n_out && !to->failed; o++) {
    static const int64_t zero[2] = {0, -1};
    const nxg_node *x = &g->nodes[b->out[o]];
    uint32_t made = map[b->out[o]];
    if (zeros)
      made = nxg_add(to, NXG_full, 0, NULL, zero, 2, (nx_dtype)x->dtype, x->rank, x->shape);
    nxg_add_output(to, made, NULL);
  }
  nxi_free(wanted);
  nxi_free(map);
  if (ok) return nxg_body_take(to, number, d);
  nxg_destroy(to);
  return nxi_oom(d);
}

/* Whether the loop has a step: a bool. */
static uint32_t has_step(hoisting *h, uint32_t loop, const nxg_control *c, const body *condition) {
  const nxg_node *old = &h->g->nodes[loop];
  if (c->counted) {
    static const int64_t zero[2] = {0, -1};
    uint32_t args[2] = {0, h->r.map[old->args[0]]};
    nx_dtype t = (nx_dtype)h->g->nodes[old->args[0]].dtype;
    args[0] = nxg_rewrite_add(&h->r, loop, NXG_full, 0, NULL, zero, 2, t, 0, NULL);
    return nxg_rewrite_add(&h->r, loop, NXG_cmplt, 2, args, NULL, 0, NX_BOOL, 0, NULL);
  }
  const nxg_graph *g = condition->g;
  uint32_t *values = new_values(g), root = g->outputs[0].node, made = UINT32_MAX;
  if (values == NULL) h->r.failed = true;
  for (uint32_t i = 0; values != NULL && i < g->n_inputs; i++)
    values[g->inputs[i].node] = h->r.map[old->args[c->first + i]];
  if (values != NULL) compute(h, loop, g, &root, 1, values);
  if (values != NULL) made = values[root];
  nxi_free(values);
  return made;
}

/* The values that go out of a body behind a guard. */
static nx_status add_guarded(hoisting *h, uint32_t loop, const nxg_control *c, const body *bodies,
                             const body *b, done *l) {
  const nxg_node *old = &h->g->nodes[loop];
  nx_status status = NX_OK;
  for (int zeros = 0; zeros < 2 && status == NX_OK; zeros++)
    status = make_branch(c, b, zeros != 0, &l->branches[!zeros], h->r.d);
  uint32_t *args = nxi_malloc(((size_t)c->n_passed + 1) * sizeof *args);
  if (args == NULL && status == NX_OK) status = nxi_oom(h->r.d);
  if (status == NX_OK) {
    args[0] = has_step(h, loop, c, bodies);
    for (uint32_t i = 0; i < c->n_passed; i++)
      args[1 + i] = h->r.map[old->args[c->first + c->n_carried + i]];
  }
  for (uint32_t o = 0; status == NX_OK && o < b->n_out && !nxg_rewrite_failed(&h->r); o++) {
    const nxg_node *x = &b->g->nodes[b->out[o]];
    int64_t attrs[3] = {o, l->branches[0], l->branches[1]};
    l->args[l->n_args++] = nxg_rewrite_add(&h->r, loop, NXG_case, c->n_passed + 1, args, attrs, 3,
                                           (nx_dtype)x->dtype, x->rank, x->shape);
  }
  nxi_free(args);
  return status;
}

/* Whether it can be known before the loop if it has a step, by little work that cannot fail. */
static bool can_guard(const nxg_control *c, const body *condition) {
  if (c->counted) return c->count < 0;
  for (uint32_t i = 0; i < condition->g->n_nodes; i++) {
    const nxg_node *n = &condition->g->nodes[i];
    if (n->op != NXG_input && !(cannot_fail(n) && is_slight(condition->g, n))) return false;
  }
  return true;
}

/* The values that go out of a body as operands of the loop. */
static nx_status add_operands(hoisting *h, uint32_t loop, const nxg_control *c, const body *bodies,
                              const body *b, done *l) {
  const nxg_graph *g = b->g;
  const nxg_node *old = &h->g->nodes[loop];
  uint32_t first = c->indexed + c->n_carried;
  if (b->n_out == 0) return NX_OK;
  if (b->guarded) return add_guarded(h, loop, c, bodies, b, l);
  uint32_t *values = new_values(g);
  if (values == NULL) return nxi_oom(h->r.d);
  for (uint32_t i = 0; i < c->n_passed; i++)
    values[g->inputs[first + i].node] = h->r.map[old->args[c->first + c->n_carried + i]];
  compute(h, loop, g, b->out, b->n_out, values);
  for (uint32_t o = 0; o < b->n_out; o++) l->args[l->n_args++] = values[b->out[o]];
  nxi_free(values);
  return NX_OK;
}

static void add_loop(hoisting *h, uint32_t i, const done *l) {
  const nxg_node *n = &h->g->nodes[i];
  h->r.changed = true;
  int64_t attrs[NXG_WHILE_ATTRS + NXG_FOR_ATTRS];
  uint32_t first, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
  memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
  for (uint32_t b = 0; b < bodies; b++) attrs[first + b] = l->bodies[b];
  nxg_rewrite_map(&h->r, i,
                  nxg_rewrite_add(&h->r, i, (nxg_op)n->op, l->n_args, l->args, attrs, n->n_attrs,
                                  (nx_dtype)n->dtype, n->rank, n->shape));
}

/* The loop without the work that goes out. */
static nx_status rewrite_loop(hoisting *h, uint32_t i, const nxg_control *c, body *bodies) {
  const nxg_node *n = &h->g->nodes[i];
  uint32_t whole = n->n_args - c->n_stacked;
  if (!nxi_grow(&h->loops, &h->cap_loops, h->n_loops + 1, sizeof *h->loops)) return nxi_oom(h->r.d);
  done *l = &h->loops[h->n_loops];
  *l = (done){.node = i};
  l->args = nxi_malloc(((size_t)n->n_args + 2 * MOST) * sizeof *l->args);
  if (l->args == NULL) return nxi_oom(h->r.d);
  h->n_loops++;
  nx_status status = NX_OK;
  for (uint32_t a = 0; a < whole; a++) l->args[l->n_args++] = h->r.map[n->args[a]];
  for (uint32_t b = 0; b < c->n_bodies && status == NX_OK; b++)
    status = add_operands(h, i, c, bodies, &bodies[b], l);
  for (uint32_t a = whole; a < n->n_args; a++) l->args[l->n_args++] = h->r.map[n->args[a]];
  for (uint32_t b = 0; b < c->n_bodies && status == NX_OK; b++)
    status = make_body(&bodies[b], bodies, c->n_bodies, c->n_stacked, &l->bodies[b], h->r.d);
  if (status == NX_OK && !nxg_rewrite_failed(&h->r)) add_loop(h, i, l);
  return status;
}

/* The body of a branch or loop without what goes out of bodies in it. */
static nx_status enter(hoisting *h, int64_t number, body *b) {
  nxg_graph *own = NULL;
  b->g = nxg_body_find(number)->graph;
  nx_status status = nxg_pass_hoist(b->g, &own, NULL, h->r.d);
  if (status != NX_OK || own == b->g) return status;
  b->own = own;
  b->g = own;
  return NX_OK;
}

static nx_status hoist_loop(hoisting *h, uint32_t i, const nxg_control *c) {
  body bodies[2] = {{0}};
  nx_status status = NX_OK;
  uint32_t first = c->indexed + c->n_carried, out = 0;
  bool changed = false, once = c->counted && c->count > 0;
  for (uint32_t b = 0; b < c->n_bodies && status == NX_OK; b++) {
    bool condition = c->op == NXG_while && b == 0;
    status = enter(h, c->bodies[b], &bodies[b]);
    bool rare = !once && !condition;
    if (status == NX_OK &&
        !examine(&bodies[b], first, first + c->n_passed, rare, rare && can_guard(c, bodies)))
      status = nxi_oom(h->r.d);
    changed = changed || bodies[b].own != NULL;
    out += bodies[b].n_out;
  }
  if (status == NX_OK && (out > 0 || changed)) status = rewrite_loop(h, i, c, bodies);
  else if (status == NX_OK) nxg_rewrite_copy(&h->r, i);
  for (uint32_t b = 0; b < c->n_bodies; b++) release(&bodies[b]);
  return status;
}

static nx_status visit(hoisting *h, uint32_t i) {
  const nxg_node *n = &h->g->nodes[i];
  nxg_control c;
  if (n->op == NXG_input) return NX_OK;
  if (!nxg_is_control(n->op) || n->op == NXG_case) return nxg_rewrite_copy(&h->r, i), NX_OK;
  for (uint32_t k = 0; k < h->n_loops; k++)
    if (nxg_same_control(n, &h->g->nodes[h->loops[k].node]))
      return add_loop(h, i, &h->loops[k]), NX_OK;
  nxg_control_of_node(n, &c);
  return hoist_loop(h, i, &c);
}

static bool has_loops(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (nxg_is_control(g->nodes[i].op) && g->nodes[i].op != NXG_case) return true;
  return false;
}

nx_status nxg_pass_hoist(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  hoisting h = {.g = g};
  *out = (nxg_graph *)g;
  if (!has_loops(g)) return NX_OK;
  nx_status status = nxg_rewrite_begin(&h.r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && status == NX_OK && !nxg_rewrite_failed(&h.r); i++)
    status = visit(&h, i);
  h.r.failed = h.r.failed || status != NX_OK;
  nx_status ended = nxg_rewrite_end(&h.r, out, changed);
  for (uint32_t k = 0; k < h.n_loops; k++) {
    for (int b = 0; b < 2; b++)
      if (h.loops[k].bodies[b] != 0) nxg_body_release(h.loops[k].bodies[b]);
    for (int b = 0; b < 2; b++)
      if (h.loops[k].branches[b] != 0) nxg_body_release(h.loops[k].branches[b]);
    nxi_free(h.loops[k].args);
  }
  nxi_free(h.loops);
  return status != NX_OK ? status : ended;
}
