/* SPDX-License-Identifier: ISC */
/* sort, argsort and permutation through the interface: directions, axes, layouts, dtypes that are
 * no bytes or pairs in memory, what is refused, fusion with what surrounds them, the same bits for
 * every number of threads, polls, golden permutations. That lines are sorted right is for
 * test_sort.c. */
#include "call_util.h"

#include <math.h>
#include <stdatomic.h>

#include "runtime/realize/async/offload.h"
#include "tests/util/runner.h"

static nx_tensor *tensor_of(nx_dtype t, const int64_t *shape, int32_t rank, const void *data,
                            size_t bytes) {
  nx_tensor *x = GOOD(nx_empty(ctx, 0, t, shape, rank));
  OK(nx_write(x, data, bytes, NULL));
  return x;
}
#define FLOATS(shape, ...) \
  tensor_of(NX_F32, shape, (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}))

static void expect_bytes(nx_tensor *t, const void *wanted, size_t n) {
  char *is = malloc(n + 1);
  OK(nx_read(GOOD(t), is, n, NULL));
  assert_memory_equal(is, wanted, n);
  free(is);
}
#define EXPECT_I32(t, ...) \
  expect_bytes((t), (const int32_t[]){__VA_ARGS__}, sizeof((const int32_t[]){__VA_ARGS__}))

/* Without NaNs, and whatever the elements are. */
static nx_tensor *scrambled(const int64_t *shape, int32_t rank) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  int32_t *data = malloc((size_t)n * sizeof *data);
  uint32_t x = 12345;
  for (int64_t i = 0; i < n; i++) {
    x = x * 1664525 + 1013904223;
    data[i] = (int32_t)(x >> 8) % 1000 - 500;
  }
  nx_tensor *t = tensor_of(NX_I32, shape, rank, data, (size_t)n * sizeof *data);
  free(data);
  return t;
}

static void directions(void **state) {
  (void)state;
  nx_tensor *x = FLOATS(NX_SHAPE(2, 5), 3, -1, 2, 3, -INFINITY, 0.0F, 5, -0.0F, 5, 0.0F);
  EXPECT(GOOD(nx_sort(x, 1, 0)), -INFINITY, -1, 2, 3, 3, 0, 0, 0, 5, 5);
  EXPECT(GOOD(nx_sort(x, -1, NX_DESCENDING)), 3, 3, 2, -1, -INFINITY, 5, 5, 0, 0, 0);
  EXPECT_I32(nx_argsort(x, -1, 0, NX_I32), 4, 1, 2, 0, 3, 0, 2, 4, 1, 3);
  EXPECT_I32(nx_argsort(x, 1, NX_DESCENDING, NX_I32), 0, 3, 2, 1, 4, 1, 3, 0, 2, 4);
  EXPECT_I32(nx_argsort(x, 0, 0, NX_I32), 1, 0, 1, 0, 0, 0, 1, 0, 1, 1);
  const uint32_t bits[5] = {0x7fc00001, 0x80000000, 0xffc12345, 0, 0x3f800000},
                 up[5] = {0x80000000, 0, 0x3f800000, 0x7fc00001, 0xffc12345},
                 down[5] = {0x3f800000, 0x80000000, 0, 0x7fc00001, 0xffc12345};
  x = tensor_of(NX_F32, NX_SHAPE(5), bits, sizeof bits);
  expect_bytes(nx_sort(x, 0, 0), up, sizeof up);
  expect_bytes(nx_sort(x, 0, NX_DESCENDING), down, sizeof down);
}

static void first_ones(void **state) {
  (void)state;
  nx_tensor *x = FLOATS(NX_SHAPE(2, 5), 3, -1, 2, 3, -INFINITY, NAN, 5, -0.0F, 5, 0.0F), *v, *p;
  OK(nx_top_k(x, 2, 1, 0, NX_I32, &v, &p));
  EXPECT(v, 3, 3, 5, 5);
  EXPECT_I32(p, 0, 3, 1, 3);
  OK(nx_top_k(x, 3, -1, NX_SMALLEST, NX_I64, &v, &p));
  EXPECT(v, -INFINITY, -1, 2, 0, 0, 5);
  expect_bytes(p, (const int64_t[]){4, 1, 2, 2, 4, 1}, 48);
  OK(nx_top_k(x, 1, 0, 0, NX_I32, &v, NULL));
  EXPECT(v, 3, 5, 2, 5, 0);
  OK(nx_top_k(x, 5, 1, NX_SMALLEST, NX_I32, NULL, &p));
  EXPECT_I32(p, 4, 1, 2, 0, 3, 2, 4, 1, 3, 0);
  OK(nx_top_k(x, 0, 1, 0, NX_I32, &v, &p));
  assert_int_equal(nx_shape(v)[1], 0);
  expect_bytes(p, "", 0);
}

/* What a sort gives, both where one is done instead and where none is. */
static void first_of_sort(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{3, 900, 2}, {20, 50, 1}, {1, 40000, 1}, {2, 300, 20}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int64_t k = 1; k < shapes[i][1]; k = 5 * k + 2) {
      nx_tensor *x = nx_cast(scrambled(shapes[i], 3), NX_F32), *v, *p;
      const int64_t start[3] = {0}, step[3] = {1, 1, 1}, count[3] = {shapes[i][0], k, shapes[i][2]};
      const size_t n = (size_t)(shapes[i][0] * k * shapes[i][2]) * 4;
      char *wanted = malloc(n);
      OK(nx_top_k(x, k, 1, k & 1, NX_I32, &v, &p));
      nx_tensor *sorted = GOOD(nx_sort(x, 1, k & 1 ? 0 : NX_DESCENDING)),
                *order = GOOD(nx_argsort(x, 1, k & 1 ? 0 : NX_DESCENDING, NX_I32));
      OK(nx_read(GOOD(nx_slice(sorted, start, count, step, 3)), wanted, n, NULL));
      expect_bytes(v, wanted, n);
      OK(nx_read(GOOD(nx_slice(order, start, count, step, 3)), wanted, n, NULL));
      expect_bytes(p, wanted, n);
      free(wanted);
    }
}

/* Elements of every line, of every axis, against the same axis brought to the end. */
static void axes(void **state) {
  (void)state;
  enum { N = 7 * 6 * 5 };
  nx_tensor *x = scrambled(NX_SHAPE(7, 6, 5));
  const int32_t orders[3][3] = {{1, 2, 0}, {0, 2, 1}, {0, 1, 2}},
                back[3][3] = {{2, 0, 1}, {0, 2, 1}, {0, 1, 2}};
  for (int32_t axis = 0; axis < 3; axis++)
    for (int arg = 0; arg < 2; arg++) {
      nx_tensor *last = GOOD(nx_copy(GOOD(nx_permute(x, orders[axis], 3))));
      nx_tensor *is = arg ? nx_argsort(x, axis - 3, NX_DESCENDING, NX_I32)
                          : nx_sort(x, axis - 3, NX_DESCENDING);
      nx_tensor *same =
          arg ? nx_argsort(last, 2, NX_DESCENDING, NX_I32) : nx_sort(last, 2, NX_DESCENDING);
      int32_t wanted[N];
      OK(nx_read(GOOD(nx_copy(GOOD(nx_permute(GOOD(same), back[axis], 3)))), wanted, sizeof wanted,
                 NULL));
      expect_bytes(is, wanted, sizeof wanted);
    }
}

/* The bits are those of the dense copy, whatever the strides of the operand. */
static void layouts(void **state) {
  (void)state;
  nx_tensor *a = scrambled(NX_SHAPE(6, 9)),
            *views[] = {
                GOOD(nx_permute(a, NX_AXES(1, 0))),
                GOOD(nx_flip(a, NX_AXES(0, 1))),
                GOOD(nx_shrink(a, (int64_t[]){1, 2}, (int64_t[]){5, 8}, 2)),
                GOOD(nx_slice(a, (int64_t[]){0, 1}, (int64_t[]){3, 4}, (int64_t[]){2, 2}, 2)),
                GOOD(nx_expand(GOOD(nx_shrink(a, (int64_t[]){0, 0}, (int64_t[]){1, 9}, 2)),
                               NX_SHAPE(4, 9))),
                GOOD(nx_cast(GOOD(nx_eye(ctx, 0, NX_I32, 5, 7, 1)), NX_I32)),
                GOOD(nx_expand(GOOD(nx_full(ctx, 0, NX_I32, NULL, 0, NX_INTEGER(3))),
                               NX_SHAPE(3, 4)))};
  for (int late = 0; late < 2; late++) /* before and after the memory is there */
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
      for (int32_t axis = 0; axis < 2; axis++) {
        int32_t wanted[81];
        nx_tensor_info info = {.size = sizeof info};
        nx_tensor_describe(views[i], &info);
        const size_t bytes = (size_t)info.elements * sizeof *wanted;
        nx_tensor *dense = GOOD(nx_copy(views[i]));
        OK(nx_realize(ctx, &dense, 1, NULL));
        OK(nx_read(GOOD(nx_argsort(dense, axis, late ? NX_DESCENDING : 0, NX_I32)), wanted, bytes,
                   NULL));
        expect_bytes(nx_argsort(views[i], axis, late ? NX_DESCENDING : 0, NX_I32), wanted, bytes);
        OK(nx_read(GOOD(nx_sort(dense, axis, late ? NX_DESCENDING : 0)), wanted, bytes, NULL));
        expect_bytes(nx_sort(views[i], axis, late ? NX_DESCENDING : 0), wanted, bytes);
        if (late) OK(nx_realize(ctx, &views[i], 1, NULL));
      }
}

static void no_elements_and_many_axes(void **state) {
  (void)state;
  int64_t shape[32];
  for (int i = 0; i < 32; i++) shape[i] = i == 3 ? 3 : i == 31 ? 2 : 1;
  nx_tensor *x = tensor_of(NX_I32, shape, 32, (int32_t[]){5, 1, 3, 2, 4, 0}, 24);
  EXPECT_I32(nx_sort(x, 3, 0), 3, 0, 4, 1, 5, 2);
  EXPECT_I32(nx_argsort(x, -1, 0, NX_I32), 1, 0, 1, 0, 1, 0);
  EXPECT_I32(nx_argsort(x, 17, NX_DESCENDING, NX_I32), 0, 0, 0, 0, 0, 0);
  for (int32_t axis = 0; axis < 3; axis++) {
    nx_tensor *none = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(4, 0, 3)));
    expect_bytes(nx_sort(none, axis, 0), "", 0);
    expect_bytes(nx_argsort(none, axis, NX_DESCENDING, NX_I32), "", 0);
  }
}

/* Two in a byte, and pairs. */
static void packed_and_pairs(void **state) {
  (void)state;
  const uint8_t nibbles[4] = {0x81, 0x7f, 0x20, 0x01}; /* 1 8 15 7 0 2 1 */
  nx_tensor *u = tensor_of(NX_U4, NX_SHAPE(7), nibbles, 4),
            *i = tensor_of(NX_I4, NX_SHAPE(7), nibbles, 4);
  expect_bytes(nx_sort(u, 0, 0), (uint8_t[]){0x10, 0x21, 0x87, 0x0f}, 4);
  expect_bytes(nx_sort(i, 0, 0), (uint8_t[]){0xf8, 0x10, 0x21, 0x07}, 4); /* -8 -1 0 1 1 2 7 */
  EXPECT_I32(nx_argsort(i, 0, NX_DESCENDING, NX_I32), 3, 5, 0, 6, 4, 2, 1);
  const float pairs[10] = {1, 2, NAN, 0, 1, -2, 0, NAN, -1, 9};
  nx_tensor *c = tensor_of(NX_C64, NX_SHAPE(5, 1), pairs, sizeof pairs);
  const float sorted[10] = {-1, 9, 1, -2, 1, 2, NAN, 0, 0, NAN};
  expect_bytes(nx_sort(c, 0, 0), sorted, sizeof sorted);
  EXPECT_I32(nx_argsort(c, 0, NX_DESCENDING, NX_I32), 0, 2, 4, 1, 3);
  nx_tensor *wide = GOOD(nx_cast(c, NX_C128));
  EXPECT_I32(nx_argsort(wide, 0, 0, NX_I32), 4, 2, 0, 1, 3);
  nx_tensor *back = GOOD(nx_cast(GOOD(nx_sort(wide, 0, 0)), NX_C64));
  expect_bytes(nx_shrink(back, (int64_t[]){0, 0}, (int64_t[]){3, 1}, 2), sorted, 3 * 8);
  EXPECT_I32(nx_argsort(nx_cast(c, NX_F16), 0, 0, NX_I32), 4, 3, 0, 2, 1);
}

static void refused(void **state) {
  (void)state;
  nx_error e = {.size = sizeof e};
  nx_tensor *x = vector(4, 0, 1);
  assert_null(nx_sort(NULL, 0, 0));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  for (int32_t axis = -2; axis < 2; axis += 3) {
    assert_null(nx_sort(x, axis, 0));
    assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
    assert_non_null(strstr(e.message, "sort: "));
    assert_non_null(strstr(e.message, "out of range"));
  }
  assert_null(nx_argsort(number(1), 0, 0, NX_I32));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_null(nx_argsort(GOOD(nx_empty(ctx, 0, NX_F8E8M0, NX_SHAPE(3))), 0, 0, NX_I32));
  assert_int_equal(nx_error_take(&e), NX_UNSUPPORTED_DTYPE);
  assert_int_equal(e.operand, 0);
  nx_tensor *kept = x;
  FAILS(NX_INVALID_ARGUMENT, nx_top_k(x, 5, 0, 0, NX_I32, &kept, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_top_k(x, -1, 0, 0, NX_I32, &kept, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_top_k(x, 1, 1, 0, NX_I32, &kept, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_top_k(x, 1, 0, 2, NX_I32, &kept, NULL));
  FAILS(NX_UNSUPPORTED_DTYPE, nx_top_k(x, 1, 0, 0, NX_F32, &kept, NULL));
  assert_ptr_equal(kept, x);
  const int64_t many = (int64_t)INT32_MAX + 1;
  nx_tensor *one = GOOD(nx_empty(ctx, 0, NX_U8, NX_SHAPE(1))),
            *wide = GOOD(nx_expand(one, &many, 1));
  assert_null(nx_argsort(wide, 0, 0, NX_I32));
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  assert_non_null(strstr(e.message, "argsort: axis 0 has 2147483648 elements"));
  GOOD(nx_sort(wide, 0, 0)); /* nobody reads it */
  nx_tensor *key = GOOD(nx_cast(vector(2, 0, 1), NX_U32));
  assert_null(nx_permutation(NULL, 3));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_permutation(x, 3));
  assert_int_equal(nx_error_take(NULL), NX_UNSUPPORTED_DTYPE);
  for (int i = 0; i < 2; i++) {
    assert_null(nx_permutation(key, i ? -1 : many));
    assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
    assert_non_null(strstr(e.message, "permutation: "));
  }
}

/* The kernel that stages the operand computes it, and the one that reads the result does what
 * follows. */
static void fused(void **state) {
  (void)state;
  if (!counts_kernels()) skip();
  nx_tensor *x = scrambled(NX_SHAPE(60, 50)), *t = GOOD(nx_permute(x, NX_AXES(1, 0)));
  realise_in(GOOD(nx_sort(x, 0, 0)), 0, 1);
  realise_in(GOOD(nx_sort(t, 0, 0)), 1, 1);
  nx_tensor *in = GOOD(nx_abs(GOOD(nx_sub(x, GOOD(nx_mul(x, x))))));
  realise_in(GOOD(nx_neg(GOOD(nx_cast(GOOD(nx_sort(in, 1, NX_DESCENDING)), NX_F32)))), 2, 1);
  /* What the call before has stored of `in` is kept. */
  realise_in(GOOD(nx_reduce_sum(GOOD(nx_sort(in, 1, NX_DESCENDING)), NX_AXES(0), 0)), 1, 1);
}

static void same_bits(void **state) {
  (void)state;
  const int64_t shapes[3][2] = {{1, 150000}, {700, 150}, {9000, 11}};
  for (int s = 0; s < 3; s++) {
    const size_t n = (size_t)(shapes[s][0] * shapes[s][1]);
    int32_t *first = malloc(n * sizeof *first), *is = malloc(n * sizeof *is);
    for (int threads = 1; threads < 4; threads++) {
      nx_context *kept = ctx;
      nx_context_options o = {.size = sizeof o, .threads = threads};
      OK(nx_context_create(&o, &ctx));
      nx_tensor *x = scrambled(shapes[s], 2), *y = GOOD(nx_argsort(x, 1, NX_DESCENDING, NX_I32)),
                *z = GOOD(nx_sort(x, 0, 0));
      OK(nx_read(y, is, n * sizeof *is, NULL));
      if (threads == 1) memcpy(first, is, n * sizeof *is);
      assert_memory_equal(is, first, n * sizeof *is);
      OK(nx_read(z, is, n * sizeof *is, NULL));
      release(x), release(y), release(z);
      nx_context_release(ctx);
      ctx = kept;
    }
    free(first), free(is);
  }
}

static int32_t stop_later(void *user) { return ++*(int *)user > 1; }

/* Time between polls is cut, so that a sort sees some; on a busy machine the caller may wake after
 * it all the same, and then it is tried again. */
static void interrupted(void **state) {
  (void)state;
  nx_tensor *x = scrambled(NX_SHAPE(2000000)), *y = NULL;
  OK(nx_realize(ctx, &x, 1, NULL));
  int polls = 0;
  nx_status status = NX_OK;
  nx_run_options o = {.size = sizeof o, .poll = stop_later, .user = &polls};
  atomic_store(&nxi_offload_poll_ns, 50 * 1000);
  for (int tries = 0; tries < 20 && status == NX_OK; tries++) {
    polls = 0;
    y = GOOD(nx_argsort(x, 0, 0, NX_I32));
    status = nx_realize(ctx, &y, 1, &o);
  }
  FAILS(NX_INTERRUPTED, status);
  atomic_store(&nxi_offload_poll_ns, 10 * 1000 * 1000);
  assert_true(polls >= 2);
  OK(nx_realize(ctx, &y, 1, NULL));
}

static nx_tensor *operand, *result;
static void prepare(void) { operand = scrambled(NX_SHAPE(3, 70)); }
static nx_status program(void) {
  result = nx_sort(operand, 1, 0);
  return result ? nx_realize(ctx, &result, 1, NULL) : NX_OUT_OF_MEMORY;
}
static void finish(void) {
  if (result) OK(nx_realize(ctx, &result, 1, NULL));
  release(operand), release(result);
}
static void allocations(void **state) {
  (void)state;
  each_allocation_fails(prepare, program, finish);
}

/* Threefry and a stable sort of another program. */
static void permutations(void **state) {
  (void)state;
  nx_tensor *key = tensor_of(NX_U32, NX_SHAPE(2), (uint32_t[]){0, 0}, 8),
            *other = tensor_of(NX_I32, NX_SHAPE(2), (int32_t[]){42, -7}, 8),
            *third = tensor_of(NX_I32, NX_SHAPE(2), (int32_t[]){1, 2}, 8);
  EXPECT_I32(nx_permutation(key, 12), 7, 8, 9, 10, 1, 5, 11, 2, 0, 6, 4, 3);
  EXPECT_I32(nx_permutation(other, 16), 5, 12, 13, 7, 0, 1, 6, 2, 10, 15, 4, 11, 8, 9, 3, 14);
  EXPECT_I32(nx_permutation(other, 1), 0);
  expect_bytes(nx_permutation(other, 0), "", 0);
  enum { N = 100000 };
  int32_t *order = malloc(N * sizeof *order);
  OK(nx_read(GOOD(nx_permutation(third, N)), order, N * sizeof *order, NULL));
  const int32_t ends[8] = {30234, 55390, 89274, 91551, 80436, 57217, 35409, 68830};
  assert_memory_equal(order, ends, 16);
  assert_memory_equal(order + N - 4, ends + 4, 16);
  int64_t sum = 0;
  for (int64_t i = 0; i < N; i++) sum += order[i] * (i + 1);
  assert_true(sum == 249959563168158);
  free(order);
}

NXT_MAIN(sort_api) {
  const struct CMUnitTest tests[] = {IN_SCOPE(directions),    IN_SCOPE(first_ones),
                                     IN_SCOPE(first_of_sort), IN_SCOPE(axes),
                                     IN_SCOPE(layouts),       IN_SCOPE(refused),
                                     IN_SCOPE(fused),         IN_SCOPE(no_elements_and_many_axes),
                                     IN_SCOPE(same_bits),     IN_SCOPE(packed_and_pairs),
                                     IN_SCOPE(interrupted),   IN_SCOPE(allocations),
                                     IN_SCOPE(permutations)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
