/* SPDX-License-Identifier: ISC */
/* Values and vectors of an upper bidiagonal matrix by divide and conquer, of which threads share
 * the two halves and what joins them, as those of conquer.h. */
#ifndef NXI_CONQUER_SVD_H
#define NXI_CONQUER_SVD_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_conquer_svd {
  nx_dtype t;          /* f32, f64 */
  int n, above, below; /* rows above the one in the middle, and below it */
} nxi_conquer_svd;

typedef struct nxi_conquer_svd_state {
  int info[2];  /* of each half */
  int scale;    /* the matrix was multiplied by 2^scale */
  int k;        /* rows of the secular equation; 0: there is nothing to join */
  int types[4]; /* of the columns that are joined: with an upper part alone, lower ones, whole */
  bool zero;
} nxi_conquer_svd_state;

/* What it works on: left and right are n x n, of the latter vectors are rows; lengths of the others
 * are below. */
typedef struct nxi_conquer_svd_arrays {
  void *diagonal, *beside, *left, *right, *work;
  int *integers;
  nxi_conquer_svd_state *state;
} nxi_conquer_svd_arrays;

static inline nxi_conquer_svd nxi_conquer_svd_of(nx_dtype real, int n) {
  return (nxi_conquer_svd){real, n, n / 2, n - 1 - n / 2};
}
/* Elements of `work`; of `integers`; of scratch memory for roots and vectors of a chunk. */
int64_t nxi_conquer_svd_work(const nxi_conquer_svd *c);
int64_t nxi_conquer_svd_integers(const nxi_conquer_svd *c);
int64_t nxi_conquer_svd_own(const nxi_conquer_svd *c);
int nxi_conquer_svd_chunks(const nxi_conquer_svd *c);

/* One after the other; those with a number may be done at the same time. */
void nxi_conquer_svd_tear(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at);
/* Of the arrays the elements of a half, the first with the row in the middle, are used alone. */
void nxi_conquer_svd_half(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int half);
void nxi_conquer_svd_join(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at);
void nxi_conquer_svd_roots(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int chunk,
                           void *own);
void nxi_conquer_svd_weights(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int chunk);
void nxi_conquer_svd_vectors(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at, int chunk,
                             void *own);
/* Gives values back their scale. 0, or that something has not converged. */
int nxi_conquer_svd_end(const nxi_conquer_svd *c, const nxi_conquer_svd_arrays *at);
/* The descending order: where each value and its vectors are; from the end on. */
const int *nxi_conquer_svd_order(const nxi_conquer_svd *c, const int *integers);

#endif
