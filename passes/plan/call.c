/* SPDX-License-Identifier: ISC */
/* Library calls as steps of a plan: operands are memory, every result has some, scratch of the call
 * and of its threads is a temporary each. */
#include <string.h>

#include "build.h"
#include "ir/library/custom.h"

/* Memory of the results: that of their nodes, or a temporary for what nobody reads. */
static bool place_results(nxp_step_builder *s, const nxg_call *call, const nxp_group *group,
                          nxp_location *results) {
  for (uint32_t i = 0; i < call->n_results; i++) {
    const nxg_array *a = &call->results[i];
    bool wanted = false;
    for (uint32_t k = 0; k < group->n_roots; k++) {
      uint32_t node = group->roots[k].node;
      const nxg_node *n = node_of(s, node);
      if (nxg_result_number((nxg_op)n->op, n->attrs) != i) continue;
      /* Equal nodes that nothing has merged are computed into one place. */
      if (!wanted && !nxp_new_memory(s, node, &s->b->where[node])) return false;
      if (wanted) s->b->where[node] = results[i];
      results[i] = s->b->where[node];
      wanted = true;
    }
    if (!wanted && !nxp_new_temporary(s, nxg_elements(a->rank, a->shape) * nxi_dtype_size(a->dtype),
                                      &results[i]))
      return false;
  }
  return true;
}

static bool place_step(nxp_step_builder *s, nxp_step *step, const nxp_group *group) {
  const nxg_call *call = step->call->call;
  nxp_location *results = step->buffers + call->n_operands;
  if (!place_results(s, call, group, results)) return false;
  for (uint32_t i = 0; i < call->n_results; i++) {
    step->writes[call->n_operands + i] = true;
    step->stores = step->stores || results[i].kind == NXP_OUTPUT;
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
    if (nxg_calls_equal(b->calls[i], &call)) {
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

/* The kernel of a custom operation, as one of the plan's own. */
static nx_status add_custom_kernel(nxp_step_builder *s, const nxp_group *group,
                                   const nxg_call *call, const nxg_custom *f) {
  uint32_t node = group->roots[0].node, operands = f->n_operands - f->hides;
  nxp_location buffers[NXG_CALL_OPERANDS + NXG_CALL_RESULTS];
  nxp_kernel_binding binding = {.n_buffers = operands + call->n_results};
  nxk_kernel *k = nxk_clone(f->kernel), *simple = NULL;
  if (k == NULL) return nxi_oom(s->b->d);
  for (uint32_t i = 0; i < binding.n_buffers; i++) k->buffers[i].restricted = true;
  for (uint32_t i = 0; i < operands; i++)
    buffers[i] = nxp_operand(s, node_of(s, node)->args[i], NULL);
  nx_status status = nxp_simplify_kernel(s->b->plan, k, &simple, s->b->d);
  if (status == NX_OK && !place_results(s, call, group, buffers + operands))
    status = nxi_oom(s->b->d);
  if (status == NX_OK) status = nxp_add_logical(s, simple, buffers, &binding, node);
  nxk_destroy(simple);
  nxk_destroy(k);
  return status;
}

static nx_status add_library_call(nxp_step_builder *s, const nxp_group *group,
                                  const nxg_call *described) {
  nxp_plan_builder *b = s->b;
  uint32_t node = group->roots[0].node;
  const nxg_node *n = node_of(s, node);
  nxp_call *call = nxi_arena_alloc(&b->plan->arena, sizeof *call);
  uint32_t n_buffers = n->n_args + described->n_results + 2;
  nxp_step *step = nxp_add_step(s, NXP_STEP_CALL, node, n_buffers);
  if (call == NULL || step == NULL) return nxi_oom(b->d);
  step->name = nxg_ops[n->op].name;
  call->call = described;
  call->origin = n->origin;
  step->call = call;
  for (uint32_t i = 0; i < n->n_args; i++) step->buffers[i] = nxp_operand(s, n->args[i], NULL);
  bool ok = place_step(s, step, group) && nxp_new_scratch(s, step, n_buffers - 2) &&
            nxp_new_scratch(s, step, n_buffers - 1);
  return ok ? NX_OK : nxi_oom(b->d);
}

nx_status nxp_add_call_group(nxp_step_builder *s, uint32_t group) {
  const nxp_group *members = &s->b->clusters->groups[group];
  const nxg_node *n = node_of(s, members->roots[0].node);
  const nxg_call *call = NULL;
  nx_status status = describe(s->b, members->roots[0].node, &call);
  if (status != NX_OK) return status;
  const nxg_custom *f = n->op == NXG_custom ? nxg_custom_of(n->attrs) : NULL;
  return f != NULL && f->kernel != NULL ? add_custom_kernel(s, members, call, f)
                                        : add_library_call(s, members, call);
}
