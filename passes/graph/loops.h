/* SPDX-License-Identifier: ISC */
/* What the passes of loops share with each other and with plan/loop.c. */
#ifndef NXG_LOOPS_H
#define NXG_LOOPS_H

#include "ir/graph/graph.h"

/* Steps that a loop of elementwise steps takes at once (chunk_loops.c). */
enum { NXG_LOOP_CHUNK = 1024 };

/* Whether each element of what a graph gives follows from elements of its inputs, in one kernel as
 * far as one can see at once; nothing in it can fail. */
bool nxg_is_elementwise(const nxg_graph *g);
/* The most that a node of a number can be because it is the lesser one of something and a constant;
 * -1: it is not known. */
int64_t nxg_most_of(const nxg_graph *g, uint32_t node);

#endif
