/* SPDX-License-Identifier: ISC */
/* What hides scores of an attention (graph/attention.c). */
#ifndef NXP_ATTENTION_MASK_H
#define NXP_ATTENTION_MASK_H

#include "ir/graph/graph.h"

/* Whether a node is one constant, in any shape, and its bits. */
bool nxp_full_bits(const nxg_graph *g, uint32_t node, int64_t *bits);
/* If a node chooses a constant for some scores by comparing row and column, its last two axes: what
 * it chooses for the others, the bits of the constant, and bounds of column - row within which
 * scores are seen. Otherwise the node, and nothing else changes. */
uint32_t nxp_hidden_scores(const nxg_graph *g, uint32_t node, int64_t *fill, int64_t *least,
                           int64_t *most);

#endif
