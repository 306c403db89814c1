/* SPDX-License-Identifier: ISC */
/* Tasks and loops of the CPU binder. One of the outer dimensions of a region is cut into chunks.
 * The points of the dimensions before it, and its chunks, are numbered as tasks; the dimensions
 * after it are loops inside a task. The choice of the cut depends on the shape alone, so that no
 * result and no cache key depends on the number of threads. */
#include "passes/bind/bind.h"

/* The work of a task, about 25 microseconds: long compared with the cost of scheduling a task, and
 * short enough that a kernel has many tasks. */
static const double TASK_CYCLES = 100000;

static int64_t units_of(const nxb_dim *d) {
  return d->walk == NXB_POINT ? d->loop.extent : nxb_ceil(d->loop.extent, d->unit);
}

/* The dimension to cut, and how many of its units make a chunk. */
typedef struct cut {
  uint32_t at;
  int64_t chunk, chunks, tasks;
} cut;

/* Whether a dimension that should not be cut need not be, since those before it are many tasks. */
static bool stays_whole(const nxb_nest *nest, uint32_t at) {
  enum { ENOUGH = 64 };
  int64_t tasks = 1;
  for (uint32_t i = 0; i < at && tasks < ENOUGH; i++) tasks *= units_of(&nest->dims[i]);
  return nest->dims[at].whole && tasks >= ENOUGH;
}

static cut choose_cut(const nxb_nest *nest, double unit_cycles) {
  cut c = {0, 1, 1, 1};
  double work = unit_cycles;
  if (nest->n == 0) return c;
  for (c.at = nest->n - 1; c.at > 0; c.at--) {
    bool enough = work * (double)units_of(&nest->dims[c.at]) >= TASK_CYCLES;
    if (enough && !stays_whole(nest, c.at)) break;
    work *= (double)units_of(&nest->dims[c.at]);
  }
  int64_t units = units_of(&nest->dims[c.at]);
  double wanted = TASK_CYCLES / work;
  c.chunk = wanted >= (double)units ? units : wanted < 1 ? 1 : (int64_t)wanted;
  c.chunks = nxb_ceil(units, c.chunk);
  c.chunk = nxb_ceil(units, c.chunks);
  c.chunks = nxb_ceil(units, c.chunk);
  c.tasks = c.chunks;
  for (uint32_t i = 0; i < c.at; i++) c.tasks *= units_of(&nest->dims[i]);
  return c;
}

static nxk_bound_value bound(const nxb_binder *b, nxk_value v) {
  int64_t x;
  return nxb_is_constant(b->to, v, &x) ? nxk_bound_const(x) : nxk_bound_of(v);
}

static nxk_value open_loop(nxb_binder *b, nxb_nest *nest, nxk_value lo, nxk_value hi) {
  nest->open++;
  return nxk_begin_for(b->to, NXK_SEQ, bound(b, lo), bound(b, hi), 1);
}

/* Sets the range of a dimension to [lo, lo + n), or to its end if that is less. */
static void set_range(nxb_binder *b, nxb_dim *d, nxk_value lo, int64_t n) {
  d->lo = lo;
  d->hi = nxb_add(b, lo, n);
  if (b->target->generic || d->loop.extent % n != 0)
    d->hi = nxb_op(b, NXK_min, d->hi, nxb_int(b, d->loop.extent));
}

/* Sets a dimension to one of its units. */
static void set_unit(nxb_binder *b, nxb_dim *d, nxb_lane_map *map, nxk_value unit) {
  if (d->walk == NXB_POINT) nxb_set_index(b, map, &d->loop, unit, false);
  else set_range(b, d, nxb_mul(b, unit, d->unit), d->unit);
}

/* Opens the loop over the units [first, first + n) of a dimension, which ends at the end of the
 * dimension. */
static void open_units(nxb_binder *b, nxb_nest *nest, nxb_dim *d, nxb_lane_map *map,
                       nxk_value first, int64_t n) {
  int64_t units = units_of(d);
  if (d->walk == NXB_RANGE) {
    set_range(b, d, nxb_mul(b, first, d->unit), n * d->unit);
    if (n >= units) d->hi = nxb_int(b, d->loop.extent);
    return;
  }
  if (n == 1) {
    set_unit(b, d, map, first);
    return;
  }
  nxk_value end = n >= units ? nxb_int(b, units) : nxb_add(b, first, n);
  if (n < units && units % n != 0) end = nxb_op(b, NXK_min, end, nxb_int(b, units));
  set_unit(b, d, map, open_loop(b, nest, first, end));
}

/* Opens the task loop for a dimension whose extent is a parameter: a task is a chunk of fixed
 * size. */
static void open_unknown(nxb_binder *b, nxb_nest *nest, double unit_cycles) {
  nxb_dim *d = &nest->dims[0];
  int64_t chunk = (int64_t)(TASK_CYCLES / unit_cycles) + 1;
  int64_t divisor = chunk * d->unit;
  nxk_value end = b->top[d->loop.upper];
  if (b->to->failed || b->to->n_regions == 0) return;
  nxk_region *region = &b->to->regions[b->to->n_regions - 1];
  region->tasks_param = (int32_t)b->from->instrs[d->loop.upper].imm;
  region->tasks_divisor = divisor;
  nxk_value reach = nxb_add(b, end, divisor - 1), by = nxb_int(b, divisor);
  nxk_value tasks = nxb_op(b, NXK_div, reach, by);
  nxk_value task = nxk_begin_for(b->to, NXK_TASK, nxk_bound_const(0), nxk_bound_of(tasks), 1);
  nest->open++;
  d->lo = nxb_mul(b, task, divisor);
  d->hi = nxb_op(b, NXK_min, nxb_add(b, d->lo, divisor), end);
}

static double work_of(const nxb_nest *nest, double unit_cycles) {
  for (uint32_t i = 0; i < nest->n; i++) unit_cycles *= (double)units_of(&nest->dims[i]);
  return unit_cycles;
}

/* Opens a region and its task loop. Successive regions of one task each share a single task as long
 * as it is short, because scheduling a task costs more than, say, a few rows at the border of an
 * array. Returns the number of the task. */
static nxk_value open_tasks(nxb_binder *b, nxb_nest *nest, int64_t tasks, double unit_cycles) {
  double cycles = work_of(nest, unit_cycles);
  nest->cycles = tasks == 1 ? cycles : 0;
  nest->open = 0;
  if (b->target->generic) nest->cycles = 0;
  if (!b->target->generic && b->pending > 0 && tasks == 1 && b->pending + cycles <= TASK_CYCLES)
    return nxb_int(b, 0);
  nxb_close_pending(b);
  nest->open = 2;
  nxk_begin_region(b->to);
  return nxk_begin_range(b->to, NXK_TASK, tasks);
}

void nxb_close_pending(nxb_binder *b) {
  if (b->pending == 0) return;
  nxk_end(b->to);
  nxk_end(b->to);
  b->pending = 0;
}

/* Opens the loops of a task in a form that does not depend on where the cut is: each dimension has
 * chunks, of one unit before the cut and of all units after it. */
static void open_dims_generic(nxb_binder *b, nxb_nest *nest, nxb_lane_map *map, const cut *c,
                              nxk_value task) {
  nxk_value number[NXB_MAX_DIMS] = {0};
  for (uint32_t i = nest->n; i-- > 0;) {
    int64_t chunks = i > c->at ? 1 : i == c->at ? c->chunks : units_of(&nest->dims[i]);
    number[i] = i == 0 ? task : nxb_op(b, NXK_mod, task, nxb_int(b, chunks));
    if (i > 0) task = nxb_op(b, NXK_div, task, nxb_int(b, chunks));
  }
  for (uint32_t i = 0; i < nest->n && !b->to->failed; i++) {
    nxb_dim *d = &nest->dims[i];
    int64_t n = i < c->at ? 1 : i == c->at ? c->chunk : units_of(d);
    nxk_value first = nxb_op(b, NXK_mul, number[i], nxb_int(b, n));
    if (d->walk == NXB_RANGE) {
      set_range(b, d, nxb_op(b, NXK_mul, first, nxb_int(b, d->unit)), n * d->unit);
    } else {
      nxk_value end = nxb_op(b, NXK_add, first, nxb_int(b, n));
      end = nxb_op(b, NXK_min, end, nxb_int(b, units_of(d)));
      set_unit(b, d, map, open_loop(b, nest, first, end));
    }
    nxb_write_ready(b, map);
  }
}

static void open_dims(nxb_binder *b, nxb_nest *nest, nxb_lane_map *map, const cut *c,
                      nxk_value task) {
  nxk_value number[NXB_MAX_DIMS] = {0}, rest = task;
  for (uint32_t i = c->at + 1; i-- > 0;) {
    int64_t n = i == c->at ? c->chunks : units_of(&nest->dims[i]);
    number[i] = n == 1 ? nxb_int(b, 0) : i == 0 ? rest : nxb_mod(b, rest, n);
    if (i > 0) rest = nxb_div(b, rest, n);
  }
  for (uint32_t i = 0; i < nest->n && !b->to->failed; i++) {
    nxb_dim *d = &nest->dims[i];
    if (i < c->at) open_units(b, nest, d, map, number[i], 1);
    else if (i == c->at) open_units(b, nest, d, map, nxb_mul(b, number[i], c->chunk), c->chunk);
    else open_units(b, nest, d, map, nxb_int(b, 0), units_of(d));
    nxb_write_ready(b, map);
  }
}

void nxb_open(nxb_binder *b, nxb_nest *nest, nxb_lane_map *map, double unit_cycles) {
  if (nest->n > 0 && nest->dims[0].loop.extent < 0) {
    nxb_close_pending(b);
    nest->open = 1;
    nest->cycles = 0;
    nxk_begin_region(b->to);
    open_unknown(b, nest, unit_cycles);
    return;
  }
  cut c = choose_cut(nest, unit_cycles);
  nxk_value task = open_tasks(b, nest, c.tasks, unit_cycles);
  if (nest->n == 0) return;
  if (b->target->generic) open_dims_generic(b, nest, map, &c, task);
  else open_dims(b, nest, map, &c, task);
}

void nxb_close(nxb_binder *b, nxb_nest *nest) {
  uint32_t kept = nest->cycles == 0 ? 0 : b->pending > 0 ? 0 : 2; /* the region and its task loop */
  for (; nest->open > kept; nest->open--) nxk_end(b->to);
  if (nest->cycles > 0) b->pending += nest->cycles;
}

/* ---- lanes */

typedef struct lane_loop {
  nxb_binder *b;
  nxb_lane_map *maps, *saved;
  uint32_t n_maps;
  const nxb_dim *dim;
  nxb_body body;
  void *user;
  bool on_line; /* full vectors begin at cache lines */
} lane_loop;

/* The limits of one loop over vectors: lanes at or past `end` do not exist (NXK_NONE: all lanes
 * exist), and no vector starts past `latest` (NXK_NONE: no such limit). */
typedef struct lane_limits {
  nxk_value end, latest;
} lane_limits;

/* for (i = lo; i < hi; i += lanes) body */
static void write_lanes(lane_loop *l, nxk_value lo, nxk_value hi, int64_t lanes,
                        lane_limits limits) {
  nxb_binder *b = l->b;
  const nxb_loop *loop = &l->dim->loop;
  nxk_value i = nxk_begin_for(b->to, NXK_SEQ, bound(b, lo), bound(b, hi), lanes);
  bool whole = limits.latest == NXK_NONE && loop->lower == 0 && l->dim->unit % lanes == 0;
  if (limits.latest != NXK_NONE) i = nxb_op(b, NXK_min, i, limits.latest);
  for (uint32_t n = 0; n < l->n_maps; n++) {
    nxb_lane_map *map = &l->maps[n];
    map->lanes = (uint16_t)lanes;
    map->vector = loop->value;
    map->base_multiple = whole ? lanes * loop->step : 1;
    map->on_line = l->on_line && limits.end == NXK_NONE && lanes > 1;
    map->active = limits.end == NXK_NONE || lanes == 1
                      ? NXK_NONE
                      : nxk_active(b->to, i, limits.end, (uint16_t)lanes);
    nxb_set_index(b, map, loop, i, lanes > 1);
  }
  if (!b->to->failed) l->body(b, l->maps, l->n_maps, l->user);
  nxk_end(b->to);
  for (uint32_t n = 0; n < l->n_maps; n++) nxb_lane_map_assign(b, &l->maps[n], &l->saved[n]);
}

static const lane_limits no_limits = {NXK_NONE, NXK_NONE};

static int64_t power_of_two_from(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

/* Lanes that fill a register, of the widest elements that are read or written. */
static int64_t lanes_of_register(const nxb_binder *b) {
  int64_t widest = 1;
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    int64_t size = nxi_dtype_size(b->from->buffers[b->from->accesses[in->imm].buffer].dtype);
    widest = size > widest ? size : widest;
  }
  return b->target->vector_bytes / widest;
}

/* Lanes of a tail of any length. With AVX-512 masks cost nothing, so that short elements fill a
 * register, too. */
static int64_t lanes_of_tail(const nxb_binder *b) {
  int64_t lanes = b->target->vector_bytes >= 64 ? lanes_of_register(b) : 16;
  return lanes > 16 ? lanes : 16;
}

/* Writes the elements from `start` to the end of the dimension: `rest` of them, fewer than a
 * vector. */
static void write_tail(lane_loop *l, nxk_value start, int64_t rest, nxb_tail tail) {
  const nxb_dim *d = l->dim;
  bool known = d->loop.extent >= 0 && !l->b->target->generic;
  int64_t n = tail == NXB_TAIL_SINGLE ? 1 : power_of_two_from(rest);
  const int64_t most = lanes_of_tail(l->b);
  if (!known && n > most) n = most;
  lane_limits limits = {known && rest % n == 0 ? NXK_NONE : d->hi, NXK_NONE};
  write_lanes(l, start, d->hi, n, limits);
}

static nxb_tail rest_of_narrow(const nxb_binder *b) {
  return nxb_masks_well(b, b->region->first, b->region->last) ? NXB_TAIL_MASKED : NXB_TAIL_SINGLE;
}

/* Lanes of narrow vectors: those of a register, or no more than a loop of known extent has. */
static int64_t narrow_lanes(const nxb_binder *b, const nxb_dim *d, int64_t lanes) {
  int64_t n = lanes_of_register(b), extent = d->loop.extent;
  if (n > lanes) n = lanes;
  while (!b->target->generic && extent >= 0 && n > extent && n > 1) n /= 2;
  return n;
}

/* The fewest elements that a task or block has of a dimension; 0: not known. */
static int64_t least_elements(const nxb_binder *b, const nxb_dim *d) {
  const int64_t extent = d->loop.extent;
  if (b->target->generic || extent < 0) return 0;
  if (extent <= d->unit) return extent;
  return extent % d->unit ? extent % d->unit : d->unit;
}

/* Writes the elements from `start` on as vectors of n lanes, of which the last may lie over
 * elements before it, but not before `floor`. If there may be any number, and no masks, fewer than
 * n elements are as many vectors of n / 4. What is left is written under a mask or one by one. */
static void write_narrow_from(lane_loop *l, nxk_value floor, nxk_value start, int64_t n) {
  enum { FEW = 8 };
  nxb_binder *b = l->b;
  const nxb_dim *d = l->dim;
  const nxb_tail rest = rest_of_narrow(b);
  const bool ample = least_elements(b, d) >= n;
  for (bool more = true; more && !b->to->failed; n /= 4) {
    nxk_value last = nxb_add(b, d->hi, -n), whole = d->hi;
    if (!ample)
      whole = nxk_scalar(b->to, NXK_select, 0, nxb_op(b, NXK_le, floor, last), d->hi, start);
    write_lanes(l, start, whole, n, (lane_limits){NXK_NONE, last});
    start = whole;
    more = b->target->generic && rest == NXB_TAIL_SINGLE && n > FEW;
    if (!more && !ample) write_tail(l, start, n - 1, rest);
  }
}

/* As many whole vectors as there are, then narrow ones. */
static void write_narrow(lane_loop *l, int64_t lanes) {
  nxb_binder *b = l->b;
  const nxb_dim *d = l->dim;
  const int64_t n = narrow_lanes(b, d, lanes);
  const bool wide = b->target->generic || d->loop.extent < 0 || d->loop.extent >= lanes;
  nxk_value start = d->lo;
  if (n < lanes && wide) {
    write_lanes(l, d->lo, nxb_add(b, d->hi, 1 - lanes), lanes, no_limits);
    start = nxb_op(b, NXK_and, d->hi, nxb_int(b, -lanes));
  }
  write_narrow_from(l, d->lo, start, n);
}

static void write_main_and_tail(lane_loop *l, int64_t lanes, nxb_tail tail) {
  nxb_binder *b = l->b;
  const nxb_dim *d = l->dim;
  int64_t lo, hi, rest = d->loop.extent < 0 ? lanes - 1 : d->loop.extent % lanes;
  bool constant = !b->target->generic && nxb_is_constant(b->to, d->lo, &lo) &&
                  nxb_is_constant(b->to, d->hi, &hi);
  if (b->target->generic) rest = lanes - 1;
  if (constant) rest = (hi - lo) % lanes;
  if (rest == 0) {
    write_lanes(l, d->lo, d->hi, lanes, no_limits);
    return;
  }
  if (tail == NXB_TAIL_NARROW) {
    write_narrow(l, lanes);
    return;
  }
  if (tail == NXB_TAIL_AGAIN) {
    lane_limits limits = {NXK_NONE, nxb_add(b, d->hi, -lanes)};
    write_lanes(l, d->lo, d->hi, lanes, limits);
    return;
  }
  if (!constant) write_lanes(l, d->lo, nxb_add(b, d->hi, 1 - lanes), lanes, no_limits);
  else if (hi - lo >= lanes) write_lanes(l, d->lo, nxb_int(b, hi - rest), lanes, no_limits);
  nxk_value start =
      constant ? nxb_int(b, hi - rest) : nxb_op(b, NXK_and, d->hi, nxb_int(b, -lanes));
  write_tail(l, start, rest, tail);
}

void nxb_tail_loop(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_dim *dim,
                   nxk_value floor, uint16_t lanes, nxb_tail tail, nxb_body body, void *user) {
  lane_loop l = {b, maps, nxb_alloc(b, n_maps * sizeof *maps), n_maps, dim, body, user, false};
  for (uint32_t n = 0; n < n_maps && !b->failed; n++) nxb_lane_map_copy(b, &l.saved[n], &maps[n]);
  if (b->failed) return;
  int64_t rest = b->target->generic ? lanes - 1 : dim->loop.extent % lanes;
  if (tail == NXB_TAIL_NARROW) write_narrow_from(&l, floor, dim->lo, narrow_lanes(b, dim, lanes));
  else write_tail(&l, dim->lo, rest, tail);
}

void nxb_vector_loops(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_dim *dim,
                      uint16_t lanes, nxb_tail tail, nxb_body body, void *user) {
  lane_loop l = {b, maps, nxb_alloc(b, n_maps * sizeof *maps), n_maps, dim, body, user, false};
  for (uint32_t n = 0; n < n_maps && !b->failed; n++) nxb_lane_map_copy(b, &l.saved[n], &maps[n]);
  if (!b->failed) write_main_and_tail(&l, lanes, tail);
}

/* Writes the elements [lo, first) and [last, rest) under masks, and those between them in whole
 * lines. */
static void write_shifted(lane_loop *l, int64_t line, int64_t lanes, const nxk_value at[4]) {
  write_lanes(l, at[0], at[1], line, (lane_limits){at[1], NXK_NONE});
  write_lanes(l, at[1], at[2], lanes, no_limits);
  write_lanes(l, at[2], at[3], line, (lane_limits){at[3], NXK_NONE});
}

/* How far it is from an iteration to the next one whose store begins a line. */
static nxk_value steps_to_line(nxb_binder *b, nxb_lane_map *map, const nxb_lane_map *saved,
                               const nxb_dim *dim, nxk_value from, const nxk_access *to) {
  nxk_value steps = nxb_lanes_to_line(b, map, to, &dim->loop, from);
  nxb_lane_map_assign(b, map, saved);
  return steps;
}

/* at[1] and at[2]: the first iteration that is so many steps from at[0], and the end of the whole
 * vectors from there on. */
static void find_whole(nxb_binder *b, const nxb_dim *dim, nxk_value steps, int64_t lanes,
                       nxk_value at[4]) {
  at[1] = nxb_op(b, NXK_min, nxb_op(b, NXK_add, at[0], steps), dim->hi);
  nxk_value length = nxb_op(b, NXK_sub, dim->hi, at[1]);
  at[2] = nxb_op(b, NXK_add, at[1], nxb_op(b, NXK_and, length, nxb_int(b, -lanes)));
}

void nxb_shifted_loops(nxb_binder *b, nxb_lane_map *map, const nxb_dim *dim, uint16_t lanes,
                       const nxk_access *to, nxb_body body, void *user) {
  nxb_lane_map saved;
  lane_loop l = {b, map, &saved, 1, dim, body, user, true};
  nxk_value at[4] = {dim->lo, NXK_NONE, NXK_NONE, dim->hi};
  if (!nxb_lane_map_copy(b, &saved, map)) return;
  find_whole(b, dim, steps_to_line(b, map, &saved, dim, dim->lo, to), lanes, at);
  write_shifted(&l, nxk_line_of(b->from, to), lanes, at);
}

void nxb_shifted_block(nxb_binder *b, nxb_lane_map *map, const nxb_dim *dim, nxk_value from,
                       const nxk_access *to, nxb_body body, void *user) {
  nxb_lane_map saved;
  lane_loop l = {b, map, &saved, 1, dim, body, user, true};
  int64_t line = nxk_line_of(b->from, to);
  nxk_value at[4] = {from};
  if (!nxb_lane_map_copy(b, &saved, map)) return;
  nxk_value steps = steps_to_line(b, map, &saved, dim, from, to);
  /* 1 .. line instead of 0 .. line - 1, so that the line at `from` is the block's before */
  nxk_value mask = nxb_int(b, line - 1);
  steps = nxb_add(b, nxb_op(b, NXK_and, nxb_add(b, steps, -1), mask), 1);
  find_whole(b, dim, steps, line, at);
  nxk_value inside = nxb_op(b, NXK_lt, dim->hi, nxb_int(b, dim->loop.extent));
  at[0] = dim->lo;
  at[3] = nxk_scalar(b->to, NXK_select, 0, inside, at[2], dim->hi);
  write_shifted(&l, line, line, at);
}

bool nxb_masks_well(const nxb_binder *b, nxk_value first, nxk_value last) {
  bool well = b->target->vector_bytes >= 32;
  for (nxk_value v = first; v <= last && b->target->vector_bytes < 64; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    int64_t size = nxi_dtype_size(b->from->buffers[b->from->accesses[in->imm].buffer].dtype);
    well = well && size >= 4 && size <= 8;
  }
  return well;
}

/* Whether the vectors of a nontemporal store can be whole cache lines. If not it becomes a plain
 * store. */
static bool may_be_whole(const nxb_binder *b, const nxk_access *to) {
  const nxk_buffer *buffer = &b->from->buffers[to->buffer];
  int64_t unit = nxk_line_of(b->from, to);
  bool whole = buffer->aligned && to->offset % unit == 0;
  for (uint32_t i = 0; i < to->n_terms; i++)
    whole = whole && (to->terms[i].stride == 1 || to->terms[i].stride % unit == 0);
  return whole;
}

bool nxb_repeats(const nxb_binder *b, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v <= last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_store) continue;
    const nxk_access *to = &b->from->accesses[in->imm];
    bool alone =
        b->from->buffers[to->buffer].kind == NXK_LOCAL || b->from->buffers[to->buffer].restricted;
    if (!alone || ((to->flags & NXK_NONTEMPORAL) && may_be_whole(b, to))) return false;
    for (nxk_value i = first; i <= last; i++)
      if (b->from->instrs[i].op == NXK_load &&
          b->from->accesses[b->from->instrs[i].imm].buffer == to->buffer)
        return false;
  }
  return true;
}

/* Whether so little is computed that code for single elements, which is less, will do. */
static bool is_little(const nxb_binder *b) {
  enum { LITTLE = 1 << 12 };
  double each = 1;
  for (uint32_t i = 0; i < b->region->n_stages; i++) each += (double)b->region->stages[i].points;
  return !b->target->generic && b->most_points * each < LITTLE;
}

nxb_tail nxb_choose_tail(const nxb_binder *b, nxk_value first, nxk_value last, int64_t extent,
                         uint16_t lanes) {
  bool masks = nxb_masks_well(b, first, last), generic = b->target->generic;
  bool repeats = nxb_repeats(b, first, last);
  /* where a row ends seldom code of its own for the ends is not worth it */
  bool seldom = b->region->n_outer < 2;
  if (generic && masks && (seldom || !repeats)) return NXB_TAIL_MASKED;
  if (!(generic && masks) && extent >= lanes && repeats) return NXB_TAIL_AGAIN;
  const bool narrow = generic || (!masks && !is_little(b));
  if (narrow && repeats && b->target->vector_bytes >= 16) return NXB_TAIL_NARROW;
  return masks ? NXB_TAIL_MASKED : NXB_TAIL_SINGLE;
}
