/* SPDX-License-Identifier: ISC */
/* Finds which columns of a product are used at all. In causal attention a number chosen by a
 * comparison of row and column stands in place of half of the scores: `select` takes one operand
 * and ignores the other, so nothing can tell what those scores are, be it NaN, and they need not be
 * multiplied. What is found follows from the kernel's instructions alone, from the last to the
 * first: a value is needed for the columns for which something needs it that uses it.
 *
 * Columns are known between two borders, each a linear function of the row. Where that says too
 * little, more columns are taken. */
#include "columns_seen.h"

#include <string.h>

enum { DEPTH = 8 }; /* to which operands of conditions are followed */

/* Columns of a row; `none`: of no row. */
typedef struct columns {
  bool none;
  nxi_seen seen;
} columns;

typedef struct seer {
  const nxp_row_kernel *r;
  const nxk_kernel *k;
  columns all, found;
  columns *needed; /* of each value: those for which it is used */
} seer;

/* ---- sets of columns */

static bool is_all(const seer *s, const columns *x) {
  return !x->none && memcmp(&x->seen, &s->all.seen, sizeof x->seen) == 0;
}

/* Columns of one or the other, and of both; the borders of different slopes are one of them, or
 * that of the matrix. */
static columns join(const seer *s, columns x, columns y) {
  if (x.none || y.none) return x.none ? y : x;
  nxi_seen *a = &x.seen, *b = &y.seen;
  if (a->begin.per_row != b->begin.per_row) a->begin = s->all.seen.begin;
  else if (b->begin.at < a->begin.at) a->begin = b->begin;
  if (a->end.per_row != b->end.per_row) a->end = s->all.seen.end;
  else if (b->end.at > a->end.at) a->end = b->end;
  return x;
}

static nxi_border nearer(nxi_border x, nxi_border y, nxi_border outer, int sign) {
  if (x.per_row == y.per_row) return (y.at - x.at) * sign > 0 ? y : x;
  return x.per_row == outer.per_row && x.at == outer.at ? y : x;
}

static columns meet(const seer *s, columns x, columns y) {
  if (x.none || y.none) return x.none ? x : y;
  x.seen.begin = nearer(x.seen.begin, y.seen.begin, s->all.seen.begin, 1);
  x.seen.end = nearer(x.seen.end, y.seen.end, s->all.seen.end, -1);
  return x;
}

/* ---- conditions */

/* An exact number: column * (index of the column) + row * (that of the row) + at. */
typedef struct line {
  int64_t column, row, at;
} line;

/* Whether a dtype holds all numbers of that size exactly, and how large they may be here. */
static int64_t most_of(nx_dtype t) {
  const int bits = nxi_dtypes[t].bits;
  if (nxi_is_integer(t)) return INT64_C(1) << (bits < 42 ? bits - 1 : 40);
  return t == NX_F64 ? INT64_C(1) << 40 : t == NX_F32 ? INT64_C(1) << 24 : 0;
}

/* Whether all its values are exact in that dtype. */
static bool holds(const seer *s, const line *x, nx_dtype t) {
  const int64_t most = most_of(t), m = s->r->m - 1, n = s->r->n - 1;
  int64_t low = x->at, high = x->at;
  *(x->column < 0 ? &low : &high) += x->column * n;
  *(x->row < 0 ? &low : &high) += x->row * m;
  return low >= (nxi_dtype_class(t) == NXI_UINT ? 0 : -most) && high < most;
}

static bool line_of(const seer *s, nxk_value v, nxk_value loop, line *out, int depth);

static bool is_constant(const line *x) { return x->column == 0 && x->row == 0; }

/* x + by * y; `by` is small. */
static line sum(const line *x, const line *y, int64_t by) {
  return (line){x->column + by * y->column, x->row + by * y->row, x->at + by * y->at};
}

static bool line_of_two(const seer *s, const nxk_instr *in, nxk_value loop, line *out, int depth) {
  const line none = {0, 0, 0};
  line x, y;
  if (!line_of(s, in->args[0], loop, &x, depth - 1) ||
      !line_of(s, in->args[1], loop, &y, depth - 1))
    return false;
  switch (in->op) {
    case NXK_add: *out = sum(&x, &y, 1); return true;
    case NXK_sub: *out = sum(&x, &y, -1); return true;
    case NXK_mul:
      if (is_constant(&x) && x.at == (int8_t)x.at) *out = sum(&none, &y, x.at);
      else if (is_constant(&y) && y.at == (int8_t)y.at) *out = sum(&none, &x, y.at);
      else return false;
      return true;
    default: return false;
  }
}

static bool line_of_constant(const nxk_instr *in, line *out) {
  const nx_dtype t = (nx_dtype)in->dtype;
  if (!nxi_is_integer(t) && !nxi_is_float(t)) return false;
  const int64_t x = (int64_t)nxi_cast_bits(in->imm, t, NX_I64);
  *out = (line){0, 0, x};
  return nxi_cast_bits((uint64_t)x, NX_I64, t) == in->imm && x < most_of(t) && x >= -most_of(t);
}

/* The value of v in the loop over columns; false: it is no such number. */
static bool line_of(const seer *s, nxk_value v, nxk_value loop, line *out, int depth) {
  const nxk_instr *in = &s->k->instrs[v];
  bool known = depth > 0;
  if (!known) return false;
  switch (in->op) {
    case NXK_const: known = line_of_constant(in, out); break;
    case NXK_for: *out = (line){1, 0, 0}, known = v == loop; break;
    case NXK_param: *out = (line){0, 1, 0}, known = in->imm == s->r->row; break;
    case NXK_cast: known = line_of(s, in->args[0], loop, out, depth - 1); break;
    default: known = in->n_args == 2 && line_of_two(s, in, loop, out, depth); break;
  }
  return known && holds(s, out, (nx_dtype)in->dtype);
}

/* Columns for which x - y - more is not negative. */
static columns not_negative(const seer *s, const line *x, const line *y, int64_t more) {
  const int64_t column = x->column - y->column, row = x->row - y->row, at = x->at - y->at - more;
  columns c = s->all;
  if (column == 1) c.seen.begin = (nxi_border){-at, -row};
  if (column == -1) c.seen.end = (nxi_border){at + 1, row};
  return meet(s, c, s->all);
}

/* Columns for which the comparison is `truth`. */
static columns compared(const seer *s, const nxk_instr *in, nxk_value loop, bool truth, int depth) {
  line x, y;
  if (!line_of(s, in->args[0], loop, &x, depth - 1) ||
      !line_of(s, in->args[1], loop, &y, depth - 1))
    return s->all;
  if (in->op == NXK_lt) return truth ? not_negative(s, &y, &x, 1) : not_negative(s, &x, &y, 0);
  if (in->op == NXK_le) return truth ? not_negative(s, &y, &x, 0) : not_negative(s, &x, &y, 1);
  if (truth != (in->op == NXK_eq)) return s->all;
  return meet(s, not_negative(s, &x, &y, 0), not_negative(s, &y, &x, 0));
}

static columns when(const seer *s, nxk_value v, nxk_value loop, bool truth, int depth);

/* The same of one condition or another, as a third one is true or not. */
static columns chosen(const seer *s, const nxk_instr *in, nxk_value loop, bool truth, int depth) {
  const columns first = meet(s, when(s, in->args[0], loop, true, depth - 1),
                             when(s, in->args[1], loop, truth, depth - 1)),
                second = meet(s, when(s, in->args[0], loop, false, depth - 1),
                              when(s, in->args[2], loop, truth, depth - 1));
  return join(s, first, second);
}

/* Columns for which a condition in the loop may be `truth`. */
static columns when(const seer *s, nxk_value v, nxk_value loop, bool truth, int depth) {
  const nxk_instr *in = &s->k->instrs[v];
  if (depth == 0) return s->all;
  switch (in->op) {
    case NXK_const: return (columns){(in->imm != 0) != truth, s->all.seen};
    case NXK_not: return when(s, in->args[0], loop, !truth, depth - 1);
    case NXK_and:
    case NXK_or: {
      const columns x = when(s, in->args[0], loop, truth, depth - 1),
                    y = when(s, in->args[1], loop, truth, depth - 1);
      return (in->op == NXK_and) == truth ? meet(s, x, y) : join(s, x, y);
    }
    case NXK_select: return chosen(s, in, loop, truth, depth);
    case NXK_lt:
    case NXK_le:
    case NXK_eq:
    case NXK_ne: return compared(s, in, loop, truth, depth);
    default: return s->all;
  }
}

/* ---- uses */

static nxk_value loop_of(const seer *s, nxk_value v) {
  uint32_t block = s->k->instrs[v].block;
  while (block != NXK_NONE && s->k->instrs[block].op != NXK_for) block = s->k->instrs[block].block;
  return block;
}

/* The user at `by` needs v for these columns; for all if the two are not in one loop. */
static void need(seer *s, nxk_value v, nxk_value by, columns c) {
  if (v == NXK_NONE) return;
  if (!c.none && loop_of(s, v) != loop_of(s, by)) c = s->all;
  s->needed[v] = join(s, s->needed[v], c);
}

static void need_for_access(seer *s, nxk_value v, const nxk_access *a) {
  need(s, a->index, v, s->all);
  need(s, a->mask, v, s->all);
  need(s, a->other, v, s->all);
  for (uint32_t i = 0; i < a->n_terms; i++) need(s, a->terms[i].index, v, s->all);
}

static void need_for_load(seer *s, nxk_value v, const nxk_access *a) {
  if (a->buffer == s->r->buffer) {
    const bool column = a->n_terms == 1 && a->terms[0].index == loop_of(s, v);
    s->found = join(s, s->found, column ? s->needed[v] : s->all);
  }
  need_for_access(s, v, a);
}

static void need_operands(seer *s, nxk_value v) {
  const nxk_instr *in = &s->k->instrs[v];
  const bool scalar = in->op < NXK_SCALAR_COUNT;
  if (in->op == NXK_select) {
    const nxk_value loop = loop_of(s, v);
    need(s, in->args[0], v, s->needed[v]);
    need(s, in->args[1], v, meet(s, s->needed[v], when(s, in->args[0], loop, true, DEPTH)));
    need(s, in->args[2], v, meet(s, s->needed[v], when(s, in->args[0], loop, false, DEPTH)));
    return;
  }
  for (uint32_t i = 0; i < in->n_args; i++) need(s, in->args[i], v, scalar ? s->needed[v] : s->all);
  if (in->op == NXK_load) need_for_load(s, v, &s->k->accesses[in->imm]);
  if (in->op == NXK_store) need_for_access(s, v, &s->k->accesses[in->imm]);
  if (in->op == NXK_for) {
    need(s, s->k->loops[in->imm].lower.value, v, s->all);
    need(s, s->k->loops[in->imm].upper.value, v, s->all);
  }
}

bool nxp_columns_seen(const nxp_row_kernel *r, nxi_seen *seen) {
  seer s = {.r = r, .k = r->k};
  s.all.seen = (nxi_seen){{0, 0}, {r->n, 0}};
  s.found = (columns){.none = true};
  s.needed = nxi_malloc(((size_t)r->k->n_instrs + 1) * sizeof *s.needed);
  if (s.needed == NULL || r->k->level != NXK_LOGICAL) {
    nxi_free(s.needed);
    return false;
  }
  for (nxk_value v = 0; v < r->k->n_instrs; v++) s.needed[v] = (columns){.none = true};
  for (nxk_value v = r->k->n_instrs; v-- > 0;) need_operands(&s, v);
  nxi_free(s.needed);
  *seen = s.found.seen;
  return !s.found.none && !is_all(&s, &s.found);
}
