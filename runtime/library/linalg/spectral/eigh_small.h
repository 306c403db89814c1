/* SPDX-License-Identifier: ISC */
/* eigh, eigvalsh of small real matrices, reduced by loops of our own. */
#ifndef NXI_EIGH_SMALL_H
#define NXI_EIGH_SMALL_H

#include "runtime/library/floats/multiply.h"
#include "runtime/library/linalg/lapack.h"

static inline bool nxi_eigh_is_small(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return a->shape[a->rank - 1] <= NXI_FLOATS_REFLECTED && nxi_floats_kernels_for(a->dtype);
}
/* Fills the state and scratch memory of a call whose phase is known. */
nx_status nxi_eigh_small_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);
nx_status nxi_eigh_small(const nxg_call_part *part, int64_t index);

#endif
