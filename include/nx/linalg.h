/* SPDX-License-Identifier: ISC */
/* Linear algebra, batched over leading dimensions. Recorded like every other operation (ops.h).
 *
 * All functions but nx_matmul take matrices in the last two dimensions, of F and C (floats below
 * f32 are computed in f32 and rounded at the end), and are carried out by LAPACK, the matrices of
 * a batch in parallel, and large ones (from 256 on; `eig` of real
 * ones) each on several threads.
 * Matrices without elements are allowed. When recorded: NX_INVALID_ARGUMENT for shapes that do not
 * fit and for flags that the function does not name, NX_UNSUPPORTED_DTYPE. What they cannot do
 * they report when the result is realised (or read, or mapped): nx_error has the status, the
 * operation and its tag, and in `index` the first matrix of the batch that failed, counted in C
 * order. Without a LAPACK, realising is NX_DEVICE_UNAVAILABLE. A poll that says stop is obeyed
 * between matrices, and between the parts of a large one.
 *
 * With NX_NAN_ON_FAILURE a matrix of the batch that cannot be factored is no failure: all elements
 * of its results are NaN, and the results of the others have the bits that they have without the
 * flag. Where nx_cholesky, or an eigenvalue or singular value problem succeeds, no element of the
 * diagonal, or no value, is NaN; so these tell which matrices failed.
 *
 * Functions of several results write them through pointers, one reference of the caller's each; a
 * pointer may be NULL if the result is not wanted; on a failure nothing is written, and the status
 * is that of the thread's error. Results of one call that are alive are computed together when one
 * of them is realised.
 *
 * Right sides, of nx_triangular_solve, nx_solve, nx_lstsq and others: b of rank 1, (n), is one
 * vector; every other b is a matrix of k columns, (.., n, k), whatever the rank of a. That is
 * the rule of NumPy 2. With NX_VECTORS b is vectors, (.., n). The result has the form of b: a
 * vector for a vector. Leading dimensions of a and b broadcast. Both have one dtype, which the
 * result has too. */
#ifndef NX_LINALG_H
#define NX_LINALG_H

#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The product of matrices. B I F C. (.., n, k) x (.., k, m) -> (.., n, m); leading dimensions
 * broadcast; any strides, usually without a copy. A vector on the left, (k), counts as one row, a
 * vector on the right, (k), as one column, and that axis is missing in the result: (k) x (k) ->
 * (). An inner extent of 0 gives zeros. Integers wrap; of bools:
 * whether any pair is true twice. f32 and f64 go through BLAS where there is
 * one: the same bits for one library, version and core type. NX_INVALID_ARGUMENT: an operand of
 * rank 0, extents that do not fit, two dtypes. NX_UNSUPPORTED_DTYPE. */
NX_API nx_tensor *nx_matmul(nx_tensor *a, nx_tensor *b);

/** Flags. Each function names those that it knows. */
enum {
  NX_LOWER = 0,            /**< what is triangular is so below the diagonal: the default */
  NX_UPPER = 1,            /**< above it */
  NX_TRANSPOSED = 2,       /**< A^T in place of A */
  NX_ADJOINT = 4,          /**< A^H, the conjugate of A^T; for real numbers the same */
  NX_UNIT_DIAGONAL = 8,    /**< the diagonal counts as ones and is not read */
  NX_VECTORS = 16,         /**< right sides are vectors (.., n), not matrices (.., n, k) */
  NX_FULL_MATRICES = 32,   /**< orthogonal factors are square */
  NX_INPUT_PRECISION = 64, /**< values have the real dtype of A, rounded once, instead of f64 */
  NX_NAN_ON_FAILURE = 128, /**< a matrix that cannot be done gives NaN, and is no failure */
  NX_FROM_RIGHT = 256      /**< the unknown, or the other factor, is on the left: x A = b */
};

/** (.., n, n) -> (.., n, n). The lower triangular L with A = L L^H, or, with NX_UPPER, U = L^H with
 * A = U^H U. Reads the lower triangle of A alone; the other triangle of the result is zero.
 * NX_NOT_POSITIVE_DEFINITE, also for NaN. flags: NX_UPPER, NX_NAN_ON_FAILURE. */
NX_API nx_tensor *nx_cholesky(nx_tensor *a, uint32_t flags);

/** What NX_NAN_ON_FAILURE gives, and info (..), i32: 0, or the number, counted from 1, of the first
 * pivot that is not positive and finite: the order of a leading minor that is not positive
 * definite. flags: NX_UPPER. */
NX_API nx_status nx_cholesky_info(nx_tensor *a, uint32_t flags, nx_tensor **factor,
                                  nx_tensor **info);

/** (.., m, n) -> q (.., m, k), r (.., k, n) with A = Q R: k the smaller of m and n, or m with
 * NX_FULL_MATRICES. Q has orthonormal columns, R is zero below the diagonal; both have A's dtype.
 * Signs are LAPACK's. NaN and infinities spread. flags: NX_FULL_MATRICES. */
NX_API nx_status nx_qr(nx_tensor *a, uint32_t flags, nx_tensor **q, nx_tensor **r);

/** (.., m, n) -> u (.., m, k), s (.., k), vh (.., k, n) with A = U diag(s) V^H, k the smaller of m
 * and n; with NX_FULL_MATRICES u is (.., m, m) and vh (.., n, n). u and vh have A's dtype. s is
 * descending, f64, or with NX_INPUT_PRECISION of the real dtype of A. It is V^H, not V.
 * NX_NO_CONVERGENCE, also for what is not finite. flags: NX_FULL_MATRICES, NX_INPUT_PRECISION,
 * NX_NAN_ON_FAILURE. */
NX_API nx_status nx_svd(nx_tensor *a, uint32_t flags, nx_tensor **u, nx_tensor **s, nx_tensor **vh);

/** (.., n, n), symmetric or Hermitian -> values (.., n), ascending, f64, or with NX_INPUT_PRECISION
 * of the real dtype of A; vectors (.., n, n), of A's dtype, one in each column. Reads the lower
 * triangle of A alone. NX_NO_CONVERGENCE, also for what is not finite there. flags:
 * NX_INPUT_PRECISION, NX_NAN_ON_FAILURE. */
NX_API nx_status nx_eigh(nx_tensor *a, uint32_t flags, nx_tensor **values, nx_tensor **vectors);
/** The values of nx_eigh alone, with the same flags. (.., n, n) -> (.., n). */
NX_API nx_tensor *nx_eigvalsh(nx_tensor *a, uint32_t flags);

/** (.., n, n) -> values (.., n), vectors (.., n, n), one in each column, of length 1; both c128. In
 * the order of a Schur form; of a real matrix conjugate pairs are together, that of positive
 * imaginary part first. Computed in f64 or c128. NX_NO_CONVERGENCE, also for what is not finite. */
NX_API nx_status nx_eig(nx_tensor *a, nx_tensor **values, nx_tensor **vectors);
/** The values of nx_eig alone. (.., n, n) -> (.., n). */
NX_API nx_tensor *nx_eigvals(nx_tensor *a);
/** The same two with flags: NX_NAN_ON_FAILURE. */
NX_API nx_status nx_eig_flags(nx_tensor *a, uint32_t flags, nx_tensor **values,
                              nx_tensor **vectors);
NX_API nx_tensor *nx_eigvals_flags(nx_tensor *a, uint32_t flags);

/** a (.., n, n): x with A x = b, or A^T x = b with NX_TRANSPOSED, or A^H x = b with NX_ADJOINT (one
 * of the two at most). Reads the lower triangle of A, or, with NX_UPPER, the upper one; with
 * NX_UNIT_DIAGONAL it takes the diagonal for ones. With NX_FROM_RIGHT x A = b, or x A^T, or x A^H:
 * b is then (.., k, n), and so is x. Also NX_VECTORS, NX_NAN_ON_FAILURE. NX_SINGULAR: zero on the
 * diagonal. */
NX_API nx_tensor *nx_triangular_solve(nx_tensor *a, nx_tensor *b, uint32_t flags);
/** a (.., n, n): x with A x = b. flags: NX_VECTORS, NX_NAN_ON_FAILURE. NX_SINGULAR if a pivot is
 * zero. */
NX_API nx_tensor *nx_solve(nx_tensor *a, nx_tensor *b, uint32_t flags);
/** The inverse. (.., n, n) -> (.., n, n). NX_SINGULAR if a pivot is zero. */
NX_API nx_tensor *nx_inv(nx_tensor *a);
/** The same with flags: NX_NAN_ON_FAILURE. */
NX_API nx_tensor *nx_inv_flags(nx_tensor *a, uint32_t flags);
/** What NX_NAN_ON_FAILURE gives, and info (..), i32: 0, or the number, counted from 1, of a pivot
 * that is zero. */
NX_API nx_status nx_inv_info(nx_tensor *a, nx_tensor **inverse, nx_tensor **info);
/** The determinant, of A's dtype. (.., n, n) -> (..). 0 of a singular matrix, 1 of one without
 * elements. The product neither overflows nor underflows unless the determinant does. */
NX_API nx_tensor *nx_det(nx_tensor *a);
/** (.., n, n) -> the determinant in two parts: sign (..), of A's dtype (of absolute value 1, or 0),
 * and log (..), the logarithm of the absolute value, real (-inf for 0): det = sign * exp(log). */
NX_API nx_status nx_slogdet(nx_tensor *a, nx_tensor **sign, nx_tensor **log);

/** (.., m, n) -> lu (.., m, n), pivots (.., k), permutation (.., m), info (..), with P A = L U and
 * k the smaller of m and n. L is below the diagonal of lu, and has ones on it; U is above and on
 * it. pivots, i32: row i was exchanged with row pivots[i] >= i, one after the other, counted from
 * 0. permutation, i32: row i of P A is row permutation[i] of A. info, i32: 0, or the number,
 * counted from 1, of the first pivot that is zero; the factors are there all the same. NaN and
 * infinities spread. */
NX_API nx_status nx_lu(nx_tensor *a, nx_tensor **lu, nx_tensor **pivots, nx_tensor **permutation,
                       nx_tensor **info);
/** x with A x = b, or A^T x = b with NX_TRANSPOSED, or A^H x = b with NX_ADJOINT, of the square A
 * that nx_lu has factored: its lu (.., n, n) and its permutation (.., n), i32 or i64. Also
 * NX_VECTORS, NX_NAN_ON_FAILURE. NX_SINGULAR if a pivot is zero; NX_INDEX_OUT_OF_RANGE of numbers
 * in permutation. */
NX_API nx_tensor *nx_lu_solve(nx_tensor *lu, nx_tensor *permutation, nx_tensor *b, uint32_t flags);

/** (.., m, n) -> packed (.., m, n), tau (.., k), k the smaller of m and n: the factors of nx_qr in
 * LAPACK's form. R is on and above the diagonal of packed; below it are the vectors v of the
 * reflections H = I - tau v v^H, each of which has a 1 on the diagonal, and Q = H(0) H(1) .. . */
NX_API nx_status nx_geqrf(nx_tensor *a, nx_tensor **packed, nx_tensor **tau);
/** The same of A with its columns in another order, in which the diagonal of R does not grow:
 * column j of Q R is column permutation[j] of A. permutation (.., n) is i32. */
NX_API nx_status nx_geqp3(nx_tensor *a, nx_tensor **packed, nx_tensor **tau,
                          nx_tensor **permutation);
/** a (.., m, n), m >= n, tau (.., k), k <= n -> (.., m, n), the first columns of the product of the
 * reflections that nx_geqrf has put into them. The part of a above its diagonal is not read. */
NX_API nx_tensor *nx_householder_product(nx_tensor *a, nx_tensor *tau);
/** Q c, or Q^H c with NX_ADJOINT, or with NX_FROM_RIGHT c Q or c Q^H, for the square Q that is the
 * product of the reflections in a (.., r, k) and tau (.., k): c is (.., r, n), or with
 * NX_FROM_RIGHT (.., n, r), and so is the result. */
NX_API nx_tensor *nx_ormqr(nx_tensor *a, nx_tensor *tau, nx_tensor *c, uint32_t flags);
/** nx_qr of A with its columns in the order of nx_geqp3. flags: NX_FULL_MATRICES. */
NX_API nx_status nx_qr_pivoted(nx_tensor *a, uint32_t flags, nx_tensor **q, nx_tensor **r,
                               nx_tensor **permutation);
/** The x that makes |A x - b| least, of least norm if A has more columns than rows; by nx_qr, so A
 * must have full rank: nx_lstsq does without that, and takes longer. a (.., m, n), b (.., m, k), or
 * vectors as said at the head. flags: NX_VECTORS, NX_NAN_ON_FAILURE. NX_SINGULAR if the diagonal of
 * R has a zero. */
NX_API nx_tensor *nx_lstsq_qr(nx_tensor *a, nx_tensor *b, uint32_t flags);

/** a (.., m, n), b (.., m, k), or vectors as said at the head -> the x of least norm among those
 * that make |A x - b| least. Singular values of at most rtol times the largest count as zero; rtol
 * < 0: the rounding unit of the dtype times the larger of m and n; NaN: NX_INVALID_ARGUMENT.
 * flags: NX_VECTORS, NX_NAN_ON_FAILURE. NX_NO_CONVERGENCE as of nx_svd. */
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
/** The same two with flags: NX_NAN_ON_FAILURE. */
NX_API nx_tensor *nx_pinv_flags(nx_tensor *a, double rtol, uint32_t flags);
NX_API nx_tensor *nx_pinv_rtol_flags(nx_tensor *a, nx_tensor *rtol, uint32_t flags);

/** bands (.., below + above + 1, n), b (.., n, k), or vectors as said at the head -> x with A x = b
 * for the A (n, n) whose diagonals are the rows of bands: element (i, j) of A is element (above + i
 * - j, j). Other elements are not read. flags: NX_VECTORS, NX_NAN_ON_FAILURE. NX_SINGULAR if a
 * pivot is zero. */
NX_API nx_tensor *nx_banded_solve(nx_tensor *bands, int64_t below, int64_t above, nx_tensor *b,
                                  uint32_t flags);
/** The same of three diagonals (.., n): element (i, i - 1) of A is below[i], (i, i) diagonal[i],
 * (i, i + 1) above[i]. The first element of below and the last of above are not read. */
NX_API nx_tensor *nx_tridiagonal_solve(nx_tensor *below, nx_tensor *diagonal, nx_tensor *above,
                                       nx_tensor *b, uint32_t flags);
/** The inverse of the lower triangle of a (.., n, n), or with NX_UPPER of the upper one, with
 * NX_UNIT_DIAGONAL of ones on the diagonal; the other triangle is zero. Also NX_NAN_ON_FAILURE,
 * which is about the triangle. NX_SINGULAR: zero on the diagonal. */
NX_API nx_tensor *nx_triangular_inv(nx_tensor *a, uint32_t flags);
/** l (.., n, n), lower triangular with a real diagonal, and w (.., n) -> the factor of L L^H + w
 * w^H, with a diagonal that is not negative; with NX_UPPER l is U, and the result that of U^H U + w
 * w^H. In n^2 operations. The other triangle is not read, and zero in the result. */
NX_API nx_tensor *nx_cholesky_update(nx_tensor *l, nx_tensor *w, uint32_t flags);

/** a (.., n, n), symmetric or Hermitian -> packed (.., n, n), diagonal (.., n), beside (.., n - 1),
 * tau (.., n - 1): A = Q T Q^H with T tridiagonal and real, in LAPACK's form: Q is the product of
 * reflections whose vectors are in packed, below the diagonal, or above it with NX_UPPER; that
 * triangle of a is read. diagonal and beside are real. n = 0: all are empty. flags: NX_UPPER. */
NX_API nx_status nx_sytrd(nx_tensor *a, uint32_t flags, nx_tensor **packed, nx_tensor **diagonal,
                          nx_tensor **beside, nx_tensor **tau);
/** (.., n, n) -> packed (.., n, n), tau (.., n - 1): A = Q H Q^H with H zero below the first
 * diagonal under the main one, in LAPACK's form: below that the vectors of reflections. */
NX_API nx_status nx_gehrd(nx_tensor *a, nx_tensor **packed, nx_tensor **tau);
/** The same as two matrices: h and q (.., n, n). */
NX_API nx_status nx_hessenberg(nx_tensor *a, nx_tensor **h, nx_tensor **q);
/** (.., n, n) -> t, z (.., n, n), A = Z T Z^H, Z unitary. T is upper triangular, or for a real A
 * has blocks of 2 by 2 on its diagonal for pairs of conjugate eigenvalues; cast A to a complex
 * dtype for a triangle. flags: NX_NAN_ON_FAILURE. NX_NO_CONVERGENCE, also for what is not finite.
 * */
NX_API nx_status nx_schur(nx_tensor *a, uint32_t flags, nx_tensor **t, nx_tensor **z);
/** nx_eig with left vectors, too: u^H A = w u^H for a value w and column u of left. Each is of
 * length 1. flags: NX_NAN_ON_FAILURE. */
NX_API nx_status nx_eig_left(nx_tensor *a, uint32_t flags, nx_tensor **values, nx_tensor **left,
                             nx_tensor **right);
/** a and b (.., n, n), Hermitian, b positive definite, of both the lower triangle -> values (.., n)
 * ascending and vectors (.., n, n) with type 1: A x = w B x; 2: A B x = w x; 3: B A x = w x.
 * Vectors of types 1 and 2 have x^H B x = 1, of type 3 x^H B^-1 x = 1. Dtypes as of nx_eigh. flags:
 * NX_INPUT_PRECISION, NX_NAN_ON_FAILURE. NX_NOT_POSITIVE_DEFINITE of b, NX_NO_CONVERGENCE. */
NX_API nx_status nx_eigh_generalized(nx_tensor *a, nx_tensor *b, int type, uint32_t flags,
                                     nx_tensor **values, nx_tensor **vectors);

/** The exponential of matrices, (.., n, n) -> (.., n, n): the exact one of A + E, with |E| at most
 * some rounding units times |A|. A matrix that is not finite gives NaN. */
NX_API nx_tensor *nx_expm(nx_tensor *a);
/** The principal square root, (.., n, n) -> (.., n, n). It is complex: c128 for f64 and c128, c32
 * for c32, else c64. An A with two or more eigenvalues that are zero may have none; the result is
 * then not finite. flags: NX_NAN_ON_FAILURE. NX_NO_CONVERGENCE, also for what is not finite. */
NX_API nx_tensor *nx_sqrtm(nx_tensor *a, uint32_t flags);
/** The principal logarithm, as nx_sqrtm. NX_SINGULAR: an eigenvalue is zero. */
NX_API nx_tensor *nx_logm(nx_tensor *a, uint32_t flags);
/** A^n by squaring, of a (.., n, n); of the inverse for n < 0; for 0 ones on the diagonal. -2^31 <
 * n < 2^31. flags: NX_NAN_ON_FAILURE. NX_SINGULAR as of nx_inv. */
NX_API nx_tensor *nx_matrix_power(nx_tensor *a, int64_t n, uint32_t flags);

/* ---- norms. Results have the real dtype of the operand, of F and C; sums are computed in f32 at
 * least. */

/** The norm of vectors over axes, which are given as to nx_reduce_sum: (sum |x|^ord)^(1 / ord); 0
 * counts what is not zero, an infinite ord takes the largest, or with a minus the least. Nothing is
 * scaled: squares beyond the range of the dtype are infinite. flags: NX_KEEPDIMS.
 * NX_INVALID_ARGUMENT: ord is NaN; as of nx_reduce_sum and, for an infinite ord, nx_reduce_max. */
NX_API nx_tensor *nx_vector_norm(nx_tensor *x, double ord, const int32_t *axes, size_t n,
                                 uint32_t flags);
/** Norms of matrices. */
enum {
  NX_NORM_FRO,    /**< the root of the sum of all |a|^2 */
  NX_NORM_NUC,    /**< the sum of the singular values */
  NX_NORM_1,      /**< the largest sum of |a| over a column */
  NX_NORM_MIN_1,  /**< the least */
  NX_NORM_2,      /**< the largest singular value */
  NX_NORM_MIN_2,  /**< the least */
  NX_NORM_INF,    /**< the largest sum of |a| over a row */
  NX_NORM_MIN_INF /**< the least */
};
/** (.., m, n) -> (..). flags: NX_KEEPDIMS, NX_NAN_ON_FAILURE. NX_INVALID_ARGUMENT: there is no such
 * norm; the largest or least of nothing. NX_NO_CONVERGENCE as of nx_svd, of singular values. */
NX_API nx_tensor *nx_matrix_norm(nx_tensor *a, int ord, uint32_t flags);
/** The singular values of nx_svd alone. flags: NX_INPUT_PRECISION, NX_NAN_ON_FAILURE. */
NX_API nx_tensor *nx_svdvals(nx_tensor *a, uint32_t flags);
/** (.., m, n) -> (..). The condition number for inversion: the norm of A times that of its inverse,
 * of square A; for NX_NORM_2 the largest singular value over the least, for NX_NORM_MIN_2 the
 * reverse, of any A. Infinite where A is singular, NaN where an element is; nothing fails.
 * NX_INVALID_ARGUMENT also for matrices without elements. */
NX_API nx_tensor *nx_cond(nx_tensor *a, int ord);
/** (.., m, n) -> (..), i32: how many singular values are more than rtol times the largest; rtol < 0
 * as of nx_lstsq. NX_NO_CONVERGENCE as of nx_svd; NX_INVALID_ARGUMENT for an rtol that is NaN. */
NX_API nx_tensor *nx_matrix_rank(nx_tensor *a, double rtol);

/* ---- diagonals, and products that are sums of products. B I F C but where it says else; operands
 * have one dtype; sums of small floats are computed in f32, and rounded once. NX_INVALID_ARGUMENT:
 * axes that there are not, extents that do not fit, a rank above 32. NX_UNSUPPORTED_DTYPE. */

/** Of all dtypes: the elements (i, i + offset) of two axes, as a view of the same storage whose
 * last axis they are, after the axes that x has besides. */
NX_API nx_tensor *nx_diagonal(nx_tensor *x, int64_t offset, int32_t axis1, int32_t axis2);
/** Their sum. */
NX_API nx_tensor *nx_trace(nx_tensor *x, int64_t offset, int32_t axis1, int32_t axis2);
/** (n), (m) -> (n, m): all products. */
NX_API nx_tensor *nx_outer(nx_tensor *a, nx_tensor *b);
/** The sum over an axis, counted from the end (< 0), of the conjugate of a times b; other axes
 * broadcast. */
NX_API nx_tensor *nx_vecdot(nx_tensor *a, nx_tensor *b, int32_t axis);
/** The cross product of vectors of three components along an axis, counted from the end (< 0);
 * other axes broadcast. I F C: it subtracts. */
NX_API nx_tensor *nx_cross(nx_tensor *a, nx_tensor *b, int32_t axis);
/** The product of nx_matmul over n axes of a and as many of b, in pairs; the result has the other
 * axes of a, then those of b. n = 0: all products. */
NX_API nx_tensor *nx_tensordot(nx_tensor *a, nx_tensor *b, const int32_t *axes_a,
                               const int32_t *axes_b, size_t n);
/** Kronecker's product: element (i, j) of a times all of b is block (i, j) of the result; of any
 * two ranks up to 16, the smaller of which gets axes of extent 1 before its own. */
NX_API nx_tensor *nx_kron(nx_tensor *a, nx_tensor *b);
/** The product of 2 to 64 matrices, of which the first may be a row and the last a column of rank
 * 1, in the order that takes the fewest multiplications. */
NX_API nx_tensor *nx_multi_dot(nx_tensor *const *matrices, size_t n);

#ifdef __cplusplus
}
#endif
#endif
