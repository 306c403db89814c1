/* SPDX-License-Identifier: ISC */
/* The overhead of a GPU: successive launches, and new kernels. */
#include <stdio.h>
#include <stdlib.h>

#include "gpu.h"

enum { STEPS = 100, ELEMENTS = 1024, KERNELS = 15 };

/* Scans of what another has scanned: each is a kernel. */
static void launches(gpu_lab *lab) {
  const char *name = "100 dependent scans of 1024";
  int64_t n = ELEMENTS;
  gpu_job c = {.lab = lab, .n = 1};
  const bench_lab *own = &lab->lab;
  nx_report report = {.size = sizeof report};
  const nx_run_options reported = {.size = sizeof reported, .report = &report};
  if (!bench_wanted(&lab->lab.out, name)) return;
  c.x[0] = bench_random(own, NX_F32, 1, &n, 1, 2);
  nx_scope *scope = nx_scope_begin(own->context);
  nx_tensor *in = nx_placeholder(own->context, own->device, NX_F32, &n, 1), *y = in;
  for (int i = 0; i < STEPS; i++) y = nx_associative_scan(y, i & 1 ? NX_SCAN_MAX : NX_SCAN_SUM, 0);
  bench_check(nx_function_create(own->context, &in, 1, &y, 1, NULL, &c.function));
  nx_scope_end(scope);
  y = NULL;
  bench_check(nx_function_call(c.function, c.x, c.n, &y, 1, &reported));
  nx_tensor_release(y);
  bench_way ways[3] = {{.run = gpu_job_run, .state = &c, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  gpu_peers peers = gpu_add_peers(lab, "scans f32 1 1024 100", ways, &n_ways);
  bench_interleave(ways, n_ways, own->rounds, 5e-3);
  bench_row row = {.name = name,
                   .dtype = "f32",
                   .size = n,
                   .threads = 1,
                   .ms = ways[0].median * 1e3,
                   .target = 2e-3 * (double)report.kernels, /* 2 us a kernel */
                   .kernels = (int64_t)report.kernels};
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  nx_function_release(c.function);
  nx_tensor_release(c.x[0]);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Milliseconds of the i-th of several kernels, in a context; if it is compiled already, of planning
 * and loading it. */
static double compile(nx_context *context, nx_device device, int i) {
  int64_t shape[] = {64, 1024};
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_full(context, device, NX_F32, shape, 2, NX_NUMBER(2)), *y = x;
  bench_check(nx_realize(context, &x, 1, NULL));
  for (int k = 0; k <= i; k++) y = nx_add(nx_tanh(y), k & 1 ? x : y);
  nx_tensor *e = nx_exp(nx_sub(y, nx_reduce_max(y, NX_AXES(1), NX_KEEPDIMS)));
  e = nx_div(e, nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS));
  bench_check(nx_realize(context, &e, 1, &o));
  nx_scope_end(scope);
  return report.compile_ms > 0 ? report.compile_ms : report.plan_ms;
}

/* New kernels, then the same in a new context that finds them on disk. */
static void compiling(gpu_lab *lab) {
  static const char *const names[] = {"compile one kernel", "the same from the disk cache"};
  char folder[] = "/tmp/nx-bench-XXXXXX", command[64];
  double times[KERNELS];
  if (!bench_wanted(&lab->lab.out, names[0]) || mkdtemp(folder) == NULL) return;
  for (int run = 0; run < 2; run++) {
    nx_context_options o = {.size = sizeof o, .cache_dir = folder};
    nx_context *context = NULL;
    bench_check(nx_context_create(&o, &context));
    for (int i = 0; i < KERNELS; i++) times[i] = compile(context, lab->lab.device, i);
    nx_context_release(context);
    qsort(times, KERNELS, sizeof *times, compare);
    bench_row row = {.name = names[run],
                     .dtype = "f32",
                     .size = KERNELS,
                     .threads = 1,
                     .ms = times[KERNELS / 2],
                     .target = run == 0 ? 60 : 1};
    bench_print(&lab->lab.out, &row);
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  if (system(command) != 0) fprintf(stderr, "nx-bench-gpu: %s stays\n", folder);
}

void gpu_overhead(gpu_lab *lab) {
  launches(lab);
  compiling(lab);
}
