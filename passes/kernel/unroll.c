/* SPDX-License-Identifier: ISC */
/* Unrolls short reductions. If the loop of a run decides which operand an element is loaded from,
 * as in the mean of a stack, each element gets code of its own, with one load and no mask. If a run
 * has several loops, as a window has, no element needs a division to find its place, the conditions
 * of a border become ones of the outer loops, at which later passes cut them, and neighbouring
 * windows share what they load. The elements are combined in the order of the reduction, so no bit
 * changes.
 * Needs: logical level. Keeps: bits. */
#include <assert.h>

#include "copies.h"
#include "passes.h"

/* MOST_ELEMENTS: elements of a run. MOST_CODE: vector operations of all of them together. LANES:
 * those of the lanes order. CLOSE: elements between neighbours that vectors load well. */
enum { MOST_ELEMENTS = 32, MOST_CODE = 2000, LANES = 16, CLOSE = 4 };

/* ---- what is written out */

static bool is_plain_reduce(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v];
  bool order = in->order == NXK_ORDER_LANES || in->order == NXK_ORDER_PLAIN ||
               in->order == NXK_ORDER_SEQUENTIAL;
  return order && nxk_is_chain(in->kind);
}

static bool chooses_operand(const nxb_binder *b, const nxb_stage *s) {
  for (nxk_value v = s->first; v < s->last; v++) {
    const nxk_instr *in = &b->from->instrs[v];
    if (in->op == NXK_load && nxb_depends(b, b->from->accesses[in->imm].mask, s->first))
      return true;
  }
  return false;
}

/* Whether all that a run reads lies close together at neighbouring points of this outer loop. */
static bool reads_along(const nxb_binder *b, const nxb_stage *s, nxk_value outer) {
  const nxk_kernel *k = b->from;
  bool any = false, computed;
  for (nxk_value v = s->first; v < s->last; v++) {
    if (k->instrs[v].op != NXK_load) continue;
    const nxk_access *a = &k->accesses[k->instrs[v].imm];
    int64_t stride = nxb_stride(b, a, outer, &computed);
    if (computed || a->index != NXK_NONE || stride < 0 || stride > CLOSE) return false;
    any = any || stride > 0;
  }
  return any;
}

/* Whether a run has several loops, and vectors can run along a loop outside of it. */
static bool is_window(const nxb_binder *b, const nxb_stage *s) {
  const nxk_kernel *k = b->from;
  for (nxk_value v = s->first; v-- > 0 && s->n_loops > 1;) {
    const nxk_instr *in = &k->instrs[v];
    if (in->op == NXK_for && k->loops[in->imm].kind == NXK_OUTER && b->end_of[v] > s->last &&
        reads_along(b, s, v))
      return true;
  }
  return false;
}

static bool fits(const nxb_binder *b, const nxb_stage *s) {
  if (!s->simple || !s->reduces || s->points < 2 || s->points > MOST_ELEMENTS) return false;
  for (uint32_t i = 0; i < s->n_loops; i++)
    if (s->loops[i].lower != 0 || s->loops[i].step != 1) return false;
  for (uint32_t i = 0; i < s->n_reduces; i++)
    if (!is_plain_reduce(b->from, s->reduce[i])) return false;
  bool pays = s->n_loops == 1 ? chooses_operand(b, s) : is_window(b, s);
  return s->n_reduces > 0 && pays && nxb_code_cost(b, s->first, s->last) * s->points <= MOST_CODE;
}

/* ---- the order of the elements */

static nxk_value combined(nxk_copies *w, nxk_value reduce, nxk_value x, nxk_value y) {
  return nxk_scalar(w->to, nxk_reduce_op(w->b.from->instrs[reduce].kind), 0, x, y, NXK_NONE);
}

/* Combines the elements first, first + step, ... below n sequentially. */
static nxk_value chain(nxk_copies *w, nxk_value reduce, const nxk_value *x, int64_t first,
                       int64_t n, int64_t step) {
  nxk_value value = x[first];
  for (int64_t i = first + step; i < n; i += step) value = combined(w, reduce, value, x[i]);
  return value;
}

static nxk_value lane_order(nxk_copies *w, nxk_value reduce, const nxk_value *x, int64_t n) {
  nxk_value lane[LANES] = {0};
  int64_t lanes = n < LANES ? n : LANES;
  for (int64_t i = 0; i < lanes; i++) lane[i] = chain(w, reduce, x, i, n, LANES);
  for (int64_t half = LANES / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half && i + half < lanes; i++)
      lane[i] = combined(w, reduce, lane[i], lane[i + half]);
  return lane[0];
}

/* Combines blocks of 16 elements. There are at most two blocks, so their tree is a single
 * combination. */
static nxk_value plain_order(nxk_copies *w, nxk_value reduce, const nxk_value *x, int64_t n) {
  nxk_value first = chain(w, reduce, x, 0, n < LANES ? n : LANES, 1);
  static_assert(MOST_ELEMENTS == 2 * LANES, "there are two blocks at most");
  return n <= LANES ? first : combined(w, reduce, first, chain(w, reduce, x, LANES, n, 1));
}

static nxk_value in_order(nxk_copies *w, nxk_value reduce, const nxk_value *x, int64_t n) {
  switch (w->b.from->instrs[reduce].order) {
    case NXK_ORDER_LANES: return lane_order(w, reduce, x, n);
    case NXK_ORDER_PLAIN: return plain_order(w, reduce, x, n);
    default: return chain(w, reduce, x, 0, n, 1);
  }
}

/* ---- writing */

/* Makes the indices of all loops those of element e. */
static void set_point(nxk_copies *w, const nxb_stage *s, int64_t e) {
  for (uint32_t i = s->n_loops; i-- > 0; e /= s->loops[i].extent)
    w->map[0][s->loops[i].value] = nxk_const_i(w->to, NX_I64, e % s->loops[i].extent);
}

static void write_out(nxk_copies *w, const nxb_stage *s) {
  const nxk_kernel *from = w->b.from;
  nxk_value *map = w->map[0];
  /* for each reduction of the nest MOST_ELEMENTS values */
  nxk_value *elements = nxb_alloc(&w->b, s->n_reduces * MOST_ELEMENTS * sizeof *elements);
  for (int64_t e = 0; e < s->points && !w->b.failed; e++) {
    uint32_t n = 0;
    set_point(w, s, e);
    for (nxk_value v = s->first + 1; v < s->last && !w->to->failed; v++) {
      nxk_op op = (nxk_op)from->instrs[v].op;
      if (op == NXK_reduce) elements[n++ * MOST_ELEMENTS + e] = map[from->instrs[v].args[0]];
      else if (op != NXK_for && op != NXK_end) nxk_copy_each(w, v, 1);
    }
  }
  for (uint32_t i = 0; i < s->n_reduces && !w->b.failed && !w->to->failed; i++)
    map[s->reduce[i]] = in_order(w, s->reduce[i], elements + i * MOST_ELEMENTS, s->points);
}

static nxk_value unroll_run(nxk_copies *w, nxk_value v) {
  nxb_stage s;
  if (!nxk_begins_run(w->b.from, v)) return v;
  nxb_analyze_stage(&w->b, v, &s);
  if (w->b.failed || !fits(&w->b, &s)) return v;
  write_out(w, &s);
  return s.last;
}

nxk_kernel *nxk_pass_unroll(const nxk_kernel *k, nxi_diag *d) {
  return nxk_write_copies(k, NULL, 1, unroll_run, d);
}

bool nxk_has_windows(const nxk_kernel *k) {
  bool nest = false;
  for (nxk_value v = 0; v < k->n_instrs && !nest; v++) {
    const nxk_instr *in = &k->instrs[v];
    nest = in->op == NXK_for && k->loops[in->imm].kind == NXK_REDUCE && !nxk_begins_run(k, v);
  }
  return nest;
}
