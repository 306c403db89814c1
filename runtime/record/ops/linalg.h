/* SPDX-License-Identifier: ISC */
/* What the recording of linear algebra shares. Handles that are given are one reference of the
 * caller's; NULL: reported. */
#ifndef NXI_LINALG_H
#define NXI_LINALG_H

#include "runtime/record/node.h"

/* The tensor as f32 if it is of a smaller float; `most`: as f64 or c128. */
nx_tensor *nxi_widened(nx_tensor *x, bool most);
/* `result`, whose reference it takes, as t if that is smaller than f32. */
nx_tensor *nxi_narrowed(nx_tensor *result, nx_dtype t);
/* Whether the right side of A x = b is a vector, or vectors, and no matrix. */
static inline bool nxi_is_vector(const nx_tensor *b, uint32_t flags) {
  return b->rank == 1 || flags & NX_VECTORS;
}
/* The right side as a matrix. */
nx_tensor *nxi_as_columns(nx_tensor *b, bool vector);
/* Whether the operands have one dtype, of F or C, and the first one is a matrix. False: reported.
 * */
bool nxi_check_matrices(const char *op, nx_tensor *const *t, uint32_t n);
/* Whether b has a row for each one of a, of rank 2 at least, and lies on its device. False:
 * reported, with the shapes as the caller has them. */
bool nxi_is_right_side(const char *op, nx_tensor *a, nx_tensor *b, bool vector);
/* Back; takes the reference. */
nx_tensor *nxi_without_column(nx_tensor *x, bool vector);

#endif
