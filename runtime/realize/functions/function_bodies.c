/* SPDX-License-Identifier: ISC */
/* Bodies of control flow, made of the functions that a caller gives: their graphs with other inputs
 * and outputs, in which what they assign has become values that go in and out. */
#include <string.h>

#include "function_control.h"
#include "runtime/record/assign.h"
#include "runtime/record/objects.h"

/* ---- states */

static nx_status add_state(nxi_loop *k, nxi_storage *s) {
  if (nxi_loop_is_state(k, s)) return NX_OK;
  if (!nxi_grow(&k->states, &k->cap_states, k->n_states + 1, sizeof *k->states))
    return nxi_oom(k->d);
  k->states[k->n_states++] = s;
  return NX_OK;
}

/* A captured value that the body assigns through its input. */
static nx_status add_captured(nxi_loop *k, const nx_function *f, uint32_t input) {
  nx_tensor *t = nxi_loop_captured(k, input);
  nxg_view v;
  if (t == NULL) return NX_OK; /* a value of the step */
  nxi_view_of(t, &v);
  if (t->storage->flags & NXI_STORAGE_READ_ONLY)
    return nxi_fail(k->d, NX_NOT_WRITABLE, k->name,
                    "%s: %.40s assigns to its input %u, which lies in an immutable import", k->name,
                    f->graph->name, input);
  if (!t->contiguous && nxg_view_overlaps_itself(&v))
    return nxi_fail(
        k->d, NX_INVALID_ARGUMENT, k->name,
        "%s: %.40s assigns to its input %u, a view that maps two indices to one element", k->name,
        f->graph->name, input);
  return add_state(k, t->storage);
}

/* A captured value that is read of a state is no operand, whose type would be compared. */
static nx_status check_type(const nxi_loop *k, const nx_function *f, uint32_t input) {
  const nx_tensor *t = nxi_loop_captured(k, input);
  const nxg_node *n = &f->graph->nodes[f->graph->inputs[input].node];
  char is[NXG_SHAPE_TEXT], wanted[NXG_SHAPE_TEXT];
  if (t == NULL || !nxi_loop_is_state(k, t->storage)) return NX_OK;
  if (t->storage->dtype == n->dtype && nxg_same_shape(t->rank, nxi_shape(t), n->rank, n->shape))
    return NX_OK;
  return nxi_fail(k->d, NX_INVALID_ARGUMENT, k->name,
                  "%s: input %u of %.40s is %s%.80s, the captured value is %s%.80s", k->name, input,
                  f->graph->name, nxi_dtypes[n->dtype].name,
                  nxg_format_shape(is, n->rank, n->shape), nxi_dtypes[t->storage->dtype].name,
                  nxg_format_shape(wanted, t->rank, nxi_shape(t)));
}

nx_status nxi_loop_find_states(nxi_loop *k) {
  nx_status status = NX_OK;
  for (size_t b = 0; b < k->n_bodies; b++) {
    const nx_function *f = k->bodies[b];
    for (uint32_t i = 0; i < f->n_effects && status == NX_OK; i++) {
      const nxi_effect *e = &f->effects[i];
      status = e->storage ? add_state(k, e->storage) : add_captured(k, f, e->input);
    }
  }
  for (size_t b = 0; b < k->n_bodies; b++)
    for (uint32_t i = 0; i < k->bodies[b]->n_in && status == NX_OK; i++)
      status = check_type(k, k->bodies[b], i);
  return status;
}

/* ---- a body */

typedef struct body {
  const nxi_loop *k;
  const nx_function *f;
  nxg_graph *g;
  uint32_t *map;    /* node of f's graph -> node of g */
  uint32_t *states; /* the node of g that is the state now */
  nxi_body_gives gives;
} body;

/* An input of the body; its own if node is one of f's. */
static void add_input(body *b, const nxg_graph *of, uint32_t input) {
  uint32_t node = of->inputs[input].node;
  const nxg_node *n = &of->nodes[node];
  bool own = of == b->f->graph;
  uint32_t made = nxg_add_input(b->g, n->dtype, n->rank, n->shape, 0, -1, own ? n->name : NULL);
  if (own) b->map[node] = made;
}

static uint32_t add_view(nxg_graph *g, uint32_t base, nx_dtype dtype, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  if (base == UINT32_MAX) return base;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  if (nxg_elements(v->rank, v->shape) == 0) {
    attrs[0] = 0;
    nxg_contiguous_strides(v->rank, v->shape, attrs + 1);
  }
  return nxg_add(g, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, dtype, v->rank, v->shape);
}

static uint32_t in_shape(nxg_graph *g, uint32_t node, int32_t rank, const int64_t *shape) {
  nxg_view v;
  nxg_view_contiguous(&v, rank, shape);
  return add_view(g, node, node == UINT32_MAX ? 0 : (nx_dtype)g->nodes[node].dtype, &v);
}

/* Whether an input of function f is read of a state instead. */
static bool is_of_state(const nxi_loop *k, const nx_function *f, uint32_t input) {
  if (input >= f->n_in) return nxi_loop_is_state(k, f->sources[input - f->n_in].cell);
  const nx_tensor *t = nxi_loop_captured(k, input);
  return t != NULL && nxi_loop_is_state(k, t->storage);
}

/* The inputs of a body: those of the function, and among them states and what all bodies
 * captured. */
static void add_inputs(body *b) {
  const nxi_loop *k = b->k;
  const nx_function *f = b->f;
  uint32_t carried = (uint32_t)(k->op == NXG_for) + (uint32_t)k->init.n,
           last = f->n_in - (uint32_t)k->stacked.n;
  for (uint32_t i = 0; i < carried; i++) add_input(b, f->graph, i);
  for (uint32_t s = 0; s < k->n_states; s++)
    b->states[s] =
        nxg_add_input(b->g, k->states[s]->dtype, 1, &k->states[s]->elements, 0, -1, NULL);
  if (k->idle) nxg_add_input(b->g, NX_BOOL, 0, NULL, 0, -1, NULL);
  for (uint32_t i = carried; i < last; i++)
    if (!is_of_state(k, f, i)) add_input(b, f->graph, i);
  for (size_t o = 0; o < k->n_bodies; o++) {
    const nx_function *other = k->bodies[o];
    for (uint32_t i = 0; i < other->n_sources; i++)
      if (!is_of_state(k, other, other->n_in + i)) add_input(b, other->graph, other->n_in + i);
  }
  for (uint32_t i = last; i < f->n_in; i++) add_input(b, f->graph, i);
}

/* What the function reads of states. */
static void read_states(body *b) {
  const nx_function *f = b->f;
  for (uint32_t i = 0; i < f->graph->n_inputs; i++) {
    uint32_t node = f->graph->inputs[i].node;
    const nxg_node *n = &f->graph->nodes[node];
    nxg_view v;
    if (!is_of_state(b->k, f, i)) continue;
    const nx_tensor *t = i < f->n_in ? nxi_loop_captured(b->k, i) : NULL;
    if (t != NULL) nxi_view_of(t, &v);
    else nxg_view_contiguous(&v, n->rank, n->shape);
    const nxi_storage *s = t != NULL ? t->storage : f->sources[i - f->n_in].cell;
    b->map[node] = add_view(b->g, b->states[nxi_loop_state(b->k, s)], (nx_dtype)n->dtype, &v);
  }
}

void nxi_loop_copy_node(nxg_graph *to, const nxg_graph *from, uint32_t i, uint32_t *map,
                        uint32_t *args) {
  const nxg_node *n = &from->nodes[i];
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
  uint32_t made = nxg_add(to, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype,
                          n->rank, n->shape);
  map[i] = made;
  if (made == UINT32_MAX) return;
  to->nodes[made].called = n->called;
  if ((n->tag || n->tag_text) && !nxg_set_tag(to, made, n->tag, n->tag_text)) to->failed = true;
}

uint32_t nxi_loop_most_args(const nxg_graph *g) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    most = g->nodes[i].n_args > most ? g->nodes[i].n_args : most;
  return most;
}

/* ---- what it assigns */

/* Writes a value into the state that a captured tensor is a view of. */
static void assign_captured(body *b, const nx_tensor *t, uint32_t value) {
  uint32_t *state = &b->states[nxi_loop_state(b->k, t->storage)];
  nxi_assign_form form;
  nxg_view v;
  nxg_view_contiguous(&v, t->rank, nxi_shape(t));
  nxi_assign_form_of(t, &v, &form);
  uint32_t args[2] = {*state, add_view(b->g, value, t->storage->dtype, &form.source)};
  if (b->g->failed) return;
  if (form.whole) *state = in_shape(b->g, args[1], 1, &t->storage->elements);
  else
    *state = nxg_add(b->g, NXG_update, 2, args, form.attrs, form.n_attrs, t->storage->dtype, 1,
                     &t->storage->elements);
}

static void apply_effects(body *b) {
  const nx_function *f = b->f;
  for (uint32_t i = 0; i < f->n_effects && !b->g->failed; i++) {
    const nxi_effect *e = &f->effects[i];
    uint32_t value = b->map[f->graph->outputs[f->n_out + i].node];
    const nx_tensor *t = e->storage ? NULL : nxi_loop_captured(b->k, e->input);
    if (t != NULL && t->elements > 0) assign_captured(b, t, value);
    if (e->storage == NULL) continue;
    b->states[nxi_loop_state(b->k, e->storage)] = in_shape(b->g, value, 1, &e->storage->elements);
  }
}

/* ---- its outputs */

static void add_own_output(body *b, uint32_t i) {
  const nxg_output *o = &b->f->graph->outputs[i];
  nxg_add_output(b->g, b->map[o->node], o->name);
}

static void add_states(body *b) {
  for (uint32_t s = 0; s < b->k->n_states; s++) nxg_add_output(b->g, b->states[s], NULL);
}

/* What a carried value is after what the function has assigned to it. */
static void add_carried(body *b, uint32_t input) {
  const nx_function *f = b->f;
  uint32_t node = f->graph->inputs[input].node;
  for (uint32_t i = 0; i < f->n_effects; i++)
    if (f->effects[i].storage == NULL && f->effects[i].input == input)
      node = f->graph->outputs[f->n_out + i].node;
  nxg_add_output(b->g, b->map[node], NULL);
}

static void add_outputs(body *b) {
  uint32_t n = b->f->n_out, first = b->k->op == NXG_case ? n : (uint32_t)b->k->init.n;
  if (b->gives != NXI_BODY_STEP || first > n) first = n; /* with fewer it is refused */
  for (uint32_t i = 0; i < first; i++) add_own_output(b, i);
  for (uint32_t i = 0; i < b->k->init.n && b->gives == NXI_BODY_TEST_AND_VALUES; i++)
    add_carried(b, i);
  if (b->gives != NXI_BODY_TEST) add_states(b);
  for (uint32_t i = first; i < n; i++) add_own_output(b, i);
}

static void fill(body *b, uint32_t *args) {
  const nxg_graph *from = b->f->graph;
  add_inputs(b);
  read_states(b);
  for (uint32_t i = 0; i < from->n_nodes && !b->g->failed; i++)
    if (from->nodes[i].op != NXG_input) nxi_loop_copy_node(b->g, from, i, b->map, args);
  apply_effects(b);
  if (!b->g->failed) add_outputs(b);
}

nxg_graph *nxi_loop_body(const nxi_loop *k, const nx_function *f, nxi_body_gives gives) {
  const nxg_graph *from = f->graph;
  uint32_t most = nxi_loop_most_args(from);
  uint32_t *room = nxi_malloc(((size_t)from->n_nodes + most + k->n_states) * sizeof *room);
  body b = {k, f, nxg_create(from->name), room, NULL, gives};
  if (room != NULL) b.states = room + from->n_nodes + most;
  if (room != NULL && b.g != NULL) fill(&b, room + from->n_nodes);
  nxi_free(room);
  if (room != NULL && b.g != NULL && !b.g->failed) return b.g;
  nxg_destroy(b.g);
  return NULL;
}

nx_status nxi_loop_make_bodies(nxi_loop *k) {
  nx_status status = NX_OK;
  for (size_t i = 0; i < k->n_bodies && status == NX_OK; i++) {
    bool test = k->op == NXG_while && i == 0;
    nxg_graph *g = nxi_loop_body(k, k->bodies[i], test ? NXI_BODY_TEST : NXI_BODY_STEP);
    if (g == NULL) return nxi_oom(k->d);
    status = nxg_body_take(g, &k->numbers[k->n_numbers], k->d);
    k->n_numbers += status == NX_OK;
  }
  return status;
}
