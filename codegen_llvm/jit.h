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

/* Starts LLVM, as nxl_start, with what is needed to compile for t: of another triple than the
 * host's, every target. */
nx_status nxl_start_for(const nxl_target *t, nxi_diag *d);
/* Inside LLVM, after that. */
nx_status nxl_take_machine(const nxl_target *t, nxl_machine *m, nxi_diag *d);
void nxl_return_machine(nxl_machine *m);

/* Checks that an ELF object is whole, for `machine` (EM_X86_64, ...), and needs nothing but
 * nxl_symbols. *bytes: memory it takes once loaded. */
nx_status nxl_check_object(const void *object, size_t size, uint16_t machine, size_t *bytes,
                           nxi_diag *d);
extern const uint16_t nxl_host_machine;

/* Writes a checked object into `memory`, as many zeroed bytes as the check said, so that it runs at
 * `address`, a multiple of 4096. *offset: where its function `entry` begins. */
nx_status nxl_link_object(const void *object, size_t size, const char *entry, void *memory,
                          uint64_t address, uint64_t *offset, nxi_diag *d);

/* The library functions that code may call where the machine lacks an instruction; NULL after the
 * last. */
typedef struct nxl_symbol {
  const char *name;
  uintptr_t address;
} nxl_symbol;
extern const nxl_symbol nxl_symbols[];

/* One relocation of an object for `machine`: bytes at `at`, of which `room` may be written, become
 * what refers to `value` (symbol and addend) from address `place`. False: of another type, or out
 * of reach. */
typedef struct nxl_reference {
  uint16_t machine;
  uint32_t type;
  uint64_t value, place;
  unsigned char *at;
  uint64_t room;
} nxl_reference;
bool nxl_relocate(const nxl_reference *r);

/* Code that jumps to a function however far it is. */
enum { NXL_STUB = 16 };
void nxl_write_stub(uint16_t machine, void *at, uint64_t function);

/* Why memory cannot be made executable in this process, NULL if it can. Tries it. */
const char *nxl_execution_refused(void);
/* The same of what was tried before. */
const char *nxl_execution_was_refused(void);

#endif
