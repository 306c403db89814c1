/* SPDX-License-Identifier: ISC */
/* Work apart: a list of what is under way, and one state word for each. */
#include "apart.h"

#include "ir/alloc.h"
#include "ir/op.h"
#include "ir/platform/clock.h"
#include "ir/platform/cpus.h"
#include "ir/platform/exit.h"
#include "ir/platform/fork.h"
#include "ir/platform/futex.h"
#include "ir/platform/thread.h"
#include "runtime/library/blas/blas.h"

enum { POLL_NS = 10 * 1000 * 1000, STACK_BYTES = 8 << 20, HEAD = 128, ALIGNMENT = 64 };
enum { RUNNING, ENDED, LEFT, LOST };

/* In front of the memory, aligned as it is. */
typedef struct apart {
  struct apart *next;
  void *block; /* what was allocated */
  nxi_thread thread;
  void (*work)(void *memory);
  _Atomic uint32_t state;
} apart;
_Static_assert(sizeof(apart) <= HEAD, "what is in front of the memory");

static nxi_mutex lock = NXI_MUTEX_INITIALIZER;
/* lock: */
static apart *all;  /* whose threads work */
static apart *lost; /* in a child of fork: those of the parent */
static int32_t left, begun;
static bool closed; /* the process ends */
static nxi_cpus cpus;

static void *memory_of(apart *a) { return (char *)a + HEAD; }
static apart *of_memory(void *memory) { return (void *)((char *)memory - HEAD); }

/* ---- the end of the process */

/* Whether calls of the library can be made; not while a halted thread holds one of its locks. */
typedef struct probe {
  nxi_thread thread;
  _Atomic uint32_t done;
} probe;

static void *try_call(void *of) {
  probe *p = of;
  nxi_blas_try();
  atomic_store(&p->done, 1);
  nxi_futex_wake(&p->done, 1);
  return NULL;
}

static bool halt_all(void) {
  bool good = true;
  for (apart *a = all; a; a = a->next) good &= nxi_thread_halt(&a->thread);
  return good;
}

/* Tries again as long as a thread holds a lock where it was halted. */
static void at_exit(void) {
  enum { TRIES = 20, MOST_NS = 100 * 1000 * 1000 };
  static probe p;
  nxi_mutex_lock(&lock);
  closed = true;
  if (all && halt_all() && nxi_thread_start(&p.thread, STACK_BYTES, try_call, &p)) {
    for (int i = 0; i < TRIES; i++) {
      nxi_futex_wait(&p.done, 0, MOST_NS);
      if (atomic_load(&p.done)) break;
      nxi_threads_go_on();
      nxi_pause_ns(1000000);
      halt_all();
    }
  }
  nxi_mutex_unlock(&lock);
}

/* ---- fork: the threads are not in the child */

static void in_child(void *object) {
  (void)object;
  while (all) {
    apart *a = all;
    all = a->next;
    a->next = lost;
    lost = a;
    atomic_store(&a->state, LOST);
  }
  left = 0;
}

/* ---- the thread */

static void unlink_it(const apart *a) {
  apart **at = &all;
  while (*at != a) at = &(*at)->next;
  *at = a->next;
}

static void *body(void *of) {
  apart *a = of;
  nxi_fp_enter();
  nxi_thread_may_halt();
  nxi_blas_calls_last();
  a->work(memory_of(a));
  nxi_mutex_lock(&lock);
  unlink_it(a);
  const bool is_left = atomic_load(&a->state) == LEFT;
  if (is_left) left--;
  else {
    atomic_store(&a->state, ENDED);
    nxi_futex_wake(&a->state, 1); /* who waits joins this thread before it frees the memory */
  }
  nxi_mutex_unlock(&lock);
  if (is_left) nxi_free(a->block);
  return NULL;
}

/* ---- the caller */

/* The handlers of exit and fork; false without memory for them. The lock is held. */
static bool watch(void) {
  static bool watched;
  if (watched) return true;
  nxi_cpus_read(&cpus);
  watched = nxi_exit_call(at_exit);
  return watched;
}

static bool is_open(void) {
  static nxi_fork_entry entry; /* before the lock, which its hook takes */
  if (nxi_fork_register_mutex(&entry, &lock, in_child, NULL) != NX_OK) return false;
  nxi_mutex_lock(&lock);
  const bool open = !closed && watch();
  nxi_mutex_unlock(&lock);
  return open;
}

void *nxi_apart_new(const nxg_call_part *part, size_t bytes) {
  const nxi_blas *blas = nxi_blas_get(NULL);
  if (part->unpolled || !blas || blas->one_at_a_time || !is_open()) return NULL;
  char *block = nxi_malloc(bytes + HEAD + ALIGNMENT);
  if (!block) return NULL;
  apart *a = (void *)(block + (ALIGNMENT - (uintptr_t)block % ALIGNMENT));
  *a = (apart){.block = block};
  return memory_of(a);
}

void nxi_apart_free(void *memory) {
  if (memory) nxi_free(of_memory(memory)->block);
}

enum { STARTED, FULL, REFUSED };

static int start(apart *a) {
  int end = FULL;
  nxi_mutex_lock(&lock);
  if (closed) end = REFUSED;
  else if (left < NXI_APART_MOST)
    end = nxi_thread_start(&a->thread, STACK_BYTES, body, a) ? STARTED : REFUSED;
  if (end == STARTED) {
    if (cpus.ids_known) nxi_thread_confine(&a->thread, cpus.ids, cpus.count);
    a->next = all;
    all = a;
    begun++;
  }
  nxi_mutex_unlock(&lock);
  return end;
}

/* Nobody waits any more, unless it has ended meanwhile. */
static bool leave(apart *a) {
  nxi_mutex_lock(&lock);
  const bool leaves = atomic_load(&a->state) == RUNNING;
  if (leaves) {
    atomic_store(&a->state, LEFT);
    nxi_thread_detach(&a->thread);
    left++;
  }
  nxi_mutex_unlock(&lock);
  return leaves;
}

bool nxi_apart_run(void *memory, void (*work)(void *memory), const nxg_call_part *part) {
  apart *a = of_memory(memory);
  int end;
  a->work = work;
  while ((end = start(a)) == FULL) {
    nxi_futex_wait(&a->state, RUNNING, POLL_NS);
    if (!part->stopped(part->user)) continue;
    nxi_apart_free(memory);
    return false;
  }
  if (end == REFUSED) {
    work(memory);
    return true;
  }
  for (;;) {
    const uint32_t state = atomic_load(&a->state);
    if (state == LOST) return false;
    if (state == ENDED) break;
    nxi_futex_wait(&a->state, RUNNING, POLL_NS);
    if (atomic_load(&a->state) == RUNNING && part->stopped(part->user) && leave(a)) return false;
  }
  nxi_thread_join(&a->thread);
  return true;
}

bool nxi_apart_is_left(void *memory) { return atomic_load(&of_memory(memory)->state) == LEFT; }

static int32_t read_locked(const int32_t *n) {
  nxi_mutex_lock(&lock);
  const int32_t is = *n;
  nxi_mutex_unlock(&lock);
  return is;
}

int32_t nxi_apart_left(void) { return read_locked(&left); }
int32_t nxi_apart_begun(void) { return read_locked(&begun); }
