/* SPDX-License-Identifier: ISC */
/* The pass of types.c for operations that combine several elements: products over axes,
 * cumulative products, matrix products, gather and scatter, library calls. */
#include <string.h>

#include "passes.h"
#include "types.h"

#include "ir/library/library.h"

/* ---- products over axes. A product of complex numbers cannot be computed as two separate
 * reductions, so it has an order of its own (docs/numerics.md). The axes are reduced one after the
 * other, the last first. Along an axis of n elements, with p the largest power of two that is not
 * above n, the elements from p on are multiplied into the first ones; then the upper half into the
 * lower, until one element is left. */

typedef struct complex_nodes {
  uint32_t part[2];
  int32_t rank;
  int64_t shape[NXG_MAX_RANK];
} complex_nodes;

/* Elements [start, start + count) of an axis. */
static complex_nodes slice_of(nxg_types *t, const complex_nodes *x, int32_t axis, int64_t start,
                              int64_t count, nx_dtype p) {
  complex_nodes out = *x;
  nxg_view v;
  nxg_view_contiguous(&v, x->rank, x->shape);
  v.offset = start * v.strides[axis];
  v.shape[axis] = out.shape[axis] = count;
  for (int k = 0; k < 2; k++) out.part[k] = nxg_types_view(t, x->part[k], p, &v);
  return out;
}

static complex_nodes product_of(nxg_types *t, const complex_nodes *a, const complex_nodes *b,
                                nx_dtype p) {
  complex_nodes out = *a;
  uint32_t args[4] = {a->part[0], a->part[1], b->part[0], b->part[1]};
  for (int k = 0; k < 2; k++)
    out.part[k] = nxg_rewrite_add(&t->r, t->i, k ? NXG_mul_imag : NXG_mul_real, 4, args, NULL, 0, p,
                                  a->rank, a->shape);
  return out;
}

static complex_nodes reduce_axis(nxg_types *t, complex_nodes x, int32_t axis, nx_dtype p) {
  int64_t n = x.shape[axis], half = 1;
  while (half <= n / 2) half *= 2;
  if (half < n) {
    complex_nodes low = slice_of(t, &x, axis, 0, n - half, p),
                  high = slice_of(t, &x, axis, half, n - half, p),
                  rest = slice_of(t, &x, axis, n - half, 2 * half - n, p);
    low = product_of(t, &low, &high, p);
    int64_t at = axis;
    x.shape[axis] = half;
    for (int k = 0; k < 2; k++) {
      uint32_t both[2] = {low.part[k], rest.part[k]};
      x.part[k] = nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, both, &at, 1, p, x.rank, x.shape);
    }
  }
  for (half /= 2; half > 0; half /= 2) {
    complex_nodes low = slice_of(t, &x, axis, 0, half, p),
                  high = slice_of(t, &x, axis, half, half, p);
    x = product_of(t, &low, &high, p);
  }
  return x;
}

/* Parts of f16 are multiplied in f32, and the product is rounded once. */
static uint32_t as_parts_of(nxg_types *t, uint32_t like, uint32_t part, nx_dtype from,
                            nx_dtype to) {
  if (from == to) return part;
  return nxg_types_add_like(t, like, NXG_cast, to, 1, &part, NULL, 0);
}

void nxg_types_product_over_axes(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i), *operand = nxg_types_old(t, n->args[0]);
  nx_dtype part = nxi_part_dtype(n->dtype), p = nxi_compute_dtype(part);
  complex_nodes x = {.rank = operand->rank};
  bool empty = false;
  memcpy(x.shape, operand->shape, (size_t)x.rank * sizeof *x.shape);
  for (int k = 0; k < 2; k++)
    x.part[k] = as_parts_of(t, n->args[0], nxg_types_part(t, n->args[0], k), part, p);
  for (int32_t axis = x.rank; axis-- > 0;) {
    if (!(n->attrs[0] >> axis & 1)) continue;
    empty = empty || x.shape[axis] == 0;
    if (!empty) x = reduce_axis(t, x, axis, p);
  }
  if (empty) {
    uint32_t one = nxg_types_constant(t, part, nxi_cast_bits(1, NX_I64, part));
    nxg_types_set_parts(t, one, nxg_types_constant(t, part, 0));
    return;
  }
  nxg_view v;
  nxg_view_contiguous(&v, n->rank, n->shape);
  for (int k = 0; k < 2; k++)
    x.part[k] = as_parts_of(t, t->i, nxg_types_view(t, x.part[k], p, &v), p, part);
  nxg_types_set_parts(t, x.part[0], x.part[1]);
}

void nxg_types_products_so_far(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype part = nxi_part_dtype(n->dtype), p = nxi_compute_dtype(part);
  uint32_t args[2], made[2];
  for (int k = 0; k < 2; k++)
    args[k] = as_parts_of(t, t->i, nxg_types_part(t, n->args[0], k), part, p);
  for (int k = 0; k < 2; k++) {
    made[k] = nxg_types_add_like(t, t->i, k ? NXG_scan_prod_imag : NXG_scan_prod_real, p, 2, args,
                                 n->attrs, n->n_attrs);
    made[k] = as_parts_of(t, t->i, made[k], p, part);
  }
  nxg_types_set_parts(t, made[0], made[1]);
}

/* ---- matrix products. Either two real products with twice the inner extent, which together do as
 * many multiplications as the complex one. Or a single real product with as many multiplications:
 * the first operand is the woven rows (re, im, re, im ..), and the second a matrix with twice the
 * rows and columns, which has the block (re, im), (-im, re) for each element. The result is then
 * woven, too. */

/* Both parts joined along an axis, `first` first; `minus`: the second one negated. */
static uint32_t beside(nxg_types *t, uint32_t node, int32_t axis, int first, bool minus) {
  const nxg_node *n = nxg_types_old(t, node);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int64_t shape[NXG_MAX_RANK], at = axis;
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  uint32_t both[2] = {nxg_types_part(t, node, first), NXG_TYPES_NONE};
  both[1] = nxg_types_part(t, node, 1 - first);
  if (minus) both[1] = nxg_types_add_like(t, node, NXG_neg, p, 1, &both[1], NULL, 0);
  shape[axis] *= 2;
  return nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, both, &at, 1, p, n->rank, shape);
}

/* The first operand as a matrix of parts: a view of its memory if its rows are dense, else it is
 * stored first. */
static uint32_t rows_of_parts(nxg_types *t, uint32_t node, nx_dtype p) {
  const nxg_node *n = nxg_types_old(t, node);
  int32_t last = n->rank - 1;
  uint32_t base = n->op == NXG_view ? t->woven[n->args[0]] : NXG_TYPES_NONE;
  nxg_view v;
  if (base != NXG_TYPES_NONE) nxg_node_view(t->g, node, &v);
  if (base == NXG_TYPES_NONE || v.strides[last] != 1) {
    nxg_view_contiguous(&v, n->rank, n->shape);
    base = nxg_types_woven(t, node);
  }
  v.offset *= 2;
  for (int32_t i = 0; i < last; i++) v.strides[i] = v.shape[i] == 1 ? 0 : 2 * v.strides[i];
  v.shape[last] *= 2;
  v.strides[last] = 1;
  return nxg_types_view(t, base, p, &v);
}

/* Part k of an operand of shape [.., rows, n] as [.., rows, 1, n, 1]; `minus`: negated. */
static uint32_t spread(nxg_types *t, uint32_t node, int k, bool minus) {
  const nxg_node *n = nxg_types_old(t, node);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int32_t last = n->rank - 1;
  uint32_t part = nxg_types_part(t, node, k);
  nxg_view v;
  if (minus) part = nxg_types_add_like(t, node, NXG_neg, p, 1, &part, NULL, 0);
  nxg_view_contiguous(&v, n->rank, n->shape);
  v.shape[last + 1] = n->shape[last];
  v.strides[last + 1] = 1;
  v.shape[last] = v.shape[last + 2] = 1;
  v.strides[last] = n->shape[last];
  v.strides[last + 2] = 1;
  v.rank += 2;
  return nxg_types_view(t, part, p, &v);
}

/* Part `first` of each element and the other part side by side: [.., rows, 1, n, 2] */
static uint32_t weave(nxg_types *t, uint32_t node, int first, bool minus) {
  const nxg_node *n = nxg_types_old(t, node);
  int64_t shape[NXG_MAX_RANK], axis = n->rank + 1;
  uint32_t both[2] = {spread(t, node, first, minus), NXG_TYPES_NONE};
  both[1] = spread(t, node, 1 - first, false);
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  shape[n->rank] = n->shape[n->rank - 1];
  shape[n->rank - 1] = 1;
  shape[n->rank + 1] = 2;
  return nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, both, &axis, 1, nxi_part_dtype(n->dtype),
                         n->rank + 2, shape);
}

/* The second operand as a matrix of blocks: [.., 2 rows, 2 n] */
static uint32_t squares_of_parts(nxg_types *t, uint32_t node, nx_dtype p) {
  const nxg_node *n = nxg_types_old(t, node);
  int64_t shape[NXG_MAX_RANK], axis = n->rank - 1;
  uint32_t both[2] = {weave(t, node, 0, false), NXG_TYPES_NONE};
  nxg_view v;
  both[1] = weave(t, node, 1, true);
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  shape[n->rank] = n->shape[n->rank - 1];
  shape[n->rank - 1] = 2;
  shape[n->rank + 1] = 2;
  uint32_t all = nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, both, &axis, 1, p, n->rank + 2, shape);
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  shape[n->rank - 2] *= 2;
  shape[n->rank - 1] *= 2;
  nxg_view_contiguous(&v, n->rank, shape);
  return nxg_types_view(t, all, p, &v);
}

/* Whether a single real product is better: if a library computes it. */
static bool is_joined(const nxg_types *t, const nxg_node *n) {
  const nxg_node *a = nxg_types_old(t, n->args[0]);
  int64_t rows = n->shape[n->rank - 2], columns = n->shape[n->rank - 1],
          inner = 2 * a->shape[n->rank - 1];
  bool small = rows <= NXP_SMALL_MATMUL && columns <= NXP_SMALL_MATMUL && inner <= NXP_SMALL_MATMUL;
  return (t->joined >> n->dtype & 1) && !small && n->rank + 2 <= NXG_MAX_RANK && inner > 0 &&
         nxg_node_elements(n) > 0;
}

static void join_matmul(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int64_t shape[NXG_MAX_RANK];
  nxg_view row = {.rank = 1, .shape = {2 * nxg_node_elements(n)}, .strides = {1}};
  uint32_t args[2] = {rows_of_parts(t, n->args[0], p), NXG_TYPES_NONE};
  args[1] = squares_of_parts(t, n->args[1], p);
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  shape[n->rank - 1] *= 2;
  uint32_t made = nxg_rewrite_add(&t->r, t->i, NXG_matmul, 2, args, NULL, 0, p, n->rank, shape);
  t->woven[t->i] = nxg_types_view(t, made, p, &row);
}

/* The matrices of an operand, those that products of a batch share once; transposed: columns as
 * rows. */
static void matrices_once(const nxg_types *t, uint32_t node, bool transposed, nxg_view *out) {
  const nxg_node *n = nxg_types_old(t, node);
  int32_t rank = n->rank;
  nxg_view from;
  nxg_view_contiguous(out, rank, n->shape);
  if (n->op == NXG_view) nxg_node_view(t->g, node, &from);
  for (int32_t i = 0; n->op == NXG_view && i < rank - 2; i++)
    if (from.strides[i] == 0) out->shape[i] = 1;
  if (!transposed) return;
  out->shape[rank - 2] = n->shape[rank - 1];
  out->shape[rank - 1] = n->shape[rank - 2];
  out->strides[rank - 2] = 1;
  out->strides[rank - 1] = n->shape[rank - 1];
}

/* Rows re, -im and im, re in turn for each row of an operand: [.., 2 rows, 2 n]; transposed: so for
 * its columns, in place of which they are: [.., 2 rows, 2 n] too, but columns are contiguous. */
static uint32_t stacked(nxg_types *t, uint32_t node, bool transposed) {
  const nxg_node *n = nxg_types_old(t, node);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int32_t rank = n->rank, row = rank - 2, last = rank - 1;
  nxg_view one, all;
  matrices_once(t, node, transposed, &one);
  uint32_t four[4];
  for (int k = 0; k < 2; k++)
    four[k == 0 ? 0 : 2] = nxg_types_view(t, nxg_types_part(t, node, k), p, &one);
  four[3] = four[0];
  four[1] = nxg_rewrite_add(&t->r, t->i, NXG_neg, 1, &four[2], NULL, 0, p, rank, one.shape);
  int64_t shape[NXG_MAX_RANK], axis = last;
  memcpy(shape, one.shape, (size_t)rank * sizeof *shape);
  shape[last] *= 4;
  uint32_t joined = nxg_rewrite_add(&t->r, t->i, NXG_cat, 4, four, &axis, 1, p, rank, shape);
  shape[row] *= 2;
  shape[last] /= 2;
  nxg_view_contiguous(&all, rank, shape);
  for (int32_t i = 0; i < row; i++) {
    all.shape[i] = n->shape[i];
    if (one.shape[i] == 1) all.strides[i] = 0;
  }
  if (transposed) {
    all.shape[row] = shape[last];
    all.shape[last] = shape[row];
    all.strides[row] = 1;
    all.strides[last] = shape[last];
  }
  return nxg_types_view(t, joined, p, &all);
}

/* Columns re; -im and im; re in turn for each column of an operand: [.., 2 rows, 2 n], rows
 * contiguous. The upper half is in the order of the operand's memory, in the lower one only
 * neighbours change places, so nothing is read or written across rows. */
static uint32_t stacked_pairs(nxg_types *t, uint32_t node) {
  const nxg_node *n = nxg_types_old(t, node);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int32_t rank = n->rank, row = rank - 2;
  int64_t behind = rank, below = row;
  nxg_view v;
  matrices_once(t, node, false, &v);
  v.rank = rank + 1;
  v.shape[rank] = v.strides[rank] = 1;
  uint32_t upper[2], lower[2], both[2];
  for (int k = 0; k < 2; k++) upper[k] = nxg_types_view(t, nxg_types_part(t, node, k), p, &v);
  lower[0] = nxg_rewrite_add(&t->r, t->i, NXG_neg, 1, &upper[1], NULL, 0, p, v.rank, v.shape);
  lower[1] = upper[0];
  v.shape[rank] = 2;
  both[0] = nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, upper, &behind, 1, p, v.rank, v.shape);
  both[1] = nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, lower, &behind, 1, p, v.rank, v.shape);
  v.shape[row] *= 2;
  both[0] = nxg_rewrite_add(&t->r, t->i, NXG_cat, 2, both, &below, 1, p, v.rank, v.shape);
  v.shape[rank - 1] *= 2;
  nxg_view_contiguous(&v, rank, v.shape);
  for (int32_t i = 0; i < row; i++) {
    if (v.shape[i] == 1) v.strides[i] = 0;
    v.shape[i] = n->shape[i];
  }
  return nxg_types_view(t, both[0], p, &v);
}

/* Whether it is no view whose columns are contiguous, and can have an axis more. */
static bool has_rows(const nxg_types *t, uint32_t node) {
  const nxg_node *n = nxg_types_old(t, node);
  nxg_view v;
  if (n->rank == NXG_MAX_RANK) return false;
  if (n->op != NXG_view) return true;
  nxg_node_view(t->g, node, &v);
  return v.strides[n->rank - 1] <= v.strides[n->rank - 2];
}

/* One real product, of as many multiplications: the operand that has fewer rows or columns gets
 * twice as many, and the other one is read, and perhaps made, once. */
static void stack_matmul(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  int32_t last = n->rank - 1;
  int64_t shape[NXG_MAX_RANK];
  bool rows = n->shape[last - 1] < n->shape[last], pairs = !rows && has_rows(t, n->args[1]);
  uint32_t args[2], made, part[2];
  memcpy(shape, n->shape, n->rank * sizeof *shape);
  shape[rows ? last - 1 : last] *= 2;
  args[0] = rows ? stacked(t, n->args[0], false) : beside(t, n->args[0], last, 0, false);
  args[1] = rows    ? beside(t, n->args[1], last - 1, 0, false)
            : pairs ? stacked_pairs(t, n->args[1])
                    : stacked(t, n->args[1], true);
  made = nxg_rewrite_add(&t->r, t->i, NXG_matmul, 2, args, NULL, 0, p, n->rank, shape);
  if (!rows) {
    nxg_view row = {.rank = 1, .shape = {2 * nxg_node_elements(n)}, .strides = {1}};
    t->woven[t->i] = nxg_types_view(t, made, p, &row);
    return;
  }
  for (int k = 0; k < 2; k++) {
    nxg_view v;
    nxg_view_contiguous(&v, n->rank, shape);
    v.offset = k * v.strides[last - 1];
    v.strides[last - 1] *= 2;
    v.shape[last - 1] /= 2;
    part[k] = nxg_types_view(t, made, p, &v);
  }
  nxg_types_set_parts(t, part[0], part[1]);
}

/* Whether a product is one that a library computes, and not with a vector. */
static bool is_stacked(const nxg_types *t, const nxg_node *n) {
  const nxg_node *a = nxg_types_old(t, n->args[0]);
  int64_t rows = n->shape[n->rank - 2], columns = n->shape[n->rank - 1],
          inner = 2 * a->shape[n->rank - 1];
  bool small = rows <= NXP_SMALL_MATMUL && columns <= NXP_SMALL_MATMUL && inner <= NXP_SMALL_MATMUL;
  return !small && rows > 1 && columns > 1 && inner > 0 && nxg_node_elements(n) > 0;
}

void nxg_types_matmul(nxg_types *t) {
  if (is_joined(t, nxg_types_old(t, t->i))) {
    join_matmul(t);
    return;
  }
  if (is_stacked(t, nxg_types_old(t, t->i))) {
    stack_matmul(t);
    return;
  }
  const nxg_node *n = nxg_types_old(t, t->i);
  nx_dtype p = nxi_part_dtype(n->dtype);
  uint32_t made[2];
  for (int k = 0; k < 2; k++) {
    uint32_t args[2] = {beside(t, n->args[0], n->rank - 1, 0, k == 0), NXG_TYPES_NONE};
    args[1] = beside(t, n->args[1], n->rank - 2, k, false);
    made[k] = nxg_types_add(t, NXG_matmul, p, 2, args);
  }
  nxg_types_set_parts(t, made[0], made[1]);
}

/* ---- gather and scatter: the indices are the same for each part */

void nxg_types_gather(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  uint32_t made[2], args[3];
  for (uint32_t a = 1; a < n->n_args; a++) args[a] = t->r.map[n->args[a]];
  for (int k = 0; k < 2; k++) {
    args[0] = nxg_types_part(t, n->args[0], k);
    made[k] = nxg_types_add_like(t, t->i, NXG_gather, nxi_part_dtype(n->dtype), n->n_args, args,
                                 n->attrs, n->n_attrs);
  }
  nxg_types_set_parts(t, made[0], made[1]);
}

static uint32_t cast_row(nxg_types *t, uint32_t row, int64_t parts, nx_dtype from, nx_dtype to) {
  if (from == to) return row;
  return nxg_rewrite_add(&t->r, t->i, NXG_cast, 1, &row, NULL, 0, to, 1, &parts);
}

/* A scatter works on woven values, so that it can be done in place. Sums of f16 are sums in f32,
 * rounded once. */
void nxg_types_scatter(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  int64_t attrs[3 + NXG_MAX_RANK], twice = 2 * nxg_node_elements(n);
  uint32_t args[4], rank = nxg_types_old(t, n->args[1])->rank;
  nx_dtype part = nxi_part_dtype(n->dtype),
           p = nxg_scatter_mode(n->attrs[1]) ? nxi_compute_dtype(part) : part;
  attrs[0] = n->attrs[0];
  attrs[1] = (n->attrs[1] & ~(int64_t)NXG_SCATTER_SEEN) | NXG_SCATTER_PAIRS;
  memcpy(attrs + 2, nxg_scatter_shape(n), rank * sizeof *attrs);
  if (n->n_args == 4) attrs[2 + rank] = n->attrs[n->n_attrs - 1];
  for (uint32_t a = 0; a < n->n_args; a++) {
    int64_t parts = 2 * nxg_node_elements(nxg_types_old(t, n->args[a]));
    args[a] =
        a % 2 ? t->r.map[n->args[a]] : cast_row(t, nxg_types_woven(t, n->args[a]), parts, part, p);
  }
  uint32_t row = nxg_rewrite_add(&t->r, t->i, NXG_scatter, n->n_args, args, attrs,
                                 2 + rank + (n->n_args == 4), p, 1, &twice);
  t->woven[t->i] = cast_row(t, row, twice, p, part);
}

/* Operands and results of a library call are in memory: complex ones are rows of parts, and their
 * shapes become attributes. */
void nxg_types_call(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  int64_t attrs[NXG_CALL_MOST_ATTRS], twice = 2 * nxg_node_elements(n);
  uint32_t args[NXG_CALL_OPERANDS], n_attrs = n->n_attrs;
  memcpy(attrs, n->attrs, n_attrs * sizeof *attrs);
  for (uint32_t a = 0; a < n->n_args; a++) {
    const nxg_node *x = nxg_types_old(t, n->args[a]);
    bool row = nxi_is_complex(x->dtype);
    args[a] = row ? nxg_types_woven(t, n->args[a]) : t->r.map[n->args[a]];
    attrs[n_attrs++] = row ? x->rank : -1;
    for (int32_t k = 0; row && k < x->rank; k++) attrs[n_attrs++] = x->shape[k];
  }
  if (nxi_is_complex(n->dtype))
    t->woven[t->i] = nxg_rewrite_add(&t->r, t->i, (nxg_op)n->op, n->n_args, args, attrs, n_attrs,
                                     nxi_part_dtype(n->dtype), 1, &twice);
  else
    nxg_types_set_real(
        t, nxg_types_add_like(t, t->i, (nxg_op)n->op, n->dtype, n->n_args, args, attrs, n_attrs));
}
