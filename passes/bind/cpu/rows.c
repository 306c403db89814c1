/* SPDX-License-Identifier: ISC */
/* Template ROWS of the CPU binder: outer points are computed one after the other, and lanes run
 * along the inner loops of their stages. Used for runs that contain the last axis, and for all else
 * that is contiguous along the inner loops.
 *
 * What is computed of the reduction of each row, as a logistic function of a sum, would be single
 * values. If that is much compared with a row, the results of a block of rows are kept in LOCAL
 * arrays first, and lanes then run along the rows of the block. */
#include "passes/bind/bind.h"

/* ---- map stages */

typedef struct row_map {
  const nxb_stage *stage;
  uint32_t vector; /* number of the loop that becomes lanes */
} row_map;

/* Chooses the vector loop of the stage: the order of its loops with the vector loop last. */
static uint32_t choose_loop(const nxb_binder *b, const nxb_stage *s) {
  uint32_t best = s->n_loops - 1;
  int64_t most = -1;
  for (uint32_t i = s->n_loops; i-- > 0;) {
    int64_t score = 0;
    for (nxk_value v = s->first; v <= s->last; v++) {
      const nxk_instr *in = &b->from->instrs[v];
      bool computed;
      if (in->op != NXK_load && in->op != NXK_store) continue;
      int64_t stride = nxb_stride(b, &b->from->accesses[in->imm], s->loops[i].value, &computed);
      if (!computed && (stride == 1 || stride == -1)) score += in->op == NXK_store ? 3 : 2;
      if (!computed && stride == 0) score += 1;
    }
    if (s->loops[i].extent < 4) score /= 4;
    if (score <= most) continue;
    most = score;
    best = i;
  }
  return best;
}

static void write_element(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, void *user) {
  const row_map *m = user;
  const nxb_stage *s = m->stage;
  (void)n_maps;
  bool last = m->vector + 1 == s->n_loops;
  nxb_write_code(b, maps, last ? s->loops[m->vector].value : s->first, s->last);
}

static void write_map(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s) {
  row_map m = {s, choose_loop(b, s)};
  bool last = m.vector + 1 == s->n_loops;
  const nxb_loop *vector = &s->loops[m.vector];
  uint32_t open = 0;
  for (uint32_t i = 0; i < s->n_loops && !b->to->failed; i++) {
    if (i == m.vector) continue;
    nxb_set_index(b, map, &s->loops[i], nxk_begin_range(b->to, NXK_SEQ, s->loops[i].extent), false);
    open++;
    nxk_value inner = i + 1 < s->n_loops ? s->loops[i + 1].value : s->last;
    if (last) nxb_write_code(b, map, s->loops[i].value + 1, inner - 1);
  }
  int64_t widest = nxb_widest(b, s->first, s->last, vector->value);
  uint16_t lanes = nxb_choose_lanes(b, s->first, s->last, vector->value, 4);
  nxk_value from = nxb_int(b, 0), to = nxb_int(b, vector->extent);
  nxb_dim dim = {*vector, NXB_RANGE, nxb_fit_lanes(b, lanes, widest, vector->extent),
                 from,    to,        false};
  if (!b->to->failed)
    nxb_vector_loops(b, map, 1, &dim, (uint16_t)dim.unit,
                     nxb_choose_tail(b, s->first, s->last, vector->extent, (uint16_t)dim.unit),
                     write_element, &m);
  for (; open > 0; open--) nxk_end(b->to);
}

/* ---- reductions */

/* Lanes for reductions that have the same bits in any order. argmax and argmin reduce the index as
 * i64. A maximum of floats is several instructions, so that four chains of one register hide its
 * latency, and compile in less time than chains of two. */
static uint16_t free_lanes(const nxb_binder *b, const nxb_stage *s) {
  bool one = false;
  for (uint32_t i = 0; i < s->n_reduces; i++)
    one = one || nxb_is_arg(b->from, s->reduce[i]) ||
          nxi_is_float(nxk_dtype(b->from, b->from->instrs[s->reduce[i]].args[0]));
  int64_t lanes = nxb_choose_lanes(b, s->first, s->last, NXK_NONE, one ? 1 : 2);
  if (lanes < 16) lanes = 16;
  while (!b->target->generic && lanes > 16 && lanes / 2 >= s->points) lanes /= 2;
  while (lanes > 8 && s->n_loops > 1 && !nxb_pairs_fill(s, lanes) &&
         s->loops[s->n_loops - 1].extent % lanes != 0)
    lanes /= 2;
  return (uint16_t)lanes;
}

static void set_group_result(nxb_binder *b, nxb_lane_map *map, nxk_value reduce, nxb_partial p,
                             uint16_t lanes) {
  nxk_value index = NXK_NONE;
  if (p.item != NXK_NONE) { /* the number of the element: item * lanes + lane */
    index = nxb_mul(b, nxk_cast_to(b->to, NX_I64, p.item), lanes);
    index = nxb_op(b, NXK_add, index, nxk_step_vector(b->to, nxb_int(b, 0), lanes));
  }
  uint32_t own = b->from->instrs[reduce].kind;
  uint32_t kind = nxk_finds_index(own) ? own : nxk_reduction_of(own)->partial;
  nxb_set_result(b, map, reduce, nxk_lane_reduce(b->to, (nxk_reduce_kind)kind, p.value, index));
}

static void write_group(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        const nxk_value *group, uint32_t n, nxb_order order) {
  uint16_t lanes = order.exact ? free_lanes(b, s) : 16;
  nxb_reduction reduction = {.stage = s,
                             .reduce = group,
                             .n = n,
                             .items = nxb_ceil(s->points, lanes),
                             .block = order.block,
                             .exact = order.exact,
                             .scale = lanes,
                             .shift = NXK_NONE,
                             .vector = lanes,
                             .last = s->points % lanes};
  reduction.chains = nxb_choose_chains(b, s, group, n, lanes, reduction.items);
  nxb_partial *out = nxb_alloc(b, n_maps * n * sizeof *out);
  if (b->failed) return;
  nxb_write_reduction(b, maps, n_maps, &reduction, out);
  for (uint32_t i = 0; i < n_maps * n && !b->to->failed && !b->failed; i++)
    set_group_result(b, &maps[i / n], group[i % n], out[i], lanes);
}

static void write_reductions(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps,
                             const nxb_stage *s) {
  bool *done = nxb_alloc(b, s->n_reduces * sizeof *done), stores = maps[0].stores;
  nxk_value *group = nxb_alloc(b, s->n_reduces * sizeof *group);
  nxb_order order;
  uint32_t n;
  while (!b->failed && (n = nxb_next_group(b, s, done, group, &order)) > 0) {
    if (s->points > 0) write_group(b, maps, n_maps, s, group, n, order);
    for (uint32_t i = 0; s->points == 0 && i < n_maps * n; i++)
      nxb_set_result(b, &maps[i / n], group[i % n], nxb_empty_result(b, group[i % n]));
    for (uint32_t m = 0; m < n_maps; m++) maps[m].stores = false; /* the first group wrote them */
  }
  for (uint32_t m = 0; m < n_maps; m++) maps[m].stores = stores;
}

/* ---- stages */

static bool write_stage(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        void *user) {
  (void)user;
  if (s->reduces) write_reductions(b, maps, n_maps, s);
  else if (s->points > 0) write_map(b, maps, s);
  return true;
}

/* A block of rows whose reductions come first, and then the code behind them in lanes. */
typedef struct row_block {
  const nxb_stage *stage;
  nxb_loop loop; /* over the rows: the last outer one */
  int64_t rows;
  uint16_t lanes;
  bool shifted;    /* the last block ends with the last row, and computes some rows again */
  uint32_t *array; /* LOCAL array of each reduction's results */
} row_block;

/* The code behind the only stage of a region: what it costs, or 0 if lanes cannot run along rows
 * there. */
static uint32_t cost_behind(const nxb_binder *b) {
  const nxb_region *p = b->region;
  if (b->target->generic || p->n_outer == 0 || p->n_stages != 1 || !p->stages[0].reduces) return 0;
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) return 0;
  for (nxk_value v = p->first + 1; v < p->stages[0].last; v++)
    if (b->from->instrs[v].op == NXK_store) return 0;
  return nxb_code_cost(b, p->stages[0].last, p->body_last);
}

/* Rows of a block: enough that the first results are in the cache before they are read as vectors,
 * and few enough that there are blocks for all threads. */
static int64_t rows_of_block(const nxb_binder *b, int64_t rows, int64_t lanes) {
  enum { MOST = 64, ENOUGH = 32 };
  int64_t others = 1, n = lanes > MOST ? lanes : MOST;
  for (uint32_t i = 0; i + 1 < b->region->n_outer; i++) others *= b->region->outer[i].extent;
  while (n > lanes && (n > rows || others * nxb_ceil(rows, n) < ENOUGH)) n /= 2;
  return n;
}

/* Whether rows are computed in blocks: the code behind a row takes about as long as an eighth of
 * the row, or longer. Written for lanes, it must not need a tail. */
static bool wants_blocks(const nxb_binder *b, row_block *r) {
  enum { LONG = 16, PART = 8 };
  const nxb_region *p = b->region;
  uint32_t cost = cost_behind(b);
  if (cost < LONG) return false;
  r->stage = &p->stages[0];
  r->loop = p->outer[p->n_outer - 1];
  const int64_t widest = nxb_widest(b, r->stage->first, r->stage->last, NXK_NONE),
                vectors = nxb_ceil(r->stage->points * widest, b->target->vector_bytes);
  uint32_t each = nxb_code_cost(b, r->stage->first, r->stage->last);
  if (r->loop.extent < 0 || (double)vectors * (each + 1) > (double)cost * PART) return false;
  r->lanes = nxb_choose_lanes(b, r->stage->last, p->body_last, r->loop.value, 2);
  while (r->lanes > r->loop.extent) r->lanes /= 2;
  if (r->lanes * widest < b->target->vector_bytes / 2) return false;
  r->rows = rows_of_block(b, r->loop.extent, r->lanes);
  r->shifted = r->loop.extent % r->rows != 0;
  return !r->shifted || nxb_repeats(b, p->first, p->last);
}

/* The result of a reduction in the rows from `row` on of the open block. */
static nxk_access result_access(const row_block *r, uint32_t i, nxk_term *term, bool vector) {
  nxk_access a = nxk_access_at(r->array[i], 0);
  a.terms = term;
  a.n_terms = 1;
  a.lane_stride = vector;
  return a;
}

static void write_rows(nxb_binder *b, const nxb_lane_map *outside, const row_block *r,
                       nxk_value first) {
  nxb_lane_map map;
  nxk_value row = nxk_begin_range(b->to, NXK_SEQ, r->rows);
  if (!nxb_lane_map_copy(b, &map, outside)) return;
  nxb_set_index(b, &map, &r->loop, nxb_op(b, NXK_add, first, row), false);
  b->rows = 1;
  nxb_write_ready(b, &map);
  nxb_write_body(b, &map, 1, b->region->body_first, r->stage->last, write_stage, NULL);
  b->rows = 0;
  for (uint32_t i = 0; i < r->stage->n_reduces && !b->to->failed && !b->failed; i++) {
    nxk_term term = {row, 1};
    nxk_access a = result_access(r, i, &term, false);
    nxk_store(b->to, &a, nxb_operand(b, &map, r->stage->reduce[i]));
  }
  nxk_end(b->to);
}

static void write_behind(nxb_binder *b, const nxb_lane_map *outside, const row_block *r,
                         nxk_value first) {
  nxb_lane_map map;
  nxk_value row =
      nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(0), nxk_bound_const(r->rows), r->lanes);
  if (!nxb_lane_map_copy(b, &map, outside)) return;
  map.lanes = r->lanes;
  map.vector = r->loop.value;
  map.base_multiple = r->shifted || r->loop.lower != 0 ? 1 : r->lanes * r->loop.step;
  nxb_set_index(b, &map, &r->loop, nxb_op(b, NXK_add, first, row), true);
  nxb_write_ready(b, &map);
  nxb_write_code(b, &map, b->region->body_first, r->stage->first - 1);
  for (uint32_t i = 0; i < r->stage->n_reduces && !b->to->failed && !b->failed; i++) {
    nxk_term term = {row, 1};
    nxk_access a = result_access(r, i, &term, true);
    nxb_set_result(b, &map, r->stage->reduce[i], nxk_load(b->to, &a, r->lanes));
  }
  nxb_write_code(b, &map, r->stage->last + 1, b->region->body_last);
  nxk_end(b->to);
}

static void bind_blocks(nxb_binder *b, row_block *r) {
  nxb_nest nest = {.n = 0};
  nxb_lane_map map;
  const uint32_t last = b->region->n_outer - 1;
  for (uint32_t i = 0; i < last; i++) nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  nest.dims[nest.n++] = nxb_outer_dim(b, last, NXB_BLOCK, r->rows);
  r->array = nxb_alloc(b, r->stage->n_reduces * sizeof *r->array);
  if (b->failed || !nxb_lane_map_init(b, &map)) return;
  for (uint32_t i = 0; i < r->stage->n_reduces; i++)
    r->array[i] = nxb_add_local(b, b->from->instrs[r->stage->reduce[i]].dtype, r->rows);
  nxb_open(b, &nest, &map, nxb_point_cycles(b) * (double)r->rows);
  nxk_value first = nest.dims[last].lo;
  if (r->shifted) first = nxb_op(b, NXK_min, first, nxb_int(b, r->loop.extent - r->rows));
  if (!b->to->failed && !b->failed) {
    write_rows(b, &map, r, first);
    write_behind(b, &map, r, first);
  }
  nxb_close(b, &nest);
}

/* ---- rows that read the same vector */

enum { TOGETHER = 4 };

/* Whether load v of a stage of long rows is of what all rows read, and would leave little else in
 * the first level. */
static bool is_shared(const nxb_binder *b, const nxb_stage *s, nxk_value v, nxk_value row) {
  bool computed, far;
  const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
  return a->index == NXK_NONE && nxb_stride(b, a, row, &far) == 0 && !far &&
         nxb_stride(b, a, s->loops[0].value, &computed) == 1 && !computed &&
         s->points * (int64_t)nxi_dtype_size(b->from->instrs[v].dtype) >= b->target->l1_bytes / 4;
}

/* Whether a few rows are computed together: sums of long rows from memory that share an operand, as
 * a matrix times a vector has. The operand is then read once for all of them, and each row is a
 * stream, of which the next rows are fetched into the second level. */
static bool go_together(const nxb_binder *b) {
  enum { SHORT = 8, LEAST_ROWS = 4 * TOGETHER };
  const nxb_region *p = b->region;
  if (b->target->generic || p->n_outer == 0 || p->n_stages != 1) return false;
  const nxb_stage *s = &p->stages[0];
  const nxb_loop *row = &p->outer[p->n_outer - 1];
  if (!s->reduces || s->n_loops != 1 || row->extent < LEAST_ROWS ||
      nxb_code_cost(b, s->first, s->last) > SHORT || !nxb_reads_pass_cache(b, s))
    return false;
  for (uint32_t i = 0; i < s->n_reduces; i++)
    if (nxb_exact(b->from, s->reduce[i])) return false;
  for (uint32_t i = 0; i < b->from->n_buffers; i++)
    if (b->from->buffers[i].kind == NXK_LOCAL) return false;
  bool shared = false;
  for (nxk_value v = s->first; v < s->last; v++) {
    if (b->from->instrs[v].op == NXK_store) return false;
    if (b->from->instrs[v].op == NXK_load) shared = shared || is_shared(b, s, v, row->value);
  }
  return shared && (row->extent % TOGETHER == 0 || nxb_repeats(b, p->first, p->last));
}

static void bind_together(nxb_binder *b) {
  nxb_nest nest = {.n = 0};
  nxb_lane_map outside, maps[TOGETHER];
  const uint32_t last = b->region->n_outer - 1;
  const nxb_loop *row = &b->region->outer[last];
  for (uint32_t i = 0; i < last; i++) nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  nest.dims[nest.n++] = nxb_outer_dim(b, last, NXB_BLOCK, TOGETHER);
  if (!nxb_lane_map_init(b, &outside)) return;
  nxb_open(b, &nest, &outside, nxb_point_cycles(b) * TOGETHER);
  nxk_value first = nest.dims[last].lo;
  if (row->extent % TOGETHER != 0)
    first = nxb_op(b, NXK_min, first, nxb_int(b, row->extent - TOGETHER));
  b->rows = TOGETHER;
  for (uint32_t r = 0; r < TOGETHER && !b->failed && !b->to->failed; r++) {
    if (!nxb_lane_map_copy(b, &maps[r], &outside)) return;
    nxb_set_index(b, &maps[r], row, nxb_add(b, first, r), false);
    nxb_write_ready(b, &maps[r]);
  }
  if (!b->to->failed && !b->failed)
    nxb_write_body(b, maps, TOGETHER, b->region->body_first, b->region->body_last, write_stage,
                   NULL);
  b->rows = 0;
  nxb_close(b, &nest);
}

/* ---- the template */

void nxb_bind_rows(nxb_binder *b) {
  nxb_nest nest = {.n = 0};
  nxb_lane_map map;
  row_block block = {0};
  if (wants_blocks(b, &block)) {
    bind_blocks(b, &block);
    return;
  }
  if (go_together(b)) {
    bind_together(b);
    return;
  }
  for (uint32_t i = 0; i < b->region->n_outer; i++)
    nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  if (!nxb_lane_map_init(b, &map)) return;
  nxb_add_locals(b, 1);
  nxb_open(b, &nest, &map, nxb_point_cycles(b));
  b->rows = 1;
  nxb_write_ready(b, &map);
  if (!b->to->failed && !b->failed)
    nxb_write_body(b, &map, 1, b->region->body_first, b->region->body_last, write_stage, NULL);
  b->rows = 0;
  nxb_close(b, &nest);
}
