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

typedef nx_tensor *formula(nx_tensor *x);

/* Large values that are all recorded before the first of them is read. */
static nx_tensor *wide(nx_tensor *x) {
  enum { N = 12 };
  nx_tensor *large[N], *y = NULL;
  for (int i = 0; i < N; i++) large[i] = GOOD(nx_matmul(x, nx_mul(x, number((float)(i + 1) / 64))));
  for (int i = 0; i < N; i++) {
    nx_tensor *sum = GOOD(nx_reduce_sum(nx_tanh(large[i]), NX_AXES(0, 1), 0));
    y = y ? GOOD(nx_add(y, sum)) : sum;
  }
  return y;
}

static nx_function *function_of(formula *body) {
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(SIDE, SIDE))), *y = body(x);
  nx_function_options o = {.size = sizeof o, .name = "body"};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  return f;
}

/* Each value is read as soon as it is there, so few are there at once. */
static void values_are_read_soon(void **state) {
  (void)state;
  nx_function *f = function_of(wide);
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
static nx_tensor *shared(nx_tensor *x) {
  nx_tensor *e = GOOD(nx_exp(x)), *rows = GOOD(nx_reduce_sum(e, NX_AXES(1), 0)),
            *columns = GOOD(nx_reduce_sum(e, NX_AXES(0), 0)), *y = GOOD(nx_sub(rows, columns));
  return GOOD(nx_reduce_max(y, NX_AXES(0), 0));
}

/* Calls a function of the formula, or records and realises it. */
static nx_status compute(formula *body, bool recorded, nx_tensor *x, nx_tensor **y, nx_report *r) {
  const nx_run_options o = {.size = sizeof o, .report = r};
  if (recorded) {
    nx_scope *inner = nx_scope_begin(ctx); /* values of handles that live would be kept */
    *y = nx_keep(body(x));
    nx_scope_end(inner);
    nx_status status = nx_realize(ctx, y, 1, &o);
    if (status != NX_OK) release(*y);
    return status;
  }
  nx_function *f = function_of(body);
  nx_status status = nx_function_call(f, &x, 1, y, 1, &o);
  nx_function_release(f);
  return status;
}

/* Computes the formula within a limit. *bits: of its result, to be as they were unless they are 0.
 * False: the memory did not suffice. */
static bool within(formula *body, bool recorded, double squares, uint32_t *bits) {
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .threads = 2};
  nx_stats before = {.size = sizeof before}, after = before;
  nx_error e = {.size = sizeof e};
  o.memory_limit = (size_t)(squares * SQUARE);
  OK(nx_context_create(&o, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = square_of(0.01), *y = NULL;
  nx_context_stats(ctx, &before);
  nx_status status = compute(body, recorded, x, &y, NULL);
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
  for (int recorded = 0; recorded < 2; recorded++) {
    bool before[2] = {true, true};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
      bool good[2] = {within(wide, recorded, limits[i], &bits[0]),
                      within(shared, recorded, limits[i], &bits[1])};
      printf("%s, %.1f squares: %s, %s\n", recorded ? "recorded" : "called", limits[i],
             good[0] ? "yes" : "no", good[1] ? "yes" : "no");
      for (int k = 0; k < 2; k++) {
        assert_true(before[k] || !good[k]);
        before[k] = good[k];
      }
      if (limits[i] > 3.3) assert_true(good[0]);
      if (limits[i] == 1.5) assert_true(good[1]);
    }
    assert_false(before[0]);
  }
}

static nx_tensor *attention(nx_tensor *x) {
  nx_tensor *scores = GOOD(nx_matmul(x, nx_permute(x, NX_AXES(1, 0)))),
            *e = GOOD(nx_exp(nx_sub(scores, nx_reduce_max(scores, NX_AXES(1), NX_KEEPDIMS))));
  return GOOD(nx_matmul(nx_div(e, nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS)), x));
}
static nx_tensor *sorted(nx_tensor *x) { return GOOD(nx_sort(nx_mul(x, x), 0, 0)); }
static nx_tensor *crossed(nx_tensor *x) {
  nx_tensor *y = GOOD(nx_matmul(x, x)), *z = GOOD(nx_matmul(y, x));
  return GOOD(
      nx_add(nx_mul(y, nx_permute(z, NX_AXES(1, 0))), nx_associative_scan(z, NX_SCAN_SUM, 0)));
}

/* What a context takes is what was planned, and rounding. */
static void as_much_as_planned(void **state) {
  (void)state;
  static formula *const all[] = {wide, shared, attention, sorted, crossed};
  for (size_t i = 0; i < 2 * sizeof all / sizeof *all; i++) {
    nx_context *outer = ctx;
    nx_context_options o = {.size = sizeof o, .threads = 2};
    nx_stats before = {.size = sizeof before}, after = before;
    nx_report r = {.size = sizeof r};
    OK(nx_context_create(&o, &ctx));
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *x = square_of(0.01), *y = NULL;
    nx_context_stats(ctx, &before);
    OK(compute(all[i / 2], i % 2, x, &y, &r));
    nx_context_stats(ctx, &after);
    const double took = (double)(after.peak_bytes - before.live_bytes);
    printf("%zu: planned %.2f squares, took %.2f\n", i, (double)r.planned_bytes / SQUARE,
           took / SQUARE);
    assert_true(took <= (double)r.planned_bytes + 0.1 * SQUARE);
    release(y);
    nx_scope_end(s);
    nx_context_release(ctx);
    ctx = outer;
  }
}

NXT_MAIN(peaks) {
  const struct CMUnitTest tests[] = {IN_SCOPE(values_are_read_soon), IN_SCOPE(limits_are_kept),
                                     IN_SCOPE(as_much_as_planned)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
