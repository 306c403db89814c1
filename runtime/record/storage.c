/* SPDX-License-Identifier: ISC */
/* Making buffers, leaves, storages and handles; the public reference counts and descriptions of
 * tensors. */
#include <string.h>

#include "error.h"
#include "objects.h"
#include "pending.h"
#include "ir/platform/lock.h"
#include "record.h"

nxi_buffer *nxi_buffer_without_memory(nx_context *c, int64_t bytes) {
  nxi_buffer *b = nxi_malloc(sizeof *b); /* glibc's calloc does not look at what the thread freed */
  if (!b) return NULL;
  *b = (nxi_buffer){.refs = 1, .bytes = bytes, .allocator = c->allocator};
  return b;
}

nx_status nxi_buffer_create(nx_context *c, int64_t bytes, nxi_buffer **out, nxi_diag *d) {
  NXI_NO_LOCK();
  nxi_buffer *b = nxi_buffer_without_memory(c, bytes);
  if (!b) return nxi_oom(d);
  nx_status status = nxi_buffer_alloc(c->allocator, bytes, &b->data, d);
  if (status) nxi_free(b);
  else *out = b;
  return status;
}

/* A spare buffer of exactly so many bytes, or NULL. */
static nxi_buffer *take_spare(nx_context *c, int64_t bytes) {
  const uint32_t size = nxi_spare_size(c, bytes);
  nxi_buffer **at = &c->spare_buffers[size], *b;
  if (!size) return NULL;
  for (int i = 0; (b = *at) && b->bytes != bytes; at = &b->next)
    if (++i == NXI_SPARE_LOOK) return NULL;
  if (!b) return NULL;
  *at = b->next;
  c->n_spare[size]--;
  nxi_buffer_used(b->data, bytes);
  return b;
}

nxi_buffer *nxi_buffer_create_small(nx_context *c, int64_t bytes) {
  NXI_HELD(&c->record_lock);
  nxi_buffer *b = take_spare(c, bytes);
  void *data = b ? b->data : NULL;
  if (!b) b = nxi_block_take(c, sizeof *b);
  if (!b) return NULL;
  if (!data && !nxi_buffer_alloc_small(c->allocator, bytes, &data)) {
    nxi_block_give(c, b, sizeof *b);
    return NULL;
  }
  *b = (nxi_buffer){
      .refs = 1, .bytes = bytes, .allocator = c->allocator, .data = data, .small = true};
  return b;
}

nxi_node *nxi_leaf_create(nx_context *c, uint16_t op, int32_t device, nx_dtype dtype, int32_t rank,
                          const int64_t *shape, nxi_buffer *b) {
  NXI_HELD(&c->record_lock);
  uint32_t size = (uint32_t)(sizeof(nxi_node) + (size_t)rank * sizeof(int64_t));
  nxi_node *n = nxi_block_take(c, size);
  if (!n) {
    nxi_buffer_unref(c, b);
    return NULL;
  }
  *n = (nxi_node){.refs = 1,
                  .op = op,
                  .dtype = (uint8_t)dtype,
                  .rank = (uint8_t)rank,
                  .device = (uint8_t)device,
                  .size = size,
                  .id = ++c->next_id,
                  .elements = nxg_elements(rank, shape),
                  .buffer = b};
  if (rank) memcpy(n->tail, shape, (size_t)rank * sizeof *shape);
  n->state = b ? NXI_REALIZED : NXI_PENDING;
  n->tag = nxi_tag_current();
  if (b) b->value = n;
  else nxi_pending_begin(c, n);
  nxi_pinned_in(c, n);
  c->live_nodes++;
  return n;
}

static inline nxi_storage *storage_create(nx_context *c, nxi_node *value) {
  nxi_storage *s = nxi_block_take(c, sizeof *s);
  if (!s) {
    nxi_node_unref(c, value);
    return NULL;
  }
  s->refs = 1; /* each field for itself, as in node_begin */
  s->dtype = value->dtype;
  s->device = value->device;
  atomic_init(&s->flags, 0);
  s->listed = false;
  s->id = ++c->next_id;
  s->context = c;
  s->value = value;
  s->former = NULL;
  s->elements = value->elements;
  s->pins = s->write_pins = 0;
  s->pinned = NULL;
  s->session = NULL;
  s->next = s->previous = NULL;
  nxi_storage_name(s, value);
  c->live_storages++;
  return s;
}

nxi_storage *nxi_storage_create(nx_context *c, nxi_node *value) {
  NXI_HELD(&c->record_lock);
  return storage_create(c, value);
}

__attribute__((noinline)) static void watch(nx_context *c, const nx_tensor *t) {
  char shape[NXG_SHAPE_TEXT];
  const nxi_node *value = t->storage->value;
  const char *how = t->whole ? "" : "view of ";
  const char *name = nxi_op_name(value->called ? value->called : value->op);
  if (value->op == NXI_OP_LEAF) name = "memory";
  nxi_watch_made(t, NXI_TENSOR, c, "%s%s %s%.60s", how, name, nxi_dtypes[t->storage->dtype].name,
                 nxg_format_shape(shape, t->rank, nxi_shape(t)));
}

static nx_tensor *alloc_watched(size_t bytes) {
  bool watched;
  nx_tensor *t = nxi_handle_alloc(bytes, &watched);
  if (t) t->watched = watched;
  return t;
}

static nx_tensor *alloc_pooled(nx_context *c, size_t bytes) {
  nx_tensor *t = nxi_block_take(c, bytes);
  if (t) t->watched = false;
  return t;
}

static inline size_t tensor_bytes(int32_t rank) {
  return sizeof(nx_tensor) + 2 * (size_t)rank * sizeof(int64_t);
}

/* A handle that has no dims yet; takes the reference of s. */
static inline nx_tensor *tensor_begin(nx_context *c, nxi_storage *s, int32_t rank, int64_t offset) {
  size_t bytes = tensor_bytes(rank);
  nx_tensor *t = nxi_watch_on() ? alloc_watched(bytes) : alloc_pooled(c, bytes);
  if (!t) {
    nxi_storage_unref(c, s);
    return NULL;
  }
  t->head.kind = NXI_TENSOR;
  t->head.next = NULL;
  atomic_init(&t->head.refs, 1);
  atomic_init(&t->slot, NULL);
  t->context = c;
  t->storage = s;
  t->rank = (uint8_t)rank;
  t->offset = offset;
  return t;
}

/* The handle is in its scope, and counted; NULL without memory, and it is gone. */
static inline nx_tensor *tensor_end(nx_context *c, nx_tensor *t) {
  if (!nxi_scope_add(t)) {
    nxi_storage *s = t->storage;
    if (t->watched) nxi_handle_free(t, true);
    else nxi_block_give(c, t, tensor_bytes(t->rank));
    nxi_storage_unref(c, s);
    return NULL;
  }
  if (c->live_tensors++ == 0) nxi_context_ref(c);
  if (t->watched) watch(c, t);
  return t;
}

nx_tensor *nxi_tensor_create(nx_context *c, nxi_storage *s, int32_t rank, const int64_t *shape,
                             const int64_t *strides, int64_t offset) {
  NXI_HELD(&c->record_lock);
  nx_tensor *t = tensor_begin(c, s, rank, offset);
  if (!t) return NULL;
  int64_t stride = 1, elements = 1;
  bool contiguous = true;
  for (int32_t i = rank; i-- > 0;) {
    t->dims[i] = shape[i];
    int64_t given = t->dims[rank + i] = strides ? strides[i] : stride;
    contiguous &= given == stride;
    elements *= shape[i];
    if (shape[i]) stride = (int64_t)((uint64_t)stride * (uint64_t)shape[i]);
  }
  t->elements = elements;
  t->contiguous = contiguous;
  t->whole = contiguous && offset == 0 && elements == s->elements;
  return tensor_end(c, t);
}

nx_tensor *nxi_tensor_like(nx_context *c, nxi_node *value, const nx_tensor *like) {
  NXI_HELD(&c->record_lock);
  nxi_storage *s = storage_create(c, value);
  nx_tensor *t = s ? tensor_begin(c, s, like->rank, 0) : NULL;
  if (!t) return NULL;
  nxi_copy_few(t->dims, like->dims, 2u * like->rank);
  t->elements = like->elements;
  t->contiguous = t->whole = true;
  return tensor_end(c, t);
}

nx_tensor *nxi_tensor_of_node(nx_context *c, nxi_node *value) {
  NXI_HELD(&c->record_lock);
  nxi_storage *s = nxi_storage_create(c, value);
  return s ? nxi_tensor_create(c, s, value->rank, nxi_node_shape(value), NULL, 0) : NULL;
}

nx_tensor *nxi_view_tensor(const char *op, nx_tensor *t, const nxg_view *v) {
  nx_context *c = t->context;
  nxi_record_lock(c);
  nxi_drain_some(c, 4);
  t->storage->refs++;
  nx_tensor *view = nxi_tensor_create(c, t->storage, v->rank, v->shape, v->strides, v->offset);
  nxi_record_unlock(c);
  return view ? view : nxi_no_memory(op);
}

void nxi_view_of(const nx_tensor *t, nxg_view *v) {
  v->rank = t->rank;
  v->offset = t->offset;
  memcpy(v->shape, nxi_shape(t), (size_t)t->rank * sizeof(int64_t));
  memcpy(v->strides, nxi_strides(t), (size_t)t->rank * sizeof(int64_t));
}

nx_tensor *nx_tensor_retain(nx_tensor *t) {
  if (t && !nxi_have_tensor("retain", 0, t)) return NULL;
  if (t) atomic_fetch_add_explicit(&t->head.refs, 1, memory_order_relaxed);
  return t;
}

void nx_tensor_release(nx_tensor *t) {
  if (t && nxi_have_tensor("release", 0, t)) nxi_head_release(t->context, &t->head);
}

void nx_tensor_describe(const nx_tensor *t, nx_tensor_info *out) {
  nx_tensor_info info = {.size = sizeof info};
  if (t && nxi_have_tensor("describe", 0, t)) {
    nxi_storage *s = t->storage;
    info = (nx_tensor_info){sizeof info, t->context, s->dtype,     s->device,
                            t->rank,     0,          t->offset,    t->elements,
                            s->elements, s->id,      nxi_shape(t), nxi_strides(t)};
    nxi_record_lock(t->context);
    if (s->value->state == NXI_REALIZED) info.flags |= NX_TENSOR_REALIZED;
    if (s->write_pins) info.flags |= NX_TENSOR_EXPOSED;
    if (s->flags & NXI_STORAGE_READ_ONLY) info.flags |= NX_TENSOR_READ_ONLY;
    if (s->flags & NXI_STORAGE_PLACEHOLDER) info.flags |= NX_TENSOR_PLACEHOLDER;
    nxi_record_unlock(t->context);
    if (t->contiguous) info.flags |= NX_TENSOR_C_CONTIGUOUS;
  }
  nxi_fill(out, &info, sizeof info, "nx_tensor_info", "describe");
}

/* What a handle never changes. */
int32_t nx_rank(const nx_tensor *t) { return t && nxi_have_tensor("rank", 0, t) ? t->rank : 0; }
const int64_t *nx_shape(const nx_tensor *t) {
  return t && nxi_have_tensor("shape", 0, t) ? nxi_shape(t) : NULL;
}
const int64_t *nx_strides(const nx_tensor *t) {
  return t && nxi_have_tensor("strides", 0, t) ? nxi_strides(t) : NULL;
}
int64_t nx_elements(const nx_tensor *t) {
  return t && nxi_have_tensor("elements", 0, t) ? t->elements : 0;
}
nx_dtype nx_dtype_of(const nx_tensor *t) {
  return t && nxi_have_tensor("dtype_of", 0, t) ? t->storage->dtype : 0;
}
nx_device nx_device_of(const nx_tensor *t) {
  return t && nxi_have_tensor("device_of", 0, t) ? t->storage->device : 0;
}
nx_context *nx_context_of(const nx_tensor *t) {
  return t && nxi_have_tensor("context_of", 0, t) ? t->context : NULL;
}

void nx_hold(nx_tensor *t, bool on) {
  if (!t || !nxi_have_tensor("hold", 0, t)) return;
  nxi_record_lock(t->context);
  nxi_storage *s = t->storage;
  if (on) {
    s->flags |= NXI_STORAGE_HOLD;
    nxi_node_mark(s->value, NXI_NODE_HOLD);
  } else {
    s->flags &= (uint8_t)~NXI_STORAGE_HOLD;
    nxi_node_unmark(s->value, NXI_NODE_HOLD);
  }
  nxi_record_unlock(t->context);
}
