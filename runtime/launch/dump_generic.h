/* SPDX-License-Identifier: ISC */
/* Which kernels share code, as text, without compiling any. */
#ifndef NXI_DUMP_GENERIC_H
#define NXI_DUMP_GENERIC_H

#include "internal.h"

/* Zero-initialise. */
typedef struct nxi_generic_dump {
  nxi_kernel_cache *cache;    /* its code is a number, and nothing is compiled */
  nxi_text kinds, structures; /* hashes of those met so far, 8 bytes each, in that order */
  nxi_text made;              /* the kernel that the last code was made of */
  uint32_t codes;             /* that were made */
} nxi_generic_dump;

/* Adds to `out` what serves this kernel, after those that were added before it: its kind and
 * structure (passes/kernel/generalize.h), the code and the values of its parameters; and if that
 * code was made for this kernel, with parameters, the bound kernel that it was made of. */
nx_status nxi_generic_dump_add(nxi_generic_dump *g, const nxk_kernel *logical, const nxi_target *t,
                               nxi_text *out, nxi_diag *d);
void nxi_generic_dump_free(nxi_generic_dump *g);

#endif
