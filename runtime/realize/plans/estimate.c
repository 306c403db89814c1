/* SPDX-License-Identifier: ISC */
/* The cost of interpreting a graph, from figures measured on arrays that fit the second-level
 * cache, rounded up: an estimate that is too low makes somebody wait, one that is too high lets the
 * compiler do what it did anyway. */
#include "estimate.h"

#include <math.h>

#include "ir/graph/control.h"
#include "ir/op.h"
#include "runtime/library/blas/blas.h"

/* Nanoseconds an element. */
static const double map_ns = 1.5, wide_ns = 4, strided_ns = 4, reduce_ns = 1.5, across_ns = 4,
                    beside_ns = 0.5, scan_ns = 14,
                    complex_function_cost = 100; /* of what complex numbers alone have */
/* Of a product of matrices: each multiplication, also with a vector that lies dense as the matrix
 * does, calling the library, and a line that is multiplied by a number. */
static const double product_ns = 4, vector_ns = 0.4, call_ns = 2000, line_ns = 100;
/* Of a product by loops of our own: each multiplication of f32, and each element of a matrix. Those
 * of more multiplications have several threads in a plan, so interpreting them gains nothing. */
static const double own_ns = 0.05, packed_ns = 1, most_own = 1 << 21;

/* What is a vector operation, of elements that the step before has left in the nearest cache; and
 * storing its results where no such step follows. */
static const double quick_ns = 0.3, stored_ns = 1.2;

static bool is_quick(const nxg_node *n) {
  switch (n->op) {
    case NXG_neg:
    case NXG_abs:
    case NXG_add:
    case NXG_sub:
    case NXG_mul: return n->dtype == NX_F32 || n->dtype == NX_F64;
    case NXG_arange: return n->dtype == NX_F32 || n->dtype == NX_F64 || n->dtype == NX_I32;
    default: return false;
  }
}

/* Whether the next node that takes time goes on with these elements. */
static bool is_followed(const nxg_graph *g, uint32_t node) {
  for (uint32_t i = node + 1; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op == NXG_input || n->op == NXG_full || n->op == NXG_view) continue;
    return nxg_ops[n->op].kind == NXG_KIND_MAP &&
           nxg_node_elements(n) == nxg_node_elements(&g->nodes[node]);
  }
  return false;
}

static double quick_cost(const nxg_graph *g, const nxg_node *n) {
  double ns = n->dtype == NX_F64 ? 2 * quick_ns : quick_ns;
  return ns + (is_followed(g, (uint32_t)(n - g->nodes)) ? 0 : stored_ns);
}

static double map_cost(const nxg_node *n) {
  const int op = nxg_ops[n->op].scalar;
  double ns = map_ns;
  if (op < 0) ns = nxg_function_ns(n->dtype) * complex_function_cost;
  else if (nxk_scalars[op].flags & NXK_FUNC) ns += nxg_function_ns(n->dtype) * nxk_scalars[op].cost;
  if (nxi_is_small_float(n->dtype)) ns += wide_ns;
  return nxi_dtype_class(n->dtype) == NXI_COMPLEX ? 8 * ns : ns;
}

/* An update copies the storage whole, which code would do in place. */
static double store_cost(const nxg_graph *g, const nxg_node *n) {
  if (n->op != NXG_update) return INFINITY;
  double written = (double)nxg_node_elements(&g->nodes[n->args[1]]);
  return (double)nxg_node_elements(n) * map_ns + written * strided_ns;
}

/* Whether the elements of its rows, or those of its columns, lie beside each other. */
static bool has_dense_lines(const nxg_graph *g, uint32_t node) {
  nxg_view v;
  if (g->nodes[node].op != NXG_view) return true;
  nxg_node_view(g, node, &v);
  return g->nodes[g->nodes[node].args[0]].op != NXG_view &&
         (v.strides[v.rank - 1] == 1 || v.strides[v.rank - 2] == 1);
}

/* A product by the library, whose loops are our own: x times what has `inner` rows. */
static double own_product_cost(const nxg_node *n, const nxg_node *x, double inner) {
  const double elements = (double)nxg_node_elements(n), rows = (double)n->shape[n->rank - 2],
               columns = (double)n->shape[n->rank - 1], ns = n->dtype == NX_F64 ? 2 : 1;
  const double batches = elements > 0 ? elements / (rows * columns) : 0;
  return batches * call_ns + ns * elements * inner * own_ns +
         ns * packed_ns * (elements + (double)nxg_node_elements(x) + batches * inner * columns);
}

/* A product of an inner extent of 1: each line is multiplied by a number. */
static double outer_product_cost(const nxg_node *n, int64_t rows, int64_t columns) {
  const double elements = (double)nxg_node_elements(n),
               length = (double)(columns == 1 ? rows : columns);
  return elements > 0 ? elements * map_ns + elements / length * line_ns : 0;
}

static double product_cost(const nxg_graph *g, const nxg_node *n, const nxg_node *x) {
  if (n->op != NXG_matmul || (n->dtype != NX_F32 && n->dtype != NX_F64)) return INFINITY;
  const int64_t rows = n->shape[n->rank - 2], columns = n->shape[n->rank - 1],
                inner = x->shape[x->rank - 1];
  const double multiplications = (double)nxg_node_elements(n) * (double)inner;
  if (inner == 1) return outer_product_cost(n, rows, columns);
  if (!nxg_small_matmul(rows, columns, inner) && multiplications <= most_own &&
      !nxg_sums_products(n->dtype, rows, columns, inner) && nxi_products_are_own())
    return own_product_cost(n, x, (double)inner);
  const bool quick = nxg_sums_products(n->dtype, rows, columns, inner) &&
                     has_dense_lines(g, n->args[0]) && has_dense_lines(g, n->args[1]);
  return call_ns + multiplications * (quick ? vector_ns : product_ns);
}

/* Whether columns of floats are reduced beside each other (ir/interp/beside.h), and so many that
 * this pays. */
static bool reduces_beside(const nxg_graph *g, const nxg_node *n) {
  enum { COLUMNS = 32 };
  const nxg_node *x = &g->nodes[n->args[0]];
  nxg_view v;
  if ((x->dtype != NX_F32 && x->dtype != NX_F64) || nxk_finds_index(nxg_reduce_kind(n->op)) ||
      x->shape[x->rank - 1] < COLUMNS)
    return false;
  if (x->op == NXG_view) nxg_node_view(g, n->args[0], &v);
  return x->op != NXG_view || v.strides[v.rank - 1] == 1;
}

/* Other elements that are reduced across rows are gathered one by one. Only sums of complex numbers
 * are sums of real ones. */
static double reduce_cost(const nxg_graph *g, const nxg_node *n, const nxg_node *x) {
  const bool along = x->rank == 0 || (nxg_reduce_mask(n) >> (x->rank - 1) & 1),
             slow = nxi_dtype_class(x->dtype) == NXI_COMPLEX && n->op != NXG_reduce_sum;
  const double ns = along ? reduce_ns : reduces_beside(g, n) ? beside_ns : across_ns;
  return (double)nxg_node_elements(x) * ns * (slow ? 8 : 1);
}

/* Nanoseconds for the node. */
static double cost_of(const nxg_graph *g, const nxg_node *n) {
  const nxg_node *x = n->n_args ? &g->nodes[n->args[0]] : n;
  double elements = (double)nxg_node_elements(n);
  if (is_quick(n)) return elements * quick_cost(g, n);
  switch (nxg_ops[n->op].kind) {
    case NXG_KIND_LEAF: return n->op == NXG_input ? 0 : elements * map_ns;
    case NXG_KIND_VIEW: return 0; /* who reads it pays */
    case NXG_KIND_MAP: return elements * map_cost(n);
    case NXG_KIND_REDUCE: return reduce_cost(g, n, x);
    case NXG_KIND_MOVE: return elements * (nxg_is_scan(n->op) ? scan_ns : strided_ns);
    case NXG_KIND_STORE: return store_cost(g, n);
    case NXG_KIND_LIBRARY: return product_cost(g, n, x);
    default: return INFINITY;
  }
}

double nxi_interpreter_ms(const nxg_graph *g, double most) {
  double ns = 0;
  for (uint32_t i = 0; i < g->n_nodes && ns <= most * 1e6; i++) ns += cost_of(g, &g->nodes[i]);
  return ns * 1e-6;
}

/* ---- whether there is hardly any work */

static double work_of_node(const nxg_graph *g, const nxg_node *n);

/* A loop has all the work of its steps; of one whose count is not known there is no saying. */
static double work_of_control(const nxg_node *n) {
  nxg_control c;
  double work = 0;
  nxg_control_of_node(n, &c);
  if (c.op != NXG_case && c.count < 0) return NXI_TINY_WORK;
  for (uint32_t b = 0; b < c.n_bodies; b++) {
    const nxg_graph *g = nxg_body_find(c.bodies[b])->graph;
    for (uint32_t i = 0; i < g->n_nodes && work < NXI_TINY_WORK; i++)
      work += work_of_node(g, &g->nodes[i]) + 1;
  }
  return c.op == NXG_case ? work : work * (double)c.count;
}

static double work_of_node(const nxg_graph *g, const nxg_node *n) {
  const nxg_node *x = n->n_args ? &g->nodes[n->args[0]] : n;
  double elements = (double)nxg_node_elements(n), work = elements;
  if (nxg_ops[n->op].kind == NXG_KIND_REDUCE) work += (double)nxg_node_elements(x);
  if (n->op == NXG_matmul) work += elements * (double)x->shape[x->rank - 1];
  if (nxg_ops[n->op].kind == NXG_KIND_CALL) work += (double)NXI_TINY_WORK;
  if (nxg_is_control(n->op)) work += work_of_control(n);
  return work;
}

bool nxi_is_tiny(const nxg_graph *g) {
  double work = 0; /* a double cannot overflow here */
  int64_t nodes = 0;
  for (uint32_t i = 0; i < g->n_nodes && work < NXI_TINY_WORK; i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op == NXG_input) continue;
    nodes++;
    work += work_of_node(g, n);
  }
  return nodes < NXI_TINY_NODES && work < NXI_TINY_WORK;
}
