/* SPDX-License-Identifier: ISC */
/* Elementwise, row-wise and reduction rows: recorded, realised and released each time, as a frontend would; those that end
 * in "called" are captured once and called, as a frontend's jit would. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

nx_tensor *bench_random(bench_lab *lab, nx_dtype dtype, int32_t rank, const int64_t *shape,
                        double low, double high) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  float *data = malloc((size_t)n * sizeof *data);
  uint64_t s = 1;
  for (int64_t i = 0; i < n; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    data[i] = (float)(low + (high - low) * (double)(s >> 40) / (1 << 24));
  }
  nx_import_desc d = {.size = sizeof d,
                      .mode = NX_IMPORT_COPY,
                      .dtype = NX_F32,
                      .rank = rank,
                      .shape = shape,
                      .base = data,
                      .bytes = (size_t)n * sizeof *data};
  nx_tensor *t = NULL;
  bench_check(nx_import(lab->context, &d, &t));
  free(data);
  if (dtype != NX_F32) {
    nx_tensor *cast = nx_cast(t, dtype);
    bench_check(nx_realize(lab->context, &cast, 1, NULL));
    nx_tensor_release(t);
    t = cast;
  }
  return t;
}

/* A workload: an expression of up to three tensors. */
typedef struct workload {
  const char *name, *peer;
  nx_tensor *(*record)(nx_context *c, nx_tensor **x);
  int32_t rank;
  int64_t shape[3];
  bool called;
  int operands;  /* of that shape */
  double writes; /* outputs, in elements of an operand */
  double target;
  double
      traffic; /* elements read and written in all, if not those of the operands and outputs; 0 */
} workload;

static nx_tensor *number(nx_context *c, double x) {
  return nx_full(c, 0, NX_F32, 0, NULL, NX_NUMBER(x));
}

static nx_tensor *polynomial(nx_context *c, nx_tensor **x) {
  return nx_sub(nx_add(nx_mul(x[0], number(c, 2)), nx_mul(x[1], number(c, 3))), nx_mul(x[0], x[1]));
}
static nx_tensor *exponential(nx_context *c, nx_tensor **x) { return (void)c, nx_exp(x[0]); }
static nx_tensor *tanh_of(nx_context *c, nx_tensor **x) {
  return (void)c, nx_tanh(nx_add(nx_mul(x[0], x[1]), x[2]));
}
static nx_tensor *gelu(nx_context *c, nx_tensor **x) {
  nx_tensor *e = nx_erf(nx_mul(x[0], number(c, 0.70710678118654752)));
  return nx_mul(nx_mul(x[0], number(c, 0.5)), nx_add(e, number(c, 1)));
}
static nx_tensor *softmax(nx_context *c, nx_tensor **x) {
  (void)c;
  nx_tensor *e = nx_exp(nx_sub(x[0], nx_reduce_max(x[0], NX_AXES(1), NX_KEEPDIMS)));
  return nx_div(e, nx_reduce_sum(e, NX_AXES(1), NX_KEEPDIMS));
}
static nx_tensor *layer_norm(nx_context *c, nx_tensor **x) {
  nx_tensor *n = number(c, 1024);
  nx_tensor *d = nx_sub(x[0], nx_div(nx_reduce_sum(x[0], NX_AXES(1), NX_KEEPDIMS), n));
  nx_tensor *v = nx_div(nx_reduce_sum(nx_mul(d, d), NX_AXES(1), NX_KEEPDIMS), n);
  return nx_div(d, nx_sqrt(nx_add(v, number(c, 1e-5))));
}
static nx_tensor *sum_0(nx_context *c, nx_tensor **x) {
  return (void)c, nx_reduce_sum(x[0], NX_AXES(0), 0);
}
static nx_tensor *sum_1(nx_context *c, nx_tensor **x) {
  return (void)c, nx_reduce_sum(x[0], NX_AXES(1), 0);
}
static nx_tensor *max_1(nx_context *c, nx_tensor **x) {
  return (void)c, nx_reduce_max(x[0], NX_AXES(1), 0);
}
static nx_tensor *argmax_1(nx_context *c, nx_tensor **x) { return (void)c, nx_argmax(x[0], 1, 0); }
static nx_tensor *transposed(nx_context *c, nx_tensor **x) {
  return (void)c, nx_contiguous(nx_permute(x[0], NX_AXES(1, 0)));
}

static nx_tensor *cumsum_0(nx_context *c, nx_tensor **x) {
  return (void)c, nx_associative_scan(x[0], NX_SCAN_SUM, 0);
}
static nx_tensor *cumsum_1(nx_context *c, nx_tensor **x) {
  return (void)c, nx_associative_scan(x[0], NX_SCAN_SUM, 1);
}
static nx_tensor *cummax_0(nx_context *c, nx_tensor **x) {
  return (void)c, nx_associative_scan(x[0], NX_SCAN_MAX, 0);
}
static nx_tensor *cummax_1(nx_context *c, nx_tensor **x) {
  return (void)c, nx_associative_scan(x[0], NX_SCAN_MAX, 1);
}

/* 8192 numbers of rows of a table of 50000, for each of its columns. */
enum { TABLE = 50000, TAKEN = 8192, WIDTH = 512 };
static nx_tensor *row_numbers(nx_context *c) {
  nx_tensor *key = nx_full(c, 0, NX_U32, NX_SHAPE(2), NX_INTEGER(7));
  nx_tensor *at = nx_mul(nx_rand(key, NX_F32, NX_SHAPE(TAKEN, 1)), number(c, TABLE - 1));
  return nx_expand(nx_cast(at, NX_I32), NX_SHAPE(TAKEN, WIDTH));
}
static nx_tensor *gather_rows(nx_context *c, nx_tensor **x) {
  return nx_gather(x[0], row_numbers(c), 0);
}
static nx_tensor *scatter_rows(nx_context *c, nx_tensor **x) {
  nx_tensor *updates = nx_shrink(x[0], (int64_t[]){0, 0}, (int64_t[]){TAKEN, WIDTH});
  return nx_scatter(x[0], row_numbers(c), updates, 0, NX_SCATTER_ADD, 0);
}

static const workload workloads[] = {
    {"2a+3b-ab 1e5", "poly 100000", polynomial, 1, {100000}, false, 2, 1, 0, 0},
    {"2a+3b-ab 1e5 called", "poly 100000", polynomial, 1, {100000}, true, 2, 1, 0.85, 0},
    {"2a+3b-ab 1e6", "poly 1000000", polynomial, 1, {1000000}, false, 2, 1, 0.85, 0},
    {"2a+3b-ab 1.6e7", "poly 16000000", polynomial, 1, {16000000}, false, 2, 1, 0.85, 0},
    {"tanh(ab+c) 1e6", "tanh 1000000", tanh_of, 1, {1000000}, false, 3, 1, 0, 0},
    {"exp 1e6", "exp 1000000", exponential, 1, {1000000}, false, 1, 1, 0, 0},
    {"gelu 1e6", "", gelu, 1, {1000000}, false, 1, 1, 0, 0},
    {"softmax 4096x1024", "softmax", softmax, 2, {4096, 1024}, false, 1, 1, 0.6, 0},
    {"layer norm 4096x1024", "layernorm", layer_norm, 2, {4096, 1024}, false, 1, 1, 0.6, 0},
    {"sum axis 0 4096^2", "sum0", sum_0, 2, {4096, 4096}, false, 1, 0, 0.8, 0},
    {"sum axis 1 4096^2", "sum1", sum_1, 2, {4096, 4096}, false, 1, 0, 0.8, 0},
    {"sum all 1.6e7", "sumall", sum_0, 1, {16000000}, false, 1, 0, 0.8, 0},
    {"max axis 1 4096^2", "max1", max_1, 2, {4096, 4096}, false, 1, 0, 0, 0},
    {"argmax axis 1 4096^2", "argmax1", argmax_1, 2, {4096, 4096}, false, 1, 0, 0, 0},
    {"transpose 4096^2", "transpose", transposed, 2, {4096, 4096}, false, 1, 1, 0, 0},
    {"cumsum axis 0 4096^2", "cumsum0", cumsum_0, 2, {4096, 4096}, false, 1, 1, 0.75, 0},
    {"cumsum axis 1 4096^2", "cumsum1", cumsum_1, 2, {4096, 4096}, false, 1, 1, 0.75, 0},
    {"cummax axis 0 4096^2", "cummax0", cummax_0, 2, {4096, 4096}, false, 1, 1, 0.75, 0},
    {"cummax axis 1 4096^2", "cummax1", cummax_1, 2, {4096, 4096}, false, 1, 1, 0.75, 0},
    {"cumsum 1e7", "cumsumall", cumsum_0, 1, {10000000}, false, 1, 1, 0.5, 0},
    {"gather 8192 of 50000 rows of 512",
     "gather",
     gather_rows,
     2,
     {TABLE, WIDTH},
     false,
     1,
     1,
     0,
     2.0 * TAKEN *WIDTH},
    {"scatter-add 8192 to 50000 rows of 512",
     "scatteradd",
     scatter_rows,
     2,
     {TABLE, WIDTH},
     false,
     1,
     1,
     0,
     2.0 * TABLE *WIDTH + 3.0 * TAKEN *WIDTH},
};

typedef struct job {
  bench_lab *lab;
  const workload *w;
  nx_tensor *x[3];
  nx_function *function; /* NULL: recorded each time */
} job;

static void capture(job *j) {
  nx_context *c = j->lab->context;
  const workload *w = j->w;
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *in[3];
  for (int i = 0; i < w->operands; i++) in[i] = nx_placeholder(c, 0, NX_F32, w->rank, w->shape);
  nx_tensor *out = w->record(c, in);
  bench_check(nx_function_create(c, in, (size_t)w->operands, &out, 1, NULL, &j->function));
  nx_scope_end(scope);
}

static void run_with(job *j, const nx_run_options *options) {
  if (j->function) {
    nx_tensor *out = NULL;
    bench_check(nx_function_call(j->function, j->x, &out, options));
    nx_tensor_release(out);
    return;
  }
  nx_scope *scope = nx_scope_begin(j->lab->context);
  nx_tensor *y = j->w->record(j->lab->context, j->x);
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
    j.x[i] = bench_random(lab, NX_F32, w->rank, w->shape, -2, 2);
  if (w->called) capture(&j);
  run_with(&j, &reported);
  bench_row row = {
      .name = w->name, .dtype = "f32", .size = n, .threads = lab->threads, .target = w->target};
  row.compile_ms = report.compile_ms;
  row.kernels = (int64_t)report.kernels;
  /* The bytes of the row as a copy of equal halves, or as a pure read where next to nothing is written. */
  int64_t bytes = (int64_t)((double)n * 4 * (w->operands + w->writes));
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
  row.numpy_ms = peer ? ways[3].median * 1e3 : 0;
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
