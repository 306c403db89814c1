/* SPDX-License-Identifier: ISC */
/* The trees of partial results: a binary counter of arrays, level by level, in the order of
 * ir/kernel/kernel.h. */
#include "emit.h"

/* A partial result: its value, and for argmax and argmin its index. */
typedef struct partial {
  nxl_ref value, index;
} partial;

static const nxk_access *access_of(const nxl_emitter *e, uint64_t number) {
  return number == UINT32_MAX ? NULL : &e->k->accesses[number];
}

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

/* ---- loops whose state is a partial and one i64 */

typedef struct tree_loop {
  LLVMBasicBlockRef head, body, after;
  nxl_ref number; /* phi */
  partial p;      /* phis */
} tree_loop;

static nxl_ref phi_from(nxl_emitter *e, nxl_ref initial, LLVMBasicBlockRef from) {
  if (!initial) return NULL;
  nxl_ref phi = LLVMBuildPhi(e->builder, LLVMTypeOf(initial), "");
  LLVMAddIncoming(phi, &initial, &from, 1);
  return phi;
}

static tree_loop open_loop(nxl_emitter *e, nxl_ref number, partial p) {
  LLVMBasicBlockRef before = LLVMGetInsertBlock(e->builder);
  tree_loop l = {.head = LLVMAppendBasicBlockInContext(e->context, e->function, "")};
  l.body = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  l.after = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  LLVMBuildBr(e->builder, l.head);
  LLVMPositionBuilderAtEnd(e->builder, l.head);
  l.number = phi_from(e, number, before);
  l.p.value = phi_from(e, p.value, before);
  l.p.index = phi_from(e, p.index, before);
  return l;
}

static void enter_body(nxl_emitter *e, const tree_loop *l, nxl_ref condition) {
  LLVMBuildCondBr(e->builder, condition, l->body, l->after);
  LLVMPositionBuilderAtEnd(e->builder, l->body);
}

static void close_loop(nxl_emitter *e, const tree_loop *l, nxl_ref number, partial p) {
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  LLVMAddIncoming(l->number, &number, &latch, 1);
  LLVMAddIncoming(l->p.value, &p.value, &latch, 1);
  if (l->p.index) LLVMAddIncoming(l->p.index, &p.index, &latch, 1);
  LLVMBuildBr(e->builder, l->head);
  LLVMPositionBuilderAtEnd(e->builder, l->after);
}

void nxl_tree_push(nxl_emitter *e, const nxk_instr *in) {
  LLVMBuilderRef b = e->builder;
  nx_dtype type = nxk_dtype(e->k, in->args[1]);
  nxl_ref count = e->values[in->args[0]];
  partial p = {e->values[in->args[1]], in->imm2 == UINT32_MAX ? NULL : e->values[in->args[2]]};
  tree_loop l = open_loop(e, nxl_i64(e, 0), p);
  nxl_ref bit = LLVMBuildTrunc(b, LLVMBuildLShr(b, count, l.number, ""), e->i1, "");
  enter_body(e, &l, bit);
  partial joined = combine(e, in, type, load_level(e, in, l.number, nxl_lanes_of(p.value)), l.p);
  close_loop(e, &l, nxl_advance(e, l.number, 1), joined);
  store_level(e, in, l.number, l.p);
}

/* The level of the lowest set bit. */
static nxl_ref lowest(nxl_emitter *e, nxl_ref bits) {
  nxl_ref args[2] = {bits, LLVMConstInt(e->i1, 1, 0)};
  return nxl_intrinsic(e, "llvm.cttz", &e->i64, 1, args, 2);
}

static nxl_ref without_lowest(nxl_emitter *e, nxl_ref bits) {
  return LLVMBuildAnd(e->builder, bits, LLVMBuildSub(e->builder, bits, nxl_i64(e, 1), ""), "");
}

nxl_ref nxl_tree_join(nxl_emitter *e, const nxk_instr *in) {
  nxl_ref count = e->values[in->args[0]];
  nx_dtype type = e->k->buffers[access_of(e, in->imm)->buffer].dtype;
  partial first = load_level(e, in, lowest(e, count), in->lanes);
  tree_loop l = open_loop(e, without_lowest(e, count), first);
  enter_body(e, &l, LLVMBuildICmp(e->builder, LLVMIntNE, l.number, nxl_i64(e, 0), ""));
  partial joined = combine(e, in, type, load_level(e, in, lowest(e, l.number), in->lanes), l.p);
  close_loop(e, &l, without_lowest(e, l.number), joined);
  return in->flags & NXK_INDEX_PART ? l.p.index : l.p.value;
}
