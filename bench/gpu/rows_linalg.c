/* SPDX-License-Identifier: ISC */
/* Linear algebra on a GPU: batches of small matrices, and large ones, beside the libraries that
 * PyTorch and JAX choose. */
#include <stdio.h>

#include "gpu.h"

static const double LONG = 0.1; /* seconds; what takes more is run once, and no peer is asked */

typedef struct routine {
  const char *name;
  void (*record)(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n);
  int operands;
  bool definite; /* of positive definite matrices; others are general */
  bool costly;   /* of large matrices it takes seconds */
} routine;

static void cholesky(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  out[(*n)++] = nx_cholesky(a, NX_LOWER);
}
static void triangular(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  out[(*n)++] = nx_triangular_solve(a, b, NX_LOWER);
}
static void solve(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  out[(*n)++] = nx_solve(a, b, 0);
}
static void inverse(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  out[(*n)++] = nx_inv(a);
}
static void qr(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_qr(a, 0, &out[0], &out[1]));
  *n = 2;
}
static void eigh(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_eigh(a, 0, &out[0], &out[1]));
  *n = 2;
}
static void svd(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_svd(a, 0, &out[0], &out[1], &out[2]));
  *n = 3;
}

static const routine routines[] = {
    {"cholesky", cholesky, 1, true, false},
    {"triangular", triangular, 2, true, false},
    {"solve", solve, 2, true, false},
    {"inverse", inverse, 1, true, false},
    {"qr", qr, 1, false, false},
    {"eigh", eigh, 1, true, true},
    {"svd", svd, 1, false, true},
};
static const int64_t sizes[][2] = {{1, 8},     {1000, 8}, {10000, 8},  {1000, 32}, {1, 64},
                                   {1000, 64}, {8, 128},  {1000, 128}, {1, 256},   {8, 256},
                                   {100, 256}, {1, 1024}, {1, 4096}};
static const nx_dtype dtypes[] = {NX_F32, NX_F64};

/* Symmetric, with a diagonal that makes it positive definite. */
static nx_tensor *definite(const bench_lab *lab, nx_tensor *a, int64_t n, nx_dtype dtype) {
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *sum = nx_add(a, nx_permute(a, NX_AXES(0, 2, 1))),
            *size = nx_full(lab->context, lab->device, dtype, NULL, 0, NX_NUMBER((double)(4 * n))),
            *shift = nx_mul(nx_eye(lab->context, lab->device, dtype, n, n, 0), size),
            *result = nx_tensor_retain(nx_add(sum, shift));
  bench_check(nx_realize(lab->context, &result, 1, NULL));
  nx_scope_end(scope);
  nx_tensor_release(a);
  return result;
}

/* All results of a routine. */
typedef struct work {
  gpu_job job;
  size_t results;
} work;
static void run(void *state) {
  work *w = state;
  nx_tensor *out[3] = {NULL};
  bench_check(nx_function_call(w->job.function, w->job.x, w->job.n, out, w->results, NULL));
  for (size_t i = 0; i < w->results; i++) nx_tensor_release(out[i]);
}

static void capture(work *w, const routine *r, const int64_t *shape, nx_dtype dtype) {
  const bench_lab *lab = &w->job.lab->lab;
  nx_scope *scope = nx_scope_begin(lab->context);
  nx_tensor *in[2] = {NULL}, *out[3] = {NULL};
  for (size_t i = 0; i < w->job.n; i++)
    in[i] = nx_placeholder(lab->context, lab->device, dtype, shape, 3);
  r->record(in[0], in[1], out, &w->results);
  bench_check(
      nx_function_create(lab->context, in, w->job.n, out, w->results, NULL, &w->job.function));
  nx_scope_end(scope);
}

/* Seconds of one run, after one that loads what it needs. */
static double time_once(work *w) {
  run(w);
  gpu_job_wait(&w->job);
  const double begin = bench_now();
  run(w);
  gpu_job_wait(&w->job);
  return bench_now() - begin;
}

static void run_row(gpu_lab *lab, const routine *r, const int64_t *size, nx_dtype dtype) {
  char name[64], peer[100];
  int64_t n = size[1] / lab->shrink < 8 ? 8 : size[1] / lab->shrink,
          batch = size[0] / lab->shrink < 1 ? 1 : size[0] / lab->shrink;
  const int64_t shape[] = {batch, n, n};
  snprintf(name, sizeof name, "%s %lld of %lld^2 %s", r->name, (long long)size[0],
           (long long)size[1], nx_dtype_name(dtype));
  if (!bench_wanted(&lab->lab.out, name)) return;
  work w = {.job = {.lab = lab, .n = (size_t)r->operands}};
  for (size_t i = 0; i < w.job.n; i++) w.job.x[i] = bench_random(&lab->lab, dtype, 3, shape, -1, 1);
  if (r->definite) w.job.x[0] = definite(&lab->lab, w.job.x[0], n, dtype);
  capture(&w, r, shape, dtype);
  snprintf(peer, sizeof peer, "%s %s %d %lld %lld", r->name, nx_dtype_name(dtype), r->operands,
           (long long)batch, (long long)n);
  bench_way ways[3] = {{.run = run, .state = &w, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  gpu_peers peers = {.n = 0};
  const int rounds = lab->lab.rounds < 7 ? lab->lab.rounds : 7;
  ways[0].median = time_once(&w);
  if (ways[0].median < LONG) {
    peers = gpu_add_peers(lab, peer, ways, &n_ways);
    bench_interleave(ways, n_ways, rounds, 1e-3);
  }
  bench_row row = {.name = name,
                   .dtype = nx_dtype_name(dtype),
                   .size = batch * n * n,
                   .threads = 1,
                   .ms = ways[0].median * 1e3};
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  nx_function_release(w.job.function);
  for (size_t i = 0; i < w.job.n; i++) nx_tensor_release(w.job.x[i]);
  nx_context_collect(lab->lab.context);
}

void gpu_linalg(gpu_lab *lab) {
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
    for (size_t r = 0; r < sizeof routines / sizeof *routines; r++)
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        if (!routines[r].costly || sizes[s][0] * sizes[s][1] * sizes[s][1] * sizes[s][1] <= 1 << 30)
          run_row(lab, &routines[r], sizes[s], dtypes[d]);
}
