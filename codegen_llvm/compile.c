/* SPDX-License-Identifier: ISC */
/* From a bound kernel to an object file or to text: the emitter, a short list of passes, LLVM's
 * code generator. Every compilation has an LLVM context of its own, so any number may run at the
 * same time. */
#include <stdio.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "guard.h"
#include "ir/alloc.h"
#include "machine.h"

/* The LLVM IR that the emitter prints is nearly in its final form. early-cse alone gives code that
 * is as good as with more passes, in the shortest time; instcombine after it would take a tenth to
 * a fifth of a compilation. */
static const char passes[] = "function(early-cse)";

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  nxi_fail(user, NX_COMPILE_FAILED, "", "LLVM: %s", text ? text : "an error");
  LLVMDisposeMessage(text);
}

/* ---- the function's attributes */

static void attribute(LLVMContextRef context, nxl_ref f, const char *key, const char *value) {
  LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                          LLVMCreateStringAttribute(context, key, (uint32_t)strlen(key), value,
                                                    (uint32_t)strlen(value)));
}

/* The machine's features, and for a function that keeps all registers: no vzeroupper, which would
 * clear the upper halves of those that it has restored. */
static nx_status set_features(const nxl_emitter *e, nxl_ref f, const nxl_machine *m) {
  static const char keeping[] = "-vzeroupper";
  if (!nxl_is_cold(f)) {
    attribute(e->context, f, "target-features", m->features);
    return NX_OK;
  }
  size_t bytes = strlen(m->features) + sizeof keeping + 1;
  char *features = nxi_malloc(bytes);
  if (!features) return nxi_oom(e->diag);
  snprintf(features, bytes, "%s%s%s", m->features, m->features[0] ? "," : "", keeping);
  attribute(e->context, f, "target-features", features);
  nxi_free(features);
  return NX_OK;
}

/* Code that is not optimised keeps values on the stack, whose frame LLVM aligns to whole registers
 * only if there is a frame pointer. Otherwise half of a loop's time may be spent in stores and
 * loads that cross cache lines. */
static nx_status set_attributes(const nxl_emitter *e, nxl_ref f, const nxl_machine *m) {
  const char *width = m->isa == NXL_AVX512 ? "512" : m->isa == NXL_AVX2 ? "256" : "128";
  attribute(e->context, f, "target-cpu", m->cpu);
  attribute(e->context, f, "prefer-vector-width", width);
  attribute(e->context, f, "min-legal-vector-width", width);
  attribute(e->context, f, "no-builtins", "");
  if (m->hasty) attribute(e->context, f, "frame-pointer", "all");
  return set_features(e, f, m);
}

/* ---- steps */

static nx_status give(const char *bytes, size_t n, void **data, size_t *size, nxi_diag *d) {
  char *copy = nxi_malloc(n + 1);
  if (!copy) return nxi_oom(d);
  memcpy(copy, bytes, n);
  copy[n] = '\0';
  *data = copy;
  *size = n;
  return NX_OK;
}

static nx_status give_ir(LLVMModuleRef module, void **data, size_t *size, nxi_diag *d) {
  char *text = LLVMPrintModuleToString(module);
  if (!text) return nxi_oom(d);
  nx_status s = give(text, strlen(text), data, size, d);
  LLVMDisposeMessage(text);
  return s;
}

static nx_status check_module(LLVMModuleRef module, nxi_diag *d) {
  char *message = NULL;
  bool bad = LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
  nx_status s = bad ? nxi_fail(d, NX_INTERNAL, "", "LLVM refuses the module: %s", message) : NX_OK;
  LLVMDisposeMessage(message);
  return s;
}

static nx_status run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, nxi_diag *d) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error) return NX_OK;
  char *message = LLVMGetErrorMessage(error);
  nx_status s = nxi_fail(d, NX_COMPILE_FAILED, "", "LLVM: %s", message);
  LLVMDisposeErrorMessage(message);
  return s;
}

static nx_status give_code(LLVMModuleRef module, LLVMTargetMachineRef machine, bool text,
                           void **data, size_t *size, nxi_diag *d) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, text ? LLVMAssemblyFile : LLVMObjectFile,
                                          &message, &buffer)) {
    nx_status s = nxi_fail(d, NX_COMPILE_FAILED, "", "LLVM: %s", message ? message : "no code");
    LLVMDisposeMessage(message);
    return s;
  }
  if (!buffer) return nxi_oom(d);
  bool failed = d && d->status != NX_OK; /* reported by the diagnostic handler */
  nx_status s = failed ? d->status
                       : give(LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), data, size, d);
  LLVMDisposeMemoryBuffer(buffer);
  return s;
}

static nx_status print_and_generate(nxl_emitter *e, const nxl_machine *m, const nxl_request *r) {
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(m->handle);
  LLVMSetTarget(e->module, m->triple);
  LLVMSetModuleDataLayout(e->module, layout);
  LLVMDisposeTargetData(layout);
  nx_status s = nxl_emit(e);
  if (s != NX_OK) return s;
  for (nxl_ref f = LLVMGetFirstFunction(e->module); f != NULL; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && (s = set_attributes(e, f, m)) != NX_OK) return s;
  if (m->hasty) nxl_pool_constants(e);
  if (r->verify && (s = check_module(e->module, e->diag)) != NX_OK) return s;
  if (r->form == NXL_IR) return give_ir(e->module, r->data, r->size, e->diag);
  if ((s = run_passes(e->module, m->handle, e->diag)) != NX_OK) return s;
  if (r->form == NXL_IR_OPTIMIZED) return give_ir(e->module, r->data, r->size, e->diag);
  return give_code(e->module, m->handle, r->form == NXL_ASM, r->data, r->size, e->diag);
}

static nx_status compile(const nxl_request *r, const nxl_machine *m, nxi_diag *d) {
  nxl_emitter e = {.k = r->kernel, .isa = m->isa, .calls = r->target->calls, .diag = d};
  e.has_word_sums = m->isa == NXL_AVX512 && nxl_machine_has(m, "avx512vnni");
  e.context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(e.context, on_diagnostic, d);
  e.module = LLVMModuleCreateWithNameInContext(r->kernel->name, e.context);
  e.builder = LLVMCreateBuilderInContext(e.context);
  nx_status s = print_and_generate(&e, m, r);
  LLVMDisposeBuilder(e.builder);
  LLVMDisposeModule(e.module);
  LLVMContextDispose(e.context);
  return s;
}

/* ---- the work that is done inside the guard */

/* Whether all values find room on the stack, where code that is not optimised keeps many. */
static bool fits_stack(const nxk_kernel *k) {
  const int64_t most_stack = 1 << 16;
  int64_t bytes = 0;
  for (nxk_value v = 0; v < k->n_instrs && bytes <= most_stack; v++)
    bytes += nxl_value_bytes(&k->instrs[v]);
  return bytes <= most_stack;
}

static nx_status compile_inside(void *arg, nxi_diag *d) {
  const nxl_request *r = *(const nxl_request **)arg;
  nxl_machine m;
  nx_status s = nxl_take_machine(r->target, r->target->hasty && fits_stack(r->kernel), &m, d);
  if (s != NX_OK) return s;
  s = compile(r, &m, d);
  nxl_return_machine(&m);
  if (s == NX_OK && r->form >= NXL_ASM) nxl_guard_warm();
  return s;
}

/* Bytes that LLVM may need for a kernel: more than twice what was measured, which is at most 0.9
 * MiB and 2,800 bytes for each instruction, for kernels of up to 5,600 instructions. */
static size_t memory_for(const nxk_kernel *k) {
  return ((size_t)4 << 20) + (size_t)k->n_instrs * 6144;
}

nx_status nxl_generate(const nxl_request *r, nxi_diag *d) {
  if (r->kernel->threads != 0)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "", "kernel %s is bound to threads, of a GPU",
                    r->kernel->name);
  nx_status s = nxl_start_for(r->target, d);
  if (s != NX_OK) return s;
  void *before = *r->data;
  s = nxl_guarded(compile_inside, &r, memory_for(r->kernel), d);
  if (s != NX_OK && *r->data != before) nxi_free(*r->data), *r->data = before;
  return s;
}
