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
 * between its kernels lies in local arrays, too. One thread does it all, which pays as long as a
 * step has hardly work for one: no more than a task of a kernel, on data that stay in its cache.
 *
 * The bound form is made when the plan is made, since the logical one has no place for kernels one
 * after the other. Nothing in such a body can fail, and a task is not interrupted, so its steps are
 * limited as those of elementwise loops are (plan/loop.c, graph/chunk_loops.c). */
#include "loop.h"

#include <stdio.h>
#include <string.h>

#include "passes/graph/loops.h"

enum {
  MOST_KERNELS = 16,
  MOST_INSTRUCTIONS = 6000, /* of all kernels, bound */
  MOST_TASKS = 2,           /* of a kernel: more are worth several threads */
  PAGE = 4096,
  MOST_BYTES = 1 << 18, /* of local arrays: a thread of the pool has such a block, too */
};

/* ---- places: where a buffer of a kernel of the body is in the kernel of the loop */

static int64_t elements_of_input(const nxp_loop *l, uint32_t i) {
  return nxg_node_elements(&l->body->nodes[l->body->inputs[i].node]);
}
static int64_t elements_of_output(const nxp_loop *l, uint32_t i) {
  return nxg_node_elements(&l->body->nodes[l->body->outputs[i].node]);
}
static nx_dtype dtype_of_output(const nxp_loop *l, uint32_t i) {
  return (nx_dtype)l->body->nodes[l->body->outputs[i].node].dtype;
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

/* A slice that nobody reads lies in a local array. */
static nxp_joined_place place_of_output(const nxp_loop *l, uint32_t i) {
  const nxp_joined *j = l->joined;
  if (i < l->c.n_carried) return (nxp_joined_place){j->carried[!j->reads][i], 0, 0, NXK_NONE};
  if (l->result_buffer[i] != NXK_NONE)
    return (nxp_joined_place){l->result_buffer[i], 0, elements_of_output(l, i), l->slice};
  return (nxp_joined_place){j->unread[i], 0, 0, NXK_NONE};
}

/* False: it is no place of such elements. */
static bool find_place(const nxp_loop *l, const nxp_location *where, nx_dtype t,
                       nxp_joined_place *p) {
  int64_t size = nxi_dtype_size(t);
  if (where->alias_range != NXP_NO_ALIAS_RANGE || where->offset % size != 0) return false;
  switch (where->kind) {
    case NXP_INPUT: *p = place_of_input(l, where->number); break;
    case NXP_OUTPUT: *p = place_of_output(l, where->number); break;
    case NXP_TEMPORARY:
      *p = (nxp_joined_place){l->joined->temporaries[where->number], 0, 0, NXK_NONE};
      break;
    default: return false;
  }
  p->offset = where->offset / size;
  return p->buffer != NXK_NONE && l->to->buffers[p->buffer].dtype == t;
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

/* A later kernel of the step may read a slice that an earlier one has written. */
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

/* A temporary has the dtype of what a kernel stores there. */
static void add_temporaries(nxp_loop *l) {
  nxp_joined *j = l->joined;
  for (uint32_t i = 0; i < l->plan->n_steps; i++) {
    const nxp_step *step = &l->plan->steps[i];
    for (uint32_t b = 0; step->kind == NXP_STEP_KERNEL && b < step->n_buffers; b++) {
      const nxp_location *at = &step->buffers[b];
      if (at->kind != NXP_TEMPORARY || j->temporaries[at->number] != NXK_NONE) continue;
      nx_dtype t = j->kernels[i]->buffers[b].dtype;
      int64_t bytes = l->plan->temporaries[at->number].bytes;
      j->temporaries[at->number] = add_local(l, t, bytes / nxi_dtype_size(t));
    }
  }
}

static void add_buffers(nxp_loop *l) {
  nxp_joined *j = l->joined;
  add_operands(l);
  add_results(l);
  l->binding.n_buffers = l->to->n_buffers;
  j->number = add_local(l, NX_I64, 1);
  for (uint32_t i = 0; i < l->c.n_results; i++) {
    bool carried = i < l->c.n_carried;
    for (int k = 0; k < 2 && carried; k++)
      j->carried[k][i] = add_local(l, dtype_of_output(l, i), room_of(l, i));
    if (!carried && l->result_buffer[i] == NXK_NONE)
      j->unread[i] = add_local(l, dtype_of_output(l, i), elements_of_output(l, i));
  }
  add_temporaries(l);
}

/* ---- whether the kernels of the body can be joined */

static bool reserve(nxp_loop *l) {
  nxp_joined *j = nxi_arena_alloc(&l->arena, sizeof *j);
  if (j == NULL) return false;
  *j = (nxp_joined){0};
  l->joined = j;
  size_t results = l->c.n_results, temporaries = l->plan->n_temporaries;
  j->kernels = nxi_arena_alloc(&l->arena, ((size_t)l->plan->n_steps + 1) * sizeof *j->kernels);
  j->copies = nxi_arena_alloc(&l->arena, ((size_t)l->c.n_carried + 1) * sizeof *j->copies);
  size_t arrays = 3 * results + temporaries + 1;
  j->unread = nxi_arena_alloc(&l->arena, arrays * sizeof *j->unread);
  if (j->kernels == NULL || j->copies == NULL || j->unread == NULL) return false;
  memset(j->unread, 0xff, arrays * sizeof *j->unread);
  for (int k = 0; k < 2; k++) j->carried[k] = j->unread + (size_t)(1 + k) * results;
  j->temporaries = j->unread + 3 * results;
  l->slice = NXK_NONE;
  return true;
}

/* A bound kernel that copies so many elements from buffer 0 to buffer 1. */
static nx_status bind_copy(nxp_loop *l, nx_dtype t, int64_t elements, nxk_kernel **out) {
  nxk_kernel *k = nxk_create(NXK_LOGICAL, "copy");
  if (k == NULL) return nxi_oom(l->s->b->d);
  nxk_add_buffer(k, NXK_IN, t, elements);
  nxk_add_buffer(k, NXK_OUT, t, elements);
  nxk_begin_region(k);
  nxk_term term = {nxk_begin_range(k, NXK_OUTER, elements), 1};
  nxk_access from = nxk_access_at(0, 0), to = nxk_access_at(1, 0);
  from.n_terms = to.n_terms = 1;
  from.terms = to.terms = &term;
  nxk_store(k, &to, nxk_load(k, &from, 1));
  nxk_end(k);
  nxk_end(k);
  nx_status status =
      k->failed ? nxi_oom(l->s->b->d) : nxp_bind_kernel(k, &l->s->b->plan->target, out, l->s->b->d);
  nxk_destroy(k);
  return status;
}

/* What a step copies whole. A value that is the number of the step comes from its array. */
static nx_status bind_step(nxp_loop *l, const nxp_step *step, nxk_kernel **out) {
  if (step->kind == NXP_STEP_KERNEL)
    return nxp_bind_kernel(l->plan->kernels[step->kernel].ir, &l->s->b->plan->target, out,
                           l->s->b->d);
  const nxp_location *to = &step->buffers[1];
  if (to->kind != NXP_OUTPUT) return NX_OK;
  nx_dtype t = dtype_of_output(l, to->number);
  return bind_copy(l, t, step->bytes / nxi_dtype_size(t), out);
}

static nx_status bind_all(nxp_loop *l) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < l->plan->n_steps && status == NX_OK; i++)
    status = bind_step(l, &l->plan->steps[i], &l->joined->kernels[i]);
  for (uint32_t i = 0; i < l->c.n_carried && status == NX_OK; i++)
    status = bind_copy(l, dtype_of_output(l, i), elements_of_output(l, i), &l->joined->copies[i]);
  return status;
}

static void release(nxp_loop *l) {
  const nxp_joined *j = l->joined;
  for (uint32_t i = 0; j != NULL && j->kernels != NULL && i < l->plan->n_steps; i++)
    nxk_destroy(j->kernels[i]);
  for (uint32_t i = 0; j != NULL && j->copies != NULL && i < l->c.n_carried; i++)
    nxk_destroy(j->copies[i]);
}

static bool is_small(const nxk_kernel *k, int32_t threads) {
  for (uint32_t i = 0; i < k->n_regions; i++)
    if (k->regions[i].tasks_param >= 0) return false;
  return k->n_params == 0 && (threads <= 1 || nxk_task_count(k, NULL) <= MOST_TASKS);
}

/* Before anything is bound: whether the plan is of kernels and copies alone. */
static bool is_simple(const nxp_loop *l) {
  const nxp_plan *p = l->plan;
  size_t size = 0;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const nxp_step *step = &p->steps[i];
    if (step->kind != NXP_STEP_KERNEL && step->kind != NXP_STEP_COPY) return false;
    if (step->n_params > 0) return false;
  }
  for (uint32_t i = 0; i < p->n_kernels; i++) size += p->kernels[i].ir->n_instrs;
  for (uint32_t i = 0; i < p->n_outputs; i++)
    if (p->outputs[i].in_place_of >= 0) return false;
  return p->n_steps <= MOST_KERNELS && size <= MOST_INSTRUCTIONS &&
         ((double)p->work + 1) * (double)l->steps <= NXG_LOOP_WORK;
}

/* Whether inputs and results are elements of the dtypes that kernels know them by. */
static bool fits_step(const nxp_loop *l, uint32_t i) {
  const nxp_step *step = &l->plan->steps[i];
  const nxk_kernel *k = l->joined->kernels[i];
  nxp_joined_place p;
  if (k == NULL || !is_small(k, l->s->b->plan->options.threads)) return false;
  for (uint32_t b = 0; b < step->n_buffers; b++)
    if (!find_place(l, &step->buffers[b], k->buffers[b].dtype, &p)) return false;
  return true;
}

static bool fits(const nxp_loop *l) {
  const nxi_target *t = &l->s->b->plan->target;
  size_t size = 0;
  for (uint32_t i = 0; i < l->plan->n_steps; i++) {
    if (!fits_step(l, i)) return false;
    size += l->joined->kernels[i]->n_instrs;
  }
  for (uint32_t i = 0; i < l->c.n_carried; i++) {
    const nxg_node *x = node_of(l->s, l->n->args[l->c.first + i]);
    if (x->dtype != dtype_of_output(l, i) || nxg_node_elements(x) != elements_of_output(l, i))
      return false;
  }
  return size <= MOST_INSTRUCTIONS && l->joined->bytes <= MOST_BYTES &&
         (t->l2_bytes <= 0 || l->joined->bytes <= t->l2_bytes / 2);
}

static nx_status add_to_plan(nxp_loop *l) {
  nxp_plan_builder *b = l->s->b;
  nx_status status = nxp_check_kernel(l->to, "loop_kernels", b->d);
  if (status == NX_OK) status = nxp_show_kernel("kernels", l->to, b->d);
  if (status == NX_OK)
    status = nxp_add_kernel(l->s, l->to, l->buffers, NULL, 0, l->group->roots[0].node);
  if (status != NX_OK) return status;
  int64_t bytes = 0;
  for (uint32_t i = 0; i < l->binding.n_buffers; i++)
    bytes += l->to->buffers[i].elements * nxi_dtype_size(l->to->buffers[i].dtype);
  b->plan->steps[b->plan->n_steps - 1].bytes = bytes;
  nxp_more_work(b->plan, ((double)l->plan->work + 1) * (double)l->steps);
  return NX_OK;
}

static nx_status join(nxp_loop *l, bool *done) {
  nxp_plan_builder *b = l->s->b;
  char name[64];
  if (!reserve(l)) return nxi_oom(b->d);
  nx_status status = bind_all(l);
  if (status != NX_OK) return status;
  snprintf(name, sizeof name, "%s_%.50s", nxg_ops[l->c.op].name,
           l->plan->n_kernels > 0 ? l->plan->kernels[0].name : "copy");
  l->to = nxk_create(NXK_BOUND, name);
  if (l->to == NULL) return nxi_oom(b->d);
  add_buffers(l);
  if (l->to->failed) return nxi_oom(b->d);
  if (!fits(l)) return NX_OK;
  if (!nxp_loop_place_results(l) || !nxp_write_joined(l)) return nxi_oom(b->d);
  for (uint32_t i = 0; i < l->c.n_results; i++)
    if (l->result_buffer[i] != NXK_NONE)
      l->buffers[l->result_buffer[i]] = b->where[nxp_loop_result(l, i)];
  *done = true;
  return add_to_plan(l);
}

bool nxp_joined_find(const nxp_loop *l, const nxp_location *where, nx_dtype t,
                     nxp_joined_place *p) {
  return find_place(l, where, t, p);
}

nx_status nxp_join_loop(nxp_loop *l, bool *done) {
  bool on_gpu = l->s->b->plan->options.on_gpu || l->s->b->plan->target.block_threads > 0;
  if (on_gpu || !is_simple(l)) return NX_OK;
  nx_status status = join(l, done);
  release(l);
  return status;
}
