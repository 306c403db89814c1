/* SPDX-License-Identifier: ISC */
/* Views of the binders: a logical instruction written where some values differ from lane to lane.
 *
 * An i64 that grows by a constant from lane to lane (a loop index, sums and multiples of it) is kept as its
 * base and step. So it can become the stride of an access or a mask without ever being a vector. */
#include "bind.h"

#include <string.h>

/* ---- small arithmetic */

nxk_value nxb_int(nxb_binder *b, int64_t x) { return nxk_const_i(b->to, NX_I64, x); }

nxk_value nxb_op(nxb_binder *b, nxk_op op, nxk_value x, nxk_value y) {
  return nxk_scalar(b->to, op, 0, x, y, NXK_NONE);
}

static nxk_value with_constant(nxb_binder *b, nxk_op op, nxk_value a, int64_t x) {
  if (a == NXK_NONE || b->to->failed) return NXK_NONE;
  return nxb_op(b, op, a, nxk_const_i(b->to, nxk_dtype(b->to, a), x));
}

nxk_value nxb_add(nxb_binder *b, nxk_value a, int64_t x) {
  return x == 0 ? a : with_constant(b, NXK_add, a, x);
}
nxk_value nxb_mul(nxb_binder *b, nxk_value a, int64_t x) {
  return x == 1 ? a : with_constant(b, NXK_mul, a, x);
}

/* Of values >= 0 by constants > 0. */
nxk_value nxb_div(nxb_binder *b, nxk_value a, int64_t x) {
  if (x == 1) return a;
  if ((x & (x - 1)) == 0) return with_constant(b, NXK_shr, a, __builtin_ctzll((uint64_t)x));
  return with_constant(b, NXK_div, a, x);
}

nxk_value nxb_mod(nxb_binder *b, nxk_value a, int64_t x) {
  if ((x & (x - 1)) == 0) return with_constant(b, NXK_and, a, x - 1);
  return with_constant(b, NXK_mod, a, x);
}

uint32_t nxb_add_local(nxb_binder *b, nx_dtype t, int64_t elements) {
  uint32_t number = nxk_add_buffer(b->to, NXK_LOCAL, t, elements);
  if (number == NXK_NONE) return NXK_NONE;
  b->to->buffers[number].aligned = true;
  b->to->buffers[number].restricted = true;
  return number;
}

/* ---- views */

bool nxb_view_init(nxb_binder *b, nxb_view *v) {
  size_t n = b->from->n_instrs;
  memset(v, 0, sizeof *v);
  v->map = nxb_alloc(b, n * sizeof *v->map);
  v->step = nxb_alloc(b, n * sizeof *v->step);
  v->lanes = 1;
  v->active = v->column = v->column_origin = v->vector = v->given = NXK_NONE;
  v->storing = v->slot = NXK_NONE;
  v->base_multiple = 1;
  v->stores = true;
  if (b->failed) return false;
  memset(v->map, 0xff, n * sizeof *v->map);
  return true;
}

void nxb_view_assign(const nxb_binder *b, nxb_view *to, const nxb_view *from) {
  size_t n = b->from->n_instrs;
  nxk_value *map = to->map;
  int64_t *step = to->step;
  memcpy(map, from->map, n * sizeof *map);
  memcpy(step, from->step, n * sizeof *step);
  *to = *from;
  to->map = map;
  to->step = step;
}

bool nxb_view_copy(nxb_binder *b, nxb_view *to, const nxb_view *from) {
  if (!nxb_view_init(b, to)) return false;
  nxb_view_assign(b, to, from);
  return true;
}

/* The mapped value (the base of an affine one), constants and parameters included. */
static nxk_value base_of(nxb_binder *b, const nxb_view *view, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op == NXK_const) return nxk_const(b->to, in->dtype, in->imm);
  return view->map[v] != NXK_NONE ? view->map[v] : b->top[v];
}

static int64_t step_of(const nxb_view *view, nxk_value v) {
  return view->lanes > 1 ? view->step[v] : 0;
}

static uint16_t lanes_of(const nxb_binder *b, nxk_value bound) {
  return bound < b->to->n_instrs ? b->to->instrs[bound].lanes : 1;
}

/* The number of each lane within its thread. */
static nxk_value lanes_in_group(nxb_binder *b, const nxb_view *view) {
  return nxb_mod(b, nxk_lanes(b->to, nxb_int(b, 0), view->lanes), view->group);
}

nxk_value nxb_operand(nxb_binder *b, const nxb_view *view, nxk_value v) {
  nxk_value base = base_of(b, view, v);
  int64_t step = step_of(view, v);
  if (step == 0 || base == NXK_NONE) return base;
  if (lanes_of(b, base) > 1)
    return nxb_op(b, NXK_add, base, nxb_mul(b, lanes_in_group(b, view), step));
  if (step == 1) return nxk_lanes(b->to, base, view->lanes);
  return nxb_op(b, NXK_add, base, nxb_mul(b, nxk_lanes(b->to, nxb_int(b, 0), view->lanes), step));
}

nxk_value nxb_wide(nxb_binder *b, const nxb_view *view, nxk_value v) {
  return nxk_splat(b->to, nxb_operand(b, view, v), view->lanes);
}

static void set(nxb_view *view, nxk_value v, nxk_value bound, int64_t step) {
  if (!view->map || !view->step) return; /* no memory, which the binder knows */
  view->map[v] = bound;
  view->step[v] = step;
}

void nxb_set_index(nxb_binder *b, nxb_view *view, const nxb_loop *loop, nxk_value i, bool vector) {
  set(view, loop->value, nxb_add(b, nxb_mul(b, i, loop->step), loop->lower),
      vector ? loop->step : 0);
}

/* Points that lie in several rows of the innermost loop: an index for each lane. */
static void set_scattered_point(nxb_binder *b, nxb_view *view, const nxb_stage *s, nxk_value point,
                                uint16_t lanes) {
  nxk_value rest = nxk_lanes(b->to, point, lanes);
  if (s->points < INT64_C(0xffffff00)) rest = nxk_cast_to(b->to, NX_U32, rest);
  for (uint32_t i = s->n_loops; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, s->loops[i].extent) : rest;
    nxb_set_index(b, view, &s->loops[i], nxk_cast_to(b->to, NX_I64, index), false);
    rest = nxb_div(b, rest, s->loops[i].extent);
  }
}

void nxb_set_point(nxb_binder *b, nxb_view *view, const nxb_stage *s, nxk_value point,
                   uint16_t lanes) {
  const nxb_loop *last = &s->loops[s->n_loops - 1];
  if (lanes > 1 && s->n_loops > 1 && last->extent % lanes != 0) {
    set_scattered_point(b, view, s, point, lanes);
    return;
  }
  nxk_value rest = point;
  for (uint32_t i = s->n_loops; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, s->loops[i].extent) : rest;
    nxb_set_index(b, view, &s->loops[i], index, lanes > 1 && i + 1 == s->n_loops);
    if (i > 0) rest = nxb_div(b, rest, s->loops[i].extent);
  }
}

/* ---- accesses */

typedef struct placed {
  nxk_access access;
  nxk_value index; /* of each lane, or NXK_NONE */
  bool wide;
} placed;

/* An index being added to an address. */
typedef struct addend {
  nxb_binder *b;
  nxk_access *access;
  nxk_value whole; /* not taken apart, or NXK_NONE */
  int sums;        /* that may still be taken apart */
} addend;

enum { MOST_SUMS = 7, MOST_ADDENDS = MOST_SUMS + 1 };

/* Adds stride * x, x of one lane: a sum as its addends and a constant multiple as a longer stride, so that neighbouring
 * accesses share their terms and differ in the offset alone. */
static void add_term(addend *a, nxk_value x, int64_t stride) {
  const nxk_instr *in = &a->b->to->instrs[x];
  nxk_access *access = a->access;
  int64_t constant;
  if (nxb_is_constant(a->b->to, x, &constant)) {
    access->offset += stride * constant;
    return;
  }
  if ((in->op == NXK_add || in->op == NXK_sub) && x != a->whole && a->sums > 0) {
    a->sums--;
    add_term(a, in->args[0], stride);
    add_term(a, in->args[1], in->op == NXK_sub ? -stride : stride);
    return;
  }
  if (in->op == NXK_mul && x != a->whole && nxb_is_constant(a->b->to, in->args[1], &constant)) {
    add_term(a, in->args[0], stride * constant);
    return;
  }
  for (uint32_t i = 0; i < access->n_terms; i++)
    if (access->terms[i].index == x) {
      access->terms[i].stride += stride;
      return;
    }
  access->terms[access->n_terms++] = (nxk_term){x, stride};
}

/* Adds stride * (bound value, one lane or several) to the address. */
static void add_to_address(nxb_binder *b, const nxb_view *view, placed *p, nxk_value x,
                           int64_t stride, int64_t step) {
  if (x == NXK_NONE || stride == 0 || b->to->failed) return;
  p->access.lane_stride += stride * step;
  if (lanes_of(b, x) > 1) {
    nxk_value scaled = nxb_mul(b, x, stride);
    p->index = p->index == NXK_NONE ? scaled : nxb_op(b, NXK_add, p->index, scaled);
    return;
  }
  bool known = view->base_multiple > 1 && view->vector != NXK_NONE;
  addend a = {b, &p->access, known ? view->map[view->vector] : NXK_NONE, MOST_SUMS};
  add_term(&a, x, stride);
}

static void add_columns(nxb_binder *b, const nxb_view *view, placed *p) {
  p->access.offset += view->column_offset;
  if (view->column != NXK_NONE) add_to_address(b, view, p, view->column, 1, 0);
  if (view->column_origin != NXK_NONE) add_to_address(b, view, p, view->column_origin, -1, 0);
  if (view->lanes > 1) p->access.lane_stride += 1;
}

/* The thread's own element of a LOCAL array. */
static void place_slot(nxb_binder *b, const nxb_view *view, placed *p) {
  p->access.offset = 0;
  add_to_address(b, view, p, view->slot, view->lanes, 0);
  p->access.lane_stride = 1;
}

/* A load or store of several lanes of a thread: where their distance is known but a lane has an index of its own, the
 * distance becomes part of that. */
static void place_groups(nxb_binder *b, const nxb_view *view, placed *p) {
  if (view->group < 2 || p->index == NXK_NONE) return;
  if (lanes_of(b, p->index) == view->lanes / view->group) {
    p->access.group = view->group;
    return;
  }
  if (p->access.lane_stride == 0) return;
  nxk_value along = nxb_mul(b, lanes_in_group(b, view), p->access.lane_stride);
  p->index = nxb_op(b, NXK_add, p->index, along);
  p->access.lane_stride = 0;
}

static bool place_access(nxb_binder *b, const nxb_view *view, const nxk_access *a, placed *p) {
  bool local = b->from->buffers[a->buffer].kind == NXK_LOCAL;
  int64_t scale = local && view->columns > 0 ? view->columns : 1;
  p->access = *a;
  p->access.terms = nxb_alloc(b, (a->n_terms + 3) * MOST_ADDENDS * sizeof *a->terms);
  if (b->failed) return false;
  p->access.n_terms = 0;
  p->access.lane_stride = 0;
  p->access.offset *= scale;
  p->index = NXK_NONE;
  if (local) p->access.buffer = b->local[a->buffer];
  bool own = local && view->slot != NXK_NONE;
  if (own) place_slot(b, view, p);
  for (uint32_t i = 0; i < a->n_terms && !own; i++) {
    nxk_value index = a->terms[i].index;
    add_to_address(b, view, p, base_of(b, view, index), a->terms[i].stride * scale,
                   step_of(view, index));
  }
  if (a->index != NXK_NONE && !own)
    add_to_address(b, view, p, base_of(b, view, a->index), scale, step_of(view, a->index));
  if (local && view->columns > 0) add_columns(b, view, p);
  place_groups(b, view, p);
  p->access.index = p->index;
  p->access.mask = a->mask == NXK_NONE ? NXK_NONE : nxb_operand(b, view, a->mask);
  p->access.other = a->other == NXK_NONE ? NXK_NONE : nxb_operand(b, view, a->other);
  p->wide = p->access.lane_stride != 0 || p->index != NXK_NONE ||
            (p->access.mask != NXK_NONE && lanes_of(b, p->access.mask) > 1);
  return true;
}

/* Brings a wide access into the form of the bound level: lanes that do not exist are masked off. */
static void finish_wide(nxb_binder *b, const nxb_view *view, nxk_access *a) {
  if (a->lane_stride == 0 && a->index == NXK_NONE)
    a->index = nxk_splat(b->to, nxb_int(b, 0), view->lanes);
  if (view->active == NXK_NONE) return;
  a->mask = a->mask == NXK_NONE ? view->active : nxb_op(b, NXK_and, a->mask, view->active);
}

int64_t nxb_multiple(const nxb_binder *b, nxk_value v) {
  const nxk_instr *in = &b->to->instrs[v];
  int64_t constant;
  uint64_t bits = 1;
  if (nxb_is_constant(b->to, v, &constant)) bits = (uint64_t)constant | 64;
  else if (in->op == NXK_mul)
    bits = (uint64_t)nxb_multiple(b, in->args[0]) * (uint64_t)nxb_multiple(b, in->args[1]) | 64;
  else if (in->op == NXK_add || in->op == NXK_sub || in->op == NXK_mod || in->op == NXK_and)
    bits = (uint64_t)nxb_multiple(b, in->args[0]) | (uint64_t)nxb_multiple(b, in->args[1]);
  else if (in->op == NXK_splat ||
           (in->op == NXK_cast && nxi_is_integer(nxk_dtype(b->to, in->args[0]))))
    bits = (uint64_t)nxb_multiple(b, in->args[0]);
  if (in->op == NXK_and) { /* as of a product: what either divides */
    int64_t x = nxb_multiple(b, in->args[0]), y = nxb_multiple(b, in->args[1]);
    bits = (uint64_t)(x > y ? x : y);
  }
  return (int64_t)(bits & -bits);
}

/* Whether the lanes of each thread lie beside each other, and begin where a word of their size may. */
static bool is_whole(const nxb_binder *b, const nxb_view *view, const nxk_access *from,
                     const nxk_access *a) {
  int64_t unit = b->threads ? view->lanes / b->threads : 1;
  const nxk_buffer *buffer = &b->from->buffers[from->buffer];
  bool computed = a->index != NXK_NONE && a->group == 0;
  if (unit < 2 || a->lane_stride != 1 || computed || !buffer->aligned || a->offset % unit != 0 ||
      b->to->failed)
    return false;
  int64_t word = unit * nxi_dtype_size(buffer->dtype);
  if (word > 16) unit = unit * 16 / word;
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (a->terms[i].stride * nxb_multiple(b, a->terms[i].index) % unit != 0) return false;
  return a->index == NXK_NONE || nxb_multiple(b, a->index) % unit == 0;
}

static void mark_whole(const nxb_binder *b, const nxb_view *view, const nxk_access *from,
                       nxk_access *a) {
  if (is_whole(b, view, from, a)) a->flags |= NXK_WHOLE;
}

nxk_access nxb_tile_access(nxb_binder *b, const nxb_view *view, const nxb_tile *tile,
                           nxk_value load) {
  placed p = {nxk_access_at(tile->array[load], tile->margin * (tile->pitch + 1)), NXK_NONE,
              view->lanes > 1};
  p.access.terms = nxb_alloc(b, 4 * MOST_ADDENDS * sizeof *p.access.terms);
  if (b->failed) return p.access;
  if (tile->place != NULL) {
    p.access.index = *tile->place;
    finish_wide(b, view, &p.access);
    return p.access;
  }
  add_to_address(b, view, &p, base_of(b, view, tile->row), tile->pitch, step_of(view, tile->row));
  add_to_address(b, view, &p, tile->row_origin, -tile->pitch, 0);
  add_to_address(b, view, &p, base_of(b, view, tile->column), 1, step_of(view, tile->column));
  add_to_address(b, view, &p, tile->column_origin, -1, 0);
  if (p.wide) finish_wide(b, view, &p.access);
  return p.access;
}

/* Lanes of a load: one for each thread, where all its lanes are one element. */
static uint16_t thread_lanes(const nxb_binder *b, const nxb_view *view, const nxk_access *a) {
  uint16_t threads = view->group > 1 ? (uint16_t)(view->lanes / view->group) : view->lanes;
  bool mask = a->mask == NXK_NONE || lanes_of(b, a->mask) <= threads,
       other = a->other == NXK_NONE || lanes_of(b, a->other) <= threads,
       active = view->active == NXK_NONE || lanes_of(b, view->active) <= threads;
  return a->group > 1 && a->lane_stride == 0 && mask && other && active ? threads : view->lanes;
}

/* Whether a vector is the whole loop and its mask differs from lane to lane: there is hardly a vector without a lane then. */
static bool sees_all(const nxb_binder *b, const nxb_view *view, nxk_value mask) {
  if (view->vector == NXK_NONE || mask == NXK_NONE || lanes_of(b, mask) == 1) return false;
  const nxk_loop *loop = &b->from->loops[b->from->instrs[view->vector].imm];
  return loop->upper.value == NXK_NONE && loop->lower.value == NXK_NONE &&
         loop->upper.constant - loop->lower.constant <= view->lanes * loop->step;
}

static void write_load(nxb_binder *b, nxb_view *view, nxk_value v) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  placed p;
  if (v == view->given) return;
  if (view->tile && view->tile->array[v] != NXK_NONE) {
    p.access = nxb_tile_access(b, view, view->tile, v);
    if (!b->failed) set(view, v, nxk_load(b->to, &p.access, view->lanes), 0);
    return;
  }
  if (!place_access(b, view, a, &p)) return;
  nxk_value other = p.access.other;
  if (p.wide) {
    uint16_t lanes = thread_lanes(b, view, &p.access);
    bool always_some = sees_all(b, view, p.access.mask);
    finish_wide(b, view, &p.access);
    if (a->mask != NXK_NONE && b->threads == 0 && !always_some) p.access.flags |= NXK_SKIPS;
    if (lanes != view->lanes) p.access.group = 0;
    else mark_whole(b, view, a, &p.access);
    set(view, v, nxk_load(b->to, &p.access, lanes), 0);
    return;
  }
  bool wide_other = other != NXK_NONE && lanes_of(b, other) > 1;
  if (wide_other) p.access.other = NXK_NONE;
  nxk_value loaded = nxk_load(b->to, &p.access, 1);
  if (wide_other) loaded = nxk_scalar(b->to, NXK_select, 0, p.access.mask, loaded, other);
  set(view, v, loaded, 0);
}

/* True if every vector is one or several whole cache lines. A store past the caches that leaves part of a line waits for the
 * rest, and goes to memory in pieces if that does not follow at once: several times as slow as a plain one. */
static bool is_whole_lines(const nxb_binder *b, const nxb_view *view, const nxk_access *from,
                           const nxk_access *a) {
  const nxk_buffer *buffer = &b->from->buffers[from->buffer];
  int64_t bytes = view->lanes * nxi_dtype_size(buffer->dtype);
  int64_t unit = NXK_LINE / nxi_dtype_size(buffer->dtype);
  if (bytes % NXK_LINE != 0 || !buffer->aligned || a->lane_stride != 1 || a->index != NXK_NONE ||
      a->mask != NXK_NONE || a->offset % unit != 0)
    return false;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    bool base = view->vector != NXK_NONE && a->terms[i].index == view->map[view->vector];
    int64_t multiple = base ? view->base_multiple : 1;
    if (a->terms[i].stride * multiple % unit != 0) return false;
  }
  return true;
}

static void write_store(nxb_binder *b, nxb_view *view, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  const nxk_access *a = &b->from->accesses[in->imm];
  nxk_value value = nxb_operand(b, view, in->args[0]);
  placed p;
  if (!view->stores || !place_access(b, view, a, &p)) return;
  if (p.wide || lanes_of(b, value) > 1) {
    finish_wide(b, view, &p.access);
    value = nxk_splat(b->to, value, view->lanes);
    mark_whole(b, view, a, &p.access);
  }
  if (view->storing != NXK_NONE && b->from->buffers[a->buffer].kind != NXK_LOCAL)
    p.access.mask = p.access.mask == NXK_NONE ? view->storing
                                              : nxb_op(b, NXK_and, p.access.mask, view->storing);
  if ((p.access.flags & NXK_NONTEMPORAL) && !is_whole_lines(b, view, a, &p.access))
    p.access.flags &= ~(uint32_t)NXK_NONTEMPORAL;
  if (b->threads) p.access.flags &= ~(uint32_t)NXK_NONTEMPORAL;
  bool alone = b->threads && !p.wide && lanes_of(b, value) == 1; /* one thread stores it for all */
  if (alone) nxk_barrier(b->to);
  nxk_store(b->to, &p.access, value);
  if (alone) nxk_barrier(b->to);
}

/* ---- scalars */

/* Sums, differences and constant multiples of affine values stay affine. */
static bool write_affine(nxb_binder *b, nxb_view *view, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->dtype != NX_I64 || (in->op != NXK_add && in->op != NXK_sub && in->op != NXK_mul))
    return false;
  nxk_value x = base_of(b, view, in->args[0]), y = base_of(b, view, in->args[1]);
  int64_t x_step = step_of(view, in->args[0]), y_step = step_of(view, in->args[1]), factor;
  uint16_t most = view->group > 1 ? (uint16_t)(view->lanes / view->group) : 1;
  if ((x_step == 0 && y_step == 0) || b->to->failed || lanes_of(b, x) > most ||
      lanes_of(b, y) > most)
    return false;
  if (in->op == NXK_add) {
    set(view, v, nxb_op(b, NXK_add, x, y), x_step + y_step);
  } else if (in->op == NXK_sub) {
    set(view, v, nxb_op(b, NXK_sub, x, y), x_step - y_step);
  } else if (nxb_is_constant(b->to, y, &factor) && y_step == 0) {
    set(view, v, nxb_op(b, NXK_mul, x, y), x_step * factor);
  } else if (nxb_is_constant(b->to, x, &factor) && x_step == 0) {
    set(view, v, nxb_op(b, NXK_mul, x, y), y_step * factor);
  } else {
    return false;
  }
  return true;
}

/* base + lane < end for one constant or uniform end. False: not of this form. */
static bool write_active(nxb_binder *b, nxb_view *view, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if ((in->op != NXK_lt && in->op != NXK_le) || nxk_dtype(b->from, in->args[0]) != NX_I64)
    return false;
  bool index_left = step_of(view, in->args[0]) == 1;
  nxk_value index = in->args[index_left ? 0 : 1], end = in->args[index_left ? 1 : 0];
  if (step_of(view, index) != 1 || step_of(view, end) != 0) return false;
  nxk_value base = base_of(b, view, index), limit = base_of(b, view, end);
  if (b->to->failed || lanes_of(b, limit) > 1 || lanes_of(b, base) > 1) return false;
  int64_t constant;
  if ((in->op == NXK_le) == index_left) { /* index <= end, end < index: the limit is end + 1 */
    if (!nxb_is_constant(b->to, limit, &constant) || constant == INT64_MAX) return false;
    limit = nxb_int(b, constant + 1);
  }
  nxk_value active = nxk_active(b->to, base, limit, view->lanes);
  set(view, v, index_left ? active : nxk_scalar(b->to, NXK_not, 0, active, NXK_NONE, NXK_NONE), 0);
  return true;
}

static void write_scalar(nxb_binder *b, nxb_view *view, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  nxk_value args[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
  if (view->lanes > 1 && (write_affine(b, view, v) || write_active(b, view, v))) return;
  for (int i = 0; i < in->n_args; i++) args[i] = nxb_operand(b, view, in->args[i]);
  set(view, v, nxk_scalar_of(b->to, (nxk_op)in->op, in->dtype, args), 0);
}

/* ---- rare blocks */

static bool is_pick_of(const nxk_kernel *k, nxk_value v, nxk_value rare) {
  return v < k->n_instrs && k->instrs[v].op == NXK_pick && k->instrs[v].args[0] == rare;
}

/* The block and the picks after it. Their operands get all lanes before the block ends, because nothing may
 * stand between it and its picks. */
static nxk_value write_rare(nxb_binder *b, nxb_view *view, nxk_value v) {
  const nxk_kernel *from = b->from;
  nxk_value end = b->end_of[v], last = end;
  for (nxk_value p = end + 1; is_pick_of(from, p, v); last = p++)
    if (!is_pick_of(from, from->instrs[p].args[2], v))
      nxb_wide(b, view, from->instrs[p].args[2]); /* found again below */
  nxk_value rare = nxk_begin_rare(b->to, nxb_wide(b, view, from->instrs[v].args[0]));
  set(view, v, rare, 0);
  for (nxk_value i = v + 1; i < end && !b->to->failed; i++) i = nxb_write(b, view, i);
  for (nxk_value p = end + 1; p <= last; p++)
    set(view, p, nxb_wide(b, view, from->instrs[p].args[1]), 0);
  nxk_end(b->to);
  for (nxk_value p = end + 1; p <= last && !b->to->failed; p++)
    set(view, p, nxk_pick(b->to, rare, view->map[p], nxb_wide(b, view, from->instrs[p].args[2])),
        0);
  return last;
}

/* ---- code */

nxk_value nxb_write(nxb_binder *b, nxb_view *view, nxk_value v) {
  if (b->to->failed || b->failed) return v;
  switch (b->from->instrs[v].op) {
    case NXK_const:
    case NXK_param: return v;
    case NXK_load: write_load(b, view, v); return v;
    case NXK_store: write_store(b, view, v); return v;
    case NXK_rare: return write_rare(b, view, v);
    default: write_scalar(b, view, v); return v;
  }
}

bool nxb_is_code(nxk_op op) {
  return op < NXK_SCALAR_COUNT || op == NXK_load || op == NXK_store || op == NXK_rare;
}

void nxb_write_code(nxb_binder *b, nxb_view *view, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v <= last; v++)
    if (nxb_is_code((nxk_op)b->from->instrs[v].op)) v = nxb_write(b, view, v);
}

static bool is_here(const nxb_binder *b, const nxb_view *view, nxk_value v, nxk_value first,
                    nxk_value last) {
  if (v == NXK_NONE || (v >= first && v <= last) || b->from->instrs[v].op == NXK_const) return true;
  return view->map[v] != NXK_NONE || b->top[v] != NXK_NONE;
}

/* Operands of one instruction; those within [first, last] are being written with it. */
static bool operands_here(const nxb_binder *b, const nxb_view *view, nxk_value v, nxk_value first,
                          nxk_value last) {
  const nxk_instr *in = &b->from->instrs[v];
  bool here = true;
  for (int i = 0; i < in->n_args; i++) here = here && is_here(b, view, in->args[i], first, last);
  if (in->op != NXK_load && in->op != NXK_store) return here;
  const nxk_access *a = &b->from->accesses[in->imm];
  for (uint32_t i = 0; i < a->n_terms; i++)
    here = here && is_here(b, view, a->terms[i].index, first, last);
  return here && is_here(b, view, a->index, first, last) &&
         is_here(b, view, a->mask, first, last) && is_here(b, view, a->other, first, last);
}

void nxb_write_ready(nxb_binder *b, nxb_view *view) {
  for (nxk_value v = b->part->first + 1; v < b->part->body_first && !b->to->failed; v++) {
    nxk_value last = v;
    if (!nxb_is_code((nxk_op)b->from->instrs[v].op)) continue;
    if (b->from->instrs[v].op == NXK_rare)
      for (last = b->end_of[v]; is_pick_of(b->from, last + 1, v);) last++;
    bool here = view->map[v] == NXK_NONE;
    for (nxk_value i = v; i <= last; i++) here = here && operands_here(b, view, i, v, last);
    if (here) nxb_write(b, view, v);
    v = last;
  }
}
