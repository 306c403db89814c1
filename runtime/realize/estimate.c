/* SPDX-License-Identifier: ISC */
/* The cost of interpreting a graph, from figures measured on arrays that fit the second-level
 * cache, rounded up: an estimate that is too low makes somebody wait, one that is too high lets the
 * compiler do what it did anyway. */
#include "estimate.h"

#include <math.h>

#include "ir/op.h"

/* Nanoseconds an element. */
static const double map_ns = 1.5, wide_ns = 4, strided_ns = 4, reduce_ns = 4, scan_ns = 14,
                    complex_function_cost = 100; /* of what complex numbers alone have */

static double map_cost(const nxg_node *n) {
  const int op = nxg_ops[n->op].scalar;
  double ns = map_ns;
  if (op < 0) ns = nxg_function_ns(n->dtype) * complex_function_cost;
  else if (nxk_scalars[op].flags & NXK_FUNC) ns += nxg_function_ns(n->dtype) * nxk_scalars[op].cost;
  if (nxi_is_small_float(n->dtype)) ns += wide_ns;
  return nxi_dtype_class(n->dtype) == NXI_COMPLEX ? 8 * ns : ns;
}

/* Nanoseconds for each element of the node. */
static double cost_of(const nxg_graph *g, const nxg_node *n) {
  const nxg_node *x = n->n_args ? &g->nodes[n->args[0]] : n;
  double elements = (double)nxg_node_elements(n);
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF: return n->op == NXG_input ? 0 : elements * map_ns;
    case NXG_KIND_VIEW: return 0; /* who reads it pays */
    case NXG_KIND_MAP: return elements * map_cost(n);
    case NXG_KIND_REDUCE: return (double)nxg_node_elements(x) * reduce_ns;
    case NXG_KIND_MOVE: return elements * (nxg_is_scan(n->op) ? scan_ns : strided_ns);
    default: return INFINITY;
  }
}

double nxi_interpreter_ms(const nxg_graph *g, double most) {
  double ns = 0;
  for (uint32_t i = 0; i < g->n_nodes && ns <= most * 1e6; i++) ns += cost_of(g, &g->nodes[i]);
  return ns * 1e-6;
}
