/* SPDX-License-Identifier: ISC */
/* The library call attention on the processor, as its operations are recorded, one after the other
 * for each row. Passes make the call for GPUs, which have kernels for it; this is what the
 * interpreter runs, and a GPU that has not. A task is a row of queries. */
#include <math.h>
#include <string.h>

#include "ir/op.h"
#include "libraries.h"

enum { BLOCK = 256, LANES = 16 };

/* Where the rows of an operand are, in elements. */
typedef struct place {
  int64_t head, row, outer, heads, rows;
} place;

static place place_of(const nxg_call *call, int i) {
  const nxg_array *x = i == NXG_ATTENTION_RESULT ? &call->results[0] : &call->operands[i];
  const bool turned = call->attrs[NXG_ATTENTION_TURNED] >> i & 1;
  place p = {.heads = x->shape[turned ? 2 : 1], .rows = x->shape[turned ? 1 : 2]};
  p.row = (turned ? p.heads : 1) * x->shape[3];
  p.head = (turned ? 1 : p.rows) * x->shape[3];
  p.outer = p.heads * p.rows * x->shape[3];
  return p;
}

static nx_status prepare(const nxg_call *call, nxg_call_work *work, nxi_diag *d) {
  const int64_t *y = call->results[0].shape;
  const int64_t columns = place_of(call, 1).rows;
  const double each = (double)columns * (double)(call->operands[0].shape[3] + y[3]) + 1;
  if (!nxk_eval_ready(NXK_exp, NX_F32)) return nxi_oom(d);
  work->n_phases = 1;
  work->tasks[0] = y[0] * y[1] * y[2];
  work->grain[0] = each < 1e5 ? (int64_t)(1e5 / each) : 1;
  work->own_bytes = columns * (int64_t)sizeof(float);
  work->cost = each * (double)work->tasks[0];
  work->cannot_fail = true;
  return NX_OK;
}

static float widen(uint16_t bits, bool brain) {
  return brain ? nxi_bf16_to_f32(bits) : nxi_f16_to_f32(bits);
}
static uint16_t narrow(float x, bool brain) {
  return brain ? nxi_f32_to_bf16(x) : nxi_f32_to_f16(x);
}
static float to_narrow(float x, const nxg_call *call) {
  const bool brain = call->operands[0].dtype == NX_BF16;
  return widen(narrow(x, brain), brain);
}
static bool scores_are_wide(const nxg_call *call) {
  return nxg_attention_scores(call->operands[0].dtype, call->attrs) == NX_F32;
}
/* As scores are rounded, and numbers of the softmax. */
static float rounded(float x, const nxg_call *call) {
  return scores_are_wide(call) ? x : to_narrow(x, call);
}
static float scaled(float x, const nxg_call *call) {
  return call->attrs[NXG_ATTENTION_WIDE] == NXG_WIDE_SCALED ? to_narrow(x, call) : rounded(x, call);
}
static float softened(float x, const nxg_call *call) {
  return call->attrs[NXG_ATTENTION_WIDE] ? x : to_narrow(x, call);
}
static float score_of(uint32_t bits, const nxg_call *call) {
  return scores_are_wide(call) ? nxi_f32_bits(bits)
                               : widen((uint16_t)bits, call->operands[0].dtype == NX_BF16);
}

/* In the order `lanes` (docs/numerics.md). What is added is at least +0, so that zeros stand for
 * elements that there are not, and leave no trace. */
static float lanes(const float *x, int64_t begin, int64_t end, int lane) {
  if (end - begin > BLOCK) {
    int64_t half = BLOCK;
    while (half * 2 < end - begin) half *= 2;
    return lanes(x, begin, begin + half, lane) + lanes(x, begin + half, end, lane);
  }
  float sum = 0;
  for (int64_t i = begin + lane; i < end; i += LANES) sum += x[i];
  return sum;
}
static float sum_of(const float *x, int64_t n) {
  float sums[LANES];
  for (int i = 0; i < LANES; i++) sums[i] = lanes(x, 0, n, i);
  for (int apart = LANES / 2; apart > 0; apart /= 2)
    for (int i = 0; i < apart; i++) sums[i] += sums[i + apart];
  return sums[0];
}

/* Where a row of a mask is, in elements. */
static int64_t mask_at(const nxg_array *x, int64_t outer, int64_t head, int64_t row) {
  const int64_t *s = x->shape;
  return (((s[0] == 1 ? 0 : outer) * s[1] + (s[1] == 1 ? 0 : head)) * s[2] +
          (s[2] == 1 ? 0 : row)) *
         s[3];
}

/* What is added to the scores of a row, and which columns are hidden; NULL: nothing. */
typedef struct row_masks {
  const void *summand;
  const uint8_t *condition;
} row_masks;
static row_masks masks_of(const nxg_call *call, void *const *operands, int64_t outer, int64_t head,
                          int64_t row) {
  const nxg_attention_masks m = nxg_attention_masks_of(call);
  row_masks own = {NULL, NULL};
  if (m.summand >= 0)
    own.summand = (const uint8_t *)operands[m.summand] +
                  mask_at(&call->operands[m.summand], outer, head, row) *
                      nxi_dtype_size(call->operands[m.summand].dtype);
  if (m.condition >= 0)
    own.condition = (const uint8_t *)operands[m.condition] +
                    mask_at(&call->operands[m.condition], outer, head, row);
  return own;
}

static float summand_at(const void *row, int64_t j, const nxg_call *call) {
  return scores_are_wide(call) ? ((const float *)row)[j]
                               : score_of(((const uint16_t *)row)[j], call);
}

static void score(const nxg_call *call, const uint16_t *q, const uint16_t *k, int64_t step,
                  row_masks masks, int64_t row, int64_t columns, float *to) {
  const int64_t *a = call->attrs, features = call->operands[0].shape[3];
  const bool brain = call->operands[0].dtype == NX_BF16;
  for (int64_t j = 0; j < columns; j++) {
    float sum = 0;
    if (j - row < a[NXG_ATTENTION_LEAST] || j - row > a[NXG_ATTENTION_MOST] ||
        (masks.condition != NULL && masks.condition[j] == a[NXG_ATTENTION_HIDES])) {
      to[j] = score_of((uint32_t)a[NXG_ATTENTION_FILL], call);
      continue;
    }
    for (int64_t i = 0; i < features; i++)
      sum += widen(q[i], brain) * widen(k[j * step + i], brain);
    to[j] = call->attrs[NXG_ATTENTION_WIDE] == NXG_WIDE ? sum : to_narrow(sum, call);
    if (a[NXG_ATTENTION_SCALE] >= 0)
      to[j] = scaled(to[j] * score_of((uint32_t)a[NXG_ATTENTION_SCALE], call), call);
    if (masks.summand != NULL) to[j] = rounded(to[j] + summand_at(masks.summand, j, call), call);
  }
}

static void softmax(const nxg_call *call, float *x, int64_t n) {
  float most = -INFINITY;
  for (int64_t j = 0; j < n; j++) most = x[j] > most || x[j] != x[j] ? x[j] : most;
  if (call->attrs[NXG_ATTENTION_EMPTY] && most == -INFINITY) {
    memset(x, 0, (size_t)n * sizeof *x);
    return;
  }
  for (int64_t j = 0; j < n; j++) {
    const uint64_t below = nxi_bits_f32(softened(x[j] - most, call));
    x[j] = softened(nxi_f32_bits(nxk_eval(NXK_exp, NX_F32, NX_F32, &below)), call);
  }
  const float sum = softened(sum_of(x, n), call);
  for (int64_t j = 0; j < n; j++)
    x[j] = call->attrs[NXG_ATTENTION_WHOLE] ? x[j] / sum : to_narrow(x[j] / sum, call);
}

static nx_status run(nxg_call_part *part) {
  const nxg_call *call = part->call;
  const bool brain = call->operands[0].dtype == NX_BF16;
  const place q = place_of(call, 0), k = place_of(call, 1), v = place_of(call, 2),
              y = place_of(call, NXG_ATTENTION_RESULT);
  const int64_t width = call->results[0].shape[3];
  const uint16_t *const *at = (const uint16_t *const *)part->operands;
  float *x = part->own;
  for (int64_t task = part->begin; task < part->end; task++) {
    const int64_t row = task % q.rows, head = task / q.rows % q.heads,
                  outer = task / q.rows / q.heads, group = head / (q.heads / k.heads),
                  to = outer * y.outer + head * y.head + row * y.row;
    if (part->stopped(part->user)) return NX_OK;
    const uint16_t *values = at[2] + outer * v.outer + group * v.head;
    score(call, at[0] + outer * q.outer + head * q.head + row * q.row,
          at[1] + outer * k.outer + group * k.head, k.row,
          masks_of(call, part->operands, outer, head, row), row, k.rows, x);
    softmax(call, x, k.rows);
    for (int64_t e = 0; e < width; e++) {
      float sum = 0; /* products of numbers of 16 bits are exact */
      for (int64_t j = 0; j < k.rows; j++)
        sum = fmaf(x[j], widen(values[j * v.row + e], brain), sum);
      if (call->attrs[NXG_ATTENTION_WHOLE]) ((float *)part->results[0])[to + e] = sum;
      else ((uint16_t *)part->results[0])[to + e] = narrow(sum, brain);
    }
  }
  return NX_OK;
}

const nxg_functions nxi_attention_functions = {.prepare = prepare, .run = run};
