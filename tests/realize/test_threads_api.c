/* SPDX-License-Identifier: ISC */
/* Tests of the interface from several threads: recording and release while other threads realise,
 * realises that need each other's values and all make progress, the order of assigns, functions,
 * mappings, fork. Also run with the thread sanitizer. */
#include "tests/util/api.h"
#include "tests/util/share.h"

#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4 };

static void together(void *(*work)(void *), void *arg) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, arg), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static atomic_int faults; /* cmocka's assertions belong to the main thread */
static void expect(bool good, const char *what) {
  if (good) return;
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  fprintf(stderr, "%s: %s %s\n", what, nx_status_name(e.status), e.message ? e.message : "");
  atomic_fetch_add(&faults, 1);
}

static float first_of(nx_tensor *t) {
  nx_scalar v = {0};
  expect(nx_item(t, (int64_t[]){0}, 1, &v, NULL) == NX_OK, "item");
  return (float)v.v.f[0];
}

/* ---- shared operands, values that several threads want at once */

static void *use_shared(void *arg) {
  nx_tensor *shared = arg;
  for (int i = 0; i < 60; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    int64_t n = 64;
    nx_tensor *k = nx_full(ctx, 0, NX_F32, &n, 1, NX_NUMBER(i + 2.5));
    nx_tensor *a = nx_add(nx_mul(shared, k), shared), *b = nx_sub(a, nx_mul(shared, k));
    if (i % 3 == 0) expect(nx_realize(ctx, &a, 1, NULL) == NX_OK, "realize");
    expect(first_of(b) == 3, "value");
    nx_scope_end(s);
  }
  return NULL;
}

static void one_value_for_all(void **state) {
  (void)state;
  nx_tensor *x = constant(64, 3), *minus = nx_neg(x),
            *shared = nx_neg(minus); /* not realised: all threads may try to realise it */
  together(use_shared, shared);
  nx_hold(shared, true);
  together(use_shared, shared);
  release(x), release(minus), release(shared);
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- assigns: no addition of any thread is lost */

static void *add_one(void *arg) {
  nx_tensor *total = arg;
  for (int i = 0; i < 50; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    int64_t start = i % 8, one = 1;
    nx_tensor *slot = nx_slice(total, &start, &one, &one, 1), *copy = nx_copy(slot);
    expect(nx_assign(slot, copy) == NX_OK,
           "assign"); /* assigns the old value: the result is the same in any order */
    if (i % 5 == 0) expect(first_of(total) == 1, "total");
    if (i % 7 == 0) expect(nx_realize(ctx, &total, 1, NULL) == NX_OK, "realize");
    nx_scope_end(s);
  }
  return NULL;
}

static void assigns(void **state) {
  (void)state;
  nx_tensor *total = constant(8, 1);
  OK(nx_realize(ctx, &total, 1, NULL));
  together(add_one, total);
  EXPECT(total, 1, 1, 1, 1, 1, 1, 1, 1);
  release(total);
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- a call is atomic: other threads' work is not executed between its read, addition and
 * assign */

static void *call_often(void *arg) {
  int64_t n = 1;
  nx_tensor *one = nx_full(ctx, 0, NX_F32, &n, 1, NX_NUMBER(1));
  for (int i = 0; i < 50; i++) {
    nx_tensor *out = NULL;
    expect(nx_function_call(arg, &one, 1, &out, 1, NULL) == NX_OK, "call");
    nx_tensor_release(out);
  }
  nx_tensor_release(one);
  return NULL;
}

static void calls(void **state) {
  (void)state;
  for (int mapped = 0; mapped < 2; mapped++) {
    nx_tensor *count = constant(1, 0);
    nx_mapping *m = NULL;
    if (mapped) OK(nx_map(count, NX_MAP_READ, NULL, &m));
    nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(1))), *sum = nx_add(count, x),
              *y = nx_neg(sum);
    OK(nx_assign(count, sum));
    nx_function *f = NULL;
    OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
    together(call_often, f);
    EXPECT(count, THREADS * 50);
    nx_mapping_release(m);
    nx_function_release(f);
    release(count), release(x), release(sum), release(y);
  }
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- a tensor is donated to one call. Its value has other handles too, so it is not overwritten
 * and no call has to wait for another; some threads read it meanwhile, and some record operations
 * with it. */

typedef struct gift {
  nx_function *f;
  nx_tensor *given;
  int64_t n;
  pthread_barrier_t barrier;
  atomic_int taken, refused, turn;
} gift;

static void take(gift *g) {
  nx_tensor *out = NULL;
  nx_scalar v = {0};
  nx_status status = nx_function_call(g->f, &g->given, 1, &out, 1, NULL);
  if (status == NX_DONATED) {
    nx_error_take(NULL);
    atomic_fetch_add(&g->refused, 1);
    return;
  }
  expect(status == NX_OK, "a call with a donated tensor");
  expect(out && nx_item(out, (int64_t[]){g->n - 1}, 1, &v, NULL) == NX_OK && v.v.f[0] == 2,
         "its value");
  nx_tensor_release(out);
  atomic_fetch_add(&g->taken, 1);
}

static void see(gift *g) {
  nx_tensor *y = nx_neg(g->given);
  nx_scalar v = {0};
  nx_status status = nx_item(y, (int64_t[]){0}, 1, &v, NULL);
  if (status) nx_error_take(NULL);
  expect(status == NX_DONATED || (status == NX_OK && v.v.f[0] == -1), "a reader");
  nx_tensor_release(y);
}

static void *take_or_see(void *arg) {
  gift *g = arg;
  bool reads = atomic_fetch_add(&g->turn, 1) % THREADS == 0;
  pthread_barrier_wait(&g->barrier);
  for (int i = 0; i < 3; i++) reads ? see(g) : take(g);
  return NULL;
}

static void one_call_takes_what_is_donated(void **state) {
  (void)state;
  static const int64_t sizes[] = {16, 1000, 200000};
  const uint8_t donate = 1;
  nx_function_options o = {.size = sizeof o, .donate = &donate};
  for (int round = 0; round < 120; round++) {
    gift g = {.n = sizes[round % 3]};
    bool named_twice = round % 2;
    nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(g.n))), *y = GOOD(nx_add(x, x));
    OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &g.f));
    nx_tensor *one = constant(g.n, 1), *other = constant(g.n, 0);
    g.given = GOOD(nx_copy(one));
    OK(nx_realize(ctx, &g.given, 1, NULL));
    if (named_twice) OK(nx_assign(other, g.given));
    pthread_barrier_init(&g.barrier, NULL, THREADS);
    together(take_or_see, &g);
    pthread_barrier_destroy(&g.barrier);
    assert_int_equal(atomic_load(&g.taken), 1);
    assert_int_equal(atomic_load(&g.refused), 3 * (THREADS - 1) - 1);
    assert_true(!named_twice || first_of(other) == 1);
    nx_function_release(g.f);
    release(x), release(y), release(one), release(other), release(g.given);
  }
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- mappings come and go while others read and assign */

static void *map_often(void *arg) {
  nx_tensor *x = arg;
  for (int i = 0; i < 40; i++) {
    nx_mapping *m = NULL;
    nx_tensor *y = nx_neg(x);
    expect(nx_map(x, NX_MAP_READ, NULL, &m) == NX_OK, "map");
    if (i % 4 == 0) {
      nx_tensor *same = nx_copy(x);
      expect(same && nx_assign(x, same) == NX_OK, "assign");
      nx_tensor_release(same);
    }
    expect(first_of(y) == -2, "read");
    nx_mapping_release(m);
    nx_tensor_release(y);
  }
  return NULL;
}

static void mappings(void **state) {
  (void)state;
  nx_tensor *x = constant(16, 2);
  together(map_often, x);
  release(x);
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- a realise that waits in its poll does not block other threads */

static pthread_barrier_t inside, done;

static int32_t stand_still(void *user) {
  int *calls = user;
  if ((*calls)++) return 0;
  pthread_barrier_wait(&inside);
  pthread_barrier_wait(&done);
  return 0;
}

static void *slow_realise(void *arg) {
  int polls = 0;
  nx_run_options o = {.size = sizeof o, .poll = stand_still, .user = &polls};
  expect(nx_realize(ctx, (nx_tensor **)&arg, 1, &o) == NX_OK, "slow realize");
  return NULL;
}

static void progress(void **state) {
  (void)state;
  pthread_barrier_init(&inside, NULL, 2);
  pthread_barrier_init(&done, NULL, 2);
  nx_tensor *x = vector(1000, 0, 1), *slow = nx_exp(x), *quick = nx_neg(x);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, slow_realise, slow), 0);
  pthread_barrier_wait(&inside);
  OK(nx_realize(ctx, &quick, 1, NULL)); /* while the other realise is in its poll */
  nx_tensor *more = nx_add(slow, quick);
  pthread_barrier_wait(&done);
  OK(nx_realize(ctx, &more, 1, NULL)); /* needs a value that the other realise computes */
  pthread_join(thread, NULL);
  release(x), release(slow), release(quick), release(more);
  pthread_barrier_destroy(&inside);
  pthread_barrier_destroy(&done);
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- mapping for writing waits for kernels that read the memory */

typedef struct reading {
  nx_tensor *y;
  atomic_bool begun;
} reading;

static int32_t note_begin(void *user) {
  atomic_store(&((reading *)user)->begun, true);
  return 0;
}

static void *realise_reading(void *arg) {
  reading *r = arg;
  nx_run_options o = {.size = sizeof o, .poll = note_begin, .user = r};
  expect(nx_realize(ctx, &r->y, 1, &o) == NX_OK, "realize");
  return NULL;
}

/* The host writes through a mapping. */
static void write_mapped(nx_tensor *x, size_t bytes) {
  nx_mapping *m;
  OK(nx_map(x, NX_MAP_WRITE, NULL, &m));
  memset(nx_mapping_base(m, NULL), 0xff, bytes);
  nx_mapping_release(m);
}

/* A call that assigns x; it has computed its result when it has to wait. */
static nx_function *assigning(nx_tensor *x, int64_t n) {
  nx_tensor *p = GOOD(nx_placeholder(ctx, 0, NX_F32, &n, 1)), *q = nx_neg(p);
  nx_function *f = NULL;
  OK(nx_assign(x, p));
  OK(nx_function_create(ctx, &p, 1, &q, 1, NULL, &f));
  release(p), release(q);
  return f;
}

/* Sizes and delays change, so that each run is planned and compiled again while another thread
 * begins to write. */
static void writing_waits_for_readers(void **state) {
  (void)state;
  enum { LEAST = 20000, ROUNDS = 32 };
  static float is[LEAST + ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    int n = LEAST + round;
    nx_tensor *x = vector(n, 0, 1), *five = constant(n, 5), *out = NULL;
    nx_mapping *shown;
    pthread_t thread;
    OK(nx_map(x, NX_MAP_READ, NULL, &shown)); /* the writer cannot be given other memory */
    nx_function *f = round % 2 ? assigning(x, n) : NULL;
    reading r = {.y = nx_neg(x)};
    OK(nx_realize(ctx, &five, 1, NULL));
    assert_int_equal(pthread_create(&thread, NULL, realise_reading, &r), 0);
    while (!atomic_load(&r.begun)) usleep(10);
    usleep((useconds_t)(round / 2 % 8) * 100);
    if (f) OK(nx_function_call(f, &five, 1, &out, 1, NULL));
    else write_mapped(x, (size_t)n * sizeof *is);
    pthread_join(thread, NULL);
    OK(nx_read(r.y, is, (size_t)n * sizeof *is, NULL));
    for (int i = 0; i < n; i++) assert_true(is[i] == (float)-i);
    if (f) assert_true(first_of(x) == 5 && first_of(out) == -5);
    nx_mapping_release(shown);
    nx_function_release(f);
    release(x), release(five), release(out), release(r.y);
  }
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- handles made here and released there */

static nx_tensor *handed_over[THREADS][400];
static atomic_int next_row;

static void *release_all(void *arg) {
  (void)arg;
  int row = atomic_fetch_add(&next_row, 1);
  for (int i = 0; i < 400; i++) nx_tensor_release(handed_over[row][i]);
  return NULL;
}

static void released_elsewhere(void **state) {
  (void)state;
  nx_tensor *x = vector(4, 0, 1), *t = nx_tensor_retain(x);
  for (int row = 0; row < THREADS; row++)
    for (int i = 0; i < 400; i++) {
      nx_tensor *next = nx_add(t, x);
      handed_over[row][i] = t;
      t = next;
    }
  atomic_store(&next_row, 0);
  together(release_all, NULL);
  release(t), release(x);
  nx_context_collect(ctx);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(ctx, &s);
  assert_int_equal(s.pending_nodes, 0);
}

/* The last handle keeps the context alive; any thread may release it. */
static void *release_last(void *arg) {
  nx_tensor_release(arg);
  return NULL;
}

static void last_handle_elsewhere(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++) {
    nx_context *c;
    OK(nx_context_create(NULL, &c));
    nx_tensor *t = nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(1));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_last, t), 0);
    nx_context_release(c);
    pthread_join(thread, NULL);
  }
}

/* ---- fork */

static atomic_bool stop_working;
static void *keep_working(void *arg) {
  while (!atomic_load(&stop_working)) {
    nx_tensor *y = nx_exp(arg);
    expect(nx_realize(ctx, &y, 1, NULL) == NX_OK, "realize");
    nx_tensor_release(y);
  }
  return NULL;
}

static void fork_while_working(void **state) {
  (void)state;
#if defined(__SANITIZE_THREAD__)
  skip(); /* a child of several threads is not supported there */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  skip();
#endif
#endif
  nx_tensor *x = vector(20000, 0, 0), *lost = nx_tanh(x);
  OK(nx_realize(ctx, &x, 1, NULL));
  atomic_store(&stop_working, false);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, keep_working, x), 0);
  for (int i = 0; i < 10; i++) {
    usleep(1000);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      nx_scalar v = {0};
      nx_tensor *y = nx_add(nx_exp(x), lost);
      bool good = y && nx_item(y, (int64_t[]){19999}, 1, &v, NULL) == NX_OK && v.v.f[0] == 1;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    for (int tries = 0; waitpid(child, &status, WNOHANG) == 0; tries++) {
      usleep(1000);
      if (tries == 20000) kill(child, 9); /* it hangs */
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  atomic_store(&stop_working, true);
  pthread_join(thread, NULL);
  release(x), release(lost);
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- a process that ends while its threads compile. It is this program, started anew. */

static void *compile_for_ever(void *arg) {
  for (int64_t i = *(int64_t *)arg;; i++) {
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *x = nx_arange(ctx, 0, NX_F32, NX_NUMBER(1), NX_NUMBER(1), 5000 + i), *y = x;
    for (int64_t k = 0; k < 3 + i % 9; k++) y = i >> k & 1 ? nx_sin(y) : nx_add(nx_exp(y), x);
    nx_realize(ctx, &y, 1, NULL);
    nx_scope_end(s);
  }
  return arg;
}

/* warm: a kernel was compiled before; else the first kernel of the process is being compiled. */
static int end_while_compiling(int ms, bool warm) {
  static int64_t firsts[THREADS] = {0, 250, 500, 750};
  pthread_t threads[THREADS];
  const nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  if (nx_context_create(&o, &ctx) != NX_OK) return 1;
  nx_tensor *y = nx_tanh(vector(5000, 0, 1));
  if (warm && nx_realize(ctx, &y, 1, NULL) != NX_OK) return 1;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, compile_for_ever, &firsts[i]) != 0) return 1;
  usleep((unsigned)ms * 1000);
  return 42;
}

/* An exit handler of the host, registered before all handlers of the library. It runs after LLVM's
 * objects were destroyed, while other threads still request kernels. Graphs that it realises, with
 * and without a poll, are interpreted. */
static nx_tensor *wanted_at_exit[2];

static int32_t goes_on(void *user) { return (void)user, 0; }

static void realise_at_exit(void) {
  const nx_run_options polled = {.size = sizeof polled, .poll = goes_on};
  for (int i = 0; i < 2; i++)
    if (nx_realize(ctx, &wanted_at_exit[i], 1, i ? &polled : NULL) != NX_OK) _exit(1);
  nx_scalar value;
  if (nx_item(wanted_at_exit[1], (const int64_t[]){4999}, 1, &value, NULL) != NX_OK) _exit(1);
  _exit(value.v.f[0] == 3 * 4999 ? 42 : 1);
}

static int realise_after_the_end(void) {
  static int64_t first = 100;
  pthread_t thread;
  const nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  if (atexit(realise_at_exit) || nx_context_create(&o, &ctx) != NX_OK) return 1;
  if (pthread_create(&thread, NULL, compile_for_ever, &first) != 0) return 1;
  nx_tensor *y = nx_tanh(vector(5000, 0, 1));
  if (nx_realize(ctx, &y, 1, NULL) != NX_OK) return 1;
  for (int i = 0; i < 2; i++) {
    nx_tensor *x = vector(5000, 0, 1);
    wanted_at_exit[i] = nx_add(nx_add(x, i ? x : nx_neg(x)), x);
  }
  return 1;
}

static void exits_while_compiling(void **state) {
  (void)state;
  for (int i = 1; i <= 36; i += (int)nxt_kernel_share()) {
    char ms[16];
    int status;
    snprintf(ms, sizeof ms, "%d", i <= 16 ? 5 * i : i - 16);
    pid_t child = fork();
    if (child == 0) {
      const char *how = i <= 16 ? "warm" : i <= 32 ? "cold" : "handler";
      execl(nxt_program(), "run_realize", "threads_api", how, ms, (char *)NULL);
      _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
  }
}

#define T(f) cmocka_unit_test_teardown(f, nothing_left)

NXT_MAIN(threads_api) {
  if (argc == 3 && strcmp(argv[1], "handler") == 0) return realise_after_the_end();
  if (argc == 3) return end_while_compiling(atoi(argv[2]), strcmp(argv[1], "warm") == 0);
  const struct CMUnitTest tests[] = {
      T(one_value_for_all),
      T(assigns),
      T(calls),
      T(one_call_takes_what_is_donated),
      T(mappings),
      T(progress),
      T(writing_waits_for_readers),
      T(released_elsewhere),
      T(last_handle_elsewhere),
      T(fork_while_working),
      T(exits_while_compiling),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
