/* SPDX-License-Identifier: ISC */
/* The order of additions that docs/numerics.md defines, written out: first by hand for few
 * elements, then once more as the page says it, in the plainest way, without anything of the
 * library. The node-by-node interpreter, with which everything else is compared, must follow it.
 * Also which axes form a run, and in which order it is reduced. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/graph/graph.h"
#include "ir/interp/block.h"
#include "ir/interp/dots.h"
#include "passes/graph/passes.h"
#include "tests/util/runner.h"

/* ---- what the interpreter gives */

static void interpret_two(const char *text, const float *x, const float *y, float *out) {
  nxg_graph *g = NULL;
  nxg_program *p = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  void *const inputs[2] = {(void *)(uintptr_t)x, (void *)(uintptr_t)y}, *const outputs[1] = {out};
  if (nxg_parse(text, strlen(text), &g, &d) || nxp_program_create(g, &p, &d) ||
      nxg_program_run(p, inputs, NULL, NULL, outputs, &d))
    fail_msg("%s", d.message);
  nxg_program_destroy(p);
  nxg_destroy(g);
}

static void interpret(const char *text, const float *x, float *out) {
  interpret_two(text, x, NULL, out);
}

/* n elements that lie `columns` apart, the first column of a sum over axis 0. One column: the last
 * axis. */
static float sum_of(const float *x, int64_t n, int64_t columns) {
  char text[200], shape[40];
  if (columns == 1) snprintf(shape, sizeof shape, "f32[%ld]", (long)n);
  else snprintf(shape, sizeof shape, "f32[%ld,%ld]", (long)n, (long)columns);
  snprintf(text, sizeof text,
           "nxir 2\ngraph @f(%%x: %s) -> (%%s) {\n%%s = reduce_sum %%x axes=[0]\n}\n", shape);
  float out[4] = {0};
  assert_true(columns <= 4);
  interpret(text, x, out);
  return out[0];
}

/* Magnitudes so different that nearly every other order gives another sum. */
static void fill(float *x, int64_t n) {
  uint64_t bits = (uint64_t)n;
  for (int64_t i = 0; i < n; i++) {
    bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
    float power = (float)(1 << (bits >> 60));
    x[i] = ((float)(int32_t)(bits >> 32) * 0x1p-31f) * power;
  }
}

/* ---- by hand */

static float in_order(const float *x, int from, int to) {
  float sum = x[from];
  for (int i = from + 1; i < to; i++) sum += x[i];
  return sum;
}

static void few_elements_of_the_last_axis(void **state) {
  (void)state;
  float x[20];
  fill(x, 20);
  assert_true(sum_of(x, 1, 1) == x[0]);
  assert_true(sum_of(x, 2, 1) == x[0] + x[1]);
  assert_true(sum_of(x, 3, 1) == (x[0] + x[2]) + x[1]); /* lanes 0 and 2 join before lane 1 */
  assert_true(sum_of(x, 4, 1) == (x[0] + x[2]) + (x[1] + x[3]));
  assert_true(sum_of(x, 5, 1) == ((x[0] + x[4]) + x[2]) + (x[1] + x[3]));
  assert_true(sum_of(x, 9, 1) ==
              (((x[0] + x[8]) + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])));
  /* the second element of lane 0 before anything of another lane */
  float even = (((x[0] + x[16]) + x[8]) + (x[4] + x[12])) + ((x[2] + x[10]) + (x[6] + x[14])),
        odd = ((x[1] + x[9]) + (x[5] + x[13])) + ((x[3] + x[11]) + (x[7] + x[15]));
  assert_true(sum_of(x, 17, 1) == even + odd);
}

static void few_elements_of_another_axis(void **state) {
  (void)state;
  float x[100], spread[400];
  fill(x, 100);
  for (int i = 0; i < 100; i++)
    for (int k = 0; k < 4; k++) spread[4 * i + k] = k ? 0 : x[i];
  assert_true(sum_of(spread, 1, 4) == x[0]);
  assert_true(sum_of(spread, 3, 4) == (x[0] + x[1]) + x[2]);
  assert_true(sum_of(spread, 16, 4) == in_order(x, 0, 16));
  assert_true(sum_of(spread, 17, 4) == in_order(x, 0, 16) + x[16]);
  assert_true(sum_of(spread, 34, 4) ==
              (in_order(x, 0, 16) + in_order(x, 16, 32)) + (x[32] + x[33]));
  assert_true(sum_of(spread, 64, 4) == (in_order(x, 0, 16) + in_order(x, 16, 32)) +
                                           (in_order(x, 32, 48) + in_order(x, 48, 64)));
  assert_true(sum_of(spread, 65, 4) == ((in_order(x, 0, 16) + in_order(x, 16, 32)) +
                                        (in_order(x, 32, 48) + in_order(x, 48, 64))) +
                                           x[64]);
}

/* ---- as the page says it */

/* Neighbours join, a missing partner passes through, until one is left. */
static float tree(float *partial, int64_t n) {
  while (n > 1) {
    int64_t left = 0;
    for (int64_t i = 0; i < n; i += 2)
      partial[left++] = i + 1 < n ? partial[i] + partial[i + 1] : partial[i];
    n = left;
  }
  return partial[0];
}

static float plain_sum(const float *x, int64_t n) {
  float partial[200];
  int64_t blocks = 0;
  for (int64_t at = 0; at < n; at += 16) {
    partial[blocks] = x[at];
    for (int64_t k = at + 1; k < at + 16 && k < n; k++) partial[blocks] += x[k];
    blocks++;
  }
  return tree(partial, blocks);
}

static float lanes_sum(const float *x, int64_t n) {
  float lane[16];
  bool there[16];
  for (int64_t l = 0; l < 16; l++) {
    float partial[200];
    int64_t blocks = 0;
    for (int64_t at = l; at < n; at += 256) { /* element l of each block of 256, then every 16th */
      partial[blocks] = x[at];
      for (int64_t k = at + 16; k < at - l + 256 && k < n; k += 16) partial[blocks] += x[k];
      blocks++;
    }
    there[l] = blocks > 0;
    lane[l] = blocks ? tree(partial, blocks) : 0;
  }
  for (int apart = 8; apart > 0; apart /= 2)
    for (int l = 0; l < apart; l++)
      if (there[l + apart]) lane[l] += lane[l + apart];
  return lane[0];
}

static void many_elements(void **state) {
  (void)state;
  static float x[3000], spread[6000];
  int others = 0, all = 0;
  for (int64_t n = 1; n <= 2600; n += n < 40 ? 1 : n < 300 ? 7 : 83) {
    fill(x, n);
    for (int64_t i = 0; i < n; i++) spread[2 * i] = x[i], spread[2 * i + 1] = 1;
    assert_true(sum_of(x, n, 1) == lanes_sum(x, n));
    assert_true(sum_of(spread, n, 2) == plain_sum(x, n));
    others += lanes_sum(x, n) != plain_sum(x, n);
    all++;
  }
  assert_true(others > all / 3); /* else they would show nothing; short sums are often equal */
}

/* Axes 0 and 2 of three: first the inner one, which is the last axis, then the outer one, which is
 * not. */
static void two_runs(void **state) {
  (void)state;
  float x[20 * 2 * 30], wanted[2], is[2];
  fill(x, 20 * 2 * 30);
  for (int column = 0; column < 2; column++) {
    float inner[20];
    for (int i = 0; i < 20; i++) inner[i] = lanes_sum(x + 60 * i + 30 * column, 30);
    wanted[column] = plain_sum(inner, 20);
  }
  interpret("nxir 2\ngraph @f(%x: f32[20,2,30]) -> (%s) {\n%s = reduce_sum %x axes=[0,2]\n}\n", x,
            is);
  assert_true(is[0] == wanted[0] && is[1] == wanted[1]);
}

/* ---- products of a matrix with a vector */

enum { MOST_PRODUCTS = 1100, MOST_COLUMNS = 77 };
static float vector[MOST_PRODUCTS], matrix[MOST_PRODUCTS * MOST_COLUMNS];

/* Whether the vector is on the left, and whether the matrix has its runs along the last axis. */
static void expect_products(int n, int columns, bool left, bool dense) {
  char text[400], shape[40];
  float out[MOST_COLUMNS] = {0}, products[MOST_PRODUCTS];
  int rows = left ? n : columns, across = left ? columns : n;
  bool turned = left == dense;
  snprintf(shape, sizeof shape, "f32[%d,%d]", turned ? across : rows, turned ? rows : across);
  snprintf(text, sizeof text,
           "nxir 2\ngraph @f(%%x: f32[%d,%d], %%m: %s) -> (%%y) {\n"
           "%%t = permute %%m axes=[%s]\n%%y = matmul %s\n}\n",
           left ? 1 : n, left ? n : 1, shape, turned ? "1,0" : "0,1", left ? "%x, %t" : "%t, %x");
  interpret_two(text, vector, matrix, out);
  for (int j = 0; j < columns; j++) {
    for (int k = 0; k < n; k++)
      products[k] = vector[k] * matrix[dense ? j * n + k : k * columns + j];
    if (out[j] != lanes_sum(products, n))
      fail_msg("%d of %d, %d products, %s%s", j, columns, n, left ? "left" : "right",
               dense ? ", dense" : "");
  }
}

static void products_with_vectors(void **state) {
  (void)state;
  fill(vector, MOST_PRODUCTS);
  fill(matrix, (int64_t)MOST_PRODUCTS * MOST_COLUMNS);
  for (int n = 2; n <= MOST_PRODUCTS; n += n < 40 ? 1 : n < 300 ? 37 : 211)
    for (int form = 0; form < 4; form++) {
      expect_products(n, MOST_COLUMNS, form & 1, form & 2);
      if (n > 32) expect_products(n, 5, form & 1, form & 2);
    }
}

/* The loops for any processor, for this one, and for one with narrower vectors give the same. */
static void compare_products(const nxg_dots *(*const get[2])(nx_dtype t)) {
  static double x[MOST_PRODUCTS], m[MOST_PRODUCTS * NXG_DOT_COLUMNS];
  for (int i = 0; i < MOST_PRODUCTS * NXG_DOT_COLUMNS; i++) m[i] = matrix[i] / 3;
  for (int n = 1; n <= MOST_PRODUCTS; n += n < 20 ? 1 : 57) {
    double a[2][NXG_DOT_COLUMNS], one[2];
    float b[2][NXG_DOT_COLUMNS], few[2];
    for (int i = 0; i < n; i++) x[i] = vector[i] / 7;
    for (int k = 0; k < 2; k++) {
      const nxg_dots *f64 = get[k](NX_F64), *f32 = get[k](NX_F32);
      f64->many(x, m, sizeof a[0], n, a[k]), f64->one(x, m, n, &one[k]);
      f32->many(vector, matrix, sizeof b[0], n, b[k]), f32->one(vector, matrix, n, &few[k]);
    }
    assert_memory_equal(a[0], a[1], sizeof a[0]);
    assert_memory_equal(b[0], b[1], sizeof b[0]);
    assert_true(one[0] == one[1] && few[0] == few[1]);
  }
}

static void products_of_any_processor(void **state) {
  (void)state;
  compare_products((const nxg_dots *(*const[2])(nx_dtype)){nxg_dots_generic, nxg_dots_host});
#if defined(__x86_64__)
  if (nxg_block_has_avx2())
    compare_products((const nxg_dots *(*const[2])(nx_dtype)){nxg_dots_generic, nxg_dots_avx2});
#endif
}

/* ---- which axes form a run */

static void runs(void **state) {
  (void)state;
#define L NXK_ORDER_LANES
#define P NXK_ORDER_PLAIN
  static const struct {
    int32_t rank;
    int64_t shape[4];
    uint32_t mask;
    int32_t n;
    nxg_run runs[2];
  } rows[] = {{1, {4}, 1, 1, {{1, L}}},
              {2, {4, 5}, 2, 1, {{2, L}}},
              {2, {4, 5}, 1, 1, {{1, P}}},
              {2, {4, 5}, 3, 1, {{3, L}}},
              {3, {2, 3, 4}, 5, 2, {{1, P}, {4, L}}},
              {3, {2, 1, 4}, 5, 1, {{5, L}}}, /* an extent of 1 does not lie between */
              {3, {2, 3, 1}, 2, 1, {{2, L}}}, /* nor is it the last axis */
              {3, {2, 3, 1}, 5, 1, {{1, P}}}, /* nor is it reduced */
              {3, {3, 1, 1}, 1, 1, {{1, L}}},
              {2, {1, 1}, 3, 0, {{0, P}}},
              {4, {2, 3, 4, 5}, 6, 1, {{6, P}}},
              {4, {2, 3, 4, 5}, 11, 2, {{3, P}, {8, L}}},
              {4, {2, 3, 4, 5}, 5, 2, {{1, P}, {4, P}}},
              {3, {2, 0, 4}, 2, 1, {{2, P}}}};
#undef L
#undef P
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    nxg_run is[NXG_MAX_RANK];
    int32_t n = nxg_reduce_runs(rows[i].rank, rows[i].shape, rows[i].mask, is);
    if (n != rows[i].n) fail_msg("row %zu has %d runs, not %d", i, n, rows[i].n);
    for (int32_t k = 0; k < n; k++)
      if (is[k].axes != rows[i].runs[k].axes || is[k].order != rows[i].runs[k].order)
        fail_msg("row %zu, run %d: axes %u, order %d", i, k, is[k].axes, (int)is[k].order);
  }
}

/* A product that only fma keeps: (1 + e)^2 - (1 + 2 e) = e^2. */
static void fused_products(void **state) {
  (void)state;
  float e = 0x1p-20f, x[4] = {-1, 1 + e, 1 + 2 * e, 1 + e}, y = 0;
  interpret("nxir 2\ngraph @g(%x: f32[2,2]) -> (%y) {\n%a = shrink %x start=[0,0] stop=[1,2]\n%b = "
            "shrink %x start=[1,0] stop=[2,2]\n"
            "%c = permute %b axes=[1,0]\n%y = matmul %a, %c\n}\n",
            x, &y);
  assert_true(y == 0x1p-40f);
}

/* ---- max and min of runs of any length: NaN wins, of zeros max takes +0 and min -0 */

enum { LONGEST_RUN = 700 };

static float best_of(const float *x, int n, bool max) {
  float best = x[0];
  for (int i = 1; i < n; i++) {
    bool sign = signbit(max ? x[i] : best), better = max ? best > x[i] : best < x[i];
    best = best != best || better || (best == x[i] && sign) ? best : x[i];
  }
  return best;
}

static void expect_best(const float *x, int n, const char *type, bool max) {
  char text[240];
  float expected = best_of(x, n, max), got = 0;
  snprintf(text, sizeof text,
           "nxir 2\ngraph @g(%%x: f32[%d]) -> (%%a) {\n%%y = cast %%x : %s[%d]\n"
           "%%b = reduce_%s %%y axes=[0]\n%%a = cast %%b : f32[]\n}\n",
           n, type, n, max ? "max" : "min");
  interpret(text, x, &got);
  assert_memory_equal(&got, &expected, sizeof got);
}

static void best_of_runs(void **state) {
  static float x[LONGEST_RUN + 1];
  static const float some[] = {0, -0.0f, 0, -0.0f, 1, -1, 2, -INFINITY, INFINITY};
  (void)state;
  for (int seed = 1; seed < 60; seed++) {
    uint32_t h = (uint32_t)seed;
    int n = seed < 50 ? seed : seed * 11, kinds = seed % 2 == 0 ? 1 : 8;
    for (int i = 0; i < n; i++) {
      h = h * 1664525 + 1013904223;
      x[i + 1] = some[(h >> 24) % (uint32_t)kinds + (seed % 4 == 0)];
    }
    if (seed % 2 == 0) x[1 + h % (uint32_t)n] = some[seed % 4 != 0];
    if (seed % 5 == 0) x[1 + h % (uint32_t)n] = (float)NAN;
    for (int k = 0; k < 4; k++) expect_best(x + 1, n, k & 1 ? "f32" : "f64", k & 2);
  }
}

NXT_MAIN(order) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs),
                                     cmocka_unit_test(few_elements_of_the_last_axis),
                                     cmocka_unit_test(few_elements_of_another_axis),
                                     cmocka_unit_test(many_elements),
                                     cmocka_unit_test(two_runs),
                                     cmocka_unit_test(fused_products),
                                     cmocka_unit_test(best_of_runs),
                                     cmocka_unit_test(products_with_vectors),
                                     cmocka_unit_test(products_of_any_processor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
