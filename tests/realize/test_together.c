/* SPDX-License-Identifier: ISC */
/* Kernels of one plan are loaded by several threads: which threads compile, kernels that share
 * code, polls that stop it. Also run with the thread sanitizer. */
#include "tests/util/api.h"

#include <unistd.h>

enum { KERNELS = 24, N = 200000 }; /* too long for the interpreter */

static nx_context *new_context(int32_t threads) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = threads, .cache_dir = ""};
  OK(nx_context_create(&o, &c));
  return c;
}

/* Outputs of different lengths, each of which is a kernel of its own. Two of the same `structures`
 * differ only in integers. */
static void record(nx_context *c, int structures, nx_tensor **out) {
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(-2), NX_NUMBER(1e-3), N);
  OK(nx_realize(c, &x, 1, NULL));
  for (int k = 0; k < KERNELS; k++) {
    nx_tensor *y = nx_shrink(x, (int64_t[]){0}, (int64_t[]){N - k}, 1), *z = nx_add(y, y);
    for (int i = 0; i < 6; i++) {
      nx_tensor *next = k % structures >> i & 1 ? nx_mul(z, y) : nx_sub(z, y);
      nx_tensor_release(z);
      z = next;
    }
    nx_tensor_release(y);
    out[k] = z;
  }
  nx_tensor_release(x);
}

static void release_all(nx_tensor **t) {
  for (int k = 0; k < KERNELS; k++) nx_tensor_release(t[k]);
}

/* How many kernels were compiled, and of those in *generic with integers as parameters; values are
 * compared with those of all other calls. */
static uint64_t compile(int32_t threads, int structures, uint64_t *generic) {
  static float expected[KERNELS][N], got[N];
  static int known;
  nx_context *c = new_context(threads);
  nx_tensor *t[KERNELS];
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  record(c, structures, t);
  OK(nx_realize(c, t, KERNELS, &o));
  assert_int_equal(report.kernels, KERNELS);
  for (int k = 0; k < KERNELS; k++) {
    float *into = known == structures ? got : expected[k];
    OK(nx_read(t[k], into, (size_t)(N - k) * sizeof *got, NULL));
    if (into == got) assert_memory_equal(got, expected[k], (size_t)(N - k) * sizeof *got);
  }
  known = structures;
  release_all(t);
  nx_context_release(c);
  *generic = report.generic_misses;
  return report.kernel_misses;
}

/* The numbers of threads that have spans of compiling in a trace, as bits. */
static unsigned compiling_threads(const char *path) {
  char line[1024];
  unsigned threads = 0, tid;
  FILE *f = fopen(path, "r");
  if (!f) abort();
  while (fgets(line, sizeof line, f))
    if (strstr(line, "\"cat\": \"compile\"") &&
        sscanf(line, "  {\"ph\": \"X\", \"pid\": %*u, \"tid\": %u", &tid) == 1)
      threads |= 1u << (tid & 31);
  fclose(f);
  unlink(path);
  return threads;
}

static unsigned threads_that_compile(int32_t threads) {
  uint64_t generic;
  OK(nx_trace_begin("together.json"));
  compile(threads, KERNELS, &generic);
  OK(nx_trace_end());
  return compiling_threads("together.json");
}

static void several_threads_compile(void **state) {
  (void)state;
  assert_int_equal(__builtin_popcount(threads_that_compile(1)), 1);
  assert_int_equal(__builtin_popcount(threads_that_compile(2)), 2);
}

/* Each structure is compiled twice, whatever the number of threads: as it is, and with its integers
 * as parameters. */
static void kinds_are_compiled_once(void **state) {
  (void)state;
  for (int structures = 2; structures <= 4; structures *= 2) {
    uint64_t generic, alone = compile(1, structures, &generic);
    assert_in_range(alone, structures, 2 * structures);
    assert_int_equal(generic, structures);
    for (int32_t threads = 2; threads <= 4; threads++)
      assert_int_equal(compile(threads, structures, &generic), alone);
  }
}

/* Three kernels of each structure are few: none has parameters, whoever compiles them. */
static void few_of_a_kind_are_compiled_as_they_are(void **state) {
  (void)state;
  for (int32_t threads = 1; threads <= 3; threads++) {
    uint64_t generic;
    assert_int_equal(compile(threads, KERNELS / 3, &generic), KERNELS);
    assert_int_equal(generic, 0);
  }
}

typedef struct stopper {
  int calls, stop_at;
} stopper;

static int32_t stop(void *user) {
  stopper *s = user;
  return s->calls++ >= s->stop_at;
}

/* A poll that stops the compiling at any call of it leaves what can be realised again. */
static void polls_stop_it(void **state) {
  (void)state;
  for (int k = 0; k < 60; k += 7) {
    nx_context *c = new_context(2);
    nx_tensor *t[KERNELS];
    stopper s = {.stop_at = k};
    nx_run_options o = {.size = sizeof o, .poll = stop, .user = &s};
    record(c, 4, t);
    nx_status status = nx_realize(c, t, KERNELS, &o);
    assert_int_equal(nx_error_take(NULL), status);
    if (status != NX_OK) assert_int_equal(status, NX_INTERRUPTED);
    assert_true(s.calls > 0);
    OK(nx_realize(c, t, KERNELS, NULL));
    release_all(t);
    nx_context_release(c);
  }
}

NXT_MAIN(together) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(several_threads_compile),
      cmocka_unit_test(kinds_are_compiled_once),
      cmocka_unit_test(few_of_a_kind_are_compiled_as_they_are),
      cmocka_unit_test(polls_stop_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
