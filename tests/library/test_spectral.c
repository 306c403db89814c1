/* SPDX-License-Identifier: ISC */
/* eigh and svd of matrices that reductions and divide and conquer treat in a way of their own:
 * nothing to reduce, equal and neighbouring values, halves without a connection, large and small
 * numbers. Every residual and product of vectors is looked at, and eigenvalues are those that
 * LAPACK has without vectors, for the same matrix as a complex one. */
#include <string.h>

#include "linalg_util.h"
#include "runtime/library/linalg/spectral/secular.h"
#include "tests/util/runner.h"

typedef enum kind {
  ANY,
  ZERO,
  UNIT,
  DIAGONAL,
  ONES,        /* one value that is not 0 */
  TWO_BLOCKS,  /* of which one is the other */
  WILKINSON,   /* tridiagonal: pairs of values that agree to the last digits */
  GRADED,      /* from 1 to the rounding unit squared */
  LAPLACE,     /* tridiagonal, no two values equal */
  ALMOST_UNIT, /* all values equal but for some units of rounding */
  KINDS
} kind;

static double element_of(kind what, nx_dtype t, int64_t n, int64_t i, int64_t j) {
  const double middle = (double)(n - 1) / 2, x = (double)i;
  const bool beside = i - j == 1;
  switch (what) {
    case ANY: return next();
    case ZERO: return 0;
    case UNIT: return i == j;
    case DIAGONAL: return i == j ? (double)(7 * i % n) - middle : 0;
    case ONES: return 1;
    case TWO_BLOCKS: return i / ((n + 1) / 2) != j / ((n + 1) / 2) ? 0 : sin((double)(i + j));
    case WILKINSON: return i == j ? fabs(x - middle) : beside;
    case GRADED: return next() * pow(unit(t), 2 * x / (double)n);
    case LAPLACE: return i == j ? 2 : -beside;
    default: return (i == j) + next() * unit(t);
  }
}

/* With numbers that nobody may read above the diagonal, and whole, as a complex one. */
static matrices matrix_of(kind what, nx_dtype t, int64_t n, int power, matrices *whole) {
  matrices a = random_matrices(t, 1, n, n);
  *whole = random_matrices(NX_C128, 1, n, n);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) {
      if (i != j) set(&a, j * n + i, NAN);
      set(&a, i * n + j, ldexp(element_of(what, t, n, i, j), power));
      set(whole, i * n + j, get(&a, i * n + j));
      set(whole, j * n + i, get(&a, i * n + j));
    }
  return a;
}

/* x^T y, of rows of n numbers. */
static double *product(const double *x, const double *y, int64_t n) {
  double *p = calloc((size_t)(n * n), sizeof *p);
  for (int64_t k = 0; k < n; k++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) p[i * n + j] += x[k * n + i] * y[k * n + j];
  return p;
}

static double *numbers(const matrices *a, double by) {
  const int64_t n = nxg_elements(a->type.rank, a->type.shape);
  double *x = calloc((size_t)n, sizeof *x);
  if (!x || !a->data) abort();
  for (int64_t i = 0; i < n; i++) x[i] = creal(get(a, i)) * by;
  return x;
}

static void check(kind what, nx_dtype t, int64_t n, int power, manner how) {
  matrices whole, a = matrix_of(what, t, n, power, &whole);
  outcome o = call(NXG_eigh, NULL, &a, NULL, how), values = call(NXG_eigvalsh, NULL, &a, NULL, how),
          other = call(NXG_eigvalsh, NULL, &whole, NULL, how);
  assert_true(o.status == NX_OK && values.status == NX_OK && other.status == NX_OK);
  const double by = ldexp(1, -power);
  double *x = numbers(&whole, by), *v = numbers(&o.results[1], 1), *w = numbers(&o.results[0], by),
         *alone = numbers(&values.results[0], by), *wanted = numbers(&other.results[0], by),
         *xv = product(x, v, n), *vv = product(v, v, n);
  const double size = fmax(fabs(wanted[0]), fabs(wanted[n - 1])),
               bound = 10 * sqrt((double)n) * unit(t);
  for (int64_t i = 0; i < n; i++) {
    const bool off =
        fabs(w[i] - wanted[i]) > bound * size || fabs(alone[i] - wanted[i]) > bound * size;
    if (off || (i > 0 && w[i] < w[i - 1]))
      fail_msg("%d of %d, %lld: value %lld is %.17g, alone %.17g, not %.17g", (int)what, (int)t,
               (long long)n, (long long)i, w[i], alone[i], wanted[i]);
    for (int64_t j = 0; j < n; j++) {
      const double one = fabs(vv[i * n + j] - (i == j)),
                   left = fabs(xv[i * n + j] - v[i * n + j] * w[j]);
      if (!(one <= bound && left <= bound * size))
        fail_msg("%d of %d, %lld: at %lld, %lld off by %g and %g of %g", (int)what, (int)t,
                 (long long)n, (long long)i, (long long)j, one, left, size);
    }
  }
  free(x), free(v), free(w), free(alone), free(wanted), free(xv), free(vv);
  drop(&o), drop(&values), drop(&other), free(a.data), free(whole.data);
}

static void small_ones(void **state) {
  (void)state;
  for (kind what = ANY; what < KINDS; what++)
    for (int single = 0; single < 2; single++) {
      const nx_dtype t = single ? NX_F32 : NX_F64;
      for (int64_t n = 1; n <= 20; n++) check(what, t, n, 0, usual);
      for (int64_t n = 31; n <= 66; n += 5) check(what, t, n, 0, usual);
      check(what, t, 128, 0, usual);
      check(what, t, 129, 0, usual);
      for (int sign = -1; sign < 2; sign += 2)
        check(what, t, 21, sign * (single ? 110 : 990), usual);
    }
}

static void large_ones(void **state) {
  (void)state;
  for (kind what = ANY; what < KINDS; what++)
    for (int single = 0; single < 2; single++)
      check(what, single ? NX_F32 : NX_F64, 256 + single, (int)what % 3 * 20,
            single ? backwards : usual);
}

/* ---- singular values */

/* The same kinds of matrices, not symmetric, with `more` rows or (less than 0) columns. */
static matrices other_matrix(kind what, nx_dtype t, int64_t n, int64_t more, int power) {
  const int64_t rows = more > 0 ? n + more : n, columns = more < 0 ? n - more : n;
  matrices a = random_matrices(t, 1, rows, columns);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      const bool one_side = what == WILKINSON || what == LAPLACE;
      const double x = i < j && one_side ? 0 : element_of(what, t, n, i, j);
      set(&a, i * columns + j, ldexp(x, power));
    }
  return a;
}

/* x y of l x m and m x n */
static double *times(const double *x, const double *y, int64_t l, int64_t m, int64_t n) {
  double *p = calloc((size_t)(l * n), sizeof *p);
  for (int64_t i = 0; i < l; i++)
    for (int64_t k = 0; k < m; k++)
      for (int64_t j = 0; j < n; j++) p[i * n + j] += x[i * m + k] * y[k * n + j];
  return p;
}

static double off_unit(const double *p, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < n * n; i++) most = fmax(most, fabs(p[i] - (i / n == i % n)));
  return most;
}

static void check_svd(kind what, nx_dtype t, int64_t n, int64_t more, int power, manner how) {
  const int64_t rows = more > 0 ? n + more : n, columns = more < 0 ? n - more : n;
  matrices a = other_matrix(what, t, n, more, power);
  outcome o = call(NXG_svd, NULL, &a, NULL, how);
  assert_int_equal(o.status, NX_OK);
  /* of ones, all reflections are nearly the same, and so are their roundings */
  const double by = ldexp(1, -power), bound = (what == ONES ? 20 : 10) * sqrt((double)n) * unit(t);
  double *x = numbers(&a, by), *u = numbers(&o.results[0], 1), *s = numbers(&o.results[1], by),
         *v = numbers(&o.results[2], 1), *uu = calloc((size_t)(n * n), sizeof *uu),
         *vv = calloc((size_t)(n * n), sizeof *vv);
  for (int64_t k = 0; k < rows; k++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++) uu[i * n + j] += u[k * n + i] * u[k * n + j];
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t k = 0; k < columns; k++)
        vv[i * n + j] += v[i * columns + k] * v[j * columns + k];
  for (int64_t i = 0; i < rows * n; i++) u[i] *= s[i % n];
  double *p = times(u, v, rows, n, columns), left = 0;
  for (int64_t i = 0; i < rows * columns; i++) left = fmax(left, fabs(p[i] - x[i]));
  bool in_order = s[n - 1] >= 0;
  for (int64_t i = 1; i < n; i++) in_order = in_order && s[i] <= s[i - 1];
  if (!(in_order && off_unit(uu, n) <= bound && off_unit(vv, n) <= bound && left <= bound * s[0]))
    fail_msg("%d of %d, %lld and %lld: off by %g, %g, and %g of %g", (int)what, (int)t,
             (long long)n, (long long)more, off_unit(uu, n), off_unit(vv, n), left, s[0]);
  free(x), free(u), free(s), free(v), free(uu), free(vv), free(p);
  drop(&o), free(a.data);
}

static void small_svds(void **state) {
  (void)state;
  for (kind what = ANY; what < KINDS; what++)
    for (int single = 0; single < 2; single++) {
      const nx_dtype t = single ? NX_F32 : NX_F64;
      for (int64_t n = 1; n <= 60; n += n < 40 ? 13 : 5) check_svd(what, t, n, n % 3 - 1, 0, usual);
      check_svd(what, t, 100, single ? -20 : 20, what % 2 ? 30 : -30, backwards);
    }
}

static void large_svds(void **state) {
  (void)state;
  for (kind what = ANY; what < KINDS; what++)
    for (int single = 0; single < 2; single++)
      check_svd(what, single ? NX_F32 : NX_F64, 256 + single,
                what == ANY ? 17 : (int)what % 2 * -17, (int)what % 3 * 20,
                single ? backwards : usual);
}

/* ---- roots of the secular equation, which is computed in long double */

enum { POLES = 70 };

/* The equation at a distance from pole number `from`, and the magnitudes of its terms. */
static long double secular(const nxi_secular *s, int from, long double at, long double *size) {
  long double sum = *size = s->inverse;
  for (int i = 0; i < s->k; i++) {
    const long double d = s->d[i], o = s->d[from], pole = s->squares ? (d - o) * (d + o) : d - o;
    const long double term = (long double)s->z[i] * s->z[i] / (pole - at);
    sum += term;
    *size += fabsl(term) * (1 + fabsl(at / (pole - at)));
  }
  return sum;
}

static void expect_root(const nxi_secular *s, int j) {
  double root, found[POLES];
  assert_true(nxi_secular_root(s, j, &root, found));
  const bool next = j + 1 < s->k && fabs(found[j + 1]) < fabs(found[j]);
  const int from = j + next;
  const long double at = -(long double)found[from];
  long double size, rest = secular(s, from, at, &size);
  assert_true((next ? at < 0 : at > 0) && fabsl(rest) <= size * 0x1p-48L);
  for (int i = 0; i < s->k; i++) {
    const long double d = s->d[i], o = s->d[from],
                      wanted = (s->squares ? (d - o) * (d + o) : d - o) - at;
    if (fabsl(found[i] - wanted) > fabsl(wanted) * 0x1p-48L)
      fail_msg("root %d of %d: difference %d is %g, not %Lg", j, s->k, i, found[i], wanted);
  }
  const long double o = s->d[from], wanted = s->squares ? sqrtl(o * o + at) : o + at;
  assert_true(fabsl(root - wanted) <= 4 * 0x1p-53L * fabsl(wanted) + 0x1p-1000L);
}

/* Poles of all distances from 1 to 2^-40, and weights from 1 to 2^-50. */
static void secular_roots(void **state) {
  (void)state;
  static const int counts[] = {1, 2, 3, 5, 17, POLES};
  for (size_t c = 0; c < 6; c++)
    for (int form = 0; form < 8; form++) {
      double d[POLES], z[POLES], room[POLES], size = 0, at = form & 1 ? 0 : -1;
      const int k = counts[c];
      for (int i = 0; i < k; i++) {
        d[i] = at;
        at += ldexp(1.5 + next() / 2, form & 2 ? -(7 * i % 40) : -3);
        z[i] = ldexp(1.5 + next() / 2, form & 4 ? -(11 * i % 50) : 0) * (i % 2 ? 1 : -1);
        size += z[i] * z[i];
      }
      for (int i = 0; i < k; i++) z[i] /= sqrt(size);
      const nxi_secular s = {k, form & 1, form & 4 ? 3 : 0.01, d, z, room};
      for (int j = 0; j < k; j++) expect_root(&s, j);
    }
}

NXT_MAIN(spectral) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(small_ones), cmocka_unit_test(large_ones),
                                     cmocka_unit_test(small_svds), cmocka_unit_test(large_svds),
                                     cmocka_unit_test(secular_roots)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
