/* SPDX-License-Identifier: ISC */
/* Products of integers that were 8 or 16 bits wide become calls of matmul_i32, which reads them as
 * they are (on a GPU those of 8 bits): a product of casts needs no cast in memory. Sums wrap, so
 * they are those of the recorded product in any order; results of fewer bits are the lower bits of
 * the sum, and those of 64 bits are the sum where it cannot leave 32. i4 and u4 are bytes by now.
 *
 * A call takes dense operands. One that is transposed stays as it lies in memory, and one that is
 * repeated along the batch is there once; any other is copied, in its few bits. A matrix that all
 * products of a batch share is multiplied once by all of their rows. Small products stay what they
 * are and fuse with what is around them. Needs: composed views. Keeps: bits. */
#include "rewrite.h"

#include <string.h>

enum { LEAST_WORK = 1 << 15, MOST_BYTES = 33025 /* x 255 x 255 < 2^31 */ };

/* An operand: a view of a node of the new graph, transposed or not. */
typedef struct factor {
  uint32_t node;
  nxg_view view;
  bool transposed;
} factor;

static bool is_small(nx_dtype t, nxp_products products) {
  return t == NX_I8 || t == NX_U8 || (t == NX_I16 && !(products & NXP_ON_GPU));
}

/* Finds the value of few bits that an operand is. False: there is none. Nothing is added yet. */
static bool find(const nxg_rewrite *r, uint32_t node, nxp_products products, factor *f) {
  const nxg_graph *g = r->to;
  nxg_node_view(g, node, &f->view);
  bool viewed = g->nodes[node].op == NXG_view;
  f->node = viewed ? g->nodes[node].args[0] : node;
  const nx_dtype wide = g->nodes[node].dtype;
  if (is_small(wide, products)) return true;
  if (g->nodes[f->node].op != NXG_cast) return false;
  f->node = g->nodes[f->node].args[0];
  if (!viewed && g->nodes[f->node].op == NXG_view) {
    nxg_node_view(g, f->node, &f->view);
    f->node = g->nodes[f->node].args[0];
  }
  const nx_dtype t = g->nodes[f->node].dtype;
  return is_small(t, products) && nxi_dtypes[t].bits <= nxi_dtypes[wide].bits;
}

/* ---- operands as a call takes them */

static void exchange(nxg_view *v) {
  const int32_t row = v->rank - 2, column = v->rank - 1;
  const int64_t extent = v->shape[row], stride = v->strides[row];
  v->shape[row] = v->shape[column], v->strides[row] = v->strides[column];
  v->shape[column] = extent, v->strides[column] = stride;
}

/* Whether the elements are dense from the offset on; strides of extents of 1 become the usual. */
static bool is_dense(nxg_view *v) {
  if (!nxg_is_in_order(v->rank, v->shape, v->strides)) return false;
  nxg_contiguous_strides(v->rank, v->shape, v->strides);
  return true;
}

/* A node for the view of the factor. */
static uint32_t add_view(nxg_rewrite *r, uint32_t i, const factor *f) {
  const nxg_node *n = &r->to->nodes[f->node];
  const nxg_view *v = &f->view;
  int64_t attrs[1 + NXG_MAX_RANK];
  if (v->offset == 0 && nxg_view_is_contiguous(v) &&
      nxg_same_shape(n->rank, n->shape, v->rank, v->shape))
    return f->node;
  attrs[0] = v->offset;
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  return nxg_rewrite_add(r, i, NXG_view, 1, &f->node, attrs, 1 + (uint32_t)v->rank, n->dtype,
                         v->rank, v->shape);
}

/* Makes the factor dense, transposed or not. */
static void make_dense(nxg_rewrite *r, uint32_t i, factor *f) {
  f->node = nxg_rewrite_whole(r, i, f->node);
  if (nxg_rewrite_failed(r) || is_dense(&f->view)) return;
  exchange(&f->view);
  f->transposed = is_dense(&f->view);
  if (f->transposed) return;
  exchange(&f->view);
  f->node = add_view(r, i, f);
  if (!nxg_rewrite_failed(r)) f->node = nxg_rewrite_copy_of(r, i, f->node);
  if (nxg_rewrite_failed(r)) return;
  const nxg_node *copy = &r->to->nodes[f->node];
  nxg_view_contiguous(&f->view, copy->rank, copy->shape);
}

/* Dimensions of the batch along which an operand is repeated become 1, in one of the two. */
static void repeat_once(factor f[2]) {
  for (int32_t a = 0; a < f[0].view.rank - 2; a++) {
    if (f[1].view.strides[a] == 0) f[1].view.shape[a] = 1;
    else if (f[0].view.strides[a] == 0) f[0].view.shape[a] = 1;
  }
}

/* Joins the batch and the rows of operand 0 if operand 1 is one matrix. */
static void join_rows(factor f[2]) {
  nxg_view *a = &f[0].view, *b = &f[1].view;
  const int32_t batch = a->rank - 2;
  int64_t rows = 1;
  for (int32_t i = 0; i < batch; i++)
    if (b->shape[i] != 1) return;
  if (batch == 0 || f[0].transposed) return;
  for (int32_t i = 0; i <= batch; i++) rows *= a->shape[i];
  nxg_view joined, one;
  nxg_view_contiguous(&joined, 2, (int64_t[]){rows, a->shape[batch + 1]});
  nxg_view_contiguous(&one, 2, b->shape + batch);
  joined.offset = a->offset;
  one.offset = b->offset;
  *a = joined;
  *b = one;
}

/* ---- products */

static void rewrite(nxg_rewrite *r, uint32_t i, factor f[2]) {
  const nxg_node *n = &r->from->nodes[i];
  int64_t attrs[1 + NXG_MAX_RANK] = {0}, shape[2];
  uint32_t args[2];
  repeat_once(f);
  for (int k = 0; k < 2 && !nxg_rewrite_failed(r); k++) make_dense(r, i, &f[k]);
  if (nxg_rewrite_failed(r)) return;
  join_rows(f);
  for (int k = 0; k < 2 && !nxg_rewrite_failed(r); k++) args[k] = add_view(r, i, &f[k]);
  if (nxg_rewrite_failed(r)) return;
  attrs[0] = f[0].transposed + 2 * f[1].transposed;
  const bool joined = f[0].view.rank != n->rank;
  shape[0] = f[0].view.shape[0];
  shape[1] = n->shape[n->rank - 1];
  uint32_t value = nxg_rewrite_add(r, i, NXG_matmul_i32, 2, args, attrs, 1, NX_I32,
                                   joined ? 2 : n->rank, joined ? shape : n->shape);
  if (joined) {
    attrs[0] = 0;
    nxg_contiguous_strides(n->rank, n->shape, attrs + 1);
    value = nxg_rewrite_add(r, i, NXG_view, 1, &value, attrs, 1 + (uint32_t)n->rank, NX_I32,
                            n->rank, n->shape);
  }
  if (n->dtype != NX_I32)
    value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, n->dtype, n->rank, n->shape);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

static bool is_called(const nxg_rewrite *r, uint32_t i, nxp_products products, factor f[2]) {
  const nxg_node *n = &r->from->nodes[i];
  if (n->op != NXG_matmul || nxi_is_float(n->dtype) || nxg_node_elements(n) == 0) return false;
  const nxg_node *a = &r->from->nodes[n->args[0]];
  const int64_t inner = a->shape[a->rank - 1];
  if (n->shape[n->rank - 1] * n->shape[n->rank - 2] < (LEAST_WORK - 1) / (inner + 1) + 1)
    return false;
  for (int k = 0; k < 2; k++) {
    f[k] = (factor){0};
    if (!find(r, r->map[n->args[k]], products, &f[k])) return false;
    bool bytes = nxi_dtypes[r->to->nodes[f[k].node].dtype].bits == 8;
    if (nxi_dtypes[n->dtype].bits == 64 && (!bytes || inner > MOST_BYTES)) return false;
  }
  return inner > 0;
}

nx_status nxg_pass_integers(const nxg_graph *g, nxp_products products, nxg_graph **out,
                            bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  factor f[2];
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    if (products & NXP_OF_SMALL_INTEGERS && is_called(&r, i, products, f)) rewrite(&r, i, f);
    else nxg_rewrite_copy(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
