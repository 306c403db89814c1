/* SPDX-License-Identifier: ISC */
/* Random graphs over all operations: the same for the same seed, on every machine and with every
 * compiler. */
#ifndef NXT_RANDOM_GRAPH_H
#define NXT_RANDOM_GRAPH_H

#include "ir/graph/graph.h"
#include "tests/util/random_values.h"

typedef struct nxt_graph_options {
  uint32_t nodes;     /* about how many operations */
  int64_t elements;   /* largest node */
  bool matmul;        /* products that go to a library too */
  bool elementwise;   /* little else, so that groups grow to their bounds */
  bool empty;         /* extents of 0 are common */
  int32_t rank;       /* the highest of the leaves */
  uint32_t inputs;    /* at most */
  int64_t least_size; /* of the first input, elements: 0 or what makes reductions be split */
  bool results;       /* several results of one small shape, and nothing else (results.c) */
} nxt_graph_options;
/* What the graph of a seed is about: most are small and mixed, some are large, long, empty, of high
 * rank. */
nxt_graph_options nxt_graph_options_of(uint64_t seed);

/* NULL without memory. Shared subexpressions, nodes with many users, views of views, several
 * outputs, updates in a row and through windows, launch parameters, all dtypes. */
nxg_graph *nxt_random_graph(uint64_t seed, const nxt_graph_options *o);

/* The same graph with these outputs of it, its nodes in the order in which a realize of them would
 * record them. */
nxg_graph *nxt_in_order(const nxg_graph *g, const uint32_t *outputs, uint32_t n);
/* Order `number` of n outputs, and how many it has: first all permutations, or some if n > 4, then
 * each output alone. 0: there are no more. */
uint32_t nxt_next_order(nxt_random *r, uint32_t n, uint32_t number, uint32_t *order);

#endif
