/* SPDX-License-Identifier: ISC */
/* Random loops: a random graph as the body of each form of control flow, and the same steps one
 * after the other. */
#ifndef NXT_RANDOM_LOOP_H
#define NXT_RANDOM_LOOP_H

#include "ir/diag.h"
#include "ir/graph/graph.h"

typedef struct nxt_loop_pair {
  nxg_graph *loop, *plain;
} nxt_loop_pair;

/* False: the seed makes no loop. loop NULL: it was refused, d says why. The caller destroys
 * both. */
bool nxt_random_loop(uint64_t seed, nxt_loop_pair *out, nxi_diag *d);
void nxt_loop_destroy(nxt_loop_pair p); /* also of NULLs */

#endif
