/* SPDX-License-Identifier: ISC */
/* The contents of a text of nxc or of a golden file: a graph, or kernels of either level. */
#ifndef NXP_READ_H
#define NXP_READ_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"

typedef struct nxp_ir {
  nxg_graph *g;         /* NULL: kernels */
  nxk_kernel **kernels; /* in the order of the text */
  uint32_t n_kernels, cap_kernels;
} nxp_ir;

/* Parses and verifies. There may be several kernels, each with its version line, as printed after a
 * graph was lowered. NX_PARSE and others with line and column. Zero-initialise *out, and free it
 * also after a failure. */
nx_status nxp_ir_read(const char *text, size_t size, nxp_ir *out, nxi_diag *d);
/* Takes ownership of the kernel, even if it fails. */
nx_status nxp_ir_add(nxp_ir *ir, nxk_kernel *k, nxi_diag *d);
void nxp_ir_free(nxp_ir *ir);

#endif
