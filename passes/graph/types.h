/* SPDX-License-Identifier: ISC */
/* Shared by the files of the pass that makes pairs of complex values: passes/graph/types.c and
 * types_*.c beside it. */
#ifndef NXI_GRAPH_TYPES_H
#define NXI_GRAPH_TYPES_H

#include "rewrite.h"

#define NXG_TYPES_NONE UINT32_MAX

typedef struct nxg_types {
  nxg_rewrite r;
  const nxg_graph *g;
  uint32_t *part[2]; /* old complex node -> new node of a part, NXG_TYPES_NONE: not made yet */
  uint32_t *woven;   /* old complex node -> new node of its woven value */
  uint32_t i;        /* the old node that is rewritten */
  /* complex dtypes whose matrix products become one real product, a bit 1 << dtype each */
  uint32_t joined;
  nx_status status; /* a failure other than exhausted memory */
} nxg_types;

static inline const nxg_node *nxg_types_old(const nxg_types *t, uint32_t node) {
  return &t->g->nodes[node];
}
static inline bool nxg_types_is_pair(const nxg_types *t, uint32_t node) {
  return nxi_is_complex(nxg_types_old(t, node)->dtype);
}

/* New nodes of the shape of an old one. */
static inline uint32_t nxg_types_add_like(nxg_types *t, uint32_t like, nxg_op op, nx_dtype dtype,
                                          uint32_t n_args, const uint32_t *args,
                                          const int64_t *attrs, uint32_t n_attrs) {
  const nxg_node *n = nxg_types_old(t, like);
  return nxg_rewrite_add(&t->r, t->i, op, n_args, args, attrs, n_attrs, dtype, n->rank, n->shape);
}

static inline uint32_t nxg_types_add(nxg_types *t, nxg_op op, nx_dtype dtype, uint32_t n_args,
                                     const uint32_t *args) {
  return nxg_types_add_like(t, t->i, op, dtype, n_args, args, NULL, 0);
}

uint32_t nxg_types_constant(nxg_types *t, nx_dtype dtype, uint64_t bits);
/* A view of new node `base`; without elements it has one form. */
uint32_t nxg_types_view(nxg_types *t, uint32_t base, nx_dtype dtype, const nxg_view *v);
/* Part k of an old value; for a real value the value itself. */
uint32_t nxg_types_part(nxg_types *t, uint32_t node, int k);
/* The woven value of an old node: both parts side by side in memory. */
uint32_t nxg_types_woven(nxg_types *t, uint32_t node);
/* Sets the parts of the old node that is being rewritten. */
void nxg_types_set_parts(nxg_types *t, uint32_t a, uint32_t b);
void nxg_types_set_real(nxg_types *t, uint32_t node);

void nxg_types_product_over_axes(nxg_types *t);
void nxg_types_products_so_far(nxg_types *t);
void nxg_types_matmul(nxg_types *t);
void nxg_types_gather(nxg_types *t);
void nxg_types_scatter(nxg_types *t);
void nxg_types_call(nxg_types *t);
/* types_bools.c, for nodes that are nxg_is_bool_arithmetic. */
void nxg_types_logic(nxg_types *t);
/* types_order.c */
void nxg_types_compare_order(nxg_types *t);
void nxg_types_best_of_two(nxg_types *t);
void nxg_types_best_over_axes(nxg_types *t);
void nxg_types_place_of_best(nxg_types *t);
/* types_control.c. Whether the pass changes a body that the node names, or an operand of the node
 * has a type that it replaces. */
bool nxg_types_in_bodies(const nxg_graph *g, const nxg_node *n);
void nxg_types_control(nxg_types *t);

#endif
