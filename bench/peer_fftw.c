/* SPDX-License-Identifier: ISC */
/* FFTW through dlopen. */
#include "peer_fftw.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD = -1, MEASURE = 0 };

/* plan_many_dft and its forms for real numbers, which have no sign. */
typedef void *(*many_fn)(int rank, const int *n, int howmany, void *in, const int *inembed,
                         int istride, int idist, void *out, const int *onembed, int ostride,
                         int odist, int sign, unsigned flags);
typedef void *(*many_real_fn)(int rank, const int *n, int howmany, void *in, const int *inembed,
                              int istride, int idist, void *out, const int *onembed, int ostride,
                              int odist, unsigned flags);
typedef void (*plan_fn)(void *plan);

static void *library(bool wide, const char *part) {
  char name[64];
  snprintf(name, sizeof name, "libfftw3%s%s.so.3", wide ? "" : "f", part);
  return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

/* A symbol into a pointer to a function. */
static bool find(void *from, bool wide, const char *name, void *pointer) {
  char whole[64];
  snprintf(whole, sizeof whole, "fftw%s_%s", wide ? "" : "f", name);
  void *symbol = from ? dlsym(from, whole) : NULL;
  memcpy(pointer, &symbol, sizeof symbol);
  return symbol != NULL;
}

static void use_threads(bool wide, int threads) {
  int (*init)(void);
  void (*set)(int n);
  void *from = library(wide, "_threads");
  if (find(from, wide, "init_threads", &init) && find(from, wide, "plan_with_nthreads", &set) &&
      init())
    set(threads);
}

static void *zeros(int64_t numbers, bool wide) {
  void *p = NULL;
  size_t bytes = (size_t)numbers * (wide ? 16 : 8) + 64;
  if (posix_memalign(&p, 64, bytes)) exit(1);
  memset(p, 0, bytes);
  return p;
}

bool fftw_peer_plan(fftw_peer *p, fftw_kind kind, bool wide, bool two, int64_t rows, int64_t n,
                    int threads) {
  static const char *const names[] = {"plan_many_dft", "plan_many_dft_r2c", "plan_many_dft_c2r"};
  many_fn many;
  many_real_fn many_real;
  void *from = library(wide, "");
  int repeat = p->repeat, extents[2] = {(int)(two ? rows : n), (int)n}, rank = two ? 2 : 1;
  int count = (int)(two ? 1 : rows), in = (int)n, out = (int)n;
  *p = (fftw_peer){.repeat = repeat};
  if (!find(from, wide, "execute", &p->execute) || !find(from, wide, "destroy_plan", &p->destroy) ||
      !find(from, wide, names[kind], &many) || !find(from, wide, names[kind], &many_real))
    return false;
  use_threads(wide, threads);
  p->in = zeros(rows * (n + 2), wide);
  p->out = zeros(rows * (n + 2), wide);
  if (kind == FFTW_TO_REAL) in = in / 2 + 1;
  if (kind == FFTW_FROM_REAL) out = out / 2 + 1;
  p->plan =
      kind == FFTW_COMPLEX
          ? many(rank, extents, count, p->in, NULL, 1, in, p->out, NULL, 1, out, FORWARD, MEASURE)
          : many_real(rank, extents, count, p->in, NULL, 1, in, p->out, NULL, 1, out, MEASURE);
  return p->plan != NULL;
}

void fftw_peer_run(void *peer) {
  fftw_peer *p = peer;
  for (int i = 0; i < p->repeat; i++) p->execute(p->plan);
}

void fftw_peer_free(fftw_peer *p) {
  if (p->plan) p->destroy(p->plan);
  free(p->in);
  free(p->out);
}
