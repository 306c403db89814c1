/* SPDX-License-Identifier: ISC */
/* References of special functions: what MPFR does not have, or has otherwise; and the sizes against
 * which errors count. */
#ifndef NXT_SPECIAL_REFERENCES_H
#define NXT_SPECIAL_REFERENCES_H

#include <math.h>
#include <mpfr.h>
#include <stdbool.h>

static inline int reference_lgamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  int sign;
  if (mpfr_integer_p(x) && mpfr_sgn(x) <= 0) mpfr_set_inf(r, 1);
  else mpfr_lgamma(r, &sign, x, rounding);
  return 0;
}
static inline int reference_digamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  if (mpfr_zero_p(x)) mpfr_set_inf(r, mpfr_signbit(x) ? 1 : -1);
  else mpfr_digamma(r, x, rounding);
  return 0;
}

/* The inverse of erf: Newton's method for log erfc from sqrt(-log(1 - x^2)), which is above. */
static inline int reference_erfinv(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  mpfr_t rest, y, step, power;
  mpfr_inits2(200, rest, y, step, power, (mpfr_ptr)0);
  mpfr_abs(power, x, MPFR_RNDN);
  mpfr_ui_sub(rest, 1, power, MPFR_RNDN); /* exact */
  mpfr_sqr(y, power, MPFR_RNDN);
  mpfr_ui_sub(y, 1, y, MPFR_RNDN);
  mpfr_log(y, y, MPFR_RNDN);
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_sqrt(y, y, MPFR_RNDN);
  for (int i = 0; i < 9 && mpfr_regular_p(y); i++) {
    mpfr_erfc(step, y, MPFR_RNDN);
    mpfr_div(rest, rest, step, MPFR_RNDN); /* y rises by log(erfc y / rest) erfc y / -(erfc y)' */
    mpfr_log(power, rest, MPFR_RNDN);
    mpfr_mul(rest, rest, step, MPFR_RNDN);
    mpfr_mul(step, step, power, MPFR_RNDN);
    mpfr_sqr(power, y, MPFR_RNDN);
    mpfr_exp(power, power, MPFR_RNDN);
    mpfr_mul(step, step, power, MPFR_RNDN);
    mpfr_const_pi(power, MPFR_RNDN);
    mpfr_sqrt(power, power, MPFR_RNDN);
    mpfr_mul(step, step, power, MPFR_RNDN);
    mpfr_div_2ui(step, step, 1, MPFR_RNDN);
    mpfr_sub(y, y, step, MPFR_RNDN);
  }
  if (mpfr_regular_p(x) && mpfr_get_exp(x) < -80) { /* 1 - x^2 is 1 */
    mpfr_const_pi(y, MPFR_RNDN);
    mpfr_sqrt(y, y, MPFR_RNDN);
    mpfr_div_2ui(y, y, 1, MPFR_RNDN);
    mpfr_mul(y, y, x, MPFR_RNDN);
  }
  mpfr_copysign(r, y, x, rounding);
  mpfr_clears(rest, y, step, power, (mpfr_ptr)0);
  return 0;
}

/* e^-|x| I_n(x): the power series up to 64, then the one in 1/x, whose least term is 2^-180. */
static inline int reference_modified(mpfr_t r, const mpfr_t x, int n) {
  mpfr_t a, term, sum, factor;
  mpfr_inits2(300, a, term, sum, factor, (mpfr_ptr)0);
  mpfr_abs(a, x, MPFR_RNDN);
  bool far = mpfr_cmp_ui(a, 64) > 0;
  mpfr_set_ui(term, 1, MPFR_RNDN);
  mpfr_set_ui(sum, 1, MPFR_RNDN);
  mpfr_sqr(factor, a, MPFR_RNDN);
  mpfr_div_2ui(factor, factor, 2, MPFR_RNDN);
  for (long k = 1; k < (far ? 100 : 300); k++) {
    if (far) {
      mpfr_mul_si(term, term, (2 * k - 1) * (2 * k - 1) - 4 * n * n, MPFR_RNDN);
      mpfr_div_si(term, term, 8 * k, MPFR_RNDN);
      mpfr_div(term, term, a, MPFR_RNDN);
    } else {
      mpfr_mul(term, term, factor, MPFR_RNDN);
      mpfr_div_si(term, term, k * (k + n), MPFR_RNDN);
    }
    mpfr_add(sum, sum, term, MPFR_RNDN);
    if (!mpfr_regular_p(term) || !mpfr_regular_p(sum)) break;
    if (mpfr_get_exp(term) < mpfr_get_exp(sum) - 200) break;
  }
  if (far) {
    mpfr_const_pi(factor, MPFR_RNDN);
    mpfr_mul(factor, factor, a, MPFR_RNDN);
    mpfr_mul_2ui(factor, factor, 1, MPFR_RNDN);
    mpfr_rec_sqrt(factor, factor, MPFR_RNDN);
  } else {
    mpfr_neg(factor, a, MPFR_RNDN);
    mpfr_exp(factor, factor, MPFR_RNDN);
    if (n) mpfr_mul(factor, factor, a, MPFR_RNDN);
    if (n) mpfr_div_2ui(factor, factor, 1, MPFR_RNDN);
  }
  mpfr_mul(sum, sum, factor, MPFR_RNDN);
  if (mpfr_inf_p(a)) mpfr_set_ui(sum, 0, MPFR_RNDN);
  if (mpfr_nan_p(a)) mpfr_set_nan(sum);
  if (n) mpfr_copysign(r, sum, x, MPFR_RNDN);
  else mpfr_set(r, sum, MPFR_RNDN);
  mpfr_clears(a, term, sum, factor, (mpfr_ptr)0);
  return 0;
}
static inline int reference_i0e(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  (void)rounding;
  return reference_modified(r, x, 0);
}
static inline int reference_i1e(mpfr_t r, const mpfr_t x, mpfr_rnd_t rounding) {
  (void)rounding;
  return reference_modified(r, x, 1);
}

/* The sizes that count, where results are differences: the amplitude of j0 and j1; below 0 what
 * lgamma(1 - x) and digamma(1 - x) are. */
static inline double least_wave(double x) { return fabs(x) > 2.6 ? sqrt(0.6366 / fabs(x)) : 0; }
static inline double least_lgamma(double x) { return x < 0 ? fmax(4, lgamma(1 - x)) : 0; }
static inline double least_digamma(double x) { return x < 0 ? fmax(4, log(1 - x)) : 0; }

#endif
