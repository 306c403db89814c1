/* SPDX-License-Identifier: ISC */
/* Library calls (ir/library/library.h) that a GPU executes itself, with one of NVIDIA's libraries
 * or with hand-written kernels. Calls that no entry takes are executed on the host; the report
 * counts them. */
#ifndef NXI_GPU_CALLS_H
#define NXI_GPU_CALLS_H

#include "ir/library/library.h"
#include "passes/fuse/cluster.h"
#include "runtime/cuda/gpu.h"

typedef struct nxi_gpu_call_work {
  int64_t scratch_bytes; /* of the GPU's memory, for one run */
  void *state;           /* shared by all runs; may be NULL */
} nxi_gpu_call_work;

typedef struct nxi_gpu_call_run {
  nxi_gpu *gpu;
  const nxg_call *call;
  const nxi_gpu_call_work *work;
  const uint64_t *operands, *results; /* dense arrays in C order; results overlap nothing */
  uint64_t scratch;
  const nxi_poll *poll;         /* called while a run waits; not NULL */
  int64_t failed;               /* index of the matrix in the batch that makes the call fail */
  nx_status why;                /* NX_OK, or the status of that failure */
  char said[NXG_CALL_SENTENCE]; /* of that failure; "": nothing */
} nxi_gpu_call_run;

typedef struct nxi_gpu_functions {
  const char *by; /* "cuFFT" */
  /* Whether it executes this call, and the libraries that it needs are available. */
  bool (*takes)(nxi_gpu *g, const nxg_call *call);
  /* Why a library that it would use for this call is not available (static text); NULL: it is
   * available, or this call is not for this entry. */
  const char *(*lacks)(const nxg_call *call);
  nx_status (*prepare)(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d);
  /* Starts all work on the GPU's stream. Only a call that can fail because of the values of its
   * operands waits. Several runs with the same `work` may overlap. */
  nx_status (*run)(nxi_gpu_call_run *r, nxi_diag *d);
  void (*release)(void *state); /* NULL: nothing to release */
  /* Whether a run may be captured in a graph (gpu.h): it does nothing but start work on
   * nxi_gpu_stream, and that work does not depend on the values of the operands. */
  bool captured;
} nxi_gpu_functions;

extern const nxi_gpu_functions nxi_gpu_custom_functions; /* custom.c */
extern const nxi_gpu_functions nxi_gpu_sort_functions;   /* sort.c */
extern const nxi_gpu_functions nxi_gpu_scan_functions;   /* scan.c */
/* integers.c: matmul_i32 of bytes */
extern const nxi_gpu_functions nxi_gpu_integer_library_functions, nxi_gpu_integer_functions;
extern const nxi_gpu_functions nxi_gpu_attention_functions; /* attention.c: attention */
extern const nxi_gpu_functions nxi_gpu_window_functions;    /* windows.c: matmul_windows */
/* fft.c: fft, ifft, rfft, irfft */
extern const nxi_gpu_functions nxi_gpu_fft_functions;
/* factors.c: cholesky, solve, inv, det, slogdet, triangular_solve; vectors.c: eigh, eigvalsh, eig,
 * eigvals, svd, qr */
extern const nxi_gpu_functions nxi_gpu_factor_functions, nxi_gpu_vector_functions;

/* Products that own kernels compute on a GPU of that kind ("sm_90"). */
nxp_products nxi_gpu_own_products(const char *arch);

/* The functions that execute the call. NULL: the host executes it. */
const nxi_gpu_functions *nxi_gpu_call_functions(nxi_gpu *g, const nxg_call *call);
/* For a call that the host executes: a sentence that names the missing library. NULL: no library is
 * missing. Static. */
const char *nxi_gpu_call_lacks(const nxg_call *call);

#endif
