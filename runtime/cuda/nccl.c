/* SPDX-License-Identifier: ISC */
/* NCCL moves what members exchange that are all GPUs. It takes no part in reductions, whose order
 * would be its own: it moves the blocks that the other engines move.
 *
 * Members meet by the engine of the group before each exchange, where they compare what they call;
 * the first time, rank 0's id goes to the others by it. Then each starts its part on its stream and
 * waits for it: work of NCCL waits for its peers for ever, and only an abort ends that. So a poll,
 * the time that the group allows, and an error of a peer are asked for until the work is done.
 * Communicators are made without blocking for the same reason, and given up by an abort, which
 * needs no peer. */
#include <stdio.h>
#include <string.h>

#include "codegen_cuda/toolkit.h"
#include "driver.h"
#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "ir/platform/fork.h"
#include "nccl.h"
#include "runtime/group/group.h"

/* Values of the library's enumerations, and of the driver's. */
enum { IN_PROGRESS = 7, BYTES = 0, LEAST_VERSION = 21400, MAGIC = (int)0xcafebeef, ANY_ERROR = 3 };
enum { NOT_READY = 600 };
enum { POLL_NS = 10 * 1000 * 1000, SHORTEST_PAUSE_NS = 5 * 1000, LONGEST_PAUSE_NS = 100 * 1000 };

typedef struct nxi_nccl_id {
  char bytes[128];
} nxi_nccl_id;
/* As version 2.14 has it; later ones take what they know besides from their defaults. */
typedef struct nxi_nccl_config {
  size_t size;
  unsigned magic, version;
  int blocking;
} nxi_nccl_config;

static struct nccl {
#define NCCL(result, name, symbol, arguments) result(*name) arguments;
#include "nccl.def"
#undef NCCL
} nccl;
static bool loaded;
static nxi_once once = NXI_ONCE_INITIALIZER;

static void load(void) {
  static const char *const files[] = {"libnccl.so.2", NULL};
  static const char *const symbols[] = {
#define NCCL(result, name, symbol, arguments) #symbol,
#include "nccl.def"
#undef NCCL
      NULL};
  static const nxu_library library = {"NCCL 2", "NX_NCCL", files, symbols};
  char missing[NXU_SENTENCE];
  int version = 0;
  loaded = nxu_load_library(&library, &nccl, missing) && nccl.version(&version) == 0 &&
           version >= LEAST_VERSION;
}

typedef struct nxi_nccl {
  nxi_mutex lock; /* of the next three */
  nx_status broken;
  char why[NXI_GROUP_SENTENCE];
  bool forked; /* the communicators are the parent's */
  nxi_fork_entry fork_entry;
  _Atomic bool failed;  /* a member of this process cannot connect: the others need not wait */
  _Atomic bool refused; /* NCCL does not connect these members, which all of them know */
  int32_t size;
  void *communicators[]; /* of members in this process, by rank */
} nxi_nccl;

static nxi_nccl *of(const nxi_members *m) { return m->linked; }

/* ---- life */

static bool serves(void) {
  nxi_once_run(&once, load);
  return loaded;
}

static void in_child(void *object) { ((nxi_nccl *)object)->forked = true; }

static nx_status attach(nxi_members *m, nxi_diag *d) {
  nxi_nccl *n = nxi_calloc(1, sizeof *n + (size_t)m->size * sizeof *n->communicators);
  if (!n) return nxi_oom(d);
  n->size = m->size;
  nxi_mutex_init(&n->lock);
  if (nxi_fork_register_mutex(&n->fork_entry, &n->lock, in_child, n)) {
    nxi_mutex_destroy(&n->lock);
    nxi_free(n);
    return nxi_oom(d);
  }
  m->linked = n;
  return NX_OK;
}

static void release(void *linked) {
  nxi_nccl *n = linked;
  nxi_fork_unregister(&n->fork_entry);
  for (int32_t i = 0; !n->forked && i < n->size; i++)
    if (n->communicators[i]) nccl.abort(n->communicators[i]);
  nxi_mutex_destroy(&n->lock);
  nxi_free(n);
}

/* ---- failures and waits */

/* All of the group's operations fail from now on, with the first reason. */
static nx_status give_up(nxi_nccl *n, nxi_exchange_call *call, nx_status status) {
  nxi_mutex_lock(&n->lock);
  if (!n->broken) snprintf(n->why, sizeof n->why, "%s", call->sentence);
  if (!n->broken) n->broken = status;
  nxi_mutex_unlock(&n->lock);
  if (n->communicators[call->rank]) nccl.abort(n->communicators[call->rank]);
  n->communicators[call->rank] = NULL;
  return status;
}

static nx_status is_broken(nxi_nccl *n, nxi_exchange_call *call) {
  nxi_mutex_lock(&n->lock);
  nx_status status = n->forked ? NX_DEVICE_UNAVAILABLE : n->broken;
  if (n->forked)
    snprintf(call->sentence, sizeof call->sentence, "a process that fork made has no NCCL");
  else if (status) snprintf(call->sentence, sizeof call->sentence, "%s", n->why);
  nxi_mutex_unlock(&n->lock);
  return status;
}

static nx_status say_error(nxi_exchange_call *call, int result, const char *what) {
  const char *text = nccl.text(result);
  snprintf(call->sentence, sizeof call->sentence, "NCCL fails at %s of rank %d: %.100s", what,
           call->rank, text ? text : "no text");
  return NX_DEVICE_LOST;
}

typedef struct wait {
  nxi_members *all;
  nxi_exchange_call *call;
  int64_t end, polled, pause;
} wait;

static wait begin_wait(nxi_members *m, nxi_exchange_call *call) {
  int64_t now = nxi_now_ns(), timeout = m->timeout_ns;
  int64_t end = timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout;
  return (wait){m, call, end, now, SHORTEST_PAUSE_NS};
}

/* Pauses, unless the wait is to end. */
static nx_status look(wait *w) {
  nxi_exchange_call *call = w->call;
  int64_t now = nxi_now_ns();
  nx_status status = is_broken(of(w->all), call);
  if (status) return status;
  if (now - w->polled >= POLL_NS) {
    w->polled = now;
    if (call->stopped(call->user)) {
      snprintf(call->sentence, sizeof call->sentence, "rank %d was told to stop while it waited",
               call->rank);
      return NX_INTERRUPTED;
    }
  }
  if (now >= w->end) {
    snprintf(call->sentence, sizeof call->sentence,
             "rank %d has waited %.3g s for the others of %d ranks in %.104s", call->rank,
             (double)w->all->timeout_ns * 1e-9, w->all->size, call->exchange->header.what);
    return NX_TIMED_OUT;
  }
  nxi_pause_ns(w->pause);
  w->pause = w->pause * 2 < LONGEST_PAUSE_NS ? w->pause * 2 : LONGEST_PAUSE_NS;
  return NX_OK;
}

/* Waits until the communicator has taken what it was given. *result: NCCL's error, or 0. */
static nx_status settle(wait *w, void *communicator, int *result) {
  nx_status status = NX_OK;
  while (*result == IN_PROGRESS && !status) {
    int failed = nccl.state(communicator, result);
    if (failed != 0) *result = failed;
    if (*result == IN_PROGRESS && atomic_load(&of(w->all)->failed)) *result = ANY_ERROR;
    if (*result == IN_PROGRESS) status = look(w);
  }
  return status;
}

/* Waits for the work of the stream. */
static nx_status finish(wait *w, void *communicator, void *stream) {
  const char *why = NULL;
  const nxi_cuda *cuda = nxi_cuda_get(&why);
  for (;;) {
    int result = 0, done = cuda->stream_query(stream);
    if (done == 0) return NX_OK;
    if (done != NOT_READY) {
      snprintf(w->call->sentence, sizeof w->call->sentence, "the GPU of rank %d fails",
               w->call->rank);
      return NX_DEVICE_LOST;
    }
    if (nccl.state(communicator, &result) == 0 && result != 0 && result != IN_PROGRESS)
      return say_error(w->call, result, "an exchange");
    nx_status status = look(w);
    if (status) return status;
  }
}

/* ---- connecting members */

/* An exchange of a few bytes of the host by the engine of the group. */
static nx_status by_engine(nxi_members *m, nxi_exchange_call *call, nxi_exchange_kind kind,
                           int64_t bytes, const void *in, void *out) {
  nxi_exchange e = {kind, bytes, 0, -1, call->exchange->header};
  nxi_exchange_call own = *call;
  own.exchange = &e;
  own.in = in;
  own.out = out;
  nx_status status = m->engine->run(m, &own);
  if (status) memcpy(call->sentence, own.sentence, sizeof own.sentence);
  return status;
}

/* Makes the communicator of a member. *result: NCCL's error, or 0. */
static nx_status connect(nxi_members *m, nxi_exchange_call *call, int *result) {
  struct {
    nxi_nccl_id id;
    int result;
  } own = {0}, first = {0};
  nxi_nccl_config config = {sizeof config, (unsigned)MAGIC, LEAST_VERSION, 0};
  void **made = &of(m)->communicators[call->rank];
  if (call->rank == 0) own.result = nccl.make_id(&own.id);
  nx_status status = by_engine(m, call, NXI_BROADCAST, sizeof own, &own, &first);
  *result = first.result;
  if (status || *result) return status;
  wait w = begin_wait(m, call);
  *result = nccl.init(made, m->size, first.id, call->rank, &config);
  status = settle(&w, *made, result);
  if (*result != 0) atomic_store(&of(m)->failed, true);
  return status;
}

/* All members connect, or none does: each learns whether the others could. */
static nx_status join(nxi_members *m, nxi_exchange_call *call) {
  nxi_nccl *n = of(m);
  uint8_t all[NXI_GROUP_MOST], good;
  int result = 0;
  nx_status status = connect(m, call, &result);
  if (status) return give_up(n, call, status);
  good = result == 0;
  status = by_engine(m, call, NXI_GATHER, 1, &good, all);
  if (status) return give_up(n, call, status);
  for (int32_t i = 0; i < m->size; i++) good = good && all[i];
  if (good) return NX_OK;
  if (n->communicators[call->rank]) nccl.abort(n->communicators[call->rank]);
  n->communicators[call->rank] = NULL;
  atomic_store(&n->refused, true);
  return NX_OK;
}

/* ---- exchanges */

static void *block(const void *at, int64_t rank, int64_t bytes) {
  return (char *)(uintptr_t)at + rank * bytes;
}

static int start_all_to_all(const nxi_members *m, const nxi_exchange_call *call, void *stream) {
  void *own = of(m)->communicators[call->rank];
  const int64_t n = call->exchange->bytes;
  int result = nccl.begin();
  if (result != 0) return result;
  for (int32_t i = 0; result == 0 && i < m->size; i++) {
    result = nccl.send(block(call->in, i, n), (size_t)n, BYTES, i, own, stream);
    if (result == 0)
      result = nccl.receive(block(call->out, i, n), (size_t)n, BYTES, i, own, stream);
  }
  int ended = nccl.end();
  return result != 0 ? result : ended;
}

static int start_permute(const nxi_members *m, const nxi_exchange_call *call, void *stream) {
  const nxi_exchange *e = call->exchange;
  void *own = of(m)->communicators[call->rank];
  const char *why = NULL;
  if (e->from < 0) {
    int failed =
        nxi_cuda_get(&why)->memory_set((uint64_t)(uintptr_t)call->out, 0, (size_t)e->bytes, stream);
    if (failed != 0) return 1; /* an error of CUDA */
  }
  int result = nccl.begin();
  if (result != 0) return result;
  if (e->to >= 0) result = nccl.send(call->in, (size_t)e->bytes, BYTES, e->to, own, stream);
  if (result == 0 && e->from >= 0)
    result = nccl.receive(call->out, (size_t)e->bytes, BYTES, e->from, own, stream);
  int ended = nccl.end();
  return result != 0 ? result : ended;
}

static int start(const nxi_members *m, const nxi_exchange_call *call, void *stream) {
  const nxi_exchange *e = call->exchange;
  void *own = of(m)->communicators[call->rank];
  switch (e->kind) {
    case NXI_GATHER:
      return nccl.all_gather(call->in, call->out, (size_t)e->bytes, BYTES, own, stream);
    case NXI_ALL_TO_ALL: return start_all_to_all(m, call, stream);
    case NXI_PERMUTE: return start_permute(m, call, stream);
    default:
      return nccl.broadcast(call->in, call->out, (size_t)e->bytes, BYTES, e->from, own, stream);
  }
}

static nx_status move(nxi_members *m, nxi_exchange_call *call, void *stream) {
  nxi_nccl *n = of(m);
  void *own = n->communicators[call->rank];
  wait w = begin_wait(m, call);
  int result = start(m, call, stream);
  nx_status status = settle(&w, own, &result);
  if (!status && result != 0) status = say_error(call, result, "an exchange");
  if (!status) status = finish(&w, own, stream);
  return status ? give_up(n, call, status) : NX_OK;
}

/* Through memory of the host, by the engine of the group. */
static nx_status stage(nxi_members *m, nxi_exchange_call *call, void *stream) {
  const nxi_exchange *e = call->exchange;
  const char *why = NULL;
  const nxi_cuda *cuda = nxi_cuda_get(&why);
  nxi_exchange_call own = *call;
  size_t in = (size_t)e->bytes * (e->kind == NXI_ALL_TO_ALL ? (size_t)m->size : 1);
  bool many = e->kind == NXI_ALL_TO_ALL || e->kind == NXI_GATHER;
  size_t out = (size_t)e->bytes * (many ? (size_t)m->size : 1);
  char *memory = nxi_malloc(in + out + 1);
  if (!memory) return NX_OUT_OF_MEMORY;
  own.in = memory;
  own.out = memory + in;
  int failed = cuda->download(memory, (uint64_t)(uintptr_t)call->in, in, stream);
  if (failed == 0) failed = cuda->stream_wait(stream);
  nx_status status = failed == 0 ? m->engine->run(m, &own) : NX_DEVICE_LOST;
  if (status && failed == 0) memcpy(call->sentence, own.sentence, sizeof own.sentence);
  if (!status) failed = cuda->upload((uint64_t)(uintptr_t)call->out, own.out, out, stream);
  if (failed == 0) failed = cuda->stream_wait(stream);
  if (failed != 0) {
    snprintf(call->sentence, sizeof call->sentence, "the GPU of rank %d fails", call->rank);
    status = NX_DEVICE_LOST;
  }
  nxi_free(memory);
  return status;
}

static nx_status run(nxi_members *m, nxi_exchange_call *call, void *stream) {
  nxi_nccl *n = of(m);
  bool refused = atomic_load(&n->refused), begun = n->communicators[call->rank] != NULL;
  nx_status status = is_broken(n, call);
  if (status) return status;
  if (!refused) status = by_engine(m, call, NXI_GATHER, 0, "", call->sentence); /* headers alone */
  if (!status && !refused && !begun) status = join(m, call);
  if (status) return status;
  if (call->exchange->bytes == 0) return NX_OK;
  return atomic_load(&n->refused) ? stage(m, call, stream) : move(m, call, stream);
}

const nxi_links nxi_nccl_links = {serves, attach, release, run};
