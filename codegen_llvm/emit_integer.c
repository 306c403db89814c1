/* SPDX-License-Identifier: ISC */
/* Integer operations that are more than one LLVM instruction: total division and shifts, and the
 * high half of a product. Nothing may be poison for any operand, and nothing may become a library
 * call. */
#include "emit.h"

nxl_ref nxl_emit_negate(nxl_emitter *e, const nxl_operands *o) {
  return LLVMBuildNeg(e->builder, o->a, "");
}

nxl_ref nxl_emit_absolute(nxl_emitter *e, const nxl_operands *o) {
  LLVMTypeRef type = LLVMTypeOf(o->a);
  nxl_ref args[2] = {o->a, LLVMConstInt(e->i1, 0, 0)}; /* not poison for the least value */
  return nxl_intrinsic(e, "llvm.abs", &type, 1, args, 2);
}

nxl_ref nxl_emit_leading_zeros(nxl_emitter *e, const nxl_operands *o) {
  LLVMTypeRef type = LLVMTypeOf(o->a);
  nxl_ref args[2] = {o->a, LLVMConstInt(e->i1, 0, 0)}; /* not poison for 0 */
  return nxl_intrinsic(e, "llvm.ctlz", &type, 1, args, 2);
}

/* ---- rotations, and values whose bits LLVM is not to look for */

/* The count of a shift by the same constant in all lanes, or -1. Numbers of lanes are constants,
 * too, in a loop that runs once. */
static int64_t constant_count(nxl_ref shift) {
  nxl_ref counts = LLVMGetOperand(shift, 1), count = counts;
  const uint32_t lanes = LLVMIsConstant(counts) ? nxl_lanes_of(counts) : 1;
  if (lanes > 1) count = LLVMGetAggregateElement(counts, 0);
  for (uint32_t i = 1; i < lanes; i++)
    if (LLVMGetAggregateElement(counts, i) != count) return -1;
  return LLVMIsAConstantInt(count) ? (int64_t)LLVMConstIntGetZExtValue(count) : -1;
}

static bool is_opcode(nxl_ref v, LLVMOpcode opcode) {
  return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == opcode;
}

/* Two shifts of one value that make a rotation are one, which LLVM would have to find. */
nxl_ref nxl_emit_or(nxl_emitter *e, const nxl_operands *o) {
  nxl_ref left = is_opcode(o->a, LLVMShl) ? o->a : o->b, right = left == o->a ? o->b : o->a;
  if (is_opcode(left, LLVMShl) && is_opcode(right, LLVMLShr) &&
      LLVMGetOperand(left, 0) == LLVMGetOperand(right, 0)) {
    int64_t by = constant_count(left), back = constant_count(right);
    if (by > 0 && back > 0 && by + back == (int64_t)nxi_dtypes[o->type].bits) {
      nxl_ref x = LLVMGetOperand(left, 0);
      return nxl_intrinsic_of(e, "llvm.fshl", x, x, LLVMGetOperand(left, 1));
    }
  }
  return LLVMBuildOr(e->builder, o->a, o->b, "");
}

enum { DEPTH = 6, MANY = 6 };

/* Instructions and their operands that LLVM visits for the bits of v; it goes DEPTH deep, and
 * visits an operand as often as it meets it. More than MANY are not counted. */
static uint32_t visits(nxl_ref v, uint32_t depth) {
  if (LLVMIsConstant(v)) return 0;
  if (depth == 0 || !LLVMIsAInstruction(v)) return 1;
  switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr: break;
    default: return 1;
  }
  uint32_t n = 1 + visits(LLVMGetOperand(v, 0), depth - 1);
  return n > MANY ? n : n + visits(LLVMGetOperand(v, 1), depth - 1);
}

nxl_ref nxl_hide_bits(nxl_emitter *e, nx_dtype t, uint32_t lanes, nxl_ref v) {
  uint32_t bits = nxi_dtypes[t].bits;
  if (lanes == 1 || bits < 32 || bits * lanes % 128 != 0 || visits(v, DEPTH) <= MANY) return v;
  LLVMTypeRef real = nxl_type(e, bits == 64 ? NX_F64 : NX_F32, lanes);
  nxl_ref hidden = nxl_intrinsic_of(e, "llvm.arithmetic.fence",
                                    LLVMBuildBitCast(e->builder, v, real, ""), NULL, NULL);
  return LLVMBuildBitCast(e->builder, hidden, LLVMTypeOf(v), "");
}

/* ---- shifts. The operand that a select does not choose may be poison. */

static nxl_ref in_range(nxl_emitter *e, const nxl_operands *o) {
  nxl_ref width = nxl_int(e, nxl_scalar_type(e, o->type), o->lanes, nxi_dtypes[o->type].bits);
  return LLVMBuildICmp(e->builder, LLVMIntULT, o->b, width, "");
}

/* shifted where the count is in range, else 0. */
static nxl_ref or_zero(nxl_emitter *e, const nxl_operands *o, nxl_ref shifted) {
  nxl_ref fits = in_range(e, o), zero = LLVMConstNull(LLVMTypeOf(o->a));
  if (fits == LLVMConstAllOnes(LLVMTypeOf(fits))) return shifted;
  return LLVMBuildSelect(e->builder, fits, shifted, zero, "");
}

nxl_ref nxl_emit_shift_left(nxl_emitter *e, const nxl_operands *o) {
  return or_zero(e, o, LLVMBuildShl(e->builder, o->a, o->b, ""));
}

nxl_ref nxl_emit_shift_zero(nxl_emitter *e, const nxl_operands *o) {
  return or_zero(e, o, LLVMBuildLShr(e->builder, o->a, o->b, ""));
}

nxl_ref nxl_emit_shift_sign(nxl_emitter *e, const nxl_operands *o) {
  nxl_ref last = nxl_int(e, nxl_scalar_type(e, o->type), o->lanes, nxi_dtypes[o->type].bits - 1);
  nxl_ref count = LLVMBuildSelect(e->builder, in_range(e, o), o->b, last, "");
  return LLVMBuildAShr(e->builder, o->a, count, "");
}

/* ---- division */

/* The least value of a signed type, in the type's own bits. */
static uint64_t least(nx_dtype t) { return UINT64_C(1) << (nxi_dtypes[t].bits - 1); }

/* Lanes where the machine's division is not defined. */
static nxl_ref undefined_division(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef scalar = nxl_scalar_type(e, o->type);
  nxl_ref bad = LLVMBuildICmp(b, LLVMIntEQ, o->b, LLVMConstNull(LLVMTypeOf(o->b)), "");
  if (!nxi_is_signed(o->type)) return bad;
  nxl_ref overflow =
      LLVMBuildICmp(b, LLVMIntEQ, o->a, nxl_int(e, scalar, o->lanes, least(o->type)), "");
  nxl_ref minus_one =
      LLVMBuildICmp(b, LLVMIntEQ, o->b, nxl_int(e, scalar, o->lanes, UINT64_MAX), "");
  return LLVMBuildOr(b, bad, LLVMBuildAnd(b, overflow, minus_one, ""), "");
}

/* Quotients of up to 32 bits through floats: the quotient a / b of n-bit integers is at least 2^-n
 * (relative) below the next integer if it is not one, and the rounding of f32 (n <= 16) and f64 (n
 * = 32) is finer. `divisor` is neither 0 nor overflowing. */
static nxl_ref divide_as_float(nxl_emitter *e, const nxl_operands *o, nxl_ref divisor) {
  LLVMBuilderRef b = e->builder;
  bool wide = nxi_dtypes[o->type].bits == 32, is_signed = nxi_is_signed(o->type);
  LLVMTypeRef real = nxl_type(e, wide ? NX_F64 : NX_F32, o->lanes),
              word = nxl_vector_of(e->i32, o->lanes);
  nxl_ref x = o->a, y = divisor;
  if (!wide) {
    x = is_signed ? LLVMBuildSExt(b, x, word, "") : LLVMBuildZExt(b, x, word, "");
    y = is_signed ? LLVMBuildSExt(b, y, word, "") : LLVMBuildZExt(b, y, word, "");
  }
  bool as_signed = is_signed || !wide;
  x = as_signed ? LLVMBuildSIToFP(b, x, real, "") : LLVMBuildUIToFP(b, x, real, "");
  y = as_signed ? LLVMBuildSIToFP(b, y, real, "") : LLVMBuildUIToFP(b, y, real, "");
  nxl_ref q = LLVMBuildFDiv(b, x, y, "");
  q = as_signed ? LLVMBuildFPToSI(b, q, word, "") : LLVMBuildFPToUI(b, q, word, "");
  return wide ? q : LLVMBuildTrunc(b, q, LLVMTypeOf(o->a), "");
}

/* Divides by a constant: LLVM makes a multiplication of it. */
static nxl_ref divide_by_constant(nxl_emitter *e, const nxl_operands *o) {
  uint64_t minus_one = UINT64_MAX >> (64 - nxi_dtypes[o->type].bits);
  if (!nxi_is_signed(o->type)) return LLVMBuildUDiv(e->builder, o->a, o->b, "");
  return o->divisor == minus_one ? LLVMBuildNeg(e->builder, o->a, "")
                                 : LLVMBuildSDiv(e->builder, o->a, o->b, "");
}

/* a / b with b = 0 counted as 1, and the least value by -1 as itself. */
static nxl_ref quotient(nxl_emitter *e, const nxl_operands *o, nxl_ref *divisor) {
  nxl_ref one = nxl_int(e, nxl_scalar_type(e, o->type), o->lanes, 1);
  *divisor = LLVMBuildSelect(e->builder, undefined_division(e, o), one, o->b, "");
  if (o->lanes > 1 && nxi_dtypes[o->type].bits <= 32) return divide_as_float(e, o, *divisor);
  return nxi_is_signed(o->type) ? LLVMBuildSDiv(e->builder, o->a, *divisor, "")
                                : LLVMBuildUDiv(e->builder, o->a, *divisor, "");
}

nxl_ref nxl_emit_divide(nxl_emitter *e, const nxl_operands *o) {
  if (o->divisor) return divide_by_constant(e, o);
  nxl_ref divisor, q = quotient(e, o, &divisor), zero = LLVMConstNull(LLVMTypeOf(o->a));
  return LLVMBuildSelect(e->builder, LLVMBuildICmp(e->builder, LLVMIntEQ, o->b, zero, ""), zero, q,
                         "");
}

/* Where the divisor counts as 1 the remainder is 0, as it must be. */
nxl_ref nxl_emit_modulo(nxl_emitter *e, const nxl_operands *o) {
  nxl_ref divisor = o->b, q = o->divisor ? divide_by_constant(e, o) : quotient(e, o, &divisor);
  return LLVMBuildSub(e->builder, o->a, LLVMBuildMul(e->builder, q, divisor, ""), "");
}

/* ---- the high half of a 64-bit product: four 32-bit multiplications, which vectors have; one
 * scalar multiplication otherwise. Of narrower types it is 0 (ir/kernel/eval.c). */

static nxl_ref umulh_scalar(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef wide = LLVMIntTypeInContext(e->context, 128);
  nxl_ref first = LLVMBuildZExt(b, o->a, wide, ""), second = LLVMBuildZExt(b, o->b, wide, "");
  nxl_ref product = LLVMBuildMul(b, first, second, "");
  return LLVMBuildTrunc(b, LLVMBuildLShr(b, product, LLVMConstInt(wide, 64, 0), ""), e->i64, "");
}

nxl_ref nxl_emit_umulh(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  if (nxi_dtypes[o->type].bits < 64) return LLVMConstNull(LLVMTypeOf(o->a));
  if (o->lanes == 1) return umulh_scalar(e, o);
  nxl_ref low = nxl_int(e, e->i64, o->lanes, UINT32_MAX), half = nxl_int(e, e->i64, o->lanes, 32);
  nxl_ref a0 = LLVMBuildAnd(b, o->a, low, ""), a1 = LLVMBuildLShr(b, o->a, half, "");
  nxl_ref b0 = LLVMBuildAnd(b, o->b, low, ""), b1 = LLVMBuildLShr(b, o->b, half, "");
  nxl_ref carry = LLVMBuildLShr(b, LLVMBuildMul(b, a0, b0, ""), half, "");
  nxl_ref middle = LLVMBuildAdd(b, LLVMBuildMul(b, a1, b0, ""), carry, "");
  nxl_ref other = LLVMBuildMul(b, a0, b1, "");
  other = LLVMBuildAdd(b, other, LLVMBuildAnd(b, middle, low, ""), "");
  nxl_ref high = LLVMBuildMul(b, a1, b1, "");
  high = LLVMBuildAdd(b, high, LLVMBuildLShr(b, middle, half, ""), "");
  return LLVMBuildAdd(b, high, LLVMBuildLShr(b, other, half, ""), "");
}
