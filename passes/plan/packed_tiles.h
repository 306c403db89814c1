/* SPDX-License-Identifier: ISC */
/* Packed tiles of operands: what plan/packed_tiles.c, which decides and makes the steps, asks of
 * plan/packed_walk.c, which knows the geometry. */
#ifndef NXP_PLAN_PACKED_TILES_H
#define NXP_PLAN_PACKED_TILES_H

#include "build.h"

enum { NXP_PACKED_PARTS = 2 }; /* a complex operand has two: its parts beside each other */

/* A part of the inner extent, begin .. end - 1: the operand, or what one part of a cat is made of.
 * */
typedef struct nxp_packed_walk {
  nxp_walk walk;
  int64_t begin, end;
  int32_t batch_axes, column_axes; /* outer axes that number the batch, then units of columns */
  nxp_units columns, depth;
} nxp_packed_walk;

/* Where the operand's matrix is in its base, and the walks that make a unit of it. */
typedef struct nxp_packed_tiles {
  uint32_t base;
  uint32_t image; /* the value whose windows it is, if nxp_find_windows says so; else NXP_NONE */
  bool repeats;   /* products of a batch have the same matrix, which each of them makes */
  bool inner;     /* columns of a packed tile lie beside each other; else the inner extent does */
  int64_t width;  /* columns (rows, of the first operand) of a tile */
  int64_t extent, depth; /* of all tiles; inner extent of the product */
  int64_t piece;         /* of the inner extent, that a packed tile has */
  int32_t n_parts;
  nxp_packed_walk parts[NXP_PACKED_PARTS];
  /* columns, and elements of the inner extent, that units may write around those of a tile */
  int64_t margin[2];
  int64_t ld, elements;
} nxp_packed_tiles;

static inline uint32_t nxp_operand_base(const nxp_step_builder *s, uint32_t node) {
  return node_of(s, node)->op == NXG_view ? node_of(s, node)->args[0] : node;
}

/* The matrices of operand i of a product, a walk over all of each part: batch, then what lies
 * closer inside. False: they cannot be made in packed tiles. */
bool nxp_packed_matrix(const nxp_step_builder *s, uint32_t product, int i, nxp_packed_tiles *g);
/* Makes these walks those of one unit. batch: axes that number it. */
nx_status nxp_packed_walks(nxp_step_builder *s, uint32_t group, int32_t batch, nxp_packed_tiles *g,
                           bool *ok);

/* Whether the operand is windows of an image, which the product's run had better read from a copy
 * of that (plan/windows.c). Sets g->image. */
bool nxp_find_windows(const nxp_step_builder *s, uint32_t product, int operand, nxp_packed_tiles *g,
                      nxp_windows *out);

#endif
