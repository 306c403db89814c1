/* SPDX-License-Identifier: ISC */
/* Matrix products on a GPU through cuBLASLt, which is loaded when it is first needed. */
#ifndef NXI_GPU_BLAS_H
#define NXI_GPU_BLAS_H

#include "ir/dtype.h"
#include "passes/plan/plan.h"
#include "runtime/cuda/gpu.h"

/* A product c = a b with k > 0; matrices are in row-major order, one after the other in a batch.
 * All distances are in elements. Sums of floats smaller than f32 are computed in f32 and rounded
 * once. */
typedef struct nxi_gpu_product {
  /* Of the result, and of a and b: one of nxi_gpu_blas_dtypes for all; NX_F32 of f16 or bf16; or
   * NX_I32 of NX_I8: transposed is {false, true} then, k, n and all distances are multiples of 4,
   * and addresses are, and nothing is added. */
  nx_dtype dtype, operands;
  nxp_added added; /* only for f32 and f64 */
  /* of a, b, c: all addresses of this kind of product are multiples of so many bytes, 1 to 16 */
  int32_t alignment[3];
  int64_t m, n, k;
  bool transposed[2];                /* the operand's matrix is in column-major order */
  int64_t ld[3];                     /* distance from one row (or column) to the next */
  int64_t batches, batch_strides[3]; /* batches: below 2^31 */
} nxi_gpu_product;

/* NULL if there is cuBLASLt, else the reason. NX_CUBLAS in the environment names another library.
 * Static. */
const char *nxi_gpu_blas_missing(void);
/* The dtypes that it multiplies on a GPU of that kind ("sm_90"), as bits 1 << dtype; complex ones
 * as matrices of parts. */
uint32_t nxi_gpu_blas_dtypes(const char *arch);
/* Whether the library has an algorithm for the product, which is kept. */
bool nxi_gpu_blas_multiplies(nxi_gpu *g, const nxi_gpu_product *p);
/* Starts the product. at: the addresses of a, b, c, and of the addend. */
nx_status nxi_gpu_matmul(nxi_gpu *g, const nxi_gpu_product *p, const uint64_t at[4], nxi_diag *d);

#endif
