/* SPDX-License-Identifier: ISC */
/* The expression DAG of a region. Expressions are hash-consed, so that a value used twice is
 * computed once, and each is annotated with the dimensions that it depends on, so that it can be
 * placed in a loop. Operands come before their users. */
#include "lower.h"

#include <string.h>

enum { COST_LIMIT = 60000 };

static uint64_t mix(uint64_t h, uint64_t x) {
  h ^= x;
  h *= 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

static uint64_t expr_hash(const nxw_lower *l, const nxw_expr *e) {
  uint64_t h = mix(e->kind, (uint64_t)e->op << 32 | (uint64_t)e->dtype << 16 |
                                (uint64_t)e->reduce << 8 | e->order);
  for (int i = 0; i < e->n_args; i++) h = mix(h, e->args[i]);
  h = mix(h, e->imm);
  if (e->kind != NXW_LOAD) return h;
  h = mix(mix(h, e->buffer), e->mask);
  h = mix(mix(h, (uint64_t)e->at->constant), e->at->extra);
  for (uint32_t i = 0; i < l->dims.n; i++) h = mix(h, (uint64_t)e->at->coefficient[i]);
  return h;
}

static bool expr_equal(const nxw_lower *l, const nxw_expr *a, const nxw_expr *b) {
  if (a->kind != b->kind || a->op != b->op || a->dtype != b->dtype || a->reduce != b->reduce ||
      a->order != b->order || a->n_args != b->n_args || a->imm != b->imm)
    return false;
  for (int i = 0; i < a->n_args; i++)
    if (a->args[i] != b->args[i]) return false;
  return a->kind != NXW_LOAD ||
         (a->buffer == b->buffer && a->mask == b->mask && nxw_affine_equal(l, a->at, b->at));
}

static bool grow_table(nxw_lower *l) {
  uint32_t size = l->expr_table_size ? l->expr_table_size * 2 : 256;
  uint32_t *table = nxi_malloc(size * sizeof *table);
  if (table == NULL) return false;
  memset(table, 0xff, size * sizeof *table);
  for (uint32_t i = 0; i < l->n_exprs; i++) {
    uint64_t slot = expr_hash(l, &l->exprs[i]) & (size - 1);
    while (table[slot] != NXW_NONE) slot = (slot + 1) & (size - 1);
    table[slot] = i;
  }
  nxi_free(l->expr_table);
  l->expr_table = table;
  l->expr_table_size = size;
  return true;
}

static uint64_t affine_dims(const nxw_lower *l, const nxw_affine *a) {
  uint64_t dims = 0;
  for (uint32_t i = 0; i < l->dims.n; i++)
    if (a->coefficient[i] != 0) dims |= (uint64_t)1 << i;
  return dims;
}

static void depend_on(nxw_expr *e, const nxw_expr *operand) {
  e->dims |= operand->dims;
  if (operand->stage > e->stage) e->stage = operand->stage;
  uint32_t cost = (uint32_t)e->cost + operand->cost;
  e->cost = (uint16_t)(cost > COST_LIMIT ? COST_LIMIT : cost);
}

static void annotate(const nxw_lower *l, nxw_expr *e) {
  for (int i = 0; i < e->n_args; i++) depend_on(e, &l->exprs[e->args[i]]);
  if (e->kind == NXW_SCALAR) {
    uint32_t cost = (uint32_t)e->cost + nxk_scalars[e->op].cost;
    e->cost = (uint16_t)(cost > COST_LIMIT ? COST_LIMIT : cost);
  } else if (e->kind == NXW_DIM) {
    e->dims = (uint64_t)1 << e->imm;
  } else if (e->kind == NXW_LOAD) {
    e->dims |= affine_dims(l, e->at);
    if (e->at->extra != NXW_NONE) depend_on(e, &l->exprs[e->at->extra]);
    if (e->mask != NXW_NONE) depend_on(e, &l->exprs[e->mask]);
    e->cost++;
  }
  uint64_t inner = ~(uint64_t)0 << l->dims.n_outer;
  if (e->kind == NXW_REDUCE) {
    e->dims &= ~inner;
    e->stage++;
    e->cost = 0;
  }
  /* it belongs to the innermost loop, and is not computed again in later stages */
  if (e->kind == NXW_SCAN) {
    uint64_t all = l->dims.n < 64 ? ((uint64_t)1 << l->dims.n) - 1 : ~(uint64_t)0;
    e->dims |= inner & all;
    e->cost = 0;
  }
  e->inner = (e->dims & inner) != 0;
  e->value = NXK_NONE;
  e->written_in = NXW_NONE;
  e->local = NXW_NONE;
}

static uint32_t intern(nxw_lower *l, nxw_expr *e) {
  if (l->failed) return NXW_NONE;
  if ((l->n_exprs + 1) * 2 > l->expr_table_size && !grow_table(l)) {
    l->failed = true;
    return NXW_NONE;
  }
  uint64_t slot = expr_hash(l, e) & (l->expr_table_size - 1);
  for (; l->expr_table[slot] != NXW_NONE; slot = (slot + 1) & (l->expr_table_size - 1))
    if (expr_equal(l, &l->exprs[l->expr_table[slot]], e)) return l->expr_table[slot];
  if (!nxi_grow(&l->exprs, &l->cap_exprs, l->n_exprs + 1, sizeof *l->exprs)) {
    l->failed = true;
    return NXW_NONE;
  }
  annotate(l, e);
  l->expr_table[slot] = l->n_exprs;
  l->exprs[l->n_exprs] = *e;
  return l->n_exprs++;
}

uint32_t nxw_const(nxw_lower *l, nx_dtype t, uint64_t bits) {
  nxw_expr e = {.kind = NXW_CONST, .dtype = (uint8_t)t, .imm = bits};
  return intern(l, &e);
}

uint32_t nxw_const_i64(nxw_lower *l, int64_t x) { return nxw_const(l, NX_I64, (uint64_t)x); }

uint32_t nxw_param(nxw_lower *l, nx_dtype t, uint32_t launch_param) {
  nxw_expr e = {.kind = NXW_PARAM, .dtype = (uint8_t)t, .imm = launch_param};
  return intern(l, &e);
}

static uint32_t dimension(nxw_lower *l, uint32_t dim) {
  nxw_expr e = {.kind = NXW_DIM, .dtype = NX_I64, .imm = dim};
  return intern(l, &e);
}

static bool is_const(const nxw_lower *l, uint32_t e, uint64_t bits) {
  return l->exprs[e].kind == NXW_CONST && l->exprs[e].imm == bits;
}

/* Folds trivial index arithmetic: x + 0, x * 1. */
static uint32_t fold_index(const nxw_lower *l, nxk_op op, uint32_t a, uint32_t b) {
  if (op == NXK_add && is_const(l, b, 0)) return a;
  if (op == NXK_add && is_const(l, a, 0)) return b;
  if (op == NXK_mul && is_const(l, b, 1)) return a;
  return NXW_NONE;
}

uint32_t nxw_scalar(nxw_lower *l, nxk_op op, nx_dtype result, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t operands[4] = {a, b, c, NXW_NONE};
  return nxw_scalar_of(l, op, result, operands);
}

uint32_t nxw_scalar_of(nxw_lower *l, nxk_op op, nx_dtype result, const uint32_t args[4]) {
  nxw_expr e = {.kind = NXW_SCALAR, .op = (uint16_t)op, .n_args = nxk_scalars[op].arity};
  bool all_const = (nxk_scalars[op].flags & NXK_FUNC) == 0;
  uint64_t values[4] = {0};
  for (int i = 0; i < e.n_args; i++) {
    if (l->failed || args[i] == NXW_NONE) return NXW_NONE;
    e.args[i] = args[i];
    values[i] = l->exprs[args[i]].imm;
    all_const = all_const && l->exprs[args[i]].kind == NXW_CONST;
  }
  nx_dtype type = l->exprs[args[e.n_args - 1]].dtype; /* NOLINT: no operation has zero arguments */
  e.dtype = (uint8_t)type;
  if (nxk_scalars[op].result == NXK_RESULT_BOOL) e.dtype = NX_BOOL;
  else if (nxk_scalars[op].result == NXK_RESULT_GIVEN) e.dtype = (uint8_t)result;
  if (op == NXK_cast && e.dtype == type) return args[0];
  if (type == NX_I64 && e.n_args == 2) {
    uint32_t folded = fold_index(l, op, args[0], args[1]);
    if (folded != NXW_NONE) return folded;
  }
  if (all_const) return nxw_const(l, e.dtype, nxk_eval(op, type, e.dtype, values));
  return intern(l, &e);
}

uint32_t nxw_load(nxw_lower *l, nx_dtype t, uint32_t buffer, const nxw_affine *at, uint32_t mask) {
  nxw_expr e = {.kind = NXW_LOAD, .dtype = (uint8_t)t, .buffer = buffer, .mask = mask};
  if (buffer == NXW_NONE || (e.at = nxw_affine_keep(l, at)) == NULL) {
    l->failed = true;
    return NXW_NONE;
  }
  return intern(l, &e);
}

uint32_t nxw_reduce(nxw_lower *l, nxk_reduce_kind kind, nxk_order order, uint32_t a, uint32_t b,
                    nx_dtype t) {
  if (l->failed || a == NXW_NONE) return NXW_NONE;
  nxw_expr e = {.kind = NXW_REDUCE,
                .dtype = (uint8_t)t,
                .reduce = (uint8_t)kind,
                .order = (uint8_t)order,
                .n_args = (uint8_t)(b == NXW_NONE ? 1 : 2),
                .args = {a, b == NXW_NONE ? 0 : b}};
  return intern(l, &e);
}

uint32_t nxw_scan(nxw_lower *l, nxk_reduce_kind kind, nxk_order order, uint32_t a, uint32_t b) {
  if (l->failed || a == NXW_NONE) return NXW_NONE;
  nxw_expr e = {.kind = NXW_SCAN,
                .dtype = l->exprs[a].dtype,
                .reduce = (uint8_t)kind,
                .order = (uint8_t)order,
                .n_args = (uint8_t)(b == NXW_NONE ? 1 : 2),
                .args = {a, b == NXW_NONE ? 0 : b}};
  return intern(l, &e);
}

uint32_t nxw_affine_value(nxw_lower *l, const nxw_affine *a) {
  uint32_t sum = a->extra;
  for (uint32_t i = 0; i < l->dims.n; i++) {
    if (a->coefficient[i] == 0) continue;
    uint32_t index = dimension(l, i), stride = nxw_const_i64(l, a->coefficient[i]);
    uint32_t term = nxw_scalar(l, NXK_mul, NX_I64, index, stride, NXW_NONE);
    sum = sum == NXW_NONE ? term : nxw_scalar(l, NXK_add, NX_I64, sum, term, NXW_NONE);
  }
  uint32_t constant = nxw_const_i64(l, a->constant);
  return sum == NXW_NONE ? constant : nxw_scalar(l, NXK_add, NX_I64, sum, constant, NXW_NONE);
}
