/* SPDX-License-Identifier: ISC */
/* Scans next to the loop that defines their order, over every axis, long and short, fused with what
 * makes and uses them; the same bits from every executor are the business of the random graphs. */
#include "tests/util/api.h"

#include <math.h>

enum { MOST = 120000 };

static float combine(nx_scan_op op, float a, float b) {
  switch (op) {
    case NX_SCAN_SUM: return a + b;
    case NX_SCAN_PROD: return a * b;
    case NX_SCAN_MAX: return isnan(a) || a > b ? a : b;
    default: return isnan(a) || a < b ? a : b;
  }
}

/* [outer, n, inner], along n. */
static void scan_in_order(nx_scan_op op, const float *x, float *y, int64_t outer, int64_t n,
                          int64_t inner) {
  for (int64_t line = 0; line < outer * inner; line++) {
    int64_t first = line / inner * n * inner + line % inner;
    float before = 0, within = 0;
    for (int64_t k = 0; k < n; k++) {
      float e = x[first + k * inner];
      if (k % 1024 == 0) {
        before = k == 0 ? 0 : k == 1024 ? within : combine(op, before, within);
        within = e;
      } else {
        within = combine(op, within, e);
      }
      y[first + k * inner] = k < 1024 ? within : combine(op, before, within);
    }
  }
}

static float x[MOST], y[MOST];

static nx_tensor *given(int64_t outer, int64_t n, int64_t inner) {
  uint32_t seed = (uint32_t)(outer * 31 + n);
  int64_t shape[3] = {outer, n, inner};
  for (int64_t i = 0; i < outer * n * inner; i++) {
    seed = seed * 1664525 + 1013904223;
    x[i] = (float)(seed >> 8) * 0x1p-24F - 0.5F + (i % 5 == 0 ? 0.7F : 0);
  }
  nx_tensor *t = GOOD(nx_empty(ctx, device(), NX_F32, shape, 3));
  OK(nx_write(t, x, (size_t)(outer * n * inner) * sizeof *x, NULL));
  return t;
}

static const int64_t shapes[][3] = {{1, 7, 1},     {3, 1, 4},     {2, 1025, 3},  {1, 3000, 17},
                                    {40, 100, 1},  {19, 2049, 1}, {1, 1500, 70}, {1, 70001, 1},
                                    {1, 40960, 2}, {3, 33000, 1}, {2, 5, 64},    {17, 33, 1},
                                    {0, 4, 2},     {2, 0, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void scan_is_the_loop(void **state) {
  (void)state;
  for (int s = 0; s < SHAPES; s++)
    for (int op = 0; op < 4; op++) {
      int64_t outer = shapes[s][0], n = shapes[s][1], inner = shapes[s][2], all = outer * n * inner;
      nx_tensor *t = given(outer, n, inner);
      scan_in_order(op, x, y, outer, n, inner);
      expect_values_(GOOD(nx_associative_scan(t, op, op % 2 ? 1 : -2)), y, (size_t)all, __FILE__,
                     __LINE__);
      /* Flipped there and back, and fused. */
      nx_tensor *away = GOOD(nx_flip(nx_copy(nx_flip(t, NX_AXES(1, 2))), NX_AXES(1, 2)));
      nx_tensor *fused = nx_neg(nx_associative_scan(nx_neg(nx_neg(away)), op, 1));
      for (int64_t i = 0; i < all; i++) y[i] = -y[i];
      expect_values_(GOOD(fused), y, (size_t)all, __FILE__, __LINE__);
    }
}

static void one_kernel(void **state) {
  (void)state;
  nx_tensor *t = given(8, 2000, 3);
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  OK(nx_realize(ctx, &t, 1, NULL));
  nx_tensor *s = nx_associative_scan(nx_exp(t), NX_SCAN_SUM, 1),
            *m = nx_associative_scan(s, NX_SCAN_MAX, 1);
  nx_tensor *r = GOOD(nx_sub(nx_mul(m, number(2)), s));
  OK(nx_realize(ctx, &r, 1, &options));
  if (!report.interpreted) assert_int_equal(report.kernels, 1);
}

static void nan_goes_on(void **state) {
  (void)state;
  float values[6] = {1, 2, NAN, 4, -5, 6}, got[6];
  nx_tensor *t = GOOD(nx_empty(ctx, device(), NX_F32, NX_SHAPE(6)));
  OK(nx_write(t, values, sizeof values, NULL));
  for (int op = 0; op < 4; op++) {
    OK(nx_read(GOOD(nx_associative_scan(t, op, 0)), got, sizeof got, NULL));
    for (int i = 0; i < 6; i++) assert_int_equal(isnan(got[i]) != 0, i >= 2);
  }
}

/* Reduced in f32, each result rounded once. */
static void small_floats(void **state) {
  (void)state;
  nx_tensor *ones = GOOD(nx_cast(constant(4000, 1), NX_F16)),
            *s = GOOD(nx_associative_scan(ones, NX_SCAN_SUM, 0));
  nx_tensor *some = GOOD(nx_cast(nx_get(s, (nx_range[]){{2046, 2052, 1}}, 1), NX_F32));
  EXPECT(some, 2047, 2048, 2048, 2050, 2052, 2052);
}

static void wrong(void **state) {
  (void)state;
  nx_tensor *t = vector(3, 0, 1);
  assert_null(nx_associative_scan(t, NX_SCAN_SUM, 1));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_associative_scan(t, 4, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_associative_scan(number(1), NX_SCAN_SUM, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_associative_scan(nx_cast(t, NX_F8E8M0), NX_SCAN_MAX, 0));
  assert_int_equal(nx_error_take(NULL), NX_UNSUPPORTED_DTYPE);
  assert_null(nx_associative_scan(NULL, NX_SCAN_MAX, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
}

NXT_MAIN(scan) {
  const struct CMUnitTest tests[] = {IN_SCOPE(scan_is_the_loop), IN_SCOPE(one_kernel),
                                     IN_SCOPE(nan_goes_on), IN_SCOPE(small_floats),
                                     IN_SCOPE(wrong)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
