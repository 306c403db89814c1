/* SPDX-License-Identifier: ISC */
/* Captured functions: inputs of every layout, what they read and assign beyond their inputs,
 * results that are given, inputs that are donated. A call and its record must do the same. */
#include "../conformance.h"

#include <string.h>

enum { ROWS = 3, COLUMNS = 4 };
static const int64_t shape[] = {ROWS, COLUMNS}, turned_shape[] = {COLUMNS, ROWS};

/* f(x) = transpose(x), what `cell` holds, and, where there is addition, x + cell; then cell = x. */
typedef struct body {
  nx_function *f;
  nx_tensor *cell;
  int results; /* 2, or 3 with the sum */
} body;

static body captured(trial *t, const array *cell, const uint8_t *donate) {
  body b = {.cell = tensor_of(t, cell), .results = TYPE(t->dtype) & (I | F | C) ? 3 : 2};
  nx_tensor *x = nx_placeholder(t->context, t->device, t->dtype, shape, 2), *out[3];
  nx_function_options o = {.size = sizeof o, .name = "body", .donate = donate};
  out[0] = nx_permute(x, NX_AXES(1, 0));
  out[1] = nx_copy(b.cell);
  if (b.results == 3) out[2] = nx_add(x, b.cell);
  nx_status status = nx_assign(b.cell, x);
  if (!status) status = nx_function_create(t->context, &x, 1, out, (size_t)b.results, &o, &b.f);
  expect_status(t, status, NX_OK, "capturing");
  return b;
}

static array *turned(trial *t, const array *a) {
  array *b = new_array(t, a->dtype, 2, turned_shape);
  for (size_t i = 0; i < a->n; i++) b->at[i % COLUMNS * ROWS + i / COLUMNS] = a->at[i];
  return b;
}

static array *sum_of_arrays(trial *t, const array *a, const array *b) {
  array *s = new_array(t, a->dtype, 2, shape);
  for (size_t i = 0; i < a->n; i++)
    s->at[i] =
        encode(t->dtype, sum_of(t->dtype, decode(t->dtype, a->at[i]), decode(t->dtype, b->at[i])));
  return s;
}

typedef nx_status doing(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                        size_t n_out);
static nx_status call(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                      size_t n_out) {
  return nx_function_call(f, in, n_in, out, n_out, NULL);
}

static nx_status waited(nx_status status, nx_event *event) {
  if (!status) status = nx_event_wait(event, NULL);
  nx_event_release(event);
  return status;
}
static nx_status call_async(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                            size_t n_out) {
  nx_event *event = NULL;
  nx_status status = nx_function_call_async(f, in, n_in, out, n_out, NULL, &event);
  return waited(status, event);
}
static nx_status record_async(nx_function *f, nx_tensor *const *in, size_t n_in, nx_tensor **out,
                              size_t n_out) {
  nx_event *event = NULL;
  nx_status status = nx_function_record(f, in, n_in, out, n_out);
  if (status) return status;
  status = nx_realize_async(nx_context_of(out[0]), out, n_out, NULL, &event);
  return waited(status, event);
}

/* Results are references of the caller's: a call makes them in no scope. */
static void expect_results(trial *t, nx_tensor **out, const array *x, const array *cell, int n,
                           const char *what) {
  expect(t, out[0], turned(t, x), SAME_BITS, what);
  expect(t, out[1], cell, SAME_BITS, "what was captured, as it is at the call");
  if (n == 3) expect(t, out[2], sum_of_arrays(t, x, cell), SAME, "a sum with what was captured");
  settle(t);
  for (int i = 0; i < n; i++) nx_tensor_release(out[i]);
}

/* The second result goes to every other row of a tensor, of which the others stay. */
static void check_given(trial *t, doing *run, const body *b, const array *x, const array *cell) {
  const int64_t twice[] = {2 * ROWS, COLUMNS}, start[] = {1, 0}, step[] = {2, 1};
  array *all = some_values(t, t->dtype, 2, twice, 14);
  nx_tensor *whole = tensor_of(t, all), *view = nx_slice(whole, start, shape, step, 2),
            *in = tensor_of(t, x), *out[3] = {NULL, view, NULL};
  array *want = new_array(t, t->dtype, 2, twice);
  memcpy(want->at, all->at, all->n * sizeof *all->at);
  for (size_t i = 0; i < cell->n; i++)
    want->at[(2 * (i / COLUMNS) + 1) * COLUMNS + i % COLUMNS] = cell->at[i];
  expect_status(t, run(b->f, &in, 1, out, (size_t)b->results), NX_OK, "a result that is given");
  if (out[1] != view) fault(t, "a result that was given was replaced");
  expect(t, whole, want, SAME_BITS, "around a result that is given");
  settle(t);
  nx_tensor_release(out[0]);
  if (b->results == 3) nx_tensor_release(out[2]);
}

static void check_refusals(trial *t, doing *run, const body *b, const array *x) {
  nx_dtype other = t->dtype == NX_F32 ? NX_F64 : NX_F32;
  nx_tensor *in = tensor_of(t, x), *none = NULL, *typed = nx_cast(in, other),
            *shaped = nx_permute(in, NX_AXES(1, 0)), *out[3] = {NULL};
  expect_status(t, run(NULL, &in, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT, "no function");
  expect_status(t, run(b->f, &none, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT, "no input");
  expect_status(t, run(b->f, NULL, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "no list of inputs");
  expect_status(t, run(b->f, &in, 0, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "too few inputs");
  expect_status(t, run(b->f, &in, 2, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "too many inputs");
  expect_status(t, run(b->f, &in, 1, out, 1), NX_INVALID_ARGUMENT, "too few results");
  expect_status(t, run(b->f, &typed, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "an input of another type");
  expect_status(t, run(b->f, &shaped, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "an input of another shape");
  out[1] = shaped;
  expect_status(t, run(b->f, &in, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "a result of another shape");
  out[1] = nx_expand(nx_shrink(in, (int64_t[]){0, 0}, (int64_t[]){1, COLUMNS}, 2), shape, 2);
  expect_status(t, run(b->f, &in, 1, out, (size_t)b->results), NX_INVALID_ARGUMENT,
                "a result that overlaps itself");
  if (out[0] || out[2]) fault(t, "a call that was refused has results");
}

static void check_function(trial *t, doing *run) {
  array *cell = tame_values(t, t->dtype, 2, shape, 10);
  body b = captured(t, cell, NULL);
  if (!b.f) return;
  for (layout l = 0; l < LAYOUTS; l++) {
    if (!is_due(t, l, LAYOUTS)) continue;
    array *x = tame_values(t, t->dtype, 2, shape, 11 + l);
    nx_tensor *in = laid_out(t, x, l), *out[3] = {NULL};
    expect_status(t, run(b.f, &in, 1, out, (size_t)b.results), NX_OK, layout_names[l]);
    expect_results(t, out, x, cell, b.results, layout_names[l]);
    cell = x; /* as the function assigns it */
  }
  array *x = some_values(t, t->dtype, 2, shape, 12);
  check_refusals(t, run, &b, x);
  check_given(t, run, &b, x, cell);
  expect(t, nx_copy(b.cell), x, SAME_BITS, "what a call assigns");
  nx_function_release(b.f);
}
static void check_call(trial *t) { check_function(t, call); }
static void check_record(trial *t) { check_function(t, nx_function_record); }
static void check_call_async(trial *t) { check_function(t, call_async); }
static void check_realize_async(trial *t) { check_function(t, record_async); }

/* An input whose memory is the call's. */
static void check_donated(trial *t) {
  const uint8_t donate = 1;
  array *cell = tame_values(t, t->dtype, 2, shape, 10), *x = tame_values(t, t->dtype, 2, shape, 11);
  body b = captured(t, cell, &donate);
  nx_tensor *in = tensor_of(t, x), *out[3] = {NULL};
  nx_scalar s;
  if (!b.f) return;
  expect_status(t, call(b.f, &in, 1, out, (size_t)b.results), NX_OK, "giving the input away");
  expect_results(t, out, x, cell, b.results, "of a donated input");
  expect_status(t, nx_item(in, (int64_t[]){0, 0}, 2, &s, NULL), NX_DONATED, "reading it again");
  expect_status(t, call(b.f, &in, 1, (nx_tensor *[3]){NULL}, (size_t)b.results), NX_DONATED,
                "giving it away again");
  nx_function_release(b.f);
}

/* In a scope: while a placeholder is alive that is no function's, its capture goes on. */
static void check_capture(trial *t) {
  nx_scope *scope = nx_scope_begin(t->context);
  nx_tensor *x = nx_placeholder(t->context, t->device, t->dtype, shape, 2),
            *y = nx_placeholder(t->context, t->device, t->dtype, shape, 2), *two[2] = {x, x};
  nx_function *f = NULL;
  nx_scalar s;
  expect_status(t, nx_item(x, (int64_t[]){0, 0}, 2, &s, NULL), NX_UNBOUND, "its value");
  expect_status(t, nx_function_create(t->context, &x, 1, &y, 1, NULL, &f), NX_UNBOUND,
                "a result of another placeholder");
  expect_status(t, nx_function_create(t->context, two, 2, &x, 1, NULL, &f), NX_INVALID_ARGUMENT,
                "an input twice");
  expect_status(t, nx_function_create(t->context, NULL, 1, &x, 1, NULL, &f), NX_INVALID_ARGUMENT,
                "no list of inputs");
  if (f) fault(t, "a function was made all the same");
  expect_status(t, nx_function_create(t->context, &x, 1, &x, 1, NULL, &f), NX_OK, "the identity");
  nx_port_info in = {.size = sizeof in}, out = in;
  expect_status(t, nx_function_input(f, 0, &in), NX_OK, "describing an input");
  expect_status(t, nx_function_output(f, 0, &out), NX_OK, "describing a result");
  if (in.dtype != t->dtype || in.rank != 2 || in.shape[1] != COLUMNS || out.dtype != t->dtype ||
      out.rank != 2 || out.shape[0] != ROWS)
    fault(t, "the function is described otherwise");
  expect_status(t, nx_function_input(f, 1, &in), NX_INVALID_ARGUMENT, "beyond the last input");
  nx_function_release(f);
  nx_scope_end(scope);
}

static const operation function_table[] = {
    {"function_create", ALL, check_capture, NULL, NULL, 0, NULL},
    {"function_call", ALL, check_call, NULL, NULL, 0, NULL},
    {"function_record", ALL, check_record, NULL, NULL, 0, NULL},
    {"function_call_async", ALL, check_call_async, NULL, NULL, 0, NULL},
    {"realize_async", ALL, check_realize_async, NULL, NULL, 0, NULL},
    {"function_call, donated", ALL, check_donated, NULL, NULL, 0, NULL},
};
const family function_family = {"Functions", function_table,
                                sizeof function_table / sizeof *function_table};
