/* SPDX-License-Identifier: ISC */
/* Tests of convolutions without windows in memory: the kernels, bit for bit beside sums over taps
 * and features in their order, and beside the processor's; and which convolutions become such. */
#include "tests/cuda/fake_device.h"

#include "ir/dtype.h"
#include "ir/library/library.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/library/calls.h"
#include "runtime/library/libraries.h"
#include "runtime/realize/residency.h"
#include "tests/util/runner.h"

/* ---- the kernels */

typedef struct trial {
  nx_dtype t;
  int64_t image[4], weights[4]; /* number, y, x, features; columns, y, x, features */
  int64_t attrs[8];             /* count, step, dilation, before, of y, then of x */
  int64_t off;                  /* elements before the operands, in memory */
  bool whole;                   /* whole numbers, of which every order of adding is exact */
} trial;

static float widen(nx_dtype t, uint16_t x) {
  return t == NX_BF16 ? nxi_bf16_to_f32(x) : nxi_f16_to_f32(x);
}
static uint16_t narrow(nx_dtype t, float x) {
  return t == NX_BF16 ? nxi_f32_to_bf16(x) : nxi_f32_to_f16(x);
}

static uint16_t *some(const trial *c, int64_t n, uint32_t seed) {
  uint16_t *x = calloc((size_t)(n + c->off) + 1, sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n + c->off; i++) {
    seed = seed * 1664525 + 1013904223;
    x[i] = narrow(c->t, c->whole ? (float)(int)(seed >> 30) - 1 : (float)(int32_t)seed * 0x1p-30F);
  }
  return x;
}

static int64_t size_of(const int64_t shape[4]) { return shape[0] * shape[1] * shape[2] * shape[3]; }

/* Element k of the window of a row; zero outside of the image. */
static float element(const trial *c, const uint16_t *x, int64_t row, int64_t k) {
  const int64_t *y = c->attrs, *across = c->attrs + 4;
  const int64_t feature = k % c->image[3], tap = k / c->image[3];
  const int64_t at_x = row % across[0] * across[1] + tap % c->weights[2] * across[2] - across[3],
                at_y = row / across[0] % y[0] * y[1] + tap / c->weights[2] * y[2] - y[3],
                number = row / across[0] / y[0];
  if (at_x < 0 || at_x >= c->image[2] || at_y < 0 || at_y >= c->image[1]) return 0;
  return widen(c->t,
               x[((number * c->image[1] + at_y) * c->image[2] + at_x) * c->image[3] + feature]);
}

/* As the instructions of the fake driver add: 16 products at a time, which are rounded once. */
static uint16_t expected(const trial *c, const uint16_t *x, const uint16_t *w, int64_t row,
                         int64_t column) {
  const int64_t depth = size_of(c->weights) / c->weights[0];
  float sum = 0;
  for (int64_t k = 0; k < depth; k += 16) {
    double wide = sum;
    for (int64_t i = k; i < k + 16 && i < depth; i++)
      wide += (double)element(c, x, row, i) * (double)widen(c->t, w[column * depth + i]);
    sum = (float)wide;
  }
  return narrow(c->t, sum);
}

static void on_gpu(nxi_gpu *g, const trial *c, const nxg_call *call, const uint16_t *x,
                   const uint16_t *w, uint16_t *y, int64_t n) {
  const int64_t bytes[] = {2 * (size_of(c->image) + c->off), 2 * (size_of(c->weights) + c->off),
                           2 * n};
  const uint16_t *from[] = {x, w};
  uint64_t at[3], operands[2];
  nxi_gpu_call_work work = {0};
  const nxi_gpu_functions *f = nxi_gpu_call_functions(g, call);
  assert_ptr_equal(f, &nxi_gpu_window_functions);
  assert_int_equal(f->prepare(g, call, &work, NULL), NX_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(nxi_gpu_alloc(g, bytes[i], &at[i], NULL), NX_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(nxi_gpu_upload(g, at[i], from[i], bytes[i], NXI_NOW, NULL), NX_OK);
    operands[i] = at[i] + 2 * (uint64_t)c->off;
  }
  nxi_gpu_call_run r = {
      .gpu = g, .call = call, .work = &work, .operands = operands, .results = &at[2]};
  assert_int_equal(f->run(&r, NULL), NX_OK);
  assert_int_equal(nxi_gpu_download(g, y, at[2], bytes[2], NXI_NOW, NULL, NULL), NX_OK);
  for (int i = 0; i < 3; i++) nxi_gpu_free(g, at[i], bytes[i]);
  f->release(work.state);
}

static bool never(void *user) { return user != NULL; }

static void on_processor(const nxg_call *call, const uint16_t *x, const uint16_t *w, uint16_t *y) {
  nxg_call_work work = {0};
  void *operands[] = {(void *)(uintptr_t)x, (void *)(uintptr_t)w}, *results[] = {y};
  assert_int_equal(nxi_matmul_windows_functions.prepare(call, &work, NULL), NX_OK);
  nxg_call_part part = {.call = call,
                        .end = work.tasks[0],
                        .operands = operands,
                        .results = results,
                        .stopped = never};
  assert_int_equal(nxi_matmul_windows_functions.run(&part), NX_OK);
}

static void check(nxi_gpu *g, const trial *c) {
  const nxg_type types[2] = {{c->t, 4, c->image}, {c->t, 4, c->weights}};
  nxg_call call;
  assert_int_equal(nxg_call_infer(NXG_matmul_windows, 2, types, c->attrs, 8, &call, NULL), NX_OK);
  const int64_t rows = call.results[0].shape[0], columns = call.results[0].shape[1];
  uint16_t *x = some(c, size_of(c->image), 1), *w = some(c, size_of(c->weights), 2),
           *y = calloc((size_t)(rows * columns) + 1, sizeof *y),
           *own = calloc((size_t)(rows * columns) + 1, sizeof *own);
  assert_true(y != NULL && own != NULL);
  on_gpu(g, c, &call, x, w, y, rows * columns);
  if (c->whole) on_processor(&call, x + c->off, w + c->off, own);
  for (int64_t i = 0; i < rows * columns; i++) {
    const uint16_t want = expected(c, x + c->off, w + c->off, i / columns, i % columns);
    if (y[i] != want || (c->whole && own[i] != want))
      fail_msg("%s, row %lld, column %lld: %04x and %04x, not %04x", nx_dtype_name(c->t),
               (long long)(i / columns), (long long)(i % columns), y[i], own[i], want);
  }
  free(x), free(w), free(y), free(own);
}

static void kernels(void **state) {
  static const trial all[] = {
      {NX_BF16, {2, 7, 9, 8}, {10, 3, 3, 8}, {7, 1, 1, 1, 9, 1, 1, 1}, 0, false},
      {NX_BF16, {2, 7, 9, 8}, {10, 3, 3, 8}, {7, 1, 1, 1, 9, 1, 1, 1}, 0, true},
      {NX_F16, {1, 13, 12, 24}, {66, 2, 3, 24}, {6, 2, 1, 0, 5, 2, 2, 1}, 0, false},
      {NX_F16, {1, 13, 12, 24}, {130, 2, 1, 24}, {5, 2, 2, -1, 12, 1, 1, 0}, 3, true},
      {NX_BF16, {3, 5, 5, 40}, {64, 5, 5, 40}, {5, 1, 1, 2, 5, 1, 1, 2}, 8, false},
      {NX_BF16, {1, 1, 300, 16}, {2, 1, 4, 16}, {1, 1, 1, 0, 297, 1, 1, 0}, 1, true},
      {NX_F16, {1, 3, 3, 8}, {4, 3, 3, 8}, {20, 1, 1, 9, 2, 9, 1, 4}, 0, true}, /* zeros alone */
      {NX_BF16, {1, 4, 4, 64}, {128, 3, 3, 64}, {4, 1, 1, 1, 4, 1, 1, 1}, 0, false},
  };
  nxi_gpu *g = NULL;
  (void)state;
  nxi_use_libraries();
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(g, &all[i]);
}

static void bad_calls(void **state) {
  static const int64_t image[] = {1, 4, 4, 8}, weights[] = {2, 3, 3, 8}, others[] = {2, 3, 3, 16};
  const int64_t good[8] = {4, 1, 1, 1, 4, 1, 1, 1};
  nxg_type types[2] = {{NX_BF16, 4, image}, {NX_BF16, 4, weights}};
  nxg_call call;
  (void)state;
  assert_int_equal(nxg_call_infer(NXG_matmul_windows, 2, types, good, 8, &call, NULL), NX_OK);
  for (int i = 0; i < 8; i++) {
    int64_t bad[8];
    memcpy(bad, good, sizeof bad);
    bad[i] = i % 4 == 3 ? INT64_MIN : i % 4 == 0 ? -1 : 0;
    assert_int_equal(nxg_call_infer(NXG_matmul_windows, 2, types, bad, 8, &call, NULL),
                     NX_INVALID_ARGUMENT);
  }
  types[1].shape = others;
  assert_int_equal(nxg_call_infer(NXG_matmul_windows, 2, types, good, 8, &call, NULL),
                   NX_INVALID_ARGUMENT);
  types[0].dtype = types[1].dtype = NX_F32;
  assert_int_equal(nxg_call_infer(NXG_matmul_windows, 2, types, good, 8, &call, NULL),
                   NX_UNSUPPORTED_DTYPE);
}

/* ---- convolutions as they are recorded */

typedef struct request {
  nx_dtype t;
  int64_t x[4], w[4], stride, around; /* features last */
  bool first;                         /* features first, though */
} request;

static nx_tensor *values(const request *q, const int64_t *shape, uint32_t seed, nx_device where) {
  const int64_t n = size_of(shape);
  float *v = calloc((size_t)n, sizeof *v);
  assert_non_null(v);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    v[i] = (float)(int)(seed >> 30) - 1;
  }
  nx_tensor *x = GOOD(nx_from_data(ctx, 0, NX_F32, shape, 4, v, (size_t)n * sizeof *v));
  free(v);
  return GOOD(nx_to_device(GOOD(nx_cast(x, q->t)), where));
}

static nx_tensor *convolved(const request *q, nx_tensor *x, nx_tensor *w) {
  static const int32_t last[] = {0, 3, 1, 2};
  const int64_t stride[] = {q->stride, q->stride}, around[] = {q->around, q->around};
  const nx_convolution_options o = {.size = sizeof o,
                                    .n = 2,
                                    .stride = stride,
                                    .before = around,
                                    .after = around,
                                    .x_axes = q->first ? NULL : last,
                                    .w_axes = q->first ? NULL : last,
                                    .y_axes = q->first ? NULL : last};
  return GOOD(nx_convolution(x, w, &o));
}

static bool is_called(const request *q) {
  char *plan;
  nx_tensor *y = convolved(q, GOOD(nx_empty(ctx, CUDA, q->t, q->x, 4)),
                           GOOD(nx_empty(ctx, CUDA, q->t, q->w, 4)));
  OK(nx_dump(&y, 1, "plan", &plan));
  const bool called = strstr(plan, "matmul_windows") != NULL;
  if (called) assert_non_null(strstr(plan, "by a kernel of tensor cores"));
  nx_string_free(plan);
  return called;
}

static void which(void **state) {
  static const struct {
    request q;
    bool called;
  } all[] = {
      {{NX_BF16, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, false}, true},
      {{NX_F16, {32, 224, 224, 3}, {64, 7, 7, 3}, 2, 3, false}, true},
      {{NX_BF16, {1, 224, 224, 64}, {64, 3, 3, 64}, 1, 1, false}, true},
      {{NX_BF16, {32, 14, 14, 256}, {256, 3, 3, 256}, 1, 1, false}, false}, /* wide */
      {{NX_BF16, {32, 14, 14, 64}, {64, 3, 3, 64}, 1, 1, false}, false},    /* few rows */
      {{NX_BF16, {32, 56, 56, 64}, {64, 1, 1, 64}, 1, 0, false}, false},    /* no windows */
      {{NX_BF16, {32, 224, 224, 1}, {64, 7, 7, 1}, 2, 3, false}, false},    /* mostly zeros */
      {{NX_BF16, {32, 56, 56, 64}, {65, 3, 3, 64}, 1, 1, false}, false},    /* odd columns */
      {{NX_F32, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, false}, false},
      {{NX_BF16, {32, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, true}, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (is_called(&all[i].q) != all[i].called) fail_msg("convolution %zu", i);
}

/* The same numbers as a processor's, which has windows. */
static void beside_the_processor(void **state) {
  static const request all[] = {
      {NX_BF16, {1, 136, 136, 8}, {6, 2, 2, 8}, 1, 0, false},
      {NX_BF16, {2, 189, 188, 9}, {4, 2, 2, 9}, 2, 1, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const request *q = &all[i];
    nx_tensor *near = convolved(q, values(q, q->x, 1, 0), values(q, q->w, 2, 0));
    const size_t n = (size_t)nx_elements(near), bytes = n * 2;
    uint16_t *want = malloc(bytes), *is = malloc(bytes);
    assert_true(want != NULL && is != NULL);
    OK(nx_read(near, want, bytes, NULL));
    nx_tensor *x = values(q, q->x, 1, CUDA), *w = values(q, q->w, 2, CUDA);
    OK(nx_realize(ctx, (nx_tensor *[]){x, w}, 2, NULL));
    nx_report report = {.size = sizeof report};
    const nx_run_options o = {.size = sizeof o, .report = &report};
    nx_tensor *y = convolved(q, x, w);
    OK(nx_realize(ctx, &y, 1, &o));
    assert_int_equal(report.library_calls, 1);
    assert_int_equal(report.host_calls, 0);
    OK(nx_read(y, is, bytes, NULL));
    assert_memory_equal(is, want, bytes);
    free(want), free(is);
  }
}

NXT_MAIN(cuda_convolutions) {
  const struct CMUnitTest tests[] = {IN_SCOPE(kernels), IN_SCOPE(bad_calls), IN_SCOPE(which),
                                     IN_SCOPE(beside_the_processor)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
