/* SPDX-License-Identifier: ISC */
/* The Schur form of one matrix, by LAPACK. */
#ifndef NXI_FORMS_H
#define NXI_FORMS_H

#include "runtime/library/linalg/lapack.h"

/* A = Z T Z^H: a, by columns, becomes T, and vectors Z. values: n numbers, or for a real matrix 2
 * n; rwork: n real numbers, for a complex one. lwork -1 asks for its length. 0: it has converged.
 * */
int nxi_gees(nx_dtype t, int n, void *a, void *values, void *vectors, void *work, int lwork,
             void *rwork);

#endif
