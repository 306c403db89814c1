/* SPDX-License-Identifier: ISC */
/* Threads and what they wait on, as the operating system has them: thin wrappers that a port fills.
 * Functions that every lock goes through are inline. Nothing here allocates but nxi_thread_start
 * and nxi_thread_value_create. */
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

/* Also makes a mutex free again that was held by a thread which fork has left behind. */
static inline void nxi_mutex_init(nxi_mutex *m) { pthread_mutex_init(&m->os, NULL); }
static inline void nxi_mutex_destroy(nxi_mutex *m) { pthread_mutex_destroy(&m->os); }
static inline void nxi_mutex_lock(nxi_mutex *m) { pthread_mutex_lock(&m->os); }
static inline bool nxi_mutex_try(nxi_mutex *m) { return pthread_mutex_trylock(&m->os) == 0; }
static inline void nxi_mutex_unlock(nxi_mutex *m) { pthread_mutex_unlock(&m->os); }

/* ---- conditions: waits may end for no reason */

typedef struct nxi_condition {
  pthread_cond_t os;
} nxi_condition;
#define NXI_CONDITION_INITIALIZER {PTHREAD_COND_INITIALIZER} /* for waits without a limit */

/* Waits with a limit go by the clock of nxi_now_ns. False without memory. */
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
/* Until that time of nxi_now_ns at most. */
static inline void nxi_condition_wait_until(nxi_condition *c, nxi_mutex *m, int64_t ns) {
  struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  pthread_cond_timedwait(&c->os, &m->os, &until);
}

/* ---- locks with many readers or one writer */

typedef struct nxi_shared_lock {
  pthread_rwlock_t os;
} nxi_shared_lock;
#define NXI_SHARED_LOCK_INITIALIZER {PTHREAD_RWLOCK_INITIALIZER}

/* A static one, and one without `writers_first`, lets readers in while a writer waits. With it a
 * writer that waits comes before new readers; no thread may then read twice at once. */
void nxi_shared_lock_init(nxi_shared_lock *l, bool writers_first);
static inline void nxi_shared_lock_destroy(nxi_shared_lock *l) { pthread_rwlock_destroy(&l->os); }
static inline void nxi_shared_lock_read(nxi_shared_lock *l) { pthread_rwlock_rdlock(&l->os); }
static inline void nxi_shared_lock_write(nxi_shared_lock *l) { pthread_rwlock_wrlock(&l->os); }
static inline void nxi_shared_lock_give(nxi_shared_lock *l) { pthread_rwlock_unlock(&l->os); }

/* ---- what is done once in a process */

typedef struct nxi_once {
  pthread_once_t os;
} nxi_once;
#define NXI_ONCE_INITIALIZER {PTHREAD_ONCE_INIT}

/* The first call runs it; calls meanwhile wait. */
static inline void nxi_once_run(nxi_once *o, void (*work)(void)) { pthread_once(&o->os, work); }

/* ---- threads */

/* A number of the calling thread; no thread that lives at the same time has the same. Never 0. */
static inline uintptr_t nxi_thread_self(void) { return (uintptr_t)pthread_self(); }

typedef struct nxi_thread {
  pthread_t os;
} nxi_thread;

/* Signals of the host are not for the new thread: it blocks all of them. False: the system gives no
 * thread, or no memory for one. */
bool nxi_thread_start(nxi_thread *t, size_t stack_bytes, void *(*body)(void *arg), void *arg);
void nxi_thread_join(nxi_thread *t);
/* The thread runs on these processors alone, which are numbered as nxi_cpus has them. False: the
 * system does not let it. */
bool nxi_thread_confine(nxi_thread *t, const int16_t *processors, int32_t n);
/* The processor that the calling thread is on at the moment, or -1. */
int32_t nxi_thread_processor(void);

/* A pointer of each thread, which `release` gets when a thread with one ends. */
typedef struct nxi_thread_value {
  pthread_key_t os;
} nxi_thread_value;
bool nxi_thread_value_create(nxi_thread_value *v, void (*release)(void *));
bool nxi_thread_value_set(nxi_thread_value *v, void *value); /* false without memory */

#endif
