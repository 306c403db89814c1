/* SPDX-License-Identifier: ISC */
/* Combiners that are a reduction of the library as a whole: the place of the best element as JAX
 * and XLA write it, and sums that are scaled by a maximum. Each is compared with the combiner
 * applied one element after the other, in C, and how many operations are recorded says whether it
 * was recognised. */
#include <math.h>

#include "runtime/realize/functions/function.h"
#include "tests/util/api.h"

enum { ROWS = 6, COLUMNS = 37, N = ROWS * COLUMNS };
typedef struct pair {
  float value;
  int32_t place;
} pair;

/* Numbers with ties, NaNs and infinities; rows without some of them. */
static float data[N];
static void fill(void) {
  for (int i = 0; i < N; i++) {
    int row = i / COLUMNS;
    data[i] = (float)(i * 7919 % 23) - 11;
    if (row == 1 && i % 11 == 3) data[i] = NAN;
    if (row == 2) data[i] = -INFINITY;
    if (row == 3 && i % 5 == 1) data[i] = INFINITY;
    if (row == 4) data[i] = NAN;
  }
}

static nx_function *function_of(nx_tensor *const *in, size_t n_in, nx_tensor *const *out,
                                size_t n_out) {
  nx_function *f = NULL;
  OK(nx_function_create(ctx, in, n_in, out, n_out, NULL, &f));
  return f;
}

/* ---- how argmax is written */

typedef void writer(nx_tensor *const *in, bool max, nx_tensor **out);

static nx_tensor *ahead(nx_tensor *a, nx_tensor *b, bool max) {
  return max ? nx_cmpgt(a, b) : nx_cmplt(a, b);
}

/* jax.numpy.argmax */
static void by_jax(nx_tensor *const *in, bool max, nx_tensor **out) {
  nx_tensor *pick = nx_or(ahead(in[0], in[2], max), nx_cmpne(in[0], in[0]));
  nx_tensor *tie = nx_and(nx_cmpeq(in[0], in[2]), nx_cmplt(in[1], in[3]));
  out[0] = nx_where(pick, in[0], in[2]);
  out[1] = nx_where(nx_or(pick, tie), in[1], in[3]);
}

/* The value by max, the place by choices. */
static void by_max(nx_tensor *const *in, bool max, nx_tensor **out) {
  nx_tensor *nan = nx_isnan(in[0]),
            *first = nx_not(nx_or(ahead(in[2], in[0], max), nx_isnan(in[2])));
  out[0] = max ? nx_max(in[0], in[2]) : nx_min(in[0], in[2]);
  out[1] = nx_where(
      nan, in[1],
      nx_where(nx_cmpeq(in[0], in[2]), nx_min(in[3], in[1]), nx_where(first, in[1], in[3])));
}

/* XLA's, which does not look for NaN: the library's own only of integers. */
static void by_xla(nx_tensor *const *in, bool max, nx_tensor **out) {
  nx_tensor *pick = max ? nx_cmpge(in[0], in[2]) : nx_cmple(in[0], in[2]),
            *place = nx_where(pick, in[1], in[3]);
  out[0] = nx_where(pick, in[0], in[2]);
  out[1] = nx_where(nx_cmpeq(in[0], in[2]), nx_min(in[1], in[3]), place);
}

/* The last of equal ones: no argmax. */
static void by_last(nx_tensor *const *in, bool max, nx_tensor **out) {
  nx_tensor *pick = nx_or(ahead(in[0], in[2], max), nx_isnan(in[0]));
  out[0] = nx_where(pick, in[0], in[2]);
  out[1] = nx_where(pick, in[1], in[3]);
}

static pair joined(pair a, pair b, bool max, bool last) {
  if (isnan(a.value)) return a;
  if (a.value == b.value) return last ? b : a;
  return isnan(b.value) || (max ? b.value > a.value : b.value < a.value) ? b : a;
}

static nx_function *combiner_of(writer *write, bool max, nx_dtype dtype) {
  nx_tensor *in[4], *out[2];
  for (int i = 0; i < 4; i++)
    in[i] = GOOD(nx_placeholder(ctx, device(), i % 2 ? NX_I32 : dtype, NULL, 0));
  write(in, max, out);
  GOOD(out[0]), GOOD(out[1]);
  return function_of(in, 4, out, 2);
}

static nx_tensor *places_along(int32_t axis, int64_t start, int64_t step, nx_dtype dtype) {
  const int64_t shape[] = {ROWS, COLUMNS};
  nx_tensor *count =
      GOOD(nx_arange(ctx, device(), dtype, NX_INTEGER(start), NX_INTEGER(step), shape[axis]));
  if (axis == 0) count = GOOD(nx_reshape(count, NX_SHAPE(ROWS, 1), 0));
  return GOOD(nx_expand(count, shape, 2));
}

typedef nx_tensor *counter(void);
static nx_tensor *plain_count(void) { return places_along(1, 0, 1, NX_I32); }
static nx_tensor *copied_count(void) { return GOOD(nx_copy(plain_count())); }
static nx_tensor *cast_count(void) { return GOOD(nx_cast(places_along(1, 0, 1, NX_U8), NX_I32)); }
static nx_tensor *count_of_rows(void) { return places_along(0, 0, 1, NX_I32); }
static nx_tensor *count_down(void) { return places_along(1, COLUMNS, -1, NX_I32); }

/* How many operations there are in a function of the place, where places and initial values belong
 * to it. */
static uint32_t operations(nx_function *combiner, counter *count, double first) {
  nx_tensor *x = GOOD(nx_placeholder(ctx, device(), NX_F32, NX_SHAPE(ROWS, COLUMNS))),
            *both[2] = {x, count()}, *out[2] = {NULL},
            *init[2] = {GOOD(nx_full_f64(ctx, device(), NX_F32, NULL, 0, first)),
                        GOOD(nx_full_i64(ctx, device(), NX_I32, NULL, 0, 0))};
  OK(nx_reduce_by(combiner, both, init, 2, NX_AXES(1), 0, out, 2));
  nx_function *f = function_of(&x, 1, &out[1], 1);
  uint32_t n = f->graph->n_nodes;
  nx_function_release(f);
  return n;
}

static void expect_best(nx_function *f, nx_dtype dtype, nx_tensor *places, int32_t axis, bool max,
                        bool last, pair init, int64_t start, int64_t step) {
  nx_tensor *x = GOOD(
                nx_from_data(ctx, device(), NX_F32, NX_SHAPE(ROWS, COLUMNS), data, sizeof data)),
            *both[2] = {GOOD(nx_cast(x, dtype)), places}, *out[2] = {NULL},
            *from[2] = {GOOD(nx_cast(number(init.value), dtype)),
                        GOOD(nx_full(ctx, device(), NX_I32, NULL, 0, NX_INTEGER(init.place)))};
  float as_is[N], value[COLUMNS];
  int32_t place[COLUMNS];
  int n = axis ? ROWS : COLUMNS, length = axis ? COLUMNS : ROWS;
  OK(nx_read(GOOD(nx_cast(both[0], NX_F32)), as_is, sizeof as_is, NULL));
  OK(nx_reduce_by(f, both, from, 2, &axis, 1, 0, out, 2));
  OK(nx_read(GOOD(nx_cast(out[0], NX_F32)), value, (size_t)n * sizeof *value, NULL));
  OK(nx_read(out[1], place, (size_t)n * sizeof *place, NULL));
  for (int i = 0; i < n; i++) {
    pair want = init;
    for (int k = 0; k < length; k++) {
      pair next = {as_is[axis ? i * COLUMNS + k : k * COLUMNS + i], (int32_t)(start + k * step)};
      want = joined(want, next, max, last);
    }
    assert_true(value[i] == want.value || (isnan(value[i]) && isnan(want.value)));
    assert_int_equal(place[i], want.place);
  }
}

static void places_of_the_best(void **state) {
  (void)state;
  writer *const writers[] = {by_jax, by_max, by_xla, by_last};
  for (int w = 0; w < 4; w++)
    for (int32_t how = 0; how < 8; how++) {
      bool max = how & 1, last = writers[w] == by_last, neutral = how & 4;
      int32_t axis = how >> 1 & 1;
      nx_dtype dtype = writers[w] == by_xla ? NX_I32 : neutral ? NX_F32 : NX_BF16;
      pair init = {(float)(max ? -INFINITY : INFINITY), 0};
      if (!neutral) init = (pair){max ? 10 : -10, -1};
      if (dtype == NX_I32 && neutral) init.value = (float)(max ? INT32_MIN : 0x7fffff00);
      nx_function *f = combiner_of(writers[w], max, dtype);
      expect_best(f, dtype, places_along(axis, 0, 1, NX_I32), axis, max, last, init, 0, 1);
      expect_best(f, dtype, places_along(axis, 3, 2, NX_I32), axis, max, last, init, 3, 2);
      nx_function_release(f);
    }
}

/* What is recognised is an argmax, and a neutral initial value costs nothing. */
static void places_that_are_recognised(void **state) {
  (void)state;
  enum { LEAST = 5, MANY = 40 }; /* the input, argmax, views, a copy */
  nx_function *jax = combiner_of(by_jax, true, NX_F32), *last = combiner_of(by_last, true, NX_F32),
              *xla = combiner_of(by_xla, true, NX_F32), *way = combiner_of(by_max, true, NX_F32);
  const double lowest = (double)-INFINITY;
  assert_true(operations(jax, plain_count, lowest) <= LEAST);
  assert_true(operations(way, plain_count, lowest) <= LEAST);
  assert_true(operations(jax, copied_count, lowest) <= LEAST);
  assert_true(operations(jax, cast_count, lowest) <= LEAST);
  uint32_t combined_once = operations(jax, plain_count, 0);
  assert_true(combined_once > LEAST && combined_once < MANY);
  assert_true(operations(jax, count_of_rows, lowest) > MANY);
  assert_true(operations(jax, count_down, lowest) > MANY);
  assert_true(operations(last, plain_count, lowest) > MANY);
  assert_true(operations(xla, plain_count, lowest) > MANY);
  nx_function_release(jax), nx_function_release(last);
  nx_function_release(xla), nx_function_release(way);
}

/* ---- scaled sums */

/* (m, s, t): exp(m) times s, and times t, add up. */
static nx_function *scaled_combiner(bool turned) {
  nx_tensor *in[6];
  for (int i = 0; i < 6; i++) in[i] = GOOD(nx_placeholder(ctx, device(), NX_F32, NULL, 0));
  nx_tensor *m = nx_max(in[0], in[3]), *left = nx_exp(nx_sub(in[0], m)),
            *right = nx_exp(nx_sub(in[3], m)),
            *s = nx_add(nx_mul(in[1], left), nx_mul(right, in[4])),
            *t = turned ? nx_add(nx_mul(right, in[5]), nx_mul(left, in[2])) : nx_add(in[2], in[5]),
            *out[3] = {m, GOOD(s), GOOD(t)};
  return function_of(in, 6, out, 3);
}

static void expect_close(double is, double want) {
  if (!(fabs(is - want) <= 1e-5 * fabs(want)) && is != want && !(isnan(is) && isnan(want)))
    fail_msg("%.9g, not %.9g", is, want);
}

static void scaled_sums(void **state) {
  (void)state;
  enum { LENGTH = 300 };
  float m[LENGTH], s[LENGTH], t[LENGTH];
  for (int i = 0; i < LENGTH; i++) {
    m[i] = (float)(i * 7919 % 611) / 4;
    s[i] = (float)(i % 7);
    t[i] = (float)(i % 5) - 2;
  }
  for (int turned = 0; turned < 2; turned++) {
    nx_function *f = scaled_combiner(turned);
    const float *from[] = {m, s, t};
    nx_tensor *x[3], *init[3] = {number(140), number(3), number(1)}, *out[3] = {NULL};
    for (int i = 0; i < 3; i++)
      x[i] = GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(LENGTH), from[i], sizeof m));
    OK(nx_reduce_by(f, x, init, 3, NX_ALL_AXES, 0, out, 3));
    double best = 140, sums[2] = {3, 1};
    for (int i = 0; i < LENGTH; i++) best = fmax(best, (double)m[i]);
    for (int i = 0; i < 2; i++)
      if (i == 0 || turned) sums[i] *= exp(140 - best);
    for (int i = 0; i < LENGTH; i++) {
      double by = exp((double)m[i] - best);
      sums[0] += (double)s[i] * by;
      sums[1] += (double)t[i] * (turned ? by : 1);
    }
    double want[] = {best, sums[0], sums[1]};
    for (int i = 0; i < 3; i++) {
      float is;
      OK(nx_read(out[i], &is, sizeof is, NULL));
      expect_close((double)is, want[i]);
    }
    nx_function_release(f);
  }
}

/* All elements may be -infinity: only the initial value is a number then. */
static void initial_values_are_of_the_maximum(void **state) {
  (void)state;
  static const float none[] = {-INFINITY, -INFINITY, -INFINITY}, ones[] = {1, 1, 1};
  nx_function *f = scaled_combiner(true);
  for (int64_t n = 1; n <= 3; n++) {
    nx_tensor *init[3] = {number(0), number(5), number(7)}, *out[3] = {NULL}, *x[3];
    for (int i = 0; i < 3; i++)
      x[i] = GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(n), i == 0 ? none : ones,
                               (size_t)n * sizeof *ones));
    OK(nx_reduce_by(f, x, init, 3, NX_ALL_AXES, 0, out, 3));
    for (int i = 0; i < 3; i++) {
      float is;
      OK(nx_read(out[i], &is, sizeof is, NULL));
      expect_close((double)is, i == 0 ? 0 : i == 1 ? 5 : 7);
    }
  }
  nx_function_release(f);
}

/* ---- logaddexp */

static nx_tensor *logaddexp_of_jax(nx_tensor *a, nx_tensor *b) {
  nx_tensor *apart = nx_sub(a, b);
  return nx_where(nx_cmpne(apart, apart), nx_add(a, b),
                  nx_add(nx_max(a, b), nx_log1p(nx_exp(nx_neg(nx_abs(apart))))));
}

static void logarithms_of_sums(void **state) {
  (void)state;
  nx_tensor *(*const writers[])(nx_tensor *, nx_tensor *) = {nx_logaddexp, logaddexp_of_jax};
  static const nx_dtype dtypes[] = {NX_F32, NX_F16};
  for (int how = 0; how < 8; how++) {
    nx_dtype dtype = dtypes[how >> 2];
    float start = how & 2 ? 2 : -INFINITY, is[ROWS];
    nx_tensor *in[2] = {GOOD(nx_placeholder(ctx, device(), dtype, NULL, 0)),
                        GOOD(nx_placeholder(ctx, device(), dtype, NULL, 0))},
              *y = GOOD(writers[how & 1](in[0], in[1])), *out = NULL,
              *init = GOOD(nx_full(ctx, device(), dtype, NULL, 0, NX_NUMBER((double)start))),
              *x = GOOD(nx_cast(GOOD(nx_from_data(ctx, device(), NX_F32, NX_SHAPE(ROWS, COLUMNS),
                                                  data, sizeof data)),
                                dtype));
    nx_function *f = function_of(in, 2, &y, 1);
    OK(nx_reduce_by(f, &x, &init, 1, NX_AXES(1), 0, &out, 1));
    OK(nx_read(GOOD(nx_cast(out, NX_F32)), is, sizeof is, NULL));
    for (int i = 0; i < ROWS; i++) {
      double want = exp((double)start);
      for (int k = 0; k < COLUMNS; k++) want += exp((double)data[i * COLUMNS + k]);
      want = log(want);
      if (dtype == NX_F32) expect_close((double)is[i], want);
      else assert_true(fabs((double)is[i] - want) < 0.01 || (double)is[i] == want || isnan(want));
      assert_int_equal(isnan(is[i]), isnan(want));
    }
    nx_function_release(f);
  }
}

NXT_MAIN(known_combiners) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(places_of_the_best), IN_SCOPE(places_that_are_recognised),
      IN_SCOPE(scaled_sums),        IN_SCOPE(initial_values_are_of_the_maximum),
      IN_SCOPE(logarithms_of_sums),
  };
  fill();
  return cmocka_run_group_tests(tests, open_context, close_context);
}
