/* SPDX-License-Identifier: ISC */
/* Routines of cuSOLVER on matrices that lie one after the other, column by column; the library is
 * loaded when it is first needed. All start their work on the GPU's stream. info gets an int for
 * each matrix, which is not 0 where it fails. */
#ifndef NXI_GPU_CUSOLVER_H
#define NXI_GPU_CUSOLVER_H

#include "ir/dtype.h"
#include "runtime/cuda/gpu.h"

/* NULL if there is cuSOLVER, else the reason. NX_CUSOLVER in the environment names another library.
 * Static. */
const char *nxi_cusolver_missing(void);

/* What all of them need: matrices of f32, f64, c64, c128. Addresses of the GPU. */
typedef struct nxi_cusolver_job {
  nxi_gpu *gpu;
  nx_dtype dtype;
  int64_t m, n; /* rows and columns; n x n where there is no m */
  int64_t count;
  uint64_t a, info;
} nxi_cusolver_job;

/* The upper triangle becomes R, A = R^H R. */
nx_status nxi_cusolver_cholesky(const nxi_cusolver_job *j, nxi_diag *d);
/* A = P L U in place; pivots: n 64-bit numbers a matrix, from 1 on. */
nx_status nxi_cusolver_lu(const nxi_cusolver_job *j, uint64_t pivots, nxi_diag *d);
/* With these factors in a: op(A) y = x, which has k columns and becomes y. info is one int, and
 * says nothing. */
nx_status nxi_cusolver_lu_solve(const nxi_cusolver_job *j, bool transposed, uint64_t pivots,
                                uint64_t x, int64_t k, nxi_diag *d);
/* Reads the upper triangle. values: real, ascending, of the type of the parts. a becomes the
 * vectors, or anything. */
nx_status nxi_cusolver_eigh(const nxi_cusolver_job *j, bool vectors, uint64_t values, nxi_diag *d);
/* Whether there is this: values are pairs; vectors are as LAPACK has them, of real matrices real
 * and imaginary parts of pairs of values in two columns. a becomes anything. */
bool nxi_cusolver_has_eig(void);
/* NULL if there is, else the reason: no cuSOLVER, or an older one. Static. */
const char *nxi_cusolver_lacks_eig(void);
nx_status nxi_cusolver_eig(const nxi_cusolver_job *j, bool vectors, uint64_t values, uint64_t v,
                           nxi_diag *d);
/* m >= n. a becomes anything; values of the type of the parts, descending. u: m x m if full, or m x
 * n; v: V^H, n x n. */
nx_status nxi_cusolver_svd(const nxi_cusolver_job *j, bool full, uint64_t values, uint64_t u,
                           uint64_t v, nxi_diag *d);
/* The same for any m and n up to this, all at once: u is m x m, v is n x n and V. */
enum { NXI_CUSOLVER_SMALL = 32 };
nx_status nxi_cusolver_small_svd(const nxi_cusolver_job *j, uint64_t values, uint64_t u, uint64_t v,
                                 nxi_diag *d);
/* A = Q R, R in the upper triangle of a, Q as reflections: min(m, n) numbers of tau a matrix. From
 * one matrix to the next it is `columns` columns, n at least. */
nx_status nxi_cusolver_qr(const nxi_cusolver_job *j, int64_t columns, uint64_t tau, nxi_diag *d);
/* The first `wanted` columns of Q of `reflections` of them, in place of those. */
nx_status nxi_cusolver_q(const nxi_cusolver_job *j, int64_t columns, int64_t wanted,
                         int64_t reflections, uint64_t tau, nxi_diag *d);

#endif
