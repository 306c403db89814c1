/* SPDX-License-Identifier: ISC */
/* Brief runs: small graphs that were asked for before are computed at once, with the same bits, and
 * whatever is unusual goes the general way and is told as ever. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"
#include "ir/alloc.h"
#include "ir/target.h"
#include "nx/debug.h"
#include "runtime/record/context.h"
#include "tests/util/api.h"
#include "tests/util/executor.h"
#include "tests/util/sanitizers.h"

enum { N = 10 };

static float values[2][N];

static nx_tensor *operand(nx_context *c, int which) {
  const int64_t n = N;
  for (int i = 0; i < N; i++) values[which][i] = (float)(which ? 3 - i : i * i) * 0.37f;
  return GOOD(nx_from_data(c, 0, NX_F32, &n, 1, values[which], sizeof values[which]));
}

/* ---- graphs of every form that extraction knows */

static nx_tensor *sum(nx_tensor *a, nx_tensor *b) { return nx_add(a, b); }
static nx_tensor *with_itself(nx_tensor *a, nx_tensor *b) { return (void)b, nx_mul(a, a); }
static nx_tensor *with_number(nx_tensor *a, nx_tensor *b) {
  return (void)b, nx_binary_f64(a, NX_BINARY_MUL, 0.7);
}
static nx_tensor *with_special(nx_tensor *a, nx_tensor *b) {
  return (void)b, nx_binary_f64(a, NX_BINARY_ADD, 2);
}
static nx_tensor *chain(nx_tensor *a, nx_tensor *b) {
  return nx_sqrt(nx_add(nx_mul(a, a), nx_mul(nx_sub(b, a), b)));
}
static nx_tensor *total(nx_tensor *a, nx_tensor *b) {
  return nx_reduce_sum(nx_mul(a, b), NX_AXES(0), 0);
}
static nx_tensor *of_views(nx_tensor *a, nx_tensor *b) {
  return nx_sub(part(a, 1, 4, 2), part(b, 8, 4, -2));
}
static nx_tensor *chosen(nx_tensor *a, nx_tensor *b) { return nx_where(nx_cmplt(a, b), a, b); }
static nx_tensor *whole(nx_tensor *a, nx_tensor *b) { return (void)b, nx_cast(a, NX_I16); }
static nx_tensor *outer(nx_tensor *a, nx_tensor *b) {
  return nx_mul(nx_reshape(a, NX_SHAPE(N, 1), 0), nx_reshape(b, NX_SHAPE(1, N), 0));
}

static nx_tensor *(*const graphs[])(nx_tensor *, nx_tensor *) = {
    sum, with_itself, with_number, with_special, chain, total, of_views, chosen, whole, outer};
enum { GRAPHS = sizeof graphs / sizeof *graphs };

static size_t bytes_of(nx_tensor *t) {
  return (size_t)nx_elements(t) * (nx_dtype_of(t) == NX_I16 ? 2 : 4);
}

/* Computed in the general way, since the run is to be counted. */
static void read_generally(nx_tensor *t, void *out) {
  nx_report r = {.size = sizeof r};
  nx_run_options o = {.size = sizeof o, .report = &r};
  OK(nx_realize(ctx, &t, 1, &o));
  assert_int_equal(r.runs, 1);
  OK(nx_read(t, out, bytes_of(t), NULL));
}

/* Whether kernels are compiled, and nobody wants to see each run or handle; then graphs become
 * brief after some runs. */
static bool compiles(void) {
  const char *debug = getenv("NX_DEBUG");
  return !nxl_unavailable() && (nxt_executor_is("") || nxt_executor_is("llvm")) &&
         (!debug || !strcmp(debug, "verify"));
}

/* Asks for a graph until a run was brief. */
static void warm(nx_tensor *(*graph)(nx_tensor *, nx_tensor *), nx_tensor *a, nx_tensor *b) {
  uint64_t before = ctx->brief_runs;
  for (int i = 0; compiles() && ctx->brief_runs == before; i++) {
    nx_tensor *t = GOOD(graph(a, b));
    OK(nx_realize(ctx, &t, 1, NULL));
    release(t);
    if (i == 200000) fail_msg("no run was brief");
  }
}

static void same_bits(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  for (int g = 0; g < GRAPHS; g++) {
    char wanted[4 * N * N], is[4 * N * N];
    nx_tensor *t = GOOD(graphs[g](a, b));
    read_generally(t, wanted);
    release(t);
    warm(graphs[g], a, b);
    for (int way = 0; way < 4; way++) { /* how the value is asked for */
      uint64_t before = ctx->brief_runs;
      t = GOOD(graphs[g](a, b));
      nx_mapping *m = NULL;
      nx_scalar first;
      const int64_t zeros[2] = {0, 0};
      if (way == 0) OK(nx_realize(ctx, &t, 1, NULL));
      if (way == 1) OK(nx_map(t, NX_MAP_READ, NULL, &m));
      if (way == 2) OK(nx_item(t, zeros, (size_t)nx_rank(t), &first, NULL));
      OK(nx_read(t, is, bytes_of(t), NULL));
      if (m) assert_memory_equal(nx_mapping_base(m, NULL), wanted, bytes_of(t));
      assert_memory_equal(is, wanted, bytes_of(t));
      if (compiles()) assert_int_equal(ctx->brief_runs, before + 1);
      nx_mapping_release(m);
      release(t);
    }
  }
}

static nx_tensor *logarithm(nx_tensor *a, nx_tensor *b) { return (void)b, nx_log(a); }

/* A function of a thousand numbers is some tens of thousands of instructions, each on one of them,
 * and takes no longer than one that waits for each of ten. */
static void thousand(void **state) {
  enum { MANY = 1000 };
  const int64_t n = MANY;
  float x[MANY], wanted[MANY], is[MANY];
  (void)state;
  if (nxi_target_host()->vector_bytes < 32) skip();
  for (int i = 0; i < MANY; i++) x[i] = (float)i * 0.37f - 1;
  nx_tensor *a = GOOD(nx_from_data(ctx, 0, NX_F32, &n, 1, x, sizeof x)), *t = GOOD(nx_log(a));
  read_generally(t, wanted);
  release(t);
  warm(logarithm, a, a);
  t = GOOD(nx_log(a));
  OK(nx_read(t, is, sizeof is, NULL));
  assert_memory_equal(is, wanted, sizeof is);
  release(t);
  release(a);
}

/* ---- what goes the general way */

static int polls;
static int32_t count_polls(void *stop) {
  polls++;
  return *(const int *)stop;
}

/* Results of more than a small block take memory that was freed before; with none of their size
 * free they go the general way. */
static void four_thousand(void **state) {
  enum { MANY = 4096, KEPT = 3 };
  const int64_t n = MANY;
  float x[MANY], wanted[MANY], is[MANY];
  (void)state;
  if (!compiles() || nxi_target_host()->vector_bytes < 32) skip();
  for (int i = 0; i < MANY; i++) x[i] = 0.25f + (float)i * 0.37f;
  nx_tensor *a = GOOD(nx_from_data(ctx, 0, NX_F32, &n, 1, x, sizeof x));
  nx_tensor *t = GOOD(chain(a, a));
  read_generally(t, wanted);
  release(t);
  warm(chain, a, a);
  nx_tensor *kept[KEPT];
  uint64_t before = ctx->brief_runs;
  nx_stats stats = {.size = sizeof stats}, after = {.size = sizeof after};
  nx_context_stats(ctx, &stats);
  for (int i = 0; i < KEPT; i++) {
    kept[i] = GOOD(chain(a, a));
    OK(nx_realize(ctx, &kept[i], 1, NULL));
  }
  assert_in_range(ctx->brief_runs - before, 1, KEPT - 1);
  for (int i = 0; i < KEPT; i++) {
    OK(nx_read(kept[i], is, sizeof is, NULL));
    assert_memory_equal(is, wanted, sizeof is);
    release(kept[i]);
  }
  nx_context_collect(ctx);
  nx_context_stats(ctx, &after);
  assert_int_equal(after.live_bytes, stats.live_bytes);
  before = ctx->brief_runs;
  for (int i = 0; i < KEPT; i++) {
    t = GOOD(chain(a, a));
    OK(nx_read(t, is, sizeof is, NULL));
    assert_memory_equal(is, wanted, sizeof is);
    release(t);
  }
  assert_int_equal(ctx->brief_runs, before + KEPT);
}

static void polled(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  warm(sum, a, b);
  int stop = 0;
  nx_run_options o = {.size = sizeof o, .poll = count_polls, .user = &stop};
  uint64_t before = ctx->brief_runs;
  nx_tensor *t = GOOD(sum(a, b));
  polls = 0;
  OK(nx_realize(ctx, &t, 1, &o));
  assert_int_equal(polls, 1); /* at the beginning of each action */
  if (compiles()) assert_int_equal(ctx->brief_runs, before + 1);
  release(t);
  t = GOOD(sum(a, b));
  stop = 1;
  nx_mapping *m;
  nx_scalar s;
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &t, 1, &o));
  FAILS(NX_INTERRUPTED, nx_map(t, NX_MAP_READ, &o, &m));
  FAILS(NX_INTERRUPTED, nx_item(t, NX_SHAPE(3), &s, &o));
  o.flags = 1 << 20;
  stop = 0;
  FAILS(NX_INVALID_ARGUMENT, nx_realize(ctx, &t, 1, &o));
  OK(nx_item(t, NX_SHAPE(3), &s, NULL));
  assert_true((float)s.v.f[0] == values[0][3] + values[1][3]);
}

/* What takes no longer than a call is done, the rest is not begun, and nobody is asked. */
static void at_once(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  warm(sum, a, b);
  int stop = 1;
  nx_run_options o = {.size = sizeof o, .flags = NX_AT_ONCE, .poll = count_polls, .user = &stop};
  nx_mapping *m = NULL;
  nx_scalar s = {0};
  polls = 0;
  nx_tensor *t = GOOD(sum(a, b));
  OK(nx_item(t, NX_SHAPE(3), &s, compiles() ? &o : NULL));
  assert_true((float)s.v.f[0] == values[0][3] + values[1][3]);
  OK(nx_map(t, NX_MAP_READ, &o, &m));
  nx_mapping_release(m);
  release(t);
  t = GOOD(sum(a, b));
  OK(nx_realize(ctx, &t, 1, compiles() ? &o : NULL));
  OK(nx_realize(ctx, &t, 1, &o));
  float read[N] = {0}, part[2] = {0};
  OK(nx_read(t, read, sizeof read, &o));
  assert_true(read[3] == values[0][3] + values[1][3]);
  nx_tensor *turned = GOOD(nx_slice(t, (int64_t[]){5}, (int64_t[]){2}, (int64_t[]){-2}, 1));
  OK(nx_read(turned, part, sizeof part, &o));
  assert_true(part[0] == read[5] && part[1] == read[3]);
  FAILS(NX_INTERRUPTED, nx_realize(ctx, (nx_tensor *[]){t, a}, 2, &o));
  FAILS(NX_INTERRUPTED, nx_realize(ctx, NULL, 0, &o));
  release(t);
  m = NULL;
  t = GOOD(nx_reduce_sum(GOOD(nx_full_f64(ctx, 0, NX_F64, NX_SHAPE(100000), 1)), NX_AXES(0), 0));
  FAILS(NX_INTERRUPTED, nx_item(t, NULL, 0, &s, &o));
  FAILS(NX_INTERRUPTED, nx_map(t, NX_MAP_READ, &o, &m));
  assert_null(m);
  FAILS(NX_INTERRUPTED, nx_realize(ctx, &t, 1, &o));
  FAILS(NX_INTERRUPTED, nx_read(t, &s.v, 8, &o));
  o.flags |= NX_DO_PENDING;
  FAILS(NX_INVALID_ARGUMENT, nx_read(t, &s.v, 8, &o));
  FAILS(NX_INVALID_ARGUMENT, nx_item(t, NULL, 0, &s, &o));
  FAILS(NX_INVALID_ARGUMENT, nx_realize(ctx, &t, 1, &o));
  assert_int_equal(polls, 3); /* of those that are refused: the beginning of an action */
  OK(nx_item(t, NULL, 0, &s, NULL));
  assert_true(s.v.f[0] == 100000);
}

/* While another thread has the lock of runs for long, the poll is called all the same. */
static atomic_bool is_held;
static void *hold_runs(void *arg) {
  nxi_run_lock(ctx);
  atomic_store(&is_held, true);
  usleep(300000);
  nxi_run_unlock(ctx);
  return arg;
}

static void polled_while_waiting(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  warm(sum, a, b);
  const int stop = 0;
  nx_run_options o = {.size = sizeof o, .poll = count_polls, .user = (void *)&stop};
  for (int way = 0; way < 3; way++) {
    nx_tensor *t = GOOD(sum(a, b));
    nx_mapping *m = NULL;
    nx_scalar s;
    pthread_t thread;
    atomic_store(&is_held, false);
    assert_int_equal(pthread_create(&thread, NULL, hold_runs, NULL), 0);
    while (!atomic_load(&is_held)) {}
    polls = 0;
    if (way == 0) OK(nx_realize(ctx, &t, 1, &o));
    if (way == 1) OK(nx_map(t, NX_MAP_READ, &o, &m));
    if (way == 2) OK(nx_item(t, NX_SHAPE(3), &s, &o));
    assert_in_range(polls, 5, 1000);
    pthread_join(thread, NULL);
    nx_mapping_release(m);
    release(t);
  }
}

static void traced(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  warm(sum, a, b);
  uint64_t before = ctx->brief_runs;
  nx_tensor *t = GOOD(sum(a, b));
  char path[] = "/tmp/nxt-brief-XXXXXX";
  close(mkstemp(path));
  OK(nx_trace_begin(path));
  OK(nx_realize(ctx, &t, 1, NULL));
  OK(nx_trace_end());
  unlink(path);
  assert_int_equal(ctx->brief_runs, before); /* the trace has each launch */
}

/* A value that must lie in memory which the host knows; held ones; deferred ones. */
static void placed(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1), *own = operand(ctx, 1);
  warm(sum, a, b);
  warm(chain, a, b);
  nx_mapping *m;
  OK(nx_map(own, NX_MAP_READ, NULL, &m));
  const float *at = nx_mapping_base(m, NULL);
  OK(nx_assign(own, sum(a, b)));
  OK(nx_realize(ctx, &own, 1, NULL));
  for (int i = 0; i < N; i++) assert_true(at[i] == values[0][i] + values[1][i]);
  nx_mapping_release(m);
  nx_tensor *inner = GOOD(nx_mul(a, a));
  nx_hold(inner, true);
  nx_tensor *t = GOOD(nx_sqrt(nx_add(inner, nx_mul(nx_sub(b, a), b))));
  OK(nx_realize(ctx, &t, 1, NULL));
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(inner, &info);
  assert_true(info.flags & NX_TENSOR_REALIZED);
}

static void failures(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1), *gone = operand(ctx, 1);
  warm(sum, a, b);
  const int64_t n = N;
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F32, &n, 1)), *y = GOOD(sum(a, x));
  FAILS(NX_UNBOUND, nx_realize(ctx, &y, 1, NULL));
  const uint8_t donate[] = {1};
  nx_function_options o = {.size = sizeof o, .donate = donate};
  nx_function *f;
  OK(nx_function_create(ctx, &x, 1, &y, 1, &o, &f));
  nx_tensor *out = NULL;
  OK(nx_function_call(f, &gone, 1, &out, 1, NULL));
  nx_tensor *late = GOOD(sum(a, gone));
  for (int i = 0; i < 2; i++) FAILS(NX_DONATED, nx_realize(ctx, &late, 1, NULL));
  nx_function_release(f);
}

/* Results of memory that is limited, and of none. */
static void short_of_memory(void **state) {
  (void)state;
  nx_context *outer = ctx;
  nx_context_options o = {.size = sizeof o, .memory_limit = 4096};
  OK(nx_context_create(&o, &ctx));
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1), *kept[200];
  warm(sum, a, b);
  int n = 0;
  for (nx_status status = NX_OK; !status && n < 200; n++) {
    kept[n] = GOOD(sum(a, b));
    nx_tensor *unlike = GOOD(nx_binary_f64(kept[n], NX_BINARY_ADD, 5 + n)); /* not merged */
    release(unlike);
    status = nx_realize(ctx, &kept[n], 1, NULL);
    if (status) error_says(NX_OUT_OF_MEMORY, "memory limit of 4096 bytes");
  }
  assert_in_range(n, 90, 110);
  while (n--) release(kept[n]);
  nx_stats s = {.size = sizeof s};
  nx_context_collect(ctx);
  nx_context_stats(ctx, &s);
  assert_int_equal(s.live_bytes, 2 * sizeof values[0]);
  release(a);
  release(b);
  nx_context_release(ctx);
  ctx = outer;
}

static void failing_allocations(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  warm(sum, a, b);
  nx_stats before = {.size = sizeof before}, after = before;
  nx_context_stats(ctx, &before);
  for (int fail_at = 0; fail_at < 60; fail_at++)
    for (int sticky = 0; sticky < 2; sticky++) {
      nx_tensor *t = GOOD(sum(a, b));
      nxi_alloc_fail(fail_at / 2, sticky);
      nx_status status = nx_realize(ctx, &t, 1, NULL);
      nxi_alloc_fail(-1, false);
      if (status) FAILS(NX_OUT_OF_MEMORY, status);
      float is[N];
      OK(nx_read(t, is, sizeof is, NULL));
      for (int i = 0; i < N; i++) assert_true(is[i] == values[0][i] + values[1][i]);
      release(t);
    }
  nx_context_stats(ctx, &after);
  assert_int_equal(after.live_bytes, before.live_bytes);
}

/* ---- threads, and a fork between them */

enum { ROUNDS = 3000, THREADS = 4 };

typedef struct work {
  nx_tensor *a, *b;
  bool good;
} work;

static void *add_and_read(void *arg) {
  work *w = arg;
  w->good = true;
  for (int i = 0; w->good && i < ROUNDS; i++) {
    nx_tensor *t = sum(w->a, w->b), *u = nx_binary_f64(t, NX_BINARY_MUL, 2);
    nx_scalar s[2];
    const int64_t at = i % N;
    w->good = !nx_item(u, &at, 1, &s[0], NULL) && !nx_item(t, &at, 1, &s[1], NULL) &&
              (float)s[1].v.f[0] == values[0][at] + values[1][at] &&
              (float)s[0].v.f[0] == 2 * (float)s[1].v.f[0];
    release(t);
    release(u);
  }
  return NULL;
}

static void threads(void **state) {
  (void)state;
  nx_tensor *a = operand(ctx, 0), *b = operand(ctx, 1);
  warm(sum, a, b);
  pthread_t thread[THREADS];
  work w[THREADS];
  for (int i = 0; i < THREADS; i++) {
    w[i] = (work){a, b, false};
    assert_int_equal(pthread_create(&thread[i], NULL, add_and_read, &w[i]), 0);
  }
  for (int i = 0; i < (NXT_THREAD_SANITIZER ? 0 : 5); i++) { /* a child finds every lock free */
    pid_t child = fork();
    if (child == 0) {
      work own = {a, b, false};
      alarm(60);
      add_and_read(&own);
      _exit(own.good ? 0 : 1);
    }
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < THREADS; i++) assert_true(w[i].good);
}

NXT_MAIN(brief) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(same_bits),
      IN_SCOPE(thousand),
      IN_SCOPE(four_thousand),
      IN_SCOPE(polled),
      IN_SCOPE(at_once),
      IN_SCOPE(polled_while_waiting),
      IN_SCOPE(traced),
      IN_SCOPE(placed),
      IN_SCOPE(failures),
      IN_SCOPE(short_of_memory),
      IN_SCOPE(failing_allocations),
      IN_SCOPE(threads),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
