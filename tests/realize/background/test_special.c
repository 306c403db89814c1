/* SPDX-License-Identifier: ISC */
/* Code that kernels of several shapes share is replaced by code of its own in a plan that runs for
 * long: in the background, with the same bits; while several threads run it, and where the process
 * forks or the context ends meanwhile. */
#include "tests/util/api.h"
#include "tests/util/sanitizers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 320, SECONDS = 60, THREADS = 4, STATUS = 7 };

static nx_context *new_context(void) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  OK(nx_context_create(&o, &c));
  return c;
}

static nx_stats stats_of(nx_context *c) {
  nx_stats s = {.size = sizeof s};
  nx_context_stats(c, &s);
  return s;
}

/* Sums of rows of thirds. */
static void compute(nx_context *c, int64_t rows, int64_t columns, float *sums) {
  const int64_t shape[] = {rows, columns};
  const int32_t axis = 1;
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1.0 / 3), rows * columns);
  x = nx_reduce_sum(nx_reshape(x, shape, 2, 0), &axis, 1, 0);
  OK(nx_read(x, sums, (size_t)rows * sizeof *sums, NULL));
  nx_scope_end(s);
}

/* Computes it until it runs code: what is brief is interpreted at first. */
static void compute_by_code(nx_context *c, int64_t rows, int64_t columns, float *sums) {
  const nx_stats before = stats_of(c);
  const time_t start = time(NULL);
  nx_stats now = before;
  while (now.kernels_compiled == before.kernels_compiled &&
         now.kernels_shared == before.kernels_shared) {
    compute(c, rows, columns, sums);
    now = stats_of(c);
    if (time(NULL) - start > SECONDS) abort();
  }
}

/* Code of other shapes serves a new one, whose first results are `expected`. Returns how many
 * kernels were compiled. */
static uint64_t begin(nx_context *c, float *expected) {
  const uint64_t shared = stats_of(c).kernels_shared;
  float sums[MOST];
  for (int i = 0; i < 4; i++) compute_by_code(c, 300 + i, 1000 + 17 * i, sums);
  assert_true(stats_of(c).kernels_generic > 0);
  compute_by_code(c, MOST, 2011, expected);
  assert_true(stats_of(c).kernels_shared > shared);
  return stats_of(c).kernels_compiled;
}

static bool same(nx_context *c, const float *expected) {
  float sums[MOST];
  compute(c, MOST, 2011, sums);
  return memcmp(sums, expected, sizeof sums) == 0;
}

static void replaced_once(void **state) {
  float expected[MOST];
  nx_context *c = new_context();
  uint64_t before = begin(c, expected), generic = stats_of(c).kernels_generic;
  const time_t start = time(NULL);
  (void)state;
  while (stats_of(c).kernels_compiled == before) {
    assert_true(same(c, expected));
    assert_true(time(NULL) - start < SECONDS);
  }
  assert_int_equal(stats_of(c).kernels_compiled, before + 1);
  for (int i = 0; i < 400; i++) assert_true(same(c, expected));
  assert_int_equal(stats_of(c).kernels_compiled, before + 1);
  assert_int_equal(stats_of(c).kernels_generic, generic);
  nx_context_release(c);
}

typedef struct work {
  nx_context *c;
  const float *expected;
  int different;
} work;

static void *run(void *argument) {
  work *w = argument;
  for (int i = 0; i < 300; i++) w->different += !same(w->c, w->expected);
  return NULL;
}

static void by_several_threads(void **state) {
  float expected[MOST];
  nx_context *c = new_context();
  uint64_t before = begin(c, expected);
  work each[THREADS];
  pthread_t thread[THREADS];
  (void)state;
  for (int i = 0; i < THREADS; i++) {
    each[i] = (work){.c = c, .expected = expected};
    assert_int_equal(pthread_create(&thread[i], NULL, run, &each[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(each[i].different, 0);
  }
  const time_t start = time(NULL);
  while (stats_of(c).kernels_compiled == before) {
    assert_true(same(c, expected));
    assert_true(time(NULL) - start < SECONDS);
  }
  assert_int_equal(stats_of(c).kernels_compiled, before + 1);
  nx_context_release(c);
}

/* The processor's time of as many runs as bring the job about, and a few more. */
static void run_for_long(nx_context *c, const float *expected) {
  for (clock_t end = clock() + CLOCKS_PER_SEC / 8; clock() < end;) same(c, expected);
}

static void context_ends_meanwhile(void **state) {
  (void)state;
  for (int i = 0; i < 5; i++) {
    float expected[MOST];
    nx_context *c = new_context();
    begin(c, expected);
    for (clock_t end = clock() + (30 + 10 * i) * (CLOCKS_PER_SEC / 1000); clock() < end;)
      assert_true(same(c, expected));
    nx_context_release(c);
  }
}

static void fork_meanwhile(void **state) {
  float expected[MOST];
  (void)state;
  if (NXT_THREAD_SANITIZER) skip();
  nx_context *c = new_context();
  begin(c, expected);
  run_for_long(c, expected);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    bool good = same(c, expected);
    run_for_long(c, expected);
    _exit(good && same(c, expected) ? STATUS : 1);
  }
  assert_true(same(c, expected));
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), STATUS);
  nx_context_release(c);
}

NXT_MAIN(special) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(replaced_once),
      cmocka_unit_test(by_several_threads),
      cmocka_unit_test(context_ends_meanwhile),
      cmocka_unit_test(fork_meanwhile),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
