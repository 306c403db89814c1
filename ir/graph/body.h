/* SPDX-License-Identifier: ISC */
/* Bodies: graphs that nodes of other graphs run, as the condition of a loop is. A body is immutable
 * and belongs to the process. Equal bodies are one, with one number, which is never used again. So
 * a node names its bodies by their numbers, and nodes, keys and plans that have equal numbers have
 * equal bodies. Every graph holds the bodies that its nodes name (nxg_add), and a body those of its
 * own nodes. */
#ifndef NXG_BODY_H
#define NXG_BODY_H

#include "graph.h"

enum { NXG_BODY_DEPTH = 32 }; /* how deep bodies may nest */

typedef struct nxg_body {
  int64_t number;
  const nxg_graph *graph;
  uint32_t depth; /* 1: it names no bodies */
  /* Of it and of those that it names: complex values, operations on parts, arithmetic of bools,
   * elements of four bits, stored floats; custom operations, which are kept alive by who has the
   * node that runs the body (ir/library/custom.h); ordered ones among them. */
  bool retyped, has_custom, is_ordered;
} nxg_body;

/* Makes a body of a graph, which it takes, also if it fails. The caller gets a reference. Refuses a
 * graph without outputs, with parameters, with inputs that say more than their type, or that nests
 * too deep. */
nx_status nxg_body_take(nxg_graph *g, int64_t *number, nxi_diag *d);
/* The body of that number, for as long as somebody holds it; NULL: there is none. */
const nxg_body *nxg_body_find(int64_t number);
bool nxg_body_hold(int64_t number); /* false: there is none */
void nxg_body_release(int64_t number);
/* A graph with the same inputs, nodes and outputs. NULL: memory is exhausted. */
nxg_graph *nxg_copy(const nxg_graph *g);

#endif
