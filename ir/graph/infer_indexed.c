/* SPDX-License-Identifier: ISC */
/* Types of gather and scatter. */
#include "infer.h"

/* The checks that gather and scatter share: the axis is one of operand 0; the indices have its
 * rank, and an extent above operand 0's on that axis only; and, if there is one more operand, it
 * and its attribute are what the check of the indices needs. */
static nx_status check_indexed(const inference *in, const nxg_type *a, uint32_t own_attrs,
                               uint32_t checked) {
  const nxg_type *b = &in->args[1];
  bool has_check = in->n_args == checked + 1;
  nx_status status = need_attrs(in, own_attrs + (has_check ? 1 : 0));
  if (status) return status;
  int64_t axis = in->attrs[0];
  if (axis < 0 || axis >= a->rank)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: axis %lld is out of range for rank %d", in->name,
                (long long)axis, a->rank);
  if (a->rank != b->rank) return two_shapes(in, 1, "their ranks differ");
  for (int32_t i = 0; i < a->rank; i++)
    if (i != axis && b->shape[i] > a->shape[i])
      return two_shapes(in, 1, "it is longer on another axis than the one it numbers");
  if (!has_check) return NX_OK;
  if (in->args[checked].rank != 0)
    return fail_operand(
        in, FAIL(in, NX_INVALID_ARGUMENT, "%s: operand %u is not of rank 0", in->name, checked),
        (int32_t)checked);
  int64_t axes = in->attrs[own_attrs];
  if (axes < 0 || axes >> (a->rank & 63) != 0)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: the axes %#llx are out of range for rank %d",
                in->name, (unsigned long long)axes, a->rank);
  return NX_OK;
}

nx_status nxg_infer_gather(const inference *in) {
  uint32_t own = in->n_attrs > 2 ? 3 : 1; /* with the axis and the extent of windows */
  nx_status status = check_indexed(in, &in->args[0], own, 2);
  if (!status && own == 3 && (in->attrs[1] < 0 || in->attrs[2] < 0))
    return FAIL(in, NX_INVALID_ARGUMENT, "gather: starts of windows of %lld along axis %lld",
                (long long)in->attrs[2], (long long)in->attrs[1]);
  if (!status) result_like(in, &in->args[1]);
  return status;
}

/* Whether the type is a row of the 2 * elements parts of `elements` complex numbers. */
static bool is_row(const nxg_type *t, int64_t elements) {
  int64_t twice;
  return nxi_pair_dtype(t->dtype) != 0 && t->rank == 1 &&
         !__builtin_mul_overflow(elements, (int64_t)2, &twice) && t->shape[0] == twice;
}

static nx_status infer_scatter_of_pairs(const inference *in) {
  const nxg_type *indices = &in->args[1];
  nxg_type whole = {in->args[0].dtype, indices->rank, in->attrs + 2};
  uint32_t own = 2 + (uint32_t)indices->rank;
  if (in->n_attrs < own) return need_attrs(in, own);
  if (nxg_scatter_mode(in->attrs[1]) > NXI_SCATTER_ADD)
    return FAIL(in, NX_INVALID_ARGUMENT, "scatter: there is no mode %lld", (long long)in->attrs[1]);
  nx_status status =
      nxg_shape_check(NX_INVALID_ARGUMENT, in->name, whole.rank, whole.shape, 128, NULL, in->d);
  if (!status) status = check_indexed(in, &whole, own, 3);
  if (status) return status;
  if (!is_row(&in->args[0], nxg_elements(whole.rank, whole.shape)))
    return two_shapes(in, 0, "it is no row of the parts of complex numbers");
  if (!is_row(&in->args[2], nxg_elements(indices->rank, indices->shape)))
    return two_shapes(in, 2, "it is no row of the parts of complex numbers");
  result_like(in, &in->args[0]);
  return NX_OK;
}

/* The template as the scatter sees it, and the number of attributes that say so. */
static nx_status seen_template(const inference *in, nxg_type *seen, uint32_t *own) {
  *seen = (nxg_type){in->args[0].dtype, in->args[0].rank, in->args[0].shape};
  *own = 2;
  if (!(in->attrs[1] & NXG_SCATTER_SEEN)) return NX_OK;
  seen->rank = in->args[1].rank;
  *own += (uint32_t)seen->rank;
  if (in->n_attrs < *own) return need_attrs(in, *own);
  seen->shape = in->attrs + 2;
  nx_status status =
      nxg_shape_check(NX_INVALID_ARGUMENT, in->name, seen->rank, seen->shape, 128, NULL, in->d);
  if (!status &&
      nxg_elements(seen->rank, seen->shape) != nxg_elements(in->args[0].rank, in->args[0].shape))
    return two_shapes(in, 0, "it is seen in a shape of another number of elements");
  return status;
}

nx_status nxg_infer_scatter(const inference *in) {
  const nxg_type *indices = &in->args[1], *updates = &in->args[2];
  nxg_type seen;
  uint32_t own;
  if (in->n_attrs < 2) return need_attrs(in, 2);
  if (in->attrs[1] & ~(int64_t)NXG_SCATTER_BITS)
    return FAIL(in, NX_INVALID_ARGUMENT, "scatter: there is no mode %lld", (long long)in->attrs[1]);
  if (in->attrs[1] & NXG_SCATTER_PAIRS) return infer_scatter_of_pairs(in);
  nx_status status = seen_template(in, &seen, &own);
  if (!status) status = check_indexed(in, &seen, own, 3);
  if (status) return status;
  nx_dtype t = in->args[0].dtype;
  const char *word = t == NX_BOOL ? NULL : nxi_scatter_refuses(nxg_scatter_mode(in->attrs[1]), t);
  if (word != NULL)
    return fail_operand(
        in, FAIL(in, NX_UNSUPPORTED_DTYPE, "scatter: %s cannot be %s", nxi_dtypes[t].name, word),
        0);
  if (!nxg_same_shape(indices->rank, indices->shape, updates->rank, updates->shape)) {
    char a[NXG_SHAPE_TEXT], b[NXG_SHAPE_TEXT];
    return fail_operand(in,
                        FAIL(in, NX_INVALID_ARGUMENT,
                             "scatter: updates of shape %s for indices of shape %s",
                             nxg_format_shape(a, updates->rank, updates->shape),
                             nxg_format_shape(b, indices->rank, indices->shape)),
                        2);
  }
  result_like(in, &in->args[0]);
  return NX_OK;
}
