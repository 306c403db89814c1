/* SPDX-License-Identifier: ISC */
/* The import table of a loaded ELF library. A library calls imported functions through pointers in
 * its own data, one for each function, which its relocations describe. The relocations of calls
 * (PLT) are searched first, because they are few; a library that has none (built without lazy
 * binding) has its pointers among the other relocations. Pointers that were made read-only after
 * loading are made writable only while they are replaced. */
#include "imports.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loaded.h"

#if defined(__x86_64__)
enum { CALL = R_X86_64_JUMP_SLOT, ADDRESS = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { CALL = R_AARCH64_JUMP_SLOT, ADDRESS = R_AARCH64_GLOB_DAT };
#else
enum { CALL = -1, ADDRESS = -2 };
#endif

typedef struct tables {
  uintptr_t base;
  const ElfW(Sym) * symbols;
  const char *strings;
  const ElfW(Rela) * calls, *addresses;
  size_t n_calls, n_addresses;
  uintptr_t sealed, sealed_end; /* read-only since loading */
} tables;

typedef struct search {
  uintptr_t inside;
  tables found;
  const char *name;
  bool done;
} search;

/* A pointer of the dynamic section. Some loaders have replaced it by an absolute address, others
 * leave the offset. */
static const void *pointer_of(uintptr_t base, ElfW(Addr) value) {
  uintptr_t address = value < base ? base + value : value;
  return (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
}

static void read_dynamic(tables *t, const ElfW(Dyn) * entry) {
  for (; entry->d_tag != DT_NULL; entry++) {
    const void *at = pointer_of(t->base, entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB: t->symbols = at; break;
      case DT_STRTAB: t->strings = at; break;
      case DT_JMPREL: t->calls = at; break;
      case DT_PLTRELSZ: t->n_calls = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
      case DT_RELA: t->addresses = at; break;
      case DT_RELASZ: t->n_addresses = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
      default: break;
    }
  }
}

static tables tables_of(const struct dl_phdr_info *info) {
  tables t = {.base = info->dlpi_addr};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t at = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_DYNAMIC)
      read_dynamic(&t, (const void *)at); /* NOLINT(performance-no-int-to-ptr) */
    if (p->p_type == PT_GNU_RELRO) t.sealed = at, t.sealed_end = at + p->p_memsz;
  }
  return t;
}

static int visit(struct dl_phdr_info *info, size_t size, void *user) {
  search *s = user;
  (void)size;
  s->done = loaded_contains(info, s->inside);
  if (!s->done) return 0;
  s->found = tables_of(info);
  s->name = info->dlpi_name;
  return 1;
}

static bool write_word(const tables *t, void **word, void *value) {
  uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)word, page = at & ~(size - 1);
  void *start = (char *)word - (at - page);
  bool sealed = at >= t->sealed && page + size <= t->sealed_end;
  if (sealed && mprotect(start, size, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  if (sealed) mprotect(start, size, PROT_READ);
  return true;
}

static bool replace_in(const tables *t, const ElfW(Rela) * table, size_t n, uint32_t type,
                       const nxi_replaced *import) {
  for (size_t i = 0; i < n; i++) {
    if (ELF64_R_TYPE(table[i].r_info) != type) continue;
    const char *name = t->strings + t->symbols[ELF64_R_SYM(table[i].r_info)].st_name;
    if (strcmp(name, import->name) != 0) continue;
    uintptr_t word = t->base + table[i].r_offset;
    return write_word(t, (void **)word,
                      import->replacement); /* NOLINT(performance-no-int-to-ptr) */
  }
  return false;
}

static bool replace_all(const tables *t, const nxi_replaced *imports, size_t n) {
  bool all = true;
  if (!t->symbols || !t->strings) return false;
  for (size_t i = 0; i < n; i++)
    all &= replace_in(t, t->calls, t->calls ? t->n_calls : 0, CALL, &imports[i]) ||
           replace_in(t, t->addresses, t->addresses ? t->n_addresses : 0, ADDRESS, &imports[i]);
  return all;
}

/* A replacement that calls what it replaces must not be in the same object, or it would call
 * itself. */
bool nxi_replace_imports(const void *inside, const nxi_replaced *imports, size_t n) {
  search s = {.inside = (uintptr_t)inside}, own = {.inside = (uintptr_t)nxi_replace_imports};
  dl_iterate_phdr(visit, &s);
  dl_iterate_phdr(visit, &own);
  return s.done && s.found.base != own.found.base && replace_all(&s.found, imports, n);
}

typedef struct later {
  uintptr_t inside;
  bool found;
  const nxi_replaced *imports;
  size_t n;
} later;

/* Libraries are visited in the order in which they were loaded. */
static int visit_later(struct dl_phdr_info *info, size_t size, void *user) {
  later *l = user;
  (void)size;
  if (l->found) {
    tables t = tables_of(info);
    replace_all(&t, l->imports, l->n);
  }
  l->found = l->found || loaded_contains(info, l->inside);
  return 0;
}

void nxi_replace_imports_after(const void *inside, const nxi_replaced *imports, size_t n) {
  later l = {.inside = (uintptr_t)inside, .imports = imports, .n = n};
  dl_iterate_phdr(visit_later, &l);
}

const char *nxi_library_name(const void *inside) {
  search s = {.inside = (uintptr_t)inside};
  dl_iterate_phdr(visit, &s);
  return s.name && s.name[0] ? s.name : NULL;
}
