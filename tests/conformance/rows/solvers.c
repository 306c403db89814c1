/* SPDX-License-Identifier: ISC */
/* A x = b in all its forms: triangles, transposed, adjoint, with a diagonal of ones; right sides
 * that are vectors, one column, several, none, and batches that broadcast. What must not be read is
 * NaN. Results are checked by what they must satisfy; on types below f32 they must be those of f32,
 * rounded. */
#include "linear.h"

#include <math.h>
#include <stdio.h>

/* ---- the solvers, and the matrix that each stands for */

typedef nx_tensor *solver(nx_tensor *a, nx_tensor *b, uint32_t flags);

static nx_tensor *least(nx_tensor *a, nx_tensor *b, uint32_t flags) {
  return nx_lstsq(a, b, -1, flags);
}

/* Makes what the form does not read NaN, and returns what it reads, as the matrix that is meant. */
static matrix triangle_of(array *a, int number, uint32_t flags) {
  matrix m = matrix_of(a, number, N, N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      bool ones = i == j && flags & NX_UNIT_DIAGONAL;
      if ((flags & NX_UPPER ? j >= i : j <= i) && !ones) continue;
      a->at[(number * N + i) * N + j] = encode(a->dtype, (value){NAN, 0});
      m.at[i][j] = (value){ones, 0};
    }
  if (!(flags & (NX_TRANSPOSED | NX_ADJOINT))) return m;
  m = matrix_adjoint(&m);
  for (int i = 0; i < N && flags & NX_TRANSPOSED; i++)
    for (int j = 0; j < N; j++) m.at[i][j].im = -m.at[i][j].im;
  return m;
}

/* ---- what must hold */

static void expect_solution(trial *t, const matrix *a, const matrix *x, const matrix *b,
                            const char *what) {
  matrix p = matrix_product(a, x);
  if (a->rows == a->columns) {
    expect_matrix(t, &p, b, what);
    return;
  }
  matrix rest = p, back = matrix_adjoint(a), none = {.rows = a->columns, .columns = b->columns};
  for (int i = 0; i < p.rows; i++) /* products of A with A are some hundreds */
    for (int j = 0; j < p.columns; j++)
      rest.at[i][j] =
          (value){(p.at[i][j].re - b->at[i][j].re) / 100, (p.at[i][j].im - b->at[i][j].im) / 100};
  rest = matrix_product(&back, &rest);
  expect_matrix(t, &rest, &none, what);
}

/* The same call in f32, rounded. */
static void expect_rounded(trial *t, solver *solve, uint32_t f, nx_tensor *a, nx_tensor *b,
                           const array *is, const char *what) {
  nx_dtype as = t->dtype == NX_C32 ? NX_C64 : NX_F32;
  nx_tensor *wide = solve(nx_cast(a, as), nx_cast(b, as), f);
  array *want = result_of(t, wide, as, is->rank, is->shape, what);
  for (size_t i = 0; want && i < is->n; i++) {
    t->cell->checked++;
    bits rounded = converted(as, want->at[i], t->dtype);
    if (same_value(t->dtype, rounded, is->at[i])) continue;
    fault(t, "%s: element %zu is not that of f32, rounded", what, i);
    return;
  }
}

/* A right side: its shape; the number of matrices and columns that it has. */
typedef struct side {
  const char *what;
  extent b, x; /* rows are 0 here */
  int batch, columns;
  bool one_matrix; /* a has no batch */
  uint32_t flags;
} side;

static const side sides[] = {
    {"a matrix", {3, {BATCH, 0, 3}}, {3, {BATCH, 0, 3}}, BATCH, 3, false, 0},
    {"vectors", {2, {BATCH, 0}}, {2, {BATCH, 0}}, BATCH, 1, false, NX_VECTORS},
    {"one vector", {1, {0}}, {1, {0}}, 1, 1, true, 0},
    {"one vector, said to be one", {1, {0}}, {1, {0}}, 1, 1, true, NX_VECTORS},
    {"one vector for several matrices", {1, {0}}, {2, {BATCH, 0}}, 1, 1, false, 0},
    {"one matrix for several", {2, {0, 2}}, {3, {BATCH, 0, 2}}, 1, 2, false, 0},
    {"one column", {2, {0, 1}}, {2, {0, 1}}, 1, 1, true, 0},
    {"no column", {3, {BATCH, 0, 0}}, {3, {BATCH, 0, 0}}, BATCH, 0, false, 0},
    {"several for one matrix", {3, {BATCH, 0, 2}}, {3, {BATCH, 0, 2}}, BATCH, 2, true, 0},
    {"one for several matrices", {3, {1, 0, 2}}, {3, {BATCH, 0, 2}}, 1, 2, false, 0},
};
enum { SIDES = sizeof sides / sizeof *sides };

/* With the number of rows in its place. */
static extent with_rows(const side *s, extent e, int rows) {
  bool vector = s->columns == 1 && e.shape[e.rank - 1] == 0;
  e.shape[e.rank - (vector ? 1 : 2)] = rows;
  return e;
}

static void check_side(trial *t, solver *solve, uint32_t f, shape kind, const side *s, layout l) {
  int rows = kind == TALL ? M : N;
  array *a = batch_of(t, t->dtype, kind);
  matrix meant[BATCH];
  for (int i = 0; i < BATCH; i++)
    meant[i] = solve == nx_triangular_solve ? triangle_of(a, i, f) : matrix_of(a, i, rows, N);
  extent of_b = with_rows(s, s->b, rows), of_x = with_rows(s, s->x, N);
  array *b = tame_values(t, t->dtype, of_b.rank, of_b.shape, 3);
  nx_tensor *left = laid_out(t, a, l), *right = laid_out(t, b, (l + 2) % BROADCAST);
  if (s->one_matrix) {
    left =
        nx_reshape(nx_contiguous(nx_shrink(left, (int64_t[]){0, 0, 0}, (int64_t[]){1, rows, N}, 3)),
                   (int64_t[]){rows, N}, 2, 0);
  }
  char what[100];
  snprintf(what, sizeof what, "%s, %s%s%s%s%s", s->what, layout_names[l],
           f & NX_UPPER ? ", upper" : "", f & NX_TRANSPOSED ? ", transposed" : "",
           f & NX_ADJOINT ? ", adjoint" : "", f & NX_UNIT_DIAGONAL ? ", unit diagonal" : "");
  f |= s->flags;
  array *x = result_of(t, solve(left, right, f), t->dtype, of_x.rank, of_x.shape, what);
  if (!x) return;
  if (is_small_float(t->dtype)) {
    expect_rounded(t, solve, f, left, right, x, what);
    return;
  }
  for (int i = 0; i < BATCH && x->n; i++) {
    matrix is =
               matrix_of(x, of_x.rank == 1 || s->batch * s->one_matrix == 1 ? 0 : i, N, s->columns),
           want = matrix_of(b, s->batch == 1 ? 0 : i, rows, s->columns);
    expect_solution(t, &meant[s->one_matrix ? 0 : i], &is, &want, what);
  }
}

/* ---- rows */

typedef struct solving {
  solver *solve;
  shape kind;
  bool forms;
} solving;

static void check_refusals(trial *t, const solving *s, uint32_t f) {
  int rows = s->kind == TALL ? M : N;
  nx_tensor *a = tensor_of(t, batch_of(t, t->dtype, s->kind)),
            *line = tensor_of(t, tame_values(t, t->dtype, 1, (const int64_t[]){rows}, 1)),
            *short_one = tensor_of(t, tame_values(t, t->dtype, 2, (const int64_t[]){BATCH, 3}, 1)),
            *three = tensor_of(t, tame_values(t, t->dtype, 1, (const int64_t[]){3}, 1)),
            *others = tensor_of(t, tame_values(t, t->dtype, 3, (const int64_t[]){3, rows, 1}, 1)),
            *point = nx_full(t->context, t->device, t->dtype, NULL, 0, NX_INTEGER(1)),
            *wrong = nx_cast(a, t->dtype == NX_F64 ? NX_F32 : NX_F64);
  expect_refusal(t, s->solve(NULL, a, f), NX_INVALID_ARGUMENT, "no matrix");
  expect_refusal(t, s->solve(a, NULL, f), NX_INVALID_ARGUMENT, "no right side");
  expect_refusal(t, s->solve(line, line, f), NX_INVALID_ARGUMENT, "a matrix of rank 1");
  expect_refusal(t, s->solve(a, three, f), NX_INVALID_ARGUMENT, "a vector of 3");
  expect_refusal(t, s->solve(a, point, f), NX_INVALID_ARGUMENT, "a right side of rank 0");
  expect_refusal(t, s->solve(a, short_one, f | NX_VECTORS), NX_INVALID_ARGUMENT, "vectors of 3");
  expect_refusal(t, s->solve(a, short_one, f), NX_INVALID_ARGUMENT, "a matrix of 2 rows");
  expect_refusal(t, s->solve(a, a, f | 1u << 20), NX_INVALID_ARGUMENT, "a flag that is unknown");
  if (s->forms)
    expect_refusal(t, s->solve(a, a, NX_TRANSPOSED | NX_ADJOINT), NX_INVALID_ARGUMENT,
                   "transposed and adjoint");
  expect_refusal(t, s->solve(a, others, f), NX_INVALID_ARGUMENT, "batches of 2 and 3");
  expect_refusal(t, s->solve(a, wrong, f), NX_INVALID_ARGUMENT, "two types");
  expect_refusal(t, s->solve(a, nx_cast(a, NX_I32), f), NX_UNSUPPORTED_DTYPE, "integers");
}

/* A zero on the diagonal of the second matrix: an error, unless the diagonal is not read. */
static void check_singular(trial *t, uint32_t f) {
  array *a = batch_of(t, t->dtype, WELL);
  a->at[(N + 2) * N + 2] = encode(t->dtype, (value){0, 0});
  array *b = tame_values(t, t->dtype, 3, (const int64_t[]){BATCH, N, 2}, 5);
  nx_tensor *x = nx_triangular_solve(tensor_of(t, a), tensor_of(t, b), f);
  if (f & NX_UNIT_DIAGONAL) result_of(t, x, t->dtype, 3, b->shape, "a zero that is not read");
  else expect_failure(t, x, NX_SINGULAR, 1, "a zero on the diagonal");
}

static void check_solving(trial *t) {
  const solving *s = t->op->detail;
  static const uint32_t turned[] = {0, NX_TRANSPOSED, NX_ADJOINT};
  unsigned forms = s->forms ? 12 : 1;
  for (unsigned n = 0; n < forms; n++) {
    uint32_t f = turned[n % 3] | (n / 3 & 1 ? NX_UPPER : 0) | (n / 6 ? NX_UNIT_DIAGONAL : 0);
    for (unsigned k = 0; k < SIDES; k++)
      if (is_due(t, (n + k) % SIDES, SIDES) || (!s->forms && is_due(t, (k + 3) % SIDES, SIDES)))
        check_side(t, s->solve, f, s->kind, &sides[k], (layout)((t->turn + n + k) % BROADCAST));
    if (t->cell->mark == UNAVAILABLE) break;
    if (s->forms) check_singular(t, f);
    check_refusals(t, s, f);
  }
}

static nx_tensor *record_solving(trial *t, nx_dtype dtype) {
  const solving *s = t->op->detail;
  nx_tensor *a = tensor_of(t, batch_of(t, dtype, s->kind));
  return s->solve(a, a, 0);
}

#define SOLVER(name, solve, kind, forms) \
  {name, F | C, check_solving, record_solving, &(const solving){solve, kind, forms}, 0, NULL}
static const operation solver_table[] = {
    SOLVER("triangular_solve", nx_triangular_solve, WELL, true),
    SOLVER("solve", nx_solve, WELL, false),
    SOLVER("lstsq", least, TALL, false),
    SOLVER("lstsq_qr", nx_lstsq_qr, TALL, false),
};
const family solver_family = {"Matrices and right sides", solver_table,
                              sizeof solver_table / sizeof *solver_table};
