/* SPDX-License-Identifier: ISC */
/* What tests of matrix products on the fake device share: operands, and products that are compared
 * with exact ones. */
#ifndef NXT_CUDA_PRODUCTS_H
#define NXT_CUDA_PRODUCTS_H

#include "tests/cuda/fake_device.h"

#include <math.h>

/* ---- operands: numbers with a few digits, of both signs */

static inline nx_tensor *numbers(nx_dtype t, const int64_t *shape, int32_t rank, uint32_t seed) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  float *values = calloc((size_t)n + 1, sizeof *values);
  assert_non_null(values);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    values[i] = (float)(int32_t)(seed >> 20) / 2048.0f - 1;
  }
  nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F32, shape, rank));
  OK(nx_write(x, values, (size_t)n * sizeof *values, NULL));
  free(values);
  x = GOOD(nx_to_device(nx_cast(x, t), CUDA));
  OK(nx_realize(ctx, &x, 1, NULL));
  return x;
}
#define NUMBERS(dtype, seed, ...) numbers((dtype), NX_SHAPE(__VA_ARGS__), (seed))

static inline nx_tensor *window(nx_tensor *x, int64_t row, int64_t column, int64_t rows,
                                int64_t columns, int64_t step) {
  return GOOD(
      nx_slice(x, (int64_t[]){row, column}, (int64_t[]){rows, columns}, (int64_t[]){1, step}, 2));
}

static inline nx_tensor *turned(nx_tensor *x, int32_t rank) {
  int32_t order[4] = {0, 1, 2, 3};
  order[rank - 1] = rank - 2;
  order[rank - 2] = rank - 1;
  return GOOD(nx_permute(x, order, rank));
}

static inline double *wide_values(nx_tensor *x, size_t n) {
  double *values = calloc(n + 1, sizeof *values);
  assert_non_null(values);
  OK(nx_read(nx_cast(nx_to_device(x, 0), NX_F64), values, n * sizeof *values, NULL));
  return values;
}

static inline double half_unit(nx_dtype t) {
  switch (t) {
    case NX_F64: return 0x1p-53;
    case NX_F32: return 0x1p-24;
    case NX_F16: return 0x1p-11;
    case NX_BF16: return 0x1p-8;
    case NX_F8E4M3: return 0x1p-4;
    default: return 0x1p-3;
  }
}

/* The smallest number that is not subnormal. */
static inline double smallest(nx_dtype t) {
  return t == NX_F16 || t == NX_F8E5M2 ? 0x1p-14 : t == NX_F8E4M3 ? 0x1p-6 : 0;
}

/* Checks that the result is the exact product, rounded once, up to the error of sums in f32
 * (f64). */
static inline void near_exact(nx_tensor *c, nx_tensor *a, nx_tensor *b, nx_dtype t, size_t n,
                              int64_t k) {
  nx_tensor *x = GOOD(nx_cast(nx_to_device(a, 0), NX_F64)),
            *y = GOOD(nx_cast(nx_to_device(b, 0), NX_F64));
  double *is = wide_values(c, n), *exact = wide_values(nx_matmul(x, y), n),
         *size = wide_values(nx_matmul(nx_abs(x), nx_abs(y)), n);
  double unit = t == NX_F64 ? 0x1p-53 : 0x1p-24;
  for (size_t i = 0; i < n; i++) {
    double lost = (double)(k + 1) * unit * size[i],
           most = lost + half_unit(t) * fmax(fabs(exact[i]) + lost, smallest(t));
    if (!(fabs(is[i] - exact[i]) <= most))
      fprintf(stderr, "element %zu is %.17g, not %.17g within %g\n", i, is[i], exact[i], most);
    assert_true(fabs(is[i] - exact[i]) <= most);
  }
  free(is);
  free(exact);
  free(size);
}

/* products, kernels: the expected numbers of library calls and of kernels; -1: any number. */
static inline nx_tensor *product(nx_tensor *a, nx_tensor *b, nx_dtype t, size_t n, int64_t k,
                                 int products, int kernels) {
  nx_tensor *c = GOOD(nx_matmul(a, b));
  int64_t before = fake->products, launches = fake->launches;
  OK(nx_realize(ctx, &c, 1, NULL));
  if (products >= 0) assert_int_equal(fake->products - before, products);
  if (kernels >= 0) assert_int_equal(fake->launches - launches, kernels);
  near_exact(c, a, b, t, n, k);
  return c;
}

enum { M = 40, N = 36, K = 50 };

static inline void *bytes_of(nx_tensor *x, size_t bytes) {
  void *values = calloc(bytes, 1);
  assert_non_null(values);
  OK(nx_read(x, values, bytes, NULL));
  return values;
}

#endif
