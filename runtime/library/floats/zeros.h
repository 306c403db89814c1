/* SPDX-License-Identifier: ISC */
/* Zeros at the ends of rows of A, as masks and triangles have: where they change no bit of the
 * result, a product leaves them out.
 *
 * A step of a chain with +0 in A adds +0 or -0 if the number of B is finite. That leaves a sum as
 * it is, unless the sum is -0, which +0 makes +0. A chain begins at +0, and is -0 only after a step
 * that rounded a negative product, or a sum with one, to zero. So steps before the first number of
 * A that is not +0 are left out if B is finite; those behind the last one, too, unless the chain is
 * -0 there, for which the block is made again with all steps. */
#ifndef NXI_FLOATS_ZEROS_H
#define NXI_FLOATS_ZEROS_H

#include "multiply.h"

enum {
  NXI_FLOATS_SPANS = 64,        /* blocks of rows whose spans are looked for at once */
  NXI_FLOATS_ZEROS_DEPTH = 128, /* the least inner extent for that */
};

/* Elements begin .. end - 1 of the inner extent, one at least: all others are +0 in some rows. */
typedef struct nxi_floats_span {
  int32_t begin, end;
} nxi_floats_span;

/* What is known of a product. */
typedef struct nxi_floats_zeros {
  const nxi_floats_kernels *f;
  const nxi_floats_product *p; /* NULL: nothing is left out */
  nxi_floats_look look;        /* at B: it is read once, when zeros are found in A */
} nxi_floats_zeros;

/* Zeros are worth looking for: rows of A are contiguous, long, and more than some. */
void nxi_floats_zeros_begin(nxi_floats_zeros *z, const nxi_floats_kernels *f,
                            const nxi_floats_product *p);

/* The spans of rows row .. row + rows - 1, for each block of f->rows; at most NXI_FLOATS_SPANS
 * blocks. False: none is much shorter than the inner extent, or B is not finite. */
bool nxi_floats_spans_of(nxi_floats_zeros *z, int64_t row, int64_t rows, nxi_floats_span *spans);

/* Whether a block of C has a -0. */
bool nxi_floats_has_minus_zero(const nxi_floats_kernels *f, const void *c, int64_t ld, int64_t rows,
                               int64_t columns);

#endif
