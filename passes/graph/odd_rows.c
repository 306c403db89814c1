/* SPDX-License-Identifier: ISC */
/* Products of 16 bits with an odd extent. The library reads matrices of which rows begin at odd
 * elements two bytes at a time, and takes up to six times as long as for even ones
 * (docs/decisions/cuda.md). So such a matrix is copied to rows of a multiple of 8 elements, with
 * zeros behind, which change no sum; and what is behind the result's rows is left out. */
#include "odd_rows.h"

#include <string.h>

#include "passes/fuse/cluster.h"

enum { ROW = 8, LEAST_EXTENT = 128 };
#define LEAST_WORK 0x1p28 /* multiplications */

typedef struct matrix {
  nxg_view view;
  bool transposed, odd;
  int64_t rows, columns; /* as they are to become */
} matrix;

static int64_t whole(int64_t n) { return (n + ROW - 1) / ROW * ROW; }

/* Whether some row, or matrix, begins at an odd element. */
static bool is_odd(const nxg_view *v, int64_t distance) {
  if (distance % 2 != 0 || v->offset % 2 != 0) return true;
  for (int32_t axis = 0; axis < v->rank - 2; axis++)
    if (v->shape[axis] > 1 && v->strides[axis] % 2 != 0) return true;
  return false;
}

static bool describe(const nxg_graph *g, uint32_t node, matrix *out) {
  int64_t distance;
  nxg_node_view(g, node, &out->view);
  if (!nxp_gemm_layout(&out->view, &out->transposed, &distance)) return false;
  out->rows = out->view.shape[out->view.rank - 2];
  out->columns = out->view.shape[out->view.rank - 1];
  out->odd = is_odd(&out->view, distance);
  return !out->transposed || g->nodes[node].op == NXG_view;
}

/* Sets the extents that operands get, of rows, columns and the inner one. */
static void widen(matrix x[2], const nxg_node *product) {
  matrix *a = &x[0], *b = &x[1];
  if ((a->odd && !a->transposed) || (b->odd && b->transposed))
    a->columns = b->rows = whole(a->columns);
  if (a->odd && a->transposed) a->rows = whole(a->rows);
  if ((b->odd && !b->transposed) || product->shape[product->rank - 1] % 2 != 0)
    b->columns = whole(b->columns);
}

static uint32_t view_as(nxg_rewrite *r, uint32_t i, uint32_t base, const nxg_view *v, nx_dtype t) {
  int64_t attrs[1 + NXG_MAX_RANK] = {v->offset};
  memcpy(attrs + 1, v->strides, (size_t)v->rank * sizeof *attrs);
  return nxg_rewrite_add(r, i, NXG_view, 1, &base, attrs, 1 + (uint32_t)v->rank, t, v->rank,
                         v->shape);
}

static void exchange(nxg_view *v) {
  const int32_t a = v->rank - 2, b = v->rank - 1;
  const int64_t extent = v->shape[a], stride = v->strides[a];
  v->shape[a] = v->shape[b], v->strides[a] = v->strides[b];
  v->shape[b] = extent, v->strides[b] = stride;
}

/* A copy of the matrix with its new extents, in the order in which it lies in memory. */
static uint32_t widened(nxg_rewrite *r, uint32_t i, uint32_t node, const matrix *x) {
  const nx_dtype t = (nx_dtype)r->to->nodes[node].dtype;
  nxg_view v = x->view;
  const int32_t rank = v.rank;
  int64_t attrs[1 + 2 * NXG_MAX_RANK] = {0}, shape[NXG_MAX_RANK];
  if (x->transposed) {
    exchange(&v);
    node = view_as(r, i, r->to->nodes[node].args[0], &v, t);
  }
  if (nxg_rewrite_failed(r)) return node;
  memcpy(shape, v.shape, (size_t)rank * sizeof *shape);
  shape[rank - 2] = x->transposed ? x->columns : x->rows;
  shape[rank - 1] = x->transposed ? x->rows : x->columns;
  for (int32_t axis = rank - 2; axis < rank; axis++)
    attrs[1 + rank + axis] = shape[axis] - v.shape[axis];
  node =
      nxg_same_shape(rank, shape, rank, v.shape)
          ? nxg_rewrite_copy_of(r, i, node)
          : nxg_rewrite_add(r, i, NXG_pad, 1, &node, attrs, 1 + 2 * (uint32_t)rank, t, rank, shape);
  if (nxg_rewrite_failed(r) || !x->transposed) return node;
  nxg_view_contiguous(&v, rank, shape);
  exchange(&v);
  return view_as(r, i, node, &v, t);
}

uint32_t nxg_even_product(nxg_rewrite *r, uint32_t i, const uint32_t operands[2]) {
  const nxg_node *n = &r->from->nodes[i];
  const int32_t rank = n->rank;
  matrix x[2];
  uint32_t args[2] = {operands[0], operands[1]};
  int64_t shape[NXG_MAX_RANK];
  if (!describe(r->to, args[0], &x[0]) || !describe(r->to, args[1], &x[1])) return UINT32_MAX;
  const int64_t rows = x[0].rows, inner = x[0].columns, columns = x[1].columns;
  if ((!x[0].odd && !x[1].odd && columns % 2 == 0) || rows < LEAST_EXTENT ||
      columns < LEAST_EXTENT || inner < LEAST_EXTENT ||
      (double)nxg_node_elements(n) * (double)inner < LEAST_WORK)
    return UINT32_MAX;
  widen(x, n);
  for (int a = 0; a < 2 && !nxg_rewrite_failed(r); a++) {
    const nxg_view *v = &x[a].view;
    if (x[a].odd || x[a].rows != v->shape[v->rank - 2] || x[a].columns != v->shape[v->rank - 1])
      args[a] = widened(r, i, args[a], &x[a]);
  }
  memcpy(shape, n->shape, (size_t)rank * sizeof *shape);
  shape[rank - 2] = x[0].rows;
  shape[rank - 1] = x[1].columns;
  if (nxg_rewrite_failed(r)) return args[0];
  uint32_t value =
      nxg_rewrite_add(r, i, NXG_matmul, 2, args, NULL, 0, (nx_dtype)n->dtype, rank, shape);
  if (nxg_rewrite_failed(r) || nxg_same_shape(rank, shape, rank, n->shape)) return value;
  nxg_view v;
  nxg_view_contiguous(&v, rank, shape);
  memcpy(v.shape, n->shape, (size_t)rank * sizeof *shape);
  value = view_as(r, i, value, &v, (nx_dtype)n->dtype);
  return nxg_rewrite_failed(r) ? value : nxg_rewrite_copy_of(r, i, value);
}
