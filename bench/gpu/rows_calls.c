/* SPDX-License-Identifier: ISC */
/* What a frontend waits for besides kernels: calls of captured functions, operations that are
 * realised one by one, elements that are read back, loops of small steps, threads that call at the
 * same time, the first result of a process. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "gpu.h"

extern char **environ;

enum { ELEMENTS = 1024, EAGER = 10, CHAIN = 100, SIDE = 32, LOOP = 1000, CALLS = 200 };

static void put(gpu_lab *lab, const char *name, double ms, double target) {
  bench_put(&lab->lab, name, ms, target, ELEMENTS);
}

static nx_tensor *operand(const gpu_lab *lab) {
  const int64_t n = ELEMENTS;
  return bench_random(&lab->lab, NX_F32, 1, &n, -1, 1);
}

/* A function of one tensor, called once. */
static gpu_job captured(const gpu_lab *lab, nx_tensor *x, nx_tensor *(*record)(nx_tensor *)) {
  gpu_job j = {.lab = lab, .n = 1, .x = {x}};
  int64_t shape[NX_MAX_RANK];
  const int32_t rank = nx_rank(x);
  for (int32_t i = 0; i < rank; i++) shape[i] = nx_shape(x)[i];
  nx_scope *scope = nx_scope_begin(lab->lab.context);
  nx_tensor *in = nx_placeholder(lab->lab.context, lab->lab.device, NX_F32, shape, rank);
  nx_tensor *out = record(in);
  bench_check(nx_function_create(lab->lab.context, &in, 1, &out, 1, NULL, &j.function));
  nx_scope_end(scope);
  gpu_job_run(&j);
  gpu_job_wait(&j);
  return j;
}

static void release(const gpu_job *j) {
  nx_function_release(j->function);
  nx_tensor_release(j->x[0]);
}

/* ---- calls */

static nx_tensor *exponential(nx_tensor *x) { return nx_exp(x); }

/* Sums over an axis and over the other in turns: each is a kernel. */
static nx_tensor *chain(nx_tensor *x) {
  for (int i = 0; i < CHAIN; i++) x = nx_sub(x, nx_reduce_sum(x, NX_AXES(i & 1), NX_KEEPDIMS));
  return x;
}

static void run_and_read(void *job) {
  gpu_job *j = job;
  nx_tensor *out = NULL;
  nx_scalar value;
  bench_check(nx_function_call(j->function, j->x, j->n, &out, 1, NULL));
  bench_check(nx_item(out, NX_INDEX(3), &value, NULL));
  nx_tensor_release(out);
}

static void calls(gpu_lab *lab) {
  static const char *const names[] = {"a captured call of one kernel",
                                      "the same and an element read"};
  for (int i = 0; i < 2; i++) {
    if (!bench_wanted(&lab->lab.out, names[i])) continue;
    gpu_job j = captured(lab, operand(lab), exponential);
    bench_way ways[3] = {
        {.run = i == 0 ? gpu_job_run : run_and_read, .state = &j, .wait = gpu_job_wait}};
    size_t n = 1;
    gpu_peers peers = {.n = 0};
    if (i == 0) peers = gpu_add_peers(lab, "exp f32 1 1024 0", ways, &n);
    bench_interleave(ways, n, lab->lab.rounds, 2e-3);
    bench_row row = {.name = names[i],
                     .dtype = "f32",
                     .size = ELEMENTS,
                     .threads = 1,
                     .ms = ways[0].median * 1e3,
                     .target = i == 0 ? 5e-3 : 25e-3,
                     .kernels = 1};
    gpu_report_peers(&peers, ways, &row);
    bench_print(&lab->lab.out, &row);
    release(&j);
  }
}

static void chains(gpu_lab *lab) {
  static const char name[] = "100 dependent kernels of 1024";
  const int64_t shape[] = {SIDE, SIDE};
  if (!bench_wanted(&lab->lab.out, name)) return;
  gpu_job j = captured(lab, bench_random(&lab->lab, NX_F32, 2, shape, -1e-3, 1e-3), chain);
  nx_report report = {.size = sizeof report};
  const nx_run_options reported = {.size = sizeof reported, .report = &report};
  nx_tensor *y = NULL;
  bench_check(nx_function_call(j.function, j.x, j.n, &y, 1, &reported));
  nx_tensor_release(y);
  bench_way ways[3] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n = 1;
  gpu_peers peers = gpu_add_peers(lab, "chained f32 1 32 32", ways, &n);
  bench_interleave(ways, n, lab->lab.rounds, 5e-3);
  bench_row row = {.name = name,
                   .dtype = "f32",
                   .size = ELEMENTS,
                   .threads = 1,
                   .ms = ways[0].median * 1e3,
                   .target = 2e-3 * (double)report.kernels,
                   .kernels = (int64_t)report.kernels};
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  release(&j);
}

/* ---- operations one by one */

static void run_eager(void *job) {
  const gpu_job *j = job;
  const bench_lab *lab = &j->lab->lab;
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *y = j->x[0];
  for (int i = 0; i < EAGER; i++) {
    y = nx_add(y, j->x[0]);
    bench_check(nx_realize(lab->context, &y, 1, NULL));
  }
  nx_scope_end(scope);
}

static void eager(gpu_lab *lab) {
  static const char name[] = "an operation recorded and realised";
  if (!bench_wanted(&lab->lab.out, name)) return;
  gpu_job j = {.lab = lab, .n = 1, .x = {operand(lab)}};
  bench_way way = {.run = run_eager, .state = &j, .wait = gpu_job_wait};
  bench_interleave(&way, 1, lab->lab.rounds, 2e-3);
  put(lab, name, way.median * 1e3 / EAGER, 5e-3);
  nx_tensor_release(j.x[0]);
}

/* ---- loops */

/* A step for the carried x: two kernels that wait for each other. */
static nx_tensor *step_of(nx_tensor *x) {
  nx_tensor *y = nx_sub(x, nx_reduce_sum(x, NX_AXES(0), NX_KEEPDIMS));
  return nx_sub(y, nx_reduce_sum(y, NX_AXES(1), NX_KEEPDIMS));
}

static nx_tensor *counted(const bench_lab *lab, int64_t add) {
  return nx_full(lab->context, lab->device, NX_I32, NULL, 0, NX_INTEGER(add));
}

/* i < LOOP, and i + 1 beside a step of x. */
static void make_bodies(const bench_lab *lab, nx_function **cond, nx_function **body) {
  const int64_t shape[] = {SIDE, SIDE};
  nx_tensor *in[] = {nx_placeholder(lab->context, lab->device, NX_I32, NULL, 0),
                     nx_placeholder(lab->context, lab->device, NX_F32, shape, 2)};
  nx_tensor *holds = nx_cmplt(in[0], counted(lab, LOOP));
  nx_tensor *out[] = {nx_add(in[0], counted(lab, 1)), step_of(in[1])};
  bench_check(nx_function_create(lab->context, in, 2, &holds, 1, NULL, cond));
  bench_check(nx_function_create(lab->context, in, 2, out, 2, NULL, body));
}

static void loops(gpu_lab *lab) {
  static const char name[] = "while, 1000 steps of two kernels";
  const bench_lab *own = &lab->lab;
  const int64_t shape[] = {SIDE, SIDE};
  if (!bench_wanted(&lab->lab.out, name)) return;
  gpu_job j = {.lab = lab, .n = 1, .x = {bench_random(own, NX_F32, 2, shape, -1e-3, 1e-3)}};
  nx_function *cond = NULL, *body = NULL;
  nx_scope *scope = nx_scope_begin(own->context);
  make_bodies(own, &cond, &body);
  nx_tensor *x = nx_placeholder(own->context, own->device, NX_F32, shape, 2), *out[2] = {NULL};
  bench_check(nx_while(cond, body, (nx_tensor *[]){counted(own, 0), x}, 2, NULL, 0, NULL, out, 2));
  bench_check(nx_function_create(own->context, &x, 1, &out[1], 1, NULL, &j.function));
  nx_scope_end(scope);
  bench_way ways[2] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n = 1;
  gpu_peers peers = gpu_add_peers(lab, "loop f32 1 32 32", ways, &n);
  const int rounds = own->rounds < 7 ? own->rounds : 7;
  bench_interleave(ways, n, rounds, 5e-3);
  bench_row row = {.name = name,
                   .dtype = "f32",
                   .size = ELEMENTS,
                   .threads = 1,
                   .ms = ways[0].median * 1e3,
                   .target = 4e-3 * LOOP};
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  nx_function_release(cond);
  nx_function_release(body);
  release(&j);
}

/* ---- threads */

static int call_often(void *job) {
  for (int i = 0; i < CALLS; i++) gpu_job_run(job);
  return 0;
}

/* Each thread has a function of its own. */
static void run_threads(void *jobs) {
  gpu_job *j = jobs;
  thrd_t other;
  if (thrd_create(&other, call_often, &j[1]) != thrd_success) exit(1);
  call_often(&j[0]);
  thrd_join(other, NULL);
}

static void two_threads(gpu_lab *lab) {
  static const char name[] = "a captured call, two threads at once";
  if (!bench_wanted(&lab->lab.out, name)) return;
  gpu_job j[2] = {captured(lab, operand(lab), exponential),
                  captured(lab, operand(lab), exponential)};
  bench_way way = {.run = run_threads, .state = j, .wait = gpu_job_wait};
  bench_interleave(&way, 1, lab->lab.rounds, 0);
  put(lab, name, way.median * 1e3 / (2 * CALLS), 5e-3);
  release(&j[0]);
  release(&j[1]);
}

/* ---- a process */

/* Prints the milliseconds of each part with NX_BENCH_PARTS in the environment. */
void gpu_first_result(const char *cache) {
  const bool shown = getenv("NX_BENCH_PARTS") != NULL;
  const int64_t n = ELEMENTS;
  const double begin = bench_now();
  nx_context_options o = {.size = sizeof o, .cache_dir = cache};
  nx_context *context = NULL;
  nx_scalar value;
  bench_check(nx_context_create(&o, &context));
  const double made = bench_now();
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_arange(context, 2, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-3), n), *y = nx_exp(x);
  bench_check(nx_realize(context, &y, 1, NULL));
  const double realised = bench_now();
  bench_check(nx_item(y, NX_INDEX(3), &value, NULL));
  const double read = bench_now();
  nx_scope_end(scope);
  if (shown)
    printf("context %.1f ms, first realise %.1f, first element %.1f\n", (made - begin) * 1e3,
           (realised - made) * 1e3, (read - realised) * 1e3);
  fflush(stdout);
  _exit(0);
}

static double run_process(void *cache, int repeat) {
  char *const argv[] = {"nx-bench-gpu", "--first", cache, NULL};
  pid_t pid;
  int status = -1;
  const double begin = bench_now();
  for (int i = 0; i < repeat; i++) {
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0) exit(1);
    waitpid(pid, &status, 0);
    if (status != 0) exit(1);
  }
  return (bench_now() - begin) / repeat;
}

static void processes(gpu_lab *lab) {
  static const char *const names[] = {"first result of a process", "the same with kernels on disk"};
  char folder[] = "/tmp/nx-bench-XXXXXX", command[64];
  if (mkdtemp(folder) == NULL) return;
  for (int i = 0; i < 2; i++) {
    if (!bench_wanted(&lab->lab.out, names[i])) continue;
    double seconds = i == 0 ? run_process("", 2) : (run_process(folder, 1), run_process(folder, 2));
    put(lab, names[i], seconds * 1e3, 0);
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command) != 0) fprintf(stderr, "nx-bench-gpu: %s stays\n", folder);
}

void gpu_calls(gpu_lab *lab) {
  calls(lab);
  chains(lab);
  eager(lab);
  loops(lab);
  two_threads(lab);
  processes(lab);
}
