/* SPDX-License-Identifier: ISC */
/* Matrix products on a GPU beside the best that cuBLASLt has: large ones, many small ones, narrow
 * ones, and extents that nothing divides. */
#include <stdio.h>

#include "gpu.h"

/* A product of operands of `dtype`, of m x k times k x n; bytes are multiplied to i32. What is done
 * with it: nothing, or max(ab + bias, 0). */
typedef struct workload {
  const char *name;
  nx_dtype dtype;
  gpu_product_shape shape;
  bool bias;
} workload;

static const workload workloads[] = {
    {"matmul 8192", NX_F32, {8192, 8192, 8192, 1, {false}}, false},
    {"matmul 1024", NX_F32, {1024, 1024, 1024, 1, {false}}, false},
    {"matmul 4096 f64", NX_F64, {4096, 4096, 4096, 1, {false}}, false},
    {"matmul 8192 bf16", NX_BF16, {8192, 8192, 8192, 1, {false}}, false},
    {"matmul 8192 f16", NX_F16, {8192, 8192, 8192, 1, {false}}, false},
    {"matmul 256 of 512^2", NX_F32, {512, 512, 512, 256, {false}}, false},
    {"matmul 8192 bias relu", NX_F32, {8192, 8192, 8192, 1, {false}}, true},
    {"matmul 8192 bias relu bf16", NX_BF16, {8192, 8192, 8192, 1, {false}}, true},
    {"matmul 4096 bf16", NX_BF16, {4096, 4096, 4096, 1, {false}}, false},
    {"matmul 1024 bf16", NX_BF16, {1024, 1024, 1024, 1, {false}}, false},
    {"matmul 4096 transposed left bf16", NX_BF16, {4096, 4096, 4096, 1, {true, false}}, false},
    {"matmul 4096 transposed right bf16", NX_BF16, {4096, 4096, 4096, 1, {false, true}}, false},
    {"matmul 2048 transposed left", NX_F32, {2048, 2048, 2048, 1, {true, false}}, false},
    {"matmul 2048 transposed right", NX_F32, {2048, 2048, 2048, 1, {false, true}}, false},
    {"matmul 1000", NX_F32, {1000, 1000, 1000, 1, {false}}, false},
    {"matmul 1023", NX_F32, {1023, 1023, 1023, 1, {false}}, false},
    {"matmul 1023 bf16", NX_BF16, {1023, 1023, 1023, 1, {false}}, false},
    {"matmul 4097 bf16", NX_BF16, {4097, 4097, 4097, 1, {false}}, false},
    {"matmul 1000 of 64^2", NX_F32, {64, 64, 64, 1000, {false}}, false},
    {"matmul 1000 of 32^2", NX_F32, {32, 32, 32, 1000, {false}}, false},
    {"matmul 1000 of 16^2", NX_F32, {16, 16, 16, 1000, {false}}, false},
    {"matmul 100000 of 16^2", NX_F32, {16, 16, 16, 100000, {false}}, false},
    {"matmul 1000 of 64^2 bf16", NX_BF16, {64, 64, 64, 1000, {false}}, false},
    {"matmul 2^20x32 by 32x32", NX_F32, {1 << 20, 32, 32, 1, {false}}, false},
    {"matmul 32x2^20 by 2^20x32", NX_F32, {32, 32, 1 << 20, 1, {false}}, false},
    {"matrix 8192^2 by vector", NX_F32, {8192, 1, 8192, 1, {false}}, false},
    {"vector by matrix 8192^2", NX_F32, {1, 8192, 8192, 1, {false}}, false},
    {"matrix 8192^2 by vector bf16", NX_BF16, {8192, 1, 8192, 1, {false}}, false},
    {"matmul 8 rows by 8192^2 bf16", NX_BF16, {8, 8192, 8192, 1, {false}}, false},
    {"matmul 2048 c64", NX_C64, {2048, 2048, 2048, 1, {false}}, false},
    {"matmul 8192 i8", NX_I8, {8192, 8192, 8192, 1, {false}}, false},
    {"matmul 8192 i8 transposed right", NX_I8, {8192, 8192, 8192, 1, {false, true}}, false},
    {"matmul 8192 u8", NX_U8, {8192, 8192, 8192, 1, {false}}, false},
    {"matmul 1024 u8", NX_U8, {1024, 1024, 1024, 1, {false}}, false},
    {"matmul 1023 i8", NX_I8, {1023, 1023, 1023, 1, {false}}, false},
    {"matmul 8192 f8e4m3", NX_F8E4M3, {8192, 8192, 8192, 1, {false}}, false},
};

static bool is_bytes(nx_dtype t) { return t == NX_I8 || t == NX_U8; }

static nx_tensor *turned(nx_tensor *x, bool transposed, int32_t rank) {
  return !transposed ? x
         : rank > 2  ? nx_permute(x, NX_AXES(0, 2, 1))
                     : nx_permute(x, NX_AXES(1, 0));
}

static nx_tensor *record(const bench_lab *lab, nx_tensor **x, const workload *w, int32_t rank) {
  nx_tensor *a = turned(x[0], w->shape.transposed[0], rank),
            *b = turned(x[1], w->shape.transposed[1], rank);
  if (is_bytes(w->dtype)) a = nx_cast(a, NX_I32), b = nx_cast(b, NX_I32);
  nx_tensor *y = nx_matmul(a, b);
  if (!w->bias) return y;
  nx_tensor *zero = nx_full(lab->context, lab->device, w->dtype, NULL, 0, NX_NUMBER(0));
  return nx_max(nx_add(y, x[2]), zero);
}

/* Shapes of both operands as they lie, and of the bias; returns the operands' rank. */
static int32_t shapes_of(const gpu_product_shape *s, int64_t out[3][3]) {
  const int64_t m = s->m, n = s->n, k = s->k;
  const int32_t rank = s->batches > 1 ? 3 : 2;
  for (int i = 0; i < 2; i++) {
    const int64_t rows = i == 0 ? m : k, columns = i == 0 ? k : n;
    out[i][0] = s->batches;
    out[i][rank - 2] = s->transposed[i] ? columns : rows;
    out[i][rank - 1] = s->transposed[i] ? rows : columns;
  }
  out[2][0] = n;
  return rank;
}

static void capture(gpu_job *j, const workload *w, int32_t rank, int64_t shapes[3][3]) {
  const bench_lab *lab = &j->lab->lab;
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *in[3];
  for (int i = 0; i < 3; i++)
    in[i] = nx_placeholder(lab->context, lab->device, w->dtype, shapes[i], i < 2 ? rank : 1);
  nx_tensor *out = record(lab, in, w, rank);
  bench_check(nx_function_create(lab->context, in, j->n, &out, 1, NULL, &j->function));
  nx_scope_end(scope);
}

static int64_t smaller(int64_t extent, int64_t shrink) {
  return shrink == 1 || extent <= 16 ? extent : extent / shrink > 16 ? extent / shrink : 16;
}

static void run_row(gpu_lab *lab, workload w) {
  char peer[100];
  int64_t shapes[3][3];
  gpu_product_shape *s = &w.shape;
  gpu_job j = {.lab = lab, .n = w.bias ? 3 : 2};
  int64_t *const extents[] = {&s->m, &s->n, &s->k, &s->batches};
  if (!bench_wanted(&lab->lab.out, w.name)) return;
  for (int i = 0; i < 4; i++) *extents[i] = smaller(*extents[i], lab->shrink);
  const int32_t rank = shapes_of(s, shapes);
  const double low = w.dtype == NX_U8    ? 0
                     : is_bytes(w.dtype) ? -100
                                         : -1,
               high = low < -1 ? 100 : 1;
  for (int i = 0; i < 3; i++)
    j.x[i] = bench_random(&lab->lab, w.dtype, i < 2 ? rank : 1, shapes[i], low,
                          w.dtype == NX_U8 ? 200 : high);
  capture(&j, &w, rank, shapes);
  gpu_product *best = gpu_product_create(lab, w.dtype, s);
  bench_way ways[4] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  if (best)
    ways[n_ways++] = (bench_way){.run = gpu_product_run, .state = best, .wait = gpu_product_wait};
  snprintf(peer, sizeof peer, "%s %s %lld %lld %lld %lld %d", w.bias ? "matmulbias" : "matmul",
           nx_dtype_name(w.dtype), (long long)s->batches, (long long)s->m, (long long)s->n,
           (long long)s->k, s->transposed[0] + 2 * s->transposed[1]);
  gpu_peers peers = gpu_add_peers(lab, peer, ways, &n_ways);
  bench_interleave(ways, n_ways, lab->lab.rounds, 5e-3);
  bench_row row = {.name = w.name,
                   .dtype = nx_dtype_name(w.dtype),
                   .size = s->m * s->n * s->batches,
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
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) run_row(lab, workloads[i]);
}
