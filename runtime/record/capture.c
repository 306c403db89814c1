/* SPDX-License-Identifier: ISC */
/* Sessions in which a function is captured: which tensors that existed before were read or
 * assigned. */
#include "capture.h"

#include <string.h>

#include "objects.h"
#include "ir/platform/lock.h"
#include "record.h"

static nxi_session *session_of_thread(nx_context *c) {
  if (!c->sessions) return NULL;
  uint64_t self = nxi_thread_own_number();
  for (nxi_session *s = c->sessions; s; s = s->next)
    if (s->thread == self) return s;
  return NULL;
}

nxi_session *nxi_capture_session(nx_context *c) {
  NXI_HELD(&c->record_lock);
  return session_of_thread(c);
}

void nxi_captured_drop(nx_context *c, nxi_captured_assign *a) {
  NXI_HELD(&c->record_lock);
  nxi_node_unref(c, a->value);
  if (a->before) nxi_node_unref(c, a->before);
  if (a->held) nxi_storage_unref(c, a->storage);
}

/* Nobody records into it any more. */
static void session_end(nx_context *c, nxi_session *session) {
  nxi_session **at = &c->sessions;
  while (*at != session) at = &(*at)->next;
  *at = session->next;
  atomic_fetch_sub_explicit(&c->capturing, 1, memory_order_relaxed);
  for (uint32_t i = 0; i < session->cells.n; i++) {
    nxi_storage *cell = session->cells.items[i];
    if (cell->session != session) nxi_storage_unref(c, cell);
  }
  for (uint32_t i = 0; i < session->n_assigns; i++)
    nxi_captured_drop(c, &session->assigns[i]); /* no function was made */
  session->cells.n = session->n_assigns = 0;
  session->ended = true;
}

static void session_free(nx_context *c, nxi_session *session) {
  if (!session->ended) session_end(c, session);
  nxi_free(session->cells.items);
  nxi_free(session->open);
  nxi_free(session->assigns);
  nxi_free(session);
}

bool nx_capturing(const nx_context *context) {
  nx_context *c = (nx_context *)context;
  if (!c || !nxi_have_context("capturing", 0, c)) return false;
  if (!atomic_load_explicit(&c->capturing, memory_order_relaxed)) return false;
  nxi_record_lock(c);
  bool capturing = session_of_thread(c) != NULL;
  nxi_record_unlock(c);
  return capturing;
}

void nx_capture_end(nx_context *c) {
  if (!c || !nxi_have_context("capture_end", 0, c)) return;
  nxi_record_lock(c);
  nxi_session *session = session_of_thread(c);
  if (session) session_end(c, session);
  nxi_record_unlock(c);
}

bool nxi_capture_placeholder(nx_context *c, nxi_storage *s) {
  NXI_HELD(&c->record_lock);
  nxi_session *session = session_of_thread(c);
  if (!session) {
    session = nxi_calloc(1, sizeof *session);
    if (!session) return false;
    session->thread = nxi_thread_own_number();
    session->start = s->id;
    session->next = c->sessions;
    c->sessions = session;
    atomic_fetch_add_explicit(&c->capturing, 1, memory_order_relaxed);
  }
  if (!nxi_grow(&session->open, &session->cap_open, session->n_open + 1, sizeof *session->open)) {
    if (session->n_open == 0) session_free(c, session);
    return false;
  }
  session->open[session->n_open++] = s->id;
  s->session = session;
  return true;
}

/* A placeholder that was assigned or read is in the session without a reference: it goes. */
static void drop(nx_context *c, nxi_session *session, const nxi_storage *s) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < session->n_assigns; i++)
    if (session->assigns[i].storage == s) nxi_captured_drop(c, &session->assigns[i]);
    else session->assigns[left++] = session->assigns[i];
  session->n_assigns = left;
  left = 0;
  for (uint32_t i = 0; i < session->cells.n; i++)
    if (session->cells.items[i] != s) session->cells.items[left++] = session->cells.items[i];
  session->cells.n = left;
}

void nxi_capture_forget(nx_context *c, nxi_storage *s) {
  NXI_HELD(&c->record_lock);
  nxi_session *session = s->session;
  if (!session) return;
  drop(c, session, s);
  s->session = NULL;
  uint32_t i = session->n_open;
  while (session->open[i - 1] != s->id) i--;
  memmove(session->open + i - 1, session->open + i, (session->n_open - i) * sizeof *session->open);
  if (--session->n_open == 0) session_free(c, session);
}

nxi_storage *nxi_capture_cell(const nxi_session *session, uint64_t id) {
  for (uint32_t i = 0; i < session->cells.n; i++) {
    nxi_storage *s = session->cells.items[i];
    if (s->id == id) return s;
  }
  return NULL;
}

/* The last one. */
static nxi_captured_assign *find_assign(const nxi_session *session, const nxi_storage *s) {
  if (!(s->flags & NXI_STORAGE_ASSIGNED)) return NULL;
  for (uint32_t i = session->n_assigns; i-- > 0;)
    if (session->assigns[i].storage == s) return &session->assigns[i];
  return NULL;
}

bool nxi_capture_assigned(const nxi_session *session, const nxi_storage *s, uint64_t since) {
  const nxi_captured_assign *a = find_assign(session, s);
  return a && a->id > since;
}

uint64_t nxi_capture_newest(const nxi_session *session) {
  return session->n_open ? session->open[session->n_open - 1] : 0;
}

/* Whether every function that the thread may still make has this value: none begins after it. A
 * placeholder as it is belongs to one function alone. */
static bool is_settled(const nxi_session *session, const nxi_storage *s,
                       const nxi_captured_assign *a) {
  uint64_t newest = nxi_capture_newest(session);
  if (a) return a->id > newest;
  return s->id > newest || (s->id >= session->start && s->flags & NXI_STORAGE_PLACEHOLDER);
}

nxi_node *nxi_capture_read(nx_context *c, nxi_storage *s, nxi_node *value) {
  NXI_HELD(&c->record_lock);
  nxi_session *session = session_of_thread(c);
  if (!session) return value;
  const nxi_captured_assign *a = find_assign(session, s);
  if (a && !a->before) { /* else the storage itself has moved on */
    nxi_node_unref(c, value);
    value = a->value;
    value->refs++;
  }
  if (is_settled(session, s, a)) return value;
  if (!nxi_capture_cell(session, s->id)) {
    if (!nxi_list_add(&session->cells, s)) {
      nxi_node_unref(c, value);
      return NULL;
    }
    if (s->session != session) s->refs++;
  }
  int64_t ids[2] = {(int64_t)s->id, a ? (int64_t)a->id : 0};
  nxi_recording r = {.context = c,
                     .op = NXI_OP_CELL,
                     .dtype = value->dtype,
                     .device = value->device,
                     .rank = value->rank,
                     .shape = nxi_node_shape(value),
                     .attrs = ids,
                     .n_attrs = 2};
  return nxi_record_unary(&r, value);
}

/* Notes it: reads find it, and the function that it becomes a part of. */
static bool note(nx_context *c, nxi_session *session, nxi_storage *s, nxi_node *value,
                 nxi_node *before) {
  nxi_captured_assign *a = find_assign(session, s);
  if (a && a->id > nxi_capture_newest(session)) {
    nxi_node_unref(c, a->value);
    a->value = value;
    return true;
  }
  if (!nxi_grow(&session->assigns, &session->cap_assigns, session->n_assigns + 1,
                sizeof *session->assigns))
    return false;
  bool held = s->session != session; /* its own placeholders leave it when they die */
  session->assigns[session->n_assigns++] =
      (nxi_captured_assign){s, held, value, before, ++c->next_id};
  if (held) s->refs++;
  if (before) before->refs++;
  s->flags |= NXI_STORAGE_ASSIGNED;
  return true;
}

bool nxi_capture_assign(nx_context *c, nxi_storage *s, nxi_node *value, bool *captured) {
  NXI_HELD(&c->record_lock);
  nxi_session *session = session_of_thread(c);
  bool placeholder = (s->flags & NXI_STORAGE_PLACEHOLDER) != 0;
  *captured = session && (s->id < session->start || placeholder);
  if (*captured) return note(c, session, s, value, NULL);
  bool settled = !session || s->id > nxi_capture_newest(session) || s->pins;
  if (settled && !(session && find_assign(session, s))) return true;
  value->refs++;
  if (note(c, session, s, value, s->value)) return true;
  value->refs--;
  return false;
}

void nxi_capture_take_back(nx_context *c, const nxi_captured_assign *a) {
  NXI_HELD(&c->record_lock);
  if (!a->before || a->storage->value != a->value) return;
  a->before->refs++;
  nxi_storage_set(c, a->storage, a->before);
}
