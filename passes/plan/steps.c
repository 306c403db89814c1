/* SPDX-License-Identifier: ISC */
/* Memory of nodes and the steps of a plan, one at a time. */
#include "build.h"

#include <string.h>

/* ---- memory */

nxp_location nxp_operand(const nxp_step_builder *s, uint32_t node, int64_t *strides) {
  const nxg_node *n = node_of(s, node);
  nxg_view v;
  nxg_node_view(s->b->g, node, &v);
  nxp_location where = s->b->where[n->op == NXG_view ? n->args[0] : node];
  where.offset += v.offset * nxi_dtype_size(n->dtype);
  if (strides != NULL) memcpy(strides, v.strides, (size_t)v.rank * sizeof *strides);
  return where;
}

bool nxp_new_temporary(nxp_step_builder *s, int64_t bytes, nxp_location *where) {
  if (!nxi_grow(&s->temporaries, &s->cap_temporaries, s->n_temporaries + 1, sizeof *s->temporaries))
    return false;
  s->temporaries[s->n_temporaries] = (nxp_temporary){.bytes = bytes, .first = NXP_NONE};
  *where = (nxp_location){NXP_TEMPORARY, s->n_temporaries++, 0, NXP_NO_ALIAS_RANGE, 0};
  return true;
}

bool nxp_new_scratch(nxp_step_builder *s, nxp_step *step, uint32_t buffer) {
  step->writes[buffer] = true;
  return nxp_new_temporary(s, 0, &step->buffers[buffer]);
}

bool nxp_new_memory(nxp_step_builder *s, uint32_t node, nxp_location *where) {
  uint32_t holder = node;
  while (s->updated_by[holder] != NXP_NONE && s->updated_by[holder] != holder &&
         nxp_takes_over(s, s->updated_by[holder]))
    holder = s->updated_by[holder];
  uint32_t output = s->b->output_of[holder];
  if (output == 0) return nxp_new_temporary(s, node_bytes(s, node), where);
  *where = (nxp_location){NXP_OUTPUT, output - 1, 0, NXP_NO_ALIAS_RANGE, 0};
  return true;
}

/* ---- steps */

static void visit_buffers(const nxp_step *step, nxp_location_visit *visit, void *user) {
  for (uint32_t i = 0; step != NULL && i < step->n_buffers; i++)
    visit(user, &step->buffers[i], step->writes[i]);
}

void nxp_each_location(const nxp_step *step, nxp_location_visit *visit, void *user) {
  visit_buffers(step, visit, user);
  visit_buffers(step->epilogue, visit, user);
  if (step->chain != NULL) {
    visit_buffers(step->chain->product, visit, user);
    visit_buffers(step->chain->product->epilogue, visit, user);
  }
  const nxp_staging *staging = step->staging;
  for (int32_t i = 0; staging != NULL && i < staging->n_parts; i++)
    visit_buffers(staging->parts[i].kernel, visit, user);
}

nxp_step *nxp_add_step(nxp_step_builder *s, nxp_step_kind kind, uint32_t node, uint32_t n_buffers) {
  nxp_plan *p = s->b->plan;
  if (!nxi_grow(&p->steps, &p->cap_steps, p->n_steps + 1, sizeof *p->steps)) return NULL;
  nxp_step *step = &p->steps[p->n_steps];
  *step = (nxp_step){.kind = kind, .tag_node = node, .n_buffers = n_buffers, .kernel = NXP_NONE};
  step->group = s->b->clusters->group_of[node];
  step->buffers = nxi_arena_alloc(&p->arena, (n_buffers + 1) * sizeof *step->buffers);
  step->writes = nxi_arena_alloc(&p->arena, (n_buffers + 1) * sizeof *step->writes);
  if (step->buffers == NULL || step->writes == NULL) return NULL;
  p->n_steps++;
  return step;
}

bool nxp_add_copy(nxp_step_builder *s, uint32_t node, nxp_location from, nxp_location to,
                  int64_t bytes) {
  if (bytes == 0) return true;
  nxp_step *step = nxp_add_step(s, NXP_STEP_COPY, node, 2);
  if (step == NULL) return false;
  step->buffers[0] = from;
  step->buffers[1] = to;
  step->writes[1] = true;
  step->bytes = bytes;
  step->overwrites = to.kind == NXP_INPUT;
  step->stores = to.kind == NXP_OUTPUT;
  return true;
}

static nx_status add_to_plan(nxp_plan_builder *b, const nxk_kernel *k, nxp_step *step) {
  nxp_plan *p = b->plan;
  if (!nxi_grow(&p->kernels, &p->cap_kernels, p->n_kernels + 1, sizeof *p->kernels))
    return nxi_oom(b->d);
  nxp_kernel *own = &p->kernels[p->n_kernels];
  *own = (nxp_kernel){.name = nxi_arena_copy(&p->arena, k->name, strlen(k->name) + 1),
                      .tasks_param = -1};
  own->ir = own->name != NULL ? nxk_clone(k) : NULL;
  if (own->ir == NULL) return nxi_oom(b->d);
  step->name = own->name;
  step->kernel = p->n_kernels++;
  return NX_OK;
}

nx_status nxp_add_kernel(nxp_step_builder *s, const nxk_kernel *k, const nxp_location *buffers,
                         const uint32_t *params, uint32_t n_params, uint32_t node) {
  nxp_plan_builder *b = s->b;
  uint32_t n_launch = 0;
  while (n_launch < k->n_buffers && k->buffers[n_launch].kind != NXK_LOCAL) n_launch++;
  nxp_step *step = nxp_add_step(s, NXP_STEP_KERNEL, node, n_launch);
  if (step == NULL) return nxi_oom(b->d);
  for (uint32_t i = 0; i < n_launch; i++) {
    step->buffers[i] = buffers[i];
    step->writes[i] = k->buffers[i].kind != NXK_IN;
    step->bytes += nxp_traffic(k, i);
    step->overwrites = step->overwrites || (step->writes[i] && buffers[i].kind == NXP_INPUT);
    step->stores = step->stores || (step->writes[i] && buffers[i].kind == NXP_OUTPUT);
    step->stops = step->stops || buffers[i].kind == NXP_STOP;
  }
  step->n_params = n_params;
  step->params = nxi_arena_copy(&b->plan->arena, params, n_params * sizeof *params);
  if (n_params > 0 && step->params == NULL) return nxi_oom(b->d);
  return add_to_plan(b, k, step);
}

/* A kernel whose few points could not feed all threads becomes two, with partial results between
 * them. */
static nx_status add_split(nxp_step_builder *s, const nxp_split *split, const nxk_kernel *whole,
                           const nxp_location *buffers, const nxp_kernel_binding *binding,
                           uint32_t node) {
  _Static_assert(NXP_STEP_BUFFERS >= NXP_MAX_BUFFERS + NXK_MAX_PARTIALS, "plan.h");
  nxp_location all[NXP_STEP_BUFFERS];
  uint32_t n = 0;
  for (; n < whole->n_buffers && whole->buffers[n].kind != NXK_LOCAL; n++) all[n] = buffers[n];
  for (int i = 0; i < split->n_partials; i++)
    if (!nxp_new_temporary(s, split->partial_bytes[i], &all[n++])) return nxi_oom(s->b->d);
  nx_status status = nxp_add_kernel(s, split->first, all, binding->params, binding->n_params, node);
  if (status == NX_OK)
    status = nxp_add_kernel(s, split->second, all, binding->params, binding->n_params, node);
  if (status == NX_OK) s->b->plan->kernels[s->b->plan->n_kernels - 1].varies = true;
  return status;
}

/* Outputs and temporaries begin at multiples of 64 bytes, inputs where the graph says so. Of what
 * is read only a GPU wants to know: elsewhere it would make kernels differ that need not. */
static bool is_aligned(const nxp_step_builder *s, const nxk_buffer *b, const nxp_location *at) {
  if (at->alias_range != NXP_NO_ALIAS_RANGE || at->offset != 0) return false;
  if (b->kind != NXK_OUT && s->b->plan->target.block_threads == 0) return false;
  if (at->kind == NXP_INPUT) return (s->b->g->inputs[at->number].flags & NXG_INPUT_ALIGNED) != 0;
  return at->kind == NXP_OUTPUT || at->kind == NXP_TEMPORARY;
}

nx_status nxp_add_logical(nxp_step_builder *s, nxk_kernel *k, const nxp_location *buffers,
                          const nxp_kernel_binding *binding, uint32_t node) {
  for (uint32_t i = 0; i < binding->n_buffers; i++)
    k->buffers[i].aligned = is_aligned(s, &k->buffers[i], &buffers[i]);
  nxp_split split;
  nx_status status = nxp_split_kernel(s->b->plan, k, &split, s->b->d);
  if (status == NX_OK && split.first != NULL)
    status = add_split(s, &split, k, buffers, binding, node);
  else if (status == NX_OK)
    status = nxp_add_kernel(s, k, buffers, binding->params, binding->n_params, node);
  nxk_destroy(split.first);
  nxk_destroy(split.second);
  return status;
}
