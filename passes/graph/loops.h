/* SPDX-License-Identifier: ISC */
/* What the passes of loops share with each other and with plan/loop.c. */
#ifndef NXG_LOOPS_H
#define NXG_LOOPS_H

#include "ir/graph/control.h"
#include "ir/graph/graph.h"

/* Steps that a loop of elementwise steps takes at once (chunk_loops.c). */
enum { NXG_LOOP_CHUNK = 1024 };

/* Instructions, each on one element, that a task takes at once in steps that are several kernels
 * (plan/joined.c): some ten milliseconds. */
#define NXG_LOOP_WORK 1e8

/* Whether each element of what a graph gives follows from elements of its inputs, in one kernel as
 * far as one can see at once; nothing in it can fail. */
bool nxg_is_elementwise(const nxg_graph *g);
/* The most that a node of a number can be because it is the lesser one of something and a constant;
 * -1: it is not known. */
int64_t nxg_most_of(const nxg_graph *g, uint32_t node);
/* The instructions of a step of a loop, each on one element, if the body is of small values and of
 * operations that cannot fail and become kernels; else -1. *endless: a loop in it takes an unknown
 * number of steps, of which one is counted; NULL: -1 then. */
int64_t nxg_step_work(const nxg_graph *body, bool *endless);
/* Whether no index of a gather or a scatter can be out of range, as far as one sees (checks.c). */
bool nxg_indices_are_good(const nxg_graph *g);
/* The most steps of a `while`, because a carried integer that goes up by 1 has to be below a
 * constant (count_loops.c); -1: not known. */
int64_t nxg_most_steps(const nxg_graph *g, const nxg_node *n);

#endif
