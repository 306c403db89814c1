/* SPDX-License-Identifier: ISC */
/* Rows that consist of an expression of operands: recorded, realised and released each time, as a
 * frontend would, or captured once and called. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef struct job {
  bench_lab *lab;
  const bench_workload *w;
  bench_operand operands[BENCH_OPERANDS];
  int n;
  nx_tensor *x[BENCH_OPERANDS];
  nx_function *function; /* NULL: recorded each time */
} job;

static void capture(job *j) {
  nx_context *c = j->lab->context;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[BENCH_OPERANDS];
  for (int i = 0; i < j->n; i++)
    in[i] = nx_placeholder(c, 0, j->operands[i].dtype, j->operands[i].shape, j->operands[i].rank);
  nx_tensor *out = j->w->record(j->lab, in);
  bench_check(nx_function_create(c, in, (size_t)j->n, &out, 1, NULL, &j->function));
  nx_scope_end(scope);
}

/* The file of a row's graph: group and name in letters, digits and lines. */
static void graph_path(const bench_lab *lab, const char *name, char *path, size_t size) {
  size_t start = (size_t)snprintf(path, size, "%s/", lab->graphs);
  snprintf(path + start, size - start, "%s_%s", lab->out.group, name);
  for (char *c = path + start; *c != 0; c++)
    if (!isalnum((unsigned char)*c)) *c = '_';
  size_t end = strlen(path);
  snprintf(path + end, size - end, ".nxir");
}

/* Writes the graph of the row, of operands that are not made. */
static void write_graph(job *j) {
  char path[512], *text;
  j->n = bench_operands_read(j->lab, j->w->operands, j->operands);
  capture(j);
  bench_check(nx_function_dump(j->function, "graph", &text));
  graph_path(j->lab, j->w->name, path, sizeof path);
  FILE *f = fopen(path, "w");
  if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) {
    perror(path);
    exit(2);
  }
  nx_string_free(text);
  nx_function_release(j->function);
}

/* One reference of the result. */
static nx_tensor *result_of(job *j, const nx_run_options *options) {
  nx_tensor *out = NULL;
  if (j->function) {
    bench_check(nx_function_call(j->function, j->x, (size_t)j->n, &out, 1, options));
    return out;
  }
  nx_scope *scope = nx_scope_begin(j->lab->context);
  out = j->w->record(j->lab, j->x);
  bench_check(nx_realize(j->lab->context, &out, 1, options));
  nx_keep(out);
  nx_scope_end(scope);
  return out;
}

static void run_job(void *state) { nx_tensor_release(result_of(state, NULL)); }

static void run_whole(void *state) {
  bench_check(nx_debug_set("nopacking"));
  run_job(state);
  bench_check(nx_debug_set(NULL));
}

static int64_t bytes_of(const nx_tensor *x) {
  return nx_elements(x) * (int64_t)nx_dtype_bits(nx_dtype_of(x)) / 8;
}

static void set_traffic(const job *j, const nx_tensor *out, bench_case *c) {
  if (j->w->flags & BENCH_COMPUTES) return;
  for (int i = 0; i < j->n; i++) c->reads += bytes_of(j->x[i]);
  c->writes = bytes_of(out);
  if (j->w->traffic > 0) c->reads = c->writes = (int64_t)(j->w->traffic / 2);
}

static int64_t largest_of(const job *j) {
  int64_t n = 0;
  for (int i = 0; i < j->n; i++)
    if (nx_elements(j->x[i]) > n) n = nx_elements(j->x[i]);
  return n;
}

static void run_workload(bench_lab *lab, const bench_workload *w) {
  job j = {.lab = lab, .w = w};
  char peer[BENCH_LINE];
  nx_report report = {.size = sizeof report};
  const nx_run_options reported = {.size = sizeof reported, .report = &report};
  j.n = bench_operands_read(lab, w->operands, j.operands);
  for (int i = 0; i < j.n; i++) j.x[i] = bench_operand_make(lab, &j.operands[i], i);
  snprintf(peer, sizeof peer, "%s", w->peer);
  if (peer[0] != 0) bench_operands_print(j.operands, j.n, peer, sizeof peer);
  if (w->flags & BENCH_CALLED) capture(&j);
  nx_tensor *out = result_of(&j, &reported);
  bench_case c = {.name = w->name,
                  .dtype = nx_dtype_name(nx_dtype_of(j.x[0])),
                  .size = largest_of(&j),
                  .own = {.run = run_job, .state = &j},
                  .peer = peer,
                  .result = &out,
                  .n_results = w->flags & BENCH_ALONE ? 0 : 1,
                  .differ = w->flags & BENCH_LOOSE ? 0.01 : 0,
                  .target = w->target,
                  .least = 2e-3,
                  .kernels = (int64_t)report.kernels,
                  .compile_ms = report.compile_ms};
  if (w->flags & BENCH_WHOLE) {
    c.other = "written whole";
    c.other_way = (bench_way){.run = run_whole, .state = &j};
  }
  set_traffic(&j, out, &c);
  bench_measure(lab, &c);
  nx_tensor_release(out);
  nx_function_release(j.function);
  for (int i = 0; i < j.n; i++) nx_tensor_release(j.x[i]);
}

void bench_workloads(bench_lab *lab, const bench_workload *w, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (lab->graphs != NULL && !(w[i].flags & BENCH_SIZE))
      write_graph(&(job){.lab = lab, .w = &w[i]});
    if (bench_wanted(&lab->out, w[i].name)) run_workload(lab, &w[i]);
  }
}
