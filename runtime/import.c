/* SPDX-License-Identifier: ISC */
/* Host memory as tensors. */
#include "runtime/handle.h"

/* Storage elements, and that the view lies inside; the view's strides are filled in. */
static nx_status check_import(const nx_import_desc *i, nxg_view *v, int64_t *elements,
                              nxi_diag *d) {
  nxi_diag_clear(d);
  if (i->mode > NX_IMPORT_IMMUTABLE)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import", "import: there is no mode %u", i->mode);
  if (!nxi_dtype_admitted("import", i->dtype, d)) return d->status;
  int64_t size = nxi_dtype_size(i->dtype);
  if (i->rank > 0 && !i->shape)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import", "import: the shape is null");
  if (nxg_shape_check(NX_INVALID_ARGUMENT, "import", i->rank, i->shape, nxi_dtypes[i->dtype].bits,
                      NULL, d))
    return d->status;
  if (i->bytes > INT64_MAX || (!i->base && i->bytes))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import",
                    "import: the base is null or the size does not fit in 63 bits");
  if ((uintptr_t)i->base % (uintptr_t)size)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "import",
                    "import: the base is not aligned to its elements of %lld bytes",
                    (long long)size);
  *elements = (int64_t)i->bytes / size;
  int64_t strides[NXG_MAX_RANK];
  nxg_contiguous_strides(i->rank, i->shape, strides);
  return nxg_view_as_strided(*elements, i->rank, i->shape, i->strides ? i->strides : strides,
                             i->offset, v, d);
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

static void mark(nxi_storage *s, nxi_node *n, nxi_buffer *b, uint32_t mode) {
  if (mode == NX_IMPORT_COPY) return;
  uint8_t flags = NXI_NODE_FOREIGN;
  if (mode == NX_IMPORT_IMMUTABLE) {
    s->flags |= NXI_STORAGE_READ_ONLY;
  } else {
    flags |= NXI_NODE_EXPOSED;
    s->flags |= NXI_STORAGE_SHARED;
    s->pins = s->write_pins = 1;
    s->pinned = b;
    b->pinner = s;
    nxi_buffer_ref(b);
  }
  atomic_store_explicit(&n->flags, flags, memory_order_relaxed);
}

/* On failure the buffer is gone, and its callback has not been queued. */
static nx_tensor *tensor_over(nx_context *c, const nx_import_desc *i, const nxg_view *v,
                              int64_t elements, nxi_buffer *b) {
  nxi_record_lock(c);
  nxi_drain(c, 8);
  void (*release)(void *) = b->release;
  b->release = NULL;
  nxi_node *n = nxi_leaf_create(c, NXI_OP_LEAF, NXI_DEVICE_CPU, i->dtype, 1, &elements, b);
  nxi_storage *s = n ? nxi_storage_create(c, n) : NULL;
  if (s) mark(s, n, b, i->mode);
  nx_tensor *t = s ? nxi_tensor_create(c, s, v->rank, v->shape, v->strides, v->offset) : NULL;
  if (t) b->release = release;
  nxi_record_unlock(c);
  return t;
}

nx_status nx_import(nx_context *c, const nx_import_desc *desc, nx_tensor **out) {
  nx_import_desc i = {.size = sizeof i};
  if (!c || !desc || !out)
    return nxi_error_null("import", !c ? 0 : !desc ? 1 : 2), NX_INVALID_ARGUMENT;
  nxi_take(&i, desc, sizeof i);
  nxi_diag d;
  nxg_view v = {0};
  int64_t elements = 0;
  if (check_import(&i, &v, &elements, &d)) return nxi_error_report(&d);
  nxi_buffer *foreign = foreign_buffer(&i), *b = foreign;
  if (!foreign) return nxi_oom(&d), nxi_error_report(&d);
  if (i.mode == NX_IMPORT_COPY) {
    if (nxi_buffer_create(c, (int64_t)i.bytes, &b, &d)) {
      nxi_free(foreign);
      return nxi_error_report(&d);
    }
    if (i.bytes) memcpy(b->data, i.base, i.bytes);
  }
  nx_tensor *t = tensor_over(c, &i, &v, elements, b);
  if (i.mode == NX_IMPORT_COPY) { /* the host's memory is free again */
    if (!t) foreign->release = NULL;
    nxi_record_lock(c);
    nxi_buffer_unref(c, foreign);
    nxi_record_unlock(c);
  }
  if (!t) return nxi_oom(&d), nxi_error_report(&d);
  *out = t;
  return NX_OK;
}
