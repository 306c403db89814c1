/* SPDX-License-Identifier: ISC */
/* Functions that the kernel calls instead of computing them (nxi_target.calls). They are C,
 * compiled with the library (ir/interp/block_functions.h), for operands and results in memory.
 * Their addresses are constants of the code, so it is good for this process alone. */
#include "emit.h"

#include "ir/called.h"

static nxg_called_function *function_of(const nxk_instr *in) {
  if (in->op >= NXK_SCALAR_COUNT) return NULL;
  return nxg_called(nxl_value_bytes(in), (nxk_op)in->op, (nx_dtype)in->dtype);
}

nxl_ref nxl_emit_call(nxl_emitter *e, const nxk_instr *in) {
  nxg_called_function *f = function_of(in);
  if (f == NULL) return NULL;
  const nx_dtype t = (nx_dtype)in->dtype;
  const int64_t apart = (nxl_value_bytes(in) + 63) / 64 * 64;
  nxl_ref x = e->values[in->args[0]], behind = nxl_i64(e, apart),
          room = nxl_room_of(e, &e->call_room, 2 * apart, 64);
  if (nxl_lanes_of(x) == 1) x = nxl_splat(e, x, in->lanes);
  LLVMTypeRef types[3] = {e->pointer, e->pointer, e->i64};
  nxl_ref address = LLVMConstIntToPtr(nxl_i64(e, (int64_t)(uintptr_t)f), e->pointer);
  nxl_ref args[3] = {room, LLVMBuildGEP2(e->builder, e->i8, room, &behind, 1, ""),
                     nxl_i64(e, in->lanes)};
  LLVMSetAlignment(LLVMBuildStore(e->builder, x, args[1]), 64);
  LLVMBuildCall2(e->builder, LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 3, 0),
                 address, args, 3, "");
  nxl_ref result = LLVMBuildLoad2(e->builder, nxl_type(e, t, in->lanes), room, "");
  LLVMSetAlignment(result, 64);
  return result;
}
