/* SPDX-License-Identifier: ISC */
/* Extraction: from recorded nodes to the key of a run. One pass goes over the nodes that the roots
 * need and that are not realised, with an explicit stack; each node becomes a few words. Special
 * forms of the recording disappear here: cells, transfers, empty tensors. Views of realised storage
 * become separate inputs, so that their offsets are not part of the key, and most scalars become
 * launch parameters. */
#include <string.h>

#include "ir/platform/lock.h"
#include "key_words.h"
#include "runtime/realize/residency.h"
#include "runtime/device.h"
#include "runtime/debug.h"
#include "runtime/record/context.h"
#include "runtime/record/error.h"

/* ---- growing pieces */

void nxi_run_drop_tags(nxi_run *run) {
  for (uint32_t i = 0; i < run->n_tags; i++) nxi_tag_release(run->tags[i]);
  run->n_tags = 0;
}

void nxi_run_reset(nxi_run *run) {
  nxi_run_drop_tags(run);
  run->n_key = run->n_inputs = run->n_params = run->n_outputs = run->n_stack = run->n_order = 0;
  run->n_slots = run->n_aliases = run->n_updates = run->n_given = 0;
  run->calls = false;
  run->n_states = run->n_kept = run->n_held = run->n_hold = 0;
  run->most_nodes = UINT32_MAX;
  run->weighed = run->hashed = false;
  run->acquired = run->overwriting = run->may_alias = run->effects = false;
  run->first_order = 0;
  run->make_graph = NULL;
  run->culprit = NULL;
}

void nxi_run_free(nxi_run *run) {
  if (!run) return;
  nxi_run_drop_tags(run);
  nxi_free(run->tags);
  nxi_free(run->siblings);
  nxi_free(run->key);
  nxi_free(run->inputs);
  nxi_free(run->params);
  nxi_free(run->outputs);
  nxi_free(run->stack);
  nxi_free(run->order);
  nxi_free(run->slots);
  nxi_free(run->stored);
  nxi_free(run->edges);
  nxi_free(run->temporary);
  nxi_free(run->pointers);
  nxi_free(run->spans);
  nxi_free(run->lineages);
  nxi_free(run);
}

bool nxi_run_more_nodes(nxi_run *run) {
  uint32_t need = run->n_order + 1;
  if (!nxi_grow(&run->order, &run->cap_order, need, sizeof *run->order) ||
      !nxi_grow(&run->slots, &run->cap_slots, need, sizeof *run->slots) ||
      !nxi_grow(&run->stored, &run->cap_stored, need, sizeof *run->stored))
    return false;
  run->cap_nodes = run->cap_order;
  if (run->cap_slots < run->cap_nodes) run->cap_nodes = run->cap_slots;
  if (run->cap_stored < run->cap_nodes) run->cap_nodes = run->cap_stored;
  return true;
}

bool nxi_key_words(nxi_run *run, const void *words, uint32_t n) {
  if (n > UINT32_MAX - run->n_key ||
      !nxi_grow(&run->key, &run->cap_key, run->n_key + n, sizeof *run->key))
    return false;
  memcpy(run->key + run->n_key, words, n * sizeof *run->key);
  run->n_key += n;
  return true;
}

bool nxi_run_add_input(nxi_run *run, nxi_buffer *b, int64_t offset, int64_t bytes, nxi_node *node) {
  if (!nxi_grow(&run->inputs, &run->cap_inputs, run->n_inputs + 1, sizeof *run->inputs))
    return false;
  run->inputs[run->n_inputs++] =
      (nxi_run_input){.buffer = b, .offset = offset, .bytes = bytes, .node = node};
  return true;
}

int32_t nxi_run_alias(nxi_run *run, nxi_buffer *b) {
  NXI_HELD(&run->context->run_lock);
  if (b->epoch != run->context->epoch) {
    b->epoch = run->context->epoch;
    b->alias = (int32_t)run->n_aliases++;
  }
  return b->alias;
}

static inline bool push(nxi_run *run, struct nxi_visit at) {
  if (run->n_stack + run->n_order + 1 >= run->most_nodes ||
      !nxi_grow(&run->stack, &run->cap_stack, run->n_stack + 1, sizeof *run->stack))
    return false;
  run->stack[run->n_stack++] = at;
  return true;
}

/* The same of finite numbers of a usual float type: whether it is a whole number of -2 to 3, or a
 * half of 1 or -1. Integer instructions alone, for numbers of programs are met in every operation.
 * fraction: bits of the fraction; bias: of the exponent. */
static inline bool is_special_float(uint64_t magnitude, bool negative, uint32_t fraction,
                                    uint64_t bias) {
  uint64_t one = bias << fraction, half = (uint64_t)1 << (fraction - 1);
  if (magnitude == 0 || magnitude == one || magnitude == one - ((uint64_t)1 << fraction) ||
      magnitude == one + ((uint64_t)1 << fraction))
    return true;
  return magnitude == one + ((uint64_t)1 << fraction) + half && !negative;
}

/* The same of other float types. A brief run comes here in the caller's environment. */
static bool is_special_small(uint64_t bits, nx_dtype t) {
  const nxi_fp environment = nxi_fp_enter();
  const double x = nxi_f64_bits(nxi_cast_bits(bits, t, NX_F64));
  const bool special = !(x - x == 0) || x == 0.5 || x == -0.5 || (x >= -2 && x <= 3 && x == (int)x);
  nxi_fp_leave(environment);
  return special;
}

/* Whether a scalar stays in the key, because passes simplify by its value; all others become
 * parameters. */
static bool is_special(uint64_t bits, nx_dtype t) {
  if (t == NX_BOOL) return true;
  if (t == NX_F32)
    return (bits & 0x7f800000) == 0x7f800000 ||
           is_special_float(bits & 0x7fffffff, bits >> 31 & 1, 23, 127);
  if (t == NX_F64)
    return (bits >> 52 & 0x7ff) == 0x7ff ||
           is_special_float(bits & INT64_MAX, bits >> 63, 52, 1023);
  if (t == NX_U64) return bits <= 3;
  if (nxi_is_integer(t)) {
    const int64_t x = (int64_t)nxi_cast_bits(bits, t, NX_I64);
    return x >= -2 && x <= 3;
  }
  return is_special_small(bits, t);
}

/* Adds a launch parameter and returns its number; -1 if memory is exhausted. */
static int64_t add_param(nxi_run *run, uint64_t bits) {
  if (!nxi_grow(&run->params, &run->cap_params, run->n_params + 1, sizeof *run->params)) return -1;
  run->params[run->n_params] = bits;
  return run->n_params++;
}

enum { MOST_PARAMS = 1 << 20 };

static bool emit_real_full(nxi_run *run, nx_dtype t, int32_t rank, const int64_t *shape,
                           uint64_t bits) {
  int64_t param = -1;
  bool constant = is_special(bits, t) || nxi_run_needs_value(run, t);
  if (!constant && run->n_params < MOST_PARAMS) {
    if ((param = add_param(run, bits)) < 0) return false;
    bits = 0;
  }
  uint64_t *w = node_words(run, NXG_full, (uint32_t)t, rank, shape, 2, 0);
  if (!w) return false;
  w[0] = bits;
  w[1] = (uint64_t)param;
  return true;
}

/* Writes a constant; a complex one as both parts and their combination. */
static bool emit_full(nxi_run *run, nx_dtype t, int32_t rank, const int64_t *shape, uint64_t re,
                      uint64_t im) {
  nx_dtype part = nxi_part_dtype(t);
  uint32_t slots[2];
  if (part == t) return emit_real_full(run, t, rank, shape, re);
  if (is_special(re, part) && is_special(im, part)) {
    uint64_t *w = node_words(run, NXG_full, (uint32_t)t, rank, shape, 3, 0);
    if (!w) return false;
    w[0] = re;
    w[1] = UINT64_MAX;
    w[2] = im;
    return true;
  }
  for (int k = 0; k < 2; k++) {
    if (!emit_real_full(run, part, rank, shape, k ? im : re)) return false;
    slots[k] = run->slot;
  }
  uint64_t *w = node_words(run, NXG_complex, (uint32_t)t, rank, shape, 0, 2);
  if (!w) return false;
  w[0] = slots[0];
  w[1] = slots[1];
  return true;
}

/* Writes the constant of node `full` in another shape. */
static bool emit_full_like(nxi_run *run, nxi_node *full, int32_t rank, const int64_t *shape) {
  const int64_t *attrs = nxi_node_attrs(full);
  uint64_t im = nxi_is_complex(full->dtype) ? (uint64_t)attrs[2] : 0;
  return emit_full(run, full->dtype, rank, shape, (uint64_t)attrs[0], im);
}

/* ---- inputs */

/* The node that a cell stands for: a cell without memory of its own stands for its operand. */
static nxi_node *through_cells(nxi_node *n) {
  while (n->op == NXI_OP_CELL && n->state == NXI_PENDING) n = nxi_node_args(n)[0];
  return n;
}

nxi_node *nxi_leaf_under(const nxi_node *user) {
  nxi_node *n = through_cells(nxi_node_args((nxi_node *)user)[0]);
  return n->state == NXI_REALIZED ? n : NULL;
}

/* If a node is a view of a constant: that constant; the view is then a constant too. NULL if it is
 * not, or if nx_hold was called for the constant, which then has to be visited itself. */
static nxi_node *full_under(const nxi_node *view) {
  nxi_node *n = through_cells(nxi_node_args((nxi_node *)view)[0]);
  if (n->op != NXG_full || n->state != NXI_PENDING) return NULL;
  return atomic_load_explicit(&n->flags, memory_order_relaxed) & NXI_NODE_HOLD ? NULL : n;
}

void nxi_alias_range_of(const int64_t *attrs, nxi_alias_range *out) {
  int32_t rank = (int32_t)attrs[1];
  const int64_t *shape = attrs + 2, *strides = attrs + 2 + rank;
  bool dense = nxg_is_in_order(rank, shape, strides), rising = true;
  *out = (nxi_alias_range){.offset = attrs[0], .span = 1, .rank = rank, .shape = shape};
  for (int32_t i = 0; i < rank; i++) {
    rising = rising && strides[i] >= 0;
    out->span += (shape[i] - 1) * (strides[i] < 0 ? -strides[i] : strides[i]);
  }
  if (!dense && rising) {
    out->rank = 1;
    out->shape = &out->span;
  }
  out->dense = dense;
}

/* Writes a view of realised memory: an input that starts at the lowest element of the view (for i4
 * and u4 at its byte), and a view of that if it is not dense. */
static bool emit_leaf_view(nxi_run *run, nxi_node *view, nxi_node *leaf) {
  const int64_t *shape = nxi_node_shape(view), *attrs = nxi_node_attrs(view), *strides = attrs + 1;
  int64_t low = 0, span = 1;
  if (view->elements == 0) return emit_full(run, view->dtype, view->rank, shape, 0, 0);
  for (int32_t i = 0; i < view->rank; i++) {
    int64_t reach = (shape[i] - 1) * strides[i];
    if (reach < 0) low += reach;
    span += reach < 0 ? -reach : reach;
  }
  int64_t odd = nxi_is_nibble(view->dtype) ? (attrs[0] + low) % 2 : 0;
  low -= odd;
  span += odd;
  int64_t offset = nxi_dtype_bytes(view->dtype, attrs[0] + low),
          bytes = nxi_dtype_bytes(view->dtype, span);
  bool dense = !odd && nxg_is_in_order(view->rank, shape, strides);
  nxi_node *whole = dense && span == leaf->elements ? leaf : NULL;
  if (dense)
    return emit_input(run, view->dtype, view->rank, shape, leaf->buffer, offset, bytes, whole);
  if (!emit_input(run, view->dtype, 1, &span, leaf->buffer, offset, bytes, NULL)) return false;
  uint32_t input = run->slot, n_attrs = 1 + view->rank;
  uint64_t *w = node_words(run, NXG_view, view->dtype, view->rank, shape, n_attrs, 1);
  if (!w) return false;
  *w++ = (uint64_t)-low;
  for (int32_t i = 0; i < view->rank; i++) *w++ = (uint64_t)strides[i];
  *w = input;
  return true;
}

/* ---- forms that need several nodes */

/* Writes a pad with a value that is a parameter: pads with zeros, and then selects the value in the
 * padding. */
static bool emit_pad(nxi_run *run, nxi_node *n) {
  nxi_node *x = nxi_node_args(n)[0];
  const int64_t *attrs = nxi_node_attrs(n);
  uint64_t bits = (uint64_t)attrs[0], im = 0;
  uint32_t lists = 1 + 2 * (uint32_t)n->rank;
  if (n->n_attrs > lists) im = (uint64_t)attrs[lists];
  uint32_t from = slot_of(run, x), slots[4] = {from};
  if (!emit_full(run, NX_BOOL, x->rank, nxi_node_shape(x), 1, 0)) return false;
  slots[1] = run->slot;
  for (int k = 0; k < 2; k++) { /* the value with zeros around it, the mask with false around it */
    uint32_t n_attrs = k ? lists : n->n_attrs;
    uint64_t *w =
        node_words(run, NXG_pad, k ? NX_BOOL : n->dtype, n->rank, nxi_node_shape(n), n_attrs, 1);
    if (!w) return false;
    memcpy(w, attrs, n_attrs * sizeof *w);
    w[0] = 0;
    if (n_attrs > lists) w[lists] = 0;
    w[n_attrs] = slots[k];
    slots[k] = run->slot;
  }
  if (!emit_full(run, n->dtype, n->rank, nxi_node_shape(n), bits, im)) return false;
  uint32_t value = run->slot;
  uint64_t *w = node_words(run, NXG_where, n->dtype, n->rank, nxi_node_shape(n), 0, 3);
  if (!w) return false;
  w[0] = slots[1];
  w[1] = slots[0];
  w[2] = value;
  return true;
}

/* Writes an update of realised memory. The start of its view is a separate input, so that it is not
 * part of the key. For i4 and u4 the view may start between bytes, so the offset is part of the
 * key. */
static bool emit_alias_update(nxi_run *run, nxi_node *n, nxi_node *leaf) {
  const int64_t *attrs = nxi_node_attrs(n), size = nxi_dtype_size(n->dtype);
  nxi_node **args = nxi_node_args(n);
  nxi_alias_range at;
  nxi_alias_range_of(attrs, &at);
  bool whole = at.dense && at.span == leaf->elements;
  if (!emit_input(run, n->dtype, at.rank, at.shape, leaf->buffer, at.offset * size, at.span * size,
                  whole ? leaf : NULL))
    return false;
  uint32_t alias_range = run->slot;
  uint64_t *w = node_words(run, NXG_update, n->dtype, n->rank, nxi_node_shape(n), n->n_attrs, 3);
  if (!w) return false;
  memcpy(w, attrs, n->n_attrs * sizeof *w);
  w[0] = 0;
  w += n->n_attrs;
  w[0] = slot_of(run, through_cells(args[0]));
  w[1] = slot_of(run, args[1]);
  w[2] = alias_range;
  run->n_updates++;
  return true;
}

static bool pads_specially(nxi_node *n) {
  const int64_t *attrs = nxi_node_attrs(n);
  nx_dtype part = nxi_part_dtype(n->dtype);
  return is_special((uint64_t)attrs[0], part) &&
         (part == n->dtype || is_special((uint64_t)attrs[n->n_attrs - 1], part));
}

static bool emit_copy(nxi_run *run, nxi_node *n, uint32_t slot) {
  uint64_t *w = node_words(run, NXG_copy, n->dtype, n->rank, nxi_node_shape(n), 0, 1);
  if (w) *w = slot;
  return w != NULL;
}

static inline bool emit_plain(nxi_run *run, nxi_node *n) {
  const uint32_t n_args = n->n_args;
  uint64_t *w = node_words(run, n->op, n->dtype, n->rank, nxi_node_shape(n), n->n_attrs, n_args);
  if (!w) return false;
  nxi_copy_few(w, nxi_node_attrs(n), n->n_attrs);
  w += n->n_attrs;
  nxi_node **args = nxi_node_args(n);
  const uint32_t *slots = run->slots;
  for (uint32_t i = 0; i < n_args; i++) w[i] = slots[args[i]->index];
  return true;
}

static bool emit(nxi_run *run, nxi_node *n) {
  nxi_node *leaf;
  if (n->state == NXI_REALIZED) return emit_whole(run, n);
  run->calls |= n->op < NXG_OP_COUNT && nxg_ops[n->op].kind >= NXG_KIND_CALL;
  switch (n->op) {
    case NXI_OP_EMPTY: return emit_full(run, n->dtype, n->rank, nxi_node_shape(n), 0, 0);
    case NXI_OP_TRANSFER: return emit_copy(run, n, slot_of(run, nxi_node_args(n)[0]));
    case NXG_full: return emit_full_like(run, n, n->rank, nxi_node_shape(n));
    case NXG_view:
      leaf = nxi_leaf_under(n);
      if (leaf) return emit_leaf_view(run, n, leaf);
      leaf = full_under(n);
      return leaf ? emit_full_like(run, leaf, n->rank, nxi_node_shape(n)) : emit_plain(run, n);
    case NXG_update:
      leaf = nxi_leaf_under(n);
      if (leaf && nxi_is_nibble(n->dtype)) run->n_updates++;
      return leaf && !nxi_is_nibble(n->dtype) ? emit_alias_update(run, n, leaf)
                                              : emit_plain(run, n);
    case NXG_custom: return emit_plain(run, n) && nxi_run_number(run, n);
    case NXG_scatter: run->n_updates++; return emit_plain(run, n);
    case NXG_pad: return pads_specially(n) ? emit_plain(run, n) : emit_pad(run, n);
    default: return emit_plain(run, n);
  }
}

/* ---- traversal */

static nx_status refuse(nxi_run *run, nxi_node *n, nxi_diag *d) {
  if (n->state == NXI_RUNNING) return NXI_WAIT;
  run->culprit = n;
  if (n->state == NXI_FAILED)
    return nxi_fail(d, (nx_status)n->failure, "", "%s", nxi_node_reason(n));
  return nxi_fail(d, NX_UNBOUND, "placeholder",
                  "a placeholder has no value: only a call of its function gives it one");
}

static bool is_refused(const nxi_node *n) {
  return n->state == NXI_RUNNING || n->state == NXI_FAILED || n->op == NXI_OP_PLACEHOLDER;
}

/* The first operand of n that has to be visited before it: none of a view that reads memory, or is
 * a constant. */
static uint32_t first_operand(const nxi_node *n) {
  if (n->state == NXI_REALIZED) return n->n_args;
  return n->op == NXG_view && (nxi_leaf_under(n) || full_under(n)) ? n->n_args : 0;
}

bool nxi_crosses(const nxi_node *n, nxi_node *operand) {
  if (n->op != NXI_OP_TRANSFER || operand->device == n->device || operand->state != NXI_PENDING)
    return false;
  nxi_node *from = through_cells(operand->op == NXG_view ? nxi_node_args(operand)[0] : operand);
  bool held = atomic_load_explicit(&operand->flags, memory_order_relaxed) & NXI_NODE_HOLD;
  bool constant = from->op == NXG_full || from->op == NXI_OP_EMPTY;
  return held || (from->state != NXI_REALIZED && !constant);
}

static inline struct nxi_visit begin_visit(nxi_node *n) {
  bool map = n->state == NXI_PENDING && n->op < NXG_OP_COUNT && nxg_ops[n->op].kind == NXG_KIND_MAP;
  return (struct nxi_visit){n, map ? 0 : first_operand(n), map};
}

/* Writes a node, all of whose operands are in the key. */
static inline bool end_visit(nxi_run *run, struct nxi_visit at) {
  nxi_node *n = at.node;
  run->n_states += nxi_node_lineage(n) && n->state == NXI_PENDING;
  if (!at.map && n->op == NXI_OP_CELL && n->state == NXI_PENDING)
    return place(run, n, slot_of(run, nxi_node_args(n)[0]));
  return (at.map ? emit_plain(run, n) : emit(run, n)) && place(run, n, run->slot);
}

/* The nodes of the stack are users of `at`, each of the one above; no node is met a second time
 * before it has been written, since a graph has no cycles. */
static nx_status visit(nxi_run *run, nxi_node *root, nxi_diag *d) {
  const uint64_t epoch = run->context->epoch;
  if (root->epoch == epoch) return NX_OK;
  if (is_refused(root)) return refuse(run, root, d);
  struct nxi_visit at = begin_visit(root);
  for (;;) {
    nxi_node **args = nxi_node_args(at.node), *operand = NULL;
    while (!operand && at.next < at.node->n_args) {
      nxi_node *next = args[at.next++];
      if (next->epoch != epoch) operand = next;
    }
    if (!operand) {
      if (!end_visit(run, at)) return nxi_oom(d);
      if (!run->n_stack) return NX_OK;
      at = run->stack[--run->n_stack];
    } else if (operand->state == NXI_REALIZED) {
      if (!emit_whole(run, operand) || !place(run, operand, run->slot)) return nxi_oom(d);
    } else {
      if (!at.map && nxi_crosses(at.node, operand) && !run->everywhere) return NXI_ELSEWHERE;
      struct nxi_visit next = begin_visit(operand);
      if (!next.map && is_refused(operand)) return refuse(run, operand, d);
      if (!push(run, at)) return nxi_oom(d);
      at = next;
    }
  }
}

bool nxi_run_add_output(nxi_run *run, nxi_node *n) {
  if (run->stored[n->index]) return true;
  if (!nxi_grow(&run->outputs, &run->cap_outputs, run->n_outputs + 1, sizeof *run->outputs))
    return false;
  run->outputs[run->n_outputs++] = (nxi_run_output){.node = n, .in_place_of = -1};
  run->stored[n->index] = 1;
  return true;
}

/* Copies outputs that would only be another name of an input. */
static bool materialise_cells(nxi_run *run) {
  for (uint32_t i = 0; i < run->n_outputs; i++) {
    nxi_node *n = run->outputs[i].node;
    if (n->op != NXI_OP_CELL && !(n->op == NXG_view && nxi_leaf_under(n))) continue;
    if (!emit_copy(run, n, slot_of(run, n))) return false;
    run->slots[n->index] = run->slot;
  }
  return true;
}

/* Keeps the tags of the nodes, because these may have been destroyed when a graph is made from the
 * key. */
static bool keep_tags(nxi_run *run) {
  if (!run->tagged && !run->debugging && !(nxi_debug_flags() & NXI_DEBUG_nan)) return true;
  if (!nxi_grow(&run->tags, &run->cap_tags, run->n_slots + 1, sizeof *run->tags)) return false;
  run->n_tags = run->n_slots;
  memset(run->tags, 0, run->n_tags * sizeof *run->tags);
  for (uint32_t i = 0; i < run->n_order; i++) {
    nxi_tag *tag = run->order[i]->tag, **kept = &run->tags[run->slots[i]];
    if (!tag || *kept) continue;
    *kept = nxi_tag_retain(tag);
  }
  return true;
}

/* Ends the key with the outputs and the device. False: out of memory. */
static bool end_key(nxi_run *run) {
  uint64_t words = 3 + (uint64_t)run->n_outputs;
  if (run->n_key + words > UINT32_MAX ||
      !nxi_grow(&run->key, &run->cap_key, run->n_key + (uint32_t)words, sizeof *run->key))
    return false;
  uint64_t *w = run->key + run->n_key;
  *w++ = UINT64_MAX; /* not a valid first word of a node */
  *w++ = run->n_outputs;
  for (uint32_t i = 0; i < run->n_outputs; i++) *w++ = slot_of(run, run->outputs[i].node);
  *w = (uint64_t)run->device | (uint64_t)run->debugging << 32;
  run->n_key += (uint32_t)words;
  run->device_word = run->n_key - 1;
  return true;
}

static void begin(nxi_run *run) {
  nxi_run_reset(run);
  run->debugging = nxi_debug_key();
  run->own_memory = nxi_device_kind_of(run->context, run->device)->own_memory;
  run->context->epoch++;
}

enum { FLAT_ARGS = 3 };

/* Whether n is one operation over whole values in memory, and of those that are written as they
 * are. */
static bool is_flat(nxi_node *n) {
  nxi_node **args = nxi_node_args(n);
  bool known = n->op < NXG_OP_COUNT && n->n_args && n->n_args <= FLAT_ARGS;
  if (!known || n->op == NXG_view || n->op == NXG_pad || n->op == NXG_update ||
      n->op == NXG_scatter || n->op == NXG_custom)
    return false;
  for (uint32_t i = 0; i < n->n_args; i++)
    if (args[i]->state != NXI_REALIZED) return false;
  return true;
}

/* Writes what visit would write of it, without a traversal. */
static bool visit_flat(nxi_run *run, nxi_node *n) {
  nxi_node **args = nxi_node_args(n);
  uint32_t slots[FLAT_ARGS] = {0};
  for (uint32_t i = 0; i < n->n_args; i++) {
    if (!emit_whole(run, args[i])) return false;
    slots[i] = run->slot;
  }
  uint64_t *w = node_words(run, n->op, n->dtype, n->rank, nxi_node_shape(n), n->n_attrs, n->n_args);
  if (!w) return false;
  nxi_copy_few(w, nxi_node_attrs(n), n->n_attrs);
  w += n->n_attrs;
  for (uint32_t i = 0; i < n->n_args; i++) *w++ = slots[i];
  run->n_states = nxi_node_lineage(n) != 0;
  return place(run, n, run->slot);
}

bool nxi_extract_brief(nxi_run *run, nxi_node *root, uint32_t most_nodes) {
  NXI_HELD(&run->context->run_lock);
  begin(run);
  run->most_nodes = most_nodes;
  bool visited = is_flat(root) ? visit_flat(run, root) : visit(run, root, NULL) == NX_OK;
  return visited && nxi_run_add_output(run, root) && !run->n_hold && !run->n_states &&
         !run->n_updates && !run->n_given && end_key(run);
}

nx_status nxi_extract(nxi_run *run, nxi_node *const *roots, uint32_t n, nxi_diag *d) {
  NXI_HELD(&run->context->run_lock);
  begin(run);
  for (uint32_t i = 0; i < n; i++) {
    nx_status status = visit(run, roots[i], d);
    if (status) return status;
  }
  for (uint32_t i = 0; i < n; i++)
    if (roots[i]->state == NXI_PENDING && !nxi_run_add_output(run, roots[i])) return nxi_oom(d);
  if (!nxi_run_take_siblings(run)) return nxi_oom(d);
  for (uint32_t i = 0; i < run->n_siblings; i++) {
    nx_status status = visit(run, run->siblings[i], d);
    if (status) return status;
    if (!nxi_run_add_output(run, run->siblings[i])) return nxi_oom(d);
  }
  for (uint32_t i = 0; run->n_hold && i < run->n_order; i++) {
    nxi_node *held = run->order[i];
    bool hold = atomic_load_explicit(&held->flags, memory_order_relaxed) & NXI_NODE_HOLD;
    if (hold && held->state == NXI_PENDING && !nxi_run_add_output(run, held)) return nxi_oom(d);
  }
  if (run->n_states && !run->frugal && !nxi_run_keep_states(run)) return nxi_oom(d);
  if (!materialise_cells(run) || !keep_tags(run)) return nxi_oom(d);
  uint32_t words = run->n_key;
  bool more = false;
  if (!end_key(run) || !nxi_run_keep_stored(run, &more)) return nxi_oom(d);
  if (!more) return NX_OK;
  run->n_key = words;
  return end_key(run) ? NX_OK : nxi_oom(d);
}
