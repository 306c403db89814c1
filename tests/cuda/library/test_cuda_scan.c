/* SPDX-License-Identifier: ISC */
/* Tests that long scans of few lines on the fake device have the same bits as on the processor,
 * where NaNs count as one, for lengths around multiples of a tile and for any order in which tiles
 * run. */
#include "tests/cuda/fake_device.h"

#include <string.h>

#include "ir/dtype.h"
#include "tests/util/runner.h"

enum { MOST = 70000 };

/* Numbers whose sum depends on the order of addition: of all magnitudes, zeros of both signs, some
 * NaNs. */
static nx_tensor *operand(nx_dtype t, int64_t rows, int64_t length, bool special) {
  static float x[3 * MOST];
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

static void check(nx_dtype t, nx_scan_op kind, int64_t rows, int64_t length, bool special) {
  static char want[3 * MOST * 8], got[3 * MOST * 8];
  nx_tensor *x = operand(t, rows, length, special);
  nx_tensor *cpu = GOOD(nx_associative_scan(x, kind, 1)),
            *gpu = GOOD(nx_associative_scan(GOOD(nx_to_device(x, CUDA)), kind, 1));
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  OK(nx_realize(ctx, &gpu, 1, &o));
  assert_int_equal(report.library_calls, 1);
  assert_int_equal(report.host_calls, 0);
  size_t bytes = (size_t)(rows * length * nxi_dtype_size(t));
  OK(nx_read(cpu, want, bytes, NULL));
  OK(nx_read(gpu, got, bytes, NULL));
  for (int64_t i = 0; i < rows * length; i++)
    if (!nxi_same_bits(nxi_load_at(want, t, i), nxi_load_at(got, t, i), t))
      fail_msg("%s, kind %d, %lld x %lld: element %lld differs", nx_dtype_name(t), kind,
               (long long)rows, (long long)length, (long long)i);
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

NXT_MAIN(cuda_scan) {
  const struct CMUnitTest tests[] = {IN_SCOPE(types_and_kinds), IN_SCOPE(lengths)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
