/* SPDX-License-Identifier: ISC */
/* i4 and u4 become i8 and u8. A tensor's memory holds two elements in a byte. An input becomes an
 * array of bytes that ordinary operations unpack, and an output is packed by such operations;
 * between them each element has a byte, where i4 is sign-extended. Results that may not fit in four
 * bits are wrapped after each operation. An update rewrites all bytes from the lowest to the
 * highest that its view touches, and preserves the half bytes that are not in the view. Keeps:
 * bits. */
#include <string.h>

#include "passes.h"

#define NONE UINT32_MAX

typedef struct unpacking {
  const nxg_graph *from;
  nxg_graph *to;
  uint32_t at;       /* the old node that is being rewritten */
  uint32_t *value;   /* old node -> elements, one in a byte; NONE: not made yet */
  uint32_t *bytes;   /* old node -> elements as in memory; NONE: not made yet */
  uint32_t *half[2]; /* old node -> elements whose last index is even, odd; NONE: not made yet */
  /* old node -> whether it is elementwise work that is packed, computed separately for the lower
   * and upper halves of bytes; 2: also computed as a whole */
  uint8_t *halved;
  uint32_t *args;
} unpacking;

/* ---- short names for building */

static uint32_t add(unpacking *u, nxg_op op, uint32_t n_args, const uint32_t *args,
                    const int64_t *attrs, uint32_t n_attrs, nx_dtype dtype, int32_t rank,
                    const int64_t *shape) {
  if (u->to->failed) return NONE;
  uint32_t node = nxg_add(u->to, op, n_args, args, attrs, n_attrs, dtype, rank, shape);
  const nxg_node *old = &u->from->nodes[u->at];
  if (node == NONE) return node;
  if ((old->tag || old->tag_text) && !nxg_set_tag(u->to, node, old->tag, old->tag_text))
    u->to->failed = true;
  return node;
}

static nxg_node node_of(const unpacking *u, uint32_t node) {
  static const nxg_node nothing = {0};
  return u->to->failed || node == NONE ? nothing : u->to->nodes[node];
}

static uint32_t constant(unpacking *u, nx_dtype t, int64_t bits, int32_t rank,
                         const int64_t *shape) {
  int64_t attrs[2] = {bits, -1};
  return add(u, NXG_full, 0, NULL, attrs, 2, t, rank, shape);
}

static uint32_t binary(unpacking *u, nxg_op op, uint32_t a, uint32_t b) {
  nxg_node n = node_of(u, a);
  uint32_t args[2] = {a, b};
  return add(u, op, 2, args, NULL, 0, n.dtype, n.rank, n.shape);
}

/* An operation on a and a constant. */
static uint32_t with(unpacking *u, nxg_op op, uint32_t a, int64_t number) {
  nxg_node n = node_of(u, a);
  return binary(u, op, a, constant(u, n.dtype, number, n.rank, n.shape));
}

static uint32_t cast(unpacking *u, nx_dtype t, uint32_t a) {
  nxg_node n = node_of(u, a);
  return n.dtype == t ? a : add(u, NXG_cast, 1, &a, NULL, 0, t, n.rank, n.shape);
}

static uint32_t view(unpacking *u, uint32_t a, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  return add(u, NXG_view, 1, &a, attrs, 1 + (uint32_t)v->rank, node_of(u, a).dtype, v->rank,
             v->shape);
}

/* The first elements of a, in C order, as that shape. */
static uint32_t shaped(unpacking *u, uint32_t a, int32_t rank, const int64_t *shape) {
  nxg_node n = node_of(u, a);
  nxg_view v;
  if (nxg_same_shape(n.rank, n.shape, rank, shape)) return a;
  nxg_view_contiguous(&v, rank, shape);
  return view(u, a, &v);
}

/* n elements of a in C order, as a row. */
static uint32_t line(unpacking *u, uint32_t a, int64_t first, int64_t n, int64_t step) {
  nxg_view v = {.rank = 1, .offset = first, .shape = {n}, .strides = {step}};
  return view(u, a, &v);
}

static uint32_t padded(unpacking *u, uint32_t a, int64_t before, int64_t after) {
  nxg_node n = node_of(u, a);
  int64_t attrs[3] = {0, before, after}, total = before + after + nxg_node_elements(&n);
  a = shaped(u, a, 1, (int64_t[]){total - before - after});
  return before + after ? add(u, NXG_pad, 1, &a, attrs, 3, n.dtype, 1, &total) : a;
}

/* ---- four bits in eight */

static nx_dtype wide(nx_dtype t) { return t == NX_I4 ? NX_I8 : t == NX_U4 ? NX_U8 : t; }

static int64_t wide_bits(nx_dtype t, int64_t bits) {
  return nxi_is_nibble(t) ? (int64_t)nxi_cast_bits((uint64_t)bits, t, wide(t)) : bits;
}

static uint32_t wrapped(unpacking *u, nx_dtype t, uint32_t a) {
  if (t == NX_U4) return with(u, NXG_and, a, 15);
  return with(u, NXG_shr, with(u, NXG_shl, a, 4), 4);
}

/* Selects a where `turn` is not 0, and b elsewhere. */
static uint32_t either(unpacking *u, uint32_t turn, uint32_t a, uint32_t b) {
  nxg_node n = node_of(u, a);
  uint32_t args[3] = {turn, constant(u, NX_U8, 0, n.rank, n.shape), b};
  args[0] = add(u, NXG_cmpne, 2, args, NULL, 0, NX_BOOL, n.rank, n.shape);
  args[1] = a;
  return add(u, NXG_where, 3, args, NULL, 0, n.dtype, n.rank, n.shape);
}

/* Unpacks the elements in m bytes, in that shape. For i4 a select chooses between the shifted and
 * the unshifted byte, because vectors of bytes cannot be shifted by a different amount in each
 * lane. For u4 that would take two operations more, too many for work that each of several readers
 * may repeat. */
static uint32_t unpacked(unpacking *u, nx_dtype t, uint32_t bytes, int64_t m, int32_t rank,
                         const int64_t *shape) {
  nxg_view twice = {.rank = 2, .shape = {m, 2}, .strides = {1, 0}}, in_turn = twice;
  int64_t two = 2, counts[2] = {0, 4};
  if (nxg_elements(rank, shape) == 0) return constant(u, wide(t), 0, rank, shape);
  in_turn.strides[0] = 0;
  in_turn.strides[1] = 1;
  uint32_t turn = add(u, NXG_arange, 0, NULL, counts, 2, NX_U8, 1, &two);
  turn = view(u, turn, &in_turn);
  uint32_t both = cast(u, wide(t), view(u, bytes, &twice));
  if (t == NX_U4) both = with(u, NXG_and, binary(u, NXG_shr, both, turn), 15);
  else both = with(u, NXG_shr, either(u, turn, both, with(u, NXG_shl, both, 4)), 4);
  return shaped(u, both, rank, shape);
}

static uint32_t joined(unpacking *u, nx_dtype t, uint32_t low, uint32_t high) {
  if (t == NX_I4) low = with(u, NXG_and, low, 15);
  high = with(u, NXG_shl, high, 4);
  return binary(u, NXG_or, low, high);
}

/* Packs all elements of a into bytes. If their number is odd, the upper half of the last byte is
 * 0. */
static uint32_t packed(unpacking *u, nx_dtype t, uint32_t a) {
  nxg_node n = node_of(u, a);
  int64_t elements = nxg_node_elements(&n), m = nxi_dtype_bytes(t, elements);
  if (elements == 0) return constant(u, NX_U8, 0, 1, &m);
  uint32_t all = padded(u, cast(u, NX_U8, a), 0, elements % 2);
  uint32_t low = line(u, all, 0, m, 2), high = line(u, all, 1, m, 2);
  return joined(u, t, low, high);
}

/* ---- old nodes in either form */

static uint32_t value_of(unpacking *u, uint32_t old) {
  const nxg_node *n = &u->from->nodes[old];
  if (u->value[old] == NONE)
    u->value[old] = unpacked(u, n->dtype, u->bytes[old],
                             nxi_dtype_bytes(n->dtype, nxg_node_elements(n)), n->rank, n->shape);
  return u->value[old];
}

static uint32_t bytes_of(unpacking *u, uint32_t old) {
  const nxg_node *n = &u->from->nodes[old];
  if (u->bytes[old] != NONE) return u->bytes[old];
  if (!u->halved[old]) return u->bytes[old] = packed(u, n->dtype, u->value[old]);
  int64_t elements = nxg_node_elements(n), m = nxi_dtype_bytes(n->dtype, elements);
  if (elements == 0) return u->bytes[old] = constant(u, NX_U8, 0, 1, &m);
  uint32_t low = shaped(u, cast(u, NX_U8, u->half[0][old]), 1, &m);
  uint32_t high = padded(u, cast(u, NX_U8, u->half[1][old]), 0, elements % 2);
  return u->bytes[old] = joined(u, n->dtype, low, high);
}

/* ---- elementwise work whose result is packed. It is done separately for the elements in lower
 * halves of bytes and for those in upper halves, so that neither needs the elements interleaved. */

/* The shape of the elements of a node whose last index is p, p + 2, ... */
static void half_shape(const nxg_node *n, int p, int64_t *shape) {
  memcpy(shape, n->shape, (size_t)n->rank * sizeof *shape);
  shape[n->rank - 1] = (shape[n->rank - 1] + 1 - p) / 2;
}

static bool can_be_halved(const nxg_node *n) {
  return n->rank == 1 || (n->rank > 1 && n->shape[n->rank - 1] % 2 == 0);
}

/* Whether all elements of the view are in the same half of their bytes. */
static bool in_one_half(const nxg_view *v) {
  for (int32_t i = 0; i < v->rank; i++)
    if (v->shape[i] > 1 && v->strides[i] % 2) return false;
  return true;
}

static uint32_t half_of_bytes(unpacking *u, nx_dtype t, uint32_t bytes, nxg_view *v) {
  bool upper = v->offset % 2;
  v->offset /= 2;
  for (int32_t i = 0; i < v->rank; i++) v->strides[i] /= 2;
  uint32_t a = view(u, bytes, v);
  if (t == NX_U4) return upper ? with(u, NXG_shr, a, 4) : with(u, NXG_and, a, 15);
  a = cast(u, NX_I8, a);
  return with(u, NXG_shr, upper ? a : with(u, NXG_shl, a, 4), 4);
}

/* The even (p = 0) or odd elements of a value that is not elementwise work. */
static uint32_t half_of_leaf(unpacking *u, uint32_t old, int p) {
  const nxg_node *n = &u->from->nodes[old];
  uint32_t base = n->op == NXG_view ? n->args[0] : old;
  nx_dtype t = n->dtype;
  nxg_view v;
  nxg_node_view(u->from, old, &v);
  if (n->op == NXG_full && n->attrs[1] < 0) {
    int64_t bits = wide_bits(t, n->attrs[0]);
    half_shape(n, p, v.shape);
    return constant(u, wide(t), bits, n->rank, v.shape);
  }
  half_shape(n, p, v.shape);
  if (nxg_elements(v.rank, v.shape) == 0) return constant(u, wide(t), 0, v.rank, v.shape);
  v.offset += p * v.strides[v.rank - 1];
  for (int32_t i = 0; i < v.rank; i++)
    if (v.shape[i] == 1) v.strides[i] = 0;
  v.strides[v.rank - 1] *= 2;
  if (nxi_is_nibble(t) && u->bytes[base] != NONE && in_one_half(&v))
    return half_of_bytes(u, t, u->bytes[base], &v);
  return view(u, value_of(u, base), &v);
}

static uint32_t half_of(unpacking *u, uint32_t old, int p) {
  if (u->half[p][old] == NONE) u->half[p][old] = half_of_leaf(u, old, p);
  return u->half[p][old];
}

/* Whether an update writes contiguous elements in order. */
static bool writes_in_order(const nxg_node *n) {
  const int64_t *shape = n->attrs + 2;
  return nxg_is_in_order((int32_t)n->attrs[1], shape, shape + n->attrs[1]);
}

/* Finds, from the last node to the first, elementwise work of which only packed results are made.
 * For i4 and u4 values it may have other users as well, because the work is cheap. */
static void find_halved(unpacking *u) {
  const nxg_graph *g = u->from;
  /* reuses these arrays, which are not yet in use */
  uint32_t *uses = u->half[0], *packing = u->half[1];
  memset(uses, 0, 2 * (size_t)g->n_nodes * sizeof *uses);
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    uint32_t node = g->outputs[i].node;
    uses[node]++;
    packing[node] += nxi_is_nibble(g->nodes[node].dtype);
  }
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t k = 0; k < g->nodes[i].n_args; k++) uses[g->nodes[i].args[k]]++;
  for (uint32_t i = g->n_nodes; i-- > 0;) {
    const nxg_node *n = &g->nodes[i];
    bool elementwise = nxg_ops[n->op].kind == NXG_KIND_MAP || n->op == NXG_copy;
    if (elementwise && can_be_halved(n) && packing[i] > 0 &&
        (nxi_is_nibble(n->dtype) || packing[i] == uses[i]))
      u->halved[i] = packing[i] == uses[i] ? 1 : 2;
    for (uint32_t k = 0; u->halved[i] && k < n->n_args; k++) {
      packing[n->args[k]]++;
      uses[n->args[k]] += u->halved[i] == 2; /* it is also read as a whole */
    }
    if (n->op == NXG_update && nxi_is_nibble(n->dtype) && writes_in_order(n)) packing[n->args[1]]++;
  }
  memset(uses, 0xff, 2 * (size_t)g->n_nodes * sizeof *uses);
}

/* ---- updates of memory */

/* Makes the strides of v positive and descending, and sets `src` to the view that reads the source
 * in the same order. False if v has gaps. */
static bool straighten(nxg_view *v, nxg_view *src) {
  int64_t strides[NXG_MAX_RANK], expected = 1;
  int32_t order[NXG_MAX_RANK], n = 0;
  nxg_contiguous_strides(v->rank, v->shape, strides);
  *src = (nxg_view){0};
  for (int32_t i = 0; i < v->rank; i++) { /* insertion sort by descending magnitude */
    if (v->shape[i] == 1) continue;       /* its stride may be any number */
    int64_t step = v->strides[i] < 0 ? -v->strides[i] : v->strides[i];
    if (v->strides[i] < 0) {
      src->offset += (v->shape[i] - 1) * strides[i];
      strides[i] = -strides[i];
      v->strides[i] = step;
    }
    int32_t at = n++;
    for (; at > 0 && v->strides[order[at - 1]] < step; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  src->rank = n;
  for (int32_t i = n; i-- > 0;) {
    if (v->strides[order[i]] != expected) return false;
    src->shape[i] = v->shape[order[i]];
    src->strides[i] = strides[order[i]];
    expected *= src->shape[i];
  }
  return true;
}

/* The new values of the 2 m elements in the touched bytes. old: these bytes; v: the view, relative
 * to their elements. */
static uint32_t merged(unpacking *u, nx_dtype t, uint32_t old, int64_t m, const nxg_view *v,
                       uint32_t source) {
  nxg_view straight = *v, order;
  int64_t both = 2 * m, low = 0, high = -1;
  nxg_view_range(v, &low, &high);
  int64_t span = high - low + 1, after = both - high - 1;
  if (!straighten(&straight, &order)) { /* there are gaps: unpack all elements and update those */
    int64_t attrs[2 + 2 * NXG_MAX_RANK] = {v->offset, v->rank};
    memcpy(attrs + 2, v->shape, (size_t)v->rank * sizeof *attrs);
    memcpy(attrs + 2 + v->rank, v->strides, (size_t)v->rank * sizeof *attrs);
    uint32_t args[2] = {unpacked(u, t, old, m, 1, &both), source};
    args[0] = add(u, NXG_copy, 1, args, NULL, 0, wide(t), 1, &both);
    return add(u, NXG_update, 2, args, attrs, 2 + 2 * (uint32_t)v->rank, wide(t), 1, &both);
  }
  uint32_t fresh = shaped(u, view(u, source, &order), 1, &span);
  if (low == 0 && after == 0) return fresh;
  uint32_t args[3];
  args[0] = padded(u, constant(u, NX_BOOL, 1, 1, &span), low, after);
  args[1] = padded(u, fresh, low, after);
  args[2] = unpacked(u, t, old, m, 1, &both);
  return add(u, NXG_where, 3, args, NULL, 0, wide(t), 1, &both);
}

/* The lower or upper halves of m bytes: `part` from byte `before` on, and the old values around
 * it. */
static uint32_t laid(unpacking *u, nx_dtype t, uint32_t part, int64_t before, uint32_t old,
                     int64_t m, bool upper) {
  nxg_node n = node_of(u, part);
  int64_t some = nxg_node_elements(&n), after = m - before - some;
  nxg_view v = {.rank = 1, .offset = upper, .shape = {m}, .strides = {2}};
  part = padded(u, part, before, after);
  if (before + after == 0) return part;
  uint32_t args[3] = {NONE, part, NONE};
  args[0] = padded(u, constant(u, NX_BOOL, 1, 1, &some), before, after);
  args[2] = half_of_bytes(u, t, old, &v);
  return add(u, NXG_where, 3, args, NULL, 0, wide(t), 1, &m);
}

/* The m touched bytes with all elements of `source`, of which the first is in the lower or upper
 * half of the first byte. */
static uint32_t filled(unpacking *u, nx_dtype t, uint32_t old, int64_t m, bool upper,
                       uint32_t source) {
  uint32_t first = half_of(u, source, 0), second = half_of(u, source, 1);
  uint32_t low = laid(u, t, upper ? second : first, upper, old, m, false);
  uint32_t high = laid(u, t, upper ? first : second, 0, old, m, true);
  low = cast(u, NX_U8, low);
  high = cast(u, NX_U8, high);
  return joined(u, t, low, high);
}

static void rewrite_update(unpacking *u, uint32_t i) {
  const nxg_node *n = &u->from->nodes[i];
  nxg_view v = {.rank = (int32_t)n->attrs[1], .offset = n->attrs[0]};
  memcpy(v.shape, n->attrs + 2, (size_t)v.rank * sizeof *v.shape);
  memcpy(v.strides, n->attrs + 2 + v.rank, (size_t)v.rank * sizeof *v.strides);
  int64_t low = 0, high = -1;
  uint32_t old = bytes_of(u, n->args[0]);
  if (nxg_elements(v.rank, v.shape) == 0) {
    u->bytes[i] = old;
    return;
  }
  nxg_view_range(&v, &low, &high);
  int64_t first = low / 2, m = high / 2 - first + 1, attrs[4] = {first, 1, m, 1};
  v.offset -= 2 * first;
  uint32_t touched = line(u, old, first, m, 1);
  uint32_t args[2] = {old, NONE};
  if (writes_in_order(n) && can_be_halved(&u->from->nodes[n->args[1]]))
    args[1] = filled(u, n->dtype, touched, m, v.offset, n->args[1]);
  else args[1] = packed(u, n->dtype, merged(u, n->dtype, touched, m, &v, value_of(u, n->args[1])));
  nxg_node all = node_of(u, old);
  u->bytes[i] = add(u, NXG_update, 2, args, attrs, 4, NX_U8, 1, all.shape);
}

/* ---- all other nodes */

/* Adds the node for whole operands (p < 0), or for the even or odd elements of them (p). */
static uint32_t add_as_it_is(unpacking *u, const nxg_node *n, int p, const int64_t *attrs) {
  int64_t shape[NXG_MAX_RANK];
  if (p >= 0) half_shape(n, p, shape);
  for (uint32_t k = 0; k < n->n_args; k++)
    u->args[k] = p < 0 ? value_of(u, n->args[k]) : half_of(u, n->args[k], p);
  return add(u, (nxg_op)n->op, n->n_args, u->args, attrs, n->n_attrs, wide(n->dtype), n->rank,
             p < 0 ? n->shape : shape);
}

/* Whether the eight-bit result may exceed four bits. */
static bool may_leave(const nxg_node *n) {
  switch (n->op) {
    case NXG_full: return n->attrs[1] >= 0; /* a launch parameter may have more bits set */
    case NXG_arange:
    case NXG_add:
    case NXG_sub:
    case NXG_mul:
    case NXG_div:
    case NXG_pow:
    case NXG_shl:
    case NXG_neg:
    case NXG_not:
    case NXG_floor_div:
    case NXG_abs:
    case NXG_cast:
    case NXG_bitcast:
    case NXG_matmul: return true;
    case NXG_scatter:
      return nxg_scatter_mode(n->attrs[1]) == NXI_SCATTER_ADD ||
             nxg_scatter_mode(n->attrs[1]) == NXI_SCATTER_MUL;
    default:
      return nxg_ops[n->op].reduce >= 0 &&
             (nxk_reduction_of(nxg_reduce_kind(n->op))->flags & NXK_ROUNDS);
  }
}

/* A conversion from a float: saturates to eight bits, then to four. */
static uint32_t saturated(unpacking *u, const nxg_node *n, uint32_t a) {
  a = cast(u, wide(n->dtype), a);
  if (n->dtype == NX_U4) return with(u, NXG_min, a, 15);
  return with(u, NXG_max, with(u, NXG_min, a, 7), -8 & 0xff);
}

/* What looks at the bits of an element, of which eight have four that are no part of it. */
static bool counts_bits(const nxg_node *n) {
  return n->op == NXG_popcount || n->op == NXG_clz || n->op == NXG_ctz || n->op == NXG_reverse_bits;
}

static uint32_t of_four_bits(unpacking *u, const nxg_node *n, int p) {
  uint32_t a = p < 0 ? value_of(u, n->args[0]) : half_of(u, n->args[0], p);
  if (n->op == NXG_ctz) a = with(u, NXG_or, a, 16); /* 4 of 0 */
  else if (n->op != NXG_reverse_bits) a = with(u, NXG_and, a, 15);
  nxg_node x = node_of(u, a);
  a = add(u, (nxg_op)n->op, 1, &a, NULL, 0, x.dtype, x.rank, x.shape);
  if (n->op == NXG_clz) return with(u, NXG_sub, a, 4);
  return n->op == NXG_reverse_bits ? with(u, NXG_shr, a, 4) : a;
}

static uint32_t rewritten(unpacking *u, const nxg_node *n, int p) {
  int64_t attrs[2];
  const int64_t *changed = n->attrs;
  bool nibbles = nxi_is_nibble(n->dtype);
  if (n->op == NXG_copy && p >= 0) return half_of(u, n->args[0], p);
  if (n->op == NXG_cast || n->op == NXG_bitcast) {
    nx_dtype from = u->from->nodes[n->args[0]].dtype;
    uint32_t a = p < 0 ? value_of(u, n->args[0]) : half_of(u, n->args[0], p);
    if (nibbles && nxi_is_float(from)) return saturated(u, n, a);
    if (nibbles)
      return from == NX_BOOL ? cast(u, wide(n->dtype), a)
                             : wrapped(u, n->dtype, cast(u, wide(n->dtype), a));
    if (nxi_is_nibble(from)) return cast(u, n->dtype, a);
  }
  if (nibbles && counts_bits(n)) return of_four_bits(u, n, p);
  if (nibbles && (n->op == NXG_full || n->op == NXG_arange)) {
    attrs[0] = wide_bits(n->dtype, n->attrs[0]);
    attrs[1] = n->op == NXG_full ? n->attrs[1] : wide_bits(n->dtype, n->attrs[1]);
    changed = attrs;
  }
  int64_t pad[1 + 2 * NXG_MAX_RANK];
  if (nibbles && n->op == NXG_pad) {
    memcpy(pad, n->attrs, n->n_attrs * sizeof *pad);
    pad[0] = wide_bits(n->dtype, pad[0]);
    changed = pad;
  }
  uint32_t node = add_as_it_is(u, n, p, changed);
  return nibbles && may_leave(n) ? wrapped(u, n->dtype, node) : node;
}

static void rewrite_input(unpacking *u, uint32_t i) {
  const nxg_node *n = &u->from->nodes[i];
  const nxg_input *in = &u->from->inputs[n->attrs[0]];
  int64_t m = nxi_dtype_bytes(n->dtype, nxg_node_elements(n));
  if (nxi_is_nibble(n->dtype))
    u->bytes[i] = nxg_add_input(u->to, NX_U8, 1, &m, in->flags, in->alias, n->name);
  else
    u->value[i] = nxg_add_input(u->to, n->dtype, n->rank, n->shape, in->flags, in->alias, n->name);
}

static void rewrite(unpacking *u, uint32_t i) {
  const nxg_node *n = &u->from->nodes[i];
  bool nibbles = nxi_is_nibble(n->dtype);
  u->at = i;
  if (n->op == NXG_input) return; /* handled before */
  for (int p = 0; p < 2 && u->halved[i]; p++) u->half[p][i] = rewritten(u, n, p);
  if (nibbles && n->op == NXG_update) {
    rewrite_update(u, i);
  } else if (nibbles && n->op == NXG_copy && u->bytes[n->args[0]] != NONE) {
    nxg_node x = node_of(u, u->bytes[n->args[0]]);
    u->bytes[i] = add(u, NXG_copy, 1, &u->bytes[n->args[0]], NULL, 0, NX_U8, x.rank, x.shape);
  } else if (u->halved[i] != 1) {
    u->value[i] = rewritten(u, n, -1);
    if (u->value[i] != NONE && n->name != NULL && !nibbles) {
      /* the name goes to the new node */
      u->to->nodes[u->value[i]].name = nxi_arena_copy(&u->to->arena, n->name, strlen(n->name) + 1);
      if (u->to->nodes[u->value[i]].name == NULL) u->to->failed = true;
    }
  }
}

static void rewrite_all(unpacking *u) {
  const nxg_graph *g = u->from;
  for (uint32_t i = 0; i < g->n_inputs; i++) rewrite_input(u, g->inputs[i].node);
  u->to->n_params = g->n_params;
  for (uint32_t i = 0; i < g->n_nodes && !u->to->failed; i++) rewrite(u, i);
  for (uint32_t i = 0; i < g->n_outputs && !u->to->failed; i++) {
    uint32_t old = u->at = g->outputs[i].node;
    nxg_add_output(u->to, nxi_is_nibble(g->nodes[old].dtype) ? bytes_of(u, old) : u->value[old],
                   g->outputs[i].name);
  }
}

static bool has_nibbles(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (nxi_is_nibble(g->nodes[i].dtype)) return true;
  return false;
}

nx_status nxg_pass_small_types(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  *out = (nxg_graph *)g;
  if (changed != NULL) *changed = false;
  if (!has_nibbles(g)) return NX_OK;
  uint32_t most = 1;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    most = g->nodes[i].n_args > most ? g->nodes[i].n_args : most;
  size_t n = g->n_nodes;
  unpacking u = {.from = g, .to = nxg_create(g->name)};
  u.value = nxi_malloc((4 * n + most) * sizeof *u.value);
  u.halved = nxi_calloc(n, 1);
  bool good = u.to != NULL && u.value != NULL && u.halved != NULL;
  if (good) {
    u.bytes = u.value + n;
    u.half[0] = u.bytes + n;
    u.half[1] = u.half[0] + n;
    u.args = u.half[1] + n;
    memset(u.value, 0xff, 2 * n * sizeof *u.value);
    find_halved(&u);
    rewrite_all(&u);
  }
  nxi_free(u.value);
  nxi_free(u.halved);
  if (good && !u.to->failed) {
    *out = u.to;
    if (changed != NULL) *changed = true;
    return NX_OK;
  }
  nxg_destroy(u.to);
  return nxi_oom(d);
}
