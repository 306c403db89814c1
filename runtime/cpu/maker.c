/* SPDX-License-Identifier: ISC */
/* Machine code of this processor: LLVM makes it of bound kernels, for the cache and as text. */
#include "cpu.h"

#include <stdio.h>
#include <string.h>

#include "codegen_llvm/codegen_llvm.h"

static nx_status llvm_compile(void *user, const nxk_kernel *bound, const char *isa, void **object,
                              size_t *size, char entry[72], nxi_kernel_info *info, nxi_diag *d) {
  nxl_target target = {0};
  (void)user;
  snprintf(target.isa, sizeof target.isa, "%s", isa);
  snprintf(entry, 72, "%s", bound->name);
  target.calls = info->calls;
  target.hasty = info->hasty;
  info->scratch_bytes = nxk_scratch_bytes(bound);
  return nxl_compile(bound, &target, NXL_OBJECT, object, size, d);
}

static nx_status llvm_load(void *user, const void *object, size_t size, const char *entry,
                           const nxi_kernel_info *info, void **code, nxi_diag *d) {
  nxl_code *own = NULL;
  (void)user;
  (void)info;
  nx_status s = nxl_load(object, size, entry, &own, d);
  *code = own;
  return s;
}

static void llvm_unload(void *code) { nxl_unload(code); }
static size_t llvm_bytes(const void *code) { return nxl_code_bytes(code); }

static const nxi_code_maker llvm_maker = {nxl_identity, llvm_compile, NULL,
                                          llvm_load,    llvm_unload,  llvm_bytes};

nx_status nxi_kernel_cache_create(const char *cache_dir, nxi_kernel_cache **out, nxi_diag *d) {
  return nxi_kernel_cache_create_for(&llvm_maker, NULL, cache_dir, out, d);
}

nx_status nxi_kernel_disk_open(const char *directory, nxi_disk_cache **out, nxi_diag *d) {
  return nxi_kernel_disk_open_for(&llvm_maker, directory, out, d);
}

/* ---- as text */

static nx_status print(const nxk_kernel *bound, const nxi_target *t, nxl_form form, nxi_text *out,
                       nxi_diag *d) {
  nxl_target target = {0};
  void *data = NULL;
  size_t size = 0;
  memcpy(target.isa, t->isa, sizeof target.isa);
  target.calls = t->calls;
  target.hasty = t->hasty;
  target.any = strcmp(t->cpu, nxi_target_host()->cpu) != 0;
  nx_status status = nxl_compile(bound, &target, form, &data, &size, d);
  if (status != NX_OK) return status;
  nxi_text_put(out, data, (uint32_t)size);
  nxi_free(data);
  return NX_OK;
}

static nx_status print_llvm(const nxk_kernel *bound, const nxi_target *t, bool whole, nxi_text *out,
                            nxi_diag *d) {
  (void)whole;
  return print(bound, t, NXL_IR_OPTIMIZED, out, d);
}

static nx_status print_asm(const nxk_kernel *bound, const nxi_target *t, bool whole, nxi_text *out,
                           nxi_diag *d) {
  (void)whole;
  return print(bound, t, NXL_ASM, out, d);
}

const nxi_device_stage nxi_cpu_stages[] = {
    {.name = "llvm", .print = print_llvm}, {.name = "asm", .print = print_asm}, {.name = NULL}};
