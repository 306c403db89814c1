/* SPDX-License-Identifier: ISC */
/* Roots of the secular equation 1 / rho + sum z[i]^2 / (d[i] - x) = 0, of eigenvalues, and with the
 * squares of d[i] and x, of singular values. */
#ifndef NXI_SECULAR_H
#define NXI_SECULAR_H

#include "runtime/library/floats/multiply.h"

typedef struct nxi_secular {
  int k;           /* one at least */
  bool squares;    /* of singular values */
  double inverse;  /* 1 / rho, of which rho is positive */
  const double *d; /* ascending, no two of them equal */
  const double *z; /* none of them 0; their squares add up to about 1 */
  double *poles;   /* k numbers to work in */
} nxi_secular;

/* Root number j, from 0, between d[j] and d[j + 1], or behind the last: writes it, and the
 * differences d[i] - root (of squares) to high relative accuracy. False: it has not converged. */
bool nxi_secular_root(const nxi_secular *s, int j, double *root, double *differences);

/* The same of roots first .. end - 1 with arrays of f32 or f64. own: 4 k numbers of f64. Column i
 * of differences, `ld` elements from one to the next, is that of root i. */
typedef struct nxi_secular_arrays {
  nx_dtype t;
  const void *d, *z, *rho;
  void *roots, *differences;
  int ld;
  int *infos; /* 0, or 1 for a root that has not converged */
} nxi_secular_arrays;
void nxi_secular_roots(const nxi_secular_arrays *at, int k, bool squares, int first, int end,
                       double *own);

/* Weights first .. end - 1, of which the roots that were found are exact ones. */
void nxi_secular_weights(const nxi_secular_arrays *at, int k, bool squares, int first, int end,
                         void *weights);
/* The vector of root j: element i is that of d[places[i]]; of singular values, the right one, and
 * `left` the other, or NULL. d[0] is 0 then, and its z positive. room: k numbers. */
void nxi_secular_vectors(const nxi_secular_arrays *at, int k, int j, const void *weights,
                         const int *places, void *room, void *to, void *left);

#endif
