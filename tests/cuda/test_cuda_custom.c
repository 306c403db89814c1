/* SPDX-License-Identifier: ISC */
/* Custom operations with a function for devices, over the fake driver: it gets addresses of the GPU
 * and the stream, and nothing is copied to the host or waited for. */
#include "fake_device.h"
#include "tests/util/runner.h"

enum { N = 64, BYTES = N * 4 };

static const int64_t shape[] = {N};
static const nx_type line = {NX_F32, 1, shape};
static int (*copy_within)(uint64_t to, uint64_t from, size_t bytes, void *stream);
static int on_host, on_device;
static nx_status answer;

/* Rotates by half; on the host too. */
static nx_status host_halves(const nx_custom_call *k) {
  const float *x = k->operands[0].data;
  float *y = k->results[0].data;
  if (k->stream) return NX_INTERNAL;
  for (int i = 0; i < N; i++) y[i] = x[(i + N / 2) % N];
  on_host++;
  return NX_OK;
}

static nx_status halves(const nx_custom_call *k) {
  uint64_t from = (uint64_t)(uintptr_t)k->operands[0].data,
           to = (uint64_t)(uintptr_t)k->results[0].data;
  on_device++;
  if (!k->stream || k->n_operands != 1 || k->n_results != 1 || to % 64 != 0) return NX_INTERNAL;
  if (nx_custom_stopped(k)) return NX_INTERRUPTED;
  if (answer) return nx_custom_fail(k, answer, "as it was told");
  if (copy_within(to, from + BYTES / 2, BYTES / 2, k->stream) != 0 ||
      copy_within(to + BYTES / 2, from, BYTES / 2, k->stream) != 0)
    return NX_INTERNAL;
  return NX_OK;
}

static nx_custom *make(uint32_t flags) {
  nx_custom *f = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "halves",
                         .run = host_halves,
                         .run_on_device = halves,
                         .flags = flags,
                         .n_operands = 1,
                         .operands = &line,
                         .n_results = 1,
                         .results = &line};
  OK(nx_custom_create(ctx, &desc, &f));
  on_host = on_device = 0;
  answer = NX_OK;
  return f;
}

static nx_tensor *record(nx_custom *f, nx_tensor *x, nx_tensor *token) {
  nx_tensor *y = NULL;
  OK(nx_custom_record(f, &x, 1, token, &y, 1));
  return y;
}

/* Between work of kernels, in the stream: what reads too early or writes too late is seen. */
static void it_is_called_with_the_stream(void **state) {
  (void)state;
  nx_custom *f = make(0);
  for (uint64_t seed = 0; seed <= 12; seed++) {
    nx_tensor *x = GOOD(nx_mul(ramp(N, 1), nx_full(ctx, CUDA, NX_F32, NULL, 0, NX_NUMBER(2)))),
              *y = record(f, x, NULL), *z = GOOD(nx_add(y, x));
    nx_report report = {.size = sizeof report};
    nx_run_options o = {.size = sizeof o, .report = &report};
    fake->delay = seed;
    int64_t waits = fake->host_waits;
    OK(nx_realize(ctx, &z, 1, &o));
    assert_true(fake->host_waits == waits && report.host_calls == 0);
    EXPECT(part(z, 0, 3, 1), 64, 68, 72);
    EXPECT(part(z, N - 2, 2, 1), 62 * 2 + 60, 63 * 2 + 62);
    fake->delay = 0;
    release(x), release(y), release(z);
  }
  assert_true(on_device == 13 && on_host == 0);
  nx_custom_release(f);
}

/* The same description on the processor. */
static void the_host_has_its_own(void **state) {
  (void)state;
  nx_custom *f = make(0);
  nx_tensor *x = GOOD(nx_arange(ctx, 0, NX_F32, NX_NUMBER(0), NX_NUMBER(1), N));
  EXPECT(part(record(f, x, NULL), 0, 3, 1), 32, 33, 34);
  assert_true(on_device == 0 && on_host == 1);
  nx_custom_release(f);
}

static void ordered_ones_leave_a_token(void **state) {
  (void)state;
  nx_custom *f = make(NX_ORDERED);
  for (uint64_t seed = 1; seed <= 4; seed++) {
    nx_tensor *token = GOOD(nx_token(ctx, CUDA)), *y = record(f, ramp(N, 1), token);
    nx_tensor *z = record(f, y, token);
    bool is = false;
    on_device = 0;
    fake->delay = seed;
    OK(nx_read(token, &is, 1, NULL));
    assert_true(is && on_device == 2);
    EXPECT(part(z, 0, 3, 1), 0, 1, 2);
    fake->delay = 0;
  }
  nx_custom_release(f);
}

static void functions_call_it_each_time(void **state) {
  (void)state;
  nx_custom *f = make(0);
  nx_tensor *x = GOOD(nx_placeholder(ctx, CUDA, NX_F32, shape, 1));
  nx_tensor *y = GOOD(nx_neg(record(f, GOOD(nx_neg(x)), NULL)));
  nx_function *g = NULL;
  OK(nx_function_create(ctx, &x, 1, &y, 1, NULL, &g));
  nx_tensor *at = ramp(N, 1);
  for (int i = 0; i < 6; i++) {
    nx_tensor *next = NULL;
    OK(nx_function_call(g, &at, 1, &next, 1, NULL));
    at = next;
  }
  assert_int_equal(on_device, 6);
  EXPECT(part(at, 0, 3, 1), 0, 1, 2);
  nx_function_release(g);
  nx_custom_release(f);
}

static void it_fails_with_its_sentence(void **state) {
  (void)state;
  nx_custom *f = make(0);
  nx_tensor *y = record(f, ramp(N, 3), NULL);
  answer = NX_NO_CONVERGENCE;
  assert_int_equal(nx_realize(ctx, &y, 1, NULL), NX_NO_CONVERGENCE);
  nx_error e = take();
  assert_string_equal(e.message, "custom \"halves\": as it was told");
  assert_string_equal(e.op, "custom");
  answer = NX_OK;
  EXPECT(part(y, 0, 2, 1), 96, 99);
  nx_custom_release(f);
}

static void a_function_for_the_host_is_needed(void **state) {
  (void)state;
  nx_custom *f = NULL;
  nx_custom_desc desc = {.size = sizeof desc,
                         .name = "halves",
                         .run_on_device = halves,
                         .n_results = 1,
                         .results = &line};
  FAILS(NX_INVALID_ARGUMENT, nx_custom_create(ctx, &desc, &f));
  desc.kernel = "kernel";
  desc.kernel_size = 6;
  FAILS(NX_INVALID_ARGUMENT, nx_custom_create(ctx, &desc, &f));
}

static int open_all(void **state) {
  int failed = open_fake(state);
  void *driver = dlopen(NXT_FAKE, RTLD_NOW);
  if (driver) *(void **)&copy_within = dlsym(driver, "cuMemcpyDtoDAsync_v2");
  return failed || !copy_within;
}

NXT_MAIN(cuda_custom) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(it_is_called_with_the_stream), IN_SCOPE(the_host_has_its_own),
      IN_SCOPE(ordered_ones_leave_a_token),   IN_SCOPE(functions_call_it_each_time),
      IN_SCOPE(it_fails_with_its_sentence),   IN_SCOPE(a_function_for_the_host_is_needed),
  };
  return cmocka_run_group_tests(tests, open_all, close_fake);
}
