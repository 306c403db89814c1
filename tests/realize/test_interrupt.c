/* SPDX-License-Identifier: ISC */
/* Tests of actions that are interrupted at a random poll: all values are as before, trying again
 * gives the same bits as a run without interruption, and nothing is leaked. Also tests what a poll
 * may do: call the library, fork. Also run with the thread sanitizer. */
#include "tests/util/api.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"
#include "runtime/realize/async/offload.h"
#include "tests/util/sanitizers.h"

enum { RESULT = 4096, ROOM = 1 << 19 }; /* bytes at most; floats */
static _Thread_local float *room;       /* while a job runs */

/* ---- a poll that requests a stop at its n-th call */

typedef struct stopper {
  pthread_t caller;
  int calls, stop_at; /* 0: never */
  bool misused;       /* called on another thread, or after it had requested a stop */
} stopper;

static int32_t stop(void *user) {
  stopper *s = user;
  s->misused |= !pthread_equal(s->caller, pthread_self()) || (s->stop_at && s->calls >= s->stop_at);
  return ++s->calls == s->stop_at;
}

static nx_run_options options_of(stopper *s, int stop_at) {
  *s = (stopper){.caller = pthread_self(), .stop_at = stop_at};
  return (nx_run_options){.size = sizeof(nx_run_options), .poll = stop, .user = s};
}

/* Each thread has a sequence of its own. */
static uint32_t next_random(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

/* ---- jobs: each does its work with the options, once more without if it was interrupted, and
 * leaves a result. A job gives the first status; on other failures the thread's error says what. */

typedef nx_status (*job)(const nx_run_options *o, int variant, char *result);

static nx_status again(nx_status status, nx_tensor *t, char *result) {
  nx_tensor *flat = t;
  nx_tensor_info desc = {.size = sizeof desc};
  if (status == NX_INTERRUPTED) nx_error_take(NULL);
  nx_tensor_describe(t, &desc);
  int64_t size = (int64_t)nx_dtype_bits(desc.dtype) / 8, n = 1;
  for (int32_t i = 0; i < desc.rank; i++) n *= desc.shape[i];
  int64_t start = 0, count = n * size > RESULT ? RESULT / size : n, step = n / (count ? count : 1);
  flat = nx_slice(nx_reshape(t, &n, 1, 0), &start, &count, &step, 1);
  nx_status second = flat ? nx_read(flat, result, (size_t)(count * size), NULL) : NX_INTERNAL;
  return status == NX_INTERRUPTED || status == NX_OK ? (second ? second : status) : status;
}

static nx_status realise(nx_tensor *t, const nx_run_options *o, char *result) {
  return again(nx_realize(ctx, &t, 1, o), t, result);
}

static nx_status chain(const nx_run_options *o, int variant, char *result) {
  nx_tensor *x = vector(8, 0, 1), *y = x;
  for (int i = 0; i < 20000 + 128 * (variant % 8); i++)
    y = i & 1 ? nx_neg(y) : nx_add(y, number(1));
  return realise(y, o, result);
}

static nx_status compile(const nx_run_options *o, int variant, char *result) {
  nx_tensor *x = vector(6000, 0.5f, 1e-4f), *y = x;
  for (int i = 0; i <= variant % 12; i++) y = i & 1 ? nx_sin(y) : nx_add(nx_pow(y, x), x);
  return realise(y, o, result);
}

static nx_status reduction(const nx_run_options *o, int variant, char *result) {
  (void)variant;
  /* interpreters are slower, so they get less work */
  int64_t n = nxl_unavailable() ? 1 << 15 : 1 << 21;
  return realise(nx_reduce_sum(nx_sin(vector(n, 0, 1)), NX_AXES(0), 0), o, result);
}

static nx_status product(const nx_run_options *o, int variant, char *result) {
  (void)variant;
  int64_t n = nxl_unavailable() ? 100 : 300;
  nx_tensor *x = nx_reshape(vector(n * n, -1, 1e-5f), NX_SHAPE(n, n), 0);
  return realise(nx_tanh(nx_matmul(x, x)), o, result);
}

static nx_status many_kernels(const nx_run_options *o, int variant, char *result) {
  nx_tensor *x = vector(256, 0, 1e-3f), *y = x;
  int64_t n = 256;
  for (int i = 0; i < 100 + variant % 4; i++)
    y = nx_add(x, nx_expand(nx_reduce_max(y, NX_AXES(0), NX_KEEPDIMS), &n, 1));
  return realise(y, o, result);
}

/* Assigns in place: an interrupted action has not happened at all, or completely. */
static nx_status assigns(const nx_run_options *o, int variant, char *result) {
  (void)variant;
  nx_tensor *x = vector(1 << 18, 0, 1);
  if (nx_realize(ctx, &x, 1, NULL)) return NX_INTERNAL;
  for (int i = 0; i < 4; i++) {
    int64_t start = i * 1000, count = 1 << 17, one = 1;
    nx_tensor *some = nx_slice(x, &start, &count, &one, 1);
    if (nx_assign(some, nx_add(nx_sqrt(nx_abs(some)), number(1)))) return NX_INTERNAL;
  }
  return realise(x, o, result);
}

static nx_status written(const nx_run_options *o, int variant, char *result) {
  (void)variant;
  enum { N = ROOM };
  float *data = room;
  for (int i = 0; i < N; i++) data[i] = (float)i;
  nx_tensor *x = vector(N, 1, 0);
  nx_status status = nx_write(x, data, N * sizeof *data, o);
  if (status == NX_INTERRUPTED) {
    float first = 0;
    nx_error_take(NULL);
    if (nx_read(part(x, N - 1, 1, 1), &first, sizeof first, NULL) || first != 1)
      return NX_INTERNAL; /* taken back */
    if (nx_write(x, data, N * sizeof *data, NULL)) return NX_INTERNAL;
  }
  return again(status, x, result);
}

static nx_status reading(const nx_run_options *o, int variant, char *result) {
  (void)variant;
  enum { SIDE = 700 };
  float *data = room;
  nx_tensor *x =
      nx_permute(nx_reshape(vector(SIDE * SIDE, 0, 1), NX_SHAPE(SIDE, SIDE), 0), NX_AXES(1, 0));
  nx_status status = nx_read(x, data, SIDE * SIDE * sizeof *data, o);
  if (status == NX_INTERRUPTED) {
    nx_error_take(NULL);
    if (nx_read(x, data, SIDE * SIDE * sizeof *data, NULL)) return NX_INTERNAL;
  }
  memcpy(result, data, RESULT);
  return status;
}

static nx_function *counting;
static nx_tensor *count;

/* A call adds to a storage; if it is interrupted, nothing is added. */
static nx_status call(const nx_run_options *o, int variant, char *result) {
  (void)variant;
  nx_tensor *x = vector(1 << 16, 1, 0), *y = NULL;
  nx_status status = nx_function_call(counting, &x, 1, &y, 1, o);
  if (status == NX_INTERRUPTED) {
    nx_error_take(NULL);
    if (nx_function_call(counting, &x, 1, &y, 1, NULL)) return NX_INTERNAL;
  }
  nx_status read = y ? again(status, y, result) : status;
  nx_tensor_release(y);
  return read;
}

static const struct {
  const char *name;
  job run;
  int interruptions;
} jobs[] = {
    {"chain", chain, 12},     {"compile", compile, 16},           {"reduction", reduction, 12},
    {"product", product, 12}, {"many kernels", many_kernels, 12}, {"assigns", assigns, 20},
    {"written", written, 20}, {"reading", reading, 20},           {"call", call, 20}};
enum { JOBS = sizeof jobs / sizeof jobs[0] };

/* ---- every job, with and without interruption */

static int make_function(void **state) {
  if (open_context(state)) return 1;
  atomic_store(&nxi_offload_poll_ns, 50 * 1000);
  count = constant(1 << 16, 0);
  OK(nx_realize(ctx, &count, 1, NULL));
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(1 << 16)));
  nx_tensor *sum = GOOD(nx_add(count, x)), *y = GOOD(nx_sin(x));
  OK(nx_assign(count, sum));
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &counting));
  release(x), release(sum), release(y);
  return 0;
}

static int drop_function(void **state) {
  atomic_store(&nxi_offload_poll_ns, 10 * 1000 * 1000);
  nx_function_release(counting);
  release(count);
  return nothing_left(state) || close_context(state);
}

/* cmocka's assertions belong to the main thread. */
static atomic_int faults;
static void expect(bool good, const char *name, const char *what) {
  if (good) return;
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  fprintf(stderr, "%s: %s: %s %s\n", name, what, nx_status_name(e.status),
          e.message ? e.message : "");
  atomic_fetch_add(&faults, 1);
}

static int run_job(int j, int variant, int stop_at, char *result, bool *interrupted) {
  stopper s;
  nx_run_options o = options_of(&s, stop_at);
  memset(result, 0, RESULT);
  room = malloc(ROOM * sizeof *room);
  if (room == NULL) abort();
  nx_scope *scope = nx_scope_begin(ctx);
  nx_status status = jobs[j].run(&o, variant, result);
  nx_scope_end(scope);
  free(room);
  *interrupted = status == NX_INTERRUPTED;
  expect(status == NX_OK || (*interrupted && stop_at && s.calls == stop_at), jobs[j].name,
         "status");
  expect(!s.misused, jobs[j].name, "its poll was misused");
  expect(s.calls > 0, jobs[j].name, "was not polled");
  return s.calls;
}

static void interrupt_job(int j, uint32_t *seed, int *interruptions) {
  char wanted[RESULT], result[RESULT];
  bool interrupted;
  for (int i = 0; i < jobs[j].interruptions; i++) {
    int polls = run_job(j, i, 0, wanted, &interrupted);
    if (i % 3 == 0) polls = 1; /* there are fewer polls if plans are in the cache */
    run_job(j, i, 1 + (int)(next_random(seed) % (uint32_t)polls), result, &interrupted);
    *interruptions += interrupted;
    expect(memcmp(result, wanted, RESULT) == 0, jobs[j].name, "other bits after an interruption");
  }
}

static void interrupted_anywhere(void **state) {
  (void)state;
  uint32_t seed = 1;
  for (int j = 0; j < JOBS; j++) {
    int interruptions = 0;
    interrupt_job(j, &seed, &interruptions);
    printf("%-14s interrupted %d times of %d\n", jobs[j].name, interruptions,
           jobs[j].interruptions);
    assert_true(interruptions > 0);
    nx_stats s = {.size = sizeof s};
    nx_context_collect(ctx);
    nx_context_stats(ctx, &s);
    assert_int_equal(s.pending_nodes, 0);
    assert_int_equal(s.live_bytes, (uint64_t)4 << 16); /* count */
  }
  nx_scalar v;
  int calls = 2 * jobs[JOBS - 1].interruptions;
  OK(nx_item(count, (int64_t[]){77}, 1, &v, NULL));
  assert_true(v.v.f[0] == calls);
  assert_int_equal(atomic_load(&faults), 0);
}

/* A new context each time: there are no plans in the cache, so compiling and planning are
 * interrupted too. */
static void interrupted_when_new(void **state) {
  (void)state;
  nx_context *shared = ctx;
  nx_context_options none = {.size = sizeof none, .cache_dir = ""};
  char wanted[RESULT], result[RESULT];
  uint32_t seed = 2;
  for (int i = 0; i < 24; i++) {
    int j = i % 6;
    bool interrupted;
    OK(nx_context_create(&none, &ctx));
    int polls = run_job(j, i, 0, wanted, &interrupted);
    nx_context_release(ctx);
    OK(nx_context_create(&none, &ctx));
    run_job(j, i, 1 + (int)(next_random(&seed) % (uint32_t)polls), result, &interrupted);
    expect(memcmp(result, wanted, RESULT) == 0, jobs[j].name, "other bits in a new context");
    assert_int_equal(nothing_left(state), 0);
    nx_context_release(ctx);
  }
  ctx = shared;
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- several callers at once */

static void *work(void *arg) {
  uint32_t seed = (uint32_t)(uintptr_t)arg;
  char result[RESULT];
  bool interrupted;
  for (int i = 0; i < 10; i++) {
    int j = (int)(next_random(&seed) % (JOBS - 1)); /* calls are counted */
    run_job(j, (int)(next_random(&seed) % 8), (int)(next_random(&seed) % 8), result, &interrupted);
  }
  return NULL;
}

static void several_callers(void **state) {
  (void)state;
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 10)), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load(&faults), 0);
}

/* ---- polls that call back */

typedef struct caller {
  nx_tensor *whole; /* what the action computes */
  int depth, calls, waits;
} caller;

static int32_t call_back(void *user) {
  caller *c = user;
  c->calls++;
  if (c->depth++ == 0) {
    nx_scope *s = nx_scope_begin(ctx);
    nx_tensor *y = nx_exp(vector(3000, 0, 0));
    nx_run_options o = {.size = sizeof o, .poll = call_back, .user = user};
    expect(nx_realize(ctx, &y, 1, &o) == NX_OK, "poll", "a realise in it");
    expect(nx_reshape(y, NX_SHAPE(7, 7), 0) == NULL && nx_error_take(NULL) == NX_INVALID_ARGUMENT,
           "poll", "an error in it");
    nx_context_collect(ctx);
    nx_scope_end(s);
    if (c->calls > 1) { /* the value that is being computed */
      nx_scalar v;
      expect(nx_item(c->whole, NULL, 0, &v, NULL) == NX_OK, "poll", "the action's own result");
      c->waits++;
    }
  }
  c->depth--;
  return 0;
}

static void callbacks(void **state) {
  (void)state;
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *y = nx_reduce_sum(nx_cos(vector(1 << 22, 0, 1)), NX_AXES(0), 0);
  caller c = {.whole = y};
  nx_run_options o = {.size = sizeof o, .poll = call_back, .user = &c};
  OK(nx_realize(ctx, &y, 1, &o));
  assert_true(c.waits > 0);
  nx_scope_end(s);
  assert_int_equal(atomic_load(&faults), 0);
}

/* A poll that requests a stop at its first call interrupts the action, even if nothing has to be
 * computed. */
static int32_t always(void *user) {
  (void)user;
  return 1;
}

static void stopped_at_once(void **state) {
  (void)state;
  nx_run_options o = {.size = sizeof o, .poll = always};
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = GOOD(nx_copy(vector(4, 1, 1))), *e = nx_empty(ctx, 0, NX_F32, NX_SHAPE(4));
  nx_mapping *m = NULL;
  nx_scalar v;
  float zeros[4] = {0};
  OK(nx_realize(ctx, &x, 1, NULL));
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &x, 1, &o));
  FAILS(NX_INTERRUPTED, nx_realize(ctx, NULL, 0, &o));
  FAILS(NX_INTERRUPTED, nx_item(x, (int64_t[]){0}, 1, &v, &o));
  FAILS(NX_INTERRUPTED, nx_read(x, zeros, sizeof zeros, &o));
  FAILS(NX_INTERRUPTED, nx_write(x, zeros, sizeof zeros, &o));
  FAILS(NX_INTERRUPTED, nx_map(x, NX_MAP_WRITE, &o, &m));
  FAILS(NX_INTERRUPTED, nx_map(e, NX_MAP_WRITE, &o, &m));
  FAILS(NX_INTERRUPTED, nx_save_npy(x, "interrupted.npy", &o));
  assert_null(m);
  EXPECT(x, 1, 2, 3, 4);
  nx_scope_end(s);
}

/* A failure on an offload thread is reported as the caller's error, with the tag of the recorded
 * operation. */
static void failures(void **state) {
  (void)state;
  nx_context *shared = ctx;
  nx_context_options small = {.size = sizeof small, .memory_limit = 1 << 20};
  OK(nx_context_create(&small, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  nx_tag_set(77, "line 7");
  nx_tensor *y = GOOD(nx_exp(vector(1 << 22, 0, 1)));
  nx_tag_set(0, NULL);
  stopper never;
  nx_run_options o = options_of(&never, 0);
  nx_error e = {.size = sizeof e};
  assert_int_equal(nx_realize(ctx, &y, 1, &o), NX_OUT_OF_MEMORY);
  assert_int_equal(nx_error_take(&e), NX_OUT_OF_MEMORY);
  assert_int_equal(e.tag, 77);
  assert_string_equal(e.tag_text, "line 7");
  nx_scope_end(s);
  assert_int_equal(nothing_left(state), 0);
  nx_context_release(ctx);
  ctx = shared;
}

/* ---- a poll that forks: in the child the action is interrupted, and can be tried again */

#if !defined(THREAD_SANITIZER) /* a child of several threads is not supported there */
typedef struct forker {
  int calls, fork_at;
  pid_t child;
} forker;

static int32_t fork_once(void *user) {
  forker *f = user;
  if (++f->calls == f->fork_at) f->child = fork();
  return 0;
}

static void fork_in_job(int i) {
  nx_context_options none = {.size = sizeof none, .cache_dir = ""};
  OK(nx_context_create(&none, &ctx));
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = vector(8000, 1, 0), *y = x;
  for (int k = 0; k < 130 + i; k++) y = nx_sub(nx_mul(y, number(2)), x); /* 1, in several kernels */
  if (i % 3 == 0) y = nx_pow(nx_sin(nx_sub(y, x)), y);                   /* 0 */
  forker f = {.fork_at = 1 + i * 37 % 200, .child = -1};
  nx_run_options o = {.size = sizeof o, .poll = fork_once, .user = &f};
  nx_status status = nx_realize(ctx, &y, 1, &o);
  float last = 0, wanted = i % 3 != 0;
  if (f.child == 0) {
    bool good = status == NX_INTERRUPTED ? nx_error_take(NULL) == NX_INTERRUPTED : status == NX_OK;
    good = good && nx_realize(ctx, &y, 1, NULL) == NX_OK;
    good =
        good && nx_read(part(y, 7999, 1, 1), &last, sizeof last, NULL) == NX_OK && last == wanted;
    _exit(good ? 0 : 1);
  }
  OK(status);
  OK(nx_read(part(y, 7999, 1, 1), &last, sizeof last, NULL));
  assert_true(last == wanted);
  int end = 0;
  for (int tries = 0; f.child > 0 && waitpid(f.child, &end, WNOHANG) == 0; tries++) {
    usleep(1000);
    if (tries == 30000) kill(f.child, 9); /* it hangs */
  }
  assert_true(WIFEXITED(end) && WEXITSTATUS(end) == 0);
  nx_scope_end(s);
  nx_context_release(ctx);
}

static void forks(void **state) {
  (void)state;
  nx_context *shared = ctx;
  for (int i = 0; i < 30; i++) fork_in_job(i);
  ctx = shared;
}
#endif

NXT_MAIN(interrupt) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interrupted_anywhere),
      cmocka_unit_test(interrupted_when_new),
      cmocka_unit_test(several_callers),
      cmocka_unit_test(callbacks),
      cmocka_unit_test(stopped_at_once),
      cmocka_unit_test(failures),
#if !defined(THREAD_SANITIZER)
      cmocka_unit_test(forks),
#endif
  };
  return cmocka_run_group_tests(tests, make_function, drop_function);
}
