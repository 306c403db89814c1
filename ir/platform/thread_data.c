/* SPDX-License-Identifier: ISC */
/* Whether there is memory is found out by allocating as much, in blocks of the sizes that the C
 * library asks for. It finds them again in this thread's own list of blocks just freed. */
#include "thread_data.h"

#include <stdlib.h>

#include "loaded.h"

enum { MOST = 8 };

typedef struct search {
  uintptr_t inside;
  nxi_thread_data found;
} search;

static int visit(struct dl_phdr_info *info, size_t size, void *user) {
  search *s = user;
  (void)size;
  if (!loaded_contains(info, s->inside)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    if (p->p_type != PT_TLS) continue;
    s->found = (nxi_thread_data){info->dlpi_tls_modid, p->p_memsz};
    if (p->p_align > _Alignof(max_align_t)) s->found.bytes += p->p_align;
  }
  return 1;
}

nxi_thread_data nxi_thread_data_of(const void *inside) {
  search s = {.inside = (uintptr_t)inside};
  dl_iterate_phdr(visit, &s);
  return s.found;
}

static bool have_memory(const nxi_thread_data *data, size_t n) {
  void *blocks[MOST];
  bool all = true;
  for (size_t i = 0; i < n; i++) {
    blocks[i] = malloc(data[i].bytes ? data[i].bytes : 1);
    all &= blocks[i] != NULL;
  }
  for (size_t i = 0; i < n; i++) free(blocks[i]);
  return all;
}

bool nxi_thread_data_make(const nxi_thread_data *data, size_t n) {
  typedef struct variable {
    unsigned long module, offset;
  } variable;
  extern void *__tls_get_addr(variable *); /* NOLINT: the loader's */
  if (n > MOST || !have_memory(data, n)) return false;
  for (size_t i = 0; i < n; i++)
    if (data[i].module) __tls_get_addr(&(variable){.module = data[i].module});
  return true;
}
