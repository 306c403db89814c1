/* SPDX-License-Identifier: ISC */
/* Custom operations in bodies: functions and kernels of the caller at each step, ordered ones once
 * a step and in order, and alive until nothing can call them. */
#include "tests/util/api.h"

enum { N = 6, MOST_CALLS = 64 };
static int calls, released, failing;
static float seen[MOST_CALLS];
static const int64_t six[] = {N}, two[] = {2};
static const nx_type line = {NX_F32, 1, six}, pair = {NX_F32, 1, two};

/* y = 2 x + 1 */
static nx_status run(const nx_custom_call *k) {
  const float *x = k->operands[0].data;
  if (calls < MOST_CALLS) seen[calls] = x[0];
  if (++calls == failing) return nx_custom_fail(k, NX_NO_CONVERGENCE, "not now");
  for (int i = 0; k->n_results && i < N; i++) ((float *)k->results[0].data)[i] = 2 * x[i] + 1;
  return NX_OK;
}
static void count_release(void *user) { released++, (void)user; }

/* Sums of the rows of two by three: no elementwise kernel. */
static const char rows[] = "nxir 2\n"
                           "kernel @rows logical {\n"
                           "  b0: in f32[6]\n"
                           "  b1: out f32[2]\n"
                           "  region {\n"
                           "    %i = for outer 0..2 {\n"
                           "      %j = for reduce 0..3 {\n"
                           "        %a = load f32 b0[0 + 3*%i + 1*%j]\n"
                           "        %s = reduce f32 sum lanes %a\n"
                           "      }\n"
                           "      store %s, b1[0 + 1*%i]\n"
                           "    }\n"
                           "  }\n"
                           "}\n";

static nx_custom *custom(const char *kernel, uint32_t flags, const nx_type *out, size_t n_out) {
  nx_custom *f = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "step",
                         .run = kernel ? NULL : run,
                         .release = count_release,
                         .flags = flags,
                         .n_operands = 1,
                         .operands = &line,
                         .n_results = n_out,
                         .results = out,
                         .kernel = kernel,
                         .kernel_size = kernel ? strlen(kernel) : 0};
  OK(nx_custom_create(ctx, &desc, &f));
  calls = released = failing = 0;
  return f;
}

static nx_tensor *input(void) { return GOOD(nx_placeholder(ctx, device(), NX_F32, six, 1)); }
static nx_tensor *index_input(void) { return GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0)); }
static nx_function *make(nx_tensor *const *in, size_t n_in, nx_tensor *out) {
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, &out, 1, NULL, &f));
  for (size_t i = 0; i < n_in; i++) nx_tensor_release(in[i]);
  return f;
}
static nx_tensor *record(nx_custom *f, nx_tensor *x, nx_tensor *token) {
  nx_tensor *y = NULL;
  OK(nx_custom_record(f, &x, 1, token, &y, 1));
  return y;
}
/* A body that calls f on its carried value. */
static nx_function *calling(nx_custom *f, nx_tensor *token) {
  nx_tensor *in[] = {index_input(), input()};
  return make(in, 2, record(f, in[1], token));
}
static nx_tensor *loop(nx_function *f, int64_t steps, nx_tensor *x) {
  nx_tensor *out = NULL;
  OK(nx_for(NULL, steps, f, &x, 1, NULL, 0, NULL, &out, 1));
  return out;
}

static void functions(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, 0, &line, 1);
  nx_function *body = calling(f, NULL);
  nx_tensor *x = vector(N, 0, 1);
  EXPECT(loop(body, 3, x), 7, 15, 23, 31, 39, 47);
  assert_int_equal(calls, 3);
  nx_tensor *in[] = {index_input(), input()};
  nx_function *outer = make(in, 2, loop(body, 2, in[1]));
  nx_function_release(body);
  nx_custom_release(f);
  EXPECT(loop(outer, 2, x), 15, 31, 47, 63, 79, 95);
  assert_int_equal(calls, 7);
  nx_function_release(outer);
}

static void kernels(void **state) {
  (void)state;
  nx_custom *f = custom(rows, 0, &pair, 1);
  nx_tensor *in[] = {index_input(), input()}, *x = vector(N, 0, 1);
  nx_tensor *sums = GOOD(nx_reshape(record(f, in[1], NULL), NX_SHAPE(2, 1), 0));
  nx_tensor *y = GOOD(nx_add(nx_reshape(in[1], NX_SHAPE(2, 3), 0), sums));
  nx_function *body = make(in, 2, GOOD(nx_reshape(y, NX_SHAPE(N), 0)));
  EXPECT(loop(body, 2, x), 15, 16, 17, 63, 64, 65);
  nx_function_release(body);
  nx_custom_release(f);
}

/* Once a step and in order, before what follows the loop with the same token. */
static void ordered(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, NX_ORDERED, &line, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device()));
  nx_function *body = calling(f, token);
  nx_tensor *out = loop(body, 3, vector(N, 0, 1));
  record(f, vector(N, 50, 1), token);
  loop(body, 2, vector(N, 100, 0));
  OK(nx_realize(ctx, &token, 1, NULL));
  EXPECT(out, 7, 15, 23, 31, 39, 47);
  const float wanted[] = {0, 1, 3, 50, 100, 201};
  assert_int_equal(calls, 6);
  for (int i = 0; i < 6; i++) assert_true(seen[i] == wanted[i]);
  nx_function_release(body);
  nx_custom_release(f);
}

/* Two recordings of one loop are two, even of equal operands, and a function that has one calls it
 * at each of its calls. */
static void each_recording(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, NX_ORDERED, &line, 1);
  nx_tensor *in[] = {index_input(), input(), GOOD(nx_placeholder(ctx, device(), NX_BOOL, NULL, 0))};
  nx_tensor *y = record(f, in[1], in[2]), *x = vector(N, 0, 1);
  nx_function *body = make(in, 3, y);
  nx_tensor *outs[2] = {NULL, NULL};
  for (int i = 0; i < 2; i++) {
    nx_tensor *token = GOOD(nx_token(ctx, device()));
    OK(nx_for(NULL, 2, body, &x, 1, &token, 1, NULL, &outs[i], 1));
  }
  for (int i = 0; i < 2; i++) EXPECT(outs[i], 3, 7, 11, 15, 19, 23);
  assert_int_equal(calls, 4);
  nx_tensor *args[] = {input(), GOOD(nx_placeholder(ctx, device(), NX_BOOL, NULL, 0))}, *z = NULL;
  OK(nx_for(NULL, 2, body, args, 1, &args[1], 1, NULL, &z, 1));
  nx_function *all = make(args, 2, z);
  calls = 0;
  for (int i = 0; i < 4; i++) {
    nx_tensor *given[] = {x, GOOD(nx_token(ctx, device()))}, *out = NULL;
    if (i < 2) OK(nx_function_call(all, given, 2, &out, 1, NULL));
    else OK(nx_function_record(all, given, 2, &out, 1));
    EXPECT(out, 3, 7, 11, 15, 19, 23);
    assert_int_equal(calls, 2 * (i + 1));
  }
  nx_function_release(all);
  nx_function_release(body);
  nx_custom_release(f);
}

/* A loop that failed after it called an ordered one does not run again. */
static void failures(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, NX_ORDERED, &line, 1);
  nx_tensor *token = GOOD(nx_token(ctx, device()));
  nx_function *body = calling(f, token);
  nx_tensor *out = loop(body, 5, vector(N, 0, 1));
  failing = 3;
  assert_int_equal(nx_realize(ctx, &out, 1, NULL), NX_NO_CONVERGENCE);
  error_says(NX_NO_CONVERGENCE, "for: step 2: ");
  assert_int_equal(calls, 3);
  failing = 0;
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &out, 1, NULL));
  FAILS(NX_NO_CONVERGENCE, nx_realize(ctx, &token, 1, NULL));
  assert_int_equal(calls, 3);
  nx_function_release(body);
  nx_custom_release(f);
}

static void lives(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, 0, &line, 1);
  nx_function *body = calling(f, NULL);
  nx_tensor *out = loop(body, 3, vector(N, 0, 1)), *never = loop(body, 4, vector(N, 0, 1));
  nx_function_release(body);
  nx_custom_release(f);
  nx_context_collect(ctx);
  assert_int_equal(released, 0);
  nx_tensor_release(never);
  EXPECT(out, 7, 15, 23, 31, 39, 47);
  nx_context_collect(ctx);
  assert_int_equal(calls, 3);
}

/* Operations of one name are several. */
static void names(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, 0, &line, 1), *g = custom(NULL, 0, &line, 1);
  nx_function *one = calling(f, NULL), *other = calling(g, NULL);
  nx_tensor *x = vector(N, 0, 1);
  nx_tensor *both[] = {loop(one, 2, x), loop(other, 2, x)};
  OK(nx_realize(ctx, both, 2, NULL));
  assert_int_equal(calls, 4);
  nx_function_release(one);
  nx_function_release(other);
  nx_custom_release(f);
  nx_custom_release(g);
}

static void texts(void **state) {
  (void)state;
  static const char text[] = "nxir 2\n"
                             "graph @step(%x: f32[6]) -> (%y) {\n"
                             "  %y = custom \"step\" %x\n"
                             "}\n"
                             "graph @f(%x: f32[6]) -> (%y) {\n"
                             "  %y = scan %x body=@step count=3 carried=1 : f32[6]\n"
                             "}\n";
  nx_custom *f = custom(NULL, 0, &line, 1);
  nx_parse_options o = {.size = sizeof o, .device = device(), .customs = &f, .n_customs = 1};
  nx_function *g = NULL;
  OK(nx_function_parse(ctx, text, sizeof text - 1, &o, &g));
  nx_custom_release(f);
  nx_tensor *in = vector(N, 0, 1), *out = NULL;
  OK(nx_function_call(g, &in, 1, &out, 1, NULL));
  EXPECT(out, 7, 15, 23, 31, 39, 47);
  nx_function_release(g);
}

/* What a test released is gone at its end. */
static void all_released(void **state) {
  (void)state;
  nx_custom *f = custom(NULL, 0, &line, 1);
  nx_scope *scope = nx_scope_begin(ctx);
  nx_function *body = calling(f, NULL);
  nx_tensor *out = loop(body, 3, vector(N, 0, 1)), *again = loop(body, 5, vector(N, 0, 1));
  OK(nx_realize(ctx, &out, 1, NULL));
  (void)again;
  nx_function_release(body);
  nx_custom_release(f);
  nx_scope_end(scope);
  nx_context_collect(ctx);
  assert_int_equal(released, 1);
}

NXT_MAIN(loop_customs) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(functions),      IN_SCOPE(kernels),  IN_SCOPE(ordered),
      IN_SCOPE(each_recording), IN_SCOPE(failures), IN_SCOPE(lives),
      IN_SCOPE(names),          IN_SCOPE(texts),    IN_SCOPE(all_released),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
