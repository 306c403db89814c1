/* SPDX-License-Identifier: ISC */
/* The trees of partial results: a binary counter of arrays, level by level, in the order of
 * ir/kernel/kernel.h. Which levels a partial result meets depends on the counter alone. So trees
 * that stand beside each other with the same counter share one loop, and a counter that is a
 * constant needs none: a loop is three basic blocks, which cost LLVM more than the few operations
 * in them. */
#include "emit.h"

/* A partial result: its value, and for argmax and argmin its index. */
typedef struct partial {
  nxl_ref value, index;
} partial;

static const nxk_access *access_of(const nxl_emitter *e, uint64_t number) {
  return number == UINT32_MAX ? NULL : &e->k->accesses[number];
}

enum { MOST_TREES = 16, MOST_STEPS = 8 };

/* Neighbouring instructions that push to trees, or join them, by the same counter. */
typedef struct trees {
  const nxk_instr *in; /* the first */
  uint32_t n;
  nxl_ref count;
  partial p[MOST_TREES];
} trees;

static uint32_t lanes_of_tree(const nxl_emitter *e, const nxk_instr *in) {
  return in->op == NXK_tree_join ? in->lanes : e->k->instrs[in->args[1]].lanes;
}

static nx_dtype type_of_tree(const nxl_emitter *e, const nxk_instr *in) {
  return e->k->buffers[access_of(e, in->imm)->buffer].dtype;
}

/* How many instructions from v on share what v does, as long as two thirds of the registers hold
 * what they carry. */
static uint32_t count_trees(const nxl_emitter *e, nxk_value v) {
  static const int64_t most_bytes[NXL_ISAS] = {160, 320, 1280, 320};
  const nxk_instr *in = &e->k->instrs[v];
  int64_t bytes = 0;
  uint32_t n = 0;
  for (; n < MOST_TREES && v + n < e->k->n_instrs; n++) {
    const nxk_instr *next = &e->k->instrs[v + n];
    if (next->op != in->op || next->args[0] != in->args[0]) break;
    bytes += lanes_of_tree(e, next) * nxi_dtype_size(type_of_tree(e, next));
    if (next->imm2 != UINT32_MAX) bytes += lanes_of_tree(e, next) * (int64_t)sizeof(int64_t);
    if (n > 0 && bytes > most_bytes[e->isa]) break;
  }
  return n;
}

static bool is_known(nxl_ref count) { return LLVMIsAConstantInt(count) != NULL; }

static nxl_ref level_offset(nxl_emitter *e, const nxk_access *a, nxl_ref level) {
  return LLVMBuildMul(e->builder, level, nxl_i64(e, a->tree_stride), "");
}

static partial load_level(nxl_emitter *e, const nxk_instr *in, nxl_ref level, uint32_t lanes) {
  const nxk_access *values = access_of(e, in->imm), *indices = access_of(e, in->imm2);
  partial p = {nxl_emit_load(e, values, lanes, level_offset(e, values, level)), NULL};
  if (indices) p.index = nxl_emit_load(e, indices, lanes, level_offset(e, indices, level));
  return p;
}

static void store_level(nxl_emitter *e, const nxk_instr *in, nxl_ref level, partial p) {
  const nxk_access *values = access_of(e, in->imm), *indices = access_of(e, in->imm2);
  nxl_emit_store(e, values, p.value, level_offset(e, values, level));
  if (indices) nxl_emit_store(e, indices, p.index, level_offset(e, indices, level));
}

static partial combine(nxl_emitter *e, const nxk_instr *in, nx_dtype type, partial a, partial b) {
  partial r = {NULL, NULL};
  if (!a.index) {
    r.value = nxl_combine(e, (nxk_reduce_kind)in->kind, type, a.value, b.value);
    return r;
  }
  nxl_ref better =
      nxl_arg_better(e, (nxk_reduce_kind)in->kind, type, a.value, a.index, b.value, b.index);
  r.value = LLVMBuildSelect(e->builder, better, b.value, a.value, "");
  r.index = LLVMBuildSelect(e->builder, better, b.index, a.index, "");
  return r;
}

/* ---- loops whose state is a partial of each tree and one i64 */

typedef struct tree_loop {
  LLVMBasicBlockRef head, body, after;
  nxl_ref number; /* phi */
  partial phi[MOST_TREES];
} tree_loop;

static nxl_ref phi_from(nxl_emitter *e, nxl_ref initial, LLVMBasicBlockRef from) {
  if (!initial) return NULL;
  nxl_ref phi = LLVMBuildPhi(e->builder, LLVMTypeOf(initial), "");
  LLVMAddIncoming(phi, &initial, &from, 1);
  return phi;
}

/* Afterwards t->p are the values in the current iteration. */
static void open_loop(nxl_emitter *e, tree_loop *l, nxl_ref number, trees *t) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  l->head = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  l->body = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  l->after = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  LLVMBuildBr(e->builder, l->head);
  LLVMPositionBuilderAtEnd(e->builder, l->head);
  l->number = phi_from(e, number, before);
  for (uint32_t i = 0; i < t->n; i++) {
    l->phi[i].value = t->p[i].value = phi_from(e, t->p[i].value, before);
    l->phi[i].index = t->p[i].index = phi_from(e, t->p[i].index, before);
  }
}

static void enter_body(nxl_emitter *e, const tree_loop *l, nxl_ref condition) {
  LLVMBuildCondBr(e->builder, condition, l->body, l->after);
  LLVMPositionBuilderAtEnd(e->builder, l->body);
}

/* Afterwards t->p are the values when the loop has ended. */
static void close_loop(nxl_emitter *e, const tree_loop *l, nxl_ref number, trees *t) {
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(l->number, &number, &latch, 1);
  for (uint32_t i = 0; i < t->n; i++) {
    LLVMAddIncoming(l->phi[i].value, &t->p[i].value, &latch, 1);
    if (l->phi[i].index) LLVMAddIncoming(l->phi[i].index, &t->p[i].index, &latch, 1);
    t->p[i] = l->phi[i];
  }
  LLVMBuildBr(e->builder, l->head);
  LLVMPositionBuilderAtEnd(e->builder, l->after);
}

/* Combines the partials of a level with those at hand. */
static void meet_level(nxl_emitter *e, trees *t, nxl_ref level) {
  for (uint32_t i = 0; i < t->n; i++) {
    const nxk_instr *in = &t->in[i];
    partial there = load_level(e, in, level, lanes_of_tree(e, in));
    t->p[i] = combine(e, in, type_of_tree(e, in), there, t->p[i]);
  }
}

/* ---- pushing: past all levels that are full, to the first that is not */

static nxl_ref push_by_loop(nxl_emitter *e, trees *t) {
  LLVMBuilderRef b = e->builder;
  tree_loop l = {.number = NULL};
  open_loop(e, &l, nxl_i64(e, 0), t);
  enter_body(e, &l, LLVMBuildTrunc(b, LLVMBuildLShr(b, t->count, l.number, ""), e->i1, ""));
  meet_level(e, t, l.number);
  close_loop(e, &l, nxl_advance(e, l.number, 1), t);
  return l.number;
}

static nxl_ref push_by_steps(nxl_emitter *e, trees *t) {
  int64_t level = 0;
  for (uint64_t bits = LLVMConstIntGetZExtValue(t->count); bits & 1; bits >>= 1)
    meet_level(e, t, nxl_i64(e, level++));
  return nxl_i64(e, level);
}

uint32_t nxl_tree_push(nxl_emitter *e, nxk_value v) {
  trees t = {.in = &e->k->instrs[v], .n = count_trees(e, v), .count = NULL};
  t.count = e->values[t.in->args[0]];
  for (uint32_t i = 0; i < t.n; i++) {
    const nxk_instr *in = &t.in[i];
    t.p[i].value = e->values[in->args[1]];
    t.p[i].index = in->imm2 == UINT32_MAX ? NULL : e->values[in->args[2]];
  }
  nxl_ref level = is_known(t.count) ? push_by_steps(e, &t) : push_by_loop(e, &t);
  for (uint32_t i = 0; i < t.n; i++) store_level(e, &t.in[i], level, t.p[i]);
  return t.n;
}

/* ---- joining: the full levels, from the lowest on */

/* The level of the lowest set bit. */
static nxl_ref lowest(nxl_emitter *e, nxl_ref bits) {
  nxl_ref args[2] = {bits, LLVMConstInt(e->i1, 1, 0)};
  return nxl_intrinsic(e, "llvm.cttz", &e->i64, 1, args, 2);
}

static nxl_ref without_lowest(nxl_emitter *e, nxl_ref bits) {
  return LLVMBuildAnd(e->builder, bits, LLVMBuildSub(e->builder, bits, nxl_i64(e, 1), ""), "");
}

static void load_levels(nxl_emitter *e, trees *t, nxl_ref level) {
  for (uint32_t i = 0; i < t->n; i++) t->p[i] = load_level(e, &t->in[i], level, t->in[i].lanes);
}

static void join_by_loop(nxl_emitter *e, trees *t) {
  tree_loop l = {.number = NULL};
  load_levels(e, t, lowest(e, t->count));
  open_loop(e, &l, without_lowest(e, t->count), t);
  enter_body(e, &l, LLVMBuildICmp(e->builder, LLVMIntNE, l.number, nxl_i64(e, 0), ""));
  meet_level(e, t, lowest(e, l.number));
  close_loop(e, &l, without_lowest(e, l.number), t);
}

static void join_by_steps(nxl_emitter *e, trees *t, uint64_t bits) {
  load_levels(e, t, nxl_i64(e, __builtin_ctzll(bits)));
  for (bits &= bits - 1; bits; bits &= bits - 1)
    meet_level(e, t, nxl_i64(e, __builtin_ctzll(bits)));
}

uint32_t nxl_tree_join(nxl_emitter *e, nxk_value v) {
  trees t = {.in = &e->k->instrs[v], .n = count_trees(e, v), .count = NULL};
  t.count = e->values[t.in->args[0]];
  const uint64_t bits = is_known(t.count) ? LLVMConstIntGetZExtValue(t.count) : 0;
  const bool few = bits != 0 && __builtin_popcountll(bits) <= MOST_STEPS;
  if (few) join_by_steps(e, &t, bits);
  else join_by_loop(e, &t);
  for (uint32_t i = 0; i < t.n; i++)
    e->values[v + i] = t.in[i].flags & NXK_INDEX_PART ? t.p[i].index : t.p[i].value;
  return t.n;
}
