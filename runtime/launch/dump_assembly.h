/* SPDX-License-Identifier: ISC */
/* The assembly of several kernels as one file that an assembler accepts. */
#ifndef NXI_DUMP_ASSEMBLY_H
#define NXI_DUMP_ASSEMBLY_H

#include "runtime/device.h"

/* Zero-initialise. */
typedef struct nxi_assembly {
  uint32_t kernels; /* number of kernels that were added */
  nxi_text symbols; /* symbols of the kernels, each between two newlines */
} nxi_assembly;

/* Prints a bound kernel as its device's assembly and adds the text to `out`. A number is added to a
 * symbol that the file already has. */
nx_status nxi_assembly_add(nxi_assembly *a, const nxk_kernel *k, const nxi_device_stage *stage,
                           const nxi_target *target, nxi_text *out, nxi_diag *d);
void nxi_assembly_free(nxi_assembly *a);

#endif
