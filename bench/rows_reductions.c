/* SPDX-License-Identifier: ISC */
/* Reductions over each axis, kernels of rows, and scans; widths that no vector divides among
 * them. */
#include "expressions.h"

static nx_tensor *sum_last(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_sum(x[0], NX_AXES(-1), 0);
}
static nx_tensor *sum_all(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_sum(x[0], NX_ALL_AXES, 0);
}
static nx_tensor *max_0(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_max(x[0], NX_AXES(0), 0);
}
static nx_tensor *max_last(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_max(x[0], NX_AXES(-1), 0);
}
static nx_tensor *argmax_0(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_argmax(x[0], 0, 0, NX_I32);
}
static nx_tensor *argmax_last(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_argmax(x[0], -1, 0, NX_I32);
}
static nx_tensor *mean(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_mean(x[0], NX_AXES(1), 0);
}
static nx_tensor *variance(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_reduce_var(x[0], NX_AXES(1), 0, 0);
}

/* Row sums of (A + A^T) / 2. */
static nx_tensor *symmetric_sums(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *y = nx_mul(nx_add(x[0], bench_transposed_view(x[0])), bench_number(lab, x[0], 0.5));
  return nx_reduce_sum(y, NX_AXES(1), 0);
}
static nx_tensor *symmetric_softmax(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, bench_softmax_of(nx_add(x[0], bench_transposed_view(x[0])));
}

static const bench_workload reductions[] = {
    {"sum axis 0 4096^2", "sum0", bench_sum_0, "f32:4096x4096", 0.8, 0, 0},
    {"sum axis 1 4096^2", "sum1", bench_sum_1, "f32:4096x4096", 0.8, 0, 0},
    {"sum axis 0 4098^2", "sum0", bench_sum_0, "f32:4098x4098", 0.8, 0, 0},
    {"sum axis 1 4098^2", "sum1", bench_sum_1, "f32:4098x4098", 0.8, 0, 0},
    {"sum axis 1 160000x100", "sum1", bench_sum_1, "f32:160000x100", 0.8, 0, 0},
    {"sum axis 0 160000x100", "sum0", bench_sum_0, "f32:160000x100", 0.8, 0, 0},
    {"sum axis 1 16000x1009", "sum1", bench_sum_1, "f32:16000x1009", 0.8, 0, 0},
    {"sum axis 0 64x128x256", "sum0", bench_sum_0, "f32:64x128x256", 0, 0, 0},
    {"sum axis 1 64x128x256", "sum1", bench_sum_1, "f32:64x128x256", 0, 0, 0},
    {"sum axis 2 64x128x256", "sumlast", sum_last, "f32:64x128x256", 0, 0, 0},
    {"sum all 1.6e7", "sumall", sum_all, "f32:16000000", 0.8, 0, 0},
    {"max axis 1 4096^2", "max1", bench_max_1, "f32:4096x4096", 0.8, 0, 0},
    {"argmax axis 1 4096^2", "argmax1", bench_argmax_1, "f32:4096x4096", 0.8, 0, 0},
    {"max axis 0 4096^2", "max0", max_0, "f32:4096x4096", 0.8, BENCH_SIZE, 0},
    {"argmax axis 0 4096^2", "argmax0", argmax_0, "f32:4096x4096", 0.8, BENCH_SIZE, 0},
    {"max axis 0 64x128x256", "max0", max_0, "f32:64x128x256", 0, BENCH_SIZE, 0},
    {"max axis 1 64x128x256", "max1", bench_max_1, "f32:64x128x256", 0, BENCH_SIZE, 0},
    {"max axis 2 64x128x256", "maxlast", max_last, "f32:64x128x256", 0, BENCH_SIZE, 0},
    {"argmax axis 0 64x128x256", "argmax0", argmax_0, "f32:64x128x256", 0, BENCH_SIZE, 0},
    {"argmax axis 1 64x128x256", "argmax1", bench_argmax_1, "f32:64x128x256", 0, BENCH_SIZE, 0},
    {"argmax axis 2 64x128x256", "argmaxlast", argmax_last, "f32:64x128x256", 0, BENCH_SIZE, 0},
    {"mean axis 1 4096^2", "mean1", mean, "f32:4096x4096", 0.8, BENCH_SIZE, 0},
    {"variance axis 1 4096^2", "variance", variance, "f32:4096x4096", 0, 0, 0},
    {"row sums of (A+A^T)/2 4096^2", "symmetricsums", symmetric_sums, "f32:4096x4096", 0, 0, 0},
};

void bench_reductions(bench_lab *lab) {
  bench_workloads(lab, reductions, sizeof reductions / sizeof *reductions);
}

/* ---- kernels of rows */

static nx_tensor *log_softmax(const bench_lab *lab, nx_tensor **x) {
  (void)lab;
  nx_tensor *d = nx_sub(x[0], nx_reduce_max(x[0], NX_AXES(1), NX_KEEPDIMS));
  return nx_sub(d, nx_log(nx_reduce_sum(nx_exp(d), NX_AXES(1), NX_KEEPDIMS)));
}

/* The mean of what the class of each row, x[1], loses. */
static nx_tensor *cross_entropy(const bench_lab *lab, nx_tensor **x) {
  int64_t n = bench_info(x[0]).shape[0];
  nx_tensor *chosen = nx_gather(log_softmax(lab, x), nx_reshape(x[1], NX_SHAPE(n, 1), 0), 1);
  return nx_neg(nx_reduce_mean(chosen, NX_ALL_AXES, 0));
}

static const bench_workload row_kernels[] = {
    {"softmax 4096x1024", "softmax", bench_softmax, "f32:4096x1024", 0.6, 0, 0},
    {"softmax 4096x1009", "softmax", bench_softmax, "f32:4096x1009", 0.6, 0, 0},
    {"softmax 40000x100", "softmax", bench_softmax, "f32:40000x100", 0, 0, 0},
    {"log-softmax 4096x1024", "logsoftmax", log_softmax, "f32:4096x1024", 0.6, 0, 0},
    {"cross entropy 4096x1024", "crossentropy", cross_entropy, "f32:4096x1024 i32:4096:0:1024", 0,
     0, 0},
    {"layer norm 4096x1024", "layernorm", bench_layer_norm, "f32:4096x1024", 0.6, 0, 0},
    {"layer norm 4096x1009", "layernorm", bench_layer_norm, "f32:4096x1009", 0.6, 0, 0},
    {"rms norm 4096x1024", "rmsnorm", bench_rms_norm, "f32:4096x1024", 0.6, 0, 0},
    {"softmax 4096^2", "softmax", bench_softmax, "f32:4096x4096", 0.6, BENCH_SIZE, 0},
    {"log-softmax 4096^2", "logsoftmax", log_softmax, "f32:4096x4096", 0.6, BENCH_SIZE, 0},
    {"cross entropy 4096^2", "crossentropy", cross_entropy, "f32:4096x4096 i32:4096:0:4096", 0,
     BENCH_SIZE, 0},
    {"layer norm 4096^2", "layernorm", bench_layer_norm, "f32:4096x4096", 0.6, BENCH_SIZE, 0},
    {"rms norm 4096^2", "rmsnorm", bench_rms_norm, "f32:4096x4096", 0.6, BENCH_SIZE, 0},
    {"softmax of A+A^T 4096^2", "symmetricsoftmax", symmetric_softmax, "f32:4096x4096", 0, 0, 0},
};

void bench_row_kernels(bench_lab *lab) {
  bench_workloads(lab, row_kernels, sizeof row_kernels / sizeof *row_kernels);
}

static const bench_workload scans[] = {
    {"cumsum axis 0 4096^2", "cumsum0", bench_cumsum_0, "f32:4096x4096", 0.75, 0, 0},
    {"cumsum axis 1 4096^2", "cumsum1", bench_cumsum_1, "f32:4096x4096", 0.75, 0, 0},
    {"cumsum axis 0 4098x1009", "cumsum0", bench_cumsum_0, "f32:4098x1009", 0.75, 0, 0},
    {"cumsum axis 1 4098x1009", "cumsum1", bench_cumsum_1, "f32:4098x1009", 0.75, 0, 0},
    {"cumsum axis 1 100000x100", "cumsum1", bench_cumsum_1, "f32:100000x100", 0.75, 0, 0},
    {"cummax axis 0 4096^2", "cummax0", bench_cummax_0, "f32:4096x4096", 0.75, 0, 0},
    {"cummax axis 1 4096^2", "cummax1", bench_cummax_1, "f32:4096x4096", 0.75, 0, 0},
    {"cumsum 1e7", "cumsum0", bench_cumsum_0, "f32:10000000", 0.5, 0, 0},
    {"cummax 1e7", "cummax0", bench_cummax_0, "f32:10000000", 0.5, BENCH_SIZE, 0},
};

void bench_scans(bench_lab *lab) { bench_workloads(lab, scans, sizeof scans / sizeof *scans); }
