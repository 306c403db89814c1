/* SPDX-License-Identifier: ISC */
/* Types of graph operations: what each admits and what it gives (docs/contract.md, sections 3 and
 * 4). The one place that refuses ill-typed operations, for recording, parsing and verifying
 * alike. */
#include <string.h>

#include "control.h"
#include "infer.h"
#include "ir/library/library.h"

bool nxg_op_admits(nxg_op op, nx_dtype t) {
  if (!nxi_dtype_valid(t)) return false;
  /* Calls compute in f32 at least; recording casts for them. */
  if (t == NX_C32 && nxg_ops[op].kind == NXG_KIND_CALL) return false;
  bool products = op == NXG_scan_prod_real || op == NXG_scan_prod_imag;
  if ((op == NXG_complex || products) && nxi_pair_dtype(t) == 0) return false;
  if (products && t == NX_F16) return false; /* those of c32 are computed in f32 */
  return (nxi_dtypes[t].cls & nxg_ops[op].admits) != 0;
}

/* After passes/graph/types.c a call on complex numbers has real operands, which are rows of parts.
 * nxg_call_infer finds the complex types that they stand for. */
static bool admits(const inference *in, nx_dtype t) {
  bool rows = nxg_ops[in->op].kind == NXG_KIND_CALL && nxg_call_has_rows(in->op, in->n_attrs);
  return nxg_op_admits(in->op, t) || (rows && nxi_pair_dtype(t) != 0);
}

/* ---- operands: number, dtypes, and that those which must agree do */

static nx_status check_count(const inference *in) {
  int8_t args = nxg_ops[in->op].args;
  if (args >= 0 && in->n_args != (uint8_t)args)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: it has %u operands where %d are wanted", in->name,
                in->n_args, args);
  if (in->op == NXG_update && in->n_args != 2 && in->n_args != 3)
    return FAIL(in, NX_INVALID_ARGUMENT, "update: it has %u operands where 2 or 3 are wanted",
                in->n_args);
  uint32_t least = in->op == NXG_gather ? 2 : 3;
  if ((in->op == NXG_gather || in->op == NXG_scatter) && in->n_args != least &&
      in->n_args != least + 1)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: it has %u operands where %u or %u are wanted",
                in->name, in->n_args, least, least + 1);
  if (args < 0 && in->n_args == 0)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: it has no operands", in->name);
  return NX_OK;
}

/* Operands of gather and scatter that are integers whatever the data is: the indices, and the
 * position of the first bad index. */
static nx_status check_index_dtype(const inference *in, uint32_t i, bool *done) {
  bool indexed = in->op == NXG_gather || in->op == NXG_scatter,
       bad = indexed && i == (in->op == NXG_gather ? 2 : 3);
  nx_dtype t = in->args[i].dtype;
  *done = indexed && (i == 1 || bad);
  if (*done && i == 1 && in->op == NXG_scatter && t == NX_U8 && in->n_attrs >= 2 &&
      (in->attrs[1] & NXG_SCATTER_BYTES))
    return NX_OK;
  if (!*done || t == NX_I64 || (i == 1 && t == NX_I32)) return NX_OK;
  return fail_operand(in,
                      FAIL(in, NX_UNSUPPORTED_DTYPE,
                           "%s: operand %u, the %s, has dtype %s, not i32 or i64", in->name, i,
                           i == 1 ? "indices" : "position", dtype_text(t)),
                      (int32_t)i);
}

static nx_status check_dtypes(const inference *in) {
  uint32_t first =
      in->op == NXG_where ? 1 : 0; /* the condition is bool; it need not have the common dtype */
  if (first && in->args[0].dtype != NX_BOOL)
    return fail_operand(in,
                        FAIL(in, NX_UNSUPPORTED_DTYPE,
                             "where: the condition (operand 0) has dtype %s, not bool",
                             dtype_text(in->args[0].dtype)),
                        0);
  for (uint32_t i = first; i < in->n_args; i++) {
    nx_dtype t = in->args[i].dtype;
    bool done;
    nx_status status = check_index_dtype(in, i, &done);
    if (status) return status;
    if (done) continue;
    bool narrow = in->op == NXG_threefry && t != NX_I32 && t != NX_U32;
    if (!admits(in, t) || narrow) return nxg_fail_dtype(in->op, i, t, in->d);
    const bool own = in->op == NXG_matmul_i32 || in->op == NXG_custom || in->op == NXG_attention;
    if (t != in->args[first].dtype && !own)
      return fail_operand(in,
                          FAIL(in, NX_INVALID_ARGUMENT,
                               "%s: operand %u has dtype %s, operand %u has %s: cast one of them",
                               in->name, i, dtype_text(t), first,
                               dtype_text(in->args[first].dtype)),
                          (int32_t)i);
  }
  return NX_OK;
}

static nx_status check_shapes_equal(const inference *in) {
  for (uint32_t i = 1; i < in->n_args; i++)
    if (!nxg_same_shape(in->args[0].rank, in->args[0].shape, in->args[i].rank, in->args[i].shape))
      return two_shapes(in, (int32_t)i, "they must be equal");
  return NX_OK;
}

/* ---- one function a group */

static nx_status infer_map(const inference *in) {
  if (in->op == NXG_cast || in->op == NXG_bitcast) {
    if (!admits(in, in->given))
      return FAIL(in, NX_UNSUPPORTED_DTYPE, "%s: the result cannot have dtype %s", in->name,
                  dtype_text(in->given));
    if (in->op == NXG_bitcast && nxi_dtypes[in->given].bits != nxi_dtypes[in->args[0].dtype].bits)
      return FAIL(in, NX_INVALID_ARGUMENT, "bitcast: %s and %s differ in size",
                  dtype_text(in->args[0].dtype), dtype_text(in->given));
  }
  nx_status status = check_shapes_equal(in);
  if (status) return status;
  result_like(in, &in->args[0]);
  return need_attrs(in, 0);
}

/* Refuses scalar bits that are not a value of the dtype: bits beyond the element's size, or a bool
 * that is neither 0 nor 1. */
static nx_status check_scalar(const inference *in, nx_dtype t, int64_t bits) {
  int width = t == NX_BOOL ? 1 : nxi_dtypes[t].bits;
  if (width == 64 || (uint64_t)bits >> width == 0) return NX_OK;
  return FAIL(in, NX_INVALID_ARGUMENT, "%s: %#llx is no scalar of dtype %s", in->name,
              (unsigned long long)bits, dtype_text(t));
}

enum { MOST_PARAMS = 1 << 24 };

/* Sets how many attributes a leaf has and returns which of them are scalars, as a mask. */
static uint32_t leaf_scalars(const inference *in, uint32_t *n_attrs) {
  bool pair = nxi_is_complex(in->given);
  *n_attrs = in->op == NXG_full ? 2 + pair : in->op == NXG_arange ? 2 + 2 * pair : 1;
  return in->op == NXG_full ? 1 + 4 * pair : in->op == NXG_arange ? pair ? 15 : 3 : 0;
}

static nx_status infer_leaf(const inference *in) {
  char text[NXG_SHAPE_TEXT];
  nx_dtype t = in->given;
  if (!admits(in, t))
    return FAIL(in, NX_UNSUPPORTED_DTYPE, "%s: it does not admit dtype %s", in->name,
                dtype_text(t));
  uint32_t n_attrs, scalars = leaf_scalars(in, &n_attrs);
  nx_status status = need_attrs(in, n_attrs);
  if (status) return status;
  int32_t wanted = in->op == NXG_arange ? 1 : in->op == NXG_eye ? 2 : *in->rank;
  if (*in->rank != wanted)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: the shape %s is not of rank %d", in->name,
                nxg_format_shape(text, *in->rank, in->shape), wanted);
  if (in->op == NXG_full &&
      (in->attrs[1] < -1 || in->attrs[1] >= (nxi_is_complex(t) ? 0 : MOST_PARAMS)))
    return FAIL(in, NX_INVALID_ARGUMENT, "full: there is no parameter %lld",
                (long long)in->attrs[1]);
  for (uint32_t i = 0; i < n_attrs && !status; i++)
    if (scalars >> i & 1) status = check_scalar(in, nxi_part_dtype(t), in->attrs[i]);
  return status;
}

static nx_status infer_view(const inference *in) {
  char text[NXG_SHAPE_TEXT];
  nxg_view v;
  nx_status status =
      nxg_shape_check(NX_INVALID_ARGUMENT, in->name, *in->rank, in->shape, 8, NULL, in->d);
  if (!status) status = need_attrs(in, 1 + (uint32_t)*in->rank);
  if (status) return status;
  status = nxg_view_as_strided(nxg_elements(in->args[0].rank, in->args[0].shape), *in->rank,
                               in->shape, in->attrs + 1, in->attrs[0], &v, in->d);
  if (status) return status;
  /* Equal views have one canonical form, because texts and keys compare views by their
   * attributes. */
  if (v.offset != in->attrs[0] ||
      memcmp(v.strides, in->attrs + 1, (size_t)v.rank * sizeof *v.strides))
    return FAIL(in, NX_INVALID_ARGUMENT,
                "view: without elements it has offset 0 and the strides %s of C order",
                nxg_format_shape(text, v.rank, v.strides));
  return NX_OK;
}

/* The shape without the reduced axes, or with 1 in their place. */
static void remove_axes(const inference *in, uint32_t mask, bool keep) {
  const nxg_type *a = &in->args[0];
  int32_t n = 0;
  for (int32_t i = 0; i < a->rank; i++) {
    if (!(mask >> i & 1)) in->shape[n++] = a->shape[i];
    else if (keep) in->shape[n++] = 1;
  }
  *in->rank = n;
}

/* Refuses max and min over an empty run, which have no value, unless the result has no elements.
 * Those of bools are "any" and "all" and have one. */
static nx_status check_not_empty(const inference *in, uint32_t mask) {
  const nxg_type *a = &in->args[0];
  nxk_empty empty = (nxk_empty)nxk_reduction_of(nxg_reduce_kind(in->op))->empty;
  bool refused = empty == NXK_EMPTY_NONE || (empty == NXK_EMPTY_BOOLS && a->dtype != NX_BOOL);
  if (!refused) return NX_OK;
  int64_t reduced = 1, kept = 1;
  for (int32_t i = 0; i < a->rank; i++) *(mask >> i & 1 ? &reduced : &kept) *= a->shape[i] != 0;
  if (reduced || !kept) return NX_OK;
  char text[NXG_SHAPE_TEXT];
  return FAIL(in, NX_INVALID_ARGUMENT, "%s: it has no value over the empty axes of the shape %s",
              in->name, shape_text(text, a));
}

static nx_status infer_reduce(const inference *in) {
  bool arg = nxg_finds_index(in->op);
  const nxg_type *a = &in->args[0];
  nx_status status = need_attrs(in, 2);
  if (status) return status;
  int64_t axes = in->attrs[0];
  if (arg && (axes < 0 || axes >= a->rank))
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: axis %lld is out of range for rank %d", in->name,
                (long long)axes, a->rank);
  if (!arg && (axes < 0 || axes >> (a->rank & 63) != 0))
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: the axes %#llx are out of range for rank %d",
                in->name, (unsigned long long)axes, a->rank);
  if (in->attrs[1] != 0 && in->attrs[1] != 1)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: keepdims is neither 0 nor 1", in->name);
  if (arg && a->shape[axes] > INT32_MAX)
    return FAIL(in, NX_INVALID_ARGUMENT,
                "%s: axis %lld has %lld elements, more than an i32 can number", in->name,
                (long long)axes, (long long)a->shape[axes]);
  uint32_t mask = arg ? 1u << axes : (uint32_t)axes;
  status = check_not_empty(in, mask);
  if (!status) remove_axes(in, mask, in->attrs[1] == 1);
  return status;
}

static nx_status infer_scan(const inference *in) {
  const nxg_type *a = &in->args[0];
  nx_status status = need_attrs(in, 2);
  if (!status) status = check_shapes_equal(in);
  if (status) return status;
  if (in->attrs[0] < 0 || in->attrs[0] >= a->rank)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: axis %lld is out of range for rank %d", in->name,
                (long long)in->attrs[0], a->rank);
  if (in->attrs[1] != 0 && in->attrs[1] != 1)
    return FAIL(in, NX_INVALID_ARGUMENT, "%s: there is no order %lld", in->name,
                (long long)in->attrs[1]);
  result_like(in, a);
  return NX_OK;
}

static nx_status infer_pad(const inference *in) {
  const nxg_type *a = &in->args[0];
  uint32_t lists = 1 + 2 * (uint32_t)a->rank;
  nx_status status = need_attrs(in, lists + nxi_is_complex(a->dtype));
  if (!status) status = check_scalar(in, nxi_part_dtype(a->dtype), in->attrs[0]);
  if (!status && nxi_is_complex(a->dtype))
    status = check_scalar(in, nxi_part_dtype(a->dtype), in->attrs[lists]);
  if (status) return status;
  const int64_t *before = in->attrs + 1, *after = before + a->rank;
  for (int32_t i = 0; i < a->rank; i++) {
    char text[NXG_SHAPE_TEXT];
    if (before[i] < 0 || after[i] < 0)
      return FAIL(
          in, NX_INVALID_ARGUMENT,
          "pad: %lld before and %lld after axis %d of the shape %s: neither may be negative",
          (long long)before[i], (long long)after[i], i, shape_text(text, a));
    int64_t extent;
    if (__builtin_add_overflow(a->shape[i], before[i], &extent) ||
        __builtin_add_overflow(extent, after[i], &extent))
      return FAIL(in, NX_INVALID_ARGUMENT,
                  "pad: axis %d of the shape %s becomes longer than 63 bits can say", i,
                  shape_text(text, a));
    in->shape[i] = extent;
  }
  *in->rank = a->rank;
  return NX_OK;
}

static nx_status infer_interleave(const inference *in) {
  nx_status status = check_shapes_equal(in);
  if (!status) status = need_attrs(in, 0);
  if (status) return status;
  *in->rank = 1;
  if (!__builtin_mul_overflow(nxg_elements(in->args[0].rank, in->args[0].shape), (int64_t)2,
                              &in->shape[0]))
    return NX_OK;
  return FAIL(in, NX_INVALID_ARGUMENT,
              "interleave: the result has more elements than 63 bits can say");
}

static nx_status infer_cat(const inference *in) {
  const nxg_type *a = &in->args[0];
  nx_status status = need_attrs(in, 1);
  if (status) return status;
  int64_t axis = in->attrs[0], total = 0;
  if (axis < 0 || axis >= a->rank)
    return FAIL(in, NX_INVALID_ARGUMENT, "cat: axis %lld is out of range for rank %d",
                (long long)axis, a->rank);
  for (uint32_t k = 0; k < in->n_args; k++) {
    const nxg_type *b = &in->args[k];
    if (b->rank != a->rank) return two_shapes(in, (int32_t)k, "their ranks differ");
    for (int32_t i = 0; i < a->rank; i++)
      if (i != axis && a->shape[i] != b->shape[i])
        return two_shapes(in, (int32_t)k, "they differ beside the axis");
    if (__builtin_add_overflow(total, b->shape[axis], &total))
      return FAIL(in, NX_INVALID_ARGUMENT, "cat: axis %lld becomes longer than 63 bits can say",
                  (long long)axis);
  }
  result_like(in, a);
  in->shape[axis] = total;
  return NX_OK;
}

/* An update without elements writes nothing. Its attributes are bounded all the same, so that
 * arithmetic on them does not overflow: the offset is 0, and no stride exceeds those of a dense
 * array with these extents, where an extent of 0 counts as 1. */
static nx_status check_empty_update(const inference *in, const nxg_view *v) {
  int64_t most = 1;
  bool fits = in->attrs[0] == 0;
  if (nxg_elements(v->rank, v->shape) != 0) return NX_OK;
  for (int32_t i = 0; i < v->rank; i++) most *= v->shape[i] ? v->shape[i] : 1;
  for (int32_t i = 0; i < v->rank; i++) {
    int64_t stride = in->attrs[2 + v->rank + i];
    fits = fits && stride >= -most && stride <= most;
  }
  if (fits) return NX_OK;
  return FAIL(in, NX_INVALID_ARGUMENT,
              "update: without elements its view has offset 0 and no stride beyond %lld",
              (long long)most);
}

/* Checks that the view through which operand 1 is written lies in operand 0's storage and addresses
 * no element twice. With an operand 2 the offset is known at launch only, so the check is that some
 * offset exists at which the view fits. */
static nx_status infer_update(const inference *in) {
  const nxg_type *old = &in->args[0], *source = &in->args[1];
  if (in->n_attrs < 2 || in->attrs[1] < 0 || in->attrs[1] > NXG_MAX_RANK)
    return FAIL(in, NX_INVALID_ARGUMENT, "update: its view has no rank between 0 and %d",
                NXG_MAX_RANK);
  int32_t r = (int32_t)in->attrs[1];
  nx_status status = need_attrs(in, 2 + 2 * (uint32_t)r);
  if (status) return status;
  const int64_t *shape = in->attrs + 2, *strides = shape + r;
  char a[NXG_SHAPE_TEXT], b[NXG_SHAPE_TEXT];
  if (!nxg_same_shape(r, shape, source->rank, source->shape))
    return fail_operand(in,
                        FAIL(in, NX_INVALID_ARGUMENT,
                             "update: operand 1 of shape %s is written through a view of shape %s",
                             shape_text(b, source), nxg_format_shape(a, r, shape)),
                        1);
  int64_t offset = in->attrs[0], storage = nxg_elements(old->rank, old->shape);
  if (in->n_args == 3 && nxi_is_nibble(old->dtype))
    return FAIL(in, NX_INVALID_ARGUMENT,
                "update: a third operand would be a place between bytes in memory of %s",
                nxi_dtypes[old->dtype].name);
  if (in->n_args == 3) {
    if (offset != 0)
      return FAIL(in, NX_INVALID_ARGUMENT,
                  "update: with a third operand the offset is a launch parameter and must be 0");
    for (int32_t i = 0; i < r;
         i++) { /* start at the lowest element, as only the distance to the highest matters */
      int64_t distance;
      if (shape[i] <= 1 || strides[i] >= 0) continue;
      if (strides[i] == INT64_MIN || __builtin_mul_overflow(shape[i] - 1, -strides[i], &distance) ||
          __builtin_add_overflow(offset, distance, &offset))
        offset = INT64_MAX / 2;
    }
  }
  nxg_view v;
  status = nxg_view_as_strided(storage, r, shape, strides, offset, &v, in->d);
  if (!status) status = check_empty_update(in, &v);
  if (status) return status;
  if (nxg_view_overlaps_itself(&v))
    return FAIL(in, NX_INVALID_ARGUMENT,
                "update: the view of shape %s with strides %s maps two indices to one element",
                nxg_format_shape(a, r, shape), nxg_format_shape(b, r, strides));
  result_like(in, old);
  return NX_OK;
}

static nx_status infer_threefry(const inference *in) {
  const nxg_type *a = &in->args[0];
  nx_status status = check_shapes_equal(in);
  if (!status) status = need_attrs(in, 0);
  if (status) return status;
  if (a->rank < 1 || a->shape[a->rank - 1] != 2) {
    char text[NXG_SHAPE_TEXT];
    return FAIL(in, NX_INVALID_ARGUMENT, "threefry: the last axis of the shape %s is not of size 2",
                shape_text(text, a));
  }
  result_like(in, a);
  return NX_OK;
}

static nx_status infer_matmul(const inference *in) {
  const nxg_type *a = &in->args[0], *b = &in->args[1];
  if (a->rank < 2 || b->rank < 2) return two_shapes(in, 1, "both need two dimensions or more");
  if (a->rank != b->rank) return two_shapes(in, 1, "their ranks differ");
  if (a->shape[a->rank - 1] != b->shape[b->rank - 2])
    return two_shapes(in, 1, "the inner extents differ");
  for (int32_t i = 0; i < a->rank - 2; i++)
    if (a->shape[i] != b->shape[i]) return two_shapes(in, 1, "the leading extents differ");
  int64_t columns = b->shape[b->rank - 1];
  result_like(in, a);
  in->shape[a->rank - 1] = columns;
  return need_attrs(in, 0);
}

static nx_status infer_call(const inference *in) {
  nxg_call call;
  nx_status status =
      nxg_call_infer(in->op, in->n_args, in->args, in->attrs, in->n_attrs, &call, in->d);
  if (status) return status;
  const nxg_array *result = &call.results[nxg_result_number(in->op, in->attrs)];
  *in->dtype = result->dtype;
  *in->rank = result->rank;
  memcpy(in->shape, result->shape, (size_t)result->rank * sizeof *in->shape);
  if (!nxi_is_complex(result->dtype) || !nxg_call_has_rows(in->op, in->n_attrs)) return NX_OK;
  *in->dtype = nxi_part_dtype(result->dtype);
  *in->rank = 1;
  in->shape[0] = 2 * nxg_elements(result->rank, result->shape);
  return NX_OK;
}

static nx_status infer_control(const inference *in) {
  nxg_control c;
  nx_status status =
      nxg_control_infer(in->op, in->n_args, in->args, in->attrs, in->n_attrs, &c, in->d);
  if (!status) nxg_control_result(&c, c.result, in->dtype, in->rank, in->shape);
  return status;
}

static nx_status infer_shape(const inference *in) {
  switch (nxg_ops[in->op].kind) {
    case NXG_KIND_LEAF: return infer_leaf(in);
    case NXG_KIND_MAP: return infer_map(in);
    case NXG_KIND_VIEW: return infer_view(in);
    case NXG_KIND_REDUCE: return infer_reduce(in);
    case NXG_KIND_STORE: return in->op == NXG_scatter ? nxg_infer_scatter(in) : infer_update(in);
    case NXG_KIND_CALL: return infer_call(in);
    case NXG_KIND_CONTROL: return infer_control(in);
    default: break;
  }
  if (nxg_is_scan(in->op)) return infer_scan(in);
  switch ((int)in->op) {
    case NXG_pad: return infer_pad(in);
    case NXG_cat: return infer_cat(in);
    case NXG_copy: result_like(in, &in->args[0]); return need_attrs(in, 0);
    case NXG_gather: return nxg_infer_gather(in);
    case NXG_interleave: return infer_interleave(in);
    case NXG_threefry: return infer_threefry(in);
    default: return infer_matmul(in);
  }
}

nx_status nxg_infer(nxg_op op, uint32_t n_args, const nxg_type *args, const int64_t *attrs,
                    uint32_t n_attrs, nx_dtype given, nx_dtype *dtype, int32_t *rank,
                    int64_t *shape, nxi_diag *d) {
  if (op < 0 || op >= NXG_OP_COUNT)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "", "%d is no operation of the graph", (int)op);
  inference in = {op, nxg_ops[op].name, n_args, n_attrs, args, attrs, given, dtype, rank, shape, d};
  nx_status status = check_count(&in);
  if (!status && !nxg_is_control(op)) status = check_dtypes(&in);
  if (!status) status = infer_shape(&in);
  if (status) return status;
  switch (nxg_ops[op].result) {
    case NXG_RESULT_SAME: *dtype = args[0].dtype; break;
    case NXG_RESULT_BOOL: *dtype = NX_BOOL; break;
    case NXG_RESULT_LAST: *dtype = args[n_args - 1].dtype; break;
    case NXG_RESULT_I32: *dtype = NX_I32; break;
    case NXG_RESULT_CALL: break; /* already set */
    case NXG_RESULT_PART: *dtype = nxi_part_dtype(args[0].dtype); break;
    case NXG_RESULT_PAIR: *dtype = nxi_pair_dtype(args[0].dtype); break;
    default: *dtype = given;
  }
  return nxg_shape_check(NX_INVALID_ARGUMENT, in.name, *rank, shape, nxi_dtypes[*dtype].bits, NULL,
                         d);
}
