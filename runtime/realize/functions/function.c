/* SPDX-License-Identifier: ISC */
/* Functions: the common part of creating them from captures and from text, their description, and
 * recording them inline. */
#include "function.h"

#include <stdio.h>

#include "ir/graph/control.h"
#include "ir/platform/lock.h"
#include "runtime/record/assign.h"
#include "runtime/record/capture.h"
#include "runtime/record/custom.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/pending.h"
#include "runtime/record/record.h"

nx_function *nxi_function_new(nx_context *c, nxg_graph *g, uint32_t n_in, uint32_t n_out,
                              nxi_diag *d) {
  bool watched;
  nx_function *f = nxi_handle_alloc(sizeof *f, &watched);
  if (!f) return nxi_oom(d), NULL;
  f->watched = watched;
  f->donate = nxi_calloc(n_in, 1);
  f->names = nxi_calloc((size_t)n_in + n_out, sizeof *f->names);
  if (!f->donate || !f->names) {
    nxi_free(f->donate);
    nxi_free(f->names);
    nxi_handle_free(f, watched);
    return nxi_oom(d), NULL;
  }
  for (uint32_t i = 0; i < n_in + n_out; i++)
    snprintf(f->names[i], sizeof f->names[i], "%c%u", i < n_in ? 'x' : 'y',
             i < n_in ? i : i - n_in);
  atomic_init(&f->head.refs, 1);
  f->head.kind = NXI_FUNCTION;
  f->context = c;
  f->graph = g;
  if (g) nxi_customs_ref(g);
  f->n_in = n_in;
  f->n_out = n_out;
  nxi_record_lock(c);
  f->id = ++c->next_id;
  nxi_record_unlock(c);
  nxi_context_ref(c);
  if (watched) nxi_watch_made(f, NXI_FUNCTION, c, "of %u inputs and %u outputs", n_in, n_out);
  return f;
}

void nxi_function_drop(nx_context *c, nx_function *f) {
  NXI_HELD(&c->record_lock);
  for (uint32_t i = 0; i < f->n_sources; i++) {
    if (f->sources[i].cell) nxi_storage_unref(c, f->sources[i].cell);
    if (f->sources[i].node) nxi_node_unref(c, f->sources[i].node);
  }
  for (uint32_t i = 0; i < f->n_effects; i++)
    if (f->effects[i].storage) nxi_storage_unref(c, f->effects[i].storage);
  nxi_customs_unref(c, f->graph);
  nxg_destroy(f->graph);
  nxi_free(f->sources);
  nxi_free(f->effects);
  nxi_free(f->donate);
  nxi_free(f->names);
  nxi_handle_free(f, f->watched);
}

void nxi_function_teardown(nx_context *c, nx_function *f) { nxi_function_drop(c, f); }

nx_function *nx_function_retain(nx_function *f) {
  if (f && !nxi_have_function("retain", 0, f)) return NULL;
  if (f) atomic_fetch_add_explicit(&f->head.refs, 1, memory_order_relaxed);
  return f;
}

void nx_function_release(nx_function *f) {
  if (f && nxi_have_function("release", 0, f)) nxi_head_release(f->context, &f->head);
}

/* ---- description */

void nx_function_describe(const nx_function *f, nx_function_info *out) {
  nx_function_info info = {.size = sizeof info};
  if (f && nxi_have_function("function", 0, f))
    info = (nx_function_info){sizeof info, f->graph->name, f->n_in, f->n_out};
  nxi_fill(out, &info, sizeof info, "nx_function_info", "function");
}

static nx_status describe_port(const nx_function *f, uint32_t node, const char *name,
                               const char *otherwise, nx_port_info *out) {
  const nxg_node *n = &f->graph->nodes[node];
  nx_port_info info = {sizeof info, name ? name : otherwise, n->dtype, n->rank, n->shape};
  return nxi_fill(out, &info, sizeof info, "nx_port_info", "function");
}

static nx_status no_port(const char *what, size_t i, uint32_t n) {
  nxi_diag d;
  nxi_diag_clear(&d);
  nxi_fail(&d, NX_INVALID_ARGUMENT, "function", "function: there is no %s %zu, it has %u", what, i,
           n);
  return nxi_error_report(&d);
}

nx_status nx_function_input(const nx_function *f, size_t i, nx_port_info *out) {
  if (!nxi_have_function("function", 0, f)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("function", 2), NX_INVALID_ARGUMENT;
  if (i >= f->n_in) return no_port("input", i, f->n_in);
  uint32_t node = f->graph->inputs[i].node;
  return describe_port(f, node, f->graph->nodes[node].name, f->names[i], out);
}

nx_status nx_function_output(const nx_function *f, size_t i, nx_port_info *out) {
  if (!nxi_have_function("function", 0, f)) return NX_INVALID_ARGUMENT;
  if (!out) return nxi_error_null("function", 2), NX_INVALID_ARGUMENT;
  if (i >= f->n_out) return no_port("output", i, f->n_out);
  const nxg_output *o = &f->graph->outputs[i];
  return describe_port(f, o->node, o->name, f->names[f->n_in + i], out);
}

/* ---- checks of calls */

static bool misfit(const nx_function *f, nx_tensor *t, uint32_t node, const char *what, uint32_t i,
                   nxi_diag *d) {
  const nxg_node *n = &f->graph->nodes[node];
  if (t->context != f->context) {
    nxi_fail(d, NX_INVALID_ARGUMENT, f->graph->name, "%s: %s %u belongs to another context",
             f->graph->name, what, i);
  } else if (t->storage->dtype != n->dtype || t->storage->device != f->device) {
    nxi_fail(d, NX_INVALID_ARGUMENT, f->graph->name,
             "%s: %s %u is %s on device %d, not %s on device %d", f->graph->name, what, i,
             nxi_dtypes[t->storage->dtype].name, t->storage->device, nxi_dtypes[n->dtype].name,
             f->device);
  } else {
    char is[NXG_SHAPE_TEXT], wanted[NXG_SHAPE_TEXT];
    nxi_fail(d, NX_INVALID_ARGUMENT, f->graph->name, "%s: %s %u has the shape %s, not %s",
             f->graph->name, what, i, nxg_format_shape(is, t->rank, nxi_shape(t)),
             nxg_format_shape(wanted, n->rank, n->shape));
  }
  d->operand = (int32_t)i;
  return false;
}

static bool fits(const nx_function *f, nx_tensor *t, uint32_t node, const char *what, uint32_t i,
                 nxi_diag *d) {
  const nxg_node *n = &f->graph->nodes[node];
  if (t->context == f->context && t->storage->dtype == n->dtype &&
      t->storage->device == f->device && nxg_same_shape(t->rank, nxi_shape(t), n->rank, n->shape))
    return true;
  return misfit(f, t, node, what, i, d);
}

static bool live(const char *name, const nx_tensor *t, uint32_t i, nxi_diag *d) {
  if (nxi_looks_live(t, NXI_TENSOR)) return true;
  nxi_handle_fault(name, (int32_t)i, t, NXI_TENSOR, d);
  return false;
}

static bool writable(nx_tensor *t, const char *name, uint32_t i, nxi_diag *d) {
  if (t->storage->flags & NXI_STORAGE_READ_ONLY)
    nxi_fail(d, NX_NOT_WRITABLE, name, "%s: output %u lies in an immutable import", name, i);
  if (t->contiguous || d->status) return d->status == NX_OK;
  nxg_view v;
  nxi_view_of(t, &v);
  if (nxg_view_overlaps_itself(&v))
    nxi_fail(d, NX_INVALID_ARGUMENT, name,
             "%s: the view of output %u maps two indices to one element", name, i);
  return d->status == NX_OK;
}

static bool check_counts(const nx_function *f, size_t n_in, size_t n_out, nxi_diag *d) {
  bool inputs = n_in != f->n_in;
  const char *name = f->graph->name;
  if (!inputs && n_out == f->n_out) return true;
  nxi_fail(d, NX_INVALID_ARGUMENT, name, "%s: the number of %s is %zu, not %u", name,
           inputs ? "inputs" : "outputs", inputs ? n_in : n_out, inputs ? f->n_in : f->n_out);
  return false;
}

bool nxi_function_check(const nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                        size_t n_out, nxi_diag *d) {
  const nxg_graph *g = f->graph;
  nxi_diag_clear(d);
  if (!check_counts(f, n_in, n_out, d)) return false;
  if ((!in && f->n_in) || (!out && f->n_out)) {
    nxi_fail(d, NX_INVALID_ARGUMENT, g->name, "%s: the list of inputs or outputs is null", g->name);
    return false;
  }
  for (uint32_t i = 0; i < f->n_in; i++) {
    if (!in[i]) {
      nxi_fail(d, NX_INVALID_ARGUMENT, g->name, "%s: input %u is null", g->name, i);
      d->operand = (int32_t)i;
      return false;
    }
    if (!live(g->name, in[i], i, d)) return false;
    if (!fits(f, in[i], g->inputs[i].node, "input", i, d)) return false;
  }
  for (uint32_t i = 0; i < f->n_out; i++)
    if (out[i] &&
        (!live(g->name, out[i], i, d) || !fits(f, out[i], g->outputs[i].node, "output", i, d) ||
         !writable(out[i], g->name, i, d)))
      return false;
  for (uint32_t i = 0; i < f->n_effects; i++)
    if (!f->effects[i].storage &&
        !writable(in[f->effects[i].input], g->name /* NOLINT: an input, so in is not null */,
                  f->effects[i].input, d))
      return false;
  return true;
}

/* ---- arguments that share memory */

/* The first and the last element of the storage between which those of t lie. */
static void extent(const nx_tensor *t, int64_t *low, int64_t *high) {
  *low = *high = t->offset;
  for (int i = 0; i < t->rank; i++) {
    int64_t far = (nxi_shape(t)[i] - 1) * nxi_strides(t)[i];
    *(far < 0 ? low : high) += far;
  }
}

static bool may_overlap(const nx_tensor *a, const nx_tensor *b) {
  int64_t a_low, a_high, b_low, b_high;
  if (a->storage != b->storage || a->elements == 0 || b->elements == 0) return false;
  extent(a, &a_low, &a_high);
  extent(b, &b_low, &b_high);
  return a_low <= b_high && b_low <= a_high;
}

/* An effect on an input, which is seen by another input, or by the body from outside. */
static bool input_is_seen(const nx_function *f, nx_tensor *const *in, uint32_t assigned) {
  for (uint32_t i = 0; i < f->n_in; i++)
    if (i != assigned && may_overlap(in[assigned], in[i])) return true;
  for (uint32_t i = 0; i < f->n_sources; i++)
    if (f->sources[i].cell == in[assigned]->storage) return true;
  return false;
}

static bool outside_is_seen(const nx_function *f, nx_tensor *const *in, const nxi_storage *s) {
  for (uint32_t i = 0; i < f->n_in; i++)
    if (in[i]->storage == s) return true;
  return false;
}

bool nx_function_aliases(const nx_function *f, nx_tensor *const *in, size_t n_in) {
  if (!f || !nxi_have_function("function_aliases", 0, f)) return false;
  if (f->n_effects == 0 || !in || n_in != f->n_in) return false;
  for (uint32_t i = 0; i < f->n_in; i++)
    if (!in[i] || !nxi_have_tensor("function_aliases", (int32_t)i, in[i])) return false;
  for (uint32_t i = 0; i < f->n_effects; i++) {
    const nxi_effect *e = &f->effects[i];
    if (e->storage ? outside_is_seen(f, in, e->storage) : input_is_seen(f, in, e->input))
      return true;
  }
  return false;
}

/* ---- recording inline: the graph's nodes become recorded nodes, all under one lock */

static nxi_node *record_source(nx_context *c, const nxi_source *s) {
  nxi_node *n = s->cell ? s->cell->value : s->node;
  n->refs++;
  return s->cell && atomic_load_explicit(&c->capturing, memory_order_relaxed)
             ? nxi_capture_read(c, s->cell, n)
             : n;
}

/* An input of the graph beyond the function's own. */
static nxi_node *record_read(nx_context *c, const nx_function *f, const nxg_node *n,
                             bool *exposed) {
  const nxi_source *s = &f->sources[n->attrs[0] - f->n_in];
  nxi_node *read = record_source(c, s);
  int64_t strides[NXG_MAX_RANK];
  *exposed |= s->cell && s->cell->write_pins > 0;
  if (!read || nxg_same_shape(read->rank, nxi_node_shape(read), n->rank, n->shape)) return read;
  /* since the capture it was assigned a value of another shape */
  nxg_contiguous_strides(n->rank, n->shape, strides);
  return nxi_node_view(c, read, n->rank, n->shape, strides, 0);
}

/* What a recording has of its own. */
typedef struct own {
  int64_t shift;       /* of orders */
  nxi_renewed renewed; /* bodies */
} own;

static nxi_node *record_node(nx_context *c, const nx_function *f, const nxg_node *n,
                             nxi_node *const *nodes, nxi_node **operands, const own *o) {
  nxi_recording r = {.context = c,
                     .op = n->op,
                     .dtype = n->dtype,
                     .device = f->device,
                     .rank = n->rank,
                     .shape = n->shape,
                     .attrs = n->attrs,
                     .n_attrs = n->n_attrs,
                     .called = n->called};
  int64_t attrs[NXG_CALL_MOST_ATTRS + NXG_CONTROL_MOST_ATTRS + NXG_FOR_ATTRS];
  if (n->op == NXG_custom && n->attrs[NXG_CUSTOM_ORDER]) {
    memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
    attrs[NXG_CUSTOM_ORDER] += o->shift;
    r.attrs = attrs;
  } else if (nxg_is_control(n->op) && o->renewed.n) {
    memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
    nxi_renew_attrs(&o->renewed, (nxg_op)n->op, attrs, n->n_attrs);
    r.attrs = attrs;
  }
  for (uint32_t i = 0; i < n->n_args; i++) {
    operands[i] = nodes[n->args[i]];
    operands[i]->refs++;
  }
  return nxi_record_nodes(&r, operands, n->n_args, false);
}

static bool record_graph(nx_context *c, const nx_function *f, nx_tensor *const *in,
                         nxi_node **nodes, nxi_node **operands, const own *own, bool *exposed) {
  const nxg_graph *g = f->graph;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (n->op != NXG_input) {
      nodes[i] = record_node(c, f, n, nodes, operands, own);
    } else if (n->attrs[0] < f->n_in) {
      nxi_operand o = nxi_operand_of(in[n->attrs[0]]);
      nodes[i] = nxi_operand_node(c, &o);
      *exposed |= in[n->attrs[0]]->storage->write_pins > 0;
    } else {
      nodes[i] = record_read(c, f, n, exposed);
    }
    if (!nodes[i]) return false;
  }
  return true;
}

static nx_tensor *tensor_of(nx_context *c, nxi_node *n) {
  uint8_t flags = atomic_load_explicit(&n->flags, memory_order_relaxed);
  n->refs++;
  if (flags & (NXI_NODE_EXPOSED | NXI_NODE_FOREIGN)) {
    nxi_recording r = {.context = c,
                       .op = NXG_copy,
                       .dtype = n->dtype,
                       .device = n->device,
                       .rank = n->rank,
                       .shape = nxi_node_shape(n)};
    n = nxi_record_unary(&r, n);
  }
  return n ? nxi_tensor_of_node(c, n) : NULL;
}

/* Handles of a storage that is assigned as a whole. */
static nx_tensor *whole_handle(nx_context *c, nxi_storage *s) {
  s->refs++;
  return nxi_tensor_create(c, s, 1, &s->elements, NULL, 0);
}

/* The objects that recording a call makes. */
typedef struct recorded {
  nx_tensor **results, **cells; /* n_out + n_effects, n_effects */
  nxi_assigned *assigned;       /* n_out + n_effects; those of the body come first */
  /* n_out + n_effects: the storage of each output, or the one that it is assigned to */
  nxi_storage **storages;
} recorded;

static bool record_results(nx_context *c, const nx_function *f, nxi_node *const *nodes,
                           recorded *r) {
  for (uint32_t i = 0; i < f->n_out + f->n_effects; i++)
    if (!(r->results[i] = tensor_of(c, nodes[f->graph->outputs[i].node]))) return false;
  for (uint32_t i = 0; i < f->n_effects; i++)
    if (f->effects[i].storage && !(r->cells[i] = whole_handle(c, f->effects[i].storage)))
      return false;
  return true;
}

static bool record_assigns(nx_context *c, const nx_function *f, nx_tensor *const *in,
                           nx_tensor *const *out, recorded *r, bool *exposed, nxi_diag *d) {
  uint32_t all = f->n_out + f->n_effects;
  for (uint32_t j = 0; j < all; j++) {
    uint32_t i = (f->n_out + j) % all;
    nxi_operand o = nxi_operand_of(r->results[i]);
    nx_tensor *dst = i < f->n_out ? out[i] : r->cells[i - f->n_out];
    int64_t strides[NXG_MAX_RANK] = {1};
    if (i >= f->n_out && dst)
      o = (nxi_operand){r->results[i], 1, 0, &dst->storage->elements, strides};
    if (i >= f->n_out && !dst) { /* the value may have another shape */
      dst = in[f->effects[i - f->n_out].input];
      nxg_contiguous_strides(dst->rank, nxi_shape(dst), strides);
      o = (nxi_operand){r->results[i], dst->rank, 0, nxi_shape(dst), strides};
    }
    r->storages[j] = dst ? dst->storage : r->results[i]->storage;
    if (!dst || !dst->elements) continue;
    if (nxi_assign_locked(c, dst, &o, exposed, &r->assigned[j], d)) {
      nxi_assigns_back_locked(c, r->assigned, j);
      return false;
    }
  }
  return true;
}

/* Releases everything that is not returned to the caller. */
static void let_go(const nx_function *f, recorded *r, nx_tensor **out, bool good) {
  uint32_t all = f->n_out + f->n_effects;
  if (r->assigned) nxi_assigns_done(f->context, r->assigned, all);
  for (uint32_t i = 0; r->results && i < all; i++) {
    if (good && i < f->n_out && !out[i]) out[i] = r->results[i];
    else nx_tensor_release(r->results[i]);
  }
  for (uint32_t i = 0; r->results && i < f->n_effects; i++) nx_tensor_release(r->cells[i]);
  nxi_free(r->results);
  nxi_free(r->assigned);
  nxi_free(r->storages);
}

/* Whether the recorded operations have to be computed now, because they read or assign storage that
 * the host may access. */
static bool is_traced(const nx_function *f, nxi_node *const *nodes) {
  for (uint32_t i = 0; i < f->n_out + f->n_effects; i++)
    if (atomic_load_explicit(&nodes[f->graph->outputs[i].node]->flags, memory_order_relaxed) &
        NXI_NODE_TRACED)
      return true;
  return false;
}

static bool record(nx_function *f, nx_tensor *const *in, nx_tensor *const *out, nxi_node **nodes,
                   recorded *r, bool *exposed, nxi_diag *d) {
  nx_context *c = f->context;
  uint32_t n = f->graph->n_nodes;
  nxi_record_lock(c);
  nxi_drain(c, 64);
  own o = {.shift = nxi_custom_shift(f->graph)};
  bool good = nxi_renew(f->graph, &o.renewed, d) == NX_OK &&
              record_graph(c, f, in, nodes, nodes + n, &o, exposed) &&
              record_results(c, f, nodes, r) && record_assigns(c, f, in, out, r, exposed, d);
  nxi_renewed_end(&o.renewed);
  *exposed = good && *exposed && !is_traced(f, nodes);
  for (uint32_t i = 0; i < n; i++)
    if (nodes[i]) nxi_node_unref(c, nodes[i]);
  nxi_record_unlock(c);
  return good;
}

nx_status nx_function_record(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                             size_t n_out) {
  nxi_diag d;
  if (!nxi_have_function("function", 0, f)) return NX_INVALID_ARGUMENT;
  if (!nxi_function_check(f, in, n_in, out, n_out, &d)) return nxi_error_report(&d);
  nx_context *c = f->context;
  uint32_t n = f->graph->n_nodes, all = f->n_out + f->n_effects, most = 1;
  for (uint32_t i = 0; i < n; i++)
    if (f->graph->nodes[i].n_args > most) most = f->graph->nodes[i].n_args;
  nxi_node **nodes = nxi_calloc((size_t)n + most, sizeof *nodes);
  nx_tensor **results = nxi_calloc((size_t)all + f->n_effects, sizeof *results);
  recorded r = {.results = results,
                .cells = results ? results + all : NULL,
                .assigned = nxi_calloc(all, sizeof *r.assigned),
                .storages = nxi_calloc(all, sizeof *r.storages)};
  bool exposed = false, good = nodes && results && r.assigned && r.storages &&
                               record(f, in, out, nodes, &r, &exposed, &d);
  nx_status status = good ? NX_OK : nxi_oom(&d);
  if (status) nxi_oom_in(&d, status, f->graph->name), nxi_error_report(&d);
  else if (exposed) status = nxi_carry_out(c, r.storages, all, r.assigned, all);
  let_go(f, &r, out, status == NX_OK);
  nxi_free(nodes);
  return status;
}

/* ---- the part of a body that does not depend on its inputs */

static bool record_fixed(nx_function *f, const bool *varies, nxi_node **nodes, nx_tensor **values,
                         bool *exposed) {
  nx_context *c = f->context;
  const nxg_graph *g = f->graph;
  own o = {.shift = nxi_custom_shift(g)};
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    const nxg_node *n = &g->nodes[i];
    if (varies[i]) continue;
    nodes[i] = n->op == NXG_input ? record_read(c, f, n, exposed)
                                  : record_node(c, f, n, nodes, nodes + g->n_nodes, &o);
    if (!nodes[i] || !(values[i] = tensor_of(c, nodes[i]))) return false;
  }
  return true;
}

nx_status nxi_function_fixed(nx_function *f, const bool *varies, nx_tensor **values) {
  nx_context *c = f->context;
  uint32_t n = f->graph->n_nodes, most = 1;
  bool exposed = false;
  nxi_diag d;
  nxi_diag_clear(&d);
  for (uint32_t i = 0; i < n; i++)
    if (f->graph->nodes[i].n_args > most) most = f->graph->nodes[i].n_args;
  nxi_node **nodes = nxi_calloc((size_t)n + most, sizeof *nodes);
  nxi_record_lock(c);
  bool good = nodes && record_fixed(f, varies, nodes, values, &exposed);
  for (uint32_t i = 0; nodes && i < n; i++)
    if (nodes[i]) nxi_node_unref(c, nodes[i]);
  nxi_record_unlock(c);
  nxi_free(nodes);
  if (!good) return nxi_oom_in(&d, nxi_oom(&d), "function"), nxi_error_report(&d);
  for (uint32_t i = 0; exposed && i < n; i++)
    if (values[i] && nx_realize(c, &values[i], 1, NULL)) return nxi_error_status();
  return NX_OK;
}
