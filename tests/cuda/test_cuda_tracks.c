/* SPDX-License-Identifier: ISC */
/* Tests of steps that run side by side in a graph, with the fake driver, which takes the nodes of a
 * graph in an order drawn by chance: bits are those of steps that run in a row; without the waits
 * of streams some are wrong. */
#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "tests/util/runner.h"

enum { ROWS = 24, N = ROWS * ROWS, CALLS = 24 };

/* Three chains of unequal lengths, which have memory of the same sizes in turns, products with
 * workspaces, sums with scratch; and they meet twice. */
static const char meeting[] = "nxir 2\n"
                              "graph @meeting(%x: f32[24,24]) -> (%y, %z) {\n"
                              "  %a1 = mul %x, %x : f32[24,24]\n"
                              "  %b1 = reduce_sum %x axes=[0] keepdims : f32[1,24]\n"
                              "  %c1 = matmul %x, %x : f32[24,24]\n"
                              "  %a2 = neg %a1 : f32[24,24]\n"
                              "  %b2 = sub %x, %b1 : f32[24,24]\n"
                              "  %c2 = abs %c1 : f32[24,24]\n"
                              "  %a3 = add %a2, %x : f32[24,24]\n"
                              "  %b3 = matmul %b2, %x : f32[24,24]\n"
                              "  %c3 = matmul %c2, %x : f32[24,24]\n"
                              "  %a4 = mul %a3, %a3 : f32[24,24]\n"
                              "  %b4 = neg %b3 : f32[24,24]\n"
                              "  %a5 = neg %a4 : f32[24,24]\n"
                              "  %d1 = add %a5, %b4 : f32[24,24]\n"
                              "  %e1 = mul %x, %c3 : f32[24,24]\n"
                              "  %e2 = neg %e1 : f32[24,24]\n"
                              "  %e3 = mul %e2, %x : f32[24,24]\n"
                              "  %d2 = neg %d1 : f32[24,24]\n"
                              "  %d3 = mul %d2, %x : f32[24,24]\n"
                              "  %y = add %e3, %d3 : f32[24,24]\n"
                              "  %s = scan_sum %d3 axis=1 : f32[24,24]\n"
                              "  %z = sub %s, %e3 : f32[24,24]\n"
                              "}\n";
/* Steps of a loop with two chains each. */
static const char repeated[] =
    "nxir 2\n"
    "graph @step(%k: i64[], %u: f32[24,24], %v: f32[24,24]) -> (%u4, %v4) {\n"
    "  %u1 = mul %u, %v : f32[24,24]\n"
    "  %v1 = sub %u, %v : f32[24,24]\n"
    "  %u2 = sin %u1 : f32[24,24]\n"
    "  %v2 = neg %v1 : f32[24,24]\n"
    "  %u3 = neg %u2 : f32[24,24]\n"
    "  %v3 = cos %v2 : f32[24,24]\n"
    "  %u4 = add %u3, %v1 : f32[24,24]\n"
    "  %v4 = add %v3, %u1 : f32[24,24]\n"
    "}\n"
    "graph @repeated(%x: f32[24,24]) -> (%y, %z) {\n"
    "  %a = neg %x : f32[24,24]\n"
    "  %y = for %x, %a count=17 carried=2 body=@step\n"
    "  %z = for %x, %a count=17 carried=2 body=@step result=1\n"
    "}\n";

static nx_tensor *square(void) {
  nx_tensor *x = GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(-0.25), NX_NUMBER(1e-3), N));
  x = GOOD(nx_reshape(x, NX_SHAPE(ROWS, ROWS), 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  return x;
}

static nx_function *parse(nx_context *c, const char *text) {
  nx_function *f = NULL;
  OK(nx_function_parse(c, text, strlen(text),
                       &(nx_parse_options){.size = sizeof(nx_parse_options), .device = CUDA}, &f));
  return f;
}

static nx_status call(nx_function *f, nx_tensor *x, float *bits, uint64_t *launched) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *out[2] = {NULL, NULL};
  nx_status status = nx_function_call(f, &x, 1, out, 2, &o);
  for (int i = 0; i < 2 && status == NX_OK; i++)
    status = nx_read(out[i], bits + i * N, N * sizeof *bits, NULL);
  for (int i = 0; i < 2; i++) nx_tensor_release(out[i]);
  *launched += report.graph_launches;
  return status;
}

/* What is computed without graphs. */
static void compute(const char *text, float *bits) {
  uint64_t launched = 0;
  OK(nx_debug_set("nofuse,nographs"));
  nx_function *f = parse(ctx, text);
  OK(call(f, square(), bits, &launched));
  nx_function_release(f);
  OK(nx_debug_set("nofuse"));
}

static bool same_bits(const void *a, const void *b, size_t bytes) {
  return memcmp(a, b, bytes) == 0;
}

/* Of so many launches, how many had wrong bits. */
static int count_wrong(const char *text, uint64_t delay, const float *wanted) {
  static float bits[2 * N];
  int wrong = 0;
  uint64_t launched = 0;
  nx_function *f = parse(ctx, text);
  nx_tensor *x = square();
  fake->delay = delay;
  for (int i = 0; i < CALLS; i++) {
    memset(bits, 0xff, sizeof bits);
    OK(call(f, x, bits, &launched));
    wrong += !same_bits(bits, wanted, sizeof bits);
  }
  fake->delay = 0;
  nx_function_release(f);
  assert_true(launched >= CALLS / 2);
  return wrong;
}

static const char *const texts[] = {meeting, repeated};

static void any_order_gives_the_bits(void **state) {
  static float wanted[2 * N];
  (void)state;
  for (int i = 0; i < 2; i++) {
    compute(texts[i], wanted);
    const int64_t forked = fake->forked_graphs;
    for (uint64_t delay = 0; delay < 4; delay++)
      assert_int_equal(count_wrong(texts[i], delay, wanted), 0);
    assert_true(fake->forked_graphs > forked);
  }
}

static void not_where_nobody_wants_it(void **state) {
  static float wanted[2 * N];
  (void)state;
  compute(meeting, wanted);
  OK(nx_debug_set("nofuse,notracks"));
  const int64_t forked = fake->forked_graphs;
  assert_int_equal(count_wrong(meeting, 1, wanted), 0);
  assert_int_equal(fake->forked_graphs, forked);
}

/* The test itself: a graph without the waits between its tracks is noticed. */
static void waits_are_needed(void **state) {
  static float wanted[2 * N];
  (void)state;
  for (int i = 0; i < 2; i++) {
    compute(texts[i], wanted);
    fake->no_capture_waits = 1;
    int wrong = count_wrong(texts[i], 1, wanted);
    fake->no_capture_waits = 0;
    assert_true(wrong > 0);
    OK(nx_debug_set("nofuse")); /* plans and their graphs are made anew */
    assert_int_equal(count_wrong(texts[i], 1, wanted), 0);
  }
}

/* Each of these calls fails once: an error, or the bits. */
static bool fails(const char *name, int64_t number, int result, const float *wanted) {
  static float bits[2 * N];
  const nxt_fake before = *fake;
  nx_context *c = NULL;
  uint64_t launched = 0;
  OK(nx_context_create(NULL, &c));
  nx_function *f = parse(c, meeting);
  nx_scope *scope = nx_scope_begin(c);
  nx_tensor *x = nx_reshape(nx_arange(c, CUDA, NX_F32, NX_NUMBER(-0.25), NX_NUMBER(1e-3), N),
                            NX_SHAPE(ROWS, ROWS), 0);
  snprintf(fake->only, sizeof fake->only, "%s", name);
  fake->failed[0] = 0;
  fake->fail_at = fake->calls + number;
  fake->fail_with = result;
  nx_status status = nx_realize(c, &x, 1, NULL);
  for (int i = 0; i < 4 && status == NX_OK; i++) {
    status = call(f, x, bits, &launched);
    if (status == NX_OK) assert_memory_equal(bits, wanted, sizeof bits);
  }
  nx_error_take(NULL);
  const bool failed = fake->failed[0] != 0;
  assert_true(status == NX_OK || failed);
  fake->fail_at = 0;
  fake->only[0] = 0;
  nx_scope_end(scope);
  nx_function_release(f);
  nx_context_release(c);
  nothing_is_left(&before);
  return failed;
}

static void every_call_fails(void **state) {
  static const char *const names[] = {"cuStreamWaitEvent", "cuEventRecord", "cuStreamCreate",
                                      "cuEventCreate", "cuStreamEndCapture"};
  static float wanted[2 * N];
  (void)state;
  compute(meeting, wanted);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (int64_t n = 1; fails(names[i], n, i % 2 ? 2 : 1, wanted); n++);
}

NXT_MAIN(cuda_tracks) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(any_order_gives_the_bits),
      IN_SCOPE(not_where_nobody_wants_it),
      IN_SCOPE(waits_are_needed),
      IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
