/* SPDX-License-Identifier: ISC */
/* Template POINTS of the GPU binder. Each thread computes one point of the outer loops; or
 * several neighbours along the innermost one, where these are moved as one word; or several
 * points that are as far apart as there are threads. Inner loops run within the thread. Used for
 * elementwise work, for reductions without contiguous memory along their run, for short runs and
 * for scans. LOCAL arrays have a column for each thread. */
#include "passes/bind/gpu/gpu.h"

enum { WORD_BYTES = 16, MOST_CODE = 500, FEW_BLOCKS = 256, MOST_PASSES = 4 };
/* of a point with rows of elements: their products live in f64, in many registers */
enum { MOST_ROW_CODE = 32 };
enum { COSTLY_AXES = 4 }; /* outer loops of a region whose points have places of many divisions */

typedef struct points {
  int64_t n;     /* points of the region; -1: up to a parameter */
  int64_t inner; /* extent of the innermost loop */
  uint16_t each; /* neighbouring points of each thread */
  /* how many such groups of points each thread computes, so that more loads are in flight */
  int64_t passes;
  bool in_one_line; /* the points of a block lie in one line of the innermost loop */
} points;

/* Bytes of the widest element, or row of elements, of an access that is contiguous along the loop.
 * 0: there is none. */
static int64_t widest_neighbours(const nxb_binder *b, nxk_value loop, bool *rows) {
  int64_t widest = 0;
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    int64_t size = nxi_dtype_size(b->from->buffers[a->buffer].dtype);
    int64_t stride = nxb_stride(b, a, loop, &computed);
    if (computed || (stride != 1 && nxb_row_of(b, v, stride) == 0)) continue;
    if (size * stride > widest) widest = size * stride;
    *rows = *rows || stride != 1;
  }
  return widest;
}

bool nxb_gpu_is_word(const nxb_binder *b, nxk_value v, nxk_value loop, int64_t each) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  bool computed;
  int64_t stride = nxb_stride(b, a, loop, &computed);
  if (computed || stride == 0) return true;
  bool row = stride != 1 && nxb_row_of(b, v, stride) != 0;
  int64_t unit = row ? each * stride : each,
          offset = row ? a->offset - a->offset % stride : a->offset;
  if ((stride != 1 && !row) || !b->from->buffers[a->buffer].aligned || offset % unit != 0)
    return false;
  for (uint32_t i = 0; i < a->n_terms; i++)
    if (a->terms[i].index != loop && a->terms[i].stride % unit != 0) return false;
  return true;
}

/* Whether accesses move `each` neighbours along the loop as one word. odd: a load of single
 * elements, NXK_NONE: none. */
static bool are_words(const nxb_binder *b, nxk_value loop, int64_t each, nxk_value odd) {
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if ((in->op == NXK_load || in->op == NXK_store) && v != odd &&
        !nxb_gpu_is_word(b, v, loop, each))
      return false;
  }
  return true;
}

bool nxb_gpu_are_words(const nxb_binder *b, nxk_value loop, int64_t each) {
  return are_words(b, loop, each, NXK_NONE);
}

/* The region's load, if it has only one and places of points are costly: found by several
 * divisions. Then a thread that stores a word loads the elements of it one by one where they are
 * not a word, as windows of an image are: neighbours have one place. */
static nxk_value lone_load(const nxb_binder *b, nxk_value loop) {
  nxk_value found = NXK_NONE;
  if (b->region->n_outer < COSTLY_AXES) return NXK_NONE;
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    bool computed;
    if (b->from->instrs[v].op != NXK_load) continue;
    const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
    if (found != NXK_NONE || nxb_stride(b, a, loop, &computed) != 1 || computed) return NXK_NONE;
    found = v;
  }
  return found;
}

static uint16_t neighbours(const nxb_binder *b, const points *p) {
  const nxb_region *region = b->region;
  if (region->n_outer == 0 || region->n_stages > 0) return 1;
  bool rows = false;
  int64_t widest = widest_neighbours(b, region->outer[region->n_outer - 1].value, &rows),
          code = nxb_code_cost(b, region->body_first, region->body_last);
  int64_t each = !widest || (rows && code > MOST_ROW_CODE) ? 1 : WORD_BYTES / widest;
  while (each > 1 && region->n_outer > 1 && p->inner % each != 0) each /= 2;
  while (each > 1 &&
         (each * code > MOST_CODE || (p->n >= 0 && p->n / each < FEW_BLOCKS * b->threads)))
    each /= 2;
  const nxk_value loop = region->outer[region->n_outer - 1].value;
  int64_t words = each;
  while (words > 1 && !nxb_gpu_are_words(b, loop, words)) words /= 2;
  if (words == 1 && each > 1 && are_words(b, loop, each, lone_load(b, loop))) words = each;
  return (uint16_t)(words < 1 || words > WORD_BYTES ? 1 : words);
}

/* How many groups of points a thread computes. With loads of single elements too few bytes are in
 * flight, so a thread computes several points, which are as far apart as the block has threads. */
static int64_t passes_of(const nxb_binder *b, const points *p) {
  const nxb_region *region = b->region;
  int64_t code = nxb_code_cost(b, region->body_first, region->body_last), passes = MOST_PASSES;
  if (p->each > 2 || region->n_outer == 0 || region->n_stages > 0 || p->n < 0) return 1;
  while (passes > 1 &&
         (passes * p->each * code > MOST_CODE || p->n / passes / p->each < FEW_BLOCKS * b->threads))
    passes /= 2;
  if (p->in_one_line && region->n_outer > 1) /* there is no mask for points past the last line */
    while (passes > 1 && p->n % (b->threads * p->each * passes) != 0) passes /= 2;
  return passes;
}

static points plan(const nxb_binder *b) {
  const nxb_region *region = b->region;
  points p = {.n = 1, .inner = 1};
  for (uint32_t i = 0; i < region->n_outer; i++) {
    p.inner = region->outer[i].extent;
    p.n = p.inner < 0 ? -1 : p.n * p.inner;
  }
  p.each = neighbours(b, &p);
  p.in_one_line = region->n_outer < 2 || p.inner % ((int64_t)b->threads * p.each) == 0;
  p.passes = passes_of(b, &p);
  return p;
}

/* Opens the region and its task loop. */
static nxk_value open_tasks(nxb_binder *b, const points *p) {
  int64_t size = (int64_t)b->threads * p->each * p->passes;
  nxk_begin_region(b->to);
  if (p->n >= 0) return nxk_begin_range(b->to, NXK_TASK, nxb_ceil(p->n, size));
  nxk_value upper = b->region->outer[0].upper, end = b->top[upper];
  if (b->to->failed || b->to->n_regions == 0) return NXK_NONE;
  nxk_region *region = &b->to->regions[b->to->n_regions - 1];
  region->tasks_param = (int32_t)b->from->instrs[upper].imm;
  region->tasks_divisor = size;
  nxk_value reach = nxb_add(b, end, size - 1), by = nxb_int(b, size);
  nxk_value tasks = nxb_op(b, NXK_div, reach, by);
  return nxk_begin_for(b->to, NXK_TASK, nxk_bound_const(0), nxk_bound_of(tasks), 1);
}

/* Sets the indices where all lanes are consecutive points of the innermost loop. */
static void set_line(nxb_binder *b, nxb_lane_map *map, const points *p, nxk_value task) {
  const nxb_region *region = b->region;
  int64_t size = map->lanes, blocks = region->n_outer > 1 ? p->inner / size : 0;
  nxk_value block = blocks ? nxb_mod(b, task, blocks) : task,
            rest = blocks ? nxb_div(b, task, blocks) : task, base = nxb_mul(b, block, size);
  for (uint32_t i = region->n_outer; i-- > 0;) {
    bool last = i + 1 == region->n_outer;
    nxk_value index = last ? base : i > 0 ? nxb_mod(b, rest, region->outer[i].extent) : rest;
    nxb_set_index(b, map, &region->outer[i], index, last);
    if (!last) rest = nxb_div(b, rest, region->outer[i].extent);
  }
  if (p->n >= 0 && p->n % (size * p->passes) == 0) return;
  nxk_value end = p->n >= 0 ? nxb_int(b, p->n) : b->top[region->outer[0].upper];
  map->active = nxk_active(b->to, base, end, map->lanes);
}

/* Sets the indices where each thread computes its own from the number of its point. */
static void set_scattered(nxb_binder *b, nxb_lane_map *map, const points *p, nxk_value task) {
  const nxb_region *region = b->region;
  nxk_value thread = nxk_step_vector(b->to, nxb_mul(b, task, b->threads), b->threads),
            rest = thread;
  if (p->n < INT64_C(0xff000000)) rest = nxk_cast_to(b->to, NX_U32, rest);
  rest = nxb_mul(b, rest, p->each);
  map->group = p->each > 1 ? p->each : 0;
  for (uint32_t i = region->n_outer; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, region->outer[i].extent) : rest;
    nxb_set_index(b, map, &region->outer[i], nxk_cast_to(b->to, NX_I64, index),
                  i + 1 == region->n_outer && p->each > 1);
    if (i > 0) rest = nxb_div(b, rest, region->outer[i].extent);
  }
  if (p->n % (map->lanes * p->passes) == 0) return;
  map->active = nxb_op(b, NXK_lt, thread, nxb_int(b, p->n / p->each));
}

void nxb_gpu_points(nxb_binder *b) {
  points p = plan(b);
  nxb_lane_map map;
  if (!nxb_lane_map_init(b, &map)) return;
  nxb_add_locals(b, b->threads);
  nxk_value task = open_tasks(b, &p);
  map.lanes = (uint16_t)(b->threads * p.each);
  map.columns = map.lanes;
  if (p.passes > 1) {
    nxk_value first = nxb_mul(b, task, p.passes), pass = nxk_begin_range(b->to, NXK_SEQ, p.passes);
    if (!b->to->failed) b->to->loops[b->to->instrs[pass].imm].unroll = true;
    task = nxb_op(b, NXK_add, first, pass);
  }
  if (!b->to->failed) {
    if (p.in_one_line) set_line(b, &map, &p, task);
    else set_scattered(b, &map, &p, task);
    nxb_write_ready(b, &map);
    nxb_write_body(b, &map, 1, b->region->body_first, b->region->body_last, NULL, NULL);
  }
  if (p.passes > 1) nxk_end(b->to);
  nxk_end(b->to);
  nxk_end(b->to);
}
