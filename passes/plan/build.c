/* SPDX-License-Identifier: ISC */
/* Turns fusion groups into steps: lowers and compiles kernels, lays out library calls, and decides
 * where every stored node has its memory. Updates write in place where nothing reads the old
 * contents later. */
#include "build.h"

#include <string.h>

#include "ir/library/custom.h"

static nx_status add_kernel_group(nxp_step_builder *s, uint32_t group) {
  nxp_plan_builder *b = s->b;
  const nxp_group *members = &b->clusters->groups[group];
  uint32_t operand = 0;
  nx_status status = NX_OK;
  if (members->kind != NXP_GROUP_UPDATE)
    for (uint32_t i = 0; i < members->n_roots; i++)
      if (!nxp_new_memory(s, members->roots[i].node, &b->where[members->roots[i].node]))
        return nxi_oom(b->d);
  do {
    nxk_kernel *k = NULL, *simple = NULL;
    nxp_kernel_binding binding;
    nxp_location buffers[NXP_MAX_BUFFERS];
    status = nxp_lower_group(b->lowering, group, &operand, &k, &binding, b->d);
    if (status != NX_OK) return status;
    status = nxp_simplify_kernel(b->plan, k, &simple, b->d);
    uint32_t last = members->roots[members->n_roots - 1].node;
    if (status == NX_OK && binding.n_buffers > NXP_MAX_BUFFERS)
      status = nxi_fail(b->d, NX_INTERNAL, "", "a kernel of %u buffers", binding.n_buffers);
    if (status == NX_OK && members->kind == NXP_GROUP_UPDATE) {
      status = nxp_add_update(s, simple, &binding, last);
    } else if (status == NX_OK) {
      for (uint32_t i = 0; i < binding.n_buffers; i++)
        buffers[i] = b->where[binding.buffer_nodes[i]];
      status = nxp_add_logical(s, simple, buffers, &binding, last);
    }
    nxk_destroy(simple);
    nxk_destroy(k);
    nxp_kernel_binding_free(&binding);
  } while (status == NX_OK && operand != 0);
  for (uint32_t i = 0; status == NX_OK && i < members->n_roots; i++)
    if (s->check_of[members->roots[i].node] != NXP_NONE)
      status = nxp_add_check(s, members->roots[i].node);
  return status;
}

static bool group_is_empty(const nxp_step_builder *s, const nxp_group *group) {
  for (uint32_t i = 0; i < group->n_roots; i++) {
    const nxg_node *n = node_of(s, group->roots[i].node);
    if (group->kind == NXP_GROUP_UPDATE ? nxg_node_elements(node_of(s, n->args[1])) != 0
                                        : nxg_node_elements(n) != 0)
      return false;
  }
  return true;
}

/* An update of nothing keeps the old contents; other empty nodes are only memory of no bytes. */
static nx_status add_empty_group(nxp_step_builder *s, const nxp_group *group) {
  for (uint32_t i = 0; i < group->n_roots; i++) {
    uint32_t node = group->roots[i].node;
    const nxg_node *n = node_of(s, node);
    bool over = group->kind == NXP_GROUP_UPDATE && nxp_takes_over(s, node);
    if (over) s->b->where[node] = s->b->where[n->args[0]];
    else if (!nxp_new_memory(s, node, &s->b->where[node])) return nxi_oom(s->b->d);
    if (group->kind == NXP_GROUP_UPDATE && !over &&
        !nxp_add_copy(s, node, s->b->where[n->args[0]], s->b->where[node], node_bytes(s, node)))
      return nxi_oom(s->b->d);
  }
  return NX_OK;
}

/* Bytes of all inputs and outputs, as far as doubles tell. */
static double footprint(const nxp_step_builder *s) {
  const nxp_plan_builder *b = s->b;
  double bytes = 0;
  for (uint32_t i = 0; i < b->g->n_inputs; i++)
    bytes += (double)node_bytes(s, b->g->inputs[i].node);
  for (uint32_t i = 0; i < b->g->n_outputs; i++)
    bytes += (double)node_bytes(s, b->g->outputs[i].node);
  return bytes;
}

/* Large results that leave the caches anyway, because the run passes more than they hold, and are
 * not read again here bypass them: otherwise each line would be read before it is written. */
static void choose_nontemporal(nxp_step_builder *s) {
  const nxp_plan_builder *b = s->b;
  int64_t cache = b->plan->target.l3_bytes;
  bool passes = footprint(s) >= (double)cache * 0.75;
  for (uint32_t i = 0; i < b->g->n_nodes; i++)
    b->nontemporal[i] = passes && b->output_of[i] && s->group_order[i] == 0 &&
                        b->g->nodes[i].op != NXG_update && b->g->nodes[i].op != NXG_interleave &&
                        node_bytes(s, i) >= cache / 4;
}

static nx_status place_outputs(nxp_step_builder *s) {
  nxp_plan_builder *b = s->b;
  for (uint32_t i = 0; i < b->g->n_outputs; i++) {
    uint32_t node = b->g->outputs[i].node;
    nxp_output *o = &b->plan->outputs[i];
    const char *name = b->g->outputs[i].name;
    if (name != NULL) o->name = nxi_arena_copy(&b->plan->arena, name, strlen(name) + 1);
    if (name != NULL && o->name == NULL) return nxi_oom(b->d);
    nxp_location where = b->where[node], own = {NXP_OUTPUT, i, 0, NXP_NO_ALIAS_RANGE, 0};
    o->bytes = node_bytes(s, node);
    o->in_place_of = where.kind == NXP_INPUT ? (int32_t)where.number : -1;
    if (where.kind == NXP_INPUT || (where.kind == NXP_OUTPUT && where.number == i)) continue;
    if (!nxp_add_copy(s, node, where, own, o->bytes)) return nxi_oom(b->d);
  }
  return NX_OK;
}

typedef struct lifetimes {
  nxp_temporary *temporaries;
  uint32_t step;
} lifetimes;

static void note_lifetime(void *user, nxp_location *where, bool writes) {
  const lifetimes *l = user;
  (void)writes;
  if (where->kind != NXP_TEMPORARY) return;
  nxp_temporary *t = &l->temporaries[where->number];
  t->first = t->first == NXP_NONE ? l->step : t->first;
  t->last = l->step;
}

static void find_lifetimes(nxp_step_builder *s) {
  nxp_plan *p = s->b->plan;
  lifetimes l = {.temporaries = s->temporaries};
  for (; l.step < p->n_steps; l.step++) nxp_each_location(&p->steps[l.step], note_lifetime, &l);
  p->temporaries = s->temporaries;
  p->n_temporaries = s->n_temporaries;
  s->temporaries = NULL;
}

/* Whether a product is left to the group that follows it. */
static bool waits(const nxp_step_builder *s, uint32_t group) {
  const nxp_group *members = &s->b->clusters->groups[group];
  if (members->kind != NXP_GROUP_MATMUL) return false;
  uint32_t last = s->group_order[members->roots[0].node];
  return last > 0 && s->deferred[last - 1] == group && !group_is_empty(s, members);
}

/* A function of the caller is called even if it makes nothing: it has effects, and other members of
 * a collective wait for it. */
static bool calls_out(const nxp_step_builder *s, const nxp_group *group) {
  const nxg_node *n = node_of(s, group->roots[0].node);
  const nxg_custom *f = n->op == NXG_custom ? nxg_custom_of(n->attrs) : NULL;
  return f != NULL && f->kernel == NULL;
}

static nx_status add_group(nxp_step_builder *s, uint32_t i) {
  const nxp_group *group = &s->b->clusters->groups[i];
  nx_status status = NX_OK;
  if (s->deferred[i] != NXP_NONE && waits(s, s->deferred[i]))
    status = nxp_add_matmul_group(s, s->deferred[i]); /* no epilogue took it */
  if (status != NX_OK) return status;
  if (nxg_is_control(node_of(s, group->roots[0].node)->op)) return nxp_add_control_group(s, i);
  if (group_is_empty(s, group) && !calls_out(s, group)) return add_empty_group(s, group);
  if (group->kind == NXP_GROUP_CALL) return nxp_add_call_group(s, i);
  if (group->kind == NXP_GROUP_SCATTER) return nxp_add_scatter_group(s, i);
  return group->kind == NXP_GROUP_MATMUL ? nxp_add_matmul_group(s, i) : add_kernel_group(s, i);
}

/* Where all that may be overwritten is spent, nothing is lost if the run is stopped. */
static void allow_stops(const nxp_plan_builder *b) {
  for (uint32_t i = 0; i < b->g->n_inputs; i++) {
    uint32_t flags = b->g->inputs[i].flags;
    if ((flags & (NXG_INPUT_OVERWRITE | NXG_INPUT_GIVEN)) && !(flags & NXG_INPUT_SPENT)) return;
  }
  for (uint32_t i = 0; i < b->plan->n_steps; i++) b->plan->steps[i].overwrites = false;
}

static nx_status build(nxp_step_builder *s, const nxi_poll *poll) {
  nxp_plan_builder *b = s->b;
  for (uint32_t i = 0; i < b->g->n_inputs; i++)
    b->where[b->g->inputs[i].node] = (nxp_location){NXP_INPUT, i, 0, NXP_NO_ALIAS_RANGE, 0};
  if (!nxp_examine(s)) return nxi_oom(b->d);
  choose_nontemporal(s);
  if (!nxp_defer_products(s)) return nxi_oom(b->d);
  if (!nxp_defer_casts(s)) return nxi_oom(b->d);
  nx_status deferring = nxp_defer_operands(s);
  if (deferring == NX_OK) deferring = nxp_defer_chains(s);
  if (deferring != NX_OK) return deferring;
  for (uint32_t i = 0; i < b->clusters->n_groups; i++) {
    nx_status status = nxp_ask(poll, b->d);
    bool done = false;
    if (status == NX_OK && (waits(s, i) || s->staged[i] > 0 || s->chained[i])) continue;
    if (status == NX_OK && s->deferred[i] != NXP_NONE) status = nxp_add_with_product(s, i, &done);
    if (status == NX_OK && !done) status = add_group(s, i);
    if (status != NX_OK) return status;
  }
  nx_status status = place_outputs(s);
  if (status == NX_OK && !nxp_note_stored(s)) status = nxi_oom(b->d);
  if (status == NX_OK && !nxp_use_given(s)) status = nxi_oom(b->d);
  if (status == NX_OK) allow_stops(b);
  if (status == NX_OK) find_lifetimes(s);
  return status;
}

nx_status nxp_build_steps(nxp_plan_builder *b, const nxi_poll *poll) {
  size_t n = (size_t)b->g->n_nodes + 1;
  nxp_step_builder s = {.b = b};
  for (uint32_t i = 0; i < b->g->n_inputs; i++)
    if (b->g->inputs[i].alias >= (int32_t)s.n_aliases)
      s.n_aliases = (uint32_t)b->g->inputs[i].alias + 1;
  s.group_order = nxi_calloc(n, sizeof *s.group_order);
  s.alias_order = nxi_calloc(2 * ((size_t)s.n_aliases + 1), sizeof *s.alias_order);
  s.updated_by = nxi_malloc(n * sizeof *s.updated_by);
  s.check_of = nxi_malloc(n * sizeof *s.check_of);
  s.stamp = nxi_calloc(n, sizeof *s.stamp);
  s.readers = nxi_calloc(n, sizeof *s.readers);
  s.deferred = nxi_malloc(((size_t)b->clusters->n_groups + 1) * sizeof *s.deferred);
  s.staged = nxi_calloc((size_t)b->clusters->n_groups + 1, sizeof *s.staged);
  s.stages = nxi_malloc(((size_t)b->clusters->n_groups + 1) * sizeof *s.stages);
  s.chain = nxi_malloc(((size_t)b->clusters->n_groups + 1) * sizeof *s.chain);
  s.chained = nxi_calloc((size_t)b->clusters->n_groups + 1, sizeof *s.chained);
  nx_status status;
  if (s.group_order == NULL || s.alias_order == NULL || s.updated_by == NULL || s.stamp == NULL ||
      s.readers == NULL || s.deferred == NULL || s.check_of == NULL || s.staged == NULL ||
      s.stages == NULL || s.chain == NULL || s.chained == NULL) {
    status = nxi_oom(b->d);
  } else {
    s.alias_base = s.alias_order + s.n_aliases + 1;
    memset(s.updated_by, 0xff, n * sizeof *s.updated_by);
    memset(s.check_of, 0xff, n * sizeof *s.check_of);
    memset(s.deferred, 0xff, ((size_t)b->clusters->n_groups + 1) * sizeof *s.deferred);
    memset(s.stages, 0xff, ((size_t)b->clusters->n_groups + 1) * sizeof *s.stages);
    memset(s.chain, 0xff, ((size_t)b->clusters->n_groups + 1) * sizeof *s.chain);
    status = build(&s, poll);
  }
  nxi_free(s.group_order);
  nxi_free(s.alias_order);
  nxi_free(s.updated_by);
  nxi_free(s.check_of);
  nxi_free(s.stamp);
  nxi_free(s.readers);
  nxi_free(s.deferred);
  nxi_free(s.staged);
  nxi_free(s.stages);
  nxi_free(s.chain);
  nxi_free(s.chained);
  nxi_free(s.stack);
  nxi_free(s.temporaries);
  return status;
}
