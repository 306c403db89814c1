/* SPDX-License-Identifier: ISC */
/* Scatters by a function, and windows whose selected element gets what is scattered, beside loops.
 * tests/api/test_dimension_numbers.c has scatters by a function with any dimension numbers. */
#include <math.h>

#include "tests/util/api.h"

/* A function of two scalars: what `record` makes of them. */
static nx_function *of_two(nx_dtype dtype, nx_tensor *(*record)(nx_tensor *a, nx_tensor *b)) {
  nx_function *f = NULL;
  nx_tensor *in[2] = {GOOD(nx_placeholder(ctx, device(), dtype, NULL, 0)),
                      GOOD(nx_placeholder(ctx, device(), dtype, NULL, 0))},
            *out = GOOD(record(in[0], in[1]));
  OK(nx_function_create(ctx, in, 2, &out, 1, NULL, &f));
  return f;
}

static nx_tensor *second(nx_tensor *a, nx_tensor *b) {
  (void)a;
  return nx_copy(b);
}
static nx_tensor *half_and_more(nx_tensor *a, nx_tensor *b) {
  return nx_sub(nx_binary_f64(a, NX_BINARY_MUL, 0.5), b);
}

/* One element of a row each. */
static const int32_t only = 0;
static const nx_scatter_numbers elements = {.size = sizeof elements,
                                            .n_inserted_window_dims = 1,
                                            .n_scatter_dims_to_operand_dims = 1,
                                            .inserted_window_dims = &only,
                                            .scatter_dims_to_operand_dims = &only,
                                            .index_vector_dim = 1};

/* ---- scatter */

enum { N = 300, M = 5000 };

/* Many updates of few elements, one of them much more often than the others. */
static void order_is_kept(void **state) {
  (void)state;
  static float x[N], u[M], is[N];
  static int32_t at[M];
  for (int i = 0; i < N; i++) x[i] = (float)(i % 7);
  for (int i = 0; i < M; i++) {
    at[i] = i % 5 == 0 ? 3 : (i * 37 + i / 11) % (N + 20) - 10;
    u[i] = (float)((i * 31) % 100) / 8;
  }
  nx_tensor *t = GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(N), x, sizeof x)), *y = NULL,
            *place = GOOD(nx_from_data(ctx, device(), NX_I32, NX_SHAPE(M), at, sizeof at)),
            *update = GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(M), u, sizeof u));
  nx_function *f = of_two(NX_F32, half_and_more);
  OK(nx_scatter_by(f, &t, &update, 1, place, &elements, &y, 1));
  OK(nx_read(y, is, sizeof is, NULL));
  for (int i = 0; i < M; i++)
    if (at[i] >= 0 && at[i] < N) x[at[i]] = x[at[i]] * 0.5F - u[i];
  assert_memory_equal(is, x, sizeof x);
  nx_function_release(f);
}

/* Two operands at once: (a, b; u, v) -> (b + u, a v). */
static void several_operands(void **state) {
  (void)state;
  nx_function *f = NULL;
  nx_tensor *in[4], *out[2];
  for (int i = 0; i < 4; i++) in[i] = GOOD(nx_placeholder(ctx, device(), NX_F32, NULL, 0));
  out[0] = GOOD(nx_add(in[1], in[2]));
  out[1] = GOOD(nx_mul(in[0], in[3]));
  OK(nx_function_create(ctx, in, 4, out, 2, NULL, &f));
  nx_tensor *x[2] = {vector(4, 1, 1), vector(4, 10, 10)},
            *u[2] = {vector(3, 1, 1), vector(3, 2, 1)},
            *place = GOOD(nx_from_data(ctx, device(), NX_I32, NX_SHAPE(3),
                                       (const int32_t[]){2, 0, 2}, 3 * sizeof(int32_t))),
            *y[2] = {NULL, NULL};
  OK(nx_scatter_by(f, x, u, 2, place, &elements, y, 2));
  /* element 2: (3, 30), (31, 6), (9, 124); element 0: (1, 10), (12, 3) */
  EXPECT(y[0], 12, 2, 9, 4);
  EXPECT(y[1], 3, 20, 124, 40);
  nx_function_release(f);
}

/* What modes do is no loop: one scatter, as often as it is called. */
static void recognised(void **state) {
  (void)state;
  nx_tensor *(*const makes[])(nx_tensor *, nx_tensor *) = {nx_add, nx_mul, nx_min, nx_max, second};
  nx_tensor *x = vector(5, 1, 1), *u = vector(3, -1, 3),
            *place = GOOD(nx_from_data(ctx, device(), NX_I32, NX_SHAPE(3),
                                       (const int32_t[]){1, 4, 1}, 3 * sizeof(int32_t)));
  static const float wanted[][5] = {
      {1, 6, 3, 4, 7}, {1, -10, 3, 4, 10}, {1, -1, 3, 4, 2}, {1, 5, 3, 4, 5}, {1, 5, 3, 4, 2}};
  for (int i = 0; i < 5; i++) {
    nx_function *f = of_two(NX_F32, makes[i]);
    nx_tensor *y = NULL;
    OK(nx_scatter_by(f, &x, &u, 1, place, &elements, &y, 1));
    expect_values_(y, wanted[i], 5, __FILE__, __LINE__);
    nx_function_release(f);
  }
}

/* ---- selected elements of windows */

typedef struct pooling {
  int64_t shape[2], kernel[2], stride[2], before[2], after[2], dilation[2];
} pooling;

enum { MOST = 4096 };
static float x[MOST], source[MOST], wanted[MOST];

static bool keeps(int how, float a, float b) {
  return how == 0 ? a >= b : how == 1 ? a <= b : fabsf(a) > fabsf(b);
}
static nx_tensor *largest(nx_tensor *a, nx_tensor *b) { return nx_cmpge(a, b); }
static nx_tensor *least(nx_tensor *a, nx_tensor *b) { return nx_cmple(a, b); }
static nx_tensor *longest(nx_tensor *a, nx_tensor *b) { return nx_cmpgt(nx_abs(a), nx_abs(b)); }
static nx_tensor *(*const selects[])(nx_tensor *, nx_tensor *) = {largest, least, longest};

static int64_t windows_of(const pooling *p, int axis) {
  int64_t all = p->shape[axis] + p->before[axis] + p->after[axis],
          reach = (p->kernel[axis] - 1) * p->dilation[axis];
  return all > reach ? (all - reach - 1) / p->stride[axis] + 1 : 0;
}

/* What the specification says; how: which is selected; by: what is scattered. */
static void compute(const pooling *p, int how, int by) {
  int64_t rows = windows_of(p, 0), columns = windows_of(p, 1);
  for (int64_t i = 0; i < p->shape[0] * p->shape[1]; i++) wanted[i] = 0.5F;
  for (int64_t w = 0; w < rows * columns; w++) {
    int64_t found = -1;
    for (int64_t k = 0; k < p->kernel[0] * p->kernel[1]; k++) {
      int64_t i = w / columns * p->stride[0] + k / p->kernel[1] * p->dilation[0] - p->before[0],
              j = w % columns * p->stride[1] + k % p->kernel[1] * p->dilation[1] - p->before[1];
      if (i < 0 || j < 0 || i >= p->shape[0] || j >= p->shape[1]) continue;
      int64_t at = i * p->shape[1] + j;
      if (found < 0 || !keeps(how, x[found], x[at])) found = at;
    }
    if (found < 0) continue;
    wanted[found] = by ? wanted[found] * 0.5F - source[w] : wanted[found] + source[w];
  }
}

static void check_pooling(const pooling *p, int how, int by) {
  static float is[MOST];
  int64_t n = p->shape[0] * p->shape[1], counts[2] = {windows_of(p, 0), windows_of(p, 1)};
  size_t bytes = (size_t)n * sizeof *is,
         source_bytes = (size_t)(counts[0] * counts[1]) * sizeof *is;
  nx_scope *s = nx_scope_begin(ctx);
  nx_function *select = of_two(NX_F32, selects[how]),
              *f = of_two(NX_F32, by ? half_and_more : nx_add);
  const nx_sliding_window w = {.size = sizeof w,
                               .n = 2,
                               .kernel = p->kernel,
                               .stride = p->stride,
                               .dilation = p->dilation,
                               .before = p->before,
                               .after = p->after};
  nx_tensor *t = GOOD(nx_from_data(ctx, device(), NX_F32, p->shape, 2, x, bytes)),
            *from = GOOD(nx_from_data(ctx, device(), NX_F32, counts, 2, source, source_bytes)),
            *y = GOOD(nx_select_and_scatter(select, f, t, from, number(0.5F), &w));
  compute(p, how, by);
  OK(nx_read(y, is, bytes, NULL));
  for (int64_t i = 0; i < n; i++)
    if (is[i] != wanted[i])
      fail_msg("selecting %d, by %d: element %d is %g, not %g", how, by, (int)i, (double)is[i],
               (double)wanted[i]);
  nx_function_release(select);
  nx_function_release(f);
  nx_scope_end(s);
}

static void selected_elements(void **state) {
  (void)state;
  static const pooling all[] = {
      {{6, 8}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},  /* plain pooling */
      {{7, 9}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},  /* windows that meet, and a border */
      {{5, 7}, {3, 2}, {1, 1}, {2, 0}, {0, 3}, {1, 2}},  /* more border than elements at corners */
      {{4, 4}, {2, 2}, {1, 1}, {3, -1}, {2, 0}, {1, 1}}, /* windows of nothing; a cut */
      {{11, 13}, {9, 10}, {1, 2}, {1, 2}, {0, 0}, {1, 1}}, /* a loop over 90 elements */
  };
  for (int i = 0; i < MOST; i++) {
    x[i] = (float)((i * 7919) % 23 - 11);
    source[i] = (float)((i * 31) % 17) / 4;
  }
  x[20] = NAN;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int how = 0; how < 3; how++) check_pooling(&all[i], how, (i + (size_t)how) % 2);
}

/* ---- what is refused */

static void refused(void **state) {
  (void)state;
  nx_function *sum = of_two(NX_F32, nx_add), *ge = of_two(NX_F32, largest);
  nx_tensor *t = vector(6, 0, 1), *u = vector(3, 0, 1), *place = GOOD(nx_cast(u, NX_I32)),
            *y = NULL, *zero = number(0);
  static const int64_t two = 2;
  nx_sliding_window w = {.size = sizeof w, .n = 1, .kernel = &two, .stride = &two};
  assert_int_equal(nx_scatter_by(ge, &t, &u, 1, place, &elements, &y, 1), NX_INVALID_ARGUMENT);
  error_says(NX_INVALID_ARGUMENT, "scatter_by: result 0 of the combiner is bool, not f32");
  assert_int_equal(nx_scatter_by(sum, &t, &t, 1, place, &elements, &y, 1), NX_INVALID_ARGUMENT);
  error_says(NX_INVALID_ARGUMENT, "updates of shape [6] where [3] is wanted");
  assert_int_equal(nx_scatter_by(sum, &t, &u, 1, u, &elements, &y, 1), NX_UNSUPPORTED_DTYPE);
  error_says(NX_UNSUPPORTED_DTYPE, "scatter_by: the starts are f32");
  assert_int_equal(nx_scatter_by(sum, &t, NULL, 1, place, &elements, &y, 1), NX_INVALID_ARGUMENT);
  error_says(NX_INVALID_ARGUMENT, "there are no updates");
  assert_int_equal(nx_scatter_by(sum, &t, &u, 1, place, NULL, &y, 1), NX_INVALID_ARGUMENT);
  error_says(NX_INVALID_ARGUMENT, "the numbers are null");
  assert_null(y);
  assert_null(nx_select_and_scatter(sum, sum, t, u, zero, &w));
  error_says(NX_INVALID_ARGUMENT, "result 0 of the comparator is f32, not bool");
  assert_null(nx_select_and_scatter(ge, ge, t, u, zero, &w));
  error_says(NX_INVALID_ARGUMENT, "result 0 of the combiner is bool");
  assert_null(nx_select_and_scatter(ge, sum, t, t, zero, &w));
  error_says(NX_INVALID_ARGUMENT, "a source of shape [6] where windows have the shape [3]");
  assert_null(nx_select_and_scatter(ge, sum, t, u, u, &w));
  error_says(NX_INVALID_ARGUMENT, "an initial value f32 of rank 1");
  assert_null(nx_select_and_scatter(ge, sum, t, u, zero, NULL));
  error_says(NX_INVALID_ARGUMENT, "the window is null");
  w.base_dilation = &two;
  assert_null(nx_select_and_scatter(ge, sum, t, u, zero, &w));
  error_says(NX_INVALID_ARGUMENT, "a base dilation");
  nx_function_release(sum);
  nx_function_release(ge);
}

NXT_MAIN(scatter_by) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(order_is_kept),     IN_SCOPE(several_operands), IN_SCOPE(recognised),
      IN_SCOPE(selected_elements), IN_SCOPE(refused),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
