/* SPDX-License-Identifier: ISC */
/* Random loops on every executor. */
#ifndef NXT_RANDOM_LOOPS_H
#define NXT_RANDOM_LOOPS_H

#include "differential.h"

/* True if every configuration whose turn it is gives the bits of the interpreter, and that those of
 * the unrolled graph. If not, `why` says where. *tried: 0 if the seed makes no loop. */
bool nxt_loop_agrees(nxt_lab *lab, uint64_t seed, bool *tried, char *why, size_t size);

#endif
