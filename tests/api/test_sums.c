/* SPDX-License-Identifier: ISC */
/* How exact sums are: 2^25 ones in f32 are 2^25, over each axis; the error of sums of any numbers
 * grows with the logarithm of their count, where one after the other it grows with the count. Run
 * with each executor, since each adds for itself. */
#include "tests/util/api.h"
#include "tests/util/executor.h"

#include <math.h>

/* `n` elements that read one, as `rows` rows. */
static nx_tensor *ones(nx_tensor *one, int64_t rows, int64_t columns) {
  return GOOD(nx_expand(one, NX_SHAPE(rows, columns)));
}

static float first(nx_tensor *t) {
  nx_scalar v = {0};
  OK(nx_item(GOOD(t), (int64_t[]){0, 0}, 2, &v, NULL));
  return (float)v.v.f[0];
}

/* 2^25, and a small part of it for the interpreter of kernels, which would take minutes under a
 * sanitizer. */
static int most_power(void) { return nxt_executor_is("kernel-interp") ? 18 : 25; }

static void ones_are_exact(void **state) {
  (void)state;
  const int64_t n = (int64_t)1 << most_power();
  nx_tensor *one = number(1);
  OK(nx_realize(ctx, &one, 1, NULL)); /* not a constant that a pass could multiply */
  assert_true(first(nx_reduce_sum(ones(one, 1, n), NX_AXES(1), NX_KEEPDIMS)) == (float)n);
  assert_true(first(nx_reduce_sum(ones(one, n, 1), NX_AXES(0), NX_KEEPDIMS)) == (float)n);
  assert_true(first(nx_reduce_sum(ones(one, n / 8, 8), NX_AXES(0), NX_KEEPDIMS)) == (float)(n / 8));
  assert_true(first(nx_reduce_sum(ones(one, n >> 12, 1 << 12), NX_AXES(0, 1), NX_KEEPDIMS)) ==
              (float)n);
}

/* The worst of several sums of n numbers between 1 and 2, in units of the last place of what is
 * right; `naive`: the same of additions one after the other. */
static double worst_error(int64_t n, double *naive) {
  double worst = 0;
  *naive = 0;
  for (uint64_t round = 1; round <= 4; round++) {
    nx_tensor *x = GOOD(nx_empty(ctx, 0, NX_F32, NX_SHAPE(1, n)));
    nx_mapping *m;
    OK(nx_map(x, NX_MAP_WRITE, NULL, &m));
    float *p = nx_mapping_base(m, NULL), chain = 0;
    uint64_t bits = round * UINT64_C(0x9e3779b97f4a7c15);
    double right = 0; /* 53 bits hold 2^24 numbers of 24 exactly, nearly */
    for (int64_t i = 0; i < n; i++) {
      bits = bits * UINT64_C(6364136223846793005) + 1442695040888963407;
      p[i] = 1 + (float)(bits >> 41) * 0x1p-23f;
      right += (double)p[i];
      chain += p[i];
    }
    nx_mapping_release(m);
    double unit = exp2(floor(log2(right)) - 23),
           sum = (double)first(nx_reduce_sum(x, NX_AXES(1), NX_KEEPDIMS));
    worst = fmax(worst, fabs(sum - right) / unit);
    *naive = fmax(*naive, fabs((double)chain - right) / unit);
    release(x);
  }
  return worst;
}

static void errors_grow_like_the_logarithm(void **state) {
  (void)state;
  double naive = 0;
  for (int power = 4; power <= 22 && power <= most_power(); power += 3) {
    double error = worst_error((int64_t)1 << power, &naive);
    print_message("2^%d numbers: %.1f units in the last place, one after the other %.1f\n", power,
                  error, naive);
    /* 16 additions, then a tree: each level may round by half a unit of its result, which is below
     * that of the whole */
    assert_true(error <= 0.5 * (16 + power));
    if (power >= 16) assert_true(error < 2); /* in fact the errors of a tree cancel */
  }
  assert_true(naive > 50);
}

/* Sums of bools are true however many terms are: counts of 2^8, 2^16 and 2^24 do not wrap to 0. */
static void sums_of_bools_do_not_wrap(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{1, 256, 1},   {1, 65536, 3},   {40, 256, 40},
                                      {33, 512, 64}, {2, 1 << 18, 2}, {1, 1 << 24, 1}};
  nx_tensor *yes = GOOD(nx_full(ctx, 0, NX_BOOL, NULL, 0, NX_INTEGER(1)));
  OK(nx_realize(ctx, &yes, 1, NULL));
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    int64_t n = shapes[i][0], k = shapes[i][1], m = shapes[i][2];
    if (k > (int64_t)1 << most_power()) continue;
    nx_tensor *a = GOOD(nx_expand(yes, NX_SHAPE(n, k))), *b = GOOD(nx_expand(yes, NX_SHAPE(k, m))),
              *product = GOOD(nx_matmul(a, b)), *any = GOOD(nx_reduce_sum(a, NX_AXES(1), 0)),
              *all = GOOD(nx_reduce_prod(b, NX_AXES(0), 0));
    uint8_t *out = malloc((size_t)(n * m));
    OK(nx_read(product, out, (size_t)(n * m), NULL));
    for (int64_t j = 0; j < n * m; j++) assert_int_equal(out[j], 1);
    OK(nx_read(any, out, (size_t)n, NULL));
    for (int64_t j = 0; j < n; j++) assert_int_equal(out[j], 1);
    OK(nx_read(all, out, (size_t)m, NULL));
    for (int64_t j = 0; j < m; j++) assert_int_equal(out[j], 1);
    free(out);
  }
}

NXT_MAIN(sums) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(sums_of_bools_do_not_wrap),
      IN_SCOPE(ones_are_exact),
      IN_SCOPE(errors_grow_like_the_logarithm),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
