/* SPDX-License-Identifier: ISC */
/* Recording of linear algebra. Floats smaller than f32 are cast to it, and results cast back. */
#include "runtime/handle.h"

/* The tensor, as f32 if it is of a smaller float; one reference of the caller's either way. */
static nx_tensor *widened(nx_tensor *x) {
  if (nxi_is_small_float(x->storage->dtype)) return nx_cast(x, NX_F32);
  nx_tensor_retain(x);
  return x;
}

/* `result`, whose reference it takes, in the dtype of the operand. */
static nx_tensor *narrowed(nx_tensor *result, nx_dtype t) {
  if (!result || !nxi_is_small_float(t)) return result;
  nx_tensor *narrow = nx_cast(result, t);
  nx_tensor_release(result);
  return narrow;
}

nx_tensor *nx_cholesky(nx_tensor *a, bool upper) {
  if (!a) return nxi_error_null("cholesky", 0);
  nx_tensor *wide = widened(a);
  if (!wide) return NULL;
  nxi_operand o = nxi_operand_of(wide);
  int64_t attrs[1] = {upper};
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_tensor *result = nxi_record_inferred(NXG_cholesky, &o, 1, attrs, 1, &d);
  nx_tensor_release(wide);
  return narrowed(result, a->storage->dtype);
}
