/* SPDX-License-Identifier: ISC */
/* The pool. All synchronisation uses two words:
 *
 *   signal  counts the runs that were announced. A worker that has seen value s waits (spinning,
 *           then in futex) for another value.
 *   state   OPEN while a run has chunks to hand out, plus the number of workers inside it. A worker
 *           enters by raising the number with OPEN set, so it reads the run only while the caller
 *           keeps it alive; the caller closes the run, then waits for the number to fall to zero. A
 *           worker that wakes up too late finds the run closed, and the caller does not wait for
 *           it.
 *
 * `busy` is held by the thread that may announce runs. That thread owns everything else in the
 * pool.
 *
 * A worker that is inside may lose its processor to a thread of somebody else's, with a chunk half
 * done. Workers are pinned, so it would wait there for as long as the other one may work,
 * milliseconds, while the caller's processor has nothing to do. A caller that waits looks how long
 * each worker has been on a processor, and has one that has not got on come to its own. */
#include "threads.h"

#include <limits.h>
#include <stdatomic.h>

#include "ir/alloc.h"
#include "ir/op.h"
#include "ir/platform/clock.h"
#include "ir/platform/cpus.h"
#include "ir/platform/fork.h"
#include "ir/platform/futex.h"
#include "ir/platform/thread.h"
#include "runtime/trace.h"

_Static_assert((int)NXI_CPU_MAX <= (int)NXI_POOL_MAX_THREADS,
               "a pool has room for every processor");

enum {
  CHUNKS_PER_WORKER = 4,
  SPIN_NS = 70 * 1000,        /* of a worker after its last run */
  WAIT_SPIN_NS = 100 * 1000,  /* of the caller while it waits for its workers */
  LOOK_NS = 25 * 1000,        /* between its first looks whether they get on; then twice as long, */
  MOST_LOOK_NS = 500 * 1000,  /* to this */
  POLL_NS = 10 * 1000 * 1000, /* between polls, half of what is promised */
  RAMP_NS = 2 * 1000 * 1000,  /* a polled caller doubles its chunk while one takes less than this */
  STACK_BYTES = 2 << 20,
  CACHE_LINE = 64,
};
#define OPEN       (UINT32_C(1) << 31)
#define WAITED_FOR (UINT32_C(1) << 30) /* the caller sleeps until the number is zero */
#define INSIDE     (WAITED_FOR - 1)

/* The tasks of one worker that were not taken yet, in grains: the first one in the low 32 bits, the
 * end in the high bits. The worker takes tasks from the front; a worker that has none left takes
 * them from the end of others. So a worker does mostly the same tasks in equal runs, and finds
 * their memory in its own cache. */
typedef struct region {
  _Alignas(CACHE_LINE) _Atomic uint64_t rest;
  _Atomic bool inside; /* of the pool's: this worker is in the run */
} part;

/* One run, on its caller's stack. */
typedef struct run {
  nxi_task_fn fn;
  void *arg;
  int64_t tasks, grain;
  int64_t chunk;        /* grains handed out at once */
  const nxi_poll *poll; /* NULL: none */
  uintptr_t caller;     /* nxi_thread_self */
  part *parts;          /* n_parts of them: the pool's, or `alone` */
  int32_t n_parts;
  part alone;
  _Atomic bool stopped; /* a poll requested a stop */
} run;

typedef struct pool_worker {
  nxi_pool *pool;
  int32_t index;
  int16_t cpu;       /* the processor that it is pinned to; -1: none */
  int64_t worked_ns; /* at the last look */
  nxi_thread thread;
} pool_worker;

struct nxi_pool {
  void *block; /* the allocation that holds the pool */
  int32_t size;
  bool pinned, spins;
  /* allowed processors when the pool was made; those of the creating thread may have been
   * restricted since */
  nxi_cpus cpus;
  nxi_pool_hook hook; /* run == NULL: own threads */
  nxi_fork_entry fork_entry;
  pool_worker *workers;   /* size of them; [0] is the caller and unused */
  part *parts;            /* size of them */
  int32_t started;        /* workers[1 .. started - 1] have threads; 0: not tried yet */
  int16_t vacant_cpu;     /* the processor no worker is pinned to: the caller's */
  _Atomic bool displaced; /* a worker was brought to the caller's, which has to get it back */
  run *current;           /* valid while state has OPEN or a worker is inside */
  _Atomic uint32_t forks; /* times this process became a child */
  _Alignas(CACHE_LINE) _Atomic uint32_t signal;
  _Atomic uint32_t sleepers; /* workers in futex, or about to be */
  _Atomic bool quit;
  _Alignas(CACHE_LINE) _Atomic uint32_t state;
  _Alignas(CACHE_LINE) _Atomic bool busy;
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* ---- handing out chunks */

static uint64_t rest_of(int64_t first, int64_t end) {
  return (uint64_t)first | (uint64_t)end << 32;
}
static int64_t grains_of(uint64_t rest) { return (int64_t)(rest >> 32) - (int64_t)(uint32_t)rest; }

/* Takes up to `size` grains of a part, from its front or from its end: towards the end fewer, half
 * of what is left, to a quarter of `size`. Others wait for what a worker began last, twice as long
 * if somebody else is on its processor. */
static bool take_from(part *p, int64_t size, bool front, int64_t *first, int64_t *end) {
  uint64_t rest = atomic_load_explicit(&p->rest, memory_order_relaxed), left;
  do {
    int64_t there = grains_of(rest), n = (there + 1) / 2;
    if (n < size / 4) n = size / 4;
    if (n > size) n = size;
    if (n > there) n = there;
    if (n <= 0) return false;
    *first = (int64_t)(uint32_t)rest;
    *end = (int64_t)(rest >> 32);
    if (front) *end = *first + n;
    else *first = *end - n;
    left = front ? rest + (uint64_t)n : rest - ((uint64_t)n << 32);
  } while (!atomic_compare_exchange_weak_explicit(&p->rest, &rest, left, memory_order_relaxed,
                                                  memory_order_relaxed));
  return true;
}

/* Takes up to `size` grains; false when none are left. */
static bool take_chunk(run *r, int32_t worker, int64_t size, int64_t *begin, int64_t *end) {
  if (atomic_load_explicit(&r->stopped, memory_order_relaxed)) return false;
  bool taken = worker < r->n_parts && take_from(&r->parts[worker], size, true, begin, end);
  for (int32_t i = 1; i <= r->n_parts && !taken; i++)
    taken = take_from(&r->parts[(worker + i) % r->n_parts], size, false, begin, end);
  if (!taken) return false;
  *begin *= r->grain;
  *end = *end > r->tasks / r->grain ? r->tasks : *end * r->grain;
  return true;
}

static void run_chunks(run *r, int32_t worker) {
  int64_t begin, end;
  while (take_chunk(r, worker, r->chunk, &begin, &end)) r->fn(r->arg, worker, begin, end);
}

/* Calls the poll, unless it has already requested a stop. */
static void ask(run *r) {
  if (atomic_load_explicit(&r->stopped, memory_order_relaxed)) return;
  if (r->poll->fn(r->poll->user)) atomic_store_explicit(&r->stopped, true, memory_order_relaxed);
}

/* Runs a share of a run that has a poll. Workers should end soon after the poll has requested a
 * stop, but the cost of a task is not known, so chunks start at one grain and double while they are
 * cheap. The poll may run any code, so it runs in the caller's floating-point environment,
 * `saved`. */
static void run_chunks_polled(run *r, int32_t worker, nxi_fp saved) {
  bool asks = nxi_thread_self() == r->caller;
  int64_t begin, end, size = 1, polled = nxi_now_ns(), started = polled;
  while (take_chunk(r, worker, size, &begin, &end)) {
    r->fn(r->arg, worker, begin, end);
    int64_t now = nxi_now_ns();
    if (now - started < RAMP_NS) size = size > r->chunk / 2 ? r->chunk : size * 2;
    else if (now - started > 2 * RAMP_NS) size = (size + 1) / 2;
    if (asks && now - polled >= POLL_NS) {
      nxi_fp_leave(saved);
      ask(r);
      nxi_fp_enter();
      polled = now = nxi_now_ns();
    }
    started = now;
  }
}

static void run_share(run *r, int32_t worker) {
  const bool traced = nxi_trace_is_on() && nxi_thread_self() != r->caller;
  int64_t began = traced ? nxi_now_ns() : 0;
  nxi_fp saved = nxi_fp_enter();
  if (r->poll) run_chunks_polled(r, worker, saved);
  else run_chunks(r, worker);
  nxi_fp_leave(saved);
  if (traced) nxi_trace_share(r->caller, worker, began);
}

/* ---- workers */

/* Waits for another value of `signal` than `seen`; returns it. */
static uint32_t wait_for_signal(nxi_pool *pool, uint32_t seen) {
  const bool spins = pool->spins && !atomic_load_explicit(&pool->displaced, memory_order_relaxed);
  int64_t deadline = spins ? nxi_now_ns() + SPIN_NS : 0;
  for (;;) {
    for (int i = 0; i < 32 && deadline; i++) {
      uint32_t signal = atomic_load_explicit(&pool->signal, memory_order_acquire);
      if (signal != seen) return signal;
      relax();
    }
    if (deadline && nxi_now_ns() < deadline) continue;
    /* The announcing thread changes the signal and then looks for sleepers. This thread does it in
     * the opposite order, and futex compares the signal again, so that no announcement is
     * missed. */
    atomic_fetch_add(&pool->sleepers, 1);
    while (atomic_load(&pool->signal) == seen) nxi_futex_wait(&pool->signal, seen, -1);
    atomic_fetch_sub(&pool->sleepers, 1);
    return atomic_load(&pool->signal);
  }
}

static bool enter_run(nxi_pool *pool) {
  uint32_t state = atomic_load_explicit(&pool->state, memory_order_relaxed);
  while (state & OPEN)
    if (atomic_compare_exchange_weak_explicit(&pool->state, &state, state + 1, memory_order_acquire,
                                              memory_order_relaxed))
      return true;
  return false;
}

static void leave_run(nxi_pool *pool) {
  uint32_t before = atomic_fetch_sub_explicit(&pool->state, 1, memory_order_acq_rel);
  if ((before & INSIDE) == 1 && (before & WAITED_FOR)) nxi_futex_wake(&pool->state, 1);
}

static void *worker_main(void *argument) {
  pool_worker *w = argument;
  nxi_pool *pool = w->pool;
  uint32_t seen = 0;
  for (;;) {
    seen = wait_for_signal(pool, seen);
    if (atomic_load(&pool->quit)) return NULL;
    if (!enter_run(pool)) continue;
    _Atomic bool *inside = &pool->parts[w->index].inside;
    atomic_store_explicit(inside, true, memory_order_relaxed);
    run_share(pool->current, w->index);
    atomic_store_explicit(inside, false, memory_order_relaxed);
    leave_run(pool);
  }
}

static bool pin(pool_worker *w, int16_t cpu) {
  if (!nxi_thread_confine(&w->thread, &cpu, 1)) return false;
  w->cpu = cpu;
  return true;
}

/* Pins one worker to each processor except the caller's. */
static void pin_workers(nxi_pool *pool) {
  int here = nxi_thread_processor();
  for (int32_t i = 0, next = 1; i < pool->size; i++) {
    bool vacant = pool->vacant_cpu < 0 && (pool->cpus.ids[i] == here || next == pool->size);
    if (vacant) pool->vacant_cpu = pool->cpus.ids[i];
    else if (!pin(&pool->workers[next++], pool->cpus.ids[i])) return;
  }
}

/* Sets the processors on which workers may run, which are not those of the thread that starts
 * them. */
static void place_workers(nxi_pool *pool) {
  if (!pool->cpus.ids_known) return;
  if (pool->pinned && pool->started == pool->size) {
    pin_workers(pool);
    return;
  }
  for (int32_t i = 1; i < pool->started; i++)
    nxi_thread_confine(&pool->workers[i].thread, pool->cpus.ids, pool->cpus.count);
}

/* The caller's thread is not pinned. If it moved to a worker's processor, that worker is moved to
 * the processor that the caller left. */
static void give_way(nxi_pool *pool) {
  int here = nxi_thread_processor();
  if (here < 0 || here == pool->vacant_cpu || pool->vacant_cpu < 0) return;
  for (int32_t i = 1; i < pool->started; i++) {
    if (pool->workers[i].cpu != here) continue;
    if (pin(&pool->workers[i], pool->vacant_cpu)) pool->vacant_cpu = (int16_t)here;
    return;
  }
}

/* Workers that were brought to the processor of a caller return. */
static void send_back(nxi_pool *pool) {
  atomic_store_explicit(&pool->displaced, false, memory_order_relaxed);
  pool->vacant_cpu = -1;
  place_workers(pool);
}

/* Makes the threads; it is not an error if there are fewer than wanted. */
static void start_workers(nxi_pool *pool) {
  atomic_store(&pool->signal, 0);
  atomic_store(&pool->sleepers, 0);
  pool->started = 1;
  pool->vacant_cpu = -1;
  while (pool->started < pool->size) {
    pool_worker *w = &pool->workers[pool->started];
    *w = (pool_worker){.pool = pool, .index = pool->started, .cpu = -1};
    atomic_init(&pool->parts[w->index].inside, false);
    if (!nxi_thread_start(&w->thread, STACK_BYTES, worker_main, w)) break;
    pool->started++;
  }
  place_workers(pool);
}

/* ---- the caller */

/* Looks at the workers that are inside. One that has not been on a processor since the last look is
 * brought to this one, which the caller leaves by going to sleep; more of them may go wherever
 * there is room. Returns whether there was one. */
static bool bring_workers(nxi_pool *pool, bool first_look) {
  bool brought = false;
  const int16_t here = (int16_t)nxi_thread_processor();
  for (int32_t i = 1; i < pool->started && here >= 0; i++) {
    pool_worker *w = &pool->workers[i];
    if (!atomic_load_explicit(&pool->parts[i].inside, memory_order_relaxed)) {
      w->worked_ns = -1;
      continue;
    }
    const int64_t worked = nxi_thread_worked_ns(&w->thread);
    if (!first_look && worked >= 0 && worked == w->worked_ns) {
      atomic_store_explicit(&pool->displaced, true, memory_order_relaxed);
      if (brought) nxi_thread_confine(&w->thread, pool->cpus.ids, pool->cpus.count);
      else brought = nxi_thread_confine(&w->thread, &here, 1);
    }
    w->worked_ns = worked;
  }
  return brought;
}

/* Waits until no worker is inside: spins, then sleeps, and calls the poll meanwhile. */
static void wait_for_workers(nxi_pool *pool, run *r) {
  int64_t started = nxi_now_ns(), polled = started, gap = LOOK_NS, look = started + gap;
  bool spins = pool->spins, first_look = true;
  const bool looks = spins && pool->cpus.ids_known; /* else workers wait for each other anyway */
  for (;;) {
    for (int i = 0; i < 32; i++) {
      if (!(atomic_load_explicit(&pool->state, memory_order_acquire) & INSIDE)) return;
      relax();
    }
    int64_t now = nxi_now_ns();
    if (r->poll && now - polled >= POLL_NS) {
      ask(r);
      polled = nxi_now_ns();
    }
    if (looks && now >= look) {
      if (bring_workers(pool, first_look)) spins = false; /* it wants this processor */
      first_look = false;
      gap = gap < MOST_LOOK_NS / 2 ? gap * 2 : MOST_LOOK_NS;
      look = now + gap;
    }
    if (spins && now - started < WAIT_SPIN_NS) continue;
    uint32_t state =
        atomic_fetch_or_explicit(&pool->state, WAITED_FOR, memory_order_acq_rel) | WAITED_FOR;
    if (state & INSIDE) nxi_futex_wait(&pool->state, state, looks ? gap : POLL_NS);
  }
}

/* Shares the run with the workers; `busy` is held. */
static void run_with_workers(nxi_pool *pool, run *r) {
  if (pool->started == 0) start_workers(pool);
  if (atomic_load_explicit(&pool->displaced, memory_order_relaxed)) send_back(pool);
  if (pool->vacant_cpu >= 0) give_way(pool);
  uint32_t forks = atomic_load(&pool->forks);
  pool->current = r;
  atomic_store_explicit(&pool->state, OPEN, memory_order_release);
  atomic_fetch_add(&pool->signal, 1);
  if (atomic_load(&pool->sleepers) > 0) {
    nxi_futex_wake(&pool->signal, r->n_parts < pool->started ? r->n_parts - 1 : pool->started - 1);
  }
  run_share(r, 0);
  atomic_fetch_and_explicit(&pool->state, ~OPEN, memory_order_acq_rel);
  wait_for_workers(pool, r);
  if (atomic_load(&pool->forks) != forks) atomic_store(&r->stopped, true);
}

static void hook_body(void *argument, int32_t worker) { run_share(argument, worker); }

/* Makes the grain so large that numbers of grains fit in 32 bits, and divides the grains among the
 * workers, at least one for each part. */
static void prepare_run(run *r, part *parts, int32_t size) {
  if (r->grain < 1) r->grain = 1;
  if (r->grain > r->tasks) r->grain = r->tasks;
  while (r->tasks / r->grain >= INT32_MAX) r->grain *= 2;
  int64_t grains = r->tasks / r->grain + (r->tasks % r->grain != 0);
  r->parts = parts;
  r->n_parts = grains < size ? (int32_t)grains : size;
  r->chunk = grains / ((int64_t)size * CHUNKS_PER_WORKER);
  if (r->chunk < 1) r->chunk = 1;
  for (int64_t i = 0; i < r->n_parts; i++)
    atomic_store_explicit(&parts[i].rest,
                          rest_of(grains * i / r->n_parts, grains * (i + 1) / r->n_parts),
                          memory_order_relaxed);
}

static void run_all(nxi_pool *pool, run *r) {
  int32_t size = nxi_pool_size(pool);
  bool shared = size > 1 && r->tasks > r->grain;
  if (shared) shared = !atomic_exchange_explicit(&pool->busy, true, memory_order_acquire);
  if (!shared) {
    prepare_run(r, &r->alone, 1);
    run_share(r, 0);
    return;
  }
  prepare_run(r, pool->parts, size);
  if (pool->hook.run) pool->hook.run(pool->hook.user, r->n_parts, hook_body, r);
  else run_with_workers(pool, r);
  atomic_store_explicit(&pool->busy, false, memory_order_release);
}

nx_status nxi_pool_run_polled(nxi_pool *pool, const nxi_poll *poll, nxi_task_fn fn, void *arg,
                              int64_t tasks, int64_t grain) {
  if (tasks <= 0) return NX_OK;
  run r = {.fn = fn,
           .arg = arg,
           .tasks = tasks,
           .grain = grain,
           .caller = nxi_thread_self(),
           .poll = poll && poll->fn ? poll : NULL};
  run_all(pool, &r);
  return atomic_load_explicit(&r.stopped, memory_order_relaxed) ? NX_INTERRUPTED : NX_OK;
}

int64_t nxi_pool_run(nxi_pool *pool, nxi_task_fn fn, void *arg, int64_t tasks, int64_t grain) {
  if (tasks <= 0) return 0;
  return nxi_pool_run_polled(pool, NULL, fn, arg, tasks, grain) == NX_OK ? tasks : -1;
}

/* ---- creating and destroying */

/* In a child there are no workers, and no other thread holds `busy`. */
static void after_fork_in_child(void *object) {
  nxi_pool *pool = object;
  pool->started = 0;
  atomic_store(&pool->state, 0);
  atomic_store(&pool->busy, false);
  atomic_fetch_add(&pool->forks, 1);
}

static const nxi_fork_hooks fork_hooks = {.child = after_fork_in_child};

/* Aligned explicitly, so that the words that workers watch have separate cache lines. */
static nxi_pool *new_pool(int32_t size) {
  size_t pool_bytes = (sizeof(nxi_pool) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE,
         parts_bytes = (size_t)size * sizeof(part);
  char *block =
      nxi_calloc(1, CACHE_LINE + pool_bytes + parts_bytes + (size_t)size * sizeof(pool_worker));
  if (!block) return NULL;
  char *base = block + (CACHE_LINE - (uintptr_t)block % CACHE_LINE) % CACHE_LINE;
  nxi_pool *pool = (nxi_pool *)(void *)base;
  pool->block = block;
  pool->parts = (part *)(void *)(base + pool_bytes);
  pool->workers = (pool_worker *)(void *)(base + pool_bytes + parts_bytes);
  pool->size = size;
  pool->vacant_cpu = -1;
  return pool;
}

nx_status nxi_pool_create(const nxi_pool_options *options, nxi_pool **out, nxi_diag *d) {
  static const nxi_pool_options defaults = {0};
  const nxi_pool_options *o = options ? options : &defaults;
  if (o->threads < 0 || o->threads > NXI_POOL_MAX_THREADS)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "", "%d threads: between 0 and %d can be asked for",
                    (int)o->threads, NXI_POOL_MAX_THREADS);
  if (o->hook && !o->hook->run)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "", "the thread pool has no function that runs tasks");
  nxi_cpus cpus;
  nxi_cpus_read(&cpus);
  int32_t size = o->threads ? o->threads : cpus.available;
  nxi_pool *pool = new_pool(size);
  if (!pool) return nxi_oom(d);
  if (o->hook) pool->hook = *o->hook;
  pool->cpus = cpus;
  pool->spins = size <= cpus.available;
  pool->pinned = !o->no_pinning && cpus.ids_known && size == cpus.count && size == cpus.available;
  if (nxi_fork_register(&pool->fork_entry, &fork_hooks, pool) != NX_OK) {
    nxi_free(pool->block);
    return nxi_oom(d);
  }
  *out = pool;
  return NX_OK;
}

void nxi_pool_destroy(nxi_pool *pool) {
  if (!pool) return;
  nxi_fork_unregister(&pool->fork_entry);
  if (pool->started > 1) {
    atomic_store(&pool->quit, true);
    atomic_fetch_add(&pool->signal, 1);
    nxi_futex_wake(&pool->signal, INT_MAX);
    for (int32_t i = 1; i < pool->started; i++) nxi_thread_join(&pool->workers[i].thread);
  }
  nxi_free(pool->block);
}

int32_t nxi_pool_size(const nxi_pool *pool) { return pool ? pool->size : 1; }

bool nxi_pool_has_threads(const nxi_pool *pool) { return pool && !pool->hook.run; }
