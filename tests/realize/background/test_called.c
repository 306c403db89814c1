/* SPDX-License-Identifier: ISC */
/* Code that is made in a hurry: a kernel of many functions first calls those that the library has
 * as C, and computes them itself once the graph came again: the same bits, and what calls is not
 * kept on disk. */
#include "ir/called.h"
#include "tests/util/api.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { N = 1000003, MIXES = 5, SECONDS = 60 };

static nx_context *empty_context(const char *folder) {
  nx_context *c = NULL;
  nx_context_options o = {.size = sizeof o, .threads = 2, .cache_dir = folder};
  OK(nx_context_create(&o, &c));
  return c;
}

/* What comes before LLVM is loaded may be interpreted. The context in which something is compiled
 * for that is released, so that none of its code is still being made in the background. */
static void load_compiler(void) {
  nx_context *c = empty_context("");
  const time_t begin = time(NULL);
  for (int i = 0; kernels_compiled(c) == 0; i++) {
    nx_tensor *x = nx_arange(c, 0, NX_F32, NX_NUMBER(i), NX_NUMBER(0.5), N), *y = nx_mul(x, x);
    OK(nx_realize(c, &y, 1, NULL));
    nx_tensor_release(x), nx_tensor_release(y);
    assert_true(time(NULL) - begin <= SECONDS);
  }
  nx_context_release(c);
}

static nx_context *new_context(const char *folder) {
  load_compiler();
  return empty_context(folder);
}

/* Functions with a sum of costs that is worth it, MIXES times other ones. */
static nx_tensor *mixed(int which, nx_tensor *x) {
  switch (which) {
    case 0: return nx_add(nx_add(nx_erf(x), nx_erfc(x)), nx_log(x));
    case 1: return nx_add(nx_add(nx_exp(x), nx_erfinv(nx_mul(x, x))), nx_log1p(x));
    case 2: return nx_add(nx_add(nx_sinh(x), nx_cosh(x)), nx_tanh(x));
    case 3: return nx_add(nx_add(nx_exp2(x), nx_log2(x)), nx_add(nx_log10(x), nx_expm1(x)));
    default: return nx_add(nx_add(nx_cbrt(x), nx_logistic(x)), nx_erf(nx_exp(x)));
  }
}

/* Numbers of all kinds: some thousand special ones, small and large ones of both signs. */
static nx_tensor *numbers(nx_context *c, nx_dtype t) {
  static double all[N];
  static const double special[] = {0,      -0.0,     1,         -1,        INFINITY, -INFINITY,
                                   NAN,    0x1p-149, -0x1p-126, 0x1p-1074, 1e-300,   88.8,
                                   -103.9, 709.9,    -745.2,    0.9967};
  uint64_t state = 7;
  for (int i = 0; i < N; i++) {
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
    const double u = (double)(state >> 11) * 0x1p-53;
    const int kind = (int)(state >> 3 & 15);
    all[i] = kind == 0   ? special[i % (int)(sizeof special / sizeof *special)]
             : kind < 5  ? (u - 0.5) * 200
             : kind < 12 ? u * 4 - 2
                         : ldexp(u, (int)(state >> 7 & 255) - 150);
  }
  nx_tensor *wide = GOOD(nx_from_data(c, 0, NX_F64, NX_SHAPE(N), all, sizeof all));
  nx_tensor *x = GOOD(nx_cast(wide, t));
  OK(nx_realize(c, &x, 1, NULL));
  nx_tensor_release(wide);
  return x;
}

static size_t size_of(nx_dtype t) { return t == NX_F32 ? 4 : 8; }

static void compute(nx_context *c, nx_tensor *x, int which, void *data, nx_report *report) {
  nx_run_options o = {.size = sizeof o, .report = report};
  nx_scope *s = nx_scope_begin(c);
  *report = (nx_report){.size = sizeof *report};
  OK(nx_read(GOOD(mixed(which, x)), data, N * size_of(nx_dtype_of(x)), &o));
  nx_scope_end(s);
}

/* NaNs count as one value, as everywhere. */
static void assert_same(nx_dtype t, const void *a, const void *b) {
  const size_t size = size_of(t);
  for (size_t i = 0; i < N; i++) {
    const char *x = (const char *)a + i * size, *y = (const char *)b + i * size;
    if (memcmp(x, y, size) == 0) continue;
    const double u = t == NX_F32 ? (double)*(const float *)(const void *)x
                                 : *(const double *)(const void *)x,
                 v = t == NX_F32 ? (double)*(const float *)(const void *)y
                                 : *(const double *)(const void *)y;
    if (!(isnan(u) && isnan(v))) fail_msg("element %zu: %a and %a", i, u, v);
  }
}

static void first_calls_then_computes(void **state) {
  const bool calls = nxg_called(32, NXK_exp, NX_F32) != NULL; /* there are wide vectors */
  (void)state;
  for (int k = 0; k < 2 * MIXES; k++) {
    static double first[N], data[N];
    nx_context *c = new_context(""); /* in which no graph was alike */
    const nx_dtype t = k & 1 ? NX_F64 : NX_F32;
    nx_report report;
    nx_tensor *x = numbers(c, t);
    const uint64_t before = kernels_compiled(c);
    compute(c, x, k / 2, first, &report);
    assert_int_equal(report.interpreted, 0);
    assert_int_equal(kernels_compiled(c), before + 1);
    compute(c, x, k / 2, data, &report);
    assert_same(t, data, first);
    for (const time_t begin = time(NULL); calls && kernels_compiled(c) == before + 1;) {
      compute(c, x, k / 2, data, &report);
      if (time(NULL) - begin > SECONDS) fail_msg("mix %d has no code yet", k);
    }
    compute(c, x, k / 2, data, &report); /* by code that computes */
    assert_same(t, data, first);
    assert_int_equal(kernels_compiled(c), before + (calls ? 2 : 1));
    nx_tensor_release(x);
    nx_context_release(c);
  }
}

static void is_not_kept(void **state) {
  static float data[N];
  char folder[] = "/tmp/nx-test-called-XXXXXX", command[64];
  nx_report report;
  (void)state;
  if (nxg_called(32, NXK_exp, NX_F32) == NULL) skip();
  assert_non_null(mkdtemp(folder));
  /* what computes is, and is made although the graph does not come again */
  for (int i = 0; i < 2; i++) {
    nx_context *c = new_context(folder);
    nx_tensor *x = numbers(c, NX_F32);
    const uint64_t before = kernels_compiled(c);
    compute(c, x, 0, data, &report);
    assert_int_equal(report.kernel_disk_hits, i);
    assert_int_equal(report.kernel_misses, 1 - i);
    for (const time_t begin = time(NULL); i == 0 && kernels_compiled(c) < before + 2;)
      assert_true(time(NULL) - begin <= SECONDS);
    nx_tensor_release(x);
    nx_context_release(c);
  }
  snprintf(command, sizeof command, "rm -rf %s", folder);
  assert_int_equal(system(command), 0);
}

NXT_MAIN(called) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(first_calls_then_computes),
                                     cmocka_unit_test(is_not_kept)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
