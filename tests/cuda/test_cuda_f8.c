/* SPDX-License-Identifier: ISC */
/* Tests the conversions of small floats that CUDA C has by instructions of the GPU, on the fake
 * device, beside the processor's. From f8: of every number. To f8: of every f16 number and of its
 * neighbours in f32. That is every case, because the results only rise with the operands, and rise
 * at f16 numbers: those half way between two numbers of f8, which have at most one bit more. To f16
 * and bf16: with every upper half of an f32 number the lower halves around ties. */
#include "fake_device.h"

#include <math.h>
#include <string.h>

#include "tests/util/runner.h"

enum { HALVES = 1 << 16, MOST = 3 * HALVES };

static nx_tensor *operand(const void *x, nx_dtype t, int64_t n, int64_t bytes) {
  nx_import_desc d = {.size = sizeof d,
                      .base = (void *)x,
                      .bytes = (size_t)bytes,
                      .dtype = t,
                      .rank = 1,
                      .shape = &n,
                      .mode = NX_IMPORT_COPY};
  nx_tensor *y = NULL;
  OK(nx_import(ctx, &d, &y));
  return y;
}

/* x and its cast, by both devices; NaNs are one. */
static void check(nx_tensor *x, nx_dtype t, int64_t n) {
  static float want[MOST], got[MOST];
  nx_tensor *cpu = GOOD(nx_cast(GOOD(nx_cast(x, t)), NX_F32)),
            *gpu = GOOD(nx_cast(GOOD(nx_to_device(x, CUDA)), t));
  OK(nx_realize(ctx, &gpu, 1, NULL));
  gpu = GOOD(nx_cast(gpu, NX_F32));
  OK(nx_read(cpu, want, (size_t)n * 4, NULL));
  OK(nx_read(gpu, got, (size_t)n * 4, NULL));
  for (int64_t i = 0; i < n; i++) {
    bool same = want[i] == got[i] && signbit(want[i]) == signbit(got[i]);
    if (!same && !(isnan(want[i]) && isnan(got[i])))
      fail_msg("%s: number %lld gives %a, not %a", nx_dtype_name(t), (long long)i, (double)got[i],
               (double)want[i]);
  }
}

static float from_half(uint32_t bits) {
  int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
  float x = exponent == 0 ? ldexpf((float)fraction, -24)
                          : ldexpf((float)(1024 + fraction), exponent - 25);
  if (exponent == 31) x = fraction ? NAN : INFINITY;
  return bits & 0x8000 ? -x : x;
}

static void to_f8(void **state) {
  static float x[MOST];
  (void)state;
  for (uint32_t i = 0; i < HALVES; i++) {
    x[3 * i] = from_half(i);
    x[3 * i + 1] = nextafterf(x[3 * i], INFINITY);
    x[3 * i + 2] = nextafterf(x[3 * i], -INFINITY);
  }
  for (int odd = 0; odd < 2; odd++) { /* one after the other, or several of a thread */
    check(operand(x, NX_F32, MOST - odd, 4 * (MOST - odd)), NX_F8E4M3, MOST - odd);
    check(operand(x, NX_F32, MOST - odd, 4 * (MOST - odd)), NX_F8E5M2, MOST - odd);
  }
}

static void from_f8(void **state) {
  static unsigned char x[HALVES];
  (void)state;
  for (int i = 0; i < HALVES; i++) x[i] = (unsigned char)i;
  for (int odd = 0; odd < 2; odd++) {
    check(operand(x, NX_F8E4M3, HALVES - odd, HALVES - odd), NX_F32, HALVES - odd);
    check(operand(x, NX_F8E5M2, HALVES - odd, HALVES - odd), NX_F32, HALVES - odd);
  }
}

/* Those that are no numbers of f16: far beyond, and far below. */
static void far_away(void **state) {
  static float x[4 * 64];
  (void)state;
  for (int i = 0; i < 64; i++) {
    x[4 * i] = ldexpf(1.5f, 16 + 2 * i < 127 ? 16 + 2 * i : 127);
    x[4 * i + 1] = -x[4 * i];
    x[4 * i + 2] = ldexpf(1.5f, -18 - 2 * i);
    x[4 * i + 3] = -x[4 * i + 2];
  }
  check(operand(x, NX_F32, 256, 1024), NX_F8E4M3, 256);
  check(operand(x, NX_F32, 256, 1024), NX_F8E5M2, 256);
}

static void to_halves(void **state) {
  static const uint32_t lower[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff, 0xfff, 0x1000, 0x1001};
  static float x[MOST];
  (void)state;
  for (size_t k = 0; k < sizeof lower / sizeof *lower; k += 3) {
    for (uint32_t i = 0; i < MOST; i++) {
      uint32_t bits = i / 3 << 16 | lower[k + i % 3];
      memcpy(&x[i], &bits, sizeof bits);
    }
    int odd = k == 3;
    check(operand(x, NX_F32, MOST - odd, 4 * (MOST - odd)), NX_F16, MOST - odd);
    check(operand(x, NX_F32, MOST - odd, 4 * (MOST - odd)), NX_BF16, MOST - odd);
  }
}

NXT_MAIN(cuda_f8) {
  const struct CMUnitTest tests[] = {IN_SCOPE(to_f8), IN_SCOPE(from_f8), IN_SCOPE(far_away),
                                     IN_SCOPE(to_halves)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
