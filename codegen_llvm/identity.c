/* SPDX-License-Identifier: ISC */
/* What decides the code that LLVM makes for this machine, told without LLVM: its version, and all
 * that it reads of the processor to find out which one it is and what it has. Compiled kernels on
 * disk are found by it, so that a process which finds all of its kernels does not load LLVM. */
#include "codegen_llvm.h"

#include <stdio.h>
#include <string.h>

#include "config.h"
#include "ir/platform/thread.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { EAX = 1, EBX = 2, ECX = 4, EDX = 8 };

/* Registers that differ from core to core, such as the number of the core, are left out. */
static const struct {
  uint32_t leaf, part, registers;
} leaves[] = {
    {0, 0, EAX | EBX | ECX | EDX},
    {1, 0, EAX | ECX | EDX},
    {7, 0, EAX | EBX | ECX | EDX},
    {7, 1, EAX | EBX | ECX | EDX},
    {0xd, 1, EAX},
    {0x14, 0, EBX},
    {0x19, 0, EBX},
    {0x1e, 1, EAX},
    {0x24, 0, EBX},
    {0x80000001, 0, ECX | EDX},
    {0x80000008, 0, EBX},
};

/* Which registers the system saves; 0: there is no way to ask. */
static uint64_t saved_registers(void) {
  uint32_t a, b, c, d, low = 0, high = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE))
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low | (uint64_t)high << 32;
}

static char text[512];

static void describe(void) {
  const size_t size = sizeof text;
  size_t used = (size_t)snprintf(text, size, "LLVM %s; x86-64 %llx", NX_LLVM_VERSION,
                                 (unsigned long long)saved_registers());
  for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
    uint32_t r[4] = {0};
    __get_cpuid_count(leaves[i].leaf, leaves[i].part, &r[0], &r[1], &r[2], &r[3]);
    for (uint32_t k = 0; k < 4; k++)
      if (leaves[i].registers >> k & 1)
        used += (size_t)snprintf(text + used, size - used, " %x", r[k]);
  }
}

const char *nxl_identity(void) {
  static nxi_once once = NXI_ONCE_INITIALIZER;
  nxi_once_run(&once, describe);
  return text;
}
#else
const char *nxl_identity(void) { return nxl_environment(""); }
#endif
