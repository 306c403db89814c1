/* SPDX-License-Identifier: ISC */
/* Handles under NX_DEBUG=handles: see watch.h. One table for the process, by address. Its lock is
 * taken under any other and takes none; nothing is called under it. A note lies before its handle
 * in one allocation, so that noting a handle cannot fail. */
#include "watch.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "context.h"
#include "error.h"
#include "ir/platform/fork.h"
#include "ir/platform/thread.h"

enum { MOST_KEPT = 1 << 18, FIRST_BUCKETS = 256, POISON = 0xdb, MOST_LISTED = 100 };

typedef enum state { NEW, LIVE, RELEASED, KEPT } state;

typedef struct note {
  _Alignas(max_align_t) struct note *chain; /* in its bucket */
  struct note *older, *newer;               /* among the noted; of those kept: by age of release */
  const nx_context *context;
  nxi_tag *made, *dropped; /* tags of the threads; or NULL */
  size_t bytes;
  uint64_t number;
  nxi_kind kind;
  uint32_t users; /* of a context: references of callers */
  state state;
  bool by_scope;
  char what[120];
} note;

typedef struct list {
  note *oldest, *newest;
} list;

_Atomic bool nxi_watching;
static nxi_mutex lock = NXI_MUTEX_INITIALIZER;
static note *first_buckets[FIRST_BUCKETS], **buckets = first_buckets;
static uint32_t n_buckets = FIRST_BUCKETS, noted, kept_notes;
static uint64_t last_number;
static list all, kept; /* live or released; their memory is given up */
static bool complete;  /* every handle there is was noted */

void nxi_watch_set(bool on, bool from_start) {
  nxi_mutex_lock(&lock);
  complete = on && (from_start || (complete && nxi_watch_on()));
  atomic_store(&nxi_watching, on);
  nxi_mutex_unlock(&lock);
}

/* ---- fork */

nx_status nxi_watch_prepare(void) {
  static nxi_fork_entry entry;
  return nxi_fork_register_mutex(&entry, &lock, NULL, NULL);
}

/* ---- the table; under the lock */

static note *note_of(const void *handle) {
  return (note *)(void *)((char *)handle - sizeof(note)); /* NOLINT: the note is not const */
}
static const void *handle_of(const note *n) { return n + 1; }

static note **bucket_of(const void *handle) {
  uint64_t h = (uint64_t)(uintptr_t)handle * UINT64_C(0x9e3779b97f4a7c15);
  return &buckets[(h >> 32) & (n_buckets - 1)];
}

/* Looked up by address alone: nothing is read of a handle that is not in the table. */
static note *find(const void *handle) {
  for (note *n = *bucket_of(handle); n; n = n->chain)
    if (handle_of(n) == handle) return n;
  return NULL;
}

/* Twice as many buckets; without memory the chains grow longer. */
static void widen(void) {
  note **old = buckets, **wide = nxi_calloc((size_t)n_buckets * 2, sizeof *wide);
  uint32_t n_old = n_buckets;
  if (!wide) return;
  buckets = wide;
  n_buckets *= 2;
  for (uint32_t i = 0; i < n_old; i++)
    for (note *n = old[i], *next; n; n = next) {
      note **at = bucket_of(handle_of(n));
      next = n->chain;
      n->chain = *at;
      *at = n;
    }
  if (old != first_buckets) nxi_free(old);
}

static void append(list *l, note *n) {
  n->older = l->newest;
  n->newer = NULL;
  if (l->newest) l->newest->newer = n;
  else l->oldest = n;
  l->newest = n;
}

static void take_out(list *l, note *n) {
  if (n->older) n->older->newer = n->newer;
  else l->oldest = n->newer;
  if (n->newer) n->newer->older = n->older;
  else l->newest = n->older;
}

static void drop(note *n) {
  note **at = bucket_of(handle_of(n));
  while (*at != n) at = &(*at)->chain;
  *at = n->chain;
  noted--;
  nxi_tag_release(n->made);
  nxi_tag_release(n->dropped);
  nxi_free(n);
}

/* ---- the life of a handle */

void *nxi_handle_alloc(size_t bytes, bool *watched) {
  *watched = nxi_watch_on();
  if (!*watched) return nxi_calloc(1, bytes);
  note *n = nxi_calloc(1, sizeof *n + bytes);
  if (!n) return NULL;
  n->bytes = bytes;
  return n + 1;
}

void nxi_watch_made(const void *handle, nxi_kind kind, const nx_context *c, const char *format,
                    ...) {
  note *n = note_of(handle);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(n->what, sizeof n->what, format, arguments);
  va_end(arguments);
  n->kind = kind;
  n->context = c;
  n->users = kind == NXI_CONTEXT;
  n->state = LIVE;
  n->made = nxi_tag_current();
  nxi_mutex_lock(&lock);
  if (noted >= n_buckets) widen();
  note **at = bucket_of(handle);
  n->chain = *at;
  *at = n;
  n->number = ++last_number;
  noted++;
  append(&all, n);
  nxi_mutex_unlock(&lock);
}

void nxi_watch_released(const void *handle, bool by_scope) {
  nxi_mutex_lock(&lock);
  note *n = find(handle);
  if (n && n->state == LIVE) {
    n->state = RELEASED;
    n->by_scope = by_scope;
    n->dropped = nxi_tag_current();
  }
  nxi_mutex_unlock(&lock);
}

void nxi_handle_free(void *handle, bool watched) {
  if (!handle || !watched) {
    nxi_free(handle);
    return;
  }
  note *n = note_of(handle);
  if (n->state == NEW) { /* never handed out */
    nxi_free(n);
    return;
  }
  memset(handle, POISON, n->bytes);
  nxi_mutex_lock(&lock);
  n->state = KEPT;
  take_out(&all, n);
  append(&kept, n);
  note *oldest = ++kept_notes > MOST_KEPT ? kept.oldest : NULL;
  if (oldest) {
    take_out(&kept, oldest);
    kept_notes--;
    drop(oldest);
  }
  nxi_mutex_unlock(&lock);
}

/* ---- what is said of handles */

static const char *kind_name(nxi_kind kind) {
  switch (kind) {
    case NXI_TENSOR: return "tensor";
    case NXI_MAPPING: return "mapping";
    case NXI_FUNCTION: return "function";
    case NXI_CONTEXT: return "context";
    case NXI_SCOPE: return "scope";
    case NXI_ARCHIVE: return "archive";
    case NXI_CUSTOM: return "custom operation";
    case NXI_EVENT: return "event";
    case NXI_GROUP: return "member of a group";
  }
  return "handle";
}

/* ", made under tag 12 "line 12"" */
static void add_tag(char *out, size_t size, const char *verb, const nxi_tag *t) {
  size_t used = strlen(out);
  const char *text = nxi_tag_text(t);
  if (!t) return;
  snprintf(out + used, size - used, ", %s under tag %llu%s%.60s%s", verb,
           (unsigned long long)nxi_tag_number(t), text ? " \"" : "", text ? text : "",
           text ? "\"" : "");
}

/* "tensor 17, mul f32[2,3], made under tag 12" */
static void describe(char *out, size_t size, const note *n) {
  snprintf(out, size, "%s %llu%s%s", kind_name(n->kind), (unsigned long long)n->number,
           n->what[0] ? ", " : "", n->what);
  add_tag(out, size, "made", n->made);
  if (n->state != LIVE) add_tag(out, size, "released", n->dropped);
}

bool nxi_watch_live(const void *handle, nxi_kind kind) {
  nxi_mutex_lock(&lock);
  const note *n = find(handle);
  bool live = n ? n->kind == kind && n->state == LIVE : !complete, unknown = !n && live;
  nxi_mutex_unlock(&lock);
  if (!unknown || kind > NXI_FUNCTION) return live;
  const nxi_head *h = handle; /* made before the mode was asked for */
  return h->kind == kind && atomic_load_explicit(&h->refs, memory_order_relaxed);
}

void nxi_handle_fault(const char *op, int32_t operand, const void *handle, nxi_kind kind,
                      nxi_diag *d) {
  char text[320];
  const char *wanted = kind_name(kind);
  if (!handle) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: operand %d is null", op, operand);
  } else if (!nxi_watch_on()) {
    nxi_fail(d, NX_INVALID_ARGUMENT, op,
             "%s: operand %d is no live %s: it was released, or never was one (NX_DEBUG=handles "
             "says which)",
             op, operand, wanted);
  } else {
    nxi_mutex_lock(&lock);
    const note *n = find(handle);
    if (n) describe(text, sizeof text, n);
    if (!n)
      nxi_fail(d, NX_INVALID_ARGUMENT, op,
               "%s: operand %d is no %s of this process, or was released long ago", op, operand,
               wanted);
    else if (n->state == LIVE)
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: operand %d is no %s but %s", op, operand, wanted,
               text);
    else
      nxi_fail(d, NX_INVALID_ARGUMENT, op, "%s: operand %d was released%s: %s", op, operand,
               n->by_scope ? " with its scope (nx_keep takes a handle out of it)" : "", text);
    nxi_mutex_unlock(&lock);
    fprintf(stderr, "nx: %s\n", d->message);
  }
  d->operand = operand;
}

bool nxi_handle_bad(const char *op, int32_t operand, const void *handle, nxi_kind kind) {
  nxi_diag d;
  if (!handle) return nxi_error_null(op, operand) != NULL;
  nxi_diag_clear(&d);
  nxi_handle_fault(op, operand, handle, kind, &d);
  nxi_error_report(&d);
  return false;
}

/* ---- the references that callers have of a context */

void nxi_watch_retain(const nx_context *c) {
  nxi_mutex_lock(&lock);
  note *n = find(c);
  if (n) n->users++;
  nxi_mutex_unlock(&lock);
}

static void list_live(const nx_context *c) {
  uint32_t live = 0;
  for (const note *n = all.oldest; n; n = n->newer)
    live += n->state == LIVE && n->context == c && n->kind != NXI_CONTEXT;
  if (live == 0) return;
  fprintf(stderr, "nx: the last reference of a context is given up while %u of its handles live:\n",
          live);
  uint32_t listed = 0;
  for (const note *n = all.oldest; n && listed < MOST_LISTED; n = n->newer) {
    char text[320];
    if (n->state != LIVE || n->context != c || n->kind == NXI_CONTEXT) continue;
    describe(text, sizeof text, n);
    fprintf(stderr, "nx:   %s\n", text);
    listed++;
  }
  if (listed < live) fprintf(stderr, "nx:   and %u more\n", live - listed);
}

bool nxi_watch_give_up(const nx_context *c) {
  nxi_mutex_lock(&lock);
  note *n = find(c);
  bool good = !n || n->users;
  if (n && good && --n->users == 0) list_live(c);
  nxi_mutex_unlock(&lock);
  if (good) return true;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "release",
           "release: the caller has no reference of this context left: it has released it before");
  fprintf(stderr, "nx: %s\n", d.message);
  nxi_error_report(&d);
  return false;
}
