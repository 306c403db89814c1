/* SPDX-License-Identifier: ISC */
/* All results of one library call, or of one loop, that are alive are computed together, so that it
 * is not run again for each of them. The other results are found in the table of nodes, by the
 * attribute in which they differ. And the numbers by which recordings of ordered operations
 * differ. */
#include "ir/platform/lock.h"
#include "runtime/realize/run.h"
#include "runtime/record/custom.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* Finds a result that is neither computed nor part of the run, and takes a reference to it; NULL if
 * there is none. */
static nxi_node *take_sibling(nx_context *c, nxi_node *n, const nxg_array *type, uint32_t attr,
                              uint32_t result) {
  nxi_record_lock(c);
  nxi_node *sibling = nxi_table_result(c, n, type, attr, result);
  bool wanted = sibling && sibling->state == NXI_PENDING && sibling->epoch != c->epoch;
  if (wanted) sibling->refs++;
  nxi_record_unlock(c);
  return wanted ? sibling : NULL;
}

static bool add_sibling(nxi_run *run, nxi_node *n, const nxg_array *type, uint32_t attr,
                        uint32_t result) {
  if (!nxi_grow(&run->siblings, &run->cap_siblings, run->n_siblings + 1, sizeof *run->siblings))
    return false;
  nxi_node *sibling = take_sibling(run->context, n, type, attr, result);
  if (sibling) run->siblings[run->n_siblings++] = sibling;
  return true;
}

static bool take_results(nxi_run *run, nxi_node *n) {
  const nxg_node node = {
      .op = n->op, .n_args = n->n_args, .n_attrs = n->n_attrs, .attrs = nxi_node_attrs(n)};
  nxg_control control;
  nxg_control_of_node(&node, &control);
  for (uint32_t i = 0; i < control.n_results; i++) {
    nxg_array type;
    nxg_control_result(&control, i, &type.dtype, &type.rank, type.shape);
    if (!add_sibling(run, n, &type, 0, i)) return false;
  }
  return true;
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
    if (!add_sibling(run, n, &call.results[i], n->n_attrs - 1, i)) return false;
  }
  return true;
}

/* The number of an ordered operation counts from the first one of the run, so that the next
 * recording of the same has the same key. */
bool nxi_run_number(nxi_run *run, const nxi_node *n) {
  const int64_t first = (int64_t)1 << 40; /* so large that none becomes 0 */
  uint64_t *order = &run->key[run->n_key - n->n_args - n->n_attrs + NXG_CUSTOM_ORDER];
  if (*order == 0) return true;
  if (!run->first_order) run->first_order = (int64_t)*order;
  *order += (uint64_t)(first - run->first_order);
  return true;
}

bool nxi_run_take_siblings(nxi_run *run) {
  NXI_HELD(&run->context->run_lock);
  nxi_run_drop_siblings(run);
  if (!run->calls) return true;
  for (uint32_t i = 0; i < run->n_order; i++) {
    nxi_node *n = run->order[i];
    bool several = n->op < NXG_OP_COUNT && n->state == NXI_PENDING &&
                   nxg_ops[n->op].kind == NXG_KIND_CALL && nxg_call_results((nxg_op)n->op) > 1;
    if (several && !take_siblings(run, n)) return false;
    if (nxi_node_controls(n) && n->state == NXI_PENDING && !take_results(run, n)) return false;
  }
  return true;
}

void nxi_run_drop_siblings(nxi_run *run) {
  if (!run->n_siblings) return;
  nxi_record_lock(run->context);
  while (run->n_siblings) nxi_node_unref(run->context, run->siblings[--run->n_siblings]);
  nxi_record_unlock(run->context);
}
