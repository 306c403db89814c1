/* SPDX-License-Identifier: ISC */
/* Recording of matrix products. The graph multiplies matrices alone: a vector is a matrix of one
 * row or of one column on the way in, and the result loses that axis. */
#include <string.h>

#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* A vector as a matrix of one row, or of one column. */
static nx_tensor *as_matrix(nx_tensor *v, bool row) {
  int64_t n = nxi_shape(v)[0], shape[2] = {row ? 1 : n, row ? n : 1};
  return nx_reshape(v, shape, 2, 0);
}

/* Whether the inner extents agree. False: reported, with the shapes as the caller has them. */
static bool check_inner(nx_tensor *a, nx_tensor *b) {
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  nxi_diag d;
  if (a->rank && b->rank &&
      nxi_shape(a)[a->rank - 1] == nxi_shape(b)[b->rank == 1 ? 0 : b->rank - 2])
    return true;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "matmul", "matmul: operands of the shapes %s and %s: %s",
           nxg_format_shape(left, a->rank, nxi_shape(a)),
           nxg_format_shape(right, b->rank, nxi_shape(b)),
           a->rank && b->rank ? "the inner extents differ" : "a number is no matrix");
  d.operand = a->rank ? 1 : 0;
  nxi_fail_null(&d);
  return false;
}

/* x without the axis of the row, or of the column; takes the reference. */
static nx_tensor *without_axis(nx_tensor *x, bool row) {
  int64_t shape[NXG_MAX_RANK];
  if (!x) return NULL;
  int32_t rank = x->rank - 1;
  memcpy(shape, nxi_shape(x), (size_t)rank * sizeof *shape);
  if (row) shape[rank - 1] = nxi_shape(x)[rank];
  nx_tensor *result = nx_reshape(x, shape, rank, 0);
  nx_tensor_release(x);
  return result;
}

static nx_tensor *with_vectors(nx_tensor *a, nx_tensor *b) {
  bool row = a->rank == 1, column = b->rank == 1;
  if (!check_inner(a, b)) return NULL;
  uint16_t outer = nxi_called_begin(NXG_matmul);
  nx_tensor *left = row ? as_matrix(a, true) : nx_tensor_retain(a),
            *right = column ? as_matrix(b, false) : nx_tensor_retain(b), *result = NULL;
  if (left && right) result = nxi_record_leading(NXG_matmul, left, right, 2, NULL, 0);
  nx_tensor_release(left);
  nx_tensor_release(right);
  if (column) result = without_axis(result, false);
  if (row) result = without_axis(result, !column);
  nxi_called_end(outer);
  return result;
}

nx_tensor *nx_matmul(nx_tensor *a, nx_tensor *b) {
  nx_tensor *t[2] = {a, b};
  if (!nxi_check_operands("matmul", t, 2)) return NULL;
  if (a->rank < 2 || b->rank < 2) return with_vectors(a, b);
  return nxi_record_leading(NXG_matmul, a, b, 2, NULL, 0);
}
