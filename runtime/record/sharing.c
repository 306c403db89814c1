/* SPDX-License-Identifier: ISC */
/* Memory that host code knows, because it lent it (imports) or was shown it (mappings); and the end
 * of a shared import.
 *
 * When sharing ends the storage keeps the host's memory, as its own: it may be written in place,
 * handed to another value, or left for other memory, and the release callback tells the host when
 * nothing needs it. That works where nobody else looks at these bytes. If another import or mapping
 * lies in the memory, or it is a file that would show what is written, the storage moves to memory
 * of the library and leaves the host's to the others. */
#include "error.h"
#include "objects.h"
#include "runtime/realize/residency.h"
#include "runtime/realize/run.h"
#include "shown.h"

/* ---- what host code knows */

/* Counts what host code knows, and writes only where it says so. */
static void count_unexposed(nx_context *c, nxi_buffer *b) {
  const bool given = atomic_load_explicit(&b->given, memory_order_relaxed);
  if (b->unexposed || !b->shown || !(b->allocator || b->announced || given)) return;
  b->unexposed = true;
  c->unexposed++;
}

void nxi_buffer_show(nx_context *c, nxi_buffer *b) {
  if (b->shown++) return;
  count_unexposed(c, b);
  nxi_shown_add(&c->shown, b);
}

void nxi_buffer_hide(nx_context *c, nxi_buffer *b) {
  if (--b->shown) return;
  if (b->unexposed) c->unexposed--;
  b->unexposed = false;
  nxi_shown_remove(&c->shown, b);
}

static bool is_none(nxi_buffer *other, nxi_buffer *b) {
  (void)other, (void)b;
  return false;
}

/* Whether host code knows memory that overlaps b's under another name. record_lock. */
static bool is_known_twice(const nx_context *c, nxi_buffer *b) {
  return !nxi_shown_overlapping(c->shown, b, is_none);
}

/* Writes show in it that nobody says by its own name. So an import whose writes are announced is a
 * shared one from here on: its operations run when they are recorded. */
static void cross(nxi_buffer *b) {
  nxi_storage *s = b->pinner;
  atomic_store_explicit(&b->crossed, true, memory_order_relaxed);
  if (!b->announced || !s) return;
  b->announced = false;
  s->write_pins++;
  atomic_fetch_add_explicit(&b->writers, 1, memory_order_relaxed);
  nxi_node_mark(s->value, NXI_NODE_EXPOSED);
}

static bool cross_both(nxi_buffer *other, nxi_buffer *b) {
  cross(other);
  cross(b);
  return true;
}

void nxi_buffer_cross(const nx_context *c, nxi_buffer *b) {
  nxi_shown_overlapping(c->shown, b, cross_both);
}

void nxi_storage_pin(nx_context *c, nxi_storage *s, nxi_buffer *b, bool write, bool both) {
  if (!s->pins++) {
    s->pinned = b;
    b->pinner = s;
    /* With both locks nobody else can take a reference of what has one. */
    if (both && atomic_load_explicit(&b->refs, memory_order_relaxed) == 1)
      atomic_store_explicit(&b->refs, 2, memory_order_relaxed);
    else nxi_buffer_ref(b);
    nxi_buffer_show(c, b);
  }
  s->write_pins += write;
  if (write) atomic_fetch_add_explicit(&s->pinned->writers, 1, memory_order_relaxed);
}

void nxi_storage_unpin(nx_context *c, nxi_storage *s, bool write) {
  nxi_buffer *b = s->pinned;
  if (write && --s->write_pins == 0) nxi_node_unmark(s->value, NXI_NODE_EXPOSED);
  if (write && b) atomic_fetch_sub_explicit(&b->writers, 1, memory_order_relaxed);
  if (--s->pins || !b) return;
  if (s->value->home == s) s->value->home = NULL;
  s->pinned = NULL;
  b->pinner = NULL;
  nxi_buffer_hide(c, b);
  nxi_buffer_unref(c, b);
}

/* ---- the end of sharing */

static void forget_foreign(nxi_node *n) {
  /* A bool's bytes are normal after a copy only, so that its values are copied as before. */
  if (n->dtype != NX_BOOL) nxi_node_unmark(n, NXI_NODE_FOREIGN);
}

/* The pin of the import goes; mappings keep theirs. Both locks. */
static void end_pin(nx_context *c, nxi_storage *s) {
  s->flags &= (uint8_t)~NXI_STORAGE_SHARED;
  if (!s->pinned->announced) nxi_buffer_host_written(s->pinned);
  nxi_storage_unpin(c, s, !s->pinned->announced);
}

/* The memory becomes the library's. Both locks. */
static void take_memory(nx_context *c, nxi_storage *s) {
  nxi_buffer *b = s->pinned;
  nxi_node *there = b->value;
  atomic_store_explicit(&b->given, true, memory_order_relaxed);
  if (there) forget_foreign(there);
  forget_foreign(s->value);
  end_pin(c, s);
  count_unexposed(c, b);
  if (there && !b->pinner) nxi_node_unmark(there, NXI_NODE_EXPOSED);
}

/* The storage gets a copy, if its value is still this one; both locks. *done: it has. */
static nx_status move_to(nx_context *c, nxi_storage *s, nxi_node *value, nxi_buffer *copy,
                         bool *done) {
  if (s->value != value || !(s->flags & NXI_STORAGE_SHARED)) {
    nxi_buffer_unref(c, copy);
    return NX_OK;
  }
  nxi_node *leaf = nxi_leaf_create(c, NXI_OP_LEAF, value->device, value->dtype, value->rank,
                                   nxi_node_shape(value), copy);
  if (!leaf) return NX_OUT_OF_MEMORY;
  end_pin(c, s);
  nxi_storage_set(c, s, leaf);
  *done = true;
  return NX_OK;
}

/* The present contents go to memory of the library. No lock. */
static nx_status leave_memory(nxi_action *a, nxi_storage *s, bool *done) {
  nx_context *c = a->context;
  nxi_node *value;
  nxi_buffer *from, *copy = NULL;
  nx_status status = nxi_borrow(a, s, &value, &from);
  if (status) return status;
  status = nxi_buffer_create(c, from->bytes, &copy, &a->diag);
  if (!status) status = nxi_action_bytes(a, copy->data, from->data, from->bytes, value->dtype);
  nxi_run_lock(c);
  nxi_record_lock(c);
  if (!status) status = move_to(c, s, value, copy, done);
  else if (copy) nxi_buffer_unref(c, copy);
  nxi_record_unlock(c);
  nxi_run_unlock(c);
  nxi_give_back(c, value, from);
  return status;
}

/* Ends it now, or says that the storage has to leave the memory first. Both locks. */
static nx_status look(nx_context *c, nxi_storage *s, bool *done, nxi_diag *d) {
  *done = !(s->flags & NXI_STORAGE_SHARED);
  if (*done) return NX_OK;
  bool twice = is_known_twice(c, s->pinned), leaves = twice || s->pinned->file;
  if (leaves && s->pins > 1)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "end_sharing",
                    "end_sharing: the tensor is mapped, and %s",
                    twice ? "another import lies in its memory"
                          : "its memory is a file that would show what is written there");
  if (leaves) return NX_OK;
  take_memory(c, s);
  *done = true;
  return NX_OK;
}

static nx_status end_sharing(nxi_action *a, nx_tensor *t) {
  nx_context *c = a->context;
  nx_status status = nxi_action_asked(a, &t, 1);
  for (bool done = false; !status && !done;) {
    nxi_run_lock(c);
    nxi_record_lock(c);
    nxi_drain(c, 1024); /* mappings and imports that are dead already */
    status = look(c, t->storage, &done, &a->diag);
    nxi_record_unlock(c);
    nxi_run_unlock(c);
    if (!status && !done) status = leave_memory(a, t->storage, &done);
  }
  return status;
}

nx_status nx_end_sharing(nx_tensor *t, const nx_run_options *o) {
  if (!nxi_have_tensor("end_sharing", 0, t)) return NX_INVALID_ARGUMENT;
  nxi_diag d;
  nxi_diag_clear(&d);
  if (t->storage->flags & NXI_STORAGE_READ_ONLY) {
    nxi_fail(&d, NX_NOT_WRITABLE, "end_sharing",
             "end_sharing: the storage is an immutable import, which is never written");
    return nxi_error_report(&d);
  }
  nxi_action a;
  nxi_action_begin(&a, t->context, o);
  nx_status status = end_sharing(&a, t);
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, "end_sharing"));
}
