/* SPDX-License-Identifier: ISC */
/* eig, eig_left and eigvals of small real matrices, where there are loops of our own. */
#ifndef NXI_EIG_SMALL_H
#define NXI_EIG_SMALL_H

#include "eig_blocked.h"
#include "runtime/library/floats/multiply.h"

static inline bool nxi_eig_is_small(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return a->dtype == NX_F64 && a->shape[a->rank - 1] > 0 &&
         a->shape[a->rank - 1] < NXI_EIG_BLOCKED && nxi_floats_kernels_for(NX_F64);
}

/* After nxi_batch_work. */
nx_status nxi_eig_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);
/* One matrix of the batch. */
nx_status nxi_eig_small(const nxg_call_part *part, int64_t index);

#endif
