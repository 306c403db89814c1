/* SPDX-License-Identifier: ISC */
/* Operands of a call whose kernels read 16 bytes at once: where they begin elsewhere they are
 * copied first. */
#ifndef NXI_GPU_ALIGNED_H
#define NXI_GPU_ALIGNED_H

#include "calls.h"

typedef struct nxi_gpu_aligned {
  uint64_t at[2], owned[2];
  int64_t bytes[2];
} nxi_gpu_aligned;

/* Both operands of a product. even: they have to begin at multiples of 16 bytes. */
nx_status nxi_gpu_align(const nxi_gpu_call_run *r, bool even, nxi_gpu_aligned *a, nxi_diag *d);
void nxi_gpu_align_end(nxi_gpu *g, const nxi_gpu_aligned *a);

#endif
