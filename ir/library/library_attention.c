/* SPDX-License-Identifier: ISC */
/* Types of attention: queries [outer, heads, rows, features], keys [outer, groups, columns,
 * features] and values [outer, groups, columns, width] of f16 or bf16. heads is a multiple of
 * groups, and as many heads as that says, one after the other, share keys and values. A bit of
 * `turned` (1 queries, 2 keys, 4 values) says that an operand has its second and third dimensions
 * exchanged. The result is [outer, heads, rows, width]: what a product of queries and keys, times
 * `scale`, with `fill` where column - row is below `least` or above `most`, its softmax and a
 * product with the values give, each rounded to the dtype. scale, fill: bits of the dtype; -1: none
 * (of `fill` only where all columns are seen). */
#include "library_types.h"

static nx_status bad(const char *why, nxi_diag *d) {
  return nxi_fail(d, NX_INVALID_ARGUMENT, "attention", "attention: %s", why);
}

static nx_status check_attrs(const int64_t *a, nxi_diag *d) {
  enum { FAR = NXG_ATTENTION_FAR };
  const int64_t least = a[NXG_ATTENTION_LEAST], most = a[NXG_ATTENTION_MOST];
  if (a[NXG_ATTENTION_SCALE] < -1 || a[NXG_ATTENTION_SCALE] > 0xffff ||
      a[NXG_ATTENTION_FILL] < -1 || a[NXG_ATTENTION_FILL] > 0xffff)
    return bad("scale and fill are 16 bits, or -1", d);
  if (least < -FAR || least > FAR || most < -FAR || most > FAR)
    return bad("a bound is out of range", d);
  if (a[NXG_ATTENTION_FILL] < 0 && (least > -FAR || most < FAR))
    return bad("columns that are not seen have no score", d);
  if (a[NXG_ATTENTION_TURNED] < 0 || a[NXG_ATTENTION_TURNED] > 7)
    return bad("turned is not 0 to 7", d);
  return NX_OK;
}

nx_status nxg_types_attention(nxg_call *call, nxi_diag *d) {
  const nx_dtype t = call->operands[0].dtype;
  int64_t shapes[3][4];
  if (t != NX_F16 && t != NX_BF16)
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "attention",
                    "attention: operands of %s, not of f16 or bf16", nxi_dtypes[t].name);
  nx_status status = check_attrs(call->attrs, d);
  if (status != NX_OK) return status;
  for (int i = 0; i < 3; i++) {
    const nxg_array *x = &call->operands[i];
    const bool turned = call->attrs[NXG_ATTENTION_TURNED] >> i & 1;
    if (x->rank != 4) return bad("an operand has not four axes", d);
    for (int axis = 0; axis < 4; axis++)
      shapes[i][axis] = x->shape[turned && (axis == 1 || axis == 2) ? 3 - axis : axis];
  }
  const int64_t *q = shapes[0], *k = shapes[1], *v = shapes[2];
  if (q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0))
    return bad("heads of queries, keys and values do not match", d);
  if (q[3] != k[3]) return bad("queries and keys differ in features", d);
  if (k[2] != v[2]) return bad("keys and values differ in number", d);
  call->results[0] = (nxg_array){.dtype = t, .rank = 4, .shape = {q[0], q[1], q[2], v[3]}};
  return NX_OK;
}
