/* SPDX-License-Identifier: ISC */
/* The call matmul_windows: products of windows of images with weights, by the kernels of
 * windows.cuh. */
#include "aligned.h"
#include "calls.h"
#include "codegen_cuda/codegen_cuda.h"
#include "ir/alloc.h"
#include "runtime/cuda/own_code.h"

/* Of a block of threads: rows of its tile; of the kernels of tensor cores columns of the three
 * sizes that there are, of f32 columns, and threads. STEP: bytes of the inner extent that are
 * multiplied at a time, STEPS: and held of that. */
enum { ROWS = 128, NARROW = 64, MIDDLE = 128, WIDE = 256, THREADS = 256, FLOAT_THREADS = 128 };
enum { STEP = 64, STEPS = 4, MOST_TAPS = 61, MOST = 1 << 30 };
/* Bytes of what is known of the rows of a tile, or of the taps of two steps. */
enum { LINES = ROWS * 16, TAPS = 2 * 16 * 8 };

/* As nx_window_axis and nx_window_product. */
typedef struct window_axis {
  int32_t extent, count, step, taps, dilation, before;
} window_axis;
typedef struct window_product {
  window_axis axes[2];
  int32_t features, columns, groups, rows, depth, wide;
  uint32_t row_tiles, column_tiles, tiles;
} window_product;

typedef struct work {
  nxi_kernel *kernel;
  window_product product;
  int32_t threads;
} work;

static bool image_first(const nxg_call *call) {
  return call->attrs[NXG_WINDOWS_LAYOUT] & NXG_WINDOWS_IMAGE_FIRST;
}
static bool result_first(const nxg_call *call) {
  return call->attrs[NXG_WINDOWS_LAYOUT] & NXG_WINDOWS_RESULT_FIRST;
}
static bool is_float(const nxg_call *call) { return call->operands[0].dtype == NX_F32; }
static int64_t features_of(const nxg_call *call) {
  return call->operands[1].shape[image_first(call) ? 1 : 3];
}
static int64_t groups_of(const nxg_call *call) {
  return call->operands[0].shape[image_first(call) ? 1 : 3] / features_of(call);
}

static window_axis axis_of(const nxg_call *call, int number) {
  const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * number;
  const int at = 1 + number + image_first(call);
  return (window_axis){.extent = (int32_t)call->operands[0].shape[at],
                       .count = (int32_t)a[NXG_WINDOWS_COUNT],
                       .step = (int32_t)a[NXG_WINDOWS_STEP],
                       .taps = (int32_t)call->operands[1].shape[at],
                       .dilation = (int32_t)a[NXG_WINDOWS_DILATION],
                       .before = (int32_t)a[NXG_WINDOWS_BEFORE]};
}

/* Whether the last element that windows have along an axis is counted in 30 bits. */
static bool is_near(const nxg_call *call, int number) {
  const int64_t *a = call->attrs + NXG_WINDOWS_AXIS * number;
  const int at = 1 + number + image_first(call);
  const double reach = (double)a[NXG_WINDOWS_COUNT] * (double)a[NXG_WINDOWS_STEP] +
                       (double)call->operands[1].shape[at] * (double)a[NXG_WINDOWS_DILATION];
  return reach < MOST && call->operands[0].shape[at] < MOST;
}

/* What a kernel reads 16 bytes of at once has that many neighbours. */
static bool suits(const nxg_call *call) {
  const nxg_array *x = &call->operands[0], *w = &call->operands[1];
  const int64_t each = 16 / nxi_dtype_size(x->dtype), columns = w->shape[0] / groups_of(call);
  const double size = (double)x->shape[1] * (double)x->shape[2] * (double)x->shape[3];
  if (image_first(call)) return w->shape[2] * w->shape[3] <= MOST_TAPS && size < MOST;
  return features_of(call) % each == 0 &&
         (is_float(call) || result_first(call) || columns % 2 == 0);
}

static int32_t tile_columns(const nxg_call *call) {
  const int64_t columns = call->operands[1].shape[0] / groups_of(call);
  return is_float(call) || columns <= NARROW ? NARROW : columns <= MIDDLE ? MIDDLE : WIDE;
}

static int64_t shared_bytes(const nxg_call *call) {
  const int64_t ring = (int64_t)STEPS * (ROWS + tile_columns(call)) * STEP;
  return !is_float(call) ? ring : ring + (image_first(call) ? TAPS : LINES);
}

static bool takes(nxi_gpu *g, const nxg_call *call) {
  const nxg_array *x = &call->operands[0], *w = &call->operands[1];
  if (call->op != NXG_matmul_windows || features_of(call) == 0 || w->shape[0] == 0) return false;
  const double rows = (double)x->shape[0] * (double)call->attrs[NXG_WINDOWS_COUNT] *
                      (double)call->attrs[NXG_WINDOWS_AXIS + NXG_WINDOWS_COUNT],
               depth = (double)w->shape[1] * (double)w->shape[2] * (double)w->shape[3];
  return is_near(call, 0) && is_near(call, 1) && rows < MOST && depth > 0 && depth < MOST &&
         (double)w->shape[0] * (rows / ROWS + 1) < MOST && suits(call) &&
         shared_bytes(call) <= nxi_gpu_properties(g)->shared_bytes;
}

static uint32_t tiles_of(int32_t extent, int32_t tile) {
  return (uint32_t)((extent + tile - 1) / tile);
}

static void describe(const nxg_call *call, window_product *p) {
  const int32_t groups = (int32_t)groups_of(call);
  *p = (window_product){.axes = {axis_of(call, 0), axis_of(call, 1)},
                        .features = (int32_t)features_of(call),
                        .columns = (int32_t)call->operands[1].shape[0] / groups,
                        .groups = groups};
  p->rows = (int32_t)call->operands[0].shape[0] * p->axes[0].count * p->axes[1].count;
  p->depth = p->axes[0].taps * p->axes[1].taps * p->features;
  p->row_tiles = tiles_of(p->rows, ROWS);
  p->column_tiles = tiles_of(p->columns, tile_columns(call));
  p->tiles = p->row_tiles * p->column_tiles * (uint32_t)groups;
}

/* The function of windows.cuh, and what its operands are made of. */
static void print_instance(const nxg_call *call, const window_product *p, int32_t threads,
                           nxi_text *text) {
  const char *type = is_float(call) ? "float" : "nx_u16",
             *first = result_first(call) ? "true" : "false";
  nxi_text_add(text,
               "extern \"C\" __global__ void __launch_bounds__(%d, %d) nx_windows(const %s *image, "
               "const %s *weights, %s *y, nx_window_product p) {\n"
               "  extern __shared__ __align__(1024) nx_u8 nx_shared[];\n",
               threads,
               is_float(call)               ? 3
               : tile_columns(call) == WIDE ? 1
                                            : 2,
               type, type, type);
  if (is_float(call))
    nxi_text_add(text,
                 "  nx_multiply_float_windows<%s, %s, %s>(image, weights, y, p, nx_shared);\n}",
                 image_first(call) ? "true" : "false", first, p->depth % 4 == 0 ? "true" : "false");
  else
    nxi_text_add(text, "  nx_multiply_windows<%s, %d, %s>(image, weights, y, p, nx_shared);\n}",
                 call->operands[0].dtype == NX_BF16 ? "nx_bf16" : "nx_f16", tile_columns(call),
                 first);
}

static nx_status get_kernel(nxi_gpu *g, const nxg_call *call, work *w, nxi_diag *d) {
  nxi_text text = {0};
  w->threads = is_float(call) ? FLOAT_THREADS : THREADS;
  print_instance(call, &w->product, w->threads, &text);
  nx_status status = text.failed ? nxi_oom(d) : NX_OK;
  const nxi_own_code code = {.tools = nxu_mma_code(),
                             .body = nxu_windows_code(),
                             .instance = text.data,
                             .entry = "nx_windows",
                             .threads = w->threads,
                             .shared_bytes = shared_bytes(call),
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

/* Whether the result's lines begin where words of 16 bytes do; of 16 bits words of 4. */
static bool is_wide(const nxg_call *call, const window_product *p, uint64_t y) {
  const int64_t bytes = nxi_dtype_size(call->results[0].dtype), word = is_float(call) ? 16 : 4,
                line = result_first(call) ? (int64_t)p->axes[0].count * p->axes[1].count
                                          : (int64_t)p->columns;
  return y % (uint64_t)word == 0 && line * bytes % word == 0;
}

static nx_status run(nxi_gpu_call_run *r, nxi_diag *d) {
  const work *w = r->work->state;
  window_product p = w->product;
  nxi_gpu_aligned a;
  if (p.tiles == 0) return NX_OK;
  nx_status status = nxi_gpu_align(r, true, &a, d);
  if (status != NX_OK) return status;
  uint64_t image = a.at[0], weights = a.at[1], y = r->results[0];
  p.wide = is_wide(r->call, &p, y);
  void *arguments[] = {&image, &weights, &y, &p};
  status = nxi_gpu_launch(nxi_kernel_code(w->kernel), p.tiles, w->threads, arguments, d);
  nxi_gpu_align_end(r->gpu, &a);
  return status;
}

static void release(void *state) {
  work *w = state;
  nxi_kernel_release(w->kernel);
  nxi_free(w);
}

const nxi_gpu_functions nxi_gpu_window_functions = {.by = "a kernel without windows in memory",
                                                    .takes = takes,
                                                    .prepare = prepare,
                                                    .run = run,
                                                    .release = release,
                                                    .captured = true};
