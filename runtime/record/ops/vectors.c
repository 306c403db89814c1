/* SPDX-License-Identifier: ISC */
/* Products of vectors and of tensors, diagonals and traces, recorded as views, products and sums.
 * Sums of small floats are computed in f32. */
#include <math.h>
#include <string.h>

#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* ---- checks */

static bool refuse(const char *op, nx_status status, int32_t operand, const char *why) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, status, op, "%s: %s", op, why);
  d.operand = operand;
  nxi_fail_null(&d);
  return false;
}

/* An axis counted from 0; -1: reported. */
static int32_t axis_of(const char *op, const nx_tensor *x, int32_t operand, int32_t axis) {
  nxi_diag d;
  char shape[NXG_SHAPE_TEXT];
  if (axis >= -x->rank && axis < x->rank) return axis < 0 ? axis + x->rank : axis;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no axis %d of operand %d of shape %s", op,
           axis, operand, nxg_format_shape(shape, x->rank, nxi_shape(x)));
  d.operand = operand;
  nxi_fail_null(&d);
  return -1;
}

/* Two operands that can be multiplied, of one dtype. */
static bool check_pair(const char *op, nx_tensor *a, nx_tensor *b) {
  nx_tensor *both[2] = {a, b};
  nxi_diag d;
  if (!nxi_check_operands(op, both, 2)) return false;
  nxi_diag_clear(&d);
  for (int32_t i = 0; i < 2 && !d.status; i++) {
    nx_dtype is = both[i]->storage->dtype, first = a->storage->dtype;
    d.operand = i;
    if (!nxg_op_admits(NXG_mul, is))
      nxi_fail(&d, NX_UNSUPPORTED_DTYPE, op,
               "%s: operand %d has dtype %s, which the operation does not admit", op, i,
               nx_dtype_name(is));
    else if (is != first)
      nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand %d has dtype %s, operand 0 has %s", op, i,
               nx_dtype_name(is), nx_dtype_name(first));
  }
  if (!d.status) return true;
  nxi_fail_null(&d);
  return false;
}

/* ---- diagonals */

/* The view; the caller's reference. */
static nx_tensor *diagonal(nx_tensor *x, int64_t offset, int32_t axis1, int32_t axis2) {
  int64_t shape[NXG_MAX_RANK], strides[NXG_MAX_RANK];
  const int64_t rows = nxi_shape(x)[axis1], columns = nxi_shape(x)[axis2];
  const int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  int64_t length = rows - down < columns - right ? rows - down : columns - right;
  if (down >= rows || right >= columns) length = 0;
  int32_t rank = 0;
  for (int32_t i = 0; i < x->rank; i++) {
    if (i == axis1 || i == axis2) continue;
    shape[rank] = nxi_shape(x)[i];
    strides[rank++] = nxi_strides(x)[i];
  }
  shape[rank] = length;
  strides[rank++] = nxi_strides(x)[axis1] + nxi_strides(x)[axis2];
  int64_t first = x->offset;
  if (length) first += down * nxi_strides(x)[axis1] + right * nxi_strides(x)[axis2];
  return nx_as_strided(x, shape, strides, rank, first);
}

static bool check_diagonal(const char *op, nx_tensor *x, int64_t offset, int32_t *axis1,
                           int32_t *axis2) {
  if (!nxi_have_tensor(op, 0, x)) return false;
  if (x->rank < 2) return refuse(op, NX_INVALID_ARGUMENT, 0, "operand 0 is no matrix");
  *axis1 = axis_of(op, x, 0, *axis1);
  if (*axis1 >= 0) *axis2 = axis_of(op, x, 0, *axis2);
  if (*axis1 < 0 || *axis2 < 0) return false;
  if (*axis1 == *axis2) return refuse(op, NX_INVALID_ARGUMENT, -1, "the two axes are one");
  return offset > -INT64_MAX || refuse(op, NX_INVALID_ARGUMENT, -1, "there is no such diagonal");
}

nx_tensor *nx_diagonal(nx_tensor *x, int64_t offset, int32_t axis1, int32_t axis2) {
  if (!check_diagonal("diagonal", x, offset, &axis1, &axis2)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_diagonal, x);
  return nxi_steps_end(&s, diagonal(x, offset, axis1, axis2));
}

/* The sum over the last axis, of small floats in f32. */
static nx_tensor *summed(nxi_steps *s, nx_tensor *x) {
  if (!x) return NULL;
  nx_tensor *wide = nxi_step(s, nxi_widened(x, false));
  return nxi_step(s, nxi_narrowed(nx_reduce_sum(wide, NX_AXES(-1), 0), x->storage->dtype));
}

nx_tensor *nx_trace(nx_tensor *x, int64_t offset, int32_t axis1, int32_t axis2) {
  if (!check_diagonal("trace", x, offset, &axis1, &axis2)) return NULL;
  if (!nxg_op_admits(NXG_reduce_sum, x->storage->dtype)) {
    refuse("trace", NX_UNSUPPORTED_DTYPE, 0, "operand 0 has a dtype that has no sums");
    return NULL;
  }
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_trace, x);
  return nxi_steps_end(&s, summed(&s, nxi_step(&s, diagonal(x, offset, axis1, axis2))));
}

/* ---- products of vectors */

nx_tensor *nx_outer(nx_tensor *a, nx_tensor *b) {
  if (!check_pair("outer", a, b)) return NULL;
  if (a->rank != 1 || b->rank != 1)
    return refuse("outer", NX_INVALID_ARGUMENT, a->rank != 1 ? 0 : 1, "an operand is no vector"),
           NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_outer, a);
  nx_tensor *column = nxi_step(&s, nx_reshape(a, NX_SHAPE(a->elements, 1), 0));
  return nxi_steps_end(&s, nxi_step(&s, nx_mul(column, b)));
}

/* The axis moved to the end. */
static nx_tensor *moved_last(nxi_steps *s, nx_tensor *x, int32_t axis) {
  int32_t axes[NXG_MAX_RANK], n = 0;
  for (int32_t i = 0; i < x->rank; i++)
    if (i != axis) axes[n++] = i;
  axes[n++] = axis;
  return nxi_step(s, nx_permute(x, axes, (size_t)n));
}

/* Whether both have the axis, counted from the end of each as operands broadcast, and with the same
 * extent. */
static bool check_axis(const char *op, nx_tensor *a, nx_tensor *b, int32_t axis, int32_t at[2]) {
  if (axis >= 0) return refuse(op, NX_INVALID_ARGUMENT, -1, "the axis is not counted from the end");
  at[0] = axis_of(op, a, 0, axis);
  at[1] = at[0] < 0 ? -1 : axis_of(op, b, 1, axis);
  if (at[1] < 0) return false;
  return nxi_shape(a)[at[0]] == nxi_shape(b)[at[1]] ||
         refuse(op, NX_INVALID_ARGUMENT, 1, "the axis has another extent in operand 1");
}

nx_tensor *nx_vecdot(nx_tensor *a, nx_tensor *b, int32_t axis) {
  int32_t at[2];
  if (!check_pair("vecdot", a, b) || !check_axis("vecdot", a, b, axis, at)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_vecdot, a);
  nx_dtype t = a->storage->dtype;
  nx_tensor *left = nxi_step(&s, nxi_widened(a, false)),
            *right = nxi_step(&s, nxi_widened(b, false));
  if (left && nxi_is_complex(t)) left = nxi_step(&s, nx_conj(left));
  nx_tensor *products =
      left && right
          ? nxi_step(&s, nx_mul(moved_last(&s, left, at[0]), moved_last(&s, right, at[1])))
          : NULL;
  return nxi_steps_end(&s, nxi_step(&s, nxi_narrowed(nx_reduce_sum(products, NX_AXES(-1), 0), t)));
}

/* Component `at` of vectors along the last axis, which stays. */
static nx_tensor *component(nxi_steps *s, nx_tensor *x, int64_t at) {
  int64_t start[NXG_MAX_RANK] = {0}, stop[NXG_MAX_RANK];
  if (!x) return NULL;
  memcpy(stop, nxi_shape(x), (size_t)x->rank * sizeof *stop);
  start[x->rank - 1] = at;
  stop[x->rank - 1] = at + 1;
  return nxi_step(s, nx_shrink(x, start, stop, (size_t)x->rank));
}

static nx_tensor *cross(nxi_steps *s, nx_tensor *a, nx_tensor *b) {
  nx_tensor *parts[3];
  for (int i = 0; i < 3; i++) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    parts[i] = nxi_step(s, nx_sub(nxi_step(s, nx_mul(component(s, a, j), component(s, b, k))),
                                  nxi_step(s, nx_mul(component(s, a, k), component(s, b, j)))));
    if (!parts[i]) return NULL;
  }
  return nxi_step(s, nx_cat(parts, 3, -1));
}

/* The last axis moved to a place counted from the end. */
static nx_tensor *moved_back(nxi_steps *s, nx_tensor *x, int32_t axis) {
  int32_t axes[NXG_MAX_RANK], n = 0;
  if (!x) return NULL;
  for (int32_t i = 0; i < x->rank; i++) axes[i] = i == x->rank + axis ? x->rank - 1 : n++;
  return nxi_step(s, nx_permute(x, axes, (size_t)x->rank));
}

nx_tensor *nx_cross(nx_tensor *a, nx_tensor *b, int32_t axis) {
  int32_t at[2];
  if (!check_pair("cross", a, b) || !check_axis("cross", a, b, axis, at)) return NULL;
  if (nxi_shape(a)[at[0]] != 3)
    return refuse("cross", NX_INVALID_ARGUMENT, 0, "the vectors have not three components"), NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_cross, a);
  nx_tensor *product = cross(&s, moved_last(&s, a, at[0]), moved_last(&s, b, at[1]));
  return nxi_steps_end(&s, moved_back(&s, product, axis));
}

/* ---- products of tensors */

/* Kronecker's: extents multiply, the missing ones of the smaller rank are 1. */
static nx_tensor *kron(nxi_steps *s, nx_tensor *a, nx_tensor *b) {
  const int32_t rank = a->rank > b->rank ? a->rank : b->rank;
  int64_t left[NXG_MAX_RANK], right[NXG_MAX_RANK], both[NXG_MAX_RANK];
  for (int32_t i = 0; i < rank; i++) {
    int32_t in_a = i - (rank - a->rank), in_b = i - (rank - b->rank);
    left[2 * i] = in_a < 0 ? 1 : nxi_shape(a)[in_a];
    right[2 * i + 1] = in_b < 0 ? 1 : nxi_shape(b)[in_b];
    left[2 * i + 1] = right[2 * i] = 1;
    if (__builtin_mul_overflow(left[2 * i], right[2 * i + 1], &both[i])) {
      refuse("kron", NX_INVALID_ARGUMENT, -1, "the result is too large");
      return NULL;
    }
  }
  nx_tensor *x = nxi_step(s, nx_reshape(a, left, 2 * rank, NX_MAY_COPY)),
            *y = nxi_step(s, nx_reshape(b, right, 2 * rank, NX_MAY_COPY));
  nx_tensor *product = nxi_step(s, nx_mul(x, y));
  return product ? nxi_step(s, nx_reshape(product, both, rank, NX_MAY_COPY)) : NULL;
}

nx_tensor *nx_kron(nx_tensor *a, nx_tensor *b) {
  if (!check_pair("kron", a, b)) return NULL;
  if (a->rank > NXG_MAX_RANK / 2 || b->rank > NXG_MAX_RANK / 2)
    return refuse("kron", NX_INVALID_ARGUMENT, a->rank > NXG_MAX_RANK / 2 ? 0 : 1,
                  "an operand has more than 16 dimensions"),
           NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_kron, a);
  return nxi_steps_end(&s, kron(&s, a, b));
}

/* One operand of a tensordot as a matrix: its other axes, and the ones that are summed over, in the
 * order of the list; `first`: these come first. *shape gets the other extents. */
static nx_tensor *as_matrix(nxi_steps *s, nx_tensor *x, const int32_t *summed, size_t n, bool first,
                            int64_t *shape, int32_t *rank) {
  int32_t axes[NXG_MAX_RANK], kept = 0;
  int64_t inner = 1, outer = 1;
  uint32_t taken = 0;
  for (size_t i = 0; i < n; i++) taken |= 1u << summed[i], inner *= nxi_shape(x)[summed[i]];
  const int32_t at = first ? (int32_t)n : 0;
  for (int32_t i = 0; i < x->rank; i++) {
    if (taken >> i & 1) continue;
    axes[at + kept++] = i;
    shape[(*rank)++] = nxi_shape(x)[i];
    outer *= nxi_shape(x)[i];
  }
  for (size_t i = 0; i < n; i++) axes[(first ? 0 : kept) + (int32_t)i] = summed[i];
  nx_tensor *turned = nxi_step(s, nx_permute(x, axes, (size_t)x->rank));
  int64_t matrix[2] = {first ? inner : outer, first ? outer : inner};
  return turned ? nxi_step(s, nx_reshape(turned, matrix, 2, NX_MAY_COPY)) : NULL;
}

static bool check_axes(nx_tensor *a, nx_tensor *b, const int32_t *of_a, const int32_t *of_b,
                       size_t n, int32_t (*at)[NXG_MAX_RANK]) {
  static const char op[] = "tensordot";
  uint32_t seen[2] = {0};
  if (n > NXG_MAX_RANK || (n && (!of_a || !of_b)))
    return refuse(op, NX_INVALID_ARGUMENT, -1, "a list of axes is null, or too long");
  for (size_t i = 0; i < n; i++) {
    at[0][i] = axis_of(op, a, 0, of_a[i]);
    at[1][i] = at[0][i] < 0 ? -1 : axis_of(op, b, 1, of_b[i]);
    if (at[1][i] < 0) return false;
    if (seen[0] >> at[0][i] & 1 || seen[1] >> at[1][i] & 1)
      return refuse(op, NX_INVALID_ARGUMENT, -1, "an axis is named twice");
    seen[0] |= 1u << at[0][i];
    seen[1] |= 1u << at[1][i];
    if (nxi_shape(a)[at[0][i]] != nxi_shape(b)[at[1][i]])
      return refuse(op, NX_INVALID_ARGUMENT, 1, "an axis has another extent in operand 1");
  }
  return (size_t)(a->rank + b->rank) - 2 * n <= NXG_MAX_RANK ||
         refuse(op, NX_INVALID_ARGUMENT, -1, "the result has more than 32 dimensions");
}

nx_tensor *nx_tensordot(nx_tensor *a, nx_tensor *b, const int32_t *axes_a, const int32_t *axes_b,
                        size_t n) {
  int32_t at[2][NXG_MAX_RANK], rank = 0;
  int64_t shape[2 * NXG_MAX_RANK];
  if (!check_pair("tensordot", a, b) || !check_axes(a, b, axes_a, axes_b, n, at)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_tensordot, a);
  nx_tensor *left = as_matrix(&s, a, at[0], n, false, shape, &rank),
            *right = left ? as_matrix(&s, b, at[1], n, true, shape, &rank) : NULL,
            *product = right ? nxi_step(&s, nx_matmul(left, right)) : NULL;
  return nxi_steps_end(&s, product ? nxi_step(&s, nx_reshape(product, shape, rank, NX_MAY_COPY))
                                   : NULL);
}

/* ---- chains of matrices */

enum { MOST_MATRICES = 64 };

typedef struct chain {
  nxi_steps *s;
  nx_tensor *const *m;
  uint8_t split[MOST_MATRICES][MOST_MATRICES]; /* where the product of i .. j is divided */
} chain;

/* The order of least multiplications: of each range by its best division into two. */
static void find_order(chain *c, const int64_t *extents, int n) {
  double cost[MOST_MATRICES][MOST_MATRICES];
  for (int i = 0; i < n; i++) cost[i][i] = 0;
  for (int length = 2; length <= n; length++)
    for (int i = 0, j = length - 1; j < n; i++, j++) {
      cost[i][j] = INFINITY;
      for (int k = i; k < j; k++) {
        double is = cost[i][k] + cost[k + 1][j] +
                    (double)extents[i] * (double)extents[k + 1] * (double)extents[j + 1];
        if (!(is < cost[i][j])) continue;
        cost[i][j] = is;
        c->split[i][j] = (uint8_t)k;
      }
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): at most MOST_MATRICES deep */
static nx_tensor *product_of(chain *c, int i, int j) {
  if (i == j) return c->m[i];
  nx_tensor *left = product_of(c, i, c->split[i][j]), *right = NULL;
  if (left) right = product_of(c, c->split[i][j] + 1, j);
  return right ? nxi_step(c->s, nx_matmul(left, right)) : NULL;
}

/* Whether matrices fit each other; *extents gets n + 1 of them. Vectors at the ends are a row and a
 * column. */
static bool check_chain(nx_tensor *const *m, size_t n, int64_t *extents) {
  static const char op[] = "multi_dot";
  if (n < 2 || n > MOST_MATRICES || !m)
    return refuse(op, NX_INVALID_ARGUMENT, -1, "it takes 2 to 64 operands");
  for (size_t i = 0; i < n; i++) {
    if (!nxi_have_tensor(op, (int32_t)i, m[i]) || !check_pair(op, m[0], m[i])) return false;
    const nx_tensor *x = m[i];
    bool end = i == 0 || i == n - 1;
    if (x->rank != 2 && !(end && x->rank == 1))
      return refuse(op, NX_INVALID_ARGUMENT, (int32_t)i,
                    "an operand is neither a matrix nor a vector at an end");
    int64_t rows = i == 0 && x->rank == 1 ? 1 : nxi_shape(x)[0],
            columns = i > 0 && x->rank == 1 ? 1 : nxi_shape(x)[x->rank - 1];
    if (i == 0) extents[0] = rows;
    if (extents[i] != rows)
      return refuse(op, NX_INVALID_ARGUMENT, (int32_t)i,
                    "an operand has not as many rows as the one before has columns");
    extents[i + 1] = columns;
  }
  return true;
}

nx_tensor *nx_multi_dot(nx_tensor *const *matrices, size_t n) {
  int64_t extents[MOST_MATRICES + 1];
  if (!check_chain(matrices, n, extents)) return NULL;
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_multi_dot, matrices[0]);
  chain c = {.s = &s, .m = matrices};
  find_order(&c, extents, (int)n);
  return nxi_steps_end(&s, product_of(&c, 0, (int)n - 1));
}
