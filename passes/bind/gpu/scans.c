/* SPDX-License-Identifier: ISC */
/* Template SCANS of the GPU binder. Each thread computes one line, element by element in the
 * order of the scan. If memory is contiguous along the lines, neighbouring threads load and
 * store a tile of several elements of each line together, through a LOCAL array. Otherwise
 * neighbouring threads have neighbouring lines (columns), and each accesses its own elements,
 * several at a time.
 *
 * In plain order each block of 1024 elements is reduced independently. So each block is a line of
 * its own: a first pass computes only the totals of the blocks, and a second one the scan. Rows of
 * many blocks take several rounds. In sequential order a row is one line, read once. */
#include "passes/bind/bind.h"

#include <string.h>

enum {
  SIDE = 64,
  MOST_SCANS = 4,
  STRETCH = 16, /* elements of a tile's row whose code is written out */
  SHORT_LINE = 32,
  AT_ONCE = 32,     /* most elements of a column that are loaded together */
  MOST_CODE = 1000, /* operations written out for those elements */
  LEAST_COLUMNS = 8,
  MANY_TASKS = 200
};

typedef struct scans {
  const nxb_stage *stage;
  uint32_t n;
  nxk_value scan[MOST_SCANS];
  uint8_t *needed; /* marks the code that the operands of the scans need */
  int64_t rows, length;
  int64_t columns; /* rows of a task, in neighbouring threads; 0: lines go through tiles */
  /* elements of a line in a tile (a row of its array is one longer), or elements of a column that
   * are loaded together */
  int64_t width;
  int64_t lines;     /* lines of a task */
  int64_t of_row;    /* lines of a row */
  int64_t task_rows; /* rows of a task */
  int64_t rounds;    /* rounds of a row; more than 1 if not all its blocks fit in a task */
  int64_t steps;     /* tiles (or pieces of a column) of a block */
  uint32_t tile[MOST_SCANS], total[MOST_SCANS]; /* LOCAL arrays */
} scans;

/* The indices of the loops around the tiles: task, round and step. */
typedef struct walk {
  nxk_value task, round, step; /* i64, one lane */
} walk;

static nxk_value op_of(nxb_binder *b, nxk_value scan, nxk_value x, nxk_value y) {
  return nxb_op(b, nxk_reduce_op(b->from->instrs[scan].kind), x, y);
}

/* ---- what fits */

static void mark(scans *s, nxk_value v) {
  if (v != NXK_NONE) s->needed[v] = 1;
}

/* Marks the code that the operands of the scans need. False: it cannot be separated from the other
 * code. */
static bool mark_needed(const nxb_binder *b, scans *s) {
  for (uint32_t i = 0; i < s->n; i++) mark(s, b->from->instrs[s->scan[i]].args[0]);
  for (nxk_value v = s->stage->last; v-- > s->stage->first;) {
    const nxk_instr *in = &b->from->instrs[v];
    bool inside = v > s->stage->first && in->block == s->stage->first;
    if (!s->needed[v] || v == s->stage->first) continue;
    if (!inside || !(in->op < NXK_SCALAR_COUNT || in->op == NXK_load || in->op == NXK_const))
      return false;
    for (int i = 0; i < in->n_args; i++) mark(s, in->args[i]);
    if (in->op != NXK_load) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    for (uint32_t i = 0; i < a->n_terms; i++) mark(s, a->terms[i].index);
    mark(s, a->index);
    mark(s, a->mask);
    mark(s, a->other);
  }
  return true;
}

/* The number of loads and stores that are contiguous along the lines, minus the number of those
 * contiguous across them. */
static int64_t along_lines(const nxb_binder *b, const nxb_stage *stage) {
  const nxb_region *region = b->region;
  int64_t more = 0, stride;
  for (nxk_value v = stage->first; v <= stage->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    stride = nxb_stride(b, a, stage->loops[0].value, &computed);
    more += !computed && (stride == 1 || stride == -1);
    if (region->n_outer == 0) continue;
    stride = nxb_stride(b, a, region->outer[region->n_outer - 1].value, &computed);
    more -= !computed && (stride == 1 || stride == -1);
  }
  return more;
}

static bool collect(const nxb_binder *b, scans *s) {
  bool ordered = false, plain = false;
  for (nxk_value v = s->stage->first; v <= s->stage->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_scan) continue;
    if (s->n == MOST_SCANS || !nxk_is_chain(in->kind) || in->block != s->stage->first) return false;
    *(in->order == NXK_ORDER_PLAIN ? &plain : &ordered) = true;
    s->scan[s->n++] = v;
  }
  s->of_row = plain && !ordered ? nxb_ceil(s->length, NXK_SCAN_BLOCK) : 1;
  s->rounds = 1;
  return s->n > 0 && !(plain && ordered);
}

/* Plans columns: as many as there are threads for, fewer if some multiprocessors would have no
 * task. */
static void plan_columns(const nxb_binder *b, scans *s) {
  int64_t code = nxb_code_cost(b, s->stage->first, s->stage->last);
  s->columns = b->threads;
  while (s->columns > LEAST_COLUMNS &&
         (s->columns * s->of_row > b->threads || s->rows / s->columns < MANY_TASKS))
    s->columns /= 2;
  s->task_rows = s->columns;
  s->lines = s->columns * s->of_row;
  s->width = AT_ONCE;
  while (s->width > 1 && s->width * code > MOST_CODE) s->width /= 2;
}

/* Plans how rows are divided into lines, lines into tasks, and blocks into tiles. */
static void plan_lines(const nxb_binder *b, scans *s, bool tiles) {
  bool plain = b->from->instrs[s->scan[0]].order == NXK_ORDER_PLAIN;
  int64_t block = plain && s->length > NXK_SCAN_BLOCK ? NXK_SCAN_BLOCK : s->length;
  int64_t most = tiles ? (b->threads < SIDE ? b->threads : SIDE) : b->threads / LEAST_COLUMNS;
  if (s->of_row > most) {
    s->rounds = nxb_ceil(s->of_row, most);
    s->of_row = most;
  }
  if (tiles) {
    s->lines = s->width = most;
    s->task_rows = s->lines / s->of_row;
  } else {
    plan_columns(b, s);
  }
  s->steps = nxb_ceil(block, s->width);
}

/* Whether the region has no code outside its stage except scalar code before it. */
static bool only_stage(const nxb_binder *b, const nxb_stage *stage) {
  for (nxk_value v = b->region->body_first; v <= b->region->body_last; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    if (v >= stage->first && v <= stage->last) continue;
    if (v > stage->last || op == NXK_store || op == NXK_cold) return false;
  }
  return true;
}

static bool plan(nxb_binder *b, scans *s) {
  const nxb_region *region = b->region;
  *s = (scans){.rows = 1};
  if (region->n_stages != 1) return false;
  const nxb_stage *stage = s->stage = region->stages;
  if (stage->reduces || !stage->simple || stage->n_loops != 1 || stage->loops[0].lower != 0 ||
      stage->loops[0].step != 1 || stage->points < SHORT_LINE || !only_stage(b, stage))
    return false;
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) return false;
  for (uint32_t i = 0; i < region->n_outer; i++) {
    if (region->outer[i].extent < 0) return false;
    s->rows *= region->outer[i].extent;
  }
  s->length = stage->points;
  s->needed = nxb_alloc(b, b->from->n_instrs);
  if (b->failed || !collect(b, s) || !mark_needed(b, s)) return false;
  plan_lines(b, s, along_lines(b, stage) > 0);
  return true;
}

bool nxb_gpu_scans_fit(nxb_binder *b) {
  scans s;
  return plan(b, &s);
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

/* Sets the indices of the lane map for an element of the current tile in line `line` of the
 * task. */
static void set_element(nxb_binder *b, nxb_lane_map *map, const scans *s, const walk *w,
                        nxk_value line, nxk_value element) {
  const nxb_region *region = b->region;
  nxk_value row = s->columns ? nxb_mod(b, line, s->columns) : nxb_div(b, line, s->of_row),
            block = s->columns ? nxb_div(b, line, s->columns) : nxb_mod(b, line, s->of_row);
  nxk_value number = nxb_op(b, NXK_add, nxb_mul(b, w->task, s->task_rows), row), rest = number;
  nxk_value earlier = nxb_mul(b, w->round, s->of_row);
  nxk_value whole_blocks = nxb_mul(b, nxb_op(b, NXK_add, block, earlier), NXK_SCAN_BLOCK);
  nxk_value steps = nxb_mul(b, w->step, s->width), before = nxb_op(b, NXK_add, whole_blocks, steps);
  nxk_value at = nxb_op(b, NXK_add, before, element);
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
  if (s->rows % s->task_rows != 0) map->active = both(b, map->active, below(b, number, s->rows));
  if (s->columns && s->lines < b->threads)
    map->active = both(b, map->active, below(b, line, s->lines));
  else if (s->task_rows * s->of_row < s->lines)
    map->active = both(b, map->active, below(b, row, s->task_rows));
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
static void write_needed(nxb_binder *b, nxb_lane_map *map, const scans *s) {
  for (nxk_value v = s->stage->first + 1; v < s->stage->last && !b->to->failed; v++)
    if (s->needed[v]) nxb_write(b, map, v);
}

static void write_leading(nxb_binder *b, nxb_lane_map *map, const scans *s) {
  nxb_write_ready(b, map);
  for (nxk_value v = b->region->body_first; v < s->stage->first && !b->to->failed; v++)
    if (nxb_is_code((nxk_op)b->from->instrs[v].op)) nxb_write(b, map, v);
}

/* Opens a pass of all threads over the tile, and sets `map`, a copy of `from`, to their elements;
 * *place: each thread's element of the array. */
static bool open_pass(nxb_binder *b, const nxb_lane_map *from, nxb_lane_map *map, const scans *s,
                      const walk *w, nxk_value *place) {
  int64_t passes = s->lines * s->width / b->threads;
  nxk_value pass = open_loop(b, passes, passes <= 16), thread = thread_of(b);
  if (b->to->failed || !nxb_lane_map_copy(b, map, from)) return false;
  nxk_value line = nxb_div(b, thread, s->width), more = nxb_mul(b, pass, b->threads / s->width);
  line = nxb_op(b, NXK_add, line, more);
  nxk_value element = nxb_mod(b, thread, s->width);
  *place = nxb_op(b, NXK_add, nxb_mul(b, line, s->width + 1), element);
  set_element(b, map, s, w, line, element);
  write_leading(b, map, s);
  return !b->to->failed && !b->failed;
}

/* Computes the operands of the scans and stores them in the tile's arrays. */
static void read_tile(nxb_binder *b, const nxb_lane_map *from, const scans *s, const walk *w) {
  nxb_lane_map map;
  nxk_value place;
  if (open_pass(b, from, &map, s, w, &place)) {
    write_needed(b, &map, s);
    for (uint32_t i = 0; i < s->n && !b->to->failed && !b->failed; i++) {
      nxk_access a = tile_access(s->tile[i], place, 0);
      a.mask = map.active;
      nxk_store(b->to, &a, nxb_wide(b, &map, b->from->instrs[s->scan[i]].args[0]));
    }
  }
  nxk_end(b->to);
  nxk_barrier(b->to);
}

/* Writes the rest of the code, with the results of the scans from the tile's arrays. */
static void write_tile(nxb_binder *b, const nxb_lane_map *from, const scans *s, const walk *w) {
  nxb_lane_map map;
  nxk_value place;
  if (open_pass(b, from, &map, s, w, &place)) {
    for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
      nxk_access a = tile_access(s->tile[i], place, 0);
      a.mask = map.active;
      map.bound[s->scan[i]] = nxk_load(b->to, &a, b->threads);
      map.step[s->scan[i]] = 0;
    }
    if (!b->to->failed) nxb_write_code(b, &map, s->stage->first, s->stage->last);
  }
  nxk_end(b->to);
  nxk_barrier(b->to);
}

/* The result of the scan at an element. */
static nxk_value result_of(nxb_binder *b, nxk_value scan, nxk_value before, nxk_value within) {
  bool blocks = b->from->instrs[scan].order == NXK_ORDER_PLAIN;
  return blocks ? op_of(b, scan, before, within) : within;
}

/* Each thread scans its line of the tile; within[i] is the result within the block, before and
 * after. before: the result of all earlier blocks; NULL: only within[i] is computed. */
static void walk_tile(nxb_binder *b, const scans *s, const nxk_value *before, nxk_value *within) {
  nxk_value thread = thread_of(b), first = nxb_mul(b, thread, s->width + 1), carry[MOST_SCANS];
  nxk_value there = s->lines < b->threads ? below(b, thread, s->lines) : NXK_NONE;
  nxk_value outer[MOST_SCANS], from = open_loop(b, s->width / STRETCH, false);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) outer[i] = nxk_carry(b->to, within[i]);
  nxk_value e = open_loop(b, STRETCH, true);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) carry[i] = nxk_carry(b->to, outer[i]);
  nxk_value place = nxb_op(b, NXK_add, nxb_op(b, NXK_add, first, nxb_mul(b, from, STRETCH)), e);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) {
    nxk_access a = tile_access(s->tile[i], place, 0);
    a.mask = there;
    within[i] = op_of(b, s->scan[i], carry[i], nxk_load(b->to, &a, b->threads));
    if (before == NULL) continue;
    nxk_store(b->to, &a, result_of(b, s->scan[i], before[i], within[i]));
  }
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) nxk_next(b->to, carry[i], within[i]);
  nxk_end(b->to);
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) nxk_next(b->to, outer[i], carry[i]);
  nxk_end(b->to);
  memcpy(within, outer, sizeof outer);
}

/* Each thread loads, scans and stores some elements of its column. */
static void walk_column(nxb_binder *b, const nxb_lane_map *from, const scans *s, const walk *w,
                        const nxk_value *before, nxk_value *within) {
  nxk_value carry[MOST_SCANS], e = open_loop(b, s->width, s->width > 1);
  nxb_lane_map map;
  for (uint32_t i = 0; i < s->n && !b->to->failed; i++) carry[i] = nxk_carry(b->to, within[i]);
  if (b->to->failed || !nxb_lane_map_copy(b, &map, from)) return;
  set_element(b, &map, s, w, thread_of(b), e);
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

static void identities(nxb_binder *b, const scans *s, nxk_value *out) {
  for (uint32_t i = 0; i < s->n; i++) {
    const nxk_instr *in = &b->from->instrs[s->scan[i]];
    uint64_t bits = nxk_reduce_identity((nxk_reduce_kind)in->kind, (nx_dtype)in->dtype);
    out[i] = nxk_splat(b->to, nxk_const(b->to, (nx_dtype)in->dtype, bits), b->threads);
  }
}

/* ---- a block of each line */

/* Scans one block of each line; `within` becomes the total of the block. before: the result of all
 * earlier blocks; NULL: only the totals are computed. */
static void walk_block(nxb_binder *b, const nxb_lane_map *map, const scans *s, walk *w,
                       const nxk_value *before, nxk_value *within) {
  nxk_value carry[MOST_SCANS];
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

static void leave_totals(nxb_binder *b, const scans *s, const nxk_value *totals, nxk_value there) {
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
static void find_before(nxb_binder *b, const scans *s, const nxk_value *start,
                        const nxk_value *totals, nxk_value *before, nxk_value *after) {
  nxk_value thread = thread_of(b), carry[MOST_SCANS], all[MOST_SCANS];
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

/* ---- the template */

static bool add_arrays(nxb_binder *b, scans *s) {
  for (uint32_t i = 0; i < s->n; i++) {
    nx_dtype t = (nx_dtype)b->from->instrs[s->scan[i]].dtype;
    s->tile[i] = s->columns ? NXK_NONE : nxb_add_local(b, t, s->lines * (s->width + 1));
    s->total[i] =
        s->of_row > 1 ? nxb_add_local(b, t, s->lines + s->of_row * (s->columns + 1)) : NXK_NONE;
  }
  return !b->to->failed;
}

void nxb_gpu_scans(nxb_binder *b) {
  scans s;
  nxb_lane_map map;
  nxk_value start[MOST_SCANS], before[MOST_SCANS], within[MOST_SCANS], carry[MOST_SCANS];
  if (!plan(b, &s) || !add_arrays(b, &s) || !nxb_lane_map_init(b, &map)) return;
  map.lanes = b->threads;
  nxk_begin_region(b->to);
  walk w = {.round = nxb_int(b, 0)};
  w.task = nxk_begin_range(b->to, NXK_TASK, nxb_ceil(s.rows, s.task_rows));
  identities(b, &s, start);
  bool rounds = s.rounds > 1;
  if (rounds) w.round = open_loop(b, s.rounds, false);
  for (uint32_t i = 0; i < s.n && rounds && !b->to->failed; i++)
    start[i] = carry[i] = nxk_carry(b->to, start[i]);
  memcpy(before, start, sizeof start);
  if (s.of_row > 1 && !b->to->failed) {
    walk_block(b, &map, &s, &w, NULL, within);
    find_before(b, &s, start, within, before, start);
  }
  if (!b->to->failed && !b->failed) walk_block(b, &map, &s, &w, before, within);
  for (uint32_t i = 0; i < s.n && rounds && !b->to->failed; i++)
    nxk_next(b->to, carry[i], start[i]);
  if (rounds) nxk_end(b->to);
  nxk_end(b->to);
  nxk_end(b->to);
}
