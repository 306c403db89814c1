/* SPDX-License-Identifier: ISC */
/* Types of sort and argsort. */
#include "library_types.h"

nx_status nxg_types_sort(nxg_call *call, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const char *name = nxg_ops[call->op].name;
  const int64_t axis = call->attrs[0];
  if (axis < 0 || axis >= a->rank)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: axis %lld is out of range for rank %d", name,
                    (long long)axis, a->rank);
  if (call->attrs[1] != 0 && call->attrs[1] != 1)
    return nxi_fail(d, NX_INVALID_ARGUMENT, name,
                    "%s: its attribute descending is %lld, neither 0 nor 1", name,
                    (long long)call->attrs[1]);
  call->results[0] = *a;
  return NX_OK;
}

nx_status nxg_types_argsort(nxg_call *call, nxi_diag *d) {
  nx_status status = nxg_types_sort(call, d);
  if (status) return status;
  const int64_t n = call->operands[0].shape[call->attrs[0]];
  call->results[0].dtype = NX_I32;
  if (n <= INT32_MAX) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, "argsort",
                  "argsort: axis %lld has %lld elements, more than an i32 can number",
                  (long long)call->attrs[0], (long long)n);
}
