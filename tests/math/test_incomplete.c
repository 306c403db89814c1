/* SPDX-License-Identifier: ISC */
/* zeta, polygamma, the incomplete gamma and beta functions, and gradients of the former against
 * values by mpmath: f64 within the bounds of docs/math.md, f32 rounded once. That all executors
 * give the same bits is tested by random graphs, and by tests/ir/test_blocks.c. */
#include <math.h>

#include "tests/util/api.h"
#include "incomplete_values.h"

enum { VALUES = sizeof known_values / sizeof *known_values };

static nx_tensor *column(nx_context *c, int k, bool narrow) {
  double x[VALUES];
  const int64_t n = VALUES;
  for (int i = 0; i < VALUES; i++) x[i] = known_values[i].args[k];
  nx_tensor *t = GOOD(nx_from_data(c, 0, NX_F64, &n, 1, x, sizeof x));
  return narrow ? GOOD(nx_cast(t, NX_F32)) : t;
}

static nx_tensor *apply(int f, nx_tensor *a, nx_tensor *b, nx_tensor *c) {
  switch (f) {
    case ZETA: return GOOD(nx_zeta(a, b));
    case POLYGAMMA: return GOOD(nx_polygamma(a, b));
    case IGAMMA: return GOOD(nx_igamma(a, b));
    case IGAMMAC: return GOOD(nx_igammac(a, b));
    case IGAMMA_GRAD_A: return GOOD(nx_igamma_grad_a(a, b));
    case RANDOM_GAMMA_GRAD: return GOOD(nx_random_gamma_grad(a, b));
    default: return GOOD(nx_betainc(a, b, c));
  }
}

/* Every function of all arguments: those of the others too. */
static void values_of(nx_context *c, int f, bool narrow, double *got) {
  nx_tensor *t = apply(f, column(c, 0, narrow), column(c, 1, narrow), column(c, 2, narrow));
  if (narrow) t = GOOD(nx_cast(t, NX_F64));
  OK(nx_read(t, got, VALUES * sizeof *got, NULL));
}

/* Relative, in units of 2^-52: what docs/math.md says, which grows with the logarithm of small
 * results, but not of the quotient of two derivatives. Of zeta at negative q and of betainc it is
 * also what sums of larger terms leave. */
static double bound_of(const known_value *v) {
  double size = 4 + fabs(log(fabs(v->value))) / 2;
  if (v->function == ZETA && v->args[1] < 0) return 32;
  if (v->function == RANDOM_GAMMA_GRAD) return 12;
  if (v->function == IGAMMA_GRAD_A) return size + 4;
  return v->function == BETAINC ? 4 * size + 512 : v->function == POLYGAMMA ? size + 12 : size;
}

static void f64_values(void **state) {
  (void)state;
  for (int f = 0; f < LOOP_FUNCTIONS; f++) {
    double got[VALUES], most = 0;
    values_of(ctx, f, false, got);
    for (int i = 0; i < VALUES; i++) {
      const known_value *v = &known_values[i];
      double off = fabs(got[i] / v->value - 1) * 0x1p52;
      if (v->function != f) continue;
      if (!(off <= bound_of(v)))
        fail_msg("function %d of %a, %a, %a is %a, off by %g", f, v->args[0], v->args[1],
                 v->args[2], got[i], off);
      most = fmax(most, off);
    }
    printf("function %d: %.2f\n", f, most);
  }
}

static void f32_values(void **state) {
  (void)state;
  for (int f = 0; f < LOOP_FUNCTIONS; f++) {
    double got[VALUES];
    values_of(ctx, f, true, got);
    for (int i = 0; i < VALUES; i++) {
      const known_value *v = &known_values[i];
      double unit = ldexp(1, ilogb(v->value) - 23), least = 0x1p-149;
      if (v->function != f) continue;
      if (!(fabs(got[i] - v->value) <= 0.501 * fmax(unit, least)))
        fail_msg("function %d of %a, %a, %a in f32 is %a, not %a", f, v->args[0], v->args[1],
                 v->args[2], got[i], v->value);
    }
  }
}

static void the_parts_of_one(void **state) {
  (void)state;
  double p[VALUES], q[VALUES];
  values_of(ctx, IGAMMA, false, p);
  values_of(ctx, IGAMMAC, false, q);
  for (int i = 0; i < VALUES; i++)
    if (known_values[i].function == IGAMMA) assert_true(fabs(p[i] + q[i] - 1) <= 0x1p-52);
}

/* For such a the step from 0 to 1 is narrower than the distance of two numbers: nothing is left of
 * either tail, nor of the slope, where a logarithm has a low part that is large itself. */
static void far_beyond_the_step(void **state) {
  (void)state;
  const double a[] = {1e250, 1e250, 1e265, 1e270}, x[] = {7e249, 1.2e250, 1.9e265, 1e265};
  const double above[] = {1, 0, 0, 1};
  double p[4], q[4], slope[4];
  nx_tensor *s = GOOD(nx_from_data(ctx, 0, NX_F64, NX_SHAPE(4), a, sizeof a)),
            *t = GOOD(nx_from_data(ctx, 0, NX_F64, NX_SHAPE(4), x, sizeof x));
  OK(nx_read(GOOD(nx_igamma(s, t)), p, sizeof p, NULL));
  OK(nx_read(GOOD(nx_igammac(s, t)), q, sizeof q, NULL));
  OK(nx_read(GOOD(nx_igamma_grad_a(s, t)), slope, sizeof slope, NULL));
  for (int i = 0; i < 4; i++)
    assert_true(p[i] == 1 - above[i] && q[i] == above[i] && slope[i] == 0);
}

/* Gradients where x has to be scaled before it is divided: x^a / gamma(a + 1) (log x - digamma(a +
 * 1)), and that over the derivative by x, by mpmath. */
static void gradients_at_tiny_numbers(void **state) {
  (void)state;
  const double a[] = {0.25, 1}, x[] = {0x1p-950, 0x1p-1000};
  const double slopes[] = {-0x1.00c367b2e8366p-228, -0x1.5ac8f49c140a6p-991};
  const double moves[] = {0x1.492195464ab10p-939, 0x1.5ac8f49c140a6p-991};
  double slope[2], move[2];
  nx_tensor *s = GOOD(nx_from_data(ctx, 0, NX_F64, NX_SHAPE(2), a, sizeof a)),
            *t = GOOD(nx_from_data(ctx, 0, NX_F64, NX_SHAPE(2), x, sizeof x));
  OK(nx_read(GOOD(nx_igamma_grad_a(s, t)), slope, sizeof slope, NULL));
  OK(nx_read(GOOD(nx_random_gamma_grad(s, t)), move, sizeof move, NULL));
  for (int i = 0; i < 2; i++) {
    assert_true(fabs(slope[i] / slopes[i] - 1) <= 256 * 0x1p-52);
    assert_true(fabs(move[i] / moves[i] - 1) <= 12 * 0x1p-52);
  }
}

NXT_MAIN(incomplete) {
  const struct CMUnitTest tests[] = {
      IN_SCOPE(f64_values),
      IN_SCOPE(f32_values),
      IN_SCOPE(the_parts_of_one),
      IN_SCOPE(far_beyond_the_step),
      IN_SCOPE(gradients_at_tiny_numbers),
  };
  return cmocka_run_group_tests(tests, open_context, close_context);
}
