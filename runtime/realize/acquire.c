/* SPDX-License-Identifier: ISC */
/* Acquiring: all that a run is going to compute, read and overwrite is acquired in one step under
 * the locks, or nothing is. So no run holds one value while it waits for another. Also the end of a
 * run: publishing its results, or releasing what it has acquired. */
#include <stdlib.h>

#include "ir/graph/control.h"
#include "ir/platform/clock.h"
#include "ir/platform/lock.h"
#include "ir/platform/thread.h"
#include "run.h"
#include "runtime/record/error.h"
#include "runtime/record/custom.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"
#include "runtime/record/record.h"

nx_status nxi_poll_now(const nx_run_options *o, nxi_diag *d) {
  NXI_NO_LOCK();
  if (!o || !o->poll || !o->poll(o->user)) return NX_OK;
  return nxi_fail(d, NX_INTERRUPTED, "", "%s", nx_status_sentence(NX_INTERRUPTED));
}

nx_status nxi_wait_change(nx_context *c, const nx_run_options *o, nxi_diag *d) {
  NXI_HELD(&c->run_lock);
  nxi_lock_wait(&c->changed, &c->run_lock, nxi_now_ns() + 10000000);
  atomic_store_explicit(&c->run_holder, nxi_thread_self(), memory_order_relaxed);
  if (!o || !o->poll) return NX_OK;
  nxi_run_unlock(c);
  nx_status status = nxi_poll_now(o, d);
  nxi_run_lock(c);
  return status;
}

/* ---- what may be overwritten */

/* Bits of nxi_run.stored. */
enum { STORED = 1, UPDATED = 2, GOES = 4 };

static nxi_node *updated_leaf(nxi_node *n) {
  if ((n->op != NXG_update && n->op != NXG_scatter) || n->state != NXI_PENDING) return NULL;
  nxi_node *old = nxi_node_args(n)[0];
  while (old->op == NXI_OP_CELL && old->state == NXI_PENDING) old = nxi_node_args(old)[0];
  return old->state == NXI_REALIZED ? old : NULL;
}

/* Marks the nodes that cannot be needed after this run. The nodes that the run stores release their
 * operands, and a node that has no other user is destroyed with them. All such nodes are first
 * removed from the table of nodes, so that recording does not find one of them again. */
static bool find_what_goes(nxi_run *run) {
  nx_context *c = run->context;
  if (!nxi_run_clear_edges(run)) return false;
  for (uint32_t i = run->n_order; i-- > 0;) {
    nxi_node *node = run->order[i];
    bool stored = run->stored[i] & STORED;
    if (node->state == NXI_PENDING) nxi_table_remove(c, node);
    nxi_node *leaf = updated_leaf(node);
    if (leaf && leaf->epoch == c->epoch) run->stored[leaf->index] |= UPDATED;
    if (!stored && node->refs != run->edges[i]) continue;
    run->stored[i] |= GOES;
    nxi_run_let_go(run, i);
  }
  return true;
}

static bool goes(const nxi_run *run, const nxi_node *n) {
  return n->epoch == run->context->epoch && run->stored[n->index] & GOES;
}

/* ---- host memory that belongs to two buffers, such as imports of an array and of its slice, or
 * memory that is mapped and then imported. Only this code detects such aliasing. If there is any,
 * results are computed elsewhere and copied to that memory after all inputs have been read. */

static bool add_span(nxi_run *run, const nxi_buffer *b) {
  if (!b || !b->bytes || !nxi_buffer_is_hosts(b)) return true;
  if (!nxi_grow(&run->spans, &run->cap_spans, run->n_spans + 1, sizeof *run->spans)) return false;
  uintptr_t begin = (uintptr_t)b->data;
  run->spans[run->n_spans++] = (struct nxi_span){begin, begin + (uintptr_t)b->bytes, b};
  return true;
}

/* Compares spans by address; the spans of one buffer, which are equal, become neighbours. */
static int compare_spans(const void *left, const void *right) {
  const struct nxi_span *a = left, *b = right;
  if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
  if (a->end != b->end) return a->end < b->end ? -1 : 1;
  return ((uintptr_t)a->buffer > (uintptr_t)b->buffer) -
         ((uintptr_t)a->buffer < (uintptr_t)b->buffer);
}

bool nxi_find_aliases(nxi_run *run) {
  bool any = false, good = true;
  run->n_spans = 0;
  for (uint32_t i = 0; i < run->n_outputs; i++) any |= run->outputs[i].destination != NULL;
  if (!any) return true;
  for (uint32_t i = 0; good && i < run->n_inputs; i++) good = add_span(run, run->inputs[i].buffer);
  for (uint32_t i = 0; good && i < run->n_outputs; i++)
    good = add_span(run, run->outputs[i].destination);
  if (!good) return false;
  if (run->n_spans > 1) qsort(run->spans, run->n_spans, sizeof *run->spans, compare_spans);
  uintptr_t reach = 0;
  for (uint32_t i = 0; i < run->n_spans; i++) {
    const struct nxi_span *s = &run->spans[i];
    if (i > 0 && s->buffer == s[-1].buffer) continue;
    run->may_alias = run->may_alias || s->begin < reach;
    if (s->end > reach) reach = s->end;
  }
  for (uint32_t i = 0; run->may_alias && i < run->n_outputs; i++) run->outputs[i].direct = false;
  return true;
}

/* ---- destinations */

/* The pinned storage whose memory must show this output, or NULL. */
static nxi_storage *home_of(const nxi_node *n) {
  nxi_storage *s = n->home;
  return s && s->pins && s->value == n ? s : NULL;
}

static bool is_given(const nxi_node *n) {
  return atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_GIVEN;
}

static bool may_overwrite(const nxi_run *run, const nxi_run_input *in) {
  nxi_buffer *b = in->buffer;
  /* A node that is read through views only is not a node of this run; its index belongs to another
   * run. */
  if (!in->node || in->node->epoch != run->context->epoch) return false;
  if ((run->stored[in->node->index] | (is_given(in->node) ? UPDATED : 0)) != (UPDATED | GOES))
    return false;
  if (b->immutable || !nxi_buffer_idle(b) || (run->may_alias && b->pinner)) return false;
  if (!b->pinner) return atomic_load_explicit(&b->refs, memory_order_relaxed) == 1;
  for (uint32_t i = 0; i < run->n_outputs; i++)
    if (home_of(run->outputs[i].node) == b->pinner) return true;
  return false;
}

bool nxi_run_is_free(const nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++)
    if (run->outputs[i].destination) return false;
  return true;
}

/* Finds the destinations of pinned outputs and the values they displace. Changes nothing;
 * NXI_WAIT. */
static nx_status find_destinations(nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    nxi_run_output *o = &run->outputs[i];
    nxi_storage *s = home_of(o->node);
    if (!s) continue;
    nxi_buffer *b = s->pinned;
    nxi_node *there = b->value;
    if (!nxi_buffer_idle(b) || (there && there->state == NXI_RUNNING)) return NXI_WAIT;
    /* it is destroyed if the run succeeds */
    bool kept = there && s->former == there && there->refs == 1;
    o->destination = b;
    o->displaced = there && !kept && !goes(run, there) ? there : NULL;
    o->direct = !there || kept;
    o->preserved = kept;
  }
  return NX_OK;
}

void nxi_publish(nxi_run *run) {
  NXI_HELD(&run->context->run_lock);
  NXI_HELD(&run->context->record_lock);
  nx_context *c = run->context;
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    nxi_run_output *o = &run->outputs[i];
    o->node->state = NXI_RUNNING;
    o->node->refs++;
    if (o->displaced) {
      o->displaced->state = NXI_RUNNING;
      o->displaced->refs++;
    }
    if (o->destination) {
      o->destination->writing = true;
      nxi_buffer_ref(o->destination);
    }
  }
  for (uint32_t i = 0; i < run->n_inputs; i++) {
    nxi_buffer_ref(run->inputs[i].buffer);
    run->inputs[i].buffer->reading++;
  }
  run->thread = nxi_thread_self();
  run->acquired = true;
  run->next = c->runs;
  c->runs = run;
}

nx_status nxi_acquire(nxi_run *run, nxi_diag *d) {
  NXI_HELD(&run->context->run_lock);
  nx_context *c = run->context;
  nxi_record_lock(c);
  bool pinned = false;
  for (uint32_t i = 0; i < run->n_outputs; i++) pinned |= home_of(run->outputs[i].node) != NULL;
  nx_status status = NX_OK;
  if (run->n_updates || run->n_given || pinned) {
    nxi_drain(c, 1024); /* dead nodes must not count as users */
    if (!find_what_goes(run)) status = nxi_oom(d);
    if (!status) status = find_destinations(run);
    if (!status && !nxi_find_aliases(run)) status = nxi_oom(d);
    for (uint32_t i = 0; !status && i < run->n_inputs; i++) {
      const nxi_run_input *in = &run->inputs[i];
      if (!may_overwrite(run, in)) continue;
      bool give = nxi_run_is_free(run) && is_given(in->node) && !in->buffer->pinner;
      run->key[in->flags_at] |= NXG_INPUT_OVERWRITE | (give ? NXG_INPUT_GIVEN : 0);
      run->hashed = false;
    }
  }
  if (!status) nxi_publish(run);
  nxi_record_unlock(c);
  return status;
}

/* ---- the end */

static void unlist(nxi_run *run) {
  nxi_run **at = &run->context->runs;
  while (*at != run) at = &(*at)->next;
  *at = run->next;
  run->acquired = false;
}

static void drop_operands(nx_context *c, nxi_node *n) {
  nxi_node **args = nxi_node_args(n);
  for (uint32_t i = 0; i < n->n_args; i++) nxi_node_unref(c, args[i]);
  n->n_args = 0;
  if (nxi_node_controls(n) && n->n_attrs) { /* nor do bodies run again */
    nxi_node_bodies(c, n, false);
    n->n_attrs = 0;
  }
  if (n->op != NXG_custom) return;
  nxi_custom_unref(c, nxi_node_attrs(n)); /* it may go before its result does */
  nxi_node_attrs(n)[NXG_CUSTOM_SELF] = 0;
}

/* Ends the donation of an input. back: the storage gets the donated value back, unless something
 * was assigned to it meanwhile. Otherwise the donated value fails, and all that needs it. */
static void settle_donated(nx_context *c, nxi_run_input *in, bool back, nx_status failure) {
  nxi_node *gone = in->gone;
  if (!gone) return;
  gone->state = back ? NXI_PENDING : NXI_FAILED;
  if (!back) {
    gone->failure = (uint8_t)failure;
    nxi_pending_end(c, gone);
    drop_operands(c, gone);
  } else if (in->donor->value == gone) {
    nxi_node *value = nxi_node_args(gone)[0];
    value->refs++;
    nxi_storage_set(c, in->donor, value);
  }
  nxi_node_unref(c, gone);
  nxi_storage_unref(c, in->donor);
  in->gone = NULL;
}

static void release_inputs(nxi_run *run) {
  for (uint32_t i = 0; i < run->n_inputs; i++) {
    run->inputs[i].buffer->reading--;
    nxi_buffer_unref(run->context, run->inputs[i].buffer);
  }
}

/* Makes b the memory of n; takes the reference. */
static void set_buffer(nx_context *c, nxi_node *n, nxi_buffer *b) {
  nxi_pinned_out(c, n);
  if (n->buffer) nxi_buffer_unref(c, n->buffer);
  n->buffer = b;
  if (b) b->value = n;
  nxi_pinned_in(c, n);
}

static void attach_output(nxi_run *run, nxi_run_output *o) {
  nx_context *c = run->context;
  nxi_node *n = o->node;
  nxi_buffer *b = o->buffer;
  if (o->in_place_of >= 0) { /* the old value has been overwritten; the output takes its memory */
    nxi_run_input *in = &run->inputs[o->in_place_of];
    if (!b) { /* otherwise it has been moved to other memory */
      b = in->buffer;
      nxi_buffer_ref(b);
    }
    in->node->state = NXI_FAILED;
    in->node->failure = NX_INTERNAL;
    set_buffer(c, in->node, NULL);
  }
  if (o->destination && o->destination != b) { /* the contents were moved or exchanged */
    if (o->displaced) set_buffer(c, o->displaced, b);
    else nxi_buffer_unref(c, b);
    b = o->destination;
    nxi_buffer_ref(b);
  }
  if (o->displaced) {
    o->displaced->state = NXI_REALIZED;
    nxi_node_unref(c, o->displaced);
  }
  if (o->destination) {
    o->destination->writing = false;
    nxi_buffer_unref(c, o->destination);
  }
  nxi_table_remove(c, n);
  set_buffer(c, n, b);
  nxi_pending_end(c, n);
  n->state = NXI_REALIZED;
  drop_operands(c, n);
  nxi_node_unref(c, n);
}

void nxi_attach_locked(nxi_run *run) {
  NXI_HELD(&run->context->run_lock);
  NXI_HELD(&run->context->record_lock);
  for (uint32_t i = 0; i < run->n_outputs; i++) attach_output(run, &run->outputs[i]);
  for (uint32_t i = 0; i < run->n_inputs; i++)
    settle_donated(run->context, &run->inputs[i], false, NX_DONATED);
  release_inputs(run);
  unlist(run);
}

void nxi_attach_unacquired(nxi_run *run, nxi_buffer *b) {
  NXI_HELD(&run->context->run_lock);
  NXI_HELD(&run->context->record_lock);
  nxi_run_output *o = &run->outputs[0];
  o->buffer = b;
  o->node->refs++; /* as nxi_publish, so that it lives to the end */
  attach_output(run, o);
}

void nxi_attach(nxi_run *run) {
  nx_context *c = run->context;
  nxi_record_lock(c);
  nxi_attach_locked(run);
  nxi_drain(c, 64 + 4 * run->n_outputs);
  nxi_record_unlock(c);
  nxi_condition_wake_all(&c->changed);
}

static bool is_ordered(nxi_node *n) {
  if (nxi_node_controls(n)) {
    uint32_t first, bodies = nxg_control_bodies((nxg_op)n->op, n->n_attrs, &first);
    for (uint32_t i = first; i < first + bodies; i++)
      if (nxg_body_find(nxi_node_attrs(n)[i])->is_ordered) return true;
  }
  return n->op == NXG_custom && nxi_node_attrs(n)[NXG_CUSTOM_ORDER];
}

/* Ordered operations that were called are not called again: they fail, all that the run was to call
 * of them. Both locks; before the outputs give up their references. */
static void fail_effects(nxi_run *run, nx_status failure, const char *why) {
  for (uint32_t i = 0; run->effects && !run->make_graph && i < run->n_order; i++) {
    nxi_node *n = run->order[i];
    if (n->state != NXI_PENDING || !is_ordered(n)) continue;
    nxi_pending_end(run->context, n);
    nxi_node_fail(n, failure, why);
  }
}

/* Makes the nodes of a run pending again. Those that cannot be fail instead: a leaf that a call was
 * going to fill, and memory that was half overwritten when its thread was lost in a fork, and
 * ordered operations that may have been called. Both locks. */
void nxi_release_locked(nxi_run *run, nx_status failure, const char *why) {
  NXI_HELD(&run->context->run_lock);
  NXI_HELD(&run->context->record_lock);
  nx_context *c = run->context;
  fail_effects(run, failure, why);
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    nxi_run_output *o = &run->outputs[i];
    bool lost = o->node->op == NXI_OP_LEAF || (run->overwriting && o->in_place_of >= 0) ||
                (run->effects && is_ordered(o->node));
    o->node->state = NXI_PENDING;
    o->node->failure = 0;
    if (lost) {
      nxi_node_fail(o->node, failure, why);
      nxi_pending_end(c, o->node);
    }
    if (o->displaced) {
      o->displaced->state = NXI_REALIZED;
      nxi_node_unref(c, o->displaced);
    }
    if (o->destination) {
      o->destination->writing = false;
      nxi_buffer_unref(c, o->destination);
    }
    if (o->buffer) nxi_buffer_unref(c, o->buffer);
    if (run->overwriting && o->in_place_of >= 0)
      settle_donated(c, &run->inputs[o->in_place_of], false, failure);
    nxi_node_unref(c, o->node);
  }
  for (uint32_t i = 0; i < run->n_inputs; i++) settle_donated(c, &run->inputs[i], true, failure);
  release_inputs(run);
  unlist(run);
}

void nxi_release(nxi_run *run, nx_status failure, const char *why) {
  NXI_NO_LOCK();
  nx_context *c = run->context;
  nxi_run_lock(c);
  nxi_record_lock(c);
  nxi_release_locked(run, failure, why);
  nxi_record_unlock(c);
  nxi_condition_wake_all(&c->changed);
  nxi_run_unlock(c);
}
