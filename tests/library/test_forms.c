/* SPDX-License-Identifier: ISC */
/* Solving with bands, updates of factors, reductions to simpler forms, generalised eigenproblems,
 * and functions of matrices: against their definitions, by products computed here in double, and
 * exact values where there are some. */
#include "matrix_util.h"

#include "runtime/library/linalg/lapack.h"

static const int64_t sizes[] = {0, 1, 2, 3, 5, 8, 20};
enum { SIZES = sizeof sizes / sizeof *sizes };
#define EACH_SIZE                     \
  for (int ti = 0; ti < DTYPES; ti++) \
    for (int si = 0; si < SIZES; si++)
#define SIZE                     \
  const nx_dtype t = dtypes[ti]; \
  const int64_t n = sizes[si];   \
  const double bound = 50 * (double)(n + 1)

static host read3(nx_tensor *x) {
  assert_int_equal(nx_rank(x), 3);
  return read_host(x);
}

/* ---- bands */

static host dense_of(const host *bands, int64_t below, int64_t above) {
  const int64_t n = bands->columns;
  host a = host_of(bands->batch, n, n);
  for (int64_t b = 0; b < bands->batch; b++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < n; j++)
        if (i - j <= below && j - i <= above)
          a.at[(b * n + i) * n + j] = bands->at[(b * bands->rows + above + i - j) * n + j];
  return a;
}

static void bands(void **state) {
  (void)state;
  static const int64_t widths[][2] = {{0, 0}, {1, 1}, {2, 0}, {0, 2}, {1, 2}, {3, 1}};
  EACH_SIZE {
    SIZE;
    for (int w = 0; w < 6; w++) {
      const int64_t below = widths[w][0], above = widths[w][1], rows = below + above + 1;
      host d = random_host(t, 2, rows, n, 0);
      for (int64_t i = 0; i < 2 * rows * n; i++) {
        const int64_t r = i / n % rows, j = i % n, row = j + r - above;
        if (row < 0 || row >= n) d.at[i] = NAN; /* must not be read */
        else if (r == above) d.at[i] += 3;
      }
      const host b = random_host(t, 2, n, 3, 0), a = dense_of(&d, below, above),
                 x = read3(
                     GOOD(nx_banded_solve(tensor_of(t, &d), below, above, tensor_of(t, &b), 0))),
                 is = times(&a, &x);
      NEAR(t, &is, &b, bound * (1 + size_of(&x)));
    }
  }
}

/* Pivots are needed: zeros on the diagonal. And a batch with a singular matrix. */
static void tridiagonal(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    const host low = random_host(t, 2, n, 1, 0), middle = random_host(t, 2, n, 1, 0),
               high = random_host(t, 2, n, 1, 0), b = random_host(t, 1, n, 2, 0),
               a = host_of(2, n, n), all = host_of(2, n, 2);
    nx_tensor *d[3];
    const host *of[3] = {&low, &middle, &high};
    for (int64_t k = 0; k < 2 * n; k++) {
      const int64_t i = k % n;
      if (i % 3 == 1) middle.at[k] = 0;
      a.at[k * n + i] = middle.at[k];
      if (i > 0) a.at[k * n + i - 1] = low.at[k];
      else low.at[k] = NAN;
      if (i < n - 1) a.at[k * n + i + 1] = high.at[k];
      else high.at[k] = NAN;
      for (int j = 0; j < 2; j++) all.at[2 * k + j] = b.at[2 * i + j];
    }
    if (n == 2) continue; /* its last pivot may be as small as it likes */
    for (int i = 0; i < 3; i++) d[i] = GOOD(nx_reshape(tensor_of(t, of[i]), NX_SHAPE(2, n), 0));
    const host x = read3(GOOD(nx_tridiagonal_solve(d[0], d[1], d[2], tensor_of(t, &b), 0))),
               is = times(&a, &x);
    NEAR(t, &is, &all, 20 * bound * (1 + size_of(&x)));
  }
  const float lines[2][3] = {{0, 0, 0}, {2, 2, 2}};
  float x[2][3];
  nx_tensor *zero = GOOD(nx_from_data(ctx, 0, NX_F32, NX_SHAPE(2, 3), lines, sizeof lines)),
            *none = GOOD(nx_mul(zero, number(0))), *one = GOOD(nx_add(none, number(1)));
  nx_tensor *bad = GOOD(nx_tridiagonal_solve(none, zero, none, one, NX_VECTORS));
  FAILS(NX_SINGULAR, nx_realize(ctx, &bad, 1, NULL));
  OK(nx_read(GOOD(nx_tridiagonal_solve(none, zero, none, one, NX_VECTORS | NX_NAN_ON_FAILURE)), x,
             sizeof x, NULL));
  for (int i = 0; i < 3; i++) assert_true(isnan(x[0][i]) && x[1][i] == 0.5F);
}

/* ---- triangles */

static void triangular_inverse(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    for (uint32_t form = 0; form < 4; form++) {
      const bool upper = form & 1, ones = form & 2;
      const host a = random_host(t, 2, n, n, ones ? 0 : 3),
                 kept = band(&a, upper ? 0 : -n, upper ? n : 0, ones),
                 x = read3(GOOD(nx_triangular_inv(
                     tensor_of(t, &a), (upper ? NX_UPPER : 0) | (ones ? NX_UNIT_DIAGONAL : 0)))),
                 is = times(&kept, &x), one = one_of(2, n);
      NEAR(t, &is, &one, bound * (1 + size_of(&x)) * (1 + size_of(&kept)));
      const host rest = band(&x, upper ? -n : 1, upper ? -1 : n, false);
      assert_true(size_of(&rest) == 0);
    }
  }
}

/* The factor of A + w w^H, from that of A. */
static void update(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    for (uint32_t upper = 0; upper < 2; upper++) {
      const host a = random_host(t, 2, n, n, 3), w = random_host(t, 2, n, 1, 0),
                 low = band(&a, -n, 0, false), up = adjoint(&low);
      for (int64_t i = 0; i < 2 * n; i++) {
        low.at[i * n + i % n] = creal(low.at[i * n + i % n]);
        up.at[i * n + i % n] = creal(up.at[i * n + i % n]);
      }
      const host junk = random_host(t, 2, n, n, 0), given = host_of(2, n, n), wh = adjoint(&w);
      for (int64_t i = 0; i < 2 * n * n; i++) { /* what is not read */
        const bool mine = upper ? i % n >= i / n % n : i % n <= i / n % n;
        given.at[i] = mine ? (upper ? up : low).at[i] : junk.at[i];
      }
      nx_tensor *side = GOOD(nx_reshape(tensor_of(t, &w), NX_SHAPE(2, n), 0));
      const host x = read3(
                     GOOD(nx_cholesky_update(tensor_of(t, &given), side, upper ? NX_UPPER : 0))),
                 xh = adjoint(&x), is = upper ? times(&xh, &x) : times(&x, &xh),
                 before = times(&low, &up), ww = times(&w, &wh);
      for (int64_t i = 0; i < 2 * n * n; i++) before.at[i] += ww.at[i];
      NEAR(t, &is, &before, bound);
      const host rest = band(&x, upper ? -n : 1, upper ? -1 : n, false);
      assert_true(size_of(&rest) == 0);
      for (int64_t i = 0; i < 2 * n; i++) assert_true(creal(x.at[i * n + i % n]) >= 0);
    }
  }
}

/* ---- forms */

static void expect_unitary(nx_dtype t, const host *q, double bound) {
  const host back = adjoint(q), is = times(&back, q), one = one_of(q->batch, q->columns);
  NEAR(t, &is, &one, bound);
}
/* A = Z T Z^H. */
static void expect_form(nx_dtype t, const host *a, const host *z, const host *form, double bound) {
  const host back = adjoint(z), zt = times(z, form), is = times(&zt, &back);
  NEAR(t, &is, a, bound);
  expect_unitary(t, z, bound);
}

static void schur(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    const host a = random_host(t, 2, n, n, 0);
    nx_tensor *form, *z;
    OK(nx_schur(tensor_of(t, &a), 0, &form, &z));
    const host s = read3(form), v = read3(z), low = band(&s, -n, is_pair(t) ? -1 : -2, false);
    expect_form(t, &a, &v, &s, bound);
    assert_true(size_of(&low) == 0);
  }
  const host a = random_host(NX_F32, 2, 4, 4, 0);
  nx_tensor *form;
  OK(nx_schur(GOOD(nx_cast(tensor_of(NX_F32, &a), NX_BF16)), 0, &form, NULL));
  assert_int_equal(nx_dtype_of(form), NX_BF16);
  OK(nx_realize(ctx, &form, 1, NULL));
}

static void hessenberg(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    const host a = random_host(t, 2, n, n, 0);
    nx_tensor *h, *q;
    OK(nx_hessenberg(tensor_of(t, &a), &h, &q));
    const host form = read3(h), v = read3(q), low = band(&form, -n, -2, false);
    expect_form(t, &a, &v, &form, bound);
    assert_true(size_of(&low) == 0);
  }
}

/* Q of the reflections below the diagonal (that is gehrd's, too), and T of the two diagonals. */
static void tridiagonal_form(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    host a = random_host(t, 2, n, n, 0), whole = adjoint(&a);
    for (int64_t i = 0; i < 2 * n * n; i++) {
      if (i % n == i / n % n) whole.at[i] = a.at[i] = creal(a.at[i]);
      else if (i % n < i / n % n) whole.at[i] = a.at[i];
    }
    if (n < 2) continue;
    nx_tensor *packed, *d, *e, *tau;
    OK(nx_sytrd(tensor_of(t, &a), 0, &packed, &d, &e, &tau));
    assert_true(nx_dtype_of(d) == (is_single(t) ? NX_F32 : NX_F64));
    const host middle = read_host(d), beside = read_host(e), form = host_of(2, n, n);
    for (int64_t i = 0; i < 2 * n; i++) {
      form.at[i * n + i % n] = middle.at[i];
      if (i % n == n - 1) continue;
      form.at[i * n + i % n + 1] = form.at[(i + 1) * n + i % n] =
          beside.at[i / n * (n - 1) + i % n];
    }
    nx_tensor *part = GOOD(nx_shrink(packed, (int64_t[]){0, 1, 0}, (int64_t[]){2, n, n - 1}, 3));
    const host q = read3(GOOD(nx_householder_product(part, tau))), z = host_of(2, n, n);
    for (int64_t b = 0; b < 2; b++) z.at[b * n * n] = 1;
    for (int64_t i = 0; i < 2 * (n - 1) * (n - 1); i++) {
      const int64_t b = i / ((n - 1) * (n - 1)), r = i / (n - 1) % (n - 1), c = i % (n - 1);
      z.at[(b * n + r + 1) * n + c + 1] = q.at[i];
    }
    expect_form(t, &whole, &z, &form, bound);
    nx_tensor
        *other; /* with the upper triangle: the same eigenvalues, of which the sum is looked at */
    OK(nx_sytrd(tensor_of(t, &whole), NX_UPPER, NULL, &other, NULL, NULL));
    const host diagonal = read_host(other);
    cd sum = 0;
    for (int64_t i = 0; i < n; i++) sum += diagonal.at[i] - middle.at[i];
    assert_true(cabs(sum) <= bound * unit(t) * (1 + size_of(&whole)));
  }
  const host none = host_of(2, 0, 0), one = random_host(NX_F64, 2, 1, 1, 0);
  nx_tensor *d, *e;
  OK(nx_sytrd(tensor_of(NX_F64, &none), 0, NULL, &d, &e, NULL));
  assert_true(nx_shape(d)[1] == 0 && nx_shape(e)[1] == 0);
  OK(nx_sytrd(tensor_of(NX_F64, &one), 0, NULL, &d, &e, NULL));
  const host middle = read_host(d);
  assert_true(middle.at[1] == one.at[1] && nx_shape(e)[1] == 0);
}

/* ---- eigenproblems */

static void left_vectors(void **state) {
  (void)state;
  for (int ti = 0; ti < DTYPES; ti++)
    for (int si = 0; si < SIZES; si++) {
      const nx_dtype t = dtypes[ti];
      const int64_t n = sizes[si];
      const host a = random_host(t, 2, n, n, 0);
      nx_tensor *values, *left, *right, *alone, *vectors;
      OK(nx_eig_left(tensor_of(t, &a), 0, &values, &left, &right));
      OK(nx_eig(tensor_of(t, &a), &alone, &vectors));
      const host w = read_host(values), u = read3(left), v = read3(right), uh = adjoint(&u),
                 ua = times(&uh, &a), av = times(&a, &v), wu = host_of(2, n, n),
                 vw = host_of(2, n, n);
      for (int64_t i = 0; i < 2 * n * n; i++) {
        wu.at[i] = uh.at[i] * w.at[i / n];
        vw.at[i] = v.at[i] * w.at[i / (n * n) * n + i % n];
      }
      NEAR(NX_F64, &ua, &wu, 100 * (double)(n + 1));
      NEAR(NX_F64, &av, &vw, 100 * (double)(n + 1));
      const host values_alone = read_host(alone);
      NEAR(NX_F64, &values_alone, &w, 1000 * (double)(n + 1));
    }
}

static void generalized(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    for (int type = 1; type <= 3; type++) {
      const host x = random_host(t, 2, n, n, 0), xh = adjoint(&x), c = random_host(t, 2, n, n, 1),
                 ch = adjoint(&c), b = times(&c, &ch), a = host_of(2, n, n);
      for (int64_t i = 0; i < 2 * n * n; i++) {
        a.at[i] = x.at[i] + xh.at[i];
        if (i % n == i / n % n) b.at[i] += 2;
      }
      host low_a = band(&a, -n, 0, false), low_b = band(&b, -n, 0, false);
      nx_tensor *values, *vectors;
      OK(nx_eigh_generalized(tensor_of(t, &low_a), tensor_of(t, &low_b), type, 0, &values,
                             &vectors));
      const host w = read_host(values), v = read3(vectors), bv = times(&b, &v), av = times(&a, &v),
                 left = type == 1   ? av
                        : type == 2 ? times(&a, &bv)
                                    : times(&b, &av),
                 right = host_of(2, n, n), vh = adjoint(&v), norm = times(&vh, &bv),
                 one = one_of(2, n);
      for (int64_t i = 0; i < 2 * n * n; i++)
        right.at[i] = (type == 1 ? bv : v).at[i] * w.at[i / (n * n) * n + i % n];
      NEAR(t, &left, &right, 50 * bound * (1 + size_of(&b)));
      if (type < 3) NEAR(t, &norm, &one, 50 * bound);
      for (int64_t i = 1; i < 2 * n; i++)
        assert_true(i % n == 0 || creal(w.at[i]) >= creal(w.at[i - 1]));
    }
  }
  /* what is not definite is said of this operation, or NaN */
  const host a = one_of(2, 3), b = one_of(2, 3);
  b.at[9 + 4] = -1;
  nx_tensor *values, *vectors;
  OK(nx_eigh_generalized(tensor_of(NX_F64, &a), tensor_of(NX_F64, &b), 1, 0, &values, NULL));
  FAILS(NX_NOT_POSITIVE_DEFINITE, nx_realize(ctx, &values, 1, NULL));
  OK(nx_eigh_generalized(tensor_of(NX_F32, &a), tensor_of(NX_F32, &b), 2,
                         NX_NAN_ON_FAILURE | NX_INPUT_PRECISION, &values, &vectors));
  assert_int_equal(nx_dtype_of(values), NX_F32);
  const host w = read_host(values), v = read3(vectors);
  assert_true(w.at[0] == 1 && isnan(creal(w.at[3])) && isnan(creal(v.at[9])) && v.at[0] == 1);
}

/* ---- functions */

/* exp(A + E) with |E| <= some units of |A|: of matrices of which the exponential is known. */
static void exponential(void **state) {
  (void)state;
  static const double angles[] = {0, 1e-3, 0.3, 1, 2.5, 10, 100, 3000};
  for (int ti = 0; ti < DTYPES; ti++)
    for (size_t k = 0; k < sizeof angles / sizeof *angles; k++) {
      const nx_dtype t = dtypes[ti];
      const double x = (float)angles[k];
      host a = host_of(2, 3, 3), want = host_of(2, 3, 3);
      /* a rotation beside a number; a nilpotent matrix: 1 + N + N^2 / 2 */
      a.at[1] = -x, a.at[3] = x, a.at[8] = is_pair(t) ? I : -1;
      want.at[0] = want.at[4] = cos(x), want.at[1] = -sin(x), want.at[3] = sin(x);
      want.at[8] = cexp(a.at[8]);
      a.at[10] = x, a.at[14] = 2, want.at[9] = want.at[13] = want.at[17] = 1;
      want.at[10] = x, want.at[14] = 2, want.at[11] = x;
      const host is = read3(GOOD(nx_expm(tensor_of(t, &a))));
      NEAR(t, &is, &want, 20 * (1 + x));
    }
  const host none = host_of(2, 0, 0), zero = host_of(1, 4, 4), one = one_of(1, 4),
             nothing = read3(GOOD(nx_expm(tensor_of(NX_F32, &none))));
  assert_true(nothing.rows == 0);
  const host exact = read3(GOOD(nx_expm(tensor_of(NX_C64, &zero)))); /* but for signs of zeros */
  for (int i = 0; i < 16; i++) assert_true(exact.at[i] == one.at[i]);
  host bad = host_of(2, 3, 3);
  bad.at[4] = NAN;
  const host is = read3(GOOD(nx_expm(tensor_of(NX_F64, &bad))));
  assert_true(isnan(creal(is.at[0])) && is.at[9] == 1 && is.at[10] == 0);
}

/* exp(A) exp(-A) = 1, and exp(A + A) = exp(A)^2, of random ones. */
static void exponents_add(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    const host a = random_host(t, 2, n, n, 0);
    nx_tensor *x = tensor_of(t, &a), *e = GOOD(nx_expm(x));
    const host is = read3(e), back = read3(GOOD(nx_expm(GOOD(nx_neg(x))))), p = times(&is, &back),
               one = one_of(2, n), two = read3(GOOD(nx_expm(GOOD(nx_add(x, x))))),
               square = times(&is, &is);
    NEAR(t, &p, &one, bound * (1 + size_of(&is) * size_of(&back)));
    NEAR(t, &two, &square, bound * (1 + size_of(&a)) * 10);
  }
}

static nx_dtype complex_of(nx_dtype t) { return is_single(t) ? NX_C64 : NX_C128; }

static void roots_and_logarithms(void **state) {
  (void)state;
  EACH_SIZE {
    SIZE;
    for (int heavy = 0; heavy < 2; heavy++) {
      const host a = random_host(t, 2, n, n, heavy * 5);
      nx_tensor *x = tensor_of(t, &a), *r = GOOD(nx_sqrtm(x, 0)), *l = GOOD(nx_logm(x, 0));
      assert_true(nx_dtype_of(r) == complex_of(t) && nx_dtype_of(l) == complex_of(t));
      const host root = read3(r), is = times(&root, &root), back = read3(GOOD(nx_expm(l))),
                 log = read3(l);
      const double condition = heavy ? 1 : 100;
      NEAR(t, &is, &a, bound * (1 + size_of(&root)) * condition);
      NEAR(t, &back, &a, bound * (1 + size_of(&log)) * condition);
    }
  }
  /* exact: a diagonal, far from 1; a rotation by 2, whose logarithm turns by 2 */
  host d = host_of(1, 3, 3);
  d.at[0] = 1e-100, d.at[4] = -4, d.at[8] = 1e100;
  const host root = read3(GOOD(nx_sqrtm(tensor_of(NX_F64, &d), 0))),
             log = read3(GOOD(nx_logm(tensor_of(NX_F64, &d), 0)));
  assert_true(cabs(root.at[0] / 1e-50 - 1) < 1e-15 && cabs(root.at[4] - 2 * I) < 1e-15);
  assert_true(cabs(log.at[8] - clog(1e100)) < 1e-12 && cabs(log.at[4] - clog(-4)) < 1e-15);
  const host turn = host_of(1, 2, 2);
  turn.at[0] = turn.at[3] = cos(2), turn.at[1] = -sin(2), turn.at[2] = sin(2);
  const host turned_by = read3(GOOD(nx_logm(tensor_of(NX_F64, &turn), 0)));
  assert_true(cabs(turned_by.at[1] + 2) < 1e-14 && cabs(turned_by.at[2] - 2) < 1e-14);
}

static void functions_that_fail(void **state) {
  (void)state;
  host a = one_of(3, 3);
  a.at[9 + 4] = NAN;
  a = random_host(NX_F64, 3, 3, 3, 4);
  for (int i = 0; i < 3; i++) a.at[9 + 3 * i + 1] = 0; /* singular */
  nx_tensor *l = GOOD(nx_logm(tensor_of(NX_F64, &a), 0)),
            *nan = GOOD(nx_logm(tensor_of(NX_F64, &a), NX_NAN_ON_FAILURE)),
            *r = GOOD(nx_sqrtm(tensor_of(NX_F64, &a), 0));
  OK(nx_realize(ctx, &r, 1, NULL)); /* one eigenvalue that is zero has a root */
  FAILS(NX_SINGULAR, nx_realize(ctx, &l, 1, NULL));
  const host is = read3(nan);
  assert_true(isnan(creal(is.at[9])) && isfinite(creal(is.at[0])) && isfinite(creal(is.at[18])));
  a.at[9] = NAN;
  r = GOOD(nx_sqrtm(tensor_of(NX_F64, &a), 0));
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &r, 1, NULL));
  nx_tensor *form, *values;
  OK(nx_schur(tensor_of(NX_C64, &a), NX_NAN_ON_FAILURE, &form, NULL));
  OK(nx_eig_left(tensor_of(NX_C64, &a), NX_NAN_ON_FAILURE, &values, NULL, NULL));
  const host s = read3(form), w = read_host(values);
  assert_true(isnan(creal(s.at[9 + 8])) && isfinite(creal(s.at[0])));
  assert_true(isnan(creal(w.at[3])) && isfinite(creal(w.at[0])));
}

static void powers(void **state) {
  (void)state;
  static const int64_t exponents[] = {0, 1, 2, 3, 7, 8, -1, -3};
  EACH_SIZE {
    SIZE;
    for (size_t k = 0; k < sizeof exponents / sizeof *exponents; k++) {
      const int64_t e = exponents[k], count = e < 0 ? -e : e;
      const host a = random_host(t, 2, n, n, 3),
                 is = read3(GOOD(nx_matrix_power(tensor_of(t, &a), e, 0)));
      host want = one_of(2, n), p = e < 0 ? is : one_of(2, n);
      for (int64_t i = 0; i < count; i++) p = times(&a, &p);
      const double size = e < 0 ? pow(1 + size_of(&a), (double)count) * (1 + size_of(&is)) : 10;
      const host got = e < 0 ? p : is;
      if (e >= 0) want = p;
      NEAR(t, &got, &want, bound * size);
    }
  }
  const host a = one_of(1, 2);
  assert_null(nx_matrix_power(tensor_of(NX_F32, &a), (int64_t)1 << 40, 0));
  assert_int_equal(nx_error_take(NULL), NX_INVALID_ARGUMENT);
}

NXT_MAIN(forms) {
  const struct CMUnitTest tests[] = {IN_SCOPE(bands),
                                     IN_SCOPE(tridiagonal),
                                     IN_SCOPE(triangular_inverse),
                                     IN_SCOPE(update),
                                     IN_SCOPE(schur),
                                     IN_SCOPE(hessenberg),
                                     IN_SCOPE(tridiagonal_form),
                                     IN_SCOPE(left_vectors),
                                     IN_SCOPE(generalized),
                                     IN_SCOPE(exponential),
                                     IN_SCOPE(exponents_add),
                                     IN_SCOPE(roots_and_logarithms),
                                     IN_SCOPE(functions_that_fail),
                                     IN_SCOPE(powers)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  const int failed = cmocka_run_group_tests(tests, open_context, close_context);
  free_hosts();
  return failed;
}
