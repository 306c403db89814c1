/* SPDX-License-Identifier: ISC */
/* Fourier transforms, called as a captured function into its own result, beside those of peers;
 * FFTW's, planned by measuring, are the limit. Short ones run many times a turn, or the turn would
 * measure the pipe. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "peer_fftw.h"

typedef struct transforms {
  nx_function *f;
  nx_tensor *x, *y;
  int repeat;
} transforms;

static void run_transforms(void *state) {
  transforms *t = state;
  for (int i = 0; i < t->repeat; i++) bench_check(nx_function_call(t->f, &t->x, 1, &t->y, 1, NULL));
}

typedef struct workload {
  const char *kind; /* NumPy's name: fft, fft2, rfft, irfft */
  int64_t rows, n;
  int repeat;
} workload;

static nx_tensor *record(const workload *w, nx_tensor *x) {
  if (strcmp(w->kind, "fft2") == 0) return nx_fft(x, NX_AXES(0, 1));
  if (strcmp(w->kind, "rfft") == 0) return nx_rfft(x, NX_AXES(1));
  return w->kind[0] == 'i' ? nx_irfft(x, NX_AXES(1), &w->n, 1) : nx_fft(x, NX_AXES(1));
}

static void capture(bench_lab *lab, transforms *t, const workload *w, const bench_operand *o) {
  nx_tensor *x = nx_placeholder(lab->context, 0, o->dtype, o->shape, o->rank), *y = record(w, x);
  bench_check(nx_function_create(lab->context, &x, 1, &y, 1, NULL, &t->f));
  nx_tensor_release(x);
  nx_tensor_release(y);
  t->x = bench_operand_make(lab, o, 0);
  bench_check(nx_function_call(t->f, &t->x, 1, &t->y, 1, NULL));
}

static bool plan_fftw(const bench_lab *lab, const workload *w, bool wide, fftw_peer *f) {
  int threads = w->rows * w->n < 1 << 15 ? 1 : lab->threads; /* short ones are faster on one */
  fftw_kind kind = w->kind[0] == 'r'   ? FFTW_FROM_REAL
                   : w->kind[0] == 'i' ? FFTW_TO_REAL
                                       : FFTW_COMPLEX;
  return lab->fftw && lab->rounds > 0 &&
         fftw_peer_plan(f, kind, wide, strcmp(w->kind, "fft2") == 0, w->rows, w->n, threads);
}

/* What the workload transforms; an inverse takes half of the numbers and gets real ones. */
static bench_operand operand(const workload *w, bool wide) {
  bool real = w->kind[0] == 'r', back = w->kind[0] == 'i';
  nx_dtype dtype = real ? (wide ? NX_F64 : NX_F32) : wide ? NX_C128 : NX_C64;
  return (bench_operand){.dtype = dtype,
                         .rank = 2,
                         .shape = {w->rows, back ? w->n / 2 + 1 : w->n},
                         .low = -1,
                         .high = 1};
}

static void run_row(bench_lab *lab, const workload *given, bool wide) {
  char name[64], peer[BENCH_LINE];
  workload w = *given;
  bench_operand o = operand(&w, wide);
  if (w.rows > 1)
    snprintf(name, sizeof name, "%s %lldx%lld %s", w.kind, (long long)w.rows, (long long)w.n,
             nx_dtype_name(o.dtype));
  else snprintf(name, sizeof name, "%s %lld %s", w.kind, (long long)w.n, nx_dtype_name(o.dtype));
  if (!bench_wanted(&lab->out, name)) return;
  if (lab->largest > 0 && w.n > lab->largest) w.n = lab->largest;
  if (lab->largest > 0 && w.rows > lab->largest) w.rows = lab->largest;
  o = operand(&w, wide);
  transforms t = {.repeat = w.repeat};
  fftw_peer f = {.repeat = w.repeat};
  capture(lab, &t, &w, &o);
  snprintf(peer, sizeof peer, "%s/%lld/%d", w.kind, (long long)w.n, w.repeat);
  bench_operands_print(&o, 1, peer, sizeof peer);
  bool fftw = plan_fftw(lab, &w, wide, &f);
  bench_measure(lab, &(bench_case){.name = name,
                                   .dtype = nx_dtype_name(o.dtype),
                                   .size = w.rows * w.n,
                                   .own = {.run = run_transforms, .state = &t},
                                   .repeat = w.repeat,
                                   .peer = peer,
                                   .result = &t.y,
                                   .n_results = 1,
                                   .limit = "FFTW",
                                   .other = fftw ? "FFTW" : NULL,
                                   .other_way = {.run = fftw_peer_run, .state = &f, .rest = 5e-4},
                                   .target = 0.9});
  fftw_peer_free(&f);
  nx_function_release(t.f);
  nx_tensor_release(t.x);
  nx_tensor_release(t.y);
}

void bench_fft(bench_lab *lab) {
  static const workload workloads[] = {
      {"fft", 1, 1 << 10, 500}, {"fft", 1, 1 << 16, 4},    {"fft", 1, 1 << 20, 1},
      {"fft", 1, 1000, 500},    {"fft", 1, 10007, 10},     {"fft", 1024, 1024, 1},
      {"fft2", 1024, 1024, 1},  {"rfft", 1, 1 << 10, 500}, {"rfft", 1, 1 << 16, 4},
      {"rfft", 1, 1 << 20, 1},  {"rfft", 1, 1000, 500},    {"rfft", 1, 10007, 10},
      {"fft", 10000, 100, 1},   {"rfft", 10000, 100, 1},   {"rfft", 1024, 1024, 1},
      {"irfft", 1, 1 << 20, 1}, {"irfft", 1024, 1024, 1},
  };
  for (size_t i = 0; i < 2 * (sizeof workloads / sizeof *workloads); i++)
    run_row(lab, &workloads[i / 2], i % 2);
}
