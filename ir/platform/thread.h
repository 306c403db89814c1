/* SPDX-License-Identifier: ISC */
/* Threads, mutexes and conditions: thin wrappers of the operating system's, which a port replaces.
 * Functions that every lock uses are inline. Only nxi_thread_start and nxi_thread_value_create
 * allocate. */
#ifndef NXI_PLATFORM_THREAD_H
#define NXI_PLATFORM_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* ---- mutexes: not recursive, and a static one needs no call */

typedef struct nxi_mutex {
  pthread_mutex_t os;
} nxi_mutex;
#define NXI_MUTEX_INITIALIZER {PTHREAD_MUTEX_INITIALIZER}

/* In a child after fork this also frees a mutex that was held by a thread of the parent. */
static inline void nxi_mutex_init(nxi_mutex *m) { pthread_mutex_init(&m->os, NULL); }
static inline void nxi_mutex_destroy(nxi_mutex *m) { pthread_mutex_destroy(&m->os); }
static inline void nxi_mutex_lock(nxi_mutex *m) { pthread_mutex_lock(&m->os); }
static inline bool nxi_mutex_try(nxi_mutex *m) { return pthread_mutex_trylock(&m->os) == 0; }
static inline void nxi_mutex_unlock(nxi_mutex *m) { pthread_mutex_unlock(&m->os); }

/* ---- conditions: waits may end spuriously */

typedef struct nxi_condition {
  pthread_cond_t os;
} nxi_condition;
#define NXI_CONDITION_INITIALIZER {PTHREAD_COND_INITIALIZER} /* for waits without a limit */

/* Waits with a limit use the clock of nxi_now_ns. False if memory is exhausted. */
static inline bool nxi_condition_init(nxi_condition *c) {
  pthread_condattr_t attributes;
  if (pthread_condattr_init(&attributes) != 0) return false;
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  bool good = pthread_cond_init(&c->os, &attributes) == 0;
  pthread_condattr_destroy(&attributes);
  return good;
}
static inline void nxi_condition_destroy(nxi_condition *c) { pthread_cond_destroy(&c->os); }
static inline void nxi_condition_wake_all(nxi_condition *c) { pthread_cond_broadcast(&c->os); }
static inline void nxi_condition_wait(nxi_condition *c, nxi_mutex *m) {
  pthread_cond_wait(&c->os, &m->os);
}
/* Waits at most until that time of nxi_now_ns. */
static inline void nxi_condition_wait_until(nxi_condition *c, nxi_mutex *m, int64_t ns) {
  struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  pthread_cond_timedwait(&c->os, &m->os, &until);
}

/* ---- locks with many readers or one writer */

typedef struct nxi_shared_lock {
  pthread_rwlock_t os;
} nxi_shared_lock;
#define NXI_SHARED_LOCK_INITIALIZER {PTHREAD_RWLOCK_INITIALIZER}

/* A static lock, and one without `writers_first`, admits readers while a writer waits. With
 * `writers_first` a waiting writer comes before new readers; a thread must then not lock it for
 * reading twice. */
void nxi_shared_lock_init(nxi_shared_lock *l, bool writers_first);
static inline void nxi_shared_lock_destroy(nxi_shared_lock *l) { pthread_rwlock_destroy(&l->os); }
static inline void nxi_shared_lock_read(nxi_shared_lock *l) { pthread_rwlock_rdlock(&l->os); }
static inline void nxi_shared_lock_write(nxi_shared_lock *l) { pthread_rwlock_wrlock(&l->os); }
static inline void nxi_shared_lock_give(nxi_shared_lock *l) { pthread_rwlock_unlock(&l->os); }

/* ---- work that is done once in a process */

typedef struct nxi_once {
  pthread_once_t os;
} nxi_once;
#define NXI_ONCE_INITIALIZER {PTHREAD_ONCE_INIT}

/* The first call runs the work; concurrent calls wait until it is done. */
static inline void nxi_once_run(nxi_once *o, void (*work)(void)) { pthread_once(&o->os, work); }

/* ---- threads */

/* A number of the calling thread, unique among the threads that exist at the same time. Never 0. */
static inline uintptr_t nxi_thread_self(void) { return (uintptr_t)pthread_self(); }

typedef struct nxi_thread {
  pthread_t os;
} nxi_thread;

/* The new thread blocks all signals, so that it does not receive signals of the host. False: the
 * system gives no thread, or no memory for one. */
bool nxi_thread_start(nxi_thread *t, size_t stack_bytes, void *(*body)(void *arg), void *arg);
void nxi_thread_join(nxi_thread *t);
/* Nobody will join it: its memory goes when it ends. */
static inline void nxi_thread_detach(nxi_thread *t) { pthread_detach(t->os); }
/* Whether a thread that is not the process's first one should allocate much. The C library gives
 * each thread addresses for a heap of its own (glibc 64 MiB, taken of 128 so that they are
 * aligned). Where there are none, each allocation of that thread takes whole pages. */
bool nxi_threads_have_heaps(void);
/* Restricts the thread to these processors, which are numbered as in nxi_cpus. False: the system
 * does not allow it. */
bool nxi_thread_confine(nxi_thread *t, const int16_t *processors, int32_t n);
/* The processor that the calling thread is on at the moment, or -1. */
int32_t nxi_thread_processor(void);

/* A pointer for each thread. When a thread ends, `release` is called with its pointer if it has
 * one. */
typedef struct nxi_thread_value {
  pthread_key_t os;
} nxi_thread_value;
bool nxi_thread_value_create(nxi_thread_value *v, void (*release)(void *));
bool nxi_thread_value_set(nxi_thread_value *v, void *value); /* false if memory is exhausted */

#endif
