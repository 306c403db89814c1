/* SPDX-License-Identifier: ISC */
/* Tests of shapes and views: each movement word against an enumeration of all its indices, what is
 * refused and with which words, and the questions about views against brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph/view.h"
#include "tests/util/runner.h"

#define A(...) ((const int64_t[]){__VA_ARGS__})
#define X(...) ((const int32_t[]){__VA_ARGS__})

static nxg_view dense(int32_t rank, const int64_t *shape) {
  nxg_view v;
  nxg_view_contiguous(&v, rank, shape);
  return v;
}

static int64_t element(const nxg_view *v, const int64_t *index) {
  int64_t at = v->offset;
  for (int32_t i = 0; i < v->rank; i++) at += index[i] * v->strides[i];
  return at;
}

/* The next index of v in C order; false after the last. */
static bool next_index(const nxg_view *v, int64_t *index) {
  for (int32_t i = v->rank; i-- > 0;) {
    if (++index[i] < v->shape[i]) return true;
    index[i] = 0;
  }
  return false;
}

static void check_elements(const nxg_view *v, size_t n, const int64_t *expected) {
  int64_t index[NXG_MAX_RANK] = {0};
  size_t at = 0;
  assert_int_equal(nxg_elements(v->rank, v->shape), n);
  if (n == 0) return;
  do {
    if (element(v, index) != expected[at])
      fail_msg("element %zu is %lld, not %lld", at, (long long)element(v, index),
               (long long)expected[at]);
    at++;
  } while (next_index(v, index));
}

/* The status and a part of the sentence of a refusal. */
static void check_refused(nx_status status, nxi_diag *d, nx_status expected, const char *words) {
  assert_int_equal(status, expected);
  assert_int_equal(d->status, expected);
  if (!strstr(d->message, words)) fail_msg("\"%s\" does not say \"%s\"", d->message, words);
  nxi_diag_clear(d);
}

static void test_shape_check(void **state) {
  (void)state;
  nxi_diag d;
  int64_t n = 7, ones[33];
  nxi_diag_clear(&d);
  for (int i = 0; i < 33; i++) ones[i] = 1;
  assert_int_equal(nxg_shape_check(NX_PARSE, "op", 3, A(2, 0, 5), 32, &n, &d), NX_OK);
  assert_int_equal(n, 0);
  assert_int_equal(nxg_shape_check(NX_PARSE, "op", 0, NULL, 64, &n, &d), NX_OK);
  assert_int_equal(n, 1);
  assert_int_equal(nxg_shape_check(NX_PARSE, "op", 32, ones, 64, &n, &d), NX_OK);
  check_refused(nxg_shape_check(NX_PARSE, "op", 33, ones, 8, &n, &d), &d, NX_PARSE, "rank 33");
  check_refused(nxg_shape_check(NX_INVALID_ARGUMENT, "op", 2, A(3, -1), 8, &n, &d), &d,
                NX_INVALID_ARGUMENT, "op: extent 1 of the shape [3,-1]");
  assert_int_equal(nxg_shape_check(NX_PARSE, "op", 1, A(INT64_MAX), 8, &n, &d), NX_OK);
  check_refused(nxg_shape_check(NX_PARSE, "op", 1, A(INT64_MAX), 16, &n, &d), &d, NX_PARSE,
                "63 bits");
  check_refused(nxg_shape_check(NX_PARSE, "op", 3, A(INT64_MAX, 0, 2), 8, &n, &d), &d, NX_PARSE,
                "63 bits");
}

static void test_broadcast(void **state) {
  (void)state;
  nxi_diag d;
  int64_t shape[NXG_MAX_RANK];
  int32_t rank;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_broadcast("add", 3, A(4, 1, 3), 2, A(5, 1), &rank, shape, &d), NX_OK);
  assert_true(nxg_same_shape(rank, shape, 3, A(4, 5, 3)));
  assert_int_equal(nxg_broadcast("add", 1, A(1), 1, A(0), &rank, shape, &d), NX_OK);
  assert_true(nxg_same_shape(rank, shape, 1, A(0)));
  check_refused(nxg_broadcast("add", 2, A(2, 3), 1, A(4), &rank, shape, &d), &d,
                NX_INVALID_ARGUMENT, "add: the shapes [2,3] and [4]");
  check_refused(nxg_broadcast("add", 2, A(INT64_MAX, 1), 1, A(3), &rank, shape, &d), &d,
                NX_INVALID_ARGUMENT, "63 bits");
}

static void test_expand(void **state) {
  (void)state;
  nxi_diag d;
  nxg_view v = dense(2, A(2, 1)), out;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_view_expand(&v, 3, A(2, 2, 3), &out, &d), NX_OK);
  check_elements(&out, 12, A(0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1));
  assert_int_equal(nxg_view_expand(&v, 2, A(2, 0), &out, &d), NX_OK);
  assert_int_equal(out.offset, 0);
  check_refused(nxg_view_expand(&v, 2, A(3, 1), &out, &d), &d, NX_INVALID_ARGUMENT,
                "expand: the operand of shape [2,1] cannot become [3,1]");
  check_refused(nxg_view_expand(&v, 1, A(2), &out, &d), &d, NX_INVALID_ARGUMENT, "more dimensions");
  check_refused(nxg_view_expand(&v, 3, A(INT64_MAX, 2, 2), &out, &d), &d, NX_INVALID_ARGUMENT,
                "63 bits");
}

static void test_reshape(void **state) {
  (void)state;
  nxi_diag d;
  nxg_view v = dense(2, A(4, 6)), out, t;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_view_reshape(&v, 5, A(2, 1, 2, 3, 2), &out, &d), NX_OK);
  assert_true(nxg_view_is_contiguous(&out));
  assert_int_equal(nxg_view_permute(&v, X(1, 0), 2, &t, &d), NX_OK);
  check_refused(nxg_view_reshape(&t, 1, A(24), &out, &d), &d, NX_NEEDS_COPY,
                "reshape: the operand of shape [6,4] cannot become [24]");
  assert_int_equal(nxg_view_reshape(&t, 4, A(3, 2, 1, 4), &out, &d),
                   NX_OK); /* splits, does not join */
  check_elements(
      &out, 24,
      A(0, 6, 12, 18, 1, 7, 13, 19, 2, 8, 14, 20, 3, 9, 15, 21, 4, 10, 16, 22, 5, 11, 17, 23));
  check_refused(nxg_view_reshape(&v, 1, A(23), &out, &d), &d, NX_INVALID_ARGUMENT,
                "numbers of elements differ");
  /* rows that are evenly spaced join, across an extent of 1 too */
  assert_int_equal(nxg_view_slice(&v, A(0, 0), A(2, 6), A(2, 1), &t, &d), NX_OK);
  check_refused(nxg_view_reshape(&t, 1, A(12), &out, &d), &d, NX_NEEDS_COPY, "contiguous");
  assert_int_equal(nxg_view_slice(&v, A(1, 5), A(3, 6), A(1, -1), &t, &d), NX_OK);
  check_refused(nxg_view_reshape(&t, 1, A(18), &out, &d), &d, NX_NEEDS_COPY, "contiguous");
  assert_int_equal(nxg_view_flip(&v, X(0, 1), 2, &t, &d), NX_OK);
  assert_int_equal(nxg_view_reshape(&t, 3, A(1, 24, 1), &out, &d), NX_OK);
  assert_int_equal(out.offset, 23);
  assert_int_equal(out.strides[1], -1);
  /* broadcast dimensions join with one another */
  nxg_view one = dense(2, A(1, 1));
  assert_int_equal(nxg_view_expand(&one, 2, A(3, 4), &t, &d), NX_OK);
  assert_int_equal(nxg_view_reshape(&t, 1, A(12), &out, &d), NX_OK);
  assert_int_equal(out.strides[0], 0);
  nxg_view empty = dense(2, A(0, 5));
  assert_int_equal(nxg_view_reshape(&empty, 3, A(7, 0, 2), &out, &d), NX_OK);
  assert_true(nxg_view_is_contiguous(&out));
  nxg_view scalar = dense(0, NULL);
  assert_int_equal(nxg_view_reshape(&scalar, 3, A(1, 1, 1), &out, &d), NX_OK);
  assert_true(nxg_view_is_contiguous(&out));
  assert_int_equal(nxg_view_reshape(&out, 0, NULL, &out, &d), NX_OK);
  assert_int_equal(out.rank, 0);
}

/* Strides of extents of 1 mean nothing, all others do; extents of 0 count as 1. */
static void test_in_order(void **state) {
  (void)state;
  assert_true(nxg_is_in_order(0, NULL, NULL));
  assert_true(nxg_is_in_order(3, A(2, 1, 3), A(3, 77, 1)));
  assert_true(nxg_is_in_order(2, A(1, 1), A(-5, 0)));
  assert_true(nxg_is_in_order(3, A(2, 0, 3), A(3, 3, 1)));
  assert_false(nxg_is_in_order(3, A(2, 1, 3), A(4, 1, 1)));
  assert_false(nxg_is_in_order(2, A(3, 2), A(1, 3)));
  assert_false(nxg_is_in_order(1, A(4), A(-1)));
  assert_false(nxg_is_in_order(2, A(3, 1), A(2, 1)));
}

static void test_permute_flip(void **state) {
  (void)state;
  nxi_diag d;
  nxg_view v = dense(3, A(2, 1, 3)), out;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_view_permute(&v, X(-1, 0, 1), 3, &out, &d), NX_OK);
  check_elements(&out, 6, A(0, 3, 1, 4, 2, 5));
  check_refused(nxg_view_permute(&v, X(0, 1), 2, &out, &d), &d, NX_INVALID_ARGUMENT,
                "2 axes are given for the operand of shape [2,1,3]");
  check_refused(nxg_view_permute(&v, X(0, 1, 3), 3, &out, &d), &d, NX_INVALID_ARGUMENT,
                "axis 3 is out of range for rank 3");
  check_refused(nxg_view_permute(&v, X(0, 1, -3), 3, &out, &d), &d, NX_INVALID_ARGUMENT,
                "axis -3 is given twice");
  assert_int_equal(nxg_view_flip(&v, X(2), 1, &out, &d), NX_OK);
  check_elements(&out, 6, A(2, 1, 0, 5, 4, 3));
  assert_int_equal(nxg_view_flip(&v, X(1), 1, &out, &d), NX_OK);
  assert_true(nxg_view_is_contiguous(&out)); /* one element is the same both ways */
  check_refused(nxg_view_flip(&v, X(0, 0), 2, &out, &d), &d, NX_INVALID_ARGUMENT, "twice");
}

static void test_shrink_slice(void **state) {
  (void)state;
  nxi_diag d;
  nxg_view v = dense(2, A(4, 5)), out;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_view_shrink(&v, A(1, 2), A(3, 4), &out, &d), NX_OK);
  check_elements(&out, 4, A(7, 8, 12, 13));
  assert_int_equal(nxg_view_shrink(&v, A(4, 0), A(4, 5), &out, &d), NX_OK);
  assert_int_equal(out.offset, 0);
  check_refused(nxg_view_shrink(&v, A(0, 0), A(4, 6), &out, &d), &d, NX_INDEX_OUT_OF_RANGE,
                "shrink: 0 .. 6 is not a range of axis 1");
  check_refused(nxg_view_shrink(&v, A(3, 0), A(2, 5), &out, &d), &d, NX_INDEX_OUT_OF_RANGE,
                "axis 0");
  assert_int_equal(nxg_view_slice(&v, A(3, 0), A(2, 3), A(-3, 2), &out, &d), NX_OK);
  check_elements(&out, 6, A(15, 17, 19, 0, 2, 4));
  assert_int_equal(nxg_view_slice(&v, A(9, 0), A(0, 1), A(1, 1), &out, &d),
                   NX_OK); /* no index: none is wrong */
  check_refused(nxg_view_slice(&v, A(0, 0), A(1, 1), A(0, 1), &out, &d), &d, NX_INVALID_ARGUMENT,
                "slice: 1 elements");
  check_refused(nxg_view_slice(&v, A(0, 0), A(1, -1), A(1, 1), &out, &d), &d, NX_INVALID_ARGUMENT,
                "slice");
  check_refused(nxg_view_slice(&v, A(0, 4), A(1, 2), A(1, 1), &out, &d), &d, NX_INDEX_OUT_OF_RANGE,
                "axis 1 of the shape [4,5]");
  check_refused(nxg_view_slice(&v, A(0, 0), A(1, 3), A(1, INT64_MAX), &out, &d), &d,
                NX_INDEX_OUT_OF_RANGE, "axis 1");
  check_refused(nxg_view_slice(&v, A(0, 1), A(1, 2), A(1, INT64_MIN), &out, &d), &d,
                NX_INDEX_OUT_OF_RANGE, "axis 1");
}

static void test_as_strided(void **state) {
  (void)state;
  nxi_diag d;
  nxg_view out;
  nxi_diag_clear(&d);
  assert_int_equal(nxg_view_as_strided(10, 2, A(3, 2), A(-4, 1), 8, &out, &d), NX_OK);
  check_elements(&out, 6, A(8, 9, 4, 5, 0, 1));
  assert_int_equal(nxg_view_as_strided(0, 2, A(0, 2), A(7, 7), 99, &out, &d), NX_OK);
  assert_int_equal(out.offset, 0);
  assert_int_equal(nxg_view_as_strided(5, 2, A(1, 5), A(INT64_MIN, 1), 0, &out, &d), NX_OK);
  check_refused(nxg_view_as_strided(9, 2, A(3, 2), A(-4, 1), 8, &out, &d), &d, NX_INVALID_ARGUMENT,
                "leaves the storage of shape [9]");
  check_refused(nxg_view_as_strided(9, 1, A(3), A(-4), 7, &out, &d), &d, NX_INVALID_ARGUMENT,
                "leaves");
  check_refused(nxg_view_as_strided(9, 1, A(3), A(INT64_MAX), 0, &out, &d), &d, NX_INVALID_ARGUMENT,
                "leaves");
  check_refused(nxg_view_as_strided(9, 1, A(INT64_MAX), A(INT64_MIN), 0, &out, &d), &d,
                NX_INVALID_ARGUMENT, "leaves");
  check_refused(nxg_view_as_strided(9, 0, NULL, NULL, -1, &out, &d), &d, NX_INVALID_ARGUMENT,
                "leaves");
  check_refused(nxg_view_as_strided(0, 0, NULL, NULL, 0, &out, &d), &d, NX_INVALID_ARGUMENT,
                "leaves");
}

static bool overlaps_by_force(const nxg_view *v) {
  bool seen[4096] = {false};
  int64_t index[NXG_MAX_RANK] = {0}, low, high;
  if (!nxg_view_range(v, &low, &high)) return false;
  do {
    int64_t at = element(v, index) - low;
    assert_in_range(at, 0, high - low);
    if (seen[at]) return true;
    seen[at] = true;
  } while (next_index(v, index));
  return false;
}

static void test_overlap(void **state) {
  (void)state;
  uint64_t random = 88172645463325252u;
  int overlapping = 0;
  for (int trial = 0; trial < 20000; trial++) {
    nxg_view v = {.rank = trial % 4 + 1};
    for (int32_t i = 0; i < v.rank; i++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      v.shape[i] = random % 5;
      v.strides[i] = (int64_t)(random >> 8) % 30 - 10;
      if (v.strides[i] < 0) v.offset -= v.strides[i] * (v.shape[i] ? v.shape[i] - 1 : 0);
    }
    bool expected = overlaps_by_force(&v);
    overlapping += expected;
    assert_int_equal(nxg_view_overlaps_itself(&v), expected);
  }
  assert_in_range(overlapping, 2000, 18000);
  nxg_view wide = {.rank = 2,
                   .shape = {(1 << 20) + 1, 1 << 20},
                   .strides = {3, 1 << 20}}; /* meet where 3 a = 2^20 b */
  assert_true(nxg_view_overlaps_itself(&wide));
  wide.shape[0] = 1 << 20;
  assert_false(nxg_view_overlaps_itself(&wide));
  wide.shape[0]++;
  wide.shape[1] = 3;
  assert_false(nxg_view_overlaps_itself(&wide));
}

/* Random chains of movement words stay inside the storage, and reshape keeps the order of
 * elements. */
static void test_random_chains(void **state) {
  (void)state;
  uint64_t random = 1181783497276652981u;
  for (int trial = 0; trial < 3000; trial++) {
    nxg_view v = dense(3, A(4, 3, 6));
    for (int step = 0; step < 6; step++) {
      random ^= random << 13, random ^= random >> 7, random ^= random << 17;
      int64_t start[NXG_MAX_RANK], stop[NXG_MAX_RANK];
      int32_t turn[NXG_MAX_RANK];
      nxg_view before = v;
      for (int32_t i = 0; i < v.rank; i++) {
        start[i] = (int64_t)(random >> i) & 1 ? v.shape[i] / 3 : 0;
        stop[i] = v.shape[i];
        turn[i] = (i + 1) % v.rank;
      }
      if (random % 4 == 0)
        assert_int_equal(nxg_view_permute(&v, turn, (size_t)v.rank, &v, NULL), NX_OK);
      if (random % 4 == 1) assert_int_equal(nxg_view_shrink(&v, start, stop, &v, NULL), NX_OK);
      if (random % 4 == 2) assert_int_equal(nxg_view_flip(&v, turn, 1, &v, NULL), NX_OK);
      int64_t flat = nxg_elements(v.rank, v.shape);
      if (random % 4 == 3 && nxg_view_reshape(&v, 1, &flat, &v, NULL) == NX_OK) {
        int64_t a[NXG_MAX_RANK] = {0}, b[NXG_MAX_RANK] = {0};
        if (flat) do
            assert_int_equal(element(&v, a), element(&before, b));
          while (next_index(&v, a) && next_index(&before, b));
      }
      int64_t low, high;
      if (nxg_view_range(&v, &low, &high)) assert_true(low >= 0 && high < 72);
      else assert_int_equal(v.offset, 0);
    }
  }
}

static void test_format(void **state) {
  (void)state;
  char text[NXG_SHAPE_TEXT];
  int64_t many[32];
  for (int i = 0; i < 32; i++) many[i] = INT64_MIN + i;
  assert_string_equal(nxg_format_shape(text, 0, NULL), "[]");
  assert_string_equal(nxg_format_shape(text, 3, A(0, -12, INT64_MAX)),
                      "[0,-12,9223372036854775807]");
  assert_non_null(strstr(nxg_format_shape(text, 32, many), ",...]"));
}

NXT_MAIN(view) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shape_check),  cmocka_unit_test(test_broadcast),
      cmocka_unit_test(test_expand),       cmocka_unit_test(test_reshape),
      cmocka_unit_test(test_in_order),     cmocka_unit_test(test_permute_flip),
      cmocka_unit_test(test_shrink_slice), cmocka_unit_test(test_as_strided),
      cmocka_unit_test(test_overlap),      cmocka_unit_test(test_random_chains),
      cmocka_unit_test(test_format),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
