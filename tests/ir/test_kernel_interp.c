/* SPDX-License-Identifier: ISC */
/* Tests of the interpreter of kernels: blocks, lanes, memory, tasks, and reductions. The bound
 * trees of partials must equal the logical reductions, and both an array version of the order. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/interp/interp.h"
#include "kernel_util.h"
#include "tests/util/runner.h"

static void softmax_rows(void **state) {
  (void)state;
  nxk_kernel *k = parse(SOFTMAX);
  float x[5000], y[5000];
  for (int i = 0; i < 5000; i++) x[i] = random_float() * 1e-4f;
  x[1234] = -INFINITY;
  void *buffers[] = {x, y};
  interpret(k, buffers, NULL);
  for (int row = 0; row < 5; row++) {
    double largest = -INFINITY, sum = 0;
    for (int i = 0; i < 1000; i++) largest = fmax(largest, x[1000 * row + i]);
    for (int i = 0; i < 1000; i++) sum += exp(x[1000 * row + i] - largest);
    for (int i = 0; i < 1000; i++) {
      double expected = exp((double)(float)(x[1000 * row + i] - largest)) / sum;
      assert_true(fabs(y[1000 * row + i] - expected) <= 1e-5 * expected);
    }
  }
  nxk_destroy(k);
}

/* Carries move all at once, masks guard, cold blocks choose lanes. */
static void carries_masks_and_rare_blocks(void **state) {
  (void)state;
  nxk_kernel *k = parse("nxir 2\nkernel @k bound {\nb0: in i32[10]\nb1: out i32[10]\nb2: out "
                        "i32[3]\np0: i64\n%p = param i64 p0\n"
                        "%zero = const i32 0\n%one = const i32 1\n%len = const i64 10\n"
                        "region tasks=1 {\n%t = for task 0..1 {\n"
                        "%i = for seq 0..%p step 2 {\n%a = carry i32 %zero\n%b = carry i32 "
                        "%one\n%fixed = carry i32 %one\n"
                        "%s = add i32 %a, %b\nnext %b, %s\nnext %a, %b\n}\n"
                        "store %a, b2[0]\nstore %b, b2[1]\nstore %fixed, b2[2]\n"
                        "%j = for seq 0..10 step 8 {\n%m = active boolx8 %j, %len\n%minus = const "
                        "i32 -1\n%o = splat i32x8 %minus\n"
                        "%x = load i32x8 b0[0 + 1*%j] stride=1 mask=%m else %o\n%z = splat i32x8 "
                        "%zero\n%neg = lt boolx8 %x, %z\n"
                        "%r = cold %neg {\n%abs = neg i32x8 %x\n}\n%y = blend i32x8 %r, %abs, %x\n"
                        "store lanes=8 %y, b1[0 + 1*%j] stride=1 mask=%m\n}\n}\n}\n}\n");
  assert_verified(k);
  int32_t x[10] = {5, -3, 0, 7, -9, 2, 4, 1, 8, -6}, y[10], fibonacci[3];
  uint64_t params[] = {19};
  void *buffers[] = {x, y, fibonacci};
  interpret(k, buffers, params);
  assert_int_equal(fibonacci[0], 55); /* ten rounds: 0, 2, ... 18 */
  assert_int_equal(fibonacci[1], 89);
  assert_int_equal(fibonacci[2], 1);
  for (int i = 0; i < 10; i++) assert_int_equal(y[i], abs(x[i]));
  params[0] = 0; /* no round: the initial values */
  interpret(k, buffers, params);
  assert_int_equal(fibonacci[0], 0);
  assert_int_equal(fibonacci[1], 1);
  nxk_destroy(k);
}

/* A task of any region can be run alone; parameters give their number. */
static void tasks_run_apart(void **state) {
  (void)state;
  nxk_kernel *k = parse(
      "nxir 2\nkernel @k bound {\nb0: out i64[16]\nb1: local i64[3]\np0: i64\n%p = param i64 p0\n"
      "region tasks=p0/4 {\n%t = for task 0..%p {\nstore %t, b0[0 + 1*%t]\n}\n}\n"
      "region tasks=5 {\n%u = for task 0..5 {\nstore %u, b1[1]\n%l = load i64 b1[1]\n%f = load i64 "
      "b1[2]\n"
      "%s = add i64 %l, %f\nstore %s, b0[8 + 1*%u]\n}\n}\n}\n");
  assert_verified(k);
  int64_t out[16];
  void *buffers[] = {out};
  uint64_t params[] = {9};
  nxi_diag d;
  assert_int_equal(nxk_task_count(k, params), 8);
  assert_int_equal(nxk_scratch_bytes(k), 64);
  for (int64_t first = 0; first < 8; first++) {
    for (int i = 0; i < 16; i++) out[i] = -7;
    nxi_diag_clear(&d);
    assert_int_equal(nxk_interpret(k, buffers, params, first, first + 1, &d), NX_OK);
    for (int i = 0; i < 16; i++) { /* local memory starts as all ones: -1 */
      bool mine = first < 3 ? i == first : i == 8 + first - 3;
      assert_int_equal(out[i], mine ? (first < 3 ? first : first - 3 - 1) : -7);
    }
  }
  params[0] = 0;
  assert_int_equal(nxk_task_count(k, params), 5);
  nxk_destroy(k);
}

#define TASK                                                                                   \
  "b0: in f32[4]\nb1: out f32[4]\nb2: local i64[4]\np0: i64\nregion tasks=4 {\n%t = for task " \
  "0..4 "                                                                                      \
  "{\n"                                                                                        \
  "%c = const f32 1\n%n = const i64 2\n"

static void wild_accesses_are_errors(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "%x = load f32 b0[4]\n",
      "%x = load f32 b0[-1]\n",
      "store %c, b1[2 + 1*%n]\n",
      "%x = load i64 b2[4]\n",
      "%x = load f32x4 b0[1] stride=1\n",
      "%x = load f32 b0[0 + 9223372036854775807*%n]\n",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[1024];
    snprintf(text, sizeof text, "nxir 2\nkernel @wild bound {\n%s%s}\n}\n}\n", TASK, bodies[i]);
    nxk_kernel *k = parse(text);
    float in[4] = {0}, out[4] = {0};
    void *buffers[] = {in, out};
    uint64_t params[] = {0};
    nxi_diag d;
    nxi_diag_clear(&d);
    assert_verified(k);
    assert_int_equal(nxk_interpret(k, buffers, params, 0, INT64_MAX, &d), NX_INTERNAL);
    assert_non_null(strstr(d.message, "kernel @wild: %4 addresses element"));
    nxk_destroy(k);
  }
}

/* A kernel that nobody vouches for ends after so many steps: loops without a body count, too. */
static void steps_are_bounded(void **state) {
  (void)state;
  static const char *const bodies[] = {
      "%u = for seq 0..9223372036854775807 {\n}\n",
      "%u = for seq 0..1000000000000 {\nstore %c, b1[0]\n}\n",
      "%u = for seq 0..100 {\nstore %c, b1[0]\n}\n",
  };
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[1024];
    snprintf(text, sizeof text, "nxir 2\nkernel @long bound {\n%s%s}\n}\n}\n", TASK, bodies[i]);
    nxk_kernel *k = parse(text);
    float in[4] = {0}, out[4] = {0};
    void *buffers[] = {in, out};
    uint64_t params[] = {0};
    nxi_diag d;
    nxi_diag_clear(&d);
    nx_status wanted = i < 2 ? NX_INTERRUPTED : NX_OK;
    assert_int_equal(nxk_interpret_within(k, buffers, params, 0, INT64_MAX, 10000, &d), wanted);
    assert_int_equal(d.status, wanted);
    nxk_destroy(k);
  }
}

/* ---- the order of reductions */

/* The order as arrays: partial results of all blocks, then the pairwise tree, then the lanes. */
static uint64_t reduce_arrays(nxk_reduce_kind kind, nxk_order order, nx_dtype t, const uint64_t *x,
                              int64_t n) {
  int lanes = order == NXK_ORDER_LANES || order == NXK_ORDER_JOIN_LANES ? 16 : 1;
  int64_t size = order == NXK_ORDER_LANES        ? 256
                 : order == NXK_ORDER_JOIN       ? 1
                 : order == NXK_ORDER_SEQUENTIAL ? n
                                                 : 16;
  int64_t blocks = (n + size - 1) / size;
  uint64_t *partial = malloc((size_t)(blocks * lanes) * sizeof *partial);
  bool *there = calloc((size_t)(blocks * lanes), 1);
  for (int64_t k = 0; k < n; k++) {
    int64_t at = k / size * lanes + k % lanes;
    partial[at] = there[at] ? nxk_reduce_combine(kind, t, partial[at], x[k]) : x[k];
    there[at] = true;
  }
  for (int64_t step = 1; step < blocks; step *= 2)
    for (int64_t b = 0; b + step < blocks; b += 2 * step)
      for (int l = 0; l < lanes; l++)
        if (there[(b + step) * lanes + l])
          partial[b * lanes + l] =
              nxk_reduce_combine(kind, t, partial[b * lanes + l], partial[(b + step) * lanes + l]);
  for (int half = lanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; l++)
      if (there[l + half]) partial[l] = nxk_reduce_combine(kind, t, partial[l], partial[l + half]);
  uint64_t result = partial[0];
  free(partial);
  free(there);
  return result;
}

static void reductions_keep_their_order(void **state) {
  (void)state;
  static const nx_dtype types[] = {NX_F32, NX_F64, NX_I32};
  enum { MOST = 5000 };
  uint64_t *x = malloc(MOST * sizeof *x);
  nxi_reducer *r = malloc(sizeof *r);
  for (int64_t n = 1; n < MOST; n += 1 + n / 9) {
    nx_dtype t = types[n % 3];
    for (int64_t i = 0; i < n; i++) x[i] = nxi_cast_bits(nxi_bits_f32(random_float()), NX_F32, t);
    for (int order = 0; order < NXK_ORDERS; order++) {
      for (int kind = NXK_SUM; kind <= NXK_MIN; kind++) {
        nxi_reducer_start(r, (nxk_reduce_kind)kind, (nxk_order)order, t);
        for (int64_t i = 0; i < n; i++) nxi_reducer_add(r, x[i], 0);
        assert_true(nxi_reducer_finish(r) ==
                    reduce_arrays((nxk_reduce_kind)kind, (nxk_order)order, t, x, n));
      }
    }
  }
  nxi_reducer_start(r, NXK_SUM, NXK_ORDER_LANES, NX_F32);
  assert_int_equal(nxi_reducer_finish(r), 0); /* +0 */
  nxi_reducer_start(r, NXK_MIN, NXK_ORDER_PLAIN, NX_F32);
  assert_int_equal(nxi_reducer_finish(r), nxi_bits_f32(INFINITY));
  nxi_reducer_start(r, NXK_SUM, NXK_ORDER_PLAIN, NX_F32);
  nxi_reducer_add(r, nxi_bits_f32(-0.0f), 0);
  assert_int_equal(nxi_reducer_finish(r), nxi_bits_f32(-0.0f));
  nxi_reducer_start(r, NXK_DOT, NXK_ORDER_SEQUENTIAL, NX_F32);
  nxi_reducer_add(r, nxi_bits_f32(1 + 0x1p-23f), nxi_bits_f32(1 - 0x1p-23f));
  nxi_reducer_add(r, nxi_bits_f32(-1), nxi_bits_f32(1));
  assert_int_equal(nxi_reducer_finish(r),
                   nxi_bits_f32(fmaf(-1, 1, fmaf(1 + 0x1p-23f, 1 - 0x1p-23f, 0))));
  free(x);
  free(r);
}

static nxk_kernel *logical_reduction(nxk_reduce_kind kind, nx_dtype t, int64_t n) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "logical");
  bool arg = kind == NXK_ARGMAX;
  uint32_t in = nxk_add_buffer(k, NXK_IN, t, n),
           out = nxk_add_buffer(k, NXK_OUT, arg ? NX_I64 : t, 1);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_REDUCE, n), 1};
  nxk_access load = nxk_access_at(in, 0), store = nxk_access_at(out, 0);
  load.n_terms = 1;
  load.terms = &term;
  nxk_value r = nxk_reduce(k, kind, NXK_ORDER_LANES, nxk_load(k, &load, 1), NXK_NONE);
  nxk_end(k);
  nxk_store(k, &store, r);
  nxk_end(k);
  return k;
}

static void bound_trees_equal_logical_reductions(void **state) {
  (void)state;
  static const struct {
    nxk_reduce_kind kind;
    nx_dtype type;
  } cases[] = {{NXK_SUM, NX_F32},
               {NXK_PROD, NX_F32},
               {NXK_MAX, NX_F32},
               {NXK_ARGMAX, NX_I32},
               {NXK_SUM, NX_I32}};
  enum { MOST = 6000 };
  float *floats = malloc(MOST * sizeof *floats);
  int32_t *integers = malloc(MOST * sizeof *integers);
  for (int i = 0; i < MOST; i++) {
    floats[i] = random_float();
    integers[i] = (int32_t)(random_state >> 16) % 500;
  }
  for (int64_t n = 1; n < MOST; n += 1 + n / 6) {
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
      nxk_kernel *logical = logical_reduction(cases[c].kind, cases[c].type, n);
      nxk_kernel *bound = bound_reduction(cases[c].kind, cases[c].type, n);
      assert_verified(logical);
      assert_verified(bound);
      int64_t a = 0, b = 0;
      void *in = cases[c].type == NX_F32 ? (void *)floats : (void *)integers;
      void *to_a[] = {in, &a}, *to_b[] = {in, &b};
      interpret(logical, to_a, NULL);
      interpret(bound, to_b, NULL);
      if (a != b) fail_msg("%s of %lld", nxk_reduce_name(cases[c].kind), (long long)n);
      if (cases[c].kind == NXK_ARGMAX) {
        for (int64_t i = 0; i < n; i++)
          assert_true(integers[i] < integers[a] || (integers[i] == integers[a] && i >= a));
      }
      nxk_destroy(logical);
      nxk_destroy(bound);
    }
  }
  free(floats);
  free(integers);
}

/* The run of nested reduce loops is row-major, and starts anew at each point around it. */
/* A loop that ends when memory says so, or a condition of its own: the iteration is finished. */
static void loops_that_end(void **state) {
  (void)state;
  static const char text[] = "nxir 2\n"
                             "kernel @ends bound {\n"
                             "  b0: in bool[1] restricted\n"
                             "  b1: out i64[3] restricted\n"
                             "  p0: i64\n"
                             "  %0 = param i64 p0\n"
                             "  region tasks=1 {\n"
                             "    %2 = for task 0..1 {\n"
                             "      %3 = for seq 0..9223372036854775807 {\n"
                             "        %4 = carry i64 %2\n"
                             "        %5 = load bool b0[0] volatile\n"
                             "        %6 = for seq 0..%0 {\n"
                             "          store %6, b1[1]\n"
                             "          until %5\n"
                             "        }\n"
                             "        %10 = load bool b0[0] volatile\n"
                             "        %11 = lt bool %0, %3\n"
                             "        %12 = or bool %10, %11\n"
                             "        store %3, b1[0]\n"
                             "        next %4, %3\n"
                             "        until %12\n"
                             "      }\n"
                             "      store %4, b1[2]\n"
                             "    }\n"
                             "  }\n"
                             "}\n";
  nxk_kernel *k = parse(text);
  char *printed = text_of(k);
  assert_string_equal(printed, text);
  assert_verified(k);
  for (uint64_t n = 3; n < 9; n += 2) {
    for (int stops = 0; stops < 2; stops++) {
      bool stop = stops;
      int64_t y[3] = {-1, -1, -1};
      void *buffers[] = {&stop, y};
      interpret(k, buffers, &n);
      assert_int_equal(y[0], stop ? 0 : (int64_t)n + 1);
      assert_int_equal(y[1], stop ? 0 : (int64_t)n - 1);
      assert_int_equal(y[2], y[0]);
    }
  }
  nxi_free(printed);
  nxk_destroy(k);
}

static void nested_runs(void **state) {
  (void)state;
  nxk_kernel *k = parse(
      "nxir 2\nkernel @k logical {\nb0: in f32[60]\nb1: out i64[5]\nb2: out f32[5]\nregion {\n%o = "
      "for outer 0..5 {\n"
      "%i = for reduce 0..3 {\n%j = for reduce 0..4 {\n%x = load f32 b0[0 + 12*%o + 1*%i + 3*%j]\n"
      "%m = reduce i64 argmin plain %x\n%s = reduce f32 sum sequential %x\n}\n}\n"
      "store %m, b1[0 + 1*%o]\nstore %s, b2[0 + 1*%o]\n}\n}\n}\n");
  assert_verified(k);
  float x[60], sums[5];
  int64_t least[5];
  for (int i = 0; i < 60; i++) x[i] = random_float();
  x[12 + 1 + 3 * 2] = NAN; /* i = 1, j = 2: run index 6 */
  void *buffers[] = {x, least, sums};
  interpret(k, buffers, NULL);
  for (int o = 0; o < 5; o++) {
    int64_t best = 0;
    float sum = -0.0f;
    for (int run = 0; run < 12; run++) {
      float v = x[12 * o + run / 4 + 3 * (run % 4)], held = x[12 * o + best / 4 + 3 * (best % 4)];
      if (v < held || (isnan(v) && !isnan(held))) best = run;
      sum += v;
    }
    assert_int_equal(least[o], best);
    assert_true(nxi_same_bits(nxi_bits_f32(sum), nxi_bits_f32(sums[o]), NX_F32));
  }
  assert_int_equal(least[1], 6);
  nxk_destroy(k);
}

NXT_MAIN(kernel_interp) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(softmax_rows),
      cmocka_unit_test(carries_masks_and_rare_blocks),
      cmocka_unit_test(tasks_run_apart),
      cmocka_unit_test(wild_accesses_are_errors),
      cmocka_unit_test(steps_are_bounded),
      cmocka_unit_test(reductions_keep_their_order),
      cmocka_unit_test(bound_trees_equal_logical_reductions),
      cmocka_unit_test(loops_that_end),
      cmocka_unit_test(nested_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
