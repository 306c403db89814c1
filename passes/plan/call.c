/* SPDX-License-Identifier: ISC */
/* Library calls as steps of a plan: operands are memory, every result has some, scratch is a
 * temporary. */
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

/* So many threads may be at the call at once that each needs scratch memory of its own. */
static int64_t workers(const nxp_plan *p, const nxg_call_work *work) {
  bool one = true;
  for (uint32_t i = 0; one && i < work->n_phases; i++) {
    int64_t tasks, grain;
    nxg_call_phase(work, i, &tasks, &grain);
    one = tasks <= grain;
  }
  return one ? 1 : p->threads;
}

static bool scratch(nxp_step_builder *s, nxp_step *step, int64_t bytes, uint32_t buffer) {
  step->writes[buffer] = true;
  step->buffers[buffer] = (nxp_location){.kind = NXP_NOWHERE, .alias_range = NXP_NO_ALIAS_RANGE};
  return bytes == 0 || nxp_new_temporary(s, bytes, &step->buffers[buffer]);
}

/* Two buffers: of the call and of its threads. What the host does for a GPU has its scratch memory
 * there. */
static bool all_scratch(nxp_step_builder *s, nxp_step *step, uint32_t first) {
  const nxp_call *call = step->call;
  bool gpu = nxp_plans_for_gpu(s->b->plan);
  int64_t shared = call->work.shared_bytes, own = 0;
  if (gpu) shared = call->gpu_work.scratch_bytes;
  else if (__builtin_mul_overflow((call->work.own_bytes + 63) & ~(int64_t)63,
                                  workers(s->b->plan, &call->work), &own))
    own = INT64_MAX; /* no launch can have it, and says so */
  return scratch(s, step, shared, first) && scratch(s, step, own, first + 1);
}

/* Who carries the call out. */
static nx_status prepare(const nxp_step_builder *s, nxp_call *call) {
  nxp_plan_builder *b = s->b;
  nxi_gpu *gpu = b->plan->options.gpu;
  const nxi_gpu_functions *own = NULL;
  if (gpu != NULL && nxp_plans_for_gpu(b->plan)) own = nxi_gpu_call_functions(gpu, &call->call);
  if (own == NULL && nxg_is_scan(call->call.op)) return NX_OK; /* a plan that is only printed */
  if (own == NULL && gpu != NULL) call->missing = nxi_gpu_call_lacks(&call->call);
  if (own == NULL) return nxg_call_prepare(&call->call, &call->functions, &call->work, b->d);
  nx_status status = own->prepare(gpu, &call->call, &call->gpu_work, b->d);
  if (status == NX_OK) call->gpu_functions = own;
  return status;
}

/* Memory of the results: that of their nodes, or a temporary for what nobody reads. */
static bool place_results(nxp_step_builder *s, nxp_step *step, const nxp_group *group) {
  const nxg_call *call = &step->call->call;
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

nx_status nxp_add_call_group(nxp_step_builder *s, uint32_t group) {
  nxp_plan_builder *b = s->b;
  const nxp_group *members = &b->clusters->groups[group];
  uint32_t node = members->roots[0].node;
  const nxg_node *n = node_of(s, node);
  uint32_t n_buffers = n->n_args + nxg_call_results((nxg_op)n->op) + 2;
  nxp_step *step = nxp_add_step(s, NXP_STEP_CALL, node, n_buffers);
  nxp_call *call = step ? nxi_arena_alloc(&b->plan->arena, sizeof *call) : NULL;
  if (call == NULL) return nxi_oom(b->d);
  step->name = nxg_ops[n->op].name;
  call->origin = n->origin;
  nx_status status = nxg_call_of_node(b->g, node, &call->call, b->d);
  if (status != NX_OK) return status;
  step->call = call; /* from now on its state is released with the plan */
  status = prepare(s, call);
  if (status != NX_OK) return status;
  for (uint32_t i = 0; i < n->n_args; i++) step->buffers[i] = operand_location(s, n->args[i]);
  if (!place_results(s, step, members) || !all_scratch(s, step, n_buffers - 2))
    return nxi_oom(b->d);
  nxp_more_work(b->plan, call->work.cost);
  nxp_count_library_call(b, call->gpu_functions == NULL);
  nxp_count_missing(b, 1, call->missing);
  return NX_OK;
}
