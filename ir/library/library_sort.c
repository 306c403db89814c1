/* SPDX-License-Identifier: ISC */
/* Types of sort, argsort and top_k. */
#include "library_types.h"

/* What all three have: an axis, and a direction. */
static nx_status check_order(nxg_call *call, int64_t descending, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const char *name = nxg_ops[call->op].name;
  const int64_t axis = call->attrs[0];
  if (axis < 0 || axis >= a->rank)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: axis %lld is out of range for rank %d", name,
                    (long long)axis, a->rank);
  if (descending != 0 && descending != 1)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                    "%s: its attribute descending is %lld, neither 0 nor 1", name,
                    (long long)descending);
  return NX_OK;
}

/* Makes the last result places on the axis. */
static nx_status make_places(nxg_call *call, nxi_diag *d) {
  const char *name = nxg_ops[call->op].name;
  const int64_t n = call->operands[0].shape[call->attrs[0]];
  call->results[call->n_results - 1].dtype = NX_I32;
  if (n <= INT32_MAX) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                  "%s: axis %lld has %lld elements, more than an i32 can number", name,
                  (long long)call->attrs[0], (long long)n);
}

nx_status nxg_types_sort(nxg_call *call, nxi_diag *d) {
  call->results[0] = call->operands[0];
  return check_order(call, call->attrs[1], d);
}

nx_status nxg_types_argsort(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_types_sort(call, d);
  return status ? status : make_places(call, d);
}

/* The axis has `size` elements in both results. */
nx_status nxg_types_top_k(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const int64_t axis = call->attrs[0], size = call->attrs[1];
  nx_status status = check_order(call, call->attrs[2], d);
  if (status) return status;
  if (size < 0 || size > a->shape[axis])
    return nxi_fail(d, NX_INVALID_ARGUMENT, "top_k",
                    "top_k: %lld of the %lld elements of axis %lld are wanted", (long long)size,
                    (long long)a->shape[axis], (long long)axis);
  for (int i = 0; i < 2; i++) {
    call->results[i] = *a;
    call->results[i].shape[axis] = size;
  }
  return make_places(call, d);
}
