/* SPDX-License-Identifier: ISC */
/* Asynchronous runs on the device "cuda" over a fake driver that delays work: an event is over when
 * the GPU has done its work, and the work of later events is started before that. */
#include <stdatomic.h>
#include <unistd.h>

#include "fake_device.h"
#include "tests/util/runner.h"

enum { SEEDS = 12, MANY = 16 };

static nx_event *start(nx_tensor *t) {
  nx_event *e = NULL;
  OK(nx_realize_async(ctx, &t, 1, NULL, &e));
  return e;
}

static void finish(nx_event *e) {
  OK(nx_event_wait(e, NULL));
  nx_event_release(e);
}

/* All of it is compiled before anything is delayed. */
static nx_tensor *warm(void) {
  nx_tensor *x = GOOD(nx_copy(ramp(64, 1)));
  OK(nx_realize(ctx, &x, 1, NULL));
  EXPECT(part(nx_add(x, x), 0, 3, 1), 0, 2, 4);
  OK(nx_wait(ctx, CUDA));
  return x;
}

static void an_event_is_over_when_the_gpu_is_done(void **state) {
  (void)state;
  nx_tensor *x = warm();
  int waited = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    fake->delay = seed;
    nx_tensor *y = GOOD(nx_add(x, x));
    OK(nx_realize(ctx, &y, 1, NULL));
    waited += fake->waiting > 0; /* a realise does not wait */
    nx_event *e = start(nx_add(y, y));
    OK(nx_event_wait(e, NULL));
    assert_int_equal(fake->waiting, 0);
    fake->delay = 0;
    nx_event_release(e);
  }
  assert_true(waited > 0);
}

static atomic_int order[MANY], calls;
static void note(void *user) { atomic_store((atomic_int *)user, ++calls); }

/* The queue is started as a whole; callbacks come in the order of the events. */
static void later_work_is_started_before(void **state) {
  (void)state;
  nx_tensor *x = warm();
  int early = 0;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    nx_event *events[MANY];
    nx_tensor *y = x;
    fake->delay = seed;
    calls = 0;
    for (int i = 0; i < MANY; i++) {
      y = GOOD(nx_add(y, x));
      events[i] = start(y);
      OK(nx_event_then(events[i], &(nx_callback){sizeof(nx_callback), note, &order[i]}));
    }
    nx_tensor_info info = {.size = sizeof info};
    for (nx_tensor_describe(y, &info); !(info.flags & NX_TENSOR_REALIZED);)
      nx_tensor_describe(y, &info);
    early += !nx_event_done(events[MANY - 1]);
    OK(nx_event_wait(events[MANY - 1], NULL));
    for (int i = 0; i < MANY - 1; i++) assert_true(nx_event_done(events[i]));
    fake->delay = 0;
    EXPECT(part(y, 0, 3, 1), 0, MANY + 1, 2 * (MANY + 1));
    finish(start(nx_neg(y))); /* all callbacks have been called */
    for (int i = 0; i < MANY; i++) {
      assert_int_equal(order[i], i + 1);
      nx_event_release(events[i]);
    }
  }
  assert_true(early > 0);
}

/* Calls of functions with donation, and copies between devices. */
static void calls_and_copies(void **state) {
  (void)state;
  nx_tensor *p = GOOD(nx_placeholder(ctx, CUDA, NX_F32, NX_SHAPE(64)));
  nx_tensor *q = GOOD(nx_mul(p, nx_full(ctx, CUDA, NX_F32, NULL, 0, NX_NUMBER(3))));
  nx_function_options o = {.size = sizeof o, .donate = (const uint8_t[]){1}};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, &p, 1, &q, 1, &o, &f));
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    nx_tensor *x = warm(), *y = NULL, *z = NULL;
    nx_event *e = NULL, *g = NULL;
    fake->delay = seed;
    OK(nx_function_call_async(f, &x, 1, &y, 1, NULL, &e));
    OK(nx_function_call_async(f, &y, 1, &z, 1, NULL, &g));
    nx_tensor *host = GOOD(nx_to_device(z, 0));
    finish(start(host));
    finish(e), finish(g);
    FAILS(NX_DONATED, nx_realize(ctx, &x, 1, NULL));
    EXPECT(part(host, 0, 3, 1), 0, 9, 18);
    fake->delay = 0;
  }
  nx_function_release(f);
}

static nx_context *other_context(void) {
  nx_context *c = NULL;
  OK(nx_context_create(NULL, &c));
  return c;
}

/* A thread that does work may be the last that needs a context: it ends soon. */
static void until_there_are(int64_t contexts) {
  while (__atomic_load_n(&fake->contexts, __ATOMIC_ACQUIRE) > contexts) usleep(100);
}

/* The thread that does the work gives the context up, after the GPU is done. */
static void the_context_goes_first(void **state) {
  (void)state;
  nx_context *own = ctx;
  const int64_t contexts = fake->contexts;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    ctx = other_context();
    nx_scope *scope = nx_scope_begin(ctx);
    nx_tensor *x = warm();
    fake->delay = seed;
    nx_event *e = start(nx_add(x, x)), *last = start(nx_add(x, x));
    nx_event_release(e);
    nx_scope_end(scope);
    nx_context_release(ctx);
    finish(last);
    until_there_are(contexts);
    fake->delay = 0;
  }
  ctx = own;
}

/* The GPU breaks while it does what was started: the event tells. */
static void a_gpu_that_breaks_is_told(void **state) {
  (void)state;
  nx_context *own = ctx;
  const int64_t contexts = fake->contexts;
  ctx = other_context();
  nx_scope *scope = nx_scope_begin(ctx);
  nx_tensor *x = warm(), *y = GOOD(nx_add(x, nx_add(x, x)));
  fake->delay = 3;
  fake->fault_at = fake->launches + 1;
  nx_event *e = start(y);
  assert_int_equal(nx_event_wait(e, NULL), NX_DEVICE_LOST);
  nx_error error = take();
  assert_non_null(strstr(error.message, "the GPU Fake 0 is lost"));
  nx_event_release(e);
  fake->broken = 0;
  fake->fault_at = 0;
  fake->delay = 0;
  nx_scope_end(scope);
  nx_context_release(ctx);
  until_there_are(contexts);
  ctx = own;
}

static int close_all(void **state) {
  int failed = close_context(state);
  until_there_are(0);
  return is_left(NULL) || failed;
}

NXT_MAIN(cuda_async) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(an_event_is_over_when_the_gpu_is_done),
      IN_SCOPE(later_work_is_started_before),
      IN_SCOPE(calls_and_copies),
      IN_SCOPE(the_context_goes_first),
      IN_SCOPE(a_gpu_that_breaks_is_told),
  };
  return cmocka_run_group_tests(tests, open_fake, close_all);
}
