/* SPDX-License-Identifier: ISC */
/* Running control flow, for whoever carries out bodies. What a branch updates in place lies in the
 * memory of its result, where it is copied before. So does a carried value of that kind. Others
 * alternate between the memory of the result and a second one; if the number of steps is known, one
 * begins so that it ends in that of the result. Captured operands are read where they are, slices
 * of stacks are read and written there. */
#include <stdio.h>
#include <string.h>

#include "control.h"

/* The pointers in the frame's room. */
typedef struct state {
  const nxg_control_frame *f;
  const nxg_control *c;
  void **inputs, **outputs, **current;
  nxi_diag *d;
} state;

static uint32_t most_inputs(const nxg_control *c) {
  return 1 + c->n_carried + c->n_passed + c->n_stacked;
}

uint32_t nxg_control_room(const nxg_control *c) {
  return most_inputs(c) + c->n_results + c->n_carried + 1;
}

static nx_status read_number(const nxg_control_frame *f, const void *from, int64_t *n,
                             nxi_diag *d) {
  int32_t narrow = 0;
  uint8_t truth = 0;
  nx_status status;
  switch (f->index_dtype) {
    case NX_BOOL:
      status = f->fetch(f->user, &truth, from, 1, d);
      *n = truth != 0;
      return status;
    case NX_I32:
      status = f->fetch(f->user, &narrow, from, 4, d);
      *n = narrow;
      return status;
    default: return f->fetch(f->user, n, from, 8, d);
  }
}

nx_status nxg_control_failed_at(const nxg_control *c, int64_t step, nx_status status, nxi_diag *d) {
  char said[sizeof d->message];
  if (!d || status == NX_INTERRUPTED || status == NX_OUT_OF_MEMORY) return status;
  memcpy(said, d->message, sizeof said);
  if (step < 0) snprintf(d->message, sizeof d->message, "%s: %.440s", nxg_ops[c->op].name, said);
  else
    snprintf(d->message, sizeof d->message, "%s: step %lld: %.420s", nxg_ops[c->op].name,
             (long long)step, said);
  snprintf(d->op, sizeof d->op, "%s", nxg_ops[c->op].name);
  d->index = -1; /* the position is one in a value of the body */
  d->node = -1;
  return status;
}

/* ---- case */

bool nxg_case_takes(const nxg_control *c, void *const *operands, const void *at) {
  const nxg_graph *g = NULL;
  for (uint32_t i = 0; i < c->n_passed; i++) {
    if (operands[1 + i] != at) continue;
    if (g == NULL) g = nxg_body_find(c->bodies[0])->graph;
    if (nxg_node_elements(&g->nodes[g->inputs[i].node]) > 0) return true;
  }
  return false;
}

/* What the branch takes, and where it leaves results: what it updates in place lies in the memory
 * of the result. A result that lies in an operand's memory is made elsewhere if that is not so. */
static nx_status begin_case(const state *s) {
  const nxg_control_frame *f = s->f;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < s->c->n_passed; i++) s->inputs[i] = f->operands[1 + i];
  for (uint32_t i = 0; i < s->c->n_results && !status; i++) {
    int32_t input = f->lies_in ? f->lies_in[i] : -1;
    s->outputs[i] = f->results[i];
    if (input < 0) {
      if (f->lies_in && f->bytes[i] > 0 && nxg_case_takes(s->c, f->operands, f->results[i]))
        s->outputs[i] = f->spares[i];
      continue;
    }
    if (s->inputs[input] != f->results[i])
      status = f->copy(f->user, f->results[i], s->inputs[input], f->bytes[i], s->d);
    s->inputs[input] = f->results[i];
  }
  return status;
}

static nx_status run_case(const state *s) {
  const nxg_control_frame *f = s->f;
  int64_t index = 0;
  nx_status status = read_number(f, f->operands[0], &index, s->d);
  if (!status) status = begin_case(s);
  if (status) return status;
  uint32_t last = s->c->n_bodies - 1, branch = index < 0 || index > last ? last : (uint32_t)index;
  status = f->run(f->user, branch, s->inputs, s->outputs, s->d);
  for (uint32_t i = 0; i < s->c->n_results && !status; i++)
    if (s->outputs[i] != f->results[i])
      status = f->copy(f->user, f->results[i], s->outputs[i], f->bytes[i], s->d);
  return status ? nxg_control_failed_at(s->c, -1, status, s->d) : NX_OK;
}

/* ---- loops */

/* Where the next value of carried i goes: to its result if it is not there now. */
static void *other(const state *s, uint32_t i) {
  return s->current[i] == s->f->results[i] ? s->f->spares[i] : s->f->results[i];
}

static bool is_in_place(const state *s, uint32_t i) {
  return s->f->lies_in && s->f->lies_in[i] == (int32_t)(s->c->indexed + i);
}

/* Where step `step` writes carried i. With an even number of steps it begins in the second memory,
 * so that it ends in that of the result. */
static void *target(const state *s, uint32_t i, int64_t step, int64_t count) {
  bool first = step == 0 && count > 0 && count % 2 == 0;
  if (is_in_place(s, i)) return s->f->results[i];
  return first ? s->f->spares[i] : other(s, i);
}

static char *slice(void *stack, int64_t stride, int64_t at) {
  return stack ? (char *)stack + stride * at : NULL;
}

static nx_status pass_inputs(const state *s, int64_t step, int64_t at) {
  const nxg_control *c = s->c;
  const nxg_control_frame *f = s->f;
  uint32_t n = 0, whole = c->n_carried + c->n_passed;
  nx_status status = NX_OK;
  if (c->indexed && f->numbers != NULL) {
    s->inputs[n++] = f->numbers + step * NXG_CONTROL_NUMBER;
  } else if (c->indexed) {
    status = f->put(f->user, f->index, &step, sizeof step, s->d);
    s->inputs[n++] = f->index;
  }
  for (uint32_t i = 0; i < c->n_carried; i++) s->inputs[n++] = s->current[i];
  for (uint32_t i = c->n_carried; i < whole; i++) s->inputs[n++] = f->operands[c->first + i];
  for (uint32_t i = 0; i < c->n_stacked; i++)
    s->inputs[n++] = slice(f->operands[c->first + whole + i], f->strides[i], at);
  return status;
}

static void *slice_target(const state *s, uint32_t i, int64_t at) {
  void *own = s->f->slices ? s->f->slices[i - s->c->n_carried] : NULL;
  return own ? own : slice(s->f->results[i], s->f->bytes[i], at);
}

/* Where the body left a result. */
static void *made(const state *s, uint32_t i) {
  int32_t input = s->f->lies_in ? s->f->lies_in[i] : -1;
  return input < 0 ? s->outputs[i] : s->inputs[input];
}

/* Takes over what the body gave. */
static nx_status take_outputs(const state *s, int64_t step, int64_t count, int64_t at) {
  const nxg_control_frame *f = s->f;
  nx_status status = NX_OK;
  for (uint32_t i = 0; i < s->c->n_results && !status; i++) {
    if (i >= s->c->n_carried) {
      void *there = slice(f->results[i], f->bytes[i], at);
      if (made(s, i) != there) status = f->copy(f->user, there, made(s, i), f->bytes[i], s->d);
      continue;
    }
    void *wanted = target(s, i, step, count);
    if (made(s, i) != wanted) status = f->copy(f->user, wanted, made(s, i), f->bytes[i], s->d);
    s->current[i] = wanted;
  }
  return status;
}

static nx_status run_step(const state *s, int64_t step, int64_t count) {
  const nxg_control *c = s->c;
  int64_t at = c->reverse ? count - 1 - step : step;
  nx_status status = pass_inputs(s, c->reverse ? at : step, at);
  for (uint32_t i = 0; i < c->n_results; i++)
    s->outputs[i] = i < c->n_carried ? target(s, i, step, count) : slice_target(s, i, at);
  if (!status) status = s->f->run(s->f->user, c->n_bodies - 1, s->inputs, s->outputs, s->d);
  return status ? status : take_outputs(s, step, count, at);
}

/* Whether the condition holds for the current values. */
static nx_status run_condition(const state *s, bool *holds) {
  const nxg_control_frame *f = s->f;
  uint8_t value = 0;
  nx_status status = pass_inputs(s, 0, 0);
  s->outputs[0] = f->holds;
  if (!status) status = f->run(f->user, 0, s->inputs, s->outputs, s->d);
  if (!status) status = f->fetch(f->user, &value, s->outputs[0], 1, s->d);
  *holds = value != 0;
  return status;
}

nx_status nxg_control_too_long(const nxg_control *c, nxi_diag *d) {
  const char *name = nxg_ops[c->op].name;
  return nxi_fail(d, NX_NO_CONVERGENCE, name, "%s: it has not ended after %lld steps, the limit",
                  name, (long long)c->limit);
}

static nx_status step_through(const state *s, int64_t count) {
  const nxg_control *c = s->c;
  for (int64_t step = 0;; step++) {
    nx_status status = s->f->ask ? s->f->ask(s->f->user, s->d) : NX_OK;
    bool more = step < count;
    if (status) return status;
    if (!c->counted) status = run_condition(s, &more);
    if (status) return nxg_control_failed_at(c, step, status, s->d);
    if (!more) return NX_OK;
    if (c->limit > 0 && step >= c->limit) return nxg_control_too_long(c, s->d);
    status = run_step(s, step, count);
    if (status) return nxg_control_failed_at(c, step, status, s->d);
  }
}

static nx_status run_loop(const state *s) {
  const nxg_control_frame *f = s->f;
  int64_t count = s->c->count;
  nx_status status = NX_OK;
  if (s->c->counted && count < 0) status = read_number(f, f->operands[0], &count, s->d);
  for (uint32_t i = 0; i < s->c->n_carried && !status; i++) {
    s->current[i] = f->operands[s->c->first + i];
    if (!is_in_place(s, i) || s->current[i] == f->results[i]) continue;
    status = f->copy(f->user, f->results[i], s->current[i], f->bytes[i], s->d);
    s->current[i] = f->results[i];
  }
  if (!status) status = step_through(s, count);
  for (uint32_t i = 0; i < s->c->n_carried && !status; i++)
    if (s->current[i] != f->results[i])
      status = f->copy(f->user, f->results[i], s->current[i], f->bytes[i], s->d);
  return status;
}

nx_status nxg_control_run(const nxg_control_frame *f, nxi_diag *d) {
  state s = {f, f->c, f->room, NULL, NULL, d};
  s.outputs = s.inputs + most_inputs(f->c);
  s.current = s.outputs + f->c->n_results + 1; /* the condition has an output, too */
  return f->c->op == NXG_case ? run_case(&s) : run_loop(&s);
}
