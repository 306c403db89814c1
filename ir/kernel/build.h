/* SPDX-License-Identifier: ISC */
/* Private to the builder and the parser: appending an instruction as it is, without folding or
 * merging it. */
#ifndef NXI_BUILD_H
#define NXI_BUILD_H

#include "kernel.h"

enum { NXI_MAX_DEPTH = 256 }; /* most blocks nested in each other */

void nxi_builder_destroy(struct nxi_builder *b);
/* Appends the instruction as given (only `block` is filled in) and follows the blocks it opens or
 * closes.
 * NXK_NONE: out of memory (k->failed is set). */
nxk_value nxi_append(nxk_kernel *k, const nxk_instr *instr);
/* The equal visible value if there is one, else a new instruction. */
nxk_value nxi_number(nxk_kernel *k, const nxk_instr *in);
uint32_t nxi_add_loop(nxk_kernel *k, const nxk_loop *loop);
uint32_t nxi_add_region(nxk_kernel *k, const nxk_region *region);

static inline bool nxi_opens(nxk_op op) {
  return op == NXK_region || op == NXK_for || op == NXK_cold;
}

#endif
