/* SPDX-License-Identifier: ISC */
/* What hides scores of an attention (graph/attention.c). */
#ifndef NXP_ATTENTION_MASK_H
#define NXP_ATTENTION_MASK_H

#include "ir/graph/graph.h"

/* Whether a node is one constant, in any shape, and its bits. */
bool nxp_full_bits(const nxg_graph *g, uint32_t node, int64_t *bits);
/* Where scores are hidden. */
typedef struct nxp_hidden {
  int64_t fill;        /* bits of the constant that they are replaced with; -1: none is hidden */
  int64_t least, most; /* bounds of column - row within which they are seen */
  int32_t from_end;    /* the axis of rows, counted from behind the last one; 0: of no bounds */
  /* A condition beside that; UINT32_MAX: there is none. `hides`: it is true where they are hidden.
   * through: a view of a larger condition that has this one in it, whose axes are those of its
   * operand, or repeat it, or new ones in front; UINT32_MAX: it is the condition itself. */
  uint32_t condition, through;
  bool hides;
} nxp_hidden;

/* If a node chooses a constant for some scores: what it chooses for the others, and where that is,
 * as bounds as far as columns, its last axis, are compared with another axis, rows. Otherwise the
 * node, and none is hidden. */
uint32_t nxp_hidden_scores(const nxg_graph *g, uint32_t node, nxp_hidden *out);

#endif
