/* SPDX-License-Identifier: ISC */
/* Composes views. Afterwards the operand of a view is never a view or a copy of a contiguous value,
 * and there are no identity views. If no single view has the strides of a view of a view (the first
 * is not contiguous, and the second is not aligned with it), a copy stays between the two. Keeps:
 * bits. */
#include "rewrite.h"

#include <string.h>

/* Composes `outer`, a view of the elements of `inner` in C order, with `inner`: *out is a view of
 * inner's storage. False: there is no such view. */
static bool compose(const nxg_view *inner, const nxg_view *outer, nxg_view *out) {
  nxi_diag d;
  if (nxg_elements(outer->rank, outer->shape) == 0) {
    *out = *outer;
    out->offset = 0;
    return true;
  }
  if (nxg_view_is_contiguous(inner)) {
    *out = *outer;
    out->offset += inner->offset;
    return true;
  }
  /* A view that is not contiguous composes with a pure reshape only. */
  nxi_diag_clear(&d);
  if (!nxg_view_is_contiguous(outer) || outer->offset != 0 ||
      nxg_elements(outer->rank, outer->shape) != nxg_elements(inner->rank, inner->shape))
    return false;
  return nxg_view_reshape(inner, outer->rank, outer->shape, out, &d) == NX_OK;
}

static bool is_identity(const nxg_node *base, const nxg_view *v) {
  return v->offset == 0 && nxg_view_is_contiguous(v) &&
         nxg_same_shape(base->rank, base->shape, v->rank, v->shape);
}

static uint32_t add_view(nxg_rewrite *r, uint32_t i, uint32_t base, const nxg_view *v) {
  const nxg_node *n = &r->from->nodes[i];
  int64_t attrs[1 + NXG_MAX_RANK];
  if (is_identity(&r->to->nodes[base], v)) return base;
  attrs[0] = v->offset;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof attrs[0]);
  return nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, n->dtype, v->rank,
                         v->shape);
}

/* The view of a node. Strides of extents of 1, which mean nothing, are those of a contiguous view
 * if the others are. */
static void view_of(const nxg_graph *g, uint32_t node, nxg_view *v) {
  nxg_node_view(g, node, v);
  if (nxg_is_in_order(v->rank, v->shape, v->strides))
    nxg_contiguous_strides(v->rank, v->shape, v->strides);
}

static void rewrite_view(nxg_rewrite *r, uint32_t i) {
  nxg_view outer, inner, both;
  uint32_t base = r->map[r->from->nodes[i].args[0]];
  view_of(r->from, i, &outer);
  if (r->to->nodes[base].op == NXG_view) {
    view_of(r->to, base, &inner);
    if (compose(&inner, &outer, &both)) {
      nxg_rewrite_map(r, i, add_view(r, i, r->to->nodes[base].args[0], &both));
      r->changed = true;
      return;
    }
    const nxg_node *n = &r->to->nodes[base];
    int64_t shape[NXG_MAX_RANK];
    memcpy(shape, n->shape, n->rank * sizeof shape[0]);
    base = nxg_rewrite_add(r, i, NXG_copy, 1, &base, NULL, 0, n->dtype, n->rank, shape);
    if (base == UINT32_MAX) return;
  } else if (!is_identity(&r->to->nodes[base], &outer)) {
    nxg_rewrite_copy(r, i);
    return;
  }
  nxg_rewrite_map(r, i, add_view(r, i, base, &outer));
  r->changed = true;
}

nx_status nxg_pass_views(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (g->nodes[i].op == NXG_view) rewrite_view(&r, i);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
