/* SPDX-License-Identifier: ISC */
/* Values and vectors of a symmetric tridiagonal matrix by divide and conquer, of which threads
 * share the two halves and what joins them: half of the work, and most of it products. LAPACK's
 * routines do a half, find what needs no joining, and each root of the secular equation. How the
 * work is divided depends on the size alone. */
#ifndef NXI_CONQUER_H
#define NXI_CONQUER_H

#include "runtime/library/linalg/lapack.h"

typedef struct nxi_conquer {
  nx_dtype t; /* f32, f64 */
  int n, half;
} nxi_conquer;

typedef struct nxi_conquer_state {
  int info[2];  /* of each half */
  int scale;    /* the matrix was multiplied by 2^scale */
  int k;        /* rows of the secular equation: the first vectors; 0: there is nothing to join */
  int types[4]; /* of the columns that are joined: with an upper part alone, whole, lower ones */
} nxi_conquer_state;

/* What it works on: vectors is n x n; lengths of the others below. */
typedef struct nxi_conquer_arrays {
  void *diagonal, *beside, *vectors, *work;
  int *integers;
  nxi_conquer_state *state;
} nxi_conquer_arrays;

static inline nxi_conquer nxi_conquer_of(nx_dtype real, int n) {
  return (nxi_conquer){real, n, n / 2};
}
/* Elements of `work`; of `integers`; of scratch memory for vectors of a chunk. */
int64_t nxi_conquer_work(const nxi_conquer *c);
int64_t nxi_conquer_integers(const nxi_conquer *c);
int64_t nxi_conquer_own(const nxi_conquer *c);
int nxi_conquer_chunks(const nxi_conquer *c);

/* One after the other; those with a number may be done at the same time. */
void nxi_conquer_tear(const nxi_conquer *c, const nxi_conquer_arrays *at);
/* Rows first .. of a half; of its arrays those elements alone are used, and its columns. */
void nxi_conquer_half(const nxi_conquer *c, const nxi_conquer_arrays *at, int half);
void nxi_conquer_join(const nxi_conquer *c, const nxi_conquer_arrays *at);
void nxi_conquer_roots(const nxi_conquer *c, const nxi_conquer_arrays *at, int chunk);
void nxi_conquer_weights(const nxi_conquer *c, const nxi_conquer_arrays *at, int chunk);
void nxi_conquer_vectors(const nxi_conquer *c, const nxi_conquer_arrays *at, int chunk, void *own);
/* Gives values back their scale. 0, or that something has not converged. */
int nxi_conquer_end(const nxi_conquer *c, const nxi_conquer_arrays *at);
/* The ascending order: where each value and its vector are; from the end on. */
const int *nxi_conquer_order(const nxi_conquer *c, const int *integers);

#endif
