/* SPDX-License-Identifier: ISC */
/* Linear algebra, batched over leading dimensions. Recorded like every other operation (ops.h). */
#ifndef NX_LINALG_H
#define NX_LINALG_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* I F. (.., n, k) x (.., k, m) -> (.., n, m); both of rank 2 at least; leading dimensions broadcast; any strides,
 * usually without a copy. An inner extent of 0 gives zeros. Integers wrap. f32 and f64 go through BLAS where
 * there is one: the same bits for one library, version and core type. */
NX_API nx_tensor *nx_matmul(nx_tensor *a, nx_tensor *b);

/* The functions below take matrices in the last two dimensions, of F (floats below f32 are computed in f32 and rounded at
 * the end), and are carried out by LAPACK, a matrix at a time, the matrices of a batch in parallel. Matrices without
 * elements are allowed. What they cannot do they report when the result is realised (or read, or mapped): nx_error has the
 * status, the operation and its tag, and in `index` the first matrix of the batch that failed, counted in C order. Without a
 * LAPACK, realising is NX_DEVICE_UNAVAILABLE. One matrix cannot be interrupted by a poll; batches are, between matrices. */

/* (.., n, n) -> (.., n, n). The lower triangular L with A = L L^H, or, if `upper`, U = L^H with A = U^H U. Reads the lower
 * triangle of A alone; the other triangle of the result is zero. NX_NOT_POSITIVE_DEFINITE, also for NaN. */
NX_API nx_tensor *nx_cholesky(nx_tensor *a, bool upper);

#ifdef __cplusplus
}
#endif
#endif
