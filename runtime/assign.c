/* SPDX-License-Identifier: ISC */
/* Mutation: a storage moves on to a new value, and whoever read the old one keeps it. */
#include "runtime/handle.h"

/* What an operand reads, fit to be a storage's value: memory that is the host's, or that host code may write,
 * is copied. One reference; NULL without memory. record_lock. */
nxi_node *nxi_operand_value(nx_context *c, const nxi_operand *o) {
  nxi_node *value = nxi_operand_node(c, o);
  if (!value) return NULL;
  uint8_t flags = atomic_load_explicit(&value->flags, memory_order_relaxed);
  if (!(flags & (NXI_NODE_EXPOSED | NXI_NODE_FOREIGN)) &&
      value->device == o->tensor->storage->device)
    return value;
  nxi_recording r = {.context = c,
                     .op = NXG_copy,
                     .dtype = value->dtype,
                     .device = value->device,
                     .rank = value->rank,
                     .shape = nxi_node_shape(value)};
  return nxi_record_unary(&r, value);
}

/* If dst names every element of its storage once, in some order: the view of src (which has dst's shape) whose C
 * order is the storage's order. */
static bool covers_storage(const nx_tensor *dst, const nxi_operand *src, int64_t *shape,
                           int64_t *strides, nxi_operand *out) {
  int32_t n = 0, axes[NXG_MAX_RANK];
  const int64_t *extent = nxi_shape(dst), *stride = nxi_strides(dst);
  if (dst->elements != dst->storage->elements) return false;
  if (dst->contiguous) { /* src has its shape, and that is the storage's order */
    *out = *src;
    return true;
  }
  int64_t offset = src->offset;
  for (int32_t i = 0; i < dst->rank; i++) {
    if (extent[i] == 1) continue;
    int64_t width = stride[i] < 0 ? -stride[i] : stride[i];
    int32_t at = n++;
    for (; at > 0; at--) { /* insertion by falling stride */
      int64_t before = stride[axes[at - 1]] < 0 ? -stride[axes[at - 1]] : stride[axes[at - 1]];
      if (before >= width) break;
      axes[at] = axes[at - 1];
    }
    axes[at] = i;
  }
  int64_t expected = 1;
  for (int32_t k = n; k-- > 0;) {
    int32_t i = axes[k];
    bool flipped = stride[i] < 0;
    if ((flipped ? -stride[i] : stride[i]) != expected) return false;
    expected *= extent[i];
    shape[k] = extent[i];
    strides[k] = flipped ? -src->strides[i] : src->strides[i];
    if (flipped) offset += src->strides[i] * (extent[i] - 1);
  }
  *out = (nxi_operand){src->tensor, n, offset, shape, strides};
  return true;
}

/* The new value of dst's storage. A pinned storage gets a node of its own, since its memory must show it. */
static nxi_node *new_value(nx_context *c, nx_tensor *dst, const nxi_operand *src) {
  nxi_storage *s = dst->storage;
  int64_t shape[NXG_MAX_RANK], strides[NXG_MAX_RANK], attrs[2 + 2 * NXG_MAX_RANK];
  nxi_operand whole;
  if (covers_storage(dst, src, shape, strides, &whole)) {
    nxi_node *value = s->pins ? nxi_operand_node(c, &whole) : nxi_operand_value(c, &whole);
    if (!value || (!s->pins && value->device == s->device)) return value;
    nxi_recording r = {.context = c,
                       .op = s->pins ? NXG_copy : NXI_OP_TRANSFER,
                       .dtype = s->dtype,
                       .device = s->device,
                       .rank = value->rank,
                       .shape = nxi_node_shape(value)};
    return nxi_record_unary_alone(&r, value);
  }
  /* Forwards along every axis: where the destination runs backwards, both sides are turned around. */
  nxi_operand turned = *src;
  turned.strides = strides;
  attrs[0] = dst->offset;
  attrs[1] = dst->rank;
  for (int32_t i = 0; i < dst->rank; i++) {
    int64_t extent = nxi_shape(dst)[i], stride = nxi_strides(dst)[i];
    bool backwards = extent > 1 && stride < 0;
    attrs[2 + i] = extent;
    attrs[2 + dst->rank + i] = extent == 1 ? 0 : backwards ? -stride : stride;
    strides[i] = backwards ? -src->strides[i] : src->strides[i];
    if (backwards) attrs[0] += stride * (extent - 1);
    if (backwards) turned.offset += src->strides[i] * (extent - 1);
  }
  nxi_node *old = s->value;
  old->refs++;
  if (atomic_load_explicit(&c->capturing, memory_order_relaxed)) old = nxi_capture_read(c, s, old);
  nxi_node *value = old ? nxi_operand_node(c, &turned) : NULL;
  if (!value) {
    if (old) nxi_node_unref(c, old);
    return NULL;
  }
  nxi_recording r = {.context = c,
                     .op = NXG_update,
                     .dtype = s->dtype,
                     .device = s->device,
                     .rank = old->rank,
                     .shape = nxi_node_shape(old),
                     .attrs = attrs,
                     .n_attrs = 2 + 2 * (uint32_t)dst->rank};
  return nxi_record_binary(&r, old, value, s->pins > 0);
}

nx_status nxi_assign_locked(nx_context *c, nx_tensor *dst, const nxi_operand *src, bool *exposed,
                            nxi_diag *d) {
  nxi_storage *s = dst->storage;
  nxi_node *value = new_value(c, dst, src);
  if (!value) return nxi_oom(d);
  bool captured = false;
  if (atomic_load_explicit(&c->capturing, memory_order_relaxed) &&
      !nxi_capture_assign(c, s, value, &captured)) {
    nxi_node_unref(c, value);
    return nxi_oom(d);
  }
  if (captured) return NX_OK;
  uint8_t flags = atomic_load_explicit(&value->flags, memory_order_relaxed);
  if (s->pins && !(flags & NXI_NODE_TRACED)) value->home = s;
  if (s->write_pins) {
    atomic_fetch_or_explicit(&value->flags, NXI_NODE_EXPOSED, memory_order_relaxed);
    nxi_table_remove(c, value);
  }
  *exposed |=
      (s->write_pins > 0 || src->tensor->storage->write_pins > 0) && !(flags & NXI_NODE_TRACED);
  nxi_storage_set(c, s, value);
  return NX_OK;
}

static nx_status check_assign(nx_tensor *dst, nx_tensor *src, nxi_diag *d) {
  if (dst->storage->flags & NXI_STORAGE_READ_ONLY)
    return nxi_fail(d, NX_READ_ONLY, "assign",
                    "assign: the storage of the destination is an immutable import");
  if (dst->storage->dtype != src->storage->dtype) {
    d->operand = 1;
    return nxi_fail(d, NX_INVALID_ARGUMENT, "assign",
                    "assign: the source has dtype %s, the destination %s",
                    nxi_dtypes[src->storage->dtype].name, nxi_dtypes[dst->storage->dtype].name);
  }
  if (dst->storage->device != src->storage->device) {
    nx_tensor *t[2] = {dst, src};
    int32_t device = nxi_common_device("assign", t, 2, d);
    if (device < 0) return d->status;
    if (device != dst->storage->device)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "assign",
                      "assign: the source is on device %d, the destination on %d",
                      src->storage->device, dst->storage->device);
  }
  nxg_view v;
  nxi_view_of(dst, &v);
  if (!dst->contiguous && nxg_view_overlaps_itself(&v)) {
    d->operand = 0;
    return nxi_fail(d, NX_INVALID_ARGUMENT, "assign",
                    "assign: the destination's view maps two indices to one element");
  }
  return NX_OK;
}

void nxi_assign_undo(nx_context *c, nxi_storage *s, nxi_assigned *a) {
  nxi_record_lock(c);
  if (a->node && s->value == a->node && a->node->state == NXI_PENDING) {
    nxi_node *before = a->node->op == NXG_update ? nxi_node_args(a->node)[0] : a->before;
    if (before) {
      before->refs++;
      nxi_storage_set(c, s, before);
      if (s->pins) before->home = s;
    }
  }
  nxi_record_unlock(c);
}

void nxi_assign_done(nx_context *c, nxi_assigned *a) {
  if (!a->node) return;
  nxi_record_lock(c);
  nxi_node_unref(c, a->node);
  if (a->before) nxi_node_unref(c, a->before);
  nxi_record_unlock(c);
}

/* The old value is kept only where that does not keep its memory from being written. record_lock; takes `before`. */
static void note(nx_context *c, const nxi_storage *s, nxi_node *before, nxi_assigned *a) {
  nxi_node *node = s->value;
  if (node != before) { /* a captured assign changes nothing now */
    a->node = node;
    node->refs++;
    if (node->op != NXG_update && !s->pins) {
      a->before = before;
      return;
    }
  }
  nxi_node_unref(c, before);
}

nx_status nxi_assign(nx_tensor *dst, nx_tensor *src, nxi_assigned *assigned) {
  nx_context *c = dst->context;
  nxi_diag d;
  *assigned = (nxi_assigned){0};
  nxi_diag_clear(&d);
  if (check_assign(dst, src, &d)) return nxi_error_report(&d);
  nxi_operand o = nxi_operand_of(src);
  nxg_view v;
  if (!nxg_same_shape(dst->rank, nxi_shape(dst), src->rank, nxi_shape(src))) {
    nxi_view_of(src, &v);
    if (nxg_view_expand(&v, dst->rank, nxi_shape(dst), &v, &d)) {
      snprintf(d.op, sizeof d.op, "assign");
      d.operand = 1;
      return nxi_error_report(&d);
    }
    o = (nxi_operand){src, v.rank, v.offset, v.shape, v.strides};
  }
  if (dst->elements == 0) return NX_OK;
  bool exposed = false;
  nxi_record_lock(c);
  nxi_drain(c, 8);
  nxi_node *before = dst->storage->value;
  before->refs++;
  nx_status status = nxi_assign_locked(c, dst, &o, &exposed, &d);
  if (status) nxi_node_unref(c, before);
  else note(c, dst->storage, before, assigned);
  nxi_record_unlock(c);
  if (status) return nxi_error_report(&d);
  if (exposed) status = nxi_carry_out(c, dst->storage);
  if (status) nxi_assign_undo(c, dst->storage, assigned);
  return status;
}

nx_status nx_assign(nx_tensor *dst, nx_tensor *src) {
  nx_tensor *t[2] = {dst, src};
  nxi_assigned assigned;
  if (!nxi_check_operands("assign", t, 2)) return NX_INVALID_ARGUMENT;
  nx_status status = nxi_assign(dst, src, &assigned);
  nxi_assign_done(dst->context, &assigned);
  return status;
}
