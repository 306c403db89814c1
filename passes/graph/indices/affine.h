/* SPDX-License-Identifier: ISC */
/* Integers that follow from their position: counts, and sums and multiples of counts along several
 * axes, as a program computes them for the indices of windows, grids and blocks. */
#ifndef NXG_AFFINE_H
#define NXG_AFFINE_H

#include "ir/graph/view.h"

enum { NXG_AFFINE_AXES = 12 };

/* The integers in C order: offset + sum of strides[i] * index[i], where the indices count through
 * `shape`, whose product is their number. Neighbouring axes that are one step apart are one axis
 * here, so `shape` need not be that of a node. Without axes all integers are `offset`, however many
 * there are. */
typedef struct nxg_affine {
  int32_t rank;
  int64_t offset;
  int64_t shape[NXG_AFFINE_AXES];
  int64_t strides[NXG_AFFINE_AXES];
} nxg_affine;

/* All of these: false if the result is not affine, has too many axes, or leaves 45 bits; *out is
 * then as it was. out may be an operand. */

/* offset + sum of strides[i] * index[i] over a shape. */
bool nxg_affine_of(int32_t rank, const int64_t *shape, const int64_t *strides, int64_t offset,
                   nxg_affine *out);
/* The integers of a list. */
bool nxg_affine_of_list(int64_t n, const int64_t *list, nxg_affine *out);
/* a + scale * b. */
bool nxg_affine_add(const nxg_affine *a, const nxg_affine *b, int64_t scale, nxg_affine *out);
/* a / by and a % by, for a divisor above 0 and integers that are not negative. */
bool nxg_affine_divide(const nxg_affine *a, int64_t by, nxg_affine *quotient, nxg_affine *rest);
/* The integers at the positions that a view of them has. */
bool nxg_affine_through(const nxg_affine *a, const nxg_view *view, nxg_affine *out);
/* The smallest and the largest. */
void nxg_affine_range(const nxg_affine *a, int64_t *low, int64_t *high);

#endif
