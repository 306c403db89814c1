/* SPDX-License-Identifier: ISC */
/* Recording of everything that is neither elementwise, nor a view, nor a source: reductions, pad,
 * cat, copies, random bits. nxg_infer checks; what it gives is recorded. */
#include "linalg.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"
#include "runtime/record/record.h"

nx_tensor *nxi_record_inferred(nxg_op op, const nxi_operand *o, uint32_t n, const int64_t *attrs,
                               uint32_t n_attrs, nxi_diag *d) {
  const char *name = nxg_ops[op].name;
  nxg_type few[4] = {{0}}, *types = n <= 4 ? few : nxi_malloc(n * sizeof *types);
  nx_tensor **tensors = NULL;
  if (!types) return nxi_no_memory(name);
  int64_t shape[NXG_MAX_RANK];
  int32_t rank = 0, device = o[0].tensor->storage->device;
  nx_dtype dtype;
  bool one_device = true;
  for (uint32_t i = 0; i < n; i++) {
    types[i] = (nxg_type){o[i].tensor->storage->dtype, o[i].rank, o[i].shape};
    one_device &= o[i].tensor->storage->device == device;
  }
  nx_status status = nxg_infer(op, n, types, attrs, n_attrs, 0, &dtype, &rank, shape, d);
  if (!status && !one_device) {
    tensors = nxi_malloc(n * sizeof *tensors);
    if (!tensors) status = nxi_oom_in(d, NX_OUT_OF_MEMORY, name);
    for (uint32_t i = 0; tensors && i < n; i++) tensors[i] = o[i].tensor;
    if (tensors) device = nxi_common_device(name, tensors, n, d);
    if (device < 0) status = d->status;
    nxi_free(tensors);
  }
  if (types != few) nxi_free(types);
  if (status) return nxi_fail_null(d);
  nxi_recording r = {.context = o[0].tensor->context,
                     .op = (uint16_t)op,
                     .dtype = (uint8_t)dtype,
                     .device = device,
                     .rank = rank,
                     .shape = shape,
                     .attrs = attrs,
                     .n_attrs = n_attrs,
                     .n_operands = n,
                     .operands = o};
  return nxi_record(&r);
}

/* ---- reductions */

static nx_tensor *reduce(nxg_op op, nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags) {
  const char *name = nxg_ops[op].name;
  if (!nxi_have_tensor(name, 0, x)) return NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  uint32_t mask = 0;
  if (nxi_axes_given(name, x, &axes, &n, &d) &&
      nxi_check_flags(name, flags, NX_KEEPDIMS, "NX_KEEPDIMS", &d))
    nxg_axes_mask(name, x->rank, axes, n, &mask, &d);
  if (d.status) return nxi_fail_null(&d);
  int64_t attrs[2] = {mask, flags & NX_KEEPDIMS};
  nxi_operand o = nxi_operand_of(x);
  return nxi_record_inferred(op, &o, 1, attrs, 2, &d);
}
nx_tensor *nx_reduce_sum(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags) {
  return reduce(NXG_reduce_sum, x, axes, n, flags);
}
nx_tensor *nx_reduce_prod(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags) {
  return reduce(NXG_reduce_prod, x, axes, n, flags);
}
nx_tensor *nx_reduce_max(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags) {
  return reduce(NXG_reduce_max, x, axes, n, flags);
}
nx_tensor *nx_reduce_min(nx_tensor *x, const int32_t *axes, size_t n, uint32_t flags) {
  return reduce(NXG_reduce_min, x, axes, n, flags);
}

/* The axis counted from 0; false: reported in d. */
bool nxi_one_axis(const char *op, const nx_tensor *x, int32_t axis, int64_t *out, nxi_diag *d) {
  uint32_t mask;
  if (nxg_axes_mask(op, x->rank, &axis, 1, &mask, d)) return false;
  *out = axis < 0 ? axis + x->rank : axis;
  return true;
}

/* An operation along one axis, with one flag. */
static nx_tensor *along(nxg_op op, nx_tensor *x, int32_t axis, uint32_t flags, uint32_t known,
                        const char *flag) {
  const char *name = nxg_ops[op].name;
  if (!nxi_have_tensor(name, 0, x)) return NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  int64_t attrs[2] = {0, flags};
  if (!nxi_check_flags(name, flags, known, flag, &d) || !nxi_one_axis(name, x, axis, &attrs[0], &d))
    return nxi_fail_null(&d);
  nxi_operand o = nxi_operand_of(x);
  return nxi_record_inferred(op, &o, 1, attrs, 2, &d);
}

/* The same for one whose result is places on the axis: it gives i32, which is cast. */
static nx_tensor *places(nxg_op op, uint32_t called, nx_tensor *x, int32_t axis, uint32_t flags,
                         uint32_t known, const char *flag, nx_dtype dtype) {
  const char *name = nxi_op_name(called);
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_tensor(name, 0, x)) return NULL;
  if (nxi_dtype_exists(name, dtype, &d) && dtype != NX_I32 && dtype != NX_I64)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, name, "%s: places are i32 or i64, not %s", name,
             nxi_dtypes[dtype].name);
  if (d.status) return nxi_fail_null(&d);
  uint16_t outer = nxi_called_begin(called);
  nx_tensor *result = along(op, x, axis, flags, known, flag);
  if (result && dtype == NX_I64) {
    nx_tensor *narrow = result;
    result = nx_cast(narrow, NX_I64);
    nx_tensor_release(narrow);
  }
  nxi_called_end(outer);
  return result;
}
nx_tensor *nx_reduce_argmax(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype) {
  return places(NXG_argmax, NXI_COMPOSITE_reduce_argmax, x, axis, flags, NX_KEEPDIMS, "NX_KEEPDIMS",
                dtype);
}
nx_tensor *nx_reduce_argmin(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype) {
  return places(NXG_argmin, NXI_COMPOSITE_reduce_argmin, x, axis, flags, NX_KEEPDIMS, "NX_KEEPDIMS",
                dtype);
}

/* ---- order: of c32 that of its equals in c64, of bools that of the bytes that they are */

static nx_dtype sorted_as(const nx_tensor *x) {
  nx_dtype t = x->storage->dtype;
  return t == NX_C32 ? NX_C64 : t == NX_BOOL ? NX_U8 : t;
}

static nx_tensor *sorted(nx_tensor *x, int32_t axis, uint32_t flags) {
  return along(NXG_sort, x, axis, flags, NX_DESCENDING, "NX_DESCENDING");
}
nx_tensor *nx_sort(nx_tensor *x, int32_t axis, uint32_t flags) {
  if (!nxi_have_tensor("sort", 0, x)) return NULL;
  nx_dtype own = x->storage->dtype, as = sorted_as(x);
  if (as == own) return sorted(x, axis, flags);
  uint16_t outer = nxi_called_begin(NXG_sort);
  nx_tensor *wide = nx_cast(x, as), *line = wide ? sorted(wide, axis, flags) : NULL,
            *result = line ? nx_cast(line, own) : NULL;
  nx_tensor_release(wide), nx_tensor_release(line);
  nxi_called_end(outer);
  return result;
}

static nx_tensor *sorted_places(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype) {
  return places(NXG_argsort, NXG_argsort, x, axis, flags, NX_DESCENDING, "NX_DESCENDING", dtype);
}
nx_tensor *nx_argsort(nx_tensor *x, int32_t axis, uint32_t flags, nx_dtype dtype) {
  if (!nxi_have_tensor("argsort", 0, x)) return NULL;
  nx_dtype as = sorted_as(x);
  if (as == x->storage->dtype) return sorted_places(x, axis, flags, dtype);
  uint16_t outer = nxi_called_begin(NXG_argsort);
  nx_tensor *wide = nx_cast(x, as), *result = wide ? sorted_places(wide, axis, flags, dtype) : NULL;
  nx_tensor_release(wide);
  nxi_called_end(outer);
  return result;
}

/* ---- pad, cat */

nx_tensor *nx_pad(nx_tensor *x, const int64_t *before, const int64_t *after, size_t n,
                  const nx_scalar *value) {
  if (!nxi_have_tensor("pad", 0, x)) return NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  uint64_t bits[2];
  int64_t attrs[2 + 2 * NXG_MAX_RANK];
  if (!nxi_check_list("pad", "list of extents before", before, n, x, &d) ||
      !nxi_check_list("pad", "list of extents behind", after, n, x, &d) ||
      !nxi_scalar_bits("pad", value, x->storage->dtype, bits, &d))
    return nxi_fail_null(&d);
  attrs[0] = (int64_t)bits[0];
  attrs[1 + 2 * x->rank] = (int64_t)bits[1];
  for (int32_t i = 0; i < x->rank; i++) {
    attrs[1 + i] = before[i];
    attrs[1 + x->rank + i] = after[i];
  }
  nxi_operand o = nxi_operand_of(x);
  uint32_t n_attrs = 1 + 2 * (uint32_t)x->rank + nxi_is_complex(x->storage->dtype);
  return nxi_record_inferred(NXG_pad, &o, 1, attrs, n_attrs, &d);
}

nx_tensor *nx_cat(nx_tensor *const *tensors, size_t n, int32_t axis) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!tensors || n == 0 || n > UINT32_MAX / 16) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "cat", "cat: there are no tensors, or too many");
    return nxi_fail_null(&d);
  }
  if (!nxi_check_operands("cat", tensors, (uint32_t)n)) return NULL;
  int64_t at;
  if (!nxi_one_axis("cat", tensors[0], axis, &at, &d)) return nxi_fail_null(&d);
  nxi_operand *o = nxi_malloc(n * sizeof *o);
  if (!o) return nxi_no_memory("cat");
  for (size_t i = 0; i < n; i++) o[i] = nxi_operand_of(tensors[i]);
  nx_tensor *result = nxi_record_inferred(NXG_cat, o, (uint32_t)n, &at, 1, &d);
  nxi_free(o);
  return result;
}

/* ---- copies */

/* A new storage of what the operand reads. Values are shared until one side is written; host
 * memory, and what host code may write, is copied. */
static nx_tensor *copy_of(uint32_t op, nx_tensor *x) {
  nx_context *c = x->context;
  nxi_operand o = nxi_operand_of(x);
  nxi_record_lock(c);
  nxi_drain(c, 8);
  bool exposed = x->storage->write_pins > 0;
  uint16_t outer = nxi_called_begin(op);
  nxi_node *value = nxi_operand_value(c, &o);
  nxi_called_end(outer);
  exposed = exposed && value &&
            !(atomic_load_explicit(&value->flags, memory_order_relaxed) & NXI_NODE_TRACED);
  nx_tensor *result = value ? nxi_tensor_of_node(c, value) : NULL;
  nxi_record_unlock(c);
  if (!result) return nxi_no_memory(nxi_op_name(op));
  if (exposed && nxi_carry_out(c, &result->storage, 1, NULL, 0) != NX_OK) {
    nx_tensor_release(result);
    return NULL;
  }
  return result;
}

nx_tensor *nx_copy(nx_tensor *x) {
  return nxi_have_tensor("copy", 0, x) ? copy_of(NXG_copy, x) : NULL;
}

nx_tensor *nx_contiguous(nx_tensor *x) {
  if (!nxi_have_tensor("contiguous", 0, x)) return NULL;
  if (!x->contiguous || x->offset) return copy_of(NXI_COMPOSITE_contiguous, x);
  nxg_view v;
  nxi_view_of(x, &v);
  return nxi_view_tensor("contiguous", x, &v);
}

/* ---- operands of which all but some last dimensions broadcast */

/* The leading dimensions of o become `lead`; strides has room for the result, shape too. */
static void broadcast_leading(nxi_operand *o, int32_t keep, int32_t lead_rank, const int64_t *lead,
                              int64_t *shape, int64_t *strides) {
  int32_t own = o->rank - keep;
  for (int32_t i = 0; i < lead_rank; i++) {
    int32_t from = i - (lead_rank - own);
    shape[i] = lead[i];
    strides[i] = from < 0 || (o->shape[from] == 1 && lead[i] != 1) ? 0 : o->strides[from];
  }
  for (int32_t i = 0; i < keep; i++) {
    shape[lead_rank + i] = o->shape[own + i];
    strides[lead_rank + i] = o->strides[own + i];
  }
  o->rank = lead_rank + keep;
  o->shape = shape;
  o->strides = strides;
}

/* Says it with the whole shapes. */
static nx_tensor *fail_leading(const char *name, const nx_tensor *a, const nx_tensor *b,
                               nxi_diag *d) {
  char left[NXG_SHAPE_TEXT], right[NXG_SHAPE_TEXT];
  nxi_diag_clear(d);
  nxi_fail(d, NX_INVALID_ARGUMENT, name,
           "%s: the leading extents of the shapes %s and %s do not broadcast together", name,
           nxg_format_shape(left, a->rank, nxi_shape(a)),
           nxg_format_shape(right, b->rank, nxi_shape(b)));
  d->operand = 1;
  return nxi_fail_null(d);
}

nx_tensor *nxi_record_leading(nxg_op op, nx_tensor *a, nx_tensor *b, int32_t keep,
                              const int64_t *attrs, uint32_t n_attrs) {
  const char *name = nxg_ops[op].name;
  nx_tensor *t[2] = {a, b};
  if (!nxi_check_operands(name, t, 2)) return NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_operand o[2] = {nxi_operand_of(a), nxi_operand_of(b)};
  int64_t lead[NXG_MAX_RANK], shapes[2][NXG_MAX_RANK], strides[2][NXG_MAX_RANK];
  int32_t lead_rank;
  if (a->rank >= keep && b->rank >= keep) {
    if (nxg_broadcast(name, a->rank - keep, nxi_shape(a), b->rank - keep, nxi_shape(b), &lead_rank,
                      lead, &d))
      return fail_leading(name, a, b, &d);
    for (int i = 0; i < 2; i++)
      broadcast_leading(&o[i], keep, lead_rank, lead, shapes[i], strides[i]);
  }
  return nxi_record_inferred(op, o, 2, attrs, n_attrs, &d);
}

nx_tensor *nx_threefry(nx_tensor *key, nx_tensor *counter) {
  return nxi_record_leading(NXG_threefry, key, counter, 1, NULL, 0);
}
