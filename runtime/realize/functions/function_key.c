/* SPDX-License-Identifier: ISC */
/* The key of a call, and the graph that is made from it: the function's own graph, with views for
 * the layout of the inputs in memory, and with updates of the old values for assigns to the
 * caller's tensors. */
#include <string.h>

#include "function_call.h"
#include "ir/platform/lock.h"
#include "runtime/realize/residency.h"
#include "runtime/device.h"
#include "runtime/debug.h"
#include "runtime/record/assign.h"

#define CALL_MARK (UINT64_MAX - 1) /* not a valid first word of a node */

/* What a result becomes: a new tensor; nothing; the whole of a target; the whole of a target after
 * a view has brought it into the target's order; a part of a target. */
enum { NEW, NOTHING, WHOLE, VIEW, PART };

/* ---- writing */

/* Adds one input of the run and its words: flags, alias, then 0 if it is dense, else 1 and span,
 * low, strides. */
static bool add_key_input(nxi_call *k, uint32_t i) {
  nxi_node *value = k->values[i];
  nxi_run *run = k->run;
  nx_tensor *t = i < k->f->n_in ? k->in[i] : NULL;
  int64_t low = 0, span = 1, offset = t ? t->offset : 0;
  int64_t elements = t ? t->elements : value->elements;
  bool dense = !t || t->contiguous || elements == 0;
  for (int32_t axis = 0; !dense && axis < t->rank; axis++) {
    int64_t reach = (nxi_shape(t)[axis] - 1) * nxi_strides(t)[axis];
    if (reach < 0) low += reach;
    span += reach < 0 ? -reach : reach;
  }
  if (dense) span = elements;
  if (nxi_is_nibble(value->dtype) && elements &&
      (offset + low) % 2) { /* it starts at the byte that contains its first element */
    dense = false;
    low--;
    span++;
  }
  bool whole = dense && offset == 0 && elements == value->elements;
  if (!nxi_run_add_input(run, value->buffer, nxi_dtype_bytes(value->dtype, offset + low),
                         nxi_dtype_bytes(value->dtype, span), whole ? value : NULL))
    return false;
  run->inputs[run->n_inputs - 1].flags_at = run->n_key;
  uint64_t words[5 + NXG_MAX_RANK] = {
      whole && nxi_buffer_aligned(value->buffer,
                                  nxi_device_kind_of(run->context, run->device)->own_memory)
          ? NXG_INPUT_ALIGNED
          : 0,
      (uint64_t)nxi_run_alias(run, value->buffer), !dense, (uint64_t)span, (uint64_t)low};
  for (int32_t axis = 0; !dense && axis < t->rank; axis++)
    words[5 + axis] = (uint64_t)nxi_strides(t)[axis];
  return nxi_key_words(run, words, dense ? 3 : 5 + (uint32_t)t->rank);
}

/* Adds the old value of a target as a separate input: dtype and rank, shape, then as above. */
static bool add_old_value(nxi_call *k, uint32_t i) {
  nxi_node *value = k->values[i];
  uint64_t head = value->dtype | (uint64_t)value->rank << 8;
  return nxi_key_words(k->run, &head, 1) &&
         nxi_key_words(k->run, nxi_node_shape(value), value->rank) && add_key_input(k, i);
}

static bool add_view(nxi_call *k, const nxg_view *v) {
  uint64_t head[2] = {(uint64_t)v->rank, (uint64_t)v->offset};
  return nxi_key_words(k->run, head, 2) && nxi_key_words(k->run, v->shape, (uint32_t)v->rank) &&
         nxi_key_words(k->run, v->strides, (uint32_t)v->rank);
}

/* Whether it is all elements of a dense value, in their order. */
static bool is_in_order(const nxg_view *v) {
  return v->offset == 0 && nxg_is_in_order(v->rank, v->shape, v->strides);
}

static bool is_dense(const nxg_view *v, const nxg_node *n) {
  return nxg_same_shape(v->rank, v->shape, n->rank, n->shape) && is_in_order(v);
}

/* Adds the start of the first assign to a target, if that writes a part, as a separate input, so
 * that the place is not part of the key. */
static bool add_alias_range(nxi_call *k, const nxi_assignee *t) {
  nxi_run *run = k->run;
  const nx_tensor *dst = nxi_call_destination(k, t->first);
  nxi_buffer *b = k->values[t->input]->buffer;
  nx_dtype dtype = (nx_dtype)t->storage->dtype;
  int64_t size = nxi_dtype_size(dtype);
  nxi_assign_form form;
  nxi_alias_range at;
  nxg_view v;
  nxg_view_contiguous(&v, dst->rank, nxi_shape(dst));
  nxi_assign_form_of(dst, &v, &form);
  nxi_alias_range_of(form.attrs, &at);
  uint64_t words[2] = {(uint64_t)dtype | (uint64_t)at.rank << 8, (uint64_t)nxi_run_alias(run, b)};
  return nxi_run_add_input(run, b, at.offset * size, at.span * size, NULL) &&
         nxi_key_words(run, words, 2) && nxi_key_words(run, at.shape, (uint32_t)at.rank);
}

static bool add_part(nxi_call *k, uint32_t i, const nxi_assignee *t, nxi_assign_form *form) {
  bool first = t->first == i;
  uint64_t words[3] = {first ? t->input + 1 : 0, first ? t->alias_range : 0, form->n_attrs};
  if (first && t->alias_range != NXI_NONE) form->attrs[0] = 0;
  return nxi_key_words(k->run, words, 3) && nxi_key_words(k->run, form->attrs, form->n_attrs) &&
         add_view(k, &form->source);
}

/* A value that is assigned to an input has its elements, but may have another shape: that in which
 * the body reads it last. */
static bool add_result(nxi_call *k, uint32_t i) {
  const nxg_node *n = &k->f->graph->nodes[k->f->graph->outputs[i].node];
  nx_tensor *dst = nxi_call_destination(k, i);
  uint32_t target = k->target_of[i];
  nxi_assign_form form; /* a kilobyte, which is not cleared */
  nxg_view v;
  nxg_view_contiguous(&v, dst ? dst->rank : n->rank, dst ? nxi_shape(dst) : n->shape);
  form.whole = true;
  if (target != NXI_NONE && dst) nxi_assign_form_of(dst, &v, &form);
  else nxg_view_copy(&form.source, &v);
  uint64_t head = nxi_call_is_new(k, i)       ? NEW
                  : target == NXI_NONE        ? NOTHING
                  : !form.whole               ? PART
                  : is_in_order(&form.source) ? WHOLE
                                              : VIEW;
  uint64_t words = head | (uint64_t)target << 8;
  if (!nxi_key_words(k->run, &words, 1)) return false;
  if (head == PART) return add_part(k, i, &k->targets[target], &form);
  return head != VIEW || add_view(k, &form.source);
}

static nx_status make_graph(nxi_run *run, nxg_graph **out, nxi_diag *d);

enum { DEVICE_WORD = 2 };
static void begin_words(const nx_function *f, uint32_t debugging, uint64_t extra,
                        uint64_t head[4]) {
  head[0] = CALL_MARK;
  head[1] = f->id;
  head[DEVICE_WORD] = (uint64_t)f->device | (uint64_t)debugging << 32;
  head[3] = extra;
}

/* extra: the numbers of old values and of alias ranges. */
static void begin_key(nxi_run *run, nx_function *f, uint64_t extra, uint64_t head[4]) {
  NXI_HELD(&run->context->run_lock);
  nxi_run_reset(run);
  run->context->epoch++;
  run->device = f->device;
  run->make_graph = make_graph;
  run->user = f;
  run->debugging = nxi_debug_key();
  begin_words(f, run->debugging, extra, head);
  run->device_word = DEVICE_WORD;
}

uint32_t nxi_call_key_of_whole(const nx_function *f, nxi_buffer *const *inputs,
                               nx_tensor *const *out, uint64_t words[NXI_BRIEF_WORDS]) {
  begin_words(f, nxi_debug_key(), 0, words);
  uint32_t n = 4;
  uint64_t n_aliases = 0;
  for (uint32_t i = 0; i < f->n_in; i++, n += 3) {
    uint32_t same = 0; /* the first input of this storage */
    while (inputs[same] != inputs[i]) same++;
    words[n] = nxi_buffer_aligned(inputs[i], false) ? NXG_INPUT_ALIGNED : 0;
    words[n + 1] = same < i ? words[4 + 3 * same + 1] : n_aliases++; /* as nxi_run_alias */
    words[n + 2] = 0;                                                /* dense */
  }
  uint64_t *targets = &words[n++];
  *targets = 0;
  for (uint32_t i = 0; i < f->n_out; i++)
    words[n++] = out[i] ? WHOLE | (*targets)++ << 8 : NEW | (uint64_t)NXI_NONE << 8;
  return n;
}

static bool add_source(nxi_run *run, const nxi_source *s) {
  const nxi_node *value = s->cell ? s->cell->value : s->node;
  if (value->state != NXI_REALIZED) return false;
  const bool aligned =
      nxi_buffer_aligned(value->buffer, nxi_device_kind_of(run->context, run->device)->own_memory);
  const uint64_t words[] = {aligned ? NXG_INPUT_ALIGNED : 0,
                            (uint64_t)nxi_run_alias(run, value->buffer), 0 /* dense */};
  return nxi_key_words(run, words, 3);
}

bool nxi_call_key_of_none(nxi_run *run, nx_function *f) {
  uint64_t head[4];
  begin_key(run, f, 0, head);
  bool good = nxi_key_words(run, head, 4);
  for (uint32_t i = 0; good && i < f->n_in; i++) {
    const uint64_t given = f->donate[i] ? NXG_INPUT_OVERWRITE | NXG_INPUT_GIVEN : 0;
    const uint64_t words[] = {NXG_INPUT_ALIGNED | given, run->n_aliases++, 0 /* dense */};
    good = nxi_key_words(run, words, 3);
  }
  for (uint32_t i = 0; good && i < f->n_sources; i++) good = add_source(run, &f->sources[i]);
  const uint64_t no_targets = 0, is_new = NEW | (uint64_t)NXI_NONE << 8;
  good = good && nxi_key_words(run, &no_targets, 1);
  for (uint32_t i = 0; good && i < f->n_out; i++) good = nxi_key_words(run, &is_new, 1);
  return good;
}

bool nxi_call_key(nxi_call *k) {
  nxi_run *run = k->run;
  uint64_t head[4];
  begin_key(run, k->f, (uint64_t)(k->n_values - k->n_inputs) | (uint64_t)k->n_alias_ranges << 32,
            head);
  bool good = nxi_key_words(run, head, 4);
  for (uint32_t i = 0; good && i < k->n_inputs; i++) good = add_key_input(k, i);
  for (uint32_t i = k->n_inputs; good && i < k->n_values; i++) good = add_old_value(k, i);
  for (uint32_t i = 0; good && i < k->n_targets; i++)
    if (k->targets[i].partial && k->targets[i].alias_range >= k->n_values &&
        k->targets[i].alias_range != NXI_NONE)
      good = add_alias_range(k, &k->targets[i]);
  uint64_t targets = k->n_targets;
  good = good && nxi_key_words(run, &targets, 1);
  for (uint32_t j = 0; good && j < k->n_results; j++) good = add_result(k, nxi_call_result(k, j));
  return good;
}

/* ---- reading */

typedef struct reader {
  const nx_function *f;
  nxg_graph *g;
  const uint64_t *at;
  uint32_t *numbers;  /* node of the function -> of g */
  uint32_t *finals;   /* node of g that is each output, new ones first */
  const char **names; /* of the new ones, as the function calls them */
  uint32_t n_new, n_targets;
  uint32_t *targets; /* node of g that each holds now, NXI_NONE: the old value */
} reader;

static uint32_t read_input(reader *r, nx_dtype dtype, int32_t rank, const int64_t *shape,
                           const char *name) {
  const uint64_t *w = r->at;
  uint32_t flags = (uint32_t)w[0];
  int32_t alias = (int32_t)w[1];
  r->at = w + 3;
  if (!w[2]) return nxg_add_input(r->g, dtype, rank, shape, flags, alias, name);
  int64_t span = (int64_t)w[3], attrs[1 + NXG_MAX_RANK];
  uint32_t input = nxg_add_input(r->g, dtype, 1, &span, flags, alias, name);
  attrs[0] = -(int64_t)w[4];
  for (int32_t i = 0; i < rank; i++) attrs[1 + i] = (int64_t)w[5 + i];
  r->at = w + 5 + rank;
  return input == UINT32_MAX
             ? input
             : nxg_add(r->g, NXG_view, 1, &input, attrs, 1 + (uint32_t)rank, dtype, rank, shape);
}

/* Inputs come first, so that passes that change nothing need not copy the graph. */
static bool read_inputs(reader *r, uint32_t n_olds, uint32_t n_alias_ranges) {
  const nxg_graph *from = r->f->graph;
  bool good = true;
  for (uint32_t i = 0; good && i < from->n_inputs; i++) {
    const nxg_node *n = &from->nodes[from->inputs[i].node];
    uint32_t *number = &r->numbers[from->inputs[i].node];
    *number = read_input(r, n->dtype, n->rank, n->shape, n->name);
    good = *number != UINT32_MAX;
  }
  for (uint32_t i = 0; good && i < n_olds; i++) {
    nx_dtype dtype = (nx_dtype)(r->at[0] & 0xff);
    int32_t rank = (int32_t)(r->at[0] >> 8);
    const int64_t *shape = (const int64_t *)(r->at + 1);
    r->at += 1 + rank;
    good = read_input(r, dtype, rank, shape, NULL) != UINT32_MAX;
  }
  for (uint32_t i = 0; good && i < n_alias_ranges; i++) {
    int32_t rank = (int32_t)(r->at[0] >> 8);
    good = nxg_add_input(r->g, (nx_dtype)(r->at[0] & 0xff), rank, (const int64_t *)(r->at + 2), 0,
                         (int32_t)r->at[1], NULL) != UINT32_MAX;
    r->at += 2 + rank;
  }
  return good;
}

/* Copies the name and tag of a node, for dumps and messages. */
static bool keep_words(nxg_graph *g, uint32_t number, const nxg_node *from) {
  if ((from->tag || from->tag_text) && !nxg_set_tag(g, number, from->tag, from->tag_text))
    return false;
  nxg_node *n = &g->nodes[number];
  n->called = from->called;
  if (!from->name || n->name) return true;
  n->name = nxi_arena_copy(&g->arena, from->name, strlen(from->name) + 1);
  return n->name != NULL;
}

static bool read_body(reader *r, uint32_t *args) {
  const nxg_graph *from = r->f->graph;
  for (uint32_t i = 0; i < from->n_nodes; i++) {
    const nxg_node *n = &from->nodes[i];
    if (n->op == NXG_input) continue;
    for (uint32_t k = 0; k < n->n_args; k++) args[k] = r->numbers[n->args[k]];
    r->numbers[i] = nxg_add(r->g, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype,
                            n->rank, n->shape);
    if (r->numbers[i] == UINT32_MAX) return false;
    r->g->nodes[r->numbers[i]].origin = i;
    if (!keep_words(r->g, r->numbers[i], n)) return false;
  }
  return true;
}

/* A view of a result, or the result itself. */
static uint32_t read_view(reader *r, uint32_t number) {
  const nxg_node *n = &r->g->nodes[number];
  nxg_view v = {.rank = (int32_t)r->at[0], .offset = (int64_t)r->at[1]};
  int64_t attrs[1 + NXG_MAX_RANK] = {v.offset};
  memcpy(v.shape, r->at + 2, (size_t)v.rank * sizeof *v.shape);
  memcpy(v.strides, r->at + 2 + v.rank, (size_t)v.rank * sizeof *v.strides);
  memcpy(attrs + 1, v.strides, (size_t)v.rank * sizeof *attrs);
  r->at += 2 + 2 * v.rank;
  if (is_dense(&v, n)) return number;
  return nxg_add(r->g, NXG_view, 1, &number, attrs, 1 + (uint32_t)v.rank, n->dtype, v.rank,
                 v.shape);
}

static uint32_t read_part(reader *r, uint32_t target, uint32_t number) {
  uint64_t input = r->at[0], alias_range = r->at[1];
  uint32_t n_attrs = (uint32_t)r->at[2], args[3] = {r->targets[target]}, n_args = 2;
  const int64_t *attrs = (const int64_t *)(r->at + 3);
  nx_dtype dtype = r->g->nodes[number].dtype;
  r->at += 3 + n_attrs;
  if (input) { /* the first assign: of the old memory, in its alias range */
    args[0] = r->g->inputs[input - 1].node;
    n_args = alias_range != NXI_NONE ? 3 : 2;
    if (n_args == 3) args[2] = r->g->inputs[alias_range].node;
  }
  args[1] = read_view(r, number);
  if (r->g->failed || args[1] == UINT32_MAX) return UINT32_MAX;
  const nxg_node *old = &r->g->nodes[args[0]];
  return nxg_add(r->g, NXG_update, n_args, args, attrs, n_attrs, dtype, old->rank, old->shape);
}

static bool read_results(reader *r) {
  uint32_t all = r->f->graph->n_outputs, n_out = r->f->n_out;
  for (uint32_t j = 0; j < all; j++) {
    const nxg_output *o = &r->f->graph->outputs[(n_out + j) % all];
    uint32_t number = r->numbers[o->node];
    uint64_t head = *r->at++ & 0xff;
    uint32_t target = (uint32_t)(r->at[-1] >> 8);
    if (head == NEW) {
      r->names[r->n_new] = o->name;
      r->finals[r->n_new++] = number;
    }
    if (head == WHOLE) r->targets[target] = number;
    else if (head == VIEW) r->targets[target] = read_view(r, number);
    else if (head == PART) r->targets[target] = read_part(r, target, number);
    if (r->g->failed) return false;
  }
  memcpy(r->finals + r->n_new, r->targets, r->n_targets * sizeof *r->finals);
  return true;
}

/* Adds the outputs. One that is an input, or another output, is copied. */
static bool add_outputs(reader *r) {
  nxg_graph *g = r->g;
  uint8_t *taken = nxi_calloc(g->n_nodes, 1);
  for (uint32_t i = 0; taken && i < r->n_new + r->n_targets; i++) {
    uint32_t number = r->finals[i];
    const nxg_node *n = &g->nodes[number];
    if (n->op == NXG_input || taken[number])
      number = nxg_add(g, NXG_copy, 1, &number, NULL, 0, n->dtype, n->rank, n->shape);
    taken[r->finals[i]] = 1;
    if (number != UINT32_MAX) nxg_add_output(g, number, i < r->n_new ? r->names[i] : NULL);
  }
  nxi_free(taken);
  return taken != NULL;
}

/* Makes the graph. New tensors have the names of the function's outputs, which are in the key;
 * assigned values have none. */
static nx_status make_graph(nxi_run *run, nxg_graph **out, nxi_diag *d) {
  const nx_function *f = run->user;
  const nxg_graph *from = f->graph;
  uint32_t most = 1, all = from->n_outputs;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    if (from->nodes[i].n_args > most) most = from->nodes[i].n_args;
  uint64_t extra = run->key[3];
  reader r = {.f = f, .g = nxg_create(from->name), .at = run->key + 4};
  size_t words = (size_t)from->n_nodes + most + 2 * (size_t)all;
  r.numbers = nxi_malloc(words * sizeof *r.numbers);
  r.names = nxi_calloc((size_t)all + 1, sizeof *r.names);
  bool good = r.g && r.numbers && r.names &&
              read_inputs(&r, (uint32_t)extra, (uint32_t)(extra >> 32)) &&
              read_body(&r, r.numbers + from->n_nodes);
  if (good) {
    r.finals = r.numbers + from->n_nodes + most;
    r.targets = r.finals + all;
    r.n_targets = (uint32_t)*r.at++;
    memset(r.targets, 0xff, all * sizeof *r.targets);
    good = read_results(&r) && add_outputs(&r);
  }
  nxi_free(r.numbers);
  nxi_free(r.names);
  if (good && !r.g->failed) {
    *out = r.g;
    return NX_OK;
  }
  nxg_destroy(r.g);
  return nxi_oom(d);
}
