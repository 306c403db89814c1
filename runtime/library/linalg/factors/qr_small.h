/* SPDX-License-Identifier: ISC */
/* qr of small real matrices, by loops of our own. */
#ifndef NXI_QR_SMALL_H
#define NXI_QR_SMALL_H

#include "runtime/library/floats/multiply.h"
#include "runtime/library/linalg/lapack.h"

static inline bool nxi_qr_is_small(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return a->shape[a->rank - 2] <= NXI_FLOATS_REFLECTED &&
         a->shape[a->rank - 1] <= NXI_FLOATS_REFLECTED && nxi_floats_kernels_for(a->dtype);
}
/* Fills the state and scratch memory of a call whose phase is known, of matrices with elements. */
nx_status nxi_qr_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);
void nxi_qr_small(const nxg_call_part *part, int64_t index);

#endif
