/* SPDX-License-Identifier: ISC */
/* The assembly of several kernels as one file that an assembler accepts. */
#ifndef NXP_DUMP_ASSEMBLY_H
#define NXP_DUMP_ASSEMBLY_H

#include "codegen_llvm/codegen_llvm.h"

/* Zero-initialise. */
typedef struct nxp_assembly {
  uint32_t kernels; /* that were added */
  nxi_text symbols; /* theirs, each between two newlines */
} nxp_assembly;

/* Compiles a bound kernel and adds its text to `out`. A symbol that the file has already gets a
 * number. */
nx_status nxp_assembly_add(nxp_assembly *a, const nxk_kernel *k, const nxl_target *target,
                           nxi_text *out, nxi_diag *d);
void nxp_assembly_free(nxp_assembly *a);

#endif
