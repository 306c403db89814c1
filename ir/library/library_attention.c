/* SPDX-License-Identifier: ISC */
/* Types of attention: queries [outer, heads, rows, features], keys [outer, groups, columns,
 * features] and values [outer, groups, columns, width] of f16 or bf16. heads is a multiple of
 * groups, and as many heads as that says, one after the other, share keys and values. A bit of
 * `turned` (1 queries, 2 keys, 4 values, 8 the result) says that an array has its second and third
 * dimensions exchanged. Behind them may come a summand, of the scores' dtype, and a condition, of
 * bool: of [outer, heads, rows, columns], where each but columns may be 1, for all of them; the
 * summand's columns are rounded up to a multiple of 8. The result is [outer, heads, rows, width]:
 * what a product of queries and keys, times `scale`, plus the summand, with `fill` where column -
 * row is below `least` or above `most` or the condition is `hides`, its softmax and a product with
 * the values give, each rounded to the dtype; or, `wide` 1, to f32 up to the softmax, which is
 * rounded to the dtype before the second product. wide 2: the first product is rounded to the
 * dtype, what follows to f32; 3: all is before the softmax, which is f32; 4: the first product and
 * its product with `scale` are rounded to the dtype, what follows to f32. `empty`: rows of nothing
 * but minus infinity have weights of 0. `whole`: the softmax is not rounded, and the second
 * product and the result are f32. scale, fill: bits of the dtype of what the first product is
 * multiplied with; -1: none (of `fill` only where all columns are seen). */
#include "library_types.h"

static nx_status bad(const char *why, nxi_diag *d) {
  return nxi_fail(d, NX_INVALID_ARGUMENT, "attention", "attention: %s", why);
}

static nx_status check_attrs(const int64_t *a, nxi_diag *d) {
  enum { FAR = NXG_ATTENTION_FAR };
  const int64_t least = a[NXG_ATTENTION_LEAST], most = a[NXG_ATTENTION_MOST],
                wide = a[NXG_ATTENTION_WIDE], empty = a[NXG_ATTENTION_EMPTY],
                whole = a[NXG_ATTENTION_WHOLE],
                bits = nxg_attention_scores(NX_BF16, a) == NX_F32 ? 0xffffffff : 0xffff;
  if (wide < NXG_NOT_WIDE || wide > NXG_WIDE_SCALED) return bad("wide is not 0 to 4", d);
  if (wide == NXG_WIDE_SCALED && a[NXG_ATTENTION_SCALE] < 0) return bad("wide 4 without scale", d);
  if ((empty != 0 && empty != 1) || (whole != 0 && whole != 1))
    return bad("empty or whole is not 0 or 1", d);
  if ((empty != 0 || whole != 0) && wide == NXG_NOT_WIDE)
    return bad("empty or whole without wide", d);
  if (a[NXG_ATTENTION_SCALE] < -1 || a[NXG_ATTENTION_SCALE] > bits || a[NXG_ATTENTION_FILL] < -1 ||
      a[NXG_ATTENTION_FILL] > bits)
    return bad("scale and fill are bits of a score, or -1", d);
  if (least < -FAR || least > FAR || most < -FAR || most > FAR)
    return bad("a bound is out of range", d);
  if (a[NXG_ATTENTION_FILL] < 0 && (least > -FAR || most < FAR))
    return bad("columns that are not seen have no score", d);
  if (a[NXG_ATTENTION_TURNED] < 0 || a[NXG_ATTENTION_TURNED] > 15)
    return bad("turned is not 0 to 15", d);
  if (a[NXG_ATTENTION_HIDES] != 0 && a[NXG_ATTENTION_HIDES] != 1)
    return bad("hides is not 0 or 1", d);
  return NX_OK;
}

nxg_attention_masks nxg_attention_masks_of(const nxg_call *call) {
  nxg_attention_masks m = {-1, -1};
  for (int32_t i = 3; i < (int32_t)call->n_operands; i++)
    *(call->operands[i].dtype == NX_BOOL ? &m.condition : &m.summand) = i;
  return m;
}

/* Whether an operand is repeated along the axes of scores in which it has one element. */
static bool masks(const nxg_array *x, const int64_t *scores, int64_t columns) {
  if (x->rank != 4 || x->shape[3] != columns) return false;
  for (int axis = 0; axis < 3; axis++)
    if (x->shape[axis] != 1 && x->shape[axis] != scores[axis]) return false;
  return true;
}

static nx_status check_masks(const nxg_call *call, const int64_t *scores, nxi_diag *d) {
  const nxg_attention_masks m = nxg_attention_masks_of(call);
  const int64_t columns = scores[3], part = NXG_ATTENTION_PART;
  if (call->n_operands == 5 && m.summand != 3) return bad("the last operand is no condition", d);
  if (m.summand >= 0 &&
      !masks(&call->operands[m.summand], scores, (columns + part - 1) / part * part))
    return bad("the summand has another shape than scores", d);
  if (m.condition >= 0 && !masks(&call->operands[m.condition], scores, columns))
    return bad("the condition has another shape than scores", d);
  if (m.condition >= 0 && call->attrs[NXG_ATTENTION_FILL] < 0)
    return bad("columns that are not seen have no score", d);
  return NX_OK;
}

static nx_status check_dtypes(const nxg_call *call, nxi_diag *d) {
  const nx_dtype t = call->operands[0].dtype, scores = nxg_attention_scores(t, call->attrs);
  if (call->n_operands < 3 || call->n_operands > 5) return bad("it has not 3 to 5 operands", d);
  if (t != NX_F16 && t != NX_BF16)
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "attention",
                    "attention: operands of %s, not of f16 or bf16", nxi_dtypes[t].name);
  if (call->attrs[NXG_ATTENTION_WHOLE] && t != NX_BF16)
    return bad("weights of f32 beside operands that are not bf16", d);
  for (uint32_t i = 1; i < call->n_operands; i++)
    if (call->operands[i].dtype != (i < 3 ? t : scores) &&
        (i < 3 || call->operands[i].dtype != NX_BOOL))
      return bad("operands differ in dtype", d);
  return NX_OK;
}

nx_status nxg_types_attention(nxg_call *call, nxi_diag *d) {
  const nx_dtype t = call->operands[0].dtype;
  int64_t shapes[3][4];
  nx_status status = check_dtypes(call, d);
  if (status == NX_OK) status = check_attrs(call->attrs, d);
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
  const int turned = call->attrs[NXG_ATTENTION_TURNED] >> NXG_ATTENTION_RESULT & 1;
  call->results[0] = (nxg_array){.dtype = nxg_attention_result(t, call->attrs),
                                 .rank = 4,
                                 .shape = {q[0], q[1 + turned], q[2 - turned], v[3]}};
  return check_masks(call, (int64_t[]){q[0], q[1], q[2], k[2]}, d);
}
