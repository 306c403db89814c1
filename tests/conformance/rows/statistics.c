/* SPDX-License-Identifier: ISC */
/* Means and variances, of whole numbers: their sums are exact in every order, so that a mean is one
 * division, rounded once in f32 or f64 and once more to a small float. */
#include "../conformance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct statistic {
  bool is_variance;
} statistic;
static bool is_variance(const trial *t) { return ((const statistic *)t->op->detail)->is_variance; }

/* -2 .. 2, in both parts; f8e4m3 has all sums of them that occur here. */
static array *whole_numbers(trial *t, int32_t rank, const int64_t *shape) {
  array *a = new_array(t, t->dtype, rank, shape);
  uint64_t state = 11;
  for (size_t i = 0; i < a->n; i++) {
    long double re = (long double)(random_word(&state) % 5) - 2,
                im = (long double)(random_word(&state) % 5) - 2;
    a->at[i] = encode(t->dtype, (value){re, t->format->kind == KIND_COMPLEX ? im : 0});
  }
  return a;
}

static bool is_wide(const trial *t) { return t->format->part == NX_F64; }

static long double quotient(const trial *t, long double x, size_t n) {
  return is_wide(t) ? (long double)((double)x / (double)n) : (long double)((float)x / (float)n);
}

/* Sums along the reduced axes; bit i of `axes`: axis i is. */
static size_t line_of(const array *a, size_t i, uint32_t axes, int32_t rank, const int64_t *shape) {
  int64_t index[NX_MAX_RANK], place[NX_MAX_RANK];
  int32_t used = 0;
  unravel(i, a->rank, a->shape, index);
  for (int32_t k = 0; k < a->rank; k++)
    if (!(axes >> k & 1)) place[used++] = index[k];
  return ravel(rank, shape, place);
}

static void expect_statistic(trial *t, array *a, layout l, uint32_t axes, double ddof) {
  int64_t shape[NX_MAX_RANK];
  int32_t list[NX_MAX_RANK], rank = 0;
  size_t n = 0;
  nx_tensor *x = laid_out(t, a, l);
  for (int32_t i = 0; i < a->rank; i++)
    if (axes >> i & 1) list[n++] = i - (l % 2 ? a->rank : 0);
    else shape[rank++] = a->shape[i];
  array *want = new_array(t, is_variance(t) ? t->format->part : t->dtype, rank, shape);
  size_t count = want->n ? a->n / want->n : 0;
  value *sums = room(t, (want->n + 1) * sizeof *sums),
        *apart = room(t, (want->n + 1) * sizeof *sums);
  for (size_t i = 0; i < a->n; i++) {
    size_t to = line_of(a, i, axes, rank, shape);
    value v = decode(t->dtype, a->at[i]);
    sums[to].re += v.re;
    sums[to].im += v.im;
  }
  for (size_t i = 0; i < a->n; i++) {
    size_t to = line_of(a, i, axes, rank, shape);
    value v = decode(t->dtype, a->at[i]);
    long double re = v.re - sums[to].re / (long double)count,
                im = v.im - sums[to].im / (long double)count;
    apart[to].re += re * re + im * im;
  }
  long double divisor = fmaxl((long double)count - (long double)ddof, 0);
  for (size_t i = 0; i < want->n; i++) {
    value mean = {quotient(t, sums[i].re, count), quotient(t, sums[i].im, count)};
    apart[i].re /= divisor;
    want->at[i] = is_variance(t) ? encode(want->dtype, apart[i]) : encode(t->dtype, mean);
  }
  char what[80];
  snprintf(what, sizeof what, "axes %x, ddof %g, %s", axes, ddof, layout_names[l]);
  if (!is_variance(t)) expect(t, nx_reduce_mean(x, list, n, 0), want, SAME, what);
  else expect_near(t, nx_reduce_var(x, list, n, ddof, 0), want, apart, NEAR, 8, NULL, NULL, what);
}

static nx_tensor *call(const trial *t, nx_tensor *x, const int32_t *axes, size_t n,
                       uint32_t flags) {
  return is_variance(t) ? nx_reduce_var(x, axes, n, 0, flags) : nx_reduce_mean(x, axes, n, flags);
}

static void check_refusals(trial *t) {
  const int64_t shape[] = {2, 3};
  nx_tensor *x = tensor_of(t, whole_numbers(t, 2, shape));
  expect_refusal(t, call(t, NULL, NX_AXES(0), 0), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, call(t, x, NX_AXES(2), 0), NX_INVALID_ARGUMENT, "axis 2 of rank 2");
  expect_refusal(t, call(t, x, NX_AXES(1, -1), 0), NX_INVALID_ARGUMENT, "an axis twice");
  if (is_variance(t))
    expect_refusal(t, nx_reduce_var(x, NX_AXES(0), (double)NAN, 0), NX_INVALID_ARGUMENT,
                   "a NaN ddof");
}

static void check_statistic(trial *t) {
  static const int64_t cube[] = {4, 3, 7}, none[] = {3, 0, 2};
  for (layout l = 0; l < LAYOUTS; l++)
    for (uint32_t axes = 1; axes < 8; axes++)
      if (is_due(t, (l * 8 + axes) % 11, 11))
        expect_statistic(t, whole_numbers(t, 3, cube), l, axes, axes % 2);
  expect_statistic(t, whole_numbers(t, 3, none), CONTIGUOUS, 1, 0);
  const int64_t kept[] = {4, 1, 7};
  nx_tensor *x = tensor_of(t, whole_numbers(t, 3, cube));
  result_of(t, call(t, x, NX_AXES(1), NX_KEEPDIMS), is_variance(t) ? t->format->part : t->dtype, 3,
            kept, "with NX_KEEPDIMS");
  check_refusals(t);
}

static nx_tensor *record_statistic(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  return call(t, tensor_of(t, tame_values(t, dtype, 2, shape, 1)), NX_AXES(1), 0);
}

/* ---- quantiles, of lines that are sorted by insertion */

static const double fractions[] = {0, 0.25, 0.5, 0.625, 1};
enum { FRACTIONS = sizeof fractions / sizeof *fractions };
static bool is_median(const trial *t) { return !strcmp(t->op->name, "median"); }

static long double between(const trial *t, long double a, long double b, long double w) {
  if (a == b) return a;
  if (is_wide(t)) {
    double x = (double)a, apart = (double)b - x;
    return w < 0.5L ? x + (double)(apart * (double)w)
                    : (double)b - (double)(apart * (double)(1 - w));
  }
  float x = (float)a, apart = (float)b - x;
  return w < 0.5L ? x + (float)(apart * (float)w) : (float)b - (float)(apart * (float)(1 - w));
}

static bits quantile_of(const trial *t, const long double *line, size_t n, double q, int method) {
  long double at = (long double)(q * (double)(n - 1)), low = floorl(at), w = at - low;
  size_t i = (size_t)low;
  if (isnan(line[n - 1])) return encode_real(t->dtype, (long double)NAN);
  if (method == NX_QUANTILE_MIDPOINT && w > 0) w = 0.5L;
  if (method == NX_QUANTILE_HIGHER) i += w > 0;
  if (method == NX_QUANTILE_NEAREST) i += w > 0.5L || (w == 0.5L && i % 2);
  bool apart = w > 0 && (method == NX_QUANTILE_LINEAR || method == NX_QUANTILE_MIDPOINT);
  return encode_real(t->dtype, apart ? between(t, line[i], line[i + 1], w) : line[i]);
}

static void insert(long double *line, size_t n, long double x) {
  for (; n && (isnan(line[n - 1]) || line[n - 1] > x) && !isnan(x); n--) line[n] = line[n - 1];
  line[n] = x;
}

static void expect_quantiles(trial *t, array *a, layout l, int32_t axis, int method, bool keep) {
  nx_tensor *x = laid_out(t, a, l);
  int64_t shape[4], index[4], lines[4], out = !is_median(t);
  int32_t rank = 0;
  if (out) shape[rank++] = FRACTIONS;
  for (int32_t i = 0; i < a->rank; i++) {
    lines[i] = i == axis ? 1 : a->shape[i];
    if (i != axis || keep) shape[rank++] = lines[i];
  }
  array *want = new_array(t, t->dtype, rank, shape);
  size_t n = (size_t)a->shape[axis], count = a->n / n, each = out ? FRACTIONS : 1;
  long double *line = room(t, (n + 1) * sizeof *line);
  for (size_t i = 0; i < count; i++) {
    unravel(i, a->rank, lines, index);
    for (size_t k = 0; k < n; k++) {
      index[axis] = (int64_t)k;
      insert(line, k, decode(t->dtype, a->at[ravel(a->rank, a->shape, index)]).re);
    }
    for (size_t k = 0; k < each; k++)
      want->at[k * count + i] = quantile_of(t, line, n, out ? fractions[k] : 0.5, method);
  }
  char what[80];
  snprintf(what, sizeof what, "method %d, axis %d, %s", method, axis, layout_names[l]);
  uint32_t flags = keep ? NX_KEEPDIMS : 0;
  nx_tensor *y = out ? nx_quantile(x, fractions, FRACTIONS, axis - (l % 2 ? a->rank : 0),
                                   (nx_quantile_method)method, flags)
                     : nx_median(x, axis, flags);
  expect(t, y, want, SAME, what);
}

static void check_quantile(trial *t) {
  static const int64_t cube[] = {4, 3, 7}, none[] = {3, 0, 2}, even[] = {2, 16};
  static const double bad[] = {0.5, 1.5}, nan[] = {(double)NAN};
  for (layout l = 0; l < LAYOUTS; l++)
    for (int32_t axis = 0; axis < 3; axis++)
      if (is_due(t, l * 3 + (layout)axis, 18))
        expect_quantiles(t, whole_numbers(t, 3, cube), l, axis, is_median(t) ? 0 : (int)l % 5,
                         axis % 2);
  for (int method = 0; method < (is_median(t) ? 1 : 5); method++)
    expect_quantiles(t, whole_numbers(t, 2, even), CONTIGUOUS, 1, method, false);
  expect_quantiles(t, some_values(t, t->dtype, 2, even, 3), CONTIGUOUS, 1,
                   NX_QUANTILE_LOWER * !is_median(t), false);
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none)),
            *y = tensor_of(t, whole_numbers(t, 2, even));
  expect_refusal(t, nx_median(NULL, 0, 0), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, nx_median(x, 1, 0), NX_INVALID_ARGUMENT, "over nothing");
  expect_refusal(t, nx_median(y, 2, 0), NX_INVALID_ARGUMENT, "axis 2 of rank 2");
  expect_refusal(t, nx_quantile(y, bad, 2, 1, NX_QUANTILE_LINEAR, 0), NX_INVALID_ARGUMENT, "1.5");
  expect_refusal(t, nx_quantile(y, nan, 1, 1, NX_QUANTILE_LINEAR, 0), NX_INVALID_ARGUMENT, "NaN");
  expect_refusal(t, nx_quantile(y, bad, 0, 1, NX_QUANTILE_LINEAR, 0), NX_INVALID_ARGUMENT, "none");
  expect_refusal(t, nx_quantile(y, bad, 1, 1, (nx_quantile_method)9, 0), NX_INVALID_ARGUMENT,
                 "a method that does not exist");
}

/* Over several axes: what quantile gives along one axis that holds their elements. */
static void expect_over(trial *t, uint32_t axes, layout l, bool keep) {
  static const int64_t cube[] = {4, 3, 7};
  array *a = whole_numbers(t, 3, cube);
  nx_tensor *x = laid_out(t, a, l);
  int32_t list[3], order[3], kept = 0, gone = 0;
  int64_t lines[] = {1, 1}, shape[4] = {FRACTIONS}, rank = 1;
  for (int32_t i = 0; i < 3; i++) gone += axes >> i & 1;
  int32_t last = 3 - gone, n = 0;
  for (int32_t i = 0; i < 3; i++) {
    bool is = axes >> i & 1;
    order[is ? last++ : kept++] = i;
    lines[is] *= cube[i];
    if (is) list[n++] = l % 2 ? i - 3 : i;
    if (!is || keep) shape[rank++] = is ? 1 : cube[i];
  }
  nx_tensor *flat = nx_reshape(nx_copy(nx_permute(x, order, 3)), lines, 2, 0),
            *same = nx_reshape(nx_quantile(flat, fractions, FRACTIONS, 1, NX_QUANTILE_LINEAR, 0),
                               shape, (int32_t)rank, 0);
  array *want = result_of(t, same, t->dtype, (int32_t)rank, shape, "quantiles of flat lines");
  nx_tensor *y = nx_quantile_over(x, fractions, FRACTIONS, list, (size_t)gone, NX_QUANTILE_LINEAR,
                                  keep ? NX_KEEPDIMS : 0);
  if (want) expect(t, y, want, SAME, "several axes");
}

static void check_quantile_over(trial *t) {
  static const int64_t none[] = {3, 0, 2};
  for (layout l = 0; l < LAYOUTS; l++)
    for (uint32_t axes = 0; axes < 8; axes++)
      if (is_due(t, l * 8 + axes, 48)) expect_over(t, axes, l, (axes + l) % 2);
  nx_tensor *x = tensor_of(t, new_array(t, t->dtype, 3, none));
#define OVER(x, flags, ...) \
  nx_quantile_over(x, fractions, 2, NX_AXES(__VA_ARGS__), NX_QUANTILE_LINEAR, flags)
  expect_refusal(t, OVER(NULL, 0, 0), NX_INVALID_ARGUMENT, "a null operand");
  expect_refusal(t, OVER(x, 0, 0, 1), NX_INVALID_ARGUMENT, "over nothing");
  expect_refusal(t, OVER(x, 0, 0, 3), NX_INVALID_ARGUMENT, "axis 3 of rank 3");
  expect_refusal(t, OVER(x, 0, 0, 0), NX_INVALID_ARGUMENT, "an axis twice");
  expect_refusal(t, OVER(x, 8, 0, 2), NX_INVALID_ARGUMENT, "a flag that does not exist");
}

static nx_tensor *record_quantile_over(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  return OVER(tensor_of(t, tame_values(t, dtype, 2, shape, 1)), 0, 0, 1);
}

static nx_tensor *record_quantile(trial *t, nx_dtype dtype) {
  const int64_t shape[] = {2, 3};
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, shape, 1));
  return is_median(t) ? nx_median(x, 1, 0) : nx_quantile(x, fractions, 2, 1, NX_QUANTILE_LINEAR, 0);
}

static const operation statistic_table[] = {
    {"reduce_mean", F | C, check_statistic, record_statistic, &(const statistic){false}, 0, NULL},
    {"reduce_var", F | C, check_statistic, record_statistic, &(const statistic){true}, 0, NULL},
    {"quantile", F, check_quantile, record_quantile, NULL, 0, NULL},
    {"quantile_over", F, check_quantile_over, record_quantile_over, NULL, 0, NULL},
    {"median", F, check_quantile, record_quantile, NULL, 0, NULL},
};
const family statistic_family = {"Statistics", statistic_table,
                                 sizeof statistic_table / sizeof *statistic_table};
