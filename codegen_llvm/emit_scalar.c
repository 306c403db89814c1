/* SPDX-License-Identifier: ISC */
/* Scalar operations as LLVM IR: the table of scalar_llvm.def, and the float operations and
 * conversions that are more than one instruction. Nothing here may be poison or undefined for any
 * operand: every result is the bits of nxk_eval (ir/kernel/eval.c), NaNs counting as one value. No
 * fast-math flag is ever set. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

/* ---- the table */

typedef enum cell_kind {
  CELL_NO,
  CELL_OPCODE,
  CELL_INTRINSIC,
  CELL_INT_COMPARE,
  CELL_FLOAT_COMPARE,
  CELL_CALL
} cell_kind;

typedef struct cell {
  cell_kind kind;
  int code;
  const char *intrinsic;
  nxl_emit_fn *call;
} cell;

static nxl_ref nxl_emit_same(nxl_emitter *e, const nxl_operands *o) {
  (void)e;
  return o->a;
}

static nxl_ref nxl_emit_not(nxl_emitter *e, const nxl_operands *o) {
  return LLVMBuildNot(e->builder, o->a, "");
}

/* The operand of a comparison that asks whether it is a NaN, or NULL. */
static nxl_ref asked_for_nan(nxl_ref v) {
  bool is = LLVMIsAFCmpInst(v) && LLVMGetFCmpPredicate(v) == LLVMRealUNE &&
            LLVMGetOperand(v, 0) == LLVMGetOperand(v, 1);
  return is ? LLVMGetOperand(v, 0) : NULL;
}

/* Whether one of two numbers is a NaN is one comparison. */
static nxl_ref nxl_emit_either(nxl_emitter *e, const nxl_operands *o) {
  nxl_ref x = asked_for_nan(o->a), y = asked_for_nan(o->b);
  bool both = x != NULL && y != NULL && LLVMTypeOf(x) == LLVMTypeOf(y);
  return both ? LLVMBuildFCmp(e->builder, LLVMRealUNO, x, y, "")
              : LLVMBuildOr(e->builder, o->a, o->b, "");
}

static nxl_ref nxl_emit_float_negate(nxl_emitter *e, const nxl_operands *o) {
  return LLVMBuildFNeg(e->builder, o->a, "");
}

static nxl_ref nxl_emit_select(nxl_emitter *e, const nxl_operands *o) {
  return LLVMBuildSelect(e->builder, o->a, o->b, o->c, "");
}

static nxl_ref nxl_emit_bits(nxl_emitter *e, const nxl_operands *o) {
  if (o->type == o->result) return o->a;
  if (o->result == NX_BOOL) {
    nxl_ref byte = o->type == NX_BOOL
                       ? o->a
                       : LLVMBuildBitCast(e->builder, o->a, nxl_vector_of(e->i8, o->lanes), "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, byte, nxl_int(e, e->i8, o->lanes, 0), "");
  }
  nxl_ref a = o->type == NX_BOOL
                  ? LLVMBuildZExt(e->builder, o->a, nxl_vector_of(e->i8, o->lanes), "")
                  : o->a;
  return LLVMBuildBitCast(e->builder, a, nxl_type(e, o->result, o->lanes), "");
}

/* ---- AVX-512 instructions that LLVM has only as target intrinsics. Each works on one register, so
 * wider vectors are split and narrower ones padded to 128 bits. */

typedef struct register_op {
  const char *name; /* "scalef", "range" */
  uint32_t immediate;
  bool has_immediate;
} register_op;

/* `full` lanes of v from lane `at` on. After the first `lanes` of them, lane `at` is repeated. */
static nxl_ref take_lanes(nxl_emitter *e, nxl_ref v, uint32_t at, uint32_t lanes, uint32_t full) {
  nxl_ref order[16];
  if (nxl_lanes_of(v) == full) return v;
  for (uint32_t i = 0; i < full; i++) order[i] = LLVMConstInt(e->i32, i < lanes ? at + i : at, 0);
  return LLVMBuildShuffleVector(e->builder, v, LLVMGetPoison(LLVMTypeOf(v)),
                                LLVMConstVector(order, full), "");
}

/* The instruction on lanes [at, at + lanes) of a and b. */
static nxl_ref one_register(nxl_emitter *e, const register_op *op, const nxl_operands *o,
                            uint32_t at, uint32_t lanes, uint32_t width) {
  uint32_t full = width / (o->type == NX_F64 ? 64 : 32), n = 2;
  char name[64];
  snprintf(name, sizeof name, "llvm.x86.avx512.mask.%s.p%c.%u", op->name,
           o->type == NX_F64 ? 'd' : 's', width);
  nxl_ref args[6] = {take_lanes(e, o->a, at, lanes, full), take_lanes(e, o->b, at, lanes, full)};
  if (op->has_immediate) args[n++] = nxl_int(e, e->i32, 1, op->immediate);
  args[n++] = LLVMGetPoison(LLVMTypeOf(args[0]));
  args[n++] =
      nxl_int(e, full == 16 ? LLVMInt16TypeInContext(e->context) : e->i8, 1, (1u << full) - 1);
  /* only the 512-bit form has this operand: the current rounding mode */
  if (width == 512) args[n++] = nxl_int(e, e->i32, 1, 4);
  return nxl_intrinsic(e, name, NULL, 0, args, n);
}

static nxl_ref join_two(nxl_emitter *e, nxl_ref low, nxl_ref high) {
  nxl_ref order[128];
  uint32_t lanes = 2 * nxl_lanes_of(low);
  for (uint32_t i = 0; i < lanes; i++) order[i] = LLVMConstInt(e->i32, i, 0);
  return LLVMBuildShuffleVector(e->builder, low, high, LLVMConstVector(order, lanes), "");
}

enum { MOST_REGISTERS = 64 }; /* of 128 bits, for the most lanes of f64 */

/* The first `total` lanes of n registers, a power of two, by pairs. */
static nxl_ref join_registers(nxl_emitter *e, nxl_ref *all, uint32_t n, uint32_t total) {
  for (; n > 1; n /= 2)
    for (uint32_t i = 0; i < n / 2; i++) all[i] = join_two(e, all[2 * i], all[2 * i + 1]);
  return nxl_lanes_of(all[0]) == total ? all[0] : nxl_slice(e, all[0], 0, total);
}

static nxl_ref by_registers(nxl_emitter *e, const register_op *op, const nxl_operands *o) {
  if (o->lanes == 1) { /* lane 0 of a vector of two */
    nxl_operands wide = *o;
    wide.lanes = 2;
    wide.a = nxl_splat(e, o->a, 2);
    wide.b = nxl_splat(e, o->b, 2);
    return LLVMBuildExtractElement(e->builder, by_registers(e, op, &wide), nxl_int(e, e->i32, 1, 0),
                                   "");
  }
  uint32_t size = o->type == NX_F64 ? 64 : 32, bits = o->lanes * size;
  uint32_t width = bits >= 512 ? 512 : bits >= 256 ? 256 : 128, step = width / size;
  nxl_ref all[MOST_REGISTERS] = {NULL};
  uint32_t n = 0;
  for (uint32_t at = 0; at < o->lanes; at += step)
    all[n++] = one_register(e, op, o, at, o->lanes < step ? o->lanes : step, width);
  return join_registers(e, all, n, o->lanes);
}

/* ---- rounding to the upper half */

static bool is_step(nxl_ref v, LLVMOpcode opcode, nxl_ref second) {
  return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == opcode &&
         LLVMGetOperand(v, 1) == second;
}

/* Whether y is 0x7fff and the lowest bit of the upper half of each lane of x (legalize.c). */
static bool is_rounding(nxl_emitter *e, nxl_ref x, nxl_ref y, uint32_t lanes) {
  if (!is_step(y, LLVMAdd, nxl_int(e, e->i32, lanes, 0x7fff))) return false;
  nxl_ref bit = LLVMGetOperand(y, 0);
  if (!is_step(bit, LLVMAnd, nxl_int(e, e->i32, lanes, 1))) return false;
  nxl_ref upper = LLVMGetOperand(bit, 0);
  return is_step(upper, LLVMLShr, nxl_int(e, e->i32, lanes, 16)) && LLVMGetOperand(upper, 0) == x;
}

/* x + 0x7fff + that bit, in two instructions instead of four: the words of (x & 0x10000) | 0x7fff
 * are added to x. */
static nxl_ref round_by_words(nxl_emitter *e, nxl_ref x, uint32_t lanes) {
  enum { LANES = 16 };
  nxl_ref bit = LLVMBuildAnd(e->builder, x, nxl_int(e, e->i32, lanes, 0x10000), ""),
          words = LLVMBuildOr(e->builder, bit, nxl_int(e, e->i32, lanes, 0x7fff), ""),
          all[MOST_REGISTERS] = {NULL};
  uint32_t n = 0;
  for (uint32_t at = 0; at < lanes; at += LANES) {
    nxl_ref args[3] = {take_lanes(e, x, at, LANES, LANES), take_lanes(e, words, at, LANES, LANES),
                       nxl_int(e, e->i32, LANES, 0x10001)};
    all[n++] = nxl_intrinsic(e, "llvm.x86.avx512.vpdpwssd.512", NULL, 0, args, 3);
  }
  return join_registers(e, all, n, lanes);
}

static nxl_ref nxl_emit_add_unsigned(nxl_emitter *e, const nxl_operands *o) {
  if (e->has_word_sums && o->type == NX_U32 && o->lanes % 16 == 0 &&
      is_rounding(e, o->a, o->b, o->lanes))
    return round_by_words(e, o->a, o->lanes);
  return nxl_hide_bits(e, o->type, o->lanes, LLVMBuildAdd(e->builder, o->a, o->b, ""));
}

/* ---- max and min: NaN wins, and zeros of different sign are ordered. */

/* The AVX-512 instruction orders zeros as required. If one operand alone is NaN it returns the
 * other one, so the NaN is selected afterwards. */
static nxl_ref extreme_range(nxl_emitter *e, const nxl_operands *o, bool max) {
  const register_op range = {"range", max ? 5 : 4, true}; /* the sign is that of the result */
  nxl_ref nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, o->a, o->b, "");
  return LLVMBuildSelect(e->builder, nan, nxl_float(e, o->type, o->lanes, NAN),
                         by_registers(e, &range, o), "");
}

/* The older x86 instruction returns its second operand if the two are equal or unordered. What
 * remains is to combine the signs of equal operands, and to select a NaN of the first one. */
static nxl_ref nxl_emit_extreme(nxl_emitter *e, const nxl_operands *o, bool max) {
  LLVMBuilderRef b = e->builder;
  if (e->isa == NXL_NEON)
    return nxl_intrinsic_of(e, max ? "llvm.maximum" : "llvm.minimum", o->a, o->b, NULL);
  if (e->isa == NXL_AVX512 && o->lanes > 1) return extreme_range(e, o, max);
  LLVMTypeRef type = LLVMTypeOf(o->a),
              bits = nxl_type(e, o->type == NX_F64 ? NX_U64 : NX_U32, o->lanes);
  nxl_ref better = LLVMBuildFCmp(b, max ? LLVMRealOGT : LLVMRealOLT, o->a, o->b, "");
  nxl_ref picked = LLVMBuildSelect(b, better, o->a, o->b, "");
  nxl_ref x = LLVMBuildBitCast(b, o->a, bits, ""), y = LLVMBuildBitCast(b, o->b, bits, "");
  nxl_ref joined =
      LLVMBuildBitCast(b, max ? LLVMBuildAnd(b, x, y, "") : LLVMBuildOr(b, x, y, ""), type, "");
  nxl_ref equal = LLVMBuildFCmp(b, LLVMRealOEQ, o->a, o->b, "");
  nxl_ref nan = LLVMBuildFCmp(b, LLVMRealUNO, o->a, o->a, "");
  return LLVMBuildSelect(b, nan, o->a, LLVMBuildSelect(b, equal, joined, picked, ""), "");
}

static nxl_ref nxl_emit_maximum(nxl_emitter *e, const nxl_operands *o) {
  return nxl_emit_extreme(e, o, true);
}
static nxl_ref nxl_emit_minimum(nxl_emitter *e, const nxl_operands *o) {
  return nxl_emit_extreme(e, o, false);
}

/* ---- ldexp */

/* 2^x for integral |x| within the normal exponents: x + 1.5 * 2^(mantissa bits) + bias holds the
 * exponent field in its low bits. */
static nxl_ref power_of_two(nxl_emitter *e, nx_dtype t, uint32_t lanes, nxl_ref x) {
  bool wide = t == NX_F64;
  LLVMTypeRef bits = wide ? e->i64 : e->i32;
  nxl_ref magic = nxl_float(e, t, lanes, wide ? 0x1.8p52 + 1023 : 0x1.8p23 + 127);
  nxl_ref field = LLVMBuildBitCast(e->builder, LLVMBuildFAdd(e->builder, x, magic, ""),
                                   nxl_vector_of(bits, lanes), "");
  field = LLVMBuildShl(e->builder, field, nxl_int(e, bits, lanes, wide ? 52 : 23), "");
  return LLVMBuildBitCast(e->builder, field, nxl_type(e, t, lanes), "");
}

/* Multiplies by two factors, each about half of the power. In the domain that ir/scalar_ops.def
 * gives, the first product is exact, or the result is 0 or infinite anyway, so it is rounded
 * once. */
static nxl_ref ldexp_halves(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  double limit = o->type == NX_F64 ? 2044 : 252;
  nxl_ref low = nxl_float(e, o->type, o->lanes, -limit),
          high = nxl_float(e, o->type, o->lanes, limit);
  nxl_ref n = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOLT, o->b, low, ""), low, o->b, "");
  n = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, n, high, ""), high, n, "");
  nxl_ref half = LLVMBuildFMul(b, n, nxl_float(e, o->type, o->lanes, 0.5), "");
  half = nxl_intrinsic_of(e, "llvm.trunc", half, NULL, NULL);
  nxl_ref rest = LLVMBuildFSub(b, n, half, "");
  nxl_ref r = LLVMBuildFMul(b, o->a, power_of_two(e, o->type, o->lanes, half), "");
  r = LLVMBuildFMul(b, r, power_of_two(e, o->type, o->lanes, rest), "");
  return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealUNO, o->b, o->b, ""), o->b, r, "");
}

static nxl_ref nxl_emit_ldexp(nxl_emitter *e, const nxl_operands *o) {
  static const register_op scalef = {"scalef", 0, false};
  return e->isa == NXL_AVX512 ? by_registers(e, &scalef, o) : ldexp_halves(e, o);
}

/* ---- conversions */

/* LLVM's conversion of floats that are within the integer type. */
static nxl_ref cast_in_range(nxl_emitter *e, const nxl_operands *o, nxl_ref a) {
  LLVMTypeRef type = nxl_type(e, o->result, o->lanes);
  if (nxi_dtypes[o->result].bits < 32) {
    nxl_ref r = LLVMBuildFPToSI(e->builder, a, nxl_vector_of(e->i32, o->lanes), "");
    return LLVMBuildTrunc(e->builder, r, type, "");
  }
  return nxi_is_signed(o->result) ? LLVMBuildFPToSI(e->builder, a, type, "")
                                  : LLVMBuildFPToUI(e->builder, a, type, "");
}

/* Float to integer: truncates, saturates, NaN gives 0. LLVM's own saturating conversion works lane
 * by lane. The least value of the type is exact as a float, and so is the highest, or else the
 * highest + 1, which is then the limit. Comparisons are written so that a NaN becomes the least
 * value, which is 0 for unsigned types. */
static nxl_ref cast_float_to_integer(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  bool is_signed = nxi_is_signed(o->result);
  uint32_t bits = nxi_dtypes[o->result].bits, digits = bits - is_signed;
  bool exact = digits <= (o->type == NX_F64 ? 53 : 24); /* the highest value is exact as a float */
  double limit = 2 * (double)(UINT64_C(1) << (digits - 1));
  nxl_ref low = nxl_float(e, o->type, o->lanes, is_signed ? -limit : 0);
  nxl_ref high = nxl_float(e, o->type, o->lanes, exact ? limit - 1 : limit);
  nxl_ref a = LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealOGT, o->a, low, ""), o->a, low, "");
  nxl_ref below = LLVMBuildFCmp(b, LLVMRealOLT, a, high, "");
  nxl_ref r = cast_in_range(e, o, LLVMBuildSelect(b, below, a, exact ? high : low, ""));
  if (!exact) {
    nxl_ref most =
        nxl_int(e, nxl_scalar_type(e, o->result), o->lanes, (UINT64_C(1) << (digits - 1)) * 2 - 1);
    r = LLVMBuildSelect(b, below, r, most, "");
  }
  if (!is_signed) return r;
  nxl_ref nan = LLVMBuildFCmp(b, LLVMRealUNO, o->a, o->a, "");
  return LLVMBuildSelect(b, nan, LLVMConstNull(LLVMTypeOf(r)), r, "");
}

/* The upper halves of words that o->a has shifted down: 32 of them are one permutation of two
 * registers, where shifts and truncations are seven operations. NULL: they are not. */
static nxl_ref upper_halves(nxl_emitter *e, const nxl_operands *o) {
  nxl_ref order[128], halves;
  if (e->isa != NXL_AVX512 || o->type != NX_U32 || o->result != NX_U16 || o->lanes % 32 != 0 ||
      !is_step(o->a, LLVMLShr, nxl_int(e, e->i32, o->lanes, 16)))
    return NULL;
  halves =
      LLVMBuildBitCast(e->builder, LLVMGetOperand(o->a, 0), nxl_type(e, NX_U16, 2 * o->lanes), "");
  for (uint32_t i = 0; i < o->lanes; i++) order[i] = LLVMConstInt(e->i32, 2 * i + 1, 0);
  return LLVMBuildShuffleVector(e->builder, halves, LLVMGetPoison(LLVMTypeOf(halves)),
                                LLVMConstVector(order, o->lanes), "");
}

static nxl_ref cast_integer(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef type = nxl_type(e, o->result, o->lanes);
  uint32_t from = nxi_dtypes[o->type].bits, to = nxi_dtypes[o->result].bits;
  if (nxi_is_float(o->result)) {
    nxl_ref a = o->a;
    bool narrow = from < 32; /* its values fit in signed 32 bits */
    if (narrow && nxi_is_signed(o->type))
      a = LLVMBuildSExt(b, a, nxl_vector_of(e->i32, o->lanes), "");
    if (narrow && !nxi_is_signed(o->type))
      a = LLVMBuildZExt(b, a, nxl_vector_of(e->i32, o->lanes), "");
    return narrow || nxi_is_signed(o->type) ? LLVMBuildSIToFP(b, a, type, "")
                                            : LLVMBuildUIToFP(b, a, type, "");
  }
  if (to < from) {
    nxl_ref halves = upper_halves(e, o);
    return halves ? halves : LLVMBuildTrunc(b, o->a, type, "");
  }
  if (to == from) return o->a;
  return nxi_is_signed(o->type) ? LLVMBuildSExt(b, o->a, type, "")
                                : LLVMBuildZExt(b, o->a, type, "");
}

/* Conversions between f16 and f32, if the machine has an instruction for them. All other
 * conversions of small floats have been rewritten (passes/kernel/legalize.c). */
static nxl_ref cast_half(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef type = nxl_type(e, o->result, o->lanes),
              half = nxl_vector_of(LLVMHalfTypeInContext(e->context), o->lanes);
  bool native = e->isa != NXL_GENERIC;
  if (native && o->type == NX_F16 && o->result == NX_F32)
    return LLVMBuildFPExt(b, LLVMBuildBitCast(b, o->a, half, ""), type, "");
  if (native && o->type == NX_F32 && o->result == NX_F16)
    return LLVMBuildBitCast(b, LLVMBuildFPTrunc(b, o->a, half, ""), type, "");
  return nxl_refuse(e, type, "a conversion of a small float was not legalised");
}

static nxl_ref nxl_emit_cast(nxl_emitter *e, const nxl_operands *o) {
  LLVMBuilderRef b = e->builder;
  LLVMTypeRef type = nxl_type(e, o->result, o->lanes);
  if (o->type == o->result) return o->a;
  if (nxi_is_small_float(o->type) || nxi_is_small_float(o->result)) return cast_half(e, o);
  if (o->type == NX_BOOL) {
    bool to_float = nxi_is_float(o->result);
    nxl_ref one = to_float ? nxl_float(e, o->result, o->lanes, 1)
                           : nxl_int(e, nxl_scalar_type(e, o->result), o->lanes, 1);
    return LLVMBuildSelect(b, o->a, one, LLVMConstNull(type), "");
  }
  if (o->result == NX_BOOL) {
    nxl_ref zero = LLVMConstNull(LLVMTypeOf(o->a));
    return nxi_is_float(o->type) ? LLVMBuildFCmp(b, LLVMRealUNE, o->a, zero, "")
                                 : LLVMBuildICmp(b, LLVMIntNE, o->a, zero, "");
  }
  if (!nxi_is_float(o->type)) return cast_integer(e, o);
  if (!nxi_is_float(o->result)) return cast_float_to_integer(e, o);
  return o->result == NX_F64 ? LLVMBuildFPExt(b, o->a, type, "")
                             : LLVMBuildFPTrunc(b, o->a, type, "");
}

/* ---- table and dispatch */

#define NO    {CELL_NO, 0, NULL, NULL}
#define OP(x) {CELL_OPCODE, LLVM##x, NULL, NULL}
#define IN(x) {CELL_INTRINSIC, 0, "llvm." x, NULL}
#define IC(p) {CELL_INT_COMPARE, LLVMInt##p, NULL, NULL}
#define FC(p) {CELL_FLOAT_COMPARE, LLVMReal##p, NULL, NULL}
#define FN(f) {CELL_CALL, 0, NULL, nxl_emit_##f}

enum { COLUMN_BOOL, COLUMN_SIGNED, COLUMN_UNSIGNED, COLUMN_FLOAT, COLUMNS };
static const cell table[][COLUMNS] = {
#define LOP(name, b, s, u, f) [NXK_##name] = {b, s, u, f},
#include "scalar_llvm.def"
#undef LOP
};

enum {
  ROWS = 0
#define LOP(name, b, s, u, f) +1
#include "scalar_llvm.def"
#undef LOP
};
static_assert((int)ROWS == (int)NXK_SCALAR_COUNT,
              "scalar_llvm.def and scalar_ops.def have a row for the same operations");

static const cell *find_cell(nxk_op op, nx_dtype t) {
  switch (nxi_dtype_class(t)) {
    case NXI_BOOL: return &table[op][COLUMN_BOOL];
    case NXI_INT: return &table[op][COLUMN_SIGNED];
    case NXI_UINT: return &table[op][COLUMN_UNSIGNED];
    default: return &table[op][COLUMN_FLOAT];
  }
}

static nxl_ref instruction(nxl_emitter *e, int code, const nxl_operands *o) {
  nxl_ref v = LLVMBuildBinOp(e->builder, (LLVMOpcode)code, o->a, o->b, "");
  bool mixes = code == LLVMAdd || code == LLVMSub || code == LLVMMul || code == LLVMXor;
  return mixes && o->type != NX_BOOL ? nxl_hide_bits(e, o->type, o->lanes, v) : v;
}

nxl_ref nxl_scalar(nxl_emitter *e, nxk_op op, const nxl_operands *o) {
  const cell *c = find_cell(op, o->type);
  bool moves = op == NXK_select || op == NXK_cast || op == NXK_bitcast;
  if (nxi_is_small_float(o->type) && !moves)
    return nxl_refuse(e, nxl_type(e, o->result, o->lanes),
                      "arithmetic on a small float was not legalised");
  switch (c->kind) {
    case CELL_OPCODE: return instruction(e, c->code, o);
    case CELL_INTRINSIC: return nxl_intrinsic_of(e, c->intrinsic, o->a, o->b, o->c);
    case CELL_INT_COMPARE:
      return LLVMBuildICmp(e->builder, (LLVMIntPredicate)c->code, o->a, o->b, "");
    case CELL_FLOAT_COMPARE:
      return LLVMBuildFCmp(e->builder, (LLVMRealPredicate)c->code, o->a, o->b, "");
    case CELL_CALL: return c->call(e, o);
    default:
      return nxl_refuse(e, nxl_type(e, o->result, o->lanes),
                        "an operation was not expanded or legalised");
  }
}

/* ---- combinations of reductions */

static nxl_ref binary(nxl_emitter *e, nxk_op op, nx_dtype type, nx_dtype result, nxl_ref a,
                      nxl_ref b) {
  nxl_operands o = {type, result, nxl_lanes_of(a), a, b, NULL, 0};
  return nxl_scalar(e, op, &o);
}

nxl_ref nxl_combine(nxl_emitter *e, nxk_reduce_kind kind, nx_dtype type, nxl_ref a, nxl_ref b) {
  return binary(e, nxk_reduce_op(kind), type, type, a, b);
}

nxl_ref nxl_arg_better(nxl_emitter *e, nxk_reduce_kind kind, nx_dtype type, nxl_ref a, nxl_ref ia,
                       nxl_ref b, nxl_ref ib) {
  LLVMBuilderRef s = e->builder;
  nxl_ref earlier = LLVMBuildICmp(s, LLVMIntSLT, ib, ia, "");
  nxl_ref ahead = nxk_reduce_op(kind) == NXK_max ? binary(e, NXK_lt, type, NX_BOOL, a, b)
                                                 : binary(e, NXK_lt, type, NX_BOOL, b, a);
  nxl_ref equal = binary(e, NXK_eq, type, NX_BOOL, a, b);
  if (!nxi_is_float(type)) return LLVMBuildOr(s, ahead, LLVMBuildAnd(s, equal, earlier, ""), "");
  nxl_ref a_nan = binary(e, NXK_ne, type, NX_BOOL, a, a),
          b_nan = binary(e, NXK_ne, type, NX_BOOL, b, b);
  /* `ahead` and `equal` are false if an operand is NaN, so the cases can be or'ed */
  nxl_ref tie = LLVMBuildOr(s, equal, LLVMBuildAnd(s, a_nan, b_nan, ""), "");
  nxl_ref first_nan = LLVMBuildAnd(s, b_nan, LLVMBuildNot(s, a_nan, ""), "");
  nxl_ref better = LLVMBuildOr(s, ahead, first_nan, "");
  return LLVMBuildOr(s, better, LLVMBuildAnd(s, tie, earlier, ""), "");
}
