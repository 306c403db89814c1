/* SPDX-License-Identifier: ISC */
/* Constant folding: elementwise operations on constants, and views, copies and updates of
 * constants. A constant stays a `full` node of its shape, which costs no memory. Launch parameters
 * are not constants. Keeps: bits (the evaluator is the interpreter's). */
#include "rewrite.h"

static bool is_constant(const nxg_graph *g, uint32_t node) {
  return g->nodes[node].op == NXG_full && g->nodes[node].attrs[1] < 0;
}

/* A scalar operation of the graph on scalar bits, rounded to its dtype. */
static uint64_t eval_map(const nxg_rewrite *r, const nxg_node *n) {
  uint64_t bits[4] = {0};
  nx_dtype from = NX_BOOL;
  for (uint32_t i = 0; i < n->n_args; i++) {
    const nxg_node *x = &r->to->nodes[r->map[n->args[i]]];
    from = x->dtype;
    bits[i] = (uint64_t)x->attrs[0];
  }
  if (n->op == NXG_cast) return nxi_cast_bits(bits[0], from, n->dtype);
  if (n->op == NXG_bitcast) return n->dtype == NX_BOOL ? (bits[0] & 0xff) != 0 : bits[0];
  if (nxi_is_integer(from) &&
      (n->op == NXG_trunc || n->op == NXG_ceil || n->op == NXG_floor || n->op == NXG_round))
    return bits[0];
  if (n->op == NXG_where) return bits[0] ? bits[1] : bits[2];
  nx_dtype compute = nxi_compute_dtype(from);
  for (uint32_t i = 0; i < n->n_args && compute != from; i++)
    bits[i] = nxi_cast_bits(bits[i], from, compute);
  nxk_op op = (nxk_op)nxg_ops[n->op].scalar;
  bool compares = nxk_scalars[op].result == NXK_RESULT_BOOL;
  uint64_t value = nxk_eval(op, compute, compares ? NX_BOOL : compute, bits);
  return compares || compute == from ? value : nxi_cast_bits(value, compute, from);
}

static bool folds(const nxg_rewrite *r, const nxg_node *n) {
  nxg_kind kind = (nxg_kind)nxg_ops[n->op].kind;
  if (kind != NXG_KIND_MAP && n->op != NXG_view && n->op != NXG_copy) return false;
  if (kind == NXG_KIND_MAP && nxg_ops[n->op].scalar < 0) return false;
  if (nxi_is_complex(n->dtype)) return false;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (!is_constant(r->to, r->map[n->args[i]]) ||
        nxi_is_complex(r->to->nodes[r->map[n->args[i]]].dtype))
      return false;
  return n->n_args > 0;
}

/* Whether the node is a view of a `full`, also of one whose value is a launch parameter; it becomes
 * a `full` of the view's shape. */
static bool is_view_of_full(const nxg_rewrite *r, const nxg_node *n) {
  return (n->op == NXG_view || n->op == NXG_copy) && !nxi_is_complex(n->dtype) &&
         r->to->nodes[r->map[n->args[0]]].op == NXG_full;
}

nx_status nxg_pass_constant_fold(const nxg_graph *g, nxg_graph **out, bool *changed, nxi_diag *d) {
  nxg_rewrite r;
  nxi_fp saved = nxi_fp_enter();
  nx_status status = nxg_rewrite_begin(&r, g, d);
  for (uint32_t i = 0; status == NX_OK && i < g->n_nodes && !nxg_rewrite_failed(&r); i++) {
    const nxg_node *n = &g->nodes[i];
    int64_t attrs[2] = {0, -1};
    if (n->op == NXG_input || !(folds(&r, n) || is_view_of_full(&r, n))) {
      nxg_rewrite_copy(&r, i);
      continue;
    }
    const nxg_node *x = &r.to->nodes[r.map[n->args[0]]];
    if (n->op == NXG_view || n->op == NXG_copy) {
      attrs[0] = x->attrs[0];
      attrs[1] = x->attrs[1];
    } else {
      attrs[0] = (int64_t)eval_map(&r, n);
    }
    nxg_rewrite_map(
        &r, i, nxg_rewrite_add(&r, i, NXG_full, 0, NULL, attrs, 2, n->dtype, n->rank, n->shape));
    r.changed = true;
  }
  nxi_fp_leave(saved);
  return status == NX_OK ? nxg_rewrite_end(&r, out, changed) : status;
}
