/* SPDX-License-Identifier: ISC */
/* Custom operations: descriptions, their lives, and calling what they describe. Recording:
 * ops/custom.c. */
#include "custom.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "ir/graph/control.h"
#include "ir/kernel/kernel.h"
#include "ir/platform/lock.h"
#include "objects.h"
#include "record.h"

typedef struct operation {
  nxg_custom base;
  nxi_buffer *life; /* its references */
  nx_status (*run)(const nx_custom_call *call);
  nx_status (*run_on_device)(const nx_custom_call *call);
  void *user;
  void (*release)(void *user);
} operation;

struct nx_custom {
  nxi_head head;
  nx_context *context;
  operation *operation; /* one reference */
  bool watched;
};

/* ---- lives */

static operation *operation_of(const int64_t *attrs) {
  return (operation *)(uintptr_t)attrs[NXG_CUSTOM_SELF];
}

void nxi_custom_ref(const int64_t *attrs) {
  operation *o = operation_of(attrs);
  if (o) nxi_buffer_ref(o->life);
}

void nxi_custom_unref(nx_context *c, const int64_t *attrs) {
  operation *o = operation_of(attrs);
  if (o) nxi_buffer_unref(c, o->life);
}

void nxi_customs_ref(const nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_custom) nxi_custom_ref(g->nodes[i].attrs);
  for (uint32_t i = 0; i < g->n_bodies; i++) nxi_customs_of_body(NULL, g->bodies[i], true);
}

void nxi_customs_unref(nx_context *c, const nxg_graph *g) {
  NXI_HELD(&c->record_lock);
  for (uint32_t i = 0; g && i < g->n_nodes; i++)
    if (g->nodes[i].op == NXG_custom) nxi_custom_unref(c, g->nodes[i].attrs);
  for (uint32_t i = 0; g && i < g->n_bodies; i++) nxi_customs_of_body(c, g->bodies[i], false);
}

/* Bodies nest at most NXG_BODY_DEPTH deep. */
void nxi_customs_of_body(nx_context *c, int64_t number, bool hold) {
  const nxg_body *b = nxg_body_find(number);
  if (!b || !b->has_custom) return;
  if (hold) nxi_customs_ref(b->graph);
  else nxi_customs_unref(c, b->graph);
}

const nxg_custom *nxi_custom_body(const nx_custom *f) { return &f->operation->base; }
nx_context *nxi_custom_context(const nx_custom *f) { return f->context; }

/* The callback of the buffer whose references an operation has. */
static void end_operation(void *user) {
  operation *o = user;
  if (o->release) o->release(o->user);
  nxk_destroy(o->base.kernel);
  nxi_free(o);
}

void nxi_custom_teardown(nx_context *c, nx_custom *f) {
  nxi_buffer_unref(c, f->operation->life);
  nxi_handle_free(f, f->watched);
}

nx_custom *nx_custom_retain(nx_custom *f) {
  if (f && !nxi_have_custom("retain", 0, f)) return NULL;
  if (f) atomic_fetch_add_explicit(&f->head.refs, 1, memory_order_relaxed);
  return f;
}

void nx_custom_release(nx_custom *f) {
  if (f && nxi_have_custom("release", 0, f)) nxi_head_release(f->context, &f->head);
}

/* ---- orders: each recording of an ordered operation has one of its own */

static _Atomic int64_t next_order = 1;

int64_t nxi_custom_order(void) {
  return atomic_fetch_add_explicit(&next_order, 1, memory_order_relaxed);
}

int64_t nxi_custom_shift(const nxg_graph *g) {
  int64_t low = INT64_MAX, high = 0;
  for (uint32_t i = 0; i < g->n_nodes; i++) {
    if (g->nodes[i].op != NXG_custom) continue;
    int64_t order = g->nodes[i].attrs[NXG_CUSTOM_ORDER];
    if (order && order < low) low = order;
    if (order > high) high = order;
  }
  if (!high) return 0;
  return atomic_fetch_add_explicit(&next_order, high - low + 1, memory_order_relaxed) - low;
}

/* A body with orders of its own; a reference to it. */
static nx_status renew(int64_t number, int64_t *made, nxi_diag *d) {
  nxi_renewed inner;
  nxg_graph *g = nxg_copy(nxg_body_find(number)->graph);
  if (!g) return nxi_oom(d);
  int64_t shift = nxi_custom_shift(g);
  nx_status status = nxi_renew(g, &inner, d);
  for (uint32_t i = 0; i < g->n_nodes && !status; i++) {
    nxg_node *n = &g->nodes[i];
    if (n->op == NXG_custom && n->attrs[NXG_CUSTOM_ORDER]) n->attrs[NXG_CUSTOM_ORDER] += shift;
    if (nxg_is_control(n->op)) nxi_renew_attrs(&inner, (nxg_op)n->op, n->attrs, n->n_attrs);
  }
  if (!status && inner.n) { /* the graph holds what its nodes name */
    nxg_graph *again = nxg_copy(g);
    nxg_destroy(g);
    g = again;
    if (!g) status = nxi_oom(d);
  }
  nxi_renewed_end(&inner);
  if (!status) return nxg_body_take(g, made, d);
  nxg_destroy(g);
  return status;
}

nx_status nxi_renew(const nxg_graph *g, nxi_renewed *r, nxi_diag *d) {
  *r = (nxi_renewed){0};
  for (uint32_t i = 0; i < g->n_bodies; i++) {
    if (!nxg_body_find(g->bodies[i])->is_ordered) continue;
    nx_status status = nxi_grow(&r->rows, &r->capacity, r->n + 1, sizeof *r->rows)
                           ? renew(g->bodies[i], &r->rows[r->n].now, d)
                           : nxi_oom(d);
    if (status) return nxi_renewed_end(r), status;
    r->rows[r->n++].before = g->bodies[i];
  }
  return NX_OK;
}

void nxi_renew_attrs(const nxi_renewed *r, nxg_op op, int64_t *attrs, uint32_t n_attrs) {
  uint32_t first, bodies = nxg_control_bodies(op, n_attrs, &first);
  for (uint32_t i = first; i < first + bodies; i++)
    for (uint32_t k = 0; k < r->n; k++)
      if (attrs[i] == r->rows[k].before) {
        attrs[i] = r->rows[k].now;
        break;
      }
}

void nxi_renewed_end(nxi_renewed *r) {
  for (uint32_t i = 0; i < r->n; i++) nxg_body_release(r->rows[i].now);
  nxi_free(r->rows);
  *r = (nxi_renewed){0};
}

/* ---- calls */

static _Thread_local uint64_t effects;
static _Thread_local uint32_t depth;

uint64_t nxi_custom_effects(void) { return effects; }
uint32_t nxi_custom_depth(void) { return depth; }
void nxi_custom_set_depth(uint32_t now) { depth = now; }

/* What nx_custom_call.run points to. */
typedef struct call_state {
  const nxg_call_part *part;
  char *sentence;
  size_t room;
} call_state;

nx_status nx_custom_fail(const nx_custom_call *call, nx_status status, const char *sentence) {
  const call_state *s = call ? call->run : NULL;
  if (s && sentence && s->room) snprintf(s->sentence, s->room, "%s", sentence);
  return status;
}

bool nx_custom_stopped(const nx_custom_call *call) {
  const call_state *s = call ? call->run : NULL;
  return s && s->part->stopped(s->part->user);
}

static void describe(const nxg_array *types, const nx_dtype *seen, void *const *data, uint32_t n,
                     nx_array *out) {
  for (uint32_t i = 0; i < n; i++)
    out[i] = (nx_array){seen[i], types[i].rank, types[i].shape,
                        nxg_elements(types[i].rank, types[i].shape), data[i]};
}

static const char too_deep[] = "calls are nested deeper than";

/* An error that the function has left to its thread is its own: the run reports another. That calls
 * are too deep is said as the innermost of them says it. */
static void take_error(nx_status before, nx_status status, char *sentence, size_t room) {
  nx_error left = {.size = sizeof left};
  if (before || !nx_error_take(&left)) return;
  if (!status || sentence[0]) return;
  const char *deep = strstr(left.message, too_deep);
  snprintf(sentence, room, "%s", deep ? deep : left.message);
}

/* A status of the table: callers may return anything. */
static nx_status known(nx_status status) {
  return strcmp(nx_status_name(status), "NX_UNKNOWN") ? status : NX_INTERNAL;
}

static nx_status run(const nxg_custom *f, const nxg_call_part *part, void *stream, char *sentence,
                     size_t room) {
  const operation *o = (const operation *)f;
  nx_array operands[NXG_CALL_OPERANDS], results[NXG_CALL_RESULTS];
  uint32_t hidden = f->ordered, n_operands = f->n_operands - f->hides;
  call_state state = {part, sentence, room};
  if (depth >= NXI_CUSTOM_DEPTH) {
    snprintf(sentence, room, "%s %d", too_deep, NXI_CUSTOM_DEPTH);
    return NX_INVALID_ARGUMENT;
  }
  describe(f->operands, f->seen_operands, part->operands, n_operands, operands);
  describe(f->results, f->seen_results, part->results, f->n_results - hidden, results);
  nx_custom_call call = {.size = sizeof call,
                         .user = o->user,
                         .n_operands = n_operands,
                         .n_results = f->n_results - hidden,
                         .operands = operands,
                         .results = results,
                         .run = &state,
                         .stream = stream};
  nx_status before = nxi_error_status();
  uint16_t outer = nxi_called_pause();
  effects += f->ordered;
  depth++;
  nx_status status = known(stream ? o->run_on_device(&call) : o->run(&call));
  depth--;
  nxi_called_end(outer);
  take_error(before, status, sentence, room);
  if (f->ordered && !stream) *(uint8_t *)part->results[f->n_results - 1] = 1;
  return status;
}

/* ---- descriptions */

static bool is_name(const char *name) {
  size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                 "_.:/-")
                  : 0;
  return n > 0 && n < NXG_CUSTOM_NAME && !name[n];
}

static nx_status take_types(const char *what, const nx_type *from, size_t n, bool kernel,
                            nxg_array *to, nx_dtype *seen, nxi_diag *d) {
  for (size_t i = 0; i < n; i++) {
    const nx_type *t = &from[i];
    if (!nxi_dtype_exists("custom", t->dtype, d)) return d->status;
    if (nxi_is_nibble(t->dtype) || t->dtype == NX_C32)
      return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "custom",
                      "custom: %s %zu is %s, which the host has no arrays of: cast it", what, i,
                      nxi_dtypes[t->dtype].name);
    if (kernel && (nxi_is_stored(t->dtype) || nxi_is_complex(t->dtype)))
      return nxi_fail(d, NX_UNSUPPORTED_DTYPE, "custom",
                      "custom: %s %zu is %s, which kernels have no elements of", what, i,
                      nxi_dtypes[t->dtype].name);
    if (t->rank > 0 && !t->shape)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "custom", "custom: the shape of %s %zu is null", what,
                      i);
    if (nxg_shape_check(NX_INVALID_ARGUMENT, "custom", t->rank, t->shape, nxi_dtypes[t->dtype].bits,
                        NULL, d))
      return d->status;
    seen[i] = t->dtype;
    to[i] = (nxg_array){.dtype = nxi_is_stored(t->dtype) ? NX_U8 : t->dtype, .rank = t->rank};
    if (t->rank) memcpy(to[i].shape, t->shape, (size_t)t->rank * sizeof *t->shape);
  }
  return NX_OK;
}

static nx_status check(const nx_custom_desc *k, nxi_diag *d) {
  if (!k->run && !k->kernel)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom", "custom: there is no function to call");
  if ((k->run || k->run_on_device) && k->kernel)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom: there are a function and a kernel: it is one of them");
  if (!is_name(k->name))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom: the name is null, or not 1 to 63 letters, digits and signs of _.:/-");
  if (k->flags & ~(uint32_t)NX_ORDERED)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": the flags 0x%x hold more than NX_ORDERED", k->name, k->flags);
  if (k->n_operands >= NXG_CALL_OPERANDS || k->n_results >= NXG_CALL_RESULTS)
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": %zu operands and %zu results, of which 15 each are possible",
                    k->name, k->n_operands, k->n_results);
  if ((k->n_operands && !k->operands) || (k->n_results && !k->results))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": the list of operands or results is null", k->name);
  if (!k->n_results && !(k->flags & NX_ORDERED))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "custom",
                    "custom \"%s\": without results and not ordered, it would never be called",
                    k->name);
  return NX_OK;
}

/* A token is the last operand and the last result of an ordered operation. One that is not ordered
 * and has no operands gets an operand too: no operation that computes has none. */
static nx_status fill(operation *o, const nx_custom_desc *k, nxi_diag *d) {
  static _Atomic uint64_t numbers;
  const nxg_array token = {.dtype = NX_BOOL};
  nxg_custom *f = &o->base;
  const bool kernel = k->kernel != NULL;
  nx_status status =
      take_types("operand", k->operands, k->n_operands, kernel, f->operands, f->seen_operands, d);
  if (!status)
    status = take_types("result", k->results, k->n_results, kernel, f->results, f->seen_results, d);
  if (status) return status;
  f->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
  f->ordered = k->flags & NX_ORDERED;
  f->hides = f->ordered || !k->n_operands;
  f->n_operands = (uint32_t)k->n_operands;
  f->n_results = (uint32_t)k->n_results;
  f->seen_operands[k->n_operands] = f->seen_results[k->n_results] = NX_BOOL; /* a token's */
  if (f->hides) f->operands[f->n_operands++] = token;
  if (f->ordered) f->results[f->n_results++] = token;
  f->run = run;
  snprintf(f->name, sizeof f->name, "%s", k->name);
  f->on_device = k->run_on_device != NULL;
  o->run = k->run;
  o->run_on_device = k->run_on_device;
  o->user = k->user;
  o->release = k->release;
  if (!k->kernel) return NX_OK;
  status = nxg_custom_take_kernel(f, k->kernel, k->kernel_size, d);
  f->elementwise = !status && nxi_kernel_is_elementwise(f);
  return status;
}

static nx_custom *new_custom(nx_context *c, const nx_custom_desc *k, nxi_diag *d) {
  bool watched = false;
  operation *o = nxi_calloc(1, sizeof *o);
  nxi_buffer *life = nxi_calloc(1, sizeof *life);
  nx_custom *f = o && life ? nxi_handle_alloc(sizeof *f, &watched) : NULL;
  nx_status status = f ? fill(o, k, d) : nxi_oom(d);
  if (status) {
    if (f) nxi_handle_free(f, watched);
    nxi_free(o);
    nxi_free(life);
    return NULL;
  }
  atomic_init(&life->refs, 1);
  life->release = end_operation;
  life->user = o;
  o->life = life;
  *f = (nx_custom){.context = c, .operation = o, .watched = watched};
  atomic_init(&f->head.refs, 1);
  f->head.kind = NXI_CUSTOM;
  nxi_context_ref(c);
  if (watched) nxi_watch_made(f, NXI_CUSTOM, c, "\"%s\"", o->base.name);
  return f;
}

nx_status nx_custom_create(nx_context *c, const nx_custom_desc *desc, nx_custom **f) {
  nx_custom_desc k = {.size = sizeof k};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!desc || !f) return nxi_error_null("custom", !desc ? 1 : 2), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("custom", 0, c)) return NX_INVALID_ARGUMENT;
  if (nxi_take(&k, desc, sizeof k, "nx_custom_desc", "custom", &d) || check(&k, &d))
    return nxi_error_report(&d);
  nx_custom *made = new_custom(c, &k, &d);
  if (!made) return nxi_oom_in(&d, d.status, "custom"), nxi_error_report(&d);
  *f = made;
  return NX_OK;
}
