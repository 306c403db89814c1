/* SPDX-License-Identifier: ISC */
/* Graph nodes as expressions: the value of a node at a position of its linear storage. Views become positions, pad
 * and cat become predicates, small floats are widened for arithmetic and rounded after each operation.
 * Recursion is bounded: a group holds at most as many operations as cluster.c allows. */
#include "lower.h"

#include <string.h>

typedef struct nxw_memo {
  uint32_t node, guard, value, next; /* next: of the same node */
  nxw_affine *position;
} nxw_memo;

static const nxg_node *node_of(const nxw_lower *l, uint32_t node) { return &l->g->nodes[node]; }

uint32_t nxw_buffer(nxw_lower *l, uint32_t node, nxk_buffer_kind kind) {
  if (l->buffer_of_node[node] != NXW_NONE) return l->buffer_of_node[node];
  const nxg_node *n = node_of(l, node);
  uint32_t buffer = nxk_add_buffer(l->kernel, kind, n->dtype, nxg_node_elements(n));
  nxp_kernel_binding *b = l->binding;
  if (l->kernel->failed ||
      !nxi_grow(&b->buffer_nodes, &b->cap_buffers, b->n_buffers + 1, sizeof *b->buffer_nodes)) {
    l->failed = true;
    return NXW_NONE;
  }
  l->kernel->buffers[buffer].restricted = true;
  b->buffer_nodes[b->n_buffers++] = node;
  l->buffer_of_node[node] = buffer;
  return buffer;
}

/* ---- scalars of a dtype, through the dtype it computes in */

static uint32_t widen(nxw_lower *l, uint32_t a) {
  if (l->failed || a == NXW_NONE) return NXW_NONE;
  nx_dtype t = l->exprs[a].dtype;
  return nxw_scalar(l, NXK_cast, nxi_compute_dtype(t), a, NXW_NONE, NXW_NONE);
}

static uint32_t cast_expr(nxw_lower *l, uint32_t a, nx_dtype to) {
  if (l->failed || a == NXW_NONE || l->exprs[a].dtype == to) return a;
  return nxw_scalar(l, NXK_cast, to, widen(l, a), NXW_NONE, NXW_NONE);
}

static uint32_t bitcast_expr(nxw_lower *l, uint32_t a, nx_dtype to) {
  if (l->failed || a == NXW_NONE || l->exprs[a].dtype == to) return a;
  if (l->exprs[a].dtype == NX_BOOL)
    return bitcast_expr(l, nxw_scalar(l, NXK_cast, NX_U8, a, NXW_NONE, NXW_NONE), to);
  if (to == NX_BOOL)
    return nxw_scalar(l, NXK_ne, NX_BOOL, a, nxw_const(l, l->exprs[a].dtype, 0), NXW_NONE);
  return nxw_scalar(l, NXK_bitcast, to, a, NXW_NONE, NXW_NONE);
}

static uint32_t map_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                          uint32_t guard) {
  uint32_t args[3] = {NXW_NONE, NXW_NONE, NXW_NONE};
  for (uint32_t i = 0; i < n->n_args; i++) {
    args[i] = nxw_node_value(l, n->args[i], position, guard);
    if (args[i] == NXW_NONE) return NXW_NONE;
  }
  if (n->op == NXG_cast) return cast_expr(l, args[0], n->dtype);
  if (n->op == NXG_bitcast) return bitcast_expr(l, args[0], n->dtype);
  if (nxi_is_integer(n->dtype) &&
      (n->op == NXG_trunc || n->op == NXG_ceil || n->op == NXG_floor || n->op == NXG_round))
    return args[0];
  if (n->op == NXG_where) return nxw_scalar(l, NXK_select, n->dtype, args[0], args[1], args[2]);
  for (uint32_t i = 0; i < n->n_args; i++) args[i] = widen(l, args[i]);
  uint32_t value =
      nxw_scalar(l, (nxk_op)nxg_ops[n->op].scalar, n->dtype, args[0], args[1], args[2]);
  return cast_expr(l, value, n->dtype);
}

/* ---- leaves */

static uint32_t arange_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position) {
  nx_dtype t = nxi_compute_dtype(n->dtype);
  uint32_t i = cast_expr(l, nxw_affine_value(l, position), t);
  uint32_t start = widen(l, nxw_const(l, n->dtype, (uint64_t)n->attrs[0]));
  uint32_t step = widen(l, nxw_const(l, n->dtype, (uint64_t)n->attrs[1]));
  uint32_t scaled = nxw_scalar(l, NXK_mul, t, i, step, NXW_NONE);
  return cast_expr(l, nxw_scalar(l, NXK_add, t, start, scaled, NXW_NONE), n->dtype);
}

static uint32_t eye_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                          uint32_t guard) {
  nxw_affine index[2];
  if (!nxw_unravel(l, position, 2, n->shape, guard, index)) return NXW_NONE;
  nxw_affine_add_scaled(l, &index[1], &index[0], -1);
  uint32_t on = nxw_scalar(l, NXK_eq, NX_BOOL, nxw_affine_value(l, &index[1]),
                           nxw_const_i64(l, n->attrs[0]), NXW_NONE);
  return cast_expr(l, on, n->dtype);
}

static uint32_t leaf_value(nxw_lower *l, uint32_t node, const nxw_affine *position,
                           uint32_t guard) {
  const nxg_node *n = node_of(l, node);
  switch (n->op) {
    case NXG_full:
      return n->attrs[1] >= 0 ? nxw_param(l, n->dtype, (uint32_t)n->attrs[1])
                              : nxw_const(l, n->dtype, (uint64_t)n->attrs[0]);
    case NXG_arange: return arange_value(l, n, position);
    case NXG_eye: return eye_value(l, n, position, guard);
    default: return nxw_load(l, n->dtype, nxw_buffer(l, node, NXK_IN), position, guard);
  }
}

/* ---- pad and cat */

static uint32_t both(nxw_lower *l, uint32_t a, uint32_t b) {
  if (a == NXW_NONE || b == NXW_NONE) return a == NXW_NONE ? b : a;
  return nxw_scalar(l, NXK_and, NX_BOOL, a, b, NXW_NONE);
}

/* Whether 0 <= index < extent; NXW_NONE if it always holds. */
static uint32_t inside(nxw_lower *l, const nxw_affine *index, int64_t extent) {
  int64_t low, high;
  bool known = nxw_affine_range(l, index, &low, &high);
  uint32_t guard = NXW_NONE, value = NXW_NONE;
  if (known && low >= 0 && high < extent) return NXW_NONE;
  value = nxw_affine_value(l, index);
  if (!known || low < 0)
    guard = nxw_scalar(l, NXK_le, NX_BOOL, nxw_const_i64(l, 0), value, NXW_NONE);
  if (!known || high >= extent)
    guard =
        both(l, guard, nxw_scalar(l, NXK_lt, NX_BOOL, value, nxw_const_i64(l, extent), NXW_NONE));
  return guard;
}

static uint32_t pad_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                          uint32_t guard) {
  const nxg_node *x = node_of(l, n->args[0]);
  uint32_t fill = nxw_const(l, n->dtype, (uint64_t)n->attrs[0]);
  if (nxg_node_elements(x) == 0) return fill;
  nxw_affine index[NXG_MAX_RANK], at;
  if (!nxw_unravel(l, position, n->rank, n->shape, guard, index)) return NXW_NONE;
  uint32_t in = NXW_NONE;
  for (int32_t i = 0; i < n->rank; i++) {
    index[i].constant -= n->attrs[1 + i];
    in = both(l, in, inside(l, &index[i], x->shape[i]));
  }
  int64_t strides[NXG_MAX_RANK];
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank, index, strides, 0, &at);
  uint32_t holds = both(l, guard, in);
  nxw_remember(l, &at, x->rank, x->shape, holds, index);
  uint32_t value = nxw_node_value(l, n->args[0], &at, holds);
  return in == NXW_NONE ? value : nxw_scalar(l, NXK_select, n->dtype, in, value, fill);
}

static uint32_t cat_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                          uint32_t guard) {
  nxw_affine index[NXG_MAX_RANK], at;
  if (!nxw_unravel(l, position, n->rank, n->shape, guard, index)) return NXW_NONE;
  int32_t axis = (int32_t)n->attrs[0];
  uint32_t value = NXW_NONE;
  int64_t end = n->shape[axis];
  for (uint32_t i = n->n_args; i-- > 0;) {
    const nxg_node *x = node_of(l, n->args[i]);
    int64_t begin = end - x->shape[axis];
    end = begin;
    if (x->shape[axis] == 0) continue;
    nxw_affine shifted[NXG_MAX_RANK];
    memcpy(shifted, index, sizeof shifted);
    shifted[axis].constant -= begin;
    uint32_t in = inside(l, &shifted[axis], x->shape[axis]);
    int64_t strides[NXG_MAX_RANK];
    nxg_contiguous_strides(x->rank, x->shape, strides);
    nxw_ravel(l, x->rank, shifted, strides, 0, &at);
    uint32_t holds = both(l, guard, in);
    nxw_remember(l, &at, x->rank, x->shape, holds, shifted);
    uint32_t piece = nxw_node_value(l, n->args[i], &at, holds);
    value = value == NXW_NONE || in == NXW_NONE
                ? piece
                : nxw_scalar(l, NXK_select, n->dtype, in, piece, value);
  }
  return value;
}

/* ---- reductions */

/* The dtype a fold runs in. */
static nx_dtype fold_dtype(nx_dtype t) { return t == NX_BOOL ? NX_U8 : nxi_compute_dtype(t); }

static uint32_t fold_identity(nxw_lower *l, const nxg_node *n) {
  nx_dtype t = nxi_compute_dtype(n->dtype);
  uint64_t bits = n->op == NXG_reduce_prod ? nxk_reduce_identity(NXK_PROD, t) : 0;
  return cast_expr(l, nxw_const(l, t, bits), n->dtype);
}

static nxk_reduce_kind fold_kind(nxg_op op) {
  switch (op) {
    case NXG_reduce_sum: return NXK_SUM;
    case NXG_reduce_prod: return NXK_PROD;
    case NXG_reduce_max: return NXK_MAX;
    case NXG_reduce_min: return NXK_MIN;
    case NXG_argmax: return NXK_ARGMAX;
    default: return NXK_ARGMIN;
  }
}

static uint32_t fold_mask(const nxg_node *n) {
  return n->op == NXG_argmax || n->op == NXG_argmin ? (uint32_t)1 << n->attrs[0]
                                                    : (uint32_t)n->attrs[0];
}

/* Indices of the operand: kept axes from the result's position, reduced ones from the part's inner dimensions. */
static bool fold_operand_position(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                                  uint32_t guard, nxw_affine *at) {
  const nxg_node *x = node_of(l, n->args[0]);
  nxw_affine kept[NXG_MAX_RANK], index[NXG_MAX_RANK];
  int64_t strides[NXG_MAX_RANK];
  uint32_t mask = fold_mask(n);
  if (!nxw_unravel(l, position, n->rank, n->shape, guard, kept)) return false;
  bool keepdims = n->rank == x->rank;
  int32_t from = 0;
  uint32_t axis = 0; /* of the part: extents of 1 are dropped there */
  for (int32_t i = 0; i < x->rank; i++) {
    if (mask >> i & 1) {
      nxw_affine_zero(&index[i]);
      if (x->shape[i] != 1) nxw_axis_index(l, axis, &index[i]);
    } else {
      index[i] = kept[keepdims ? i : from];
    }
    from += keepdims || !(mask >> i & 1);
    axis += x->shape[i] != 1;
  }
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank, index, strides, 0, at);
  return !l->failed;
}

/* Whether the run of reduced axes holds the last axis (extents of 1 do not count). */
static bool run_holds_last(const nxg_node *x, uint32_t mask) {
  for (int32_t i = x->rank; i-- > 0;)
    if (x->shape[i] != 1) return mask >> i & 1;
  return true;
}

static uint32_t fold_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                           uint32_t guard) {
  const nxg_node *x = node_of(l, n->args[0]);
  uint32_t mask = fold_mask(n);
  nxk_reduce_kind kind = fold_kind((nxg_op)n->op);
  bool index_result = kind == NXK_ARGMAX || kind == NXK_ARGMIN, any = false;
  for (int32_t i = 0; i < x->rank; i++) {
    if ((mask >> i & 1) && x->shape[i] == 0) return fold_identity(l, n);
    any = any || ((mask >> i & 1) && x->shape[i] != 1);
  }
  nxw_affine at;
  if (!fold_operand_position(l, n, position, guard, &at)) return NXW_NONE;
  if (!any && index_result) return nxw_const(l, NX_I32, 0);
  uint32_t value = nxw_node_value(l, n->args[0], &at, guard);
  if (!any || value == NXW_NONE) return value;
  nx_dtype t = fold_dtype(x->dtype);
  value = cast_expr(l, value, t);
  nxk_order order = run_holds_last(x, mask) ? NXK_ORDER_LANES : NXK_ORDER_PLAIN;
  uint32_t folded = nxw_reduce(l, kind, order, value, NXW_NONE, index_result ? NX_I64 : t);
  return cast_expr(l, folded, n->dtype);
}

/* ---- matmul in generated code: an inner dimension k, in order */

static uint32_t matmul_operand(nxw_lower *l, uint32_t node, const nxw_affine *batch,
                               int32_t n_batch, const nxw_affine *row, const nxw_affine *column,
                               uint32_t guard) {
  const nxg_node *x = node_of(l, node);
  nxw_affine index[NXG_MAX_RANK], at;
  int64_t strides[NXG_MAX_RANK];
  int32_t own = x->rank - 2;
  for (int32_t i = 0; i < own; i++) {
    if (x->shape[i] == 1) nxw_affine_zero(&index[i]);
    else index[i] = batch[n_batch - own + i];
  }
  index[own] = *row;
  index[own + 1] = *column;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank, index, strides, 0, &at);
  return widen(l, nxw_node_value(l, node, &at, guard));
}

static uint32_t matmul_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                             uint32_t guard) {
  const nxg_node *a = node_of(l, n->args[0]);
  int64_t inner = a->shape[a->rank - 1];
  nx_dtype t = nxi_compute_dtype(n->dtype);
  if (inner == 0) return nxw_const(l, n->dtype, 0);
  nxw_affine index[NXG_MAX_RANK], k;
  if (!nxw_unravel(l, position, n->rank, n->shape, guard, index)) return NXW_NONE;
  nxw_affine_zero(&k);
  if (inner != 1) nxw_axis_index(l, (uint32_t)l->part->rank - 1, &k);
  uint32_t left = matmul_operand(l, n->args[0], index, n->rank - 2, &index[n->rank - 2], &k, guard);
  uint32_t right =
      matmul_operand(l, n->args[1], index, n->rank - 2, &k, &index[n->rank - 1], guard);
  uint32_t value;
  if (inner != 1) value = nxw_reduce(l, NXK_DOT, NXK_ORDER_SEQUENTIAL, left, right, t);
  else if (nxi_is_float(t)) value = nxw_scalar(l, NXK_fma, t, left, right, nxw_const(l, t, 0));
  else value = nxw_scalar(l, NXK_mul, t, left, right, NXW_NONE);
  return cast_expr(l, value, n->dtype);
}

/* ---- threefry: Threefry-2x32, 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers, SC 2011) */

static uint32_t u32_op(nxw_lower *l, nxk_op op, uint32_t a, uint32_t b) {
  return nxw_scalar(l, op, NX_U32, a, b, NXW_NONE);
}

static uint32_t rotate_left(nxw_lower *l, uint32_t x, int32_t by) {
  uint32_t high = u32_op(l, NXK_shl, x, nxw_const(l, NX_U32, (uint64_t)by));
  return u32_op(l, NXK_or, high, u32_op(l, NXK_shr, x, nxw_const(l, NX_U32, (uint64_t)(32 - by))));
}

static uint32_t word_of(nxw_lower *l, uint32_t node, const nxw_affine *index, int64_t word,
                        uint32_t guard) {
  const nxg_node *x = node_of(l, node);
  nxw_affine at, own[NXG_MAX_RANK];
  int64_t strides[NXG_MAX_RANK];
  memcpy(own, index, sizeof own);
  nxw_affine_zero(&own[x->rank - 1]);
  own[x->rank - 1].constant = word;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank, own, strides, 0, &at);
  return bitcast_expr(l, nxw_node_value(l, node, &at, guard), NX_U32);
}

static uint32_t threefry_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                               uint32_t guard) {
  static const int32_t rotation[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  nxw_affine index[NXG_MAX_RANK];
  if (!nxw_unravel(l, position, n->rank, n->shape, guard, index)) return NXW_NONE;
  uint32_t key[3], x[2];
  for (int i = 0; i < 2; i++) key[i] = word_of(l, n->args[0], index, i, guard);
  key[2] = u32_op(l, NXK_xor, u32_op(l, NXK_xor, key[0], key[1]), nxw_const(l, NX_U32, 0x1BD11BDA));
  for (int i = 0; i < 2; i++)
    x[i] = u32_op(l, NXK_add, word_of(l, n->args[1], index, i, guard), key[i]);
  for (uint32_t group = 0; group < 5; group++) {
    for (int r = 0; r < 4; r++) {
      x[0] = u32_op(l, NXK_add, x[0], x[1]);
      x[1] = u32_op(l, NXK_xor, rotate_left(l, x[1], rotation[group & 1][r]), x[0]);
    }
    x[0] = u32_op(l, NXK_add, x[0], key[(group + 1) % 3]);
    x[1] = u32_op(l, NXK_add, x[1], key[(group + 2) % 3]);
    x[1] = u32_op(l, NXK_add, x[1], nxw_const(l, NX_U32, group + 1));
  }
  uint32_t first = nxw_scalar(l, NXK_eq, NX_BOOL, nxw_affine_value(l, &index[n->rank - 1]),
                              nxw_const_i64(l, 0), NXW_NONE);
  return bitcast_expr(l, nxw_scalar(l, NXK_select, NX_U32, first, x[0], x[1]), n->dtype);
}

/* ---- views and everything */

/* Position in the operand's storage of a view's element. */
static bool through_view(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                         uint32_t guard, nxw_affine *at) {
  nxw_affine index[NXG_MAX_RANK];
  int64_t canonical[NXG_MAX_RANK];
  nxg_contiguous_strides(n->rank, n->shape, canonical);
  bool contiguous = true;
  for (int32_t i = 0; i < n->rank; i++)
    contiguous = contiguous && (n->shape[i] == 1 || n->attrs[1 + i] == canonical[i]);
  if (contiguous) {
    *at = *position;
    at->constant += n->attrs[0];
    return true;
  }
  if (!nxw_unravel(l, position, n->rank, n->shape, guard, index)) return false;
  nxw_ravel(l, n->rank, index, n->attrs + 1, n->attrs[0], at);
  return !l->failed;
}

static bool computed_here(const nxw_lower *l, uint32_t node) {
  for (uint32_t i = 0; i < l->part->n_roots; i++)
    if (l->part->roots[i].node == node) return true;
  return l->clusters->group_of[node] == UINT32_MAX;
}

static uint32_t compute(nxw_lower *l, uint32_t node, const nxw_affine *position, uint32_t guard) {
  const nxg_node *n = node_of(l, node);
  nxw_affine at;
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF: return leaf_value(l, node, position, guard);
    case NXG_KIND_VIEW:
      return through_view(l, n, position, guard, &at) ? nxw_node_value(l, n->args[0], &at, guard)
                                                      : NXW_NONE;
    case NXG_KIND_MAP: return map_value(l, n, position, guard);
    case NXG_KIND_FOLD: return fold_value(l, n, position, guard);
    default: break;
  }
  switch (n->op) {
    case NXG_pad: return pad_value(l, n, position, guard);
    case NXG_cat: return cat_value(l, n, position, guard);
    case NXG_copy: return nxw_node_value(l, n->args[0], position, guard);
    case NXG_threefry: return threefry_value(l, n, position, guard);
    case NXG_matmul: return matmul_value(l, n, position, guard);
    default:
      nxi_fail(l->d, NX_INTERNAL, nxg_ops[n->op].name, "node %u cannot be computed inside a kernel",
               node);
      l->failed = true;
      return NXW_NONE;
  }
}

/* Values already found are kept in a list a node: a node is asked for at few positions. */
uint32_t nxw_node_value(nxw_lower *l, uint32_t node, const nxw_affine *position, uint32_t guard) {
  if (l->failed || l->split) return NXW_NONE;
  if (!computed_here(l, node))
    return nxw_load(l, node_of(l, node)->dtype, nxw_buffer(l, node, NXK_IN), position, guard);
  for (uint32_t i = l->memo_heads[node]; i != NXW_NONE; i = l->memo[i].next)
    if (l->memo[i].guard == guard && nxw_affine_equal(l, l->memo[i].position, position))
      return l->memo[i].value;
  uint32_t value = compute(l, node, position, guard);
  if (value == NXW_NONE || l->failed || l->split) return NXW_NONE;
  nxw_memo entry = {node, guard, value, l->memo_heads[node],
                    nxw_affine_keep(l, position)};
  if (entry.position == NULL || !nxi_grow(&l->memo, &l->cap_memo, l->n_memo + 1, sizeof *l->memo) ||
      !nxi_grow(&l->memo_nodes, &l->cap_memo_nodes, l->n_memo_nodes + 1, sizeof *l->memo_nodes)) {
    l->failed = true;
    return NXW_NONE;
  }
  if (l->memo_heads[node] == NXW_NONE) l->memo_nodes[l->n_memo_nodes++] = node;
  l->memo[l->n_memo] = entry;
  l->memo_heads[node] = l->n_memo++;
  return value;
}
