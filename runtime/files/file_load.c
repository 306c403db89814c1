/* SPDX-License-Identifier: ISC */
/* Tensors of arrays in files of any format. They use the file's own pages if possible, else
 * copies. */
#include "file_load.h"

#include "ir/platform/file.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

static void unmap(void *file) { nxi_file_unref(file); }

/* Takes the reference of the file. */
static nx_status buffer_over(const nxi_file_array *x, nxi_buffer **out, nxi_diag *d) {
  nxi_buffer *b = nxi_calloc(1, sizeof *b);
  if (!b) return nxi_oom(d);
  atomic_init(&b->refs, 1);
  b->immutable = true;
  b->data = (void *)(uintptr_t)x->data;
  b->bytes = x->bytes;
  b->release = unmap;
  b->user = x->file;
  *out = b;
  return NX_OK;
}

nx_status nxi_load_check(const char *op, const nxi_file_array *x, nxi_diag *d) {
  int64_t elements;
  return nxg_shape_check(NX_PARSE, op, x->rank, x->shape, nxi_dtypes[x->dtype].bits, &elements, d);
}

nx_tensor *nxi_load_tensor(nx_context *c, const nxi_file_array *x, nxi_buffer *b) {
  int64_t strides[NXG_MAX_RANK], stride = 1;
  nxg_contiguous_strides(x->rank, x->shape, strides);
  for (int32_t i = 0; x->fortran && x->elements && i < x->rank; i++) {
    strides[i] = stride;
    stride *= x->shape[i];
  }
  nxi_record_lock(c);
  nxi_node *n = nxi_leaf_create(c, NXI_OP_LEAF, NXI_DEVICE_CPU, x->dtype, 1, &x->elements, b);
  nxi_storage *s = n ? nxi_storage_create(c, n) : NULL;
  nx_tensor *t = s ? nxi_tensor_create(c, s, x->rank, x->shape, strides, 0) : NULL;
  nxi_record_unlock(c);
  return t;
}

nx_status nxi_load_array(nxi_action *a, const char *op, const nxi_file_array *x, nx_tensor **out) {
  nxi_buffer *b = NULL;
  nx_status status = nxi_load_check(op, x, &a->diag);
  bool in_place = x->file && x->aligned && !x->swapped && x->bytes > 0;
  if (!status && in_place) status = buffer_over(x, &b, &a->diag);
  else if (!status) status = nxi_buffer_create(a->context, x->bytes, &b, &a->diag);
  if (!status && !in_place) nxi_file_array_copy(x, b->data);
  if (status || !in_place) nxi_file_unref(x->file);
  if (status) return nxi_oom_in(&a->diag, status, op);
  nx_tensor *t = nxi_load_tensor(a->context, x, b);
  if (!t) return nxi_oom_in(&a->diag, NX_OUT_OF_MEMORY, op);
  *out = t;
  return NX_OK;
}

/* ---- saving */

/* In pieces, with a poll between them. What goes to a disk is on its way there when the next piece
 * is written, and arrives before the one after it: syncing at the end, which nothing stops, is
 * short. */
static nx_status write_polled(const nxi_action *a, nxi_file_writer *w, const char *data,
                              int64_t bytes, nxi_diag *d) {
  enum { PIECE = 8 << 20 };
  nx_status status = NX_OK;
  for (int64_t at = 0; at < bytes && !status; at += PIECE) {
    const int64_t n = bytes - at < PIECE ? bytes - at : PIECE;
    status = nxi_file_write(w, data + at, n, d);
    if (!status && n == PIECE && w->target) nxi_fd_push(w->fd, w->written - n, n);
    if (!status && at + n < bytes) status = nxi_poll_now(a->options, d);
  }
  return status;
}

/* Elements that are not in C order are packed first. */
nx_status nxi_save_elements(nxi_action *a, const nx_tensor *t, const nxi_buffer *from,
                            nxi_file_writer *w) {
  nxi_diag *d = &a->diag;
  nx_dtype dtype = t->storage->dtype;
  int64_t bytes = nxi_dtype_bytes(dtype, t->elements), bits = nxi_dtypes[dtype].bits;
  if (t->contiguous && dtype != NX_BOOL && t->offset * bits % 8 == 0)
    return write_polled(a, w, (const char *)from->data + t->offset * bits / 8, bytes, d);
  void *packed;
  nxg_view v;
  nxi_view_of(t, &v);
  nx_status status = nxi_buffer_alloc(t->context->allocator, bytes, &packed, d);
  if (status) return status;
  status = nxi_action_copy(a, packed, from->data, dtype, &v);
  if (!status) status = write_polled(a, w, packed, bytes, d);
  nxi_buffer_free(t->context->allocator, packed, bytes);
  return status;
}
