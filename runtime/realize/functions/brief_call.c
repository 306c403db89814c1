/* SPDX-License-Identifier: ISC */
/* Brief calls. A program that calls a function again and again with whole arrays, into arrays of
 * its own that nobody else looks at, and whose plan takes microseconds, wants nothing of the
 * general way: the new value of a result takes the memory of the old one, which nobody can see any
 * more, and both locks are held meanwhile, so nothing has to be acquired, published, or waited for.
 * Nothing here can fail.
 *
 * The key is that of the general way (function_key.c), so a result has the same bits either way.
 * Whatever is unusual goes the general way: views, results that are new tensors or inputs too,
 * values that others hold or host code may see, donations, effects, reports, polls, traces. A
 * function whose plan is not quick would make its key twice in each call: it asks more and more
 * rarely, since a plan may become quick, when its code is there. */
#include "function_call.h"
#include "ir/platform/lock.h"
#include "runtime/device.h"
#include "runtime/realize/plans/plan_cache.h"
#include "runtime/realize/residency.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"

static bool is_plain(const nx_function *f) {
  if (f->n_in > NXI_BRIEF_INPUTS || f->n_out > NXI_BRIEF_OUTPUTS || f->n_sources || f->n_effects ||
      f->device != NXI_DEVICE_CPU)
    return false;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (f->donate[i]) return false;
  return true;
}

static bool on_host_alone(const nxi_buffer *b) { return !b->device && !b->formers; }

/* The value of an input, which is all of its storage; NULL: not now. Both locks. */
static nxi_buffer *readable(const nx_tensor *t) {
  const nxi_storage *s = t->storage;
  nxi_buffer *b = s->value->buffer;
  if (!t->whole || s->session || s->value->state != NXI_REALIZED || b->writing || !on_host_alone(b))
    return NULL;
  return b;
}

/* The memory of a result's old value, if that is the value of a call, and nobody but the storage
 * has it. Both locks. */
static nxi_buffer *writable(const nx_tensor *t) {
  const nxi_storage *s = t->storage;
  const nxi_node *n = s->value;
  nxi_buffer *b = n->buffer;
  if (!t->whole || !t->elements || s->pins || s->pinned || s->session || s->former ||
      atomic_load_explicit(&s->flags, memory_order_relaxed))
    return NULL;
  if (n->op != NXI_OP_LEAF || n->state != NXI_REALIZED || n->refs != 1 || n->n_args || n->home ||
      atomic_load_explicit(&n->flags, memory_order_relaxed))
    return NULL;
  bool alone = atomic_load_explicit(&b->refs, memory_order_relaxed) == 1 && nxi_buffer_idle(b) &&
               b->value == n && on_host_alone(b);
  bool own = b->allocator && !b->immutable && !b->file && !b->shown && !b->pinner;
  return alone && own && nxi_buffer_aligned(b, false) ? b : NULL;
}

/* Addresses of the inputs and then of the results, and the buffers of the former. Both locks. */
static bool find_memory(const nx_function *f, nx_tensor *const *in, nx_tensor *const *out,
                        nxi_buffer **buffers, void **at) {
  for (uint32_t i = 0; i < f->n_in; i++) {
    if (!(buffers[i] = readable(in[i]))) return false;
    at[i] = buffers[i]->data;
  }
  for (uint32_t i = 0; i < f->n_out; i++) {
    const nxi_buffer *b = writable(out[i]);
    if (!b) return false;
    at[f->n_in + i] = b->data;
    for (uint32_t j = 0; j < f->n_in + i; j++)
      if (at[j] == b->data) return false;
  }
  return true;
}

/* The result becomes what a new value of a call is. record_lock. */
static void renew(nx_context *c, nxi_node *n) {
  NXI_HELD(&c->record_lock);
  n->id = ++c->next_id;
  nxi_tag_release(n->tag);
  n->tag = nxi_tag_current();
}

/* Memory for intermediate results, which the workspace keeps; NULL without memory. */
static void *temporary(nxi_run *run, int64_t bytes) {
  if (bytes > NXI_QUICK_BYTES) return NULL;
  if (!run->temporary) run->temporary = nxi_malloc(NXI_QUICK_BYTES + 64);
  uintptr_t at = (uintptr_t)run->temporary;
  return at ? (void *)((at + 63) & ~(uintptr_t)63) : NULL;
}

static bool launch(nxi_run *run, const nx_function *f, const nxi_executable *e, void **at) {
  nxi_launch l = {.inputs = at, .outputs = at + f->n_in};
  int64_t bytes = nxi_executable_plan(e)->temporary_bytes;
  if (bytes && !(l.temporary = temporary(run, bytes))) return false;
  l.pool = nxi_device_opened(run->context, f->device)->pool;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_executable_launch(e, &l, &d);
  return true;
}

enum { FREE_MISSES = 4, MOST_PAUSES = 1 << 10 };

/* The plan, if it is a quick one. run_lock. */
static const nxi_executable *quick_plan(nx_function *f, const nxi_run *run) {
  NXI_HELD(&f->context->run_lock);
  const nxi_executable *e = nxi_plan_brief(f->context->plans, run);
  if (e) {
    f->misses = 0;
    return e;
  }
  uint32_t more = ++f->misses > FREE_MISSES ? 1u << (f->misses - FREE_MISSES) : 0;
  if (more >= MOST_PAUSES) {
    more = MOST_PAUSES;
    f->misses--;
  }
  atomic_store_explicit(&f->pauses, more, memory_order_relaxed);
  return NULL;
}

/* Whether this call does not ask for a quick plan, since others before it found none. */
static bool pauses(nx_function *f) {
  uint32_t left = atomic_load_explicit(&f->pauses, memory_order_relaxed);
  if (left) atomic_store_explicit(&f->pauses, left - 1, memory_order_relaxed);
  return left != 0;
}

/* Both locks. */
static bool call(nx_function *f, nx_tensor *const *in, nx_tensor *const *out) {
  nx_context *c = f->context;
  NXI_HELD(&c->run_lock);
  NXI_HELD(&c->record_lock);
  nxi_buffer *buffers[NXI_BRIEF_INPUTS];
  void *at[NXI_BRIEF_INPUTS + NXI_BRIEF_OUTPUTS];
  nxi_drain_some(c, 16); /* dead nodes must not count as users */
  if (c->sessions || !find_memory(f, in, out, buffers, at)) return false;
  nxi_run *run = nxi_brief_workspace(c);
  if (!run || !nxi_call_key_of_whole(run, f, buffers)) return false;
  const nxi_executable *e = quick_plan(f, run);
  if (!e || !launch(run, f, e, at)) return false;
  for (uint32_t i = 0; i < f->n_out; i++) renew(c, out[i]->storage->value);
  c->brief_runs++;
  return true;
}

bool nxi_brief_call(nx_function *f, nx_tensor *const *in, nx_tensor *const *out) {
  nx_context *c = f->context;
  if (!is_plain(f) || nxi_callbacks_wait(c) || nxi_brief_watched()) return false;
  for (uint32_t i = 0; i < f->n_out; i++)
    if (!out[i]) return false;
  if (pauses(f)) return false;
  nxi_run_lock(c);
  nxi_record_lock(c);
  bool done = call(f, in, out);
  nxi_record_unlock(c);
  nxi_run_unlock(c);
  return done;
}
