/* SPDX-License-Identifier: ISC */
/* DLPack structures made to break the import, and no memory at any point of import and export. */
#include <stdio.h>
#include <string.h>

#include "dlpack_producer.h"
#include "ir/alloc.h"
#include "runtime/record/context.h"
#include "tests/util/runner.h"

/* ---- what must be refused. Each case spoils a good structure. */

typedef struct fault {
  const char *what;
  nx_status status;
  void (*spoil)(producer *p, managed *m);
  uint32_t mode;
} fault;

#define SPOIL(name, ...)                      \
  static void name(producer *p, managed *m) { \
    (void)p;                                  \
    nxi_dlpack_tensor *t = &m->tensor;        \
    (void)t;                                  \
    __VA_ARGS__;                              \
  }
SPOIL(newer, m->major = 2)
SPOIL(older, m->major = 0)
SPOIL(flagged, m->flags = 1ull << 40)
SPOIL(read_only, m->flags = 1)
SPOIL(on_cuda, t->device.type = 2)
SPOIL(nowhere, t->device.type = INT32_MIN)
SPOIL(lanes, t->dtype.lanes = 4)
SPOIL(no_lanes, t->dtype.lanes = 0)
SPOIL(complex_type, t->dtype.code = 5; t->dtype.bits = 16)
SPOIL(float8, t->dtype.code = 7; t->dtype.bits = 8)
SPOIL(float6, t->dtype.code = 15; t->dtype.bits = 6; t->dtype.lanes = 1)
SPOIL(padded, m->flags = 4; t->dtype.code = 0; t->dtype.bits = 4)
SPOIL(handle_type, t->dtype.code = 3)
SPOIL(no_data, t->data = NULL)
SPOIL(no_shape, t->shape = NULL)
SPOIL(rank_33, t->rank = 33; for (int i = 0; i < 33; i++) p->shape[i] = 1)
SPOIL(rank_huge, t->rank = INT32_MAX)
SPOIL(rank_negative, t->rank = -1)
SPOIL(extent_negative, p->shape[1] = -4)
SPOIL(extents_overflow, p->shape[0] = INT64_MAX; p->shape[1] = 2)
SPOIL(bytes_overflow, p->shape[0] = INT64_MAX / 8)
SPOIL(stride_huge, p->strides[0] = INT64_MAX)
SPOIL(stride_lowest, p->strides[0] = INT64_MIN)
SPOIL(stride_bytes, p->strides[0] = INT64_MAX / 4)
SPOIL(strides_apart, p->strides[0] = INT64_MAX / 8 - 1; p->strides[1] = -1)
/* Fewer bytes than 63 bits count, and more elements. */
SPOIL(nibbles_apart, t->dtype = (nxi_dlpack_dtype){.code = 0, .bits = 4, .lanes = 1};
      t->byte_offset = UINT64_C(1) << 62; p->shape[0] = 2; p->shape[1] = 2;
      p->strides[0] = INT64_C(1) << 62; p->strides[1] = -(INT64_C(1) << 62))
SPOIL(below_zero, p->strides[1] = -(int64_t)((uintptr_t)p->data / sizeof(float)))
SPOIL(offset_wraps, t->byte_offset = UINT64_MAX - 3)
SPOIL(offset_far, t->byte_offset = UINT64_MAX - (uintptr_t)p->data - 7)

static const fault faults[] = {
    {"a newer version", NX_INVALID_ARGUMENT, newer, NX_IMPORT_COPY},
    {"nibbles apart", NX_INVALID_ARGUMENT, nibbles_apart, NX_IMPORT_IMMUTABLE},
    {"an older version", NX_INVALID_ARGUMENT, older, NX_IMPORT_COPY},
    {"an unknown flag", NX_INVALID_ARGUMENT, flagged, NX_IMPORT_COPY},
    {"read only", NX_NOT_WRITABLE, read_only, NX_IMPORT_SHARED},
    {"a device", NX_DEVICE_UNAVAILABLE, on_cuda, NX_IMPORT_COPY},
    {"no device", NX_DEVICE_UNAVAILABLE, nowhere, NX_IMPORT_COPY},
    {"lanes", NX_UNSUPPORTED_DTYPE, lanes, NX_IMPORT_COPY},
    {"no lanes", NX_UNSUPPORTED_DTYPE, no_lanes, NX_IMPORT_COPY},
    {"complex of bytes", NX_UNSUPPORTED_DTYPE, complex_type, NX_IMPORT_COPY},
    {"f8e3m4", NX_UNSUPPORTED_DTYPE, float8, NX_IMPORT_COPY},
    {"f6e2m3", NX_UNSUPPORTED_DTYPE, float6, NX_IMPORT_COPY},
    {"padded i4", NX_UNSUPPORTED_DTYPE, padded, NX_IMPORT_COPY},
    {"handles", NX_UNSUPPORTED_DTYPE, handle_type, NX_IMPORT_COPY},
    {"no data", NX_INVALID_ARGUMENT, no_data, NX_IMPORT_COPY},
    {"no shape", NX_INVALID_ARGUMENT, no_shape, NX_IMPORT_COPY},
    {"rank 33", NX_INVALID_ARGUMENT, rank_33, NX_IMPORT_COPY},
    {"a huge rank", NX_INVALID_ARGUMENT, rank_huge, NX_IMPORT_COPY},
    {"a negative rank", NX_INVALID_ARGUMENT, rank_negative, NX_IMPORT_COPY},
    {"a negative extent", NX_INVALID_ARGUMENT, extent_negative, NX_IMPORT_COPY},
    {"too many elements", NX_INVALID_ARGUMENT, extents_overflow, NX_IMPORT_COPY},
    {"too many bytes", NX_INVALID_ARGUMENT, bytes_overflow, NX_IMPORT_COPY},
    {"a huge stride", NX_INVALID_ARGUMENT, stride_huge, NX_IMPORT_IMMUTABLE},
    {"the lowest stride", NX_INVALID_ARGUMENT, stride_lowest, NX_IMPORT_IMMUTABLE},
    {"a stride of too many bytes", NX_INVALID_ARGUMENT, stride_bytes, NX_IMPORT_IMMUTABLE},
    {"a span of too many bytes", NX_INVALID_ARGUMENT, strides_apart, NX_IMPORT_IMMUTABLE},
    {"memory below address 0", NX_INVALID_ARGUMENT, below_zero, NX_IMPORT_IMMUTABLE},
    {"an offset that wraps", NX_INVALID_ARGUMENT, offset_wraps, NX_IMPORT_IMMUTABLE},
    {"an offset that ends beyond memory", NX_INVALID_ARGUMENT, offset_far, NX_IMPORT_IMMUTABLE},
    {"no mode", NX_INVALID_ARGUMENT, NULL, 4},
};

static void refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    producer p;
    begin(&p);
    managed *m = produce(&p), before;
    nx_tensor *t = NULL;
    if (faults[i].spoil) faults[i].spoil(&p, m);
    before = *m;
    nx_status status = nx_from_dlpack(ctx, m, faults[i].mode, &t);
    nx_error e = {.size = sizeof e};
    nx_error_take(&e);
    if (status != faults[i].status) fprintf(stderr, "%s: %s\n", faults[i].what, e.message);
    assert_int_equal(status, faults[i].status);
    assert_int_equal(e.status, status);
    assert_string_equal(e.op, "from_dlpack");
    assert_null(t);
    assert_memory_equal(m, &before, sizeof before);
    nx_context_collect(ctx);
    assert_int_equal(p.deleted, 0);
    m->deleter(m); /* it is still the caller's */
    assert_int_equal(p.deleted, 1);
  }
  producer p;
  begin(&p);
  managed *m = produce(&p);
  nx_tensor *t = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(NULL, m, NX_IMPORT_COPY, &t));
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(ctx, NULL, NX_IMPORT_COPY, &t));
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack_v0(NULL, NULL, NX_IMPORT_COPY, &t));
  free(m);
}

/* Another major version may have another layout: nothing behind the deleter is read. The sanitizer
 * looks. */
static void other_layout(void **state) {
  (void)state;
  const managed head = {.major = 2, .deleter = delete_versioned};
  void *m = malloc(offsetof(managed, flags));
  assert_non_null(m);
  memcpy(m, &head, offsetof(managed, flags));
  nx_tensor *t = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(ctx, m, NX_IMPORT_COPY, &t));
  free(m);
}

/* ---- no memory, at every point in turn */

static bool failing;
static int failures;

/* True if the call is to be made again: it failed for want of memory, and said so. op NULL:
 * whatever it is called. */
static bool again(const char *op, nx_status status) {
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_error_take(&e), status);
  if (status == NX_OK) return false;
  if (op) assert_string_equal(e.op, op);
  if (status != NX_OUT_OF_MEMORY) fprintf(stderr, "unexpected: %s\n", e.message);
  assert_int_equal(status, NX_OUT_OF_MEMORY);
  assert_true(failing);
  failing = false;
  failures++;
  return true;
}

static void taking_without_memory(bool v0, uint32_t mode, bool sparse) {
  producer p;
  begin(&p);
  if (sparse) p.tensor.rank = 1;
  managed *m = produce(&p);
  managed_v0 *old = produce_v0(&p);
  nx_tensor *t = NULL;
  while (again("from_dlpack",
               v0 ? nx_from_dlpack_v0(ctx, old, mode, &t) : nx_from_dlpack(ctx, m, mode, &t))) {
    assert_null(t);
    bool was = failing;
    nx_context_collect(ctx);
    assert_int_equal(p.deleted, 0);
    failing = was;
  }
  release(t);
  nx_context_collect(ctx);
  assert_int_equal(p.deleted, 1);
  if (v0) free(m);
  else free(old);
}

static void lending_without_memory(bool v0, uint32_t access) {
  nx_tensor *x = NULL, *doubled = NULL;
  managed *m = NULL;
  managed_v0 *old = NULL;
  while (!x && (x = nx_full(ctx, 0, NX_F32, NX_SHAPE(100), NX_NUMBER(2))) == NULL)
    again(NULL, NX_OUT_OF_MEMORY);
  while (!doubled && (doubled = nx_add(x, x)) == NULL) again(NULL, NX_OUT_OF_MEMORY);
  while (again(NULL, v0 ? nx_to_dlpack_v0(doubled, NX_DLPACK_NO_STREAM, &old)
                        : nx_to_dlpack(doubled, access, NX_DLPACK_NO_STREAM, &m)))
    assert_true(!m && !old);
  const float *p = v0 ? old->tensor.data : m->tensor.data;
  assert_true(p[99] == 4);
  release(x), release(doubled);
  if (v0) old->deleter(old);
  else m->deleter(m);
}

static void without_memory(void **state) {
  (void)state;
  nx_context *usual = ctx;
  for (int64_t point = 0;; point++) {
    nx_context_options o = {.size = sizeof o, .cache_dir = "", .threads = 1};
    OK(nx_context_create(&o, &ctx));
    failing = true;
    nxi_alloc_fail(point, false);
    for (int v0 = 0; v0 < 2; v0++) {
      for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++)
        for (int sparse = 0; sparse < 2; sparse++) taking_without_memory(v0, mode, sparse);
      lending_without_memory(v0, NX_MAP_READ);
      lending_without_memory(v0, NX_MAP_READ | NX_MAP_WRITE);
    }
    bool over = failing;
    nxi_alloc_fail(-1, false);
    nx_context_collect(ctx);
    nx_stats s = {.size = sizeof s};
    nx_context_stats(ctx, &s);
    assert_int_equal(s.live_bytes, 0);
    assert_int_equal(ctx->live_nodes, 0);
    assert_int_equal(ctx->live_storages, 0);
    nx_context_release(ctx);
    if (over) break;
  }
  ctx = usual;
  assert_true(failures > 10);
}

NXT_MAIN(dlpack_bad) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused),
      cmocka_unit_test(other_layout),
      cmocka_unit_test(without_memory),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
