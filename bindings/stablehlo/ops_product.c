/* SPDX-License-Identifier: ISC */
/* Products: dot_general as nx_matmul of operands whose axes are brought into its order, and
 * convolution. Operands of other types than the result's are converted first. */
#include "product.h"

#include <string.h>

#include "ir/dtype.h"

bool nxh_sort_axes(nxh_recorder *r, nxh_side *s) {
  uint32_t used = 0, rank = (uint32_t)nx_rank(s->x);
  const int64_t *shape = nx_shape(s->x);
  s->size_batch = s->size_contracted = s->size_rest = 1;
  for (uint32_t i = 0; i < s->n_batch + s->n_contracted; i++) {
    int32_t axis = i < s->n_batch ? s->batch[i] : s->contracted[i - s->n_batch];
    if (axis >= (int32_t)rank || used & 1u << axis)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "axis %d is out of range or named twice", axis);
    used |= 1u << axis;
    *(i < s->n_batch ? &s->size_batch : &s->size_contracted) *= shape[axis];
  }
  s->n_rest = 0;
  for (uint32_t i = 0; i < rank; i++) {
    if (used & 1u << i) continue;
    s->rest[s->n_rest++] = (int32_t)i;
    s->size_rest *= shape[i];
  }
  return true;
}

/* [batch, rest, contracted], or with the last two exchanged. */
static nx_tensor *as_matrices(const nxh_side *s, bool contracted_last) {
  int32_t order[NX_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n_batch; i++) order[n++] = s->batch[i];
  for (int part = 0; part < 2; part++) {
    bool rest = (part == 0) == contracted_last;
    for (uint32_t i = 0; i < (rest ? s->n_rest : s->n_contracted); i++)
      order[n++] = rest ? s->rest[i] : s->contracted[i];
  }
  int64_t shape[3] = {s->size_batch, contracted_last ? s->size_rest : s->size_contracted,
                      contracted_last ? s->size_contracted : s->size_rest};
  bool one = s->n_batch == 0;
  return nx_reshape(nx_permute(s->x, order, n), one ? shape + 1 : shape, one ? 2 : 3, NX_MAY_COPY);
}

/* stablehlo.dot names no axes: the last of the first operand, the first of the second. */
bool nxh_product_axes(nxh_recorder *r, const nxh_op *op, nxh_side *a, nxh_side *b) {
  if (nxh_word_is(op->name, "stablehlo.dot")) {
    a->n_contracted = b->n_contracted = 1;
    a->contracted[0] = nx_rank(a->x) - 1;
    b->contracted[0] = 0;
    if (nx_rank(a->x) < 1) return nxh_fail(r, NX_INVALID_ARGUMENT, "operands of rank 0");
  } else if (!nxh_axes(r, op, "lhs_batching_dimensions", a->batch, &a->n_batch) ||
             !nxh_axes(r, op, "rhs_batching_dimensions", b->batch, &b->n_batch) ||
             !nxh_axes(r, op, "lhs_contracting_dimensions", a->contracted, &a->n_contracted) ||
             !nxh_axes(r, op, "rhs_contracting_dimensions", b->contracted, &b->n_contracted)) {
    return false;
  }
  return true;
}

static bool same_extents(const nxh_side *a, const int32_t *of_a, uint32_t n_a, const nxh_side *b,
                         const int32_t *of_b, uint32_t n_b) {
  bool same = n_a == n_b;
  for (uint32_t i = 0; same && i < n_a; i++)
    same = nx_shape(a->x)[of_a[i]] == nx_shape(b->x)[of_b[i]];
  return same;
}

/* A cast that changes nothing would be a value of its own, and dense if its operand is not. */
nx_tensor *nxh_of_type(nx_tensor *x, nx_dtype type) {
  return x == NULL || nx_dtype_of(x) == type ? x : nx_cast(x, type);
}

static bool contracts_last(const nxh_side *s) {
  bool last = false;
  for (uint32_t i = 0; i < s->n_contracted; i++)
    last = last || s->contracted[i] == nx_rank(s->x) - 1;
  return last;
}

static int32_t add_extents(const nxh_side *s, const int32_t *axes, uint32_t n_axes, int64_t *shape,
                           int32_t n) {
  for (uint32_t i = 0; i < n_axes; i++) shape[n++] = nx_shape(s->x)[axes[i]];
  return n;
}

/* The product with the free axes of `a` before those of `b`. */
static nx_tensor *multiplied(const nxh_side *a, const nxh_side *b) {
  int64_t shape[3 * NX_MAX_RANK];
  int32_t n = add_extents(a, a->batch, a->n_batch, shape, 0);
  n = add_extents(a, a->rest, a->n_rest, shape, n);
  n = add_extents(b, b->rest, b->n_rest, shape, n);
  return nx_reshape(nx_matmul(as_matrices(a, true), as_matrices(b, false)), shape, n, NX_MAY_COPY);
}

/* The axes of a product whose operands were exchanged, in the order that they were to have. */
static nx_tensor *in_order(nx_tensor *y, const nxh_side *a, const nxh_side *b) {
  int32_t order[3 * NX_MAX_RANK];
  uint32_t n = 0;
  for (uint32_t i = 0; i < a->n_batch; i++) order[n++] = (int32_t)i;
  for (uint32_t i = 0; i < a->n_rest; i++) order[n++] = (int32_t)(a->n_batch + b->n_rest + i);
  for (uint32_t i = 0; i < b->n_rest; i++) order[n++] = (int32_t)(a->n_batch + i);
  return nx_permute(y, order, n);
}

/* Where rows of the second operand and columns of the first are contiguous, as of the weights and
 * the values of attention in JAX, the product is that of the second and the first, whose result is
 * transposed. Chains of products are found in this form (passes/plan/chain.c). */
nx_tensor *nxh_product(nxh_recorder *r, nxh_side *a, nxh_side *b, nx_dtype dtype) {
  if (!nxh_sort_axes(r, a) || !nxh_sort_axes(r, b)) return NULL;
  if (!same_extents(a, a->batch, a->n_batch, b, b->batch, b->n_batch) ||
      !same_extents(a, a->contracted, a->n_contracted, b, b->contracted, b->n_contracted)) {
    nxh_fail(r, NX_INVALID_ARGUMENT, "the operands' axes do not fit each other");
    return NULL;
  }
  a->x = nxh_of_type(a->x, dtype);
  b->x = nxh_of_type(b->x, dtype);
  if (a->x == NULL || b->x == NULL) return NULL;
  const bool exchanges =
      a->size_rest > 1 && b->size_rest > 1 && contracts_last(b) && !contracts_last(a);
  return exchanges ? in_order(multiplied(b, a), a, b) : multiplied(a, b);
}

bool nxh_dot(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  nxh_side a = {.x = nxh_in(r, op, 0)}, b = {.x = a.x != NULL ? nxh_in(r, op, 1) : NULL};
  if (b.x == NULL || !nxh_product_axes(r, op, &a, &b)) return false;
  nx_tensor *y = nxh_product(r, &a, &b, nxh_result_type(r, op, 0)->dtype);
  if (y != NULL && !nxh_has_type(y, nxh_result_type(r, op, 0)))
    return nxh_fail(r, NX_INVALID_ARGUMENT, "the type of the result is not that of the product");
  return nxh_set(r, op, 0, y);
}

/* ---- convolution */

static bool take_conv_axes(nxh_recorder *r, const nxh_op *op, const char *const names[3],
                           uint32_t n, int32_t *out) {
  uint32_t got;
  int32_t spatial[NX_MAX_RANK];
  if (!nxh_axes(r, op, names[2], spatial, &got)) return false;
  if (got != n)
    return nxh_fail(r, NX_INVALID_ARGUMENT, "%s has %u entries, not %u", names[2], got, n);
  out[0] = nxh_axis(op, names[0], -1);
  out[1] = nxh_axis(op, names[1], -1);
  for (uint32_t i = 0; i < n; i++) out[2 + i] = spatial[i];
  for (uint32_t i = 0; i < n + 2; i++)
    if (out[i] < 0)
      return nxh_fail(r, NX_INVALID_ARGUMENT, "%s is missing or negative", names[i < 2 ? i : 2]);
  return true;
}

bool nxh_convolve(nxh_recorder *r, const nxh_op *op, const int64_t *before, const int64_t *after) {
  static const char *const input[] = {"input_batch_dimension", "input_feature_dimension",
                                      "input_spatial_dimensions"};
  static const char *const kernel[] = {"kernel_output_feature_dimension",
                                       "kernel_input_feature_dimension",
                                       "kernel_spatial_dimensions"};
  static const char *const output[] = {"output_batch_dimension", "output_feature_dimension",
                                       "output_spatial_dimensions"};
  int32_t x_axes[NX_MAX_RANK + 2], w_axes[NX_MAX_RANK + 2], y_axes[NX_MAX_RANK + 2],
      reversed[NX_MAX_RANK];
  int64_t stride[NX_MAX_RANK], spread[NX_MAX_RANK], dilation[NX_MAX_RANK], turn[NX_MAX_RANK];
  nx_tensor *x = nxh_in(r, op, 0), *w = x != NULL ? nxh_in(r, op, 1) : NULL;
  if (w == NULL) return false;
  if (nx_rank(x) < 2) return nxh_fail(r, NX_INVALID_ARGUMENT, "an operand of rank %d", nx_rank(x));
  uint32_t n = (uint32_t)nx_rank(x) - 2;
  if (!take_conv_axes(r, op, input, n, x_axes) || !take_conv_axes(r, op, kernel, n, w_axes) ||
      !take_conv_axes(r, op, output, n, y_axes) ||
      !nxh_list_of(r, op, "window_strides", n, 1, stride) ||
      !nxh_list_of(r, op, "lhs_dilation", n, 1, spread) ||
      !nxh_list_of(r, op, "rhs_dilation", n, 1, dilation) ||
      !nxh_list_of(r, op, "window_reversal", n, 0, turn))
    return false;
  for (uint32_t i = 0; i < n; i++) reversed[i] = turn[i] != 0;
  nx_convolution_options o = {.size = sizeof o,
                              .n = (int32_t)n,
                              .stride = stride,
                              .before = before,
                              .after = after,
                              .x_dilation = spread,
                              .w_dilation = dilation,
                              .reversed = reversed,
                              .feature_groups = nxh_integer(op, "feature_group_count", 1),
                              .batch_groups = nxh_integer(op, "batch_group_count", 1),
                              .x_axes = x_axes,
                              .w_axes = w_axes,
                              .y_axes = y_axes,
                              .dtype = nxh_result_type(r, op, 0)->dtype};
  return nxh_set(r, op, 0, nx_convolution(x, w, &o));
}

bool nxh_convolution(nxh_recorder *r, const nxh_op *op, const nxh_row *row) {
  (void)row;
  int64_t before[NX_MAX_RANK], after[NX_MAX_RANK];
  nx_tensor *x = nxh_in(r, op, 0);
  return x != NULL &&
         nxh_padding(r, op, nx_rank(x) > 2 ? (uint32_t)nx_rank(x) - 2 : 0, before, after) &&
         nxh_convolve(r, op, before, after);
}
