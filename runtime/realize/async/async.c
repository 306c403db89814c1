/* SPDX-License-Identifier: ISC */
/* Asynchronous realising and calling: which values an event is about. A call is recorded inline, so
 * its results, what it assigns and its dependences are those of recorded operations, whatever is in
 * flight. */
#include "runtime/realize/functions/function.h"
#include "ir/platform/lock.h"
#include "runner.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"

static nx_status fail(nxi_diag *d, const char *op) {
  nxi_oom_in(d, d->status, op);
  return nxi_error_report(d);
}

/* ---- nx_realize_async */

static bool check_tensors(nx_context *c, nx_tensor *const *t, size_t n, nxi_diag *d) {
  for (size_t i = 0; i < n; i++) {
    if (!t || !t[i] || !nxi_looks_live(t[i], NXI_TENSOR))
      nxi_handle_fault("realize_async", (int32_t)i, t ? t[i] : NULL, NXI_TENSOR, d);
    else if (t[i]->context != c)
      nxi_fail(d, NX_INVALID_ARGUMENT, "realize_async",
               "realize_async: tensor %zu belongs to another context", i);
    if (d->status) return false;
  }
  return true;
}

nx_status nx_realize_async(nx_context *c, nx_tensor *const *t, size_t n, const nx_run_options *o,
                           nx_event **event) {
  nxi_diag d;
  uint32_t flags = 0;
  nxi_diag_clear(&d);
  if (!event) return nxi_error_null("realize_async", 4), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("realize_async", 0, c)) return NX_INVALID_ARGUMENT;
  if (!check_tensors(c, t, n, &d)) return fail(&d, "realize_async");
  int32_t device = n ? t[0]->storage->device : 0;
  nx_event *e = nxi_event_create(c, device, "realize_async", o, &flags, &d);
  if (!e) return fail(&d, "realize_async");
  nxi_wanted *w = nxi_event_wanted(e);
  if (n > UINT32_MAX / 2 || !nxi_wanted_collect(c, flags, t, n, w)) {
    nxi_event_drop(e);
    nxi_oom(&d);
    return fail(&d, "realize_async");
  }
  nxi_event_submit(e);
  *event = e;
  return NX_OK;
}

/* ---- nx_function_call_async */

/* What a donated storage names from now on; one reference. NULL: no memory. record_lock. */
static nxi_node *gone_node(nx_context *c, nx_tensor *t) {
  nxi_storage *s = t->storage;
  nxi_node *n = nxi_leaf_create(c, NXI_OP_LEAF, s->device, s->dtype, s->value->rank,
                                nxi_node_shape(s->value), NULL);
  if (!n) return NULL;
  nxi_pending_end(c, n);
  n->state = NXI_FAILED;
  n->failure = NX_DONATED;
  return n;
}

typedef struct async_call {
  nx_function *f;
  nx_tensor *const *in;
  nxi_node **gone;   /* n_in: of donated inputs */
  nxi_node **values; /* n_in: what these held before the call; only compared */
} async_call;

/* What the flags ask for was recorded before the call. */
static bool prepare(async_call *k, uint32_t flags, nxi_wanted *w) {
  const nx_function *f = k->f;
  nx_context *c = f->context;
  k->gone = nxi_calloc(2 * (size_t)f->n_in + 1, sizeof *k->gone);
  if (!k->gone || (flags && !nxi_wanted_collect(c, flags, NULL, 0, w)) ||
      !nxi_wanted_reserve(w, f->n_out + f->n_effects))
    return false;
  k->values = k->gone + f->n_in;
  bool good = true;
  nxi_record_lock(c);
  for (uint32_t i = 0; good && i < f->n_in; i++) {
    k->values[i] = k->in[i]->storage->value;
    if (f->donate[i]) good = (k->gone[i] = gone_node(c, k->in[i])) != NULL;
  }
  nxi_record_unlock(c);
  return good;
}

/* Detaches donated values from their storages, and lets results lie in their memory once nothing
 * else reads it. One that got a result keeps that, one that is mapped its value. record_lock. */
static void donate(async_call *k) {
  for (uint32_t i = 0; k->gone && i < k->f->n_in; i++) {
    nxi_storage *s = k->in[i]->storage;
    /* NOLINTNEXTLINE: `values` lie behind `gone` */
    if (!k->gone[i] || s->pins || s->value != k->values[i]) continue;
    nxi_node_mark(s->value, NXI_NODE_GIVEN);
    nxi_storage_set(k->f->context, s, k->gone[i]);
    k->gone[i] = NULL;
  }
}

/* The values of outputs, and of what the function assigns. record_lock. */
static void add_values(const async_call *k, nx_tensor *const *out, nxi_wanted *w) {
  const nx_function *f = k->f;
  for (uint32_t i = 0; i < f->n_out; i++) nxi_wanted_add(w, out[i]->storage);
  for (uint32_t i = 0; i < f->n_effects; i++) {
    nxi_storage *s = f->effects[i].storage;
    nxi_wanted_add(w, s ? s : k->in[f->effects[i].input]->storage);
  }
}

static void clear(async_call *k) {
  nxi_record_lock(k->f->context);
  for (uint32_t i = 0; k->gone && i < k->f->n_in; i++)
    if (k->gone[i]) nxi_node_unref(k->f->context, k->gone[i]);
  nxi_record_unlock(k->f->context);
  nxi_free(k->gone);
}

nx_status nx_function_call_async(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                                 size_t n_out, const nx_run_options *o, nx_event **event) {
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!event) return nxi_error_null("function", 6), NX_INVALID_ARGUMENT;
  if (!nxi_have_function("function", 0, f)) return NX_INVALID_ARGUMENT;
  if (!nxi_function_check(f, in, n_in, out, n_out, &d)) return nxi_error_report(&d);
  nx_context *c = f->context;
  async_call k = {.f = f, .in = in};
  uint32_t flags = 0;
  nx_event *e = nxi_event_create(c, f->device, "function", o, &flags, &d);
  nx_status status = e ? NX_OK : fail(&d, "function");
  if (e && !prepare(&k, flags, nxi_event_wanted(e)))
    status = (nxi_oom(&d), fail(&d, f->graph->name));
  if (!status) status = nx_function_record(f, in, n_in, out, n_out);
  if (!status) {
    nxi_record_lock(c);
    add_values(&k, out, nxi_event_wanted(e));
    donate(&k);
    nxi_record_unlock(c);
    nxi_event_submit(e);
    *event = e;
  } else if (e) {
    nxi_event_drop(e);
  }
  clear(&k);
  return status;
}
