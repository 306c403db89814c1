/* SPDX-License-Identifier: ISC */
/* Matrix products on a GPU beside the best that cuBLASLt has. */
#include <stdio.h>

#include "gpu.h"

/* max(ab + bias, 0) */
static nx_tensor *record(const bench_lab *lab, nx_tensor **x, nx_dtype dtype, bool bias) {
  nx_tensor *y = nx_matmul(x[0], x[1]);
  if (!bias) return y;
  nx_tensor *zero = nx_full(lab->context, lab->device, dtype, NULL, 0, NX_NUMBER(0));
  return nx_max(nx_add(y, x[2]), zero);
}

static void capture(gpu_job *j, nx_dtype dtype, int32_t rank, const int64_t *shape, bool bias) {
  const bench_lab *lab = &j->lab->lab;
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *in[3];
  for (int i = 0; i < 3; i++)
    in[i] = nx_placeholder(lab->context, lab->device, dtype, i < 2 ? shape : shape + rank - 1,
                           i < 2 ? rank : 1);
  nx_tensor *out = record(lab, in, dtype, bias);
  bench_check(nx_function_create(lab->context, in, bias ? 3 : 2, &out, 1, NULL, &j->function));
  nx_scope_end(scope);
}

static void run_row(gpu_lab *lab, const char *name, nx_dtype dtype, int64_t n, int64_t batches,
                    bool bias) {
  char peer[100];
  gpu_job j = {.lab = lab, .n = bias ? 3 : 2};
  if (!bench_wanted(&lab->lab.out, name)) return;
  n = n / lab->shrink > 16 ? n / lab->shrink : 16;
  const int64_t batched[] = {batches, n, n}, *shape = batches > 1 ? batched : batched + 1;
  int32_t rank = batches > 1 ? 3 : 2;
  for (int i = 0; i < 2; i++) j.x[i] = bench_random(&lab->lab, dtype, rank, shape, -1, 1);
  j.x[2] = bench_random(&lab->lab, dtype, 1, &n, -1, 1);
  capture(&j, dtype, rank, shape, bias);
  gpu_product *best = gpu_product_create(lab, dtype, n, batches);
  bench_way ways[4] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  if (best)
    ways[n_ways++] = (bench_way){.run = gpu_product_run, .state = best, .wait = gpu_product_wait};
  snprintf(peer, sizeof peer, "%s %s 3 %lld %lld", bias ? "matmulbias" : "matmul",
           nx_dtype_name(dtype), (long long)batches, (long long)n);
  gpu_peers peers = gpu_add_peers(lab, peer, ways, &n_ways);
  bench_interleave(ways, n_ways, lab->lab.rounds, 5e-3);
  bench_row row = {.name = name,
                   .dtype = nx_dtype_name(dtype),
                   .size = n * n * batches,
                   .threads = 1,
                   .ms = ways[0].median * 1e3};
  if (best) {
    row.limit_ms = ways[1].median * 1e3;
    row.of_limit = ways[1].ratio;
    row.target = 0.97;
  }
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  gpu_product_free(best);
  nx_function_release(j.function);
  for (int i = 0; i < 3; i++) nx_tensor_release(j.x[i]);
  nx_context_collect(lab->lab.context);
}

void gpu_products(gpu_lab *lab) {
  run_row(lab, "matmul 8192", NX_F32, 8192, 1, false);
  run_row(lab, "matmul 1024", NX_F32, 1024, 1, false);
  run_row(lab, "matmul 4096 f64", NX_F64, 4096, 1, false);
  run_row(lab, "matmul 8192 bf16", NX_BF16, 8192, 1, false);
  run_row(lab, "matmul 8192 f16", NX_F16, 8192, 1, false);
  run_row(lab, "matmul 256 of 512^2", NX_F32, 512, 256, false);
  run_row(lab, "matmul 8192 bias relu", NX_F32, 8192, 1, true);
  run_row(lab, "matmul 8192 bias relu bf16", NX_BF16, 8192, 1, true);
}
