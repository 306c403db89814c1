/* SPDX-License-Identifier: ISC */
/* The operations triangular_solve and solve. LAPACK expects columns, so matrices A and B in C
 * order are A^T and B^T to it, and A X = B is X^T A^T = B^T. That is solved from the right, in
 * place in a copy of B, so nothing is transposed. The rows of X^T are independent; if there are
 * many they are divided into panels, by their number alone. */
#include <math.h>
#include <string.h>

#include "runtime/library/blas/level3.h"
#include "runtime/library/linalg/factors/lu.h"
#include "runtime/library/linalg/factors/small_matrix.h"

/* ---- triangular_solve */

enum { UPPER, TRANSPOSE, UNIT_DIAG, GIVES_NAN };
/* Columns of X that are computed together: enough for a product, and few enough for the threads. */
static int panel_of(int64_t columns) { return columns > 512 ? 256 : 64; }

static int64_t panels_of(int64_t columns) {
  const int panel = panel_of(columns);
  return columns > panel ? (columns + panel - 1) / panel : 1;
}

static void copy_columns(int rows, size_t row, size_t bytes, const char *from, char *to) {
  for (int i = 0; i < rows; i++) memcpy(to + (size_t)i * row, from + (size_t)i * row, bytes);
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
  const int panel = panel_of(columns);
  int64_t panels = panels_of(columns), index = task / panels, first = task % panels * panel;
  int width = columns - first < panel ? (int)(columns - first) : panel;
  size_t size = (size_t)nxi_dtype_size(b->dtype), skip = (size_t)first * size;
  const char *matrix = nxi_item(a, part->operands[0], 2, index),
             *from = (char *)nxi_item(b, part->operands[1], 2, index) + skip;
  char *to = (char *)nxi_item(b, part->results[0], 2, index) + skip;
  if (!attrs[UNIT_DIAG] && nxi_zero_on_diagonal(a->dtype, n, matrix)) {
    if (!attrs[GIVES_NAN]) return NX_SINGULAR;
    nxi_nan_columns(a->dtype, n, width, to, columns);
    return NX_OK;
  }
  if (nxi_is_small_matrix(a->dtype, n)) {
    copy_columns(n, (size_t)columns * size, (size_t)width * size, from, to);
    const nxi_small_triangle t = {matrix, n, attrs[UPPER], attrs[TRANSPOSE], attrs[UNIT_DIAG]};
    nxi_small_triangular(a->dtype, &t, width, to, columns);
    return NX_OK;
  }
  nxi_solve_right_from(part, a->dtype, attrs[UPPER] ? "L" : "U", attrs[TRANSPOSE] ? "C" : "N",
                       attrs[UNIT_DIAG] ? "U" : "N", width, n, matrix, n, from,
                       columns > 0 ? columns : 1, to, columns > 0 ? columns : 1);
  return NX_OK;
}

static nx_status run_triangular(nxg_call_part *part) { return nxi_each_item(part, one_triangular); }

const nxg_functions nxi_triangular_solve_functions = {prepare_triangular, run_triangular, NULL};

/* ---- solve: A^T = P L U, so X^T = ((B^T U^-1) L^-1) P^T */

/* A panel of columns of X. */
static void solve_panel(const nxi_stage_task *task, const nxi_lu *lu) {
  const nxg_array *b = &task->part->call->operands[1];
  const int columns = (int)b->shape[b->rank - 1], panel = panel_of(columns),
            first = (int)task->task * panel,
            width = columns - first < panel ? columns - first : panel;
  const size_t size = (size_t)nxi_dtype_size(lu->t), skip = (size_t)first * size;
  const char *from = (char *)nxi_item(b, task->part->operands[1], 2, task->index) + skip;
  char *x = (char *)nxi_item(b, task->part->results[0], 2, task->index) + skip;
  nxi_lu_solve(task->part, lu->t, lu->n, width, task->memory, nxi_lu_pivots(lu, task->memory), from,
               x, columns);
}

enum { FACTORS, PIVOTS };

static nx_status prepare_solve(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *b = &call->operands[1];
  double n = (double)b->shape[b->rank - 2], k = (double)b->shape[b->rank - 1];
  const double flops = 2 * n * n * n / 3 + 2 * n * n * k;
  nx_status status = nxi_lapack_ready("solve", d);
  if (status) return status;
  if (nxi_lu_is_blocked(&call->operands[0])) {
    const nxi_lu_call large = {.tasks = panels_of((int64_t)k), .finish = solve_panel};
    return nxi_lu_prepare(call, work, &large, flops, d);
  }
  nxi_batch_work(work, n > 0 ? nxi_batches(b, 2) : 0, flops, n * n + n * k);
  if (n == 0) return status;
  const double lengths[] = {n * n, n};
  return nxi_work_state(call, work, b->dtype, lengths, 2, d);
}

static nx_status one_solve(const nxg_call_part *part, int64_t index) {
  const nxg_array *a = &part->call->operands[0], *b = &part->call->operands[1];
  nx_dtype t = a->dtype;
  int n = (int)b->shape[b->rank - 2], columns = (int)b->shape[b->rank - 1],
      ld = columns > 0 ? columns : 1, *pivots = nxi_work_array(part, PIVOTS, NULL);
  size_t size = (size_t)nxi_dtype_size(t), row = (size_t)columns * size;
  char *factors = nxi_work_array(part, FACTORS, NULL), *x = nxi_item(b, part->results[0], 2, index);
  memcpy(factors, nxi_item(a, part->operands[0], 2, index), (size_t)n * (size_t)n * size);
  const char *from = nxi_item(b, part->operands[1], 2, index);
  if (nxi_is_small_matrix(t, n)) {
    memcpy(x, from, (size_t)n * row);
    if (!nxi_small_lu(t, n, factors, pivots)) return NX_SINGULAR;
    nxi_small_solve(t, n, columns, factors, pivots, x);
    return NX_OK;
  }
  nxi_lu_factor(t, n, n, factors, n, pivots);
  if (nxi_zero_on_diagonal(t, n, factors)) return NX_SINGULAR;
  nxi_lu_solve(part, t, n, columns, factors, pivots, from, x, ld);
  return NX_OK;
}

static nx_status run_solve(nxg_call_part *part) {
  if (nxi_lu_is_blocked(&part->call->operands[0])) return nxi_stages_run(part->state, part);
  return nxi_each_item(part, one_solve);
}

const nxg_functions nxi_solve_functions = {prepare_solve, run_solve, nxi_work_release};
