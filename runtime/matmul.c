/* SPDX-License-Identifier: ISC */
/* Matrix products on the pool: how a product is cut into library calls, and the run over them. */
#include <stdatomic.h>

#include "blas.h"
#include "ir/alloc.h"

/* One run. Tile number t of a batched product: batch, then row panel, then column panel, the last fastest. */
typedef struct matmul_run {
  const nxi_blas *blas;
  const nxi_matmul *p;
  const nxi_epilogue *epilogue;
  nxi_tiles tiles;
  int64_t batches;
  int64_t span;                /* tiles that a task of a staged product multiplies with one panel */
  _Atomic int32_t *unfinished; /* column panels left of each row panel; NULL if each is one tile */
} matmul_run;

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- how a product is cut. Every figure was tuned against OpenBLAS 0.3.21 with AVX-512 kernels; the library
 * packs its operands again for each tile, so tiles are as large as leaves enough of them. */

enum {
  UNIT = 16, /* panels are multiples of this, which fills the library's kernels */
  SKINNY_UNIT = 64,
  SKINNY = 8, /* up to here packing is what costs, and the library has kernels without */
  SKINNY_VOLUME = 1000 * 1000, /* of m * n * k, up to which it uses them */
  TILE_FLOPS_MIN = 2 << 20,    /* some 12 us */
  TILE_AREA_MAX = 512 << 10,   /* elements of C */
  TILE_AREA_SPLIT = 64 << 10,  /* products below four of these still make four tiles */
  TILE_AREA_FLOOR = 16 << 10,  /* no smaller for the sake of a short time */
  LONG_SIDE_MAX =
      512 << 10,      /* elements of the operand along the long side of a tile: about a cache */
  DEPTH_WHOLE = 2048, /* up to here the inner extent stays in one piece */
  DEPTH_MAX = 1536,   /* of a piece: at least half of it when there are several */
};
#define TILE_FLOPS_MAX (INT64_C(1200) << 20) /* some 7 ms: polls come between tiles */

/* The length of the panels that `length` is cut into, of about `wanted`. Numbers of panels are powers of two
 * while they are small, so that threads get equal shares. */
static int64_t panel(int64_t length, int64_t wanted) {
  int64_t count = ceil_div(length, wanted > 0 ? wanted : 1);
  if (count <= 16) {
    count = 1;
    while ((double)count < 0.72 * (double)length / (double)wanted) count *= 2;
  }
  int64_t size = ceil_div(ceil_div(length, count), UNIT) * UNIT;
  return size < length ? size : larger(length, 1);
}

/* A tile much longer than wide packs the operand of its long side for few results; beyond a cache that is read from memory
 * twice. And who makes that operand panel by panel has it in the cache only so. */
static int64_t shortened(int64_t length, int64_t width, int64_t k) {
  return smaller(length, larger(LONG_SIDE_MAX / k, 2 * width));
}

/* Elements of C that a tile should have. */
static int64_t tile_area(double elements, int64_t k) {
  double area = elements / 8;
  if (area < TILE_AREA_SPLIT)
    area = elements / 4 < TILE_AREA_SPLIT ? elements / 4 : TILE_AREA_SPLIT;
  double least = (double)TILE_FLOPS_MIN / 2 / (double)k,
         most = (double)TILE_FLOPS_MAX / 2 / (double)k;
  if (most < TILE_AREA_FLOOR) most = TILE_AREA_FLOOR;
  if (most > TILE_AREA_MAX) most = TILE_AREA_MAX;
  if (area < least) area = least;
  return area > most ? (int64_t)most : larger((int64_t)area, 1);
}

/* The panels of a product with few rows (or columns), along its long dimension. */
static int64_t skinny_panel(int64_t few, int64_t many, int64_t k, int64_t wanted) {
  int64_t unpacked = SKINNY_VOLUME / few / k;
  if (unpacked >= SKINNY_UNIT) wanted = unpacked / SKINNY_UNIT * SKINNY_UNIT;
  return wanted < many ? larger(wanted / SKINNY_UNIT, 1) * SKINNY_UNIT : many;
}

/* The pieces of the inner extent, so that a panel of an operand is bounded in both directions. Small products that the
 * library does without packing are left whole. Their number is a power of two: what k counts (channels, positions, images)
 * usually divides into that evenly, and then so do the pieces. */
static int64_t pieces_depth(const nxi_tiles *t, int64_t m, int64_t n, int64_t k) {
  int64_t most = DEPTH_MAX, count = 2;
  if (m <= SKINNY || n <= SKINNY)
    most = larger(most, SKINNY_VOLUME / t->rows / t->columns); /* sides up to SKINNY_VOLUME */
  if (k <= DEPTH_WHOLE || k <= most) return larger(k, 1);
  while (ceil_div(k, count) > most) count *= 2;
  return k % count == 0 ? k / count : ceil_div(ceil_div(k, count), UNIT) * UNIT;
}

nxi_tiles nxi_matmul_tiles(int64_t batches, int64_t m, int64_t n, int64_t k) {
  nxi_tiles t = {.rows = larger(m, 1),
                 .columns = larger(n, 1),
                 .depth = larger(k, 1),
                 .row_panels = 1,
                 .column_panels = 1,
                 .products = 1};
  if (m <= 0 || n <= 0 || batches <= 0) return t;
  if (k < 1) k = 1;
  int64_t area = tile_area((double)batches * (double)m * (double)n, k);
  int64_t rows = 1;
  while (rows * rows < area) rows++;
  if (n < ceil_div(area, rows)) rows = ceil_div(area, n);
  if (m <= SKINNY) {
    t.columns = skinny_panel(m, n, k, area / m);
  } else if (n <= SKINNY) {
    t.rows = skinny_panel(n, m, k, area / n);
  } else {
    t.rows = panel(m, shortened(rows, smaller(n, rows), k));
    t.columns = panel(n, shortened(ceil_div(area, t.rows), t.rows, k));
  }
  t.depth = pieces_depth(&t, m, n, k);
  t.row_panels = ceil_div(m, t.rows);
  t.column_panels = ceil_div(n, t.columns);
  if (t.row_panels == 1 && t.column_panels == 1) {
    double flops = 2.0 * (double)m * (double)n * (double)k;
    int64_t enough = flops < TILE_FLOPS_MIN ? (int64_t)(TILE_FLOPS_MIN / flops) : 1;
    t.products = smaller(enough, ceil_div(batches, 8));
  }
  return t;
}

int64_t nxi_matmul_counter_bytes(int64_t batches, int64_t m, int64_t n, int64_t k) {
  nxi_tiles t = nxi_matmul_tiles(batches, m, n, k);
  if (batches <= 0 || m <= 0 || t.column_panels <= 1) return 0;
  return batches * t.row_panels * (int64_t)sizeof(_Atomic int32_t);
}

/* ---- the run */

/* Where matrix number `batch` starts. */
static char *matrix_at(const nxi_matmul *p, const nxi_matrix *matrix, int64_t batch) {
  int64_t offset = 0;
  for (int32_t i = p->batch_rank; i-- > 0;) {
    offset += batch % p->batch_shape[i] * matrix->batch_strides[i];
    batch /= p->batch_shape[i];
  }
  return (char *)matrix->base + offset * nxi_dtype_size(p->type);
}

/* Moves `base` to row `row` and column `column` of the matrix. */
static char *element(char *base, const nxi_matrix *matrix, nx_dtype type, int64_t row,
                     int64_t column) {
  int64_t index = matrix->transposed ? column * matrix->ld + row : row * matrix->ld + column;
  return base + index * nxi_dtype_size(type);
}

/* Where the operand's part for a tile begins: in `staged` if that is not NULL. */
static void *operand_at(const nxi_matmul *p, const nxi_matrix *matrix, void *staged, int64_t batch,
                        int64_t row, int64_t column) {
  return staged ? staged : element(matrix_at(p, matrix, batch), matrix, p->type, row, column);
}

/* One library call: a piece of the inner extent, from `begin`. staged: the panel of the operand that is made for it, or NULL. */
static void run_piece(const matmul_run *r, int64_t batch, int64_t row_panel, int64_t column_panel,
                      int64_t begin, void *staged) {
  const nxi_matmul *p = r->p;
  const nxi_tiles *t = &r->tiles;
  int64_t row = row_panel * t->rows, rows = smaller(t->rows, p->m - row);
  int64_t column = column_panel * t->columns, columns = smaller(t->columns, p->n - column);
  bool first = staged && p->staging->operand == 0;
  (begin == 0 ? nxi_gemm : nxi_gemm_add)(
      r->blas, p->type, p->a.transposed, p->b.transposed, rows, columns,
      smaller(t->depth, p->k - begin),
      operand_at(p, &p->a, first ? staged : NULL, batch, row, begin), p->a.ld,
      operand_at(p, &p->b, first ? NULL : staged, batch, begin, column), p->b.ld,
      element(matrix_at(p, &p->c, batch), &p->c, p->type, row, column), p->c.ld);
}

/* Whoever finishes the last tile of a row panel does its epilogue, and sees what the others wrote. */
static void finish_tile(const matmul_run *r, int worker, int64_t batch, int64_t row_panel) {
  const nxi_tiles *t = &r->tiles;
  int64_t row = row_panel * t->rows;
  if (!r->epilogue) return;
  if (r->unfinished && atomic_fetch_sub(&r->unfinished[batch * t->row_panels + row_panel], 1) != 1)
    return;
  r->epilogue->fn(r->epilogue->user, worker, batch, row, smaller(row + t->rows, r->p->m));
}

static void run_tiles(void *arg, int worker, int64_t begin, int64_t end) {
  const matmul_run *r = arg;
  const nxi_tiles *t = &r->tiles;
  for (int64_t i = begin; i < end; i++) {
    int64_t row_panel = i / t->column_panels, batch = row_panel / t->row_panels;
    row_panel %= t->row_panels;
    for (int64_t at = 0; at < larger(r->p->k, 1); at += t->depth)
      run_piece(r, batch, row_panel, i % t->column_panels, at, NULL);
    finish_tile(r, worker, batch, row_panel);
  }
}

/* Task: batch, then a share of the panels of the other operand, then panel of the staged one, so that threads beside each
 * other read the same share. All of a share take a piece of the panel before the next is made. */
static void run_staged(void *arg, int worker, int64_t begin, int64_t end) {
  const matmul_run *r = arg;
  const nxi_matmul *p = r->p;
  const nxi_tiles *t = &r->tiles;
  bool rows = p->staging->operand == 0;
  int64_t panels = rows ? t->row_panels : t->column_panels,
          others = rows ? t->column_panels : t->row_panels, size = rows ? t->rows : t->columns,
          shares = ceil_div(others, r->span);
  for (int64_t i = begin; i < end; i++) {
    int64_t number = i / panels, at = i % panels;
    int64_t other = number % shares * r->span, last = smaller(others, other + r->span);
    nxi_panel panel = {.batch = number / shares,
                       .first = at * size,
                       .last = smaller(at * size + size, rows ? p->m : p->n)};
    for (; panel.begin < p->k; panel.begin = panel.end) {
      void *base = NULL;
      panel.end = smaller(panel.begin + t->depth, p->k);
      p->staging->fn(p->staging->user, worker, &panel, &base);
      for (int64_t j = other; j < last; j++)
        run_piece(r, panel.batch, rows ? at : j, rows ? j : at, panel.begin, base);
    }
    for (; other < last; other++) finish_tile(r, worker, panel.batch, rows ? at : other);
  }
}

/* How many tiles share a panel before it is made again: so many that making it hardly counts, so few that polls come. */
static int64_t tiles_a_task(const nxi_matmul *p, const nxi_tiles *t) {
  double flops = 2.0 * (double)t->rows * (double)t->columns * (double)larger(p->k, 1);
  return larger((int64_t)(2.0 * (double)TILE_FLOPS_MAX / flops), 1);
}

static bool fits(int64_t rows, int64_t columns, const nxi_matrix *m) {
  int64_t stored_rows = m->transposed ? columns : rows,
          stored_columns = m->transposed ? rows : columns;
  return stored_rows <= 1 || stored_columns == 0 ||
         (m->ld >= stored_columns && m->ld >= 1 && m->ld <= INT32_MAX);
}

static nx_status check(const nxi_matmul *p, const nxi_tiles *t, nxi_diag *d) {
  bool first = p->staging && p->staging->operand == 0,
       second = p->staging && p->staging->operand == 1;
  if (p->type != NX_F32 && p->type != NX_F64)
    return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "matmul", "the library multiplies f32 and f64 only");
  if (p->m < 0 || p->n < 0 || p->k < 0 || p->c.transposed || p->k > INT32_MAX ||
      !fits(first ? smaller(p->m, t->rows) : p->m, first ? smaller(p->k, t->depth) : p->k, &p->a) ||
      !fits(second ? smaller(p->k, t->depth) : p->k, second ? smaller(p->n, t->columns) : p->n,
            &p->b) ||
      !fits(p->m, p->n, &p->c))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "matmul",
                    "%lld x %lld x %lld does not fit the library's sizes", (long long)p->m,
                    (long long)p->k, (long long)p->n);
  return NX_OK;
}

nx_status nxi_matmul_panels(const nxi_blas *blas, nxi_pool *pool, const nxi_poll *poll,
                            const nxi_matmul *p, const nxi_epilogue *epilogue, nxi_diag *d) {
  matmul_run r = {.blas = blas, .p = p, .epilogue = epilogue, .batches = 1};
  for (int32_t i = 0; i < p->batch_rank; i++) r.batches *= p->batch_shape[i];
  r.tiles = nxi_matmul_tiles(r.batches, p->m, p->n, p->k);
  nx_status status = check(p, &r.tiles, d);
  if (status != NX_OK) return status;
  if (r.batches <= 0 || p->m == 0) return NX_OK;
  int64_t panels = r.batches * r.tiles.row_panels;
  int64_t bytes = epilogue ? nxi_matmul_counter_bytes(r.batches, p->m, p->n, p->k) : 0;
  if (bytes) {
    r.unfinished = epilogue->counters ? epilogue->counters : nxi_malloc((size_t)bytes);
    if (!r.unfinished) return nxi_oom(d);
    for (int64_t i = 0; i < panels; i++)
      atomic_init(&r.unfinished[i], (int32_t)r.tiles.column_panels);
  }
  int64_t tasks = panels * r.tiles.column_panels;
  if (p->staging) {
    int64_t others = p->staging->operand == 0 ? r.tiles.column_panels : r.tiles.row_panels;
    r.span = smaller(tiles_a_task(p, &r.tiles), others);
    tasks = tasks / others * ceil_div(others, r.span);
  }
  status = nxi_pool_run_polled(pool, poll, p->staging ? run_staged : run_tiles, &r, tasks,
                               r.tiles.products);
  if (bytes && !epilogue->counters) nxi_free((void *)r.unfinished);
  return status == NX_OK ? NX_OK : nxi_fail(d, status, "matmul", "interrupted");
}
