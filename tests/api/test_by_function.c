/* SPDX-License-Identifier: ISC */
/* Reductions, scans and windows by a function: the order in which a combiner that is not
 * associative shows it, what is recognised, what a function may read, and what is refused with
 * which words. */
#include <math.h>

#include "tests/util/api.h"

/* ---- functions */

enum { MOST = 1000 };
static nx_tensor *in[64];

static void inputs(int n, nx_dtype dtype) {
  for (int i = 0; i < n; i++) in[i] = GOOD(nx_placeholder(ctx, device(), dtype, NULL, 0));
}
static nx_function *function_of(size_t n_in, nx_tensor *const *out, size_t n_out) {
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, NULL, &f));
  return f;
}
typedef nx_tensor *binary(nx_tensor *, nx_tensor *);
static nx_function *by_operation(binary *op, nx_dtype dtype) {
  inputs(2, dtype);
  nx_tensor *r = GOOD(op(in[0], in[1]));
  return function_of(2, &r, 1);
}
/* a - 3b: neither associative nor commutative */
static nx_tensor *apart(nx_tensor *a, nx_tensor *b) {
  return nx_sub(a, nx_binary_f64(b, NX_BINARY_MUL, 3));
}
static float apart_of(float a, float b) {
  float three = b * 3;
  return a - three;
}

static float numbers[MOST];
static void fill(void) {
  for (int i = 0; i < MOST; i++) numbers[i] = (float)(i * 7919 % 1013) / 64 - 3;
}
static nx_tensor *line_of(int64_t n) {
  return GOOD(nx_from_data(ctx, device(), NX_F32, &n, 1, numbers, (size_t)n * sizeof(float)));
}

/* ---- the order, written down once more */

static float pairwise(const float *x, size_t n, size_t step) {
  float at[8];
  for (size_t i = 0; i < n; i++) at[i] = x[i * step];
  for (; n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < (n + 1) / 2; i++)
      at[i] = 2 * i + 1 < n ? apart_of(at[2 * i], at[2 * i + 1]) : at[2 * i];
  return at[0];
}

/* Overwrites x. */
static float reduced(float *x, size_t n) {
  float rest[8];
  int rests = 0;
  for (; n > 8; n /= 8) {
    if (n % 8) rest[rests++] = pairwise(x + n / 8 * 8, n % 8, 1);
    for (size_t i = 0; i < n / 8; i++) x[i] = pairwise(x + 8 * i, 8, 1);
  }
  float y = pairwise(x, n, 1);
  while (rests--) y = apart_of(y, rest[rests]);
  return y;
}

static void scanned(float *x, size_t n) {
  float total[MOST / 8 + 1];
  for (size_t i = 0; i < n; i++)
    if (i % 8) x[i] = apart_of(x[i - 1], x[i]);
  if (n <= 8) return;
  for (size_t i = 0; i < n / 8; i++) total[i] = x[8 * i + 7];
  if (n / 8) scanned(total, n / 8);
  for (size_t i = 8; i < n; i++) x[i] = apart_of(total[i / 8 - 1], x[i]);
}

static const int64_t lengths[] = {1, 2, 7, 8, 9, 15, 63, 64, 65, 100, 129, 585, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void order_of_reductions(void **state) {
  (void)state;
  nx_function *f = by_operation(apart, NX_F32);
  nx_tensor *init = number(0.25F), *y = NULL;
  for (int i = 0; i < LENGTHS; i++) {
    int64_t n = lengths[i];
    float copy[MOST];
    memcpy(copy, numbers, sizeof copy);
    nx_tensor *x = line_of(n);
    OK(nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 0, &y, 1));
    EXPECT(y, apart_of(0.25F, reduced(copy, (size_t)n)));
  }
  nx_function_release(f);
}

static void order_of_axes(void **state) {
  (void)state;
  enum { ROWS = 11, COLUMNS = 21 };
  nx_function *f = by_operation(apart, NX_F32);
  nx_tensor *init = number(0.25F), *y = NULL,
            *x = GOOD(nx_reshape(line_of(ROWS * COLUMNS), NX_SHAPE(ROWS, COLUMNS), 0)),
            *turned = GOOD(nx_permute(x, NX_AXES(1, 0)));
  float rows[ROWS], columns[COLUMNS], line[COLUMNS];
  for (int i = 0; i < ROWS; i++) {
    memcpy(line, numbers + (size_t)i * COLUMNS, sizeof line);
    rows[i] = reduced(line, COLUMNS);
  }
  for (int k = 0; k < COLUMNS; k++) {
    for (int i = 0; i < ROWS; i++) line[i] = numbers[i * COLUMNS + k];
    columns[k] = apart_of(0.25F, reduced(line, ROWS));
  }
  float all = apart_of(0.25F, reduced(rows, ROWS));
  OK(nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, NX_KEEPDIMS, &y, 1));
  expect_values_(GOOD(nx_reshape(y, NX_SHAPE(1), 0)), &all, 1, __FILE__, __LINE__);
  OK(nx_reduce_by(f, &turned, &init, 1, NX_AXES(1), 0, &y, 1));
  expect_values_(y, columns, COLUMNS, __FILE__, __LINE__);
  OK(nx_reduce_by(f, &x, &init, 1, NX_AXES(-2), 0, &y, 1));
  expect_values_(y, columns, COLUMNS, __FILE__, __LINE__);
  nx_function_release(f);
}

static void order_of_scans(void **state) {
  (void)state;
  nx_function *f = by_operation(apart, NX_F32);
  for (int i = 0; i < LENGTHS; i++) {
    int64_t n = lengths[i];
    float want[MOST];
    memcpy(want, numbers, sizeof want);
    scanned(want, (size_t)n);
    nx_tensor *x = line_of(n), *y = NULL;
    OK(nx_scan_by(f, &x, NULL, 1, 0, 0, &y, 1));
    expect_values_(y, want, (size_t)n, __FILE__, __LINE__);
  }
  nx_function_release(f);
}

static void order_of_windows(void **state) {
  (void)state;
  enum { SIDE = 12 };
  static const int64_t sizes[][2] = {{1, 1}, {2, 2}, {3, 3}, {8, 8}, {9, 8}, {10, 9}};
  nx_function *f = by_operation(apart, NX_F32);
  nx_tensor *x = GOOD(nx_reshape(line_of(SIDE * SIDE), NX_SHAPE(SIDE, SIDE), 0)),
            *init = number(0.25F), *y = NULL;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int64_t *k = sizes[s];
    nx_sliding_window w = {.size = sizeof w, .n = 2, .kernel = k};
    int64_t rows = SIDE - k[0] + 1, columns = SIDE - k[1] + 1;
    float want[SIDE * SIDE], line[SIDE], of_row[SIDE];
    for (int64_t i = 0; i < rows * columns; i++) {
      bool listed = k[0] * k[1] <= 64;
      want[i] = 0.25F;
      for (int64_t r = 0; r < k[0]; r++) {
        const float *from = numbers + (i / columns + r) * SIDE + i % columns;
        for (int64_t c = 0; listed && c < k[1]; c++) want[i] = apart_of(want[i], from[c]);
        memcpy(of_row, from, (size_t)k[1] * sizeof *of_row);
        line[r] = reduced(of_row, (size_t)k[1]);
      }
      if (!listed) want[i] = apart_of(0.25F, reduced(line, (size_t)k[0]));
    }
    OK(nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
    expect_values_(y, want, (size_t)(rows * columns), __FILE__, __LINE__);
  }
  nx_function_release(f);
}

/* ---- what is recognised has the bits of the library's own */

static void expect_equal(nx_tensor *a, nx_tensor *b, size_t n) {
  float is[MOST], want[MOST];
  OK(nx_read(a, is, n * sizeof *is, NULL));
  OK(nx_read(GOOD(b), want, n * sizeof *want, NULL));
  assert_memory_equal(is, want, n * sizeof *want);
}

static void recognised(void **state) {
  (void)state;
  static const struct {
    binary *op;
    nx_tensor *(*reduce)(nx_tensor *, const int32_t *, size_t, uint32_t);
    nx_scan_op scan;
    float init;
  } rows[] = {{nx_add, nx_reduce_sum, NX_SCAN_SUM, 5},
              {nx_mul, nx_reduce_prod, NX_SCAN_PROD, 0.5F},
              {nx_max, nx_reduce_max, NX_SCAN_MAX, 2},
              {nx_min, nx_reduce_min, NX_SCAN_MIN, 2}};
  static const int64_t three[] = {3};
  nx_sliding_window w = {.size = sizeof w, .n = 1, .kernel = three};
  nx_tensor *x = line_of(300), *y = NULL;
  for (size_t i = 0; i < 4; i++) {
    nx_function *f = by_operation(rows[i].op, NX_F32);
    nx_tensor *init = number(rows[i].init);
    OK(nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 0, &y, 1));
    expect_equal(y, rows[i].op(init, rows[i].reduce(x, NX_ALL_AXES, 0)), 1);
    OK(nx_scan_by(f, &x, NULL, 1, 0, 0, &y, 1));
    expect_equal(y, nx_associative_scan(x, rows[i].scan, 0), 300);
    OK(nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
    nx_window same = {.size = sizeof same, .n = 1, .kernel = three};
    expect_equal(y, rows[i].op(init, rows[i].reduce(nx_unfold(x, &same), NX_AXES(0), 0)), 298);
    nx_function_release(f);
  }
}

static void sums_with_counts(void **state) {
  (void)state;
  inputs(4, NX_F32);
  nx_tensor *r[2] = {nx_add(in[2], in[0]), nx_max(in[1], in[3])};
  nx_function *f = function_of(4, r, 2);
  nx_tensor *x[2] = {vector(100, 0, 1), vector(100, 5, -1)}, *init[2] = {number(1), number(2)},
            *y[2];
  OK(nx_reduce_by(f, x, init, 2, NX_ALL_AXES, 0, y, 2));
  EXPECT(y[0], 4951);
  EXPECT(y[1], 5);
  nx_function_release(f);
}

static void any_and_all(void **state) {
  (void)state;
  nx_tensor *x = GOOD(
                nx_reshape(nx_binary_f64(vector(12, 0, 1), NX_BINARY_CMPGT, 6), NX_SHAPE(3, 4), 0)),
            *no = GOOD(nx_full(ctx, device(), NX_BOOL, NULL, 0, NX_INTEGER(0))),
            *yes = GOOD(nx_full(ctx, device(), NX_BOOL, NULL, 0, NX_INTEGER(1))), *y = NULL;
  nx_function *any = by_operation(nx_or, NX_BOOL), *all = by_operation(nx_and, NX_BOOL),
              *odd = by_operation(nx_xor, NX_BOOL);
  OK(nx_reduce_by(any, &x, &no, 1, NX_AXES(1), 0, &y, 1));
  EXPECT(GOOD(nx_cast(y, NX_F32)), 0, 1, 1);
  OK(nx_reduce_by(all, &x, &yes, 1, NX_AXES(1), 0, &y, 1));
  EXPECT(GOOD(nx_cast(y, NX_F32)), 0, 0, 1);
  OK(nx_reduce_by(odd, &x, &no, 1, NX_AXES(1), 0, &y, 1));
  EXPECT(GOOD(nx_cast(y, NX_F32)), 0, 1, 0);
  OK(nx_scan_by(any, &x, &no, 1, 0, 0, &y, 1));
  EXPECT(GOOD(nx_cast(y, NX_F32)), 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1);
  nx_function_release(any), nx_function_release(all), nx_function_release(odd);
}

/* ---- usual combiners of several operations */

static void log_sum_exp(void **state) {
  (void)state;
  inputs(2, NX_F64);
  nx_tensor *top = nx_max(in[0], in[1]), *low = nx_min(in[0], in[1]),
            *y = GOOD(nx_add(top, nx_log1p(nx_exp(nx_sub(low, top)))));
  nx_function *f = function_of(2, &y, 1);
  nx_tensor *x = GOOD(nx_cast(line_of(MOST), NX_F64)),
            *init = GOOD(nx_full(ctx, device(), NX_F64, NULL, 0, NX_NUMBER(-700)));
  double sum = 0, is;
  for (int i = 0; i < MOST; i++) sum += exp((double)numbers[i]);
  OK(nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 0, &y, 1));
  OK(nx_read(y, &is, sizeof is, NULL));
  assert_true(fabs(is - log(sum)) < 1e-13 * log(sum));
  nx_function_release(f);
}

/* Linear recurrences: y = a y + b. */
static void recurrence(void **state) {
  (void)state;
  inputs(4, NX_F32);
  nx_tensor *r[2] = {nx_mul(in[0], in[2]), nx_add(nx_mul(in[1], in[2]), in[3])};
  nx_function *f = function_of(4, r, 2);
  nx_tensor *x[2] = {constant(20, 2), constant(20, 1)}, *init[2] = {number(1), number(0)}, *y[2];
  OK(nx_scan_by(f, x, init, 2, 0, NX_EXCLUSIVE, y, 2));
  float want[20], at = 0;
  for (int i = 0; i < 20; i++, at = 2 * at + 1) want[i] = at;
  expect_values_(y[1], want, 20, __FILE__, __LINE__);
  OK(nx_scan_by(f, x, init, 2, 0, NX_REVERSE, y, 2));
  at = 1;
  for (int i = 19; i >= 0; i--, at = 2 * at + 1) want[i] = at;
  expect_values_(y[1], want, 20, __FILE__, __LINE__);
  nx_function_release(f);
}

/* ---- what a function reads, and where it is used */

static void reads(void **state) {
  (void)state;
  nx_tensor *table = vector(5, 10, 1), *two = GOOD(nx_copy(number(2))), *y = NULL;
  OK(nx_realize(ctx, &two, 1, NULL));
  inputs(2, NX_F32);
  nx_tensor *third = GOOD(nx_reshape(part(table, 3, 1, 1), NULL, 0, 0)),
            *r = GOOD(nx_add(nx_mul(in[0], two), nx_mul(in[1], third)));
  nx_function *f = function_of(2, &r, 1);
  nx_tensor *x = vector(2, 1, 1), *zero = number(0);
  OK(nx_reduce_by(f, &x, &zero, 1, NX_ALL_AXES, 0, &y, 1));
  EXPECT(y, (1 * 2 + 2 * 13) * 13);
  OK(nx_assign(two, number(7)));
  EXPECT(y, (1 * 2 + 2 * 13) * 13);
  OK(nx_reduce_by(f, &x, &zero, 1, NX_ALL_AXES, 0, &y, 1));
  EXPECT(y, (1 * 7 + 2 * 13) * 13);
  nx_function_release(f);
}

static void results_that_are_inputs(void **state) {
  (void)state;
  inputs(2, NX_F32);
  nx_tensor *last = in[1], *first = in[0], *five = GOOD(number(5)), *y = NULL;
  nx_tensor *x = vector(20, 1, 1), *init = number(-1);
  nx_function *f = function_of(2, &last, 1);
  OK(nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 0, &y, 1));
  OK(nx_assign(part(x, 19, 1, 1), number(0)));
  EXPECT(y, 20);
  nx_function_release(f);
  inputs(2, NX_F32);
  first = in[0];
  f = function_of(2, &first, 1);
  OK(nx_scan_by(f, &x, &init, 1, 0, 0, &y, 1));
  expect_equal(y, constant(20, -1), 20);
  nx_function_release(f);
  inputs(2, NX_F32);
  f = function_of(2, &five, 1);
  OK(nx_reduce_by(f, &x, &init, 1, NX_AXES(0), NX_KEEPDIMS, &y, 1));
  EXPECT(y, 5);
  nx_function_release(f);
}

static void inside_a_function(void **state) {
  (void)state;
  nx_function *combiner = by_operation(apart, NX_F32), *f = NULL;
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(9))), *init = number(0),
            *y = NULL, *out[1] = {NULL};
  OK(nx_reduce_by(combiner, &x, &init, 1, NX_ALL_AXES, 0, &y, 1));
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  float copy[9];
  memcpy(copy, numbers, sizeof copy);
  nx_tensor *line = line_of(9);
  OK(nx_function_call(f, &line, 1, out, 1, NULL));
  EXPECT(out[0], apart_of(0, reduced(copy, 9)));
  nx_function_release(f), nx_function_release(combiner);
}

static void nothing_to_reduce(void **state) {
  (void)state;
  nx_function *f = by_operation(apart, NX_F32), *top = by_operation(nx_max, NX_F32);
  nx_tensor *none = GOOD(nx_empty(ctx, device(), NX_F32, NX_SHAPE(2, 0))), *init = number(3),
            *y = NULL, *scalar = number(4);
  static const int64_t two[] = {2}, one[] = {1};
  nx_sliding_window w = {.size = sizeof w, .n = 1, .kernel = two, .before = one, .after = two};
  OK(nx_reduce_by(f, &none, &init, 1, NX_AXES(1), 0, &y, 1));
  EXPECT(y, 3, 3);
  OK(nx_reduce_by(top, &none, &init, 1, NX_AXES(1), 0, &y, 1));
  EXPECT(y, 3, 3);
  OK(nx_reduce_by(f, &none, &init, 1, NX_AXES(0), 0, &y, 1));
  assert_int_equal(nx_elements(y), 0);
  OK(nx_scan_by(f, &none, &init, 1, 1, NX_EXCLUSIVE, &y, 1));
  assert_int_equal(nx_elements(y), 0);
  OK(nx_reduce_window(top, &none, &init, 1, &w, &y, 1));
  EXPECT(y, 3, 3, 3, 3);
  OK(nx_reduce_by(f, &scalar, &init, 1, NX_ALL_AXES, 0, &y, 1));
  EXPECT(y, -9);
  w.n = 0;
  OK(nx_reduce_window(f, &scalar, &init, 1, &w, &y, 1));
  EXPECT(y, -9);
  nx_function_release(f), nx_function_release(top);
}

/* Windows of rank 0 are the elements; where windows do not fit there are none, and over an operand
 * without elements there is nothing in them. */
static void windows_of_nothing(void **state) {
  (void)state;
  static const int64_t none[] = {0}, three[] = {3}, far[] = {9}, two[] = {2};
  nx_function *f = by_operation(apart, NX_F32);
  nx_tensor *x = vector(4, 1, 1), *empty = GOOD(nx_empty(ctx, device(), NX_F32, none, 1)),
            *init = number(1), *y = NULL;
  nx_sliding_window w = {.size = sizeof w};
  OK(nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  EXPECT(y, -2, -5, -8, -11);
  w = (nx_sliding_window){.size = sizeof w, .n = 1, .kernel = far};
  OK(nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  assert_int_equal(nx_shape(y)[0], 0);
  w = (nx_sliding_window){.size = sizeof w, .n = 1, .kernel = three, .before = two, .after = two};
  OK(nx_reduce_window(f, &empty, &init, 1, &w, &y, 1));
  assert_int_equal(nx_shape(y)[0], 2);
  EXPECT(y, 1, 1);
  nx_function_release(f);
}

/* What is around them leaves a sum of negative zeros one, in both parts. */
static void windows_of_negative_zeros(void **state) {
  (void)state;
  static const int64_t two[] = {2};
  const nx_scalar zero = {NX_SCALAR_C128, {.f = {-0.0, -0.0}}};
  nx_function *f = by_operation(nx_add, NX_C64);
  nx_tensor *x = GOOD(nx_full(ctx, device(), NX_C64, NX_SHAPE(3), &zero)), *y = NULL,
            *init = GOOD(nx_full(ctx, device(), NX_C64, NULL, 0, &zero));
  nx_sliding_window w = {
      .size = sizeof w, .n = 1, .kernel = two, .base_dilation = two, .before = two, .after = two};
  float parts[2 * 8];
  OK(nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  assert_int_equal(nx_shape(y)[0], 8);
  OK(nx_read(y, parts, sizeof parts, NULL));
  for (int i = 0; i < 16; i++) assert_true(parts[i] == 0 && signbit(parts[i]));
  nx_function_release(f);
}

/* An initial value that is known only when it runs. */
static void computed_init(void **state) {
  (void)state;
  nx_function *top = by_operation(nx_max, NX_F32);
  static const int64_t two[] = {2};
  nx_sliding_window w = {
      .size = sizeof w, .n = 1, .kernel = two, .base_dilation = two, .before = two};
  nx_tensor *x = vector(3, -3, 1), *init = GOOD(nx_reduce_sum(vector(3, -3, 1), NX_ALL_AXES, 0)),
            *y = NULL;
  OK(nx_reduce_window(top, &x, &init, 1, &w, &y, 1));
  EXPECT(y, -6, -3, -3, -2, -2, -1);
  nx_function_release(top);
}

/* ---- what is refused */

static nx_tensor *x, *init, *y;
static void refused(nx_status is, nx_status status, const char *words) {
  nx_error e = {.size = sizeof e};
  assert_int_equal(is, status);
  assert_int_equal(nx_error_take(&e), status);
  if (!strstr(e.message, words)) fprintf(stderr, "\"%s\" has no \"%s\"\n", e.message, words);
  assert_non_null(strstr(e.message, words));
}
#define REFUSED(words, call) refused((call), NX_INVALID_ARGUMENT, (words))
static nx_status reduce_with(nx_function *f) {
  nx_status status = nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 0, &y, 1);
  nx_function_release(f);
  return status;
}

static void bad_functions(void **state) {
  (void)state;
  x = vector(4, 0, 1), init = number(0);
  nx_tensor *outside = vector(3, 0, 1), *r;
  REFUSED("a combiner of 1 operands has 2 inputs and 1 results, not 1 and 1",
          (inputs(1, NX_F32), r = nx_neg(in[0]), reduce_with(function_of(1, &r, 1))));
  REFUSED("operand 0 has dtype f32, input 0 of the combiner f64",
          reduce_with(by_operation(nx_add, NX_F64)));
  REFUSED("result 0 of the combiner is bool, not f32", reduce_with(by_operation(nx_cmplt, NX_F32)));
  inputs(2, NX_F32);
  r = GOOD(nx_reduce_sum(nx_add(in[0], outside), NX_AXES(0), 0));
  REFUSED("in the combiner view gives the shape [3], not rank 0",
          reduce_with(function_of(2, &r, 1)));
  inputs(2, NX_F32);
  r = GOOD(nx_add(in[0], nx_reshape(nx_reduce_sum(nx_reshape(in[1], NX_SHAPE(1), 0), NX_AXES(0), 0),
                                    NULL, 0, 0)));
  REFUSED("not rank 0", reduce_with(function_of(2, &r, 1)));
  inputs(2, NX_F32);
  r = GOOD(nx_add(in[0], nx_reduce_sum(in[1], NX_ALL_AXES, 0)));
  REFUSED("the combiner does reduce_sum, which is no operation on scalars",
          reduce_with(function_of(2, &r, 1)));
  inputs(2, NX_F32);
  r = GOOD(nx_add(in[0], outside));
  REFUSED("not rank 0", reduce_with(function_of(2, &r, 1)));
  in[0] = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(2)));
  in[1] = GOOD(nx_placeholder(ctx, device(), NX_F32, NULL, 0));
  r = in[1];
  REFUSED("input 0 of the combiner has the shape [2], not rank 0",
          (r = in[1], reduce_with(function_of(2, &r, 1))));
}

static void bad_operands(void **state) {
  (void)state;
  nx_function *f = by_operation(apart, NX_F32);
  x = vector(4, 0, 1), init = number(0);
  static const int64_t two[] = {2}, zero[] = {0}, many[] = {INT64_MAX / 2};
  nx_tensor *wide = GOOD(nx_cast(init, NX_F64)), *line = vector(1, 0, 1);
  REFUSED("there are no initial values", nx_reduce_by(f, &x, NULL, 1, NX_ALL_AXES, 0, &y, 1));
  REFUSED("0 operands; there may be 1 to 128",
          nx_reduce_by(f, &x, &init, 0, NX_ALL_AXES, 0, &y, 0));
  REFUSED("129 operands", nx_reduce_by(f, &x, &init, 129, NX_ALL_AXES, 0, &y, 129));
  REFUSED("a list is null", nx_reduce_by(f, NULL, &init, 1, NX_ALL_AXES, 0, &y, 1));
  REFUSED("a list is null", nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 0, NULL, 1));
  REFUSED("initial value 0 is f64 of shape [], not f32 of rank 0",
          nx_reduce_by(f, &x, &wide, 1, NX_ALL_AXES, 0, &y, 1));
  REFUSED("initial value 0 is f32 of shape [1]",
          nx_reduce_by(f, &x, &line, 1, NX_ALL_AXES, 0, &y, 1));
  REFUSED("NX_KEEPDIMS", nx_reduce_by(f, &x, &init, 1, NX_ALL_AXES, 4, &y, 1));
  REFUSED("axis 1", nx_reduce_by(f, &x, &init, 1, NX_AXES(1), 0, &y, 1));
  REFUSED("axis 2", nx_scan_by(f, &x, NULL, 1, 2, 0, &y, 1));
  REFUSED("NX_EXCLUSIVE", nx_scan_by(f, &x, NULL, 1, 0, 4, &y, 1));
  REFUSED("no element before the first", nx_scan_by(f, &x, NULL, 1, 0, NX_EXCLUSIVE, &y, 1));
  REFUSED("the window is null", nx_reduce_window(f, &x, &init, 1, NULL, &y, 1));
  nx_sliding_window w = {.size = sizeof w, .n = 1};
  REFUSED("without a kernel", nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  w.kernel = zero;
  REFUSED("kernel 0", nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  w.kernel = two, w.base_dilation = zero;
  REFUSED("base dilation 0", nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  w.base_dilation = NULL, w.before = w.after = many;
  REFUSED("63 bits", nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  REFUSED("initial values", nx_reduce_window(f, &x, NULL, 1, &w, &y, 1));
  const int64_t both[] = {2, 2};
  w = (nx_sliding_window){.size = sizeof w, .n = 2, .kernel = both};
  REFUSED("a window of rank 2 slides over operands of rank 1",
          nx_reduce_window(f, &x, &init, 1, &w, &y, 1));
  nx_function_release(f);
  inputs(4, NX_F32);
  nx_tensor *r[2] = {GOOD(nx_add(in[0], in[2])), GOOD(nx_mul(in[1], in[3]))}, *out[2],
            *unequal[2] = {x, vector(5, 0, 1)}, *zeros[2] = {init, init};
  f = function_of(4, r, 2);
  REFUSED("operand 1 has the shape [5], operand 0 [4]",
          nx_reduce_by(f, unequal, zeros, 2, NX_ALL_AXES, 0, out, 2));
  unequal[1] = NULL;
  REFUSED("", nx_reduce_by(f, unequal, zeros, 2, NX_ALL_AXES, 0, out, 2));
  nx_function_release(f);
}

static int setup(void **state) {
  fill();
  return begin_scope(state);
}

NXT_MAIN(by_function) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, end_scope)
  const struct CMUnitTest tests[] = {CASE(order_of_reductions),
                                     CASE(order_of_axes),
                                     CASE(order_of_scans),
                                     CASE(order_of_windows),
                                     CASE(recognised),
                                     CASE(sums_with_counts),
                                     CASE(any_and_all),
                                     CASE(log_sum_exp),
                                     CASE(recurrence),
                                     CASE(reads),
                                     CASE(results_that_are_inputs),
                                     CASE(inside_a_function),
                                     CASE(nothing_to_reduce),
                                     CASE(windows_of_nothing),
                                     CASE(windows_of_negative_zeros),
                                     CASE(computed_init),
                                     CASE(bad_functions),
                                     CASE(bad_operands)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
