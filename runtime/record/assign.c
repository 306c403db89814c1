/* SPDX-License-Identifier: ISC */
/* Mutation: a storage moves on to a new value, and whoever read the old one keeps it. */
#include "assign.h"

#include <string.h>

#include "capture.h"
#include "error.h"
#include "objects.h"
#include "pending.h"
#include "ir/platform/lock.h"
#include "record.h"
#include "runtime/realize/run.h"

/* What an operand reads, fit to be a storage's value: memory that is the host's, or that host code
 * may write, is copied. One reference; NULL without memory. record_lock. */
nxi_node *nxi_operand_value(nx_context *c, const nxi_operand *o) {
  NXI_HELD(&c->record_lock);
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

/* If dst names every element of its storage once, in some order: the view of src (which has dst's
 * shape) whose C order is the storage's order. */
static bool covers_storage(const nx_tensor *dst, const nxg_view *src, nxg_view *out) {
  int32_t n = 0, axes[NXG_MAX_RANK];
  const int64_t *extent = nxi_shape(dst), *stride = nxi_strides(dst);
  if (dst->elements != dst->storage->elements) return false;
  if (dst->contiguous) { /* src has its shape, and that is the storage's order */
    nxg_view_copy(out, src);
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
    out->shape[k] = extent[i];
    out->strides[k] = flipped ? -src->strides[i] : src->strides[i];
    if (flipped) offset += src->strides[i] * (extent[i] - 1);
  }
  out->rank = n;
  out->offset = offset;
  return true;
}

/* Forwards along every axis: where the destination runs backwards, both sides are turned around. */
static void turn_forwards(const nx_tensor *dst, nxi_assign_form *out) {
  int64_t *attrs = out->attrs;
  out->n_attrs = 2 + 2 * (uint32_t)dst->rank;
  attrs[0] = dst->offset;
  attrs[1] = dst->rank;
  for (int32_t i = 0; i < dst->rank; i++) {
    int64_t extent = nxi_shape(dst)[i], stride = nxi_strides(dst)[i];
    bool backwards = extent > 1 && stride < 0;
    attrs[2 + i] = extent;
    attrs[2 + dst->rank + i] = extent == 1 ? 0 : backwards ? -stride : stride;
    if (!backwards) continue;
    attrs[0] += stride * (extent - 1);
    out->source.offset += out->source.strides[i] * (extent - 1);
    out->source.strides[i] = -out->source.strides[i];
  }
}

void nxi_assign_form_of(const nx_tensor *dst, const nxg_view *src, nxi_assign_form *out) {
  out->n_attrs = 0;
  out->whole = covers_storage(dst, src, &out->source);
  if (out->whole) return;
  nxg_view_copy(&out->source, src);
  turn_forwards(dst, out);
}

/* A pinned storage gets a node of its own, since its memory must show it. */
static nxi_node *whole_value(nx_context *c, const nxi_storage *s, const nxi_operand *src) {
  nxi_node *value = s->pins ? nxi_operand_node(c, src) : nxi_operand_value(c, src);
  if (!value || (!s->pins && value->device == s->device)) return value;
  nxi_recording r = {.context = c,
                     .op = s->pins ? NXG_copy : NXI_OP_TRANSFER,
                     .dtype = s->dtype,
                     .device = s->device,
                     .rank = value->rank,
                     .shape = nxi_node_shape(value)};
  return nxi_record_unary_alone(&r, value);
}

/* The new value of dst's storage. */
static nxi_node *new_value(nx_context *c, nx_tensor *dst, const nxi_operand *src) {
  nxi_storage *s = dst->storage;
  nxi_assign_form form;
  nxg_view v = {.rank = src->rank, .offset = src->offset};
  memcpy(v.shape, src->shape, (size_t)src->rank * sizeof *v.shape);
  memcpy(v.strides, src->strides, (size_t)src->rank * sizeof *v.strides);
  nxi_assign_form_of(dst, &v, &form);
  const nxg_view *from = &form.source;
  nxi_operand o = {src->tensor, from->rank, from->offset, from->shape, from->strides};
  if (form.whole) return whole_value(c, s, &o);
  nxi_node *old = s->value;
  old->refs++;
  if (atomic_load_explicit(&c->capturing, memory_order_relaxed)) old = nxi_capture_read(c, s, old);
  nxi_node *value = old ? nxi_operand_on(c, &o, s->device) : NULL;
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
                     .attrs = form.attrs,
                     .n_attrs = form.n_attrs};
  return nxi_record_binary(&r, old, value, s->pins > 0);
}

/* The storage moves on to a new value, whose reference is taken. The old one is kept for the case
 * that the assign has to be taken back; where its memory is shown to the host it is marked, so that
 * it may be written all the same. */
static void move_on(nx_context *c, nxi_storage *s, nxi_node *value, nxi_assigned *a) {
  nxi_node *before = s->value;
  *a = (nxi_assigned){0};
  if (value != before) {
    bool over = value->op == NXG_update || value->op == NXG_scatter;
    bool keeps = over && nxi_node_args(value)[0] == before;
    *a = (nxi_assigned){s, value->id, keeps ? NULL : before};
    if (!keeps) before->refs++;
    s->former = s->pins && !keeps ? before : NULL;
    uint32_t lineage = (uint32_t)s->id ? (uint32_t)s->id : 1;
    atomic_store_explicit(&value->lineage, lineage, memory_order_relaxed);
  }
  nxi_storage_set(c, s, value);
}

nx_status nxi_assign_locked(nx_context *c, nx_tensor *dst, const nxi_operand *src, bool *exposed,
                            nxi_assigned *a, nxi_diag *d) {
  NXI_HELD(&c->record_lock);
  nxi_storage *s = dst->storage;
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_assign);
  nxi_node *value = new_value(c, dst, src);
  nxi_called_end(outer);
  *a = (nxi_assigned){0};
  if (!value) return nxi_oom(d);
  bool captured = false;
  if (atomic_load_explicit(&c->capturing, memory_order_relaxed) &&
      !nxi_capture_assign(c, s, value, &captured)) {
    nxi_node_unref(c, value);
    return nxi_oom(d);
  }
  if (captured) return NX_OK; /* nothing changes now */
  uint8_t flags = atomic_load_explicit(&value->flags, memory_order_relaxed);
  if (s->pins && !(flags & NXI_NODE_TRACED)) value->home = s;
  if (s->write_pins) {
    nxi_node_mark(value, NXI_NODE_EXPOSED);
    nxi_table_remove(c, value);
  }
  *exposed |=
      (s->write_pins > 0 || src->tensor->storage->write_pins > 0) && !(flags & NXI_NODE_TRACED);
  move_on(c, s, value, a);
  return NX_OK;
}

/* ---- taking back */

static bool is_current(const nxi_assigned *a) {
  return a->storage && a->storage->value->id == a->node;
}

static void take_back(nx_context *c, nxi_assigned *a) {
  nxi_storage *s = a->storage;
  if (!is_current(a)) return; /* an assign that was recorded later is still there */
  nxi_node *before = a->before ? a->before : nxi_node_args(s->value)[0];
  before->refs++;
  nxi_storage_set(c, s, before);
  if (s->pins) before->home = s;
}

void nxi_assigns_back_locked(nx_context *c, nxi_assigned *a, uint32_t n) {
  NXI_HELD(&c->record_lock);
  while (n-- > 0) take_back(c, &a[n]);
}

bool nxi_assigns_back(nx_context *c, nxi_assigned *a, uint32_t n) {
  NXI_NO_LOCK();
  uint32_t current, computed;
  nxi_run_lock(c);
  for (bool again = true; again;) {
    current = computed = 0;
    again = false;
    nxi_record_lock(c);
    for (uint32_t i = 0; i < n; i++) {
      if (!is_current(&a[i])) continue;
      current++;
      computed += a[i].storage->value->state == NXI_REALIZED;
      again |= a[i].storage->value->state == NXI_RUNNING; /* by somebody else */
    }
    if (!again && !computed) nxi_assigns_back_locked(c, a, n);
    nxi_record_unlock(c);
    if (again) nxi_wait_change(c, NULL, NULL);
  }
  nxi_run_unlock(c);
  return computed && computed == current;
}

void nxi_assigns_done(nx_context *c, nxi_assigned *a, uint32_t n) {
  NXI_NO_LOCK();
  nxi_record_lock(c);
  for (uint32_t i = 0; i < n; i++) {
    if (!a[i].before) continue;
    if (a[i].storage->former == a[i].before) a[i].storage->former = NULL;
    nxi_node_unref(c, a[i].before);
    a[i].before = NULL;
  }
  nxi_record_unlock(c);
}

/* ---- assign */

static nx_status check_assign(nx_tensor *dst, nx_tensor *src, nxi_diag *d) {
  if (dst->storage->flags & NXI_STORAGE_READ_ONLY)
    return nxi_fail(d, NX_NOT_WRITABLE, "assign",
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
      char is[NXG_SHAPE_TEXT], wanted[NXG_SHAPE_TEXT];
      nxi_diag_clear(&d);
      nxi_fail(&d, NX_INVALID_ARGUMENT, "assign",
               "assign: the source of shape %s does not broadcast to the destination's shape %s",
               nxg_format_shape(is, src->rank, nxi_shape(src)),
               nxg_format_shape(wanted, dst->rank, nxi_shape(dst)));
      d.operand = 1;
      return nxi_error_report(&d);
    }
    o = (nxi_operand){src, v.rank, v.offset, v.shape, v.strides};
  }
  if (dst->elements == 0) return NX_OK;
  bool exposed = false;
  nxi_record_lock(c);
  nxi_drain(c, 8);
  nx_status status = nxi_assign_locked(c, dst, &o, &exposed, assigned, &d);
  nxi_record_unlock(c);
  if (nxi_oom_in(&d, status, "assign")) return nxi_error_report(&d);
  return exposed ? nxi_carry_out(c, &dst->storage, 1, assigned, 1) : NX_OK;
}

nx_status nx_assign(nx_tensor *dst, nx_tensor *src) {
  nx_tensor *t[2] = {dst, src};
  nxi_assigned assigned;
  if (!nxi_check_operands("assign", t, 2)) return NX_INVALID_ARGUMENT;
  nx_status status = nxi_assign(dst, src, &assigned);
  nxi_assigns_done(dst->context, &assigned, 1);
  return status;
}
