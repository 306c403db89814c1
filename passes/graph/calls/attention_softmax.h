/* SPDX-License-Identifier: ISC */
/* The softmax of an attention (graph/calls/attention.c). */
#ifndef NXP_ATTENTION_SOFTMAX_H
#define NXP_ATTENTION_SOFTMAX_H

#include "attention_rows.h"

/* The scores of which a node is the softmax, and which of their rows are meant; UINT32_MAX: there
 * are none. uses: how often each node is used; what lies between may have no other use. empty:
 * whether rows of nothing but minus infinity are zeros, by a condition on their maximum. */
uint32_t nxp_softmax_of(const nxg_graph *g, const uint32_t *uses, uint32_t node, nxp_rows *rows,
                        bool *empty);

#endif
