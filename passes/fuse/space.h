/* SPDX-License-Identifier: ISC */
/* Iteration spaces of fusion groups: whether a node is evaluated at the points of its group, or
 * elsewhere through a view. */
#ifndef NXP_CLUSTER_SPACE_H
#define NXP_CLUSTER_SPACE_H

#include "cluster.h"

typedef struct nxp_shape {
  int32_t rank;
  int64_t extent[NXG_MAX_RANK];
} nxp_shape;

/* The points at which a node is evaluated, relative to a full shape. `broadcast`: for OUTER, the
 * mask of axes that it does not have. */
typedef struct nxp_place {
  nxp_space space;
  uint32_t broadcast;
} nxp_place;

/* The shape without extents of 1. */
void nxp_squeeze(int32_t rank, const int64_t *shape, nxp_shape *out);
bool nxp_shape_equal(const nxp_shape *a, const nxp_shape *b);
/* The axes of `full` that are not in `mask`. */
void nxp_kept(const nxp_shape *full, uint32_t mask, nxp_shape *out);
int64_t nxp_points(const nxp_shape *s, uint32_t mask, bool kept);
/* The place of `operand` if a node at place `user` reads it, through view node `view` (NULL:
 * directly). */
nxp_place nxp_operand_place(const nxg_graph *g, const nxp_shape *full, nxp_place user,
                            const nxg_node *view, const nxg_node *operand);
/* The iteration space of a reduction or a generated matmul: its full shape, and the mask of its
 * reduced axes. False if n is neither, or if all reduced extents are 1. */
bool nxp_reduce_space(const nxg_graph *g, const nxg_node *n, nxp_products products, nxp_shape *full,
                      uint32_t *reduced);
/* The same for a scan, with the axis that it runs along. */
bool nxp_scan_space(const nxg_node *n, nxp_shape *full, uint32_t *axis);
/* Whether a run fits in the cache, so that later stages find it there, and there are points for all
 * threads. */
bool nxp_rows_fit(const nxp_shape *full, uint32_t reduced, int64_t element_bytes,
                  const nxi_target *t);

/* Whether neighbours in the last axis of a view are far apart in memory, and neighbours in another
 * axis are adjacent. */
bool nxp_view_crosses(const nxg_node *view);

/* Whether `reader` reads elements of its operand more than once. For a product also whether
 * computing an element costs so much that it is better stored. */
bool nxp_reads_again(const nxg_graph *g, uint32_t reader, uint32_t operand, uint32_t expense);

/* The cost of a node, in vector operations for each element. */
uint32_t nxp_own_cost(const nxg_node *n);
/* How much code a node adds to a kernel. A function is many instructions, and a reduction opens a
 * nest of loops, of which a kernel can have 30. A node that brings operands or scalar parameters
 * of its own weighs at least one for each, so that a kernel has no more of them than its weight. */
uint32_t nxp_weight(const nxg_node *n);

#endif
