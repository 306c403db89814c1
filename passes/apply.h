/* SPDX-License-Identifier: ISC */
/* Runs passes by name on texts, for `nxc opt` and for the golden files of the passes. */
#ifndef NXP_APPLY_H
#define NXP_APPLY_H

#include <stddef.h>

#include "ir/diag.h"
#include "ir/target.h"

typedef struct nxp_apply_options {
  const nxi_target *target;
  bool blas; /* whether large products go to a library */
} nxp_apply_options;

/* Runs passes of pass_list.def, named in a list separated by commas or blanks, on a graph or a
 * kernel in text form, and prints the result. passes NULL: all graph passes for a graph, no pass
 * for a kernel. The IR is verified before the first pass and after each. `lower` converts a graph
 * to kernels, and `loop_kernels` to those of its plan; they are printed one after the other with
 * empty lines between. Passes that another pass requires are run before it: `cluster` and `lower`
 * normalise the graph, `bind` expands functions. NX_PARSE with line and column;
 * NX_INVALID_ARGUMENT: an unknown pass, or one for another level. */
nx_status nxp_apply(const char *text, size_t size, const char *passes, const nxp_apply_options *o,
                    nxi_text *out, nxi_diag *d);

#endif
