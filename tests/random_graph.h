/* SPDX-License-Identifier: ISC */
/* Random graphs over all operations, and random contents for their inputs: the same for the same seed, on every machine. */
#ifndef NXT_RANDOM_GRAPH_H
#define NXT_RANDOM_GRAPH_H

#include "ir/graph.h"

typedef struct nxt_random {
  uint64_t state;
} nxt_random;
uint64_t nxt_next(nxt_random *r);            /* 64 random bits */
int64_t nxt_below(nxt_random *r, int64_t n); /* 0 .. n - 1 */
bool nxt_chance(nxt_random *r, int percent);

typedef struct nxt_graph_options {
  uint32_t nodes;   /* about how many operations */
  int64_t elements; /* largest node */
  bool matmul;      /* products that go to a library too */
} nxt_graph_options;

/* NULL without memory. Shared subexpressions, views of views, several outputs, updates, all dtypes. */
nxg_graph *nxt_random_graph(uint64_t seed, const nxt_graph_options *o);
/* Fills n elements of dtype t: small numbers mostly, now and then zeros of both signs, extremes, infinities, NaN, subnormals. */
void nxt_random_fill(nxt_random *r, nx_dtype t, void *data, int64_t n);

#endif
