/* SPDX-License-Identifier: ISC */
/* From graph nodes to expressions: the value of a node at a position of its linear storage.
 * Views become positions, pad and cat become predicates, and small floats are widened for
 * arithmetic and rounded after each operation.
 *
 * A value needs the values of its operands first. The values in progress are frames on an
 * explicit stack, so that the thread's stack does not grow with the size of a kernel. */
#include "lower.h"

#include <string.h>

/* A value that is being lowered. The function of its node runs in steps: a step ends by asking for
 * another value, and the next step runs when that value is available. */
typedef struct nxw_frame {
  uint32_t node, guard;
  const nxw_affine *position;
  uint32_t step;  /* how many values have been obtained */
  uint32_t got;   /* the last one */
  uint32_t value; /* the result, once it is known */
  bool asks;      /* another value is needed; else `value` is the result */
  uint32_t ask_node, ask_guard;
  const nxw_affine *ask_position;
  uint32_t kept[4];  /* what later steps need: expressions or a number */
  nxw_affine *index; /* indices of the node's axes, in the arena */
  int64_t end;
} nxw_frame;

typedef struct nxw_memo {
  uint32_t node, guard, value, next; /* next: the next memo of the same node */
  const nxw_affine *position;
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
  if (to == NX_BOOL) { /* compared as a byte: -0 as float bits would not be 0 */
    a = bitcast_expr(l, a, NX_U8);
    return nxw_scalar(l, NXK_ne, NX_BOOL, a, nxw_const(l, NX_U8, 0), NXW_NONE);
  }
  return nxw_scalar(l, NXK_bitcast, to, a, NXW_NONE, NXW_NONE);
}

static void ask(nxw_lower *l, nxw_frame *f, uint32_t node, const nxw_affine *at, uint32_t guard) {
  f->asks = true;
  f->ask_node = node;
  f->ask_guard = guard;
  f->ask_position = nxw_affine_keep(l, at);
  if (f->ask_position == NULL) l->failed = true;
}

/* The indices of the axes of f's node, allocated for the life of the region. NULL: a dimension was
 * split, or memory is exhausted. */
static nxw_affine *unravel(nxw_lower *l, const nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  if (!nxw_unravel(l, f->position, n->rank, n->shape, f->guard, l->axes)) return NULL;
  nxw_affine *index = nxi_arena_copy(&l->arena, l->axes, (size_t)n->rank * sizeof *index);
  if (index == NULL) l->failed = true;
  return index;
}

static uint32_t map_value(nxw_lower *l, const nxg_node *n, const uint32_t *operands) {
  uint32_t args[4] = {NXW_NONE, NXW_NONE, NXW_NONE, NXW_NONE};
  memcpy(args, operands, n->n_args * sizeof *args);
  if (n->op == NXG_cast) return cast_expr(l, args[0], n->dtype);
  if (n->op == NXG_bitcast) return bitcast_expr(l, args[0], n->dtype);
  if (nxi_is_integer(n->dtype) &&
      (n->op == NXG_trunc || n->op == NXG_ceil || n->op == NXG_floor || n->op == NXG_round))
    return args[0];
  if (n->op == NXG_where) return nxw_scalar(l, NXK_select, n->dtype, args[0], args[1], args[2]);
  for (uint32_t i = 0; i < n->n_args; i++) args[i] = widen(l, args[i]);
  uint32_t value = nxw_scalar_of(l, (nxk_op)nxg_ops[n->op].scalar, n->dtype, args);
  return cast_expr(l, value, n->dtype);
}

static void map_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  if (f->step > 0) f->kept[f->step - 1] = f->got;
  if (f->step < n->n_args) ask(l, f, n->args[f->step], f->position, f->guard);
  else f->value = map_value(l, n, f->kept);
}

/* ---- leaves */

static uint32_t arange_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position) {
  nx_dtype t = n->dtype == NX_BOOL ? NX_I64 : nxi_compute_dtype(n->dtype);
  uint32_t i = cast_expr(l, nxw_affine_value(l, position), t);
  uint32_t start = cast_expr(l, nxw_const(l, n->dtype, (uint64_t)n->attrs[0]), t);
  uint32_t step = cast_expr(l, nxw_const(l, n->dtype, (uint64_t)n->attrs[1]), t);
  uint32_t scaled = nxw_scalar(l, NXK_mul, t, i, step, NXW_NONE);
  return cast_expr(l, nxw_scalar(l, NXK_add, t, start, scaled, NXW_NONE), n->dtype);
}

static uint32_t eye_value(nxw_lower *l, const nxg_node *n, const nxw_affine *position,
                          uint32_t guard) {
  nxw_affine index[2];
  if (!nxw_unravel(l, position, 2, n->shape, guard, index)) return NXW_NONE;
  nxw_affine_add_scaled(l, &index[1], &index[0], -1);
  uint32_t distance = nxw_affine_value(l, &index[1]), k = nxw_const_i64(l, n->attrs[0]);
  return cast_expr(l, nxw_scalar(l, NXK_eq, NX_BOOL, distance, k, NXW_NONE), n->dtype);
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

/* Asks for the element of `node` with these indices, under the guard that they are inside its
 * shape. */
static void ask_inside(nxw_lower *l, nxw_frame *f, uint32_t node, const nxw_affine *index,
                       uint32_t inside_it) {
  const nxg_node *x = node_of(l, node);
  int64_t strides[NXG_MAX_RANK];
  nxw_affine at;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank, index, strides, 0, &at);
  uint32_t holds = both(l, f->guard, inside_it);
  nxw_remember(l, &at, x->rank, x->shape, holds, index);
  ask(l, f, node, &at, holds);
}

static void pad_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node), *x = node_of(l, n->args[0]);
  if (f->step > 0) {
    uint32_t fill = f->kept[0], in = f->kept[1];
    f->value = in == NXW_NONE ? f->got : nxw_scalar(l, NXK_select, n->dtype, in, f->got, fill);
    return;
  }
  uint32_t fill = nxw_const(l, n->dtype, (uint64_t)n->attrs[0]), in = NXW_NONE;
  if (nxg_node_elements(x) == 0) {
    f->value = fill;
    return;
  }
  nxw_affine *index = l->axes;
  if (!nxw_unravel(l, f->position, n->rank, n->shape, f->guard, index)) return;
  for (int32_t i = 0; i < n->rank; i++) {
    index[i].constant -= n->attrs[1 + i];
    in = both(l, in, inside(l, &index[i], x->shape[i]));
  }
  f->kept[0] = fill;
  f->kept[1] = in;
  ask_inside(l, f, n->args[0], index, in);
}

/* Asks for the piece of a cat that is operand i, under the guard that the position is in it. */
static void ask_piece(nxw_lower *l, nxw_frame *f, const nxg_node *n, uint32_t i) {
  const nxg_node *x = node_of(l, n->args[i]);
  int32_t axis = (int32_t)n->attrs[0];
  nxw_affine *shifted = l->axes;
  memcpy(shifted, f->index, (size_t)n->rank * sizeof *shifted);
  shifted[axis].constant -= f->end;
  uint32_t in = inside(l, &shifted[axis], x->shape[axis]);
  f->kept[1] = in;
  ask_inside(l, f, n->args[i], shifted, in);
}

static void cat_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  uint32_t *value = &f->kept[0], in = f->kept[1], *left = &f->kept[2];
  int32_t axis = (int32_t)n->attrs[0];
  if (f->step == 0) {
    *value = NXW_NONE;
    *left = n->n_args;
    f->end = n->shape[axis];
    if ((f->index = unravel(l, f)) == NULL) return;
  } else {
    *value = *value == NXW_NONE || in == NXW_NONE
                 ? f->got
                 : nxw_scalar(l, NXK_select, n->dtype, in, f->got, *value);
  }
  while (*left > 0) {
    uint32_t i = --*left;
    int64_t extent = node_of(l, n->args[i])->shape[axis];
    f->end -= extent;
    if (extent == 0) continue;
    ask_piece(l, f, n, i);
    return;
  }
  f->value = *value;
}

/* ---- reductions */

/* The dtype in which a reduction is computed. */
static nx_dtype reduce_dtype(nx_dtype t) { return t == NX_BOOL ? NX_U8 : nxi_compute_dtype(t); }

/* The result of a reduction over no elements. */
static uint32_t reduce_identity(nxw_lower *l, const nxg_node *n) {
  nx_dtype t = nxi_compute_dtype(n->dtype);
  uint64_t bits = nxk_reduce_empty(nxg_reduce_kind(n->op), t);
  return cast_expr(l, nxw_const(l, t, bits), n->dtype);
}

/* Indices of the operand: kept axes from the result's position, reduced ones from the region's
 * inner dimensions. */
static bool reduce_operand_position(nxw_lower *l, const nxg_node *n, const nxw_frame *f,
                                    nxw_affine *at) {
  const nxg_node *x = node_of(l, n->args[0]);
  nxw_affine index;
  int64_t strides[NXG_MAX_RANK];
  uint32_t mask = nxg_reduce_mask(n);
  if (!nxw_unravel(l, f->position, n->rank, n->shape, f->guard, l->axes)) return false;
  bool keepdims = n->rank == x->rank;
  int32_t from = 0;
  uint32_t axis = 0; /* axis of the region, which has no axes of extent 1 */
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_affine_zero(at);
  for (int32_t i = 0; i < x->rank; i++) {
    bool reduced = mask >> i & 1;
    if (reduced && x->shape[i] != 1) nxw_axis_index(l, axis, &index);
    if (!reduced || x->shape[i] != 1)
      nxw_affine_add_scaled(l, at, reduced ? &index : &l->axes[keepdims ? i : from], strides[i]);
    from += keepdims || !reduced;
    axis += x->shape[i] != 1;
  }
  return !l->failed;
}

static uint32_t reduced_value(nxw_lower *l, const nxg_node *n, uint32_t value) {
  const nxg_node *x = node_of(l, n->args[0]);
  nxk_reduce_kind kind = nxg_reduce_kind(n->op);
  nx_dtype t = reduce_dtype(x->dtype), result = nxk_finds_index(kind) ? NX_I64 : t;
  nxg_run runs[NXG_MAX_RANK];
  int32_t n_runs = nxg_reduce_runs(x->rank, x->shape, nxg_reduce_mask(n), runs);
  nxk_order order = runs[n_runs - 1].order; /* the reduction has a single run */
  uint32_t reduced = nxw_reduce(l, kind, order, cast_expr(l, value, t), NXW_NONE, result);
  return cast_expr(l, reduced, n->dtype);
}

static void reduce_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node), *x = node_of(l, n->args[0]);
  uint32_t mask = nxg_reduce_mask(n);
  bool any = false, nothing = false;
  for (int32_t i = 0; i < x->rank; i++) {
    nothing = nothing || ((mask >> i & 1) && x->shape[i] == 0);
    any = any || ((mask >> i & 1) && x->shape[i] != 1);
  }
  nxw_affine at;
  if (f->step > 0) f->value = any ? reduced_value(l, n, f->got) : f->got;
  else if (nothing) f->value = reduce_identity(l, n);
  else if (!reduce_operand_position(l, n, f, &at)) return;
  else if (!any && nxg_finds_index(n->op)) f->value = nxw_const(l, NX_I32, 0);
  else ask(l, f, n->args[0], &at, f->guard);
}

/* ---- scans, at the points of the region: its inner dimension is the axis */

static void scan_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  nx_dtype t = nxi_compute_dtype(n->dtype);
  nxk_order order = n->attrs[1] ? NXK_ORDER_SEQUENTIAL : NXK_ORDER_PLAIN;
  nxk_reduce_kind kind = nxg_reduce_kind(n->op);
  bool alone = n->shape[n->attrs[0]] == 1, imag = kind == NXK_PROD_IMAG;
  if (f->step > 0) f->kept[f->step - 1] = f->got;
  if (f->step == 0 && alone) {
    ask(l, f, n->args[imag], f->position, f->guard);
  } else if (f->step < n->n_args && !alone) {
    ask(l, f, n->args[f->step], f->position, f->guard);
  } else if (alone) {
    f->value = f->got;
  } else {
    uint32_t x = cast_expr(l, f->kept[0], t), y = n->n_args == 2 ? f->kept[1] : NXW_NONE;
    f->value = cast_expr(l, nxw_scan(l, kind, order, x, y), n->dtype);
  }
}

/* ---- matmul in generated code: an inner dimension k, in order */

static void ask_matrix(nxw_lower *l, nxw_frame *f, uint32_t node, const nxw_affine *row,
                       const nxw_affine *column) {
  const nxg_node *n = node_of(l, f->node), *x = node_of(l, node);
  nxw_affine at;
  int64_t strides[NXG_MAX_RANK];
  int32_t own = x->rank - 2, more = n->rank - x->rank;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_affine_zero(&at);
  for (int32_t i = 0; i < own; i++)
    if (x->shape[i] != 1) nxw_affine_add_scaled(l, &at, &f->index[more + i], strides[i]);
  nxw_affine_add_scaled(l, &at, row, strides[own]);
  nxw_affine_add_scaled(l, &at, column, strides[own + 1]);
  ask(l, f, node, &at, f->guard);
}

static void matmul_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node), *a = node_of(l, n->args[0]);
  int64_t inner = a->shape[a->rank - 1];
  nx_dtype t = nxi_compute_dtype(n->dtype);
  nxw_affine k;
  nxw_affine_zero(&k);
  if (inner == 0) {
    f->value = nxw_const(l, n->dtype, 0);
    return;
  }
  if (f->step == 0 && (f->index = unravel(l, f)) == NULL) return;
  if (inner != 1) nxw_axis_index(l, (uint32_t)l->region->rank - 1, &k);
  if (f->step == 0) {
    ask_matrix(l, f, n->args[0], &f->index[n->rank - 2], &k);
  } else if (f->step == 1) {
    f->kept[0] = widen(l, f->got);
    ask_matrix(l, f, n->args[1], &k, &f->index[n->rank - 1]);
  } else {
    uint32_t left = f->kept[0], right = widen(l, f->got), value;
    if (inner != 1) value = nxw_reduce(l, NXK_DOT, NXK_ORDER_SEQUENTIAL, left, right, t);
    else if (nxi_is_float(t)) value = nxw_scalar(l, NXK_fma, t, left, right, nxw_const(l, t, 0));
    else value = nxw_scalar(l, NXK_mul, t, left, right, NXW_NONE);
    f->value = cast_expr(l, value, n->dtype);
  }
}

/* ---- gather: the element whose index along one axis is a value */

static void ask_element(nxw_lower *l, nxw_frame *f, uint32_t number) {
  const nxg_node *n = node_of(l, f->node), *x = node_of(l, n->args[0]);
  nxw_affine at;
  int64_t strides[NXG_MAX_RANK];
  nxw_affine *axis = &f->index[n->attrs[0]];
  nxw_affine_zero(axis);
  axis->extra = number;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank, f->index, strides, 0, &at);
  nxw_remember(l, &at, x->rank, x->shape, f->guard, f->index);
  ask(l, f, n->args[0], &at, f->guard);
}

static void gather_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node), *x = node_of(l, n->args[0]);
  int64_t extent = x->shape[n->attrs[0]];
  if (extent == 0) { /* all indices are bad, so the kernel never runs */
    f->value = nxw_const(l, n->dtype, 0);
  } else if (f->step == 0) {
    if ((f->index = unravel(l, f)) != NULL) ask(l, f, n->args[1], f->position, f->guard);
  } else if (f->step == 1) {
    uint32_t number = nxw_element_number(l, f->got, extent);
    if (number != NXW_NONE) ask_element(l, f, number);
  } else {
    f->value = f->got;
  }
}

/* ---- threefry: Threefry-2x32, 20 rounds (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers, SC
 * 2011) */

static uint32_t u32_op(nxw_lower *l, nxk_op op, uint32_t a, uint32_t b) {
  return nxw_scalar(l, op, NX_U32, a, b, NXW_NONE);
}

static uint32_t rotate_left(nxw_lower *l, uint32_t x, int32_t by) {
  uint32_t high = u32_op(l, NXK_shl, x, nxw_const(l, NX_U32, (uint64_t)by)),
           low = u32_op(l, NXK_shr, x, nxw_const(l, NX_U32, (uint64_t)(32 - by)));
  return u32_op(l, NXK_or, high, low);
}

static void ask_word(nxw_lower *l, nxw_frame *f, uint32_t node, int64_t word) {
  const nxg_node *x = node_of(l, node);
  nxw_affine at;
  int64_t strides[NXG_MAX_RANK];
  nxg_contiguous_strides(x->rank, x->shape, strides);
  nxw_ravel(l, x->rank - 1, f->index, strides, word, &at);
  ask(l, f, node, &at, f->guard);
}

/* The word of the result that belongs to the position of f, computed from the words of the key and
 * of the counter. */
static uint32_t threefry_word(nxw_lower *l, const nxg_node *n, const nxw_frame *f,
                              const uint32_t *k, const uint32_t *counter) {
  static const int32_t rotation[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t x[2] = {counter[0], counter[1]}, key[3] = {k[0], k[1], 0};
  key[2] = u32_op(l, NXK_xor, key[0], key[1]);
  key[2] = u32_op(l, NXK_xor, key[2], nxw_const(l, NX_U32, 0x1BD11BDA));
  for (int i = 0; i < 2; i++) x[i] = u32_op(l, NXK_add, x[i], key[i]);
  for (uint32_t group = 0; group < 5; group++) {
    for (int r = 0; r < 4; r++) {
      x[0] = u32_op(l, NXK_add, x[0], x[1]);
      x[1] = u32_op(l, NXK_xor, rotate_left(l, x[1], rotation[group & 1][r]), x[0]);
    }
    x[0] = u32_op(l, NXK_add, x[0], key[(group + 1) % 3]);
    x[1] = u32_op(l, NXK_add, x[1], key[(group + 2) % 3]);
    x[1] = u32_op(l, NXK_add, x[1], nxw_const(l, NX_U32, group + 1));
  }
  uint32_t word = nxw_affine_value(l, &f->index[n->rank - 1]), zero = nxw_const_i64(l, 0);
  uint32_t first = nxw_scalar(l, NXK_eq, NX_BOOL, word, zero, NXW_NONE);
  return bitcast_expr(l, nxw_scalar(l, NXK_select, NX_U32, first, x[0], x[1]), n->dtype);
}

static void threefry_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  if (f->step == 0 && (f->index = unravel(l, f)) == NULL) return;
  if (f->step > 0) f->kept[f->step - 1] = bitcast_expr(l, f->got, NX_U32);
  if (f->step < 4) ask_word(l, f, n->args[f->step / 2], f->step % 2);
  else f->value = threefry_word(l, n, f, f->kept, f->kept + 2);
}

/* ---- views, and the loop over frames */

/* The position in the operand's storage of an element of a view. */
static bool through_view(nxw_lower *l, const nxg_node *n, const nxw_frame *f, nxw_affine *at) {
  int64_t canonical[NXG_MAX_RANK];
  nxg_contiguous_strides(n->rank, n->shape, canonical);
  bool contiguous = true;
  for (int32_t i = 0; i < n->rank; i++)
    contiguous = contiguous && (n->shape[i] == 1 || n->attrs[1 + i] == canonical[i]);
  if (contiguous) {
    *at = *f->position;
    at->constant += n->attrs[0];
    return true;
  }
  if (!nxw_unravel(l, f->position, n->rank, n->shape, f->guard, l->axes)) return false;
  nxw_ravel(l, n->rank, l->axes, n->attrs + 1, n->attrs[0], at);
  nxw_remember_through(l, n, f->guard, l->axes, at);
  return !l->failed;
}

/* A view or a copy has the value of its only operand, at the position that follows from the view or
 * at the same position. */
static void view_step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  nxw_affine at;
  if (f->step > 0) f->value = f->got;
  else if (n->op == NXG_copy) ask(l, f, n->args[0], f->position, f->guard);
  else if (through_view(l, n, f, &at)) ask(l, f, n->args[0], &at, f->guard);
}

static bool computed_here(const nxw_lower *l, uint32_t node) {
  for (uint32_t i = 0; i < l->region->n_roots; i++)
    if (l->region->roots[i].node == node) return true;
  return l->clusters->group_of[node] == UINT32_MAX;
}

static void step(nxw_lower *l, nxw_frame *f) {
  const nxg_node *n = node_of(l, f->node);
  f->asks = false;
  f->value = NXW_NONE;
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF: f->value = leaf_value(l, f->node, f->position, f->guard); return;
    case NXG_KIND_VIEW: view_step(l, f); return;
    case NXG_KIND_MAP: map_step(l, f); return;
    case NXG_KIND_REDUCE: reduce_step(l, f); return;
    default: break;
  }
  if (nxg_is_scan(n->op)) {
    scan_step(l, f);
    return;
  }
  switch (n->op) {
    case NXG_pad: pad_step(l, f); return;
    case NXG_cat: cat_step(l, f); return;
    case NXG_copy: view_step(l, f); return;
    case NXG_gather: gather_step(l, f); return;
    case NXG_threefry: threefry_step(l, f); return;
    case NXG_matmul: matmul_step(l, f); return;
    default:
      nxi_fail(l->d, NX_INTERNAL, nxg_ops[n->op].name, "node %u cannot be computed inside a kernel",
               f->node);
      l->failed = true;
  }
}

/* ---- memos: the values of a node that were lowered before, in a list for each node; a node is
 * read at few positions */

static bool find(nxw_lower *l, uint32_t node, const nxw_affine *position, uint32_t guard,
                 uint32_t *value) {
  if (!computed_here(l, node)) {
    uint32_t buffer = nxw_buffer(l, node, NXK_IN);
    *value = nxw_load(l, node_of(l, node)->dtype, buffer, position, guard);
    return true;
  }
  for (uint32_t i = l->memo_heads[node]; i != NXW_NONE; i = l->memo[i].next) {
    if (l->memo[i].guard != guard || !nxw_affine_equal(l, l->memo[i].position, position)) continue;
    *value = l->memo[i].value;
    return true;
  }
  return false;
}

static void remember(nxw_lower *l, const nxw_frame *f) {
  nxw_memo entry = {f->node, f->guard, f->value, l->memo_heads[f->node], f->position};
  if (!nxi_grow(&l->memo, &l->cap_memo, l->n_memo + 1, sizeof *l->memo) ||
      !nxi_grow(&l->memo_nodes, &l->cap_memo_nodes, l->n_memo_nodes + 1, sizeof *l->memo_nodes)) {
    l->failed = true;
    return;
  }
  if (l->memo_heads[f->node] == NXW_NONE) l->memo_nodes[l->n_memo_nodes++] = f->node;
  l->memo[l->n_memo] = entry;
  l->memo_heads[f->node] = l->n_memo++;
}

static void begin(nxw_lower *l, uint32_t node, const nxw_affine *position, uint32_t guard) {
  if (!nxi_grow(&l->frames, &l->cap_frames, l->n_frames + 1, sizeof *l->frames)) {
    l->failed = true;
    return;
  }
  l->frames[l->n_frames++] = (nxw_frame){.node = node, .guard = guard, .position = position};
}

uint32_t nxw_node_value(nxw_lower *l, uint32_t node, const nxw_affine *position, uint32_t guard) {
  uint32_t value = NXW_NONE;
  if (l->failed || l->split) return NXW_NONE;
  if (find(l, node, position, guard, &value)) return value;
  const nxw_affine *kept = nxw_affine_keep(l, position);
  l->failed = kept == NULL;
  l->n_frames = 0;
  begin(l, node, kept, guard);
  while (l->n_frames > 0) {
    nxw_frame *f = &l->frames[l->n_frames - 1];
    if (!l->failed) step(l, f);
    if (l->failed || l->split || (!f->asks && f->value == NXW_NONE)) return NXW_NONE;
    if (f->asks && !find(l, f->ask_node, f->ask_position, f->ask_guard, &value)) {
      begin(l, f->ask_node, f->ask_position, f->ask_guard);
      continue;
    }
    if (!f->asks) {
      value = f->value;
      remember(l, f);
      if (--l->n_frames == 0) break;
      f--;
    }
    if (value == NXW_NONE) return NXW_NONE;
    f->got = value;
    f->step++;
  }
  return l->failed ? NXW_NONE : value;
}
