/* SPDX-License-Identifier: ISC */
/* The loops of the graph interpreter over whole runs and rows (ir/interp/lanes.h): runs against the
 * reducer that takes one element after the other, rows against the scalar evaluator, sums of
 * products against the loop for any processor. Memory ends with the last element. */
#include "ir/interp/lanes.h"
#include "ir/interp/block.h"
#include "ir/interp/dots.h"
#include "ir/interp/interp.h"
#include "ir/op.h"
#include "tests/util/runner.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#if defined(__x86_64__)
static uint64_t state;

/* What the elements are: maxima and minima have another way where there is a NaN, and zeros have an
 * order. ONE_NAN: the last one. */
typedef enum kind { NUMBERS, ZEROS, BELOW_ZERO, NANS, ONE_NAN, KINDS } kind;

static double element(kind kind, int64_t i, int64_t n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  const double x = (double)(int64_t)(state >> 20) / 4e12 - 2;
  const bool odd = state & 1;
  switch (kind) {
    case ZEROS: return odd ? -0.0 : 0.0;
    case BELOW_ZERO: return state % 5 == 0 ? (odd ? -0.0 : 0.0) : -x * x;
    case NANS: return state % 7 == 0 ? NAN : state % 11 == 0 ? -INFINITY : x;
    case ONE_NAN: return i + 1 == n ? NAN : x;
    default: return state % 13 == 0 ? (odd ? INFINITY : -INFINITY) : x;
  }
}

static void store(nx_dtype t, void *at, int64_t i, double x) {
  nxi_store_element((char *)at + i * nxi_dtype_size(t), t,
                    nxi_cast_bits(nxi_bits_f64(x), NX_F64, t));
}

static uint64_t load(nx_dtype t, const void *at, int64_t i) {
  return nxi_load_element((const char *)at + i * nxi_dtype_size(t), t);
}

static bool same(nx_dtype t, uint64_t a, uint64_t b) {
  const double x = nxi_f64_bits(nxi_cast_bits(a, t, NX_F64)),
               y = nxi_f64_bits(nxi_cast_bits(b, t, NX_F64));
  return a == b || (x != x && y != y);
}

static void *need(int64_t bytes) {
  void *p = malloc((size_t)bytes);
  if (p == NULL) fail();
  return p;
}

static void compare_runs(nxg_runs *runs, nxk_reduce_kind k, nx_dtype t, int64_t n, kind kind) {
  enum { COUNT = 3 };
  const int64_t apart = n + n % 3, elements = (COUNT - 1) * apart + n, size = nxi_dtype_size(t);
  char *from = need(elements * size), *results = need((COUNT + 1) * size);
  nxi_reducer *r = need(sizeof *r);
  assert_non_null(runs);
  for (int64_t i = 0; i < elements; i++) store(t, from, i, element(kind, i, elements));
  memset(results, 0x5a, (size_t)((COUNT + 1) * size));
  runs(from, apart * size, COUNT, n, results);
  for (int64_t i = 0; i < COUNT; i++) {
    nxi_reducer_start(r, k, NXK_ORDER_LANES, t);
    for (int64_t j = 0; j < n; j++) nxi_reducer_add(r, load(t, from, i * apart + j), 0);
    if (!same(t, load(t, results, i), nxi_reducer_finish(r)))
      fail_msg("kind %d of %ld %s: run %ld of elements %d", (int)k, (long)n, nxi_dtypes[t].name,
               (long)i, (int)kind);
  }
  assert_int_equal(results[COUNT * size], 0x5a);
  free(from), free(results), free(r);
}

static void all_runs(nxg_runs *(*get)(nxk_reduce_kind kind, nx_dtype t)) {
  static const nxk_reduce_kind kinds[] = {NXK_SUM, NXK_PROD, NXK_MAX, NXK_MIN};
  static const int64_t longer[] = {63,  64,  65,  100, 255,  256,  257,  271,  272,         273,
                                   511, 512, 513, 700, 1000, 1025, 1290, 4101, NXG_RUN_MOST};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (int t = 0; t < 2; t++)
      for (int of = 0; of < KINDS; of++) {
        const nx_dtype type = t ? NX_F64 : NX_F32;
        for (int64_t n = NXG_RUN_LEAST; n < 50; n++)
          compare_runs(get(kinds[k], type), kinds[k], type, n, (kind)of);
        for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
          compare_runs(get(kinds[k], type), kinds[k], type, longer[i], (kind)of);
      }
  assert_null(get(NXK_ARGMAX, NX_F32));
  assert_null(get(NXK_SUM, NX_I32));
}

static void compare_products(nxg_products *products, nx_dtype t, int64_t n) {
  enum { COUNT = 3 };
  const int64_t apart = n + n % 3, elements = (COUNT - 1) * apart + n, size = nxi_dtype_size(t);
  char *x = need(n * size), *rows = need(elements * size), results[COUNT * 8], one[8];
  for (int64_t i = 0; i < elements; i++) store(t, rows, i, element(NUMBERS, i, elements));
  for (int64_t i = 0; i < n; i++) store(t, x, i, element(NUMBERS, i, n));
  products(x, rows, apart * size, COUNT, n, results);
  for (int64_t i = 0; i < COUNT; i++) {
    nxg_dots_generic(t)->one(x, rows + i * apart * size, n, one);
    if (!same(t, load(t, results, i), load(t, one, 0)))
      fail_msg("%ld products of %s: %ld", (long)n, nxi_dtypes[t].name, (long)i);
  }
  free(x), free(rows);
}

static void all_products(nxg_products *(*get)(nx_dtype t)) {
  for (int64_t n = NXG_RUN_LEAST; n < 5000; n += n < 50 ? 1 : n < 600 ? 37 : 611) {
    compare_products(get(NX_F32), NX_F32, n);
    compare_products(get(NX_F64), NX_F64, n);
  }
  assert_null(get(NX_I32));
}

static void compare_rows(nxg_row_map *map, nxk_op op, nx_dtype t, nxg_single single, int64_t n,
                         kind kind) {
  enum { ROWS = 3 };
  const int64_t size = nxi_dtype_size(t);
  int64_t apart[2], elements[2];
  char *operands[2], *to = need((ROWS * n + 1) * size);
  assert_non_null(map);
  for (int k = 0; k < 2; k++) {
    const bool one = single == (k ? NXG_SECOND_SINGLE : NXG_FIRST_SINGLE);
    apart[k] = one ? 1 + n % 2 : n + n % 3;
    elements[k] = (ROWS - 1) * apart[k] + (one ? 1 : n);
    operands[k] = need(elements[k] * size);
    for (int64_t i = 0; i < elements[k]; i++)
      store(t, operands[k], i, element(kind, i, elements[k]));
  }
  memset(to, 0x5a, (size_t)((ROWS * n + 1) * size));
  map(to, operands[0], apart[0] * size, operands[1], apart[1] * size, ROWS, n);
  for (int64_t i = 0; i < ROWS * n; i++) {
    uint64_t args[2];
    for (int k = 0; k < 2; k++) {
      const bool one = single == (k ? NXG_SECOND_SINGLE : NXG_FIRST_SINGLE);
      args[k] = load(t, operands[k], i / n * apart[k] + (one ? 0 : i % n));
    }
    if (!same(t, load(t, to, i), nxk_eval(op, t, t, args)))
      fail_msg("%s of rows of %ld %s, form %d: element %ld", nxk_op_name(op), (long)n,
               nxi_dtypes[t].name, (int)single, (long)i);
  }
  assert_int_equal(to[ROWS * n * size], 0x5a);
  free(operands[0]), free(operands[1]), free(to);
}

static void all_rows(nxg_row_map *(*get)(nxk_op op, nx_dtype t, nxg_single single)) {
  static const nxk_op ops[] = {NXK_add, NXK_sub, NXK_mul, NXK_div, NXK_max, NXK_min};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    for (int form = 0; form < 3; form++)
      for (int of = 0; of < KINDS; of++)
        for (int64_t n = 1; n < 70; n++)
          for (int t = 0; t < 2; t++) {
            const nx_dtype type = t ? NX_F64 : NX_F32;
            compare_rows(get(ops[i], type, (nxg_single)form), ops[i], type, (nxg_single)form, n,
                         (kind)of);
          }
  assert_null(get(NXK_mod, NX_F32, NXG_NONE_SINGLE));
  assert_null(get(NXK_add, NX_I32, NXG_NONE_SINGLE));
}

static void avx2(void **unused) {
  (void)unused;
  if (!nxg_block_has_avx2()) skip();
  state = 88172645463325252u;
  all_runs(nxg_runs_avx2);
  all_products(nxg_products_avx2);
  all_rows(nxg_row_maps_avx2);
}

static void avx512(void **unused) {
  (void)unused;
  if (!nxg_block_has_avx512()) skip();
  state = 88172645463325252u;
  all_runs(nxg_runs_avx512);
  all_products(nxg_products_avx512);
  all_rows(nxg_row_maps_avx512);
}
#endif

NXT_MAIN(lanes) {
#if defined(__x86_64__)
  const struct CMUnitTest tests[] = {cmocka_unit_test(avx2), cmocka_unit_test(avx512)};
  return cmocka_run_group_tests(tests, NULL, NULL);
#else
  return 0;
#endif
}
