/* SPDX-License-Identifier: ISC */
/* The random graph generator: several results that are made of the same values. All values have one
 * small shape and one dtype, so that any may become one kernel with any other, and between them is
 * what no kernel takes in: products, sorts, transforms, scatters, updates, and reductions along
 * other axes, broadcast back. Where fusion decides which groups become one, such graphs have the
 * paths through third groups that it must see. Also the same graphs with their outputs in other
 * orders. */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

typedef struct nxt_results {
  nxt_generator *gen;
  nx_dtype t;
  int32_t rank;
  int64_t shape[4];
  uint32_t *pool; /* nodes of exactly this dtype and shape */
  uint32_t n;
} nxt_results;

enum { MOST_IN_POOL = 256 };

static uint32_t draw(nxt_results *s) {
  uint32_t recent = s->n < 5 ? s->n : 5;
  return nxt_chance(&s->gen->r, 50) ? s->pool[s->n - 1 - nxt_below(&s->gen->r, recent)]
                                    : s->pool[nxt_below(&s->gen->r, s->n)];
}

/* True if the node is one more of the pool. */
static bool keep(nxt_results *s, uint32_t node) {
  if (node == UINT32_MAX || s->n == MOST_IN_POOL) return false;
  const nxg_node *n = nxt_node_of(s->gen, node);
  if (n->dtype != s->t || !nxg_same_shape(n->rank, n->shape, s->rank, s->shape)) return false;
  s->pool[s->n++] = node;
  return true;
}

static uint32_t one(nxt_results *s, nxg_op op, uint32_t x, const int64_t *attrs, uint32_t n_attrs) {
  return x == UINT32_MAX ? x : nxt_try(s->gen, op, 1, &x, attrs, n_attrs, 0, 0, NULL);
}

static uint32_t two(nxt_results *s, nxg_op op, uint32_t a, uint32_t b) {
  uint32_t args[2] = {a, b};
  if (a == UINT32_MAX || b == UINT32_MAX) return UINT32_MAX;
  return nxt_try(s->gen, op, 2, args, NULL, 0, 0, 0, NULL);
}

static uint32_t cast_to(nxt_results *s, uint32_t x, nx_dtype t) {
  if (x == UINT32_MAX || nxt_node_of(s->gen, x)->dtype == t) return x;
  return nxt_try(s->gen, NXG_cast, 1, &x, NULL, 0, t, 0, NULL);
}

static nxg_op admitted(nxt_results *s, const nxg_op *ops, int64_t n) {
  nxg_op op;
  do op = ops[nxt_below(&s->gen->r, n)];
  while (!nxg_op_admits(op, s->t));
  return op;
}

/* ---- one value more */

static uint32_t add_map(nxt_results *s) {
  static const nxg_op few[] = {NXG_add, NXG_sub, NXG_mul, NXG_max,   NXG_min,  NXG_xor,
                               NXG_and, NXG_add, NXG_sub, NXG_cmplt, NXG_cmpeq};
  if (nxt_chance(&s->gen->r, 25)) return nxt_add_map_on(s->gen, draw(s));
  return cast_to(s, two(s, admitted(s, few, sizeof few / sizeof few[0]), draw(s), draw(s)), s->t);
}

/* In the shape of all, along which it is repeated. */
static uint32_t back(nxt_results *s, uint32_t x) {
  nxg_view v;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (x == UINT32_MAX) return x;
  nxg_node_view(s->gen->g, x, &v);
  if (nxg_view_expand(&v, s->rank, s->shape, &v, &d) != NX_OK) return UINT32_MAX;
  return nxt_add_view(s->gen, x, &v);
}

/* A reduction broadcast back: by itself, or combined with what it was made of or something else. */
static uint32_t add_reduce(nxt_results *s) {
  static const nxg_op reductions[] = {NXG_reduce_sum,  NXG_reduce_max, NXG_reduce_min,
                                      NXG_reduce_prod, NXG_argmax,     NXG_argmin,
                                      NXG_reduce_sum};
  nxg_op op = admitted(s, reductions, 7);
  uint32_t x = draw(s);
  bool one_axis = op == NXG_argmax || op == NXG_argmin;
  int64_t axes = one_axis ? nxt_below(&s->gen->r, s->rank)
                          : 1 + nxt_below(&s->gen->r, ((int64_t)1 << s->rank) - 1);
  uint32_t reduced = cast_to(s, one(s, op, x, (int64_t[]){axes, 1}, 2), s->t);
  if (reduced != UINT32_MAX && nxt_chance(&s->gen->r, 20)) {
    nxg_op map = nxg_op_admits(NXG_sqrt, s->t) ? NXG_exp : NXG_sub;
    reduced = map == NXG_exp ? one(s, map, reduced, NULL, 0) : two(s, map, reduced, reduced);
  }
  uint32_t whole = back(s, reduced);
  if (nxt_chance(&s->gen->r, 30)) return whole;
  return two(s, nxt_chance(&s->gen->r, 50) ? NXG_add : NXG_sub,
             nxt_chance(&s->gen->r, 50) ? x : draw(s), whole);
}

static uint32_t turned(nxt_results *s, uint32_t x) {
  nxg_view v;
  nxi_diag d;
  int32_t axes[4] = {0, 1, 2, 3};
  nxi_diag_clear(&d);
  if (s->rank < 2 || x == UINT32_MAX) return UINT32_MAX;
  axes[s->rank - 1] = s->rank - 2;
  axes[s->rank - 2] = s->rank - 1;
  nxg_view_contiguous(&v, s->rank, s->shape);
  return nxg_view_permute(&v, axes, (size_t)s->rank, &v, &d) == NX_OK ? nxt_add_view(s->gen, x, &v)
                                                                      : UINT32_MAX;
}

/* x y where that has the shape of all, else x xT y. */
static uint32_t add_product(nxt_results *s) {
  if (s->rank < 2) return UINT32_MAX;
  uint32_t x = draw(s), y = draw(s);
  if (s->shape[s->rank - 1] == s->shape[s->rank - 2]) {
    if (nxt_chance(&s->gen->r, 20)) y = turned(s, y);
    return two(s, NXG_matmul, x, y);
  }
  return two(s, NXG_matmul, two(s, NXG_matmul, x, turned(s, draw(s))), y);
}

static uint32_t add_sort(nxt_results *s) {
  nxg_op op = nxt_chance(&s->gen->r, 70) ? NXG_sort : NXG_argsort;
  int64_t attrs[2] = {nxt_below(&s->gen->r, s->rank), nxt_below(&s->gen->r, 2)};
  return nxg_op_admits(op, s->t) ? cast_to(s, one(s, op, draw(s), attrs, 2), s->t) : UINT32_MAX;
}

/* Along some axes; of reals: of two as one complex value. */
static uint32_t add_transform(nxt_results *s) {
  int64_t axes = 1 + nxt_below(&s->gen->r, ((int64_t)1 << s->rank) - 1);
  nxg_op op = nxt_chance(&s->gen->r, 50) ? NXG_fft : NXG_ifft;
  if (nxi_is_complex(s->t)) return one(s, op, draw(s), &axes, 1);
  if (s->t != NX_F32 && s->t != NX_F64) return UINT32_MAX;
  uint32_t y = one(s, op, two(s, NXG_complex, draw(s), draw(s)), &axes, 1);
  return one(s, nxt_chance(&s->gen->r, 50) ? NXG_real : NXG_imag, y, NULL, 0);
}

/* Indices of the whole shape into one axis, in range, made of a value of the pool or not. */
static uint32_t indices(nxt_results *s, int64_t extent) {
  int64_t attrs[2] = {extent, -1}, count[2] = {0, 1}, elements = nxg_elements(s->rank, s->shape);
  uint32_t x = nxt_chance(&s->gen->r, 50) && !nxi_is_complex(s->t)
                   ? cast_to(s, draw(s), NX_I32)
                   : nxt_try(s->gen, NXG_arange, 0, NULL, count, 2, NX_I32, 1, &elements);
  if (x != UINT32_MAX && nxt_node_of(s->gen, x)->rank != s->rank) {
    nxg_view v;
    nxg_view_contiguous(&v, s->rank, s->shape);
    x = nxt_add_view(s->gen, x, &v);
  }
  uint32_t most = nxt_try(s->gen, NXG_full, 0, NULL, attrs, 2, NX_I32, s->rank, s->shape);
  return two(s, NXG_mod, x, most);
}

static uint32_t add_indexed(nxt_results *s) {
  int64_t axis = nxt_below(&s->gen->r, s->rank),
          attrs[2] = {axis, nxt_scatter_bits(&s->gen->r, s->t)};
  uint32_t args[3] = {draw(s), indices(s, s->shape[axis]), draw(s)};
  if (args[1] == UINT32_MAX) return UINT32_MAX;
  return nxt_chance(&s->gen->r, 30) ? nxt_try(s->gen, NXG_gather, 2, args, attrs, 1, 0, 0, NULL)
                                    : nxt_try(s->gen, NXG_scatter, 3, args, attrs, 2, 0, 0, NULL);
}

static uint32_t add_scan(nxt_results *s) {
  static const nxg_op scans[] = {NXG_scan_sum, NXG_scan_max, NXG_scan_min, NXG_scan_prod};
  if (s->t == NX_BOOL) return UINT32_MAX;
  int64_t attrs[2] = {nxt_below(&s->gen->r, s->rank), nxt_chance(&s->gen->r, 20)};
  return one(s, admitted(s, scans, 4), draw(s), attrs, 2);
}

/* Two values joined along an axis, or one padded, and as much of that as the shape takes. */
static uint32_t add_joined(nxt_results *s) {
  int64_t axis = nxt_below(&s->gen->r, s->rank), attrs[10] = {0};
  uint32_t args[2] = {draw(s), draw(s)}, wide;
  bool complex = nxi_is_complex(s->t);
  attrs[1 + axis] = nxt_below(&s->gen->r, 3);
  attrs[1 + s->rank + axis] = nxt_below(&s->gen->r, 3);
  if (nxt_chance(&s->gen->r, 50)) wide = nxt_try(s->gen, NXG_cat, 2, args, &axis, 1, 0, 0, NULL);
  else wide = one(s, NXG_pad, args[0], attrs, 1 + 2 * (uint32_t)s->rank + complex);
  if (wide == UINT32_MAX) return wide;
  nxg_view v;
  nxg_node_view(s->gen->g, wide, &v);
  v.offset += nxt_below(&s->gen->r, v.shape[axis] - s->shape[axis] + 1) * v.strides[axis];
  v.shape[axis] = s->shape[axis];
  return nxt_add_view(s->gen, wide, &v);
}

/* One row along the first axis is overwritten by that of another value. */
static uint32_t add_update(nxt_results *s) {
  nxg_view v;
  uint32_t old = draw(s);
  if (nxt_node_of(s->gen, old)->op == NXG_view) return UINT32_MAX;
  nxg_node_view(s->gen->g, old, &v);
  v.offset = nxt_below(&s->gen->r, s->shape[0]) * v.strides[0];
  v.shape[0] = 1;
  uint32_t row = nxt_add_view(s->gen, draw(s), &v);
  int64_t attrs[2 + 8] = {v.offset, s->rank};
  memcpy(attrs + 2, v.shape, (size_t)s->rank * sizeof *attrs);
  memcpy(attrs + 2 + s->rank, v.strides, (size_t)s->rank * sizeof *attrs);
  uint32_t args[2] = {old, row};
  return row == UINT32_MAX
             ? row
             : nxt_try(s->gen, NXG_update, 2, args, attrs, 2 + 2 * (uint32_t)s->rank, 0, 0, NULL);
}

static uint32_t add_cast(nxt_results *s) {
  nx_dtype t = nxt_random_dtype(s->gen);
  if (nxi_is_complex(s->t) && !nxi_is_complex(t)) return one(s, NXG_conj, draw(s), NULL, 0);
  return cast_to(s, cast_to(s, draw(s), t), s->t);
}

static uint32_t add_value(nxt_results *s) {
  static uint32_t (*const makers[])(nxt_results *) = {
      add_map,     add_map,     add_map,  add_map,    add_reduce,    add_reduce,
      add_reduce,  add_reduce,  add_sort, add_sort,   add_transform, add_product,
      add_product, add_indexed, add_scan, add_joined, add_update,    add_cast};
  switch (nxt_below(&s->gen->r, 20)) {
    case 0: return one(s, NXG_copy, draw(s), NULL, 0);
    case 1:
      return s->rank > 1 && s->shape[s->rank - 1] == s->shape[s->rank - 2] ? turned(s, draw(s))
                                                                           : add_map(s);
    default: return makers[nxt_below(&s->gen->r, sizeof makers / sizeof makers[0])](s);
  }
}

/* ---- the graph */

static void choose_type(nxt_results *s) {
  static const nx_dtype often[] = {NX_F32, NX_F64, NX_F32, NX_I32, NX_C64};
  static const int64_t extents[] = {2, 3, 4, 5, 8, 17};
  nxt_random *r = &s->gen->r;
  s->t = nxt_chance(r, 75) ? often[nxt_below(r, 5)] : nxt_random_dtype(s->gen);
  if (nxi_is_stored(s->t)) s->t = NX_F16; /* few operations take stored values */
  s->rank = nxt_chance(r, 70) ? 2 : 1 + (int32_t)nxt_below(r, 4);
  for (int32_t i = 0; i < s->rank; i++) s->shape[i] = extents[nxt_below(r, s->rank > 2 ? 3 : 6)];
  if (s->rank > 1 && nxt_chance(r, 50)) s->shape[s->rank - 1] = s->shape[s->rank - 2];
}

/* What nobody uses, and some of the others, in any order. */
static void choose_outputs(nxt_results *s) {
  nxg_graph *g = s->gen->g;
  bool used[MOST_IN_POOL] = {false};
  uint32_t chosen[8], n = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++)
      for (uint32_t k = 0; k < s->n; k++) used[k] |= s->pool[k] == g->nodes[i].args[a];
  for (uint32_t k = s->n; k-- > 0 && n < 5;)
    if (!used[k] && nxg_ops[g->nodes[s->pool[k]].op].kind != NXG_KIND_LEAF)
      chosen[n++] = s->pool[k];
  for (int64_t more = 1 + nxt_below(&s->gen->r, 3); more > 0; more--) chosen[n++] = draw(s);
  for (uint32_t i = n; i > 0; i--) {
    uint32_t k = (uint32_t)nxt_below(&s->gen->r, i), node = chosen[k];
    chosen[k] = chosen[i - 1];
    nxg_add_output(g, node, NULL);
  }
}

void nxt_add_results(nxt_generator *gen) {
  uint32_t pool[MOST_IN_POOL];
  nxt_results s = {.gen = gen, .pool = pool};
  choose_type(&s);
  int64_t inputs = 1 + nxt_below(&gen->r, 3), values = 4 + nxt_below(&gen->r, 20);
  for (int64_t i = 0; i < inputs; i++)
    pool[s.n++] = nxg_add_input(gen->g, s.t, s.rank, s.shape, nxt_input_flags(gen), -1, NULL);
  for (int attempt = 0; attempt < 100 && (int64_t)s.n < values && !gen->g->failed; attempt++)
    keep(&s, add_value(&s));
  choose_outputs(&s);
}

/* ---- other orders */

static void visit(const nxg_graph *g, uint32_t node, nxg_graph *out, uint32_t *map) {
  uint32_t args[64];
  const nxg_node *n = &g->nodes[node];
  if (map[node] != UINT32_MAX) return;
  for (uint32_t a = 0; a < n->n_args; a++) visit(g, n->args[a], out, map);
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = map[n->args[a]];
  map[node] = nxg_add(out, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, (nx_dtype)n->dtype,
                      n->rank, n->shape);
}

nxg_graph *nxt_in_order(const nxg_graph *g, const uint32_t *outputs, uint32_t n) {
  nxg_graph *out = nxg_create("order");
  uint32_t *map = malloc((g->n_nodes + 1) * sizeof *map);
  if (out == NULL || map == NULL) abort();
  memset(map, 0xff, g->n_nodes * sizeof *map);
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    const nxg_node *x = &g->nodes[g->inputs[i].node];
    map[g->inputs[i].node] = nxg_add_input(out, (nx_dtype)x->dtype, x->rank, x->shape,
                                           g->inputs[i].flags, g->inputs[i].alias, NULL);
  }
  for (uint32_t i = 0; i < n; i++) visit(g, g->outputs[outputs[i]].node, out, map);
  for (uint32_t i = 0; i < n; i++) nxg_add_output(out, map[g->outputs[outputs[i]].node], NULL);
  free(map);
  return out;
}

uint32_t nxt_next_order(nxt_random *r, uint32_t n, uint32_t number, uint32_t *order) {
  uint32_t all = n < 5 ? (uint32_t[]){1, 1, 2, 6, 24}[n] : 24, left = number;
  if (number >= all + n) return 0;
  if (number >= all) { /* each alone */
    order[0] = number - all;
    return 1;
  }
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  for (uint32_t i = n; i > 1; i--) {
    uint32_t k = n < 5 ? left % i : (uint32_t)nxt_below(r, i), swapped = order[k];
    left /= i;
    order[k] = order[i - 1];
    order[i - 1] = swapped;
  }
  return n;
}
