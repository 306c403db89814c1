/* SPDX-License-Identifier: ISC */
/* The bidiagonal form of a large matrix. A panel of columns (and rows) is reduced while the rest of
 * the matrix stays as it is: it lacks V Y^T + X U^T, the columns of V and U being the panel's
 * reflections so far. What the rest has to be multiplied by is corrected for that. After the panel
 * the sum is subtracted by products of matrices.
 *
 * The rest A is read from memory once for each column, though its product with row i's reflection u
 * needs that with column i's, v: u is (r - beta e) / (r[0] - beta), e being the first unit vector
 * and r the row, which is what is known before, minus tau A^T v. So some columns of A are
 * multiplied by v, which gives their part of r, and by that while they are in the cache; A u
 * follows from A r (Howell, Demmel, Fulton, Hammarling and Marmol 2008). */
#include "bidiagonal.h"

#include <math.h>
#include <string.h>

#include "runtime/library/blas/level2.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/floats/multiply.h"

typedef void (*gebrd_fn)(const int *m, const int *n, void *a, const int *lda, void *d, void *e,
                         void *tau_q, void *tau_p, void *work, const int *lwork, int *info);

enum {
  PANEL = 32,  /* columns */
  CHUNK = 64,  /* columns of a task */
  LEAST = 192, /* columns of a matrix, below which threads would wait for each other too often */
  REST = 64,   /* columns that are left to LAPACK, at least */
};

/* Stages of a column; those of a panel follow one another for each of its columns. */
enum { COLUMN, PASS, STEPS };
enum { STAGES = PANEL * STEPS + 2 }; /* of a panel, with the last column's end and the update */

/* A panel that is being reduced. */
typedef struct panel {
  const nxi_bidiagonal *b;
  const nxi_bidiagonal_arrays *at;
  nx_dtype t;
  int first, rows, columns, ld; /* rows, columns: what is not reduced, the panel included */
  /* rows x PANEL; columns x PANEL both; rows x 1 for each task, and a number for each and one more;
   * a reflection's vector, as it lies in a column of the matrix, 0 before it; four times PANEL
   * numbers (of enum few), and a column for what tasks have to correct their products by */
  char *x, *y, *u, *sums, *ones, *v, *few, *corrections;
} panel;

/* Arrays of `few`: V^T v and X^T v of the column's reflection v; row i of V and X. */
enum { V_V, X_V, V_ROW, X_ROW, FEW };

nxi_bidiagonal nxi_bidiagonal_of(nx_dtype t, int rows, int columns) {
  const bool shared = !nxi_lapack_complex(t) && rows >= columns && columns >= LEAST;
  return (nxi_bidiagonal){t, rows, columns, shared ? (columns - REST) / PANEL : 0};
}

static int64_t chunks(int columns) { return (columns + CHUNK - 1) / CHUNK; }

/* Columns of `sums`, and elements from one to the next. */
static int64_t sums_ld(const nxi_bidiagonal *b) { return (b->rows + 15) / 16 * 16; }

int64_t nxi_bidiagonal_work(const nxi_bidiagonal *b) {
  const int64_t lapack = ((int64_t)b->rows + b->columns) * CHUNK,
                own = (b->rows + 2 * (int64_t)b->columns) * PANEL + b->columns +
                      sums_ld(b) * (chunks(b->columns) + 1) + chunks(b->columns) + 1 +
                      (int64_t)FEW * PANEL;
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
  else if (step % STEPS == PASS) from += step / STEPS + 1;
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
static char *u_at(const panel *p, int column, int row) {
  return nxi_at(p->t, p->u, column, row, p->columns);
}
static char *few_at(const panel *p, int which) { return nxi_at(p->t, p->few, 0, which, PANEL); }
static char *number_at(const panel *p, void *array, int i) {
  return nxi_at(p->t, array, p->first + i, 0, 1);
}
static nxi_vector vector(void *at) { return (nxi_vector){at, 1}; }

/* The row, as the matrix counts them, from which column i's reflection is kept in v. */
static int begin_of(const panel *p, int i) {
  return (p->first + i) / NXI_FLOATS_BOTH * NXI_FLOATS_BOTH;
}

/* Brings column i up to date and makes its reflection, of which the 1 is stored too. */
static void make_column(const panel *p, int i) {
  const int m = p->rows - i, before = p->first + i - begin_of(p, i);
  const size_t size = (size_t)nxi_dtype_size(p->t);
  const nxi_vector column = vector(a_at(p, i, i));
  char *below = a_at(p, i + 1 < p->rows ? i + 1 : i, i);
  nxi_multiply_vector(p->t, "N", m, i, -1, a_at(p, i, 0), p->ld,
                      (nxi_vector){y_at(p, i, 0), p->columns}, 1, column);
  nxi_multiply_vector(p->t, "N", m, i, -1, x_at(p, i, 0), p->rows,
                      (nxi_vector){u_at(p, i, 0), p->columns}, 1, column);
  nxi_reflection(p->t, m, column.at, vector(below), number_at(p, p->at->tau_q, i));
  memcpy(number_at(p, p->at->diagonal, i), column.at, size);
  nxi_store_one(p->t, column.at);
  memset(p->v, 0, (size_t)before * size);
  memcpy(p->v + (size_t)before * size, column.at, (size_t)m * size);
  nxi_multiply_vector(p->t, "T", m, i, 1, a_at(p, i, 0), p->ld, column, 0, vector(few_at(p, V_V)));
  nxi_multiply_vector(p->t, "T", m, i, 1, x_at(p, i, 0), p->rows, column, 0,
                      vector(few_at(p, X_V)));
  for (int k = 0; k < i; k++) {
    memcpy(few_at(p, V_ROW) + (size_t)k * size, a_at(p, i, k), size);
    memcpy(few_at(p, X_ROW) + (size_t)k * size, x_at(p, i, k), size);
  }
}

/* Writes 1 / (whole - left); or false if that overflows, or products with what is as small would
 * lose digits. */
static bool reciprocal(nx_dtype t, const void *whole, const void *left, void *to) {
  const bool single = t == NX_F32;
  const double x = single ? (double)*(const float *)whole - (double)*(const float *)left
                          : *(const double *)whole - *(const double *)left;
  if (!(fabs(x) >= (single ? 0x1p-102 : 0x1p-969))) return false;
  if (single) *(float *)to = (float)(1 / x);
  else *(double *)to = 1 / x;
  return true;
}

/* Makes the reflection of row i; then adds the tasks' parts of column i of X and corrects them. */
static void end_row(const panel *p, int i) {
  const int m = p->rows - i - 1, n = p->columns - i - 1, known = i + 1,
            parts = (int)(chunks(p->b->columns) - (p->first + i + 1) / CHUNK),
            ld = (int)sums_ld(p->b), skipped = p->first + i + 1 - begin_of(p, i);
  const size_t size = (size_t)nxi_dtype_size(p->t);
  const nxi_vector u = vector(u_at(p, i + 1, i)), x = vector(x_at(p, i + 1, i)),
                   some = vector(x_at(p, 0, i));
  char *beta = number_at(p, p->at->beside, i), *tau = number_at(p, p->at->tau_p, i),
       *by = nxi_at(p->t, p->ones, parts, 0, 1);
  _Alignas(16) char first[sizeof(double)];
  memcpy(first, u.at, size);
  nxi_reflection(p->t, n, u.at, vector(u_at(p, i + (n > 1 ? 2 : 1), i)), tau);
  memcpy(beta, u.at, size);
  nxi_store_one(p->t, u.at);
  memset(x.at, 0, (size_t)m * size);
  if (!reciprocal(p->t, first, beta, by)) {
    /* nothing beside the matrix, which is about 1 */
    memset(tau, 0, size);
    memset((char *)u.at + size, 0, (size_t)(n - 1) * size);
    return;
  }
  for (int k = 0; k < parts; k++) nxi_store_one(p->t, nxi_at(p->t, p->ones, k, 0, 1));
  nxi_multiply_vector(p->t, "N", m, parts, 1, nxi_at(p->t, p->sums, skipped, 0, 1), ld,
                      vector(p->ones), 0, x);
  nxi_multiply_vector(p->t, "N", m, 1, -1, a_at(p, i + 1, i + 1), p->ld, vector(beta), 1, x);
  nxi_scale_vector(p->t, m, by, x.at);
  nxi_multiply_vector(p->t, "T", n, known, 1, y_at(p, i + 1, 0), p->columns, u, 0, some);
  nxi_multiply_vector(p->t, "N", m, known, -1, a_at(p, i + 1, 0), p->ld, some, 1, x);
  nxi_multiply_vector(p->t, "T", n, i, 1, u_at(p, i + 1, 0), p->columns, u, 0, some);
  nxi_multiply_vector(p->t, "N", m, i, -1, x_at(p, i + 1, 0), p->rows, some, 1, x);
  nxi_scale_vector(p->t, m, tau, x.at);
}

/* Rows of the last panel's U, as LAPACK has them. */
static void give_rows(const panel *p, int row, int count, int column, int width) {
  for (int j = column; j < column + width; j++)
    for (int i = row; i < row + count; i++)
      memcpy(a_at(p, i, j), u_at(p, j, i), (size_t)nxi_dtype_size(p->t));
}

/* y += x, or y -= x. */
static void add(nx_dtype t, int n, bool minus, const void *x, void *y) {
  for (int i = 0; i < n && t == NX_F32; i++)
    ((float *)y)[i] += minus ? -((const float *)x)[i] : ((const float *)x)[i];
  for (int i = 0; i < n && t == NX_F64; i++)
    ((double *)y)[i] += minus ? -((const double *)x)[i] : ((const double *)x)[i];
}

/* By two products of the library, of which each reads the matrix. */
static void pass_twice(nx_dtype t, const nxi_floats_pass *f) {
  const int m = (int)f->rows, n = (int)f->columns;
  const nxi_vector x = vector((void *)(uintptr_t)f->x), products = vector(f->products),
                   by = vector(f->by), scale = vector((void *)(uintptr_t)f->scale);
  nxi_multiply_vector(t, "T", m, n, 1, f->a, (int)f->ld, x, 0, products);
  nxi_multiply_vector(t, "N", n, 1, -1, products.at, n, scale, 1, by);
  nxi_multiply_vector(t, "N", m, n, 1, f->a, (int)f->ld, by, 1, vector(f->y));
}

/* A task: its part of column i of Y, of row i, of which the reflection is to be made, and of the
 * product of the matrix and that. */
static void pass_chunk(const panel *p, int i, int64_t task) {
  int width;
  const int column = chunk_of(p->first + i + 1, p->b->columns, task, &width) - p->first,
            begin = begin_of(p, i), rows = p->b->rows - begin;
  const size_t size = (size_t)nxi_dtype_size(p->t);
  const nxi_vector y = vector(y_at(p, column, i)), row = vector(u_at(p, column, i)),
                   correction = vector(nxi_at(p->t, p->corrections, column, 0, 1));
  const nxi_floats_kernels *loops = nxi_floats_kernels_for(p->t);
  char *tau = number_at(p, p->at->tau_q, i), *y_i = y_at(p, column, 0), *u_i = u_at(p, column, 0);
  memset(correction.at, 0, (size_t)width * size);
  nxi_multiply_vector(p->t, "N", width, i, -1, y_i, p->columns, vector(few_at(p, V_V)), 0,
                      correction);
  nxi_multiply_vector(p->t, "N", width, i, -1, u_i, p->columns, vector(few_at(p, X_V)), 1,
                      correction);
  nxi_scale_vector(p->t, width, tau, correction.at);
  for (int j = 0; j < width; j++)
    memcpy((char *)row.at + (size_t)j * size, a_at(p, i, column + j), size);
  nxi_multiply_vector(p->t, "N", width, i, -1, y_i, p->columns, vector(few_at(p, V_ROW)), 1, row);
  nxi_multiply_vector(p->t, "N", width, i, -1, u_i, p->columns, vector(few_at(p, X_ROW)), 1, row);
  add(p->t, width, true, correction.at, row.at);
  const nxi_floats_pass f = {rows,  width,  nxi_at(p->t, p->at->a, begin, p->first + column, p->ld),
                             p->ld, p->v,   tau,
                             y.at,  row.at, nxi_at(p->t, p->sums, 0, task, (int)sums_ld(p->b))};
  memset(f.y, 0, (size_t)rows * size);
  if (loops) loops->pass(&f);
  else pass_twice(p->t, &f);
  nxi_scale_vector(p->t, width, tau, y.at);
  add(p->t, width, false, correction.at, y.at);
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
                       (nxi_factor){"T", u_at(p, column, 0), p->columns}, c, p->ld);
  give_rows(p, 0, PANEL, column, width);
}

/* ---- stages */

static void run_step(const panel *p, int step, int64_t task) {
  const int i = step / STEPS;
  nxi_lapack_enter();
  if (step % STEPS == PASS) pass_chunk(p, i, task);
  else if (i > 0) end_row(p, i - 1);
  if (step % STEPS == COLUMN && i < PANEL) make_column(p, i);
  nxi_lapack_leave();
  for (int row = 0; i == PANEL && row < PANEL; row++)
    give_rows(p, row, 1, row + 1, PANEL - 1 - row);
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
  const nx_dtype t = b->t;
  const int ld = (int)sums_ld(b);
  panel p = {.b = b,
             .at = at,
             .t = t,
             .first = first,
             .rows = b->rows - first,
             .columns = b->columns - first,
             .ld = b->rows,
             .sums = at->work};
  p.v = nxi_at(t, p.sums, 0, chunks(b->columns), ld);
  p.x = nxi_at(t, p.v, ld, 0, 1);
  p.y = nxi_at(t, p.x, 0, PANEL, b->rows);
  p.u = nxi_at(t, p.y, 0, PANEL, b->columns);
  p.corrections = nxi_at(t, p.u, 0, PANEL, b->columns);
  p.few = nxi_at(t, p.corrections, b->columns, 0, 1);
  p.ones = nxi_at(t, p.few, 0, FEW, PANEL);
  if (step == STAGES - 1) update_chunk(&p, task);
  else run_step(&p, step, task);
}
