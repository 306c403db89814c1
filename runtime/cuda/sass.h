/* SPDX-License-Identifier: ISC */
#ifndef NXI_CUDA_SASS_H
#define NXI_CUDA_SASS_H

#include "ir/diag.h"
#include "ir/target.h"

/* Adds to `out` the machine code that a text of CUDA C (prelude and kernels) becomes on the
 * architecture of a target. NX_DEVICE_UNAVAILABLE: nothing compiles or prints it here; NX_IO:
 * no temporary file; NX_OUT_OF_MEMORY. */
nx_status nxi_cuda_sass(const char *source, const char *name, const nxi_target *t, nxi_text *out,
                        nxi_diag *d);

#endif
