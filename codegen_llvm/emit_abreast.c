/* SPDX-License-Identifier: ISC */
/* Long code whose vectors are several registers each. LLVM orders instructions so that few values
 * are alive, and where there are more than the registers hold it computes all of the code for one
 * register of the vectors, then all of it for the next: one chain of instructions at a time, and
 * the processor waits for each of them. So after every few instructions the registers of the last
 * value become opaque together: none is computed further before all are there. And what was loaded
 * before is loaded again for what uses it next, which costs less than keeping it. */
#include "emit.h"

enum {
  LONG = 320, /* instructions of a block, all registers; a processor sees so many at once */
  EVERY = 8,  /* instructions between two such places */
  FEWEST_REGISTERS = 4, /* fewer are wanted where other code hides that it waits */
  MOST_REGISTERS = 8
};

/* How many registers the vector of an instruction that computes is, if it is whole ones and
 * several; else 0. */
static uint32_t registers_of(const nxl_emitter *e, const nxk_instr *in) {
  static const uint32_t register_bits[NXL_ISAS] = {0, 256, 512, 128};
  const uint32_t size = register_bits[e->isa],
                 bits = in->lanes * (uint32_t)nxi_dtypes[in->dtype].bits;
  if (!size || in->op >= NXK_SCALAR_COUNT || in->dtype == NX_BOOL || bits % size ||
      in->op == NXK_const || in->op == NXK_splat)
    return 0;
  const uint32_t n = bits / size;
  return n >= FEWEST_REGISTERS && n <= MOST_REGISTERS ? n : 0;
}

void nxl_begin_abreast(nxl_emitter *e, nxk_value block) {
  uint32_t n = 0;
  for (nxk_value v = block + 1; v < e->k->n_instrs && n < LONG; v++) {
    const nxk_instr *in = &e->k->instrs[v];
    if (in->op == NXK_end && in->block == block) break;
    if (in->block == block) n += registers_of(e, in);
  }
  e->abreast = (nxl_abreast){.block = block, .is_long = n >= LONG, .stale_until = block};
}

/* The registers of v, which become opaque together. Memory is said to be written, so that loads
 * after it are not taken for those before it. */
static nxl_ref opaque_together(nxl_emitter *e, nxl_ref v, uint32_t n) {
  static const char names[NXL_ISAS] = {'x', 'x', 'v', 'w'};
  LLVMTypeRef types[MOST_REGISTERS];
  nxl_ref parts[MOST_REGISTERS];
  char constraint[5 * MOST_REGISTERS + 16];
  int end = 0;
  const uint32_t lanes = nxl_lanes_of(v) / n;
  for (uint32_t i = 0; i < n; i++) {
    parts[i] = nxl_slice(e, v, i * lanes, lanes);
    types[i] = LLVMTypeOf(parts[i]);
    constraint[end++] = '=';
    constraint[end++] = names[e->isa];
    constraint[end++] = ',';
  }
  for (uint32_t i = 0; i < n; i++) {
    constraint[end++] = (char)('0' + i);
    constraint[end++] = ',';
  }
  for (const char *memory = "~{memory}"; *memory; memory++) constraint[end++] = *memory;
  LLVMTypeRef result = LLVMStructTypeInContext(e->context, types, n, false),
              function = LLVMFunctionType(result, types, n, false);
  nxl_ref nothing = LLVMGetInlineAsm(function, "", 0, constraint, (size_t)end, true, false,
                                     LLVMInlineAsmDialectATT, false);
  nxl_ref all = LLVMBuildCall2(e->builder, function, nothing, parts, n, "");
  for (uint32_t i = 0; i < n; i++) parts[i] = LLVMBuildExtractValue(e->builder, all, i, "");
  return nxl_join_registers(e, parts, n);
}

nxl_ref nxl_keep_abreast(nxl_emitter *e, nxk_value v) {
  nxl_abreast *a = &e->abreast;
  const nxk_instr *in = &e->k->instrs[v];
  if (in->op == NXK_store) a->is_long = false; /* what is loaded later may be another value */
  const uint32_t n = registers_of(e, in);
  if (!a->is_long || in->block != a->block || n == 0 || ++a->since < EVERY) return e->values[v];
  a->since = 0;
  a->stale_until = v;
  return opaque_together(e, e->values[v], n);
}

nxl_ref nxl_operand_abreast(nxl_emitter *e, nxk_value v) {
  nxl_abreast *a = &e->abreast;
  const nxk_instr *in = &e->k->instrs[v];
  if (!a->is_long || in->op != NXK_load || in->block != a->block || v >= a->stale_until)
    return e->values[v];
  nxk_access access = e->k->accesses[in->imm];
  const bool plain = access.index == NXK_NONE && access.mask == NXK_NONE && access.lane_stride == 1;
  if (!plain || in->lanes == 1 || nxi_dtypes[in->dtype].bits < 32 || e->loaded[v] == a->stale_until)
    return e->values[v];
  access.prefetch = 0;
  e->loaded[v] = a->stale_until;
  return e->values[v] = nxl_emit_load(e, &access, in->lanes, NULL);
}
