/* SPDX-License-Identifier: ISC */
/* The build id: the GNU note that the linker leaves in what it makes. */
#include "build_id.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

#if defined(__linux__)
#include <elf.h>
#include <link.h>

typedef struct search {
  uintptr_t inside; /* an address of ours */
  char *out;
  size_t size;
  bool found;
} search;

static bool holds(const struct dl_phdr_info *info, uintptr_t address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && address >= start && address - start < p->p_memsz) return true;
  }
  return false;
}

static void take_note(search *s, const unsigned char *id, size_t n) {
  for (size_t i = 0; i < n && 2 * i + 3 <= s->size; i++) snprintf(s->out + 2 * i, 3, "%02x", id[i]);
  s->found = n > 0;
}

/* Notes: name size, description size, type; then both, each padded to four bytes. */
static void read_notes(search *s, const unsigned char *p, size_t size) {
  for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size && !s->found;) {
    ElfW(Nhdr) note;
    memcpy(&note, p + at, sizeof note);
    size_t name = at + sizeof note, text = name + ((note.n_namesz + 3u) & ~3u),
           next = text + ((note.n_descsz + 3u) & ~3u);
    if (next > size) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(p + name, "GNU", 4) == 0)
      take_note(s, p + text, note.n_descsz);
    at = next;
  }
}

static int visit(struct dl_phdr_info *info, size_t size, void *user) {
  search *s = user;
  (void)size;
  if (!holds(info, s->inside)) return 0;
  for (int i = 0; i < info->dlpi_phnum && !s->found; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type == PT_NOTE)
      read_notes(s, (const unsigned char *)(info->dlpi_addr + p->p_vaddr), p->p_memsz);
  }
  return 1;
}

static bool find_note(char *out, size_t size) {
  search s = {.inside = (uintptr_t)&nxi_build_id, .out = out, .size = size};
  dl_iterate_phdr(visit, &s);
  return s.found;
}
#else
static bool find_note(char *out, size_t size) {
  (void)out, (void)size;
  return false;
}
#endif

void nxi_build_id(char *out, size_t size) {
  out[0] = '\0';
  if (!find_note(out, size)) snprintf(out, size, "%s", NX_VERSION);
}
