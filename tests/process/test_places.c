/* SPDX-License-Identifier: ISC */
/* The processors that the threads of a pool are on. Others may want these processors at any time,
 * and then things are not as usual, so what is looked for has to be seen in one of many tries. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/platform/cpus.h"
#include "runtime/threads.h"
#include "tests/util/runner.h"

enum { TRIES = 200 };

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A pool for the processors that this process has; its caller is on the first of them. */
typedef struct room {
  nxi_cpus cpus;
  cpu_set_t before, one;
  nxi_pool *pool;
} room;

static void go_to(room *r, int32_t number) {
  CPU_ZERO(&r->one);
  CPU_SET(r->cpus.ids[number], &r->one);
  assert_int_equal(sched_setaffinity(0, sizeof r->one, &r->one), 0);
}

static void enter(room *r) {
  nxi_cpus_read(&r->cpus);
  if (!r->cpus.ids_known || r->cpus.count < 2 || r->cpus.count != r->cpus.available) skip();
  const nxi_pool_options options = {.threads = r->cpus.count};
  assert_int_equal(nxi_pool_create(&options, &r->pool, NULL), NX_OK);
  assert_int_equal(sched_getaffinity(0, sizeof r->before, &r->before), 0);
  go_to(r, 0);
}

static void leave(room *r) {
  assert_int_equal(sched_setaffinity(0, sizeof r->before, &r->before), 0);
  nxi_pool_destroy(r->pool);
}

/* Pinned workers move away from the caller's processor, and do not inherit the caller's affinity.
 * As many tasks as threads; each waits until all others have begun. */
typedef struct meeting {
  int size;
  _Atomic int present;
  _Atomic int on[NXI_CPU_MAX];
} meeting;

static void meet(void *arg, int worker, int64_t begin, int64_t end) {
  meeting *m = arg;
  (void)worker, (void)begin, (void)end;
  m->present++;
  for (double until = seconds() + 5; m->present < m->size && seconds() < until;) sched_yield();
  int cpu = sched_getcpu();
  if (cpu >= 0 && cpu < NXI_CPU_MAX) m->on[cpu]++;
}

static int processors_used(room *r) {
  meeting *m = calloc(1, sizeof *m);
  int used = 0;
  m->size = r->cpus.count;
  nxi_pool_run(r->pool, meet, m, m->size, 1);
  for (int i = 0; i < NXI_CPU_MAX; i++) used += m->on[i] > 0;
  free(m);
  return used;
}

static void test_places(void **state) {
  room r;
  (void)state;
  enter(&r);
  for (int round = 0; round < 6; round++) {
    int used = 0;
    go_to(&r, round % r.cpus.count);
    for (int i = 0; i < TRIES && used < r.cpus.count; i++) used = processors_used(&r);
    assert_int_equal(used, r.cpus.count);
  }
  leave(&r);
}

/* A worker that does not get on comes to the caller's processor, and returns before the next run.
 * One that sleeps looks like one whose processor has something else to do. */
typedef struct stay {
  pthread_t caller;
  int64_t ms;
  cpu_set_t set; /* the worker's, in the end */
  _Atomic bool came;
} stay;

static void stay_for(void *arg, int worker, int64_t begin, int64_t end) {
  stay *s = arg;
  (void)worker, (void)begin, (void)end;
  if (pthread_equal(pthread_self(), s->caller)) { /* leaves the other task to a worker */
    for (double until = seconds() + 5; !s->came && seconds() < until;) sched_yield();
    return;
  }
  s->came = true;
  usleep((useconds_t)s->ms * 1000);
  sched_getaffinity(0, sizeof s->set, &s->set);
}

static bool comes_here(room *r, int64_t ms) {
  stay s = {.caller = pthread_self(), .ms = ms};
  nxi_pool_run(r->pool, stay_for, &s, 2, 1);
  return CPU_EQUAL(&s.set, &r->one);
}

static void test_come_here(void **state) {
  room r;
  (void)state;
  enter(&r);
  for (int round = 0; round < 4; round++) {
    const bool here = round % 2;
    bool seen = false;
    for (int i = 0; i < TRIES && !seen; i++) seen = comes_here(&r, here ? 5 : 0) == here;
    assert_true(seen);
  }
  leave(&r);
}

NXT_MAIN(places) {
  (void)argc, (void)argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_come_here),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
