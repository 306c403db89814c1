/* SPDX-License-Identifier: ISC */
/* What the recording of linear algebra shares. Handles that are given are one reference of the
 * caller's; NULL: reported. */
#ifndef NXI_LINALG_H
#define NXI_LINALG_H

#include "compose.h"
#include "ir/graph/graph.h"
#include "runtime/record/node.h"

/* The tensor as f32 if it is of a smaller float, c32 as c64; `most`: as f64 or c128. */
nx_tensor *nxi_widened(nx_tensor *x, bool most);
/* `result`, whose reference it takes, as t if that is smaller than f32, or c32. */
nx_tensor *nxi_narrowed(nx_tensor *result, nx_dtype t);
/* Whether the right side of A x = b is a vector, or vectors, and no matrix. */
static inline bool nxi_is_vector(const nx_tensor *b, uint32_t flags) {
  return b->rank == 1 || flags & NX_VECTORS;
}
/* Whether flags are known, and operands of dtypes that LAPACK can have, all the same; whether a
 * matrix is square. False: reported. */
bool nxi_known_flags(const char *op, uint32_t flags, uint32_t known, const char *names);
bool nxi_check_dtypes(const char *op, nx_tensor *const *t, uint32_t n);
bool nxi_check_square(const char *op, nx_tensor *a);
/* Records an operation on matrices of one dtype, in f32 if that is smaller. */
nx_tensor *nxi_record_matrices(nxg_op op, nx_tensor *const *t, uint32_t n, const int64_t *attrs,
                               uint32_t n_attrs);
/* Steps of compositions: what lies on and above the diagonal (lower: below it), and `more`
 * diagonals beside it; else 0. */
nx_tensor *nxi_step_triangle(nxi_steps *p, nx_tensor *x, int64_t more, bool lower);
/* The first rows and columns, with zeros for those that x lacks. */
nx_tensor *nxi_step_corner(nxi_steps *p, nx_tensor *x, int64_t rows, int64_t columns);
/* Gives results to the caller, or releases all if one is NULL; the status. */
nx_status nxi_give_results(nx_tensor *const *results, uint32_t n, nx_tensor **const *out);
/* The right side as a matrix. */
nx_tensor *nxi_as_columns(nx_tensor *b, bool vector);
/* Whether the operands have one dtype, of F or C, and the first one is a matrix. False: reported.
 * */
bool nxi_check_matrices(const char *op, nx_tensor *const *t, uint32_t n);
/* Whether b has a row (right: a column) for each row of a, of rank 2 at least, and lies on its
 * device. False: reported, with the shapes as the caller has them. */
bool nxi_is_side(const char *op, nx_tensor *a, nx_tensor *b, bool vector, bool right);
/* Up to which part of the largest singular value others count as zero: rtol, or what is usual if
 * that is negative. Whether it is a number; false: reported. */
double nxi_tolerance(const nx_tensor *a, const volatile double *rtol);
bool nxi_check_tolerance(const char *op, double rtol);
/* The transposed matrices, conjugated if asked and complex. */
nx_tensor *nxi_turned(nx_tensor *x, bool conjugated);
/* Back; takes the reference. */
nx_tensor *nxi_without_column(nx_tensor *x, bool vector);

#endif
