/* SPDX-License-Identifier: ISC */
/* The stack of the first thread grows by page faults, and a fault for which there is no memory
 * raises a signal. So the stack is grown in advance, if there is enough memory and it has not been
 * grown before. One write at the far end makes the whole range part of the stack's mapping, which
 * is what an address space limit counts. The stacks of other threads are mapped as a whole when
 * they are made. */
#include "stack.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pages.h"

extern void *__libc_stack_end __attribute__((weak)); /* NOLINT */

/* Whether this thread is on the first stack of the process, with room to grow by so much. A fiber
 * of the first thread has another stack. */
static bool on_first_stack(uintptr_t here, size_t bytes) {
  struct rlimit limit;
  if (!&__libc_stack_end || getrlimit(RLIMIT_STACK, &limit) != 0) return false;
  uintptr_t used = (uintptr_t)__libc_stack_end - here;
  return used < limit.rlim_cur && limit.rlim_cur - used > 2 * (rlim_t)bytes;
}

bool nxi_stack_grow(size_t bytes) {
  static _Atomic uintptr_t lowest = UINTPTR_MAX;
  char here;
  if ((uintptr_t)&here >= atomic_load(&lowest) || syscall(SYS_gettid) != getpid() ||
      !on_first_stack((uintptr_t)&here, bytes))
    return true;
  if (!nxi_memory_left(bytes)) return false;
  volatile char *far = __builtin_alloca(bytes - 16384);
  *far = 0;
  atomic_store(&lowest, (uintptr_t)&here);
  return true;
}
