/* SPDX-License-Identifier: ISC */
/* What is recorded as a softmax of rows. */
#include "attention_softmax.h"

#include "attention_mask.h"
#include "ir/op.h"

/* Whether a node is a reduction along the last axis of another one, of which these are the rows. */
static bool reduces(const nxg_graph *g, uint32_t node, nxg_op op, nxp_rows rows, uint32_t of,
                    const nxp_rows *of_rows) {
  const nxg_node *n = &g->nodes[node];
  return n->op == op && n->attrs[0] == INT64_C(1) << (g->nodes[n->args[0]].rank - 1) &&
         nxp_follow_rows(g, n->args[0], &rows) == of && nxp_same_rows(&rows, of_rows);
}

/* The value of each row that a node repeats for one use alone; UINT32_MAX: it does not. */
static uint32_t repeated_once(const nxg_graph *g, const uint32_t *uses, uint32_t node,
                              nxp_rows *rows) {
  return uses[node] > 1 ? UINT32_MAX : nxp_repeated_values(g, node, rows);
}

/* What is added to zero, which changes no sum of exponentials. */
static uint32_t without_zero(const nxg_graph *g, uint32_t node, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node];
  int64_t bits;
  for (int i = 0; i < 2 && n->op == NXG_add; i++)
    if (nxp_full_bits(g, n->args[i], &bits) && bits == 0)
      return nxp_follow_values(g, n->args[1 - i], rows);
  return node;
}

/* A sum, or the same in f32, and rounded. What lies between is used once. */
static bool sums(const nxg_graph *g, const uint32_t *uses, uint32_t node, nxp_rows rows,
                 uint32_t of, const nxp_rows *of_rows) {
  const bool wide = g->nodes[node].op == NXG_cast;
  if (wide) node = nxp_follow_values(g, g->nodes[node].args[0], &rows);
  if (uses[node] != 1) return false;
  node = without_zero(g, node, &rows);
  const nxg_node *sum = &g->nodes[node];
  if (uses[node] != 1) return false;
  if (!wide) return reduces(g, node, NXG_reduce_sum, rows, of, of_rows);
  if (sum->op != NXG_reduce_sum || sum->dtype != NX_F32) return false;
  nxp_rows inner = rows;
  const uint32_t cast = nxp_follow_rows(g, sum->args[0], &inner);
  return g->nodes[cast].op == NXG_cast && uses[cast] == 1 &&
         reduces(g, node, NXG_reduce_sum, rows, cast, &inner) &&
         nxp_follow_rows(g, g->nodes[cast].args[0], &inner) == of && nxp_same_rows(&inner, of_rows);
}

/* A maximum, or that of it and minus infinity, which may be taken twice. What lies between is used
 * once. */
static bool is_largest(const nxg_graph *g, const uint32_t *uses, uint32_t node, nxp_rows rows,
                       uint32_t of, const nxp_rows *of_rows) {
  for (int times = 0; times < 2; times++) {
    const nxg_node *n = &g->nodes[node];
    const int64_t lowest = (int64_t)nxi_cast_bits(0xff800000u, NX_F32, (nx_dtype)n->dtype);
    int64_t bits;
    int at = 0;
    if (n->op != NXG_max) break;
    while (at < 2 && !(nxp_full_bits(g, n->args[at], &bits) && bits == lowest)) at++;
    if (at == 2) return false;
    node = nxp_follow_values(g, n->args[1 - at], &rows);
    if (uses[node] != 1) return false;
  }
  return reduces(g, node, NXG_reduce_max, rows, of, of_rows);
}

/* Whether a node is zero wherever a condition does not hold. */
static bool is_zero_unless(const nxg_graph *g, const nxg_node *n) {
  int64_t bits;
  return n->op == NXG_where && nxp_full_bits(g, n->args[2], &bits) && bits == 0;
}

/* The maximum in a node that is 0 where there is none, by the condition that says so; UINT32_MAX:
 * there is none. */
static uint32_t largest_behind(const nxg_graph *g, const uint32_t *uses, uint32_t node,
                               uint32_t some, const nxp_rows *some_rows, nxp_rows *rows) {
  const nxg_node *n = &g->nodes[node], *c = &g->nodes[some];
  int64_t bits;
  nxp_rows own = *rows, of = *some_rows;
  if (!is_zero_unless(g, n) || nxp_follow_values(g, n->args[0], &own) != some ||
      !nxp_same_rows(&own, some_rows) || uses[some] != 2 || c->op != NXG_cmpne)
    return UINT32_MAX;
  const uint32_t most = nxp_follow_values(g, n->args[1], rows);
  const int64_t lowest =
      (int64_t)nxi_cast_bits(0xff800000u, NX_F32, (nx_dtype)g->nodes[most].dtype);
  const bool good = uses[most] == 2 && nxp_follow_values(g, c->args[0], &of) == most &&
                    nxp_same_rows(&of, rows) && nxp_full_bits(g, c->args[1], &bits) &&
                    bits == lowest;
  return good ? most : UINT32_MAX;
}

uint32_t nxp_softmax_of(const nxg_graph *g, const uint32_t *uses, uint32_t node, nxp_rows *rows,
                        bool *empty) {
  const nxg_node *n = &g->nodes[node];
  nxp_rows some_rows = *rows;
  uint32_t some = UINT32_MAX;
  if (is_zero_unless(g, n) && uses[node] == 1) {
    some = repeated_once(g, uses, n->args[0], &some_rows);
    if (some == UINT32_MAX) return UINT32_MAX;
    node = nxp_follow_rows(g, n->args[1], rows), n = &g->nodes[node];
  }
  *empty = some != UINT32_MAX;
  if (n->op != NXG_div || n->rank == 0 || uses[node] != 1) return UINT32_MAX;
  nxp_rows values = *rows;
  const uint32_t powers = nxp_follow_rows(g, n->args[0], rows),
                 sum = repeated_once(g, uses, n->args[1], &values);
  const nxg_node *e = &g->nodes[powers];
  if (sum == UINT32_MAX || e->op != NXG_exp || uses[powers] != 2 || uses[sum] != 1 ||
      !sums(g, uses, sum, values, powers, rows))
    return UINT32_MAX;
  const uint32_t below = nxp_follow_rows(g, e->args[0], rows);
  const nxg_node *d = &g->nodes[below];
  if (d->op != NXG_sub || d->rank == 0 || uses[below] != 1 ||
      d->shape[d->rank - 1] != n->shape[n->rank - 1]) /* rows of the same length */
    return UINT32_MAX;
  values = *rows;
  const uint32_t scores = nxp_follow_rows(g, d->args[0], rows);
  uint32_t most = repeated_once(g, uses, d->args[1], &values);
  if (most == UINT32_MAX || uses[most] != 1 || uses[scores] != 2) return UINT32_MAX;
  if (*empty) most = largest_behind(g, uses, most, some, &some_rows, &values);
  return most != UINT32_MAX && is_largest(g, uses, most, values, scores, rows) ? scores
                                                                               : UINT32_MAX;
}
