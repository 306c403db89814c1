/* SPDX-License-Identifier: ISC */
/* Recording of top_k, two results of one call, of which the places may be asked for as i64; and of
 * integers in total order. */
#include "compose.h"
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* What is refused before there are attributes. */
static bool check(const nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype, int64_t *at) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_dtype_exists("top_k", dtype, &d) && dtype != NX_I32 && dtype != NX_I64)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "top_k", "top_k: places are i32 or i64, not %s",
             nxi_dtypes[dtype].name);
  if (!d.status) nxi_check_flags("top_k", flags, NX_SMALLEST, "NX_SMALLEST", &d);
  if (!d.status) nxi_one_axis("top_k", x, axis, at, &d);
  if (d.status) nxi_fail_null(&d);
  return !d.status;
}

static nx_tensor *record_result(nx_tensor *x, int64_t axis, int64_t k, uint32_t flags,
                                int64_t result) {
  const int64_t attrs[] = {axis, k, !(flags & NX_SMALLEST), result};
  nxi_operand o = nxi_operand_of(x);
  nxi_diag d;
  nxi_diag_clear(&d);
  return nxi_record_inferred(NXG_top_k, &o, 1, attrs, 4, &d);
}

static nx_tensor *as_wide(nx_tensor *places, nx_dtype dtype) {
  if (!places || dtype == NX_I32) return places;
  nx_tensor *wide = nx_cast(places, dtype);
  nx_tensor_release(places);
  return wide;
}

nx_status nx_top_k(nx_tensor *x, int64_t k, int32_t axis, uint32_t flags, nx_dtype dtype,
                   nx_tensor **values, nx_tensor **places) {
  int64_t at;
  if (!nxi_have_tensor("top_k", 0, x) || !check(x, axis, flags, dtype, &at))
    return nxi_error_status();
  uint16_t outer = nxi_called_begin(NXG_top_k);
  nx_dtype of = x->storage->dtype; /* c32 has the order of its equals in c64 */
  nx_tensor *wide = of == NX_C32 ? nx_cast(x, NX_C64) : nx_tensor_retain(x), *best = NULL,
            *where = NULL;
  if (wide) best = record_result(wide, at, k, flags, 0);
  if (best && of == NX_C32) best = nxi_narrowed(best, of);
  if (best) where = as_wide(record_result(wide, at, k, flags, 1), dtype);
  nx_tensor_release(wide);
  nxi_called_end(outer);
  const bool good = best && where;
  if (good && values) *values = best;
  else nx_tensor_release(best);
  if (good && places) *places = where;
  else nx_tensor_release(where);
  return good ? NX_OK : nxi_error_status();
}

/* ---- total order: the bits as an integer, of negative numbers with the others inverted */

static nx_dtype integer_of(nx_dtype dtype) {
  switch (nxi_dtypes[dtype].bits) {
    case 8: return NX_I8;
    case 16: return NX_I16;
    case 32: return NX_I32;
    default: return NX_I64;
  }
}

nx_tensor *nx_total_order(nx_tensor *x) {
  nxi_diag d;
  if (!nxi_have_tensor("total_order", 0, x)) return NULL;
  nx_dtype dtype = x->storage->dtype;
  nxi_diag_clear(&d);
  if (!nxi_is_float(dtype)) {
    d.operand = 0;
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, "total_order",
             "total_order: operand 0 has dtype %s, which the operation does not admit",
             nxi_dtypes[dtype].name);
    return nxi_fail_null(&d);
  }
  nxi_steps s = nxi_steps_of(NXI_COMPOSITE_total_order, x);
  int64_t width = nxi_dtypes[dtype].bits;
  nx_tensor *bits = nxi_step(&s, nx_bitcast(x, integer_of(dtype))),
            *sign = nxi_step(&s, nx_binary_i64(bits, NX_BINARY_SHR, width - 1)),
            *others = nxi_step(&s, nx_binary_i64(sign, NX_BINARY_AND, INT64_MAX >> (64 - width)));
  return nxi_steps_end(&s, nxi_step(&s, nx_xor(bits, others)));
}
