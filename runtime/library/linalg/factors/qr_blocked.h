/* SPDX-License-Identifier: ISC */
/* qr of large matrices, in stages that threads share. */
#ifndef NXI_QR_BLOCKED_H
#define NXI_QR_BLOCKED_H

#include "runtime/library/stages.h"

enum { NXI_QR_BLOCKED = 256 };

/* Whether such a call is computed in stages; its state is then a nxi_stages. */
static inline bool nxi_qr_is_blocked(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return a->shape[a->rank - 2] >= NXI_QR_BLOCKED && a->shape[a->rank - 1] >= NXI_QR_BLOCKED;
}
nx_status nxi_qr_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);

#endif
