/* SPDX-License-Identifier: ISC */
/* Where queries, keys and values of an attention lie in memory (graph/attention.c). */
#ifndef NXP_ATTENTION_SIDES_H
#define NXP_ATTENTION_SIDES_H

#include "ir/graph/graph.h"

/* An operand: what it is a view of, with rows and features as its last axes. */
typedef struct nxp_side {
  uint32_t base;
  nxg_view v;
  bool narrow;        /* the base has the operand's dtype, and not the f32 that it was cast to */
  bool whole, turned; /* dense in this order, or with rows before heads */
} nxp_side;

/* Makes a view of the elements of `inner` in C order one of what inner is a view of; its last two
 * axes stay two, others may be divided. False: it is none. */
bool nxp_see_through(const nxg_view *inner, nxg_view *v);
/* Sees an operand of a product, of which s->v is a view with batches, rows and features, as a view
 * of what it is a cast to f32 of, or behind `copies` a copy of, if its axes can be divided so that
 * they are axes of that. False: not all of its values are numbers of dtype t. */
bool nxp_see_side(const nxg_graph *g, uint32_t node, bool copies, nx_dtype t, nxp_side *s);
/* Divides batches, which are all axes but the last two, of `like` so that those of v can be divided
 * in the same way. False: no division fits both. */
bool nxp_refine(nxg_view *like, const nxg_view *v);
/* Divides batches of a view as another view has them. False: they are others. */
bool nxp_divide(nxg_view *v, const nxg_view *like);
/* Finds whether it is dense with `count` axes of batches, of which `split` come before heads; 1 if
 * it has to be copied. */
int nxp_settle_side(nxp_side *s, int32_t count, int32_t split);

#endif
