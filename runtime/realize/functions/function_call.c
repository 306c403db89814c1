/* SPDX-License-Identifier: ISC */
/* Calling functions. A call is one run. It reads its inputs and makes its assignments in one step,
 * under the locks. From then on the assigned storages have its results as values; if the call fails
 * they get their old values back. */
#include "function_call.h"

#include <stdio.h>
#include <string.h>

#include "ir/platform/lock.h"
#include "ir/platform/thread.h"
#include "runtime/record/assign.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* ---- what a call assigns */

/* Targets by storage. */
typedef struct target_index {
  uint32_t *slots, mask;
} target_index;

/* The slot of a storage in the index; free if it is not a target. */
static uint32_t *slot_of(const target_index *x, const nxi_call *k, const nxi_storage *s) {
  uint32_t at = (uint32_t)(s->id * 0x9e3779b97f4a7c15u >> 32) & x->mask;
  while (x->slots[at] != NXI_NONE && k->targets[x->slots[at]].storage != s) at = (at + 1) & x->mask;
  return &x->slots[at];
}

static bool writes_part(const nx_tensor *dst) {
  nxi_assign_form form;
  nxg_view v;
  if (dst->contiguous && dst->elements == dst->storage->elements) return false;
  nxg_view_contiguous(&v, dst->rank, nxi_shape(dst));
  nxi_assign_form_of(dst, &v, &form);
  return !form.whole;
}

static void find_targets(nxi_call *k, const target_index *x) {
  for (uint32_t j = 0; j < k->n_results; j++) {
    uint32_t i = nxi_call_result(k, j);
    nx_tensor *dst = nxi_call_destination(k, i);
    k->target_of[i] = NXI_NONE;
    if (nxi_call_is_new(k, i) || (dst && !dst->elements)) continue;
    nxi_storage *s = dst ? dst->storage : k->f->effects[i - k->f->n_out].storage;
    uint32_t *slot = slot_of(x, k, s);
    if (*slot == NXI_NONE) {
      *slot = k->n_targets++;
      k->targets[*slot] = (nxi_assignee){.storage = s,
                                         .first = i,
                                         .partial = dst && writes_part(dst),
                                         .input = NXI_NONE,
                                         .alias_range = NXI_NONE};
    }
    k->target_of[i] = *slot;
  }
}

static bool same_view(const nx_tensor *a, const nx_tensor *b) {
  if (a->offset != b->offset || !nxg_same_shape(a->rank, nxi_shape(a), b->rank, nxi_shape(b)))
    return false;
  for (int32_t i = 0; i < a->rank; i++)
    if (nxi_shape(a)[i] != 1 && nxi_strides(a)[i] != nxi_strides(b)[i]) return false;
  return true;
}

/* Whether the start of a partial assignment is a separate input. It is not for i4 and u4, which may
 * start between bytes; the offset is then part of the key. */
static bool has_alias_range(const nxi_assignee *t) { return !nxi_is_nibble(t->storage->dtype); }

/* Finds the inputs of the run, and which of them are old values of targets. */
static void find_inputs(nxi_call *k, const target_index *x) {
  nx_function *f = k->f;
  for (uint32_t i = 0; i < k->n_inputs; i++) {
    nxi_storage *s = i < f->n_in ? k->in[i]->storage : f->sources[i - f->n_in].cell;
    k->storages[i] = s;
    uint32_t number = s && k->n_targets ? *slot_of(x, k, s) : NXI_NONE;
    if (number == NXI_NONE) continue;
    nxi_assignee *t = &k->targets[number];
    t->reads++;
    if (t->input == NXI_NONE && (i >= f->n_in || k->in[i]->whole)) t->input = i;
    if (t->alias_range == NXI_NONE && t->partial && i < f->n_in && has_alias_range(t) &&
        same_view(k->in[i], nxi_call_destination(k, t->first)))
      t->alias_range = i;
  }
  k->n_values = k->n_inputs;
  for (uint32_t n = 0; n < k->n_targets; n++) {
    nxi_assignee *t = &k->targets[n];
    if (!t->partial || t->input != NXI_NONE) continue;
    t->input = k->n_values;
    t->reads++;
    k->storages[k->n_values++] = t->storage;
  }
  for (uint32_t n = 0; n < k->n_targets; n++) {
    nxi_assignee *t = &k->targets[n];
    if (t->partial && t->alias_range == NXI_NONE && has_alias_range(t))
      t->alias_range = k->n_values + k->n_alias_ranges++;
  }
}

/* Room for the arrays of a call of a function with few inputs and results. */
typedef struct few_arrays {
  _Alignas(16) char bytes[512];
} few_arrays;

/* All arrays of the call lie in one block, pointers first. */
static bool prepare(nxi_call *k, few_arrays *few) {
  const nx_function *f = k->f;
  size_t most = (size_t)k->n_inputs + k->n_results, slots = 2;
  while (slots < 2 * (size_t)k->n_results) slots *= 2;
  size_t bytes = (2 * most + f->n_out + f->n_in) * sizeof(void *) +
                 k->n_results * (sizeof *k->targets + sizeof *k->target_of) +
                 slots * sizeof(uint32_t);
  k->storages = bytes <= sizeof *few ? memset(few, 0, bytes) : nxi_calloc(1, bytes);
  if (!k->storages) return false;
  k->values = (nxi_node **)(void *)(k->storages + most);
  k->gone = k->values + most;
  k->results = (nx_tensor **)(void *)(k->gone + f->n_in);
  k->targets = (nxi_assignee *)(void *)(k->results + f->n_out);
  k->target_of = (uint32_t *)(void *)(k->targets + k->n_results);
  target_index x = {k->target_of + k->n_results, (uint32_t)slots - 1};
  memset(x.slots, 0xff, slots * sizeof *x.slots);
  find_targets(k, &x);
  find_inputs(k, &x);
  return true;
}

/* ---- inputs */

static nxi_node *current_value(const nxi_call *k, uint32_t i) {
  const nxi_storage *s = k->storages[i];
  return s ? s->value : k->f->sources[i - k->f->n_in].node;
}

/* Takes the current values, with references. record_lock. */
static void take_values(nxi_call *k) {
  NXI_HELD(&k->a->context->record_lock);
  for (uint32_t i = 0; i < k->n_values; i++) {
    k->values[i] = current_value(k, i);
    k->values[i]->refs++;
  }
}

static void drop_values(nxi_call *k) {
  for (uint32_t i = 0; i < k->n_values; i++)
    if (k->values[i]) nxi_node_unref(k->a->context, k->values[i]);
  memset(k->values, 0, k->n_values * sizeof *k->values);
}

/* Both locks. */
static bool are_realized(const nxi_call *k) {
  for (uint32_t i = 0; i < k->n_values; i++)
    if (k->values[i]->state != NXI_REALIZED) return false;
  return true;
}

/* True if all, which are realised, may be read now. Both locks. */
static bool ready(const nxi_call *k) {
  for (uint32_t i = 0; i < k->n_values; i++)
    if (k->values[i]->buffer->writing) return false;
  return true;
}

/* Realises what the inputs need. */
static nx_status realize_inputs(nxi_call *k) {
  nx_context *c = k->a->context;
  nxi_record_lock(c);
  nxi_drain(c, 64);
  bool all = true;
  for (uint32_t i = 0; i < k->n_values; i++) all &= current_value(k, i)->state == NXI_REALIZED;
  if (!all) take_values(k);
  nxi_record_unlock(c);
  if (all) return NX_OK;
  nx_status status = nxi_realize_nodes(k->a, k->values, k->n_values);
  nxi_record_lock(c);
  drop_values(k);
  nxi_record_unlock(c);
  return status;
}

/* ---- what may be overwritten: the old value of a storage that the call assigns, and a donated
 * value, if there are no other references to it. Both locks. `known`: the number of references that
 * belong to the call and to the storage, or to what the storage names instead. */

static void allow_overwrite(nxi_call *k, uint32_t i, uint32_t known, bool give) {
  nxi_run_input *in = &k->run->inputs[i];
  nxi_buffer *b = in->buffer;
  if (!in->node || in->node->refs != known || b->immutable || !nxi_buffer_idle(b)) return;
  if (k->run->may_alias && b->pinner) return;
  if (b->pinner ? b->pinner != k->storages[i]
                : atomic_load_explicit(&b->refs, memory_order_relaxed) != 1)
    return;
  k->run->key[in->flags_at] |= NXG_INPUT_OVERWRITE | (give && !b->pinner ? NXG_INPUT_GIVEN : 0);
}

static void allow_overwrites(nxi_call *k) {
  nx_function *f = k->f;
  const bool give = nxi_run_is_free(k->run);
  for (uint32_t i = 0; i < f->n_in; i++)
    if (k->run->inputs[i].gone) allow_overwrite(k, i, 2, give);
  for (uint32_t n = 0; n < k->n_targets; n++) {
    const nxi_assignee *t = &k->targets[n];
    if (t->input != NXI_NONE) allow_overwrite(k, t->input, 1 + t->reads, give);
  }
}

/* Makes the nodes that the storages of donated inputs will name, before anything is changed.
 * record_lock. */
static bool make_gone(nxi_call *k) {
  NXI_HELD(&k->a->context->record_lock);
  nx_context *c = k->a->context;
  for (uint32_t i = 0; i < k->f->n_in; i++) {
    nxi_node *value = k->values[i];
    if (!k->f->donate[i]) continue;
    nxi_recording r = {.context = c,
                       .op = NXG_copy,
                       .dtype = value->dtype,
                       .device = value->device,
                       .rank = value->rank,
                       .shape = nxi_node_shape(value)};
    value->refs++;
    k->gone[i] = nxi_record_unary_alone(&r, value);
    if (!k->gone[i]) return false;
  }
  return true;
}

static void drop_gone(nxi_call *k) {
  for (uint32_t i = 0; i < k->f->n_in; i++) {
    if (k->gone[i]) nxi_node_unref(k->a->context, k->gone[i]);
    k->gone[i] = NULL;
  }
}

/* Detaches the donated values from their storages, so that no other call can take them too. A
 * storage that is passed twice is donated once. A storage that gets a result keeps that, and a
 * mapped storage keeps its value. record_lock. */
static void donate(nxi_call *k) {
  for (uint32_t i = 0; i < k->f->n_in; i++) {
    nxi_storage *s = k->in[i]->storage;
    nxi_node *gone = k->gone[i];
    if (!gone || s->pins || s->value != k->values[i]) continue;
    gone->state = NXI_RUNNING;
    gone->refs++;
    s->refs++;
    k->run->inputs[i].donor = s;
    k->run->inputs[i].gone = gone;
    nxi_storage_set(k->a->context, s, gone);
    k->gone[i] = NULL;
  }
  drop_gone(k);
}

/* ---- outputs: new leaves, which the run fills */

static nxi_node *add_leaf(nxi_call *k, nx_dtype dtype, int32_t rank, const int64_t *shape) {
  nxi_run *run = k->run;
  if (!nxi_grow(&run->outputs, &run->cap_outputs, run->n_outputs + 1, sizeof *run->outputs))
    return NULL;
  nxi_node *leaf =
      nxi_leaf_create(k->a->context, NXI_OP_LEAF, k->f->device, dtype, rank, shape, NULL);
  if (leaf) run->outputs[run->n_outputs++] = (nxi_run_output){.node = leaf, .in_place_of = -1};
  return leaf;
}

/* Both locks. After a failure some results may exist; drop_results removes them. */
static bool make_results(nxi_call *k) {
  nx_context *c = k->a->context;
  const nxg_graph *g = k->f->graph;
  for (uint32_t j = 0; j < k->n_results; j++) {
    uint32_t i = nxi_call_result(k, j);
    const nxg_node *n = &g->nodes[g->outputs[i].node];
    if (!nxi_call_is_new(k, i)) continue;
    nxi_node *leaf = add_leaf(k, n->dtype, n->rank, n->shape);
    if (!leaf || !(k->results[i] = nxi_tensor_of_node(c, leaf))) return false;
  }
  for (uint32_t i = 0; i < k->n_targets; i++) {
    nxi_assignee *t = &k->targets[i];
    const nxi_node *old = t->storage->value;
    t->leaf = add_leaf(k, t->storage->dtype, old->rank, old->tail);
    if (!t->leaf) return false;
  }
  return true;
}

/* Drops the leaves of a failed attempt, which no storage names yet. record_lock. */
static void drop_leaves(nxi_call *k) {
  NXI_HELD(&k->a->context->record_lock);
  for (uint32_t i = 0; i < k->n_targets; i++) {
    if (k->targets[i].leaf) nxi_node_unref(k->a->context, k->targets[i].leaf);
    k->targets[i].leaf = NULL;
  }
  k->run->n_outputs = 0;
}

static void drop_results(nxi_call *k) {
  for (uint32_t i = 0; i < k->f->n_out; i++) nx_tensor_release(k->results[i]);
  memset(k->results, 0, k->f->n_out * sizeof *k->results);
}

static nxi_run_output *output_of(const nxi_call *k, uint32_t target) {
  return &k->run->outputs[k->run->n_outputs - k->n_targets + target];
}

/* Decides about the value that is in the memory of a pinned target. It is displaced if it is still
 * needed; the run may write there directly if it does not read that value itself. NXI_WAIT. Both
 * locks. */
static nx_status find_destination(nxi_call *k, uint32_t i) {
  const nxi_assignee *t = &k->targets[i];
  nxi_run_output *o = output_of(k, i);
  nxi_buffer *b = t->storage->pinned;
  if (!b) return NX_OK;
  nxi_node *there = b->value;
  if (!nxi_buffer_idle(b) || (there && there->state == NXI_RUNNING)) return NXI_WAIT;
  /* no other references */
  bool old = there && there == t->storage->value && there->refs == 1 + t->reads;
  o->destination = b;
  o->displaced = old ? NULL : there;
  o->direct = !there || (old && !t->reads);
  o->preserved = there != NULL;
  return NX_OK;
}

/* Gives the storages their new values. This cannot fail. record_lock. */
static void assign_targets(nxi_call *k) {
  NXI_HELD(&k->a->context->record_lock);
  for (uint32_t i = 0; i < k->n_targets; i++) {
    nxi_assignee *t = &k->targets[i];
    nxi_storage *s = t->storage;
    t->before = s->value;
    t->before->refs++;
    if (s->pins) {
      uint8_t kept = NXI_NODE_EXPOSED | NXI_NODE_FOREIGN,
              flags = atomic_load_explicit(&t->before->flags, memory_order_relaxed);
      nxi_node_mark(t->leaf, flags & kept);
      t->leaf->home = s;
    }
    nxi_storage_set(k->a->context, s, t->leaf);
  }
}

/* Ends the assignments. back: the storages get their old values back, unless something else was
 * assigned meanwhile. record_lock. */
static void settle_targets(nxi_call *k, bool back) {
  NXI_HELD(&k->a->context->record_lock);
  nx_context *c = k->a->context;
  for (uint32_t i = 0; i < k->n_targets; i++) {
    nxi_assignee *t = &k->targets[i];
    nxi_storage *s = t->storage;
    if (!t->before) continue;
    if (back && s->value == t->leaf) {
      nxi_storage_set(c, s, t->before);
      if (s->pins) s->value->home = s;
    } else {
      nxi_node_unref(c, t->before);
    }
    t->before = t->leaf = NULL;
  }
}

/* ---- the call */

/* The step that makes the call take effect. NXI_WAIT if an input is not realised, or is in use.
 * run_lock is held if it succeeds. */
static nx_status begin(nxi_call *k) {
  nx_context *c = k->a->context;
  nxi_run_lock(c);
  nxi_record_lock(c);
  nxi_drain(c, 64); /* dead nodes must not count as users */
  take_values(k);
  const bool realized = are_realized(k);
  nx_status status = realized && ready(k) ? NX_OK : NXI_WAIT;
  if (!status && !(nxi_call_key(k) && make_results(k) && make_gone(k)))
    status = nxi_oom_during(&k->a->diag, NX_OUT_OF_MEMORY, "planning");
  for (uint32_t i = 0; !status && i < k->n_targets; i++) status = find_destination(k, i);
  if (!status && !nxi_find_aliases(k->run))
    status = nxi_oom_during(&k->a->diag, NX_OUT_OF_MEMORY, "planning");
  if (!status) {
    assign_targets(k);
    donate(k);
    allow_overwrites(k);
    nxi_publish(k->run);
  } else {
    drop_gone(k);
    drop_leaves(k);
    drop_values(k);
  }
  nxi_record_unlock(c);
  if (!status) return NX_OK;
  if (status == NXI_WAIT && realized) {
    nx_status waited = nxi_wait_change(c, k->a->options, &k->a->diag);
    if (waited) status = waited;
  }
  nxi_run_unlock(c);
  drop_results(k);
  return status;
}

/* Before the end of a call that failed. run_lock, which is released meanwhile. */
static void take_back(nxi_call *k, nx_status status) {
  nx_context *c = k->a->context;
  nxi_record_lock(c);
  settle_targets(k, true);
  nxi_record_unlock(c);
  nxi_run_unlock(c);
  nxi_release(k->run, status, k->a->diag.message);
  nxi_run_lock(c);
}

/* run_lock, which is released. */
static void end(nxi_call *k, nx_status status) {
  nx_context *c = k->a->context;
  if (status) take_back(k, status);
  nxi_record_lock(c);
  if (!status) nxi_attach_locked(k->run);
  settle_targets(k, false);
  drop_values(k);
  nxi_drain(c, 64 + 4 * k->run->n_outputs);
  nxi_record_unlock(c);
  nxi_condition_wake_all(&c->changed);
  nxi_run_unlock(c);
}

/* Sets the tag of the operation in the function that failed. */
static void blame(nxi_call *k) {
  nxi_action *a = k->a;
  const nxg_graph *g = k->f->graph;
  int32_t node = a->diag.node;
  if (node < 0 || (uint32_t)node >= g->n_nodes) return;
  const char *text = g->nodes[node].tag_text;
  nxi_oom_in(&a->diag, a->diag.status, nxi_op_name(g->nodes[node].op));
  nxi_called_diag(&a->diag, g->nodes[node].called);
  a->blamed = true;
  a->output = -1;
  a->tag = g->nodes[node].tag;
  snprintf(a->tag_text, sizeof a->tag_text, "%s", text ? text : "");
}

static nx_status run_call(nxi_call *k) {
  nx_status status;
  k->run->options = k->a->options;
  k->run->stopped = k->a->stopped;
  k->run->report = &k->a->report;
  status = nxi_action_asked(k->a, k->in, k->f->n_in);
  if (status || !k->n_results) return status;
  status = begin(k); /* most calls find their inputs realised */
  while (status == NXI_WAIT) {
    status = realize_inputs(k);
    if (!status) status = begin(k);
  }
  if (status) return status;
  status = nxi_execute(k->run, k->a);
  if (status) blame(k);
  end(k, status);
  return status;
}

static void let_go(nxi_call *k, const few_arrays *few, nx_tensor **out, nx_status status) {
  for (uint32_t i = 0; k->storages && i < k->f->n_out; i++) {
    if (!status && !out[i]) out[i] = k->results[i];
    else nx_tensor_release(k->results[i]);
  }
  nxi_run_give(k->run);
  if ((const void *)k->storages != few) nxi_free(k->storages);
}

/* A placeholder of a capture that has not ended has no memory, so a call, which happens now, cannot
 * assign it. */
static bool are_bound(const nx_function *f, nx_tensor *const *out, nxi_diag *d) {
  const char *name = f->graph->name;
  bool bound = true;
  nxi_record_lock(f->context);
  for (uint32_t i = 0; bound && i < f->n_out; i++) {
    bound = !out[i] || !out[i]->storage->session;
    if (!bound) nxi_fail(d, NX_UNBOUND, name, "%s: output %u is a placeholder", name, i);
  }
  nxi_record_unlock(f->context);
  return bound;
}

nx_status nx_function_call(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                           size_t n_out, const nx_run_options *o) {
  nxi_diag d;
  if (!nxi_have_function("function", 0, f)) return NX_INVALID_ARGUMENT;
  if (!nxi_function_check(f, in, n_in, out, n_out, &d)) return nxi_error_report(&d);
  const bool only = nxi_brief_only(o);
  if ((!o || only) && nxi_brief_call(f, in, out, !o)) return NX_OK;
  if (only) return nxi_brief_refused(f->graph->name);
  if (!are_bound(f, out, &d)) return nxi_error_report(&d);
  few_arrays few;
  nxi_action a;
  nxi_action_begin(&a, f->context, o);
  nxi_call k = {.a = &a,
                .f = f,
                .in = in,
                .out = out,
                .n_inputs = f->n_in + f->n_sources,
                .n_results = f->n_out + f->n_effects};
  nx_status status = prepare(&k, &few) ? NX_OK : nxi_oom(&a.diag);
  if (!status) {
    k.run = nxi_run_take(f->context, &a.diag);
    status = k.run ? run_call(&k) : NX_OUT_OF_MEMORY;
  }
  let_go(&k, &few, out, status);
  nxi_oom_in(&a.diag, status, f->graph->name);
  return nxi_action_end(&a, status);
}
