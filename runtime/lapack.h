/* SPDX-License-Identifier: ISC */
/* LAPACK, which lives in the file of the BLAS that is loaded at run time (blas.h), and what the functions over it share.
 *
 * LAPACK stores matrices by columns. A matrix in C order is the transposed one there; each function says how it deals with
 * that. Calls are single-threaded and cannot be interrupted: polls are answered between the matrices of a batch. */
#ifndef NXI_LAPACK_H
#define NXI_LAPACK_H

#include "blas.h"
#include "libraries.h"

typedef enum nxi_lapack_routine {
#define LAPACK(name, s, d, c, z) NXI_LAPACK_##name,
#include "lapack_routines.def"
#undef LAPACK
  NXI_LAPACK_ROUTINES
} nxi_lapack_routine;

/* To be converted to the routine's type; lengths of strings follow the other arguments, as Fortran passes them. */
typedef void (*nxi_lapack_fn)(void);
/* The routine for a dtype; NULL without LAPACK. */
nxi_lapack_fn nxi_lapack(nxi_lapack_routine routine, nx_dtype t);
/* NX_OK if all is there; else NX_DEVICE_UNAVAILABLE with the reason, in the name of the operation. */
nx_status nxi_lapack_ready(const char *op, nxi_diag *d);
/* Around every call. */
void nxi_lapack_enter(void);
void nxi_lapack_leave(void);

/* ---- matrices. Sizes in elements. */

/* to[j][i] = from[i][j], conjugated if asked; rows and columns are those of `from`. */
void nxi_transpose(nx_dtype t, int64_t rows, int64_t columns, const void *from, int64_t from_ld,
                   void *to, int64_t to_ld, bool conjugate);
/* Makes the strict upper triangle (lower: the strict lower one) zero; rows x columns, dense. */
void nxi_zero_triangle(nx_dtype t, int64_t rows, int64_t columns, void *a, bool lower);
/* Whether all n elements are finite. */
bool nxi_all_finite(nx_dtype t, int64_t n, const void *a);

/* Product of all extents but the last `matrix` ones. */
int64_t nxi_batches(const nxg_array *a, int32_t matrix);
/* One phase over the matrices of a batch, each of so many floating-point operations and so many elements moved. */
void nxi_batch_work(nxg_call_work *work, int64_t batches, double flops, double elements);

#endif
