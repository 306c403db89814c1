/* SPDX-License-Identifier: ISC */
/* Products of small integers through the interface: casts, views, results of fewer bits and of
 * more, i4, against a sum of products, which is no product of matrices. */
#include "tests/util/api.h"

enum { MOST = 1 << 19 }; /* bytes of a result */

static nx_tensor *stepped(nx_dtype type, const int64_t *shape, int32_t rank, int64_t step) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  nx_tensor *x = GOOD(nx_arange(ctx, 0, NX_I32, NX_INTEGER(7), NX_INTEGER(step), n));
  x = GOOD(nx_reshape(nx_cast(x, type), shape, rank, 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  return x;
}

static void expect_same(nx_tensor *a, nx_tensor *b) {
  static char is[MOST], must_be[MOST];
  size_t n = (size_t)nx_elements(GOOD(a));
  assert_true(n * 8 <= sizeof is && nx_elements(b) == nx_elements(a) &&
              nx_dtype_of(a) == nx_dtype_of(b));
  nx_tensor *pair[2] = {GOOD(nx_cast(a, NX_I64)), GOOD(nx_cast(b, NX_I64))};
  OK(nx_read(pair[0], is, n * 8, NULL));
  OK(nx_read(pair[1], must_be, n * 8, NULL));
  assert_memory_equal(is, must_be, n * 8);
}

/* The sum of products: a [.., m, k], b [.., k, n], of the same rank. */
static nx_tensor *summed(nx_tensor *a, nx_tensor *b) {
  nx_tensor_info i = {.size = sizeof i}, j = {.size = sizeof j};
  nx_tensor_describe(GOOD(a), &i);
  nx_tensor_describe(GOOD(b), &j);
  int64_t left[8], right[8];
  int32_t rank = i.rank;
  for (int32_t d = 0; d < rank; d++) left[d] = i.shape[d], right[d] = j.shape[d];
  left[rank] = i.shape[rank - 1], left[rank - 1] = 1;
  right[rank] = j.shape[rank - 1], right[rank - 1] = j.shape[rank - 2], right[rank - 2] = 1;
  nx_tensor *x = nx_reshape(a, left, rank + 1, NX_MAY_COPY),
            *y = nx_reshape(b, right, rank + 1, NX_MAY_COPY);
  int32_t axes[8];
  for (int32_t d = 0; d <= rank; d++) axes[d] = d;
  axes[rank - 1] = rank, axes[rank] = rank - 1;
  return GOOD(nx_reduce_sum(nx_mul(x, nx_permute(y, axes, (size_t)rank + 1)), NX_AXES(-1), 0));
}

static nx_tensor *turned(nx_tensor *x) { return GOOD(nx_permute(x, NX_AXES(1, 0))); }

static void check(nx_dtype a, nx_dtype b, nx_dtype sum) {
  nx_tensor *x = nx_cast(stepped(a, NX_SHAPE(40, 50), 37), sum),
            *y = nx_cast(stepped(b, NX_SHAPE(50, 60), 11), sum),
            *z = nx_cast(stepped(b, NX_SHAPE(60, 50), 13), sum);
  expect_same(nx_matmul(GOOD(x), GOOD(y)), summed(x, y));
  expect_same(nx_matmul(x, turned(z)), summed(x, turned(z)));
  expect_same(nx_matmul(turned(y), turned(x)), summed(turned(y), turned(x)));
}

static void of_every_type(void **state) {
  (void)state;
  check(NX_I8, NX_I8, NX_I32);
  check(NX_I8, NX_U8, NX_I32);
  check(NX_U8, NX_I8, NX_U32);
  check(NX_U8, NX_U8, NX_I64);
  check(NX_I8, NX_I8, NX_U64);
  check(NX_I16, NX_I8, NX_I32);
  check(NX_I16, NX_I16, NX_I64);
  check(NX_I8, NX_I8, NX_I8);
  check(NX_U8, NX_U8, NX_U8);
  check(NX_I8, NX_U8, NX_I16);
  check(NX_I4, NX_I4, NX_I32);
  check(NX_U4, NX_I8, NX_I32);
}

static void of_views(void **state) {
  (void)state;
  nx_tensor *x = stepped(NX_I8, NX_SHAPE(3, 40, 50), 37),
            *y = stepped(NX_I8, NX_SHAPE(1, 50, 60), 5),
            *part = GOOD(
                nx_slice(x, (int64_t[]){0, 1, 0}, (int64_t[]){3, 20, 50}, (int64_t[]){1, 2, 1}, 3)),
            *wide = nx_cast(y, NX_I32), *flat = nx_reshape(wide, NX_SHAPE(50, 60), 0);
  expect_same(nx_matmul(nx_cast(x, NX_I32), wide), summed(nx_cast(x, NX_I32), wide));
  expect_same(nx_matmul(nx_cast(x, NX_I32), GOOD(flat)), summed(nx_cast(x, NX_I32), wide));
  expect_same(nx_matmul(nx_cast(part, NX_I32), wide), summed(nx_cast(part, NX_I32), wide));
  nx_tensor *computed = nx_cast(nx_add(x, x), NX_I32);
  expect_same(nx_matmul(computed, flat), summed(computed, wide));
}

NXT_MAIN(integers_api) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(of_every_type),
      IN_SCOPE(of_views),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
