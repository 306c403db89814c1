/* SPDX-License-Identifier: ISC */
/* A long-running process: it realises graphs that are always new, and some that recur and are
 * compiled; it assigns in place, uses functions, imports and files, and makes calls that fail, on
 * two threads in one context and in contexts that are created and released. After a warm-up nothing
 * may grow: memory of the process and of the allocator, the library's own statistics, descriptors,
 * threads, files of the cache.
 *
 *   soak REALISES FOLDER      FOLDER is made: the cache, and a file that is written again and
 *                             again. */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nx/nx.h"
#include "tests/util/random_values.h"

enum { ROUNDS = 60, THREADS = 2, COMPILED = 12, LARGE = 20000 };

static const char *folder;
static nx_context *shared; /* lives as long as the program */
static bool novel;         /* in it, some kernels are new each time */
static _Atomic int64_t realises;

static _Noreturn void wrong(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("wrong: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static void must(nx_status status, const char *what) {
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  if (status) wrong("%s: %s: %s", what, nx_status_name(status), e.message);
}

/* A worker. Its tensors are in the scope of a step, except one that is kept. */
typedef struct worker {
  nx_context *c;
  nxt_random r;
  int64_t quota;
  bool novel;      /* some compiled graphs are new, too: kernels are forgotten for others */
  nx_tensor *kept; /* assigned again and again */
  nx_function *function;
} worker;

static int64_t below(worker *w, int64_t n) { return nxt_below(&w->r, n); }
static nx_scalar number(double x) { return (nx_scalar){NX_SCALAR_F64, {.f = {x, 0}}}; }

/* ---- graphs */

static nx_tensor *leaf(worker *w, const int64_t *shape, int32_t rank) {
  nx_scalar x = number((double)below(w, 1000) / 7);
  return nx_full(w->c, 0, NX_F32, shape, rank, &x);
}

static nx_tensor *one_more(worker *w, nx_tensor *x, nx_tensor *y) {
  switch (below(w, 10)) {
    case 0: return nx_neg(x);
    case 1: return nx_exp(x);
    case 2: return nx_max(x, y);
    case 3: return nx_mul(x, y);
    case 4: return nx_cast(nx_cast(x, NX_I32), NX_F32);
    case 5: return nx_sqrt(nx_abs(x));
    case 6: return nx_where(nx_cmplt(x, y), x, y);
    case 7: return nx_sub(x, nx_reduce_max(x, (const int32_t[]){0}, 1, 1));
    default: return nx_add(x, y);
  }
}

/* Of any shape and operations: nearly always one that no plan is there for. */
static nx_tensor *small_graph(worker *w) {
  int64_t shape[3] = {1 + below(w, 12), 1 + below(w, 6), 1 + below(w, 3)};
  int32_t rank = 1 + (int32_t)below(w, 3);
  nx_tensor *x = leaf(w, shape, rank), *y = leaf(w, shape, rank);
  for (int64_t i = 1 + below(w, 7); i > 0; i--) x = one_more(w, x, y);
  return below(w, 3) ? x : nx_reduce_sum(x, (const int32_t[]){0}, 1, 0);
}

/* One of a dozen, of which each is compiled once. */
static nx_tensor *large_graph(worker *w) {
  int64_t shape[2] = {LARGE / 100, 100}, which = below(w, COMPILED);
  if (w->novel && below(w, 5) < 2) shape[0] += below(w, 5000);
  nx_tensor *x = leaf(w, shape, 2), *y = leaf(w, shape, 2);
  for (int64_t i = 0; i < which; i++) x = i % 2 ? nx_mul(x, y) : nx_add(x, nx_neg(y));
  return nx_exp(nx_sub(x, nx_reduce_max(x, (const int32_t[]){1}, 1, 1)));
}

/* ---- steps */

static void realise(worker *w, nx_tensor *x) {
  must(nx_realize(w->c, &x, 1, NULL), "realize");
  atomic_fetch_add(&realises, 1);
}

static void assign(worker *w) {
  nx_tensor *y = nx_mul(w->kept, leaf(w, (const int64_t[]){40}, 1));
  nx_tensor *part = nx_slice(w->kept, (const int64_t[]){below(w, 30)}, (const int64_t[]){10},
                             (const int64_t[]){1}, 1);
  must(nx_assign(w->kept, nx_sub(y, nx_rint(y))), "assign");
  must(nx_assign(part, leaf(w, (const int64_t[]){10}, 1)), "assign");
  realise(w, w->kept);
}

static void capture(worker *w) {
  char name[40];
  nx_function_release(w->function);
  w->function = NULL;
  int64_t n = 8 + 8 * below(w, 3);
  nx_tensor *x = nx_placeholder(w->c, 0, NX_F32, &n, 1), *y = one_more(w, nx_exp(x), x);
  snprintf(name, sizeof name, "f%d", (int)below(w, 1000000));
  nx_function_options o = {.size = sizeof o, .name = name};
  must(nx_function_create(w->c, &x, 1, &y, 1, &o, &w->function), "function_create");
}

static void call(worker *w) {
  if (!w->function || below(w, 8) == 0) capture(w);
  nx_port_info p = {.size = sizeof p};
  must(nx_function_input(w->function, 0, &p), "function_input");
  nx_tensor *x = leaf(w, p.shape, p.rank), *y = NULL;
  must(nx_function_call(w->function, &x, 1, &y, 1, NULL), "function_call");
  atomic_fetch_add(&realises, 1);
}

static void count_release(void *user) { free(user); }

static void import(worker *w) {
  int64_t n = 1 + below(w, 100);
  float *memory = calloc((size_t)n, sizeof *memory);
  nx_import_desc d = {.size = sizeof d,
                      .mode = (uint32_t)below(w, 3),
                      .dtype = NX_F32,
                      .rank = 1,
                      .shape = &n,
                      .base = memory,
                      .bytes = (size_t)n * sizeof *memory,
                      .release = count_release,
                      .user = memory};
  nx_tensor *x = NULL;
  must(nx_import(w->c, &d, &x), "import");
  realise(w, nx_add(x, x));
}

static void map(worker *w) {
  nx_mapping *m = NULL;
  nx_tensor *x = small_graph(w);
  must(nx_map(x, NX_MAP_READ | NX_MAP_WRITE, NULL, &m), "map");
  memset(nx_mapping_base(m, NULL), 0, 4);
  realise(w, nx_neg(x));
  nx_mapping_release(m);
}

static int32_t stop_at_once(void *user) {
  (void)user;
  return 1;
}

static void fail(worker *w) {
  nx_tensor *x = small_graph(w), *big = leaf(w, (const int64_t[]){7, 11, 13}, 3),
            *bad = nx_add(x, big);
  nx_run_options o = {.size = sizeof o, .poll = stop_at_once};
  nx_scalar out;
  nx_realize(w->c, &x, 1, &o);
  nx_item(big, (const int64_t[]){8, 0, 0}, 3, &out, NULL);
  nx_reshape(x, (const int64_t[]){1 << 20}, 1, 0);
  if (bad) realise(w, bad);
  nx_error_take(NULL);
}

static void save(worker *w) {
  char path[600];
  nx_tensor *x = small_graph(w), *again = NULL;
  snprintf(path, sizeof path, "%s/%lx.npy", folder, (unsigned long)(uintptr_t)w);
  must(nx_save_npy(x, path, NULL), "save_npy");
  must(nx_load_npy(w->c, path, &again), "load_npy");
  realise(w, nx_add(again, again));
}

static void dump(worker *w) {
  char *text = NULL;
  nx_tensor *x = small_graph(w);
  must(nx_dump(&x, 1, "graph", &text), "dump");
  nx_string_free(text);
}

static void step(worker *w) {
  char tag[40];
  nx_scope *scope = nx_scope_begin(w->c);
  snprintf(tag, sizeof tag, "step %d", (int)below(w, 1 << 30));
  nx_tag_set((uint64_t)below(w, 1 << 30) + 1, tag);
  switch (below(w, 60)) {
    case 0: fail(w); break;
    case 1: map(w); break;
    case 2: save(w); break;
    case 3: dump(w); break;
    case 4:
    case 5:
    case 6: import(w); break;
    case 7:
    case 8: call(w); break;
    case 9:
    case 10:
    case 11: realise(w, large_graph(w)); break;
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17: assign(w); break;
    default: realise(w, small_graph(w)); break;
  }
  nx_tag_set(0, NULL);
  nx_scope_end(scope);
}

static void begin(worker *w) {
  int64_t n = 40;
  nx_scalar zero = number(0);
  w->kept = nx_full(w->c, 0, NX_F32, &n, 1, &zero);
}
static void end(worker *w) {
  nx_tensor_release(w->kept);
  nx_function_release(w->function);
  w->kept = NULL;
  w->function = NULL;
}

/* The cache on disk is bounded by a size that a test does not reach, so graphs that are always new
 * do not use it. */
static nx_context *open_context(int32_t threads, bool on_disk) {
  char cache[600] = "";
  nx_context *c = NULL;
  if (on_disk) snprintf(cache, sizeof cache, "%s/cache", folder);
  nx_context_options o = {.size = sizeof o, .threads = threads, .cache_dir = cache};
  must(nx_context_create(&o, &c), "context_create");
  return c;
}

static void *work(void *arg) {
  worker *w = arg;
  begin(w);
  for (int64_t i = 0; i < w->quota; i++) step(w);
  end(w);
  return NULL;
}

/* Up to this number of compiled kernels is kept, and each may take this much memory. How many there
 * are depends on timing, because a graph is interpreted before it is compiled. */
enum { KEPT_KERNELS = 4096, OF_A_KERNEL = 48 << 10 };
static int64_t kernels(void) {
  nx_stats s = {.size = sizeof s};
  nx_context_stats(shared, &s);
  return s.kernels_compiled < KEPT_KERNELS ? (int64_t)s.kernels_compiled : KEPT_KERNELS;
}

/* ---- what may grow */

#define MEASURES(X)                                                               \
  X(resident, 1.06, 6 << 20)    /* bytes of the process */                        \
  X(allocated, 1.03, 256 << 10) /* bytes in use, of malloc */                     \
  X(cached, 1.0, 1 << 20)       /* bytes of tensors that are kept for the next */ \
  X(live, 1.0, 0)                                                                 \
  X(pending, 1.0, 0)                                                              \
  X(descriptors, 1.0, 0)                                                          \
  X(threads, 1.0, 0)                                                              \
  X(strange, 1.0, 0) /* files in the cache that are no entries */                 \
  X(files, 1.0, 0)
enum {
#define ROW(name, factor, more) name##_row,
  MEASURES(ROW) MEASURED
#undef ROW
};
static const struct {
  const char *name;
  double factor;
  int64_t more;
} limits[] = {
#define ROW(name, factor, more) {#name, factor, more},
    MEASURES(ROW)
#undef ROW
};

/* Files whose names end so, or do not. */
static int64_t count_in(const char *of, const char *suffix, bool so) {
  int64_t n = 0;
  DIR *d = opendir(of);
  for (struct dirent *e; d && (e = readdir(d));) {
    size_t length = strlen(e->d_name), end = strlen(suffix);
    bool ends = length >= end && !strcmp(e->d_name + length - end, suffix);
    n += ends == so && strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
  }
  if (d) closedir(d);
  return n;
}

static int64_t resident(void) {
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%*s %ld", &pages) != 1) pages = 0;
  if (f) fclose(f);
  return pages * sysconf(_SC_PAGESIZE);
}

/* A thread is still listed for a moment after it was joined. */
static int64_t count_threads(void) {
  int64_t least = INT64_MAX;
  for (int i = 0; i < 5; i++) {
    int64_t n = count_in("/proc/self/task", "", true);
    if (n < least) least = n;
    usleep(2000);
  }
  return least;
}

static void measure(int64_t out[MEASURED]) {
  char cache[600];
  nx_stats s = {.size = sizeof s};
  nx_memory m = {.size = sizeof m};
  nx_context_collect(shared);
  nx_context_collect(NULL);
  nx_context_stats(shared, &s);
  nx_device_memory(shared, 0, &m);
  malloc_trim(0);
  struct mallinfo2 heap = mallinfo2();
  snprintf(cache, sizeof cache, "%s/cache", folder);
  out[resident_row] = resident();
  out[allocated_row] = (int64_t)(heap.uordblks + heap.hblkhd);
  out[cached_row] = (int64_t)m.cached_bytes;
  out[live_row] = (int64_t)s.live_bytes;
  out[pending_row] = (int64_t)s.pending_nodes;
  out[descriptors_row] = count_in("/proc/self/fd", "", true);
  out[threads_row] = count_threads();
  out[strange_row] = count_in(cache, ".nxe", false);
  out[files_row] = count_in(folder, "", true);
}

static int64_t largest(int64_t rounds[][MEASURED], int from, int to, int row) {
  int64_t most = 0;
  for (int i = from; i < to; i++)
    if (rounds[i][row] > most) most = rounds[i][row];
  return most;
}

/* Compares the last third of the measurements with the second. Memory of the address sanitizer is
 * not counted. */
static int judge(int64_t rounds[][MEASURED], const int64_t *compiled, int n) {
  int bad = 0;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  int first_row = cached_row;
#else
  int first_row = 0;
#endif
  for (int row = first_row; row < MEASURED; row++) {
    int64_t before = largest(rounds, n / 3, 2 * n / 3, row),
            after = largest(rounds, 2 * n / 3, n, row);
    int64_t more = limits[row].more;
    if (row <= allocated_row) more += (compiled[n - 1] - compiled[n / 3]) * OF_A_KERNEL;
    bool grows = (double)after > (double)before * limits[row].factor + (double)more;
    printf("%-12s %12lld then %12lld%s\n", limits[row].name, (long long)before, (long long)after,
           grows ? "   GROWS" : "");
    bad += grows;
  }
  return bad;
}

/* ---- the threads of the context that lasts: those of its pool, and one for each action that is
 * polled at the same time. They are made when they are first wanted and then kept, which in a short
 * run may be near its end. So all of them are made first. */

static int64_t without_actions; /* threads of the process before any action is polled */
static _Atomic bool all_work;

/* Asked while an action's own thread works, or would if there were one: keeps it there until the
 * others have theirs, too, but not for long, for the others may be waiting for something of this
 * one. */
static int32_t wait_for_others(void *unused) {
  (void)unused;
  for (int i = 0; i < 50 && !atomic_load(&all_work); i++) {
    if (count_in("/proc/self/task", "", true) >= without_actions + 2 * THREADS)
      atomic_store(&all_work, true);
    usleep(1000);
  }
  return 0;
}

/* Of no other thread's numbers: equal operations are one, and whoever comes second waits. */
static void realise_large(worker *w, int64_t n, const nx_run_options *o) {
  nx_scalar first = number((double)below(w, 1 << 30)), one = number(1);
  nx_scope *scope = nx_scope_begin(w->c);
  nx_tensor *x = nx_arange(w->c, 0, NX_F32, &first, &one, n);
  for (int i = 0; i < 4; i++) x = nx_sin(nx_exp(x));
  x = nx_reduce_sum(x, (const int32_t[]){0}, 1, 0);
  must(nx_realize(w->c, &x, 1, o), "realize");
  nx_scope_end(scope);
}

/* If an action ends before it is polled, a larger one follows. */
static void *warm_up(void *arg) {
  nx_run_options o = {.size = sizeof o, .poll = wait_for_others};
  time_t began = time(NULL);
  for (int64_t n = 1 << 17; !atomic_load(&all_work); n += n < 1 << 22 ? n / 2 : 1) {
    realise_large(arg, n, &o);
    if (time(NULL) > began + 60) wrong("actions that are polled share a thread");
  }
  return NULL;
}

static void in_threads(void *(*function)(void *), worker w[THREADS]) {
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, function, &w[i])) wrong("no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* Two threads in the context that lasts, then one in a context of its own. */
static void one_round(int round, int64_t quota) {
  static worker w[THREADS + 1];
  for (int i = 0; i < THREADS; i++)
    w[i] = (worker){.c = shared,
                    .novel = novel,
                    .r = {(uint64_t)(round * 10 + i) * 7919},
                    .quota = quota * 2 / 5};
  if (round == 0) {
    realise_large(w, 1 << 20, NULL);
    without_actions = count_threads();
    in_threads(warm_up, w);
  }
  in_threads(work, w);
  for (int i = 0; i < 2; i++) {
    w[THREADS] = (worker){
        .c = open_context(1 + i, true), .r = {(uint64_t)round * 31 + 7}, .quota = quota / 10};
    work(&w[THREADS]);
    nx_context_release(w[THREADS].c);
  }
}

int main(int argc, char **argv) {
  static int64_t rounds[ROUNDS][MEASURED], compiled[ROUNDS];
  if (argc < 3) return 2;
  int64_t wanted = atoll(argv[1]);
  folder = argv[2];
  mkdir(folder, 0700);
  setlinebuf(stdout);
  novel = wanted >= 100000;
  shared = open_context(2, !novel);
  time_t began = time(NULL);
  int n = wanted < 100000 ? 18 : ROUNDS;
  for (int i = 0; i < n; i++) {
    one_round(i, wanted * 17 / 16 / n); /* a few steps realise nothing */
    measure(rounds[i]);
    compiled[i] = kernels();
    if (i % (n / 6) == 0)
      printf("%lld realises: %lld KiB resident, %lld KiB allocated, %lld kernels kept\n",
             (long long)realises, (long long)rounds[i][resident_row] >> 10,
             (long long)rounds[i][allocated_row] >> 10, (long long)compiled[i]);
  }
  printf("%lld realises in %ld s\n", (long long)realises, (long)(time(NULL) - began));
  int bad = judge(rounds, compiled, n);
  nx_context_release(shared);
  return bad != 0;
}
