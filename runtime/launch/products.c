/* SPDX-License-Identifier: ISC */
/* Finds the products that a plan may leave to a library for the processor or for a GPU, if that
 * library is available. */
#include "internal.h"
#include "runtime/cuda/library/blas.h"
#include "runtime/library/blas/blas.h"

bool nxi_is_for_gpu(const nxi_executable_options *o) {
  return (o->executor == NXI_COMPILED && o->gpu != NULL) ||
         (o->printed && o->target->block_threads > 0);
}

static void find_on_gpu(const nxi_executable_options *o, nxp_options *out) {
  bool imagined = o->printed && o->gpu == NULL; /* as if all libraries were available */
  const char *missing = imagined ? NULL : nxi_gpu_blas_missing();
  out->all_products = NXP_ON_GPU | nxi_gpu_blas_dtypes(o->target->isa);
  out->products = missing == NULL ? out->all_products : NXP_ON_GPU;
  out->no_library = missing;
}

void nxi_find_products(const nxi_executable_options *o, nxp_options *out) {
  if (nxi_is_for_gpu(o)) {
    find_on_gpu(o, out);
    return;
  }
  bool there = nxi_blas_get(NULL) != NULL;
  out->all_products = NXP_PRODUCTS_OF_BLAS;
  out->products = there ? NXP_PRODUCTS_OF_BLAS : 0;
  out->no_library = there ? NULL : nxi_blas_missing();
}
