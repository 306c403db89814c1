/* SPDX-License-Identifier: ISC */
/* Functions: capture, calls, assigns and captured tensors read at each call, outputs in place,
 * donation, inlining, text. */
#include "tests/util/api.h"

#include <pthread.h>

static nx_tensor_info describe(nx_tensor *t) {
  nx_tensor_info i = {.size = sizeof i};
  nx_tensor_describe(t, &i);
  return i;
}
static nx_tensor *input(int64_t n) { return GOOD(nx_placeholder(ctx, device(), NX_F32, &n, 1)); }
static nx_function *make(nx_tensor *const *in, size_t n_in, nx_tensor *const *out, size_t n_out,
                         const uint8_t *donate) {
  nx_function_options o = {.size = sizeof o, .name = "test", .donate = donate};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, &o, &f));
  return f;
}
static nx_tensor *call1(nx_function *f, nx_tensor *x) {
  nx_tensor *out = NULL;
  OK(nx_function_call(f, &x, 1, &out, 1, NULL));
  return GOOD(out);
}

static void plain(void **state) {
  (void)state;
  nx_tensor *x = input(4), *k = vector(4, 1, 1), *y = nx_add(nx_mul(x, k), number(3));
  nx_function *f = make(&x, 1, &y, 1, NULL);
  EXPECT(call1(f, vector(4, 0, 1)), 3, 5, 9, 15);
  EXPECT(call1(f, constant(4, 2)), 5, 7, 9, 11);
  EXPECT(call1(f, nx_neg(vector(4, 0, 1))), 3, 1, -3, -9); /* an expression */
  nx_tensor *wide = vector(8, 0, 1);
  EXPECT(call1(f, part(wide, 1, 4, 2)), 4, 9, 18, 31); /* views */
  EXPECT(call1(f, part(wide, 7, 4, -1)), 10, 15, 18, 19);
  EXPECT(call1(f, part(wide, 2, 4, 1)), 5, 9, 15, 23);
  EXPECT(call1(f, GOOD(nx_expand(number(1), NX_SHAPE(4)))), 4, 5, 6, 7);
  EXPECT(k, 1, 2, 3, 4);
  nx_function_info info = {.size = sizeof info};
  nx_function_describe(f, &info);
  assert_true(info.inputs == 1 && info.outputs == 1 && !strcmp(info.name, "test"));
  nx_port_info port = {.size = sizeof port};
  OK(nx_function_input(f, 0, &port));
  assert_true(port.dtype == NX_F32 && port.rank == 1 && port.shape[0] == 4 &&
              !strcmp(port.name, "x0"));
  FAILS(NX_INVALID_ARGUMENT, nx_function_output(f, 1, &port));
  FAILS(NX_UNBOUND, nx_realize(ctx, &y, 1, NULL));
  nx_function_release(f);
}

static void captured_tensors_are_read_at_the_call(void **state) {
  (void)state;
  nx_tensor *w = vector(3, 1, 1), *later = number(10);
  nx_tensor *x = input(3), *y = nx_mul(x, nx_add(w, later));
  nx_function *f = make(&x, 1, &y, 1, NULL);
  nx_tensor *ones = constant(3, 1);
  EXPECT(call1(f, ones), 11, 12, 13);
  OK(nx_assign(w, number(5)));
  EXPECT(call1(f, ones), 15, 15, 15);
  OK(nx_assign(part(w, 1, 1, 1), number(0)));
  OK(nx_assign(later, number(1)));
  EXPECT(call1(f, ones), 6, 1, 6);
  nx_tensor_release(nx_keep(w)); /* the function keeps it */
  EXPECT(call1(f, ones), 6, 1, 6);
  nx_function_release(f);
}

/* A constant that is made inside a capture is not a captured tensor, even if a tensor outside has
 * the same value. */
static void constants_are_frozen(void **state) {
  (void)state;
  nx_tensor *rate = number(7), *x = input(2), *inside = number(7), *y = nx_mul(x, inside);
  nx_function *f = make(&x, 1, &y, 1, NULL);
  OK(nx_assign(rate, number(100)));
  EXPECT(call1(f, constant(2, 1)), 7, 7);
  nx_function_release(f);
}

static void assigns_happen_at_every_call(void **state) {
  (void)state;
  for (int mapped = 0; mapped < 2; mapped++) {
    nx_tensor *w = constant(3, 1), *count = number(0);
    nx_mapping *m = NULL;
    if (mapped) OK(nx_map(w, NX_MAP_READ, NULL, &m));
    nx_tensor *x = input(3), *y;
    OK(nx_assign(w, GOOD(nx_add(w, x))));
    OK(nx_assign(count, GOOD(nx_add(count, number(1)))));
    OK(nx_assign(part(w, 0, 1, 1), number(-1)));
    y = nx_mul(w, number(2)); /* reads the assigned value */
    nx_function *f = make(&x, 1, &y, 1, NULL);
    EXPECT(w, 1, 1, 1); /* nothing has happened yet */
    EXPECT(count, 0);
    EXPECT(call1(f, vector(3, 1, 1)), -2, 6, 8);
    EXPECT(w, -1, 3, 4);
    nx_tensor *pending = nx_neg(w);
    EXPECT(call1(f, vector(3, 1, 1)), -2, 10, 14);
    EXPECT(w, -1, 5, 7);
    EXPECT(pending, 1, -3, -4);
    EXPECT(count, 2);
    if (mapped) assert_true(((const float *)nx_mapping_base(m, NULL))[2] == 7);
    nx_mapping_release(m);
    nx_function_release(f);
  }
}

static void inputs_can_be_assigned(void **state) {
  (void)state;
  nx_tensor *x = input(3), *y = nx_neg(x);
  OK(nx_assign(part(x, 1, 2, 1), number(8)));
  nx_tensor *z = nx_neg(x);
  nx_function *f = make(&x, 1, (nx_tensor *[]){y, z}, 2, NULL);
  nx_tensor *wide = vector(6, 1, 1), *a = part(wide, 0, 3, 2), *out[2] = {NULL, NULL};
  OK(nx_function_call(f, &a, 1, out, 2, NULL));
  EXPECT(out[0], -1, -3, -5);
  EXPECT(out[1], -1, -8, -8);
  EXPECT(wide, 1, 2, 8, 4, 8, 6);
  nx_function_release(f);
}

/* A plan for a call whose inputs do not share memory is not used for a call whose inputs do. */
static void inputs_that_share_memory(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  float *is = calloc(COUNT + 1, sizeof *is);
  assert_non_null(is);
  nx_tensor *x[2] = {input(COUNT), input(COUNT)};
  OK(nx_assign(x[0], GOOD(nx_add(x[0], x[1]))));
  nx_tensor *y = nx_reduce_max(x[0], NX_AXES(0), 0);
  nx_function *f = make(x, 2, &y, 1, NULL);
  for (int i = 0; i < 6; i++) {
    nx_tensor *line = vector(COUNT + 1, 0, 1), *apart = vector(COUNT + 1, 5, 1);
    OK(nx_realize(ctx, (nx_tensor *[]){line, apart}, 2, NULL));
    int64_t to = i % 3 == 1, from = i % 3 == 2; /* apart; from before; from behind */
    nx_tensor *in[2] = {part(line, to, COUNT, 1), part(i % 3 ? line : apart, from, COUNT, 1)},
              *out = NULL;
    OK(nx_function_call(f, in, 2, &out, 1, NULL));
    EXPECT(out, (float)(2 * COUNT - (i % 3 ? 1 : 2) + (i % 3 ? 0 : 5)));
    OK(nx_read(line, is, (COUNT + 1) * sizeof *is, NULL));
    for (int64_t k = 0; k <= COUNT; k++) {
      bool written = k >= to && k < to + COUNT;
      assert_true(is[k] == (float)(written ? k + k - to + from + (i % 3 ? 0 : 5) : k));
    }
    release(out);
  }
  nx_function_release(f);
  free(is);
}

static void aliases(void **state) {
  (void)state;
  nx_tensor *outer = vector(4, 0, 1), *line = vector(4, 0, 1), *empty = part(line, 1, 0, 1);
  nx_tensor *x[2] = {input(2), input(2)}, *y = GOOD(nx_add(x[0], x[1]));
  nx_function *plain = make(x, 2, &y, 1, NULL);
  x[0] = input(2), x[1] = input(2);
  OK(nx_assign(x[1], x[0]));
  y = GOOD(nx_add(x[1], part(outer, 0, 2, 1)));
  nx_function *f = make(x, 2, &y, 1, NULL);
  x[0] = input(2);
  OK(nx_assign(part(outer, 0, 2, 1), x[0]));
  nx_function *g = make(x, 1, NULL, 0, NULL);
  nx_tensor *low = part(line, 0, 2, 1), *high = part(line, 2, 2, 1), *of = part(outer, 2, 2, 1),
            *back = part(line, 3, 2, -1);
#define SAYS(f, is, n, ...) \
  assert_int_equal(nx_function_aliases(f, (nx_tensor *[]){__VA_ARGS__}, n), is)
  SAYS(plain, false, 2, low, low);
  SAYS(f, true, 2, low, low);
  SAYS(f, true, 2, part(line, 1, 2, 1), low);
  SAYS(f, true, 2, back, high);
  SAYS(f, false, 2, low, high);
  SAYS(f, false, 2, back, low);
  SAYS(f, true, 2, low, of); /* the body reads it */
  SAYS(f, false, 2, of, low);
  SAYS(g, true, 1, of); /* assigns it */
  SAYS(g, false, 1, low);
  assert_false(nx_function_aliases(f, NULL, 2) || nx_function_aliases(NULL, NULL, 0));
  x[0] = nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(0));
  OK(nx_assign(x[0], x[0]));
  nx_function *none = make(x, 1, NULL, 0, NULL);
  SAYS(none, false, 1, empty);
  for (int i = 0; i < 4; i++) nx_function_release((nx_function *[]){plain, f, g, none}[i]);
}

/* One tensor is passed for both inputs, and the function assigns parts of them. Each result depends
 * on the old contents, even if one result is computed in place. Both orders are tested, with and
 * without a dependence of the second on the first. */
static void one_tensor_for_two_inputs(void **state) {
  (void)state;
  for (int form = 0; form < 8; form++) {
    nx_scope *scope = nx_scope_begin(ctx);
    int64_t n = form & 4 ? 3000 : 6;
    nx_tensor *x[2] = {input(n), input(n)}, *y[2];
    int head = form & 1, tail = !head;
    OK(nx_assign(part(x[head], 0, 2, 1), number(2)));
    y[0] = GOOD(nx_mul(x[head], number(2)));
    OK(nx_assign(part(x[tail], n - 2, 2, 1),
                 form & 2 ? GOOD(nx_reduce_max(y[0], NX_AXES(0), 0)) : number(4)));
    y[1] = GOOD(nx_neg(x[tail]));
    nx_function *f = make(x, 2, y, 2, NULL);
    nx_tensor *t = vector(n, 1, 1), *in[2] = {t, t}, *out[2] = {NULL, NULL};
    float last = form & 2 ? 2 * (float)n : 4;
    OK(nx_realize(ctx, &t, 1, NULL));
    OK(nx_function_call(f, in, 2, out, 2, NULL));
    EXPECT(part(out[0], 0, 3, 1), 4, 4, 6);
    EXPECT(part(out[0], n - 2, 2, 1), 2 * (float)n - 2, 2 * (float)n);
    EXPECT(part(out[1], 0, 3, 1), -1, -2, -3);
    EXPECT(part(out[1], n - 2, 2, 1), -last, -last);
    EXPECT(part(t, 0, 3, 1), 1, 2, 3); /* the later assign takes effect */
    EXPECT(part(t, n - 2, 2, 1), last, last);
    release(out[0]), release(out[1]);
    nx_function_release(f);
    nx_scope_end(scope);
  }
}

static void outputs_in_place(void **state) {
  (void)state;
  nx_tensor *x = input(3), *y = nx_mul(x, x);
  nx_function *f = make(&x, 1, (nx_tensor *[]){y, y, x}, 3, NULL);
  nx_tensor *a = vector(3, 1, 1), *into = constant(5, 0),
            *out[3] = {part(into, 1, 3, 1), NULL, NULL};
  OK(nx_function_call(f, &a, 1, out, 3, NULL));
  EXPECT(into, 0, 1, 4, 9, 0);
  EXPECT(out[1], 1, 4, 9);
  EXPECT(out[2], 1, 2, 3);
  out[0] = a, out[1] = out[2] = NULL; /* over its own input */
  OK(nx_function_call(f, &a, 1, out, 3, NULL));
  EXPECT(a, 1, 4, 9);
  nx_function_release(f);
}

/* An output in another part, of the same shape, of the storage that is read: the output is at the
 * requested place. */
static void outputs_beside_their_input(void **state) {
  (void)state;
  enum { COUNT = 3000, ALL = 2 * COUNT + 1 };
  static const int64_t starts[][2] = {{0, COUNT}, {COUNT, 0}, {0, 1}, {1, 0}, {5, 5}};
  float *is = calloc(ALL, sizeof *is);
  assert_non_null(is);
  nx_tensor *x = input(COUNT), *y = nx_add(x, number(7));
  nx_function *f = make(&x, 1, &y, 1, NULL);
  for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
    int64_t from = starts[i][0], to = starts[i][1];
    nx_tensor *line = vector(ALL, 0, 1), *in = part(line, from, COUNT, 1),
              *out = part(line, to, COUNT, 1);
    OK(nx_function_call(f, &in, 1, &out, 1, NULL));
    OK(nx_read(line, is, ALL * sizeof *is, NULL));
    for (int64_t k = 0; k < ALL; k++)
      assert_true(is[k] == (float)(k >= to && k < to + COUNT ? k - to + from + 7 : k));
  }
  nx_function_release(f);
  free(is);
}

/* A call that assigns a part of a tensor keeps the old values for operations that have not read
 * them yet. */
static void old_values_that_others_need(void **state) {
  (void)state;
  for (int output = 0; output < 2;
       output++) { /* what the function assigns, or where its output goes */
    nx_tensor *w = vector(4, 1, 1), *x = input(2), *y = nx_neg(x);
    if (!output) OK(nx_assign(part(w, 1, 2, 1), x));
    nx_function *f = make(&x, 1, &y, 1, NULL);
    OK(nx_realize(ctx, &w, 1, NULL));
    nx_tensor *pending = nx_neg(w), *same = constant(4, 0);
    OK(nx_assign(same, w)); /* they share a value now */
    nx_tensor *in = constant(2, output ? -9 : 9), *out = output ? part(w, 1, 2, 1) : NULL;
    OK(nx_function_call(f, &in, 1, &out, 1, NULL));
    EXPECT(pending, -1, -2, -3, -4);
    EXPECT(same, 1, 2, 3, 4);
    EXPECT(w, 1, 9, 9, 4);
    pending = nx_neg(w); /* only this operation still needs the old value */
    OK(nx_function_call(f, &in, 1, &out, 1, NULL));
    EXPECT(pending, -1, -9, -9, -4);
    nx_function_release(f);
  }
}

static void donation(void **state) {
  (void)state;
  nx_tensor *x = input(1000), *y = nx_add(x, number(1)), *a = vector(1000, 0, 1), *sum;
  const uint8_t donate = 1;
  nx_function *f = make(&x, 1, &y, 1, &donate);
  nx_tensor *b = call1(f, a);
  nx_scalar v;
  OK(nx_item(b, (int64_t[]){999}, 1, &v, NULL));
  assert_true(v.v.f[0] == 1000);
  FAILS(NX_DONATED, nx_item(a, (int64_t[]){0}, 1, &v, NULL));
  sum = nx_neg(a);
  FAILS(NX_DONATED, nx_realize(ctx, &sum, 1, NULL));
  nx_tensor *out = NULL;
  FAILS(NX_DONATED, nx_function_call(f, &a, 1, &out, 1, NULL));
  OK(nx_assign(a, b)); /* whole: it is a tensor again */
  OK(nx_item(a, (int64_t[]){0}, 1, &v, NULL));
  assert_true(v.v.f[0] == 1);
  nx_function_release(f);
}

static void expect_donated(nx_tensor *t) {
  nx_scalar v;
  FAILS(NX_DONATED, nx_item(t, (int64_t[]){0}, 1, &v, NULL));
}

/* Donation in special cases: the same tensor twice in one call, a view of it, a
 * tensor that the function captured, a value with another handle. */
static void donated_in_several_ways(void **state) {
  (void)state;
  const uint8_t both[2] = {1, 1}, first[2] = {1, 0};
  nx_tensor *x = input(4), *y = input(4), *z = nx_sub(nx_mul(x, number(3)), y), *out = NULL;
  nx_tensor *in[2] = {x, y};
  nx_function *f = make(in, 2, &z, 1, both), *g = make(in, 2, &z, 1, first);
  nx_tensor *a = vector(4, 1, 1), *same[2] = {a, a};
  OK(nx_function_call(f, same, 2, &out, 1, NULL));
  EXPECT(out, 2, 4, 6, 8);
  expect_donated(a);
  nx_tensor *b = vector(4, 1, 1), *half[2] = {b, b};
  out = NULL;
  OK(nx_function_call(g, half, 2, &out, 1, NULL)); /* once donated, once not */
  EXPECT(out, 2, 4, 6, 8);
  expect_donated(b);
  nx_tensor *wide = vector(8, 0, 1), *views[2] = {part(wide, 1, 4, 1), part(wide, 7, 4, -1)};
  out = NULL;
  OK(nx_function_call(f, views, 2, &out, 1, NULL));
  EXPECT(out, -4, 0, 4, 8);
  expect_donated(wide);
  nx_tensor *c = vector(4, 1, 1), *d = constant(4, 0), *kept = nx_neg(c);
  OK(nx_realize(ctx, &c, 1, NULL));
  OK(nx_assign(d, c)); /* d now has the same value as c */
  nx_tensor *pair[2] = {c, number(1)};
  pair[1] = GOOD(nx_copy(nx_expand(pair[1], NX_SHAPE(4))));
  out = NULL;
  OK(nx_function_call(f, pair, 2, &out, 1, NULL));
  EXPECT(out, 2, 5, 8, 11);
  EXPECT(d, 1, 2, 3, 4);
  EXPECT(kept, -1, -2, -3, -4);
  expect_donated(c);
  expect_donated(pair[1]);
  nx_tensor *w = vector(4, 1, 1), *p = input(4), *q = nx_add(p, w); /* w is read at each call */
  nx_function *h = make(&p, 1, &q, 1, both);
  EXPECT(call1(h, w), 2, 4, 6, 8);
  out = NULL;
  nx_tensor *other = vector(4, 0, 1);
  FAILS(NX_DONATED, nx_function_call(h, &other, 1, &out, 1, NULL));
  EXPECT(other, 0, 1, 2, 3); /* a call that fails keeps donated inputs intact */
  nx_function_release(f), nx_function_release(g), nx_function_release(h);
}

/* A failed call restores donated inputs, also for operations that were recorded meanwhile. */
static void a_failed_call_takes_nothing(void **state) {
  (void)state;
  const uint8_t first[2] = {1, 0};
  nx_tensor *x = input(3), *at = GOOD(nx_placeholder(ctx, device(), NX_I32, NX_SHAPE(3)));
  nx_tensor *in[2] = {x, at}, *y = nx_add(nx_gather(x, at, 0), number(1)), *out = NULL;
  nx_function *f = make(in, 2, &y, 1, first);
  nx_tensor *a = vector(3, 1, 1), *bad = GOOD(nx_cast(vector(3, 7, 1), NX_I32));
  nx_tensor *good = GOOD(nx_cast(vector(3, 2, -1), NX_I32)), *given[2] = {a, bad};
  OK(nx_realize(ctx, &a, 1, NULL));
  FAILS(NX_INDEX_OUT_OF_RANGE, nx_function_call(f, given, 2, &out, 1, NULL));
  assert_true(describe(a).flags & NX_TENSOR_REALIZED);
  EXPECT(a, 1, 2, 3);
  given[1] = good;
  OK(nx_function_call(f, given, 2, &out, 1, NULL));
  EXPECT(out, 4, 3, 2);
  expect_donated(a);
  nx_function_release(f);
}

static void inlined(void **state) {
  (void)state;
  nx_tensor *w = constant(3, 2), *x = input(3);
  OK(nx_assign(w, GOOD(nx_add(w, x))));
  nx_tensor *y = nx_mul(w, x);
  nx_function *f = make(&x, 1, &y, 1, NULL), *g;
  nx_tensor *a = vector(3, 1, 1), *out = NULL;
  OK(nx_function_record(f, &a, 1, &out, 1));
  assert_false(describe(out).flags & NX_TENSOR_REALIZED);
  EXPECT(w, 3, 4, 5);
  EXPECT(out, 3, 8, 15);
  nx_tensor *z = input(3), *twice = NULL; /* a function that calls it */
  OK(nx_function_record(f, &z, 1, &twice, 1));
  g = make(&z, 1, &twice, 1, NULL);
  EXPECT(w, 3, 4, 5);
  EXPECT(call1(g, a), 4, 12, 24);
  EXPECT(w, 4, 6, 8);
  nx_function_release(f), nx_function_release(g);
}

static int32_t refuse(void *user) { return (void)user, 1; }

static void failed_calls_change_nothing(void **state) {
  (void)state;
  nx_tensor *w = constant(3, 2), *x = input(3);
  OK(nx_realize(ctx, &w, 1, NULL));
  OK(nx_assign(part(w, 0, 2, 1), GOOD(part(x, 0, 2, 1))));
  nx_tensor *y = nx_mul(w, x);
  nx_function *f = make(&x, 1, &y, 1, NULL);
  nx_tensor *a = vector(3, 1, 1), *out = NULL, *wrong = vector(4, 1, 1), *whole = nx_neg(w);
  nx_run_options o = {.size = sizeof o, .poll = refuse};
  nx_status status = nx_function_call(f, &a, 1, &out, 1, &o);
  if (status) FAILS(NX_INTERRUPTED, status);
  assert_null(status ? out : NULL);
  if (status) EXPECT(w, 2, 2, 2);
  EXPECT(whole, -2, -2, -2);
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(f, &wrong, 1, &out, 1, NULL));
  FAILS(NX_INVALID_ARGUMENT, nx_function_call(f, (nx_tensor *[]){NULL}, 1, &out, 1, NULL));
  out = NULL;
  OK(nx_function_call(f, &a, 1, &out, 1, NULL));
  EXPECT(out, 1, 4, 6);
  EXPECT(w, 1, 2, 2);
  nx_function_release(f);
}

static void wrong_creation(void **state) {
  (void)state;
  nx_tensor *x = input(3), *y = input(3), *sum = nx_add(x, y), *plain_tensor = vector(3, 0, 1);
  nx_function *f = NULL;
  assert_int_equal(nx_function_create(ctx, &x, 1, &sum, 1, NULL, &f), NX_UNBOUND);
  error_says(NX_UNBOUND, "a capture around this one: make it an input, too");
  FAILS(NX_INVALID_ARGUMENT, nx_function_create(ctx, &plain_tensor, 1, &sum, 1, NULL, &f));
  nx_tensor *row = GOOD(nx_expand(x, NX_SHAPE(1, 3))); /* a shape that inputs of calls have not */
  FAILS(NX_INVALID_ARGUMENT, nx_function_create(ctx, &row, 1, &sum, 1, NULL, &f));
  release(row);
  FAILS(NX_INVALID_ARGUMENT, nx_function_create(ctx, (nx_tensor *[]){x, x}, 2, &sum, 1, NULL, &f));
  FAILS(NX_INVALID_ARGUMENT,
        nx_function_create(ctx, (nx_tensor *[]){x, NULL}, 2, &sum, 1, NULL, &f));
  FAILS(NX_INVALID_ARGUMENT, nx_function_create(ctx, &x, 1, (nx_tensor *[]){NULL}, 1, NULL, &f));
  assert_null(f);
  f = make((nx_tensor *[]){y, x}, 2, &sum, 1, NULL);
  nx_tensor *out = NULL;
  OK(nx_function_call(f, (nx_tensor *[]){plain_tensor, plain_tensor}, 2, &out, 1, NULL));
  EXPECT(out, 0, 2, 4);
  nx_function_release(f);
  nx_tensor *none = NULL;
  f = make(NULL, 0, &plain_tensor, 1, NULL);
  OK(nx_function_call(f, NULL, 0, &none, 1, NULL));
  EXPECT(none, 0, 1, 2);
  nx_function_release(f);
}

static const char softmax[] = "nxir 2\n"
                              "graph @softmax(%x: f32[2,3]) -> (%y) {\n"
                              "  %m = reduce_max %x axes=[1] keepdims : f32[2,1]\n"
                              "  %d = sub %x, %m : f32[2,3]\n"
                              "  %e = exp %d : f32[2,3]\n"
                              "  %s = reduce_sum %e axes=[1] keepdims : f32[2,1]\n"
                              "  %y = div %e, %s : f32[2,3]\n"
                              "}\n";

/* A placeholder that cannot be released yet, for example because an exception object refers to it:
 * later assigns are only recorded until the capture is ended. */
static void ended_captures(void **state) {
  (void)state;
  nx_tensor *cell = vector(3, 1, 1), *kept = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3)));
  nx_tensor *y = GOOD(nx_add(kept, cell));
  nx_function *f = NULL;
  assert_true(nx_capturing(ctx));
  OK(nx_assign(cell, constant(3, 5)));
  OK(nx_assign(kept, constant(3, 6)));
  nx_capture_end(ctx);
  assert_false(nx_capturing(ctx));
  EXPECT(cell, 1, 2, 3); /* the captured operations are never executed */
  OK(nx_assign(cell, constant(3, 7)));
  EXPECT(cell, 7, 7, 7);
  FAILS(NX_INVALID_ARGUMENT, nx_function_create(ctx, &kept, 1, &y, 1, NULL, &f));
  FAILS(NX_UNBOUND, nx_realize(ctx, &y, 1, NULL));
  /* A new capture beside the old placeholder, which it assigns and which dies before it. */
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3)));
  assert_true(nx_capturing(ctx));
  OK(nx_assign(kept, x));
  OK(nx_assign(cell, x));
  nx_tensor *z = GOOD(nx_add(kept, kept));
  release(nx_keep(kept));
  nx_context_collect(ctx);
  OK(nx_function_create(ctx, &x, 1, &z, 1, NULL, &f));
  assert_false(nx_capturing(ctx));
  EXPECT(cell, 7, 7, 7);
  nx_tensor *in = vector(3, 1, 1), *out = NULL;
  OK(nx_function_call(f, &in, 1, &out, 1, NULL));
  EXPECT(out, 2, 4, 6);
  EXPECT(cell, 1, 2, 3);
  release(out);
  nx_function_release(f);
  nx_capture_end(ctx); /* when there is no capture */
  nx_capture_end(NULL);
  assert_false(nx_capturing(NULL));
}

static void *capture_elsewhere(void *unused) {
  (void)unused;
  bool before = nx_capturing(ctx);
  nx_capture_end(ctx); /* not this thread's */
  return before ? (void *)1 : NULL;
}

static void captures_of_other_threads(void **state) {
  (void)state;
  pthread_t thread;
  void *result;
  nx_tensor *x = GOOD(nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3))), *y = GOOD(nx_neg(x));
  nx_function *f;
  assert_int_equal(pthread_create(&thread, NULL, capture_elsewhere, NULL), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_null(result);
  assert_true(nx_capturing(ctx));
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &f));
  nx_function_release(f);
}

static void *begin_capture(void *kept) {
  *(nx_tensor **)kept = nx_placeholder(ctx, 0, NX_F32, NX_SHAPE(3));
  return NULL;
}

static void *assign_twice(void *given) {
  nx_tensor *w = given, *twice = nx_add(w, w);
  bool good = !nx_capturing(ctx) && nx_assign(w, twice) == NX_OK;
  nx_tensor_release(twice);
  return good ? w : NULL;
}

/* The system may give a new thread the identifier of a thread that has ended. A capture that the
 * ended thread left open does not belong to the new thread. */
static void threads_that_end_in_a_capture(void **state) {
  (void)state;
  pthread_t thread;
  void *result;
  nx_tensor *w = vector(3, 1, 1), *kept = NULL;
  assert_int_equal(pthread_create(&thread, NULL, begin_capture, &kept), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_non_null(kept);
  assert_int_equal(pthread_create(&thread, NULL, assign_twice, w), 0);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, w);
  EXPECT(w, 2, 4, 6);
  release(w), release(kept);
}

static void from_text(void **state) {
  (void)state;
  nx_function *f = NULL;
  OK(nx_function_parse(ctx, softmax, sizeof softmax - 1, NULL, &f));
  nx_port_info port = {.size = sizeof port};
  OK(nx_function_input(f, 0, &port));
  assert_string_equal(port.name, "x");
  OK(nx_function_output(f, 0, &port));
  assert_string_equal(port.name, "y");
  nx_tensor *x = GOOD(nx_full(ctx, device(), NX_F32, NX_SHAPE(2, 3), NX_NUMBER(3))),
            *y = call1(f, x), *z = NULL;
  EXPECT(y, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f);
  OK(nx_function_record(f, &x, 1, &z, 1));
  EXPECT(z, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f, 1 / 3.f);
  char *text = NULL;
  OK(nx_function_dump(f, "graph", &text));
  nx_string_free(text);
  nx_function_release(f);
  f = NULL;
  char broken[sizeof softmax];
  for (size_t i = 0; i < sizeof softmax - 1;
       i++) { /* truncated and damaged texts are refused or are valid */
    memcpy(broken, softmax, sizeof softmax);
    broken[i] ^= 4;
    for (int cut = 0; cut < 2; cut++) {
      nx_status status = nx_function_parse(ctx, broken, cut ? i : sizeof softmax - 1, NULL, &f);
      if (status == NX_OK) nx_function_release(f);
      else nx_error_take(NULL);
    }
  }
  nx_error e = {.size = sizeof e};
  static const char bad[] = "nxir 2\ngraph @f(%x: f32[3]) -> (%y) {\n  %y = exq %x : f32[3]\n}\n";
  assert_int_equal(nx_function_parse(ctx, bad, sizeof bad - 1, NULL, &f), NX_PARSE);
  nx_error_take(&e);
  assert_memory_equal(e.message, "line 3, column 8", 16);
}

NXT_MAIN(function) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(plain),
      IN_SCOPE(captured_tensors_are_read_at_the_call),
      IN_SCOPE(constants_are_frozen),
      IN_SCOPE(assigns_happen_at_every_call),
      IN_SCOPE(inputs_can_be_assigned),
      IN_SCOPE(inputs_that_share_memory),
      IN_SCOPE(aliases),
      IN_SCOPE(one_tensor_for_two_inputs),
      IN_SCOPE(outputs_in_place),
      IN_SCOPE(outputs_beside_their_input),
      IN_SCOPE(old_values_that_others_need),
      IN_SCOPE(donation),
      IN_SCOPE(donated_in_several_ways),
      IN_SCOPE(a_failed_call_takes_nothing),
      IN_SCOPE(inlined),
      IN_SCOPE(failed_calls_change_nothing),
      IN_SCOPE(wrong_creation),
      IN_SCOPE(ended_captures),
      IN_SCOPE(captures_of_other_threads),
      IN_SCOPE(threads_that_end_in_a_capture),
      IN_SCOPE(from_text),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
