/* SPDX-License-Identifier: ISC */
/* Writes the kernel of a loop (plan/loop.c). It has a region for tensors and one for scalars, as
 * far as somebody reads the results:
 *
 *   for each point { what does not change; load what is carried;
 *                    for each step { the body; slices of stacks }
 *                    store what is carried }
 *
 * Both have the scalars that they need, so that neither waits for the other. */
#include "loop.h"

#include <string.h>

/* ---- memory */

static uint32_t add_buffer(nxp_loop *l, nxk_buffer_kind kind, nx_dtype dtype, int64_t elements,
                           nxp_location where) {
  uint32_t buffer = nxk_add_buffer(l->to, kind, dtype, elements);
  if (buffer == NXK_NONE) return buffer;
  l->to->buffers[buffer].restricted = true;
  l->buffers[buffer] = where;
  l->binding.n_buffers = buffer + 1;
  return buffer;
}

static uint32_t operand_buffer(nxp_loop *l, uint32_t operand) {
  const nxg_node *x = node_of(l->s, l->n->args[operand]);
  if (l->operand_buffer[operand] == NXK_NONE)
    l->operand_buffer[operand] = add_buffer(l, NXK_IN, (nx_dtype)x->dtype, nxg_node_elements(x),
                                            nxp_operand(l->s, l->n->args[operand], NULL));
  return l->operand_buffer[operand];
}

/* NXK_NONE: nothing reads the result. */
static uint32_t result_buffer(nxp_loop *l, uint32_t result) {
  uint32_t node = nxp_loop_result(l, result);
  if (node == UINT32_MAX) return NXK_NONE;
  const nxg_node *x = node_of(l->s, node);
  if (l->result_buffer[result] == NXK_NONE)
    l->result_buffer[result] =
        add_buffer(l, NXK_OUT, (nx_dtype)x->dtype, nxg_node_elements(x), l->s->b->where[node]);
  return l->result_buffer[result];
}

/* ---- accesses. Terms are in the arena of the loop. */

static nxk_term *new_terms(nxp_loop *l, uint32_t n) {
  nxk_term *terms = nxi_arena_alloc(&l->arena, ((size_t)n + 1) * sizeof *terms);
  if (terms == NULL) l->to->failed = true;
  return terms;
}

/* Adds the terms of the current point's number, times a stride. */
static void add_points(const nxp_loop *l, nxk_access *a, int64_t stride) {
  const nxp_loop_part *p = l->nest;
  for (nxk_value v = 0; v < p->k->n_instrs; v++)
    if (p->k->instrs[v].op == NXK_for)
      a->terms[a->n_terms++] = (nxk_term){p->map[v], nxp_loop_stride(p->k, v) * stride};
}

/* One element of v at the current point. */
static nxk_access at_point(nxp_loop *l, const nxp_loop_value *v, uint32_t part, uint32_t buffer) {
  nxk_access a = nxk_access_at(buffer, part);
  if (v->of == NXP_OF_ALL) return a;
  a.terms = new_terms(l, l->nest->k->n_loops);
  if (a.terms != NULL) add_points(l, &a, v->parts);
  return a;
}

static nxk_value moved(const nxp_loop_part *p, nxk_value v) {
  return v == NXK_NONE ? v : p->map[v];
}

/* An access of the body's kernel to other memory. */
static nxk_access moved_access(nxp_loop *l, const nxp_loop_part *p, const nxk_access *from,
                               uint32_t buffer) {
  nxk_access a = *from;
  a.buffer = buffer;
  a.terms = new_terms(l, a.n_terms + (p->in_one ? l->nest->k->n_loops : 0));
  a.n_terms = 0;
  for (uint32_t i = 0; a.terms != NULL && i < from->n_terms; i++) {
    const nxk_term *t = &from->terms[i];
    if (p->in_one) add_points(l, &a, t->stride);
    else a.terms[a.n_terms++] = (nxk_term){p->map[t->index], t->stride};
  }
  a.index = moved(p, a.index);
  a.mask = moved(p, a.mask);
  a.other = moved(p, a.other);
  return a;
}

/* Moves an access to the slice of this step. */
static void take_slice(nxp_loop *l, nxk_access *a, int64_t elements) {
  nxk_term *terms = new_terms(l, a->n_terms + 1);
  if (terms == NULL) return;
  if (a->n_terms > 0) memcpy(terms, a->terms, a->n_terms * sizeof *terms);
  terms[a->n_terms++] = (nxk_term){l->slice, elements};
  a->terms = terms;
}

static int64_t slice_of_input(const nxp_loop *l, uint32_t input) {
  return nxg_node_elements(&l->body->nodes[l->body->inputs[input].node]);
}

static int64_t slice_of_output(const nxp_loop *l, uint32_t output) {
  return nxg_node_elements(&l->body->nodes[l->body->outputs[output].node]);
}

static nxk_value load_input(nxp_loop *l, uint32_t input, nxk_access *a) {
  if (nxp_loop_is_slice(l, input)) take_slice(l, a, slice_of_input(l, input));
  return l->to->failed ? NXK_NONE : nxk_load(l->to, a, 1);
}

/* ---- the body's instructions */

static void write_load(nxp_loop *l, nxp_loop_part *p, nxk_value v) {
  const nxk_access *from = &p->k->accesses[p->k->instrs[v].imm];
  const nxp_location *where = &p->step->buffers[from->buffer];
  bool input = where->kind == NXP_INPUT;
  if (input && nxp_loop_is_step(l, where->number)) {
    p->map[v] = l->slice;
  } else if (input && !nxp_loop_is_carried(l, where->number)) {
    uint32_t buffer = operand_buffer(l, nxp_loop_operand(l, where->number));
    nxk_access a = moved_access(l, p, from, buffer);
    p->map[v] = load_input(l, where->number, &a);
  } else {
    p->map[v] = nxp_loop_value_at(l, where)->now[from->offset];
  }
}

/* Stores a part of a stacked result in its slice. */
static void store_slice(nxp_loop *l, uint32_t output, nxk_access *a, nxk_value value) {
  take_slice(l, a, slice_of_output(l, output));
  if (!l->to->failed) nxk_store(l->to, a, value);
}

/* What is stored is known from here on; slices of stacks are in memory, too. */
static void write_store(nxp_loop *l, nxp_loop_part *p, nxk_value v, bool of_region, bool steps) {
  const nxk_access *from = &p->k->accesses[p->k->instrs[v].imm];
  const nxp_location *where = &p->step->buffers[from->buffer];
  nxk_value value = p->map[p->k->instrs[v].args[0]];
  if (where->kind != NXP_OUTPUT || where->number < l->c.n_carried) {
    nxp_loop_value_at(l, where)->now[from->offset] = value;
    return;
  }
  nxp_loop_value *x = nxp_loop_value_at(l, where);
  uint32_t part;
  if (nxp_loop_at_point(p, from, x, &part)) x->now[part] = value;
  uint32_t buffer = steps && of_region ? result_buffer(l, where->number) : NXK_NONE;
  if (buffer == NXK_NONE) return;
  nxk_access a = moved_access(l, p, from, buffer);
  store_slice(l, where->number, &a, value);
}

/* Writes what varies from step to step, or else what does not. */
static void write_code(nxp_loop *l, nxp_loop_part *p, bool of_region, bool steps) {
  for (nxk_value v = 0; v < p->k->n_instrs && !l->to->failed; v++) {
    const nxk_instr *in = &p->k->instrs[v];
    if (in->op == NXK_region || in->op == NXK_end || in->op == NXK_for) continue;
    if (in->op == NXK_store && (steps || !p->varies[v])) write_store(l, p, v, of_region, steps);
    if (in->op == NXK_store || p->varies[v] != steps) continue;
    if (in->op == NXK_load) write_load(l, p, v);
    else nxk_copy_instr(l->to, p->k, v, p->map);
  }
}

/* The parts of one class, as far as they belong to the region. */
static void write_parts(nxp_loop *l, nxp_body_class region, nxp_body_class of, bool steps) {
  for (uint32_t i = 0; i < l->n_parts; i++)
    if (l->parts[i].of == of && (of == region || (of == NXP_OF_ALL && l->mixes)))
      write_code(l, &l->parts[i], of == region, steps);
}

/* ---- copies of whole values */

static nxk_value copied(nxp_loop *l, const nxp_location *from, uint32_t part) {
  const nxp_loop_value *x = nxp_loop_value_at(l, from);
  bool known = from->kind != NXP_INPUT || nxp_loop_is_carried(l, from->number);
  if (known) return x->now[part];
  nxk_access a = at_point(l, x, part, operand_buffer(l, nxp_loop_operand(l, from->number)));
  return load_input(l, from->number, &a);
}

static bool is_in(const nxp_loop *l, nxp_body_class region, const nxp_loop_value *v) {
  return v->of == region || (v->of == NXP_OF_ALL && l->mixes);
}

static void write_copies(nxp_loop *l, nxp_body_class region) {
  for (uint32_t i = 0; i < l->plan->n_steps && !l->to->failed; i++) {
    const nxp_step *step = &l->plan->steps[i];
    if (step->kind != NXP_STEP_COPY) continue;
    uint32_t output = step->buffers[1].number;
    nxp_loop_value *x = &l->outputs[output];
    bool stacked = output >= l->c.n_carried && x->of == region;
    for (uint32_t part = 0; is_in(l, region, x) && part < x->parts; part++) {
      x->now[part] = copied(l, &step->buffers[0], part);
      uint32_t buffer = stacked ? result_buffer(l, output) : NXK_NONE;
      if (buffer == NXK_NONE || l->to->failed) continue;
      nxk_access a = at_point(l, x, part, buffer);
      store_slice(l, output, &a, x->now[part]);
    }
  }
}

/* ---- what is carried */

typedef void each_carried(nxp_loop *l, uint32_t i, nxp_loop_value *v, uint32_t part);

static void for_each(nxp_loop *l, nxp_body_class region, each_carried *what) {
  for (uint32_t i = 0; i < l->c.n_carried; i++) {
    nxp_loop_value *v = nxp_loop_carried(l, i);
    for (uint32_t part = 0; is_in(l, region, v) && part < v->parts && !l->to->failed; part++)
      what(l, i, v, part);
  }
}

static void load_initial(nxp_loop *l, uint32_t i, nxp_loop_value *v, uint32_t part) {
  nxk_access a = at_point(l, v, part, operand_buffer(l, l->c.first + i));
  v->now[part] = l->to->failed ? NXK_NONE : nxk_load(l->to, &a, 1);
}

static void begin_carry(nxp_loop *l, uint32_t i, nxp_loop_value *v, uint32_t part) {
  (void)i;
  v->now[part] = nxk_carry(l->to, v->now[part]);
}

static void end_step(nxp_loop *l, uint32_t i, nxp_loop_value *v, uint32_t part) {
  nxk_next(l->to, v->now[part], l->outputs[i].now[part]);
}

static void store_last(nxp_loop *l, uint32_t i, nxp_loop_value *v, uint32_t part) {
  uint32_t buffer = result_buffer(l, i);
  if (buffer == NXK_NONE) return;
  nxk_access a = at_point(l, v, part, buffer);
  if (!l->to->failed) nxk_store(l->to, &a, v->now[part]);
}

/* ---- regions */

static void forget(nxp_loop *l) {
  for (uint32_t i = 0; i < l->n_parts; i++)
    memset(l->parts[i].map, 0xff, l->parts[i].k->n_instrs * sizeof *l->parts[i].map);
}

/* The number of the current point, for a kernel with one loop. */
static nxk_value point_number(const nxp_loop *l) {
  nxk_value number = nxk_const_i(l->to, NX_I64, 0);
  for (nxk_value v = 0; v < l->nest->k->n_instrs && !l->to->failed; v++) {
    if (l->nest->k->instrs[v].op != NXK_for) continue;
    nxk_value stride = nxk_const_i(l->to, NX_I64, nxp_loop_stride(l->nest->k, v));
    nxk_value by = NXK_SCALAR2(l->to, NXK_mul, l->nest->map[v], stride);
    number = NXK_SCALAR2(l->to, NXK_add, number, by);
  }
  return number;
}

/* Opens the loops over points, and gives all kernels over points their indices. */
static void open_points(nxp_loop *l) {
  const nxk_kernel *k = l->nest->k;
  for (nxk_value v = 0; v < k->n_instrs; v++)
    if (k->instrs[v].op == NXK_for)
      l->nest->map[v] =
          nxk_begin_range(l->to, NXK_OUTER, k->loops[k->instrs[v].imm].upper.constant);
  for (uint32_t i = 0; i < l->n_parts; i++) {
    nxp_loop_part *p = &l->parts[i];
    for (nxk_value v = 0, at = 0; p->of == NXP_OF_POINTS && v < p->k->n_instrs; v++) {
      if (p->k->instrs[v].op != NXK_for) continue;
      if (p->in_one) p->map[v] = point_number(l);
      while (!p->in_one && k->instrs[at].op != NXK_for) at++;
      if (!p->in_one) p->map[v] = l->nest->map[at++];
    }
  }
}

/* The number of steps: a constant, or a value that is no more than what is known. */
static nxk_bound_value count_of(nxp_loop *l) {
  if (l->c.count >= 0) return nxk_bound_const(l->c.count);
  nxk_access a = nxk_access_at(operand_buffer(l, 0), 0);
  nxk_value count = l->to->failed ? NXK_NONE : nxk_load(l->to, &a, 1);
  if (l->to->failed) return nxk_bound_const(0);
  nxk_value most = nxk_const_i(l->to, NX_I64, l->steps);
  return nxk_bound_of(NXK_SCALAR2(l->to, NXK_min, nxk_cast_to(l->to, NX_I64, count), most));
}

static void write_steps(nxp_loop *l, nxp_body_class region, nxk_bound_value count) {
  nxk_value step = nxk_begin_for(l->to, NXK_SEQ, nxk_bound_const(0), count, 1);
  for_each(l, region, begin_carry);
  l->slice = step;
  if (l->c.reverse)
    l->slice = NXK_SCALAR2(l->to, NXK_sub, nxk_const_i(l->to, NX_I64, l->c.count - 1), step);
  write_parts(l, region, NXP_OF_ALL, true);
  write_parts(l, region, NXP_OF_POINTS, true);
  write_copies(l, region);
  for_each(l, region, end_step);
  nxk_end(l->to);
}

static void write_region(nxp_loop *l, nxp_body_class region) {
  forget(l);
  nxk_begin_region(l->to);
  nxk_bound_value count = count_of(l);
  write_parts(l, region, NXP_OF_ALL, false);
  if (region == NXP_OF_POINTS) open_points(l);
  write_parts(l, region, NXP_OF_POINTS, false);
  for_each(l, region, load_initial);
  write_steps(l, region, count);
  for (uint32_t i = 0; i < l->c.n_carried; i++) {
    nxp_loop_value *v = nxp_loop_carried(l, i);
    for (uint32_t part = 0; v->of == region && part < v->parts && !l->to->failed; part++)
      store_last(l, i, v, part);
  }
  for (uint32_t i = 0; region == NXP_OF_POINTS && i < l->nest->k->n_loops; i++) nxk_end(l->to);
  nxk_end(l->to);
}

/* Whether a result of that kind is read. */
static bool is_wanted(const nxp_loop *l, nxp_body_class of) {
  for (uint32_t i = 0; i < l->c.n_results; i++)
    if (l->outputs[i].of == of && nxp_loop_result(l, i) != UINT32_MAX) return true;
  return false;
}

bool nxp_write_loop(nxp_loop *l) {
  if (is_wanted(l, NXP_OF_POINTS)) write_region(l, NXP_OF_POINTS);
  if (is_wanted(l, NXP_OF_ALL)) write_region(l, NXP_OF_ALL);
  return !l->to->failed;
}
