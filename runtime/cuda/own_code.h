/* SPDX-License-Identifier: ISC */
/* Hand-written CUDA C, which is not generated from kernel IR: sorting, scattering, the work before
 * and after calls of NVIDIA's libraries. A text of codegen_cuda/ (.cuh) has templates; an instance
 * is a function made of them. It comes from the GPU's kernel cache like any other kernel. */
#ifndef NXI_OWN_CODE_H
#define NXI_OWN_CODE_H

#include "runtime/cache/kernel.h"
#include "runtime/cuda/gpu.h"

typedef struct nxi_own_code {
  const char *body; /* comes after the prelude (prelude.cuh) and `tools` */
  /* comes last: extern "C" __global__ void __launch_bounds__(threads) entry(...) { ... } */
  const char *instance;
  const char *entry;
  int32_t threads;      /* of a block */
  int64_t shared_bytes; /* dynamic */
  const char *tools;    /* mma.cuh; NULL: nothing */
  int64_t blocks;       /* of a launch, for dumps; 0: that is known only when it is launched */
} nxi_own_code;

/* out is NULL for a GPU that is imagined, which shows the text (shown.h). Reference to *out: the
 * caller's (nxi_kernel_release). It is launched by nxi_gpu_launch(nxi_kernel_code(k), blocks,
 * threads, arguments, d). */
nx_status nxi_own_code_get(nxi_gpu *g, const nxi_own_code *code, nxi_kernel **out, nxi_diag *d);
/* The same of n kernels, compiled by all threads. out[i]: NULL before; after a failure some may be
 * there all the same. */
nx_status nxi_own_code_get_all(nxi_gpu *g, const nxi_own_code *codes, uint32_t n, nxi_kernel **out,
                               nxi_diag *d);

#endif
