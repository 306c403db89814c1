/* SPDX-License-Identifier: ISC */
/* Movement that is a view of the same storage: nothing is recorded, only a handle is made. */
#include "runtime/record/error.h"
#include "runtime/record/record.h"

/* What each function starts with and ends with. */
static bool begin(const char *op, nx_tensor *x, nxg_view *v, nxi_diag *d) {
  if (!nxi_have_tensor(op, 0, x)) return false;
  nxi_diag_clear(d);
  nxi_view_of(x, v);
  return true;
}

static nx_tensor *end(const char *op, nx_status status, nx_tensor *x, const nxg_view *v,
                      nxi_diag *d) {
  if (status == NX_OK) return nxi_view_tensor(op, x, v);
  if (d->operand < 0) d->operand = 0;
  return nxi_fail_null(d);
}

/* Views that may have more elements than their storage: results of their shape must still be
 * possible. */
static nx_status grown(nx_status status, const char *op, const nx_tensor *x, const nxg_view *v,
                       nxi_diag *d) {
  if (status) return status;
  return nxg_shape_check(NX_INVALID_ARGUMENT, op, v->rank, v->shape,
                         nxi_dtypes[x->storage->dtype].bits, NULL, d);
}

/* A list that must be there when it has entries. */
static bool given(const char *op, const char *what, const void *list, size_t n, nxi_diag *d) {
  if (list || !n) return true;
  nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the %s is null", op, what);
  return false;
}

nx_tensor *nx_expand(nx_tensor *x, const int64_t *shape, int32_t rank) {
  nxg_view v;
  nxi_diag d;
  if (!begin("expand", x, &v, &d)) return NULL;
  if (!given("expand", "shape", shape, rank > 0, &d)) return nxi_fail_null(&d);
  return end("expand", grown(nxg_view_expand(&v, rank, shape, &v, &d), "expand", x, &v, &d), x, &v,
             &d);
}

/* The elements copied in C order, and that copy as the shape. */
static nx_tensor *reshaped_copy(nx_tensor *x, const int64_t *shape, int32_t rank) {
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_reshape);
  nx_tensor *copy = nx_contiguous(x), *result = copy ? nx_reshape(copy, shape, rank, 0) : NULL;
  nx_tensor_release(copy);
  nxi_called_end(outer);
  return result;
}

nx_tensor *nx_reshape(nx_tensor *x, const int64_t *shape, int32_t rank, uint32_t flags) {
  nxg_view v;
  nxi_diag d;
  if (!begin("reshape", x, &v, &d)) return NULL;
  if (!given("reshape", "shape", shape, rank > 0, &d) ||
      !nxi_check_flags("reshape", flags, NX_MAY_COPY, "NX_MAY_COPY", &d))
    return nxi_fail_null(&d);
  nx_status status = nxg_view_reshape(&v, rank, shape, &v, &d);
  if (status == NX_NEEDS_COPY && flags & NX_MAY_COPY) return reshaped_copy(x, shape, rank);
  return end("reshape", status, x, &v, &d);
}

nx_tensor *nx_permute(nx_tensor *x, const int32_t *axes, size_t n) {
  nxg_view v;
  nxi_diag d;
  if (!begin("permute", x, &v, &d)) return NULL;
  if (!given("permute", "list of axes", axes, n, &d)) return nxi_fail_null(&d);
  return end("permute", nxg_view_permute(&v, axes, n, &v, &d), x, &v, &d);
}

nx_tensor *nx_shrink(nx_tensor *x, const int64_t *start, const int64_t *stop, size_t n) {
  nxg_view v;
  nxi_diag d;
  if (!begin("shrink", x, &v, &d)) return NULL;
  if (!nxi_check_list("shrink", "list of starts", start, n, x, &d) ||
      !nxi_check_list("shrink", "list of stops", stop, n, x, &d))
    return nxi_fail_null(&d);
  return end("shrink", nxg_view_shrink(&v, start, stop, &v, &d), x, &v, &d);
}

nx_tensor *nx_flip(nx_tensor *x, const int32_t *axes, size_t n) {
  nxg_view v;
  nxi_diag d;
  if (!begin("flip", x, &v, &d)) return NULL;
  if (!nxi_axes_given("flip", x, &axes, &n, &d)) return nxi_fail_null(&d);
  return end("flip", nxg_view_flip(&v, axes, n, &v, &d), x, &v, &d);
}

nx_tensor *nx_slice(nx_tensor *x, const int64_t *start, const int64_t *count, const int64_t *step,
                    size_t n) {
  nxg_view v;
  nxi_diag d;
  if (!begin("slice", x, &v, &d)) return NULL;
  if (!nxi_check_list("slice", "list of starts", start, n, x, &d) ||
      !nxi_check_list("slice", "list of counts", count, n, x, &d) ||
      !nxi_check_list("slice", "list of steps", step, n, x, &d))
    return nxi_fail_null(&d);
  return end("slice", nxg_view_slice(&v, start, count, step, &v, &d), x, &v, &d);
}

nx_tensor *nx_as_strided(nx_tensor *x, const int64_t *shape, const int64_t *strides, int32_t rank,
                         int64_t offset) {
  nxg_view v;
  nxi_diag d;
  if (!begin("as_strided", x, &v, &d)) return NULL;
  if (!given("as_strided", "shape", shape, rank > 0, &d) ||
      !given("as_strided", "list of strides", strides, rank > 0, &d))
    return nxi_fail_null(&d);
  nx_status status =
      nxg_view_as_strided(x->storage->elements, rank, shape, strides, offset, &v, &d);
  return end("as_strided", grown(status, "as_strided", x, &v, &d), x, &v, &d);
}

nx_tensor *nx_to_device(nx_tensor *x, nx_device device) {
  nxg_view v;
  nxi_diag d;
  if (!begin("to_device", x, &v, &d)) return NULL;
  if (!nxi_device_usable(x->context, "to_device", device, &d)) return nxi_fail_null(&d);
  if (x->storage->device == device) return nxi_view_tensor("to_device", x, &v);
  nxi_operand o = nxi_operand_of(x);
  nxi_recording r = {.context = x->context,
                     .op = NXI_OP_TRANSFER,
                     .dtype = x->storage->dtype,
                     .device = device,
                     .rank = x->rank,
                     .shape = nxi_shape(x),
                     .n_operands = 1,
                     .operands = &o};
  return nxi_record(&r);
}
