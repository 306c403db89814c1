/* SPDX-License-Identifier: ISC */
/* Library calls as steps of a plan: operands are memory, every result has some, scratch of the call
 * and of its threads is a temporary each. */
#include <string.h>

#include "build.h"

/* Where an operand's first element is. */
static nxp_location operand_location(const nxp_step_builder *s, uint32_t node) {
  nxg_view v;
  nxg_node_view(s->b->g, node, &v);
  uint32_t base = node_of(s, node)->op == NXG_view ? node_of(s, node)->args[0] : node;
  nxp_location where = s->b->where[base];
  where.offset += v.offset * nxi_dtype_size(node_of(s, node)->dtype);
  return where;
}

/* Memory of the results: that of their nodes, or a temporary for what nobody reads. */
static bool place_results(nxp_step_builder *s, nxp_step *step, const nxp_group *group) {
  const nxg_call *call = step->call->call;
  for (uint32_t i = 0; i < call->n_results; i++) {
    uint32_t at = call->n_operands + i;
    const nxg_array *a = &call->results[i];
    bool wanted = false;
    for (uint32_t k = 0; k < group->n_roots; k++) {
      uint32_t node = group->roots[k].node;
      const nxg_node *n = node_of(s, node);
      if (nxg_result_number((nxg_op)n->op, n->attrs) != i) continue;
      /* Equal nodes that nothing has merged are computed into one place. */
      if (!wanted && !nxp_new_memory(s, node, &s->b->where[node])) return false;
      if (wanted) s->b->where[node] = step->buffers[at];
      step->buffers[at] = s->b->where[node];
      step->stores = step->stores || s->b->where[node].kind == NXP_OUTPUT;
      wanted = true;
    }
    step->writes[at] = true;
    if (!wanted && !nxp_new_temporary(s, nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype),
                                      &step->buffers[at]))
      return false;
  }
  return true;
}

/* What the call of a node is. A description takes kilobytes, and graphs have thousands of calls
 * that are alike, so that they share it with the last few. */
static nx_status describe(nxp_plan_builder *b, uint32_t node, const nxg_call **out) {
  enum { KEPT = sizeof b->calls / sizeof b->calls[0] };
  nxg_call call;
  nx_status status = nxg_call_of_node(b->g, node, &call, b->d);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < KEPT && b->calls[i] != NULL; i++)
    if (memcmp(b->calls[i], &call, sizeof call) == 0) {
      *out = b->calls[i];
      return NX_OK;
    }
  nxg_call *own = nxi_arena_alloc(&b->plan->arena, sizeof *own);
  if (own == NULL) return nxi_oom(b->d);
  *own = call;
  memmove(b->calls + 1, b->calls, (KEPT - 1) * sizeof b->calls[0]);
  b->calls[0] = own;
  *out = own;
  return NX_OK;
}

nx_status nxp_add_call_group(nxp_step_builder *s, uint32_t group) {
  nxp_plan_builder *b = s->b;
  const nxp_group *members = &b->clusters->groups[group];
  uint32_t node = members->roots[0].node;
  const nxg_node *n = node_of(s, node);
  nxp_call *call = nxi_arena_alloc(&b->plan->arena, sizeof *call);
  if (call == NULL) return nxi_oom(b->d);
  nx_status status = describe(b, node, &call->call);
  if (status != NX_OK) return status;
  uint32_t n_buffers = n->n_args + call->call->n_results + 2;
  nxp_step *step = nxp_add_step(s, NXP_STEP_CALL, node, n_buffers);
  if (step == NULL) return nxi_oom(b->d);
  step->name = nxg_ops[n->op].name;
  call->origin = n->origin;
  step->call = call;
  for (uint32_t i = 0; i < n->n_args; i++) step->buffers[i] = operand_location(s, n->args[i]);
  bool ok = place_results(s, step, members) && nxp_new_scratch(s, step, n_buffers - 2) &&
            nxp_new_scratch(s, step, n_buffers - 1);
  return ok ? NX_OK : nxi_oom(b->d);
}
