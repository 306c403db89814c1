/* SPDX-License-Identifier: ISC */
/* What every step of a random program uses: the log, calls that may lack memory, handles and their
 * comparison with the model, host memory, and the end. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/dtype.h"
#include "runtime/record/context.h"

/* ---- text */

static void add_text(world *w, const char *format, va_list arguments) {
  if (w->logged + 600 > LOG_BYTES) return;
  w->logged += (size_t)vsnprintf(w->log + w->logged, 500, format, arguments);
  w->log[w->logged++] = '\n';
  w->log[w->logged] = 0;
}

void say(world *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_text(w, format, arguments);
  va_end(arguments);
}

_Noreturn void fault(world *w, const char *format, ...) {
  nxi_alloc_fail(-1, false);
  va_list arguments;
  va_start(arguments, format);
  say(w, "---- fault:");
  add_text(w, format, arguments);
  va_end(arguments);
  nx_error e = {.size = sizeof e};
  if (nx_error_take(&e))
    say(w, "the thread's error: %s: %s: %s", nx_status_name(e.status), e.op, e.message);
  if (w->shared || w->aborts) fputs(w->log, stderr);
  if (w->aborts) abort();
  _exit(1);
}

const char *shape_text(const nxg_view *v) {
  static _Thread_local char text[NXG_SHAPE_TEXT];
  return nxg_format_shape(text, v->rank, v->shape);
}

/* ---- calls */

void arm(world *w) {
  if (!w->faults || w->armed || !nxt_chance(&w->fault_random, 30)) return;
  w->armed = true;
  nxi_alloc_fail(nxt_below(&w->fault_random, nxt_chance(&w->fault_random, 50) ? 6 : 40), false);
}

bool try_again(world *w, bool failed) {
  bool armed = w->armed;
  if (armed) nxi_alloc_fail(-1, false);
  w->armed = false;
  if (!failed) {
    nx_error e = {.size = sizeof e};
    if (nx_error_take(&e))
      fault(w, "a call succeeded and left the error %s: %s", nx_status_name(e.status), e.message);
    return false;
  }
  if (!armed) return false;
  nx_error e = {.size = sizeof e};
  nx_status status = nx_error_take(&e);
  if (status == NX_OUT_OF_MEMORY) {
    say(w, "  /* an allocation failed: once more */");
    handle *h = w->n_handles ? &w->handles[nxt_below(&w->fault_random, w->n_handles)] : NULL;
    if (h && !w->capturing && nxt_chance(&w->fault_random, 30)) check_handle(w, h);
    return true;
  }
  return status != NX_OK; /* the failure that was expected comes again */
}

void expect_status(world *w, nx_status is, nx_status wanted, const char *what) {
  if (is != wanted)
    fault(w, "%s gave %s, not %s", what, nx_status_name(is), nx_status_name(wanted));
  nx_status left = nx_error_take(NULL);
  if (left != wanted)
    fault(w, "%s left %s in the slot, not %s", what, nx_status_name(left), nx_status_name(wanted));
}

/* ---- handles */

nxg_view whole_of(const model_storage *s) {
  nxg_view v;
  nxg_view_contiguous(&v, 1, &s->elements);
  return v;
}

bool is_assignable(const handle *h) {
  return !h->v.storage->read_only && !h->v.storage->frozen && !nxg_view_overlaps_itself(&h->v.view);
}

handle *any_handle(world *w) { return w->n_handles ? &w->handles[below(w, w->n_handles)] : NULL; }

handle *find_like(world *w, nx_dtype dtype, const nxg_view *v) {
  uint32_t start = w->n_handles ? (uint32_t)below(w, w->n_handles) : 0;
  for (uint32_t i = 0; i < w->n_handles; i++) {
    handle *h = &w->handles[(start + i) % w->n_handles];
    if (h->v.storage->dtype == dtype &&
        nxg_same_shape(v->rank, v->shape, h->v.view.rank, h->v.view.shape))
      return h;
  }
  return NULL;
}

static void forget_handle(world *w, handle *h) {
  model_unref(h->v.storage);
  *h = w->handles[--w->n_handles];
}

void drop_handle(world *w, handle *h) {
  nx_tensor_release(h->t);
  if (--h->refs == 0) forget_handle(w, h);
}

static void compare_description(world *w, nx_tensor *t, const model_storage *s, const nxg_view *v) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  bool good = i.context == w->c && i.dtype == s->dtype &&
              nxg_same_shape(i.rank, i.shape, v->rank, v->shape) &&
              i.elements == nxg_elements(v->rank, v->shape);
  if (good && !s->part) good = i.offset == v->offset && i.storage_elements == s->elements;
  for (int32_t axis = 0; good && axis < v->rank; axis++) good = i.strides[axis] == v->strides[axis];
  good = good && !!(i.flags & NX_TENSOR_C_CONTIGUOUS) == nxg_view_is_contiguous(v);
  good = good && !!(i.flags & NX_TENSOR_READ_ONLY) == s->read_only;
  if (s->write_pins) good = good && i.flags & NX_TENSOR_EXPOSED;
  if (!good)
    fault(
        w,
        "t%u describes itself wrongly: %s, flags %u, offset %ld, storage %ld; wanted %s %s of %ld",
        w->n_names, nx_dtype_name(i.dtype), i.flags, (long)i.offset, (long)i.storage_elements,
        nx_dtype_name(s->dtype), shape_text(v), (long)s->elements);
}

handle *add_handle(world *w, nx_tensor *t, model_storage *s, const nxg_view *v) {
  if (!t) fault(w, "no result");
  if (w->n_handles == MOST_HANDLES) {
    handle *old = any_handle(w);
    say(w, "release(t%u)", old->name);
    drop_handle(w, old);
    while (w->n_handles == MOST_HANDLES) drop_handle(w, &w->handles[0]);
  }
  compare_description(w, t, s, v);
  handle *h = &w->handles[w->n_handles++];
  *h = (handle){.t = t, .v = {s, *v}, .refs = 1, .scope = (int)w->n_scopes, .name = w->n_names++};
  return h;
}

static void show(world *w, const char *name, const void *p, nx_dtype t, int64_t n) {
  char text[400];
  int at = 0;
  for (int64_t i = 0; i < n && at < 360; i++) {
    at += snprintf(text + at, sizeof text - (size_t)at, " %g", get_number(p, t, i, 0));
    if (nxi_is_complex(t))
      at += snprintf(text + at, sizeof text - (size_t)at, "%+gi", get_number(p, t, i, 1));
  }
  say(w, "%s:%s", name, text);
}

static void compare(world *w, const void *is, const void *wanted, nx_dtype t, int64_t n,
                    const char *what) {
  nx_dtype part = nxi_part_dtype(t);
  int64_t parts = nxi_parts(t);
  for (int64_t i = 0; i < n * parts; i++) {
    if (nxi_same_bits(nxi_load_at(is, part, i), nxi_load_at(wanted, part, i), part)) continue;
    show(w, "is    ", is, t, n < 40 ? n : 40);
    show(w, "wanted", wanted, t, n < 40 ? n : 40);
    fault(w, "%s: element %ld of %ld differs", what, (long)(i / parts), (long)n);
  }
}

void check_handle(world *w, handle *h) {
  int64_t n = model_elements(&h->v);
  nx_dtype t = h->v.storage->dtype;
  size_t bytes = (size_t)nxi_dtype_bytes(t, n);
  void *is = malloc(model_bytes(t, n)), *wanted = malloc(model_bytes(t, n));
  char what[32];
  snprintf(what, sizeof what, "read(t%u)", h->name);
  nx_status status;
  ACT(w, status, nx_read(h->t, is, bytes, NULL));
  if (status) fault(w, "%s gave %s", what, nx_status_name(status));
  model_read(&h->v, wanted);
  compare(w, is, wanted, t, n, what);
  free(is);
  free(wanted);
}

/* ---- random shapes and contents */

void choose_style(world *w) {
  static const nx_dtype usual[] = {NX_F32, NX_F32, NX_I32, NX_I4, NX_U4, NX_F64, NX_C64},
                        rare[] = {NX_C32,  NX_U8,     NX_BF16, NX_F16,    NX_C128, NX_I64,
                                  NX_BOOL, NX_F8E5M2, NX_I16,  NX_F8E4M3, NX_U64};
  w->dtypes[0] = usual[below(w, sizeof usual / sizeof *usual)];
  w->dtypes[1] = chance(w, 40) ? NX_I32 : rare[below(w, sizeof rare / sizeof *rare)];
  w->extent = chance(w, 75) ? 3 : chance(w, 70) ? 17 : 40;
}

nx_dtype random_dtype(world *w) {
  int64_t dice = below(w, 10);
  return dice < 6 ? w->dtypes[0] : dice < 9 ? w->dtypes[1] : NX_BOOL;
}

void random_shape(world *w, int32_t *rank, int64_t *shape) {
  *rank = (int32_t)below(w, 4);
  int64_t extent = chance(w, 2) ? 20 : w->extent;
  if (extent > 20 && *rank > 2) *rank = 2;
  for (int32_t i = 0; i < *rank; i++)
    shape[i] = chance(w, 2) ? 0 : chance(w, 70) ? extent + (i & 1) : 1 + below(w, 5);
}

void random_data(world *w, nx_dtype t, void *data, int64_t n) {
  for (int64_t i = 0; i < n; i++) set_number(data, t, i, below(w, 19) - 9);
}

void set_number(void *data, nx_dtype t, int64_t i, int64_t x) {
  nx_dtype part = nxi_part_dtype(t);
  for (int64_t k = 0; k < nxi_parts(t); k++)
    nxi_store_at(data, part, i * nxi_parts(t) + k,
                 nxi_cast_bits((uint64_t)(x + 3 * k), NX_I64, part));
}

double get_number(const void *data, nx_dtype t, int64_t i, int part) {
  nx_dtype of = nxi_part_dtype(t);
  return nxi_f64_bits(nxi_cast_bits(nxi_load_at(data, of, i * nxi_parts(t) + part), of, NX_F64));
}

/* ---- fusion */

void set_fusion(bool fused) {
  char words[200];
  const char *given = getenv("NX_DEBUG");
  snprintf(words, sizeof words, "%s%s%s", given ? given : "", given && *given && !fused ? "," : "",
           fused ? "" : "nofuse");
  if (nx_debug_set(words)) abort();
}

/* ---- host memory */

void settle(world *w) {
  if (!nx_has_deferred(w->c)) return;
  say(w, "realize(deferred)");
  nx_run_options o = {.size = sizeof o, .flags = NX_DO_DEFERRED};
  EXPECT_OK(w, nx_realize(w->c, NULL, 0, &o));
  if (!w->shared && nx_has_deferred(w->c)) fault(w, "something is still deferred");
}

void check_memory(world *w, const model_storage *s, const void *base, const char *what) {
  nxg_view v = whole_of(s);
  model_view all = {(model_storage *)(uintptr_t)s, v};
  void *is = malloc(model_bytes(s->dtype, s->elements)),
       *wanted = malloc(model_bytes(s->dtype, s->elements));
  model_read_from(&all, base, is);
  model_read(&all, wanted);
  compare(w, is, wanted, s->dtype, s->elements, what);
  free(is);
  free(wanted);
}

/* ---- the end */

static void expect_nothing_left(world *w) {
  nx_context_collect(w->c);
  nx_stats s = {.size = sizeof s};
  nx_context_stats(w->c, &s);
  if (s.live_bytes || s.pending_nodes || s.pinned_bytes || w->c->live_nodes || w->c->live_storages)
    fault(w, "%lu bytes, %lu pending, %lu nodes, %lu storages are left",
          (unsigned long)s.live_bytes, (unsigned long)s.pending_nodes,
          (unsigned long)w->c->live_nodes, (unsigned long)w->c->live_storages);
}

void end_world(world *w) {
  bool faults = w->faults;
  w->faults = false;
  say(w, "everything is read and released");
  while (w->n_scopes) nx_scope_end(w->scopes[--w->n_scopes]);
  for (uint32_t i = w->n_handles; i-- > 0;) {
    handle *h = &w->handles[i];
    if (h->scope && --h->refs == 0) forget_handle(w, h);
    else h->scope = 0;
  }
  for (uint32_t i = 0; i < w->n_handles; i++) check_handle(w, &w->handles[i]);
  settle(w);
  while (w->n_handles) drop_handle(w, &w->handles[w->n_handles - 1]);
  while (w->n_functions) release_function(w, 0);
  for (uint32_t i = 0; i < w->n_mappings; i++) {
    nx_mapping_release(w->mappings[i].m);
    model_unref(w->mappings[i].s);
  }
  w->n_mappings = 0;
  w->faults = faults;
  if (!w->shared) expect_nothing_left(w);
  for (uint32_t i = 0; i < w->n_hosts; i++) {
    host *h = &w->hosts[i];
    if (!w->shared && h->released != 1)
      fault(w, "the callback of import %u ran %d times", i, h->released);
    if (w->shared) continue; /* when the context goes */
    model_unref(h->s);
    if (!h->borrowed) free(h->memory);
  }
}
