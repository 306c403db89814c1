/* SPDX-License-Identifier: ISC */
/* Values and buffers: what they hold, who waits for it, and what a deleted buffer answers. */
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"

/* ---- values */

nxj_value *nxj_value_new(nxj_device *d, int type, const int64_t *shape, int32_t rank,
                         nxj_event *ready, nx_tensor *tensor) {
  nxj_value *v = nxi_malloc(sizeof *v + nxj_shape_bytes(rank));
  if (v == NULL) {
    nx_tensor_release(tensor);
    return NULL;
  }
  atomic_init(&v->refs, 1);
  v->client = nxj_client_keep(d->client);
  v->device = d;
  v->ready = nxj_event_keep(ready);
  v->tensor = tensor;
  v->imported = false;
  atomic_init(&v->held, 0);
  v->type = type;
  v->rank = rank;
  if (rank > 0) memcpy(v->shape, shape, nxj_shape_bytes(rank));
  return v;
}

nxj_value *nxj_value_keep(nxj_value *v) {
  atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
  return v;
}

void nxj_value_drop(nxj_value *v) {
  if (v == NULL || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
  nx_tensor_release(v->tensor);
  if (v->imported) nx_context_collect(v->client->context);
  nxj_event_drop(v->ready);
  nxj_client_drop(v->client);
  nxi_free(v);
}

nxj_error *nxj_value_wait(nxj_value *v, nx_tensor **tensor) {
  nxj_error *e = nxj_event_wait(v->ready);
  if (e == NULL) *tensor = v->tensor;
  return e;
}

/* ---- buffers */

nxj_buffer *nxj_buffer_new(nxj_value *v) {
  nxj_buffer *b = v != NULL ? nxi_malloc(sizeof *b + nxj_shape_bytes(v->rank)) : NULL;
  if (b == NULL) {
    nxj_value_drop(v);
    return NULL;
  }
  b->value = v;
  b->client = nxj_client_keep(v->client);
  b->device = v->device;
  b->memory = &v->device->memory[0];
  b->ready = nxj_event_keep(v->ready);
  b->mapping = NULL;
  b->external = 0;
  b->type = v->type;
  b->rank = v->rank;
  if (v->rank > 0) memcpy(b->shape, v->shape, nxj_shape_bytes(v->rank));
  return b;
}

void nxj_buffer_free(nxj_buffer *b) {
  if (b == NULL) return;
  nx_mapping_release(b->mapping);
  nxj_value_drop(b->value);
  nxj_event_drop(b->ready);
  nxj_client_drop(b->client);
  nxi_free(b);
}

nxj_value *nxj_buffer_value(nxj_buffer *b) {
  nxj_lock();
  nxj_value *v = b->value != NULL ? nxj_value_keep(b->value) : NULL;
  nxj_unlock();
  return v;
}

size_t nxj_buffers_hold(nxj_buffer *const *list, nxj_value **values, size_t n) {
  size_t i = 0;
  nxj_lock();
  for (; i < n && list[i]->value != NULL; i++) {
    values[i] = nxj_value_keep(list[i]->value);
    atomic_fetch_add_explicit(&values[i]->held, 1, memory_order_relaxed);
  }
  nxj_unlock();
  return i;
}

nxj_value *nxj_buffer_hold(nxj_buffer *b) {
  nxj_value *v = NULL;
  nxj_buffers_hold(&b, &v, 1);
  return v;
}

void nxj_value_end_hold(nxj_value *v) {
  atomic_fetch_sub_explicit(&v->held, 1, memory_order_release);
}

void nxj_value_let_go(nxj_value *v) {
  if (v == NULL) return;
  nxj_value_end_hold(v);
  nxj_value_drop(v);
}

nxj_value *nxj_buffer_take(nxj_buffer *b) {
  nxj_value *v = b->value;
  b->value = NULL;
  return v;
}

nxj_error *nxj_deleted(const char *what) {
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: %s of a buffer that has been deleted or donated",
                  what);
}

nxj_error *nxj_buffer_destroy(void *args) {
  NXJ_TAKE(buffer, buffer);
  nxj_buffer_free(a->buffer);
  return NULL;
}

nxj_error *nxj_buffer_delete(void *args) {
  NXJ_TAKE(buffer, buffer);
  nxj_lock();
  nxj_value *v = nxj_buffer_take(a->buffer);
  nx_mapping *mapping = a->buffer->external == 0 ? a->buffer->mapping : NULL;
  if (mapping != NULL) a->buffer->mapping = NULL;
  nxj_unlock();
  nx_mapping_release(mapping);
  nxj_value_drop(v);
  return NULL;
}

nxj_error *nxj_buffer_deleted(void *args) {
  NXJ_TAKE(buffer_flag, flag);
  nxj_lock();
  a->flag = a->buffer->value == NULL;
  nxj_unlock();
  return NULL;
}

/* ---- questions that a deleted buffer answers too */

nxj_error *nxj_buffer_type(void *args) {
  NXJ_TAKE(buffer_type, type);
  a->type = a->buffer->type;
  return NULL;
}

nxj_error *nxj_buffer_dims(void *args) {
  NXJ_TAKE(buffer_dims, n);
  a->dims = a->buffer->shape;
  a->n = (size_t)a->buffer->rank;
  return NULL;
}

nxj_error *nxj_buffer_dynamic(void *args) {
  NXJ_TAKE(buffer_dynamic, n);
  a->axes = NULL;
  a->n = 0;
  return NULL;
}

nxj_error *nxj_buffer_layout(void *args) {
  NXJ_TAKE(buffer_layout, layout);
  a->layout.type = NXJ_TILED;
  a->layout.tiled.minor_to_major = a->buffer->shape + a->buffer->rank;
  a->layout.tiled.n = (size_t)a->buffer->rank;
  a->layout.tiled.tiles = NULL;
  a->layout.tiled.tile_ranks = NULL;
  a->layout.tiled.n_tiles = 0;
  return NULL;
}

nxj_error *nxj_buffer_size(void *args) {
  NXJ_TAKE(buffer_size, n);
  size_t n = (size_t)nxj_elements(a->buffer->shape, (size_t)a->buffer->rank);
  a->n = (n * nx_dtype_bits(nxj_dtype_of(a->buffer->type)) + 7) / 8;
  return NULL;
}

nxj_error *nxj_buffer_device(void *args) {
  NXJ_TAKE(buffer_device, device);
  a->device = a->buffer->device;
  return NULL;
}

nxj_error *nxj_buffer_memory(void *args) {
  NXJ_TAKE(buffer_memory, memory);
  a->memory = a->buffer->memory;
  return NULL;
}

nxj_error *nxj_buffer_on_cpu(void *args) {
  NXJ_TAKE(buffer_flag, flag);
  a->flag = !a->buffer->client->gpu;
  return NULL;
}

nxj_error *nxj_buffer_event(void *args) {
  NXJ_TAKE(buffer_event, event);
  a->event = nxj_event_keep(a->buffer->ready);
  return NULL;
}

/* ---- the memory of a buffer */

/* Maps the buffer, if it is not mapped yet: its memory stays where it is from then on. */
static nxj_error *map(nxj_buffer *b, const char *what, char **at) {
  nx_tensor *t;
  nx_mapping *m = NULL;
  nxj_value *v = nxj_buffer_value(b);
  if (v == NULL) return nxj_deleted(what);
  nxj_error *e = nxj_value_wait(v, &t);
  if (e == NULL) e = nxj_of_status(nx_map(t, NX_MAP_READ, NULL, &m));
  if (e == NULL) {
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(t, &info);
    nxj_lock();
    if (b->mapping == NULL) {
      b->mapping = m;
      m = NULL;
    }
    *at = (char *)nx_mapping_base(b->mapping, NULL) +
          (size_t)info.offset * nx_dtype_bits(info.dtype) / 8;
    nxj_unlock();
    nx_mapping_release(m);
  }
  nxj_value_drop(v);
  return e;
}

nxj_error *nxj_buffer_address(void *args) {
  NXJ_TAKE(buffer_address, address);
  char *at = NULL;
  nxj_error *e = map(a->buffer, "the address", &at);
  if (e == NULL) a->address = (uintptr_t)at;
  return e;
}

nxj_error *nxj_buffer_pointer(void *args) {
  NXJ_TAKE(buffer_pointer, pointer);
  char *at = NULL;
  nxj_error *e = map(a->buffer, "the address", &at);
  if (e == NULL) a->pointer = at;
  return e;
}

nxj_error *nxj_buffer_external(void *args) {
  NXJ_TAKE(buffer, buffer);
  char *at = NULL;
  nxj_error *e = map(a->buffer, "an external reference", &at);
  if (e != NULL) return e;
  nxj_lock();
  a->buffer->external++;
  nxj_unlock();
  return NULL;
}

/* The last reference ends the mapping only of a deleted buffer: addresses that were asked for count
 * on it. */
nxj_error *nxj_buffer_internal(void *args) {
  NXJ_TAKE(buffer, buffer);
  nx_mapping *mapping = NULL;
  nxj_lock();
  bool counted = a->buffer->external > 0;
  if (counted && --a->buffer->external == 0 && a->buffer->value == NULL) {
    mapping = a->buffer->mapping;
    a->buffer->mapping = NULL;
  }
  nxj_unlock();
  nx_mapping_release(mapping);
  if (counted) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the buffer has no external reference to give up");
}
