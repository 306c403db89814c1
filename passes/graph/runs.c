/* SPDX-License-Identifier: ISC */
/* Splits reductions so that each reduces one run of adjacent axes, the innermost run first
 * (docs/numerics.md). Axes of extent 1 do not separate runs. Small floats stay in f32 from the
 * first run to the last and are rounded once. Keeps: bits, by the definition of the order. */
#include "rewrite.h"

static bool is_reduction(const nxg_node *n) {
  return nxg_ops[n->op].kind == NXG_KIND_REDUCE && !nxg_finds_index(n->op);
}

/* The runs of a reduction. Reduced axes of extent 1 are added to the innermost run. */
static int32_t runs_of(const nxg_node *n, const nxg_node *x, nxg_run *runs) {
  uint32_t mask = (uint32_t)n->attrs[0];
  int32_t count = nxg_reduce_runs(x->rank, x->shape, mask, runs);
  for (int32_t i = 0; count > 0 && i < x->rank; i++)
    if (x->shape[i] == 1) runs[count - 1].axes |= mask & (uint32_t)1 << i;
  return count;
}

static void split(nxg_rewrite *r, uint32_t i, const nxg_run *runs, int32_t count) {
  const nxg_node *n = &r->from->nodes[i], *x = &r->from->nodes[n->args[0]];
  nx_dtype t = nxi_compute_dtype(n->dtype);
  int64_t shape[NXG_MAX_RANK];
  for (int32_t a = 0; a < x->rank; a++) shape[a] = x->shape[a];
  uint32_t value = r->map[n->args[0]];
  if (t != n->dtype) value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, t, x->rank, shape);
  for (int32_t p = count; p-- > 0;) {
    int64_t attrs[2] = {runs[p].axes, 1};
    for (int32_t a = 0; a < x->rank; a++) shape[a] = runs[p].axes >> a & 1 ? 1 : shape[a];
    value = nxg_rewrite_add(r, i, (nxg_op)n->op, 1, &value, attrs, 2, t, x->rank, shape);
  }
  if (n->rank != x->rank) {
    int64_t view[1 + NXG_MAX_RANK] = {0};
    nxg_contiguous_strides(n->rank, n->shape, view + 1);
    value = nxg_rewrite_add(r, i, NXG_view, 1, &value, view, 1 + (uint32_t)n->rank, t, n->rank,
                            n->shape);
  }
  if (t != n->dtype)
    value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, n->dtype, n->rank, n->shape);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

nx_status nxg_pass_runs(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    const nxg_node *n = &g->nodes[i];
    nxg_run runs[NXG_MAX_RANK];
    int32_t count = is_reduction(n) ? runs_of(n, &g->nodes[n->args[0]], runs) : 0;
    if (count > 1 && nxg_node_elements(&g->nodes[n->args[0]]) > 0) split(&r, i, runs, count);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
