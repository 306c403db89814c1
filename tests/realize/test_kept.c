/* SPDX-License-Identifier: ISC */
/* Values that a plan stores anyway, and that are needed after the run: they are kept, and fusion
 * does not change. */
#include "ir/alloc.h"
#include "tests/util/api.h"
#include "tests/util/share.h"

static bool is_realized(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags & NX_TENSOR_REALIZED;
}

static nx_tensor *square(nx_tensor *y) {
  return GOOD(nx_reduce_sum(nx_mul(y, y), NX_AXES(0, 1), 0));
}

static nx_tensor *turned(nx_tensor *x) { return GOOD(nx_permute(x, NX_AXES(1, 0))); }

enum { WIDE = 48 }; /* products are the library's, nothing is tiny */

static nx_tensor *wide(double value) {
  nx_tensor *t =
      GOOD(nx_copy(nx_full(ctx, device(), NX_F32, NX_SHAPE(WIDE, WIDE), NX_NUMBER(value))));
  OK(nx_realize(ctx, &t, 1, NULL));
  return t;
}

static nx_report realize_one(nx_tensor *t) {
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_realize(ctx, &t, 1, &o));
  return r;
}

static nx_tensor *product_of(nx_tensor *x) { return nx_matmul(x, x); }
static nx_tensor *sorted(nx_tensor *x) { return nx_sort(x, 1, 0); }
static nx_tensor *factor_of(nx_tensor *x) {
  nx_tensor *mask = nx_eye(ctx, device(), NX_F32, WIDE, WIDE, 0);
  return nx_cholesky(nx_mul(x, mask), NX_LOWER);
}
static nx_tensor *late_product(nx_tensor *x) { return nx_matmul(nx_tanh(x), nx_exp(nx_neg(x))); }

/* A handle, or a recorded operation, keeps the value; reading it later does not compute it
 * again. */
static void what_is_stored_anyway_is_kept(void **state) {
  (void)state;
  static nx_tensor *(*const makes[])(nx_tensor *) = {product_of, sorted, factor_of, late_product};
  for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
    nx_tensor *x = wide(0.5), *y = GOOD(makes[i](x)), *loss = square(y);
    realize_one(loss);
    if (!is_realized(y)) {
      print_error("value %zu is gone\n", i);
      fail();
    }
    nx_tensor *z = GOOD(nx_neg(y)), *copy = GOOD(nx_neg(makes[i](x)));
    assert_int_equal(realize_one(z).nodes, 2);
    float kept[WIDE * WIDE], again[WIDE * WIDE];
    OK(nx_read(z, kept, sizeof kept, NULL));
    OK(nx_read(copy, again, sizeof again, NULL));
    assert_memory_equal(kept, again, sizeof kept);
    release(y); /* the recorded operation needs it, as a handle does */
    y = GOOD(makes[i](nx_add(x, x)));
    nx_tensor *sum = square(y), *waits = GOOD(nx_add(y, x));
    release(y);
    realize_one(sum);
    assert_int_equal(realize_one(waits).nodes, 3);
  }
}

/* A step of a training loop that reads its loss: the product that was computed for the loss is kept
 * for the update of the weights. */
static void a_step_has_two_products(void **state) {
  (void)state;
  nx_tensor *w = wide(0.01), *x = wide(0.5);
  for (int step = 0; step < 20; step++) {
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *y = nx_matmul(x, w), *loss = square(y);
    OK(nx_assign(w, nx_sub(w, nx_mul(nx_matmul(turned(x), y), number(1e-6f)))));
    nx_report r = realize_one(loss);
    assert_true(r.library_calls <= 2 && (step < 5 || r.plan_misses == 0));
    nx_scope_end(s);
  }
}

/* A value that nothing needs is a temporary, and a fused value stays fused even if a handle refers
 * to it. */
static void handles_cut_no_fusion(void **state) {
  (void)state;
  nx_report held, released;
  nx_tensor *x = wide(0.25);
  for (int hold = 0; hold < 2; hold++) {
    nx_tensor *a = GOOD(nx_tanh(x)), *b = GOOD(nx_mul(a, x)), *y = GOOD(nx_matmul(b, x));
    nx_tensor *c = GOOD(nx_exp(y)), *d = GOOD(nx_add(c, a)), *loss = square(d);
    if (!hold) release(a), release(b), release(y), release(c), release(d);
    nx_context_collect(ctx);
    *(hold ? &held : &released) = realize_one(loss);
    assert_true(!hold || (!is_realized(c) && !is_realized(d)));
  }
  assert_int_equal(held.kernels, released.kernels);
  assert_int_equal(held.library_calls, released.library_calls);
  assert_int_equal(held.runs, 1);
  nx_stats before = {.size = sizeof before}, after = before;
  nx_context_stats(ctx, &before);
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *loss = square(nx_matmul(x, nx_neg(x)));
  nx_keep(loss), nx_scope_end(s);
  realize_one(loss);
  nx_context_stats(ctx, &after);
  assert_true(after.live_bytes <= before.live_bytes + 256);
  release(loss);
}

/* Handles that a collector has not found yet: only those of stored values are a part of the key. */
static void garbage_changes_few_keys(void **state) {
  (void)state;
  uint32_t random = 1, late = 0;
  nx_tensor *x = wide(0.125), *w = wide(0.0625);
  for (int round = 0; round < 200; round++) {
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *t[5] = {nx_add(x, w)};
    t[1] = nx_mul(t[0], x), t[2] = nx_matmul(t[1], w), t[3] = nx_mul(t[2], w);
    t[4] = nx_tanh(t[3]);
    nx_tensor *loss = square(t[4]);
    random = random * 1664525 + 1013904223;
    for (int i = 0; i < 5; i++)
      if (random >> (20 + i) & 1) release(t[i]);
    nx_report r = realize_one(loss);
    assert_int_equal(r.runs, 1);
    if (round >= 20) late += (uint32_t)r.plan_misses;
    nx_scope_end(s);
  }
  assert_int_equal(late, 0);
}

/* If there is no room for what was not asked for, it is not kept. */
static void short_memory_keeps_nothing(void **state) {
  (void)state;
  enum { LAYERS = 12, SQUARE = 256 };
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .threads = 1, .cache_dir = ""};
  o.memory_limit = 7 * SQUARE * SQUARE * sizeof(float);
  OK(nx_context_create(&o, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *w = GOOD(
      nx_copy(nx_full(ctx, device(), NX_F32, NX_SHAPE(SQUARE, SQUARE), NX_NUMBER(0.00390625))));
  nx_tensor *y[LAYERS + 1] = {w};
  for (int i = 0; i < LAYERS; i++) y[i + 1] = GOOD(nx_matmul(y[i], w));
  nx_tensor *loss = GOOD(nx_reduce_sum(y[LAYERS], NX_AXES(0, 1), 0));
  nx_scalar v;
  OK(nx_item(loss, NULL, 0, &v, NULL));
  assert_true(v.v.f[0] == 256);
  for (int i = 1; i <= LAYERS; i++) assert_false(is_realized(y[i]));
  nx_scope_end(s);
  nx_context_release(ctx);
  ctx = outer;
}

/* Wherever an allocation fails, the realise can be tried again, and nothing is lost or left. */
static void kept_or_not_when_allocations_fail(void **state) {
  (void)state;
  nx_context *outer = ctx;
  bool over = false;
  for (int64_t point = 0; !over; point += nxt_kernel_share()) {
    nx_context_options o = {.size = sizeof o, .threads = 1, .cache_dir = ""};
    OK(nx_context_create(&o, &ctx));
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *x = GOOD(nx_copy(nx_full(ctx, device(), NX_F32, NX_SHAPE(2, 2), NX_NUMBER(3))));
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *y = GOOD(nx_matmul(x, x)), *loss = square(y), *z = GOOD(nx_neg(y));
    int64_t before = nxi_alloc_count();
    nxi_alloc_fail(point, false);
    nx_status status = nx_realize(ctx, &loss, 1, NULL);
    over = nxi_alloc_count() - before <= point;
    nxi_alloc_fail(-1, false);
    nx_error_take(NULL);
    assert_true(status == NX_OK || (!over && status == NX_OUT_OF_MEMORY));
    OK(nx_realize(ctx, &loss, 1, NULL));
    assert_true(!over || is_realized(y));
    nx_scalar v;
    OK(nx_item(z, (int64_t[]){1, 1}, 2, &v, NULL));
    assert_true(v.v.f[0] == -18);
    nx_scope_end(s);
    nx_context_collect(ctx);
    nx_stats left = {.size = sizeof left};
    nx_context_stats(ctx, &left);
    assert_true(left.live_bytes == 0 && left.pending_nodes == 0);
    nx_context_release(ctx);
  }
  ctx = outer;
}

NXT_MAIN(kept) {
  nx_context_options o = {.size = sizeof o, .threads = 1, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(what_is_stored_anyway_is_kept), IN_SCOPE(a_step_has_two_products),
      IN_SCOPE(handles_cut_no_fusion),         IN_SCOPE(garbage_changes_few_keys),
      IN_SCOPE(short_memory_keeps_nothing),    IN_SCOPE(kept_or_not_when_allocations_fail),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
