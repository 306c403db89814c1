/* SPDX-License-Identifier: ISC */
/* Eigenvectors of a real quasi-triangular matrix (f64), as a Schur form is, that is stored by
 * columns: panels of some of them, which are independent of each other. */
#ifndef NXI_VECTORS_H
#define NXI_VECTORS_H

#include "runtime/library/linalg/lapack.h"

enum {
  NXI_VECTORS_PANEL = 64,                 /* columns of a panel, of some more or less */
  NXI_VECTORS_ROW = NXI_VECTORS_PANEL + 8 /* numbers from row to row of a panel's vectors */
};

typedef struct nxi_triangle {
  int n, ld;
  const double *t;       /* its elements are less than 2^110, the largest more than 2^-110 */
  const double *re, *im; /* its values; of a pair the one of positive imaginary part is first */
} nxi_triangle;

/* A panel: columns first .. end - 1. In a row of its vectors are the real parts of its pairs, their
 * imaginary parts (a pair has one vector, that of its first value), and the real vectors. */
typedef struct nxi_vectors {
  int first, end, pairs, reals;
  int columns[NXI_VECTORS_ROW]; /* of pairs and of real values */
} nxi_vectors;

int nxi_vectors_panels(int n);
nxi_vectors nxi_vectors_panel(const nxi_triangle *t, int panel);
/* Writes rows 0 .. end - 1, NXI_VECTORS_ROW apart; what is below them is zero. */
void nxi_vectors_solve(const nxi_triangle *t, const nxi_vectors *v, double *x);

/* How a matrix was balanced by LAPACK's gebal: rows low .. high - 1 were scaled, others moved. */
typedef struct nxi_balance {
  int n, low, high;
  const double *scale;
} nxi_balance;

/* Balances a matrix, multiplied by 2^power, which is the result, so that nothing overflows. */
int nxi_balance_matrix(int n, double *a, int ld, int *low, int *high, double *scale);
/* n real parts, followed by as many imaginary parts, times 2^power, as complex numbers. */
void nxi_values_write(int n, const double *values, int power, double *to);

/* A panel of columns, from `first` on, of the flipped matrix: transposed, with rows and columns in
 * the opposite order; and its values behind those of the matrix, as they are there. */
void nxi_vectors_flip(int n, int ld, const double *t, int first, double *to);
void nxi_values_flip(int n, double *values);

/* Makes the vectors of a panel, multiplies them by Z, and writes those of the matrix as columns of
 * a result (c128), of length 1. The largest element of one that is complex is real. left: the
 * triangle is the flipped one. own: nxi_vectors_own elements. */
static inline int64_t nxi_vectors_own(int n) { return 2 * NXI_VECTORS_ROW * (int64_t)n; }
void nxi_vectors_panel_of(const nxi_triangle *t, int panel, bool left, const double *z, int ld,
                          const nxi_balance *balance, double *own, double *to);

#endif
