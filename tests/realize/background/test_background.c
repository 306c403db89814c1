/* SPDX-License-Identifier: ISC */
/* Code that is made in the background: a brief graph is interpreted until its code is there, with
 * the same bits; several threads, fork, the end of the process and of the context while code is
 * being made. */
#include "tests/util/api.h"
#include "tests/util/sanitizers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 10000, SECONDS = 60, STATUS = 7, THREADS = 4, WIDE = 64 };

static void pause_briefly(void) { nanosleep(&(struct timespec){0, 200000}, NULL); }

static nx_context *new_context(void) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  OK(nx_context_create(&o, &c));
  return c;
}

/* A graph of some 20 operations, another for each `kind`. */
static nx_tensor *record(nx_context *c, int kind) {
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(-3), NX_NUMBER(1e-3), N), *y = x;
  nx_tensor *third = nx_full(c, 0, NX_F32, NULL, 0, NX_NUMBER(1.0 / 3));
  for (int i = 0; i < 6; i++) {
    nx_tensor *product = nx_mul(y, x), *sum = nx_add(product, third),
              *z = kind >> i & 1 ? nx_abs(sum) : nx_sub(sum, x);
    if (y != x) nx_tensor_release(y);
    nx_tensor_release(product), nx_tensor_release(sum);
    y = z;
  }
  nx_tensor_release(x), nx_tensor_release(third);
  return y;
}

/* Records and computes it. Returns whether it was interpreted, or computed by another thread, which
 * recorded the same at the same time. */
static bool compute(nx_context *c, int kind, uint32_t *data) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *y = record(c, kind);
  nx_status status = nx_read(y, data, N * sizeof *data, &o);
  nx_tensor_release(y);
  if (status != NX_OK || report.runs > 1) abort();
  return report.interpreted == report.runs;
}

/* Computes it until it is compiled. Returns how often it was interpreted. */
static int compute_until_compiled(nx_context *c, int kind, const uint32_t *expected) {
  static _Thread_local uint32_t data[N];
  const time_t begin = time(NULL);
  for (int times = 0;; times++) {
    bool interpreted = compute(c, kind, data);
    if (expected && memcmp(data, expected, sizeof data) != 0) abort();
    if (!interpreted) return times;
    if (time(NULL) - begin > SECONDS) abort();
    pause_briefly();
  }
}

static void interpreted_until_code_is_there(void **state) {
  static uint32_t first[N], data[N];
  nx_context *c = new_context();
  (void)state;
  assert_true(compute(c, 1, first));
  assert_int_equal(kernels_compiled(c), 0); /* it may never come again */
  assert_true(compute(c, 1, data));
  assert_memory_equal(data, first, sizeof data);
  assert_in_range(compute_until_compiled(c, 1, first), 0, 100000);
  assert_int_equal(kernels_compiled(c), 1);
  assert_false(compute(c, 1, data));
  nx_context_release(c);
}

/* Of many graphs that are met once each, what interprets the older ones is let go of. One that
 * comes again has the same bits, and then code, as if it had been the only one. */
static void met_again_after_many(void **state) {
  enum { KINDS = 40 };
  static uint32_t first[KINDS][N], data[N];
  nx_context *c = new_context();
  (void)state;
  for (int kind = 0; kind < KINDS; kind++) assert_true(compute(c, kind, first[kind]));
  assert_int_equal(kernels_compiled(c), 0);
  for (int kind = 0; kind < KINDS; kind += 13) {
    assert_true(compute(c, kind, data));
    assert_memory_equal(data, first[kind], sizeof data);
    assert_in_range(compute_until_compiled(c, kind, first[kind]), 0, 100000);
  }
  assert_int_equal(kernels_compiled(c), (KINDS + 12) / 13);
  nx_context_release(c);
}

/* ---- a process that has not compiled anything yet: children of one that has not, either */

/* 20 operations on n elements, of another order for each `kind`. Returns whether they were
 * interpreted; *found: whether their code was on disk. */
static bool chain(nx_context *c, int kind, int64_t n, bool *found) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  const int64_t place = n / 2 + 1;
  nx_scalar at;
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(0x1p-20), n), *y = x;
  for (int i = 0; i < 20; i++) y = kind >> i & 1 ? nx_mul(y, x) : nx_sub(y, x);
  OK(nx_item(y, &place, 1, &at, &o));
  float expected = (float)place * 0x1p-20f, first = expected;
  for (int i = 0; i < 20; i++) expected = kind >> i & 1 ? expected * first : expected - first;
  if (at.v.f[0] != (double)expected) abort();
  nx_scope_end(s);
  if (found) *found = report.kernel_disk_hits == 1;
  return report.interpreted == report.runs;
}

static void end_child(int (*work)(const char *), const char *folder) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) exit(work(folder));
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), STATUS);
}

enum { LONG = 400000 }; /* some 3 ms for the interpreter */

/* Nothing is kept on disk, so what is met once alone gets no code. */
static int work_without_disk(const char *folder) {
  nx_context *c = new_context();
  (void)folder;
  if (!chain(c, 1, LONG, NULL)) return 1;
  for (int i = 0; i < 50; i++) pause_briefly();
  if (kernels_compiled(c) != 0) return 2;
  for (const time_t begin = time(NULL); chain(c, 1, LONG, NULL); pause_briefly())
    if (time(NULL) - begin > SECONDS) return 3;
  if (kernels_compiled(c) != 1 || chain(c, 2, LONG, NULL)) return 4; /* the compiler is there */
  nx_context_release(c);
  return STATUS;
}

/* A program of many such graphs comes to its compiler. */
static int work_on_many(const char *folder) {
  nx_context *c = new_context();
  int interpreted = 0;
  (void)folder;
  while (chain(c, interpreted, LONG, NULL)) interpreted++;
  if (interpreted < 1 || interpreted > 8) return 1;
  nx_context_release(c);
  return STATUS;
}

static nx_context *context_on(const char *folder) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = folder};
  OK(nx_context_create(&o, &c));
  return c;
}

/* Code is made without being asked for, since it is kept. */
static int work_once(const char *folder) {
  nx_context *c = context_on(folder);
  if (!chain(c, 5, LONG, NULL)) return 1;
  const time_t begin = time(NULL);
  while (kernels_compiled(c) == 0) {
    pause_briefly();
    if (time(NULL) - begin > SECONDS) return 2;
  }
  nx_context_release(c);
  return STATUS;
}

static int work_again(const char *folder) {
  nx_context *c = context_on(folder);
  bool found;
  if (chain(c, 5, LONG, &found) || !found) return 1;
  nx_context_release(c);
  return STATUS;
}

static void first_results_do_not_wait_for_the_compiler(void **state) {
  char folder[] = "/tmp/nx-test-background-XXXXXX", command[64];
  (void)state;
  if (NXT_THREAD_SANITIZER) skip();
  assert_non_null(mkdtemp(folder));
  end_child(work_without_disk, NULL);
  end_child(work_on_many, NULL);
  end_child(work_once, folder);
  end_child(work_again, folder);
  snprintf(command, sizeof command, "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

/* What the interpreter would take long for is compiled at once. */
static void long_work_is_compiled_at_once(void **state) {
  nx_context *c = new_context();
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-3), 10000000), *y = nx_exp(x);
  (void)state;
  OK(nx_realize(c, &y, 1, &o));
  assert_int_equal(report.interpreted, 0);
  assert_int_equal(report.kernels, 1);
  nx_tensor_release(x), nx_tensor_release(y);
  nx_context_release(c);
}

/* ---- kernels that do little, in graphs that are compiled at once */

/* The sum of the squares of a product, beside the exponentials of a row, which are added to a row
 * of `assigned` if it is not NULL. Returns how many kernels they have. */
static uint32_t squares(nx_context *c, nx_tensor *x, nx_tensor *assigned, uint32_t bits[2]) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  const int64_t begin[2] = {1, 0}, end[2] = {2, 300}, place[1] = {7};
  nx_tensor *product = nx_matmul(x, x), *square = nx_mul(product, product);
  nx_tensor *made[3] = {nx_reduce_sum(square, NX_ALL_AXES, 0), NULL, assigned};
  nx_tensor_release(product), nx_tensor_release(square); /* or it would be a result, too */
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *row = nx_shrink(x, begin, end, 2);
  made[1] = nx_reshape(nx_exp(row), (const int64_t[]){300}, 1, 0);
  if (assigned) OK(nx_assign(nx_shrink(assigned, begin, end, 2), nx_exp(nx_add(row, made[0]))));
  OK(nx_realize(c, made, assigned ? 3 : 2, &o));
  nx_scalar item;
  OK(nx_read(made[0], &bits[0], sizeof *bits, NULL));
  OK(nx_item(made[1], place, 1, &item, NULL));
  const float f = (float)item.v.f[0];
  memcpy(&bits[1], &f, sizeof f);
  nx_scope_end(s);
  nx_tensor_release(made[0]);
  assert_int_equal(report.interpreted, 0);
  return report.kernels;
}

/* The exponentials of a row do not wait for code: they are interpreted with the same bits. Other
 * kernels have code that is made in haste; that of all is made once the graph was met again. */
static void kernels_that_do_little(void **state) {
  nx_context *c = new_context();
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(-1), NX_NUMBER(3e-5), 300 * 300),
            *square = nx_reshape(x, (int64_t[]){300, 300}, 2, 0);
  uint32_t first[2], bits[2];
  (void)state;
  OK(nx_realize(c, &square, 1, NULL));
  const uint64_t before = kernels_compiled(c);
  const uint32_t kernels = squares(c, square, NULL, first), all = 2 * kernels - 1;
  assert_true(kernels >= 2);
  assert_int_equal(kernels_compiled(c), before + kernels - 1);
  for (int i = 0; i < 20; i++) pause_briefly();
  assert_int_equal(kernels_compiled(c), before + kernels - 1); /* it may never come again */
  for (const time_t begin = time(NULL); kernels_compiled(c) < before + all;) {
    assert_int_equal(squares(c, square, NULL, bits), kernels);
    assert_memory_equal(bits, first, sizeof bits);
    assert_true(time(NULL) - begin <= SECONDS);
  }
  for (int i = 0; i < 20; i++) pause_briefly();
  assert_int_equal(squares(c, square, NULL, bits), kernels);
  assert_memory_equal(bits, first, sizeof bits);
  assert_int_equal(kernels_compiled(c), before + all);
  nx_tensor_release(x), nx_tensor_release(square);
  nx_context_release(c);
}

/* Nor is code made for later processes where the disk cache is turned off by the environment. */
static void nothing_for_later_processes(void **state) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2};
  (void)state;
  assert_int_equal(setenv("NX_CACHE_DIR", "", 1), 0);
  OK(nx_context_create(&o, &c));
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(-1), NX_NUMBER(3e-5), 300 * 300),
            *square = nx_reshape(x, (int64_t[]){300, 300}, 2, 0);
  uint32_t bits[2];
  OK(nx_realize(c, &square, 1, NULL));
  const uint64_t before = kernels_compiled(c);
  const uint32_t kernels = squares(c, square, NULL, bits);
  for (int i = 0; i < 500; i++) pause_briefly();
  assert_int_equal(kernels_compiled(c), before + kernels - 1);
  nx_tensor_release(x), nx_tensor_release(square);
  nx_context_release(c);
}

/* The interpreter may find no memory, and must not once an array is being overwritten. */
static void little_beside_assignments(void **state) {
  nx_context *c = new_context();
  nx_tensor *arrays[2];
  uint32_t bits[2];
  (void)state;
  for (int i = 0; i < 2; i++)
    arrays[i] = nx_full(c, 0, NX_F32, (int64_t[]){300, 300}, 2, NX_NUMBER(i ? 0 : 1e-3));
  OK(nx_realize(c, arrays, 2, NULL));
  const uint64_t before = kernels_compiled(c);
  const uint32_t kernels = squares(c, arrays[0], arrays[1], bits);
  assert_true(kernels >= 2);
  /* the row that is assigned does as little, and has code */
  assert_true(kernels_compiled(c) - before >= kernels - 1);
  nx_tensor_release(arrays[0]), nx_tensor_release(arrays[1]);
  nx_context_release(c);
}

/* A row is assigned to a cache, whose rows so far are multiplied by a column. Returns whether it
 * was interpreted. */
static bool append(nx_context *c, nx_tensor *cache, int64_t row) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *place = nx_shrink(cache, (int64_t[]){row, 0}, (int64_t[]){row + 1, WIDE}, 2);
  OK(nx_assign(place, nx_full(c, 0, NX_F32, (int64_t[]){1, WIDE}, 2, NX_NUMBER((double)row))));
  nx_tensor *rows = nx_shrink(cache, (int64_t[]){0, 0}, (int64_t[]){row + 1, WIDE}, 2);
  nx_tensor *ones = nx_full(c, 0, NX_F32, (int64_t[]){WIDE, 1}, 2, NX_NUMBER(1));
  nx_tensor *product = nx_matmul(rows, nx_exp(nx_sub(ones, ones)));
  float got[100];
  OK(nx_read(product, got, (size_t)(row + 1) * sizeof *got, &o));
  for (int64_t i = 0; i <= row; i++) assert_true(got[i] == (float)(WIDE * i));
  nx_scope_end(s);
  return report.interpreted == report.runs;
}

/* Updates and products of small matrices are brief, too. They are few, since it is time that is
 * counted, and a busy machine takes its time. */
static void caches_that_grow(void **state) {
  nx_context *c = new_context();
  nx_tensor *cache = nx_full(c, 0, NX_F32, (int64_t[]){100, WIDE}, 2, NX_NUMBER(0));
  (void)state;
  OK(nx_realize(c, &cache, 1, NULL));
  for (int64_t row = 0; row < 8; row++) assert_true(append(c, cache, row));
  assert_int_equal(kernels_compiled(c), 0);
  nx_tensor_release(cache);
  nx_context_release(c);
}

/* Returns whether the sines of n numbers were interpreted. Nobody waits for code. */
static bool sines(nx_context *c, int64_t n) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-3), n), *y = nx_sin(x),
            *z = nx_sin(y);
  OK(nx_realize(c, &z, 1, &o));
  nx_tensor_release(x), nx_tensor_release(y), nx_tensor_release(z);
  assert_true(report.compile_ms == 0);
  return report.interpreted == report.runs;
}

/* Graphs that never come again are compiled in the background as soon as many alike have been
 * met. */
static void code_of_changing_shapes(void **state) {
  nx_context *c = new_context();
  int64_t n = 40000;
  const time_t begin = time(NULL);
  (void)state;
  for (; sines(c, n); n++) assert_true(time(NULL) - begin <= SECONDS);
  assert_true(n > 40000);
  for (int i = 0; i < 20; i++) assert_false(sines(c, ++n));
  assert_in_range(kernels_compiled(c), 1, 2);
  nx_context_release(c);
}

/* What is interpreted sooner than code is found for its shape never gets any, but if it is met
 * again. */
static void small_graphs_of_changing_shapes(void **state) {
  nx_context *c = new_context();
  (void)state;
  for (int64_t n = 1400; n < 2600; n++) assert_true(sines(c, n));
  assert_int_equal(kernels_compiled(c), 0);
  const time_t begin = time(NULL);
  while (sines(c, 2000)) {
    assert_true(time(NULL) - begin <= SECONDS);
    pause_briefly();
  }
  assert_int_equal(kernels_compiled(c), 1);
  nx_context_release(c);
}

/* Returns whether the sums of the columns of 40 rows of n numbers were interpreted. */
static bool column_sums(nx_context *c, nx_tensor *numbers, int64_t n) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  const int64_t first = 0, end = 40 * n;
  nx_tensor *x = nx_shrink(numbers, &first, &end, 1),
            *y = nx_reshape(x, (const int64_t[]){40, n}, 2, 0),
            *z = nx_reduce_sum(y, NX_AXES(0), 0);
  OK(nx_realize(c, &z, 1, &o));
  nx_tensor_release(x), nx_tensor_release(y), nx_tensor_release(z);
  return report.interpreted == report.runs;
}

/* Sums of floats across rows, whose columns the interpreter adds up beside each other, get no code;
 * those of integers take it longer, so they do. */
static void sums_across_changing_rows(void **state) {
  nx_context *c = new_context();
  nx_tensor *x = nx_arange(c, 0, NX_I32, NX_NUMBER(0), NX_NUMBER(1), 1 << 20),
            *floats = nx_arange(c, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), 1 << 20);
  (void)state;
  OK(nx_realize(c, &x, 1, NULL));
  OK(nx_realize(c, &floats, 1, NULL));
  for (int64_t n = 1000; n < 1500; n++) assert_true(column_sums(c, floats, n));
  nx_tensor_release(floats);
  const time_t begin = time(NULL);
  for (int64_t n = 1000; column_sums(c, x, n); n = n < 1500 ? n + 1 : 1000)
    assert_true(time(NULL) - begin <= SECONDS);
  for (int64_t n = 1501; n < 1520; n++) assert_false(column_sums(c, x, n));
  nx_tensor_release(x);
  nx_context_release(c);
}

/* Attention of one position to a cache of n rows. Returns whether it was interpreted. */
static bool attend(nx_context *c, nx_tensor *cache, int64_t n) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_scope *s = nx_scope_begin(c);
  nx_tensor *x = nx_shrink(cache, (int64_t[]){0, 0}, (int64_t[]){n, WIDE}, 2),
            *query = nx_shrink(x, (int64_t[]){n - 1, 0}, (int64_t[]){n, WIDE}, 2),
            *scores = nx_matmul(query, nx_permute(x, (int32_t[]){1, 0}, 2)),
            *e = nx_exp(nx_sub(scores, nx_reduce_max(scores, (int32_t[]){1}, 1, 1))),
            *y = nx_matmul(nx_div(e, nx_reduce_sum(e, (int32_t[]){1}, 1, 1)), x);
  OK(nx_realize(c, &y, 1, &o));
  nx_scope_end(s);
  assert_true(report.compile_ms == 0);
  return report.interpreted == report.runs;
}

/* What the first code does not serve is made in the background, too, and interpreted meanwhile. */
static void nobody_waits_for_code(void **state) {
  nx_context *c = new_context();
  nx_tensor *cache = nx_full(c, 0, NX_F32, (int64_t[]){5000, WIDE}, 2, NX_NUMBER(0.01));
  int interpreted = 0;
  (void)state;
  OK(nx_realize(c, &cache, 1, NULL));
  for (int64_t n = 4000; n < 4200; n++) interpreted += attend(c, cache, n);
  assert_true(interpreted > 1);
  assert_true(kernels_compiled(c) > 0 || interpreted == 200);
  nx_tensor_release(cache);
  nx_context_release(c);
}

static nx_context *shared;
static uint32_t expected[N];

static void *compute_shared(void *unused) {
  (void)unused;
  compute_until_compiled(shared, 2, expected);
  return NULL;
}

static void several_threads(void **state) {
  pthread_t threads[THREADS];
  (void)state;
  shared = new_context();
  compute(shared, 2, expected);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, compute_shared, NULL), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(kernels_compiled(shared), 1);
  nx_context_release(shared);
}

/* The context ends before its code is there, at any moment. */
static void context_ends_meanwhile(void **state) {
  static uint32_t data[N];
  (void)state;
  for (int i = 0; i < 20; i++) {
    nx_context *c = new_context();
    for (int kind = 0; kind < 4; kind++) {
      compute(c, 4 * i + kind, data);
      compute(c, 4 * i + kind, data);
    }
    for (int k = 0; k < i; k++) pause_briefly();
    nx_context_release(c);
  }
}

static void expect_end(pid_t child, int wanted) {
  int status = 0;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), wanted);
}

/* A child has no background thread: it starts one of its own. */
static void fork_meanwhile(void **state) {
  static uint32_t data[N];
  (void)state;
  if (NXT_THREAD_SANITIZER) skip();
  for (int i = 0; i < 6; i++) {
    nx_context *c = new_context();
    compute(c, 8 + i, data);
    compute(c, 8 + i, data);
    for (int k = 0; k < 3 * i; k++) pause_briefly();
    pid_t child = fork();
    if (child == 0) {
      compute_until_compiled(c, 8 + i, data);
      nx_context_release(c);
      _exit(STATUS);
    }
    expect_end(child, STATUS);
    compute_until_compiled(c, 8 + i, data);
    nx_context_release(c);
  }
}

/* A process ends with its own status while code is being made, with or without its context. */
static void exit_meanwhile(void **state) {
  static uint32_t data[N];
  (void)state;
  if (NXT_THREAD_SANITIZER) skip();
  fflush(NULL);
  for (int i = 0; i < 8; i++) {
    pid_t child = fork();
    if (child == 0) {
      nx_context *c = new_context();
      for (int kind = 0; kind < 4; kind++) compute(c, kind, data), compute(c, kind, data);
      for (int k = 0; k < 4 * i; k++) pause_briefly();
      if (i % 2) nx_context_release(c);
      exit(STATUS);
    }
    expect_end(child, STATUS);
  }
}

/* ---- few addresses are left */

enum { KINDS = 12, TIMES = 5, LACKING = 8 };

static bool limit_addresses(long mib) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  bool good = f && fscanf(f, "%ld", &pages) == 1;
  if (f) fclose(f);
  struct rlimit limit = {(rlim_t)(pages * sysconf(_SC_PAGESIZE) + (mib << 20)), RLIM_INFINITY};
  return good && setrlimit(RLIMIT_AS, &limit) == 0;
}

/* Returns the exit status: whether any call failed. */
static int work_within(long mib) {
  static uint32_t data[N];
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = ""};
  if (!limit_addresses(mib) || nx_context_create(&o, &c) != NX_OK) return 1;
  for (int kind = 0; kind < KINDS; kind++)
    for (int k = 0; k < TIMES; k++) {
      nx_tensor *y = record(c, kind);
      if (nx_read(y, data, sizeof data, NULL) != NX_OK) return LACKING;
      nx_tensor_release(y);
      for (int i = 0; i < 10; i++) pause_briefly();
    }
  nx_context_release(c);
  return STATUS;
}

/* A thread without a heap of its own does not compile: it would take what the others need. */
static void few_addresses(void **state) {
  (void)state;
  if (NXT_SANITIZED) skip();
  for (long mib = 12; mib <= 48; mib *= 2) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(work_within(mib));
    expect_end(child, STATUS);
  }
}

NXT_MAIN(background) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_results_do_not_wait_for_the_compiler), /* nothing is compiled yet */
      cmocka_unit_test(interpreted_until_code_is_there),
      cmocka_unit_test(met_again_after_many),
      cmocka_unit_test(long_work_is_compiled_at_once),
      cmocka_unit_test(kernels_that_do_little),
      cmocka_unit_test(nothing_for_later_processes),
      cmocka_unit_test(little_beside_assignments),
      cmocka_unit_test(caches_that_grow),
      cmocka_unit_test(code_of_changing_shapes),
      cmocka_unit_test(small_graphs_of_changing_shapes),
      cmocka_unit_test(sums_across_changing_rows),
      cmocka_unit_test(nobody_waits_for_code),
      cmocka_unit_test(several_threads),
      cmocka_unit_test(context_ends_meanwhile),
      cmocka_unit_test(exit_meanwhile),
      cmocka_unit_test(fork_meanwhile),
      cmocka_unit_test(few_addresses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
