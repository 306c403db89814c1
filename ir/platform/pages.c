/* SPDX-License-Identifier: ISC */
/* Mappings of memory. */
#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

size_t nxi_page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

int64_t nxi_machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (int64_t)pages * page : 0;
}

static void *map(size_t bytes, int more) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

void *nxi_pages_map(size_t bytes) { return map(bytes, 0); }

void nxi_pages_unmap(void *pages, size_t bytes) { munmap(pages, bytes); }

bool nxi_pages_touched(void *pages) {
  unsigned char there;
  return mincore(pages, 1, &there) != 0 || (there & 1) != 0;
}

static bool is_left(size_t bytes, int more) {
  void *p = map(bytes, more);
  if (p) munmap(p, bytes);
  return p != NULL;
}

bool nxi_addresses_left(size_t bytes) { return is_left(bytes, MAP_NORESERVE); }
bool nxi_memory_left(size_t bytes) { return is_left(bytes, 0); }

void nxi_pages_want_large(void *at, size_t bytes) {
  uintptr_t page = nxi_page_bytes(), before = (uintptr_t)at & (page - 1),
            all = (before + bytes + page - 1) & ~(page - 1);
  madvise((char *)at - before, all, MADV_HUGEPAGE);
}

void nxi_pages_drop(void *pages, size_t bytes) { madvise(pages, bytes, MADV_DONTNEED); }

bool nxi_pages_execute(void *pages, size_t bytes) {
  if (mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0) return false;
  __builtin___clear_cache(pages, (char *)pages + bytes);
  return true;
}

bool nxi_pages_protect(void *pages, size_t bytes, bool writable) {
  return mprotect(pages, bytes, PROT_READ | (writable ? PROT_WRITE : 0)) == 0;
}

void *nxi_pages_map_file(int file, int64_t position, size_t bytes, nxi_pages_access access) {
  void *p = mmap(NULL, bytes, PROT_READ | (access == NXI_PAGES_READ ? 0 : PROT_WRITE),
                 access == NXI_PAGES_SHARED ? MAP_SHARED : MAP_PRIVATE, file, position);
  return p == MAP_FAILED ? NULL : p;
}
