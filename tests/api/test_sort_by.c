/* SPDX-License-Identifier: ISC */
/* Sorting several operands by a comparator: comparators that frontends write, which have keys, and
 * others, beside a sort by insertion. */
#include <math.h>

#include "tests/util/api.h"

enum { MOST = 700 };
static nx_tensor *in[8];

static void pairs_of(int k, nx_dtype first, nx_dtype others) {
  for (int i = 0; i < 2 * k; i++)
    in[i] = GOOD(nx_placeholder(ctx, device(), i < 2 ? first : others, NULL, 0));
}
static nx_function *comparator(int k, nx_tensor *less) {
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, (size_t)k * 2, &less, 1, NULL, &f));
  return f;
}

static float first[MOST], second[MOST];
static void fill(void) {
  for (int i = 0; i < MOST; i++) {
    first[i] = (float)(i * 7919 % 13) - 6;
    second[i] = (float)(i * 104729 % 31) / 4;
  }
  for (int i = 0; i < MOST; i += 9) first[i] = i % 2 ? 0.0F : -0.0F;
}
static nx_tensor *line_of(const float *x, int64_t n) {
  return GOOD(nx_from_data(ctx, device(), NX_F32, &n, 1, x, (size_t)n * sizeof *x));
}

/* Sorts first[], second[] and their numbers as f says, and compares with `before`. */
static void expect_sorted(nx_function *f, int k, int64_t n, bool (*before)(int, int)) {
  static int order[MOST];
  nx_tensor *x[3] = {line_of(first, n), line_of(second, n), vector(n, 0, 1)}, *out[3];
  for (int i = 0; i < n; i++) {
    int at = i;
    for (; at && before(i, order[at - 1]); at--) order[at] = order[at - 1];
    order[at] = i;
  }
  OK(nx_sort_by(f, x, (size_t)k, 0, out, (size_t)k));
  float is[MOST];
  for (int j = 0; j < k; j++) {
    OK(nx_read(out[j], is, (size_t)n * sizeof *is, NULL));
    for (int i = 0; i < n; i++) {
      float want = j == 0 ? first[order[i]] : j == 1 ? second[order[i]] : (float)order[i];
      assert_memory_equal(&is[i], &want, sizeof want);
    }
  }
  nx_function_release(f);
}

/* ---- keys */

static bool by_first(int a, int b) { return first[a] < first[b]; }
static bool by_first_down(int a, int b) { return first[a] > first[b]; }
static bool by_both(int a, int b) {
  return first[a] < first[b] || (first[a] == first[b] && second[a] > second[b]);
}

static void one_key(void **state) {
  (void)state;
  pairs_of(3, NX_F32, NX_F32);
  expect_sorted(comparator(3, nx_cmplt(in[0], in[1])), 3, MOST, by_first);
  pairs_of(3, NX_F32, NX_F32);
  expect_sorted(comparator(3, nx_cmplt(in[1], in[0])), 3, MOST, by_first_down);
  pairs_of(3, NX_F32, NX_F32);
  expect_sorted(comparator(3, nx_cmpgt(in[1], in[0])), 3, MOST, by_first);
  pairs_of(1, NX_F32, NX_F32);
  expect_sorted(comparator(1, nx_cmpgt(in[0], in[1])), 1, MOST, by_first_down);
}

static void two_keys(void **state) {
  (void)state;
  pairs_of(3, NX_F32, NX_F32);
  nx_tensor *less = nx_cmplt(in[0], in[1]), *rest = nx_cmpgt(in[2], in[3]);
  expect_sorted(comparator(3, nx_or(less, nx_and(nx_cmpeq(in[1], in[0]), rest))), 3, MOST, by_both);
  pairs_of(3, NX_F32, NX_F32);
  less = nx_cmplt(in[0], in[1]), rest = nx_cmpgt(in[2], in[3]);
  expect_sorted(comparator(3, nx_where(nx_cmpeq(in[0], in[1]), rest, less)), 3, MOST, by_both);
  pairs_of(3, NX_F32, NX_F32);
  less = nx_cmplt(in[0], in[1]), rest = nx_cmpgt(in[2], in[3]);
  expect_sorted(comparator(3, nx_where(nx_cmpne(in[0], in[1]), less, rest)), 3, MOST, by_both);
}

/* A key that is computed: the square of the first, then the second. */
static bool by_square(int a, int b) {
  float x = first[a] * first[a], y = first[b] * first[b];
  return x < y || (x == y && second[a] < second[b]);
}
static void computed_key(void **state) {
  (void)state;
  pairs_of(3, NX_F32, NX_F32);
  nx_tensor *a = nx_mul(in[0], in[0]), *b = nx_mul(in[1], in[1]);
  nx_tensor *both = nx_and(nx_cmplt(in[2], in[3]), nx_cmpeq(a, b));
  expect_sorted(comparator(3, nx_or(both, nx_cmplt(a, b))), 3, MOST, by_square);
}

/* What frontends write for floats: zeros are one, NaNs are one and last, in total order. */
static nx_tensor *canonical(nx_tensor *x) {
  nx_tensor *zero = number(0), *same = nx_where(nx_cmpeq(x, zero), zero, x);
  return GOOD(nx_total_order(nx_where(nx_cmpne(x, x), number(NAN), same)));
}
static bool by_canonical(int a, int b) {
  return isnan(first[a]) ? false : isnan(first[b]) || first[a] < first[b];
}
static bool by_bits(int a, int b) {
  int32_t x, y;
  memcpy(&x, &first[a], sizeof x);
  memcpy(&y, &first[b], sizeof y);
  return (x < 0 ? x ^ INT32_MAX : x) < (y < 0 ? y ^ INT32_MAX : y);
}
static void total_order(void **state) {
  (void)state;
  for (int i = 4; i < MOST; i += 11) first[i] = i % 2 ? -NAN : NAN;
  first[7] = INFINITY, first[8] = -INFINITY;
  pairs_of(3, NX_F32, NX_F32);
  nx_tensor *less = nx_cmplt(canonical(in[0]), canonical(in[1]));
  expect_sorted(comparator(3, less), 3, MOST, by_canonical);
  pairs_of(1, NX_F32, NX_F32);
  less = nx_cmplt(canonical(in[0]), canonical(in[1]));
  expect_sorted(comparator(1, less), 1, MOST, by_canonical);
  pairs_of(3, NX_F32, NX_F32);
  less = nx_cmplt(nx_total_order(in[0]), nx_total_order(in[1]));
  expect_sorted(comparator(3, less), 3, MOST, by_bits);
}

/* ---- no keys */

static bool by_distance(int a, int b) {
  float x = fabsf(first[a] - second[b]), y = fabsf(first[b] - second[a]);
  return first[a] + second[a] < first[b] + second[b] && x >= 0 && y >= 0;
}
/* first + second orders, hidden in a comparator that mixes both places. */
static nx_tensor *mixed(void) {
  nx_tensor *x = nx_add(in[0], in[2]), *y = nx_add(in[1], in[3]);
  return GOOD(nx_cmplt(nx_sub(x, y), number(0)));
}
static void any_comparator(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 2, 3, 8, 21, 64};
  for (int i = 0; i < 6; i++) {
    pairs_of(3, NX_F32, NX_F32);
    expect_sorted(comparator(3, mixed()), 3, lengths[i], by_distance);
  }
}

/* Whatever it says, every element is there once. */
static void contradictions(void **state) {
  (void)state;
  pairs_of(1, NX_F32, NX_F32);
  nx_tensor *always = GOOD(nx_cmpeq(nx_sub(in[0], in[0]), nx_sub(in[1], in[1])));
  nx_function *f = comparator(1, always);
  nx_tensor *x = vector(13, 0, 1), *y;
  OK(nx_sort_by(f, &x, 1, 0, &y, 1));
  EXPECT(GOOD(nx_sort(y, 0, 0)), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  nx_function_release(f);
}

/* ---- bool, and what is refused */

static void bools(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_cast(
      GOOD(nx_reshape(line_of((float[]){1, 0, 0, 1, 0, 1}, 6), NX_SHAPE(2, 3), 0)), NX_BOOL));
  EXPECT(GOOD(nx_cast(nx_sort(x, 1, 0), NX_F32)), 0, 0, 1, 0, 1, 1);
  EXPECT(GOOD(nx_cast(nx_sort(x, 0, NX_DESCENDING), NX_F32)), 1, 0, 1, 1, 0, 0);
  EXPECT(GOOD(nx_cast(nx_argsort(x, 1, 0, NX_I64), NX_F32)), 1, 2, 0, 1, 0, 2);
  assert_null(nx_sort(x, 2, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
  assert_null(nx_argsort(x, 0, 0, NX_F32));
  assert_int_equal(nx_error_take(NULL), NX_UNSUPPORTED_DTYPE);
}

static void refused(nx_status is, const char *words) {
  nx_error e = {.size = sizeof e};
  assert_int_equal(is, NX_INVALID_ARGUMENT);
  assert_int_equal(nx_error_take(&e), NX_INVALID_ARGUMENT);
  if (!strstr(e.message, words)) fprintf(stderr, "\"%s\" has no \"%s\"\n", e.message, words);
  assert_non_null(strstr(e.message, words));
}
static void bad(void **state) {
  (void)state;
  pairs_of(2, NX_F32, NX_I32);
  nx_function *f = comparator(2, nx_cmplt(in[0], in[1]));
  nx_tensor *x[2] = {vector(4, 0, 1), vector(4, 0, 1)}, *out[2], *scalar[1] = {number(1)};
  refused(nx_sort_by(f, x, 2, 0, out, 2),
          "sort_by: operand 1 has dtype f32, input 2 of the comparator i32");
  x[1] = GOOD(nx_cast(x[1], NX_I32));
  refused(nx_sort_by(f, x, 2, 1, out, 2), "axis 1");
  refused(nx_sort_by(f, x, 2, 0, out, 1), "2 operands have no 1 results");
  refused(nx_sort_by(f, x, 1, 0, out, 1),
          "a comparator of 1 operands has 2 inputs and 1 results, not 4 and 1");
  nx_function_release(f);
  pairs_of(1, NX_F32, NX_F32);
  f = comparator(1, nx_sub(in[0], in[1]));
  refused(nx_sort_by(f, x, 1, 0, out, 1), "result 0 of the comparator is f32, not bool");
  nx_function_release(f);
  pairs_of(1, NX_F32, NX_F32);
  f = comparator(1, nx_cmplt(in[0], in[1]));
  refused(nx_sort_by(f, scalar, 1, 0, out, 1), "axis");
  nx_function_release(f);
}

static int setup(void **state) {
  fill();
  return begin_scope(state);
}

NXT_MAIN(sort_by) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, end_scope)
  const struct CMUnitTest tests[] = {
      CASE(one_key),        CASE(two_keys),       CASE(computed_key), CASE(total_order),
      CASE(any_comparator), CASE(contradictions), CASE(bools),        CASE(bad)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
