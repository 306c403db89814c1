/* SPDX-License-Identifier: ISC */
/* A fake NCCL for GPUs of this process. Strict: communicators are made without blocking, of
 * different GPUs; nothing is started before all ranks have called, and what they call must fit.
 * Then each rank's stream waits for those of the others, copies what it gets, and waits again,
 * since its own memory is read by others. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_internal.h"

enum { MOST = 8, IDS = 4096, PENDING = 7, CUDA_FAILS = 1, BAD_ARGUMENT = 4, BAD_USAGE = 5 };
enum { VERSION = 21400, MAGIC = (int)0xcafebeef };

typedef struct id {
  char bytes[128];
} id;
typedef struct config {
  size_t size;
  unsigned magic, version;
  int blocking;
} config;

typedef enum kind { SEND, RECEIVE, GATHER, BROADCAST } kind;
typedef struct operation {
  kind kind;
  uint64_t from, to;
  size_t n;
  int peer; /* or the root */
} operation;

typedef struct communicator {
  struct clique *clique;
  int rank, device, error;
  void *stream;
  operation calls[2 * MOST];
  int n_calls;
  bool posted; /* and not started yet */
} communicator;

typedef struct clique {
  int size, joined;
  communicator *of[MOST];
} clique;

static clique cliques[IDS];
static int n_ids;
static _Thread_local int grouped;
/* Of the group: who calls, and its calls: nothing of a group starts if one of them fails. */
static _Thread_local communicator *touched;
static _Thread_local int called, taken;

/* ---- starting what all have called */

typedef struct moves {
  int n;
  struct {
    char *to;
    const char *from;
    size_t bytes;
  } all[MOST];
} moves;

static void move_all(void *what) {
  const moves *m = what;
  for (int i = 0; i < m->n; i++) memmove(m->all[i].to, m->all[i].from, m->all[i].bytes);
}

static bool add_move(moves *m, uint64_t to, uint64_t from, size_t bytes) {
  if (m->n == MOST) return false;
  m->all[m->n].to = nxt_fake_host(to);
  m->all[m->n].from = nxt_fake_host(from);
  m->all[m->n++].bytes = bytes;
  return true;
}

/* The call of rank `peer` that sends to `rank` this many bytes. */
static const operation *sender(const clique *q, int peer, int rank, size_t n) {
  const communicator *c = q->of[peer];
  for (int i = 0; i < c->n_calls; i++)
    if (c->calls[i].kind == SEND && c->calls[i].peer == rank && c->calls[i].n == n)
      return &c->calls[i];
  return NULL;
}

static bool fits(const operation *a, const communicator *of) {
  const operation *b = &of->calls[0];
  return of->n_calls == 1 && b->kind == a->kind && b->n == a->n &&
         (a->kind == GATHER || b->peer == a->peer);
}

/* What the call has this rank copy. False: the others call something else. */
static bool take(const clique *q, const communicator *c, const operation *o, moves *m) {
  if (o->kind == SEND) return true;
  if (o->kind == RECEIVE) {
    const operation *s = sender(q, o->peer, c->rank, o->n);
    return s != NULL && add_move(m, o->to, s->from, o->n);
  }
  for (int i = 0; i < q->size; i++) {
    if (!fits(o, q->of[i])) return false;
    bool gets = o->kind == GATHER || i == o->peer;
    uint64_t to = o->to + (o->kind == GATHER ? (uint64_t)i * o->n : 0);
    if (gets && !add_move(m, to, q->of[i]->calls[0].from, o->n)) return false;
  }
  return true;
}

/* Each stream waits for all others. */
static int meet(const clique *q) {
  void *events[MOST] = {NULL};
  int result = 0;
  for (int i = 0; result == 0 && i < q->size; i++) {
    result = cuEventCreate(&events[i], 2);
    if (result == 0) result = cuEventRecord(events[i], q->of[i]->stream);
  }
  for (int i = 0; i < q->size; i++)
    for (int k = 0; result == 0 && k < q->size; k++)
      result = cuStreamWaitEvent(q->of[i]->stream, events[k], 0);
  for (int i = 0; i < q->size; i++)
    if (events[i] != NULL) cuEventDestroy_v2(events[i]);
  return result;
}

static int start_all(const clique *q) {
  moves all[MOST] = {{0}};
  for (int i = 0; i < q->size; i++)
    for (int k = 0; k < q->of[i]->n_calls; k++)
      if (!take(q, q->of[i], &q->of[i]->calls[k], &all[i])) return BAD_USAGE;
  int result = meet(q);
  for (int i = 0; result == 0 && i < q->size; i++)
    result = nxt_fake_start(q->of[i]->stream, move_all, &all[i], sizeof all[i]);
  if (result == 0) result = meet(q);
  return result == 0 ? 0 : CUDA_FAILS;
}

static int post(communicator *c) {
  clique *q = c->clique;
  c->posted = true;
  for (int i = 0; i < q->size; i++)
    if (q->of[i] == NULL || !q->of[i]->posted) return PENDING;
  int result = start_all(q);
  for (int i = 0; i < q->size; i++) {
    q->of[i]->posted = false;
    q->of[i]->n_calls = 0;
    q->of[i]->error = result;
  }
  return result;
}

/* ---- the library */

EXPORT int ncclGetVersion(int *version) {
  *version = VERSION;
  return 0;
}
EXPORT const char *ncclGetErrorString(int result) {
  return result == BAD_USAGE ? "invalid usage" : result == CUDA_FAILS ? "CUDA fails" : "told to";
}
EXPORT int ncclGetUniqueId(id *made) {
  INSIDE;
  memset(made, 0, sizeof *made);
  int number = ++n_ids;
  if (number >= IDS) return BAD_USAGE;
  memcpy(made->bytes, &number, sizeof number);
  return 0;
}

EXPORT int ncclCommInitRankConfig(void **made, int size, id given, int rank, const config *how) {
  int number;
  INSIDE;
  memcpy(&number, given.bytes, sizeof number);
  if (how->size < sizeof *how || how->magic != (unsigned)MAGIC || how->version < VERSION ||
      how->blocking != 0 || number < 1 || number > n_ids || rank < 0 || rank >= size || size > MOST)
    return BAD_ARGUMENT;
  clique *q = &cliques[number];
  for (int i = 0; i < size; i++)
    if (q->of[i] != NULL && (i == rank || q->of[i]->device == nxt_fake_device())) return BAD_USAGE;
  communicator *c = calloc(1, sizeof *c);
  if (c == NULL) return CUDA_FAILS;
  *c = (communicator){.clique = q, .rank = rank, .device = nxt_fake_device()};
  q->size = size;
  q->joined++;
  q->of[rank] = c;
  nxt_fake_cuda()->handles++;
  *made = c;
  return PENDING;
}

EXPORT int ncclCommGetAsyncError(void *given, int *result) {
  const communicator *c = given;
  CALL;
  bool pending = c->posted || c->clique->joined < c->clique->size;
  *result = pending ? PENDING : c->error;
  return 0;
}
EXPORT int ncclCommAbort(void *given) {
  communicator *c = given;
  nxt_fake_enter();
  c->clique->of[c->rank] = NULL;
  free(c);
  nxt_fake_cuda()->handles--;
  nxt_fake_leave(NULL);
  return 0;
}

EXPORT int ncclGroupStart(void) {
  CALL;
  grouped++;
  touched = NULL;
  called = taken = 0;
  return 0;
}
EXPORT int ncclGroupEnd(void) {
  nxt_fake_enter();
  communicator *c = touched;
  touched = NULL; /* the group is over in any case */
  grouped--;
  int result = nxt_fake_count(__func__);
  if (c != NULL && (result != 0 || called != taken)) c->n_calls = 0;
  else if (c != NULL) result = post(c);
  nxt_fake_leave(NULL);
  return result;
}

static int add(communicator *c, void *stream, operation o) {
  if (c->posted || c->n_calls == 2 * MOST || o.peer >= c->clique->size || o.n == 0)
    return BAD_USAGE;
  if (c->n_calls == 0) c->stream = stream;
  if (c->stream != stream) return BAD_USAGE;
  c->calls[c->n_calls++] = o;
  touched = c;
  taken++;
  return grouped ? 0 : post(c);
}

EXPORT int ncclAllGather(uint64_t from, uint64_t to, size_t n, int type, void *c, void *stream) {
  INSIDE;
  return type != 0 ? BAD_ARGUMENT : add(c, stream, (operation){GATHER, from, to, n, 0});
}
EXPORT int ncclBroadcast(uint64_t from, uint64_t to, size_t n, int type, int root, void *c,
                         void *stream) {
  INSIDE;
  return type != 0 ? BAD_ARGUMENT : add(c, stream, (operation){BROADCAST, from, to, n, root});
}
EXPORT int ncclSend(uint64_t from, size_t n, int type, int peer, void *c, void *stream) {
  called++;
  INSIDE;
  return type != 0 ? BAD_ARGUMENT : add(c, stream, (operation){SEND, from, 0, n, peer});
}
EXPORT int ncclRecv(uint64_t to, size_t n, int type, int peer, void *c, void *stream) {
  called++;
  INSIDE;
  return type != 0 ? BAD_ARGUMENT : add(c, stream, (operation){RECEIVE, 0, to, n, peer});
}
