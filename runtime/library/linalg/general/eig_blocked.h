/* SPDX-License-Identifier: ISC */
/* eig, eig_left and eigvals of large real matrices, in stages (stages.h). */
#ifndef NXI_EIG_BLOCKED_H
#define NXI_EIG_BLOCKED_H

#include "runtime/library/stages.h"

enum { NXI_EIG_BLOCKED = 128 /* least rows */ };

static inline bool nxi_eig_is_blocked(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return a->dtype == NX_F64 && a->shape[a->rank - 1] >= NXI_EIG_BLOCKED;
}

/* Sets work->state, of which nxi_stages is the first member, to be freed by nxi_work_release. */
nx_status nxi_eig_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);

#endif
