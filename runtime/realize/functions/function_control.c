/* SPDX-License-Identifier: ISC */
/* Recording loops and branches. A function of the operands is made, whose graph is the operation
 * alone, and recorded inline as any other. The graphs of the functions that a caller gives become
 * bodies: what these captured from outside becomes captured operands of the loop. */
#include "function_control.h"

#include <string.h>

#include "ir/platform/lock.h"
#include "nx/control.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

enum { MOST = 1 << 20 };
#define REFUSE(k, ...) nxi_fail((k)->d, NX_INVALID_ARGUMENT, (k)->name, __VA_ARGS__)

/* ---- what the caller gives */

static nx_status add_operands(nxi_loop *k, const nxi_loop_values *o) {
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

static nx_status check_body(const nxi_loop *k, size_t i) {
  nx_function *f = k->bodies[i];
  uint32_t wanted = (uint32_t)(k->op == NXG_for) + k->n_in - (uint32_t)k->first.n;
  if (f == NULL || !nxi_looks_live(f, NXI_FUNCTION)) {
    nxi_handle_fault(k->name, (int32_t)i, f, NXI_FUNCTION, k->d);
    return k->d->status;
  }
  if (f->context != k->bodies[0]->context || f->device != k->bodies[0]->device)
    return REFUSE(k, "%s: function %zu is of another context or device than function 0", k->name,
                  i);
  if (f->n_in != wanted)
    return REFUSE(k, "%s: %.40s has %u inputs, and %u values are passed to it", k->name,
                  f->graph->name, f->n_in, wanted);
  if (f->n_out < k->init.n && !(k->op == NXG_while && i == 0))
    return REFUSE(k, "%s: %.40s has %u outputs, and %zu values are carried", k->name,
                  f->graph->name, f->n_out, k->init.n);
  return NX_OK;
}

static nx_status check(nxi_loop *k) {
  nx_status status = NX_OK;
  if (k->first.n + k->init.n + k->captured.n + k->stacked.n > MOST)
    return REFUSE(k, "%s: a list is longer than a million", k->name);
  if (k->n_bodies == 0 || k->n_bodies > NXG_CONTROL_BRANCHES || k->bodies == NULL)
    return REFUSE(k, "%s: it has %zu bodies, not 1 to %d", k->name, k->n_bodies,
                  NXG_CONTROL_BRANCHES);
  k->in = nxi_calloc(k->first.n + k->init.n + k->captured.n + k->stacked.n + 1, sizeof *k->in);
  if (k->in == NULL) return nxi_oom(k->d);
  const nxi_loop_values *all[] = {&k->first, &k->init, &k->captured, &k->stacked};
  for (int i = 0; i < 4 && status == NX_OK; i++) status = add_operands(k, all[i]);
  for (size_t i = 0; i < k->n_bodies && status == NX_OK; i++) status = check_body(k, i);
  if (status == NX_OK) k->context = k->bodies[0]->context;
  k->turned = status == NX_OK && k->op == NXG_while && k->bodies[0]->n_effects > 0;
  if (status == NX_OK) status = nxi_loop_find_states(k);
  k->idle = status == NX_OK && k->op == NXG_scan && k->n_in + k->n_states == 0 &&
            k->bodies[0]->n_sources == 0;
  return status;
}

/* ---- the function of the operands */

static uint32_t fill_attrs(const nxi_loop *k, int64_t *attrs) {
  uint32_t n = 0;
  attrs[n++] = 0;
  if (k->op != NXG_case) attrs[n++] = k->limit;
  if (k->op == NXG_for || k->op == NXG_scan) {
    attrs[n++] = k->count;
    attrs[n++] = (int64_t)k->init.n + k->n_states;
    attrs[n++] = (int64_t)k->stacked.n;
    attrs[n++] = k->reverse;
  }
  for (uint32_t i = 0; i < k->n_numbers; i++) attrs[n++] = k->numbers[i];
  return n;
}

/* Inputs of the function beyond the caller's operands: what bodies captured, then states. */
typedef struct captures {
  nxi_source *sources;
  const nxg_node **types; /* NULL: of a state */
  uint32_t n;
} captures;

static bool find_captures(const nxi_loop *k, captures *c) {
  uint32_t most = k->n_states + 1;
  for (size_t b = 0; b < k->n_bodies; b++) most += k->bodies[b]->n_sources;
  c->sources = nxi_malloc(most * sizeof *c->sources);
  c->types = nxi_malloc(most * sizeof *c->types);
  if (c->sources == NULL || c->types == NULL) return false;
  for (size_t b = 0; b < k->n_bodies; b++)
    for (uint32_t i = 0; i < k->bodies[b]->n_sources; i++) {
      const nx_function *f = k->bodies[b];
      if (nxi_loop_is_state(k, f->sources[i].cell)) continue;
      c->types[c->n] = &f->graph->nodes[f->graph->inputs[f->n_in + i].node];
      c->sources[c->n++] = f->sources[i];
    }
  for (uint32_t s = 0; s < k->n_states; s++) {
    c->types[c->n] = NULL;
    c->sources[c->n++] = (nxi_source){k->states[s], NULL};
  }
  return true;
}

/* The operands of the node in their order. Their number. */
static uint32_t add_values(nxi_loop *k, const captures *c, uint32_t *args) {
  int64_t nothing[2] = {0, -1};
  uint32_t n = 0, before = (uint32_t)(k->first.n + k->init.n),
           last = k->n_in - (uint32_t)k->stacked.n, captured = c->n - k->n_states;
  for (uint32_t i = 0; i < k->n_in; i++) {
    const nx_tensor *t = k->in[i];
    nxg_add_input(k->g, t->storage->dtype, t->rank, nxi_shape(t), 0, -1, NULL);
  }
  for (uint32_t i = 0; i < c->n; i++) {
    const nxg_node *x = c->types[i];
    const nxi_storage *s = c->sources[i].cell;
    if (x != NULL) nxg_add_input(k->g, x->dtype, x->rank, x->shape, 0, -1, NULL);
    else nxg_add_input(k->g, s->dtype, 1, &s->elements, 0, -1, NULL);
  }
  if (k->idle) args[n++] = nxg_add(k->g, NXG_full, 0, NULL, nothing, 2, NX_BOOL, 0, NULL);
  /* inputs are the first nodes, in order */
  for (uint32_t i = 0; i < before; i++) args[n++] = i;
  for (uint32_t i = 0; i < k->n_states; i++) args[n++] = k->n_in + captured + i;
  for (uint32_t i = before; i < last; i++)
    if (!nxi_loop_is_state(k, k->in[i]->storage)) args[n++] = i;
  for (uint32_t i = 0; i < captured; i++) args[n++] = k->n_in + i;
  for (uint32_t i = last; i < k->n_in; i++) args[n++] = i;
  return n;
}

/* Which result of the operation is output i of the function: those of the caller, then states. */
static uint32_t result_of(const nxi_loop *k, uint32_t i) {
  uint32_t n = (uint32_t)k->n_out, before = k->op == NXG_case ? n : (uint32_t)k->init.n;
  if (i >= n) return k->turned + before + (i - n);
  return k->turned + (i < before ? i : i + k->n_states);
}

static void types_of(const nxg_graph *g, uint32_t n, const uint32_t *args, nxg_type *types) {
  for (uint32_t i = 0; i < n; i++) {
    const nxg_node *x = &g->nodes[args[i]];
    types[i] = (nxg_type){x->dtype, x->rank, x->shape};
  }
}

/* Checks the operands as the caller gives them. */
static nx_status check_types(const nxi_loop *k, uint32_t n, const nxg_type *types) {
  int64_t attrs[NXG_FOR_ATTRS + NXG_CONTROL_BRANCHES];
  uint32_t n_attrs = fill_attrs(k, attrs), all = (uint32_t)k->n_out + k->n_states;
  nxg_control c = {0};
  nx_status status = nxg_control_infer(k->op, n, types, attrs, n_attrs, &c, k->d);
  if (status == NX_OK && c.n_results != all)
    status = REFUSE(k, "%s: it has %u results, and there are places for %zu", k->name,
                    c.n_results - k->n_states, k->n_out);
  return status;
}

static nx_status add_results(nxi_loop *k, uint32_t n, const uint32_t *args, const nxg_type *types) {
  int64_t attrs[NXG_FOR_ATTRS + NXG_CONTROL_BRANCHES], shape[NXG_MAX_RANK];
  uint32_t n_attrs = fill_attrs(k, attrs), all = (uint32_t)k->n_out + k->n_states;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < all && status == NX_OK; i++) {
    nx_dtype dtype = 0;
    int32_t rank = 0;
    attrs[0] = result_of(k, i);
    status = nxg_infer(k->op, n, types, attrs, n_attrs, 0, &dtype, &rank, shape, k->d);
    if (status != NX_OK) break;
    uint32_t node = nxg_add(k->g, k->op, n, args, attrs, n_attrs, dtype, rank, shape);
    if (node != UINT32_MAX) nxg_add_output(k->g, node, NULL);
    if (k->g->failed) status = nxi_oom(k->d);
  }
  return status;
}

static nx_status make_graph(nxi_loop *k, const captures *c) {
  size_t most = (size_t)k->n_in + c->n + 1;
  if (most == 1 && !k->idle) return REFUSE(k, "%s: it has no operands", k->name);
  k->g = nxg_create(k->name);
  uint32_t *args = nxi_malloc(most * sizeof *args);
  nxg_type *types = nxi_malloc(most * sizeof *types);
  nx_status status = k->g != NULL && args != NULL && types != NULL ? NX_OK : nxi_oom(k->d);
  uint32_t n = status == NX_OK ? add_values(k, c, args) : 0;
  if (status == NX_OK && k->g->failed) status = nxi_oom(k->d);
  if (status == NX_OK) {
    types_of(k->g, n, args, types);
    status = check_types(k, n, types);
  }
  if (status == NX_OK && k->turned) {
    status = nxi_loop_turn(k, args, &n);
    if (status == NX_OK) types_of(k->g, n, args, types);
  }
  if (status == NX_OK) status = add_results(k, n, args, types);
  nxi_free(args);
  nxi_free(types);
  return status;
}

/* What the bodies captured is what the function captures, and it assigns what they assign. */
static nx_status take_captures(nxi_loop *k, const captures *c) {
  nx_function *f = k->f;
  if (!nxi_grow(&f->sources, &f->cap_sources, c->n + 1, sizeof *f->sources) ||
      !nxi_grow(&f->effects, &f->cap_effects, k->n_states + 1, sizeof *f->effects))
    return nxi_oom(k->d);
  nxi_record_lock(k->context);
  for (uint32_t i = 0; i < c->n; i++) {
    nxi_source s = c->sources[i];
    if (s.cell) s.cell->refs++;
    if (s.node) s.node->refs++;
    f->sources[f->n_sources++] = s;
  }
  for (uint32_t i = 0; i < k->n_states; i++) {
    k->states[i]->refs++;
    f->effects[f->n_effects++] =
        (nxi_effect){k->states[i], UINT32_MAX, k->n_in + c->n - k->n_states + i};
  }
  nxi_record_unlock(k->context);
  return NX_OK;
}

static nx_status make_function(nxi_loop *k, captures *c) {
  nx_status status = check(k);
  if (status == NX_OK) status = nxi_loop_make_bodies(k);
  if (status == NX_OK && !find_captures(k, c)) status = nxi_oom(k->d);
  if (status == NX_OK) status = make_graph(k, c);
  if (status != NX_OK) return status;
  k->f = nxi_function_new(k->context, k->g, k->n_in, (uint32_t)k->n_out, k->d);
  if (k->f == NULL) return NX_OUT_OF_MEMORY;
  k->g = NULL; /* it is the function's */
  k->f->device = k->bodies[0]->device;
  return take_captures(k, c);
}

static nx_status record(nxi_loop *k, const nx_loop_options *options, nx_tensor **out) {
  nx_loop_options o = {.size = sizeof o};
  captures c = {0};
  nxi_diag_clear(&k->own);
  k->d = &k->own;
  k->name = nxg_ops[k->op].name;
  if (out == NULL) return nxi_error_null(k->name, -1), NX_INVALID_ARGUMENT;
  nx_status status = nxi_take(&o, options, sizeof o, "nx_loop_options", k->name, k->d);
  k->limit = o.max_steps;
  k->reverse = o.reverse != 0;
  if (status == NX_OK) status = make_function(k, &c);
  if (status != NX_OK) status = nxi_oom_in(k->d, status, k->name), nxi_error_report(k->d);
  else status = nx_function_record(k->f, k->in, k->n_in, out, k->f->n_out);
  nx_function_release(k->f);
  for (uint32_t i = 0; i < k->n_numbers; i++) nxg_body_release(k->numbers[i]);
  nxg_destroy(k->g);
  nxi_free(k->in);
  nxi_free(k->states);
  nxi_free(c.sources);
  nxi_free((void *)c.types);
  return status;
}

/* ---- the interface */

nx_status nx_while(nx_function *cond, nx_function *body, nx_tensor *const *init, size_t n,
                   nx_tensor *const *captured, size_t n_captured, const nx_loop_options *options,
                   nx_tensor **out, size_t n_out) {
  nx_function *const bodies[2] = {cond, body};
  nxi_loop k = {.op = NXG_while,
                .init = {init, n, "carried values"},
                .captured = {captured, n_captured, "captured values"},
                .bodies = bodies,
                .n_bodies = 2,
                .n_out = n_out};
  return record(&k, options, out);
}

nx_status nx_case(nx_tensor *index, nx_function *const *branches, size_t n_branches,
                  nx_tensor *const *in, size_t n_in, nx_tensor **out, size_t n_out) {
  nxi_loop k = {.op = NXG_case,
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
  nxi_loop k = {.op = NXG_for,
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
  nxi_loop k = {.op = NXG_scan,
                .init = {init, n, "carried values"},
                .captured = {captured, n_captured, "captured values"},
                .stacked = {stacked, n_stacked, "stacked operands"},
                .bodies = &body,
                .n_bodies = 1,
                .count = steps,
                .n_out = n_out};
  return record(&k, options, out);
}
