/* SPDX-License-Identifier: ISC */
/* Values and vectors of a small symmetric tridiagonal matrix by rotations. */
#ifndef NXI_ROTATIONS_H
#define NXI_ROTATIONS_H

#include "runtime/library/floats/multiply.h"

/* n numbers of `diagonal` become the values, ascending, and n - 1 of `beside` are overwritten.
 * vectors: zeros that become rows of n numbers, `ld` elements apart, in memory for a vector of
 * registers more; what is between them stays 0. n is NXI_FLOATS_REFLECTED at most, and numbers are
 * finite, and not so large that their squares overflow. False: it has not converged. */
bool nxi_rotations(const nxi_floats_kernels *loops, int n, double *diagonal, double *beside,
                   void *vectors, int64_t ld);

#endif
