/* SPDX-License-Identifier: ISC */
/* What a body computes of captured values and constants alone is computed once, before the loop,
 * and is one more captured value. Bodies of bodies come first, so that a value goes out as far as
 * it can. Keeps: bits, and which runs fail.
 *
 * Nothing that can fail goes out, since a failure has a step, or may never come: checked indices,
 * calls that fail, functions of the caller, loops. What a loop may never run goes out only if it is
 * a few elements; the condition of a loop and the body of one that is known to have a step run at
 * least once. Views and constants stay, and so does elementwise work that would only make more
 * memory of less: it is cheaper to compute where it is read. */
#include <string.h>

#include "rewrite.h"

#include "ir/graph/control.h"
#include "ir/library/library.h"

enum {
  FEW_BYTES = 4096,       /* an array of as many is no burden */
  FEW_ELEMENTS = 1 << 14, /* that may be computed for nothing */
  DEAR = 16,              /* cost of a function (ir/scalar_ops.def) that is worth an array */
  MOST = 64               /* values that go out of one body */
};

/* What becomes of a node of a body. */
enum { OUTSIDE = 1, STAYS = 2, PASSED = 4 };

typedef struct body {
  const nxg_graph *g;
  nxg_graph *own;   /* it is freed; or NULL */
  uint8_t *fate;    /* of each node */
  int64_t *sources; /* bytes of memory that an elementwise node is made of */
  uint32_t out[MOST], n_out;
} body;

/* A loop that has been rewritten: the results of one run have equal operands. */
typedef struct done {
  uint32_t node, *args, n_args;
  int64_t bodies[2];
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

/* first .. last - 1: the inputs that are captured. rare: the body may never run. */
static void find_outside(body *b, uint32_t first, uint32_t last, bool rare) {
  const nxg_graph *g = b->g;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    bool out = n->op == NXG_input ? n->attrs[0] >= first && n->attrs[0] < last
                                  : cannot_fail(n) && (!rare || is_slight(g, n));
    for (uint32_t a = 0; a < n->n_args; a++) out = out && (b->fate[n->args[a]] & OUTSIDE);
    b->fate[i] = out ? OUTSIDE : 0;
    weigh(b, i);
  }
}

/* Whether a value is computed in the body though it could be outside. */
static bool is_better_inside(const body *b, uint32_t i) {
  const nxg_node *n = &b->g->nodes[i];
  uint8_t kind = nxg_ops[n->op].kind;
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

static bool examine(body *b, uint32_t first, uint32_t last, bool rare) {
  b->fate = nxi_calloc((size_t)b->g->n_nodes + 1, 1);
  b->sources = nxi_calloc((size_t)b->g->n_nodes + 1, sizeof *b->sources);
  if (b->fate == NULL || b->sources == NULL) return false;
  find_outside(b, first, last, rare);
  find_needed(b);
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

/* Appends what a value that goes out is computed of, for the loop that is old node `loop`. values:
 * node of the body -> new node of the graph, UINT32_MAX: not made yet. */
static void compute(hoisting *h, uint32_t loop, const body *b, uint32_t *values, uint32_t *args) {
  const nxg_graph *g = b->g;
  uint8_t *wanted = nxi_calloc((size_t)g->n_nodes + 1, 1);
  if (wanted == NULL) {
    h->r.failed = true;
    return;
  }
  for (uint32_t o = 0; o < b->n_out; o++) wanted[b->out[o]] = 1;
  for (uint32_t i = g->n_nodes; i-- > 0;)
    for (uint32_t a = 0; wanted[i] && a < g->nodes[i].n_args; a++) wanted[g->nodes[i].args[a]] = 1;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&h->r); i++) {
    const nxg_node *n = &g->nodes[i];
    if (!wanted[i] || n->op == NXG_input) continue;
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = values[n->args[a]];
    values[i] = nxg_rewrite_add(&h->r, loop, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs,
                                (nx_dtype)n->dtype, n->rank, n->shape);
  }
  nxi_free(wanted);
}

/* The values that go out of a body as operands of the loop: *n of them. */
static void add_operands(hoisting *h, uint32_t loop, const nxg_control *c, const body *b,
                         uint32_t *operands, uint32_t *n) {
  const nxg_graph *g = b->g;
  const nxg_node *old = &h->g->nodes[loop];
  uint32_t most = 1, first = c->indexed + c->n_carried;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    most = g->nodes[i].n_args > most ? g->nodes[i].n_args : most;
  uint32_t *values = nxi_malloc(((size_t)g->n_nodes + most) * sizeof *values);
  if (values == NULL) {
    h->r.failed = true;
    return;
  }
  memset(values, 0xff, g->n_nodes * sizeof *values);
  for (uint32_t i = 0; i < c->n_passed; i++)
    values[g->inputs[first + i].node] = h->r.map[old->args[c->first + c->n_carried + i]];
  compute(h, loop, b, values, values + g->n_nodes);
  for (uint32_t o = 0; o < b->n_out; o++) operands[(*n)++] = values[b->out[o]];
  nxi_free(values);
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
  for (uint32_t b = 0; b < c->n_bodies; b++)
    if (bodies[b].n_out > 0) add_operands(h, i, c, &bodies[b], l->args, &l->n_args);
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
    if (status == NX_OK && !examine(&bodies[b], first, first + c->n_passed, !once && !condition))
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
    nxi_free(h.loops[k].args);
  }
  nxi_free(h.loops);
  return status != NX_OK ? status : ended;
}
