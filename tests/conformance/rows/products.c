/* SPDX-License-Identifier: ISC */
/* Norms, ranks and what is told of failures, by what they mean; diagonals and sums of products on
 * small whole numbers, which every type has: exact. */
#include "linear.h"

#include <math.h>
#include <string.h>

/* ---- norms */

static nx_dtype real_part(nx_dtype dtype, int result) {
  (void)result;
  return format_of(dtype)->part;
}
static nx_dtype always_i32(nx_dtype dtype, int result) {
  (void)dtype, (void)result;
  return NX_I32;
}
static nx_dtype second_i32(nx_dtype dtype, int result) { return result ? NX_I32 : dtype; }

static long double size_of(value v) { return hypotl(v.re, v.im); }
static matrix number_of(long double x) {
  matrix m = {.rows = 1, .columns = 1};
  m.at[0][0].re = x;
  return m;
}
/* Result `at` of matrix `number`, of `n` a matrix. */
static long double element(const array *r, int number, int n, int at) {
  return decode(r->dtype, r->at[number * n + at]).re;
}

/* The root of the sum of squares. */
static matrix norm_of(const matrix *a) {
  long double sum = 0;
  for (int i = 0; i < a->rows; i++)
    for (int j = 0; j < a->columns; j++) sum += powl(size_of(a->at[i][j]), 2);
  return number_of(sqrtl(sum));
}

ONE(vector_norm, nx_vector_norm(a, 2, NX_AXES(1, 2), 0))
SATISFY(vector_norm) {
  matrix is = number_of(element(r[0], number, 1, 0)), want = norm_of(a);
  (void)b;
  expect_matrix(t, &is, &want, "the norm of all");
}

ONE(matrix_norm, nx_matrix_norm(a, NX_NORM_INF, 0))
SATISFY(matrix_norm) {
  long double most = 0;
  (void)b;
  for (int i = 0; i < a->rows; i++) {
    long double sum = 0;
    for (int j = 0; j < N; j++) sum += size_of(a->at[i][j]);
    most = sum > most ? sum : most;
  }
  matrix is = number_of(element(r[0], number, 1, 0)), want = number_of(most);
  expect_matrix(t, &is, &want, "the largest sum of a row");
}

ONE(svdvals, nx_svdvals(a, NX_INPUT_PRECISION))
SATISFY(svdvals) {
  matrix values = diagonal_of(r[0], number, N), is = norm_of(&values), want = norm_of(a);
  (void)b;
  expect_matrix(t, &is, &want, "the sum of squares");
}

static results do_cond(nx_tensor *a, nx_tensor *b) {
  results r = {{nx_cond(a, NX_NORM_2)}, NX_OK};
  (void)b;
  if (r.tensor[0]) r.tensor[1] = nx_svdvals(a, NX_INPUT_PRECISION);
  else r.status = NX_INVALID_ARGUMENT; /* the thread has the error */
  return r;
}
SATISFY(cond) {
  (void)a, (void)b;
  matrix is = number_of(element(r[0], number, 1, 0) * element(r[1], number, N, N - 1)),
         want = number_of(element(r[1], number, N, 0));
  expect_matrix(t, &is, &want, "times the least singular value");
}

ONE(matrix_rank, nx_matrix_rank(a, -1))
SATISFY(matrix_rank) {
  (void)a, (void)b;
  if (element(r[0], number, 1, 0) != N) fault(t, "the rank of a regular matrix is another");
}

/* ---- what is told */

MANY(cholesky_info, nx_cholesky_info(a, 0, &r.tensor[0], &r.tensor[1]))
SATISFY(cholesky_info) {
  matrix l = matrix_of(r[0], number, N, N), lh = matrix_adjoint(&l), is = matrix_product(&l, &lh),
         want = matrix_mirrored(a);
  (void)b;
  expect_matrix(t, &is, &want, "L L^H");
  if (element(r[1], number, 1, 0) != 0) fault(t, "a pivot that is positive has failed");
}
MANY(inv_info, nx_inv_info(a, &r.tensor[0], &r.tensor[1]))
SATISFY(inv_info) {
  matrix x = matrix_of(r[0], number, N, N), is = matrix_product(a, &x), one = matrix_identity(N);
  (void)b;
  expect_matrix(t, &is, &one, "A A^-1");
  if (element(r[1], number, 1, 0) != 0) fault(t, "a pivot that is not zero has failed");
}

/* ---- products of whole numbers, -1 to 1 */

static array *small(trial *t, nx_dtype dtype, int32_t rank, const int64_t *shape, unsigned seed) {
  array *a = new_array(t, dtype, rank, shape);
  uint64_t state = seed;
  bool complex = format_of(dtype)->kind == KIND_COMPLEX;
  for (size_t i = 0; i < a->n; i++) {
    uint64_t word = random_word(&state);
    value v = {(long double)(word % 3) - 1, complex ? (long double)(word / 3 % 3) - 1 : 0};
    a->at[i] = encode(dtype, v);
  }
  return a;
}

static value at(const array *a, size_t i) { return decode(a->dtype, a->at[i]); }
static value times(const trial *t, value a, value b) { return product_of(t->dtype, a, b); }
static value conjugate(value v) { return (value){v.re, v.im == 0 ? 0 : -v.im}; }

/* The sum of some terms, as the type has it. */
typedef struct terms {
  const trial *t;
  value sum;
} terms;
static void add(terms *s, value v) { s->sum = sum_of(s->t->dtype, s->sum, v); }

static const int64_t cube[] = {2, 3, 3}, square[] = {3, 3}, three[] = {3}, four[] = {4};

static void check_diagonal(trial *t) {
  for (layout l = 0; l < BROADCAST; l++) {
    array *a = some_values(t, t->dtype, 3, cube, 3),
          *want = new_array(t, t->dtype, 2, (const int64_t[]){2, 2});
    for (size_t i = 0; i < 4; i++) want->at[i] = a->at[i / 2 * 9 + i % 2 * 4 + 1];
    expect(t, nx_diagonal(laid_out(t, a, l), 1, 1, -1), want, SAME_BITS, layout_names[l]);
  }
  nx_tensor *x = tensor_of(t, some_values(t, t->dtype, 2, square, 3));
  expect(t, nx_diagonal(x, -3, 0, 1), new_array(t, t->dtype, 1, (const int64_t[]){0}), SAME_BITS,
         "beyond the corner");
  expect_refusal(t, nx_diagonal(x, 0, 0, -2), NX_INVALID_ARGUMENT, "one axis twice");
  expect_refusal(t, nx_diagonal(x, 0, 0, 2), NX_INVALID_ARGUMENT, "no such axis");
}
static nx_tensor *record_diagonal(trial *t, nx_dtype dtype) {
  return nx_diagonal(tensor_of(t, tame_values(t, dtype, 2, square, 3)), 0, 0, 1);
}

static void check_trace(trial *t) {
  array *a = small(t, t->dtype, 3, cube, 5), *want = new_array(t, t->dtype, 1, three);
  for (size_t j = 0; j < 3; j++) {
    terms s = {t, {0, 0}};
    for (size_t i = 0; i < 2; i++) add(&s, at(a, i * 9 + i * 3 + j));
    want->at[j] = encode(t->dtype, s.sum);
  }
  expect(t, nx_trace(laid_out(t, a, t->turn % BROADCAST), 0, 0, 1), want, SAME, "of two axes");
}
static nx_tensor *record_trace(trial *t, nx_dtype dtype) {
  return nx_trace(tensor_of(t, tame_values(t, dtype, 2, square, 3)), 0, 0, 1);
}

static void check_vectors(trial *t) {
  array *a = small(t, t->dtype, 1, three, 7), *b = small(t, t->dtype, 1, three, 8),
        *outer = new_array(t, t->dtype, 2, square), *dot = new_array(t, t->dtype, 0, NULL),
        *cross = new_array(t, t->dtype, 1, three);
  terms s = {t, {0, 0}};
  for (size_t i = 0; i < 3; i++) {
    const size_t j = (i + 1) % 3, k = (i + 2) % 3;
    value less = times(t, at(a, k), at(b, j));
    terms difference = {t, times(t, at(a, j), at(b, k))};
    add(&difference, (value){-less.re, -less.im});
    cross->at[i] = encode(t->dtype, difference.sum);
    add(&s, times(t, conjugate(at(a, i)), at(b, i)));
    for (size_t c = 0; c < 3; c++)
      outer->at[i * 3 + c] = encode(t->dtype, times(t, at(a, i), at(b, c)));
  }
  dot->at[0] = encode(t->dtype, s.sum);
  nx_tensor *x = laid_out(t, a, FLIPPED), *y = laid_out(t, b, STEPPED);
  expect(t, nx_outer(x, y), outer, SAME, "outer");
  expect(t, nx_vecdot(x, y, -1), dot, SAME, "vecdot");
  if (t->dtype == NX_BOOL)
    expect_refusal(t, nx_cross(x, y, -1), NX_UNSUPPORTED_DTYPE, "cross, which subtracts");
  else expect(t, nx_cross(x, y, -1), cross, SAME, "cross");
  nx_tensor *longer = tensor_of(t, small(t, t->dtype, 1, four, 1));
  expect_refusal(t, nx_cross(longer, longer, -1), NX_INVALID_ARGUMENT, "four components");
  expect_refusal(t, nx_vecdot(x, longer, -1), NX_INVALID_ARGUMENT, "3 and 4 elements");
  expect_refusal(t, nx_vecdot(x, y, 0), NX_INVALID_ARGUMENT, "an axis from the front");
}
static nx_tensor *record_vectors(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 1, three, 3));
  return nx_vecdot(x, x, -1);
}

static void check_tensors(trial *t) {
  static const int64_t wide[] = {6, 9};
  array *a = small(t, t->dtype, 3, cube, 9), *b = small(t, t->dtype, 2, square, 10),
        *dot = new_array(t, t->dtype, 3, cube), *kron = new_array(t, t->dtype, 2, wide),
        *all = new_array(t, t->dtype, 4, (const int64_t[]){3, 3, 2, 3});
  array *flat = small(t, t->dtype, 2, (const int64_t[]){2, 3}, 11);
  for (size_t i = 0; i < 18; i++) { /* over axis 1 of a and axis 0 of b */
    terms s = {t, {0, 0}};
    for (size_t k = 0; k < 3; k++)
      add(&s, times(t, at(a, i / 9 * 9 + k * 3 + i / 3 % 3), at(b, k * 3 + i % 3)));
    dot->at[i] = encode(t->dtype, s.sum);
  }
  for (size_t i = 0; i < 54; i++) {
    const size_t row = i / 9, column = i % 9;
    kron->at[i] = encode(
        t->dtype, times(t, at(flat, row / 3 * 3 + column / 3), at(b, row % 3 * 3 + column % 3)));
    terms s = {t, times(t, at(b, i / 6), at(flat, i % 6))};
    if (format_of(t->dtype)->kind == KIND_COMPLEX)
      add(&s, (value){0, 0}); /* sums of two products, from +0 */
    all->at[i] = encode(t->dtype, s.sum);
  }
  nx_tensor *x = laid_out(t, a, TRANSPOSED), *y = laid_out(t, b, SLICED),
            *z = laid_out(t, flat, FLIPPED);
  expect(t, nx_tensordot(x, y, (int32_t[]){1}, (int32_t[]){0}, 1), dot, SAME, "tensordot");
  expect(t, nx_tensordot(y, z, NULL, NULL, 0), all, SAME, "all products");
  expect(t, nx_kron(z, y), kron, SAME, "kron");
  expect_refusal(t, nx_tensordot(x, y, (int32_t[]){0}, (int32_t[]){0}, 1), NX_INVALID_ARGUMENT,
                 "2 and 3 elements");
}
static nx_tensor *record_tensors(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, square, 3));
  return nx_kron(x, x);
}

static void check_chain(trial *t) {
  array *a = small(t, t->dtype, 1, three, 12), *b = small(t, t->dtype, 2, square, 13),
        *want = new_array(t, t->dtype, 1, three);
  /* the middle one only exchanges rows, so that no number grows */
  array *turn = new_array(t, t->dtype, 2, square);
  for (size_t i = 0; i < 3; i++) turn->at[i * 3 + (i + 1) % 3] = encode_real(t->dtype, 1);
  for (size_t j = 0; j < 3; j++) {
    terms s = {t, {0, 0}};
    for (size_t i = 0; i < 3; i++) add(&s, times(t, at(a, i), at(b, (i + 1) % 3 * 3 + j)));
    want->at[j] = encode(t->dtype, s.sum);
  }
  nx_tensor *m[3] = {tensor_of(t, a), tensor_of(t, turn), laid_out(t, b, TRANSPOSED)};
  expect(t, nx_multi_dot(m, 3), want, SAME, "a row and two matrices");
  expect_refusal(t, nx_multi_dot(m, 1), NX_INVALID_ARGUMENT, "one operand");
}
static nx_tensor *record_chain(trial *t, nx_dtype dtype) {
  nx_tensor *x = tensor_of(t, tame_values(t, dtype, 2, square, 3)), *m[2] = {x, x};
  return nx_multi_dot(m, 2);
}

#define LINE \
  {          \
    1, { N } \
  }
#define NUMBER {0, {0}}
static const operation product_table[] = {
    CALL("vector_norm", TALL, 1, do_vector_norm, real_part, {NUMBER}, satisfy_vector_norm, NX_OK),
    CALL("matrix_norm", TALL, 1, do_matrix_norm, real_part, {NUMBER}, satisfy_matrix_norm, NX_OK),
    CALL("svdvals", TALL, 1, do_svdvals, real_part, {LINE}, satisfy_svdvals, NX_NO_CONVERGENCE),
    CALL("cond", TALL, 2, do_cond, real_part, {NUMBER, LINE}, satisfy_cond, NX_OK),
    CALL("matrix_rank", TALL, 1, do_matrix_rank, always_i32, {NUMBER}, satisfy_matrix_rank,
         NX_NO_CONVERGENCE),
    CALL("cholesky_info", POSITIVE, 2, do_cholesky_info, second_i32, {{2, {N, N}}, NUMBER},
         satisfy_cholesky_info, NX_OK),
    CALL("inv_info", WELL, 2, do_inv_info, second_i32, {{2, {N, N}}, NUMBER}, satisfy_inv_info,
         NX_OK),
    {"diagonal", ALL, check_diagonal, record_diagonal, NULL, 0, NULL},
    {"trace", B | I | F | C, check_trace, record_trace, NULL, 0, NULL},
    {"outer, vecdot, cross", B | I | F | C, check_vectors, record_vectors, NULL, 0, NULL},
    {"tensordot, kron", B | I | F | C, check_tensors, record_tensors, NULL, 0, NULL},
    {"multi_dot", B | I | F | C, check_chain, record_chain, NULL, 0, NULL},
};
const family product_family = {"Norms, diagonals, products", product_table,
                               sizeof product_table / sizeof *product_table};
