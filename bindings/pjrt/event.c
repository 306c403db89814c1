/* SPDX-License-Identifier: ISC */
/* Events: something becomes ready once, well or with an error. Callers wait, ask, or are called. */
#include "ir/alloc.h"
#include "calls.h"

typedef struct callback {
  struct callback *next;
  nxj_on_ready *call;
  void *user;
} callback;

struct nxj_event {
  atomic_uint refs;
  atomic_bool ready;
  bool callers;                  /* made by the caller, who makes it ready */
  unsigned generation;           /* of the process that made it */
  nxj_error *error;              /* when it is ready */
  callback *callbacks, **newest; /* the lock */
};

/* Of what is over when the call returns. */
static nxj_event over = {.refs = 1, .ready = true};

nxj_event *nxj_event_over(void) { return &over; }

nxj_event *nxj_event_new(void) {
  nxj_event *e = nxi_calloc(1, sizeof *e);
  if (e == NULL) return NULL;
  atomic_init(&e->refs, 1);
  atomic_init(&e->ready, false);
  e->generation = nxj_generation();
  e->newest = &e->callbacks;
  return e;
}

nxj_event *nxj_event_keep(nxj_event *e) {
  if (e != &over) atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
  return e;
}

/* Callbacks of an event that nobody will ever make ready are told so. */
static void call_all(callback *list, const nxj_error *error) {
  while (list != NULL) {
    callback *next = list->next;
    list->call(nxj_error_again(error), list->user);
    nxi_free(list);
    list = next;
  }
}

void nxj_event_drop(nxj_event *e) {
  if (e == NULL || e == &over) return;
  if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
  if (e->callbacks != NULL) {
    nxj_error *error = nxj_fail(NXJ_CANCELLED, "nx: the event was given up");
    call_all(e->callbacks, error);
    nxj_error_free(error);
  }
  if (e->error != NULL) nxj_error_free(e->error);
  nxi_free(e);
}

static bool is_lost(const nxj_event *e) { return e != &over && e->generation != nxj_generation(); }

/* In a child of fork nobody does what had not been done. */
bool nxj_event_is_ready(nxj_event *e) {
  return atomic_load_explicit(&e->ready, memory_order_acquire) || is_lost(e);
}

static nxj_error *error_of(const nxj_event *e) {
  if (atomic_load_explicit(&e->ready, memory_order_acquire)) return nxj_error_again(e->error);
  return nxj_fail(NXJ_CANCELLED,
                  "nx: the work went on in the parent of this process, which forked");
}

void nxj_event_finish(nxj_event *e, nxj_error *error) {
  nxj_lock();
  if (atomic_load(&e->ready)) { /* once */
    nxj_unlock();
    if (error != NULL) nxj_error_free(error);
    return;
  }
  e->error = error;
  callback *list = e->callbacks;
  e->callbacks = NULL;
  e->newest = &e->callbacks;
  atomic_store_explicit(&e->ready, true, memory_order_release);
  nxj_changed();
  nxj_unlock();
  call_all(list, error);
}

nxj_error *nxj_event_wait(nxj_event *e) {
  if (!nxj_event_is_ready(e)) {
    nxj_lock();
    while (!nxj_event_is_ready(e)) nxj_wait();
    nxj_unlock();
  }
  return error_of(e);
}

/* ---- calls */

nxj_error *nxj_event_destroy(void *args) {
  NXJ_TAKE(event, event);
  nxj_event_drop(a->event);
  return NULL;
}

nxj_error *nxj_event_ask(void *args) {
  NXJ_TAKE(event_ready, ready);
  a->ready = nxj_event_is_ready(a->event);
  return NULL;
}

nxj_error *nxj_event_error(void *args) {
  NXJ_TAKE(event, event);
  if (!nxj_event_is_ready(a->event))
    return nxj_fail(NXJ_FAILED_PRECONDITION, "nx: the event is not ready, and has no error yet");
  return error_of(a->event);
}

nxj_error *nxj_event_await(void *args) {
  NXJ_TAKE(event, event);
  return nxj_event_wait(a->event);
}

nxj_error *nxj_event_then(void *args) {
  NXJ_TAKE(event_on_ready, user);
  nxj_event *e = a->event;
  callback *c = NULL;
  if (!nxj_event_is_ready(e)) {
    c = nxi_malloc(sizeof *c);
    if (c == NULL) return nxj_no_memory();
    *c = (callback){NULL, a->call, a->user};
    nxj_lock();
    if (!nxj_event_is_ready(e)) {
      *e->newest = c;
      e->newest = &c->next;
      nxj_unlock();
      return NULL;
    }
    nxj_unlock();
    nxi_free(c);
  }
  a->call(error_of(e), a->user);
  return NULL;
}

nxj_error *nxj_event_create(void *args) {
  NXJ_TAKE(event, event);
  nxj_event *e = nxj_event_new();
  if (e == NULL) return nxj_no_memory();
  e->callers = true;
  a->event = e;
  return NULL;
}

nxj_error *nxj_event_set(void *args) {
  NXJ_TAKE(event_set, n);
  if (atomic_load(&a->event->ready))
    return nxj_fail(NXJ_FAILED_PRECONDITION, "nx: the event is ready already");
  if (!a->event->callers)
    return nxj_fail(NXJ_FAILED_PRECONDITION, "nx: the event is of work of the plugin's");
  nxj_event_finish(a->event, a->code == 0 ? NULL : nxj_fail_text(a->code, a->text, a->n));
  return NULL;
}
