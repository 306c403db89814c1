/* SPDX-License-Identifier: ISC */
/* Template POINTS of the CPU binder: lanes run along an outer loop, all values of the points in a
 * vector stay in registers, and the inner loops are kept as they are. Used for short runs, for dot,
 * and, with one lane, for regions that no other template can bind.
 *
 * Neighbouring points of another outer loop share one factor of a dot. Several of these points are
 * computed in one iteration (unroll and jam), so that the shared loads are merged. */
#include "passes/bind/bind.h"
#include "passes/bind/lane_map.h"

#include <string.h>

/* ---- code with its loops */

static const nxk_loop *loop_of(const nxb_binder *b, nxk_value v) {
  return &b->from->loops[b->from->instrs[v].imm];
}

/* The partial results of the 16 lanes of a run, for a reduction that is computed lane after
 * lane. */
typedef struct lane_partials {
  nxb_binder *b;
  nxb_lane_map *maps;
  uint32_t n_maps, n;
  nxb_reduction reduction;
  /* for each partial result a LOCAL array: 16 rows, each as long as the lane map has lanes */
  uint32_t *array;
  nxb_partial *out;
} lane_partials;

static nxk_access lane_access(const lane_partials *l, uint32_t i, nxk_value row, int64_t offset) {
  uint16_t lanes = l->maps[i / l->n].lanes;
  nxk_access a = nxk_access_at(l->array[i], offset * lanes);
  a.lane_stride = lanes > 1;
  if (row != NXK_NONE) {
    a.n_terms = 1;
    a.terms = nxb_alloc(l->b, sizeof *a.terms);
    if (a.terms) a.terms[0] = (nxk_term){row, lanes};
    else a.n_terms = 0;
  }
  return a;
}

/* Reduces the lanes [first, end) of the run, which have `items` elements each. */
static void reduce_lanes(lane_partials *l, int64_t first, int64_t end, int64_t items) {
  nxb_binder *b = l->b;
  if (!nxb_any_lanes(b, l->reduction.stage) && (first >= end || items == 0)) return;
  nxk_value lane = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(first), nxk_bound_const(end), 1);
  l->reduction.items = items;
  l->reduction.shift = lane;
  nxb_write_reduction(b, l->maps, l->n_maps, &l->reduction, l->out);
  for (uint32_t i = 0; i < l->n_maps * l->n && !b->to->failed; i++) {
    nxk_access a = lane_access(l, i, lane, 0);
    nxk_store(b->to, &a, l->out[i].value);
  }
  nxk_end(b->to);
}

static void reduce_in_lanes(lane_partials *l) {
  nxb_binder *b = l->b;
  int64_t points = l->reduction.stage->points, each = points / 16, longer = points % 16;
  for (uint32_t i = 0; i < l->n_maps * l->n; i++) {
    nx_dtype type = nxk_dtype(b->from, b->from->instrs[l->reduction.reduce[i % l->n]].args[0]);
    l->array[i] = nxb_add_local(b, type, 16 * l->maps[i / l->n].lanes);
  }
  reduce_lanes(l, 0, longer, each + 1);
  reduce_lanes(l, longer, 16, each);
  int64_t lanes = points < 16 && !nxb_any_lanes(b, l->reduction.stage) ? points : 16;
  for (uint32_t i = 0; i < l->n_maps * l->n && !b->to->failed; i++) {
    nxb_partial p[16];
    for (int64_t j = 0; j < lanes; j++) {
      nxk_access a = lane_access(l, i, NXK_NONE, j);
      p[j] = (nxb_partial){nxk_load(b->to, &a, l->maps[i / l->n].lanes), NXK_NONE};
    }
    for (int64_t half = 8; half > 0; half /= 2)
      for (int64_t j = 0; j < half && j + half < lanes; j++)
        p[j] = nxb_combine(b, l->reduction.reduce[i % l->n], p[j], p[j + half], false);
    l->out[i] = p[0];
  }
}

static void write_group(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        const nxk_value *group, uint32_t n, nxb_order order) {
  nxb_reduction reduction = {.stage = s,
                             .reduce = group,
                             .n = n,
                             .items = s->points,
                             .block = order.block,
                             .exact = order.exact,
                             .scale = order.lanes,
                             .shift = NXK_NONE,
                             .vector = 1};
  reduction.chains =
      nxb_choose_chains(b, s, group, n, maps[0].lanes, nxb_ceil(s->points, order.lanes));
  if (n_maps > 1) reduction.chains = 1;
  lane_partials l = {b,
                     maps,
                     n_maps,
                     n,
                     reduction,
                     nxb_alloc(b, n_maps * n * sizeof *l.array),
                     nxb_alloc(b, n_maps * n * sizeof *l.out)};
  if (b->failed) return;
  if (order.lanes == 16) reduce_in_lanes(&l);
  else nxb_write_reduction(b, maps, n_maps, &reduction, l.out);
  for (uint32_t i = 0; i < n_maps * n && !b->to->failed && !b->failed; i++) {
    const nxb_partial *p = &l.out[i];
    nxb_set_result(b, &maps[i / n], group[i % n], p->item != NXK_NONE ? p->item : p->value);
  }
}

static void write_reductions(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps,
                             const nxb_stage *s) {
  bool *done = nxb_alloc(b, s->n_reduces * sizeof *done), stores = maps[0].stores;
  nxk_value *group = nxb_alloc(b, s->n_reduces * sizeof *group);
  nxb_order order;
  uint32_t n;
  while (!b->failed && (n = nxb_next_group(b, s, done, group, &order)) > 0) {
    if (s->points > 0) write_group(b, maps, n_maps, s, group, n, order);
    for (uint32_t i = 0; s->points == 0 && i < n_maps * n; i++)
      nxb_set_result(b, &maps[i / n], group[i % n], nxb_empty_result(b, group[i % n]));
    for (uint32_t i = 0; i < n_maps; i++) maps[i].stores = false; /* the first group wrote them */
  }
  for (uint32_t i = 0; i < n_maps; i++) maps[i].stores = stores;
}

static nxk_bound_value bound_of(nxb_binder *b, const nxb_lane_map *map, nxk_bound_value x) {
  return x.value == NXK_NONE ? x : nxk_bound_of(nxb_operand(b, map, x.value));
}

/* Writes a map loop, or an outer loop that was not opened by the template. */
static void write_loop(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value v,
                       nxb_stage_writer writer, void *user) {
  const nxk_loop *loop = loop_of(b, v);
  nxk_bound_value lower = bound_of(b, maps, loop->lower), upper = bound_of(b, maps, loop->upper);
  nxk_value index = nxk_begin_for(b->to, NXK_SEQ, lower, upper, loop->step);
  for (uint32_t i = 0; i < n_maps; i++) {
    maps[i].bound[v] = index;
    maps[i].step[v] = 0;
  }
  nxb_write_body(b, maps, n_maps, v + 1, b->end_of[v] - 1, writer, user);
  nxk_end(b->to);
}

/* Whether a carry has a value for each lane: if it depends on an outer loop. What comes out of a
 * cold block has lanes in any case. */
static bool has_lanes(const nxb_binder *b, nxk_value carry) {
  nxk_value loop = b->from->instrs[carry].block;
  bool varies = !b->region->regular;
  for (uint32_t i = 0; i < b->region->n_outer; i++)
    varies = varies || nxb_depends(b, carry, b->region->outer[i].value);
  for (nxk_value v = loop; v < b->end_of[loop]; v++)
    varies = varies || b->from->instrs[v].op == NXK_cold;
  return varies;
}

static nxk_value carried_value(nxb_binder *b, const nxb_lane_map *map, nxk_value carry,
                               nxk_value v) {
  return has_lanes(b, carry) ? nxb_wide(b, map, v) : nxb_operand(b, map, v);
}

/* Writes the nexts [first, last], which stand at the end of a loop. */
static void write_nexts(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value first,
                        nxk_value last) {
  uint32_t n = last + 1 - first;
  nxk_value *values = nxb_alloc(b, (size_t)n * n_maps * sizeof *values);
  for (uint32_t i = 0; i < n * n_maps && !b->failed && !b->to->failed; i++) {
    const nxk_instr *in = &b->from->instrs[first + i % n];
    values[i] = carried_value(b, &maps[i / n], in->args[0], in->args[1]);
  }
  for (uint32_t i = 0; i < n * n_maps && !b->failed && !b->to->failed; i++)
    nxk_next(b->to, maps[i / n].bound[b->from->instrs[first + i % n].args[0]], values[i]);
}

/* Writes the steps of points: a loop in order, with what each point carries in registers. */
static void write_steps(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value v,
                        nxb_stage_writer writer, void *user) {
  const nxk_loop *loop = loop_of(b, v);
  nxk_bound_value lower = bound_of(b, maps, loop->lower), upper = bound_of(b, maps, loop->upper);
  nxk_value end = b->end_of[v], body = v + 1, nexts = end;
  while (b->from->instrs[body].op == NXK_carry) body++;
  while (nexts > body && b->from->instrs[nexts - 1].op == NXK_next) nexts--;
  uint32_t n = body - v - 1;
  nxk_value *initial = nxb_alloc(b, ((size_t)n * n_maps + 1) * sizeof *initial);
  for (uint32_t i = 0; i < n * n_maps && !b->failed; i++)
    initial[i] =
        carried_value(b, &maps[i / n], v + 1 + i % n, b->from->instrs[v + 1 + i % n].args[0]);
  nxk_value index = nxk_begin_for(b->to, NXK_SEQ, lower, upper, loop->step);
  for (uint32_t i = 0; i < n_maps; i++) nxb_set_value(&maps[i], v, index, 0);
  for (uint32_t i = 0; i < n * n_maps && !b->failed && !b->to->failed; i++)
    nxb_set_value(&maps[i / n], v + 1 + i % n, nxk_carry(b->to, initial[i]), 0);
  if (body < nexts) nxb_write_body(b, maps, n_maps, body, nexts - 1, writer, user);
  if (nexts < end) write_nexts(b, maps, n_maps, nexts, end - 1);
  nxk_end(b->to);
}

static void write_stage(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value v,
                        nxb_stage_writer writer, void *user) {
  nxb_stage s;
  nxb_analyze_stage(b, v, &s);
  if (b->failed || (writer && writer(b, maps, n_maps, &s, user))) return;
  if (!s.reduces && nxb_scans(b, s.first, s.last)) nxb_write_scans(b, maps, n_maps, &s);
  else if (!s.reduces) write_loop(b, maps, n_maps, v, writer, user);
  else if (s.simple) write_reductions(b, maps, n_maps, &s);
  else
    nxi_fail(b->diag, NX_INTERNAL, "",
             "kernel %s: the reduce loops of %%%u are not one nest with constant bounds",
             b->from->name, v);
}

void nxb_write_body(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, nxk_value first,
                    nxk_value last, nxb_stage_writer writer, void *user) {
  for (nxk_value v = first; v <= last && !b->to->failed && !b->failed; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    if (op == NXK_for && loop_of(b, v)->kind == NXK_SEQ) {
      write_steps(b, maps, n_maps, v, writer, user);
      v = b->end_of[v];
    } else if (op == NXK_for) {
      write_stage(b, maps, n_maps, v, writer, user);
      v = b->end_of[v];
    } else if (op != NXK_end) {
      nxk_value written = v;
      for (uint32_t i = 0; i < n_maps; i++) written = nxb_write(b, &maps[i], v);
      v = written;
    }
  }
}

/* ---- shared by templates */

void nxb_add_locals(nxb_binder *b, int64_t columns) {
  for (uint32_t i = 0; i < b->from->n_buffers; i++) {
    b->local[i] = NXK_NONE;
    if (b->from->buffers[i].kind != NXK_LOCAL) continue;
    bool used = false;
    for (nxk_value v = b->region->first; v < b->region->last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      used = used || ((in->op == NXK_load || in->op == NXK_store) &&
                      b->from->accesses[in->imm].buffer == i);
    }
    if (used)
      b->local[i] =
          nxb_add_local(b, b->from->buffers[i].dtype, b->from->buffers[i].elements * columns);
  }
}

nxb_dim nxb_outer_dim(const nxb_binder *b, uint32_t i, nxb_walk walk, int64_t unit) {
  return (nxb_dim){b->region->outer[i], walk, unit, NXK_NONE, NXK_NONE, false};
}

uint16_t nxb_fit_lanes(const nxb_binder *b, uint16_t lanes, int64_t widest, int64_t extent) {
  enum { PARTIAL = 16 }; /* partial results of a sum, which are a loop where a sum is split */
  int64_t least = b->target->vector_bytes / widest, n = lanes;
  if (extent < 0 || extent > INT64_MAX / 1024) return lanes;
  const bool partial = b->region->n_stages > 0 && extent == PARTIAL && lanes > PARTIAL;
  if (b->target->generic && extent > 1) return partial ? PARTIAL : lanes;
  while (n > least && n > 1 && nxb_ceil(extent, n) * n * 5 > nxb_ceil(extent, least) * least * 6)
    n /= 2;
  while (n > 2 && n / 2 >= extent) n /= 2;
  return (uint16_t)n;
}

/* ---- the template */

/* Whether a run loads under masks that differ along the loop. */
static bool masks_along(const nxb_binder *b, nxk_value loop) {
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    for (nxk_value v = b->region->stages[i].first; v < b->region->stages[i].last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      if (in->op == NXK_load && nxb_depends(b, b->from->accesses[in->imm].mask, loop)) return true;
    }
  return false;
}

/* The lanes that are a cache line, if a run reads a line far from the one before for many sums, as
 * those of all taps of a window; else 1. Narrower vectors would bring each line from the second
 * level twice, which costs more than sums that registers do not hold. */
static uint16_t line_of_rows(const nxb_binder *b) {
  enum { MANY = 6 };
  int64_t line = 1;
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    for (nxk_value v = s->first; v < s->last && s->n_reduces >= MANY; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      bool computed;
      if (in->op != NXK_load) continue;
      const nxk_access *a = &b->from->accesses[in->imm];
      const int64_t unit = nxk_line_of(b->from, a),
                    step = nxb_stride(b, a, s->loops[s->n_loops - 1].value, &computed);
      if (!computed && step >= unit && unit > line) line = unit;
    }
  }
  return (uint16_t)line;
}

typedef struct points {
  nxb_dim jam_dim, vector_dim;
  bool jams, vectors;
  nxb_tail tail;
  uint32_t jam; /* points of the jammed loop in one iteration */
  uint16_t lanes;
} points;

void nxb_write_points(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user) {
  (void)user;
  for (uint32_t i = 0; i < n_maps; i++) {
    maps[i].columns = maps[i].lanes;
    nxb_write_ready(b, &maps[i]);
  }
  nxb_write_body(b, maps, n_maps, b->region->body_first, b->region->body_last, NULL, NULL);
}

static void write_vectors(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, points *p) {
  if (p->vectors)
    nxb_vector_loops(b, maps, n_maps, &p->vector_dim, p->lanes, p->tail, nxb_write_points, NULL);
  else nxb_write_points(b, maps, n_maps, NULL);
}

/* Writes the iterations lo .. hi of the jammed loop, `n` of them in one. */
static void write_jam(nxb_binder *b, const nxb_lane_map *map, points *p, nxk_value lo, nxk_value hi,
                      uint32_t n) {
  nxb_lane_map *maps = nxb_alloc(b, n * sizeof *maps);
  nxk_value i = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_of(lo), nxk_bound_of(hi), n);
  for (uint32_t q = 0; q < n && !b->failed; q++) {
    nxb_lane_map_copy(b, &maps[q], map);
    nxb_set_index(b, &maps[q], &p->jam_dim.loop, nxb_add(b, i, q), false);
    nxb_write_ready(b, &maps[q]);
  }
  if (!b->failed && !b->to->failed) write_vectors(b, maps, n, p);
  nxk_end(b->to);
}

static void write_jams(nxb_binder *b, nxb_lane_map *map, points *p) {
  const nxb_dim *d = &p->jam_dim;
  int64_t rest = b->target->generic ? 1 : d->loop.extent % p->jam;
  nxk_value main_end = rest == 0 ? d->hi : nxb_op(b, NXK_and, d->hi, nxb_int(b, -(int64_t)p->jam));
  write_jam(b, map, p, d->lo, main_end, p->jam);
  if (rest) write_jam(b, map, p, main_end, d->hi, 1);
}

/* True if a dot of the region has one factor that varies along `vector` but not along `other`, and
 * another factor of which the opposite holds. */
static bool shares_factor(const nxb_binder *b, nxk_value vector, nxk_value other) {
  bool shares = false;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    for (uint32_t j = 0; j < b->region->stages[i].n_reduces; j++) {
      const nxk_instr *in = &b->from->instrs[b->region->stages[i].reduce[j]];
      if (in->kind != NXK_DOT) continue;
      bool first = nxb_depends(b, in->args[0], vector) && !nxb_depends(b, in->args[0], other);
      bool second = nxb_depends(b, in->args[1], vector) && !nxb_depends(b, in->args[1], other);
      shares = shares || first || second;
    }
  return shares;
}

static bool has_locals(const nxb_binder *b) {
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) return true;
  return false;
}

static void choose_jam(nxb_binder *b, nxk_value vector, points *p, uint32_t *jam_at) {
  for (uint32_t i = b->region->n_outer; i-- > 0 && !p->jams;) {
    const nxb_loop *loop = &b->region->outer[i];
    if (loop->value == vector || loop->extent < 2 || has_locals(b) ||
        !shares_factor(b, vector, loop->value))
      continue;
    p->jams = true;
    p->jam = b->target->vector_bytes >= 64 ? 8 : 4;
    while (p->jam > loop->extent) p->jam /= 2;
    p->jam_dim = nxb_outer_dim(b, i, NXB_RANGE, p->jam);
    *jam_at = i;
  }
}

/* Jams points of the last outer loop for scans: each step of a scan waits for the step before, and
 * scans of other points can run meanwhile. */
static void jam_scans(nxb_binder *b, points *p, uint32_t *jam_at) {
  for (uint32_t i = b->region->n_outer; i-- > 0 && !p->jams && !has_locals(b);) {
    const nxb_loop *loop = &b->region->outer[i];
    if (loop->extent < 2) continue;
    p->jams = true;
    p->jam = 4;
    while (p->jam > loop->extent) p->jam /= 2;
    p->jam_dim = nxb_outer_dim(b, i, NXB_RANGE, p->jam);
    *jam_at = i;
  }
}

/* The most code of a dot that is little else than loads and an fma. */
enum { LITTLE_CODE = 8 };

/* What stands for the cycles of a point of a dot whose neighbours share factors, in registers and
 * in the first cache: twelve times those of the fma, so that a task of it is worth starting from 3
 * microseconds on. Loads counted one by one would be a hundred times as much. */
static double shared_point_cycles(const nxb_binder *b) {
  double cycles = 1;
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    for (uint32_t j = 0; j < s->n_reduces; j++) {
      double size = (double)nxi_dtype_size(b->from->instrs[s->reduce[j]].dtype);
      cycles += (double)s->points * size / (double)b->target->vector_bytes * 0.5 * 12;
    }
  }
  return cycles;
}

void nxb_bind_points(nxb_binder *b, nxk_value vector_loop) {
  const nxb_region *region = b->region;
  points p = {.lanes = 1, .jam = 1};
  nxb_nest nest = {.n = 0};
  nxb_lane_map map;
  uint32_t vector_at = NXK_NONE, jam_at = NXK_NONE;
  double cycles = nxb_point_cycles(b);
  int64_t widest = nxb_widest(b, region->first, region->last, vector_loop);
  if (vector_loop != NXK_NONE) choose_jam(b, vector_loop, &p, &jam_at);
  else if (nxb_scans(b, region->first, region->last)) jam_scans(b, &p, &jam_at);
  const bool plain = nxb_code_cost(b, region->first, region->last) <= LITTLE_CODE;
  if (p.jams && vector_loop != NXK_NONE && plain && shared_point_cycles(b) < cycles)
    cycles = shared_point_cycles(b);
  for (uint32_t i = 0; i < region->n_outer; i++) {
    if (region->outer[i].value == vector_loop) vector_at = i;
    else if (i != jam_at) nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  }
  if (vector_at != NXK_NONE) {
    bool scans = nxb_scans(b, region->first, region->last); /* they read longer pieces of a row */
    p.lanes = nxb_choose_lanes(b, region->first, region->last, vector_loop,
                               p.jams  ? 2
                               : scans ? 8
                                       : 4);
    const uint16_t line = line_of_rows(b);
    if (p.lanes < line) p.lanes = line;
    p.lanes = nxb_fit_lanes(b, p.lanes, widest, region->outer[vector_at].extent);
    p.vectors = p.lanes > 1;
    p.tail =
        nxb_choose_tail(b, region->first, region->last, region->outer[vector_at].extent, p.lanes);
    p.vector_dim = nxb_outer_dim(b, vector_at, NXB_RANGE, p.lanes);
    p.vector_dim.whole = line > 1 || masks_along(b, vector_loop);
  }
  nxb_dim *jam_dim = &nest.dims[nest.n], *vector_dim = jam_dim + p.jams;
  if (p.jams) *jam_dim = p.jam_dim;
  if (p.vectors) *vector_dim = p.vector_dim;
  nest.n += (uint32_t)p.jams + (uint32_t)p.vectors;
  if (!nxb_lane_map_init(b, &map)) return;
  nxb_add_locals(b, p.lanes);
  nxb_open(b, &nest, &map, cycles * p.lanes * p.jam);
  p.jam_dim = *jam_dim;
  p.vector_dim = *vector_dim;
  if (!b->to->failed && !b->failed) {
    if (p.jams) write_jams(b, &map, &p);
    else write_vectors(b, &map, 1, &p);
  }
  nxb_close(b, &nest);
}

void nxb_bind_literal(nxb_binder *b) {
  nxb_nest nest = {.n = 0};
  nxb_lane_map map;
  if (!nxb_lane_map_init(b, &map)) return;
  nxb_add_locals(b, 1);
  nxb_open(b, &nest, &map, 1e30); /* the cost is not known */
  nxb_write_body(b, &map, 1, b->region->first + 1, b->region->last - 1, NULL, NULL);
  nxb_close(b, &nest);
}
