/* SPDX-License-Identifier: ISC */
/* DLPack: foreign tensors in every mode, layout and type; tensors lent to others, and the end of
 * the loan. */
#include "dlpack_producer.h"
#include "ir/dtype.h"
#include "tests/util/runner.h"

#include <pthread.h>

/* ---- the layout, in the numbers of the specification for 64-bit machines */
_Static_assert(sizeof(nxi_dlpack_tensor) == 48 && offsetof(nxi_dlpack_tensor, rank) == 16 &&
                   offsetof(nxi_dlpack_tensor, dtype) == 20 &&
                   offsetof(nxi_dlpack_tensor, byte_offset) == 40,
               "DLTensor");
_Static_assert(offsetof(struct DLManagedTensor, manager) == 48 &&
                   offsetof(struct DLManagedTensor, deleter) == 56,
               "DLManagedTensor");
_Static_assert(offsetof(struct DLManagedTensorVersioned, manager) == 8 &&
                   offsetof(struct DLManagedTensorVersioned, deleter) == 16 &&
                   offsetof(struct DLManagedTensorVersioned, flags) == 24 &&
                   offsetof(struct DLManagedTensorVersioned, tensor) == 32,
               "DLManagedTensorVersioned");

#define EXPECT_ALL(t) EXPECT(t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)

/* ---- taking */

static void modes(void **state) {
  (void)state;
  producer p;
  for (int v0 = 0; v0 < 2; v0++) {
    for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
      begin(&p);
      nx_tensor *t = NULL;
      if (v0) OK(nx_from_dlpack_v0(ctx, produce_v0(&p), mode, &t));
      else OK(nx_from_dlpack(ctx, produce(&p), mode, &t));
      assert_int_equal(p.deleted, 0);
      nx_tensor_info info = describe(t);
      assert_int_equal(info.rank, 2);
      assert_true(info.shape[0] == 3 && info.shape[1] == 4 && info.storage_elements == 12);
      assert_int_equal(info.flags & NX_TENSOR_EXPOSED,
                       mode == NX_IMPORT_SHARED ? NX_TENSOR_EXPOSED : 0);
      assert_int_equal(info.flags & NX_TENSOR_READ_ONLY,
                       mode == NX_IMPORT_IMMUTABLE ? NX_TENSOR_READ_ONLY : 0);
      EXPECT_ALL(t);
      assert_int_equal(p.deleted, mode == NX_IMPORT_COPY); /* the read was an action */
      drop(t, &p);
    }
  }
}

/* Memory of the host that is page-locked for a GPU. */
static void page_locked_memory(void **state) {
  static const int32_t types[] = {NXI_DLPACK_CUDA_HOST, NXI_DLPACK_ROCM_HOST};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    producer p;
    begin(&p);
    managed *m = produce(&p);
    m->tensor.device.type = types[i];
    nx_tensor *t = NULL;
    OK(nx_from_dlpack(ctx, m, NX_IMPORT_SHARED, &t));
    p.data[5] = 50;
    EXPECT(t, 0, 1, 2, 3, 4, 50, 6, 7, 8, 9, 10, 11);
    drop(t, &p);
  }
}

static void who_sees_writes(void **state) {
  (void)state;
  nx_tensor *one = number(1);
  producer p;
  begin(&p);
  nx_tensor *t = take(&p, NX_IMPORT_SHARED);
  p.data[3] = 30;
  nx_tensor *negated = nx_neg(t);
  p.data[3] = 40;
  nx_scalar seen;
  OK(nx_item(negated, (int64_t[]){0, 3}, 2, &seen, NULL));
  assert_true(seen.v.f[0] == -30);
  OK(nx_assign(t, negated));
  assert_true(p.data[11] == -11 && p.data[3] == -30);
  release(negated);
  drop(t, &p);

  begin(&p);
  t = take(&p, NX_IMPORT_COPY);
  p.data[0] = 99;
  EXPECT_ALL(t);
  OK(nx_assign(t, one));
  assert_true(p.data[0] == 99 && p.data[1] == 1 && p.data[2] == 2);
  drop(t, &p);

  begin(&p);
  t = take(&p, NX_IMPORT_IMMUTABLE);
  FAILS(NX_NOT_WRITABLE, nx_assign(t, one));
  nx_mapping *m;
  OK(nx_map(t, NX_MAP_READ, NULL, &m));
  assert_ptr_equal(nx_mapping_base(m, NULL), p.data);
  nx_mapping_release(m);
  drop(t, &p);
  release(one);
}

/* The deleter waits for what was recorded. */
static void pending_work_keeps_it(void **state) {
  (void)state;
  producer p;
  begin(&p);
  nx_tensor *t = take(&p, NX_IMPORT_IMMUTABLE), *doubled = nx_add(t, t);
  release(t);
  nx_context_collect(ctx);
  assert_int_equal(p.deleted, 0);
  EXPECT(doubled, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22);
  nx_context_collect(ctx);
  assert_int_equal(p.deleted, 1);
  release(doubled);
}

static void collecting_by_hand(void **state) {
  (void)state;
  producer p;
  begin(&p);
  nx_context_options o = {.size = sizeof o, .flags = NX_MANUAL_COLLECT, .cache_dir = ""};
  nx_context *usual = ctx;
  OK(nx_context_create(&o, &ctx));
  nx_tensor *t = take(&p, NX_IMPORT_COPY);
  EXPECT_ALL(t);
  assert_int_equal(p.deleted, 0);
  drop(t, &p);
  begin(&p); /* also when its context is gone, whatever other contexts do */
  t = take(&p, NX_IMPORT_SHARED);
  release(t);
  nx_context_release(ctx);
  ctx = usual;
  nx_tensor *other = vector(3, 0, 1);
  EXPECT(other, 0, 1, 2);
  release(other);
  assert_int_equal(p.deleted, 0);
  nx_context_collect(NULL);
  assert_int_equal(p.deleted, 1);
}

static void layouts(void **state) {
  (void)state;
  producer p;
  for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    begin(&p); /* C order without strides */
    p.tensor.strides = NULL;
    nx_tensor *t = take(&p, mode);
    EXPECT_ALL(t);
    assert_true(describe(t).flags & NX_TENSOR_C_CONTIGUOUS);
    drop(t, &p);

    begin(&p); /* backwards, from an offset, every other column */
    p.shape[0] = 3, p.shape[1] = 2;
    p.strides[0] = -4, p.strides[1] = 2;
    p.tensor.byte_offset = 9 * sizeof(float);
    t = take(&p, mode);
    EXPECT(t, 9, 11, 5, 7, 1, 3);
    nx_tensor_info info = describe(t);
    assert_int_equal(info.storage_elements, mode == NX_IMPORT_COPY ? 6 : 11);
    assert_int_equal(info.offset, mode == NX_IMPORT_COPY ? 0 : 8);
    drop(t, &p);

    begin(&p); /* a row for ever; an axis of one, whose stride says nothing */
    p.tensor.rank = 3;
    p.shape[0] = 1, p.shape[1] = 3, p.shape[2] = 2;
    p.strides[0] = INT64_MIN, p.strides[1] = 0, p.strides[2] = 1;
    t = take(&p, mode);
    EXPECT(t, 0, 1, 0, 1, 0, 1);
    assert_int_equal(describe(t).storage_elements, 2);
    drop(t, &p);

    begin(&p); /* transposed */
    p.shape[0] = 4, p.shape[1] = 3, p.strides[0] = 1, p.strides[1] = 4;
    t = take(&p, mode);
    EXPECT(t, 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    drop(t, &p);

    begin(&p); /* a scalar, with nothing to describe it */
    p.tensor.rank = 0;
    p.tensor.shape = p.tensor.strides = NULL;
    p.tensor.byte_offset = 20;
    t = take(&p, mode);
    EXPECT(t, 5);
    assert_int_equal(describe(t).rank, 0);
    drop(t, &p);

    begin(&p); /* 32 axes */
    p.tensor.rank = 32;
    for (int i = 0; i < 32; i++) p.shape[i] = 1, p.strides[i] = 77;
    p.shape[5] = 3, p.strides[5] = 4;
    t = take(&p, mode);
    EXPECT(t, 0, 4, 8);
    drop(t, &p);
  }
}

static void without_elements(void **state) {
  (void)state;
  for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    for (int odd = 0; odd < 2; odd++) {
      producer p;
      begin(&p);
      p.shape[0] = 0;
      p.strides[0] = INT64_MIN, p.strides[1] = INT64_MAX;
      p.tensor.data = odd ? (void *)(uintptr_t)3 : NULL;
      p.tensor.byte_offset = odd ? UINT64_MAX : 0;
      nx_tensor *t = take(&p, mode);
      nx_tensor_info info = describe(t);
      assert_true(info.elements == 0 && info.shape[1] == 4 && info.offset == 0);
      assert_true(info.flags & NX_TENSOR_C_CONTIGUOUS);
      OK(nx_read(t, NULL, 0, NULL));
      managed *m;
      OK(nx_to_dlpack(t, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
      assert_null(m->tensor.data);
      m->deleter(m);
      drop(t, &p);
    }
  }
}

static void unaligned(void **state) {
  (void)state;
  producer p;
  begin(&p);
  p.tensor.rank = 1, p.shape[0] = 5, p.strides[0] = 2;
  p.tensor.byte_offset = 1;
  float values[5];
  for (int i = 0; i < 5; i++) memcpy(&values[i], (char *)p.data + 1 + 8 * i, sizeof(float));
  for (uint32_t mode = NX_IMPORT_SHARED; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    nx_tensor *t = NULL;
    managed *m = produce(&p);
    FAILS(NX_INVALID_ARGUMENT, nx_from_dlpack(ctx, m, mode, &t));
    assert_null(t);
    free(m);
  }
  for (int stride = 1; stride <= 2; stride++) { /* whole, and packed */
    p.deleted = 0, p.shape[0] = stride == 1 ? 9 : 5, p.strides[0] = stride;
    nx_tensor *t = take(&p, NX_IMPORT_COPY);
    float is[9];
    OK(nx_read(t, is, (size_t)p.shape[0] * sizeof *is, NULL));
    for (int i = 0; i < 5; i++)
      assert_memory_equal(&is[i * (stride == 1 ? 2 : 1)], &values[i], sizeof(float));
    drop(t, &p);
  }
}

/* Code and bits of every type that is taken, and its number here. */
static const struct {
  uint8_t code, bits;
  nx_dtype dtype;
} types[] = {
    {6, 8, NX_BOOL},        {0, 4, NX_I4},          {1, 4, NX_U4},      {0, 8, NX_I8},
    {1, 8, NX_U8},          {0, 16, NX_I16},        {1, 16, NX_U16},    {0, 32, NX_I32},
    {1, 32, NX_U32},        {0, 64, NX_I64},        {1, 64, NX_U64},    {10, 8, NX_F8E4M3},
    {12, 8, NX_F8E5M2},     {2, 16, NX_F16},        {4, 16, NX_BF16},   {2, 32, NX_F32},
    {2, 64, NX_F64},        {5, 32, NX_C32},        {5, 64, NX_C64},    {5, 128, NX_C128},
    {11, 8, NX_F8E4M3FNUZ}, {13, 8, NX_F8E5M2FNUZ}, {14, 8, NX_F8E8M0}, {17, 4, NX_F4E2M1}};
enum { TYPES = sizeof types / sizeof *types };

static void element_types(void **state) {
  (void)state;
  for (int code = 0; code < 256; code++) {
    for (int bits = 0; bits < 256; bits++) {
      int type = TYPES;
      while (type-- > 0)
        if (types[type].code == code && types[type].bits == bits) break;
      producer p;
      begin(&p);
      p.tensor.rank = 0;
      p.tensor.dtype.code = (uint8_t)code, p.tensor.dtype.bits = (uint8_t)bits;
      managed *m = produce(&p), *back;
      nx_tensor *t = NULL;
      if (type < 0) {
        FAILS(NX_UNSUPPORTED_DTYPE, nx_from_dlpack(ctx, m, NX_IMPORT_IMMUTABLE, &t));
        assert_null(t);
        free(m);
        continue;
      }
      OK(nx_from_dlpack(ctx, m, NX_IMPORT_IMMUTABLE, &t));
      assert_int_equal(describe(t).dtype, types[type].dtype);
      OK(nx_to_dlpack(t, NX_MAP_READ, NX_DLPACK_NO_STREAM, &back));
      assert_memory_equal(&back->tensor.dtype, &p.tensor.dtype, sizeof p.tensor.dtype);
      back->deleter(back);
      drop(t, &p);
    }
  }
}

/* Elements of four bits, packed: views that begin in the middle of a byte come in, and have to be
 * copied to go out. */
static void nibbles(void **state) {
  (void)state;
  for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    uint8_t bytes[4] = {0x10, 0x32, 0x54, 0x76}, is[2];
    producer p;
    begin(&p);
    p.tensor.data = bytes, p.tensor.dtype.code = 1, p.tensor.dtype.bits = 4;
    p.tensor.byte_offset = 3, p.tensor.rank = 1, p.shape[0] = 3, p.strides[0] = -3;
    nx_tensor *t = take(&p, mode); /* 6, 3, 0 */
    OK(nx_read(t, is, 2, NULL));
    assert_true(is[0] == 0x36 && (is[1] & 15) == 0);
    nx_tensor *odd = part(t, 1, 2, 1), *packed = GOOD(nx_copy(odd));
    managed *m = NULL;
    if (describe(odd).offset % 2)
      FAILS(NX_NEEDS_COPY, nx_to_dlpack(odd, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
    OK(nx_to_dlpack(packed, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
    assert_true((*(const uint8_t *)m->tensor.data & 255) == 0x03);
    m->deleter(m);
    release(odd), release(packed);
    drop(t, &p);
  }
}

/* The lowest element lies in the upper half of a byte: the storage begins with the whole byte. */
static void nibbles_from_within(void **state) {
  (void)state;
  for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    uint8_t bytes[3] = {0x10, 0x32, 0x54}, is[2];
    producer p;
    begin(&p);
    p.tensor.data = bytes, p.tensor.dtype.code = 1, p.tensor.dtype.bits = 4;
    p.tensor.byte_offset = 2, p.tensor.rank = 1, p.shape[0] = 4, p.strides[0] = -1;
    nx_tensor *t = take(&p, mode);
    OK(nx_read(t, is, 2, NULL));
    assert_true(is[0] == 0x34 && is[1] == 0x12); /* 4 3 2 1 */
    drop(t, &p);
  }
}

/* Strides of axes of extent 1 mean nothing: such a tensor is contiguous all the same. */
static void strides_that_mean_nothing(void **state) {
  (void)state;
  producer p;
  begin(&p);
  p.tensor.rank = 3, p.shape[0] = 1, p.shape[1] = 3, p.shape[2] = 4;
  p.strides[0] = INT64_MAX, p.strides[1] = 4, p.strides[2] = 1;
  nx_tensor *t = take(&p, NX_IMPORT_SHARED);
  assert_true(describe(t).flags & NX_TENSOR_C_CONTIGUOUS);
  assert_int_equal(describe(t).strides[0], 12);
  drop(t, &p);
}

/* A bool byte other than 0 is true, in place, copied and packed. */
static void bools(void **state) {
  (void)state;
  uint8_t bytes[6] = {0, 1, 2, 255, 0, 128};
  for (uint32_t mode = NX_IMPORT_COPY; mode <= NX_IMPORT_IMMUTABLE; mode++) {
    for (int step = 1; step <= 2; step++) {
      producer p;
      begin(&p);
      p.tensor.data = bytes, p.tensor.dtype.code = 6, p.tensor.dtype.bits = 8;
      p.tensor.rank = 1, p.shape[0] = 6 / step, p.strides[0] = step;
      nx_tensor *t = take(&p, mode), *both = nx_and(t, t);
      uint8_t is[6];
      OK(nx_read(both, is, (size_t)(6 / step), NULL));
      for (int i = 0; i < 6 / step; i++) assert_int_equal(is[i], bytes[i * step] != 0);
      release(both);
      drop(t, &p);
    }
  }
}

static void what_must_be_taken(void **state) {
  (void)state;
  producer p;
  begin(&p);
  managed *m = produce(&p);
  m->minor = 99;    /* a later minor version adds values, not layout */
  m->flags = 1 | 2; /* read only, copied */
  nx_tensor *t = NULL;
  OK(nx_from_dlpack(ctx, m, NX_IMPORT_IMMUTABLE, &t));
  drop(t, &p);

  begin(&p);
  m = produce(&p);
  m->deleter = NULL; /* allowed: nobody wants to know */
  t = NULL;
  OK(nx_from_dlpack(ctx, m, NX_IMPORT_SHARED, &t));
  release(t);
  nx_context_collect(ctx);
  assert_int_equal(p.deleted, 0);
  free(m);
  managed_v0 *old = produce_v0(&p);
  old->deleter = NULL;
  OK(nx_from_dlpack_v0(ctx, old, NX_IMPORT_SHARED, &t));
  release(t);
  nx_context_collect(ctx);
  free(old);
}

/* ---- lending */

static void lent_views(void **state) {
  (void)state;
  nx_tensor *line = vector(24, 0, 1), *x = GOOD(nx_reshape(line, NX_SHAPE(4, 6), 0));
  nx_tensor *view = GOOD(nx_slice(x, (int64_t[]){3, 1}, (int64_t[]){2, 3}, (int64_t[]){-2, 2}, 2));
  managed *m = NULL;
  OK(nx_to_dlpack(view, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
  assert_true(m->major == 1 && m->flags == NXI_DLPACK_READ_ONLY);
  const nxi_dlpack_tensor *t = &m->tensor;
  assert_true(t->device.type == 1 && t->device.id == 0 && t->byte_offset == 0 && t->rank == 2);
  assert_true(t->shape[0] == 2 && t->shape[1] == 3 && t->strides[0] == -12 && t->strides[1] == 2);
  const float *first = t->data;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 3; k++)
      assert_true(first[i * t->strides[0] + k * t->strides[1]] == (float)(19 - 12 * i + 2 * k));
  assert_int_equal(describe(x).flags & NX_TENSOR_EXPOSED, 0);
  nx_tensor *five = number(5);
  OK(nx_assign(line, five)); /* a read mapping shows an assign once that is realised */
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_true(first[0] == 5);
  release(line), release(x), release(view), release(five);
  assert_true(first[-12] == 5); /* the loan outlives the tensor */
  m->deleter(m);

  nx_tensor *scalar = number(3);
  OK(nx_to_dlpack(scalar, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
  assert_true(m->tensor.rank == 0 && *(float *)m->tensor.data == 3);
  m->deleter(m);
  release(scalar);
}

/* Writing through a loan changes the tensor and its views, nothing recorded before, and no copy. */
static void lent_for_writing(void **state) {
  (void)state;
  for (int v0 = 0; v0 < 2; v0++) {
    nx_tensor *x = vector(4, 1, 1), *twin = vector(4, 1, 1), *doubled = nx_add(x, x);
    nx_tensor *moved = constant(4, 0);
    OK(nx_assign(moved, x));
    managed *m = NULL;
    managed_v0 *old = NULL;
    if (v0) OK(nx_to_dlpack_v0(x, NX_DLPACK_NO_STREAM, &old));
    else OK(nx_to_dlpack(x, NX_MAP_READ | NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m));
    if (m) assert_int_equal(m->flags, 0);
    float *p = v0 ? old->tensor.data : m->tensor.data;
    p[0] = 100;
    EXPECT(x, 100, 2, 3, 4);
    EXPECT(twin, 1, 2, 3, 4);
    EXPECT(doubled, 2, 4, 6, 8);
    EXPECT(moved, 1, 2, 3, 4);
    assert_true(describe(x).flags & NX_TENSOR_EXPOSED);
    nx_tensor *now = nx_neg(x);
    p[0] = 7;
    EXPECT(now, -100, -2, -3, -4);
    if (v0) old->deleter(old);
    else m->deleter(m);
    nx_context_collect(ctx);
    assert_int_equal(describe(x).flags & NX_TENSOR_EXPOSED, 0);
    EXPECT(x, 7, 2, 3, 4);
    release(x), release(twin), release(doubled), release(moved), release(now);
  }
}

static void not_lent(void **state) {
  (void)state;
  nx_tensor *x = vector(4, 1, 1), *hole = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(2)));
  managed *m = NULL;
  managed_v0 *old = NULL;
  const int64_t streams[] = {0, 1, 2, -2, INT64_MAX};
  for (int i = 0; i < 5; i++) {
    FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(x, NX_MAP_READ, streams[i], &m));
    FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack_v0(x, streams[i], &old));
  }
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(x, 0, NX_DLPACK_NO_STREAM, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(x, 4, NX_DLPACK_NO_STREAM, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack(NULL, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
  FAILS(NX_INVALID_ARGUMENT, nx_to_dlpack_v0(x, NX_DLPACK_NO_STREAM, NULL));
  FAILS(NX_UNBOUND, nx_to_dlpack(hole, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
  release(hole), release(x);
  producer p;
  begin(&p);
  x = take(&p, NX_IMPORT_IMMUTABLE);
  assert_int_equal(nx_to_dlpack_v0(x, NX_DLPACK_NO_STREAM, &old), NX_NOT_WRITABLE);
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  assert_string_equal(e.op, "to_dlpack");
  FAILS(NX_NOT_WRITABLE, nx_to_dlpack(x, NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m));
  assert_null(m);
  assert_null(old);
  OK(nx_to_dlpack(x, NX_MAP_READ, NX_DLPACK_NO_STREAM, &m));
  assert_ptr_equal(m->tensor.data, p.data);
  m->deleter(m);
  drop(x, &p);
}

static void *delete_elsewhere(void *loan) {
  managed *m = loan;
  m->deleter(m);
  return NULL;
}

/* The loan is all that is left of its context; another thread ends it. */
static void the_end_elsewhere(void **state) {
  (void)state;
  nx_context *usual = ctx;
  nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  OK(nx_context_create(&o, &ctx));
  nx_tensor *x = vector(1000, 0, 1);
  enum { LOANS = 8 };
  managed *m[LOANS];
  pthread_t threads[LOANS];
  for (int i = 0; i < LOANS; i++)
    OK(nx_to_dlpack(x, i % 2 ? NX_MAP_READ : NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m[i]));
  release(x);
  nx_context_release(ctx);
  ctx = usual;
  for (int i = 0; i < LOANS; i++) assert_true(((float *)m[i]->tensor.data)[999] == 999);
  for (int i = 0; i < LOANS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, delete_elsewhere, m[i]), 0);
  for (int i = 0; i < LOANS; i++) pthread_join(threads[i], NULL);
}

/* Out and in again: the same memory, which stays until the import has let go. */
static void there_and_back(void **state) {
  (void)state;
  nx_tensor *x = vector(6, 0, 1), *view = part(x, 5, 3, -2), *back = NULL, *one = number(1);
  managed *m;
  OK(nx_to_dlpack(view, NX_MAP_READ | NX_MAP_WRITE, NX_DLPACK_NO_STREAM, &m));
  float *first = m->tensor.data;
  OK(nx_from_dlpack(ctx, m, NX_IMPORT_SHARED, &back));
  EXPECT(back, 5, 3, 1);
  OK(nx_assign(back, one));
  assert_true(first[0] == 1 && first[-1] == 4);
  EXPECT(x, 0, 1, 2, 1, 4, 1);
  release(x), release(view);
  EXPECT(back, 1, 1, 1);
  release(back), release(one);
  nx_context_collect(ctx);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_int_equal(s.live_bytes, 0);
}

NXT_MAIN(dlpack) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modes),
      cmocka_unit_test(page_locked_memory),
      cmocka_unit_test(who_sees_writes),
      cmocka_unit_test(pending_work_keeps_it),
      cmocka_unit_test(collecting_by_hand),
      cmocka_unit_test(layouts),
      cmocka_unit_test(without_elements),
      cmocka_unit_test(unaligned),
      cmocka_unit_test(element_types),
      cmocka_unit_test(nibbles),
      cmocka_unit_test(nibbles_from_within),
      cmocka_unit_test(strides_that_mean_nothing),
      cmocka_unit_test(bools),
      cmocka_unit_test(what_must_be_taken),
      cmocka_unit_test(lent_views),
      cmocka_unit_test(lent_for_writing),
      cmocka_unit_test(not_lent),
      cmocka_unit_test(the_end_elsewhere),
      cmocka_unit_test(there_and_back),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
