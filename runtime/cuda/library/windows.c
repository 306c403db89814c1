/* SPDX-License-Identifier: ISC */
/* The call matmul_windows: products of windows of images with weights, by the kernels of
 * windows.cuh. */
#include "aligned.h"
#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "runtime/cuda/own_code.h"

/* Of a block of threads: rows of its tile, columns of the two sizes that there are, and threads.
 * DEPTH: of the inner extent, that is multiplied at a time, STEPS: and held of that. */
enum { ROWS = 128, NARROW = 64, WIDE = 128, THREADS = 256, DEPTH = 32, STEPS = 4, FEATURES = 8 };
enum { MOST = 1 << 30 };

/* As nx_window_axis and nx_window_product. */
typedef struct window_axis {
  int32_t extent, count, step, taps, dilation, before;
} window_axis;
typedef struct window_product {
  window_axis axes[2];
  int32_t features, columns, rows, depth;
  uint32_t row_tiles, tiles;
} window_product;

typedef struct work {
  nxi_kernel *kernel;
  window_product product;
} work;

static window_axis axis_of(const nxg_call *call, int number) {
  const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * number;
  return (window_axis){.extent = (int32_t)call->operands[0].shape[1 + number],
                       .count = (int32_t)a[NXG_WINDOWS_COUNT],
                       .step = (int32_t)a[NXG_WINDOWS_STEP],
                       .taps = (int32_t)call->operands[1].shape[1 + number],
                       .dilation = (int32_t)a[NXG_WINDOWS_DILATION],
                       .before = (int32_t)a[NXG_WINDOWS_BEFORE]};
}

/* Whether the last element that windows have along an axis is counted in 30 bits. */
static bool is_near(const nxg_call *call, int number) {
  const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * number;
  const double reach =
      (double)a[NXG_WINDOWS_COUNT] * (double)a[NXG_WINDOWS_STEP] +
      (double)call->operands[1].shape[1 + number] * (double)a[NXG_WINDOWS_DILATION];
  return reach < MOST && call->operands[0].shape[1 + number] < MOST;
}

static bool takes(nxi_gpu *g, const nxg_call *call) {
  const nxg_array *w = &call->operands[1];
  (void)g;
  if (call->op != NXG_matmul_windows) return false;
  const double rows = (double)call->results[0].shape[0],
               depth = (double)w->shape[1] * (double)w->shape[2] * (double)w->shape[3];
  return is_near(call, 0) && is_near(call, 1) && rows < MOST && depth > 0 && depth < MOST &&
         w->shape[0] < MOST && w->shape[0] % 2 == 0 && w->shape[3] % FEATURES == 0;
}

static int32_t columns_of(const nxg_call *call) {
  return call->operands[1].shape[0] <= NARROW ? NARROW : WIDE;
}

static void describe(const nxg_call *call, window_product *p) {
  const nxg_array *y = &call->results[0];
  const int32_t columns = columns_of(call);
  *p = (window_product){.axes = {axis_of(call, 0), axis_of(call, 1)},
                        .features = (int32_t)call->operands[0].shape[3],
                        .columns = (int32_t)y->shape[1],
                        .rows = (int32_t)y->shape[0]};
  p->depth = p->axes[0].taps * p->axes[1].taps * p->features;
  p->row_tiles = (uint32_t)((p->rows + ROWS - 1) / ROWS);
  p->tiles = p->row_tiles * (uint32_t)((p->columns + columns - 1) / columns);
}

static nx_status get_kernel(nxi_gpu *g, const nxg_call *call, work *w, nxi_diag *d) {
  const int32_t columns = columns_of(call);
  nxi_text text = {0};
  nxi_text_add(&text,
               "extern \"C\" __global__ void __launch_bounds__(%d, 2) nx_windows(const nx_u16 "
               "*image, const nx_u16 *weights, nx_u16 *y, nx_window_product p) {\n"
               "  extern __shared__ __align__(1024) nx_u8 nx_shared[];\n"
               "  nx_multiply_windows<%s, %d>(image, weights, y, p, nx_shared);\n}",
               THREADS, call->operands[0].dtype == NX_BF16 ? "nx_bf16" : "nx_f16", columns);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  const nxi_own_code code = {.tools = nxu_mma_code(),
                             .body = nxu_windows_code(),
                             .instance = text.data,
                             .entry = "nx_windows",
                             .threads = THREADS,
                             .shared_bytes = (int64_t)STEPS * (ROWS + columns) * DEPTH * 2,
                             .blocks = w->product.tiles};
  if (status == NX_OK) status = nxi_own_code_get(g, &code, &w->kernel, d);
  nxi_text_free(&text);
  return status;
}

static nx_status prepare(nxi_gpu *g, const nxg_call *call, nxi_gpu_call_work *out, nxi_diag *d) {
  work *w = nxi_calloc(1, sizeof *w);
  if (w == NULL) return nxi_oom(d);
  describe(call, &w->product);
  nx_status status = get_kernel(g, call, w, d);
  if (status != NX_OK) nxi_free(w);
  else out->state = w;
  return status;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const work *w = r->work->state;
  window_product p = w->product;
  nxi_gpu_aligned a;
  if (p.tiles == 0) return NX_OK;
  nx_status status = nxi_gpu_align(r, true, &a, d);
  if (status != NX_OK) return status;
  uint64_t image = a.at[0], weights = a.at[1], y = r->results[0];
  void *arguments[] = {&image, &weights, &y, &p};
  status = nxi_gpu_launch(nxi_kernel_code(w->kernel), p.tiles, THREADS, arguments, d);
  nxi_gpu_align_end(r->gpu, &a);
  return status;
}

static void release(void *state) {
  work *w = state;
  nxi_kernel_release(w->kernel);
  nxi_free(w);
}

const nxi_gpu_functions nxi_gpu_window_functions = {.by = "a kernel of tensor cores",
                                                    .takes = takes,
                                                    .prepare = prepare,
                                                    .run = run,
                                                    .release = release,
                                                    .captured = true};
