/* SPDX-License-Identifier: ISC */
/* Long scans where memory is contiguous along an outer loop. Lanes run along that loop, and its
 * columns are divided into strips. A few rows of a strip are processed together, from the first
 * column to the last, so that memory is read and written in long pieces: with one vector of columns
 * at a time each piece of a few cache lines would be in another page. What the scan carries for the
 * columns of the strip is in LOCAL arrays meanwhile, which stay in the nearest cache. */
#include "scan.h"

enum {
  STRIP_BYTES = 4096,
  LEAST_BYTES = 512, /* of a strip, where there are few columns; of all columns, too */
  LEAST_TASKS = 8,
  TRIES = 4,         /* numbers of strips, for one with which few columns are in two */
  LEAST_POINTS = 64, /* of a scan that is worth it */
  ROWS = 4,          /* that are processed together */
  MOST_CODE = 16,    /* vector operations; the code of so many rows is written out */
};

typedef struct strip {
  nxb_binder *b;
  const nxb_stage *stage;
  nxb_carried carried;
  nxb_lane_map map; /* in the strip, outside of loops over columns */
  nxb_dim dim;
  int64_t width;
  bool shifted; /* the last strip is as wide as the others, and overlaps the one before */
  bool blocks;  /* there are several blocks of 1024 elements */
  uint16_t lanes;
  uint32_t *before, *within; /* LOCAL arrays of each number that is carried */
} strip;

/* ---- whether the template suits */

static bool has_memory(const nxb_binder *b, nxk_value first, nxk_value last, bool stores) {
  for (nxk_value v = first; v <= last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (stores && in->op == NXK_store) return true;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    if (b->from->buffers[b->from->accesses[in->imm].buffer].kind == NXK_LOCAL) return true;
  }
  return false;
}

/* One stage, nothing but values before it, and nothing behind it. */
static bool suits(const nxb_binder *b) {
  const nxb_region *p = b->region;
  const nxb_stage *s = p->stages;
  if (p->n_stages != 1 || !s->simple || s->points < LEAST_POINTS) return false;
  if (has_memory(b, p->first, p->last, false) || has_memory(b, p->first, s->first, true))
    return false;
  for (nxk_value v = s->last + 1; v <= p->body_last; v++)
    if (nxb_is_code((nxk_op)b->from->instrs[v].op)) return false;
  for (nxk_value v = s->first; v <= s->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op == NXK_scan && nxk_takes_pairs((nxk_reduce_kind)in->kind)) return false;
  }
  return true;
}

/* The most columns of a strip. */
static int64_t widest_strip(int64_t extent, int64_t lanes, int64_t widest, int64_t others) {
  int64_t width = STRIP_BYTES / widest;
  while (others * nxb_ceil(extent, width) < LEAST_TASKS && width * widest > LEAST_BYTES) width /= 2;
  return width < lanes ? lanes : width;
}

/* All columns are in whole vectors, though some may be in two strips. */
static bool choose_strips(strip *s, int64_t extent, int64_t widest, int64_t others) {
  const nxb_region *p = s->b->region;
  int64_t line = 64 / widest;
  s->lanes = (uint16_t)(s->b->target->vector_bytes / widest);
  if (s->lanes < line) s->lanes = (uint16_t)line;
  if (extent * widest < LEAST_BYTES) return false;
  const int64_t n = nxb_ceil(extent, widest_strip(extent, s->lanes, widest, others));
  for (int64_t strips = n; strips < n + TRIES; strips++) {
    s->width = nxb_ceil(nxb_ceil(extent, strips), s->lanes) * s->lanes;
    const int64_t again = strips * s->width - extent;
    s->shifted = again > 0;
    if (s->width <= extent && again <= extent / 8)
      return !s->shifted || nxb_repeats(s->b, p->first, p->last);
  }
  return false;
}

/* ---- loops over the columns of the strip */

static void open_columns(strip *s, nxb_lane_map *map) {
  const nxb_loop *loop = &s->dim.loop;
  nxk_value column =
      nxk_begin_for(s->b->to, NXK_SEQ, nxk_bound_of(s->dim.lo), nxk_bound_of(s->dim.hi), s->lanes);
  nxb_lane_map_assign(s->b, map, &s->map);
  map->lanes = s->lanes;
  map->vector = loop->value;
  map->base_multiple = loop->lower == 0 && !s->shifted ? s->lanes * loop->step : 1;
  map->column = column;
  nxb_set_index(s->b, map, loop, column, true);
}

static nxk_access column_of(strip *s, const nxb_lane_map *map, uint32_t array) {
  nxk_access a = nxk_access_at(array, 0);
  a.terms = nxb_alloc(s->b, 2 * sizeof *a.terms);
  if (s->b->failed) return a;
  a.terms[a.n_terms++] = (nxk_term){map->column, 1};
  a.terms[a.n_terms++] = (nxk_term){s->dim.lo, -1};
  a.lane_stride = 1;
  return a;
}

static nxk_value load(strip *s, const nxb_lane_map *map, uint32_t array) {
  nxk_access a = column_of(s, map, array);
  return s->b->failed ? NXK_NONE : nxk_load(s->b->to, &a, s->lanes);
}

static void store(strip *s, const nxb_lane_map *map, uint32_t array, nxk_value value) {
  nxk_access a = column_of(s, map, array);
  if (!s->b->failed && !s->b->to->failed) nxk_store(s->b->to, &a, value);
}

/* Sets numbers that are carried to their identity, for all columns: those of all scans, or only
 * those that begin anew with each block. */
static void reset(strip *s, const uint32_t *arrays, bool all) {
  nxb_lane_map map;
  if (!nxb_lane_map_init(s->b, &map)) return;
  open_columns(s, &map);
  for (uint32_t i = 0; i < s->carried.n && !s->b->failed && !s->b->to->failed; i++)
    if (all || !nxb_scan_in_order(s->b, s->carried.scan[i]))
      store(s, &map, arrays[i], nxb_scan_identity(s->b, s->carried.scan[i], s->lanes));
  nxk_end(s->b->to);
}

/* Adds the totals of a block to what is before the next one. */
static void end_block(strip *s) {
  nxb_lane_map map;
  if (!nxb_lane_map_init(s->b, &map)) return;
  open_columns(s, &map);
  for (uint32_t i = 0; i < s->carried.n && !s->b->failed && !s->b->to->failed; i++) {
    nxk_value scan = s->carried.scan[i], next, before = load(s, &map, s->before[i]),
              total = load(s, &map, s->within[i]);
    if (s->b->failed || s->b->to->failed || nxb_scan_in_order(s->b, scan)) continue;
    nxb_scan_combine(s->b, scan, NXK_NONE, &before, &total, &next);
    store(s, &map, s->before[i], next);
  }
  nxk_end(s->b->to);
}

/* ---- the rows */

/* The rows `at` .. at + n - 1 of all columns. */
static void write_rows(strip *s, nxk_value at, int64_t n) {
  nxb_binder *b = s->b;
  const nxb_region *p = b->region;
  nxb_carried *c = &s->carried;
  nxb_lane_map map;
  nxk_value *next = nxb_alloc(b, c->n * sizeof *next);
  if (!next || !nxb_lane_map_init(b, &map)) return;
  open_columns(s, &map);
  nxb_write_ready(b, &map);
  nxb_write_code(b, &map, p->body_first, s->stage->first);
  for (uint32_t i = 0; i < c->n && !b->failed && !b->to->failed; i++) {
    c->within[i] = load(s, &map, s->within[i]);
    c->before[i] =
        s->blocks ? load(s, &map, s->before[i]) : nxb_scan_identity(b, c->scan[i], s->lanes);
  }
  for (int64_t q = 0; q < n && !b->failed && !b->to->failed; q++) {
    nxb_lane_map row;
    if (!nxb_lane_map_copy(b, &row, &map)) return;
    nxb_set_point(b, &row, s->stage, nxb_add(b, at, q), 1);
    nxb_scan_element(b, &row, 1, s->stage, c, next);
    for (uint32_t i = 0; i < c->n; i++) c->within[i] = next[i];
  }
  for (uint32_t i = 0; i < c->n && !b->failed && !b->to->failed; i++)
    store(s, &map, s->within[i], c->within[i]);
  nxk_end(b->to);
}

static void write_rows_from(strip *s, nxk_bound_value lo, nxk_bound_value hi, int64_t n) {
  nxk_value at = nxk_begin_for(s->b->to, NXK_SEQ, lo, hi, n);
  if (!s->b->to->failed) write_rows(s, at, n);
  nxk_end(s->b->to);
}

/* The rows lo .. hi, where lo is a multiple of ROWS. */
static void write_run(strip *s, nxk_bound_value lo, nxk_value hi) {
  nxb_binder *b = s->b;
  int64_t rows = nxb_code_cost(b, s->stage->first, s->stage->last) <= MOST_CODE ? ROWS : 1;
  nxk_value whole = rows > 1 ? nxb_op(b, NXK_and, hi, nxb_int(b, -rows)) : hi;
  if (b->failed || b->to->failed) return;
  write_rows_from(s, lo, nxk_bound_of(whole), rows);
  if (s->stage->points % rows != 0) write_rows_from(s, nxk_bound_of(whole), nxk_bound_of(hi), 1);
}

static void write_strip(strip *s) {
  nxb_binder *b = s->b;
  reset(s, s->within, true);
  if (!s->blocks) {
    write_run(s, nxk_bound_const(0), nxb_int(b, s->stage->points));
    return;
  }
  reset(s, s->before, true);
  nxk_value block = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(0),
                                  nxk_bound_const(nxb_ceil(s->stage->points, NXK_SCAN_BLOCK)), 1);
  nxk_value lo = nxb_mul(b, block, NXK_SCAN_BLOCK), hi = nxb_add(b, lo, NXK_SCAN_BLOCK);
  if (s->stage->points % NXK_SCAN_BLOCK != 0)
    hi = nxb_op(b, NXK_min, hi, nxb_int(b, s->stage->points));
  if (b->failed || b->to->failed) return;
  write_run(s, nxk_bound_of(lo), hi);
  end_block(s);
  reset(s, s->within, false);
  nxk_end(b->to);
}

/* ---- the template */

static bool prepare(strip *s) {
  nxb_binder *b = s->b;
  nxb_carried *c = &s->carried;
  if (!nxb_lane_map_init(b, &s->map) || !nxb_scan_collect(b, s->stage, 1, c)) return false;
  s->blocks = nxb_scan_in_blocks(b, c, s->stage);
  s->before = nxb_alloc(b, c->n * sizeof *s->before);
  s->within = nxb_alloc(b, c->n * sizeof *s->within);
  for (uint32_t i = 0; i < c->n && !b->failed; i++) {
    nx_dtype t = (nx_dtype)b->from->instrs[c->scan[i]].dtype;
    s->within[i] = nxb_add_local(b, t, s->width);
    if (s->blocks) s->before[i] = nxb_add_local(b, t, s->width);
  }
  return !b->failed && !b->to->failed;
}

bool nxb_bind_scan_strips(nxb_binder *b, nxk_value loop) {
  const nxb_region *p = b->region;
  strip s = {.b = b, .stage = p->stages, .carried = {.at = -1}};
  nxb_nest nest = {.n = 0};
  uint32_t at = 0;
  int64_t others = 1;
  for (uint32_t i = 0; i < p->n_outer; i++) {
    if (p->outer[i].value == loop) at = i;
    else nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1), others *= p->outer[i].extent;
  }
  const int64_t extent = p->outer[at].extent;
  if (!suits(b) || !choose_strips(&s, extent, nxb_widest(b, p->first, p->last, loop), others) ||
      !prepare(&s))
    return b->failed || b->to->failed;
  nxb_dim *dim = &nest.dims[nest.n++];
  *dim = nxb_outer_dim(b, at, NXB_BLOCK, s.width);
  nxb_open(b, &nest, &s.map, nxb_point_cycles(b) * (double)s.width);
  s.dim = *dim;
  if (s.shifted) {
    s.dim.lo = nxb_op(b, NXK_min, s.dim.lo, nxb_int(b, extent - s.width));
    s.dim.hi = nxb_add(b, s.dim.lo, s.width);
  }
  if (!b->failed && !b->to->failed) write_strip(&s);
  nxb_close(b, &nest);
  return true;
}
