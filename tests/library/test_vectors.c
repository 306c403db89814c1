/* SPDX-License-Identifier: ISC */
/* Products with a vector through the interface: each element is the sum of the products over the
 * last axis, bit for bit, whichever operand is the vector, however the matrix lies in memory, of
 * lengths that no vector divides and of those that are reduced in pieces. Those of an inner extent
 * of 1 are elementwise ones. */
#include "tests/util/api.h"

enum { MOST = 1 << 13 }; /* bytes of a result */

static nx_tensor *wave(nx_dtype type, const int64_t *shape, int32_t rank, double scale) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  nx_tensor *x = nx_sin(nx_binary_f64(vector(n, 1, 1), NX_BINARY_MUL, 1.37));
  x = GOOD(nx_cast(nx_binary_f64(x, NX_BINARY_MUL, scale), type));
  x = GOOD(nx_reshape(x, shape, rank, 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  return x;
}

static void expect_same(nx_tensor *a, nx_tensor *b) {
  static char is[MOST], wanted[MOST];
  nx_dtype type = nx_dtype_of(a);
  size_t n = (size_t)nx_elements(a), bytes = n * (type == NX_F64 ? 8 : type == NX_BF16 ? 2 : 4);
  assert_true(bytes <= sizeof is && nx_elements(a) == nx_elements(b));
  OK(nx_read(GOOD(a), is, bytes, NULL));
  OK(nx_read(GOOD(b), wanted, bytes, NULL));
  assert_memory_equal(is, wanted, bytes);
}

/* The sum over the last axis of m times x, computed and rounded as a product is. */
static nx_tensor *summed(nx_tensor *m, nx_tensor *x) {
  nx_dtype type = nx_dtype_of(m);
  if (type == NX_BF16) m = nx_cast(m, NX_F32), x = nx_cast(x, NX_F32);
  return GOOD(nx_cast(nx_reduce_sum(nx_mul(m, x), NX_AXES(-1), 0), type));
}

static nx_tensor *transposed(nx_tensor *m) {
  return GOOD(nx_rank(m) == 3 ? nx_permute(m, NX_AXES(0, 2, 1)) : nx_permute(m, NX_AXES(1, 0)));
}

static void check(nx_dtype type, int64_t rows, int64_t inner) {
  nx_tensor *m = wave(type, NX_SHAPE(rows, inner), 10), *x = wave(type, NX_SHAPE(inner), 10),
            *turned = GOOD(nx_copy(transposed(m))), *wanted;
  OK(nx_realize(ctx, &turned, 1, NULL));
  wanted = summed(m, x);
  expect_same(nx_matmul(m, x), wanted);
  expect_same(nx_matmul(transposed(turned), x), wanted);
  expect_same(nx_matmul(x, turned), wanted);
  expect_same(nx_matmul(x, transposed(m)), wanted);
}

static void they_are_sums_of_products(void **state) {
  (void)state;
  const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_I32};
  const int64_t extents[][2] = {{1, 40}, {33, 7}, {5, 333}, {70, 65}, {3, 5000}, {300, 700}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
      if (t == 0 || i % 3 == t - 1) check(types[t], extents[i][0], extents[i][1]);
}

static void of_several_and_of_one_matrix(void **state) {
  (void)state;
  nx_tensor *m = wave(NX_F32, NX_SHAPE(3, 50, 90), 3), *x = wave(NX_F32, NX_SHAPE(3, 1, 90), 3),
            *one = wave(NX_F32, NX_SHAPE(90), 3);
  expect_same(nx_matmul(x, transposed(m)), summed(m, x));
  expect_same(nx_matmul(m, transposed(x)), summed(m, x));
  expect_same(nx_matmul(m, one), summed(m, one));
}

/* A column times a row; zeros, and what becomes zero, keep their sign. */
static void check_outer(nx_dtype type, int64_t batch, int64_t rows, int64_t columns) {
  const double tiny = type == NX_F64 ? 1e-200 : type == NX_I32 ? 3 : 1e-30;
  const nx_dtype wide = type == NX_BF16 ? NX_F32 : type;
  nx_tensor *a = wave(type, NX_SHAPE(batch, rows, 1), tiny),
            *b = wave(type, NX_SHAPE(batch, 1, columns), tiny);
  b = GOOD(nx_mul(b, nx_cast(nx_cmplt(b, nx_full_f64(ctx, 0, type, NULL, 0, 0)), type)));
  OK(nx_realize(ctx, &b, 1, NULL));
  nx_tensor *one = nx_mul(nx_cast(a, wide), nx_cast(b, wide));
  expect_same(nx_matmul(a, b), GOOD(nx_cast(one, type)));
  expect_same(nx_add(nx_matmul(a, b), b), nx_add(GOOD(nx_cast(one, type)), b));
}

static void of_an_inner_extent_of_one(void **state) {
  (void)state;
  const nx_dtype types[] = {NX_F32, NX_F64, NX_BF16, NX_I32};
  const int64_t extents[][3] = {{1, 40, 23}, {3, 70, 1}, {3, 1, 70}, {1, 5, 7}, {9, 1, 1}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++)
      check_outer(types[t], extents[i][0], extents[i][1], extents[i][2]);
}

/* Scales of groups of weights in few bits, multiplied in the product. */
static void of_scaled_bytes(void **state) {
  (void)state;
  nx_tensor *w = wave(NX_I8, NX_SHAPE(48, 4, 32), 100), *x = wave(NX_F32, NX_SHAPE(128), 2),
            *scales = wave(NX_F32, NX_SHAPE(48, 4, 1), 1);
  nx_tensor *m = nx_reshape(nx_mul(nx_cast(w, NX_F32), scales), NX_SHAPE(48, 128), 0);
  nx_tensor *stored = GOOD(nx_copy(GOOD(m)));
  expect_same(nx_matmul(m, x), summed(stored, x));
}

NXT_MAIN(vectors) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(they_are_sums_of_products),
      IN_SCOPE(of_several_and_of_one_matrix),
      IN_SCOPE(of_an_inner_extent_of_one),
      IN_SCOPE(of_scaled_bytes),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
