/* SPDX-License-Identifier: ISC */
/* What the tests of the function expansions share: the functions with their references in MPFR and
 * the bounds on their errors, kernels that apply one of them to arrays, and errors in units in the
 * last place. Include after cmocka.h. */
#ifndef NXT_MATH_UTIL_H
#define NXT_MATH_UTIL_H

#include <math.h>
#include <mpfr.h>

#include "ir/kernel/kernel.h"
#include "special_references.h"

typedef int (*unary_reference)(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int (*binary_reference)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

typedef struct function_row {
  const char *name;
  nxk_op op;
  unary_reference unary;
  binary_reference binary; /* one of the two */
  double (*libm)(double);  /* unary: good to 1 ulp of f64; or NULL */
  double bound;            /* ulp, f32 and f64 */
  /* Where a result is near 0 that is a difference: what size it counts as having. */
  double (*least)(double x);
} function_row;

static inline int reference_recip(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  return mpfr_ui_div(r, 1, x, rounding);
}
static inline double libm_recip(double x) { return 1 / x; }
static inline double libm_rsqrt(double x) { return 1 / sqrt(x); }
static inline double libm_logistic(double x) { return 1 / (1 + exp(-x)); }
/* MPFR takes 1 / sqrt(-0) for +infinity. */
static inline int reference_rsqrt(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  if (!mpfr_zero_p(x)) return mpfr_rec_sqrt(r, x, rounding);
  mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1);
  return 0;
}
static inline int reference_logistic(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_neg(r, x, rounding);
  mpfr_exp(r, r, rounding);
  mpfr_add_ui(r, r, 1, rounding);
  return mpfr_ui_div(r, 1, r, rounding);
}
/* With digits enough for sums that cancel. */
static inline int reference_logaddexp(mpfr_t r, const mpfr_t x, const mpfr_t y,
                                      mpfr_rnd_t rounding) {
  const bool first = mpfr_greaterequal_p(x, y), same = mpfr_equal_p(x, y);
  mpfr_t apart;
  mpfr_init2(apart, 2200);
  if (same) mpfr_set_zero(apart, 1);
  else if (first) mpfr_sub(apart, y, x, rounding);
  else mpfr_sub(apart, x, y, rounding);
  mpfr_exp(apart, apart, rounding);
  mpfr_log1p(apart, apart, rounding);
  int inexact = mpfr_add(r, first ? x : y, apart, rounding);
  mpfr_clear(apart);
  return inexact;
}

static const function_row function_rows[] = {
    {"recip", NXK_recip, reference_recip, NULL, libm_recip, 0.5, NULL},
    {"exp", NXK_exp, mpfr_exp, NULL, exp, 1, NULL},
    {"log", NXK_log, mpfr_log, NULL, log, 1, NULL},
    {"sin", NXK_sin, mpfr_sin, NULL, sin, 1, NULL},
    {"cos", NXK_cos, mpfr_cos, NULL, cos, 1, NULL},
    {"tan", NXK_tan, mpfr_tan, NULL, tan, 2, NULL},
    {"asin", NXK_asin, mpfr_asin, NULL, asin, 2, NULL},
    {"acos", NXK_acos, mpfr_acos, NULL, acos, 2, NULL},
    {"atan", NXK_atan, mpfr_atan, NULL, atan, 2, NULL},
    {"sinh", NXK_sinh, mpfr_sinh, NULL, sinh, 2, NULL},
    {"cosh", NXK_cosh, mpfr_cosh, NULL, cosh, 2, NULL},
    {"tanh", NXK_tanh, mpfr_tanh, NULL, tanh, 2, NULL},
    {"erf", NXK_erf, mpfr_erf, NULL, erf, 2, NULL},
    {"log1p", NXK_log1p, mpfr_log1p, NULL, log1p, 2, NULL},
    {"expm1", NXK_expm1, mpfr_expm1, NULL, expm1, 2, NULL},
    {"exp2", NXK_exp2, mpfr_exp2, NULL, exp2, 1, NULL},
    {"log2", NXK_log2, mpfr_log2, NULL, log2, 2, NULL},
    {"log10", NXK_log10, mpfr_log10, NULL, log10, 2, NULL},
    {"cbrt", NXK_cbrt, mpfr_cbrt, NULL, cbrt, 1, NULL},
    {"rsqrt", NXK_rsqrt, reference_rsqrt, NULL, libm_rsqrt, 2, NULL},
    {"logistic", NXK_logistic, reference_logistic, NULL, libm_logistic, 1, NULL},
    {"asinh", NXK_asinh, mpfr_asinh, NULL, asinh, 2, NULL},
    {"acosh", NXK_acosh, mpfr_acosh, NULL, acosh, 2, NULL},
    {"atanh", NXK_atanh, mpfr_atanh, NULL, atanh, 2, NULL},
    {"erfc", NXK_erfc, mpfr_erfc, NULL, erfc, 2, NULL},
    {"erfinv", NXK_erfinv, reference_erfinv, NULL, NULL, 2, NULL},
    {"lgamma", NXK_lgamma, reference_lgamma, NULL, lgamma, 2, least_lgamma},
    {"digamma", NXK_digamma, reference_digamma, NULL, NULL, 2, least_digamma},
    {"i0e", NXK_i0e, reference_i0e, NULL, NULL, 2, NULL},
    {"i1e", NXK_i1e, reference_i1e, NULL, NULL, 2, NULL},
    {"j0", NXK_j0, mpfr_j0, NULL, NULL, 2, least_wave},
    {"j1", NXK_j1, mpfr_j1, NULL, NULL, 2, least_wave},
    {"pow", NXK_pow, NULL, mpfr_pow, NULL, 2, NULL},
    {"atan2", NXK_atan2, NULL, mpfr_atan2, NULL, 2, NULL},
    {"hypot", NXK_hypot, NULL, mpfr_hypot, NULL, 2, NULL},
    {"logaddexp", NXK_logaddexp, NULL, reference_logaddexp, NULL, 4, NULL},
};
enum { FUNCTION_ROWS = sizeof function_rows / sizeof *function_rows };

/* out[i] = op(x[i], y[i]), i < n: buffers x, y, out. lanes 0: the logical form; else bound, n a
 * multiple of lanes. */
static inline nxk_kernel *function_kernel(nxk_op op, nx_dtype t, int64_t n, uint8_t lanes) {
  nxk_kernel *k = nxk_create(lanes ? NXK_BOUND : NXK_LOGICAL, "function");
  assert_non_null(k);
  nxk_access access[3];
  for (uint32_t b = 0; b < 3; b++)
    access[b] = nxk_access_at(nxk_add_buffer(k, b < 2 ? NXK_IN : NXK_OUT, t, n), 0);
  nxk_begin_region(k);
  if (lanes) nxk_begin_range(k, NXK_TASK, 1);
  nxk_value i = lanes ? nxk_begin_for(k, NXK_SEQ, nxk_bound_const(0), nxk_bound_const(n), lanes)
                      : nxk_begin_range(k, NXK_OUTER, n);
  nxk_term term = {i, 1};
  for (int b = 0; b < 3; b++) {
    access[b].n_terms = 1;
    access[b].terms = &term;
    access[b].lane_stride = lanes > 1;
  }
  uint8_t width = lanes ? lanes : 1;
  nxk_value x = nxk_load(k, &access[0], width), y = nxk_load(k, &access[1], width);
  nxk_value args[4] = {x, y, NXK_NONE, NXK_NONE};
  nxk_store(k, &access[2], nxk_expand_function(k, op, args));
  nxk_end(k);
  if (lanes) nxk_end(k);
  nxk_end(k);
  assert_false(k->failed);
  nxi_text faults = {0};
  if (!nxk_verify(k, &faults)) fail_msg("%s: %s", nxk_op_name(op), faults.data);
  return k;
}

/* MPFR numbers of an error measurement. */
typedef struct yardstick {
  mpfr_t x, y, exact, difference;
} yardstick;
static inline void yardstick_init(yardstick *s) {
  mpfr_inits2(160, s->x, s->y, s->exact, s->difference, (mpfr_ptr)0);
  mpfr_set_emin(-1000000);
  mpfr_set_emax(1000000);
}
static inline void yardstick_free(yardstick *s) {
  mpfr_clears(s->x, s->y, s->exact, s->difference, (mpfr_ptr)0);
}

/* The larger exponent: `exponent` or that of an operand that is a finite number. */
static inline long size_of_operands(const yardstick *s, long exponent) {
  const bool first = mpfr_greater_p(s->x, s->y);
  const mpfr_t *most = first ? &s->x : &s->y;
  return mpfr_regular_p(*most) && mpfr_get_exp(*most) > exponent ? mpfr_get_exp(*most) : exponent;
}

/* |got - f(x, y)| in units of the last place of the exact value (of the least normal number below
 * that). An infinite result counts as the power of two behind the greatest number. INFINITY: NaN, a
 * sign of zero, or an infinity is wrong. */
static inline double ulp_error(yardstick *s, const function_row *f, nx_dtype t, double x, double y,
                               double got) {
  const int digits = t == NX_F64 ? 53 : 24, least = t == NX_F64 ? -1021 : -125,
            most = t == NX_F64 ? 1024 : 128;
  mpfr_set_d(s->x, x, MPFR_RNDN);
  mpfr_set_d(s->y, y, MPFR_RNDN);
  if (f->unary) f->unary(s->exact, s->x, MPFR_RNDN);
  else f->binary(s->exact, s->x, s->y, MPFR_RNDN);
  if (mpfr_nan_p(s->exact) || isnan(got)) return mpfr_nan_p(s->exact) && isnan(got) ? 0 : INFINITY;
  if (mpfr_inf_p(s->exact))
    return isinf(got) && (mpfr_sgn(s->exact) > 0) == (got > 0) ? 0 : INFINITY;
  if (mpfr_zero_p(s->exact))
    return got == 0 && !mpfr_signbit(s->exact) == !signbit(got) ? 0 : INFINITY;
  long exponent = mpfr_get_exp(s->exact);
  if (f->op == NXK_logaddexp) /* of the operands too: the result may be their difference */
    exponent = size_of_operands(s, exponent);
  double size = f->least ? f->least(x) : 0;
  if (size > 0 && isfinite(size) && exponent < ilogb(size) + 1) exponent = ilogb(size) + 1;
  else if (!mpfr_signbit(s->exact) != !signbit(got)) return INFINITY;
  if (isinf(got) && exponent > most) return 0;
  if (isinf(got)) {
    mpfr_set_si_2exp(s->difference, got > 0 ? 1 : -1, most, MPFR_RNDN);
    mpfr_sub(s->difference, s->difference, s->exact, MPFR_RNDN);
  } else {
    mpfr_sub_d(s->difference, s->exact, got, MPFR_RNDN);
  }
  mpfr_mul_2si(s->difference, s->difference, digits - (exponent < least ? least : exponent),
               MPFR_RNDN);
  return fabs(mpfr_get_d(s->difference, MPFR_RNDN));
}

/* Element i of an array of f32 or f64. */
static inline double element(const void *p, nx_dtype t, size_t i) {
  return t == NX_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static inline void set_element(void *p, nx_dtype t, size_t i, double x) {
  if (t == NX_F64) ((double *)p)[i] = x;
  else ((float *)p)[i] = (float)x;
}

#endif
