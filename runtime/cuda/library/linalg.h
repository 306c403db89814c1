/* SPDX-License-Identifier: ISC */
/* Shared parts of the calls of linear algebra on a GPU: sizes, pieces of scratch memory, prepared
 * kernels, and finding the matrix of the batch that failed. */
#ifndef NXI_GPU_LINALG_H
#define NXI_GPU_LINALG_H

#include "arrays.h"
#include "calls.h"
#include "cusolver.h"

enum { NXI_LINALG_PIECES = 4, NXI_LINALG_BLOCK = 256 };

typedef struct nxi_linalg {
  nx_dtype dtype, part;
  int64_t m, n, k, count; /* operand 0: count matrices of m x n; k: columns of operand 1 */
  int64_t at[NXI_LINALG_PIECES], scratch_bytes;
  int64_t info; /* not used */
  bool needed[NXI_ARRAYS_KERNELS];
  nxi_kernel *code[NXI_ARRAYS_KERNELS];
} nxi_linalg;

/* Whether hand-written kernels, with a block of threads for each matrix, are faster than a library
 * call for each matrix. most: the larger of the numbers of rows and columns. */
bool nxi_linalg_is_own(int64_t most, int64_t count);
/* Fills in the sizes, and reserves scratch memory for info. NULL: out of memory. */
nxi_linalg *nxi_linalg_create(const nxg_call *call);
/* Reserves a piece of scratch memory with so many elements for each matrix, each of so many
 * bytes. */
void nxi_linalg_piece(nxi_linalg *l, int piece, int64_t elements, int64_t bytes);
/* Prepares the kernels that are needed. On success `work` owns l. */
nx_status nxi_linalg_ready(nxi_gpu *g, nxi_linalg *l, nxi_gpu_call_work *work, nxi_diag *d);
#define NXI_LINALG_NEED(l, which, condition) (l)->needed[NXI_ARRAYS_##which] |= (condition)
void nxi_linalg_release(void *state);

/* ---- a run. Its scratch memory begins with an int for each matrix, which cuSOLVER writes, as many
 * flags, which our kernels write, and one int that is not read. */
typedef struct nxi_linalg_run {
  const nxi_linalg *l;
  nxi_gpu_call_run *r;
  nxi_diag *d;
  nx_status status; /* the first failure; nothing is started after it */
  uint64_t info, flags, nobody, piece[NXI_LINALG_PIECES];
} nxi_linalg_run;

/* Clears info and flags. */
nxi_linalg_run nxi_linalg_begin(nxi_gpu_call_run *r, nxi_diag *d);
/* arguments: addresses of the values. items: the number of threads that have work. */
void nxi_linalg_launch(nxi_linalg_run *run, nxi_arrays_kernel which, int64_t items,
                       void **arguments);
#define NXI_LINALG_START(run, which, items, ...) \
  nxi_linalg_launch(run, NXI_ARRAYS_##which, items, (void *[]){__VA_ARGS__})
void nxi_linalg_copy(nxi_linalg_run *run, uint64_t to, uint64_t from, int64_t elements);
/* Transposes each of `count` matrices in C order, rows x columns, or writes its adjoint. */
void nxi_linalg_turn(nxi_linalg_run *run, nxi_arrays_kernel which, uint64_t from, uint64_t to,
                     int64_t rows, int64_t columns, int64_t from_distance, int64_t to_distance);
nxi_cusolver_job nxi_linalg_job(const nxi_linalg_run *run, uint64_t a, int64_t m, int64_t n);
/* Waits, and reports the matrix that failed, if one did. */
nx_status nxi_linalg_end(nxi_linalg_run *run, nx_status why);

#endif
