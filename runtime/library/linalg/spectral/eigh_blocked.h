/* SPDX-License-Identifier: ISC */
/* eigh of large matrices, in stages that threads share as far as LAPACK's parts can be shared. */
#ifndef NXI_EIGH_BLOCKED_H
#define NXI_EIGH_BLOCKED_H

#include "runtime/library/stages.h"

enum { NXI_EIGH_BLOCKED = 256, NXI_EIGH_BLOCKED_REAL = 129 };

/* Whether such a call is computed in stages; its state is then a nxi_stages. */
static inline bool nxi_eigh_is_blocked(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return call->n_results > 1 &&
         a->shape[a->rank - 1] >=
             (nxi_lapack_complex(a->dtype) ? NXI_EIGH_BLOCKED : NXI_EIGH_BLOCKED_REAL);
}
nx_status nxi_eigh_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);
/* Whether the lower triangle of an n x n matrix is finite. */
bool nxi_lower_is_finite(nx_dtype t, int64_t n, const char *a);

#endif
