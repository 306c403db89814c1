/* SPDX-License-Identifier: ISC */
/* Matrix products on a GPU through cuBLASLt, which is loaded when it is first needed. */
#ifndef NXI_GPU_BLAS_H
#define NXI_GPU_BLAS_H

#include "ir/dtype.h"
#include "runtime/cuda/gpu.h"

/* c = a b with k > 0, row by row in memory, batch by batch. In elements. */
typedef struct nxi_gpu_product {
  nx_dtype dtype; /* f32, f64 */
  int64_t m, n, k;
  bool transposed[2]; /* the operand's matrix lies column by column */
  int64_t ld[3];      /* from one row (or column) to the next */
  int64_t batches, batch_strides[3];
} nxi_gpu_product;

/* NULL if there is cuBLASLt, else the reason. NX_CUBLAS in the environment names another library. Static. */
const char *nxi_gpu_blas_missing(void);
/* Starts the product. at: of a, b, c. */
nx_status nxi_gpu_matmul(nxi_gpu *g, const nxi_gpu_product *p, const uint64_t at[3], nxi_diag *d);

#endif
