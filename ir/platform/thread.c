/* SPDX-License-Identifier: ISC */
/* The functions of threads that are not inline: starting threads, and the processors on which they
 * run. */
#include "thread.h"

#include <sched.h>
#include <signal.h>

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

bool nxi_thread_value_create(nxi_thread_value *v, void (*release)(void *)) {
  return pthread_key_create(&v->os, release) == 0;
}

bool nxi_thread_value_set(nxi_thread_value *v, void *value) {
  return pthread_setspecific(v->os, value) == 0;
}
