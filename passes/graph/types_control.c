/* SPDX-License-Identifier: ISC */
/* The pass of types.c for control flow: bodies become bodies of plain values, which have no complex
 * numbers, no stored floats and no half bytes as inputs and outputs. Complex inputs and outputs are
 * rows of parts; so are complex operands and results of the node; of a stack each slice is a
 * row. */
#include "passes.h"
#include "types.h"

#include "ir/graph/control.h"

/* ---- types that go into no body: stored floats do as their bits, and what takes four bits as
 * bytes, since a slice need not begin at a byte */

static nx_dtype bits_of(nx_dtype t) {
  return !nxi_is_stored(t) ? t : nxi_dtypes[t].bits == 4 ? NX_U4 : NX_U8;
}
static nx_dtype passed_as(nx_dtype t) {
  nx_dtype bits = bits_of(t);
  return bits == NX_I4 ? NX_I8 : bits == NX_U4 ? NX_U8 : bits;
}

bool nxg_types_in_bodies(const nxg_graph *g, const nxg_node *n) {
  uint32_t first, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
  for (uint32_t i = 0; i < bodies; i++)
    if (nxg_body_find(n->attrs[first + i])->retyped) return true;
  for (uint32_t a = 0; a < n->n_args; a++) {
    nx_dtype t = (nx_dtype)g->nodes[n->args[a]].dtype;
    if (passed_as(t) != t) return true;
  }
  return false;
}

/* The operations between a value and what it is passed as: a bitcast, then a cast to bytes, or the
 * same back. */
typedef struct conversion {
  nxg_op op[2];
  nx_dtype to[2];
  int n;
} conversion;

static conversion conversion_of(nx_dtype t, bool back) {
  conversion c = {.n = 0};
  nx_dtype bits = bits_of(t), passed = passed_as(t);
  const nxg_op ops[2] = {NXG_bitcast, NXG_cast};
  const nx_dtype steps[3] = {t, bits, passed};
  for (int i = 0; i < 2; i++) {
    int k = back ? 1 - i : i;
    if (steps[k] == steps[k + 1]) continue;
    c.op[c.n] = ops[k];
    c.to[c.n++] = steps[back ? k : k + 1];
  }
  return c;
}

static uint32_t convert(nxg_graph *g, uint32_t node, nx_dtype t, bool back) {
  conversion c = conversion_of(t, back);
  for (int i = 0; i < c.n && node != UINT32_MAX; i++) {
    const nxg_node n = g->nodes[node];
    node = nxg_add(g, c.op[i], 1, &node, NULL, 0, c.to[i], n.rank, n.shape);
  }
  return node;
}

/* The same for a value of the graph that is rewritten, in the shape of old node `like`. */
static uint32_t convert_in(nxg_types *t, uint32_t like, uint32_t node, nx_dtype dtype, bool back) {
  conversion c = conversion_of(dtype, back);
  for (int i = 0; i < c.n; i++)
    node = nxg_types_add_like(t, like, c.op[i], c.to[i], 1, &node, NULL, 0);
  return node;
}

/* ---- bodies */

static void widen_node(nxg_graph *g, const nxg_graph *from, uint32_t i, uint32_t *map,
                       uint32_t *args) {
  const nxg_node *n = &from->nodes[i];
  if (n->op == NXG_input) {
    uint32_t made = nxg_add(g, NXG_input, 0, NULL, n->attrs, n->n_attrs,
                            passed_as((nx_dtype)n->dtype), n->rank, n->shape);
    if (made != UINT32_MAX) g->inputs[n->attrs[0]] = (nxg_input){made, 0, -1};
    map[i] = convert(g, made, (nx_dtype)n->dtype, true);
    return;
  }
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
  map[i] =
      nxg_add(g, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype, n->rank, n->shape);
  if (map[i] == UINT32_MAX) return;
  g->nodes[map[i]].called = n->called;
  if ((n->tag || n->tag_text) && !nxg_set_tag(g, map[i], n->tag, n->tag_text)) g->failed = true;
}

/* The body with inputs and outputs that are passed; NULL: memory is exhausted. */
static nxg_graph *widened(const nxg_graph *from) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    most = from->nodes[i].n_args > most ? from->nodes[i].n_args : most;
  uint32_t *map = nxi_malloc(((size_t)from->n_nodes + most) * sizeof *map);
  nxg_graph *g = nxg_create(from->name);
  bool ok = map != NULL && g != NULL &&
            nxi_grow(&g->inputs, &g->cap_inputs, from->n_inputs + 1, sizeof *g->inputs);
  if (ok) g->n_inputs = from->n_inputs;
  for (uint32_t i = 0; ok && i < from->n_nodes && !g->failed; i++)
    widen_node(g, from, i, map, map + from->n_nodes);
  for (uint32_t i = 0; ok && i < from->n_outputs && !g->failed; i++) {
    uint32_t node = from->outputs[i].node;
    nxg_add_output(g, convert(g, map[node], (nx_dtype)from->nodes[node].dtype, false),
                   from->outputs[i].name);
  }
  nxi_free(map);
  if (ok && !g->failed) return g;
  nxg_destroy(g);
  return NULL;
}

/* The body with plain values alone; a reference to it. */
static nx_status plain_body(nxg_types *t, int64_t *number) {
  nxg_graph *real = NULL, *plain = NULL;
  if (!nxg_body_find(*number)->retyped) return nxg_body_hold(*number), NX_OK;
  nxg_graph *wide = widened(nxg_body_find(*number)->graph);
  if (wide == NULL) return nxi_oom(t->r.d);
  nx_status status = nxg_pass_types_for(wide, t->joined, &real, NULL, t->r.d);
  if (status == NX_OK) status = nxg_pass_stored_types(real, &plain, NULL, t->r.d);
  if (real != wide && real != plain) nxg_destroy(real);
  if (plain != wide) nxg_destroy(wide);
  return status == NX_OK ? nxg_body_take(plain, number, t->r.d) : status;
}

/* ---- nodes */

static uint32_t operand_of(nxg_types *t, const nxg_control *c, uint32_t a) {
  const nxg_node *n = nxg_types_old(t, t->i);
  const nxg_node *x = nxg_types_old(t, n->args[a]);
  if (!nxi_is_complex(x->dtype))
    return convert_in(t, n->args[a], t->r.map[n->args[a]], (nx_dtype)x->dtype, false);
  uint32_t woven = nxg_types_woven(t, n->args[a]);
  if (a < n->n_args - c->n_stacked) return woven;
  nxg_view v;
  int64_t shape[2] = {x->shape[0], 2 * nxg_elements(x->rank - 1, x->shape + 1)};
  nxg_view_contiguous(&v, 2, shape);
  return nxg_types_view(t, woven, nxi_part_dtype(x->dtype), &v);
}

static void add_real(nxg_types *t, const nxg_control *c, const int64_t *attrs) {
  const nxg_node *n = nxg_types_old(t, t->i);
  int64_t twice = 2 * nxg_node_elements(n);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t *args = nxi_malloc(n->n_args * sizeof *args);
  if (args == NULL) {
    t->r.failed = true;
    return;
  }
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = operand_of(t, c, a);
  bool stacked = c->counted && c->result >= c->n_carried;
  if (!nxi_is_complex(n->dtype)) {
    uint32_t made = nxg_types_add_like(t, t->i, (nxg_op)n->op, passed_as((nx_dtype)n->dtype),
                                       n->n_args, args, attrs, n->n_attrs);
    nxg_types_set_real(t, convert_in(t, t->i, made, (nx_dtype)n->dtype, true));
  } else if (!stacked) {
    t->woven[t->i] = nxg_rewrite_add(&t->r, t->i, (nxg_op)n->op, n->n_args, args, attrs, n->n_attrs,
                                     p, 1, &twice);
  } else {
    int64_t shape[2] = {c->count, 2 * nxg_elements(n->rank - 1, n->shape + 1)};
    nxg_view row = {.rank = 1, .shape = {twice}, .strides = {1}};
    uint32_t made = nxg_rewrite_add(&t->r, t->i, (nxg_op)n->op, n->n_args, args, attrs, n->n_attrs,
                                    p, 2, shape);
    t->woven[t->i] = nxg_types_view(t, made, p, &row);
  }
  nxi_free(args);
}

void nxg_types_control(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  int64_t attrs[NXG_CONTROL_MOST_ATTRS + NXG_FOR_ATTRS];
  nxg_control c;
  uint32_t first, made = 0, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
  nxg_control_of_node(n, &c);
  for (uint32_t i = 0; i < n->n_attrs; i++) attrs[i] = n->attrs[i];
  nx_status status = NX_OK;
  while (made < bodies && status == NX_OK) {
    status = plain_body(t, &attrs[first + made]);
    made += status == NX_OK;
  }
  if (status == NX_OK) add_real(t, &c, attrs);
  for (uint32_t i = 0; i < made; i++) nxg_body_release(attrs[first + i]);
  if (status == NX_OK) return;
  t->status = status;
  t->r.failed = true;
}
