/* SPDX-License-Identifier: ISC */
/* Kernels that differ only in integers share machine code: programs that meet a new shape, slice or
 * position at every call compile a few kernels, and their results are right. */
#include "tests/util/api.h"

static int64_t compiled(void) { return (int64_t)kernels_compiled(ctx); }

/* What a program compiled, of at most so many kernels. */
#define COMPILES_AT_MOST(most, program)                                                  \
  do {                                                                                   \
    int64_t before_ = compiled();                                                        \
    program;                                                                             \
    if (compiled() - before_ > (most))                                                   \
      fail_msg("%s compiles %lld kernels", #program, (long long)(compiled() - before_)); \
  } while (0)

static nx_tensor *matrix(int64_t rows, int64_t columns) {
  return GOOD(nx_reshape(vector(rows * columns, 0, 1), (int64_t[]){rows, columns}, 2, 0));
}

static nx_tensor *box(nx_tensor *t, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  return GOOD(nx_shrink(t, (int64_t[]){top, left}, (int64_t[]){bottom, right}, 2));
}

/* x + 1 for x = 0 .. n - 1, and the sum of that. All sums are exact. */
static void length(int64_t n) {
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = vector(n, 0, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *y = GOOD(nx_add(x, number(1))), *sum = GOOD(nx_reduce_sum(y, NX_AXES(0), 0));
  OK(nx_realize(ctx, (nx_tensor *[]){y, sum}, 2, NULL));
  float *all = malloc((size_t)n * sizeof *all), total;
  assert_non_null(all);
  OK(nx_read(y, all, (size_t)n * sizeof *all, NULL));
  OK(nx_read(sum, &total, sizeof total, NULL));
  for (int64_t i = 0; i < n; i++) assert_true(all[i] == (float)(i + 1));
  assert_true(total == (float)(n * (n + 1) / 2));
  free(all);
  nx_scope_end(s);
}

static void lengths(int64_t first, int64_t step, int calls) {
  for (int i = 0; i < calls; i++) length(first + i * step);
}

static void test_lengths(void **state) {
  (void)state;
  COMPILES_AT_MOST(3, lengths(1000, 37, 100)); /* vector() itself is a kernel, too */
  COMPILES_AT_MOST(1, lengths(1001, 37, 60));
}

/* Lengths on both sides of that from which a reduction is split. */
static void any_lengths(void) {
  uint32_t seed = 1;
  for (int i = 0; i < 30; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    seed = seed * 1664525 + 1013904223;
    int64_t n = 1 + (seed >> 8) % 5000 * (i % 4 == 0 ? 1 : 60);
    nx_tensor *x = constant(n, 1);
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *y = GOOD(nx_add(GOOD(nx_mul(x, x)), GOOD(nx_sqrt(x))));
    nx_tensor *sum = GOOD(nx_reduce_sum(y, NX_AXES(0), 0));
    float total;
    OK(nx_realize(ctx, (nx_tensor *[]){y, sum}, 2, NULL));
    OK(nx_read(sum, &total, sizeof total, NULL));
    assert_true(total == (float)(2 * n));
    nx_scope_end(s);
  }
}

static void test_any_lengths(void **state) {
  (void)state;
  COMPILES_AT_MOST(6, any_lengths());
}

/* Rows of equal numbers: a softmax of c columns is 1 / c. */
static void softmax(int64_t rows, int64_t columns) {
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = GOOD(nx_reshape(constant(rows * columns, 3), (int64_t[]){rows, columns}, 2, 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *e = GOOD(nx_exp(GOOD(nx_sub(x, GOOD(nx_reduce_max(x, NX_AXES(1), NX_KEEPDIMS))))));
  nx_tensor *y = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS))));
  OK(nx_realize(ctx, &y, 1, NULL));
  float *all = malloc((size_t)(rows * columns) * sizeof *all);
  assert_non_null(all);
  OK(nx_read(y, all, (size_t)(rows * columns) * sizeof *all, NULL));
  for (int64_t i = 0; i < rows * columns; i++) assert_true(all[i] == 1 / (float)columns);
  free(all);
  nx_scope_end(s);
}

static void batches(void) {
  for (int64_t i = 40; i < 140; i++) softmax(i, 100);
}

static void test_batches(void **state) {
  (void)state;
  COMPILES_AT_MOST(3, batches());
}

static void row_lengths(void) {
  for (int64_t i = 1; i <= 100; i++) softmax(33, i);
}

static void test_row_lengths(void **state) {
  (void)state;
  COMPILES_AT_MOST(3, row_lengths());
}

static void column_sums(void) {
  uint32_t seed = 1;
  for (int i = 0; i < 40; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    seed = seed * 1664525 + 1013904223;
    int64_t rows = 1 + (seed >> 8) % 300, columns = 1 + (seed >> 20) % 300;
    nx_tensor *x = GOOD(nx_reshape(constant(rows * columns, 2), (int64_t[]){rows, columns}, 2, 0));
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *sum = GOOD(nx_reduce_sum(x, NX_AXES(0), 0));
    float got[300];
    OK(nx_read(sum, got, (size_t)columns * sizeof *got, NULL));
    for (int64_t c = 0; c < columns; c++) assert_true(got[c] == (float)(2 * rows));
    nx_scope_end(s);
  }
}

static void test_column_sums(void **state) {
  (void)state;
  COMPILES_AT_MOST(4, column_sums());
}

/* The shortest ways between the nodes of a circle of `n`, one node after the other allowed on the
 * way, in one graph. */
static void circle(int64_t n) {
  nx_tensor *i = GOOD(nx_reshape(vector(n, 0, 1), (int64_t[]){n, 1}, 2, 0)),
            *j = GOOD(nx_reshape(vector(n, 0, 1), (int64_t[]){1, n}, 2, 0));
  nx_tensor *apart = GOOD(nx_abs(GOOD(nx_sub(i, j))));
  nx_tensor *d = GOOD(nx_min(apart, GOOD(nx_sub(number((float)n), apart))));
  d = GOOD(nx_where(GOOD(nx_cmple(d, number(1))), d, number(1000)));
  for (int64_t k = 0; k < n; k++)
    d = GOOD(nx_min(d, GOOD(nx_add(box(d, 0, n, k, k + 1), box(d, k, k + 1, 0, n)))));
  float ways[48 * 48];
  OK(nx_read(d, ways, sizeof ways, NULL));
  for (int64_t a = 0; a < n * n; a++) {
    int64_t forth = a / n > a % n ? a / n - a % n : a % n - a / n;
    assert_true(ways[a] == (float)(forth < n - forth ? forth : n - forth));
  }
}

static void test_steps_of_a_graph(void **state) {
  (void)state;
  COMPILES_AT_MOST(3, circle(48));
}

/* Rows are appended to a cache, and all of them so far are summed. */
static void appended(nx_tensor *cache, int64_t rows) {
  for (int64_t t = 0; t < rows; t++) {
    nx_scope *s = nx_scope_begin(ctx);
    OK(nx_assign(box(cache, t, t + 1, 0, 40), constant(40, (float)t)));
    nx_tensor *sum = GOOD(nx_reduce_sum(box(cache, 0, t + 1, 0, 40), NX_AXES(0), 0));
    float got[40];
    OK(nx_read(sum, got, sizeof got, NULL));
    for (int i = 0; i < 40; i++) assert_true(got[i] == (float)(t * (t + 1) / 2));
    nx_scope_end(s);
  }
}

static void test_positions(void **state) {
  (void)state;
  nx_tensor *cache = matrix(100, 40);
  OK(nx_realize(ctx, &cache, 1, NULL));
  COMPILES_AT_MOST(6, appended(cache, 100));
}

/* A query against the keys so far, which are all 1 in the first of 16 columns, and the average of
 * the values so far, weighted by a softmax of the equal products. */
static void attend(nx_tensor *keys, nx_tensor *values, int64_t rows) {
  nx_tensor *query = constant(16, 1);
  query = GOOD(nx_reshape(query, (int64_t[]){1, 16}, 2, 0));
  OK(nx_realize(ctx, &query, 1, NULL));
  for (int64_t t = 0; t < rows; t++) {
    nx_scope *s = nx_scope_begin(ctx);
    OK(nx_assign(box(keys, t, t + 1, 0, 16), constant(16, 1)));
    OK(nx_assign(box(values, t, t + 1, 0, 16), constant(16, 3)));
    nx_tensor *k = box(keys, 0, t + 1, 0, 16), *v = box(values, 0, t + 1, 0, 16);
    nx_tensor *w = GOOD(nx_matmul(query, GOOD(nx_permute(k, (int32_t[]){1, 0}, 2))));
    nx_tensor *e = GOOD(nx_exp(GOOD(nx_sub(w, GOOD(nx_reduce_max(w, NX_AXES(1), NX_KEEPDIMS))))));
    nx_tensor *p = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS))));
    float got[16];
    OK(nx_read(GOOD(nx_matmul(p, v)), got, sizeof got, NULL));
    for (int i = 0; i < 16; i++) assert_true(got[i] > 2.999F && got[i] < 3.001F);
    nx_scope_end(s);
  }
}

static void test_attention(void **state) {
  (void)state;
  nx_tensor *keys = matrix(60, 16), *values = matrix(60, 16);
  OK(nx_realize(ctx, (nx_tensor *[]){keys, values}, 2, NULL));
  COMPILES_AT_MOST(8, attend(keys, values, 60));
}

/* A symmetric matrix whose factor of Cholesky has ones in and below its diagonal: min(i, j) + 1.
 * Each step leaves the same matrix with a row and a column less, so that all is exact. */
static void cholesky(int64_t n) {
  nx_tensor *i = GOOD(nx_reshape(vector(n, 1, 1), (int64_t[]){n, 1}, 2, 0)),
            *j = GOOD(nx_reshape(vector(n, 1, 1), (int64_t[]){1, n}, 2, 0)),
            *a = GOOD(nx_min(i, j)), *product = number(1);
  for (int64_t k = n; k > 0; k--) {
    nx_tensor *first = box(a, 0, k, 0, 1), *pivot = GOOD(nx_sqrt(box(a, 0, 1, 0, 1)));
    product = GOOD(nx_mul(GOOD(nx_add(product, number(1))), pivot));
    if (k == 1) break;
    nx_tensor *column = box(GOOD(nx_div(first, pivot)), 1, k, 0, 1);
    nx_tensor *row = GOOD(nx_reshape(column, (int64_t[]){1, k - 1}, 2, 0));
    a = GOOD(nx_sub(box(a, 1, k, 1, k), GOOD(nx_mul(column, row))));
  }
  EXPECT(GOOD(nx_reshape(product, (int64_t[]){1}, 1, 0)), (float)(n + 1));
}

/* Fewer than there are kinds of kernels, some of which are the same structure. */
static void test_written_out(void **state) {
  (void)state;
  COMPILES_AT_MOST(6, cholesky(60));
}

static void transpose(int64_t rows, int64_t columns) {
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = matrix(rows, columns);
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *y = GOOD(nx_contiguous(GOOD(nx_permute(x, (int32_t[]){1, 0}, 2))));
  float *all = malloc((size_t)(rows * columns) * sizeof *all);
  assert_non_null(all);
  OK(nx_read(y, all, (size_t)(rows * columns) * sizeof *all, NULL));
  for (int64_t i = 0; i < rows * columns; i++)
    assert_true(all[i] == (float)(i % rows * columns + i / rows));
  free(all);
  nx_scope_end(s);
}

/* Extents from a vector on, so that some have tails and others have none, and some tasks are
 * several rows of tiles and others a part of one. */
static void transposes(void) {
  for (int64_t i = 0; i < 60; i++) transpose(16 + i * 37 % 301, 16 + i * 91 % 457);
}

static void test_transposes(void **state) {
  (void)state;
  COMPILES_AT_MOST(4, transposes()); /* vector() itself is a kernel, too */
}

static void scan(int64_t n) {
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *y = GOOD(nx_associative_scan(constant(n, 1), NX_SCAN_SUM, 0));
  float *all = malloc((size_t)n * sizeof *all);
  assert_non_null(all);
  OK(nx_read(y, all, (size_t)n * sizeof *all, NULL));
  for (int64_t i = 0; i < n; i++) assert_true(all[i] == (float)(i + 1));
  free(all);
  nx_scope_end(s);
}

static void scans(void) {
  for (int64_t i = 1; i <= 64; i++) scan(i * 149);
}

static void test_scans(void **state) {
  (void)state;
  COMPILES_AT_MOST(4, scans());
}

static nx_report sine(int64_t n) {
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  nx_tensor *x = vector(n, 0, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *y = GOOD(nx_sin(GOOD(nx_exp(x))));
  OK(nx_realize(ctx, &y, 1, &o));
  return r;
}

/* The second length makes code with parameters, and the third takes it. */
static void check_counts(void) {
  nx_report first = sine(3000), second, third;
  if (first.kernel_misses == 0 || first.generic_misses > 0)
    return; /* interpreted; all is generic */
  second = sine(4000), third = sine(5000);
  assert_int_equal(second.generic_misses, 1);
  assert_int_equal(second.generic_hits, 0);
  assert_int_equal(third.generic_misses, 0);
  assert_int_equal(third.generic_hits, 1);
  assert_int_equal(third.kernel_misses, 0);
  nx_stats stats = {.size = sizeof stats};
  nx_context_stats(ctx, &stats);
  assert_in_range(stats.kernels_generic, 1, 2); /* vector() may be one */
  assert_in_range(stats.kernels_shared, 1, 3);
}

static void test_what_is_counted(void **state) {
  (void)state;
  nx_context *outer = ctx;
  OK(nx_context_create(&(nx_context_options){.size = sizeof(nx_context_options), .cache_dir = ""},
                       &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  check_counts();
  nx_scope_end(s);
  nx_context_release(ctx);
  ctx = outer;
}

NXT_MAIN(extents) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(test_lengths),     IN_SCOPE(test_batches),         IN_SCOPE(test_steps_of_a_graph),
      IN_SCOPE(test_positions),   IN_SCOPE(test_what_is_counted), IN_SCOPE(test_written_out),
      IN_SCOPE(test_transposes),  IN_SCOPE(test_scans),           IN_SCOPE(test_any_lengths),
      IN_SCOPE(test_row_lengths), IN_SCOPE(test_column_sums),     IN_SCOPE(test_attention),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
