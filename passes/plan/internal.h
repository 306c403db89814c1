/* SPDX-License-Identifier: ISC */
/* What plan building shares with the packing of memory and with prints. */
#ifndef NXP_PLAN_INTERNAL_H
#define NXP_PLAN_INTERNAL_H

#include "plan.h"

typedef struct nxp_plan_builder {
  nxp_plan *plan;
  const nxg_graph *g;
  const nxg_graph *recorded; /* what the passes made it of */
  const nxp_clusters *clusters;
  nxp_lowering *lowering;
  nxp_location *where; /* node -> its memory */
  uint32_t *output_of; /* node -> number of the first output that it is, + 1; 0: it is none */
  bool *nontemporal;
  nxg_call *calls[4]; /* the last that differ (plan/call.c) */
  nxi_diag *d;
} nxp_plan_builder;
nx_status nxp_build_steps(nxp_plan_builder *b, const nxi_poll *poll);

/* plan/plan.c: a plan of no steps yet, with room for its outputs. NULL without memory. */
nxp_plan *nxp_new_plan(const nxg_graph *g, const nxp_options *o);
/* plan/stored.c: fills `stored` of a plan that is interpreted node by node. False without memory.
 */
bool nxp_note_interpreted(nxp_plan *p, const nxg_graph *g);

/* plan/control.c: holds the bodies of a graph until the plan is destroyed: plans are looked up by
 * graphs, in which a body is its number, and an equal body has that number as long as it is held.
 * False without memory. */
bool nxp_hold_bodies(nxp_plan *p, const nxg_graph *g);
/* Lets go of the bodies that steps name, and of those. */
void nxp_release_bodies(nxp_plan *p);

/* plan/memory.c: step buffers of kind NXP_TEMPORARY hold the number of one of these until the plan
 * is packed. */
typedef struct nxp_temporary {
  int64_t bytes;
  uint32_t first, last; /* steps */
  int64_t offset;
  uint32_t output; /* in whose memory it lies; NXP_NONE: in the block of temporaries */
  uint32_t next;   /* the one after it in the same memory (plan/fit.c) */
} nxp_temporary;

enum { NXP_ALIGNMENT = 64 };
static inline int64_t nxp_round_up(int64_t bytes) {
  return (bytes + NXP_ALIGNMENT - 1) & ~(int64_t)(NXP_ALIGNMENT - 1);
}
/* Whether it needs memory at all. */
static inline bool nxp_is_placed(const nxp_temporary *t) {
  return t->first != NXP_NONE && t->bytes > 0;
}

/* plan/steps.c: calls `visit` for each place that a step and the steps inside of it name. */
typedef void nxp_location_visit(void *user, nxp_location *where, bool writes);
void nxp_each_location(const nxp_step *step, nxp_location_visit *visit, void *user);

/* plan/order.c: gives the groups another order if that needs clearly less memory; tight: if it
 * needs less at all. False without memory. */
bool nxp_order_groups(const nxg_graph *g, nxp_clusters *c, bool tight);

/* plan/fit.c. False without memory. */
/* Puts temporaries into the memory of outputs that nothing has touched yet. */
bool nxp_fit_outputs(nxp_plan *p);
/* Places those of the block anew if that takes less than *end bytes. `least`: the most bytes that
 * are live at once. */
bool nxp_fit_block(nxp_plan *p, int64_t least, int64_t *end);

#endif
