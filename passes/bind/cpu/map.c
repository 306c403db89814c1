/* SPDX-License-Identifier: ISC */
/* Template MAP of the CPU binder: regions without stages. Lanes run along the loop that most
 * accesses are contiguous along. If a load is contiguous along another loop (a transpose), both
 * loops are cut into tiles, and the tile of the load is first transposed into a LOCAL array, in
 * square blocks that fit in registers. So memory is read and written in long contiguous pieces. The
 * rows of the array are a cache line longer than the tile, because otherwise the elements of a
 * column would fall into few sets of the cache. */
#include "passes/bind/bind.h"

#include <string.h>

enum { TILE_BYTES = 256, TILE_MOST = 128, FAR_TILES = 4, SHORT_BYTES = 1024 };

typedef struct map_plan {
  nxb_dim tile, vector;
  bool tiles;
  nxb_tail tail;
  uint16_t lanes;
  int64_t side; /* rows and columns of the blocks that are transposed in registers */
  /* the only crossing load, if it is used straight from registers without an array; else
   * NXK_NONE */
  nxk_value direct;
  int64_t rest; /* rows of a tile, which then has all of them, beyond whole blocks; else 0 */
  /* blocks along the vector loop that are computed together, so that they fill cache lines */
  int64_t beside;
  /* every second row begins in the middle of a line; such rows are written from their first whole
   * line on */
  bool halves;
  /* the store whose cache lines the vectors of a row are shifted to, or NULL */
  const nxk_access *shifted;
  nxk_value from; /* in a tile that is shifted: the iteration that its array begins with */
  nxb_tile staged;
} map_plan;

static void write_element(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user) {
  (void)user;
  for (uint32_t i = 0; i < n_maps; i++) nxb_write_ready(b, &maps[i]);
  nxb_write_body(b, maps, n_maps, b->region->body_first, b->region->body_last, NULL, NULL);
}

/* ---- tiles */

/* One step of a transpose exchanges one bit of the row number for one bit of the lane number. */
static void exchange(nxb_binder *b, const nxk_value *rows, nxk_value *next, int64_t n) {
  for (int64_t i = 0; i < n / 2; i++) {
    next[2 * i] = nxk_interleave(b->to, false, rows[i], rows[i + n / 2]);
    next[2 * i + 1] = nxk_interleave(b->to, true, rows[i], rows[i + n / 2]);
  }
}

/* With AVX-512, where a step is one instruction a row, the steps are a loop, which
 * compiles sooner and is as quick as if they were written out. Elsewhere LLVM finds fewer
 * instructions for two steps together. */
void nxb_turn_over(nxb_binder *b, nxk_value *rows, int64_t n) {
  nxk_value next[16] = {0};
  const bool loop = b->target->vector_bytes == 64 && n > 4;
  for (int64_t done = 1; done < n && !loop && !b->to->failed; done *= 2) {
    exchange(b, rows, next, n);
    memcpy(rows, next, (size_t)n * sizeof *rows);
  }
  if (!loop) return;
  nxk_begin_range(b->to, NXK_SEQ, __builtin_ctzll((uint64_t)n));
  for (int64_t i = 0; i < n && !b->to->failed; i++) rows[i] = nxk_carry(b->to, rows[i]);
  if (!b->to->failed) exchange(b, rows, next, n);
  for (int64_t i = 0; i < n && !b->to->failed; i++) nxk_next(b->to, rows[i], next[i]);
  nxk_end(b->to);
}

/* Loads one square block as `side` vectors along the tile's loop and transposes it: rows[q] is then
 * the vector along the vector loop at the q-th index of the tile's loop. */
static void load_block(nxb_binder *b, nxb_lane_map *map, map_plan *m, nxk_value load,
                       nxk_value along, nxk_value across, nxk_value *rows) {
  map->lanes = (uint16_t)m->side;
  nxb_set_index(b, map, &m->tile.loop, across, true);
  for (int64_t q = 0; q < m->side && !b->to->failed && !b->failed; q++) {
    nxb_set_index(b, map, &m->vector.loop, nxb_add(b, along, q), false);
    nxb_write(b, map, load);
    rows[q] = nxb_wide(b, map, load);
  }
  if (b->to->failed || b->failed) return;
  nxb_turn_over(b, rows, m->side);
  nxb_set_index(b, map, &m->vector.loop, along, true);
}

static void copy_block(nxb_binder *b, nxb_lane_map *map, map_plan *m, nxk_value load,
                       nxk_value along, nxk_value across) {
  nxk_value rows[16] = {0};
  load_block(b, map, m, load, along, across, rows);
  for (int64_t q = 0; q < m->side && !b->to->failed && !b->failed; q++) {
    nxb_set_index(b, map, &m->tile.loop, nxb_add(b, across, q), false);
    nxk_access a = nxb_tile_access(b, map, &m->staged, load);
    if (!b->failed) nxk_store(b->to, &a, rows[q]);
  }
}

/* Which rows of a block are written. */
typedef enum rows_of { ALL_ROWS, EVEN_ROWS, ODD_ROWS } rows_of;

/* Computes one row of a block, from iteration `along` of the vector loop on. `value` is the value
 * of the crossing load. */
static void write_row(nxb_binder *b, nxb_lane_map *map, map_plan *m, nxk_value along, nxk_value row,
                      nxk_value value) {
  map->lanes = b->to->failed ? 1 : b->to->instrs[value].lanes;
  map->vector = m->vector.loop.value;
  map->on_line = m->halves && map->lanes > m->side;
  map->base_multiple = m->vector.loop.lower == 0 ? map->lanes : 1;
  nxb_set_index(b, map, &m->vector.loop, along, true);
  nxb_set_index(b, map, &m->tile.loop, row, false);
  map->bound[m->direct] = value;
  map->given = m->direct;
  write_element(b, map, 1, NULL);
}

/* Computes the rows from number `first` on of `beside` neighbouring blocks straight from registers.
 * Rows that begin in the middle of a cache line are computed one block later than the others. */
static void write_block(nxb_binder *b, nxb_lane_map *map, map_plan *m, nxk_value along,
                        nxk_value across, int64_t first, int64_t beside, rows_of which) {
  nxb_lane_map before;
  nxk_value blocks[3][16] = {{0}};
  bool later = m->halves && beside > 1;
  if (!nxb_lane_map_copy(b, &before, map)) return;
  for (int64_t i = 0; i < beside + later && !b->to->failed && !b->failed; i++)
    load_block(b, map, m, m->direct, nxb_add(b, along, i * m->side), across, blocks[i]);
  nxk_value next = nxb_add(b, along, m->side);
  for (int64_t q = first; q < m->side && !b->to->failed && !b->failed; q++) {
    bool odd = q % 2 == 1, shift = later && odd;
    if ((which == EVEN_ROWS && odd) || (which == ODD_ROWS && !odd)) continue;
    nxk_value value = blocks[shift][q];
    if (beside > 1) value = nxk_concat(b->to, value, blocks[1 + shift][q]);
    nxb_lane_map_assign(b, map, &before);
    write_row(b, map, m, shift ? next : along, nxb_add(b, across, q), value);
  }
  nxb_lane_map_assign(b, map, &before);
}

/* Opens a loop over the blocks of a dimension and returns the first iteration of each. The last
 * block ends at the end of the tile, and may overlap the one before. */
static nxk_value open_blocks(nxb_binder *b, const nxb_dim *d, int64_t side) {
  nxk_value at = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_of(d->lo), nxk_bound_of(d->hi), side);
  bool whole = !b->target->generic && d->loop.extent % side == 0; /* NOLINT: side > 0 */
  return whole ? at : nxb_op(b, NXK_min, at, nxb_add(b, d->hi, -side));
}

static void copy_tile(nxb_binder *b, nxb_lane_map *map, map_plan *m, nxk_value load) {
  nxb_dim columns = m->vector;
  if (m->shifted) columns.lo = m->from;
  nxk_value along = open_blocks(b, &columns, m->side), across = open_blocks(b, &m->tile, m->side);
  if (!b->to->failed) copy_block(b, map, m, load, along, across);
  nxk_end(b->to);
  nxk_end(b->to);
}

/* Writes the loop over the rows of a tile for one vector. */
static void write_tile_rows(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user) {
  map_plan *m = user;
  nxk_value i =
      nxk_begin_for(b->to, NXK_SEQ, nxk_bound_of(m->tile.lo), nxk_bound_of(m->tile.hi), 1);
  nxb_set_index(b, &maps[0], &m->tile.loop, i, false);
  if (!b->to->failed) write_element(b, maps, n_maps, NULL);
  nxk_end(b->to);
}

static void write_blocks(nxb_binder *b, nxb_lane_map *map, map_plan *m, const nxb_dim *columns,
                         int64_t beside, rows_of which) {
  nxb_dim rows = m->tile;
  rows.loop.extent -= m->rest;
  rows.hi = nxb_add(b, rows.hi, -m->rest);
  nxk_value along = open_blocks(b, columns, m->side * beside),
            across = open_blocks(b, &rows, m->side);
  if (!b->to->failed) write_block(b, map, m, along, across, 0, beside, which);
  nxk_end(b->to);
  const int64_t last = m->side - m->rest;
  if (m->rest > 0 && !b->to->failed)
    write_block(b, map, m, along, nxb_add(b, rows.hi, -last), last, beside, which);
  nxk_end(b->to);
}

/* For blocks of half a cache line, where every second row begins in the middle of a line: writes
 * that half line at the beginning of such rows, and the half line that is left at the end of the
 * other rows. */
static void write_halves(nxb_binder *b, nxb_lane_map *map, map_plan *m) {
  nxb_dim first = m->vector, lines = m->vector, last = m->vector;
  first.hi = nxb_op(b, NXK_min, first.hi, nxb_int(b, m->side));
  lines.hi = nxb_op(b, NXK_and, lines.hi, nxb_int(b, -2 * m->side));
  last.lo = lines.hi;
  first.loop.extent = lines.loop.extent = last.loop.extent =
      2 * m->side; /* blocks do not overlap */
  write_blocks(b, map, m, &first, 1, ODD_ROWS);
  write_blocks(b, map, m, &lines, 2, ALL_ROWS);
  write_blocks(b, map, m, &last, 1, EVEN_ROWS);
}

/* Writes a tile whose rows are shifted to cache lines. Its array begins one line before it, since a
 * tile writes the line that begins in the tile before and ends in this one. */
static void write_shifted_tile(nxb_binder *b, nxb_lane_map *map, const map_plan *m) {
  nxk_value i =
      nxk_begin_for(b->to, NXK_SEQ, nxk_bound_of(m->tile.lo), nxk_bound_of(m->tile.hi), 1);
  nxb_set_index(b, map, &m->tile.loop, i, false);
  if (!b->to->failed)
    nxb_shifted_block(b, map, &m->vector, m->from, m->shifted, write_element, NULL);
  nxk_end(b->to);
}

static void write_direct(nxb_binder *b, nxb_lane_map *map, map_plan *m) {
  if (m->halves) write_halves(b, map, m);
  else write_blocks(b, map, m, &m->vector, m->beside, ALL_ROWS);
}

static void write_tile(nxb_binder *b, nxb_lane_map *map, map_plan *m) {
  nxb_lane_map before;
  if (m->direct != NXK_NONE) {
    write_direct(b, map, m);
    return;
  }
  if (!nxb_lane_map_copy(b, &before, map)) return;
  if (m->shifted) {
    int64_t line = nxk_line_of(b->from, m->shifted);
    nxk_value zero = nxb_int(b, 0);
    m->from = nxb_op(b, NXK_max, nxb_add(b, m->vector.lo, -line), zero);
  }
  m->staged.row_origin = nxb_add(b, nxb_mul(b, m->tile.lo, m->tile.loop.step), m->tile.loop.lower);
  m->staged.column_origin =
      nxb_add(b, nxb_mul(b, m->vector.lo, m->vector.loop.step), m->vector.loop.lower);
  for (nxk_value v = b->region->first; v < b->region->last && !b->to->failed && !b->failed; v++)
    if (m->staged.array[v] != NXK_NONE) copy_tile(b, &before, m, v);
  map->tile = &m->staged;
  if (b->to->failed || b->failed) return;
  if (m->shifted) write_shifted_tile(b, map, m);
  else nxb_vector_loops(b, map, 1, &m->vector, m->lanes, m->tail, write_tile_rows, m);
}

/* True if a load or store is contiguous along `loop` and not along `vector`. */
static bool crosses(const nxb_binder *b, nxk_value v, nxk_value vector, nxk_value loop) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op != NXK_load && in->op != NXK_store) return false;
  const nxk_access *a = &b->from->accesses[in->imm];
  bool computed_along, computed;
  int64_t along = nxb_stride(b, a, vector, &computed_along),
          stride = nxb_stride(b, a, loop, &computed);
  if (computed || computed_along || b->from->buffers[a->buffer].kind == NXK_LOCAL) return false;
  return (along < -8 || along > 8) && (stride == 1 || stride == -1);
}

static uint32_t choose_tile_loop(const nxb_binder *b, nxk_value vector) {
  const nxb_region *p = b->region;
  if (nxb_has_steps(b)) return NXK_NONE; /* their work hides what a transpose costs */
  for (nxk_value v = p->first; v <= p->last; v++)
    for (uint32_t i = 0; i < p->n_outer; i++)
      if (p->outer[i].extent >= 8 && crosses(b, v, vector, p->outer[i].value)) return i;
  return NXK_NONE;
}

static bool is_unit_loop(const nxb_loop *loop, int64_t least) {
  return loop->step == 1 && loop->extent >= least;
}

static bool stands_alone(const nxk_access *a) {
  return a->mask == NXK_NONE && a->index == NXK_NONE;
}

/* The rows of a tile that has all of them beyond whole blocks. */
static int64_t rows_left(const nxb_binder *b, const map_plan *m) {
  const int64_t rows = m->tile.loop.extent;
  const bool all = !b->target->generic && m->tile.unit >= rows && rows >= m->side;
  return all && !(m->halves && rows % 2 != 0) ? rows % m->side : 0;
}

/* The crossing load if there is only one, blocks fill both loops exactly (but for the rest of a
 * tile's rows), and the code for one block (or for two that fill cache lines) is short enough to be
 * written out; else NXK_NONE. */
static nxk_value choose_direct(const nxb_binder *b, const map_plan *m) {
  nxk_value load = NXK_NONE;
  int64_t along = m->halves ? m->side : m->side * m->beside;
  bool whole = is_unit_loop(&m->vector.loop, 1) && is_unit_loop(&m->tile.loop, 1) &&
               m->vector.loop.extent % along == 0 && m->vector.unit % along == 0 &&
               (m->tile.loop.extent - m->rest) % m->side == 0;
  if (!whole || m->beside > 2 || nxb_code_cost(b, b->region->first, b->region->last) > 6)
    return NXK_NONE;
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    if (!crosses(b, v, m->staged.column, m->staged.row)) continue;
    bool single = load == NXK_NONE && b->from->instrs[v].op == NXK_load;
    if (!single || !stands_alone(&b->from->accesses[b->from->instrs[v].imm])) return NXK_NONE;
    load = v;
  }
  return load;
}

/* Whether a block is half a cache line, and every second row begins in the middle of a line and
 * ends at the end of one. */
static bool has_halves(const nxb_binder *b, const map_plan *m) {
  const nxb_loop *vector = &m->vector.loop, *tile = &m->tile.loop;
  const nxk_access *to =
      nxb_shifted_store(b, b->region->body_first, b->region->body_last, vector->value, false);
  if (!to || vector->lower != 0 || tile->lower != 0) return false;
  int64_t line = nxk_line_of(b->from, to);
  bool halves = line == 2 * m->side && vector->extent % line == m->side && to->offset % line == 0;
  for (uint32_t i = 0; i < to->n_terms; i++) {
    int64_t rest = to->terms[i].stride % line;
    nxk_value index = to->terms[i].index;
    if (index != vector->value) halves = halves && rest == (index == tile->value ? m->side : 0);
  }
  return halves && m->side % 2 == 0;
}

/* The store to whose cache lines the vectors of each row along `vector` are shifted, for rows that
 * begin in the middle of lines, or NULL. The two additional loops pay if rows are long. It is not
 * done if rows share loads: passes/kernel/jam.c computes such rows together, which needs the same
 * vectors in each. */
static const nxk_access *choose_shift(const nxb_binder *b, const nxb_loop *vector, bool plain) {
  const nxb_region *region = b->region;
  enum { LEAST_LINES = 6, MOST_COST = 16, MOST_LOADS = 4 };
  const int64_t least =
      plain || b->target->shifted_lines == 0 ? LEAST_LINES : b->target->shifted_lines;
  int64_t loads = 0;
  for (nxk_value v = region->body_first; v <= region->body_last; v++)
    loads += b->from->instrs[v].op == NXK_load;
  if (vector->extent < 0 || vector->step != 1 || loads > MOST_LOADS || nxb_has_steps(b) ||
      nxb_code_cost(b, region->body_first, region->body_last) > MOST_COST ||
      !nxb_masks_well(b, region->body_first, region->body_last))
    return NULL;
  const nxk_access *to =
      nxb_shifted_store(b, region->body_first, region->body_last, vector->value, plain);
  return to && vector->extent >= least * nxk_line_of(b->from, to) ? to : NULL;
}

/* Shifts the rows of a tile that goes through its array to cache lines, if a block is no wider than
 * a line. Such a tile reads a line more of each row than it writes, and uses whole lines of what it
 * writes, so it is long. */
static void shift_tile(const nxb_binder *b, map_plan *m) {
  const nxk_access *to = choose_shift(b, &m->vector.loop, true);
  int64_t line = to ? nxk_line_of(b->from, to) : 1;
  if (line < m->side || m->vector.unit % line != 0) return;
  m->shifted = to;
  m->tile.unit *= FAR_TILES;
  if (m->staged.margin < line) m->staged.margin = line;
  m->staged.pitch = m->vector.unit + m->staged.margin + line;
}

/* Chooses the loads that go through an array: the crossing ones, unless they have masks or computed
 * indices. */
static void plan_tile(nxb_binder *b, map_plan *m) {
  size_t n = b->from->n_instrs;
  nxb_tile *t = &m->staged;
  int64_t widest = 1;
  t->array = nxb_alloc(b, n * sizeof *t->array);
  if (b->failed) return;
  memset(t->array, 0xff, n * sizeof *t->array);
  t->row = m->tile.loop.value;
  t->column = m->vector.loop.value;
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    int64_t size = b->from->instrs[v].op == NXK_load ? nxi_dtype_size(b->from->instrs[v].dtype) : 1;
    if (size > widest) widest = size;
  }
  m->side = b->target->vector_bytes / widest < 16 ? b->target->vector_bytes / widest : 16;
  t->margin = m->side;
  t->pitch = m->vector.unit + m->side + 64 / widest;
  int64_t line = nxb_line_lanes(b, b->region->first, b->region->last, t->column);
  m->beside = line <= m->side ? 1 : line / m->side;
  m->halves = has_halves(b, m);
  if (m->halves) m->beside = 2;
  m->rest = rows_left(b, m);
  m->direct = choose_direct(b, m);
  /* A pair of blocks uses whole cache lines, of what it reads and of what it writes, so the tile
   * need not fit in a cache. A long tile lets the prefetcher follow what is read. */
  if (m->direct != NXK_NONE && m->beside > 1) m->tile.unit *= FAR_TILES;
  if (m->direct != NXK_NONE) return;
  if (!is_unit_loop(&m->vector.loop, m->side) || !is_unit_loop(&m->tile.loop, m->side)) return;
  shift_tile(b, m);
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load || !crosses(b, v, t->column, t->row)) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    if (stands_alone(a))
      t->array[v] = nxb_add_local(b, in->dtype, (m->tile.unit + t->margin) * t->pitch);
  }
}

/* ---- the template */

static nxk_value choose_vector_loop(const nxb_binder *b) {
  nxk_value best = NXK_NONE;
  double least = 1e30;
  for (uint32_t i = 0; i < b->region->n_outer; i++) {
    double cycles = nxb_lane_cycles(b, b->region->outer[i].value);
    if (b->region->outer[i].extent == 1 || cycles > least) continue;
    least = cycles;
    best = b->region->outer[i].value;
  }
  return best;
}

/* Whether a tile has whole rows of what it reads: they are short, and read in order then. */
static bool is_short(const nxb_binder *b, const nxb_loop *loop, int64_t widest) {
  return !b->target->generic && loop->extent > 0 && loop->extent * widest <= SHORT_BYTES;
}

/* Appends the dims of both loops of a tile, the vector loop last; returns the number of dims. */
static uint32_t plan_dims(nxb_binder *b, map_plan *m, uint32_t tile_at, uint32_t vector_at) {
  const nxb_region *region = b->region;
  int64_t extent = region->outer[vector_at].extent,
          widest = nxb_widest(b, region->first, region->last, region->outer[vector_at].value);
  m->tiles = tile_at != NXK_NONE && extent != -1;
  m->lanes = nxb_choose_lanes(b, region->first, region->last, region->outer[vector_at].value, 4);
  m->lanes = nxb_fit_lanes(b, m->lanes, widest, extent);
  /* vectors do not extend beyond their tile */
  m->tail = nxb_choose_tail(b, region->first, region->last, m->tiles ? -1 : extent, m->lanes);
  m->vector = nxb_outer_dim(b, vector_at, NXB_RANGE, m->lanes);
  if (!m->tiles) return 1;
  int64_t side = TILE_BYTES / widest < TILE_MOST ? TILE_BYTES / widest : TILE_MOST;
  m->vector = nxb_outer_dim(b, vector_at, NXB_BLOCK, side < m->lanes ? m->lanes : side);
  m->tile = nxb_outer_dim(b, tile_at, NXB_BLOCK, side);
  if (is_short(b, &region->outer[tile_at], widest)) m->tile.unit = region->outer[tile_at].extent;
  return 2;
}

/* Vectors of short rows are single lines, or most of a row would be what is left of it. */
static void plan_shift(const nxb_binder *b, map_plan *m, const nxb_loop *vector) {
  enum { SHORT_LINES = 16 };
  m->shifted = m->tiles ? NULL : choose_shift(b, vector, false);
  if (m->shifted == NULL) return;
  const int64_t line = nxk_line_of(b->from, m->shifted);
  if (m->lanes < line || vector->extent < SHORT_LINES * line) m->lanes = (uint16_t)line;
}

void nxb_bind_map(nxb_binder *b) {
  const nxb_region *region = b->region;
  nxk_value vector = choose_vector_loop(b);
  if (vector == NXK_NONE) {
    nxb_bind_points(b, NXK_NONE);
    return;
  }
  map_plan m = {.tiles = false, .direct = NXK_NONE};
  nxb_nest nest = {.n = 0};
  uint32_t vector_at = 0, tile_at = choose_tile_loop(b, vector);
  for (uint32_t i = 0; i < region->n_outer; i++) {
    if (region->outer[i].value == vector) vector_at = i;
    else if (i != tile_at) nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  }
  nest.n += plan_dims(b, &m, tile_at, vector_at);
  plan_shift(b, &m, &region->outer[vector_at]);
  nxb_dim *along = &nest.dims[nest.n - 1], *tile = along - m.tiles;
  nxb_lane_map map;
  if (!nxb_lane_map_init(b, &map)) return;
  nxb_add_locals(b, m.lanes);
  if (m.tiles) plan_tile(b, &m);
  *tile = m.tile;
  *along = m.vector;
  nxb_open(b, &nest, &map,
           nxb_point_cycles(b) * (double)(m.vector.unit * (m.tiles ? m.tile.unit : 1)));
  m.tile = *tile;
  m.vector = *along;
  if (!b->to->failed && !b->failed && m.tiles) write_tile(b, &map, &m);
  else if (!b->to->failed && !b->failed && m.shifted)
    nxb_shifted_loops(b, &map, &m.vector, m.lanes, m.shifted, write_element, &m);
  else if (!b->to->failed && !b->failed)
    nxb_vector_loops(b, &map, 1, &m.vector, m.lanes, m.tail, write_element, &m);
  nxb_close(b, &nest);
}
