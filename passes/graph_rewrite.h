/* SPDX-License-Identifier: ISC */
/* What the graph passes share: a pass walks the old graph in order and appends to a new one, keeping a map from old to new
 * nodes. Inputs, outputs, names and tags carry over. */
#ifndef NXG_REWRITE_H
#define NXG_REWRITE_H

#include "graph_passes.h"

typedef struct nxg_rewrite {
  const nxg_graph *from;
  nxg_graph *to;
  uint32_t *map;  /* old node -> new node */
  uint32_t *args; /* scratch for one node's operands */
  bool changed;
} nxg_rewrite;

/* Begins; all inputs are added at once, in their order. */
nx_status nxg_rewrite_begin(nxg_rewrite *r, const nxg_graph *from, nxi_diag *d);
/* Appends old node i with mapped operands and records it in the map (nothing for inputs). */
uint32_t nxg_rewrite_copy(nxg_rewrite *r, uint32_t i);
/* Appends a new node in place of old node i (with its tag), type as given. Does not touch the map. */
uint32_t nxg_rewrite_add(nxg_rewrite *r, uint32_t i, nxg_op op, uint32_t n_args,
                         const uint32_t *args, const int64_t *attrs, uint32_t n_attrs,
                         nx_dtype dtype, int32_t rank, const int64_t *shape);
/* Adds the outputs and hands over the graph; on a failure frees it. */
nx_status nxg_rewrite_end(nxg_rewrite *r, nxg_graph **out, bool *changed, nxi_diag *d);

#endif
