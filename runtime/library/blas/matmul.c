/* SPDX-License-Identifier: ISC */
/* Matrix products on the pool: the run over the library calls that ir/library/tiles.h cuts them
 * into. */
#include <stdatomic.h>
#include <string.h>

#include "blas.h"
#include "ir/alloc.h"
#include "ir/target.h"
#include "rooms.h"
#include "runtime/library/floats/multiply.h"
#include "runtime/library/floats/windows.h"

/* One run. Tile number t of a batched product: batch, then row panel, then column panel, the last
 * fastest. */
typedef struct matmul_run {
  const nxi_blas *blas;
  const nxi_matmul *p;
  const nxi_epilogue *epilogue;
  nxi_tiles tiles;
  int64_t batches, shares;
  bool symmetric; /* the second operand is the transpose of the first */
  int64_t span;   /* with packed tiles: the tiles of C that a task computes from one packed tile */
  /* for each row panel the number of unfinished column panels; NULL if each is one tile */
  _Atomic int32_t *unfinished;
  /* for each tile the number of unfinished shares; NULL if there is one */
  _Atomic int32_t *open;
  int64_t share_bytes; /* from one share of a tile to the next */
  char *partials;      /* memory of all shares of tiles except the first of each */
} matmul_run;

typedef struct tile {
  int64_t batch, row_panel, column_panel;
} tile;

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- the run */

bool nxi_products_are_own(void) {
  return nxi_floats_kernels_for(NX_F32) != NULL && nxi_floats_kernels_for(NX_F64) != NULL;
}

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

/* The address of an operand's part for a tile; it is in `staged` if that is not NULL. */
static void *operand_at(const nxi_matmul *p, const nxi_matrix *matrix, void *staged, int64_t batch,
                        int64_t row, int64_t column) {
  return staged ? staged : element(matrix_at(p, matrix, batch), matrix, p->type, row, column);
}

static int64_t tile_number(const matmul_run *r, const tile *at) {
  return (at->batch * r->tiles.row_panels + at->row_panel) * r->tiles.column_panels +
         at->column_panel;
}

static int64_t rows_of(const matmul_run *r, const tile *at) {
  return smaller(r->tiles.rows, r->p->m - at->row_panel * r->tiles.rows);
}

static int64_t columns_of(const matmul_run *r, const tile *at) {
  return smaller(r->tiles.columns, r->p->n - at->column_panel * r->tiles.columns);
}

/* ---- a matrix times its own transpose. Elements (i, j) and (j, i) are the same chains of fma, as
 * factors can be exchanged and no chain depends on where it is made (runtime/library/floats): so of
 * each strip of rows the columns up to its end are multiplied, and others are copied from below. */

enum { STRIP = 96, SYMMETRIC_DEPTH_MIN = 24 };

static bool is_symmetric(const nxi_matmul *p, const nxi_epilogue *epilogue) {
  bool same = p->a.base == p->b.base && p->a.transposed != p->b.transposed && p->a.ld == p->b.ld;
  for (int32_t i = 0; i < p->batch_rank; i++)
    same = same && p->a.batch_strides[i] == p->b.batch_strides[i];
  return same && !p->staging && !epilogue && p->m == p->n && p->m > STRIP &&
         p->k >= SYMMETRIC_DEPTH_MIN && nxi_floats_kernels_for(p->type) != NULL;
}

/* Some rows of a tile, and how many of its columns are multiplied for them: 0 or less is none. */
typedef struct strip {
  int64_t row, rows, columns; /* row: counted from the tile's first one */
} strip;

/* The next one; of zeros the first. False: there are no more. */
static bool next_strip(const matmul_run *r, const tile *at, strip *s) {
  int64_t rows = rows_of(r, at);
  s->row += s->rows;
  s->rows = r->symmetric ? smaller(STRIP, rows - s->row) : rows - s->row;
  s->columns = columns_of(r, at);
  if (r->symmetric)
    s->columns = smaller(s->columns, at->row_panel * r->tiles.rows + s->row + s->rows -
                                         at->column_panel * r->tiles.columns);
  return s->rows > 0;
}

/* Copies rows first .. last - 1 of columns begin .. end - 1 of C to where they are exchanged. */
static void copy_across(char *c, int64_t ld, int64_t size, int64_t first, int64_t last,
                        int64_t begin, int64_t end) {
  enum { BLOCK = 16 };
  for (int64_t i0 = first; i0 < last; i0 += BLOCK)
    for (int64_t j0 = begin; j0 < end; j0 += BLOCK)
      for (int64_t j = j0; j < smaller(j0 + BLOCK, end); j++)
        for (int64_t i = i0; i < smaller(i0 + BLOCK, last); i++) {
          if (size == 4) ((uint32_t *)c)[j * ld + i] = ((const uint32_t *)c)[i * ld + j];
          else ((uint64_t *)c)[j * ld + i] = ((const uint64_t *)c)[i * ld + j];
        }
}

/* Gives what a tile has below the diagonal to those above it that multiply it for no strip. */
static void mirror(const matmul_run *r, const tile *at) {
  const nxi_tiles *t = &r->tiles;
  int64_t first = at->row_panel * t->rows, last = first + rows_of(r, at),
          begin = at->column_panel * t->columns, end = smaller(begin + columns_of(r, at), last);
  char *c = matrix_at(r->p, &r->p->c, at->batch);
  for (int64_t j = begin, next; j < end; j = next) {
    int64_t panel = j / t->rows * t->rows, strip_end = panel + ((j - panel) / STRIP + 1) * STRIP;
    strip_end = smaller(smaller(strip_end, panel + t->rows), r->p->m);
    next = smaller(strip_end, end);
    copy_across(c, r->p->c.ld, nxi_dtype_size(r->p->type), larger(first, strip_end), last, j, next);
  }
}

/* ---- tiles */

/* The address of the result of a share: the first share of a tile is computed in C, the others in
 * memory of their own. */
static char *result_at(const matmul_run *r, const tile *at, int64_t share, int64_t *ld) {
  const nxi_matmul *p = r->p;
  const nxi_tiles *t = &r->tiles;
  *ld = share == 0 ? p->c.ld : t->columns;
  if (share == 0)
    return element(matrix_at(p, &p->c, at->batch), &p->c, p->type, at->row_panel * t->rows,
                   at->column_panel * t->columns);
  int64_t number = tile_number(r, at) * (r->shares - 1) + share - 1;
  return r->partials + number * r->share_bytes;
}

/* Multiplies a piece of a tile: by loops of our own where the host has them, else by the library.
 * */
static void multiply(const nxi_blas *blas, const nxi_matmul *p, const nxi_floats_product *piece) {
  const nxi_floats_kernels *own = piece->k == 0 ? NULL : nxi_floats_kernels_for(p->type);
  if (!own) {
    (piece->add ? nxi_gemm_add : nxi_gemm)(blas, p->type, p->a.transposed, p->b.transposed,
                                           piece->m, piece->n, piece->k, piece->a, piece->a_ld,
                                           piece->b, piece->b_ld, piece->c, piece->c_ld);
    return;
  }
  void *room = nxi_floats_wants_room(own, piece) ? nxi_room_take() : NULL;
  nxi_floats_multiply(own, piece, room);
  nxi_room_give(room);
}

/* Multiplies a piece of a tile by windows of the image at piece->b. */
static void multiply_windows(const matmul_run *r, const nxi_floats_product *piece, int64_t column) {
  const nxi_staging *s = r->p->staging;
  const nxi_floats_kernels *own = nxi_floats_kernels_for(r->p->type);
  void *room = nxi_image_wants_room(own, piece) ? nxi_room_take() : NULL;
  nxi_image_multiply(own, piece, s->windows, s->layout, column, piece->b, room);
  nxi_room_give(room);
}

/* Makes one library call, for the piece of the inner extent that starts at `begin`. staged: the
 * packed tile of the operand that is computed for it, or NULL. */
static void run_piece(const matmul_run *r, const tile *at, int64_t begin, void *staged) {
  const nxi_matmul *p = r->p;
  const nxi_tiles *t = &r->tiles;
  int64_t row = at->row_panel * t->rows, column = at->column_panel * t->columns, ld;
  bool first = staged && p->staging->operand == 0;
  char *c = result_at(r, at, begin / t->share, &ld);
  nxi_floats_product piece = {
      .k = smaller(t->depth, p->k - begin),
      .b = operand_at(p, &p->b, first ? NULL : staged, at->batch, begin, column),
      .a_transposed = p->a.transposed,
      .b_transposed = p->b.transposed,
      .a_ld = p->a.ld,
      .b_ld = p->b.ld,
      .c_ld = ld,
      .add = begin % t->share != 0,
      .b_is_cached = staged && !first};
  for (strip s = {0}; next_strip(r, at, &s);) {
    if (s.columns <= 0) continue;
    piece.m = s.rows;
    piece.n = s.columns;
    piece.a = operand_at(p, &p->a, first ? staged : NULL, at->batch, row + s.row, begin);
    piece.c = c + s.row * ld * nxi_dtype_size(p->type);
    if (staged && p->staging->windows) multiply_windows(r, &piece, column);
    else multiply(r->blas, p, &piece);
  }
}

/* c = c + x, row by row. */
static void add_rows(nx_dtype type, int64_t rows, int64_t columns, const void *x, int64_t x_ld,
                     void *c, int64_t ld) {
  for (int64_t i = 0; i < rows; i++) {
    if (type == NX_F32)
      for (int64_t j = 0; j < columns; j++)
        ((float *)c)[i * ld + j] += ((const float *)x)[i * x_ld + j];
    else
      for (int64_t j = 0; j < columns; j++)
        ((double *)c)[i * ld + j] += ((const double *)x)[i * x_ld + j];
  }
}

/* The thread that finishes the last share of a tile adds all shares in order. The thread that
 * finishes the last tile of a row panel runs its epilogue. In both cases it sees the writes of the
 * other threads. */
static void finish_share(const matmul_run *r, int worker, const tile *at) {
  const nxi_tiles *t = &r->tiles;
  if (r->open) {
    if (atomic_fetch_sub(&r->open[tile_number(r, at)], 1) != 1) return;
    int64_t ld, own;
    char *c = result_at(r, at, 0, &ld);
    for (int64_t share = 1; share < r->shares; share++) {
      const char *x = result_at(r, at, share, &own);
      int64_t size = nxi_dtype_size(r->p->type);
      for (strip s = {0}; next_strip(r, at, &s);)
        add_rows(r->p->type, s.rows, s.columns, x + s.row * own * size, own, c + s.row * ld * size,
                 ld);
    }
  }
  if (r->symmetric) mirror(r, at);
  if (!r->epilogue) return;
  if (r->unfinished &&
      atomic_fetch_sub(&r->unfinished[at->batch * t->row_panels + at->row_panel], 1) != 1)
    return;
  int64_t row = at->row_panel * t->rows;
  r->epilogue->fn(r->epilogue->user, worker, at->batch, row, row + rows_of(r, at));
}

/* Runs tasks without packed tiles. A task number is tile * shares + share. */
static void run_tiles(void *arg, int worker, int64_t begin, int64_t end) {
  const matmul_run *r = arg;
  const nxi_tiles *t = &r->tiles;
  for (int64_t i = begin; i < end; i++) {
    int64_t number = i / r->shares, panel = number / t->column_panels,
            first = i % r->shares * t->share, last = smaller(first + t->share, larger(r->p->k, 1));
    tile at = {panel / t->row_panels, panel % t->row_panels, number % t->column_panels};
    for (int64_t d = first; d < last; d += t->depth) run_piece(r, &at, d, NULL);
    finish_share(r, worker, &at);
  }
}

/* Goes through the packed tiles of a share of the inner extent; each is used for the neighbouring
 * tiles first .. last - 1. */
static void run_span(const matmul_run *r, int worker, nxi_packed_tile packed, int64_t share_end,
                     int64_t staged, int64_t first, int64_t last) {
  const nxi_matmul *p = r->p;
  bool rows = p->staging->operand == 0;
  for (; packed.begin < share_end; packed.begin = packed.end) {
    void *base = NULL;
    packed.end = smaller(packed.begin + r->tiles.depth, share_end);
    p->staging->fn(p->staging->user, worker, &packed, &base);
    for (int64_t j = first; j < last; j++) {
      tile at = {packed.batch, rows ? staged : j, rows ? j : staged};
      run_piece(r, &at, packed.begin, base);
    }
  }
  for (int64_t j = first; j < last; j++) {
    tile at = {packed.batch, rows ? staged : j, rows ? j : staged};
    finish_share(r, worker, &at);
  }
}

/* Runs tasks with packed tiles. In a task number the digits are batch, span of panels of the other
 * operand, share, and panel of the computed operand, so that threads with neighbouring tasks read
 * the same span. */
static void run_staged(void *arg, int worker, int64_t begin, int64_t end) {
  const matmul_run *r = arg;
  const nxi_matmul *p = r->p;
  const nxi_tiles *t = &r->tiles;
  bool rows = p->staging->operand == 0;
  int64_t panels = rows ? t->row_panels : t->column_panels,
          others = rows ? t->column_panels : t->row_panels, size = rows ? t->rows : t->columns,
          spans = ceil_div(others, r->span);
  for (int64_t i = begin; i < end; i++) {
    int64_t staged = i % panels, share = i / panels % r->shares, number = i / panels / r->shares,
            first = number % spans * r->span;
    nxi_packed_tile packed = {.batch = number / spans,
                              .first = staged * size,
                              .last = smaller(staged * size + size, rows ? p->m : p->n),
                              .begin = share * t->share};
    run_span(r, worker, packed, smaller(packed.begin + t->share, p->k), staged, first,
             smaller(others, first + r->span));
  }
}

/* How many tiles use a packed tile before it is computed again: so many that computing it costs
 * little in comparison, and so few that polls are frequent and every thread has two tasks. */
static int64_t tiles_a_task(const matmul_run *r, int64_t tasks, const nxi_pool *pool) {
  const nxi_tiles *t = &r->tiles;
  int64_t others = r->p->staging->operand == 0 ? t->column_panels : t->row_panels;
  double flops =
      2.0 * (double)t->rows * (double)t->columns * (double)smaller(t->share, larger(r->p->k, 1));
  int64_t most = larger((int64_t)(2.0 * (double)NXI_TILE_FLOPS_MAX / flops), 1),
          fair = larger(tasks / 2 / (pool ? nxi_pool_size(pool) : 1), 1);
  return smaller(smaller(most, fair), others);
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
      !((second && p->staging->windows) ||
        fits(second ? smaller(p->k, t->depth) : p->k, second ? smaller(p->n, t->columns) : p->n,
             &p->b)) ||
      !fits(p->m, p->n, &p->c))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "matmul",
                    "%lld x %lld x %lld does not fit the library's sizes", (long long)p->m,
                    (long long)p->k, (long long)p->n);
  return NX_OK;
}

static void use_scratch(matmul_run *r, const nxi_matmul_scratch *s, char *memory) {
  _Atomic int32_t *counters = (void *)memory;
  if (s->rows) r->unfinished = counters;
  if (s->tiles) r->open = counters + s->rows;
  r->partials = memory + s->partials;
  r->share_bytes = s->share_bytes;
  for (int64_t i = 0; i < s->rows; i++)
    atomic_init(&r->unfinished[i], (int32_t)r->tiles.column_panels);
  for (int64_t i = 0; i < s->tiles; i++) atomic_init(&r->open[i], (int32_t)r->shares);
}

/* ---- chains. A block is made some rows at a time, which stay in the second level from one product
 * to the other. What is behind them in the block's memory has the first product's second operand in
 * the order of its loops, if its columns are contiguous. */

enum { CHAIN_ROWS_MIN = 32, CHAIN_ROWS_UNIT = 16, CHAIN_PART_OF_CACHE = 4 };

typedef struct chain_run {
  const nxi_blas *blas;
  const nxi_matmul_chain *chain;
  const nxi_floats_kernels *own; /* or NULL: blocks are made whole */
  nxi_tiles tiles[2];
  int64_t blocks; /* of each product of the batch */
  int64_t rows;   /* that are made at a time */
  bool strips;    /* of the first product's second operand are made for each block */
  /* with columns that are not used: the worker's rows have numbers everywhere, as what reads them
   * computes with all of them */
  bool cleared[NXI_POOL_MAX_THREADS];
} chain_run;

/* Rows of a block, which are whole tiles or any of those of our own loops, and what is known for
 * all rows of the block. */
typedef struct chain_rows {
  int64_t batch, begin, end;
  char *result, *operand; /* of the first product; of the second, the same or not */
  char *strips;           /* or NULL */
  nxi_floats_look look;   /* at the second product's second operand */
} chain_rows;

/* Part of one product: rows and columns from there on, and the inner extent from `d` on. */
static nxi_floats_product chain_piece(const chain_run *r, int which, const chain_rows *x,
                                      int64_t row, int64_t column, int64_t d) {
  const nxi_matmul *p = &r->chain->products[which];
  const nxi_tiles *t = &r->tiles[which];
  const int64_t size = nxi_dtype_size(p->type), in = row - x->begin;
  return (nxi_floats_product){.m = smaller(t->rows, x->end - row),
                              .n = smaller(t->columns, p->n - column),
                              .k = smaller(t->depth, p->k - d),
                              .a = which == 1 ? x->operand + (in * p->a.ld + d) * size
                                              : operand_at(p, &p->a, NULL, x->batch, row, d),
                              .b = operand_at(p, &p->b, NULL, x->batch, d, column),
                              .a_transposed = p->a.transposed,
                              .b_transposed = p->b.transposed,
                              .a_ld = p->a.ld,
                              .b_ld = p->b.ld,
                              .c = which == 0 ? x->result + (in * p->c.ld + column) * size
                                              : operand_at(p, &p->c, NULL, x->batch, row, column),
                              .c_ld = p->c.ld,
                              .add = d > 0};
}

/* The first product for all rows of x, whose tiles do not count. */
static nxi_floats_product whole_piece(const chain_run *r, const chain_rows *x) {
  nxi_floats_product piece = chain_piece(r, 0, x, x->begin, 0, 0);
  piece.m = x->end - x->begin;
  piece.n = r->chain->products[0].n;
  piece.k = r->chain->products[0].k;
  return piece;
}

static void run_rows(const chain_run *r, int which, chain_rows *x) {
  const nxi_matmul *p = &r->chain->products[which];
  const nxi_tiles *t = &r->tiles[which];
  const bool sees = which == 0 && r->chain->seen, one = t->columns >= p->n && t->depth >= p->k;
  nxi_seen seen;
  for (int64_t row = x->begin; row < x->end; row += t->rows)
    for (int64_t column = 0; column < p->n; column += t->columns)
      for (int64_t d = 0; d < larger(p->k, 1); d += t->depth) {
        nxi_floats_product piece = chain_piece(r, which, x, row, column, d);
        if (sees) seen = nxi_seen_from(r->chain->seen, row, column);
        piece.seen = sees ? &seen : NULL;
        piece.look = which == 1 && one ? &x->look : NULL;
        multiply(r->blas, p, &piece);
      }
}

static void run_strips(const chain_run *r, const chain_rows *x, bool makes) {
  nxi_floats_product piece = whole_piece(r, x);
  nxi_seen seen;
  if (r->chain->seen) seen = nxi_seen_from(r->chain->seen, x->begin, 0);
  piece.seen = r->chain->seen ? &seen : NULL;
  if (makes) nxi_floats_make_strips(r->own, &piece, x->strips);
  else nxi_floats_multiply_strips(r->own, &piece, x->strips);
}

static void run_block(const chain_run *r, int worker, chain_rows *x) {
  const nxi_matmul_chain *c = r->chain;
  const int64_t last = x->end;
  if (x->strips) run_strips(r, x, true);
  for (; x->begin < last; x->begin = x->end) {
    x->end = smaller(x->begin + r->rows, last);
    if (x->strips) run_strips(r, x, false);
    else run_rows(r, 0, x);
    c->between.fn(c->between.user, worker, x->batch, x->begin, x->end);
    run_rows(r, 1, x);
    if (c->after.fn) c->after.fn(c->after.user, worker, x->batch, x->begin, x->end);
  }
}

static void run_blocks(void *arg, int worker, int64_t begin, int64_t end) {
  chain_run *r = arg;
  const nxi_matmul_chain *c = r->chain;
  const nxi_matmul *first = &c->products[0];
  char *result = (char *)first->c.base + worker * c->block_bytes[0];
  const int64_t bytes = r->rows * first->c.ld * nxi_dtype_size(first->type);
  if (c->seen && !r->cleared[worker]) memset(result, 0, (size_t)smaller(bytes, c->block_bytes[0]));
  r->cleared[worker] = true;
  for (int64_t i = begin; i < end; i++) {
    const int64_t row = i % r->blocks * c->rows;
    chain_rows x = {.batch = i / r->blocks,
                    .begin = row,
                    .end = smaller(row + c->rows, first->m),
                    .result = result,
                    .operand = (char *)c->products[1].a.base + worker * c->block_bytes[1],
                    .strips = r->strips ? result + bytes : NULL};
    run_block(r, worker, &x);
  }
}

/* Decides how many rows are made at a time. */
static void divide_blocks(chain_run *r) {
  const nxi_matmul *p = &r->chain->products[0];
  const int64_t row = p->c.ld * nxi_dtype_size(p->type), block = smaller(r->chain->rows, p->m);
  r->own = p->k > 0 ? nxi_floats_kernels_for(p->type) : NULL;
  r->rows = r->chain->rows;
  if (!r->own || r->tiles[0].depth < p->k) return;
  int64_t rows = nxi_target_host()->l2_bytes / CHAIN_PART_OF_CACHE / row;
  const chain_rows x = {.end = block, .result = p->c.base};
  const nxi_floats_product whole = whole_piece(r, &x);
  const int64_t bytes = nxi_floats_strips_bytes(r->own, &whole),
                left = (r->chain->block_bytes[0] - bytes) / row;
  if (bytes > 0) rows = smaller(rows, left);
  rows = rows / CHAIN_ROWS_UNIT * CHAIN_ROWS_UNIT;
  if (rows < CHAIN_ROWS_MIN || rows >= block) return;
  r->rows = rows;
  r->strips = bytes > 0;
}

nx_status nxi_matmul_chained(const nxi_blas *blas, nxi_pool *pool, const nxi_poll *poll,
                             const nxi_matmul_chain *chain, nxi_diag *d) {
  chain_run r = {.blas = blas, .chain = chain};
  int64_t batches = 1;
  for (int32_t i = 0; i < chain->products[0].batch_rank; i++)
    batches *= chain->products[0].batch_shape[i];
  for (int which = 0; which < 2; which++) {
    const nxi_matmul *p = &chain->products[which];
    r.tiles[which] = nxi_matmul_tiles(batches, p->m, p->n, p->k);
    nx_status status = check(p, &r.tiles[which], d);
    if (status != NX_OK) return status;
  }
  r.blocks = ceil_div(chain->products[0].m, chain->rows);
  if (batches > 0) divide_blocks(&r);
  nx_status status = nxi_pool_run_polled(pool, poll, run_blocks, &r, batches * r.blocks, 1);
  return status == NX_OK ? NX_OK : nxi_fail(d, status, "matmul", "interrupted");
}

/* ---- one product */

enum {
  TALL_COLUMNS = 128,
  TALL_ELEMENTS = 2 << 20,  /* of the first operand's part of a tile */
  HALVED_CYCLES = 28 << 10, /* of a product that two threads share although it is one tile */
  HALVED_ROWS_UNIT = 4,
  PANELS_A_THREAD = 2, /* whose epilogues run as they are finished */
};

/* Cuts a product for loops of our own, on whose tiles no bit depends. They copy the second operand
 * once for each tile, so tall tiles take less time; these are no larger than others. A tile with an
 * epilogue ends with that of all its rows; shares have memory for the tiles that they were planned
 * with. */
static void cut_for_loops(matmul_run *r, const nxi_pool *pool) {
  nxi_tiles *t = &r->tiles;
  const nxi_matmul *p = r->p;
  const nxi_floats_kernels *own = nxi_floats_kernels_for(p->type);
  if (p->staging || r->epilogue || r->symmetric || r->shares > 1 || !own) return;
  if (r->batches == 1 && t->row_panels == 1 && t->column_panels == 1 && pool &&
      nxi_pool_size(pool) > 1 && p->m >= 2 * own->rows &&
      (double)p->m * (double)p->n * (double)p->k >= 2.0 * own->lanes * HALVED_CYCLES) {
    t->rows = ceil_div(p->m, 2 * HALVED_ROWS_UNIT) * HALVED_ROWS_UNIT;
    t->row_panels = 2;
  }
  while (t->row_panels % 2 == 0 && t->columns >= 2 * TALL_COLUMNS &&
         2 * t->rows * t->depth <= TALL_ELEMENTS) {
    t->rows *= 2;
    t->row_panels /= 2;
    nxi_tiles_recut(t, p->n, ceil_div(t->columns, 32) * 16);
  }
}

/* Whether an epilogue has so few row panels that threads would wait for each other: the one that
 * finishes a panel runs it. Then all run it once the product is there. */
static bool comes_later(const matmul_run *r, const nxi_pool *pool) {
  const int64_t panels = r->batches * r->tiles.row_panels;
  return r->epilogue && pool && nxi_pool_size(pool) > 1 && r->tiles.column_panels > 1 &&
         panels < (int64_t)PANELS_A_THREAD * nxi_pool_size(pool);
}

nx_status nxi_matmul_panels(const nxi_blas *blas, nxi_pool *pool, const nxi_poll *poll,
                            const nxi_matmul *p, const nxi_epilogue *epilogue, nxi_diag *d) {
  matmul_run r = {.blas = blas, .p = p, .epilogue = epilogue, .batches = 1};
  for (int32_t i = 0; i < p->batch_rank; i++) r.batches *= p->batch_shape[i];
  r.tiles = nxi_matmul_tiles(p->among ? p->among : r.batches, p->m, p->n, p->k);
  r.shares = ceil_div(larger(p->k, 1), r.tiles.share);
  r.symmetric = is_symmetric(p, epilogue);
  if (p->staging && p->staging->windows)
    nxi_tiles_recut(&r.tiles, p->n, p->staging->layout->columns);
  const bool later = comes_later(&r, pool);
  if (later) r.epilogue = NULL;
  cut_for_loops(&r, pool);
  nx_status status = check(p, &r.tiles, d);
  if (status != NX_OK) return status;
  if (r.batches <= 0 || p->m == 0 || p->n == 0) return NX_OK;
  nxi_matmul_scratch s = nxi_matmul_lay_out(&r.tiles, p->type, r.batches, p->k, r.epilogue);
  char *memory = p->scratch, *owned = NULL;
  if (s.bytes && !memory) memory = owned = nxi_malloc((size_t)s.bytes);
  if (s.bytes && !memory) return nxi_oom(d);
  if (s.bytes) use_scratch(&r, &s, memory);
  int64_t tasks = r.batches * r.tiles.row_panels * r.tiles.column_panels * r.shares;
  if (p->staging) {
    int64_t others = p->staging->operand == 0 ? r.tiles.column_panels : r.tiles.row_panels;
    r.span = tiles_a_task(&r, tasks, pool);
    tasks = tasks / others * ceil_div(others, r.span);
  }
  status = nxi_pool_run_polled(pool, poll, p->staging ? run_staged : run_tiles, &r, tasks,
                               r.tiles.products);
  if (later && status == NX_OK) status = nxi_epilogue_run(epilogue, pool, poll, r.batches, p->m);
  nxi_free(owned);
  return status == NX_OK ? NX_OK : nxi_fail(d, status, "matmul", "interrupted");
}
