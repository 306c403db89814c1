/* SPDX-License-Identifier: ISC */
/* The random graph generator. It proposes operations on nodes it has and keeps those that type
 * inference accepts, so a new operation needs one row here. What it prefers is what has been a
 * fault somewhere: values that many others use, views on views, updates of updates, extents around
 * the sizes of vectors, blocks, strips and groups. */
#include "graph.h"

#include <string.h>

#include "internal.h"

static const nx_dtype dtypes[] = {
    NX_F32, NX_F32, NX_F32, NX_F64,  NX_F64, NX_F16,        NX_BF16,       NX_I32,    NX_I64,
    NX_I8,  NX_U8,  NX_I16, NX_U16,  NX_U32, NX_U64,        NX_BOOL,       NX_F8E4M3, NX_F8E5M2,
    NX_I4,  NX_U4,  NX_C64, NX_C128, NX_C32, NX_F8E4M3FNUZ, NX_F8E5M2FNUZ, NX_F8E8M0, NX_F4E2M1};
nx_dtype nxt_random_dtype(nxt_generator *gen) {
  return dtypes[nxt_below(&gen->r, sizeof dtypes / sizeof dtypes[0])];
}

uint32_t nxt_pick(nxt_generator *gen) {
  uint32_t n = gen->g->n_nodes;
  if (gen->n_forced > 0) {
    gen->n_forced--;
    return gen->forced;
  }
  if (nxt_chance(&gen->r, 2)) gen->hub = (uint32_t)nxt_below(&gen->r, n);
  if (nxt_chance(&gen->r, 22)) return gen->hub;
  int64_t a = nxt_below(&gen->r, n), b = nxt_below(&gen->r, n);
  return (uint32_t)(a > b ? a : b);
}

uint32_t nxt_pick_computed(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  for (int attempt = 0; attempt < 4; attempt++) {
    nxg_kind kind = (nxg_kind)nxg_ops[nxt_node_of(gen, x)->op].kind;
    if (kind == NXG_KIND_MAP || kind == NXG_KIND_REDUCE) break;
    x = nxt_pick(gen);
  }
  return x;
}

static void random_shape(nxt_generator *gen, int32_t *rank, int64_t *shape) {
  static const int64_t small[] = {1, 1, 2, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 64, 100, 257};
  static const int64_t edges[] = {9,   32,  33,  63,   65,   127,  128,  129,  255,  256,
                                  511, 512, 513, 1000, 1023, 1024, 1025, 2049, 4096, 4097};
  int32_t most = gen->o.rank > 4 && nxt_chance(&gen->r, 30) ? gen->o.rank : 4;
  *rank = (int32_t)nxt_below(&gen->r, most + 1);
  int64_t total = 1;
  for (int32_t i = 0; i < *rank; i++) {
    shape[i] = nxt_chance(&gen->r, 12) ? edges[nxt_below(&gen->r, sizeof edges / sizeof edges[0])]
                                       : small[nxt_below(&gen->r, sizeof small / sizeof small[0])];
    if (*rank > 8 && nxt_chance(&gen->r, 70)) shape[i] = 1;
    if (total * shape[i] > gen->o.elements) shape[i] = 1;
    if (nxt_below(&gen->r, 1000) < (gen->o.empty ? 150 : 5)) shape[i] = 0;
    total *= shape[i] ? shape[i] : 1;
  }
}

uint32_t nxt_try(nxt_generator *gen, nxg_op op, uint32_t n_args, const uint32_t *args,
                 const int64_t *attrs, uint32_t n_attrs, nx_dtype given, int32_t rank,
                 const int64_t *leaf_shape) {
  nxg_type types[8];
  nxi_diag d;
  nx_dtype t;
  int64_t shape[NXG_MAX_RANK] = {0};
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n_args; i++) {
    const nxg_node *n = nxt_node_of(gen, args[i]);
    types[i] = (nxg_type){n->dtype, n->rank, n->shape};
  }
  if (leaf_shape != NULL) memcpy(shape, leaf_shape, (size_t)rank * sizeof shape[0]);
  if (nxg_infer(op, n_args, types, attrs, n_attrs, given, &t, &rank, shape, &d) != NX_OK ||
      nxg_elements(rank, shape) > gen->o.elements)
    return UINT32_MAX;
  return nxg_add(gen->g, op, n_args, args, attrs, n_attrs, t, rank, shape);
}

uint64_t nxt_random_scalar(nxt_generator *gen, nx_dtype t) {
  unsigned char element[8] = {0};
  nxt_random_fill(&gen->r, nxi_part_dtype(t), element, 1);
  return nxi_load_element(element, nxi_part_dtype(t));
}

/* Some of them are launch parameters. */
uint32_t nxt_add_full(nxt_generator *gen, nx_dtype t, int32_t rank, const int64_t *shape) {
  int64_t attrs[3] = {(int64_t)nxt_random_scalar(gen, t), -1};
  if (nxi_is_complex(t)) {
    attrs[2] = (int64_t)nxt_random_scalar(gen, t);
  } else if (nxt_chance(&gen->r, 25)) {
    attrs[0] = 0;
    attrs[1] = gen->g->n_params;
  }
  return nxt_try(gen, NXG_full, 0, NULL, attrs, 2 + nxi_is_complex(t), t, rank, shape);
}

/* ---- elementwise */

/* x in the given shape, through a view. */
static uint32_t broadcast(nxt_generator *gen, uint32_t x, int32_t rank, const int64_t *shape) {
  const nxg_node *n = nxt_node_of(gen, x);
  nxg_view v;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxg_node_view(gen->g, x, &v);
  if (nxg_view_expand(&v, rank, shape, &v, &d) != NX_OK) return UINT32_MAX;
  return nxt_add_view(gen, n->op == NXG_view ? n->args[0] : x, &v);
}

uint32_t nxt_matching(nxt_generator *gen, nx_dtype t, int32_t rank, const int64_t *shape) {
  for (int attempt = 0; attempt < 12; attempt++) {
    uint32_t x = nxt_pick(gen);
    if (nxt_node_of(gen, x)->dtype != t && attempt > 8)
      x = nxt_try(gen, NXG_cast, 1, &x, NULL, 0, t, 0, NULL);
    if (x == UINT32_MAX || nxt_node_of(gen, x)->dtype != t) continue;
    if (nxg_same_shape(nxt_node_of(gen, x)->rank, nxt_node_of(gen, x)->shape, rank, shape))
      return x;
    x = broadcast(gen, x, rank, shape);
    if (x != UINT32_MAX) return x;
  }
  return nxt_add_full(gen, t, rank, shape);
}

/* One of the operations that the dtype admits, often one that does not end in NaN or 0 soon. */
static nxg_op random_map(nxt_generator *gen, nx_dtype t) {
  static const nxg_op calm[] = {NXG_neg, NXG_abs,  NXG_sin, NXG_cos,   NXG_atan,  NXG_tanh,
                                NXG_erf, NXG_rint, NXG_add, NXG_asinh, NXG_sub,   NXG_mul,
                                NXG_max, NXG_min,  NXG_xor, NXG_add,   NXG_cmplt, NXG_where};
  int64_t any = NXG_reduce_sum - NXG_neg, few = sizeof calm / sizeof calm[0];
  bool choose = nxt_chance(&gen->r, gen->o.elementwise ? 85 : 50);
  nxg_op op;
  do op = choose ? calm[nxt_below(&gen->r, few)] : (nxg_op)(NXG_neg + nxt_below(&gen->r, any));
  while (!nxg_op_admits(op, t));
  return op;
}

/* Whether a value is moved only, never computed: then the bits of its NaNs are those of an
 * input. */
static bool is_moved(const nxt_generator *gen, uint32_t x, int depth) {
  const nxg_node *n = nxt_node_of(gen, x);
  bool moves = n->op == NXG_view || n->op == NXG_pad || n->op == NXG_cat || n->op == NXG_copy ||
               n->op == NXG_update || n->op == NXG_where;
  if (n->op == NXG_input || n->op == NXG_full) return true;
  for (uint32_t i = n->op == NXG_where ? 1 : 0; moves && i < n->n_args; i++)
    moves = depth > 0 && is_moved(gen, n->args[i], depth - 1);
  return moves;
}

uint32_t nxt_add_map_on(nxt_generator *gen, uint32_t x) {
  nxg_op op = random_map(gen, nxt_node_of(gen, x)->dtype);
  uint32_t args[4], n = (uint32_t)nxg_ops[op].args, first = op == NXG_where ? 1 : 0;
  if (op != NXG_where && n == 2 && nxt_chance(&gen->r, 30)) first = 1;
  args[first] = x;
  for (uint32_t i = 0; i < n; i++) {
    if (i == first) continue;
    const nxg_node *like = nxt_node_of(gen, x);
    int64_t shape[NXG_MAX_RANK];
    memcpy(shape, like->shape, like->rank * sizeof shape[0]);
    args[i] =
        nxt_matching(gen, op == NXG_where && i == 0 ? NX_BOOL : like->dtype, like->rank, shape);
    if (args[i] == UINT32_MAX) return UINT32_MAX;
  }
  nx_dtype given = nxt_random_dtype(gen), own = nxt_node_of(gen, x)->dtype;
  if (op == NXG_bitcast && (nxi_is_float(own) || nxi_is_complex(own)) && !is_moved(gen, x, 8))
    return UINT32_MAX; /* all NaNs count as one, but this would show which one it is */
  while (op == NXG_bitcast && nxi_dtypes[given].bits != nxi_dtypes[own].bits)
    given = nxt_random_dtype(gen);
  return nxt_try(gen, op, n, args, NULL, 0, given, 0, NULL);
}

/* ---- the others */

static uint32_t reduce(nxt_generator *gen, uint32_t x, bool keepdims) {
  nxg_op op;
  do op = (nxg_op)(NXG_reduce_sum + nxt_below(&gen->r, NXG_argmin - NXG_reduce_sum + 1));
  while (nxi_is_complex(nxt_node_of(gen, x)->dtype) &&
         !nxg_op_admits(op, nxt_node_of(gen, x)->dtype));
  int32_t rank = nxt_node_of(gen, x)->rank;
  int64_t attrs[2] = {0, keepdims};
  if (rank == 0) return UINT32_MAX;
  if (op == NXG_argmax || op == NXG_argmin) attrs[0] = nxt_below(&gen->r, rank);
  else if (nxt_chance(&gen->r, 30)) attrs[0] = (int64_t)1 << (rank - 1);
  else if (nxt_chance(&gen->r, 45)) attrs[0] = (((int64_t)1 << rank) - 1) & 0x55555555; /* apart */
  else attrs[0] = nxt_below(&gen->r, (int64_t)1 << rank);
  return nxt_try(gen, op, 1, &x, attrs, 2, 0, 0, NULL);
}

/* A reduction, and its result combined with what was reduced, as softmax and norms do. */
static void add_reduce_and_back(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen), reduced = reduce(gen, x, true);
  if (reduced == UINT32_MAX) return;
  const nxg_node *n = nxt_node_of(gen, x);
  int64_t shape[NXG_MAX_RANK];
  memcpy(shape, n->shape, n->rank * sizeof shape[0]);
  int32_t rank = n->rank;
  nx_dtype t = n->dtype;
  if (nxt_node_of(gen, reduced)->dtype != t)
    reduced = nxt_try(gen, NXG_cast, 1, &reduced, NULL, 0, t, 0, NULL);
  uint32_t pair[2] = {x, reduced == UINT32_MAX ? reduced : broadcast(gen, reduced, rank, shape)};
  if (pair[1] == UINT32_MAX) return;
  nxg_op op;
  do op = (nxg_op)(NXG_add + nxt_below(&gen->r, NXG_cmple - NXG_add + 1));
  while (!nxg_op_admits(op, t));
  nxt_try(gen, op, 2, pair, NULL, 0, 0, 0, NULL);
}

uint32_t nxt_add_matmul(nxt_generator *gen) {
  uint32_t args[2] = {nxt_pick(gen)};
  const nxg_node *a = nxt_node_of(gen, args[0]);
  int64_t most = gen->o.matmul ? 70 : 30;
  if (a->rank < 2 || a->shape[a->rank - 1] > 200) return UINT32_MAX;
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = a->rank;
  memcpy(shape, a->shape, (size_t)rank * sizeof shape[0]);
  shape[rank - 2] = a->shape[rank - 1];
  shape[rank - 1] = 1 + nxt_below(&gen->r, most);
  bool square = a->shape[rank - 1] == a->shape[rank - 2];
  args[1] = square && nxt_chance(&gen->r, 15) ? args[0] : nxt_matching(gen, a->dtype, rank, shape);
  uint32_t product =
      args[1] == UINT32_MAX ? UINT32_MAX : nxt_try(gen, NXG_matmul, 2, args, NULL, 0, 0, 0, NULL);
  if (product == UINT32_MAX || nxt_chance(&gen->r, 40)) return product;
  const nxg_node *n = nxt_node_of(gen, product); /* what usually follows: a bias */
  memcpy(shape, n->shape, n->rank * sizeof shape[0]);
  uint32_t sum[2] = {product, nxt_matching(gen, n->dtype, n->rank, shape)};
  if (sum[1] != UINT32_MAX) nxt_try(gen, NXG_add, 2, sum, NULL, 0, 0, 0, NULL);
  return product;
}

/* Positions, compared with a number: small, or at an end of the type, where sums wrap around. */
static void add_positions(nxt_generator *gen) {
  const nx_dtype t = nxt_chance(&gen->r, 70) ? NX_I64 : NX_I32;
  const int64_t most = t == NX_I64 ? INT64_MAX : INT32_MAX,
                shape[1] = {1 + nxt_below(&gen->r, 400)};
  int64_t from[2] = {nxt_below(&gen->r, 100) - 50, 1 + nxt_below(&gen->r, 2)},
          limit[2] = {nxt_below(&gen->r, 80) - 40, -1};
  if (nxt_chance(&gen->r, 20)) from[0] += most - 60;
  if (nxt_chance(&gen->r, 40)) limit[0] = nxt_chance(&gen->r, 50) ? most : -most - 1;
  for (int i = 0; i < 2; i++) from[i] = (int64_t)nxi_cast_bits((uint64_t)from[i], NX_I64, t);
  limit[0] = (int64_t)nxi_cast_bits((uint64_t)limit[0], NX_I64, t);
  uint32_t pair[2] = {nxt_try(gen, NXG_arange, 0, NULL, from, 2, t, 1, shape),
                      nxt_try(gen, NXG_full, 0, NULL, limit, 2, t, 1, shape)};
  if (pair[0] == UINT32_MAX || pair[1] == UINT32_MAX) return;
  if (nxt_chance(&gen->r, 40)) pair[0] ^= pair[1], pair[1] ^= pair[0], pair[0] ^= pair[1];
  uint32_t chosen[3] = {
      nxt_try(gen, nxt_chance(&gen->r, 50) ? NXG_cmplt : NXG_cmple, 2, pair, NULL, 0, 0, 0, NULL)};
  const nx_dtype of = nxt_random_dtype(gen);
  for (int i = 1; i < 3; i++) chosen[i] = nxt_matching(gen, of, 1, shape);
  if (chosen[1] != UINT32_MAX && chosen[2] != UINT32_MAX)
    nxt_try(gen, NXG_where, 3, chosen, NULL, 0, 0, 0, NULL);
}

static void add_leaf(nxt_generator *gen) {
  int32_t rank;
  int64_t shape[NXG_MAX_RANK], attrs[4];
  nx_dtype t = nxt_random_dtype(gen);
  random_shape(gen, &rank, shape);
  switch (nxt_below(&gen->r, 4)) {
    case 0:
      shape[0] = 1 + nxt_below(&gen->r, 40);
      for (int i = 0; i < 4; i++) attrs[i] = (int64_t)nxt_random_scalar(gen, t);
      nxt_try(gen, NXG_arange, 0, NULL, attrs, 2 * (uint32_t)nxi_parts(t), t, 1, shape);
      break;
    case 1:
      shape[0] = 1 + nxt_below(&gen->r, 12);
      shape[1] = 1 + nxt_below(&gen->r, 12);
      attrs[0] = nxt_below(&gen->r, 9) - 4;
      nxt_try(gen, NXG_eye, 0, NULL, attrs, 1, t, 2, shape);
      break;
    default: nxt_add_full(gen, t, rank, shape);
  }
}

static void add_threefry(nxt_generator *gen) {
  nx_dtype t = nxt_chance(&gen->r, 50) ? NX_I32 : NX_U32;
  int64_t shape[2] = {1 + nxt_below(&gen->r, 40), 2};
  uint32_t key = nxt_matching(gen, t, 2, shape), counter = nxt_matching(gen, t, 2, shape);
  if (key != UINT32_MAX && counter != UINT32_MAX)
    nxt_try(gen, NXG_threefry, 2, (uint32_t[]){key, counter}, NULL, 0, 0, 0, NULL);
}

uint32_t nxt_add_copy(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  return nxt_try(gen, NXG_copy, 1, &x, NULL, 0, 0, 0, NULL);
}

uint32_t nxt_add_reduce(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  return reduce(gen, x, nxt_chance(&gen->r, 60));
}

/* Operations one after the other on one value, as a loop leaves them that was written out. */
static void add_chain(nxt_generator *gen) {
  uint32_t x = nxt_pick(gen);
  for (int64_t n = 10 + nxt_below(&gen->r, 50); n > 0; n--) {
    uint32_t next = nxt_add_map_on(gen, x);
    if (next != UINT32_MAX) x = next;
  }
}

static void add_something(nxt_generator *gen) {
  int64_t dice = nxt_below(&gen->r, 128);
  if (nxt_chance(&gen->r, 1)) {
    add_chain(gen);
    return;
  }
  if (gen->o.elementwise && nxt_chance(&gen->r, 80)) dice = 0;
  if (dice < 42) nxt_add_map_on(gen, nxt_pick(gen));
  else if (dice < 58) nxt_add_movement(gen);
  else if (dice < 60) nxt_add_shifted(gen);
  else if (dice < 69) nxt_add_reduce(gen);
  else if (dice < 74) add_reduce_and_back(gen);
  else if (dice < 79) nxt_add_pad(gen);
  else if (dice < 85) nxt_add_cat(gen);
  else if (dice < 89) nxt_add_update(gen);
  else if (dice < 91) nxt_add_indexed(gen);
  else if (dice < 93) add_leaf(gen);
  else if (dice < 95) nxt_add_copy(gen);
  else if (dice < 97) nxt_add_alias_update(gen);
  else if (dice < 98) nxt_add_matmul(gen);
  else if (dice < 99) nxt_add_scan(gen);
  else if (dice < 100) add_threefry(gen);
  else if (dice < 103) nxt_add_call(gen);
  else if (dice < 104) nxt_add_pair(gen);
  else if (dice < 108) nxt_add_pad(gen);
  else if (dice < 112) nxt_add_cat(gen);
  else if (dice < 114) nxt_add_alias_update(gen);
  else if (dice < 115) add_positions(gen);
  else nxt_add_in_a_way(gen);
}

/* ---- whole graphs */

nxt_graph_options nxt_graph_options_of(uint64_t seed) {
  nxt_graph_options o = {.nodes = (uint32_t)(4 + seed % 17),
                         .elements = seed % 7 == 0 ? 40000 : 3000,
                         .matmul = seed % 5 == 0,
                         .empty = seed % 20 == 3,
                         .rank = seed % 40 == 9 ? 32 : 8,
                         .inputs = 8};
  if (seed % 50 == 25) { /* beyond what one group holds */
    o.nodes = 150;
    o.elements = 400;
    o.elementwise = true;
    o.inputs = 40;
  } else if (seed % 50 == 31) { /* runs that are cut into pieces */
    o.nodes = 4;
    o.elements = 300000;
    o.least_size = 140000;
  } else if (seed % 10 == 7) {
    o.results = true;
  }
  return o;
}

/* Rows of `size` elements in all, long or short. */
static void large_shape(nxt_generator *gen, int32_t *rank, int64_t *shape) {
  static const int64_t rows[] = {1, 2, 3, 17, 64, 300, 1025, 20000};
  *rank = 2;
  shape[0] = rows[nxt_below(&gen->r, sizeof rows / sizeof rows[0])];
  shape[1] = gen->o.least_size / shape[0] + 1 + nxt_below(&gen->r, 20);
  if (nxt_chance(&gen->r, 50)) {
    int64_t swapped = shape[0];
    shape[0] = shape[1];
    shape[1] = swapped;
  }
}

uint32_t nxt_input_flags(nxt_generator *gen) {
  uint32_t flags = nxt_chance(&gen->r, 20) ? NXG_INPUT_OVERWRITE : 0;
  if (flags && gen->g->n_inputs % 4 != 3) flags |= NXG_INPUT_GIVEN | NXG_INPUT_ALIGNED;
  return nxt_chance(&gen->r, 25) ? flags | NXG_INPUT_ALIGNED : flags;
}

static void add_inputs(nxt_generator *gen) {
  int64_t n = 1 + nxt_below(&gen->r, gen->o.inputs - 4);
  for (int64_t i = 0; i < n; i++) {
    int32_t rank;
    int64_t shape[NXG_MAX_RANK];
    random_shape(gen, &rank, shape);
    if (i == 0 && gen->o.least_size > 0) large_shape(gen, &rank, shape);
    uint32_t flags = nxt_input_flags(gen);
    if (gen->o.elementwise && i > 0) { /* the same points for most */
      const nxg_node *first = nxt_node_of(gen, 0);
      rank = first->rank;
      memcpy(shape, first->shape, (size_t)rank * sizeof shape[0]);
    }
    nxg_add_input(gen->g,
                  gen->o.elementwise && i > 0 && nxt_chance(&gen->r, 70)
                      ? (nx_dtype)nxt_node_of(gen, 0)->dtype
                      : nxt_random_dtype(gen),
                  rank, shape, flags, -1, NULL);
  }
}

/* Anything, of all operations. */
static void add_mixture(nxt_generator *gen) {
  const nxt_graph_options *o = &gen->o;
  add_inputs(gen);
  if (o->least_size > 0) reduce(gen, 0, nxt_chance(&gen->r, 60));
  uint32_t target = gen->g->n_nodes + 1 + (uint32_t)nxt_below(&gen->r, 2 * (int64_t)o->nodes);
  for (int attempts = 0; gen->g->n_nodes < target && attempts < 1000 && !gen->g->failed; attempts++)
    add_something(gen);
  nxg_add_output(gen->g, gen->g->n_nodes - 1, "last");
  int64_t outputs = nxt_below(&gen->r, nxt_chance(&gen->r, 10) ? 14 : 4);
  for (int64_t i = 0; i < outputs; i++) nxg_add_output(gen->g, nxt_pick(gen), NULL);
}

nxg_graph *nxt_random_graph(uint64_t seed, const nxt_graph_options *o) {
  nxt_generator gen = {.r = {seed * 0x2545f4914f6cdd1du + 1}, .g = nxg_create("random"), .o = *o};
  if (gen.g == NULL) return NULL;
  if (o->results) nxt_add_results(&gen);
  else add_mixture(&gen);
  if (!gen.g->failed) return gen.g;
  nxg_destroy(gen.g);
  return NULL;
}
