/* SPDX-License-Identifier: ISC */
/* The bidiagonal form of a large matrix. A panel of columns (and rows) is reduced while the rest of
 * the matrix stays as it is: it lacks V Y^T + X U^T, the columns of V and rows of U being the
 * panel's reflections so far. What the rest has to be multiplied by is corrected for that. After
 * the panel the sum is subtracted by products of matrices. */
#include "bidiagonal.h"

#include <string.h>

#include "runtime/library/blas/level2.h"
#include "runtime/library/blas/level3.h"

typedef void (*gebrd_fn)(const int *m, const int *n, void *a, const int *lda, void *d, void *e,
                         void *tau_q, void *tau_p, void *work, const int *lwork, int *info);

enum {
  PANEL = 32,  /* columns */
  CHUNK = 64,  /* columns of a task */
  LEAST = 512, /* columns of a matrix, below which threads would wait for each other too often */
  REST = 128,  /* columns that are left to LAPACK, at least */
};

/* Stages of a column; those of a panel follow one another for each of its columns. */
enum { COLUMN, LEFT, ROW, RIGHT, STEPS };
enum { STAGES = PANEL * STEPS + 2 }; /* of a panel, with the last column's end and the update */

/* A panel that is being reduced. */
typedef struct panel {
  const nxi_bidiagonal *b;
  const nxi_bidiagonal_arrays *at;
  nx_dtype t;
  int first, rows, columns, ld; /* rows, columns: what is not reduced, the panel included */
  char *x, *y, *sums;           /* rows x PANEL, columns x PANEL; rows x 1 for each task */
} panel;

nxi_bidiagonal nxi_bidiagonal_of(nx_dtype t, int rows, int columns) {
  const bool shared = !nxi_lapack_complex(t) && rows >= columns && columns >= LEAST;
  return (nxi_bidiagonal){t, rows, columns, shared ? (columns - REST) / PANEL : 0};
}

static int64_t chunks(int columns) { return (columns + CHUNK - 1) / CHUNK; }

int64_t nxi_bidiagonal_work(const nxi_bidiagonal *b) {
  const int64_t lapack = ((int64_t)b->rows + b->columns) * CHUNK,
                own = ((int64_t)b->rows + b->columns) * PANEL + b->rows * (chunks(b->columns) + 1) +
                      chunks(b->columns);
  return b->panels > 0 && own > lapack ? own : lapack;
}

uint32_t nxi_bidiagonal_stages(const nxi_bidiagonal *b) { return (uint32_t)b->panels * STAGES + 1; }

/* The first column of a chunk's task, and how many it has; chunks end at multiples of CHUNK, so
 * that a thread finds the same columns in its cache again. */
static int chunk_of(int from, int all, int64_t task, int *width) {
  const int begin = (from / CHUNK + (int)task) * CHUNK,
            end = begin + CHUNK < all ? begin + CHUNK : all;
  const int first = begin > from ? begin : from;
  *width = end - first;
  return first;
}

int64_t nxi_bidiagonal_tasks(const nxi_bidiagonal *b, uint32_t stage) {
  const int p = (int)(stage / STAGES), step = (int)(stage % STAGES);
  int from = p * PANEL;
  if (p == b->panels || step == STAGES - 2) return 1;
  if (step == STAGES - 1) from += PANEL;
  else if (step % STEPS == LEFT || step % STEPS == RIGHT) from += step / STEPS + 1;
  else return 1;
  return chunks(b->columns) - from / CHUNK;
}

/* ---- a column. Indices count from the panel's first row and column. */

static char *a_at(const panel *p, int row, int column) {
  return nxi_at(p->t, p->at->a, p->first + row, p->first + column, p->ld);
}
static char *x_at(const panel *p, int row, int column) {
  return nxi_at(p->t, p->x, row, column, p->rows);
}
static char *y_at(const panel *p, int row, int column) {
  return nxi_at(p->t, p->y, row, column, p->columns);
}
static char *number_at(const panel *p, void *array, int i) {
  return nxi_at(p->t, array, p->first + i, 0, 1);
}

/* Brings column i up to date and makes its reflection, of which the 1 is stored too. */
static void make_column(const panel *p, int i) {
  const int m = p->rows - i;
  const nxi_vector column = {a_at(p, i, i), 1};
  char *below = a_at(p, i + 1 < p->rows ? i + 1 : i, i);
  nxi_multiply_vector(p->t, "N", m, i, -1, a_at(p, i, 0), p->ld,
                      (nxi_vector){y_at(p, i, 0), p->columns}, 1, column);
  nxi_multiply_vector(p->t, "N", m, i, -1, x_at(p, i, 0), p->rows, (nxi_vector){a_at(p, 0, i), 1},
                      1, column);
  nxi_reflection(p->t, m, column.at, (nxi_vector){below, 1}, number_at(p, p->at->tau_q, i));
  memcpy(number_at(p, p->at->diagonal, i), column.at, (size_t)nxi_dtype_size(p->t));
  nxi_store_one(p->t, column.at);
}

/* Corrects what column i of Y has as the product with the stored matrix, then brings row i up to
 * date and makes its reflection. */
static void make_row(const panel *p, int i) {
  const int m = p->rows - i, n = p->columns - i - 1, known = i + 1;
  const nxi_vector v = {a_at(p, i, i), 1}, y = {y_at(p, i + 1, i), 1}, some = {y_at(p, 0, i), 1},
                   row = {a_at(p, i, i + 1), p->ld};
  char *right = a_at(p, i, i + 2 < p->columns ? i + 2 : i + 1);
  nxi_multiply_vector(p->t, "T", m, i, 1, a_at(p, i, 0), p->ld, v, 0, some);
  nxi_multiply_vector(p->t, "N", n, i, -1, y_at(p, i + 1, 0), p->columns, some, 1, y);
  nxi_multiply_vector(p->t, "T", m, i, 1, x_at(p, i, 0), p->rows, v, 0, some);
  nxi_multiply_vector(p->t, "T", i, n, -1, a_at(p, 0, i + 1), p->ld, some, 1, y);
  nxi_scale_vector(p->t, n, number_at(p, p->at->tau_q, i), y.at);
  nxi_multiply_vector(p->t, "N", n, known, -1, y_at(p, i + 1, 0), p->columns,
                      (nxi_vector){a_at(p, i, 0), p->ld}, 1, row);
  nxi_multiply_vector(p->t, "T", i, n, -1, a_at(p, 0, i + 1), p->ld,
                      (nxi_vector){x_at(p, i, 0), p->rows}, 1, row);
  nxi_reflection(p->t, n, row.at, (nxi_vector){right, p->ld}, number_at(p, p->at->tau_p, i));
  memcpy(number_at(p, p->at->beside, i), row.at, (size_t)nxi_dtype_size(p->t));
  nxi_store_one(p->t, row.at);
}

/* Adds the tasks' parts of column i of X, and corrects them. */
static void end_row(const panel *p, int i) {
  const int m = p->rows - i - 1, n = p->columns - i - 1, known = i + 1,
            parts = (int)(chunks(p->b->columns) - (p->first + i + 1) / CHUNK);
  const nxi_vector u = {a_at(p, i, i + 1), p->ld}, x = {x_at(p, i + 1, i), 1},
                   some = {x_at(p, 0, i), 1},
                   ones = {p->sums + (int64_t)p->rows * parts * nxi_dtype_size(p->t), 1};
  for (int k = 0; k < parts; k++) nxi_store_one(p->t, nxi_at(p->t, ones.at, k, 0, 1));
  nxi_multiply_vector(p->t, "N", m, parts, 1, p->sums, p->rows, ones, 0, x);
  nxi_multiply_vector(p->t, "T", n, known, 1, y_at(p, i + 1, 0), p->columns, u, 0, some);
  nxi_multiply_vector(p->t, "N", m, known, -1, a_at(p, i + 1, 0), p->ld, some, 1, x);
  nxi_multiply_vector(p->t, "N", i, n, 1, a_at(p, 0, i + 1), p->ld, u, 0, some);
  nxi_multiply_vector(p->t, "N", m, i, -1, x_at(p, i + 1, 0), p->rows, some, 1, x);
  nxi_scale_vector(p->t, m, number_at(p, p->at->tau_p, i), x.at);
}

/* A task of the product of column i's reflection, or row i's, and what is right of the column. */
static void multiply_chunk(const panel *p, int step, int i, int64_t task) {
  int width;
  const int column = chunk_of(p->first + i + 1, p->b->columns, task, &width) - p->first;
  if (step == LEFT)
    nxi_multiply_vector(p->t, "T", p->rows - i, width, 1, a_at(p, i, column), p->ld,
                        (nxi_vector){a_at(p, i, i), 1}, 0, (nxi_vector){y_at(p, column, i), 1});
  else
    nxi_multiply_vector(p->t, "N", p->rows - i - 1, width, 1, a_at(p, i + 1, column), p->ld,
                        (nxi_vector){a_at(p, i, column), p->ld}, 0,
                        (nxi_vector){nxi_at(p->t, p->sums, 0, task, p->rows), 1});
}

/* A task of the update of what is right of and below the panel. */
static void update_chunk(const panel *p, int64_t task) {
  int width;
  const int column = chunk_of(p->first + PANEL, p->b->columns, task, &width) - p->first,
            rows = p->rows - PANEL;
  char *c = a_at(p, PANEL, column);
  nxi_subtract_product(NULL, p->t, rows, width, PANEL, (nxi_factor){"N", a_at(p, PANEL, 0), p->ld},
                       (nxi_factor){"T", y_at(p, column, 0), p->columns}, c, p->ld);
  nxi_subtract_product(NULL, p->t, rows, width, PANEL,
                       (nxi_factor){"N", x_at(p, PANEL, 0), p->rows},
                       (nxi_factor){"N", a_at(p, 0, column), p->ld}, c, p->ld);
}

/* ---- stages */

static void run_step(const panel *p, int step, int64_t task) {
  const int i = step / STEPS;
  nxi_lapack_enter();
  switch (step % STEPS) {
    case COLUMN:
      if (i > 0) end_row(p, i - 1);
      if (i < PANEL) make_column(p, i);
      break;
    case ROW: make_row(p, i); break;
    default: multiply_chunk(p, step % STEPS, i, task);
  }
  nxi_lapack_leave();
}

static void reduce_rest(const nxi_bidiagonal *b, const nxi_bidiagonal_arrays *at) {
  const int first = b->panels * PANEL, rows = b->rows - first, columns = b->columns - first,
            lwork = (rows + columns) * CHUNK;
  int info;
  nxi_lapack_enter();
  ((gebrd_fn)nxi_lapack(NXI_LAPACK_gebrd, b->t))(
      &rows, &columns, nxi_at(b->t, at->a, first, first, b->rows), &b->rows,
      nxi_at(nxi_lapack_single(b->t) ? NX_F32 : NX_F64, at->diagonal, first, 0, 1),
      nxi_at(nxi_lapack_single(b->t) ? NX_F32 : NX_F64, at->beside, first, 0, 1),
      nxi_at(b->t, at->tau_q, first, 0, 1), nxi_at(b->t, at->tau_p, first, 0, 1), at->work, &lwork,
      &info);
  nxi_lapack_leave();
}

void nxi_bidiagonal_run(const nxi_bidiagonal *b, const nxi_bidiagonal_arrays *at, uint32_t stage,
                        int64_t task) {
  const int number = (int)(stage / STAGES), step = (int)(stage % STAGES), first = number * PANEL;
  if (number == b->panels) {
    reduce_rest(b, at);
    return;
  }
  panel p = {b,       at,       b->t, first, b->rows - first, b->columns - first,
             b->rows, at->work, NULL, NULL};
  p.y = nxi_at(b->t, p.x, 0, PANEL, b->rows);
  p.sums = nxi_at(b->t, p.y, 0, PANEL, b->columns);
  if (step == STAGES - 1) update_chunk(&p, task);
  else run_step(&p, step, task);
}
