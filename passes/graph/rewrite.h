/* SPDX-License-Identifier: ISC */
/* The rewriter that all graph passes use. A pass visits the old graph's nodes in order and
 * appends to a new graph; `map` has the new node of each old one. Inputs, outputs, names and
 * tags carry over.
 *
 * The new graph is copied on the first change: as long as it would equal the old one, `to` is
 * the old graph itself and each node maps to itself. The first change copies the nodes visited
 * so far. So a pass that changes nothing copies nothing, which is the usual case. */
#ifndef NXG_REWRITE_H
#define NXG_REWRITE_H

#include "passes.h"

typedef struct nxg_rewrite {
  const nxg_graph *from;
  const nxg_graph *to; /* passes only read it; the functions below append */
  nxg_graph *own;      /* the same graph once it is a copy, else NULL */
  uint32_t *map;       /* old node -> new node; passes only read it */
  uint32_t *args;      /* scratch for one node's operands */
  uint32_t passed;     /* nodes visited so far; counted until the new graph is a copy */
  bool changed;        /* set by passes */
  bool failed;         /* memory is exhausted; passes may set it too */
  nxi_diag *d;
} nxg_rewrite;

/* Whether memory ran out. Results of the functions below are then invalid. */
static inline bool nxg_rewrite_failed(const nxg_rewrite *r) { return r->failed || r->to->failed; }
/* Begins a rewrite and maps all inputs, in their order. */
nx_status nxg_rewrite_begin(nxg_rewrite *r, const nxg_graph *from, nxi_diag *d);
/* Appends old node i with mapped operands and records it in the map (nothing for inputs). */
uint32_t nxg_rewrite_copy(nxg_rewrite *r, uint32_t i);
/* Appends a new node of the given type, which gets the tag of old node i. Does not change the
 * map. */
uint32_t nxg_rewrite_add(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args,
                         const uint32_t *args, const int64_t *attrs, uint32_t n_attrs,
                         nx_dtype dtype, int32_t rank, const int64_t *shape);
/* A copy of a node of the new graph, for old node i. */
uint32_t nxg_rewrite_copy_of(nxg_rewrite *r, uint32_t i, uint32_t node);
/* node, or a copy of it if it is a view, for what an update or a scatter writes over: a whole
 * value. */
uint32_t nxg_rewrite_whole(nxg_rewrite *r, uint32_t i, uint32_t node);
/* Which nodes products read, also through views. The layout of such an operand in memory decides
 * which of a library's loops runs, and so the bits of the result. To be freed with nxi_free; NULL
 * without memory. */
bool *nxg_read_by_products(const nxg_graph *g);
/* Maps old node i to a node that the new graph has. */
void nxg_rewrite_map(nxg_rewrite *r, uint32_t i, uint32_t node);
/* Makes the copy, if there is none yet. Returns false if memory is exhausted. */
bool nxg_rewrite_own(nxg_rewrite *r);
/* Leaves old node i out of the new graph. */
void nxg_rewrite_drop(nxg_rewrite *r, uint32_t i);
/* Adds the outputs. *out is the new graph, which the caller owns, or `from` if nothing changed.
 * On failure the new graph is freed. */
nx_status nxg_rewrite_end(nxg_rewrite *r, nxg_graph **out, bool *changed);

#endif
