/* SPDX-License-Identifier: ISC */
/* Passes by name on texts: what `nxc opt` does, and what the golden files of the passes are checked
 * with. */
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
 * kernel in text form, and prints what they leave. NULL: a graph goes through all graph passes, a
 * kernel through none. The IR is verified before the first pass and after each. A graph becomes
 * kernels with `lower` (then one text a kernel, with empty lines between); what a pass needs done
 * before it is done: `cluster` and `lower` normalise the graph, `bind` expands functions.
 * NX_PARSE with line and column; NX_INVALID_ARGUMENT: an unknown pass, or one for another level. */
nx_status nxp_apply(const char *text, size_t size, const char *passes, const nxp_apply_options *o,
                    nxi_text *out, nxi_diag *d);

#endif
