/* SPDX-License-Identifier: ISC */
/* Rows of scans that are not whole cache lines. A store of a part of a line reads the line first,
 * and neighbouring blocks of a row share one. So the rows of a group are put together in a LOCAL
 * array: many rows are whole lines where one is not. From there they go past the caches. Only the
 * last group may end within a line; its last elements are stored one after the other. */
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

bool nxb_stage_rows(nxb_binder *b, nxb_scan_rows *r, const nxb_stage *s) {
  r->staged = nxb_alloc(b, b->from->n_instrs * sizeof *r->staged);
  for (nxk_value v = s->first; v <= s->last && !b->failed; v++) {
    r->staged[v] = NXK_NONE;
    if (!is_staged(b, r, s, v)) continue;
    nx_dtype t = nxk_dtype(b->from, b->from->instrs[v].args[0]);
    r->staged[v] = nxb_add_local(b, t, r->side * s->points);
  }
  return !b->failed;
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
  if (!nxb_lane_map_copy(b, &flat, map)) return;
  nxk_value e = nxk_begin_for(b->to, NXK_SEQ, lo, hi, lanes);
  nxk_access a = nxk_access_at(r->staged[v], 0);
  nxk_term terms[2] = {{e, 1}, {nxb_op(b, NXK_sub, r->group, r->first), s->points}};
  a.terms = terms;
  a.n_terms = r->group == r->first ? 1 : 2;
  a.lane_stride = lanes > 1;
  flat.lanes = (uint16_t)lanes;
  flat.vector = lanes > 1 ? s->loops[0].value : NXK_NONE;
  flat.on_line = lanes > 1;
  nxb_set_index(b, &flat, &s->loops[0], e, lanes > 1);
  nxb_set_index(b, &flat, &r->across, r->group, false);
  if (!b->to->failed && !b->failed) {
    nxb_set_value(&flat, b->from->instrs[v].args[0], nxk_load(b->to, &a, (uint16_t)lanes), 0);
    nxb_write(b, &flat, v);
  }
  nxk_end(b->to);
}

void nxb_write_staged(nxb_binder *b, const nxb_lane_map *map, const nxb_scan_rows *r,
                      const nxb_stage *s, nxk_value hi) {
  for (nxk_value v = s->first; v <= s->last && !b->to->failed && !b->failed; v++) {
    if (r->staged[v] == NXK_NONE) continue;
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
