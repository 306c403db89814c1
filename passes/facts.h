/* SPDX-License-Identifier: ISC */
/* Facts that hold after a pass and that later passes rely on: the column `gives` of
 * pass_list.def. */
#ifndef NXP_FACTS_H
#define NXP_FACTS_H

#include "ir/graph/graph.h"
#include "ir/kernel/kernel.h"

enum {
  NXP_FACT_none = 0,
  NXP_FACT_real = 1,     /* no node of a graph is complex */
  NXP_FACT_one_run = 2,  /* each reduction reduces one run of adjacent axes */
  NXP_FACT_composed = 4, /* the operand of a view is not a view */
  NXP_FACT_basic = 8,    /* a kernel has no functions but those whose expansions have loops */
  NXP_FACT_bound = 16,   /* a kernel is bound to a machine */
  NXP_FACT_expanded = 32 /* a kernel has no functions: all its scalar operations are basic ones */
};

/* Whether all of `facts` hold. For each node or instruction for which one does not hold, a sentence
 * is appended to `faults`. */
bool nxp_graph_has(const nxg_graph *g, uint32_t facts, nxi_text *faults);
bool nxp_kernel_has(const nxk_kernel *k, uint32_t facts, nxi_text *faults);

#endif
