/* SPDX-License-Identifier: ISC */
/* How much memory a realise takes: the order of steps, outputs that hold temporaries, limits. */
#include "tests/util/api.h"

enum { SIDE = 320, SQUARE = SIDE * SIDE * 4 }; /* bytes; larger than what any order is tried for */

static nx_tensor *square_of(double value) {
  nx_tensor *t =
      GOOD(nx_copy(nx_full(ctx, device(), NX_F32, NX_SHAPE(SIDE, SIDE), NX_NUMBER((float)value))));
  OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}

/* A function whose large values are all recorded before the first of them is read. */
static nx_function *wide(int n) {
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(SIDE, SIDE)));
  nx_tensor *large[16], *y = NULL;
  for (int i = 0; i < n; i++) large[i] = GOOD(nx_matmul(x, nx_mul(x, number((float)(i + 1) / 64))));
  for (int i = 0; i < n; i++) {
    nx_tensor *sum = GOOD(nx_reduce_sum(nx_tanh(large[i]), NX_AXES(0, 1), 0));
    y = y ? GOOD(nx_add(y, sum)) : sum;
  }
  nx_function_options o = {.size = sizeof o, .name = "wide"};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  return f;
}

/* Each value is read as soon as it is there, so few are there at once. */
static void values_are_read_soon(void **state) {
  (void)state;
  nx_function *f = wide(12);
  nx_tensor *x = square_of(0.01), *y = NULL;
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_function_call(f, &x, 1, &y, 1, &o));
  printf("planned: %.2f squares\n", (double)r.planned_bytes / SQUARE);
  assert_true(r.planned_bytes < 6 * SQUARE);
  nx_function_release(f);
}

/* A value that is cheap beside an array, and that two reductions read which cannot share a
 * kernel. */
static nx_function *shared(int n) {
  (void)n;
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(SIDE, SIDE)));
  nx_tensor *e = GOOD(nx_exp(x)), *rows = GOOD(nx_reduce_sum(e, NX_AXES(1), 0)),
            *columns = GOOD(nx_reduce_sum(e, NX_AXES(0), 0)), *y = GOOD(nx_sub(rows, columns));
  y = GOOD(nx_reduce_max(y, NX_AXES(0), 0));
  nx_function_options o = {.size = sizeof o, .name = "shared"};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  return f;
}

/* Calls the function within a limit. *bits: of its result, to be as they were unless they are 0.
 * False: the memory did not suffice. */
static bool within(nx_function *(*make)(int), double squares, uint32_t *bits) {
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .threads = 2};
  nx_stats before = {.size = sizeof before}, after = before;
  nx_error e = {.size = sizeof e};
  o.memory_limit = (size_t)(squares * SQUARE);
  OK(nx_context_create(&o, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = square_of(0.01), *y = NULL;
  nx_function *f = make(12);
  nx_context_stats(ctx, &before);
  nx_status status = nx_function_call(f, &x, 1, &y, 1, NULL);
  nx_context_stats(ctx, &after);
  assert_true(status == NX_OK || status == NX_OUT_OF_MEMORY);
  assert_true(o.memory_limit == 0 || after.peak_bytes <= o.memory_limit);
  if (status == NX_OK) {
    nx_scalar v;
    OK(nx_item(y, NULL, 0, &v, NULL));
    float value = (float)v.v.f[0];
    uint32_t is;
    memcpy(&is, &value, sizeof is);
    assert_true(*bits == 0 || *bits == is);
    *bits = is;
    release(y);
  } else {
    nx_error_take(&e);
    assert_non_null(strstr(e.message, "the memory limit of"));
    assert_non_null(strstr(e.message, "bytes with its results"));
  }
  assert_true(before.live_bytes == (size_t)SQUARE);
  nx_context_stats(ctx, &after);
  assert_true(after.live_bytes == before.live_bytes); /* nothing is lost, and nothing is left */
  nx_scalar still;
  OK(nx_item(x, (int64_t[]){SIDE - 1, 3}, 2, &still, NULL));
  assert_true((float)still.v.f[0] == 0.01f);
  nx_function_release(f);
  nx_scope_end(s);
  nx_context_release(ctx);
  ctx = outer;
  return status == NX_OK;
}

/* Any limit either suffices or is refused, and what suffices is what the smallest plan needs: of
 * twelve products one at a time, with its operand; no array for what two reductions read. */
static void limits_are_kept(void **state) {
  (void)state;
  static const double limits[] = {0, 20, 12, 8, 6.5, 5, 4, 3.5, 3.1, 2.5, 2, 1.5, 1.2};
  uint32_t bits[2] = {0};
  bool before[2] = {true, true};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    bool good[2] = {within(wide, limits[i], &bits[0]), within(shared, limits[i], &bits[1])};
    printf("%.1f squares: %s, %s\n", limits[i], good[0] ? "yes" : "no", good[1] ? "yes" : "no");
    for (int k = 0; k < 2; k++) {
      assert_true(before[k] || !good[k]);
      before[k] = good[k];
    }
    if (limits[i] > 3.3) assert_true(good[0]);
    if (limits[i] == 1.5) assert_true(good[1]);
  }
  assert_false(before[0]);
}

NXT_MAIN(peaks) {
  const struct CMUnitTest tests[] = {IN_SCOPE(values_are_read_soon), IN_SCOPE(limits_are_kept)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
