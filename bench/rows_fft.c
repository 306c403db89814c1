/* SPDX-License-Identifier: ISC */
/* Fourier transforms, called as a captured function into its own result, beside NumPy's (which are
 * of f64, whatever it is given) and FFTW's. Short ones run many times a turn, or the turn would
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

/* Real numbers, or pairs of them. */
static nx_tensor *operand(bench_lab *lab, nx_dtype t, const int64_t *shape) {
  if (t == NX_F32 || t == NX_F64) return bench_random(lab, t, 2, shape, -1, 1);
  nx_dtype part = t == NX_C64 ? NX_F32 : NX_F64;
  nx_tensor *re = bench_random(lab, part, 2, shape, -1, 1),
            *im = bench_random(lab, part, 2, shape, -1, 1), *x = nx_complex(re, im);
  bench_check(nx_realize(lab->context, &x, 1, NULL));
  nx_tensor_release(re);
  nx_tensor_release(im);
  return x;
}

static void capture(bench_lab *lab, transforms *t, const workload *w, nx_dtype dtype,
                    const int64_t *shape) {
  nx_tensor *x = nx_placeholder(lab->context, 0, dtype, shape, 2), *y = record(w, x);
  bench_check(nx_function_create(lab->context, &x, 1, &y, 1, NULL, &t->f));
  nx_tensor_release(x);
  nx_tensor_release(y);
  t->x = operand(lab, dtype, shape);
  bench_check(nx_function_call(t->f, &t->x, 1, &t->y, 1, NULL));
}

static void run_row(bench_lab *lab, const workload *w, bool wide) {
  char name[64], peer[96];
  bool real = w->kind[0] == 'r', back = w->kind[0] == 'i', two = strcmp(w->kind, "fft2") == 0;
  if (w->rows > 1)
    snprintf(name, sizeof name, "%s %lldx%lld", w->kind, (long long)w->rows, (long long)w->n);
  else snprintf(name, sizeof name, "%s %lld", w->kind, (long long)w->n);
  if (!bench_wanted(&lab->out, name)) return;
  nx_dtype dtype = real ? (wide ? NX_F64 : NX_F32) : wide ? NX_C128 : NX_C64;
  int64_t shape[2] = {w->rows, back ? w->n / 2 + 1 : w->n};
  transforms t = {.repeat = w->repeat};
  capture(lab, &t, w, dtype, shape);
  snprintf(peer, sizeof peer, "fft %s %s %lld %lld %d", w->kind, wide ? "f64" : "f32",
           (long long)w->rows, (long long)w->n, w->repeat);
  bench_way ways[3] = {{.run = run_transforms, .state = &t}};
  size_t n = 1, numpy = 0, fftw = 0;
  fftw_peer f = {.repeat = w->repeat};
  if (bench_peer_setup(lab->numpy, peer)) {
    numpy = n;
    ways[n++] = (bench_way){.run = bench_peer_run, .state = lab->numpy, .foreign = true};
  }
  int threads = w->rows * w->n < 1 << 15 ? 1 : lab->threads; /* short ones are faster on one */
  fftw_kind kind = real ? FFTW_FROM_REAL : back ? FFTW_TO_REAL : FFTW_COMPLEX;
  if (fftw_peer_plan(&f, kind, wide, two, w->rows, w->n, threads)) {
    fftw = n;
    ways[n++] = (bench_way){.run = fftw_peer_run, .state = &f, .foreign = true};
  }
  bench_interleave(ways, n, lab->rounds, 1e-3);
  bench_row row = {.name = name,
                   .dtype = nx_dtype_name(dtype),
                   .size = w->rows * w->n,
                   .threads = lab->threads,
                   .ms = ways[0].median * 1e3 / w->repeat};
  if (numpy) bench_add_peer(&row, "NumPy", ways[numpy].median * 1e3 / w->repeat);
  if (fftw) { /* the best library is the limit */
    row.limit_ms = ways[fftw].median * 1e3 / w->repeat;
    bench_add_peer(&row, "FFTW", row.limit_ms);
    row.of_limit = ways[fftw].ratio;
    row.target = 0.9;
  }
  bench_print(&lab->out, &row);
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
      {"rfft", 1024, 1024, 1},  {"irfft", 1, 1 << 20, 1},  {"irfft", 1024, 1024, 1},
  };
  for (size_t i = 0; i < 2 * (sizeof workloads / sizeof *workloads); i++)
    run_row(lab, &workloads[i / 2], i % 2);
}
