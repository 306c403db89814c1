/* SPDX-License-Identifier: ISC */
/* What an ELF object asks for, read before it is loaded: a stored object may be of another machine or cut
 * short, and code that calls a library function by surprise must not be loaded. Reads nothing outside the
 * bytes given. */
#include <elf.h>
#include <math.h>
#include <string.h>

#include "jit.h"

const nxl_symbol nxl_symbols[] = {
    {"fma", (uintptr_t)(double (*)(double, double, double))fma},
    {"fmaf", (uintptr_t)(float (*)(float, float, float))fmaf},
    {NULL, 0},
};

#if defined(__x86_64__)
const uint16_t nxl_host_machine = EM_X86_64;
#elif defined(__aarch64__)
const uint16_t nxl_host_machine = EM_AARCH64;
#else
const uint16_t nxl_host_machine = EM_NONE;
#endif

typedef struct object {
  const unsigned char *bytes;
  size_t size;
  Elf64_Ehdr header;
} object;

static bool inside(const object *o, uint64_t offset, uint64_t n) {
  return offset <= o->size && n <= o->size - offset;
}

static bool read_section(const object *o, uint32_t i, Elf64_Shdr *s) {
  if (i >= o->header.e_shnum) return false;
  memcpy(s, o->bytes + o->header.e_shoff + (uint64_t)i * sizeof *s, sizeof *s);
  return s->sh_type == SHT_NOBITS || inside(o, s->sh_offset, s->sh_size);
}

static bool read_header(object *o, uint16_t machine) {
  if (o->size < sizeof o->header) return false;
  memcpy(&o->header, o->bytes, sizeof o->header);
  const Elf64_Ehdr *h = &o->header;
  return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
         h->e_type == ET_REL && h->e_machine == machine && h->e_shentsize == sizeof(Elf64_Shdr) &&
         inside(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
}

static bool known(const char *name) {
  for (const nxl_symbol *s = nxl_symbols; s->name; s++)
    if (strcmp(s->name, name) == 0) return true;
  return false;
}

/* NULL, or the fault of a symbol table; `name`: the symbol it is about. */
static const char *check_symbols(const object *o, const Elf64_Shdr *table, const char **name) {
  Elf64_Shdr strings;
  if (table->sh_entsize != sizeof(Elf64_Sym) || !read_section(o, table->sh_link, &strings))
    return "a symbol table is malformed";
  const char *text = (const char *)o->bytes + strings.sh_offset;
  if (strings.sh_type != SHT_STRTAB || strings.sh_size == 0 || text[strings.sh_size - 1] != '\0')
    return "a string table is malformed";
  for (uint64_t i = 1; i < table->sh_size / sizeof(Elf64_Sym); i++) {
    Elf64_Sym symbol;
    memcpy(&symbol, o->bytes + table->sh_offset + i * sizeof symbol, sizeof symbol);
    if (symbol.st_shndx != SHN_UNDEF) continue;
    if (symbol.st_name >= strings.sh_size) return "a symbol has no name";
    *name = text + symbol.st_name;
    if (!known(*name)) return "it calls a function that is not part of it";
  }
  *name = "";
  return NULL;
}

nx_status nxl_check_object(const void *bytes, size_t size, uint16_t machine, size_t *loaded,
                           nxi_diag *d) {
  object o = {.bytes = bytes, .size = size};
  const char *fault = NULL, *name = "";
  size_t total = 0;
  if (!read_header(&o, machine))
    return nxi_fail(d, NX_COMPILE_FAILED, "", "an object is not for this machine");
  for (uint32_t i = 1; i < o.header.e_shnum && !fault; i++) {
    Elf64_Shdr s;
    if (!read_section(&o, i, &s)) fault = "a section lies outside it";
    else if (s.sh_type == SHT_SYMTAB) fault = check_symbols(&o, &s, &name);
    else if (s.sh_flags & SHF_ALLOC) total += (s.sh_size + 4095) & ~(size_t)4095;
  }
  if (fault)
    return nxi_fail(d, NX_COMPILE_FAILED, "", "an object cannot be loaded: %s%s%s", fault,
                    *name ? ": " : "", name);
  *loaded = total;
  return NX_OK;
}
