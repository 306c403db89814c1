/* SPDX-License-Identifier: ISC */
/* Vector constants of code that is made in haste: they are loaded where a function begins. LLVM
 * selects instructions for one block after the other, and makes of a constant vector a node with an
 * operand for each lane, in each block that uses it, which all of its passes over nodes look
 * through: that takes as long as three other instructions. A value that comes from another block is
 * one node without operands. */
#include "machine.h"

enum { MOST_CONSTANTS = 256, SLOTS = 2 * MOST_CONSTANTS };

typedef struct pooled {
  nxl_ref constant, global;
  nxl_ref load, of; /* of: the function of the load */
} pooled;

/* The constants of a module, found by their addresses, which are unique in a context. */
typedef struct pool {
  LLVMModuleRef module;
  LLVMBuilderRef builder;
  uint32_t register_bits;
  uint32_t n;
  pooled slots[SLOTS];
} pool;

/* Whether integers are better known to LLVM: shifts, rotations, products and quotients by constants
 * are short, and indices become parts of addresses. */
static bool keeps_integers(nxl_ref instr) {
  switch (LLVMGetInstructionOpcode(instr)) {
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMMul:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem:
    case LLVMGetElementPtr:
    case LLVMCall: return true;
    default: return false;
  }
}

/* Only what is one register: of wider ones each use is several nodes in any case. */
static bool is_pooled(const pool *p, nxl_ref v, bool integers) {
  LLVMTypeRef type = LLVMTypeOf(v);
  if (!LLVMIsConstant(v) || LLVMGetTypeKind(type) != LLVMVectorTypeKind) return false;
  if (LLVMIsUndef(v) || LLVMIsNull(v)) return false;
  LLVMTypeRef scalar = LLVMGetElementType(type);
  const LLVMTypeKind kind = LLVMGetTypeKind(scalar);
  uint32_t bits = kind == LLVMFloatTypeKind ? 32 : kind == LLVMDoubleTypeKind ? 64 : 0;
  if (kind == LLVMIntegerTypeKind && integers) bits = LLVMGetIntTypeWidth(scalar);
  return bits >= 32 && bits * LLVMGetVectorSize(type) == p->register_bits;
}

/* The slot of the constant, or the one that is free for it; NULL: there is no room. */
static pooled *slot_of(pool *p, nxl_ref constant) {
  uint32_t at = (uint32_t)((uintptr_t)constant >> 4) * 2654435761U % SLOTS;
  while (p->slots[at].constant != NULL && p->slots[at].constant != constant) at = (at + 1) % SLOTS;
  if (p->slots[at].constant == NULL && p->n == MOST_CONSTANTS) return NULL;
  return &p->slots[at];
}

/* Not one whose value LLVM may take for known, or it would put the constant back. */
static nxl_ref add_global(pool *p, nxl_ref constant) {
  nxl_ref g = LLVMAddGlobal(p->module, LLVMTypeOf(constant), "");
  LLVMSetInitializer(g, constant);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(g, 1);
  LLVMSetExternallyInitialized(g, 1);
  LLVMSetAlignment(g, 64);
  return g;
}

/* The constant in function f, loaded in the block where that begins. */
static nxl_ref load_of(pool *p, nxl_ref f, nxl_ref constant) {
  pooled *s = slot_of(p, constant);
  if (s == NULL) return constant;
  if (s->constant == NULL) *s = (pooled){constant, add_global(p, constant), NULL, NULL}, p->n++;
  if (s->of == f) return s->load;
  LLVMPositionBuilderBefore(p->builder, LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(f)));
  s->load = LLVMBuildLoad2(p->builder, LLVMTypeOf(constant), s->global, "");
  LLVMSetAlignment(s->load, 64);
  s->of = f;
  return s->load;
}

static void pool_operands(pool *p, nxl_ref f, nxl_ref instr) {
  const int n = LLVMGetNumOperands(instr);
  const bool integers = !keeps_integers(instr);
  for (int i = 0; i < n; i++) {
    nxl_ref v = LLVMGetOperand(instr, (unsigned)i);
    if (is_pooled(p, v, integers)) LLVMSetOperand(instr, (unsigned)i, load_of(p, f, v));
  }
}

static void pool_function(pool *p, nxl_ref f) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL; b = LLVMGetNextBasicBlock(b))
    for (nxl_ref i = LLVMGetFirstInstruction(b); i != NULL; i = LLVMGetNextInstruction(i))
      pool_operands(p, f, i);
}

void nxl_pool_constants(nxl_emitter *e) {
  const uint32_t bits = e->isa == NXL_AVX512 ? 512 : e->isa == NXL_AVX2 ? 256 : 128;
  pool p = {.module = e->module, .builder = e->builder, .register_bits = bits};
  for (nxl_ref f = LLVMGetFirstFunction(e->module); f != NULL; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f)) pool_function(&p, f);
}
