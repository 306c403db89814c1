/* SPDX-License-Identifier: ISC */
/* The error slot and the tag of each thread.
 *
 * What an error says has memory of its own, made for a thread's first one: libraries with data for
 * quick threads share some 1,600 bytes of a process, of which two of these (the library, and the
 * plugin of PJRT with all of it inside) would take all. Where there is no memory for it, which
 * exhausted memory has to be reported without, the status and its sentence are left. */
#include "error.h"

#include "ir/platform/thread.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/exit.h"

typedef struct slot {
  uint64_t tag;
  int64_t index;
  int32_t operand, output;
  bool has_tag_text;
  char op[sizeof((nxi_diag *)0)->op], message[sizeof((nxi_diag *)0)->message], tag_text[256];
} slot;

static _Thread_local nx_status error_status; /* NX_OK: the slot is empty */
static _Thread_local slot *error_slot;       /* NULL: there was no error, or no memory */
static nxi_once slot_once = NXI_ONCE_INITIALIZER;
static nxi_thread_value slot_key; /* frees error_slot when its thread ends */
static bool have_slot_key;
/* initial-exec: every recorded operation reads them, and a call for their address in a shared
 * library takes longer than what is done with them. They take 16 of the bytes that systems keep for
 * the libraries of a process. */
#define QUICK __attribute__((tls_model("initial-exec")))
static _Thread_local nxi_tag *current QUICK;
static _Thread_local uint16_t called QUICK; /* composite_ops.c */
static nxi_once key_once = NXI_ONCE_INITIALIZER;
static nxi_thread_value tag_key; /* frees current when its thread ends */
static bool have_key;

static void free_slot(void *s) {
  error_slot = NULL; /* what ends after it may fail, too */
  free(s);
}
static void make_slot_key(void) {
  nxi_stay_loaded();
  have_slot_key = nxi_thread_value_create(&slot_key, free_slot);
}

/* This thread's, made if need be. Not by nxi_malloc: it stays as long as the thread does. */
static slot *slot_of_thread(void) {
  if (error_slot) return error_slot;
  nxi_once_run(&slot_once, make_slot_key);
  slot *s = have_slot_key ? calloc(1, sizeof *s) : NULL;
  if (s && !nxi_thread_value_set(&slot_key, s)) {
    free(s);
    s = NULL;
  }
  return error_slot = s;
}

/* As much of a text as there is room for. */
static void copy_text(char *to, size_t room, const char *from) {
  size_t n = strnlen(from, room - 1);
  memcpy(to, from, n);
  to[n] = 0;
}

nx_status nxi_error_report_tagged(const nxi_diag *d, uint64_t tag, const char *text,
                                  int32_t output) {
  if (d->status == NX_OK || error_status != NX_OK) return d->status;
  error_status = d->status;
  slot *s = slot_of_thread();
  if (!s) return d->status;
  s->tag = tag;
  s->index = d->index;
  s->operand = d->operand;
  s->output = output;
  s->has_tag_text = text != NULL;
  copy_text(s->op, sizeof s->op, d->op);
  copy_text(s->message, sizeof s->message,
            d->message[0] ? d->message : nx_status_sentence(d->status));
  copy_text(s->tag_text, sizeof s->tag_text, text ? text : "");
  return d->status;
}

nx_status nxi_error_report(const nxi_diag *d) {
  nxi_diag own;
  if (nxi_called() && d->status != NX_OK) {
    own = *d;
    nxi_called_diag(&own, nxi_called());
    d = &own;
  }
  return nxi_error_report_tagged(d, nxi_tag_number(current), nxi_tag_text(current), -1);
}

void *nxi_error_null(const char *op, int32_t operand) {
  if (error_status == NX_OK) {
    nxi_diag d;
    nxi_diag_clear(&d);
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: operand %d is null", op, operand);
    d.operand = operand;
    nxi_error_report(&d);
  }
  return NULL;
}

static size_t size_of(const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size;
}

nx_status nxi_size_check(const void *given, const char *type, const char *op, nxi_diag *d) {
  size_t size = size_of(given);
  if (size >= sizeof size) return NX_OK;
  return nxi_fail(d, NX_INVALID_ARGUMENT, op,
                  "%s%sthe size of the %s that was given is %zu: set .size = sizeof(%s)", op,
                  *op ? ": " : "", type, size, type);
}

nx_status nxi_take(void *to, const void *given, size_t known, const char *type, const char *op,
                   nxi_diag *d) {
  if (!given) return NX_OK;
  nx_status status = nxi_size_check(given, type, op, d);
  if (!status) memcpy(to, given, size_of(given) < known ? size_of(given) : known);
  return status;
}

static void fill(void *out, size_t size, const void *from, size_t known) {
  size_t own = sizeof size;
  if (size > own)
    memcpy((char *)out + own, (const char *)from + own, (size < known ? size : known) - own);
}

nx_status nxi_fill(void *out, const void *from, size_t known, const char *type, const char *op) {
  nxi_diag d;
  if (!out) return NX_OK;
  nxi_diag_clear(&d);
  if (nxi_size_check(out, type, op, &d)) return nxi_error_report(&d);
  fill(out, size_of(out), from, known);
  return NX_OK;
}

nx_status nxi_error_status(void) { return error_status; }

/* Of nx_error in its first version: a size of 0 is taken as that, so that an error is not lost to
 * its own report. */
enum { FIRST_SIZE = offsetof(nx_error, output) + sizeof(int32_t) };

nx_status nx_error_take(nx_error *out) {
  const slot *s = error_slot;
  nx_status status = error_status;
  nx_error e = {.size = sizeof e};
  if (status != NX_OK && !s)
    e = (nx_error){sizeof e, status, "", nx_status_sentence(status), NULL, 0, -1, -1, -1};
  else if (status != NX_OK)
    e = (nx_error){sizeof e, status,   s->op,      s->message, s->has_tag_text ? s->tag_text : NULL,
                   s->tag,   s->index, s->operand, s->output};
  size_t size = out ? size_of(out) : 0;
  if (size == sizeof e) *out = e; /* in a few stores */
  else if (out) fill(out, size ? size : FIRST_SIZE, &e, sizeof e);
  error_status = NX_OK;
  return status;
}

void nxi_tag_give_up(nxi_tag *t) {
  if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) nxi_free(t);
}

nxi_tag *nxi_tag_current(void) { return nxi_tag_retain(current); }

void nxi_node_sign(nxi_node *n) {
  n->tag = nxi_tag_current();
  if (!n->called) n->called = called;
}

/* A tag of these, with one reference; NULL: no memory. */
static nxi_tag *new_tag(uint64_t number, const char *text, const char *reason) {
  size_t bytes = text ? strlen(text) + 1 : 1, more = reason ? strlen(reason) + 1 : 0;
  nxi_tag *t = nxi_malloc(sizeof *t + bytes + more);
  if (!t) return NULL;
  atomic_init(&t->refs, 1);
  t->number = number;
  t->has_text = text != NULL;
  memcpy(t->text, text ? text : "", bytes);
  t->reason = reason ? memcpy(t->text + bytes, reason, more) : NULL;
  return t;
}

void nxi_node_fail(nxi_node *n, nx_status failure, const char *reason) {
  const nxi_tag *t = n->tag;
  n->state = NXI_FAILED;
  n->failure = (uint8_t)failure;
  if (!reason || !reason[0]) return;
  nxi_tag *made = new_tag(nxi_tag_number(t), nxi_tag_text(t), reason);
  if (!made) return;
  nxi_tag_release(n->tag);
  n->tag = made;
}

const char *nxi_node_reason(const nxi_node *n) {
  const char *reason = n->tag && !nxi_tag_is_plain(n->tag) ? n->tag->reason : NULL;
  return reason ? reason : nx_status_sentence((nx_status)n->failure);
}

uint16_t nxi_called(void) { return called; }

uint16_t nxi_called_begin(uint32_t op) {
  uint16_t outer = called;
  if (!outer) called = (uint16_t)op;
  return outer;
}

void nxi_called_end(uint16_t outer) { called = outer; }

uint16_t nxi_called_pause(void) {
  uint16_t outer = called;
  called = 0;
  return outer;
}

static void release_at_exit(void *tag) { nxi_tag_release(tag); }
static void make_key(void) {
  nxi_stay_loaded();
  have_key = nxi_thread_value_create(&tag_key, release_at_exit);
}

/* The thread's tag is t from now on, which it takes a reference of. */
static void set_current(nxi_tag *t) {
  bool had_memory = current && !nxi_tag_is_plain(current);
  if (had_memory) nxi_thread_value_set(&tag_key, NULL);
  nxi_tag_release(current);
  current = t;
}

/* Without memory there is no tag: it is a hint. A number of 63 bits needs none. */
void nx_tag_set(uint64_t tag, const char *text) {
  if (!text && tag <= UINTPTR_MAX >> 1) {
    set_current(tag ? (nxi_tag *)((uintptr_t)tag << 1 | 1) : NULL);
    return;
  }
  nxi_once_run(&key_once, make_key);
  if (!have_key) return;
  nxi_tag *t = new_tag(tag, text, NULL);
  set_current(NULL);
  if (t && !nxi_thread_value_set(&tag_key, t)) nxi_tag_release(t);
  else current = t;
}
