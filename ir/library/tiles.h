/* SPDX-License-Identifier: ISC */
/* How a matrix product is cut into calls of a library for processors: by its shape alone, since the
 * cut decides the order of sums and with it the bits of the result. A plan packs operands, and
 * reserves memory, along these tiles; the run of a product multiplies them. */
#ifndef NXI_TILES_H
#define NXI_TILES_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/dtype.h"

/* Most floating-point operations of a tile: some 7 ms, because polls come between tiles. */
#define NXI_TILE_FLOPS_MAX (INT64_C(1200) << 20)

/* How a product is cut: rows x columns of C and a piece of the inner extent a library call, and
 * whole products a task if it is small. The pieces of a tile are added up in order; where tiles are
 * few, in shares of some pieces, each a task, and then the shares in order. From the shape alone.
 * For documentation and tests. */
typedef struct nxi_tiles {
  int64_t rows, columns; /* of a tile */
  int64_t depth;         /* of a piece, 1 at least; the last one may be shorter */
  int64_t share;         /* elements of the inner extent: whole pieces */
  int64_t row_panels, column_panels;
  int64_t products; /* in one task; 1 if a product has several tiles */
} nxi_tiles;
nxi_tiles nxi_matmul_tiles(int64_t batches, int64_t m, int64_t n, int64_t k);
/* Gives them other columns, of the n that there are; for loops on whose tiles no bit depends. */
void nxi_tiles_recut(nxi_tiles *t, int64_t n, int64_t columns);
/* What a run needs to know which tiles and rows are finished, and for shares of the inner extent;
 * 0: nothing. */
int64_t nxi_matmul_scratch_bytes(nx_dtype type, int64_t batches, int64_t m, int64_t n, int64_t k,
                                 bool epilogue);

/* What that memory holds: counters of row panels, counters of tiles, then shares. */
typedef struct nxi_matmul_scratch {
  int64_t rows, tiles; /* counters of each */
  int64_t partials;    /* where the shares begin */
  int64_t share_bytes; /* from one share of a tile to the next */
  int64_t bytes;
} nxi_matmul_scratch;
nxi_matmul_scratch nxi_matmul_lay_out(const nxi_tiles *t, nx_dtype type, int64_t batches, int64_t k,
                                      bool epilogue);

#endif
