/* SPDX-License-Identifier: ISC */
/* Matrix products on a GPU through cuBLASLt, which is loaded when it is first needed. */
#ifndef NXI_GPU_BLAS_H
#define NXI_GPU_BLAS_H

#include "ir/dtype.h"
#include "passes/plan/plan.h"
#include "runtime/cuda/gpu.h"

/* c = a b with k > 0, row by row in memory, batch by batch. In elements. Small floats add up in f32
 * and are rounded once. */
typedef struct nxi_gpu_product {
  nx_dtype dtype;  /* one of nxi_gpu_blas_dtypes */
  nxp_added added; /* of f32 and f64 alone */
  /* of a, b, c: bytes that the addresses of this kind are multiples of, 1 to 16 */
  int32_t alignment[3];
  int64_t m, n, k;
  bool transposed[2];                /* the operand's matrix lies column by column */
  int64_t ld[3];                     /* from one row (or column) to the next */
  int64_t batches, batch_strides[3]; /* batches: below 2^31 */
} nxi_gpu_product;

/* NULL if there is cuBLASLt, else the reason. NX_CUBLAS in the environment names another library.
 * Static. */
const char *nxi_gpu_blas_missing(void);
/* The dtypes that it multiplies on a GPU of that kind ("sm_90"): a bit 1 << dtype each; complex
 * ones as matrices of parts. */
uint32_t nxi_gpu_blas_dtypes(const char *arch);
/* Starts the product. at: of a, b, c, and what is added. */
nx_status nxi_gpu_matmul(nxi_gpu *g, const nxi_gpu_product *p, const uint64_t at[4], nxi_diag *d);

#endif
