/* SPDX-License-Identifier: ISC */
/* What the files gpu.c and gpu_blas.c share. */
#ifndef NXI_GPU_INTERNAL_H
#define NXI_GPU_INTERNAL_H

#include "runtime/gpu.h"

struct
    nxi_gpu_blas; /* gpu_blas.c: the library's handle and what is kept of products; one of each GPU */

/* Makes the GPU's context current on the thread, until nxi_gpu_leave. NX_DEVICE_LOST. */
nx_status nxi_gpu_enter(nxi_gpu *g, nxi_diag *d);
void nxi_gpu_leave(nxi_gpu *g);
void *nxi_gpu_stream(const nxi_gpu *g);
struct nxi_gpu_blas **nxi_gpu_blas_lock(nxi_gpu *g);
void nxi_gpu_blas_unlock(nxi_gpu *g);
void nxi_gpu_blas_free(struct nxi_gpu_blas *b); /* NULL is allowed; inside */

#endif
