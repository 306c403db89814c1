/* SPDX-License-Identifier: ISC */
/* Private to the module: LLVM's machines to compile for, and a compilation. */
#ifndef NXI_LLVM_MACHINE_H
#define NXI_LLVM_MACHINE_H

#include <llvm-c/TargetMachine.h>

#include "emit.h"
#include "module.h"

/* A target machine, from the pool or new, and the strings that go into the attributes of
 * functions. */
typedef struct nxl_machine {
  LLVMTargetMachineRef handle;
  nxl_isa isa;
  bool pooled; /* goes back to the pool */
  bool hasty;  /* optimises nothing */
  char triple[64], cpu[64];
  const char *features; /* static, or of the caller's nxl_target */
} nxl_machine;

/* Starts LLVM like nxl_start; nxl_start_for: with what is needed to compile for t: if its triple is
 * not the host's, all targets are registered. */
nx_status nxl_start_host(nxi_diag *d);
nx_status nxl_start_for(const nxl_target *t, nxi_diag *d);
/* nxl_environment, once LLVM is started. */
const char *nxl_describe(const char *isa);
/* Why nothing can be compiled any more, or ever; NULL: something can. */
const char *nxl_useless(void);

/* Takes a machine for t; hasty: one that makes slower code, in a third of the time. Must be called
 * inside the guard, after nxl_start_for. */
nx_status nxl_take_machine(const nxl_target *t, bool hasty, nxl_machine *m, nxi_diag *d);
void nxl_return_machine(nxl_machine *m);
/* Whether the machine's features name one. */
bool nxl_machine_has(const nxl_machine *m, const char *feature);

/* Loads the vector constants of the module where its functions begin. */
void nxl_pool_constants(nxl_emitter *e);

/* nxl_compile. */
nx_status nxl_generate(const nxl_request *r, nxi_diag *d);

#endif
