/* SPDX-License-Identifier: ISC */
/* A thread that does asynchronous work: a queue of events, which it takes in their order. The
 * thread is started by the first event and lives as long as the context. If it gives up the last
 * reference of the context it destroys it, and cannot wait for itself: then it ends on its own.
 *
 * A device with memory of its own is still working when its work has been started: the thread then
 * notes marks in the device's stream, and starts the work of later events before it looks whether
 * the stream has got there. */
#include "runner.h"

#include <stdio.h>

#include "ir/op.h"
#include "ir/platform/cpus.h"
#include "ir/platform/fork.h"
#include "ir/platform/futex.h"
#include "ir/platform/lock.h"
#include "runtime/realize/residency.h"
#include "runtime/device.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"

enum { STACK_BYTES = 8 << 20 /* address space: LLVM recurses on large kernels */ };
static const int64_t poll_ns = 10 * 1000 * 1000;

typedef struct then {
  struct then *next;
  void (*fn)(void *user);
  void *user;
} then;

struct nx_event {
  nxi_head head;
  nx_context *context; /* one reference */
  struct nxi_runner *runner;
  const char *op;
  bool watched;
  nx_report *report;
  nxi_wanted wanted; /* until the work has been done, or started on a device */
  uint64_t devices;  /* bits of those that still work after that */
  nx_event *next;    /* of the queue, or of those that were started */
  then *thens;       /* in their order; the runner's lock */
  _Atomic bool canceled;
  _Atomic uint32_t done;
  nx_status status; /* these once it is done */
  bool blamed;
  nxi_diag diag;
  uint64_t tag;
  int32_t output;
  char tag_text[256];
  uint64_t marks[]; /* of the devices */
};

struct nxi_runner {
  nxi_mutex lock; /* taken last, and held briefly */
  nxi_condition wanted;
  nxi_thread thread;
  _Atomic uintptr_t self; /* of the thread; 0: there is none */
  nx_event *first, *last, *current;
  nx_event *started, *last_started; /* on devices, which still work; in their order */
  nx_event *lost;                   /* of the parent of this process */
  bool quit, orphan;
  nxi_cpus cpus;
  nxi_fork_entry fork_entry;
};

/* ---- the end of an event */

static void finish(nxi_runner *r, nx_event *e) {
  nxi_mutex_lock(&r->lock);
  then *list = e->thens;
  e->thens = NULL;
  atomic_store_explicit(&e->done, 1, memory_order_release);
  nxi_mutex_unlock(&r->lock);
  nxi_futex_wake(&e->done, INT32_MAX);
  uint16_t outer = nxi_called_pause();
  for (then *next; list; list = next) {
    next = list->next;
    list->fn(list->user);
    nxi_free(list);
  }
  nxi_called_end(outer);
  nx_error_take(NULL); /* what a callback has left is nobody's */
}

/* ---- the work */

static int32_t is_canceled(void *user) {
  nx_event *e = user;
  return atomic_load_explicit(&e->canceled, memory_order_relaxed);
}

/* Bits of the devices with memory of their own that the values are on. */
static uint64_t devices_of(const nx_event *e) {
  uint64_t devices = 0;
  const nxi_list *lists[2] = {&e->wanted.nodes, &e->wanted.leftovers};
  for (int k = 0; k < 2; k++)
    for (uint32_t i = 0; i < lists[k]->n; i++) {
      const nxi_node *n = lists[k]->items[i];
      if (nxi_device_kind_of(e->context, n->device)->own_memory) devices |= 1ull << n->device;
    }
  return devices;
}

/* Marks where the devices are done with what was started now. */
static void mark(nx_event *e, uint64_t devices) {
  for (int32_t i = 0; devices >> i; i++) {
    nxi_device *v = devices >> i & 1 ? nxi_device_opened(e->context, i) : NULL;
    if (!v) continue;
    e->devices |= 1ull << i;
    e->marks[i] = v->kind->mark(v);
  }
}

static void work(nx_event *e) {
  nxi_action a;
  nx_run_options o = {.size = sizeof o, .report = e->report};
  uint64_t devices = devices_of(e);
  nxi_action_begin(&a, e->context, &o);
  /* Not through nxi_action_begin: this thread does the work itself, however long it takes. */
  a.filled.poll = is_canceled;
  a.filled.user = e;
  a.stopped = &e->canceled;
  nx_status status = NX_OK;
  if (is_canceled(e)) status = NX_INTERRUPTED;
  else status = nxi_wanted_realize(&a, &e->wanted);
  if (!status) mark(e, devices);
  e->status = nxi_action_end(&a, nxi_oom_in(&a.diag, status, e->op));
  e->diag = a.diag;
  e->blamed = a.blamed;
  e->tag = a.tag;
  e->output = a.output;
  snprintf(e->tag_text, sizeof e->tag_text, "%s", a.blamed ? a.tag_text : "");
  nx_error_take(NULL);
  nxi_wanted_drop(e->context, &e->wanted);
}

/* ---- what devices still do */

static int32_t has_more(void *user) {
  nxi_runner *r = user;
  nxi_mutex_lock(&r->lock);
  bool more = r->first != NULL;
  nxi_mutex_unlock(&r->lock);
  return more;
}

/* Waits until the devices have done the work, but no longer than nothing else is to be started.
 * Whether they have; or failed. */
static bool is_past(nxi_runner *r, nx_event *e) {
  nxi_poll poll = {has_more, r};
  for (int32_t i = 0; e->devices >> i; i++) {
    if (!(e->devices >> i & 1)) continue;
    nxi_device *v = nxi_device_opened(e->context, i);
    nxi_diag d;
    nxi_diag_clear(&d);
    nx_status status = v->kind->wait(v, e->marks[i], &poll, &d);
    if (status == NX_INTERRUPTED) return false;
    e->devices &= ~(1ull << i);
    if (!status || e->status) continue;
    e->status = nxi_oom_in(&d, status, e->op);
    e->diag = d;
  }
  return true;
}

/* ---- the thread */

static void set_current(nxi_runner *r, nx_event *e) {
  nxi_mutex_lock(&r->lock);
  r->current = e;
  nxi_mutex_unlock(&r->lock);
}

/* The event is over, and the thread gives up its reference. That may destroy the context, which
 * makes r an orphan. */
static void end(nxi_runner *r, nx_event *e) {
  finish(r, e);
  set_current(r, NULL);
  nxi_head_release(e->context, &e->head);
}

/* Ends events whose devices are done, in their order. */
static void end_started(nxi_runner *r) {
  while (r->started && is_past(r, r->started)) {
    nxi_mutex_lock(&r->lock);
    nx_event *e = r->current = r->started;
    r->started = e->next;
    nxi_mutex_unlock(&r->lock);
    end(r, e);
  }
}

static void do_next(nxi_runner *r, nx_event *e) {
  work(e);
  if (!e->devices && !r->started) {
    end(r, e);
    return;
  }
  nxi_mutex_lock(&r->lock);
  e->next = r->current = NULL;
  if (r->started) r->last_started->next = e;
  else r->started = e;
  r->last_started = e;
  nxi_mutex_unlock(&r->lock);
}

/* Waits until there is something to do. *next: the next event, or NULL, where only devices work.
 * False: the thread ends. */
static bool take(nxi_runner *r, nx_event **next) {
  nxi_mutex_lock(&r->lock);
  while (!r->first && !r->started && !r->quit && !r->orphan)
    nxi_condition_wait(&r->wanted, &r->lock);
  nx_event *e = r->first;
  if (e) r->first = e->next;
  r->current = e;
  bool more = e || r->started;
  nxi_mutex_unlock(&r->lock);
  *next = e;
  return more;
}

static void free_runner(nxi_runner *r) {
  nxi_condition_destroy(&r->wanted);
  nxi_mutex_destroy(&r->lock);
  nxi_free(r);
}

static void *runner_main(void *argument) {
  nxi_runner *r = argument;
  nxi_fp_enter();
  for (nx_event *e; take(r, &e);) {
    if (e) do_next(r, e);
    end_started(r);
  }
  if (r->orphan) free_runner(r);
  return NULL;
}

static bool start_thread(nxi_runner *r) {
  if (atomic_load_explicit(&r->self, memory_order_relaxed)) return true;
  if (!nxi_thread_start(&r->thread, STACK_BYTES, runner_main, r)) return false;
  atomic_store_explicit(&r->self, (uintptr_t)r->thread.os, memory_order_relaxed);
  if (r->cpus.ids_known) nxi_thread_confine(&r->thread, r->cpus.ids, r->cpus.count);
  return true;
}

static bool is_runner(const nxi_runner *r) {
  return atomic_load_explicit(&r->self, memory_order_relaxed) == nxi_thread_self();
}

/* ---- fork: the thread is the parent's. What it had to do has been interrupted here. */

static void lose(nxi_runner *r, nx_event *e) {
  e->status = NX_INTERRUPTED;
  nxi_diag_clear(&e->diag);
  nxi_fail(&e->diag, NX_INTERRUPTED, e->op, "%s: a process that fork made does not do this work",
           e->op);
  e->next = r->lost;
  r->lost = e;
  atomic_store_explicit(&e->done, 1, memory_order_release);
}

static void lose_all(nxi_runner *r, nx_event *e) {
  for (nx_event *next; e; e = next) {
    next = e->next;
    lose(r, e);
  }
}

static void after_fork_in_child(void *object) {
  nxi_runner *r = object;
  if (is_runner(r)) return; /* a custom operation or a callback has forked: the thread goes on */
  if (r->current) lose(r, r->current);
  lose_all(r, r->started);
  lose_all(r, r->first);
  r->first = r->started = r->current = NULL;
  atomic_store_explicit(&r->self, 0, memory_order_relaxed);
  nxi_condition_init(&r->wanted);
}

/* Gives up what the parent's thread would have. The work that it was in the middle of had a
 * reference of the context more, which nobody can tell from here: it stays. */
static void bury(nxi_runner *r) {
  nxi_mutex_lock(&r->lock);
  nx_event *lost = r->lost;
  r->lost = NULL;
  nxi_mutex_unlock(&r->lock);
  for (nx_event *e = lost, *next; e; e = next) {
    next = e->next;
    nxi_wanted_drop(e->context, &e->wanted);
    nxi_head_release(e->context, &e->head);
  }
}

/* ---- life */

nx_status nxi_runner_create(nxi_runner **out, nxi_diag *d) {
  nxi_runner *r = nxi_calloc(1, sizeof *r);
  if (!r) return nxi_oom(d);
  nxi_mutex_init(&r->lock);
  nxi_cpus_read(&r->cpus);
  bool good = nxi_condition_init(&r->wanted);
  if (good && !nxi_fork_register_mutex(&r->fork_entry, &r->lock, after_fork_in_child, r)) {
    *out = r;
    return NX_OK;
  }
  if (good) nxi_condition_destroy(&r->wanted);
  nxi_mutex_destroy(&r->lock);
  nxi_free(r);
  return nxi_oom(d);
}

void nxi_runner_destroy(nxi_runner *r) {
  if (!r) return;
  nxi_fork_unregister(&r->fork_entry);
  if (is_runner(r)) {
    nxi_thread_detach(&r->thread);
    r->orphan = true; /* it frees r */
    return;
  }
  nxi_mutex_lock(&r->lock);
  r->quit = true;
  nxi_condition_wake_all(&r->wanted);
  nxi_mutex_unlock(&r->lock);
  if (atomic_load_explicit(&r->self, memory_order_relaxed)) nxi_thread_join(&r->thread);
  free_runner(r);
}

/* ---- events */

void nxi_event_teardown(nx_event *e) {
  for (then *next; e->thens; e->thens = next) {
    next = e->thens->next;
    nxi_free(e->thens);
  }
  nxi_handle_free(e, e->watched);
}

static bool take_options(const char *op, const nx_run_options *o, nx_run_options *filled,
                         nxi_diag *d) {
  *filled = (nx_run_options){.size = sizeof *filled};
  if (nxi_take(filled, o, sizeof *filled, "nx_run_options", op, d)) return false;
  if (filled->report && nxi_size_check(filled->report, "nx_report", op, d)) return false;
  if (filled->poll)
    nxi_fail(d, NX_INVALID_ARGUMENT, op,
             "%s: the options hold a poll, which is for actions that wait", op);
  else nxi_action_flags(filled->flags, op, d);
  return !d->status;
}

/* NULL: no memory. Two threads may make the first one of a device: one of them is kept. */
static nxi_runner *runner_of(nx_context *c, int32_t device, nxi_diag *d) {
  nxi_runner *r = atomic_load(&c->runners[device]), *made = NULL;
  if (r || nxi_runner_create(&made, d)) return r;
  if (atomic_compare_exchange_strong(&c->runners[device], &r, made)) return made;
  nxi_runner_destroy(made);
  return r;
}

nx_event *nxi_event_create(nx_context *c, int32_t device, const char *op, const nx_run_options *o,
                           uint32_t *flags, nxi_diag *d) {
  nx_run_options filled;
  bool watched;
  size_t marks = (size_t)nx_device_count(c) * sizeof(uint64_t);
  if (!take_options(op, o, &filled, d)) return NULL;
  nxi_runner *r = runner_of(c, device, d);
  if (!r) return nxi_oom_in(d, d->status, op), NULL;
  bury(r);
  nx_event *e = nxi_handle_alloc(sizeof *e + marks, &watched);
  if (!e) return nxi_oom_in(d, nxi_oom(d), op), NULL;
  nxi_mutex_lock(&r->lock);
  bool started = start_thread(r);
  nxi_mutex_unlock(&r->lock);
  if (!started) {
    nxi_handle_free(e, watched);
    nxi_fail(d, NX_OUT_OF_MEMORY, op, "%s: the system gives no thread to do it", op);
    return NULL;
  }
  atomic_init(&e->head.refs, 2); /* the caller's, and that of the work */
  e->head.kind = NXI_EVENT;
  e->context = c;
  e->runner = r;
  e->wanted.numbered = true;
  e->op = op;
  e->report = filled.report;
  *flags = filled.flags;
  e->watched = watched;
  nxi_context_ref(c);
  if (watched) nxi_watch_made(e, NXI_EVENT, c, "of %s", op);
  return e;
}

nxi_wanted *nxi_event_wanted(nx_event *e) { return &e->wanted; }

void nxi_event_submit(nx_event *e) {
  nxi_runner *r = e->runner;
  nxi_mutex_lock(&r->lock);
  if (r->first) r->last->next = e;
  else r->first = e;
  r->last = e;
  nxi_condition_wake_all(&r->wanted);
  nxi_mutex_unlock(&r->lock);
}

void nxi_event_drop(nx_event *e) {
  nxi_wanted_drop(e->context, &e->wanted);
  nxi_head_release(e->context, &e->head);
  nxi_head_release(e->context, &e->head);
}

nx_event *nx_event_retain(nx_event *e) {
  if (e && !nxi_have_event("retain", 0, e)) return NULL;
  if (e) atomic_fetch_add_explicit(&e->head.refs, 1, memory_order_relaxed);
  return e;
}

void nx_event_release(nx_event *e) {
  if (e && nxi_have_event("release", 0, e)) nxi_head_release(e->context, &e->head);
}

bool nx_event_done(const nx_event *e) {
  return !e || !nxi_have_event("event", 0, e) ||
         atomic_load_explicit(&e->done, memory_order_acquire);
}

void nx_event_cancel(nx_event *e) {
  if (e && nxi_have_event("event", 0, e))
    atomic_store_explicit(&e->canceled, true, memory_order_relaxed);
}

nx_status nx_event_then(nx_event *e, const nx_callback *callback) {
  nx_callback k = {.size = sizeof k};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_event("event", 0, e)) return NX_INVALID_ARGUMENT;
  if (nxi_take(&k, callback, sizeof k, "nx_callback", "event", &d)) return nxi_error_report(&d);
  if (!k.call) return nxi_error_null("event", 1), NX_INVALID_ARGUMENT;
  then *made = nxi_malloc(sizeof *made);
  if (!made) return nxi_no_memory("event"), NX_OUT_OF_MEMORY;
  *made = (then){NULL, k.call, k.user};
  nxi_runner *r = e->runner;
  nxi_mutex_lock(&r->lock);
  bool done = atomic_load_explicit(&e->done, memory_order_relaxed);
  then **at = &e->thens;
  while (!done && *at) at = &(*at)->next;
  if (!done) *at = made;
  nxi_mutex_unlock(&r->lock);
  if (!done) return NX_OK;
  k.call(k.user);
  nxi_free(made);
  return NX_OK;
}

/* ---- waiting */

static nx_status stop_waiting(nx_status status, const char *sentence) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, status, "event", "%s", sentence);
  return nxi_error_report(&d);
}

static nx_status outcome(const nx_event *e) {
  if (e->status && e->blamed)
    nxi_error_report_tagged(&e->diag, e->tag, e->tag_text[0] ? e->tag_text : NULL, e->output);
  else if (e->status) nxi_error_report(&e->diag);
  return e->status;
}

nx_status nx_event_wait(nx_event *e, const nx_run_options *options) {
  nx_run_options o = {.size = sizeof o};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!nxi_have_event("event", 0, e)) return NX_INVALID_ARGUMENT;
  if (nxi_take(&o, options, sizeof o, "nx_run_options", "event", &d)) return nxi_error_report(&d);
  while (!atomic_load_explicit(&e->done, memory_order_acquire)) {
    if (is_runner(e->runner))
      return stop_waiting(NX_INVALID_ARGUMENT, "event: the thread that does the work waits for it");
    if (o.poll && o.poll(o.user))
      return stop_waiting(NX_INTERRUPTED, nx_status_sentence(NX_INTERRUPTED));
    nxi_futex_wait(&e->done, 0, o.poll ? poll_ns : -1);
  }
  return outcome(e);
}
