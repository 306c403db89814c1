/* SPDX-License-Identifier: ISC */
/* A library to be loaded before all others (LD_PRELOAD): allocations of the whole process, those of
 * other libraries included, fail from the moment on that a program calls starve(). By default each
 * works; starve(n, false) lets the n-th from now on fail, starve(n, true) that and all that follow;
 * starve_within(address) those that an exported function of a library, or what it calls, makes.
 * starve_count() says how many there were, or how many of these. */
#undef _FILE_OFFSET_BITS /* both names of mmap are defined here */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

/* glibc's own names for them: no look-up is needed, which would allocate. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t); /* NOLINT */

__attribute__((visibility("default"))) void starve(int64_t n, bool sticky);
__attribute__((visibility("default"))) void starve_within(void *function);
__attribute__((visibility("default"))) int64_t starve_count(void);

static _Atomic bool counting, all_after;
static _Atomic int64_t count, failing;
static _Atomic uintptr_t within, within_end; /* 0: everywhere */

enum { FRAMES = 12 };

void starve(int64_t n, bool sticky) {
  atomic_store(&count, 0);
  atomic_store(&failing, n);
  atomic_store(&all_after, sticky);
  atomic_store(&counting, n >= 0);
}

/* The first look at the stack loads a library. */
void starve_within(void *begin) {
  void *frame;
  const ElfW(Sym) *symbol = NULL;
  Dl_info info;
  backtrace(&frame, 1);
  if (!dladdr1(begin, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol) return;
  atomic_store(&count, 0);
  atomic_store(&within, (uintptr_t)begin);
  atomic_store(&within_end, (uintptr_t)begin + symbol->st_size);
  atomic_store(&counting, true);
}

static bool is_within(uintptr_t begin, uintptr_t end) {
  void *frames[FRAMES];
  int n = backtrace(frames, FRAMES);
  for (int i = 0; i < n; i++)
    if ((uintptr_t)frames[i] > begin && (uintptr_t)frames[i] <= end) return true;
  return false;
}

int64_t starve_count(void) { return atomic_load(&count); }

static bool fails(void) {
  if (!atomic_load_explicit(&counting, memory_order_relaxed)) return false;
  uintptr_t begin = atomic_load(&within);
  if (begin && !is_within(begin, atomic_load(&within_end))) return false;
  int64_t number = atomic_fetch_add(&count, 1) + 1, n = atomic_load(&failing);
  if (!begin && (n == 0 || !(number == n || (number > n && atomic_load(&all_after))))) return false;
  errno = ENOMEM;
  return true;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes) {
  return fails() ? NULL : __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes) {
  return fails() ? NULL : __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t bytes) {
  return fails() ? NULL : __libc_realloc(p, bytes);
}

__attribute__((visibility("default"))) void *memalign(size_t align, size_t bytes) {
  return fails() ? NULL : __libc_memalign(align, bytes);
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t align, size_t bytes) {
  return memalign(align, bytes);
}

__attribute__((visibility("default"))) int posix_memalign(void **out, size_t align, size_t bytes) {
  void *p = memalign(align, bytes);
  if (p) *out = p;
  return p ? 0 : ENOMEM;
}

static void *map(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  typedef void *map_fn(void *, size_t, int, int, int, off_t);
  static map_fn *_Atomic real;
  if (!atomic_load(&real)) atomic_store(&real, (map_fn *)(uintptr_t)dlsym(RTLD_NEXT, "mmap"));
  return fails() ? MAP_FAILED : atomic_load(&real)(at, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) void *mmap(void *at, size_t bytes, int protection, int flags,
                                                  int file, off_t offset) {
  return map(at, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) void *mmap64(void *at, size_t bytes, int protection,
                                                    int flags, int file, off_t offset) {
  return map(at, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) int mprotect(void *at, size_t bytes, int protection) {
  typedef int protect_fn(void *, size_t, int);
  static protect_fn *_Atomic real;
  if (!atomic_load(&real))
    atomic_store(&real, (protect_fn *)(uintptr_t)dlsym(RTLD_NEXT, "mprotect"));
  return fails() ? -1 : atomic_load(&real)(at, bytes, protection);
}
