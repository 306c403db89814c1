/* SPDX-License-Identifier: ISC */
/* Functions of pieces of a kernel: loops that stand apart (nxk_loop.apart). LLVM moves what does
 * not change out of all loops around it, as far as it can, so that a loop over several kernels
 * would fill the registers with constants and addresses of each, and spill those of all. A function
 * has the registers for itself. It takes what the kernel takes, and the values that it uses of what
 * is around it. */
#include <stdio.h>
#include <string.h>

#include "emit.h"

/* A value that is made before the loop, and is no constant. False: there are too many of them. */
static bool capture(nxl_emitter *e, nxk_value loop, nxk_value v) {
  nxl_outside *o = &e->outside;
  if (v == NXK_NONE || v >= loop || e->values[v] == NULL || LLVMIsConstant(e->values[v]))
    return true;
  for (uint32_t i = 0; i < o->n_captured; i++)
    if (o->captured[i] == v) return true;
  if (o->n_captured == NXL_MOST_CAPTURED) return false;
  o->captured[o->n_captured++] = v;
  return true;
}

static bool capture_access(nxl_emitter *e, nxk_value loop, uint64_t number) {
  const nxk_access *a = &e->k->accesses[number];
  bool ok = capture(e, loop, a->index) && capture(e, loop, a->mask) && capture(e, loop, a->other);
  for (uint32_t i = 0; i < a->n_terms && ok; i++) ok = capture(e, loop, a->terms[i].index);
  return ok;
}

static bool capture_operands(nxl_emitter *e, nxk_value loop, nxk_value v) {
  const nxk_instr *in = &e->k->instrs[v];
  bool ok = true;
  for (uint32_t i = 0; i < in->n_args && ok; i++) ok = capture(e, loop, in->args[i]);
  switch (in->op) {
    case NXK_for:
      return ok && capture(e, loop, e->k->loops[in->imm].lower.value) &&
             capture(e, loop, e->k->loops[in->imm].upper.value);
    case NXK_load:
    case NXK_store:
    case NXK_tree_push:
    case NXK_tree_join:
      return ok && capture_access(e, loop, in->imm) &&
             (in->imm2 == UINT32_MAX || capture_access(e, loop, in->imm2));
    default: return ok;
  }
}

static bool capture_all(nxl_emitter *e, nxk_value loop) {
  e->outside.n_captured = 0;
  for (nxk_value v = loop; v < e->k->n_instrs; v++) {
    if (e->k->instrs[v].op == NXK_end && e->k->instrs[v].block == loop) return true;
    if (!capture_operands(e, loop, v)) return false;
  }
  return true;
}

static void enum_attribute(nxl_emitter *e, nxl_ref f, const char *name) {
  uint32_t kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  if (kind)
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(e->context, kind, 0));
}

/* The function, called where the builder is. */
static nxl_ref call_piece(nxl_emitter *e, nxk_value loop) {
  nxl_outside *o = &e->outside;
  LLVMTypeRef types[5 + NXL_MOST_CAPTURED];
  nxl_ref args[5 + NXL_MOST_CAPTURED];
  char name[96];
  for (uint32_t i = 0; i < 5; i++) args[i] = LLVMGetParam(e->function, i);
  for (uint32_t i = 0; i < o->n_captured; i++)
    args[5 + i] = o->values[i] = e->values[o->captured[i]];
  for (uint32_t i = 0; i < 5 + o->n_captured; i++) types[i] = LLVMTypeOf(args[i]);
  LLVMTypeRef type =
      LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 5 + o->n_captured, 0);
  snprintf(name, sizeof name, "%s.%u", e->k->name, loop);
  nxl_ref f = LLVMAddFunction(e->module, name, type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  enum_attribute(e, f, "nounwind");
  enum_attribute(e, f, "noinline");
  LLVMBuildCall2(e->builder, type, f, args, 5 + o->n_captured, "");
  return f;
}

void nxl_begin_apart(nxl_emitter *e, nxk_value v) {
  nxl_outside *o = &e->outside;
  size_t bytes = ((size_t)e->k->n_buffers + 1) * sizeof *o->bases;
  if (o->bases == NULL && (o->bases = nxi_malloc(bytes)) == NULL) {
    nxi_oom(e->diag);
    e->failed = true;
    return;
  }
  if (!capture_all(e, v)) return; /* the loop is printed where it stands */
  o->function = e->function;
  o->entry = e->entry;
  o->here = LLVMGetInsertBlock(e->builder);
  memcpy(o->bases, e->bases, bytes);
  e->function = call_piece(e, v);
  e->entry = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  o->code = LLVMAppendBasicBlockInContext(e->context, e->function, "");
  LLVMPositionBuilderAtEnd(e->builder, o->code);
  nxl_load_bases(e);
  for (uint32_t i = 0; i < o->n_captured; i++)
    e->values[o->captured[i]] = LLVMGetParam(e->function, 5 + i);
  e->apart = v;
}

void nxl_end_apart(nxl_emitter *e, nxk_value v) {
  nxl_outside *o = &e->outside;
  if (e->apart != v) return;
  LLVMBuildRetVoid(e->builder);
  LLVMPositionBuilderAtEnd(e->builder, e->entry);
  LLVMBuildBr(e->builder, o->code);
  for (uint32_t i = 0; i < o->n_captured; i++) e->values[o->captured[i]] = o->values[i];
  memcpy(e->bases, o->bases, ((size_t)e->k->n_buffers + 1) * sizeof *o->bases);
  e->function = o->function;
  e->entry = o->entry;
  LLVMPositionBuilderAtEnd(e->builder, o->here);
  e->apart = NXK_NONE;
}
