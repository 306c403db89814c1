/* SPDX-License-Identifier: ISC */
/* Prints a bound kernel as one LLVM function: regions, loops with their carries, cold blocks,
 * lanes. It makes one pass over the instructions, in order. */
#include "emit.h"

#include <string.h>

nxl_ref nxl_refuse(nxl_emitter *e, LLVMTypeRef type, const char *why) {
  e->failed = true;
  nxi_fail(e->diag, NX_INTERNAL, "", "kernel %s: %s", e->k->name, why);
  return LLVMGetPoison(type);
}

/* ---- types and small pieces */

LLVMTypeRef nxl_scalar_type(nxl_emitter *e, nx_dtype t) {
  if (t == NX_BOOL) return e->i1;
  if (t == NX_F32) return LLVMFloatTypeInContext(e->context);
  if (t == NX_F64) return LLVMDoubleTypeInContext(e->context);
  return LLVMIntTypeInContext(e->context, nxi_dtypes[t].bits);
}

LLVMTypeRef nxl_vector_of(LLVMTypeRef scalar, uint32_t lanes) {
  return lanes == 1 ? scalar : LLVMVectorType(scalar, lanes);
}

LLVMTypeRef nxl_type(nxl_emitter *e, nx_dtype t, uint32_t lanes) {
  return nxl_vector_of(nxl_scalar_type(e, t), lanes);
}

uint32_t nxl_lanes_of(nxl_ref v) {
  LLVMTypeRef type = LLVMTypeOf(v);
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
}

static nxl_ref constant_splat(nxl_ref scalar, uint32_t lanes) {
  nxl_ref all[128];
  if (lanes == 1) return scalar;
  for (uint32_t i = 0; i < lanes; i++) all[i] = scalar;
  return LLVMConstVector(all, lanes);
}

nxl_ref nxl_int(nxl_emitter *e, LLVMTypeRef scalar, uint32_t lanes, uint64_t value) {
  (void)e;
  uint32_t bits = LLVMGetIntTypeWidth(scalar);
  if (bits < 64) value &= (UINT64_C(1) << bits) - 1;
  return constant_splat(LLVMConstInt(scalar, value, 0), lanes);
}

nxl_ref nxl_i64(nxl_emitter *e, int64_t value) { return LLVMConstInt(e->i64, (uint64_t)value, 0); }

nxl_ref nxl_float(nxl_emitter *e, nx_dtype t, uint32_t lanes, double value) {
  return constant_splat(LLVMConstReal(nxl_scalar_type(e, t), value), lanes);
}

nxl_ref nxl_splat(nxl_emitter *e, nxl_ref scalar, uint32_t lanes) {
  if (LLVMIsConstant(scalar)) return constant_splat(scalar, lanes);
  LLVMTypeRef type = nxl_vector_of(LLVMTypeOf(scalar), lanes);
  nxl_ref one =
      LLVMBuildInsertElement(e->builder, LLVMGetPoison(type), scalar, nxl_int(e, e->i32, 1, 0), "");
  return LLVMBuildShuffleVector(e->builder, one, LLVMGetPoison(type), nxl_int(e, e->i32, lanes, 0),
                                "");
}

static nxl_ref shuffle(nxl_emitter *e, nxl_ref v, const uint32_t *order, uint32_t lanes) {
  nxl_ref mask[128];
  for (uint32_t i = 0; i < lanes; i++) mask[i] = LLVMConstInt(e->i32, order[i], 0);
  return LLVMBuildShuffleVector(e->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                LLVMConstVector(mask, lanes), "");
}

nxl_ref nxl_slice(nxl_emitter *e, nxl_ref v, uint32_t first, uint32_t lanes) {
  uint32_t order[128];
  if (lanes == 1) return LLVMBuildExtractElement(e->builder, v, nxl_int(e, e->i32, 1, first), "");
  for (uint32_t i = 0; i < lanes; i++) order[i] = first + i;
  return shuffle(e, v, order, lanes);
}

nxl_ref nxl_reverse(nxl_emitter *e, nxl_ref v) {
  uint32_t order[128], lanes = nxl_lanes_of(v);
  for (uint32_t i = 0; i < lanes; i++) order[i] = lanes - 1 - i;
  return shuffle(e, v, order, lanes);
}

nxl_ref nxl_intrinsic(nxl_emitter *e, const char *name, LLVMTypeRef *types, uint32_t n_types,
                      nxl_ref *args, uint32_t n_args) {
  uint32_t id = LLVMLookupIntrinsicID(name, strlen(name));
  if (!id) return nxl_refuse(e, LLVMTypeOf(args[0]), "this LLVM lacks an intrinsic");
  nxl_ref f = LLVMGetIntrinsicDeclaration(e->module, id, types, n_types);
  return LLVMBuildCall2(e->builder, LLVMIntrinsicGetType(e->context, id, types, n_types), f, args,
                        n_args, "");
}

nxl_ref nxl_intrinsic_of(nxl_emitter *e, const char *name, nxl_ref a, nxl_ref b, nxl_ref c) {
  nxl_ref args[3] = {a, b, c};
  LLVMTypeRef type = LLVMTypeOf(a);
  return nxl_intrinsic(e, name, &type, 1, args, c ? 3 : b ? 2 : 1);
}

/* ---- constants and parameters */

static nxl_ref constant(nxl_emitter *e, nx_dtype t, uint64_t bits) {
  nxl_ref raw = t == NX_BOOL
                    ? nxl_int(e, e->i1, 1, bits)
                    : nxl_int(e, LLVMIntTypeInContext(e->context, nxi_dtypes[t].bits), 1, bits);
  return LLVMConstBitCast(raw, nxl_scalar_type(e, t));
}

static nxl_ref parameter(nxl_emitter *e, uint64_t number, nx_dtype t) {
  LLVMBuilderRef b = e->builder;
  nxl_ref at = nxl_i64(e, (int64_t)number),
          p = LLVMBuildGEP2(b, e->i64, LLVMGetParam(e->function, 1), &at, 1, "");
  nxl_ref word = LLVMBuildLoad2(b, e->i64, p, "");
  if (t == NX_BOOL) return LLVMBuildICmp(b, LLVMIntNE, word, nxl_i64(e, 0), "");
  nxl_ref raw = LLVMBuildTrunc(b, word, LLVMIntTypeInContext(e->context, nxi_dtypes[t].bits), "");
  return LLVMBuildBitCast(b, raw, nxl_scalar_type(e, t), "");
}

/* The bits of an integer that is a constant or a splat of one; 0 if it is neither. */
static uint64_t known_bits(const nxl_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  if (in->op == NXK_splat) in = &e->k->instrs[in->args[0]];
  return in->op == NXK_const && nxi_is_integer(in->dtype) ? in->imm : 0;
}

static nxl_ref scalar_instr(nxl_emitter *e, const nxk_instr *in) {
  nxl_ref args[3] = {NULL, NULL, NULL};
  for (uint32_t i = 0; i < in->n_args; i++) {
    args[i] = nxl_operand_abreast(e, in->args[i]);
    if (in->lanes > 1 && nxl_lanes_of(args[i]) == 1) args[i] = nxl_splat(e, args[i], in->lanes);
  }
  nx_dtype type = nxk_dtype(e->k, in->args[in->op == NXK_select ? 2 : 0]);
  nxl_operands o = {type, in->dtype, in->lanes, args[0], args[1], args[2], 0};
  if (in->op == NXK_div || in->op == NXK_mod) o.divisor = known_bits(e, in->args[1]);
  return nxl_scalar(e, (nxk_op)in->op, &o);
}

nxl_ref nxl_emit_value(nxl_emitter *e, const nxk_instr *in) {
  if (in->op == NXK_const) return constant(e, in->dtype, in->imm);
  if (in->op != NXK_splat) {
    nxl_ref called = e->calls ? nxl_emit_call(e, in) : NULL;
    return called ? called : scalar_instr(e, in);
  }
  nxl_ref value = e->values[in->args[0]];
  return in->lanes == 1 ? value : nxl_splat(e, value, in->lanes);
}

/* ---- regions: region p runs its tasks [max(begin - base, 0), min(end - base, count)) */

static nxl_ref task_count(nxl_emitter *e, const nxk_region *p) {
  if (p->tasks_param < 0) return nxl_i64(e, p->tasks);
  LLVMBuilderRef b = e->builder;
  nxl_ref n = parameter(e, (uint64_t)p->tasks_param, NX_I64), zero = nxl_i64(e, 0);
  n = nxl_intrinsic_of(e, "llvm.smax", n, zero, NULL);
  int64_t divisor = p->tasks_divisor;
  if (divisor <= 0) return zero;
  return LLVMBuildUDiv(b, LLVMBuildAdd(b, n, nxl_i64(e, divisor - 1), ""), nxl_i64(e, divisor), "");
}

static void begin_region(nxl_emitter *e, nxk_value v) {
  const nxk_region *region = NULL;
  for (uint32_t i = 0; i < e->k->n_regions; i++)
    if (e->k->regions[i].instr == v) region = &e->k->regions[i];
  if (!region) {
    nxl_refuse(e, e->i64, "a region has no row");
    return;
  }
  LLVMBuilderRef b = e->builder;
  nxl_ref count = task_count(e, region), zero = nxl_i64(e, 0);
  nxl_ref lower = LLVMBuildSub(b, LLVMGetParam(e->function, 2), e->task_base, "");
  nxl_ref upper = LLVMBuildSub(b, LLVMGetParam(e->function, 3), e->task_base, "");
  e->task_lower = nxl_intrinsic_of(e, "llvm.smax", lower, zero, NULL);
  e->task_upper = nxl_intrinsic_of(e, "llvm.smin", upper, count, NULL);
  e->task_base = LLVMBuildAdd(b, e->task_base, count, "");
}

/* ---- loops, printed with the test at the end */

/* The next value of a loop's index. llvm.expect changes nothing, but hides the induction from
 * LLVM's loop strength reduction, which takes a third of the compile time of a kernel and gains
 * nothing: indices go into addresses as they are, and what is invariant is hoisted without it. */
nxl_ref nxl_advance(nxl_emitter *e, nxl_ref index, int64_t step) {
  nxl_ref args[2] = {LLVMBuildAdd(e->builder, index, nxl_i64(e, step), ""), nxl_i64(e, 0)};
  return nxl_intrinsic(e, "llvm.expect", &e->i64, 1, args, 2);
}

static nxl_ref bound(nxl_emitter *e, nxk_bound_value v) {
  return v.value == NXK_NONE ? nxl_i64(e, v.constant) : e->values[v.value];
}

/* Whether the body does not run twice. Three of four loops of kernels are such, of dimensions that
 * fill one vector or one task, and a loop costs LLVM more time than most bodies. */
static bool runs_once(const nxl_emitter *e, nxk_value v, const nxk_loop *loop) {
  for (uint32_t i = 0; loop->kind == NXK_TASK && i < e->k->n_regions; i++)
    if (e->k->regions[i].instr == e->k->instrs[v].block)
      return e->k->regions[i].tasks_param < 0 && e->k->regions[i].tasks == 1;
  return loop->lower.value == NXK_NONE && loop->upper.value == NXK_NONE &&
         loop->step >= loop->upper.constant - loop->lower.constant;
}

static void begin_for(nxl_emitter *e, nxk_value v) {
  LLVMBuilderRef b = e->builder;
  nxl_block *block = &e->blocks[v];
  const nxk_loop *loop = &e->k->loops[e->k->instrs[v].imm];
  if (loop->kind == NXK_TASK) { /* the index is the number of the task within the region */
    block->lower = e->task_lower;
    block->upper = e->task_upper;
    block->guarded = true;
  } else {
    block->lower = bound(e, loop->lower);
    block->upper = bound(e, loop->upper);
    bool known = loop->lower.value == NXK_NONE && loop->upper.value == NXK_NONE;
    block->guarded = !(known && loop->lower.constant < loop->upper.constant);
  }
  block->before = LLVMGetInsertBlock(b);
  block->once = runs_once(e, v, loop);
  if (block->once && !block->guarded) { /* no loop, and no block */
    e->values[v] = block->lower;
    return;
  }
  block->body = LLVMAppendBasicBlockInContext(e->context, e->function, "loop");
  block->after = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  if (block->guarded)
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, block->lower, block->upper, ""), block->body,
                    block->after);
  else LLVMBuildBr(b, block->body);
  LLVMPositionBuilderAtEnd(b, block->body);
  e->values[v] = loop->kind == NXK_TASK ? nxl_i64(e, 0) : block->lower;
  if (block->once) return;
  e->values[v] = LLVMBuildPhi(b, e->i64, "");
  LLVMAddIncoming(e->values[v], &block->lower, &block->before, 1);
}

static void begin_carry(nxl_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  nxl_ref initial = e->values[in->args[0]];
  e->values[v] = e->next[v] = initial;
  if (e->blocks[in->block].once) return;
  e->values[v] = LLVMBuildPhi(e->builder, LLVMTypeOf(initial), "");
  LLVMAddIncoming(e->values[v], &initial, &e->blocks[in->block].before, 1);
  e->next[v] = e->values[v];
}

/* After the loop a carry is its last `next`, or its initial value if the body did not run. */
static void end_carry(nxl_emitter *e, nxk_value v, const nxl_block *block,
                      LLVMBasicBlockRef latch) {
  nxl_ref initial = e->values[e->k->instrs[v].args[0]], next = e->next[v];
  if (!block->once) LLVMAddIncoming(e->values[v], &next, &latch, 1);
  if (block->guarded) {
    nxl_ref phi = LLVMBuildPhi(e->builder, LLVMTypeOf(next), "");
    LLVMAddIncoming(phi, &next, &latch, 1);
    LLVMAddIncoming(phi, &initial, (LLVMBasicBlockRef *)&block->before, 1);
    e->next[v] = phi;
  }
}

/* The end of a body that may run again. */
static void go_on(nxl_emitter *e, nxk_value v, const nxl_block *block, LLVMBasicBlockRef latch) {
  LLVMBuilderRef b = e->builder;
  nxl_ref next = nxl_advance(e, e->values[v], e->k->loops[e->k->instrs[v].imm].step);
  nxl_ref more = LLVMBuildICmp(b, LLVMIntSLT, next, block->upper, "");
  if (block->last) more = LLVMBuildAnd(b, more, LLVMBuildNot(b, block->last, ""), "");
  LLVMBuildCondBr(b, more, block->body, block->after);
  LLVMAddIncoming(e->values[v], &next, &latch, 1);
}

static void end_for(nxl_emitter *e, nxk_value v) {
  const nxl_block *block = &e->blocks[v];
  LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
  if (!block->once) go_on(e, v, block, latch);
  else if (block->guarded) LLVMBuildBr(e->builder, block->after);
  if (!block->once || block->guarded) LLVMPositionBuilderAtEnd(e->builder, block->after);
  nxk_value last = v + 1;
  while (e->k->instrs[last].op == NXK_carry) end_carry(e, last++, block, latch);
  for (nxk_value carry = v + 1; carry < last; carry++) e->values[carry] = e->next[carry];
}

/* ---- cold blocks */

nxl_ref nxl_any_lane(nxl_emitter *e, nxl_ref predicate) {
  uint32_t lanes = nxl_lanes_of(predicate);
  if (lanes == 1) return predicate;
  LLVMTypeRef bits = LLVMIntTypeInContext(e->context, lanes);
  return LLVMBuildICmp(e->builder, LLVMIntNE, LLVMBuildBitCast(e->builder, predicate, bits, ""),
                       LLVMConstNull(bits), "");
}

/* Tells LLVM to move the block out of the way. */
static void mark_unlikely(nxl_emitter *e, nxl_ref branch) {
  LLVMMetadataRef parts[3] = {LLVMMDStringInContext2(e->context, "branch_weights", 14),
                              LLVMValueAsMetadata(nxl_int(e, e->i32, 1, 1)),
                              LLVMValueAsMetadata(nxl_int(e, e->i32, 1, 2000))};
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->context, "prof", 4),
                  LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, parts, 3)));
}

static void begin_cold(nxl_emitter *e, nxk_value v) {
  nxl_block *block = &e->blocks[v];
  block->predicate = e->values[e->k->instrs[v].args[0]];
  nxl_ref any = nxl_any_lane(e, block->predicate);
  block->before = LLVMGetInsertBlock(e->builder);
  block->body = LLVMAppendBasicBlockInContext(e->context, e->function, "cold");
  block->after = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  mark_unlikely(e, LLVMBuildCondBr(e->builder, any, block->body, block->after));
  LLVMPositionBuilderAtEnd(e->builder, block->body);
}

static void end_cold(nxl_emitter *e, nxk_value v) {
  nxl_block *block = &e->blocks[v];
  block->body = LLVMGetInsertBlock(e->builder);
  LLVMBuildBr(e->builder, block->after);
  LLVMPositionBuilderAtEnd(e->builder, block->after);
}

/* A phi at the head of the block after a cold one. */
static nxl_ref join_cold(nxl_emitter *e, const nxl_block *block, nxl_ref inside, nxl_ref skipped) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  nxl_ref first = LLVMGetFirstInstruction(block->after);
  if (first) LLVMPositionBuilderBefore(e->builder, first);
  else LLVMPositionBuilderAtEnd(e->builder, block->after);
  nxl_ref phi = LLVMBuildPhi(e->builder, LLVMTypeOf(inside), "");
  LLVMAddIncoming(phi, &inside, (LLVMBasicBlockRef *)&block->body, 1);
  LLVMAddIncoming(phi, &skipped, (LLVMBasicBlockRef *)&block->before, 1);
  LLVMPositionBuilderAtEnd(e->builder, here);
  return phi;
}

static nxl_ref blend(nxl_emitter *e, const nxk_instr *in) {
  const nxl_block *block = &e->blocks[in->args[0]];
  nxl_ref inside = e->values[in->args[1]], other = e->values[in->args[2]];
  /* the other value is known before the block, so the select can be inside it */
  if (in->args[2] < in->args[0]) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderBefore(e->builder, LLVMGetBasicBlockTerminator(block->body));
    nxl_ref chosen = LLVMBuildSelect(e->builder, block->predicate, inside, other, "");
    LLVMPositionBuilderAtEnd(e->builder, here);
    return join_cold(e, block, chosen, other);
  }
  nxl_ref joined = join_cold(e, block, inside, LLVMConstNull(LLVMTypeOf(inside)));
  return LLVMBuildSelect(e->builder, block->predicate, joined, other, "");
}

/* ---- lanes */

static nxl_ref iota(nxl_emitter *e, LLVMTypeRef scalar, uint32_t lanes) {
  nxl_ref all[128];
  if (lanes == 1) return nxl_int(e, scalar, 1, 0);
  for (uint32_t i = 0; i < lanes; i++) all[i] = LLVMConstInt(scalar, i, 0);
  return LLVMConstVector(all, lanes);
}

static nxl_ref step_vector(nxl_emitter *e, const nxk_instr *in) {
  nxl_ref base = e->values[in->args[0]];
  if (in->lanes == 1) return base;
  return LLVMBuildAdd(e->builder, nxl_splat(e, base, in->lanes), iota(e, e->i64, in->lanes), "");
}

/* The number of active lanes, clamped to [0, lanes], is compared with the lane numbers in a narrow
 * type. */
static nxl_ref active(nxl_emitter *e, const nxk_instr *in) {
  LLVMBuilderRef b = e->builder;
  nxl_ref base = e->values[in->args[0]], end = e->values[in->args[1]];
  if (in->lanes == 1) return LLVMBuildICmp(b, LLVMIntSLT, base, end, "");
  nxl_ref count = LLVMBuildSub(b, end, base, "");
  count = nxl_intrinsic_of(e, "llvm.smax", count, nxl_i64(e, 0), NULL);
  count = nxl_intrinsic_of(e, "llvm.smin", count, nxl_i64(e, in->lanes), NULL);
  LLVMTypeRef scalar = e->isa == NXL_AVX512 && in->lanes >= 16 ? e->i8 : e->i32;
  nxl_ref all = nxl_splat(e, LLVMBuildTrunc(b, count, scalar, ""), in->lanes);
  return LLVMBuildICmp(b, LLVMIntULT, iota(e, scalar, in->lanes), all, "");
}

static nxl_ref lane_reduce(nxl_emitter *e, const nxk_instr *in) {
  nx_dtype type = nxk_dtype(e->k, in->args[0]);
  nxk_reduce_kind kind = (nxk_reduce_kind)in->kind;
  nxl_ref v = e->values[in->args[0]], index = in->n_args > 1 ? e->values[in->args[1]] : NULL;
  for (uint32_t half = nxl_lanes_of(v) / 2; half; half /= 2) {
    nxl_ref low = nxl_slice(e, v, 0, half), high = nxl_slice(e, v, half, half);
    if (!index) {
      v = nxl_combine(e, kind, type, low, high);
      continue;
    }
    nxl_ref low_index = nxl_slice(e, index, 0, half), high_index = nxl_slice(e, index, half, half);
    nxl_ref better = nxl_arg_better(e, kind, type, low, low_index, high, high_index);
    v = LLVMBuildSelect(e->builder, better, high, low, "");
    index = LLVMBuildSelect(e->builder, better, high_index, low_index, "");
  }
  return index ? index : v;
}

/* ---- instructions */

static void end_block(nxl_emitter *e, nxk_value opener) {
  if (e->k->instrs[opener].op == NXK_for) end_for(e, opener);
  if (e->apart == opener) nxl_end_apart(e, opener);
  if (e->k->instrs[opener].op == NXK_cold) end_cold(e, opener);
}

static void instruction(nxl_emitter *e, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  if (in->op == NXK_for || in->op == NXK_cold) nxl_begin_abreast(e, v);
  switch (in->op) {
    case NXK_const:
    case NXK_splat: e->values[v] = nxl_emit_value(e, in); break;
    case NXK_param: e->values[v] = parameter(e, in->imm, in->dtype); break;
    case NXK_region: begin_region(e, v); break;
    case NXK_for:
      if (e->k->loops[in->imm].apart) nxl_begin_apart(e, v);
      begin_for(e, v);
      break;
    case NXK_cold:
      begin_cold(e, v);
      nxl_call_cold(e, v);
      break;
    case NXK_end: end_block(e, in->block); break;
    case NXK_blend: e->values[v] = blend(e, in); break;
    case NXK_load: nxl_emit_loads(e, v); break;
    case NXK_store:
      nxl_emit_store(e, &e->k->accesses[in->imm], e->values[in->args[0]], NULL);
      break;
    case NXK_carry: begin_carry(e, v); break;
    case NXK_next: e->next[in->args[0]] = e->values[in->args[1]]; break;
    case NXK_until: e->blocks[in->block].last = e->values[in->args[0]]; break;
    case NXK_step_vector: e->values[v] = step_vector(e, in); break;
    case NXK_active: e->values[v] = active(e, in); break;
    case NXK_interleave_low:
    case NXK_interleave_high: e->values[v] = nxl_interleave(e, in); break;
    case NXK_concat: e->values[v] = nxl_concat(e, in); break;
    case NXK_deinterleave: e->values[v] = nxl_deinterleave(e, in); break;
    case NXK_interleave: e->values[v] = nxl_interleave_all(e, in); break;
    case NXK_lane_reduce: e->values[v] = lane_reduce(e, in); break;
    case NXK_tree_push: e->resume = v + nxl_tree_push(e, v); break;
    case NXK_tree_join: e->resume = v + nxl_tree_join(e, v); break;
    default:
      if (in->op < NXK_SCALAR_COUNT) e->values[v] = nxl_emit_value(e, in);
      else nxl_refuse(e, e->i64, "an instruction of the logical level");
  }
  e->values[v] = nxl_keep_abreast(e, v);
}

/* ---- the function */

static void enum_attribute(nxl_emitter *e, LLVMAttributeIndex at, const char *name) {
  uint32_t kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  if (kind) LLVMAddAttributeAtIndex(e->function, at, LLVMCreateEnumAttribute(e->context, kind, 0));
}

static void make_function(nxl_emitter *e) {
  LLVMTypeRef args[5] = {e->pointer, e->pointer, e->i64, e->i64, e->pointer};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), args, 5, 0);
  e->function = LLVMAddFunction(e->module, e->k->name, type);
  enum_attribute(e, LLVMAttributeFunctionIndex, "nounwind");
  LLVMBasicBlockRef start = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  e->entry = start;
  LLVMPositionBuilderAtEnd(e->builder, LLVMAppendBasicBlockInContext(e->context, e->function, ""));
}

/* Loads the base pointers: those of launch buffers from the table; LOCAL arrays lie one after the
 * other in the scratch memory. */
void nxl_load_bases(nxl_emitter *e) {
  int64_t offset = 0;
  for (uint32_t i = 0; i < e->k->n_buffers; i++) {
    const nxk_buffer *buffer = &e->k->buffers[i];
    if (buffer->kind == NXK_LOCAL) {
      nxl_ref at = nxl_i64(e, offset);
      e->bases[i] = LLVMBuildGEP2(e->builder, e->i8, LLVMGetParam(e->function, 4), &at, 1, "");
      offset += (buffer->elements * nxi_dtype_size(buffer->dtype) + 63) & ~INT64_C(63);
    } else {
      nxl_ref at = nxl_i64(e, i), slot = LLVMBuildGEP2(e->builder, e->pointer,
                                                       LLVMGetParam(e->function, 0), &at, 1, "");
      e->bases[i] = LLVMBuildLoad2(e->builder, e->pointer, slot, "");
    }
  }
}

static bool make_tables(nxl_emitter *e) {
  uint32_t n = e->k->n_instrs + 1, m = e->k->n_buffers + 1;
  e->values = nxi_calloc(n, sizeof *e->values);
  e->loaded = nxi_calloc(n, sizeof *e->loaded);
  e->next = nxi_calloc(n, sizeof *e->next);
  e->blocks = nxi_calloc(n, sizeof *e->blocks);
  e->bases = nxi_calloc(m, sizeof *e->bases);
  e->scopes = nxi_calloc(m, sizeof *e->scopes);
  e->own_scope = nxi_calloc(m, sizeof *e->own_scope);
  e->other_scopes = nxi_calloc(m, sizeof *e->other_scopes);
  return e->values && e->loaded && e->next && e->blocks && e->bases && e->scopes && e->own_scope &&
         e->other_scopes;
}

static void free_tables(nxl_emitter *e) {
  nxi_free(e->values);
  nxi_free(e->loaded);
  nxi_free(e->next);
  nxi_free(e->blocks);
  nxi_free(e->bases);
  nxi_free(e->scopes);
  nxi_free(e->outside.bases);
  nxi_free(e->own_scope);
  nxi_free(e->other_scopes);
}

/* The most loads of a kernel that get a branch which skips them. */
enum { MOST_JUMPS = 64 };

static bool has_many_skips(const nxk_kernel *k) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->n_accesses; i++) n += (k->accesses[i].flags & NXK_SKIPS) != 0;
  return n > MOST_JUMPS;
}

static void print_kernel(nxl_emitter *e) {
  e->clamps = has_many_skips(e->k);
  e->apart = NXK_NONE;
  make_function(e);
  LLVMBasicBlockRef code = LLVMGetInsertBlock(e->builder);
  nxl_make_scopes(e);
  nxl_load_bases(e);
  e->task_base = nxl_i64(e, 0);
  for (nxk_value v = 0; v < e->k->n_instrs && !e->failed; v++)
    if (v >= e->resume) instruction(e, v);
  /* Nontemporal stores are not ordered with other stores, so a fence at the end of the kernel
   * completes them. */
  for (uint32_t i = 0; i < e->k->n_accesses; i++)
    if (e->k->accesses[i].flags & NXK_NONTEMPORAL) {
      LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
      break;
    }
  LLVMBuildRetVoid(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, e->entry);
  LLVMBuildBr(e->builder, code);
}

nx_status nxl_emit(nxl_emitter *e) {
  e->i1 = LLVMInt1TypeInContext(e->context);
  e->i8 = LLVMInt8TypeInContext(e->context);
  e->i32 = LLVMInt32TypeInContext(e->context);
  e->i64 = LLVMInt64TypeInContext(e->context);
  e->pointer = LLVMPointerTypeInContext(e->context, 0);
  if (e->k->level != NXK_BOUND || e->k->failed)
    return nxi_fail(e->diag, NX_INTERNAL, "", "kernel %s is not bound", e->k->name);
  if (make_tables(e)) print_kernel(e);
  else e->failed = true, nxi_oom(e->diag);
  free_tables(e);
  return !e->failed ? NX_OK : e->diag ? e->diag->status : NX_INTERNAL;
}
