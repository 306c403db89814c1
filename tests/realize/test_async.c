/* SPDX-License-Identifier: ISC */
/* Asynchronous runs: events, several in flight, errors, cancelling, and how they end: with handles
 * released, contexts given up, in a child of fork. Also run with the thread sanitizer. */
#include "tests/util/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/util/sanitizers.h"

static const int64_t three[] = {3};
static const nx_type line = {NX_F32, 1, three};

/* ---- an operation that is in progress until it is told to go on, or to stop */

static atomic_bool entered, open_gate;
static atomic_int calls;

static nx_status at_gate(const nx_custom_call *k) {
  atomic_fetch_add(&calls, 1);
  atomic_store(&entered, true);
  while (!atomic_load(&open_gate)) {
    if (nx_custom_stopped(k)) return NX_INTERRUPTED;
    usleep(100);
  }
  for (int i = 0; i < 3; i++)
    ((float *)k->results[0].data)[i] = 2 * ((const float *)k->operands[0].data)[i];
  return NX_OK;
}

static nx_status fails(const nx_custom_call *k) {
  return nx_custom_fail(k, NX_SINGULAR, "on purpose");
}

static nx_event *waited_for;
static nx_status waits(const nx_custom_call *k) {
  (void)k;
  return nx_event_wait(waited_for, NULL);
}

static nx_tensor *custom(nx_status (*run)(const nx_custom_call *call), nx_tensor *x) {
  nx_custom *f = NULL;
  nx_tensor *y = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "gate",
                         .run = run,
                         .n_operands = 1,
                         .operands = &line,
                         .n_results = 1,
                         .results = &line};
  OK(nx_custom_create(ctx, &desc, &f));
  OK(nx_custom_record(f, &x, 1, NULL, &y, 1));
  nx_custom_release(f);
  return y;
}

static nx_tensor *gated(nx_tensor *x) {
  atomic_store(&entered, false);
  atomic_store(&open_gate, false);
  atomic_store(&calls, 0);
  return custom(at_gate, x);
}

static void enter(void) {
  while (!atomic_load(&entered)) usleep(100);
}

static nx_event *start(nx_tensor *t) {
  nx_event *e = NULL;
  OK(nx_realize_async(ctx, &t, 1, NULL, &e));
  return e;
}

static bool is_realized(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags & NX_TENSOR_REALIZED;
}

/* ---- realising */

static void it_is_computed(void **state) {
  (void)state;
  nx_tensor *x = nx_mul(vector(3, 1, 1), number(2));
  nx_event *e = start(x);
  OK(nx_event_wait(e, NULL));
  assert_true(nx_event_done(e) && is_realized(x));
  OK(nx_event_wait(e, NULL));
  nx_event_release(e);
  EXPECT(x, 2, 4, 6);
}

/* While a run is in progress others are noted, recorded upon, and values that need it not are read;
 * what was assigned meanwhile is not what is computed. */
static void the_caller_goes_on(void **state) {
  (void)state;
  nx_tensor *x = gated(vector(3, 1, 1)), *y = nx_add(x, number(1));
  nx_tensor *free_of_it = nx_add(vector(3, 0, 1), number(1));
  nx_event *e = start(x), *f = start(y);
  enter();
  assert_false(nx_event_done(e) || nx_event_done(f));
  EXPECT(free_of_it, 1, 2, 3);
  nx_tensor *z = nx_mul(y, y);
  nx_tensor *before = nx_copy(y);
  OK(nx_assign(y, constant(3, 7)));
  EXPECT(y, 7, 7, 7);
  atomic_store(&open_gate, true);
  EXPECT(z, 9, 25, 49);
  OK(nx_event_wait(f, NULL));
  assert_true(nx_event_done(e));
  EXPECT(before, 3, 5, 7);
  assert_int_equal(calls, 1);
  nx_event_release(e);
  nx_event_release(f);
}

static void handles_may_go(void **state) {
  (void)state;
  nx_tensor *x = gated(vector(3, 1, 1));
  nx_event *e = start(x), *late = start(nx_add(x, x));
  nx_event_release(e);
  nx_tensor_release(x);
  enter();
  atomic_store(&open_gate, true);
  OK(nx_event_wait(late, NULL));
  nx_event_release(late);
}

static void errors_come_with_the_event(void **state) {
  (void)state;
  nx_tag_set(77, "line 77");
  nx_tensor *x = custom(fails, vector(3, 1, 1));
  nx_tag_set(0, NULL);
  nx_event *e = start(x), *good = start(nx_add(vector(3, 1, 1), number(3)));
  OK(nx_event_wait(good, NULL));
  assert_true(nx_event_done(e));
  for (int i = 0; i < 2; i++) {
    nx_error error = {.size = sizeof error};
    assert_int_equal(nx_event_wait(e, NULL), NX_SINGULAR);
    assert_int_equal(nx_error_take(&error), NX_SINGULAR);
    assert_string_equal(error.op, "custom");
    assert_string_equal(error.message, "custom \"gate\": on purpose");
    assert_string_equal(error.tag_text, "line 77");
    assert_int_equal(error.tag, 77);
    assert_int_equal(error.output, 0);
  }
  nx_event_release(e);
  nx_event_release(good);
}

static void cancelled(void **state) {
  (void)state;
  nx_tensor *x = gated(vector(3, 1, 1)), *y = nx_add(x, number(1));
  nx_event *e = start(x), *f = start(y);
  enter();
  nx_event_cancel(f);
  nx_event_cancel(e);
  FAILS(NX_INTERRUPTED, nx_event_wait(e, NULL));
  FAILS(NX_INTERRUPTED, nx_event_wait(f, NULL));
  atomic_store(&open_gate, true);
  EXPECT(y, 3, 5, 7); /* nothing is lost */
  nx_event_cancel(e);
  nx_event_release(e);
  nx_event_release(f);
}

static int32_t after_three(void *user) { return ++*(int *)user > 3; }

static void waits_can_be_interrupted(void **state) {
  (void)state;
  int polls = 0;
  nx_run_options o = {.size = sizeof o, .poll = after_three, .user = &polls};
  nx_event *e = start(gated(vector(3, 1, 1)));
  FAILS(NX_INTERRUPTED, nx_event_wait(e, &o));
  assert_int_equal(polls, 4);
  assert_false(nx_event_done(e));
  atomic_store(&open_gate, true);
  OK(nx_event_wait(e, NULL));
  nx_event_release(e);
}

/* ---- callbacks */

static atomic_int order, first_at, second_at;
static void first(void *user) { first_at = nx_event_wait(user, NULL) ? -1 : ++order; }
static void second(void *user) {
  nx_tensor *x = user; /* it may use the library */
  float got[3] = {0};
  second_at = nx_read(x, got, sizeof got, NULL) || got[2] != 6 ? -1 : ++order;
  nx_add(NULL, NULL); /* its error is nobody's */
}

#define CALLBACK(f, user) (&(nx_callback){sizeof(nx_callback), f, user})
static void callbacks_are_called_once(void **state) {
  (void)state;
  nx_tensor *x = gated(vector(3, 1, 1));
  nx_event *e = start(x);
  order = first_at = second_at = 0;
  OK(nx_event_then(e, CALLBACK(first, e)));
  OK(nx_event_then(e, CALLBACK(second, x)));
  assert_int_equal(order, 0);
  atomic_store(&open_gate, true);
  nx_event *after = start(nx_neg(x)); /* its work comes after the callbacks */
  OK(nx_event_wait(after, NULL));
  assert_true(first_at == 1 && second_at == 2);
  OK(nx_event_then(e, CALLBACK(first, e)));
  assert_int_equal(first_at, 3);
  nx_event_release(e);
  nx_event_release(after);
}

static void the_thread_does_not_wait_for_itself(void **state) {
  (void)state;
  nx_tensor *x = gated(vector(3, 1, 1)), *y = custom(waits, vector(3, 1, 1));
  nx_event *e = start(x), *bad = start(y);
  waited_for = bad;
  atomic_store(&open_gate, true);
  FAILS(NX_INVALID_ARGUMENT, nx_event_wait(bad, NULL));
  nx_event_release(e);
  nx_event_release(bad);
}

static nx_function *add_one(const uint8_t *donate) {
  nx_tensor *x = nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(3));
  nx_tensor *y = nx_add(x, number(1));
  nx_function *f = NULL;
  nx_function_options o = {.size = sizeof o, .donate = donate};
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  nx_tensor_release(x);
  nx_tensor_release(y);
  return f;
}

/* ---- flags of the options: what there is at the time of the call */

static void leftovers_are_computed(void **state) {
  (void)state;
  nx_function *f = add_one(NULL);
  for (int call = 0; call < 2; call++) {
    nx_tensor *x = GOOD(nx_mul(vector(3, 1, 1), number(2))), *y = NULL;
    nx_tensor *rest = GOOD(nx_sub(vector(3, 5, 1), number(1))), *bad = custom(fails, rest);
    nx_run_options o = {.size = sizeof o, .flags = NX_DO_PENDING};
    nx_event *e = NULL;
    if (call) OK(nx_function_call_async(f, &x, 1, &y, 1, &o, &e));
    else OK(nx_realize_async(ctx, &x, 1, &o, &e));
    nx_tensor *later = GOOD(nx_neg(x));
    FAILS(NX_SINGULAR, nx_event_wait(e, NULL)); /* all the same the others were computed */
    assert_true(is_realized(x) && !is_realized(later) && !is_realized(bad));
    if (call) assert_true(is_realized(y));
    nx_event_release(e);
    release(bad);
    OK(nx_realize_async(ctx, NULL, 0, &o, &e));
    OK(nx_event_wait(e, NULL));
    assert_true(is_realized(rest) && is_realized(later));
    nx_event_release(e);
  }
  nx_function_release(f);
}

static void deferred_work_is_done(void **state) {
  (void)state;
  nx_context *outer = ctx;
  OK(nx_context_create(&(nx_context_options){.size = sizeof(nx_context_options),
                                             .flags = NX_DEFER_EXPOSED,
                                             .threads = 1,
                                             .cache_dir = ""},
                       &ctx));
  nx_scope *scope = nx_scope_begin(ctx);
  float memory[16] = {1, 2, 3};
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_SHARED,
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = three,
                      .base = memory,
                      .bytes = sizeof memory};
  nx_tensor *x = NULL;
  OK(nx_import(ctx, &d, &x));
  OK(nx_assign(x, nx_add(x, number(1))));
  assert_true(nx_has_deferred(ctx));
  nx_run_options o = {.size = sizeof o, .flags = NX_DO_DEFERRED};
  nx_event *e = NULL;
  OK(nx_realize_async(ctx, NULL, 0, &o, &e));
  OK(nx_event_wait(e, NULL));
  assert_false(nx_has_deferred(ctx));
  assert_true(memory[0] == 2 && memory[2] == 4);
  nx_event_release(e);
  release(x);
  nx_scope_end(scope);
  nx_context_release(ctx);
  ctx = outer;
}

/* The number is that of the list, whatever was realised before, and is assigned or released
 * meanwhile. */
static void the_tensor_to_blame_is_told(void **state) {
  (void)state;
  nx_tensor *done = GOOD(nx_copy(vector(3, 1, 1)));
  OK(nx_realize(ctx, &done, 1, NULL));
  nx_tensor *list[3] = {done, nx_neg(done), custom(fails, vector(3, 1, 1))};
  nx_event *e = NULL;
  nx_event *before = start(gated(vector(3, 1, 1)));
  OK(nx_realize_async(ctx, list, 3, NULL, &e));
  OK(nx_assign(list[2], done));
  release(list[2]);
  atomic_store(&open_gate, true);
  assert_int_equal(nx_event_wait(e, NULL), NX_SINGULAR);
  nx_error error = {.size = sizeof error};
  nx_error_take(&error);
  assert_int_equal(error.output, 2);
  nx_event_release(e);
  nx_event_release(before);
}

/* ---- functions */

static void calls_follow_each_other(void **state) {
  (void)state;
  nx_function *f = add_one(NULL);
  nx_tensor *x = gated(vector(3, 1, 1));
  nx_event *last = NULL;
  for (int i = 0; i < 5; i++) {
    nx_tensor *y = NULL;
    nx_event *e = NULL;
    OK(nx_function_call_async(f, &x, 1, &y, 1, NULL, &e));
    nx_event_release(last);
    last = e;
    x = y;
  }
  nx_tensor *twice = nx_add(x, x);
  nx_function_release(f);
  atomic_store(&open_gate, true);
  OK(nx_event_wait(last, NULL));
  assert_true(is_realized(x));
  EXPECT(twice, 14, 18, 22);
  nx_event_release(last);
}

static void calls_assign_and_donate(void **state) {
  (void)state;
  nx_function *f = add_one((const uint8_t[]){1});
  nx_tensor *x = GOOD(nx_copy(vector(3, 1, 1))), *y = NULL, *into = GOOD(nx_copy(vector(3, 0, 0)));
  nx_event *e = NULL;
  OK(nx_realize(ctx, &x, 1, NULL));
  OK(nx_function_call_async(f, &x, 1, &y, 1, NULL, &e));
  FAILS(NX_DONATED, nx_realize(ctx, &x, 1, NULL));
  OK(nx_event_wait(e, NULL));
  nx_event_release(e);
  EXPECT(y, 2, 3, 4);
  OK(nx_function_call_async(f, &y, 1, &into, 1, NULL, &e));
  OK(nx_event_wait(e, NULL));
  nx_event_release(e);
  EXPECT(into, 3, 4, 5);
  FAILS(NX_DONATED, nx_realize(ctx, &y, 1, NULL));
  nx_function_release(f);
}

/* ---- many threads */

enum { THREADS = 4, ROUNDS = 25 };

static void *submit_many(void *argument) {
  nx_tensor *x = argument;
  for (int i = 0; i < ROUNDS; i++) {
    nx_scalar v = {NX_SCALAR_F64, {.f = {i, 0}}};
    nx_tensor *k = nx_full(ctx, device(), NX_F32, NULL, 0, &v), *y = nx_add(x, k),
              *z = nx_mul(y, y);
    nx_event *e = NULL, *g = NULL;
    float got[3] = {0};
    bool good = !nx_realize_async(ctx, &y, 1, NULL, &e) && !nx_realize_async(ctx, &z, 1, NULL, &g);
    if (good && i % 3 == 0) nx_event_cancel(e);
    good = good && !nx_read(z, got, sizeof got, NULL) && got[0] == (float)((1 + i) * (1 + i));
    nx_status status = good ? nx_event_wait(e, NULL) : NX_INTERNAL;
    if (status) nx_error_take(NULL);
    nx_event_release(e);
    nx_event_release(g);
    nx_tensor_release(k), nx_tensor_release(y), nx_tensor_release(z);
    if (!good || (status && status != NX_INTERRUPTED)) return (void *)1;
  }
  return NULL;
}

static void threads_submit_at_once(void **state) {
  (void)state;
  pthread_t threads[THREADS];
  nx_tensor *x = vector(3, 1, 1);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, submit_many, x), 0);
  for (int i = 0; i < THREADS; i++) {
    void *bad = NULL;
    pthread_join(threads[i], &bad);
    assert_null(bad);
  }
  nx_event *last = start(nx_neg(x)); /* all work before it has ended */
  OK(nx_event_wait(last, NULL));
  nx_event_release(last);
}

/* ---- ends */

/* The work keeps the context; the thread that does it gives it up. */
static void contexts_are_given_up(void **state) {
  (void)state;
  nx_context *outer = ctx;
  for (int i = 0; i < 4; i++) {
    OK(nx_context_create(
        &(nx_context_options){.size = sizeof(nx_context_options), .threads = 1, .cache_dir = ""},
        &ctx));
    nx_tensor *four = constant(3, 4), *x = gated(four), *y = nx_add(x, x);
    nx_event *e = start(x), *f = start(y);
    if (i % 2) enter();
    nx_tensor_release(four), nx_tensor_release(x), nx_tensor_release(y);
    nx_event_release(e);
    nx_context_release(ctx);
    atomic_store(&open_gate, true);
    if (i < 2) OK(nx_event_wait(f, NULL));
    nx_event_release(f);
  }
  ctx = outer;
}

#if !defined(THREAD_SANITIZER) /* a child of several threads is not supported there */
static void in_a_child_it_is_interrupted(void **state) {
  (void)state;
  nx_tensor *x = gated(vector(3, 1, 1)), *y = nx_add(vector(3, 1, 1), number(1));
  nx_event *e = start(x), *f = start(y);
  enter();
  pid_t child = fork();
  if (child == 0) {
    nx_event *again = NULL;
    float got[3] = {0};
    bool good = nx_event_wait(e, NULL) == NX_INTERRUPTED && nx_error_take(NULL) &&
                nx_event_wait(f, NULL) == NX_INTERRUPTED && nx_error_take(NULL);
    good = good && !nx_realize_async(ctx, &y, 1, NULL, &again) && !nx_event_wait(again, NULL);
    good = good && !nx_read(y, got, sizeof got, NULL) && got[2] == 4;
    _exit(good ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  atomic_store(&open_gate, true);
  OK(nx_event_wait(f, NULL));
  EXPECT(x, 2, 4, 6);
  nx_event_release(e);
  nx_event_release(f);
  assert_int_equal(status, 0);
}
#endif

/* ---- what is refused */

static void bad_arguments(void **state) {
  (void)state;
  nx_event *e = NULL;
  nx_tensor *x = vector(3, 1, 1), *none = NULL, *y = NULL;
  int polls = 0;
  nx_run_options polled = {.size = sizeof polled, .poll = after_three, .user = &polls};
  nx_run_options flags = {.size = sizeof flags, .flags = 64};
  FAILS(NX_INVALID_ARGUMENT, nx_realize_async(ctx, &x, 1, NULL, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_realize_async(NULL, &x, 1, NULL, &e));
  FAILS(NX_INVALID_ARGUMENT, nx_realize_async(ctx, &none, 1, NULL, &e));
  FAILS(NX_INVALID_ARGUMENT, nx_realize_async(ctx, &x, 1, &polled, &e));
  FAILS(NX_INVALID_ARGUMENT, nx_realize_async(ctx, &x, 1, &flags, &e));
  FAILS(NX_INVALID_ARGUMENT, nx_event_wait(NULL, NULL));
  nx_function *f = add_one(NULL);
  FAILS(NX_INVALID_ARGUMENT, nx_function_call_async(f, &none, 1, &y, 1, NULL, &e));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call_async(f, &x, 1, &y, 2, NULL, &e));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call_async(f, &x, 1, &y, 1, &polled, &e));
  nx_function_release(f);
  assert_true(!e && !y && nx_event_done(NULL));
  nx_event_release(NULL);
  nx_event_cancel(NULL);
  assert_null(nx_event_retain(NULL));
  OK(nx_realize_async(ctx, NULL, 0, NULL, &e));
  OK(nx_event_wait(e, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_event_then(e, NULL));
  nx_event_release(e);
}

NXT_MAIN(async) {
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (nx_context_create(&o, &ctx)) return 1;
  const struct CMUnitTest tests[] = {
      IN_SCOPE(it_is_computed),
      IN_SCOPE(the_caller_goes_on),
      IN_SCOPE(handles_may_go),
      IN_SCOPE(errors_come_with_the_event),
      IN_SCOPE(cancelled),
      IN_SCOPE(waits_can_be_interrupted),
      IN_SCOPE(callbacks_are_called_once),
      IN_SCOPE(the_thread_does_not_wait_for_itself),
      IN_SCOPE(leftovers_are_computed),
      IN_SCOPE(deferred_work_is_done),
      IN_SCOPE(the_tensor_to_blame_is_told),
      IN_SCOPE(calls_follow_each_other),
      IN_SCOPE(calls_assign_and_donate),
      IN_SCOPE(threads_submit_at_once),
      IN_SCOPE(contexts_are_given_up),
#if !defined(THREAD_SANITIZER)
      IN_SCOPE(in_a_child_it_is_interrupted),
#endif
      IN_SCOPE(bad_arguments),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  nx_context_release(ctx);
  return failures;
}
