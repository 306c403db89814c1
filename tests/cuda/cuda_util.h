/* SPDX-License-Identifier: ISC */
/* Shared parts of the tests of the device "cuda" over fake libraries: running a program in which
 * each call of these libraries fails once, and comparing numbers. */
#ifndef NXT_CUDA_UTIL_H
#define NXT_CUDA_UTIL_H

#include <math.h>

#include "fake_device.h"

/* Runs the program in new contexts, in each of which one more call of the fake libraries fails: in
 * every way, or in one of them in turn; without memory (2) it works when it is run again. It checks
 * its own results and leaves no error. */
static inline void each_call_fails(nx_status (*program)(nx_context *c), bool every_way) {
  static const int results[] = {2, 719, 1};
  for (int way = 0; way < (every_way ? 3 : 1); way++) {
    bool done = false;
    for (int64_t n = 1; !done; n++) {
      nx_context *c = NULL;
      int k = every_way ? way : (int)(n % 3);
      nxt_fake before = *fake;
      OK(nx_context_create(NULL, &c));
      int64_t start = fake->calls;
      fake->fail_at = start + n;
      fake->fail_with = results[k];
      nx_status status = program(c);
      done = fake->calls < start + n;
      fake->fail_at = 0;
      bool right = status == NX_OK || status == NX_DEVICE_UNAVAILABLE || status == NX_INTERNAL ||
                   (status == NX_OUT_OF_MEMORY && results[k] == 2) ||
                   (status == NX_DEVICE_LOST && results[k] == 719);
      if (!right)
        fail_msg("%s failed with %d: %s", fake->failed, results[k], nx_status_name(status));
      if (status != NX_OK && results[k] == 2) assert_int_equal(program(c), NX_OK);
      nx_context_release(c);
      bool gives_back = !done && (strstr(fake->failed, "Free") || strstr(fake->failed, "Unload") ||
                                  strstr(fake->failed, "Destroy") ||
                                  strstr(fake->failed, "Release") || strstr(fake->failed, "Push"));
      if (gives_back) { /* memory that is not freed stays allocated */
        before.calls = fake->calls;
        before.fail_at = 0;
        *fake = before;
      } else assert_false(is_left(&before));
    }
  }
}

/* ---- values */

static inline double some(int64_t i) { return (double)((i * 7919 + 13) % 1009) / 500 - 1; }

/* A stored tensor of numbers in [-1, 1]; `seed` tells it from others. */
static inline nx_tensor *tensor_in(nx_context *c, nx_device device, nx_dtype t,
                                   const int64_t *shape, int32_t rank, int64_t seed) {
  bool single = t == NX_F32 || t == NX_C64, pairs = t == NX_C64 || t == NX_C128;
  int64_t n = pairs ? 2 : 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  double *wide = malloc((size_t)n * sizeof *wide + 1);
  float *narrow = (float *)wide;
  for (int64_t i = 0; i < n; i++)
    if (single) narrow[i] = (float)some(i + seed);
    else wide[i] = some(i + seed);
  nx_tensor *x = nx_empty(c, device, t, shape, rank);
  if (x != NULL && nx_write(x, wide, (size_t)n * (single ? 4 : 8), NULL) != NX_OK) x = NULL;
  free(wide);
  return x;
}

/* All parts as doubles; *count of them. */
static inline double *parts_of(nx_tensor *x, size_t *count) {
  nx_tensor_info info = {.size = sizeof info};
  nx_tensor_describe(x, &info);
  bool pairs = info.dtype == NX_C64 || info.dtype == NX_C128;
  nx_tensor *wide = GOOD(nx_cast(GOOD(nx_to_device(x, 1)), pairs ? NX_C128 : NX_F64));
  *count = (size_t)info.elements * (pairs ? 2 : 1);
  double *v = malloc(*count * sizeof *v + 1);
  OK(nx_read(wide, v, *count * sizeof *v, NULL));
  return v;
}

/* Two numbers may differ by at most that factor times the largest number; NaNs must be at the same
 * places. */
static inline void close_to(nx_tensor *is, nx_tensor *wanted, double relative) {
  size_t n, m;
  double *a = parts_of(is, &n), *b = parts_of(wanted, &m), most = 0, wrong = 0;
  assert_int_equal(n, m);
  for (size_t i = 0; i < n; i++) {
    if (isnan(b[i]) && isnan(a[i])) continue;
    if (fabs(b[i]) > most) most = fabs(b[i]);
    if (a[i] != b[i] && !(fabs(a[i] - b[i]) <= wrong)) wrong = fabs(a[i] - b[i]);
  }
  free(a), free(b);
  if (!(wrong <= relative * most)) fail_msg("%g of %g is wrong", wrong, most);
}

/* Realises the tensors, and counts library calls and those that the host executed. */
static inline void expect_calls(nx_tensor **all, size_t n, int calls, int host_calls) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, all, n, &o));
  assert_int_equal(report.library_calls, calls);
  assert_int_equal(report.host_calls, host_calls);
}

#endif
