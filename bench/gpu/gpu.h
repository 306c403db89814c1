/* SPDX-License-Identifier: ISC */
/* What the rows for a GPU share. Work is started as often as a round requires, without waiting, and
 * then waited for once. */
#ifndef NX_BENCH_GPU_H
#define NX_BENCH_GPU_H

#include "bench/expressions.h"
#include "runtime/cuda/gpu.h"

typedef struct gpu_lab {
  bench_lab lab;
  nxi_gpu *gpu;
  bench_peer *torch, *jax; /* NULL: not installed, or without a GPU */
  const char *groups;      /* the names of those that run; NULL: all */
  int64_t shrink;          /* divides the sizes of rows, for trying the program */
} gpu_lab;

void gpu_wait(const gpu_lab *lab);
/* A way of nx: a captured function and its operands. */
typedef struct gpu_job {
  const gpu_lab *lab;
  nx_tensor *x[4];
  size_t n; /* operands */
  nx_function *function;
} gpu_job;
void gpu_job_run(void *job);
void gpu_job_wait(void *job);
/* Captures an expression of placeholders as the operands say, and calls it once. */
void gpu_capture(gpu_job *j, bench_expression *record, const bench_operand *o, bench_row *row);

/* ---- limits: the bytes of a row, moved by the driver's copy or by a kernel that does nothing
 * else; or only read */
typedef enum gpu_traffic_kind {
  GPU_DRIVER_COPY,
  GPU_KERNEL_COPY,
  GPU_KERNEL_READ
} gpu_traffic_kind;
typedef struct gpu_traffic {
  const gpu_lab *lab;
  gpu_traffic_kind kind;
  struct nxi_kernel *kernel;
  uint64_t from, to;
  int64_t bytes; /* of each */
} gpu_traffic;
void gpu_traffic_init(gpu_traffic *t, const gpu_lab *lab, gpu_traffic_kind kind, int64_t bytes);
void gpu_traffic_free(gpu_traffic *t);
void gpu_traffic_run(void *traffic);
void gpu_traffic_wait(void *traffic);

/* The limits of a row that moves so many bytes, or only reads them; 0: it has none. */
enum { GPU_LIMITS = 2 };
typedef struct gpu_limits {
  gpu_traffic all[GPU_LIMITS];
  int n;
  size_t at; /* the first one's place in `ways` */
} gpu_limits;
void gpu_add_limits(gpu_limits *limits, const gpu_lab *lab, double bytes, bool reads,
                    bench_way *ways, size_t *n);
void gpu_report_limits(const gpu_limits *limits, const bench_way *ways, bench_row *row);
void gpu_free_limits(gpu_limits *limits);

/* ---- the best product of cuBLASLt: the quickest of all algorithms that it proposes */
typedef struct gpu_product gpu_product;
/* m x k times k x n; transposed: the operand lies as its transpose does. */
typedef struct gpu_product_shape {
  int64_t m, n, k, batches;
  bool transposed[2];
} gpu_product_shape;
/* Of operands of that type. NULL: there is no cuBLASLt, or it has no such product. */
gpu_product *gpu_product_create(const gpu_lab *lab, nx_dtype dtype, const gpu_product_shape *s);
void gpu_product_free(gpu_product *p);
void gpu_product_run(void *product);
void gpu_product_wait(void *product);

/* Adds the peers' ways of a workload to `ways` at *n, and what they are called. */
typedef struct gpu_peers {
  const char *names[2];
  size_t at[2];
  int n;
} gpu_peers;
gpu_peers gpu_add_peers(const gpu_lab *lab, const char *workload, bench_way *ways, size_t *n);
void gpu_report_peers(const gpu_peers *p, const bench_way *ways, bench_row *row);

void gpu_arrays(gpu_lab *lab);
void gpu_shapes(gpu_lab *lab);
void gpu_products(gpu_lab *lab);
void gpu_models(gpu_lab *lab);
void gpu_overhead(gpu_lab *lab);
void gpu_calls(gpu_lab *lab);
void gpu_copies(gpu_lab *lab);
void gpu_linalg(gpu_lab *lab);
/* What a process of the rows about processes does, with its cache in that folder; does not
 * return. */
void gpu_first_result(const char *cache);

#endif
