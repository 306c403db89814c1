/* SPDX-License-Identifier: ISC */
/* The random graph generator: movement, pad, cat and updates. */
#include <string.h>

#include "internal.h"

uint32_t nxt_add_view(nxt_generator *gen, uint32_t base, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK];
  attrs[0] = v->offset;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof attrs[0]);
  return nxt_try(gen, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, 0, v->rank, v->shape);
}

/* ---- movement */

static void shuffle_axes(nxt_generator *gen, int32_t rank, int32_t *axes) {
  for (int32_t i = 0; i < rank; i++) {
    int64_t j = nxt_below(&gen->r, i + 1);
    axes[i] = axes[j];
    axes[j] = i;
  }
}

static bool move_slice(nxt_generator *gen, nxg_view *v, nxi_diag *d) {
  int64_t start[NXG_MAX_RANK], count[NXG_MAX_RANK], step[NXG_MAX_RANK];
  for (int32_t i = 0; i < v->rank; i++) {
    int64_t n = v->shape[i];
    step[i] = nxt_chance(&gen->r, 30) ? 2 : nxt_chance(&gen->r, 20) ? -1 : 1;
    start[i] = n > 1 && nxt_chance(&gen->r, 50) ? nxt_below(&gen->r, n) : step[i] < 0 ? n - 1 : 0;
    int64_t room = step[i] > 0 ? (n - start[i] + step[i] - 1) / step[i] : start[i] + 1;
    if (n == 0) start[i] = room = 0;
    count[i] = room > 1 && nxt_chance(&gen->r, 40) ? 1 + nxt_below(&gen->r, room) : room;
  }
  return nxg_view_slice(v, start, count, step, v, d) == NX_OK;
}

static bool move_expand(nxt_generator *gen, nxg_view *v, nxi_diag *d) {
  int64_t shape[NXG_MAX_RANK];
  int32_t extra = nxt_chance(&gen->r, 50) && v->rank < 8 ? 1 : 0;
  if (extra) shape[0] = 1 + nxt_below(&gen->r, 6);
  for (int32_t i = 0; i < v->rank; i++)
    shape[extra + i] =
        v->shape[i] == 1 && nxt_chance(&gen->r, 60) ? 1 + nxt_below(&gen->r, 20) : v->shape[i];
  return nxg_view_expand(v, v->rank + extra, shape, v, d) == NX_OK;
}

static bool move_reshape(nxt_generator *gen, nxg_view *v, nxi_diag *d) {
  int64_t shape[NXG_MAX_RANK], left = nxg_elements(v->rank, v->shape);
  int32_t rank = 0;
  if (left == 0) return false;
  while (left > 1 && rank < 5) {
    int64_t factor = 1 + nxt_below(&gen->r, left < 40 ? left : 40);
    while (left % factor != 0) factor--;
    if (rank == 4) factor = left;
    if (factor > 1 || nxt_chance(&gen->r, 20)) shape[rank++] = factor;
    left /= factor;
  }
  if (left > 1) shape[rank - 1] *= left;
  return nxg_view_reshape(v, rank, shape, v, d) == NX_OK;
}

static bool move_once(nxt_generator *gen, nxg_view *v) {
  nxi_diag d;
  int32_t axes[NXG_MAX_RANK];
  nxi_diag_clear(&d);
  switch (nxt_below(&gen->r, 5)) {
    case 0:
      shuffle_axes(gen, v->rank, axes);
      return nxg_view_permute(v, axes, (size_t)v->rank, v, &d) == NX_OK;
    case 1:
      axes[0] = v->rank > 0 ? (int32_t)nxt_below(&gen->r, v->rank) : 0;
      return v->rank > 0 && nxg_view_flip(v, axes, 1, v, &d) == NX_OK;
    case 2: return move_slice(gen, v, &d);
    case 3: return move_expand(gen, v, &d);
    default: return move_reshape(gen, v, &d);
  }
}

/* Often a view. */
static uint32_t pick_view(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  for (int attempt = 0; attempt < 3 && nxt_chance(&gen->r, 50); attempt++)
    if (nxt_node_of(gen, x)->op != NXG_view) x = nxt_pick(gen);
  return x;
}

uint32_t nxt_add_movement(nxt_generator *gen) {
  nxg_view v;
  uint32_t x = pick_view(gen), base = x;
  const nxg_node *n = nxt_node_of(gen, x);
  bool moved = false;
  if (n->op == NXG_view && nxt_chance(&gen->r, 50)) { /* one view of what that one reads */
    nxg_node_view(gen->g, x, &v);
    base = n->args[0];
  } else {
    nxg_view_contiguous(&v, n->rank, n->shape);
  }
  for (int64_t i = 1 + nxt_below(&gen->r, 3); i > 0; i--) {
    nxg_view next = v;
    if (move_once(gen, &next) && nxg_elements(next.rank, next.shape) <= gen->o.elements) {
      v = next;
      moved = true;
    }
  }
  return moved ? nxt_add_view(gen, base, &v) : UINT32_MAX;
}

/* A value at two positions that differ by a step along one axis, and something computed from
 * both. */
uint32_t nxt_add_shifted(nxt_generator *gen) {
  static const nxg_op ops[] = {NXG_max, NXG_min, NXG_cmpeq};
  uint32_t x = nxt_pick_computed(gen), pair[2];
  const nxg_node *n = nxt_node_of(gen, x);
  if (n->rank == 0) return UINT32_MAX;
  int64_t axis = nxt_below(&gen->r, n->rank), op = nxt_below(&gen->r, 3);
  if (n->shape[axis] < 2) return UINT32_MAX;
  nxg_view v;
  nxg_view_contiguous(&v, n->rank, n->shape);
  v.shape[axis]--;
  pair[0] = nxt_add_view(gen, x, &v);
  v.offset = v.strides[axis];
  pair[1] = nxt_add_view(gen, x, &v);
  if (pair[0] == UINT32_MAX || pair[1] == UINT32_MAX) return UINT32_MAX;
  return nxt_try(gen, ops[op], 2, pair, NULL, 0, 0, 0, NULL);
}

/* ---- new arrays of old ones */

uint32_t nxt_add_pad(nxt_generator *gen) {
  uint32_t x = nxt_pick_computed(gen);
  int32_t rank = nxt_node_of(gen, x)->rank;
  nx_dtype t = nxt_node_of(gen, x)->dtype;
  uint32_t n_attrs = 1 + 2 * (uint32_t)rank + nxi_is_complex(t);
  int64_t attrs[2 + 2 * NXG_MAX_RANK];
  attrs[0] = (int64_t)nxt_random_scalar(gen, t);
  attrs[1 + 2 * rank] = (int64_t)nxt_random_scalar(gen, t);
  for (int32_t i = 0; i < 2 * rank; i++)
    attrs[1 + i] = nxt_chance(&gen->r, 40) ? nxt_below(&gen->r, 4) : 0;
  return nxt_try(gen, NXG_pad, 1, &x, attrs, n_attrs, 0, 0, NULL);
}

uint32_t nxt_add_cat(nxt_generator *gen) {
  uint32_t args[6], n = 1 + (uint32_t)nxt_below(&gen->r, 6);
  args[0] = nxt_pick_computed(gen);
  int32_t rank = nxt_node_of(gen, args[0])->rank;
  if (rank == 0) return UINT32_MAX;
  int64_t axis = nxt_below(&gen->r, rank);
  for (uint32_t i = 1; i < n; i++) {
    int64_t shape[NXG_MAX_RANK];
    memcpy(shape, nxt_node_of(gen, args[0])->shape, (size_t)rank * sizeof shape[0]);
    if (nxt_chance(&gen->r, 70)) shape[axis] = nxt_below(&gen->r, 5);
    args[i] = nxt_matching(gen, nxt_node_of(gen, args[0])->dtype, rank, shape);
    if (args[i] == UINT32_MAX) return UINT32_MAX;
  }
  return nxt_try(gen, NXG_cat, n, args, &axis, 1, 0, 0, NULL);
}

/* ---- scans */

uint32_t nxt_add_scan(nxt_generator *gen) {
  uint32_t args[2] = {nxt_pick(gen)};
  const nxg_node *x = nxt_node_of(gen, args[0]);
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = x->rank;
  if (rank == 0) return UINT32_MAX;
  int64_t attrs[2] = {nxt_below(&gen->r, rank), nxt_chance(&gen->r, 20)};
  nxg_op op = (nxg_op)(NXG_scan_sum + nxt_below(&gen->r, 4));
  if (nxg_op_admits(NXG_scan_prod_real, x->dtype) && nxt_chance(&gen->r, 30)) /* of both parts */
    op = nxt_chance(&gen->r, 50) ? NXG_scan_prod_real : NXG_scan_prod_imag;
  memcpy(shape, x->shape, (size_t)rank * sizeof *shape);
  if (nxg_ops[op].args == 2) args[1] = nxt_matching(gen, x->dtype, rank, shape);
  if (nxg_ops[op].args == 2 && args[1] == UINT32_MAX) return UINT32_MAX;
  return nxt_try(gen, op, (uint32_t)nxg_ops[op].args, args, attrs, 2, 0, 0, NULL);
}

/* ---- elements by number */

/* Indices of this shape into an axis of n elements: what a graph holds, brought into range. */
static uint32_t indices_of(nxt_generator *gen, int32_t rank, const int64_t *shape, int64_t n) {
  nx_dtype t = nxt_chance(&gen->r, 50) ? NX_I32 : NX_I64;
  int64_t attrs[2] = {n, -1};
  uint32_t pair[2] = {nxt_matching(gen, t, rank, shape),
                      nxt_try(gen, NXG_full, 0, NULL, attrs, 2, t, rank, shape)};
  if (pair[0] == UINT32_MAX || pair[1] == UINT32_MAX) return UINT32_MAX;
  return nxt_try(gen, NXG_mod, 2, pair, NULL, 0, 0, 0, NULL);
}

int64_t nxt_scatter_bits(nxt_random *r, nx_dtype t) {
  nxi_scatter_mode mode = (nxi_scatter_mode)nxt_below(r, NXI_SCATTER_XOR + 1);
  while (t != NX_BOOL && nxi_scatter_refuses(mode, t))
    mode = (nxi_scatter_mode)nxt_below(r, NXI_SCATTER_XOR + 1);
  return nxg_scatter_bits(mode);
}

uint32_t nxt_add_indexed(nxt_generator *gen) {
  uint32_t args[3] = {nxt_pick_computed(gen)};
  const nxg_node *x = nxt_node_of(gen, args[0]);
  int64_t shape[NXG_MAX_RANK], attrs[2];
  int32_t rank = x->rank;
  nx_dtype t = x->dtype;
  if (rank == 0) return UINT32_MAX;
  attrs[0] = nxt_below(&gen->r, rank);
  attrs[1] = nxt_scatter_bits(&gen->r, t);
  int64_t extent = x->shape[attrs[0]];
  if (extent == 0) return UINT32_MAX;
  for (int32_t i = 0; i < rank; i++) {
    shape[i] = x->shape[i];
    if (i == attrs[0]) shape[i] = nxt_below(&gen->r, 12);
    else if (nxt_chance(&gen->r, 20)) shape[i] = nxt_below(&gen->r, shape[i] + 1);
  }
  bool gathers = nxt_chance(&gen->r, 60), drops = !gathers && nxt_chance(&gen->r, 30);
  args[1] = indices_of(gen, rank, shape, extent + (drops ? 2 : 0));
  if (args[1] == UINT32_MAX) return UINT32_MAX;
  if (drops) attrs[1] |= NXG_SCATTER_DROPS;
  if (gathers) return nxt_try(gen, NXG_gather, 2, args, attrs, 1, 0, 0, NULL);
  args[2] = nxt_matching(gen, t, rank, shape);
  if (args[2] == UINT32_MAX) return UINT32_MAX;
  return nxt_try(gen, NXG_scatter, 3, args, attrs, 2, 0, 0, NULL);
}

/* ---- updates */

uint32_t nxt_write_through(nxt_generator *gen, uint32_t old, uint32_t source, uint32_t alias_range,
                           const nxg_view *v) {
  uint32_t args[3] = {old, source, alias_range}, n = alias_range == UINT32_MAX ? 2 : 3;
  int64_t attrs[2 + 2 * NXG_MAX_RANK] = {v->offset, v->rank};
  memcpy(attrs + 2, v->shape, (size_t)v->rank * sizeof attrs[0]);
  memcpy(attrs + 2 + v->rank, v->strides, (size_t)v->rank * sizeof attrs[0]);
  return nxt_try(gen, NXG_update, n, args, attrs, 2 + 2 * (uint32_t)v->rank, 0, 0, NULL);
}

/* What is updated: often the result of another update, else often an input that may be
 * overwritten. */
static uint32_t pick_storage(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  for (int attempt = 0; attempt < 8 && nxt_chance(&gen->r, 90); attempt++) {
    const nxg_node *n = nxt_node_of(gen, x);
    if (n->op == NXG_update) break;
    if (attempt > 3 && n->op == NXG_input &&
        gen->g->inputs[n->attrs[0]].flags & NXG_INPUT_OVERWRITE)
      break;
    x = nxt_pick(gen);
  }
  return x;
}

uint32_t nxt_add_update(nxt_generator *gen) {
  nxg_view v;
  uint32_t old = pick_storage(gen);
  if (nxt_node_of(gen, old)->op == NXG_view) return UINT32_MAX;
  nxg_node_view(gen->g, old, &v);
  for (int i = 0; i < 2; i++) {
    nxg_view next = v;
    if (move_once(gen, &next) && !nxg_view_overlaps_itself(&next)) v = next;
  }
  uint32_t source;
  if (nxt_chance(&gen->r, 40)) { /* from what is overwritten: here, or as far from the end */
    nxg_view own = v;
    if (nxt_chance(&gen->r, 50))
      for (int32_t i = 0; i < own.rank; i++)
        if (own.shape[i] > 0) {
          own.offset += (own.shape[i] - 1) * own.strides[i];
          own.strides[i] = -own.strides[i];
        }
    source = nxt_add_view(gen, old, &own);
    uint32_t changed = source == UINT32_MAX ? source : nxt_add_map_on(gen, source);
    if (changed != UINT32_MAX && nxt_node_of(gen, changed)->dtype == nxt_node_of(gen, old)->dtype)
      source = changed;
  } else {
    source = nxt_matching(gen, nxt_node_of(gen, old)->dtype, v.rank, v.shape);
  }
  return source == UINT32_MAX ? source : nxt_write_through(gen, old, source, UINT32_MAX, &v);
}

uint32_t nxt_add_alias_update(nxt_generator *gen) {
  int64_t step = nxt_chance(&gen->r, 60) ? 1 : nxt_chance(&gen->r, 50) ? 2 : -1;
  int64_t count = 1 + nxt_below(&gen->r, nxt_chance(&gen->r, 20) ? 700 : 40),
          reach = (count - 1) * (step < 0 ? -step : step) + 1,
          whole = reach + nxt_below(&gen->r, 50), span = step < 0 ? 1 : reach;
  nx_dtype t = nxt_random_dtype(gen);
  int32_t alias = (int32_t)gen->g->n_inputs;
  if (whole > gen->o.elements || gen->g->n_inputs + 2 > gen->o.inputs) return UINT32_MAX;
  uint32_t old = nxg_add_input(gen->g, t, 1, &whole, NXG_INPUT_OVERWRITE, alias, NULL),
           alias_range = nxg_add_input(gen->g, t, 1, &span, 0, alias, NULL), source;
  nxg_view v = {.rank = 1, .shape = {count}, .strides = {step}};
  if (step > 0 && nxt_chance(&gen->r, 60)) {
    source = nxt_add_view(gen, alias_range, &v);
    uint32_t changed = source == UINT32_MAX ? source : nxt_add_map_on(gen, source);
    if (changed != UINT32_MAX && nxt_node_of(gen, changed)->dtype == t) source = changed;
  } else {
    source = nxt_matching(gen, t, 1, v.shape);
  }
  return source == UINT32_MAX ? source : nxt_write_through(gen, old, source, alias_range, &v);
}
