/* SPDX-License-Identifier: ISC */
/* Preparing products of small integers for a given processor; nxi_matmul_i32_functions
 * (libraries.h) prepare them for this machine. */
#ifndef NXI_INTEGERS_PRODUCT_H
#define NXI_INTEGERS_PRODUCT_H

#include "ir/library/library.h"
#include "ir/target.h"

/* As nxg_functions.prepare. */
nx_status nxi_integers_prepare(const nxg_call *call, const nxi_target *target, nxg_call_work *work,
                               nxi_diag *d);

#endif
