/* SPDX-License-Identifier: ISC */
/* DLPack: tensors of others become imports (import.c), and our tensors are exported as mappings
 * (mapping.c). A foreign structure is not trusted: every number in it is checked before an address
 * is computed from it. */
#include <stdio.h>
#include <string.h>

#include "dlpack_abi.h"
#include "ir/platform/lock.h"
#include "runtime/realize/residency.h"
#include "runtime/realize/run.h"
#include "runtime/record/context.h"
#include "runtime/record/error.h"
#include "runtime/record/import.h"
#include "runtime/record/objects.h"

static const uint8_t codes[NXI_DTYPE_COUNT] = {
#define CODE(dtype, code, bits) [dtype] = (code),
    NXI_DLPACK_DTYPES(CODE)
#undef CODE
};

/* Reports what a device has failed at, in the name of the operation. */
static nx_status failed_in(nxi_diag *d, const char *op) {
  char sentence[sizeof d->message];
  nxi_oom_in(d, d->status, op);
  if (d->op[0]) return nxi_error_report(d);
  snprintf(d->op, sizeof d->op, "%s", op);
  snprintf(sentence, sizeof sentence, "%s: %.400s", op, d->message);
  memcpy(d->message, sentence, sizeof sentence);
  return nxi_error_report(d);
}

/* ---- importing */

static const char taking[] = "from_dlpack";

static nx_status take_dtype(nxi_dlpack_dtype x, nx_dtype *dtype, nxi_diag *d) {
  const nx_dtype t = nxi_dtype_of_dlpack(x);
  if (t != 0) *dtype = t;
  if (t != 0) return NX_OK;
  return nxi_fail(d, NX_UNSUPPORTED_DTYPE, taking,
                  "%s: the element type of code %d, %d bits and %d lanes is not admitted", taking,
                  x.code, x.bits, x.lanes);
}

/* Reads the view, relative to the element with all indices 0. Strides of axes with one element or
 * none become those of C order. */
static nx_status take_view(const nxi_dlpack_tensor *x, nx_dtype dtype, nxg_view *v, nxi_diag *d) {
  if (x->rank > 0 && !x->shape)
    return nxi_fail(d, NX_INVALID_ARGUMENT, taking, "%s: the shape is null", taking);
  int64_t elements;
  if (nxg_shape_check(NX_INVALID_ARGUMENT, taking, x->rank, x->shape, nxi_dtypes[dtype].bits,
                      &elements, d))
    return d->status;
  nxg_view_contiguous(v, x->rank, x->shape);
  for (int32_t i = 0; x->strides && elements && i < x->rank; i++)
    if (v->shape[i] > 1) v->strides[i] = x->strides[i];
  return NX_OK;
}

/* The lowest and the highest element, from the one with all indices 0. False if they, or the
 * distance down to the lowest, do not fit in 63 bits. */
static bool reach(const nxg_view *v, int64_t *low, int64_t *high) {
  *low = *high = 0;
  for (int32_t i = 0; i < v->rank; i++) {
    int64_t way, *end = v->strides[i] < 0 ? low : high;
    if (__builtin_mul_overflow(v->shape[i] - 1, v->strides[i], &way)) return false;
    if (__builtin_add_overflow(*end, way, end)) return false;
  }
  return *low > INT64_MIN;
}

/* The number of bytes that hold n >= 0 elements; for types below 8 bits the last byte may be
 * incomplete. False if it does not fit in 63 bits. */
static bool bytes_of(int64_t bits, int64_t n, int64_t *bytes) {
  if (bits >= 8) return n >= 0 && !__builtin_mul_overflow(n, bits / 8, bytes);
  int64_t each = 8 / bits;
  *bytes = n / each + (n % each != 0);
  return n >= 0;
}

/* Describes the storage: the bytes from the lowest to the highest element, which must not wrap
 * around the address space. */
static nx_status take_memory(const nxi_dlpack_tensor *x, nxi_import_source *source, nxi_diag *d) {
  nx_import_desc *i = &source->desc;
  nxg_view *v = &source->view;
  if (nxg_elements(v->rank, v->shape) == 0) return NX_OK; /* no elements: the pointer is ignored */
  if (!x->data) return nxi_fail(d, NX_INVALID_ARGUMENT, taking, "%s: the data is null", taking);
  int64_t bits = nxi_dtypes[i->dtype].bits, size = bits / 8, low, high, before, after, span;
  uintptr_t first;
  bool good = reach(v, &low, &high) && !__builtin_sub_overflow(high, low, &span) &&
              span < INT64_MAX - 1 && bytes_of(bits, -low, &before) &&
              !__builtin_add_overflow(high, 1, &after) && bytes_of(bits, after, &after) &&
              after <= INT64_MAX - before &&
              !__builtin_add_overflow((uintptr_t)x->data, x->byte_offset, &first) &&
              first >= (uintptr_t)before && first <= UINTPTR_MAX - (uintptr_t)after;
  if (!good)
    return nxi_fail(d, NX_INVALID_ARGUMENT, taking,
                    "%s: shape, strides and byte offset reach beyond what memory can hold", taking);
  if (i->mode != NX_IMPORT_COPY && first % nxi_dtype_alignment(i->dtype))
    return nxi_fail(d, NX_INVALID_ARGUMENT, taking,
                    "%s: the data is not aligned to its elements of %lld bytes; it can be copied",
                    taking, (long long)size);
  i->base = (char *)x->data + x->byte_offset - before;
  i->bytes = (size_t)(before + after);
  v->offset = size ? -low : before * (8 / bits);
  source->elements = v->offset + high + 1;
  return NX_OK;
}

/* Memory of a device is copied, on it, at once. */
static nx_status take_from_device(nx_context *c, nxi_import_source *source, nx_tensor **out,
                                  nxi_diag *d) {
  const nx_import_desc *i = &source->desc;
  nxi_device *v = NULL;
  nxi_buffer *b = NULL;
  int64_t bytes = (int64_t)i->bytes;
  nx_status status = nxi_device_open(c, source->device, &v, d);
  if (!status) status = nxi_buffer_create_on(c, v, bytes > 0 ? bytes : 1, &b, d);
  if (status) return failed_in(d, taking);
  if (bytes > 0)
    status = v->kind->sharing->take(v, b->on_device, (uint64_t)(uintptr_t)i->base, bytes, d);
  if (status) {
    nxi_record_lock(c);
    nxi_buffer_unref(c, b);
    nxi_record_unlock(c);
    return failed_in(d, taking);
  }
  status = nxi_import_buffer(c, source, b, out);
  if (!status) i->release(i->user);
  return status;
}

static nx_status take(nx_context *c, const nxi_dlpack_tensor *x, uint64_t flags,
                      nxi_import_source *source, nx_tensor **out) {
  nx_import_desc *i = &source->desc;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (i->mode > NX_IMPORT_MAPPED)
    nxi_fail(&d, NX_INVALID_ARGUMENT, taking, "%s: there is no mode %u", taking, i->mode);
  else if (!nxi_dlpack_is_host(x->device.type)) {
    source->device = nxi_device_of_dlpack(c, x->device.type, x->device.id);
    if (source->device < 0)
      nxi_fail(&d, NX_DEVICE_UNAVAILABLE, taking,
               "%s: the tensor is on device %d of type %d; memory of the host is type 1", taking,
               x->device.id, x->device.type);
    else if (i->mode != NX_IMPORT_COPY)
      nxi_fail(&d, NX_NEEDS_COPY, taking,
               "%s: the tensor is in memory of a device; import it as a copy", taking);
  } else if (flags & NXI_DLPACK_READ_ONLY &&
             (i->mode == NX_IMPORT_SHARED || i->mode == NX_IMPORT_MAPPED))
    nxi_fail(&d, NX_NOT_WRITABLE, taking,
             "%s: the tensor is read only; import it as a copy or as immutable", taking);
  if (!d.status && !take_dtype(x->dtype, &i->dtype, &d) && flags & NXI_DLPACK_SUBBYTE_PADDED &&
      nxi_dtypes[i->dtype].bits < 8)
    nxi_fail(&d, NX_UNSUPPORTED_DTYPE, taking,
             "%s: elements of %d bits that take a byte each are not read; packed ones are", taking,
             nxi_dtypes[i->dtype].bits);
  if (d.status || take_view(x, i->dtype, &source->view, &d) || take_memory(x, source, &d))
    return nxi_error_report(&d);
  return source->device > 0 ? take_from_device(c, source, out, &d) : nxi_import(c, source, out);
}

static void release_versioned(void *user) {
  struct DLManagedTensorVersioned *m = user;
  if (m->deleter) m->deleter(m);
}

static void release_v0(void *user) {
  struct DLManagedTensor *m = user;
  if (m->deleter) m->deleter(m);
}

nx_status nx_from_dlpack(nx_context *c, struct DLManagedTensorVersioned *m, uint32_t mode,
                         nx_tensor **out) {
  if (!c || !m || !out) return nxi_error_null(taking, !c ? 0 : !m ? 1 : 3), NX_INVALID_ARGUMENT;
  if (!nxi_have_context(taking, 0, c)) return NX_INVALID_ARGUMENT;
  const uint64_t known = NXI_DLPACK_READ_ONLY | NXI_DLPACK_IS_COPIED | NXI_DLPACK_SUBBYTE_PADDED;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (m->major != NXI_DLPACK_MAJOR) /* only the place of the deleter is known then */
    nxi_fail(&d, NX_INVALID_ARGUMENT, taking, "%s: version %u.%u of the structure is not %d.x",
             taking, m->major, m->minor, NXI_DLPACK_MAJOR);
  else if (m->flags & ~known)
    nxi_fail(&d, NX_INVALID_ARGUMENT, taking, "%s: the flags 0x%llx are not known", taking,
             (unsigned long long)(m->flags & ~known));
  if (d.status) return nxi_error_report(&d);
  nxi_import_source source = {
      .op = taking, .desc = {.mode = mode, .release = release_versioned, .user = m}, .pack = true};
  return take(c, &m->tensor, m->flags, &source, out);
}

nx_status nx_from_dlpack_v0(nx_context *c, struct DLManagedTensor *m, uint32_t mode,
                            nx_tensor **out) {
  if (!c || !m || !out) return nxi_error_null(taking, !c ? 0 : !m ? 1 : 3), NX_INVALID_ARGUMENT;
  if (!nxi_have_context(taking, 0, c)) return NX_INVALID_ARGUMENT;
  nxi_import_source source = {
      .op = taking, .desc = {.mode = mode, .release = release_v0, .user = m}, .pack = true};
  return take(c, &m->tensor, 0, &source, out);
}

/* ---- exporting */

static const char lending[] = "to_dlpack";

/* An exported structure, with its shape and strides. */
typedef struct loan {
  nx_mapping *mapping;
  /* Of memory of a device: NULL, or a copy that nobody assigns to, and its memory there. */
  nx_tensor *copy;
  nxi_device *device;
  nxi_buffer *buffer; /* the copy's */
  uint64_t address;
  union {
    struct DLManagedTensorVersioned versioned;
    struct DLManagedTensor v0;
  } managed;
  int64_t dims[]; /* shape[rank], strides[rank] */
} loan;

static void end(void *manager) {
  loan *l = manager;
  if (l->device) { /* what reads it may still be running */
    l->device->kind->sharing->settle(l->device);
    if (l->buffer) nxi_buffer_device_done(l->buffer, NXI_NOW);
  }
  nx_tensor_release(l->copy);
  nx_mapping_release(l->mapping);
  nxi_free(l);
}
static void delete_versioned(struct DLManagedTensorVersioned *self) { end(self->manager); }
static void delete_v0(struct DLManagedTensor *self) { end(self->manager); }

static nxi_dlpack_device place_of(const nx_tensor *t, const loan *l) {
  if (!l->device) return (nxi_dlpack_device){.type = NXI_DLPACK_CPU};
  return (nxi_dlpack_device){l->device->kind->dlpack_type,
                             nxi_device_ordinal(t->context, t->storage->device)};
}

/* Describes the mapped tensor in DLPack's form. */
static nxi_dlpack_tensor tensor_of(const nx_tensor *given, loan *l) {
  const nx_tensor *t = l->copy ? l->copy : given;
  nx_dtype dtype = t->storage->dtype;
  size_t rank = t->rank;
  memcpy(l->dims, t->dims, 2 * rank * sizeof *l->dims);
  nxi_dlpack_tensor x = {
      .device = place_of(t, l),
      .rank = t->rank,
      .dtype = {.code = codes[dtype], .bits = nxi_dtypes[dtype].bits, .lanes = 1}};
  if (rank) x.shape = l->dims, x.strides = l->dims + rank;
  char *base = l->device ? (char *)(uintptr_t)l->address : nx_mapping_base(l->mapping, NULL);
  if (t->elements) x.data = base + t->offset * nxi_dtypes[dtype].bits / 8;
  return x;
}

/* Whether memory of the device can be exported, for a consumer that uses it on that stream. */
static nx_status check_stream(const nx_tensor *t, uint32_t access, int64_t stream, nxi_diag *d) {
  if (!nxi_device_kind_of(t->context, t->storage->device)->sharing)
    return nxi_fail(d, NX_INVALID_ARGUMENT, lending,
                    "%s: the device has no stream %lld, only -1, none", lending, (long long)stream);
  if (stream <= 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, lending,
                    "%s: there is no stream %lld; 1 and 2 are the default ones", lending,
                    (long long)stream);
  if (access != NX_MAP_READ)
    return nxi_fail(d, NX_NOT_WRITABLE, lending,
                    "%s: memory of a device is exported for reading alone", lending);
  return NX_OK;
}

/* The address of a realised value on the device, valid until the end of the loan; the consumer's
 * stream waits for what was started here. */
static nx_status place_there(nx_context *c, int64_t stream, loan *l) {
  nxi_diag d;
  nxi_device *v = NULL;
  nxi_diag_clear(&d);
  nxi_record_lock(c);
  nxi_buffer *b = l->copy->storage->value->buffer;
  nxi_record_unlock(c);
  nx_status status = nxi_device_open(c, l->copy->storage->device, &v, &d);
  if (!status && b && b->bytes > 0) {
    status = nxi_buffer_to_device(c, b, v, true, &l->address, &d);
    if (!status) l->buffer = b;
  }
  if (!status) status = v->kind->sharing->order(v, stream, &d);
  l->device = v;
  return status ? failed_in(&d, lending) : NX_OK;
}

/* The tensor may be assigned to meanwhile, so the loan is of a copy. */
static nx_status lend_there(nx_tensor *t, int64_t stream, loan *l) {
  l->copy = nx_keep(nx_copy(t));
  if (!l->copy) return nxi_error_status();
  nx_status status = nx_realize(t->context, &l->copy, 1, NULL);
  return status ? status : place_there(t->context, stream, l);
}

/* Makes an exported structure that holds a mapping; NULL on failure. */
static nx_status lend(nx_tensor *t, uint32_t access, int64_t stream, loan **out) {
  nxi_diag d;
  nxi_diag_clear(&d);
  const bool there = stream != NX_DLPACK_NO_STREAM;
  nx_status status = there ? check_stream(t, access, stream, &d) : NX_OK;
  if (status) {
    nxi_error_report(&d);
    return status;
  }
  if (!there && t->offset * nxi_dtypes[t->storage->dtype].bits % 8) {
    nxi_fail(
        &d, NX_NEEDS_COPY, lending,
        "%s: the view begins in the middle of a byte, which no pointer says; make it contiguous",
        lending);
    nxi_error_report(&d);
    return NX_NEEDS_COPY;
  }
  loan *l = nxi_calloc(1, sizeof *l + 2 * (size_t)t->rank * sizeof *l->dims);
  if (!l) {
    nxi_oom_in(&d, NX_OUT_OF_MEMORY, lending);
    nxi_error_report(&d);
    return NX_OUT_OF_MEMORY;
  }
  status = there ? lend_there(t, stream, l) : nxi_map(lending, t, access, NULL, &l->mapping);
  if (status) end(l);
  else *out = l;
  return status;
}

nx_status nx_to_dlpack(nx_tensor *t, uint32_t access, int64_t stream,
                       struct DLManagedTensorVersioned **out) {
  loan *l;
  if (!nxi_have_tensor(lending, 0, t)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null(lending, 3), NX_INVALID_ARGUMENT;
  nx_status status = lend(t, access, stream, &l);
  if (status) return status;
  l->managed.versioned =
      (struct DLManagedTensorVersioned){.major = NXI_DLPACK_MAJOR,
                                        .minor = NXI_DLPACK_MINOR,
                                        .manager = l,
                                        .deleter = delete_versioned,
                                        .flags = access & NX_MAP_WRITE ? 0 : NXI_DLPACK_READ_ONLY,
                                        .tensor = tensor_of(t, l)};
  *out = &l->managed.versioned;
  return NX_OK;
}

nx_status nx_to_dlpack_v0(nx_tensor *t, int64_t stream, struct DLManagedTensor **out) {
  loan *l;
  if (!nxi_have_tensor(lending, 0, t)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null(lending, 2), NX_INVALID_ARGUMENT;
  const bool there = stream != NX_DLPACK_NO_STREAM; /* then it is a copy of the consumer's own */
  nx_status status = lend(t, there ? NX_MAP_READ : NX_MAP_READ | NX_MAP_WRITE, stream, &l);
  if (status) return status;
  l->managed.v0 =
      (struct DLManagedTensor){.tensor = tensor_of(t, l), .manager = l, .deleter = delete_v0};
  *out = &l->managed.v0;
  return NX_OK;
}

int64_t nx_dlpack_stream(nx_context *c, nx_device device) {
  nxi_device *v = NULL;
  nxi_diag d;
  if (!c) return nxi_error_null("dlpack_stream", 0), 0;
  if (!nxi_have_context("dlpack_stream", 0, c)) return 0;
  nxi_diag_clear(&d);
  if (device < 0 || device >= nx_device_count(c))
    nxi_fail(&d, NX_INVALID_ARGUMENT, "dlpack_stream", "dlpack_stream: there is no device %d",
             device);
  if (d.status || nxi_device_open(c, device, &v, &d)) return failed_in(&d, "dlpack_stream"), 0;
  const nxi_sharing *sharing = v->kind->sharing;
  return sharing ? sharing->stream(v) : NX_DLPACK_NO_STREAM;
}
