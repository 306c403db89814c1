/* SPDX-License-Identifier: ISC */
/* Matrix products, beside OpenBLAS with its own threads and the right core type in a process of its
 * own making: NumPy's. */
#include "bench.h"

typedef struct product {
  bench_lab *lab;
  nx_tensor *a, *b, *bias;
} product;

static void run_product(void *state) {
  product *p = state;
  nx_scope *scope = nx_scope_begin(p->lab->context);
  nx_tensor *y = nx_matmul(p->a, p->b);
  if (p->bias != NULL)
    y = nx_max(nx_add(y, p->bias), nx_full(p->lab->context, 0, NX_F32, NULL, 0, NX_NUMBER(0)));
  bench_check(nx_realize(p->lab->context, &y, 1, NULL));
  nx_scope_end(scope);
}

static void run_row(bench_lab *lab, const char *name, int64_t n, bool bias, const char *peer,
                    double target) {
  product p = {.lab = lab};
  int64_t shape[2] = {n, n};
  if (!bench_wanted(&lab->out, name)) return;
  p.a = bench_random(lab, NX_F32, 2, shape, -1, 1);
  p.b = bench_random(lab, NX_F32, 2, shape, -1, 1);
  p.bias = bias ? bench_random(lab, NX_F32, 1, shape, -1, 1) : NULL;
  bench_way ways[2] = {{.run = run_product, .state = &p},
                       {.run = bench_peer_run, .state = lab->numpy, .foreign = true}};
  bool numpy = bench_peer_setup(lab->numpy, peer);
  bench_interleave(ways, numpy ? 2 : 1, lab->rounds, 1e-3);
  bench_row row = {.name = name,
                   .dtype = "f32",
                   .size = n * n,
                   .threads = lab->threads,
                   .ms = ways[0].median * 1e3,
                   .limit_ms = numpy ? ways[1].median * 1e3 : 0,
                   .of_limit = numpy ? ways[1].ratio : 0,
                   .target = numpy ? target : 0};
  if (numpy) bench_add_peer(&row, "NumPy", row.limit_ms);
  bench_print(&lab->out, &row);
  nx_tensor_release(p.a);
  nx_tensor_release(p.b);
  nx_tensor_release(p.bias);
}

void bench_matmul(bench_lab *lab) {
  run_row(lab, "sgemm 256", 256, false, "sgemm 256", 0);
  run_row(lab, "sgemm 1024", 1024, false, "sgemm 1024", 0.95);
  run_row(lab, "sgemm 1024 bias relu", 1024, true, "sgemm 1024", 0);
}
