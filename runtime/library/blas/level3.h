/* SPDX-License-Identifier: ISC */
/* Products and triangular systems for blocked factorisations: matrices are stored by columns, sizes
 * are in elements, and the work is done on the calling thread. Long work is divided into pieces, by
 * its shape alone, and the poll is called between them. */
#ifndef NXI_LEVEL3_H
#define NXI_LEVEL3_H

#include "runtime/library/linalg/lapack.h"

/* Whether the poll of `part` says to stop; the result of the call is then not used. NULL: there is
 * no poll. */
static inline bool nxi_told_to_stop(const nxg_call_part *part) {
  return part && part->stopped(part->user);
}
static inline void *nxi_at(nx_dtype t, const void *a, int64_t row, int64_t column, int ld) {
  return (char *)(uintptr_t)a + (row + column * ld) * nxi_dtype_size(t);
}

/* An operand of a product; op: "N", "T", or "C" for the adjoint. */
typedef struct nxi_factor {
  const char *op;
  const void *at;
  int ld;
} nxi_factor;

/* C (m x n) -= a b, over k. False: told to stop. */
bool nxi_subtract_product(const nxg_call_part *part, nx_dtype t, int m, int n, int k, nxi_factor a,
                          nxi_factor b, void *c, int ld);
/* C (m x n) = a b, over k >= 1; at once. */
void nxi_product(nx_dtype t, int m, int n, int k, nxi_factor a, nxi_factor b, void *c, int ld);
/* A X = B or X A = B (side "L", "R"), B being m x n; as the routine of BLAS. At once. */
void nxi_triangular(nx_dtype t, const char *side, const char *uplo, const char *trans,
                    const char *diag, int m, int n, const void *a, int lda, void *b, int ldb);
/* X op(A) = B, B being m x n, for any n. False: told to stop. */
bool nxi_solve_right(const nxg_call_part *part, nx_dtype t, const char *uplo, const char *trans,
                     const char *diag, int m, int n, const void *a, int lda, void *b, int ldb);
/* The same with B elsewhere; it may be at b, too. */
bool nxi_solve_right_from(const nxg_call_part *part, nx_dtype t, const char *uplo,
                          const char *trans, const char *diag, int m, int n, const void *a, int lda,
                          const void *from, int from_ld, void *b, int ldb);
/* X L U = B from both factors in a, the diagonal of L being 1, in one pass over B, which is at
 * `from`, or, if that is NULL, at b. one >= 0: there is no B; it is rows of the unit matrix, from
 * number `one` on. */
bool nxi_solve_right_lu(const nxg_call_part *part, nx_dtype t, int m, int n, const void *a, int lda,
                        const void *from, int from_ld, void *b, int ldb, int one);

#endif
