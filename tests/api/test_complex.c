/* SPDX-License-Identifier: ISC */
/* Complex tensors through the interface: scalars in and out, views that are assigned, what is
 * refused, c32. Values of operations are compared elsewhere: tests/fusion/test_ops.c (executors)
 * and tests/numpy/numpy_complex.py (NumPy). */
#include <complex.h>
#include <math.h>

#include "tests/util/api.h"

#ifndef CMPLX /* glibc has these for compilers that say they are gcc 4.7 */
#define CMPLX(x, y)  __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif

typedef double complex z;
static const int64_t *const nowhere = NULL;

static nx_tensor *of(int64_t rows, int64_t columns, const z *values) {
  nx_tensor *t = GOOD(nx_empty(ctx, 0, NX_C128, NX_SHAPE(rows, columns)));
  OK(nx_write(t, values, (size_t)(rows * columns) * sizeof *values, NULL));
  return t;
}

static void expect(nx_tensor *t, const z *values, size_t n) {
  z got[64];
  OK(nx_read(t, got, n * sizeof *got, NULL));
  for (size_t i = 0; i < n; i++)
    if (memcmp(&got[i], &values[i], sizeof got[i]) != 0)
      fail_msg("element %zu is %g%+gi, not %g%+gi", i, creal(got[i]), cimag(got[i]),
               creal(values[i]), cimag(values[i]));
}

static z item(nx_tensor *t, const int64_t *index, size_t n) {
  nx_scalar v;
  OK(nx_item(t, index, n, &v, NULL));
  assert_int_equal(v.kind, NX_SCALAR_C128);
  return CMPLX(v.v.f[0], v.v.f[1]);
}

#define NUMBERS CMPLX(1, 2), CMPLX(3, -4), CMPLX(-0.0, 5), CMPLX(6, 0), CMPLX(7, 7), CMPLX(8, -1)

static void scalars(void **state) {
  (void)state;
  const nx_scalar number = {NX_SCALAR_C128, {.f = {0.1, -3}}};
  nx_tensor *wide = GOOD(nx_full(ctx, 0, NX_C128, NULL, 0, &number)),
            *narrow = GOOD(nx_full(ctx, 0, NX_C64, NULL, 0, &number)),
            *half = GOOD(nx_full(ctx, 0, NX_C32, NULL, 0, &number)),
            *whole = GOOD(nx_full(ctx, 0, NX_C64, NX_SHAPE(2), NX_INTEGER(-7))),
            *line = GOOD(nx_arange(ctx, 0, NX_C128, &number, &number, 4));
  assert_true(item(wide, nowhere, 0) == CMPLX(0.1, -3));
  assert_true(item(narrow, nowhere, 0) == CMPLX(0.1f, -3));
  assert_true(item(half, nowhere, 0) == CMPLX(0x1.998p-4, -3));
  assert_true(item(whole, (int64_t[]){1}, 1) == -7);
  assert_true(item(line, (int64_t[]){3}, 1) == CMPLX(0.1 + 3 * 0.1, -12));
  assert_true(item(GOOD(nx_eye(ctx, 0, NX_C64, 2, 2, 1)), (int64_t[]){0, 1}, 2) == 1);
  nx_tensor *sum = GOOD(nx_add(nx_mul(wide, wide), wide)); /* its numbers are launch parameters */
  assert_true(item(sum, nowhere, 0) == CMPLX(0.1 * 0.1 - 9 + 0.1, 2 * (0.1 * -3) - 3));
  nx_tensor *one = GOOD(nx_full(ctx, 0, NX_C128, NX_SHAPE(1), NX_INTEGER(1)));
  expect(GOOD(nx_pad(one, (int64_t[]){1}, (int64_t[]){1}, 1, &number)),
         (z[]){CMPLX(0.1, -3), 1, CMPLX(0.1, -3)}, 3);
  expect(GOOD(nx_empty(ctx, 0, NX_C128, NX_SHAPE(2))), (z[]){0, 0}, 2);
}

/* Written through every kind of view, before and after the storage has memory. */
static void assigned_views(void **state) {
  (void)state;
  for (int realised = 0; realised < 2; realised++) {
    nx_tensor *t = of(2, 3, (z[]){NUMBERS});
    if (!realised) t = GOOD(nx_neg(nx_neg(t)));
    nx_tensor *before = GOOD(nx_add(t, t)), *turned = GOOD(nx_permute(t, NX_AXES(1, 0)));
    nx_tensor *column =
        GOOD(nx_slice(turned, (int64_t[]){2, 0}, (int64_t[]){2, 1}, (int64_t[]){-2, 1}, 2));
    OK(nx_assign(column, of(2, 1, (z[]){CMPLX(10, 1), CMPLX(20, 2)})));
    expect(t, (z[]){CMPLX(20, 2), CMPLX(3, -4), CMPLX(10, 1), 6, CMPLX(7, 7), CMPLX(8, -1)}, 6);
    OK(nx_assign(nx_flip(t, NX_AXES(0, 1)), t)); /* reads what it writes */
    expect(turned, (z[]){CMPLX(8, -1), CMPLX(10, 1), CMPLX(7, 7), CMPLX(3, -4), 6, CMPLX(20, 2)},
           6);
    OK(nx_assign(nx_shrink(t, (int64_t[]){1, 0}, (int64_t[]){2, 3}, 2),
                 GOOD(nx_cast(number(2), NX_C128))));
    expect(t, (z[]){CMPLX(8, -1), CMPLX(7, 7), 6, 2, 2, 2}, 6);
    expect(before,
           (z[]){CMPLX(2, 4), CMPLX(6, -8), CMPLX(-0.0, 10), 12, CMPLX(14, 14), CMPLX(16, -2)}, 6);
    nx_mapping *m;
    size_t bytes;
    OK(nx_map(t, NX_MAP_WRITE, NULL, &m));
    z *memory = nx_mapping_base(m, &bytes);
    assert_int_equal(bytes, 6 * sizeof(z));
    OK(nx_assign(nx_slice(t, (int64_t[]){0, 1}, (int64_t[]){2, 1}, (int64_t[]){1, 1}, 2),
                 of(2, 1, (z[]){CMPLX(0, 1), CMPLX(0, 2)})));
    assert_true(memory[1] == CMPLX(0, 1) && memory[4] == CMPLX(0, 2) && memory[0] == CMPLX(8, -1));
    nx_mapping_release(m);
  }
}

static void many_axes(void **state) {
  (void)state;
  int64_t shape[32], zeros[32] = {0}, ones[32];
  for (int i = 0; i < 32; i++) {
    shape[i] = i == 5 || i == 31 ? 2 : 1;
    ones[i] = 1;
  }
  nx_tensor *t = GOOD(nx_full(ctx, 0, NX_C128, shape, 32, NX_INTEGER(3)));
  OK(nx_write(nx_slice(t, zeros, ones, ones, 32), (z[]){CMPLX(0, 9)}, sizeof(z), NULL));
  OK(nx_assign(nx_flip(t, NX_AXES(31)), GOOD(nx_add(t, t))));
  expect(t, (z[]){6, CMPLX(0, 18), 6, 6}, 4);
  nx_tensor *sum = GOOD(nx_reduce_sum(t, NX_AXES(5, 31), 0));
  expect(sum, (z[]){CMPLX(18, 18)}, 1);
  nx_tensor *none = GOOD(nx_empty(ctx, 0, NX_C64, NX_SHAPE(3, 0)));
  OK(nx_assign(none, nx_conj(none)));
  OK(nx_realize(ctx, &none, 1, NULL));
}

static void host_memory(void **state) {
  (void)state;
  float complex memory[6] = {CMPLXF(1, 2), CMPLXF(3, 4), CMPLXF(5, 6), 7, 8, 9};
  nx_import_desc desc = {.size = sizeof desc,
                         .mode = NX_IMPORT_SHARED,
                         .dtype = NX_C64,
                         .rank = 1,
                         .shape = (int64_t[]){3},
                         .strides = (int64_t[]){-2},
                         .offset = 4,
                         .base = memory,
                         .bytes = sizeof memory};
  nx_tensor *t;
  OK(nx_import(ctx, &desc, &t));
  OK(nx_assign(t, nx_conj(t)));
  const float complex want[6] = {
      CMPLXF(1, -2), CMPLXF(3, 4), CMPLXF(5, -6), 7, CMPLXF(8, -0.0f), 9};
  assert_memory_equal(memory, want, sizeof want);
  nx_tensor_release(t);
}

static void small_parts(void **state) {
  (void)state;
  nx_tensor *t = of(1, 3, (z[]){CMPLX(1.5, -2), CMPLX(70000, 0x1p-24), CMPLX(2049, NAN)});
  nx_tensor *half = GOOD(nx_cast(t, NX_C32)), *copy = GOOD(nx_copy(nx_flip(half, NX_AXES(1))));
  static const uint16_t want[6] = {0x6800, 0x7e00, 0x7c00, 0x0001, 0x3e00, 0xc000};
  uint16_t got[6];
  OK(nx_read(copy, got, sizeof got, NULL));
  assert_memory_equal(got, want, sizeof got);
  expect(GOOD(nx_cast(nx_shrink(half, (int64_t[]){0, 0}, (int64_t[]){1, 2}, 2), NX_C128)),
         (z[]){CMPLX(1.5, -2), CMPLX(INFINITY, 0x1p-24)}, 2);
  OK(nx_assign(half, copy));
  OK(nx_read(half, got, sizeof got, NULL));
  assert_memory_equal(got, want, sizeof got);
}

/* c32 is computed as c64, each result rounded once. */
static void half_as_c64(void **state) {
  (void)state;
  const z values[4] = {CMPLX(1.5, -2), CMPLX(300, 200.5), CMPLX(-0.1, 0x1p-20), CMPLX(0, 3)};
  nx_tensor *x = GOOD(nx_cast(of(1, 4, values), NX_C32)), *wide = GOOD(nx_cast(x, NX_C64)),
            *row = NULL, *q[2] = {NULL, NULL};
  const struct {
    nx_tensor *is, *want;
  } pairs[] = {
      {nx_mul(x, x), nx_mul(wide, wide)},
      {nx_exp(x), nx_exp(wide)},
      {nx_div(x, nx_conj(x)), nx_div(wide, nx_conj(wide))},
      {nx_reduce_sum(x, NX_AXES(1), 0), nx_reduce_sum(wide, NX_AXES(1), 0)},
      {nx_reduce_prod(x, NX_AXES(1), 0), nx_reduce_prod(wide, NX_AXES(1), 0)},
      {nx_associative_scan(x, NX_SCAN_PROD, 1), nx_associative_scan(wide, NX_SCAN_PROD, 1)},
      {nx_fft(x, NX_AXES(1)), nx_fft(wide, NX_AXES(1))},
      {nx_sort(x, 1, 0), nx_sort(wide, 1, 0)},
      {nx_matmul(x, row = GOOD(nx_permute(x, NX_AXES(1, 0)))),
       nx_matmul(wide, nx_permute(wide, NX_AXES(1, 0)))}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    uint16_t is[8], want[8];
    size_t n = (size_t)nx_elements(GOOD(pairs[i].is));
    OK(nx_read(pairs[i].is, is, 4 * n, NULL));
    OK(nx_read(GOOD(nx_cast(GOOD(pairs[i].want), NX_C32)), want, 4 * n, NULL));
    assert_memory_equal(is, want, 4 * n);
  }
  OK(nx_slogdet(GOOD(nx_matmul(row, x)), &q[0], &q[1]));
  assert_int_equal(nx_dtype_of(q[0]), NX_C32);
  assert_int_equal(nx_dtype_of(q[1]), NX_F16);
}

static void refusals(void **state) {
  (void)state;
  nx_tensor *t = of(1, 2, (z[]){1, 2}), *f = constant(2, 1), *h = GOOD(nx_cast(f, NX_BF16));
  nx_tensor *results[] = {nx_mod(t, t),
                          nx_floor_div(t, t),
                          nx_complex(t, t),
                          nx_complex(h, h),
                          nx_erf(t),
                          nx_bitcast(t, NX_F64),
                          nx_real(nx_cast(f, NX_I32)),
                          nx_rint(t)};
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) assert_null(results[i]);
  assert_int_equal(nx_error_take(NULL), NX_UNSUPPORTED_DTYPE);
  assert_null(nx_add(t, f));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
}

/* A function whose complex outputs are written where the caller says. */
static void functions(void **state) {
  (void)state;
  nx_tensor *in = GOOD(nx_placeholder(ctx, 0, NX_C128, NX_SHAPE(1, 2))),
            *out = GOOD(nx_mul(in, in));
  nx_function *f;
  OK(nx_function_create(ctx, &in, 1, &out, 1, NULL, &f));
  nx_tensor *x = of(1, 2, (z[]){CMPLX(0, 1), CMPLX(1, 2)}), *all = of(2, 2, (z[]){1, 2, 3, 4});
  nx_tensor *row = GOOD(nx_shrink(all, (int64_t[]){1, 0}, (int64_t[]){2, 2}, 2));
  OK(nx_function_call(f, &x, 1, &row, 1, NULL));
  expect(all, (z[]){1, 2, -1, CMPLX(-3, 4)}, 4);
  nx_function_release(f);
}

NXT_MAIN(complex) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(scalars),     IN_SCOPE(assigned_views), IN_SCOPE(many_axes), IN_SCOPE(host_memory),
      IN_SCOPE(small_parts), IN_SCOPE(half_as_c64),    IN_SCOPE(refusals),  IN_SCOPE(functions),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
