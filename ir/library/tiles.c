/* SPDX-License-Identifier: ISC */
/* How a product is cut into calls of a library for processors. */
#include "tiles.h"

#include <math.h>

static int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- how a product is divided. Every number was tuned with OpenBLAS 0.3.21 and AVX-512 kernels.
 * The library packs its operands again for each tile, so tiles are as large as possible while there
 * are enough of them. */

enum {
  UNIT = 16, /* panels are multiples of this, the size of the library's kernels */
  SKINNY_UNIT = 64,
  SKINNY = 8, /* up to here reading the other operand is what it costs: once, in long runs */
  TILE_FLOPS_MIN = 2 << 20,  /* some 12 us */
  TILE_AREA_MAX = 512 << 10, /* elements of C */
  /* a product smaller than four of these is still divided into four tiles */
  TILE_AREA_SPLIT = 64 << 10,
  TILE_AREA_FLOOR = 16 << 10, /* not smaller to get short tasks */
  LONG_ROWS_MAX = 512 << 10,  /* elements of the operand along the long side of a tile: a cache */
  LONG_COLUMNS_MAX = 256 << 10,
  DEPTH_WHOLE = 2048, /* up to here the inner extent is not divided */
  DEPTH_MAX = 1536,   /* most of a piece; if there are several, each has at least half of it */
  TASKS_WANTED = 16,  /* tasks of a product whose inner extent can be divided */
  SHARED_AREA_MAX = 512 << 10, /* most elements of C for that; each share has a C of its own */
};

/* The length of the panels into which `length` is divided, about `wanted`. A small number of panels
 * is a power of two, so that threads get equal work. */
static int64_t panel(int64_t length, int64_t wanted) {
  int64_t count = ceil_div(length, wanted > 0 ? wanted : 1);
  if (count <= 16) {
    count = 1;
    while ((double)count < 0.72 * (double)length / (double)wanted) count *= 2;
  }
  int64_t size = ceil_div(ceil_div(length, count), UNIT) * UNIT;
  return size < length ? size : larger(length, 1);
}

/* Shortens a tile that is much longer than wide. It packs the operand of its long side for few
 * results, and if that operand exceeds a cache, it is read from memory twice. An operand that is
 * computed tile by tile also stays in the cache only if tiles are short. */
static int64_t shortened(int64_t length, int64_t width, int64_t most) {
  return smaller(length, larger(most, 2 * width));
}

/* The elements of C that a tile should have. A small C is divided less if the inner extent can be
 * divided among threads instead. */
static int64_t tile_area(double elements, int64_t k) {
  double area = elements / 8, small = (double)k / DEPTH_MAX / TASKS_WANTED * elements;
  if (small < elements / 4) small = elements / 4;
  if (small > elements) small = elements;
  if (area < TILE_AREA_SPLIT) area = small < TILE_AREA_SPLIT ? small : TILE_AREA_SPLIT;
  double least = (double)TILE_FLOPS_MIN / 2 / (double)k,
         most = (double)NXI_TILE_FLOPS_MAX / 2 / (double)k;
  if (most < TILE_AREA_FLOOR) most = TILE_AREA_FLOOR;
  if (most > TILE_AREA_MAX) most = TILE_AREA_MAX;
  if (area < least) area = least;
  return area > most ? (int64_t)most : larger((int64_t)area, 1);
}

/* The panels of a product with few rows (or columns), along its long dimension: enough of them,
 * none too short, and none of more elements of that operand than a cache has. */
static int64_t skinny_panel(int64_t batches, int64_t few, int64_t many, int64_t k) {
  int64_t fair = ceil_div(many, ceil_div(TASKS_WANTED, smaller(batches, TASKS_WANTED))),
          wanted = larger(fair, TILE_FLOPS_MIN / 2 / few / k);
  wanted = smaller(wanted, LONG_COLUMNS_MAX / smaller(k, DEPTH_MAX));
  return smaller(ceil_div(wanted, SKINNY_UNIT) * SKINNY_UNIT, many);
}

/* The length of the pieces of the inner extent. They bound the panel of an operand in both
 * directions. The number of pieces is a power of two, because extents k (channels, positions,
 * images) are usually divisible by one. */
static int64_t pieces_depth(int64_t k) {
  int64_t count = 2;
  if (k <= DEPTH_WHOLE) return larger(k, 1);
  while (ceil_div(k, count) > DEPTH_MAX) count *= 2;
  return k % count == 0 ? k / count : ceil_div(ceil_div(k, count), UNIT) * UNIT;
}

/* The length of the shares of the inner extent whose sums are computed separately, so that a small
 * C with few tiles has enough tasks, none of which is too short. */
static int64_t share_of(const nxi_tiles *t, double elements, int64_t tiles, int64_t k) {
  int64_t pieces = ceil_div(k, t->depth), few = ceil_div(TASKS_WANTED, tiles);
  if (pieces == 1 || elements > SHARED_AREA_MAX) return larger(k, 1);
  double least = TILE_FLOPS_MIN / 2.0 / (double)t->rows / (double)t->columns / (double)t->depth;
  int64_t each = larger(ceil_div(pieces, few), (int64_t)least + 1);
  return each < pieces ? each * t->depth : k;
}

nxi_tiles nxi_matmul_tiles(int64_t batches, int64_t m, int64_t n, int64_t k) {
  nxi_tiles t = {.rows = larger(m, 1),
                 .columns = larger(n, 1),
                 .depth = larger(k, 1),
                 .share = larger(k, 1),
                 .row_panels = 1,
                 .column_panels = 1,
                 .products = 1};
  if (m <= 0 || n <= 0 || batches <= 0) return t;
  if (k < 1) k = 1;
  if (batches == 1 && m > SKINNY && n > SKINNY && k <= DEPTH_WHOLE &&
      (double)m * (double)n * (double)k < TILE_FLOPS_MIN / 2)
    return t; /* as below, without divisions */
  int64_t area = tile_area((double)batches * (double)m * (double)n, k);
  int64_t rows = larger((int64_t)sqrt((double)area) - 1, 1);
  while (rows * rows < area) rows++;
  if (n < ceil_div(area, rows)) rows = ceil_div(area, n);
  if (m <= SKINNY) {
    t.columns = skinny_panel(batches, m, n, k);
  } else if (n <= SKINNY) {
    t.rows = skinny_panel(batches, n, m, k);
  } else {
    t.rows = panel(m, shortened(rows, smaller(n, rows), LONG_ROWS_MAX / k));
    t.columns = panel(n, shortened(ceil_div(area, t.rows), t.rows, LONG_COLUMNS_MAX / k));
  }
  t.depth = pieces_depth(k);
  t.row_panels = ceil_div(m, t.rows);
  t.column_panels = ceil_div(n, t.columns);
  double tiles = (double)batches * (double)t.row_panels * (double)t.column_panels;
  if (tiles < TASKS_WANTED)
    t.share = share_of(&t, (double)batches * (double)m * (double)n, (int64_t)tiles, k);
  if (t.row_panels == 1 && t.column_panels == 1) {
    double flops = 2.0 * (double)m * (double)n * (double)k;
    int64_t enough = flops < TILE_FLOPS_MIN ? (int64_t)(TILE_FLOPS_MIN / flops) : 1;
    t.products = smaller(enough, ceil_div(batches, 8));
  }
  return t;
}

void nxi_tiles_recut(nxi_tiles *t, int64_t n, int64_t columns) {
  t->columns = columns;
  t->column_panels = ceil_div(n, columns);
}

/* ---- scratch */

static int64_t to_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

nxi_matmul_scratch nxi_matmul_lay_out(const nxi_tiles *t, nx_dtype type, int64_t batches, int64_t k,
                                      bool epilogue) {
  int64_t panels = batches * t->row_panels, shares = ceil_div(larger(k, 1), t->share);
  nxi_matmul_scratch s = {.rows = epilogue && t->column_panels > 1 ? panels : 0,
                          .tiles = shares > 1 ? panels * t->column_panels : 0};
  s.partials = to_lines((s.rows + s.tiles) * (int64_t)sizeof(_Atomic int32_t));
  s.share_bytes = to_lines(t->rows * t->columns * nxi_dtype_size(type));
  s.bytes = s.partials + s.tiles * (shares - 1) * s.share_bytes;
  return s;
}

int64_t nxi_matmul_scratch_bytes(nx_dtype type, int64_t batches, int64_t m, int64_t n, int64_t k,
                                 bool epilogue) {
  if (batches <= 0 || m <= 0 || n <= 0) return 0;
  nxi_tiles t = nxi_matmul_tiles(batches, m, n, k);
  return nxi_matmul_lay_out(&t, type, batches, k, epilogue).bytes;
}
