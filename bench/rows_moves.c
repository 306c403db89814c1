/* SPDX-License-Identifier: ISC */
/* Elements that move: transposes, strides, joins, rolls; and images of bytes with their channels
 * side by side. */
#include "expressions.h"

static nx_tensor *symmetric(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_add(x[0], bench_transposed_view(x[0]));
}
static nx_tensor *permuted(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_permute(x[0], NX_AXES(0, 2, 1, 3)));
}
static nx_tensor *reversed(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_flip(x[0], NX_AXES(1)));
}
static nx_tensor *each_third(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(bench_each(x[0], 0, 0, 3));
}
static nx_tensor *each_third_column(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(bench_each(x[0], 1, 1, 3));
}
static nx_tensor *thirds_added(const bench_lab *lab, nx_tensor **x) {
  (void)lab;
  return nx_add(nx_add(bench_each(x[0], 0, 0, 3), bench_each(x[0], 0, 1, 3)),
                bench_each(x[0], 0, 2, 3));
}
static nx_tensor *padded(const bench_lab *lab, nx_tensor **x) {
  const int64_t two[] = {2, 2};
  return (void)lab, nx_contiguous(nx_pad(x[0], two, two, 2, NX_NUMBER(0)));
}

static const bench_workload moves[] = {
    {"transpose 4096^2", "transpose", bench_transposed, "f32:4096x4096", 0.7, 0, 0},
    {"transpose 4098^2", "transpose", bench_transposed, "f32:4098x4098", 0.7, 0, 0},
    {"transpose 1009x4098", "transpose", bench_transposed, "f32:1009x4098", 0.7, 0, 0},
    {"transpose 100000x100", "transpose", bench_transposed, "f32:100000x100", 0.7, 0, 0},
    {"transpose 1000^2 f64", "transpose", bench_transposed, "f64:1000x1000", 0.7, 0, 0},
    {"transpose 2048^2 f64", "transpose", bench_transposed, "f64:2048x2048", 0.7, 0, 0},
    {"transpose 4096^2 f64", "transpose", bench_transposed, "f64:4096x4096", 0.7, 0, 0},
    {"A+A^T 4096^2", "symmetric", symmetric, "f32:4096x4096", 0.6, 0, 0},
    {"A+A^T 1009^2", "symmetric", symmetric, "f32:1009x1009", 0, 0, 0},
    {"heads 8x512x12x64 permuted", "permute", permuted, "f32:8x512x12x64", 0.7, 0, 0},
    {"reversed rows 4096^2", "flip", reversed, "f32:4096x4096", 0.7, 0, 0},
    {"each third of 1.2e7", "third", each_third, "f32:12000000", 0, 0, 64e6},
    {"each third column 4098x3000", "thirdcolumn", each_third_column, "f32:4098x3000", 0, 0,
     65.6e6},
    {"thirds of 1.2e7 added", "thirds", thirds_added, "f32:12000000", 0.7, 0, 0},
    {"padded 4096^2", "pad", padded, "f32:4096x4096", 0.7, 0, 0},
    {"concat 4 then double 1e4", "concat", bench_concat, "f32:50x50 f32:50x50 f32:50x50 f32:50x50",
     0.7, 0, 0},
    {"concat 4 then double 2e6", "concat", bench_concat,
     "f32:500x1000 f32:500x1000 f32:500x1000 f32:500x1000", 0.7, 0, 0},
    {"concat 4 then double 1e7", "concat", bench_concat,
     "f32:2500x1001 f32:2500x1001 f32:2500x1001 f32:2500x1001", 0.7, 0, 0},
    {"concat 4 inner 2e6", "concat1", bench_concat_inner,
     "f32:1000x500 f32:1000x500 f32:1000x500 f32:1000x500", 0.7, 0, 0},
    {"roll + add 1e4", "roll", bench_roll_add, "f32:100x100", 0.7, 0, 0},
    {"roll + add 1e6", "roll", bench_roll_add, "f32:1000x1000", 0.7, 0, 0},
    {"roll + add 1e7", "roll", bench_roll_add, "f32:10000000", 0.7, 0, 0},
    {"mean of a stack of 4 1e5", "stackmean", bench_stack_mean,
     "f32:100000 f32:100000 f32:100000 f32:100000", 0.7, 0, 0},
    {"mean of a stack of 4 4e6", "stackmean", bench_stack_mean,
     "f32:4000000 f32:4000000 f32:4000000 f32:4000000", 0.7, 0, 0},
};

void bench_moves(bench_lab *lab) { bench_workloads(lab, moves, sizeof moves / sizeof *moves); }

/* ---- images of bytes: height, width, channels */

/* (77 r + 150 g + 29 b) / 256, in 16 bits. */
static nx_tensor *grey(const bench_lab *lab, nx_tensor **x) {
  static const int64_t weights[] = {77, 150, 29};
  nx_tensor *sum = NULL;
  const nx_tensor_info info = bench_info(x[0]);
  (void)lab;
  for (int32_t c = 0; c < 3; c++) {
    nx_tensor *plane =
                  nx_reshape(bench_range(x[0], 2, c, 1), NX_SHAPE(info.shape[0], info.shape[1]), 0),
              *weighed = nx_binary_i64(nx_cast(plane, NX_U16), NX_BINARY_MUL, weights[c]);
    sum = sum == NULL ? weighed : nx_add(sum, weighed);
  }
  return nx_cast(nx_binary_i64(sum, NX_BINARY_SHR, 8), NX_U8);
}
static nx_tensor *planes(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_contiguous(nx_permute(x[0], NX_AXES(0, 3, 1, 2)));
}
/* As a network takes them: planes of f32, scaled and shifted. */
static nx_tensor *scaled_planes(const bench_lab *lab, nx_tensor **x) {
  (void)lab;
  nx_tensor *y = nx_cast(nx_permute(x[0], NX_AXES(0, 3, 1, 2)), NX_F32);
  return nx_binary_f64(nx_binary_f64(y, NX_BINARY_MUL, 1.0 / 128), NX_BINARY_SUB, 1);
}
static nx_tensor *brightened(const bench_lab *lab, nx_tensor **x) {
  (void)lab;
  nx_tensor *y = nx_binary_i64(nx_cast(x[0], NX_U16), NX_BINARY_ADD, 40);
  return nx_cast(nx_binary_i64(y, NX_BINARY_MIN, 255), NX_U8);
}

static const bench_workload images[] = {
    {"grey of 3 channels 1080x1920", "grey", grey, "u8:1080x1920x3:0:256", 0, 0, 0},
    {"grey of 4 channels 1080x1920", "grey", grey, "u8:1080x1920x4:0:256", 0, 0, 0},
    {"channels first 8x224x224x3 u8", "planes", planes, "u8:8x224x224x3:0:256", 0, 0, 0},
    {"scaled planes 8x224x224x3", "scaledplanes", scaled_planes, "u8:8x224x224x3:0:256", 0, 0, 0},
    {"brightened 1080x1920x3 u8", "brightened", brightened, "u8:1080x1920x3:0:256", 0, 0, 0},
    {"8 rolls of an i8 image 1000^2", "neighbours", bench_neighbours, "i8:1000x1000:-9:9", 0, 0, 0},
    {"8 rolls of an i8 image 4000^2", "neighbours", bench_neighbours, "i8:4000x4000:-9:9", 0, 0, 0},
};

void bench_images(bench_lab *lab) { bench_workloads(lab, images, sizeof images / sizeof *images); }

/* ---- elements by number */

static nx_tensor *numbers_of_rows(nx_tensor *table, nx_tensor *numbers) {
  int64_t n = bench_info(numbers).shape[0], width = bench_info(table).shape[1];
  return nx_expand(nx_reshape(numbers, NX_SHAPE(n, 1), 0), NX_SHAPE(n, width));
}
static nx_tensor *gathered(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_gather(x[0], numbers_of_rows(x[0], x[1]), 0);
}
static nx_tensor *scatter_added(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_scatter(x[0], numbers_of_rows(x[0], x[1]), x[2], 0, NX_SCATTER_ADD, 0);
}
static nx_tensor *one_hot(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_one_hot(x[0], bench_info(x[1]).shape[0], NX_F32);
}
/* x[0]: bytes; x[1]: zeros, one a value. */
static nx_tensor *histogram(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *ones =
      nx_full(lab->context, lab->device, NX_I32, bench_info(x[0]).shape, 1, NX_INTEGER(1));
  return nx_scatter(x[1], nx_cast(x[0], NX_I32), ones, 0, NX_SCATTER_ADD, 0);
}
/* The 50 largest of each row. */
static nx_tensor *largest(const bench_lab *lab, nx_tensor **x) {
  int64_t width = bench_info(x[0]).shape[1];
  nx_tensor *values = NULL;
  (void)lab;
  nx_top_k(x[0], width < 50 ? width : 50, 1, 0, NX_I32, &values, NULL); /* errors are held */
  return values;
}

static const bench_workload indexed[] = {
    {"gather 8192 of 50000 rows of 512", "gather", gathered, "f32:50000x512 i32:8192:0:50000", 0, 0,
     2.0 * 4 * 8192 * 512},
    {"scatter-add 8192 to 50000 rows of 512", "scatteradd", scatter_added,
     "f32:50000x512 i32:8192:0:50000 f32:8192x512", 0, 0, 0},
    {"scatter-add 12000 to 2000 rows of 32", "scatteradd", scatter_added,
     "f32:2000x32 i32:12000:0:2000 f32:12000x32", 0, 0, 0},
    {"scatter-add 20000 to 50 rows of 9", "scatteradd", scatter_added,
     "f32:50x9 i32:20000:0:50 f32:20000x9", 0, 0, 0},
    {"gather 1e6 of 1e6 numbers", "take", gathered, "f32:1000000x1 i32:1000000:0:1000000", 0, 0, 0},
    {"one-hot 8192 of 1000", "onehot", one_hot, "i32:8192:0:1000 f32:1000", 0, 0, 0},
    {"histogram of 4e6 bytes", "histogram", histogram, "u8:4000000:0:256 i32:256:0:1", 0, 0, 0},
    {"top 50 of 64x32000", "top50", largest, "f32:64x32000", 0, BENCH_COMPUTES, 0},
    {"top 50 of 1e6", "top50", largest, "f32:1x1000000", 0, BENCH_COMPUTES, 0},
};

void bench_indexed(bench_lab *lab) {
  bench_workloads(lab, indexed, sizeof indexed / sizeof *indexed);
}
