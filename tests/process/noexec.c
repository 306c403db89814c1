/* SPDX-License-Identifier: ISC */
/* A library to be loaded before all others (LD_PRELOAD): memory cannot be made executable after a
 * program has called nxt_forbid_execution, or from the start if NXT_NOEXEC is set, as with SELinux
 * or MemoryDenyWriteExecute. */
#undef _FILE_OFFSET_BITS /* both names of mmap are defined here */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

__attribute__((visibility("default"))) void nxt_forbid_execution(void);

static _Atomic bool forbidden;

void nxt_forbid_execution(void) { atomic_store(&forbidden, true); }

static bool refused(int protection, bool anonymous) {
  if (!(protection & PROT_EXEC) || !anonymous) return false;
  if (!atomic_load(&forbidden) && !getenv("NXT_NOEXEC")) return false;
  errno = EACCES;
  return true;
}

__attribute__((visibility("default"))) int mprotect(void *at, size_t bytes, int protection) {
  typedef int function(void *, size_t, int);
  function *real = (function *)(uintptr_t)dlsym(RTLD_NEXT, "mprotect");
  return refused(protection, true) ? -1 : real(at, bytes, protection);
}

static void *map(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  typedef void *function(void *, size_t, int, int, int, off_t);
  function *real = (function *)(uintptr_t)dlsym(RTLD_NEXT, "mmap");
  if (refused(protection, flags & MAP_ANONYMOUS)) return MAP_FAILED;
  return real(at, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) void *mmap(void *at, size_t bytes, int protection, int flags,
                                                  int file, off_t offset) {
  return map(at, bytes, protection, flags, file, offset);
}

__attribute__((visibility("default"))) void *mmap64(void *at, size_t bytes, int protection,
                                                    int flags, int file, off_t offset) {
  return map(at, bytes, protection, flags, file, offset);
}
