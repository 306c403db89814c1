/* SPDX-License-Identifier: ISC */
/* Memory that is shared with the host, element by element behind every layout: mappings, and DLPack
 * both ways. */
#include "../conformance.h"

#include <stdlib.h>
#include <string.h>

/* The place of element i of the view in its storage. */
static size_t place_of(const nx_tensor_info *info, size_t i) {
  int64_t index[NX_MAX_RANK], at = info->offset;
  unravel(i, info->rank, info->shape, index);
  for (int32_t k = 0; k < info->rank; k++) at += index[k] * info->strides[k];
  return (size_t)at;
}

static void expect_memory(trial *t, const nx_tensor_info *info, const unsigned char *base,
                          const array *want, const char *what) {
  for (size_t i = 0; i < want->n; i++) {
    bits is = bits_at(t->dtype, base, place_of(info, i));
    t->cell->checked++;
    if (is.low == want->at[i].low && is.high == want->at[i].high) continue;
    fault(t, "%s: element %zu has the bits %llx, not %llx", what, i, (unsigned long long)is.low,
          (unsigned long long)want->at[i].low);
    return;
  }
}

static array *copy_of(trial *t, const array *a) {
  array *b = new_array(t, a->dtype, a->rank, a->shape);
  memcpy(b->at, a->at, a->n * sizeof *a->at);
  return b;
}

static nx_tensor_info describe(nx_tensor *x) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  return info;
}

/* ---- mappings */

static const int64_t shape[] = {5, 7};

static void check_mapping(trial *t, layout l) {
  array *old = some_values(t, t->dtype, 2, shape, 1), *new;
  nx_tensor *x = laid_out(t, old, l);
  nx_tensor_info info = describe(x);
  nx_mapping *m = NULL;
  size_t bytes = 0;
  expect_status(t, nx_map(x, NX_MAP_READ, NULL, &m), NX_OK, "mapping");
  if (!m) return;
  unsigned char *base = nx_mapping_base(m, &bytes);
  if (bytes < ((size_t)info.storage_elements * nx_dtype_bits(t->dtype) + 7) / 8)
    fault(t, "the mapping has %zu bytes", bytes);
  expect_memory(t, &info, base, old, layout_names[l]);
  if (l != BROADCAST) {
    new = some_values(t, t->dtype, 2, shape, 2);
    expect(t, nx_copy(x), copy_of(t, old), SAME_BITS, "recorded before the assign");
    expect_status(t, nx_assign(x, tensor_of(t, new)), NX_OK, "assigning what is mapped");
    expect_status(t, nx_realize(t->context, &x, 1, NULL), NX_OK, "realising what is mapped");
    expect_memory(t, &info, base, new, "assigned");
  }
  nx_mapping_release(m);
}

static void check_map_read(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) check_mapping(t, l);
  nx_mapping *m = NULL;
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, shape, 1)), *none;
  none = nx_empty(t->context, t->device, t->dtype, (const int64_t[]){0, 3}, 2);
  expect_status(t, nx_map(none, NX_MAP_READ, NULL, &m), NX_OK, "mapping no elements");
  nx_mapping_release(m);
  m = NULL;
  expect_status(t, nx_map(NULL, NX_MAP_READ, NULL, &m), NX_INVALID_ARGUMENT, "no tensor");
  expect_status(t, nx_map(x, NX_MAP_READ, NULL, NULL), NX_INVALID_ARGUMENT, "no result");
  expect_status(t, nx_map(x, 0, NULL, &m), NX_INVALID_ARGUMENT, "no access");
  expect_status(t, nx_map(x, 4, NULL, &m), NX_INVALID_ARGUMENT, "an access that does not exist");
  if (m) fault(t, "a mapping was made all the same");
}

static void write_view(const array *a, const nx_tensor_info *info, unsigned char *base) {
  for (size_t i = 0; i < a->n; i++) put_bits(a->dtype, base, place_of(info, i), a->at[i]);
}

/* What was recorded before keeps the old elements; what is recorded meanwhile reads those of that
 * moment. */
static void check_writing(trial *t, layout l) {
  array *old = some_values(t, t->dtype, 2, shape, 3),
        *first = some_values(t, t->dtype, 2, shape, 4),
        *second = some_values(t, t->dtype, 2, shape, 5),
        *third = some_values(t, t->dtype, 2, shape, 6);
  nx_tensor *x = laid_out(t, old, l), *before = nx_copy(x), *during, *assigned;
  nx_tensor_info info = describe(x);
  nx_mapping *m = NULL;
  expect_status(t, nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m), NX_OK, "mapping for writing");
  if (!m) return;
  unsigned char *base = nx_mapping_base(m, NULL);
  write_view(first, &info, base);
  during = nx_copy(x);
  write_view(second, &info, base);
  expect_status(t, nx_assign(x, tensor_of(t, third)), NX_OK, "assigning exposed storage");
  expect_memory(t, &info, base, third, "an assign shows at once");
  assigned = nx_copy(x);
  write_view(second, &info, base);
  nx_mapping_release(m);
  expect(t, before, old, SAME_BITS, "recorded before the mapping");
  expect(t, during, first, SAME_BITS, "recorded while the host writes");
  expect(t, assigned, third, SAME_BITS, "recorded after the assign");
  expect(t, nx_copy(x), second, SAME_BITS, "what the host wrote last");
}

static void check_map_write(trial *t) {
  for (layout l = 0; l < BROADCAST; l++)
    if (is_due(t, l, BROADCAST)) check_writing(t, l);
  size_t bytes;
  unsigned char *memory = packed(t, some_values(t, t->dtype, 2, shape, 1), &bytes);
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_IMMUTABLE,
                      .dtype = t->dtype,
                      .rank = 2,
                      .shape = shape,
                      .base = memory,
                      .bytes = bytes};
  nx_tensor *x = NULL;
  nx_mapping *m = NULL;
  expect_status(t, nx_import(t->context, &d, &x), NX_OK, "importing");
  expect_status(t, nx_map(x, NX_MAP_WRITE, NULL, &m), NX_NOT_WRITABLE, "an immutable import");
  expect_status(t, nx_map(NULL, NX_MAP_WRITE, NULL, &m), NX_INVALID_ARGUMENT, "no tensor");
  settle(t); /* before the memory goes */
  nx_tensor_release(nx_keep(x));
  nx_context_collect(t->context);
}

/* ---- DLPack: the structures as its specification has them */

typedef struct dl_tensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t rank;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} dl_tensor;
typedef struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void *manager;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  dl_tensor tensor;
} versioned;
typedef struct DLManagedTensor {
  dl_tensor tensor;
  void *manager;
  void (*deleter)(struct DLManagedTensor *self);
} unversioned;

static uint8_t code_of(nx_dtype dtype) {
  switch (dtype) {
    case NX_F8E4M3: return 10;
    case NX_F8E4M3FNUZ: return 11;
    case NX_F8E5M2: return 12;
    case NX_F8E5M2FNUZ: return 13;
    case NX_F8E8M0: return 14;
    case NX_F4E2M1: return 17;
    case NX_BF16: return 4;
    default: break;
  }
  switch (format_of(dtype)->kind) {
    case KIND_BOOL: return 6;
    case KIND_SIGNED: return 0;
    case KIND_UNSIGNED: return 1;
    case KIND_FLOAT: return 2;
    default: return 5;
  }
}

static void count_deletion(versioned *self) { ++*(int *)self->manager; }
static void count_deletion_v0(unversioned *self) { ++*(int *)self->manager; }

/* Memory of the host with the elements of `a` in this layout, and what describes it. */
static dl_tensor produced(trial *t, array *a, layout l, int64_t *dims) {
  nx_tensor *x = laid_out(t, a, l);
  nx_tensor_info info = describe(x);
  size_t bytes = ((size_t)info.storage_elements * nx_dtype_bits(t->dtype) + 7) / 8;
  unsigned char *memory = room(t, bytes + 16);
  write_view(a, &info, memory);
  memcpy(dims, info.shape, (size_t)info.rank * sizeof *dims);
  memcpy(dims + info.rank, info.strides, (size_t)info.rank * sizeof *dims);
  return (dl_tensor){.data = memory,
                     .device = {1, 0},
                     .rank = info.rank,
                     .dtype = {code_of(t->dtype), (uint8_t)nx_dtype_bits(t->dtype), 1},
                     .shape = dims,
                     .strides = dims + info.rank,
                     .byte_offset = (uint64_t)info.offset * nx_dtype_bits(t->dtype) / 8};
}

/* Views of elements of four bits begin with a byte. */
static bool begins_bytes(trial *t, nx_tensor *x) {
  return nx_dtype_bits(t->dtype) >= 8 || describe(x).offset % 2 == 0;
}

static void check_taking(trial *t, layout l, uint32_t mode) {
  int deleted = 0;
  int64_t dims[2 * NX_MAX_RANK];
  array *a = some_values(t, t->dtype, 2, shape, 7);
  if (!begins_bytes(t, laid_out(t, a, l))) return;
  versioned m = {.major = 1,
                 .minor = 1,
                 .manager = &deleted,
                 .deleter = count_deletion,
                 .flags = mode == NX_IMPORT_IMMUTABLE, /* read only */
                 .tensor = produced(t, a, l, dims)};
  unversioned old = {m.tensor, &deleted, count_deletion_v0};
  for (int v = 0; v < 2; v++) {
    nx_scope *scope = nx_scope_begin(t->context);
    nx_tensor *x = NULL;
    nx_status status = v ? nx_from_dlpack(t->context, &m, mode, &x)
                         : nx_from_dlpack_v0(t->context, &old, mode, &x);
    expect_status(t, status, NX_OK, "taking");
    expect(t, nx_to_device(nx_copy(x), t->device), a, SAME_BITS, layout_names[l]);
    settle(t);
    nx_scope_end(scope);
    nx_context_collect(t->context);
    if (deleted != 1 + v) fault(t, "the deleter ran %d times", deleted);
  }
}

static void expect_untaken(trial *t, versioned m, uint32_t mode, nx_status status,
                           const char *what) {
  int *deleted = m.manager;
  nx_tensor *x = NULL;
  expect_status(t, nx_from_dlpack(t->context, &m, mode, &x), status, what);
  if (x || *deleted) fault(t, "%s: it was taken all the same", what);
}

/* What memory of a GPU at an address of the host is called. */
static nx_status of_a_gpu(trial *t) {
  for (nx_device i = 0; i < nx_device_count(t->context); i++) {
    nx_device_info d = {.size = sizeof d};
    if (nx_device_describe(t->context, i, &d) == NX_OK && d.dlpack_type == 2 && d.ordinal == 0)
      return d.available ? NX_INVALID_ARGUMENT : NX_DEVICE_UNAVAILABLE;
  }
  return NX_DEVICE_UNAVAILABLE;
}

static void check_taken(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_MAPPED; mode++)
      if (is_due(t, l + mode, LAYOUTS)) check_taking(t, l, mode);
  int deleted = 0;
  int64_t dims[2 * NX_MAX_RANK];
  array *a = some_values(t, t->dtype, 2, shape, 7);
  const versioned good = {.major = 1,
                          .manager = &deleted,
                          .deleter = count_deletion,
                          .tensor = produced(t, a, CONTIGUOUS, dims)};
  versioned m = good;
  m.major = 2;
  expect_untaken(t, m, NX_IMPORT_COPY, NX_INVALID_ARGUMENT, "another major version");
  m = good, m.flags = 64;
  expect_untaken(t, m, NX_IMPORT_COPY, NX_INVALID_ARGUMENT, "a flag that is not known");
  m = good, m.flags = 1;
  expect_untaken(t, m, NX_IMPORT_SHARED, NX_NOT_WRITABLE, "read only, and shared");
  m = good, m.tensor.dtype.lanes = 2;
  expect_untaken(t, m, NX_IMPORT_COPY, NX_UNSUPPORTED_DTYPE, "two lanes");
  m = good, m.tensor.dtype.code = 99;
  expect_untaken(t, m, NX_IMPORT_COPY, NX_UNSUPPORTED_DTYPE, "a type that is not known");
  m = good, m.tensor.device.type = 2;
  expect_untaken(t, m, NX_IMPORT_COPY, of_a_gpu(t), "memory of a GPU");
  m.tensor.device.type = 10; /* there is no such device */
  expect_untaken(t, m, NX_IMPORT_COPY, NX_DEVICE_UNAVAILABLE, "memory of another device");
  m = good, m.tensor.rank = NX_MAX_RANK + 1;
  expect_untaken(t, m, NX_IMPORT_COPY, NX_INVALID_ARGUMENT, "rank 33");
  m = good, m.tensor.data = NULL;
  expect_untaken(t, m, NX_IMPORT_COPY, NX_INVALID_ARGUMENT, "no data");
  m = good, m.tensor.byte_offset = 1;
  if (format_of(format_of(t->dtype)->part)->bits > 8)
    expect_untaken(t, m, NX_IMPORT_SHARED, NX_INVALID_ARGUMENT, "not aligned");
  expect_untaken(t, good, 4, NX_INVALID_ARGUMENT, "a mode that does not exist");
}

/* The view, and the byte that it counts from: that of its lowest element. */
static unsigned char *lent_view(const dl_tensor *x, nx_dtype dtype, nx_tensor_info *info) {
  int64_t below = 0, bits_each = (int64_t)nx_dtype_bits(dtype);
  for (int32_t i = 0; i < x->rank; i++)
    if (x->strides[i] < 0) below -= x->strides[i] * (x->shape[i] - 1);
  below += below % 2; /* whole bytes */
  *info =
      (nx_tensor_info){.rank = x->rank, .shape = x->shape, .strides = x->strides, .offset = below};
  return (unsigned char *)x->data + x->byte_offset - below * bits_each / 8;
}

static void expect_lent(trial *t, const dl_tensor *x, const array *want, layout l) {
  nx_tensor_info info;
  unsigned char *base = lent_view(x, t->dtype, &info);
  bool good = x->rank == want->rank && x->device.type == 1 && x->dtype.code == code_of(t->dtype) &&
              x->dtype.bits == nx_dtype_bits(t->dtype) && x->dtype.lanes == 1;
  for (int32_t i = 0; good && i < x->rank; i++) good = x->shape[i] == want->shape[i];
  if (!good) fault(t, "%s: the exported tensor has another type or shape", layout_names[l]);
  else expect_memory(t, &info, base, want, layout_names[l]);
}

static void check_lending(trial *t, layout l) {
  array *a = some_values(t, t->dtype, 2, shape, 8), *other = some_values(t, t->dtype, 2, shape, 9);
  nx_tensor *x = laid_out(t, a, l);
  versioned *m = NULL;
  unversioned *old = NULL;
  if (!begins_bytes(t, x)) {
    expect_status(t, nx_to_dlpack(x, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m), NX_NEEDS_COPY,
                  "in the middle of a byte");
    return;
  }
  expect_status(t, nx_to_dlpack(x, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m), NX_OK, "lending");
  if (!m) return;
  if (m->major != 1 || m->flags != 1) fault(t, "lent for reading, but not flagged so");
  expect_lent(t, &m->tensor, a, l);
  m->deleter(m);
  m = NULL;
  expect_status(t, nx_to_dlpack(x, NX_MAP_READ | NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m), NX_OK,
                "lending for writing");
  if (!m) return;
  if (m->flags) fault(t, "lent for writing, but flagged");
  if (l != BROADCAST) {
    nx_tensor_info info;
    unsigned char *base = lent_view(&m->tensor, t->dtype, &info);
    write_view(other, &info, base);
  }
  m->deleter(m);
  expect_status(t, nx_to_dlpack_v0(x, NX_DLPACK_NO_STREAM, &old), NX_OK, "lending, version 0");
  if (!old) return;
  expect_lent(t, &old->tensor, l == BROADCAST ? a : other, l);
  old->deleter(old);
}

static void check_lent(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) check_lending(t, l);
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, shape, 1));
  versioned *m = NULL;
  expect_status(t, nx_to_dlpack(NULL, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m), NX_INVALID_ARGUMENT,
                "no tensor");
  expect_status(t, nx_to_dlpack(x, 0, NX_DLPACK_NO_STREAM, &m), NX_INVALID_ARGUMENT, "no access");
  expect_status(t, nx_to_dlpack(x, NX_MAP_READ, -2, &m), NX_INVALID_ARGUMENT,
                "a stream that does not exist");
  if (m) fault(t, "something was lent all the same");
}

static const operation host_table[] = {
    {"map, for reading", ALL, check_map_read, NULL, NULL, 0, NULL},
    {"map, for writing", ALL, check_map_write, NULL, NULL, 0, NULL},
    {"from_dlpack", ALL, check_taken, NULL, NULL, 0, NULL},
    {"to_dlpack", ALL, check_lent, NULL, NULL, 0, NULL},
};
const family host_family = {"Memory of the host", host_table,
                            sizeof host_table / sizeof *host_table};
