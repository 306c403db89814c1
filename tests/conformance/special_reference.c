/* SPDX-License-Identifier: ISC */
/* References of special functions that C lacks, in long double, by the plainest formulas that
 * converge. */
#include "rows/elements.h"

#include <math.h>

#define PI 3.14159265358979323846264338327950288L

/* Newton's method for log erfc, from a number that is too great. */
real special_erfinv(real x) {
  real a = fabsl(x), rest = 1 - a, y = sqrtl(-log1pl(-a * a));
  if (!(a < 1)) return a == 1 ? copysignl(INFINITY, x) : NAN;
  if (a < 1e-9L) return x * sqrtl(PI) / 2;
  for (int i = 0; i < 20; i++) {
    real now = erfcl(y);
    y -= logl(rest / now) * now * expl(y * y) * sqrtl(PI) / 2;
    if (a < 0.5L) y -= (erfl(y) - a) * expl(y * y) * sqrtl(PI) / 2;
  }
  return copysignl(y, x);
}

/* Steps up to 30, then the asymptotic series. */
real special_digamma(real x) {
  static const real numbers[] = {1 / 12.0L, -1 / 120.0L, 1 / 252.0L, -1 / 240.0L, 1 / 132.0L};
  if (x == 0) return signbit(x) ? INFINITY : -INFINITY;
  if (x < 0 && truncl(x) == x) return NAN;
  if (isinf(x) || isnan(x)) return x > 0 ? x : NAN;
  if (x < 0) return special_digamma(1 - x) - PI / tanl(PI * (x - rintl(x)));
  real steps = 0, sum = 0;
  for (; x < 300; x += 1) steps += 1 / x;
  for (int k = 4; k >= 0; k--) sum = (sum + numbers[k]) / (x * x);
  return logl(x) - 1 / (2 * x) - sum - steps;
}

/* The power series up to 40, then that in 1 / x. */
real special_modified(real x, int order) {
  real a = fabsl(x), term = 1, sum = 1;
  if (isnan(x)) return x;
  for (int k = 1; k < 200; k++) {
    real factor = a < 40 ? a * a / 4 / ((real)k * (k + order))
                         : ((2 * k - 1.0L) * (2 * k - 1.0L) - 4 * order) / (8 * k * a);
    if (a >= 40 && fabsl(factor) > 0.9L) break;
    term *= factor;
    sum += term;
  }
  if (a >= 40) sum /= sqrtl(2 * PI * a);
  else sum *= expl(-a) * (order ? a / 2 : 1);
  return order ? copysignl(sum, x) : sum;
}

/* POSIX has these; at infinities they are their limit. */
real special_bessel(real x, int order) {
  real y = order ? j1l(x) : j0l(x);
  return isinf(x) ? copysignl(0, order ? x : 1) : y;
}
