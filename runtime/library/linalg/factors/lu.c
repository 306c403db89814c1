/* SPDX-License-Identifier: ISC */
/* The stages of an LU factorisation. Stage 0 copies the matrix; stage k updates the columns to the
 * right of panel k - 1; the last stage exchanges the rows of L. The first task of each stage except
 * the last factors panel k after it has updated its columns. */
#include "lu.h"

#include <string.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/floats/elimination.h"

typedef void (*getrf_fn)(const int *m, const int *n, void *a, const int *lda, int *pivots,
                         int *info);
typedef void (*laswp_fn)(const int *n, void *a, const int *lda, const int *first, const int *last,
                         const int *pivots, const int *step);

enum { OWN_PRODUCTS = 512 }; /* from this size on, products are the library's */

static void init(nxi_lu *lu, nx_dtype t, int n) {
  const int panel = nxi_lapack_complex(t) || n < 1024 ? 64 : 128;
  const int64_t elements = (int64_t)n * n * nxi_dtype_size(t);
  *lu = (nxi_lu){.t = t, .n = n, .panel = panel, .panels = (n + panel - 1) / panel};
  lu->chunk = 2 * panel;
  lu->pivots_at = (elements + 63) & ~(int64_t)63;
  lu->bytes = lu->pivots_at + n * (int64_t)sizeof(int);
}

static int64_t stage_tasks(const nxi_lu *lu, uint32_t stage) {
  if (stage == 0) return lu->panels;
  if (stage == (uint32_t)lu->panels) return lu->panels - 1;
  const int rest = lu->n - ((int)stage + 1) * lu->panel; /* right of the panel that comes next */
  return 1 + (rest > 0 ? (rest + lu->chunk - 1) / lu->chunk : 0);
}

static int width_of(const nxi_lu *lu, int first, int most) {
  return lu->n - first < most ? lu->n - first : most;
}

/* Stored by rows, what is stored by columns is transposed: columns of the panel are rows there. */
void nxi_lu_factor(nx_dtype t, int rows, int columns, void *a, int ld, int *pivots) {
  const nxi_floats_kernels *own = nxi_floats_kernels_for(t);
  const nxi_floats_rows turned = {columns, rows, a, ld};
  int info;
  if (own && columns <= NXI_FLOATS_FACTORED) {
    nxi_floats_factor(own, &turned, pivots);
    for (int i = 0; i < columns; i++) pivots[i]++;
    return;
  }
  nxi_lapack_enter();
  ((getrf_fn)nxi_lapack(NXI_LAPACK_getrf, t))(&rows, &columns, a, &ld, pivots, &info);
  nxi_lapack_leave();
}

static void factor_panel(const nxi_lu *lu, char *a, int *pivots, int panel) {
  const int first = panel * lu->panel, width = width_of(lu, first, lu->panel);
  nxi_lu_factor(lu->t, lu->n - first, width, nxi_at(lu->t, a, first, first, lu->n), lu->n,
                pivots + first);
  for (int i = 0; i < width; i++) pivots[first + i] += first;
}

/* Exchanges the rows first .. last - 1 of `width` columns from `column` on, as the pivots say. */
static void exchange(const nxi_lu *lu, char *a, const int *pivots, int column, int width, int first,
                     int last) {
  const int from = first + 1, step = 1;
  nxi_lapack_enter();
  ((laswp_fn)nxi_lapack(NXI_LAPACK_laswp, lu->t))(&width, nxi_at(lu->t, a, 0, column, lu->n),
                                                  &lu->n, &from, &last, pivots, &step);
  nxi_lapack_leave();
}

/* Updates columns to the right of a panel: exchanges their rows, computes their part of U, and
 * subtracts the panel's product from the rows below. */
static bool update(const nxi_lu *lu, const nxg_call_part *part, char *a, const int *pivots,
                   int panel, int column, int width) {
  const int first = panel * lu->panel, end = first + lu->panel, ld = lu->n;
  const nxi_factor below = {"N", nxi_at(lu->t, a, end, first, ld), ld},
                   u = {"N", nxi_at(lu->t, a, first, column, ld), ld};
  const nxi_floats_kernels *own = nxi_floats_kernels_for(lu->t);
  const bool whole = ld < OWN_PRODUCTS; /* the rows of U stay in a cache */
  const nxi_floats_rows turned = {lu->panel, whole ? ld - first : lu->panel,
                                  nxi_at(lu->t, a, first, first, ld), ld};
  exchange(lu, a, pivots, column, width, first, end);
  if (own) nxi_floats_reduce(own, &turned, width, nxi_at(lu->t, a, first, column, ld));
  if (own && whole) return true;
  if (!own)
    nxi_triangular(lu->t, "L", "L", "N", "U", lu->panel, width, nxi_at(lu->t, a, first, first, ld),
                   ld, nxi_at(lu->t, a, first, column, ld), ld);
  return nxi_subtract_product(part, lu->t, lu->n - end, width, lu->panel, below, u,
                              nxi_at(lu->t, a, end, column, ld), ld);
}

static void copy_panel(const nxi_lu *lu, const char *from, char *a, int panel) {
  const int first = panel * lu->panel;
  const size_t column = (size_t)lu->n * (size_t)nxi_dtype_size(lu->t);
  if (lu->turned) {
    nxi_transpose(lu->t, lu->n, width_of(lu, first, lu->panel),
                  from + first * nxi_dtype_size(lu->t), lu->n, a + (size_t)first * column, lu->n,
                  false);
    return;
  }
  memcpy(a + (size_t)first * column, from + (size_t)first * column,
         (size_t)width_of(lu, first, lu->panel) * column);
}

static void run_stage(const nxi_lu *lu, const nxi_stage_task *task, const void *from) {
  char *a = task->memory;
  int *pivots = nxi_lu_pivots(lu, a), stage = (int)task->stage, i = (int)task->task;
  if (stage == lu->panels) {
    exchange(lu, a, pivots, i * lu->panel, lu->panel, (i + 1) * lu->panel, lu->n);
    return;
  }
  int column = stage * lu->panel, width = width_of(lu, column, lu->panel);
  if (stage == 0) {
    copy_panel(lu, from, a, i);
  } else {
    if (i > 0) {
      column += lu->panel + (i - 1) * lu->chunk;
      width = width_of(lu, column, lu->chunk);
    }
    if (!update(lu, task->part, a, pivots, stage - 1, column, width)) return;
  }
  if (i == 0 && !nxi_told_to_stop(task->part)) factor_panel(lu, a, pivots, stage);
}

/* ---- calls: the stages of the factors, a stage that checks whether they are singular, and a stage
 * for the caller's tasks */

static int64_t tasks_of(const nxi_stages *stages, uint32_t stage) {
  const nxi_lu_call *c = (const void *)stages;
  const uint32_t factoring = (uint32_t)c->lu.panels + !c->determinant;
  if (stage < factoring) return stage_tasks(&c->lu, stage);
  return stage == factoring && !c->determinant ? 1 : c->tasks;
}

static nx_status run(const nxi_stage_task *task) {
  const nxi_lu_call *c = (const void *)task->stages;
  const nxg_call_part *part = task->part;
  const uint32_t factoring = (uint32_t)c->lu.panels + !c->determinant;
  int zero = 0;
  if (task->stage < factoring)
    run_stage(&c->lu, task, nxi_item(&part->call->operands[0], part->operands[0], 2, task->index));
  else if (task->stage > factoring || c->determinant) c->finish(task, &c->lu);
  else if (!c->unchecked) {
    zero = nxi_zero_on_diagonal(c->lu.t, c->lu.n, task->memory);
    nxi_store_info(part, task->index, zero);
  }
  return zero ? NX_SINGULAR : NX_OK;
}

nx_status nxi_lu_prepare(const nxg_call *call, nxg_call_work *work, const nxi_lu_call *what,
                         double flops, nxi_diag *d) {
  const nxg_array *a = &call->operands[0];
  const char *name = nxg_ops[call->op].name;
  nxi_lu_call *c = nxi_malloc(sizeof *c);
  if (!c) return nxi_oom_in(d, nxi_oom(d), name);
  *c = *what;
  init(&c->lu, a->dtype, (int)a->shape[a->rank - 1]);
  c->lu.turned = what->turned;
  c->stages.batches = nxi_batches(&call->operands[call->n_operands - 1], 2);
  c->stages.bytes = c->lu.bytes;
  c->stages.count = (uint32_t)c->lu.panels + (c->determinant ? 1 : 3);
  c->stages.tasks = tasks_of;
  c->stages.run = run;
  work->state = c;
  if (nxi_stages_work(&c->stages, work, flops)) return NX_OK;
  nxi_work_release(c);
  work->state = NULL;
  return nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: a matrix is too large", name);
}

/* ---- with factors */

/* Exchanges columns of X (width x n) as the pivots say, in the reverse order. */
static void undo_pivots(int n, const int *pivots, size_t column, size_t bytes, char *x) {
  for (int i = n; i-- > 0;) {
    char *a = x + (size_t)i * column, *b = x + (size_t)(pivots[i] - 1) * column, piece[256];
    if (a == b) continue;
    for (size_t at = 0, part; at < bytes; at += part) {
      part = bytes - at < sizeof piece ? bytes - at : sizeof piece;
      memcpy(piece, a + at, part);
      memcpy(a + at, b + at, part);
      memcpy(b + at, piece, part);
    }
  }
}

void nxi_lu_solve(const nxg_call_part *part, nx_dtype t, int n, int width, const void *factors,
                  const int *pivots, const void *from, void *x, int ld) {
  const size_t size = (size_t)nxi_dtype_size(t);
  if (nxi_solve_right_lu(part, t, width, n, factors, n, from, ld, x, ld, -1))
    undo_pivots(n, pivots, (size_t)ld * size, (size_t)width * size, x);
}

void nxi_lu_inverse(const nxg_call_part *part, nx_dtype t, int n, int first, int width,
                    const void *factors, const int *pivots, void *x, int ld) {
  const size_t size = (size_t)nxi_dtype_size(t), column = (size_t)ld * size;
  if (nxi_solve_right_lu(part, t, width, n, factors, n, NULL, ld, x, ld, first))
    undo_pivots(n, pivots, column, (size_t)width * size, x);
}

static bool is_zero(nx_dtype t, const void *x) {
  const float *f = x;
  const double *g = x;
  bool complex = nxi_lapack_complex(t);
  if (nxi_lapack_single(t)) return f[0] == 0 && (!complex || f[1] == 0);
  return g[0] == 0 && (!complex || g[1] == 0);
}

int nxi_zero_on_diagonal(nx_dtype t, int n, const void *a) {
  size_t step = ((size_t)n + 1) * (size_t)nxi_dtype_size(t);
  for (int i = 0; i < n; i++)
    if (is_zero(t, (const char *)a + (size_t)i * step)) return i + 1;
  return 0;
}
