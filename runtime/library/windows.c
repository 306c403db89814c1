/* SPDX-License-Identifier: ISC */
/* The library call matmul_windows on the processor: products of windows of images with weights, as
 * sums in order. Passes make it for GPUs, which have kernels for it; this is what the interpreter
 * runs, and a GPU that has not. A task is a line of places of the result. */
#include <math.h>

#include "libraries.h"

typedef struct axis {
  int64_t extent, count, step, taps, dilation, before;
} axis;

/* A call in numbers. Distances in memory: of the image along y, x and features, of the weights
 * along taps of both axes and features, of the result along places and columns. */
typedef struct product {
  axis y, x;
  nx_dtype dtype;
  bool first; /* features are the first ones of the sum */
  int64_t features, groups, columns, places;
  int64_t image[3], weights[3], result[2];
} product;

static axis axis_of(const nxg_call *call, int number) {
  const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * number,
                at = 1 + number + (call->attrs[NXG_WINDOWS_LAYOUT] & NXG_WINDOWS_IMAGE_FIRST);
  return (axis){.extent = call->operands[0].shape[at],
                .count = a[NXG_WINDOWS_COUNT],
                .step = a[NXG_WINDOWS_STEP],
                .taps = call->operands[1].shape[at],
                .dilation = a[NXG_WINDOWS_DILATION],
                .before = a[NXG_WINDOWS_BEFORE]};
}

static product product_of(const nxg_call *call) {
  const int64_t layout = call->attrs[NXG_WINDOWS_LAYOUT], *w = call->operands[1].shape;
  product p = {.y = axis_of(call, 0),
               .x = axis_of(call, 1),
               .dtype = call->operands[0].dtype,
               .first = layout & NXG_WINDOWS_IMAGE_FIRST};
  const int32_t at = p.first ? 1 : 3;
  const int64_t all = call->operands[0].shape[at];
  p.features = w[at];
  p.groups = p.features > 0 ? all / p.features : 1;
  p.columns = w[0];
  p.places = p.y.count * p.x.count;
  p.image[0] = p.x.extent * (p.first ? 1 : all);
  p.image[1] = p.first ? 1 : all;
  p.image[2] = p.first ? p.y.extent * p.x.extent : 1;
  p.weights[0] = p.x.taps * (p.first ? 1 : p.features);
  p.weights[1] = p.first ? 1 : p.features;
  p.weights[2] = p.first ? p.y.taps * p.x.taps : 1;
  p.result[0] = layout & NXG_WINDOWS_RESULT_FIRST ? 1 : p.columns;
  p.result[1] = layout & NXG_WINDOWS_RESULT_FIRST ? p.places : 1;
  return p;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const product p = product_of(call);
  const double each = (double)p.y.taps * (double)p.x.taps * (double)p.features * (double)p.x.count *
                      (double)p.columns;
  const double grain = 1e5 / (each > 1 ? each : 1);
  (void)d;
  work->n_phases = 1;
  work->tasks[0] = call->operands[0].shape[0] * p.y.count;
  work->grain[0] = grain > 1 ? (int64_t)grain : 1;
  work->cost = each * (double)work->tasks[0];
  work->cannot_fail = true;
  return NX_OK;
}

static float element(nx_dtype t, const void *from, int64_t i) {
  if (t == NX_F32) return ((const float *)from)[i];
  const uint16_t bits = ((const uint16_t *)from)[i];
  return t == NX_BF16 ? nxi_bf16_to_f32(bits) : nxi_f16_to_f32(bits);
}

static void store(nx_dtype t, void *to, int64_t i, float x) {
  if (t == NX_F32) ((float *)to)[i] = x;
  else ((uint16_t *)to)[i] = t == NX_BF16 ? nxi_f32_to_bf16(x) : nxi_f32_to_f16(x);
}

/* One more element of the inner extent: feature c of tap i, j. Zeros outside of the image are
 * multiplied as well: what a weight makes of them counts. */
static float plus(const product *p, float sum, const void *image, int64_t at, const void *weights,
                  int64_t from, const int64_t place[2], int64_t i, int64_t j, int64_t c) {
  const int64_t down = place[0] * p->y.step + i * p->y.dilation - p->y.before,
                across = place[1] * p->x.step + j * p->x.dilation - p->x.before;
  const bool inside = down >= 0 && down < p->y.extent && across >= 0 && across < p->x.extent;
  at += down * p->image[0] + across * p->image[1] + c * p->image[2];
  from += i * p->weights[0] + j * p->weights[1] + c * p->weights[2];
  return fmaf(inside ? element(p->dtype, image, at) : 0, element(p->dtype, weights, from), sum);
}

/* The sum over taps, then features, or features, then taps. */
static float sum_of(const product *p, const void *image, int64_t at, const void *weights,
                    int64_t from, const int64_t place[2]) {
  float sum = 0;
  for (int64_t c = 0; c < p->features && p->first; c++)
    for (int64_t i = 0; i < p->y.taps; i++)
      for (int64_t j = 0; j < p->x.taps; j++)
        sum = plus(p, sum, image, at, weights, from, place, i, j, c);
  for (int64_t i = 0; i < p->y.taps && !p->first; i++)
    for (int64_t j = 0; j < p->x.taps; j++)
      for (int64_t c = 0; c < p->features; c++)
        sum = plus(p, sum, image, at, weights, from, place, i, j, c);
  return sum;
}

static nx_status run(nxg_call_part *part) {
  const product p = product_of(part->call);
  const int64_t depth = p.y.taps * p.x.taps * p.features,
                size = p.y.extent * p.x.extent * p.features * p.groups;
  for (int64_t task = part->begin; task < part->end; task++) {
    const int64_t number = task / p.y.count;
    int64_t place[2] = {task % p.y.count, 0};
    if (part->stopped(part->user)) return NX_OK;
    for (; place[1] < p.x.count; place[1]++)
      for (int64_t o = 0; o < p.columns; o++) {
        const int64_t group = o / (p.columns / p.groups),
                      at = number * size + group * p.features * p.image[2];
        store(p.dtype, part->results[0],
              number * p.places * p.columns + (place[0] * p.x.count + place[1]) * p.result[0] +
                  o * p.result[1],
              sum_of(&p, part->operands[0], at, part->operands[1], o * depth, place));
      }
  }
  return NX_OK;
}

const nxg_functions nxi_matmul_windows_functions = {.prepare = prepare, .run = run};
