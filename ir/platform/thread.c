/* SPDX-License-Identifier: ISC */
/* The functions of threads that are not inline: starting threads, and the processors on which they
 * run. */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "clock.h"
#include "futex.h"
#include "pages.h"

void nxi_shared_lock_init(nxi_shared_lock *l, bool writers_first) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
#if defined(__GLIBC__)
  if (writers_first)
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#else
  (void)writers_first; /* musl's locks are fair enough that a writer comes in */
#endif
  pthread_rwlock_init(&l->os, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

_Thread_local uint64_t nxi_thread_number __attribute__((tls_model("initial-exec"))) = UINT64_MAX;

uint64_t nxi_thread_give_number(void) {
  static _Atomic uint64_t numbers;
  nxi_thread_number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
  return nxi_thread_number;
}

/* A thread inherits the set of blocked signals, so all signals are blocked while it is started. */
bool nxi_thread_start(nxi_thread *t, size_t stack_bytes, void *(*body)(void *arg), void *arg) {
  pthread_attr_t attributes;
  sigset_t all, before;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&t->os, &attributes, body, arg) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return started;
}

void nxi_thread_join(nxi_thread *t) { pthread_join(t->os, NULL); }

bool nxi_threads_have_heaps(void) { return nxi_addresses_left((size_t)128 << 20); }

bool nxi_thread_confine(nxi_thread *t, const int16_t *processors, int32_t n) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int32_t i = 0; i < n; i++) CPU_SET(processors[i], &set);
  return pthread_setaffinity_np(t->os, sizeof set, &set) == 0;
}

int32_t nxi_thread_processor(void) { return sched_getcpu(); }

int64_t nxi_thread_worked_ns(const nxi_thread *t) {
  clockid_t clock;
  struct timespec time;
  if (pthread_getcpuclockid(t->os, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* ---- halting: by a signal of the system's real-time ones that nobody has a handler for, which
 * only threads that may be halted do not block. It has a handler from the first halt on. */

static _Atomic int halting; /* the signal */
static _Atomic uint32_t halted, resumed;

static void halt(int number) {
  const int error = errno;
  const uint32_t before = atomic_load(&resumed);
  (void)number;
  atomic_fetch_add(&halted, 1);
  while (atomic_load(&resumed) == before) nxi_futex_wait(&resumed, before, -1);
  errno = error;
}

static bool is_unused(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) &&
         (action.sa_handler == SIG_DFL || action.sa_handler == halt);
}

bool nxi_thread_may_halt(void) {
  int number = atomic_load(&halting);
#if defined(SIGRTMIN)
  for (int i = SIGRTMAX - 1; number == 0 && i > SIGRTMIN; i--)
    if (is_unused(i)) number = i;
#endif
  if (number == 0) return false;
  atomic_store(&halting, number);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  return pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0;
}

bool nxi_thread_halt(nxi_thread *t) {
  enum { MOST_MS = 500 };
  const int number = atomic_load(&halting);
  const uint32_t before = atomic_load(&halted);
  struct sigaction action = {.sa_handler = halt, .sa_flags = SA_RESTART};
  if (number == 0 || !is_unused(number) || sigaction(number, &action, NULL) != 0) return false;
  if (pthread_kill(t->os, number) != 0) return false;
  for (int ms = 0; atomic_load(&halted) == before && ms < MOST_MS; ms++) nxi_pause_ns(1000000);
  return atomic_load(&halted) != before;
}

void nxi_threads_go_on(void) {
  atomic_fetch_add(&resumed, 1);
  nxi_futex_wake(&resumed, INT32_MAX);
}

bool nxi_thread_value_create(nxi_thread_value *v, void (*release)(void *)) {
  return pthread_key_create(&v->os, release) == 0;
}

bool nxi_thread_value_set(nxi_thread_value *v, void *value) {
  return pthread_setspecific(v->os, value) == 0;
}
