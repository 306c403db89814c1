/* SPDX-License-Identifier: ISC */
/* Unrolls short reductions over joined arrays. If the loop of a run decides which operand an
 * element is loaded from, as in the mean of a stack, each element gets code of its own, with one
 * load and no mask. The elements are combined in the order of the reduction, so no bit changes.
 * Needs: logical level. Keeps: bits. */
#include <assert.h>
#include <string.h>

#include "passes/bind/bind.h"
#include "passes.h"

/* MOST_ELEMENTS: elements of a run. MOST_CODE: vector operations of all of them together. LANES:
 * those of the lanes order. */
enum { MOST_ELEMENTS = 32, MOST_CODE = 2000, LANES = 16 };

typedef struct unroller {
  nxb_binder b;
  nxk_kernel *to;
  nxk_value *map;
  nxk_value *elements; /* for each reduction of the nest MOST_ELEMENTS values */
} unroller;

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

static nxk_value combined(unroller *u, nxk_value reduce, nxk_value x, nxk_value y) {
  return nxk_scalar(u->to, nxk_reduce_op(u->b.from->instrs[reduce].kind), 0, x, y, NXK_NONE);
}

/* Combines the elements first, first + step, ... below n sequentially. */
static nxk_value chain(unroller *u, nxk_value reduce, const nxk_value *x, int64_t first, int64_t n,
                       int64_t step) {
  nxk_value value = x[first];
  for (int64_t i = first + step; i < n; i += step) value = combined(u, reduce, value, x[i]);
  return value;
}

static nxk_value lane_order(unroller *u, nxk_value reduce, const nxk_value *x, int64_t n) {
  nxk_value lane[LANES] = {0};
  int64_t lanes = n < LANES ? n : LANES;
  for (int64_t i = 0; i < lanes; i++) lane[i] = chain(u, reduce, x, i, n, LANES);
  for (int64_t half = LANES / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half && i + half < lanes; i++)
      lane[i] = combined(u, reduce, lane[i], lane[i + half]);
  return lane[0];
}

/* Combines blocks of 16 elements. There are at most two blocks, so their tree is a single
 * combination. */
static nxk_value plain_order(unroller *u, nxk_value reduce, const nxk_value *x, int64_t n) {
  nxk_value first = chain(u, reduce, x, 0, n < LANES ? n : LANES, 1);
  static_assert(MOST_ELEMENTS == 2 * LANES, "there are two blocks at most");
  return n <= LANES ? first : combined(u, reduce, first, chain(u, reduce, x, LANES, n, 1));
}

static nxk_value in_order(unroller *u, nxk_value reduce, const nxk_value *x, int64_t n) {
  switch (u->b.from->instrs[reduce].order) {
    case NXK_ORDER_LANES: return lane_order(u, reduce, x, n);
    case NXK_ORDER_PLAIN: return plain_order(u, reduce, x, n);
    default: return chain(u, reduce, x, 0, n, 1);
  }
}

/* ---- writing */

static void write_out(unroller *u, const nxb_stage *s) {
  const nxk_kernel *from = u->b.from;
  u->elements = nxb_alloc(&u->b, s->n_reduces * MOST_ELEMENTS * sizeof *u->elements);
  for (int64_t e = 0; e < s->points && !u->b.failed; e++) {
    uint32_t n = 0;
    u->map[s->first] = nxk_const_i(u->to, NX_I64, e);
    for (nxk_value v = s->first + 1; v < s->last && !u->to->failed; v++)
      if (from->instrs[v].op == NXK_reduce)
        u->elements[n++ * MOST_ELEMENTS + e] = u->map[from->instrs[v].args[0]];
      else nxk_copy_decided(u->to, from, v, u->map);
  }
  for (uint32_t i = 0; i < s->n_reduces && !u->b.failed && !u->to->failed; i++)
    u->map[s->reduce[i]] = in_order(u, s->reduce[i], u->elements + i * MOST_ELEMENTS, s->points);
}

/* Whether v is the outermost loop of a run. */
static bool begins_run(const nxk_kernel *k, nxk_value v) {
  const nxk_instr *in = &k->instrs[v], *around = &k->instrs[in->block];
  if (in->op != NXK_for || k->loops[in->imm].kind != NXK_REDUCE) return false;
  return around->op != NXK_for || k->loops[around->imm].kind != NXK_REDUCE;
}

/* Copies the kernel with such reductions unrolled. True if there were any. */
static bool write_all(unroller *u) {
  const nxk_kernel *from = u->b.from;
  bool any = false;
  for (nxk_value v = 0; v < from->n_instrs && !u->to->failed && !u->b.failed; v++) {
    if (begins_run(from, v)) {
      nxb_stage s;
      nxb_analyze_stage(&u->b, v, &s);
      if (!u->b.failed && fits(&u->b, &s)) {
        write_out(u, &s);
        any = true;
        v = s.last;
        continue;
      }
    }
    nxk_copy_instr(u->to, from, v, u->map);
  }
  return any;
}

nxk_kernel *nxk_pass_unroll(const nxk_kernel *k, nxi_diag *d) {
  unroller u = {.b = {.from = k}, .to = nxk_create_like(k)};
  size_t n = (size_t)k->n_instrs + 1;
  u.map = nxb_alloc(&u.b, n * sizeof *u.map);
  bool ok = u.to != NULL && !u.b.failed && nxb_analyze_kernel(&u.b), any = false;
  if (ok) {
    memset(u.map, 0xff, n * sizeof *u.map);
    any = write_all(&u);
  }
  ok = ok && !u.b.failed && !u.to->failed;
  nxi_arena_destroy(&u.b.arena);
  nxk_kernel *out = ok && any ? nxk_pass_simplify(u.to, d) : u.to;
  if (out != u.to || !ok) nxk_destroy(u.to);
  if (!ok) nxi_oom(d);
  return ok ? out : NULL;
}
