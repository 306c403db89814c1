/* SPDX-License-Identifier: ISC */
/* Template SCANS of the GPU binder. Each thread computes one line, element by element in the
 * order of the scan. If memory is contiguous along the lines, neighbouring threads load and
 * store a tile of several elements of each line together, through a LOCAL array. Otherwise
 * neighbouring threads have neighbouring lines (columns), and each accesses its own elements,
 * several at a time. How lines are distributed: scan_plan.h. */
#include "passes/bind/gpu/scan_plan.h"

#include <string.h>

/* The indices of the loops around the tiles: task, round and step. */
typedef struct walk {
  nxk_value task, round, step; /* i64, one lane */
} walk;

static nxk_value op_of(nxb_binder *b, nxk_value scan, nxk_value x, nxk_value y) {
  return nxb_op(b, nxk_reduce_op(b->from->instrs[scan].kind), x, y);
}

/* ---- places */

static nxk_value thread_of(nxb_binder *b) {
  return nxk_step_vector(b->to, nxb_int(b, 0), b->threads);
}

/* The conjunction of two conditions; NXK_NONE is true. */
static nxk_value both(nxb_binder *b, nxk_value x, nxk_value y) {
  return x == NXK_NONE ? y : y == NXK_NONE ? x : nxb_op(b, NXK_and, x, y);
}

static nxk_value below(nxb_binder *b, nxk_value x, int64_t end) {
  return nxb_op(b, NXK_lt, x, nxb_int(b, end));
}

/* An element of the tile: its row of the task, block of the row and line, and place in that. */
typedef struct spot {
  nxk_value row, block, line, element;
} spot;

static spot spot_of(nxb_binder *b, const nxb_scan_plan *s, nxk_value line, nxk_value element) {
  spot p = {.line = line, .element = element};
  p.row = s->columns ? nxb_mod(b, line, s->columns) : nxb_div(b, line, s->of_row);
  p.block = s->columns ? nxb_div(b, line, s->columns) : nxb_mod(b, line, s->of_row);
  return p;
}

/* Sets the indices of the lane map for an element of the current tile in line `line` of the
 * task. */
static void set_element(nxb_binder *b, nxb_lane_map *map, const nxb_scan_plan *s, const walk *w,
                        const spot *p) {
  const nxb_region *region = b->region;
  nxk_value number = nxb_op(b, NXK_add, nxb_mul(b, w->task, s->task_rows), p->row), rest = number;
  nxk_value earlier = nxb_mul(b, w->round, s->of_row);
  nxk_value whole_blocks = nxb_mul(b, nxb_op(b, NXK_add, p->block, earlier), NXK_SCAN_BLOCK);
  nxk_value steps = nxb_mul(b, w->step, s->width), before = nxb_op(b, NXK_add, whole_blocks, steps);
  nxk_value at = nxb_op(b, NXK_add, before, p->element);
  bool narrow = region->n_outer > 1 && s->rows < INT64_C(0x7f000000);
  if (narrow) rest = nxk_cast_to(b->to, NX_U32, rest);
  for (uint32_t i = region->n_outer; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, region->outer[i].extent) : rest;
    nxb_set_index(b, map, &region->outer[i], nxk_cast_to(b->to, NX_I64, index), false);
    if (i > 0) rest = nxb_div(b, rest, region->outer[i].extent);
  }
  nxb_set_index(b, map, &s->stage->loops[0], at, false);
  bool whole = s->length % (s->steps * s->width) == 0 &&
               (s->rounds == 1 || s->length % (s->rounds * s->of_row * NXK_SCAN_BLOCK) == 0);
  map->active = whole ? NXK_NONE : below(b, at, s->length);
  if (s->way == NXB_IN_SHARED && s->rows % s->task_rows != 0) {
    nxk_value exists = nxk_splat(b->to, below(b, number, s->rows), b->threads);
    map->active = both(b, map->active, exists);
    return;
  }
  if (s->rows % s->task_rows != 0) map->active = both(b, map->active, below(b, number, s->rows));
  if (s->columns && s->lines < b->threads)
    map->active = both(b, map->active, below(b, p->line, s->lines));
  else if (s->task_rows * s->of_row < s->lines)
    map->active = both(b, map->active, below(b, p->row, s->task_rows));
}

static nxk_access tile_access(uint32_t array, nxk_value index, int64_t offset) {
  nxk_access a = nxk_access_at(array, offset);
  a.index = index;
  return a;
}

static nxk_value open_loop(nxb_binder *b, int64_t extent, bool unrolled) {
  nxk_value v = nxk_begin_range(b->to, NXK_SEQ, extent);
  if (!b->to->failed) b->to->loops[b->to->instrs[v].imm].unroll = unrolled;
  return v;
}

/* ---- a tile: read, walked along, written */

/* Writes the code of the stage that the operands of the scans need. */
static void write_needed(nxb_binder *b, nxb_lane_map *map, const nxb_scan_plan *s) {
  for (nxk_value v = s->stage->first + 1; v < s->stage->last && !b->to->failed; v++)
    if (s->needed[v]) nxb_write(b, map, v);
}

static void write_leading(nxb_binder *b, nxb_lane_map *map, const nxb_scan_plan *s) {
  nxb_write_ready(b, map);
  for (nxk_value v = b->region->body_first; v < s->stage->first && !b->to->failed; v++)
    if (nxb_is_code((nxk_op)b->from->instrs[v].op)) nxb_write(b, map, v);
}

/* Passes of all threads over a line; 0: a pass has several lines. */
static int64_t passes_of(const nxb_binder *b, const nxb_scan_plan *s) {
  return s->width / b->threads;
}

/* Opens loops of all threads over the lines of a tile that are narrower than a block of threads. */
static spot open_narrow(nxb_binder *b, const nxb_scan_plan *s) {
  int64_t passes = s->lines * s->width / b->threads;
  nxk_value pass = open_loop(b, passes, passes <= NXB_STRETCH), thread = thread_of(b);
  nxk_value line = nxb_div(b, thread, s->width), more = nxb_mul(b, pass, b->threads / s->width);
  return spot_of(b, s, nxb_op(b, NXK_add, line, more), nxb_mod(b, thread, s->width));
}

/* The same over rows in shared memory. Passes over some blocks are written out, so that their
 * numbers are constants, and addresses differ by constants. */
static spot open_rows(nxb_binder *b, const nxb_scan_plan *s) {
  int64_t passes = passes_of(b, s), blocks = s->of_row;
  while (blocks > 1 && (blocks * passes > NXB_STRETCH || s->of_row % blocks != 0)) blocks--;
  nxk_value row = open_loop(b, s->task_rows, false);
  nxk_value chunk = nxb_mul(b, open_loop(b, s->of_row / blocks, false), blocks);
  nxk_value pass = open_loop(b, blocks * passes, true);
  spot p = {.row = row};
  p.block = nxb_op(b, NXK_add, chunk, nxb_div(b, pass, passes));
  p.line = nxb_op(b, NXK_add, nxb_mul(b, row, s->of_row), p.block);
  p.element = nxb_mul(b, nxb_mod(b, pass, passes), b->threads);
  p.element = nxb_op(b, NXK_add, thread_of(b), p.element);
  return p;
}

static void close_passes(nxb_binder *b, const nxb_scan_plan *s) {
  for (int i = 0; i < (s->way == NXB_IN_SHARED ? 3 : 1); i++) nxk_end(b->to);
  nxk_barrier(b->to);
}

static nxk_value place_of(nxb_binder *b, const nxb_scan_plan *s, const spot *p) {
  return nxb_op(b, NXK_add, nxb_mul(b, p->line, s->width + 1), p->element);
}

/* Opens a pass of all threads over the tile, and sets `map`, a copy of `from`, to their
 * elements. */
static bool open_pass(nxb_binder *b, const nxb_lane_map *from, nxb_lane_map *map,
                      const nxb_scan_plan *s, const walk *w, spot *at) {
  *at = s->way == NXB_IN_SHARED ? open_rows(b, s) : open_narrow(b, s);
  if (b->to->failed || !nxb_lane_map_copy(b, map, from)) return false;
  set_element(b, map, s, w, at);
  write_leading(b, map, s);
  return !b->to->failed && !b->failed;
}

/* Computes the operands of the scans and stores them in the tile's arrays. */
static void read_tile(nxb_binder *b, const nxb_lane_map *from, const nxb_scan_plan *s,
                      const walk *w) {
  nxb_lane_map map;
  spot at;
  if (open_pass(b, from, &map, s, w, &at)) {
    write_needed(b, &map, s);
    for (uint32_t i = 0; i < s->n && !b->to->failed && !b->failed; i++) {
      nxk_access a = tile_access(s->tile[i], place_of(b, s, &at), 0);
      a.mask = map.active;
      nxk_store(b->to, &a, nxb_wide(b, &map, b->from->instrs[s->scan[i]].args[0]));
    }
  }
  close_passes(b, s);
}

/* The result of the scan at an element. */
static nxk_value result_of(nxb_binder *b, nxk_value scan, nxk_value before, nxk_value within) {
  bool blocks = b->from->instrs[scan].order == NXK_ORDER_PLAIN;
  return blocks ? op_of(b, scan, before, within) : within;
}

/* Writes the rest of the code, with the results of the scans from the tile's arrays. */
static void write_tile(nxb_binder *b, const nxb_lane_map *from, const nxb_scan_plan *s,
                       const walk *w) {
  nxb_lane_map map;
  spot at;
  if (open_pass(b, from, &map, s, w, &at)) {
    for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
      nxk_access a = tile_access(s->tile[i], place_of(b, s, &at), 0);
      a.mask = map.active;
      nxk_value result = nxk_load(b->to, &a, b->threads);
      if (s->way == NXB_IN_SHARED && s->of_row > 1) {
        nxk_access before = tile_access(s->carry[i], nxk_splat(b->to, at.line, b->threads), 0);
        result = result_of(b, s->scan[i], nxk_load(b->to, &before, b->threads), result);
      }
      map.bound[s->scan[i]] = result;
      map.step[s->scan[i]] = 0;
    }
    if (!b->to->failed) nxb_write_code(b, &map, s->stage->first, s->stage->last);
  }
  close_passes(b, s);
}

/* Each thread scans its line of the tile; within[i] is the result within the block, before and
 * after. before: the result of all earlier blocks; NULL: only within[i] is computed, and stored if
 * the tile is a whole block. */
static void walk_tile(nxb_binder *b, const nxb_scan_plan *s, const nxk_value *before,
                      nxk_value *within) {
  nxk_value thread = thread_of(b), first = nxb_mul(b, thread, s->width + 1), carry[NXB_MOST_SCANS];
  nxk_value there = s->lines < b->threads ? below(b, thread, s->lines) : NXK_NONE;
  int64_t stretch = s->width % NXB_WALK == 0 ? NXB_WALK : NXB_STRETCH;
  nxk_value outer[NXB_MOST_SCANS], from = open_loop(b, s->width / stretch, false);
  uint32_t warps = (uint32_t)nxb_ceil(s->lines, NXB_WARP) * NXB_WARP;
  if (!b->to->failed && warps < b->threads) b->to->loops[b->to->instrs[from].imm].few = warps;
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) outer[i] = nxk_carry(b->to, within[i]);
  nxk_value e = open_loop(b, stretch, true);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) carry[i] = nxk_carry(b->to, outer[i]);
  nxk_value place = nxb_op(b, NXK_add, nxb_op(b, NXK_add, first, nxb_mul(b, from, stretch)), e);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
    nxk_access a = tile_access(s->tile[i], place, 0);
    a.mask = there;
    within[i] = op_of(b, s->scan[i], carry[i], nxk_load(b->to, &a, b->threads));
    if (before == NULL && s->way != NXB_IN_SHARED) continue;
    nxk_store(b->to, &a, before ? result_of(b, s->scan[i], before[i], within[i]) : within[i]);
  }
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) nxk_next(b->to, carry[i], within[i]);
  nxk_end(b->to);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) nxk_next(b->to, outer[i], carry[i]);
  nxk_end(b->to);
  memcpy(within, outer, sizeof outer);
}

/* Each thread loads, scans and stores some elements of its column. */
static void walk_column(nxb_binder *b, const nxb_lane_map *from, const nxb_scan_plan *s,
                        const walk *w, const nxk_value *before, nxk_value *within) {
  nxk_value carry[NXB_MOST_SCANS], e = open_loop(b, s->width, s->width > 1);
  nxb_lane_map map;
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) carry[i] = nxk_carry(b->to, within[i]);
  if (b->to->failed || !nxb_lane_map_copy(b, &map, from)) return;
  spot own = spot_of(b, s, thread_of(b), e);
  set_element(b, &map, s, w, &own);
  write_leading(b, &map, s);
  write_needed(b, &map, s);
  for (uint32_t i = 0; i < s->n && !b->to->failed && !b->failed; i++) {
    nxk_value x = nxb_wide(b, &map, b->from->instrs[s->scan[i]].args[0]);
    within[i] = op_of(b, s->scan[i], carry[i], x);
    if (before == NULL) continue;
    map.bound[s->scan[i]] = result_of(b, s->scan[i], before[i], within[i]);
    map.step[s->scan[i]] = 0;
  }
  if (before && !b->to->failed) nxb_write_code(b, &map, s->stage->first, s->stage->last);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) nxk_next(b->to, carry[i], within[i]);
  nxk_end(b->to);
  memcpy(within, carry, sizeof carry);
}

static void identities(nxb_binder *b, const nxb_scan_plan *s, nxk_value *out) {
  for (uint32_t i = 0; i < s->n; i++) {
    const nxk_instr *in = &b->from->instrs[s->scan[i]];
    uint64_t bits = nxk_reduce_identity((nxk_reduce_kind)in->kind, (nx_dtype)in->dtype);
    out[i] = nxk_splat(b->to, nxk_const(b->to, (nx_dtype)in->dtype, bits), b->threads);
  }
}

/* ---- a block of each line */

/* Scans one block of each line; `within` becomes the total of the block. before: the result of all
 * earlier blocks; NULL: only the totals are computed. */
static void walk_block(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_plan *s, walk *w,
                       const nxk_value *before, nxk_value *within) {
  nxk_value carry[NXB_MOST_SCANS];
  identities(b, s, within);
  w->step = open_loop(b, s->steps, false);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) carry[i] = nxk_carry(b->to, within[i]);
  memcpy(within, carry, sizeof carry);
  if (b->to->failed) return;
  if (s->columns) {
    walk_column(b, map, s, w, before, within);
  } else {
    read_tile(b, map, s, w);
    walk_tile(b, s, before, within);
    nxk_barrier(b->to);
    if (before) write_tile(b, map, s, w);
  }
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) nxk_next(b->to, carry[i], within[i]);
  nxk_end(b->to);
  memcpy(within, carry, sizeof carry);
}

static void leave_totals(nxb_binder *b, const nxb_scan_plan *s, const nxk_value *totals,
                         nxk_value there) {
  if (s->rounds > 1) nxk_barrier(b->to); /* the totals of the round before may still be in use */
  for (uint32_t i = 0; i < s->n; i++) {
    nxk_access a = nxk_access_at(s->total[i], 0);
    a.lane_stride = 1;
    a.mask = there;
    nxk_store(b->to, &a, totals[i]);
  }
  nxk_barrier(b->to);
}

/* Computes, from the totals of the lines of a row, the result of all elements before each line
 * (`before`) and that of the whole row so far (`after`). start: the result of all elements before
 * the first line. */
static void find_before(nxb_binder *b, const nxb_scan_plan *s, const nxk_value *start,
                        const nxk_value *totals, nxk_value *before, nxk_value *after) {
  nxk_value thread = thread_of(b), carry[NXB_MOST_SCANS], all[NXB_MOST_SCANS];
  nxk_value there = s->lines < b->threads ? below(b, thread, s->lines) : NXK_NONE;
  leave_totals(b, s, totals, there);
  int64_t apart = s->columns ? s->columns : 1; /* distance between the lines of a row */
  nxk_value own = s->columns ? nxb_div(b, thread, apart) : nxb_mod(b, thread, s->of_row);
  nxk_value first = nxb_op(b, NXK_sub, thread, nxb_mul(b, own, apart));
  nxk_value at = open_loop(b, s->rounds > 1 ? s->of_row : s->of_row - 1, false);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
    carry[i] = nxk_carry(b->to, start[i]);
    all[i] = nxk_carry(b->to, start[i]);
  }
  nxk_value earlier = nxb_op(b, NXK_lt, at, own),
            place = nxb_op(b, NXK_add, first, nxb_mul(b, at, apart));
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
    nxk_access a = tile_access(s->total[i], place, 0);
    a.mask = there;
    nxk_value total = nxk_load(b->to, &a, b->threads);
    nxk_value more = op_of(b, s->scan[i], carry[i], total);
    before[i] = nxk_scalar(b->to, NXK_select, 0, earlier, more, carry[i]);
    after[i] = op_of(b, s->scan[i], all[i], total);
  }
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
    nxk_next(b->to, carry[i], before[i]);
    nxk_next(b->to, all[i], after[i]);
  }
  nxk_end(b->to);
  memcpy(before, carry, sizeof carry);
  memcpy(after, all, sizeof all);
}

/* Rows in shared memory: each element is loaded once. */
static void scan_shared(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_plan *s, walk *w) {
  nxk_value start[NXB_MOST_SCANS], before[NXB_MOST_SCANS], within[NXB_MOST_SCANS];
  identities(b, s, start);
  identities(b, s, within);
  w->step = nxb_int(b, 0);
  read_tile(b, map, s, w);
  walk_tile(b, s, NULL, within);
  if (s->of_row > 1) find_before(b, s, start, within, before, start);
  for (uint32_t i = 0; i < s->n && s->of_row > 1 && !b->to->failed; i++) {
    nxk_access a = tile_access(s->carry[i], thread_of(b), 0);
    if (s->lines < b->threads) a.mask = below(b, a.index, s->lines);
    nxk_store(b->to, &a, before[i]);
  }
  nxk_barrier(b->to);
  if (!b->to->failed) write_tile(b, map, s, w);
}

/* ---- the template */

static bool add_arrays(nxb_binder *b, nxb_scan_plan *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    nx_dtype t = (nx_dtype)b->from->instrs[s->scan[i]].dtype;
    s->tile[i] = s->columns ? NXK_NONE : nxb_add_local(b, t, s->lines * (s->width + 1));
    s->total[i] =
        s->of_row > 1 ? nxb_add_local(b, t, s->lines + s->of_row * (s->columns + 1)) : NXK_NONE;
    s->carry[i] =
        s->way == NXB_IN_SHARED && s->of_row > 1 ? nxb_add_local(b, t, s->lines) : NXK_NONE;
  }
  return !b->to->failed;
}

void nxb_gpu_scans(nxb_binder *b) {
  nxb_scan_plan s;
  nxb_lane_map map;
  nxk_value start[NXB_MOST_SCANS], before[NXB_MOST_SCANS], within[NXB_MOST_SCANS] = {0},
                                                           carry[NXB_MOST_SCANS];
  if (!nxb_gpu_plan_scan(b, &s) || !add_arrays(b, &s) || !nxb_lane_map_init(b, &map)) return;
  map.lanes = b->threads;
  nxk_begin_region(b->to);
  walk w = {.round = nxb_int(b, 0)};
  w.task = nxk_begin_range(b->to, NXK_TASK, nxb_ceil(s.rows, s.task_rows));
  identities(b, &s, start);
  bool rounds = s.rounds > 1;
  if (s.way == NXB_IN_SHARED) {
    scan_shared(b, &map, &s, &w);
    nxk_end(b->to);
    nxk_end(b->to);
    return;
  }
  if (rounds) w.round = open_loop(b, s.rounds, false);
  for (uint32_t i = 0; i < s.n && rounds && !b->to->failed; i++)
    start[i] = carry[i] = nxk_carry(b->to, start[i]);
  memcpy(before, start, sizeof start);
  if (s.of_row > 1 && !b->to->failed) {
    walk_block(b, &map, &s, &w, NULL, within);
    find_before(b, &s, start, within, before, start);
  }
  if (!b->to->failed && !b->failed) walk_block(b, &map, &s, &w, before, within);
  for (uint32_t i = 0; i < s.n && s.way == NXB_IN_TURN && !b->to->failed; i++)
    start[i] = op_of(b, s.scan[i], before[i], within[i]);
  for (uint32_t i = 0; i < s.n && rounds && !b->to->failed; i++)
    nxk_next(b->to, carry[i], start[i]);
  if (rounds) nxk_end(b->to);
  nxk_end(b->to);
  nxk_end(b->to);
}
