/* SPDX-License-Identifier: ISC */
/* Template ROWS of the GPU binder: several threads share the run of one outer point, and each
 * keeps its elements in registers from stage to stage. If memory is contiguous along the outer
 * points instead of along the runs, neighbouring threads compute neighbouring points (columns),
 * and threads farther apart share a run.
 *
 * The order of additions decides which elements a thread has. Element k of a run is in block k /
 * (lanes * items) and lane k mod lanes. A thread has one lane of several neighbouring blocks, so
 * that it adds whole subtrees; then blocks are combined across threads, then lanes. Where any order
 * gives the same bits, element k belongs to thread k modulo the number of threads. */
#include "passes/bind/gpu/spread.h"

typedef struct gpu_rows {
  nxb_spread s;
  nxk_value row_active; /* bool: which rows exist; NXK_NONE: all */
  /* for each thread: its lane in a block; which of the blocks computed at the same time */
  nxk_value lane, slot;
  nxb_kept kept;
} gpu_rows;

/* ---- the elements of a stage */

typedef struct element_loop {
  nxk_value block, item; /* i64, one lane */
} element_loop;

/* Sets the indices of the stage's loops for the point of each thread, and returns the number of
 * that point. */
static nxk_value set_point(nxb_binder *b, nxb_lane_map *map, const gpu_rows *r, const nxb_share *h,
                           element_loop at) {
  int64_t items = r->s.items == INT64_MAX ? h->items : r->s.items;
  nxk_value own = nxb_op(b, NXK_add, nxb_mul(b, at.block, items), at.item);
  nxk_value first = nxb_mul(b, r->slot, h->blocks * items * r->s.lanes);
  first = nxb_op(b, NXK_add, first, r->lane);
  nxk_value point = nxb_op(b, NXK_add, first, nxb_mul(b, own, r->s.lanes)), rest = point;
  bool narrow = h->stage->n_loops > 1 && h->stage->points < INT64_C(0x7f000000);
  if (narrow) rest = nxk_cast_to(b->to, NX_U32, rest);
  for (uint32_t i = h->stage->n_loops; i-- > 0;) {
    const nxb_loop *loop = &h->stage->loops[i];
    nxk_value index = i > 0 ? nxb_mod(b, rest, loop->extent) : rest;
    nxb_set_index(b, map, loop, nxk_cast_to(b->to, NX_I64, index),
                  r->s.near > 1 && i + 1 == h->stage->n_loops);
    if (i > 0) rest = nxb_div(b, rest, loop->extent);
  }
  map->slot = nxb_op(b, NXK_add, nxb_mul(b, at.block, h->items), at.item);
  map->storing = NXK_NONE;
  map->active = r->row_active;
  if (!h->all) {
    nxk_value end = nxb_int(b, h->stage->points), exists;
    if (h->whole) /* the same for all items of a block */
      exists = nxb_op(b, NXK_lt,
                      nxb_op(b, NXK_add, first, nxb_mul(b, at.block, items * r->s.lanes)), end);
    else exists = nxb_op(b, NXK_lt, point, end);
    map->active = map->active == NXK_NONE ? exists : nxb_op(b, NXK_and, map->active, exists);
  }
  return point;
}

static nxk_value open_loop(nxb_binder *b, int64_t extent, bool unrolled) {
  if (extent == 1) return nxb_int(b, 0);
  nxk_value v = nxk_begin_range(b->to, NXK_SEQ, extent);
  if (!b->to->failed) b->to->loops[b->to->instrs[v].imm].unroll = unrolled;
  return v;
}

static void close_loop(nxb_binder *b, int64_t extent) {
  if (extent > 1) nxk_end(b->to);
}

/* The lane map of a stage. Outside of stages a thread has one lane. */
static bool begin_stage(nxb_binder *b, nxb_lane_map *own, const nxb_lane_map *map,
                        const gpu_rows *r) {
  if (!nxb_lane_map_copy(b, own, map)) return false;
  if (r->s.near == 1) return true;
  own->lanes = (uint16_t)(map->lanes * r->s.near);
  own->group = (uint16_t)r->s.near;
  return true;
}

static void write_map(nxb_binder *b, const nxb_lane_map *map, const gpu_rows *r,
                      const nxb_share *h) {
  nxb_lane_map own;
  if (!begin_stage(b, &own, map, r)) return;
  element_loop at;
  at.block = open_loop(b, h->blocks, h->unrolled);
  at.item = open_loop(b, h->items, h->written);
  if (b->to->failed) return;
  set_point(b, &own, r, h, at);
  nxb_gpu_write_kept(b, &own, &r->kept, h->stage);
  close_loop(b, h->items);
  close_loop(b, h->blocks);
}

/* ---- reductions */

typedef struct reducing {
  const nxb_share *h;
  nxb_partial *partial; /* for each reduction */
  nxk_value *carry;     /* two for each reduction and loop: [loop][2 * i] */
  uint32_t *tree;       /* LOCAL array of each reduction with a tree of blocks; else NXK_NONE */
  nx_dtype item_type;
  uint16_t lanes; /* of a value: one for each thread and run of it */
} reducing;

static nxk_value reduce_of(const reducing *f, uint32_t i) { return f->h->stage->reduce[i]; }

/* Opens a loop over items (`inner`) or over blocks that carries the partial results. The loop over
 * blocks does not carry those of a reduction with a tree: they go into the tree. */
static nxk_value open_carrying(nxb_binder *b, reducing *f, int64_t extent, int loop, bool inner) {
  if (extent == 1) return nxb_int(b, 0);
  nxk_value v = open_loop(b, extent, inner ? f->h->written : f->h->unrolled);
  nxk_value *carry = f->carry + (size_t)loop * 2 * f->h->stage->n_reduces;
  for (uint32_t i = 0; i < f->h->stage->n_reduces && !b->to->failed; i++) {
    nxb_partial *p = &f->partial[i];
    if (!inner && f->tree[i] != NXK_NONE) continue;
    carry[2 * i] = p->value = nxk_carry(b->to, p->value);
    if (p->item != NXK_NONE) carry[2 * i + 1] = p->item = nxk_carry(b->to, p->item);
  }
  return v;
}

static void close_carrying(nxb_binder *b, reducing *f, int64_t extent, int loop, bool inner) {
  if (extent == 1) return;
  const nxk_value *carry = f->carry + (size_t)loop * 2 * f->h->stage->n_reduces;
  for (uint32_t i = 0; i < f->h->stage->n_reduces; i++) {
    if (!inner && f->tree[i] != NXK_NONE) continue;
    nxk_next(b->to, carry[2 * i], f->partial[i].value);
    if (f->partial[i].item != NXK_NONE) nxk_next(b->to, carry[2 * i + 1], f->partial[i].item);
  }
  nxk_end(b->to);
  for (uint32_t i = 0; i < f->h->stage->n_reduces; i++) {
    if (!inner && f->tree[i] != NXK_NONE) continue;
    f->partial[i].value = carry[2 * i];
    if (f->partial[i].item != NXK_NONE) f->partial[i].item = carry[2 * i + 1];
  }
}

static nxk_access tree_access(const reducing *f, uint32_t i) {
  nxk_access a = nxk_access_at(f->tree[i], 0);
  a.lane_stride = 1;
  a.tree_stride = f->lanes;
  return a;
}

static nxk_reduce_kind kind_of(const nxb_binder *b, nxk_value reduce) {
  return (nxk_reduce_kind)b->from->instrs[reduce].kind;
}

static void start_partials(nxb_binder *b, reducing *f, nxk_value first, bool trees) {
  for (uint32_t i = 0; i < f->h->stage->n_reduces; i++)
    if ((f->tree[i] != NXK_NONE) == trees)
      f->partial[i] = nxb_identity(b, reduce_of(f, i), f->lanes, first, f->item_type);
}

static void push_blocks(nxb_binder *b, reducing *f, nxk_value block) {
  for (uint32_t i = 0; i < f->h->stage->n_reduces && !b->to->failed; i++) {
    if (f->tree[i] == NXK_NONE) continue;
    nxk_access a = tree_access(f, i);
    nxk_tree_push(b->to, kind_of(b, reduce_of(f, i)), block, f->partial[i].value, NXK_NONE, &a,
                  NULL);
  }
}

static void join_blocks(nxb_binder *b, reducing *f) {
  nxk_value count = nxb_int(b, f->h->blocks);
  for (uint32_t i = 0; i < f->h->stage->n_reduces && !b->to->failed; i++) {
    if (f->tree[i] == NXK_NONE) continue;
    nxk_access a = tree_access(f, i);
    f->partial[i].value =
        nxk_tree_join(b->to, kind_of(b, reduce_of(f, i)), count, f->lanes, &a, NULL, false);
  }
}

/* Writes the partial result of the thread's own elements. */
static void reduce_own(nxb_binder *b, nxb_lane_map *map, const gpu_rows *r, reducing *f) {
  const nxb_share *h = f->h;
  nxb_lane_map own;
  if (!begin_stage(b, &own, map, r)) return;
  element_loop start = {nxb_int(b, 0), nxb_int(b, 0)}, at;
  nxk_value first = set_point(b, &own, r, h, start);
  start_partials(b, f, first, false);
  at.block = open_carrying(b, f, h->blocks, 0, false);
  start_partials(b, f, first, true);
  at.item = open_carrying(b, f, h->items, 1, true);
  if (b->to->failed || b->failed) return;
  nxk_value point = set_point(b, &own, r, h, at);
  nxb_gpu_write_kept(b, &own, &r->kept, h->stage);
  nxk_value active = own.active == NXK_NONE ? NXK_NONE : nxk_splat(b->to, own.active, f->lanes);
  for (uint32_t i = 0; i < h->stage->n_reduces; i++)
    f->partial[i] =
        nxb_accumulate(b, &own, reduce_of(f, i), f->partial[i], point, f->item_type, active);
  close_carrying(b, f, h->items, 1, true);
  push_blocks(b, f, at.block);
  close_carrying(b, f, h->blocks, 0, false);
  join_blocks(b, f);
}

/* Combines the partial results of threads that are `distance` apart in their run. */
static void join_at(nxb_binder *b, const nxb_spread *s, nxk_value reduce, nxb_partial *p,
                    int64_t distance) {
  distance *= s->columns * s->wide;
  if (b->to->failed) return;
  nxb_partial other = {nxk_shuffle_xor(b->to, p->value, (uint32_t)distance), NXK_NONE};
  if (p->item != NXK_NONE) other.item = nxk_shuffle_xor(b->to, p->item, (uint32_t)distance);
  *p = nxb_combine(b, reduce, *p, other, true);
}

/* Combines the lanes of each thread, and goes on with one lane of them. */
static nxb_spread join_near(nxb_binder *b, const nxb_spread *s, nxk_value reduce, nxb_partial *p) {
  nxb_spread one = *s;
  for (int64_t d = 1; d < s->near; d *= 2) join_at(b, s, reduce, p, d);
  p->value = nxk_every(b->to, p->value, (uint32_t)s->near, 0);
  one.threads = s->threads / s->near;
  one.near = 1;
  one.items = INT64_MAX;
  return one;
}

/* Combines the partial results of all threads of a run: those of a warp by shuffles, then those of
 * warps. First the blocks, then the lanes; if the order does not matter, each thread is a lane. */
static void join_threads(nxb_binder *b, const nxb_spread *s, nxk_value reduce, nxb_partial *p) {
  nxb_spread one;
  if (s->near > 1 && nxb_exact(b->from, reduce)) {
    one = join_near(b, s, reduce, p);
    s = &one;
  }
  bool any = s->items == INT64_MAX;
  int64_t d = any ? 1 : s->lanes;
  for (; d < s->threads && d * s->columns < NXB_WARP * s->near; d *= 2) join_at(b, s, reduce, p, d);
  if (d < s->threads)
    nxb_gpu_join_far(b, reduce, p, d * s->columns / s->near, s->threads / d,
                     (uint16_t)(s->wide * s->near));
  for (d = any ? 0 : s->lanes / 2; d > 0; d /= 2) join_at(b, s, reduce, p, d);
  if (s->near > 1) p->value = nxk_every(b->to, p->value, (uint32_t)s->near, 0);
}

static void write_reductions(nxb_binder *b, nxb_lane_map *map, const gpu_rows *r,
                             const nxb_share *h) {
  uint32_t n = h->stage->n_reduces;
  reducing f = {.h = h,
                .partial = nxb_alloc(b, n * sizeof *f.partial),
                .carry = nxb_alloc(b, 4 * n * sizeof *f.carry),
                .tree = nxb_alloc(b, n * sizeof *f.tree),
                .item_type = nxb_item_type(h->stage->points),
                .lanes = (uint16_t)(map->lanes * r->s.near)};
  if (b->failed) return;
  int64_t levels = 1;
  while (h->blocks >> levels) levels++;
  for (uint32_t i = 0; i < n; i++) {
    bool pairs = h->blocks > 1 && !nxb_exact(b->from, reduce_of(&f, i));
    nx_dtype type = nxk_dtype(b->from, b->from->instrs[reduce_of(&f, i)].args[0]);
    f.tree[i] = pairs ? nxb_add_local(b, type, levels * f.lanes) : NXK_NONE;
    if (pairs && f.tree[i] != NXK_NONE)
      b->to->buffers[f.tree[i]].thread_private = h->unrolled && r->s.wide == 1;
  }
  reduce_own(b, map, r, &f);
  for (uint32_t i = 0; i < n && !b->to->failed && !b->failed; i++) {
    join_threads(b, &r->s, reduce_of(&f, i), &f.partial[i]);
    const nxb_partial *p = &f.partial[i];
    nxb_set_result(b, map, reduce_of(&f, i), p->item != NXK_NONE ? p->item : p->value);
  }
}

/* ---- the template */

static bool write_stage(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        void *user) {
  const gpu_rows *r = user;
  nxb_share h = nxb_gpu_share(b, &r->s, s);
  (void)n_maps;
  if (s->points == 0) {
    for (uint32_t i = 0; i < s->n_reduces; i++)
      nxb_set_result(b, maps, s->reduce[i], nxb_empty_result(b, s->reduce[i]));
  } else if (s->reduces) {
    write_reductions(b, maps, r, &h);
  } else {
    write_map(b, maps, r, &h);
  }
  return true;
}

/* Adds the LOCAL arrays: rows of one element for each thread. They are in registers if all loops
 * over them are written out. */
static void add_arrays(nxb_binder *b, const nxb_spread *s) {
  for (uint32_t i = 0; i < b->from->n_buffers; i++) {
    b->local[i] = NXK_NONE;
    for (nxk_value v = b->region->first; v < b->region->last && b->local[i] == NXK_NONE; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      bool memory = in->op == NXK_load || in->op == NXK_store;
      if (!memory || b->from->accesses[in->imm].buffer != i ||
          b->from->buffers[i].kind != NXK_LOCAL)
        continue;
      nxb_share h = nxb_gpu_share(b, s, nxb_gpu_stage_of(b, v));
      b->local[i] =
          nxb_add_local(b, b->from->buffers[i].dtype, h.blocks * h.items * b->threads * s->near);
      if (b->local[i] == NXK_NONE) return;
      b->to->buffers[b->local[i]].thread_private = h.unrolled;
    }
  }
}

static void set_rows(nxb_binder *b, nxb_lane_map *map, gpu_rows *r, nxk_value task) {
  const nxb_region *region = b->region;
  int64_t rows = nxb_gpu_points_of(b), each = nxb_gpu_runs(b, &r->s);
  nxk_value thread = nxk_step_vector(b->to, nxb_int(b, 0), b->threads);
  thread = nxb_mul(b, thread, r->s.near); /* its first lane */
  nxk_value group = nxb_div(b, thread, r->s.columns), column = nxb_mod(b, thread, r->s.columns);
  nxk_value in_row = nxb_mod(b, group, r->s.threads), row = task;
  r->lane = nxb_mod(b, in_row, r->s.lanes);
  r->slot = nxb_div(b, in_row, r->s.lanes);
  r->row_active = NXK_NONE;
  if (each > 1) {
    nxk_value within = nxb_mul(b, nxb_div(b, group, r->s.threads), r->s.columns);
    within = nxb_mul(b, nxb_op(b, NXK_add, within, column), r->s.wide);
    row = nxb_op(b, NXK_add, nxb_mul(b, task, each), within);
    if (rows % each != 0) r->row_active = nxb_op(b, NXK_lt, row, nxb_int(b, rows));
  }
  nxk_value rest = row;
  bool narrow = region->n_outer > 1 && rows < INT64_C(0x7f000000) && each > 1;
  if (narrow) rest = nxk_cast_to(b->to, NX_U32, rest);
  for (uint32_t i = region->n_outer; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, region->outer[i].extent) : rest;
    nxb_set_index(b, map, &region->outer[i], nxk_cast_to(b->to, NX_I64, index),
                  i + 1 == region->n_outer && r->s.wide > 1);
    if (i > 0) rest = nxb_div(b, rest, region->outer[i].extent);
  }
  map->active = r->row_active;
  map->storing = nxb_op(b, NXK_eq, in_row, nxb_int(b, 0));
}

void nxb_gpu_rows(nxb_binder *b) {
  gpu_rows r = {.s = nxb_gpu_spread(b)};
  nxb_lane_map map;
  if (!nxb_lane_map_init(b, &map)) return;
  map.lanes = (uint16_t)(b->threads * r.s.wide);
  map.group = r.s.wide > 1 ? (uint16_t)r.s.wide : 0;
  add_arrays(b, &r.s);
  if (r.s.wide == 1 && nxb_gpu_keeps(b, &r.s))
    nxb_gpu_keep(b, &r.kept, nxb_gpu_longest_own(b, &r.s), b->threads * r.s.near);
  nxk_begin_region(b->to);
  int64_t tasks = nxb_ceil(nxb_gpu_points_of(b), nxb_gpu_runs(b, &r.s));
  nxk_value task = nxk_begin_range(b->to, NXK_TASK, tasks);
  if (!b->to->failed && !b->failed) {
    set_rows(b, &map, &r, task);
    nxb_write_ready(b, &map);
    nxb_write_body(b, &map, 1, b->region->body_first, b->region->body_last, write_stage, &r);
  }
  nxk_end(b->to);
  nxk_end(b->to);
}
