/* SPDX-License-Identifier: ISC */
#include "aligned.h"

void nxi_gpu_align_end(nxi_gpu *g, const nxi_gpu_aligned *a) {
  for (int i = 0; i < NXI_GPU_ALIGNED; i++)
    if (a->owned[i] != 0) nxi_gpu_free(g, a->owned[i], a->bytes[i]);
}

nx_status nxi_gpu_align(const nxi_gpu_call_run *r, bool even, nxi_gpu_aligned *a, nxi_diag *d) {
  nx_status status = NX_OK;
  *a = (nxi_gpu_aligned){0};
  for (uint32_t i = 0; i < r->call->n_operands && status == NX_OK; i++) {
    const nxg_array *x = &r->call->operands[i];
    a->at[i] = r->operands[i];
    if (!even || a->at[i] % 16 == 0) continue;
    a->bytes[i] = nxg_elements(x->rank, x->shape) * nxi_dtype_size(x->dtype);
    status = nxi_gpu_alloc(r->gpu, a->bytes[i], &a->owned[i], d);
    if (status == NX_OK) status = nxi_gpu_copy(r->gpu, a->owned[i], a->at[i], a->bytes[i], d);
    a->at[i] = a->owned[i];
  }
  if (status != NX_OK) nxi_gpu_align_end(r->gpu, a);
  return status;
}
