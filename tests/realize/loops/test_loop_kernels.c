/* SPDX-License-Identifier: ISC */
/* Loops that become one kernel with the steps inside it, and short ones that become their steps:
 * what they carry, read and stack, beside the same steps recorded one after the other. Elements of
 * every kind, sizes with and without a rest, on one thread and on several; any number of steps; and
 * loops that must not become a kernel. */
#include "tests/util/api.h"

enum { MOST_STEPS = 9, MOST = 8 };
static const int64_t rows = 5;
static int64_t steps = MOST_STEPS; /* 3: few enough to become the steps */

/* A loop: `of` records what a step makes of n carried values. */
typedef struct loop {
  nx_dtype dtype;
  int64_t columns;
  bool reverse;
  uint32_t n_carried, n_captured, n_stacked, n_slices;
  nx_tensor *init[MOST], *captured[MOST], *stacks[MOST];
  void (*of)(nx_tensor *step, nx_tensor *const *in, nx_tensor **out);
} loop;

/* Values that stay in range for some steps, and are exact in no dtype. */
static nx_tensor *values(nx_dtype t, const int64_t *shape, size_t rank, double first) {
  int64_t n = 1;
  for (size_t i = 0; i < rank; i++) n *= shape[i];
  nx_tensor *x = GOOD(nx_arange(ctx, device(), NX_F64, NX_NUMBER(first), NX_NUMBER(0.37), n));
  x = GOOD(nx_sin(x));
  if (t == NX_I32) x = GOOD(nx_mul(x, nx_full(ctx, device(), NX_F64, NULL, 0, NX_NUMBER(900))));
  if (t == NX_BOOL) x = GOOD(nx_cmplt(x, nx_full(ctx, device(), NX_F64, NULL, 0, NX_NUMBER(0.2))));
  if (t == NX_C64) {
    x = GOOD(nx_cast(x, NX_F32));
    x = GOOD(nx_complex(x, nx_neg(x)));
  }
  return GOOD(nx_reshape(nx_cast(x, t), shape, rank, 0));
}

static nx_tensor *matrix(const loop *l, double first) {
  return values(l->dtype, (const int64_t[]){rows, l->columns}, 2, first);
}
static nx_tensor *row(const loop *l, double first) {
  return values(l->dtype, &l->columns, 1, first);
}
static nx_tensor *one(nx_dtype t, double x) {
  return GOOD(nx_cast(nx_full(ctx, device(), NX_F64, NULL, 0, NX_NUMBER(x)), t));
}

static const int64_t columns[] = {1, 7, 64, 333};
enum { SIZES = sizeof columns / sizeof *columns };
/* A GPU that is imitated compiles each kernel for a second: it gets a part of the tests. */
static bool is_quick(void) { return device() == 0; }
static int first_size(void) { return is_quick() ? 0 : SIZES - 1; }

/* ---- steps. in: carried values, captured ones, slices. */

/* Two matrices and a scalar that changes, a row that is captured, and the number of the step. */
static void of_numbers(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  nx_dtype t = nx_dtype_of(in[0]);
  nx_tensor *k = GOOD(nx_cast(step, t)), *sum = GOOD(nx_add(in[0], nx_mul(in[1], in[3])));
  out[0] = GOOD(nx_sub(nx_mul(sum, in[2]), k));
  out[1] = GOOD(nx_where(nx_cmpeq(in[0], in[1]), in[1], nx_add(in[1], in[2])));
  out[2] = GOOD(nx_sub(in[2], nx_mul(in[2], nx_mul(in[2], one(t, 3)))));
}
static void of_truths(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  nx_tensor *even = GOOD(nx_cmpeq(nx_and(step, one(NX_I64, 1)), one(NX_I64, 0)));
  out[0] = GOOD(nx_xor(in[0], nx_and(in[1], in[3])));
  out[1] = GOOD(nx_or(nx_and(in[0], in[2]), nx_not(in[1])));
  out[2] = GOOD(nx_xor(in[2], even));
}
/* An exchange: copies in the body's plan. */
static void of_exchange(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  (void)step;
  out[0] = in[1];
  out[1] = GOOD(nx_add(in[0], in[1]));
  out[2] = in[3];
  out[3] = in[2];
}
/* Slices in, and slices out: of the carried matrix, of a scalar, of what was captured. */
static void of_stacks(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  (void)step;
  out[0] = GOOD(nx_add(nx_mul(in[0], in[2]), in[4]));
  out[1] = GOOD(nx_add(in[1], in[5]));
  out[2] = GOOD(nx_neg(out[0]));
  out[3] = GOOD(nx_mul(in[1], in[1]));
  bool parts = nx_dtype_of(in[0]) == NX_C64; /* copies of them go over more points */
  out[4] = parts ? GOOD(nx_neg(in[3])) : in[3];
  out[5] = parts ? GOOD(nx_neg(in[4])) : in[4];
}
/* ---- steps that are several kernels, joined in one */

static nx_tensor *mean_of(nx_tensor *x, int32_t axis) {
  nx_tensor *sum = GOOD(nx_reduce_sum(x, &axis, 1, 1));
  nx_tensor *n = one(nx_dtype_of(x), (double)(nx_shape(x)[axis] + 1));
  return GOOD(nx_dtype_of(x) == NX_I32 ? nx_div(sum, n) : nx_mul(sum, nx_recip(n)));
}
/* A matrix read at other points than it is written. */
static void of_neighbours(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  (void)step;
  out[0] = GOOD(nx_add(nx_flip(in[0], (const int32_t[]){1}, 1), in[1]));
  out[1] = GOOD(nx_mul(in[1], one(nx_dtype_of(in[1]), 2)));
}
/* Neighbours along rows, with a border; and the number of the step. */
static void of_heat(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  nx_dtype t = nx_dtype_of(in[0]);
  int64_t n = nx_shape(in[0])[1], first[2] = {0, 1}, none[2] = {0, 0}, last[2] = {rows, n};
  nx_tensor *right = GOOD(nx_pad(nx_shrink(in[0], first, last, 2), none, first, 2, NX_NUMBER(0)));
  last[1] = n - 1;
  nx_tensor *left = GOOD(nx_pad(nx_shrink(in[0], none, last, 2), first, none, 2, NX_NUMBER(0)));
  nx_tensor *around = GOOD(nx_sub(nx_add(left, right), nx_add(in[0], in[0])));
  out[0] = GOOD(nx_add(in[0], nx_mul(around, in[1])));
  out[1] = GOOD(nx_sub(in[1], nx_mul(nx_cast(step, t), nx_mul(in[1], in[1]))));
}
/* Means of rows and columns, which the next values are made of: reductions in a row. */
static void of_means(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  (void)step;
  nx_tensor *centred = GOOD(nx_sub(in[0], mean_of(in[0], 1)));
  out[0] = GOOD(nx_add(nx_sub(centred, mean_of(centred, 0)), in[1]));
  out[1] = GOOD(nx_add(mean_of(out[0], 0), in[3]));
  out[2] = GOOD(nx_add(in[2], nx_reshape(mean_of(mean_of(in[0], 0), 1), NULL, 0, 0)));
}
/* A sum of columns, and what follows from it. */
static void of_mean(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  (void)step;
  const int32_t axis = 0;
  out[1] = GOOD(nx_mul(nx_reduce_sum(in[0], &axis, 1, 1), in[2]));
  out[0] = GOOD(nx_sub(in[0], nx_add(out[1], in[1])));
}
/* Slices that are read elsewhere, and slices of what a reduction gives. */
static void of_rolled_stacks(nx_tensor *step, nx_tensor *const *in, nx_tensor **out) {
  (void)step;
  const int32_t axis = 1;
  out[0] = GOOD(nx_add(nx_flip(in[0], &axis, 1), nx_flip(in[3], &axis, 1)));
  out[1] = GOOD(nx_add(in[1], in[4]));
  out[2] = GOOD(nx_reduce_sum(out[0], &axis, 1, 0));
  out[3] = GOOD(nx_reduce_sum(in[3], &axis, 1, 1));
  out[4] = GOOD(nx_mul(in[1], in[2]));
}

/* ---- the loop, and the steps one after the other */

static nx_tensor *placeholder_like(nx_tensor *x, bool slice) {
  int64_t shape[8];
  size_t rank = (size_t)nx_rank(x);
  for (size_t i = 0; i < rank; i++) shape[i] = nx_shape(x)[i];
  return GOOD(nx_placeholder(ctx, device(), nx_dtype_of(x), shape + slice, rank - slice));
}

static nx_function *body_of(const loop *l, bool indexed) {
  nx_tensor *in[4 * MOST], *out[MOST], *step = GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0));
  size_t n = indexed;
  in[0] = step;
  for (uint32_t i = 0; i < l->n_carried; i++) in[n++] = placeholder_like(l->init[i], false);
  for (uint32_t i = 0; i < l->n_captured; i++) in[n++] = placeholder_like(l->captured[i], false);
  for (uint32_t i = 0; i < l->n_stacked; i++) in[n++] = placeholder_like(l->stacks[i], true);
  l->of(step, in + indexed, out);
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n, out, l->n_carried + l->n_slices, NULL, &f));
  return f;
}

static nx_tensor *slice_of(nx_tensor *stack, int64_t at) {
  int64_t start[8] = {at}, stop[8] = {at + 1};
  size_t rank = (size_t)nx_rank(stack);
  for (size_t i = 1; i < rank; i++) stop[i] = nx_shape(stack)[i];
  nx_tensor *s = GOOD(nx_shrink(stack, start, stop, rank));
  return GOOD(nx_reshape(s, stop + 1, rank - 1, 0));
}

static nx_tensor *as_slice(nx_tensor *x) {
  int64_t shape[8] = {1};
  size_t rank = (size_t)nx_rank(x);
  for (size_t i = 0; i < rank; i++) shape[i + 1] = nx_shape(x)[i];
  return GOOD(nx_reshape(x, shape, rank + 1, 0));
}

static void unrolled(const loop *l, nx_tensor **out) {
  nx_tensor *in[3 * MOST], *given[MOST], *slices[MOST][MOST_STEPS];
  for (uint32_t i = 0; i < l->n_carried; i++) in[i] = l->init[i];
  for (uint32_t i = 0; i < l->n_captured; i++) in[l->n_carried + i] = l->captured[i];
  for (int64_t step = 0; step < steps; step++) {
    int64_t at = l->reverse ? steps - 1 - step : step;
    for (uint32_t i = 0; i < l->n_stacked; i++)
      in[l->n_carried + l->n_captured + i] = slice_of(l->stacks[i], at);
    l->of(one(NX_I64, (double)step), in, given);
    for (uint32_t i = 0; i < l->n_carried; i++) in[i] = given[i];
    for (uint32_t i = 0; i < l->n_slices; i++) slices[i][at] = as_slice(given[l->n_carried + i]);
  }
  for (uint32_t i = 0; i < l->n_carried; i++) out[i] = in[i];
  for (uint32_t i = 0; i < l->n_slices; i++)
    out[l->n_carried + i] = GOOD(nx_cat(slices[i], (size_t)steps, 0));
}

static void *bytes_of(nx_tensor *t, size_t *bytes) {
  *bytes = (size_t)(nx_elements(t) * nx_dtype_bits(nx_dtype_of(t)) / 8);
  char *data = calloc(1, *bytes + 1);
  OK(nx_read(t, data, *bytes, NULL));
  return data;
}

static void expect_same(nx_tensor *a, nx_tensor *b) {
  size_t n, m;
  void *x = bytes_of(a, &n), *y = bytes_of(b, &m);
  assert_int_equal(n, m);
  assert_memory_equal(x, y, n);
  free(x);
  free(y);
}

/* All results, and each of them alone: what nobody reads has no memory. */
static void check(const loop *l) {
  nx_tensor *out[MOST] = {0}, *same[MOST] = {0};
  size_t n = l->n_carried + l->n_slices;
  nx_loop_options o = {.size = sizeof o, .reverse = l->reverse};
  bool scans = l->n_stacked + l->n_slices > 0;
  nx_function *f = body_of(l, !scans);
  unrolled(l, same);
  for (size_t only = 0; only <= (is_quick() ? n : 0); only++) {
    memset(out, 0, sizeof out);
    if (scans)
      OK(nx_scan(f, steps, l->init, l->n_carried, l->captured, l->n_captured, l->stacks,
                 l->n_stacked, &o, out, n));
    else OK(nx_for(NULL, steps, f, l->init, l->n_carried, l->captured, l->n_captured, &o, out, n));
    if (only == 0) OK(nx_realize(ctx, out, n, NULL));
    for (size_t i = 0; i < n; i++)
      if (only == 0 || i + 1 == only) expect_same(out[i], same[i]);
    for (size_t i = 0; i < n; i++) nx_tensor_release(out[i]);
  }
  nx_function_release(f);
}

static void of_every_kind(void **state) {
  (void)state;
  static const nx_dtype kinds[] = {NX_C64, NX_F32, NX_F64, NX_I32, NX_BOOL, NX_F16};
  for (size_t k = 0; k < (is_quick() ? sizeof kinds / sizeof *kinds : 1); k++)
    for (int i = first_size(); i < SIZES; i++) {
      nx_scope *scope = nx_scope_begin(ctx);
      loop l = {.dtype = kinds[k], .columns = columns[i], .n_carried = 3, .n_captured = 1};
      l.of = kinds[k] == NX_BOOL ? of_truths : of_numbers;
      l.init[0] = matrix(&l, 0.1);
      l.init[1] = matrix(&l, 0.9);
      l.init[2] = kinds[k] == NX_BOOL ? GOOD(nx_cast(one(NX_I32, 1), NX_BOOL)) : one(kinds[k], 0.5);
      l.captured[0] = row(&l, 2);
      check(&l);
      nx_scope_end(scope);
    }
}

static void exchanges(void **state) {
  (void)state;
  for (int i = first_size(); i < SIZES; i++) {
    loop l = {.dtype = NX_F32, .columns = columns[i], .n_carried = 4, .of = of_exchange};
    for (int k = 0; k < 2; k++) l.init[k] = matrix(&l, k + 0.5);
    for (int k = 2; k < 4; k++) l.init[k] = one(NX_F32, k + 0.5);
    check(&l);
  }
}

static void stacks(const loop *of) {
  loop l = *of;
  l.n_captured = l.n_stacked = 2;
  l.n_carried = 2;
  l.n_slices = 4;
  l.of = of_stacks;
  l.init[0] = matrix(&l, 0.3);
  l.init[1] = one(l.dtype, 0.25);
  l.captured[0] = row(&l, 1.5);
  l.captured[1] = matrix(&l, 1.25);
  l.stacks[0] = values(l.dtype, (const int64_t[]){steps, rows, l.columns}, 3, 4);
  l.stacks[1] = values(l.dtype, (const int64_t[]){steps}, 1, 5);
  check(&l);
}

static void slices_in_and_out(void **state) {
  (void)state;
  static const nx_dtype kinds[] = {NX_F32, NX_I32, NX_C64};
  for (size_t k = 0; k < (is_quick() ? sizeof kinds / sizeof *kinds : 1); k++)
    for (int i = 2 * first_size(); i < 2 * SIZES; i++) {
      nx_scope *scope = nx_scope_begin(ctx);
      loop l = {.dtype = kinds[k], .columns = columns[i / 2], .reverse = i % 2};
      stacks(&l);
      nx_scope_end(scope);
    }
}

static void neighbours(void **state) {
  (void)state;
  loop l = {.dtype = NX_F32, .columns = 100, .n_carried = 2, .of = of_neighbours};
  for (int k = 0; k < 2; k++) l.init[k] = matrix(&l, k + 0.5);
  check(&l);
}

static void joined_of(nx_dtype t, int64_t n, bool reverse) {
  loop l = {.dtype = t, .columns = n, .reverse = reverse, .n_carried = 2, .of = of_heat};
  l.init[0] = matrix(&l, 0.4);
  l.init[1] = one(t, 0.125);
  if (!reverse) check(&l);
  l.of = of_means;
  l.n_carried = 3;
  l.n_captured = 1;
  l.init[1] = values(t, (const int64_t[]){1, n}, 2, 3);
  l.init[2] = one(t, 0.75);
  l.captured[0] = row(&l, 2);
  if (!reverse) check(&l);
  l.of = of_rolled_stacks;
  l.n_carried = l.n_stacked = 2;
  l.n_slices = 3;
  l.init[1] = one(t, 0.25);
  l.captured[0] = one(t, 1.5);
  l.stacks[0] = values(t, (const int64_t[]){steps, rows, n}, 3, 4);
  l.stacks[1] = values(t, &steps, 1, 5);
  check(&l);
}

static void joined(void **state) {
  (void)state;
  static const nx_dtype kinds[] = {NX_F32, NX_C64, NX_I32, NX_F16};
  for (size_t k = 0; k < (is_quick() ? sizeof kinds / sizeof *kinds : 1); k++)
    for (int i = first_size(); i < SIZES; i += k == 0 ? 1 : SIZES) {
      nx_scope *scope = nx_scope_begin(ctx);
      if (k > 0) i = 1;
      steps = k % 2 ? 6 : 5; /* too many to become the steps */
      joined_of(kinds[k], columns[i], i % 2);
      nx_scope_end(scope);
    }
  steps = MOST_STEPS;
}

/* A loop of those is one kernel, and is found again when it is recorded again. */
static void is_one_kernel(void **state) {
  (void)state;
  loop l = {.dtype = NX_F32, .columns = 64, .n_carried = 2, .n_captured = 1, .of = of_mean};
  l.init[0] = matrix(&l, 0.4);
  l.init[1] = values(NX_F32, (const int64_t[]){1, 64}, 2, 3);
  l.captured[0] = row(&l, 2);
  OK(nx_realize(ctx, l.init, 2, NULL));
  OK(nx_realize(ctx, l.captured, 1, NULL));
  nx_report report = {.size = sizeof report};
  nx_run_options run = {.size = sizeof run, .report = &report};
  nx_function *f = body_of(&l, true);
  for (int i = 0; i < 2; i++) {
    nx_tensor *out[3] = {0};
    OK(nx_for(NULL, 100, f, l.init, 2, l.captured, 1, NULL, out, 2));
    OK(nx_realize(ctx, out, 2, &run));
    if (report.interpreted == 0 && device() == 0) assert_int_equal(report.kernels, 1);
    assert_int_equal(report.plan_misses, i == 0);
    for (int k = 0; k < 2; k++) nx_tensor_release(out[k]);
  }
  nx_function_release(f);
}

/* Every thread count: a context of its own each. */
static void on_threads(void **state) {
  (void)state;
  nx_context *before = ctx;
  char *wanted = NULL;
  size_t bytes = 0;
  for (int threads = 1; threads <= 3; threads++) {
    nx_context_options o = {.size = sizeof o, .threads = threads, .cache_dir = ""};
    OK(nx_context_create(&o, &ctx));
    nx_scope *scope = nx_scope_begin(ctx);
    loop l = {.dtype = NX_F32, .columns = 4099, .n_carried = 3, .n_captured = 1};
    l.of = of_numbers;
    l.init[0] = matrix(&l, 0.1);
    l.init[1] = matrix(&l, 0.9);
    l.init[2] = one(NX_F32, 0.5);
    l.captured[0] = row(&l, 2);
    nx_tensor *out[3] = {0};
    nx_function *f = body_of(&l, true);
    OK(nx_for(NULL, steps, f, l.init, 3, l.captured, 1, NULL, out, 3));
    char *is = bytes_of(out[0], &bytes);
    if (wanted == NULL) wanted = is;
    else assert_memory_equal(is, wanted, bytes);
    if (is != wanted) free(is);
    nx_function_release(f);
    nx_scope_end(scope);
    nx_context_release(ctx);
  }
  free(wanted);
  ctx = before;
}

static void short_ones(void **state) {
  steps = 3;
  of_every_kind(state);
  if (is_quick()) slices_in_and_out(state);
  if (is_quick()) exchanges(state);
  if (is_quick()) neighbours(state);
  steps = MOST_STEPS;
}

/* ---- any number of steps: beside a loop in C */

enum { WIDTH = 50 };

/* y = 0.75 y + the number of the step, or of y the other way round, which no kernel of points does;
 * and a counter that goes up with it, from `first`. */
static void expect_steps(nx_tensor *y, const float *x, int64_t steps, bool flips) {
  float is[WIDTH], wanted[WIDTH], last[WIDTH];
  OK(nx_read(y, is, sizeof is, NULL));
  memcpy(wanted, x, sizeof wanted);
  for (int64_t i = 0; i < steps; i++) {
    memcpy(last, wanted, sizeof last);
    for (int k = 0; k < WIDTH; k++) {
      float scaled = last[flips ? WIDTH - 1 - k : k] * 0.75F;
      wanted[k] = scaled + (float)i;
    }
  }
  assert_memory_equal(is, wanted, sizeof is);
}

static nx_function *counting_step(bool flips) {
  nx_tensor *in[] = {GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0)),
                     GOOD(nx_placeholder(ctx, device(), NX_F32, (const int64_t[]){WIDTH}, 1))};
  nx_tensor *x = flips ? GOOD(nx_flip(in[1], (const int32_t[]){0}, 1)) : in[1];
  nx_tensor *y = GOOD(nx_add(nx_mul(x, one(NX_F32, 0.75)), nx_cast(in[0], NX_F32)));
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, 2, &y, 1, NULL, &f));
  return f;
}

static void count_steps(bool flips) {
  static const int64_t counts[] = {-1, 0, 1, 5, 1023, 1024, 1025, 3000};
  nx_function *f = counting_step(flips);
  float values_of_x[WIDTH];
  nx_tensor *x = values(NX_F32, (const int64_t[]){WIDTH}, 1, 1);
  OK(nx_read(x, values_of_x, sizeof values_of_x, NULL));
  for (size_t i = is_quick() ? 0 : 6; i < sizeof counts / sizeof *counts; i++) {
    nx_tensor *n = one(i % 2 ? NX_I32 : NX_I64, (double)counts[i]), *y = NULL;
    OK(nx_for(n, 0, f, &x, 1, NULL, 0, NULL, &y, 1));
    expect_steps(y, values_of_x, counts[i], flips);
    if (counts[i] < 0) continue;
    y = NULL;
    OK(nx_for(NULL, counts[i], f, &x, 1, NULL, 0, NULL, &y, 1));
    expect_steps(y, values_of_x, counts[i], flips);
  }
  nx_function_release(f);
}

static void of_any_number(void **state) {
  (void)state;
  count_steps(false);
  count_steps(true);
}

/* While first + i < limit, which is captured or a constant. */
static void count_while(nx_dtype t, int64_t first, int64_t limit, bool captured) {
  int64_t n = WIDTH;
  nx_tensor *in[3] = {GOOD(nx_placeholder(ctx, device(), t, NULL, 0)),
                      GOOD(nx_placeholder(ctx, device(), NX_F32, &n, 1)),
                      GOOD(nx_placeholder(ctx, device(), t, NULL, 0))};
  nx_tensor *start = GOOD(nx_full(ctx, device(), t, NULL, 0, NX_INTEGER(first)));
  nx_tensor *end = GOOD(nx_full(ctx, device(), t, NULL, 0, NX_INTEGER(limit)));
  nx_tensor *holds = GOOD(nx_cmplt(in[0], captured ? in[2] : end));
  nx_tensor *number_of_it = GOOD(nx_cast(nx_sub(in[0], start), NX_F32));
  nx_tensor *next[] = {GOOD(nx_add(in[0], one(t, 1))),
                       GOOD(nx_add(nx_mul(in[1], one(NX_F32, 0.75)), number_of_it))};
  nx_function *below = NULL, *step = NULL;
  OK(nx_function_create(ctx, in, 2 + captured, &holds, 1, NULL, &below));
  OK(nx_function_create(ctx, in, 2 + captured, next, 2, NULL, &step));
  float values_of_x[WIDTH];
  nx_tensor *init[] = {start, values(NX_F32, &n, 1, 1)}, *out[2] = {0};
  OK(nx_read(init[1], values_of_x, sizeof values_of_x, NULL));
  OK(nx_while(below, step, init, 2, &end, captured, NULL, out, 2));
  expect_steps(out[1], values_of_x, limit - first, false);
  nx_scalar last;
  OK(nx_item(out[0], NULL, 0, &last, NULL));
  assert_true(last.v.i == (limit > first ? limit : first));
  nx_function_release(below);
  nx_function_release(step);
}

static void of_counters(void **state) {
  (void)state;
  for (int captured = 0; captured < 2; captured++) {
    count_while(NX_I32, 0, 100, captured);
    if (!is_quick()) continue;
    count_while(NX_I32, 7, 7, captured);
    count_while(NX_I32, 7, -7, captured);
    count_while(NX_I32, INT32_MAX - 20, INT32_MAX, captured);
    count_while(NX_I64, INT64_MIN, INT64_MIN + 11, captured);
    count_while(NX_I64, -1000, 1000, captured);
  }
}

static int32_t stop_soon(void *user) { return ++*(int *)user > 3; }

/* More steps than a task may take end when the poll says so. */
static void very_long(void **state) {
  (void)state;
  for (int flips = 0; flips < 2; flips++) {
    nx_function *f = counting_step(flips);
    nx_tensor *x = values(NX_F32, (const int64_t[]){WIDTH}, 1, 1);
    for (int known = 0; known < 2; known++) {
      nx_tensor *n = one(NX_I64, (double)(INT64_C(1) << 45)), *y = NULL;
      int asked = 0;
      OK(nx_for(known ? NULL : n, known ? INT64_C(1) << 45 : 0, f, &x, 1, NULL, 0, NULL, &y, 1));
      nx_run_options run = {.size = sizeof run, .poll = stop_soon, .user = &asked};
      FAILS(NX_INTERRUPTED, nx_realize(ctx, &y, 1, &run));
    }
    nx_function_release(f);
  }
}

/* A product that does not change, of a loop that may have no step. */
static void guards(void **state) {
  (void)state;
  loop l = {.dtype = NX_F32, .columns = rows};
  nx_tensor *x = matrix(&l, 0.3), *w = matrix(&l, 0.7);
  nx_tensor *in[] = {GOOD(nx_placeholder(ctx, device(), NX_I64, NULL, 0)),
                     placeholder_like(x, false), placeholder_like(w, false)};
  nx_tensor *y = GOOD(nx_add(nx_mul(in[1], in[1]), nx_matmul(in[2], in[2])));
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, 3, &y, 1, NULL, &f));
  for (int count = -1; count < 3; count++) {
    nx_tensor *n = one(NX_I32, count), *out = NULL, *same = x;
    OK(nx_realize(ctx, &n, 1, NULL));
    OK(nx_for(n, 0, f, &x, 1, &w, 1, NULL, &out, 1));
    for (int i = 0; i < count; i++) same = GOOD(nx_add(nx_mul(same, same), nx_matmul(w, w)));
    expect_same(out, same);
  }
  nx_function_release(f);
}

NXT_MAIN(loop_kernels) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(of_every_kind), IN_SCOPE(exchanges),   IN_SCOPE(slices_in_and_out),
      IN_SCOPE(neighbours),    IN_SCOPE(on_threads),  IN_SCOPE(short_ones),
      IN_SCOPE(of_any_number), IN_SCOPE(of_counters), IN_SCOPE(very_long),
      IN_SCOPE(guards),        IN_SCOPE(joined),      IN_SCOPE(is_one_kernel),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
