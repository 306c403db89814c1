/* SPDX-License-Identifier: ISC */
/* Tests of the thread pool: every task runs exactly once for any caller; polls, fork, a pool of the
 * host. Also run with the thread sanitizer. The argument `bench` prints fork and join times. */
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "ir/platform/cpus.h"
#include "runtime/threads.h"
#include "tests/util/runner.h"

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

enum { TASKS = 10007 };

typedef struct counts {
  uint8_t seen[TASKS]; /* plain bytes: the sanitizer sees a task that two threads run */
  _Atomic int inside[NXI_POOL_MAX_THREADS];
  _Atomic int faults;
  int size;
  int64_t grain;
} counts;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static nxi_pool *new_pool(int threads) {
  nxi_pool *pool = NULL;
  nxi_pool_options options = {.threads = threads};
  assert_int_equal(nxi_pool_create(&options, &pool, NULL), NX_OK);
  return pool;
}

static void count_tasks(void *arg, int worker, int64_t begin, int64_t end) {
  counts *c = arg;
  if (worker < 0 || worker >= c->size || atomic_fetch_add(&c->inside[worker], 1) != 0) c->faults++;
  if (begin % c->grain || begin >= end || end > TASKS || (end % c->grain && end != TASKS))
    c->faults++;
  for (int64_t i = begin; i < end; i++) c->seen[i]++;
  atomic_fetch_sub(&c->inside[worker], 1);
}

static int every_task_once_in(counts *c, nxi_pool *pool, int64_t grain) {
  memset(c, 0, sizeof *c);
  c->size = nxi_pool_size(pool);
  c->grain = grain;
  int bad = nxi_pool_run(pool, count_tasks, c, TASKS, grain) != TASKS;
  for (int i = 0; i < TASKS; i++) bad += c->seen[i] != 1;
  return bad + c->faults;
}

static int every_task_once(nxi_pool *pool, int64_t grain) {
  counts *c = malloc(sizeof *c);
  int bad = every_task_once_in(c, pool, grain);
  free(c);
  return bad;
}

static void test_every_task_once(void **state) {
  (void)state;
  for (int threads = 1; threads <= 5; threads++) {
    nxi_pool *pool = new_pool(threads);
    assert_int_equal(nxi_pool_size(pool), threads);
    for (int round = 0; round < 20; round++) {
      assert_int_equal(every_task_once(pool, 1 + round % 3 * 7), 0);
      if (round == 10) usleep(3000); /* the workers fall asleep */
    }
    assert_int_equal(every_task_once(pool, TASKS + 5), 0);
    nxi_pool_destroy(pool);
  }
  assert_int_equal(every_task_once(NULL, 16), 0);
}

/* As many tasks as threads; each task waits until all others have begun, so the run is short only
 * with several threads. */
typedef struct meeting {
  int size;
  _Atomic int present, alone;
} meeting;

static void meet(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  meeting *m = arg;
  double until = seconds() + 5;
  m->present++;
  while (m->present < m->size && seconds() < until) usleep(50);
  if (m->present < m->size) m->alone++;
}

static bool workers_come(nxi_pool *pool) {
  meeting m = {.size = nxi_pool_size(pool)};
  nxi_pool_run(pool, meet, &m, m.size, 1);
  return m.alone == 0;
}

static void test_workers_come(void **state) {
  (void)state;
  for (int threads = 2; threads <= 4; threads++) {
    nxi_pool *pool = new_pool(threads);
    assert_true(workers_come(pool));
    usleep(2000); /* asleep */
    assert_true(workers_come(pool));
    nxi_pool_destroy(pool);
  }
}

/* ---- pieces get smaller towards the end, where others wait for them */

typedef struct pieces {
  int64_t most, last, end;
} pieces;

static void note_piece(void *arg, int worker, int64_t begin, int64_t end) {
  pieces *p = arg;
  (void)worker;
  assert_int_equal(begin, p->end);
  p->end = end;
  p->last = end - begin;
  if (p->last > p->most) p->most = p->last;
}

static void test_last_pieces(void **state) {
  (void)state;
  for (int64_t n = 16; n < 500; n += 7) {
    pieces p = {0};
    assert_int_equal(nxi_pool_run(NULL, note_piece, &p, n, 1), n);
    assert_int_equal(p.end, n);
    assert_true(p.most <= n / 4 && p.most >= n / 5);
    assert_true(p.last <= (n / 4 + 1) / 2); /* a quarter of that, and what is less than another */
  }
}

static void never(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  atomic_store((atomic_int *)arg, 1); /* two workers may come */
}

static void test_edges(void **state) {
  (void)state;
  atomic_int ran = 0;
  nxi_pool *pool = new_pool(2);
  assert_int_equal(nxi_pool_run(pool, never, &ran, 0, 1), 0);
  assert_int_equal(nxi_pool_run(pool, never, &ran, -5, 1), 0);
  assert_int_equal(ran, 0);
  assert_int_equal(nxi_pool_run(pool, never, &ran, INT64_MAX, INT64_MAX / 3), INT64_MAX);
  assert_int_equal(ran, 1);
  nxi_pool_destroy(pool);
  nxi_pool_destroy(NULL);
  nxi_pool *none = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = -1}, &none, &d),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_pool_create(&(nxi_pool_options){.threads = 100000}, &none, NULL),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_pool_create(&(nxi_pool_options){.hook = &(nxi_pool_hook){0}}, &none, NULL),
                   NX_INVALID_ARGUMENT);
  nxi_alloc_fail(0, false);
  assert_int_equal(nxi_pool_create(NULL, &none, NULL), NX_OUT_OF_MEMORY);
  nxi_alloc_fail(-1, false);
  assert_null(none);
  assert_int_equal(nxi_pool_create(NULL, &none, NULL), NX_OK);
  nxi_cpus cpus;
  nxi_cpus_read(&cpus);
  assert_int_equal(nxi_pool_size(none), cpus.available);
  nxi_pool_destroy(none);
}

/* ---- several callers, and runs inside runs */

typedef struct caller {
  nxi_pool *pool;
  counts *counts;
  int bad;
} caller;

/* Does not allocate while it runs, because the allocators of some sanitizers do not work in a child
 * that was forked during an allocation. */
static void *call_often(void *arg) {
  caller *c = arg;
  for (int i = 0; i < 60; i++) c->bad += every_task_once_in(c->counts, c->pool, 64);
  return NULL;
}

static void test_concurrent_callers(void **state) {
  (void)state;
  enum { CALLERS = 4 };
  nxi_pool *pool = new_pool(3);
  caller callers[CALLERS];
  pthread_t threads[CALLERS];
  for (int i = 0; i < CALLERS; i++) {
    callers[i] = (caller){pool, malloc(sizeof(counts)), 0};
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(callers[i].bad, 0);
    free(callers[i].counts);
  }
  nxi_pool_destroy(pool);
}

typedef struct nested {
  nxi_pool *pool;
  _Atomic int bad, runs;
} nested;

static void run_inside(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  nested *n = arg;
  for (int64_t i = begin; i < end; i++) {
    n->bad += every_task_once(n->pool, 100);
    n->runs++;
  }
}

static void test_nested(void **state) {
  (void)state;
  nested n = {.pool = new_pool(3)};
  assert_int_equal(nxi_pool_run(n.pool, run_inside, &n, 24, 1), 24);
  assert_int_equal(n.bad, 0);
  assert_int_equal(n.runs, 24);
  nxi_pool_destroy(n.pool);
}

/* ---- floating-point environment */

/* Finds the rounding mode by arithmetic: fegetround reads it from the x87 unit, which no kernel
 * uses. */
static bool rounds_upward(void) {
  volatile double one = 1, tiny = 1e-30;
  return one + tiny > 1;
}

static void see_rounding(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  if (rounds_upward()) ++*(_Atomic int *)arg;
}

static int32_t see_upward(void *user) {
  *(int *)user += rounds_upward();
  return 0;
}

static void slow_task(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    double until = seconds() + 0.001;
    while (seconds() < until) continue;
    ++*(_Atomic int *)arg;
  }
}

static void test_environment(void **state) {
  (void)state;
  nxi_pool *pool = new_pool(2);
  _Atomic int wrong = 0, ran = 0;
  int upward = 0;
  fesetround(FE_UPWARD);
  nxi_pool_run(pool, see_rounding, &wrong, 64, 1);
  nxi_poll poll = {see_upward, &upward};
  nx_status status = nxi_pool_run_polled(pool, &poll, slow_task, &ran, 100, 1);
  bool after = rounds_upward();
  fesetround(FE_TONEAREST);
  nxi_pool_destroy(pool);
  assert_int_equal(status, NX_OK);
  assert_true(after);
  assert_int_equal(wrong, 0);
  assert_int_equal(ran, 100);
  assert_true(upward > 0);
}

/* ---- polls */

/* The tests do not depend on when the system runs a thread: the time between polls is measured in
 * the caller's own work. */
typedef struct poll_log {
  pthread_t thread;
  _Atomic int calls;
  int stop_at, foreign;
  double last, longest;
  _Atomic int *ran;
  int ran_at_stop;
} poll_log;

static double own_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int32_t log_poll(void *user) {
  poll_log *p = user;
  double now = own_seconds();
  if (now - p->last > p->longest) p->longest = now - p->last;
  p->last = now;
  p->foreign += !pthread_equal(p->thread, pthread_self());
  if (p->ran) p->ran_at_stop = *p->ran;
  return ++p->calls == p->stop_at;
}

static void poll_with(int threads, int stop_at) {
  enum { COUNT = 400 };
  nxi_pool *pool = threads ? new_pool(threads) : NULL;
  _Atomic int ran = 0;
  poll_log log = {.thread = pthread_self(), .stop_at = stop_at, .last = own_seconds(), .ran = &ran};
  nxi_poll poll = {log_poll, &log};
  nx_status status = nxi_pool_run_polled(pool, &poll, slow_task, &ran, COUNT, 1);
  assert_int_equal(status, stop_at ? NX_INTERRUPTED : NX_OK);
  assert_int_equal(log.foreign, 0);
  if (stop_at) {
    assert_int_equal(log.calls, stop_at);
    assert_true(ran - log.ran_at_stop <= COUNT / 4 + 1); /* no thread has a long chunk */
  } else {
    assert_int_equal(ran, COUNT);
  }
  assert_true(log.calls > 0);
  if (!UNDER_TSAN) assert_true(log.longest < 0.1); /* 20 ms is promised, between tasks */
  assert_int_equal(every_task_once(pool, 8), 0);   /* and the pool still works */
  nxi_pool_destroy(pool);
}

static void test_polls(void **state) {
  (void)state;
  poll_with(2, 0);
  poll_with(2, 2);
  poll_with(0, 0);
  poll_with(0, 3);
}

/* The caller has no tasks left and waits for a slow worker, which ends only after a poll: the
 * caller has to poll while it waits. */
typedef struct uneven {
  pthread_t caller;
  _Atomic int slow;
  poll_log log;
} uneven;

static void uneven_task(void *arg, int worker, int64_t begin, int64_t end) {
  (void)begin, (void)end, (void)worker;
  uneven *u = arg;
  if (pthread_equal(u->caller, pthread_self())) usleep(1000); /* let the worker come in */
  else if (atomic_fetch_add(&u->slow, 1) == 0)
    for (double until = seconds() + 20; u->log.calls < 4 && seconds() < until;) usleep(1000);
}

static void test_poll_while_waiting(void **state) {
  (void)state;
  nxi_pool *pool = new_pool(2);
  uneven u = {.caller = pthread_self(), .log = {.thread = pthread_self(), .last = own_seconds()}};
  nxi_poll poll = {log_poll, &u.log};
  assert_int_equal(nxi_pool_run_polled(pool, &poll, uneven_task, &u, 16, 1), NX_OK);
  if (u.slow) assert_true(u.log.calls >= 4);
  nxi_pool_destroy(pool);
}

/* ---- fork */

static int in_child(nxi_pool *pool) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    int bad = 0;
    for (int i = 0; i < 20; i++) bad += every_task_once(pool, 16);
    bad += !workers_come(pool);
    nxi_pool_destroy(pool);
    _exit(bad != 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void test_fork(void **state) {
  (void)state;
  /* the sanitizer does not allow threads in a child of a process with threads */
  if (UNDER_TSAN) skip();
  nxi_pool *pool = new_pool(3);
  assert_int_equal(in_child(pool), 0); /* before it has threads */
  assert_int_equal(every_task_once(pool, 16), 0);
  assert_int_equal(in_child(pool), 0);
  assert_int_equal(every_task_once(pool, 16), 0);
  /* while another thread is in the middle of runs */
  caller other = {pool, malloc(sizeof(counts)), 0};
  pthread_t thread;
  pthread_create(&thread, NULL, call_often, &other);
  for (int i = 0; i < 5; i++) assert_int_equal(in_child(pool), 0);
  pthread_join(thread, NULL);
  assert_int_equal(other.bad, 0);
  free(other.counts);
  nxi_pool_destroy(pool);
}

static pid_t forked = -1;

static int32_t fork_once(void *user) {
  (void)user;
  if (forked < 0) forked = fork();
  return 0;
}

static void test_fork_inside_poll(void **state) {
  (void)state;
  if (UNDER_TSAN) skip();
  nxi_pool *pool = new_pool(2);
  nxi_poll poll = {fork_once, NULL};
  _Atomic int ran = 0;
  nx_status status = nxi_pool_run_polled(pool, &poll, slow_task, &ran, 60, 1);
  if (forked == 0) _exit(status == NX_INTERRUPTED && every_task_once(pool, 8) == 0 ? 0 : 1);
  assert_int_equal(status, NX_OK);
  assert_int_equal(ran, 60);
  int child = -1;
  assert_true(forked > 0);
  waitpid(forked, &child, 0);
  assert_int_equal(child, 0);
  nxi_pool_destroy(pool);
}

/* ---- a pool of the host; here it makes threads for each run, or has no threads at all */

typedef struct hook_call {
  void (*body)(void *, int32_t);
  void *arg;
  int32_t worker;
} hook_call;

static void *hook_thread(void *arg) {
  hook_call *c = arg;
  c->body(c->arg, c->worker);
  return NULL;
}

static void hook_run(void *user, int32_t workers, void (*body)(void *arg, int32_t worker),
                     void *arg) {
  pthread_t threads[8];
  hook_call calls[8];
  ++*(int *)user;
  for (int32_t i = 1; i < workers; i++) {
    calls[i] = (hook_call){body, arg, i};
    pthread_create(&threads[i], NULL, hook_thread, &calls[i]);
  }
  body(arg, 0);
  for (int32_t i = 1; i < workers; i++) pthread_join(threads[i], NULL);
}

static void hook_in_order(void *user, int32_t workers, void (*body)(void *arg, int32_t worker),
                          void *arg) {
  ++*(int *)user;
  for (int32_t i = workers; i-- > 0;) body(arg, i);
}

static void test_hook(void **state) {
  (void)state;
  void (*runs[])(void *, int32_t, void (*)(void *, int32_t), void *) = {hook_run, hook_in_order};
  for (int i = 0; i < 2; i++) {
    int used = 0;
    nxi_pool_hook hook = {runs[i], &used};
    nxi_pool_options options = {.threads = 4, .hook = &hook};
    nxi_pool *pool = NULL;
    assert_int_equal(nxi_pool_create(&options, &pool, NULL), NX_OK);
    assert_int_equal(nxi_pool_size(pool), 4);
    assert_int_equal(every_task_once(pool, 16), 0);
    assert_int_equal(used, 1);
    nxi_pool_destroy(pool);
  }
}

/* ---- times */

static void nothing(void *arg, int worker, int64_t begin, int64_t end) {
  (void)arg, (void)worker, (void)begin, (void)end;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void bench(const char *name, nxi_pool *pool, int count, int idle_us) {
  double *times = calloc((size_t)count, sizeof *times);
  for (int i = 0; i < count; i++) {
    if (idle_us) usleep((useconds_t)idle_us);
    double start = seconds();
    nxi_pool_run(pool, nothing, NULL, 8, 1);
    times[i] = seconds() - start;
  }
  qsort(times, (size_t)count, sizeof *times, ascending);
  printf("%-28s median %.2f us, 90%% %.2f us\n", name, times[count / 2] * 1e6,
         times[count * 9 / 10] * 1e6);
  free(times);
}

NXT_MAIN(threads) {
  if (argc > 1 && !strcmp(argv[1], "bench")) {
    nxi_pool *pool = new_pool(0);
    bench("warm up", pool, 500, 0);
    bench("one after the other", pool, 20000, 0);
    bench("after 20 us", pool, 2000, 20);
    bench("after 2 ms", pool, 300, 2000);
    nxi_pool_destroy(pool);
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_task_once),    cmocka_unit_test(test_workers_come),
      cmocka_unit_test(test_last_pieces),        cmocka_unit_test(test_edges),
      cmocka_unit_test(test_concurrent_callers), cmocka_unit_test(test_nested),
      cmocka_unit_test(test_environment),        cmocka_unit_test(test_polls),
      cmocka_unit_test(test_poll_while_waiting), cmocka_unit_test(test_fork),
      cmocka_unit_test(test_fork_inside_poll),   cmocka_unit_test(test_hook),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
