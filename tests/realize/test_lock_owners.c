/* SPDX-License-Identifier: ISC */
/* Locks that have an owner (ir/platform/bias.h): nobody else is inside meanwhile, whoever comes and
 * goes, and a child of fork has them free. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/platform/clock.h"
#include "ir/platform/lock.h"
#include "tests/util/runner.h"

enum { THREADS = 3, ROUNDS = 40, ROW = 3000 };

typedef struct shared {
  nxi_lock lock;
  nxi_condition changed;
  uint64_t count;        /* under the lock */
  int inside;            /* under the lock: 1 while somebody is in there */
  int turn;              /* under the lock */
  _Atomic int away, bad; /* threads that have ended; who met another one inside */
} shared;

static bool is_owned(const shared *s) { return atomic_load(&s->lock.bias.owner) != 0; }

static void once(shared *s) {
  nxi_lock_take(&s->lock);
  s->bad += s->inside++ != 0;
  s->count++;
  s->bad += --s->inside != 0;
  nxi_lock_give(&s->lock);
}

/* Takes the lock often enough in a row to own it. */
static void own(shared *s) {
  for (int i = 0; i < 1 << 20 && !is_owned(s); i++) once(s);
}

static void begin(shared *s) {
  *s = (shared){0};
  nxi_bias_prepare();
  nxi_lock_init_biased(&s->lock);
  nxi_condition_init(&s->changed);
}

/* Each thread has rows of its own, between which it lets others in; rows of threads overlap. */
static void *rows(void *argument) {
  shared *s = argument;
  for (int i = 0; i < ROUNDS; i++) {
    for (int k = 0; k < ROW; k++) once(s);
    nxi_pause_ns(i % 4 ? 1000 : 200000);
  }
  return NULL;
}

/* One thread owns it again and again, and another one takes it from it at other moments each time:
 * without the barrier both are inside some day. */
static void *disturb(void *argument) {
  shared *s = argument;
  uint64_t i = 0;
  for (; !atomic_load(&s->away); i++) {
    once(s);
    for (uint64_t k = 0; k < i % 64; k++) nxi_relax();
  }
  return (void *)(uintptr_t)i;
}

/* Stores to memory that no cache has: what is stored after them is seen late. */
static void store_slowly(void) {
  static _Atomic unsigned char far_away[1 << 25];
  static uint32_t at = 1;
  for (int i = 0; i < 30; i++) {
    at = at * 1664525 + 1013904223;
    atomic_store_explicit(&far_away[at >> 7], 1, memory_order_relaxed);
  }
}

static void taken_at_any_moment(void **state) {
  (void)state;
  shared s;
  pthread_t thread;
  begin(&s);
  assert_int_equal(pthread_create(&thread, NULL, disturb, &s), 0);
  const int64_t end = nxi_now_ns() + 300000000;
  uint64_t own = 0;
  for (; nxi_now_ns() < end; own++) {
    store_slowly();
    once(&s);
    nxi_lock_take(&s.lock);
    s.lock.bias.patience = 1;
    nxi_lock_give(&s.lock);
  }
  atomic_store(&s.away, 1);
  void *others = NULL;
  pthread_join(thread, &others);
  assert_int_equal(s.count, own + (uintptr_t)others);
  assert_int_equal(s.bad, 0);
}

static void one_at_a_time(void **state) {
  (void)state;
  shared s;
  pthread_t threads[THREADS];
  begin(&s);
  own(&s);
  assert_true(is_owned(&s));
  uint64_t before = s.count;
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, rows, &s), 0);
  rows(&s);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(s.count - before, (THREADS + 1) * (uint64_t)ROUNDS * ROW);
  assert_int_equal(s.bad, 0);
}

/* More threads than slots own it, one after the other. */
static void *own_and_end(void *argument) {
  own(argument);
  return NULL;
}

static void owners_that_are_gone(void **state) {
  (void)state;
  shared s;
  begin(&s);
  for (int i = 0; i < 2 * NXI_BIAS_SLOTS; i++) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, i < NXI_BIAS_SLOTS ? own_and_end : rows, &s), 0);
    pthread_join(thread, NULL);
    uint64_t before = s.count;
    once(&s);
    assert_int_equal(s.count - before, 1);
  }
  assert_int_equal(s.bad, 0);
}

/* Another thread tries it while the owner has it, again after that, and waits for it. */
static void *try_it(void *argument) {
  shared *s = argument;
  s->bad += nxi_lock_try(&s->lock);
  s->bad += nxi_lock_try(&s->lock);
  atomic_store(&s->away, 1);
  once(s); /* waits */
  bool free = nxi_lock_try(&s->lock);
  s->bad += !free;
  if (free) nxi_lock_give(&s->lock);
  return NULL;
}

static void tried(void **state) {
  (void)state;
  shared s;
  pthread_t thread;
  begin(&s);
  own(&s);
  nxi_lock_take(&s.lock);
  s.inside = 1;
  assert_int_equal(pthread_create(&thread, NULL, try_it, &s), 0);
  while (!atomic_load(&s.away)) nxi_pause_ns(100000);
  nxi_pause_ns(20000000);
  assert_false(is_owned(&s));
  s.inside = 0;
  nxi_lock_give(&s.lock);
  pthread_join(thread, NULL);
  assert_int_equal(s.bad, 0);
  own(&s); /* again, after a longer row */
  assert_true(is_owned(&s));
}

/* A wait lets the owner's lock go. */
static void *answer(void *argument) {
  shared *s = argument;
  for (int i = 0; i < ROUNDS; i++) {
    nxi_lock_take(&s->lock);
    while (s->turn != 1) nxi_lock_wait(&s->changed, &s->lock, -1);
    s->turn = 0;
    nxi_condition_wake_all(&s->changed);
    nxi_lock_give(&s->lock);
  }
  return NULL;
}

static void waits(void **state) {
  (void)state;
  shared s;
  pthread_t thread;
  begin(&s);
  own(&s);
  assert_int_equal(pthread_create(&thread, NULL, answer, &s), 0);
  for (int i = 0; i < ROUNDS; i++) {
    nxi_lock_take(&s.lock);
    s.turn = 1;
    nxi_condition_wake_all(&s.changed);
    while (s.turn != 0) nxi_lock_wait(&s.changed, &s.lock, -1);
    nxi_lock_give(&s.lock);
    if (i % 8 == 0) own(&s);
  }
  pthread_join(thread, NULL);
}

/* A child that is made by the owner, while another thread waits with the mutex; by another thread
 * after the owner; and while a former owner was between its two steps. */
static int status_of_child(shared *s) {
  nxi_lock_take(&s->lock);
  pid_t child = fork();
  if (child == 0) {
    nxi_lock_child(&s->lock);
    nxi_lock_give(&s->lock);
    alarm(20);
    own(s);
    _exit(s->bad != 0 || !is_owned(s));
  }
  nxi_lock_give(&s->lock);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

static void *wait_for_it(void *argument) {
  once(argument);
  return NULL;
}

static void *fork_elsewhere(void *argument) { return (void *)(intptr_t)status_of_child(argument); }

static void children(void **state) {
  (void)state;
  shared s;
  pthread_t thread;
  begin(&s);
  own(&s);
  assert_int_equal(status_of_child(&s), 0);
  void *status = NULL;
  assert_int_equal(pthread_create(&thread, NULL, fork_elsewhere, &s), 0);
  pthread_join(thread, &status);
  assert_null(status);
  own(&s);
  nxi_lock_take(&s.lock); /* as the owner, for whom the other one waits */
  assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &s), 0);
  nxi_pause_ns(50000000);
  pid_t child = fork();
  if (child == 0) {
    nxi_lock_child(&s.lock);
    nxi_lock_give(&s.lock);
    alarm(20);
    own(&s);
    _exit(s.bad != 0);
  }
  nxi_lock_give(&s.lock);
  int code = -1;
  waitpid(child, &code, 0);
  assert_int_equal(code, 0);
  pthread_join(thread, NULL);

  nxi_bias_init(&s.lock.bias);
  atomic_store(&s.lock.bias.held[2], 1);
  nxi_mutex_lock(&s.lock.bias.mutex);
  nxi_bias_child(&s.lock.bias);
  nxi_mutex_unlock(&s.lock.bias.mutex);
  once(&s);
}

NXT_MAIN(lock_owners) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_at_a_time),
                                     cmocka_unit_test(taken_at_any_moment),
                                     cmocka_unit_test(owners_that_are_gone),
                                     cmocka_unit_test(tried),
                                     cmocka_unit_test(waits),
                                     cmocka_unit_test(children)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
