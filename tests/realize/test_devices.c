/* SPDX-License-Identifier: ISC */
/* The processor as several devices: their names, the same bits on each, copies between them, one
 * action or several events that compute on all of them beside each other, failures and polls
 * meanwhile. Also run with the thread sanitizer. */
#include "tests/util/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 8, SIDE = 40 };

static nx_context *divided(int32_t n, int32_t threads) {
  nx_context_options o = {.size = sizeof o, .cpu_devices = n, .threads = threads};
  nx_context *c = NULL;
  OK(nx_context_create(&o, &c));
  return c;
}

static const char *name_of(nx_context *c, nx_device d) {
  nx_device_info info = {.size = sizeof info};
  OK(nx_device_describe(c, d, &info));
  return info.name;
}

/* ---- what there is */

static void devices_have_names(void **state) {
  (void)state;
  for (int32_t n = 1; n <= MOST; n *= 2) {
    nx_context *c = divided(n, 0);
    char name[16];
    for (int32_t i = 0; i < n; i++) {
      snprintf(name, sizeof name, i ? "cpu:%d" : "cpu", i);
      assert_string_equal(name_of(c, i), name);
    }
    assert_string_equal(name_of(c, n), "interp");
    assert_string_equal(name_of(c, n + 1), "cuda");
    nx_context_release(c);
  }
}

static void numbers_out_of_range(void **state) {
  (void)state;
  static const int32_t wrong[] = {-1, 33, INT32_MAX};
  for (int i = 0; i < 3; i++) {
    nx_context_options o = {.size = sizeof o, .cpu_devices = wrong[i]};
    nx_context *c = NULL;
    assert_int_equal(nx_context_create(&o, &c), NX_INVALID_ARGUMENT);
    error_says(NX_INVALID_ARGUMENT, "between 1 and 32");
  }
  nx_context *c = divided(32, 1);
  assert_string_equal(name_of(c, 31), "cpu:31");
  nx_context_release(c);
}

/* The number in NX_CPU_DEVICES, which options overrule. */
static void environment_divides(void **state) {
  (void)state;
  const char *wish = getenv("NX_CPU_DEVICES");
  int32_t wanted = wish ? atoi(wish) : 1;
  ctx = divided(0, 0);
  assert_string_equal(name_of(ctx, wanted), "interp");
  nx_context_release(ctx);
  ctx = divided(2, 0);
  assert_string_equal(name_of(ctx, 2), "interp");
  nx_context_release(ctx);
}

/* ---- bits */

/* Reads what a program of several kinds of steps computes on a device. */
static void compute(nx_context *c, nx_device on, float *out) {
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *n = nx_arange(c, on, NX_F32, NX_NUMBER(-3), NX_NUMBER(0.01), SIDE * SIDE);
  nx_tensor *x = nx_sin(nx_reshape(n, NX_SHAPE(SIDE, SIDE), 0));
  nx_tensor *y = nx_matmul(nx_exp(x), x);
  nx_tensor *sum = nx_reduce_sum(nx_tanh(y), NX_AXES(1), 0);
  OK(nx_read(nx_sort(sum, 0, 0), out, SIDE * sizeof *out, NULL));
  nx_scope_end(scope);
}

static void all_give_the_same_bits(void **state) {
  (void)state;
  float wanted[SIDE], got[SIDE];
  nx_context *c = divided(1, 1);
  compute(c, 0, wanted);
  nx_context_release(c);
  for (int32_t n = 2; n <= MOST; n *= 2) {
    c = divided(n, n + 1);
    for (int32_t i = 0; i <= n; i++) {
      compute(c, i, got);
      assert_memory_equal(got, wanted, sizeof got);
    }
    nx_context_release(c);
  }
}

static void kernels_are_shared(void **state) {
  (void)state;
  float got[SIDE];
  nx_context *c = divided(4, 4);
  nx_stats s = {.size = sizeof s};
  compute(c, 0, got);
  nx_context_stats(c, &s);
  uint64_t first = s.kernels_compiled;
  for (int32_t i = 1; i < 4; i++) compute(c, i, got);
  nx_context_stats(c, &s);
  assert_int_equal(s.kernels_compiled, first);
  nx_context_release(c);
}

static nx_tensor *on(nx_device d, float first) {
  return GOOD(nx_arange(ctx, d, NX_F32, NX_NUMBER(first), NX_NUMBER(1), 3));
}

static void devices_do_not_mix(void **state) {
  (void)state;
  nx_tensor *a = on(0, 1), *b = on(1, 5), *both[2] = {a, b};
  assert_null(nx_add(a, b));
  error_says(NX_INVALID_ARGUMENT, "on device 1");
  nx_tensor *moved = nx_to_device(b, 0), *sum = nx_add(a, moved), *back = nx_to_device(sum, 1);
  EXPECT(nx_mul(back, b), 30, 48, 70);
  nx_tensor *all[5] = {both[0], both[1], moved, sum, back};
  OK(nx_realize(ctx, all, 5, NULL));
  EXPECT(sum, 6, 8, 10);
}

/* ---- computing on all of them at once: functions that wait for each other */

static atomic_int arrived, wanted_there;
static atomic_bool alone; /* no other comes */

static nx_status meets(const nx_custom_call *k) {
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < atomic_load(&wanted_there) || atomic_load(&alone)) {
    if (nx_custom_stopped(k)) return NX_INTERRUPTED;
    usleep(100);
  }
  memcpy(k->results[0].data, k->operands[0].data, 3 * sizeof(float));
  return NX_OK;
}

static nx_status fails(const nx_custom_call *k) {
  return nx_custom_fail(k, NX_SINGULAR, "on purpose");
}

static nx_tensor *custom(nx_status (*run)(const nx_custom_call *call), nx_tensor *x) {
  const int64_t three[] = {3};
  const nx_type line = {NX_F32, 1, three};
  nx_custom *f = NULL;
  nx_tensor *y = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = run == fails ? "fails" : "meets",
                         .run = run,
                         .n_operands = 1,
                         .operands = &line,
                         .n_results = 1,
                         .results = &line};
  OK(nx_custom_create(ctx, &desc, &f));
  OK(nx_custom_record(f, &x, 1, NULL, &y, 1));
  nx_custom_release(f);
  return GOOD(y);
}

/* Results on all devices, of which each waits for the others. */
static void record_all(int32_t n, nx_tensor **y) {
  atomic_store(&arrived, 0);
  atomic_store(&wanted_there, n);
  atomic_store(&alone, false);
  for (int32_t i = 0; i < n; i++) y[i] = nx_add(custom(meets, on(i, (float)i)), on(i, 0));
}

static void one_action_computes_on_all(void **state) {
  (void)state;
  nx_tensor *y[MOST];
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  record_all(MOST, y);
  OK(nx_realize(ctx, y, MOST, &o));
  assert_int_equal(report.runs, MOST);
  assert_int_equal(report.library_calls + report.interpreted, MOST);
  for (int32_t i = 0; i < MOST; i++) EXPECT(y[i], (float)i, (float)i + 2, (float)i + 4);
}

static void events_compute_on_all(void **state) {
  (void)state;
  nx_tensor *y[MOST];
  nx_event *e[MOST];
  record_all(MOST, y);
  for (int32_t i = 0; i < MOST; i++) OK(nx_realize_async(ctx, &y[i], 1, NULL, &e[i]));
  for (int32_t i = 0; i < MOST; i++) {
    OK(nx_event_wait(e[i], NULL));
    nx_event_release(e[i]);
    EXPECT(y[i], (float)i, (float)i + 2, (float)i + 4);
  }
  record_all(MOST, y);
  OK(nx_realize_async(ctx, y, MOST, NULL, &e[0]));
  OK(nx_event_wait(e[0], NULL));
  nx_event_release(e[0]);
  EXPECT(y[7], 7, 9, 11);
}

/* One that fails ends the others, and the error is its own. */
static void a_failure_ends_the_others(void **state) {
  (void)state;
  nx_tensor *y[3];
  record_all(3, y);
  atomic_store(&alone, true);
  y[1] = custom(fails, on(1, 0));
  assert_int_equal(nx_realize(ctx, y, 3, NULL), NX_SINGULAR);
  error_says(NX_SINGULAR, "on purpose");
  atomic_store(&alone, false);
  atomic_store(&wanted_there, 0);
  OK(nx_realize(ctx, &y[2], 1, NULL));
}

static int32_t after_some(void *user) { return ++*(int *)user > 2; }

static void a_poll_ends_all(void **state) {
  (void)state;
  nx_tensor *y[4];
  int asked = 0;
  nx_run_options o = {.size = sizeof o, .poll = after_some, .user = &asked};
  record_all(4, y);
  atomic_store(&alone, true);
  FAILS(NX_INTERRUPTED, nx_realize(ctx, y, 4, &o));
  atomic_store(&alone, false);
  atomic_store(&arrived, 0);
  OK(nx_realize(ctx, y, 4, NULL));
  EXPECT(y[3], 3, 5, 7);
}

/* ---- values that go from one device to another before they are computed */

/* Realises them; how many graphs ran. */
static uint64_t runs(nx_tensor **t, size_t n) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, t, n, &o));
  return report.runs;
}

/* Each value is computed on its device, and is there afterwards; the processor and the
 * interpreter. */
static void computed_where_recorded(void **state) {
  (void)state;
  for (nx_device to = 1; to <= MOST; to += MOST - 1) {
    nx_tensor *x = nx_mul(on(0, 1), on(0, 2)), *there = nx_to_device(x, to), *more, *back;
    more = GOOD(nx_add(there, there));
    assert_int_equal(runs(&more, 1), 2);
    assert_int_equal(runs(&x, 1), 0);
    assert_int_equal(runs(&there, 1), 1);
    EXPECT(x, 2, 6, 12);
    EXPECT(more, 4, 12, 24);
    /* there and back; what both devices need is computed once */
    nx_tensor *y = GOOD(nx_neg(nx_add(x, on(0, 0))));
    back = GOOD(nx_to_device(GOOD(nx_mul(nx_to_device(y, to), more)), 0));
    nx_tensor *sum = GOOD(nx_add(back, y));
    assert_int_equal(runs(&sum, 1), 3);
    assert_int_equal(runs(&y, 1), 0);
    EXPECT(sum, -10, -91, -350);
    /* what is assigned there */
    nx_tensor *z = on(0, 5);
    OK(nx_realize(ctx, &z, 1, NULL));
    const int64_t one[] = {1}, two[] = {2};
    nx_tensor *last = nx_slice(z, one, two, one, 1);
    OK(nx_assign(last, nx_slice(nx_neg(on(0, 7)), one, two, one, 1)));
    EXPECT(GOOD(nx_to_device(z, to)), 5, -8, -9);
    EXPECT(z, 5, -8, -9);
  }
}

/* Constants, memory and views of these are read as they are. */
static void little_is_not_computed_elsewhere(void **state) {
  (void)state;
  nx_tensor *full = GOOD(nx_full(ctx, 0, NX_F32, NX_SHAPE(3), NX_NUMBER(2))), *x = on(0, 4),
            *empty = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(3))), *y[3];
  OK(nx_realize(ctx, &x, 1, NULL));
  y[0] = GOOD(nx_neg(GOOD(nx_to_device(full, 1))));
  y[1] = GOOD(nx_neg(GOOD(nx_to_device(GOOD(nx_flip(x, NX_AXES(0))), 1))));
  y[2] = GOOD(nx_neg(GOOD(nx_to_device(empty, 1))));
  assert_int_equal(runs(y, 3), 1);
  EXPECT(y[0], -2, -2, -2);
  EXPECT(y[1], -6, -5, -4);
  y[0] = GOOD(nx_to_device(
      GOOD(nx_expand(GOOD(nx_full(ctx, 0, NX_F32, NULL, 0, NX_NUMBER(7))), NX_SHAPE(3))), 1));
  assert_int_equal(runs(y, 1), 1);
  EXPECT(y[0], 7, 7, 7);
}

/* So many devices in turn that no stack holds a call for each. */
static void many_times_to_and_fro(void **state) {
  enum { TIMES = 20000 };
  (void)state;
  nx_tensor *x = on(0, 0), *one[2] = {on(0, 1), on(1, 1)};
  OK(nx_realize(ctx, one, 2, NULL));
  for (int i = 0; i < TIMES; i++) {
    x = GOOD(nx_add(x, one[i % 2]));
    x = GOOD(nx_to_device(x, (i + 1) % 2));
  }
  EXPECT(x, TIMES * 1.0f, TIMES * 2.0f + 1, TIMES * 3.0f + 2);
}

/* Values that wait for each other, of which one needs something of another device first. */
static void they_meet_before_they_go(void **state) {
  (void)state;
  for (int deeper = 0; deeper < 2; deeper++) {
    nx_tensor *y[4], *sum = on(4, 0);
    atomic_store(&arrived, 0);
    atomic_store(&wanted_there, 4);
    atomic_store(&alone, false);
    for (int32_t i = 0; i < 4; i++) {
      nx_tensor *x = on(i, (float)i);
      if (deeper && i == 2) x = GOOD(nx_to_device(nx_mul(on(3, 1), on(3, 2)), i));
      y[i] = custom(meets, x);
      sum = GOOD(nx_add(sum, GOOD(nx_to_device(y[i], 4))));
    }
    if (deeper) EXPECT(sum, 6, 14, 24);
    else EXPECT(sum, 6, 11, 16);
    assert_int_equal(runs(y, 4), 0);
  }
}

static void a_failure_elsewhere_is_told(void **state) {
  (void)state;
  nx_tensor *good = nx_add(on(0, 1), on(0, 1)), *bad = custom(fails, on(1, 0)),
            *x[2] = {good, GOOD(nx_neg(GOOD(nx_to_device(bad, 0))))};
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_realize(ctx, x, 2, NULL), NX_SINGULAR);
  nx_error_take(&e);
  assert_int_equal(e.output, 1);
  assert_non_null(strstr(e.message, "on purpose"));
  assert_int_equal(runs(&good, 1), 1);
}

/* ---- many threads, each on its device */

static void *on_its_own(void *user) {
  nx_device d = *(nx_device *)user;
  static _Thread_local float got[SIDE];
  for (int i = 0; i < 3; i++) compute(ctx, d, got);
  return memcpy(calloc(1, sizeof got), got, sizeof got);
}

static void threads_on_devices(void **state) {
  (void)state;
  pthread_t threads[MOST];
  nx_device numbers[MOST];
  float wanted[SIDE];
  for (int32_t i = 0; i < MOST; i++) {
    numbers[i] = i;
    assert_int_equal(pthread_create(&threads[i], NULL, on_its_own, &numbers[i]), 0);
  }
  compute(ctx, 0, wanted);
  for (int32_t i = 0; i < MOST; i++) {
    void *got;
    pthread_join(threads[i], &got);
    assert_memory_equal(got, wanted, sizeof wanted);
    free(got);
  }
}

static int open_divided(void **state) {
  (void)state;
  ctx = divided(MOST, 0);
  return 0;
}

NXT_MAIN(devices) {
  const struct CMUnitTest whole[] = {
      cmocka_unit_test(devices_have_names), cmocka_unit_test(numbers_out_of_range),
      cmocka_unit_test(environment_divides), cmocka_unit_test(all_give_the_same_bits),
      cmocka_unit_test(kernels_are_shared)};
  const struct CMUnitTest tests[] = {
      IN_SCOPE(devices_do_not_mix),
      IN_SCOPE(one_action_computes_on_all),
      IN_SCOPE(events_compute_on_all),
      IN_SCOPE(a_failure_ends_the_others),
      IN_SCOPE(a_poll_ends_all),
      IN_SCOPE(threads_on_devices),
      IN_SCOPE(computed_where_recorded),
      IN_SCOPE(little_is_not_computed_elsewhere),
      IN_SCOPE(many_times_to_and_fro),
      IN_SCOPE(they_meet_before_they_go),
      IN_SCOPE(a_failure_elsewhere_is_told),
  };
  return cmocka_run_group_tests(whole, NULL, NULL) |
         cmocka_run_group_tests(tests, open_divided, close_context);
}
