/* SPDX-License-Identifier: ISC */
/* Constants are parameters of a plan, but not those that code needs to know. What an index is
 * clamped to or multiplied by: a plan that knows it knows that the index is in range. Counts of
 * shifts: code for one that is not known tests whether it is below the width, and two shifts of
 * known counts are a rotation, of which random bits consist. They are found where extraction meets
 * them, below their users on its way down. */
#include "runtime/realize/run.h"
#include "runtime/record/node.h"

enum { DEPTH = 16 }; /* operations between an index and what it is clamped to, at most */

static bool is_shift_count(const nxi_run *run) {
  if (run->n_stack == 0) return false;
  const struct nxi_visit *user = &run->stack[run->n_stack - 1];
  return (user->node->op == NXG_shl || user->node->op == NXG_shr) && user->next == 2;
}

static bool bounds_index(const nxi_run *run, nx_dtype t) {
  uint32_t n = run->n_stack;
  if ((t != NX_I32 && t != NX_I64) || n < 2) return false;
  uint16_t op = run->stack[n - 1].node->op;
  if (op != NXG_min && op != NXG_max && op != NXG_mul) return false;
  for (uint32_t i = n - 1; i > 0 && i + DEPTH >= n; i--) {
    nxi_node *user = run->stack[i - 1].node;
    if (user->op != NXG_gather && user->op != NXG_scatter) continue;
    return nxi_node_args(user)[1] == run->stack[i].node;
  }
  return false;
}

bool nxi_run_needs_value(const nxi_run *run, nx_dtype t) {
  return is_shift_count(run) || bounds_index(run, t);
}
