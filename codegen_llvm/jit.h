/* SPDX-License-Identifier: ISC */
/* Inside the LLVM driver: machines to compile for, and checks of objects. */
#ifndef NXI_LLVM_JIT_H
#define NXI_LLVM_JIT_H

#include <llvm-c/TargetMachine.h>

#include "emit.h"

/* A machine taken from the pool, or made, and the strings a function's attributes repeat. */
typedef struct nxl_machine {
  LLVMTargetMachineRef handle;
  nxl_isa isa;
  bool pooled; /* goes back to the pool */
  char triple[64], cpu[64];
  const char *features; /* static, or of the caller's nxl_target */
} nxl_machine;

/* Registers LLVM's targets and finds out about the host, once. */
void nxl_setup(void);
nx_status nxl_take_machine(const nxl_target *t, nxl_machine *m, nxi_diag *d);
void nxl_return_machine(nxl_machine *m);

/* Checks that an ELF object is whole, for `machine` (EM_X86_64, ...), and needs nothing but nxl_symbols.
 * *bytes: memory it takes once loaded. */
nx_status nxl_check_object(const void *object, size_t size, uint16_t machine, size_t *bytes,
                           nxi_diag *d);
extern const uint16_t nxl_host_machine;

/* The library functions that code may call where the machine lacks an instruction; NULL after the last. */
typedef struct nxl_symbol {
  const char *name;
  uintptr_t address;
} nxl_symbol;
extern const nxl_symbol nxl_symbols[];

#endif
