/* SPDX-License-Identifier: ISC */
/* Steps that import memory of the host: whole arrays in each mode and in any layout, and arrays in
 * the memory of others. */
#include "world.h"

#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

static bool is_exposed(const nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i.flags & NX_TENSOR_EXPOSED;
}

static void on_release(void *user) {
  host *h = user;
  __atomic_fetch_add(&h->released, 1, __ATOMIC_RELAXED);
  /* Nobody may look any more. After a copy the importer writes there itself, maybe at this
   * moment. */
  if (h->mode != NX_IMPORT_COPY && !h->overlapped) memset(h->memory, 0xee, h->bytes);
}

/* Imports the memory of the newest host as v of elements t; strides: v's, or NULL for those of C
 * order. */
static nx_tensor *import_host(world *w, nx_dtype t, const nxg_view *v, const int64_t *strides) {
  host *h = &w->hosts[w->n_hosts];
  nx_import_desc d = {.size = sizeof d,
                      .mode = h->mode,
                      .dtype = t,
                      .rank = v->rank,
                      .shape = v->shape,
                      .strides = strides,
                      .offset = v->offset,
                      .base = h->memory,
                      .bytes = h->bytes,
                      .release = on_release,
                      .user = h};
  nx_tensor *x = NULL;
  EXPECT_OK(w, nx_import(w->c, &d, &x));
  w->n_hosts++;
  return x;
}

void step_import(world *w) {
  if (w->n_hosts == MOST_HOSTS) return;
  nx_dtype t = random_dtype(w);
  int64_t n = 1 + below(w, 30);
  if (nxi_is_nibble(t)) n += n % 2; /* whole bytes */
  size_t bytes = (size_t)nxi_dtype_bytes(t, n);
  uint32_t mode = (uint32_t)below(w, NX_IMPORT_MAPPED + 1);
  model_storage *s = model_storage_new(t, n);
  random_data(w, t, s->data, n);
  host *h = &w->hosts[w->n_hosts];
  *h = (host){.memory = malloc(bytes), .bytes = bytes, .mode = mode};
  memcpy(h->memory, s->data, h->bytes);
  if (t == NX_BOOL && mode != NX_IMPORT_IMMUTABLE && ((uint8_t *)h->memory)[0])
    ((uint8_t *)h->memory)[0] = 7; /* reads as true */
  nxg_view v = whole_of(s);
  if (n % 2 == 0 && chance(w, 50)) { /* Fortran order, and from the end */
    v.rank = 2;
    v.shape[0] = 2, v.shape[1] = n / 2;
    v.strides[0] = -1, v.strides[1] = 2;
    v.offset = 1;
  }
  nx_tensor *x = import_host(w, t, &v, v.strides);
  s->pins = mode == NX_IMPORT_SHARED || mode == NX_IMPORT_MAPPED;
  s->write_pins = mode == NX_IMPORT_SHARED;
  if (x && is_exposed(x) != (mode == NX_IMPORT_SHARED)) fault(w, "an import is exposed, or not");
  s->read_only = mode == NX_IMPORT_IMMUTABLE;
  if (mode == NX_IMPORT_COPY) memset(h->memory, 0xdd, h->bytes);
  else h->s = s, model_ref(s);
  handle *new = add_handle(w, x, s, &v);
  say(w, "t%u = import(%s %s, mode %u), import %u", new->name, nx_dtype_name(t), shape_text(&v),
      mode, w->n_hosts - 1);
}

/* A handle of the memory's storage; NULL if none is alive. */
static handle *handle_of(world *w, const model_storage *s) {
  for (uint32_t i = 0; i < w->n_handles; i++)
    if (w->handles[i].v.storage == s) return &w->handles[i];
  return NULL;
}

bool is_shown(world *w, const model_storage *s) {
  if (s->write_pins || s->read_only) {
    settle(w);
    return true;
  }
  const handle *h = handle_of(w, s);
  if (!h) return false;
  say(w, "realize(t%u)", h->name);
  EXPECT_OK(w, nx_realize(w->c, &h->t, 1, NULL));
  return true;
}

/* Whether the host shares its memory with the library, which may be written. */
static bool is_lent(const host *h) {
  return h->s && (h->mode == NX_IMPORT_SHARED || h->mode == NX_IMPORT_MAPPED);
}

/* A part of what is imported and shared already is imported once more: each sees what is assigned
 * to the other, and is shared, if it was only mapped before: then nothing that reads it may still
 * wait, since the host will write there. What is deferred together has no order among them, so
 * there are none where that happens. */
void step_window(world *w) {
  if (!w->n_hosts || w->n_hosts == MOST_HOSTS || w->shared || w->flags & NX_DEFER_EXPOSED) return;
  host *from = &w->hosts[below(w, w->n_hosts)], *h = &w->hosts[w->n_hosts];
  if (!is_lent(from) || from->released || !is_shown(w, from->s)) return;
  const nx_run_options all = {.size = sizeof all, .flags = NX_DO_PENDING};
  if (from->mode == NX_IMPORT_MAPPED) EXPECT_OK(w, nx_realize(w->c, NULL, 0, &all));
  nx_dtype t = from->s->dtype;
  int64_t grain = nxi_is_nibble(t) ? 2 : 1, most = from->s->elements / grain,
          start = below(w, most) * grain, n = (1 + below(w, most - start / grain)) * grain;
  uint32_t mode = handle_of(w, from->s) && chance(w, 30) ? NX_IMPORT_MAPPED : NX_IMPORT_SHARED;
  model_storage *s = calloc(1, sizeof *s);
  *s = (model_storage){.refs = 1, .dtype = t, .elements = n, .pins = 1, .write_pins = 1};
  s->data = (char *)from->s->data + nxi_dtype_bytes(t, start);
  s->within = model_root(from->s);
  model_ref(s->within);
  from->s->write_pins += from->mode == NX_IMPORT_MAPPED;
  from->mode = NX_IMPORT_SHARED;
  from->overlapped = true;
  *h = (host){.memory = (char *)from->memory + nxi_dtype_bytes(t, start),
              .bytes = (size_t)nxi_dtype_bytes(t, n),
              .s = s,
              .mode = mode,
              .overlapped = true,
              .borrowed = true};
  model_ref(s);
  nxg_view v = whole_of(s);
  nx_tensor *x = import_host(w, t, &v, NULL);
  h->mode = NX_IMPORT_SHARED;
  handle *new = add_handle(w, x, s, &v);
  say(w, "t%u = import(%s [%ld], mode %u, from element %ld of the memory of import %ld), import %u",
      new->name, nx_dtype_name(t), (long)n, mode, (long)start, (long)(from - w->hosts),
      w->n_hosts - 1);
}

/* The storage's contents in memory of its own: what is assigned to it is no longer seen in that of
 * others. */
static void leave(model_storage *s) {
  if (!s->within) return;
  void *own = malloc(model_bytes(s->dtype, s->elements));
  for (int64_t i = 0; i < s->elements; i++) model_copy_element(s->dtype, own, i, s->data, i);
  model_unref(s->within);
  s->within = NULL;
  s->data = own;
}

/* The host is done with what it shared. Others that lie in the same memory keep it. */
void step_end_sharing(world *w) {
  if (!w->n_hosts) return;
  host *h = &w->hosts[below(w, w->n_hosts)];
  handle *x = is_lent(h) ? handle_of(w, h->s) : NULL;
  if (!x || x->v.storage->frozen || (h->overlapped && (!h->borrowed || h->s->pins > 1))) return;
  say(w, "end_sharing(t%u)", x->name);
  EXPECT_OK(w, nx_end_sharing(x->t, NULL));
  model_storage *s = h->s;
  leave(s);
  s->pins--, s->write_pins -= h->mode == NX_IMPORT_SHARED;
  h->s = NULL;
  if (!w->shared && is_exposed(x->t) != (s->write_pins > 0))
    fault(w, "t%u is exposed, or not, after its sharing ended", x->name);
  model_unref(s);
}
