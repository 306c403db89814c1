/* SPDX-License-Identifier: ISC */
/* Integers that a graph computes of constants alone. */
#ifndef NXG_EVALUATE_H
#define NXG_EVALUATE_H

#include "index_ranges.h"

enum { NXG_MOST_EVALUATED = 2048 };

/* Writes the integers of a node to out, which has room for NXG_MOST_EVALUATED. Returns how many
 * they are; 0: they are not of constants alone, too many, or there is no memory. */
int64_t nxg_evaluate_integers(const nxg_graph *g, uint32_t node, int64_t *out);

#endif
