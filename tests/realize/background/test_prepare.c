/* SPDX-License-Identifier: ISC */
/* Functions whose code is made before they are called: the first call finds it, and gives the bits
 * of one that does not; a call that nobody foresaw makes its own; calls and fork meanwhile. */
#include "tests/util/api.h"
#include "tests/util/sanitizers.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/realize/functions/function.h"

enum { ROWS = 600, COLUMNS = 700, N = ROWS * COLUMNS, STATUS = 7, ROUNDS = 12 };

static nx_context *new_context(void) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  OK(nx_context_create(&o, &c));
  return c;
}

/* Of the caller's data: what the context compiles is the functions' alone. */
static nx_tensor *some_rows(nx_context *c, int64_t rows, double first) {
  static float values[N];
  for (int64_t i = 0; i < rows * COLUMNS; i++) values[i] = (float)(first + 1e-5 * (double)i);
  return GOOD(nx_from_data(c, 0, NX_F32, NX_SHAPE(rows, COLUMNS), values,
                           (size_t)(rows * COLUMNS) * sizeof *values));
}

static nx_tensor *numbers(nx_context *c, double first) { return some_rows(c, ROWS, first); }

/* A softmax of rows, and its sum with `more`, which the capture finds. size: of the rows. */
static nx_function *captured(nx_context *c, int64_t rows, nx_tensor *more, bool donate, double by) {
  nx_tensor *x = GOOD(nx_placeholder(c, 0, NX_F32, NX_SHAPE(rows, COLUMNS)));
  nx_tensor *most = GOOD(nx_reduce_max(x, NX_AXES(1), 1)), *e = GOOD(nx_exp(GOOD(nx_sub(x, most)))),
            *y = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(1), 1))));
  y = GOOD(nx_mul(y, GOOD(nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(by)))));
  if (more) y = GOOD(nx_add(y, more));
  const uint8_t given = donate;
  nx_function_options o = {.size = sizeof o, .name = "softmax", .donate = &given};
  nx_function *f = NULL;
  OK(nx_function_create(c, &x, 1, &y, 1, &o, &f));
  return f;
}

static void call(nx_context *c, nx_function *f, nx_tensor *x, float *data, nx_report *report) {
  nx_run_options o = {.size = sizeof o, .report = report};
  nx_tensor *y = NULL;
  (void)c;
  if (report) *report = (nx_report){.size = sizeof *report};
  OK(nx_function_call(f, &x, 1, &y, 1, report ? &o : NULL));
  OK(nx_read(y, data, (size_t)nx_elements(y) * sizeof *data, NULL));
  nx_tensor_release(y);
}

/* What the function gives in a context of its own, in which nothing is prepared. */
static void expect(int64_t rows, bool more, float *data) {
  nx_context *c = new_context();
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = some_rows(c, rows, 0.3);
  nx_function *f = captured(c, rows, more ? numbers(c, -2) : NULL, false, 0.7);
  call(c, f, x, data, NULL);
  nx_function_release(f);
  nx_scope_end(s);
  nx_context_release(c);
}

static float expected[N], data[N];

/* Long enough for code that nobody should be making. */
static void pause_briefly(void) { nanosleep(&(struct timespec){0, 100 * 1000 * 1000}, NULL); }

/* ---- one call */

/* Also donated, and with a tensor that the function has captured. */
static void first_call_finds_it(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    expect(ROWS, k & 1, expected);
    nx_context *c = new_context();
    nx_scope *s = nx_scope_begin(c);
    nx_report report;
    nx_tensor *x = numbers(c, 0.3), *more = k & 1 ? numbers(c, -2) : NULL;
    const uint64_t before = kernels_compiled(c);
    nx_function *f = captured(c, ROWS, more, k & 2, 0.7);
    nxi_function_prepare(f, NULL);
    const uint64_t prepared = kernels_compiled(c);
    assert_true(prepared > before);
    call(c, f, x, data, &report);
    assert_memory_equal(data, expected, sizeof data);
    assert_int_equal(report.plan_misses, 0);
    assert_int_equal(report.kernel_misses, 0);
    assert_int_equal(report.interpreted, 0);
    if (!(k & 2)) { /* from the second on it is a graph that comes again */
      pause_briefly();
      assert_int_equal(kernels_compiled(c), prepared);
      for (const time_t begin = time(NULL); kernels_compiled(c) == prepared;) {
        call(c, f, x, data, &report);
        assert_memory_equal(data, expected, sizeof data);
        assert_true(time(NULL) - begin < 60);
      }
    }
    nx_function_release(f);
    nx_scope_end(s);
    nx_context_release(c);
  }
}

/* What is interpreted at first is so in the first call. */
static void small_ones_are_interpreted(void **state) {
  nx_report report;
  (void)state;
  expect(3, false, expected);
  nx_context *c = new_context();
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = some_rows(c, 3, 0.3);
  nx_function *f = captured(c, 3, NULL, false, 0.7);
  const uint64_t before = kernels_compiled(c);
  nxi_function_prepare(f, NULL);
  call(c, f, x, data, &report);
  assert_memory_equal(data, expected, 3 * COLUMNS * sizeof *data);
  assert_int_equal(report.plan_misses, 0);
  assert_int_equal(report.interpreted, 1);
  pause_briefly();
  assert_int_equal(kernels_compiled(c), before);
  nx_function_release(f);
  nx_scope_end(s);
  nx_context_release(c);
}

/* An input that lies otherwise than was foreseen, and one that is only a part of its storage. */
static void others_make_their_own(void **state) {
  nx_report report;
  (void)state;
  expect(ROWS, false, expected);
  nx_context *c = new_context();
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = numbers(c, 0.3), *turned = GOOD(nx_permute(x, (int32_t[]){1, 0}, 2));
  nx_tensor *lies = GOOD(nx_copy(turned));
  OK(nx_realize(c, &lies, 1, NULL));
  nx_tensor *back = GOOD(nx_permute(lies, (int32_t[]){1, 0}, 2));
  nx_function *f = captured(c, ROWS, NULL, false, 0.7);
  nxi_function_prepare(f, NULL);
  call(c, f, back, data, &report);
  assert_memory_equal(data, expected, sizeof data);
  assert_int_equal(report.plan_misses, 1);
  call(c, f, x, data, &report); /* it is there still */
  assert_memory_equal(data, expected, sizeof data);
  assert_int_equal(report.plan_misses, 0);
  nxi_function_prepare(f, NULL); /* of what is there nothing is made */
  nx_function_release(f);
  nx_scope_end(s);
  nx_context_release(c);
}

static int32_t at_once(void *user) {
  (void)user;
  return 1;
}

/* Nothing is left of what was stopped, and functions that assign are as they were. */
static void nothing_is_made(void **state) {
  nx_report report;
  (void)state;
  expect(ROWS, false, expected);
  nx_context *c = new_context();
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = numbers(c, 0.3), *sum = numbers(c, 0);
  nx_function *f = captured(c, ROWS, NULL, false, 0.7);
  nx_run_options o = {.size = sizeof o, .poll = at_once};
  nxi_function_prepare(f, &o);
  call(c, f, x, data, &report);
  assert_memory_equal(data, expected, sizeof data);
  assert_int_equal(report.plan_misses, 1);
  nx_function_release(f);
  nx_tensor *in = GOOD(nx_placeholder(c, 0, NX_F32, NX_SHAPE(ROWS, COLUMNS)));
  OK(nx_assign(sum, GOOD(nx_add(sum, in))));
  OK(nx_function_create(c, &in, 1, NULL, 0, NULL, &f));
  nxi_function_prepare(f, NULL);
  OK(nx_function_call(f, &x, 1, NULL, 0, NULL));
  nx_function_release(f);
  OK(nx_read(sum, data, sizeof data, NULL));
  OK(nx_read(GOOD(nx_add(x, numbers(c, 0))), expected, sizeof expected, NULL));
  assert_memory_equal(data, expected, sizeof data);
  nx_scope_end(s);
  nx_context_release(c);
}

/* ---- meanwhile */

static void *prepare(void *f) {
  nxi_function_prepare(f, NULL);
  return NULL;
}

/* Calls that come before, while and after it is made; the function may be another each time. */
static void called_meanwhile(void **state) {
  (void)state;
  expect(ROWS, false, expected);
  nx_context *c = new_context();
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = numbers(c, 0.3);
  for (int k = 0; k < ROUNDS; k++) {
    nx_function *f = captured(c, ROWS, NULL, false, 0.7);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, prepare, f), 0);
    nanosleep(&(struct timespec){0, k % 4 * 200000}, NULL);
    for (int i = 0; i < 3; i++) {
      call(c, f, x, data, NULL);
      assert_memory_equal(data, expected, sizeof data);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    nx_function_release(f);
  }
  nx_scope_end(s);
  nx_context_release(c);
}

static void fork_meanwhile(void **state) {
  (void)state;
  if (NXT_THREAD_SANITIZER) skip();
  expect(ROWS, false, expected);
  for (int k = 0; k < ROUNDS; k++) {
    nx_context *c = new_context();
    nx_scope *s = nx_scope_begin(c);
    nx_tensor *x = numbers(c, 0.3);
    nx_function *f = captured(c, ROWS, NULL, false, 0.7);
    pthread_t thread;
    fflush(NULL);
    assert_int_equal(pthread_create(&thread, NULL, prepare, f), 0);
    nanosleep(&(struct timespec){0, k * 100000}, NULL);
    pid_t child = fork();
    if (child == 0) {
      call(c, f, x, data, NULL);
      call(c, f, x, data, NULL);
      _exit(memcmp(data, expected, sizeof data) == 0 ? STATUS : 1);
    }
    call(c, f, x, data, NULL);
    assert_memory_equal(data, expected, sizeof data);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), STATUS);
    assert_int_equal(pthread_join(thread, NULL), 0);
    nx_function_release(f);
    nx_scope_end(s);
    nx_context_release(c);
  }
}

NXT_MAIN(prepare) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(called_meanwhile), /* first: the compiler is loaded meanwhile, too */
      cmocka_unit_test(first_call_finds_it),   cmocka_unit_test(small_ones_are_interpreted),
      cmocka_unit_test(others_make_their_own), cmocka_unit_test(nothing_is_made),
      cmocka_unit_test(fork_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
