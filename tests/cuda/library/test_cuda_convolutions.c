/* SPDX-License-Identifier: ISC */
/* Tests of convolutions without windows in memory: the kernels, bit for bit beside sums over taps
 * and features in their order, and beside the processor's; and which convolutions become such. */
#include <math.h>

#include "tests/cuda/fake_device.h"

#include "ir/dtype.h"
#include "ir/library/library.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/library/calls.h"
#include "runtime/library/libraries.h"
#include "runtime/realize/residency.h"
#include "tests/util/runner.h"

/* ---- the kernels */

/* Shapes have features last; in memory they are where the layout says. */
typedef struct trial {
  nx_dtype t;
  int64_t image[4], weights[4]; /* number, y, x, features; columns, y, x, features of a group */
  int64_t attrs[9];             /* count, step, dilation, before, of y, then of x; layout */
  int64_t off;                  /* elements before the operands, in memory */
  bool whole;                   /* whole numbers, of which every order of adding is exact */
} trial;

static bool has_first(const trial *c, int bit) { return c->attrs[NXG_WINDOWS_LAYOUT] & bit; }
static int64_t bytes_of(const trial *c) { return nxi_dtype_size(c->t); }

static float at(const trial *c, const void *x, int64_t i) {
  if (c->t == NX_F32) return ((const float *)x)[i];
  const uint16_t bits = ((const uint16_t *)x)[i];
  return c->t == NX_BF16 ? nxi_bf16_to_f32(bits) : nxi_f16_to_f32(bits);
}
static void set(const trial *c, void *x, int64_t i, float v) {
  if (c->t == NX_F32) ((float *)x)[i] = v;
  else ((uint16_t *)x)[i] = c->t == NX_BF16 ? nxi_f32_to_bf16(v) : nxi_f32_to_f16(v);
}

static void *some(const trial *c, int64_t n, uint32_t seed) {
  void *x = calloc((size_t)(n + c->off) + 1, sizeof(float));
  assert_non_null(x);
  for (int64_t i = 0; i < n + c->off; i++) {
    seed = seed * 1664525 + 1013904223;
    set(c, x, i, c->whole ? (float)(int)(seed >> 30) - 1 : (float)(int32_t)seed * 0x1p-30F);
  }
  return x;
}

static int64_t size_of(const int64_t shape[4]) { return shape[0] * shape[1] * shape[2] * shape[3]; }

/* Where an element of the image or the weights is. */
static int64_t place_of(const trial *c, const int64_t shape[4], int64_t i, int64_t y, int64_t x,
                        int64_t feature) {
  return has_first(c, NXG_WINDOWS_IMAGE_FIRST)
             ? ((i * shape[3] + feature) * shape[1] + y) * shape[2] + x
             : ((i * shape[1] + y) * shape[2] + x) * shape[3] + feature;
}

/* Element k of the inner extent of a row and a column: of the window, zero outside of the image,
 * and of the weights. */
static void elements(const trial *c, const void *x, const void *w, int64_t row, int64_t column,
                     int64_t k, float to[2]) {
  const int64_t *y = c->attrs, *across = c->attrs + 4, features = c->weights[3],
                groups = c->image[3] / features, taps = c->weights[1] * c->weights[2];
  const bool first = has_first(c, NXG_WINDOWS_IMAGE_FIRST);
  const int64_t feature = first ? k / taps : k % features, tap = first ? k % taps : k / features,
                tap_y = tap / c->weights[2], tap_x = tap % c->weights[2],
                at_x = row % across[0] * across[1] + tap_x * across[2] - across[3],
                at_y = row / across[0] % y[0] * y[1] + tap_y * y[2] - y[3],
                number = row / across[0] / y[0], group = column / (c->weights[0] / groups);
  const bool outside = at_x < 0 || at_x >= c->image[2] || at_y < 0 || at_y >= c->image[1];
  to[0] =
      outside ? 0 : at(c, x, place_of(c, c->image, number, at_y, at_x, group * features + feature));
  to[1] = at(c, w, place_of(c, c->weights, column, tap_y, tap_x, feature));
}

/* f32: a chain of fma. Others as the instructions of the fake driver add: 16 products at a time,
 * which are rounded once. */
static float expected(const trial *c, const void *x, const void *w, int64_t row, int64_t column) {
  const int64_t depth = size_of(c->weights) / c->weights[0], each = c->t == NX_F32 ? 1 : 16;
  float sum = 0, y[2], result[1];
  for (int64_t k = 0; k < depth; k += each) {
    double wide = sum;
    for (int64_t i = k; i < k + each && i < depth; i++) {
      elements(c, x, w, row, column, i, y);
      if (each == 1) sum = fmaf(y[0], y[1], sum);
      else wide += (double)y[0] * (double)y[1];
    }
    if (each > 1) sum = (float)wide;
  }
  set(c, result, 0, sum);
  return at(c, result, 0);
}

static void on_gpu(nxi_gpu *g, const trial *c, const nxg_call *call, const void *x, const void *w,
                   void *y, int64_t n) {
  const int64_t bytes[] = {bytes_of(c) * (size_of(c->image) + c->off),
                           bytes_of(c) * (size_of(c->weights) + c->off), bytes_of(c) * n};
  const void *from[] = {x, w};
  uint64_t place[3], operands[2];
  nxi_gpu_call_work work = {0};
  const nxi_gpu_functions *f = nxi_gpu_call_functions(g, call);
  assert_ptr_equal(f, &nxi_gpu_window_functions);
  assert_int_equal(f->prepare(g, call, &work, NULL), NX_OK);
  for (int i = 0; i < 3; i++) assert_int_equal(nxi_gpu_alloc(g, bytes[i], &place[i], NULL), NX_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(nxi_gpu_upload(g, place[i], from[i], bytes[i], NXI_NOW, NULL), NX_OK);
    operands[i] = place[i] + (uint64_t)(bytes_of(c) * c->off);
  }
  nxi_gpu_call_run r = {
      .gpu = g, .call = call, .work = &work, .operands = operands, .results = &place[2]};
  assert_int_equal(f->run(&r, NULL), NX_OK);
  assert_int_equal(nxi_gpu_download(g, y, place[2], bytes[2], NXI_NOW, NULL, NULL), NX_OK);
  for (int i = 0; i < 3; i++) nxi_gpu_free(g, place[i], bytes[i]);
  f->release(work.state);
}

static bool never(void *user) { return user != NULL; }

static void on_processor(const nxg_call *call, void *x, void *w, void *y) {
  nxg_call_work work = {0};
  void *operands[] = {x, w}, *results[] = {y};
  assert_int_equal(nxi_matmul_windows_functions.prepare(call, &work, NULL), NX_OK);
  nxg_call_part part = {.call = call,
                        .end = work.tasks[0],
                        .operands = operands,
                        .results = results,
                        .stopped = never};
  assert_int_equal(nxi_matmul_windows_functions.run(&part), NX_OK);
}

static nx_status infer(const trial *c, nxg_call *call) {
  int64_t shapes[2][4];
  nxg_type types[2];
  for (int i = 0; i < 2; i++) {
    const int64_t *s = i == 0 ? c->image : c->weights;
    const bool first = has_first(c, NXG_WINDOWS_IMAGE_FIRST);
    const int64_t own[4] = {s[0], s[first ? 3 : 1], s[first ? 1 : 2], s[first ? 2 : 3]};
    memcpy(shapes[i], own, sizeof own);
    types[i] = (nxg_type){c->t, 4, shapes[i]};
  }
  return nxg_call_infer(NXG_matmul_windows, 2, types, c->attrs, 9, call, NULL);
}

static bool is_same(float a, float b) { return a == b && signbit(a) == signbit(b); }

static void check(nxi_gpu *g, const trial *c) {
  const int64_t columns = c->weights[0], places = c->attrs[0] * c->attrs[4],
                rows = c->image[0] * places;
  const bool chain = c->t == NX_F32, first = has_first(c, NXG_WINDOWS_RESULT_FIRST);
  nxg_call call;
  assert_int_equal(infer(c, &call), NX_OK);
  char *x = some(c, size_of(c->image), 1), *w = some(c, size_of(c->weights), 2),
       *y = calloc((size_t)(rows * columns) + 1, 4), *own = calloc((size_t)(rows * columns) + 1, 4);
  if (x == NULL || w == NULL || y == NULL || own == NULL) abort();
  const int64_t off = c->off * bytes_of(c);
  on_gpu(g, c, &call, x, w, y, rows * columns);
  on_processor(&call, x + off, w + off, own);
  for (int64_t i = 0; i < rows * columns; i++) {
    const int64_t row = i / columns, column = i % columns,
                  to = first ? (row / places * columns + column) * places + row % places : i;
    const float want = expected(c, x + off, w + off, row, column), got = at(c, y, to),
                near = at(c, own, to);
    if (!is_same(got, want) || ((c->whole || chain) && !is_same(near, want)))
      fail_msg("%s, layout %d, row %lld, column %lld: %a and %a, not %a", nx_dtype_name(c->t),
               (int)c->attrs[8], (long long)row, (long long)column, (double)got, (double)near,
               (double)want);
  }
  free(x), free(w), free(y), free(own);
}

static void kernels(void **state) {
  enum { I = NXG_WINDOWS_IMAGE_FIRST, R = NXG_WINDOWS_RESULT_FIRST };
  static const trial all[] = {
      {NX_BF16, {2, 7, 9, 8}, {10, 3, 3, 8}, {7, 1, 1, 1, 9, 1, 1, 1}, 0, false},
      {NX_BF16, {2, 7, 9, 8}, {10, 3, 3, 8}, {7, 1, 1, 1, 9, 1, 1, 1}, 0, true},
      {NX_F16, {1, 13, 12, 24}, {66, 2, 3, 24}, {6, 2, 1, 0, 5, 2, 2, 1}, 0, false},
      {NX_F16, {1, 13, 12, 24}, {130, 2, 1, 24}, {5, 2, 2, -1, 12, 1, 1, 0}, 3, true},
      {NX_BF16, {3, 5, 5, 40}, {64, 5, 5, 40}, {5, 1, 1, 2, 5, 1, 1, 2}, 8, false},
      {NX_BF16, {1, 1, 300, 16}, {2, 1, 4, 16}, {1, 1, 1, 0, 297, 1, 1, 0}, 1, true},
      {NX_F16, {1, 3, 3, 8}, {4, 3, 3, 8}, {20, 1, 1, 9, 2, 9, 1, 4}, 0, true}, /* zeros alone */
      {NX_BF16, {1, 4, 4, 64}, {128, 3, 3, 64}, {4, 1, 1, 1, 4, 1, 1, 1}, 0, false},
      /* results with features first: even and odd places, fewer than a tile; groups */
      {NX_BF16, {3, 8, 10, 8}, {20, 3, 3, 8}, {8, 1, 1, 1, 10, 1, 1, 1, R}, 0, false},
      {NX_F16, {3, 7, 9, 16}, {129, 2, 2, 16}, {6, 1, 1, 0, 9, 1, 1, 1, R}, 0, false},
      {NX_BF16, {70, 2, 2, 8}, {7, 2, 2, 8}, {1, 1, 1, 0, 3, 1, 1, 1, R}, 2, true},
      {NX_BF16, {2, 9, 9, 24}, {30, 3, 3, 8}, {9, 1, 1, 1, 9, 1, 1, 1}, 0, false},
      /* tiles of 256 columns: some, all and more than are there; groups */
      {NX_BF16, {2, 9, 8, 16}, {194, 3, 3, 16}, {9, 1, 1, 1, 8, 1, 1, 1}, 0, false},
      {NX_F16, {3, 8, 10, 8}, {256, 2, 3, 8}, {4, 2, 1, 0, 10, 1, 1, 1}, 8, false},
      {NX_BF16, {2, 9, 9, 8}, {301, 2, 2, 8}, {8, 1, 1, 0, 9, 1, 1, 1, R}, 0, false},
      {NX_F16, {2, 8, 10, 16}, {400, 2, 2, 8}, {8, 1, 1, 0, 10, 1, 1, 1, R}, 0, false},
      /* f32: features last, with a tail of the inner extent; rows and columns beyond a tile */
      {NX_F32, {2, 7, 9, 4}, {10, 3, 3, 4}, {7, 1, 1, 1, 9, 1, 1, 1}, 0, false},
      {NX_F32, {1, 13, 12, 24}, {66, 2, 3, 24}, {6, 2, 1, 0, 5, 2, 2, 1, R}, 0, false},
      {NX_F32, {3, 8, 8, 20}, {64, 2, 2, 20}, {8, 1, 1, 1, 8, 1, 1, 0, R}, 1, false},
      {NX_F32, {2, 9, 10, 24}, {69, 3, 1, 8}, {4, 2, 3, 2, 10, 1, 1, 0}, 0, false},
      {NX_F32, {150, 2, 1, 8}, {3, 2, 1, 8}, {1, 1, 1, 0, 1, 1, 1, 0}, 0, false},
      /* features first: as many as lie by 16 bytes, and odd ones; groups; zeros alone */
      {NX_F32, {2, 7, 9, 4}, {10, 3, 3, 4}, {7, 1, 1, 1, 9, 1, 1, 1, I | R}, 0, false},
      {NX_F32, {2, 12, 12, 3}, {70, 5, 5, 3}, {6, 2, 1, 2, 6, 2, 1, 2, I | R}, 1, false},
      {NX_F32, {1, 13, 12, 1}, {5, 3, 3, 1}, {13, 1, 2, 2, 12, 1, 1, 1, I}, 0, false},
      {NX_F32, {3, 7, 5, 12}, {66, 2, 3, 4}, {6, 1, 1, 0, 4, 1, 1, 1, I | R}, 0, false},
      {NX_F32, {2, 6, 6, 9}, {36, 3, 3, 3}, {6, 1, 1, 1, 6, 1, 1, 1, I}, 0, false},
      {NX_F32, {1, 3, 3, 8}, {4, 3, 3, 8}, {20, 1, 1, 9, 2, 9, 1, 4, I | R}, 0, false},
      {NX_F32, {1, 9, 70, 2}, {3, 1, 61, 2}, {9, 1, 1, 0, 70, 1, 1, 30, I | R}, 0, false},
  };
  nxi_gpu *g = NULL;
  (void)state;
  nxi_use_libraries();
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) check(g, &all[i]);
}

/* A sum that is -0 stays that: behind the inner extent nothing is added. */
static void zeros_keep_their_sign(void **state) {
  static const int64_t layouts[] = {0, NXG_WINDOWS_IMAGE_FIRST};
  nxi_gpu *g = NULL;
  (void)state;
  nxi_use_libraries();
  assert_int_equal(nxi_device_open(ctx, CUDA, (nxi_device **)&g, NULL), NX_OK);
  for (int i = 0; i < 2; i++) {
    const trial c = {.t = NX_F32,
                     .image = {1, 2, 2, 4},
                     .weights = {2, 1, 1, 4},
                     .attrs = {2, 1, 1, 0, 2, 1, 1, 0, layouts[i]}};
    float x[16], w[8], y[8];
    nxg_call call;
    assert_int_equal(infer(&c, &call), NX_OK);
    for (int k = 0; k < 16; k++) x[k] = -0x1p-100F;
    for (int k = 0; k < 8; k++) w[k] = 0x1p-100F; /* products round to -0 */
    on_gpu(g, &c, &call, x, w, y, 8);
    for (int k = 0; k < 8; k++) assert_true(y[k] == 0 && signbit(y[k]));
  }
}

static void bad_calls(void **state) {
  trial good = {.t = NX_BF16,
                .image = {1, 4, 4, 8},
                .weights = {2, 3, 3, 8},
                .attrs = {4, 1, 1, 1, 4, 1, 1, 1, 0}};
  nxg_call call;
  (void)state;
  assert_int_equal(infer(&good, &call), NX_OK);
  for (int i = 0; i < 9; i++) {
    trial bad = good;
    bad.attrs[i] = i == 8 ? 4 : i % 4 == 3 ? INT64_MIN : i % 4 == 0 ? -1 : 0;
    assert_int_equal(infer(&bad, &call), NX_INVALID_ARGUMENT);
  }
  trial features = good, columns = good, type = good, layout = good;
  features.weights[3] = 3;
  assert_int_equal(infer(&features, &call), NX_INVALID_ARGUMENT);
  columns.weights[0] = 3, columns.weights[3] = 4; /* two groups */
  assert_int_equal(infer(&columns, &call), NX_INVALID_ARGUMENT);
  type.t = NX_F64;
  assert_int_equal(infer(&type, &call), NX_UNSUPPORTED_DTYPE);
  layout.attrs[8] = NXG_WINDOWS_IMAGE_FIRST; /* of f32 alone */
  assert_int_equal(infer(&layout, &call), NX_UNSUPPORTED_DTYPE);
}

/* ---- convolutions as they are recorded */

/* Where features are: of x, of the result, and of w as of x. */
typedef enum order { LAST, FIRST, X_FIRST, Y_FIRST } order;
typedef struct request {
  nx_dtype t;
  int64_t x[4], w[4]; /* number, y, x, features; columns, y, x, features of a group */
  int64_t stride, around;
  order order;
  int64_t groups, dilation; /* 0: 1 */
} request;

static bool is_first(const request *q, bool result) {
  return q->order == FIRST || q->order == (result ? Y_FIRST : X_FIRST);
}

static void shape_of(const request *q, const int64_t s[4], int64_t to[4]) {
  const bool first = is_first(q, false);
  to[0] = s[0], to[1] = s[first ? 3 : 1], to[2] = s[first ? 1 : 2], to[3] = s[first ? 2 : 3];
}

static nx_tensor *values(const request *q, const int64_t *logical, uint32_t seed, nx_device where) {
  int64_t shape[4];
  shape_of(q, logical, shape);
  const int64_t n = size_of(shape);
  float *v = calloc((size_t)n, sizeof *v);
  assert_non_null(v);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    v[i] = q->t == NX_F32 ? (float)(int32_t)seed * 0x1p-31F : (float)(int)(seed >> 30) - 1;
  }
  nx_tensor *x = GOOD(nx_from_data(ctx, 0, NX_F32, shape, 4, v, (size_t)n * sizeof *v));
  free(v);
  return GOOD(nx_to_device(GOOD(nx_cast(x, q->t)), where));
}

static nx_tensor *convolved(const request *q, nx_tensor *x, nx_tensor *w) {
  static const int32_t last[] = {0, 3, 1, 2};
  const int64_t stride[] = {q->stride, q->stride}, around[] = {q->around, q->around},
                dilation[] = {q->dilation ? q->dilation : 1, q->dilation ? q->dilation : 1};
  const nx_convolution_options o = {.size = sizeof o,
                                    .n = 2,
                                    .stride = stride,
                                    .before = around,
                                    .after = around,
                                    .w_dilation = dilation,
                                    .feature_groups = q->groups,
                                    .x_axes = is_first(q, false) ? NULL : last,
                                    .w_axes = is_first(q, false) ? NULL : last,
                                    .y_axes = is_first(q, true) ? NULL : last};
  return GOOD(nx_convolution(x, w, &o));
}

/* Whether it is a call, and nothing is copied behind it. */
static bool is_called(const request *q) {
  char *plan;
  int64_t x[4];
  shape_of(q, q->x, x);
  nx_tensor *y = convolved(q, GOOD(nx_empty(ctx, CUDA, q->t, x, 4)), values(q, q->w, 1, CUDA));
  OK(nx_dump(&y, 1, "plan", &plan));
  const bool called = strstr(plan, "matmul_windows") != NULL;
  if (called) assert_non_null(strstr(plan, "by a kernel without windows"));
  if (called && strstr(strstr(plan, "matmul_windows"), "  step ") != NULL) fail_msg("%s", plan);
  nx_string_free(plan);
  return called;
}

static void which(void **state) {
  static const struct {
    request q;
    bool called;
  } all[] = {
      {{NX_BF16, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, LAST, 0, 0}, true},
      {{NX_F16, {32, 224, 224, 3}, {64, 7, 7, 3}, 2, 3, LAST, 0, 0}, true},
      {{NX_BF16, {1, 224, 224, 64}, {64, 3, 3, 64}, 1, 1, LAST, 0, 0}, true},
      {{NX_BF16, {32, 28, 28, 256}, {256, 3, 3, 256}, 1, 1, LAST, 0, 0}, true}, /* wide */
      {{NX_F16, {32, 28, 28, 256}, {192, 3, 3, 256}, 1, 1, FIRST, 0, 0}, true},
      {{NX_BF16, {32, 28, 28, 256}, {160, 3, 3, 256}, 1, 1, LAST, 0, 0},
       false}, /* half of a tile */
      {{NX_BF16, {32, 28, 28, 256}, {512, 3, 3, 256}, 1, 1, LAST, 0, 0}, false},
      {{NX_BF16, {32, 14, 14, 256}, {256, 3, 3, 256}, 1, 1, LAST, 0, 0}, false}, /* few rows */
      {{NX_BF16, {32, 14, 14, 64}, {64, 3, 3, 64}, 1, 1, LAST, 0, 0}, false},    /* few rows */
      {{NX_BF16, {32, 56, 56, 64}, {64, 1, 1, 64}, 1, 0, LAST, 0, 0}, false},    /* no windows */
      {{NX_BF16, {32, 224, 224, 1}, {64, 7, 7, 1}, 2, 3, LAST, 0, 0}, false},    /* mostly zeros */
      {{NX_BF16, {32, 56, 56, 64}, {65, 3, 3, 64}, 1, 1, LAST, 0, 0}, false},    /* odd columns */
      {{NX_BF16, {32, 56, 56, 64}, {65, 3, 3, 64}, 1, 1, FIRST, 0, 0}, true},
      {{NX_BF16, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, Y_FIRST, 0, 0}, true},
      {{NX_F16, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, X_FIRST, 0, 0}, true},
      {{NX_BF16, {32, 56, 56, 128}, {128, 3, 3, 64}, 1, 1, LAST, 2, 0}, true},
      {{NX_BF16, {32, 56, 56, 128}, {128, 3, 3, 64}, 1, 1, FIRST, 2, 2}, true},
      {{NX_F32, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, LAST, 0, 0}, true},
      {{NX_F32, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, FIRST, 0, 0}, true},
      {{NX_F32, {32, 56, 56, 64}, {64, 3, 3, 64}, 2, 1, X_FIRST, 0, 2}, true},
      {{NX_F32, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, Y_FIRST, 0, 0}, true},
      {{NX_F32, {1, 224, 224, 64}, {64, 3, 3, 64}, 1, 1, FIRST, 0, 0}, true},
      {{NX_F32, {32, 224, 224, 3}, {64, 7, 7, 3}, 2, 3, FIRST, 0, 0}, true},
      {{NX_F32, {32, 224, 224, 3}, {64, 7, 7, 3}, 2, 3, LAST, 0, 0}, true},
      {{NX_F32, {64, 32, 32, 1}, {64, 5, 5, 1}, 1, 2, FIRST, 0, 0}, true},
      {{NX_F32, {32, 56, 56, 256}, {256, 3, 3, 64}, 1, 1, FIRST, 4, 0}, true},
      {{NX_F32, {32, 56, 56, 256}, {256, 3, 3, 64}, 1, 1, LAST, 4, 0}, true},
      {{NX_F32, {32, 56, 56, 64}, {32, 3, 3, 64}, 1, 1, FIRST, 0, 0}, false}, /* half a tile */
      {{NX_F32, {32, 14, 14, 256}, {256, 3, 3, 256}, 1, 1, FIRST, 0, 0}, false},
      {{NX_F32, {32, 56, 56, 64}, {64, 8, 8, 64}, 1, 3, FIRST, 0, 0}, false}, /* 64 taps */
      {{NX_F64, {32, 56, 56, 64}, {64, 3, 3, 64}, 1, 1, FIRST, 0, 0}, false},
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (is_called(&all[i].q) != all[i].called) fail_msg("convolution %zu", i);
}

/* The same numbers as a processor's, which has windows; of f32 the same chain of fma. */
static void beside_the_processor(void **state) {
  static const request all[] = {
      {NX_BF16, {2, 189, 188, 9}, {4, 2, 2, 9}, 2, 1, LAST, 0, 0},
      {NX_BF16, {2, 92, 93, 16}, {10, 2, 2, 8}, 1, 0, FIRST, 2, 0},
      {NX_F32, {2, 92, 93, 16}, {80, 2, 2, 8}, 1, 0, LAST, 2, 0},
      {NX_F32, {1, 263, 262, 8}, {70, 2, 2, 4}, 2, 1, FIRST, 2, 2},
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const request *q = &all[i];
    nx_tensor *near = convolved(q, values(q, q->x, 1, 0), values(q, q->w, 2, 0));
    const size_t n = (size_t)nx_elements(near), bytes = n * (size_t)nxi_dtype_size(q->t);
    char *want = malloc(bytes), *is = malloc(bytes);
    if (want == NULL || is == NULL) abort();
    OK(nx_read(near, want, bytes, NULL));
    nx_tensor *x = values(q, q->x, 1, CUDA), *w = values(q, q->w, 2, CUDA);
    OK(nx_realize(ctx, (nx_tensor *[]){x, w}, 2, NULL));
    nx_report report = {.size = sizeof report};
    const nx_run_options o = {.size = sizeof o, .report = &report};
    nx_tensor *y = convolved(q, x, w);
    char *plan = NULL;
    OK(nx_dump(&y, 1, "plan", &plan));
    if (plan == NULL || strstr(plan, "matmul_windows") == NULL) fail_msg("convolution %zu", i);
    nx_string_free(plan);
    OK(nx_realize(ctx, &y, 1, &o));
    assert_int_equal(report.library_calls, 1);
    assert_int_equal(report.host_calls, 0);
    OK(nx_read(y, is, bytes, NULL));
    if (memcmp(is, want, bytes) != 0) fail_msg("convolution %zu", i);
    free(want), free(is);
  }
}

NXT_MAIN(cuda_convolutions) {
  const struct CMUnitTest tests[] = {IN_SCOPE(kernels), IN_SCOPE(zeros_keep_their_sign),
                                     IN_SCOPE(bad_calls), IN_SCOPE(which),
                                     IN_SCOPE(beside_the_processor)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
