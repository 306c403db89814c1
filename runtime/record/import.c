/* SPDX-License-Identifier: ISC */
/* Host memory as tensors. */
#include "import.h"

#include <string.h>

#include "error.h"
#include "objects.h"
#include "ir/platform/lock.h"
#include "record.h"
#include "runtime/realize/run.h"

/* Fills in what the description leaves out: storage elements, and the view, which must lie inside.
 * */
static nx_status check_import(nxi_import_source *source, nxi_diag *d) {
  const nx_import_desc *i = &source->desc;
  nxi_diag_clear(d);
  if (i->mode > NX_IMPORT_MAPPED)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import", "import: there is no mode %u", i->mode);
  if (!nxi_dtype_exists("import", i->dtype, d)) return d->status;
  int64_t size = nxi_dtype_size(i->dtype);
  if (i->rank > 0 && !i->shape)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import", "import: the shape is null");
  if (nxg_shape_check(NX_INVALID_ARGUMENT, "import", i->rank, i->shape, nxi_dtypes[i->dtype].bits,
                      NULL, d))
    return d->status;
  if (i->bytes > (nxi_is_nibble(i->dtype) ? INT64_MAX / 2 : INT64_MAX) || (!i->base && i->bytes))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import",
                    "import: the base is null or the size does not fit in 63 bits");
  if ((uintptr_t)i->base % nxi_dtype_alignment(i->dtype))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import",
                    "import: the base is not aligned to its elements of %lld bytes",
                    (long long)size);
  source->elements = nxi_is_nibble(i->dtype) ? (int64_t)i->bytes * 2 : (int64_t)i->bytes / size;
  int64_t strides[NXG_MAX_RANK];
  nxg_contiguous_strides(i->rank, i->shape, strides);
  const int64_t *given = i->strides ? i->strides : strides;
  if (!nxg_view_as_strided(source->elements, i->rank, i->shape, given, i->offset, &source->view, d))
    return NX_OK;
  char shape[NXG_SHAPE_TEXT], steps[NXG_SHAPE_TEXT];
  nxi_diag_clear(d);
  return nxi_fail(d, NX_INVALID_ARGUMENT, "import",
                  "import: shape %s with strides %s and offset %lld leaves the %zu bytes of memory",
                  nxg_format_shape(shape, i->rank, i->shape),
                  nxg_format_shape(steps, i->rank, given), (long long)i->offset, i->bytes);
}

static nxi_buffer *foreign_buffer(const nx_import_desc *i) {
  nxi_buffer *b = nxi_calloc(1, sizeof *b);
  if (!b) return NULL;
  atomic_init(&b->refs, 1);
  b->data = i->base;
  b->bytes = (int64_t)i->bytes;
  b->immutable = i->mode == NX_IMPORT_IMMUTABLE;
  b->release = i->release;
  b->user = i->user;
  return b;
}

static void mark(const nxi_import_source *source, nxi_storage *s, nxi_node *n, nxi_buffer *b) {
  uint32_t mode = source->desc.mode;
  if (source->read_only) s->flags |= NXI_STORAGE_READ_ONLY;
  if (mode == NX_IMPORT_COPY) return;
  uint8_t flags = NXI_NODE_FOREIGN;
  if (mode == NX_IMPORT_IMMUTABLE) {
    s->flags |= NXI_STORAGE_READ_ONLY;
    nxi_buffer_show(s->context, b);
  } else {
    b->announced = mode == NX_IMPORT_MAPPED;
    if (!b->announced) flags |= NXI_NODE_EXPOSED;
    s->flags |= NXI_STORAGE_SHARED;
    b->file = source->file;
    nxi_storage_pin(s->context, s, b, !b->announced, false);
  }
  atomic_store_explicit(&n->flags, flags, memory_order_relaxed);
  if (s->context->unexposed || b->announced) nxi_buffer_cross(s->context, b);
}

/* The host's elements in memory of the library: all of the storage, or, packed, those of the view.
 * */
static nx_status copy_in(nx_context *c, nxi_import_source *source, nxi_buffer **out, nxi_diag *d) {
  const nx_import_desc *i = &source->desc;
  nxg_view *v = &source->view;
  int64_t named = nxg_elements(v->rank, v->shape);
  bool pack = source->pack && named < source->elements;
  int64_t bytes = pack ? nxi_dtype_bytes(i->dtype, named) : (int64_t)i->bytes;
  nx_status status = nxi_buffer_create(c, bytes, out, d);
  if (status || !bytes) return status;
  if (!pack) {
    nxg_view all;
    nxg_view_contiguous(&all, 1, &source->elements);
    nxi_copy_packed((*out)->data, i->base, i->dtype, &all);
    return NX_OK;
  }
  nxi_copy_packed((*out)->data, i->base, i->dtype, v);
  int64_t shape[NXG_MAX_RANK];
  memcpy(shape, v->shape, sizeof shape);
  nxg_view_contiguous(v, v->rank, shape);
  source->elements = named;
  return NX_OK;
}

/* On failure the buffer is gone, and its callback has not been queued. */
static nx_tensor *tensor_over(nx_context *c, const nxi_import_source *source, nxi_buffer *b) {
  const nxg_view *v = &source->view;
  nxi_record_lock(c);
  nxi_drain(c, 8);
  void (*release)(void *) = b->release;
  b->release = NULL;
  nxi_node *n =
      nxi_leaf_create(c, NXI_OP_LEAF, source->device, source->desc.dtype, 1, &source->elements, b);
  nxi_storage *s = n ? nxi_storage_create(c, n) : NULL;
  if (s) mark(source, s, n, b);
  nx_tensor *t = s ? nxi_tensor_create(c, s, v->rank, v->shape, v->strides, v->offset) : NULL;
  if (t) b->release = release;
  nxi_record_unlock(c);
  return t;
}

nx_status nxi_import(nx_context *c, nxi_import_source *source, nx_tensor **out) {
  NXI_NO_LOCK();
  const nx_import_desc *i = &source->desc;
  nxi_diag d;
  nxi_diag_clear(&d);
  bool copied = i->mode == NX_IMPORT_COPY && !source->owned;
  nxi_buffer *foreign = foreign_buffer(i), *b = foreign;
  if (!foreign) return nxi_oom_in(&d, NX_OUT_OF_MEMORY, source->op), nxi_error_report(&d);
  if (copied && copy_in(c, source, &b, &d)) {
    nxi_free(foreign);
    return nxi_oom_in(&d, d.status, source->op), nxi_error_report(&d);
  }
  nx_tensor *t = tensor_over(c, source, b);
  if (copied) { /* the host's memory is free again */
    if (!t) foreign->release = NULL;
    nxi_record_lock(c);
    nxi_buffer_unref(c, foreign);
    nxi_record_unlock(c);
  }
  if (!t) return nxi_oom_in(&d, NX_OUT_OF_MEMORY, source->op), nxi_error_report(&d);
  *out = t;
  return NX_OK;
}

nx_status nxi_import_buffer(nx_context *c, const nxi_import_source *source, nxi_buffer *b,
                            nx_tensor **out) {
  NXI_NO_LOCK();
  nxi_diag d;
  nxi_diag_clear(&d);
  nx_tensor *t = tensor_over(c, source, b);
  if (!t) return nxi_oom_in(&d, NX_OUT_OF_MEMORY, source->op), nxi_error_report(&d);
  *out = t;
  return NX_OK;
}

nx_status nx_import(nx_context *c, const nx_import_desc *desc, nx_tensor **out) {
  nxi_import_source source = {.op = "import", .desc = {.size = sizeof source.desc}};
  if (!c || !desc || !out)
    return nxi_error_null("import", !c ? 0 : !desc ? 1 : 2), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("import", 0, c)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (nxi_take(&source.desc, desc, sizeof source.desc, "nx_import_desc", source.op, &d))
    return nxi_error_report(&d);
  if (check_import(&source, &d)) return nxi_error_report(&d);
  return nxi_import(c, &source, out);
}
