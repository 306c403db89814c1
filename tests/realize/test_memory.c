/* SPDX-License-Identifier: ISC */
/* The buffer allocator: alignment, no overlap, reuse, bounds, statistics, failures, threads, fork.
 * `bench` as argument prints times. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "ir/platform/pages.h"
#include "runtime/cpu/cpu.h"
#include "runtime/memory.h"
#include "tests/util/runner.h"
#include "tests/util/sanitizers.h"

static nxi_allocator *new_allocator(int64_t memory_limit, int64_t cache_limit) {
  nxi_allocator *a = NULL;
  nxi_allocator_options o = {memory_limit, cache_limit};
  assert_int_equal(nxi_allocator_create(&o, &a, NULL), NX_OK);
  return a;
}

static nxi_memory_stats stats_of(nxi_allocator *a) {
  nxi_memory_stats s;
  nxi_allocator_stats(a, &s);
  return s;
}

static void *get(nxi_allocator *a, int64_t bytes) {
  void *p = NULL;
  assert_int_equal(nxi_buffer_alloc(a, bytes, &p, NULL), NX_OK);
  assert_non_null(p);
  assert_int_equal((uintptr_t)p % 64, 0);
  return p;
}

static const int64_t sizes[] = {0,       1,
                                63,      64,
                                65,      1000,
                                1024,    1025,
                                1280,    1281,
                                4031,    4032,
                                4033,    4096,
                                4097,    10000,
                                65536,   70000,
                                1 << 20, (1 << 20) + 1,
                                2 << 20, (2 << 20) + 1,
                                9 << 20, (33 << 20) + 5};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void fill(void *p, int64_t bytes, int value) { memset(p, value, (size_t)bytes); }

static int differs(const void *p, int64_t bytes, int value) {
  const uint8_t *b = p;
  int bad = 0;
  for (int64_t i = 0; i < bytes; i++) bad |= b[i] != (uint8_t)value;
  return bad;
}

static void test_sizes(void **state) {
  (void)state;
  nxi_allocator *a = new_allocator(0, 0);
  void *p[SIZES][3];
  int64_t live = 0;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < SIZES; i++)
      for (int j = 0; j < 3; j++) {
        p[i][j] = get(a, sizes[i]);
        fill(p[i][j], sizes[i], i * 3 + j + round);
        live += sizes[i];
      }
    assert_int_equal(stats_of(a).live, live);
    for (int i = 0; i < SIZES; i++)
      for (int j = 0; j < 3; j++) {
        assert_false(differs(p[i][j], sizes[i], i * 3 + j + round));
        nxi_buffer_free(a, p[i][j], sizes[i]);
        live -= sizes[i];
      }
    assert_int_equal(stats_of(a).live, 0);
  }
  nxi_memory_stats s = stats_of(a);
  assert_int_equal(s.allocations, 3 * 3 * SIZES);
  assert_true(s.cached > 0 && s.reserved >= s.cached);
  nxi_allocator_trim(a, 0);
  assert_int_equal(stats_of(a).cached, 0);
  nxi_allocator_reset_peak(a);
  assert_int_equal(stats_of(a).peak, 0);
  void *q = get(a, 100); /* trimmed slabs are usable */
  fill(q, 100, 1);
  nxi_buffer_free(a, q, 100);
  nxi_buffer_free(a, NULL, 100);
  nxi_allocator_destroy(a);
  nxi_allocator_destroy(NULL);
}

/* Every size up to 64 KiB: a block is exclusive from its first to its last byte. */
static void test_random(void **state) {
  (void)state;
  enum { SLOTS = 500 };
  nxi_allocator *a = new_allocator(0, 1 << 20);
  struct {
    uint8_t *p;
    int64_t bytes;
    int value;
  } slot[SLOTS] = {0};
  uint32_t random = 12345;
  int64_t live = 0;
  for (int i = 0; i < 40000; i++) {
    random = random * 1664525 + 1013904223;
    int k = (int)(random >> 8) % SLOTS;
    if (slot[k].p) {
      assert_false(differs(slot[k].p, slot[k].bytes, slot[k].value));
      nxi_buffer_free(a, slot[k].p, slot[k].bytes);
      live -= slot[k].bytes;
      slot[k].p = NULL;
    } else {
      random = random * 1664525 + 1013904223;
      int64_t bytes = (int64_t)(random >> 4) % ((int64_t)64 << (random & 3) * 3);
      slot[k].p = get(a, bytes);
      slot[k].bytes = bytes;
      slot[k].value = i;
      fill(slot[k].p, bytes, i);
      live += bytes;
    }
    if (i % 5000 == 0) nxi_allocator_trim(a, 0);
    assert_true(stats_of(a).cached <= 1 << 20);
  }
  assert_int_equal(stats_of(a).live, live);
  for (int k = 0; k < SLOTS; k++) nxi_buffer_free(a, slot[k].p, slot[k].bytes);
  nxi_allocator_destroy(a);
}

static void test_reuse_and_bounds(void **state) {
  (void)state;
  nxi_allocator *a = new_allocator(0, 16 << 20);
  void *first = get(a, 5 << 20);
  fill(first, 1, 1);
  nxi_buffer_free(a, first, 5 << 20);
  void *second = get(a, (5 << 20) - 100); /* of the same class */
  assert_ptr_equal(first, second);
  nxi_buffer_free(a, second, (5 << 20) - 100);
  void *small = get(a, 64);
  nxi_buffer_free(a, small, 64);
  assert_ptr_equal(get(a, 50), small);
  nxi_buffer_free(a, small, 50);

  void *p[10];
  for (int i = 0; i < 10; i++) {
    p[i] = get(a, 4 << 20);
    fill(p[i], 1, 1);
  }
  for (int i = 0; i < 10; i++) nxi_buffer_free(a, p[i], 4 << 20);
  assert_true(stats_of(a).cached <= 16 << 20);
  assert_ptr_equal(get(a, 4 << 20), p[9]); /* the one used last is the one that is kept */
  nxi_buffer_free(a, p[9], 4 << 20);
  nxi_allocator_destroy(a);

  a = new_allocator(0, -1); /* keeps nothing */
  nxi_buffer_free(a, get(a, 5000), 5000);
  nxi_buffer_free(a, get(a, 5 << 20), 5 << 20);
  assert_int_equal(stats_of(a).cached, 0);
  assert_int_equal(stats_of(a).reserved, 0);
  nxi_allocator_destroy(a);
}

/* Where nothing of a size is cached, a larger block is divided, and its rest stays in the cache. */
static void test_dividing(void **state) {
  (void)state;
  enum { MI = 1 << 20 };
  nxi_allocator *a = new_allocator(0, 256 * MI);
  char *whole = get(a, 38 * MI); /* a block of 40 */
  fill(whole, 38 * MI, 1);
  nxi_buffer_free(a, whole, 38 * MI);
  assert_int_equal(stats_of(a).reserved, 40 * MI);
  char *p = get(a, 18 * MI - 5);
  assert_ptr_equal(p, whole);
  assert_int_equal(stats_of(a).cached, 22 * MI);
  char *q = get(a, 20 * MI), *r = get(a, 2 * MI); /* of the 22 */
  assert_ptr_equal(q, whole + 18 * MI);
  assert_ptr_equal(r, whole + 38 * MI);
  assert_int_equal(stats_of(a).cached, 0);
  fill(p, 18 * MI - 5, 2);
  fill(q, 20 * MI, 3);
  fill(r, 2 * MI, 4);
  assert_false(differs(p, 18 * MI - 5, 2) || differs(q, 20 * MI, 3));
  nxi_buffer_free(a, p, 18 * MI - 5);
  nxi_buffer_free(a, r, 2 * MI);
  char *other = get(a, 3 * MI); /* 18 are too many for 4 to be divided */
  fill(other, 1, 1);
  assert_true(other < whole || other >= whole + 40 * MI);
  nxi_buffer_free(a, other, 3 * MI);
  nxi_buffer_free(a, q, 20 * MI);
  assert_int_equal(stats_of(a).cached, stats_of(a).reserved);
  nxi_allocator_trim(a, 0);
  assert_int_equal(stats_of(a).reserved, 0);
  whole = get(a, 80 * MI);
  fill(whole, 1, 1);
  nxi_buffer_free(a, whole, 80 * MI);
  p = get(a, 30 * MI); /* of 50 that are left, no block has more than 48 */
  q = get(a, 48 * MI);
  r = get(a, 2 * MI);
  assert_ptr_equal(q, whole + 30 * MI);
  assert_ptr_equal(r, whole + 78 * MI);
  nxi_buffer_free(a, p, 30 * MI);
  nxi_buffer_free(a, q, 48 * MI);
  nxi_buffer_free(a, r, 2 * MI);
  nxi_allocator_destroy(a);
}

static long faults(void) {
  struct rusage u;
  assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
  return u.ru_minflt;
}

/* Freeing what nobody has written makes no pages of it. The sanitizers' record of what is freed has
 * pages of its own. */
static void test_untouched(void **state) {
  (void)state;
  enum { BLOCKS = 100 };
  static void *p[BLOCKS];
  const int64_t bytes = (int64_t)8 << 20;
  nxi_allocator *a = new_allocator(0, 0);
  for (int i = 0; i < BLOCKS; i++) p[i] = get(a, bytes);
  fill(p[0], 1, 1);
  const long before = faults();
  for (int i = 0; i < BLOCKS; i++) nxi_buffer_free(a, p[i], bytes);
  if (!NXT_SANITIZED) assert_true(faults() - before < BLOCKS / 2);
  const nxi_memory_stats s = stats_of(a);
  assert_int_equal(s.live, 0);
  assert_true(s.cached >= bytes && s.cached < 2 * bytes); /* what was written is kept */
  assert_int_equal(s.reserved, s.cached);
  nxi_allocator_destroy(a);
}

static int32_t never(void *user) {
  (void)user;
  return 0;
}

/* A step with a poll gives large results their pages first, and leaves what is in them. */
static void test_touching(void **state) {
  (void)state;
  enum { PAGE = 2 << 20, PAGES = 9 };
  const nxi_poll none = {NULL, NULL}, poll = {never, NULL};
  const int64_t bytes = (int64_t)PAGES * PAGE;
  nxi_allocator *a = new_allocator(0, 0);
  char *block = get(a, bytes);
  block[PAGE] = 7;
  assert_int_equal(nxi_touch_run(NULL, &none, block, bytes), NX_OK);
  assert_int_equal(nxi_touch_run(NULL, &poll, block, 4 * PAGE), NX_OK); /* it is not large */
  for (int i = 2; i < PAGES; i++) assert_false(nxi_pages_touched(block + (int64_t)i * PAGE));
  assert_int_equal(nxi_touch_run(NULL, &poll, block, bytes), NX_OK);
  for (int i = 0; i < PAGES; i++) assert_true(nxi_pages_touched(block + (int64_t)i * PAGE));
  assert_true(block[0] == 0 && block[PAGE] == 7 && block[bytes - 1] == 0);
  nxi_buffer_free(a, block, bytes);
  nxi_allocator_destroy(a);
}

static void test_memory_limit(void **state) {
  (void)state;
  nxi_allocator *a = new_allocator(10 << 20, 0), *none = NULL;
  nxi_diag d;
  nxi_diag_clear(&d);
  void *p = get(a, 6 << 20), *q = &none;
  fill(p, 1, 1);
  assert_int_equal(nxi_buffer_alloc(a, (4 << 20) + 1, &q, &d), NX_OUT_OF_MEMORY);
  assert_ptr_equal(q, &none); /* untouched */
  assert_non_null(strstr(d.message, "10485760"));
  assert_int_equal(stats_of(a).live, 6 << 20);
  q = get(a, 4 << 20); /* exactly the limit */
  assert_int_equal(nxi_buffer_alloc(a, 1, &p, NULL), NX_OUT_OF_MEMORY);
  nxi_buffer_free(a, p, 6 << 20);
  assert_int_equal(stats_of(a).cached, 6 << 20);
  p = get(a, 3 << 20); /* of another class: the cached block has to go */
  assert_true(stats_of(a).cached + stats_of(a).live <= 10 << 20);
  nxi_buffer_free(a, p, 3 << 20);
  nxi_buffer_free(a, q, 4 << 20);
  assert_int_equal(stats_of(a).live, 0);
  assert_int_equal(stats_of(a).peak, 10 << 20);
  assert_int_equal(nxi_buffer_alloc(a, -1, &p, NULL), NX_OUT_OF_MEMORY);
  assert_int_equal(nxi_buffer_alloc(a, INT64_MAX, &p, NULL), NX_OUT_OF_MEMORY);
  nxi_allocator_destroy(a);
  assert_int_equal(nxi_allocator_create(&(nxi_allocator_options){-1, 0}, &none, NULL),
                   NX_INVALID_ARGUMENT);
  assert_int_equal(nxi_allocator_create(&(nxi_allocator_options){0, -2}, &none, NULL),
                   NX_INVALID_ARGUMENT);
}

static void test_failures(void **state) {
  (void)state;
  nxi_allocator *a = NULL;
  nxi_alloc_fail(0, false);
  assert_int_equal(nxi_allocator_create(NULL, &a, NULL), NX_OUT_OF_MEMORY);
  nxi_alloc_fail(-1, false);
  a = new_allocator(0, 0);
  for (int i = 0; i < SIZES; i++) {
    void *p = NULL;
    nxi_alloc_fail(0, false);
    assert_int_equal(nxi_buffer_alloc(a, sizes[i], &p, NULL), NX_OUT_OF_MEMORY);
    nxi_alloc_fail(1, false); /* what the allocator itself needs */
    if (nxi_buffer_alloc(a, sizes[i], &p, NULL) == NX_OK) nxi_buffer_free(a, p, sizes[i]);
    nxi_alloc_fail(-1, false);
    assert_int_equal(stats_of(a).live, 0);
  }
  void *p = NULL;
  assert_int_equal(
      nxi_buffer_alloc(a, (int64_t)1 << 56, &p, NULL),
      NX_OUT_OF_MEMORY); /* the system refuses, even one that promises what it has not */
  assert_int_equal(stats_of(a).live, 0);
  assert_true(stats_of(a).peak < (int64_t)1 << 40);
  nxi_allocator_destroy(a);
}

typedef struct churn {
  nxi_allocator *a;
  int seed, bad;
} churn;

static void *churn_main(void *arg) {
  churn *c = arg;
  enum { KEEP = 16 };
  void *p[KEEP] = {0};
  int64_t n[KEEP] = {0};
  for (int i = 0; i < 20000; i++) {
    int k = (i * 7 + c->seed) % KEEP;
    if (p[k]) {
      c->bad += differs(p[k], n[k] < 256 ? n[k] : 256, c->seed + k);
      nxi_buffer_free(c->a, p[k], n[k]);
    }
    n[k] = sizes[(i / 3 + c->seed * 5) % 18];
    if (nxi_buffer_alloc(c->a, n[k], &p[k], NULL) != NX_OK) return NULL;
    fill(p[k], n[k] < 256 ? n[k] : 256, c->seed + k);
  }
  for (int k = 0; k < KEEP; k++) nxi_buffer_free(c->a, p[k], n[k]);
  return NULL;
}

static void test_threads(void **state) {
  (void)state;
  nxi_allocator *a = new_allocator(0, 4 << 20);
  churn c[3];
  pthread_t t[3];
  for (int i = 0; i < 3; i++) {
    c[i] = (churn){a, i, 0};
    pthread_create(&t[i], NULL, churn_main, &c[i]);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(c[i].bad, 0);
  }
  assert_int_equal(stats_of(a).live, 0);
  nxi_allocator_destroy(a);
}

/* Slabs that were full are found again, and empty ones serve other classes. */
static void test_slabs_are_reused(void **state) {
  (void)state;
  enum { BLOCKS = 5000 };
  static void *p[BLOCKS];
  nxi_allocator *a = new_allocator(0, 0);
  int64_t reserved = 0;
  for (int round = 0; round < 30; round++) {
    int64_t bytes = round % 3 == 0 ? 64 : round % 3 == 1 ? 60 : 128;
    int count = bytes == 128 ? BLOCKS / 2 : BLOCKS;
    for (int i = 0; i < count; i++) p[i] = get(a, bytes);
    for (int i = 0; i < count; i++)
      nxi_buffer_free(a, p[i * 7 % count], bytes); /* 7 divides no count */
    if (round == 2) reserved = stats_of(a).reserved;
    if (round > 2) assert_int_equal(stats_of(a).reserved, reserved);
  }
  nxi_allocator_destroy(a);
}

/* ---- children made while another thread is inside the allocator. Small sizes and one chunk of
 * slabs: nobody calls malloc, whose state in such a child is not at issue (and under some
 * sanitizers is not good). */

typedef struct hammer {
  nxi_allocator *a;
  _Atomic bool stop;
} hammer;

static void *hammer_main(void *arg) {
  hammer *h = arg;
  while (!h->stop) {
    void *p = NULL;
    if (nxi_buffer_alloc(h->a, 100, &p, NULL) == NX_OK) nxi_buffer_free(h->a, p, 100);
  }
  return NULL;
}

static void test_fork(void **state) {
  (void)state;
  hammer h = {.a = new_allocator(0, 0)};
  nxi_buffer_free(h.a, get(h.a, 100), 100);
  pthread_t thread;
  pthread_create(&thread, NULL, hammer_main, &h);
  for (int i = 0; i < 100; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(10); /* ends a child that waits for ever */
      void *p = NULL;
      bool good = nxi_buffer_alloc(h.a, 100, &p, NULL) == NX_OK;
      nxi_buffer_free(h.a, p, 100);
      _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
  }
  h.stop = true;
  pthread_join(thread, NULL);
  nxi_allocator_destroy(h.a);
}

/* ---- times */

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void bench(nxi_allocator *a, int64_t bytes, int count) {
  void *p = NULL;
  double start = seconds();
  for (int i = 0; i < count; i++) {
    if (nxi_buffer_alloc(a, bytes, &p, NULL) != NX_OK) return;
    nxi_buffer_free(a, p, bytes);
  }
  double reused = (seconds() - start) / count;
  p = NULL;
  nxi_allocator_trim(a, 0);
  start = seconds();
  if (nxi_buffer_alloc(a, bytes, &p, NULL) != NX_OK) return;
  fill(p, bytes, 1);
  double fresh = seconds() - start;
  start = seconds();
  fill(p, bytes, 2);
  double warm = seconds() - start;
  nxi_buffer_free(a, p, bytes);
  printf(
      "%10lld bytes: alloc and free %.1f ns; fresh with first fill %.3f ms, second fill %.3f ms\n",
      (long long)bytes, reused * 1e9, fresh * 1e3, warm * 1e3);
}

NXT_MAIN(memory) {
  if (argc > 1 && !strcmp(argv[1], "bench")) {
    nxi_allocator *a = NULL;
    nxi_allocator_create(NULL, &a, NULL);
    bench(a, 64, 2000000);
    bench(a, 4000, 2000000);
    bench(a, 40000, 2000000);
    bench(a, 40 << 20, 2000000);
    nxi_allocator_destroy(a);
    return 0;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_reuse_and_bounds),
      cmocka_unit_test(test_dividing),
      cmocka_unit_test(test_untouched),
      cmocka_unit_test(test_touching),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_slabs_are_reused),
      cmocka_unit_test(test_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
