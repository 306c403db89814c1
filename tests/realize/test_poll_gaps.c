/* SPDX-License-Identifier: ISC */
/* Measures the longest time between two calls of the poll while the library compiles, plans,
 * computes, copies, reads and writes. At most 20 ms are promised on an idle machine. A second
 * thread that sleeps measures how late the system wakes threads, and the bound is increased by
 * that. */
#include "tests/util/api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "codegen_llvm/codegen_llvm.h"

enum { MOST_GAPS = 1 << 16 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Numbers of elements for work that takes some time; fewer for interpreters. */
static int64_t sized(int64_t n) { return nxl_unavailable() ? n / 64 : n; }

/* ---- the measurement */

typedef struct gaps {
  pthread_t caller;
  double began, last, largest;
  float all[MOST_GAPS];
  int n;
  bool elsewhere; /* a poll came on another thread */
} gaps;
static gaps g;

static void note(void) {
  double now = now_ms(), gap = now - g.last;
  if (gap > g.largest) g.largest = gap;
  if (g.n < MOST_GAPS) g.all[g.n++] = (float)gap;
  g.last = now;
}

static int32_t poll(void *user) {
  (void)user;
  g.elsewhere |= !pthread_equal(pthread_self(), g.caller);
  note();
  return 0;
}

static const nx_run_options *begin(void) {
  static nx_run_options options = {.size = sizeof options, .poll = poll};
  g = (gaps){.caller = pthread_self(), .began = now_ms(), .last = now_ms()};
  return &options;
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* ---- how late the system is */

static atomic_bool watching;
static _Atomic double latest_ms;

static void *watch(void *arg) {
  while (atomic_load(&watching)) {
    double before = now_ms();
    usleep(5000);
    double late = now_ms() - before - 5;
    if (late > atomic_load(&latest_ms)) atomic_store(&latest_ms, late);
  }
  return arg;
}

static pthread_t watcher;

static int start_watching(void **state) {
  atomic_store(&watching, true);
  return open_context(state) || pthread_create(&watcher, NULL, watch, NULL);
}

static int stop_watching(void **state) {
  atomic_store(&watching, false);
  pthread_join(watcher, NULL);
  return close_context(state);
}

/* ---- bounds */

static bool is_free(void) {
  double load[1];
  return getloadavg(load, 1) == 1 && load[0] < (double)sysconf(_SC_NPROCESSORS_ONLN);
}

static void end(const char *what) {
  note();
  double late = atomic_exchange(&latest_ms, 0), total = g.last - g.began;
  qsort(g.all, (size_t)g.n, sizeof *g.all, by_size);
  double median = (double)g.all[g.n / 2], bound = late < 2 && is_free() ? 20 : 100 + 4 * late;
  printf(
      "%-40s %6d polls in %8.1f ms, median gap %5.2f ms, largest %6.2f ms; wake-ups %.1f ms late\n",
      what, g.n - 1, total, median, g.largest, late);
  assert_false(g.elsewhere);
  assert_true(g.n > 1);
  assert_true(median <= 20 + late);
  if (g.largest > bound) fail_msg("%s: %.1f ms without a poll", what, g.largest);
}

static nx_context *without_cache(void) {
  nx_context_options o = {.size = sizeof o, .cache_dir = ""};
  nx_context *c = NULL;
  OK(nx_context_create(&o, &c));
  return c;
}

/* ---- compiling */

/* As large as kernels become, with the operations that expand to the most instructions. */
static nx_tensor *heavy(nx_tensor *x, int operations) {
  nx_tensor *y = x;
  for (int i = 0; i < operations; i++)
    y = i % 4 == 0 ? nx_sin(y) : i % 4 == 1 ? nx_pow(y, x) : i % 4 == 2 ? nx_tan(y) : nx_add(y, x);
  return y;
}

static void compiling(void **state) {
  (void)state;
  nx_context *c = without_cache();
  for (int i = 0; i < 2; i++) {
    nx_scope *s = nx_scope_begin(c);
    nx_dtype t = i ? NX_F64 : NX_F32;
    nx_tensor *x = GOOD(nx_arange(c, 0, t, NX_NUMBER(0.5), NX_NUMBER(1e-4), 5000));
    nx_tensor *y = GOOD(heavy(x, 127));
    OK(nx_realize(c, &y, 1, begin()));
    end(i ? "a large kernel, f64" : "a large kernel, f32");
    nx_scope_end(s);
  }
  nx_context_release(c);
}

/* ---- planning, and many small kernels */

static void long_chain(void **state) {
  (void)state;
  nx_context *c = without_cache();
  nx_tensor *x = GOOD(nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 16));
  nx_tensor *one = GOOD(nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(1))), *y = nx_tensor_retain(x);
  for (int i = 0; i < 1000000; i++) {
    nx_tensor *next = i & 1 ? nx_neg(y) : nx_add(y, one);
    nx_tensor_release(y);
    y = next;
  }
  GOOD(y);
  OK(nx_realize(c, &y, 1, begin()));
  end("a chain of 10^6 operations");
  release(x), release(one), release(y);
  nx_context_collect(c);
  nx_context_release(c);
}

static void many_kernels(void **state) {
  (void)state;
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = vector(512, 0, 1e-3f), *y = x;
  int64_t shape = 512;
  for (int i = 0; i < 400; i++) /* each sum ends a kernel */
    y = nx_add(
        x, nx_expand(nx_mul(nx_reduce_sum(y, NX_AXES(0), NX_KEEPDIMS), number(1e-4f)), &shape, 1));
  GOOD(y);
  OK(nx_realize(ctx, &y, 1, begin()));
  end("400 small kernels");
  nx_scope_end(s);
}

/* ---- computing */

static void computing(void **state) {
  (void)state;
  nx_scope *s = nx_scope_begin(ctx);
  nx_tensor *x = GOOD(nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), sized(1 << 28)));
  nx_tensor *sum = GOOD(nx_reduce_sum(nx_sin(x), NX_AXES(0), 0));
  OK(nx_realize(ctx, &sum, 1, begin()));
  end("a sum of 2^28 sines");
  int64_t n = 2048, side[2] = {n, n};
  nx_tensor *line = GOOD(nx_arange(ctx, 0, NX_F64, NX_NUMBER(-1), NX_NUMBER(1e-6), n * n));
  nx_tensor *a = GOOD(nx_reshape(line, side, 2, 0));
  OK(nx_realize(ctx, &a, 1, NULL));
  nx_tensor *product = GOOD(nx_matmul(a, a));
  OK(nx_realize(ctx, &product, 1, begin()));
  end("a product of 2048 x 2048, f64");
  nx_scope_end(s);
}

/* One task that cannot be divided: a product of integers adds in order. */
static void one_long_task(void **state) {
  (void)state;
  nx_scope *s = nx_scope_begin(ctx);
  int64_t n = sized(1 << 27);
  nx_tensor *x = GOOD(nx_arange(ctx, 0, NX_I64, NX_INTEGER(0), NX_INTEGER(1), n));
  nx_tensor *y =
      GOOD(nx_matmul(nx_reshape(x, NX_SHAPE(1, n), 0), nx_reshape(x, NX_SHAPE(n, 1), 0)));
  OK(nx_realize(ctx, &y, 1, begin()));
  end("an inner product of 2^27 integers");
  nx_scope_end(s);
}

/* Many short phases, and few long ones. */
static void transforms(void **state) {
  (void)state;
  nx_scope *s = nx_scope_begin(ctx);
  static const int64_t shapes[][2] = {{1 << 11, 1 << 11}, {1, 2000003}, {20011, 100}};
  for (int i = 0; i < 3; i++) {
    int64_t n = shapes[i][0] * shapes[i][1];
    nx_tensor *line = GOOD(nx_arange(ctx, 0, NX_F64, NX_NUMBER(-1), NX_NUMBER(1e-6), n)),
              *x = GOOD(nx_cast(nx_reshape(line, shapes[i], 2, 0), NX_C128));
    OK(nx_realize(ctx, &x, 1, NULL));
    nx_tensor *y = GOOD(nx_fft(x, NX_AXES(0, 1)));
    OK(nx_realize(ctx, &y, 1, begin()));
    char name[64];
    snprintf(name, sizeof name, "a Fourier transform of %lld x %lld", (long long)shapes[i][0],
             (long long)shapes[i][1]);
    end(name);
  }
  nx_scope_end(s);
}

/* ---- moving data */

static int32_t stop_third(void *user) { return ++*(int *)user == 3; }

static void moving(void **state) {
  (void)state;
  nx_scope *s = nx_scope_begin(ctx);
  int64_t n = INT64_C(1) << 25;
  float *data = malloc((size_t)n * sizeof *data);
  assert_non_null(data);
  for (int64_t i = 0; i < n; i++) data[i] = (float)i;
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(1 << 12, 1 << 13)));
  OK(nx_write(x, data, (size_t)n * sizeof *data, begin()));
  end("writing 128 MiB");
  nx_tensor *turned = GOOD(nx_permute(x, NX_AXES(1, 0)));
  OK(nx_read(turned, data, (size_t)n * sizeof *data, begin()));
  end("reading 128 MiB, transposed");
  nx_run_options third = {.size = sizeof third, .poll = stop_third, .user = &(int){0}};
  FAILS(NX_INTERRUPTED, nx_read(turned, data, (size_t)n * sizeof *data, &third));
  char path[] = "/tmp/nx-poll-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  OK(nx_save_npy(turned, path, begin()));
  end("saving 128 MiB, transposed");
  unlink(path);
  free(data);
  nx_scope_end(s);
}

#define T(f) cmocka_unit_test_teardown(f, nothing_left)

NXT_MAIN(poll_gaps) {
  const struct CMUnitTest tests[] = {T(compiling),     T(long_chain), T(many_kernels), T(computing),
                                     T(one_long_task), T(transforms), T(moving)};
  return cmocka_run_group_tests(tests, start_watching, stop_watching);
}
