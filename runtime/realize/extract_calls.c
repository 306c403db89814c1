/* SPDX-License-Identifier: ISC */
/* All results of one library call that are alive are computed together, so that the call is not run
 * again for each of them. The other results are found in the table of nodes, by the attribute in
 * which they differ. */
#include "ir/platform/lock.h"
#include "run.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* Finds a result that is neither computed nor part of the run, and takes a reference to it; NULL if
 * there is none. */
static nxi_node *take_sibling(nx_context *c, nxi_node *n, const nxg_call *call, uint32_t result) {
  nxi_record_lock(c);
  nxi_node *sibling = nxi_table_result(c, n, call, result);
  bool wanted = sibling && sibling->state == NXI_PENDING && sibling->epoch != c->epoch;
  if (wanted) sibling->refs++;
  nxi_record_unlock(c);
  return wanted ? sibling : NULL;
}

static bool take_siblings(nxi_run *run, nxi_node *n) {
  nxg_type types[NXG_CALL_OPERANDS];
  nxg_call call;
  for (uint32_t i = 0; i < n->n_args; i++) {
    nxi_node *a = nxi_node_args(n)[i];
    types[i] = (nxg_type){a->dtype, a->rank, nxi_node_shape(a)};
  }
  if (nxg_call_infer((nxg_op)n->op, n->n_args, types, nxi_node_attrs(n), n->n_attrs, &call, NULL))
    return true;
  for (uint32_t i = 0; i < call.n_results; i++) {
    if (!nxi_grow(&run->siblings, &run->cap_siblings, run->n_siblings + 1, sizeof *run->siblings))
      return false;
    nxi_node *sibling = take_sibling(run->context, n, &call, i);
    if (sibling) run->siblings[run->n_siblings++] = sibling;
  }
  return true;
}

bool nxi_run_take_siblings(nxi_run *run) {
  NXI_HELD(&run->context->run_lock);
  nxi_run_drop_siblings(run);
  for (uint32_t i = 0; i < run->n_order; i++) {
    nxi_node *n = run->order[i];
    bool several = n->op < NXG_OP_COUNT && n->state == NXI_PENDING &&
                   nxg_ops[n->op].kind == NXG_KIND_CALL && nxg_call_results((nxg_op)n->op) > 1;
    if (several && !take_siblings(run, n)) return false;
  }
  return true;
}

void nxi_run_drop_siblings(nxi_run *run) {
  if (!run->n_siblings) return;
  nxi_record_lock(run->context);
  while (run->n_siblings) nxi_node_unref(run->context, run->siblings[--run->n_siblings]);
  nxi_record_unlock(run->context);
}
