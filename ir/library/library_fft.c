/* SPDX-License-Identifier: ISC */
/* Types of Fourier transforms. Attributes: the mask of the axes; rfft and irfft: the axis of the
 * real numbers, which is one of them; irfft: how many real numbers, 0 for 2 (n - 1). */
#include "library_types.h"

static const char *name_of(const nxg_call *call) { return nxg_ops[call->op].name; }

static nx_status check_dtype(const nxg_call *call, nx_dtype single, nx_dtype wide, nxi_diag *d) {
  nx_dtype t = call->operands[0].dtype;
  if (t == single || t == wide) return NX_OK;
  nxi_fail(d, NX_UNSUPPORTED_DTYPE, name_of(call), "%s: it takes %s and %s, not %s", name_of(call),
           nxi_dtypes[single].name, nxi_dtypes[wide].name, nxi_dtypes[t].name);
  if (d && d->operand < 0) d->operand = 0;
  return NX_UNSUPPORTED_DTYPE;
}

static nx_status check_axes(const nxg_call *call, nxi_diag *d) {
  const char *name = name_of(call);
  int32_t rank = call->operands[0].rank;
  int64_t mask = call->attrs[0];
  if (mask == 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: it needs an axis or more", name);
  for (int32_t axis = rank; axis < 63; axis++)
    if (mask < 0 || mask >> axis & 1)
      return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: axis %d is out of range for rank %d", name,
                      axis, rank);
  return NX_OK;
}

static nx_status types_of_complex(nxg_call *call, nxi_diag *d) {
  nx_status status = check_dtype(call, NX_C64, NX_C128, d);
  if (!status) status = check_axes(call, d);
  if (!status) call->results[0] = call->operands[0];
  return status;
}

nx_status nxg_types_fft(nxg_call *call, nxi_diag *d) { return types_of_complex(call, d); }
nx_status nxg_types_ifft(nxg_call *call, nxi_diag *d) { return types_of_complex(call, d); }

/* Checks the axis of the real numbers and the number of these. */
static nx_status check_length(const nxg_call *call, int64_t length, nxi_diag *d) {
  const char *name = name_of(call);
  if (length >= 1) return NX_OK;
  nxi_fail(d, NX_INVALID_ARGUMENT, name,
           "%s: there is no transform of length %lld, from axis %lld of extent %lld", name,
           (long long)length, (long long)call->attrs[1],
           (long long)call->operands[0].shape[call->attrs[1]]);
  if (d && d->operand < 0) d->operand = 0;
  return NX_INVALID_ARGUMENT;
}

static nx_status check_real_axis(const nxg_call *call, nxi_diag *d) {
  const char *name = name_of(call);
  int64_t axis = call->attrs[1];
  nx_status status = check_axes(call, d);
  if (status) return status;
  if (axis >= 0 && axis < call->operands[0].rank && call->attrs[0] >> axis & 1) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: axis %lld is none of its axes", name,
                  (long long)axis);
}

nx_status nxg_types_rfft(nxg_call *call, nxi_diag *d) {
  nxg_array *r = &call->results[0];
  nx_status status = check_dtype(call, NX_F32, NX_F64, d);
  if (!status) status = check_real_axis(call, d);
  if (!status) status = check_length(call, call->operands[0].shape[call->attrs[1]], d);
  if (status) return status;
  *r = call->operands[0];
  r->dtype = nxi_pair_dtype(r->dtype);
  r->shape[call->attrs[1]] = r->shape[call->attrs[1]] / 2 + 1;
  return NX_OK;
}

nx_status nxg_types_irfft(nxg_call *call, nxi_diag *d) {
  nxg_array *r = &call->results[0];
  nx_status status = check_dtype(call, NX_C64, NX_C128, d);
  if (!status) status = check_real_axis(call, d);
  if (status) return status;
  int64_t extent = call->operands[0].shape[call->attrs[1]], size = call->attrs[2];
  if (size == 0 && extent > INT64_MAX / 2) size = INT64_MAX; /* too large for any shape */
  else if (size == 0) size = 2 * (extent - 1);
  status = check_length(call, size, d);
  if (status) return status;
  *r = call->operands[0];
  r->dtype = nxi_part_dtype(r->dtype);
  r->shape[call->attrs[1]] = size;
  return NX_OK;
}
