/* SPDX-License-Identifier: ISC */
/* The census of random graphs. */
#include "random_census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph/graph.h"
#include "ir/library/library.h"
#include "tests/random/generator/graph.h"

/* What a graph may have: name, and in how many of 1,000 graphs it must be. */
#define FEATURES(X)                                                         \
  X(many_users, 250, "a node with more than 4 users")                       \
  X(same_operand_twice, 100, "an operation on one value twice")             \
  X(several_outputs, 500, "several outputs")                                \
  X(output_twice, 10, "one node as two outputs")                            \
  X(output_view, 50, "a view as an output")                                 \
  X(view_of_view, 100, "a view of a view")                                  \
  X(several_positions, 100, "a value read through several views")           \
  X(update_of_update, 20, "an update of an update")                         \
  X(update_of_itself, 100, "an update from what it overwrites")             \
  X(alias_range, 100, "an update through an alias range")                   \
  X(overwritable, 100, "an update of an input that may be overwritten")     \
  X(parameter, 150, "a launch parameter")                                   \
  X(several_axes, 100, "a reduction over several axes")                     \
  X(apart_axes, 30, "a reduction over axes that are apart")                 \
  X(reduce_and_back, 100, "a reduction broadcast back")                     \
  X(pad_of_computed, 200, "a pad of a computed value")                      \
  X(cat_of_computed, 200, "a cat of a computed value")                      \
  X(cat_of_many, 20, "a cat of more than 4")                                \
  X(empty, 50, "a node of size 0")                                          \
  X(rank_0, 200, "a node of rank 0")                                        \
  X(high_rank, 10, "a node of rank above 8")                                \
  X(dtypes, 400, "four dtypes or more")                                     \
  X(long_chain, 8, "more than 128 elementwise operations")                  \
  X(many_inputs, 5, "more than 24 inputs")                                  \
  X(output_input, 20, "an input as an output")                              \
  X(output_of_input, 10, "a view of an input as an output")                 \
  X(output_of_output, 10, "a view of another output as an output")          \
  X(output_operand, 200, "an output that other nodes use")                  \
  X(output_leaf, 10, "an output that is made of nothing")                   \
  X(output_shapes, 100, "outputs of several shapes of one value")           \
  X(update_and_outputs, 50, "an update, and three outputs or more")         \
  X(aligned, 100, "an input that is aligned")                               \
  X(reductions_in_turn, 50, "a reduction along other axes than one before") \
  X(reduce_of_joined, 20, "a reduction of what was joined or padded")       \
  X(scan_of_reduced, 5, "a scan of what a reduction is a part of")          \
  X(scan_first, 5, "a scan along an axis that is not the last")             \
  X(cast_between, 20, "a cast between elementwise operations")              \
  X(complex_reduce, 20, "a reduction of complex numbers")                   \
  X(product_chain, 10, "a product of a product")                            \
  X(product_repeated, 5, "a product of which an operand is repeated")       \
  X(product_followed, 40, "an elementwise operation on a product")          \
  X(nibble_middle, 2, "nibbles from the middle of a byte on")               \
  X(results, 20, "results of one shape, a call and reductions between")     \
  X(large, 10, "a reduction of more than 2^17 elements")                    \
  X(odd_extent, 200, "an extent next to a power of two from 32 on")

enum {
#define FEATURE(name, least, sentence) F_##name,
  FEATURES(FEATURE) FEATURE_COUNT
#undef FEATURE
};
static const struct {
  uint64_t least;
  const char *sentence;
} features[FEATURE_COUNT] = {
#define FEATURE(name, least, sentence) {least, sentence},
    FEATURES(FEATURE)
#undef FEATURE
};

/* In what ways an operation meets its operands and users: every operation but those that cannot, in
 * every way. */
#define WAYS(X)                                      \
  X(computed, "of a computed value")                 \
  X(transposed, "of a view, axes exchanged")         \
  X(reversed, "of a view, backwards")                \
  X(repeated, "of a view, repeated")                 \
  X(overlapping, "of a view, windows that overlap")  \
  X(offset, "of a view, not from the first element") \
  X(twice, "of one value twice")                     \
  X(rank_0, "rank 0")                                \
  X(rank_above_8, "rank above 8")                    \
  X(empty, "of nothing")                             \
  X(parameter, "of a launch parameter")              \
  X(output, "as an output")                          \
  X(shared, "used by several")                       \
  X(updated, "then updated")

enum {
#define WAY(name, sentence) W_##name,
  WAYS(WAY) WAY_COUNT
#undef WAY
};
static const char *const ways[WAY_COUNT] = {
#define WAY(name, sentence) sentence,
    WAYS(WAY)
#undef WAY
};

typedef struct census {
  uint64_t operations[NXG_OP_COUNT][NXI_DTYPE_COUNT];
  uint64_t met[NXG_OP_COUNT][WAY_COUNT]; /* elementwise operations all in the row of NXG_neg */
  uint64_t graphs[FEATURE_COUNT], nodes;
} census;

/* The dtype that an operation is about: of its operands, of a leaf its own. */
static nx_dtype subject(const nxg_graph *g, const nxg_node *n) {
  return n->n_args == 0 ? n->dtype : g->nodes[n->args[n->op == NXG_where ? 1 : 0]].dtype;
}

static bool is_computed(const nxg_graph *g, uint32_t node) {
  nxg_kind kind = (nxg_kind)nxg_ops[g->nodes[node].op].kind;
  return kind == NXG_KIND_MAP || kind == NXG_KIND_REDUCE;
}

static uint32_t under_views(const nxg_graph *g, uint32_t node) {
  while (g->nodes[node].op == NXG_view) node = g->nodes[node].args[0];
  return node;
}

static void look_at_reduce(const nxg_graph *g, const nxg_node *n, bool *has) {
  const nxg_node *x = &g->nodes[n->args[0]];
  nxg_run runs[NXG_MAX_RANK];
  if (n->op == NXG_argmax || n->op == NXG_argmin) return;
  uint32_t mask = (uint32_t)n->attrs[0];
  has[F_several_axes] |= (mask & (mask - 1)) != 0;
  has[F_apart_axes] |= nxg_reduce_runs(x->rank, x->shape, mask, runs) > 1;
  has[F_large] |= nxg_node_elements(x) > 1 << 17;
}

static void look_at_update(const nxg_graph *g, const nxg_node *n, bool *has) {
  const nxg_node *old = &g->nodes[n->args[0]];
  has[F_update_of_update] |= old->op == NXG_update;
  has[F_alias_range] |= n->n_args == 3;
  has[F_overwritable] |=
      old->op == NXG_input && g->inputs[old->attrs[0]].flags & NXG_INPUT_OVERWRITE;
  const nxg_node *source = &g->nodes[n->args[1]];
  for (uint32_t a = 0; a < source->n_args; a++)
    has[F_update_of_itself] |= under_views(g, source->args[a]) == n->args[0];
}

/* A reduction that keeps its axes, expanded to what was reduced, and both used by one operation. */
static bool is_reduce_and_back(const nxg_graph *g, const nxg_node *n) {
  if (n->n_args != 2 || g->nodes[n->args[1]].op != NXG_view) return false;
  const nxg_node *reduce = &g->nodes[under_views(g, n->args[1])];
  if (reduce->op == NXG_cast) reduce = &g->nodes[reduce->args[0]];
  return nxg_ops[reduce->op].kind == NXG_KIND_REDUCE && reduce->args[0] == n->args[0];
}

/* Whether an operation that `is` of this kind is among what a node is made of, a few steps back. */
static const nxg_node *made_of(const nxg_graph *g, uint32_t node, bool (*is)(const nxg_node *),
                               int depth) {
  const nxg_node *n = &g->nodes[node], *found = is(n) ? n : NULL;
  for (uint32_t a = 0; found == NULL && depth > 0 && a < n->n_args; a++)
    found = made_of(g, n->args[a], is, depth - 1);
  return found;
}
static bool is_reduce(const nxg_node *n) { return nxg_ops[n->op].kind == NXG_KIND_REDUCE; }
static bool is_joined(const nxg_node *n) { return n->op == NXG_cat || n->op == NXG_pad; }
static bool is_product(const nxg_node *n) { return n->op == NXG_matmul; }

static void look_at_sources(const nxg_graph *g, const nxg_node *n, bool *has) {
  has[F_nibble_middle] |=
      n->op == NXG_view && nxi_dtypes[n->dtype].bits == 4 && n->attrs[0] % 2 != 0;
  if (n->n_args == 0) return;
  const nxg_node *x = &g->nodes[n->args[0]], *before = made_of(g, n->args[0], is_reduce, 4);
  bool map = nxg_ops[n->op].kind == NXG_KIND_MAP, reduce = is_reduce(n), scan = nxg_is_scan(n->op);
  has[F_reductions_in_turn] |= reduce && before != NULL && before->attrs[0] != n->attrs[0];
  has[F_reduce_of_joined] |= reduce && made_of(g, n->args[0], is_joined, 3) != NULL;
  has[F_complex_reduce] |= reduce && nxi_is_complex(x->dtype);
  has[F_scan_of_reduced] |= scan && before != NULL;
  has[F_scan_first] |= scan && n->attrs[0] + 1 < n->rank;
  has[F_cast_between] |= map && x->op == NXG_cast && is_computed(g, x->args[0]);
  has[F_product_chain] |= is_product(n) && made_of(g, n->args[0], is_product, 2) != NULL;
  has[F_product_followed] |= map && is_product(x);
  for (int32_t i = 0; is_product(n) && x->op == NXG_view && i < x->rank; i++)
    has[F_product_repeated] |= x->shape[i] > 1 && x->attrs[1 + i] == 0;
}

static void look_at_node(const nxg_graph *g, uint32_t i, bool *has) {
  const nxg_node *n = &g->nodes[i];
  has[F_rank_0] |= n->rank == 0;
  has[F_high_rank] |= n->rank > 8;
  has[F_empty] |= nxg_node_elements(n) == 0;
  for (int32_t a = 0; a < n->rank; a++)
    for (int64_t p = 32; p <= 4096; p *= 2)
      has[F_odd_extent] |= n->shape[a] == p - 1 || n->shape[a] == p + 1;
  for (uint32_t a = 1; a < n->n_args && n->op != NXG_cat; a++)
    has[F_same_operand_twice] |= n->args[a] == n->args[0];
  has[F_view_of_view] |= n->op == NXG_view && g->nodes[n->args[0]].op == NXG_view;
  has[F_parameter] |= n->op == NXG_full && n->attrs[1] >= 0;
  has[F_pad_of_computed] |= n->op == NXG_pad && is_computed(g, n->args[0]);
  for (uint32_t a = 0; n->op == NXG_cat && a < n->n_args; a++)
    has[F_cat_of_computed] |= is_computed(g, n->args[a]);
  has[F_cat_of_many] |= n->op == NXG_cat && n->n_args > 4;
  has[F_reduce_and_back] |= is_reduce_and_back(g, n);
  if (nxg_ops[n->op].kind == NXG_KIND_REDUCE) look_at_reduce(g, n, has);
  if (n->op == NXG_update) look_at_update(g, n, has);
  look_at_sources(g, n, has);
}

static bool is_output(const nxg_graph *g, uint32_t node) {
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (g->outputs[i].node == node) return true;
  return false;
}

static void look_at_output(const nxg_graph *g, uint32_t node, bool *has) {
  const nxg_node *n = &g->nodes[node];
  bool view = n->op == NXG_view;
  has[F_output_input] |= n->op == NXG_input;
  has[F_output_leaf] |= nxg_ops[n->op].kind == NXG_KIND_LEAF && n->op != NXG_input;
  has[F_output_of_input] |= view && g->nodes[under_views(g, node)].op == NXG_input;
  has[F_output_of_output] |= view && is_output(g, n->args[0]);
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++) {
      const nxg_node *user = &g->nodes[i];
      if (user->args[a] != node) continue;
      has[F_output_operand] = true;
      has[F_output_shapes] |=
          is_output(g, i) && !nxg_same_shape(n->rank, n->shape, user->rank, user->shape);
    }
}

/* Two outputs of one shape, two reductions that go back, and a call. */
static bool has_results(const nxg_graph *g) {
  int back = 0, calls = 0;
  bool alike = false;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    back += n->op == NXG_view && is_reduce(&g->nodes[n->args[0]]);
    calls += nxg_ops[n->op].kind == NXG_KIND_CALL || n->op == NXG_scatter || is_product(n);
  }
  for (uint32_t i = 1; i < g->n_outputs; i++) {
    const nxg_node *x = &g->nodes[g->outputs[0].node], *y = &g->nodes[g->outputs[i].node];
    alike |= x != y && nxg_same_shape(x->rank, x->shape, y->rank, y->shape);
  }
  return alike && back > 1 && calls > 0;
}

/* ---- ways */

/* How a view reads what it is a view of. */
static void look_at_view(const nxg_graph *g, uint32_t node, bool *met) {
  nxg_view v;
  int64_t below = INT64_MAX;
  nxg_node_view(g, node, &v);
  bool empty = nxg_elements(v.rank, v.shape) == 0, zero = false;
  for (int32_t i = 0; i < v.rank && !empty; i++) {
    if (v.shape[i] == 1) continue;
    int64_t stride = v.strides[i] < 0 ? -v.strides[i] : v.strides[i];
    met[W_reversed] |= v.strides[i] < 0;
    met[W_repeated] |= stride == 0;
    met[W_transposed] |= stride > below;
    zero = zero || stride == 0;
    if (stride != 0) below = stride;
  }
  met[W_overlapping] |= !empty && !zero && nxg_view_overlaps_itself(&v);
  met[W_offset] |= !empty && v.offset != 0;
}

static void look_at_operand(const nxg_graph *g, uint32_t node, bool *met) {
  const nxg_node *x = &g->nodes[node];
  met[W_rank_0] |= x->rank == 0;
  met[W_rank_above_8] |= x->rank > 8;
  met[W_empty] |= nxg_node_elements(x) == 0;
  if (x->op == NXG_view) look_at_view(g, node, met);
  met[W_computed] |= nxg_ops[x->op].kind != NXG_KIND_LEAF && x->op != NXG_view;
  x = &g->nodes[under_views(g, node)];
  met[W_parameter] |= x->op == NXG_full && x->attrs[1] >= 0;
}

static uint32_t row_of(uint32_t op) {
  return nxg_ops[op].kind == NXG_KIND_MAP ? (uint32_t)NXG_neg : op;
}

static void count_ways(census *c, const nxg_graph *g) {
  uint32_t *users = calloc((size_t)g->n_nodes + 1, sizeof *users);
  if (users == NULL) abort();
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    bool met[WAY_COUNT] = {false};
    for (uint32_t a = 0; a < n->n_args; a++) {
      look_at_operand(g, n->args[a], met);
      met[W_twice] |= a > 0 && n->args[a] == n->args[0];
      users[n->args[a]]++;
    }
    if (n->n_args == 0) look_at_operand(g, i, met);
    for (int w = 0; w < WAY_COUNT; w++) c->met[row_of(n->op)][w] += met[w];
    if (n->op == NXG_update) c->met[row_of(g->nodes[n->args[0]].op)][W_updated]++;
  }
  for (uint32_t i = 0; i < g->n_nodes; i++)
    c->met[row_of(g->nodes[i].op)][W_shared] += users[i] > 1;
  for (uint32_t i = 0; i < g->n_outputs; i++)
    c->met[row_of(g->nodes[g->outputs[i].node].op)][W_output]++;
  free(users);
}

static void look_at_users(const nxg_graph *g, bool *has) {
  uint32_t *users = calloc(2 * (size_t)g->n_nodes + 2, sizeof *users),
           *views = users + g->n_nodes + 1;
  if (users == NULL) abort();
  for (uint32_t i = 0; i < g->n_nodes; i++)
    for (uint32_t a = 0; a < g->nodes[i].n_args; a++) {
      users[g->nodes[i].args[a]]++;
      views[g->nodes[i].args[a]] += g->nodes[i].op == NXG_view;
    }
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    has[F_many_users] |= users[i] > 4;
    has[F_several_positions] |= views[i] > 1;
  }
  free(users);
}

static void look_at_whole(const nxg_graph *g, bool *has) {
  bool seen[NXI_DTYPE_COUNT] = {false};
  int dtypes = 0, maps = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    dtypes += !seen[g->nodes[i].dtype];
    seen[g->nodes[i].dtype] = true;
    maps += nxg_ops[g->nodes[i].op].kind == NXG_KIND_MAP;
  }
  has[F_dtypes] = dtypes >= 4;
  has[F_long_chain] = maps > 128;
  has[F_many_inputs] = g->n_inputs > 24;
  has[F_several_outputs] = g->n_outputs > 1;
  has[F_results] = has_results(g);
  for (uint32_t i = 0; i < g->n_inputs; i++)
    has[F_aligned] |= (g->inputs[i].flags & NXG_INPUT_ALIGNED) != 0;
  for (uint32_t i = 0; i < g->n_nodes; i++)
    has[F_update_and_outputs] |= g->nodes[i].op == NXG_update && g->n_outputs > 2;
  for (uint32_t i = 0; i < g->n_outputs; i++) {
    look_at_output(g, g->outputs[i].node, has);
    has[F_output_view] |= g->nodes[g->outputs[i].node].op == NXG_view;
    for (uint32_t k = 0; k < i; k++)
      has[F_output_twice] |= g->outputs[i].node == g->outputs[k].node;
  }
}

static void count(census *c, const nxg_graph *g) {
  bool has[FEATURE_COUNT] = {false};
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    c->operations[g->nodes[i].op][subject(g, &g->nodes[i])]++;
    look_at_node(g, i, has);
  }
  look_at_users(g, has);
  look_at_whole(g, has);
  count_ways(c, g);
  for (int f = 0; f < FEATURE_COUNT; f++) c->graphs[f] += has[f];
  c->nodes += g->n_nodes;
}

/* ---- the report */

/* The classes of a row say too much: functions take some dtypes of them. The first attribute may be
 * a mask that wants a bit. */
static bool call_admits(nxg_op op, nx_dtype t) {
  const int64_t shape[2] = {2, 2};
  int64_t attrs[NXG_CALL_MOST_ATTRS] = {0};
  nxg_type types[NXG_CALL_OPERANDS];
  bool admits = false;
  if (nxg_ops[op].args < 0) return false; /* custom, of a caller's function; attention, of a pass */
  for (uint32_t i = 0; i < (uint32_t)nxg_ops[op].args; i++) types[i] = (nxg_type){t, 2, shape};
  for (; attrs[0] < 2 && !admits; attrs[0]++) {
    nxg_call call;
    nxi_diag d;
    nxi_diag_clear(&d);
    admits = nxg_call_infer(op, (uint32_t)nxg_ops[op].args, types, attrs, nxg_call_attrs(op), &call,
                            &d) == NX_OK;
  }
  return admits;
}

static bool print_operations(const census *c) {
  bool complete = true;
  printf("%-12s", "");
  for (int t = 1; t < NXI_DTYPE_COUNT; t++) printf("%7s", nxi_dtypes[t].name);
  printf("\n");
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    if (nxg_ops[op].kind == NXG_KIND_CONTROL) continue; /* random_loops.c */
    printf("%-12s", nxg_ops[op].name);
    for (int t = 1; t < NXI_DTYPE_COUNT; t++) {
      bool admitted = nxg_op_admits((nxg_op)op, t) &&
                      (nxg_ops[op].kind != NXG_KIND_CALL || call_admits((nxg_op)op, t)) &&
                      (op != NXG_threefry || t == NX_I32 || t == NX_U32);
      if (admitted) printf("%7llu", (unsigned long long)c->operations[op][t]);
      else printf("%7s", "");
      complete = complete && (!admitted || c->operations[op][t] > 0);
    }
    printf("\n");
  }
  if (!complete) printf("an operation never occurs with a dtype that it admits\n");
  return complete;
}

/* Calls that are mostly given sound matrices: others may be singular, or must be square. */
static bool wants_sound(nxg_op op) {
  return nxg_call_fails(op) || (nxg_ops[op].args > 1 && op != NXG_matmul_i32) || op == NXG_det ||
         op == NXG_slogdet || op == NXG_cholesky_info || op == NXG_inv_info || op == NXG_sytrd ||
         op == NXG_gehrd || op == NXG_expm;
}

/* The second operand has another rank than the first. */
static bool takes_a_vector(int op) {
  return op == NXG_householder_product || op == NXG_ormqr || op == NXG_cholesky_update;
}

/* Leaves have no operands, some operations take one, of some rank, or nothing that a parameter can
 * be. */
static bool can_meet(int op, int way) {
  bool leaf = nxg_ops[op].kind == NXG_KIND_LEAF, call = nxg_ops[op].kind == NXG_KIND_CALL;
  if (op >= NXG_custom && call) return false; /* a function of a caller; made by passes alone */
  switch (way) {
    case W_rank_0:
      return op == NXG_neg || op == NXG_view || op == NXG_copy || op == NXG_pad ||
             op == NXG_input || op == NXG_full || op == NXG_update;
    case W_rank_above_8:
    case W_empty: return op != NXG_arange && op != NXG_eye;
    case W_output:
    case W_shared: return true;
    case W_updated: return op != NXG_view;
    case W_twice:
      return (nxg_ops[op].args > 1 || nxg_ops[op].args < 0) && op != NXG_gather &&
             !takes_a_vector(op);
    case W_overlapping: return !leaf && !(call && wants_sound((nxg_op)op));
    case W_parameter: return op == NXG_full || (!leaf && !call);
    default: return !leaf;
  }
}

static bool print_ways(const census *c) {
  bool complete = true;
  for (int w = 0; w < WAY_COUNT; w++) printf("%c: %s\n", 'a' + w, ways[w]);
  printf("%-16s", "");
  for (int w = 0; w < WAY_COUNT; w++) printf("%7c", 'a' + w);
  printf("\n");
  for (int op = 0; op < NXG_OP_COUNT; op++) {
    if ((int)row_of((uint32_t)op) != op || nxg_ops[op].kind == NXG_KIND_CONTROL) continue;
    printf("%-16s", op == NXG_neg ? "elementwise" : nxg_ops[op].name);
    for (int w = 0; w < WAY_COUNT; w++) {
      bool can = can_meet(op, w);
      if (can) printf("%7llu", (unsigned long long)c->met[op][w]);
      else printf("%7s", "");
      complete = complete && (!can || c->met[op][w] > 0);
    }
    printf("\n");
  }
  if (!complete) printf("an operation never occurs in a way in which it can\n");
  return complete;
}

static bool print_features(const census *c, uint64_t graphs) {
  bool enough = true;
  for (int f = 0; f < FEATURE_COUNT; f++) {
    bool rare = c->graphs[f] * 1000 < features[f].least * graphs;
    printf("%7llu of %llu graphs have %s%s\n", (unsigned long long)c->graphs[f],
           (unsigned long long)graphs, features[f].sentence, rare ? ": TOO FEW" : "");
    enough = enough && !rare;
  }
  return enough;
}

bool nxt_random_census(uint64_t first, uint64_t graphs) {
  census c = {0};
  bool sound = true;
  for (uint64_t seed = first; seed < first + graphs; seed++) {
    nxt_graph_options o = nxt_graph_options_of(seed);
    nxg_graph *g = nxt_random_graph(seed, &o);
    nxi_text faults = {0};
    if (g == NULL) abort();
    if (!nxg_verify(g, &faults)) {
      printf("seed %llu:\n%s\n", (unsigned long long)seed, faults.data != NULL ? faults.data : "");
      sound = false;
    }
    nxi_text_free(&faults);
    count(&c, g);
    nxg_destroy(g);
  }
  printf("%llu nodes\n", (unsigned long long)c.nodes);
  bool complete = print_operations(&c), all = print_ways(&c), enough = print_features(&c, graphs);
  return sound && complete && all && enough;
}
