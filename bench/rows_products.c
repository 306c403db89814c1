/* SPDX-License-Identifier: ISC */
/* Products of matrices and vectors, beside the best BLAS of a peer, and the models that consist of
 * them. */
#include <math.h>

#include "expressions.h"

static nx_tensor *product(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_matmul(x[0], x[1]);
}
static nx_tensor *rectified(const bench_lab *lab, nx_tensor *x) {
  return nx_max(x, bench_number(lab, x, 0));
}
static nx_tensor *with_bias(const bench_lab *lab, nx_tensor **x) {
  return rectified(lab, nx_add(nx_matmul(x[0], x[1]), x[2]));
}
static nx_tensor *with_gelu(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *y = nx_add(nx_matmul(x[0], x[1]), x[2]);
  return bench_gelu(lab, &y);
}
/* Bytes with sums of 32 bits. */
static nx_tensor *of_bytes(const bench_lab *lab, nx_tensor **x) {
  return (void)lab, nx_matmul(nx_cast(x[0], NX_I32), nx_cast(x[1], NX_I32));
}
/* x[1]: a matrix of bytes with a scale for each group of 64 rows, x[2]. */
static nx_tensor *dequantised(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info w = bench_info(x[1]), s = bench_info(x[2]);
  int64_t groups = s.shape[0], columns = w.shape[1];
  (void)lab;
  nx_tensor *weights =
      nx_mul(nx_reshape(nx_cast(x[1], NX_F32), NX_SHAPE(groups, w.shape[0] / groups, columns), 0),
             nx_reshape(x[2], NX_SHAPE(groups, 1, columns), 0));
  return nx_matmul(x[0], nx_reshape(weights, NX_SHAPE(w.shape[0], columns), 0));
}

static const bench_workload products[] = {
    {"matmul 100", "matmul", product, "f32:100x100:-1:1 f32:100x100:-1:1", 0, BENCH_COMPUTES, 0},
    {"matmul 256", "matmul", product, "f32:256x256:-1:1 f32:256x256:-1:1", 0, BENCH_COMPUTES, 0},
    {"matmul 1009", "matmul", product, "f32:1009x1009:-1:1 f32:1009x1009:-1:1", 0, BENCH_COMPUTES,
     0},
    {"matmul 1024", "matmul", product, "f32:1024x1024:-1:1 f32:1024x1024:-1:1", 0, BENCH_COMPUTES,
     0},
    {"matmul 1024 bias relu", "matmulrelu", with_bias,
     "f32:1024x1024:-1:1 f32:1024x1024:-1:1 f32:1024:-1:1", 0, BENCH_COMPUTES, 0},
    {"matmul 1024 bias gelu", "matmulgelu", with_gelu,
     "f32:1024x1024:-1:1 f32:1024x1024:-1:1 f32:1024:-1:1", 0, BENCH_COMPUTES, 0},
    {"matmul 512 f64", "matmul", product, "f64:512x512:-1:1 f64:512x512:-1:1", 0, BENCH_COMPUTES,
     0},
    {"matmul 256 c64", "matmul", product, "c64:256x256:-1:1 c64:256x256:-1:1", 0, BENCH_COMPUTES,
     0},
    {"matmul 1024 bf16", "matmul", product, "bf16:1024x1024:-1:1 bf16:1024x1024:-1:1", 0,
     BENCH_COMPUTES, 0},
    {"matmul 1024 i8 sums of i32", "matmulbytes", of_bytes,
     "i8:1024x1024:-99:99 i8:1024x1024:-99:99", 0, BENCH_COMPUTES, 0},
    {"vector x matrix 4096", "matmul", product, "f32:1x4096:-1:1 f32:4096x4096:-1:1", 0.7, 0, 0},
    {"matrix 4096 x vector", "matmul", product, "f32:4096x4096:-1:1 f32:4096x1:-1:1", 0.7, 0, 0},
    {"vector x matrix 1009x4098", "matmul", product, "f32:1x1009:-1:1 f32:1009x4098:-1:1", 0, 0, 0},
    {"matrix 4098x1009 x vector", "matmul", product, "f32:4098x1009:-1:1 f32:1009x1:-1:1", 0, 0, 0},
    {"matmul 4096x1024x16", "matmul", product, "f32:4096x1024:-1:1 f32:1024x16:-1:1", 0,
     BENCH_COMPUTES, 0},
    {"1024 matmuls of 16", "matmul", product, "f32:1024x16x16:-1:1 f32:1024x16x16:-1:1", 0,
     BENCH_COMPUTES, 0},
    {"256 matmuls of 64", "matmul", product, "f32:256x64x64:-1:1 f32:256x64x64:-1:1", 0,
     BENCH_COMPUTES, 0},
    {"vector x i8 matrix, scaled by 64", "dequantised", dequantised,
     "f32:1x4096:-1:1 i8:4096x4096:-99:99 f32:64x4096:0:0.01", 0, 0, 0},
};

/* Squares of other sizes. */
#define SQUARE(n, type)                                      \
  {"matmul " #n " " #type,                                   \
   "matmul",                                                 \
   product,                                                  \
   #type ":" #n "x" #n ":-1:1 " #type ":" #n "x" #n ":-1:1", \
   0,                                                        \
   BENCH_COMPUTES | BENCH_SIZE,                              \
   0}
static const bench_workload squares[] = {
    SQUARE(32, f32),   SQUARE(64, f32),   SQUARE(128, f32),  SQUARE(512, f32),
    SQUARE(2048, f32), SQUARE(32, f64),   SQUARE(64, f64),   SQUARE(128, f64),
    SQUARE(256, f64),  SQUARE(1024, f64), SQUARE(2048, f64),
};

void bench_products(bench_lab *lab) {
  bench_workloads(lab, products, sizeof products / sizeof *products);
  bench_workloads(lab, squares, sizeof squares / sizeof *squares);
}

/* ---- models */

static nx_tensor *transposed(nx_tensor *x) {
  int32_t axes[8], rank = bench_info(x).rank;
  for (int32_t i = 0; i < rank; i++) axes[i] = i;
  axes[rank - 1] = rank - 2;
  axes[rank - 2] = rank - 1;
  return nx_permute(x, axes, (size_t)rank);
}

/* The weights after a step of gradient descent: x inputs, y in [0, 1], w. */
static nx_tensor *logistic_step(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *score = nx_matmul(x[0], x[2]), *one = bench_number(lab, score, 1),
            *guess = nx_div(one, nx_add(one, nx_exp(nx_neg(score)))),
            *slope = nx_matmul(transposed(x[0]), nx_sub(guess, x[1]));
  double rate = 0.1 / (double)bench_info(x[0]).shape[0];
  return nx_sub(x[2], nx_mul(slope, bench_number(lab, slope, rate)));
}

/* The weights of the first layer after a step: x inputs, t targets, u and v the two layers. */
static nx_tensor *network_step(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *hidden = rectified(lab, nx_matmul(x[0], x[2])), *y = nx_matmul(hidden, x[3]),
            *dy = nx_sub(bench_softmax_of(y), x[1]), *zero = bench_number(lab, y, 0),
            *passed = nx_cast(nx_cmpgt(hidden, zero), NX_F32),
            *dhidden = nx_mul(nx_matmul(dy, transposed(x[3])), passed),
            *du = nx_matmul(transposed(x[0]), dhidden), *dv = nx_matmul(transposed(hidden), dy),
            *rate = bench_number(lab, y, 1e-4), *u = nx_sub(x[2], nx_mul(du, rate)),
            *v = nx_sub(x[3], nx_mul(dv, rate));
  int64_t n = nx_elements(u), m = nx_elements(v);
  nx_tensor *both[] = {nx_reshape(u, NX_SHAPE(n), NX_MAY_COPY),
                       nx_reshape(v, NX_SHAPE(m), NX_MAY_COPY)};
  return nx_cat(both, 2, 0);
}

static nx_tensor *gelu_network(const bench_lab *lab, nx_tensor **x) {
  nx_tensor *hidden = nx_matmul(x[0], x[1]);
  return nx_matmul(bench_gelu(lab, &hidden), x[2]);
}

/* Queries, keys, values: heads, positions, features. */
static nx_tensor *attention_of(const bench_lab *lab, nx_tensor *q, nx_tensor *k, nx_tensor *v) {
  double scale = 1 / sqrt((double)bench_info(q).shape[2]);
  nx_tensor *scores = nx_mul(nx_matmul(q, transposed(k)), bench_number(lab, q, scale));
  return nx_matmul(bench_softmax_of(scores), v);
}
static nx_tensor *attention(const bench_lab *lab, nx_tensor **x) {
  return attention_of(lab, x[0], x[1], x[2]);
}
/* No position sees a later one. */
static nx_tensor *causal_attention(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info info = bench_info(x[0]);
  int64_t n = info.shape[1];
  nx_tensor *at = nx_arange(lab->context, lab->device, NX_I32, NX_INTEGER(0), NX_INTEGER(1), n),
            *later = nx_cmpgt(nx_reshape(at, NX_SHAPE(1, n), 0), nx_reshape(at, NX_SHAPE(n, 1), 0)),
            *scores = nx_mul(nx_matmul(x[0], transposed(x[1])),
                             bench_number(lab, x[0], 1 / sqrt((double)info.shape[2])));
  scores = nx_where(later, bench_number(lab, scores, -1e30), scores);
  return nx_matmul(bench_softmax_of(scores), x[2]);
}

/* Heads of a matrix of positions and features: [heads, positions, features of one]. */
static nx_tensor *heads_of(nx_tensor *x, int64_t heads) {
  const nx_tensor_info info = bench_info(x);
  nx_tensor *y = nx_reshape(x, NX_SHAPE(info.shape[0], heads, info.shape[1] / heads), NX_MAY_COPY);
  return nx_permute(y, NX_AXES(1, 0, 2));
}

/* A block of a transformer without scales of its norms: x, the weights of queries, keys and values,
 * of the output, and of two layers. */
static nx_tensor *transformer_block(const bench_lab *lab, nx_tensor **x) {
  const nx_tensor_info info = bench_info(x[0]);
  int64_t n = info.shape[0], width = info.shape[1], heads = 12;
  nx_tensor *normed = bench_layer_norm(lab, x), *part[3];
  for (int i = 0; i < 3; i++) part[i] = heads_of(nx_matmul(normed, x[1 + i]), heads);
  nx_tensor *seen = nx_permute(causal_attention(lab, part), NX_AXES(1, 0, 2)),
            *joined = nx_reshape(seen, NX_SHAPE(n, width), NX_MAY_COPY),
            *y = nx_add(x[0], nx_matmul(joined, x[4])), *inner[3] = {NULL, x[5], x[6]};
  inner[0] = bench_layer_norm(lab, &y);
  return nx_add(y, gelu_network(lab, inner));
}

static const bench_workload models[] = {
    {"logistic regression step 10000x100", "logistic", logistic_step,
     "f32:10000x100:-1:1 f32:10000x1:0:1 f32:100x1:-1:1", 0, BENCH_COMPUTES, 0},
    {"network step 128x784-512-10", "networkstep", network_step,
     "f32:128x784:0:1 f32:128x10:0:1 f32:784x512:-0.05:0.05 f32:512x10:-0.05:0.05", 0,
     BENCH_COMPUTES, 0},
    {"gelu network 256x768x3072", "gelunetwork", gelu_network,
     "f32:256x768:-1:1 f32:768x3072:-0.05:0.05 f32:3072x768:-0.05:0.05", 0, BENCH_COMPUTES, 0},
    {"attention 12x1024x64", "attention", attention,
     "f32:12x1024x64:-1:1 f32:12x1024x64:-1:1 f32:12x1024x64:-1:1", 0, BENCH_COMPUTES, 0},
    {"causal attention 12x1024x64", "causal", causal_attention,
     "f32:12x1024x64:-1:1 f32:12x1024x64:-1:1 f32:12x1024x64:-1:1", 0, BENCH_COMPUTES, 0},
    {"attention of 1 to 2048, 12x64", "attention", attention,
     "f32:12x1x64:-1:1 f32:12x2048x64:-1:1 f32:12x2048x64:-1:1", 0, 0, 0},
    {"transformer block 512x768", "transformer", transformer_block,
     "f32:512x768:-1:1 f32:768x768:-0.05:0.05 f32:768x768:-0.05:0.05 f32:768x768:-0.05:0.05 "
     "f32:768x768:-0.05:0.05 f32:768x3072:-0.05:0.05 f32:3072x768:-0.05:0.05",
     0, BENCH_COMPUTES, 0},
};

void bench_models(bench_lab *lab) { bench_workloads(lab, models, sizeof models / sizeof *models); }
