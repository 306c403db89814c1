/* SPDX-License-Identifier: ISC */
/* The CPU binder: from what a kernel computes to how a processor does it. Every region of a logical
 * kernel gets the template that suits its shape. In the result, tasks, lanes, masks, the order of
 * additions, partial sums and tails are explicit, and a code generator has nothing left to decide.
 *
 * Requires: a verified logical kernel without functions (ir/expand/expand.c).
 * Every choice follows from the kernel and the target's registers and caches, never from the thread
 * count. */
#include "passes/bind/bind.h"

#include <string.h>

#include "passes/kernel/passes.h"

/* ---- the choice of a template */

/* True if a load is contiguous along the loop. */
static bool is_contiguous(const nxb_binder *b, nxk_value loop) {
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load || b->from->buffers[b->from->accesses[in->imm].buffer].kind == NXK_LOCAL)
      continue;
    int64_t stride = nxb_stride(b, &b->from->accesses[in->imm], loop, &computed);
    if (!computed && (stride == 1 || stride == -1)) return true;
  }
  return false;
}

/* Whether the rows of a run lie so close together that a vector of columns, with all rows of it,
 * leaves the rest of what was fetched for the next vector. */
static bool has_near_rows(const nxb_binder *b, const nxb_stage *s) {
  enum { NEAR = 1024 }; /* bytes from row to row */
  for (nxk_value v = s->first; v < s->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    bool computed;
    if (in->op != NXK_load) continue;
    const nxk_access *a = &b->from->accesses[in->imm];
    int64_t stride = nxb_stride(b, a, s->loops[s->n_loops - 1].value, &computed);
    if (computed || stride < 0 || stride * (int64_t)nxi_dtype_size(in->dtype) > NEAR) return false;
  }
  return true;
}

/* Whether all that a stage reads from memory is rows that follow each other: POINTS, unless one
 * vector has all columns, would read them once for each vector. */
static bool reads_in_order(const nxb_binder *b, const nxb_loop *loop, int64_t widest) {
  uint16_t lanes = nxb_choose_lanes(b, b->region->first, b->region->last, loop->value, 4);
  if (nxb_fit_lanes(b, lanes, widest, loop->extent) == loop->extent) return false;
  for (uint32_t i = 0; i < b->region->n_stages; i++)
    if (nxb_strip_in_order(b, &b->region->stages[i], loop)) return true;
  return false;
}

/* Whether STRIPS is better than POINTS for lanes along this loop: it is for long runs of rows,
 * while the values of short runs fit in registers. Several partial results, as of the taps of a
 * window, would have to be loaded and stored for each few rows. */
static bool wants_strips(const nxb_binder *b, const nxb_loop *loop) {
  enum { SEVERAL = 3, SHORT = 256 };
  int64_t rows = 0, widest = nxb_widest(b, b->region->first, b->region->last, loop->value);
  for (uint32_t i = 0; i < b->region->n_stages; i++) {
    const nxb_stage *s = &b->region->stages[i];
    if (s->points > rows) rows = s->points;
    if (s->n_reduces >= SEVERAL && s->points <= SHORT && has_near_rows(b, s)) return false;
    for (uint32_t j = 0; j < s->n_reduces; j++) {
      nxb_order order = nxb_order_of(b->from, s->reduce[j]);
      if (b->from->instrs[s->reduce[j]].kind == NXK_DOT && !order.exact) return false;
    }
  }
  int64_t vector = b->target->vector_bytes / widest, few = reads_in_order(b, loop, widest) ? 2 : 8;
  if ((rows <= 4 && !b->target->any_extent) || loop->extent < few * vector ||
      !is_contiguous(b, loop->value))
    return false;
  return b->region->n_stages == 1 || rows * vector * widest > b->target->l1_bytes / 4;
}

/* True if a store of the region writes the same element at all points of the loop. */
static bool stores_one(const nxb_binder *b, nxk_value loop) {
  for (nxk_value v = b->region->first; v <= b->region->last; v++) {
    bool computed;
    if (b->from->instrs[v].op != NXK_store) continue;
    const nxk_access *a = &b->from->accesses[b->from->instrs[v].imm];
    if (b->from->buffers[a->buffer].kind == NXK_LOCAL) continue;
    if (nxb_stride(b, a, loop, &computed) == 0 && !computed) return true;
  }
  return false;
}

static void bind_stages(nxb_binder *b) {
  const nxb_region *p = b->region;
  const nxb_loop *best = NULL;
  double rows = nxb_lane_cycles(b, NXK_NONE), least = 1e29;
  for (uint32_t i = p->n_outer; i-- > 0;) {
    if (p->outer[i].extent < 2 || stores_one(b, p->outer[i].value)) continue;
    double cycles = nxb_lane_cycles(b, p->outer[i].value);
    if (cycles >= least) continue;
    least = cycles;
    best = &p->outer[i];
  }
  if (rows <= least && rows < 1e29) nxb_bind_rows(b);
  else if (!best) nxb_bind_points(b, NXK_NONE);
  else if (wants_strips(b, best)) nxb_bind_strips(b, best->value);
  else nxb_bind_points(b, best->value);
}

static void bind_region(nxb_binder *b) {
  const nxb_region *region = b->region;
  if (!region->regular) nxb_bind_literal(b);
  else if (nxb_scans(b, region->first, region->last)) nxb_bind_scans(b);
  else if (region->n_stages == 0) nxb_bind_map(b);
  else bind_stages(b);
}

nxk_kernel *nxk_pass_bind_cpu(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  return nxb_bind_kernel(k, t, 0, bind_region, d);
}
