/* SPDX-License-Identifier: ISC */
/* Reductions of the CPU binder, in the order of docs/numerics.md. A run is cut into items: its
 * points one after the other, or vectors of points. The items of a block are combined sequentially,
 * and the blocks in a pairwise tree. A reduction that has the same bits in any order is computed in
 * several independent partial results (chains), to hide the latency of an operation. A partial
 * result may start from the identity, and lanes that do not exist may hold it, because combining
 * with the identity changes no bit. */
#include "bind.h"

#include <string.h>

bool nxb_is_arg(const nxk_kernel *k, nxk_value reduce) {
  return nxk_finds_index(k->instrs[reduce].kind);
}

static nxk_reduce_kind kind_of(const nxb_binder *b, nxk_value reduce) {
  return (nxk_reduce_kind)b->from->instrs[reduce].kind;
}

static nx_dtype type_of(const nxb_binder *b, nxk_value reduce) {
  return nxk_dtype(b->from, b->from->instrs[reduce].args[0]);
}

/* ---- orders */

nxb_order nxb_order_of(const nxk_kernel *k, nxk_value reduce) {
  if (nxb_exact(k, reduce)) return (nxb_order){1, INT64_MAX, true};
  switch (k->instrs[reduce].order) {
    case NXK_ORDER_LANES: return (nxb_order){16, 16, false};
    case NXK_ORDER_PLAIN: return (nxb_order){1, 16, false};
    case NXK_ORDER_JOIN_LANES: return (nxb_order){16, 1, false};
    case NXK_ORDER_JOIN: return (nxb_order){1, 1, false};
    default: return (nxb_order){1, INT64_MAX, false};
  }
}

/* An exact reduction can join a group of any order. Argmax and argmin cannot, because their item
 * numbers would have to be kept in the tree. */
uint32_t nxb_next_group(const nxb_binder *b, const nxb_stage *s, bool *done, nxk_value *group,
                        nxb_order *order) {
  uint32_t n = 0;
  *order = (nxb_order){1, INT64_MAX, true};
  for (uint32_t i = 0; i < s->n_reduces && order->exact; i++)
    if (!done[i]) *order = nxb_order_of(b->from, s->reduce[i]);
  for (uint32_t i = 0; i < s->n_reduces; i++) {
    nxb_order own = nxb_order_of(b->from, s->reduce[i]);
    bool joins = own.exact && (order->exact || !nxb_is_arg(b->from, s->reduce[i]));
    bool fits = joins || (own.lanes == order->lanes && own.block == order->block && !order->exact);
    if (done[i] || !fits) continue;
    done[i] = true;
    group[n++] = s->reduce[i];
  }
  return n;
}

/* ---- combining */

/* For argmax and argmin: x replaces acc if it is the first NaN, or better; with `ties` also if it
 * is equal and of a lower item. Without `ties`, x is of a later item in every lane. */
static nxk_value is_better(nxb_binder *b, nxk_value reduce, nxb_partial acc, nxb_partial x,
                           bool ties) {
  bool most = nxk_reduce_op(kind_of(b, reduce)) == NXK_max,
       number = nxi_is_float(type_of(b, reduce));
  nxk_value low = most ? acc.value : x.value, high = most ? x.value : acc.value;
  nxk_value strictly;
  if (number) { /* not (x no better than acc), and acc is not NaN */
    strictly =
        NXK_SCALAR2(b->to, NXK_and, NXK_SCALAR1(b->to, NXK_not, nxb_op(b, NXK_le, high, low)),
                    nxb_op(b, NXK_eq, acc.value, acc.value));
  } else {
    strictly = nxb_op(b, NXK_lt, low, high);
  }
  if (!ties) return strictly;
  nxk_value equal = nxb_op(b, NXK_eq, acc.value, x.value);
  if (number) {
    nxk_value both_nan = NXK_SCALAR2(b->to, NXK_and, nxb_op(b, NXK_ne, acc.value, acc.value),
                                     nxb_op(b, NXK_ne, x.value, x.value));
    equal = nxb_op(b, NXK_or, equal, both_nan);
  }
  nxk_value lower = nxb_op(b, NXK_lt, x.item, acc.item);
  return nxb_op(b, NXK_or, strictly, nxb_op(b, NXK_and, equal, lower));
}

nxb_partial nxb_combine(nxb_binder *b, nxk_value reduce, nxb_partial acc, nxb_partial x,
                        bool ties) {
  if (!nxb_is_arg(b->from, reduce))
    return (nxb_partial){nxb_op(b, nxk_reduce_op(kind_of(b, reduce)), acc.value, x.value),
                         NXK_NONE};
  nxk_value better = is_better(b, reduce, acc, x, ties);
  nxb_partial best;
  best.value = nxk_scalar(b->to, NXK_select, 0, better, x.value, acc.value);
  best.item = nxk_scalar(b->to, NXK_select, 0, better, x.item, acc.item);
  return best;
}

void nxb_tree(nxb_binder *b, nxk_value reduce, nxb_partial *p, uint32_t n, uint32_t stride,
              bool ties) {
  for (uint32_t width = 1; width < n; width *= 2)
    for (uint32_t i = 0; i + width < n; i += 2 * width)
      p[i * stride] = nxb_combine(b, reduce, p[i * stride], p[(i + width) * stride], ties);
}

enum { FEW_POINTS = 4 };

/* Adding the identity changes no value. */
bool nxb_any_lanes(const nxb_binder *b, const nxb_stage *s) {
  return b->target->generic && (b->tiny || b->target->any_extent || s->points > FEW_POINTS);
}

nx_dtype nxb_item_type(int64_t items) { return items < INT32_MAX ? NX_I32 : NX_I64; }

nxb_partial nxb_identity(nxb_binder *b, nxk_value reduce, uint16_t lanes, nxk_value item,
                         nx_dtype item_type) {
  nx_dtype type = type_of(b, reduce);
  uint64_t bits = nxk_reduce_identity(kind_of(b, reduce), type);
  nxb_partial p = {nxk_splat(b->to, nxk_const(b->to, type, bits), lanes), NXK_NONE};
  if (nxb_is_arg(b->from, reduce))
    p.item = nxk_splat(b->to, nxk_cast_to(b->to, item_type, item), lanes);
  return p;
}

nxk_value nxb_empty_result(nxb_binder *b, nxk_value reduce) {
  nx_dtype type = type_of(b, reduce);
  if (nxb_is_arg(b->from, reduce)) return nxb_int(b, 0);
  return nxk_const(b->to, type, nxk_reduce_empty(kind_of(b, reduce), type));
}

/* c = fma(x, y, c), or x * y + c for integers. */
static nxk_value multiply_add(nxb_binder *b, const nxb_lane_map *map, nxk_value reduce, nxk_value c,
                              nxk_value active) {
  const nxk_instr *in = &b->from->instrs[reduce];
  nxk_value x = nxb_wide(b, map, in->args[0]), y = nxb_wide(b, map, in->args[1]);
  nxk_value sum;
  if (nxi_is_float(type_of(b, reduce))) sum = nxk_scalar(b->to, NXK_fma, 0, x, y, c);
  else sum = nxb_op(b, NXK_add, nxb_op(b, NXK_mul, x, y), c);
  return active == NXK_NONE ? sum : nxk_scalar(b->to, NXK_select, 0, active, sum, c);
}

nxb_partial nxb_accumulate(nxb_binder *b, const nxb_lane_map *map, nxk_value reduce,
                           nxb_partial acc, nxk_value item, nx_dtype item_type, nxk_value active) {
  const nxk_instr *in = &b->from->instrs[reduce];
  if (in->kind == NXK_DOT)
    return (nxb_partial){multiply_add(b, map, reduce, acc.value, active), NXK_NONE};
  nxb_partial none = nxb_identity(b, reduce, map->lanes, item, item_type);
  nxb_partial x = {nxb_wide(b, map, in->args[0]), none.item};
  if (active != NXK_NONE) x.value = nxk_scalar(b->to, NXK_select, 0, active, x.value, none.value);
  return nxb_combine(b, reduce, acc, x, false);
}

void nxb_set_result(nxb_binder *b, nxb_lane_map *map, nxk_value reduce, nxk_value value) {
  if (b->to->failed || value == NXK_NONE) return;
  map->bound[reduce] = nxb_is_arg(b->from, reduce) ? nxk_cast_to(b->to, NX_I64, value) : value;
  map->step[reduce] = 0;
}

/* Vector operations of one execution of a stage's code. If lanes run along the last loop, of two
 * points, and the loop around it, code that depends on the last loop alone is computed once for
 * all, and work on bytes takes a quarter of the vectors. */
static uint32_t cost_of_stage(const nxb_binder *b, const nxb_stage *s) {
  uint32_t cost = nxb_code_cost(b, s->first, s->last), saved = 0;
  if (!nxb_in_pairs(s)) return cost;
  nxk_value pair = s->loops[s->n_loops - 1].value;
  for (nxk_value v = s->first; v <= s->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op >= NXK_SCALAR_COUNT) continue;
    uint32_t quarters = (uint32_t)nxi_dtype_size(in->dtype);
    if (quarters > 4) quarters = 4;
    if (b->depends[v] == b->loop_bit[pair]) quarters = 0;
    saved += nxb_code_cost(b, v, v) * (4 - quarters);
  }
  return cost - saved / 4;
}

uint32_t nxb_choose_chains(const nxb_binder *b, const nxb_stage *s, const nxk_value *reduce,
                           uint32_t width, uint16_t lanes, int64_t items) {
  int64_t registers = 0, least = 1;
  for (uint32_t i = 0; i < width; i++) {
    registers += nxb_ceil(lanes * nxi_dtype_size(type_of(b, reduce[i])), b->target->vector_bytes);
    /* A reduction in a fixed order has one chain. Several blocks at the same time would be several
     * streams through memory within one page, which hardware prefetchers do not follow. With one
     * block after the other the processor overlaps the blocks by itself. */
    if (!nxb_exact(b->from, reduce[i])) return 1;
    /* joining the chains costs as much as this many items */
    int64_t joining = nxb_is_arg(b->from, reduce[i]) ? 8 : 4;
    if (joining > least) least = joining;
  }
  uint32_t cost = cost_of_stage(b, s), chains = 4;
  if (b->target->generic) items = INT64_MAX;
  /* several chains hide the latency of an addition; long code hides it by itself */
  while (chains > 1 && (chains * registers > 8 || chains * cost > 30 || chains * least > items))
    chains /= 2;
  return chains;
}

/* ---- the reduction */

typedef struct reducing {
  nxb_binder *b;
  const nxb_reduction *reduction;
  nxb_lane_map *maps; /* [n_maps] */
  nxb_lane_map *work; /* [n_maps]: with the indices of the item that is being written */
  uint32_t n_maps;
  nx_dtype item_type;
  nxb_partial *partials; /* [chains][n_maps * n] */
  nxk_value *carries;    /* two for each partial result */
  uint32_t *tree;        /* [n_maps * n]: LOCAL array of the tree */
} reducing;

static uint32_t width_of(const reducing *f) { return f->n_maps * f->reduction->n; }

/* The first point of an item. */
static nxk_value point_of(const reducing *f, nxk_value item) {
  nxk_value point = nxb_mul(f->b, item, f->reduction->scale);
  return f->reduction->shift == NXK_NONE ? point
                                         : nxb_op(f->b, NXK_add, point, f->reduction->shift);
}

/* Writes the body for item `item`, whose first point is `point`, and combines its value with p.
 * active: the lanes of the item that exist, or NXK_NONE. */
static void write_point(reducing *f, nxk_value point, nxk_value item, nxk_value active,
                        nxb_partial *p) {
  nxb_binder *b = f->b;
  const nxb_reduction *reduction = f->reduction;
  for (uint32_t w = 0; w < f->n_maps; w++) {
    nxb_lane_map *map = &f->work[w];
    if (reduction->vector > 1) {
      map->lanes = reduction->vector;
      map->active = active;
      map->vector = NXK_NONE;
    }
    nxb_set_point(b, map, reduction->stage, point, reduction->vector > 1 ? reduction->vector : 1);
    nxb_write_code(b, map, reduction->stage->first, reduction->stage->last);
    for (uint32_t i = 0; i < reduction->n; i++)
      p[w * reduction->n + i] = nxb_accumulate(b, map, reduction->reduce[i],
                                               p[w * reduction->n + i], item, f->item_type, active);
  }
}

static void write_item(reducing *f, nxk_value item, nxk_value active, nxb_partial *p) {
  write_point(f, point_of(f, item), item, active, p);
}

/* Writes the last item, of which only reduction->last points exist. */
static void write_last(reducing *f, nxk_value item, nxb_partial *p) {
  nxk_value from = nxb_int(f->b, 0), to = nxb_int(f->b, f->reduction->last);
  nxk_value some = nxk_active(f->b->to, from, to, f->reduction->vector);
  write_item(f, item, some, p);
}

static void set_identities(reducing *f, nxb_partial *p, nxk_value first_item) {
  const nxb_reduction *reduction = f->reduction;
  for (uint32_t w = 0; w < f->n_maps; w++)
    for (uint32_t i = 0; i < reduction->n; i++)
      p[w * reduction->n + i] = nxb_identity(
          f->b, reduction->reduce[i], reduction->vector > 1 ? reduction->vector : f->maps[w].lanes,
          first_item, f->item_type);
}

/* Opens a loop that carries n partial results. Afterwards p has their values in the current
 * iteration. */
static nxk_value open_carrying(reducing *f, nxb_partial *p, uint32_t n, int64_t count,
                               int64_t step) {
  nxk_kernel *to = f->b->to;
  nxk_value j = nxk_begin_for(to, NXK_SEQ, nxk_bound_const(0), nxk_bound_const(count), step);
  for (uint32_t i = 0; i < n; i++) {
    f->carries[2 * i] = p[i].value = nxk_carry(to, p[i].value);
    if (p[i].item != NXK_NONE) f->carries[2 * i + 1] = p[i].item = nxk_carry(to, p[i].item);
  }
  return j;
}

static void close_carrying(reducing *f, nxb_partial *p, uint32_t n) {
  nxk_kernel *to = f->b->to;
  for (uint32_t i = 0; i < n; i++) {
    nxk_next(to, f->carries[2 * i], p[i].value);
    if (p[i].item != NXK_NONE) nxk_next(to, f->carries[2 * i + 1], p[i].item);
  }
  nxk_end(to);
  for (uint32_t i = 0; i < n; i++) {
    p[i].value = f->carries[2 * i];
    if (p[i].item != NXK_NONE) p[i].item = f->carries[2 * i + 1];
  }
}

/* Whether a second copy of an item's code takes less time to compile than it saves, if that is not
 * optimised: then constants and partial results lie in memory, and each iteration loads them. Items
 * of two registers have two uses for each load as they are. */
static bool pays_twice(const reducing *f) {
  enum { LEAST_ELEMENTS = 4 << 20 };
  const nxb_binder *b = f->b;
  const int64_t bytes = f->reduction->vector * nxi_dtype_size(type_of(b, f->reduction->reduce[0]));
  return b->target->hasty && bytes <= b->target->vector_bytes &&
         nxb_largest_array(b) >= LEAST_ELEMENTS;
}

/* How many items are written out in one iteration: enough to make the overhead of the loop small,
 * and no more, because each copy has to be compiled. */
static int64_t unrolling(const reducing *f, uint32_t chains) {
  uint32_t bodies = chains * f->n_maps;
  uint32_t cost = cost_of_stage(f->b, f->reduction->stage) * bodies;
  int64_t unroll = 1;
  while (unroll * bodies < 4 && 2 * unroll * cost <= 16) unroll *= 2;
  if (unroll * bodies == 1 && pays_twice(f)) unroll = 2;
  return unroll;
}

/* Combines `count` items into each of `chains` partial results: item first + j * chains + q goes
 * into number q. */
static void reduce_chains(reducing *f, nxk_value first, uint32_t chains, int64_t count) {
  nxb_binder *b = f->b;
  uint32_t width = width_of(f), n = chains * width;
  int64_t unroll = unrolling(f, chains), looped = count - count % unroll;
  for (uint32_t q = 0; q < chains; q++)
    set_identities(f, f->partials + q * width, nxb_add(b, first, q));
  nxk_value j = NXK_NONE;
  bool loops = looped > unroll;
  if (loops) j = open_carrying(f, f->partials, n, looped, unroll);
  for (int64_t u = 0; u < count && !b->to->failed; u++) {
    if (loops && u == unroll) {
      close_carrying(f, f->partials, n);
      loops = false;
      u = looped;
      j = NXK_NONE;
      if (u >= count) break;
    }
    nxk_value at = j == NXK_NONE ? first : nxb_op(b, NXK_add, first, nxb_mul(b, j, chains));
    at = nxb_add(b, at, u * chains);
    for (uint32_t q = 0; q < chains; q++)
      write_item(f, nxb_add(b, at, q), NXK_NONE, f->partials + q * width);
  }
  if (loops) close_carrying(f, f->partials, n);
}

/* Combines `count` items from `first` on into each of `chains` partial results, in one loop
 * whatever the count is. */
static void reduce_loop(reducing *f, nxk_value first, uint32_t chains, int64_t count,
                        nxb_partial *p) {
  uint32_t width = width_of(f);
  nxk_value j = open_carrying(f, p, chains * width, count, 1);
  nxk_value at = nxb_op(f->b, NXK_add, first, nxb_mul(f->b, j, chains));
  for (uint32_t q = 0; q < chains; q++)
    write_item(f, nxb_add(f->b, at, q), NXK_NONE, p + q * width);
  close_carrying(f, p, chains * width);
}

/* The items from `first` on, of which the last is written apart: it may be incomplete. `count`
 * includes it. */
static void reduce_to_end(reducing *f, int64_t first, int64_t count) {
  bool vectors = f->reduction->vector > 1;
  int64_t last = f->reduction->stage->points % f->reduction->vector;
  reduce_loop(f, nxb_int(f->b, first), 1, count - vectors, f->partials);
  if (!vectors) return;
  nxk_value points = nxb_int(f->b, last ? last : f->reduction->vector);
  nxk_value some = nxk_active(f->b->to, nxb_int(f->b, 0), points, f->reduction->vector);
  write_item(f, nxb_int(f->b, first + count - 1), some, f->partials);
}

static void tree_of_chains(reducing *f, uint32_t chains, bool ties) {
  uint32_t width = width_of(f);
  for (uint32_t i = 0; i < width; i++)
    nxb_tree(f->b, f->reduction->reduce[i % f->reduction->n], f->partials + i, chains, width, ties);
}

/* True if points may be combined more than once without changing the result, and vectors may start
 * at any point. */
static bool is_idempotent(const reducing *f) {
  const nxb_stage *s = f->reduction->stage;
  bool may = f->reduction->vector > 1 && s->n_loops == 1 && nxb_repeats(f->b, s->first, s->last);
  for (uint32_t i = 0; i < f->reduction->n; i++)
    may = may && (nxk_reduction_of(kind_of(f->b, f->reduction->reduce[i]))->flags & NXK_REPEAT);
  return may;
}

/* Combines all points, a vector into each of `chains` partial results at a time. The last vectors
 * end at the last point and may contain points that were combined before. */
static void reduce_again(reducing *f, uint32_t chains) {
  nxb_binder *b = f->b;
  const nxb_reduction *reduction = f->reduction;
  uint32_t width = width_of(f);
  int64_t step = (int64_t)chains * reduction->vector,
          groups = nxb_ceil(reduction->stage->points, step);
  for (uint32_t q = 0; q < chains; q++) set_identities(f, f->partials + q * width, nxb_int(b, 0));
  nxk_value j = open_carrying(f, f->partials, chains * width, groups, 1);
  nxk_value first = nxb_mul(b, j, step), latest = nxb_int(b, reduction->stage->points - step);
  first = nxb_op(b, NXK_min, first, latest);
  for (uint32_t q = 0; q < chains && !b->to->failed; q++)
    write_point(f, nxb_add(b, first, (int64_t)q * reduction->vector), nxb_int(b, 0), NXK_NONE,
                f->partials + q * width);
  close_carrying(f, f->partials, chains * width);
  tree_of_chains(f, chains, false);
}

/* The items from `first` on, where there are no masks for what is loaded: the last vector ends at
 * the last point, and only fewer points than a vector are loaded one by one. */
static void reduce_to_end_again(reducing *f, int64_t first) {
  nxb_binder *b = f->b;
  const nxb_reduction *reduction = f->reduction;
  const int64_t points = reduction->stage->points;
  const bool many = points >= reduction->vector;
  reduce_loop(f, nxb_int(b, first), 1, reduction->items - first - 1, f->partials);
  open_carrying(f, f->partials, width_of(f), many, 1);
  write_point(f, nxb_int(b, points - reduction->vector), nxb_int(b, 0), NXK_NONE, f->partials);
  close_carrying(f, f->partials, width_of(f));
  open_carrying(f, f->partials, width_of(f), !many, 1);
  nxk_value some = nxk_active(b->to, nxb_int(b, 0), nxb_int(b, points), reduction->vector);
  write_point(f, nxb_int(b, 0), nxb_int(b, 0), some, f->partials);
  close_carrying(f, f->partials, width_of(f));
}

/* Whether what whole vectors leave would be loaded one by one, and need not be. Not of floats: a
 * NaN that one loop passes on to the next would be lost where lanes are reduced right behind that
 * (passes/kernel/extremes.c). */
static bool ends_again(const reducing *f) {
  const nxb_stage *stage = f->reduction->stage;
  const nxk_kernel *k = f->b->from;
  bool integers = true;
  for (uint32_t i = 0; i < f->reduction->n; i++)
    integers = integers && nxi_is_integer(nxk_dtype(k, k->instrs[f->reduction->reduce[i]].args[0]));
  return integers && is_idempotent(f) && !nxb_masks_well(f->b, stage->first, stage->last);
}

/* The same as reduce_all, in a form that does not depend on how many items there are. */
static void reduce_all_generic(reducing *f) {
  uint32_t chains = f->reduction->chains, width = width_of(f);
  int64_t whole = f->reduction->items - (f->reduction->vector > 1), each = whole / chains;
  for (uint32_t q = 0; q < chains; q++)
    set_identities(f, f->partials + q * width, nxb_int(f->b, q));
  if (chains > 1) reduce_loop(f, nxb_int(f->b, 0), chains, each, f->partials);
  tree_of_chains(f, chains, true);
  int64_t done = chains > 1 ? each * chains : 0;
  if (ends_again(f)) reduce_to_end_again(f, done);
  else reduce_to_end(f, done, f->reduction->items - done);
}

/* Combines all items as one block, in several chains if the order does not matter. */
static void reduce_all(reducing *f) {
  const nxb_reduction *reduction = f->reduction;
  if (f->b->target->generic) {
    reduce_all_generic(f);
    return;
  }
  int64_t whole = reduction->items - (reduction->last != 0), done = 0;
  uint32_t chains = reduction->chains;
  while (chains > 1 && whole / chains < 2) chains /= 2;
  if ((whole % chains != 0 || reduction->last) && whole >= 2 * chains && is_idempotent(f)) {
    reduce_again(f, chains);
    return;
  }
  if (whole > 0 || reduction->last == 0) {
    int64_t count = whole / chains;
    reduce_chains(f, nxb_int(f->b, 0), chains, count);
    tree_of_chains(f, chains, true);
    done = count * chains;
  } else {
    set_identities(f, f->partials, nxb_int(f->b, 0));
  }
  for (; done < whole; done++) write_item(f, nxb_int(f->b, done), NXK_NONE, f->partials);
  if (reduction->last) write_last(f, nxb_int(f->b, whole), f->partials);
}

/* ---- trees of blocks */

enum { GENERIC_LEVELS = 40 }; /* of a tree of any size */

static nxk_access tree_access(const reducing *f, uint32_t i) {
  const nxb_reduction *reduction = f->reduction;
  uint16_t lanes = reduction->vector > 1 ? reduction->vector : f->maps[i / reduction->n].lanes;
  nxk_access a = nxk_access_at(f->tree[i], 0);
  a.lane_stride = lanes > 1;
  a.tree_stride = lanes;
  return a;
}

static void push_partials(reducing *f, nxk_value number) {
  for (uint32_t i = 0; i < width_of(f); i++) {
    nxk_access a = tree_access(f, i);
    nxk_tree_push(f->b->to, kind_of(f->b, f->reduction->reduce[i % f->reduction->n]), number,
                  f->partials[i].value, NXK_NONE, &a, NULL);
  }
}

static void join_partials(reducing *f, int64_t count) {
  for (uint32_t i = 0; i < width_of(f); i++) {
    nxk_access a = tree_access(f, i);
    f->partials[i].value =
        nxk_tree_join(f->b->to, kind_of(f->b, f->reduction->reduce[i % f->reduction->n]),
                      nxb_int(f->b, count), (uint16_t)a.tree_stride, &a, NULL, false);
  }
}

static void add_trees(reducing *f, int64_t partials) {
  int64_t levels =
      f->b->target->generic ? GENERIC_LEVELS : 64 - __builtin_clzll((uint64_t)partials);
  for (uint32_t i = 0; i < width_of(f); i++) {
    nx_dtype type = type_of(f->b, f->reduction->reduce[i % f->reduction->n]);
    uint16_t lanes =
        f->reduction->vector > 1 ? f->reduction->vector : f->maps[i / f->reduction->n].lanes;
    f->tree[i] = nxb_add_local(f->b, type, levels * lanes);
  }
}

/* True if the body is so long that it is better written once, in a loop over all items of the last
 * block and under a mask, than several times. */
static bool wants_masks(const reducing *f) {
  const nxb_stage *s = f->reduction->stage;
  return nxb_code_cost(f->b, s->first, s->last) > 12 && nxb_masks_well(f->b, s->first, s->last);
}

/* Combines the last `count` items, of which the last may be incomplete, into one partial result. */
static void reduce_masked(reducing *f, int64_t first, int64_t count) {
  nxb_binder *b = f->b;
  uint32_t width = width_of(f);
  set_identities(f, f->partials, nxb_int(b, first));
  nxk_value j = open_carrying(f, f->partials, width, count, 1);
  nxk_value item = nxb_add(b, j, first), points = nxb_int(b, f->reduction->stage->points);
  nxk_value point = point_of(f, item);
  write_point(f, point, item, nxk_active(b->to, point, points, f->reduction->vector), f->partials);
  close_carrying(f, f->partials, width);
}

/* Combines the last `count` items, which are less than a whole block. */
static void reduce_rest(reducing *f, int64_t first, int64_t count) {
  int64_t whole = count - (f->reduction->last != 0);
  if (whole > 0 && f->reduction->last && wants_masks(f)) {
    reduce_masked(f, first, count);
    return;
  }
  if (whole > 0) reduce_chains(f, nxb_int(f->b, first), 1, whole);
  else set_identities(f, f->partials, nxb_int(f->b, first));
  if (f->reduction->last) write_last(f, nxb_int(f->b, first + whole), f->partials);
}

/* The same as reduce_blocks, in a form that does not depend on how many items there are: the last
 * block, be it whole or not, is written apart. */
static void reduce_blocks_generic(reducing *f) {
  const nxb_reduction *reduction = f->reduction;
  int64_t size = reduction->block, blocks = (reduction->items - 1) / size;
  add_trees(f, blocks + 1);
  nxk_value block = nxk_begin_range(f->b->to, NXK_SEQ, blocks);
  reduce_chains(f, nxb_mul(f->b, block, size), 1, size);
  push_partials(f, block);
  nxk_end(f->b->to);
  set_identities(f, f->partials, nxb_int(f->b, blocks * size));
  reduce_to_end(f, blocks * size, reduction->items - blocks * size);
  push_partials(f, nxb_int(f->b, blocks));
  join_partials(f, blocks + 1);
}

static void reduce_blocks(reducing *f) {
  const nxb_reduction *reduction = f->reduction;
  if (f->b->target->generic) {
    reduce_blocks_generic(f);
    return;
  }
  int64_t whole_items = reduction->items - (reduction->last != 0),
          blocks = whole_items / reduction->block;
  int64_t rest = reduction->items - blocks * reduction->block, partials = blocks + (rest > 0);
  if (partials > 1) add_trees(f, partials);
  if (blocks > 0) {
    nxk_value block = nxb_int(f->b, 0);
    if (blocks > 1) block = nxk_begin_range(f->b->to, NXK_SEQ, blocks);
    reduce_chains(f, nxb_mul(f->b, block, reduction->block), 1, reduction->block);
    if (partials > 1) push_partials(f, block);
    if (blocks > 1) nxk_end(f->b->to);
  }
  if (rest > 0) {
    reduce_rest(f, blocks * reduction->block, rest);
    if (partials > 1) push_partials(f, nxb_int(f->b, blocks));
  }
  if (partials > 1) join_partials(f, partials);
}

void nxb_write_reduction(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps,
                         const nxb_reduction *reduction, nxb_partial *out) {
  reducing f = {.b = b, .reduction = reduction, .maps = maps, .n_maps = n_maps};
  uint32_t width = n_maps * reduction->n, most = reduction->chains;
  f.work = nxb_alloc(b, n_maps * sizeof *f.work);
  f.partials = nxb_alloc(b, most * width * sizeof *f.partials);
  f.carries = nxb_alloc(b, 2 * most * width * sizeof *f.carries);
  f.tree = nxb_alloc(b, width * sizeof *f.tree);
  f.item_type = nxb_item_type(reduction->items);
  for (uint32_t w = 0; w < n_maps && !b->failed; w++) nxb_lane_map_copy(b, &f.work[w], &maps[w]);
  if (b->failed || b->to->failed) return;
  bool one = reduction->block == INT64_MAX ||
             (!b->target->generic && reduction->block >= reduction->items);
  if (reduction->exact || one) reduce_all(&f);
  else reduce_blocks(&f);
  memcpy(out, f.partials, width * sizeof *out);
}
