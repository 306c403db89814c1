/* SPDX-License-Identifier: ISC */
/* Unrolls short reductions over joined arrays. If the loop of a run decides which operand an
 * element is loaded from, as in the mean of a stack, each element gets code of its own, with one
 * load and no mask. The elements are combined in the order of the reduction, so no bit changes.
 * Needs: logical level. Keeps: bits. */
#include <assert.h>

#include "copies.h"
#include "passes.h"

/* MOST_ELEMENTS: elements of a run. MOST_CODE: vector operations of all of them together. LANES:
 * those of the lanes order. */
enum { MOST_ELEMENTS = 32, MOST_CODE = 2000, LANES = 16 };

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

static bool fits(const nxb_binder *b, const nxb_stage *s) {
  if (!s->simple || !s->reduces || s->n_loops != 1 || s->points < 2 || s->points > MOST_ELEMENTS ||
      s->loops[0].lower != 0 || s->loops[0].step != 1)
    return false;
  for (uint32_t i = 0; i < s->n_reduces; i++)
    if (!is_plain_reduce(b->from, s->reduce[i])) return false;
  return s->n_reduces > 0 && chooses_operand(b, s) &&
         nxb_code_cost(b, s->first, s->last) * s->points <= MOST_CODE;
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

static void write_out(nxk_copies *w, const nxb_stage *s) {
  const nxk_kernel *from = w->b.from;
  nxk_value *map = w->map[0];
  /* for each reduction of the nest MOST_ELEMENTS values */
  nxk_value *elements = nxb_alloc(&w->b, s->n_reduces * MOST_ELEMENTS * sizeof *elements);
  for (int64_t e = 0; e < s->points && !w->b.failed; e++) {
    uint32_t n = 0;
    map[s->first] = nxk_const_i(w->to, NX_I64, e);
    for (nxk_value v = s->first + 1; v < s->last && !w->to->failed; v++)
      if (from->instrs[v].op == NXK_reduce)
        elements[n++ * MOST_ELEMENTS + e] = map[from->instrs[v].args[0]];
      else nxk_copy_each(w, v, 1);
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
