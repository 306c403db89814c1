/* SPDX-License-Identifier: ISC */
/* Shapes and views: arithmetic on extents, strides and offsets (in elements), without any graph.
 * Recording, the parser and the passes use it. */
#ifndef NXG_VIEW_H
#define NXG_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include "ir/diag.h"

enum { NXG_MAX_RANK = 32 };

typedef struct nxg_view {
  int32_t rank;
  int64_t offset;
  int64_t shape[NXG_MAX_RANK];
  int64_t strides[NXG_MAX_RANK];
} nxg_view;

void nxg_view_copy(nxg_view *to, const nxg_view *from); /* what its rank has, not all 528 bytes */
/* Checks that the rank is in range, that no extent is negative, and that the number of elements and
 * bytes fits 63 bits. Extents of 0 count as 1 in the latter check, so that no partial product
 * overflows. *elements is the product of the extents. */
nx_status nxg_shape_check(nx_status bad, const char *op, int32_t rank, const int64_t *shape,
                          int64_t element_bits, int64_t *elements, nxi_diag *d);
int64_t nxg_elements(int32_t rank, const int64_t *shape);
/* Writes a shape as "[4,5]" for messages; a long one ends in "...". Returns `text`. */
enum { NXG_SHAPE_TEXT = 144 };
const char *nxg_format_shape(char text[NXG_SHAPE_TEXT], int32_t rank, const int64_t *shape);
/* Canonical C-contiguous strides: strides[rank-1] = 1. Extents of 0 count as 1. */
void nxg_contiguous_strides(int32_t rank, const int64_t *shape, int64_t *strides);
void nxg_view_contiguous(nxg_view *v, int32_t rank, const int64_t *shape);
bool nxg_view_is_contiguous(
    const nxg_view *v); /* canonical strides, also of dimensions of size 1; any offset */
/* The same for a list of strides, of which those of dimensions of size 1 may be any: whether
 * elements that follow each other in C order lie beside each other. */
bool nxg_is_in_order(int32_t rank, const int64_t *shape, const int64_t *strides);
bool nxg_same_shape(int32_t rank_a, const int64_t *a, int32_t rank_b, const int64_t *b);
/* Broadcast of two shapes as in NumPy. */
nx_status nxg_broadcast(const char *op, int32_t rank_a, const int64_t *a, int32_t rank_b,
                        const int64_t *b, int32_t *rank, int64_t *shape, nxi_diag *d);

/* Movement: out may be v. Errors name `op` and both shapes; NX_NEEDS_COPY if reshape cannot be
 * expressed. A result with a zero extent has offset 0. */
nx_status nxg_view_expand(const nxg_view *v, int32_t rank, const int64_t *shape, nxg_view *out,
                          nxi_diag *d);
nx_status nxg_view_reshape(const nxg_view *v, int32_t rank, const int64_t *shape, nxg_view *out,
                           nxi_diag *d);
nx_status nxg_view_permute(const nxg_view *v, const int32_t *axes, size_t n, nxg_view *out,
                           nxi_diag *d);
nx_status nxg_view_shrink(const nxg_view *v, const int64_t *start, const int64_t *stop,
                          nxg_view *out, nxi_diag *d);
nx_status nxg_view_flip(const nxg_view *v, const int32_t *axes, size_t n, nxg_view *out,
                        nxi_diag *d);
/* On each axis the `count` elements start, start + step, ... step may be negative but not 0; every
 * index must be in range. */
nx_status nxg_view_slice(const nxg_view *v, const int64_t *start, const int64_t *count,
                         const int64_t *step, nxg_view *out, nxi_diag *d);
/* A view of a whole storage of that many elements. Checks that every index addresses an element of
 * it. */
nx_status nxg_view_as_strided(int64_t storage_elements, int32_t rank, const int64_t *shape,
                              const int64_t *strides, int64_t offset, nxg_view *out, nxi_diag *d);
/* True if two indices of the view may address the same element. The answer is exact for the usual
 * cases, and true for views where it is not decided. */
bool nxg_view_overlaps_itself(const nxg_view *v);
/* Lowest and highest element that the view addresses; false if it addresses none. */
bool nxg_view_range(const nxg_view *v, int64_t *low, int64_t *high);
/* A bit mask of axes. Each must be in [-rank, rank), and none may be given twice. */
nx_status nxg_axes_mask(const char *op, int32_t rank, const int32_t *axes, size_t n, uint32_t *mask,
                        nxi_diag *d);

#endif
