/* SPDX-License-Identifier: ISC */
/* The random graph generator. It proposes operations on nodes it has and keeps those that type inference accepts, so a new
 * operation needs one row here. */
#include "random_graph.h"

#include <string.h>

uint64_t nxt_next(nxt_random *r) { /* splitmix64, Steele, Lea, Flood 2014 */
  uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

int64_t nxt_below(nxt_random *r, int64_t n) { return (int64_t)(nxt_next(r) % (uint64_t)n); }
bool nxt_chance(nxt_random *r, int percent) { return nxt_below(r, 100) < percent; }

typedef struct generator {
  nxt_random r;
  nxg_graph *g;
  nxt_graph_options o;
} generator;

static const nx_dtype dtypes[] = {NX_F32, NX_F32, NX_F32, NX_F64, NX_F64, NX_F16, NX_BF16, NX_I32,
                                  NX_I64, NX_I8,  NX_U8,  NX_I16, NX_U16, NX_U32, NX_U64,  NX_BOOL};
static nx_dtype random_dtype(generator *gen) {
  return dtypes[nxt_below(&gen->r, sizeof dtypes / sizeof dtypes[0])];
}

static const nxg_node *node(const generator *gen, uint32_t i) { return &gen->g->nodes[i]; }

/* A node, recent ones more often. */
static uint32_t pick(generator *gen) {
  uint32_t n = gen->g->n_nodes;
  int64_t a = nxt_below(&gen->r, n), b = nxt_below(&gen->r, n);
  return (uint32_t)(a > b ? a : b);
}

static void random_shape(generator *gen, int32_t *rank, int64_t *shape) {
  static const int64_t extents[] = {1, 1, 2, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 64, 100, 257};
  *rank = (int32_t)nxt_below(&gen->r, nxt_chance(&gen->r, 5) ? 9 : 5);
  int64_t total = 1;
  for (int32_t i = 0; i < *rank; i++) {
    shape[i] = extents[nxt_below(&gen->r, sizeof extents / sizeof extents[0])];
    if (total * shape[i] > gen->o.elements) shape[i] = 1;
    if (nxt_chance(&gen->r, 1)) shape[i] = 0;
    total *= shape[i] ? shape[i] : 1;
  }
}

/* Adds a node if its type can be inferred and it is not too large; UINT32_MAX if not. */
static uint32_t try_add(generator *gen, nxg_op op, uint32_t n_args, const uint32_t *args,
                        const int64_t *attrs, uint32_t n_attrs, nx_dtype given, int32_t rank,
                        const int64_t *leaf_shape) {
  nxg_type types[8];
  nxi_diag d;
  nx_dtype t;
  int64_t shape[NXG_MAX_RANK] = {0};
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n_args; i++)
    types[i] =
        (nxg_type){node(gen, args[i])->dtype, node(gen, args[i])->rank, node(gen, args[i])->shape};
  if (leaf_shape != NULL) memcpy(shape, leaf_shape, (size_t)rank * sizeof shape[0]);
  if (nxg_infer(op, n_args, types, attrs, n_attrs, given, &t, &rank, shape, &d) != NX_OK ||
      nxg_elements(rank, shape) > gen->o.elements)
    return UINT32_MAX;
  return nxg_add(gen->g, op, n_args, args, attrs, n_attrs, t, rank, shape);
}

static uint64_t random_scalar(generator *gen, nx_dtype t) {
  uint64_t bits = 0;
  unsigned char element[8];
  nxt_random_fill(&gen->r, t, element, 1);
  bits = nxi_load_element(element, t);
  return bits;
}

static uint32_t add_full(generator *gen, nx_dtype t, int32_t rank, const int64_t *shape) {
  int64_t attrs[2] = {(int64_t)random_scalar(gen, t), -1};
  return try_add(gen, NXG_full, 0, NULL, attrs, 2, t, rank, shape);
}

static uint32_t add_view(generator *gen, uint32_t base, const nxg_view *v) {
  int64_t attrs[1 + NXG_MAX_RANK];
  attrs[0] = v->offset;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof attrs[0]);
  return try_add(gen, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, 0, v->rank, v->shape);
}

/* ---- movement */

static void shuffle_axes(generator *gen, int32_t rank, int32_t *axes) {
  for (int32_t i = 0; i < rank; i++) {
    int64_t j = nxt_below(&gen->r, i + 1);
    axes[i] = axes[j];
    axes[j] = i;
  }
}

static bool move_slice(generator *gen, nxg_view *v, nxi_diag *d) {
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

static bool move_expand(generator *gen, nxg_view *v, nxi_diag *d) {
  int64_t shape[NXG_MAX_RANK];
  int32_t extra = nxt_chance(&gen->r, 50) && v->rank < 8 ? 1 : 0;
  if (extra) shape[0] = 1 + nxt_below(&gen->r, 6);
  for (int32_t i = 0; i < v->rank; i++)
    shape[extra + i] =
        v->shape[i] == 1 && nxt_chance(&gen->r, 60) ? 1 + nxt_below(&gen->r, 20) : v->shape[i];
  return nxg_view_expand(v, v->rank + extra, shape, v, d) == NX_OK;
}

static bool move_reshape(generator *gen, nxg_view *v, nxi_diag *d) {
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

static bool move_once(generator *gen, nxg_view *v) {
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

static uint32_t add_movement(generator *gen) {
  nxg_view v;
  uint32_t x = pick(gen);
  nxg_node_view(gen->g, x, &v);
  uint32_t base = node(gen, x)->op == NXG_view ? node(gen, x)->args[0] : x;
  bool moved = false;
  for (int64_t i = 1 + nxt_below(&gen->r, 3); i > 0; i--) {
    nxg_view next = v;
    if (move_once(gen, &next) && nxg_elements(next.rank, next.shape) <= gen->o.elements) {
      v = next;
      moved = true;
    }
  }
  return moved ? add_view(gen, base, &v) : UINT32_MAX;
}

/* ---- elementwise */

/* A node of this dtype and exactly this shape: broadcast from one that fits, or a constant, or made by a cast. */
static uint32_t matching(generator *gen, nx_dtype t, int32_t rank, const int64_t *shape) {
  for (int attempt = 0; attempt < 12; attempt++) {
    uint32_t x = pick(gen);
    nxg_view v;
    nxi_diag d;
    nxi_diag_clear(&d);
    if (node(gen, x)->dtype != t && attempt > 8)
      x = try_add(gen, NXG_cast, 1, &x, NULL, 0, t, 0, NULL);
    if (x == UINT32_MAX || node(gen, x)->dtype != t) continue;
    if (nxg_same_shape(node(gen, x)->rank, node(gen, x)->shape, rank, shape)) return x;
    nxg_node_view(gen->g, x, &v);
    if (nxg_view_expand(&v, rank, shape, &v, &d) == NX_OK)
      return add_view(gen, node(gen, x)->op == NXG_view ? node(gen, x)->args[0] : x, &v);
  }
  return add_full(gen, t, rank, shape);
}

static uint32_t add_map(generator *gen) {
  nxg_op op = (nxg_op)(NXG_neg + nxt_below(&gen->r, NXG_bitcast - NXG_neg + 1));
  uint32_t args[3], n = (uint32_t)nxg_ops[op].args, first = op == NXG_where ? 1 : 0;
  args[first] = pick(gen);
  if (op != NXG_cast && op != NXG_bitcast &&
      !(nxg_ops[op].admits & nxi_dtypes[node(gen, args[first])->dtype].cls))
    return UINT32_MAX;
  for (uint32_t i = 0; i < n; i++) {
    if (i == first) continue;
    const nxg_node *x = node(gen, args[first]);
    int64_t shape[NXG_MAX_RANK];
    memcpy(shape, x->shape, x->rank * sizeof shape[0]);
    args[i] = matching(gen, i < first ? NX_BOOL : x->dtype, x->rank, shape);
    if (args[i] == UINT32_MAX) return UINT32_MAX;
  }
  return try_add(gen, op, n, args, NULL, 0, random_dtype(gen), 0, NULL);
}

/* ---- the others */

static uint32_t add_fold(generator *gen) {
  nxg_op op = (nxg_op)(NXG_reduce_sum + nxt_below(&gen->r, NXG_argmin - NXG_reduce_sum + 1));
  uint32_t x = pick(gen);
  int32_t rank = node(gen, x)->rank;
  int64_t attrs[2] = {0, nxt_chance(&gen->r, 60)};
  if (rank == 0) return UINT32_MAX;
  if (op == NXG_argmax || op == NXG_argmin) {
    attrs[0] = nxt_below(&gen->r, rank);
  } else {
    attrs[0] =
        nxt_chance(&gen->r, 40) ? (int64_t)1 << (rank - 1) : nxt_below(&gen->r, (int64_t)1 << rank);
  }
  return try_add(gen, op, 1, &x, attrs, 2, 0, 0, NULL);
}

static uint32_t add_pad(generator *gen) {
  uint32_t x = pick(gen);
  int32_t rank = node(gen, x)->rank;
  int64_t attrs[1 + 2 * NXG_MAX_RANK];
  attrs[0] = (int64_t)random_scalar(gen, node(gen, x)->dtype);
  for (int32_t i = 0; i < 2 * rank; i++)
    attrs[1 + i] = nxt_chance(&gen->r, 40) ? nxt_below(&gen->r, 4) : 0;
  return try_add(gen, NXG_pad, 1, &x, attrs, 1 + 2 * (uint32_t)rank, 0, 0, NULL);
}

static uint32_t add_cat(generator *gen) {
  uint32_t args[6], n = 1 + (uint32_t)nxt_below(&gen->r, 6);
  args[0] = pick(gen);
  int32_t rank = node(gen, args[0])->rank;
  if (rank == 0) return UINT32_MAX;
  int64_t axis = nxt_below(&gen->r, rank);
  for (uint32_t i = 1; i < n; i++) {
    int64_t shape[NXG_MAX_RANK];
    memcpy(shape, node(gen, args[0])->shape, (size_t)rank * sizeof shape[0]);
    shape[axis] = nxt_below(&gen->r, 5);
    args[i] = matching(gen, node(gen, args[0])->dtype, rank, shape);
    if (args[i] == UINT32_MAX) return UINT32_MAX;
  }
  return try_add(gen, NXG_cat, n, args, &axis, 1, 0, 0, NULL);
}

static uint32_t add_update(generator *gen) {
  uint32_t args[2] = {pick(gen)};
  nxg_view v;
  if (node(gen, args[0])->op == NXG_view) return UINT32_MAX;
  nxg_node_view(gen->g, args[0], &v);
  for (int i = 0; i < 2; i++) {
    nxg_view next = v;
    if (move_once(gen, &next) && !nxg_view_overlaps_itself(&next)) v = next;
  }
  args[1] = matching(gen, node(gen, args[0])->dtype, v.rank, v.shape);
  if (args[1] == UINT32_MAX) return UINT32_MAX;
  int64_t attrs[2 + 2 * NXG_MAX_RANK] = {v.offset, v.rank};
  memcpy(attrs + 2, v.shape, (size_t)v.rank * sizeof attrs[0]);
  memcpy(attrs + 2 + v.rank, v.strides, (size_t)v.rank * sizeof attrs[0]);
  return try_add(gen, NXG_update, 2, args, attrs, 2 + 2 * (uint32_t)v.rank, 0, 0, NULL);
}

static uint32_t add_matmul(generator *gen) {
  uint32_t args[2] = {pick(gen)};
  const nxg_node *a = node(gen, args[0]);
  int64_t most = gen->o.matmul ? 70 : 30;
  if (a->rank < 2 || a->shape[a->rank - 1] > 200) return UINT32_MAX;
  int64_t shape[2] = {a->shape[a->rank - 1], 1 + nxt_below(&gen->r, most)};
  args[1] = matching(gen, a->dtype, 2, shape);
  uint32_t product =
      args[1] == UINT32_MAX ? UINT32_MAX : try_add(gen, NXG_matmul, 2, args, NULL, 0, 0, 0, NULL);
  if (product == UINT32_MAX || nxt_chance(&gen->r, 40)) return product;
  const nxg_node *n = node(gen, product); /* what usually follows: a bias */
  int64_t full[NXG_MAX_RANK];
  memcpy(full, n->shape, n->rank * sizeof full[0]);
  uint32_t sum[2] = {product, matching(gen, n->dtype, n->rank, full)};
  return sum[1] == UINT32_MAX ? product : try_add(gen, NXG_add, 2, sum, NULL, 0, 0, 0, NULL);
}

static uint32_t add_leaf(generator *gen) {
  int32_t rank;
  int64_t shape[NXG_MAX_RANK], attrs[2];
  nx_dtype t = random_dtype(gen);
  random_shape(gen, &rank, shape);
  switch (nxt_below(&gen->r, 4)) {
    case 0:
      shape[0] = 1 + nxt_below(&gen->r, 40);
      attrs[0] = (int64_t)random_scalar(gen, t);
      attrs[1] = (int64_t)random_scalar(gen, t);
      return try_add(gen, NXG_arange, 0, NULL, attrs, 2, t, 1, shape);
    case 1:
      shape[0] = 1 + nxt_below(&gen->r, 12);
      shape[1] = 1 + nxt_below(&gen->r, 12);
      attrs[0] = nxt_below(&gen->r, 9) - 4;
      return try_add(gen, NXG_eye, 0, NULL, attrs, 1, t, 2, shape);
    default: return add_full(gen, t, rank, shape);
  }
}

static uint32_t add_threefry(generator *gen) {
  nx_dtype t = nxt_chance(&gen->r, 50) ? NX_I32 : NX_U32;
  int64_t shape[2] = {1 + nxt_below(&gen->r, 40), 2};
  uint32_t args[2] = {matching(gen, t, 2, shape), matching(gen, t, 2, shape)};
  if (args[0] == UINT32_MAX || args[1] == UINT32_MAX) return UINT32_MAX;
  return try_add(gen, NXG_threefry, 2, args, NULL, 0, 0, 0, NULL);
}

static void add_something(generator *gen) {
  uint32_t x;
  int64_t dice = nxt_below(&gen->r, 100);
  if (dice < 45) {
    add_map(gen);
  } else if (dice < 62) {
    add_movement(gen);
  } else if (dice < 76) {
    add_fold(gen);
  } else if (dice < 81) {
    add_pad(gen);
  } else if (dice < 86) {
    add_cat(gen);
  } else if (dice < 90) {
    add_update(gen);
  } else if (dice < 93) {
    add_leaf(gen);
  } else if (dice < 95) {
    x = pick(gen);
    try_add(gen, NXG_copy, 1, &x, NULL, 0, 0, 0, NULL);
  } else if (dice < 98) {
    add_matmul(gen);
  } else {
    add_threefry(gen);
  }
}

nxg_graph *nxt_random_graph(uint64_t seed, const nxt_graph_options *o) {
  generator gen = {{seed * 0x2545f4914f6cdd1du + 1}, nxg_create("random"), *o};
  if (gen.g == NULL) return NULL;
  for (int64_t i = 1 + nxt_below(&gen.r, 4); i > 0; i--) {
    int32_t rank;
    int64_t shape[NXG_MAX_RANK];
    random_shape(&gen, &rank, shape);
    uint32_t flags = nxt_chance(&gen.r, 20) ? NXG_INPUT_OVERWRITE : 0;
    nxg_add_input(gen.g, random_dtype(&gen), rank, shape, flags, -1, NULL);
  }
  uint32_t target = gen.g->n_nodes + 1 + (uint32_t)nxt_below(&gen.r, 2 * (int64_t)o->nodes);
  for (int attempts = 0; gen.g->n_nodes < target && attempts < 1000 && !gen.g->failed; attempts++)
    add_something(&gen);
  nxg_add_output(gen.g, gen.g->n_nodes - 1, "last");
  for (int64_t i = nxt_below(&gen.r, 4); i > 0; i--) nxg_add_output(gen.g, pick(&gen), NULL);
  if (!gen.g->failed) return gen.g;
  nxg_destroy(gen.g);
  return NULL;
}

static double random_double(nxt_random *r) {
  double unit = (double)(nxt_next(r) >> 11) * 0x1p-53;
  switch (nxt_below(r, 40)) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return __builtin_inf();
    case 3: return -__builtin_inf();
    case 4: return __builtin_nan("");
    case 5: return (unit - 0.5) * 1e-40;
    case 6: return (unit - 0.5) * 1e38;
    case 7: return (double)(nxt_below(r, 9) - 4);
    case 8: return (unit - 0.5) * 1e6;
    default: return (unit - 0.5) * 8;
  }
}

void nxt_random_fill(nxt_random *r, nx_dtype t, void *data, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits;
    if (nxi_is_float(t)) bits = nxi_cast_bits(nxi_bits_f64(random_double(r)), NX_F64, t);
    else if (t == NX_BOOL) bits = nxt_next(r) & 1;
    else if (nxt_chance(r, 15)) bits = nxi_cast_bits(nxt_next(r), NX_U64, t);
    else bits = nxi_cast_bits((uint64_t)(nxt_below(r, 21) - 10), NX_I64, t);
    nxi_store_element((char *)data + i * nxi_dtype_size(t), t, bits);
  }
}
