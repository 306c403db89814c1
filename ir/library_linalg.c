/* SPDX-License-Identifier: ISC */
/* Types of linear algebra: matrices in the last two dimensions, all others are the batch. */
#include <string.h>

#include "library_types.h"

static const char *name_of(const nxg_call *call) { return nxg_ops[call->op].name; }

static nx_status fail_operand(const nxg_call *call, int32_t operand, const char *why, nxi_diag *d) {
  const nxg_array *a = &call->operands[operand];
  char shape[NXG_SHAPE_TEXT];
  nxi_fail(d, NX_INVALID_ARGUMENT, name_of(call), "%s: operand %d of shape %s %s", name_of(call),
           operand, nxg_format_shape(shape, a->rank, a->shape), why);
  if (d && d->operand < 0) d->operand = operand;
  return NX_INVALID_ARGUMENT;
}

/* LAPACK has f32, f64, c64 and c128; smaller floats are cast to f32 when the operation is recorded. */
static nx_status check_dtype(const nxg_call *call, nxi_diag *d) {
  nx_dtype t = call->operands[0].dtype;
  if (t == NX_F32 || t == NX_F64 || t == NX_C64 || t == NX_C128) return NX_OK;
  nxi_fail(d, NX_UNSUPPORTED_DTYPE, name_of(call), "%s: it takes f32, f64, c64 and c128, not %s",
           name_of(call), nxi_dtypes[t].name);
  if (d && d->operand < 0) d->operand = 0;
  return NX_UNSUPPORTED_DTYPE;
}

/* Sizes must fit LAPACK's 32-bit integers, work arrays of a few times n*n elements included. */
static nx_status check_matrix(const nxg_call *call, int32_t operand, bool square, nxi_diag *d) {
  const nxg_array *a = &call->operands[operand];
  if (a->rank < 2) return fail_operand(call, operand, "is no matrix", d);
  int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1];
  if (square && m != n) return fail_operand(call, operand, "is not square", d);
  if (m > INT32_MAX || n > INT32_MAX)
    return fail_operand(call, operand, "is larger than LAPACK can take", d);
  return NX_OK;
}

static nx_status check_flags(const nxg_call *call, nxi_diag *d) {
  for (uint32_t i = 0; i < call->n_attrs; i++) {
    size_t length;
    const char *key = nxg_call_key(call->op, i, &length);
    if (call->attrs[i] != 0 && call->attrs[i] != 1)
      return nxi_fail(d, NX_INVALID_ARGUMENT, name_of(call),
                      "%s: its attribute %.*s is %lld, neither 0 nor 1", name_of(call), (int)length,
                      key, (long long)call->attrs[i]);
  }
  return NX_OK;
}

static nx_status check_one(const nxg_call *call, bool square, nxi_diag *d) {
  nx_status status = check_dtype(call, d);
  if (!status) status = check_flags(call, d);
  return status ? status : check_matrix(call, 0, square, d);
}

nx_status nxg_types_cholesky(nxg_call *call, nxi_diag *d) {
  nx_status status = check_one(call, true, d);
  if (!status) call->results[0] = call->operands[0];
  return status;
}
