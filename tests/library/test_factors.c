/* SPDX-License-Identifier: ISC */
/* Factors in LAPACK's packed forms and what is computed with them, against their definitions:
 * products that give the operand back, computed here in double. And matrices of a batch that cannot
 * be done, with NX_NAN_ON_FAILURE. */
#include "matrix_util.h"

#include "runtime/library/linalg/lapack.h"

static const int64_t shapes[][3] = {{2, 5, 5},   {2, 7, 4}, {3, 4, 7}, {1, 1, 1}, {2, 20, 20},
                                    {1, 40, 33}, {2, 3, 0}, {2, 0, 3}, {0, 3, 3}, {2, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };
#define EACH_SHAPE                    \
  for (int ti = 0; ti < DTYPES; ti++) \
    for (int si = 0; si < SHAPES; si++)
#define SHAPE                                                                                   \
  const nx_dtype t = dtypes[ti];                                                                \
  const int64_t batch = shapes[si][0], m = shapes[si][1], n = shapes[si][2], k = m < n ? m : n; \
  const double bound = 20 * (double)(m + n + 1);                                                \
  (void)k

/* ---- LU */

/* L U of the factors, and A with its rows in the order of the permutation, which the pivots make
 * too. */
static void check_lu(nx_dtype t, const host *a, nx_tensor *const *r, double bound) {
  const int64_t m = a->rows, n = a->columns, k = m < n ? m : n;
  const host f = read_host(r[0]), pivots = read_host(r[1]), order = read_host(r[2]),
             l = corner(&f, m, k), u = corner(&f, k, n), low = band(&l, -m, -1, true),
             high = band(&u, 0, n, false), is = times(&low, &high), rows = host_of(a->batch, m, n);
  for (int64_t b = 0; b < a->batch; b++) {
    int64_t place[400];
    for (int64_t i = 0; i < m; i++) place[i] = i;
    for (int64_t i = 0; i < k; i++) {
      const int64_t other = (int64_t)creal(pivots.at[b * k + i]), kept = place[i];
      assert_true(other >= i && other < m);
      place[i] = place[other];
      place[other] = kept;
    }
    for (int64_t i = 0; i < m; i++) {
      assert_int_equal(place[i], (int64_t)creal(order.at[b * m + i]));
      for (int64_t j = 0; j < n; j++)
        rows.at[(b * m + i) * n + j] = a->at[(b * m + place[i]) * n + j];
    }
  }
  NEAR(t, &is, &rows, bound);
  for (int64_t i = 0; i < low.batch * m * k; i++) assert_true(cabs(low.at[i]) <= 1.5);
  const host info = read_host(r[3]);
  for (int64_t b = 0; b < a->batch; b++) assert_true(info.at[b] == 0);
}

static void lu(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    const host a = random_host(t, batch, m, n, 0);
    nx_tensor *r[4];
    OK(nx_lu(tensor_of(t, &a), &r[0], &r[1], &r[2], &r[3]));
    check_lu(t, &a, r, bound);
  }
  for (int ti = 0; ti < DTYPES; ti++) { /* in stages */
    const host a = random_host(dtypes[ti], 1, 300, 300, 0);
    nx_tensor *r[4];
    OK(nx_lu(tensor_of(dtypes[ti], &a), &r[0], &r[1], &r[2], &r[3]));
    check_lu(dtypes[ti], &a, r, 4000);
  }
}

/* A pivot that is zero is counted from 1, of small, medium and large matrices. */
static void lu_of_singular(void **state) {
  (void)state;
  static const int64_t sizes[] = {4, 30, 300};
  for (int ti = 0; ti < DTYPES; ti++)
    for (int i = 0; i < 3; i++) {
      const int64_t n = sizes[i];
      host a = random_host(dtypes[ti], 2, n, n, 4);
      for (int64_t row = 0; row < n; row++) a.at[n * n + row * n + 2] = 0;
      nx_tensor *info;
      OK(nx_lu(tensor_of(dtypes[ti], &a), NULL, NULL, NULL, &info));
      const host is = read_host(info);
      assert_true(is.at[0] == 0 && is.at[1] == 3);
    }
}

static void lu_solve(void **state) {
  (void)state;
  static const uint32_t forms[] = {0, NX_TRANSPOSED, NX_ADJOINT};
  EACH_SHAPE {
    SHAPE;
    if (m != n) continue;
    const host a = random_host(t, batch, n, n, 0), b = random_host(t, batch, n, 3, 0);
    nx_tensor *f, *order;
    OK(nx_lu(tensor_of(t, &a), &f, NULL, &order, NULL));
    for (int i = 0; i < 3; i++) {
      const host x = read_host(GOOD(nx_lu_solve(f, order, tensor_of(t, &b), forms[i]))),
                 op = i ? turned(&a, i == 2) : a, is = times(&op, &x);
      NEAR(t, &is, &b, 20 * bound * (1 + size_of(&x)));
    }
  }
  /* vectors, an order of i64, batches that broadcast, small floats */
  const host a = random_host(NX_F64, 2, 4, 4, 5), b = random_host(NX_F64, 1, 4, 1, 0);
  nx_tensor *f, *order, *line = GOOD(nx_reshape(tensor_of(NX_F64, &b), NX_SHAPE(4), 0));
  OK(nx_lu(tensor_of(NX_F64, &a), &f, NULL, &order, NULL));
  nx_tensor *x = GOOD(nx_lu_solve(f, GOOD(nx_cast(order, NX_I64)), line, 0)),
            *want = GOOD(nx_solve(tensor_of(NX_F64, &a), line, 0));
  const host is = read_host(x), wanted = read_host(want);
  NEAR(NX_F64, &is, &wanted, 100);
  OK(nx_lu(GOOD(nx_cast(tensor_of(NX_F64, &a), NX_BF16)), &f, NULL, &order, NULL));
  x = GOOD(nx_lu_solve(f, order, GOOD(nx_cast(line, NX_BF16)), NX_TRANSPOSED));
  assert_int_equal(nx_dtype_of(x), NX_BF16);
  OK(nx_realize(ctx, &x, 1, NULL));
}

/* ---- QR */

static host r_of(const host *a, int64_t rows) {
  const host part = corner(a, rows, a->columns);
  return band(&part, 0, a->columns, false);
}

static void expect_orthonormal(nx_dtype t, const host *q, double bound) {
  const host back = adjoint(q), is = times(&back, q), one = one_of(q->batch, q->columns);
  NEAR(t, &is, &one, bound);
}

/* geqrf and householder_product make the factors of nx_qr; ormqr multiplies by the whole Q. */
static void packed_qr(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    const host a = random_host(t, batch, m, n, 0), c = random_host(t, batch, m, 3, 0);
    nx_tensor *packed, *tau;
    OK(nx_geqrf(tensor_of(t, &a), &packed, &tau));
    const host f = read_host(packed), r = r_of(&f, k);
    nx_tensor *vectors = GOOD(nx_shrink(packed, (int64_t[]){0, 0, 0}, (int64_t[]){batch, m, k}, 3));
    const host q = read_host(GOOD(nx_householder_product(vectors, tau))), qr = times(&q, &r);
    NEAR(t, &qr, &a, bound);
    expect_orthonormal(t, &q, bound);
    nx_tensor *right = tensor_of(t, &c), *left = GOOD(nx_permute(right, NX_AXES(0, 2, 1)));
    const host qc = read_host(GOOD(nx_ormqr(packed, tau, right, 0))),
               qhc = read_host(GOOD(nx_ormqr(packed, tau, right, NX_ADJOINT))),
               cq = read_host(GOOD(nx_ormqr(packed, tau, left, NX_FROM_RIGHT))),
               cqh = read_host(GOOD(nx_ormqr(packed, tau, left, NX_FROM_RIGHT | NX_ADJOINT))),
               back = read_host(
                   GOOD(nx_ormqr(packed, tau, GOOD(nx_ormqr(packed, tau, right, 0)), NX_ADJOINT)));
    NEAR(t, &back, &c, bound);
    const host qh = adjoint(&q), short_one = times(&qh, &c), is = corner(&qhc, k, 3);
    NEAR(t, &is, &short_one, bound);
    const host ct = turned(&c, false), cq_first = corner(&cq, 3, k), cq_want = times(&ct, &q);
    NEAR(t, &cq_first, &cq_want, bound);
    (void)qc;
    assert_true(cqh.rows == 3 && cqh.columns == m);
  }
}

static void pivoted_qr(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    const host a = random_host(t, batch, m, n, 0);
    for (int full = 0; full < 2; full++) {
      nx_tensor *out[3];
      OK(nx_qr_pivoted(tensor_of(t, &a), full ? NX_FULL_MATRICES : 0, &out[0], &out[1], &out[2]));
      const host q = read_host(out[0]), r = read_host(out[1]), order = read_host(out[2]),
                 is = times(&q, &r), want = host_of(batch, m, n);
      assert_int_equal(q.columns, full ? m : k);
      for (int64_t i = 0; i < batch * m * n; i++) {
        const int64_t b = i / (m * n), j = (int64_t)creal(order.at[b * n + i % n]);
        want.at[i] = a.at[i - i % n + j];
      }
      NEAR(t, &is, &want, bound);
      expect_orthonormal(t, &q, bound);
      const host low = band(&r, -m, -1, false);
      assert_true(size_of(&low) == 0);
      for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 1; i < k; i++) /* the diagonal does not grow, but by rounding */
          assert_true(cabs(r.at[(b * r.rows + i) * n + i]) <=
                      cabs(r.at[(b * r.rows + i - 1) * n + i - 1]) * (1 + 1e-5));
    }
  }
}

/* The normal equations, and the least norm where there are several solutions. */
static void least_squares(void **state) {
  (void)state;
  EACH_SHAPE {
    SHAPE;
    const host a = random_host(t, batch, m, n, 2), b = random_host(t, batch, m, 3, 0);
    const host x = read_host(GOOD(nx_lstsq_qr(tensor_of(t, &a), tensor_of(t, &b), 0))),
               want = read_host(GOOD(nx_lstsq(tensor_of(t, &a), tensor_of(t, &b), -1, 0)));
    NEAR(t, &x, &want, 200 * bound);
  }
  const host a = random_host(NX_F64, 2, 6, 3, 2), b = random_host(NX_F64, 2, 6, 1, 0);
  nx_tensor *lines = GOOD(nx_reshape(tensor_of(NX_F64, &b), NX_SHAPE(2, 6), 0));
  assert_int_equal(nx_rank(GOOD(nx_lstsq_qr(tensor_of(NX_F64, &a), lines, NX_VECTORS))), 2);
}

/* ---- the other side */

static void from_the_right(void **state) {
  (void)state;
  for (int ti = 0; ti < DTYPES; ti++)
    for (uint32_t form = 0; form < 12; form++) {
      static const uint32_t turns[] = {0, NX_TRANSPOSED, NX_ADJOINT};
      const nx_dtype t = dtypes[ti];
      const uint32_t turn = turns[form % 3], upper = form / 3 % 2 ? NX_UPPER : 0,
                     ones = form / 6 ? NX_UNIT_DIAGONAL : 0;
      const host a = random_host(t, 2, 5, 5, ones ? 0 : 4), b = random_host(t, 2, 3, 5, 0),
                 kept = band(&a, upper ? 0 : -5, upper ? 5 : 0, ones != 0),
                 op = turn ? turned(&kept, turn == NX_ADJOINT) : kept,
                 x = read_host(GOOD(nx_triangular_solve(tensor_of(t, &a), tensor_of(t, &b),
                                                        turn | upper | ones | NX_FROM_RIGHT))),
                 is = times(&x, &op);
      NEAR(t, &is, &b, 100 * (1 + size_of(&x)));
      const host line = random_host(t, 2, 5, 1, 0);
      nx_tensor *lines = GOOD(nx_reshape(tensor_of(t, &line), NX_SHAPE(2, 5), 0));
      const uint32_t flags = turn | upper | ones | NX_FROM_RIGHT | NX_VECTORS;
      nx_tensor *y = GOOD(nx_triangular_solve(tensor_of(t, &a), lines, flags));
      const host row = read_host(GOOD(nx_reshape(y, NX_SHAPE(2, 1, 5), 0))),
                 back = times(&row, &op), want = turned(&line, false);
      NEAR(t, &back, &want, 100 * (1 + size_of(&row)));
    }
}

/* ---- NaN in place of a failure */

typedef struct outcome {
  nx_tensor *r[3];
  int n;
} outcome;
typedef outcome compute(nx_tensor *a, nx_tensor *b, uint32_t flags);

#define ONE(name, expression)                                            \
  static outcome name##_of(nx_tensor *a, nx_tensor *b, uint32_t flags) { \
    (void)b;                                                             \
    return (outcome){{GOOD(expression)}, 1};                             \
  }
#define MANY(name, count, expression)                                    \
  static outcome name##_of(nx_tensor *a, nx_tensor *b, uint32_t flags) { \
    outcome o = {.n = count};                                            \
    nx_tensor **r = o.r;                                                 \
    (void)b;                                                             \
    OK(expression);                                                      \
    return o;                                                            \
  }
ONE(cholesky, nx_cholesky(a, flags))
ONE(upper, nx_cholesky(a, NX_UPPER | flags))
ONE(inv, nx_inv_flags(a, flags))
ONE(solve, nx_solve(a, b, flags))
ONE(triangular, nx_triangular_solve(a, b, flags))
ONE(eigvalsh, nx_eigvalsh(a, flags))
ONE(eigvals, nx_eigvals_flags(a, flags))
MANY(svd, 3, nx_svd(a, flags, &r[0], &r[1], &r[2]))
MANY(eigh, 2, nx_eigh(a, flags, &r[0], &r[1]))
MANY(eig, 2, nx_eig_flags(a, flags, &r[0], &r[1]))

enum spoil { INDEFINITE, NO_NUMBER, SINGULAR };

/* The bad matrix gives NaN, the others what they give by themselves; without the flag, the call
 * fails. */
static void check_failure(nx_dtype t, compute *f, int64_t n, int64_t batch, enum spoil how) {
  const int64_t bad = batch / 2, columns = n > 100 ? 270 : 2;
  host a = random_host(t, batch, n, n, 3 * (double)n), b = random_host(t, batch, n, columns, 0);
  for (int64_t i = 0; i < batch * n; i++) a.at[i * n + i % n] = creal(a.at[i * n + i % n]);
  nx_tensor *sound = tensor_of(t, &a), *right = tensor_of(t, &b);
  const outcome want = f(sound, right, 0);
  cd *spoilt = a.at + bad * n * n;
  if (how == NO_NUMBER) spoilt[n] = NAN; /* the second row */
  if (how == INDEFINITE) spoilt[(n - 1) * (n + 1)] = -1;
  for (int64_t i = 0; i < n && how == SINGULAR; i++) spoilt[i * n + 1] = 0;
  nx_tensor *x = tensor_of(t, &a);
  assert_true(nx_realize(ctx, (nx_tensor *[]){f(x, right, 0).r[0]}, 1, NULL) != NX_OK);
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  assert_int_equal(e.index, bad);
  const outcome is = f(x, right, NX_NAN_ON_FAILURE), without = f(sound, right, NX_NAN_ON_FAILURE);
  for (int i = 0; i < is.n; i++) {
    const int32_t rank = nx_rank(is.r[i]);
    const int64_t *shape = nx_shape(is.r[i]);
    for (int64_t k = 0; k < batch; k++) {
      int64_t start[3] = {k, 0, 0},
              stop[3] = {k + 1, rank > 1 ? shape[1] : 0, rank > 2 ? shape[2] : 0};
      nx_tensor *one = GOOD(nx_shrink(is.r[i], start, stop, (size_t)rank)),
                *other = GOOD(nx_shrink(want.r[i], start, stop, (size_t)rank));
      const host h = read_host(one);
      if (k != bad) assert_true(same_bits(one, other));
      for (int64_t j = 0; j < h.rows * h.columns && k == bad; j++)
        assert_true(isnan(creal(h.at[j])) && (!is_pair(nx_dtype_of(one)) || isnan(cimag(h.at[j]))));
    }
    assert_true(same_bits(without.r[i], want.r[i]));
  }
}

static void failures(void **state) {
  (void)state;
  static const struct {
    compute *f;
    enum spoil how;
    int64_t large; /* a size that is divided among threads, or 0 */
  } calls[] = {
      {cholesky_of, INDEFINITE, 520}, {cholesky_of, NO_NUMBER, 0}, {upper_of, INDEFINITE, 0},
      {inv_of, SINGULAR, 260},        {solve_of, SINGULAR, 260},   {triangular_of, SINGULAR, 260},
      {eigvalsh_of, NO_NUMBER, 0},    {eigh_of, NO_NUMBER, 260},   {eigvals_of, NO_NUMBER, 0},
      {eig_of, NO_NUMBER, 0},         {svd_of, NO_NUMBER, 260}};
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    for (int ti = 0; ti < DTYPES; ti++) {
      check_failure(dtypes[ti], calls[i].f, 5, 3, calls[i].how);
      check_failure(dtypes[ti], calls[i].f, 24, 3, calls[i].how);
    }
    if (calls[i].large) check_failure(NX_F64, calls[i].f, calls[i].large, 2, calls[i].how);
    if (calls[i].large == 260) check_failure(NX_F32, calls[i].f, 260, 9, calls[i].how);
  }
}

NXT_MAIN(factors) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(lu),         IN_SCOPE(lu_of_singular), IN_SCOPE(lu_solve),       IN_SCOPE(packed_qr),
      IN_SCOPE(pivoted_qr), IN_SCOPE(least_squares),  IN_SCOPE(from_the_right), IN_SCOPE(failures)};
  if (nxi_lapack_ready("test", NULL) != NX_OK) return 77; /* skipped */
  const int failed = cmocka_run_group_tests(tests, open_context, close_context);
  free_hosts();
  return failed;
}
