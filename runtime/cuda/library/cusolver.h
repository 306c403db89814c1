/* SPDX-License-Identifier: ISC */
/* Routines of cuSOLVER on adjacent matrices in column-major order; the library is loaded when it is
 * first needed. All of them start their work on the GPU's stream. info receives an int for each
 * matrix, which is not 0 if the routine fails for it. */
#ifndef NXI_GPU_CUSOLVER_H
#define NXI_GPU_CUSOLVER_H

#include "ir/dtype.h"
#include "runtime/cuda/gpu.h"

/* NULL if there is cuSOLVER, else the reason. NX_CUSOLVER in the environment names another library.
 * Static. */
const char *nxi_cusolver_missing(void);

/* The parameters that all of them need: matrices of f32, f64, c64, c128. Addresses are those of the
 * GPU. */
typedef struct nxi_cusolver_job {
  nxi_gpu *gpu;
  nx_dtype dtype;
  int64_t m, n; /* rows and columns; routines for square matrices use n only */
  int64_t count;
  uint64_t a, info;
} nxi_cusolver_job;

/* Replaces the lower triangle by L with A = L L^H. */
nx_status nxi_cusolver_cholesky(const nxi_cusolver_job *j, nxi_diag *d);
/* Replaces the upper triangle by R with A = R^H R, of all matrices at once. addresses: memory with
 * the address of each. */
nx_status nxi_cusolver_cholesky_batch(const nxi_cusolver_job *j, uint64_t addresses, nxi_diag *d);
/* A = P L U in place; pivots: n 64-bit numbers for each matrix, counted from 1. */
nx_status nxi_cusolver_lu(const nxi_cusolver_job *j, uint64_t pivots, nxi_diag *d);
/* Solves op(A) y = x with these factors in `a`; y replaces x, which has k columns. info is a single
 * int, which is to be ignored. */
nx_status nxi_cusolver_lu_solve(const nxi_cusolver_job *j, bool transposed, uint64_t pivots,
                                uint64_t x, int64_t k, nxi_diag *d);
/* Reads the upper triangle. values: real, ascending, in the type of the parts. `a` is replaced by
 * the vectors if they are wanted, else it is undefined afterwards. */
nx_status nxi_cusolver_eigh(const nxi_cusolver_job *j, bool vectors, uint64_t values, nxi_diag *d);
/* Whether this cuSOLVER has nxi_cusolver_eig. Its values are pairs. Its vectors have LAPACK's
 * layout: for a real matrix, the vectors of a pair of conjugate values are stored as two columns,
 * the real and the imaginary parts. `a` is undefined afterwards. */
bool nxi_cusolver_has_eig(void);
/* NULL if it has, else the reason: no cuSOLVER, or an older one. Static. */
const char *nxi_cusolver_lacks_eig(void);
nx_status nxi_cusolver_eig(const nxi_cusolver_job *j, bool vectors, uint64_t values, uint64_t v,
                           nxi_diag *d);
/* m >= n. `a` is undefined afterwards; values are in the type of the parts, descending. u: m x m if
 * full, else m x n; v: V^H, n x n. */
nx_status nxi_cusolver_svd(const nxi_cusolver_job *j, bool full, uint64_t values, uint64_t u,
                           uint64_t v, nxi_diag *d);
/* The same for any m and n up to NXI_CUSOLVER_SMALL, for all matrices at once: u is m x m; v is V
 * (not V^H), n x n. */
enum { NXI_CUSOLVER_SMALL = 32 };
nx_status nxi_cusolver_small_svd(const nxi_cusolver_job *j, uint64_t values, uint64_t u, uint64_t v,
                                 nxi_diag *d);
/* A = Q R, with R in the upper triangle of `a` and Q as reflections; tau has min(m, n) numbers for
 * each matrix. The distance from one matrix to the next is `columns` columns, at least n. */
nx_status nxi_cusolver_qr(const nxi_cusolver_job *j, int64_t columns, uint64_t tau, nxi_diag *d);
/* Replaces `reflections` reflections by the first `wanted` columns of their Q. */
nx_status nxi_cusolver_q(const nxi_cusolver_job *j, int64_t columns, int64_t wanted,
                         int64_t reflections, uint64_t tau, nxi_diag *d);

#endif
