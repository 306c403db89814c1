/* SPDX-License-Identifier: ISC */
/* Split reductions: both halves together compute the bits of the whole, at both levels. */
#include "bind_util.h"
#include "tests/util/runner.h"

/* v / 2 + 1, so often. */
static nxk_value lengthened(nxk_kernel *k, nxk_value v, int times) {
  nx_dtype t = nxk_dtype(k, v);
  for (int i = 0; i < times; i++) {
    nxk_value half = nxk_const_f(k, t, 0.5), one = nxk_const_f(k, t, 1);
    v = add(k, nxk_scalar(k, NXK_mul, 0, v, half, NXK_NONE), one);
  }
  return v;
}

/* y[p] = epilogue(reduction over k of x[p * sp + k * sr], lengthened); what is reduced is stored
 * too, or is not. */
static nxk_kernel *long_reduce_storing(const nxk_reduce_kind *kinds, int n, nxk_order order,
                                       nx_dtype t, int64_t points, int64_t run, bool columns,
                                       bool stored, int longer) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "long");
  uint32_t x = nxk_add_buffer(k, NXK_IN, t, points * run), u = nxk_add_buffer(k, NXK_IN, t, points),
           y = nxk_add_buffer(k, NXK_OUT, NX_F64, points * n), z = 0;
  if (stored) z = nxk_add_buffer(k, NXK_OUT, NX_F32, points * run);
  nxk_begin_region(k);
  nxk_value i = nxk_begin_range(k, NXK_OUTER, points);
  nxk_value shift = widen(k, load1(k, u, 0, i, 1));
  nxk_value j = nxk_begin_range(k, NXK_REDUCE, run);
  nxk_value v = widen(k, load2(k, x, i, columns ? 1 : run, j, columns ? points : 1)), results[4];
  if (t != NX_BOOL) v = nxk_scalar(k, NXK_max, 0, v, shift, NXK_NONE);
  v = lengthened(k, v, longer);
  if (stored) {
    nxk_term terms[2] = {{i, columns ? 1 : run}, {j, columns ? points : 1}};
    nxk_access out = at(z, 0, terms, 2);
    nxk_store(k, &out, nxk_cast_to(k, NX_F32, v));
  }
  for (int r = 0; r < n; r++) results[r] = nxk_reduce(k, kinds[r], order, v, NXK_NONE);
  nxk_end(k);
  for (int r = 0; r < n; r++) {
    nxk_term terms[1] = {{i, n}};
    nxk_access out = at(y, r, terms, 1);
    nxk_store(k, &out, add(k, nxk_cast_to(k, NX_F64, results[r]), nxk_cast_to(k, NX_F64, shift)));
  }
  end_all(k, 2);
  return k;
}

static nxk_kernel *long_reduce(const nxk_reduce_kind *kinds, int n, nxk_order order, nx_dtype t,
                               int64_t points, int64_t run, bool columns) {
  return long_reduce_storing(kinds, n, order, t, points, run, columns, false, 0);
}

static void run_half(const nxk_kernel *k, memory *m, const nxi_target *t) {
  static const uint64_t none[MAX_PARAMS];
  nxi_text faults = {0};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxk_verify(k, &faults)) fail_with(k, NULL, faults.data);
  nxk_kernel *bound = t ? bind_for(k, t, &d) : NULL;
  if (t && !bound) fail_with(k, NULL, d.message);
  if (t) must_run(bound, k, m, none, 0, nxk_task_count(bound, none));
  else must_run(k, NULL, m, none, 0, INT64_MAX);
  nxk_destroy(bound);
}

/* Split for `target`, which is the first of the targets it runs on. */
static void check_split_for(const nxk_kernel *k, int target, int n_targets, bool splits) {
  static const uint64_t none[MAX_PARAMS];
  nxk_kernel *first = NULL, *second = NULL;
  int64_t elements;
  nx_dtype types[NXK_MAX_PARTIALS];
  int n = 0;
  memory start, expected;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(
      nxk_split_reduction(k, &targets[target], &first, &second, &elements, types, &n, &d), splits);
  assert_int_equal(d.status, NX_OK);
  if (splits && is_chosen()) {
    make_memory(k, &start, below(2) ? 0 : 40000);
    copy_memory(&start, &expected);
    must_run(k, NULL, &expected, none, 0, INT64_MAX);
    for (int i = target - 1; i < target + n_targets; i++) {
      const nxi_target *on = i < target ? NULL : &targets[i];
      memory got;
      copy_memory(&start, &got);
      for (int p = 0; p < n; p++) {
        got.bytes[got.n] = (size_t)(elements * nxi_dtype_size(types[p]));
        got.at[got.n] = malloc(got.bytes[got.n]);
        assert_non_null(got.at[got.n]);
        memset(got.at[got.n], 0xff, got.bytes[got.n]);
        got.n++;
      }
      run_half(first, &got, on);
      run_half(second, &got, on);
      compare_memory(k, second, &expected, &got, on ? on->isa : "logical");
      free_memory(&got);
    }
    free_memory(&start);
    free_memory(&expected);
  }
  nxk_destroy(first);
  nxk_destroy(second);
}

enum { FIRST_GPU = 4 };

/* On processors and on GPUs, which split for themselves. Destroys k. */
static void check_split_apart(nxk_kernel *k, bool splits, bool gpu_splits) {
  check_split_for(k, 1, FIRST_GPU - 1, splits);
  check_split_for(k, FIRST_GPU, TARGETS - FIRST_GPU, gpu_splits);
  nxk_destroy(k);
}
static void check_split(nxk_kernel *k, bool splits) { check_split_apart(k, splits, splits); }

static void test_rows(void **state) {
  (void)state;
  static const int64_t runs[] = {131072, 140000, 196625, 131073 + 4096, 262143};
  static const nxk_reduce_kind sums[] = {NXK_SUM, NXK_MAX},
                               args[] = {NXK_ARGMAX, NXK_MIN, NXK_ARGMIN}, product[] = {NXK_PROD};
  for (int r = 0; r < 5; r++) {
    check_split(
        long_reduce(sums, 2, NXK_ORDER_LANES, r % 2 ? NX_F32 : NX_F64, 1 + r % 2, runs[r], false),
        true);
    check_split(long_reduce(args, 3, NXK_ORDER_LANES, r % 2 ? NX_F32 : NX_I16, 1, runs[r], false),
                true);
  }
  check_split(long_reduce(product, 1, NXK_ORDER_LANES, NX_BF16, 3, 50000, false), true);
  check_split(long_reduce(sums, 1, NXK_ORDER_LANES, NX_I8, 1, 300000, false), true);
}

static void test_columns(void **state) {
  (void)state;
  static const nxk_reduce_kind sums[] = {NXK_SUM, NXK_ARGMAX, NXK_MAX};
  check_split(long_reduce(sums, 3, NXK_ORDER_PLAIN, NX_F32, 7, 30000, true), true);
  check_split(long_reduce(sums, 3, NXK_ORDER_PLAIN, NX_F64, 150, 3001, true), true);
  for (int64_t points = 2; points < 4; points++)
    check_split(long_reduce(sums, 3, NXK_ORDER_PLAIN, NX_F32, points, 140001, true), true);
  check_split(long_reduce(sums, 1, NXK_ORDER_PLAIN, NX_F32, 33, 8192, true), true);
  check_split(long_reduce(sums, 1, NXK_ORDER_LANES, NX_F32, 33, 8200, true), true);
}

static void test_storing(void **state) {
  (void)state;
  static const nxk_reduce_kind kinds[] = {NXK_SUM, NXK_MAX}, arg[] = {NXK_ARGMIN};
  static const struct {
    nxk_order order;
    nx_dtype t;
    int64_t points, run;
    bool columns;
  } rows[] = {
      {NXK_ORDER_LANES, NX_F32, 2, 131072, false}, {NXK_ORDER_LANES, NX_F32, 1, 140009, false},
      {NXK_ORDER_LANES, NX_BF16, 3, 50000, false}, {NXK_ORDER_LANES, NX_I16, 1, 196625, false},
      {NXK_ORDER_PLAIN, NX_F32, 7, 30000, true},   {NXK_ORDER_PLAIN, NX_F64, 150, 3001, true}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    check_split(long_reduce_storing(kinds, 2, rows[r].order, rows[r].t, rows[r].points, rows[r].run,
                                    rows[r].columns, true, 0),
                true);
  check_split(long_reduce_storing(arg, 1, NXK_ORDER_LANES, NX_F32, 2, 131101, false, true, 0),
              true);
}

static uint32_t regions_of_first(const nxk_kernel *k) {
  nxk_kernel *first = NULL, *second = NULL;
  int64_t elements;
  nx_dtype types[NXK_MAX_PARTIALS];
  int n;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_true(nxk_split_reduction(k, &targets[1], &first, &second, &elements, types, &n, &d));
  uint32_t regions = first->n_regions;
  nxk_destroy(first);
  nxk_destroy(second);
  return regions;
}

/* A long body is written once, for the last chunk as well, which is shorter. */
static void test_long_bodies(void **state) {
  (void)state;
  static const int64_t runs[] = {131073, 140009, 150000};
  static const nxk_reduce_kind kinds[] = {NXK_SUM, NXK_PROD};
  for (int r = 0; r < 3; r++) {
    for (int longer = 10; longer <= 60; longer += 50) {
      nxk_kernel *k = long_reduce_storing(kinds, 2, NXK_ORDER_LANES, r % 2 ? NX_F32 : NX_F64,
                                          1 + r % 2, runs[r], false, r == 1, longer);
      assert_int_equal(regions_of_first(k), longer < 60 ? 2 : 1);
      check_split(k, true);
    }
  }
}

/* Enough points, too little work, an order that has no subtrees. */
static void test_whole(void **state) {
  (void)state;
  static const nxk_reduce_kind sum[] = {NXK_SUM, NXK_ARGMAX};
  check_split_apart(long_reduce(sum, 1, NXK_ORDER_LANES, NX_F32, 40, 8192, false), false, true);
  check_split(long_reduce(sum, 1, NXK_ORDER_LANES, NX_F32, 300, 2048, false), false);
  check_split(long_reduce(sum, 1, NXK_ORDER_LANES, NX_F32, 1, 4000, false), false);
  check_split(long_reduce(sum, 1, NXK_ORDER_SEQUENTIAL, NX_F32, 1, 400000, false), false);
  check_split(long_reduce(sum, 2, NXK_ORDER_LANES, NX_F32, 1, 400000, false), false);
}

static void test_exhausted_memory(void **state) {
  (void)state;
  static const nxk_reduce_kind sum[] = {NXK_SUM};
  nxk_kernel *k = long_reduce(sum, 1, NXK_ORDER_LANES, NX_F32, 2, 200000, false);
  bool done = false;
  for (int64_t n = 0; !done; n++) {
    nxk_kernel *first = NULL, *second = NULL;
    int64_t elements;
    nx_dtype types[NXK_MAX_PARTIALS];
    int count;
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_alloc_fail(n, true);
    done = nxk_split_reduction(k, &targets[0], &first, &second, &elements, types, &count, &d);
    nxi_alloc_fail(-1, false);
    if (!done) assert_int_equal(d.status, NX_OUT_OF_MEMORY);
    nxk_destroy(first);
    nxk_destroy(second);
  }
  nxk_destroy(k);
}

NXT_MAIN(split) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),    cmocka_unit_test(test_columns),
      cmocka_unit_test(test_storing), cmocka_unit_test(test_long_bodies),
      cmocka_unit_test(test_whole),   cmocka_unit_test(test_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
