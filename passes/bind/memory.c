/* SPDX-License-Identifier: ISC */
/* Loads and stores of the binders: the address of a logical access whose indices may differ from
 * lane to lane, contiguous lanes as one vector access, and nontemporal stores, which are kept only
 * if they are whole cache lines. */
#include "lane_map.h"

/* ---- addresses */

/* An index that is being added to an address. */
typedef struct addend {
  nxb_binder *b;
  nxk_access *access;
  nxk_value whole; /* a value that is not to be split into addends, or NXK_NONE */
  int sums;        /* how many more sums may be split */
} addend;

enum { MOST_SUMS = 7, MOST_ADDENDS = MOST_SUMS + 1 };

/* Adds stride * x, where x has one lane. A sum is split into its addends, and a constant factor is
 * multiplied into the stride, so that neighbouring accesses have the same terms and differ in their
 * offset only. */
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

/* Adds stride * x to the address, where x is a bound value of one lane or several. */
static void add_to_address(nxb_binder *b, const nxb_lane_map *map, nxb_placed *p, nxk_value x,
                           int64_t stride, int64_t step) {
  if (x == NXK_NONE || stride == 0 || b->to->failed) return;
  p->access.lane_stride += stride * step;
  if (nxb_lanes_of(b, x) > 1) {
    nxk_value scaled = nxb_mul(b, x, stride);
    p->index = p->index == NXK_NONE ? scaled : nxb_op(b, NXK_add, p->index, scaled);
    return;
  }
  bool known = map->base_multiple > 1 && map->vector != NXK_NONE;
  addend a = {b, &p->access, known ? map->bound[map->vector] : NXK_NONE, MOST_SUMS};
  add_term(&a, x, stride);
}

static void add_columns(nxb_binder *b, const nxb_lane_map *map, nxb_placed *p) {
  p->access.offset += map->column_offset;
  if (map->column != NXK_NONE) add_to_address(b, map, p, map->column, 1, 0);
  if (map->column_origin != NXK_NONE) add_to_address(b, map, p, map->column_origin, -1, 0);
  if (map->lanes > 1) p->access.lane_stride += 1;
}

/* The address of the thread's own element of a LOCAL array. */
static void place_slot(nxb_binder *b, const nxb_lane_map *map, nxb_placed *p) {
  p->access.offset = 0;
  add_to_address(b, map, p, map->slot, map->lanes, 0);
  p->access.lane_stride = 1;
}

/* The address of an access where each thread has several lanes. If `index` has one lane for each
 * thread it stays so (`group`). If it has a value for every lane, the constant distance between
 * lanes is added to it, since an access has either of the two. */
static void place_groups(nxb_binder *b, const nxb_lane_map *map, nxb_placed *p) {
  if (map->group < 2 || p->index == NXK_NONE) return;
  if (nxb_lanes_of(b, p->index) == map->lanes / map->group) {
    p->access.group = map->group;
    return;
  }
  if (p->access.lane_stride == 0) return;
  nxk_value along = nxb_mul(b, nxb_lanes_in_group(b, map), p->access.lane_stride);
  p->index = nxb_op(b, NXK_add, p->index, along);
  p->access.lane_stride = 0;
}

/* Whether an `active` is the same in both lanes of each pair. */
static bool is_even(const nxb_binder *b, nxk_value active) {
  const nxk_instr *in = &b->to->instrs[active];
  return in->op == NXK_active && nxb_multiple(b, in->args[0]) % 2 == 0 &&
         nxb_multiple(b, in->args[1]) % 2 == 0;
}

/* The address of an access whose lanes run along two loops (nxb_lane_map.twice), if the lanes are
 * evenly spaced or each pair of lanes shares one element. False: neither holds, so each lane needs
 * an index of its own. */
static bool place_pairs(nxb_binder *b, const nxb_lane_map *map, const nxk_access *a,
                        nxb_placed *p) {
  int64_t around = 0, pair = 0;
  bool local = b->from->buffers[a->buffer].kind == NXK_LOCAL && map->columns > 0;
  if (map->twice == NXK_NONE || a->index != NXK_NONE || local) return false;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    nxk_value index = a->terms[i].index;
    if (index == map->twice) around += a->terms[i].stride;
    else if (index == map->pair) pair += a->terms[i].stride;
    else if (nxb_step_of(map, index) != 0 || nxb_lanes_of(b, nxb_base_of(b, map, index)) > 1)
      return false;
  }
  bool alone = a->mask == NXK_NONE && (map->active == NXK_NONE || is_even(b, map->active));
  if (around == 0 || (around != 2 * pair && (pair != 0 || !alone || !p->loads))) return false;
  p->twice = pair == 0;
  p->access.lane_stride = p->twice ? around : pair;
  add_to_address(b, map, p, map->twice_base, around, 0);
  for (uint32_t i = 0; i < a->n_terms; i++) {
    nxk_value index = a->terms[i].index;
    if (index != map->twice && index != map->pair)
      add_to_address(b, map, p, nxb_base_of(b, map, index), a->terms[i].stride, 0);
  }
  return true;
}

bool nxb_place_access(nxb_binder *b, const nxb_lane_map *map, const nxk_access *a, bool loads,
                      nxb_placed *p) {
  bool local = b->from->buffers[a->buffer].kind == NXK_LOCAL;
  int64_t scale = local && map->columns > 0 ? map->columns : 1;
  p->access = *a;
  p->access.terms = nxb_alloc(b, (a->n_terms + 3) * MOST_ADDENDS * sizeof *a->terms);
  if (b->failed) return false;
  p->access.n_terms = 0;
  p->access.lane_stride = 0;
  p->access.offset *= scale;
  p->index = NXK_NONE;
  p->loads = loads;
  p->twice = false;
  if (local) p->access.buffer = b->local[a->buffer];
  bool own = local && map->slot != NXK_NONE;
  if (own) place_slot(b, map, p);
  else own = place_pairs(b, map, a, p);
  for (uint32_t i = 0; i < a->n_terms && !own; i++) {
    nxk_value index = a->terms[i].index;
    add_to_address(b, map, p, nxb_base_of(b, map, index), a->terms[i].stride * scale,
                   nxb_step_of(map, index));
  }
  if (a->index != NXK_NONE && !own)
    add_to_address(b, map, p, nxb_base_of(b, map, a->index), scale, nxb_step_of(map, a->index));
  if (local && map->columns > 0) add_columns(b, map, p);
  place_groups(b, map, p);
  p->access.index = p->index;
  p->access.mask = a->mask == NXK_NONE ? NXK_NONE : nxb_operand(b, map, a->mask);
  p->access.other = a->other == NXK_NONE ? NXK_NONE : nxb_operand(b, map, a->other);
  p->wide = p->access.lane_stride != 0 || p->index != NXK_NONE ||
            (p->access.mask != NXK_NONE && nxb_lanes_of(b, p->access.mask) > 1);
  return true;
}

/* Brings a wide access into the form of the bound level: lanes that do not exist are masked off. */
static void finish_wide(nxb_binder *b, const nxb_lane_map *map, nxk_access *a) {
  if (a->lane_stride == 0 && a->index == NXK_NONE)
    a->index = nxk_splat(b->to, nxb_int(b, 0), map->lanes);
  if (map->active == NXK_NONE) return;
  a->mask = a->mask == NXK_NONE ? map->active : nxb_op(b, NXK_and, a->mask, map->active);
}

/* Whether an access is to the thread's own element of a LOCAL array: it may be there for a point
 * that does not exist, too. */
static bool is_own(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *a) {
  return map->slot != NXK_NONE && b->from->buffers[a->buffer].kind == NXK_LOCAL;
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
  if (in->op == NXK_and) { /* as for a product: a divisor of either operand */
    int64_t x = nxb_multiple(b, in->args[0]), y = nxb_multiple(b, in->args[1]);
    bits = (uint64_t)(x > y ? x : y);
  }
  return (int64_t)(bits & -bits);
}

bool nxb_is_whole(const nxb_binder *b, uint16_t lanes, const nxk_access *from,
                  const nxk_access *a) {
  int64_t unit = b->threads ? lanes / b->threads : 1;
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

static void mark_whole(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *from,
                       nxk_access *a) {
  if (nxb_is_whole(b, map->lanes, from, a)) a->flags |= NXK_WHOLE;
}

nxk_access nxb_tile_access(nxb_binder *b, const nxb_lane_map *map, const nxb_tile *tile,
                           nxk_value load) {
  nxb_placed p = {nxk_access_at(tile->array[load], tile->margin * (tile->pitch + 1)), NXK_NONE,
                  map->lanes > 1, true, false};
  p.access.terms = nxb_alloc(b, 4 * MOST_ADDENDS * sizeof *p.access.terms);
  if (b->failed) return p.access;
  if (tile->place != NULL) {
    p.access.index = *tile->place;
    if (map->group > 1) { /* the lanes of a thread are a word */
      p.access.group = map->group;
      p.access.lane_stride = 1;
      p.access.flags |= NXK_WHOLE;
    }
    finish_wide(b, map, &p.access);
    return p.access;
  }
  add_to_address(b, map, &p, nxb_base_of(b, map, tile->row), tile->pitch,
                 nxb_step_of(map, tile->row));
  add_to_address(b, map, &p, tile->row_origin, -tile->pitch, 0);
  add_to_address(b, map, &p, nxb_base_of(b, map, tile->column), 1, nxb_step_of(map, tile->column));
  add_to_address(b, map, &p, tile->column_origin, -1, 0);
  if (p.wide) finish_wide(b, map, &p.access);
  return p.access;
}

/* The lanes of a load: one for each thread if all lanes of a thread load the same element. */
static uint16_t thread_lanes(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *a) {
  uint16_t threads = map->group > 1 ? (uint16_t)(map->lanes / map->group) : map->lanes;
  bool mask = a->mask == NXK_NONE || nxb_lanes_of(b, a->mask) <= threads,
       other = a->other == NXK_NONE || nxb_lanes_of(b, a->other) <= threads,
       active = map->active == NXK_NONE || nxb_lanes_of(b, map->active) <= threads;
  return a->group > 1 && a->lane_stride == 0 && mask && other && active ? threads : map->lanes;
}

/* Whether one vector covers the whole loop and the mask differs from lane to lane. Such a vector
 * nearly always has an active lane, so testing for none does not pay. */
static bool sees_all(const nxb_binder *b, const nxb_lane_map *map, nxk_value mask) {
  if (map->vector == NXK_NONE || mask == NXK_NONE || nxb_lanes_of(b, mask) == 1) return false;
  if (b->target->generic) return false; /* how long the loop is decides nothing */
  const nxk_loop *loop = &b->from->loops[b->from->instrs[map->vector].imm];
  return loop->upper.value == NXK_NONE && loop->lower.value == NXK_NONE &&
         loop->upper.constant - loop->lower.constant <= map->lanes * loop->step;
}

/* Loads half as many elements as there are lanes, each for two neighbouring lanes. */
static nxk_value load_twice(nxb_binder *b, const nxb_lane_map *map, nxk_access *a) {
  uint16_t half = map->lanes / 2;
  if (map->active != NXK_NONE) {
    const nxk_instr *in = &b->to->instrs[map->active];
    nxk_value from = in->args[0], end = in->args[1];
    a->mask = nxk_active(b->to, nxb_div(b, from, 2), nxb_div(b, end, 2), half);
  }
  nxk_value v = nxk_load(b->to, a, half);
  nxk_value both = nxk_concat(b->to, v, v);
  return nxk_interleave(b->to, false, both, both);
}

/* The points of all runs of the stage that v is in, 0: of none. */
static int64_t points_around(const nxb_binder *b, nxk_value v) {
  int64_t points = 0;
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    if (s->reduces && s->first <= v && v <= s->last) points = s->points;
  }
  for (uint32_t i = 0; i < b->region->n_outer; i++) points *= b->region->outer[i].extent;
  return points;
}

/* Whether a load before v loads from the same array. */
static bool is_loaded_before(const nxb_binder *b, nxk_value v, uint32_t buffer) {
  for (nxk_value i = b->region->first; i < v; i++) {
    const nxk_instr *in = &b->from->instrs[i];
    if (in->op == NXK_load && b->from->accesses[in->imm].buffer == buffer) return true;
  }
  return false;
}

/* How many elements beyond load v are fetched. What rows are reduced of is read from one end to the
 * other, and hardware stops to fetch ahead at each page: an array that no cache of a core holds,
 * and of which each point is an element, is fetched a page ahead, or, where rows are computed
 * together, as many rows. */
static int64_t ahead_in_rows(const nxb_binder *b, nxk_value v, const nxb_placed *p) {
  enum { AHEAD_BYTES = 4096 };
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  const nxk_buffer *buffer = &b->from->buffers[a->buffer];
  const int64_t size = nxi_dtype_size(buffer->dtype);
  bool computed;
  if (b->rows == 0 || b->target->generic || buffer->kind != NXK_IN || p->index != NXK_NONE ||
      p->access.lane_stride != 1 || buffer->elements * size <= b->target->l2_bytes ||
      points_around(b, v) != buffer->elements || is_loaded_before(b, v, a->buffer))
    return 0;
  if (b->rows == 1) return AHEAD_BYTES / size;
  const int64_t row = nxb_stride(b, a, b->region->outer[b->region->n_outer - 1].value, &computed);
  return computed || row < 0 ? 0 : b->rows * row;
}

void nxb_write_load(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  nxb_placed p;
  if (v == map->given || (map->kept != NULL && map->kept[v])) return;
  if (map->tile && map->tile->array[v] != NXK_NONE) {
    p.access = nxb_tile_access(b, map, map->tile, v);
    if (!b->failed) nxb_set_value(map, v, nxk_load(b->to, &p.access, map->lanes), 0);
    return;
  }
  if (!nxb_place_access(b, map, a, true, &p)) return;
  const int64_t ahead = map->prefetch > 0 ? map->prefetch : ahead_in_rows(b, v, &p);
  if (ahead > 0) p.access.prefetch = ahead; /* else it has what jam.c has given it */
  nxk_value other = p.access.other;
  if (p.twice) {
    nxb_set_value(map, v, load_twice(b, map, &p.access), 0);
    return;
  }
  if (nxb_load_strided(b, map, v, &p)) return;
  if (p.wide) {
    uint16_t lanes = thread_lanes(b, map, &p.access);
    bool always_some = sees_all(b, map, p.access.mask);
    if (!is_own(b, map, a)) finish_wide(b, map, &p.access);
    if (a->mask != NXK_NONE && b->threads == 0 && !always_some) p.access.flags |= NXK_SKIPS;
    if (lanes != map->lanes) p.access.group = 0;
    else mark_whole(b, map, a, &p.access);
    nxb_set_value(map, v, nxk_load(b->to, &p.access, lanes), 0);
    return;
  }
  bool wide_other = other != NXK_NONE && nxb_lanes_of(b, other) > 1;
  if (wide_other) p.access.other = NXK_NONE;
  nxk_value loaded = nxk_load(b->to, &p.access, 1);
  if (wide_other) loaded = nxk_scalar(b->to, NXK_select, 0, p.access.mask, loaded, other);
  nxb_set_value(map, v, loaded, 0);
}

bool nxb_is_whole_lines(const nxb_binder *b, const nxb_lane_map *map, const nxk_access *from,
                        const nxk_access *a) {
  const nxk_buffer *buffer = &b->from->buffers[from->buffer];
  int64_t bytes = map->lanes * nxi_dtype_size(buffer->dtype);
  int64_t unit = nxk_line_of(b->from, from);
  if (bytes % NXK_LINE != 0 || !buffer->aligned || a->lane_stride != 1 || a->index != NXK_NONE ||
      a->mask != NXK_NONE || (a->offset % unit != 0 && !map->on_line))
    return false;
  for (uint32_t i = 0; i < a->n_terms && !map->on_line; i++) {
    bool base = map->vector != NXK_NONE && a->terms[i].index == map->bound[map->vector];
    int64_t multiple = base ? map->base_multiple : 1;
    if (a->terms[i].stride * multiple % unit != 0) return false;
  }
  return true;
}

nxk_value nxb_lanes_to_line(nxb_binder *b, nxb_lane_map *map, const nxk_access *a,
                            const nxb_loop *loop, nxk_value from) {
  int64_t line = nxk_line_of(b->from, a);
  nxb_set_index(b, map, loop, from, false);
  nxk_value at = nxb_int(b, a->offset % line);
  for (uint32_t i = 0; i < a->n_terms; i++) {
    nxk_value index = nxb_base_of(b, map, a->terms[i].index);
    if (a->terms[i].stride % line != 0)
      at = nxb_op(b, NXK_add, at, nxb_mul(b, index, a->terms[i].stride % line));
  }
  nxk_value back = nxb_op(b, NXK_sub, nxb_int(b, 0), at);
  return nxb_op(b, NXK_and, back, nxb_int(b, line - 1));
}

static void write_plain_store(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  const nxk_access *a = &b->from->accesses[in->imm];
  nxk_value value = nxb_operand(b, map, in->args[0]);
  nxb_placed p;
  if (!map->stores || !nxb_place_access(b, map, a, false, &p)) return;
  const bool some =
      map->storing != NXK_NONE && b->from->buffers[a->buffer].kind != NXK_LOCAL; /* lanes do */
  if (p.wide || nxb_lanes_of(b, value) > 1 || (some && nxb_lanes_of(b, map->storing) > 1)) {
    if (!is_own(b, map, a)) finish_wide(b, map, &p.access);
    value = nxk_splat(b->to, value, map->lanes);
    mark_whole(b, map, a, &p.access);
  }
  if (some)
    p.access.mask =
        p.access.mask == NXK_NONE ? map->storing : nxb_op(b, NXK_and, p.access.mask, map->storing);
  if ((p.access.flags & NXK_NONTEMPORAL) && !nxb_is_whole_lines(b, map, a, &p.access))
    p.access.flags &= ~(uint32_t)NXK_NONTEMPORAL;
  if (b->threads) p.access.flags &= ~(uint32_t)NXK_NONTEMPORAL;
  if (map->prefetch > 0) p.access.prefetch = map->prefetch;
  bool alone =
      b->threads && !p.wide && nxb_lanes_of(b, value) == 1; /* one of the threads stores it */
  if (alone) nxk_barrier(b->to);
  nxk_store(b->to, &p.access, value);
  if (alone) nxk_barrier(b->to);
}

nxk_value nxb_write_store(nxb_binder *b, nxb_lane_map *map, nxk_value v) {
  uint32_t n = nxb_store_interleaved(b, map, v);
  if (n > 0) return v + n - 1;
  write_plain_store(b, map, v);
  return v;
}
