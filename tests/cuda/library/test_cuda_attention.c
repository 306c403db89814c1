/* SPDX-License-Identifier: ISC */
/* Tests of attention without scores in memory: the kernels, bit for bit beside the recorded
 * operations one after the other, on layouts and masks. */
#include "tests/cuda/fake_device.h"

#include <math.h>

#include "ir/dtype.h"
#include "ir/library/library.h"
#include "ir/op.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/maker.h"
#include "runtime/cuda/library/calls.h"
#include "runtime/library/libraries.h"
#include "tests/util/runner.h"

/* ---- the kernels */

typedef enum filling { PLAIN, LARGE, SPECIAL, HIDDEN } filling;
typedef struct trial {
  nx_dtype t;
  int64_t outer, heads, groups, rows, columns, features, width;
  double scale, fill; /* 0: none */
  int64_t least, most, turned;
  filling filling; /* LARGE: scores far apart; SPECIAL: values and scores that are no numbers;
                    * HIDDEN: values that are none, where no row sees them */
  int64_t shared;  /* of the GPU; 0: as much as there is */
  int summand, condition; /* MASK and axes of which they are not the same for all; 0: none */
  bool hides;             /* the condition is true where columns are hidden */
  int64_t wide;           /* where scores are f32 */
  bool empty, whole;
} trial;
enum { MASK = 8, OUTER = 1, HEADS = 2, ROWS = 4, OPERANDS = 5, FAR = NXG_ATTENTION_FAR };

static float widen(nx_dtype t, uint16_t x) {
  return t == NX_BF16 ? nxi_bf16_to_f32(x) : nxi_f16_to_f32(x);
}
static uint16_t narrow(nx_dtype t, float x) {
  return t == NX_BF16 ? nxi_f32_to_bf16(x) : nxi_f32_to_f16(x);
}
static float rounded(nx_dtype t, float x) { return widen(t, narrow(t, x)); }
static bool f32_scores(const trial *c) {
  return c->wide != NXG_NOT_WIDE && c->wide != NXG_WIDE_LATE;
}
/* As scores are rounded, their bits, and one of their bits; and as numbers of the softmax are. */
static float scored(const trial *c, float x) { return f32_scores(c) ? x : rounded(c->t, x); }
static int64_t score_bits(const trial *c, double x) {
  return f32_scores(c) ? (int64_t)(uint32_t)nxi_bits_f32((float)x) : narrow(c->t, (float)x);
}
static float softened(const trial *c, float x) { return c->wide ? x : rounded(c->t, x); }
static float score_at(const trial *c, const uint16_t *x, int64_t i) {
  float y;
  if (!f32_scores(c)) return widen(c->t, x[i]);
  memcpy(&y, x + 2 * i, sizeof y);
  return y;
}

static uint16_t *some(const trial *c, int64_t n, uint32_t seed, float most) {
  uint16_t *x = malloc(((size_t)n + 1) * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    x[i] = narrow(c->t, (float)(int32_t)seed * 0x1p-31F * most);
  }
  return x;
}

static uint16_t *some_scores(const trial *c, int64_t n) {
  uint16_t *x = some(c, n, 77, 3);
  uint32_t seed = 5;
  if (!f32_scores(c)) return x;
  x = realloc(x, ((size_t)n + 1) * sizeof(float));
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    const float y = (float)(int32_t)(seed = seed * 1664525 + 1013904223) * 0x3p-31F;
    memcpy(x + 2 * i, &y, sizeof y);
  }
  return x;
}

/* Row `row` of a head of an operand. */
static const uint16_t *row_of(const trial *c, int i, const uint16_t *x, int64_t outer, int64_t head,
                              int64_t row) {
  const int64_t heads = i == 0 ? c->heads : c->groups, rows = i == 0 ? c->rows : c->columns,
                width = i == 2 ? c->width : c->features;
  const bool turned = c->turned >> i & 1;
  return x + (outer * heads * rows + (turned ? row * heads + head : head * rows + row)) * width;
}

/* The columns of a summand are a multiple of 8. */
static void shape_mask(const trial *c, bool condition, int64_t *shape) {
  const int is = condition ? c->condition : c->summand;
  shape[0] = is & OUTER ? c->outer : 1;
  shape[1] = is & HEADS ? c->heads : 1;
  shape[2] = is & ROWS ? c->rows : 1;
  shape[3] = condition ? c->columns : (c->columns + 7) / 8 * 8;
}
/* Where a mask's element is. */
static int64_t mask_at(const trial *c, bool condition, int64_t outer, int64_t head, int64_t row,
                       int64_t column) {
  const int is = condition ? c->condition : c->summand;
  int64_t shape[4];
  shape_mask(c, condition, shape);
  const int64_t line = ((is & OUTER ? outer : 0) * shape[1] + (is & HEADS ? head : 0)) * shape[2] +
                       (is & ROWS ? row : 0);
  return line * shape[3] + column;
}

/* Sequences that see themselves, some columns besides; or no columns at the end. */
static uint8_t *some_condition(const trial *c) {
  int64_t shape[4];
  shape_mask(c, true, shape);
  const int64_t n = nxg_elements(4, shape);
  uint8_t *x = malloc((size_t)n + 1);
  uint32_t seed = 99;
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    const int64_t column = i % shape[3], row = i / shape[3] % shape[2];
    seed = seed * 1664525 + 1013904223;
    const bool sees = c->condition & ROWS ? column / 70 == row / 25 || seed >> 26 == 0
                                          : column < c->columns * 2 / 3 - i / shape[3];
    x[i] = sees != c->hides;
  }
  return x;
}

/* The next 8 digits of a number, which are taken from it. */
static float take_digits(float *x) {
  const float digits = nxi_f32_bits(nxi_bits_f32(*x) & 0xffff0000u);
  *x -= digits;
  return digits;
}

/* As a GPU's instructions add: so many products at a time, which are rounded once, parts of a
 * number of f32 one after the other; as a processor adds, one by one. */
static float sum_of_products(nx_dtype t, const float *a, const uint16_t *b, int64_t step, int64_t n,
                             int64_t group, int parts) {
  float sum = 0, left[16];
  for (int64_t k = 0; group == 1 && k < n; k++) sum = fmaf(a[k], widen(t, b[k * step]), sum);
  for (int64_t k = 0; group > 1 && k < n; k += group) {
    const int64_t count = n - k < group ? n - k : group;
    for (int64_t i = 0; i < count; i++) left[i] = a[k + i];
    for (int part = 0; part < parts; part++) {
      double wide = sum;
      for (int64_t i = 0; i < count; i++)
        wide += (double)(parts > 1 ? take_digits(&left[i]) : left[i]) *
                (double)widen(t, b[(k + i) * step]);
      sum = (float)wide;
    }
  }
  return sum;
}

/* In the order `lanes`, by the tree as it is described. */
static float sum_in_order(const float *x, int64_t n) {
  const int64_t blocks = (n + 255) / 256;
  float *sums = calloc((size_t)blocks * 16, sizeof *sums);
  assert_non_null(sums);
  for (int64_t i = 0; i < n; i++) sums[i / 256 * 16 + i % 16] += x[i];
  for (int64_t apart = 1; apart < blocks; apart *= 2)
    for (int64_t i = 0; i + apart < blocks; i += 2 * apart)
      for (int lane = 0; lane < 16; lane++) sums[i * 16 + lane] += sums[(i + apart) * 16 + lane];
  for (int apart = 8; apart > 0; apart /= 2)
    for (int lane = 0; lane < apart; lane++) sums[lane] += sums[lane + apart];
  const float sum = sums[0];
  free(sums);
  return sum;
}
static void softmax(const trial *c, float *x) {
  float most = -INFINITY;
  for (int64_t j = 0; j < c->columns; j++)
    if (x[j] != x[j] || x[j] > most) most = x[j];
  if (c->empty && most == -INFINITY) {
    for (int64_t j = 0; j < c->columns; j++) x[j] = 0;
    return;
  }
  for (int64_t j = 0; j < c->columns; j++) {
    const uint64_t below = nxi_bits_f32(softened(c, x[j] - most));
    x[j] = softened(c, nxi_f32_bits(nxk_eval(NXK_exp, NX_F32, NX_F32, &below)));
  }
  const float sum = softened(c, sum_in_order(x, c->columns));
  for (int64_t j = 0; j < c->columns; j++) x[j] = c->whole ? x[j] / sum : rounded(c->t, x[j] / sum);
}

/* A row of the result; group: see sum_of_products. */
static void expect_row(const trial *c, uint16_t *const *in, int64_t outer, int64_t head,
                       int64_t row, int64_t group, float *y) {
  const uint16_t *summand = c->summand ? in[3] : NULL;
  const uint8_t *condition = c->condition ? (const uint8_t *)in[3 + (c->summand != 0)] : NULL;
  const int64_t shared = head / (c->heads / c->groups);
  float *x = malloc((size_t)c->columns * sizeof *x), *q = malloc((size_t)c->features * sizeof *q);
  const uint16_t *from = row_of(c, 0, in[0], outer, head, row);
  if (x == NULL || q == NULL) abort();
  for (int64_t i = 0; i < c->features; i++) q[i] = widen(c->t, from[i]);
  for (int64_t j = 0; j < c->columns; j++) {
    x[j] =
        sum_of_products(c->t, q, row_of(c, 1, in[1], outer, shared, j), 1, c->features, group, 1);
    if (c->wide != NXG_WIDE) x[j] = rounded(c->t, x[j]);
    if (c->scale != 0) x[j] = scored(c, x[j] * scored(c, (float)c->scale));
    if (c->wide == NXG_WIDE_SCALED) x[j] = rounded(c->t, x[j]);
    if (summand != NULL)
      x[j] = scored(c, x[j] + score_at(c, summand, mask_at(c, false, outer, head, row, j)));
    if (j - row < c->least || j - row > c->most ||
        (condition != NULL && condition[mask_at(c, true, outer, head, row, j)] == c->hides))
      x[j] = scored(c, (float)c->fill);
  }
  softmax(c, x);
  const uint16_t *values = row_of(c, 2, in[2], outer, shared, 0);
  const int64_t step = (c->turned & 4 ? c->groups : 1) * c->width;
  for (int64_t e = 0; e < c->width; e++)
    y[e] = sum_of_products(c->t, x, values + e, step, c->columns, group,
                           c->whole && group > 1 ? 3 : 1);
  free(x), free(q);
}

static nxg_call call_of(const trial *c) {
  int64_t shapes[3][4] = {{c->outer, c->heads, c->rows, c->features},
                          {c->outer, c->groups, c->columns, c->features},
                          {c->outer, c->groups, c->columns, c->width}},
          masks[2][4];
  nxg_type types[OPERANDS];
  uint32_t n = 3;
  nxg_call call;
  for (int i = 0; i < 3; i++) {
    const int64_t heads = shapes[i][1];
    if (c->turned >> i & 1) shapes[i][1] = shapes[i][2], shapes[i][2] = heads;
    types[i] = (nxg_type){c->t, 4, shapes[i]};
  }
  for (int i = 0; i < 2; i++) {
    shape_mask(c, i == 1, masks[i]);
    if (i == 0 ? c->summand : c->condition)
      types[n++] = (nxg_type){i == 1 ? NX_BOOL : f32_scores(c) ? NX_F32 : c->t, 4, masks[i]};
  }
  const bool masked = c->least > -FAR || c->most < FAR || c->condition != 0;
  const int64_t attrs[] = {c->scale != 0 ? score_bits(c, c->scale) : -1,
                           masked ? score_bits(c, c->fill) : -1,
                           c->least,
                           c->most,
                           c->turned,
                           c->hides,
                           c->wide,
                           c->empty,
                           c->whole};
  assert_int_equal(nxg_call_infer(NXG_attention, n, types, attrs, NXG_ATTENTION_ATTRS, &call, NULL),
                   NX_OK);
  return call;
}

static void on_gpu(nxi_gpu *g, const nxg_call *call, uint16_t *const *in, uint16_t *y) {
  uint64_t at[OPERANDS], result;
  int64_t bytes[OPERANDS];
  const int operands = (int)call->n_operands;
  const int64_t n =
      nxg_elements(4, call->results[0].shape) * nxi_dtype_size(call->results[0].dtype);
  nxi_gpu_call_work work = {0};
  const nxi_gpu_functions *f = nxi_gpu_call_functions(g, call);
  assert_ptr_equal(f, &nxi_gpu_attention_functions);
  assert_int_equal(f->prepare(g, call, &work, NULL), NX_OK);
  for (int i = 0; i < operands; i++) { /* the second one begins at an odd place */
    bytes[i] = nxi_dtype_size(call->operands[i].dtype) *
               (nxg_elements(4, call->operands[i].shape) + (i == 1));
    assert_int_equal(nxi_gpu_alloc(g, bytes[i], &at[i], NULL), NX_OK);
    at[i] += i == 1 ? 2 : 0;
    assert_int_equal(nxi_gpu_upload(g, at[i], in[i], bytes[i] - (i == 1 ? 2 : 0), NXI_NOW, NULL),
                     NX_OK);
  }
  assert_int_equal(nxi_gpu_alloc(g, n, &result, NULL), NX_OK);
  nxi_gpu_call_run r = {.gpu = g, .call = call, .work = &work, .operands = at, .results = &result};
  if (work.scratch_bytes > 0)
    assert_int_equal(nxi_gpu_alloc(g, work.scratch_bytes, &r.scratch, NULL), NX_OK);
  assert_int_equal(f->run(&r, NULL), NX_OK);
  assert_int_equal(nxi_gpu_download(g, y, result, n, NXI_NOW, NULL, NULL), NX_OK);
  for (int i = 0; i < operands; i++) nxi_gpu_free(g, at[i] - (i == 1 ? 2 : 0), bytes[i]);
  nxi_gpu_free(g, result, n);
  if (work.scratch_bytes > 0) nxi_gpu_free(g, r.scratch, work.scratch_bytes);
  f->release(work.state);
}

static bool never(void *user) { return user != NULL; }

static void on_processor(const nxg_call *call, uint16_t *const *in, uint16_t *y) {
  nxg_call_work work = {0};
  void *operands[] = {in[0], in[1], in[2], in[3], in[4]}, *results[] = {y};
  assert_int_equal(nxi_attention_functions.prepare(call, &work, NULL), NX_OK);
  nxg_call_part part = {.call = call,
                        .end = work.tasks[0],
                        .operands = operands,
                        .results = results,
                        .own = malloc((size_t)work.own_bytes),
                        .stopped = never};
  assert_non_null(part.own);
  assert_int_equal(nxi_attention_functions.run(&part), NX_OK);
  free(part.own);
}

static void spoil(const trial *c, uint16_t *const *in) {
  const uint16_t nan = narrow(c->t, NAN), infinite = narrow(c->t, -INFINITY);
  uint16_t *k = in[1], *v = in[2];
  if (c->filling == SPECIAL) {
    *(uint16_t *)row_of(c, 1, k, 0, 0, 3) = infinite;
    *(uint16_t *)row_of(c, 1, k, c->outer - 1, c->groups - 1, c->columns / 2) = nan;
    *(uint16_t *)row_of(c, 2, v, 0, c->groups - 1, 5) = infinite;
  } else if (c->filling == HIDDEN) {
    *((uint16_t *)row_of(c, 2, v, 0, 0, c->columns - 1) + c->width - 1) = nan;
  }
}

/* Whether an element of the result is what it should be. */
static bool is_right(const trial *c, const uint16_t *y, int64_t i, float want) {
  uint32_t bits;
  if (!c->whole) return nxi_same_bits(y[i], narrow(c->t, want), c->t);
  memcpy(&bits, y + 2 * i, sizeof bits);
  return nxi_same_bits(bits, nxi_bits_f32(want), NX_F32);
}

static void check(nxi_gpu *g, const trial *c) {
  const nxg_call call = call_of(c);
  const int64_t n = nxg_elements(4, call.results[0].shape), wide = c->filling == LARGE ? 8 : 1;
  uint16_t *in[OPERANDS] = {0}, *y = calloc((size_t)n, 4), *own = calloc((size_t)n, 4);
  float *want = calloc((size_t)c->width, sizeof *want);
  if (y == NULL || own == NULL || want == NULL) abort();
  for (int i = 0; i < 3; i++)
    in[i] =
        some(c, nxg_elements(4, call.operands[i].shape), (uint32_t)i + 7, i < 2 ? (float)wide : 1);
  if (c->summand) in[3] = some_scores(c, nxg_elements(4, call.operands[3].shape));
  if (c->condition) in[3 + (c->summand != 0)] = (uint16_t *)(void *)some_condition(c);
  spoil(c, in);
  on_gpu(g, &call, in, y);
  on_processor(&call, in, own);
  for (int64_t line = 0; line < n / c->width; line++)
    for (int way = 0; way < 2; way++) { /* the processor's sums are in order */
      const int64_t row = line % c->rows, head = line / c->rows % c->heads,
                    outer = line / c->rows / c->heads,
                    at = c->turned & 8 ? (outer * c->rows + row) * c->heads + head : line;
      const uint16_t *is = way == 0 ? y : own;
      expect_row(c, in, outer, head, row, way == 0 ? 16 : 1, want);
      for (int64_t e = 0; e < c->width; e++)
        if (!is_right(c, is, at * c->width + e, want[e]))
          fail_msg("%s, wide %lld%s%s, %lld of %lld columns, %lld and %lld wide, head %lld, row "
                   "%lld, element %lld %s, should be %a",
                   nx_dtype_name(c->t), (long long)c->wide, c->empty ? ", empty" : "",
                   c->whole ? ", whole" : "", (long long)c->rows, (long long)c->columns,
                   (long long)c->features, (long long)c->width, (long long)head, (long long)row,
                   (long long)e, way == 0 ? "on the GPU" : "on the processor", (double)want[e]);
    }
  for (int i = 0; i < OPERANDS; i++) free(in[i]);
  free(y), free(own), free(want);
}

static nxi_gpu *gpu_of(int64_t shared, nxi_kernel_cache **kernels) {
  nxi_gpu *g = NULL;
  fake->most_shared = shared;
  assert_int_equal(nxi_gpu_open(0, 0, &g, NULL), NX_OK);
  assert_int_equal(nxi_kernel_cache_create_for(&nxi_gpu_maker, g, "", kernels, NULL), NX_OK);
  nxi_gpu_set_kernels(g, *kernels);
  return g;
}
static void close_gpu(nxi_gpu *g, nxi_kernel_cache *kernels) {
  nxi_kernel_cache_destroy(kernels);
  nxi_gpu_close(g);
  fake->most_shared = 0;
}

/* One after the other, with scores of each kind: of 16 bits, and of f32 from each place on; the
 * latter also with rows of nothing, and, of bf16, with weights that stay f32. */
static void check_all(const trial *all, size_t n) {
  enum { KINDS = 5 };
  nxi_use_libraries();
  for (size_t i = 0; i < KINDS * n; i++) {
    nxi_kernel_cache *cache = NULL;
    trial c = all[i / KINDS];
    nxi_gpu *g = gpu_of(c.shared, &cache);
    c.wide = (int64_t)(i % KINDS);
    if (c.wide == NXG_WIDE_SCALED) c.scale = c.scale != 0 ? rounded(c.t, (float)c.scale) : 1;
    c.empty = c.wide != 0 && (i / KINDS + i) % 2 == 0;
    c.whole = c.wide != 0 && c.t == NX_BF16 && (i / KINDS + i / 2) % 2 == 0;
    if (i % 3 == 0) c.turned |= 8;
    check(g, &c);
    close_gpu(g, cache);
  }
}

#define ALL_16   0, false, false /* scores are of 16 bits */
#define NO_MASKS 0, 0, false, ALL_16
static void kernels(void **state) {
  static const trial all[] = {
      {NX_BF16, 1, 2, 2, 33, 130, 64, 64, 0.125, 0, -FAR, FAR, 0, PLAIN, 0, NO_MASKS},
      {NX_F16, 1, 2, 1, 20, 300, 32, 48, 0.25, 0, -FAR, FAR, 1, LARGE, 0, NO_MASKS},
      {NX_BF16, 2, 4, 2, 40, 40, 48, 32, 0.3, -INFINITY, -FAR, 0, 7, LARGE, 0, NO_MASKS},
      {NX_F16, 1, 2, 2, 40, 40, 32, 32, 0.3, -1e4, -FAR, 0, 2, PLAIN, 0, NO_MASKS},
      {NX_F16, 1, 2, 2, 35, 35, 32, 32, 0.5, -INFINITY, -FAR, 0, 0, SPECIAL, 0, NO_MASKS},
      {NX_BF16, 1, 2, 1, 20, 600, 32, 32, 0.5, -INFINITY, -FAR, 470, 4, HIDDEN, 0, NO_MASKS},
      {NX_BF16, 1, 1, 1, 100, 130, 32, 32, 0.5, -INFINITY, -FAR, 0, 0, HIDDEN, 0, NO_MASKS},
      {NX_BF16, 1, 1, 1, 90, 400, 32, 32, 0, -1e30, -20, 40, 0, LARGE, 0, NO_MASKS},
      {NX_BF16, 1, 1, 1, 80, 100, 32, 32, 0, -INFINITY, -70, -30, 0, PLAIN, 0, NO_MASKS},
      {NX_BF16, 1, 1, 1, 70, 150, 32, 32, 0, -2, -FAR, 0, 0, PLAIN, 0, NO_MASKS},
      {NX_BF16, 2, 2, 2, 20, 90, 32, 32, 0.5, 0, -FAR, FAR, 0, SPECIAL, 0, NO_MASKS},
      {NX_BF16, 1, 1, 1, 1, 1500, 80, 96, 0.1, 0, -FAR, FAR, 0, LARGE, 0, NO_MASKS},
      {NX_BF16, 1, 1, 1, 33, 40, 256, 160, 0.0625, 0, -FAR, FAR, 0, PLAIN, 90 << 10, NO_MASKS},
      {NX_BF16, 1, 1, 1, 30, 70, 64, 64, 0.125, -INFINITY, -FAR, 0, 0, PLAIN, 36 << 10, NO_MASKS},
      {NX_BF16, 1, 12, 12, 140, 70, 32, 32, 0, -INFINITY, -FAR, 0, 0, PLAIN, 0,
       NO_MASKS}, /* large blocks */
  };
  (void)state;
  check_all(all, sizeof all / sizeof *all);
}

/* Masks in memory: summands, conditions, both; the same for all rows, heads, sequences, or not. */
static void masked_scores(void **state) {
  static const trial all[] = {
      {NX_BF16, 2, 2, 2, 33, 130, 32, 32, 0.125, -INFINITY, -FAR, FAR, 0, PLAIN, 0, 0, MASK | OUTER,
       false, ALL_16},
      {NX_BF16, 1, 2, 2, 70, 200, 64, 64, 0.3, -INFINITY, -FAR, FAR, 0, LARGE, 0, 0, MASK | ROWS,
       true, ALL_16},
      {NX_F16, 2, 2, 1, 40, 131, 32, 48, 0.5, -6e4, -FAR, FAR, 7, PLAIN, 0, 0,
       MASK | OUTER | HEADS | ROWS, false, ALL_16},
      {NX_BF16, 1, 2, 1, 20, 600, 32, 32, 0.5, -INFINITY, -FAR, 470, 4, HIDDEN, 0, 0, MASK | ROWS,
       true, ALL_16},
      {NX_BF16, 1, 1, 1, 60, 150, 32, 32, 0, -2, -FAR, 0, 0, PLAIN, 0, 0, MASK | ROWS, false,
       ALL_16},
      {NX_BF16, 1, 2, 2, 33, 130, 32, 32, 0.125, 0, -FAR, FAR, 0, PLAIN, 0, MASK | HEADS | ROWS, 0,
       false, ALL_16},
      {NX_BF16, 2, 2, 2, 40, 77, 32, 32, 0.3, 0, -FAR, FAR, 0, LARGE, 0, MASK | OUTER, 0, false,
       ALL_16},
      {NX_F16, 1, 2, 1, 40, 100, 48, 32, 0.3, -1e4, -FAR, 0, 2, PLAIN, 0, MASK | ROWS, 0, false,
       ALL_16},
      {NX_F16, 1, 1, 1, 35, 90, 32, 32, 0, 0, -FAR, FAR, 0, SPECIAL, 0, MASK | ROWS, 0, false,
       ALL_16},
      {NX_BF16, 2, 2, 1, 50, 140, 64, 64, 0.125, -1e30, -FAR, FAR, 0, LARGE, 0, MASK | HEADS | ROWS,
       MASK | OUTER, false, ALL_16},
      {NX_BF16, 1, 2, 1, 50, 140, 32, 32, 0.5, -INFINITY, -FAR, 20, 0, PLAIN, 0, MASK | ROWS,
       MASK | ROWS, true, ALL_16},
      /* hidden more than seen, in tiles that no row sees */
      {NX_BF16, 1, 1, 1, 40, 96, 32, 32, 0.5, 5, -FAR, FAR, 0, PLAIN, 0, 0, MASK, false, ALL_16},
      {NX_BF16, 1, 1, 1, 33, 40, 256, 160, 0.0625, -1e30, -FAR, FAR, 0, PLAIN, 120 << 10,
       MASK | ROWS, MASK | ROWS, false, ALL_16},
      {NX_BF16, 1, 12, 12, 140, 70, 32, 32, 0, -INFINITY, -FAR, FAR, 0, PLAIN, 0,
       MASK | HEADS | ROWS, MASK | HEADS, true, ALL_16},
  };
  (void)state;
  check_all(all, sizeof all / sizeof *all);
}

/* Every number that a score can be below the largest one: 255 are a row's scores, as queries are
 * columns of the identity and keys are the numbers, and each output is one number's weight. */
static void exponentials(void **state) {
  enum { N = 256, ROWS = 128 };
  nxi_kernel_cache *cache = NULL;
  nxi_gpu *g = gpu_of(0, &cache);
  (void)state;
  for (int half = 0; half < 2; half++) {
    trial c = {
        half ? NX_F16 : NX_BF16, 1, 1, 1, ROWS, N, N, N, 0, 0, -FAR, FAR, 0, PLAIN, 0, NO_MASKS};
    const nxg_call call = call_of(&c);
    const uint16_t one = narrow(c.t, 1), most = narrow(c.t, half ? 65504 : 0x1.fep127F);
    uint16_t *in[3], *y = calloc(ROWS * N, 2);
    float want[N];
    for (int i = 0; i < 3; i++) in[i] = calloc((size_t)N * N, 2);
    assert_true(in[0] != NULL && in[1] != NULL && in[2] != NULL && y != NULL);
    for (int row = 0; row < ROWS; row++) in[0][row * N + row] = one;
    for (int j = 0; j < N; j++) {
      in[2][j * N + j] = one;
      for (int row = 0; row < ROWS; row++) {
        const int bits = row * (N - 1) + j - 1;
        in[1][j * N + row] = (uint16_t)(j == 0 || bits > most ? 0x8000 : 0x8000 | bits);
      }
    }
    on_gpu(g, &call, in, y);
    for (int row = 0; row < ROWS; row++) {
      expect_row(&c, in, 0, 0, row, 16, want);
      for (int j = 0; j < N; j++)
        if (!is_right(&c, y, row * N + j, want[j]))
          fail_msg("%s: of %04x %04x, not %04x", nx_dtype_name(c.t), in[1][j * N + row],
                   y[row * N + j], narrow(c.t, want[j]));
    }
    for (int i = 0; i < 3; i++) free(in[i]);
    free(y);
  }
  close_gpu(g, cache);
}

static float exp_of(float x) {
  const uint64_t bits = nxi_bits_f32(x);
  return nxi_f32_bits(nxk_eval(NXK_exp, NX_F32, NX_F32, &bits));
}

/* A number whose exponential is `e`. */
static float log_of(float e) {
  float x = nextafterf(logf(e), -INFINITY);
  for (int i = 0; i < 8 && exp_of(x) < e; i++) x = nextafterf(x, INFINITY);
  if (exp_of(x) != e) fail_msg("no number has the exponential %a", (double)e);
  return x;
}

/* Weights that f32 has to divide exactly: what is next to the quotient rounds to another number of
 * f16. The dividend is column 8's exponential, the divisor the sum, which others fill up. */
static void quotients(void **state) {
  enum { N = 32, PAIRS = 4, DIVIDED = 8, LAST = 10 };
  static const float dividend[PAIRS] = {0x1.519a06p-1F, 0x1.5b2fc6p-1F, 0x1.6ab9c6p-1F,
                                        0x1.7a83c6p-1F},
                     divisor[PAIRS] = {0x1.d07ffcp1F, 0x1.da7ffcp1F, 0x1.ea7ffcp1F, 0x1.fa7ffcp1F};
  const trial c = {NX_F16, 1, 1,     1, PAIRS,       N, N,     N,        0,     0,    -FAR,
                   FAR,    0, PLAIN, 0, MASK | ROWS, 0, false, NXG_WIDE, false, false};
  const nxg_call call = call_of(&c);
  nxi_kernel_cache *cache = NULL;
  nxi_gpu *g = gpu_of(0, &cache);
  uint16_t in[3][N * N] = {0}, y[PAIRS * N];
  float scores[PAIRS][N], want[N];
  (void)state;
  for (int row = 0; row < PAIRS; row++) {
    const float x = dividend[row], rest = logf((divisor[row] - 1 - x) / 4), e = exp_of(rest),
                most = 1 + x + (e + e);
    float last = rest - 0x1p-18F;
    while (most + (e + exp_of(last)) < divisor[row]) last = nextafterf(last, INFINITY);
    for (int j = 0; j < N; j++) scores[row][j] = -40;
    scores[row][0] = 0;
    scores[row][DIVIDED] = log_of(x);
    scores[row][2] = scores[row][4] = scores[row][12] = rest;
    scores[row][LAST] = last;
  }
  in[2][DIVIDED * N] = narrow(NX_F16, 1);
  uint16_t *operands[OPERANDS] = {in[0], in[1], in[2], (uint16_t *)(void *)scores};
  on_gpu(g, &call, operands, y);
  for (int row = 0; row < PAIRS; row++) {
    expect_row(&c, operands, 0, 0, row, 16, want);
    const float near = dividend[row] / divisor[row];
    if (y[row * N] != narrow(NX_F16, want[0]) || narrow(NX_F16, want[0]) != narrow(NX_F16, near))
      fail_msg("%a / %a: %04x, not %04x and %04x", (double)dividend[row], (double)divisor[row],
               y[row * N], narrow(NX_F16, want[0]), narrow(NX_F16, near));
  }
  close_gpu(g, cache);
}

static void bad_calls(void **state) {
  static const int64_t q[] = {1, 4, 8, 32}, k[] = {1, 2, 9, 32}, other[] = {1, 3, 9, 32};
  static const int64_t good[NXG_ATTENTION_ATTRS] = {-1, -1, -FAR, FAR};
  static const int64_t bad[][NXG_ATTENTION_ATTRS] = {{-2, -1, -FAR, FAR},
                                                     {-1, 1 << 16, -FAR, FAR},
                                                     {-1, -1, -FAR, 0},
                                                     {-1, 0, -FAR - 1},
                                                     {-1, 0, -FAR, FAR, 16},
                                                     {-1, 0, -FAR, FAR, 0, 2},
                                                     {-1, 0, -FAR, FAR, 0, 0, 4},
                                                     {1, 0, -FAR, FAR, 0, 0, 5},
                                                     {-1, 0, -FAR, FAR, 0, 0, 1, 2},
                                                     {-1, 0, -FAR, FAR, 0, 0, 1, 0, 2},
                                                     {-1, 0, -FAR, FAR, 0, 0, 0, 1},
                                                     {-1, 0, -FAR, FAR, 0, 0, 0, 0, 1},
                                                     {1 << 16, 0, -FAR, FAR, 0, 0, 3},
                                                     {INT64_C(1) << 32, 0, -FAR, FAR, 0, 0, 1}};
  static const int64_t filled[NXG_ATTENTION_ATTRS] = {-1, 0, -FAR, FAR},
                       whole[NXG_ATTENTION_ATTRS] = {-1, -1, -FAR, FAR, 0, 0, NXG_WIDE, 0, 1};
  static const int64_t summand[] = {1, 4, 1, 16}, odd[] = {1, 4, 1, 9}, condition[] = {1, 1, 8, 9};
  const struct {
    uint32_t n;
    nxg_type types[2];
    bool filled, good;
  } masked[] = {{4, {{NX_BF16, 4, summand}}, false, true},
                {4, {{NX_BOOL, 4, condition}}, true, true},
                {5, {{NX_BF16, 4, summand}, {NX_BOOL, 4, condition}}, true, true},
                {4, {{NX_BF16, 4, odd}}, false, false},
                {4, {{NX_F16, 4, summand}}, false, false},
                {4, {{NX_BOOL, 4, summand}}, true, false},
                {4, {{NX_BOOL, 4, condition}}, false, false},
                {5, {{NX_BOOL, 4, condition}, {NX_BF16, 4, summand}}, true, false},
                {5, {{NX_BF16, 4, summand}, {NX_BF16, 4, summand}}, true, false},
                {2, {{0}}, true, false}};
  nxg_type types[OPERANDS] = {{NX_BF16, 4, q}, {NX_BF16, 4, k}, {NX_BF16, 4, k}};
  nxg_call call;
  (void)state;
  assert_int_equal(nxg_call_infer(NXG_attention, 3, types, good, NXG_ATTENTION_ATTRS, &call, NULL),
                   NX_OK);
  for (size_t i = 0; i < sizeof masked / sizeof *masked; i++) {
    types[3] = masked[i].types[0], types[4] = masked[i].types[1];
    assert_int_equal(nxg_call_infer(NXG_attention, masked[i].n, types,
                                    masked[i].filled ? filled : good, NXG_ATTENTION_ATTRS, &call,
                                    NULL),
                     masked[i].good ? NX_OK : NX_INVALID_ARGUMENT);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(
        nxg_call_infer(NXG_attention, 3, types, bad[i], NXG_ATTENTION_ATTRS, &call, NULL),
        NX_INVALID_ARGUMENT);
  for (int i = 0; i < 3; i++) types[i].dtype = NX_F16;
  assert_int_equal(nxg_call_infer(NXG_attention, 3, types, whole, NXG_ATTENTION_ATTRS, &call, NULL),
                   NX_INVALID_ARGUMENT);
  types[2].shape = other;
  assert_int_equal(nxg_call_infer(NXG_attention, 3, types, good, NXG_ATTENTION_ATTRS, &call, NULL),
                   NX_INVALID_ARGUMENT);
  for (int i = 0; i < 3; i++) types[i] = (nxg_type){NX_F32, 4, q};
  assert_int_equal(nxg_call_infer(NXG_attention, 3, types, good, NXG_ATTENTION_ATTRS, &call, NULL),
                   NX_UNSUPPORTED_DTYPE);
}

NXT_MAIN(cuda_attention) {
  const struct CMUnitTest tests[] = {IN_SCOPE(kernels), IN_SCOPE(masked_scores),
                                     IN_SCOPE(exponentials), IN_SCOPE(quotients),
                                     IN_SCOPE(bad_calls)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
