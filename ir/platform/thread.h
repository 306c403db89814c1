/* SPDX-License-Identifier: ISC */
/* Threads, mutexes and conditions: over futexes and the operating system's, which a port replaces.
 * Functions that every lock uses are inline. Only nxi_thread_start and nxi_thread_value_create
 * allocate. */
#ifndef NXI_PLATFORM_THREAD_H
#define NXI_PLATFORM_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define NXI_KNOWS_ALONE 1
#endif
#endif

/* ---- mutexes: not recursive, and a static one needs no call. A free one is taken and given with
 * one atomic instruction each, in the caller: what a recorded operation takes is a few dozen
 * nanoseconds, of which the C library's calls were a quarter. */

typedef struct nxi_mutex {
  _Atomic uint32_t state; /* 0: free; 1: taken; 2: taken, and threads may sleep for it */
} nxi_mutex;
#define NXI_MUTEX_INITIALIZER {0}

void nxi_mutex_wait_for(nxi_mutex *m);  /* takes one that was not free */
void nxi_mutex_wake_next(nxi_mutex *m); /* somebody sleeps for it */

/* Whether the process certainly has one thread, which needs no atomic instructions. */
static inline bool nxi_thread_is_alone(void) {
#if NXI_KNOWS_ALONE
  return __libc_single_threaded;
#else
  return false;
#endif
}

/* In a child after fork this also frees a mutex that was held by a thread of the parent. */
static inline void nxi_mutex_init(nxi_mutex *m) { atomic_init(&m->state, 0); }
static inline void nxi_mutex_destroy(nxi_mutex *m) { (void)m; }
static inline bool nxi_mutex_try(nxi_mutex *m) {
  uint32_t free = 0;
  if (nxi_thread_is_alone()) {
    if (atomic_load_explicit(&m->state, memory_order_relaxed)) return false;
    atomic_store_explicit(&m->state, 1, memory_order_relaxed);
    return true;
  }
  return atomic_compare_exchange_strong_explicit(&m->state, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed);
}
static inline void nxi_mutex_lock(nxi_mutex *m) {
  if (__builtin_expect(!nxi_mutex_try(m), 0)) nxi_mutex_wait_for(m);
}
static inline void nxi_mutex_unlock(nxi_mutex *m) {
  if (nxi_thread_is_alone()) {
    atomic_store_explicit(&m->state, 0, memory_order_relaxed);
    return;
  }
  uint32_t before = atomic_exchange_explicit(&m->state, 0, memory_order_release);
  if (__builtin_expect(before == 2, 0)) nxi_mutex_wake_next(m);
}

/* What a thread does while it waits for a moment without sleeping. */
static inline void nxi_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- conditions: waits may end spuriously. Who changes what is waited for does so with the mutex.
 */

typedef struct nxi_condition {
  _Atomic uint32_t turn, waiting; /* calls of wake_all, and threads that wait */
} nxi_condition;
#define NXI_CONDITION_INITIALIZER {0, 0}

void nxi_condition_wake(nxi_condition *c);
static inline bool nxi_condition_init(nxi_condition *c) {
  atomic_init(&c->turn, 0);
  atomic_init(&c->waiting, 0);
  return true;
}
static inline void nxi_condition_destroy(nxi_condition *c) { (void)c; }
static inline void nxi_condition_wake_all(nxi_condition *c) {
  if (atomic_load_explicit(&c->waiting, memory_order_seq_cst)) nxi_condition_wake(c);
}
/* A wait in three steps: the first with the lock, the second without it, the third with it. */
uint32_t nxi_condition_begin(nxi_condition *c);
void nxi_condition_sleep(nxi_condition *c, uint32_t turn, int64_t ns);
void nxi_condition_end(nxi_condition *c);
/* Waits at most until that time of nxi_now_ns; negative: without a limit. */
void nxi_condition_wait_until(nxi_condition *c, nxi_mutex *m, int64_t ns);
static inline void nxi_condition_wait(nxi_condition *c, nxi_mutex *m) {
  nxi_condition_wait_until(c, m, -1);
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

/* A number of the calling thread that no other one has had: of what nxi_thread_self says of a
 * thread that has ended, the next one may have the same. From 1 on; UINT64_MAX: it has none yet.
 * initial-exec: locks read it, and a call for its address in a shared library would cost more than
 * they do. */
extern _Thread_local uint64_t nxi_thread_number __attribute__((tls_model("initial-exec")));
uint64_t nxi_thread_give_number(void);
static inline uint64_t nxi_thread_own_number(void) {
  return nxi_thread_number != UINT64_MAX ? nxi_thread_number : nxi_thread_give_number();
}

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
/* Nanoseconds for which a thread, which exists, has been on some processor; -1: not known. */
int64_t nxi_thread_worked_ns(const nxi_thread *t);

/* ---- threads that do not go on, for the end of a process that cannot wait for them */

/* Lets the calling thread be halted. False: the system has no signal left for it. */
bool nxi_thread_may_halt(void);
/* Stops such a thread where it is, whatever it holds. False: it goes on. The thread must exist. */
bool nxi_thread_halt(nxi_thread *t);
/* Has all halted threads go on. */
void nxi_threads_go_on(void);

/* A pointer for each thread. When a thread ends, `release` is called with its pointer if it has
 * one. */
typedef struct nxi_thread_value {
  pthread_key_t os;
} nxi_thread_value;
bool nxi_thread_value_create(nxi_thread_value *v, void (*release)(void *));
bool nxi_thread_value_set(nxi_thread_value *v, void *value); /* false if memory is exhausted */

#endif
