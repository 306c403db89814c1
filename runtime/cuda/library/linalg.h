/* SPDX-License-Identifier: ISC */
/* What calls of linear algebra on a GPU share: sizes, pieces of scratch memory, kernels that are
 * made ready, and which matrix of the batch failed. */
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
  /* an int for each matrix by cuSOLVER, as many flags of our own, and one that nobody reads */
  int64_t info;
  bool needed[NXI_ARRAYS_KERNELS];
  nxi_kernel *code[NXI_ARRAYS_KERNELS];
} nxi_linalg;

/* Whether kernels of our own, a block of threads a matrix, do better than a call of the library for
 * each: of that many rows and columns at most. */
bool nxi_linalg_is_own(int64_t most, int64_t count);
/* Fills in the sizes, and reserves info. NULL: no memory. */
nxi_linalg *nxi_linalg_create(const nxg_call *call);
/* Of so many elements a matrix, each of so many bytes. */
void nxi_linalg_piece(nxi_linalg *l, int piece, int64_t elements, int64_t bytes);
/* With the kernels that are needed. On success work has it. */
nx_status nxi_linalg_ready(nxi_gpu *g, nxi_linalg *l, nxi_gpu_call_work *work, nxi_diag *d);
#define NXI_LINALG_NEED(l, which, condition) (l)->needed[NXI_ARRAYS_##which] |= (condition)
void nxi_linalg_release(void *state);

/* ---- a run. At the beginning of its scratch memory are an int for each matrix by cuSOLVER, as
 * many flags of our own, and one that nobody reads. */
typedef struct nxi_linalg_run {
  const nxi_linalg *l;
  nxi_gpu_call_run *r;
  nxi_diag *d;
  nx_status status; /* the first that is not NX_OK: nothing is started after it */
  uint64_t info, flags, nobody, piece[NXI_LINALG_PIECES];
} nxi_linalg_run;

/* Clears info and flags. */
nxi_linalg_run nxi_linalg_begin(nxi_gpu_call_run *r, nxi_diag *d);
/* arguments: addresses of the values. items: threads that have something to do. */
void nxi_linalg_launch(nxi_linalg_run *run, nxi_arrays_kernel which, int64_t items,
                       void **arguments);
#define NXI_LINALG_START(run, which, items, ...) \
  nxi_linalg_launch(run, NXI_ARRAYS_##which, items, (void *[]){__VA_ARGS__})
void nxi_linalg_copy(nxi_linalg_run *run, uint64_t to, uint64_t from, int64_t elements);
/* Each of count matrices of C order, rows x columns, transposed, or its adjoint. */
void nxi_linalg_turn(nxi_linalg_run *run, nxi_arrays_kernel which, uint64_t from, uint64_t to,
                     int64_t rows, int64_t columns, int64_t from_distance, int64_t to_distance);
nxi_cusolver_job nxi_linalg_job(const nxi_linalg_run *run, uint64_t a, int64_t m, int64_t n);
/* Waits, and says which matrix failed. */
nx_status nxi_linalg_end(nxi_linalg_run *run, nx_status why);

#endif
