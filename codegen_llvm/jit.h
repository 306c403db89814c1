/* SPDX-License-Identifier: ISC */
/* Private to the library's part of the LLVM code generator: checking and linking of objects, and
 * whether they may be executed. */
#ifndef NXI_LLVM_JIT_H
#define NXI_LLVM_JIT_H

#include "codegen_llvm.h"

/* Checks that an ELF object is complete, is for `machine` (EM_X86_64, ...), and refers to no
 * symbols but nxl_symbols. *bytes: the memory that it takes when loaded. */
nx_status nxl_check_object(const void *object, size_t size, uint16_t machine, size_t *bytes,
                           nxi_diag *d);
extern const uint16_t nxl_host_machine;

/* Links a checked object into `memory`, which has *bytes zeroed bytes, for running at `address`, a
 * multiple of 4096. *offset: the offset of its function `entry`. */
nx_status nxl_link_object(const void *object, size_t size, const char *entry, void *memory,
                          uint64_t address, uint64_t *offset, nxi_diag *d);

/* The library functions that code may call if the machine lacks an instruction; the last entry is
 * NULL. */
typedef struct nxl_symbol {
  const char *name;
  uintptr_t address;
} nxl_symbol;
extern const nxl_symbol nxl_symbols[];

/* Applies one relocation of an object for `machine`: the bytes at `at`, of which `room` may be
 * written, are made to refer to `value` (symbol + addend) from address `place`. False: the type is
 * unknown, or the value is out of range. */
typedef struct nxl_reference {
  uint16_t machine;
  uint32_t type;
  uint64_t value, place;
  unsigned char *at;
  uint64_t room;
} nxl_reference;
bool nxl_relocate(const nxl_reference *r);

/* The bytes of a stub: code that jumps to a function at any distance. */
enum { NXL_STUB = 16 };
void nxl_write_stub(uint16_t machine, void *at, uint64_t function);

/* The reason why memory cannot be made executable in this process, NULL if it can. Tests it. */
const char *nxl_execution_refused(void);
/* The same by the result of earlier tests. */
const char *nxl_execution_was_refused(void);

#endif
