/* SPDX-License-Identifier: ISC */
/* LAPACK, which is in the file of the BLAS that is loaded at run time (blas.h), and helpers of the
 * functions that call it.
 *
 * LAPACK stores matrices by columns. A matrix in C order is the transposed one there; each function
 * says how it deals with that. Calls are single-threaded and cannot be interrupted. Polls take
 * effect between the matrices of a batch, and between the tasks of a matrix that is divided into
 * tasks (stages.h); what takes longer is done apart (runtime/library/apart.h). */
#ifndef NXI_LAPACK_H
#define NXI_LAPACK_H

#include "runtime/library/blas/blas.h"
#include "runtime/library/libraries.h"

typedef enum nxi_lapack_routine {
#define LAPACK(name, s, d, c, z) NXI_LAPACK_##name,
#include "lapack_routines.def"
#undef LAPACK
  NXI_LAPACK_ROUTINES
} nxi_lapack_routine;

/* To be converted to the routine's type; lengths of strings follow the other arguments, as Fortran
 * passes them. */
typedef void (*nxi_lapack_fn)(void);
/* The routine for a dtype; NULL without LAPACK. */
nxi_lapack_fn nxi_lapack(nxi_lapack_routine routine, nx_dtype t);
/* NX_OK if all routines are available; else NX_DEVICE_UNAVAILABLE with the reason, reported for the
 * operation. */
nx_status nxi_lapack_ready(const char *op, nxi_diag *d);
/* To be called around every call of a routine. */
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

static inline bool nxi_lapack_complex(nx_dtype t) { return t == NX_C64 || t == NX_C128; }
static inline bool nxi_lapack_single(nx_dtype t) { return t == NX_F32 || t == NX_C64; }
/* 1 at *to; the identity, of rows x columns, dense. */
void nxi_store_one(nx_dtype t, void *to);
void nxi_identity(nx_dtype t, int64_t rows, int64_t columns, void *a);

/* ---- batches */

/* Product of all extents but the last `matrix` ones. */
int64_t nxi_batches(const nxg_array *a, int32_t matrix);
/* Number `index` of the batch, whose items have `rank` dimensions. */
void *nxi_item(const nxg_array *a, void *base, int32_t rank, int64_t index);
/* Computes one item after the other, until the poll says to stop or one fails; or makes the
 * results of one that fails NaN. */
nx_status nxi_each_of(nxg_call_part *part,
                      nx_status (*one)(const nxg_call_part *part, int64_t index, const void *user),
                      const void *user);
/* The same; what takes long is done apart. */
nx_status nxi_each_item(nxg_call_part *part,
                        nx_status (*one)(const nxg_call_part *part, int64_t index));
/* Whether a failure with this status is no failure of the call: nxg_call_gives_nan, and the matrix
 * could not be factored. */
bool nxi_is_nan_instead(const nxg_call *call, nx_status status);
/* Makes all elements of number `index` of each result NaN, but for the number that says why. */
void nxi_store_nans(const nxg_call_part *part, int64_t index);
/* That number, if the call has it: 0, or what failed. */
void nxi_store_info(const nxg_call_part *part, int64_t index, int info);
/* How many matrices there are to do: none without elements, unless a number is to be written. */
int64_t nxi_batches_to_do(const nxg_call *call, int64_t n);
/* The same of `columns` columns, `ld` elements from row to row. */
void nxi_nan_columns(nx_dtype t, int64_t rows, int64_t columns, void *a, int64_t ld);
/* One phase over the matrices of a batch, each of so many floating-point operations and so many
 * elements moved. */
void nxi_batch_work(nxg_call_work *work, int64_t batches, double flops, double elements);

/* ---- work arrays of an item. Their lengths are in elements of one dtype, and are known when the
 * call is prepared. */

enum { NXI_WORK_ARRAYS = 6 };
/* Sets the call's state and scratch memory. NX_OUT_OF_MEMORY; NX_INVALID_ARGUMENT if the length of
 * an array does not fit the 32-bit integers of LAPACK. */
nx_status nxi_work_state(const nxg_call *call, nxg_call_work *work, nx_dtype t,
                         const double *lengths, uint32_t n, nxi_diag *d);
/* Array i; its length, unless that is NULL. */
void *nxi_work_array(const nxg_call_part *part, uint32_t i, int *length);
void nxi_work_release(void *state);
/* The length that a routine has put into the first element of its work array when it was asked. */
double nxi_work_length(nx_dtype t, const void *first);

#endif
