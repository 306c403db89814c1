/* SPDX-License-Identifier: ISC */
/* Tests of the keys of plans. A changing scalar, a moving slice and other buffers reuse the plan of
 * the previous step; other shapes, strides and dtypes do not, and the report says why. */
#include "tests/util/api.h"

enum { ROWS = 2000, WIDTH = 7, BATCH = 700 }; /* larger than graphs that are interpreted at first */

static nx_report run(nx_tensor *t) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, &t, 1, &o));
  return report;
}

/* One step of a training loop: w -= rate * mean of a slice of the data, and a running value kept by
 * an assign. */
static nx_report step(nx_tensor *data, nx_tensor *w, nx_tensor *log, int i) {
  int64_t start[2] = {i % (ROWS - BATCH), 0}, count[2] = {BATCH, WIDTH}, apart[2] = {1, 1};
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *batch = GOOD(nx_slice(data, start, count, apart, 2));
  nx_tensor *rate = number(0.1f / (float)(i + 3));
  nx_tensor *mean = nx_reduce_sum(nx_mul(batch, w), NX_AXES(0), 0);
  OK(nx_assign(w, GOOD(nx_sub(w, nx_mul(rate, mean)))));
  nx_tensor *slot = part(log, i % 50, 1, 1);
  OK(nx_assign(slot, GOOD(nx_reduce_sum(w, NX_AXES(0), NX_KEEPDIMS))));
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, (nx_tensor *[]){w, log}, 2, &o));
  nx_scope_end(s);
  return report;
}

static void a_thousand_steps(void **state) {
  (void)state;
  int64_t shape[2] = {ROWS, WIDTH};
  nx_tensor *line = vector(ROWS * WIDTH, 0, 0.001f), *data = GOOD(nx_reshape(line, shape, 2, 0));
  nx_tensor *w = constant(WIDTH, 1), *log = constant(50, 0);
  OK(nx_realize(ctx, (nx_tensor *[]){data, w, log}, 3, NULL));
  nx_stats before = {.size = sizeof before}, after = {.size = sizeof after};
  for (int i = 0; i < 1000; i++) {
    nx_report r = step(data, w, log, i);
    if (i >= 2 && r.plan_misses) fprintf(stderr, "step %d: %s\n", i, r.miss_reason);
    if (i >= 2) assert_int_equal(r.plan_misses, 0);
    if (i >= 2) assert_int_equal(r.kernel_misses, 0);
    if (i == 2) nx_context_stats(ctx, &before);
    assert_int_equal(r.runs, 1);
  }
  nx_context_stats(ctx, &after);
  assert_int_equal(before.kernels_compiled, after.kernels_compiled);
  assert_int_equal(before.live_bytes, after.live_bytes);
}

static void scalars_are_parameters(void **state) {
  (void)state;
  nx_tensor *x = vector(5, 0, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  const float values[] = {3.5f, 4, 5.5f, -7};
  for (int i = 0; i < 4; i++) {
    nx_tensor *k = number(values[i]),
              *y = nx_pad(nx_mul(x, k), (int64_t[]){1}, (int64_t[]){2}, 1, NX_NUMBER(values[i]));
    nx_report r = run(y);
    assert_int_equal(r.plan_misses, i == 0);
    EXPECT(y, values[i], 0, values[i], 2 * values[i], 3 * values[i], 4 * values[i], values[i],
           values[i]);
    release(k), release(y);
  }
  release(x);
}

/* Code for a rotation knows by how much; what is added to it is a parameter. */
static void shift_counts_are_constants(void **state) {
  (void)state;
  const nx_scalar seven = {NX_SCALAR_I64, {.i = 7}};
  nx_tensor *x = GOOD(nx_arange(ctx, device(), NX_U32, &seven, &seven, 3));
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int64_t i = 0; i < 6; i++) {
    const int64_t count = i < 3 ? 13 : 13 + i;
    const nx_scalar by[3] = {{NX_SCALAR_I64, {.i = count}},
                             {NX_SCALAR_I64, {.i = 32 - count}},
                             {NX_SCALAR_I64, {.i = 100 + i}}};
    nx_tensor *k[3], *y;
    for (int j = 0; j < 3; j++) k[j] = GOOD(nx_full(ctx, device(), NX_U32, NULL, 0, &by[j]));
    y = nx_add(nx_or(nx_shl(x, k[0]), nx_shr(x, k[1])), k[2]);
    assert_int_equal(run(y).plan_misses, i == 0 || i > 2);
    uint32_t is[3];
    OK(nx_read(y, is, sizeof is, NULL));
    for (uint32_t j = 0; j < 3; j++) {
      const uint32_t v = 7 * (j + 1);
      assert_int_equal(is[j], (v << count | v >> (32 - count)) + 100 + i);
    }
    for (int j = 0; j < 3; j++) release(k[j]);
    release(y);
  }
  nx_tensor *far = GOOD(nx_shl(
      x, GOOD(nx_full(ctx, device(), NX_U32, NULL, 0, &(nx_scalar){NX_SCALAR_I64, {.i = 40}}))));
  nx_scalar value;
  OK(nx_item(far, &(int64_t){1}, 1, &value, NULL));
  assert_int_equal(value.v.u, 0);
}

/* Values that passes depend on are in the key, so that plans for different values are not
 * confused. */
static void special_scalars_are_constants(void **state) {
  (void)state;
  nx_tensor *x = vector(3, 1, 1);
  OK(nx_realize(ctx, &x, 1, NULL));
  const float values[] = {0, 1, -1, 2, 0.5f, 3, 0, 2};
  for (int i = 0; i < 8; i++) {
    nx_tensor *k = number(values[i]), *y = nx_mul(x, k);
    nx_report r = run(y);
    assert_int_equal(r.plan_misses, i < 6);
    EXPECT(y, values[i], 2 * values[i], 3 * values[i]);
    release(k), release(y);
  }
  release(x);
}

/* A plan that overwrites a tensor is not used for a run of the same operations in which the old
 * values are still needed. */
static void plans_that_overwrite(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    nx_tensor *x = vector(5, 0, 1), *pending = NULL;
    OK(nx_realize(ctx, &x, 1, NULL));
    if (i % 2) pending = nx_neg(x);
    OK(nx_assign(part(x, 1, 3, 1), number(7)));
    assert_int_equal(run(x).plan_misses, i < 2);
    EXPECT(x, 0, 7, 7, 7, 4);
    if (pending) EXPECT(pending, 0, -1, -2, -3, -4);
  }
}

static void reasons(void **state) {
  (void)state;
  nx_tensor *x = vector(6, 0, 1), *z = vector(8, 0, 1), *square, *turned;
  OK(nx_realize(ctx, (nx_tensor *[]){x, z}, 2, NULL));
  square = nx_reshape(x, NX_SHAPE(2, 3), 0);
  turned = nx_reshape(nx_permute(square, NX_AXES(1, 0)), NX_SHAPE(3, 2), 0);
  nx_tensor *a = nx_tanh(nx_sinh(x)), *b = nx_tanh(nx_sinh(z)), *c = nx_tanh(nx_cosh(x));
  assert_string_equal(run(a).miss_reason, "these operations are new");
  nx_report r = run(b);
  assert_string_equal(r.miss_reason, "a shape differs");
  assert_string_equal(r.miss_detail, "node 0: input f32[8], in the nearest plan f32[6]");
  r = run(c);
  assert_string_equal(r.miss_reason, "these operations are new");
  assert_string_equal(r.miss_detail, "node 1: cosh f32[6], in the nearest plan sinh f32[6]");
  nx_tensor *d = nx_neg(part(x, 0, 3, 2)), *e = nx_neg(part(x, 5, 3, -2)),
            *f = nx_neg(part(x, 1, 3, 2));
  assert_non_null(run(d).miss_reason);
  r = run(e);
  assert_string_equal(r.miss_reason, "strides differ");
  assert_non_null(strstr(r.miss_detail, ", in the nearest plan "));
  r = run(f);
  assert_null(r.miss_reason);
  assert_string_equal(r.miss_detail, "");
  EXPECT(e, -5, -3, -1);
  EXPECT(f, -1, -3, -5);
  nx_report again = run(f);
  assert_int_equal(again.runs, 0);
  release(turned);
}

/* The report names the first node that differs, for every kind of difference. */
static void details(void **state) {
  (void)state;
  nx_tensor *x = vector(6, 0, 1), *y = vector(6, 1, 1), *wide, *half;
  OK(nx_realize(ctx, (nx_tensor *[]){x, y}, 2, NULL));
  wide = nx_reshape(nx_contiguous(x), NX_SHAPE(2, 3), 0);
  half = nx_reshape(nx_contiguous(y), NX_SHAPE(2, 3), 0);
  (void)run(nx_asinh(nx_mul(nx_atanh(x), nx_expm1(y))));
  nx_report r = run(nx_asinh(nx_mul(nx_expm1(y), nx_atanh(x))));
  assert_non_null(strstr(r.miss_detail, "node "));
  r = run(nx_asinh(nx_mul(nx_atanh(x), nx_atanh(x))));
  assert_non_null(strstr(r.miss_detail, "node "));
  (void)run(nx_atanh(nx_reduce_sum(nx_log1p(wide), NX_AXES(0), NX_KEEPDIMS)));
  r = run(nx_atanh(nx_reduce_sum(nx_log1p(half), NX_AXES(1), NX_KEEPDIMS)));
  assert_string_equal(r.miss_reason, "a shape differs");
  assert_string_equal(r.miss_detail, "node 2: reduce_sum f32[2,1], in the nearest plan f32[1,3]");
  (void)run(nx_erf(nx_cast(x, NX_F64)));
  r = run(nx_neg(nx_erf(nx_cast(x, NX_F64))));
  assert_non_null(strstr(r.miss_detail, "node 3: neg f64[6], where the nearest plan ends"));
  nx_tensor *in = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(3))), *out = nx_atan(in);
  nx_function *f;
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_function_create(ctx, &in, 1, &out, 1, NULL, &f));
  nx_tensor *arg[2] = {part(x, 0, 3, 1), part(x, 0, 3, 2)}, *result = NULL;
  OK(nx_function_call(f, &arg[0], 1, &result, 1, &o));
  release(result), result = NULL;
  OK(nx_function_call(f, &arg[1], 1, &result, 1, &o));
  assert_string_equal(
      r.miss_detail,
      "input 0 of f: whether its elements lie densely differs from the nearest plan");
  release(result);
  nx_function_release(f);
}

/* More plans than the cache keeps: the oldest are removed, and are made again when they are
 * needed. */
static void bounded(void **state) {
  (void)state;
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n <= 700; n++) {
      nx_tensor *x = GOOD(nx_full(ctx, 0, NX_F32, &n, 1, NX_NUMBER(3))), *y = nx_neg(x);
      nx_report r = run(y);
      assert_int_equal(r.plan_misses, 1);
      release(x), release(y);
    }
}

NXT_MAIN(plan_cache) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(a_thousand_steps),
      IN_SCOPE(plans_that_overwrite),
      IN_SCOPE(reasons),
      IN_SCOPE(details),
      IN_SCOPE(special_scalars_are_constants),
      IN_SCOPE(bounded),
      IN_SCOPE(scalars_are_parameters),
      IN_SCOPE(shift_counts_are_constants),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
