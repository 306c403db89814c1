/* SPDX-License-Identifier: ISC */
/* Linear algebra in f64, a thousand matrices of 8 x 8 and one each of 64, 256 and 1024, beside
 * the LAPACK of each peer. */
#include <stdio.h>

#include "bench.h"

typedef struct decomposition {
  const char *name, *peer;
  void (*record)(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n);
  bool definite; /* of positive definite matrices */
  size_t unique; /* so many of the first results have no free choice, such as that of a sign */
} decomposition;

static void one(nx_tensor *x, nx_tensor **out, size_t *n) {
  out[0] = x;
  *n = 1;
}
static void cholesky(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  one(nx_cholesky(a, NX_LOWER), out, n);
}
static void qr(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_qr(a, 0, &out[0], &out[1]));
  *n = 2;
}
static void svd(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_svd(a, 0, &out[0], &out[1], &out[2]));
  *n = 3;
}
static void eigh(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_eigh(a, 0, &out[0], &out[1]));
  *n = 2;
}
static void eig(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  bench_check(nx_eig(a, &out[0], &out[1]));
  *n = 2;
}
static void triangular(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  one(nx_triangular_solve(a, b, NX_LOWER), out, n);
}
static void solve(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  one(nx_solve(a, b, 0), out, n);
}
static void inv(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  one(nx_inv(a), out, n);
}
static void det(nx_tensor *a, nx_tensor *b, nx_tensor **out, size_t *n) {
  (void)b;
  one(nx_det(a), out, n);
}

static const decomposition decompositions[] = {
    {"cholesky", "cholesky", cholesky, true, 1},
    {"qr", "qr", qr, false, 0},
    {"svd", "svd", svd, false, 0},
    {"eigh", "eigh", eigh, true, 1},
    {"eig", "eig", eig, false, 0},
    {"triangular solve", "triangular", triangular, true, 1},
    {"solve", "solve", solve, true, 1},
    {"inv", "inv", inv, true, 1},
    {"det", "det", det, true, 0}, /* of 1024 it is infinite */
};
static const int64_t sizes[][2] = {{1000, 8}, {1, 64}, {1, 256}, {1, 1024}};

typedef struct job {
  bench_lab *lab;
  const decomposition *what;
  nx_tensor *a, *b;
} job;

static void run_job(void *state) {
  job *j = state;
  nx_tensor *out[3];
  size_t n = 0;
  nx_scope *scope = nx_scope_begin(j->lab->context);
  j->what->record(j->a, j->b, out, &n);
  bench_check(nx_realize(j->lab->context, out, n, NULL));
  nx_scope_end(scope);
}

/* Symmetric, with a diagonal that makes it positive definite. */
static nx_tensor *definite(bench_lab *lab, nx_tensor *a, int64_t n) {
  nx_tensor *t = nx_permute(a, NX_AXES(0, 2, 1)), *sum = nx_add(a, t),
            *size = nx_full(lab->context, 0, NX_F64, NULL, 0, NX_NUMBER((double)(4 * n))),
            *eye = nx_eye(lab->context, 0, NX_F64, n, n, 0), *shift = nx_mul(eye, size),
            *result = nx_add(sum, shift);
  bench_check(nx_realize(lab->context, &result, 1, NULL));
  nx_tensor *made[] = {a, t, sum, size, eye, shift};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) nx_tensor_release(made[i]);
  return result;
}

static void run_row(bench_lab *lab, const decomposition *what, int64_t batch, int64_t n) {
  char name[64], peer[BENCH_LINE];
  snprintf(name, sizeof name, "%s %lld", what->name, (long long)n);
  if (!bench_wanted(&lab->out, name)) return;
  if (lab->largest > 0 && n > lab->largest) n = lab->largest;
  if (lab->largest > 0 && batch > lab->largest) batch = lab->largest;
  bench_operand o[2] = {{.dtype = NX_F64, .rank = 3, .shape = {batch, n, n}, .low = -1, .high = 1}};
  o[1] = o[0];
  job j = {.lab = lab, .what = what, .a = bench_operand_make(lab, &o[0], 0)};
  j.b = bench_operand_make(lab, &o[1], 1);
  if (what->definite) j.a = definite(lab, j.a, n);
  snprintf(peer, sizeof peer, "%s", what->peer);
  bench_operands_print(o, 2, peer, sizeof peer);
  nx_tensor *out[3];
  size_t results = 0;
  nx_scope *scope = nx_scope_begin(lab->context);
  what->record(j.a, j.b, out, &results);
  bench_measure(lab, &(bench_case){.name = name,
                                   .dtype = "f64",
                                   .size = batch * n * n,
                                   .own = {.run = run_job, .state = &j},
                                   .peer = peer,
                                   .result = out,
                                   .n_results = what->unique,
                                   .rounds = n == 1024 ? (lab->rounds + 4) / 5 : 0});
  nx_scope_end(scope);
  nx_tensor_release(j.a);
  nx_tensor_release(j.b);
}

void bench_linalg(bench_lab *lab) {
  for (size_t i = 0; i < sizeof decompositions / sizeof *decompositions; i++)
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
      run_row(lab, &decompositions[i], sizes[k][0], sizes[k][1]);
}
