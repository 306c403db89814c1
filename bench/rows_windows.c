/* SPDX-License-Identifier: ISC */
/* Convolutions as unfold, reshape and matmul, and gradients of their weights. They are compared
 * with the same work where the unfolded operand is stored as a whole, and with NumPy, which copies
 * the same windows to existing memory and multiplies them. */
#include "bench.h"

enum { RESULT = 1, GRADIENT = 2 };

typedef struct convolution {
  bench_lab *lab;
  nx_tensor *x, *w, *upstream;
  const nx_window *window;
  int64_t columns[3]; /* images, channels and kernel, positions */
  int makes;
} convolution;

static void run_convolution(void *state) {
  convolution *c = state;
  nx_scope *scope = nx_scope_begin(c->lab->context);
  nx_tensor *y[2], *windows = nx_reshape(nx_unfold(c->x, c->window), c->columns, 3, 0);
  size_t n = 0;
  if (c->makes & RESULT) y[n++] = nx_matmul(c->w, windows);
  if (c->makes & GRADIENT) {
    nx_tensor *each = nx_matmul(c->upstream, nx_permute(windows, NX_AXES(0, 2, 1)));
    y[n++] = nx_reduce_sum(each, NX_AXES(0), 0);
  }
  bench_check(nx_realize(c->lab->context, y, n, NULL));
  nx_scope_end(scope);
}

static void run_whole(void *state) {
  bench_check(nx_debug_set("nopacking"));
  run_convolution(state);
  bench_check(nx_debug_set(NULL));
}

static nx_tensor *random_of(bench_lab *lab, nx_dtype dtype, int32_t rank, const int64_t *shape) {
  if (dtype != NX_C64) return bench_random(lab, dtype, rank, shape, -1, 1);
  nx_tensor *real = bench_random(lab, NX_F32, rank, shape, -1, 1),
            *imaginary = bench_random(lab, NX_F32, rank, shape, -1, 1),
            *made = nx_complex(real, imaginary);
  bench_check(nx_realize(lab->context, &made, 1, NULL));
  nx_tensor_release(real);
  nx_tensor_release(imaginary);
  return made;
}

/* x: images, channels, then n axes of `size`; as many channels come out, through windows of
 * `kernel` on each axis. */
static void run_row(bench_lab *lab, const char *name, int32_t n, int64_t images, int64_t channels,
                    int64_t size, int64_t kernel, nx_dtype dtype, int makes) {
  const int64_t shape[4] = {images, channels, size, size}, k[2] = {kernel, kernel},
                around[2] = {kernel / 2, kernel / 2};
  if (!bench_wanted(&lab->out, name)) return;
  const nx_window window = {
      .size = sizeof window, .n = n, .kernel = k, .before = around, .after = around};
  int64_t taps = n == 1 ? kernel : kernel * kernel, points = n == 1 ? size : size * size;
  convolution c = {
      .lab = lab, .window = &window, .columns = {images, channels * taps, points}, .makes = makes};
  c.x = random_of(lab, dtype, 2 + n, shape);
  c.w = random_of(lab, dtype, 2, (const int64_t[]){channels, channels * taps});
  c.upstream = random_of(lab, dtype, 3, (const int64_t[]){images, channels, points});
  bench_way ways[3] = {{.run = run_convolution, .state = &c},
                       {.run = run_whole, .state = &c},
                       {.run = bench_peer_run, .state = lab->numpy, .foreign = true}};
  bool numpy = bench_peer_setup(lab->numpy, name);
  bench_interleave(ways, numpy ? 3 : 2, lab->rounds, 1e-3);
  bench_row row = {.name = name,
                   .dtype = nx_dtype_name(dtype),
                   .size = images * channels * points,
                   .threads = lab->threads,
                   .ms = ways[0].median * 1e3};
  if (numpy) bench_add_peer(&row, "NumPy", ways[2].median * 1e3);
  bench_add_peer(&row, "written whole", ways[1].median * 1e3);
  bench_print(&lab->out, &row);
  nx_tensor_release(c.x);
  nx_tensor_release(c.w);
  nx_tensor_release(c.upstream);
}

void bench_windows(bench_lab *lab) {
  run_row(lab, "conv2 8 64 56 3", 2, 8, 64, 56, 3, NX_F32, RESULT);
  run_row(lab, "conv2 1 64 224 3", 2, 1, 64, 224, 3, NX_F32, RESULT);
  run_row(lab, "conv2 2 1024 14 3", 2, 2, 1024, 14, 3, NX_F32, RESULT);
  run_row(lab, "conv2c64 8 32 56 3", 2, 8, 32, 56, 3, NX_C64, RESULT);
  run_row(lab, "conv2grad 8 64 56 3", 2, 8, 64, 56, 3, NX_F32, GRADIENT);
  run_row(lab, "conv2grad 1 64 224 3", 2, 1, 64, 224, 3, NX_F32, GRADIENT);
  run_row(lab, "conv2both 8 64 56 3", 2, 8, 64, 56, 3, NX_F32, RESULT | GRADIENT);
  run_row(lab, "conv1 8 64 8192 9", 1, 8, 64, 8192, 9, NX_F32, RESULT);
}
