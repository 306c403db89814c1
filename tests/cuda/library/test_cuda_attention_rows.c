/* SPDX-License-Identifier: ISC */
/* Tests of attention whose heads share keys, where rows of the products are positions times heads:
 * which graphs are calls, and that these give what a processor gives for each step. */
#include "tests/cuda/fake_device.h"

#include <math.h>
#include <stdlib.h>

#include "tests/util/runner.h"

enum { PROCESSOR = 0 };
enum { BATCH = 2, ROWS = 128, GROUPS = 9, SHARE = 4, COLUMNS = 192, WIDTH = 32 };
enum { ALL_ROWS = ROWS * SHARE, MATRICES = BATCH * GROUPS, RESULTS = BATCH * GROUPS * ALL_ROWS };

/* AS_BEFORE: the softmax has rows as the first product has them. */
typedef struct trial {
  enum { AS_BEFORE, HEADS_FIRST, HEADS_OUTSIDE } order;
  bool exchanged;  /* the first product is one of keys and queries */
  bool heads_last; /* rows of the second product are positions times heads, too */
  enum { NO_MASK, CAUSAL, WINDOW, SEEN, ADDED } mask;
  enum { RIGHT, OTHER_MAXIMA, OTHER_WEIGHTS, KEPT } fault;
  /* The result is [batch, row, group, head, width], as queries are; [head, batch, group, row,
   * width]; or elements in an order that has no such axes. */
  enum { AS_IT_IS, POSITIONS_FIRST, HEADS_BEFORE, IN_PIECES } result;
} trial;

static uint16_t *some(int64_t n, uint32_t seed) {
  uint16_t *x = malloc((size_t)n * sizeof *x);
  assert_non_null(x);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (uint16_t)((seed >> 16 & 0x8000) | (0x3e80 + (seed >> 20 & 0x1ff)));
  }
  return x;
}

static nx_tensor *operand(nx_device device, int which) {
  const int64_t n = (int64_t)BATCH * WIDTH * GROUPS * (which == 0 ? ALL_ROWS : COLUMNS);
  uint16_t *x = some(n, 77u + (uint32_t)which);
  nx_tensor *t = GOOD(nx_from_data(ctx, device, NX_BF16, &n, 1, x, (size_t)n * sizeof *x));
  free(x);
  if (which == 0) return GOOD(nx_reshape(t, NX_SHAPE(BATCH, ROWS, GROUPS, SHARE, WIDTH), 0));
  return GOOD(nx_reshape(t, NX_SHAPE(BATCH, COLUMNS, GROUPS, WIDTH), 0));
}

/* Scores [batch, group, row, head, column]. */
static nx_tensor *product(const trial *c, nx_tensor *q, nx_tensor *k) {
  q = GOOD(nx_cast(q, NX_F32));
  k = GOOD(nx_cast(k, NX_F32));
  nx_tensor *x, *s;
  if (c->exchanged) {
    k = GOOD(nx_reshape(GOOD(nx_permute(k, NX_AXES(0, 2, 1, 3))),
                        NX_SHAPE(MATRICES, COLUMNS, WIDTH), NX_MAY_COPY));
    x = GOOD(nx_reshape(GOOD(nx_permute(q, NX_AXES(0, 2, 4, 1, 3))),
                        NX_SHAPE(MATRICES, WIDTH, ALL_ROWS), NX_MAY_COPY));
    s = GOOD(nx_reshape(GOOD(nx_matmul(k, x)), NX_SHAPE(BATCH, GROUPS, COLUMNS, ROWS, SHARE), 0));
    return GOOD(nx_permute(s, NX_AXES(0, 1, 3, 4, 2)));
  }
  x = GOOD(nx_reshape(GOOD(nx_permute(q, NX_AXES(0, 2, 1, 3, 4))),
                      NX_SHAPE(MATRICES, ALL_ROWS, WIDTH), NX_MAY_COPY));
  k = GOOD(nx_reshape(GOOD(nx_permute(k, NX_AXES(0, 2, 3, 1))), NX_SHAPE(MATRICES, WIDTH, COLUMNS),
                      NX_MAY_COPY));
  return GOOD(nx_reshape(GOOD(nx_matmul(x, k)), NX_SHAPE(BATCH, GROUPS, ROWS, SHARE, COLUMNS), 0));
}

static nx_tensor *masked(const trial *c, nx_device device, nx_tensor *s) {
  nx_tensor *fill = GOOD(nx_full(ctx, device, NX_F32, NULL, 0, NX_NUMBER(-1e30))),
            *rows = GOOD(nx_arange(ctx, device, NX_I32, NX_NUMBER(0), NX_NUMBER(1), ROWS)),
            *columns = GOOD(nx_arange(ctx, device, NX_I32, NX_NUMBER(0), NX_NUMBER(1), COLUMNS));
  if (c->order == AS_BEFORE) rows = GOOD(nx_reshape(rows, NX_SHAPE(ROWS, 1, 1), 0));
  else rows = GOOD(nx_reshape(rows, NX_SHAPE(ROWS, 1), 0));
  nx_tensor *seen = GOOD(nx_cmple(columns, rows));
  if (c->mask == CAUSAL) return GOOD(nx_where(seen, s, fill));
  if (c->mask == WINDOW) {
    nx_tensor *far = GOOD(nx_full(ctx, device, NX_I32, NULL, 0, NX_NUMBER(30)));
    seen = GOOD(nx_and(seen, GOOD(nx_cmplt(GOOD(nx_sub(rows, columns)), far))));
    return GOOD(nx_where(seen, s, fill));
  }
  const int64_t n = (int64_t)SHARE * BATCH * GROUPS * ROWS * COLUMNS;
  uint16_t *x = some(n, 5);
  nx_tensor *m = GOOD(nx_from_data(ctx, device, NX_BF16, &n, 1, x, (size_t)n * sizeof *x));
  free(x);
  m = GOOD(nx_cast(m, NX_F32));
  m = GOOD(nx_reshape(m, NX_SHAPE(BATCH, GROUPS, SHARE, ROWS, COLUMNS), 0));
  if (c->order == HEADS_OUTSIDE) m = GOOD(nx_permute(m, NX_AXES(2, 0, 1, 3, 4)));
  if (c->order == AS_BEFORE) m = GOOD(nx_permute(m, NX_AXES(0, 1, 3, 2, 4)));
  if (c->mask == ADDED) return GOOD(nx_add(s, m));
  nx_tensor *none = GOOD(nx_full(ctx, device, NX_F32, NULL, 0, NX_NUMBER(0)));
  return GOOD(nx_where(GOOD(nx_cmplt(m, none)), fill, s));
}

static nx_tensor *recorded(const trial *c, nx_device device, nx_tensor **weights) {
  static const int32_t back[][5] = {{0, 1, 2, 3, 4}, {0, 1, 3, 2, 4}, {1, 2, 3, 0, 4}};
  nx_tensor *s = product(c, operand(device, 0), operand(device, 1)), *v = operand(device, 2);
  s = GOOD(nx_mul(s, GOOD(nx_full(ctx, device, NX_F32, NULL, 0, NX_NUMBER(0.25)))));
  if (c->order == HEADS_FIRST) s = GOOD(nx_permute(s, NX_AXES(0, 1, 3, 2, 4)));
  if (c->order == HEADS_OUTSIDE) s = GOOD(nx_permute(s, NX_AXES(3, 0, 1, 2, 4)));
  if (c->mask != NO_MASK) s = masked(c, device, s);
  nx_tensor *most = GOOD(nx_reduce_max(s, NX_AXES(-1), NX_KEEPDIMS));
  if (c->fault == OTHER_MAXIMA) { /* those of rows in another order */
    assert_int_equal(c->order, HEADS_FIRST);
    most = GOOD(nx_permute(most, NX_AXES(0, 1, 3, 2, 4)));
    most = GOOD(nx_reshape(most, NX_SHAPE(BATCH, GROUPS, SHARE, ROWS, 1), NX_MAY_COPY));
  }
  nx_tensor *e = GOOD(nx_exp(GOOD(nx_sub(s, most)))),
            *w = GOOD(nx_div(e, GOOD(nx_reduce_sum(e, NX_AXES(-1), NX_KEEPDIMS))));
  w = *weights = GOOD(nx_cast(w, NX_BF16));
  /* back: [batch, group, row, head, column], unless heads are in front of rows */
  if (c->order == AS_BEFORE && !c->heads_last) w = GOOD(nx_permute(w, NX_AXES(0, 1, 3, 2, 4)));
  if (c->order == HEADS_OUTSIDE) w = GOOD(nx_permute(w, back[HEADS_OUTSIDE], 5));
  if (c->order == HEADS_OUTSIDE && !c->heads_last) w = GOOD(nx_permute(w, back[1], 5));
  if (c->order == HEADS_FIRST && c->heads_last) w = GOOD(nx_permute(w, back[1], 5));
  if (c->fault == OTHER_WEIGHTS) { /* of another group */
    w = GOOD(nx_reshape(w, NX_SHAPE(BATCH, SHARE, GROUPS, ROWS, COLUMNS), NX_MAY_COPY));
    w = GOOD(nx_permute(w, NX_AXES(0, 2, 1, 3, 4)));
  }
  w = GOOD(nx_reshape(w, NX_SHAPE(MATRICES, ALL_ROWS, COLUMNS), NX_MAY_COPY));
  v = GOOD(nx_reshape(GOOD(nx_permute(v, NX_AXES(0, 2, 1, 3))), NX_SHAPE(MATRICES, COLUMNS, WIDTH),
                      NX_MAY_COPY));
  nx_tensor *y = GOOD(nx_matmul(w, v));
  const int64_t heads_last[] = {BATCH, GROUPS, ROWS, SHARE, WIDTH},
                heads_first[] = {BATCH, GROUPS, SHARE, ROWS, WIDTH};
  if (c->result != AS_IT_IS)
    y = GOOD(nx_reshape(y, c->heads_last ? heads_last : heads_first, 5, 0));
  if (c->result == POSITIONS_FIRST) {
    y = c->heads_last ? GOOD(nx_permute(y, NX_AXES(0, 2, 1, 3, 4)))
                      : GOOD(nx_permute(y, NX_AXES(0, 3, 1, 2, 4)));
    y = GOOD(nx_reshape(y, NX_SHAPE(BATCH, ROWS, GROUPS * SHARE, WIDTH), NX_MAY_COPY));
  } else if (c->result == HEADS_BEFORE) {
    y = GOOD(nx_contiguous(GOOD(nx_permute(y, NX_AXES(2, 0, 1, 3, 4)))));
  } else if (c->result == IN_PIECES) {
    y = GOOD(nx_reshape(y, NX_SHAPE(BATCH, 16, RESULTS * WIDTH / BATCH / 16), 0));
    y = GOOD(nx_contiguous(GOOD(nx_permute(y, NX_AXES(1, 0, 2)))));
  }
  return GOOD(nx_cast(y, NX_F32));
}

static const struct {
  trial c;
  bool called;
  const char *plan; /* a part of it */
} all[] = {
    {{HEADS_OUTSIDE, false, false, NO_MASK, RIGHT, AS_IT_IS}, true, "turned=7"},
    {{HEADS_OUTSIDE, false, false, CAUSAL, RIGHT, AS_IT_IS}, true, "least=-1073741824"},
    {{HEADS_OUTSIDE, false, false, SEEN, RIGHT, AS_IT_IS}, true, "bool[2,36,128,192]"},
    {{HEADS_FIRST, true, false, NO_MASK, RIGHT, AS_IT_IS}, true, "turned=7"},
    {{HEADS_FIRST, true, false, CAUSAL, RIGHT, AS_IT_IS}, true, "least=-1073741824"},
    {{HEADS_FIRST, true, false, ADDED, RIGHT, AS_IT_IS}, true, "f32[2,36,128,192]"},
    {{HEADS_FIRST, false, false, ADDED, RIGHT, AS_IT_IS}, true, "f32[2,36,128,192]"},
    {{AS_BEFORE, false, false, SEEN, RIGHT, AS_IT_IS}, true, "bool[2,36,128,192]"},
    {{AS_BEFORE, true, true, NO_MASK, RIGHT, AS_IT_IS}, true, "wide=1"},
    /* Rows of the result are positions times heads. */
    {{AS_BEFORE, false, true, SEEN, RIGHT, AS_IT_IS}, true, "bool[2,9,512,192]"},
    {{AS_BEFORE, false, true, CAUSAL, RIGHT, AS_IT_IS}, true, "least=-1073741824 turned=7"},
    {{AS_BEFORE, false, true, ADDED, RIGHT, AS_IT_IS}, true, "f32[2,36,128,192]"},
    {{AS_BEFORE, true, true, WINDOW, RIGHT, AS_IT_IS}, true, "least=-29 turned=7"},
    {{HEADS_OUTSIDE, false, true, NO_MASK, RIGHT, AS_IT_IS}, true, "turned=7"},
    {{HEADS_OUTSIDE, false, true, SEEN, RIGHT, AS_IT_IS}, true, "bool[2,36,128,192]"},
    {{HEADS_FIRST, true, true, CAUSAL, RIGHT, AS_IT_IS}, true, "least=-1073741824 turned=7"},
    {{HEADS_FIRST, false, true, ADDED, RIGHT, AS_IT_IS}, true, "f32[2,36,128,192]"},
    {{AS_BEFORE, false, true, CAUSAL, RIGHT, POSITIONS_FIRST}, true, "turned=15"},
    {{HEADS_OUTSIDE, false, false, WINDOW, RIGHT, POSITIONS_FIRST}, true, "turned=15"},
    {{HEADS_FIRST, false, false, CAUSAL, RIGHT, HEADS_BEFORE}, true, "turned=7 "},
    {{HEADS_FIRST, false, false, CAUSAL, RIGHT, IN_PIECES}, true, "turned=7 "},
    {{HEADS_FIRST, false, false, NO_MASK, OTHER_MAXIMA, AS_IT_IS}, false, NULL},
    {{HEADS_FIRST, false, false, NO_MASK, KEPT, AS_IT_IS}, false, NULL},
    {{HEADS_OUTSIDE, false, false, CAUSAL, KEPT, AS_IT_IS}, false, NULL},
};
static const trial other_weights = {HEADS_FIRST, false, false, NO_MASK, OTHER_WEIGHTS, AS_IT_IS};

static void which(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char *plan;
    nx_tensor *y[2];
    y[0] = recorded(&all[i].c, CUDA, &y[1]);
    OK(nx_dump(y, all[i].c.fault == KEPT ? 2 : 1, "plan", &plan));
    const bool called = strstr(plan, "call attention") != NULL;
    if (called != all[i].called ||
        (called && (strstr(plan, "matmul") != NULL || strstr(plan, all[i].plan) == NULL)))
      fail_msg("attention %zu: %s", i, plan);
    nx_string_free(plan);
  }
}

static void compare(const trial *c, const char *what) {
  enum { N = RESULTS * WIDTH };
  float *is = malloc(N * sizeof *is), *should = malloc(N * sizeof *should);
  nx_tensor *weights;
  assert_true(is != NULL && should != NULL);
  OK(nx_read(recorded(c, CUDA, &weights), is, N * sizeof *is, NULL));
  OK(nx_read(recorded(c, PROCESSOR, &weights), should, N * sizeof *should, NULL));
  for (int64_t i = 0; i < N; i++)
    if (!(fabsf(is[i] - should[i]) <= 0.01f * (1 + fabsf(should[i]))))
      fail_msg("%s, element %lld: is %g, should be %g", what, (long long)i, (double)is[i],
               (double)should[i]);
  free(is);
  free(should);
}

static void values(void **state) {
  (void)state;
  compare(&all[1].c, "heads outside, causal");
  compare(&all[2].c, "heads outside, a condition");
  compare(&all[5].c, "exchanged, a summand");
  compare(&all[7].c, "a condition before heads are moved");
  compare(&all[10].c, "positions times heads, causal");
  compare(&all[11].c, "positions times heads, a summand");
  compare(&all[12].c, "positions times heads, exchanged, a window");
  compare(&all[14].c, "positions times heads, heads outside before, a condition");
  compare(&all[16].c, "positions times heads, heads first before, a summand");
  compare(&all[17].c, "positions first, causal");
  compare(&all[18].c, "positions first, heads outside, a window");
  compare(&all[19].c, "heads before, causal");
  compare(&all[20].c, "in pieces, causal");
  compare(&other_weights, "weights of other groups");
}

NXT_MAIN(cuda_attention_rows) {
  const struct CMUnitTest tests[] = {IN_SCOPE(which), IN_SCOPE(values)};
  return cmocka_run_group_tests(tests, open_fake, close_fake);
}
