/* SPDX-License-Identifier: ISC */
/* triangular_solve and solve. What LAPACK sees of A and B in C order is A^T and B^T, so A X = B reads X^T A^T = B^T there, and is
 * solved from the right, in place of a copy of B: nothing is transposed. Rows of X^T do not depend on each other, so many of
 * them are cut into panels, by their number alone. */
#include <math.h>
#include <string.h>

#include "lapack.h"
#include "small_matrix.h"

typedef void (*trsm_fn)(const char *side, const char *uplo, const char *trans, const char *diag,
                        const int *m, const int *n, const void *alpha, const void *a,
                        const int *lda, void *b, const int *ldb, size_t, size_t, size_t, size_t);
typedef void (*getrf_fn)(const int *m, const int *n, void *a, const int *lda, int *pivots,
                         int *info);

/* X^T op(M) = B^T, where b holds `columns` columns of X, `ld` elements from row to row. */
static void from_right(nx_dtype t, const char *uplo, const char *trans, const char *diag, int n,
                       int columns, const void *a, void *b, int ld) {
  const double wide[2] = {1, 0};
  const float narrow[2] = {1, 0};
  nxi_lapack_enter();
  ((trsm_fn)nxi_lapack(NXI_LAPACK_trsm, t))(
      "R", uplo, trans, diag, &columns, &n,
      nxi_lapack_single(t) ? (const void *)narrow : (const void *)wide, a, &n, b, &ld, 1, 1, 1, 1);
  nxi_lapack_leave();
}

static bool is_zero(nx_dtype t, const void *x) {
  const float *f = x;
  const double *g = x;
  bool complex = nxi_lapack_complex(t);
  if (nxi_lapack_single(t)) return f[0] == 0 && (!complex || f[1] == 0);
  return g[0] == 0 && (!complex || g[1] == 0);
}

/* The first zero on the diagonal of an n x n matrix; -1 if there is none. */
static int zero_on_diagonal(nx_dtype t, int n, const char *a) {
  size_t step = ((size_t)n + 1) * (size_t)nxi_dtype_size(t);
  for (int i = 0; i < n; i++)
    if (is_zero(t, a + (size_t)i * step)) return i;
  return -1;
}

/* ---- triangular_solve */

enum { UPPER, TRANSPOSE, UNIT_DIAG };
enum { PANEL = 256 }; /* columns of X */

static int64_t panels_of(int64_t columns) {
  return columns > PANEL ? (columns + PANEL - 1) / PANEL : 1;
}

static nx_status prepare_triangular(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *b = &call->operands[1];
  int64_t rows = b->shape[b->rank - 2], columns = b->shape[b->rank - 1],
          panels = panels_of(columns);
  double n = (double)rows, k = (double)columns / (double)panels;
  nxi_batch_work(work, rows ? nxi_batches(b, 2) * panels : 0, n * n * k, n * n + n * k);
  work->split = panels;
  return nxi_lapack_ready("triangular_solve", d);
}

static nx_status one_triangular(const nxg_call_part *part, int64_t task) {
  const nxg_array *a = &part->call->operands[0], *b = &part->call->operands[1];
  const int64_t *attrs = part->call->attrs;
  int n = (int)b->shape[b->rank - 2], columns = (int)b->shape[b->rank - 1];
  int64_t panels = panels_of(columns), index = task / panels, first = task % panels * PANEL;
  int width = columns - first < PANEL ? (int)(columns - first) : PANEL;
  size_t size = (size_t)nxi_dtype_size(b->dtype), skip = (size_t)first * size;
  const char *matrix = nxi_item(a, part->operands[0], 2, index),
             *from = (char *)nxi_item(b, part->operands[1], 2, index) + skip;
  char *to = (char *)nxi_item(b, part->results[0], 2, index) + skip;
  if (!attrs[UNIT_DIAG] && zero_on_diagonal(a->dtype, n, matrix) >= 0) return NX_SINGULAR;
  for (int i = 0; i < n; i++)
    memcpy(to + (size_t)i * (size_t)columns * size, from + (size_t)i * (size_t)columns * size,
           (size_t)width * size);
  from_right(a->dtype, attrs[UPPER] ? "L" : "U", attrs[TRANSPOSE] ? "C" : "N",
             attrs[UNIT_DIAG] ? "U" : "N", n, width, matrix, to, columns > 0 ? columns : 1);
  return NX_OK;
}

static nx_status run_triangular(nxg_call_part *part) { return nxi_each_item(part, one_triangular); }

const nxg_functions nxi_triangular_solve_functions = {prepare_triangular, run_triangular, NULL};

/* ---- solve: A^T = P L U, so X^T = ((B^T U^-1) L^-1) P^T */

enum { FACTORS, PIVOTS };

static nx_status prepare_solve(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *b = &call->operands[1];
  double n = (double)b->shape[b->rank - 2], k = (double)b->shape[b->rank - 1];
  nx_status status = nxi_lapack_ready("solve", d);
  nxi_batch_work(work, n > 0 ? nxi_batches(b, 2) : 0, 2 * n * n * n / 3 + 2 * n * n * k,
                 n * n + n * k);
  if (status || n == 0) return status;
  const double lengths[] = {n * n, n};
  return nxi_work_state(call, work, b->dtype, lengths, 2, d);
}

/* Rows of X that a pivot exchanged, back in the opposite order. */
static void undo_pivots(int n, const int *pivots, size_t row, char *x) {
  for (int i = n; i-- > 0;) {
    char *a = x + (size_t)i * row, *b = x + (size_t)(pivots[i] - 1) * row, piece[256];
    if (a == b) continue;
    for (size_t at = 0, part; at < row; at += part) {
      part = row - at < sizeof piece ? row - at : sizeof piece;
      memcpy(piece, a + at, part);
      memcpy(a + at, b + at, part);
      memcpy(b + at, piece, part);
    }
  }
}

static nx_status one_solve(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0], *b = &part->call->operands[1];
  nx_dtype t = a->dtype;
  int n = (int)b->shape[b->rank - 2], columns = (int)b->shape[b->rank - 1], info = 0,
      ld = columns > 0 ? columns : 1, *pivots = nxi_work_array(part, PIVOTS, NULL);
  size_t size = (size_t)nxi_dtype_size(t), row = (size_t)columns * size;
  char *factors = nxi_work_array(part, FACTORS, NULL), *x = nxi_item(b, part->results[0], 2, index);
  memcpy(factors, nxi_item(a, part->operands[0], 2, index), (size_t)n * (size_t)n * size);
  memcpy(x, nxi_item(b, part->operands[1], 2, index), (size_t)n * row);
  if (nxi_is_small_matrix(t, n)) {
    if (!nxi_small_lu(t, n, factors, pivots)) return NX_SINGULAR;
    nxi_small_solve(t, n, columns, factors, pivots, x);
    return NX_OK;
  }
  nxi_lapack_enter();
  ((getrf_fn)nxi_lapack(NXI_LAPACK_getrf, t))(&n, &n, factors, &n, pivots, &info);
  nxi_lapack_leave();
  if (info != 0 || zero_on_diagonal(t, n, factors) >= 0) return NX_SINGULAR;
  from_right(t, "U", "N", "N", n, columns, factors, x, ld);
  from_right(t, "L", "N", "U", n, columns, factors, x, ld);
  undo_pivots(n, pivots, row, x);
  return NX_OK;
}

static nx_status run_solve(nxg_call_part *part) { return nxi_each_item(part, one_solve); }

const nxg_functions nxi_solve_functions = {prepare_solve, run_solve, nxi_work_release};
