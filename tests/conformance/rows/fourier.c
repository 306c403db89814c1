/* SPDX-License-Identifier: ISC */
/* Fourier transforms against their definition, summed in long double, and random tensors against
 * threefry written out. */
#include "../conformance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the definition */

/* Along one axis, with sign -1 or 1. n: of the result and of the sum; elements beyond the operand's
 * are 0. */
static value *transformed(trial *t, const value *x, const int64_t *shape, int axis, int64_t n,
                          int sign) {
  int64_t to[3] = {shape[0], shape[1], shape[2]}, strides[3], index[3];
  const long double pi = acosl(-1);
  to[axis] = n;
  strides_of(3, shape, strides);
  int64_t count = to[0] * to[1] * to[2];
  value *y = room(t, (size_t)(count + 1) * sizeof *y);
  for (int64_t i = 0; i < count; i++) {
    unravel((size_t)i, 3, to, index);
    int64_t k = index[axis];
    index[axis] = 0;
    const value *line = x + ravel(3, shape, index);
    for (int64_t j = 0; j < n && j < shape[axis]; j++) {
      long double angle = sign * 2 * pi * (long double)(j * k % n) / (long double)n,
                  c = cosl(angle), s = sinl(angle);
      value v = line[j * strides[axis]];
      y[i] = (value){y[i].re + v.re * c - v.im * s, y[i].im + v.re * s + v.im * c};
    }
  }
  return y;
}

static value *values_of(trial *t, const array *a) {
  value *x = room(t, (a->n + 1) * sizeof *x);
  for (size_t i = 0; i < a->n; i++) x[i] = decode(a->dtype, a->at[i]);
  return x;
}

/* The error is relative to the largest number of the result. */
static void expect_spectrum(trial *t, nx_tensor *result, const array *want, const value *exact,
                            int64_t length, const char *what) {
  long double *size = room(t, (want->n + 1) * sizeof *size), largest = 0;
  for (size_t i = 0; i < want->n; i++) largest = fmaxl(largest, hypotl(exact[i].re, exact[i].im));
  for (size_t i = 0; i < want->n; i++) size[i] = largest;
  expect_near(t, result, want, exact, NEAR_SIZE, 3 * log2((double)length + 1), size, NULL, what);
}

/* ---- fft and ifft: lengths that are powers of two, composite, prime, beyond small primes */

static void check_fft(trial *t) {
  static const int64_t lengths[][3] = {{2, 3, 16}, {4, 5, 7}, {1, 37, 2}, {2, 1, 67}, {3, 12, 1}};
  bool inverse = !strcmp(t->op->name, "ifft");
  nx_tensor *(*record)(nx_tensor *, const int32_t *, size_t) = inverse ? nx_ifft : nx_fft;
  for (size_t i = 0; i < 5; i++) {
    array *a = tame_values(t, t->dtype, 3, lengths[i], 1),
          *want = new_array(t, t->dtype, 3, lengths[i]);
    nx_tensor *x = laid_out(t, a, (layout)((i + t->turn) % LAYOUTS));
    value *y = values_of(t, a);
    for (int axis = 1; axis < 3; axis++)
      y = transformed(t, y, lengths[i], axis, lengths[i][axis], inverse ? 1 : -1);
    char what[60];
    snprintf(what, sizeof what, "%d x %d", (int)lengths[i][1], (int)lengths[i][2]);
    expect_spectrum(t, record(x, NX_AXES(-1, 1)), want, y, lengths[i][1] * lengths[i][2], what);
  }
  const int64_t none[] = {2, 0, 3};
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none));
  expect(t, record(x, NX_AXES(1)), new_array(t, t->dtype, 3, none), SAME, "no elements");
  expect_refusal(t, record(NULL, NX_AXES(1)), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, record(x, NX_AXES(3)), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, record(x, NX_AXES(1, -2)), NX_INVALID_ARGUMENT, "an axis twice");
  expect_refusal(t, record(x, NULL, 0), NX_INVALID_ARGUMENT, "no axes");
}
static nx_tensor *record_fft(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 1, (const int64_t[]){4}, 1));
  return strcmp(t->op->name, "ifft") ? nx_fft(x, NX_AXES(0)) : nx_ifft(x, NX_AXES(0));
}

/* ---- real signals: half a spectrum */

/* The first `n` elements along the last axis. */
static value *first_elements(trial *t, const value *x, const int64_t *shape, int64_t n) {
  int64_t lines = shape[0] * shape[1];
  value *y = room(t, (size_t)(lines * n + 1) * sizeof *y);
  for (int64_t i = 0; i < lines * n; i++) y[i] = x[i / n * shape[2] + i % n];
  return y;
}

static void check_rfft(trial *t) {
  static const int64_t lengths[][3] = {{2, 3, 16}, {4, 5, 7}, {1, 37, 2}, {2, 1, 67}, {3, 12, 1}};
  nx_dtype to = t->dtype == NX_F64 ? NX_C128 : NX_C64;
  for (size_t i = 0; i < 5; i++) {
    int64_t half[] = {lengths[i][0], lengths[i][1], lengths[i][2] / 2 + 1};
    array *a = tame_values(t, t->dtype, 3, lengths[i], 1), *want = new_array(t, to, 3, half);
    nx_tensor *x = laid_out(t, a, (layout)((i + t->turn) % LAYOUTS));
    value *y = transformed(t, values_of(t, a), lengths[i], 2, lengths[i][2], -1);
    y = first_elements(t, y, lengths[i], half[2]);
    y = transformed(t, y, half, 1, half[1], -1);
    expect_spectrum(t, nx_rfft(x, NX_AXES(1, -1)), want, y, lengths[i][1] * lengths[i][2],
                    "a real signal");
  }
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 1, (const int64_t[]){0}));
  expect_refusal(t, nx_rfft(x, NX_AXES(0)), NX_INVALID_ARGUMENT, "the spectrum of nothing");
  expect_refusal(t, nx_rfft(x, NX_AXES(1)), NX_INVALID_ARGUMENT, "axis 1 of rank 1");
  expect_refusal(t, nx_rfft(NULL, NX_AXES(0)), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_rfft(trial *t, nx_dtype dtype) {
  return nx_rfft(tensor_of(t, tame_values(t, dtype, 1, (const int64_t[]){4}, 1)), NX_AXES(0));
}

/* A whole spectrum of n from the first half, symmetric; element 0 and the middle one are real. */
static value *mirrored_lines(trial *t, const value *x, const int64_t *shape, int64_t n) {
  int64_t lines = shape[0] * shape[1];
  value *y = room(t, (size_t)(lines * n + 1) * sizeof *y);
  for (int64_t i = 0; i < lines * n; i++) {
    int64_t k = i % n, from = k <= n / 2 ? k : n - k;
    if (from < shape[2]) y[i] = x[i / n * shape[2] + from];
    if (k > n / 2) y[i].im = -y[i].im;
    if (k == 0 || 2 * k == n) y[i].im = 0;
  }
  return y;
}

/* Without sizes, longer, and shorter than the spectrum. */
static void check_irfft(trial *t) {
  static const int64_t half[] = {2, 3, 9}, sizes[][2] = {{3, 16}, {4, 21}, {2, 7}};
  for (int i = 0; i < 3; i++) {
    int64_t shape[] = {2, sizes[i][0], 9}, result[] = {2, sizes[i][0], sizes[i][1]};
    array *a = tame_values(t, t->dtype, 3, half, 1),
          *want = new_array(t, t->format->part, 3, result);
    nx_tensor *x = laid_out(t, a, (layout)((unsigned)i + t->turn) % LAYOUTS);
    value *y = transformed(t, values_of(t, a), half, 1, sizes[i][0], 1);
    y = mirrored_lines(t, y, shape, sizes[i][1]);
    y = transformed(t, y, result, 2, sizes[i][1], 1);
    for (size_t k = 0; k < want->n; k++) y[k].im = 0;
    nx_tensor *is = nx_irfft(x, NX_AXES(1, 2), i ? sizes[i] : NULL, i ? 2 : 0);
    expect_spectrum(t, is, want, y, sizes[i][0] * sizes[i][1], i ? "with sizes" : "without sizes");
  }
  nx_tensor *x = tensor_of(t, tame_values(t, t->dtype, 3, half, 1));
  expect_refusal(t, nx_irfft(x, NX_AXES(2), (const int64_t[]){0}, 1), NX_INVALID_ARGUMENT,
                 "to no elements");
  expect_refusal(t, nx_irfft(x, NX_AXES(2), (const int64_t[]){-1}, 1), NX_INVALID_ARGUMENT,
                 "to -1 elements");
  expect_refusal(t, nx_irfft(x, NX_AXES(2, 2), NULL, 0), NX_INVALID_ARGUMENT, "an axis twice");
  expect_refusal(t, nx_irfft(NULL, NX_AXES(2), NULL, 0), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_irfft(trial *t, nx_dtype dtype) {
  return nx_irfft(tensor_of(t, tame_values(t, dtype, 1, (const int64_t[]){4}, 1)), NX_AXES(0), NULL,
                  0);
}

static const operation fourier_table[] = {
    {"fft", C, check_fft, record_fft, NULL, 0, NULL},
    {"ifft", C, check_fft, record_fft, NULL, 0, NULL},
    {"rfft", F, check_rfft, record_rfft, NULL, 0, NULL},
    {"irfft", C, check_irfft, record_irfft, NULL, 0, NULL},
};
const family fourier_family = {"Fourier transforms", fourier_table,
                               sizeof fourier_table / sizeof *fourier_table};
