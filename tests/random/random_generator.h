/* SPDX-License-Identifier: ISC */
/* What the files of the random graph generator share. Each function that adds something returns its node, or UINT32_MAX if
 * type inference did not accept it, or it would be too large. */
#ifndef NXT_RANDOM_GENERATOR_H
#define NXT_RANDOM_GENERATOR_H

#include "random_graph.h"

typedef struct nxt_generator {
  nxt_random r;
  nxg_graph *g;
  nxt_graph_options o;
  uint32_t hub; /* a node that many others use; another one now and then */
} nxt_generator;

static inline const nxg_node *nxt_node_of(const nxt_generator *gen, uint32_t i) {
  return &gen->g->nodes[i];
}
/* A node, recent ones more often, and the hub. */
uint32_t nxt_pick(nxt_generator *gen);
/* The same, a computed one if that is found soon. */
uint32_t nxt_pick_computed(nxt_generator *gen);
nx_dtype nxt_random_dtype(nxt_generator *gen);
uint64_t nxt_random_scalar(nxt_generator *gen, nx_dtype t);
/* Adds a node if its type can be inferred and it is not too large. */
uint32_t nxt_try(nxt_generator *gen, nxg_op op, uint32_t n_args, const uint32_t *args,
                 const int64_t *attrs, uint32_t n_attrs, nx_dtype given, int32_t rank,
                 const int64_t *leaf_shape);
/* A node of this dtype and exactly this shape: broadcast from one that fits, or made by a cast, or a constant. */
uint32_t nxt_matching(nxt_generator *gen, nx_dtype t, int32_t rank, const int64_t *shape);
/* An elementwise operation of which x is an operand. */
uint32_t nxt_add_map_on(nxt_generator *gen, uint32_t x);

/* What is known of an input: nothing, or that it may be overwritten or is aligned. */
uint32_t nxt_input_flags(nxt_generator *gen);

/* ---- random_moves.c */

/* The view, read from node `base` as it lies. */
uint32_t nxt_add_view(nxt_generator *gen, uint32_t base, const nxg_view *v);
/* x read through v, a view of x's own elements: composed with x's view if x is one, or (`stacked`) on top of it. */
uint32_t nxt_add_movement(nxt_generator *gen);
uint32_t nxt_add_shifted(nxt_generator *gen);
uint32_t nxt_add_pad(nxt_generator *gen);
uint32_t nxt_add_cat(nxt_generator *gen);
uint32_t nxt_add_scan(nxt_generator *gen);
/* gather or scatter, with indices that are in range whatever they are made of. */
uint32_t nxt_add_indexed(nxt_generator *gen);
uint32_t nxt_add_update(nxt_generator *gen);
/* Two inputs that share memory, and an update of the one that the other says the place of. */
uint32_t nxt_add_window_update(nxt_generator *gen);

/* ---- random_results.c */

/* The whole of a graph of several results. */
void nxt_add_results(nxt_generator *gen);

/* ---- random_calls.c */

uint32_t nxt_add_call(nxt_generator *gen);
uint32_t nxt_add_pair(nxt_generator *gen);

#endif
