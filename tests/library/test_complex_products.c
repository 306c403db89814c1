/* SPDX-License-Identifier: ISC */
/* Products of complex matrices through the interface, bit for bit: each part of an element is one
 * chain of fma, whose order depends on whether there are fewer rows or columns. On processors for
 * which products are loops of our own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/target.h"
#include "tests/util/api.h"

typedef struct sizes {
  int64_t batch, m, k, n;
} sizes;

static nx_tensor *wave(nx_dtype part, const int64_t *shape, int32_t rank, double step) {
  int64_t n = 1;
  for (int32_t i = 0; i < rank; i++) n *= shape[i];
  nx_tensor *x = nx_cast(nx_sin(nx_binary_f64(vector(n, 1, 1), NX_BINARY_MUL, step)), part),
            *y = nx_cast(nx_sin(nx_binary_f64(vector(n, 1, 1), NX_BINARY_MUL, step + 1)), part);
  nx_tensor *z = GOOD(nx_reshape(GOOD(nx_complex(GOOD(x), GOOD(y))), shape, rank, 0));
  OK(nx_realize(ctx, &z, 1, NULL));
  return z;
}

/* The numbers of a tensor as doubles, both parts of each beside each other. */
static double *numbers_of(nx_tensor *t) {
  size_t n = 2 * (size_t)nx_elements(t);
  bool wide = nx_dtype_of(t) == NX_C128;
  double *out = malloc(n * sizeof *out);
  float *narrow = malloc(n * sizeof *narrow);
  assert_true(out && narrow);
  OK(nx_read(t, wide ? (void *)out : narrow, n * (wide ? 8 : 4), NULL));
  for (size_t i = 0; !wide && i < n; i++) out[i] = narrow[i];
  free(narrow);
  return out;
}

/* sum + x y over k elements, each a step apart. */
static double chain(bool wide, double sum, int64_t k, const double *x, int64_t x_step,
                    const double *y, int64_t y_step, double sign) {
  for (int64_t i = 0; i < k; i++, x += x_step, y += y_step)
    sum = wide ? fma(sign * *x, *y, sum) : (double)fmaf((float)(sign * *x), (float)*y, (float)sum);
  return sum;
}

static void compare(const sizes *s, bool wide, const double *a, const double *b, const double *c) {
  const bool rows = s->m < s->n;
  for (int64_t at = 0; at < s->batch * s->m * s->n; at++) {
    int64_t batch = at / s->m / s->n, i = at / s->n % s->m, j = at % s->n, k = s->k,
            step = 2 * s->n;
    const double *x = a + 2 * i * k, *y = b + 2 * (batch * k * s->n + j);
    double re = chain(wide, 0, k, x, 2, y, step, 1), im;
    re = chain(wide, re, k, x + 1, 2, y + 1, step, -1);
    im = rows ? chain(wide, 0, k, x + 1, 2, y, step, 1) : chain(wide, 0, k, x, 2, y + 1, step, 1);
    im = rows ? chain(wide, im, k, x, 2, y + 1, step, 1) : chain(wide, im, k, x + 1, 2, y, step, 1);
    if (re != c[2 * at] || im != c[2 * at + 1])
      fail_msg("%lld x %lld x %lld at %lld: %.9g %.9g, not %.9g %.9g", (long long)s->m,
               (long long)s->k, (long long)s->n, (long long)at, c[2 * at], c[2 * at + 1], re, im);
  }
}

static void check(const sizes *s, nx_dtype type) {
  nx_dtype part = type == NX_C128 ? NX_F64 : NX_F32;
  nx_tensor *a = wave(part, NX_SHAPE(s->m, s->k), 1.37),
            *b = wave(part, NX_SHAPE(s->batch, s->k, s->n), 0.71), *c = GOOD(nx_matmul(a, b));
  double *x = numbers_of(a), *y = numbers_of(b), *z = numbers_of(c);
  compare(s, type == NX_C128, x, y, z);
  /* of operands whose columns are contiguous, with what goes on to compute in the same realise */
  nx_tensor *ta = GOOD(nx_copy(GOOD(nx_permute(a, NX_AXES(1, 0))))),
            *tb = GOOD(nx_copy(GOOD(nx_permute(b, NX_AXES(0, 2, 1)))));
  nx_tensor *turned[2] = {ta, tb};
  OK(nx_realize(ctx, turned, 2, NULL));
  c = GOOD(nx_matmul(GOOD(nx_permute(ta, NX_AXES(1, 0))), GOOD(nx_permute(tb, NX_AXES(0, 2, 1)))));
  double *w = numbers_of(GOOD(nx_conj(c)));
  for (int64_t i = 0; i < 2 * s->batch * s->m * s->n; i++)
    assert_true(w[i] == (i & 1 ? -z[i] : z[i]));
  free(x), free(y), free(z), free(w);
}

/* Matrices of a batch times one that they share are what each of them is alone. */
static void check_shared(const sizes *s, nx_dtype type) {
  nx_dtype part = type == NX_C128 ? NX_F64 : NX_F32;
  nx_tensor *a = wave(part, NX_SHAPE(s->batch, s->m, s->k), 0.71),
            *b = wave(part, NX_SHAPE(s->k, s->n), 1.37);
  double *all = numbers_of(GOOD(nx_matmul(a, b)));
  for (int64_t i = 0; i < s->batch; i++) {
    nx_tensor *one = GOOD(nx_shrink(a, (int64_t[]){i, 0, 0}, (int64_t[]){i + 1, s->m, s->k}, 3));
    double *x = numbers_of(GOOD(nx_matmul(one, b)));
    assert_memory_equal(x, all + 2 * i * s->m * s->n, (size_t)(2 * s->m * s->n) * sizeof *x);
    free(x);
  }
  free(all);
}

static void their_parts_are_chains_of_fma(void **state) {
  static const sizes all[] = {{1, 40, 33, 70}, {3, 5, 20, 50}, {2, 50, 17, 40},
                              {1, 33, 40, 33}, {2, 70, 9, 3},  {1, 2, 300, 40}};
  const char *isa = nxi_target_host()->isa;
  (void)state;
  if (strcmp(isa, "avx2") != 0 && strcmp(isa, "avx512") != 0) skip();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int wide = 0; wide < 2; wide++) {
      check(&all[i], wide ? NX_C128 : NX_C64);
      check_shared(&all[i], wide ? NX_C128 : NX_C64);
    }
}

NXT_MAIN(complex_products) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(their_parts_are_chains_of_fma),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
