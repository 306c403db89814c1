/* SPDX-License-Identifier: ISC */
/* What dl_iterate_phdr tells of a loaded library. */
#ifndef NXI_PLATFORM_LOADED_H
#define NXI_PLATFORM_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool loaded_contains(const struct dl_phdr_info *info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && address - (info->dlpi_addr + p->p_vaddr) < p->p_memsz) return true;
  }
  return false;
}

#endif
