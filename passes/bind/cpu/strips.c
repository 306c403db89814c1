/* SPDX-License-Identifier: ISC */
/* Template STRIPS of the CPU binder, for reductions over long runs of rows where memory is
 * contiguous along an outer loop: lanes run along that loop. A strip is a range of columns of some
 * thousand bytes. The rows of a strip are processed a few at a time, so that memory is read in long
 * contiguous pieces. Values that belong to a column (partial results, results, values for later
 * code) are kept in LOCAL arrays of one element a column.
 *
 * Code is divided into segments at loops. Each segment becomes a loop of its own over the
 * columns of the strip; values that are equal for all columns are computed once, before it. */
#include "strips.h"

#include <string.h>

/* Reductions of one stage that share an order. */
typedef struct strip_run {
  const nxb_stage *stage;
  const nxk_value *reduce;
  uint32_t n;
  int64_t block, scale;
  nxk_value shift;
  nx_dtype item_type;
  /* LOCAL arrays of each reduce: partial result of the block, its item number, the tree */
  uint32_t *value, *item, *tree;
  uint32_t *out;     /* LOCAL array for the results, at element out_row * width + column */
  nxk_value out_row; /* NXK_NONE: row 0 */
  uint32_t rows;     /* rows processed together */
  bool in_turn; /* each lane of the order has partial results of its own: row out_row of them */
} strip_run;

enum { LANES = 16 }; /* of the order `lanes` */

/* ---- loops over the columns */

static nxk_access column_access(nxb_strips *s, uint32_t array, nxk_value row) {
  nxk_access a = nxk_access_at(array, 0);
  a.terms = nxb_alloc(s->b, 3 * sizeof *a.terms);
  if (s->b->failed) return a;
  a.terms[a.n_terms++] = (nxk_term){s->map.column, 1};
  a.terms[a.n_terms++] = (nxk_term){s->map.column_origin, -1};
  if (row != NXK_NONE) a.terms[a.n_terms++] = (nxk_term){row, s->width};
  a.lane_stride = 1;
  return a;
}

static nxk_value load_column(nxb_strips *s, uint32_t array, nxk_value row) {
  nxk_access a = column_access(s, array, row);
  return s->b->failed ? NXK_NONE : nxk_load(s->b->to, &a, s->lanes);
}

static void store_column(nxb_strips *s, uint32_t array, nxk_value row, nxk_value value) {
  nxk_access a = column_access(s, array, row);
  if (!s->b->failed && !s->b->to->failed)
    nxk_store(s->b->to, &a, nxk_splat(s->b->to, value, s->lanes));
}

static void set_column(nxb_strips *s, nxb_lane_map *map, nxk_value column) {
  map->lanes = s->lanes;
  map->vector = s->dim.loop.value;
  map->base_multiple = s->multiple;
  map->columns = s->width;
  map->column = column;
  map->column_origin = s->dim.lo;
  nxb_set_index(s->b, map, &s->dim.loop, s->point, true);
}

static void open_columns(nxb_strips *s) {
  nxb_lane_map_assign(s->b, &s->saved, &s->map);
  nxk_value column = s->point =
      nxk_begin_for(s->b->to, NXK_SEQ, nxk_bound_of(s->dim.lo), nxk_bound_of(s->end), s->lanes);
  if (s->overlaps) s->point = nxb_op(s->b, NXK_min, column, nxb_add(s->b, s->dim.hi, -s->lanes));
  set_column(s, &s->map, column);
}

static void close_columns(nxb_strips *s) {
  nxk_end(s->b->to);
  nxb_lane_map_assign(s->b, &s->map, &s->saved);
}

/* Loads a value that was kept in a LOCAL array, in the open loop over the columns. */
static void fetch(nxb_strips *s, nxk_value v, nxk_value operand) {
  if (s->segment[v] == s->segment[operand]) return;
  if (s->home[operand] == NXK_NONE || s->map.bound[operand] != NXK_NONE || s->b->to->failed) return;
  s->map.bound[operand] = load_column(s, s->home[operand], NXK_NONE);
  s->map.step[operand] = 0;
}

/* Writes the code of [first, last] that varies from column to column (or does not), except what the
 * lane map has already. */
static void write_part_of(nxb_strips *s, nxb_lane_map *map, nxk_value first, nxk_value last,
                          bool varying) {
  for (nxk_value v = first; v <= last && !s->b->to->failed && !s->b->failed; v++) {
    if (!nxb_is_code((nxk_op)s->b->from->instrs[v].op)) continue;
    bool cold = s->b->from->instrs[v].op == NXK_cold,
         here = s->varies[v] == varying && map->bound[v] == NXK_NONE;
    nxk_value written = cold ? nxb_last_blend(s->b, v) : v;
    if (here) written = nxb_write(s->b, map, v);
    for (nxk_value i = v; varying && here && i <= written; i++)
      if (s->home[i] != NXK_NONE) store_column(s, s->home[i], NXK_NONE, nxb_wide(s->b, map, i));
    v = written;
  }
}

static bool any_varying(const nxb_strips *s, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v <= last; v++)
    if (s->varies[v] && s->map.bound[v] == NXK_NONE &&
        nxb_is_code((nxk_op)s->b->from->instrs[v].op))
      return true;
  return false;
}

static void write_segment(nxb_strips *s, nxk_value first, nxk_value last) {
  write_part_of(s, &s->map, first, last, false);
  if (!any_varying(s, first, last)) return;
  open_columns(s);
  for (nxk_value v = first; v <= last; v++) nxb_strips_operands(s, v, fetch);
  write_part_of(s, &s->map, first, last, true);
  close_columns(s);
}

/* ---- reductions */

typedef enum finish { KEEP, STORE, PUSH } finish;

static nxk_value partial_row(const strip_run *f) { return f->in_turn ? f->out_row : NXK_NONE; }

static nxb_partial take_partial(nxb_strips *s, const strip_run *f, uint32_t i, bool first,
                                nxk_value item) {
  if (first) return nxb_identity(s->b, f->reduce[i], s->lanes, item, f->item_type);
  nxb_partial p = {load_column(s, f->value[i], partial_row(f)), NXK_NONE};
  if (nxb_is_arg(s->b->from, f->reduce[i])) p.item = load_column(s, f->item[i], NXK_NONE);
  return p;
}

static void store_result(nxb_strips *s, const strip_run *f, uint32_t i, nxb_partial p) {
  bool arg = p.item != NXK_NONE;
  if (!s->b->to->failed)
    store_column(s, f->out[i], f->out_row, arg ? nxk_cast_to(s->b->to, NX_I64, p.item) : p.value);
}

static nxk_access tree_access(nxb_strips *s, const strip_run *f, uint32_t i) {
  nxk_access a = column_access(s, f->tree[i], partial_row(f));
  a.tree_stride = f->in_turn ? LANES * s->width : s->width;
  return a;
}

static nxk_reduce_kind kind_of(const nxb_strips *s, const strip_run *f, uint32_t i) {
  return (nxk_reduce_kind)s->b->from->instrs[f->reduce[i]].kind;
}

static void leave_partial(nxb_strips *s, const strip_run *f, uint32_t i, nxb_partial p, finish how,
                          nxk_value number) {
  if (how == STORE) {
    store_result(s, f, i, p);
  } else if (how == PUSH) {
    nxk_access a = tree_access(s, f, i);
    if (!s->b->failed)
      nxk_tree_push(s->b->to, kind_of(s, f, i), number, p.value, NXK_NONE, &a, NULL);
  } else {
    store_column(s, f->value[i], partial_row(f), p.value);
    if (p.item != NXK_NONE) store_column(s, f->item[i], NXK_NONE, p.item);
  }
}

/* Whether a block is two groups of rows. Then both are written. */
static bool in_halves(const strip_run *f) { return f->block == 2 * (int64_t)f->rows; }

/* Combines the rows item .. item + n - 1 with the partial results of all columns. */
static void write_pass(nxb_strips *s, const strip_run *f, nxk_value item, uint32_t n, bool first,
                       finish how, nxk_value number) {
  nxb_binder *b = s->b;
  nxk_value items[NXB_STRIP_ROWS] = {0};
  for (uint32_t q = 0; q < n && !b->failed && !b->to->failed; q++) {
    items[q] = nxb_add(b, item, q);
    nxk_value point = nxb_mul(b, items[q], f->scale);
    if (f->shift != NXK_NONE) point = nxb_op(b, NXK_add, point, f->shift);
    nxb_lane_map_assign(b, &s->rows[q], &s->map);
    nxb_set_point(b, &s->rows[q], f->stage, point, 1);
    write_part_of(s, &s->rows[q], f->stage->first, f->stage->last, false);
    if (in_halves(f)) /* such short code has registers for what all columns share */
      nxb_widen_shared(b, &s->rows[q], f->stage, s->varies, s->lanes);
  }
  open_columns(s);
  for (nxk_value v = f->stage->first; v < f->stage->last; v++) nxb_strips_operands(s, v, fetch);
  nxb_partial *p = nxb_alloc(b, f->n * sizeof *p);
  for (uint32_t i = 0; i < f->n && !b->failed; i++) p[i] = take_partial(s, f, i, first, items[0]);
  for (uint32_t q = 0; q < n && !b->failed && !b->to->failed; q++) {
    nxb_lane_map *row = &s->rows[q];
    set_column(s, row, s->map.column);
    for (nxk_value v = b->region->first; v < b->region->last; v++) /* forget loaded values */
      if (s->home[v] != NXK_NONE && row->bound[v] == NXK_NONE) {
        row->bound[v] = s->map.bound[v];
        row->step[v] = 0;
      }
    write_part_of(s, row, f->stage->first, f->stage->last, true);
    for (uint32_t i = 0; i < f->n && !b->to->failed; i++)
      p[i] = nxb_accumulate(b, row, f->reduce[i], p[i], items[q], f->item_type, NXK_NONE);
  }
  for (uint32_t i = 0; i < f->n && !b->failed && !b->to->failed; i++)
    leave_partial(s, f, i, p[i], how, number);
  close_columns(s);
}

/* Sets the partial results of all columns to the identity. */
static void reset(nxb_strips *s, const strip_run *f, nxk_value item) {
  open_columns(s);
  for (uint32_t i = 0; i < f->n && !s->b->to->failed && !s->b->failed; i++)
    leave_partial(s, f, i, take_partial(s, f, i, true, item), KEEP, NXK_NONE);
  close_columns(s);
}

/* Passes the partial results of a block to the tree or to the result, and, if `again`, resets them
 * to the identity for the next block. */
static void hand_on(nxb_strips *s, const strip_run *f, finish how, nxk_value number, bool again) {
  open_columns(s);
  for (uint32_t i = 0; i < f->n && !s->b->to->failed && !s->b->failed; i++) {
    leave_partial(s, f, i, take_partial(s, f, i, false, NXK_NONE), how, number);
    if (again)
      leave_partial(s, f, i, take_partial(s, f, i, true, nxb_int(s->b, 0)), KEEP, NXK_NONE);
  }
  close_columns(s);
}

/* Whether partial results are the identity in memory when a block begins. */
static bool begins_in_memory(const strip_run *f) { return f->block > f->rows && !in_halves(f); }

/* Combines the items first .. first + count - 1, `rows` at a time. If `some` is given (a bound
 * value, a multiple of `rows`), it replaces `count`. Except in the shortest blocks, partial results
 * are in memory between groups of rows, so that the code for a group is written only once. */
static void write_block(nxb_strips *s, const strip_run *f, nxk_value first, int64_t count,
                        nxk_value some, finish how, nxk_value number) {
  nxb_binder *b = s->b;
  int64_t done = count - count % f->rows;
  if (in_halves(f) && count > f->rows) {
    write_pass(s, f, first, f->rows, true, KEEP, NXK_NONE);
    write_pass(s, f, nxb_add(b, first, f->rows), (uint32_t)count - f->rows, false, how, number);
    return;
  }
  if (count <= f->rows) {
    bool apart =
        count == NXB_STRIP_ROWS && how == PUSH; /* the tree is more streams through memory */
    write_pass(s, f, first, (uint32_t)count, true, apart ? KEEP : how, number);
    if (apart) hand_on(s, f, how, number, false);
    return;
  }
  nxk_bound_value end = some == NXK_NONE ? nxk_bound_const(done) : nxk_bound_of(some);
  nxk_value j = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(0), end, f->rows);
  write_pass(s, f, nxb_op(b, NXK_add, first, j), f->rows, false, KEEP, NXK_NONE);
  nxk_end(b->to);
  if (done < count)
    write_pass(s, f, nxb_add(b, first, done), (uint32_t)(count - done), false, KEEP, NXK_NONE);
  hand_on(s, f, how, number, how == PUSH);
}

static void join_blocks(nxb_strips *s, const strip_run *f, int64_t count) {
  open_columns(s);
  for (uint32_t i = 0; i < f->n && !s->b->to->failed && !s->b->failed; i++) {
    nxk_access a = tree_access(s, f, i);
    nxk_value joined =
        nxk_tree_join(s->b->to, kind_of(s, f, i), nxb_int(s->b, count), s->lanes, &a, NULL, false);
    store_result(s, f, i, (nxb_partial){joined, NXK_NONE});
  }
  close_columns(s);
}

/* The same as write_block, in a form that does not depend on how many items there are: the rows
 * that are left over are combined one by one. The partial results are in memory before it. */
static void write_block_generic(nxb_strips *s, const strip_run *f, nxk_value first, int64_t count,
                                finish how, nxk_value number) {
  nxb_binder *b = s->b;
  int64_t done = f->rows == 1 ? 0 : count - count % f->rows, from[3] = {0, done, count};
  for (int i = f->rows == 1; i < 2; i++) {
    uint32_t rows = i == 0 ? f->rows : 1;
    nxk_value j =
        nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(from[i]), nxk_bound_const(from[i + 1]), rows);
    write_pass(s, f, nxb_op(b, NXK_add, first, j), rows, false, KEEP, NXK_NONE);
    nxk_end(b->to);
  }
  hand_on(s, f, how, number, how == PUSH);
}

/* The same as write_run. The last block, be it whole or not, is written apart. */
static void write_run_generic(nxb_strips *s, strip_run *f, int64_t items) {
  nxb_binder *b = s->b;
  if (begins_in_memory(f)) reset(s, f, nxb_int(b, 0));
  if (f->block == INT64_MAX) {
    write_block_generic(s, f, nxb_int(b, 0), items, STORE, NXK_NONE);
    return;
  }
  int64_t blocks = (items - 1) / f->block;
  nxk_value block = nxk_begin_range(b->to, NXK_SEQ, blocks);
  write_block(s, f, nxb_mul(b, block, f->block), f->block, NXK_NONE, PUSH, block);
  nxk_end(b->to);
  if (!begins_in_memory(f)) reset(s, f, nxb_int(b, 0));
  write_block_generic(s, f, nxb_int(b, blocks * f->block), items - blocks * f->block, PUSH,
                      nxb_int(b, blocks));
  join_blocks(s, f, blocks + 1);
}

/* Writes the reduction of a run of `items`. */
static void write_run(nxb_strips *s, strip_run *f, int64_t items) {
  nxb_binder *b = s->b;
  if (b->target->generic) {
    write_run_generic(s, f, items);
    return;
  }
  if (begins_in_memory(f) && items > f->rows) reset(s, f, nxb_int(b, 0));
  if (f->block >= items) {
    write_block(s, f, nxb_int(b, 0), items, NXK_NONE, STORE, NXK_NONE);
    return;
  }
  int64_t blocks = items / f->block, rest = items % f->block, all = blocks + (rest > 0);
  bool alike = rest > 0 && begins_in_memory(f) && f->block % f->rows == 0 && rest % f->rows == 0;
  int64_t looped = alike ? all : blocks;
  nxk_value block = looped > 1 ? nxk_begin_range(b->to, NXK_SEQ, looped) : nxb_int(b, 0);
  nxk_value first = nxb_mul(b, block, f->block), some = NXK_NONE;
  if (alike) {
    some = nxb_op(b, NXK_sub, nxb_int(b, items), first);
    some = nxb_op(b, NXK_min, some, nxb_int(b, f->block));
  }
  write_block(s, f, first, f->block, some, PUSH, block);
  if (looped > 1) nxk_end(b->to);
  if (looped < all) {
    nxk_value at = nxb_int(b, blocks * f->block);
    write_block(s, f, at, rest, NXK_NONE, PUSH, nxb_int(b, blocks));
  }
  join_blocks(s, f, all);
}

/* Opens a loop over lanes of the order. */
static void open_lanes(nxb_strips *s, strip_run *f, int64_t first, int64_t end) {
  f->shift = f->out_row =
      nxk_begin_for(s->b->to, NXK_SEQ, nxk_bound_const(first), nxk_bound_const(end), 1);
}

static void write_lane_range(nxb_strips *s, strip_run *f, int64_t first, int64_t end,
                             int64_t items) {
  if (!nxb_any_lanes(s->b, f->stage) && (first >= end || items == 0)) return;
  open_lanes(s, f, first, end);
  write_run(s, f, items);
  nxk_end(s->b->to);
}

/* The items of a last block that is not whole, in some of the lanes. */
static void write_rest(nxb_strips *s, strip_run *f, int64_t blocks, int64_t first, int64_t end,
                       int64_t items) {
  if (first >= end || items == 0) return;
  open_lanes(s, f, first, end);
  write_block(s, f, nxb_int(s->b, blocks * f->block), items, NXK_NONE, PUSH, nxb_int(s->b, blocks));
  nxk_end(s->b->to);
}

static void join_lanes(nxb_strips *s, strip_run *f, int64_t first, int64_t end, int64_t count) {
  if (first >= end) return;
  open_lanes(s, f, first, end);
  join_blocks(s, f, count);
  nxk_end(s->b->to);
}

/* Writes the runs of all lanes, of two whole blocks at least. The lanes take turns after each few
 * rows: those that are read together are then followed in memory by those that are read next. */
static void write_in_turn(nxb_strips *s, strip_run *f) {
  enum { ROWS = 4 };
  nxb_binder *b = s->b;
  const int64_t all = LANES * f->block, blocks = f->stage->points / all,
                rest = f->stage->points % all, longer = rest < LANES ? rest : LANES;
  nxk_value block = nxk_begin_range(b->to, NXK_SEQ, blocks), first = nxb_mul(b, block, f->block);
  for (int64_t at = 0; at < f->block && !b->failed && !b->to->failed; at += ROWS) {
    const bool last = at + ROWS == f->block;
    open_lanes(s, f, 0, LANES);
    write_pass(s, f, nxb_add(b, first, at), ROWS, at == 0, last ? PUSH : KEEP, block);
    nxk_end(b->to);
  }
  nxk_end(b->to);
  write_rest(s, f, blocks, 0, rest % LANES, rest / LANES + 1);
  write_rest(s, f, blocks, rest % LANES, LANES, rest / LANES);
  join_lanes(s, f, 0, longer, blocks + 1);
  join_lanes(s, f, longer, LANES, blocks);
}

/* Writes a reduction in lanes order: each of the 16 lanes, then the combination of halves. */
static void write_lane_runs(nxb_strips *s, strip_run *f, uint32_t *home) {
  nxb_binder *b = s->b;
  int64_t points = f->stage->points,
          lanes = points < LANES && !nxb_any_lanes(b, f->stage) ? points : LANES;
  f->scale = LANES;
  for (uint32_t i = 0; i < f->n; i++)
    f->out[i] = nxb_add_local(b, nxk_dtype(b->from, b->from->instrs[f->reduce[i]].args[0]),
                              LANES * s->width);
  if (f->in_turn) {
    write_in_turn(s, f);
  } else {
    write_lane_range(s, f, 0, points % LANES, points / LANES + 1);
    write_lane_range(s, f, points % LANES, LANES, points / LANES);
  }
  open_columns(s);
  for (uint32_t i = 0; i < f->n && !b->to->failed && !b->failed; i++) {
    nxb_partial p[LANES];
    for (int64_t j = 0; j < lanes; j++)
      p[j] = (nxb_partial){load_column(s, f->out[i], nxb_int(b, j)), NXK_NONE};
    for (int64_t half = LANES / 2; half > 0; half /= 2)
      for (int64_t j = 0; j < half && j + half < lanes && !b->to->failed; j++)
        p[j] = nxb_combine(b, f->reduce[i], p[j], p[j + half], false);
    store_column(s, home[i], NXK_NONE, p[0].value);
  }
  close_columns(s);
}

static void write_group(nxb_strips *s, const nxb_stage *stage, const nxk_value *group, uint32_t n,
                        nxb_order order) {
  nxb_binder *b = s->b;
  strip_run f = {.stage = stage,
                 .reduce = group,
                 .n = n,
                 .block = order.block,
                 .scale = 1,
                 .shift = NXK_NONE,
                 .out_row = NXK_NONE,
                 .item_type = nxb_item_type(stage->points),
                 .rows = nxb_strip_rows(b, stage, &s->dim.loop),
                 .in_turn = order.lanes == LANES && nxb_strip_in_turn(b, stage, &s->dim.loop)};
  const int64_t apart = f.in_turn ? LANES : 1; /* partial results of a column */
  uint32_t *arrays = nxb_alloc(b, 5 * n * sizeof *arrays), *home = arrays;
  if (b->failed) return;
  f.value = arrays + n;
  f.item = arrays + 2 * n;
  f.tree = arrays + 3 * n;
  f.out = arrays + 4 * n;
  for (uint32_t i = 0; i < n; i++) {
    nx_dtype type = nxk_dtype(b->from, b->from->instrs[group[i]].args[0]);
    int64_t items = nxb_ceil(stage->points, order.lanes),
            partials = items > order.block ? nxb_ceil(items, order.block) : 0;
    home[i] = f.out[i] = s->home[group[i]];
    f.value[i] = nxb_add_local(b, type, apart * s->width);
    if (nxb_is_arg(b->from, group[i])) f.item[i] = nxb_add_local(b, f.item_type, s->width);
    int64_t levels = partials > 0 ? 64 - __builtin_clzll((uint64_t)partials) : 0;
    if (b->target->generic && order.block != INT64_MAX) levels = nxb_ceil(levels + 1, 12) * 12;
    if (levels > 0) f.tree[i] = nxb_add_local(b, type, levels * apart * s->width);
  }
  if (order.lanes == LANES) write_lane_runs(s, &f, home);
  else write_run(s, &f, stage->points);
}

static void write_empty(nxb_strips *s, const nxb_stage *stage) {
  open_columns(s);
  for (uint32_t i = 0; i < stage->n_reduces; i++)
    store_column(s, s->home[stage->reduce[i]], NXK_NONE, nxb_empty_result(s->b, stage->reduce[i]));
  close_columns(s);
}

static void write_reductions(nxb_strips *s, const nxb_stage *stage) {
  nxb_binder *b = s->b;
  bool *done = nxb_alloc(b, stage->n_reduces * sizeof *done);
  nxk_value *group = nxb_alloc(b, stage->n_reduces * sizeof *group);
  nxb_order order;
  uint32_t n;
  if (stage->points == 0) {
    write_empty(s, stage);
    return;
  }
  while (!b->failed && (n = nxb_next_group(b, stage, done, group, &order)) > 0) {
    write_group(s, stage, group, n, order);
    s->map.stores = false; /* the first group wrote them */
  }
  s->map.stores = true;
}

/* ---- the template */

static const nxb_stage *stage_at(const nxb_binder *b, nxk_value first) {
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].first == first) return &b->region->stages[i];
  return NULL;
}

static void write_strip(nxb_strips *s, nxk_value first, nxk_value last) {
  nxb_binder *b = s->b;
  for (nxk_value v = first; v <= last && !b->failed && !b->to->failed; v++) {
    nxk_op op = (nxk_op)b->from->instrs[v].op;
    const nxb_stage *stage = op == NXK_for ? stage_at(b, v) : NULL;
    if (stage && stage->reduces) {
      write_reductions(s, stage);
      v = stage->last;
    } else if (op == NXK_for) {
      const nxk_loop *loop = &b->from->loops[b->from->instrs[v].imm];
      s->map.bound[v] = nxk_begin_for(b->to, NXK_SEQ, loop->lower, loop->upper, loop->step);
      write_strip(s, v + 1, b->end_of[v] - 1);
      nxk_end(b->to);
      v = b->end_of[v];
    } else if (op != NXK_end) {
      nxk_value end = v;
      while (end < last && b->from->instrs[end + 1].op != NXK_for) end++;
      write_segment(s, v, end);
      v = end;
    }
  }
}

static bool prepare(nxb_binder *b, nxb_strips *s) {
  size_t n = b->from->n_instrs;
  s->b = b;
  s->varies = nxb_alloc(b, n * sizeof *s->varies);
  s->segment = nxb_alloc(b, n * sizeof *s->segment);
  s->home = nxb_alloc(b, n * sizeof *s->home);
  bool ok = nxb_lane_map_init(b, &s->map) && nxb_lane_map_init(b, &s->saved);
  for (int i = 0; i < NXB_STRIP_ROWS; i++) ok = ok && nxb_lane_map_init(b, &s->rows[i]);
  if (!ok) return false;
  memset(s->home, 0xff, n * sizeof *s->home);
  nxb_strips_find_values(s);
  nxb_add_locals(b, s->width);
  return !b->failed && !b->to->failed;
}

void nxb_bind_strips(nxb_binder *b, nxk_value vector_loop) {
  const nxb_region *region = b->region;
  nxb_strips s = {.b = b, .lanes = 1};
  nxb_nest nest = {.n = 0};
  int64_t widest = nxb_widest(b, region->first, region->last, vector_loop), others = 1, at = 0;
  for (uint32_t i = 0; i < region->n_outer; i++) {
    if (region->outer[i].value == vector_loop) at = i;
    else nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
    if (region->outer[i].value != vector_loop) others *= region->outer[i].extent;
  }
  int64_t extent = region->outer[at].extent;
  s.lanes = nxb_strip_lanes(b, &region->outer[at]);
  s.width = nxb_strip_width(b, &region->outer[at], s.lanes, widest, others);
  s.overlaps = nxb_strip_overlaps(b, extent, s.lanes, s.width);
  s.shifted = !s.overlaps && nxb_strip_shifts(b, extent, s.lanes, &s.width);
  nest.dims[nest.n++] = s.dim = nxb_outer_dim(b, at, NXB_BLOCK, s.width);
  if (!prepare(b, &s)) return;
  nxb_open(b, &nest, &s.map, nxb_point_cycles(b) * (double)s.width);
  s.dim = nest.dims[nest.n - 1];
  bool left_over = (b->target->generic || extent % s.lanes != 0) && !s.shifted && !s.overlaps;
  if (s.shifted) s.dim.lo = nxb_op(b, NXK_min, s.dim.lo, nxb_int(b, extent - s.width));
  s.multiple = s.dim.loop.lower == 0 && !s.shifted && !s.overlaps ? s.lanes * s.dim.loop.step : 1;
  s.end = s.shifted || s.overlaps ? nxb_add(b, s.dim.lo, s.width) : s.dim.hi;
  if (left_over) s.end = nxb_op(b, NXK_and, s.dim.hi, nxb_int(b, -(int64_t)s.lanes));
  nxb_lane_map before = s.map;
  if (!nxb_lane_map_copy(b, &before, &s.map) || b->to->failed) return;
  write_segment(&s, region->first + 1, region->body_first - 1);
  write_strip(&s, region->body_first, region->body_last);
  if (left_over) { /* less than a vector of columns */
    nxb_dim left = s.dim;
    left.lo = s.end;
    nxb_tail_loop(b, &before, 1, &left, s.dim.lo, s.lanes,
                  nxb_choose_tail(b, region->first, region->last, -1, 0), nxb_write_points, NULL);
  }
  nxb_close(b, &nest);
}
