/* SPDX-License-Identifier: ISC */
/* Tests of which graphs become attention without scores in memory. */
#include "tests/cuda/fake_device.h"

#include <math.h>

#include "ir/dtype.h"
#include "tests/util/runner.h"

typedef struct request {
  nx_dtype t;
  int64_t batch, heads, groups, rows, columns, width;
  enum { NO_MASK, CAUSAL, SEEN, WINDOW, OWN, PADDED, BOTH, BIASED } mask;
  enum { DENSE, BEHIND, SHARED_VIEWS } layout; /* BEHIND: heads behind rows */
  bool kept;                                   /* weights are a result, too */
  bool wide;                                   /* scores are f32 */
} request;

static nx_tensor *scalar_of(nx_tensor *like, double x) {
  return GOOD(nx_full(ctx, CUDA, nx_dtype_of(like), NULL, 0, NX_NUMBER(x)));
}

static nx_tensor *heads_of(const request *q, nx_tensor *x, int64_t heads, int64_t rows) {
  if (q->layout == DENSE) x = GOOD(nx_reshape(x, NX_SHAPE(q->batch, heads, rows, q->width), 0));
  else x = GOOD(nx_reshape(x, NX_SHAPE(q->batch, rows, heads, q->width), 0));
  if (q->layout != DENSE) x = GOOD(nx_permute(x, NX_AXES(0, 2, 1, 3)));
  const int64_t times = q->heads / heads;
  if (times == 1 && q->groups == q->heads) return x;
  x = GOOD(nx_reshape(x, NX_SHAPE(q->batch, q->groups, heads / q->groups, rows, q->width), 0));
  return GOOD(nx_expand(x, NX_SHAPE(q->batch, q->groups, q->heads / q->groups, rows, q->width)));
}

static nx_tensor *hidden(const request *q, nx_tensor *scores) {
  nx_tensor *columns = GOOD(nx_arange(ctx, CUDA, NX_I32, NX_NUMBER(0), NX_NUMBER(1), q->columns)),
            *rows = GOOD(
                nx_reshape(GOOD(nx_arange(ctx, CUDA, NX_I32, NX_NUMBER(0), NX_NUMBER(1), q->rows)),
                           NX_SHAPE(q->rows, 1), 0)),
            *fill = scalar_of(scores, -INFINITY);
  if (q->mask == CAUSAL) return GOOD(nx_where(GOOD(nx_cmpgt(columns, rows)), fill, scores));
  if (q->mask == SEEN) return GOOD(nx_where(GOOD(nx_cmple(columns, rows)), scores, fill));
  if (q->mask == OWN) return GOOD(nx_where(GOOD(nx_cmpeq(columns, rows)), scores, fill));
  nx_tensor *apart = GOOD(nx_sub(columns, rows)),
            *far = GOOD(nx_full(ctx, CUDA, NX_I32, NULL, 0, NX_NUMBER(50)));
  return GOOD(nx_where(GOOD(nx_and(GOOD(nx_cmple(columns, rows)),
                                   GOOD(nx_not(GOOD(nx_cmplt(apart, GOOD(nx_neg(far)))))))),
                       scores, fill));
}

/* Which keys of each sequence there are, beside what comes later if `both`. */
static nx_tensor *padded(const request *q, nx_tensor *scores, bool both) {
  const int64_t n = q->batch * q->columns;
  uint8_t *there = calloc((size_t)n, 1);
  assert_non_null(there);
  nx_tensor *keys = GOOD(nx_from_data(ctx, CUDA, NX_BOOL, &n, 1, there, (size_t)n)),
            *fill = scalar_of(scores, -INFINITY);
  free(there);
  const int64_t shape[] = {q->batch, 1, 1, 1, 1}, rank = nx_rank(scores);
  int64_t all[5];
  for (int i = 0; i < rank; i++) all[i] = i + 1 == rank ? q->columns : shape[i];
  keys = GOOD(nx_reshape(keys, all, (int32_t)rank, 0));
  if (!both) return GOOD(nx_where(keys, scores, fill));
  nx_tensor *columns = GOOD(nx_arange(ctx, CUDA, NX_I32, NX_NUMBER(0), NX_NUMBER(1), q->columns)),
            *rows = GOOD(nx_arange(ctx, CUDA, NX_I32, NX_NUMBER(0), NX_NUMBER(1), q->rows));
  nx_tensor *earlier = GOOD(nx_cmple(columns, nx_reshape(rows, NX_SHAPE(q->rows, 1), 0)));
  return GOOD(nx_where(GOOD(nx_and(earlier, keys)), scores, fill));
}

/* A summand for each head. */
static nx_tensor *biased(const request *q, nx_tensor *scores) {
  const int64_t n = q->heads * q->rows * q->columns;
  uint16_t *zeros = calloc((size_t)n, sizeof *zeros);
  assert_non_null(zeros);
  nx_tensor *x = GOOD(nx_from_data(ctx, CUDA, q->t, &n, 1, zeros, (size_t)n * sizeof *zeros));
  free(zeros);
  if (q->wide) x = GOOD(nx_cast(x, NX_F32));
  return GOOD(nx_add(scores, GOOD(nx_reshape(x, NX_SHAPE(1, q->heads, q->rows, q->columns), 0))));
}

static nx_tensor *recorded(const request *q, nx_tensor *const *in, nx_tensor **weights) {
  nx_tensor *x[3];
  for (int i = 0; i < 3; i++)
    x[i] = heads_of(q, in[i], i == 0 ? q->heads : q->groups, i == 0 ? q->rows : q->columns);
  const int32_t rank = nx_rank(x[0]);
  nx_tensor *keys = rank == 4 ? GOOD(nx_permute(x[1], NX_AXES(0, 1, 3, 2)))
                              : GOOD(nx_permute(x[1], NX_AXES(0, 1, 2, 4, 3)));
  if (q->wide) x[0] = GOOD(nx_cast(x[0], NX_F32)), keys = GOOD(nx_cast(keys, NX_F32));
  nx_tensor *s = GOOD(nx_matmul(x[0], keys));
  s = GOOD(nx_mul(s, scalar_of(s, 0.125)));
  if (q->mask == BIASED) s = biased(q, s);
  else if (q->mask >= PADDED) s = padded(q, s, q->mask == BOTH);
  else if (q->mask != NO_MASK) s = hidden(q, s);
  nx_tensor *e = GOOD(nx_exp(GOOD(nx_sub(s, GOOD(nx_reduce_max(s, NX_AXES(-1), NX_KEEPDIMS))))));
  *weights = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(-1), NX_KEEPDIMS))));
  return GOOD(nx_matmul(q->wide ? GOOD(nx_cast(*weights, q->t)) : *weights, x[2]));
}

static void which(void **state) {
  static const struct {
    request q;
    bool called;
    const char *attrs; /* in the plan */
  } all[] = {
      {{NX_BF16, 1, 16, 16, 2048, 2048, 64, NO_MASK, DENSE, false, false},
       true,
       "scale=15872 fill=-1"},
      {{NX_F16, 1, 16, 16, 2048, 2048, 64, CAUSAL, DENSE, false, false}, true, "least=-1073741824"},
      {{NX_BF16, 2, 16, 4, 1000, 1100, 128, SEEN, BEHIND, false, false}, true, "turned=7"},
      {{NX_BF16, 2, 16, 16, 1000, 1000, 48, WINDOW, BEHIND, false, false}, true, "least=-50"},
      {{NX_BF16, 1, 16, 16, 2048, 2048, 64, OWN, DENSE, false, false}, true, "bool[1,1,2048,2048]"},
      {{NX_BF16, 2, 16, 4, 1000, 1100, 128, PADDED, BEHIND, false, false},
       true,
       "bool[2,1,1,1100]"},
      {{NX_F16, 2, 16, 16, 1000, 1100, 64, BOTH, DENSE, false, false}, true, "bool[2,1,1,1100]"},
      {{NX_BF16, 2, 16, 16, 1000, 1100, 64, BIASED, DENSE, false, false},
       true,
       "bf16[1,16,1000,1104]"},
      {{NX_BF16, 1, 16, 16, 2048, 2048, 64, NO_MASK, DENSE, true, false}, false, NULL},
      {{NX_F32, 1, 16, 16, 2048, 2048, 64, NO_MASK, DENSE, false, false}, false, NULL},
      {{NX_BF16, 1, 16, 16, 2048, 2048, 72, NO_MASK, DENSE, false, false}, false, NULL},
      {{NX_BF16, 64, 16, 16, 1, 2048, 64, NO_MASK, DENSE, false, false},
       false,
       NULL}, /* decoding */
      {{NX_BF16, 1, 4, 4, 1024, 1024, 64, NO_MASK, DENSE, false, false}, false, NULL}, /* few */
      {{NX_BF16, 1, 16, 16, 2048, 2048, 64, NO_MASK, DENSE, false, true}, true, "scale=1040187392"},
      {{NX_F16, 2, 16, 4, 1000, 1100, 128, SEEN, BEHIND, false, true}, true, "turned=7"},
      {{NX_BF16, 2, 16, 16, 1000, 1100, 64, BOTH, DENSE, false, true}, true, "bool[2,1,1,1100]"},
      {{NX_BF16, 2, 16, 16, 1000, 1100, 64, BIASED, DENSE, false, true},
       true,
       "f32[1,16,1000,1104]"},
      {{NX_F32, 1, 16, 16, 2048, 2048, 64, NO_MASK, DENSE, false, true}, false, NULL},
      {{NX_BF16, 1, 16, 16, 2048, 2048, 64, NO_MASK, DENSE, true, true}, false, NULL},
  };
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const request *q = &all[i].q;
    char *plan;
    nx_tensor *in[3], *y[2];
    for (int j = 0; j < 3; j++) {
      const int64_t n = q->batch * (j == 0 ? q->heads : q->groups) *
                        (j == 0 ? q->rows : q->columns) * q->width,
                    bytes = n * nxi_dtype_size(q->t);
      void *zeros = calloc(1, (size_t)bytes);
      assert_non_null(zeros);
      in[j] = GOOD(nx_from_data(ctx, CUDA, q->t, &n, 1, zeros, (size_t)bytes));
      free(zeros);
    }
    y[0] = recorded(q, in, &y[1]);
    OK(nx_dump(y, q->kept ? 2 : 1, "plan", &plan));
    const bool called = strstr(plan, "call attention") != NULL;
    if (called != all[i].called ||
        (called && (strstr(plan, "matmul") != NULL || strstr(plan, "tensor cores") == NULL ||
                    strstr(plan, all[i].attrs) == NULL)))
      fail_msg("attention %zu: %s", i, plan);
    nx_string_free(plan);
  }
}

/* What lies between the products, of which one value is a result, too; as it is, or by a product
 * with numbers of the scores' shape. */
enum { NOTHING, REPEATED_MAX, REPEATED_SUM, INNER_MAX, WIDE_SUM, WIDE_POWERS, NEEDED };

static nx_tensor *needed(int which, nx_tensor *of) {
  if (which != REPEATED_MAX && which != REPEATED_SUM) return of;
  nx_tensor *numbers =
      GOOD(nx_arange(ctx, CUDA, nx_dtype_of(of), NX_NUMBER(0), NX_NUMBER(0.001), nx_elements(of)));
  return GOOD(nx_mul(of, GOOD(nx_reshape(numbers, nx_shape(of), nx_rank(of), 0))));
}

static nx_tensor *softmax_that_gives(int which, nx_tensor *s, nx_tensor **other) {
  const nx_dtype t = nx_dtype_of(s);
  nx_tensor *most = GOOD(nx_reduce_max(s, NX_AXES(-1), NX_KEEPDIMS)), *inner = most;
  if (which == INNER_MAX) most = GOOD(nx_max(most, scalar_of(s, -INFINITY)));
  nx_tensor *repeated = GOOD(nx_expand(most, nx_shape(s), nx_rank(s))),
            *e = GOOD(nx_exp(GOOD(nx_sub(s, repeated))));
  const bool wide = which >= WIDE_SUM;
  nx_tensor *powers = wide ? GOOD(nx_cast(e, NX_F32)) : e,
            *sum = GOOD(nx_reduce_sum(powers, NX_AXES(-1), NX_KEEPDIMS)),
            *rounded = wide ? GOOD(nx_cast(sum, t)) : sum,
            *sums = GOOD(nx_expand(rounded, nx_shape(s), nx_rank(s)));
  nx_tensor *const all[NEEDED] = {NULL, repeated, sums, inner, sum, powers};
  if (which != NOTHING) *other = needed(which, all[which]);
  return GOOD(nx_div(e, sums));
}

/* Values that something else needs are not computed twice, so there is no call; without that need
 * there is one. */
static void what_others_need(void **state) {
  enum { HEADS = 32, ROWS = 512, WIDTH = 64 };
  (void)state;
  for (int i = 0; i < 2 * NEEDED; i++) {
    const int which = i / 2;
    const bool kept = i % 2 && which != NOTHING;
    nx_tensor *in[3], *y[2] = {NULL, NULL};
    char *plan;
    for (int j = 0; j < 3; j++) {
      nx_tensor *x =
          GOOD(nx_arange(ctx, CUDA, NX_BF16, NX_NUMBER(0), NX_NUMBER(0.01), HEADS * ROWS * WIDTH));
      in[j] = GOOD(nx_reshape(x, NX_SHAPE(HEADS, ROWS, WIDTH), 0));
    }
    nx_tensor *s = GOOD(nx_matmul(in[0], GOOD(nx_permute(in[1], NX_AXES(0, 2, 1)))));
    y[0] = GOOD(nx_matmul(softmax_that_gives(which, s, &y[1]), in[2]));
    OK(nx_dump(y, kept ? 2 : 1, "plan", &plan));
    if ((strstr(plan, "call attention") != NULL) == kept) fail_msg("need %d: %s", which, plan);
    nx_string_free(plan);
  }
}

/* A factor of scores of 16 bits, which are then cast to f32. */
typedef struct factored {
  nx_dtype t;
  double factor;
  enum { NO_SUMMAND, SUMMAND, HIDDEN_LATER } then;
  const char *plan;
} factored;
enum { FACTORED_HEADS = 72, FACTORED_ROWS = 128, FACTORED_WIDTH = 32 };

static nx_tensor *recorded_on(nx_device device, const factored *c) {
  enum { N = FACTORED_HEADS * FACTORED_ROWS * FACTORED_WIDTH };
  nx_scope *scope = nx_scope_begin(ctx); /* a product that is held is kept in memory */
  nx_tensor *in[3], *s, *y;
  for (int j = 0; j < 3; j++) {
    nx_tensor *x = GOOD(nx_arange(ctx, device, NX_F32, NX_NUMBER(j), NX_NUMBER(0.37 + j), N));
    x = GOOD(nx_cast(GOOD(nx_sin(x)), c->t));
    in[j] = GOOD(nx_reshape(x, NX_SHAPE(FACTORED_HEADS, FACTORED_ROWS, FACTORED_WIDTH), 0));
  }
  s = GOOD(nx_matmul(in[0], GOOD(nx_permute(in[1], NX_AXES(0, 2, 1)))));
  s = GOOD(nx_mul(s, GOOD(nx_full(ctx, device, c->t, NULL, 0, NX_NUMBER(c->factor)))));
  s = GOOD(nx_cast(s, NX_F32));
  nx_tensor *columns =
      GOOD(nx_arange(ctx, device, NX_F32, NX_NUMBER(0), NX_NUMBER(0.01), FACTORED_ROWS));
  if (c->then == SUMMAND) s = GOOD(nx_add(s, columns));
  if (c->then == HIDDEN_LATER) {
    nx_tensor *fill = GOOD(nx_full(ctx, device, NX_F32, NULL, 0, NX_NUMBER(-INFINITY)));
    s = GOOD(nx_where(GOOD(nx_cmple(columns, nx_reshape(columns, NX_SHAPE(FACTORED_ROWS, 1), 0))),
                      s, fill));
  }
  nx_tensor *e = GOOD(nx_exp(GOOD(nx_sub(s, GOOD(nx_reduce_max(s, NX_AXES(-1), NX_KEEPDIMS)))))),
            *w = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(-1), NX_KEEPDIMS))));
  y = nx_keep(GOOD(nx_cast(GOOD(nx_matmul(GOOD(nx_cast(w, c->t)), in[2])), NX_F32)));
  nx_scope_end(scope);
  return y;
}

static void factors_before_a_cast(void **state) {
  enum { N = FACTORED_HEADS * FACTORED_ROWS * FACTORED_WIDTH, PROCESSOR = 0 };
  static const factored all[] = {
      {NX_BF16, 0.125, SUMMAND,
       "scale=1040187392 fill=-1 least=-1073741824 most=1073741824 wide=2 "},
      {NX_BF16, 0.1, SUMMAND, "wide=4 "},
      {NX_F16, 0.125, SUMMAND, "wide=4 "},
      {NX_F16, 0.3, HIDDEN_LATER, "wide=4 "},
      {NX_BF16, 2, HIDDEN_LATER, "wide=4 "},
      {NX_BF16, 0.25, NO_SUMMAND, "wide=3 "},
  };
  static float is[N], should[N];
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    nx_tensor *y = recorded_on(CUDA, &all[i]);
    char *plan;
    OK(nx_dump(&y, 1, "plan", &plan));
    if (strstr(plan, "call attention") == NULL || strstr(plan, all[i].plan) == NULL)
      fail_msg("factor %zu: %s", i, plan);
    nx_string_free(plan);
    OK(nx_read(y, is, sizeof is, NULL));
    nx_tensor_release(y);
    y = recorded_on(PROCESSOR, &all[i]);
    OK(nx_read(y, should, sizeof should, NULL));
    nx_tensor_release(y);
    for (int64_t j = 0; j < N; j++)
      if (!(fabsf(is[j] - should[j]) <= 0.01f * (1 + fabsf(should[j]))))
        fail_msg("factor %zu, element %lld: is %g, should be %g", i, (long long)j, (double)is[j],
                 (double)should[j]);
  }
}

NXT_MAIN(cuda_attention_graphs) {
  const struct CMUnitTest tests[] = {IN_SCOPE(which), IN_SCOPE(what_others_need),
                                     IN_SCOPE(factors_before_a_cast)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
