/* SPDX-License-Identifier: ISC */
/* What the files of the random graph generator share. Each function that adds something returns its
 * node, or UINT32_MAX if type inference did not accept it, or it would be too large. */
#ifndef NXT_RANDOM_GENERATOR_H
#define NXT_RANDOM_GENERATOR_H

#include "graph.h"

typedef struct nxt_generator {
  nxt_random r;
  nxg_graph *g;
  nxt_graph_options o;
  uint32_t hub;              /* a node that many others use; another one now and then */
  uint32_t forced, n_forced; /* a node that the next so many picks give */
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
/* One number for all elements, sometimes a launch parameter. */
uint32_t nxt_add_full(nxt_generator *gen, nx_dtype t, int32_t rank, const int64_t *shape);
/* Adds a node if its type can be inferred and it is not too large. */
uint32_t nxt_try(nxt_generator *gen, nxg_op op, uint32_t n_args, const uint32_t *args,
                 const int64_t *attrs, uint32_t n_attrs, nx_dtype given, int32_t rank,
                 const int64_t *leaf_shape);
/* A node of this dtype and exactly this shape: broadcast from one that fits, or made by a cast, or
 * a constant. */
uint32_t nxt_matching(nxt_generator *gen, nx_dtype t, int32_t rank, const int64_t *shape);
/* An elementwise operation of which x is an operand. */
uint32_t nxt_add_map_on(nxt_generator *gen, uint32_t x);

/* What is known of an input: nothing, or that it may be overwritten or is aligned. */
uint32_t nxt_input_flags(nxt_generator *gen);

/* A reduction, a product, a copy. */
uint32_t nxt_add_reduce(nxt_generator *gen);
uint32_t nxt_add_matmul(nxt_generator *gen);
uint32_t nxt_add_copy(nxt_generator *gen);

/* ---- ways.c */

/* x through a view: exchanged axes, backwards, repeated, overlapping windows, from the middle on,
 * of high rank, nothing of it. */
uint32_t nxt_read_oddly(nxt_generator *gen, uint32_t x);
/* The same of square matrices, which stay far from singular if they are. */
uint32_t nxt_read_matrix_oddly(nxt_generator *gen, uint32_t x);
/* Any operation on what is read so, and sometimes an update of what it gives. */
uint32_t nxt_add_in_a_way(nxt_generator *gen);

/* ---- moves.c */

/* The view, read from node `base` as it lies. */
uint32_t nxt_add_view(nxt_generator *gen, uint32_t base, const nxg_view *v);
/* x read through v, a view of x's own elements: composed with x's view if x is one, or (`stacked`)
 * on top of it. */
uint32_t nxt_add_movement(nxt_generator *gen);
uint32_t nxt_add_shifted(nxt_generator *gen);
uint32_t nxt_add_pad(nxt_generator *gen);
uint32_t nxt_add_cat(nxt_generator *gen);
uint32_t nxt_add_scan(nxt_generator *gen);
/* The attribute of a scatter of the dtype: any mode that takes it. */
int64_t nxt_scatter_bits(nxt_random *r, nx_dtype t);
/* gather or scatter, with indices that are in range whatever they are made of. */
uint32_t nxt_add_indexed(nxt_generator *gen);
uint32_t nxt_add_update(nxt_generator *gen);
/* Writes `source` into `old` through v. `window`: the input that says where v begins, or
 * UINT32_MAX. */
uint32_t nxt_write_through(nxt_generator *gen, uint32_t old, uint32_t source, uint32_t window,
                           const nxg_view *v);
/* Two inputs that share memory, and an update of the one that the other says the place of. */
uint32_t nxt_add_alias_update(nxt_generator *gen);

/* ---- results.c */

/* The whole of a graph of several results. */
void nxt_add_results(nxt_generator *gen);

/* ---- calls.c */

uint32_t nxt_add_call(nxt_generator *gen);
uint32_t nxt_add_pair(nxt_generator *gen);

#endif
