/* SPDX-License-Identifier: ISC */
/* Factors in packed forms, and products with reflections: checked by what they mean, computed in
 * long double. */
#include "linear.h"

#include <math.h>

static nx_dtype then_i32(nx_dtype dtype, int result) { return result == 0 ? dtype : NX_I32; }
static nx_dtype i32_third(nx_dtype dtype, int result) { return result == 2 ? NX_I32 : dtype; }

static int number_at(const array *a, int i) { return (int)decode(a->dtype, a->at[i]).re; }

/* ---- LU */

MANY(lu, nx_lu(a, &r.tensor[0], &r.tensor[1], &r.tensor[2], &r.tensor[3]))
SATISFY(lu) {
  matrix f = matrix_of(r[0], number, M, N), low = f, up = {.rows = N, .columns = N},
         rows = {.rows = M, .columns = N};
  int place[M];
  (void)b;
  for (int i = 0; i < M; i++) place[i] = i;
  for (int i = 0; i < N; i++) {
    int other = number_at(r[1], number * N + i), kept = place[i];
    if (other < i || other >= M) {
      fault(t, "pivot %d is %d", i, other);
      return;
    }
    place[i] = place[other];
    place[other] = kept;
  }
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      if (i <= j) up.at[i][j] = f.at[i][j];
      if (i <= j) low.at[i][j] = (value){i == j, 0};
      rows.at[i][j] = a->at[place[i]][j];
    }
  for (int i = 0; i < M; i++)
    if (number_at(r[2], number * M + i) != place[i]) fault(t, "row %d of the permutation", i);
  matrix p = matrix_product(&low, &up);
  expect_matrix(t, &p, &rows, "L U");
  if (number_at(r[3], number) != 0) fault(t, "info is not 0");
}

/* The operand as packed factors, whatever it is, and the order of its first rows' numbers. */
static nx_tensor *some_order(nx_tensor *a) {
  if (!a || nx_rank(a) != 3) return a;
  const int64_t *shape = nx_shape(a);
  nx_tensor *row = nx_shrink(a, (int64_t[]){0, 0, 0}, (int64_t[]){BATCH, 1, shape[2]}, 3);
  return nx_argsort(nx_reshape(nx_contiguous(row), (int64_t[]){BATCH, shape[2]}, 2, 0), -1, 0,
                    NX_I32);
}
static bool precedes(value x, value y) { return x.re < y.re || (x.re == y.re && x.im < y.im); }

ONE(lu_solve, nx_lu_solve(a, some_order(a), b, 0))
SATISFY(lu_solve) {
  matrix x = matrix_of(r[0], number, N, N), low = matrix_identity(N), up = *a, want = *b;
  for (int i = 0; i < N; i++) {
    int place = 0;
    for (int j = 0; j < N; j++) {
      value me = a->at[0][i], other = a->at[0][j];
      place += precedes(other, me) || (j < i && !precedes(me, other));
      if (j >= i) continue;
      low.at[i][j] = a->at[i][j];
      up.at[i][j] = (value){0, 0};
    }
    for (int j = 0; j < N; j++) want.at[place][j] = b->at[i][j];
  }
  matrix ux = matrix_product(&up, &x), is = matrix_product(&low, &ux);
  expect_matrix(t, &is, &want, "L U x");
}

/* ---- reflections */

/* H(0) H(1) .. x of n reflections; the vectors are in v. */
static matrix reflected(const matrix *v, const value *tau, int n, matrix x) {
  for (int k = n; k-- > 0;)
    for (int j = 0; j < x.columns; j++) {
      value sum = x.at[k][j];
      for (int i = k + 1; i < v->rows; i++) {
        value c = {v->at[i][k].re, -v->at[i][k].im}, p = value_product(c, x.at[i][j]);
        sum = (value){sum.re + p.re, sum.im + p.im};
      }
      sum = value_product(tau[k], sum);
      for (int i = k; i < v->rows; i++) {
        value p = i == k ? sum : value_product(v->at[i][k], sum);
        x.at[i][j] = (value){x.at[i][j].re - p.re, x.at[i][j].im - p.im};
      }
    }
  return x;
}

static void expect_packed(trial *t, array *const *r, int number, const matrix *want) {
  matrix f = matrix_of(r[0], number, M, N), up = {.rows = M, .columns = N};
  value tau[N];
  for (int i = 0; i < N; i++) tau[i] = decode(r[1]->dtype, r[1]->at[number * N + i]);
  for (int i = 0; i < M; i++)
    for (int j = i; j < N; j++) up.at[i][j] = f.at[i][j];
  matrix is = reflected(&f, tau, N, up), q = reflected(&f, tau, N, matrix_identity(M));
  expect_matrix(t, &is, want, "Q R");
  expect_orthonormal(t, &q, "Q^H Q");
}

MANY(geqrf, nx_geqrf(a, &r.tensor[0], &r.tensor[1]))
SATISFY(geqrf) {
  (void)b;
  expect_packed(t, r, number, a);
}

/* The columns in the order of a permutation. */
static matrix in_order(trial *t, const matrix *a, const array *order, int number) {
  matrix c = *a;
  bool seen[N] = {false};
  for (int j = 0; j < N; j++) {
    int from = number_at(order, number * N + j);
    if (from < 0 || from >= N || seen[from]) {
      fault(t, "column %d of the permutation is %d", j, from);
      return c;
    }
    seen[from] = true;
    for (int i = 0; i < M; i++) c.at[i][j] = a->at[i][from];
  }
  return c;
}

MANY(geqp3, nx_geqp3(a, &r.tensor[0], &r.tensor[1], &r.tensor[2]))
SATISFY(geqp3) {
  matrix want = in_order(t, a, r[2], number);
  (void)b;
  expect_packed(t, r, number, &want);
}

MANY(qr_pivoted, nx_qr_pivoted(a, 0, &r.tensor[0], &r.tensor[1], &r.tensor[2]))
SATISFY(qr_pivoted) {
  matrix want = in_order(t, a, r[2], number), q = matrix_of(r[0], number, M, N),
         up = matrix_of(r[1], number, N, N), p = matrix_product(&q, &up);
  (void)b;
  expect_matrix(t, &p, &want, "Q R");
  expect_orthonormal(t, &q, "Q^H Q");
  for (int i = 1; i < N; i++)
    if (hypotl(up.at[i][i].re, up.at[i][i].im) >
        hypotl(up.at[i - 1][i - 1].re, up.at[i - 1][i - 1].im) * 1.001L)
      fault(t, "the diagonal of R grows");
}

/* The last row of a, as factors of the reflections in its columns: whatever these are. */
static nx_tensor *some_tau(nx_tensor *a) {
  if (!a || nx_rank(a) != 3) return a;
  nx_tensor *row = nx_shrink(a, (int64_t[]){0, M - 1, 0}, (int64_t[]){BATCH, M, N}, 3);
  return nx_reshape(nx_contiguous(row), (int64_t[]){BATCH, N}, 2, 0);
}
static matrix product_with(const matrix *a, matrix x) { return reflected(a, a->at[M - 1], N, x); }

ONE(householder_product, nx_householder_product(a, some_tau(a)))
SATISFY(householder_product) {
  matrix want = product_with(a, matrix_identity(M)), is = matrix_of(r[0], number, M, N);
  want.columns = N;
  (void)b;
  expect_matrix(t, &is, &want, "the product of reflections");
}

ONE(ormqr, nx_ormqr(a, some_tau(a), b, 0))
SATISFY(ormqr) {
  matrix want = product_with(a, *b), is = matrix_of(r[0], number, M, N);
  expect_matrix(t, &is, &want, "Q C");
}

static const operation factor_table[] = {
    CALL("lu", TALL, 4, do_lu, then_i32, {{2, {M, N}}, {1, {N}}, {1, {M}}, {0, {0}}}, satisfy_lu,
         NX_OK),
    CALL("lu_solve", WELL, 1, do_lu_solve, same_dtype, {{2, {N, N}}}, satisfy_lu_solve,
         NX_SINGULAR),
    CALL("geqrf", TALL, 2, do_geqrf, same_dtype, {{2, {M, N}}, {1, {N}}}, satisfy_geqrf, NX_OK),
    CALL("geqp3", TALL, 3, do_geqp3, i32_third, {{2, {M, N}}, {1, {N}}, {1, {N}}}, satisfy_geqp3,
         NX_OK),
    CALL("qr_pivoted", TALL, 3, do_qr_pivoted, i32_third, {{2, {M, N}}, {2, {N, N}}, {1, {N}}},
         satisfy_qr_pivoted, NX_OK),
    CALL("householder_product", TALL, 1, do_householder_product, same_dtype, {{2, {M, N}}},
         satisfy_householder_product, NX_OK),
    CALL("ormqr", TALL, 1, do_ormqr, same_dtype, {{2, {M, N}}}, satisfy_ormqr, NX_OK),
};
const family factor_family = {"Factors of matrices", factor_table,
                              sizeof factor_table / sizeof *factor_table};
