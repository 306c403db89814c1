/* SPDX-License-Identifier: ISC */
/* Library calls (ir/library/library.h) that a GPU carries out itself, with one of NVIDIA's
 * libraries or with kernels of our own. What is taken by none is done by the host, which the report
 * counts. */
#ifndef NXI_GPU_CALLS_H
#define NXI_GPU_CALLS_H

#include "ir/library/library.h"
#include "runtime/cuda/gpu.h"

typedef struct nxi_gpu_call_work {
  int64_t scratch_bytes; /* of the GPU's memory, for one run */
  void *state;           /* for all runs, or NULL */
} nxi_gpu_call_work;

typedef struct nxi_gpu_call_run {
  nxi_gpu *gpu;
  const nxg_call *call;
  const nxi_gpu_call_work *work;
  const uint64_t *operands, *results; /* dense arrays in C order; results overlap nothing */
  uint64_t scratch;
  const nxi_poll *poll; /* for who waits; not NULL */
  int64_t failed;       /* index of the batch, if the operands make it fail */
  nx_status why;        /* NX_OK, or how they make it fail */
} nxi_gpu_call_run;

typedef struct nxi_gpu_functions {
  const char *by; /* "cuFFT" */
  /* Whether it does this call. What it needs is there. */
  bool (*takes)(const nxi_gpu *g, const nxg_call *call);
  /* Why a library that it would use for this call is not there (static text); NULL: it is, or this
   * is no call of it. */
  const char *(*lacks)(const nxg_call *call);
  nx_status (*prepare)(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *work, nxi_diag *d);
  /* Starts everything on the GPU's stream. Only a call that may fail on what it reads waits. Runs
   * of one work may overlap. */
  nx_status (*run)(nxi_gpu_call_run *r, nxi_diag *d);
  void (*release)(void *state); /* NULL: nothing to release */
  /* Whether a run may be captured in a graph (gpu.h): all that it does is start work on
   * nxi_gpu_stream, the same whatever the operands hold. */
  bool captured;
} nxi_gpu_functions;

extern const nxi_gpu_functions nxi_gpu_sort_functions; /* sort.c */
extern const nxi_gpu_functions nxi_gpu_scan_functions; /* scan.c */
/* fft.c: fft, ifft, rfft, irfft */
extern const nxi_gpu_functions nxi_gpu_fft_functions;
/* factors.c: cholesky, solve, inv, det, slogdet, triangular_solve; vectors.c: eigh, eigvalsh, eig,
 * eigvals, svd, qr */
extern const nxi_gpu_functions nxi_gpu_factor_functions, nxi_gpu_vector_functions;

/* Who does the call. NULL: the host. */
const nxi_gpu_functions *nxi_gpu_call_functions(const nxi_gpu *g, const nxg_call *call);
/* Of a call that the host does: the library that is missing for it, as a sentence. NULL: none is.
 * Static. */
const char *nxi_gpu_call_lacks(const nxg_call *call);

#endif
