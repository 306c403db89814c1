/* SPDX-License-Identifier: ISC */
/* Results in the memory of inputs that are given to the run (NXG_INPUT_GIVEN): of a donated tensor,
 * or of a value that nothing else names any more. A result of as many bytes takes such memory if
 * all steps that touch the input come before the first step that touches the result, or if that
 * step is a kernel that reads the input at the points where it writes the result and nowhere else:
 * x - lr * g over x.
 *
 * What is at stake is silent: a value that is read after it was overwritten. So memory counts as
 * touched by whatever input names it (alias), and a kernel must load before it stores, in one block
 * of its loops, without masks, computed indices or reductions, which some templates compute in
 * several passes over the same points. Nothing that can fail, and no long product, comes at or
 * after the first step that overwrites: a launch that fails has overwritten nothing, and one that
 * overwrites cannot be interrupted any more. */
#include "build.h"

#include <string.h>

/* Multiplications and additions of products that may follow: a second or so. */
static const double most_products = 2e10;

typedef struct giver {
  const nxp_step_builder *s;
  nxp_plan *plan;
  const nxg_graph *g;
  uint32_t step;
  uint32_t *holder;  /* input -> the first input that shares its memory */
  uint32_t *last;    /* holder -> order + 1 of the last step that touches its memory; 0: none */
  bool *closed;      /* holder -> a step writes it, or a result lies in it */
  uint32_t *first;   /* output -> the first step that touches it, NXP_NONE */
  uint32_t earliest; /* the first step that may overwrite */
} giver;

/* ---- who touches what */

static void note(void *user, nxp_location *where, bool writes) {
  const giver *v = user;
  if (where->kind == NXP_OUTPUT && v->first[where->number] == NXP_NONE)
    v->first[where->number] = v->step;
  if (where->kind != NXP_INPUT) return;
  uint32_t holder = v->holder[where->number];
  v->last[holder] = v->step + 1;
  v->closed[holder] = v->closed[holder] || writes;
}

static double products_of(const nxp_step *s) {
  double work = 2.0 * (double)s->m * (double)s->n * (double)s->k;
  for (int32_t i = 0; i < s->batch_rank; i++) work *= (double)s->batch_shape[i];
  return work + (s->chain != NULL ? products_of(s->chain->product) : 0);
}

/* Whether nothing may be overwritten before the end of this step. */
static bool is_before(const nxp_step *s, double *products) {
  if (s->kind == NXP_STEP_MATMUL) *products += products_of(s);
  return s->kind == NXP_STEP_CHECK || s->kind == NXP_STEP_CALL || s->kind == NXP_STEP_CONTROL ||
         s->stops || *products > most_products;
}

static void find_earliest(giver *v) {
  double products = 0;
  v->earliest = v->plan->n_steps;
  while (v->earliest > 0 && !is_before(&v->plan->steps[v->earliest - 1], &products)) v->earliest--;
}

/* of_alias: as many as there are numbers of aliases. */
static void find_holders(giver *v, uint32_t *of_alias) {
  memset(of_alias, 0xff, v->s->n_aliases * sizeof *of_alias);
  for (uint32_t i = 0; i < v->g->n_inputs; i++) {
    int32_t alias = v->g->inputs[i].alias;
    v->holder[i] = i;
    if (alias >= 0 && of_alias[alias] == NXP_NONE) of_alias[alias] = i;
    if (alias >= 0) v->holder[i] = of_alias[alias];
  }
}

/* ---- a kernel that reads an input where it writes a result */

static bool same_point(const nxk_access *a, const nxk_access *b) {
  bool same = a->offset == b->offset && a->n_terms == b->n_terms;
  for (uint32_t i = 0; same && i < a->n_terms; i++) /* not memcmp: terms have padding */
    same = a->terms[i].index == b->terms[i].index && a->terms[i].stride == b->terms[i].stride;
  return same && a->index == NXK_NONE && b->index == NXK_NONE && a->mask == NXK_NONE &&
         b->mask == NXK_NONE;
}

static const nxk_access *access_of(const nxk_kernel *k, uint32_t instr) {
  nxk_op op = (nxk_op)k->instrs[instr].op;
  return op == NXK_load || op == NXK_store ? &k->accesses[k->instrs[instr].imm] : NULL;
}

/* Whether some store of `to` is in the block of this load, at its point, and all of them are in
 * that block after it. */
static bool is_stored_back(const nxk_kernel *k, uint32_t load, uint32_t to) {
  bool found = false;
  for (uint32_t i = 0; i < k->n_instrs; i++) {
    const nxk_access *a = access_of(k, i);
    if (a == NULL || a->buffer != to) continue;
    if (i < load || k->instrs[i].block != k->instrs[load].block) return false;
    found = found || same_point(access_of(k, load), a);
  }
  return found;
}

static bool in_place(const nxk_kernel *k, uint32_t from, uint32_t to) {
  if (k->buffers[from].kind != NXK_IN || k->buffers[to].kind != NXK_OUT ||
      k->buffers[from].dtype != k->buffers[to].dtype)
    return false;
  for (uint32_t i = 0; i < k->n_instrs; i++) {
    uint32_t op = k->instrs[i].op;
    const nxk_access *a = access_of(k, i);
    if (op == NXK_reduce || op == NXK_scan) return false;
    if (a != NULL && a->buffer == from && !is_stored_back(k, i, to)) return false;
  }
  return true;
}

/* The number of the only buffer of a step that is there; NXP_NONE: there are several, or it does
 * not begin there. */
static uint32_t only_buffer(const giver *v, const nxp_step *s, nxp_place_kind kind,
                            uint32_t number) {
  uint32_t found = NXP_NONE, n = 0;
  for (uint32_t i = 0; i < s->n_buffers; i++) {
    const nxp_location *l = &s->buffers[i];
    bool there = l->kind == kind && (kind == NXP_INPUT ? v->holder[l->number] == v->holder[number]
                                                       : l->number == number);
    if (!there) continue;
    n++;
    if (l->number == number && l->offset == 0 && l->alias_range == NXP_NO_ALIAS_RANGE) found = i;
  }
  return n == 1 ? found : NXP_NONE;
}

/* The kernel of a step that reads input x only where it writes output o; else NULL. */
static nxk_kernel *kernel_over(const giver *v, uint32_t step, uint32_t x, uint32_t o,
                               uint32_t buffers[2]) {
  const nxp_step *s = &v->plan->steps[step];
  if (s->kind != NXP_STEP_KERNEL) return NULL;
  nxk_kernel *k = v->plan->kernels[s->kernel].ir;
  buffers[0] = only_buffer(v, s, NXP_INPUT, x);
  buffers[1] = only_buffer(v, s, NXP_OUTPUT, o);
  bool good = buffers[0] != NXP_NONE && buffers[1] != NXP_NONE;
  return good && in_place(k, buffers[0], buffers[1]) ? k : NULL;
}

/* ---- results */

/* Moves what a step has in results to the inputs whose memory these lie in. */
typedef struct moving {
  const nxp_output *outputs;
  bool writes;
} moving;

static void move(void *user, nxp_location *where, bool writes) {
  moving *m = user;
  if (where->kind != NXP_OUTPUT || m->outputs[where->number].in_place_of < 0) return;
  where->kind = NXP_INPUT;
  where->number = (uint32_t)m->outputs[where->number].in_place_of;
  m->writes = m->writes || writes;
}

/* The kernel knows that the two buffers are one; what was read is in the caches. */
static void join(nxk_kernel *k, const uint32_t *buffers) {
  k->buffers[buffers[0]].restricted = k->buffers[buffers[1]].restricted = false;
  for (uint32_t i = 0; i < k->n_accesses; i++)
    if (k->accesses[i].buffer == buffers[1]) k->accesses[i].flags &= ~(uint32_t)NXK_NONTEMPORAL;
}

static bool is_open(const giver *v, uint32_t x, int64_t bytes) {
  const nxg_input *in = &v->g->inputs[x];
  const nxg_node *n = &v->g->nodes[in->node];
  const uint32_t needed = NXG_INPUT_GIVEN | NXG_INPUT_ALIGNED;
  return (in->flags & needed) == needed && !v->closed[v->holder[x]] &&
         nxg_node_elements(n) * nxi_dtype_size(n->dtype) == bytes;
}

/* over: in the kernel that reads it. */
static bool find_giver(giver *v, uint32_t o, bool over) {
  const uint32_t first = v->first[o];
  for (uint32_t x = 0; x < v->g->n_inputs; x++) {
    const uint32_t last = v->last[v->holder[x]];
    uint32_t buffers[2];
    if ((over ? last != first + 1 : last > first) || !is_open(v, x, v->plan->outputs[o].bytes))
      continue;
    nxk_kernel *k = over ? kernel_over(v, first, x, o, buffers) : NULL;
    if (over && k == NULL) continue;
    if (over) join(k, buffers);
    v->plan->outputs[o].in_place_of = (int32_t)x;
    v->closed[v->holder[x]] = true;
    return true;
  }
  return false;
}

static void find_givers(giver *v, uint32_t *of_alias) {
  nxp_plan *p = v->plan;
  find_holders(v, of_alias);
  memset(v->first, 0xff, p->n_outputs * sizeof *v->first);
  for (; v->step < p->n_steps; v->step++) nxp_each_location(&p->steps[v->step], note, v);
  find_earliest(v);
  bool any = false;
  for (int over = 1; over >= 0; over--)
    for (uint32_t o = 0; o < p->n_outputs; o++)
      if (p->outputs[o].in_place_of < 0 && p->outputs[o].bytes > 0 && v->first[o] != NXP_NONE &&
          v->first[o] >= v->earliest && find_giver(v, o, over))
        any = true;
  for (uint32_t i = v->earliest; any && i < p->n_steps; i++) {
    moving m = {.outputs = p->outputs};
    nxp_each_location(&p->steps[i], move, &m);
    p->steps[i].overwrites = p->steps[i].overwrites || m.writes;
  }
}

bool nxp_use_given(nxp_step_builder *s) {
  const nxg_graph *g = s->b->g;
  nxp_plan *p = s->b->plan;
  bool any = false;
  for (uint32_t i = 0; i < g->n_inputs; i++) any = any || g->inputs[i].flags & NXG_INPUT_GIVEN;
  if (!any || p->n_outputs == 0) return true;
  size_t n = g->n_inputs;
  uint32_t *numbers = nxi_calloc(2 * n + p->n_outputs + s->n_aliases, sizeof *numbers);
  bool *closed = nxi_calloc(n, sizeof *closed);
  if (numbers != NULL && closed != NULL) {
    giver v = {.s = s,
               .plan = p,
               .g = g,
               .holder = numbers,
               .last = numbers + n,
               .first = numbers + 2 * n,
               .closed = closed};
    find_givers(&v, numbers + 2 * n + p->n_outputs);
  }
  nxi_free(numbers);
  nxi_free(closed);
  return numbers != NULL && closed != NULL;
}
