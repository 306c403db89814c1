/* SPDX-License-Identifier: ISC */
/* The pass of types.c for control flow: bodies become bodies of real values, whose complex inputs
 * and outputs are rows of parts. So are complex operands and results of the node; of a stack each
 * slice is a row. */
#include "passes.h"
#include "types.h"

#include "ir/graph/control.h"

bool nxg_types_in_bodies(const nxg_node *n) {
  uint32_t first, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
  for (uint32_t i = 0; i < bodies; i++)
    if (nxg_body_find(n->attrs[first + i])->retyped) return true;
  return false;
}

/* The body with real values alone; a reference to it. */
static nx_status real_body(nxg_types *t, int64_t *number) {
  nxg_graph *real = NULL;
  const nxg_graph *g = nxg_body_find(*number)->graph;
  nx_status status = nxg_pass_types_for(g, t->joined, &real, NULL, t->r.d);
  if (status != NX_OK) return status;
  if (real != g) return nxg_body_take(real, number, t->r.d);
  nxg_body_hold(*number);
  return NX_OK;
}

static uint32_t operand_of(nxg_types *t, const nxg_control *c, uint32_t a) {
  const nxg_node *n = nxg_types_old(t, t->i);
  const nxg_node *x = nxg_types_old(t, n->args[a]);
  if (!nxi_is_complex(x->dtype)) return t->r.map[n->args[a]];
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
    nxg_types_set_real(t, nxg_types_add_like(t, t->i, (nxg_op)n->op, n->dtype, n->n_args, args,
                                             attrs, n->n_attrs));
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
    status = real_body(t, &attrs[first + made]);
    made += status == NX_OK;
  }
  if (status == NX_OK) add_real(t, &c, attrs);
  for (uint32_t i = 0; i < made; i++) nxg_body_release(attrs[first + i]);
  if (status == NX_OK) return;
  t->status = status;
  t->r.failed = true;
}
