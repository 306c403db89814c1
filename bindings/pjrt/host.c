/* SPDX-License-Identifier: ISC */
/* Buffers from memory of the host, and back. */
#include <stdint.h>
#include <string.h>

#include "calls.h"
#include "ir/alloc.h"

/* ---- what a caller asks for */

typedef struct request {
  nxj_memory *memory;
  nxj_device *device;
  nx_dtype dtype;
  int type;
  size_t rank, size; /* bytes of an element of the host */
  int64_t elements;
  int64_t shape[2 * NX_MAX_RANK]; /* of the value */
  /* axes as they lie in the buffer: extents, and strides of the host's array in bytes */
  int64_t dims[NX_MAX_RANK], strides[NX_MAX_RANK];
} request;

/* Puts the axes into the order of the layout: their extents, and strides of the host's array, axis
 * by axis; NULL: those of the buffer. */
static void set_order(request *r, const int64_t *strides) {
  int64_t own[NX_MAX_RANK];
  if (strides == NULL) nxj_strides_of(NULL, r->shape, r->rank, r->size, own);
  nxj_in_memory(r->shape, r->rank, r->shape, r->dims);
  nxj_in_memory(r->shape, r->rank, strides != NULL ? strides : own, r->strides);
}

/* The request is for C order. */
static nxj_error *check(request *r, nxj_client *c, nxj_device *device, nxj_memory *memory, int type,
                        const int64_t *dims, size_t rank) {
  r->type = type;
  r->dtype = nxj_dtype_of(type);
  r->rank = rank;
  if (r->dtype == 0)
    return nxj_fail(NXJ_UNIMPLEMENTED, "nx: there are no buffers of elements %s",
                    nxj_type_name(type));
  if (rank > NX_MAX_RANK)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: a buffer of rank %zu; the highest is %d", rank,
                    NX_MAX_RANK);
  r->size = nxj_host_size(r->dtype);
  r->elements = nxj_elements(dims, rank);
  if (r->elements < 0)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: a buffer of %s cannot have these dimensions",
                    nxj_type_name(type));
  if (rank > 0) memcpy(r->shape, dims, rank * sizeof *dims);
  nxj_set_c_order(r->shape, rank);
  set_order(r, NULL);
  nxj_error *e = nxj_memory_of(c, device, memory, &r->memory);
  if (e == NULL) r->device = r->memory->device;
  return e;
}

/* Takes the layout that is asked for, and the host's strides; NULL: C order. */
static nxj_error *check_layout(request *r, const nxj_memory_layout *layout,
                               const int64_t *strides) {
  int64_t c_order[NX_MAX_RANK];
  nxj_strides_of(NULL, r->shape, r->rank, r->size, c_order);
  if (!nxj_set_layout(r->shape, r->rank, r->size, layout))
    return nxj_fail(NXJ_UNIMPLEMENTED,
                    "nx: a layout of a buffer of rank %zu was asked for that has tiles, gaps, or "
                    "other axes",
                    r->rank);
  set_order(r, strides != NULL ? strides : c_order);
  return NULL;
}

static nxj_error *check_memory(const request *r, const void *data) {
  if (data != NULL || r->elements == 0) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the host's array is NULL");
}

/* A buffer of a value, which is taken, also on failure. */
static nxj_error *buffer_of(const request *r, nxj_value *v, nxj_buffer **out) {
  *out = nxj_buffer_new(v);
  if (*out == NULL) return nxj_no_memory();
  (*out)->memory = r->memory;
  return NULL;
}

/* A buffer of a tensor, which is taken, on the device that was asked for. */
static nxj_error *finish(const request *r, nx_tensor *t, nxj_buffer **out) {
  if (t != NULL && nx_device_of(t) != r->device->index) {
    nx_tensor *there = nx_to_device(t, r->device->index);
    nx_tensor_release(t);
    t = there;
  }
  if (t == NULL) return nxj_of_status(NX_OUT_OF_MEMORY);
  nx_status s = nx_realize(r->device->client->context, &t, 1, NULL);
  if (s != NX_OK) {
    nx_tensor_release(t);
    return nxj_of_status(s);
  }
  nxj_value *v = nxj_value_new(r->device, r->type, r->shape, (int32_t)r->rank, nxj_event_over(), t);
  return buffer_of(r, v, out);
}

/* ---- copies */

/* Packed elements in C order, as nx_from_data takes them. *own: to be freed. */
static const void *packed(const request *r, const void *data, void **own) {
  size_t bytes = (size_t)r->elements * r->size;
  *own = NULL;
  bool ordered = nxj_is_c_order(r->dims, r->strides, r->rank, r->size);
  if (ordered && !nxj_is_half(r->dtype)) return data;
  uint8_t *made = *own = nxi_malloc(bytes + 1);
  if (made == NULL) return NULL;
  nxj_gather(made, data, r->dims, r->strides, r->rank, r->size);
  if (nxj_is_half(r->dtype)) nxj_pack_halves(made, made, (size_t)r->elements);
  return made;
}

static nxj_error *copied(const request *r, const void *data, nxj_buffer **out) {
  void *own;
  const void *from = packed(r, data, &own);
  if (from == NULL && r->elements > 0) return nxj_no_memory();
  size_t bytes = ((size_t)r->elements * nx_dtype_bits(r->dtype) + 7) / 8;
  nx_tensor *t = nx_from_data(r->device->client->context, r->device->index, r->dtype, r->dims,
                              (int32_t)r->rank, from != NULL ? from : "", bytes);
  nxi_free(own);
  nx_error e = {.size = sizeof e};
  if (t == NULL) return nxj_of_status(nx_error_take(&e) ? e.status : NX_OUT_OF_MEMORY);
  return finish(r, t, out);
}

/* ---- memory of the host as it lies */

/* Smaller ones are copied, which is quicker. */
enum { LEAST_IMPORT = 1 << 14 };

typedef struct import {
  nxj_event *done; /* NULL: there is a callback */
  void (*on_delete)(void *data, void *user);
  void *data, *user;
} import;

static void release_import(void *user) {
  import *i = user;
  if (i->done != NULL) {
    nxj_event_finish(i->done, NULL);
    nxj_event_drop(i->done);
  }
  if (i->on_delete != NULL) i->on_delete(i->data, i->user);
  nxi_free(i);
}

static bool may_import(const request *r, const void *data) {
  return r->elements > 0 && !nxj_is_half(r->dtype) && r->device->index == 0 &&
         (uintptr_t)data % r->size == 0 && nxj_is_c_order(r->dims, r->strides, r->rank, r->size);
}

/* Takes the event of `given`, also on failure; on_delete is called only if it goes well. */
static nxj_error *imported(const request *r, void *data, const import *given, nxj_buffer **out) {
  import *i = nxi_malloc(sizeof *i);
  if (i == NULL) {
    nxj_event_drop(given->done);
    return nxj_no_memory();
  }
  *i = *given;
  i->on_delete = NULL;
  nx_tensor *t = NULL;
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = NX_IMPORT_IMMUTABLE,
                         .dtype = r->dtype,
                         .rank = (int32_t)r->rank,
                         .shape = r->dims,
                         .base = data,
                         .bytes = (size_t)r->elements * r->size,
                         .release = release_import,
                         .user = i};
  nx_status s = nx_import(r->device->client->context, &desc, &t);
  if (s != NX_OK) {
    nxj_event_drop(i->done);
    nxi_free(i);
    return nxj_of_status(s);
  }
  nxj_error *e = finish(r, t, out); /* from here on the tensor's end is the import's */
  if (e != NULL) return e;
  (*out)->value->imported = true;
  i->on_delete = given->on_delete;
  return NULL;
}

/* The event is the caller's and the import's. */
static nxj_error *from_host_as_is(const request *r, struct nxj_from_host_args *a) {
  nxj_event *done = nxj_event_new();
  if (done == NULL) return nxj_no_memory();
import given = {.done = nxj_event_keep(done) };
  nxj_error *e = imported(r, (void *)(uintptr_t)a->data, &given, &a->buffer);
  if (e == NULL) a->done = done;
  else nxj_event_drop(done);
  return e;
}

nxj_error *nxj_from_host(void *args) {
  NXJ_TAKE(from_host, buffer);
  request r;
  nxj_error *e = check(&r, a->client, a->device, a->memory, a->type, a->dims, a->rank);
  if (e != NULL) return e;
  if (a->n_strides != 0 && a->n_strides != a->rank)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: %zu strides of an array of rank %zu", a->n_strides,
                    a->rank);
  e = check_memory(&r, a->data);
  if (e == NULL) e = check_layout(&r, a->layout, a->n_strides != 0 ? a->strides : NULL);
  if (e != NULL) return e;
  if (a->semantics >= NXJ_ZERO_COPY && r.elements * (int64_t)r.size >= LEAST_IMPORT &&
      may_import(&r, a->data))
    return from_host_as_is(&r, a);
  e = copied(&r, a->data, &a->buffer);
  if (e == NULL) a->done = nxj_event_over();
  return e;
}

/* Memory without gaps becomes a buffer of that layout. */
static nxj_error *take_order(request *r, const nxj_memory_layout *layout) {
  int64_t strides[NX_MAX_RANK];
  if (nxj_set_layout(r->shape, r->rank, r->size, layout)) return set_order(r, NULL), NULL;
  if (layout->type != NXJ_STRIDED || !nxj_strides_of(layout, r->shape, r->rank, r->size, strides))
    return nxj_fail(NXJ_UNIMPLEMENTED,
                    "nx: memory with tiles, or of another rank than %zu, cannot "
                    "be taken over",
                    r->rank);
  return set_order(r, strides), NULL;
}

/* DLPack comes this way. */
nxj_error *nxj_view_of_memory(void *args) {
  NXJ_TAKE(view_of_memory, buffer);
  request r;
  nxj_memory *memory = NXJ_HAS(a, memory) ? a->memory : NULL;
  nxj_error *e = check(&r, a->client, a->device, memory, a->type, a->dims, a->rank);
  if (e == NULL) e = check_memory(&r, a->data);
  if (e == NULL) e = take_order(&r, a->layout);
  if (e != NULL) return e;
import given = {.on_delete = a->on_delete, .data = a->data, .user = a->user };
  if (may_import(&r, a->data)) return imported(&r, a->data, &given, &a->buffer);
  e = copied(&r, a->data, &a->buffer);
  if (e == NULL && a->on_delete != NULL) a->on_delete(a->data, a->user);
  return e;
}

nxj_error *nxj_uninitialized(void *args) {
  NXJ_TAKE(uninitialized, buffer);
  request r;
  nxj_error *e = check(&r, a->client, a->device, a->memory, a->type, a->dims, a->rank);
  if (e == NULL) e = check_layout(&r, a->layout, NULL);
  if (e != NULL) return e;
  nx_tensor *t = nx_full(r.device->client->context, r.device->index, r.dtype, r.dims,
                         (int32_t)r.rank, NX_INTEGER(0));
  return finish(&r, t, &a->buffer);
}

nxj_error *nxj_error_buffer(void *args) {
  NXJ_TAKE(error_buffer, buffer);
  request r;
  nxj_error *e = check(&r, a->client, NULL, a->memory, a->type, a->dims, a->rank);
  if (e == NULL) e = check_layout(&r, a->layout, NULL);
  if (e != NULL) return e;
  nxj_event *failed = nxj_event_new();
  if (failed == NULL) return nxj_no_memory();
  nxj_event_finish(failed, nxj_fail_text(a->code, a->text, a->n));
  nxj_value *v = nxj_value_new(r.device, r.type, r.shape, (int32_t)r.rank, failed, NULL);
  nxj_event_drop(failed);
  return buffer_of(&r, v, &a->buffer);
}

/* ---- to the host */

typedef struct reading {
  nxj_value *value;
  nxj_event *done;
  void *data;
  size_t offset, n; /* of raw bytes */
  bool raw;
  int64_t dims[NX_MAX_RANK], strides[NX_MAX_RANK]; /* as of a request */
} reading;

/* Through packed elements, if the host wants others. */
static nxj_error *read_otherwise(const reading *r, nx_tensor *t) {
  const nxj_value *v = r->value;
  nx_dtype dtype = nxj_dtype_of(v->type);
  size_t size = nxj_host_size(dtype), n = (size_t)nxj_elements(v->shape, (size_t)v->rank);
  bool half = nxj_is_half(dtype);
  size_t bytes = half ? (n + 1) / 2 : n * size;
  uint8_t *packed = nxi_malloc(bytes + n + 1), *wide = half ? packed + bytes : packed;
  if (packed == NULL) return nxj_no_memory();
  nx_status s = nx_read(t, packed, bytes, NULL);
  if (s == NX_OK && half) nxj_unpack_halves(wide, packed, n, dtype == NX_I4);
  if (s == NX_OK) nxj_scatter(r->data, wide, r->dims, r->strides, (size_t)v->rank, size);
  nxi_free(packed);
  return nxj_of_status(s);
}

static nxj_error *read_raw(const reading *r, nx_tensor *t) {
  nx_mapping *m = NULL;
  nx_tensor_info info = {.size = sizeof info};
  nx_status s = nx_map(t, NX_MAP_READ, NULL, &m);
  if (s != NX_OK) return nxj_of_status(s);
  nx_tensor_describe(t, &info);
  const char *from = nx_mapping_base(m, NULL);
  if (r->n > 0)
    memcpy(r->data, from + (size_t)info.offset * nx_dtype_bits(info.dtype) / 8 + r->offset, r->n);
  nx_mapping_release(m);
  return NULL;
}

static nxj_error *read_now(const reading *r) {
  nx_tensor *t;
  const nxj_value *v = r->value;
  nxj_error *e = nxj_value_wait(r->value, &t);
  if (e != NULL) return e;
  if (r->raw) return read_raw(r, t);
  nx_dtype dtype = nxj_dtype_of(v->type);
  size_t size = nxj_host_size(dtype);
  if (nxj_is_half(dtype) || !nxj_is_c_order(r->dims, r->strides, (size_t)v->rank, size))
    return read_otherwise(r, t);
  size_t bytes = (size_t)nxj_elements(v->shape, (size_t)v->rank) * size;
  return nxj_of_status(nx_read(t, r->data, bytes, NULL));
}

static void read_later(nxj_error *error, void *user) {
  reading *r = user;
  if (error == NULL) error = read_now(r);
  nxj_event_finish(r->done, error);
  nxj_event_drop(r->done);
  nxj_value_let_go(r->value);
  nxi_free(r);
}

/* Reads here and now if the value is there, else when it is; takes its reference. */
static nxj_error *read_value(const reading *given, nxj_event **event) {
  nxj_error *e = NULL;
  reading *r = NULL;
  if (nxj_event_is_ready(given->value->ready)) {
    e = read_now(given);
    if (e == NULL) *event = nxj_event_over();
    nxj_value_let_go(given->value);
    return e;
  }
  r = nxi_malloc(sizeof *r);
  nxj_event *done = nxj_event_new();
  if (r == NULL || done == NULL) {
    nxi_free(r);
    nxj_event_drop(done);
    nxj_value_let_go(given->value);
    return nxj_no_memory();
  }
  *r = *given;
  r->done = done;
  *event = nxj_event_keep(done);
  struct nxj_event_on_ready_args then = {sizeof then, NULL, r->value->ready, read_later, r};
  e = nxj_event_then(&then);
  if (e == NULL) return NULL;
  nxj_event_drop(done);
  nxj_event_drop(done);
  nxj_value_let_go(r->value);
  nxi_free(r);
  return e;
}

static nxj_error *check_room(const struct nxj_to_host_args *a, size_t n) {
  if (a->n >= n) return NULL;
  return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: the buffer has %zu bytes, and there is room for %zu",
                  n, a->n);
}

/* Whether all elements that the host wants lie in the room that it has. */
static bool fits(const reading *r, size_t rank, size_t size, size_t room) {
  int64_t last = 0, step;
  if (nxj_elements(r->dims, rank) == 0) return true;
  for (size_t i = 0; i < rank; i++)
    if (r->dims[i] > 1 &&
        (r->strides[i] < 0 || __builtin_mul_overflow(r->dims[i] - 1, r->strides[i], &step) ||
         __builtin_add_overflow(last, step, &last)))
      return false;
  return size <= room && (uint64_t)last <= room - size;
}

nxj_error *nxj_to_host(void *args) {
  NXJ_TAKE(to_host, event);
  nxj_buffer *b = a->buffer;
  size_t size = nxj_host_size(nxj_dtype_of(b->type));
  size_t rank = (size_t)b->rank, n = (size_t)nxj_elements(b->shape, rank) * size;
  int64_t strides[NX_MAX_RANK];
  reading r = {.data = a->data};
  if (a->data == NULL) {
    a->n = n;
    a->event = NULL;
    return NULL;
  }
  nxj_error *e = check_room(a, n);
  if (e != NULL) return e;
  if (!nxj_strides_of(a->layout, b->shape, rank, size, strides))
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: a layout that does not fit an array of rank %d",
                    b->rank);
  nxj_in_memory(b->shape, rank, b->shape, r.dims);
  nxj_in_memory(b->shape, rank, strides, r.strides);
  if (!fits(&r, rank, size, a->n))
    return nxj_fail(NXJ_INVALID_ARGUMENT,
                    "nx: a layout whose elements lie outside of the %zu bytes that there are",
                    a->n);
  r.value = nxj_buffer_hold(b);
  return r.value == NULL ? nxj_deleted("a copy") : read_value(&r, &a->event);
}

nxj_error *nxj_raw_to_host(void *args) {
  NXJ_TAKE(raw_to_host, event);
  struct nxj_buffer_size_args size = {sizeof size, NULL, a->buffer, 0};
  nxj_buffer_size(&size);
  if (a->offset < 0 || a->n < 0 || (size_t)a->offset > size.n ||
      (size_t)a->n > size.n - (size_t)a->offset)
    return nxj_fail(NXJ_INVALID_ARGUMENT, "nx: bytes %lld and %lld more of a buffer of %zu bytes",
                    (long long)a->offset, (long long)a->n, size.n);
  reading r = {.data = a->data, .offset = (size_t)a->offset, .n = (size_t)a->n, .raw = true};
  r.value = nxj_buffer_hold(a->buffer);
  return r.value == NULL ? nxj_deleted("a copy") : read_value(&r, &a->event);
}
