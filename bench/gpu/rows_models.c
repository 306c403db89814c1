/* SPDX-License-Identifier: ISC */
/* Attention and convolutions on a GPU. */
#include <math.h>
#include <stdio.h>

#include "gpu.h"

/* What hides scores: nothing, later rows, a condition for each row that all heads have; or a
 * summand for each row and head. */
typedef enum mask { ALL, CAUSAL, CONDITION, SUMMAND } mask;

/* Attention of heads x rows x width, of which some share keys and values, all of the dtype, or with
 * scores of f32, or the softmax, or with that and the weights, as Flax has it; or a convolution of
 * batch x features x size x size. */
typedef struct workload {
  const char *name;
  nx_dtype dtype;
  bool attention;
  int64_t heads, rows, width;
  mask mask;
  int64_t shared; /* heads of the same keys */
  int64_t batch, features, size, out, window, stride, groups;
  bool last; /* features are the last axis of images and weights */
  enum { NARROW, WIDE, LATE, WHOLE } scores;
} workload;

#define ATTENTION_OF(name, type, heads, rows, width, mask, shared, scores) \
  {name, type, true, heads, rows, width, mask, shared, 0, 0, 0, 0, 0, 0, 0, false, scores}
#define ATTENTION(name, type, heads, rows, width, mask, shared) \
  ATTENTION_OF(name, type, heads, rows, width, mask, shared, NARROW)
#define WIDE_ATTENTION(name, type, heads, rows, width, mask, shared) \
  ATTENTION_OF(name, type, heads, rows, width, mask, shared, WIDE)
#define CONVOLUTION(name, type, batch, features, size, out, window, stride, groups, last) \
  {name,     type, false, 0,      0,      0,      ALL,  1,     batch,                     \
   features, size, out,   window, stride, groups, last, NARROW}
static const workload workloads[] = {
    ATTENTION("attention 16x2048x64", NX_F32, 16, 2048, 64, ALL, 1),
    ATTENTION("attention 16x2048x64 bf16", NX_BF16, 16, 2048, 64, ALL, 1),
    ATTENTION("attention 16x2048x64 f16", NX_F16, 16, 2048, 64, ALL, 1),
    ATTENTION("attention 16x2048x64 causal bf16", NX_BF16, 16, 2048, 64, CAUSAL, 1),
    ATTENTION("attention 16x2048x64 condition bf16", NX_BF16, 16, 2048, 64, CONDITION, 1),
    ATTENTION("attention 16x2048x64 summand bf16", NX_BF16, 16, 2048, 64, SUMMAND, 1),
    ATTENTION("attention 32x2048x128, 4 share, summand f16", NX_F16, 32, 2048, 128, SUMMAND, 4),
    ATTENTION("attention 128x512x128 bf16", NX_BF16, 128, 512, 128, ALL, 1),
    ATTENTION("attention 128x512x128 causal bf16", NX_BF16, 128, 512, 128, CAUSAL, 1),
    ATTENTION("attention 32x2048x128, 4 share, causal bf16", NX_BF16, 32, 2048, 128, CAUSAL, 4),
    ATTENTION("attention 32x1000x80 bf16", NX_BF16, 32, 1000, 80, ALL, 1),
    ATTENTION("attention 16x1024x256 bf16", NX_BF16, 16, 1024, 256, ALL, 1),
    WIDE_ATTENTION("attention 16x2048x64 bf16, scores f32", NX_BF16, 16, 2048, 64, ALL, 1),
    WIDE_ATTENTION("attention 16x2048x64 causal bf16, scores f32", NX_BF16, 16, 2048, 64, CAUSAL,
                   1),
    WIDE_ATTENTION("attention 16x2048x64 condition f16, scores f32", NX_F16, 16, 2048, 64,
                   CONDITION, 1),
    WIDE_ATTENTION("attention 16x2048x64 summand bf16, scores f32", NX_BF16, 16, 2048, 64, SUMMAND,
                   1),
    WIDE_ATTENTION("attention 32x2048x128, 4 share, causal bf16, scores f32", NX_BF16, 32, 2048,
                   128, CAUSAL, 4),
    ATTENTION_OF("attention 16x2048x64 bf16, softmax f32", NX_BF16, 16, 2048, 64, ALL, 1, LATE),
    ATTENTION_OF("attention 16x2048x64 summand f16, softmax f32", NX_F16, 16, 2048, 64, SUMMAND, 1,
                 LATE),
    ATTENTION_OF("attention 16x2048x64 causal bf16, weights f32", NX_BF16, 16, 2048, 64, CAUSAL, 1,
                 WHOLE),
    ATTENTION_OF("attention 128x512x128 bf16, weights f32", NX_BF16, 128, 512, 128, ALL, 1, WHOLE),
    ATTENTION("attention 8x8192x128 bf16", NX_BF16, 8, 8192, 128, ALL, 1),
    ATTENTION("attention 8x8192x128 causal bf16", NX_BF16, 8, 8192, 128, CAUSAL, 1),
    CONVOLUTION("conv 3x3 32x64x56^2", NX_F32, 32, 64, 56, 64, 3, 1, 1, false),
    CONVOLUTION("conv 3x3 32x64x56^2 last", NX_F32, 32, 64, 56, 64, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x64x56^2 bf16", NX_BF16, 32, 64, 56, 64, 3, 1, 1, false),
    CONVOLUTION("conv 3x3 32x64x56^2 last bf16", NX_BF16, 32, 64, 56, 64, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x64x56^2 last f16", NX_F16, 32, 64, 56, 64, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x128x28^2 last bf16", NX_BF16, 32, 128, 28, 128, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x256x14^2 last bf16", NX_BF16, 32, 256, 14, 256, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x256x28^2 last bf16", NX_BF16, 32, 256, 28, 256, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x256x28^2 to 192 last f16", NX_F16, 32, 256, 28, 192, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x128x56^2 to 256 bf16", NX_BF16, 32, 128, 56, 256, 3, 1, 1, false),
    CONVOLUTION("conv 1x1 32x256x56^2 to 64 last bf16", NX_BF16, 32, 256, 56, 64, 1, 1, 1, true),
    CONVOLUTION("conv 3x3 32x128x28^2", NX_F32, 32, 128, 28, 128, 3, 1, 1, false),
    CONVOLUTION("conv 3x3 32x128x28^2 last", NX_F32, 32, 128, 28, 128, 3, 1, 1, true),
    CONVOLUTION("conv 3x3 32x128x28^2 bf16", NX_BF16, 32, 128, 28, 128, 3, 1, 1, false),
    CONVOLUTION("conv 3x3 stride 2 32x128x56^2", NX_F32, 32, 128, 56, 128, 3, 2, 1, false),
    CONVOLUTION("conv 3x3 stride 2 32x128x56^2 bf16", NX_BF16, 32, 128, 56, 128, 3, 2, 1, false),
    CONVOLUTION("conv 3x3 in 4 groups 32x256x56^2", NX_F32, 32, 256, 56, 256, 3, 1, 4, false),
    CONVOLUTION("conv 3x3 in 4 groups 32x256x56^2 last bf16", NX_BF16, 32, 256, 56, 256, 3, 1, 4,
                true),
    CONVOLUTION("conv 7x7 stride 2 32x3x224^2", NX_F32, 32, 3, 224, 64, 7, 2, 1, false),
    CONVOLUTION("conv 7x7 stride 2 32x3x224^2 last", NX_F32, 32, 3, 224, 64, 7, 2, 1, true),
    CONVOLUTION("conv 7x7 stride 2 32x3x224^2 last bf16", NX_BF16, 32, 3, 224, 64, 7, 2, 1, true),
    CONVOLUTION("depthwise 3x3 32x128x56^2", NX_F32, 32, 128, 56, 128, 3, 1, 128, false),
    CONVOLUTION("depthwise 3x3 32x128x56^2 last bf16", NX_BF16, 32, 128, 56, 128, 3, 1, 128, true),
};

static nx_tensor *attention(const bench_lab *lab, nx_tensor **x, const workload *w) {
  const int64_t groups = w->heads / w->shared;
  nx_tensor *in[3];
  for (int i = 0; i < 3; i++)
    in[i] =
        nx_expand(nx_reshape(x[i], NX_SHAPE(groups, i == 0 ? w->shared : 1, w->rows, w->width), 0),
                  NX_SHAPE(groups, w->shared, w->rows, w->width));
  const nx_dtype t = w->scores == WIDE ? NX_F32 : w->dtype;
  nx_tensor *q = nx_cast(in[0], t), *k = nx_cast(nx_permute(in[1], NX_AXES(0, 1, 3, 2)), t),
            *scale = bench_number(lab, q, 1 / sqrt((double)w->width)),
            *lowest = bench_number(lab, q, -INFINITY), *scores = nx_mul(nx_matmul(q, k), scale);
  if (w->mask == SUMMAND) {
    nx_tensor *summand = nx_reshape(x[3], NX_SHAPE(groups, w->shared, w->rows, w->rows), 0);
    scores = nx_add(scores, nx_cast(summand, t));
  }
  if (w->mask == CONDITION) scores = nx_where(x[3], scores, lowest);
  if (w->mask == CAUSAL) {
    nx_tensor *at =
                  nx_arange(lab->context, lab->device, NX_I32, NX_NUMBER(0), NX_NUMBER(1), w->rows),
              *seen = nx_cmple(nx_reshape(at, NX_SHAPE(1, w->rows), 0),
                               nx_reshape(at, NX_SHAPE(w->rows, 1), 0));
    scores = nx_where(seen, scores, lowest);
  }
  if (w->scores >= LATE) scores = nx_cast(scores, NX_F32);
  nx_tensor *weights = bench_softmax_of(scores);
  if (w->scores == WHOLE) return nx_matmul(weights, nx_cast(in[2], NX_F32));
  return nx_matmul(nx_cast(weights, w->dtype), in[2]);
}

static nx_tensor *convolution(nx_tensor **x, const workload *w) {
  static const int32_t last_of_x[] = {0, 3, 1, 2};
  const int64_t stride[] = {w->stride, w->stride}, around[] = {w->window / 2, w->window / 2};
  const nx_convolution_options options = {.size = sizeof options,
                                          .n = 2,
                                          .stride = stride,
                                          .before = around,
                                          .after = around,
                                          .feature_groups = w->groups,
                                          .x_axes = w->last ? last_of_x : NULL,
                                          .w_axes = w->last ? last_of_x : NULL,
                                          .y_axes = w->last ? last_of_x : NULL};
  return nx_convolution(x[0], x[1], &options);
}

/* Shapes of the operands; returns how many there are. */
static int shapes_of(const workload *w, int32_t *rank, int64_t out[4][4]) {
  *rank = w->attention ? 3 : 4;
  out[3][0] = w->mask == SUMMAND ? w->heads : 1;
  out[3][1] = out[3][2] = w->rows;
  for (int i = 0; i < 3 && w->attention; i++) {
    const int64_t shape[] = {i == 0 ? w->heads : w->heads / w->shared, w->rows, w->width};
    for (int axis = 0; axis < 3; axis++) out[i][axis] = shape[axis];
  }
  for (int i = 0; i < 2 && !w->attention; i++) {
    const int64_t size = i == 0 ? w->size : w->window,
                  features = i == 0 ? w->features : w->features / w->groups;
    out[i][0] = i == 0 ? w->batch : w->out;
    out[i][1] = w->last ? size : features;
    out[i][2] = size;
    out[i][3] = w->last ? features : size;
  }
  return !w->attention ? 2 : w->mask >= CONDITION ? 4 : 3;
}

/* The workload as a peer is asked for it. */
enum { PEER = 120 };
static void name_peer(const workload *w, char out[PEER]) {
  const char *type = nx_dtype_name(w->dtype);
  if (w->attention)
    snprintf(out, PEER, "attention %s %lld %lld %lld %d %lld", type, (long long)w->heads,
             (long long)w->rows, (long long)w->width, (int)w->mask, (long long)w->shared);
  else
    snprintf(out, PEER, "convolution %s %lld %lld %lld %lld %lld %lld %lld %d", type,
             (long long)w->batch, (long long)w->features, (long long)w->size, (long long)w->out,
             (long long)w->window, (long long)w->stride, (long long)w->groups, w->last);
}

/* Three of four, as values. */
static nx_tensor *condition_of(const bench_lab *lab, nx_tensor *random) {
  nx_tensor *c = nx_keep(nx_cmplt(random, bench_number(lab, random, 0.5)));
  bench_check(nx_realize(lab->context, &c, 1, NULL));
  nx_tensor_release(random);
  return c;
}

static void run_row(gpu_lab *lab, workload w) {
  char peer[PEER];
  int64_t shapes[4][4];
  int32_t rank;
  if (!bench_wanted(&lab->lab.out, w.name)) return;
  if (lab->shrink > 1) w.rows = w.rows > 64 ? 64 : w.rows, w.heads = 2 * w.shared, w.batch = 1;
  gpu_job j = {.lab = lab, .n = (size_t)shapes_of(&w, &rank, shapes)};
  for (size_t i = 0; i < j.n; i++)
    j.x[i] = bench_random(&lab->lab, w.dtype, rank, shapes[i], -1, 1);
  nx_scope *scope = nx_scope_begin(lab->lab.context);
  if (w.mask == CONDITION) j.x[3] = condition_of(&lab->lab, j.x[3]);
  nx_tensor *in[4] = {NULL}, *out;
  for (size_t i = 0; i < j.n; i++)
    in[i] = nx_placeholder(lab->lab.context, lab->lab.device, nx_dtype_of(j.x[i]), shapes[i], rank);
  out = w.attention ? attention(&lab->lab, in, &w) : convolution(in, &w);
  bench_check(nx_function_create(lab->lab.context, in, j.n, &out, 1, NULL, &j.function));
  nx_scope_end(scope);
  bench_way ways[3] = {{.run = gpu_job_run, .state = &j, .wait = gpu_job_wait}};
  size_t n_ways = 1;
  name_peer(&w, peer);
  gpu_peers peers = gpu_add_peers(lab, peer, ways, &n_ways);
  bench_interleave(ways, n_ways, lab->lab.rounds, 5e-3);
  bench_row row = {.name = w.name,
                   .dtype = nx_dtype_name(w.dtype),
                   .size =
                       shapes[0][0] * shapes[0][1] * shapes[0][2] * (rank > 3 ? shapes[0][3] : 1),
                   .threads = 1,
                   .ms = ways[0].median * 1e3};
  gpu_report_peers(&peers, ways, &row);
  bench_print(&lab->lab.out, &row);
  nx_function_release(j.function);
  for (size_t i = 0; i < j.n; i++) nx_tensor_release(j.x[i]);
  nx_context_collect(lab->lab.context);
}

void gpu_models(gpu_lab *lab) {
  for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) run_row(lab, workloads[i]);
}
