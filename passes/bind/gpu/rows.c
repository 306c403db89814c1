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
#include "passes/bind/bind.h"

#include <string.h>

enum {
  SHORT_RUN = 32,
  MOST_OWN = 64,          /* elements of a run that a thread keeps in registers */
  MOST_CODE = 1200,       /* operations written out for those elements; see most_own */
  WRITTEN_OUT = 16,       /* consecutive elements of a thread whose loads are issued together */
  MANY_THREADS = 1 << 17, /* about as many as use the full memory bandwidth of a large GPU */
  SECTOR = 32,
  MOST_COLUMNS = 32 /* bytes of one memory transaction */
};

/* How the elements of a run are distributed over threads. */
typedef struct spread {
  /* of a block of the order; items: INT64_MAX if any order gives the same bits */
  int64_t lanes, items;
  /* threads that share a run: lanes times the blocks computed at the same time */
  int64_t threads;
  int64_t own;     /* most elements of a run for which a thread's code is written out */
  int64_t columns; /* neighbouring threads that each compute another run */
} spread;

/* How the elements of one stage are distributed. */
typedef struct share {
  const nxb_stage *stage;
  int64_t items; /* items of a block that belong to a thread */
  /* blocks of a thread, in sequence; a power of two unless any order gives the same bits */
  int64_t blocks;
  bool all;      /* all threads have the same number of elements: no masks */
  bool unrolled; /* the code for all blocks is written out, so that elements can be in registers */
  bool written;  /* the code for the items of a block is written out */
} share;

typedef struct gpu_rows {
  spread s;
  nxk_value row_active; /* bool: which rows exist; NXK_NONE: all */
  /* for each thread: its lane in a block; which of the blocks computed at the same time */
  nxk_value lane, slot;
} gpu_rows;

static int64_t power_of_two_from(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

/* ---- what fits */

/* Finds an order that all reductions of the region can be computed in. False: there is none, or it
 * is sequential. */
static bool common_order(const nxb_binder *b, spread *s) {
  *s = (spread){.lanes = 1, .items = INT64_MAX, .columns = 1};
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    for (uint32_t j = 0; j < b->region->stages[i].n_reduces; j++) {
      nxb_order order = nxb_order_of(b->from, b->region->stages[i].reduce[j]);
      if (order.exact) continue;
      if (order.block == INT64_MAX) return false;
      if (s->items != INT64_MAX && (s->items != order.block || s->lanes != order.lanes))
        return false;
      s->items = order.block;
      s->lanes = order.lanes;
    }
  return true;
}

/* True if the access of a LOCAL array in a stage is at the element numbered as the point of the
 * stage. */
static bool is_at_point(const nxb_binder *b, const nxb_stage *s, const nxk_access *a) {
  int64_t stride = 1;
  uint32_t found = 0;
  if (a->offset != 0 || a->index != NXK_NONE || b->from->buffers[a->buffer].elements != s->points)
    return false;
  for (uint32_t i = s->n_loops; i-- > 0; stride *= s->loops[i].extent) {
    if (s->loops[i].lower != 0 || s->loops[i].step != 1) return false;
    for (uint32_t t = 0; t < a->n_terms; t++)
      if (a->terms[t].index == s->loops[i].value) {
        if (a->terms[t].stride != stride) return false;
        found++;
      }
  }
  uint32_t needed = 0;
  for (uint32_t i = 0; i < s->n_loops; i++) needed += s->loops[i].extent > 1;
  return found == a->n_terms && found >= needed;
}

static const nxb_stage *stage_of(const nxb_binder *b, nxk_value v) {
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (v > b->region->stages[i].first && v < b->region->stages[i].last)
      return &b->region->stages[i];
  return NULL;
}

/* True if each thread uses only its own elements of all LOCAL arrays, so that it can keep them. */
static bool locals_stay(const nxb_binder *b) {
  int64_t points = -1;
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load && in->op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    if (b->from->buffers[a->buffer].kind != NXK_LOCAL) continue;
    const nxb_stage *s = stage_of(b, v);
    if (s == NULL || !is_at_point(b, s, a) || (points >= 0 && points != s->points)) return false;
    points = s->points;
  }
  return true;
}

/* Whether accesses that far apart are contiguous, maybe together with others of their block. */
static bool is_near(const nxb_binder *b, nxk_value v, int64_t stride) {
  return stride == 1 || stride == -1 || nxb_row_of(b, v, stride) != 0;
}

/* The number of accesses that are contiguous along the runs, minus the number of those contiguous
 * along the outer points. */
static int64_t along_runs(const nxb_binder *b) {
  const nxb_region *region = b->region;
  int64_t more = 0;
  nxk_value outer = region->n_outer ? region->outer[region->n_outer - 1].value : NXK_NONE;
  for (uint32_t i = 0; i < region->n_stages; i++) {
    const nxb_stage *s = &region->stages[i];
    for (nxk_value v = s->first; v < s->last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      bool computed;
      if ((in->op != NXK_load && in->op != NXK_store) ||
          b->from->buffers[b->from->accesses[in->imm].buffer].kind == NXK_LOCAL)
        continue;
      const nxk_access *a = &b->from->accesses[in->imm];
      int64_t stride = nxb_stride(b, a, s->loops[s->n_loops - 1].value, &computed);
      more += !computed && is_near(b, v, stride);
      stride = outer == NXK_NONE ? 0 : nxb_stride(b, a, outer, &computed);
      more -= !computed && is_near(b, v, stride);
    }
  }
  return more;
}

static int64_t longest_run(const nxb_binder *b) {
  int64_t most = 0;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].points > most) most = b->region->stages[i].points;
  return most;
}

static int64_t rows_of(const nxb_binder *b) {
  int64_t rows = 1;
  for (uint32_t i = 0; i < b->region->n_outer; i++) rows *= b->region->outer[i].extent;
  return rows;
}

bool nxb_gpu_rows_fit(nxb_binder *b) {
  spread s;
  if (b->region->n_stages == 0 || nxb_scans(b, b->region->first, b->region->last)) return false;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (b->region->stages[i].n_loops == 0) return false;
  int64_t rows = rows_of(b), along = along_runs(b);
  bool few = rows < (along < 0 ? MANY_THREADS : b->threads), again = b->region->n_stages > 1;
  return common_order(b, &s) && locals_stay(b) && longest_run(b) >= SHORT_RUN &&
         (along > 0 || few || (along < 0 && again && rows > 1));
}

/* ---- shares */

/* The number of columns: a cache line of elements, but fewer (at least a sector of a line) if there
 * would be too few threads. */
static int64_t columns_of(const nxb_binder *b, const spread *s) {
  int64_t rows = rows_of(b), columns = MOST_COLUMNS, least = SECTOR;
  if (rows == 1 || along_runs(b) >= 0) return 1;
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_load) continue;
    int64_t size = nxi_dtype_size(b->from->buffers[b->from->accesses[in->imm].buffer].dtype);
    if (SECTOR / size < least) least = SECTOR / size;
  }
  while (columns > 1 && (columns / 2 >= rows || columns * s->lanes > b->threads)) columns /= 2;
  while (columns > least && rows * (b->threads / columns) < MANY_THREADS) columns /= 2;
  return columns;
}

static int64_t cost_of(const nxb_binder *b, const nxb_stage *stage) {
  int64_t cost = nxb_code_cost(b, stage->first, stage->last);
  return cost > 1 ? cost : 1;
}

/* The most elements of a run for which a thread's code is written out. A stage can pass values to
 * the next one in registers only if all its code is written out. That takes longer to compile, and
 * with long code too many values are live for the registers. */
static int64_t most_own(const nxb_binder *b) {
  int64_t own = b->region->n_stages < 2 ? WRITTEN_OUT : MOST_OWN, cost = 1;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (cost_of(b, &b->region->stages[i]) > cost) cost = cost_of(b, &b->region->stages[i]);
  while (own > WRITTEN_OUT && own * cost > MOST_CODE) own /= 2;
  while (own > 1 && own * cost > 2 * MOST_CODE) own /= 2;
  return own;
}

static spread choose_spread(const nxb_binder *b) {
  spread s;
  common_order(b, &s);
  s.own = most_own(b);
  s.columns = columns_of(b, &s);
  int64_t run = longest_run(b), rows = rows_of(b), most = b->threads / s.columns;
  if (s.items == INT64_MAX) { /* 16 elements for each thread, fewer if threads would be idle */
    s.threads = power_of_two_from(nxb_ceil(run, 16));
    while (s.threads < run && rows * s.threads < MANY_THREADS) s.threads *= 2;
    if (s.threads * s.columns < 32) s.threads = 32 / s.columns;
    if (s.threads > most) s.threads = most;
    s.lanes = s.threads;
    return s;
  }
  int64_t blocks = power_of_two_from(nxb_ceil(run, s.lanes * s.items)), at_once = 1;
  while (at_once < blocks && at_once * s.lanes < most &&
         (at_once * s.lanes * s.columns < 32 || blocks / at_once > 1 ||
          rows * at_once * s.lanes < MANY_THREADS))
    at_once *= 2;
  s.threads = s.lanes * at_once;
  return s;
}

static share share_of(const nxb_binder *b, const spread *s, const nxb_stage *stage) {
  int64_t run = stage->points, at_once = s->threads / s->lanes;
  share h = {.stage = stage, .blocks = 1, .items = nxb_ceil(run, s->lanes)};
  if (s->items != INT64_MAX) {
    h.blocks = power_of_two_from(nxb_ceil(nxb_ceil(run, s->lanes * s->items), at_once));
    if (h.items > s->items) h.items = s->items;
  } else if (h.items > s->own && h.items > WRITTEN_OUT) {
    h.blocks = nxb_ceil(h.items, WRITTEN_OUT);
    h.items = WRITTEN_OUT;
  }
  int64_t items = s->items == INT64_MAX ? h.items : s->items;
  h.all = at_once * h.blocks * items * s->lanes == run && h.items == items;
  h.unrolled = h.blocks * h.items <= s->own;
  h.written = h.unrolled || h.items * cost_of(b, stage) <= 2 * MOST_CODE;
  return h;
}

/* ---- the elements of a stage */

typedef struct element_loop {
  nxk_value block, item; /* i64, one lane */
} element_loop;

/* Sets the indices of the stage's loops for the point of each thread, and returns the number of
 * that point. */
static nxk_value set_point(nxb_binder *b, nxb_lane_map *map, const gpu_rows *r, const share *h,
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
    nxb_set_index(b, map, loop, nxk_cast_to(b->to, NX_I64, index), false);
    if (i > 0) rest = nxb_div(b, rest, loop->extent);
  }
  map->slot = nxb_op(b, NXK_add, nxb_mul(b, at.block, h->items), at.item);
  map->storing = NXK_NONE;
  map->active = r->row_active;
  if (!h->all) {
    nxk_value exists = nxb_op(b, NXK_lt, point, nxb_int(b, h->stage->points));
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

static void write_map(nxb_binder *b, const nxb_lane_map *map, const gpu_rows *r, const share *h) {
  nxb_lane_map own;
  if (!nxb_lane_map_copy(b, &own, map)) return;
  element_loop at;
  at.block = open_loop(b, h->blocks, h->unrolled);
  at.item = open_loop(b, h->items, h->written);
  if (b->to->failed) return;
  set_point(b, &own, r, h, at);
  nxb_write_code(b, &own, h->stage->first, h->stage->last);
  close_loop(b, h->items);
  close_loop(b, h->blocks);
}

/* ---- reductions */

typedef struct reducing {
  const share *h;
  nxb_partial *partial; /* for each reduction */
  nxk_value *carry;     /* two for each reduction and loop: [loop][2 * i] */
  uint32_t *tree;       /* LOCAL array of each reduction with a tree of blocks; else NXK_NONE */
  nx_dtype item_type;
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

static nxk_access tree_access(const nxb_binder *b, const reducing *f, uint32_t i) {
  nxk_access a = nxk_access_at(f->tree[i], 0);
  a.lane_stride = 1;
  a.tree_stride = b->threads;
  return a;
}

static nxk_reduce_kind kind_of(const nxb_binder *b, nxk_value reduce) {
  return (nxk_reduce_kind)b->from->instrs[reduce].kind;
}

static void start_partials(nxb_binder *b, reducing *f, nxk_value first, bool trees) {
  for (uint32_t i = 0; i < f->h->stage->n_reduces; i++)
    if ((f->tree[i] != NXK_NONE) == trees)
      f->partial[i] = nxb_identity(b, reduce_of(f, i), b->threads, first, f->item_type);
}

static void push_blocks(nxb_binder *b, reducing *f, nxk_value block) {
  for (uint32_t i = 0; i < f->h->stage->n_reduces && !b->to->failed; i++) {
    if (f->tree[i] == NXK_NONE) continue;
    nxk_access a = tree_access(b, f, i);
    nxk_tree_push(b->to, kind_of(b, reduce_of(f, i)), block, f->partial[i].value, NXK_NONE, &a,
                  NULL);
  }
}

static void join_blocks(nxb_binder *b, reducing *f) {
  nxk_value count = nxb_int(b, f->h->blocks);
  for (uint32_t i = 0; i < f->h->stage->n_reduces && !b->to->failed; i++) {
    if (f->tree[i] == NXK_NONE) continue;
    nxk_access a = tree_access(b, f, i);
    f->partial[i].value =
        nxk_tree_join(b->to, kind_of(b, reduce_of(f, i)), count, b->threads, &a, NULL, false);
  }
}

/* Writes the partial result of the thread's own elements. */
static void reduce_own(nxb_binder *b, nxb_lane_map *map, const gpu_rows *r, reducing *f) {
  const share *h = f->h;
  nxb_lane_map own;
  if (!nxb_lane_map_copy(b, &own, map)) return;
  element_loop start = {nxb_int(b, 0), nxb_int(b, 0)}, at;
  nxk_value first = set_point(b, &own, r, h, start);
  start_partials(b, f, first, false);
  at.block = open_carrying(b, f, h->blocks, 0, false);
  start_partials(b, f, first, true);
  at.item = open_carrying(b, f, h->items, 1, true);
  if (b->to->failed || b->failed) return;
  nxk_value point = set_point(b, &own, r, h, at);
  nxb_write_code(b, &own, h->stage->first, h->stage->last);
  for (uint32_t i = 0; i < h->stage->n_reduces; i++)
    f->partial[i] =
        nxb_accumulate(b, &own, reduce_of(f, i), f->partial[i], point, f->item_type, own.active);
  close_carrying(b, f, h->items, 1, true);
  push_blocks(b, f, at.block);
  close_carrying(b, f, h->blocks, 0, false);
  join_blocks(b, f);
}

/* Combines the partial results of threads that are `distance` apart in their run. */
static void join_at(nxb_binder *b, const spread *s, nxk_value reduce, nxb_partial *p,
                    int64_t distance) {
  distance *= s->columns;
  if (b->to->failed) return;
  nxb_partial other = {nxk_shuffle_xor(b->to, p->value, (uint32_t)distance), NXK_NONE};
  if (p->item != NXK_NONE) other.item = nxk_shuffle_xor(b->to, p->item, (uint32_t)distance);
  *p = nxb_combine(b, reduce, *p, other, true);
}

static void write_reductions(nxb_binder *b, nxb_lane_map *map, const gpu_rows *r, const share *h) {
  uint32_t n = h->stage->n_reduces;
  reducing f = {.h = h,
                .partial = nxb_alloc(b, n * sizeof *f.partial),
                .carry = nxb_alloc(b, 4 * n * sizeof *f.carry),
                .tree = nxb_alloc(b, n * sizeof *f.tree),
                .item_type = nxb_item_type(h->stage->points)};
  if (b->failed) return;
  int64_t levels = 1;
  while (h->blocks >> levels) levels++;
  for (uint32_t i = 0; i < n; i++) {
    bool pairs = h->blocks > 1 && !nxb_exact(b->from, reduce_of(&f, i));
    nx_dtype type = nxk_dtype(b->from, b->from->instrs[reduce_of(&f, i)].args[0]);
    f.tree[i] = pairs ? nxb_add_local(b, type, levels * b->threads) : NXK_NONE;
    if (pairs && f.tree[i] != NXK_NONE) b->to->buffers[f.tree[i]].thread_private = h->unrolled;
  }
  reduce_own(b, map, r, &f);
  for (uint32_t i = 0; i < n && !b->to->failed && !b->failed; i++) {
    for (int64_t d = r->s.lanes; d < r->s.threads; d *= 2)
      join_at(b, &r->s, reduce_of(&f, i), &f.partial[i], d);
    for (int64_t d = r->s.lanes / 2; d > 0; d /= 2)
      join_at(b, &r->s, reduce_of(&f, i), &f.partial[i], d);
    const nxb_partial *p = &f.partial[i];
    nxb_set_result(b, map, reduce_of(&f, i), p->item != NXK_NONE ? p->item : p->value);
  }
}

/* ---- the template */

static bool write_stage(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        void *user) {
  const gpu_rows *r = user;
  share h = share_of(b, &r->s, s);
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
static void add_arrays(nxb_binder *b, const spread *s) {
  for (uint32_t i = 0; i < b->from->n_buffers; i++) {
    b->local[i] = NXK_NONE;
    for (nxk_value v = b->region->first; v < b->region->last && b->local[i] == NXK_NONE; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      bool memory = in->op == NXK_load || in->op == NXK_store;
      if (!memory || b->from->accesses[in->imm].buffer != i ||
          b->from->buffers[i].kind != NXK_LOCAL)
        continue;
      share h = share_of(b, s, stage_of(b, v));
      b->local[i] = nxb_add_local(b, b->from->buffers[i].dtype, h.blocks * h.items * b->threads);
      if (b->local[i] == NXK_NONE) return;
      b->to->buffers[b->local[i]].thread_private = h.unrolled;
    }
  }
}

static void set_rows(nxb_binder *b, nxb_lane_map *map, gpu_rows *r, nxk_value task) {
  const nxb_region *region = b->region;
  int64_t rows = rows_of(b), each = b->threads / r->s.threads; /* each: runs of a block */
  nxk_value thread = nxk_step_vector(b->to, nxb_int(b, 0), b->threads);
  nxk_value group = nxb_div(b, thread, r->s.columns), column = nxb_mod(b, thread, r->s.columns);
  nxk_value in_row = nxb_mod(b, group, r->s.threads), row = task;
  r->lane = nxb_mod(b, in_row, r->s.lanes);
  r->slot = nxb_div(b, in_row, r->s.lanes);
  r->row_active = NXK_NONE;
  if (each > 1) {
    nxk_value within = nxb_mul(b, nxb_div(b, group, r->s.threads), r->s.columns);
    within = nxb_op(b, NXK_add, within, column);
    row = nxb_op(b, NXK_add, nxb_mul(b, task, each), within);
    if (rows % each != 0) r->row_active = nxb_op(b, NXK_lt, row, nxb_int(b, rows));
  }
  nxk_value rest = row;
  bool narrow = region->n_outer > 1 && rows < INT64_C(0x7f000000) && each > 1;
  if (narrow) rest = nxk_cast_to(b->to, NX_U32, rest);
  for (uint32_t i = region->n_outer; i-- > 0;) {
    nxk_value index = i > 0 ? nxb_mod(b, rest, region->outer[i].extent) : rest;
    nxb_set_index(b, map, &region->outer[i], nxk_cast_to(b->to, NX_I64, index), false);
    if (i > 0) rest = nxb_div(b, rest, region->outer[i].extent);
  }
  map->active = r->row_active;
  map->storing = nxb_op(b, NXK_eq, in_row, nxb_int(b, 0));
}

void nxb_gpu_rows(nxb_binder *b) {
  gpu_rows r = {.s = choose_spread(b)};
  nxb_lane_map map;
  if (!nxb_lane_map_init(b, &map)) return;
  map.lanes = b->threads;
  add_arrays(b, &r.s);
  nxk_begin_region(b->to);
  int64_t tasks = nxb_ceil(rows_of(b), b->threads / r.s.threads);
  nxk_value task = nxk_begin_range(b->to, NXK_TASK, tasks);
  if (!b->to->failed && !b->failed) {
    set_rows(b, &map, &r, task);
    nxb_write_ready(b, &map);
    nxb_write_body(b, &map, 1, b->region->body_first, b->region->body_last, write_stage, &r);
  }
  nxk_end(b->to);
  nxk_end(b->to);
}
