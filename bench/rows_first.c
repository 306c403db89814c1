/* SPDX-License-Identifier: ISC */
/* What is done for the first time: contexts, graphs that no context saw, kernels that nobody
 * compiled, processes. Each has a context, a cache or a process of its own, so that nothing is
 * warm but the processor. */
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expressions.h"

extern char **environ;

/* ---- contexts */

static nx_context *new_context(const bench_lab *lab, const char *cache) {
  nx_context_options o = {.size = sizeof o, .threads = lab->threads, .cache_dir = cache};
  nx_context *c = NULL;
  bench_check(nx_context_create(&o, &c));
  return c;
}

static void make_context(void *lab) { nx_context_release(new_context(lab, "")); }

/* Seconds in which a new context realises n tensors that `record` makes of x. */
typedef struct first {
  const bench_lab *lab;
  size_t (*record)(const bench_lab *lab, nx_tensor *x, nx_tensor **out);
  bench_operand operand;
  bool compiling; /* the time for compiling alone */
} first;

enum { KERNELS = 100 };

static double time_first(void *state, int repeat) {
  const first *f = state;
  nx_tensor *out[KERNELS];
  double seconds = 0;
  for (int i = 0; i < repeat; i++) {
    bench_lab lab = *f->lab;
    nx_report report = {.size = sizeof report};
    const nx_run_options options = {.size = sizeof options, .report = &report};
    lab.context = new_context(f->lab, "");
    nx_scope *scope = nx_scope_begin(lab.context);
    nx_tensor *x = bench_operand_make(&lab, &f->operand, 0);
    double begin = bench_now();
    size_t n = f->record(&lab, x, out);
    bench_check(nx_realize(lab.context, out, n, &options));
    seconds += f->compiling ? report.compile_ms * 1e-3 : bench_now() - begin;
    nx_tensor_release(x);
    nx_scope_end(scope);
    nx_context_release(lab.context);
  }
  return seconds / repeat;
}

static size_t chain(const bench_lab *lab, nx_tensor *x, nx_tensor **out) {
  return out[0] = bench_chain(lab, &x), 1;
}

/* A chain of additions and products each, in another order. */
static size_t many_kernels(const bench_lab *lab, nx_tensor *x, nx_tensor **out) {
  (void)lab;
  for (unsigned i = 0; i < KERNELS; i++) {
    out[i] = x;
    for (int k = 0; k < 7; k++) out[i] = i >> k & 1 ? nx_mul(out[i], x) : nx_add(out[i], x);
    out[i] = nx_exp(nx_neg(out[i]));
  }
  return KERNELS;
}

/* A step of Runge and Kutta of the fourth order for two coupled equations, as one graph. */
static void slope(nx_tensor *const *y, nx_tensor **out) {
  out[0] = nx_sub(nx_mul(y[0], y[1]), nx_sin(y[0]));
  out[1] = nx_sub(nx_cos(y[1]), nx_mul(y[0], y[0]));
}
static void moved(nx_tensor *const *y, nx_tensor *const *k, double by, nx_tensor **out) {
  for (int i = 0; i < 2; i++) out[i] = nx_add(y[i], nx_binary_f64(k[i], NX_BINARY_MUL, by));
}
static size_t runge_kutta(const bench_lab *lab, nx_tensor *x, nx_tensor **out) {
  nx_tensor *y[2] = {x, nx_neg(x)}, *k[4][2], *at[2];
  const double h = 0.01, by[] = {h / 2, h / 2, h}, weights[] = {h / 6, h / 3, h / 3, h / 6};
  (void)lab;
  slope(y, k[0]);
  for (int i = 0; i < 3; i++) {
    moved(y, k[i], by[i], at);
    slope(at, k[i + 1]);
  }
  for (int i = 0; i < 4; i++) moved(y, k[i], weights[i], y);
  memcpy(out, y, sizeof y);
  return 2;
}

static const struct {
  const char *name;
  size_t (*record)(const bench_lab *lab, nx_tensor *x, nx_tensor **out);
  int64_t n;
  double target;
  int rounds;
  bool compiling;
} firsts[] = {
    {"first 20 operations of 1e4", chain, 10000, 1, 25, false},
    {"first 100 kernels", many_kernels, 1000000, 250, 7, false},
    {"compile a step of Runge-Kutta", runge_kutta, 1000000, 60, 7, true},
};

static void contexts(bench_lab *lab) {
  if (bench_wanted(&lab->out, "context")) {
    bench_way way = {.run = make_context, .state = lab};
    bench_interleave(&way, 1, lab->rounds, 1e-3);
    bench_put(lab, "context", way.median * 1e3, 3, 1);
  }
  for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
    if (!bench_wanted(&lab->out, firsts[i].name)) continue;
    first f = {.lab = lab,
               .record = firsts[i].record,
               .compiling = firsts[i].compiling,
               .operand = {.dtype = NX_F32, .rank = 1, .shape = {firsts[i].n}, .high = 1}};
    bench_way way = {.timed = time_first, .state = &f};
    int rounds = lab->rounds < firsts[i].rounds ? lab->rounds : firsts[i].rounds;
    bench_interleave(&way, 1, rounds, 0);
    bench_put(lab, firsts[i].name, way.median * 1e3, firsts[i].target, firsts[i].n);
  }
}

/* ---- graphs, in a context that is warm */

/* 15 operations of an order that no run before had. */
typedef struct orders {
  bench_lab *lab;
  nx_tensor *x, *one;
  unsigned next;
} orders;

static void run_next_order(void *state) {
  orders *o = state;
  nx_scope *scope = nx_scope_begin(o->lab->context);
  nx_tensor *y = o->x;
  for (int i = 0; i < 15; i++) y = o->next >> i & 1 ? nx_mul(y, o->x) : nx_sub(y, o->one);
  o->next++;
  bench_check(nx_realize(o->lab->context, &y, 1, NULL));
  nx_scope_end(scope);
}

static void tiny(bench_lab *lab) {
  int64_t n = 64;
  if (!bench_wanted(&lab->out, "tiny 15 nodes of 64, first time")) return;
  orders o = {.lab = lab,
              .x = bench_random(lab, NX_F32, 1, &n, -1, 1),
              .one = bench_random(lab, NX_F32, 1, &n, 0.1, 0.2)};
  bench_way way = {.run = run_next_order, .state = &o};
  bench_interleave(&way, 1, lab->rounds, 1e-3);
  bench_put(lab, "tiny 15 nodes of 64, first time", way.median * 1e3, 0, 15);
  nx_tensor_release(o.x);
  nx_tensor_release(o.one);
}

/* ---- processes */

/* What such a process does: a kernel of 1e6 elements, and one number of its result. */
void bench_first_result(const char *cache) {
  bench_lab lab = {.threads = (int)sysconf(_SC_NPROCESSORS_ONLN)};
  int64_t n = 1000000, index = 3;
  nx_scalar value;
  lab.context = new_context(&lab, cache);
  nx_scope_begin(lab.context);
  nx_tensor *x = nx_arange(lab.context, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-6), n),
            *y = bench_chain(&lab, &x);
  bench_check(nx_item(y, &index, 1, &value, NULL));
  _exit(0);
}

typedef struct process {
  char cache[64];
  bool empty; /* the cache is emptied before */
} process;

static void empty_folder(const char *path) {
  char *const argv[] = {"rm", "-rf", (char *)path, NULL};
  pid_t pid;
  if (posix_spawnp(&pid, "rm", NULL, NULL, argv, environ) == 0) waitpid(pid, NULL, 0);
}

static double run_process(process *p) {
  char *const argv[] = {"nx-bench", "--first", p->cache, NULL};
  pid_t pid;
  int status = -1;
  double begin = bench_now();
  if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0) exit(1);
  waitpid(pid, &status, 0);
  double seconds = bench_now() - begin;
  if (status != 0) exit(1);
  return seconds;
}

static double time_process(void *state, int repeat) {
  process *p = state;
  double seconds = 0;
  for (int i = 0; i < repeat; i++) {
    if (p->empty) empty_folder(p->cache);
    seconds += run_process(p);
  }
  return seconds / repeat;
}

/* A process that ends at its first result may do so before its code is there. */
static void fill_folder(process *p) {
  setenv("NX_BACKGROUND", "off", 1);
  run_process(p);
  unsetenv("NX_BACKGROUND");
}

static void processes(bench_lab *lab) {
  static const char *const names[] = {"first result of a process, cached",
                                      "first result of a process"};
  static const double targets[] = {6, 25};
  for (int i = 0; i < 2; i++) {
    process p = {.empty = i == 1};
    if (!bench_wanted(&lab->out, names[i])) continue;
    snprintf(p.cache, sizeof p.cache, "/tmp/nx-bench-cache-%ld", (long)getpid());
    bench_way way = {.timed = time_process, .state = &p};
    if (!p.empty) fill_folder(&p);
    bench_interleave(&way, 1, lab->rounds, 0);
    bench_put(lab, names[i], way.median * 1e3, targets[i], 1);
    empty_folder(p.cache);
  }
}

void bench_firsts(bench_lab *lab) {
  if (lab->rounds == 0) return; /* none has peers */
  contexts(lab);
  tiny(lab);
  processes(lab);
}
