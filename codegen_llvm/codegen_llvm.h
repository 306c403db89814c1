/* SPDX-License-Identifier: ISC */
/* The LLVM code generator: bound kernel IR -> LLVM IR -> object -> code in this process.
 * Thread-safe: any number of threads may compile at once. LLVM is not part of the program until
 * something is compiled (module.h). Without LLVM (HAVE_LLVM unset) the
 * functions exist and nxl_available says why not. */
#ifndef NXI_CODEGEN_LLVM_H
#define NXI_CODEGEN_LLVM_H

#include <stdbool.h>
#include <stddef.h>
#include "ir/kernel/kernel.h"
#include "ir/kernel_abi.h"

/* The machine that code is generated for. */
typedef struct nxl_target {
  char triple[64];     /* "" = this machine */
  char cpu[64];        /* "" = this machine's */
  char features[1024]; /* "" = this machine's, without those that `isa` forbids */
  char isa[16]; /* "avx512", "avx2", "generic", "neon": decides features when features is "" */
  bool calls;   /* functions that are not expanded are called (nxi_target.calls); else refused */
  bool hasty;   /* not optimised, if its values find room on a stack (nxi_target.hasty) */
  bool any;     /* no model of processor: one of `isa` in general, the same on all machines */
} nxl_target;

/* Loads LLVM, and does nothing with it. Failures as of nxl_start. */
nx_status nxl_open(nxi_diag *d);
bool nxl_is_open(void); /* whether that has been done, by whatever call; one load */
/* Starts LLVM, once in a process: loads it, registers its targets and detects the host; the first
 * compile does so too. NX_OUT_OF_MEMORY: there is too little memory now; a later call may succeed.
 * NX_DEVICE_UNAVAILABLE: it is not there. */
nx_status nxl_start(nxi_diag *d);
/* NULL if code can be compiled and run here, else the reason, a static string. Starts LLVM, and
 * tests whether memory can be made executable. */
const char *nxl_unavailable(void);
/* The same as far as it can be told without LLVM, which is not started. */
const char *nxl_refused(void);
/* The same by what is known so far; it costs a few loads. The answer can change: LLVM is looked for
 * when something has to be compiled, a process may forbid itself executable memory at any time, and
 * LLVM is not used again after it ran out of memory in the middle of a compilation. */
const char *nxl_lost(void);
/* "LLVM 19.1.7; avx512; znver5; +avx512f,..." for `nxc info`. Starts LLVM. A static string for each
 * isa; "" for an unknown isa. isa as above; for "" this machine with all its features. */
const char *nxl_environment(const char *isa);
/* For keys of caches: a static string that differs where LLVM or the processor do, on which all
 * code made here depends. Does not start LLVM on x86-64. */
const char *nxl_identity(void);

/* Kernels come expanded and legalised for the isa (nxk_pass_expand, nxk_pass_legalize); others are
 * refused. */

/* Whether every module is checked by LLVM's verifier before its passes run (off at first). */
void nxl_set_verify(bool on);

/* LLVM IR, assembly or object of a kernel. The text forms go to `out`; the object is
 * nxi_malloc'd. */
typedef enum nxl_form { NXL_IR, NXL_IR_OPTIMIZED, NXL_ASM, NXL_OBJECT } nxl_form;
nx_status nxl_compile(const nxk_kernel *k, const nxl_target *t, nxl_form form, void **data,
                      size_t *size, nxi_diag *d);

/* An object loaded into this process. The entry point is the one function of the object. */
typedef struct nxl_code nxl_code;
nx_status nxl_load(const void *object, size_t size, const char *entry, nxl_code **out, nxi_diag *d);
nxi_kernel_fn nxl_entry(const nxl_code *c);
size_t nxl_code_bytes(const nxl_code *c);
void nxl_unload(nxl_code *c); /* frees the memory */

#endif
