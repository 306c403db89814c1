/* SPDX-License-Identifier: ISC */
/* eig, eig_left and eigvals of real matrices, small ones and those large enough to be cut into
 * tasks: values and vectors against their definition, of matrices of many kinds; the same bits in
 * whatever order tasks run, alone and in a batch; failures; stops between any two tasks. */
#include <string.h>

#include "linalg_util.h"
#include "tests/util/runner.h"

enum { LEAST = 128, MANY = 9 };

/* ---- kinds of matrices, n x n */

typedef void (*filler)(int64_t n, double *a);

static void fill_random(int64_t n, double *a) {
  for (int64_t i = 0; i < n * n; i++) a[i] = next();
}
static void fill_symmetric(int64_t n, double *a) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = next();
}
static void fill_zero(int64_t n, double *a) { memset(a, 0, (size_t)(n * n) * sizeof *a); }
static void fill_unit(int64_t n, double *a) {
  fill_zero(n, a);
  for (int64_t i = 0; i < n; i++) a[i * n + i] = 1;
}
/* A product of reflections: all values are of size 1. */
static void fill_orthogonal(int64_t n, double *a) {
  double *v = malloc((size_t)n * sizeof *v);
  fill_unit(n, a);
  for (int k = 0; k < 5; k++) {
    double square = 0;
    for (int64_t i = 0; i < n; i++) v[i] = next();
    for (int64_t i = 0; i < n; i++) square += v[i] * v[i];
    for (int64_t i = 0; i < n; i++) {
      double sum = 0;
      for (int64_t j = 0; j < n; j++) sum += a[i * n + j] * v[j];
      for (int64_t j = 0; j < n; j++) a[i * n + j] -= 2 * sum / square * v[j];
    }
  }
  free(v);
}
static void fill_shift(int64_t n, double *a) { /* the roots of 1 */
  fill_zero(n, a);
  for (int64_t i = 0; i < n; i++) a[i * n + (i + 1) % n] = 1;
}
static void fill_nilpotent(int64_t n, double *a) {
  fill_zero(n, a);
  for (int64_t i = 0; i + 1 < n; i++) a[i * n + i + 1] = 1;
}
/* Blocks of Jordan of 2, 3, .. rows, turned by one reflection. */
static void fill_defective(int64_t n, double *a) {
  double *v = malloc((size_t)n * sizeof *v), square = 0;
  fill_zero(n, a);
  for (int64_t i = 0, length = 2, k = 0; i < n; i++) {
    a[i * n + i] = (double)(length % 7);
    if (++k == length) k = 0, length++;
    else if (i + 1 < n) a[i * n + i + 1] = 1;
  }
  for (int64_t i = 0; i < n; i++) v[i] = next();
  for (int64_t i = 0; i < n; i++) square += v[i] * v[i];
  for (int side = 0; side < 2; side++)
    for (int64_t i = 0; i < n; i++) {
      const int64_t row = side ? 1 : n, step = side ? n : 1;
      double sum = 0;
      for (int64_t j = 0; j < n; j++) sum += a[i * row + j * step] * v[j];
      for (int64_t j = 0; j < n; j++) a[i * row + j * step] -= 2 * sum / square * v[j];
    }
  free(v);
}
static void fill_companion(int64_t n, double *a) {
  fill_zero(n, a);
  for (int64_t i = 0; i + 1 < n; i++) a[(i + 1) * n + i] = 1;
  for (int64_t i = 0; i < n; i++) a[i * n + n - 1] = next();
}
static void fill_graded(int64_t n, double *a) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      a[i * n + j] = next() * exp2(-40.0 * (double)(i + j) / (double)n);
}
/* What balancing has to move, and to scale. */
static void fill_unbalanced(int64_t n, double *a) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const int64_t p = i * 37 % n, q = j * 37 % n;
      a[i * n + j] = q < p && (p < n / 4 || q >= n - 20) ? 0 : ldexp(next(), (int)((p - q) % 9));
    }
}
/* Triangular, with values that are the same and vectors that grow. */
static void fill_triangular(int64_t n, double *a) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++)
      a[i * n + j] = i > j ? 0 : i == j ? (double)(i % 3) : 10 * next();
}
/* Parts of one, two, three, .. rows. */
static void fill_blocks(int64_t n, double *a) {
  fill_zero(n, a);
  for (int64_t first = 0, length = 1; first < n; first += length++)
    for (int64_t i = first; i < n && i < first + length; i++)
      for (int64_t j = first; j < n && j < first + length; j++) a[i * n + j] = next();
}
static void fill_large(int64_t n, double *a) {
  for (int64_t i = 0; i < n * n; i++) a[i] = ldexp(next(), 1000);
}
static void fill_tiny(int64_t n, double *a) {
  for (int64_t i = 0; i < n * n; i++) a[i] = ldexp(next(), -1000);
}

static const struct {
  const char *name;
  filler fill;
  double looser; /* by how much the vectors' lengths differ after balancing is undone */
} kinds[] = {{"random", fill_random, 1},
             {"symmetric", fill_symmetric, 1},
             {"zero", fill_zero, 1},
             {"unit", fill_unit, 1},
             {"orthogonal", fill_orthogonal, 1},
             {"shift", fill_shift, 1},
             {"nilpotent", fill_nilpotent, 1},
             {"defective", fill_defective, 1},
             {"companion", fill_companion, 1},
             {"graded", fill_graded, 1},
             {"unbalanced", fill_unbalanced, 100},
             {"triangular", fill_triangular, 1},
             {"blocks", fill_blocks, 1},
             {"large", fill_large, 1},
             {"tiny", fill_tiny, 1}};

static matrices filled(filler fill, int64_t n) {
  matrices a = room((nxg_array){.dtype = NX_F64, .rank = 3, .shape = {1, n, n}});
  fill(n, a.data);
  return a;
}

/* ---- checks. All numbers are scaled by the largest element. */

static double largest_of(const double *a, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; i++) largest = fmax(largest, fabs(a[i]));
  return largest > 0 ? largest : 1;
}

/* The largest size of A v - w v over the vectors v, columns of length 1; of A^T and conjugate
 * values for left ones. */
static double residual(const double *a, int64_t n, double scale, const cd *w, const cd *v,
                       bool left) {
  double worst = 0;
  cd *x = malloc((size_t)n * sizeof *x);
  for (int64_t k = 0; k < n; k++) {
    const cd value = (left ? conj(w[k]) : w[k]) / scale;
    double length = 0, error = 0;
    for (int64_t i = 0; i < n; i++) x[i] = -value * v[i * n + k];
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        x[i] += (left ? a[j * n + i] : a[i * n + j]) / scale * v[j * n + k];
    for (int64_t i = 0; i < n; i++) {
      length += creal(v[i * n + k] * conj(v[i * n + k]));
      error += creal(x[i] * conj(x[i]));
    }
    assert_true(fabs(length - 1) < 1e-12);
    worst = fmax(worst, sqrt(error));
  }
  free(x);
  return worst;
}

static double frobenius(const double *a, int64_t n, double scale) {
  double sum = 0;
  for (int64_t i = 0; i < n * n; i++) sum += a[i] / scale * (a[i] / scale);
  return sqrt(sum);
}

/* Values of a real matrix are real or come in pairs, of which the positive one is first; their sum
 * is the trace. */
static void check_values(const double *a, int64_t n, double scale, double bound, const cd *w) {
  double trace = 0, sum = 0;
  for (int64_t k = 0; k < n; k++) {
    trace += a[k * n + k] / scale;
    sum += creal(w[k]) / scale;
    if (cimag(w[k]) == 0) continue;
    assert_true(cimag(w[k]) > 0 && k + 1 < n && w[k + 1] == conj(w[k]));
    sum += creal(w[++k]) / scale;
    trace += a[k * n + k] / scale;
  }
  assert_true(fabs(trace - sum) <= bound * (double)n);
}

static void check(size_t kind, int64_t n, manner how) {
  matrices a = filled(kinds[kind].fill, n);
  const double *data = a.data, scale = largest_of(data, n * n),
               bound = 10 * sqrt((double)n) * unit(NX_F64) * (frobenius(data, n, scale) + 1);
  outcome o = call(NXG_eig, NULL, &a, NULL, how), left = call(NXG_eig_left, NULL, &a, NULL, how),
          alone = call(NXG_eigvals, NULL, &a, NULL, how);
  assert_true(o.status == NX_OK && left.status == NX_OK && alone.status == NX_OK);
  const double right_error = residual(data, n, scale, o.results[0].data, o.results[1].data, false),
               left_error =
                   residual(data, n, scale, left.results[0].data, left.results[1].data, true);
  if (!(right_error <= bound * kinds[kind].looser && left_error <= bound * kinds[kind].looser))
    fail_msg("%s %d: off by %g, %g, more than %g", kinds[kind].name, (int)n, right_error,
             left_error, bound);
  check_values(data, n, scale, bound, o.results[0].data);
  check_values(data, n, scale, bound, alone.results[0].data);
  assert_memory_equal(o.results[0].data, left.results[0].data, (size_t)n * sizeof(cd));
  assert_memory_equal(o.results[1].data, left.results[2].data, (size_t)(n * n) * sizeof(cd));
  drop(&o), drop(&left), drop(&alone), free(a.data);
}

static void definition(void **state) {
  (void)state;
  static const int64_t sizes[] = {LEAST, 150, 193, 256, 300, 1, 2, 3, 4, 7, 8, 13, 33, 64, 65, 127};
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
      check(kind, sizes[i], i & 1 ? backwards : usual);
  check(0, 700, backwards);
}

/* Values that are known: the diagonal of a triangular matrix, and roots of 1. */
static void values(void **state) {
  (void)state;
  enum { N = 200 };
  matrices a = filled(fill_triangular, N);
  outcome o = call(NXG_eigvals, NULL, &a, NULL, usual);
  int counts[3] = {0};
  for (int k = 0; k < N; k++) {
    const cd w = get(&o.results[0], k);
    assert_true(cimag(w) == 0 && (creal(w) == 0 || creal(w) == 1 || creal(w) == 2));
    counts[(int)creal(w)]++;
  }
  assert_true(counts[0] == 67 && counts[1] == 67 && counts[2] == 66);
  drop(&o), free(a.data);
  a = filled(fill_shift, N);
  o = call(NXG_eigvals, NULL, &a, NULL, usual);
  bool found[N] = {false};
  for (int k = 0; k < N; k++) {
    const cd w = get(&o.results[0], k);
    const double turns = carg(w) / (2 * 3.14159265358979323846) * (double)N;
    assert_true(fabs(cabs(w) - 1) < 1e-12 && fabs(turns - rint(turns)) < 1e-9);
    found[((int)rint(turns) + N) % N] = true;
  }
  for (int k = 0; k < N; k++) assert_true(found[k]);
  drop(&o), free(a.data);
}

/* ---- order of tasks, batches, stops */

static void expect_part(const outcome *one, const outcome *all, int64_t which) {
  for (int i = 0; i < NXG_CALL_RESULTS && one->results[i].data; i++) {
    const size_t bytes = bytes_of(&one->results[i].type);
    assert_memory_equal(one->results[i].data, (char *)all->results[i].data + (size_t)which * bytes,
                        bytes);
  }
}

static void stops(nxg_op op, const matrices *a, const outcome *whole) {
  for (int64_t after = 0; after < whole->tasks; after += 1 + whole->tasks / 9) {
    outcome o = call(op, NULL, a, NULL, (manner){false, after});
    assert_int_equal(o.status, NX_OK); /* whatever it has done; the run is over elsewhere */
    drop(&o);
  }
}

static void same_bits(void **state) {
  (void)state;
  static const nxg_op ops[] = {NXG_eig, NXG_eig_left, NXG_eigvals};
  for (int i = 0; i < 3; i++) {
    const int64_t n = i == 0 ? 301 : 200;
    matrices a = random_matrices(NX_F64, MANY, n, n);
    outcome all = call(ops[i], NULL, &a, NULL, usual);
    assert_int_equal(all.status, NX_OK);
    for (int64_t k = 0; k < MANY; k += 4) {
      matrices one = room((nxg_array){.dtype = NX_F64, .rank = 3, .shape = {1, n, n}});
      memcpy(one.data, (double *)a.data + k * n * n, (size_t)(n * n) * sizeof(double));
      outcome first = call(ops[i], NULL, &one, NULL, usual),
              second = call(ops[i], NULL, &one, NULL, backwards);
      assert_true(first.tasks > n);
      expect_part(&first, &all, k);
      expect_part(&second, &all, k);
      if (k == 0) stops(ops[i], &one, &first);
      drop(&first), drop(&second), free(one.data);
    }
    stops(ops[i], &a, &all);
    drop(&all), free(a.data);
  }
}

/* Small matrices of a batch share scratch memory, and leave nothing in it: of each kind first one
 * that fills it. */
static void small_batches(void **state) {
  (void)state;
  static const nxg_op ops[] = {NXG_eig, NXG_eig_left, NXG_eigvals};
  static const int64_t sizes[] = {1, 2, 9, 33, 64, LEAST - 1};
  const int64_t count = 2 * (int64_t)(sizeof kinds / sizeof *kinds);
  for (size_t i = 0; i < 3 * sizeof sizes / sizeof *sizes; i++) {
    const int64_t n = sizes[i / 3];
    matrices a = random_matrices(NX_F64, count, n, n);
    for (int64_t k = 1; k < count; k += 2) kinds[k / 2].fill(n, (double *)a.data + k * n * n);
    outcome all = call(ops[i % 3], NULL, &a, NULL, usual);
    assert_int_equal(all.status, NX_OK);
    for (int64_t k = 0; k < count; k++) {
      matrices one = room((nxg_array){.dtype = NX_F64, .rank = 3, .shape = {1, n, n}});
      memcpy(one.data, (double *)a.data + k * n * n, (size_t)(n * n) * sizeof(double));
      outcome alone = call(ops[i % 3], NULL, &one, NULL, usual);
      expect_part(&alone, &all, k);
      drop(&alone), free(one.data);
    }
    drop(&all), free(a.data);
  }
}

static void not_finite(void **state) {
  (void)state;
  for (int64_t i = 0; i < 4; i++) {
    const int64_t batch = i & 1 ? 12 : 4, n = i & 2 ? 20 : LEAST;
    matrices a = random_matrices(NX_F64, batch, n, n);
    for (int64_t k = 2; k < 4; k++) set(&a, k * n * n + 10 * n + 7, k == 2 ? NAN : INFINITY);
    outcome o = call(NXG_eig, NULL, &a, NULL, usual);
    assert_int_equal(o.status, NX_NO_CONVERGENCE);
    assert_int_equal(o.index, 2);
    drop(&o), free(a.data);
  }
}

NXT_MAIN(eig) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(definition), cmocka_unit_test(values),
                                     cmocka_unit_test(same_bits), cmocka_unit_test(small_batches),
                                     cmocka_unit_test(not_finite)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
