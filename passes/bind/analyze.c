/* SPDX-License-Identifier: ISC */
/* Analysis of a logical kernel before binding: the shape of each region, which value depends on
 * which loop, and rough costs. Costs only choose between ways of binding that are all correct. */
#include "bind.h"

#include <string.h>

void *nxb_alloc(nxb_binder *b, size_t bytes) {
  void *p = b->failed ? NULL : nxi_arena_alloc(&b->arena, bytes ? bytes : 1);
  if (!p) b->failed = true;
  return p;
}

/* ---- the kernel as a whole */

static bool match_blocks(nxb_binder *b) {
  const nxk_kernel *k = b->from;
  nxk_value *open = nxb_alloc(b, k->n_instrs * sizeof *open);
  uint32_t depth = 0;
  for (nxk_value v = 0; !b->failed && v < k->n_instrs; v++) {
    nxk_op op = (nxk_op)k->instrs[v].op;
    b->end_of[v] = NXK_NONE;
    if (op == NXK_region || op == NXK_for || op == NXK_cold) open[depth++] = v;
    else if (op == NXK_end && depth > 0) b->end_of[open[--depth]] = v;
  }
  return !b->failed;
}

static const nxk_loop *loop_of(const nxk_kernel *k, nxk_value v) {
  return v != NXK_NONE && k->instrs[v].op == NXK_for ? &k->loops[k->instrs[v].imm] : NULL;
}

/* A bit for each loop of a region; loops past the 62nd share one. */
static void number_loops(nxb_binder *b) {
  uint32_t n = 0;
  for (nxk_value v = 0; v < b->from->n_instrs; v++) {
    if (b->from->instrs[v].op == NXK_region) n = 0;
    if (b->from->instrs[v].op != NXK_for) continue;
    b->loop_bit[v] = UINT64_C(1) << n;
    if (n < 62) n++;
  }
}

static uint64_t bits_of(const nxb_binder *b, nxk_value v) {
  return v == NXK_NONE ? 0 : b->depends[v];
}

/* The loops of one kind that hold v. */
static uint64_t loops_around(const nxb_binder *b, nxk_value v, nxk_loop_kind kind) {
  uint64_t bits = 0;
  for (nxk_value block = b->from->instrs[v].block; block != NXK_NONE;
       block = b->from->instrs[block].block) {
    const nxk_loop *loop = loop_of(b->from, block);
    if (loop && loop->kind == kind) bits |= b->loop_bit[block];
  }
  return bits;
}

/* The points of the outer loops that hold v; a loop whose end is unknown counts once. */
static double points_around(const nxk_kernel *k, nxk_value v) {
  double points = 1;
  for (nxk_value block = k->instrs[v].block; block != NXK_NONE; block = k->instrs[block].block) {
    const nxk_loop *loop = loop_of(k, block);
    if (!loop || loop->kind != NXK_OUTER || loop->upper.value != NXK_NONE) continue;
    int64_t extent = (loop->upper.constant - loop->lower.constant) / loop->step; /* NOLINT: > 0 */
    if (loop->lower.value == NXK_NONE && extent > 1) points *= (double)extent;
  }
  return points;
}

static void find_most_points(nxb_binder *b) {
  for (nxk_value v = 0; v < b->from->n_instrs; v++) {
    double points = b->from->instrs[v].op == NXK_store ? points_around(b->from, v) : 0;
    if (points > b->most_points) b->most_points = points;
  }
}

static uint64_t access_bits(const nxb_binder *b, nxk_value v, const nxk_access *a) {
  uint64_t bits = bits_of(b, a->index) | bits_of(b, a->mask) | bits_of(b, a->other);
  for (uint32_t i = 0; i < a->n_terms; i++) bits |= bits_of(b, a->terms[i].index);
  if (b->from->buffers[a->buffer].kind == NXK_LOCAL) bits |= loops_around(b, v, NXK_OUTER);
  return bits;
}

/* What is known of a carry already stays. */
static void find_dependences(nxb_binder *b) {
  for (nxk_value v = 0; v < b->from->n_instrs; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    uint64_t bits = b->loop_bit[v] | (in->op == NXK_carry ? b->depends[v] : 0);
    for (int i = 0; i < in->n_args; i++) bits |= bits_of(b, in->args[i]);
    if (in->op == NXK_load || in->op == NXK_store)
      bits |= access_bits(b, v, &b->from->accesses[in->imm]);
    if (in->op == NXK_reduce) bits &= ~loops_around(b, v, NXK_REDUCE);
    if (in->op == NXK_scan) bits |= loops_around(b, v, NXK_MAP);
    b->depends[v] = bits;
  }
}

/* What a loop carries depends on what its next values do, which stand after their users. */
static bool carry_dependences(nxb_binder *b) {
  bool changed = false;
  for (nxk_value v = 0; v < b->from->n_instrs; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op != NXK_next) continue;
    uint64_t all = b->depends[in->args[0]] | b->depends[in->args[1]];
    changed = changed || all != b->depends[in->args[0]];
    b->depends[in->args[0]] = all;
  }
  return changed;
}

bool nxb_analyze_kernel(nxb_binder *b) {
  size_t n = b->from->n_instrs;
  b->end_of = nxb_alloc(b, n * sizeof *b->end_of);
  b->depends = nxb_alloc(b, n * sizeof *b->depends);
  b->loop_bit = nxb_alloc(b, n * sizeof *b->loop_bit);
  b->top = nxb_alloc(b, n * sizeof *b->top);
  b->local = nxb_alloc(b, b->from->n_buffers * sizeof *b->local);
  if (b->failed || !match_blocks(b)) return false;
  memset(b->top, 0xff, n * sizeof *b->top);
  number_loops(b);
  do find_dependences(b);
  while (carry_dependences(b));
  find_most_points(b);
  return true;
}

/* ---- regions */

static nxb_loop describe_loop(const nxk_kernel *k, nxk_value v) {
  const nxk_loop *loop = loop_of(k, v);
  nxb_loop out = {v, loop->lower.constant, loop->step, -1, loop->upper.value};
  if (loop->lower.value == NXK_NONE && loop->upper.value == NXK_NONE) {
    int64_t distance = loop->upper.constant - loop->lower.constant;
    out.extent = distance > 0 ? nxb_ceil(distance, loop->step) : 0;
  }
  return out;
}

/* The instruction after v in its own block. */
static nxk_value after(const nxb_binder *b, nxk_value v) {
  return (b->end_of[v] == NXK_NONE ? v : b->end_of[v]) + 1;
}

static bool has_simple_bounds(const nxb_binder *b, const nxb_loop *loop) {
  return loop->extent >= 0 && loop_of(b->from, loop->value)->lower.value == NXK_NONE;
}

static void collect_reduces(nxb_binder *b, nxb_stage *s) {
  for (nxk_value v = s->first; v <= s->last; v++)
    s->n_reduces += b->from->instrs[v].op == NXK_reduce;
  s->reduce = nxb_alloc(b, s->n_reduces * sizeof *s->reduce);
  if (b->failed) return;
  uint32_t n = 0;
  for (nxk_value v = s->first; v <= s->last; v++)
    if (b->from->instrs[v].op == NXK_reduce) s->reduce[n++] = v;
}

void nxb_analyze_stage(nxb_binder *b, nxk_value first, nxb_stage *s) {
  const nxk_kernel *k = b->from;
  memset(s, 0, sizeof *s);
  s->first = first;
  s->last = b->end_of[first];
  s->reduces = loop_of(k, first)->kind == NXK_REDUCE;
  s->simple = true;
  s->points = 1;
  nxk_loop_kind kind = loop_of(k, first)->kind;
  for (nxk_value v = first; v < s->last; v++) {
    const nxk_loop *loop = loop_of(k, v);
    if (!loop) continue;
    nxb_loop described = describe_loop(k, v);
    bool nested = s->n_loops == 0 || k->instrs[v].block == s->loops[s->n_loops - 1].value;
    if (!nested || loop->kind != kind || s->n_loops == NXB_MAX_NEST ||
        !has_simple_bounds(b, &described)) {
      s->simple = false;
      break;
    }
    s->loops[s->n_loops++] = described;
    if (described.extent != 0 && s->points > INT64_MAX / described.extent) s->simple = false;
    else s->points *= described.extent;
  }
  collect_reduces(b, s);
}

/* Finds the only outer loop of a block, NXK_NONE if there is none. False if there are several, or
 * if other code stands beside it. */
static bool only_outer(const nxb_binder *b, nxk_value first, nxk_value end, nxk_value *outer) {
  bool others = false;
  *outer = NXK_NONE;
  for (nxk_value v = first; v < end; v = after(b, v)) {
    const nxk_loop *loop = loop_of(b->from, v);
    if (loop && loop->kind == NXK_OUTER) {
      if (*outer != NXK_NONE) return false;
      *outer = v;
    } else if (loop || b->from->instrs[v].op == NXK_store) {
      others = true;
    }
  }
  return *outer == NXK_NONE || !others;
}

static void analyze_outer(nxb_binder *b, nxb_region *p) {
  nxk_value first = p->first + 1, end = p->last, outer;
  p->regular = true;
  while (p->regular) {
    if (!only_outer(b, first, end, &outer)) p->regular = false;
    if (!p->regular || outer == NXK_NONE) break;
    nxb_loop loop = describe_loop(b->from, outer);
    bool whole = loop.extent >= 0 || loop_of(b->from, outer)->lower.value == NXK_NONE;
    if (p->n_outer == NXB_MAX_DIMS / 2 || !whole) {
      p->regular = false;
      break;
    }
    p->outer[p->n_outer++] = loop;
    first = outer + 1;
    end = b->end_of[outer];
  }
  p->body_first = first;
  p->body_last = end - 1;
}

/* The steps of a point are code, not a stage. */
static bool is_stage(const nxb_binder *b, nxk_value v) {
  const nxk_loop *loop = loop_of(b->from, v);
  return loop && loop->kind != NXK_SEQ;
}

static void analyze_stages(nxb_binder *b, nxb_region *p) {
  uint32_t n = 0;
  for (nxk_value v = p->body_first; v <= p->body_last; v = after(b, v)) n += is_stage(b, v);
  p->stages = nxb_alloc(b, n * sizeof *p->stages);
  if (b->failed) return;
  for (nxk_value v = p->body_first; v <= p->body_last; v = after(b, v)) {
    if (!is_stage(b, v)) continue;
    nxb_analyze_stage(b, v, &p->stages[p->n_stages]);
    if (!p->stages[p->n_stages++].simple) p->regular = false;
  }
}

bool nxb_has_steps(const nxb_binder *b) {
  for (nxk_value v = b->region->first; v < b->region->last; v++) {
    const nxk_loop *loop = loop_of(b->from, v);
    if (loop && loop->kind == NXK_SEQ) return true;
  }
  return false;
}

bool nxb_analyze_region(nxb_binder *b, nxk_value region, nxb_region *p) {
  memset(p, 0, sizeof *p);
  p->first = region;
  p->last = b->end_of[region];
  analyze_outer(b, p);
  if (p->regular) analyze_stages(b, p);
  for (uint32_t i = 0; i < p->n_outer; i++)
    if (p->outer[i].extent < 0 &&
        (p->n_outer > 1 || p->n_stages > 0 || p->outer[i].lower != 0 || p->outer[i].step != 1))
      p->regular = false;
  return !b->failed;
}

/* ---- accesses */

bool nxb_in_pairs(const nxb_stage *s) {
  if (s->n_loops < 2) return false;
  const nxb_loop *pair = &s->loops[s->n_loops - 1], *around = pair - 1;
  return pair->lower == 0 && pair->step == 1 && pair->extent == 2 && around->lower == 0 &&
         around->step == 1 && around->extent > 0;
}

bool nxb_pairs_fill(const nxb_stage *s, int64_t lanes) {
  return nxb_in_pairs(s) &&
         (s->n_loops == 2 || s->loops[s->n_loops - 2].extent * 2 % lanes == 0 /* NOLINT: > 0 */);
}

int64_t nxb_stride(const nxb_binder *b, const nxk_access *a, nxk_value loop, bool *computed) {
  int64_t stride = 0;
  *computed = nxb_depends(b, a->index, loop);
  for (uint32_t i = 0; i < a->n_terms; i++) {
    if (a->terms[i].index == loop) stride += a->terms[i].stride * loop_of(b->from, loop)->step;
    else if (nxb_depends(b, a->terms[i].index, loop)) *computed = true;
  }
  return stride;
}

bool nxb_exact(const nxk_kernel *k, nxk_value reduce) {
  const nxk_instr *in = &k->instrs[reduce];
  return nxk_any_order(in->kind, (nx_dtype)k->instrs[in->args[0]].dtype);
}

/* ---- costs */

static uint32_t reduce_cost(const nxk_kernel *k, const nxk_instr *in) {
  const nxk_reduction *row = nxk_reduction_of(in->kind);
  return nxi_is_float(k->instrs[in->args[0]].dtype) ? row->cost_of_floats : row->cost;
}

uint32_t nxb_code_cost(const nxb_binder *b, nxk_value first, nxk_value last) {
  uint32_t cost = 0;
  for (nxk_value v = first; v <= last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op < NXK_SCALAR_COUNT) cost += nxk_scalars[in->op].cost;
    else if (in->op == NXK_load || in->op == NXK_store) cost++;
    else if (in->op == NXK_reduce) cost += reduce_cost(b->from, in);
  }
  return cost;
}

bool nxb_reads_pass_cache(const nxb_binder *b, const nxb_stage *stage) {
  const nxk_kernel *k = b->from;
  int64_t bytes = 0;
  for (nxk_value v = stage->first; v <= stage->last; v++) {
    if (k->instrs[v].op != NXK_load) continue;
    const nxk_buffer *from = &k->buffers[k->accesses[k->instrs[v].imm].buffer];
    bytes += from->elements * (int64_t)nxi_dtype_size(from->dtype);
  }
  return bytes >= b->target->l3_bytes / 4 * 3;
}

/* State of a walk over the body of a region: how many times an instruction runs for one outer
 * point. */
typedef struct cost_walk {
  const nxb_binder *b;
  nxk_value v;
  double trips;
  const nxb_stage *stage; /* the stage that holds v, or NULL */
} cost_walk;

/* How many steps of its point v is run in; of an unknown number as many as loops often have. */
static double steps_around(const nxb_binder *b, nxk_value v) {
  enum { OFTEN = 100 };
  double steps = 1;
  for (nxk_value block = b->from->instrs[v].block; block != NXK_NONE;
       block = b->from->instrs[block].block) {
    const nxk_loop *loop = loop_of(b->from, block);
    if (!loop || loop->kind != NXK_SEQ) continue;
    nxb_loop described = describe_loop(b->from, block);
    steps *= described.extent < 0 ? OFTEN : (double)described.extent;
  }
  return steps;
}

static bool next_instr(cost_walk *w) {
  const nxb_region *p = w->b->region;
  w->v = w->v == NXK_NONE ? p->body_first : w->v + 1;
  if (w->v > p->body_last) return false;
  w->stage = NULL;
  w->trips = steps_around(w->b, w->v);
  for (uint32_t i = 0; i < p->n_stages; i++)
    if (w->v >= p->stages[i].first && w->v <= p->stages[i].last) w->stage = &p->stages[i];
  for (uint32_t i = 0; w->stage && i < w->stage->n_loops; i++) {
    nxk_value loop = w->stage->loops[i].value;
    if (w->v > loop && w->v < w->b->end_of[loop]) w->trips *= (double)w->stage->loops[i].extent;
  }
  return true;
}

double nxb_point_cycles(const nxb_binder *b) {
  const nxk_kernel *k = b->from;
  cost_walk w = {b, NXK_NONE, 1, NULL};
  double cycles = 1;
  while (next_instr(&w)) {
    const nxk_instr *in = &k->instrs[w.v];
    if (in->op < NXK_SCALAR_COUNT) {
      cycles += w.trips * nxk_scalars[in->op].cost * (double)nxi_dtype_size(in->dtype) /
                (double)b->target->vector_bytes * 0.5;
    } else if (in->op == NXK_load || in->op == NXK_store) {
      const nxk_buffer *buffer = &k->buffers[k->accesses[in->imm].buffer];
      if (buffer->kind != NXK_LOCAL) cycles += w.trips * (double)nxi_dtype_size(buffer->dtype) / 3;
    }
  }
  return cycles;
}

/* pair: a loop of two points inside `loop` that lanes run along too, or NXK_NONE. */
static double access_cycles(const nxb_binder *b, nxk_value v, nxk_value loop, nxk_value pair) {
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  const nxk_buffer *buffer = &b->from->buffers[a->buffer];
  double size = (double)nxi_dtype_size(buffer->dtype),
         contiguous = size / (double)b->target->vector_bytes;
  bool computed, outer = loop_of(b->from, loop)->kind == NXK_OUTER;
  int64_t stride = nxb_stride(b, a, loop, &computed);
  if (buffer->kind == NXK_LOCAL && outer) return contiguous;
  if (computed) return 2;
  bool far;
  if (pair != NXK_NONE && stride == 2 && nxb_stride(b, a, pair, &far) == 1) return contiguous;
  if (stride == 0) return nxb_depends(b, v, loop) ? 1 : contiguous;
  int64_t distance = stride < 0 ? -stride : stride;
  if (distance == 1) return contiguous;
  double apart = b->tiny || (double)distance * size >= 64 ? 3 : 1;
  return b->from->instrs[v].op == NXK_store ? 1.5 * apart : apart;
}

/* The share of lanes that are active when n elements are computed `lanes` at a time. */
static double use_of_lanes(int64_t n, int64_t lanes) {
  return n <= 0 ? 1 : (double)n / ((double)nxb_ceil(n, lanes) * (double)lanes);
}

static double stage_overhead(const nxb_binder *b, const nxb_stage *s, bool rows) {
  double cycles = 0;
  for (uint32_t i = 0; i < s->n_reduces; i++) {
    nxb_order order = nxb_order_of(b->from, s->reduce[i]);
    double size =
        (double)nxi_dtype_size(b->from->instrs[b->from->instrs[s->reduce[i]].args[0]].dtype);
    if (rows && order.lanes != 16 && !order.exact) return 1e30;
    if (rows) cycles += 20;
    else if (order.lanes == 16 && !order.exact)
      cycles += 24 * size / (double)b->target->vector_bytes;
  }
  bool straddles = rows && s->n_loops > 1 && s->reduces &&
                   s->loops[s->n_loops - 1].extent % 16 != 0 && !nxb_pairs_fill(s, 16);
  return cycles + (straddles ? 3.0 * (double)s->points : 0);
}

/* The loops of a stage that lanes run along, and their extent. */
typedef struct lane_run {
  /* along: NXK_NONE: none; pair: a loop of two points inside it, or NXK_NONE */
  nxk_value along, pair;
  int64_t extent;
} lane_run;

static lane_run run_of_row(const nxb_stage *s) {
  if (s == NULL) return (lane_run){NXK_NONE, NXK_NONE, 0};
  const nxb_loop *last = &s->loops[s->n_loops - 1];
  if (!s->reduces || !nxb_pairs_fill(s, 16)) return (lane_run){last->value, NXK_NONE, last->extent};
  return (lane_run){last[-1].value, last->value, 2 * last[-1].extent};
}

double nxb_lane_cycles(const nxb_binder *b, nxk_value loop) {
  cost_walk w = {b, NXK_NONE, 1, NULL};
  bool rows = loop == NXK_NONE;
  double cycles = 0;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    cycles += stage_overhead(b, &b->region->stages[i], rows);
  int64_t extent = 0;
  for (uint32_t i = 0; i < b->region->n_outer; i++)
    if (b->region->outer[i].value == loop) extent = b->region->outer[i].extent;
  while (next_instr(&w)) {
    const nxk_instr *in = &b->from->instrs[w.v];
    lane_run run = rows ? run_of_row(w.stage) : (lane_run){loop, NXK_NONE, extent};
    bool memory = in->op == NXK_load || in->op == NXK_store;
    if (!memory && in->op >= NXK_SCALAR_COUNT) continue;
    double one = 1, size = memory ? 4 : (double)nxi_dtype_size(in->dtype);
    if (run.along == NXK_NONE) { /* row code: one value at a time */
      cycles += memory ? 1 : nxk_scalars[in->op].cost;
      continue;
    }
    int64_t lanes =
        rows && w.stage->reduces ? 16 : nxb_ceil(b->target->vector_bytes, (int64_t)size);
    if (memory) one = access_cycles(b, w.v, run.along, run.pair);
    else one = nxk_scalars[in->op].cost * size / (double)b->target->vector_bytes;
    cycles += w.trips * one / (b->tiny ? 1 : use_of_lanes(run.extent, lanes));
  }
  return cycles;
}
