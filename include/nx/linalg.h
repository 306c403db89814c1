/* SPDX-License-Identifier: ISC */
/* Linear algebra, batched over leading dimensions. Recorded like every other operation (ops.h).
 *
 * All functions but nx_matmul take matrices in the last two dimensions, of F and C (floats below
 * f32 are computed in f32 and rounded at the end), and are carried out by LAPACK, the matrices of
 * a batch in parallel, and large ones (from 256 on, but for `eig`) each on several threads.
 * Matrices without elements are allowed. When recorded: NX_INVALID_ARGUMENT for shapes that do not
 * fit and for flags that the function does not name, NX_UNSUPPORTED_DTYPE. What they cannot do
 * they report when the result is realised (or read, or mapped): nx_error has the status, the
 * operation and its tag, and in `index` the first matrix of the batch that failed, counted in C
 * order. Without a LAPACK, realising is NX_DEVICE_UNAVAILABLE. A poll that says stop is obeyed
 * between matrices, and between the parts of a large one.
 *
 * Functions of several results write them through pointers, one reference of the caller's each; a
 * pointer may be NULL if the result is not wanted; on a failure nothing is written, and the status
 * is that of the thread's error. Results of one call that are alive are computed together when one
 * of them is realised.
 *
 * Right sides of nx_triangular_solve, nx_solve, nx_lstsq and nx_lstsq_rtol: b of rank 1, (n), is
 * one vector; every other b is a matrix of k columns, (.., n, k), whatever the rank of a. That is
 * the rule of NumPy 2. With NX_VECTORS b is vectors, (.., n). The result has the form of b: a
 * vector for a vector. Leading dimensions of a and b broadcast. Both have one dtype, which the
 * result has too. */
#ifndef NX_LINALG_H
#define NX_LINALG_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The product of matrices. I F C. (.., n, k) x (.., k, m) -> (.., n, m); leading dimensions
 * broadcast; any strides, usually without a copy. A vector on the left, (k), counts as one row, a
 * vector on the right, (k), as one column, and that axis is missing in the result: (k) x (k) ->
 * (). An inner extent of 0 gives zeros. Integers wrap. f32 and f64 go through BLAS where there is
 * one: the same bits for one library, version and core type. NX_INVALID_ARGUMENT: an operand of
 * rank 0, extents that do not fit, two dtypes. NX_UNSUPPORTED_DTYPE. */
NX_API nx_tensor *nx_matmul(nx_tensor *a, nx_tensor *b);

/** Flags. Each function names those that it knows. */
enum {
  NX_LOWER = 0,           /**< what is triangular is so below the diagonal: the default */
  NX_UPPER = 1,           /**< above it */
  NX_TRANSPOSED = 2,      /**< A^T in place of A */
  NX_ADJOINT = 4,         /**< A^H, the conjugate of A^T; for real numbers the same */
  NX_UNIT_DIAGONAL = 8,   /**< the diagonal counts as ones and is not read */
  NX_VECTORS = 16,        /**< right sides are vectors (.., n), not matrices (.., n, k) */
  NX_FULL_MATRICES = 32,  /**< orthogonal factors are square */
  NX_INPUT_PRECISION = 64 /**< values have the real dtype of A, rounded once, instead of f64 */
};

/** (.., n, n) -> (.., n, n). The lower triangular L with A = L L^H, or, with NX_UPPER, U = L^H with
 * A = U^H U. Reads the lower triangle of A alone; the other triangle of the result is zero.
 * NX_NOT_POSITIVE_DEFINITE, also for NaN. flags: NX_UPPER. */
NX_API nx_tensor *nx_cholesky(nx_tensor *a, uint32_t flags);

/** (.., m, n) -> q (.., m, k), r (.., k, n) with A = Q R: k the smaller of m and n, or m with
 * NX_FULL_MATRICES. Q has orthonormal columns, R is zero below the diagonal; both have A's dtype.
 * Signs are LAPACK's. NaN and infinities spread. flags: NX_FULL_MATRICES. */
NX_API nx_status nx_qr(nx_tensor *a, uint32_t flags, nx_tensor **q, nx_tensor **r);

/** (.., m, n) -> u (.., m, k), s (.., k), vh (.., k, n) with A = U diag(s) V^H, k the smaller of m
 * and n; with NX_FULL_MATRICES u is (.., m, m) and vh (.., n, n). u and vh have A's dtype. s is
 * descending, f64, or with NX_INPUT_PRECISION of the real dtype of A. It is V^H, not V.
 * NX_NO_CONVERGENCE, also for what is not finite. flags: NX_FULL_MATRICES, NX_INPUT_PRECISION. */
NX_API nx_status nx_svd(nx_tensor *a, uint32_t flags, nx_tensor **u, nx_tensor **s, nx_tensor **vh);

/** (.., n, n), symmetric or Hermitian -> values (.., n), ascending, f64, or with NX_INPUT_PRECISION
 * of the real dtype of A; vectors (.., n, n), of A's dtype, one in each column. Reads the lower
 * triangle of A alone. NX_NO_CONVERGENCE, also for what is not finite there. flags:
 * NX_INPUT_PRECISION. */
NX_API nx_status nx_eigh(nx_tensor *a, uint32_t flags, nx_tensor **values, nx_tensor **vectors);
/** The values of nx_eigh alone, with the same flag. (.., n, n) -> (.., n). */
NX_API nx_tensor *nx_eigvalsh(nx_tensor *a, uint32_t flags);

/** (.., n, n) -> values (.., n), vectors (.., n, n), one in each column, of length 1; both c128. In
 * LAPACK's order, conjugate pairs together. Computed in f64 or c128. NX_NO_CONVERGENCE, also for
 * what is not finite. */
NX_API nx_status nx_eig(nx_tensor *a, nx_tensor **values, nx_tensor **vectors);
/** The values of nx_eig alone. (.., n, n) -> (.., n). */
NX_API nx_tensor *nx_eigvals(nx_tensor *a);

/** a (.., n, n): x with A x = b, or A^T x = b with NX_TRANSPOSED, or A^H x = b with NX_ADJOINT (one
 * of the two at most). Reads the lower triangle of A, or, with NX_UPPER, the upper one; with
 * NX_UNIT_DIAGONAL it takes the diagonal for ones. Also NX_VECTORS. NX_SINGULAR: zero on the
 * diagonal. */
NX_API nx_tensor *nx_triangular_solve(nx_tensor *a, nx_tensor *b, uint32_t flags);
/** a (.., n, n): x with A x = b. flags: NX_VECTORS. NX_SINGULAR if a pivot is zero. */
NX_API nx_tensor *nx_solve(nx_tensor *a, nx_tensor *b, uint32_t flags);
/** The inverse. (.., n, n) -> (.., n, n). NX_SINGULAR if a pivot is zero. */
NX_API nx_tensor *nx_inv(nx_tensor *a);
/** The determinant, of A's dtype. (.., n, n) -> (..). 0 of a singular matrix, 1 of one without
 * elements. The product neither overflows nor underflows unless the determinant does. */
NX_API nx_tensor *nx_det(nx_tensor *a);
/** (.., n, n) -> the determinant in two parts: sign (..), of A's dtype (of absolute value 1, or 0),
 * and log (..), the logarithm of the absolute value, real (-inf for 0): det = sign * exp(log). */
NX_API nx_status nx_slogdet(nx_tensor *a, nx_tensor **sign, nx_tensor **log);

/** a (.., m, n), b (.., m, k), or vectors as said at the head -> the x of least norm among those
 * that make |A x - b| least. Singular values of at most rtol times the largest count as zero; rtol
 * < 0: the rounding unit of the dtype times the larger of m and n; NaN: NX_INVALID_ARGUMENT.
 * flags: NX_VECTORS. NX_NO_CONVERGENCE as of nx_svd. */
NX_API nx_tensor *nx_lstsq(nx_tensor *a, nx_tensor *b, double rtol, uint32_t flags);
/** The same with a tolerance for each matrix: rtol is of F and broadcasts with the leading
 * dimensions of a. Its elements are read when the result is computed; where one is NaN, so is the
 * result. NX_UNSUPPORTED_DTYPE: rtol is not of F. NX_INVALID_ARGUMENT: its shape does not
 * broadcast. */
NX_API nx_tensor *nx_lstsq_rtol(nx_tensor *a, nx_tensor *b, nx_tensor *rtol, uint32_t flags);
/** (.., m, n) -> (.., n, m), the pseudo-inverse, with the rule of nx_lstsq. NX_NO_CONVERGENCE as of
 * nx_svd; NX_INVALID_ARGUMENT for an rtol that is NaN. */
NX_API nx_tensor *nx_pinv(nx_tensor *a, double rtol);
/** The same with a tolerance for each matrix, as nx_lstsq_rtol takes it. */
NX_API nx_tensor *nx_pinv_rtol(nx_tensor *a, nx_tensor *rtol);

#ifdef __cplusplus
}
#endif
#endif
