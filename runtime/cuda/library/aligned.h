/* SPDX-License-Identifier: ISC */
/* Operands of a call whose kernels read 16 bytes at once: where they begin elsewhere they are
 * copied first. */
#ifndef NXI_GPU_ALIGNED_H
#define NXI_GPU_ALIGNED_H

#include "calls.h"

enum { NXI_GPU_ALIGNED = 5 };
typedef struct nxi_gpu_aligned {
  uint64_t at[NXI_GPU_ALIGNED], owned[NXI_GPU_ALIGNED];
  int64_t bytes[NXI_GPU_ALIGNED];
} nxi_gpu_aligned;

/* The operands of a call, up to that many. even: they have to begin at multiples of 16 bytes. */
nx_status nxi_gpu_align(const nxi_gpu_call_run *r, bool even, nxi_gpu_aligned *a, nxi_diag *d);
void nxi_gpu_align_end(nxi_gpu *g, const nxi_gpu_aligned *a);

#endif
