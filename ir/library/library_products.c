/* SPDX-License-Identifier: ISC */
/* Types of matmul_i32: matrices of i8, u8 and i16, not always of one dtype, and sums of 32 bits. A
 * bit of `transpose` says that an operand is stored with its last two dimensions exchanged.
 * Leading dimensions are equal, or 1 in an operand that is repeated along them.
 *
 * And of matmul_windows: images [number, y, x, features] and weights [columns, taps along y, along
 * x, features] of f16, bf16 or f32. Of an axis, window i begins at image element i * step - before,
 * its taps are `dilation` apart, and outside of the image are zeros. The result has a row for each
 * window, of the images one after the other, in lines along x, and the weights' columns: sums over
 * taps, then features, in this order, in f32, rounded once.
 *   layout 1: images [number, features, y, x] and weights [columns, features, taps along y, along
 * x], of f32; sums over features, then taps. layout 2: the result is [number, columns, windows of
 * an image]. Both are bits.
 *   If images have more features than weights, by a factor, columns are in as many groups, each of
 * which has its part of the image's features. */
#include "library_types.h"

static nx_status fail(int32_t operand, nx_status status, const char *why, nxi_diag *d) {
  nxi_fail(d, status, "matmul_i32", "matmul_i32: operand %d %s", operand, why);
  if (d && d->operand < 0) d->operand = operand;
  return status;
}

static nx_status check_operand(const nxg_call *call, int32_t operand, nxi_diag *d) {
  const nxg_array *a = &call->operands[operand];
  if (a->dtype != NX_I8 && a->dtype != NX_U8 && a->dtype != NX_I16)
    return fail(operand, NX_UNSUPPORTED_DTYPE, "is not of i8, u8 or i16", d);
  if (a->rank < 2) return fail(operand, NX_INVALID_ARGUMENT, "is no matrix", d);
  return NX_OK;
}

nx_status nxg_types_matmul_i32(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0], *b = &call->operands[1];
  const int64_t transpose = call->attrs[0];
  nxg_array *c = &call->results[0];
  if (transpose < 0 || transpose > 3)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "matmul_i32",
                    "matmul_i32: its attribute transpose is %lld, not 0 to 3",
                    (long long)transpose);
  for (int32_t i = 0; i < 2; i++) {
    nx_status status = check_operand(call, i, d);
    if (status) return status;
  }
  if (a->rank != b->rank) return fail(1, NX_INVALID_ARGUMENT, "has another rank than operand 0", d);
  const int32_t row = a->rank - 2, column = a->rank - 1;
  if (a->shape[transpose & 1 ? row : column] != b->shape[transpose & 2 ? column : row])
    return fail(1, NX_INVALID_ARGUMENT, "has another inner extent than operand 0", d);
  *c = *a;
  c->dtype = NX_I32;
  c->shape[row] = a->shape[transpose & 1 ? column : row];
  c->shape[column] = b->shape[transpose & 2 ? row : column];
  for (int32_t i = 0; i < row; i++) {
    if (a->shape[i] == 1) c->shape[i] = b->shape[i];
    else if (b->shape[i] != 1 && b->shape[i] != a->shape[i])
      return fail(1, NX_INVALID_ARGUMENT, "does not repeat along the dimensions of operand 0", d);
  }
  return NX_OK;
}

static nx_status bad_windows(const char *why, nxi_diag *d) {
  return nxi_fail(d, NX_INVALID_ARGUMENT, "matmul_windows", "matmul_windows: %s", why);
}

/* The result's type, of operands and attributes that are right. */
static nx_status set_windows(nxg_call *call, nxi_diag *d) {
  const int64_t *a = call->attrs, number = call->operands[0].shape[0],
                columns = call->operands[1].shape[0];
  nxg_array *y = &call->results[0];
  int64_t places = a[NXG_WINDOWS_COUNT], rows;
  if (__builtin_mul_overflow(places, a[NXG_WINDOWS_AXIS + NXG_WINDOWS_COUNT], &places) ||
      __builtin_mul_overflow(places, number, &rows))
    return bad_windows("there are too many windows", d);
  const bool first = a[NXG_WINDOWS_LAYOUT] & NXG_WINDOWS_RESULT_FIRST;
  *y = (nxg_array){.dtype = call->operands[0].dtype, .rank = first ? 3 : 2};
  if (first) y->shape[0] = number, y->shape[1] = columns, y->shape[2] = places;
  else y->shape[0] = rows, y->shape[1] = columns;
  return NX_OK;
}

nx_status nxg_types_matmul_windows(nxg_call *call, nxi_diag *d) {
  enum { MOST = 1 << 30, BOTH = NXG_WINDOWS_IMAGE_FIRST | NXG_WINDOWS_RESULT_FIRST };
  const nxg_array *x = &call->operands[0], *w = &call->operands[1];
  const int64_t layout = call->attrs[NXG_WINDOWS_LAYOUT];
  const int32_t feature = layout & NXG_WINDOWS_IMAGE_FIRST ? 1 : 3;
  if ((x->dtype != NX_F16 && x->dtype != NX_BF16 && x->dtype != NX_F32) ||
      (feature == 1 && x->dtype != NX_F32))
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "matmul_windows",
                    "matmul_windows: operands of %s in this layout", nxi_dtypes[x->dtype].name);
  if (layout < 0 || layout > BOTH) return bad_windows("there is no such layout", d);
  if (x->rank != 4 || w->rank != 4) return bad_windows("an operand has not four axes", d);
  const int64_t each = w->shape[feature], groups = each > 0 ? x->shape[feature] / each : 1;
  if (x->shape[feature] != groups * each || groups < 1 || w->shape[0] % groups != 0)
    return bad_windows("image and weights differ in features", d);
  for (int axis = 0; axis < 2; axis++) {
    const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * axis;
    for (int i = 0; i < NXG_WINDOWS_AXIS; i++)
      if (a[i] > MOST || a[i] < (i == NXG_WINDOWS_BEFORE ? -MOST : i > 0))
        return bad_windows("an attribute is out of range", d);
  }
  return set_windows(call, d);
}
