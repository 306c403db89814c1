/* SPDX-License-Identifier: ISC */
/* Fourier transforms next to direct sums in long double: many lengths, both precisions and
 * directions, real numbers, several axes; and laws: Parseval, linearity, there and back, impulses.
 * Prints the largest errors, in units of eps log2(n). */
#include "fft_util.h"
#include "tests/util/runner.h"

/* ---- direct sums */

/* exp(-2 pi i k / n), k < n. */
static real *circle(int64_t n) {
  real *w = malloc((size_t)n * 2 * sizeof *w);
  assert_non_null(w);
  for (int64_t k = 0; k < n; k++) {
    int64_t q = 8 * k / n, r = 8 * k - q * n; /* an eighth, and how far into it */
    real a = 0.785398163397448309615660845819875721L * (real)(q & 1 ? n - r : r) / (real)n;
    real c = q == 1 || q == 2 || q == 5 || q == 6 ? sinl(a) : cosl(a);
    real s = q == 1 || q == 2 || q == 5 || q == 6 ? cosl(a) : sinl(a);
    w[2 * k] = q >= 2 && q <= 5 ? -c : c;
    w[2 * k + 1] = q >= 4 ? s : -s;
  }
  return w;
}

/* Number k of the transform of n pairs, every stride-th. */
static void direct(const real *x, int64_t stride, int64_t n, const real *w, int64_t k, bool inverse,
                   real out[2]) {
  out[0] = out[1] = 0;
  for (int64_t j = 0, at = 0; j < n; j++) {
    real c = w[2 * at], s = inverse ? -w[2 * at + 1] : w[2 * at + 1];
    const real *z = x + 2 * j * stride;
    out[0] += z[0] * c - z[1] * s;
    out[1] += z[0] * s + z[1] * c;
    at = at + k < n ? at + k : at + k - n;
  }
}

/* ---- accuracy */

typedef struct worst {
  double l2, max;
  int64_t n_l2, n_max;
} worst;

typedef struct errors {
  real wrong, right, most_wrong, most;
} errors;

static void add_error(errors *e, real re, real im, const real want[2]) {
  real a = re - want[0], b = im - want[1], error = a * a + b * b,
       size = want[0] * want[0] + want[1] * want[1];
  e->wrong += error;
  e->right += size;
  if (!(error <= e->most_wrong)) e->most_wrong = error;
  if (size > e->most) e->most = size;
}

/* Checks the bound, 3 eps log2(n), and remembers the worst. */
static void judge(const errors *e, int bytes, int64_t n, worst *w) {
  double unit = (bytes == F32 ? 0x1p-24 : 0x1p-53) * (n > 2 ? log2((double)n) : 1);
  double l2 = e->right > 0 ? (double)sqrtl(e->wrong / e->right) / unit : 0;
  double max = e->most > 0 ? (double)sqrtl(e->most_wrong / e->most) / unit : 0;
  if (!(l2 <= 3) || !(max <= 3))
    fail_msg("length %lld, f%d: errors %g and %g", (long long)n, bytes * 8, l2, max);
  if (l2 > w->l2) w->l2 = l2, w->n_l2 = n;
  if (max > w->max) w->max = max, w->n_max = n;
}

static real *widened(const void *p, int bytes, int64_t reals) {
  real *x = malloc((size_t)reals * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < reals; i++) x[i] = get(p, bytes, i);
  return x;
}

/* All numbers of short transforms, some of long ones. */
static int64_t samples(int64_t count) { return count <= 1024 ? count : count <= 1 << 14 ? 48 : 12; }
static int64_t sample(int64_t i, int64_t count) {
  return samples(count) == count
             ? i
             : (int64_t)((uint64_t)(i * 7919 + i * i * 104729) % (uint64_t)count);
}

static void check_complex(int bytes, int64_t n, bool inverse, worst *w) {
  void *x = numbers(bytes, 2 * n), *y = transform(inverse ? NXG_ifft : NXG_fft, bytes, n, 0, x);
  real *wide = widened(x, bytes, 2 * n), *unit = circle(n), want[2];
  errors e = {0};
  for (int64_t i = 0; i < samples(n); i++) {
    int64_t k = sample(i, n);
    direct(wide, 1, n, unit, k, inverse, want);
    add_error(&e, get(y, bytes, 2 * k), get(y, bytes, 2 * k + 1), want);
  }
  judge(&e, bytes, n, w);
  free(x), free(y), free(wide), free(unit);
}

static void check_real(int bytes, int64_t n, worst *w) {
  void *x = numbers(bytes, n), *y = transform(NXG_rfft, bytes, n, 0, x);
  real *wide = calloc((size_t)n * 2, sizeof *wide), *unit = circle(n), want[2];
  errors e = {0};
  for (int64_t j = 0; j < n; j++) wide[2 * j] = get(x, bytes, j);
  for (int64_t i = 0; i < samples(n / 2 + 1); i++) {
    int64_t k = sample(i, n / 2 + 1);
    direct(wide, 1, n, unit, k, false, want);
    add_error(&e, get(y, bytes, 2 * k), get(y, bytes, 2 * k + 1), want);
  }
  judge(&e, bytes, n, w);
  free(x), free(y), free(wide), free(unit);
}

/* From `given` pairs: more than are used, or fewer. */
static void check_inverse_real(int bytes, int64_t n, int64_t given, worst *w) {
  void *x = numbers(bytes, 2 * given + 2), *y = transform(NXG_irfft, bytes, n, given, x);
  real *wide = calloc((size_t)n * 2, sizeof *wide), *unit = circle(n), want[2];
  errors e = {0};
  for (int64_t k = 0; k <= n / 2 && k < given; k++) {
    bool alone = k == 0 || 2 * k == n;
    real re = get(x, bytes, 2 * k), im = alone ? 0 : get(x, bytes, 2 * k + 1);
    wide[2 * k] = re, wide[2 * k + 1] = im;
    if (!alone) wide[2 * (n - k)] = re, wide[2 * (n - k) + 1] = -im;
  }
  for (int64_t i = 0; i < samples(n); i++) {
    int64_t j = sample(i, n);
    direct(wide, 1, n, unit, j, true, want);
    add_error(&e, get(y, bytes, j), 0, want);
  }
  judge(&e, bytes, n, w);
  free(x), free(y), free(wide), free(unit);
}

static void say(const char *what, int bytes, const worst *w) {
  print_message("%-22s f%d: L2 %.3f (n = %lld), max %.3f (n = %lld) of eps log2(n)\n", what,
                bytes * 8, w->l2, (long long)w->n_l2, w->max, (long long)w->n_max);
}

static void test_complex(void **state) {
  (void)state;
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    worst w = {0};
    for (int64_t n = 1; n <= 128; n++)
      check_complex(bytes, n, n % 2, &w), check_complex(bytes, n, n % 2 == 0, &w);
    for (int i = 0; i < N_LENGTHS; i++) check_complex(bytes, lengths[i], i % 2, &w);
    check_complex(bytes, 1 << 19, true, &w);
    say("complex", bytes, &w);
  }
}

static void test_real(void **state) {
  (void)state;
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    worst w = {0}, v = {0};
    for (int64_t n = 1; n <= 128; n++) {
      check_real(bytes, n, &w);
      check_inverse_real(bytes, n, n / 2 + 1, &v);
      check_inverse_real(bytes, n, n / 4 + 1, &v);
      check_inverse_real(bytes, n, n + 3, &v);
    }
    for (int i = 0; i < N_LENGTHS; i++) {
      check_real(bytes, lengths[i], &w);
      check_inverse_real(bytes, lengths[i], lengths[i] / 2 + 1 - i % 3, &v);
    }
    check_real(bytes, 1 << 18, &w);
    check_inverse_real(bytes, 1 << 18, (1 << 17) + 1, &v);
    say("of real numbers", bytes, &w);
    say("to real numbers", bytes, &v);
  }
}

/* ---- several axes, next to one-dimensional sums */

static void sums_over(real *x, const int64_t *shape, int32_t rank, int64_t axis, bool inverse) {
  int64_t inner = 1, n = shape[axis], total = nxg_elements(rank, shape);
  for (int32_t i = (int32_t)axis + 1; i < rank; i++) inner *= shape[i];
  real *unit = circle(n), *line = malloc((size_t)n * 2 * sizeof *line);
  for (int64_t t = 0; t < total / n; t++) {
    real *first = x + 2 * (t / inner * n * inner + t % inner);
    for (int64_t k = 0; k < n; k++) direct(first, inner, n, unit, k, inverse, line + 2 * k);
    for (int64_t k = 0; k < n; k++) memcpy(first + 2 * k * inner, line + 2 * k, 2 * sizeof *line);
  }
  free(unit), free(line);
}

typedef struct axes_case {
  int32_t rank, n_axes;
  int64_t shape[4], axes[4];
} axes_case;

static const axes_case cases[] = {
    {2, 2, {12, 20}, {0, 1}},
    {2, 2, {20, 12}, {1, 0}},
    {3, 3, {4, 6, 10}, {0, 1, 2}},
    {3, 1, {3, 5, 7}, {1}},
    {3, 2, {5, 16, 3}, {2, 1}},
    {4, 2, {2, 9, 3, 33}, {1, 3}},
    {4, 4, {3, 2, 4, 6}, {3, 1, 0, 2}},
    {2, 1, {8, 37}, {0}},
    {2, 1, {16, 100}, {0}},
    {3, 1, {2, 67, 19}, {1}},
    {2, 2, {74, 3}, {0, 1}},
    {3, 2, {1, 31, 18}, {1, 2}},
    {2, 1, {36, 17}, {0}},
    {2, 1, {1, 35}, {0}},
    {1, 1, {96}, {0}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* fft and ifft; rfft of the real parts; irfft of rfft's result is n times them. */
static void check_axes(int bytes, const axes_case *t, worst *w) {
  int64_t total = nxg_elements(t->rank, t->shape);
  for (int inverse = 0; inverse < 2; inverse++) {
    fft_call c = {.kind = inverse ? NXG_ifft : NXG_fft,
                  .dtype = dtype_of(NXG_fft, bytes),
                  .rank = t->rank,
                  .shape = t->shape,
                  .n_axes = t->n_axes,
                  .axes = t->axes};
    void *x = numbers(bytes, 2 * total), *y = run(&c, x);
    real *wide = widened(x, bytes, 2 * total);
    for (int32_t i = 0; i < t->n_axes; i++) sums_over(wide, t->shape, t->rank, t->axes[i], inverse);
    errors e = {0};
    for (int64_t i = 0; i < total; i++)
      add_error(&e, get(y, bytes, 2 * i), get(y, bytes, 2 * i + 1), wide + 2 * i);
    judge(&e, bytes, total, w);
    free(x), free(y), free(wide);
  }
}

static void check_real_axes(int bytes, const axes_case *t, worst *w) {
  int64_t total = nxg_elements(t->rank, t->shape), half[4], last = t->axes[t->n_axes - 1],
          scale = 1, inner = 1;
  memcpy(half, t->shape, sizeof half);
  half[last] = half[last] / 2 + 1;
  for (int32_t i = 0; i < t->n_axes; i++) scale *= t->shape[t->axes[i]];
  for (int64_t i = last + 1; i < t->rank; i++) inner *= t->shape[i];
  fft_call c = {.kind = NXG_rfft,
                .dtype = dtype_of(NXG_rfft, bytes),
                .rank = t->rank,
                .shape = t->shape,
                .n_axes = t->n_axes,
                .axes = t->axes};
  void *x = numbers(bytes, total), *y = run(&c, x);
  c.kind = NXG_irfft, c.dtype = dtype_of(NXG_irfft, bytes), c.shape = half, c.size = t->shape[last];
  void *z = run(&c, y);
  real *wide = calloc((size_t)total * 2, sizeof *wide);
  for (int64_t i = 0; i < total; i++) wide[2 * i] = get(x, bytes, i);
  for (int32_t i = 0; i < t->n_axes; i++) sums_over(wide, t->shape, t->rank, t->axes[i], false);
  errors e = {0}, back = {0};
  for (int64_t i = 0; i < nxg_elements(t->rank, half); i++) {
    int64_t outer = i / (half[last] * inner),
            at = outer * t->shape[last] * inner + i % (half[last] * inner);
    add_error(&e, get(y, bytes, 2 * i), get(y, bytes, 2 * i + 1), wide + 2 * at);
  }
  for (int64_t i = 0; i < total; i++)
    add_error(&back, get(z, bytes, i), 0, (real[2]){get(x, bytes, i) * (real)scale, 0});
  judge(&e, bytes, total, w);
  judge(&back, bytes, total, w);
  free(x), free(y), free(z), free(wide);
}

static void test_axes(void **state) {
  (void)state;
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    worst w = {0};
    for (int i = 0; i < N_CASES; i++)
      check_axes(bytes, &cases[i], &w), check_real_axes(bytes, &cases[i], &w);
    say("several axes", bytes, &w);
  }
}

/* ---- laws */

static double norm(const void *p, int bytes, int64_t reals) {
  real sum = 0;
  for (int64_t i = 0; i < reals; i++) sum += get(p, bytes, i) * get(p, bytes, i);
  return (double)sqrtl(sum);
}

static void check_laws(int bytes, int64_t n) {
  double eps = (bytes == F32 ? 0x1p-24 : 0x1p-53) * 3 * (log2((double)n) + 1);
  void *x = numbers(bytes, 2 * n), *y = numbers(bytes, 2 * n), *sum = room(2 * n * bytes);
  for (int64_t i = 0; i < 2 * n; i++) { /* few bits, so that the sum is exact */
    put(x, bytes, i, rintl(get(x, bytes, i) * 256) / 256),
        put(y, bytes, i, rintl(get(y, bytes, i) * 256) / 256);
    put(sum, bytes, i, get(x, bytes, i) + 2 * get(y, bytes, i));
  }
  void *fx = transform(NXG_fft, bytes, n, 0, x), *fy = transform(NXG_fft, bytes, n, 0, y);
  void *fs = transform(NXG_fft, bytes, n, 0, sum), *back = transform(NXG_ifft, bytes, n, 0, fx);
  double energy = norm(x, bytes, 2 * n) * sqrt((double)n);
  assert_true(fabs(norm(fx, bytes, 2 * n) / energy - 1) <= eps);
  for (int64_t i = 0; i < 2 * n; i++) {
    put(back, bytes, i, get(back, bytes, i) / (real)n - get(x, bytes, i));
    put(fs, bytes, i, get(fs, bytes, i) - get(fx, bytes, i) - 2 * get(fy, bytes, i));
  }
  assert_true(norm(back, bytes, 2 * n) <= 2 * eps * norm(x, bytes, 2 * n));
  assert_true(norm(fs, bytes, 2 * n) <= 4 * eps * energy);
  free(x), free(y), free(sum), free(fx), free(fy), free(fs), free(back);
}

/* One at place p transforms to the p-th powers of the root. */
static void check_impulse(int bytes, int64_t n, int64_t place) {
  double eps = (bytes == F32 ? 0x1p-24 : 0x1p-53) * 3 * (log2((double)n) + 1);
  void *x = calloc((size_t)n, 2 * (size_t)bytes);
  put(x, bytes, 2 * place, 1);
  void *y = transform(NXG_fft, bytes, n, 0, x);
  real *unit = circle(n);
  for (int64_t k = 0; k < n; k++) {
    const real *w = unit + 2 * (k * place % n);
    assert_true(fabsl(get(y, bytes, 2 * k) - w[0]) <= eps &&
                fabsl(get(y, bytes, 2 * k + 1) - w[1]) <= eps);
  }
  free(x), free(y), free(unit);
}

static void test_laws(void **state) {
  (void)state;
  for (int bytes = F32; bytes <= F64; bytes += 4) {
    for (int i = 0; i < N_LENGTHS; i++) check_laws(bytes, lengths[i]);
    for (int64_t n = 1; n <= 40; n++)
      for (int64_t place = 0; place < n; place++) check_impulse(bytes, n, place);
    check_impulse(bytes, 1 << 15, 12345);
    check_impulse(bytes, 10007, 10006);
  }
}

NXT_MAIN(fft) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_complex),
      cmocka_unit_test(test_real),
      cmocka_unit_test(test_axes),
      cmocka_unit_test(test_laws),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
