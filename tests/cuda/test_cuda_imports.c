/* SPDX-License-Identifier: ISC */
/* Tests of how often memory of the host is copied to a GPU: once while nobody writes it, again
 * after somebody has, and in each run while somebody may. And of what becomes of the copies when
 * the GPU's memory is short. */
#include "fake_device.h"

#include "tests/util/runner.h"

enum { N = 3000, BYTES = N * 4, LARGE = 1 << 17 };

static void count_release(void *user) { ++*(int *)user; }

static nx_tensor *import_of(float *from, int64_t n, uint32_t mode, int *released) {
  nx_import_desc d = {.size = sizeof d,
                      .mode = mode,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = &n,
                      .base = from,
                      .bytes = (size_t)n * sizeof *from,
                      .release = released != NULL ? count_release : NULL,
                      .user = released};
  nx_tensor *t = NULL;
  OK(nx_import(ctx, &d, &t));
  return t;
}

static void fill(float *to, int64_t n, float first) {
  for (int64_t i = 0; i < n; i++) to[i] = first + (float)(i % 100);
}

static nx_tensor *on_gpu(nx_tensor *x) { return GOOD(nx_to_device(x, CUDA)); }

/* x on the GPU times `scale` has the elements scale * (first + i % 100); returns the bytes that
 * went up for it. */
static int64_t use(nx_tensor *x, int64_t n, float first, float scale) {
  static float is[LARGE];
  const int64_t before = fake->uploaded;
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *y =
      GOOD(nx_mul(on_gpu(x), GOOD(nx_full(ctx, CUDA, NX_F32, NULL, 0, NX_NUMBER(scale)))));
  OK(nx_read(y, is, (size_t)n * sizeof *is, NULL));
  nx_scope_end(scope);
  for (int64_t i = 0; i < n; i++)
    if (is[i] != scale * (first + (float)(i % 100)))
      fail_msg("element %lld is %g", (long long)i, (double)is[i]);
  return fake->uploaded - before;
}

static nx_mapping *writing(nx_tensor *x, float **at) {
  nx_mapping *m = NULL;
  OK(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m));
  *at = nx_mapping_base(m, NULL);
  return m;
}

static void immutable_memory_goes_up_once(void **state) {
  static float data[N];
  int released = 0;
  (void)state;
  fill(data, N, 1);
  nx_tensor *x = import_of(data, N, NX_IMPORT_IMMUTABLE, &released);
  assert_int_equal(use(x, N, 1, 2), BYTES);
  for (int i = 3; i < 8; i++) {
    assert_int_equal(use(x, N, 1, (float)i), 0);
    nx_context_collect(ctx);
  }
  nx_tensor_release(x);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
}

/* Host code may write at any time, and nobody is told. */
static void shared_memory_goes_up_each_time(void **state) {
  static float data[N];
  (void)state;
  fill(data, N, 1);
  nx_tensor *x = import_of(data, N, NX_IMPORT_SHARED, NULL);
  for (int i = 0; i < 3; i++) {
    fill(data, N, (float)i);
    assert_int_equal(use(x, N, (float)i, 2), BYTES);
  }
}

/* The last that the host has written is what there is when sharing ends. */
static void sharing_ends(void **state) {
  static float data[N];
  (void)state;
  fill(data, N, 1);
  nx_tensor *x = import_of(data, N, NX_IMPORT_SHARED, NULL);
  assert_int_equal(use(x, N, 1, 2), BYTES);
  fill(data, N, 50);
  OK(nx_end_sharing(x, NULL));
  assert_int_equal(use(x, N, 50, 2), BYTES);
  assert_int_equal(use(x, N, 50, 3), 0);
}

static void announced_writes(void **state) {
  static float data[N];
  int released = 0;
  float *at;
  (void)state;
  for (uint64_t seed = 0; seed < 4; seed++) {
    fake->delay = seed;
    released = 0;
    fill(data, N, 1);
    nx_tensor *x = import_of(data, N, NX_IMPORT_MAPPED, &released);
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(x, &info);
    assert_int_equal(info.flags & NX_TENSOR_EXPOSED, 0);
    assert_int_equal(use(x, N, 1, 2), BYTES);
    assert_int_equal(use(x, N, 1, 3), 0);
    nx_tensor *old = GOOD(nx_add(on_gpu(x), on_gpu(x))), *older = GOOD(nx_neg(x));
    nx_mapping *m = writing(x, &at); /* what was recorded sees the old contents */
    assert_ptr_equal(at, data);
    for (int i = 0; i < 3; i++) {
      fill(data, N, (float)(10 + i));
      assert_int_equal(use(x, N, (float)(10 + i), 2), BYTES);
    }
    fill(data, N, 20);
    nx_mapping_release(m);
    assert_int_equal(use(x, N, 20, 2), BYTES);
    assert_int_equal(use(x, N, 20, 3), 0);
    EXPECT(part(old, 0, 3, 1), 2, 4, 6);
    EXPECT(part(older, 0, 3, 1), -1, -2, -3);
    nx_tensor_release(old);
    nx_tensor_release(older);
    nx_tensor_release(x);
    nx_context_collect(ctx);
    nx_context_collect(ctx);
    assert_int_equal(released, 1);
    fake->delay = 0;
  }
}

/* What is assigned is in the host's memory, and on the GPU, once it is realised. */
static void assigns_are_seen(void **state) {
  static float data[N];
  (void)state;
  fill(data, N, 1);
  nx_tensor *x = import_of(data, N, NX_IMPORT_MAPPED, NULL);
  assert_int_equal(use(x, N, 1, 2), BYTES);
  nx_tensor *before = GOOD(nx_mul(x, number(1)));
  OK(nx_assign(x, GOOD(nx_add(x, constant(N, 4)))));
  assert_true(data[0] == 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_true(data[0] == 5 && data[1] == 6);
  assert_int_equal(use(x, N, 5, 2), BYTES);
  assert_int_equal(use(x, N, 5, 3), 0);
  EXPECT(part(before, 0, 3, 1), 1, 2, 3);
  OK(nx_assign(part(x, 0, 2, 1), GOOD(nx_full(ctx, 0, NX_F32, NULL, 0, NX_NUMBER(-1)))));
  EXPECT(part(on_gpu(x), 0, 4, 1), -1, -1, 7, 8);
  OK(nx_end_sharing(x, NULL));
  EXPECT(part(on_gpu(x), 0, 4, 1), -1, -1, 7, 8);
}

/* What is written in place in the host's memory is newer than the copy on the GPU. */
static void updates_of_the_processor(void **state) {
  static float data[LARGE];
  (void)state;
  fill(data, LARGE, 1);
  nx_tensor *x = import_of(data, LARGE, NX_IMPORT_COPY, NULL);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(use(x, LARGE, (float)(1 + i), 2), LARGE * 4);
    assert_int_equal(use(x, LARGE, (float)(1 + i), 3), 0);
    nx_context_collect(ctx);
    for (int half = 0; half < 2; half++) {
      nx_scope *scope = nx_scope_begin(ctx);
      nx_tensor *to = part(x, half * LARGE / 2, LARGE / 2, 1);
      OK(nx_assign(to, GOOD(nx_add(to, constant(LARGE / 2, 1)))));
      nx_scope_end(scope); /* nobody can ask for what was there before */
      OK(nx_realize(ctx, &x, 1, NULL));
    }
  }
}

/* Nobody writes what is mapped for reading. */
static void mapped_for_reading(void **state) {
  static float data[N];
  (void)state;
  fill(data, N, 1);
  nx_tensor *x = on_gpu(import_of(data, N, NX_IMPORT_COPY, NULL));
  nx_mapping *m = NULL;
  OK(nx_map(x, NX_MAP_READ, NULL, &m));
  const float *at = nx_mapping_base(m, NULL);
  const int64_t before = fake->uploaded;
  for (int i = 0; i < 3; i++) {
    nx_tensor *y = GOOD(nx_add(x, x));
    EXPECT(part(y, 0, 3, 1), 2, 4, 6);
  }
  assert_int_equal(fake->uploaded, before);
  OK(nx_assign(x, GOOD(nx_add(x, x))));
  OK(nx_realize(ctx, &x, 1, NULL));
  assert_true(at[0] == 2 && at[1] == 4);
  EXPECT(part(nx_neg(x), 0, 2, 1), -2, -4);
  nx_mapping_release(m);
}

/* An array and a part of it, both imported: what is written of one shows in the other. */
static void imports_that_overlap(void **state) {
  static float data[N];
  float *at;
  (void)state;
  fill(data, N, 1);
  nx_tensor *x = import_of(data, N, NX_IMPORT_MAPPED, NULL);
  assert_int_equal(use(x, N, 1, 2), BYTES);
  nx_tensor *end = import_of(data + N / 2, N / 2, NX_IMPORT_MAPPED, NULL);
  nx_mapping *m = writing(end, &at);
  at[0] = -7;
  EXPECT(part(on_gpu(x), N / 2, 2, 1), -7, 2);
  nx_mapping_release(m);
  nx_tensor_release(end);
  nx_context_collect(ctx);
  at[0] = 1;
  EXPECT(part(on_gpu(x), N / 2, 2, 1), 1, 2);
}

/* ---- memory of the GPU is short */

static void copies_make_room(void **state) {
  enum { MANY = 6 };
  static float data[MANY][LARGE];
  nx_tensor *x[MANY];
  (void)state;
  for (int i = 0; i < MANY; i++) {
    fill(data[i], LARGE, (float)i);
    x[i] = import_of(data[i], LARGE, i % 2 ? NX_IMPORT_MAPPED : NX_IMPORT_IMMUTABLE, NULL);
  }
  nx_device_trim(ctx, CUDA);
  fake->most_memory = fake->memory + INT64_C(3) * LARGE * 4 + (1 << 16);
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < MANY; i++) {
      nx_scope *scope = nx_scope_begin(ctx);
      nx_tensor *y = GOOD(nx_add(on_gpu(x[i]), ramp(LARGE, 0)));
      EXPECT(part(y, 0, 3, 1), (float)i, (float)(i + 1), (float)(i + 2));
      nx_scope_end(scope);
      nx_context_collect(ctx);
    }
  fake->most_memory = 0;
  const int64_t before = fake->memory;
  OK(nx_device_trim(ctx, CUDA)); /* copies go, too */
  assert_true(fake->memory < before);
  const int64_t up = fake->uploaded;
  EXPECT(part(on_gpu(x[0]), 0, 3, 1), 0, 1, 2);
  assert_int_equal(fake->uploaded - up, (int64_t)LARGE * 4);
}

/* The same within a context's limit; what there is once alone does not go. */
static void copies_make_room_within_a_limit(void **state) {
  enum { MANY = 5 };
  static float data[MANY][LARGE];
  nx_context *own = ctx;
  const nx_context_options o = {.size = sizeof o, .memory_limit = INT64_C(4) * LARGE * 4};
  (void)state;
  OK(nx_context_create(&o, &ctx));
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x[MANY], *kept = GOOD(nx_neg(ramp(LARGE, 1)));
  OK(nx_realize(ctx, &kept, 1, NULL));
  for (int i = 0; i < MANY; i++) {
    fill(data[i], LARGE, (float)i);
    x[i] = import_of(data[i], LARGE, NX_IMPORT_IMMUTABLE, NULL);
    nx_scope *inner = nx_scope_begin(ctx);
    EXPECT(part(nx_add(on_gpu(x[i]), kept), 0, 3, 1), (float)i, (float)i, (float)i);
    nx_scope_end(inner);
    nx_context_collect(ctx);
  }
  nx_tensor *all[4];
  for (int i = 0; i < 4; i++) all[i] = GOOD(nx_mul(kept, on_gpu(x[i])));
  FAILS(NX_OUT_OF_MEMORY, nx_realize(ctx, all, 4, NULL));
  EXPECT(part(kept, 0, 3, 1), 0, -1, -2);
  nx_scope_end(scope);
  nx_context_release(ctx);
  ctx = own;
}

NXT_MAIN(cuda_imports) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(immutable_memory_goes_up_once),
      IN_SCOPE(shared_memory_goes_up_each_time),
      IN_SCOPE(sharing_ends),
      IN_SCOPE(announced_writes),
      IN_SCOPE(assigns_are_seen),
      IN_SCOPE(updates_of_the_processor),
      IN_SCOPE(mapped_for_reading),
      IN_SCOPE(imports_that_overlap),
      IN_SCOPE(copies_make_room),
      IN_SCOPE(copies_make_room_within_a_limit),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
