/* SPDX-License-Identifier: ISC */
/* The library call matmul_windows on the processor: products of windows of images with weights, as
 * sums in order. Passes make it for GPUs, which have kernels for it; this is what the interpreter
 * runs, and a GPU that has not. A task is a line of places of the result. */
#include "libraries.h"

typedef struct axis {
  int64_t extent, count, step, taps, dilation, before;
} axis;

static axis axis_of(const nxg_call *call, int number) {
  const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * number;
  return (axis){.extent = call->operands[0].shape[1 + number],
                .count = a[NXG_WINDOWS_COUNT],
                .step = a[NXG_WINDOWS_STEP],
                .taps = call->operands[1].shape[1 + number],
                .dilation = a[NXG_WINDOWS_DILATION],
                .before = a[NXG_WINDOWS_BEFORE]};
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const nxg_array *w = &call->operands[1];
  const axis y = axis_of(call, 0), x = axis_of(call, 1);
  const double each = (double)w->shape[1] * (double)w->shape[2] * (double)w->shape[3] *
                      (double)x.count * (double)w->shape[0];
  const double grain = 1e5 / (each > 1 ? each : 1);
  (void)d;
  work->n_phases = 1;
  work->tasks[0] = call->operands[0].shape[0] * y.count;
  work->grain[0] = grain > 1 ? (int64_t)grain : 1;
  work->cost = each * (double)work->tasks[0];
  work->cannot_fail = true;
  return NX_OK;
}

static float widen(uint16_t bits, bool brain) {
  return brain ? nxi_bf16_to_f32(bits) : nxi_f16_to_f32(bits);
}

/* The sum over taps, then features, each a fused multiplication and addition: products are exact in
 * f32. Zeros outside of the image are multiplied as well: what a weight makes of them counts. */
static float sum_of(const nxg_call *call, const uint16_t *image, const uint16_t *weights,
                    const axis *y, const axis *x, int64_t line, int64_t place) {
  const int64_t features = call->operands[0].shape[3];
  const bool brain = call->operands[0].dtype == NX_BF16;
  float sum = 0;
  for (int64_t i = 0; i < y->taps; i++)
    for (int64_t j = 0; j < x->taps; j++, weights += features) {
      const int64_t down = line * y->step + i * y->dilation - y->before,
                    across = place * x->step + j * x->dilation - x->before;
      const bool inside = down >= 0 && down < y->extent && across >= 0 && across < x->extent;
      const uint16_t *at = inside ? image + (down * x->extent + across) * features : NULL;
      for (int64_t c = 0; c < features; c++)
        sum += (at ? widen(at[c], brain) : 0) * widen(weights[c], brain);
    }
  return sum;
}

static nx_status run(nxg_call_part *part) {
  const nxg_call *call = part->call;
  const axis y = axis_of(call, 0), x = axis_of(call, 1);
  const int64_t columns = call->results[0].shape[1], features = call->operands[0].shape[3],
                depth = y.taps * x.taps * features;
  const bool brain = call->operands[0].dtype == NX_BF16;
  const uint16_t *weights = part->operands[1];
  for (int64_t task = part->begin; task < part->end; task++) {
    const int64_t number = task / y.count, line = task % y.count;
    const uint16_t *image =
        (const uint16_t *)part->operands[0] + number * y.extent * x.extent * features;
    uint16_t *to = (uint16_t *)part->results[0] + task * x.count * columns;
    if (part->stopped(part->user)) return NX_OK;
    for (int64_t place = 0; place < x.count; place++)
      for (int64_t o = 0; o < columns; o++) {
        const float sum = sum_of(call, image, weights + o * depth, &y, &x, line, place);
        *to++ = brain ? nxi_f32_to_bf16(sum) : nxi_f32_to_f16(sum);
      }
  }
  return NX_OK;
}

const nxg_functions nxi_matmul_windows_functions = {.prepare = prepare, .run = run};
