/* SPDX-License-Identifier: ISC */
/* The engine of groups of processes: Open MPI's calls that do not block, asked again and again
 * whether they are done, so that a poll, or the time that the group allows, can end the wait.
 *
 * What MPI sends and receives lies in memory of the group's own: a call that was given up may still
 * read or write it later. Such a group is broken, and its memory is never freed. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "mpi.h"
#include "runtime/record/error.h"
#include "runtime/record/record.h"

enum {
  POLL_NS = 10 * 1000 * 1000,
  SHORTEST_PAUSE_NS = 10 * 1000,
  LONGEST_PAUSE_NS = 200 * 1000,
  TAG = 0x6e78,            /* of what is said before a group has a communicator */
  MOST_STAGED = 128 << 20, /* bytes of all blocks that move at once */
};

typedef struct processes {
  nxi_members base;
  const nxi_mpi *mpi;
  int32_t rank;
  void *comm;
  nxi_mutex lock; /* one exchange at a time */
  nx_status broken;
  char why[NXI_GROUP_SENTENCE];
  char *staged; /* what is sent, then what is received */
  int64_t room;
  nxi_header own, *all;
  struct processes *next; /* of those that are kept because they are broken */
} processes;

static processes *kept; /* the lock of MPI */

/* ---- waiting */

typedef struct wait {
  const processes *g;
  nxi_exchange_call *call;
  int64_t began, end, polled;
} wait;

static wait begin_wait(const processes *g, nxi_exchange_call *call) {
  int64_t now = nxi_now_ns(), timeout = g->base.timeout_ns;
  int64_t end = timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout;
  return (wait){g, call, now, end, now};
}

static nx_status say_error(const nxi_mpi *mpi, int error, char *sentence) {
  char text[NXI_MPI_TEXT] = "";
  int length = 0;
  nxi_mpi_lock();
  mpi->Error_string(error, text, &length);
  nxi_mpi_unlock();
  snprintf(sentence, NXI_GROUP_SENTENCE, "MPI fails: %.180s", text);
  return NX_DEVICE_LOST;
}

/* Whether the wait is to end. */
static nx_status look(wait *w, int64_t now) {
  nxi_exchange_call *call = w->call;
  if (now - w->polled >= POLL_NS) {
    w->polled = now;
    if (call->stopped(call->user)) {
      snprintf(call->sentence, sizeof call->sentence, "rank %d was told to stop while it waited",
               call->rank);
      return NX_INTERRUPTED;
    }
  }
  if (now < w->end) return NX_OK;
  snprintf(call->sentence, sizeof call->sentence,
           "rank %d has waited %.3g s for the others of %d ranks in %.104s", call->rank,
           (double)w->g->base.timeout_ns * 1e-9, w->g->base.size, call->exchange->header.what);
  return NX_TIMED_OUT;
}

/* Waits until a request is done, which began with `error`. */
static nx_status wait_for(wait *w, int error, void **request) {
  const nxi_mpi *mpi = w->g->mpi;
  int64_t pause = SHORTEST_PAUSE_NS;
  for (int done = 0;;) {
    if (error != 0) return say_error(mpi, error, w->call->sentence);
    nxi_mpi_lock();
    error = mpi->Test(request, &done, NULL);
    nxi_mpi_unlock();
    if (error == 0 && done) return NX_OK;
    nx_status status = error == 0 ? look(w, nxi_now_ns()) : NX_OK;
    if (status) return status;
    nxi_pause_ns(pause);
    pause = pause * 2 < LONGEST_PAUSE_NS ? pause * 2 : LONGEST_PAUSE_NS;
  }
}

/* n bytes of each member, one behind the other. */
static nx_status gather(wait *w, const void *from, int n, void *to) {
  const processes *g = w->g;
  void *request = NULL, *bytes = g->mpi->bytes;
  nxi_mpi_lock();
  int error = g->mpi->Iallgather(from, n, bytes, to, n, bytes, g->comm, &request);
  nxi_mpi_unlock();
  return wait_for(w, error, &request);
}

/* ---- moving, in pieces of blocks */

static nx_status reserve(processes *g, int64_t bytes) {
  if (g->room >= bytes) return NX_OK;
  nxi_free(g->staged);
  g->room = 0;
  g->staged = nxi_malloc((size_t)bytes);
  if (!g->staged) return NX_OUT_OF_MEMORY;
  g->room = bytes;
  return NX_OK;
}

static nx_status gather_piece(processes *g, wait *w, int64_t at, int n) {
  const nxi_exchange_call *call = w->call;
  char *from = g->staged, *to = from + n;
  memcpy(from, (const char *)call->in + at, (size_t)n);
  nx_status status = gather(w, from, n, to);
  for (int64_t i = 0; !status && i < g->base.size; i++)
    memcpy((char *)call->out + i * call->exchange->bytes + at, to + i * n, (size_t)n);
  return status;
}

static nx_status exchange_piece(processes *g, wait *w, int64_t at, int n) {
  const nxi_exchange_call *call = w->call;
  void *request = NULL, *bytes = g->mpi->bytes;
  int64_t block = call->exchange->bytes, size = g->base.size;
  char *from = g->staged, *to = from + size * n;
  for (int64_t i = 0; i < size; i++)
    memcpy(from + i * n, (const char *)call->in + i * block + at, (size_t)n);
  nxi_mpi_lock();
  int error = g->mpi->Ialltoall(from, n, bytes, to, n, bytes, g->comm, &request);
  nxi_mpi_unlock();
  nx_status status = wait_for(w, error, &request);
  for (int64_t i = 0; !status && i < size; i++)
    memcpy((char *)call->out + i * block + at, to + i * n, (size_t)n);
  return status;
}

static nx_status permute_piece(processes *g, wait *w, int64_t at, int n) {
  const nxi_exchange_call *call = w->call;
  const nxi_exchange *e = call->exchange;
  const nxi_mpi *mpi = g->mpi;
  void *receives = NULL, *sends = NULL;
  char *from = g->staged, *to = from + n;
  int error = 0, sent = 0;
  memcpy(from, (const char *)call->in + at, (size_t)n);
  nxi_mpi_lock();
  if (e->from >= 0) error = mpi->Irecv(to, n, mpi->bytes, e->from, TAG, g->comm, &receives);
  if (e->to >= 0) sent = mpi->Isend(from, n, mpi->bytes, e->to, TAG, g->comm, &sends);
  nxi_mpi_unlock();
  nx_status status = e->from >= 0 ? wait_for(w, error, &receives) : NX_OK;
  if (!status && e->to >= 0) status = wait_for(w, sent, &sends);
  if (!status && e->from >= 0) memcpy((char *)call->out + at, to, (size_t)n);
  else if (!status) memset((char *)call->out + at, 0, (size_t)n);
  return status;
}

static nx_status broadcast_piece(processes *g, wait *w, int64_t at, int n) {
  const nxi_exchange_call *call = w->call;
  const int root = call->exchange->from;
  void *request = NULL;
  memcpy(g->staged, (const char *)call->in + at, (size_t)n);
  nxi_mpi_lock();
  int error = g->mpi->Ibcast(g->staged, n, g->mpi->bytes, root, g->comm, &request);
  nxi_mpi_unlock();
  nx_status status = wait_for(w, error, &request);
  if (!status) memcpy((char *)call->out + at, g->staged, (size_t)n);
  return status;
}

static nx_status move_piece(processes *g, wait *w, int64_t at, int n) {
  switch (w->call->exchange->kind) {
    case NXI_GATHER: return gather_piece(g, w, at, n);
    case NXI_ALL_TO_ALL: return exchange_piece(g, w, at, n);
    case NXI_PERMUTE: return permute_piece(g, w, at, n);
    default: return broadcast_piece(g, w, at, n);
  }
}

/* Pieces are of the same number of bytes for all members. */
static nx_status move_all(processes *g, nxi_exchange_call *call) {
  int64_t bytes = call->exchange->bytes, size = g->base.size, piece = MOST_STAGED / (2 * size);
  if (piece > bytes) piece = bytes;
  nx_status status = reserve(g, 2 * size * piece);
  if (status) snprintf(call->sentence, sizeof call->sentence, "no memory for what is sent");
  for (int64_t at = 0; !status && at < bytes; at += piece) {
    wait w = begin_wait(g, call);
    status = move_piece(g, &w, at, (int)(bytes - at < piece ? bytes - at : piece));
  }
  return status;
}

/* ---- one exchange */

static nx_status compare(processes *g, nxi_exchange_call *call) {
  wait w = begin_wait(g, call);
  g->own = call->exchange->header;
  nx_status status = gather(&w, &g->own, (int)sizeof g->own, g->all);
  return status ? status : nxi_headers_compare(g->all, g->base.size, call->sentence);
}

static nx_status run(nxi_members *all, nxi_exchange_call *call) {
  processes *g = (processes *)all;
  if (!nxi_mpi_is_ours()) {
    snprintf(call->sentence, sizeof call->sentence,
             "rank %d is the process that forked this one, which is no member", g->rank);
    return NX_DEVICE_UNAVAILABLE;
  }
  nxi_mutex_lock(&g->lock);
  nx_status status = g->broken;
  if (status) {
    snprintf(call->sentence, sizeof call->sentence, "%s", g->why);
  } else {
    status = compare(g, call);
    if (!status) status = move_all(g, call);
    if (status) {
      g->broken = status;
      snprintf(g->why, sizeof g->why, "%s", call->sentence);
      if (status != NX_INVALID_ARGUMENT) nxi_mpi_lost();
    }
  }
  nxi_mutex_unlock(&g->lock);
  return status;
}

/* ---- life */

static void keep(processes *g) {
  nxi_mpi_lock();
  g->next = kept;
  kept = g;
  nxi_mpi_unlock();
}

/* Communicators are left to the end of MPI: to free one is a call of all members. In a child of
 * fork nothing reads or writes the memory, and locks may be held. */
static void destroy(nxi_members *all) {
  processes *g = (processes *)all;
  bool ours = nxi_mpi_is_ours();
  if (ours && g->broken && g->broken != NX_INVALID_ARGUMENT) {
    keep(g);
    return;
  }
  if (ours) nxi_mutex_destroy(&g->lock);
  nxi_free(g->staged);
  nxi_free(g->all);
  nxi_free(g);
}

static const nxi_engine engine = {run, destroy};

static processes *new_processes(const nxi_mpi *mpi, const nx_group_options *o, int32_t size,
                                int32_t rank, nxi_diag *d) {
  processes *g = nxi_calloc(1, sizeof *g);
  nxi_header *all = nxi_calloc((size_t)size, sizeof *all);
  if (!g || !all) {
    nxi_free(g);
    nxi_free(all);
    nxi_oom(d);
    return NULL;
  }
  g->base = (nxi_members){.engine = &engine,
                          .size = size,
                          .timeout_ns = o->timeout_ms < 0 ? -1 : o->timeout_ms * 1000000};
  snprintf(g->base.name, sizeof g->base.name, "%s", o->name);
  atomic_init(&g->base.refs, 1);
  nxi_mutex_init(&g->lock);
  g->mpi = mpi;
  g->rank = rank;
  g->all = all;
  return g;
}

/* ---- joining */

/* The ranks of the job that are the members; all of it without a list. The place of this process
 * among them, or -1 and a failure. */
static int32_t take_ranks(const nxi_mpi *mpi, const int32_t *ranks, size_t n, int *out,
                          int32_t *size, nxi_diag *d) {
  int self = 0, there = 0;
  int32_t place = -1;
  mpi->Comm_rank(mpi->world, &self);
  mpi->Comm_size(mpi->world, &there);
  *size = n ? (int32_t)n : there;
  if (*size > NXI_GROUP_MOST)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "group", "group: %d members: 1 to %d are possible",
                    *size, NXI_GROUP_MOST),
           -1;
  for (int32_t i = 0; i < *size; i++) {
    out[i] = n ? ranks[i] : i;
    if (out[i] == self) place = i;
    if (out[i] < 0 || out[i] >= there)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "group", "group: there is no rank %d in a job of %d",
                      out[i], there),
             -1;
    for (int32_t k = 0; k < i; k++)
      if (out[k] == out[i])
        return nxi_fail(d, NX_INVALID_ARGUMENT, "group",
                        "group: rank %d is member %d and member %d", out[i], k, i),
               -1;
  }
  if (place < 0)
    nxi_fail(d, NX_INVALID_ARGUMENT, "group", "group: this process, rank %d, is no member", self);
  return place;
}

/* What a process says to the others before they have a communicator: with whom it wants one. */
static void write_hello(const nx_group_options *o, const int *ranks, int32_t size,
                        nxi_header *out) {
  uint64_t hash = (uint64_t)size;
  for (int32_t i = 0; i < size; i++)
    hash = (hash ^ (uint64_t)ranks[i]) * UINT64_C(0x100000001b3) + 1;
  memset(out, 0, sizeof *out);
  out->hash = hash;
  snprintf(out->what, sizeof out->what, "a group \"%s\" of %d", o->name, size);
}

static bool never(const void *user) { return (void)user, false; }

/* All say hello to all, so that who waits for one that never comes learns that here; the call that
 * makes a communicator does not come back from that. */
static nx_status greet(processes *g, const int *ranks, const nxi_header *hello, char *sentence) {
  const nxi_mpi *mpi = g->mpi;
  const int n = (int)sizeof *hello;
  nxi_exchange e = {.header = *hello};
  nxi_exchange_call call = {.exchange = &e, .rank = g->rank, .stopped = never};
  nx_status status = NX_OK;
  void **requests = nxi_calloc(2 * (size_t)g->base.size, sizeof *requests);
  if (!requests) return NX_OUT_OF_MEMORY;
  g->own = *hello;
  wait w = begin_wait(g, &call);
  for (int32_t i = 0; !status && i < g->base.size; i++) {
    nxi_mpi_lock();
    int error = mpi->Irecv(&g->all[i], n, mpi->bytes, ranks[i], TAG, mpi->world, &requests[2 * i]);
    if (error == 0)
      error = mpi->Isend(&g->own, n, mpi->bytes, ranks[i], TAG, mpi->world, &requests[2 * i + 1]);
    nxi_mpi_unlock();
    if (error != 0) status = say_error(mpi, error, call.sentence);
  }
  for (int32_t i = 0; !status && i < 2 * g->base.size; i++) {
    status = wait_for(&w, 0, &requests[i]);
    if (status == NX_TIMED_OUT)
      snprintf(call.sentence, sizeof call.sentence, "rank %d of the job has not come in %.3g s",
               ranks[i / 2], (double)g->base.timeout_ns * 1e-9);
  }
  if (status) snprintf(sentence, NXI_GROUP_SENTENCE, "%s", call.sentence);
  nxi_free(requests);
  return status ? status : nxi_headers_compare(g->all, g->base.size, sentence);
}

static nx_status make_communicator(processes *g, const int *ranks, char *sentence) {
  const nxi_mpi *mpi = g->mpi;
  void *world = NULL, *group = NULL;
  nxi_mpi_lock();
  int error = mpi->Comm_group(mpi->world, &world);
  if (error == 0) error = mpi->Group_incl(world, g->base.size, ranks, &group);
  if (error == 0) error = mpi->Comm_create_group(mpi->world, group, TAG, &g->comm);
  if (error == 0) error = mpi->Comm_set_errhandler(g->comm, mpi->errors_return);
  if (group) mpi->Group_free(&group);
  if (world) mpi->Group_free(&world);
  nxi_mpi_unlock();
  return error == 0 ? NX_OK : say_error(mpi, error, sentence);
}

static nx_status join(const nxi_mpi *mpi, const int *ranks, int32_t size, int32_t place,
                      const nx_group_options *o, nxi_members **out, nxi_diag *d) {
  char sentence[NXI_GROUP_SENTENCE] = "no memory";
  nxi_header hello;
  processes *g = new_processes(mpi, o, size, place, d);
  if (!g) return d->status;
  write_hello(o, ranks, size, &hello);
  nx_status status = greet(g, ranks, &hello, sentence);
  if (!status) status = make_communicator(g, ranks, sentence);
  if (status) {
    g->broken = status;
    if (status == NX_TIMED_OUT || status == NX_DEVICE_LOST) nxi_mpi_lost();
    nxi_members_unref(&g->base);
    return nxi_fail(d, status, "group", "group: %s", sentence);
  }
  *out = &g->base;
  return NX_OK;
}

/* Elements go from memory to memory if that serves the device of each member. */
static nx_status link_all(nxi_members *m, int32_t place, const nxi_links *links, nxi_diag *d) {
  uint8_t all[NXI_GROUP_MOST], own = links != NULL;
  nxi_exchange e = {.kind = NXI_GATHER, .bytes = 1, .from = -1, .to = -1};
  nxi_exchange_call call = {&e, place, &own, all, never, NULL, ""};
  snprintf(e.header.what, sizeof e.header.what, "whether memories are linked");
  nx_status status = run(m, &call);
  if (status) return nxi_fail(d, status, "group", "group: %s", call.sentence);
  for (int32_t i = 0; i < m->size; i++)
    if (!all[i]) return NX_OK;
  return nxi_group_link(m, links, d);
}

nx_status nx_group_join(nx_context *c, nx_device device, const int32_t *ranks, size_t n,
                        const nx_group_options *options, nx_group **member) {
  nx_group_options o;
  nxi_diag d;
  nxi_members *all = NULL;
  static const size_t most = NXI_GROUP_MOST;
  nxi_diag_clear(&d);
  if ((n && !ranks) || !member)
    return nxi_error_null("group", !member ? 5 : 2), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("group", 0, c)) return NX_INVALID_ARGUMENT;
  if (nxi_group_options("group", options, &o, &d) || !nxi_device_usable(c, "group", device, &d))
    return nxi_error_report(&d);
  if (n > most) nxi_fail(&d, NX_INVALID_ARGUMENT, "group", "group: %zu members are too many", n);
  const nxi_mpi *mpi = d.status ? NULL : nxi_mpi_get(&d);
  int32_t size = 0, place = -1, *list = mpi ? nxi_malloc(most * sizeof *list) : NULL;
  if (mpi && !list) nxi_oom(&d);
  if (list) place = take_ranks(mpi, ranks, n, list, &size, &d);
  nx_status status = place < 0 ? d.status : join(mpi, list, size, place, &o, &all, &d);
  nxi_free(list);
  if (!status && all) status = link_all(all, place, nxi_group_links(c, device), &d);
  if (status) nxi_members_unref(all);
  nx_group *made = status ? NULL : nxi_group_member(c, all, place, device, &d);
  if (!made) return nxi_oom_in(&d, d.status, "group"), nxi_error_report(&d);
  *member = made;
  return NX_OK;
}
