/* SPDX-License-Identifier: ISC */
/* What the graph passes share: a pass walks the old graph in order and appends to a new one, keeping a map from old to new
 * nodes. Inputs, outputs, names and tags carry over.
 *
 * Most passes change nothing in most graphs. As long as the new graph would be the old one, `to` is the old one itself, and
 * the map maps each node to itself; the first change copies what was passed by then. A pass that changes nothing copies
 * nothing. */
#ifndef NXG_REWRITE_H
#define NXG_REWRITE_H

#include "passes.h"

typedef struct nxg_rewrite {
  const nxg_graph *from;
  const nxg_graph *to; /* to look at; the functions below append */
  nxg_graph *own;      /* `to` once it is a graph of its own, else NULL */
  uint32_t *map;       /* old node -> new node; to look at */
  uint32_t *args;      /* scratch for one node's operands */
  uint32_t passed; /* old nodes that the new graph has; counted until it is a graph of its own */
  bool changed;    /* set by passes */
  bool failed;     /* no memory; passes may set it too */
  nxi_diag *d;
} nxg_rewrite;

/* No memory: what the other functions give is not to be used. */
static inline bool nxg_rewrite_failed(const nxg_rewrite *r) { return r->failed || r->to->failed; }
/* Begins; all inputs are mapped at once, in their order. */
nx_status nxg_rewrite_begin(nxg_rewrite *r, const nxg_graph *from, nxi_diag *d);
/* Appends old node i with mapped operands and records it in the map (nothing for inputs). */
uint32_t nxg_rewrite_copy(nxg_rewrite *r, uint32_t i);
/* Appends a new node in place of old node i (with its tag), type as given. Does not touch the map. */
uint32_t nxg_rewrite_add(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args,
                         const uint32_t *args, const int64_t *attrs, uint32_t n_attrs,
                         nx_dtype dtype, int32_t rank, const int64_t *shape);
/* Maps old node i to a new node that is there. */
void nxg_rewrite_map(nxg_rewrite *r, uint32_t i, uint32_t node);
/* The new graph is one of its own from here on, `own`. False without memory. */
bool nxg_rewrite_own(nxg_rewrite *r);
/* Old node i has no place in the new graph. */
void nxg_rewrite_drop(nxg_rewrite *r, uint32_t i);
/* Adds the outputs and hands over the graph, which is `from` if nothing was changed; on a failure frees it. */
nx_status nxg_rewrite_end(nxg_rewrite *r, nxg_graph **out, bool *changed);

#endif
