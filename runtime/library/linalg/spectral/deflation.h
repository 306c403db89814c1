/* SPDX-License-Identifier: ISC */
/* Deflation of D + rho z z^T, D being diagonal: rows of it whose number in z is small, or is made
 * small by a rotation with a row whose value is close, are values and vectors as they are. */
#ifndef NXI_DEFLATION_H
#define NXI_DEFLATION_H

#include <stdbool.h>

typedef struct nxi_deflation {
  int n;
  double rho, tolerance; /* rho is positive; what may be changed in the matrix */
  double *d, *z;         /* n numbers each; they change with rotations */
  const int *order;      /* the ascending order of d */
  int *places;           /* becomes: first the rows that are left, then the others, both in the
                            ascending order of d */
  /* Columns i and j of the vectors become c i + s j and c j - s i. False: told to stop. */
  bool (*rotate)(void *user, int i, int j, double c, double s);
  void *user;
} nxi_deflation;

/* How many rows are left; less than 0: told to stop. own: n numbers. */
int nxi_deflate(const nxi_deflation *f, int *own);

#endif
