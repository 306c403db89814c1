/* SPDX-License-Identifier: ISC */
/* A counter of the threads inside a compiler, and a flag that lets no more threads enter. A
 * thread that enters raises the counter before it reads the flag, and the exit handler sets the
 * flag before it reads the counter, so at least one of them sees the other. There is no lock
 * here that fork could leave held. */
#include "exit.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "loading.h"

enum { LEAVE_MS = 5000 };

static _Atomic uint32_t inside; /* number of threads inside */
static _Atomic bool leaving, watched;
static _Thread_local uint32_t stays; /* nesting depth of this thread */

/* A thread that ends the process while it is inside, in a signal handler, does not wait for
 * itself. */
static void at_exit(void) {
  uint32_t own = stays > 0;
  atomic_store(&leaving, true);
  for (int ms = 0; atomic_load(&inside) > own && ms < LEAVE_MS; ms++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The other threads of the parent are not in the child. */
static void in_child(void) { atomic_store(&inside, stays > 0); }

/* Two threads that come here at once register two handlers, which does no harm. */
static bool watch_exit(void) {
  if (atomic_load_explicit(&watched, memory_order_acquire)) return true;
  if (atexit(at_exit) != 0 || pthread_atfork(NULL, NULL, in_child) != 0) return false;
  atomic_store_explicit(&watched, true, memory_order_release);
  return true;
}

/* The handler is registered when this library is loaded, and again when LLVM has been, so that
 * handlers of the libraries that came with it run after ours. A thread that makes the first context
 * while the process ends is not let in. If there is no memory for the handler, each nxi_exit_enter
 * tries again. */
__attribute__((constructor)) static void watch_from_the_start(void) { watch_exit(); }

bool nxi_exit_enter(void) {
  if (stays == 0) {
    if (!watch_exit()) return false;
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&leaving)) {
      atomic_fetch_sub(&inside, 1);
      return false;
    }
  }
  stays++;
  return true;
}

void nxi_exit_leave(void) {
  if (--stays == 0) atomic_fetch_sub(&inside, 1);
}

bool nxi_exit_call(void (*function)(void)) { return atexit(function) == 0; }

void nxi_exit_watch_again(void) { atexit(at_exit); }

bool nxi_exit_begun(void) { return atomic_load_explicit(&leaving, memory_order_relaxed); }

/* ---- the end of the library */

/* If this code is part of the program itself, there is no library name, and it is never
 * unloaded. */
static void pin(void) {
  Dl_info info;
  struct link_map *own = NULL;
  if (dladdr1((const void *)(uintptr_t)pin, &info, (void **)&own, RTLD_DL_LINKMAP) &&
      own->l_name[0])
    dlopen(own->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

void nxi_stay_loaded(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  nxi_loading_enter();
  pthread_once(&once, pin);
  nxi_loading_leave();
}
