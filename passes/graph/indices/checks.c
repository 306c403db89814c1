/* SPDX-License-Identifier: ISC */
/* Adds the checks of the indices of gather and scatter. A check is a reduction: the lowest
 * position, in C order, of an index that is outside its axis, or INT64_MAX if there is none. The
 * plan looks at it before any kernel that uses the indices runs. All indices are checked,
 * whatever part of the result is used; indices that a view repeats are checked once, and those
 * that cannot be out of range, because of how they are computed, not at all. Comparisons of indices
 * whose result is known for the same reason become that. The pass also combines small floats in a
 * scatter in f32, rounded once. */
#include "index_ranges.h"
#include "ir/alloc.h"
#include "passes/graph/loops.h"
#include "passes/graph/rewrite.h"

#include <string.h>

typedef struct checked {
  nxg_rewrite *r;
  const nxg_interval *known; /* of each old node */
  uint32_t node;             /* the old node that is being rewritten */
  int32_t rank;
  int64_t shape[NXG_MAX_RANK]; /* shape of the indices that are checked */
} checked;

static uint32_t add(const checked *c, nxg_op op, uint32_t n, const uint32_t *args,
                    const int64_t *attrs, uint32_t n_attrs, nx_dtype t) {
  return nxg_rewrite_add(c->r, c->node, op, n, args, attrs, n_attrs, t, c->rank, c->shape);
}

static uint32_t full(const checked *c, nx_dtype t, int64_t value) {
  int64_t attrs[2] = {t == NX_I32 ? (int64_t)(uint32_t)value : value, -1};
  return add(c, NXG_full, 0, NULL, attrs, 2, t);
}

/* Returns the mapped indices without the axes along which a view repeats them; these axes get
 * extent 1 and are set in *mask. */
static uint32_t distinct(checked *c, uint32_t indices, int64_t *mask) {
  const nxg_node *n = &c->r->from->nodes[indices];
  *mask = 0;
  c->rank = n->rank;
  memcpy(c->shape, n->shape, n->rank * sizeof *c->shape);
  for (int32_t i = 0; n->op == NXG_view && i < n->rank; i++)
    if (n->attrs[1 + i] == 0 && n->shape[i] > 1) *mask |= (int64_t)1 << i;
  if (!*mask) return c->r->map[indices];
  for (int32_t i = 0; i < c->rank; i++)
    if (*mask >> i & 1) c->shape[i] = 1;
  return add(c, NXG_view, 1, &c->r->map[n->args[0]], n->attrs, n->n_attrs, n->dtype);
}

/* The positions 0, 1, ... in C order, in the shape of the indices. */
static uint32_t positions(const checked *c) {
  int64_t n = nxg_elements(c->rank, c->shape), count[2] = {0, 1}, view[1 + NXG_MAX_RANK] = {0};
  uint32_t line = nxg_rewrite_add(c->r, c->node, NXG_arange, 0, NULL, count, 2, NX_I64, 1, &n);
  nxg_contiguous_strides(c->rank, c->shape, view + 1);
  return add(c, NXG_view, 1, &line, view, 1 + (uint32_t)c->rank, NX_I64);
}

/* The position of the first index that is not from `lowest` on and below `extent`: i64, rank 0. */
static uint32_t first_bad(checked *c, uint32_t indices, int64_t lowest, int64_t extent,
                          int64_t *mask) {
  nx_dtype t = c->r->from->nodes[indices].dtype;
  int64_t least = t == NX_I32 ? INT32_MIN : INT64_MIN, most = t == NX_I32 ? INT32_MAX : INT64_MAX;
  uint32_t index = distinct(c, indices, mask), pair[2], good[2], choice[3];
  pair[0] = full(c, t, lowest > least ? lowest : least);
  pair[1] = index;
  good[0] = add(c, NXG_cmple, 2, pair, NULL, 0, NX_BOOL);
  pair[0] = index;
  pair[1] = full(c, t, extent - 1 < most ? extent - 1 : most);
  good[1] = add(c, NXG_cmple, 2, pair, NULL, 0, NX_BOOL);
  choice[0] = add(c, NXG_and, 2, good, NULL, 0, NX_BOOL);
  choice[1] = full(c, NX_I64, INT64_MAX);
  choice[2] = positions(c);
  uint32_t position = add(c, NXG_where, 3, choice, NULL, 0, NX_I64);
  int64_t attrs[2] = {(int64_t)(((uint64_t)1 << c->rank) - 1), 0};
  return nxg_rewrite_add(c->r, c->node, NXG_reduce_min, 1, &position, attrs, 2, NX_I64, 0, NULL);
}

static uint32_t cast(nxg_rewrite *r, uint32_t node, uint32_t value, nx_dtype t) {
  if (nxg_rewrite_failed(r)) return UINT32_MAX;
  const nxg_node n = r->to->nodes[value]; /* a copy, because adding nodes moves them */
  return nxg_rewrite_add(r, node, NXG_cast, 1, &value, NULL, 0, t, n.rank, n.shape);
}

static int64_t lowest_of(const nxg_node *n, int64_t extent) {
  return n->op == NXG_gather && nxg_gathers_starts(n) ? 0 : -extent;
}

/* Whether the indices, operand 1, of a node, whose axis has `extent` elements, need no check. */
static bool is_in_range(const nxg_interval *known, const nxg_node *n, int64_t extent) {
  nxg_interval is = known[n->args[1]]; /* NOLINT: there are indices, so it is there */
  return is.low >= lowest_of(n, extent) && is.high < extent;
}

static int64_t extent_of(const nxg_graph *g, const nxg_node *n) {
  return (n->op == NXG_gather ? g->nodes[n->args[0]].shape : nxg_scatter_shape(n))[n->attrs[0]];
}

static bool may_need_check(const nxg_node *n) {
  return n->op == NXG_gather || (n->op == NXG_scatter && !nxg_scatter_drops(n));
}

bool nxg_indices_are_good(const nxg_graph *g) {
  nxg_interval *known = NULL;
  bool good = true;
  for (uint32_t i = 0; i < g->n_nodes && good; i++) {
    const nxg_node *n = &g->nodes[i];
    if (!may_need_check(n)) continue;
    if (known == NULL) known = nxg_index_ranges(g);
    good = known != NULL && is_in_range(known, n, extent_of(g, n));
  }
  nxi_free(known);
  return good;
}

/* Adds the check of the indices of c's node. False if they need none. */
static bool add_check(checked *c, int64_t extent, uint32_t *check, int64_t *mask) {
  const nxg_node *n = &c->r->from->nodes[c->node];
  int64_t lowest = lowest_of(n, extent);
  if (is_in_range(c->known, n, extent)) return false;
  *check = first_bad(c, n->args[1], lowest, extent, mask);
  return true;
}

static void rewrite(nxg_rewrite *r, const nxg_interval *known, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  bool gathers = n->op == NXG_gather;
  uint32_t own = gathers ? 2 : 3, args[4];
  bool wide = !gathers && nxg_scatter_mode(n->attrs[1]) && nxi_is_small_float(n->dtype),
       checks = may_need_check(n);
  int64_t attrs[4 + NXG_MAX_RANK];
  checked c = {.r = r, .known = known, .node = i};
  nx_dtype t = wide ? NX_F32 : n->dtype;
  memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
  for (uint32_t a = 0; a < own; a++) args[a] = r->map[n->args[a]];
  checks = checks && add_check(&c, extent_of(r->from, n), &args[own], &attrs[n->n_attrs]);
  if (nxg_rewrite_failed(r)) return;
  if (!checks && !wide) {
    nxg_rewrite_copy(r, i);
    return;
  }
  if (wide) {
    args[0] = cast(r, i, args[0], t);
    args[2] = cast(r, i, args[2], t);
  }
  uint32_t value = nxg_rewrite_add(r, i, (nxg_op)n->op, own + checks, args, attrs,
                                   n->n_attrs + checks, t, n->rank, n->shape);
  if (wide) value = cast(r, i, value, n->dtype);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

/* A scatter without updates is a copy of its template. */
static void copy_template(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  uint32_t value =
      nxg_rewrite_add(r, i, NXG_copy, 1, &r->map[n->args[0]], NULL, 0, n->dtype, n->rank, n->shape);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

static bool is_indexed(const nxg_node *n) {
  return (n->op == NXG_gather && n->n_args == 2) || (n->op == NXG_scatter && n->n_args == 3);
}

/* A condition on integers whose result is known becomes a constant. */
static bool fold_condition(nxg_rewrite *r, const nxg_interval *known, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  if (known == NULL || n->dtype != NX_BOOL || nxg_ops[n->op].kind != NXG_KIND_MAP ||
      known[i].low != known[i].high)
    return false;
  const int64_t attrs[2] = {known[i].low, -1};
  nxg_rewrite_map(r, i,
                  nxg_rewrite_add(r, i, NXG_full, 0, NULL, attrs, 2, NX_BOOL, n->rank, n->shape));
  return r->changed = true;
}

static void rewrite_all(nxg_rewrite *r, const nxg_interval *known) {
  const nxg_graph *g = r->from;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(r); i++) {
    const nxg_node *n = &g->nodes[i];
    bool indexed = is_indexed(n);
    bool empty = indexed && nxg_node_elements(&g->nodes[n->args[1]]) == 0;
    if (indexed && !empty) rewrite(r, known, i);
    else if (empty && n->op == NXG_scatter) copy_template(r, i);
    else if (!fold_condition(r, known, i)) nxg_rewrite_copy(r, i);
  }
}

nx_status nxg_pass_checks(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  bool any = false;
  for (uint32_t i = 0; i < g->n_nodes && !any; i++) any = is_indexed(&g->nodes[i]);
  nxg_interval *known = any ? nxg_index_ranges(g) : NULL;
  if (any && known == NULL) return nxi_oom(d);
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status == NX_OK) {
    rewrite_all(&r, known);
    status = nxg_rewrite_end(&r, out, changed);
  }
  nxi_free(known);
  return status;
}
