/* SPDX-License-Identifier: ISC */
/* Tests that scans that are calls, of long lines, of rows and of columns, have the same bits on the
 * fake device as on the processor, where NaNs count as one, for lengths around multiples of a tile
 * and for any order in which tiles run; and which scans are calls. */
#include "tests/cuda/fake_device.h"

#include <string.h>

#include "ir/dtype.h"
#include "tests/util/runner.h"
#include "tests/util/share.h"

enum { MOST = 70000, ROOM = 5 << 20 };

/* Numbers whose sum depends on the order of addition: of all magnitudes, zeros of both signs, some
 * NaNs. */
static nx_tensor *operand(nx_dtype t, int64_t rows, int64_t length, bool special) {
  static float x[ROOM];
  uint64_t s = (uint64_t)(rows * length) * 977 + t;
  for (int64_t i = 0; i < rows * length; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)((int64_t)(s >> 33) - (1 << 30)) * (s >> 13 & 1 ? 1e-9f : 1e-4f);
    if (special && (s >> 20) % 1500 == 0) x[i] = __builtin_nanf("");
    if (i % length < 3 && rows > 1) x[i] = -0.0f;
  }
  nx_import_desc d = {.size = sizeof d,
                      .base = x,
                      .bytes = (size_t)(rows * length) * 4,
                      .dtype = NX_F32,
                      .rank = 2,
                      .shape = (int64_t[]){rows, length},
                      .mode = NX_IMPORT_COPY};
  nx_tensor *y = NULL;
  OK(nx_import(ctx, &d, &y));
  return GOOD(nx_cast(y, t));
}

/* Scans an array that is there, or one less its first element, which is not aligned. */
static void check_shape(nx_tensor *x, nx_scan_op kind, const int64_t *shape, int axis, bool odd) {
  static char want[ROOM * 8], got[ROOM * 8];
  const nx_dtype t = nx_dtype_of(x);
  const int64_t n = shape[0] * shape[1] * shape[2], extra = odd;
  nx_tensor *y = GOOD(nx_to_device(x, CUDA));
  OK(nx_realize(ctx, &y, 1, NULL));
  y = GOOD(nx_shrink(y, (int64_t[]){extra}, (int64_t[]){n + extra}, 1));
  x = GOOD(nx_shrink(x, (int64_t[]){extra}, (int64_t[]){n + extra}, 1));
  nx_tensor *cpu = GOOD(nx_associative_scan(GOOD(nx_reshape(x, shape, 3, 0)), kind, axis)),
            *gpu = GOOD(nx_associative_scan(GOOD(nx_reshape(y, shape, 3, 0)), kind, axis));
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, &gpu, 1, &o));
  assert_int_equal(report.library_calls, 1);
  assert_int_equal(report.host_calls, 0);
  size_t bytes = (size_t)(n * nxi_dtype_size(t));
  OK(nx_read(cpu, want, bytes, NULL));
  OK(nx_read(gpu, got, bytes, NULL));
  for (int64_t i = 0; i < n; i++)
    if (!nxi_same_bits(nxi_load_at(want, t, i), nxi_load_at(got, t, i), t))
      fail_msg("%s, kind %d, %lld x %lld x %lld, axis %d: element %lld differs", nx_dtype_name(t),
               kind, (long long)shape[0], (long long)shape[1], (long long)shape[2], axis,
               (long long)i);
}

static void check(nx_dtype t, nx_scan_op kind, int64_t rows, int64_t length, bool special) {
  const int64_t shape[] = {1, rows, length}, n = rows * length;
  check_shape(GOOD(nx_reshape(operand(t, rows, length, special), &n, 1, 0)), kind, shape, 2, false);
}

static void types_and_kinds(void **state) {
  static const nx_dtype types[] = {NX_I8,  NX_U8,  NX_I16, NX_U16, NX_I32, NX_U32,
                                   NX_I64, NX_U64, NX_F16, NX_F32, NX_F64};
  (void)state;
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    for (int kind = NX_SCAN_SUM; kind <= NX_SCAN_MIN; kind++)
      if (kind == (int)i % 4 || types[i] == NX_F32)
        check(types[i], (nx_scan_op)kind, 2, 33000, kind > NX_SCAN_PROD);
}

static void lengths(void **state) {
  static const int64_t all[] = {32768, 32769, 40960, 40961, 41983, 65536, MOST};
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    check(NX_F32, NX_SCAN_SUM, i % 2 ? 3 : 1, all[i], false);
}

/* Rows of some blocks, and columns: a row more than is scanned, so that one can begin later. */
static void check_both(nx_dtype t, nx_scan_op kind, const int64_t *shape, int axis) {
  const int64_t n = (shape[0] * shape[1] + 1) * shape[2];
  nx_tensor *x = operand(t, shape[0] * shape[1] + 1, shape[2], kind > NX_SCAN_PROD);
  for (int odd = 0; odd < 2; odd++)
    check_shape(GOOD(nx_reshape(x, &n, 1, 0)), kind, shape, axis, odd);
}

/* Nearly all of the time is that of kernels, which no sanitizer looks into: then there are few. */
static void rows(void **state) {
  (void)state;
  check_both(NX_F32, NX_SCAN_SUM, (int64_t[]){1, 64, 5004}, 2);
  if (SANITIZED) return;
  check_both(NX_F32, NX_SCAN_MAX, (int64_t[]){2, 100, 1500}, 2);
  check_both(NX_F64, NX_SCAN_PROD, (int64_t[]){1, 40, 8190}, 2);
  check_both(NX_F32, NX_SCAN_SUM, (int64_t[]){1, 18, 16384}, 2);
  check_both(NX_I32, NX_SCAN_SUM, (int64_t[]){1, 100, 3000}, 2);
  check_both(NX_I64, NX_SCAN_MIN, (int64_t[]){1, 36, 8192}, 2);
  check_both(NX_U8, NX_SCAN_SUM, (int64_t[]){1, 60, 6000}, 2);
}

static void columns(void **state) {
  (void)state;
  if (SANITIZED) skip();
  check_both(NX_F32, NX_SCAN_SUM, (int64_t[]){1, 1100, 4100}, 1);
  check_both(NX_F32, NX_SCAN_MIN, (int64_t[]){3, 1030, 1400}, 1);
  check_both(NX_I32, NX_SCAN_PROD, (int64_t[]){2, 1057, 2048}, 1);
  check_both(NX_F64, NX_SCAN_SUM, (int64_t[]){1, 1090, 2050}, 1);
}

/* Whether a scan of 64 x 8192 with the axis last, of a product or of an input, whose root may be
 * computed, is a call. */
static void expect_call(bool product, bool root, bool call) {
  const int64_t shape[] = {64, 8192};
  nx_tensor *x =
      GOOD(nx_to_device(GOOD(nx_reshape(operand(NX_F32, 64, 8192, false), shape, 2, 0)), CUDA));
  OK(nx_realize(ctx, &x, 1, NULL));
  nx_tensor *y = GOOD(nx_associative_scan(product ? GOOD(nx_mul(x, x)) : x, NX_SCAN_SUM, 1));
  if (root) y = GOOD(nx_sqrt(y));
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, &y, 1, &o));
  assert_int_equal(report.library_calls, call);
  assert_int_equal(report.library_calls + report.kernels, 1);
}

/* A scan that is part of a kernel with other work is no call. */
static void alone(void **state) {
  (void)state;
  expect_call(false, false, true);
  expect_call(true, false, false);
  expect_call(false, true, false);
}

NXT_MAIN(cuda_scan) {
  const struct CMUnitTest tests[] = {IN_SCOPE(types_and_kinds), IN_SCOPE(lengths), IN_SCOPE(rows),
                                     IN_SCOPE(columns), IN_SCOPE(alone)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
