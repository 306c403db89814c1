/* SPDX-License-Identifier: ISC */
/* Rows of scans that are not whole cache lines. A store of a part of a line reads the line first,
 * and neighbouring blocks of a row share one. So the rows of a group are put together in a LOCAL
 * array: many rows are whole lines where one is not. From there they go past the caches. Only the
 * last group may end within a line; its last elements are stored one after the other.
 *
 * Short rows from memory come through such arrays, too: blocks would read a line of each row in
 * turn, an order that prefetchers of the processor do not follow. */
#include "scan.h"

/* Whether store v goes through an array: rows follow each other in memory, and begin at a line with
 * each group. */
static bool is_staged(const nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s,
                      nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  if (in->op != NXK_store || !r->turned[v] || b->target->generic) return false;
  const nxk_access *a = &b->from->accesses[in->imm];
  const nxk_buffer *to = &b->from->buffers[a->buffer];
  int64_t line = nxk_line_of(b->from, a), bytes = r->side * s->points * nxi_dtype_size(to->dtype);
  bool lines = to->aligned && a->offset % line == 0 && s->points % line != 0 &&
               bytes % NXK_LINE == 0 && bytes <= b->target->l2_bytes / 8;
  for (uint32_t i = 0; i < a->n_terms; i++) {
    nxk_value index = a->terms[i].index;
    int64_t stride = a->terms[i].stride;
    if (index == r->across.value) lines = lines && stride == s->points;
    else if (index != s->loops[0].value)
      lines = lines && b->from->instrs[index].op == NXK_for && stride % line == 0;
  }
  return lines && (a->flags & NXK_NONTEMPORAL);
}

/* Whether load v goes through an array: short rows that follow each other in memory, of several
 * blocks. */
static bool is_fetched(const nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s,
                       nxk_value v) {
  const nxk_instr *in = &b->from->instrs[v];
  bool computed = false, several = s->points >= 4 * r->columns;
  if (in->op != NXK_load || !r->turned[v] || !r->by_rows || !several) return false;
  int64_t apart = nxb_stride(b, &b->from->accesses[in->imm], r->across.value, &computed);
  return !computed && apart == s->points;
}

/* Elements from one row to the next in the array of a load: each begins at a line, so that what was
 * stored as a vector is loaded as the same one. */
static int64_t pitch_of(const nxb_scan_rows *r, const nxb_stage *s) {
  return nxb_ceil(s->points, r->columns) * r->columns;
}

bool nxb_stage_rows(nxb_binder *b, nxb_scan_rows *r, const nxb_stage *s) {
  r->staged = nxb_alloc(b, b->from->n_instrs * sizeof *r->staged);
  for (nxk_value v = s->first; v <= s->last && !b->failed; v++) {
    r->staged[v] = NXK_NONE;
    bool in = is_fetched(b, r, s, v);
    if (!in && !is_staged(b, r, s, v)) continue;
    nx_dtype t = nxk_dtype(b->from, in ? v : b->from->instrs[v].args[0]);
    r->staged[v] = nxb_add_local(b, t, r->side * (in ? pitch_of(r, s) : s->points));
  }
  return !b->failed;
}

/* A map of `lanes` elements of the group's rows from e on, as if they were one row. */
static bool flatten(nxb_binder *b, nxb_lane_map *flat, const nxb_lane_map *map,
                    const nxb_scan_rows *r, const nxb_stage *s, nxk_value first, nxk_value e,
                    int64_t lanes) {
  if (!nxb_lane_map_copy(b, flat, map)) return false;
  flat->lanes = (uint16_t)lanes;
  flat->vector = lanes > 1 ? s->loops[0].value : NXK_NONE;
  nxb_set_index(b, flat, &s->loops[0], e, lanes > 1);
  nxb_set_index(b, flat, &r->across, first, false);
  return true;
}

/* Where element `at` of a row lies in the array of a load. */
static nxk_access fetched(const nxb_scan_rows *r, nxk_value v, nxk_term *terms, uint32_t n,
                          int64_t offset) {
  nxk_access a = nxk_access_at(r->staged[v], offset);
  a.terms = terms;
  a.n_terms = n;
  a.lane_stride = 1;
  return a;
}

/* Copies the elements from `lo` on of a row, as whole vectors or under a mask. */
static void fetch_columns(nxb_binder *b, nxb_lane_map *row, const nxb_scan_rows *r,
                          const nxb_stage *s, nxk_value v, nxk_value number, int64_t lo,
                          int64_t hi) {
  if (lo >= hi) return;
  nxk_value at = nxk_begin_for(b->to, NXK_SEQ, nxk_bound_const(lo), nxk_bound_const(hi), r->side);
  nxb_set_index(b, row, &s->loops[0], at, true);
  if (hi % r->side != 0 && !b->to->failed)
    row->active = nxk_active(b->to, at, nxb_int(b, hi), (uint16_t)r->side);
  row->bound[v] = NXK_NONE;
  nxb_write(b, row, v);
  nxk_term terms[2] = {{at, 1}, {number, pitch_of(r, s)}};
  nxk_access a = fetched(r, v, terms, 2, 0);
  if (!b->to->failed && !b->failed) nxk_store(b->to, &a, nxb_wide(b, row, v));
  nxk_end(b->to);
}

void nxb_fetch_staged(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_rows *r,
                      const nxb_stage *s) {
  int64_t squares = s->points - s->points % r->side;
  for (nxk_value v = s->first; v <= s->last && !b->to->failed && !b->failed; v++) {
    nxb_lane_map row;
    if (r->staged[v] == NXK_NONE || b->from->instrs[v].op != NXK_load) continue;
    nxk_value number = nxk_begin_range(b->to, NXK_SEQ, r->side);
    if (!flatten(b, &row, map, r, s, nxb_op(b, NXK_add, r->first, number), nxb_int(b, 0), r->side))
      return;
    fetch_columns(b, &row, r, s, v, number, 0, squares);
    if (r->masks) fetch_columns(b, &row, r, s, v, number, squares, s->points);
    nxk_end(b->to);
  }
}

nxk_value nxb_fetched_row(nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s, nxk_value v,
                          nxk_value at, int64_t number) {
  nxk_term term = {at, 1};
  nxk_access a = fetched(r, v, &term, 1, number * pitch_of(r, s));
  return b->to->failed ? NXK_NONE : nxk_load(b->to, &a, (uint16_t)r->side);
}

void nxb_stage_row(nxb_binder *b, const nxb_scan_rows *r, const nxb_stage *s, nxk_value v,
                   nxk_value at, int64_t number, nxk_value value, nxk_value active) {
  nxk_access a = nxk_access_at(r->staged[v], number * s->points);
  nxk_term term = {at, 1};
  a.terms = &term;
  a.n_terms = 1;
  a.lane_stride = 1;
  a.mask = active;
  if (!b->to->failed) nxk_store(b->to, &a, value);
}

void nxb_stage_column(nxb_binder *b, nxb_lane_map *map, const nxb_stage *s, const nxb_scan_rows *r,
                      nxk_value v, nxk_value element) {
  nxk_access a = nxk_access_at(r->staged[v], 0);
  nxk_term term = {element, 1};
  nxk_value value = nxb_wide(b, map, b->from->instrs[v].args[0]);
  a.terms = &term;
  a.n_terms = 1;
  a.lane_stride = s->points;
  if (!b->to->failed) nxk_store(b->to, &a, value);
}

/* Copies the elements lo .. hi of the group, `lanes` at a time, to where store v puts them. */
static void copy_staged(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_rows *r,
                        const nxb_stage *s, nxk_value v, nxk_bound_value lo, nxk_bound_value hi,
                        int64_t lanes) {
  nxb_lane_map flat;
  nxk_value e = nxk_begin_for(b->to, NXK_SEQ, lo, hi, lanes);
  if (!flatten(b, &flat, map, r, s, r->group, e, lanes)) return;
  nxk_access a = nxk_access_at(r->staged[v], 0);
  nxk_term terms[2] = {{e, 1}, {nxb_op(b, NXK_sub, r->group, r->first), s->points}};
  a.terms = terms;
  a.n_terms = r->group == r->first ? 1 : 2;
  a.lane_stride = lanes > 1;
  flat.on_line = lanes > 1;
  if (!b->to->failed && !b->failed) {
    nxb_set_value(&flat, b->from->instrs[v].args[0], nxk_load(b->to, &a, (uint16_t)lanes), 0);
    nxb_write(b, &flat, v);
  }
  nxk_end(b->to);
}

void nxb_write_staged(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_rows *r,
                      const nxb_stage *s, nxk_value hi) {
  for (nxk_value v = s->first; v <= s->last && !b->to->failed && !b->failed; v++) {
    if (r->staged[v] == NXK_NONE || b->from->instrs[v].op != NXK_store) continue;
    int64_t line = nxk_line_of(b->from, &b->from->accesses[b->from->instrs[v].imm]);
    if (r->group == r->first) { /* all groups are whole */
      copy_staged(b, map, r, s, v, nxk_bound_const(0), nxk_bound_const(r->side * s->points), line);
      continue;
    }
    nxk_value side = nxb_int(b, r->side);
    nxk_value n = nxb_op(b, NXK_min, nxb_op(b, NXK_sub, hi, r->group), side);
    n = nxb_mul(b, n, s->points);
    nxk_value whole = nxb_op(b, NXK_and, n, nxb_int(b, -line));
    copy_staged(b, map, r, s, v, nxk_bound_const(0), nxb_bound_of(b, whole), line);
    copy_staged(b, map, r, s, v, nxb_bound_of(b, whole), nxb_bound_of(b, n), 1);
  }
}
