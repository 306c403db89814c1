/* SPDX-License-Identifier: ISC */
/* The code generator of a build without LLVM: every function exists and reports that there is no
 * LLVM. Kernels are interpreted. */
#include <stddef.h>

#include "codegen_llvm.h"

static const char reason[] = "this build has no LLVM";

const char *nxl_unavailable(void) { return reason; }

const char *nxl_refused(void) { return reason; }

const char *nxl_lost(void) { return reason; }

bool nxl_is_open(void) { return false; }

nx_status nxl_open(nxi_diag *d) { return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", reason); }

nx_status nxl_start(nxi_diag *d) { return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", reason); }

const char *nxl_environment(const char *isa) {
  (void)isa;
  return "no LLVM";
}

const char *nxl_identity(void) { return "no LLVM"; }

void nxl_set_verify(bool on) { (void)on; }

nx_status nxl_compile(const nxk_kernel *k, const nxl_target *t, nxl_form form, void **data,
                      size_t *size, nxi_diag *d) {
  (void)k, (void)t, (void)form, (void)data, (void)size;
  return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", reason);
}

nx_status nxl_load(const void *object, size_t size, const char *entry, nxl_code **out,
                   nxi_diag *d) {
  (void)object, (void)size, (void)entry, (void)out;
  return nxi_fail(d, NX_DEVICE_UNAVAILABLE, "", "%s", reason);
}

/* The remaining functions are never called, since no code exists. */
nxi_kernel_fn nxl_entry(const nxl_code *c) {
  (void)c;
  return NULL;
}

size_t nxl_code_bytes(const nxl_code *c) {
  (void)c;
  return 0;
}

void nxl_unload(nxl_code *c) { (void)c; }
