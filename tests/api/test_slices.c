/* SPDX-License-Identifier: ISC */
/* Slices whose starts are values, and gathers that clamp or fill, beside plain loops. */
#include "tests/util/api.h"

static const int64_t shape[3] = {4, 5, 6};
enum { N = 4 * 5 * 6 };

static int64_t cut(int64_t start, int64_t extent, int64_t size) {
  return start < 0 ? 0 : start > extent - size ? extent - size : start;
}

static nx_tensor *start_of(int64_t value, bool wide) {
  return GOOD(nx_full_i64(ctx, device(), wide ? NX_I64 : NX_I32, NULL, 0, value));
}

static nx_tensor *data(float first, const int64_t *sizes) {
  int64_t n = sizes[0] * sizes[1] * sizes[2];
  return GOOD(nx_reshape(vector(n, first, 1), sizes, 3, 0));
}

/* What a slice at these starts has, and x with an update of 1000, 1001, .. there. */
static void check_part(const int64_t *starts, const int64_t *sizes, bool turned) {
  float part[N], whole[N], is[N];
  int64_t from[3], n = sizes[0] * sizes[1] * sizes[2], at = 0;
  nx_tensor *s[3], *x = data(0, shape), *update = data(1000, sizes);
  for (int i = 0; i < 3; i++) {
    s[i] = start_of(starts[i], i % 2);
    from[i] = cut(starts[i], shape[i], sizes[i]);
  }
  if (turned) x = GOOD(nx_flip(x, NX_AXES(0, 2)));
  for (int i = 0; i < N; i++) whole[i] = (float)i;
  for (int i = 0; turned && i < N; i++)
    whole[i] = (float)((3 - i / 30) * 30 + i / 6 % 5 * 6 + 5 - i % 6);
  for (int64_t i = 0; i < sizes[0]; i++)
    for (int64_t j = 0; j < sizes[1]; j++)
      for (int64_t k = 0; k < sizes[2]; k++, at++) {
        float *element = &whole[((from[0] + i) * 5 + from[1] + j) * 6 + from[2] + k];
        part[at] = *element;
        *element = (float)(1000 + at);
      }
  OK(nx_read(GOOD(nx_dynamic_slice(x, s, sizes, 3)), is, (size_t)n * sizeof *is, NULL));
  assert_memory_equal(is, part, (size_t)n * sizeof *is);
  OK(nx_read(GOOD(nx_dynamic_update_slice(x, update, s, 3)), is, sizeof is, NULL));
  assert_memory_equal(is, whole, sizeof is);
}

static void slices_are_the_loops(void **state) {
  (void)state;
  static const int64_t starts[][3] = {{0, 0, 0}, {1, 2, 3}, {-7, 9, 1}, {3, 4, 5}, {100, -1, 2}},
                       sizes[][3] = {{4, 5, 6}, {1, 5, 6}, {4, 2, 6}, {4, 5, 1},
                                     {2, 3, 4}, {1, 1, 1}, {4, 0, 6}, {3, 1, 6}};
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      check_part(starts[i], sizes[k], (i + k) % 2);
  nx_tensor *one = number(3);
  EXPECT(nx_dynamic_slice(one, NULL, NULL, 0), 3);
  EXPECT(nx_dynamic_update_slice(one, number(4), NULL, 0), 4);
}

/* A step of a cache writes its row, and copies nothing: neither in a function nor outside. */
static void a_cache_is_updated_in_place(void **state) {
  (void)state;
  enum { ROWS = 64, WIDTH = 256 };
  float is[ROWS][WIDTH];
  nx_tensor *cache = nx_full_f64(ctx, device(), NX_F32, NX_SHAPE(ROWS, WIDTH), 0);
  OK(nx_realize(ctx, &cache, 1, NULL));
  nx_tensor *row = nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(1, WIDTH)),
            *at = nx_placeholder(ctx, device(), NX_I64, NULL, 0), *in[2] = {row, at},
            *zero = start_of(0, true), *starts[2] = {at, zero};
  nx_tensor *next = nx_keep(GOOD(nx_dynamic_update_slice(cache, row, starts, 2)));
  nx_function *f = NULL;
  OK(nx_assign(cache, next));
  nx_tensor_release(next); /* or it would be a copy of its own */
  OK(nx_function_create(ctx, in, 2, NULL, 0, NULL, &f));
  for (int i = 0; i < 6; i++) {
    nx_report report = {.size = sizeof report};
    nx_run_options options = {.size = sizeof options, .report = &report};
    nx_tensor *given[2] = {nx_reshape(constant(WIDTH, (float)(i + 1)), NX_SHAPE(1, WIDTH), 0),
                           start_of(i == 4 ? 1000 : i, true)};
    if (i % 2) {
      OK(nx_function_call(f, given, 2, NULL, 0, &options));
    } else {
      starts[0] = given[1];
      next = nx_keep(GOOD(nx_dynamic_update_slice(cache, given[0], starts, 2)));
      OK(nx_assign(cache, next));
      nx_tensor_release(next);
      OK(nx_realize(ctx, &cache, 1, &options));
    }
    if (!report.interpreted && report.planned_bytes > 4096)
      fail_msg("%d bytes for a row", (int)report.planned_bytes);
  }
  OK(nx_read(cache, is, sizeof is, NULL));
  for (int i = 0; i < 6; i++) assert_true(is[i == 4 ? ROWS - 1 : i][WIDTH - 1] == (float)(i + 1));
  assert_true(is[4][0] == 0);
  nx_function_release(f);
}

/* Of a cache with several axes a step writes one place along two of them, rows of a third. */
static void several_axes_are_updated_in_place(void **state) {
  (void)state;
  enum { LAYERS = 6, HEADS = 8, STEPS = 16, WIDTH = 32 };
  static float is[LAYERS][HEADS][STEPS][WIDTH];
  const int64_t sizes[] = {LAYERS, HEADS, STEPS, WIDTH}, one[] = {1, HEADS, 1, WIDTH};
  nx_tensor *cache = nx_full_f64(ctx, device(), NX_F32, sizes, 4, 0);
  OK(nx_realize(ctx, &cache, 1, NULL));
  nx_tensor *in[3] = {nx_placeholder(ctx, device(), NX_F32, one, 4),
                      nx_placeholder(ctx, device(), NX_I32, NULL, 0),
                      nx_placeholder(ctx, device(), NX_I64, NULL, 0)},
            *zero = start_of(0, true), *starts[4] = {in[1], zero, in[2], zero};
  nx_tensor *next = nx_keep(GOOD(nx_dynamic_update_slice(cache, in[0], starts, 4)));
  nx_function *f = NULL;
  OK(nx_assign(cache, next));
  nx_tensor_release(next);
  OK(nx_function_create(ctx, in, 3, NULL, 0, NULL, &f));
  for (int i = 0; i < 4; i++) {
    nx_report report = {.size = sizeof report};
    nx_run_options options = {.size = sizeof options, .report = &report};
    nx_tensor *given[3] = {nx_full_f64(ctx, device(), NX_F32, one, 4, i + 1), start_of(i, false),
                           start_of(i * 7, true)};
    OK(nx_realize(ctx, given, 3, NULL));
    OK(nx_function_call(f, given, 3, NULL, 0, &options));
    if (!report.interpreted && report.planned_bytes > 4096)
      fail_msg("%d bytes for a step", (int)report.planned_bytes);
  }
  OK(nx_read(cache, is, sizeof is, NULL));
  for (int i = 0; i < LAYERS * HEADS * STEPS * WIDTH; i++) {
    int layer = i / (HEADS * STEPS * WIDTH), step = i / WIDTH % STEPS, at = layer * 7;
    float wanted = layer < 4 && step == (at < STEPS ? at : STEPS - 1) ? (float)(layer + 1) : 0;
    if (((float *)is)[i] != wanted) fail_msg("element %d", i);
  }
  nx_function_release(f);
}

/* Starts that would be cut fail instead: before anything is written. */
static void checked_starts(void **state) {
  (void)state;
  const int64_t sizes[3] = {2, 5, 3};
  nx_tensor *x = data(0, shape), *update = data(1000, sizes);
  for (int bad = 0; bad < 6; bad++) {
    static const char *const words[] = {
        "start 3 of axis 0, at position", "start -1 of axis 0, at position",
        "start 1 of axis 1, at position", "start -2 of axis 2, at position",
        "start 4 of axis 2, at position", "for 3 of 6 elements"};
    static const int64_t at[][3] = {{3, 0, 3},  {-1, 0, 0}, {0, 1, 0},
                                    {0, 0, -2}, {2, 0, 4},  {2, 0, 9}};
    nx_tensor *s[3];
    for (int i = 0; i < 3; i++) s[i] = start_of(at[bad][i], i % 2);
    nx_tensor *part = GOOD(nx_dynamic_slice_checked(x, s, sizes, 3)),
              *whole = GOOD(nx_dynamic_update_slice_checked(x, update, s, 3));
    assert_int_equal(nx_realize(ctx, &part, 1, NULL), NX_INDEX_OUT_OF_RANGE);
    error_says(NX_INDEX_OUT_OF_RANGE, words[bad]);
    assert_int_equal(nx_realize(ctx, &whole, 1, NULL), NX_INDEX_OUT_OF_RANGE);
    error_says(NX_INDEX_OUT_OF_RANGE, "dynamic_update_slice_checked: ");
  }
}

static void gathers_clamp_or_fill(void **state) {
  (void)state;
  static const int32_t places[] = {0, 4, 5, -1, -5, -6, INT32_MAX, INT32_MIN};
  nx_tensor *x = vector(5, 10, 1),
            *i = nx_from_data(ctx, device(), NX_I32, NX_SHAPE(8), places, sizeof places);
  EXPECT(nx_gather_clamped(x, i, 0), 10, 14, 14, 10, 10, 10, 14, 10);
  EXPECT(nx_gather_filled(x, i, 0, NX_NUMBER(-2)), 10, 14, -2, 14, 10, -2, -2, -2);
  EXPECT(nx_gather_clamped(x, nx_cast(i, NX_I64), -1), 10, 14, 14, 10, 10, 10, 14, 10);
  nx_tensor *none = nx_shrink(i, (int64_t[]){0}, (int64_t[]){0}, 1);
  OK(nx_realize(ctx, (nx_tensor *[]){GOOD(nx_gather_filled(x, none, 0, NX_NUMBER(0)))}, 1, NULL));
}

static void refused(void **state) {
  (void)state;
  nx_tensor *x = data(0, shape), *s[3] = {start_of(0, true), start_of(0, true), start_of(0, false)},
            *half[3] = {s[0], number(1), s[2]}, *line[3] = {s[0], s[1], vector(2, 0, 1)};
  const int64_t sizes[3] = {1, 1, 1}, wide[3] = {1, 6, 1};
  assert_null(nx_dynamic_slice(x, s, sizes, 2));
  error_says(NX_INVALID_ARGUMENT, "dynamic_slice: 2 starts of a tensor of rank 3");
  assert_null(nx_dynamic_slice(x, s, wide, 3));
  error_says(NX_INVALID_ARGUMENT, "6 elements of axis 1, which has 5");
  assert_null(nx_dynamic_slice(x, half, sizes, 3));
  error_says(NX_UNSUPPORTED_DTYPE, "start 1 is f32");
  line[2] = nx_cast(line[2], NX_I32);
  assert_null(nx_dynamic_slice(x, line, sizes, 3));
  error_says(NX_INVALID_ARGUMENT, "start 2 has rank 1");
  assert_null(nx_dynamic_update_slice(x, nx_cast(x, NX_F64), s, 3));
  error_says(NX_INVALID_ARGUMENT, "f32 of rank 3, and an update that is f64 of rank 3");
  assert_null(nx_dynamic_slice(NULL, s, sizes, 3));
  error_says(NX_INVALID_ARGUMENT, "dynamic_slice");
  nx_tensor *empty = constant(0, 1);
  assert_null(nx_gather_clamped(empty, nx_reshape(s[0], NX_SHAPE(1), 0), 0));
  error_says(NX_INVALID_ARGUMENT, "nothing along axis 0");
  assert_null(nx_gather_filled(x, x, 0, NX_NUMBER(0)));
  error_says(NX_UNSUPPORTED_DTYPE, "the indices are f32");
}

NXT_MAIN(slices) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(slices_are_the_loops),
      IN_SCOPE(a_cache_is_updated_in_place),
      IN_SCOPE(several_axes_are_updated_in_place),
      IN_SCOPE(checked_starts),
      IN_SCOPE(gathers_clamp_or_fill),
      IN_SCOPE(refused),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
