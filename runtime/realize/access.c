/* SPDX-License-Identifier: ISC */
/* Reading and writing elements: item, read, write. */
#include <string.h>

#include "ir/platform/thread.h"
#include "residency.h"
#include "run.h"
#include "runtime/record/assign.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"
#include "runtime/record/record.h"

/* The same where nothing has to be waited for. No lock. */
static bool borrow_now(const nxi_action *a, nxi_storage *s, nxi_node **node, nxi_buffer **buffer) {
  nx_context *c = a->context;
  if (!nxi_brief_suits(a) || !nxi_brief_lock(c, s, true, !a->filled.poll)) return false;
  nxi_node *value = s->value;
  nxi_buffer *b = value->buffer;
  bool there = !b->writing && !b->device;
  if (there) {
    value->refs++;
    nxi_buffer_ref(b);
    b->reading++;
    *node = value;
    *buffer = b;
  }
  nxi_brief_unlock(c, NXI_BRIEF_BOTH);
  return there;
}

/* bring: its contents, to memory of the host. */
static nx_status borrow(nxi_action *a, nxi_storage *s, bool bring, nxi_node **node,
                        nxi_buffer **buffer) {
  nx_context *c = a->context;
  if (borrow_now(a, s, node, buffer)) return NX_OK;
  for (;;) {
    nx_status status = nxi_realize_storage(a, s, node);
    if (status) return status;
    nxi_run_lock(c);
    nxi_buffer *b = (*node)->buffer;
    bool there = (*node)->state == NXI_REALIZED && !b->writing;
    if (there) {
      nxi_buffer_ref(b);
      b->reading++;
      *buffer = b;
    } else {
      status = nxi_wait_change(c, a->options, &a->diag);
    }
    nxi_run_unlock(c);
    if (there) {
      nxi_poll poll = {NULL, NULL};
      if (a->options) poll = (nxi_poll){a->options->poll, a->options->user};
      if (bring) status = nxi_buffer_to_host(c, b, &poll, &a->diag);
      if (status) nxi_give_back(c, *node, b);
      return status;
    }
    nxi_record_lock(c);
    nxi_node_unref(c, *node);
    nxi_record_unlock(c);
    if (status) return status;
  }
}

nx_status nxi_borrow(nxi_action *a, nxi_storage *s, nxi_node **node, nxi_buffer **buffer) {
  return borrow(a, s, true, node, buffer);
}

void nxi_give_back(nx_context *c, nxi_node *node, nxi_buffer *buffer) {
  nxi_run_lock(c);
  nxi_record_lock(c);
  buffer->reading--;
  nxi_buffer_unref(c, buffer);
  nxi_node_unref(c, node);
  nxi_record_unlock(c);
  nxi_condition_wake_all(&c->changed);
  nxi_run_unlock(c);
}

/* ---- elements of a view, packed */

typedef struct pair {
  uint64_t word[2];
} pair;

static void copy_row(char *to, const char *from, int64_t n, int64_t stride, int64_t size) {
  if (stride == size) {
    memcpy(to, from, (size_t)(n * size));
    return;
  }
#define ROW(type)                 \
  for (int64_t i = 0; i < n; i++) \
  memcpy(to + i * (int64_t)sizeof(type), from + i * stride, sizeof(type))
  switch (size) {
    case 1: ROW(uint8_t); break;
    case 2: ROW(uint16_t); break;
    case 4: ROW(uint32_t); break;
    case 16: ROW(pair); break;
    default: ROW(uint64_t);
  }
#undef ROW
}

/* Copies n i4 or u4 elements from number `first` on, packed; `to` starts at a whole byte. */
static void copy_nibble_run(uint8_t *to, const uint8_t *base, int64_t first, int64_t n) {
  const uint8_t *from = base + first / 2;
  if (first % 2 == 0) memcpy(to, from, (size_t)(n / 2));
  else
    for (int64_t i = 0; i < n / 2; i++) to[i] = (uint8_t)(from[i] >> 4 | from[i + 1] << 4);
  if (n % 2) to[n / 2] = from[n / 2] >> (first % 2 ? 4 : 0) & 15;
}

static void copy_nibbles(uint8_t *to, const uint8_t *base, nx_dtype dtype, const nxg_view *v) {
  int64_t index[NXG_MAX_RANK] = {0}, elements = nxg_elements(v->rank, v->shape), at = v->offset;
  if (v->rank == 0 || nxg_view_is_contiguous(v)) {
    copy_nibble_run(to, base, at, elements);
    return;
  }
  if (elements % 2) to[elements / 2] = 0;
  for (int64_t i = 0; i < elements; i++) {
    nxi_store_at(to, dtype, i, nxi_load_at(base, dtype, at));
    for (int32_t k = v->rank; k-- > 0;) {
      at += v->strides[k];
      if (++index[k] < v->shape[k]) break;
      at -= v->shape[k] * v->strides[k];
      index[k] = 0;
    }
  }
}

void nxi_copy_packed(void *to, const void *base, nx_dtype dtype, const nxg_view *v) {
  if (nxi_is_nibble(dtype)) {
    if (nxg_elements(v->rank, v->shape)) copy_nibbles(to, base, dtype, v);
    return;
  }
  int64_t size = nxi_dtype_size(dtype), index[NXG_MAX_RANK] = {0}, steps[NXG_MAX_RANK] = {0};
  int64_t elements = nxg_elements(v->rank, v->shape);
  if (elements == 0) return;
  const char *from = (const char *)base + v->offset * size;
  char *out = to;
  bool whole = v->rank == 0 || nxg_view_is_contiguous(v);
  int32_t outer = whole ? 0 : v->rank - 1;
  for (int32_t i = 0; i < v->rank; i++) /* the stride of an axis of extent 1 may be any number */
    steps[i] = v->shape[i] > 1 ? v->strides[i] * size : size;
  int64_t row = whole ? elements : v->shape[outer], step = whole ? size : steps[outer];
  for (bool more = true; more;) {
    copy_row(out, from, row, step, size);
    out += row * size;
    more = false;
    for (int32_t i = outer; i-- > 0;) {
      if (++index[i] < v->shape[i]) {
        from += steps[i];
        more = true;
        break;
      }
      from -= (v->shape[i] - 1) * steps[i];
      index[i] = 0;
    }
  }
  if (dtype == NX_BOOL)
    for (uint8_t *b = to, *end = b + elements; b < end; b++) *b = *b != 0;
}

/* ---- item */

static nx_status element_offset(const nx_tensor *t, const int64_t *index, size_t n, int64_t *offset,
                                nxi_diag *d) {
  *offset = t->offset;
  if (!nxi_check_list("item", "index", index, n, t, d)) return d->status;
  for (int32_t i = 0; i < t->rank; i++) {
    int64_t extent = nxi_shape(t)[i], at = index[i] < 0 ? index[i] + extent : index[i];
    if (at < 0 || at >= extent) {
      d->index = index[i];
      return nxi_fail(d, NX_INDEX_OUT_OF_RANGE, "item",
                      "item: index %lld is out of range for axis %d of extent %lld",
                      (long long)index[i], i, (long long)extent);
    }
    *offset += at * nxi_strides(t)[i];
  }
  return NX_OK;
}

/* Floats that are usual are converted by integer instructions: entering the floating-point
 * environment for others takes as long as all the rest of nx_item. */
static double to_f64(uint64_t bits, nx_dtype t) {
  const uint64_t exponent = t == NX_F32 ? bits >> 23 & 0xff : bits >> 52 & 0x7ff;
  if (t == NX_F64 && exponent != 0x7ff) return nxi_f64_bits(bits);
  if (t == NX_F32 && exponent != 0xff && (exponent || !(bits & 0x7fffff))) {
    const uint64_t magnitude = bits & 0x7fffffff, rebias = (uint64_t)(1023 - 127) << 52;
    return nxi_f64_bits((bits >> 31 & 1) << 63 | (magnitude ? (magnitude << 29) + rebias : 0));
  }
  const nxi_fp environment = nxi_fp_enter();
  const double value = nxi_f64_bits(nxi_cast_bits(bits, t, NX_F64));
  nxi_fp_leave(environment);
  return value;
}

/* Converts the element at this offset. */
static void to_scalar(nx_dtype t, const nxi_buffer *b, int64_t offset, nx_scalar *out) {
  nx_dtype part = nxi_part_dtype(t);
  uint64_t bits = nxi_load_at(b->data, part, offset * nxi_parts(t));
  memset(out, 0, sizeof *out);
  if (nxi_is_float(part) || nxi_is_stored(part)) {
    out->kind = part == t ? NX_SCALAR_F64 : NX_SCALAR_C128;
    out->v.f[0] = to_f64(bits, part);
    if (part != t) out->v.f[1] = to_f64(nxi_load_at(b->data, part, 2 * offset + 1), part);
  } else {
    out->kind = t == NX_U64 ? NX_SCALAR_U64 : NX_SCALAR_I64;
    out->v.u = t == NX_U64 ? bits : nxi_cast_bits(bits, t, NX_I64);
  }
}

/* The same of the value of s, if that is realised or is quickly. No lock. */
static bool item_now(nx_context *c, const nxi_storage *s, int64_t offset, bool may_wait,
                     nx_scalar *out) {
  nxi_brief locked = nxi_brief_lock(c, s, false, may_wait);
  if (!locked) return false;
  const nxi_buffer *b = s->value->buffer;
  bool there = !b->device;
  if (there) to_scalar(s->dtype, b, offset, out);
  nxi_brief_unlock(c, locked);
  return there;
}

nx_status nx_item(nx_tensor *t, const int64_t *index, size_t n, nx_scalar *out,
                  const nx_run_options *o) {
  if (!nxi_have_tensor("item", 0, t)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("item", 1), NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  int64_t offset;
  if (element_offset(t, index, n, &offset, &d)) return nxi_error_report(&d);
  nx_context *c = t->context;
  nxi_storage *s = t->storage;
  bool only = nxi_brief_only(o), first = (!o || only) && !nxi_callbacks_wait(c);
  if (first && item_now(c, s, offset, !o, out)) return NX_OK;
  if (only) return nxi_brief_refused("item");
  nxi_action a;
  nxi_action_begin(&a, c, o);
  a.tried = first;
  nxi_node *node;
  nxi_buffer *b;
  nx_status status = nxi_action_asked(&a, &t, 1);
  bool done = !status && nxi_brief_suits(&a) && item_now(c, s, offset, !a.filled.poll, out);
  a.tried = true;
  if (!status && !done) {
    status = nxi_borrow(&a, s, &node, &b);
    if (!status) {
      to_scalar(s->dtype, b, offset, out);
      nxi_give_back(c, node, b);
    }
  }
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "item"));
}

/* ---- read, write */

static nx_status check_bytes(const char *op, const nx_tensor *t, const void *p, size_t bytes,
                             nxi_diag *d) {
  int64_t wanted = nxi_dtype_bytes(t->storage->dtype, t->elements);
  if ((int64_t)bytes != wanted)
    return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: %zu bytes were given, the tensor has %lld", op,
                    bytes, (long long)wanted);
  if (!p && wanted) return nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: the pointer is null", op);
  return NX_OK;
}

/* From so many bytes on, what is on a device alone is copied from there to where it is wanted. A
 * smaller value comes to memory of its own first, where it is if it is read again. */
enum { DIRECT = 256 << 10 };

static nx_status copy_value(nxi_action *a, const nx_tensor *t, nxi_buffer *b, void *dst,
                            int64_t bytes) {
  const nx_dtype dtype = t->storage->dtype;
  nxi_poll poll = {NULL, NULL};
  nxg_view v;
  bool done = false;
  nxi_view_of(t, &v);
  if (a->options) poll = (nxi_poll){a->options->poll, a->options->user};
  const bool packed = dtype != NX_BOOL && !nxi_is_nibble(dtype) && nxg_view_is_contiguous(&v);
  nx_status status = NX_OK;
  if (packed && bytes >= DIRECT)
    status =
        nxi_buffer_read(b, dst, v.offset * nxi_dtype_size(dtype), bytes, &poll, &done, &a->diag);
  if (!status && !done) status = nxi_buffer_to_host(a->context, b, &poll, &a->diag);
  return status || done ? status : nxi_action_copy(a, dst, b->data, dtype, &v);
}

enum { FEW_BYTES = 4096 };

/* Few elements, if the value of t is realised or is quickly. No lock. */
static bool read_now(nx_context *c, const nx_tensor *t, void *dst, size_t bytes, bool may_wait) {
  if (bytes > FEW_BYTES || !nxi_brief_lock(c, t->storage, true, may_wait)) return false;
  const nxi_buffer *b = t->storage->value->buffer;
  const bool there = !b->writing && !b->device;
  if (there) {
    nxg_view v;
    nxi_view_of(t, &v);
    nxi_copy_packed(dst, b->data, t->storage->dtype, &v);
  }
  nxi_brief_unlock(c, NXI_BRIEF_BOTH);
  return there;
}

nx_status nx_read(nx_tensor *t, void *dst, size_t bytes, const nx_run_options *o) {
  if (!nxi_have_tensor("read", 0, t)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (check_bytes("read", t, dst, bytes, &d)) return nxi_error_report(&d);
  nx_context *c = t->context;
  const bool only = nxi_brief_only(o), first = (!o || only) && !nxi_callbacks_wait(c);
  if (first && read_now(c, t, dst, bytes, !o)) return NX_OK;
  if (only) return nxi_brief_refused("read");
  nxi_action a;
  nxi_action_begin(&a, c, o);
  a.tried = first && bytes <= FEW_BYTES;
  nxi_node *node;
  nxi_buffer *b;
  nx_status status = nxi_action_asked(&a, &t, 1);
  if (!status) status = borrow(&a, t->storage, false, &node, &b);
  if (!status) {
    status = copy_value(&a, t, b, dst, (int64_t)bytes);
    nxi_give_back(c, node, b);
  }
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "read"));
}

/* A tensor whose memory holds a copy of the bytes. */
static nx_tensor *tensor_of_bytes(nxi_action *a, nx_tensor *like, const void *src) {
  nx_context *c = like->context;
  nxi_storage *s = like->storage;
  nxi_buffer *b;
  int64_t bytes = nxi_dtype_bytes(s->dtype, like->elements);
  if (nxi_buffer_create(c, bytes, &b, &a->diag)) return NULL;
  nx_status status = nxi_action_bytes(a, b->data, src, bytes, s->dtype);
  nxi_node *n = NULL;
  nxi_record_lock(c);
  if (status) nxi_buffer_unref(c, b);
  else n = nxi_leaf_create(c, NXI_OP_LEAF, s->device, s->dtype, like->rank, nxi_shape(like), b);
  nx_tensor *t = n ? nxi_tensor_of_node(c, n) : NULL;
  nxi_record_unlock(c);
  if (!t && !status) nxi_oom(&a->diag);
  return t;
}

nx_status nx_write(nx_tensor *t, const void *src, size_t bytes, const nx_run_options *o) {
  if (!nxi_have_tensor("write", 0, t)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (t->storage->flags & NXI_STORAGE_READ_ONLY)
    nxi_fail(&d, NX_NOT_WRITABLE, "write", "write: the storage is an immutable import");
  if (d.status || check_bytes("write", t, src, bytes, &d)) return nxi_error_report(&d);
  nxi_action a;
  nxi_action_begin(&a, t->context, o);
  nx_status asked = nxi_action_asked(&a, NULL, 0);
  nx_tensor *source = asked ? NULL : tensor_of_bytes(&a, t, src);
  if (!source)
    return nxi_action_end(&a, nxi_oom_in(&a.diag, asked ? asked : a.diag.status, "write"));
  nxi_assigned assigned;
  uint16_t outer = nxi_called_begin(NXI_COMPOSITE_write);
  nx_status status = nxi_assign(t, source, &assigned);
  nxi_called_end(outer);
  nx_tensor_release(source);
  if (!status) {
    status = nxi_realize_storage(&a, t->storage, NULL);
    if (status && nxi_assigns_back(t->context, &assigned, 1)) status = NX_OK;
  }
  nxi_assigns_done(t->context, &assigned, 1);
  nxi_record_lock(t->context);
  nxi_deferred_settle(t->context); /* values that it has replaced need not be computed any more */
  nxi_record_unlock(t->context);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "write"));
}
