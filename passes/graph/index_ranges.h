/* SPDX-License-Identifier: ISC */
/* Intervals of integer nodes, for the pass that adds the checks of indices. */
#ifndef NXG_INDEX_RANGES_H
#define NXG_INDEX_RANGES_H

#include "ir/graph/graph.h"

typedef struct nxg_interval {
  int64_t low, high;
} nxg_interval;

/* What the elements of each node lie between; of other nodes than integers and bool nothing is
 * known. To be freed with nxi_free; NULL without memory. */
nxg_interval *nxg_index_ranges(const nxg_graph *g);

#endif
