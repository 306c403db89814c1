/* SPDX-License-Identifier: ISC */
/* The pass of types.c for arithmetic of bools, which is logic: a sum is true if any of its terms
 * is, and a product if all of its factors are. Later passes and executors know add, mul and their
 * reductions of numbers alone. */
#include "types.h"

/* What an operation is on bools. */
static nxg_op logic_of(uint32_t op) {
  switch (op) {
    case NXG_add: return NXG_or;
    case NXG_mul: return NXG_and;
    case NXG_reduce_sum: return NXG_reduce_max;
    case NXG_reduce_prod: return NXG_reduce_min;
    case NXG_scan_sum:
    case NXG_scan_max: return NXG_scan_max;
    case NXG_scan_prod:
    case NXG_scan_min: return NXG_scan_min;
    default: return (nxg_op)op;
  }
}

static nxi_scatter_mode logic_of_mode(nxi_scatter_mode mode) {
  switch (mode) {
    case NXI_SCATTER_ADD:
    case NXI_SCATTER_MAX: return NXI_SCATTER_OR;
    case NXI_SCATTER_MUL:
    case NXI_SCATTER_MIN: return NXI_SCATTER_AND;
    default: return mode;
  }
}

static uint32_t cast_like(nxg_types *t, uint32_t like, nx_dtype to, uint32_t x) {
  return nxg_types_add_like(t, like, NXG_cast, to, 1, &x, NULL, 0);
}

/* The largest of the bytes so far. */
static uint32_t scanned(nxg_types *t, const nxg_node *n, nxg_op op) {
  uint32_t bytes = cast_like(t, t->i, NX_U8, t->r.map[n->args[0]]);
  bytes = nxg_types_add_like(t, t->i, op, NX_U8, 1, &bytes, n->attrs, n->n_attrs);
  return cast_like(t, t->i, NX_BOOL, bytes);
}

/* Whether the number of common elements is not 0: a sum of bytes that are 0 and 1 in a type that it
 * cannot leave, for which there are products of small integers (passes/graph/integers.c). */
static uint32_t multiplied(nxg_types *t, const nxg_node *n) {
  const nxg_node *a = nxg_types_old(t, n->args[0]);
  nx_dtype wide = a->shape[a->rank - 1] > INT32_MAX ? NX_I64 : NX_I32;
  uint32_t args[2];
  for (int k = 0; k < 2; k++) {
    args[k] = cast_like(t, n->args[k], NX_U8, t->r.map[n->args[k]]);
    args[k] = cast_like(t, n->args[k], wide, args[k]);
  }
  args[0] = nxg_types_add(t, NXG_matmul, wide, 2, args);
  args[1] = nxg_types_constant(t, wide, 0);
  return nxg_types_add(t, NXG_cmpne, NX_BOOL, 2, args);
}

static uint32_t scattered(nxg_types *t, const nxg_node *n) {
  int64_t attrs[3] = {n->attrs[0], n->attrs[1] & (NXG_SCATTER_PAIRS | NXG_SCATTER_DROPS)};
  attrs[1] |= nxg_scatter_bits(logic_of_mode(nxg_scatter_mode(n->attrs[1])));
  if (n->n_attrs == 3) attrs[2] = n->attrs[2];
  for (uint32_t a = 0; a < n->n_args; a++) t->r.args[a] = t->r.map[n->args[a]];
  return nxg_types_add_like(t, t->i, NXG_scatter, NX_BOOL, n->n_args, t->r.args, attrs, n->n_attrs);
}

void nxg_types_logic(nxg_types *t) {
  const nxg_node *n = nxg_types_old(t, t->i);
  nxg_op op = logic_of(n->op);
  uint32_t made;
  if (n->op == NXG_scatter) {
    made = scattered(t, n);
  } else if (op == NXG_matmul) {
    made = multiplied(t, n);
  } else if (nxg_is_scan(n->op)) {
    made = scanned(t, n, op);
  } else {
    for (uint32_t a = 0; a < n->n_args; a++) t->r.args[a] = t->r.map[n->args[a]];
    made = nxg_types_add_like(t, t->i, op, NX_BOOL, n->n_args, t->r.args, n->attrs, n->n_attrs);
  }
  nxg_types_set_real(t, made);
}
