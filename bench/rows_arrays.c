/* SPDX-License-Identifier: ISC */
/* Elementwise, row-wise and reduction rows: recorded, realised and released each time, as a
 * frontend would; those that end in "called" are captured once and called, as a frontend's jit
 * would. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expressions.h"

enum { MOST_OPERANDS = 4 };

/* A workload: an expression of up to four tensors. */
typedef struct workload {
  const char *name, *peer;
  bench_expression *record;
  int32_t rank;
  int64_t shape[3];
  bool called;
  int operands;  /* of that shape */
  double writes; /* outputs, in elements of an operand */
  double target;
  /* elements read and written in all, if not those of the operands and outputs; 0 */
  double traffic;
  nx_dtype dtype; /* of operands and outputs; 0: f32 */
} workload;

static const workload workloads[] = {
    {"2a+3b-ab 1e5", "poly 100000", bench_polynomial, 1, {100000, 0}, false, 2, 1, 0, 0, 0},
    {"2a+3b-ab 1e5 called",
     "poly 100000",
     bench_polynomial,
     1,
     {100000, 0},
     true,
     2,
     1,
     0.85,
     0,
     0},
    {"2a+3b-ab 1e6", "poly 1000000", bench_polynomial, 1, {1000000, 0}, false, 2, 1, 0.85, 0, 0},
    {"2a+3b-ab 1.6e7",
     "poly 16000000",
     bench_polynomial,
     1,
     {16000000, 0},
     false,
     2,
     1,
     0.85,
     0,
     0},
    {"tanh(ab+c) 1e6", "tanh 1000000", bench_tanh_of, 1, {1000000, 0}, false, 3, 1, 0, 0, 0},
    {"exp 1e6", "exp 1000000", bench_exponential, 1, {1000000, 0}, false, 1, 1, 0, 0, 0},
    {"gelu 1e6", "", bench_gelu, 1, {1000000, 0}, false, 1, 1, 0, 0, 0},
    {"softmax 4096x1024", "softmax", bench_softmax, 2, {4096, 1024, 0}, false, 1, 1, 0.6, 0, 0},
    {"layer norm 4096x1024",
     "layernorm",
     bench_layer_norm,
     2,
     {4096, 1024, 0},
     false,
     1,
     1,
     0.6,
     0,
     0},
    {"sum axis 0 4096^2", "sum0", bench_sum_0, 2, {4096, 4096, 0}, false, 1, 0, 0.8, 0, 0},
    {"sum axis 1 4096^2", "sum1", bench_sum_1, 2, {4096, 4096, 0}, false, 1, 0, 0.8, 0, 0},
    {"sum all 1.6e7", "sumall", bench_sum_0, 1, {16000000, 0}, false, 1, 0, 0.8, 0, 0},
    {"max axis 1 4096^2", "max1", bench_max_1, 2, {4096, 4096, 0}, false, 1, 0, 0, 0, 0},
    {"argmax axis 1 4096^2", "argmax1", bench_argmax_1, 2, {4096, 4096, 0}, false, 1, 0, 0, 0, 0},
    {"transpose 4096^2", "transpose", bench_transposed, 2, {4096, 4096, 0}, false, 1, 1, 0, 0, 0},
    {"cumsum axis 0 4096^2",
     "cumsum0",
     bench_cumsum_0,
     2,
     {4096, 4096, 0},
     false,
     1,
     1,
     0.75,
     0,
     0},
    {"cumsum axis 1 4096^2",
     "cumsum1",
     bench_cumsum_1,
     2,
     {4096, 4096, 0},
     false,
     1,
     1,
     0.75,
     0,
     0},
    {"cummax axis 0 4096^2",
     "cummax0",
     bench_cummax_0,
     2,
     {4096, 4096, 0},
     false,
     1,
     1,
     0.75,
     0,
     0},
    {"cummax axis 1 4096^2",
     "cummax1",
     bench_cummax_1,
     2,
     {4096, 4096, 0},
     false,
     1,
     1,
     0.75,
     0,
     0},
    {"cumsum 1e7", "cumsumall", bench_cumsum_0, 1, {10000000, 0}, false, 1, 1, 0.5, 0, 0},
    {"concat 4 then double 1e4", "concat 50 50", bench_concat, 2, {50, 50}, false, 4, 4, 0.7, 0, 0},
    {"concat 4 then double 2e6",
     "concat 500 1000",
     bench_concat,
     2,
     {500, 1000},
     false,
     4,
     4,
     0.7,
     0,
     0},
    {"concat 4 then double 1e7",
     "concat 2500 1001",
     bench_concat,
     2,
     {2500, 1001},
     false,
     4,
     4,
     0.7,
     0,
     0},
    {"concat 4 inner 2e6",
     "concat1 1000 500",
     bench_concat_inner,
     2,
     {1000, 500},
     false,
     4,
     4,
     0.7,
     0,
     0},
    {"roll + add 1e4", "roll 100 100", bench_roll_add, 2, {100, 100}, false, 1, 1, 0.7, 0, 0},
    {"roll + add 1e6", "roll 1000 1000", bench_roll_add, 2, {1000, 1000}, false, 1, 1, 0.7, 0, 0},
    {"roll + add 1e7", "roll 10000000", bench_roll_add, 1, {10000000}, false, 1, 1, 0.7, 0, 0},
    {"mean of a stack of 4 1e5",
     "stackmean 100000",
     bench_stack_mean,
     1,
     {100000},
     false,
     4,
     1,
     0.7,
     0,
     0},
    {"mean of a stack of 4 4e6",
     "stackmean 4000000",
     bench_stack_mean,
     1,
     {4000000},
     false,
     4,
     1,
     0.7,
     0,
     0},
    {"8 rolls of an i8 image 1000^2",
     "neighbours 1000 1000",
     bench_neighbours,
     2,
     {1000, 1000},
     false,
     1,
     1,
     0,
     0,
     NX_I8},
    {"8 rolls of an i8 image 4000^2",
     "neighbours 4000 4000",
     bench_neighbours,
     2,
     {4000, 4000},
     false,
     1,
     1,
     0,
     0,
     NX_I8},
    {"pad + stencil 1-D 1e5",
     "stencil1 100000",
     bench_stencil_1,
     1,
     {100000},
     false,
     1,
     1,
     0.7,
     0,
     0},
    {"pad + stencil 1-D 1e7",
     "stencil1 10000000",
     bench_stencil_1,
     1,
     {10000000},
     false,
     1,
     1,
     0.7,
     0,
     0},
    {"pad + stencil 2-D 300^2",
     "stencil2 300 300",
     bench_stencil_2,
     2,
     {300, 300},
     false,
     1,
     1,
     0,
     0,
     0},
    {"pad + stencil 2-D 3000^2",
     "stencil2 3000 3000",
     bench_stencil_2,
     2,
     {3000, 3000},
     false,
     1,
     1,
     0.7,
     0,
     0},
    {"gather 8192 of 50000 rows of 512",
     "gather",
     bench_gather_rows,
     2,
     {BENCH_TABLE, BENCH_WIDTH},
     false,
     1,
     1,
     0,
     2.0 * BENCH_TAKEN *BENCH_WIDTH,
     0},
    {"scatter-add 8192 to 50000 rows of 512",
     "scatteradd",
     bench_scatter_rows,
     2,
     {BENCH_TABLE, BENCH_WIDTH},
     false,
     1,
     1,
     0,
     2.0 * BENCH_TABLE *BENCH_WIDTH + 3.0 * BENCH_TAKEN *BENCH_WIDTH,
     0},
};

typedef struct job {
  bench_lab *lab;
  const workload *w;
  nx_tensor *x[MOST_OPERANDS];
  nx_function *function; /* NULL: recorded each time */
} job;

static nx_dtype type_of(const workload *w) { return w->dtype != 0 ? w->dtype : NX_F32; }

static void capture(job *j) {
  nx_context *c = j->lab->context;
  const workload *w = j->w;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[MOST_OPERANDS];
  for (int i = 0; i < w->operands; i++) in[i] = nx_placeholder(c, 0, type_of(w), w->shape, w->rank);
  nx_tensor *out = w->record(j->lab, in);
  bench_check(nx_function_create(c, in, (size_t)w->operands, &out, 1, NULL, &j->function));
  nx_scope_end(scope);
}

static void run_with(job *j, const nx_run_options *options) {
  if (j->function) {
    nx_tensor *out = NULL;
    bench_check(nx_function_call(j->function, j->x, (size_t)j->w->operands, &out, 1, options));
    nx_tensor_release(out);
    return;
  }
  nx_scope *scope = nx_scope_begin(j->lab->context);
  nx_tensor *y = j->w->record(j->lab, j->x);
  bench_check(nx_realize(j->lab->context, &y, 1, options));
  nx_scope_end(scope);
}

static void run_job(void *state) { run_with(state, NULL); }

static void run_workload(bench_lab *lab, const workload *w) {
  job j = {.lab = lab, .w = w};
  nx_report report = {.size = sizeof report};
  const nx_run_options reported = {.size = sizeof reported, .report = &report};
  bench_traffic plain, past;
  int64_t n = 1;
  for (int32_t i = 0; i < w->rank; i++) n *= w->shape[i];
  for (int i = 0; i < w->operands; i++)
    j.x[i] = bench_random(lab, type_of(w), w->rank, w->shape, -2, 2);
  if (w->called) capture(&j);
  run_with(&j, &reported);
  bench_row row = {.name = w->name,
                   .dtype = nx_dtype_name(type_of(w)),
                   .size = n,
                   .threads = lab->threads,
                   .target = w->target};
  row.compile_ms = report.compile_ms;
  row.kernels = (int64_t)report.kernels;
  /* The limit of the row: a copy of half its bytes, or a pure read if almost nothing is written. */
  int64_t bytes =
      (int64_t)((double)n * (double)nx_dtype_bits(type_of(w)) / 8 * (w->operands + w->writes));
  if (w->traffic > 0) bytes = (int64_t)(w->traffic * 4);
  int64_t reads = w->writes > 0 ? bytes / 2 : bytes, writes = w->writes > 0 ? bytes / 2 : 64;
  bench_traffic_init(&plain, lab, reads, writes, 0);
  bench_traffic_init(&past, lab, reads, writes, 1);
  bench_way ways[4] = {{.run = run_job, .state = &j},
                       {.run = bench_traffic_run, .state = &plain},
                       {.run = bench_traffic_run, .state = &past},
                       {.run = bench_peer_run, .state = lab->numpy, .foreign = true}};
  bool peer = w->peer[0] != '\0' && bench_peer_setup(lab->numpy, w->peer);
  bench_interleave(ways, peer ? 4 : 3, lab->rounds, 2e-3);
  row.ms = ways[0].median * 1e3;
  const bench_way *limit = &ways[ways[1].ratio <= ways[2].ratio ? 1 : 2];
  row.limit_ms = limit->median * 1e3;
  row.of_limit = limit->ratio;
  if (peer) bench_add_peer(&row, "NumPy", ways[3].median * 1e3);
  bench_print(&lab->out, &row);
  bench_traffic_free(&plain);
  bench_traffic_free(&past);
  nx_function_release(j.function);
  for (int i = 0; i < w->operands; i++) nx_tensor_release(j.x[i]);
}

void bench_arrays(bench_lab *lab) {
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
    if (bench_wanted(&lab->out, workloads[i].name)) run_workload(lab, &workloads[i]);
}
