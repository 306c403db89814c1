/* SPDX-License-Identifier: ISC */
/* Lane maps of the binders: writing logical instructions at a place where some values differ from
 * lane to lane.
 *
 * An i64 that grows by a constant from lane to lane (a loop index, sums and multiples of it) is
 * kept as its base and step. Used in an address it becomes the stride of an access, and used in a
 * comparison it becomes an `active`; in neither case is a vector of indices computed. */
#include "lane_map.h"

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

/* A division by a parameter is slow, but not where it is done once a task or a loop; lanes are
 * divided by constants only. */
static bool divides_generic(const nxb_binder *b, nxk_value a) {
  return b->target->generic && a != NXK_NONE && !b->to->failed && nxb_lanes_of(b, a) == 1;
}

/* Division and remainder of values >= 0 by constants > 0. */
nxk_value nxb_div(nxb_binder *b, nxk_value a, int64_t x) {
  int64_t factor;
  if (divides_generic(b, a)) return with_constant(b, NXK_div, a, x);
  if (x == 1 || a == NXK_NONE || b->to->failed) return a;
  const nxk_instr *in = &b->to->instrs[a];
  if (in->op == NXK_mul && nxb_is_constant(b->to, in->args[1], &factor) && factor % x == 0)
    return nxb_mul(b, in->args[0], factor / x);
  if ((x & (x - 1)) == 0) return with_constant(b, NXK_shr, a, __builtin_ctzll((uint64_t)x));
  return with_constant(b, NXK_div, a, x);
}

nxk_value nxb_mod(nxb_binder *b, nxk_value a, int64_t x) {
  if (divides_generic(b, a)) return with_constant(b, NXK_mod, a, x);
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

/* ---- lane maps */

bool nxb_lane_map_init(nxb_binder *b, nxb_lane_map *v) {
  size_t n = b->from->n_instrs;
  memset(v, 0, sizeof *v);
  v->bound = nxb_alloc(b, n * sizeof *v->bound);
  v->step = nxb_alloc(b, n * sizeof *v->step);
  v->lanes = 1;
  v->active = v->column = v->column_origin = v->vector = v->given = NXK_NONE;
  v->storing = v->slot = v->twice = v->pair = v->twice_base = NXK_NONE;
  v->base_multiple = 1;
  v->stores = true;
  if (b->failed) return false;
  memset(v->bound, 0xff, n * sizeof *v->bound);
  return true;
}

void nxb_lane_map_assign(const nxb_binder *b, nxb_lane_map *to, const nxb_lane_map *from) {
  size_t n = b->from->n_instrs;
  nxk_value *bound = to->bound;
  int64_t *step = to->step;
  memcpy(bound, from->bound, n * sizeof *bound);
  memcpy(step, from->step, n * sizeof *step);
  *to = *from;
  to->bound = bound;
  to->step = step;
}

bool nxb_lane_map_copy(nxb_binder *b, nxb_lane_map *to, const nxb_lane_map *from) {
  if (!nxb_lane_map_init(b, to)) return false;
  nxb_lane_map_assign(b, to, from);
  return true;
}

nxk_value nxb_base_of(nxb_binder *b, const nxb_lane_map *map, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op == NXK_const) return nxk_const(b->to, in->dtype, in->imm);
  return map->bound[v] != NXK_NONE ? map->bound[v] : b->top[v];
}

nxk_value nxb_lanes_in_group(nxb_binder *b, const nxb_lane_map *map) {
  return nxb_mod(b, nxk_step_vector(b->to, nxb_int(b, 0), map->lanes), map->group);
}

nxk_value nxb_operand(nxb_binder *b, const nxb_lane_map *map, nxk_value v) {
  nxk_value base = nxb_base_of(b, map, v);
  int64_t step = nxb_step_of(map, v);
  if (step == 0 || base == NXK_NONE) return base;
  if (nxb_lanes_of(b, base) > 1)
    return nxb_op(b, NXK_add, base, nxb_mul(b, nxb_lanes_in_group(b, map), step));
  if (step == 1) return nxk_step_vector(b->to, base, map->lanes);
  return nxb_op(b, NXK_add, base,
                nxb_mul(b, nxk_step_vector(b->to, nxb_int(b, 0), map->lanes), step));
}

nxk_value nxb_wide(nxb_binder *b, const nxb_lane_map *map, nxk_value v) {
  return nxk_splat(b->to, nxb_operand(b, map, v), map->lanes);
}

void nxb_widen_shared(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, const bool *varies,
                      uint16_t lanes) {
  for (nxk_value v = s->first; v <= s->last; v++) {
    const nxk_instr *user = &b->from->instrs[v];
    for (int i = 0; i < user->n_args && user->op < NXK_SCALAR_COUNT && varies[v]; i++) {
      nxk_value shared = user->args[i];
      if (varies[shared] || b->from->instrs[shared].op != NXK_load || b->to->failed) continue;
      if (map->bound[shared] != NXK_NONE)
        map->bound[shared] = nxk_splat(b->to, map->bound[shared], lanes);
    }
  }
}

void nxb_set_value(nxb_lane_map *map, nxk_value v, nxk_value bound, int64_t step) {
  if (!map->bound || !map->step) return; /* out of memory; the binder has recorded that */
  map->bound[v] = bound;
  map->step[v] = step;
}

void nxb_set_index(nxb_binder *b, nxb_lane_map *map, const nxb_loop *loop, nxk_value i,
                   bool vector) {
  nxb_set_value(map, loop->value, nxb_add(b, nxb_mul(b, i, loop->step), loop->lower),
                vector ? loop->step : 0);
}

/* Sets the indices for points that lie in several rows of the innermost loop: each lane gets its
 * own. */
static void set_scattered_point(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s,
                                nxk_value point, uint16_t lanes) {
  nxk_value rest = nxk_step_vector(b->to, point, lanes);
  if (s->points < INT64_C(0xffffff00)) rest = nxk_cast_to(b->to, NX_U32, rest);
  for (uint32_t i = s->n_loops; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, s->loops[i].extent) : rest;
    nxb_set_index(b, map, &s->loops[i], nxk_cast_to(b->to, NX_I64, index), false);
    rest = nxb_div(b, rest, s->loops[i].extent);
  }
}

/* Sets the indices of loops[0 .. n) for iteration number `rest` of all of them together. */
static void set_uniform_point(nxb_binder *b, nxb_lane_map *map, const nxb_loop *loops, uint32_t n,
                              nxk_value rest) {
  for (uint32_t i = n; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, loops[i].extent) : rest;
    nxb_set_index(b, map, &loops[i], index, false);
    if (i > 0) rest = nxb_div(b, rest, loops[i].extent);
  }
}

/* Sets the indices where lanes run along the last loop, which has two points, and the loop around
 * it. */
static void set_paired_point(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, nxk_value point,
                             uint16_t lanes) {
  uint32_t around = s->n_loops - 2;
  nxk_value rest = nxb_div(b, point, 2), base = rest;
  if (around > 0) {
    base = nxb_mod(b, rest, s->loops[around].extent);
    set_uniform_point(b, map, s->loops, around, nxb_div(b, rest, s->loops[around].extent));
  }
  nxk_value lane = nxk_step_vector(b->to, nxb_int(b, 0), lanes);
  map->pair = s->loops[around + 1].value;
  map->twice = s->loops[around].value;
  map->twice_base = base;
  nxb_set_value(map, map->pair, nxb_mod(b, lane, 2), 0);
  nxb_set_value(map, map->twice, nxb_op(b, NXK_add, nxb_div(b, lane, 2), base), 0);
}

void nxb_set_point(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, nxk_value point,
                   uint16_t lanes) {
  const nxb_loop *last = &s->loops[s->n_loops - 1];
  map->twice = map->pair = NXK_NONE;
  if (lanes > 1 && b->threads == 0 && nxb_pairs_fill(s, lanes) && !b->to->failed &&
      nxb_multiple(b, point) % lanes == 0) {
    set_paired_point(b, map, s, point, lanes);
    return;
  }
  if (lanes > 1 && s->n_loops > 1 && last->extent % lanes != 0) {
    set_scattered_point(b, map, s, point, lanes);
    return;
  }
  nxk_value index = s->n_loops > 1 ? nxb_mod(b, point, last->extent) : point;
  nxb_set_index(b, map, last, index, lanes > 1);
  if (s->n_loops > 1)
    set_uniform_point(b, map, s->loops, s->n_loops - 1, nxb_div(b, point, last->extent));
}

/* ---- scalars */

/* Writes sums, differences and constant multiples of affine values, which are affine again. False
 * if v is none of these. */
static bool write_affine(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->dtype != NX_I64 || (in->op != NXK_add && in->op != NXK_sub && in->op != NXK_mul))
    return false;
  nxk_value x = nxb_base_of(b, map, in->args[0]), y = nxb_base_of(b, map, in->args[1]);
  int64_t x_step = nxb_step_of(map, in->args[0]), y_step = nxb_step_of(map, in->args[1]), factor;
  uint16_t most = map->group > 1 ? (uint16_t)(map->lanes / map->group) : 1;
  if ((x_step == 0 && y_step == 0) || b->to->failed || nxb_lanes_of(b, x) > most ||
      nxb_lanes_of(b, y) > most)
    return false;
  if (in->op == NXK_add) {
    nxb_set_value(map, v, nxb_op(b, NXK_add, x, y), x_step + y_step);
  } else if (in->op == NXK_sub) {
    nxb_set_value(map, v, nxb_op(b, NXK_sub, x, y), x_step - y_step);
  } else if (nxb_is_constant(b->to, y, &factor) && y_step == 0) {
    nxb_set_value(map, v, nxb_op(b, NXK_mul, x, y), x_step * factor);
  } else if (nxb_is_constant(b->to, x, &factor) && x_step == 0) {
    nxb_set_value(map, v, nxb_op(b, NXK_mul, x, y), y_step * factor);
  } else {
    return false;
  }
  return true;
}

enum { INDEX_BITS = 48, MOST_BITS = 61, DEPTH = 16 };

static int bits_of_constant(int64_t x) {
  return x == 0 ? 1 : 65 - __builtin_clzll((uint64_t)(x < 0 ? -(x + 1) : x) | 1);
}

/* Bits that hold an integer in all lanes, with its sign; 64: nothing is known. */
static int bits_of(const nxk_kernel *k, nxk_value v, int depth) {
  const nxk_instr *in = &k->instrs[v];
  const int all = nxi_is_integer((nx_dtype)in->dtype) ? nxi_dtypes[in->dtype].bits + 1 : 64;
  int x, y;
  if (depth == 0 || in->dtype != NX_I64) return all < 64 ? all : 64;
  if (in->op == NXK_const) return bits_of_constant((int64_t)in->imm);
  if (in->op == NXK_for || in->op == NXK_param) return INDEX_BITS;
  if (in->op == NXK_cast) return bits_of(k, in->args[0], depth - 1);
  if (in->n_args != 2) return 64;
  x = bits_of(k, in->args[0], depth - 1);
  y = bits_of(k, in->args[1], depth - 1);
  if (x > MOST_BITS || y > MOST_BITS) return 64;
  switch (in->op) {
    case NXK_add:
    case NXK_sub: return (x > y ? x : y) + 1;
    case NXK_mul: return x + y;
    case NXK_min:
    case NXK_max: return x > y ? x : y;
    default: return 64;
  }
}

static bool is_far_from_ends(const nxb_binder *b, nxk_value v) {
  return bits_of(b->from, v, DEPTH) <= MOST_BITS;
}

/* The limit of an index that is far from the ends of its type, or one that is as far from all of
 * it: what is subtracted below does not overflow. */
static nxk_value within(nxb_binder *b, nxk_value end, nxk_value limit) {
  const int64_t most = INT64_C(1) << MOST_BITS;
  if (is_far_from_ends(b, end)) return limit;
  limit = nxb_op(b, NXK_max, limit, nxb_int(b, -most));
  return nxb_op(b, NXK_min, limit, nxb_int(b, most));
}

/* The lanes below `limit` of an index that grows by `step` from lane to lane, a power of two. */
static nxk_value lanes_below(nxb_binder *b, const nxb_lane_map *map, nxk_value base, int64_t step,
                             nxk_value limit) {
  if (step == 1) return nxk_active(b->to, base, limit, map->lanes);
  nxk_value reach = nxb_add(b, nxb_op(b, NXK_sub, limit, base), step - 1);
  nxk_value end = nxb_op(b, NXK_shr, reach, nxb_int(b, __builtin_ctzll((uint64_t)step)));
  return nxk_active(b->to, nxb_int(b, 0), end, map->lanes);
}

/* Writes a comparison of the form base + step * lane < end, where `end` is the same in all lanes,
 * as an `active`. False: v is not of this form. */
static bool write_active(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if ((in->op != NXK_lt && in->op != NXK_le) || nxk_dtype(b->from, in->args[0]) != NX_I64)
    return false;
  bool index_left = nxb_step_of(map, in->args[0]) != 0;
  nxk_value index = in->args[index_left ? 0 : 1], end = in->args[index_left ? 1 : 0];
  int64_t step = nxb_step_of(map, index), most = b->threads == 0 ? 8 : 1;
  if (step < 1 || step > most || (step & (step - 1)) != 0 || nxb_step_of(map, end) != 0)
    return false;
  if (!is_far_from_ends(b, index)) return false; /* it may wrap around between two lanes */
  nxk_value base = nxb_base_of(b, map, index), limit = nxb_base_of(b, map, end);
  if (b->to->failed || nxb_lanes_of(b, limit) > 1 || nxb_lanes_of(b, base) > 1) return false;
  int64_t constant;
  if ((in->op == NXK_le) == index_left) { /* the end is inclusive */
    if (!nxb_is_constant(b->to, limit, &constant) || constant == INT64_MAX) return false;
    limit = nxb_int(b, constant + 1);
  }
  nxk_value active = lanes_below(b, map, base, step, within(b, end, limit));
  nxb_set_value(map, v,
                index_left ? active : nxk_scalar(b->to, NXK_not, 0, active, NXK_NONE, NXK_NONE), 0);
  return true;
}

static nxk_value splatted(const nxk_kernel *k, nxk_value v) {
  return k->instrs[v].op == NXK_splat ? k->instrs[v].args[0] : v;
}

/* Whether a condition holds wherever another one does, because that is made of it by `and`. */
static bool follows_from(const nxk_kernel *k, nxk_value condition, nxk_value from) {
  for (int depth = 0; depth < 4; depth++) {
    from = splatted(k, from);
    if (from == condition) return true;
    const nxk_instr *in = &k->instrs[from];
    if (in->op != NXK_and) return false;
    if (splatted(k, in->args[0]) == condition) return true;
    from = in->args[1];
  }
  return false;
}

/* Whether a select takes a load where its condition holds and zero elsewhere, and the load's mask
 * is false there: then the load is zero already. */
static bool is_masked_already(const nxb_binder *b, const nxk_value *args) {
  const nxk_kernel *k = b->to;
  if (k->failed || b->threads != 0) return false;
  const nxk_instr *load = &k->instrs[args[1]], *zero = &k->instrs[splatted(k, args[2])];
  if (load->op != NXK_load || zero->op != NXK_const || zero->imm != 0) return false;
  const nxk_access *a = &k->accesses[load->imm];
  return a->mask != NXK_NONE && a->other == NXK_NONE &&
         follows_from(k, splatted(k, args[0]), a->mask);
}

static void write_scalar(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  nxk_value args[4] = {NXK_NONE, NXK_NONE, NXK_NONE, NXK_NONE};
  if (map->lanes > 1 && (write_affine(b, map, v) || write_active(b, map, v))) return;
  for (int i = 0; i < in->n_args; i++) args[i] = nxb_operand(b, map, in->args[i]);
  if (in->op == NXK_select && is_masked_already(b, args)) {
    nxb_set_value(map, v, args[1], 0);
    return;
  }
  nxb_set_value(map, v, nxk_scalar_of(b->to, (nxk_op)in->op, in->dtype, args), 0);
}

/* ---- cold blocks */

static bool is_blend_of(const nxk_kernel *k, nxk_value v, nxk_value cold) {
  return v < k->n_instrs && k->instrs[v].op == NXK_blend && k->instrs[v].args[0] == cold;
}

/* Writes the block and the blends after it. The operands of the blends are splatted before the
 * block ends, because nothing may stand between the block and its blends. */
static nxk_value write_cold(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_kernel *from = b->from;
  nxk_value end = b->end_of[v], last = end;
  for (nxk_value p = end + 1; is_blend_of(from, p, v); last = p++)
    if (!is_blend_of(from, from->instrs[p].args[2], v))
      nxb_wide(b, map, from->instrs[p].args[2]); /* found again below */
  bool apart = (from->instrs[v].flags & NXK_APART) && b->to->threads == 0;
  nxk_value cold = (apart ? nxk_begin_cold_apart
                          : nxk_begin_cold)(b->to, nxb_wide(b, map, from->instrs[v].args[0]));
  nxb_set_value(map, v, cold, 0);
  for (nxk_value i = v + 1; i < end && !b->to->failed; i++) i = nxb_write(b, map, i);
  for (nxk_value p = end + 1; p <= last; p++)
    nxb_set_value(map, p, nxb_wide(b, map, from->instrs[p].args[1]), 0);
  nxk_end(b->to);
  for (nxk_value p = end + 1; p <= last && !b->to->failed; p++)
    nxb_set_value(map, p,
                  nxk_blend(b->to, cold, map->bound[p], nxb_wide(b, map, from->instrs[p].args[2])),
                  0);
  return last;
}

/* ---- code */

nxk_value nxb_write(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  if (b->to->failed || b->failed) return v;
  switch (b->from->instrs[v].op) {
    case NXK_const:
    case NXK_param: return v;
    case NXK_load: nxb_write_load(b, map, v); return v;
    case NXK_store: return nxb_write_store(b, map, v);
    case NXK_cold: return write_cold(b, map, v);
    default: write_scalar(b, map, v); return v;
  }
}

bool nxb_is_code(nxk_op op) {
  return op < NXK_SCALAR_COUNT || op == NXK_load || op == NXK_store || op == NXK_cold;
}

void nxb_write_code(nxb_binder *b, nxb_lane_map *map, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v <= last; v++)
    if (nxb_is_code((nxk_op)b->from->instrs[v].op)) v = nxb_write(b, map, v);
}

static bool is_here(const nxb_binder *b, const nxb_lane_map *map, nxk_value v, nxk_value first,
                    nxk_value last) {
  if (v == NXK_NONE || (v >= first && v <= last) || b->from->instrs[v].op == NXK_const) return true;
  return map->bound[v] != NXK_NONE || b->top[v] != NXK_NONE;
}

/* Whether all operands of an instruction are available. Those within [first, last] are, since they
 * are written together with it. */
static bool operands_here(const nxb_binder *b, const nxb_lane_map *map, nxk_value v,
                          nxk_value first, nxk_value last) {
  const nxk_instr *in = &b->from->instrs[v];
  bool here = true;
  for (int i = 0; i < in->n_args; i++) here = here && is_here(b, map, in->args[i], first, last);
  if (in->op != NXK_load && in->op != NXK_store) return here;
  const nxk_access *a = &b->from->accesses[in->imm];
  for (uint32_t i = 0; i < a->n_terms; i++)
    here = here && is_here(b, map, a->terms[i].index, first, last);
  return here && is_here(b, map, a->index, first, last) && is_here(b, map, a->mask, first, last) &&
         is_here(b, map, a->other, first, last);
}

void nxb_write_ready(nxb_binder *b, nxb_lane_map *map) {
  for (nxk_value v = b->region->first + 1; v < b->region->body_first && !b->to->failed; v++) {
    nxk_value last = v;
    if (!nxb_is_code((nxk_op)b->from->instrs[v].op)) continue;
    if (b->from->instrs[v].op == NXK_cold)
      for (last = b->end_of[v]; is_blend_of(b->from, last + 1, v);) last++;
    bool here = map->bound[v] == NXK_NONE;
    for (nxk_value i = v; i <= last; i++) here = here && operands_here(b, map, i, v, last);
    v = here ? nxb_write(b, map, v) : last;
  }
}
