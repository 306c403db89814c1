/* SPDX-License-Identifier: ISC */
/* Template TILES of the GPU binder: elementwise work that is contiguous along one loop where it
 * reads and along another where it writes (a transpose). A block of threads computes a square of
 * the two loops. It reads with neighbouring threads along the one loop, writes the elements to a
 * LOCAL array, and continues with neighbouring threads along the other, so that both directions
 * move whole cache lines. Rows of the array are a word longer than the square, so that no two
 * threads access the same of the 32 banks of shared memory, along rows or columns. */
#include "passes/bind/gpu/gpu.h"

enum {
  LEAST_SIDE = 32,
  ROW_BYTES = 128, /* of a square: what memory moves at once, four sectors */
  WORD = 4,        /* bytes of a bank of shared memory */
  FEW_BLOCKS = 264,
  MOST_LOADS = 4,
  LEAST_EXTENT = 8,
  MOST_WRITTEN_OUT = 16
};

typedef struct tiles {
  uint32_t row, column; /* outer loops: loads are contiguous along row; column is the innermost */
  uint32_t n;
  int64_t side, pitch; /* of the square, and of its rows in the LOCAL arrays: elements */
  nxk_value loads[MOST_LOADS];
  uint8_t *needed; /* marks the tile's loads and the code that they need */
  nxb_tile tile;
  nxk_value place; /* each thread's element of the LOCAL arrays */
} tiles;

/* ---- what fits */

static nxk_value body_of(const nxb_binder *b) {
  return b->region->outer[b->region->n_outer - 1].value;
}

static void mark(tiles *t, nxk_value v) {
  if (v != NXK_NONE) t->needed[v] = 1;
}

static void mark_operands(const nxb_binder *b, tiles *t, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  for (int i = 0; i < in->n_args; i++) mark(t, in->args[i]);
  if (in->op != NXK_load) return;
  const nxk_access *a = &b->from->accesses[in->imm];
  for (uint32_t i = 0; i < a->n_terms; i++) mark(t, a->terms[i].index);
  mark(t, a->index);
  mark(t, a->mask);
  mark(t, a->other);
}

/* Marks the code of the body that the loads need. False: it cannot be separated from the other
 * code. */
static bool mark_needed(const nxb_binder *b, tiles *t) {
  for (uint32_t i = 0; i < t->n; i++) mark(t, t->loads[i]);
  for (nxk_value v = b->region->body_last + 1; v-- > b->region->body_first;) {
    const nxk_instr *in = &b->from->instrs[v];
    if (!t->needed[v]) continue;
    bool plain = in->op < NXK_SCALAR_COUNT || in->op == NXK_load || in->op == NXK_const;
    if (!plain || in->block != body_of(b)) return false;
    mark_operands(b, t, v);
  }
  return true;
}

/* The outer loop that the access is contiguous along; n_outer: none. */
static uint32_t contiguous_along(const nxb_binder *b, const nxk_access *a) {
  for (uint32_t i = 0; i < b->region->n_outer; i++) {
    bool computed;
    int64_t stride = nxb_stride(b, a, b->region->outer[i].value, &computed);
    if (!computed && (stride == 1 || stride == -1) && b->region->outer[i].extent > 1) return i;
  }
  return b->region->n_outer;
}

/* Whether v is a load that has a large stride along the innermost loop and is contiguous along
 * t->row. */
static bool is_across(const nxb_binder *b, tiles *t, nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op != NXK_load || in->block != body_of(b)) return false;
  const nxk_access *a = &b->from->accesses[in->imm];
  bool computed;
  int64_t stride = nxb_stride(b, a, b->region->outer[t->column].value, &computed);
  uint32_t along = contiguous_along(b, a);
  if (computed || a->index != NXK_NONE || (stride > -LEAST_EXTENT && stride < LEAST_EXTENT) ||
      b->from->buffers[a->buffer].kind != NXK_IN || along >= t->column ||
      b->region->outer[along].extent < LEAST_EXTENT)
    return false;
  if (t->n == 0) t->row = along;
  return along == t->row;
}

static int64_t tiles_along(const nxb_binder *b, const tiles *t, uint32_t loop) {
  return nxb_ceil(b->region->outer[loop].extent, t->side);
}

static int64_t tasks_of(const nxb_binder *b, const tiles *t) {
  int64_t tasks = 1;
  for (uint32_t i = 0; i < b->region->n_outer; i++) {
    bool tiled = i == t->row || i == t->column;
    tasks *= tiled ? tiles_along(b, t, i) : b->region->outer[i].extent;
  }
  return tasks;
}

/* Small types have larger squares, if there are enough of them to keep the GPU busy. */
static void set_side(const nxb_binder *b, tiles *t) {
  int64_t widest = 1;
  for (uint32_t i = 0; i < t->n; i++) {
    int64_t size = nxi_dtype_size(nxk_dtype(b->from, t->loads[i]));
    if (size > widest) widest = size;
  }
  t->side = ROW_BYTES / widest > LEAST_SIDE ? ROW_BYTES / widest : LEAST_SIDE;
  while (t->side > LEAST_SIDE && (t->side > b->threads || tasks_of(b, t) < FEW_BLOCKS))
    t->side /= 2;
  t->pitch = t->side + (widest < WORD ? WORD / widest : 1);
}

static bool plan(nxb_binder *b, tiles *t) {
  const nxb_region *region = b->region;
  *t = (tiles){0};
  if (region->n_stages > 0 || region->n_outer < 2) return false;
  for (uint32_t i = 0; i < region->n_outer; i++)
    if (region->outer[i].extent < 0 || region->outer[i].step != 1) return false;
  t->column = region->n_outer - 1;
  if (region->outer[t->column].extent < LEAST_EXTENT) return false;
  t->needed = nxb_alloc(b, b->from->n_instrs);
  for (nxk_value v = region->body_first; v <= region->body_last && !b->failed; v++)
    if (t->n < MOST_LOADS && is_across(b, t, v)) t->loads[t->n++] = v;
  if (b->failed || t->n == 0 || !mark_needed(b, t)) return false;
  set_side(b, t);
  return true;
}

bool nxb_gpu_tiles_fit(nxb_binder *b) {
  tiles t;
  return plan(b, &t);
}

/* ---- writing */

static bool add_arrays(nxb_binder *b, tiles *t) {
  t->tile.array = nxb_alloc(b, b->from->n_instrs * sizeof *t->tile.array);
  t->tile.place = &t->place;
  if (b->failed) return false;
  for (nxk_value v = 0; v < b->from->n_instrs; v++) t->tile.array[v] = NXK_NONE;
  for (uint32_t i = 0; i < t->n; i++) {
    nx_dtype type = nxk_dtype(b->from, t->loads[i]);
    t->tile.array[t->loads[i]] = nxb_add_local(b, type, t->side * t->pitch);
  }
  return !b->to->failed;
}

/* Opens the task loop and sets the indices of all loops but row and column. origins: the first
 * iteration of each of those two in the tile. */
static void open_tasks(nxb_binder *b, nxb_lane_map *map, const tiles *t, nxk_value *origins) {
  const nxb_region *region = b->region;
  nxk_begin_region(b->to);
  nxk_value rest = nxk_begin_range(b->to, NXK_TASK, tasks_of(b, t));
  for (uint32_t i = region->n_outer; i-- > 0;) {
    bool tiled = i == t->row || i == t->column;
    int64_t extent = tiled ? tiles_along(b, t, i) : region->outer[i].extent;
    nxk_value index = i > 0 ? nxb_mod(b, rest, extent) : rest;
    if (i > 0) rest = nxb_div(b, rest, extent);
    if (tiled) origins[i == t->column] = nxb_mul(b, index, t->side);
    else nxb_set_index(b, map, &region->outer[i], index, false);
  }
}

/* Sets the indices of both loops: neighbouring threads are neighbours along the loop `along`; the
 * other threads, and the iterations of `pass`, are distributed along the other loop. */
static void set_place(nxb_binder *b, nxb_lane_map *map, tiles *t, const nxk_value *origins,
                      bool along_column, nxk_value pass) {
  nxk_value thread = nxk_step_vector(b->to, nxb_int(b, 0), b->threads), at[2];
  nxk_value line = nxb_div(b, thread, t->side), more = nxb_mul(b, pass, b->threads / t->side);
  line = nxb_op(b, NXK_add, line, more);
  at[along_column] = nxb_mod(b, thread, t->side);
  at[!along_column] = line;
  t->place = nxb_op(b, NXK_add, nxb_mul(b, at[0], t->pitch), at[1]);
  map->active = NXK_NONE;
  for (int i = 0; i < 2 && !b->to->failed; i++) {
    const nxb_loop *loop = &b->region->outer[i ? t->column : t->row];
    nxk_value index = nxb_op(b, NXK_add, origins[i], at[i]);
    nxb_set_index(b, map, loop, index, false);
    if (loop->extent % t->side == 0) continue;
    nxk_value exists = nxb_op(b, NXK_lt, index, nxb_int(b, loop->extent));
    map->active = map->active == NXK_NONE ? exists : nxb_op(b, NXK_and, map->active, exists);
  }
}

/* The passes of the block over its square: some written out, so that as many loads are in flight,
 * in a loop if there are more. */
static int64_t passes_of(const nxb_binder *b, const tiles *t) {
  return t->side * t->side / b->threads;
}

static int64_t written_out(const nxb_binder *b, const tiles *t) {
  int64_t n = passes_of(b, t);
  while (n > MOST_WRITTEN_OUT) n /= 2;
  return n;
}

static nxk_value open_passes(nxb_binder *b, const tiles *t) {
  int64_t n = passes_of(b, t), inner = written_out(b, t);
  nxk_value outer = NXK_NONE;
  if (n <= 1) return nxb_int(b, 0);
  if (n > inner) outer = nxb_mul(b, nxk_begin_range(b->to, NXK_SEQ, n / inner), inner);
  nxk_value v = nxk_begin_range(b->to, NXK_SEQ, inner);
  if (!b->to->failed) b->to->loops[b->to->instrs[v].imm].unroll = true;
  return outer == NXK_NONE ? v : nxb_op(b, NXK_add, outer, v);
}

static void close_passes(nxb_binder *b, const tiles *t) {
  int64_t n = passes_of(b, t);
  if (n > 1) nxk_end(b->to);
  if (n > written_out(b, t)) nxk_end(b->to);
}

/* Writes the loads and the code that they need. */
static void read_tile(nxb_binder *b, nxb_lane_map *map, const tiles *t) {
  nxb_write_ready(b, map);
  for (nxk_value v = b->region->body_first; v <= b->region->body_last && !b->to->failed; v++)
    if (t->needed[v]) nxb_write(b, map, v);
  for (uint32_t i = 0; i < t->n && !b->to->failed && !b->failed; i++) {
    nxk_access a = nxb_tile_access(b, map, &t->tile, t->loads[i]);
    nxk_value value = nxb_wide(b, map, t->loads[i]);
    if (!b->failed) nxk_store(b->to, &a, value);
  }
}

void nxb_gpu_tiles(nxb_binder *b) {
  tiles t;
  nxb_lane_map map, reading, writing;
  nxk_value origins[2] = {NXK_NONE, NXK_NONE};
  if (!plan(b, &t) || !add_arrays(b, &t) || !nxb_lane_map_init(b, &map)) return;
  map.lanes = b->threads;
  open_tasks(b, &map, &t, origins);
  if (!b->to->failed && nxb_lane_map_copy(b, &reading, &map) &&
      nxb_lane_map_copy(b, &writing, &map)) {
    nxk_value pass = open_passes(b, &t);
    set_place(b, &reading, &t, origins, false, pass);
    read_tile(b, &reading, &t);
    close_passes(b, &t);
    nxk_barrier(b->to);
    pass = open_passes(b, &t);
    writing.tile = &t.tile;
    set_place(b, &writing, &t, origins, true, pass);
    nxb_write_ready(b, &writing);
    nxb_write_body(b, &writing, 1, b->region->body_first, b->region->body_last, NULL, NULL);
    close_passes(b, &t);
  }
  nxk_end(b->to);
  nxk_end(b->to);
}
