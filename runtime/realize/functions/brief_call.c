/* SPDX-License-Identifier: ISC */
/* Brief calls. A program that calls a function again and again with whole arrays, into new tensors
 * or arrays of its own that nobody else looks at, and whose plan takes microseconds, wants nothing
 * of the general way: the new value of an array takes the memory of the old one, which nobody can
 * see any more, a new tensor is made with its value, and both locks are held meanwhile, so nothing
 * has to be acquired, published, or waited for. Nothing here can fail but for a want of memory,
 * which the general way then finds as well, and has words for.
 *
 * The key is that of the general way (function_key.c), so a result has the same bits either way.
 * Whatever is unusual goes the general way: views, results that are inputs too, values that others
 * hold or host code may see, large results, donations, effects, reports, polls, traces. A
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

/* A call: addresses of the inputs and then of the plan's results, new tensors before others. */
typedef struct brief_call {
  nx_function *f;
  nx_tensor *const *in, *const *out;
  nxi_buffer *buffers[NXI_BRIEF_INPUTS];
  void *at[NXI_BRIEF_INPUTS + NXI_BRIEF_OUTPUTS];
  nx_tensor *made[NXI_BRIEF_OUTPUTS]; /* where the caller gave no tensor */
  uint32_t n_new;
} brief_call;

/* Addresses that are known: all but those of new tensors. Both locks. */
static bool find_memory(brief_call *k) {
  const uint32_t n_in = k->f->n_in;
  for (uint32_t i = 0; i < n_in; i++) {
    if (!(k->buffers[i] = readable(k->in[i]))) return false;
    k->at[i] = k->buffers[i]->data;
  }
  for (uint32_t i = 0; i < k->f->n_out; i++) k->n_new += !k->out[i];
  uint32_t n = n_in + k->n_new;
  for (uint32_t i = 0; i < k->f->n_out; i++) {
    if (!k->out[i]) continue;
    const nxi_buffer *b = writable(k->out[i]);
    if (!b) return false;
    for (uint32_t j = 0; j < n; j++)
      if (k->at[j] == b->data) return false;
    k->at[n++] = b->data;
  }
  return true;
}

/* A tensor of the function's result i, with memory that is to be filled. Both locks. */
static nx_tensor *make_tensor(nx_context *c, const nx_function *f, uint32_t i, int64_t bytes) {
  NXI_HELD(&c->record_lock);
  const nxg_node *n = &f->graph->nodes[f->graph->outputs[i].node];
  bool ready = bytes > 0 && (bytes <= NXI_SMALL_BUFFER || nxi_buffer_ready(c->allocator, bytes));
  nxi_buffer *b = ready ? nxi_buffer_create_small(c, bytes) : NULL;
  nxi_node *leaf =
      b ? nxi_leaf_create(c, NXI_OP_LEAF, f->device, n->dtype, n->rank, n->shape, b) : NULL;
  return leaf ? nxi_tensor_of_node(c, leaf) : NULL;
}

/* Both locks. False: some may exist. */
static bool make_tensors(brief_call *k, const nxp_plan *plan) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < k->f->n_out; i++) {
    if (k->out[i]) continue;
    k->made[i] = make_tensor(k->f->context, k->f, i, plan->outputs[n].bytes);
    if (!k->made[i]) return false;
    k->at[k->f->n_in + n++] = k->made[i]->storage->value->buffer->data;
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

/* Memory for intermediate results, which the workspace keeps; NULL without memory. run_lock. */
static void *temporary(nx_context *c, int64_t bytes) {
  NXI_HELD(&c->run_lock);
  nxi_run *run = bytes > NXI_QUICK_BYTES ? NULL : nxi_brief_workspace(c);
  if (!run) return NULL;
  if (!run->temporary) run->temporary = nxi_malloc(NXI_QUICK_BYTES + 64);
  uintptr_t at = (uintptr_t)run->temporary;
  return at ? (void *)((at + 63) & ~(uintptr_t)63) : NULL;
}

static bool launch(const nx_function *f, const nxi_executable *e, void **at) {
  NXI_HELD(&f->context->run_lock);
  nxi_launch l = {.inputs = at, .outputs = at + f->n_in};
  int64_t bytes = nxi_executable_plan(e)->temporary_bytes;
  if (bytes && !(l.temporary = temporary(f->context, bytes))) return false;
  l.pool = nxi_device_opened(f->context, f->device)->pool;
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_executable_launch(e, &l, &d);
  return true;
}

enum { FREE_MISSES = 4, MOST_PAUSES = 1 << 10 };

/* The plan, if it is a quick one. run_lock. */
static const nxi_executable *quick_plan(nx_function *f, const uint64_t *key, uint32_t n_key) {
  NXI_HELD(&f->context->run_lock);
  const nxi_executable *e = nxi_plan_brief(f->context->plans, key, n_key);
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
static bool call(brief_call *k) {
  nx_function *f = k->f;
  nx_context *c = f->context;
  NXI_HELD(&c->run_lock);
  NXI_HELD(&c->record_lock);
  nxi_drain_some(c, 16); /* dead nodes must not count as users */
  if (c->sessions || !find_memory(k)) return false;
  uint64_t key[NXI_BRIEF_WORDS];
  const uint32_t n_key = nxi_call_key_of_whole(f, k->buffers, k->out, key);
  const nxi_executable *e = quick_plan(f, key, n_key);
  if (!e || !make_tensors(k, nxi_executable_plan(e)) || !launch(f, e, k->at)) return false;
  for (uint32_t i = 0; i < f->n_out; i++)
    if (k->out[i]) renew(c, k->out[i]->storage->value);
  c->brief_runs++;
  return true;
}

bool nxi_brief_call(nx_function *f, nx_tensor *const *in, nx_tensor **out, bool may_wait) {
  nx_context *c = f->context;
  if (!is_plain(f) || nxi_callbacks_wait(c) || nxi_brief_watched() || pauses(f)) return false;
  brief_call k = {.f = f, .in = in, .out = out};
  if (may_wait) nxi_run_lock(c);
  else if (!nxi_run_try(c)) return false;
  nxi_record_lock(c);
  bool done = call(&k);
  nxi_record_unlock(c);
  nxi_run_unlock(c);
  for (uint32_t i = 0; i < f->n_out; i++) {
    if (!done) nx_tensor_release(k.made[i]);
    else if (!out[i]) out[i] = k.made[i];
  }
  return done;
}
