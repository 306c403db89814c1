/* SPDX-License-Identifier: ISC */
/* The fake driver's streams, events and copies: pieces of work that wait in their streams
 * until somebody waits for them, or until chance has them done. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"

typedef struct pinned {
  struct pinned *next;
  char *at;
  size_t bytes;
} pinned;

static stream *streams;
static pinned *pins;
static uint64_t chance;

/* ---- pieces */

void nxt_fake_append(list *l, piece *p) {
  if (l->first == NULL) l->end = &l->first;
  p->next = NULL;
  *l->end = p;
  l->end = &p->next;
  l->last = p;
}

static void let_go(event *e) {
  if (e != NULL && --e->references == 0) free(e);
}

static void drop(piece *p) {
  let_go(p->event);
  nxt_fake_forget_condition(p->condition);
  free(p);
}

void nxt_fake_empty(list *l) {
  while (l->first != NULL) {
    piece *p = l->first;
    l->first = p->next;
    drop(p);
  }
}

piece *nxt_fake_copy(const piece *from) {
  piece *p = malloc(sizeof *p + from->bytes);
  if (p != NULL) memcpy(p, from, sizeof *p + from->bytes);
  if (p != NULL && p->event != NULL) p->event->references++;
  if (p != NULL) nxt_fake_keep_condition(p->condition);
  return p;
}

static bool ready(const stream *s) {
  const piece *p = s->work.first;
  return p != NULL && (p->waits_for == 0 || p->event->done >= p->waits_for);
}

static void carry_out(stream *s) {
  piece *p = s->work.first;
  s->work.first = p->next;
  nxt_fake_cuda()->waiting--;
  if (p->condition != NULL) {
    if (nxt_fake_branch(s, p)) return;
  } else if (p->act != NULL) p->act(p->what);
  else if (p->waits_for == 0) p->event->done++;
  drop(p);
}

stream *nxt_fake_streams(void) { return streams; }

uint64_t nxt_fake_draw(uint64_t below) {
  if (chance == 0) chance = nxt_fake_cuda()->delay;
  chance = chance * 6364136223846793005u + 1442695040888963407u;
  return (chance >> 33) % below;
}

/* One piece of some stream. False: nothing can be done. */
bool nxt_fake_step(void) {
  uint64_t n = 0;
  for (stream *s = streams; s != NULL; s = s->next) n += ready(s);
  if (n == 0) return false;
  uint64_t which = nxt_fake_draw(n);
  for (stream *s = streams; s != NULL; s = s->next)
    if (ready(s) && which-- == 0) {
      carry_out(s);
      return true;
    }
  return false;
}

static int finish(const stream *s) {
  if (s->captured != NULL) return 900;
  nxt_fake_cuda()->host_waits++;
  while (s->work.first != NULL)
    if (!nxt_fake_step()) return 999; /* the pieces wait for each other */
  return nxt_fake_fault();
}

int nxt_fake_settle(void) {
  for (stream *s = streams; s != NULL; s = s->next)
    if (s->captured != NULL) s->spoilt = true;
  while (nxt_fake_step());
  return nxt_fake_fault();
}

int nxt_fake_add(stream *s, piece *p) {
  if (s->captured != NULL) return nxt_fake_captures(s, p);
  nxt_fake_append(&s->work, p);
  nxt_fake_cuda()->waiting++;
  bool delays = nxt_fake_cuda()->delay != 0;
  if (delays && nxt_fake_draw(4) != 0) return 0;
  for (uint64_t n = delays ? nxt_fake_draw(6) : UINT64_MAX; n > 0 && nxt_fake_step(); n--);
  return 0;
}

int nxt_fake_start(void *to, nxt_fake_act *act, const void *what, size_t bytes) {
  piece *p = calloc(1, sizeof *p + bytes);
  if (p == NULL) return 2;
  p->act = act;
  p->bytes = bytes;
  memcpy(p->what, what, bytes);
  return nxt_fake_add(to, p);
}

static int add_event(stream *s, event *e, uint64_t waits_for) {
  piece *p = calloc(1, sizeof *p);
  if (p == NULL) return 2;
  p->event = e;
  p->waits_for = waits_for;
  e->references++;
  return nxt_fake_add(s, p);
}

/* ---- streams */

EXPORT int cuStreamCreate(void **out, unsigned flags) {
  INSIDE;
  if (flags != 1) return 1; /* the others wait for the stream 0 */
  stream *s = calloc(1, sizeof *s);
  if (s == NULL) return 2;
  *s = (stream){.next = streams, .device = nxt_fake_device()};
  streams = s;
  nxt_fake_cuda()->streams++;
  *out = s;
  return 0;
}
EXPORT int cuStreamQuery(void *given) {
  const stream *s = given;
  INSIDE;
  if (s->captured != NULL) return 900;
  for (uint64_t n = nxt_fake_draw(4); n > 0 && nxt_fake_step(); n--);
  return s->work.first != NULL ? 600 : nxt_fake_fault();
}
EXPORT int cuStreamSynchronize(void *given) {
  INSIDE;
  return finish(given);
}
/* Numbers 1 and 2 are the streams that are there by themselves. */
static stream *stream_of(void *given) {
  static stream own[2];
  const uintptr_t number = (uintptr_t)given;
  if (number != 1 && number != 2) return given;
  stream *s = &own[number - 1];
  if (s->work.end == NULL) {
    nxt_fake_empty(&s->work);
    *s = (stream){.next = streams, .device = nxt_fake_device(), .work = {.end = &s->work.first}};
    streams = s;
  }
  return s;
}

EXPORT int cuCtxSynchronize(void) {
  SETTLED;
  nxt_fake_cuda()->host_waits++;
  return 0;
}
EXPORT int cuStreamWaitEvent(void *given, void *of, unsigned flags) {
  const event *e = of;
  INSIDE;
  stream *s = stream_of(given);
  if (flags != 0) return 1;
  if (e->capture != 0 || s->captured != NULL) return nxt_fake_wait_captured(s, e);
  return e->asked == 0 || nxt_fake_cuda()->no_waits ? 0 : add_event(s, of, e->asked);
}

/* ---- events */

EXPORT int cuEventCreate(void **out, unsigned flags) {
  INSIDE;
  if (flags != 2) return 1; /* the others take times, which costs some */
  event *e = calloc(1, sizeof *e);
  if (e == NULL) return 2;
  e->references = 1;
  nxt_fake_cuda()->events++;
  *out = e;
  return 0;
}
EXPORT int cuEventRecord(void *given, void *s) {
  event *e = given;
  INSIDE;
  if (((stream *)s)->captured != NULL) return nxt_fake_record_captured(s, e);
  e->capture = 0;
  e->asked++;
  return add_event(s, e, 0);
}
EXPORT int cuEventQuery(void *given) {
  const event *e = given;
  INSIDE;
  if (e->capture != 0) return 907;
  for (uint64_t n = nxt_fake_draw(4); n > 0 && nxt_fake_step(); n--);
  return e->done < e->asked ? 600 : nxt_fake_fault();
}
EXPORT int cuEventSynchronize(void *given) {
  const event *e = given;
  INSIDE;
  if (e->capture != 0) return 907;
  nxt_fake_cuda()->host_waits++;
  while (e->done < e->asked)
    if (!nxt_fake_step()) return 999;
  return nxt_fake_fault();
}

/* ---- copies. Memory of the host that is not pinned is read at once, and written before the call
 * returns. */

static bool is_pinned(const void *at, size_t bytes) {
  for (const pinned *p = pins; p != NULL; p = p->next)
    if ((const char *)at >= p->at && (const char *)at + bytes <= p->at + p->bytes) return true;
  return false;
}

typedef struct move {
  char *to;
  const char *from; /* NULL: the bytes that follow */
  size_t bytes;
} move;

static void move_bytes(void *what) {
  const move *m = what;
  nxt_fake_move(m->to, m->from != NULL ? m->from : (const char *)(m + 1), m->bytes);
}

EXPORT int cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  INSIDE;
  pinned *p = malloc(sizeof *p);
  char *at = malloc(bytes);
  if (p == NULL || at == NULL || flags != 0) {
    free(p);
    free(at);
    return flags != 0 ? 1 : 2;
  }
  *p = (pinned){pins, at, bytes};
  pins = p;
  nxt_fake_cuda()->pinned_pieces++;
  *out = at;
  return 0;
}
/* Bodies of conditional nodes have none to or from the host. */
static bool is_refused(void *given) {
  stream *s = given;
  if (!nxt_fake_in_body(s)) return false;
  return s->spoilt = true;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s) {
  INSIDE;
  if (is_refused(s)) return 1;
  nxt_fake_cuda()->uploaded += (int64_t)bytes;
  if (is_pinned(from, bytes)) {
    move m = {nxt_fake_host(to), from, bytes};
    return nxt_fake_start(s, move_bytes, &m, sizeof m);
  }
  move *m = malloc(sizeof *m + bytes);
  if (m == NULL) return 2;
  *m = (move){nxt_fake_host(to), NULL, bytes};
  memcpy(m + 1, from, bytes);
  int result = nxt_fake_start(s, move_bytes, m, sizeof *m + bytes);
  free(m);
  return result;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *given) {
  INSIDE;
  stream *s = stream_of(given);
  if (is_refused(s)) return 1;
  move m = {to, nxt_fake_host(from), bytes};
  int result = nxt_fake_start(s, move_bytes, &m, sizeof m);
  return result || is_pinned(to, bytes) ? result : finish(s);
}
EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *s) {
  INSIDE;
  move m = {nxt_fake_host(to), nxt_fake_host(from), bytes};
  return nxt_fake_start(s, move_bytes, &m, sizeof m);
}

/* From one GPU to another: the contexts are those of the addresses, and the stream is of one of
 * them. */
EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                             size_t bytes, void *given) {
  const stream *s = given;
  INSIDE;
  if (to_context == from_context || s->device != (int)(uintptr_t)to_context - 1) return 1;
  move m = {nxt_fake_host(to), nxt_fake_host(from), bytes};
  nxt_fake_cuda()->peer_bytes += (int64_t)bytes;
  return nxt_fake_start(given, move_bytes, &m, sizeof m);
}
EXPORT int cuDeviceCanAccessPeer(int *able, int device, int other) {
  CALL;
  *able = device != other;
  return device == other ? 101 : 0;
}
EXPORT int cuCtxEnablePeerAccess(void *other, unsigned flags) {
  static unsigned enabled;
  INSIDE;
  const unsigned bit = 1u << (nxt_fake_device() * 2 + (int)(uintptr_t)other - 1);
  if (flags != 0 || (int)(uintptr_t)other - 1 == nxt_fake_device()) return 1;
  if (enabled & bit) return 704;
  enabled |= bit;
  return 0;
}

typedef struct setting {
  char *to;
  unsigned char value;
  size_t bytes;
} setting;
static void set_bytes(void *what) {
  const setting *s = what;
  nxt_fake_set(s->to, s->value, s->bytes);
}
EXPORT int cuMemsetD8Async(uint64_t at, unsigned char value, size_t bytes, void *s) {
  INSIDE;
  setting all = {nxt_fake_host(at), value, bytes};
  return nxt_fake_start(s, set_bytes, &all, sizeof all);
}

/* ---- what is given back is gone, also when the call says that something failed: that may be from
 * before */

static int free_stream(void *given) {
  stream **at = &streams, *s = given;
  nxt_fake_settle();
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  if (s->captured != NULL && !s->joined) nxt_fake_abandon(s);
  nxt_fake_empty(&s->work);
  free(s);
  nxt_fake_cuda()->streams--;
  return 0;
}
static int free_event(void *given) {
  let_go(given);
  nxt_fake_cuda()->events--;
  return 0;
}
static int free_pinned(void *at) {
  pinned **link = &pins;
  nxt_fake_settle();
  while (*link != NULL && (*link)->at != at) link = &(*link)->next;
  pinned *p = *link;
  if (p == NULL) return 1;
  *link = p->next;
  free(p->at);
  free(p);
  nxt_fake_cuda()->pinned_pieces--;
  return 0;
}

int nxt_fake_give_back(int (*act)(void *), void *given) {
  nxt_fake_enter();
  int result = nxt_fake_inside() ? act(given) : 201;
  nxt_fake_leave(NULL);
  return result;
}
GIVES_BACK(cuStreamDestroy_v2, free_stream)
GIVES_BACK(cuEventDestroy_v2, free_event)
GIVES_BACK(cuMemFreeHost, free_pinned)

/* ---- threads, faults */

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void nxt_fake_enter(void) {
  pthread_once(&once, make_lock);
  pthread_mutex_lock(&lock);
}
void nxt_fake_leave(const int *ignored) {
  (void)ignored;
  pthread_mutex_unlock(&lock);
}

int nxt_fake_fault(void) {
  int device = nxt_fake_device();
  return device >= 0 && nxt_fake_cuda()->broken >> device & 1 ? 719 : 0;
}

void nxt_fake_nothing(void *what) { (void)what; }

bool nxt_fake_runs(int device) {
  nxt_fake *f = nxt_fake_cuda();
  if (++f->launches == f->fault_at) f->broken |= 1u << device;
  return !(f->broken >> device & 1);
}
