/* SPDX-License-Identifier: ISC */
/* Softmax of the rows of a 4096 x 1024 matrix: what is recorded, the one kernel that it becomes,
 * what that costs to compile and to run, beside the speed at which this machine copies memory, and
 * beside NumPy. */
#include <nx/nx.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { ROWS = 4096, COLUMNS = 1024, RUNS = 40 };
static const size_t bytes = (size_t)ROWS * COLUMNS * sizeof(float);

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, compare);
  return times[n / 2];
}

/* The library keeps the first error of the thread: one look at the end of an expression is enough.
 * */
static void fail(void) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  fprintf(stderr, "softmax: %s\n", e.message != NULL ? e.message : "out of memory");
  exit(1);
}

static void check(nx_status status) {
  if (status != NX_OK) fail();
}

/* ---- how fast this machine copies: all processors, plain and past the caches, whichever is faster
 * */

typedef struct copier {
  pthread_barrier_t *barrier;
  char *from, *to;
  size_t bytes;
  double *times; /* of the first thread; NULL: another */
  int past_caches;
} copier;

static void copy(const copier *c) {
#ifdef __SSE2__
  if (c->past_caches) {
    for (size_t i = 0; i + 16 <= c->bytes; i += 16)
      _mm_stream_si128((__m128i *)(void *)(c->to + i),
                       _mm_load_si128((const __m128i *)(const void *)(c->from + i)));
    _mm_sfence();
    return;
  }
#endif
  memcpy(c->to, c->from, c->bytes);
}

static void *copy_repeatedly(void *argument) {
  const copier *c = argument;
  for (int i = 0; i < RUNS; i++) {
    pthread_barrier_wait(c->barrier);
    double began = now_ms();
    copy(c);
    pthread_barrier_wait(c->barrier);
    if (c->times != NULL) c->times[i] = now_ms() - began;
  }
  return NULL;
}

static double copy_ms(int past_caches) {
  cpu_set_t set;
  int threads = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (threads < 1) threads = 1;
  if (threads > 64) threads = 64;
  pthread_t thread[64];
  copier c[64];
  double times[RUNS];
  pthread_barrier_t barrier;
  char *from = aligned_alloc(4096, bytes), *to = aligned_alloc(4096, bytes);
  size_t part = bytes / (size_t)threads / 4096 * 4096;
  if (from == NULL || to == NULL || pthread_barrier_init(&barrier, NULL, (unsigned)threads) != 0)
    exit(1);
  memset(from, 1, bytes);
  memset(to, 1, bytes);
  for (int i = 0; i < threads; i++) {
    c[i] = (copier){&barrier, from + part * (size_t)i, to + part * (size_t)i,
                    part,     i == 0 ? times : NULL,   past_caches};
    if (i > 0 && pthread_create(&thread[i], NULL, copy_repeatedly, &c[i]) != 0) exit(1);
  }
  copy_repeatedly(&c[0]);
  for (int i = 1; i < threads; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&barrier);
  free(from);
  free(to);
  return median(times, RUNS);
}

/* ---- NumPy, if Debian's Python has it: the textbook form, and the one without temporaries */

static double numpy_ms(void) {
  static const char script[] =
      "/usr/bin/python3 - <<'END' 2>/dev/null\n"
      "import numpy as np, time\n"
      "x = np.random.default_rng(1).standard_normal((4096, 1024), dtype='f4')\n"
      "y = np.empty_like(x)\n"
      "def plain():\n"
      "    e = np.exp(x - x.max(1, keepdims=True))\n"
      "    return e / e.sum(1, keepdims=True)\n"
      "def careful():\n"
      "    np.subtract(x, x.max(1, keepdims=True), out=y)\n"
      "    np.exp(y, out=y)\n"
      "    np.divide(y, y.sum(1, keepdims=True), out=y)\n"
      "def median(f):\n"
      "    times = []\n"
      "    for i in range(20):\n"
      "        t = time.perf_counter(); f(); times.append(time.perf_counter() - t)\n"
      "    return sorted(times)[10]\n"
      "print(1e3 * min(median(plain), median(careful)))\n"
      "END\n";
  double ms = 0;
  FILE *f = popen(script, "r");
  if (f == NULL) return 0;
  if (fscanf(f, "%lf", &ms) != 1) ms = 0;
  pclose(f);
  return ms;
}

/* ---- the job */

static nx_tensor *softmax(nx_tensor *x) {
  nx_tensor *m = nx_reduce_max(x, NX_AXES(1), NX_KEEPDIMS);
  nx_tensor *e = nx_exp(nx_sub(x, m));
  return nx_div(e, nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS));
}

static nx_tensor *make_input(nx_context *context) {
  float *data = malloc(bytes);
  uint32_t state = 1;
  nx_tensor *x = nx_empty(context, 0, NX_F32, NX_SHAPE(ROWS, COLUMNS));
  if (data == NULL) exit(1);
  for (size_t i = 0; i < bytes / sizeof *data; i++) {
    state = state * 1664525 + 1013904223;
    data[i] = (float)(state >> 8) * 0x1p-21f - 4;
  }
  check(nx_write(x, data, bytes, NULL));
  free(data);
  return x;
}

/* A dump runs nothing. */
static void show(nx_tensor *y, const char *stage, const char *title) {
  char *text = NULL;
  check(nx_dump(&y, 1, stage, &text));
  printf("%s\n%s\n", title, text);
  nx_string_free(text);
}

/* Instructions are the lines of the assembly that are neither labels nor directives. */
static int count_instructions(nx_tensor *y) {
  char *text = NULL;
  int n = 0;
  nx_error ignored = {.size = sizeof ignored};
  if (nx_dump(&y, 1, "asm", &text) != NX_OK) return nx_error_take(&ignored), 0;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
    n += line[0] == '\t' && line[1] != '.' && line[1] != '#';
  nx_string_free(text);
  return n;
}

/* Captured once, called many times, always into the same memory. */
static double run_ms(nx_context *context, nx_tensor *x, nx_tensor *y) {
  nx_tensor *in = nx_placeholder(context, 0, NX_F32, NX_SHAPE(ROWS, COLUMNS));
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *out = nx_keep(softmax(in));
  nx_scope_end(scope);
  nx_function *f;
  double times[RUNS];
  check(nx_function_create(context, &in, 1, &out, 1, NULL, &f));
  for (int i = 0; i < RUNS; i++) {
    double began = now_ms();
    check(nx_function_call(f, &x, 1, &y, 1, NULL));
    times[i] = now_ms() - began;
  }
  nx_tensor_release(in);
  nx_tensor_release(out);
  nx_function_release(f);
  return median(times, RUNS);
}

int main(void) {
  nx_context *context;
  nx_report report = {.size = sizeof report};
  nx_run_options options = {.size = sizeof options, .report = &report};
  check(nx_context_create(NULL, &context));
  nx_tensor *x = make_input(context);
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *y = nx_keep(softmax(x));
  nx_scope_end(scope);
  if (y == NULL) fail();

  show(y, "graph", "What was recorded:");
  show(y, "kernels", "What it becomes, one kernel:");
  int instructions = count_instructions(y);
  check(nx_realize(context, &y, 1, &options));
  double ms = run_ms(context, x, y), plain = copy_ms(0), past = copy_ms(1);
  double limit = plain < past ? plain : past, numpy = numpy_ms();

  if (report.interpreted > 0) printf("interpreted      this build makes no machine code\n");
  else
    printf("kernels          %llu, %d instructions\n", (unsigned long long)report.kernels,
           instructions);
  if (report.kernel_misses > 0) printf("compile          %.1f ms\n", report.compile_ms);
  else if (report.kernel_disk_hits > 0) printf("compile          none: the cache on disk had it\n");
  printf("run              %.3f ms, %.1f GB/s\n", ms, 2 * (double)bytes / ms * 1e-6);
  printf("copy of as much  %.3f ms: softmax runs at %.0f%% of the speed of a copy\n", limit,
         100 * limit / ms);
  if (numpy > 0) printf("NumPy's best     %.3f ms, %.1f times slower\n", numpy, numpy / ms);
  else printf("NumPy            not on this machine\n");

  nx_tensor_release(x);
  nx_tensor_release(y);
  nx_context_release(context);
  return 0;
}
