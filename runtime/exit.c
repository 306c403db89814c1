/* SPDX-License-Identifier: ISC */
/* Handlers of exit() run in the opposite order of their coming, and LLVM makes most of its global objects during the first
 * kernel: those are destroyed before a handler that came earlier can wait. So one handler comes before the first
 * kernel, another after it; and the thread that made a context, which nearly always is the one that ends the process,
 * waits for the first kernel in a destructor of its own, since those run before all handlers. Nothing here is a lock
 * that fork could leave held. */
#include "exit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What C++ compilers call for thread_local objects; NULL where the C library has none. pthread_key_create is no
 * substitute: its destructors run when a thread ends, but not when the process does. */
extern int __cxa_thread_atexit_impl(void (*f)(void *), void *object, void *library) /* NOLINT */
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden"))); /* NOLINT */

static _Atomic uint32_t inside;
static _Atomic bool maker_ends, leaving, first_is_done;
enum { LEAVE_MS = 5000, PAUSE_MS = 1000 };

static void sleep_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

static void at_exit(void) {
  if (atomic_load(&leaving)) return;
  atomic_store(&leaving, true);
  for (int ms = 0; atomic_load(&inside) > 0 && ms < LEAVE_MS; ms++) sleep_ms(1);
}

static void watch_exit(void) { atexit(at_exit); }

static bool is_main_thread(void) { return syscall(SYS_gettid) == getpid(); }

/* The thread ends, perhaps with the process and perhaps alone: if it is the first of the process, whoever comes now for
 * the first kernel is kept back until the handlers run, or for as long as a slow process needs to get to them. */
static void at_thread_end(void *object) {
  (void)object;
  if (is_main_thread()) atomic_store(&maker_ends, true);
  for (int ms = 0; atomic_load(&inside) > 0 && !atomic_load(&first_is_done) && ms < LEAVE_MS; ms++)
    sleep_ms(1);
}

void nxi_exit_watch(void) {
  static _Thread_local bool watched;
  if (watched || !__cxa_thread_atexit_impl) return;
  watched = __cxa_thread_atexit_impl(at_thread_end, NULL, &__dso_handle) == 0;
}

bool nxi_exit_go_inside(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_exit);
  atomic_fetch_add(&inside, 1);
  if (atomic_load(&maker_ends) && !atomic_load(&first_is_done)) {
    atomic_fetch_sub(&inside, 1);
    for (int ms = 0; !atomic_load(&leaving) && ms < PAUSE_MS; ms++) sleep_ms(1);
    atomic_fetch_add(&inside, 1);
  }
  if (!atomic_load(&leaving)) return true;
  atomic_fetch_sub(&inside, 1);
  return false;
}

bool nxi_exit_begun(void) { return atomic_load_explicit(&leaving, memory_order_relaxed); }

void nxi_exit_come_out(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_exit);
  atomic_store(&first_is_done, true);
  atomic_fetch_sub(&inside, 1);
}
