/* SPDX-License-Identifier: ISC */
/* Intervals of integer nodes, for the pass that adds the checks of indices. */
#ifndef NXG_INDEX_RANGES_H
#define NXG_INDEX_RANGES_H

#include "ir/graph/graph.h"

typedef struct nxg_interval {
  int64_t low, high;
} nxg_interval;

/* All that an integer dtype, or bool, has; what u64 has beyond i64 is left out. */
nxg_interval nxg_integers_of(nx_dtype t);
/* The integer that bits of an integer dtype, or of bool, are. */
int64_t nxg_integer_of(nx_dtype t, int64_t bits);
/* What the elements of each node lie between; of other nodes than integers and bool nothing is
 * known. To be freed with nxi_free; NULL without memory. */
nxg_interval *nxg_index_ranges(const nxg_graph *g);

#endif
