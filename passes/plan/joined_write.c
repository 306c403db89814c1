/* SPDX-License-Identifier: ISC */
/* Writes the kernel of a loop whose steps are several kernels (plan/joined.c): one task, in which
 * task loops of the body's kernels are loops in order. */
#include "loop.h"

#include <string.h>

/* Where the buffers of the kernel that is being copied are. */
typedef struct source {
  const nxk_kernel *k;
  nxk_value *map;
  nxp_joined_place *places;
} source;

static bool begin_source(nxp_loop *l, const nxk_kernel *k, source *from) {
  from->k = k;
  from->map = nxi_arena_alloc(&l->arena, ((size_t)k->n_instrs + 1) * sizeof *from->map);
  from->places = nxi_arena_alloc(&l->arena, ((size_t)k->n_buffers + 1) * sizeof *from->places);
  if (from->map == NULL || from->places == NULL) {
    l->to->failed = true;
    return false;
  }
  memset(from->map, 0xff, ((size_t)k->n_instrs + 1) * sizeof *from->map);
  for (uint32_t b = 0; b < k->n_buffers; b++) {
    const nxk_buffer *buffer = &k->buffers[b];
    if (buffer->kind != NXK_LOCAL) continue;
    from->places[b] = (nxp_joined_place){
        nxk_add_buffer(l->to, NXK_LOCAL, buffer->dtype, buffer->elements), 0, 0, NXK_NONE};
  }
  return !l->to->failed;
}

static nxk_value moved(const source *from, nxk_value v) { return v == NXK_NONE ? v : from->map[v]; }

/* The access in its place. Lines of a local array are no reason to go past the caches. */
static nxk_access moved_access(nxp_loop *l, const source *from, uint64_t number) {
  const nxk_access *old = &from->k->accesses[number];
  const nxp_joined_place *p = &from->places[old->buffer];
  nxk_access a = *old;
  a.terms = nxi_arena_alloc(&l->arena, ((size_t)old->n_terms + 1) * sizeof *a.terms);
  if (a.terms == NULL) {
    l->to->failed = true;
    return a;
  }
  for (uint32_t i = 0; i < old->n_terms; i++)
    a.terms[i] = (nxk_term){moved(from, old->terms[i].index), old->terms[i].stride};
  if (p->index != NXK_NONE) a.terms[a.n_terms++] = (nxk_term){p->index, p->stride};
  a.buffer = p->buffer;
  a.offset += p->offset;
  a.index = moved(from, a.index);
  a.mask = moved(from, a.mask);
  a.other = moved(from, a.other);
  a.flags &= ~(uint32_t)NXK_NONTEMPORAL;
  a.prefetch = 0;
  return a;
}

static void write_memory(nxp_loop *l, const source *from, nxk_value v) {
  const nxk_instr *in = &from->k->instrs[v];
  nxk_value x = moved(from, in->args[0]), y = moved(from, in->args[1]);
  bool two = in->imm2 != UINT32_MAX;
  nxk_access a = moved_access(l, from, in->imm), second = {0};
  if (two) second = moved_access(l, from, in->imm2);
  nxk_reduce_kind kind = (nxk_reduce_kind)in->kind;
  if (l->to->failed) return;
  switch (in->op) {
    case NXK_load: from->map[v] = nxk_load(l->to, &a, in->lanes); break;
    case NXK_store: nxk_store(l->to, &a, x); break;
    case NXK_tree_push:
      nxk_tree_push(l->to, kind, x, y, moved(from, in->args[2]), &a, two ? &second : NULL);
      break;
    default:
      from->map[v] = nxk_tree_join(l->to, kind, x, in->lanes, &a, two ? &second : NULL,
                                   (in->flags & NXK_INDEX_PART) != 0);
  }
}

static void write_instr(nxp_loop *l, const source *from, nxk_value v) {
  const nxk_instr *in = &from->k->instrs[v];
  switch (in->op) {
    case NXK_load:
    case NXK_store:
    case NXK_tree_push:
    case NXK_tree_join: write_memory(l, from, v); return;
    case NXK_for: {
      const nxk_loop *loop = &from->k->loops[in->imm];
      if (loop->kind != NXK_TASK) break;
      from->map[v] = nxk_begin_range(l->to, NXK_SEQ, loop->upper.constant);
      return;
    }
    default: break;
  }
  nxk_copy_instr(l->to, from->k, v, from->map);
}

/* All regions, one after the other. */
static void write_kernel(nxp_loop *l, const source *from) {
  uint32_t depth = 0;
  for (nxk_value v = 0; v < from->k->n_instrs && !l->to->failed; v++) {
    nxk_op op = (nxk_op)from->k->instrs[v].op;
    bool opens = op == NXK_region || op == NXK_for || op == NXK_cold, closes = op == NXK_end;
    depth -= closes;
    bool of_region = op == NXK_region || (closes && depth == 0);
    depth += opens;
    if (!of_region) write_instr(l, from, v);
  }
}

/* Bound instructions of all bodies that together are no more than a piece. */
enum { ONE_PIECE = 128 };

/* A piece of code for itself. Of little code all is together: calls would cost more than registers
 * that are short. */
static void begin_piece(nxp_loop *l) {
  nxk_value piece = nxk_begin_range(l->to, NXK_SEQ, 1);
  if (piece != NXK_NONE) l->to->loops[l->to->instrs[piece].imm].apart = l->joined->size > ONE_PIECE;
}

/* Whether a kernel is one of several, and has such pieces. */
static bool has_pieces(const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_loops; i++)
    if (k->loops[i].apart) return true;
  return false;
}

static void write_step(nxp_loop *l, const nxp_joined_body *body, uint32_t i) {
  const nxp_step *step = &body->plan->steps[i];
  source from;
  if (!begin_source(l, body->kernels[i], &from)) return;
  for (uint32_t b = 0; b < from.k->n_buffers; b++)
    if (from.k->buffers[b].kind != NXK_LOCAL &&
        !nxp_joined_find(l, &step->buffers[b], from.k->buffers[b].dtype, &from.places[b]))
      l->to->failed = true; /* it was found before */
  bool pieces = has_pieces(from.k);
  if (!pieces) begin_piece(l);
  write_kernel(l, &from);
  if (!pieces) nxk_end(l->to);
}

static void write_all(nxp_loop *l, uint32_t number) {
  const nxp_joined_body *body = &l->joined->bodies[number];
  l->joined->now = body;
  for (uint32_t i = 0; i < body->plan->n_steps && !l->to->failed; i++) write_step(l, body, i);
}

/* Copies carried value i from one place to another. */
static void write_copy(nxp_loop *l, uint32_t i, nxp_joined_place x, nxp_joined_place y) {
  source from;
  if (!begin_source(l, l->joined->copies[i], &from)) return;
  from.places[0] = x;
  from.places[1] = y;
  write_kernel(l, &from);
}

static nxk_value number(nxp_loop *l, int64_t x) { return nxk_const_i(l->to, NX_I64, x); }

/* The number of steps, as an i64 that is not below 0. */
static nxk_value count_of(nxp_loop *l) {
  if (l->c.count >= 0) return number(l, l->c.count);
  nxk_access a = nxk_access_at(l->operand_buffer[0], 0);
  nxk_value count = l->to->failed ? NXK_NONE : nxk_load(l->to, &a, 1);
  if (l->to->failed) return NXK_NONE;
  count = NXK_SCALAR2(l->to, NXK_min, nxk_cast_to(l->to, NX_I64, count), number(l, l->steps));
  return NXK_SCALAR2(l->to, NXK_max, count, number(l, 0));
}

static nxp_joined_place at_buffer(uint32_t buffer) {
  return (nxp_joined_place){buffer, 0, 0, NXK_NONE};
}

/* A block that is carried out so many times, 0 or 1. */
static void begin_if(nxp_loop *l, nxk_value times) {
  nxk_begin_for(l->to, NXK_SEQ, nxk_bound_const(0), nxk_bound_of(times), 1);
}

/* One step, from array `reads` of what is carried to the other. */
static void write_body(nxp_loop *l, nxk_value step, int reads) {
  nxp_joined *j = l->joined;
  j->reads = reads;
  l->slice = step;
  if (l->c.reverse) l->slice = NXK_SCALAR2(l->to, NXK_sub, number(l, l->c.count - 1), step);
  nxk_access at = nxk_access_at(j->number, 0);
  if (!l->to->failed && l->c.indexed) nxk_store(l->to, &at, l->slice);
  write_all(l, l->c.n_bodies - 1);
}

/* Ends the loop after this step if it is the last one, or the run is to stop. last: NXK_NONE: its
 * bounds say it. */
static void write_until(nxp_loop *l, nxk_value last) {
  nxk_access at = nxk_access_at(l->joined->stop, 0);
  at.flags = NXK_VOLATILE;
  if (l->endless && !l->to->failed) {
    nxk_value stop = nxk_load(l->to, &at, 1);
    last = last == NXK_NONE ? stop : NXK_SCALAR2(l->to, NXK_or, last, stop);
  }
  if (last != NXK_NONE) nxk_until(l->to, last);
}

/* Steps by twos. The last one of an odd number is alone. */
static void write_steps(nxp_loop *l, nxk_value count) {
  nxk_value step = nxk_begin_for(l->to, NXK_SEQ, nxk_bound_const(0), nxk_bound_of(count), 2);
  write_body(l, step, 0);
  nxk_value second = NXK_SCALAR2(l->to, NXK_add, step, number(l, 1));
  bool even = l->c.count >= 0 && l->c.count % 2 == 0;
  if (!even) {
    nxk_value left = NXK_SCALAR2(l->to, NXK_sub, count, second);
    begin_if(l, NXK_SCALAR2(l->to, NXK_min, left, number(l, 1)));
  }
  write_body(l, second, 1);
  if (!even) nxk_end(l->to);
  write_until(l, NXK_NONE);
  nxk_end(l->to);
}

/* ---- loops that go on while a condition holds */

static void store_number(nxp_loop *l, uint32_t array, int64_t x) {
  nxk_access at = nxk_access_at(array, 0);
  if (!l->to->failed) nxk_store(l->to, &at, number(l, x));
}

static nxk_value holds(nxp_loop *l) {
  nxk_access at = nxk_access_at(l->joined->holds, 0);
  return l->to->failed ? NXK_NONE : nxk_load(l->to, &at, 1);
}

/* A block that is carried out if the condition held when it was computed last. */
static void begin_if_holds(nxp_loop *l) {
  nxk_value now = holds(l);
  if (!l->to->failed) begin_if(l, nxk_cast_to(l->to, NX_I64, now));
}

/* Copies what is carried from one array to the other. */
static void write_back(nxp_loop *l) {
  const nxp_joined *j = l->joined;
  begin_piece(l);
  for (uint32_t i = 0; i < l->c.n_carried && !l->to->failed; i++)
    if (!j->in_place[i]) write_copy(l, i, at_buffer(j->carried[1][i]), at_buffer(j->carried[0][i]));
  nxk_end(l->to);
}

/* The condition, and a step from array `reads` if it holds. */
static void write_conditional(nxp_loop *l, int reads) {
  l->joined->reads = reads;
  write_all(l, 0);
  begin_if_holds(l);
  write_all(l, 1);
  if (l->joined->copies_back) write_back(l);
  else store_number(l, l->joined->odd, !reads);
  nxk_end(l->to);
}

/* Steps until the condition does not hold, by twos if what is carried alternates between its
 * arrays. Its own bound, where it has one, says nothing that the condition does not say. */
static void write_while(nxp_loop *l) {
  bool twice = !l->joined->copies_back;
  if (twice) store_number(l, l->joined->odd, 0);
  nxk_begin_for(l->to, NXK_SEQ, nxk_bound_const(0), nxk_bound_const(l->steps), twice ? 2 : 1);
  write_conditional(l, 0);
  if (twice) {
    begin_if_holds(l);
    write_conditional(l, 1);
    nxk_end(l->to);
  }
  nxk_value now = holds(l);
  if (!l->to->failed) write_until(l, NXK_SCALAR1(l->to, NXK_not, now));
  nxk_end(l->to);
}

/* ---- branches */

/* The number of the branch: of one that is not there, the last one's. */
static nxk_value branch_of(nxp_loop *l) {
  nxk_access at = nxk_access_at(l->operand_buffer[0], 0);
  nxk_value index = nxk_cast_to(l->to, NX_I64, nxk_load(l->to, &at, 1)),
            last = number(l, (int64_t)l->c.n_bodies - 1);
  nxk_value below = NXK_SCALAR2(l->to, NXK_lt, index, number(l, 0));
  index = NXK_SCALAR2(l->to, NXK_min, index, last);
  return nxk_scalar(l->to, NXK_select, 0, below, last, index);
}

static void write_branches(nxp_loop *l) {
  nxk_value branch = branch_of(l);
  for (uint32_t b = 0; b < l->c.n_bodies && !l->to->failed; b++) {
    nxk_value is = NXK_SCALAR2(l->to, NXK_eq, branch, number(l, b));
    begin_if(l, nxk_cast_to(l->to, NX_I64, is));
    write_all(l, b);
    nxk_end(l->to);
  }
}

/* ---- all of it */

/* Copies what is carried from an array to the results. */
static void write_from(nxp_loop *l, int array) {
  for (uint32_t i = 0; i < l->c.n_carried && !l->to->failed; i++)
    if (l->result_buffer[i] != NXK_NONE)
      write_copy(l, i, at_buffer(l->joined->carried[array][i]), at_buffer(l->result_buffer[i]));
}

/* odd: 1 if the results are in array 1; NXK_NONE: in `array`. */
static void write_results(nxp_loop *l, nxk_value odd, int array) {
  if (odd == NXK_NONE) {
    write_from(l, array);
    return;
  }
  for (int k = 0; k < 2 && !l->to->failed; k++) {
    begin_if(l, k == 1 ? odd : NXK_SCALAR2(l->to, NXK_sub, number(l, 1), odd));
    write_from(l, k);
    nxk_end(l->to);
  }
}

static void write_counted(nxp_loop *l) {
  nxk_value count = count_of(l);
  if (l->to->failed) return;
  write_steps(l, count);
  bool known = l->c.count >= 0;
  nxk_value odd = known ? NXK_NONE : NXK_SCALAR2(l->to, NXK_and, count, number(l, 1));
  write_results(l, odd, known ? (int)(l->c.count % 2) : 0);
}

static void write_loop(nxp_loop *l) {
  const nxp_joined *j = l->joined;
  for (uint32_t i = 0; i < l->c.n_carried && !l->to->failed; i++)
    write_copy(l, i, at_buffer(l->operand_buffer[l->c.first + i]), at_buffer(j->carried[0][i]));
  if (l->c.counted) {
    write_counted(l);
    return;
  }
  write_while(l);
  nxk_access at = nxk_access_at(j->odd, 0);
  bool two = !j->copies_back && !l->to->failed;
  write_results(l, two ? nxk_load(l->to, &at, 1) : NXK_NONE, 0);
}

bool nxp_write_joined(nxp_loop *l) {
  nxk_begin_region(l->to);
  nxk_begin_range(l->to, NXK_TASK, 1);
  if (l->c.op == NXG_case) write_branches(l);
  else write_loop(l);
  nxk_end(l->to);
  nxk_end(l->to);
  return !l->to->failed;
}
