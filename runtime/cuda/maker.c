/* SPDX-License-Identifier: ISC */
#include "maker.h"

#include "ir/platform/thread.h"
#include <stdio.h>

#include "codegen_cuda/codegen_cuda.h"
#include "driver.h"

/* What cubins in the cache depend on. The driver's version is a part of it, although a cubin
 * depends on the compiler only. */
static char environment_text[80];
static void write_environment(void) {
  snprintf(environment_text, sizeof environment_text, "%s, driver %d", nxu_environment(),
           nxi_cuda_version());
}
static const char *environment(void) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_once_run(&once, write_environment);
  return environment_text;
}

static nx_status compile(void *user, const nxk_kernel *bound, const char *isa, void **object,
                         size_t *size, char entry[72], nxi_kernel_info *info, nxi_diag *d) {
  const nxi_gpu *gpu = user;
  nxi_text text = {0};
  nxu_launch launch;
  nxi_text_add(&text, "%s", nxu_prelude());
  nx_status status = nxu_print(bound, nxi_gpu_properties(gpu)->shared_bytes, &text, &launch, d);
  if (status == NX_OK && text.failed) status = nxi_oom(d);
  if (status == NX_OK)
    status = nxu_compile(text.data, bound->name, isa, NXU_CUBIN, object, size, d);
  nxi_text_free(&text);
  if (status != NX_OK) return status;
  snprintf(entry, 72, "%s", launch.entry);
  info->threads = launch.threads;
  info->shared_bytes = launch.shared_bytes;
  info->scratch_bytes = launch.scratch_bytes;
  return NX_OK;
}

static nx_status compile_text(void *user, const char *text, const char *name, const char *isa,
                              void **object, size_t *size, nxi_diag *d) {
  (void)user;
  return nxu_compile(text, name, isa, NXU_CUBIN, object, size, d);
}

static nx_status load(void *user, const void *object, size_t size, const char *entry,
                      const nxi_kernel_info *info, void **code, nxi_diag *d) {
  nxi_gpu_code *own = NULL;
  (void)size;
  nx_status status = nxi_gpu_load(user, object, entry, info->shared_bytes, &own, d);
  *code = own;
  return status;
}

static void unload(void *code) { nxi_gpu_unload(code); }
static size_t bytes(const void *code) {
  (void)code;
  return 64 << 10; /* the driver does not report it; a typical size */
}

const nxi_code_maker nxi_gpu_maker = {environment, compile, compile_text, load, unload, bytes};
