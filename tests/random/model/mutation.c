/* SPDX-License-Identifier: ISC */
/* Steps that write, realise and look: assigns through random views, actions, mappings and memory of
 * the host. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/dtype.h"

/* ---- mutation */

static void assign(world *w, handle *dst, nx_tensor *src, const model_view *v, const char *text) {
  nxg_view wide;
  nxi_diag d;
  nxi_diag_clear(&d);
  say(w, "assign(t%u, %s)", dst->name, text);
  bool fits = v->storage->dtype == dst->v.storage->dtype &&
              !nxg_view_expand(&v->view, dst->v.view.rank, dst->v.view.shape, &wide, &d);
  nx_status wanted = dst->v.storage->read_only                         ? NX_NOT_WRITABLE
                     : !fits || nxg_view_overlaps_itself(&dst->v.view) ? NX_INVALID_ARGUMENT
                                                                       : NX_OK;
  nx_status status;
  ACT(w, status, nx_assign(dst->t, src));
  expect_status(w, status, wanted, "assign");
  if (!status) model_assign(&dst->v, v);
}

void step_assign(world *w) {
  handle *dst = any_handle(w);
  if (!dst || dst->v.storage->frozen) return;
  handle *src = similar(w, dst);
  char text[64];
  if (chance(w, 20)) { /* another view of the same storage, if there is one */
    for (uint32_t i = 0; i < w->n_handles; i++)
      if (w->handles[i].v.storage == dst->v.storage && &w->handles[i] != dst && chance(w, 60))
        src = &w->handles[i];
  }
  snprintf(text, sizeof text, "t%u", src->name);
  assign(w, dst, src->t, &src->v, text);
}

/* dst = op(dst, other), as programs do most of the time. */
void step_update(world *w) {
  handle *dst = any_handle(w);
  if (!dst || dst->v.storage->frozen) return;
  handle *other = find_like(w, dst->v.storage->dtype, &dst->v.view);
  nxg_op op = dst->v.storage->dtype == NX_BOOL ? NXG_xor : chance(w, 50) ? NXG_add : NXG_sub;
  model_view v[2] = {dst->v, other->v}, out = {0};
  nx_tensor *x;
  MAKE(w, x,
       op == NXG_xor   ? nx_xor(dst->t, other->t)
       : op == NXG_add ? nx_add(dst->t, other->t)
                       : nx_sub(dst->t, other->t));
  if (!x) fault(w, "no result to assign");
  out.storage = model_compute(op, 2, v, NULL, 0, 0, 0, NULL, &out.view);
  char text[64];
  snprintf(text, sizeof text, "%s(t%u, t%u)", nxg_ops[op].name, dst->name, other->name);
  bool early = chance(w, 30);
  if (early) nx_tensor_retain(x);
  assign(w, dst, x, &out, text);
  nx_tensor_release(x);
  if (early) add_handle(w, x, out.storage, &out.view);
  else model_unref(out.storage);
}

void step_write(world *w) {
  handle *h = any_handle(w);
  if (!h || h->v.storage->frozen) return;
  int64_t n = model_elements(&h->v);
  nx_dtype t = h->v.storage->dtype;
  void *data = malloc(model_bytes(t, n));
  random_data(w, t, data, n);
  nx_status wanted = h->v.storage->read_only                ? NX_NOT_WRITABLE
                     : nxg_view_overlaps_itself(&h->v.view) ? NX_INVALID_ARGUMENT
                                                            : NX_OK;
  say(w, "write(t%u)", h->name);
  EXPECT_STATUS(w, wanted, nx_write(h->t, data, (size_t)nxi_dtype_bytes(t, n), NULL));
  if (!wanted) model_write(&h->v, data);
  free(data);
}

/* ---- actions */

static int32_t poll(void *user) { return --*(int *)user < 0; }

void step_realize(world *w) {
  nx_tensor *t[MOST_HANDLES];
  uint32_t n = 0;
  char text[200] = "";
  int at = 0, polls = (int)below(w, 6);
  for (uint32_t i = 0; i < w->n_handles; i++) {
    if (!chance(w, 25)) continue;
    t[n++] = w->handles[i].t;
    at += snprintf(text + at, sizeof text - (size_t)at, " t%u", w->handles[i].name);
  }
  nx_run_options o = {.size = sizeof o, .flags = chance(w, 30) ? (uint32_t)below(w, 4) : 0};
  bool interrupt = chance(w, 15);
  if (interrupt) o.poll = poll, o.user = &polls;
  say(w, "realize(%s, flags %u%s)", text, o.flags, interrupt ? ", interrupted" : "");
  nx_status status;
  ACT(w, status, nx_realize(w->c, t, n, &o));
  nx_error e = {.size = sizeof e};
  nx_error_take(&e);
  if (status != e.status || (status && !(interrupt && status == NX_INTERRUPTED)))
    fault(w, "realize gave %s and left %s: %s", nx_status_name(status), nx_status_name(e.status),
          e.message);
  for (uint32_t i = 0; !status && i < n; i++) {
    nx_tensor_info info = {.size = sizeof info};
    nx_tensor_describe(t[i], &info);
    if (!(info.flags & NX_TENSOR_REALIZED) && !w->shared)
      fault(w, "realize left a tensor unrealised");
  }
}

/* Every action obeys the flags: a read, a write of what is there, a mapping. */
void step_pending(world *w) {
  handle *h = any_handle(w);
  if (!h || w->capturing) return;
  nx_run_options o = {.size = sizeof o, .flags = 1 + (uint32_t)below(w, 3)};
  int64_t n = model_elements(&h->v);
  nx_dtype t = h->v.storage->dtype;
  void *packed = malloc(model_bytes(t, n));
  size_t bytes = (size_t)nxi_dtype_bytes(t, n);
  int action = (int)below(w, 3);
  say(w, "%s(t%u, flags %u)",
      action == 0   ? "read"
      : action == 1 ? "write"
                    : "map",
      h->name, o.flags);
  model_read(&h->v, packed);
  if (action == 1 && is_assignable(h)) EXPECT_OK(w, nx_write(h->t, packed, bytes, &o));
  else if (action == 2) {
    nx_mapping *m = NULL;
    EXPECT_OK(w, nx_map(h->t, NX_MAP_READ, &o, &m));
    nx_mapping_release(m);
  } else EXPECT_OK(w, nx_read(h->t, packed, bytes, &o));
  if (!w->shared && nx_has_deferred(w->c)) fault(w, "something is still deferred");
  free(packed);
  check_handle(w, h);
}

void step_item(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  int64_t index[NXG_MAX_RANK], at = h->v.view.offset;
  bool out = model_elements(&h->v) == 0;
  for (int32_t i = 0; i < h->v.view.rank; i++) {
    int64_t n = h->v.view.shape[i];
    index[i] = n ? below(w, n) : 0;
    at += index[i] * h->v.view.strides[i];
    if (chance(w, 30)) index[i] -= n;
  }
  nx_scalar value;
  EXPECT_STATUS(w, out ? NX_INDEX_OUT_OF_RANGE : NX_OK,
                nx_item(h->t, index, (size_t)h->v.view.rank, &value, NULL));
  if (out) return;
  nx_dtype t = h->v.storage->dtype;
  const void *data = h->v.storage->data;
  for (int part = 0; part < nxi_parts(t); part++) {
    double wanted = get_number(data, t, at, part), is = nxi_is_float(nxi_part_dtype(t))
                                                            ? value.v.f[part]
                                                        : t == NX_U64 ? (double)value.v.u
                                                                      : (double)value.v.i;
    if (is != wanted && (is == is || wanted == wanted))
      fault(w, "item(t%u) is %g, not %g", h->name, is, wanted);
  }
}

void step_read(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  say(w, "read(t%u)", h->name);
  check_handle(w, h);
}

void step_hold(world *w) {
  handle *h = any_handle(w);
  if (!h) return;
  bool on = chance(w, 60);
  say(w, "hold(t%u, %d)", h->name, on);
  nx_hold(h->t, on);
}

/* ---- host access */

void step_map(world *w) {
  handle *h = any_handle(w);
  if (!h || w->n_mappings == MOST_MAPPINGS || h->v.storage->part) return;
  model_storage *s = h->v.storage;
  uint32_t access = 1 + (uint32_t)below(w, s->frozen ? 1 : 3);
  nx_mapping *m = NULL;
  nx_status wanted = s->read_only && access & NX_MAP_WRITE ? NX_NOT_WRITABLE : NX_OK;
  say(w, "m%u = map(t%u, %u)", w->n_names, h->name, access);
  EXPECT_STATUS(w, wanted, nx_map(h->t, access, NULL, &m));
  if (wanted) return;
  size_t bytes;
  void *base = nx_mapping_base(m, &bytes);
  if (bytes != (size_t)nxi_dtype_bytes(s->dtype, s->elements))
    fault(w, "the mapping has %zu bytes", bytes);
  for (uint32_t i = 0; i < w->n_mappings; i++)
    if (w->mappings[i].s == s && nx_mapping_base(w->mappings[i].m, NULL) != base)
      fault(w, "two mappings of t%u differ", h->name);
  for (uint32_t i = 0; i < w->n_hosts; i++)
    if (w->hosts[i].s == s && !s->read_only && base != w->hosts[i].memory)
      fault(w, "the mapping is not the import's memory");
  if (!s->read_only && !s->frozen) s->pins++, s->write_pins += !!(access & NX_MAP_WRITE);
  model_ref(s);
  w->mappings[w->n_mappings++] = (mapped){m, s, access, w->n_names++};
  check_memory(w, s, base, "a new mapping");
}

static mapped *any_mapping(world *w) {
  return w->n_mappings ? &w->mappings[below(w, w->n_mappings)] : NULL;
}

void step_unmap(world *w) {
  mapped *m = any_mapping(w);
  if (!m) return;
  say(w, "release(m%u)", m->name);
  settle(w);
  if (chance(w, 20)) nx_mapping_release(nx_mapping_retain(m->m));
  nx_mapping_release(m->m);
  if (!m->s->read_only && !m->s->frozen)
    m->s->pins--, m->s->write_pins -= !!(m->access & NX_MAP_WRITE);
  model_unref(m->s);
  *m = w->mappings[--w->n_mappings];
}

static void host_write(world *w, model_storage *s, void *base) {
  for (int k = 0; k < 3 && s->elements; k++) {
    int64_t at = below(w, s->elements);
    set_number(s->data, s->dtype, at, below(w, 19) - 9);
    model_copy_element(s->dtype, base, at, s->data, at);
    if (s->dtype == NX_BOOL && ((uint8_t *)base)[at])
      ((uint8_t *)base)[at] = (uint8_t)(1 + below(w, 255));
  }
}

void step_host(world *w) {
  mapped *m = any_mapping(w);
  if (m && chance(w, 60)) {
    void *base = nx_mapping_base(m->m, NULL);
    if (is_shown(w, m->s)) {
      say(w, "look at m%u", m->name);
      check_memory(w, m->s, base, "mapped memory");
    }
    if (!(m->access & NX_MAP_WRITE)) return;
    say(w, "write under m%u", m->name);
    host_write(w, m->s, base);
    return;
  }
  if (!w->n_hosts) return;
  uint32_t i = (uint32_t)below(w, w->n_hosts);
  host *h = &w->hosts[i];
  if (w->shared && h->s && h->s->refs == 1) return; /* another thread may run its callback */
  if (!h->s || __atomic_load_n(&h->released, __ATOMIC_RELAXED)) return;
  if (!is_shown(w, h->s) || h->released) return;
  say(w, "look at import %u", i);
  check_memory(w, h->s, h->memory, "imported memory");
  if (h->mode != NX_IMPORT_SHARED) return;
  say(w, "write to import %u", i);
  host_write(w, h->s, h->memory);
}
