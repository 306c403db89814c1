/* SPDX-License-Identifier: ISC */
/* References on complex numbers: the C library's functions in long double, with the special values
 * of C's Annex G. Quotients, powers and signs are written out: compilers divide in ways of their
 * own. */
#include <complex.h>
#undef I
#include <math.h>

#include "rows/elements.h"

typedef long double complex wide;

/* Made of its parts: a + b * i would turn infinities into NaNs. */
static wide wide_of(value a) {
  union {
    wide z;
    long double part[2];
  } u = {.part = {a.re, a.im}};
  return u.z;
}
static value value_of(wide z) { return (value){creall(z), cimagl(z)}; }

bool signs_are_open(value a) {
  return isnan(a.re) || isnan(a.im) || (isinf(a.re) && isinf(a.im)) || (a.re == 0 && isinf(a.im)) ||
         (a.im == 0 && isinf(a.re));
}

#define COMPLEX(name, expression)          \
  value complex_##name(value a, value b) { \
    (void)b;                               \
    return expression;                     \
  }
/* In double: a sum in long double would be rounded twice. */
COMPLEX(add, ((value){(double)a.re + (double)b.re, (double)a.im + (double)b.im}))
COMPLEX(sub, ((value){(double)a.re - (double)b.re, (double)a.im - (double)b.im}))
COMPLEX(eq, ((value){a.re == b.re && a.im == b.im, 0}))
COMPLEX(ne, ((value){!(a.re == b.re && a.im == b.im), 0}))
/* In order of the real parts, then of the imaginary ones; of equal real parts zeros have the sign
 * of the larger one. */
static bool is_in_order(value a, value b, bool or_equal) {
  if (isnan(a.re) || isnan(a.im) || isnan(b.re) || isnan(b.im)) return false;
  return is_less(a, b) || (or_equal && a.re == b.re && a.im == b.im);
}
static long double above(long double a, long double b) {
  return a > b || (a == b && signbit(b)) ? a : b;
}
value complex_max(value a, value b) {
  value nan = {(long double)NAN, (long double)NAN};
  if (isnan(a.re) || isnan(a.im) || isnan(b.re) || isnan(b.im)) return nan;
  if (a.re != b.re) return a.re > b.re ? a : b;
  return (value){above(a.re, b.re), above(a.im, b.im)};
}
value complex_min(value a, value b) {
  value most = complex_max((value){-a.re, -a.im}, (value){-b.re, -b.im});
  return (value){-most.re, -most.im};
}
COMPLEX(lt, ((value){is_in_order(a, b, false), 0}))
COMPLEX(le, ((value){is_in_order(a, b, true), 0}))
COMPLEX(gt, ((value){is_in_order(b, a, false), 0}))
COMPLEX(ge, ((value){is_in_order(b, a, true), 0}))
COMPLEX(neg, ((value){-a.re, -a.im}))
COMPLEX(conj, ((value){a.re, -a.im}))
COMPLEX(real, ((value){a.re, 0}))
COMPLEX(imag, ((value){a.im, 0}))
COMPLEX(abs, ((value){hypotl(a.re, a.im), 0}))
COMPLEX(mul, value_of(wide_of(a) * wide_of(b))) /* with the infinities of Annex G */
COMPLEX(recip, complex_div((value){1, 0}, a))
COMPLEX(sqrt, value_of(csqrtl(wide_of(a))))
COMPLEX(exp, value_of(cexpl(wide_of(a))))
COMPLEX(log, value_of(clogl(wide_of(a))))
COMPLEX(sin, value_of(csinl(wide_of(a))))
COMPLEX(cos, value_of(ccosl(wide_of(a))))
COMPLEX(tan, value_of(ctanl(wide_of(a))))
COMPLEX(asin, value_of(casinl(wide_of(a))))
COMPLEX(acos, value_of(cacosl(wide_of(a))))
COMPLEX(atan, value_of(catanl(wide_of(a))))
COMPLEX(sinh, value_of(csinhl(wide_of(a))))
COMPLEX(cosh, value_of(ccoshl(wide_of(a))))
COMPLEX(tanh, value_of(ctanhl(wide_of(a))))

COMPLEX(asinh, value_of(casinhl(wide_of(a))))
COMPLEX(acosh, value_of(cacoshl(wide_of(a))))
COMPLEX(atanh, value_of(catanhl(wide_of(a))))

/* Near the unit circle around -1 little is left of |1 + z|^2 - 1, of which 113 bits hold the
 * squares. */
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 widest;
#else
typedef long double widest;
#endif
value complex_log1p(value a, value b) {
  (void)b;
  widest x = a.re, y = a.im;
  if (a.re == 0 && a.im == 0) return a;
  value sum = {1 + a.re, a.im}; /* exact where it is small */
  if (!(hypotl(a.re, a.im) < 0x1p500L) || hypotl(sum.re, sum.im) < 0.5L)
    return value_of(clogl(wide_of(sum)));
  return (value){log1pl((long double)(2 * x + x * x + y * y)) / 2, atan2l(a.im, 1 + a.re)};
}
value complex_expm1(value a, value b) {
  (void)b;
  value power = value_of(cexpl(wide_of(a)));
  long double sine = sinl(a.im / 2);
  if (a.re == 0 && a.im == 0) return a;
  if (!isfinite(a.re) || !isfinite(a.im)) return (value){power.re - 1, power.im};
  return (value){expm1l(a.re) * cosl(a.im) - 2 * sine * sine, power.im};
}

COMPLEX(isnan, ((value){isnan(a.re) || isnan(a.im), 0}))
COMPLEX(isinf, ((value){isinf(a.re) || isinf(a.im), 0}))
COMPLEX(isfinite, ((value){isfinite(a.re) && isfinite(a.im), 0}))
COMPLEX(square, complex_mul(a, a))

static value times(value a, long double x) { return (value){a.re * x, a.im * x}; }
COMPLEX(log2, times(complex_log(a, b), 1 / logl(2)))
COMPLEX(log10, times(complex_log(a, b), 1 / logl(10)))
/* In steps, each with the special values of its own. */
COMPLEX(rsqrt, complex_recip(complex_sqrt(a, b), b))
value complex_logistic(value a, value b) {
  value power = complex_exp(complex_neg(a, b), b);
  return complex_recip((value){power.re + 1, power.im}, b);
}

static bool both_finite(value a) { return isfinite(a.re) && isfinite(a.im); }
static bool one_infinite(value a) { return isinf(a.re) || isinf(a.im); }
static long double one_if(bool set, long double sign) { return copysignl(set ? 1 : 0, sign); }
static long double or_zero(long double x) { return isnan(x) ? copysignl(0, x) : x; }

/* Annex G, G.5.1: a divisor of zero gives infinities, an infinite one zeros. */
value complex_div(value a, value b) {
  long double scale = fmaxl(fabsl(b.re), fabsl(b.im));
  int power = scale > 0 && isfinite(scale) ? ilogbl(scale) : 0;
  value d = {ldexpl(b.re, -power), ldexpl(b.im, -power)};
  long double square = d.re * d.re + d.im * d.im;
  value q = {ldexpl((a.re * d.re + a.im * d.im) / square, -power),
             ldexpl((a.im * d.re - a.re * d.im) / square, -power)};
  if (!isnan(q.re) || !isnan(q.im)) return q;
  const long double infinity = (long double)INFINITY;
  if (b.re == 0 && b.im == 0 && (!isnan(a.re) || !isnan(a.im))) {
    return (value){copysignl(infinity, b.re) * a.re, copysignl(infinity, b.re) * a.im};
  } else if (one_infinite(a) && both_finite(b)) {
    long double re = one_if(isinf(a.re), or_zero(a.re)), im = one_if(isinf(a.im), or_zero(a.im));
    return (value){infinity * (re * b.re + im * b.im), infinity * (im * b.re - re * b.im)};
  } else if (both_finite(a) && one_infinite(b)) {
    long double re = one_if(isinf(b.re), or_zero(b.re)), im = one_if(isinf(b.im), or_zero(b.im));
    return (value){0 * (a.re * re + a.im * im), 0 * (a.im * re - a.re * im)};
  }
  return q;
}

/* z / |z|; of an infinite number the direction of its infinite parts; 0 of 0. */
value complex_sign(value a, value b) {
  (void)b;
  if (a.re == 0 && a.im == 0) return (value){0, 0};
  if (one_infinite(a)) {
    long double re = one_if(isinf(a.re), or_zero(a.re)), im = one_if(isinf(a.im), or_zero(a.im));
    long double size = hypotl(re, im);
    return (value){re / size, im / size};
  }
  long double size = hypotl(a.re, a.im);
  return (value){a.re / size, a.im / size};
}

/* exp(b log a), but 1 for b = 0, and 0 for a = 0 where b has a positive real part. */
value complex_pow(value a, value b) {
  if (b.re == 0 && b.im == 0) return (value){1, 0};
  if (a.re == 0 && a.im == 0 && b.re > 0) return (value){0, 0};
  return value_of(cexpl(wide_of(b) * clogl(wide_of(a))));
}
