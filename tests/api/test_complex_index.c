/* SPDX-License-Identifier: ISC */
/* Complex elements by number, in windows and in scans, through the interface, next to plain loops
 * in C: what is checked, what is done in place, and what threads share. Values in all layouts are
 * compared by tests/numpy/numpy_complex.py. */
#include <complex.h>
#include <math.h>

#include "tests/util/api.h"

#ifndef CMPLX /* glibc has these for compilers that say they are gcc 4.7 */
#define CMPLX(x, y)  __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif

typedef float complex c;

static uint32_t seed = 1;
static int64_t below(int64_t n) {
  seed = seed * 1664525 + 1013904223;
  return (int64_t)((seed >> 8) % (uint32_t)n);
}
static c any(void) {
  float re = (float)below(1 << 20) * 1e-3F - 300;
  return CMPLXF(re, (float)below(1 << 20) * 1e-3F - 500);
}

static nx_tensor *of(nx_dtype t, const void *values, size_t bytes, const int64_t *shape,
                     int32_t rank) {
  nx_tensor *x = GOOD(nx_empty(ctx, 0, t, shape, rank));
  OK(nx_write(x, values, bytes, NULL));
  return x;
}
#define LINE(t, values) of((t), (values), sizeof(values), NX_SHAPE((int64_t)COUNT(values)))
#define COUNT(a)        (sizeof(a) / sizeof(a)[0])

static void expect(nx_tensor *t, const c *values, size_t n) {
  c *got = calloc(n, sizeof *got);
  OK(nx_read(t, got, n * sizeof *got, NULL));
  for (size_t i = 0; i < n; i++)
    if (memcmp(&got[i], &values[i], sizeof *got) != 0)
      fail_msg("element %zu is %g%+gi, not %g%+gi", i, (double)crealf(got[i]),
               (double)cimagf(got[i]), (double)crealf(values[i]), (double)cimagf(values[i]));
  free(got);
}

/* Long enough for several threads, of few elements and of many, along one axis and with rows. */
static void sums_are_in_order(void **state) {
  (void)state;
  enum { N = 30000 };
  static const int64_t elements[] = {7, 20000};
  static c u[N], x[20000];
  static int32_t index[N];
  for (int round = 0; round < 4; round++) {
    int64_t m = elements[round % 2];
    memset(x, 0, sizeof x);
    for (int k = 0; k < N; k++) {
      u[k] = any();
      index[k] = (int32_t)below(m);
      x[index[k]] = round < 2 ? x[index[k]] + u[k] : u[k];
    }
    nx_tensor *zeros = GOOD(nx_full(ctx, 0, NX_C64, NX_SHAPE(m), NX_INTEGER(0)));
    expect(GOOD(nx_scatter(zeros, LINE(NX_I32, index), LINE(NX_C64, u), 0,
                           round < 2 ? NX_SCATTER_ADD : NX_SCATTER_SET, 0)),
           x, (size_t)m);
  }
}

static void rows_share_an_index(void **state) {
  (void)state;
  enum { N = 400, M = 9, W = 70 };
  static c u[N * W], x[M * W];
  static int64_t index[N];
  memset(x, 0, sizeof x);
  for (int k = 0; k < N; k++) {
    index[k] = below(2 * M) - M;
    for (int j = 0; j < W; j++) {
      u[k * W + j] = any();
      x[(index[k] < 0 ? index[k] + M : index[k]) * W + j] += u[k * W + j];
    }
  }
  nx_tensor *i = of(NX_I64, index, sizeof index, NX_SHAPE(N, 1)),
            *updates = of(NX_C64, u, sizeof u, NX_SHAPE(N, W)),
            *zeros = GOOD(nx_full(ctx, 0, NX_C64, NX_SHAPE(M, W), NX_INTEGER(0)));
  i = GOOD(nx_expand(i, NX_SHAPE(N, W)));
  nx_tensor *y = GOOD(nx_scatter(zeros, i, updates, 0, NX_SCATTER_ADD, 0));
  expect(y, x, COUNT(x));
  for (int k = 0; k < N * W; k++)
    u[k] = x[(index[k / W] < 0 ? index[k / W] + M : index[k / W]) * W + k % W];
  expect(GOOD(nx_gather(y, i, 0)), u, COUNT(u));
}

static void bad_indices(void **state) {
  (void)state;
  nx_tensor *x = GOOD(nx_full(ctx, 0, NX_C128, NX_SHAPE(2, 3), NX_INTEGER(1))),
            *i = of(NX_I64, (int64_t[]){0, -2, 1, 0, 2, 7}, 48, NX_SHAPE(2, 3));
  nx_tensor *results[] = {GOOD(nx_gather(x, i, 0)),
                          GOOD(nx_scatter(x, i, nx_add(x, x), 0, NX_SCATTER_SET, 0)),
                          GOOD(nx_scatter(x, i, nx_add(x, x), 0, NX_SCATTER_ADD, 0))};
  for (size_t k = 0; k < COUNT(results); k++) {
    nx_error e = {.size = sizeof e};
    assert_int_equal(nx_realize(ctx, &results[k], 1, NULL), NX_INDEX_OUT_OF_RANGE);
    assert_int_equal(nx_error_take(&e), NX_INDEX_OUT_OF_RANGE);
    assert_int_equal(e.index, 4);
  }
}

static void assign_of_scatter_is_in_place(void **state) {
  (void)state;
  enum { N = 100000 };
  nx_tensor *x = GOOD(nx_arange(ctx, 0, NX_C64, NX_INTEGER(0), NX_INTEGER(1), N));
  OK(nx_realize(ctx, &x, 1, NULL));
  for (int64_t round = 0; round < 3; round++) {
    int32_t at[2] = {(int32_t)round, -1 - (int32_t)round};
    c with[2] = {CMPLXF(round, 1), CMPLXF(1, round)};
    nx_tensor *i = LINE(NX_I32, at), *u = LINE(NX_C64, with);
    nx_report report = {.size = sizeof report};
    nx_run_options options = {.size = sizeof options, .report = &report};
    nx_tensor *y = GOOD(nx_scatter(x, i, u, 0, NX_SCATTER_SET, 0));
    OK(nx_assign(x, y));
    release(y); /* or it would be a copy of its own */
    OK(nx_realize(ctx, &x, 1, &options));
    if (!report.interpreted) assert_true(report.planned_bytes < 4096);
  }
  expect(GOOD(nx_get(x, (nx_range[]){{0, 4, 1}}, 1)),
         (c[]){CMPLXF(0, 1), CMPLXF(1, 1), CMPLXF(2, 1), 3}, 4);
  expect(GOOD(nx_get(x, (nx_range[]){{-3, NX_OPEN, 1}}, 1)),
         (c[]){CMPLXF(1, 2), CMPLXF(1, 1), CMPLXF(1, 0)}, 3);
  c five[1] = {CMPLXF(0, 5)};
  OK(nx_set(x, (nx_range[]){{4, 0, -2}}, 1, LINE(NX_C64, five)));
  expect(GOOD(nx_get(x, (nx_range[]){{1, 5, 1}}, 1)),
         (c[]){CMPLXF(1, 1), CMPLXF(0, 5), 3, CMPLXF(0, 5)}, 4);
}

/* What nobody else uses is written over itself, from a template that is computed and with updates
 * that it gives. */
static void scatter_of_itself(void **state) {
  (void)state;
  c values[4] = {CMPLXF(1, -1), CMPLXF(2, -2), CMPLXF(3, -3), CMPLXF(4, -4)};
  int64_t turn[4] = {1, 2, 3, 0};
  nx_tensor *x = LINE(NX_C64, values), *i = LINE(NX_I64, turn);
  OK(nx_assign(x, nx_scatter(x, i, x, 0, NX_SCATTER_SET, 0)));
  OK(nx_assign(x, nx_scatter(x, i, nx_conj(x), 0, NX_SCATTER_ADD, 0)));
  expect(x, (c[]){CMPLXF(7, -1), CMPLXF(5, 3), CMPLXF(3, -1), CMPLXF(5, -1)}, 4);
}

static void windows(void **state) {
  (void)state;
  c values[5] = {CMPLXF(1, -1), CMPLXF(2, -2), CMPLXF(3, -3), CMPLXF(4, -4), CMPLXF(5, -5)};
  const int64_t kernel = 3, one = 1, five = 5;
  nx_window w = {.size = sizeof w, .n = 1, .kernel = &kernel, .before = &one, .after = &one};
  nx_tensor *x = LINE(NX_C64, values), *rows = GOOD(nx_unfold(x, &w));
  expect(rows,
         (c[]){0, CMPLXF(1, -1), CMPLXF(2, -2), CMPLXF(3, -3), CMPLXF(4, -4), CMPLXF(1, -1),
               CMPLXF(2, -2), CMPLXF(3, -3), CMPLXF(4, -4), CMPLXF(5, -5), CMPLXF(2, -2),
               CMPLXF(3, -3), CMPLXF(4, -4), CMPLXF(5, -5), 0},
         15);
  expect(GOOD(nx_fold(rows, &five, 1, &w)),
         (c[]){CMPLXF(2, -2), CMPLXF(6, -6), CMPLXF(9, -9), CMPLXF(12, -12), CMPLXF(10, -10)}, 5);
  int32_t classes[3] = {1, -1, 0};
  expect(GOOD(nx_one_hot(LINE(NX_I32, classes), 2, NX_C64)), (c[]){0, 1, 0, 0, 1, 0}, 6);
}

/* Longer than a block of 1024, along either axis, and so long that it is taken apart. */
static void sums_so_far(void **state) {
  (void)state;
  static c x[70000], y[70000];
  static const int64_t shapes[][2] = {{1, 3000}, {3000, 5}, {1, 70000}};
  for (size_t s = 0; s < COUNT(shapes); s++)
    for (int32_t axis = 0; axis < 2; axis++) {
      int64_t n = shapes[s][axis], all = shapes[s][0] * shapes[s][1],
              step = axis ? 1 : shapes[s][1];
      for (int64_t i = 0; i < all; i++) x[i] = any();
      for (int64_t line = 0; line < all / n; line++) {
        int64_t at = axis ? line * n : line;
        c before = 0, within = 0;
        for (int64_t k = 0; k < n; k++, at += step) {
          if (k > 0 && k % 1024 == 0) before = k == 1024 ? within : before + within;
          within = k % 1024 == 0 ? x[at] : within + x[at];
          y[at] = k < 1024 ? within : before + within;
        }
      }
      nx_tensor *t = of(NX_C64, x, (size_t)all * sizeof *x, shapes[s], 2);
      expect(GOOD(nx_associative_scan(t, NX_SCAN_SUM, axis)), y, (size_t)all);
      expect(GOOD(nx_neg(nx_associative_scan(nx_neg(t), NX_SCAN_SUM, axis))), y, (size_t)all);
    }
}

/* C's own products: infinities and NaNs as in its Annex G, which c128 has too. */
typedef double complex z;
static const nx_dtype widths[] = {NX_C128, NX_C64};

static void expect_products(nx_tensor *t, const z *values, size_t n) {
  z *got = calloc(n, sizeof *got);
  OK(nx_read(GOOD(nx_cast(t, NX_C128)), got, n * sizeof *got, NULL));
  for (size_t i = 0; i < n; i++) {
    double is[2] = {creal(got[i]), cimag(got[i])}, want[2] = {creal(values[i]), cimag(values[i])};
    for (int k = 0; k < 2; k++)
      if (memcmp(&is[k], &want[k], sizeof *is) != 0 && !(isnan(is[k]) && isnan(want[k])))
        fail_msg("element %zu is %a%+ai, not %a%+ai", i, is[0], is[1], want[0], want[1]);
  }
  free(got);
}

static z round_to(nx_dtype t, z x) {
  /* gcc 12 leaves out the rounding of a float that it has in a register */
  volatile float part[2] = {(float)creal(x), (float)cimag(x)};
  return t == NX_C64 ? CMPLX(part[0], part[1]) : x;
}

/* y: products of the lines of x along an axis, n elements `step` apart. */
static void products(const z *x, z *y, nx_dtype t, int64_t n, int64_t step) {
  z before = 0, within = 0;
  for (int64_t k = 0; k < n; k++) {
    if (k > 0 && k % 1024 == 0) before = k == 1024 ? within : round_to(t, before * within);
    within = k % 1024 == 0 ? x[k * step] : round_to(t, within * x[k * step]);
    y[k * step] = k < 1024 ? within : round_to(t, before * within);
  }
}

static void products_so_far(void **state) {
  (void)state;
  static z x[66000], y[66000];
  static const int64_t shapes[][2] = {{3, 2100}, {2100, 7},  {40, 17},  {1, 1},
                                      {5, 1},    {1, 33000}, {33000, 2}};
  for (size_t s = 0; s < COUNT(shapes) * 2; s++)
    for (int32_t axis = 0; axis < 2; axis++) {
      const int64_t *shape = shapes[s / 2];
      nx_dtype t = widths[s % 2];
      if (s / 2 >= 5 && (shape[axis] < 33000 || s % 2)) continue;
      int64_t n = shape[axis], all = shape[0] * shape[1], step = axis ? 1 : shape[1];
      for (int64_t i = 0; i < all; i++) {
        double turn = (double)below(1 << 20) * 0x1p-20 * 6.3,
               grow = 1 + (double)below(64) * 0x1p-14;
        x[i] = round_to(t, CMPLX(cos(turn) * grow, sin(turn) / grow));
      }
      if (s < 2) x[2 * shape[1]] = CMPLX(INFINITY, NAN); /* the first of the last row */
      if (s < 2) x[1] = CMPLX(-0.0, 0);
      for (int64_t line = 0; line < all / n; line++) {
        int64_t at = axis ? line * n : line;
        products(x + at, y + at, t, n, step);
      }
      nx_tensor *wide = of(NX_C128, x, (size_t)all * sizeof *x, shape, 2),
                *a = GOOD(nx_cast(wide, t)),
                *scan = GOOD(nx_associative_scan(a, NX_SCAN_PROD, axis));
      expect_products(scan, y, (size_t)all);
      if (s / 2 >= 5) continue; /* taken apart, and slow to interpret */
      /* one part alone, other layouts, and fused before and after */
      nx_tensor *turned = GOOD(nx_permute(nx_copy(nx_permute(a, NX_AXES(1, 0))), NX_AXES(1, 0)));
      nx_tensor *im = GOOD(nx_imag(nx_associative_scan(turned, NX_SCAN_PROD, axis)));
      nx_tensor *same = GOOD(
          nx_neg(nx_conj(nx_associative_scan(nx_conj(nx_conj(turned)), NX_SCAN_PROD, axis - 2))));
      for (int64_t i = 0; i < all; i++) y[i] = CMPLX(-creal(y[i]), cimag(y[i]));
      expect_products(same, y, (size_t)all);
      for (int64_t i = 0; i < all; i++) y[i] = CMPLX(cimag(y[i]), 0);
      expect_products(GOOD(nx_cast(im, NX_C128)), y, (size_t)all);
    }
}

NXT_MAIN(complex_index) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(sums_are_in_order), IN_SCOPE(rows_share_an_index),
      IN_SCOPE(bad_indices),       IN_SCOPE(assign_of_scatter_is_in_place),
      IN_SCOPE(scatter_of_itself), IN_SCOPE(windows),
      IN_SCOPE(sums_so_far),       IN_SCOPE(products_so_far),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
