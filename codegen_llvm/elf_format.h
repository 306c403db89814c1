/* SPDX-License-Identifier: ISC */
/* The parts of the 64-bit ELF format that object files of kernels use. Object files are in this
 * format on every system, because LLVM is told to write it, so the system's headers are not used.
 * Names are those of the System V ABI and its supplements for the processors. */
#ifndef NXI_LLVM_ELF_FORMAT_H
#define NXI_LLVM_ELF_FORMAT_H

#include <stdint.h>

/* The file begins with this. */
typedef struct nxl_elf_header {
  unsigned char e_ident[16];
  uint16_t e_type, e_machine;
  uint32_t e_version;
  uint64_t e_entry, e_phoff, e_shoff;
  uint32_t e_flags;
  uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
} nxl_elf_header;

typedef struct nxl_elf_section {
  uint32_t sh_name, sh_type;
  uint64_t sh_flags, sh_addr, sh_offset, sh_size;
  uint32_t sh_link, sh_info;
  uint64_t sh_addralign, sh_entsize;
} nxl_elf_section;

typedef struct nxl_elf_symbol {
  uint32_t st_name;
  unsigned char st_info, st_other;
  uint16_t st_shndx;
  uint64_t st_value, st_size;
} nxl_elf_symbol;

typedef struct nxl_elf_relocation {
  uint64_t r_offset, r_info;
  int64_t r_addend;
} nxl_elf_relocation;

_Static_assert(sizeof(nxl_elf_header) == 64 && sizeof(nxl_elf_section) == 64 &&
                   sizeof(nxl_elf_symbol) == 24 && sizeof(nxl_elf_relocation) == 24,
               "the sizes that the format says");

static inline uint32_t nxl_elf_relocation_symbol(uint64_t r_info) {
  return (uint32_t)(r_info >> 32);
}
static inline uint32_t nxl_elf_relocation_type(uint64_t r_info) { return (uint32_t)r_info; }
static inline uint32_t nxl_elf_symbol_type(unsigned char st_info) { return st_info & 15; }

#define NXL_ELF_MAGIC "\177ELF"
enum { NXL_ELF_MAGIC_BYTES = 4, NXL_ELF_CLASS = 4, NXL_ELF_CLASS_64 = 2, NXL_ELF_RELOCATABLE = 1 };
enum { NXL_ELF_NO_MACHINE = 0, NXL_ELF_X86_64 = 62, NXL_ELF_AARCH64 = 183 };
enum { /* sh_type */
       NXL_SECTION_SYMBOLS = 2,
       NXL_SECTION_STRINGS = 3,
       NXL_SECTION_RELA = 4,
       NXL_SECTION_ZEROS = 8,
       NXL_SECTION_REL = 9
};
enum { NXL_SECTION_WRITE = 1, NXL_SECTION_LOADED = 2, NXL_SECTION_CODE = 4 }; /* sh_flags */
enum { NXL_SYMBOL_UNDEFINED = 0, NXL_SYMBOL_RESERVED = 0xff00 };              /* st_shndx */
enum { NXL_SYMBOL_FUNCTION = 2 };

enum {
  R_X86_64_NONE = 0,
  R_X86_64_64 = 1,
  R_X86_64_PC32 = 2,
  R_X86_64_PLT32 = 4,
  R_X86_64_PC64 = 24,
  R_AARCH64_NONE = 0,
  R_AARCH64_ABS64 = 257,
  R_AARCH64_PREL64 = 260,
  R_AARCH64_PREL32 = 261,
  R_AARCH64_ADR_PREL_PG_HI21 = 275,
  R_AARCH64_ADD_ABS_LO12_NC = 277,
  R_AARCH64_LDST8_ABS_LO12_NC = 278,
  R_AARCH64_JUMP26 = 282,
  R_AARCH64_CALL26 = 283,
  R_AARCH64_LDST16_ABS_LO12_NC = 284,
  R_AARCH64_LDST32_ABS_LO12_NC = 285,
  R_AARCH64_LDST64_ABS_LO12_NC = 286,
  R_AARCH64_LDST128_ABS_LO12_NC = 299
};

#endif
