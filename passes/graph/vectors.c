/* SPDX-License-Identifier: ISC */
/* Products with a vector become what they are: sums of products. Each element of the matrix is used
 * once, so the work is reading it, and as a reduction it is done by all threads, as fast as memory
 * is read. What computes the operands (numbers of few bits that are multiplied by scales) and what
 * follows the product fuse with it like with any other sum. An outer product, of an inner extent of
 * 1, becomes an elementwise one, on all devices.
 *
 * Which products these are follows from their extents alone (nxg_sums_products), and the sum runs
 * along the last axis whichever operand is the vector, so that a matrix and its transpose give the
 * same bits (docs/numerics.md). Small floats are multiplied and added up in f32. Products on a GPU
 * stay what they are. Keeps: bits, by the definition of these products. */
#include "rewrite.h"

/* A view of operand `node` of product i in the shape rows x inner of each product; the vector is
 * repeated. row, column: strides of the operand's last two axes there. */
static uint32_t spread(nxg_rewrite *r, uint32_t i, uint32_t node, nx_dtype type, int64_t row,
                       int64_t column, const int64_t *shape) {
  const nxg_node *n = &r->from->nodes[i];
  int64_t attrs[1 + NXG_MAX_RANK] = {0}, own[NXG_MAX_RANK];
  if (type != n->dtype) {
    int64_t extents[NXG_MAX_RANK];
    const nxg_node *x = &r->to->nodes[node];
    int32_t rank = x->rank;
    for (int32_t a = 0; a < rank; a++) extents[a] = x->shape[a];
    node = nxg_rewrite_add(r, i, NXG_cast, 1, &node, NULL, 0, type, rank, extents);
    if (nxg_rewrite_failed(r)) return node;
  }
  const nxg_node *x = &r->to->nodes[node];
  int32_t missing = n->rank - x->rank;
  nxg_contiguous_strides(x->rank, x->shape, own);
  for (int32_t a = 0; a < x->rank - 2; a++) attrs[1 + missing + a] = x->shape[a] == 1 ? 0 : own[a];
  attrs[n->rank - 1] = row;
  attrs[n->rank] = column;
  return nxg_rewrite_add(r, i, NXG_view, 1, &node, attrs, 1 + (uint32_t)n->rank, type, n->rank,
                         shape);
}

static void rewrite_outer(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  int32_t rank = n->rank;
  nx_dtype type = nxi_compute_dtype(n->dtype);
  uint32_t args[2];
  args[0] = spread(r, i, r->map[n->args[0]], type, 1, 0, n->shape);
  if (nxg_rewrite_failed(r)) return;
  args[1] = spread(r, i, r->map[n->args[1]], type, 0, 1, n->shape);
  if (nxg_rewrite_failed(r)) return;
  uint32_t value = nxg_rewrite_add(r, i, NXG_mul, 2, args, NULL, 0, type, rank, n->shape);
  if (type != n->dtype)
    value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, n->dtype, rank, n->shape);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

static void rewrite(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i], *a = &r->from->nodes[n->args[0]];
  int32_t rank = n->rank;
  int64_t rows = n->shape[rank - 2], columns = n->shape[rank - 1], inner = a->shape[a->rank - 1];
  bool left = columns == 1; /* the matrix is the left operand */
  nx_dtype type = nxi_compute_dtype(n->dtype);
  int64_t shape[NXG_MAX_RANK], attrs[1 + NXG_MAX_RANK] = {(int64_t)1 << (rank - 1), 1};
  uint32_t args[2];
  for (int32_t d = 0; d < rank - 2; d++) shape[d] = n->shape[d];
  shape[rank - 2] = left ? rows : columns;
  shape[rank - 1] = inner;
  args[0] = spread(r, i, r->map[n->args[0]], type, left ? inner : 0, 1, shape);
  if (nxg_rewrite_failed(r)) return;
  args[1] = spread(r, i, r->map[n->args[1]], type, left ? 0 : 1, columns, shape);
  if (nxg_rewrite_failed(r)) return;
  uint32_t value = nxg_rewrite_add(r, i, NXG_mul, 2, args, NULL, 0, type, rank, shape);
  shape[rank - 1] = 1;
  value = nxg_rewrite_add(r, i, NXG_reduce_sum, 1, &value, attrs, 2, type, rank, shape);
  if (!left) {
    attrs[0] = 0;
    nxg_contiguous_strides(rank, n->shape, attrs + 1);
    value =
        nxg_rewrite_add(r, i, NXG_view, 1, &value, attrs, 1 + (uint32_t)rank, type, rank, n->shape);
  }
  if (type != n->dtype)
    value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, n->dtype, rank, n->shape);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

/* The inner extent of a product that has elements, else -1. */
static int64_t inner_extent(const nxg_graph *g, uint32_t i) {
  const nxg_node *n = &g->nodes[i];
  if (n->op != NXG_matmul || nxg_node_elements(n) == 0) return -1;
  const nxg_node *a = &g->nodes[n->args[0]];
  return a->shape[a->rank - 1];
}

static bool is_sum(const nxg_graph *g, uint32_t i, int64_t inner) {
  const nxg_node *n = &g->nodes[i];
  return inner > 1 &&
         nxg_sums_products(n->dtype, n->shape[n->rank - 2], n->shape[n->rank - 1], inner);
}

nx_status nxg_pass_vectors(const nxg_graph *g, nxp_products products, nxg_graph **out,
                           bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    const int64_t inner = inner_extent(g, i);
    if (inner == 1) rewrite_outer(&r, i);
    else if (!(products & NXP_ON_GPU) && is_sum(g, i, inner)) rewrite(&r, i);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
