/* SPDX-License-Identifier: ISC */
/* Steps of operations that address elements by number: looking at what a check of indices found,
 * and scatter, which writes over its template where nothing reads that later, as an update does. */
#include <string.h>

#include "build.h"

nx_status nxp_add_check(nxp_step_builder *s, uint32_t node) {
  nxp_plan *p = s->b->plan;
  const nxg_node *n = node_of(s, s->check_of[node]), *indices = node_of(s, n->args[1]);
  nxp_step *step = nxp_add_step(s, NXP_STEP_CHECK, s->check_of[node], 1);
  if (step == NULL) return nxi_oom(s->b->d);
  uint32_t own = n->n_attrs - 1;
  size_t bytes = indices->rank * sizeof *step->shape;
  step->buffers[0] = s->b->where[node];
  step->rank = indices->rank;
  step->op = nxg_ops[n->op].name;
  step->name = "check";
  step->origin = n->origin;
  step->shape = nxi_arena_copy(&p->arena, indices->shape, bytes);
  step->looked_at = nxi_arena_copy(&p->arena, indices->shape, bytes);
  if (step->shape == NULL || step->looked_at == NULL) return nxi_oom(s->b->d);
  for (int32_t i = 0; i < step->rank; i++)
    if (n->attrs[own] >> i & 1) step->looked_at[i] = 1;
  p->checks = true;
  return NX_OK;
}

nx_status nxp_add_scatter_group(nxp_step_builder *s, uint32_t group) {
  nxp_plan_builder *b = s->b;
  uint32_t node = b->clusters->groups[group].roots[0].node;
  const nxg_node *n = node_of(s, node), *indices = node_of(s, n->args[1]);
  const int64_t *shape = nxg_scatter_shape(n);
  bool pairs = nxg_scatters_pairs(n);
  nxp_location *where = b->where;
  if (nxp_takes_over(s, node)) where[node] = where[n->args[0]];
  else if (!nxp_new_memory(s, node, &where[node]) ||
           !nxp_add_copy(s, node, where[n->args[0]], where[node], node_bytes(s, node)))
    return nxi_oom(b->d);
  nxp_step *step = nxp_add_step(s, NXP_STEP_SCATTER, node, 4);
  nxi_scatter *out = nxi_arena_alloc(&b->plan->arena, sizeof *out);
  if (step == NULL || out == NULL) return nxi_oom(b->d);
  *out = (nxi_scatter){.dtype = n->dtype,
                       .mode = nxg_scatter_mode(n->attrs[1]),
                       .pairs = pairs,
                       .index = indices->dtype,
                       .rank = indices->rank,
                       .axis = (int32_t)n->attrs[0],
                       .extent = shape[n->attrs[0]]};
  memcpy(out->shape, indices->shape, indices->rank * sizeof *out->shape);
  nxg_contiguous_strides(indices->rank, shape, out->to);
  step->scatter = out;
  step->name = "scatter";
  step->buffers[0] = where[node];
  step->buffers[1] = nxp_operand(s, n->args[1], out->indices);
  step->buffers[2] = nxp_operand(s, n->args[2], out->updates);
  if (pairs) nxg_contiguous_strides(indices->rank, indices->shape, out->updates); /* of a row */
  step->writes[0] = true;
  step->overwrites = where[node].kind == NXP_INPUT;
  step->stores = where[node].kind == NXP_OUTPUT;
  nxp_more_work(b->plan, 4.0 * (double)nxg_node_elements(indices));
  return nxp_new_scratch(s, step, 3) ? NX_OK : nxi_oom(b->d);
}
