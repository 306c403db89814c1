/* SPDX-License-Identifier: ISC */
/* Ranges, windows, one-hot rows and random tensors: next to plain loops over the definitions, and,
 * for random bits, next to golden values computed elsewhere, which must never change. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <math.h>

/* The thread's error, which goes. */
#define TAKES(status) assert_int_equal(nx_error_take(NULL), (status))

static nx_tensor *shaped(nx_tensor *t, const int64_t *shape, int32_t rank) {
  return GOOD(nx_reshape(t, shape, rank, 0));
}

/* ---- ranges */

/* What Python's slice(start, stop, step).indices(n) says, by walking. */
static int64_t walk(nx_range r, int64_t n, float *out) {
  int64_t count = 0, from = r.start, to = r.stop;
  if (from != NX_OPEN && from < 0) from += n;
  if (to != NX_OPEN && to < 0) to += n;
  for (int64_t i = 0; i < n; i++) {
    int64_t at = r.step > 0 ? i : n - 1 - i, first = r.step > 0 ? 0 : n - 1;
    if (from != NX_OPEN) first = from;
    if (r.step > 0 && first < 0) first = 0;
    if (r.step < 0 && first > n - 1) first = n - 1;
    int64_t gone = r.step > 0 ? at - first : first - at, step = r.step > 0 ? r.step : -r.step;
    bool before = to == NX_OPEN || (r.step > 0 ? at < to : at > to);
    if (gone >= 0 && gone % step == 0 && before) out[count++] = (float)at;
  }
  return count;
}

static void ranges_as_in_python(void **state) {
  (void)state;
  static const int64_t ends[] = {NX_OPEN, INT64_MIN + 1, -9, -6, -5, -2, -1, 0, 1, 3, 4, 5,
                                 9,       INT64_MAX};
  static const int64_t steps[] = {1, 2, 7, -1, -2, -7, INT64_MAX, -INT64_MAX};
  enum { ENDS = sizeof ends / sizeof *ends, STEPS = sizeof steps / sizeof *steps };
  for (int64_t n = 0; n <= 6; n += 3)
    for (int i = 0; i < ENDS * ENDS * STEPS; i++) {
      nx_range r = {ends[i % ENDS], ends[i / ENDS % ENDS], steps[i / ENDS / ENDS]};
      float wanted[8];
      nx_tensor *x = vector(n, 0, 1), *y = GOOD(nx_get(x, &r, 1));
      nx_tensor_info info;
      info.size = sizeof info;
      nx_tensor_describe(y, &info);
      assert_int_equal(info.elements, walk(r, n, wanted));
      expect_values_(y, wanted, (size_t)info.elements, __FILE__, __LINE__);
      release(x);
      release(y);
    }
}

static void ranges_read_and_write(void **state) {
  (void)state;
  nx_tensor *x = shaped(vector(12, 0, 1), NX_SHAPE(3, 4));
  nx_range last = {-1, NX_OPEN, -2}, middle = {1, 3, 1}, both[2] = {last, middle};
  EXPECT(nx_get(x, both, 2), 9, 10, 1, 2);
  EXPECT(nx_get(x, &last, 1), 8, 9, 10, 11, 0, 1, 2, 3);
  EXPECT(nx_get(x, NULL, 0), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
  OK(nx_set(x, both, 2, vector(2, -1, -1)));
  EXPECT(x, 0, -1, -2, 3, 4, 5, 6, 7, 8, -1, -2, 11);
  OK(nx_set(x, both, 2, nx_get(x, (nx_range[]){{NX_OPEN, 2, 1}, {0, 2, 1}}, 2)));
  EXPECT(x, 0, 4, 5, 3, 4, 5, 6, 7, 8, 0, -1, 11);
  nx_range still = {0, 1, 0}, three[3] = {last, last, last};
  FAILS(NX_INVALID_ARGUMENT, nx_set(x, &still, 1, number(0)));
  FAILS(NX_INVALID_ARGUMENT, nx_set(x, NULL, 1, number(0)));
  FAILS(NX_INVALID_ARGUMENT, nx_set(x, both, 2, vector(3, 0, 0)));
  FAILS(NX_INVALID_ARGUMENT, nx_set(x, both, 2, NULL));
  assert_null(nx_get(x, three, 3));
  TAKES(NX_INVALID_ARGUMENT);
}

/* ---- windows */

typedef struct shape2 {
  int64_t lead, h, w; /* two spatial axes */
  int64_t kernel[2], stride[2], dilation[2], before[2], after[2];
} shape2;

static const shape2 windows[] = {
    {2, 5, 6, {2, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {3, 7, 5, {3, 2}, {2, 1}, {1, 2}, {1, 0}, {0, 2}},
    {1, 8, 8, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {2, 9, 7, {3, 3}, {3, 2}, {2, 1}, {2, 1}, {2, 3}},
    {2, 4, 4, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {2, 4, 4, {1, 2}, {3, 5}, {1, 1}, {3, 0}, {0, 4}},
    {2, 3, 40, {2, 5}, {1, 1}, {1, 3}, {0, 7}, {1, 7}},
    {0, 4, 5, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {2, 2, 5, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, /* no window has room */
    {1, 0, 5, {2, 2}, {1, 1}, {1, 1}, {2, 1}, {2, 1}}, /* nothing but padding */
};
enum { WINDOWS = sizeof windows / sizeof *windows, MOST = 4096 };

static nx_window window_of(const shape2 *s) {
  return (nx_window){sizeof(nx_window), 2, s->kernel, s->stride, s->dilation, s->before, s->after};
}

static int64_t room(const shape2 *s, int i) {
  int64_t n =
      (i ? s->w : s->h) + s->before[i] + s->after[i] - (s->kernel[i] - 1) * s->dilation[i] - 1;
  return n < 0 ? 0 : n / s->stride[i] + 1;
}

/* Calls with each element of (lead, kernel, windows) and the spatial element it stands for, -1:
 * padding. */
static int64_t each(const shape2 *s, int64_t *source) {
  int64_t n = 0;
  for (int64_t b = 0; b < s->lead; b++)
    for (int64_t k = 0; k < s->kernel[0] * s->kernel[1]; k++)
      for (int64_t l = 0; l < room(s, 0) * room(s, 1); l++) {
        int64_t i = l / room(s, 1) * s->stride[0] + k / s->kernel[1] * s->dilation[0] -
                    s->before[0],
                j = l % room(s, 1) * s->stride[1] + k % s->kernel[1] * s->dilation[1] -
                    s->before[1];
        bool in = i >= 0 && j >= 0 && i < s->h && j < s->w;
        source[n++] = in ? (b * s->h + i) * s->w + j : -1;
      }
  return n;
}

static void unfold_is_the_loop(void **state) {
  (void)state;
  int64_t source[MOST];
  float wanted[MOST];
  for (int c = 0; c < WINDOWS; c++) {
    const shape2 *s = &windows[c];
    nx_window w = window_of(s);
    int64_t n = each(s, source);
    nx_tensor *x = shaped(vector(s->lead * s->h * s->w, 1, 1), NX_SHAPE(s->lead, s->h, s->w));
    nx_tensor *y = GOOD(nx_unfold(x, &w));
    for (int64_t i = 0; i < n; i++) wanted[i] = source[i] < 0 ? 0 : (float)(source[i] + 1);
    expect_values_(y, wanted, (size_t)n, __FILE__, __LINE__);
    nx_tensor *turned =
        GOOD(nx_permute(GOOD(nx_copy(nx_permute(x, NX_AXES(2, 0, 1)))), NX_AXES(1, 2, 0)));
    expect_values_(nx_unfold(turned, &w), wanted, (size_t)n, __FILE__, __LINE__);
  }
}

static void fold_is_the_sum(void **state) {
  (void)state;
  int64_t source[MOST];
  float wanted[MOST];
  for (int c = 0; c < WINDOWS; c++) {
    const shape2 *s = &windows[c];
    nx_window w = window_of(s);
    int64_t n = each(s, source), k = s->kernel[0] * s->kernel[1], l = room(s, 0) * room(s, 1);
    nx_tensor *x = shaped(vector(n, 1, 1), NX_SHAPE(s->lead, k, l));
    int64_t output[2] = {s->h, s->w}, size = s->lead * s->h * s->w;
    memset(wanted, 0, sizeof wanted);
    for (int64_t i = 0; i < n; i++)
      if (source[i] >= 0) wanted[source[i]] += (float)(i + 1); /* exact */
    expect_values_(GOOD(nx_fold(x, output, 2, &w)), wanted, (size_t)size, __FILE__, __LINE__);
    nx_tensor *i32 = GOOD(nx_cast(
        nx_fold(nx_cast(nx_flip(nx_flip(x, NX_AXES(1)), NX_AXES(1)), NX_I32), output, 2, &w),
        NX_F32));
    expect_values_(i32, wanted, (size_t)size, __FILE__, __LINE__);
  }
}

/* Padding on one side only: as many ones come together at an element as there are windows that have
 * it. */
static void fold_of_one_sided_padding(void **state) {
  (void)state;
  int64_t three = 3, two = 2, four = 4;
  nx_window before = {.size = sizeof before, .n = 1, .kernel = &three, .before = &two},
            after = {.size = sizeof after, .n = 1, .kernel = &three, .after = &two};
  nx_tensor *ones = shaped(vector(12, 1, 0), NX_SHAPE(3, 4));
  EXPECT(GOOD(nx_fold(ones, &four, 1, &before)), 3, 3, 2, 1);
  EXPECT(GOOD(nx_fold(ones, &four, 1, &after)), 1, 2, 3, 3);
}

/* The result is a tensor of its own, also where nothing had to be padded. */
static void unfold_does_not_alias(void **state) {
  (void)state;
  int64_t two = 2;
  nx_window w = {.size = sizeof w, .n = 1, .kernel = &two};
  nx_tensor *x = vector(4, 0, 1), *y = GOOD(nx_unfold(x, &w));
  OK(nx_assign(y, number(7)));
  EXPECT(x, 0, 1, 2, 3);
  EXPECT(y, 7, 7, 7, 7, 7, 7);
  y = GOOD(nx_unfold(x, &w));
  OK(nx_assign(x, number(7)));
  EXPECT(y, 0, 1, 2, 1, 2, 3);
}

static void pooling_is_one_kernel(void **state) {
  (void)state;
  int64_t three[2] = {3, 3}, two[2] = {2, 2}, one[2] = {1, 1};
  nx_window w = {sizeof w, 2, three, two, NULL, one, one};
  nx_tensor *x = shaped(vector(4 * 64 * 64, 0, 0.5F), NX_SHAPE(4, 64, 64));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  nx_tensor *pooled = GOOD(nx_reduce_max(nx_unfold(nx_exp(nx_neg(x)), &w), NX_AXES(-2), 0));
  nx_tensor *summed = GOOD(nx_fold(nx_unfold(x, &w), (int64_t[]){64, 64}, 2, &w));
  OK(nx_realize(ctx, &pooled, 1, &options));
  if (!report.interpreted) assert_int_equal(report.kernels, 1);
  OK(nx_realize(ctx, &summed, 1, &options));
  if (!report.interpreted) assert_int_equal(report.kernels, 1);
}

static void wrong_windows(void **state) {
  (void)state;
  int64_t two[2] = {2, 2}, zero[2] = {0, 1}, huge[2] = {INT64_MAX, INT64_MAX}, minus[2] = {-1, 0};
  nx_tensor *x = shaped(vector(24, 0, 1), NX_SHAPE(2, 3, 4)), *y = GOOD(nx_cmpeq(x, x));
  const nx_window bad[] = {{sizeof(nx_window), 0, two, NULL, NULL, NULL, NULL},
                           {sizeof(nx_window), 2, NULL, NULL, NULL, NULL, NULL},
                           {sizeof(nx_window), 2, zero, NULL, NULL, NULL, NULL},
                           {sizeof(nx_window), 2, two, zero, NULL, NULL, NULL},
                           {sizeof(nx_window), 2, two, NULL, zero, NULL, NULL},
                           {sizeof(nx_window), 2, two, NULL, NULL, minus, NULL},
                           {sizeof(nx_window), 2, two, NULL, NULL, NULL, minus},
                           {sizeof(nx_window), 2, two, NULL, NULL, huge, huge},
                           {sizeof(nx_window), 2, huge, NULL, huge, NULL, NULL}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_null(nx_unfold(x, &bad[i]));
    TAKES(NX_INVALID_ARGUMENT);
    assert_null(nx_fold(x, two, 2, &bad[i]));
    TAKES(NX_INVALID_ARGUMENT);
  }
  nx_window w = {.size = sizeof w, .n = 2, .kernel = two};
  assert_null(nx_unfold(vector(3, 0, 1), &w)); /* rank 1 */
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_fold(x, two, 2, &w)); /* 4 elements a window, 1 window */
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_fold(y, two, 2, &w));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_fold(x, NULL, 2, &w));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_fold(x, minus, 2, &w));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_unfold(NULL, &w));
  TAKES(NX_INVALID_ARGUMENT);
}

/* ---- one-hot rows */

static void one_hot_rows(void **state) {
  (void)state;
  nx_tensor *i = GOOD(nx_cast(vector(4, -1, 1), NX_I8));
  EXPECT(nx_one_hot(i, 3, NX_F32), 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1);
  EXPECT(nx_cast(nx_one_hot(nx_get(i, (nx_range[]){{3, 1, -1}}, 1), 2, NX_BOOL), NX_F32), 0, 0, 0,
         1);
  nx_tensor *far = GOOD(nx_one_hot(i, 300, NX_U8)); /* 255 is not -1 */
  nx_tensor *sums = GOOD(nx_cast(nx_reduce_sum(nx_cast(far, NX_I32), NX_AXES(-1), 0), NX_F32));
  EXPECT(sums, 0, 1, 1, 1);
  assert_non_null(nx_one_hot(i, 0, NX_F64));
  assert_null(nx_one_hot(vector(2, 0, 1), 3, NX_F32));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_one_hot(i, -1, NX_F32));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_one_hot(NULL, 3, NX_F32));
  TAKES(NX_INVALID_ARGUMENT);
}

/* ---- random tensors */

static nx_tensor *key_of(uint32_t a, uint32_t b, nx_dtype t) {
  uint32_t words[2] = {a, b};
  nx_tensor *key = GOOD(nx_empty(ctx, device(), t, NX_SHAPE(2)));
  OK(nx_write(key, words, sizeof words, NULL));
  return key;
}

static void read_f64(nx_tensor *t, double *out, size_t n) {
  OK(nx_read(GOOD(nx_cast(t, NX_F64)), out, n * sizeof *out, NULL));
}

typedef struct golden {
  nx_dtype dtype;
  double values[7];
} golden;

static void uniform_golden_values(void **state) {
  (void)state;
  static const golden rows[] = {
      {NX_F32,
       {0x1.73088ep-1, 0x1.3ab3cp-5, 0x1.4f8cap-4, 0x1.5f3ecp-5, 0x1.583240p-5, 0x1.402f1p-4,
        0x1.b33ap-6}},
      {NX_F16, {0x1.73p-1, 0x1.38p-5, 0x1.4ep-4, 0x1.5cp-5, 0x1.58p-5, 0x1.4p-4, 0x1.bp-6}},
      {NX_BF16, {0x1.72p-1, 0x1.2p-5, 0x1.4p-4, 0x1.4p-5, 0x1.4p-5, 0x1.4p-4, 0x1.8p-6}},
      {NX_F64,
       {0x1.73088e04eacf6p-1, 0x1.4f8ca02be7d98p-4, 0x1.583258a0178a0p-5, 0x1.b33a30caaab80p-6,
        0x1.cce0c0a968e20p-4, 0x1.9a37b68a23795p-1, 0x1.058d9f20b502ap-1}}};
  double got[7];
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (int t = 0; t < 2; t++) {
      nx_tensor *key = key_of(1234567, 0x89abcdef, t ? NX_I32 : NX_U32);
      read_f64(GOOD(nx_rand(key, rows[r].dtype, NX_SHAPE(7))), got, 7);
      for (int i = 0; i < 7; i++) assert_true(got[i] == rows[r].values[i]);
    }
}

static void normal_golden_values(void **state) {
  (void)state;
  static const double f32[4] = {0.7792715137320148, 2.1562745311563103, 2.2201811475384097,
                                2.5646354619038094};
  static const double f64[4] = {0.72011804256864, 2.191347305613876, 1.6388360550459018,
                                -0.2164760143744498};
  static const uint32_t f32_bits[4] = {0x3f477e57, 0x400a0066, 0x400e1773, 0x402422fc};
  nx_tensor *key = key_of(1234567, 0x89abcdef, NX_U32),
            *small = GOOD(nx_randn(key, NX_F32, NX_SHAPE(2, 2)));
  double got[4], half[4], narrow[4];
  uint32_t bits[4];
  OK(nx_read(small, bits, sizeof bits, NULL));
  read_f64(small, got, 4);
  read_f64(GOOD(nx_randn(key, NX_F16, NX_SHAPE(4))), half, 4);
  read_f64(GOOD(nx_cast(small, NX_F16)), narrow, 4);
  for (int i = 0; i < 4; i++) {
    assert_true(fabs(got[i] - f32[i]) < 2e-6);
    assert_int_equal(bits[i], f32_bits[i]);
    assert_true(half[i] == narrow[i]);
  }
  read_f64(GOOD(nx_randn(key, NX_F64, NX_SHAPE(4, 1))), got, 4);
  for (int i = 0; i < 4; i++) assert_true(fabs(got[i] - f64[i]) < 1e-14);
}

static void random_shapes_and_moments(void **state) {
  (void)state;
  nx_tensor *key = key_of(7, 9, NX_I32);
  double flat[6], shaped_too[6], one;
  read_f64(GOOD(nx_rand(key, NX_F32, NX_SHAPE(6))), flat, 6);
  read_f64(GOOD(nx_rand(key, NX_F32, NX_SHAPE(2, 3))), shaped_too, 6);
  assert_memory_equal(flat, shaped_too, sizeof flat);
  read_f64(GOOD(nx_rand(key, NX_F32, NULL, 0)), &one, 1);
  assert_true(one == flat[0]);
  assert_non_null(nx_rand(key, NX_F64, NX_SHAPE(0, 3)));
  nx_tensor *normal = GOOD(nx_randn(key, NX_F32, NX_SHAPE(100000)));
  nx_tensor *squares = GOOD(nx_mul(normal, normal)),
            *uniform = GOOD(nx_rand(key, NX_F32, NX_SHAPE(100001)));
  nx_tensor *sums[3] = {nx_reduce_sum(normal, NX_AXES(0), 0), nx_reduce_sum(squares, NX_AXES(0), 0),
                        nx_reduce_sum(uniform, NX_AXES(0), 0)};
  double sum[3];
  for (int i = 0; i < 3; i++) read_f64(sums[i], &sum[i], 1);
  assert_true(fabs(sum[0] / 1e5) < 0.02 && fabs(sum[1] / 1e5 - 1) < 0.02 &&
              fabs(sum[2] / 1e5 - 0.5) < 0.01);
}

/* Of an array that no memory holds: an element far out is a function of its number, of which the
 * high word counts. */
static void far_elements(void **state) {
  (void)state;
  nx_tensor *key = key_of(1234567, 0x89abcdef, NX_U32);
  int64_t many = ((int64_t)1 << 32) + 3, at = many - 2;
  nx_tensor *all = GOOD(nx_rand(key, NX_F64, &many, 1)),
            *last = GOOD(nx_contiguous(GOOD(nx_shrink(all, &at, &many, 1))));
  double is[2], first[3];
  nx_status status = nx_read(last, is, sizeof is, NULL);
  if (status == NX_OUT_OF_MEMORY && (nxt_executor_is("") || nxt_executor_is("interp"))) {
    nx_error_take(NULL);
    skip(); /* node by node, all elements are made; the other executors do not skip */
  }
  OK(status);
  OK(nx_read(GOOD(nx_rand(key, NX_F64, NX_SHAPE(3))), first, sizeof first, NULL));
  const uint32_t counters[2][2] = {{1, 1}, {2, 1}};
  uint32_t words[2][2];
  nx_tensor *counter = GOOD(nx_empty(ctx, 0, NX_U32, NX_SHAPE(2, 2)));
  OK(nx_write(counter, counters, sizeof counters, NULL));
  OK(nx_read(GOOD(nx_threefry(key, counter)), words, sizeof words, NULL));
  for (int i = 0; i < 2; i++) {
    double high = words[i][0] >> 6, low = words[i][1] >> 5;
    assert_true(is[i] == (high * 0x1p27 + low) * 0x1p-53);
    assert_true(is[i] != first[i + 1]);
  }
}

static void wrong_keys(void **state) {
  (void)state;
  nx_tensor *key = key_of(7, 9, NX_I32), *many = GOOD(nx_cast(vector(3, 0, 1), NX_I32));
  assert_null(nx_rand(key, NX_I32, NX_SHAPE(2)));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_randn(many, NX_F32, NX_SHAPE(2)));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_randn(vector(2, 0, 1), NX_F32, NX_SHAPE(2)));
  TAKES(NX_UNSUPPORTED_DTYPE);
  assert_null(nx_rand(key, NX_F32, NX_SHAPE(-1)));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_rand(key, NX_F32, NX_SHAPE(INT64_MAX / 2)));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_rand(NULL, NX_F32, NX_SHAPE(1)));
  TAKES(NX_INVALID_ARGUMENT);
  assert_null(nx_rand(key, NX_F32, NULL, 1));
  TAKES(NX_INVALID_ARGUMENT);
}

NXT_MAIN(index) {
  const struct CMUnitTest tests[] = {IN_SCOPE(ranges_as_in_python),
                                     IN_SCOPE(ranges_read_and_write),
                                     IN_SCOPE(unfold_is_the_loop),
                                     IN_SCOPE(fold_is_the_sum),
                                     IN_SCOPE(fold_of_one_sided_padding),
                                     IN_SCOPE(unfold_does_not_alias),
                                     IN_SCOPE(pooling_is_one_kernel),
                                     IN_SCOPE(wrong_windows),
                                     IN_SCOPE(one_hot_rows),
                                     IN_SCOPE(uniform_golden_values),
                                     IN_SCOPE(normal_golden_values),
                                     IN_SCOPE(random_shapes_and_moments),
                                     IN_SCOPE(far_elements),
                                     IN_SCOPE(wrong_keys)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
