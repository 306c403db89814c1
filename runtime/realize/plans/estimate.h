/* SPDX-License-Identifier: ISC */
/* How long the graph interpreter takes for a graph. */
#ifndef NXI_ESTIMATE_H
#define NXI_ESTIMATE_H

#include "ir/graph/graph.h"

/* Milliseconds, or something above `most` if it is more than that; infinite for a graph with
 * operations that are left to compiled code and libraries: products, calls, updates. */
double nxi_interpreter_ms(const nxg_graph *g, double most);
/* Whether the interpreter is done with a graph sooner than a plan is launched: it has fewer nodes,
 * and less work in elements, than these. */
enum { NXI_TINY_NODES = 16, NXI_TINY_WORK = 4096 };
bool nxi_is_tiny(const nxg_graph *g);

#endif
