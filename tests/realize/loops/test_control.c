/* SPDX-License-Identifier: ISC */
/* Loops and branches through the interface: recorded with functions, beside the same steps recorded
 * one after the other; captured tensors, loops in functions and in loops, limits, interruption,
 * failures with their step, what is refused. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <math.h>

#include "ir/alloc.h"

static nx_tensor *input(int64_t n) { return GOOD(nx_placeholder(ctx, device(), NX_F32, &n, 1)); }
static nx_tensor *scalar_input(nx_dtype t) {
  return GOOD(nx_placeholder(ctx, device(), t, NULL, 0));
}
static nx_tensor *whole(nx_dtype t, int64_t value) {
  return GOOD(nx_full(ctx, device(), t, NULL, 0, NX_NUMBER((double)value)));
}
static nx_function *make(nx_tensor *const *in, size_t n_in, nx_tensor *const *out, size_t n_out,
                         const char *name) {
  nx_function_options o = {.size = sizeof o, .name = name};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, &o, &f));
  return f;
}
static nx_tensor *counts(nx_dtype t, int64_t first, int64_t n) {
  return GOOD(nx_arange(ctx, device(), t, NX_NUMBER((double)first), NX_NUMBER(1), n));
}

/* i < n */
static nx_function *make_below(int64_t elements, int n) {
  nx_tensor *in[] = {scalar_input(NX_I32), input(elements)};
  nx_tensor *p = GOOD(nx_cmplt(in[0], whole(NX_I32, n)));
  return make(in, 2, &p, 1, "below");
}
static nx_function *make_step(int64_t elements, nx_tensor *w) {
  nx_tensor *in[] = {scalar_input(NX_I32), input(elements)};
  nx_tensor *out[] = {GOOD(nx_add(in[0], whole(NX_I32, 1))),
                      GOOD(nx_add(nx_mul(in[1], w), number(1)))};
  return make(in, 2, out, 2, "step");
}
static void let_go(nx_function *a, nx_function *b) {
  nx_function_release(a);
  nx_function_release(b);
}

static int32_t read_int(nx_tensor *t) {
  int32_t v = -1;
  OK(nx_read(t, &v, sizeof v, NULL));
  return v;
}

static void same_bits(nx_tensor *a, nx_tensor *b, size_t bytes) {
  char *x = calloc(2, bytes);
  OK(nx_read(a, x, bytes, NULL));
  OK(nx_read(b, x + bytes, bytes, NULL));
  assert_memory_equal(x, x + bytes, bytes);
  free(x);
}

/* The body captured w, which the loop reads as it is when the loop is recorded. */
static void while_it_holds(void **state) {
  (void)state;
  enum { N = 1000, STEPS = 7 };
  for (int64_t n = 4; n <= N; n += N - 4) {
    nx_tensor *w = vector(n, 0, 0.001F);
    nx_function *below = make_below(n, STEPS), *step = make_step(n, w);
    nx_tensor *init[] = {whole(NX_I32, 0), vector(n, 1, 0.5F)}, *out[2] = {0}, *y = init[1];
    OK(nx_while(below, step, init, 2, NULL, 0, NULL, out, 2));
    for (int i = 0; i < STEPS; i++) y = GOOD(nx_add(nx_mul(y, w), number(1)));
    OK(nx_assign(w, number(100)));
    same_bits(out[1], y, (size_t)n * 4);
    assert_int_equal(read_int(out[0]), STEPS);
    nx_tensor *none[2] = {0}, *late[] = {whole(NX_I32, STEPS), init[1]};
    OK(nx_while(below, step, late, 2, NULL, 0, NULL, none, 2));
    same_bits(none[1], init[1], (size_t)n * 4);
    let_go(below, step);
  }
}

static void branches(void **state) {
  (void)state;
  nx_tensor *x[] = {input(4)}, *y = GOOD(nx_neg(x[0]));
  nx_function *neg = make(x, 1, &y, 1, "neg");
  nx_tensor *x2[] = {input(4)}, *y2 = GOOD(nx_mul(x2[0], number(2)));
  nx_function *twice = make(x2, 1, &y2, 1, "twice");
  nx_function *both[] = {neg, twice};
  nx_tensor *v = vector(4, 1, 1), *out = NULL;
  nx_tensor *p = GOOD(nx_cmplt(number(1), number(2)));
  OK(nx_case(p, both, 2, &v, 1, &out, 1));
  EXPECT(out, 2, 4, 6, 8);
  for (int i = -1; i < 4; i++) {
    float is[4];
    out = NULL;
    OK(nx_case(whole(NX_I64, i), both, 2, &v, 1, &out, 1));
    OK(nx_read(out, is, sizeof is, NULL));
    for (int k = 0; k < 4; k++) assert_true(is[k] == (i == 0 ? -1.F : 2.F) * (float)(k + 1));
  }
  let_go(neg, twice);
}

static nx_function *make_power(int64_t n) {
  nx_tensor *in[] = {scalar_input(NX_I64), input(n), input(n)};
  nx_tensor *out = GOOD(nx_add(nx_mul(in[1], in[2]), nx_cast(in[0], NX_F32)));
  return make(in, 3, &out, 1, "power");
}

static void counted(void **state) {
  (void)state;
  nx_tensor *x = vector(4, 1, 1), *w = vector(4, 0, 1), *out = NULL;
  nx_function *power = make_power(4);
  OK(nx_for(NULL, 3, power, &x, 1, &w, 1, NULL, &out, 1));
  EXPECT(out, 2, 5, 28, 113);
  for (int steps = -1; steps <= 3; steps++) {
    nx_tensor *n = counts(steps % 2 ? NX_I32 : NX_I64, steps, 1), *y = x, *r = NULL;
    n = GOOD(nx_reshape(n, NULL, 0, 0));
    for (int i = 0; i < steps; i++) y = GOOD(nx_add(nx_mul(y, w), number((float)i)));
    OK(nx_for(n, 0, power, &x, 1, &w, 1, NULL, &r, 1));
    same_bits(r, y, 16);
  }
  nx_function_release(power);
}

/* Slices of 64 bytes are written in the stack, others are not; forth and back. */
static void recurrence(int64_t n, int reverse) {
  enum { STEPS = 5 };
  nx_tensor *in[] = {input(n), input(n), input(n)};
  nx_tensor *h = GOOD(nx_add(nx_mul(in[0], in[1]), in[2]));
  nx_tensor *given[] = {h, GOOD(nx_neg(h))};
  nx_function *step = make(in, 3, given, 2, "step");
  nx_tensor *h0 = vector(n, 1, 1), *w = vector(n, 0.5F, 0.001F);
  nx_tensor *xs = GOOD(nx_reshape(vector(STEPS * n, 0, 0.25F), NX_SHAPE(STEPS, n), 0));
  nx_loop_options o = {.size = sizeof o, .reverse = reverse};
  nx_tensor *out[2] = {0}, *y = h0, *stack[STEPS];
  OK(nx_scan(step, STEPS, &h0, 1, &w, 1, &xs, 1, &o, out, 2));
  for (int i = 0; i < STEPS; i++) {
    int64_t at = reverse ? STEPS - 1 - i : i;
    nx_tensor *x = GOOD(nx_shrink(xs, (const int64_t[]){at, 0}, (const int64_t[]){at + 1, n}, 2));
    y = GOOD(nx_add(nx_mul(y, w), nx_reshape(x, NX_SHAPE(n), 0)));
    stack[at] = GOOD(nx_reshape(nx_neg(y), NX_SHAPE(1, n), 0));
  }
  same_bits(out[0], y, (size_t)n * 4);
  same_bits(out[1], GOOD(nx_cat(stack, STEPS, 0)), (size_t)n * 4 * STEPS);
  nx_function_release(step);
}

static void scans(void **state) {
  (void)state;
  for (int reverse = 0; reverse < 2; reverse++) {
    recurrence(3, reverse);
    recurrence(16, reverse);
    recurrence(1600, reverse);
    recurrence(1001, reverse);
  }
}

/* A loop in a function, in a loop; and the function recorded and called. */
static void nested(void **state) {
  (void)state;
  enum { N = 300 };
  nx_function *power = make_power(N);
  nx_tensor *in[] = {scalar_input(NX_I64), input(N)}, *inner = NULL;
  nx_tensor *w = vector(N, 0, 0.01F), *captured[] = {w};
  OK(nx_for(NULL, 2, power, &in[1], 1, captured, 1, NULL, &inner, 1));
  nx_function *twice = make(in, 2, &inner, 1, "twice");
  nx_tensor *x = input(N), *outer = NULL;
  OK(nx_for(NULL, 3, twice, &x, 1, NULL, 0, NULL, &outer, 1));
  nx_tensor *sum = GOOD(nx_add(outer, number(1)));
  nx_function *all = make(&x, 1, &sum, 1, "all");
  nx_tensor *v = vector(N, 1, 0), *called = NULL, *recorded = NULL, *y = v;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 2; i++) y = GOOD(nx_add(nx_mul(y, w), number((float)i)));
  y = GOOD(nx_add(y, number(1)));
  for (int i = 0; i < 3; i++) {
    called = recorded = NULL;
    OK(nx_function_call(all, &v, 1, &called, 1, NULL));
    OK(nx_function_record(all, &v, 1, &recorded, 1));
    same_bits(called, y, (size_t)N * 4);
    same_bits(recorded, y, (size_t)N * 4);
  }
  nx_function_release(power);
  let_go(twice, all);
}

/* All results that are alive come of one run. */
static void one_run(void **state) {
  (void)state;
  nx_tensor *w = vector(500, 0, 0.01F);
  nx_function *below = make_below(500, 5), *step = make_step(500, w);
  nx_tensor *init[] = {whole(NX_I32, 0), vector(500, 1, 1)}, *out[2] = {0};
  OK(nx_while(below, step, init, 2, NULL, 0, NULL, out, 2));
  OK(nx_realize(ctx, out, 1, NULL));
  nx_report report = {.size = sizeof report};
  nx_run_options run = {.size = sizeof run, .report = &report};
  OK(nx_realize(ctx, out, 2, &run));
  assert_int_equal(report.runs, 0);
  let_go(below, step);
}

static nx_error error_of(nx_status status, nx_status wanted) {
  static char message[512];
  nx_error e = {.size = sizeof e};
  assert_int_equal(status, wanted);
  assert_int_equal(nx_error_take(&e), wanted);
  snprintf(message, sizeof message, "%s", e.message);
  e.message = message;
  return e;
}
#define SAYS(status, wanted, words)                          \
  do {                                                       \
    nx_error e_ = error_of((status), (wanted));              \
    if (strstr(e_.message, words) == NULL) {                 \
      fprintf(stderr, "%d: \"%s\"\n", __LINE__, e_.message); \
      fail();                                                \
    }                                                        \
  } while (0)

static int32_t stop_soon(void *user) { return ++*(int *)user > 2; }

static void loops_without_end(void **state) {
  (void)state;
  nx_function *below = make_below(40, 1 << 30), *step = make_step(40, vector(40, 0, 0.01F));
  nx_tensor *init[] = {whole(NX_I32, 0), vector(40, 1, 1)}, *out[2] = {0}, *limited[2] = {0};
  nx_loop_options o = {.size = sizeof o, .max_steps = 100};
  OK(nx_while(below, step, init, 2, NULL, 0, &o, limited, 2));
  SAYS(nx_realize(ctx, limited, 1, NULL), NX_NO_CONVERGENCE,
       "while: it has not ended after 100 steps");
  OK(nx_while(below, step, init, 2, NULL, 0, NULL, out, 2));
  int asked = 0;
  nx_run_options run = {.size = sizeof run, .poll = stop_soon, .user = &asked};
  FAILS(NX_INTERRUPTED, nx_realize(ctx, out, 2, &run));
  let_go(below, step);
}

/* The step in which an index is out of range. */
static void failures_say_the_step(void **state) {
  (void)state;
  nx_tensor *in[] = {scalar_input(NX_I64), input(20), input(5)};
  nx_tensor *at = GOOD(nx_expand(nx_mul(in[0], whole(NX_I64, 2)), NX_SHAPE(20)));
  nx_tensor *out = GOOD(nx_add(in[1], nx_gather(in[2], at, 0)));
  nx_function *body = make(in, 3, &out, 1, "pick");
  nx_tensor *x = vector(20, 0, 1), *table = vector(5, 0, 1), *y = NULL;
  OK(nx_for(NULL, 9, body, &x, 1, &table, 1, NULL, &y, 1));
  SAYS(nx_realize(ctx, &y, 1, NULL), NX_INDEX_OUT_OF_RANGE, "for: step 3: ");
  nx_function_release(body);
}

static void refused(void **state) {
  (void)state;
  nx_function *below = make_below(4, 3), *step = make_step(4, vector(4, 0, 1));
  nx_function *power = make_power(4);
  nx_tensor *zero = whole(NX_I32, 0), *x = vector(4, 1, 1), *out[3] = {0};
  nx_tensor *init[] = {zero, x}, *bad[] = {zero, vector(5, 1, 1)};
  SAYS(nx_while(below, step, bad, 2, NULL, 0, NULL, out, 2), NX_INVALID_ARGUMENT,
       "while: input 1 of below is f32[4], operand 1 is f32[5]");
  SAYS(nx_while(below, step, init, 1, NULL, 0, NULL, out, 1), NX_INVALID_ARGUMENT,
       "while: below has 2 inputs, and 1 values are passed to it");
  SAYS(nx_while(step, step, init, 2, NULL, 0, NULL, out, 2), NX_INVALID_ARGUMENT,
       "while: the condition step does not give one bool[]");
  SAYS(nx_while(NULL, step, init, 2, NULL, 0, NULL, out, 2), NX_INVALID_ARGUMENT, "while");
  SAYS(nx_while(below, step, init, 2, NULL, 0, NULL, NULL, 2), NX_INVALID_ARGUMENT, "while");
  SAYS(nx_for(x, 0, power, &x, 1, &x, 1, NULL, out, 1), NX_UNSUPPORTED_DTYPE,
       "for: operand 0, the number of steps, has dtype f32, not i32 or i64");
  SAYS(nx_scan(below, -1, init, 2, NULL, 0, NULL, 0, NULL, out, 1), NX_INVALID_ARGUMENT, "scan");
  nx_function *both[] = {below, step};
  SAYS(nx_case(zero, both, 2, init, 2, out, 1), NX_INVALID_ARGUMENT,
       "case: step has 2 outputs, below has 1");
  SAYS(nx_case(zero, both, 0, init, 2, out, 1), NX_INVALID_ARGUMENT, "case: it has 0 bodies");
  let_go(below, step);
  nx_function_release(power);
}

/* Allocations of a call of f with this number of steps; first calls make what others use. */
static int64_t allocations_of(nx_function *f, int64_t steps, nx_tensor *cache, nx_tensor *x) {
  int64_t count = 0;
  for (int i = 0; i < 3; i++) {
    nx_tensor *in[] = {whole(NX_I64, steps), cache, x}, *out[2] = {0};
    OK(nx_realize(ctx, in, 3, NULL));
    count = nxi_alloc_count();
    OK(nx_function_call(f, in, 3, out, 2, NULL));
    count = nxi_alloc_count() - count;
    for (int k = 0; k < 2; k++) nx_tensor_release(out[k]);
  }
  return count;
}

/* Rows of a cache are written where they lie; small bodies and large ones allocate nothing. Only
 * the interpreter of kernels needs memory for each that it runs. */
static void nothing_a_step(void **state) {
  (void)state;
  if (nxt_executor_is("kernel-interp")) return;
  for (int64_t n = 4; n <= 512; n *= 128) {
    nx_tensor *in[] = {scalar_input(NX_I64),
                       GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(64, n))), input(n)};
    nx_tensor *at = GOOD(nx_mod(in[0], whole(NX_I64, 64))), *starts[] = {at, whole(NX_I64, 0)};
    nx_tensor *row = GOOD(nx_reshape(in[2], NX_SHAPE(1, n), 0));
    nx_tensor *cache = GOOD(nx_dynamic_update_slice(in[1], row, starts, 2));
    nx_tensor *sums = GOOD(nx_reduce_mean(cache, NX_AXES(0), 0));
    nx_tensor *out[] = {cache, GOOD(nx_add(in[2], sums))};
    nx_function *step = make(in, 3, out, 2, "step");
    nx_tensor *all[] = {scalar_input(NX_I64),
                        GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(64, n))), input(n)};
    nx_tensor *given[2] = {0};
    OK(nx_for(all[0], 0, step, &all[1], 2, NULL, 0, NULL, given, 2));
    nx_function *f = make(all, 3, given, 2, "f");
    nx_tensor *zeros = GOOD(nx_full(ctx, device(), NX_F32, NX_SHAPE(64, n), NX_NUMBER(0))),
              *x = vector(n, 1, 1);
    allocations_of(f, 3, zeros, x); /* the first calls make what later ones use */
    int64_t few = allocations_of(f, 3, zeros, x), many = allocations_of(f, 23, zeros, x);
    if (few != many) fprintf(stderr, "n %d: %d, %d\n", (int)n, (int)few, (int)many);
    assert_int_equal(few, many);
    let_go(step, f);
  }
}

/* A body that takes nothing gives the same slices in each step. */
static void scans_of_nothing(void **state) {
  (void)state;
  nx_tensor *two = GOOD(nx_full(ctx, device(), NX_F32, NX_SHAPE(2), NX_NUMBER(3)));
  nx_function *body = NULL, *empty = NULL;
  OK(nx_function_create(ctx, NULL, 0, &two, 1, NULL, &body));
  OK(nx_function_create(ctx, NULL, 0, NULL, 0, NULL, &empty));
  for (int64_t steps = 0; steps < 4; steps++) {
    nx_tensor *out = NULL;
    OK(nx_scan(body, steps, NULL, 0, NULL, 0, NULL, 0, NULL, &out, 1));
    assert_int_equal(nx_shape(out)[0], steps);
    if (steps == 3) EXPECT(out, 3, 3, 3, 3, 3, 3);
  }
  nx_tensor *out = NULL;
  SAYS(nx_scan(empty, 3, NULL, 0, NULL, 0, NULL, 0, NULL, &out, 0), NX_INVALID_ARGUMENT,
       "has no outputs");
  nx_function_release(body);
  nx_function_release(empty);
}

static const char text[] = "nxir 2\n"
                           "graph @more(%x: f32[], %n: f32[]) -> (%p) {\n"
                           "  %p = cmplt %x, %n : bool[]\n"
                           "}\n"
                           "graph @twice(%x: f32[], %n: f32[]) -> (%y) {\n"
                           "  %y = add %x, %x : f32[]\n"
                           "}\n"
                           "graph @f(%x: f32[], %n: f32[]) -> (%y) {\n"
                           "  %y = while %x, %n cond=@more body=@twice : f32[]\n"
                           "}\n";

static void from_text(void **state) {
  (void)state;
  nx_function *f = NULL;
  nx_parse_options o = {.size = sizeof o, .device = device()};
  OK(nx_function_parse(ctx, text, sizeof text - 1, &o, &f));
  nx_tensor *in[] = {number(3), number(40)}, *out = NULL;
  OK(nx_function_call(f, in, 2, &out, 1, NULL));
  EXPECT(out, 48);
  nx_function_release(f);
}

NXT_MAIN(control) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(while_it_holds),
      IN_SCOPE(branches),
      IN_SCOPE(counted),
      IN_SCOPE(scans),
      IN_SCOPE(nested),
      IN_SCOPE(one_run),
      IN_SCOPE(loops_without_end),
      IN_SCOPE(failures_say_the_step),
      IN_SCOPE(refused),
      IN_SCOPE(nothing_a_step),
      IN_SCOPE(scans_of_nothing),
      IN_SCOPE(from_text),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
