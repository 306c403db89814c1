/* SPDX-License-Identifier: ISC */
/* A pool of threads that share a run of independent tasks. The caller always takes a share; the
 * other workers spin for some microseconds after a run, then sleep until the next one.
 *
 * Any number of threads may use a pool at once: one of them has the workers, the others (and runs
 * started from inside a task) do all of their tasks themselves. After fork() the pool works in the
 * child too: new workers are made when they are first needed. A run that is in progress in the
 * forking thread ends in the child with NX_INTERRUPTED, because tasks of lost workers may be
 * missing. */
#ifndef NXI_THREADS_H
#define NXI_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ir/diag.h"
#include "ir/poll.h"

typedef struct nxi_pool nxi_pool;

/* Tasks begin <= i < end, on worker `worker`: 0 <= worker < nxi_pool_size, and no two calls of one
 * run that overlap in time have the same. It may index scratch memory that belongs to the run, but
 * not scratch memory that several runs share, because two concurrent runs both have a worker 0.
 * Called with the default floating-point environment. Must not fork. */
typedef void (*nxi_task_fn)(void *arg, int worker, int64_t begin, int64_t end);

/* A thread pool of the library's user. `run` calls body(arg, w) once for each 0 <= w < workers, on
 * any threads and in any order, and returns when all calls have; body(arg, 0) should run on the
 * calling thread, or polls are late. Calls that begin after the work is done return at once. */
typedef struct nxi_pool_hook {
  void (*run)(void *user, int32_t workers, void (*body)(void *arg, int32_t worker), void *arg);
  void *user;
} nxi_pool_hook;

typedef struct nxi_pool_options {
  int32_t threads;           /* with the caller; 0: as many as affinity and cgroup quota allow */
  bool no_pinning;           /* leave workers where the system puts them */
  const nxi_pool_hook *hook; /* copied; NULL: the pool makes its own threads */
} nxi_pool_options;

enum { NXI_POOL_MAX_THREADS = 1024 };

/* options may be NULL. Starts no thread yet. NX_OUT_OF_MEMORY, NX_INVALID_ARGUMENT (threads < 0 or
 * above the maximum, a hook without `run`). */
nx_status nxi_pool_create(const nxi_pool_options *options, nxi_pool **out, nxi_diag *d);
/* Waits for the workers to end. No run may be in progress. NULL is allowed. */
void nxi_pool_destroy(nxi_pool *pool);
/* Threads that a run may use, the caller among them; at least 1. 1 for NULL. */
int32_t nxi_pool_size(const nxi_pool *pool);
/* Whether the threads are the pool's own, whose stacks have a known size; false for NULL. */
bool nxi_pool_has_threads(const nxi_pool *pool);

/* Runs tasks 0 .. tasks - 1. They are handed out in chunks of a multiple of `grain` (>= 1) tasks,
 * several chunks for each worker; choose `grain` so that its tasks take between about 10 us and 10
 * ms. Returns `tasks`, or -1 if the run was interrupted (only by fork). pool may be NULL: the
 * caller does all tasks. */
int64_t nxi_pool_run(nxi_pool *pool, nxi_task_fn fn, void *arg, int64_t tasks, int64_t grain);

/* The same with a poll, which is called between chunks and while waiting for workers, every 20 ms
 * at least if `grain` tasks take less than that. After it has requested a stop no further chunk is
 * started; chunks in progress are finished. NX_OK; NX_INTERRUPTED if the poll requested a stop.
 * poll may be NULL. */
nx_status nxi_pool_run_polled(nxi_pool *pool, const nxi_poll *poll, nxi_task_fn fn, void *arg,
                              int64_t tasks, int64_t grain);

#endif
