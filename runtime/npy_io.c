/* SPDX-License-Identifier: ISC */
/* Tensors from and to .npy files. */
#include "runtime/npy.h"
#include "runtime/run.h"

static void unmap(void *user) {
  nxi_npy_unmap(user);
  nxi_free(user);
}

/* The file's own pages, where they can serve. Takes npy. */
static nx_status buffer_over(const nxi_npy *npy, nxi_buffer **out, nxi_diag *d) {
  nxi_buffer *b = nxi_calloc(1, sizeof *b);
  nxi_npy *kept = nxi_malloc(sizeof *kept);
  if (!b || !kept) {
    nxi_free(b);
    nxi_free(kept);
    return nxi_oom(d);
  }
  *kept = *npy;
  atomic_init(&b->refs, 1);
  b->immutable = true;
  b->data = (void *)(uintptr_t)npy->data;
  b->bytes = npy->bytes;
  b->release = unmap;
  b->user = kept;
  *out = b;
  return NX_OK;
}

static nx_status buffer_copy(nx_context *c, const nxi_npy *npy, nxi_buffer **out, nxi_diag *d) {
  nx_status status = nxi_buffer_create(c, npy->bytes, out, d);
  if (!status) nxi_npy_copy(npy, (*out)->data);
  return status;
}

static nx_tensor *tensor_over(nx_context *c, const nxi_npy *npy, nxi_buffer *b) {
  int64_t strides[NXG_MAX_RANK], stride = 1;
  nxg_contiguous_strides(npy->rank, npy->shape, strides);
  for (int32_t i = 0; npy->fortran && i < npy->rank; i++) {
    strides[i] = stride;
    if (npy->shape[i]) stride *= npy->shape[i];
  }
  nxi_record_lock(c);
  nxi_node *n = nxi_leaf_create(c, NXI_OP_LEAF, NXI_DEVICE_CPU, npy->dtype, 1, &npy->elements, b);
  nxi_storage *s = n ? nxi_storage_create(c, n) : NULL;
  nx_tensor *t = s ? nxi_tensor_create(c, s, npy->rank, npy->shape, strides, 0) : NULL;
  nxi_record_unlock(c);
  return t;
}

nx_status nx_load_npy(nx_context *c, const char *path, nx_tensor **out) {
  if (!c || !path || !out)
    return nxi_error_null("load", !c ? 0 : !path ? 1 : 2), NX_INVALID_ARGUMENT;
  nxi_action a;
  nxi_npy npy;
  nxi_buffer *b = NULL;
  nxi_action_begin(&a, c, NULL);
  nx_status status = nxi_npy_map(path, &npy, &a.diag);
  if (status) return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "load"));
  int64_t elements;
  status = nxg_shape_check(NX_PARSE, "load", npy.rank, npy.shape, nxi_dtypes[npy.dtype].bits,
                           &elements, &a.diag);
  if (!status && !nxi_dtype_admitted("load", npy.dtype, &a.diag)) status = a.diag.status;
  bool in_place = npy.aligned && !npy.swapped && npy.bytes > 0;
  if (!status)
    status = in_place ? buffer_over(&npy, &b, &a.diag) : buffer_copy(c, &npy, &b, &a.diag);
  if (status || !in_place) nxi_npy_unmap(&npy);
  if (status) return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "load"));
  nx_tensor *t = tensor_over(c, &npy, b);
  if (t) *out = t;
  return nxi_action_end(&a, t ? NX_OK : nxi_oom_in(&a.diag, NX_OUT_OF_MEMORY, "load"));
}

typedef struct saving {
  nxi_action *a;
  nx_tensor *t;
  const char *path;
  const nxi_buffer *from;
} saving;

/* Packs what is not in C order. The file appears as a whole or not at all. */
static nx_status write_file(void *arg) {
  const saving *s = arg;
  nx_tensor *t = s->t;
  nxi_diag *d = &s->a->diag;
  nx_dtype dtype = t->storage->dtype;
  int64_t size = nxi_dtype_size(dtype);
  const char *data = (const char *)s->from->data + t->offset * size;
  void *packed = NULL;
  nx_status status = NX_OK;
  if (!t->contiguous || dtype == NX_BOOL) {
    status = nxi_buffer_alloc(t->context->allocator, t->elements * size, &packed, d);
    nxg_view v;
    nxi_view_of(t, &v);
    if (!status) status = nxi_action_copy(s->a, packed, s->from->data, dtype, &v);
    data = packed;
  }
  if (!status) status = nxi_npy_write(s->path, dtype, t->rank, nxi_shape(t), false, data, d);
  if (packed) nxi_buffer_free(t->context->allocator, packed, t->elements * size);
  return status;
}

nx_status nx_save_npy(nx_tensor *t, const char *path, const nx_run_options *o) {
  if (!t || !path) return nxi_error_null("save", t ? 1 : 0), NX_INVALID_ARGUMENT;
  nx_context *c = t->context;
  nxi_action a;
  nxi_node *node;
  nxi_buffer *b;
  nxi_action_begin(&a, c, o);
  nx_status status = nxi_borrow(&a, t->storage, &node, &b);
  if (status) return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "save"));
  saving s = {&a, t, path, b};
  status = nxi_action_work(&a, write_file, &s);
  nxi_give_back(c, node, b);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "save"));
}
