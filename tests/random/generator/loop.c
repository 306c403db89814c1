/* SPDX-License-Identifier: ISC */
/* Random loops. The body is a random graph: inputs for which it has another value of the same type
 * are carried, the others captured, one of them perhaps a slice of a stack; some outputs are
 * stacked. A third of them are the body of another loop. Beside the loop stands the graph that has
 * its steps one after the other, on the same inputs. */
#include "loop.h"

#include <stdlib.h>
#include <string.h>

#include "ir/graph/control.h"
#include "tests/random/differential.h" /* NXT_MOST_INPUTS */
#include "graph.h"

/* MOST_UNROLLED: loops of more steps stay loops, whatever is in them. */
enum { MOST_CARRIED = 8, MOST_STACKED = 3, MOST_UNROLLED = 8 };

typedef struct loop {
  nxt_random r;
  nxg_op op;
  nxg_graph *body; /* inputs: carried, captured, slice; outputs: carried, stacked */
  uint32_t n_inputs, n_carried, n_outputs;
  bool sliced, reverse;
  int64_t count;
  nxi_diag d;
} loop;

static bool same_type(const nxg_node *a, const nxg_node *b) {
  return a->dtype == b->dtype && nxg_same_shape(a->rank, a->shape, b->rank, b->shape);
}

/* The last node of the type of an input; the input itself if there is no other. */
static uint32_t successor(const nxg_graph *g, uint32_t input) {
  uint32_t node = g->n_nodes - 1;
  while (node != input &&
         (g->nodes[node].op == NXG_input || !same_type(&g->nodes[node], &g->nodes[input])))
    node--;
  return node;
}

static void set_inputs(nxg_graph *g, const uint32_t *nodes) {
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    g->inputs[i] = (nxg_input){nodes[i], 0, -1};
    g->nodes[nodes[i]].attrs[0] = i;
  }
}

static bool is_fit(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_update && g->nodes[i].n_args == 3) return false;
  for (uint32_t i = 0; i < g->n_inputs; i++)
    if (g->nodes[g->inputs[i].node].rank > 8) return false;
  return g->n_inputs > 0;
}

/* Makes a body of the random graph. False if it cannot be one. */
static bool shape_body(loop *l) {
  nxg_graph *g = l->body;
  uint32_t order[2 * NXT_MOST_INPUTS] = {0}, next[MOST_CARRIED] = {0}, n = 0;
  if (!is_fit(g) || g->n_inputs > NXT_MOST_INPUTS) return false;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_full) g->nodes[i].attrs[1] = -1;
  g->n_params = 0;
  for (uint32_t i = 0; i < g->n_inputs && n < MOST_CARRIED; i++) {
    uint32_t input = g->inputs[i].node, node = successor(g, input);
    if (node == input) continue;
    next[n] = node;
    order[n++] = input;
  }
  l->n_carried = n;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    bool carried = false;
    for (uint32_t k = 0; k < l->n_carried; k++) carried = carried || order[k] == g->inputs[i].node;
    if (!carried) order[n++] = g->inputs[i].node;
  }
  set_inputs(g, order);
  l->n_inputs = g->n_inputs;
  uint32_t stacked[MOST_STACKED], n_stacked = 0;
  for (uint32_t i = 0; i < g->n_outputs && n_stacked < MOST_STACKED; i++)
    if (g->nodes[g->outputs[i].node].rank < 8) stacked[n_stacked++] = g->outputs[i].node;
  g->n_outputs = 0;
  for (uint32_t i = 0; i < l->n_carried; i++) nxg_add_output(g, next[i], NULL);
  bool stacks = l->op == NXG_scan || l->op == NXG_for || l->op == NXG_case;
  for (uint32_t i = 0; stacks && i < n_stacked; i++) nxg_add_output(g, stacked[i], NULL);
  l->n_outputs = g->n_outputs;
  l->sliced = l->op == NXG_scan && l->n_carried < l->n_inputs && nxt_chance(&l->r, 50);
  return l->n_outputs > 0 && !g->failed;
}

/* ---- the loop */

static uint32_t number(nxg_graph *g, nx_dtype t, int64_t value) {
  int64_t attrs[2] = {value, -1};
  return nxg_add(g, NXG_full, 0, NULL, attrs, 2, t, 0, NULL);
}

/* A graph of the loop's inputs alone: args[i] is the node of input i. */
static nxg_graph *with_inputs(const loop *l, uint32_t *args) {
  nxg_graph *g = nxg_create("loop");
  for (uint32_t i = 0; g != NULL && i < l->n_inputs; i++) {
    const nxg_node *n = &l->body->nodes[l->body->inputs[i].node];
    int64_t shape[NXG_MAX_RANK] = {l->count};
    bool stack = l->sliced && i + 1 == l->n_inputs;
    memcpy(shape + stack, n->shape, n->rank * sizeof *shape);
    args[i] = nxg_add_input(g, n->dtype, n->rank + stack, shape, 0, -1, NULL);
  }
  return g;
}

/* The body with a number before its inputs: that of the step, or what a while counts, which it
 * gives too. */
static int64_t counting_body(const loop *l, nxi_diag *d) {
  nxg_graph *g = nxg_copy(l->body);
  uint32_t nodes[2 * NXT_MOST_INPUTS] = {0};
  int64_t made = 0;
  nx_dtype t = l->op == NXG_while ? NX_I32 : NX_I64;
  uint32_t i = nxg_add_input(g, t, 0, NULL, 0, -1, NULL), outputs[NXT_MOST_INPUTS];
  nodes[0] = i;
  for (uint32_t k = 0; k < l->n_inputs; k++) nodes[k + 1] = g->inputs[k].node;
  set_inputs(g, nodes);
  if (l->op == NXG_while) {
    uint32_t n = g->n_outputs, args[2] = {i, number(g, t, 1)};
    for (uint32_t k = 0; k < n; k++) outputs[k] = g->outputs[k].node;
    g->n_outputs = 0;
    nxg_add_output(g, nxg_add(g, NXG_add, 2, args, NULL, 0, t, 0, NULL), NULL);
    for (uint32_t k = 0; k < n; k++) nxg_add_output(g, outputs[k], NULL);
  }
  return nxg_body_take(g, &made, d) == NX_OK ? made : 0;
}

static int64_t condition(const loop *l, nxi_diag *d) {
  nxg_graph *g = nxg_create("below");
  int64_t made = 0;
  uint32_t args[2] = {nxg_add_input(g, NX_I32, 0, NULL, 0, -1, NULL), 0};
  for (uint32_t i = 0; i < l->n_inputs; i++) {
    const nxg_node *n = &l->body->nodes[l->body->inputs[i].node];
    nxg_add_input(g, n->dtype, n->rank, n->shape, 0, -1, NULL);
  }
  args[1] = number(g, NX_I32, l->count);
  nxg_add_output(g, nxg_add(g, NXG_cmplt, 2, args, NULL, 0, NX_BOOL, 0, NULL), NULL);
  return nxg_body_take(g, &made, d) == NX_OK ? made : 0;
}

/* The body whose carried values stay what they are: another branch. */
static int64_t still_body(const loop *l, nxi_diag *d) {
  nxg_graph *g = nxg_copy(l->body);
  int64_t made = 0;
  for (uint32_t i = 0; i < l->n_carried; i++) g->outputs[i].node = g->inputs[i].node;
  return nxg_body_take(g, &made, d) == NX_OK ? made : 0;
}

static int64_t plain_body(const loop *l, nxi_diag *d) {
  int64_t made = 0;
  return nxg_body_take(nxg_copy(l->body), &made, d) == NX_OK ? made : 0;
}

/* Attributes and operands of the form. Returns the number of operands. */
static uint32_t describe(loop *l, nxg_graph *g, uint32_t *args, int64_t *attrs, uint32_t *n_attrs,
                         int64_t held[2]) {
  uint32_t first = l->op != NXG_scan && !(l->op == NXG_for && l->count % 2 == 0);
  *n_attrs = 0;
  attrs[(*n_attrs)++] = 0;
  memmove(args + first, args, l->n_inputs * sizeof *args);
  if (l->op == NXG_case) {
    args[0] = number(g, NX_I32, l->count - 1);
    held[0] = still_body(l, &l->d);
    held[1] = plain_body(l, &l->d);
    attrs[(*n_attrs)++] = held[0];
  } else if (l->op == NXG_while) {
    args[0] = number(g, NX_I32, 0);
    held[0] = condition(l, &l->d);
    held[1] = counting_body(l, &l->d);
    attrs[(*n_attrs)++] = 100;
    attrs[(*n_attrs)++] = held[0];
  } else {
    bool known = first == 0;
    if (!known) args[0] = number(g, NX_I64, l->count);
    held[1] = l->op == NXG_for ? counting_body(l, &l->d) : plain_body(l, &l->d);
    int64_t own[] = {0, known ? l->count : -1, l->n_carried, l->sliced, l->reverse};
    for (int i = 0; i < 5; i++) attrs[(*n_attrs)++] = own[i];
  }
  attrs[(*n_attrs)++] = held[1];
  return first + l->n_inputs;
}

static nxg_graph *make_loop(loop *l) {
  uint32_t args[2 * NXT_MOST_INPUTS] = {0}, n_attrs;
  int64_t attrs[16], held[2] = {0, 0}, shape[NXG_MAX_RANK];
  nxg_type types[2 * NXT_MOST_INPUTS];
  nxg_graph *g = with_inputs(l, args);
  uint32_t n = describe(l, g, args, attrs, &n_attrs, held), before = l->op == NXG_while;
  for (uint32_t i = 0; i < n; i++) {
    const nxg_node *x = &g->nodes[args[i]];
    types[i] = (nxg_type){x->dtype, x->rank, x->shape};
  }
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < l->n_outputs && !status; i++) {
    nx_dtype t;
    int32_t rank;
    attrs[0] = before + i;
    status = nxg_infer(l->op, n, types, attrs, n_attrs, 0, &t, &rank, shape, &l->d);
    if (!status)
      nxg_add_output(g, nxg_add(g, l->op, n, args, attrs, n_attrs, t, rank, shape), NULL);
  }
  for (int i = 0; i < 2; i++)
    if (held[i] > 0) nxg_body_release(held[i]);
  if (!status && !g->failed) return g;
  nxg_destroy(g);
  return NULL;
}

/* ---- the steps one after the other */

static uint32_t slice_of(nxg_graph *g, uint32_t stack, int64_t at) {
  const nxg_node n = g->nodes[stack];
  nxg_view v;
  int64_t attrs[1 + NXG_MAX_RANK];
  nxg_view_contiguous(&v, n.rank - 1, n.shape + 1);
  attrs[0] = nxg_elements(v.rank, v.shape) * at;
  if (nxg_elements(v.rank, v.shape) == 0) attrs[0] = 0;
  memcpy(attrs + 1, v.strides, (size_t)v.rank * sizeof *attrs);
  return nxg_add(g, NXG_view, 1, &stack, attrs, 1 + (uint32_t)v.rank, n.dtype, v.rank, v.shape);
}

/* One step: values has its inputs, and gets its outputs. */
static void inline_body(const nxg_graph *body, nxg_graph *g, const uint32_t *in, uint32_t *out) {
  uint32_t *map = calloc(body->n_nodes, sizeof *map), *args = calloc(4096, sizeof *args);
  for (uint32_t i = 0; i < body->n_inputs; i++) map[body->inputs[i].node] = in[i];
  for (uint32_t i = 0; i < body->n_nodes; i++) {
    const nxg_node *n = &body->nodes[i];
    if (n->op == NXG_input) continue;
    for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
    map[i] = nxg_add(g, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype, n->rank,
                     n->shape);
  }
  for (uint32_t i = 0; i < body->n_outputs; i++) out[i] = map[body->outputs[i].node];
  free(map);
  free(args);
}

static void add_stack(const loop *l, nxg_graph *g, uint32_t *parts) {
  const nxg_node n = g->nodes[parts[0]];
  int64_t shape[NXG_MAX_RANK] = {1}, attrs[1 + NXG_MAX_RANK] = {0}, axis = 0;
  memcpy(shape + 1, n.shape, n.rank * sizeof *shape);
  nxg_contiguous_strides(n.rank + 1, shape, attrs + 1);
  for (int64_t i = 0; i < l->count; i++)
    parts[i] = nxg_add(g, NXG_view, 1, &parts[i], attrs, 2 + n.rank, n.dtype, n.rank + 1, shape);
  shape[0] = l->count;
  nxg_add_output(
      g, nxg_add(g, NXG_cat, (uint32_t)l->count, parts, &axis, 1, n.dtype, n.rank + 1, shape),
      NULL);
}

static nxg_graph *unroll(const loop *l, const nxg_graph *body) {
  uint32_t in[2 * NXT_MOST_INPUTS] = {0}, out[NXT_MOST_INPUTS] = {0};
  uint32_t parts[MOST_STACKED][MOST_UNROLLED + 6] = {{0}};
  nxg_graph *g = with_inputs(l, in);
  uint32_t stack = in[l->n_inputs - 1];
  bool branch = l->op == NXG_case;
  for (int64_t step = 0; step < (branch ? 1 : l->count); step++) {
    int64_t at = l->reverse ? l->count - 1 - step : step;
    if (l->sliced) in[l->n_inputs - 1] = slice_of(g, stack, at);
    inline_body(body, g, in, out);
    for (uint32_t i = 0; i < l->n_carried; i++) {
      bool still = branch && l->count == 1;
      if (still) out[i] = in[i];
    }
    memcpy(in, out, l->n_carried * sizeof *in);
    for (uint32_t i = l->n_carried; i < l->n_outputs; i++) parts[i - l->n_carried][at] = out[i];
  }
  for (uint32_t i = 0; i < l->n_carried; i++) nxg_add_output(g, in[i], NULL);
  for (uint32_t i = l->n_carried; i < l->n_outputs; i++) {
    if (branch) nxg_add_output(g, out[i], NULL);
    else add_stack(l, g, parts[i - l->n_carried]);
  }
  return g;
}

/* ---- both */

static const nxg_op forms[] = {NXG_scan, NXG_while, NXG_for, NXG_scan, NXG_case};

static void draw_form(loop *l, nxg_op op, uint32_t most) {
  l->op = op;
  l->count = 1 + nxt_below(&l->r, op == NXG_case ? 2 : most);
  l->reverse = op == NXG_scan && nxt_chance(&l->r, 40);
}

/* A `for` whose number is a tensor has no stacks. */
static bool drop_stacks(loop *l) {
  bool none = l->op == NXG_while || (l->op == NXG_for && l->count % 2 != 0);
  if (none) l->body->n_outputs = l->n_outputs = l->n_carried;
  return l->n_outputs > 0;
}

static nxt_loop_pair make_pair(loop *l, const nxg_graph *plain_body) {
  return (nxt_loop_pair){make_loop(l), unroll(l, plain_body)};
}

void nxt_loop_destroy(nxt_loop_pair p) {
  nxg_destroy(p.loop);
  nxg_destroy(p.plain);
}

/* The loop as the body of another one: its inputs and outputs are those of a body. */
static nxt_loop_pair nest(loop *l, nxt_loop_pair inner) {
  loop outer = *l;
  outer.body = inner.loop;
  outer.sliced = false;
  draw_form(&outer, forms[nxt_below(&l->r, 5)], 3);
  bool fits = drop_stacks(&outer);
  inner.plain->n_outputs = outer.n_outputs;
  for (uint32_t i = 0; i < outer.n_outputs; i++)
    fits = fits && inner.loop->nodes[inner.loop->outputs[i].node].rank < 8;
  for (uint32_t i = 0; i < outer.n_inputs; i++)
    fits = fits && inner.loop->nodes[inner.loop->inputs[i].node].rank <= 8;
  if (!fits) return inner;
  nxt_loop_pair made = make_pair(&outer, inner.plain);
  l->d = outer.d;
  nxt_loop_destroy(inner);
  return made;
}

bool nxt_random_loop(uint64_t seed, nxt_loop_pair *out, nxi_diag *d) {
  nxt_graph_options o = {.nodes = (uint32_t)(3 + seed % 9),
                         .elements = seed % 4 == 0 ? 3000 : 100,
                         .matmul = seed % 5 == 0,
                         .empty = seed % 20 == 3,
                         .rank = 4,
                         .inputs = 5};
  loop l = {.r = {seed * 0x9e3779b97f4a7c15u}};
  nxi_diag_clear(&l.d);
  draw_form(&l, forms[seed % 5], 5);
  if (l.op != NXG_case && nxt_below(&l.r, 4) == 0) l.count += MOST_UNROLLED;
  l.body = nxt_random_graph(seed, &o);
  *out = (nxt_loop_pair){NULL, NULL};
  bool tried = l.body != NULL && shape_body(&l) && drop_stacks(&l);
  if (tried) *out = make_pair(&l, l.body);
  if (out->loop != NULL && seed % 3 == 1) *out = nest(&l, *out);
  *d = l.d;
  nxg_destroy(l.body);
  return tried;
}
