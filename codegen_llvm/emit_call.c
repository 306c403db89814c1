/* SPDX-License-Identifier: ISC */
/* Functions that the kernel calls instead of computing them (nxi_target.calls). They are C,
 * compiled with the library (ir/interp/block_functions.h), for operands and results in memory.
 * Their addresses are constants of the code, so it is good for this process alone. */
#include "emit.h"

#include "ir/called.h"

static nxl_ref memory(nxl_emitter *e, LLVMTypeRef type, unsigned alignment) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, e->entry);
  nxl_ref at = LLVMBuildAlloca(e->builder, type, "");
  LLVMSetAlignment(at, alignment);
  LLVMPositionBuilderAtEnd(e->builder, here);
  return at;
}

nxl_ref nxl_emit_call(nxl_emitter *e, const nxk_instr *in) {
  nxg_called_function *f = nxg_called(in->lanes * nxi_dtype_size((nx_dtype)in->dtype),
                                      (nxk_op)in->op, (nx_dtype)in->dtype);
  if (f == NULL) return NULL;
  LLVMTypeRef type = nxl_type(e, (nx_dtype)in->dtype, in->lanes);
  LLVMTypeRef types[3] = {e->pointer, e->pointer, e->i64};
  nxl_ref address = LLVMConstIntToPtr(nxl_i64(e, (int64_t)(uintptr_t)f), e->pointer);
  nxl_ref args[3] = {memory(e, type, 64), memory(e, type, 64), nxl_i64(e, in->lanes)};
  LLVMSetAlignment(LLVMBuildStore(e->builder, e->values[in->args[0]], args[1]), 64);
  LLVMBuildCall2(e->builder, LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 3, 0),
                 address, args, 3, "");
  nxl_ref result = LLVMBuildLoad2(e->builder, type, args[0], "");
  LLVMSetAlignment(result, 64);
  return result;
}
