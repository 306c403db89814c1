/* SPDX-License-Identifier: ISC */
/* A library to be loaded before all others (LD_PRELOAD): counts the handlers of exit that libraries
 * register. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef int registering(void (*)(void *), void *, void *);
__attribute__((visibility("default"))) registering __cxa_atexit; /* NOLINT: the C library's name */
__attribute__((visibility("default"))) int32_t exit_handlers(void);

static _Atomic int32_t count;

int32_t exit_handlers(void) { return atomic_load(&count); }

int __cxa_atexit(void (*destroy)(void *), void *object, void *library) { /* NOLINT */
  registering *real = (registering *)(uintptr_t)dlsym(RTLD_NEXT, "__cxa_atexit");
  atomic_fetch_add(&count, 1);
  return real(destroy, object, library);
}
