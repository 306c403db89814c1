/* SPDX-License-Identifier: ISC */
/* The printer with a hook for remarks: the verifier writes each fault below its line. */
#ifndef NXI_PRINT_KERNEL_H
#define NXI_PRINT_KERNEL_H

#include "ir/kernel/kernel.h"

/* Called after the line of each instruction, and with NXK_NONE after the declarations. */
typedef void nxi_line_hook(void *user, nxk_value v, nxi_text *out);
void nxi_print_kernel(const nxk_kernel *k, nxi_text *out, nxi_line_hook *hook, void *user);

const char *nxi_buffer_kind_name(nxk_buffer_kind kind); /* "in" ... */
const char *nxi_loop_kind_name(nxk_loop_kind kind);     /* "outer" ... */

/* True if the instruction defines a name: a value, or the condition that blends refer to. */
static inline bool nxi_is_named(nxk_op op) {
  return op != NXK_region && op != NXK_end && op != NXK_store && op != NXK_next &&
         op != NXK_until && op != NXK_tree_push && op != NXK_barrier;
}

#endif
