/* SPDX-License-Identifier: ISC */
/* The tridiagonal form of a large matrix. A panel of columns is reduced, from the last one on,
 * while what is left of it stays as it is: it lacks V W^T + W V^T, the columns of V being the
 * panel's reflections so far. Its product with a vector is corrected for that. After the panel the
 * sum is subtracted by products of matrices. */
#include "tridiagonal.h"

#include <string.h>

#include "runtime/library/blas/level2.h"
#include "runtime/library/blas/level3.h"
#include "runtime/library/floats/multiply.h"

typedef void (*sytrd_fn)(const char *uplo, const int *n, void *a, const int *lda, void *d, void *e,
                         void *tau, void *work, const int *lwork, int *info, size_t);

enum {
  PANEL = 32,  /* columns */
  CHUNK = 64,  /* columns that are done together */
  LEAST = 768, /* rows of a matrix, below which threads would wait for each other too often */
  REST = 128,  /* rows that are left to LAPACK, at least */
};

_Static_assert((int)CHUNK % (int)NXI_FLOATS_BOTH == 0, "chunks are whole vectors");

/* Stages of a column; those of a panel follow one another for each of its columns. */
enum { COLUMN, PRODUCT, STEPS };
enum { STAGES = PANEL * STEPS + 2 }; /* of a panel, with the last column's end and the update */

/* A panel that is being reduced: the last columns of what is left. */
typedef struct panel {
  const nxi_tridiagonal *f;
  const nxi_tridiagonal_arrays *at;
  nx_dtype t;
  int n, ld;             /* rows that are left, those of the panel included */
  char *w, *sums, *ones; /* n x PANEL; n x 1 for each chunk; a number for each, and two more */
} panel;

nxi_tridiagonal nxi_tridiagonal_of(nx_dtype t, int n) {
  const bool shared = !nxi_lapack_complex(t) && n >= LEAST;
  return (nxi_tridiagonal){t, n, shared ? (n - REST) / PANEL : 0};
}

static int chunks(int n) { return (n + CHUNK - 1) / CHUNK; }

int64_t nxi_tridiagonal_work(const nxi_tridiagonal *f) {
  const int64_t lapack = (int64_t)f->n * CHUNK,
                own = (int64_t)f->n * (PANEL + chunks(f->n)) + chunks(f->n) + 2;
  return f->panels > 0 && own > lapack ? own : lapack;
}

uint32_t nxi_tridiagonal_stages(const nxi_tridiagonal *f) {
  return (uint32_t)f->panels * STAGES + 1;
}

static int left(const nxi_tridiagonal *f, uint32_t stage) {
  return f->n - (int)(stage / STAGES) * PANEL;
}

/* Chunks of a product are done two at a time, a long one and a short one. */
static int64_t pairs(int n) { return (chunks(n) + 1) / 2; }

int64_t nxi_tridiagonal_tasks(const nxi_tridiagonal *f, uint32_t stage) {
  const int step = (int)(stage % STAGES), n = left(f, stage);
  if (stage / STAGES == (uint32_t)f->panels || step == STAGES - 2) return 1;
  if (step == STAGES - 1) return chunks(n - PANEL);
  return step % STEPS == PRODUCT ? pairs(n - 1 - step / STEPS) : 1;
}

/* ---- a column. Column i is the panel's number `at` from the right: n - 1 - i. */

static char *a_at(const panel *p, int row, int column) {
  return nxi_at(p->t, p->at->a, row, column, p->ld);
}
static char *w_at(const panel *p, int row, int column) {
  return nxi_at(p->t, p->w, row, column - (p->n - PANEL), p->n);
}
static char *number_at(const panel *p, void *array, int i) { return nxi_at(p->t, array, i, 0, 1); }

/* Brings column i up to date and makes its reflection, of which the 1 is stored too. */
static void make_column(const panel *p, int i) {
  const int known = p->n - 1 - i;
  const nxi_vector column = {a_at(p, 0, i), 1};
  char *first = a_at(p, i - 1, i);
  if (known > 0) {
    nxi_multiply_vector(p->t, "N", i + 1, known, -1, a_at(p, 0, i + 1), p->ld,
                        (nxi_vector){w_at(p, i, i + 1), p->n}, 1, column);
    nxi_multiply_vector(p->t, "N", i + 1, known, -1, w_at(p, 0, i + 1), p->n,
                        (nxi_vector){a_at(p, i, i + 1), p->ld}, 1, column);
  }
  memcpy(number_at(p, p->at->diagonal, i), a_at(p, i, i), (size_t)nxi_dtype_size(p->t));
  nxi_reflection(p->t, i, first, column, number_at(p, p->at->tau, i - 1));
  memcpy(number_at(p, p->at->beside, i - 1), first, (size_t)nxi_dtype_size(p->t));
  nxi_store_one(p->t, first);
}

/* *factor = -tau product / 2 */
static void halve(nx_dtype t, const void *tau, const void *product, void *factor) {
  if (t == NX_F32) *(float *)factor = -*(const float *)tau * *(const float *)product / 2;
  else *(double *)factor = -*(const double *)tau * *(const double *)product / 2;
}

/* Adds the chunks' parts of column i of W, and corrects them. */
static void end_column(const panel *p, int i) {
  const int known = p->n - 1 - i, parts = chunks(i);
  const nxi_vector v = {a_at(p, 0, i), 1}, w = {w_at(p, 0, i), 1}, ones = {p->ones, 1};
  char *tau = number_at(p, p->at->tau, i - 1), *product = nxi_at(p->t, p->ones, parts, 0, 1),
       *factor = nxi_at(p->t, p->ones, parts + 1, 0, 1);
  for (int k = 0; k < parts; k++) nxi_store_one(p->t, nxi_at(p->t, p->ones, k, 0, 1));
  nxi_multiply_vector(p->t, "N", i, parts, 1, p->sums, p->n, ones, 0, w);
  if (known > 0) {
    const nxi_vector some = {w_at(p, i + 1, i), 1};
    nxi_multiply_vector(p->t, "T", i, known, 1, w_at(p, 0, i + 1), p->n, v, 0, some);
    nxi_multiply_vector(p->t, "N", i, known, -1, a_at(p, 0, i + 1), p->ld, some, 1, w);
    nxi_multiply_vector(p->t, "T", i, known, 1, a_at(p, 0, i + 1), p->ld, v, 0, some);
    nxi_multiply_vector(p->t, "N", i, known, -1, w_at(p, 0, i + 1), p->n, some, 1, w);
  }
  nxi_scale_vector(p->t, i, tau, w.at);
  nxi_multiply_vector(p->t, "T", i, 1, 1, w.at, p->n, v, 0, (nxi_vector){product, 1});
  halve(p->t, tau, product, factor);
  nxi_multiply_vector(p->t, "N", i, 1, 1, v.at, p->ld, (nxi_vector){factor, 1}, 1, w);
}

/* By two products of the library, of which only one adds. */
static void multiply_both(const panel *p, const nxi_floats_both *b) {
  const int rows = (int)b->rows, columns = (int)b->columns;
  const nxi_vector x = {(void *)(uintptr_t)b->above_x, 1}, z = {(void *)(uintptr_t)b->beside_x, 1};
  nxi_multiply_vector(p->t, "N", rows, columns, 1, b->a, p->ld, z, 0, (nxi_vector){b->above, 1});
  nxi_multiply_vector(p->t, "T", rows, columns, 1, b->a, p->ld, x, 1, (nxi_vector){b->beside, 1});
}

/* A chunk of columns of the product of the i x i matrix that is left and v: those columns, and the
 * rows that they are too. */
static void multiply_chunk(const panel *p, int i, int chunk) {
  const int first = chunk * CHUNK, width = i - first < CHUNK ? i - first : CHUNK;
  const size_t size = (size_t)nxi_dtype_size(p->t);
  char *sum = nxi_at(p->t, p->sums, 0, chunk, p->n);
  const nxi_vector v = {a_at(p, 0, i), 1}, own = {a_at(p, first, i), 1},
                   beside = {sum + (size_t)first * size, 1};
  const nxi_floats_kernels *loops = nxi_floats_kernels_for(p->t);
  const nxi_floats_both both = {first,  width, a_at(p, 0, first), p->ld, v.at,
                                own.at, sum,   beside.at};
  memset(loops ? sum : (char *)beside.at, 0, (size_t)(loops ? i : i - first) * size);
  if (loops) loops->both(&both);
  else multiply_both(p, &both);
  nxi_multiply_symmetric(p->t, width, a_at(p, first, first), p->ld, own, beside);
}

/* A task of the update of what is left of the panel. */
static void update_chunk(const panel *p, int chunk) {
  const int rest = p->n - PANEL, first = chunk * CHUNK,
            end = rest - first < CHUNK ? rest : first + CHUNK;
  char *c = a_at(p, 0, first);
  nxi_subtract_product(NULL, p->t, end, end - first, PANEL,
                       (nxi_factor){"N", a_at(p, 0, rest), p->ld},
                       (nxi_factor){"T", w_at(p, first, rest), p->n}, c, p->ld);
  nxi_subtract_product(NULL, p->t, end, end - first, PANEL,
                       (nxi_factor){"N", w_at(p, 0, rest), p->n},
                       (nxi_factor){"T", a_at(p, first, rest), p->ld}, c, p->ld);
}

/* ---- stages */

static void run_step(const panel *p, int step, int64_t task) {
  const int number = step / STEPS, i = p->n - 1 - number, all = chunks(i),
            other = all - 1 - (int)task;
  nxi_lapack_enter();
  if (step % STEPS == COLUMN) {
    if (number > 0) end_column(p, i + 1);
    if (number < PANEL) make_column(p, i);
  } else {
    multiply_chunk(p, i, (int)task);
    if (other > task) multiply_chunk(p, i, other);
  }
  nxi_lapack_leave();
}

static void reduce_rest(const nxi_tridiagonal *f, const nxi_tridiagonal_arrays *at) {
  const int n = f->n - f->panels * PANEL, lwork = n * CHUNK;
  int info;
  nxi_lapack_enter();
  ((sytrd_fn)nxi_lapack(NXI_LAPACK_sytrd, f->t))("U", &n, at->a, &f->n, at->diagonal, at->beside,
                                                 at->tau, at->work, &lwork, &info, 1);
  nxi_lapack_leave();
}

void nxi_tridiagonal_run(const nxi_tridiagonal *f, const nxi_tridiagonal_arrays *at, uint32_t stage,
                         int64_t task) {
  const int step = (int)(stage % STAGES);
  panel p = {f, at, f->t, left(f, stage), f->n, at->work, NULL, NULL};
  if (stage / STAGES == (uint32_t)f->panels) {
    reduce_rest(f, at);
    return;
  }
  p.sums = nxi_at(f->t, p.w, 0, PANEL, f->n);
  p.ones = nxi_at(f->t, p.sums, 0, chunks(f->n), f->n);
  if (step == STAGES - 1) update_chunk(&p, (int)task);
  else run_step(&p, step, task);
}
