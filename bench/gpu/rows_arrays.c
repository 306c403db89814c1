/* SPDX-License-Identifier: ISC */
/* Elementwise, row-wise and reduction rows, scans, sorting and transforms on a GPU: captured and
 * called, as a frontend's jit would. */
#include <stdio.h>

#include "gpu.h"
#include "ir/dtype.h"

static nx_tensor *sorted(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_sort(x[0], -1, 0);
}
static nx_tensor *argsorted(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_argsort(x[0], -1, 0, NX_I32);
}
static nx_tensor *transform(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_fft(nx_complex(x[0], x[1]), NX_AXES(1));
}

/* peer: the workload's name for PyTorch and JAX; "" has none. The bytes of a row: operands once,
 * results once. */
typedef struct workload {
  const char *name, *peer;
  bench_expression *record;
  nx_dtype dtype;
  int operands;
  int32_t rank;
  int64_t shape[2];
  double moved; /* elements read and written, in those of an operand; 0: there is no limit */
  bool reads;   /* next to nothing is written */
  double target;
} workload;

static const workload workloads[] = {
    {"2a+3b-ab 2^26", "poly", bench_polynomial, NX_F32, 2, 1, {1 << 26}, 3, false, 0.85},
    {"2a+3b-ab 2^27 bf16", "poly", bench_polynomial, NX_BF16, 2, 1, {1 << 27}, 3, false, 0.85},
    {"2a+3b-ab 2^25 f64", "poly", bench_polynomial, NX_F64, 2, 1, {1 << 25}, 3, false, 0.85},
    {"20 operations 2^26", "chain", bench_chain, NX_F32, 1, 1, {1 << 26}, 2, false, 0.85},
    {"tanh(ab+c) 2^26", "tanh", bench_tanh_of, NX_F32, 3, 1, {1 << 26}, 4, false, 0.85},
    {"exp 2^26", "exp", bench_exponential, NX_F32, 1, 1, {1 << 26}, 2, false, 0.85},
    {"gelu 2^26", "gelu", bench_gelu, NX_F32, 1, 1, {1 << 26}, 2, false, 0.85},
    {"softmax 65536x1024", "softmax", bench_softmax, NX_F32, 1, 2, {65536, 1024}, 2, false, 0.85},
    {"softmax 8192x8192", "softmax", bench_softmax, NX_F32, 1, 2, {8192, 8192}, 2, false, 0.85},
    {"softmax 1024x65536", "softmax", bench_softmax, NX_F32, 1, 2, {1024, 65536}, 2, false, 0.85},
    {"layer norm 65536x1024",
     "layernorm",
     bench_layer_norm,
     NX_F32,
     1,
     2,
     {65536, 1024},
     2,
     false,
     0.85},
    {"layer norm 8192x8192",
     "layernorm",
     bench_layer_norm,
     NX_F32,
     1,
     2,
     {8192, 8192},
     2,
     false,
     0.85},
    {"rms norm 65536x1024", "rmsnorm", bench_rms_norm, NX_F32, 1, 2, {65536, 1024}, 2, false, 0.85},
    {"sum axis 0 8192^2", "sum0", bench_sum_0, NX_F32, 1, 2, {8192, 8192}, 1, true, 0.8},
    {"sum axis 1 8192^2", "sum1", bench_sum_1, NX_F32, 1, 2, {8192, 8192}, 1, true, 0.8},
    {"max axis 1 8192^2", "max1", bench_max_1, NX_F32, 1, 2, {8192, 8192}, 1, true, 0.8},
    {"argmax axis 1 8192^2", "argmax1", bench_argmax_1, NX_F32, 1, 2, {8192, 8192}, 1, true, 0.8},
    {"sum all 2^26", "sum0", bench_sum_0, NX_F32, 1, 1, {1 << 26}, 1, true, 0.8},
    {"transpose 8192^2", "transpose", bench_transposed, NX_F32, 1, 2, {8192, 8192}, 2, false, 0},
    {"cumsum axis 0 8192^2", "cumsum0", bench_cumsum_0, NX_F32, 1, 2, {8192, 8192}, 2, false, 0.7},
    {"cumsum axis 1 8192^2", "cumsum1", bench_cumsum_1, NX_F32, 1, 2, {8192, 8192}, 2, false, 0.7},
    {"cumsum 2^26", "cumsum0", bench_cumsum_0, NX_F32, 1, 1, {1 << 26}, 2, false, 0.7},
    {"cumsum 2^26 i32", "cumsum0", bench_cumsum_0, NX_I32, 1, 1, {1 << 26}, 2, false, 0.7},
    {"cummax axis 1 8192^2", "cummax1", bench_cummax_1, NX_F32, 1, 2, {8192, 8192}, 2, false, 0.7},
    {"gather 8192 of 50000 rows of 512",
     "gather",
     bench_gather_rows,
     NX_F32,
     1,
     2,
     {BENCH_TABLE, BENCH_WIDTH},
     0,
     false,
     0},
    {"scatter-add 8192 to 50000 rows of 512",
     "scatteradd",
     bench_scatter_rows,
     NX_F32,
     1,
     2,
     {BENCH_TABLE, BENCH_WIDTH},
     0,
     false,
     0},
    {"sort 2^26", "sort", sorted, NX_F32, 1, 1, {1 << 26}, 0, false, 0},
    {"sort 2^20", "sort", sorted, NX_F32, 1, 1, {1 << 20}, 0, false, 0},
    {"argsort 2^26", "argsort", argsorted, NX_F32, 1, 1, {1 << 26}, 0, false, 0},
    {"sort 65536x1024", "sort", sorted, NX_F32, 1, 2, {65536, 1024}, 0, false, 0},
    {"fft 65536x1024", "fft", transform, NX_F32, 2, 2, {65536, 1024}, 0, false, 0},
    {"fft 64x2^20", "fft", transform, NX_F32, 2, 2, {64, 1 << 20}, 0, false, 0},
};

static void run_workload(gpu_lab *lab, const workload *w) {
  char peer[200] = "";
  gpu_job j = {.lab = lab, .n = (size_t)w->operands};
  bench_row row = {.name = w->name, .dtype = nx_dtype_name(w->dtype), .threads = 1};
  int64_t shape[2] = {w->shape[0] / lab->shrink, w->shape[1]}, n = shape[0];
  if (shape[0] < 1) shape[0] = 1;
  if (w->rank == 2 && lab->shrink > 1 && shape[1] > 256) shape[1] = 256; /* to try the program */
  if (w->rank == 2) n = shape[0] * shape[1];
  row.size = n;
  for (int i = 0; i < w->operands; i++)
    j.x[i] = bench_random(&lab->lab, w->dtype, w->rank, shape, -2, 2);
  bench_operand o[3];
  for (int i = 0; i < w->operands; i++)
    o[i] = (bench_operand){w->dtype, w->rank, {shape[0], shape[1]}, -2, 2};
  gpu_capture(&j, w->record, o, &row);
  double bytes = (double)n * w->moved * (double)nxi_dtype_size(w->dtype);
  bench_way ways[3 + GPU_LIMITS] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  gpu_limits limits;
  gpu_add_limits(&limits, lab, bytes, w->reads, ways, &n_ways);
  if (w->peer[0] != 0)
    snprintf(peer, sizeof peer, "%s %s %d %lld %lld", w->peer, row.dtype, w->operands,
             (long long)shape[0], (long long)(w->rank == 2 ? shape[1] : 0));
  gpu_peers peers = gpu_add_peers(lab, peer, ways, &n_ways);
  bench_interleave(ways, n_ways, lab->lab.rounds, 5e-3);
  row.ms = ways[0].median * 1e3;
  gpu_report_limits(&limits, ways, &row);
  row.target = limits.n > 0 ? w->target : 0;
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  gpu_free_limits(&limits);
  nx_function_release(j.function);
  for (int i = 0; i < w->operands; i++) nx_tensor_release(j.x[i]);
  nx_context_collect(lab->lab.context);
}

void gpu_arrays(gpu_lab *lab) {
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++)
    /* Indices are those of the whole table. */
    if (bench_wanted(&lab->lab.out, workloads[i].name) &&
        (lab->shrink == 1 || workloads[i].shape[0] != BENCH_TABLE))
      run_workload(lab, &workloads[i]);
}
