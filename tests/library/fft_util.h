/* SPDX-License-Identifier: ISC */
/* What the tests of the Fourier transforms share: numbers of either precision, calls in exactly as
 * much memory as they may use, lengths. */
#ifndef NX_TESTS_FFT_UTIL_H
#define NX_TESTS_FFT_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/alloc.h"
#include "runtime/library/fft/fft.h"
#include "runtime/library/libraries.h"

typedef long double real;
enum { F32 = 4, F64 = 8 };

/* ---- numbers */

static uint64_t random_state = 1;

static inline double small_number(void) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (double)(int64_t)(random_state >> 11) / 9007199254740992.0 * 2 - 1;
}

static inline real get(const void *p, int bytes, int64_t i) {
  return bytes == F32 ? (real)((const float *)p)[i] : (real)((const double *)p)[i];
}

static inline void put(void *p, int bytes, int64_t i, real x) {
  if (bytes == F32) ((float *)p)[i] = (float)x;
  else ((double *)p)[i] = (double)x;
}

static inline void *room(int64_t bytes) {
  void *p = NULL;
  assert_true(bytes >= 0 && bytes < INT64_C(1) << 40);
  assert_int_equal(posix_memalign(&p, 64, (size_t)bytes + !bytes), 0);
  memset(p, 0xff, (size_t)bytes); /* NaN */
  return p;
}

static inline void *numbers(int bytes, int64_t reals) {
  void *p = room(reals * bytes);
  for (int64_t i = 0; i < reals; i++) put(p, bytes, i, small_number());
  return p;
}

/* ---- calls */

static inline nx_dtype dtype_of(nxg_op kind, int bytes) {
  if (kind == NXG_rfft) return bytes == F32 ? NX_F32 : NX_F64;
  return bytes == F32 ? NX_C64 : NX_C128;
}

typedef struct fft_call {
  nxg_op kind;
  nx_dtype dtype; /* of the operand */
  int32_t rank;
  const int64_t *shape; /* of the operand */
  int32_t n_axes;
  const int64_t *axes; /* the last one is that of the real numbers */
  int64_t size;        /* irfft */
} fft_call;

static inline nx_status infer(const fft_call *c, nxg_call *call, nxi_diag *d) {
  int64_t attrs[4] = {0};
  nxg_type operand = {c->dtype, c->rank, c->shape};
  for (int32_t i = 0; i < c->n_axes; i++) attrs[0] |= INT64_C(1) << c->axes[i];
  if (c->kind >= NXG_rfft) attrs[1] = c->n_axes ? c->axes[c->n_axes - 1] : 0;
  if (c->kind == NXG_irfft) attrs[2] = c->size;
  return nxg_call_infer(c->kind, 1, &operand, attrs, nxg_call_attrs(c->kind), call, d);
}

static inline int64_t bytes_of(const nxg_array *a) {
  return nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype);
}

/* Each task by itself, with its own scratch memory of just the size; the tasks of a phase from the
 * last to the first if `backwards`. */
static inline void run_phase(const nxg_call_work *w, nxg_call_part *part, bool backwards) {
  int64_t tasks, grain;
  nxg_call_phase(w, part->phase, &tasks, &grain);
  assert_true(grain >= 1 && tasks >= 0);
  void *own = room(w->own_bytes);
  int64_t step = backwards ? 1 : grain;
  for (int64_t done = 0; done < tasks; done += step) {
    int64_t end = done + step < tasks ? done + step : tasks;
    part->begin = backwards ? tasks - 1 - done : done;
    part->end = backwards ? part->begin + 1 : end;
    part->own = own;
    if (done < 4) memset(own, 0xff, (size_t)w->own_bytes);
    assert_int_equal(nxi_fft_functions.run(part), NX_OK);
  }
  free(own);
}

/* The result of a call in exactly as much memory as it may use. */
static inline void *run_on(const nxi_target *target, bool backwards, const fft_call *c,
                           const void *operand) {
  nxg_call call;
  nxg_call_work work = {0};
  nxi_diag d = {0};
  nx_status status = infer(c, &call, &d);
  if (!status) status = nxi_fft_prepare(&call, target, &work, &d);
  if (status) fail_msg("%s", d.message);
  void *result = room(bytes_of(&call.results[0])), *shared = room(work.shared_bytes);
  void *from = (void *)(uintptr_t)operand;
  nxg_call_part part = {
      .call = &call, .state = work.state, .operands = &from, .results = &result, .shared = shared};
  int64_t allocations = nxi_alloc_count();
  for (; part.phase < work.n_phases; part.phase++) run_phase(&work, &part, backwards);
  assert_int_equal(nxi_alloc_count(), allocations);
  nxi_fft_functions.release(work.state);
  free(shared);
  return result;
}

static inline void *run(const fft_call *c, const void *operand) {
  return run_on(nxi_target_host(), false, c, operand);
}

/* One transform of length n (irfft: to n numbers, from `given` pairs). */
static inline void *transform(nxg_op kind, int bytes, int64_t n, int64_t given,
                              const void *operand) {
  int64_t axis = 0, extent = kind == NXG_irfft ? given : n;
  fft_call c = {.kind = kind,
                .dtype = dtype_of(kind, bytes),
                .rank = 1,
                .shape = &extent,
                .n_axes = 1,
                .axes = &axis};
  if (kind == NXG_irfft) c.size = n;
  return run(&c, operand);
}

/* Beside all short ones: powers, products of small primes, primes and their doubles, below and
 * above where two steps begin. */
static const int64_t lengths[] = {
    67,    71,    80,    97,    101,   112,   127,   128,   131,   144,   192,   240,   243,
    256,   257,   343,   360,   400,   500,   509,   512,   625,   640,   729,   768,   960,
    1000,  1009,  1024,  1155,  1280,  1536,  2018,  2048,  2187,  2310,  2401,  3125,  4093,
    4096,  5040,  6561,  6859,  7919,  8192,  10000, 10007, 12000, 14641, 15625, 16384, 16807,
    19683, 20480, 27720, 29791, 32768, 50000, 59049, 65536, 100003};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

#endif
