/* SPDX-License-Identifier: ISC */
/* Constants are parameters of a plan, but not those that an index is clamped to or multiplied by: a
 * plan that knows them knows that the index is in range. They are found where extraction meets
 * them, below the gather or scatter on its way down. */
#include "runtime/realize/run.h"
#include "runtime/record/node.h"

enum { DEPTH = 16 }; /* operations between an index and what it is clamped to, at most */

bool nxi_run_bounds_index(const nxi_run *run, nx_dtype t) {
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
