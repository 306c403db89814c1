/* SPDX-License-Identifier: ISC */
/* Mappings: host pointers into storages. A pinned storage keeps its memory: values that are
 * assigned to it later are computed into that memory, and operations that still need the old
 * contents get a copy (acquire.c). A piece of memory belongs to at most one pinned storage; a
 * storage that shares its value with another pinned one gets a copy when it is mapped. */
#include "ir/platform/thread.h"
#include "residency.h"
#include "run.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"

/* ---- giving a storage memory of its own */

typedef struct situation {
  bool retry; /* the value has changed or is being computed */
  bool wait;  /* kernels read the memory */
  bool copy;  /* the memory is shared with a value that must not change */
  bool stay;  /* host code knows the address already: the other values are moved */
} situation;

/* Both locks; `value` is the realised value, of which the caller holds a reference. */
static situation look(const nxi_storage *s, const nxi_node *value, uint32_t access) {
  situation is = {0};
  nxi_buffer *b = value->buffer;
  if (s->value != value || value->state != NXI_REALIZED || b->writing)
    return (situation){.retry = true};
  bool write = access & NX_MAP_WRITE, shared = value->refs > 2;
  bool another_pins = b->pinner && b->pinner != s;
  bool fixed = b->immutable &&
               !(s->flags & NXI_STORAGE_READ_ONLY); /* a file: memory that cannot be written */
  is.copy = another_pins || fixed || (write && shared);
  is.stay = is.copy && s->pins && !b->immutable;
  is.wait = write && (!is.copy || is.stay) && b->reading;
  return is;
}

/* Gives the storage a leaf of its own, either with a copy of the memory, or with the memory itself
 * while the old value gets the copy. Both locks; takes the copy's reference. */
static nx_status separate(nx_context *c, nxi_storage *s, nxi_node *value, nxi_buffer *copy,
                          bool stay) {
  nxi_buffer *own = stay ? value->buffer : copy;
  if (stay) nxi_buffer_ref(own);
  nxi_node *leaf = nxi_leaf_create(c, NXI_OP_LEAF, value->device, value->dtype, value->rank,
                                   nxi_node_shape(value), own);
  if (!leaf) {
    if (stay) {
      own->value = value;
      nxi_buffer_unref(c, copy);
    }
    return NX_OUT_OF_MEMORY;
  }
  if (stay) {
    nxi_pinned_out(c, value);
    nxi_buffer_unref(c, own);
    value->buffer = copy;
    copy->value = value;
    nxi_pinned_in(c, value);
    uint8_t kept = NXI_NODE_FOREIGN | NXI_NODE_EXPOSED;
    uint8_t flags = atomic_load_explicit(&value->flags, memory_order_relaxed);
    atomic_store_explicit(&leaf->flags, flags & kept, memory_order_relaxed);
    nxi_node_unmark(value, kept);
  }
  nxi_storage_set(c, s, leaf);
  return NX_OK;
}

/* Makes a copy outside the locks, then checks again whether it is still needed. Both locks, which
 * are released meanwhile. */
static nx_status copy_out(nxi_action *a, nxi_storage *s, nxi_node *value, uint32_t access) {
  nx_context *c = a->context;
  nxi_buffer *from = value->buffer, *copy = NULL;
  from->reading++;
  nxi_buffer_ref(from);
  nxi_record_unlock(c);
  nxi_run_unlock(c);
  nx_status status = nxi_buffer_create(c, from->bytes, &copy, &a->diag);
  if (!status) status = nxi_action_bytes(a, copy->data, from->data, from->bytes, value->dtype);
  nxi_run_lock(c);
  nxi_record_lock(c);
  from->reading--;
  nxi_condition_wake_all(&c->changed);
  if (!status) {
    situation is = look(s, value, access);
    bool good = !is.retry && !is.wait && is.copy && value->buffer == from;
    if (good) status = separate(c, s, value, copy, is.stay);
    else nxi_buffer_unref(c, copy);
  } else if (copy) {
    nxi_buffer_unref(c, copy);
  }
  nxi_buffer_unref(c, from);
  return status;
}

/* A handle that maps nothing yet, and holds the context; NULL without memory. record_lock */
static nx_mapping *mapping_begin(nx_context *c, nxi_storage *s, uint32_t access) {
  bool watched = nxi_watch_on();
  nx_mapping *m = watched ? nxi_handle_alloc(sizeof *m, &watched) : nxi_block_take(c, sizeof *m);
  if (!m) return NULL;
  *m = (nx_mapping){.head = {.kind = NXI_MAPPING}, .context = c, .storage = s, .access = access};
  atomic_init(&m->head.refs, 1);
  m->watched = watched;
  if (c->live_mappings++ == 0) nxi_context_ref(c); /* all have one */
  return m;
}

/* Frees the handle, and nothing of what it holds. record_lock */
static void mapping_end(nx_context *c, nx_mapping *m) {
  if (m->watched) nxi_handle_free(m, true);
  else nxi_block_give(c, m, sizeof *m);
}

/* Makes the mapping, which holds the storage. Both locks. */
static void pin(nx_context *c, nxi_storage *s, nxi_node *value, nx_mapping *m) {
  nxi_buffer *b = value->buffer;
  bool write = m->access & NX_MAP_WRITE;
  s->refs++;
  m->buffer = b; /* which a storage that is pinned holds */
  m->pins = !(s->flags & NXI_STORAGE_READ_ONLY);
  if (!m->pins) {
    nxi_buffer_ref(b);
    return;
  }
  nxi_storage_pin(c, s, b, write, true);
  if (!write) return;
  if (value->op == NXG_full) value->op = NXI_OP_LEAF; /* not a constant any more */
  nxi_node_mark(value, NXI_NODE_EXPOSED);
}

/* One round with the realised value; *done when the mapping is made. No lock. */
static nx_status map_value(nxi_action *a, nxi_storage *s, nxi_node *value, nx_mapping *m,
                           bool *done) {
  nx_context *c = a->context;
  nx_status status = NX_OK;
  nxi_run_lock(c);
  nxi_record_lock(c);
  nxi_deferred_settle(c);
  nxi_drain(c, 1024); /* dead nodes must not count as readers */
  situation is = look(s, value, m->access);
  bool wait = is.wait || is.retry, changed = s->value != value;
  if (!wait && is.copy && !(s->flags & NXI_STORAGE_READ_ONLY)) {
    status = copy_out(a, s, value, m->access);
  } else if (!wait) {
    pin(c, s, value, m);
    *done = true;
  }
  nxi_record_unlock(c);
  if (wait && !changed) status = nxi_wait_change(c, a->options, &a->diag);
  nxi_run_unlock(c);
  return status;
}

/* Makes it if the value is realised, or is quickly, and nothing has to be waited for or moved. No
 * lock. NULL: it is not so. */
static nx_mapping *map_now(nx_context *c, nxi_storage *s, uint32_t access, bool may_wait) {
  if (nxi_watch_on() || !nxi_brief_lock(c, s, true, may_wait)) return NULL;
  if (c->deferred_used) nxi_deferred_settle(c);
  nxi_drain_some(c, 1024); /* dead nodes must not count as readers */
  nxi_node *value = s->value;
  value->refs++; /* as `look` expects */
  situation is = look(s, value, access);
  nx_mapping *m = NULL;
  if (!is.retry && !is.wait && !is.copy && !value->buffer->device) m = mapping_begin(c, s, access);
  if (m) pin(c, s, value, m);
  nxi_node_unref(c, value);
  nxi_brief_unlock(c, NXI_BRIEF_BOTH);
  return m;
}

/* Allocates memory for a mapping of an empty tensor, with undefined contents. */
static nx_status fill_empty(nxi_action *a, nxi_storage *s) {
  nx_context *c = a->context;
  nxi_buffer *b;
  nx_status status = nxi_buffer_create(c, nxi_dtype_bytes(s->dtype, s->elements), &b, &a->diag);
  if (status) return status;
  nxi_record_lock(c);
  if (s->value->op == NXI_OP_EMPTY && s->value->state == NXI_PENDING) {
    nxi_node *leaf = nxi_leaf_create(c, NXI_OP_LEAF, s->device, s->dtype, s->value->rank,
                                     nxi_node_shape(s->value), b);
    if (leaf) nxi_storage_set(c, s, leaf);
    else status = nxi_oom(&a->diag);
  } else {
    nxi_buffer_unref(c, b);
  }
  nxi_record_unlock(c);
  return status;
}

/* Brings the value into host memory, for a mapping. */
static nx_status bring_to_host(nxi_action *a, nxi_node *value) {
  nx_context *c = a->context;
  nxi_run_lock(c);
  nxi_buffer *b = value->state == NXI_REALIZED ? value->buffer : NULL;
  if (b) nxi_buffer_ref(b);
  nxi_run_unlock(c);
  if (!b) return NX_OK; /* it has changed; the caller tries again */
  nx_status status = nxi_buffer_to_host(c, b, NULL, &a->diag);
  nxi_record_lock(c);
  nxi_buffer_unref(c, b);
  nxi_record_unlock(c);
  return status;
}

static nx_status map_in_turns(nxi_action *a, nx_tensor *t, nx_mapping *m) {
  nx_context *c = a->context;
  nxi_storage *s = t->storage;
  nx_status status = NX_OK;
  nxi_record_lock(c);
  bool empty = s->value->op == NXI_OP_EMPTY && s->value->state == NXI_PENDING;
  nxi_record_unlock(c);
  if (empty) status = fill_empty(a, s);
  for (bool done = false; !status && !done;) {
    nxi_node *value;
    status = nxi_realize_storage(a, s, &value);
    if (status) break;
    status = bring_to_host(a, value);
    if (!status) status = map_value(a, s, value, m, &done);
    nxi_record_lock(c);
    nxi_node_unref(c, value);
    nxi_record_unlock(c);
  }
  if (status == NX_OUT_OF_MEMORY) nxi_oom(&a->diag);
  return status;
}

static void watch(const nx_mapping *m) {
  nxi_watch_made(m, NXI_MAPPING, m->context, "of %lld bytes for %s", (long long)m->buffer->bytes,
                 m->access & NX_MAP_WRITE ? "writing" : "reading");
}

static nx_status map(nxi_action *a, nx_tensor *t, uint32_t access, nx_mapping **out) {
  nx_context *c = a->context;
  nx_status status = nxi_action_asked(a, &t, 1);
  if (status) return status;
  if (nxi_brief_suits(a) && (*out = map_now(c, t->storage, access, !a->filled.poll))) return NX_OK;
  nxi_record_lock(c);
  nx_mapping *m = mapping_begin(c, t->storage, access);
  nxi_record_unlock(c);
  if (!m) return nxi_oom(&a->diag);
  status = map_in_turns(a, t, m);
  if (status) {
    nxi_record_lock(c);
    mapping_end(c, m);
    bool last = --c->live_mappings == 0;
    nxi_record_unlock(c);
    if (last) nxi_context_unref(c);
    return status;
  }
  if (m->watched) watch(m);
  *out = m;
  return NX_OK;
}

nx_status nxi_map(const char *op, nx_tensor *t, uint32_t access, const nx_run_options *o,
                  nx_mapping **out) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!access || access & ~(uint32_t)(NX_MAP_READ | NX_MAP_WRITE))
    nxi_fail(&d, NX_INVALID_ARGUMENT, op, "%s: there is no access %u", op, access);
  else if (access & NX_MAP_WRITE && t->storage->flags & NXI_STORAGE_READ_ONLY)
    nxi_fail(&d, NX_NOT_WRITABLE, op, "%s: the storage is an immutable import", op);
  if (d.status) return nxi_error_report(&d);
  nx_context *c = t->context;
  nx_mapping *m = NULL;
  bool only = nxi_brief_only(o), first = (!o || only) && !nxi_callbacks_wait(c);
  if (first) m = map_now(c, t->storage, access, !o);
  if (m) return *out = m, NX_OK;
  if (only) return nxi_brief_refused(op);
  nxi_action a;
  nxi_action_begin(&a, c, o);
  a.tried = first;
  nx_status status = map(&a, t, access, &m);
  if (!status) *out = m;
  return nxi_action_end(&a, nxi_oom_in(&a.diag, status, op));
}

nx_status nx_map(nx_tensor *t, uint32_t access, const nx_run_options *o, nx_mapping **out) {
  if (!nxi_have_tensor("map", 0, t)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("map", 3), NX_INVALID_ARGUMENT;
  return nxi_map("map", t, access, o, out);
}

/* ---- the end */

void nxi_mapping_teardown(nx_context *c, nx_mapping *m) {
  nxi_storage *s = m->storage;
  if (m->pins && m->access & NX_MAP_WRITE) nxi_buffer_host_written(m->buffer);
  if (m->pins) nxi_storage_unpin(c, s, m->access & NX_MAP_WRITE);
  else nxi_buffer_unref(c, m->buffer);
  nxi_storage_unref(c, s);
  mapping_end(c, m);
}

void *nx_mapping_base(const nx_mapping *m, size_t *bytes) {
  if (m && !nxi_have_mapping("mapping_base", 0, m)) m = NULL;
  if (bytes) *bytes = m ? (size_t)m->buffer->bytes : 0;
  return m ? m->buffer->data : NULL;
}

nx_mapping *nx_mapping_retain(nx_mapping *m) {
  if (m && !nxi_have_mapping("retain", 0, m)) return NULL;
  if (m) atomic_fetch_add_explicit(&m->head.refs, 1, memory_order_relaxed);
  return m;
}

void nx_mapping_release(nx_mapping *m) {
  if (m && nxi_have_mapping("release", 0, m)) nxi_head_release(m->context, &m->head);
}
