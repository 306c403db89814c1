/* SPDX-License-Identifier: ISC */
/* Convolutions as unfold, reshape and matmul, gradients of their weights, and small windows of each
 * channel by itself. BENCH_WHOLE: also with the windows in memory. */
#include "expressions.h"

/* x: images, channels, one or two axes; w: outputs, channels, the window. */
static nx_tensor *windows_of(nx_tensor *x, const nx_tensor_info *w, int64_t step) {
  int32_t n = w->rank - 2;
  int64_t stride[2] = {step, step}, around[2] = {w->shape[2] / 2, w->shape[w->rank - 1] / 2};
  const nx_window window = {.size = sizeof window,
                            .n = n,
                            .kernel = w->shape + 2,
                            .stride = stride,
                            .before = around,
                            .after = around};
  return nx_unfold(x, &window);
}

static nx_tensor *convolved(nx_tensor *x, nx_tensor *weights, int64_t step) {
  const nx_tensor_info w = bench_info(weights), in = bench_info(x);
  int64_t taps = 1, shape[4] = {in.shape[0], w.shape[0]};
  nx_tensor *windows = windows_of(x, &w, step);
  for (int32_t i = 1; i < w.rank; i++) taps *= w.shape[i];
  int64_t points = bench_info(windows).shape[in.rank - w.rank + 3];
  for (int32_t i = 2; i < w.rank; i++) {
    int64_t room = in.shape[i] + w.shape[i] / 2 * 2;
    shape[i] = (room - w.shape[i]) / step + 1;
  }
  windows = nx_reshape(windows, NX_SHAPE(in.shape[0], taps, points), 0);
  nx_tensor *y = nx_matmul(nx_reshape(weights, NX_SHAPE(w.shape[0], taps), 0), windows);
  return nx_reshape(y, shape, w.rank, 0);
}
static nx_tensor *convolution(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, convolved(x[0], x[1], 1);
}
static nx_tensor *convolution_by_2(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, convolved(x[0], x[1], 2);
}
static nx_tensor *convolution_by_3(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, convolved(x[0], x[1], 3);
}

/* Of the weights, whose shape x[1] has; x[2] is what comes from above. */
static nx_tensor *gradient(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info w = bench_info(x[1]), in = bench_info(x[0]), up = bench_info(x[2]);
  int64_t taps = w.shape[1] * w.shape[2] * w.shape[3], points = up.shape[2] * up.shape[3];
  (void)lab;
  nx_tensor *windows = nx_reshape(windows_of(x[0], &w, 1), NX_SHAPE(in.shape[0], taps, points), 0),
            *above = nx_reshape(x[2], NX_SHAPE(in.shape[0], up.shape[1], points), 0),
            *each = nx_matmul(above, nx_permute(windows, NX_AXES(0, 2, 1)));
  return nx_reshape(nx_reduce_sum(each, NX_AXES(0), 0), w.shape, w.rank, 0);
}

/* Each channel by itself: w: channels, 1, the window. */
static nx_tensor *depthwise(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info w = bench_info(x[1]), in = bench_info(x[0]);
  int64_t taps = w.shape[2] * w.shape[3];
  (void)lab;
  nx_tensor *windows = windows_of(x[0], &w, 1),
            *weights = nx_reshape(x[1], NX_SHAPE(w.shape[0], taps, 1), 0);
  return nx_reshape(nx_reduce_sum(nx_mul(windows, weights), NX_AXES(2), 0), in.shape, in.rank, 0);
}

/* Of the weights of each channel by itself; last: channels are the last axis of images and weights.
 * x[2] is what comes from above. */
static nx_tensor *depthwise_gradient(nx_tensor **x, bool last) {
  static const int32_t first_axes[4] = {1, 0, 2, 3}, last_axes[4] = {3, 0, 1, 2},
                       last_result[4] = {2, 3, 0, 1};
  const nx_tensor_info w = bench_info(x[1]), in = bench_info(x[0]);
  const int64_t *window = w.shape + (last ? 0 : 2), around[2] = {window[0] / 2, window[1] / 2};
  const nx_convolution_options options = {.size = sizeof options,
                                          .n = 2,
                                          .before = around,
                                          .after = around,
                                          .batch_groups = in.shape[last ? 3 : 1],
                                          .x_axes = last ? last_axes : first_axes,
                                          .w_axes = last ? last_axes : first_axes,
                                          .y_axes = last ? last_result : first_axes};
  return nx_convolution(x[0], x[2], &options);
}
static nx_tensor *depthwise_gradient_first(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, depthwise_gradient(x, false);
}
static nx_tensor *depthwise_gradient_last(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, depthwise_gradient(x, true);
}

/* The largest of each 2 x 2. */
static nx_tensor *pooled(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info in = bench_info(x[0]);
  const int64_t two[] = {2, 2};
  const nx_window window = {.size = sizeof window, .n = 2, .kernel = two, .stride = two};
  (void)lab;
  return nx_reshape(nx_reduce_max(nx_unfold(x[0], &window), NX_AXES(2), 0),
                    NX_SHAPE(in.shape[0], in.shape[1], in.shape[2] / 2, in.shape[3] / 2), 0);
}

static const bench_workload rows[] = {
    {"conv 3x3 8x64x56^2", "conv", convolution, "f32:8x64x56x56 f32:64x64x3x3", 0,
     BENCH_COMPUTES | BENCH_WHOLE, 0},
    {"conv 3x3 1x64x224^2", "conv", convolution, "f32:1x64x224x224 f32:64x64x3x3", 0,
     BENCH_COMPUTES, 0},
    {"conv 3x3 2x1024x14^2", "conv", convolution, "f32:2x1024x14x14 f32:1024x1024x3x3", 0,
     BENCH_COMPUTES, 0},
    {"conv 7x7 stride 2 8x3x224^2", "convby2", convolution_by_2, "f32:8x3x224x224 f32:64x3x7x7", 0,
     BENCH_COMPUTES, 0},
    {"conv 3x3 stride 3 8x32x99^2", "convby3", convolution_by_3, "f32:8x32x99x99 f32:64x32x3x3", 0,
     BENCH_COMPUTES, 0},
    {"conv 1x1 8x64x56^2 to 256", "conv", convolution, "f32:8x64x56x56 f32:256x64x1x1", 0,
     BENCH_COMPUTES, 0},
    {"conv 3x3 8x32x56^2 c64", "conv", convolution, "c64:8x32x56x56 c64:32x32x3x3", 0,
     BENCH_COMPUTES, 0},
    {"conv 9 8x64x8192", "conv1", convolution, "f32:8x64x8192 f32:64x64x9", 0, BENCH_COMPUTES, 0},
    {"gradient of conv 3x3 8x64x56^2", "convgradient", gradient,
     "f32:8x64x56x56 f32:64x64x3x3 f32:8x64x56x56", 0, BENCH_COMPUTES | BENCH_WHOLE, 0},
    {"depthwise 3x3 8x128x56^2", "depthwise", depthwise, "f32:8x128x56x56 f32:128x1x3x3", 0,
     BENCH_COMPUTES, 0},
    {"depthwise 3x3 8x100x57^2", "depthwise", depthwise, "f32:8x100x57x57 f32:100x1x3x3", 0,
     BENCH_COMPUTES, 0},
    {"gradient of depthwise 3x3 8x128x56^2", "depthwisegradient", depthwise_gradient_first,
     "f32:8x128x56x56 f32:128x1x3x3 f32:8x128x56x56", 0, BENCH_COMPUTES, 0},
    {"gradient of depthwise 3x3 8x56^2x128", "depthwisegradientlast", depthwise_gradient_last,
     "f32:8x56x56x128 f32:3x3x1x128 f32:8x56x56x128", 0, BENCH_COMPUTES, 0},
    {"largest of 2x2 8x64x112^2", "pooled", pooled, "f32:8x64x112x112", 0, 0, 0},
};

void bench_windows(bench_lab *lab) { bench_workloads(lab, rows, sizeof rows / sizeof *rows); }
