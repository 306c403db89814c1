/* SPDX-License-Identifier: ISC */
/* Bodies that assign: what they assign is carried from step to step and assigned when the loop has
 * ended, with the bits of the same functions recorded one after the other. */
#include "tests/util/api.h"

enum { N = 40, STEPS = 5 };

static nx_tensor *input(int64_t n) { return GOOD(nx_placeholder(ctx, device(), NX_F32, &n, 1)); }
static nx_tensor *index_input(void) { return GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0)); }
static nx_tensor *whole(nx_dtype t, int64_t value) {
  return GOOD(nx_full(ctx, device(), t, NULL, 0, NX_NUMBER((double)value)));
}
static nx_function *make(nx_tensor *const *in, size_t n_in, nx_tensor *const *out, size_t n_out) {
  nx_function_options o = {.size = sizeof o, .name = "body"};
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, &o, &f));
  return f;
}
static nx_tensor *between(nx_tensor *t, int64_t begin, int64_t end) {
  return GOOD(nx_shrink(t, &begin, &end, 1));
}

/* The steps of a `for` one after the other. The last carried value is the caller's. */
static nx_tensor *unrolled(nx_function *f, int steps, nx_tensor *x, nx_tensor *const *captured,
                           size_t n) {
  for (int i = 0; i < steps; i++) {
    nx_tensor *in[8] = {whole(NX_I64, i), x}, *out = NULL;
    for (size_t k = 0; k < n; k++) in[2 + k] = captured[k];
    OK(nx_function_record(f, in, 2 + n, &out, 1));
    x = out;
  }
  return x;
}

static void read_all(nx_tensor *t, float *out) { OK(nx_read(t, out, N * sizeof *out, NULL)); }
static void hold(nx_tensor *t, nx_tensor *value) { OK(nx_assign(t, value)); }

/* Runs the loop and the steps one after the other, both from the same contents of `state`. */
static void same_as_unrolled(nx_function *f, nx_tensor *state, nx_tensor *const *captured,
                             size_t n) {
  float is[2][N], wanted[2][N];
  for (int steps = 0; steps <= STEPS; steps++) {
    nx_tensor *x = vector(N, 1, 0.25F), *out = NULL;
    hold(state, vector(N, 0, 0.5F));
    OK(nx_for(NULL, steps, f, &x, 1, captured, n, NULL, &out, 1));
    read_all(state, is[0]);
    read_all(out, is[1]);
    hold(state, vector(N, 0, 0.5F));
    nx_tensor *y = unrolled(f, steps, x, captured, n);
    read_all(state, wanted[0]);
    read_all(y, wanted[1]);
    assert_memory_equal(is, wanted, sizeof is);
  }
}

/* A tensor from outside, read and assigned in parts and as a whole. */
static void captured_from_outside(void **state) {
  (void)state;
  nx_tensor *s = vector(N, 0, 0.5F), *in[] = {index_input(), input(N)};
  nx_tensor *y = GOOD(nx_add(in[1], s));
  OK(nx_assign(between(s, 3, 20), between(y, 0, 17)));
  nx_tensor *z = GOOD(nx_mul(y, s));
  OK(nx_assign(s, nx_add(s, nx_cast(in[0], NX_F32))));
  nx_function *f = make(in, 2, &z, 1);
  same_as_unrolled(f, s, NULL, 0);
  nx_function_release(f);
}

/* A captured operand that is part of the storage, and another one that reads the same. */
static void captured_operands(void **state) {
  (void)state;
  nx_tensor *s = vector(N, 0, 0.5F), *in[] = {index_input(), input(N), input(10), input(N)};
  nx_tensor *back = GOOD(nx_flip(s, NX_AXES(0))), *captured[] = {between(back, 4, 14), s};
  nx_tensor *y = GOOD(nx_add(nx_mul(in[1], number(0.5F)), in[3]));
  OK(nx_assign(in[2], nx_add(in[2], between(y, 2, 12))));
  OK(nx_assign(between(in[3], 0, 3), number(7)));
  nx_tensor *z = GOOD(nx_add(y, nx_reduce_sum(in[2], NX_ALL_AXES, 0)));
  nx_function *f = make(in, 4, &z, 1);
  same_as_unrolled(f, s, captured, 2);
  nx_function_release(f);
}

/* What a step assigns to a carried value is its own: the value that the loop began with stays. */
static void carried_values(void **state) {
  (void)state;
  nx_tensor *in[] = {index_input(), input(4)};
  OK(nx_assign(between(in[1], 0, 1), number(9)));
  nx_tensor *y = GOOD(nx_add(in[1], number(1)));
  nx_function *f = make(in, 2, &y, 1);
  nx_tensor *x = vector(4, 0, 1), *out = NULL;
  OK(nx_for(NULL, 3, f, &x, 1, NULL, 0, NULL, &out, 1));
  EXPECT(out, 10, 4, 5, 6);
  EXPECT(x, 0, 1, 2, 3);
  nx_function_release(f);
}

static void branches(void **state) {
  (void)state;
  nx_tensor *s = vector(4, 0, 1), *t = vector(4, 5, 0);
  nx_tensor *in[] = {input(4)}, *y = GOOD(nx_neg(in[0]));
  OK(nx_assign(s, nx_add(s, in[0])));
  nx_function *first = make(in, 1, &y, 1);
  nx_tensor *in2[] = {input(4)}, *y2 = GOOD(nx_mul(in2[0], number(2)));
  OK(nx_assign(between(t, 1, 3), between(in2[0], 0, 2)));
  OK(nx_assign(in2[0], number(100)));
  nx_function *second = make(in2, 1, &y2, 1), *both[] = {first, second};
  for (int i = 0; i < 2; i++) {
    nx_tensor *x = vector(4, 1, 1), *out = NULL;
    OK(nx_case(whole(NX_I32, i), both, 2, &x, 1, &out, 1));
    if (i == 0) EXPECT(t, 5, 5, 5, 5);
    EXPECT(s, 1, 3, 5, 7);
    if (i == 0) EXPECT(x, 1, 2, 3, 4);
  }
  EXPECT(t, 5, 1, 2, 5);
  nx_function_release(first);
  nx_function_release(second);
}

/* A loop that assigns, in a function that is called and recorded, and in another loop. */
static void nested(void **state) {
  (void)state;
  nx_tensor *s = vector(N, 0, 0.5F), *in[] = {index_input(), input(N)};
  nx_tensor *y = GOOD(nx_add(in[1], s));
  OK(nx_assign(between(s, 0, 9), nx_mul(between(y, 1, 10), number(0.25F))));
  nx_function *inner = make(in, 2, &y, 1);
  nx_tensor *again[] = {index_input(), input(N)}, *z = NULL;
  OK(nx_for(NULL, 3, inner, &again[1], 1, NULL, 0, NULL, &z, 1));
  OK(nx_assign(between(s, 20, 21), number(3)));
  nx_function *outer = make(again, 2, &z, 1);
  same_as_unrolled(outer, s, NULL, 0);
  float is[2][N];
  for (int call = 0; call < 2; call++) {
    nx_tensor *given[] = {whole(NX_I64, 0), vector(N, 1, 1)}, *out = NULL;
    hold(s, vector(N, 0, 0.5F));
    if (call) OK(nx_function_call(outer, given, 2, &out, 1, NULL));
    else OK(nx_function_record(outer, given, 2, &out, 1));
    read_all(s, is[call]);
  }
  assert_memory_equal(is[0], is[1], sizeof is[0]);
  nx_function_release(inner);
  nx_function_release(outer);
}

/* A body that is captured within a capture which has assigned what it reads and assigns. What the
 * outer one computed before is what it was then. */
static void captured_within(void **state) {
  (void)state;
  nx_tensor *s = vector(3, 0, 1), *outer[] = {input(3)}, *out = NULL, *results[2];
  OK(nx_assign(s, nx_mul(outer[0], number(10))));
  nx_tensor *before = GOOD(nx_add(s, number(1)));
  OK(nx_assign(s, number(100)));
  nx_tensor *in[] = {index_input(), input(3)}, *y = GOOD(nx_add(in[1], s));
  OK(nx_assign(s, nx_add(s, before)));
  nx_function *body = make(in, 2, &y, 1);
  nx_tensor *more[] = {input(3)}, *z = GOOD(nx_neg(more[0]));
  OK(nx_assign(s, number(9)));
  nx_function *never = make(more, 1, &z, 1);
  results[0] = GOOD(nx_copy(s));
  OK(nx_for(NULL, 2, body, outer, 1, NULL, 0, NULL, &out, 1));
  results[1] = out;
  nx_function *f = make(outer, 1, results, 2);
  for (int call = 0; call < 2; call++) {
    nx_tensor *x = vector(3, 1, 1), *got[2] = {NULL, NULL};
    hold(s, number(-1));
    if (call) OK(nx_function_call(f, &x, 1, got, 2, NULL));
    else OK(nx_function_record(f, &x, 1, got, 2));
    EXPECT(got[0], 100, 100, 100);
    EXPECT(got[1], 212, 223, 234); /* x + 100, and + 100 + 10 x + 1 */
    EXPECT(s, 122, 142, 162);      /* 100 + 2 (10 x + 1) */
  }
  nx_function_release(body);
  nx_function_release(never);
  nx_function_release(f);
}

/* A tensor that the capture around the body has made is a state of the body like any other: the
 * outer function has it as it was until the loop runs, however it is made. */
static void made_within(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    nx_tensor *outer[] = {input(3)}, *out = NULL, *results[3];
    nx_tensor *s = kind == 0   ? GOOD(nx_add(outer[0], number(1)))
                   : kind == 1 ? GOOD(nx_full(ctx, device(), NX_F32, NX_SHAPE(3), NX_NUMBER(2)))
                               : vector(3, 2, 0);
    nx_tensor *in[] = {index_input(), input(3)}, *y = GOOD(nx_add(in[1], s));
    hold(s, nx_add(s, number(1)));
    hold(between(s, 0, 1), nx_reshape(nx_cast(in[0], NX_F32), NX_SHAPE(1), 0));
    nx_function *body = make(in, 2, &y, 1);
    results[0] = GOOD(nx_copy(s));
    if (kind == 1) hold(s, nx_add(outer[0], number(1)));
    OK(nx_for(NULL, 2, body, outer, 1, NULL, 0, NULL, &out, 1));
    results[1] = out;
    results[2] = s;
    nx_function *f = make(outer, 1, results, 3);
    for (int call = 0; call < 2; call++) {
      nx_tensor *x = vector(3, 1, 0), *got[3] = {NULL, NULL, NULL};
      if (call) OK(nx_function_call(f, &x, 1, got, 3, NULL));
      else OK(nx_function_record(f, &x, 1, got, 3));
      EXPECT(got[0], 2, 2, 2);
      EXPECT(got[1], 3, 6, 6); /* 1 + 2 + 0, and 1 + 2 + 3 */
      EXPECT(got[2], 1, 4, 4);
    }
    nx_function_release(body);
    nx_function_release(f);
  }
}

/* A tensor made between two inputs of one function, and assigned after the second, is a step of
 * what that function computes. */
static void made_between(void **state) {
  (void)state;
  nx_tensor *in[2] = {input(3)}, *s = GOOD(nx_copy(in[0])), *fixed = vector(3, 1, 0);
  in[1] = input(3);
  hold(s, nx_add(s, in[1]));
  hold(fixed, number(4));
  nx_tensor *y = GOOD(nx_mul(s, fixed)), *got = NULL;
  nx_function *f = make(in, 2, &y, 1);
  nx_tensor *given[] = {vector(3, 0, 1), vector(3, 10, 0)};
  OK(nx_function_call(f, given, 2, &got, 1, NULL));
  EXPECT(got, 40, 44, 48);
  EXPECT(fixed, 4, 4, 4);
  nx_function_release(f);
}

/* A placeholder that is given up in between: what is assigned after it is what is read. */
static void given_up_between(void **state) {
  (void)state;
  nx_tensor *in[] = {input(3)}, *s = vector(3, 1, 0), *never = input(3), *got = NULL;
  nx_tensor_retain(never);
  hold(s, number(5));
  nx_tensor_release(never);
  hold(s, number(6));
  nx_tensor *y = GOOD(nx_add(s, in[0]));
  nx_function *f = make(in, 1, &y, 1);
  nx_tensor *x = vector(3, 0, 1);
  OK(nx_function_call(f, &x, 1, &got, 1, NULL));
  EXPECT(got, 6, 7, 8);
  nx_function_release(f);
}

/* A branch without inputs reads what a tensor is when it runs. Where the capture around it assigns
 * that tensor nobody knows which value is meant. */
static void without_inputs(void **state) {
  (void)state;
  nx_tensor *s = vector(3, 0, 1), *x = input(3), *y = GOOD(nx_add(s, number(1))), *out = NULL;
  nx_function *branch = make(NULL, 0, &y, 1);
  OK(nx_case(whole(NX_I32, 0), &branch, 1, NULL, 0, &out, 1));
  nx_tensor *result = GOOD(nx_add(out, x));
  OK(nx_assign(s, nx_mul(s, number(2))));
  nx_tensor *later = GOOD(nx_neg(s));
  nx_function *f = NULL;
  FAILS(NX_INVALID_ARGUMENT, nx_function_create(ctx, NULL, 0, &later, 1, NULL, &f));
  f = make(&x, 1, &result, 1);
  for (int call = 0; call < 2; call++) {
    nx_tensor *given = vector(3, 10, 10), *got = NULL;
    hold(s, vector(3, 5, 5));
    if (call) OK(nx_function_call(f, &given, 1, &got, 1, NULL));
    else OK(nx_function_record(f, &given, 1, &got, 1));
    EXPECT(got, 16, 31, 46);
    EXPECT(s, 10, 20, 30);
  }
  nx_function_release(branch);
  nx_function_release(f);
}

/* Captures that are given up leave nothing behind, whatever they read and assigned. */
static void given_up(void **state) {
  (void)state;
  nx_tensor *s = vector(3, 0, 1), *x = input(3), *before = GOOD(nx_add(s, x));
  OK(nx_assign(x, number(5)));
  OK(nx_assign(s, before));
  nx_tensor *y = input(3), *z = GOOD(nx_add(nx_add(s, before), nx_add(x, y)));
  OK(nx_assign(s, z));
  OK(nx_assign(x, y));
  nx_tensor *all[] = {x, y, z, before};
  for (int i = 0; i < 4; i++) {
    nx_tensor_retain(all[i]);
    nx_tensor_release(all[i]);
  }
  nx_capture_end(ctx);
  assert_false(nx_capturing(ctx));
  EXPECT(s, 0, 1, 2);
}

/* Counts what it draws in a tensor from outside, as a generator of random numbers does. */
static void scans(void **state) {
  (void)state;
  nx_tensor *count = whole(NX_I64, 10), *in[] = {input(3)};
  nx_tensor *y = GOOD(nx_add(in[0], nx_cast(count, NX_F32)));
  OK(nx_assign(count, nx_add(count, whole(NX_I64, 1))));
  nx_function *f = make(in, 1, &y, 1);
  nx_tensor *xs = GOOD(nx_reshape(vector(6, 0, 1), NX_SHAPE(2, 3), 0)), *out = NULL;
  OK(nx_scan(f, 2, NULL, 0, NULL, 0, &xs, 1, NULL, &out, 1));
  EXPECT(out, 10, 11, 12, 14, 15, 16);
  EXPECT(nx_cast(count, NX_F32), 12);
  nx_function_release(f);
}

/* A loop that fails, or stops at its limit, leaves what it assigns as it was. */
static void failures(void **state) {
  (void)state;
  nx_tensor *s = vector(4, 0, 1), *in[] = {index_input(), input(4)};
  nx_tensor *at = GOOD(nx_expand(in[0], NX_SHAPE(4)));
  nx_tensor *y = GOOD(nx_gather(in[1], at, 0));
  OK(nx_assign(s, nx_add(s, y)));
  nx_function *f = make(in, 2, &y, 1);
  nx_tensor *x = vector(4, 1, 1), *out = NULL, *kept = GOOD(nx_copy(s));
  OK(nx_realize(ctx, &kept, 1, NULL));
  nx_loop_options o = {.size = sizeof o, .max_steps = 2};
  OK(nx_for(NULL, 3, f, &x, 1, NULL, 0, &o, &out, 1));
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &out, 1, NULL));
  EXPECT(kept, 0, 1, 2, 3);
  nx_function_release(f);
}

/* ---- conditions that assign */

/* What a `while` says, by hand: x and the state are left as by the loop. */
static nx_tensor *by_hand(nx_function *cond, nx_function *body, nx_tensor *x, nx_tensor *captured) {
  bool holds = true;
  for (int step = 0; step < 100; step++) {
    nx_tensor *in[] = {GOOD(nx_copy(x)), captured}, *on = NULL, *out = NULL;
    OK(nx_function_record(cond, in, 2, &on, 1));
    OK(nx_read(on, &holds, 1, NULL));
    if (!holds) return in[0];
    OK(nx_function_record(body, in, 2, &out, 1));
    x = out;
  }
  return x;
}

/* A condition on how often it was asked: it counts that in the first element of a captured value,
 * and scales what is carried. */
static nx_function *counting(nx_tensor *log, int most) {
  nx_tensor *in[] = {input(N), input(N)}, *first = GOOD(nx_copy(between(in[1], 0, 1)));
  nx_tensor *on = GOOD(nx_reshape(nx_cmplt(first, number((float)most)), NULL, 0, 0));
  OK(nx_assign(between(in[1], 0, 1), nx_add(first, number(1))));
  OK(nx_assign(between(in[0], 2, 7), nx_mul(between(in[0], 1, 6), number(0.5F))));
  OK(nx_assign(log, nx_add(log, between(in[0], 0, 10))));
  return make(in, 2, &on, 1);
}

static nx_function *adding(nx_tensor *log) {
  nx_tensor *in[] = {input(N), input(N)}, *y = GOOD(nx_add(in[0], nx_mul(in[1], number(0.25F))));
  OK(nx_assign(between(in[1], 5, 15), log));
  return make(in, 2, &y, 1);
}

static void conditions_that_assign(void **state) {
  (void)state;
  float is[3][N], wanted[3][N];
  for (int most = 0; most < 4; most++) {
    nx_tensor *log = vector(10, 0, 1), *count = vector(N, 0, 1), *x = vector(N, 1, 0.25F);
    nx_function *cond = counting(log, most), *body = adding(log);
    for (int hand = 0; hand < 2; hand++) {
      float(*to)[N] = hand ? wanted : is;
      nx_tensor *out = NULL;
      hold(log, vector(10, 0, 1));
      hold(count, vector(N, 0, 1));
      memset(to, 0, sizeof is);
      if (hand) out = by_hand(cond, body, x, count);
      else OK(nx_while(cond, body, &x, 1, &count, 1, NULL, &out, 1));
      read_all(out, to[0]);
      read_all(count, to[1]);
      OK(nx_read(log, to[2], 10 * sizeof(float), NULL));
    }
    assert_memory_equal(is, wanted, sizeof is);
    assert_true(is[1][0] == (float)(most + 1));
    read_all(x, is[0]);
    assert_true(is[0][2] == 1.5F && is[0][3] == 1.75F);
    nx_function_release(cond);
    nx_function_release(body);
  }
}

/* Nested in a function that is called, and stopped by a limit. */
static void conditions_within(void **state) {
  (void)state;
  nx_tensor *log = vector(10, 0, 1), *count = vector(N, 0, 1), *in[] = {input(N)}, *y = NULL;
  nx_function *cond = counting(log, 3), *body = adding(log);
  OK(nx_while(cond, body, in, 1, &count, 1, NULL, &y, 1));
  nx_function *f = make(in, 1, &y, 1);
  float is[2][N];
  for (int call = 0; call < 2; call++) {
    nx_tensor *x = vector(N, 1, 1), *out = NULL;
    hold(log, vector(10, 0, 1));
    hold(count, vector(N, 0, 1));
    if (call) OK(nx_function_call(f, &x, 1, &out, 1, NULL));
    else OK(nx_function_record(f, &x, 1, &out, 1));
    read_all(out, is[call]);
    float counted[N];
    read_all(count, counted);
    assert_true(counted[0] == 4);
  }
  assert_memory_equal(is[0], is[1], sizeof is[0]);
  hold(count, vector(N, 0, 1));
  nx_tensor *x = vector(N, 1, 1), *out = NULL;
  nx_loop_options o = {.size = sizeof o, .max_steps = 2};
  OK(nx_while(cond, body, &x, 1, &count, 1, &o, &out, 1));
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &out, 1, NULL));
  nx_function_release(f);
  nx_function_release(cond);
  nx_function_release(body);
}

static void refused(void **state) {
  (void)state;
  nx_tensor *x = vector(4, 0, 1), *out = NULL;
  nx_tensor *s = whole(NX_I64, 0), *in[] = {input(4)}, *p = GOOD(nx_copy(in[0]));
  OK(nx_assign(s, nx_add(s, whole(NX_I64, 1))));
  nx_function *cond = make(in, 1, &p, 1);
  FAILS(NX_INVALID_ARGUMENT, nx_while(cond, cond, &x, 1, NULL, 0, NULL, &out, 1));
  nx_tensor *in3[] = {input(4), input(3)}, *z = GOOD(nx_neg(in3[0]));
  OK(nx_assign(in3[1], number(1)));
  nx_function *writes = make(in3, 2, &z, 1);
  nx_tensor *many = GOOD(nx_expand(number(1), NX_SHAPE(3))), *longer = vector(5, 0, 1);
  nx_tensor *both[] = {x, many}, *other[] = {x, longer};
  FAILS(NX_INVALID_ARGUMENT, nx_case(whole(NX_I32, 0), &writes, 1, both, 2, &out, 1));
  FAILS(NX_INVALID_ARGUMENT, nx_case(whole(NX_I32, 0), &writes, 1, other, 2, &out, 1));
  nx_function_release(cond);
  nx_function_release(writes);
}

NXT_MAIN(loop_states) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(captured_from_outside),
      IN_SCOPE(captured_operands),
      IN_SCOPE(carried_values),
      IN_SCOPE(branches),
      IN_SCOPE(nested),
      IN_SCOPE(captured_within),
      IN_SCOPE(made_within),
      IN_SCOPE(made_between),
      IN_SCOPE(given_up_between),
      IN_SCOPE(without_inputs),
      IN_SCOPE(given_up),
      IN_SCOPE(scans),
      IN_SCOPE(failures),
      IN_SCOPE(conditions_that_assign),
      IN_SCOPE(conditions_within),
      IN_SCOPE(refused),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
