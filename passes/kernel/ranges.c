/* SPDX-License-Identifier: ISC */
/* Cuts sequential loops of a bound kernel where the masks of its loads change. A reduction along
 * joined arrays, or a vector loop along their rows, becomes one loop for each operand, with
 * single masked vectors in between. The pieces run one after the other and pass on the values
 * that the loop carries, so all operations are done as before and in the same order.
 *
 * A condition is constant in a piece if the bounds of its operands there decide it. Where to cut is
 * found by bisection, which assumes that index arithmetic is monotone in the loop; if it is not, a
 * cut may be useless, but it is never wrong. In the generic form short loops stay whole and a piece
 * of one iteration stays a loop, or its structure would depend on extents. Needs: bound level,
 * processors. Keeps: bits. */
#include <string.h>

#include "passes.h"

/* MOST_PIECES: pieces of a loop. MOST_GROWTH: instructions of the result for each of the source;
 * MOST_CODE: the limit of that product. DEPTH: depth to which operands are followed. SHORT: the
 * iterations of a short loop. */
enum { MOST_PIECES = 16, MOST_GROWTH = 16, MOST_CODE = 2400, DEPTH = 16, SHORT = 16 };

typedef struct interval {
  int64_t low, high; /* both inclusive */
} interval;

typedef struct ranger {
  const nxk_kernel *from;
  nxk_kernel *to;
  nxk_value *map;
  nxk_value *after;  /* for a carry: its value after an iteration that is written without a loop */
  nxk_value *end_of; /* for the opener of a block: its end */
  interval *range;   /* for a loop that is being written: the bounds of its index */
  bool *known;       /* whether `range` is set */
  bool *single;      /* whether the loop is a single iteration, written without a loop */
  uint32_t most;     /* instructions above which no loop is cut */
  bool generic;      /* the form that depends little on extents is wanted */
  bool cut;
} ranger;

/* ---- bounds */

static bool is_small(interval i) {
  const int64_t most = INT64_C(1) << 40;
  return i.low > -most && i.high < most;
}

static bool bounds(const ranger *r, nxk_value v, interval *out, int depth);

static interval product(interval x, int64_t by) {
  return by >= 0 ? (interval){x.low * by, x.high * by} : (interval){x.high * by, x.low * by};
}

static bool bounds_of_two(const ranger *r, const nxk_instr *in, interval *out, int depth) {
  interval x, y;
  if (!bounds(r, in->args[0], &x, depth - 1) || !bounds(r, in->args[1], &y, depth - 1))
    return false;
  switch (in->op) {
    case NXK_add: *out = (interval){x.low + y.low, x.high + y.high}; break;
    case NXK_sub: *out = (interval){x.low - y.high, x.high - y.low}; break;
    case NXK_mul:
      if (y.low != y.high || y.low > (1 << 20) || y.low < -(1 << 20)) return false;
      *out = product(x, y.low);
      break;
    case NXK_min:
      *out = (interval){x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high};
      break;
    default: return false;
  }
  return is_small(*out);
}

/* The bounds of an integer over all its lanes. False: not known. */
static bool bounds(const ranger *r, nxk_value v, interval *out, int depth) {
  const nxk_instr *in = &r->from->instrs[v];
  if (in->dtype != NX_I64 || depth == 0) return false;
  if (in->op == NXK_const) {
    *out = (interval){(int64_t)in->imm, (int64_t)in->imm};
    return is_small(*out);
  }
  if (in->op == NXK_for) {
    *out = r->range[v];
    return r->known[v];
  }
  if (in->op == NXK_splat) return bounds(r, in->args[0], out, depth - 1);
  if (in->op == NXK_step_vector) {
    if (!bounds(r, in->args[0], out, depth - 1)) return false;
    out->high += in->lanes - 1;
    return true;
  }
  return in->n_args == 2 && bounds_of_two(r, in, out, depth);
}

/* 1: the condition holds in all lanes, 0: in none, -1: in some, or it is not known. */
static int truth(const ranger *r, nxk_value v) {
  const nxk_instr *in = &r->from->instrs[v];
  interval x, y;
  if ((in->op != NXK_active && in->op != NXK_lt && in->op != NXK_le) ||
      !bounds(r, in->args[0], &x, DEPTH) || !bounds(r, in->args[1], &y, DEPTH))
    return -1;
  int64_t more = in->op == NXK_active ? in->lanes : in->op == NXK_lt;
  if (x.high + more <= y.low) return 1;
  return x.low + (in->op != NXK_le) > y.high ? 0 : -1;
}

static bool bounds_of_end(const ranger *r, nxk_bound_value b, interval *out) {
  *out = (interval){b.constant, b.constant};
  return b.value == NXK_NONE ? is_small(*out) : bounds(r, b.value, out, DEPTH);
}

/* Sets the bounds of the index of a loop that is not cut. */
static void enter_loop(ranger *r, nxk_value v) {
  const nxk_loop *loop = &r->from->loops[r->from->instrs[v].imm];
  interval low, high;
  bool task = loop->kind == NXK_TASK && loop->upper.value != NXK_NONE;
  r->known[v] =
      !task && bounds_of_end(r, loop->lower, &low) && bounds_of_end(r, loop->upper, &high);
  if (r->known[v]) r->range[v] = (interval){low.low, high.high - 1};
  r->known[v] = r->known[v] && r->range[v].low <= r->range[v].high;
}

/* ---- cuts */

static int truth_at(ranger *r, nxk_value loop, nxk_value condition, int64_t index) {
  r->range[loop] = (interval){index, index};
  return truth(r, condition);
}

/* The number of iterations at the beginning (with `back`, at the end) of the loop in which the
 * condition has the same constant value as in the first (the last) one. */
static int64_t length_decided(ranger *r, nxk_value v, nxk_value condition, int64_t n, bool back) {
  const nxk_loop *loop = &r->from->loops[r->from->instrs[v].imm];
  int64_t first = loop->lower.constant + (back ? n - 1 : 0) * loop->step;
  int64_t step = back ? -loop->step : loop->step, low = 0, high = n;
  int value = truth_at(r, v, condition, first);
  if (value < 0) return 0;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (truth_at(r, v, condition, first + middle * step) == value) low = middle;
    else high = middle;
  }
  return low + 1;
}

static void insert_cut(int64_t *cuts, uint32_t *n, int64_t cut) {
  uint32_t at = *n;
  while (at > 0 && cuts[at - 1] > cut) at--;
  if ((at > 0 && cuts[at - 1] == cut) || *n == MOST_PIECES - 1) return;
  memmove(cuts + at + 1, cuts + at, (*n - at) * sizeof *cuts);
  cuts[at] = cut;
  ++*n;
}

/* The iterations of a sequential loop with constant bounds; 0: it is not such a loop, and is not
 * cut. */
static int64_t iterations(const nxk_loop *loop) {
  if (loop->kind != NXK_SEQ || loop->lower.value != NXK_NONE || loop->upper.value != NXK_NONE ||
      loop->upper.constant <= loop->lower.constant)
    return 0;
  return (loop->upper.constant - loop->lower.constant + loop->step - 1) / loop->step;
}

/* The numbers of the iterations before which the loop is cut. */
static uint32_t find_cuts(ranger *r, nxk_value v, int64_t n, int64_t *cuts) {
  uint32_t n_cuts = 0;
  for (nxk_value w = v + 1; w < r->end_of[v]; w++)
    if (r->from->instrs[w].op == NXK_for) enter_loop(r, w);
  for (nxk_value w = v + 1; w < r->end_of[v]; w++) {
    nxk_op op = (nxk_op)r->from->instrs[w].op;
    if (op != NXK_active && op != NXK_lt && op != NXK_le) continue;
    int64_t before = length_decided(r, v, w, n, false), behind = length_decided(r, v, w, n, true);
    if (before > 0 && before < n) insert_cut(cuts, &n_cuts, before);
    if (behind > 0 && behind < n) insert_cut(cuts, &n_cuts, n - behind);
  }
  return n_cuts;
}

/* ---- writing */

static void write_block(ranger *r, nxk_value first, nxk_value last);

static nxk_value decided_value(ranger *r, bool x, uint16_t lanes) {
  return nxk_splat(r->to, nxk_const(r->to, NX_BOOL, x), lanes);
}

/* Writes the carries at the head of a piece. In the first piece they start from the initial values
 * of the loop's carries, and in the others from the final values of the piece before. */
static nxk_value write_carries(ranger *r, nxk_value v, bool first) {
  nxk_value c = v + 1;
  for (; r->from->instrs[c].op == NXK_carry && !r->to->failed; c++) {
    nxk_value initial = first ? r->map[r->from->instrs[c].args[0]] : r->map[c];
    r->map[c] = r->after[c] = r->single[v] ? initial : nxk_carry(r->to, initial);
  }
  return c;
}

static void write_piece(ranger *r, nxk_value v, int64_t first, int64_t n) {
  const nxk_loop *loop = &r->from->loops[r->from->instrs[v].imm];
  int64_t low = loop->lower.constant + first * loop->step, high = low + n * loop->step;
  if (high > loop->upper.constant) high = loop->upper.constant;
  r->single[v] = n == 1 && !r->generic;
  r->range[v] = (interval){low, low + (n - 1) * loop->step};
  r->map[v] = r->single[v] ? nxk_const_i(r->to, NX_I64, low)
                           : nxk_begin_for(r->to, NXK_SEQ, nxk_bound_const(low),
                                           nxk_bound_const(high), loop->step);
  nxk_value body = write_carries(r, v, first == 0);
  write_block(r, body, r->end_of[v]);
  if (!r->single[v]) nxk_end(r->to);
  for (nxk_value c = v + 1; r->single[v] && c < body; c++) r->map[c] = r->after[c];
}

/* Writes the loop in pieces. False: it is not cut. */
static bool write_pieces(ranger *r, nxk_value v) {
  int64_t n = iterations(&r->from->loops[r->from->instrs[v].imm]), cuts[MOST_PIECES];
  if (n < (r->generic ? SHORT + 1 : 2) || r->to->n_instrs > r->most) return false;
  enter_loop(r, v);
  uint32_t n_cuts = find_cuts(r, v, n, cuts);
  if (n_cuts == 0) return false;
  r->cut = true;
  for (uint32_t i = 0; i <= n_cuts && !r->to->failed; i++) {
    int64_t first = i > 0 ? cuts[i - 1] : 0;
    write_piece(r, v, first, (i < n_cuts ? cuts[i] : n) - first);
  }
  return true;
}

static void write_instr(ranger *r, nxk_value v) {
  const nxk_instr *in = &r->from->instrs[v];
  int decided = truth(r, v);
  if (decided >= 0) r->map[v] = decided_value(r, decided == 1, in->lanes);
  else if (in->op == NXK_next && r->single[in->block]) r->after[in->args[0]] = r->map[in->args[1]];
  else nxk_copy_decided(r->to, r->from, v, r->map);
}

static void write_block(ranger *r, nxk_value first, nxk_value last) {
  for (nxk_value v = first; v < last && !r->to->failed; v++) {
    if (r->from->instrs[v].op == NXK_for) {
      if (write_pieces(r, v)) {
        v = r->end_of[v];
        continue;
      }
      r->single[v] = false;
      enter_loop(r, v);
    }
    write_instr(r, v);
  }
}

/* ---- the pass */

static bool has_skipping_load(const nxk_kernel *k) {
  for (uint32_t i = 0; i < k->n_accesses; i++)
    if (k->accesses[i].flags & NXK_SKIPS) return true;
  return false;
}

static bool prepare(ranger *r, nxi_arena *arena) {
  size_t n = (size_t)r->from->n_instrs + 1;
  r->map = nxi_arena_alloc(arena, n * sizeof *r->map);
  r->after = nxi_arena_alloc(arena, n * sizeof *r->after);
  r->end_of = nxi_arena_alloc(arena, n * sizeof *r->end_of);
  r->range = nxi_arena_alloc(arena, n * sizeof *r->range);
  r->known = nxi_arena_alloc(arena, n * sizeof *r->known);
  r->single = nxi_arena_alloc(arena, n * sizeof *r->single);
  if (r->to == NULL || r->map == NULL || r->after == NULL || r->end_of == NULL ||
      r->range == NULL || r->known == NULL || r->single == NULL)
    return false;
  memset(r->map, 0xff, n * sizeof *r->map);
  memset(r->known, 0, n * sizeof *r->known);
  memset(r->single, 0, n * sizeof *r->single);
  for (nxk_value v = 0; v < r->from->n_instrs; v++)
    if (r->from->instrs[v].op == NXK_end) r->end_of[r->from->instrs[v].block] = v;
  return true;
}

nxk_kernel *nxk_pass_ranges(const nxk_kernel *k, const nxi_target *t, nxi_diag *d) {
  ranger r = {.from = k, .generic = t->generic};
  nxi_arena arena = {0};
  if (k->threads > 0 || !has_skipping_load(k)) {
    nxk_kernel *same = nxk_clone(k);
    if (same == NULL) nxi_oom(d);
    return same;
  }
  r.to = nxk_create_like(k);
  r.most = k->n_instrs < MOST_CODE / MOST_GROWTH ? k->n_instrs * MOST_GROWTH : MOST_CODE;
  bool ok = prepare(&r, &arena);
  if (ok) write_block(&r, 0, k->n_instrs);
  ok = ok && !r.to->failed;
  nxi_arena_destroy(&arena);
  if (ok) return r.to;
  nxk_destroy(r.to);
  nxi_oom(d);
  return NULL;
}
