/* SPDX-License-Identifier: ISC */
/* Linear algebra, batched over leading dimensions. Recorded like every other operation (ops.h). */
#ifndef NX_LINALG_H
#define NX_LINALG_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* I F. (.., n, k) x (.., k, m) -> (.., n, m); both of rank 2 at least; leading dimensions
 * broadcast; any strides, usually without a copy. An inner extent of 0 gives zeros. Integers wrap.
 * f32 and f64 go through BLAS where there is one: the same bits for one library, version and core
 * type. */
NX_API nx_tensor *nx_matmul(nx_tensor *a, nx_tensor *b);

/* The functions below take matrices in the last two dimensions, of F and C (floats below f32 are
 * computed in f32 and
 * rounded at the end), and are carried out by LAPACK, the matrices of a batch in parallel, and
 * large ones (from 256 on, but
 * for `eig`) each on several threads. Matrices without elements are allowed. What they cannot do
 * they report when the result is realised (or read, or mapped): nx_error has the status, the
 * operation and its tag, and in `index` the first matrix of the batch that failed, counted in C
 * order. Without a
 * LAPACK, realising is NX_DEVICE_UNAVAILABLE. A poll that says stop is obeyed between matrices, and
 * between the parts of a large
 * one. */

/* (.., n, n) -> (.., n, n). The lower triangular L with A = L L^H, or, if `upper`, U = L^H with A =
 * U^H U. Reads the lower triangle of A alone; the other triangle of the result is zero.
 * NX_NOT_POSITIVE_DEFINITE, also for NaN. */
NX_API nx_tensor *nx_cholesky(nx_tensor *a, bool upper);

/* Functions of several results write them through pointers, one reference of the caller's each; a
 * pointer may be NULL
 * if the result is not wanted; on a failure nothing is written, and the status is that of the
 * thread's error. Results of one call that are alive are computed together when one of them is
 * realised. */

/* (.., m, n) -> q (.., m, k), r (.., k, n) with A = Q R: k the smaller of m and n if `reduced`,
 * else m. Q has orthonormal columns, R is zero below the diagonal. Signs are LAPACK's. NaN and
 * infinities spread. */
NX_API nx_status nx_qr(nx_tensor *a, bool reduced, nx_tensor **q, nx_tensor **r);

/* (.., m, n) -> u (.., m, k), s (.., k), vh (.., k, n) with A = U diag(s) V^H, k the smaller of m
 * and n; if `full`, u is (.., m, m) and vh (.., n, n). s is f64, descending. It is V^H, not V.
 * NX_NO_CONVERGENCE, also for what is not finite. */
NX_API nx_status nx_svd(nx_tensor *a, bool full, nx_tensor **u, nx_tensor **s, nx_tensor **vh);

/* (.., n, n), symmetric or Hermitian -> values (.., n), f64, ascending; vectors (.., n, n), of A's
 * dtype, one in each column. Reads the lower triangle of A alone. NX_NO_CONVERGENCE, also for what
 * is not finite there. */
NX_API nx_status nx_eigh(nx_tensor *a, nx_tensor **values, nx_tensor **vectors);
NX_API nx_tensor *nx_eigvalsh(nx_tensor *a);

/* (.., n, n) -> values (.., n), vectors (.., n, n), one in each column, of length 1; both c128. In
 * LAPACK's order, conjugate pairs together. Computed in f64 or c128. NX_NO_CONVERGENCE, also for
 * what is not finite. */
NX_API nx_status nx_eig(nx_tensor *a, nx_tensor **values, nx_tensor **vectors);
NX_API nx_tensor *nx_eigvals(nx_tensor *a);

/* Right sides of the functions below: b is (.., n, k), a matrix of k columns, or, if it has one
 * dimension less than a, (.., n), one vector. The result has the same form. Leading dimensions of a
 * and b broadcast. */

/* a (.., n, n): x with A x = b, or, if `transpose`, A^H x = b. Reads the lower triangle of A, or,
 * if `upper`, the upper one; if `unit_diag`, takes its diagonal for ones. NX_SINGULAR: zero on the
 * diagonal. */
NX_API nx_tensor *nx_triangular_solve(nx_tensor *a, nx_tensor *b, bool upper, bool transpose,
                                      bool unit_diag);
/* a (.., n, n): x with A x = b. NX_SINGULAR if a pivot is zero. */
NX_API nx_tensor *nx_solve(nx_tensor *a, nx_tensor *b);
/* (.., n, n) -> (.., n, n). NX_SINGULAR if a pivot is zero. */
NX_API nx_tensor *nx_inv(nx_tensor *a);
/* (.., n, n) -> (..). 0 of a singular matrix, 1 of one without elements. The product neither
 * overflows nor underflows unless the determinant does. */
NX_API nx_tensor *nx_det(nx_tensor *a);
/* sign (..), of A's dtype (of absolute value 1, or 0), and log (..), the logarithm of the absolute
 * value, real (-inf for 0): det = sign * exp(log). */
NX_API nx_status nx_slogdet(nx_tensor *a, nx_tensor **sign, nx_tensor **log);

/* a (.., m, n), b (.., m, k) or (.., m) -> the x of least norm among those that make |A x - b|
 * least. Singular values of at most rcond times the largest count as zero; rcond < 0: the rounding
 * unit of the dtype times the larger of m and n; NaN: NX_INVALID_ARGUMENT. As nx_svd. */
NX_API nx_tensor *nx_lstsq(nx_tensor *a, nx_tensor *b, double rcond);
/* (.., m, n) -> (.., n, m), the pseudo-inverse, with the same rule. As nx_svd. */
NX_API nx_tensor *nx_pinv(nx_tensor *a, double rcond);

#ifdef __cplusplus
}
#endif
#endif
