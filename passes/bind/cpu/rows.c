/* SPDX-License-Identifier: ISC */
/* Template ROWS of the CPU binder: outer points are computed one after the other, and lanes run
 * along the inner loops of their stages. Used for runs that contain the last axis, and for all else
 * that is contiguous along the inner loops. */
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

static void write_group(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s,
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
  nxb_partial *out = nxb_alloc(b, n * sizeof *out);
  if (b->failed) return;
  nxb_write_reduction(b, map, 1, &reduction, out);
  for (uint32_t i = 0; i < n && !b->to->failed && !b->failed; i++) {
    nxk_value index = NXK_NONE;
    if (out[i].item != NXK_NONE) { /* the number of the element: item * lanes + lane */
      index = nxb_mul(b, nxk_cast_to(b->to, NX_I64, out[i].item), lanes);
      index = nxb_op(b, NXK_add, index, nxk_step_vector(b->to, nxb_int(b, 0), lanes));
    }
    uint32_t own = b->from->instrs[group[i]].kind;
    uint32_t kind = nxk_finds_index(own) ? own : nxk_reduction_of(own)->partial;
    nxb_set_result(b, map, group[i],
                   nxk_lane_reduce(b->to, (nxk_reduce_kind)kind, out[i].value, index));
  }
}

static void write_reductions(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s) {
  bool *done = nxb_alloc(b, s->n_reduces * sizeof *done), stores = map->stores;
  nxk_value *group = nxb_alloc(b, s->n_reduces * sizeof *group);
  nxb_order order;
  uint32_t n;
  while (!b->failed && (n = nxb_next_group(b, s, done, group, &order)) > 0) {
    if (s->points > 0) write_group(b, map, s, group, n, order);
    for (uint32_t i = 0; s->points == 0 && i < n; i++)
      nxb_set_result(b, map, group[i], nxb_empty_result(b, group[i]));
    map->stores = false; /* the first group wrote them */
  }
  map->stores = stores;
}

/* ---- the template */

static bool write_stage(nxb_binder *b, nxb_lane_map *maps, uint32_t n_maps, const nxb_stage *s,
                        void *user) {
  (void)user;
  (void)n_maps;
  if (s->reduces) write_reductions(b, maps, s);
  else if (s->points > 0) write_map(b, maps, s);
  return true;
}

void nxb_bind_rows(nxb_binder *b) {
  nxb_nest nest = {.n = 0};
  nxb_lane_map map;
  for (uint32_t i = 0; i < b->region->n_outer; i++)
    nest.dims[nest.n++] = nxb_outer_dim(b, i, NXB_POINT, 1);
  if (!nxb_lane_map_init(b, &map)) return;
  nxb_add_locals(b, 1);
  nxb_open(b, &nest, &map, nxb_point_cycles(b));
  b->rows = true;
  nxb_write_ready(b, &map);
  if (!b->to->failed && !b->failed)
    nxb_write_body(b, &map, 1, b->region->body_first, b->region->body_last, write_stage, NULL);
  b->rows = false;
  nxb_close(b, &nest);
}
