/* SPDX-License-Identifier: ISC */
/* Loops whose steps are elementwise become one kernel: the loop is inside, and what it carries
 * stays in registers, for each vector of points by itself. Each element goes through the same
 * operations as by steps that are kernels of their own, so no bit changes.
 *
 * Taken is a `for` or `scan` of a limited number of steps whose body's plan consists of
 *
 *   - kernels over the same points, without reductions. They read what is carried, and each other's
 *     results, at their own point only, unmasked; captured operands and slices of stacks anywhere;
 *   - kernels of scalars: counters, factors that change. Every vector of points computes them
 *     again, and a region of one point stores them;
 *   - copies of whole values, as in a body that exchanges two of them.
 *
 * The number is a constant, or the lesser one of a constant and a value. Passes over the graph make
 * such loops of others: of a `while` that counts (graph/count_loops.c), and of loops of any number
 * of steps (graph/chunk_loops.c). No other `while` is taken here (plan/joined.c takes others): the
 * points of a vector cannot know when the others are done. Nor are more steps of a vector than take
 * some ten milliseconds, because a kernel can neither ask a poll nor fail. */
#include "loop.h"

#include <stdio.h>
#include <string.h>

#include "passes/graph/loops.h"

enum {
  MOST_NODES = 512,  /* of a body */
  MOST_CARRIED = 24, /* elements of each point; more than registers hold */
  MOST_OF_ALL = 200, /* cost of what every vector computes again */
};
/* The cost of all steps of a vector, in vector operations: ten milliseconds. */
static const double most_cost = 2e7;
/* Instructions of all branches of a `case` that is a kernel; steps of a `while` that ten
 * milliseconds have to be enough for, and the most of one that does not look whether to stop. */
static const int64_t most_branched = 1 << 16;
enum { FEW_STEPS = 4, MOST_KNOWN = 1 << 16 };

/* The most steps that the loop takes; 0: they are too many, or it is not known. */
static int64_t most_steps(const nxp_loop *l) {
  const nxg_control *c = &l->c;
  if (!c->counted || (c->limit > 0 && (c->count < 0 || c->count > c->limit))) return 0;
  if (c->count >= 0) return c->count;
  int64_t most = nxg_most_of(l->s->b->g, l->n->args[0]);
  return most > 0 && !c->reverse ? most : 0;
}

/* ---- values */

uint32_t nxp_loop_result(const nxp_loop *l, uint32_t i) {
  for (uint32_t r = 0; r < l->group->n_roots; r++) {
    uint32_t node = l->group->roots[r].node;
    if ((uint32_t)node_of(l->s, node)->attrs[0] == i) return node;
  }
  return UINT32_MAX;
}

/* Sets what v is. False: neither a scalar nor a value of the points. */
static bool classify(const nxp_loop *l, int64_t elements, nx_dtype dtype, nxp_loop_value *v) {
  *v = (nxp_loop_value){.dtype = dtype};
  bool of_points = l->nest != NULL && (elements == l->points || elements == 2 * l->points);
  v->of = of_points ? NXP_OF_POINTS : NXP_OF_ALL;
  v->parts = (uint32_t)(of_points ? elements / l->points : elements);
  return of_points || elements == 1 || elements == 2;
}

static bool classify_node(const nxp_loop *l, uint32_t node, nxp_loop_value *v) {
  const nxg_node *n = &l->body->nodes[node];
  return classify(l, nxg_node_elements(n), (nx_dtype)n->dtype, v);
}

/* What captured operands and slices are does not matter: they are read where they lie. */
static bool classify_all(nxp_loop *l) {
  const nxg_graph *g = l->body;
  uint32_t carried = 0;
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    bool good = classify_node(l, g->inputs[i].node, &l->inputs[i]);
    if (!nxp_loop_is_carried(l, i)) continue;
    carried += l->inputs[i].parts;
    l->inputs[i].varies = true;
    if (!good) return false;
  }
  for (uint32_t i = 0; i < g->n_outputs; i++)
    if (!classify_node(l, g->outputs[i].node, &l->outputs[i])) return false;
  for (uint32_t i = 0; i < l->plan->n_temporaries; i++)
    l->temporaries[i] = (nxp_loop_value){0}; /* nothing has been stored there */
  return carried <= MOST_CARRIED;
}

nxp_loop_value *nxp_loop_value_at(const nxp_loop *l, const nxp_location *where) {
  if (where->offset != 0 || where->alias_range != NXP_NO_ALIAS_RANGE) return NULL;
  switch (where->kind) {
    case NXP_INPUT: return &l->inputs[where->number];
    case NXP_OUTPUT: return &l->outputs[where->number];
    case NXP_TEMPORARY: return &l->temporaries[where->number];
    default: return NULL;
  }
}

/* ---- accesses */

int64_t nxp_loop_stride(const nxk_kernel *k, nxk_value loop) {
  int64_t stride = 1;
  for (nxk_value v = k->n_instrs; v-- > 0;) {
    if (k->instrs[v].op != NXK_for) continue;
    if (v == loop) return stride;
    stride *= k->loops[k->instrs[v].imm].upper.constant;
  }
  return 0;
}

static uint32_t loops_of(const nxk_kernel *k) {
  uint32_t n = 0;
  for (nxk_value v = 0; v < k->n_instrs; v++) n += k->instrs[v].op == NXK_for;
  return n;
}

bool nxp_loop_at_point(const nxp_loop_part *p, const nxk_access *a, const nxp_loop_value *v,
                       uint32_t *part) {
  if (a->mask != NXK_NONE || a->index != NXK_NONE || a->offset < 0 || a->offset >= v->parts)
    return false;
  *part = (uint32_t)a->offset;
  if (v->of == NXP_OF_ALL) return a->n_terms == 0;
  if (p->of != NXP_OF_POINTS || a->n_terms != loops_of(p->k)) return false;
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (a->terms[i].stride != nxp_loop_stride(p->k, a->terms[i].index) * v->parts) return false;
  return true;
}

/* ---- the kernels of the body's plan */

/* Whether a kernel is one nest of loops between constants, or code without loops, over launch
 * buffers. */
static bool is_plain(const nxk_kernel *k) {
  if (k->n_regions != 1 || k->n_params > 0) return false;
  for (uint32_t i = 0; i < k->n_buffers; i++)
    if (k->buffers[i].kind != NXK_IN && k->buffers[i].kind != NXK_OUT) return false;
  bool closed = false;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    const nxk_instr *in = &k->instrs[v];
    closed = closed || in->op == NXK_end;
    if (in->op < NXK_SCALAR_COUNT || in->op == NXK_const || in->op == NXK_load ||
        in->op == NXK_region || in->op == NXK_end)
      continue;
    if (in->op == NXK_store && !closed) continue;
    if (in->op != NXK_for || closed) return false;
    const nxk_loop *loop = &k->loops[in->imm];
    if (loop->kind != NXK_OUTER || loop->lower.value != NXK_NONE || loop->lower.constant != 0 ||
        loop->upper.value != NXK_NONE || loop->upper.constant < 1 || loop->step != 1)
      return false;
  }
  return true;
}

static int64_t points_of(const nxk_kernel *k) {
  int64_t n = 1;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_for) n *= k->loops[k->instrs[v].imm].upper.constant;
  return n;
}

static bool is_over_points(const nxp_loop *l, const nxp_step *step) {
  return loops_of(l->plan->kernels[step->kernel].ir) > 0;
}

/* Lists the kernels of one class. */
static void add_parts(nxp_loop *l, nxp_body_class of) {
  for (uint32_t i = 0; i < l->plan->n_steps; i++) {
    const nxp_step *step = &l->plan->steps[i];
    if (step->kind == NXP_STEP_COPY || is_over_points(l, step) != (of == NXP_OF_POINTS)) continue;
    nxp_loop_part *p = &l->parts[l->n_parts++];
    p->step = step;
    p->k = l->plan->kernels[step->kernel].ir;
    p->of = of;
    if (of == NXP_OF_POINTS && (l->nest == NULL || loops_of(l->nest->k) < loops_of(p->k)))
      l->nest = p;
  }
}

static bool same_nest(const nxk_kernel *a, const nxk_kernel *b) {
  bool same = a->n_loops == b->n_loops;
  for (uint32_t i = 0; same && i < a->n_loops; i++)
    same = a->loops[i].upper.constant == b->loops[i].upper.constant;
  return same;
}

/* All go over the same points, in one loop or in the same nest of them. No scalar is made of what
 * one of them gives: that would not be elementwise. */
static bool list_parts(nxp_loop *l) {
  for (uint32_t i = 0; i < l->plan->n_steps; i++) {
    const nxp_step *step = &l->plan->steps[i];
    bool kernel = step->kind == NXP_STEP_KERNEL;
    if (!kernel && step->kind != NXP_STEP_COPY) return false;
    if (kernel && !is_plain(l->plan->kernels[step->kernel].ir)) return false;
  }
  add_parts(l, NXP_OF_ALL);
  add_parts(l, NXP_OF_POINTS);
  l->points = 1;
  if (l->nest == NULL) return l->n_parts > 0;
  const nxk_kernel *nest = l->nest->k;
  l->points = points_of(nest);
  for (uint32_t i = 0; i < l->n_parts; i++) {
    nxp_loop_part *p = &l->parts[i];
    if (p->of == NXP_OF_ALL) continue;
    p->in_one = loops_of(p->k) == 1 && !same_nest(p->k, nest);
    if (points_of(p->k) != l->points || !(p->in_one || same_nest(p->k, nest))) return false;
  }
  return true;
}

/* ---- what varies, and whether everything is read and written where it may be */

static bool fits_load(nxp_loop *l, nxp_loop_part *p, nxk_value v, const nxk_access *a) {
  const nxp_location *where = &p->step->buffers[a->buffer];
  const nxp_loop_value *x = nxp_loop_value_at(l, where);
  uint32_t part;
  if (x == NULL) return false;
  bool input = where->kind == NXP_INPUT, step = input && nxp_loop_is_step(l, where->number),
       slice = input && nxp_loop_is_slice(l, where->number);
  p->varies[v] = x->varies || step || slice;
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (p->k->instrs[a->terms[i].index].op != NXK_for) return false;
  if (a->mask != NXK_NONE) p->varies[v] = p->varies[v] || p->varies[a->mask];
  if (a->index != NXK_NONE) p->varies[v] = p->varies[v] || p->varies[a->index];
  if (a->other != NXK_NONE) p->varies[v] = p->varies[v] || p->varies[a->other];
  if (step) return a->n_terms == 0 && a->mask == NXK_NONE && a->index == NXK_NONE;
  if (input && !nxp_loop_is_carried(l, where->number)) return true;
  l->mixes = l->mixes || (p->of == NXP_OF_POINTS && x->of == NXP_OF_ALL);
  return !x->scattered && nxp_loop_at_point(p, a, x, &part);
}

/* Stacked results may be written anywhere in their slice. */
static bool fits_store(nxp_loop *l, nxp_loop_part *p, nxk_value v, const nxk_access *a) {
  const nxp_location *where = &p->step->buffers[a->buffer];
  nxp_loop_value *x = nxp_loop_value_at(l, where);
  uint32_t part;
  if (x == NULL || a->mask != NXK_NONE || a->index != NXK_NONE) return false;
  if (where->kind == NXP_TEMPORARY)
    *x = (nxp_loop_value){.of = p->of, .parts = 1, .dtype = p->k->buffers[a->buffer].dtype};
  else if (where->kind != NXP_OUTPUT) return false;
  x->varies = x->varies || p->varies[p->k->instrs[v].args[0]];
  if (p->of != x->of) return false;
  bool here = nxp_loop_at_point(p, a, x, &part);
  if (where->kind != NXP_OUTPUT || where->number < l->c.n_carried) return here;
  x->scattered = x->scattered || !here; /* nothing of the step may read it */
  return true;
}

static bool fits_part(nxp_loop *l, nxp_loop_part *p) {
  double cost = 0;
  for (nxk_value v = 0; v < p->k->n_instrs; v++) {
    const nxk_instr *in = &p->k->instrs[v];
    for (int i = 0; i < in->n_args; i++) p->varies[v] = p->varies[v] || p->varies[in->args[i]];
    if (in->op == NXK_load && !fits_load(l, p, v, &p->k->accesses[in->imm])) return false;
    if (in->op == NXK_store && !fits_store(l, p, v, &p->k->accesses[in->imm])) return false;
    if (in->op < NXK_SCALAR_COUNT) cost += nxk_scalars[in->op].cost;
    else cost += in->op == NXK_load || in->op == NXK_store;
  }
  l->cost += cost;
  return p->of == NXP_OF_POINTS || cost <= MOST_OF_ALL;
}

/* A copy from what is at the same points, of all of it. */
static bool fits_copy(nxp_loop *l, const nxp_step *step) {
  const nxp_loop_value *from = nxp_loop_value_at(l, &step->buffers[0]);
  nxp_loop_value *to = nxp_loop_value_at(l, &step->buffers[1]);
  if (from == NULL || to == NULL || from->scattered || step->buffers[1].kind != NXP_OUTPUT)
    return false;
  const nxp_location *where = &step->buffers[0];
  bool step_number = where->kind == NXP_INPUT && nxp_loop_is_step(l, where->number);
  int64_t elements = (int64_t)to->parts * (to->of == NXP_OF_POINTS ? l->points : 1);
  to->varies = true;
  return !step_number && from->of == to->of && from->parts == to->parts &&
         from->dtype == to->dtype && step->bytes == elements * nxi_dtype_size(to->dtype);
}

static bool fits(nxp_loop *l) {
  if (!list_parts(l) || !classify_all(l)) return false;
  for (uint32_t i = 0; i < l->n_parts; i++)
    if (!fits_part(l, &l->parts[i])) return false;
  for (uint32_t i = 0; i < l->plan->n_steps; i++)
    if (l->plan->steps[i].kind == NXP_STEP_COPY && !fits_copy(l, &l->plan->steps[i])) return false;
  for (uint32_t i = 0; i < l->plan->n_outputs; i++)
    if (l->plan->outputs[i].in_place_of >= 0) return false;
  return (l->cost + 1) * (double)l->steps <= most_cost;
}

/* ---- the group */

static bool reserve(nxp_loop *l) {
  const nxp_plan *p = l->plan;
  size_t inputs = l->body->n_inputs + 1, outputs = l->body->n_outputs + 1;
  l->parts = nxi_arena_alloc(&l->arena, (p->n_kernels + 1) * sizeof *l->parts);
  l->inputs = nxi_arena_alloc(&l->arena, inputs * sizeof *l->inputs);
  l->outputs = nxi_arena_alloc(&l->arena, outputs * sizeof *l->outputs);
  l->temporaries =
      nxi_arena_alloc(&l->arena, ((size_t)p->n_temporaries + 1) * sizeof *l->temporaries);
  size_t buffers = (size_t)l->n->n_args + l->c.n_results + 1;
  l->operand_buffer = nxi_arena_alloc(&l->arena, buffers * sizeof *l->operand_buffer);
  bool ok = l->parts != NULL && l->inputs != NULL && l->outputs != NULL && l->temporaries != NULL &&
            l->operand_buffer != NULL;
  size_t n = 1;
  for (uint32_t i = 0; i < p->n_kernels; i++)
    if (p->kernels[i].ir->n_instrs > n) n = p->kernels[i].ir->n_instrs;
  for (uint32_t i = 0; ok && i < p->n_kernels; i++) {
    l->parts[i].map = nxi_arena_alloc(&l->arena, n * sizeof(nxk_value));
    l->parts[i].varies = nxi_arena_alloc(&l->arena, n * sizeof(bool));
    ok = l->parts[i].map != NULL && l->parts[i].varies != NULL;
  }
  if (!ok) return false;
  memset(l->operand_buffer, 0xff, buffers * sizeof *l->operand_buffer);
  l->result_buffer = l->operand_buffer + l->n->n_args;
  return true;
}

/* Equal nodes that nothing has merged are computed into one place. */
bool nxp_loop_place_results(const nxp_loop *l) {
  nxp_location *where = l->s->b->where;
  for (uint32_t r = 0; r < l->group->n_roots; r++) {
    uint32_t node = l->group->roots[r].node;
    uint32_t first = nxp_loop_result(l, (uint32_t)node_of(l->s, node)->attrs[0]);
    if (first == node && !nxp_new_memory(l->s, node, &where[node])) return false;
    if (first != node) where[node] = where[first];
  }
  return true;
}

static nx_status add_kernel(nxp_loop *l) {
  nxp_plan_builder *b = l->s->b;
  nxk_kernel *simple = NULL;
  uint32_t node = l->group->roots[0].node;
  nx_status status = nxp_simplify_kernel(b->plan, l->to, &simple, b->d);
  if (status == NX_OK) status = nxp_add_logical(l->s, simple, l->buffers, &l->binding, node);
  nxk_destroy(simple);
  nxp_more_work(b->plan, l->cost * (double)l->steps * (double)l->points);
  return status;
}

nx_status nxp_plan_body(const nxp_loop *l, const nxg_graph *body, nxp_plan **plan) {
  const nxp_plan_builder *b = l->s->b;
  nxp_options o = b->plan->options;
  o.in_body = true;
  nx_status status = nxp_plan_create(body, &o, NULL, plan, b->d);
  if (status == NX_OK && (*plan)->put_off) b->plan->put_off = true;
  return status;
}

static nx_status try(nxp_loop *l, bool *done) {
  nxp_plan_builder *b = l->s->b;
  char name[64];
  nx_status status = nxp_plan_body(l, l->body, &l->plan);
  if (status != NX_OK) return status;
  if (!reserve(l)) return nxi_oom(b->d);
  if (!nxg_is_elementwise(l->body) || !fits(l)) return nxp_join_loop(l, done);
  if (!nxp_loop_place_results(l)) return nxi_oom(b->d);
  const nxk_kernel *inside = l->parts[l->n_parts - 1].k;
  snprintf(name, sizeof name, "%s_%.50s", nxg_ops[l->c.op].name, inside->name);
  l->to = nxk_create(NXK_LOGICAL, name);
  if (l->to == NULL || !nxp_write_loop(l)) return nxi_oom(b->d);
  *done = true;
  return add_kernel(l);
}

static nx_status try_counted(nxp_loop *l, bool *done) {
  bool unknown = l->c.limit == 0 && l->c.count < 0 && !l->c.reverse;
  if (l->c.n_carried == 0) return NX_OK;
  l->steps = most_steps(l);
  if (!nxg_is_elementwise(l->body) && nxg_step_work(l->body, &l->endless) < 0) return NX_OK;
  if (l->steps == 0 && l->endless && unknown) l->steps = INT64_MAX;
  return l->steps == 0 ? NX_OK : try(l, done);
}

/* The instructions of all bodies, if they are small and cannot fail; else -1. */
static int64_t work_of_bodies(nxp_loop *l) {
  int64_t all = 0;
  for (uint32_t i = 0; i < l->c.n_bodies; i++) {
    int64_t work = nxg_step_work(nxg_body_find(l->c.bodies[i])->graph, &l->endless);
    if (work < 0) return -1;
    all += work < most_branched ? work : most_branched;
  }
  return all;
}

static nx_status try_while(nxp_loop *l, bool *done) {
  double work = (double)work_of_bodies(l) + 1;
  if (work < 1 || l->c.limit > 0 || l->c.n_carried == 0) return NX_OK;
  l->steps = nxg_most_steps(l->s->b->g, l->n);
  l->endless = l->endless || l->steps < 0 || l->steps > MOST_KNOWN ||
               work * (double)l->steps > NXG_LOOP_WORK / 4;
  if (l->endless) l->steps = INT64_MAX;
  return l->endless && work * FEW_STEPS > NXG_LOOP_WORK / 4 ? NX_OK : nxp_join_loop(l, done);
}

static nx_status try_branches(nxp_loop *l, bool *done) {
  int64_t work = work_of_bodies(l);
  l->steps = 1;
  if (work < 0 || work >= most_branched) return NX_OK;
  return nxp_join_loop(l, done);
}

nx_status nxp_add_loop_kernel(nxp_step_builder *s, uint32_t group, bool *done) {
  const nxp_group *members = &s->b->clusters->groups[group];
  nxp_loop l = {.s = s, .group = members, .n = node_of(s, members->roots[0].node)};
  nx_status status;
  *done = false;
  nxg_control_of_node(l.n, &l.c);
  if (!s->b->plan->options.fuse || nxp_is_skipped(NXP_PASS_loop_kernels) ||
      l.n->n_args + l.c.n_results >= NXP_MAX_BUFFERS)
    return NX_OK;
  l.body = nxg_body_find(l.c.bodies[l.c.n_bodies - 1])->graph;
  if (l.c.op == NXG_case) status = try_branches(&l, done);
  else status = l.c.counted ? try_counted(&l, done) : try_while(&l, done);
  nxk_destroy(l.to);
  nxp_plan_destroy(l.plan);
  nxi_arena_destroy(&l.arena);
  return status;
}
