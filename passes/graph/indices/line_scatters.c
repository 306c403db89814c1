/* SPDX-License-Identifier: ISC */
/* A scatter into a constant that has one element for each line along its axis becomes elementwise
 * work: the element where the position along the line is the index, and the constant elsewhere. So
 * the gradient of a loss of labels, or of elements taken along an axis, is computed together with
 * what reads it.
 *
 * Indices are read out of the list of all positions by a gather, which counts negative ones from
 * the end, and gets the check. Needs: real elements. Keeps: bits. */
#include "passes/graph/rewrite.h"

#include <string.h>

#include "ir/alloc.h"

typedef struct lines {
  nxg_rewrite *r;
  uint32_t node; /* the scatter */
  int32_t axis;
} lines;

static const nxg_node *scatter_of(const lines *s) { return &s->r->from->nodes[s->node]; }

static uint32_t add(const lines *s, nxg_op op, uint32_t n, const uint32_t *args, nx_dtype t,
                    const nxg_node *like) {
  return nxg_rewrite_add(s->r, s->node, op, n, args, NULL, 0, t, like->rank, like->shape);
}

/* The integer `value` for each index. */
static uint32_t number(const lines *s, nx_dtype t, int64_t value) {
  const nxg_node *index = &s->r->from->nodes[scatter_of(s)->args[1]];
  const int64_t attrs[2] = {t == NX_I32 ? (int64_t)(uint32_t)value : value, -1};
  return nxg_rewrite_add(s->r, s->node, NXG_full, 0, NULL, attrs, 2, t, index->rank, index->shape);
}

/* A view of the shape of the result: of rank 1 along the axis, or of one element a line. */
static uint32_t view_of(const lines *s, uint32_t x, nx_dtype t, bool along) {
  const nxg_node *n = scatter_of(s);
  int64_t attrs[1 + NXG_MAX_RANK] = {0}, shape[NXG_MAX_RANK];
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  shape[s->axis] = 1;
  if (!along) nxg_contiguous_strides(n->rank, shape, attrs + 1);
  attrs[1 + s->axis] = along;
  return nxg_rewrite_add(s->r, s->node, NXG_view, 1, &x, attrs, 1 + (uint32_t)n->rank, t, n->rank,
                         n->shape);
}

/* The positions 0, 1, .. along each line: i32, of the shape of the result. */
static uint32_t positions(const lines *s) {
  const int64_t attrs[2] = {0, 1}, extent = scatter_of(s)->shape[s->axis];
  const uint32_t line =
      nxg_rewrite_add(s->r, s->node, NXG_arange, 0, NULL, attrs, 2, NX_I32, 1, &extent);
  return nxg_rewrite_failed(s->r) ? UINT32_MAX : view_of(s, line, NX_I32, true);
}

/* The indices as positions; those that are out of range are not any. */
static uint32_t dropped(const lines *s) {
  const nxg_node *n = scatter_of(s), *index = &s->r->from->nodes[n->args[1]];
  const nx_dtype t = (nx_dtype)index->dtype;
  const int64_t extent = n->shape[s->axis];
  const uint32_t i = s->r->map[n->args[1]];
  const uint32_t negative = add(s, NXG_cmplt, 2, (uint32_t[]){i, number(s, t, 0)}, NX_BOOL, index);
  const uint32_t back = add(s, NXG_add, 2, (uint32_t[]){i, number(s, t, extent)}, t, index);
  uint32_t x = add(s, NXG_where, 3, (uint32_t[]){negative, back, i}, t, index);
  x = add(s, NXG_min, 2, (uint32_t[]){x, number(s, t, extent)}, t, index);
  x = add(s, NXG_max, 2, (uint32_t[]){x, number(s, t, -1)}, t, index);
  return add(s, NXG_cast, 1, &x, NX_I32, index);
}

static uint32_t found(const lines *s, uint32_t all) {
  const nxg_node *n = scatter_of(s), *index = &s->r->from->nodes[n->args[1]];
  const int64_t axis = s->axis;
  if (nxg_scatter_drops(n)) return dropped(s);
  return nxg_rewrite_add(s->r, s->node, NXG_gather, 2, (uint32_t[]){all, s->r->map[n->args[1]]},
                         &axis, 1, NX_I32, index->rank, index->shape);
}

/* The `full` that an old node is, maybe through views. */
static const nxg_node *constant_of(const nxg_graph *g, uint32_t node) {
  while (g->nodes[node].op == NXG_view || g->nodes[node].op == NXG_copy)
    node = g->nodes[node].args[0];
  return g->nodes[node].op == NXG_full ? &g->nodes[node] : NULL;
}

static bool is_of_lines(const nxg_graph *g, const nxg_node *n) {
  if (n->op != NXG_scatter || n->n_args != 3 || nxg_scatter_has_shape(n->attrs[1]) ||
      constant_of(g, n->args[0]) == NULL || nxg_node_elements(n) == 0)
    return false;
  const nxi_scatter_mode mode = nxg_scatter_mode(n->attrs[1]);
  const nxg_node *index = &g->nodes[n->args[1]];
  if (mode != NXI_SCATTER_SET && (mode != NXI_SCATTER_ADD || n->dtype == NX_BOOL)) return false;
  for (int32_t i = 0; i < n->rank; i++)
    if (index->shape[i] != (i == n->attrs[0] ? 1 : n->shape[i])) return false;
  return n->shape[n->attrs[0]] < INT32_MAX;
}

static void rewrite(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i], *constant = constant_of(r->from, n->args[0]);
  const lines s = {.r = r, .node = i, .axis = (int32_t)n->attrs[0]};
  const nx_dtype t = (nx_dtype)n->dtype;
  const uint32_t all = positions(&s);
  if (nxg_rewrite_failed(r)) return;
  const uint32_t index = view_of(&s, found(&s, all), NX_I32, false);
  const uint32_t here = add(&s, NXG_cmpeq, 2, (uint32_t[]){index, all}, NX_BOOL, n);
  const uint32_t rest = nxg_rewrite_add(r, i, NXG_full, 0, NULL, constant->attrs, constant->n_attrs,
                                        t, n->rank, n->shape);
  uint32_t value = view_of(&s, r->map[n->args[2]], t, false);
  if (nxg_scatter_mode(n->attrs[1]) == NXI_SCATTER_ADD)
    value = add(&s, NXG_add, 2, (uint32_t[]){rest, value}, t, n);
  value = add(&s, NXG_where, 3, (uint32_t[]){here, value, rest}, t, n);
  if (nxg_rewrite_failed(r)) return;
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

nx_status nxg_pass_line_scatters(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (is_of_lines(g, &g->nodes[i])) rewrite(&r, i);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
