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

/* Makes of a panel of vectors of the balanced matrix, stored by columns in the order of rows of a
 * panel, vectors of length 1 of the matrix, and writes them as columns of a result (c128). The
 * largest element of one that is complex is real. left: of the flipped, transposed matrix. */
void nxi_vectors_write(const nxi_balance *b, const nxi_vectors *v, bool left, double *x,
                       double *to);

#endif
