/* SPDX-License-Identifier: ISC */
/* ELF object files of one kernel each. An object is checked before it is loaded: one from the
 * disk cache may be truncated or for another machine, and code that unexpectedly calls a library
 * function must not be loaded. Then its sections are laid out in one block of memory, and its
 * references are resolved (relocate.c). Nothing outside the given bytes is read. */
#include <math.h>
#include <string.h>

#include "elf_format.h"
#include "jit.h"

const nxl_symbol nxl_symbols[] = {
    {"fma", (uintptr_t)(double (*)(double, double, double))fma},
    {"fmaf", (uintptr_t)(float (*)(float, float, float))fmaf},
    {NULL, 0},
};
enum { PAGE = 4096 };

#if defined(__x86_64__)
const uint16_t nxl_host_machine = NXL_ELF_X86_64;
#elif defined(__aarch64__)
const uint16_t nxl_host_machine = NXL_ELF_AARCH64;
#else
const uint16_t nxl_host_machine = NXL_ELF_NO_MACHINE;
#endif

typedef struct object {
  const unsigned char *bytes;
  size_t size;
  nxl_elf_header header;
} object;

static bool inside(const object *o, uint64_t offset, uint64_t n) {
  return offset <= o->size && n <= o->size - offset;
}

static bool read_section(const object *o, uint32_t i, nxl_elf_section *s) {
  if (i >= o->header.e_shnum) return false;
  memcpy(s, o->bytes + o->header.e_shoff + (uint64_t)i * sizeof *s, sizeof *s);
  return s->sh_type == NXL_SECTION_ZEROS || inside(o, s->sh_offset, s->sh_size);
}

static bool read_header(object *o, uint16_t machine) {
  if (o->size < sizeof o->header) return false;
  memcpy(&o->header, o->bytes, sizeof o->header);
  const nxl_elf_header *h = &o->header;
  return memcmp(h->e_ident, NXL_ELF_MAGIC, NXL_ELF_MAGIC_BYTES) == 0 &&
         h->e_ident[NXL_ELF_CLASS] == NXL_ELF_CLASS_64 && h->e_type == NXL_ELF_RELOCATABLE &&
         h->e_machine == machine && h->e_shentsize == sizeof(nxl_elf_section) &&
         inside(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof(nxl_elf_section));
}

/* The strings of a section; NULL unless the section is complete and ends with NUL. */
static const char *read_strings(const object *o, uint32_t i, nxl_elf_section *s) {
  if (!read_section(o, i, s) || s->sh_type != NXL_SECTION_STRINGS || s->sh_size == 0) return NULL;
  const char *text = (const char *)o->bytes + s->sh_offset;
  return text[s->sh_size - 1] == '\0' ? text : NULL;
}

/* Whether a section is loaded. Unwind tables are not: no exception passes through a kernel. */
static bool is_loaded(const object *o, const nxl_elf_section *s) {
  nxl_elf_section table;
  const char *names = read_strings(o, o->header.e_shstrndx, &table);
  if (!(s->sh_flags & NXL_SECTION_LOADED)) return false;
  return !names || s->sh_name >= table.sh_size || strcmp(names + s->sh_name, ".eh_frame") != 0;
}

/* ---- checks */

static const nxl_symbol *known(const char *name) {
  for (const nxl_symbol *s = nxl_symbols; s->name; s++)
    if (strcmp(s->name, name) == 0) return s;
  return NULL;
}

/* NULL, or the fault of a symbol table; `name`: the symbol at fault. */
static const char *check_symbols(const object *o, const nxl_elf_section *table, const char **name) {
  nxl_elf_section strings, home;
  const char *text = read_strings(o, table->sh_link, &strings);
  if (table->sh_entsize != sizeof(nxl_elf_symbol)) return "a symbol table is malformed";
  if (!text) return "a string table is malformed";
  for (uint64_t i = 1; i < table->sh_size / sizeof(nxl_elf_symbol); i++) {
    nxl_elf_symbol symbol;
    memcpy(&symbol, o->bytes + table->sh_offset + i * sizeof symbol, sizeof symbol);
    if (symbol.st_name >= strings.sh_size) return "a symbol has no name";
    *name = text + symbol.st_name;
    if (symbol.st_shndx == NXL_SYMBOL_UNDEFINED && !known(*name))
      return "it calls a function that is not part of it";
    if (symbol.st_shndx != NXL_SYMBOL_UNDEFINED && symbol.st_shndx < NXL_SYMBOL_RESERVED &&
        (!read_section(o, symbol.st_shndx, &home) || symbol.st_value > home.sh_size))
      return "a symbol lies outside its section";
  }
  *name = "";
  return NULL;
}

static const char *check_relocations(const object *o, const nxl_elf_section *s) {
  nxl_elf_section target, symbols;
  if (!read_section(o, s->sh_info, &target)) return "relocations have no section";
  if (s->sh_entsize != sizeof(nxl_elf_relocation) || !read_section(o, s->sh_link, &symbols) ||
      symbols.sh_type != NXL_SECTION_SYMBOLS)
    return "a table of relocations is malformed";
  return NULL;
}

/* Adds a section to the block, at its alignment. */
static const char *place(const nxl_elf_section *s, uint64_t *end, uint64_t *offset) {
  uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
  if (align > PAGE || (align & (align - 1)))
    return "a section's alignment is no small power of two";
  *offset = (*end + align - 1) & ~(align - 1);
  if (s->sh_size > INT32_MAX || *offset > INT32_MAX) return "a section is too large";
  *end = *offset + s->sh_size;
  return NULL;
}

static const char *check_section(const object *o, const nxl_elf_section *s, uint64_t *end,
                                 const char **name) {
  uint64_t offset;
  if (s->sh_type == NXL_SECTION_SYMBOLS) return check_symbols(o, s, name);
  if (s->sh_type == NXL_SECTION_REL) return "its relocations are of another form";
  if (s->sh_type == NXL_SECTION_RELA) return check_relocations(o, s);
  if (!is_loaded(o, s)) return NULL;
  if ((s->sh_flags & NXL_SECTION_WRITE) && s->sh_size) return "it has variables";
  return place(s, end, &offset);
}

/* After the sections come the stubs, one for each function that code may call. */
static uint64_t stubs_offset(uint64_t end) { return (end + 15) & ~UINT64_C(15); }

nx_status nxl_check_object(const void *bytes, size_t size, uint16_t machine, size_t *loaded,
                           nxi_diag *d) {
  object o = {.bytes = bytes, .size = size};
  const char *fault = NULL, *name = "";
  uint64_t end = 0;
  if (!read_header(&o, machine))
    return nxi_fail(d, NX_COMPILE_FAILED, "", "an object is not for this machine");
  for (uint32_t i = 1; i < o.header.e_shnum && !fault; i++) {
    nxl_elf_section s;
    fault =
        read_section(&o, i, &s) ? check_section(&o, &s, &end, &name) : "a section lies outside it";
  }
  if (fault)
    return nxi_fail(d, NX_COMPILE_FAILED, "", "an object cannot be loaded: %s%s%s", fault,
                    *name ? ": " : "", name);
  *loaded = (stubs_offset(end) + sizeof nxl_symbols / sizeof *nxl_symbols * NXL_STUB + PAGE - 1) &
            ~(size_t)(PAGE - 1);
  return NX_OK;
}

/* ---- linking. The functions below are given an object that has passed the checks. */

typedef struct link {
  object o;
  unsigned char *memory; /* the block as it is written */
  uint64_t address;      /* where it will run */
  uint64_t *offset;      /* of each section in the block; UINT64_MAX: not loaded */
  uint64_t stubs;
} link;

static bool copy_sections(link *l) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < l->o.header.e_shnum; i++) {
    nxl_elf_section s;
    l->offset[i] = UINT64_MAX;
    if (i == 0 || !read_section(&l->o, i, &s) || !is_loaded(&l->o, &s) ||
        s.sh_type == NXL_SECTION_RELA || s.sh_type == NXL_SECTION_SYMBOLS)
      continue;
    if (place(&s, &end, &l->offset[i])) return false;
    if (s.sh_type != NXL_SECTION_ZEROS && s.sh_size)
      memcpy(l->memory + l->offset[i], l->o.bytes + s.sh_offset, s.sh_size);
  }
  l->stubs = stubs_offset(end);
  for (const nxl_symbol *s = nxl_symbols; s->name; s++)
    nxl_write_stub(l->o.header.e_machine, l->memory + l->stubs + (s - nxl_symbols) * NXL_STUB,
                   s->address);
  return true;
}

static bool address_of(const link *l, const nxl_elf_symbol *symbol, const char *name,
                       uint64_t *out) {
  if (symbol->st_shndx == NXL_SYMBOL_UNDEFINED) {
    const nxl_symbol *s = known(name);
    if (s) *out = l->address + l->stubs + (uint64_t)(s - nxl_symbols) * NXL_STUB;
    return s != NULL;
  }
  if (symbol->st_shndx >= l->o.header.e_shnum || l->offset[symbol->st_shndx] == UINT64_MAX)
    return false;
  *out = l->address + l->offset[symbol->st_shndx] + symbol->st_value;
  return true;
}

static bool read_symbol(const object *o, const nxl_elf_section *table, uint64_t i,
                        nxl_elf_symbol *symbol, const char **name) {
  nxl_elf_section strings;
  const char *text = read_strings(o, table->sh_link, &strings);
  if (!text || i >= table->sh_size / sizeof *symbol) return false;
  memcpy(symbol, o->bytes + table->sh_offset + i * sizeof *symbol, sizeof *symbol);
  *name = text + symbol->st_name;
  return symbol->st_name < strings.sh_size;
}

static bool resolve_one(const link *l, const nxl_elf_section *symbols,
                        const nxl_elf_section *target, uint64_t base, const nxl_elf_relocation *r) {
  nxl_elf_symbol symbol;
  const char *name;
  uint64_t value;
  if (r->r_offset > target->sh_size) return false;
  if (!read_symbol(&l->o, symbols, nxl_elf_relocation_symbol(r->r_info), &symbol, &name) ||
      !address_of(l, &symbol, name, &value))
    return false;
  nxl_reference reference = {.machine = l->o.header.e_machine,
                             .type = (uint32_t)nxl_elf_relocation_type(r->r_info),
                             .value = value + (uint64_t)r->r_addend,
                             .place = l->address + base + r->r_offset,
                             .at = l->memory + base + r->r_offset,
                             .room = target->sh_size - r->r_offset};
  return nxl_relocate(&reference);
}

/* Applies all relocations. False: *type is the type of the first one that cannot be applied. */
static bool resolve(const link *l, uint32_t *type) {
  for (uint32_t i = 1; i < l->o.header.e_shnum; i++) {
    nxl_elf_section s, symbols, target;
    if (!read_section(&l->o, i, &s) || s.sh_type != NXL_SECTION_RELA) continue;
    if (!read_section(&l->o, s.sh_link, &symbols) || !read_section(&l->o, s.sh_info, &target))
      return false;
    uint64_t base = l->offset[s.sh_info];
    if (base == UINT64_MAX) continue; /* relocations of sections that are not loaded */
    for (uint64_t k = 0; k < s.sh_size / sizeof(nxl_elf_relocation); k++) {
      nxl_elf_relocation r;
      memcpy(&r, l->o.bytes + s.sh_offset + k * sizeof r, sizeof r);
      *type = (uint32_t)nxl_elf_relocation_type(r.r_info);
      if (!resolve_one(l, &symbols, &target, base, &r)) return false;
    }
  }
  return true;
}

static bool find_entry(const link *l, const char *entry, uint64_t *offset) {
  for (uint32_t i = 1; i < l->o.header.e_shnum; i++) {
    nxl_elf_section s, home;
    nxl_elf_symbol symbol;
    const char *name;
    if (!read_section(&l->o, i, &s) || s.sh_type != NXL_SECTION_SYMBOLS) continue;
    for (uint64_t k = 1; read_symbol(&l->o, &s, k, &symbol, &name); k++) {
      if (nxl_elf_symbol_type(symbol.st_info) != NXL_SYMBOL_FUNCTION || strcmp(name, entry) != 0)
        continue;
      if (!read_section(&l->o, symbol.st_shndx, &home) || !(home.sh_flags & NXL_SECTION_CODE) ||
          !address_of(l, &symbol, name, offset))
        return false;
      *offset -= l->address;
      return true;
    }
  }
  return false;
}

nx_status nxl_link_object(const void *bytes, size_t size, const char *entry, void *memory,
                          uint64_t address, uint64_t *offset, nxi_diag *d) {
  link l = {.o = {.bytes = bytes, .size = size}, .memory = memory, .address = address};
  uint32_t type = 0;
  memcpy(&l.o.header, bytes, sizeof l.o.header);
  l.offset = nxi_malloc(((size_t)l.o.header.e_shnum + 1) * sizeof *l.offset);
  if (!l.offset) return nxi_oom(d);
  nx_status s = NX_OK;
  if (!copy_sections(&l) || !resolve(&l, &type))
    s = nxi_fail(d, NX_COMPILE_FAILED, "",
                 "an object cannot be loaded: a relocation of type %u has no meaning here", type);
  else if (!find_entry(&l, entry, offset))
    s = nxi_fail(d, NX_COMPILE_FAILED, "", "an object has no entry %s", entry);
  nxi_free(l.offset);
  return s;
}
