/* SPDX-License-Identifier: ISC */
/* Indices that are the same along an axis are computed once along it. A program that broadcasts
 * indices to the shape of its updates, and then wraps, cuts or casts them, computes as many indices
 * as there are elements. Here elementwise work on indices of gathers and scatters is done without
 * the axes along which all of its operands repeat, and its result is broadcast instead: a scatter
 * then sees that it moves whole rows, and the check looks at each index once. Keeps: bits. */
#include "passes/graph/rewrite.h"

#include <string.h>

#include "ir/alloc.h"

typedef struct repeats {
  nxg_rewrite r;
  bool *wanted;   /* whether an old node is an index, or indices are computed of it */
  uint32_t *axes; /* old node -> axes of an extent above 1 along which it repeats */
} repeats;

static bool is_indexed(const nxg_node *n) {
  return (n->op == NXG_gather && n->n_args == 2) || (n->op == NXG_scatter && n->n_args == 3);
}

static bool is_elementwise(const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_MAP && n->n_args > 0;
}

static void mark_wanted(repeats *p) {
  const nxg_graph *g = p->r.from;
  for (uint32_t i = g->n_nodes; i-- > 0;) {
    const nxg_node *n = &g->nodes[i];
    if (is_indexed(n)) p->wanted[n->args[1]] = true;
    for (uint32_t a = 0; p->wanted[i] && is_elementwise(n) && a < n->n_args; a++)
      p->wanted[n->args[a]] = true;
  }
}

static uint32_t repeated_axes(const repeats *p, const nxg_node *n) {
  uint32_t axes = 0;
  for (int32_t i = 0; i < n->rank; i++)
    if (n->shape[i] > 1 && (n->op == NXG_full || (n->op == NXG_view && n->attrs[1 + i] == 0)))
      axes |= (uint32_t)1 << i;
  if (!is_elementwise(n)) return axes;
  axes = UINT32_MAX;
  for (uint32_t a = 0; a < n->n_args; a++) axes &= p->axes[n->args[a]];
  return axes;
}

static void narrow_shape(const nxg_node *n, uint32_t axes, int64_t *shape) {
  for (int32_t k = 0; k < n->rank; k++) shape[k] = axes >> k & 1 ? 1 : n->shape[k];
}

/* A new node, which is a view or a constant, without the axes along which it repeats. */
static uint32_t narrowed(repeats *p, uint32_t i, uint32_t node, uint32_t axes) {
  const nxg_node x = p->r.to->nodes[node]; /* a copy, because adding nodes moves them */
  int64_t shape[NXG_MAX_RANK];
  narrow_shape(&x, axes, shape);
  return nxg_rewrite_add(&p->r, i, (nxg_op)x.op, x.n_args, x.args, x.attrs, x.n_attrs,
                         (nx_dtype)x.dtype, x.rank, shape);
}

static uint32_t broadcast(repeats *p, uint32_t i, uint32_t once, uint32_t axes) {
  const nxg_node *n = &p->r.from->nodes[i];
  int64_t attrs[1 + NXG_MAX_RANK] = {0}, shape[NXG_MAX_RANK];
  narrow_shape(n, axes, shape);
  nxg_contiguous_strides(n->rank, shape, attrs + 1);
  for (int32_t k = 0; k < n->rank; k++)
    if (axes >> k & 1) attrs[1 + k] = 0;
  return nxg_rewrite_add(&p->r, i, NXG_view, 1, &once, attrs, 1 + (uint32_t)n->rank,
                         (nx_dtype)n->dtype, n->rank, n->shape);
}

static void rewrite_once(repeats *p, uint32_t i) {
  const nxg_node *n = &p->r.from->nodes[i];
  const uint32_t axes = p->axes[i];
  uint32_t args[4];
  int64_t shape[NXG_MAX_RANK];
  narrow_shape(n, axes, shape);
  for (uint32_t a = 0; a < n->n_args; a++) {
    args[a] = narrowed(p, i, p->r.map[n->args[a]], axes);
    if (nxg_rewrite_failed(&p->r)) return;
  }
  const uint32_t once = nxg_rewrite_add(&p->r, i, (nxg_op)n->op, n->n_args, args, n->attrs,
                                        n->n_attrs, (nx_dtype)n->dtype, n->rank, shape);
  if (nxg_rewrite_failed(&p->r)) return;
  const uint32_t all = broadcast(p, i, once, axes);
  if (nxg_rewrite_failed(&p->r)) return;
  nxg_rewrite_map(&p->r, i, all);
  p->r.changed = true;
}

static bool has_indices(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (is_indexed(&g->nodes[i])) return true;
  return false;
}

nx_status nxg_pass_repeated_indices(const nxg_graph *g, nxg_graph **out, bool *changed,
                                    nxi_diag *d) {
  repeats p = {0};
  if (!has_indices(g)) {
    *out = (nxg_graph *)g;
    return NX_OK;
  }
  nx_status status = nxg_rewrite_begin(&p.r, g, d);
  if (status != NX_OK) return status;
  p.wanted = nxi_calloc(g->n_nodes, sizeof *p.wanted);
  p.axes = nxi_calloc(g->n_nodes, sizeof *p.axes);
  p.r.failed = p.r.failed || p.wanted == NULL || p.axes == NULL;
  if (!p.r.failed) mark_wanted(&p);
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&p.r); i++) {
    const nxg_node *n = &g->nodes[i];
    if (p.wanted[i]) p.axes[i] = repeated_axes(&p, n);
    if (p.wanted[i] && is_elementwise(n) && p.axes[i] != 0 && nxg_node_elements(n) > 0)
      rewrite_once(&p, i);
    else nxg_rewrite_copy(&p.r, i);
  }
  nxi_free(p.wanted);
  nxi_free(p.axes);
  return nxg_rewrite_end(&p.r, out, changed);
}
