/* SPDX-License-Identifier: ISC */
/* cholesky of large matrices, in stages that threads share. */
#ifndef NXI_CHOLESKY_BLOCKED_H
#define NXI_CHOLESKY_BLOCKED_H

#include "runtime/library/stages.h"

enum {
  NXI_CHOLESKY_BLOCKED = 512
}; /* what threads would save of smaller ones, handing over costs */

/* Whether such a call is computed in stages; its state is then a nxi_stages. */
static inline bool nxi_cholesky_is_blocked(const nxg_call *call) {
  const nxg_array *a = &call->operands[0];
  return a->shape[a->rank - 1] >= NXI_CHOLESKY_BLOCKED;
}
nx_status nxi_cholesky_blocked_prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d);
/* 0 if the real parts of the diagonal are positive and finite, as they are if the matrix was
 * positive definite; else the number, counted from 1, of the first one that is not. */
int nxi_bad_diagonal(nx_dtype t, int n, const void *a);

#endif
