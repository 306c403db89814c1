/* SPDX-License-Identifier: ISC */
/* What scores of an attention are masked with in memory (graph/calls/attention.c). */
#ifndef NXP_ATTENTION_MEMORY_H
#define NXP_ATTENTION_MEMORY_H

#include "attention_mask.h"
#include "attention_rows.h"

/* What scores are masked with, as a view of their shape. Of an array of four axes it has those of
 * which it is not the same for all. */
typedef struct nxp_mask {
  bool given, copied, kept[3]; /* kept: axes before heads, heads, rows */
  uint32_t base;
  nxg_view v;
} nxp_mask;

void nxp_take_mask(const nxg_graph *g, uint32_t node, nxp_mask *m);
/* The condition beside bounds, if there is one: a part of a repeated one is repeated like it. */
void nxp_take_condition(const nxg_graph *g, const nxp_hidden *h, nxp_mask *m);
/* Sees a mask of a node's shape as a view of the rows that are meant, which are divided if need
 * be. False: it is none. */
bool nxp_see_mask(nxp_mask *m, const nxg_node *n, nxp_rows *rows);
/* Finds what of a mask is in memory, with `count` axes of batches, of which `split` come before
 * heads; 1 if it has to be copied. */
int nxp_settle_mask(nxp_mask *m, int32_t count, int32_t split);
/* The axes of a mask's view that it keeps. */
void nxp_kept_view(const nxp_mask *m, int32_t count, int32_t split, nxg_view *v);

#endif
