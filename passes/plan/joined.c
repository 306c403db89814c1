/* SPDX-License-Identifier: ISC */
/* Loops whose steps are a few small kernels become one kernel also where the kernels do not go over
 * the same points: steps that read neighbours, reduce, or compute with what they have reduced. The
 * kernels of the body's plan are bound each by itself, as they are for a loop of the host, and
 * their code is put into one task, one after the other, in a loop over the steps:
 *
 *   copy what is carried to local arrays
 *   for each two steps { kernels of the body, which read the one array of a carried value
 *                        and write the other; then the same the other way round }
 *   copy what is carried to the results
 *
 * So each element goes through the same instructions, and no bit changes. What the body keeps
 * between its kernels lies in local arrays, too, and what a step updates in place has one array.
 * One thread does it all, which pays as long as a step has hardly work for one: no more than a task
 * of a kernel, on data that stay in its cache.
 *
 * A `while` is such a kernel, too, with the kernels of its condition in each step. A `case` is a
 * kernel in which one branch is carried out. Both are then kernels of the bodies that they are in,
 * which can become one in the same way.
 *
 * The bound form is made when the plan is made, since the logical one has no place for kernels one
 * after the other. Nothing in such a body can fail. If nobody knows how many steps a loop takes,
 * the kernel looks after each of them whether the run is to stop (NXP_STOP), and ends then,
 * whatever its results are; so do all loops around that one. Other loops do not look, and their
 * steps are limited as those of elementwise loops are (plan/loop.c, graph/chunk_loops.c). */
#include "loop.h"

#include <stdio.h>
#include <string.h>

#include "passes/graph/loops.h"

enum {
  MOST_KERNELS = 64,
  MOST_INSTRUCTIONS = 8000, /* of all kernels, bound */
  LARGE = 600,              /* bound instructions that are compiled soon enough */
  LARGE_ENDLESS = 800,      /* the same, if nobody knows how many steps it takes */
  MOST_DEPTH = 240,         /* of blocks of a kernel of a body within each other */
  FEW_STEPS = 4,            /* between two looks whether to stop; they take ten milliseconds */
  MOST_TASKS = 2,           /* of a kernel: more are worth several threads */
  MOST_COPIED = 4096,       /* bytes that a step of a `while` copies back */
  MOST_BRANCHED = 2048,     /* bytes that a branch copies to update them */
  PAGE = 4096,
  UNKNOWN = 1 << 20,    /* steps, as an estimate */
  MOST_BYTES = 1 << 18, /* of local arrays: a thread of the pool has such a block, too */
};

/* ---- places: where a buffer of a kernel of a body is in the kernel of the loop */

static int64_t elements_of_input(const nxp_loop *l, uint32_t i) {
  return nxg_node_elements(&l->body->nodes[l->body->inputs[i].node]);
}
static int64_t elements_of_output(const nxp_loop *l, uint32_t i) {
  return nxg_node_elements(&l->body->nodes[l->body->outputs[i].node]);
}
static nx_dtype dtype_of_output(const nxp_loop *l, uint32_t i) {
  return (nx_dtype)l->body->nodes[l->body->outputs[i].node].dtype;
}
static bool is_condition(const nxp_loop *l, const nxp_joined_body *b) {
  return l->c.op == NXG_while && b == l->joined->bodies;
}

static nxp_joined_place place_of_input(const nxp_loop *l, uint32_t i) {
  const nxp_joined *j = l->joined;
  nxp_joined_place p = {.buffer = j->number, .index = NXK_NONE};
  if (nxp_loop_is_step(l, i)) return p;
  if (nxp_loop_is_carried(l, i)) p.buffer = j->carried[j->reads][i - l->c.indexed];
  else p.buffer = l->operand_buffer[nxp_loop_operand(l, i)];
  if (!nxp_loop_is_slice(l, i)) return p;
  p.index = l->slice;
  p.stride = elements_of_input(l, i);
  return p;
}

/* A result that nobody reads lies in a local array. */
static nxp_joined_place place_of_output(const nxp_loop *l, uint32_t i) {
  const nxp_joined *j = l->joined;
  if (is_condition(l, j->now)) return (nxp_joined_place){j->holds, 0, 0, NXK_NONE};
  if (i < l->c.n_carried) return (nxp_joined_place){j->carried[!j->reads][i], 0, 0, NXK_NONE};
  if (l->result_buffer[i] == NXK_NONE) return (nxp_joined_place){j->unread[i], 0, 0, NXK_NONE};
  if (l->c.op == NXG_case) return (nxp_joined_place){l->result_buffer[i], 0, 0, NXK_NONE};
  return (nxp_joined_place){l->result_buffer[i], 0, elements_of_output(l, i), l->slice};
}

/* False: it has none yet. */
static bool find_any(const nxp_loop *l, const nxp_location *where, nxp_joined_place *p) {
  if (where->alias_range != NXP_NO_ALIAS_RANGE) return false;
  switch (where->kind) {
    case NXP_INPUT: *p = place_of_input(l, where->number); break;
    case NXP_OUTPUT: *p = place_of_output(l, where->number); break;
    case NXP_STOP: *p = (nxp_joined_place){l->joined->stop, 0, 0, NXK_NONE}; break;
    case NXP_TEMPORARY:
      *p = (nxp_joined_place){l->joined->now->temporaries[where->number], 0, 0, NXK_NONE};
      break;
    default: return false;
  }
  if (p->buffer == NXK_NONE) return false;
  int64_t size = nxi_dtype_size(l->to->buffers[p->buffer].dtype);
  p->offset = where->offset / size;
  return where->offset % size == 0;
}

bool nxp_joined_find(const nxp_loop *l, const nxp_location *where, nx_dtype t,
                     nxp_joined_place *p) {
  return find_any(l, where, p) && l->to->buffers[p->buffer].dtype == t;
}

/* ---- buffers: those of the launch first */

static void add_operands(nxp_loop *l) {
  for (uint32_t i = 0; i < l->n->n_args; i++) {
    const nxg_node *x = node_of(l->s, l->n->args[i]);
    uint32_t buffer = nxk_add_buffer(l->to, NXK_IN, (nx_dtype)x->dtype, nxg_node_elements(x));
    if (buffer == NXK_NONE) return;
    l->to->buffers[buffer].restricted = true;
    l->buffers[buffer] = nxp_operand(l->s, l->n->args[i], NULL);
    l->operand_buffer[i] = buffer;
  }
}

/* A later kernel of the step may read a slice, or a branch a result, that an earlier one has
 * written. */
static void add_results(nxp_loop *l) {
  for (uint32_t i = 0; i < l->c.n_results; i++) {
    uint32_t node = nxp_loop_result(l, i);
    if (node == UINT32_MAX) continue;
    const nxg_node *x = node_of(l->s, node);
    nxk_buffer_kind kind = i < l->c.n_carried ? NXK_OUT : NXK_INOUT;
    uint32_t buffer = nxk_add_buffer(l->to, kind, (nx_dtype)x->dtype, nxg_node_elements(x));
    if (buffer == NXK_NONE) return;
    l->to->buffers[buffer].restricted = true;
    l->result_buffer[i] = buffer;
  }
}

static void add_stop(nxp_loop *l) {
  uint32_t buffer = l->endless ? nxk_add_buffer(l->to, NXK_IN, NX_BOOL, 1) : NXK_NONE;
  l->joined->stop = buffer;
  if (buffer == NXK_NONE) return;
  l->to->buffers[buffer].restricted = true;
  l->buffers[buffer] = (nxp_location){NXP_STOP, 0, 0, NXP_NO_ALIAS_RANGE, 0};
}

static uint32_t add_local(nxp_loop *l, nx_dtype t, int64_t elements) {
  l->joined->bytes += nxp_round_up(elements * nxi_dtype_size(t));
  return nxk_add_buffer(l->to, NXK_LOCAL, t, elements > 0 ? elements : 1);
}

/* A load that follows a store waits for it if the lower twelve bits of their addresses are equal,
 * and steps store what they have loaded, or about that: the two arrays of a value begin half a page
 * further than at equal places. */
static int64_t room_of(const nxp_loop *l, uint32_t i) {
  int64_t size = nxi_dtype_size(dtype_of_output(l, i));
  int64_t bytes = nxp_round_up(elements_of_output(l, i) * size);
  if (bytes > PAGE / 2) bytes = (bytes + PAGE / 2 - 1) / PAGE * PAGE + PAGE / 2;
  return bytes / size;
}

/* A temporary that stands for one of the plan's; t: of its elements. */
static void add_temporary(nxp_loop *l, const nxp_joined_body *b, const nxp_location *at,
                          nx_dtype t) {
  if (at->kind != NXP_TEMPORARY || b->temporaries[at->number] != NXK_NONE) return;
  b->temporaries[at->number] =
      add_local(l, t, b->plan->temporaries[at->number].bytes / nxi_dtype_size(t));
}

static uint32_t launch_buffers(const nxk_kernel *k) {
  uint32_t n = 0;
  while (n < k->n_buffers && k->buffers[n].kind != NXK_LOCAL) n++;
  return n;
}

/* A temporary has the dtype of what a kernel stores there, or of what is copied there. */
static void add_temporaries(nxp_loop *l, nxp_joined_body *b) {
  nxp_joined_place from;
  l->joined->now = b;
  for (uint32_t i = 0; i < b->plan->n_steps; i++) {
    const nxp_step *step = &b->plan->steps[i];
    const nxk_kernel *k = b->kernels[i];
    for (uint32_t n = 0; k != NULL && n < launch_buffers(k); n++)
      add_temporary(l, b, &step->buffers[n], k->buffers[n].dtype);
  }
  for (uint32_t i = 0; i < b->plan->n_steps && !l->to->failed; i++) {
    const nxp_step *step = &b->plan->steps[i];
    if (step->kind == NXP_STEP_COPY && find_any(l, &step->buffers[0], &from))
      add_temporary(l, b, &step->buffers[1], l->to->buffers[from.buffer].dtype);
  }
}

static void add_buffers(nxp_loop *l) {
  nxp_joined *j = l->joined;
  add_operands(l);
  add_results(l);
  add_stop(l);
  l->binding.n_buffers = l->to->n_buffers;
  j->number = l->c.indexed ? add_local(l, NX_I64, 1) : NXK_NONE;
  j->holds = l->c.op == NXG_while ? add_local(l, NX_BOOL, 1) : NXK_NONE;
  for (uint32_t i = 0; i < l->c.n_results; i++) {
    bool carried = i < l->c.n_carried;
    if (carried) {
      j->carried[0][i] = add_local(l, dtype_of_output(l, i), room_of(l, i));
      j->carried[1][i] =
          j->in_place[i] ? j->carried[0][i] : add_local(l, dtype_of_output(l, i), room_of(l, i));
    } else if (l->result_buffer[i] == NXK_NONE) {
      j->unread[i] = add_local(l, dtype_of_output(l, i), elements_of_output(l, i));
    }
  }
  for (uint32_t b = 0; b < l->c.n_bodies && !l->to->failed; b++) add_temporaries(l, &j->bodies[b]);
}

/* What a step of a `while` would copy back. */
static void choose_arrays(nxp_loop *l) {
  nxp_joined *j = l->joined;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < l->c.n_carried; i++)
    if (!j->in_place[i]) bytes += elements_of_output(l, i) * nxi_dtype_size(dtype_of_output(l, i));
  j->copies_back = l->c.op == NXG_while && bytes <= MOST_COPIED;
  if (l->c.op == NXG_while && !j->copies_back && !l->to->failed) j->odd = add_local(l, NX_I64, 1);
}

/* ---- bodies */

static bool reserve(nxp_loop *l) {
  nxp_joined *j = nxi_arena_alloc(&l->arena, sizeof *j);
  size_t results = l->c.n_results, arrays = 3 * results + 1;
  if (j == NULL) return false;
  *j = (nxp_joined){.odd = NXK_NONE, .stop = NXK_NONE};
  j->bodies = nxi_arena_alloc(&l->arena, ((size_t)l->c.n_bodies + 1) * sizeof *j->bodies);
  j->copies = nxi_arena_alloc(&l->arena, ((size_t)l->c.n_carried + 1) * sizeof *j->copies);
  j->in_place = nxi_arena_alloc(&l->arena, (results + 1) * sizeof *j->in_place);
  j->unread = nxi_arena_alloc(&l->arena, arrays * sizeof *j->unread);
  size_t buffers = (size_t)l->n->n_args + results + 1;
  l->operand_buffer = nxi_arena_alloc(&l->arena, buffers * sizeof *l->operand_buffer);
  if (j->bodies == NULL || j->copies == NULL || j->in_place == NULL || j->unread == NULL ||
      l->operand_buffer == NULL)
    return false;
  memset(j->unread, 0xff, arrays * sizeof *j->unread);
  memset(l->operand_buffer, 0xff, buffers * sizeof *l->operand_buffer);
  for (int k = 0; k < 2; k++) j->carried[k] = j->unread + (size_t)(1 + k) * results;
  l->result_buffer = l->operand_buffer + l->n->n_args;
  l->slice = NXK_NONE;
  l->joined = j;
  return true;
}

/* Whether results lie in inputs that were given up for them, and nowhere else in inputs. */
static bool lies_well(const nxp_loop *l, const nxp_joined_body *b, bool updates) {
  for (uint32_t i = 0; i < b->plan->n_outputs; i++) {
    bool wanted = updates && i < l->c.n_carried && l->joined->in_place[i];
    if (b->plan->outputs[i].in_place_of != (wanted ? (int32_t)(l->c.indexed + i) : -1))
      return false;
  }
  return true;
}

/* A step that updates what it carries, with that in one place. *plan: NULL if there is none. */
static nx_status plan_updating(nxp_loop *l, nxp_joined_body *b) {
  nxg_graph *over = NULL;
  nxi_diag *d = l->s->b->d;
  nx_status status = nxp_allow_updates(&l->c, b->g, &over, d);
  if (status != NX_OK || over == NULL) return status;
  for (uint32_t i = 0; i < l->c.n_carried; i++)
    l->joined->in_place[i] = over->inputs[l->c.indexed + i].flags != 0;
  status = nxp_plan_body(l, over, &b->plan);
  nxg_destroy(over);
  if (status != NX_OK || lies_well(l, b, true)) return status;
  nxp_plan_destroy(b->plan);
  b->plan = NULL;
  memset(l->joined->in_place, 0, l->c.n_carried * sizeof *l->joined->in_place);
  return NX_OK;
}

static nx_status plan_body(nxp_loop *l, uint32_t i) {
  nxp_joined_body *b = &l->joined->bodies[i];
  bool step = i + 1 == l->c.n_bodies && l->c.op != NXG_case;
  nx_status status = NX_OK;
  b->g = nxg_body_find(l->c.bodies[i])->graph;
  if (step) status = plan_updating(l, b);
  if (status == NX_OK && b->plan == NULL && step) b->plan = l->plan;
  if (status == NX_OK && b->plan == NULL) status = nxp_plan_body(l, b->g, &b->plan);
  return status;
}

static bool is_carried_out(const nxp_step *step) {
  return step->n_params == 0 && (step->kind == NXP_STEP_KERNEL || step->kind == NXP_STEP_COPY ||
                                 step->kind == NXP_STEP_SCATTER);
}

/* The instructions of a body; those of loops in it that look whether to stop count once. */
static double work_of(const nxp_joined_body *b, bool *endless) {
  bool stops = false, any;
  for (uint32_t s = 0; s < b->plan->n_steps; s++) stops = stops || b->plan->steps[s].stops;
  *endless = *endless || stops;
  return stops ? (double)nxg_step_work(b->g, &any) : (double)b->plan->work;
}

/* Before anything is bound: whether the plans are of what can be joined, and little work. */
static bool is_simple(nxp_loop *l) {
  size_t size = 0, kernels = 0;
  double work = 0;
  for (uint32_t i = 0; i < l->c.n_bodies; i++) {
    const nxp_joined_body *b = &l->joined->bodies[i];
    for (uint32_t s = 0; s < b->plan->n_steps; s++)
      if (!is_carried_out(&b->plan->steps[s])) return false;
    for (uint32_t k = 0; k < b->plan->n_kernels; k++) size += b->plan->kernels[k].ir->n_instrs;
    if (!lies_well(l, b, i + 1 == l->c.n_bodies)) return false;
    kernels += b->plan->n_steps;
    work += work_of(b, &l->endless) + 1;
  }
  l->joined->n_steps = kernels;
  return kernels <= MOST_KERNELS && size <= MOST_INSTRUCTIONS &&
         work * (l->endless ? FEW_STEPS : (double)l->steps) <= NXG_LOOP_WORK;
}

/* Whether compiling all as one takes longer than it saves in one launch. Kernels of their own are
 * compiled by several threads, and equal ones once; the host takes some 0.7 us for a step of one.
 * An unknown number of steps counts as many, if compiling takes less than 60 ms. */
static bool is_dear(const nxp_loop *l) {
  const double compiles = 30 * (double)l->joined->size, /* us */
      saves = 0.7 * (double)l->joined->n_steps * (double)l->steps;
  if (l->endless) return l->joined->size > LARGE_ENDLESS;
  return l->joined->size > LARGE && saves < compiles && !l->s->b->plan->options.in_body;
}

/* Plans all bodies. *good: they can be joined, as far as one can see. */
static nx_status plan_all(nxp_loop *l, bool *good) {
  const nxp_plan_builder *b = l->s->b;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < l->c.n_bodies && status == NX_OK; i++) status = plan_body(l, i);
  if (status != NX_OK) return status;
  *good = is_simple(l);
  for (uint32_t i = 0; *good && i < l->c.n_bodies; i++) {
    nxp_joined_body *body = &l->joined->bodies[i];
    size_t steps = (size_t)body->plan->n_steps + 1, arrays = (size_t)body->plan->n_temporaries + 1;
    body->kernels = nxi_arena_alloc(&l->arena, steps * sizeof *body->kernels);
    body->temporaries = nxi_arena_alloc(&l->arena, arrays * sizeof *body->temporaries);
    if (body->kernels == NULL || body->temporaries == NULL) return nxi_oom(b->d);
    memset(body->temporaries, 0xff, arrays * sizeof *body->temporaries);
  }
  return NX_OK;
}

static void release(nxp_loop *l) {
  const nxp_joined *j = l->joined;
  for (uint32_t i = 0; j != NULL && i < l->c.n_bodies; i++) {
    const nxp_joined_body *b = &j->bodies[i];
    for (uint32_t k = 0; b->kernels != NULL && k < b->plan->n_steps; k++)
      nxk_destroy(b->kernels[k]);
    if (b->plan != l->plan) nxp_plan_destroy(b->plan);
  }
  for (uint32_t i = 0; j != NULL && i < l->c.n_carried; i++) nxk_destroy(j->copies[i]);
}

/* ---- their kernels, bound */

static nx_status bind_kernels(nxp_loop *l, nxp_joined_body *b) {
  nxp_plan_builder *of = l->s->b;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < b->plan->n_steps && status == NX_OK; i++) {
    const nxp_step *step = &b->plan->steps[i];
    if (step->kind == NXP_STEP_KERNEL)
      status = nxp_bind_kernel(b->plan->kernels[step->kernel].ir, &of->plan->target, &b->kernels[i],
                               of->d);
    if (step->kind == NXP_STEP_SCATTER)
      status = nxp_bind_scatter(step->scatter, &b->kernels[i], of->d);
  }
  return status;
}

/* What a step copies whole. A value that is the number of the step comes from its array. */
static nx_status bind_copies(nxp_loop *l, nxp_joined_body *b) {
  nx_status status = NX_OK;
  nxp_joined_place to;
  l->joined->now = b;
  for (uint32_t i = 0; i < b->plan->n_steps && status == NX_OK; i++) {
    const nxp_step *step = &b->plan->steps[i];
    if (step->kind != NXP_STEP_COPY || !find_any(l, &step->buffers[1], &to)) continue;
    nx_dtype t = l->to->buffers[to.buffer].dtype;
    status = nxp_bind_copy(l, t, step->bytes / nxi_dtype_size(t), &b->kernels[i]);
  }
  return status;
}

static nx_status bind_all(nxp_loop *l) {
  nxp_joined *j = l->joined;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < l->c.n_bodies && status == NX_OK; i++)
    status = bind_kernels(l, &j->bodies[i]);
  if (status != NX_OK) return status;
  add_buffers(l);
  choose_arrays(l);
  if (l->to->failed) return nxi_oom(l->s->b->d);
  for (uint32_t i = 0; i < l->c.n_bodies && status == NX_OK; i++)
    status = bind_copies(l, &j->bodies[i]);
  for (uint32_t i = 0; i < l->c.n_carried && status == NX_OK; i++)
    status = nxp_bind_copy(l, dtype_of_output(l, i), elements_of_output(l, i), &j->copies[i]);
  return status;
}

/* ---- whether they can be joined */

/* How many blocks are within each other. */
static uint32_t depth_of(const nxk_kernel *k) {
  uint32_t depth = 0, most = 0;
  for (nxk_value v = 0; v < k->n_instrs; v++) {
    nxk_op op = (nxk_op)k->instrs[v].op;
    depth += op == NXK_region || op == NXK_for || op == NXK_cold;
    depth -= op == NXK_end;
    most = depth > most ? depth : most;
  }
  return most;
}

static bool is_small(const nxk_kernel *k, int32_t threads) {
  for (uint32_t i = 0; i < k->n_regions; i++)
    if (k->regions[i].tasks_param >= 0) return false;
  return k->n_params == 0 && depth_of(k) <= MOST_DEPTH &&
         (threads <= 1 || nxk_task_count(k, NULL) <= MOST_TASKS);
}

/* Whether inputs and results are elements of the dtypes that kernels know them by. */
static bool fits_step(const nxp_loop *l, const nxp_joined_body *b, uint32_t i) {
  const nxp_step *step = &b->plan->steps[i];
  const nxk_kernel *k = b->kernels[i];
  nxp_joined_place p;
  if (k == NULL || !is_small(k, l->s->b->plan->options.threads)) return false;
  for (uint32_t n = 0; n < launch_buffers(k); n++)
    if (!nxp_joined_find(l, &step->buffers[n], k->buffers[n].dtype, &p)) return false;
  return true;
}

static bool fits_body(const nxp_loop *l, const nxp_joined_body *b, size_t *size) {
  l->joined->now = b;
  for (uint32_t i = 0; i < b->plan->n_steps; i++) {
    if (!fits_step(l, b, i)) return false;
    *size += b->kernels[i]->n_instrs;
    l->joined->bytes += nxk_scratch_bytes(b->kernels[i]);
  }
  return true;
}

static bool fits(const nxp_loop *l) {
  const nxi_target *t = &l->s->b->plan->target;
  size_t size = 0;
  for (uint32_t i = 0; i < l->c.n_bodies; i++)
    if (!fits_body(l, &l->joined->bodies[i], &size)) return false;
  for (uint32_t i = 0; i < l->c.n_carried; i++) {
    const nxg_node *x = node_of(l->s, l->n->args[l->c.first + i]);
    if (x->dtype != dtype_of_output(l, i) || nxg_node_elements(x) != elements_of_output(l, i))
      return false;
  }
  l->joined->size = size;
  return size <= MOST_INSTRUCTIONS && l->joined->bytes <= MOST_BYTES &&
         (t->l2_bytes <= 0 || l->joined->bytes <= t->l2_bytes / 2);
}

/* Branches of a kernel update nothing in place: what they update is copied. */
static bool copies_much(const nxp_loop *l) {
  if (l->c.op != NXG_case) return false;
  for (uint32_t i = 0; i < l->c.n_results; i++)
    if (nxp_case_updates(&l->c, i) >= 0 &&
        elements_of_output(l, i) * nxi_dtype_size(dtype_of_output(l, i)) > MOST_BRANCHED)
      return true;
  return false;
}

/* ---- the kernel */

static nx_status add_to_plan(nxp_loop *l) {
  nxp_plan_builder *b = l->s->b;
  nx_status status = nxp_check_kernel(l->to, "loop_kernels", b->d);
  if (status == NX_OK) status = nxp_show_kernel("kernels", l->to, b->d);
  if (status == NX_OK)
    status = nxp_add_kernel(l->s, l->to, l->buffers, NULL, 0, l->group->roots[0].node);
  if (status != NX_OK) return status;
  int64_t bytes = 0;
  double work = 0;
  for (uint32_t i = 0; i < l->binding.n_buffers; i++)
    bytes += l->to->buffers[i].elements * nxi_dtype_size(l->to->buffers[i].dtype);
  for (uint32_t i = 0; i < l->c.n_bodies; i++) work += (double)l->joined->bodies[i].plan->work + 1;
  b->plan->steps[b->plan->n_steps - 1].bytes = bytes;
  nxp_more_work(b->plan, work * (l->steps == INT64_MAX ? UNKNOWN : (double)l->steps));
  return NX_OK;
}

static nx_status create_kernel(nxp_loop *l) {
  const nxp_plan *p = l->joined->bodies[l->c.n_bodies - 1].plan;
  char name[64];
  snprintf(name, sizeof name, "%s_%.50s", nxg_ops[l->c.op].name,
           p->n_kernels > 0 ? p->kernels[0].name : "copy");
  l->to = nxk_create(NXK_BOUND, name);
  return l->to != NULL ? NX_OK : nxi_oom(l->s->b->d);
}

static nx_status join(nxp_loop *l, bool *done) {
  nxp_plan_builder *b = l->s->b;
  bool good = false;
  if (!reserve(l)) return nxi_oom(b->d);
  nx_status status = plan_all(l, &good);
  if (status != NX_OK || !good) return status;
  status = create_kernel(l);
  if (status == NX_OK) status = bind_all(l);
  if (status != NX_OK || !fits(l)) return status;
  if (b->plan->options.at_first && is_dear(l)) {
    b->plan->put_off = true;
    return NX_OK;
  }
  *done = true;
  if (!nxp_loop_place_results(l) || !nxp_write_joined(l)) return nxi_oom(b->d);
  for (uint32_t i = 0; i < l->c.n_results; i++)
    if (l->result_buffer[i] != NXK_NONE)
      l->buffers[l->result_buffer[i]] = b->where[nxp_loop_result(l, i)];
  return add_to_plan(l);
}

nx_status nxp_join_loop(nxp_loop *l, bool *done) {
  bool on_gpu = l->s->b->plan->options.on_gpu || l->s->b->plan->target.block_threads > 0;
  if (on_gpu || copies_much(l)) return NX_OK;
  nx_status status = join(l, done);
  release(l);
  return status;
}
