/* SPDX-License-Identifier: ISC */
/* Calling functions. A call is one run: its inputs are read and its assigns take place at one moment, under the
 * locks; storages that it assigns name its results from then on, and get their old values back if it fails.
 *
 * The key of a call names the function and how its inputs lie in memory, so a call costs nothing for each node. */
#include "runtime/debug.h"
#include "runtime/function.h"

#define CALL_MARK (UINT64_MAX - 1) /* no head of a node looks like this */

typedef struct call {
  nxi_action *a;
  nx_function *f;
  nxi_run *run;
  nx_tensor *const *in;
  nx_tensor *const *out;        /* as the caller gave them */
  uint32_t n_inputs, n_outputs; /* of the graph */
  nxi_node **values; /* what each graph input holds at the moment of the call; one reference each */
  nx_tensor **results; /* for each graph output */
  nxi_node **befores;  /* for each effect on a storage: its old value; one reference */
  nxi_node **replaced,
      **assigned; /* for each graph output that the caller's tensor gets: old value, new one; a reference each */
  nxi_node **gone; /* for each donated input: what it is afterwards */
} call;

/* ---- the graph for one way in which inputs lie */

/* Words of an input: flags, alias, 0 if it is dense, else 1 and span, low, strides. */
static uint32_t add_input(nxg_graph *g, const nxg_node *n, const uint64_t **at) {
  const uint64_t *w = *at;
  int32_t alias = (int32_t)w[1];
  *at = w + 3;
  if (!w[2]) return nxg_add_input(g, n->dtype, n->rank, n->shape, (uint32_t)w[0], alias, n->name);
  int64_t span = (int64_t)w[3], attrs[1 + NXG_MAX_RANK];
  uint32_t input = nxg_add_input(g, n->dtype, 1, &span, (uint32_t)w[0], alias, n->name);
  attrs[0] = -(int64_t)w[4];
  for (uint32_t i = 0; i < n->rank; i++) attrs[1 + i] = (int64_t)w[5 + i];
  *at = w + 5 + n->rank;
  return input == UINT32_MAX
             ? input
             : nxg_add(g, NXG_view, 1, &input, attrs, 1 + n->rank, n->dtype, n->rank, n->shape);
}

static bool add_nodes(const nxg_graph *from, nxg_graph *g, const uint64_t *at, uint32_t *numbers,
                      uint32_t *args) {
  for (uint32_t i = 0; i < from->n_nodes; i++) {
    const nxg_node *n = &from->nodes[i];
    for (uint32_t k = 0; k < n->n_args; k++) args[k] = numbers[n->args[k]];
    numbers[i] = n->op == NXG_input ? add_input(g, n, &at)
                                    : nxg_add(g, (nxg_op)n->op, n->n_args, args, n->attrs,
                                              n->n_attrs, n->dtype, n->rank, n->shape);
    if (numbers[i] == UINT32_MAX) return false;
  }
  return true;
}

/* An output that is an input, or an output already, is a copy. */
static void add_outputs(const nxg_graph *from, nxg_graph *g, const uint32_t *numbers) {
  uint8_t *taken = nxi_calloc(from->n_nodes, 1);
  if (!taken) g->failed = true;
  for (uint32_t i = 0; taken && i < from->n_outputs; i++) {
    const nxg_node *n = &from->nodes[from->outputs[i].node];
    uint32_t number = numbers[from->outputs[i].node];
    if (n->op == NXG_input || taken[from->outputs[i].node])
      number = nxg_add(g, NXG_copy, 1, &number, NULL, 0, n->dtype, n->rank, n->shape);
    taken[from->outputs[i].node] = 1;
    if (number != UINT32_MAX) nxg_add_output(g, number, from->outputs[i].name);
  }
  nxi_free(taken);
}

static nx_status make_graph(nxi_run *run, nxg_graph **out, nxi_diag *d) {
  const nxg_graph *from = ((nx_function *)run->user)->graph;
  uint32_t most = 1;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    if (from->nodes[i].n_args > most) most = from->nodes[i].n_args;
  nxg_graph *g = nxg_create(from->name);
  uint32_t *numbers = nxi_malloc(((size_t)from->n_nodes + most) * sizeof *numbers);
  bool good = g && numbers && add_nodes(from, g, run->key + 3, numbers, numbers + from->n_nodes);
  if (good) add_outputs(from, g, numbers);
  nxi_free(numbers);
  if (good && !g->failed) {
    *out = g;
    return NX_OK;
  }
  nxg_destroy(g);
  return nxi_oom(d);
}

/* ---- inputs */

static nxi_storage *storage_of(const call *k, uint32_t i) {
  return i < k->f->n_in ? k->in[i]->storage : k->f->sources[i - k->f->n_in].cell;
}

/* The present values, with references. record_lock. */
static void take_values(call *k) {
  for (uint32_t i = 0; i < k->n_inputs; i++) {
    nxi_storage *s = storage_of(k, i);
    k->values[i] = s ? s->value : k->f->sources[i - k->f->n_in].node;
    k->values[i]->refs++;
  }
}

static void drop_values(call *k) {
  for (uint32_t i = 0; i < k->n_inputs; i++)
    if (k->values[i]) nxi_node_unref(k->a->context, k->values[i]);
  memset(k->values, 0, k->n_inputs * sizeof *k->values);
}

/* True if all are realised and may be read now. Both locks. */
static bool ready(const call *k) {
  for (uint32_t i = 0; i < k->n_inputs; i++)
    if (k->values[i]->state != NXI_REALIZED || k->values[i]->buffer->writing) return false;
  return true;
}

/* One input of the run, and its words of the key. run_lock. */
static bool add_key_input(call *k, uint32_t i) {
  nxi_node *value = k->values[i];
  nxi_run *run = k->run;
  nx_tensor *t = i < k->f->n_in ? k->in[i] : NULL;
  int64_t size = nxi_dtype_size(value->dtype), low = 0, span = 1, offset = t ? t->offset : 0;
  int64_t elements = t ? t->elements : value->elements;
  bool dense = !t || t->contiguous || elements == 0;
  for (int32_t axis = 0; !dense && axis < t->rank; axis++) {
    int64_t reach = (nxi_shape(t)[axis] - 1) * nxi_strides(t)[axis];
    if (reach < 0) low += reach;
    span += reach < 0 ? -reach : reach;
  }
  if (dense) span = elements;
  bool whole = dense && offset == 0 && elements == value->elements;
  if (!nxi_run_add_input(run, value->buffer, (offset + low) * size, span * size,
                         whole ? value : NULL))
    return false;
  run->inputs[run->n_inputs - 1].flags_at = run->n_key;
  uint64_t words[5 + NXG_MAX_RANK] = {
      whole && ((uintptr_t)value->buffer->data & 63) == 0 ? NXG_INPUT_ALIGNED : 0,
      (uint64_t)nxi_run_alias(run, value->buffer), !dense, (uint64_t)span, (uint64_t)low};
  for (int32_t axis = 0; !dense && axis < t->rank; axis++)
    words[5 + axis] = (uint64_t)nxi_strides(t)[axis];
  return nxi_key_words(run, words, dense ? 3 : 5 + (uint32_t)t->rank);
}

static bool make_key(call *k) {
  nxi_run *run = k->run;
  nxi_run_reset(run);
  run->context->epoch++;
  run->device = k->f->device;
  run->make_graph = make_graph;
  run->user = k->f;
  uint64_t head[3] = {CALL_MARK, k->f->id,
                      (uint64_t)k->f->device | (uint64_t)nxi_debug_fuse() << 32};
  run->fuse = nxi_debug_fuse();
  if (!nxi_key_words(run, head, 3)) return false;
  for (uint32_t i = 0; i < k->n_inputs; i++)
    if (!add_key_input(k, i)) return false;
  return true;
}

/* ---- what may be overwritten: the old value of a storage that the call assigns, and what is donated, if nothing
 * else knows it. Both locks. */

static void allow_overwrite(call *k, uint32_t i) {
  nxi_run_input *in = &k->run->inputs[i];
  nxi_buffer *b = in->buffer;
  nxi_storage *s = storage_of(k, i);
  if (!in->node || in->node->refs != 2 || b->immutable || !nxi_buffer_idle(b))
    return; /* the storage's, ours */
  if (b->pinner ? b->pinner != s : atomic_load_explicit(&b->refs, memory_order_relaxed) != 1)
    return;
  for (uint32_t other = 0; other < k->n_inputs; other++)
    if (other != i && k->run->inputs[other].buffer == b) return;
  k->run->key[in->flags_at] |= NXG_INPUT_OVERWRITE;
}

static void allow_overwrites(call *k) {
  nx_function *f = k->f;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (f->donate[i] && !k->in[i]->storage->pins) allow_overwrite(k, i);
  for (uint32_t i = 0; i < f->n_effects; i++)
    if (f->effects[i].source != UINT32_MAX) allow_overwrite(k, f->effects[i].source);
}

/* Nobody else reads a donated value that is being overwritten; if the call fails it is what it was. Both locks. */
static void lock_donated(call *k, nxi_state state) {
  for (uint32_t i = 0; i < k->f->n_in; i++) {
    bool given = k->f->donate[i] && k->run->key[k->run->inputs[i].flags_at] & NXG_INPUT_OVERWRITE;
    if (given && k->values[i]->state != NXI_FAILED) k->values[i]->state = (uint8_t)state;
  }
}

/* ---- outputs */

/* New leaves, which the run fills, and handles for them. Both locks. */
static bool make_results(call *k) {
  nx_context *c = k->a->context;
  const nxg_graph *g = k->f->graph;
  for (uint32_t i = 0; i < k->n_outputs; i++) {
    const nxg_node *n = &g->nodes[g->outputs[i].node];
    if (!nxi_grow(&k->run->outputs, &k->run->cap_outputs, i + 1, sizeof *k->run->outputs))
      return false;
    nxi_node *leaf =
        nxi_leaf_create(c, NXI_OP_LEAF, k->f->device, n->dtype, n->rank, n->shape, NULL);
    if (!leaf) return false;
    k->results[i] = nxi_tensor_of_node(c, leaf);
    if (!k->results[i]) return false;
    k->run->outputs[k->run->n_outputs++] = (nxi_run_output){.node = leaf, .in_place_of = -1};
  }
  return true;
}

/* Storages that the call assigns name its results. Nothing can fail here but waiting for a pinned one's memory. */
static nx_status assign_storages(call *k) {
  nx_function *f = k->f;
  nx_context *c = k->a->context;
  for (uint32_t i = 0; i < f->n_effects; i++) {
    nxi_storage *s = f->effects[i].storage;
    if (!s || !s->pins) continue;
    nxi_node *there = s->pinned->occupant;
    if (!nxi_buffer_idle(s->pinned) || (there && there->state == NXI_RUNNING)) return NXI_WAIT;
  }
  for (uint32_t i = 0; i < f->n_effects; i++) {
    nxi_storage *s = f->effects[i].storage;
    if (!s) continue;
    nxi_run_output *o = &k->run->outputs[f->n_out + i];
    nxi_node *old = s->value;
    old->refs++;
    k->befores[i] = old;
    if (s->pins) {
      nxi_node *there = s->pinned->occupant;
      bool known = there && (there != old || old->refs > 2 + (f->effects[i].source != UINT32_MAX));
      o->land = s->pinned;
      o->direct = !there;
      o->occupant = known ? there : NULL;
      o->node->home = s;
      uint8_t kept = NXI_NODE_EXPOSED | NXI_NODE_FOREIGN,
              flags = atomic_load_explicit(&old->flags, memory_order_relaxed);
      atomic_fetch_or_explicit(&o->node->flags, flags & kept, memory_order_relaxed);
    }
    o->node->refs++;
    nxi_storage_set(c, s, o->node);
  }
  return NX_OK;
}

static void restore_storages(call *k) {
  nx_context *c = k->a->context;
  for (uint32_t i = 0; i < k->f->n_effects; i++) {
    nxi_storage *s = k->f->effects[i].storage;
    if (!s || !k->befores[i]) continue;
    if (s->value == k->run->outputs[k->f->n_out + i].node) {
      nxi_storage_set(c, s, k->befores[i]);
      if (s->pins) s->value->home = s;
    } else {
      nxi_node_unref(c, k->befores[i]);
    }
    k->befores[i] = NULL;
  }
}

/* ---- tensors of the caller that get a result: inputs that the function assigns, then outputs that were given */

static nx_tensor *destination(const call *k, uint32_t i) {
  const nx_function *f = k->f;
  if (i < f->n_out) return k->out[i];
  const nxi_effect *e = &f->effects[i - f->n_out];
  return e->storage ? NULL : k->in[e->input];
}

/* record_lock. On failure some are assigned: take_outputs_back. */
static nx_status assign_outputs(call *k) {
  for (uint32_t j = 0; j < k->n_outputs; j++) {
    uint32_t i = (k->f->n_out + j) % k->n_outputs; /* the body's assigns come first */
    nx_tensor *dst = destination(k, i);
    if (!dst || !dst->elements) continue;
    nxi_node *before = dst->storage->value;
    nxi_operand o = nxi_operand_of(k->results[i]);
    bool exposed = false;
    before->refs++;
    nx_status status = nxi_assign_locked(k->a->context, dst, &o, &exposed, &k->a->diag);
    if (status) return nxi_node_unref(k->a->context, before), status;
    k->replaced[i] = before;
    k->assigned[i] = dst->storage->value;
    k->assigned[i]->refs++;
  }
  return NX_OK;
}

/* record_lock. back: the storages name their old values again, but where somebody has assigned meanwhile. */
static void settle_outputs(call *k, bool back) {
  nx_context *c = k->a->context;
  for (uint32_t j = k->n_outputs; j-- > 0;) {
    uint32_t i = (k->f->n_out + j) % k->n_outputs;
    if (!k->replaced[i]) continue;
    nxi_storage *s = destination(k, i)->storage;
    if (back && s->value == k->assigned[i]) {
      nxi_storage_set(c, s, k->replaced[i]);
      if (s->pins) s->value->home = s;
    } else {
      nxi_node_unref(c, k->replaced[i]);
    }
    nxi_node_unref(c, k->assigned[i]);
    k->replaced[i] = k->assigned[i] = NULL;
  }
}

/* What donated inputs become, made before anything is changed. record_lock. */
static bool make_gone(call *k) {
  nx_context *c = k->a->context;
  for (uint32_t i = 0; i < k->f->n_in; i++) {
    nxi_storage *s = k->in[i]->storage;
    if (!k->f->donate[i] || k->gone[i]) continue;
    k->gone[i] = nxi_leaf_create(c, NXI_OP_LEAF, s->device, s->dtype, 1, &s->elements, NULL);
    if (!k->gone[i]) return false;
    k->gone[i]->state = NXI_FAILED;
    k->gone[i]->failure = NX_DONATED;
    c->pending_nodes--;
  }
  return true;
}

/* ---- the call */

/* Realises what the inputs need. */
static nx_status realize_inputs(call *k) {
  nx_context *c = k->a->context;
  nxi_record_lock(c);
  nxi_drain(c, 64);
  take_values(k);
  bool all = true;
  for (uint32_t i = 0; i < k->n_inputs; i++) all &= k->values[i]->state == NXI_REALIZED;
  nxi_record_unlock(c);
  nx_status status = all ? NX_OK : nxi_realize_nodes(k->a, k->values, k->n_inputs);
  nxi_record_lock(c);
  drop_values(k);
  nxi_record_unlock(c);
  return status;
}

/* What outputs are written into must be there: after the call it would be too late to find that it cannot be computed. */
static nx_status realize_outputs(call *k) {
  nx_status status = NX_OK;
  for (uint32_t i = 0; !status && i < k->n_outputs; i++) {
    nx_tensor *dst = destination(k, i);
    if (dst && dst->elements < dst->storage->elements)
      status = nxi_realize_storage(k->a, dst->storage, NULL);
  }
  return status;
}

/* The moment of the call. NXI_WAIT if an input is not there, or not free, any more. */
static nx_status begin(call *k) {
  nx_context *c = k->a->context;
  nxi_run_lock(c);
  nxi_record_lock(c);
  take_values(k);
  nx_status status = ready(k) ? NX_OK : NXI_WAIT;
  if (!status && !(make_key(k) && make_results(k) && make_gone(k))) status = nxi_oom(&k->a->diag);
  if (!status) status = assign_storages(k);
  if (!status) {
    status = assign_outputs(k);
    if (status) {
      settle_outputs(k, true);
      restore_storages(k);
    }
  }
  if (!status) {
    allow_overwrites(k);
    nxi_commit(k->run);
    lock_donated(k, NXI_RUNNING);
  } else {
    drop_values(k);
  }
  nxi_record_unlock(c);
  if (status) { /* results of an attempt that came to nothing */
    for (uint32_t i = 0; i < k->n_outputs; i++) nx_tensor_release(k->results[i]);
    memset(k->results, 0, k->n_outputs * sizeof *k->results);
    k->run->n_outputs = 0;
  }
  if (status == NXI_WAIT) {
    nx_status waited = nxi_wait_change(c, k->a->options, &k->a->diag);
    if (waited) status = waited;
  }
  nxi_run_unlock(c);
  return status;
}

/* Donated inputs are gone, what the caller's tensors got is stored. The call has happened: what fails to be stored stays
 * recorded, and is an error only where host code may look. */
static nx_status finish(call *k) {
  nx_context *c = k->a->context;
  nxi_record_lock(c);
  for (uint32_t i = 0; i < k->f->n_in; i++) {
    nxi_storage *s = k->in[i]->storage;
    if (!k->gone[i] || s->pins) continue;
    nxi_storage_set(c, s, k->gone[i]);
    k->gone[i] = NULL;
  }
  nxi_record_unlock(c);
  nx_status status = NX_OK;
  for (uint32_t i = 0; !status && i < k->n_outputs; i++) {
    nx_tensor *dst = destination(k, i);
    if (!dst) continue;
    status = nxi_realize_storage(k->a, dst->storage, NULL);
    if (status && !dst->storage->write_pins) {
      status = NX_OK;
      nxi_diag_clear(&k->a->diag);
      k->a->blamed = false;
    }
  }
  return status;
}

static nx_status run_call(call *k) {
  nx_context *c = k->a->context;
  nx_status status;
  k->run->options = k->a->options;
  k->run->report = &k->a->report;
  if (!k->n_outputs) return NX_OK;
  do {
    status = realize_inputs(k);
    if (!status) status = realize_outputs(k);
    if (!status) status = begin(k);
  } while (status == NXI_WAIT);
  if (status) return status;
  status = nxi_execute(k->run, &k->a->diag);
  if (status) {
    nxi_record_lock(c);
    settle_outputs(k, true);
    restore_storages(k);
    nxi_record_unlock(c);
    nxi_abandon(k->run, status);
  } else {
    nxi_attach(k->run);
  }
  nxi_run_lock(c);
  nxi_record_lock(c);
  lock_donated(k, NXI_REALIZED);
  for (uint32_t i = 0; i < k->f->n_effects; i++)
    if (k->befores[i]) nxi_node_unref(c, k->befores[i]);
  settle_outputs(k, false);
  drop_values(k);
  nxi_record_unlock(c);
  pthread_cond_broadcast(&c->changed);
  nxi_run_unlock(c);
  if (status) return status;
  return finish(k);
}

nx_status nx_function_call(nx_function *f, nx_tensor *const *in, nx_tensor **out,
                           const nx_run_options *o) {
  nxi_diag d;
  if (!f) return nxi_error_null("function", 0), NX_INVALID_ARGUMENT;
  if (!nxi_function_check(f, in, out, &d)) return nxi_error_report(&d);
  nxi_action a;
  nxi_action_begin(&a, f->context, o);
  call k = {.a = &a,
            .f = f,
            .in = in,
            .out = out,
            .n_inputs = f->n_in + f->n_sources,
            .n_outputs = f->n_out + f->n_effects};
  k.values =
      nxi_calloc((size_t)k.n_inputs + f->n_effects + 2 * k.n_outputs + f->n_in, sizeof *k.values);
  k.results = nxi_calloc(k.n_outputs, sizeof *k.results);
  k.run = k.values && k.results ? nxi_run_take(f->context, &a.diag) : NULL;
  nx_status status = k.run ? NX_OK : nxi_oom(&a.diag);
  if (!status) {
    k.befores = k.values + k.n_inputs;
    k.replaced = k.befores + f->n_effects;
    k.assigned = k.replaced + k.n_outputs;
    k.gone = k.assigned + k.n_outputs;
    status = run_call(&k);
    nxi_record_lock(a.context);
    for (uint32_t i = 0; i < f->n_in; i++)
      if (k.gone[i]) nxi_node_unref(a.context, k.gone[i]);
    nxi_record_unlock(a.context);
  }
  for (uint32_t i = 0; k.results && i < k.n_outputs; i++) {
    if (!status && i < f->n_out && !out[i]) out[i] = k.results[i];
    else nx_tensor_release(k.results[i]);
  }
  nxi_run_give(k.run);
  nxi_free(k.values);
  nxi_free(k.results);
  return nxi_action_end(&a, status);
}
