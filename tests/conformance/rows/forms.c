/* SPDX-License-Identifier: ISC */
/* Bands, updates of factors, other forms, generalised eigenproblems and functions of matrices:
 * checked by what they mean, computed in long double. */
#include "linear.h"

#include <math.h>

static nx_dtype as_complex(nx_dtype dtype, int result) {
  (void)result;
  if (dtype == NX_C32) return dtype;
  return dtype == NX_F64 || dtype == NX_C128 ? NX_C128 : NX_C64;
}
static nx_dtype all_c128(nx_dtype dtype, int result) {
  (void)dtype, (void)result;
  return NX_C128;
}
static nx_dtype first_f64(nx_dtype dtype, int result) { return result == 0 ? NX_F64 : dtype; }
static nx_dtype real_between(nx_dtype dtype, int result) {
  return result == 1 || result == 2 ? format_of(dtype)->part : dtype;
}

/* Of the operands that are to be refused the rows are not looked at. */
static bool is_batch(nx_tensor *x) { return x && nx_rank(x) == 3 && nx_shape(x)[1] == N; }
/* Row i of each matrix, as (BATCH, 1, columns), or without the 1. */
static nx_tensor *row_of(nx_tensor *x, int64_t i) {
  if (!is_batch(x)) return x;
  return nx_shrink(x, (int64_t[]){0, i, 0}, (int64_t[]){BATCH, i + 1, nx_shape(x)[2]}, 3);
}
static nx_tensor *line_of(nx_tensor *x, int64_t i) {
  if (!is_batch(x)) return x;
  return nx_reshape(nx_contiguous(row_of(x, i)), (int64_t[]){BATCH, nx_shape(x)[2]}, 2, 0);
}
/* 16 everywhere, of the dtype and shape of x. */
static nx_tensor *sixteen(nx_tensor *x) {
  return nx_i64_binary(16, NX_BINARY_ADD, nx_i64_binary(0, NX_BINARY_MUL, x));
}

/* ---- bands: the diagonals are rows of a, the main one is 16 */

static nx_tensor *solve_bands(nx_tensor *a, nx_tensor *b) {
  if (!is_batch(a)) return nx_banded_solve(a, 1, 1, b, 0);
  nx_tensor *rows[4] = {row_of(a, 0), sixteen(row_of(a, 0)), row_of(a, 1), row_of(a, 2)};
  return nx_banded_solve(nx_cat(rows, 4, 1), 2, 1, b, 0);
}
static nx_tensor *solve_three(nx_tensor *a, nx_tensor *b) {
  if (!is_batch(a))
    return nx_tridiagonal_solve(a, a ? nx_reduce_sum(a, NX_ALL_AXES, 0) : a, a, b, 0);
  nx_tensor *main =
      nx_reshape(nx_contiguous(sixteen(row_of(a, 0))), (int64_t[]){BATCH, nx_shape(a)[2]}, 2, 0);
  return nx_tridiagonal_solve(line_of(a, 0), main, line_of(a, 1), b, 0);
}

ONE(banded_solve, solve_bands(a, b))
SATISFY(banded_solve) {
  matrix x = matrix_of(r[0], number, N, N), full = {.rows = N, .columns = N};
  for (int j = 0; j < N; j++) {
    full.at[j][j].re = 16;
    if (j > 0) full.at[j - 1][j] = a->at[0][j];
    if (j + 1 < N) full.at[j + 1][j] = a->at[1][j];
    if (j + 2 < N) full.at[j + 2][j] = a->at[2][j];
  }
  matrix is = matrix_product(&full, &x);
  expect_matrix(t, &is, b, "A x");
}
ONE(tridiagonal_solve, solve_three(a, b))
SATISFY(tridiagonal_solve) {
  matrix x = matrix_of(r[0], number, N, N), full = {.rows = N, .columns = N};
  for (int i = 0; i < N; i++) {
    full.at[i][i].re = 16;
    if (i > 0) full.at[i][i - 1] = a->at[0][i];
    if (i + 1 < N) full.at[i][i + 1] = a->at[1][i];
  }
  matrix is = matrix_product(&full, &x);
  expect_matrix(t, &is, b, "A x");
}

/* ---- triangles */

static matrix lower_of(const matrix *a) {
  matrix l = *a;
  for (int i = 0; i < N; i++)
    for (int j = i + 1; j < N; j++) l.at[i][j] = (value){0, 0};
  return l;
}

ONE(triangular_inv, nx_triangular_inv(a, 0))
SATISFY(triangular_inv) {
  matrix x = matrix_of(r[0], number, N, N), l = lower_of(a), p = matrix_product(&l, &x),
         one = matrix_identity(N);
  (void)b;
  expect_matrix(t, &p, &one, "A A^-1");
}

ONE(cholesky_update, nx_cholesky_update(a, line_of(b, 0), 0))
SATISFY(cholesky_update) {
  matrix l = lower_of(a), up = matrix_adjoint(&l), want = matrix_product(&l, &up),
         w = {.rows = N, .columns = 1}, x = matrix_of(r[0], number, N, N),
         back = matrix_adjoint(&x), is = matrix_product(&x, &back);
  for (int i = 0; i < N; i++) w.at[i][0] = b->at[0][i];
  matrix wh = matrix_adjoint(&w), ww = matrix_product(&w, &wh);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) want.at[i][j] = sum_of(NX_C128, want.at[i][j], ww.at[i][j]);
  expect_matrix(t, &is, &want, "L L^H + w w^H");
}

/* ---- forms */

static void expect_form(trial *t, const matrix *a, const matrix *z, const matrix *form) {
  matrix back = matrix_adjoint(z), zt = matrix_product(z, form), is = matrix_product(&zt, &back);
  expect_matrix(t, &is, a, "Z T Z^H");
  expect_orthonormal(t, z, "Z^H Z");
}

/* The traces of a matrix and of its square. */
static matrix traces_of(const matrix *a) {
  matrix square = matrix_product(a, a), two = {.rows = 1, .columns = 2};
  for (int i = 0; i < a->rows; i++) {
    two.at[0][0] = sum_of(NX_C128, two.at[0][0], a->at[i][i]);
    two.at[0][1] = sum_of(NX_C128, two.at[0][1], square.at[i][i]);
  }
  return two;
}

MANY(sytrd, nx_sytrd(a, 0, &r.tensor[0], &r.tensor[1], &r.tensor[2], &r.tensor[3]))
SATISFY(sytrd) {
  matrix form = diagonal_of(r[1], number, N), whole = matrix_mirrored(a);
  (void)b;
  for (int i = 0; i + 1 < N; i++)
    form.at[i][i + 1] = form.at[i + 1][i] = decode(r[2]->dtype, r[2]->at[number * (N - 1) + i]);
  matrix is = traces_of(&form), want = traces_of(&whole);
  expect_matrix(t, &is, &want, "traces");
}

MANY(gehrd, nx_gehrd(a, &r.tensor[0], &r.tensor[1]))
SATISFY(gehrd) {
  matrix form = matrix_of(r[0], number, N, N);
  (void)b;
  for (int i = 2; i < N; i++)
    for (int j = 0; j < i - 1; j++) form.at[i][j] = (value){0, 0};
  matrix is = traces_of(&form), want = traces_of(a);
  expect_matrix(t, &is, &want, "traces");
}

MANY(hessenberg, nx_hessenberg(a, &r.tensor[0], &r.tensor[1]))
SATISFY(hessenberg) {
  matrix form = matrix_of(r[0], number, N, N), z = matrix_of(r[1], number, N, N);
  (void)b;
  expect_form(t, a, &z, &form);
  for (int i = 2; i < N; i++)
    for (int j = 0; j < i - 1; j++)
      if (form.at[i][j].re != 0 || form.at[i][j].im != 0) fault(t, "H has more than one diagonal");
}

MANY(schur, nx_schur(a, 0, &r.tensor[0], &r.tensor[1]))
SATISFY(schur) {
  matrix form = matrix_of(r[0], number, N, N), z = matrix_of(r[1], number, N, N);
  (void)b;
  expect_form(t, a, &z, &form);
}

/* ---- eigenproblems */

MANY(eig_left, nx_eig_left(a, 0, &r.tensor[0], &r.tensor[1], &r.tensor[2]))
SATISFY(eig_left) {
  matrix w = diagonal_of(r[0], number, N), u = matrix_of(r[1], number, N, N),
         v = matrix_of(r[2], number, N, N), uh = matrix_adjoint(&u), left = matrix_product(&uh, a),
         left_want = matrix_product(&w, &uh), right = matrix_product(a, &v),
         right_want = matrix_product(&v, &w);
  (void)b;
  expect_matrix(t, &left, &left_want, "U^H A and W U^H");
  expect_matrix(t, &right, &right_want, "A V and V W");
}

/* A A x = w x. */
MANY(eigh_generalized, nx_eigh_generalized(a, a, 2, 0, &r.tensor[0], &r.tensor[1]))
SATISFY(eigh_generalized) {
  matrix w = diagonal_of(r[0], number, N), v = matrix_of(r[1], number, N, N),
         whole = matrix_mirrored(a), square = matrix_product(&whole, &whole),
         is = matrix_product(&square, &v), want = matrix_product(&v, &w);
  (void)b;
  expect_matrix(t, &is, &want, "A B V and V W");
}

/* ---- functions */

/* By its series, of the matrix divided by 2^12, and squares. */
static matrix exponential(matrix a) {
  enum { HALVINGS = 12, TERMS = 14 };
  matrix sum = matrix_identity(a.rows), power = sum;
  for (int i = 0; i < a.rows; i++)
    for (int j = 0; j < a.rows; j++)
      a.at[i][j] = (value){ldexpl(a.at[i][j].re, -HALVINGS), ldexpl(a.at[i][j].im, -HALVINGS)};
  for (int k = 1; k <= TERMS; k++) {
    power = matrix_product(&power, &a);
    for (int i = 0; i < a.rows; i++)
      for (int j = 0; j < a.rows; j++) {
        power.at[i][j] = (value){power.at[i][j].re / k, power.at[i][j].im / k};
        sum.at[i][j].re += power.at[i][j].re;
        sum.at[i][j].im += power.at[i][j].im;
      }
  }
  for (int k = 0; k < HALVINGS; k++) sum = matrix_product(&sum, &sum);
  return sum;
}

ONE(expm, nx_expm(a))
SATISFY(expm) {
  matrix is = matrix_of(r[0], number, N, N), want = exponential(*a);
  (void)b;
  expect_matrix(t, &is, &want, "exp A");
}
ONE(sqrtm, nx_sqrtm(a, 0))
SATISFY(sqrtm) {
  matrix x = matrix_of(r[0], number, N, N), is = matrix_product(&x, &x);
  (void)b;
  expect_matrix(t, &is, a, "X X");
}
ONE(logm, nx_logm(a, 0))
SATISFY(logm) {
  matrix x = matrix_of(r[0], number, N, N), is = exponential(x);
  (void)b;
  expect_matrix(t, &is, a, "exp X");
}
ONE(matrix_power, nx_matrix_power(a, -1, 0))
SATISFY(matrix_power) {
  matrix x = matrix_of(r[0], number, N, N), is = matrix_product(a, &x), one = matrix_identity(N);
  (void)b;
  expect_matrix(t, &is, &one, "A A^-1");
}

#define SQUARES   \
  {               \
    {             \
      2, { N, N } \
    }             \
  }
static const operation form_table[] = {
    CALL("banded_solve", SQUARE, 1, do_banded_solve, same_dtype, SQUARES, satisfy_banded_solve,
         NX_OK),
    CALL("tridiagonal_solve", SQUARE, 1, do_tridiagonal_solve, same_dtype, SQUARES,
         satisfy_tridiagonal_solve, NX_OK),
    CALL("triangular_inv", WELL, 1, do_triangular_inv, same_dtype, SQUARES, satisfy_triangular_inv,
         NX_SINGULAR),
    CALL("cholesky_update", POSITIVE, 1, do_cholesky_update, same_dtype, SQUARES,
         satisfy_cholesky_update, NX_OK),
    CALL("sytrd", HERMITIAN, 4, do_sytrd, real_between,
         {{2, {N, N}}, {1, {N}}, {1, {N - 1}}, {1, {N - 1}}}, satisfy_sytrd, NX_OK),
    CALL("gehrd", SQUARE, 2, do_gehrd, same_dtype, {{2, {N, N}}, {1, {N - 1}}}, satisfy_gehrd,
         NX_OK),
    CALL("hessenberg", SQUARE, 2, do_hessenberg, same_dtype, {{2, {N, N}}, {2, {N, N}}},
         satisfy_hessenberg, NX_OK),
    CALL("schur", SQUARE, 2, do_schur, same_dtype, {{2, {N, N}}, {2, {N, N}}}, satisfy_schur,
         NX_NO_CONVERGENCE),
    CALL("eig_left", SQUARE, 3, do_eig_left, all_c128, {{1, {N}}, {2, {N, N}}, {2, {N, N}}},
         satisfy_eig_left, NX_NO_CONVERGENCE),
    CALL("eigh_generalized", POSITIVE, 2, do_eigh_generalized, first_f64, {{1, {N}}, {2, {N, N}}},
         satisfy_eigh_generalized, NX_NOT_POSITIVE_DEFINITE),
    CALL("expm", SQUARE, 1, do_expm, same_dtype, SQUARES, satisfy_expm, NX_OK),
    CALL("sqrtm", WELL, 1, do_sqrtm, as_complex, SQUARES, satisfy_sqrtm, NX_NO_CONVERGENCE),
    CALL("logm", WELL, 1, do_logm, as_complex, SQUARES, satisfy_logm, NX_SINGULAR),
    CALL("matrix_power", WELL, 1, do_matrix_power, same_dtype, SQUARES, satisfy_matrix_power,
         NX_SINGULAR),
};
const family form_family = {"Forms and functions of matrices", form_table,
                            sizeof form_table / sizeof *form_table};
