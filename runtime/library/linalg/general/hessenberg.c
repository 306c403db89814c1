/* SPDX-License-Identifier: ISC */
/* The Hessenberg form of a large matrix. A panel of columns is reduced while the columns behind it
 * stay as they are: with the panel's reflections so far, I - V T V^T, and Y = A V T, they lack
 * first -Y V^T and then the reflections from the left. Each column of the panel is brought up to
 * date before its reflection is made, of which the product with what is left is the next column of
 * Y. After the panel the others follow by products of matrices. */
#include "hessenberg.h"

#include <string.h>

#include "runtime/library/blas/level2.h"
#include "runtime/library/blas/level3.h"

typedef void (*gehrd_fn)(const int *n, const int *low, const int *high, void *a, const int *lda,
                         void *tau, void *work, const int *lwork, int *info);

enum {
  PANEL = 32,  /* columns */
  CHUNK = 64,  /* rows or columns that are done together */
  LEAST = 256, /* rows of a matrix, below which threads would wait for each other too often */
  REST = 128,  /* rows that are left to LAPACK, at least */
  LAPACK_WORK = 65 * 64, /* beside 32 columns, for its blocks */
};

/* Stages of a column; those of a panel follow one another for each of its columns. */
enum { COLUMN, PRODUCT, STEPS };
/* Of a panel, with the last column's end and both sides of the update. */
enum { LAST_END = PANEL * STEPS, FROM_RIGHT, FROM_LEFT, STAGES };

/* A panel that is being reduced: columns `first` to first + PANEL - 1. Row i of V and of Y belongs
 * to row i of the matrix. */
typedef struct panel {
  const nxi_hessenberg_arrays *at;
  int n, ld, first, high;
  double *v, *y, *t; /* n x PANEL, n x PANEL, PANEL x PANEL */
  double *sums;      /* n x 1 for each chunk, or n x 2 PANEL */
  double *some;      /* a number for each chunk, or for each column of the panel */
} panel;

static int chunks(int n) { return (n + CHUNK - 1) / CHUNK; }
static int larger(int a, int b) { return a > b ? a : b; }
static int smaller(int a, int b) { return a < b ? a : b; }

nxi_hessenberg nxi_hessenberg_of(int n) {
  return (nxi_hessenberg){n, n >= LEAST ? (n - REST) / PANEL : 0};
}

int64_t nxi_hessenberg_work(const nxi_hessenberg *f) {
  const int64_t n = f->n, parts = larger(chunks(f->n), 2 * PANEL),
                own = n * 2 * PANEL + (n + CHUNK) * parts + PANEL * PANEL + parts,
                lapack = n * (PANEL + 1) + LAPACK_WORK;
  return own > lapack ? own : lapack;
}

uint32_t nxi_hessenberg_stages(const nxi_hessenberg *f) { return (uint32_t)f->panels * STAGES + 1; }

/* Tasks for the largest panel that there may be; those that are not needed do nothing. */
int64_t nxi_hessenberg_tasks(const nxi_hessenberg *f, uint32_t stage) {
  const int step = (int)(stage % STAGES), left = f->n - (int)(stage / STAGES) * PANEL;
  if (stage / STAGES == (uint32_t)f->panels || step == LAST_END) return 1;
  if (step == FROM_RIGHT) return chunks(f->n);
  if (step == FROM_LEFT) return chunks(left - PANEL);
  return step % STEPS == PRODUCT ? chunks(left - 1 - step / STEPS) : 1;
}

/* ---- a column. Number i of the panel is column first + i; its reflection has a 1 in the row
 * behind that. */

static double *a_at(const panel *p, int row, int column) {
  return p->at->a + row + (int64_t)column * p->ld;
}
static double *v_at(const panel *p, int row, int i) { return p->v + row + (int64_t)i * p->n; }
static double *y_at(const panel *p, int row, int i) { return p->y + row + (int64_t)i * p->n; }

static void multiply(const char *op, int m, int n, int alpha, const double *a, int ld,
                     const double *x, int step, int beta, double *y) {
  nxi_multiply_vector(NX_F64, op, m, n, alpha, a, ld, (nxi_vector){(void *)(uintptr_t)x, step},
                      beta, (nxi_vector){y, 1});
}

/* x = T x, or T^T x, of the first n rows and columns of T. */
static void multiply_triangle(const panel *p, int n, bool transposed, double *x) {
  for (int k = 0; k < n; k++) {
    const int i = transposed ? n - 1 - k : k;
    double sum = 0;
    for (int j = transposed ? 0 : i; j < (transposed ? i + 1 : n); j++)
      sum += p->t[transposed ? j + i * PANEL : i + j * PANEL] * x[j];
    x[i] = sum;
  }
}

/* Adds the chunks' parts of column i of Y, and makes of it and of T what they are to be. */
static void end_column(const panel *p, int i) {
  const int first = p->first + 1, rows = p->high - first, parts = chunks(rows - i);
  double *y = y_at(p, first, i), *t = p->t + i * PANEL;
  const double tau = p->at->tau[p->first + i];
  for (int k = 0; k < parts; k++) p->some[k] = 1;
  multiply("N", rows, parts, 1, p->sums + first, p->n, p->some, 1, 0, y);
  if (i > 0) {
    multiply("T", rows, i, 1, v_at(p, first, 0), p->n, v_at(p, first, i), 1, 0, p->some);
    multiply("N", rows, i, -1, y_at(p, first, 0), p->n, p->some, 1, 1, y);
    multiply_triangle(p, i, false, p->some);
    for (int k = 0; k < i; k++) t[k] = -tau * p->some[k];
  }
  for (int k = 0; k < rows; k++) y[k] *= tau;
  t[i] = tau;
}

/* Brings column i up to date and makes its reflection. */
static void make_column(const panel *p, int i) {
  const int first = p->first + 1, rows = p->high - first, column = p->first + i, one = column + 1;
  double *b = a_at(p, first, column), *v = v_at(p, 0, i);
  if (i == 0) memset(p->t, 0, PANEL * PANEL * sizeof *p->t);
  if (i > 0) {
    multiply("N", rows, i, -1, y_at(p, first, 0), p->n, v_at(p, column, 0), p->n, 1, b);
    multiply("T", rows, i, 1, v_at(p, first, 0), p->n, b, 1, 0, p->some);
    multiply_triangle(p, i, true, p->some);
    multiply("N", rows, i, -1, v_at(p, first, 0), p->n, p->some, 1, 1, b);
  }
  double *own = a_at(p, one, column);
  nxi_reflection(NX_F64, p->high - one, own, (nxi_vector){own + 1, 1}, &p->at->tau[column]);
  memset(v, 0, (size_t)one * sizeof *v);
  v[one] = 1;
  memcpy(v + one + 1, own + 1, (size_t)(p->high - one - 1) * sizeof *v);
}

/* A chunk of columns of the product of what is left and reflection i. */
static void multiply_chunk(const panel *p, int i, int chunk) {
  const int first = p->first + 1, column = first + i + chunk * CHUNK;
  if (column >= p->high) return;
  multiply("N", p->high - first, smaller(CHUNK, p->high - column), 1, a_at(p, first, column), p->ld,
           v_at(p, column, i), 1, 0, p->sums + first + (int64_t)chunk * p->n);
}

/* ---- the update */

static nxi_factor factor(const char *op, const double *at, int ld) {
  return (nxi_factor){op, at, ld};
}

/* A (some rows) -= Y V^T. Of rows that the panel's reflections do not change, Y is made first, and
 * the columns of the panel are changed, too. */
static void update_rows(const panel *p, int begin, int end, bool above) {
  const int rows = end - begin, from = p->first + (above ? 1 : PANEL), first = p->first + 1;
  double *y = y_at(p, begin, 0), *room = p->sums + begin;
  if (rows <= 0) return;
  if (above) {
    nxi_product(NX_F64, rows, PANEL, p->high - first, factor("N", a_at(p, begin, first), p->ld),
                factor("N", v_at(p, first, 0), p->n), room, p->n);
    nxi_product(NX_F64, rows, PANEL, PANEL, factor("N", room, p->n), factor("N", p->t, PANEL), y,
                p->n);
  }
  nxi_subtract_product(NULL, NX_F64, rows, p->high - from, PANEL, factor("N", y, p->n),
                       factor("T", v_at(p, from, 0), p->n), a_at(p, begin, from), p->ld);
}

static void update_from_right(const panel *p, int chunk) {
  const int begin = chunk * CHUNK, end = smaller(begin + CHUNK, p->high), middle = p->first + 1;
  update_rows(p, begin, smaller(end, middle), true);
  update_rows(p, larger(begin, middle), end, false);
}

/* A chunk of columns behind the panel -= V T^T V^T of it. */
static void update_from_left(const panel *p, int chunk) {
  const int first = p->first + 1, rows = p->high - first, begin = p->first + PANEL + chunk * CHUNK,
            width = smaller(CHUNK, p->n - begin);
  double *product = p->sums + (int64_t)chunk * CHUNK * 2 * PANEL, *c = a_at(p, first, begin),
         *other = product + CHUNK * PANEL;
  const double *v = v_at(p, first, 0);
  nxi_product(NX_F64, PANEL, width, rows, factor("T", v, p->n), factor("N", c, p->ld), product,
              PANEL);
  nxi_product(NX_F64, PANEL, width, PANEL, factor("T", p->t, PANEL), factor("N", product, PANEL),
              other, PANEL);
  nxi_subtract_product(NULL, NX_F64, rows, width, PANEL, factor("N", v, p->n),
                       factor("N", other, PANEL), c, p->ld);
}

/* ---- stages */

/* Panels that there are. */
static int panels_of(const nxi_hessenberg *f, const nxi_hessenberg_arrays *at) {
  const int panels = (at->high - at->low - REST) / PANEL;
  return f->panels == 0 || panels < 0 ? 0 : smaller(panels, f->panels);
}

/* The numbers of reflections that others have made are zeros to LAPACK. */
static void reduce_rest(const nxi_hessenberg *f, const nxi_hessenberg_arrays *at) {
  const int first = at->low + panels_of(f, at) * PANEL, lwork = f->n * PANEL + LAPACK_WORK,
            low = first + 1;
  double *tau = at->work + lwork;
  int info;
  for (int i = 0; i < at->low; i++) at->tau[i] = 0;
  nxi_lapack_enter();
  ((gehrd_fn)nxi_lapack(NXI_LAPACK_gehrd, NX_F64))(&f->n, &low, &at->high, at->a, &at->ld, tau,
                                                   at->work, &lwork, &info);
  nxi_lapack_leave();
  for (int i = first; i < f->n - 1; i++) at->tau[i] = tau[i];
}

void nxi_hessenberg_run(const nxi_hessenberg *f, const nxi_hessenberg_arrays *at, uint32_t stage,
                        int64_t task) {
  const int number = (int)(stage / STAGES), step = (int)(stage % STAGES), i = step / STEPS;
  panel p = {.at = at,
             .n = f->n,
             .ld = at->ld,
             .first = at->low + number * PANEL,
             .high = at->high,
             .v = at->work};
  if (number == f->panels) {
    reduce_rest(f, at);
    return;
  }
  if (number >= panels_of(f, at)) return;
  p.y = p.v + (int64_t)p.n * PANEL;
  p.t = p.y + (int64_t)p.n * PANEL;
  p.some = p.t + PANEL * PANEL;
  p.sums = p.some + larger(chunks(p.n), 2 * PANEL);
  if (step == FROM_RIGHT) {
    update_from_right(&p, (int)task);
    return;
  }
  if (step == FROM_LEFT) {
    update_from_left(&p, (int)task);
    return;
  }
  nxi_lapack_enter();
  if (step % STEPS == PRODUCT) {
    multiply_chunk(&p, i, (int)task);
  } else {
    if (i > 0) end_column(&p, i - 1);
    if (i < PANEL) make_column(&p, i);
  }
  nxi_lapack_leave();
}
