/* SPDX-License-Identifier: ISC */
/* Types of matmul_i32: matrices of i8, u8 and i16, not always of one dtype, and sums of 32 bits. A
 * bit of `transpose` says that an operand is stored with its last two dimensions exchanged.
 * Leading dimensions are equal, or 1 in an operand that is repeated along them.
 *
 * And of matmul_windows: images [number, y, x, features] of f16 or bf16 and weights [columns, taps
 * along y, along x, features]. Of an axis, window i begins at image element i * step - before, its
 * taps are `dilation` apart, and outside of the image are zeros. The result has a row for each
 * window, of the images one after the other, in lines along x, and the weights' columns: sums over
 * taps, then features, in this order, in f32, rounded once. */
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

nx_status nxg_types_matmul_windows(nxg_call *call, nxi_diag *d) {
  enum { MOST = 1 << 30 };
  const nxg_array *x = &call->operands[0], *w = &call->operands[1];
  if (x->dtype != NX_F16 && x->dtype != NX_BF16)
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "matmul_windows",
                    "matmul_windows: operands of %s, not of f16 or bf16",
                    nxi_dtypes[x->dtype].name);
  if (x->rank != 4 || w->rank != 4) return bad_windows("an operand has not four axes", d);
  if (x->shape[3] != w->shape[3]) return bad_windows("image and weights differ in features", d);
  for (int axis = 0; axis < 2; axis++) {
    const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * axis;
    for (int i = 0; i < NXG_WINDOWS_AXIS; i++)
      if (a[i] > MOST || a[i] < (i == NXG_WINDOWS_BEFORE ? -MOST : i > 0))
        return bad_windows("an attribute is out of range", d);
  }
  int64_t rows = x->shape[0];
  for (int axis = 0; axis < 2; axis++)
    if (__builtin_mul_overflow(rows, call->attrs[NXG_WINDOWS_AXIS * axis + NXG_WINDOWS_COUNT],
                               &rows))
      return bad_windows("there are too many windows", d);
  call->results[0] = (nxg_array){.dtype = x->dtype, .rank = 2, .shape = {rows, w->shape[0]}};
  return NX_OK;
}
