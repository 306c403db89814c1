/* SPDX-License-Identifier: ISC */
/* Tests of plans as CUDA graphs with the fake driver: when a graph is made, and that only the count
 * of launches differs from steps that are started one by one. Each operation is a separate kernel
 * here. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "fake_device.h"
#include "runtime/cuda/state.h"
#include "runtime/realize/residency.h"
#include "runtime/record/context.h"
#include "tests/util/runner.h"

enum { ROWS = 40, N = ROWS * ROWS, CALLS = 6 };

/* Kernels that only read and write, a product with its workspace, a scan whose blocks share
 * memory. */
static const char chain[] = "nxir 2\n"
                            "graph @chain(%x: f32[40,40]) -> (%y, %s) {\n"
                            "  %a = mul %x, %x : f32[40,40]\n"
                            "  %m = reduce_max %a axes=[1] keepdims : f32[40,1]\n"
                            "  %b = sub %x, %m : f32[40,40]\n"
                            "  %p = matmul %b, %x : f32[40,40]\n"
                            "  %y = abs %p : f32[40,40]\n"
                            "  %s = scan_sum %y axis=1 : f32[40,40]\n"
                            "}\n";
/* Checks of indices in the middle, and enough before them and after them for a graph each. */
static const char looked[] = "nxir 2\n"
                             "graph @looked(%x: f32[40,40]) -> (%y, %s) {\n"
                             "  %a = mul %x, %x : f32[40,40]\n"
                             "  %i = cast %a : i32[40,40]\n"
                             "  %g = gather %x, %i axis=0 : f32[40,40]\n"
                             "  %b = sub %g, %a : f32[40,40]\n"
                             "  %j = cast %b : i32[40,40]\n"
                             "  %h = gather %b, %j axis=0 : f32[40,40]\n"
                             "  %y = abs %h : f32[40,40]\n"
                             "  %s = scan_sum %y axis=1 : f32[40,40]\n"
                             "}\n";
/* A function that begins with a check of indices. */
static const char checked[] = "nxir 2\n"
                              "graph @checked(%x: f32[40,40], %i: i32[3,1]) -> (%y) {\n"
                              "  %g = gather %x, %i axis=0 axes=[1] : f32[3,1]\n"
                              "  %a = mul %g, %g : f32[3,1]\n"
                              "  %b = add %a, %g : f32[3,1]\n"
                              "  %y = neg %b : f32[3,1]\n"
                              "}\n";

static nx_function *parse(const char *text) {
  nx_function *f = NULL;
  OK(nx_function_parse(ctx, text, strlen(text),
                       &(nx_parse_options){.size = sizeof(nx_parse_options), .device = CUDA}, &f));
  return f;
}

static nx_tensor *square(double first) {
  nx_tensor *x = GOOD(nx_arange(ctx, CUDA, NX_F32, NX_NUMBER(first), NX_NUMBER(1e-3), N));
  x = GOOD(nx_reshape(x, NX_SHAPE(ROWS, ROWS), 0));
  OK(nx_realize(ctx, &x, 1, NULL));
  return x;
}

/* Calls the function, adds the launches of graphs in its report, and copies the bits of its
 * outputs. */
static uint64_t call(nx_function *f, nx_tensor *x, float *bits) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *out[2] = {NULL, NULL};
  OK(nx_function_call(f, &x, 1, out, 2, &o));
  for (int i = 0; i < 2; i++) {
    OK(nx_read(out[i], bits + i * N, N * sizeof *bits, NULL));
    nx_tensor_release(out[i]);
  }
  return report.graph_launches;
}

static void the_second_time_makes_one(void **state) {
  static float first[2 * N], bits[2 * N];
  (void)state;
  nx_function *f = parse(chain);
  nx_tensor *x = square(-0.5);
  int64_t graphs = fake->graphs;
  OK(nx_debug_set("nofuse,nographs"));
  for (int i = 0; i < CALLS; i++) assert_int_equal(call(f, x, first), 0);
  OK(nx_debug_set("nofuse"));
  int64_t launches = fake->graph_launches, launched = 0;
  for (int i = 0; i < CALLS; i++) {
    memset(bits, 0xff, sizeof bits);
    launched += call(f, x, bits);
    assert_memory_equal(bits, first, sizeof bits);
  }
  assert_true(launched >= CALLS - 4); /* results may alternate between two addresses */
  assert_int_equal(fake->graph_launches - launches, launched);
  /* the objects from which they were made are destroyed */
  assert_in_range(fake->graphs - graphs, 1, 2);
  nx_function_release(f);
}

/* Results that are released in another order each time: their addresses are the same again. */
static void results_go_in_any_order(void **state) {
  enum { OUTPUTS = 7, ROUNDS = 24 };
  static const char text[] = "nxir 2\n"
                             "graph @many(%x: f32[40,40]) -> (%a, %b, %c, %d, %e, %f, %g) {\n"
                             "  %a = mul %x, %x : f32[40,40]\n"
                             "  %b = neg %a : f32[40,40]\n"
                             "  %c = abs %b : f32[40,40]\n"
                             "  %d = sub %c, %x : f32[40,40]\n"
                             "  %e = neg %d : f32[40,40]\n"
                             "  %f = mul %e, %x : f32[40,40]\n"
                             "  %g = abs %f : f32[40,40]\n"
                             "}\n";
  (void)state;
  OK(nx_debug_set("nofuse"));
  nx_function *f = parse(text);
  nx_tensor *x = square(0.5), *out[OUTPUTS];
  uint64_t launched = 0;
  for (int round = 0; round < ROUNDS; round++) {
    nx_report report = {.size = sizeof report};
    nx_run_options o = {.size = sizeof o, .report = &report};
    memset(out, 0, sizeof out);
    OK(nx_function_call(f, &x, 1, out, OUTPUTS, &o));
    launched += report.graph_launches;
    for (int i = 0; i < OUTPUTS; i++) /* from another one on, by steps of 1 to 6 */
      nx_tensor_release(out[(round + i * (round % (OUTPUTS - 1) + 1)) % OUTPUTS]);
  }
  assert_true(launched >= ROUNDS - 2);
  nx_function_release(f);
}

/* Alternating inputs: there is a graph for each, if there are few. */
static void other_addresses(void **state) {
  enum { MOST = 12 };
  static float wanted[MOST][2 * N], bits[2 * N];
  nx_tensor *x[MOST];
  (void)state;
  nx_function *f = parse(chain);
  OK(nx_debug_set("nofuse,nographs"));
  for (int i = 0; i < MOST; i++) call(f, x[i] = square(0.1 * i), wanted[i]);
  OK(nx_debug_set("nofuse"));
  uint64_t launched = 0;
  for (int round = 0; round < 6; round++)
    for (int i = 0; i < 3; i++) {
      launched += call(f, x[i], bits);
      assert_memory_equal(bits, wanted[i], sizeof bits);
    }
  assert_true(launched >= 6);
  int64_t memory = fake->memory, graphs = fake->graphs;
  for (int round = 0; round < 3; round++) /* more than are kept, until no more graphs are made */
    for (int i = 0; i < MOST; i++) {
      launched = call(f, x[i], bits);
      assert_memory_equal(bits, wanted[i], sizeof bits);
    }
  assert_int_equal(launched, 0);
  assert_true(fake->graphs <= graphs + 8);
  assert_true(fake->memory <= memory + (64 << 10));
  for (int i = 0; i < MOST; i++) {
    call(f, x[i], bits);
    assert_memory_equal(bits, wanted[i], sizeof bits);
  }
  nx_function_release(f);
}

/* Memory that is allocated between two launches of a graph must not be memory of the graph; all
 * sizes are tried. */
static void others_keep_their_memory(void **state) {
  static float first[2 * N], bits[2 * N];
  static unsigned char pattern[1 << 16], is[1 << 16];
  uint64_t at[3], after;
  int64_t products = fake->products;
  nxi_gpu *g = NULL;
  (void)state;
  nx_function *f = parse(chain);
  nx_tensor *x = square(0.25);
  for (int i = 0; i < CALLS; i++) call(f, x, first);
  assert_true(fake->products > products); /* which have workspaces */
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  memset(pattern, 77, sizeof pattern);
  for (int64_t size = 1; size <= (int64_t)sizeof pattern; size++) {
    nxi_gpu_class(size, &size);
    for (int k = 0; k < 3; k++) {
      assert_int_equal(nxi_gpu_alloc_after(g, size, &at[k], &after, NULL), NX_OK);
      assert_int_equal(nxi_gpu_upload(g, at[k], pattern, size, after, NULL), NX_OK);
    }
    for (int i = 0; i < 3; i++) {
      call(f, x, bits);
      assert_memory_equal(bits, first, sizeof first);
    }
    for (int k = 0; k < 3; k++) {
      assert_int_equal(nxi_gpu_download(g, is, at[k], size, NXI_NOW, NULL, NULL), NX_OK);
      assert_memory_equal(is, pattern, (size_t)size);
      nxi_gpu_free(g, at[k], size);
    }
  }
  nx_function_release(f);
}

/* Threads that run one plan at the same time: a thread that finds the graphs in use starts the
 * steps one by one. */
typedef struct caller {
  nx_function *f;
  nx_tensor *x;
  const float *wanted;
  bool good;
} caller;

static void *call_often(void *given) {
  caller *c = given;
  float *bits = malloc(2 * N * sizeof *bits);
  c->good = bits != NULL;
  for (int i = 0; i < 20 && c->good; i++) {
    nx_tensor *out[2] = {NULL, NULL};
    nx_status status = nx_function_call(c->f, &c->x, 1, out, 2, NULL);
    for (int k = 0; k < 2 && status == NX_OK; k++)
      status = nx_read(out[k], bits + k * N, N * sizeof *bits, NULL);
    for (int k = 0; k < 2; k++) nx_tensor_release(out[k]);
    c->good = status == NX_OK && memcmp(bits, c->wanted, 2 * N * sizeof *bits) == 0;
  }
  free(bits);
  return NULL;
}

static void threads_share_a_plan(void **state) {
  static float wanted[3][2 * N];
  pthread_t threads[3];
  caller callers[3];
  (void)state;
  nx_function *f = parse(chain);
  for (int i = 0; i < 3; i++) {
    callers[i] = (caller){.f = f, .x = square(0.3 * i), .wanted = wanted[i]};
    call(f, callers[i].x, wanted[i]);
  }
  fake->delay = 11;
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  fake->delay = 0;
  for (int i = 0; i < 3; i++) assert_true(callers[i].good);
  nx_function_release(f);
}

static nx_status call_checked(nx_function *f, nx_tensor *x, nx_tensor *indices, uint64_t *launched,
                              float bits[3]) {
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_tensor *out = NULL;
  nx_status status = nx_function_call(f, (nx_tensor *[]){x, indices}, 2, &out, 1, &o);
  if (status == NX_OK) OK(nx_read(out, bits, 3 * sizeof *bits, NULL));
  nx_tensor_release(out);
  *launched += report.graph_launches;
  return status;
}

/* Indices are looked at after what uses them was started, in a graph or not; a bad one is an error
 * of that launch, and nothing else has happened. */
static void indices_are_looked_at(void **state) {
  float first[3], bits[3];
  (void)state;
  nx_function *f = parse(checked);
  nx_tensor *x = square(0), *tensors[4];
  for (int i = 0; i < 4; i++) /* 0 2 4, 0 20 40: one too many, and so on */
    tensors[i] = GOOD(nx_cast(nx_reshape(ramp(3, i % 2 ? 20 : 2), NX_SHAPE(3, 1), 0), NX_I32));
  OK(nx_realize(ctx, tensors, 4, NULL));
  for (int graphs = 0; graphs < 2; graphs++) {
    uint64_t launched = 0;
    OK(nx_debug_set(graphs ? "nofuse" : "nofuse,nographs"));
    for (int i = 0; i < 4 * CALLS; i++) {
      nx_status status = call_checked(f, x, tensors[i % 4], &launched, bits);
      assert_int_equal(status, i % 2 ? NX_INDEX_OUT_OF_RANGE : NX_OK);
      if (i % 2) {
        nx_error e = take();
        assert_int_equal(e.index, 2);
        assert_string_equal(e.op, "gather");
      } else if (graphs || i) {
        assert_memory_equal(bits, first, sizeof bits);
      } else {
        memcpy(first, bits, sizeof bits);
      }
    }
    if (graphs) assert_true(launched >= CALLS);
    else assert_int_equal(launched, 0);
  }
  nx_function_release(f);
}

/* Each call of the driver for graphs fails once; the steps are then started one by one. */
static nx_status some_calls(nx_context *c, const char *text, uint64_t *launched, float *bits) {
  nx_function *f = NULL;
  nx_report report = {.size = sizeof report};
  nx_run_options o = {.size = sizeof o, .report = &report};
  nx_scope *s = nx_scope_begin(c);
  nx_status status =
      nx_function_parse(c, text, strlen(text),
                        &(nx_parse_options){.size = sizeof(nx_parse_options), .device = CUDA}, &f);
  nx_tensor *x = nx_reshape(nx_arange(c, CUDA, NX_F32, NX_NUMBER(0), NX_NUMBER(1e-3), N),
                            NX_SHAPE(ROWS, ROWS), 0);
  *launched = 0;
  if (status == NX_OK) status = nx_realize(c, &x, 1, NULL);
  for (int i = 0; i < CALLS && status == NX_OK; i++) {
    nx_tensor *out[2] = {NULL, NULL};
    status = nx_function_call(f, &x, 1, out, 2, &o);
    for (int k = 0; k < 2 && status == NX_OK; k++)
      status = nx_read(out[k], bits + k * N, N * sizeof *bits, NULL);
    for (int k = 0; k < 2; k++) nx_tensor_release(out[k]);
    *launched += report.graph_launches;
  }
  nx_error_take(NULL);
  nx_scope_end(s);
  nx_function_release(f);
  return status;
}

static void failing(const char *text, const char *name, int result, const float *good) {
  static float bits[2 * N];
  bool done = false;
  for (int64_t n = 1; !done; n++) {
    nx_context *c = NULL;
    uint64_t launched;
    OK(nx_context_create(NULL, &c));
    const nxt_fake before = *fake;
    snprintf(fake->only, sizeof fake->only, "%s", name);
    fake->failed[0] = 0;
    fake->fail_at = fake->calls + n;
    fake->fail_with = result;
    nx_status status = some_calls(c, text, &launched, bits);
    done = fake->calls < before.calls + n;
    assert_int_equal(status, NX_OK); /* also of what is lost after the last result has come */
    assert_memory_equal(bits, good, sizeof bits);
    if (done) assert_true(launched >= 1);
    nx_context_release(c);
    fake->fail_at = 0;
    fake->only[0] = 0;
    const int64_t left[] = {
        fake->memory - before.memory,   fake->modules - before.modules,
        fake->streams - before.streams, fake->events - before.events,
        fake->graphs - before.graphs,   fake->pinned_pieces - before.pinned_pieces};
    for (int i = 0; i < 6; i++) {
      if (left[i] != 0)
        fprintf(stderr, "after %s: %lld of %d left\n", fake->failed, (long long)left[i], i);
      assert_int_equal(left[i], 0);
    }
  }
}

static void every_call_fails(void **state) {
  static const char *const texts[] = {chain, looked};
  static float good[2 * N];
  uint64_t launched;
  (void)state;
  OK(nx_debug_set("nofuse"));
  for (int i = 0; i < 2; i++) {
    assert_int_equal(some_calls(ctx, texts[i], &launched, good), NX_OK);
    assert_true(launched >= 1 + (uint64_t)i);
    failing(texts[i], "Graph", 1, good);
    failing(texts[i], "Graph", 2, good);
    failing(texts[i], "Capture", 1, good);
    failing(texts[i], "Capture", 901, good);
  }
}

/* A plan of one kernel has a graph when it has been launched a dozen times. */
static void one_kernel_after_a_while(void **state) {
  enum { ALL = 20, WITHOUT = 11 };
  static const char text[] =
      "nxir 2\ngraph @one(%x: f32[40,40]) -> (%y) {\n  %y = abs %x : f32[40,40]\n}\n";
  static float bits[N];
  (void)state;
  nx_function *f = parse(text);
  nx_tensor *x = square(-0.5);
  for (int i = 0; i < ALL; i++) {
    nx_report report = {.size = sizeof report};
    nx_run_options o = {.size = sizeof o, .report = &report};
    nx_tensor *y = NULL;
    OK(nx_function_call(f, &x, 1, &y, 1, &o));
    assert_int_equal(report.graph_launches, i >= WITHOUT);
    OK(nx_read(y, bits, sizeof bits, NULL));
    assert_true(bits[0] == 0.5f);
    nx_tensor_release(y);
  }
  nx_function_release(f);
}

NXT_MAIN(cuda_graphs) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(the_second_time_makes_one), IN_SCOPE(results_go_in_any_order),
      IN_SCOPE(other_addresses),           IN_SCOPE(one_kernel_after_a_while),
      IN_SCOPE(others_keep_their_memory),  IN_SCOPE(threads_share_a_plan),
      IN_SCOPE(indices_are_looked_at),     IN_SCOPE(every_call_fails),
  };
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
