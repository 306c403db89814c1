/* SPDX-License-Identifier: ISC */
/* Offload threads. Each has a state word that says who owns its data: the thread while it is WORK,
 * otherwise the caller. */
#include "offload.h"

#include "ir/alloc.h"
#include "ir/op.h"
#include "ir/platform/clock.h"
#include "ir/platform/cpus.h"
#include "ir/platform/fork.h"
#include "ir/platform/futex.h"
#include "ir/platform/thread.h"
#include "runtime/record/custom.h"

_Atomic int64_t nxi_offload_poll_ns = 10 * 1000 * 1000;

enum {
  MOST_IDLE = 8,        /* idle threads that are kept; others end after their work */
  STACK_BYTES = 8 << 20 /* address space: LLVM recurses on large kernels */
};

enum { IDLE, WORK, DONE, QUIT };

struct nxi_offloaded {
  struct nxi_offloaded *next;
  nxi_thread thread;
  nxi_offload_work work;
  void *arg;
  nx_status status;
  uint32_t forks; /* of the process, when the work began */
  uint32_t depth; /* of calls of custom operations that the work is in */
  _Atomic uint32_t state;
};

struct nxi_offload {
  nxi_mutex lock; /* protects the two lists; taken last, and held briefly */
  nxi_offloaded *idle;
  /* in a child of fork: the parent's threads, of which only the memory exists */
  nxi_offloaded *lost;
  int32_t n_idle;
  /* the processors they may run on, which do not depend on the affinity of the thread that starts
   * one */
  nxi_cpus cpus;
  _Atomic uint32_t forks;
  nxi_fork_entry fork_entry;
};

/* ---- the thread */

static void *offload_main(void *argument) {
  nxi_offloaded *d = argument;
  nxi_fp_enter();
  for (;;) {
    uint32_t state = atomic_load_explicit(&d->state, memory_order_acquire);
    if (state == QUIT) return NULL;
    if (state != WORK) {
      nxi_futex_wait(&d->state, state, -1);
      continue;
    }
    nxi_custom_set_depth(d->depth);
    d->status = d->work(d->arg);
    atomic_store_explicit(&d->state, DONE, memory_order_release);
    nxi_futex_wake(&d->state, 1);
  }
}

static void set_state(nxi_offloaded *d, uint32_t state) {
  atomic_store_explicit(&d->state, state, memory_order_release);
  nxi_futex_wake(&d->state, 1);
}

static bool start_thread(const nxi_offload *all, nxi_offloaded *d) {
  if (!nxi_thread_start(&d->thread, STACK_BYTES, offload_main, d)) return false;
  if (all->cpus.ids_known) nxi_thread_confine(&d->thread, all->cpus.ids, all->cpus.count);
  return true;
}

static void end_thread(nxi_offloaded *d) {
  set_state(d, QUIT);
  nxi_thread_join(&d->thread);
  nxi_free(d);
}

/* ---- idle threads */

static nxi_offloaded *take(nxi_offload *all) {
  nxi_mutex_lock(&all->lock);
  nxi_offloaded *d = all->idle;
  if (d) {
    all->idle = d->next;
    all->n_idle--;
  }
  nxi_mutex_unlock(&all->lock);
  if (d) return d;
  d = nxi_calloc(1, sizeof *d);
  if (d && start_thread(all, d)) return d;
  nxi_free(d);
  return NULL;
}

static void give_back(nxi_offload *all, nxi_offloaded *d) {
  atomic_store_explicit(&d->state, IDLE, memory_order_relaxed);
  nxi_mutex_lock(&all->lock);
  bool kept = all->n_idle < MOST_IDLE;
  if (kept) {
    d->next = all->idle;
    all->idle = d;
    all->n_idle++;
  }
  nxi_mutex_unlock(&all->lock);
  if (!kept) end_thread(d);
}

/* ---- the caller */

/* False: the poll has forked, and this is the child, where the offload thread does not exist. */
static bool wait_polling(const nxi_offload *all, nxi_offloaded *d, const nxi_poll *poll,
                         _Atomic bool *stop) {
  int64_t interval = atomic_load_explicit(&nxi_offload_poll_ns, memory_order_relaxed),
          next_poll = nxi_now_ns() + interval;
  while (atomic_load_explicit(&all->forks, memory_order_relaxed) == d->forks) {
    if (atomic_load_explicit(&d->state, memory_order_acquire) == DONE) return true;
    int64_t left = next_poll - nxi_now_ns();
    if (left > 0) {
      nxi_futex_wait(&d->state, WORK, left);
      continue;
    }
    if (poll->fn && !atomic_load_explicit(stop, memory_order_relaxed) && poll->fn(poll->user))
      atomic_store_explicit(stop, true, memory_order_relaxed);
    next_poll = nxi_now_ns() + interval;
  }
  return false;
}

nxi_offloaded *nxi_offload_begin(nxi_offload *all, nxi_offload_work work, void *arg) {
  uint32_t forks = atomic_load_explicit(&all->forks, memory_order_relaxed);
  nxi_offloaded *d = take(all);
  if (!d) return NULL;
  d->forks = forks;
  d->depth = nxi_custom_depth();
  d->work = work;
  d->arg = arg;
  set_state(d, WORK);
  return d;
}

nxi_offload_end nxi_offload_end_of(nxi_offload *all, nxi_offloaded *d, const nxi_poll *poll,
                                   _Atomic bool *stop, nx_status *status) {
  if (!wait_polling(all, d, poll, stop)) {
    nxi_free(d);
    return NXI_OFFLOAD_LOST;
  }
  *status = d->status;
  give_back(all, d);
  return NXI_OFFLOAD_DONE;
}

nxi_offload_end nxi_offload_run(nxi_offload *all, nxi_offload_work work, void *arg,
                                const nxi_poll *poll, _Atomic bool *stop, nx_status *status) {
  nxi_offloaded *d = nxi_offload_begin(all, work, arg);
  return d ? nxi_offload_end_of(all, d, poll, stop, status) : NXI_OFFLOAD_ABSENT;
}

/* ---- life */

static void after_fork_in_child(void *object) {
  nxi_offload *all = object;
  while (all->idle) {
    nxi_offloaded *d = all->idle;
    all->idle = d->next;
    d->next = all->lost;
    all->lost = d;
  }
  all->n_idle = 0;
  atomic_fetch_add_explicit(&all->forks, 1, memory_order_relaxed);
}

nx_status nxi_offload_create(nxi_offload **out, nxi_diag *d) {
  nxi_offload *all = nxi_calloc(1, sizeof *all);
  if (!all) return nxi_oom(d);
  nxi_mutex_init(&all->lock);
  nxi_cpus_read(&all->cpus);
  if (nxi_fork_register_mutex(&all->fork_entry, &all->lock, after_fork_in_child, all) == NX_OK) {
    *out = all;
    return NX_OK;
  }
  nxi_mutex_destroy(&all->lock);
  nxi_free(all);
  return nxi_oom(d);
}

void nxi_offload_destroy(nxi_offload *all) {
  if (!all) return;
  nxi_fork_unregister(&all->fork_entry);
  for (nxi_offloaded *d = all->idle, *next; d; d = next) {
    next = d->next;
    end_thread(d);
  }
  for (nxi_offloaded *d = all->lost, *next; d; d = next) {
    next = d->next;
    nxi_free(d);
  }
  nxi_mutex_destroy(&all->lock);
  nxi_free(all);
}
