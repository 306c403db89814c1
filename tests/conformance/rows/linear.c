/* SPDX-License-Identifier: ISC */
/* Linear algebra: results are checked by what they must satisfy (Q R is A, Q has orthonormal
 * columns), computed here in long double; on types below f32 they must be those of f32, rounded. */
#include "linear.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- small matrices of long double */

value value_product(value a, value b) {
  return (value){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

matrix matrix_product(const matrix *a, const matrix *b) {
  matrix c = {.rows = a->rows, .columns = b->columns};
  for (int i = 0; i < c.rows; i++)
    for (int j = 0; j < c.columns; j++)
      for (int k = 0; k < a->columns; k++) {
        value p = value_product(a->at[i][k], b->at[k][j]);
        c.at[i][j] = (value){c.at[i][j].re + p.re, c.at[i][j].im + p.im};
      }
  return c;
}

matrix matrix_adjoint(const matrix *a) {
  matrix c = {.rows = a->columns, .columns = a->rows};
  for (int i = 0; i < c.rows; i++)
    for (int j = 0; j < c.columns; j++) c.at[i][j] = (value){a->at[j][i].re, -a->at[j][i].im};
  return c;
}

matrix matrix_identity(int n) {
  matrix c = {.rows = n, .columns = n};
  for (int i = 0; i < n; i++) c.at[i][i].re = 1;
  return c;
}

matrix matrix_of(const array *a, int number, int rows, int columns) {
  matrix c = {.rows = rows, .columns = columns};
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++)
      c.at[i][j] = decode(a->dtype, a->at[(number * rows + i) * columns + j]);
  return c;
}

matrix diagonal_of(const array *a, int number, int n) {
  matrix c = {.rows = n, .columns = n};
  for (int i = 0; i < n; i++) c.at[i][i] = decode(a->dtype, a->at[number * n + i]);
  return c;
}

static void set_matrix(array *a, int number, const matrix *m) {
  for (int i = 0; i < m->rows; i++)
    for (int j = 0; j < m->columns; j++)
      a->at[(number * m->rows + i) * m->columns + j] = encode(a->dtype, m->at[i][j]);
}

/* Equal within a few rounding units of the size of what was multiplied. */
void expect_matrix(trial *t, const matrix *is, const matrix *want, const char *what) {
  long double size = 1, unit = ldexpl(1, -t->format->precision);
  for (int i = 0; i < want->rows; i++)
    for (int j = 0; j < want->columns; j++)
      size = fmaxl(size, hypotl(want->at[i][j].re, want->at[i][j].im));
  for (int i = 0; i < want->rows; i++)
    for (int j = 0; j < want->columns; j++) {
      value x = is->at[i][j], y = want->at[i][j];
      t->cell->checked++;
      if (hypotl(x.re - y.re, x.im - y.im) <= 200 * size * unit) continue; /* false for NaN, too */
      fault(t, "%s: element (%d, %d) is (%Lg, %Lg), not (%Lg, %Lg)", what, i, j, x.re, x.im, y.re,
            y.im);
      return;
    }
}

/* ---- operands */

/* Whole numbers; WELL ones have a heavy diagonal. Of Hermitian ones the upper triangle is junk: it
 * must not be read. */
static matrix some_matrix(trial *t, shape s, int number) {
  matrix m = {.rows = s == TALL ? M : N, .columns = N};
  uint64_t state = (uint64_t)number * 100 + s;
  bool is_complex = t->format->kind == KIND_COMPLEX;
  for (int i = 0; i < m.rows; i++)
    for (int j = 0; j < N; j++) {
      m.at[i][j].re = (int)(random_word(&state) % 7) - 3;
      m.at[i][j].im = is_complex ? (int)(random_word(&state) % 7) - 3 : 0;
      if (i == j && s != SQUARE) m.at[i][j].re = 15 + i;
      if (i == j && (s == HERMITIAN || s == POSITIVE)) m.at[i][j].im = 0;
      if (j > i && s == LOWER) m.at[i][j] = (value){0, 0};
    }
  return m;
}

/* What a Hermitian operand stands for. */
matrix matrix_mirrored(const matrix *m) {
  matrix c = *m;
  for (int i = 0; i < m->rows; i++)
    for (int j = i + 1; j < m->columns; j++) c.at[i][j] = (value){m->at[j][i].re, -m->at[j][i].im};
  return c;
}

array *batch_of(trial *t, nx_dtype dtype, shape s) {
  array *a = new_array(t, dtype, 3, (const int64_t[]){BATCH, s == TALL ? M : N, N});
  for (int b = 0; b < BATCH; b++) {
    matrix m = some_matrix(t, s, b);
    set_matrix(a, b, &m);
  }
  return a;
}

/* ---- the operations */

nx_dtype same_dtype(nx_dtype dtype, int result) {
  (void)result;
  return dtype;
}
static nx_dtype real_second(nx_dtype dtype, int result) { return result == 1 ? NX_F64 : dtype; }
static nx_dtype real_first(nx_dtype dtype, int result) { return result == 0 ? NX_F64 : dtype; }
static nx_dtype all_c128(nx_dtype dtype, int result) {
  (void)dtype, (void)result;
  return NX_C128;
}
static nx_dtype part_second(nx_dtype dtype, int result) {
  return result == 1 ? format_of(dtype)->part : dtype;
}

ONE(cholesky, nx_cholesky(a, NX_LOWER))
SATISFY(cholesky) {
  (void)b;
  matrix l = matrix_of(r[0], number, N, N), up = matrix_adjoint(&l), p = matrix_product(&l, &up),
         whole = matrix_mirrored(a);
  expect_matrix(t, &p, &whole, "L L^H");
  for (int i = 0; i < N; i++)
    for (int j = i + 1; j < N; j++)
      if (l.at[i][j].re != 0 || l.at[i][j].im != 0) fault(t, "above the diagonal L is not 0");
}
ONE(cholesky_upper, nx_cholesky(a, NX_UPPER))
SATISFY(cholesky_upper) {
  (void)b;
  matrix u = matrix_of(r[0], number, N, N), low = matrix_adjoint(&u), p = matrix_product(&low, &u),
         whole = matrix_mirrored(a);
  expect_matrix(t, &p, &whole, "U^H U");
}

void expect_orthonormal(trial *t, const matrix *q, const char *what) {
  matrix back = matrix_adjoint(q), p = matrix_product(&back, q), one = matrix_identity(q->columns);
  expect_matrix(t, &p, &one, what);
}

MANY(qr, nx_qr(a, 0, &r.tensor[0], &r.tensor[1]))
SATISFY(qr) {
  (void)b;
  matrix q = matrix_of(r[0], number, M, N), up = matrix_of(r[1], number, N, N),
         p = matrix_product(&q, &up);
  expect_matrix(t, &p, a, "Q R");
  expect_orthonormal(t, &q, "Q^H Q");
  for (int i = 0; i < N; i++)
    for (int j = 0; j < i; j++)
      if (up.at[i][j].re != 0 || up.at[i][j].im != 0) fault(t, "below the diagonal R is not 0");
}

MANY(qr_complete, nx_qr(a, NX_FULL_MATRICES, &r.tensor[0], &r.tensor[1]))
SATISFY(qr_complete) {
  (void)b;
  matrix q = matrix_of(r[0], number, M, M), up = matrix_of(r[1], number, M, N),
         p = matrix_product(&q, &up);
  expect_matrix(t, &p, a, "Q R");
  expect_orthonormal(t, &q, "Q^H Q");
  for (int i = 0; i < M; i++)
    for (int j = 0; j < i && j < N; j++)
      if (up.at[i][j].re != 0 || up.at[i][j].im != 0) fault(t, "below the diagonal R is not 0");
}

MANY(svd, nx_svd(a, 0, &r.tensor[0], &r.tensor[1], &r.tensor[2]))
SATISFY(svd) {
  (void)b;
  matrix u = matrix_of(r[0], number, M, N), s = diagonal_of(r[1], number, N),
         vh = matrix_of(r[2], number, N, N);
  matrix us = matrix_product(&u, &s), p = matrix_product(&us, &vh), v = matrix_adjoint(&vh);
  expect_matrix(t, &p, a, "U S V^H");
  expect_orthonormal(t, &u, "U^H U");
  expect_orthonormal(t, &v, "V^H V");
  for (int i = 1; i < N; i++)
    if (s.at[i][i].re > s.at[i - 1][i - 1].re || s.at[i][i].re < 0)
      fault(t, "values are not descending");
}

MANY(svd_full, nx_svd(a, NX_FULL_MATRICES, &r.tensor[0], &r.tensor[1], &r.tensor[2]))
SATISFY(svd_full) {
  (void)b;
  matrix u = matrix_of(r[0], number, M, M), s = diagonal_of(r[1], number, N),
         vh = matrix_of(r[2], number, N, N), v = matrix_adjoint(&vh),
         us = {.rows = M, .columns = N};
  for (int i = 0; i < M; i++) /* the last columns of U have no values */
    for (int j = 0; j < N; j++) us.at[i][j] = value_product(u.at[i][j], s.at[j][j]);
  matrix p = matrix_product(&us, &vh);
  expect_matrix(t, &p, a, "U S V^H");
  expect_orthonormal(t, &u, "U^H U");
  expect_orthonormal(t, &v, "V^H V");
}

MANY(eigh, nx_eigh(a, 0, &r.tensor[0], &r.tensor[1]))
SATISFY(eigh) {
  (void)b;
  matrix w = diagonal_of(r[0], number, N), v = matrix_of(r[1], number, N, N),
         whole = matrix_mirrored(a);
  matrix is = matrix_product(&whole, &v), want = matrix_product(&v, &w);
  expect_matrix(t, &is, &want, "A V and V W");
  expect_orthonormal(t, &v, "V^H V");
  for (int i = 1; i < N; i++)
    if (w.at[i][i].re < w.at[i - 1][i - 1].re) fault(t, "values are not ascending");
}

/* The sum and the sum of squares of eigenvalues are traces of A and of A A. */
static void expect_traces(trial *t, const matrix *a, const matrix *w) {
  matrix square = matrix_product(a, a), squares = matrix_product(w, w),
         is = {.rows = 1, .columns = 2}, want = is;
  for (int i = 0; i < N; i++) {
    value parts[4] = {w->at[i][i], squares.at[i][i], a->at[i][i], square.at[i][i]};
    for (int k = 0; k < 2; k++) {
      is.at[0][k] = sum_of(NX_C128, is.at[0][k], parts[k]);
      want.at[0][k] = sum_of(NX_C128, want.at[0][k], parts[k + 2]);
    }
  }
  expect_matrix(t, &is, &want, "traces");
}
ONE(eigvalsh, nx_eigvalsh(a, 0))
SATISFY(eigvalsh) {
  (void)b;
  matrix w = diagonal_of(r[0], number, N), whole = matrix_mirrored(a);
  expect_traces(t, &whole, &w);
}
MANY(eig, nx_eig(a, &r.tensor[0], &r.tensor[1]))
SATISFY(eig) {
  (void)b;
  matrix w = diagonal_of(r[0], number, N), v = matrix_of(r[1], number, N, N);
  matrix is = matrix_product(a, &v), want = matrix_product(&v, &w);
  expect_matrix(t, &is, &want, "A V and V W");
}
ONE(eigvals, nx_eigvals(a))
SATISFY(eigvals) {
  (void)b;
  matrix w = diagonal_of(r[0], number, N);
  expect_traces(t, a, &w);
}

ONE(inv, nx_inv(a))
SATISFY(inv) {
  (void)b;
  matrix x = matrix_of(r[0], number, N, N), p = matrix_product(a, &x), one = matrix_identity(N);
  expect_matrix(t, &p, &one, "A A^-1");
}

/* By elimination; heavy diagonals need no exchange. */
static value determinant(matrix m) {
  value det = {1, 0};
  for (int k = 0; k < N; k++) {
    value pivot = m.at[k][k];
    long double square = pivot.re * pivot.re + pivot.im * pivot.im;
    value inverse = {pivot.re / square, -pivot.im / square};
    det = value_product(det, pivot);
    for (int i = k + 1; i < N; i++) {
      value factor = value_product(m.at[i][k], inverse);
      for (int j = k; j < N; j++) {
        value p = value_product(factor, m.at[k][j]);
        m.at[i][j] = (value){m.at[i][j].re - p.re, m.at[i][j].im - p.im};
      }
    }
  }
  return det;
}
ONE(det, nx_det(a))
SATISFY(det) {
  (void)b;
  matrix is = {.rows = 1, .columns = 1}, want = is;
  is.at[0][0] = decode(r[0]->dtype, r[0]->at[number]);
  want.at[0][0] = determinant(*a);
  expect_matrix(t, &is, &want, "the determinant");
}
MANY(slogdet, nx_slogdet(a, &r.tensor[0], &r.tensor[1]))
SATISFY(slogdet) {
  (void)b;
  matrix is = {.rows = 1, .columns = 2}, want = is;
  value det = determinant(*a);
  long double size = hypotl(det.re, det.im);
  want.at[0][0] = (value){det.re / size, det.im / size};
  want.at[0][1].re = logl(size);
  is.at[0][0] = decode(r[0]->dtype, r[0]->at[number]);
  is.at[0][1] = decode(r[1]->dtype, r[1]->at[number]);
  expect_matrix(t, &is, &want, "sign and logarithm");
}
ONE(pinv, nx_pinv(a, -1))
SATISFY(pinv) {
  (void)b;
  matrix x = matrix_of(r[0], number, N, M), ax = matrix_product(a, &x), p = matrix_product(&ax, a);
  expect_matrix(t, &p, a, "A A^+ A");
}

/* ---- running them */

bool is_small_float(nx_dtype dtype) {
  return format_of(dtype)->kind >= KIND_FLOAT && format_of(dtype)->precision < 24;
}

/* What the same call gives in f32, or c64, rounded. */
static void expect_like_f32(trial *t, const linear_call *c, array *const *is, nx_tensor *a,
                            nx_tensor *b) {
  nx_dtype as = t->dtype == NX_C32 ? NX_C64 : NX_F32;
  results wide = c->record(nx_cast(a, as), nx_cast(b, as));
  for (int k = 0; k < c->n; k++) {
    nx_dtype dtype = c->dtype(as, k);
    array *want = result_of(t, wide.tensor[k], dtype, is[k]->rank, is[k]->shape, "in f32");
    if (!want) return;
    for (size_t i = 0; i < want->n; i++) {
      bits b32 = converted(dtype, want->at[i], is[k]->dtype);
      t->cell->checked++;
      if (!same_value(is[k]->dtype, is[k]->at[i], b32))
        fault(t, "result %d: element %zu has the bits %llx, not %llx of f32, rounded", k, i,
              (unsigned long long)is[k]->at[i].low, (unsigned long long)b32.low);
    }
  }
}

static void check_results(trial *t, const linear_call *c, layout l) {
  array *a = batch_of(t, t->dtype, c->operand);
  array *b = batch_of(t, t->dtype, c->operand == TALL ? TALL : SQUARE), *is[4];
  nx_tensor *x = laid_out(t, a, l), *y = laid_out(t, b, (l + 1) % BROADCAST);
  results r = c->record(x, y);
  for (int k = 0; k < c->n; k++) {
    int64_t shape[3] = {BATCH, c->result[k].shape[0], c->result[k].shape[1]};
    is[k] = result_of(t, r.tensor[k], c->dtype(t->dtype, k), c->result[k].rank + 1, shape,
                      layout_names[l]);
    if (!is[k]) return;
  }
  if (is_small_float(t->dtype)) {
    expect_like_f32(t, c, is, x, y);
    return;
  }
  for (int n = 0; n < BATCH; n++) {
    matrix m = matrix_of(a, n, c->operand == TALL ? M : N, N),
           right = matrix_of(b, n, c->operand == TALL ? M : N, N);
    c->satisfy(t, &m, &right, is, n);
  }
}

static void expect_bad_call(trial *t, const linear_call *c, nx_tensor *a, nx_tensor *b,
                            nx_status status, const char *what) {
  results r = c->record(a, b);
  for (int k = 0; k < c->n; k++)
    if (r.tensor[k]) fault(t, "%s: was not refused", what);
  if (c->n > 1) expect_status(t, r.status, status, what);
  else expect_refusal(t, NULL, status, what);
}

void check_linear(trial *t) {
  const linear_call *c = t->op->detail;
  for (layout l = 0; l < BROADCAST; l++)
    if (is_due(t, l, BROADCAST)) check_results(t, c, l);
  nx_tensor *square = tensor_of(t, batch_of(t, t->dtype, SQUARE));
  nx_tensor *line = tensor_of(t, tame_values(t, t->dtype, 1, (const int64_t[]){4}, 1));
  expect_bad_call(t, c, NULL, square, NX_INVALID_ARGUMENT, "a null operand");
  expect_bad_call(t, c, line, line, NX_INVALID_ARGUMENT, "rank 1");
  if (c->operand != TALL)
    expect_bad_call(t, c, tensor_of(t, batch_of(t, t->dtype, TALL)), square, NX_INVALID_ARGUMENT,
                    "6 rows, 4 columns");
  if (c->failure == NX_OK || t->cell->mark == UNAVAILABLE) return;
  array *a = batch_of(t, t->dtype, c->operand);
  value bad = {c->failure == NX_NO_CONVERGENCE ? (long double)NAN : 0, 0};
  for (size_t i = a->n / BATCH; i < a->n; i++) a->at[i] = encode(t->dtype, bad);
  nx_tensor *b = tensor_of(t, batch_of(t, t->dtype, c->operand == TALL ? TALL : SQUARE));
  expect_failure(t, c->record(tensor_of(t, a), b).tensor[0], c->failure, 1,
                 "a second matrix that cannot be done");
}

nx_tensor *record_linear(trial *t, nx_dtype dtype) {
  const linear_call *c = t->op->detail;
  nx_tensor *a = tensor_of(t, batch_of(t, dtype, c->operand));
  return c->record(a, a).tensor[0];
}

/* ---- matmul: exact numbers, so that every order gives the same; more than a library's threshold;
 * no elements */

static void expect_product(trial *t, int64_t rows, int64_t inner, int64_t columns, layout l) {
  const int64_t left[] = {2, 1, rows, inner}, right[] = {3, inner, columns},
                both[] = {2, 3, rows, columns};
  array *a = tame_values(t, t->dtype, 4, left, 1), *b = tame_values(t, t->dtype, 3, right, 2),
        *want = new_array(t, t->dtype, 4, both);
  nx_tensor *x = laid_out(t, a, l), *y = laid_out(t, b, (l + 1) % LAYOUTS);
  for (int64_t i = 0; i < (int64_t)want->n; i++) {
    int64_t column = i % columns, row = i / columns % rows, second = i / (columns * rows) % 3,
            first = i / (columns * rows) / 3;
    value sum = {0, 0};
    for (int64_t k = 0; k < inner; k++) {
      value p = product_of(t->dtype, decode(t->dtype, a->at[(first * rows + row) * inner + k]),
                           decode(t->dtype, b->at[(second * inner + k) * columns + column]));
      sum = sum_of(t->dtype, sum, p);
    }
    want->at[i] = encode(t->dtype, sum);
  }
  char what[80];
  snprintf(what, sizeof what, "%d x %d x %d, %s", (int)rows, (int)inner, (int)columns,
           layout_names[l]);
  expect(t, nx_matmul(x, y), want, SAME, what);
}

/* A vector is a row on the left and a column on the right, which the result lacks. */
static void expect_vectors(trial *t) {
  static const int64_t many[] = {2, 3, 4}, three[] = {3}, four[] = {4};
  nx_tensor *a = tensor_of(t, tame_values(t, t->dtype, 3, many, 1)),
            *left = tensor_of(t, tame_values(t, t->dtype, 1, three, 2)),
            *right = tensor_of(t, tame_values(t, t->dtype, 1, four, 3)),
            *row = nx_reshape(left, NX_SHAPE(1, 3), 0),
            *column = nx_reshape(right, NX_SHAPE(4, 1), 0);
  const struct {
    nx_tensor *is, *as_matrices;
    extent shape;
    const char *what;
  } forms[] = {
      {nx_matmul(left, a), nx_matmul(row, a), {2, {2, 4}}, "a vector by matrices"},
      {nx_matmul(a, right), nx_matmul(a, column), {2, {2, 3}}, "matrices by a vector"},
      {nx_matmul(right, right),
       nx_matmul(nx_reshape(right, NX_SHAPE(1, 4), 0), column),
       {0, {0}},
       "a vector by a vector"},
  };
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const extent *e = &forms[i].shape;
    nx_tensor *same = nx_reshape(forms[i].as_matrices, e->shape, e->rank, 0);
    array *want = result_of(t, same, t->dtype, e->rank, e->shape, forms[i].what);
    if (want) expect(t, forms[i].is, want, SAME, forms[i].what);
  }
}

static void check_matmul(trial *t) {
  for (layout l = 0; l < LAYOUTS; l++)
    if (is_due(t, l, LAYOUTS)) expect_product(t, 5, 7, 3, l);
  expect_product(t, 35, 40, 33, (layout)(t->turn % LAYOUTS));
  expect_product(t, 3, 0, 2, CONTIGUOUS);
  expect_product(t, 0, 3, 2, CONTIGUOUS);
  nx_tensor *a = tensor_of(t, tame_values(t, t->dtype, 2, (const int64_t[]){3, 4}, 1));
  nx_tensor *line = tensor_of(t, tame_values(t, t->dtype, 1, (const int64_t[]){4}, 1));
  expect_refusal(t, nx_matmul(a, a), NX_INVALID_ARGUMENT, "3 x 4 by 3 x 4");
  nx_tensor *point = nx_full(t->context, t->device, t->dtype, NULL, 0, NX_INTEGER(1));
  expect_vectors(t);
  expect_refusal(t, nx_matmul(line, a), NX_INVALID_ARGUMENT, "a vector of 4 by 3 x 4");
  expect_refusal(t, nx_matmul(a, point), NX_INVALID_ARGUMENT, "a number");
  expect_refusal(t, nx_matmul(point, line), NX_INVALID_ARGUMENT, "a number by a vector");
  expect_refusal(t, nx_matmul(a, NULL), NX_INVALID_ARGUMENT, "a null operand");
}
static nx_tensor *record_matmul(trial *t, nx_dtype dtype) {
  nx_tensor *a = tensor_of(t, tame_values(t, dtype, 2, (const int64_t[]){3, 3}, 1));
  return nx_matmul(a, a);
}

static const operation linear_table[] = {
    {"matmul", B | I | F | C, check_matmul, record_matmul, NULL, 0, NULL},
    CALL("cholesky", POSITIVE, 1, do_cholesky, same_dtype, {{2, {N, N}}}, satisfy_cholesky,
         NX_NOT_POSITIVE_DEFINITE),
    CALL("cholesky, upper", POSITIVE, 1, do_cholesky_upper, same_dtype, {{2, {N, N}}},
         satisfy_cholesky_upper, NX_NOT_POSITIVE_DEFINITE),
    CALL("qr", TALL, 2, do_qr, same_dtype, {{2, {M, N}}, {2, {N, N}}}, satisfy_qr, NX_OK),
    CALL("qr, complete", TALL, 2, do_qr_complete, same_dtype, {{2, {M, M}}, {2, {M, N}}},
         satisfy_qr_complete, NX_OK),
    CALL("svd", TALL, 3, do_svd, real_second, {{2, {M, N}}, {1, {N}}, {2, {N, N}}}, satisfy_svd,
         NX_NO_CONVERGENCE),
    CALL("svd, full", TALL, 3, do_svd_full, real_second, {{2, {M, M}}, {1, {N}}, {2, {N, N}}},
         satisfy_svd_full, NX_NO_CONVERGENCE),
    CALL("eigh", HERMITIAN, 2, do_eigh, real_first, {{1, {N}}, {2, {N, N}}}, satisfy_eigh,
         NX_NO_CONVERGENCE),
    CALL("eigvalsh", HERMITIAN, 1, do_eigvalsh, real_first, {{1, {N}}}, satisfy_eigvalsh,
         NX_NO_CONVERGENCE),
    CALL("eig", SQUARE, 2, do_eig, all_c128, {{1, {N}}, {2, {N, N}}}, satisfy_eig,
         NX_NO_CONVERGENCE),
    CALL("eigvals", SQUARE, 1, do_eigvals, all_c128, {{1, {N}}}, satisfy_eigvals,
         NX_NO_CONVERGENCE),
    CALL("inv", WELL, 1, do_inv, same_dtype, {{2, {N, N}}}, satisfy_inv, NX_SINGULAR),
    CALL("det", WELL, 1, do_det, same_dtype, {{0, {0}}}, satisfy_det, NX_OK),
    CALL("slogdet", WELL, 2, do_slogdet, part_second, {{0, {0}}, {0, {0}}}, satisfy_slogdet, NX_OK),
    CALL("pinv", TALL, 1, do_pinv, same_dtype, {{2, {N, M}}}, satisfy_pinv, NX_NO_CONVERGENCE),
};
const family linear_family = {"Matrices", linear_table, sizeof linear_table / sizeof *linear_table};
