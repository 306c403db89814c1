/* SPDX-License-Identifier: ISC */
/* What test_linalg_blocked.c computes with: matrices of any dtype seen as complex ones, applied to
 * vectors, and calls of the functions below the interface, whose tasks run in an order of the
 * test's choice. */
#ifndef NXT_LINALG_UTIL_H
#define NXT_LINALG_UTIL_H

#include <complex.h>
#include <math.h>

#include "call_util.h"
#include "runtime/library/linalg/lapack.h"

typedef double complex cd;

static const nx_dtype dtypes[] = {NX_F32, NX_F64, NX_C64, NX_C128};
static double unit(nx_dtype t) { return nxi_lapack_single(t) ? 0x1p-23 : 0x1p-52; }

/* ---- matrices */

typedef struct matrices {
  nxg_array type;
  void *data;
} matrices;

static size_t bytes_of(const nxg_array *a) {
  return (size_t)(nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype));
}

static matrices room(nxg_array type) {
  size_t bytes = bytes_of(&type);
  matrices m = {type, malloc(bytes)};
  if (!m.data) abort();
  memset(m.data, 0x7f, bytes);
  return m;
}

static double next(void) {
  static uint64_t seed;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 33) / 0x1p30 - 1;
}

static cd get(const matrices *m, int64_t i) {
  const float *f = m->data;
  const double *g = m->data;
  switch (m->type.dtype) {
    case NX_F32: return f[i];
    case NX_F64: return g[i];
    case NX_C64: return f[2 * i] + I * (double)f[2 * i + 1];
    default: return g[2 * i] + I * g[2 * i + 1];
  }
}

static void set(const matrices *m, int64_t i, cd x) {
  float *f = m->data;
  double *g = m->data;
  switch (m->type.dtype) {
    case NX_F32: f[i] = (float)creal(x); break;
    case NX_F64: g[i] = creal(x); break;
    case NX_C64: f[2 * i] = (float)creal(x), f[2 * i + 1] = (float)cimag(x); break;
    default: g[2 * i] = creal(x), g[2 * i + 1] = cimag(x);
  }
}

static matrices random_matrices(nx_dtype t, int64_t batch, int64_t m, int64_t n) {
  matrices a = room((nxg_array){.dtype = t, .rank = 3, .shape = {batch, m, n}});
  for (int64_t i = 0; i < batch * m * n; i++) {
    double re = next(), im = next();
    set(&a, i, re + I * im);
  }
  return a;
}

/* y = A x of matrix number `which`, or A^H x; both are of `columns` and `rows` numbers. */
static inline void apply(const matrices *a, int64_t which, bool adjoint, const cd *x, cd *y) {
  const int64_t m = a->type.shape[1], n = a->type.shape[2];
  for (int64_t i = 0; i < (adjoint ? n : m); i++) y[i] = 0;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      const cd v = get(a, (which * m + i) * n + j);
      if (adjoint) y[j] += conj(v) * x[i];
      else y[i] += v * x[j];
    }
}

static inline double size_of(const cd *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += creal(x[i] * conj(x[i]));
  return sqrt(sum);
}

static inline void expect_near_(const cd *x, const cd *y, int64_t n, double bound, int line) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += creal((x[i] - y[i]) * conj(x[i] - y[i]));
  if (!(sqrt(sum) <= bound)) fail_msg("line %d: off by %g, more than %g", line, sqrt(sum), bound);
}
#define NEAR(x, y, n, bound) expect_near_(x, y, n, bound, __LINE__)

/* ---- one call */

typedef struct outcome {
  nx_status status;
  int64_t index;
  int64_t tasks; /* that were run */
  uint32_t phases;
  matrices results[NXG_CALL_RESULTS];
} outcome;

/* How it is run: tasks of a phase backwards; asked to stop after so many tasks (-1: never). */
typedef struct manner {
  bool backwards;
  int64_t stop_after;
} manner;

static bool stop_at_zero(void *user) {
  int64_t *left = user;
  return *left == 0;
}

static nx_status run_phases(const nxg_functions *f, const nxg_call_work *work, nxg_call_part part,
                            manner how, outcome *o) {
  int64_t left = how.stop_after;
  part.user = &left;
  for (; part.phase < work->n_phases; part.phase++) {
    int64_t tasks, grain;
    nxg_call_phase(work, part.phase, &tasks, &grain);
    for (int64_t i = 0; i < tasks; i++, o->tasks++) {
      part.begin = part.failed = how.backwards ? tasks - 1 - i : i;
      part.end = part.begin + 1;
      const nx_status status = f->run(&part);
      o->index = work->split > 1 ? part.failed / work->split : part.failed;
      if (status) return status;
      if (left > 0) left--;
    }
  }
  return NX_OK;
}

static outcome call(nxg_op op, const int64_t *attrs, const matrices *a, const matrices *b,
                    manner how) {
  outcome o = {.index = -1};
  int64_t all[NXG_CALL_ATTRS] = {0};
  size_t length;
  const uint32_t n_attrs = nxg_call_attrs(op), last = n_attrs - (nxg_call_results(op) > 1),
                 own = last - (last && !memcmp(nxg_call_key(op, last - 1, &length), "nan", 3));
  for (uint32_t i = 0; attrs && i < own; i++) all[i] = attrs[i];
  nxg_type types[2] = {{a->type.dtype, a->type.rank, a->type.shape}, {0}};
  if (b) types[1] = (nxg_type){b->type.dtype, b->type.rank, b->type.shape};
  nxg_call c;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_use_libraries();
  nx_status status = nxg_call_infer(op, b ? 2 : 1, types, all, n_attrs, &c, &d);
  const nxg_functions *f;
  nxg_call_work work;
  if (!status) status = nxg_call_prepare(&c, &f, &work, 0, NULL, &d);
  if (status) {
    fail_msg("%s", d.message);
    abort(); /* for analysis, which does not know that it is not reached */
  }
  o.phases = work.n_phases;
  void *operands[2] = {a->data, b ? b->data : NULL}, *results[NXG_CALL_RESULTS],
       *own_memory = aligned_alloc(64, ((size_t)work.own_bytes + 64) & ~(size_t)63),
       *shared = aligned_alloc(64, ((size_t)work.shared_bytes + 64) & ~(size_t)63);
  for (uint32_t i = 0; i < c.n_results; i++) {
    o.results[i] = room(c.results[i]);
    results[i] = o.results[i].data;
  }
  const nxg_call_part part = {.call = &c,
                              .state = work.state,
                              .operands = operands,
                              .results = results,
                              .shared = shared,
                              .own = own_memory,
                              .stopped = stop_at_zero};
  o.status = run_phases(f, &work, part, how, &o);
  if (f->release) f->release(work.state);
  free(own_memory), free(shared);
  return o;
}

static void drop(outcome *o) {
  for (int i = 0; i < NXG_CALL_RESULTS; i++) free(o->results[i].data);
}

static const manner usual = {false, -1}, backwards = {true, -1};

#endif
