/* SPDX-License-Identifier: ISC */
/* The spans of a trace, and their file: the Trace Event Format that Perfetto and chrome://tracing
 * read. Spans of a thread are nested, since each is added by the thread on which it ran, with
 * nanoseconds of one clock. */
#include "runtime/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ir/alloc.h"
#include "ir/platform/clock.h"
#include "ir/platform/file.h"
#include "ir/platform/fork.h"
#include "ir/platform/process.h"
#include "nx/debug.h"
#include "runtime/files/file.h"
#include "runtime/record/error.h"

enum { MOST_SPANS = 1 << 19, NAME = 64 };

typedef struct span {
  char name[NAME];
  const char *category;
  int64_t began, ended, bytes;
  uint32_t track;
  int32_t threads;
} span;

/* A thread. */
typedef struct track {
  uintptr_t thread;
  int32_t worker;  /* its number in a pool; 0: a thread of the program, as far as is known */
  char step[NAME]; /* that it is carrying out */
} track;

_Atomic bool nxi_tracing;

static nxi_mutex mutex = NXI_MUTEX_INITIALIZER; /* for all that follows */
static span *spans;
static uint32_t n_spans, cap_spans;
static track *tracks;
static uint32_t n_tracks, cap_tracks;
static uint64_t missing;
static char file[NXI_PATH]; /* "": none */

static void clear(void) {
  atomic_store(&nxi_tracing, false);
  nxi_free(spans);
  nxi_free(tracks);
  spans = NULL;
  tracks = NULL;
  n_spans = cap_spans = n_tracks = cap_tracks = 0;
  missing = 0;
}

/* ---- adding spans; the mutex is held */

static track *track_of(uintptr_t thread) {
  for (uint32_t i = 0; i < n_tracks; i++)
    if (tracks[i].thread == thread) return &tracks[i];
  if (!nxi_grow(&tracks, &cap_tracks, n_tracks + 1, sizeof *tracks)) return NULL;
  tracks[n_tracks] = (track){.thread = thread};
  return &tracks[n_tracks++];
}

static void add(const track *on, const span *s, const char *name) {
  bool room = on != NULL && n_spans < MOST_SPANS &&
              nxi_grow(&spans, &cap_spans, n_spans + 1, sizeof *spans);
  if (!room) {
    missing++;
    return;
  }
  span *own = &spans[n_spans++];
  *own = *s;
  own->track = (uint32_t)(on - tracks);
  snprintf(own->name, sizeof own->name, "%s", name);
}

/* ---- what happens */

void nxi_trace_add(const char *category, const char *name, int64_t began_ns) {
  span s = {.category = category, .began = began_ns, .ended = nxi_now_ns()};
  nxi_mutex_lock(&mutex);
  if (nxi_trace_is_on()) add(track_of(nxi_thread_self()), &s, name);
  nxi_mutex_unlock(&mutex);
}

int64_t nxi_trace_step(const char *name) {
  nxi_mutex_lock(&mutex);
  track *own = nxi_trace_is_on() ? track_of(nxi_thread_self()) : NULL;
  if (own != NULL) snprintf(own->step, sizeof own->step, "%s", name);
  nxi_mutex_unlock(&mutex);
  return nxi_now_ns();
}

void nxi_trace_stepped(int64_t began_ns, int64_t bytes, int32_t threads) {
  span s = {.category = "step",
            .began = began_ns,
            .ended = nxi_now_ns(),
            .bytes = bytes,
            .threads = threads};
  nxi_mutex_lock(&mutex);
  track *own = nxi_trace_is_on() ? track_of(nxi_thread_self()) : NULL;
  if (own != NULL && own->step[0] != 0) { /* else the trace began within the step */
    add(own, &s, own->step);
    own->step[0] = 0;
  }
  nxi_mutex_unlock(&mutex);
}

void nxi_trace_share(uintptr_t caller, int32_t worker, int64_t began_ns) {
  span s = {.category = "share", .began = began_ns, .ended = nxi_now_ns()};
  char name[NAME];
  nxi_mutex_lock(&mutex);
  const track *of = nxi_trace_is_on() ? track_of(caller) : NULL;
  if (of != NULL) {
    snprintf(name, sizeof name, "%s", of->step[0] != 0 ? of->step : "work");
    track *own = track_of(nxi_thread_self());
    if (own != NULL) own->worker = worker;
    add(own, &s, name);
  }
  nxi_mutex_unlock(&mutex);
}

/* ---- the file */

static void put_string(nxi_text *out, const char *text) {
  nxi_text_put(out, "\"", 1);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') nxi_text_put(out, "\\", 1);
    if ((unsigned char)*text < ' ') nxi_text_add(out, "\\u%04x", *text);
    else nxi_text_put(out, text, 1);
  }
  nxi_text_put(out, "\"", 1);
}

/* Microseconds, of which a file counts in, without losing a nanosecond. */
static void put_time(nxi_text *out, const char *name, int64_t ns) {
  nxi_text_add(out, ", \"%s\": %" PRId64 ".%03d", name, ns / 1000, (int)(ns % 1000));
}

static void put_head(nxi_text *out, const char *name, uint32_t pid, uint32_t tid) {
  nxi_text_add(out, "\n  {\"ph\": \"M\", \"pid\": %u, \"tid\": %u, \"name\": \"%s_name\", ", pid,
               tid, name);
  nxi_text_add(out, "\"args\": {\"name\": ");
}

static void put_tracks(nxi_text *out, uint32_t pid) {
  put_head(out, "process", pid, 0);
  nxi_text_add(out, "\"nx\"}}");
  for (uint32_t i = 0, threads = 0; i < n_tracks; i++) {
    nxi_text_add(out, ",");
    put_head(out, "thread", pid, i + 1);
    if (tracks[i].worker > 0) nxi_text_add(out, "\"worker %d\"}}", (int)tracks[i].worker);
    else nxi_text_add(out, "\"thread %u\"}}", ++threads);
  }
}

/* Bytes in a nanosecond are GB/s. */
static double speed_of(const span *s) {
  return s->ended > s->began ? (double)s->bytes / (double)(s->ended - s->began) : 0;
}

static void put_args(nxi_text *out, const span *s) {
  double limit = nxi_trace_limit(s->bytes, s->threads), speed = speed_of(s);
  if (s->bytes <= 0) return;
  nxi_text_add(out, ", \"args\": {\"bytes\": %" PRId64 ", \"GB/s\": %.4g", s->bytes, speed);
  if (limit > 0)
    nxi_text_add(out, ", \"limit GB/s\": %.4g, \"of limit\": %.4g", limit, speed / limit);
  nxi_text_add(out, "}");
}

static void put_span(nxi_text *out, const span *s, uint32_t pid, int64_t origin) {
  nxi_text_add(out,
               ",\n  {\"ph\": \"X\", \"pid\": %u, \"tid\": %u, \"cat\": \"%s\", \"name\": ", pid,
               s->track + 1, s->category);
  put_string(out, s->name);
  put_time(out, "ts", s->began - origin);
  put_time(out, "dur", s->ended - s->began);
  put_args(out, s);
  nxi_text_add(out, "}");
}

static void put_trace(nxi_text *out) {
  const uint32_t pid = nxi_process_number();
  int64_t origin = INT64_MAX;
  for (uint32_t i = 0; i < n_spans; i++) origin = spans[i].began < origin ? spans[i].began : origin;
  nxi_text_add(out,
               "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"missing spans\": %" PRIu64
               "}, \"traceEvents\": [",
               missing);
  put_tracks(out, pid);
  for (uint32_t i = 0; i < n_spans; i++) put_span(out, &spans[i], pid, origin);
  nxi_text_add(out, "\n]}\n");
}

static nx_status write_trace(nxi_diag *d) {
  nxi_text text = {0};
  put_trace(&text);
  nx_status status = text.failed ? nxi_oom_in(d, nxi_oom(d), "trace")
                                 : nxi_file_write_text("trace", file, text.data, d);
  nxi_text_free(&text);
  return status;
}

void nxi_trace_each(void (*fn)(void *user, const nxi_trace_span *span), void *user) {
  nxi_mutex_lock(&mutex);
  for (uint32_t i = 0; i < n_spans; i++) {
    const span *s = &spans[i];
    fn(user, &(nxi_trace_span){s->category, s->name, s->began, s->ended, s->bytes,
                               nxi_trace_limit(s->bytes, s->threads)});
  }
  nxi_mutex_unlock(&mutex);
}

/* ---- beginning and end */

static void in_child(void *object) {
  (void)object;
  clear();
}

/* Whether the file can be written is found out before there is something to lose. */
static nx_status try_file(const char *path, nxi_diag *d) {
  nxi_file_writer w;
  nxi_diag nobody;
  nxi_diag_clear(&nobody);
  if (strlen(path) >= sizeof file)
    return nxi_fail(d, NX_IO, "trace", "the path of the trace is too long");
  nx_status status = nxi_file_write_begin(&w, "trace", path, d);
  if (status == NX_OK) nxi_file_write_end(&w, NX_INTERRUPTED, &nobody);
  return status;
}

nx_status nxi_trace_begin(const char *path, nxi_diag *d) {
  static nxi_fork_entry entry;
  nx_status status = path != NULL ? try_file(path, d) : NX_OK;
  if (status == NX_OK) status = nxi_fork_register_mutex(&entry, &mutex, in_child, NULL);
  if (status != NX_OK) return status;
  nxi_mutex_lock(&mutex);
  if (nxi_trace_is_on())
    status = nxi_fail(d, NX_INVALID_ARGUMENT, "trace", "a trace has begun already");
  else snprintf(file, sizeof file, "%s", path != NULL ? path : "");
  atomic_store(&nxi_tracing, true);
  nxi_mutex_unlock(&mutex);
  return status;
}

nx_status nxi_trace_end(nxi_diag *d) {
  nx_status status = NX_OK;
  nxi_mutex_lock(&mutex);
  if (!nxi_trace_is_on()) status = nxi_fail(d, NX_INVALID_ARGUMENT, "trace", "no trace has begun");
  else if (file[0] != 0) status = write_trace(d);
  clear();
  nxi_mutex_unlock(&mutex);
  return status;
}

nx_status nx_trace_begin(const char *path) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (path == NULL || *path == 0)
    nxi_fail(&d, NX_INVALID_ARGUMENT, "trace", "a trace wants a file");
  else nxi_trace_begin(path, &d);
  return d.status != NX_OK ? nxi_error_report(&d) : NX_OK;
}

nx_status nx_trace_end(void) {
  nxi_diag d;
  nxi_diag_clear(&d);
  return nxi_trace_end(&d) != NX_OK ? nxi_error_report(&d) : NX_OK;
}
