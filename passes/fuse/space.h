/* SPDX-License-Identifier: ISC */
/* Iteration spaces of fusion groups: whether a node is walked point by point with its group, or
 * through a view. */
#ifndef NXP_CLUSTER_SPACE_H
#define NXP_CLUSTER_SPACE_H

#include "cluster.h"

typedef struct nxp_shape {
  int32_t rank;
  int64_t extent[NXG_MAX_RANK];
} nxp_shape;

/* Where a node is evaluated, relative to a full shape. `broadcast`: for OUTER, the axes that are
 * left out. */
typedef struct nxp_place {
  nxp_space space;
  uint32_t broadcast;
} nxp_place;

/* Extents of 1 dropped. */
void nxp_squeeze(int32_t rank, const int64_t *shape, nxp_shape *out);
bool nxp_shape_equal(const nxp_shape *a, const nxp_shape *b);
/* The axes of `full` outside `mask`. */
void nxp_kept(const nxp_shape *full, uint32_t mask, nxp_shape *out);
int64_t nxp_points(const nxp_shape *s, uint32_t mask, bool kept);
/* Place of `operand` read by a user at `user`, through view node `view` (NULL: directly). */
nxp_place nxp_operand_place(const nxg_graph *g, const nxp_shape *full, nxp_place user,
                            const nxg_node *view, const nxg_node *operand);
/* The space a fold (or a generated matmul) walks: its full shape and the reduced axes of it. False
 * if n is neither, or folds nothing (all reduced extents are 1). */
bool nxp_fold_space(const nxg_graph *g, const nxg_node *n, nxp_products products, nxp_shape *full,
                    uint32_t *reduced);
/* The same of a scan, with the axis that it runs along. */
bool nxp_scan_space(const nxg_node *n, nxp_shape *full, uint32_t *axis);
/* Whether stages that walk the same points again find them in the cache, and there are points for
 * all threads. */
bool nxp_rows_fit(const nxp_shape *full, uint32_t reduced, int64_t element_bytes,
                  const nxi_target *t);

/* Whether a node takes elements of its operand more than once by itself; a product, that an element
 * is worth storing for it, too. */
bool nxp_reads_again(const nxg_graph *g, uint32_t reader, uint32_t operand, uint32_t expense);

/* What a node costs, in vector operations an element. */
uint32_t nxp_own_cost(const nxg_node *n);
/* What a node adds to the code of a kernel: a function is many instructions, a fold opens a nest of
 * loops, of which a kernel has room for 30. */
uint32_t nxp_weight(const nxg_node *n);

#endif
