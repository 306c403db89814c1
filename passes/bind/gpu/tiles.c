/* SPDX-License-Identifier: ISC */
/* Template TILES of the GPU binder: elementwise work that is contiguous along one loop where it
 * reads and along another where it writes (a transpose). A block of threads computes a square of
 * the two loops. It reads with neighbouring threads along the one loop, writes the elements to a
 * LOCAL array, and continues with neighbouring threads along the other, so that both directions
 * move whole cache lines. Rows of the array are a word longer than the square, so that no two
 * threads access the same of the 32 banks of shared memory, along rows or columns.
 *
 * Elements of 1 and 2 bytes are moved as words of 4 bytes, everywhere: a thread reads a small
 * square of as many rows as a word has elements, and turns it in registers. The LOCAL array then
 * has a word more after so many of its rows, which are those of one thread. */
#include "passes/bind/gpu/gpu.h"

enum {
  LEAST_SIDE = 32,
  ROW_BYTES = 128, /* of a square: what memory moves at once, four sectors */
  WORD = 4,        /* bytes of a bank of shared memory */
  FEW_BLOCKS = 264,
  MOST_LOADS = 4,
  LEAST_EXTENT = 8,
  MOST_WRITTEN_OUT = 16,
  MOST_CODE = 500
};

typedef struct tiles {
  uint32_t row, column; /* outer loops: loads are contiguous along row; column is the innermost */
  uint32_t n;
  int64_t side; /* of the square, in elements */
  int64_t each; /* elements of a word, along both directions; 1: elements are moved by themselves */
  int64_t gap;  /* elements of the LOCAL arrays after `each` rows of the square */
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

static int64_t widest_of(const nxb_binder *b, const tiles *t) {
  int64_t widest = 1;
  for (uint32_t i = 0; i < t->n; i++) {
    int64_t size = nxi_dtype_size(nxk_dtype(b->from, t->loads[i]));
    if (size > widest) widest = size;
  }
  return widest;
}

/* Small types have larger squares, if there are enough of them to keep the GPU busy. */
static void set_side(const nxb_binder *b, tiles *t, int64_t widest) {
  t->side = ROW_BYTES / widest > LEAST_SIDE ? ROW_BYTES / widest : LEAST_SIDE;
  while (t->side > LEAST_SIDE && (t->side > b->threads || tasks_of(b, t) < FEW_BLOCKS))
    t->side /= 2;
}

/* Whether rows of the loop are whole words of `each` elements. */
static bool is_whole_words(const nxb_binder *b, uint32_t loop, int64_t each) {
  const nxb_loop *l = &b->region->outer[loop];
  return l->extent % each == 0 && l->lower % each == 0;
}

static bool is_tile_load(const tiles *t, nxk_value v) {
  for (uint32_t i = 0; i < t->n; i++)
    if (t->loads[i] == v) return true;
  return false;
}

/* Whether the loads of the square move words of `each` elements along its rows, and all others
 * along its columns. */
static bool are_words(const nxb_binder *b, const tiles *t, int64_t each) {
  const nxb_region *region = b->region;
  if (!is_whole_words(b, t->row, each) || !is_whole_words(b, t->column, each)) return false;
  for (nxk_value v = region->first; v <= region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    bool turned = is_tile_load(t, v);
    if (t->needed[v] && !turned) return false;
    if (!nxb_gpu_is_word(b, v, region->outer[turned ? t->row : t->column].value, each))
      return false;
  }
  return true;
}

/* Words of the square along each direction. */
static int64_t words_along(const tiles *t) { return t->side / t->each; }

static void set_words(const nxb_binder *b, tiles *t, int64_t widest) {
  t->each = widest < WORD ? WORD / widest : 1;
  while (t->each > 1 && (words_along(t) * words_along(t) < b->threads || !are_words(b, t, t->each)))
    t->each /= 2;
  t->gap = widest < WORD ? WORD / widest : 1;
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
  int64_t widest = widest_of(b, t);
  set_side(b, t, widest);
  set_words(b, t, widest);
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
    t->tile.array[t->loads[i]] =
        nxb_add_local(b, type, t->side * t->side + words_along(t) * t->gap);
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

/* A thread's place in the square: which word along the direction in which neighbouring threads are
 * neighbours, and which line along the other one. */
typedef struct place {
  nxk_value word, line;
} place;

static place place_of(nxb_binder *b, const tiles *t, nxk_value pass) {
  nxk_value thread = nxk_step_vector(b->to, nxb_int(b, 0), b->threads);
  int64_t words = words_along(t);
  place p = {.line = nxb_div(b, thread, words)};
  nxk_value more = nxb_mul(b, pass, b->threads / words);
  p.line = nxb_op(b, NXK_add, p.line, more);
  p.word = nxb_mod(b, thread, words);
  return p;
}

/* Sets the index of a loop to element `within` of the word at `at` of the square; words: to all
 * elements of it. A word exists, or it does not. */
static void set_in_square(nxb_binder *b, nxb_lane_map *map, const tiles *t, uint32_t number,
                          nxk_value origin, nxk_value at, int64_t within, bool words) {
  const nxb_loop *loop = &b->region->outer[number];
  nxk_value index = nxb_op(b, NXK_add, origin, at);
  nxb_set_index(b, map, loop, nxb_add(b, index, within), words && t->each > 1);
  if (loop->extent % t->side == 0 || b->to->failed) return;
  nxk_value exists = nxb_op(b, NXK_lt, index, nxb_int(b, loop->extent));
  map->active = map->active == NXK_NONE ? exists : nxb_op(b, NXK_and, map->active, exists);
}

/* Threads along the rows, from which squares are read: each has a small square of words, whose line
 * `within` is set. */
static void set_reading(nxb_binder *b, nxb_lane_map *map, tiles *t, const nxk_value *origins,
                        place p, int64_t within) {
  nxk_value row = nxb_mul(b, p.word, t->each), column = nxb_mul(b, p.line, t->each);
  t->place = nxb_mul(b, p.word, t->each * t->side + t->gap);
  t->place = nxb_op(b, NXK_add, t->place, column);
  map->active = NXK_NONE;
  set_in_square(b, map, t, t->row, origins[0], row, 0, true);
  set_in_square(b, map, t, t->column, origins[1], column, within, false);
}

/* Threads along the columns, where squares are written: each has a word of one line. */
static void set_writing(nxb_binder *b, nxb_lane_map *map, tiles *t, const nxk_value *origins,
                        place p) {
  nxk_value column = nxb_mul(b, p.word, t->each);
  t->place = nxb_mul(b, p.line, t->each > 1 ? t->side : t->side + t->gap);
  if (t->each > 1) {
    nxk_value gaps = nxb_mul(b, nxb_div(b, p.line, t->each), t->gap);
    t->place = nxb_op(b, NXK_add, t->place, gaps);
  }
  t->place = nxb_op(b, NXK_add, t->place, column);
  map->active = NXK_NONE;
  set_in_square(b, map, t, t->row, origins[0], p.line, 0, false);
  set_in_square(b, map, t, t->column, origins[1], column, 0, true);
}

/* The passes of the block over its square: some written out, so that as many loads are in flight,
 * in a loop if there are more. Reading, a thread has the lines of a word in a pass. */
static int64_t passes_of(const nxb_binder *b, const tiles *t, bool reading) {
  return words_along(t) * (reading ? words_along(t) : t->side) / b->threads;
}

static int64_t written_out(const nxb_binder *b, const tiles *t, bool reading) {
  int64_t n = passes_of(b, t, reading),
          code = nxb_code_cost(b, b->region->body_first, b->region->body_last);
  while (n > MOST_WRITTEN_OUT) n /= 2;
  while (n > 1 && t->each > 1 && n * t->each * code > MOST_CODE) n /= 2;
  return n;
}

static nxk_value open_passes(nxb_binder *b, const tiles *t, bool reading) {
  int64_t n = passes_of(b, t, reading), inner = written_out(b, t, reading);
  nxk_value outer = NXK_NONE;
  if (n <= 1) return nxb_int(b, 0);
  if (n > inner) outer = nxb_mul(b, nxk_begin_range(b->to, NXK_SEQ, n / inner), inner);
  nxk_value v = nxk_begin_range(b->to, NXK_SEQ, inner);
  if (!b->to->failed) b->to->loops[b->to->instrs[v].imm].unroll = true;
  return outer == NXK_NONE ? v : nxb_op(b, NXK_add, outer, v);
}

static void close_passes(nxb_binder *b, const tiles *t, bool reading) {
  int64_t n = passes_of(b, t, reading);
  if (n > 1) nxk_end(b->to);
  if (n > written_out(b, t, reading)) nxk_end(b->to);
}

/* Writes the loads and the code that they need, for one line of each thread. */
static void read_line(nxb_binder *b, nxb_lane_map *map, const tiles *t, nxk_value *values) {
  nxb_write_ready(b, map);
  for (nxk_value v = b->region->body_first; v <= b->region->body_last && !b->to->failed; v++)
    if (t->needed[v]) nxb_write(b, map, v);
  for (uint32_t i = 0; i < t->n && !b->to->failed && !b->failed; i++)
    values[i] = nxb_wide(b, map, t->loads[i]);
}

/* Stores the words of one load: turned, row `r` of a thread's small square is made of lane r of
 * each of its lines. */
static void store_words(nxb_binder *b, nxb_lane_map *map, const tiles *t, uint32_t load,
                        nxk_value (*values)[MOST_LOADS]) {
  for (int64_t r = 0; r < t->each && !b->to->failed && !b->failed; r++) {
    nxk_access a = nxb_tile_access(b, map, &t->tile, t->loads[load]);
    nxk_value lines[WORD], word = values[0][load];
    for (int64_t i = 0; i < t->each && t->each > 1; i++)
      lines[i] = nxk_every(b->to, values[i][load], (uint32_t)t->each, (uint32_t)r);
    if (t->each > 1) word = nxk_in_turn(b->to, lines, (uint32_t)t->each);
    a.offset += r * t->side;
    if (!b->failed) nxk_store(b->to, &a, word);
  }
}

static void read_tile(nxb_binder *b, const nxb_lane_map *map, tiles *t, const nxk_value *origins) {
  nxk_value values[WORD][MOST_LOADS], pass = open_passes(b, t, true);
  place p = place_of(b, t, pass);
  nxb_lane_map line;
  for (int64_t i = 0; i < t->each && !b->to->failed && !b->failed; i++) {
    if (!nxb_lane_map_copy(b, &line, map)) return;
    set_reading(b, &line, t, origins, p, i);
    read_line(b, &line, t, values[i]);
  }
  for (uint32_t i = 0; i < t->n && !b->to->failed && !b->failed; i++)
    store_words(b, &line, t, i, values);
  close_passes(b, t, true);
}

static void write_tile(nxb_binder *b, nxb_lane_map *map, tiles *t, const nxk_value *origins) {
  nxk_value pass = open_passes(b, t, false);
  map->tile = &t->tile;
  set_writing(b, map, t, origins, place_of(b, t, pass));
  nxb_write_ready(b, map);
  nxb_write_body(b, map, 1, b->region->body_first, b->region->body_last, NULL, NULL);
  close_passes(b, t, false);
}

void nxb_gpu_tiles(nxb_binder *b) {
  tiles t;
  nxb_lane_map map;
  nxk_value origins[2] = {NXK_NONE, NXK_NONE};
  if (!plan(b, &t) || !add_arrays(b, &t) || !nxb_lane_map_init(b, &map)) return;
  map.lanes = (uint16_t)(b->threads * t.each);
  map.group = t.each > 1 ? (uint16_t)t.each : 0;
  open_tasks(b, &map, &t, origins);
  if (!b->to->failed) {
    read_tile(b, &map, &t, origins);
    nxk_barrier(b->to);
    write_tile(b, &map, &t, origins);
  }
  nxk_end(b->to);
  nxk_end(b->to);
}
