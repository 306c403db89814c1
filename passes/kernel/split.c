/* SPDX-License-Identifier: ISC */
/* Splits a reduction that has too few outer points to give all threads work. The run of elements
 * is cut into chunks, each of which is a whole subtree of the order of additions, so no bit
 * changes. A first kernel reduces each chunk to a partial result, and a second kernel reduces
 * the partial results.
 *
 * A float reduction in 16 lanes has 16 partial results for each chunk: lane l is a run of its
 * own, of the elements l, l + 16, ... in blocks of 16, so its partial result is a reduction in
 * plain order. The second kernel combines the chunks of each lane and then the lanes. All other
 * reductions have one partial result for each chunk. For argmax and argmin it is the best value
 * and its index: the second kernel finds the chunk with the best value and reads the index
 * there.
 *
 * Stores of every element of the run (the exp of a softmax, beside its sum) go to the first
 * kernel.
 *
 * Requires: a simplified logical kernel of one region with one reduce stage over one loop. On
 * processors that loop may contain a loop of two iterations over neighbouring elements (the
 * halves of a byte of i4), which is kept. */
#include <string.h>

#include "passes/bind/bind.h"
#include "passes.h"

enum { LEAST_ELEMENTS = 1 << 17, LEAST_RUN = 1 << 11, LEAST_BESIDE = 4 };

/* On a GPU: the number of thread blocks that keeps 132 multiprocessors busy, the most that a GPU
 * has today, and the elements that are enough work for one block. */
enum { GPU_BLOCKS = 4 * 132, GPU_CHUNK = 4096 };

typedef struct splitter {
  nxb_binder b; /* used for the analysis of the kernel */
  nxb_region region;
  const nxb_stage *stage;
  bool lanes;            /* a chunk has 16 partial results, one for each lane */
  bool beside;           /* neighbouring partial results are of neighbouring outer points */
  bool pair;             /* an iteration of the run's first loop is two elements */
  bool even;             /* all chunks are written as one region, under a mask */
  int64_t points;        /* outer points */
  int64_t chunk, chunks; /* elements of a chunk; how many, the last may be shorter */
  int n_partials;
  nx_dtype types[NXK_MAX_PARTIALS];
  nxk_value reduce[NXK_MAX_PARTIALS]; /* the reduction that the partial result belongs to */
  bool is_index[NXK_MAX_PARTIALS];    /* whether it is the index of an argmax or argmin */
} splitter;

/* ---- whether a kernel is split, and how */

static bool has_locals(const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_buffers; i++)
    if (k->buffers[i].kind == NXK_LOCAL) return true;
  return false;
}

static bool is_plain_loop(const nxb_loop *loop) {
  return loop->lower == 0 && loop->step == 1 && loop->extent > 0;
}

/* One loop; on processors also one that contains a loop of two iterations. */
static bool fits_loops(splitter *s, const nxi_target *t) {
  if (!is_plain_loop(&s->stage->loops[0])) return false;
  s->pair = nxb_in_pairs(s->stage) && t->block_threads == 0;
  return s->stage->n_loops == (s->pair ? 2 : 1);
}

/* Whether the kernel has the form that the head of this file requires. */
static bool fits(splitter *s, const nxi_target *t) {
  nxb_binder *b = &s->b;
  nxk_value region = NXK_NONE;
  if (b->from->n_regions != 1 || has_locals(b->from) || !nxb_analyze_kernel(b)) return false;
  for (nxk_value v = 0; v < b->from->n_instrs && region == NXK_NONE; v++)
    if (b->from->instrs[v].op == NXK_region) region = v;
  if (region == NXK_NONE || !nxb_analyze_region(b, region, &s->region)) return false;
  b->region = &s->region;
  s->stage = s->region.stages;
  bool good = s->region.regular && s->region.n_stages == 1 && s->stage->reduces && fits_loops(s, t);
  s->points = 1;
  for (uint32_t i = 0; good && i < s->region.n_outer; i++) {
    good = is_plain_loop(&s->region.outer[i]) &&
           s->region.outer[i].extent <= NXK_SPLIT_STRIPS * NXK_SPLIT_COLUMNS / s->points;
    if (good) s->points *= s->region.outer[i].extent;
  }
  return good;
}

static bool add_partial(splitter *s, nxk_value reduce, nx_dtype type, bool index) {
  if (s->n_partials == NXK_MAX_PARTIALS) return false;
  s->types[s->n_partials] = type;
  s->reduce[s->n_partials] = reduce;
  s->is_index[s->n_partials++] = index;
  return true;
}

/* Lists the partial results of all reductions. Returns false if the reductions have orders that
 * cannot be split together. */
static bool plan_partials(splitter *s) {
  const nxk_kernel *k = s->b.from;
  bool plain = false, arg = false;
  for (uint32_t i = 0; i < s->stage->n_reduces; i++) {
    nxk_value reduce = s->stage->reduce[i];
    nxb_order order = nxb_order_of(k, reduce);
    nx_dtype type = nxk_dtype(k, k->instrs[reduce].args[0]);
    if (k->instrs[reduce].kind == NXK_DOT || (!order.exact && order.block != 16)) return false;
    if (!order.exact) *(order.lanes == 16 ? &s->lanes : &plain) = true;
    if (!add_partial(s, reduce, type, false)) return false;
    if (!nxb_is_arg(k, reduce)) continue;
    arg = true;
    if (!add_partial(s, reduce, NX_I64, true)) return false;
  }
  return s->n_partials > 0 && !(s->lanes && (plain || arg));
}

/* Whether an input is contiguous along an outer loop of at least so many points, which then are
 * reduced side by side; on a GPU also what is stored of all elements. */
static bool side_by_side(const splitter *s, int64_t least) {
  const bool stores = s->b.target->block_threads > 0;
  for (nxk_value v = s->stage->first; v <= s->stage->last; v++) {
    const nxk_instr *in = &s->b.from->instrs[v];
    if (in->op != NXK_load && (in->op != NXK_store || !stores)) continue;
    for (uint32_t i = 0; i < s->region.n_outer; i++) {
      bool computed;
      int64_t stride =
          nxb_stride(&s->b, &s->b.from->accesses[in->imm], s->region.outer[i].value, &computed);
      if (!computed && (stride == 1 || stride == -1) && s->region.outer[i].extent >= least)
        return true;
    }
  }
  return false;
}

/* Independent units of work before splitting: `columns` points that are reduced side by side are
 * one, otherwise each point is. */
static int64_t units_of(const splitter *s, int64_t least, int64_t columns) {
  return side_by_side(s, least) ? nxb_ceil(s->points, columns) : s->points;
}

/* The last chunk is code of its own if it is shorter, and compiling is proportional to code. So
 * chunks are smaller if the run then has whole ones alone. Otherwise a long body is written once:
 * the elements that the last chunk lacks are masked, and there are few of them, since chunks are
 * small. */
static void even_out(splitter *s) {
  enum { LONG = 100, FEW = 32, SMALLEST = 4096, WHOLE = 1 << 14, PARTS = 8 };
  const int64_t run = s->stage->points;
  int64_t whole = s->chunk;
  while (run % whole != 0 && whole > WHOLE && whole * PARTS > s->chunk) whole /= 2;
  if (run % whole == 0) s->chunk = whole;
  s->even = s->lanes && !s->pair && run % s->chunk != 0 &&
            nxb_code_cost(&s->b, s->stage->first, s->stage->last) >= LONG &&
            nxb_masks_well(&s->b, s->stage->first, s->stage->last);
  while (s->even && s->chunk > SMALLEST && (nxb_ceil(run, s->chunk) * s->chunk - run) * FEW > run)
    s->chunk /= 2;
}

static bool worth_it(splitter *s, const nxi_target *t) {
  int64_t run = s->stage->points,
          widest = nxb_widest(&s->b, s->stage->first, s->stage->last, NXK_NONE);
  if (run < LEAST_RUN || s->points > INT64_MAX / run || run * s->points < LEAST_ELEMENTS)
    return false;
  if (t->block_threads > 0) {
    int64_t blocks = units_of(s, 2, NXK_GPU_COLUMNS);
    if (blocks >= NXK_GPU_STRIPS) return false;
    s->chunk = GPU_CHUNK * blocks / s->points;
    while (s->chunk & (s->chunk - 1)) s->chunk &= s->chunk - 1; /* a power of two */
    if (s->chunk < 256) s->chunk = 256;
    while (nxb_ceil(run, s->chunk) * blocks > 2 * GPU_BLOCKS) s->chunk *= 2;
    s->chunks = nxb_ceil(run, s->chunk);
    s->beside = !s->lanes;
    return s->chunks > 1;
  }
  if (units_of(s, LEAST_BESIDE, NXK_SPLIT_COLUMNS) >= NXK_SPLIT_STRIPS) return false;
  s->beside = !s->lanes || side_by_side(s, LEAST_BESIDE);
  int64_t wanted = t->l2_bytes / 4 / (widest * s->points);
  s->chunk = 256;
  while (s->chunk * 2 <= wanted) s->chunk *= 2;
  even_out(s);
  s->chunks = nxb_ceil(run, s->chunk);
  return s->chunks > 1;
}

/* ---- writing */

typedef struct writer {
  const splitter *s;
  nxk_kernel *k;
  nxk_value *map;
  nxk_value chunk; /* its number: a loop, or a constant for the last one */
  nxk_value lane;  /* a loop over the 16 lanes, or over 8 pairs of lanes; NXK_NONE: no lanes */
  nxk_value pair;  /* the loop of two points, if the run has one; else NXK_NONE */
  int64_t valid; /* elements of the chunk, if not all of those written exist; else 0. If all chunks
                    * are one region: of the run */
} writer;

static nxk_value integer(writer *w, int64_t x) { return nxk_const_i(w->k, NX_I64, x); }
static nxk_value binary(writer *w, nxk_op op, nxk_value a, nxk_value b) {
  return nxk_scalar(w->k, op, 0, a, b, NXK_NONE);
}
static nxk_value scaled(writer *w, nxk_value a, int64_t x) {
  return binary(w, NXK_mul, a, integer(w, x));
}

static bool start_kernel(writer *w, const char *suffix, bool is_first) {
  const nxk_kernel *from = w->s->b.from;
  char name[sizeof from->name];
  size_t length = strlen(from->name), room = sizeof name - 1 - strlen(suffix);
  if (length > room) length = room;
  memcpy(name, from->name, length);
  strcpy(name + length, suffix);
  w->k = nxk_create(NXK_LOGICAL, name);
  w->map = nxi_malloc((from->n_instrs + 1) * sizeof *w->map);
  if (!w->k || !w->map) return false;
  memset(w->map, 0xff, (from->n_instrs + 1) * sizeof *w->map);
  for (uint32_t i = 0; i < from->n_buffers; i++) {
    uint32_t number = nxk_add_buffer(w->k, is_first ? NXK_IN : from->buffers[i].kind,
                                     from->buffers[i].dtype, from->buffers[i].elements);
    if (number == NXK_NONE) return false;
    nxk_buffer_kind kind = w->k->buffers[number].kind;
    w->k->buffers[number] = from->buffers[i];
    w->k->buffers[number].kind = kind;
  }
  for (nxk_value v = w->s->stage->first; v <= w->s->stage->last; v++)
    if (from->instrs[v].op == NXK_store)
      w->k->buffers[from->accesses[from->instrs[v].imm].buffer].kind = is_first ? NXK_OUT : NXK_IN;
  int64_t elements = w->s->points * w->s->chunks * (w->s->lanes ? 16 : 1);
  for (int i = 0; i < w->s->n_partials; i++) {
    uint32_t number = nxk_add_buffer(w->k, is_first ? NXK_OUT : NXK_IN, w->s->types[i], elements);
    if (number == NXK_NONE) return false;
    w->k->buffers[number].aligned = w->k->buffers[number].restricted = true;
  }
  for (uint32_t i = 0; i < from->n_params; i++) nxk_add_param(w->k, from->param_types[i]);
  return !w->k->failed;
}

/* Elements from one partial result of a point to the next: of the next lane if there are lanes,
 * else of the next chunk. */
static int64_t partial_stride(const splitter *s) { return s->beside ? s->points : 1; }

/* The access to partial result `number` of a point. Neighbouring elements are neighbouring outer
 * points if those are reduced side by side, else the 16 lanes. terms: room for one for each outer
 * loop. */
static nxk_access partial_access(const writer *w, int number, nxk_term *terms) {
  const splitter *s = w->s;
  nxk_access a = nxk_access_at(s->b.from->n_buffers + (uint32_t)number, 0);
  int64_t stride = s->beside ? 1 : s->chunks * 16;
  a.terms = terms;
  for (uint32_t i = s->region.n_outer; i-- > 0;) {
    terms[a.n_terms++] = (nxk_term){w->map[s->region.outer[i].value], stride};
    stride *= s->region.outer[i].extent;
  }
  return a;
}

/* The iterations of the run's first loop that cover this number of elements. */
static int64_t iterations(const writer *w, int64_t elements) {
  return w->s->pair ? elements / 2 : elements;
}

/* The iteration of the original loop for index `i` of the loop over a chunk: chunk * size + i,
 * or with lanes chunk * size + i * 16 + lane. */
static nxk_value run_index(writer *w, nxk_value i) {
  nxk_value at = scaled(w, w->chunk, iterations(w, w->s->chunk));
  if (w->lane != NXK_NONE)
    return binary(w, NXK_add, at, binary(w, NXK_add, scaled(w, i, iterations(w, 16)), w->lane));
  return binary(w, NXK_add, at, i);
}

/* Whether element `i` of the current lane is inside a chunk of `elements`. */
static nxk_value exists(writer *w, nxk_value i, int64_t elements) {
  nxk_value lane = w->lane;
  if (w->pair != NXK_NONE) lane = binary(w, NXK_add, scaled(w, lane, 2), w->pair);
  nxk_value element = binary(w, NXK_add, scaled(w, i, 16), lane);
  if (w->s->even) element = binary(w, NXK_add, scaled(w, w->chunk, w->s->chunk), element);
  return binary(w, NXK_lt, element, integer(w, elements));
}

/* A load or a store of the stage. */
static void write_access(writer *w, nxk_value v, nxk_value i, nxk_value valid) {
  const nxk_kernel *from = w->s->b.from;
  const nxk_access *a = &from->accesses[from->instrs[v].imm];
  nxk_term *terms = nxi_malloc((a->n_terms * 3 + 1) * sizeof *terms);
  nxk_access out = *a;
  if (!terms) {
    w->k->failed = true;
    return;
  }
  out.terms = terms;
  out.n_terms = 0;
  for (uint32_t t = 0; t < a->n_terms; t++) {
    int64_t stride = a->terms[t].stride;
    if (a->terms[t].index != w->s->stage->loops[0].value) {
      terms[out.n_terms++] = (nxk_term){w->map[a->terms[t].index], stride};
      continue;
    }
    if (w->k->instrs[w->chunk].op == NXK_const)
      out.offset += stride * iterations(w, w->s->chunk) * (int64_t)w->k->instrs[w->chunk].imm;
    else terms[out.n_terms++] = (nxk_term){w->chunk, stride * iterations(w, w->s->chunk)};
    terms[out.n_terms++] = (nxk_term){i, w->lane == NXK_NONE ? stride : stride * iterations(w, 16)};
    if (w->lane != NXK_NONE) terms[out.n_terms++] = (nxk_term){w->lane, stride};
  }
  if (a->index != NXK_NONE) out.index = w->map[a->index];
  if (a->mask != NXK_NONE) out.mask = w->map[a->mask];
  if (a->other != NXK_NONE) out.other = w->map[a->other];
  if (valid != NXK_NONE)
    out.mask = out.mask == NXK_NONE ? valid : binary(w, NXK_and, out.mask, valid);
  if (from->instrs[v].op == NXK_load) w->map[v] = nxk_load(w->k, &out, 1);
  else nxk_store(w->k, &out, w->map[from->instrs[v].args[0]]);
  nxi_free(terms);
}

/* One reduction of the chunk: its value, and for argmax and argmin (`index`) where it is. */
static nxk_value write_reduce(writer *w, nxk_value v, bool index, nxk_value valid) {
  const nxk_kernel *from = w->s->b.from;
  const nxk_instr *in = &from->instrs[v];
  nxk_value x = w->map[in->args[0]];
  nxk_reduce_kind kind =
      index ? (nxk_reduce_kind)in->kind : (nxk_reduce_kind)nxk_reduction_of(in->kind)->partial;
  nx_dtype type = nxk_dtype(from, in->args[0]);
  if (valid != NXK_NONE)
    x = nxk_scalar(w->k, NXK_select, 0, valid, x,
                   nxk_const(w->k, type, nxk_reduce_identity(kind, type)));
  return nxk_reduce(w->k, kind, w->lane == NXK_NONE ? (nxk_order)in->order : NXK_ORDER_PLAIN, x,
                    NXK_NONE);
}

/* Copies the code of [first, last] that is no loop or reduction, with its stores or without; in the
 * stage memory is accessed at element `i` of the chunk. */
static void copy_code(writer *w, nxk_value first, nxk_value last, nxk_value i, nxk_value valid,
                      bool stores) {
  const nxk_kernel *from = w->s->b.from;
  for (nxk_value v = first; v <= last && !w->k->failed; v++) {
    nxk_op op = (nxk_op)from->instrs[v].op;
    bool cold_end = op == NXK_end && from->instrs[from->instrs[v].block].op == NXK_cold;
    if (op == NXK_for || op == NXK_region || (op == NXK_end && !cold_end) || op == NXK_reduce ||
        (op == NXK_store && !stores))
      continue;
    if ((op == NXK_load || op == NXK_store) && i != NXK_NONE) write_access(w, v, i, valid);
    else nxk_copy_instr(w->k, from, v, w->map);
  }
}

/* The outer loops and the code before the stage. */
static void open_outer(writer *w, bool stores) {
  const nxb_region *p = &w->s->region;
  for (uint32_t i = 0; i <= p->n_outer; i++) {
    nxk_value first = i == 0 ? p->first + 1 : p->outer[i - 1].value + 1;
    nxk_value end = i < p->n_outer ? p->outer[i].value : w->s->stage->first;
    copy_code(w, first, end - 1, NXK_NONE, NXK_NONE, stores);
    if (i < p->n_outer)
      w->map[p->outer[i].value] = nxk_begin_range(w->k, NXK_OUTER, p->outer[i].extent);
  }
}

static void copy_top(writer *w) {
  for (nxk_value v = 0; v < w->s->region.first && !w->k->failed; v++)
    nxk_copy_instr(w->k, w->s->b.from, v, w->map);
}

/* Opens the loops of the lanes and of the run for `elements` of a chunk; returns the index of the
 * latter's first. */
static nxk_value open_run(writer *w, int64_t elements) {
  const splitter *s = w->s;
  int64_t items = s->lanes ? nxb_ceil(elements, 16) : iterations(w, elements);
  w->lane = s->lanes ? nxk_begin_range(w->k, NXK_OUTER, iterations(w, 16)) : NXK_NONE;
  w->pair = s->lanes && s->pair ? nxk_begin_range(w->k, NXK_OUTER, 2) : NXK_NONE;
  nxk_value i = nxk_begin_range(w->k, NXK_REDUCE, items);
  if (s->pair && !s->lanes) w->pair = nxk_begin_range(w->k, NXK_REDUCE, 2);
  if (w->k->failed) return i;
  w->map[s->stage->loops[0].value] = run_index(w, i);
  if (s->pair) w->map[s->stage->loops[1].value] = w->pair;
  return i;
}

static void store_partial(writer *w, int number, nxk_value result) {
  const splitter *s = w->s;
  nxk_term terms[NXB_MAX_DIMS + 3];
  nxk_access a = partial_access(w, number, terms);
  int64_t next = partial_stride(s);
  terms[a.n_terms++] = (nxk_term){w->chunk, s->lanes ? 16 * next : next};
  if (s->lanes) terms[a.n_terms++] = (nxk_term){w->lane, s->pair ? 2 * next : next};
  if (s->lanes && s->pair) terms[a.n_terms++] = (nxk_term){w->pair, next};
  if (s->is_index[number]) result = binary(w, NXK_add, result, scaled(w, w->chunk, s->chunk));
  nxk_store(w->k, &a, result);
}

/* A region for `count` chunks from number `start` on, of `elements` each. */
static void write_chunks(writer *w, int64_t start, int64_t count, int64_t elements) {
  const splitter *s = w->s;
  nxk_value results[NXK_MAX_PARTIALS] = {0};
  w->valid = s->even ? s->stage->points : s->lanes && elements % 16 != 0 ? elements : 0;
  nxk_begin_region(w->k);
  w->chunk = count > 1 ? nxk_begin_range(w->k, NXK_OUTER, count) : integer(w, start);
  open_outer(w, false);
  nxk_value i = open_run(w, elements), valid = NXK_NONE;
  if (w->k->failed) return;
  if (w->valid) valid = exists(w, i, w->valid);
  copy_code(w, s->stage->first, s->stage->last, i, valid, true);
  for (int n = 0; n < s->n_partials && !w->k->failed; n++)
    results[n] = write_reduce(w, s->reduce[n], s->is_index[n], valid);
  for (int n = s->pair && !s->lanes; n >= 0; n--) nxk_end(w->k);
  for (int n = 0; n < s->n_partials && !w->k->failed; n++) store_partial(w, n, results[n]);
  uint32_t lanes = s->lanes ? 1u + s->pair : 0;
  for (uint32_t n = s->region.n_outer + lanes + (count > 1) + 1; n > 0; n--) nxk_end(w->k);
}

static void write_first(writer *w) {
  int64_t run = w->s->stage->points, whole = run / w->s->chunk, rest = run % w->s->chunk;
  copy_top(w);
  write_chunks(w, 0, w->s->even ? w->s->chunks : whole, w->s->chunk);
  if (rest && !w->s->even) write_chunks(w, whole, 1, rest);
}

static void write_second(writer *w) {
  const splitter *s = w->s;
  nxk_term terms[NXB_MAX_DIMS + 2];
  copy_top(w);
  nxk_begin_region(w->k);
  open_outer(w, true);
  nxk_value j = nxk_begin_range(w->k, NXK_REDUCE, s->lanes ? 16 * s->chunks : s->chunks);
  for (int n = 0; n < s->n_partials && !w->k->failed; n++) {
    if (s->is_index[n]) continue;
    nxk_access a = partial_access(w, n, terms);
    terms[a.n_terms++] = (nxk_term){j, partial_stride(s)};
    nxk_reduce_kind kind = (nxk_reduce_kind)s->b.from->instrs[s->reduce[n]].kind;
    w->map[s->reduce[n]] = nxk_reduce(w->k, kind, s->lanes ? NXK_ORDER_JOIN_LANES : NXK_ORDER_JOIN,
                                      nxk_load(w->k, &a, 1), NXK_NONE);
  }
  nxk_end(w->k);
  for (int n = 0; n < s->n_partials && !w->k->failed; n++) {
    if (!s->is_index[n]) continue;
    nxk_access a = partial_access(w, n, terms); /* the winning chunk's index */
    a.index = scaled(w, w->map[s->reduce[n]], s->points);
    w->map[s->reduce[n]] = nxk_load(w->k, &a, 1);
  }
  copy_code(w, s->stage->last + 1, s->region.body_last, NXK_NONE, NXK_NONE, true);
  for (uint32_t n = 0; n <= s->region.n_outer; n++) nxk_end(w->k);
}

static nxk_kernel *write_half(const splitter *s, bool is_first) {
  writer w = {.s = s, .lane = NXK_NONE};
  bool ok = start_kernel(&w, is_first ? "_a" : "_b", is_first);
  if (ok && is_first) write_first(&w);
  else if (ok) write_second(&w);
  nxi_free(w.map);
  if (ok && !w.k->failed) return w.k;
  nxk_destroy(w.k);
  return NULL;
}

bool nxk_split_reduction(const nxk_kernel *k, const nxi_target *t, nxk_kernel **first,
                         nxk_kernel **second, int64_t *partial_elements, nx_dtype *partial_types,
                         int *n_partials, nxi_diag *d) {
  splitter s = {.b = {.from = k, .target = t}};
  bool split = fits(&s, t) && plan_partials(&s) && worth_it(&s, t);
  bool failed = s.b.failed;
  if (split) {
    nxk_kernel *a = write_half(&s, true), *b = write_half(&s, false);
    failed = !a || !b;
    if (failed) {
      nxk_destroy(a);
      nxk_destroy(b);
    } else {
      *first = a;
      *second = b;
      *n_partials = s.n_partials;
      *partial_elements = s.points * s.chunks * (s.lanes ? 16 : 1);
      memcpy(partial_types, s.types, sizeof s.types);
    }
  }
  nxi_arena_destroy(&s.b.arena);
  if (failed) nxi_oom(d);
  return split && !failed;
}
