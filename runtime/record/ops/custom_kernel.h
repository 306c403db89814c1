/* SPDX-License-Identifier: ISC */
/* Custom operations whose kernel is one elementwise loop, recorded as the operations it consists
 * of. */
#ifndef NXI_CUSTOM_KERNEL_H
#define NXI_CUSTOM_KERNEL_H

#include "runtime/record/custom.h"

/* Records it. made: its results, one reference each; false: reported, and nothing is made. */
bool nxi_record_elementwise(const nxg_custom *f, nx_tensor *const *operands, nx_tensor **made);

#endif
