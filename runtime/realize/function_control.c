/* SPDX-License-Identifier: ISC */
/* Recording loops and branches. A function of the operands is made, whose graph is the operation
 * alone, and recorded inline as any other. The graphs of the functions that a caller gives become
 * bodies: what these captured from outside becomes captured operands of the loop. */
#include <string.h>

#include "function.h"
#include "ir/graph/control.h"
#include "ir/platform/lock.h"
#include "nx/control.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

/* A group of operands. */
typedef struct operands {
  nx_tensor *const *tensors;
  size_t n;
  const char *what;
} operands;

typedef struct recording {
  nxg_op op;
  const char *name;
  operands first, init, captured, stacked;
  nx_function *const *bodies;
  size_t n_bodies;
  int64_t limit, count;
  bool reverse;
  size_t n_out;
  nx_context *context;
  nx_tensor **in; /* all operands */
  uint32_t n_in, n_sources;
  int64_t numbers[NXG_CONTROL_BRANCHES]; /* of bodies; held */
  uint32_t n_numbers;
  nxg_graph *g;
  nx_function *f;
  nxi_diag *d, own; /* d: own */
} recording;

enum { MOST = 1 << 20 };

#define REFUSE(k, ...) nxi_fail((k)->d, NX_INVALID_ARGUMENT, (k)->name, __VA_ARGS__)

/* ---- what the caller gives */

static nx_status add_operands(recording *k, const operands *o) {
  if (o->n > 0 && o->tensors == NULL)
    return REFUSE(k, "%s: the list of %s is null", k->name, o->what);
  for (size_t i = 0; i < o->n; i++) {
    nx_tensor *t = o->tensors[i];
    if (t == NULL || !nxi_looks_live(t, NXI_TENSOR)) {
      nxi_handle_fault(k->name, (int32_t)k->n_in, t, NXI_TENSOR, k->d);
      return k->d->status;
    }
    k->in[k->n_in++] = t;
  }
  return NX_OK;
}

static nx_status check_body(const recording *k, size_t i) {
  nx_function *f = k->bodies[i];
  uint32_t wanted = (uint32_t)(k->op == NXG_for) + k->n_in - (uint32_t)k->first.n;
  if (f == NULL || !nxi_looks_live(f, NXI_FUNCTION)) {
    nxi_handle_fault(k->name, (int32_t)i, f, NXI_FUNCTION, k->d);
    return k->d->status;
  }
  if (f->context != k->bodies[0]->context || f->device != k->bodies[0]->device)
    return REFUSE(k, "%s: function %zu is of another context or device than function 0", k->name,
                  i);
  if (f->n_effects > 0)
    return REFUSE(k,
                  "%s: %.40s assigns to a tensor; in a body a value that changes is a carried "
                  "one",
                  k->name, f->graph->name);
  if (f->n_in != wanted)
    return REFUSE(k, "%s: %.40s has %u inputs, and %u values are passed to it", k->name,
                  f->graph->name, f->n_in, wanted);
  return NX_OK;
}

static nx_status check(recording *k) {
  nx_status status = NX_OK;
  if (k->first.n + k->init.n + k->captured.n + k->stacked.n > MOST)
    return REFUSE(k, "%s: a list is longer than a million", k->name);
  if (k->n_bodies == 0 || k->n_bodies > NXG_CONTROL_BRANCHES || k->bodies == NULL)
    return REFUSE(k, "%s: it has %zu bodies, not 1 to %d", k->name, k->n_bodies,
                  NXG_CONTROL_BRANCHES);
  k->in = nxi_calloc(k->first.n + k->init.n + k->captured.n + k->stacked.n + 1, sizeof *k->in);
  if (k->in == NULL) return nxi_oom(k->d);
  const operands *all[] = {&k->first, &k->init, &k->captured, &k->stacked};
  for (int i = 0; i < 4 && status == NX_OK; i++) status = add_operands(k, all[i]);
  for (size_t i = 0; i < k->n_bodies && status == NX_OK; i++) {
    status = check_body(k, i);
    if (status == NX_OK) k->n_sources += k->bodies[i]->n_sources;
  }
  if (status == NX_OK) k->context = k->bodies[0]->context;
  return status;
}

/* ---- bodies */

typedef struct body {
  const recording *k;
  const nx_function *f;
  nxg_graph *g;
  uint32_t *map; /* node of f's graph -> node of g */
} body;

/* An input of the body; its own if node is one of f's. */
static void add_input(body *b, const nxg_graph *of, uint32_t input) {
  uint32_t node = of->inputs[input].node;
  const nxg_node *n = &of->nodes[node];
  bool own = of == b->f->graph;
  uint32_t made = nxg_add_input(b->g, n->dtype, n->rank, n->shape, 0, -1, own ? n->name : NULL);
  if (own) b->map[node] = made;
}

/* The inputs of a body: those of the function, and among them what all bodies captured. */
static void add_inputs(body *b) {
  const nx_function *f = b->f;
  uint32_t stacked = (uint32_t)b->k->stacked.n;
  for (uint32_t i = 0; i < f->n_in - stacked; i++) add_input(b, f->graph, i);
  for (size_t o = 0; o < b->k->n_bodies; o++) {
    const nx_function *other = b->k->bodies[o];
    for (uint32_t i = 0; i < other->n_sources; i++) add_input(b, other->graph, other->n_in + i);
  }
  for (uint32_t i = f->n_in - stacked; i < f->n_in; i++) add_input(b, f->graph, i);
}

static void copy_node(body *b, uint32_t i, uint32_t *args) {
  const nxg_node *n = &b->f->graph->nodes[i];
  for (uint32_t a = 0; a < n->n_args; a++) args[a] = b->map[n->args[a]];
  uint32_t made = nxg_add(b->g, (nxg_op)n->op, n->n_args, args, n->attrs, n->n_attrs, n->dtype,
                          n->rank, n->shape);
  b->map[i] = made;
  if (made == UINT32_MAX) return;
  b->g->nodes[made].called = n->called;
  if ((n->tag || n->tag_text) && !nxg_set_tag(b->g, made, n->tag, n->tag_text)) b->g->failed = true;
}

static void fill_body(body *b, uint32_t *args) {
  const nxg_graph *from = b->f->graph;
  add_inputs(b);
  for (uint32_t i = 0; i < from->n_nodes && !b->g->failed; i++)
    if (from->nodes[i].op != NXG_input) copy_node(b, i, args);
  for (uint32_t i = 0; i < b->f->n_out && !b->g->failed; i++)
    nxg_add_output(b->g, b->map[from->outputs[i].node], from->outputs[i].name);
}

static nx_status make_body(recording *k, const nx_function *f) {
  const nxg_graph *from = f->graph;
  uint32_t most = 1;
  for (uint32_t i = 0; i < from->n_nodes; i++)
    most = from->nodes[i].n_args > most ? from->nodes[i].n_args : most;
  uint32_t *room = nxi_malloc(((size_t)from->n_nodes + most) * sizeof *room);
  body b = {k, f, nxg_create(from->name), room};
  if (room != NULL && b.g != NULL) fill_body(&b, room + from->n_nodes);
  nxi_free(room);
  if (room == NULL || b.g == NULL) {
    nxg_destroy(b.g);
    return nxi_oom(k->d);
  }
  nx_status status = nxg_body_take(b.g, &k->numbers[k->n_numbers], k->d);
  k->n_numbers += status == NX_OK;
  return status;
}

/* ---- the function of the operands */

static uint32_t fill_attrs(const recording *k, int64_t *attrs) {
  uint32_t n = 0;
  attrs[n++] = 0;
  if (k->op != NXG_case) attrs[n++] = k->limit;
  if (k->op == NXG_for || k->op == NXG_scan) {
    attrs[n++] = k->count;
    attrs[n++] = (int64_t)k->init.n;
    attrs[n++] = (int64_t)k->stacked.n;
    attrs[n++] = k->reverse;
  }
  for (uint32_t i = 0; i < k->n_numbers; i++) attrs[n++] = k->numbers[i];
  return n;
}

/* The inputs of the graph, and the operands of its node in their order, with their types. */
static bool add_values(recording *k, uint32_t *args, nxg_type *types) {
  uint32_t n = 0, whole = k->n_in - (uint32_t)k->stacked.n;
  uint32_t *last = args + whole + k->n_sources;
  for (uint32_t i = 0; i < k->n_in; i++) {
    const nx_tensor *t = k->in[i];
    uint32_t node = nxg_add_input(k->g, t->storage->dtype, t->rank, nxi_shape(t), 0, -1, NULL);
    if (i < whole) args[n++] = node;
    else last[i - whole] = node;
  }
  for (size_t b = 0; b < k->n_bodies; b++)
    for (uint32_t i = 0; i < k->bodies[b]->n_sources; i++) {
      const nx_function *f = k->bodies[b];
      const nxg_node *x = &f->graph->nodes[f->graph->inputs[f->n_in + i].node];
      args[n++] = nxg_add_input(k->g, x->dtype, x->rank, x->shape, 0, -1, NULL);
    }
  if (k->g->failed) return false;
  for (uint32_t i = 0; i < k->n_in + k->n_sources; i++) {
    const nxg_node *x = &k->g->nodes[args[i]];
    types[i] = (nxg_type){x->dtype, x->rank, x->shape};
  }
  return true;
}

static nx_status add_results(recording *k, uint32_t n, const uint32_t *args,
                             const nxg_type *types) {
  int64_t attrs[NXG_FOR_ATTRS + NXG_CONTROL_BRANCHES], shape[NXG_MAX_RANK];
  uint32_t n_attrs = fill_attrs(k, attrs);
  nxg_control c = {0};
  nx_status status = nxg_control_infer(k->op, n, types, attrs, n_attrs, &c, k->d);
  if (status == NX_OK && c.n_results != k->n_out)
    status = REFUSE(k, "%s: it has %u results, and there are places for %zu", k->name, c.n_results,
                    k->n_out);
  for (uint32_t i = 0; i < k->n_out && status == NX_OK; i++) {
    nx_dtype dtype = 0;
    int32_t rank = 0;
    attrs[0] = i;
    status = nxg_infer(k->op, n, types, attrs, n_attrs, 0, &dtype, &rank, shape, k->d);
    if (status != NX_OK) break;
    uint32_t node = nxg_add(k->g, k->op, n, args, attrs, n_attrs, dtype, rank, shape);
    if (node != UINT32_MAX) nxg_add_output(k->g, node, NULL);
    if (k->g->failed) status = nxi_oom(k->d);
  }
  return status;
}

static nx_status make_graph(recording *k) {
  size_t n = (size_t)k->n_in + k->n_sources;
  if (n == 0) return REFUSE(k, "%s: it has no operands", k->name);
  k->g = nxg_create(k->name);
  uint32_t *args = nxi_malloc(n * sizeof *args);
  nxg_type *types = nxi_malloc(n * sizeof *types);
  nx_status status = k->g != NULL && args != NULL && types != NULL && add_values(k, args, types)
                         ? NX_OK
                         : nxi_oom(k->d);
  if (status == NX_OK) status = add_results(k, (uint32_t)n, args, types);
  nxi_free(args);
  nxi_free(types);
  return status;
}

/* What the bodies captured is what the function captures. */
static nx_status take_sources(recording *k) {
  nx_function *f = k->f;
  if (!nxi_grow(&f->sources, &f->cap_sources, k->n_sources + 1, sizeof *f->sources))
    return nxi_oom(k->d);
  nxi_record_lock(k->context);
  for (size_t b = 0; b < k->n_bodies; b++)
    for (uint32_t i = 0; i < k->bodies[b]->n_sources; i++) {
      nxi_source s = k->bodies[b]->sources[i];
      if (s.cell) s.cell->refs++;
      if (s.node) s.node->refs++;
      f->sources[f->n_sources++] = s;
    }
  nxi_record_unlock(k->context);
  return NX_OK;
}

static nx_status make_function(recording *k) {
  nx_status status = check(k);
  for (size_t i = 0; i < k->n_bodies && status == NX_OK; i++) status = make_body(k, k->bodies[i]);
  if (status == NX_OK) status = make_graph(k);
  if (status != NX_OK) return status;
  k->f = nxi_function_new(k->context, k->g, k->n_in, k->g->n_outputs, k->d);
  if (k->f == NULL) return NX_OUT_OF_MEMORY;
  k->g = NULL; /* it is the function's */
  k->f->device = k->bodies[0]->device;
  return take_sources(k);
}

static nx_status record(recording *k, const nx_loop_options *options, nx_tensor **out) {
  nx_loop_options o = {.size = sizeof o};
  nxi_diag_clear(&k->own);
  k->d = &k->own;
  k->name = nxg_ops[k->op].name;
  if (out == NULL) return nxi_error_null(k->name, -1), NX_INVALID_ARGUMENT;
  nx_status status = nxi_take(&o, options, sizeof o, "nx_loop_options", k->name, k->d);
  k->limit = o.max_steps;
  k->reverse = o.reverse != 0;
  if (status == NX_OK) status = make_function(k);
  if (status != NX_OK) status = nxi_oom_in(k->d, status, k->name), nxi_error_report(k->d);
  else status = nx_function_record(k->f, k->in, k->n_in, out, k->f->n_out);
  nx_function_release(k->f);
  for (uint32_t i = 0; i < k->n_numbers; i++) nxg_body_release(k->numbers[i]);
  nxg_destroy(k->g);
  nxi_free(k->in);
  return status;
}

/* ---- the interface */

nx_status nx_while(nx_function *cond, nx_function *body, nx_tensor *const *init, size_t n,
                   nx_tensor *const *captured, size_t n_captured, const nx_loop_options *options,
                   nx_tensor **out, size_t n_out) {
  nx_function *const bodies[2] = {cond, body};
  recording k = {.op = NXG_while,
                 .init = {init, n, "carried values"},
                 .captured = {captured, n_captured, "captured values"},
                 .bodies = bodies,
                 .n_bodies = 2,
                 .n_out = n_out};
  return record(&k, options, out);
}

nx_status nx_case(nx_tensor *index, nx_function *const *branches, size_t n_branches,
                  nx_tensor *const *in, size_t n_in, nx_tensor **out, size_t n_out) {
  recording k = {.op = NXG_case,
                 .first = {&index, 1, "indices"},
                 .captured = {in, n_in, "operands"},
                 .bodies = branches,
                 .n_bodies = n_branches,
                 .n_out = n_out};
  return record(&k, NULL, out);
}

nx_status nx_for(nx_tensor *count, int64_t steps, nx_function *body, nx_tensor *const *init,
                 size_t n, nx_tensor *const *captured, size_t n_captured,
                 const nx_loop_options *options, nx_tensor **out, size_t n_out) {
  recording k = {.op = NXG_for,
                 .first = {&count, count != NULL, "counts"},
                 .init = {init, n, "carried values"},
                 .captured = {captured, n_captured, "captured values"},
                 .bodies = &body,
                 .n_bodies = 1,
                 .count = count != NULL ? -1
                          : steps > 0   ? steps
                                        : 0,
                 .n_out = n_out};
  return record(&k, options, out);
}

nx_status nx_scan(nx_function *body, int64_t steps, nx_tensor *const *init, size_t n,
                  nx_tensor *const *captured, size_t n_captured, nx_tensor *const *stacked,
                  size_t n_stacked, const nx_loop_options *options, nx_tensor **out, size_t n_out) {
  recording k = {.op = NXG_scan,
                 .init = {init, n, "carried values"},
                 .captured = {captured, n_captured, "captured values"},
                 .stacked = {stacked, n_stacked, "stacked operands"},
                 .bodies = &body,
                 .n_bodies = 1,
                 .count = steps,
                 .n_out = n_out};
  return record(&k, options, out);
}
