/* SPDX-License-Identifier: ISC */
/* Making functions: from what was recorded on placeholders, and from text. */
#include <stdio.h>
#include <string.h>

#include "function.h"
#include "runtime/record/capture.h"
#include "runtime/record/custom.h"
#include "runtime/record/error.h"
#include "runtime/record/objects.h"
#include "runtime/record/record.h"

typedef struct capture {
  nx_context *c;
  nxi_run *run; /* for its stack */
  nxi_session *session;
  nx_function *f;
  /* The id of its first input: what has a lower one was there before. Of a function without inputs
   * that is made in a capture nobody knows when it began: at its newest placeholder, or later. */
  uint64_t first;
  nxg_graph *g;
  uint32_t *args, cap_args;
  nxi_diag *d;
} capture;

static bool done(const capture *k, const nxi_node *n) { return n->epoch == k->c->epoch; }
static void set_done(capture *k, nxi_node *n, uint32_t number) {
  n->epoch = k->c->epoch;
  n->index = number;
}

/* ---- inputs beyond the function's own */

/* The storage that a node of a read is of, if the function reads it at each call: its value was
 * there before the function began. NULL: the value is one of the function. */
static nxi_storage *cell_of(const capture *k, nxi_node *n) {
  if (n->op != NXI_OP_CELL) return NULL;
  const int64_t *ids = nxi_node_attrs(n);
  if ((uint64_t)ids[0] >= k->first || (uint64_t)ids[1] >= k->first) return NULL;
  return nxi_capture_cell(k->session, (uint64_t)ids[0]);
}

/* The same elements in the shape of `like`: a storage has the shape of the last value that was
 * assigned to the whole of it. */
static uint32_t in_shape(nxg_graph *g, uint32_t number, nxi_node *like) {
  const nxg_node *n = &g->nodes[number];
  const int64_t *shape = nxi_node_shape(like);
  int64_t attrs[1 + NXG_MAX_RANK] = {0};
  if (nxg_same_shape(n->rank, n->shape, like->rank, shape)) return number;
  nxg_contiguous_strides(like->rank, shape, attrs + 1);
  return nxg_add(g, NXG_view, 1, &number, attrs, 1 + like->rank, like->dtype, like->rank, shape);
}

static uint32_t add_source(capture *k, nxi_storage *cell, nxi_node *node, nxi_node *like) {
  nx_function *f = k->f;
  for (uint32_t i = 0; cell && i < f->n_sources; i++)
    if (f->sources[i].cell == cell) return in_shape(k->g, k->g->inputs[f->n_in + i].node, like);
  if (!nxi_grow(&f->sources, &f->cap_sources, f->n_sources + 1, sizeof *f->sources))
    return UINT32_MAX;
  uint32_t number = nxg_add_input(k->g, like->dtype, like->rank, nxi_node_shape(like), 0, -1, NULL);
  if (number == UINT32_MAX) return number;
  f->sources[f->n_sources++] = (nxi_source){cell, node};
  if (cell) cell->refs++;
  if (node) node->refs++;
  return number;
}

static uint32_t add_node(capture *k, nxi_node *n) {
  const int64_t *shape = nxi_node_shape(n), *attrs = nxi_node_attrs(n);
  if (n->state == NXI_REALIZED) return add_source(k, NULL, n, n);
  if (n->op == NXI_OP_CELL) {
    nxi_storage *cell = cell_of(k, n);
    return cell ? add_source(k, cell, NULL, n) : nxi_node_args(n)[0]->index;
  }
  if (n->op == NXI_OP_EMPTY) {
    int64_t zero[3] = {0, -1, 0};
    uint32_t n_attrs = 2 + nxi_is_complex(n->dtype);
    return nxg_add(k->g, NXG_full, 0, NULL, zero, n_attrs, n->dtype, n->rank, shape);
  }
  if (!nxi_grow(&k->args, &k->cap_args, n->n_args + 1, sizeof *k->args)) return UINT32_MAX;
  for (uint32_t i = 0; i < n->n_args; i++) k->args[i] = nxi_node_args(n)[i]->index;
  nxg_op op = n->op == NXI_OP_TRANSFER ? NXG_copy : (nxg_op)n->op;
  uint32_t number =
      nxg_add(k->g, op, n->n_args, k->args, attrs, n->n_attrs, n->dtype, n->rank, shape);
  if (number == UINT32_MAX) return number;
  k->g->nodes[number].called = n->called;
  if (!n->tag) return number;
  return nxg_set_tag(k->g, number, nxi_tag_number(n->tag), nxi_tag_text(n->tag)) ? number
                                                                                 : UINT32_MAX;
}

static nxi_node *next_operand(const capture *k, nxi_node *n, uint32_t *next) {
  if (n->state == NXI_REALIZED || cell_of(k, n)) return NULL;
  nxi_node **args = nxi_node_args(n);
  while (*next < n->n_args) {
    nxi_node *a = args[(*next)++];
    if (!done(k, a)) return a;
  }
  return NULL;
}

static bool push(nxi_run *run, nxi_node *n) {
  if (!nxi_grow(&run->stack, &run->cap_stack, run->n_stack + 1, sizeof *run->stack)) return false;
  run->stack[run->n_stack++] = (struct nxi_visit){n, 0, false};
  return true;
}

static nx_status visit(capture *k, nxi_node *root) {
  nxi_run *run = k->run;
  if (!push(run, root)) return nxi_oom(k->d);
  while (run->n_stack) {
    struct nxi_visit *top = &run->stack[run->n_stack - 1];
    nxi_node *n = top->node;
    if (done(k, n)) {
      run->n_stack--;
      continue;
    }
    if (n->state == NXI_RUNNING) return NXI_WAIT;
    if (n->state == NXI_FAILED)
      return nxi_fail(k->d, (nx_status)n->failure, "function", "%s", nxi_node_reason(n));
    if (n->op == NXI_OP_PLACEHOLDER)
      return nxi_fail(
          k->d, NX_UNBOUND, "function",
          "function: an output depends on a placeholder that is not among the inputs, as "
          "one of a capture around this one: make it an input, too");
    nxi_node *operand = next_operand(k, n, &top->next);
    if (operand && !push(run, operand)) return nxi_oom(k->d);
    if (operand) continue;
    run->n_stack--;
    const nxi_storage *cell = k->f->n_in == 0 ? cell_of(k, n) : NULL;
    if (cell && nxi_capture_assigned(k->session, cell, k->first))
      return nxi_fail(k->d, NX_INVALID_ARGUMENT, "function",
                      "function: it has no inputs, and reads a tensor that the capture around it "
                      "assigns: give it an input, with which it begins");
    uint32_t number = add_node(k, n);
    if (number == UINT32_MAX) return nxi_oom(k->d);
    set_done(k, n, number);
  }
  return NX_OK;
}

/* ---- assigns recorded during the capture */

static uint32_t input_of(nx_tensor *const *in, uint32_t n, const nxi_storage *s) {
  for (uint32_t i = 0; i < n; i++)
    if (in[i]->storage == s) return i;
  return UINT32_MAX;
}

/* Whether an assign was recorded since the function began; if to a placeholder, to one of its
 * inputs or to one that was there before. */
static bool belongs(const capture *k, const nxi_captured_assign *a, nx_tensor *const *in,
                    uint32_t n) {
  bool other = a->storage->flags & NXI_STORAGE_PLACEHOLDER && a->storage->id >= k->first;
  return a->id > k->first && (!other || input_of(in, n, a->storage) != UINT32_MAX);
}

/* Whether its storage was made since the function began: an assign to it is a step of what the
 * function computes, and nobody sees it from outside. */
static bool is_own(const capture *k, const nxi_captured_assign *a) {
  return !(a->storage->flags & NXI_STORAGE_PLACEHOLDER) && a->storage->id >= k->first;
}

/* Whether a later one to the same storage takes its place. */
static bool is_over(const capture *k, uint32_t i) {
  const nxi_session *session = k->session;
  for (uint32_t j = i + 1; j < session->n_assigns; j++)
    if (session->assigns[j].storage == session->assigns[i].storage) return true;
  return false;
}

/* Adds graph outputs for the assigns, and records their targets. */
static nx_status add_effects(capture *k, nx_tensor *const *in, uint32_t n_in) {
  nx_function *f = k->f;
  for (uint32_t i = 0; i < k->session->n_assigns; i++) {
    nxi_captured_assign *a = &k->session->assigns[i];
    if (!belongs(k, a, in, n_in) || is_own(k, a) || is_over(k, i)) continue;
    nx_status status = visit(k, a->value);
    if (status) return status;
    if (!nxi_grow(&f->effects, &f->cap_effects, f->n_effects + 1, sizeof *f->effects))
      return nxi_oom(k->d);
    nxi_effect e = {NULL, input_of(in, n_in, a->storage), UINT32_MAX};
    if (e.input == UINT32_MAX) {
      e.storage = a->storage;
      e.storage->refs++;
      for (uint32_t s = 0; s < f->n_sources; s++)
        if (f->sources[s].cell == e.storage) e.source = n_in + s;
    }
    f->effects[f->n_effects++] = e;
    nxg_add_output(k->g, a->value->index, NULL);
  }
  return NX_OK;
}

/* Undoes the captured assigns in the session: they happen in calls of the function instead. */
static void take_back(capture *k, nx_tensor *const *in, uint32_t n_in) {
  nxi_session *session = k->session;
  uint32_t left = 0;
  for (uint32_t i = session->n_assigns; i-- > 0;) {
    const nxi_captured_assign *a = &session->assigns[i];
    if (belongs(k, a, in, n_in) && !is_own(k, a)) nxi_capture_take_back(k->c, a);
  }
  for (uint32_t i = 0; i < session->n_assigns; i++) {
    nxi_captured_assign a = session->assigns[i];
    if (!belongs(k, &a, in, n_in)) {
      session->assigns[left++] = a;
      continue;
    }
    nxi_captured_drop(k->c, &a);
  }
  session->n_assigns = left;
}

/* ---- creation */

static nx_status check_inputs(nx_context *c, nx_tensor *const *in, uint32_t n, nxi_diag *d) {
  for (uint32_t i = 0; i < n; i++) {
    d->operand = (int32_t)i;
    if (!in[i])
      return nxi_fail(d, NX_INVALID_ARGUMENT, "function", "function: input %u is null", i);
    nxi_storage *s = in[i]->storage;
    if (in[i]->context != c || !(s->flags & NXI_STORAGE_PLACEHOLDER) || !in[i]->whole)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "function",
                      "function: input %u is not a placeholder of this context", i);
    if (s->device != in[0]->storage->device)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "function",
                      "function: input %u is on another device than input 0", i);
    for (uint32_t k = 0; k < i; k++)
      if (in[k]->storage == s)
        return nxi_fail(d, NX_INVALID_ARGUMENT, "function",
                        "function: inputs %u and %u are one placeholder", k, i);
    d->operand = -1;
  }
  return NX_OK;
}

/* Both locks. `roots` are the outputs' nodes. */
static nx_status trace(capture *k, nx_tensor *const *in, uint32_t n_in, nxi_node *const *roots,
                       uint32_t n_out) {
  static nxi_session nobody; /* outside of captures nothing is read through cells */
  nx_context *c = k->c;
  c->epoch++;
  k->session = n_in ? in[0]->storage->session : nxi_capture_session(c);
  if (k->session == NULL) k->session = &nobody;
  k->first = n_in ? UINT64_MAX : nxi_capture_newest(k->session) + 1;
  for (uint32_t i = 0; i < n_in; i++) {
    nxi_storage *s = in[i]->storage;
    nxi_node *n = s->value;
    if (n->op != NXI_OP_PLACEHOLDER)
      return nxi_fail(k->d, NX_INVALID_ARGUMENT, "function",
                      "function: input %u was assigned outside of its capture", i);
    if (s->session && s->session->ended)
      return nxi_fail(k->d, NX_INVALID_ARGUMENT, "function",
                      "function: the capture of input %u was ended by nx_capture_end", i);
    if (!nxg_same_shape(in[i]->rank, nxi_shape(in[i]), n->rank, nxi_node_shape(n)))
      return nxi_fail(k->d, NX_INVALID_ARGUMENT, "function",
                      "function: input %u is a view of a placeholder in another shape", i);
    if (s->id < k->first) k->first = s->id;
    uint32_t number = nxg_add_input(k->g, n->dtype, n->rank, nxi_node_shape(n), 0, -1, NULL);
    if (number == UINT32_MAX) return nxi_oom(k->d);
    set_done(k, n, number);
  }
  for (uint32_t i = 0; i < n_out; i++) {
    nx_status status = visit(k, roots[i]);
    if (status) return status;
    nxg_add_output(k->g, roots[i]->index, NULL);
  }
  nx_status status = n_in ? add_effects(k, in, n_in) : NX_OK;
  if (!status && k->g->failed) status = nxi_oom(k->d);
  if (status) return status;
  if (n_in) take_back(k, in, n_in);
  for (uint32_t i = 0; i < n_in; i++) nxi_capture_forget(c, in[i]->storage);
  return NX_OK;
}

/* Undoes all effects of a failed attempt. Both locks. */
static void undo(capture *k) {
  nx_function *f = k->f;
  for (uint32_t i = 0; i < f->n_sources; i++) {
    if (f->sources[i].cell) nxi_storage_unref(k->c, f->sources[i].cell);
    if (f->sources[i].node) nxi_node_unref(k->c, f->sources[i].node);
  }
  for (uint32_t i = 0; i < f->n_effects; i++)
    if (f->effects[i].storage) nxi_storage_unref(k->c, f->effects[i].storage);
  f->n_sources = f->n_effects = 0;
}

static nx_status attempt(capture *k, const char *name, nx_tensor *const *in, nx_tensor *const *out,
                         nxi_node **roots) {
  nx_context *c = k->c;
  nx_function *f = k->f;
  k->run->n_stack = 0;
  k->g = nxg_create(name);
  nx_status status = k->g ? NX_OK : nxi_oom(k->d);
  nxi_run_lock(c);
  nxi_record_lock(c);
  for (uint32_t i = 0; !status && i < f->n_out; i++) {
    nxi_operand o = nxi_operand_of(out[i]);
    roots[i] = nxi_operand_node(c, &o);
    if (!roots[i]) status = nxi_oom(k->d);
  }
  if (!status) status = trace(k, in, f->n_in, roots, f->n_out);
  if (status) undo(k);
  else nxi_customs_ref(k->g);
  for (uint32_t i = 0; i < f->n_out; i++) {
    if (roots[i]) nxi_node_unref(c, roots[i]);
    roots[i] = NULL;
  }
  nxi_record_unlock(c);
  if (status == NXI_WAIT) {
    nx_status interrupted = nxi_wait_change(c, NULL, k->d);
    if (interrupted) status = interrupted;
  }
  nxi_run_unlock(c);
  if (status) nxg_destroy(k->g);
  else f->graph = k->g;
  return status;
}

static nx_status check_live(nx_tensor *const *in, uint32_t n_in, nx_tensor *const *out,
                            uint32_t n_out, nxi_diag *d) {
  for (uint32_t i = 0; i < n_in + n_out; i++) {
    const nx_tensor *t = i < n_in ? in[i] : out[i - n_in];
    if (!t || nxi_looks_live(t, NXI_TENSOR)) continue;
    nxi_handle_fault("function", (int32_t)(i < n_in ? i : i - n_in), t, NXI_TENSOR, d);
    return d->status;
  }
  return NX_OK;
}

static nx_status create(nx_context *c, nx_tensor *const *in, uint32_t n_in, nx_tensor *const *out,
                        uint32_t n_out, const nx_function_options *o, nx_function **result,
                        nxi_diag *d) {
  nx_status status = check_live(in, n_in, out, n_out, d);
  if (!status) status = check_inputs(c, in, n_in, d);
  if (status) return status;
  for (uint32_t i = 0; i < n_out; i++) {
    if (out[i] && out[i]->context == c) continue;
    return nxi_fail(d, NX_INVALID_ARGUMENT, "function",
                    "function: output %u is null or of another context", i);
  }
  nxi_node **roots = nxi_calloc(n_out, sizeof *roots);
  capture k = {.c = c, .d = d, .run = nxi_run_take(c, d)};
  nx_function *f = k.f = roots && k.run ? nxi_function_new(c, NULL, n_in, n_out, d) : NULL;
  status = f ? NXI_WAIT : nxi_oom(d);
  if (f) f->device = n_in ? in[0]->storage->device : n_out ? out[0]->storage->device : 0;
  while (status == NXI_WAIT) status = attempt(&k, o->name ? o->name : "f", in, out, roots);
  for (uint32_t i = 0; !status && o->donate && i < n_in; i++) f->donate[i] = o->donate[i] != 0;
  if (k.run) nxi_run_give(k.run);
  nxi_free(roots);
  nxi_free(k.args);
  if (status) nx_function_release(f);
  else *result = f;
  return status;
}

nx_status nx_function_create(nx_context *c, nx_tensor *const *in, size_t n_in,
                             nx_tensor *const *out, size_t n_out,
                             const nx_function_options *options, nx_function **f) {
  nx_function_options o = {.size = sizeof o};
  nxi_diag d;
  nxi_diag_clear(&d);
  if (!f) return nxi_error_null("function", 0), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("function", 0, c)) return NX_INVALID_ARGUMENT;
  if (n_in > 1 << 20 || n_out > 1 << 20 || (n_in && !in) || (n_out && !out)) {
    nxi_fail(&d, NX_INVALID_ARGUMENT, "function",
             "function: a list is null, or longer than a million");
    return nxi_error_report(&d);
  }
  if (nxi_take(&o, options, sizeof o, "nx_function_options", "function", &d))
    return nxi_error_report(&d);
  nx_status status = create(c, in, (uint32_t)n_in, out, (uint32_t)n_out, &o, f, &d);
  return nxi_oom_in(&d, status, "function") ? nxi_error_report(&d) : NX_OK;
}

/* ---- from text */

/* Removes all flags of inputs: nothing is assumed about them. */
static void make_safe(nxg_graph *g) {
  for (uint32_t i = 0; i < g->n_inputs; i++) {
    g->inputs[i].flags = 0;
    g->inputs[i].alias = -1;
  }
}

enum { MOST_CUSTOMS = 1 << 20 };

/* The operations that the text may name. */
static nx_status take_customs(nx_context *c, const nx_parse_options *o, const nxg_custom **bodies,
                              nxi_diag *d) {
  if (o->n_customs > MOST_CUSTOMS || (o->n_customs && !o->customs))
    return nxi_fail(d, NX_INVALID_ARGUMENT, "parse",
                    "parse: the list of operations is null, or longer than a million");
  for (size_t i = 0; i < o->n_customs; i++) {
    nx_custom *f = o->customs[i];
    if (!f || !nxi_looks_live(f, NXI_CUSTOM)) {
      nxi_handle_fault("parse", (int32_t)i, f, NXI_CUSTOM, d);
      return d->status;
    }
    if (nxi_custom_context(f) != c)
      return nxi_fail(d, NX_INVALID_ARGUMENT, "parse",
                      "parse: operation %zu belongs to another context", i);
    bodies[i] = nxi_custom_body(f);
  }
  return NX_OK;
}

nx_status nx_function_parse(nx_context *c, const char *text, size_t size,
                            const nx_parse_options *options, nx_function **out) {
  nxi_diag d;
  nx_parse_options o = {.size = sizeof o, .device = NXI_DEVICE_CPU};
  nxi_diag_clear(&d);
  if (c && (!text || !out)) return nxi_error_null("parse", !text ? 1 : 4), NX_INVALID_ARGUMENT;
  if (!nxi_have_context("parse", 0, c)) return NX_INVALID_ARGUMENT;
  if (nxi_take(&o, options, sizeof o, "nx_parse_options", "parse", &d) ||
      !nxi_device_usable(c, "parse", o.device, &d))
    return nxi_error_report(&d);
  nxg_graph *g = NULL;
  nxi_fp environment = nxi_fp_enter();
  const nxg_custom *few[8], **bodies = few;
  if (o.n_customs > 8 && o.n_customs <= MOST_CUSTOMS)
    bodies = nxi_malloc(o.n_customs * sizeof *bodies);
  nx_status status = bodies ? take_customs(c, &o, bodies, &d) : nxi_oom(&d);
  nxg_customs customs = {bodies, o.n_customs};
  if (!status) status = nxg_parse_closed_with(text, size, &customs, &g, &d);
  if (bodies != few) nxi_free((void *)bodies);
  nxi_fp_leave(environment);
  if (status && d.line) { /* the sentence starts with the position */
    char message[sizeof d.message];
    snprintf(message, sizeof message, "line %d, column %d: %.400s", d.line, d.column, d.message);
    memcpy(d.message, message, sizeof message);
  }
  if (!status) make_safe(g);
  nx_function *f = status ? NULL : nxi_function_new(c, g, g->n_inputs, g->n_outputs, &d);
  if (!f) {
    nxg_destroy(g);
    nxi_oom_in(&d, d.status, "parse");
    return nxi_error_report(&d);
  }
  f->device = o.device;
  *out = f;
  return NX_OK;
}
