/* SPDX-License-Identifier: ISC */
/* svd of large matrices that are not much longer than wide, in stages that threads share as far as
 * LAPACK's parts can be. */
#ifndef NXI_SVD_BLOCKED_H
#define NXI_SVD_BLOCKED_H

#include "runtime/library/stages.h"

enum { NXI_SVD_BLOCKED = 256, NXI_SVD_BLOCKED_REAL = 48 };

/* Whether such a call is computed in stages; its state is then a nxi_stages. Longer matrices are
 * left to LAPACK, which reduces them to a triangle first. */
static inline bool nxi_svd_is_blocked(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  const int64_t m = a->shape[a->rank - 2], n = a->shape[a->rank - 1], least = m < n ? m : n;
  return least >= (nxi_lapack_complex(a->dtype) ? NXI_SVD_BLOCKED : NXI_SVD_BLOCKED_REAL) &&
         (m > n ? m : n) <= least + least / 2 + least / 4;
}
nx_status nxi_svd_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);

#endif
