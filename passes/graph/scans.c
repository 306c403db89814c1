/* SPDX-License-Identifier: ISC */
/* Splits long scans of few lines, so that all threads have work. Blocks of 1024 elements are
 * scanned independently; a second scan over the blocks' totals gives what comes before each
 * block; then the two are combined. The order of additions is defined in this way
 * (docs/numerics.md). Small floats stay in f32 until the end. Keeps: bits. */
#include <string.h>

#include "rewrite.h"

enum { LONG = 1 << 15, FEW_ROWS = 16, FEW_COLUMNS = 256, CALLED_ROWS = 256 };
/* Where a generated kernel is as good: elements that are few, bytes of neighbouring columns. */
enum { FEW = 1 << 18, COLUMN_BYTES = 1 << 14 };

/* Whether the value is nothing but a result, and of an input, so that a generated kernel would do
 * nothing else, either. */
static bool is_alone(const nxg_graph *g, const nxg_node *n) {
  const uint32_t node = (uint32_t)(n - g->nodes);
  const nxg_node *x = &g->nodes[n->args[0]];
  nxg_view v;
  nxg_node_view(g, n->args[0], &v);
  v.offset = 0;
  if (g->nodes[x->op == NXG_view ? x->args[0] : n->args[0]].op != NXG_input ||
      !nxg_view_is_contiguous(&v))
    return false;
  for (uint32_t i = node + 1; i < g->n_nodes; i++)
    for (uint32_t k = 0; k < g->nodes[i].n_args; k++)
      if (g->nodes[i].args[k] == node) return false;
  return true;
}

/* Whether a call does this scan of short rows or of columns, if it is alone. Rows begin at
 * multiples of 16 bytes. */
static bool suits(const nxg_node *n, int64_t length, int64_t elements) {
  const int64_t axis = n->attrs[0], size = nxi_dtype_size(n->dtype);
  int64_t columns = 1;
  for (int64_t i = axis + 1; i < n->rank; i++) columns *= n->shape[i];
  if (elements < FEW || length <= NXK_SCAN_BLOCK || nxi_is_small_float(n->dtype)) return false;
  if (axis + 1 == n->rank)
    return length * size % 16 == 0 &&
           nxp_scan_row_fits((length + NXK_SCAN_BLOCK - 1) / NXK_SCAN_BLOCK, size);
  return size >= 4 && columns * size % 16 == 0 && columns >= 32 &&
         elements / length * size >= COLUMN_BYTES;
}

/* Whether a library call does the scan: on a GPU, one in plain order that is long, along contiguous
 * memory, and has few lines; and others that are alone. */
bool nxp_scan_called(const nxg_graph *g, const nxg_node *n, nxp_products products) {
  if (!(products & NXP_ON_GPU) || !nxg_is_scan(n->op) || nxk_takes_pairs(nxg_reduce_kind(n->op)) ||
      n->attrs[1] != 0 || nxi_is_complex(n->dtype) || nxi_is_nibble(n->dtype) ||
      n->dtype == NX_BOOL)
    return false;
  const int64_t axis = n->attrs[0], length = n->shape[axis], elements = nxg_node_elements(n);
  const int64_t rows = elements / (length ? length : 1);
  if (axis + 1 == n->rank && length >= LONG && rows > 0 && rows <= CALLED_ROWS) return true;
  return suits(n, length, elements) && is_alone(g, n);
}

static bool worth_it(const nxg_node *n) {
  int64_t length = n->shape[n->attrs[0]];
  if (n->attrs[1] != 0 || length < LONG || n->rank + 1 > NXG_MAX_RANK || nxg_node_elements(n) == 0)
    return false;
  return nxg_node_elements(n) / length < (n->attrs[0] + 1 == n->rank ? FEW_ROWS : FEW_COLUMNS);
}

/* A scan that is being split. All values below have the shape of the scan except along its axis; a
 * value in blocks has one more axis after that. */
typedef struct apart {
  nxg_rewrite *r;
  uint32_t node;
  const nxg_node *n;
  nx_dtype t;
  int32_t axis;
  int64_t blocks, rest; /* whole blocks, and the elements after them */
} apart;

static uint32_t add(const apart *a, nxg_op op, const uint32_t *args, uint32_t n_args,
                    const int64_t *attrs, uint32_t n_attrs, int32_t rank, const int64_t *shape) {
  return nxg_rewrite_add(a->r, a->node, op, n_args, args, attrs, n_attrs, a->t, rank, shape);
}

/* Sets `shape` to that of the scan with `extent` along the axis, and an axis of `inner` after it
 * unless that is 0. Returns the rank. */
static int32_t shape_of(const apart *a, int64_t extent, int64_t inner, int64_t *shape) {
  int32_t rank = 0;
  for (int32_t i = 0; i < a->n->rank; i++) {
    shape[rank++] = i == a->axis ? extent : a->n->shape[i];
    if (i == a->axis && inner) shape[rank++] = inner;
  }
  return rank;
}

/* A view of `value` with the C-order strides `strides`, changed along the axis. */
static uint32_t view(const apart *a, uint32_t value, const int64_t *strides, int64_t offset,
                     int64_t extent, int64_t stride, int64_t inner, int64_t inner_stride) {
  int64_t attrs[1 + NXG_MAX_RANK], shape[NXG_MAX_RANK];
  int32_t rank = shape_of(a, extent, inner, shape), k = 1;
  attrs[0] = offset;
  for (int32_t i = 0; i < a->n->rank; i++) {
    attrs[k++] = i == a->axis ? stride : strides[i];
    if (i == a->axis && inner) attrs[k++] = inner_stride;
  }
  return add(a, NXG_view, &value, 1, attrs, (uint32_t)k, rank, shape);
}

/* Sets `strides` to the C-order strides of a value with `extent` along the axis, for the scan's own
 * axes. The stride of the additional axis, if there is one, goes to *inner_stride. */
static void strides_of(const apart *a, int64_t extent, int64_t inner, int64_t *strides,
                       int64_t *inner_stride) {
  int64_t stride = 1;
  for (int32_t i = a->n->rank; i-- > 0;) {
    if (i == a->axis && inner) {
      *inner_stride = stride;
      stride *= inner;
    }
    strides[i] = stride;
    stride *= i == a->axis ? extent : a->n->shape[i];
  }
}

static uint32_t scan(const apart *a, uint32_t value, int32_t axis, int64_t extent, int64_t inner) {
  int64_t attrs[2] = {axis, 1}, shape[NXG_MAX_RANK];
  int32_t rank = shape_of(a, extent, inner, shape);
  return add(a, (nxg_op)a->n->op, &value, 1, attrs, 2, rank, shape);
}

static uint32_t combine(const apart *a, uint32_t before, uint32_t within, int64_t extent,
                        int64_t inner) {
  nxg_op op = nxg_op_of_scalar(nxk_reduce_op(nxg_reduce_kind(a->n->op)));
  int64_t shape[NXG_MAX_RANK];
  uint32_t args[2] = {before, within};
  int32_t rank = shape_of(a, extent, inner, shape);
  return add(a, op, args, 2, NULL, 0, rank, shape);
}

/* The result of all elements before each block, including the incomplete last one; before the first
 * block it is the identity. */
static uint32_t carries(const apart *a, uint32_t local, int64_t n) {
  int64_t strides[NXG_MAX_RANK] = {0}, inner = 0, attrs[1 + 2 * NXG_MAX_RANK] = {0},
          shape[NXG_MAX_RANK];
  strides_of(a, a->blocks, NXK_SCAN_BLOCK, strides, &inner);
  uint32_t totals =
               view(a, local, strides, (NXK_SCAN_BLOCK - 1) * inner, n - 1, strides[a->axis], 0, 0),
           sums = scan(a, totals, a->axis, n - 1, 0);
  attrs[0] = (int64_t)nxk_reduce_identity(nxg_reduce_kind(a->n->op), a->t);
  attrs[1 + a->axis] = 1;
  int32_t rank = shape_of(a, n, 0, shape);
  return add(a, NXG_pad, &sums, 1, attrs, 1 + 2 * (uint32_t)rank, rank, shape);
}

/* Scans the elements after the last whole block. */
static uint32_t write_rest(const apart *a, uint32_t x, uint32_t before, int64_t carried) {
  int64_t own[NXG_MAX_RANK] = {0}, strides[NXG_MAX_RANK] = {0};
  strides_of(a, a->n->shape[a->axis], 0, own, NULL);
  strides_of(a, carried, 0, strides, NULL);
  uint32_t part = view(a, x, own, a->blocks * NXK_SCAN_BLOCK * own[a->axis], a->rest, own[a->axis],
                       0, 0),
           within = scan(a, part, a->axis, a->rest, 0),
           carry = view(a, before, strides, a->blocks * strides[a->axis], a->rest, 0, 0, 0);
  return combine(a, carry, within, a->rest, 0);
}

static void take_apart(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  int64_t length = n->shape[n->attrs[0]], own[NXG_MAX_RANK] = {0}, strides[NXG_MAX_RANK] = {0};
  apart a = {r,
             i,
             n,
             nxi_compute_dtype(n->dtype),
             (int32_t)n->attrs[0],
             length / NXK_SCAN_BLOCK,
             length % NXK_SCAN_BLOCK};
  uint32_t x = r->map[n->args[0]], parts[2];
  if (a.t != n->dtype) x = add(&a, NXG_cast, &x, 1, NULL, 0, n->rank, n->shape);
  strides_of(&a, length, 0, own, NULL);
  uint32_t blocks = view(&a, x, own, 0, a.blocks, own[a.axis] * NXK_SCAN_BLOCK, NXK_SCAN_BLOCK,
                         own[a.axis]),
           local = scan(&a, blocks, a.axis + 1, a.blocks, NXK_SCAN_BLOCK);
  int64_t carried = a.rest ? a.blocks + 1 : a.blocks;
  uint32_t before = carries(&a, local, carried);
  strides_of(&a, carried, 0, strides, NULL);
  uint32_t wide = view(&a, before, strides, 0, a.blocks, strides[a.axis], NXK_SCAN_BLOCK, 0),
           whole = combine(&a, wide, local, a.blocks, NXK_SCAN_BLOCK);
  strides_of(&a, a.blocks * NXK_SCAN_BLOCK, 0, own, NULL);
  parts[0] = view(&a, whole, own, 0, a.blocks * NXK_SCAN_BLOCK, own[a.axis], 0, 0);
  uint32_t value = parts[0];
  if (a.rest) {
    int64_t axis = a.axis;
    parts[1] = write_rest(&a, x, before, carried);
    value = add(&a, NXG_cat, parts, 2, &axis, 1, n->rank, n->shape);
  }
  if (a.t != n->dtype)
    value = nxg_rewrite_add(r, i, NXG_cast, 1, &value, NULL, 0, n->dtype, n->rank, n->shape);
  nxg_rewrite_map(r, i, value);
  r->changed = true;
}

/* ---- products of complex numbers, for which no identity is used: the first block is handled
 * apart */

/* Part k of the product of two complex values: the result before a block and the result within it.
 * `parts` has both parts of each. */
static uint32_t product(const apart *a, const uint32_t parts[4], int k, int64_t extent,
                        int64_t inner) {
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = shape_of(a, extent, inner, shape);
  return add(a, k ? NXG_mul_imag : NXG_mul_real, parts, 4, NULL, 0, rank, shape);
}

static void scan_both(const apart *a, const uint32_t x[2], int32_t axis, int64_t extent,
                      int64_t inner, uint32_t out[2]) {
  int64_t attrs[2] = {axis, 1}, shape[NXG_MAX_RANK];
  int32_t rank = shape_of(a, extent, inner, shape);
  for (int k = 0; k < 2; k++)
    out[k] = add(a, k ? NXG_scan_prod_imag : NXG_scan_prod_real, x, 2, attrs, 2, rank, shape);
}

/* The results of the blocks after the first one; sums: the result of all elements before each of
 * them. */
static uint32_t later_blocks(const apart *a, const uint32_t *local, const uint32_t *sums,
                             int64_t n_sums, int part) {
  int64_t own[NXG_MAX_RANK] = {0}, strides[NXG_MAX_RANK] = {0}, inner = 0, n = a->blocks - 1;
  uint32_t parts[4];
  strides_of(a, a->blocks, NXK_SCAN_BLOCK, own, &inner);
  strides_of(a, n_sums, 0, strides, NULL);
  for (int k = 0; k < 2; k++) {
    parts[k] = view(a, sums[k], strides, 0, n, strides[a->axis], NXK_SCAN_BLOCK, 0);
    parts[2 + k] = view(a, local[k], own, own[a->axis], n, own[a->axis], NXK_SCAN_BLOCK, inner);
  }
  uint32_t whole = product(a, parts, part, n, NXK_SCAN_BLOCK);
  strides_of(a, n * NXK_SCAN_BLOCK, 0, own, NULL);
  return view(a, whole, own, 0, n * NXK_SCAN_BLOCK, own[a->axis], 0, 0);
}

static uint32_t later_rest(const apart *a, const uint32_t *x, const uint32_t *sums, int64_t n_sums,
                           int part) {
  int64_t own[NXG_MAX_RANK] = {0}, strides[NXG_MAX_RANK] = {0};
  uint32_t parts[4], rest[2];
  strides_of(a, a->n->shape[a->axis], 0, own, NULL);
  strides_of(a, n_sums, 0, strides, NULL);
  for (int k = 0; k < 2; k++) {
    rest[k] =
        view(a, x[k], own, a->blocks * NXK_SCAN_BLOCK * own[a->axis], a->rest, own[a->axis], 0, 0);
    parts[k] = view(a, sums[k], strides, (n_sums - 1) * strides[a->axis], a->rest, 0, 0, 0);
  }
  scan_both(a, rest, a->axis, a->rest, 0, parts + 2);
  return product(a, parts, part, a->rest, 0);
}

static void take_pairs_apart(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  int64_t axis = n->attrs[0], length = n->shape[axis], own[NXG_MAX_RANK] = {0},
          strides[NXG_MAX_RANK] = {0}, inner = 0;
  apart a = {
      r, i, n, (nx_dtype)n->dtype, (int32_t)axis, length / NXK_SCAN_BLOCK, length % NXK_SCAN_BLOCK};
  uint32_t x[2] = {r->map[n->args[0]], r->map[n->args[1]]}, blocks[2], local[2], totals[2], sums[2],
           parts[3], n_parts = 2;
  int part = n->op == NXG_scan_prod_imag;
  int64_t n_sums = a.rest ? a.blocks : a.blocks - 1;
  strides_of(&a, length, 0, own, NULL);
  for (int k = 0; k < 2; k++)
    blocks[k] =
        view(&a, x[k], own, 0, a.blocks, own[axis] * NXK_SCAN_BLOCK, NXK_SCAN_BLOCK, own[axis]);
  scan_both(&a, blocks, a.axis + 1, a.blocks, NXK_SCAN_BLOCK, local);
  strides_of(&a, a.blocks, NXK_SCAN_BLOCK, strides, &inner);
  for (int k = 0; k < 2; k++)
    totals[k] =
        view(&a, local[k], strides, (NXK_SCAN_BLOCK - 1) * inner, n_sums, strides[axis], 0, 0);
  scan_both(&a, totals, a.axis, n_sums, 0, sums);
  parts[0] = view(&a, local[part], strides, 0, NXK_SCAN_BLOCK, inner, 0, 0);
  parts[1] = later_blocks(&a, local, sums, n_sums, part);
  if (a.rest) parts[n_parts++] = later_rest(&a, x, sums, n_sums, part);
  nxg_rewrite_map(r, i, add(&a, NXG_cat, parts, n_parts, &axis, 1, n->rank, n->shape));
  r->changed = true;
}

/* Converts the operand to the type in which a call scans. */
static void widen(nxg_rewrite *r, uint32_t i) {
  const nxg_node *n = &r->from->nodes[i];
  nx_dtype t = nxi_compute_dtype(n->dtype);
  apart a = {.r = r, .node = i, .n = n, .t = t};
  uint32_t x = r->map[n->args[0]];
  x = add(&a, NXG_cast, &x, 1, NULL, 0, n->rank, n->shape);
  x = add(&a, (nxg_op)n->op, &x, 1, n->attrs, n->n_attrs, n->rank, n->shape);
  a.t = n->dtype;
  nxg_rewrite_map(r, i, add(&a, NXG_cast, &x, 1, NULL, 0, n->rank, n->shape));
  r->changed = true;
}

nx_status nxg_pass_scans(const nxg_graph *g, nxp_products products, nxg_graph **out, bool *changed,
                         nxi_diag *d) {
  nxg_rewrite r;
  nx_status status = nxg_rewrite_begin(&r, g, d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    const nxg_node *n = &g->nodes[i];
    bool called = nxp_scan_called(g, n, products);
    if (called && nxi_is_small_float(n->dtype)) widen(&r, i);
    else if (called || !nxg_is_scan(n->op) || !worth_it(n)) nxg_rewrite_copy(&r, i);
    else if (nxk_takes_pairs(nxg_reduce_kind(n->op))) take_pairs_apart(&r, i);
    else take_apart(&r, i);
  }
  return nxg_rewrite_end(&r, out, changed);
}
